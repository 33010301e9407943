"""Which generators the calls of torch in a plan draw numbers from. A run that ends in the plain function has to put them back, since that
draws the same numbers again."""

import contextlib
import threading

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


class _Runs(threading.local):
    """What the generators were at the begin of each run that draws and has not ended, the innermost one last."""

    def __init__(self):
        self.begun = []


_runs = _Runs()


def states(of):
    return tuple(one.get_state() for one in of)


def put_back(of, before):
    for one, state in zip(of, before, strict=True):
        one.set_state(state)


def begin(of):
    """A run begins. Gives what it has to put back where it ends in the plain function."""
    before = states(of)
    _runs.begun.append((of, before))
    return before


def end():
    _runs.begun.pop()


def begun():
    """The generators of the innermost run, and what they were at its begin."""
    return _runs.begun[-1] if _runs.begun else None


@contextlib.contextmanager
def as_at(run):
    """The generators are as at the begin of a run, whose numbers are drawn once more. `run`: what begun() gave."""
    of, before = run
    now = states(of)
    put_back(of, before)
    try:
        yield
    finally:
        put_back(of, now)
