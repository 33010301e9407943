"""How many threads kernels use: the setting, and torch's own number for functions of tensors.

The pool starts a worker when a launch first has use for it, and never ends one: how many there are after a call says how
many threads the call could use.
"""

import json

import pytest
from processes import printed, with_own_path

WORKERS = """
import json
import numpy as np
import frameloom
from processes import threads_named
frameloom.config.leave_slower = False  # no call is a trial of the plain function

def f(x, y):
    return (x * 2 + y) * x - y
"""

NUMPY = (
    WORKERS
    + """
a = np.ones(4_000_000)
g = frameloom.compile(f)
frameloom.config.threads = 1
found = []
for most in (1, 2, 3, 0):
    frameloom.config.threads = most
    assert g(a, a)[0] == 2
    found.append(threads_named("loom-kernels"))
print(json.dumps(found))
"""
)

TORCH = (
    WORKERS
    + """
import torch
a = torch.ones(4_000_000)
g = COMPILE
torch.set_num_threads(1)
g(a, a)
found = []
for asked, most in ((1, 0), (2, 1), (2, 0), (3, 2), (3, 0)):
    torch.set_num_threads(asked)
    frameloom.config.threads = most
    assert g(a, a)[0] == 2
    found.append(threads_named("loom-kernels"))
print(json.dumps(found))
"""
)


def test_the_setting_limits_the_threads_of_the_next_call():
    assert json.loads(printed(NUMPY, environment={"OMP_NUM_THREADS": "4", **with_own_path()})) == [0, 1, 2, 3]


@pytest.mark.parametrize("compiled", ["frameloom.compile(f)", "torch.compile(f, backend='frameloom')"])
def test_functions_of_tensors_use_no_more_threads_than_torch(compiled):
    code = TORCH.replace("COMPILE", compiled)
    assert json.loads(printed(code, environment={"OMP_NUM_THREADS": "4", **with_own_path()})) == [0, 0, 1, 1, 2]
