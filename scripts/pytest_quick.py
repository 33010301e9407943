"""pytest with what makes the tests quicker without a change of what they ask. Arguments are pytest's.

Not a conftest.py: the folder of one is on the path of modules, and test/python has folders named like libraries.
"""

import gc
import os
import sys

import pytest


def hush_dynamo():
    import torch._dynamo.guards
    import torch._logging._internal

    # Dynamo empties the CPU's caches, for some hundredths of a second, to log how long the guards of a new version take.
    torch._dynamo.guards.profile_guard_manager = lambda *_: 0.0
    # pytest gives a handler to each logger that does not propagate: this one tells of each step of a compilation where it has any.
    trace = torch._logging._internal.trace_log
    trace.handlers.clear()
    trace.propagate = True


class Quick:
    def pytest_collection_finish(self, session):
        """What has been imported stays: collections of garbage, of which some tests ask for many, need not look at it again."""
        if "torch" in sys.modules:
            hush_dynamo()
        gc.collect()
        gc.freeze()


if __name__ == "__main__":
    del sys.path[0]  # scripts
    # What is put off beyond the budget of compiling depends on how fast the machine is. test_put_off.py asks for budgets of its own.
    os.environ.setdefault("FRAMELOOM_COMPILE_BUDGET", "1000000")
    sys.exit(pytest.main(sys.argv[1:], plugins=[Quick()]))
