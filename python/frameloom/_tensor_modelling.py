"""What models of torch's functions share."""

import types


def refuse(why):
    """Breaks the graph: torch's own function takes or refuses what is given. Evaluated by capture."""
    raise NotImplementedError


def enter_transform():
    """A function is to be differentiated by one of torch.func. Evaluated by capture, as those that follow."""
    raise NotImplementedError


def leave_transform():
    raise NotImplementedError


def is_transformed():
    """Is there such a function around, or a mapped one?"""
    raise NotImplementedError


def is_followed():
    """Does capture follow the code that asks? A function that a model has made also runs for real, behind a break."""
    return False


def apart(original):
    """A copy of a function, which has no model."""
    code, defaults = original.__code__.replace(), original.__defaults__
    copy = types.FunctionType(code, original.__globals__, original.__name__, defaults, original.__closure__)
    copy.__kwdefaults__ = original.__kwdefaults__
    return copy


def leaves(tree):
    """A list of the leaves of a tree of tuples, lists and dicts."""
    kind = type(tree)
    if kind is tuple or kind is list:
        return [leaf for part in tree for leaf in leaves(part)]
    if kind is dict:
        return [leaf for part in tree.values() for leaf in leaves(part)]
    return [tree]


def like(tree, others):
    """A tree of this form with the next ones of other leaves, an iterator."""
    kind = type(tree)
    if kind is tuple:
        return tuple([like(part, others) for part in tree])
    if kind is list:
        return [like(part, others) for part in tree]
    if kind is dict:
        return {key: like(part, others) for key, part in tree.items()}
    return next(others)
