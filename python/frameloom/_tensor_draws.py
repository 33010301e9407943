"""Which generators the calls of torch in a plan draw numbers from. A run that ends in the plain function has to put them back, since that
draws the same numbers again."""

import torch


def _found(one, generators):
    if isinstance(one, torch.Generator):
        generators.append(one)
    elif isinstance(one, (tuple, list)):
        for part in one:
            _found(part, generators)


def _draws(operation):
    seeds = str(getattr(operation, "name", str)()).startswith("frameloom::seeded")
    return seeds or torch.Tag.nondeterministic_seeded in getattr(operation, "tags", ())


def generators(rows):
    """A tuple of the generators that these calls change; None: none of them draws. A row begins with the operation, its arguments and its
    keyword arguments."""
    rows = [row for row in rows if isinstance(row, tuple) and len(row) > 2 and _draws(row[0])]
    if not rows:
        return None
    found = [torch.default_generator]
    for _, args, kwargs, *_ in rows:
        _found(args, found)
        _found(list((kwargs or {}).values()), found)
    return tuple(dict.fromkeys(found))


def states(of):
    return tuple(one.get_state() for one in of)


def put_back(of, before):
    for one, state in zip(of, before, strict=True):
        one.set_state(state)
