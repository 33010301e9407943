"""What tests of handlers and `with` statements write down, and the context manager that they use."""

import sys

LOG = []


class Manager:
    def __init__(self, swallows=False):
        self.swallows = swallows

    def __enter__(self):
        LOG.append("enter")
        return self

    def __exit__(self, kind, error, traceback):
        LOG.append(("exit", kind and kind.__name__, str(error), traceback and traceback.tb_lineno))
        return self.swallows and kind in (ValueError, KeyError)


def handled():
    """What the caller handles, as (type, message) outwards along the contexts."""
    error, seen = sys.exc_info()[1], []
    while error is not None and len(seen) < 8:
        seen.append((type(error).__name__, str(error)))
        error = error.__context__
    LOG.append(seen)
