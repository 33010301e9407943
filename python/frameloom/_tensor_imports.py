"""Calls of torch on tensors without memory, without an import of torch._dynamo.

Many of torch's rules for such tensors are functions that Dynamo is kept out of: the first call of each imports Dynamo, only to ask it
not to trace the function. That takes a second, and nothing here needs it. As long as nobody else has imported Dynamo there is
nothing to be kept out, so these functions are called as they are. The import of Dynamo ends that.
"""

import sys
import types

import torch
import torch._decomp

RULES = "torch._refs", "torch._prims", "torch._decomp"
DYNAMO, ASKED = "torch._dynamo", "__dynamo_disable"  # the attribute in which torch keeps what Dynamo made of a function


def _kept_out():
    """The functions behind torch's rules that Dynamo is kept out of: decorators hold what they decorate in their closures."""
    code = torch._disable_dynamo(lambda: None).__code__
    functions = [one for table in torch._decomp.global_decomposition_table.values() for one in table.values()]
    for name in [name for name in sys.modules if name.startswith(RULES)]:  # they call each other
        functions += vars(sys.modules[name]).values()
    seen = set()
    while functions:
        function = functions.pop()
        if not isinstance(function, types.FunctionType) or function in seen:
            continue
        seen.add(function)
        if function.__code__ is code:
            yield function.__closure__[code.co_freevars.index("fn")].cell_contents
        functions += [cell.cell_contents for cell in function.__closure__ or () if cell != types.CellType()]


class _Import:
    """Sees the import of Dynamo, as the first finder of modules, and finds none."""

    def __init__(self, functions):
        self.functions = functions

    def find_spec(self, name, path=None, target=None):
        if name == DYNAMO:
            for function in self.functions:
                if getattr(function, ASKED, None) is function:
                    delattr(function, ASKED)
            self.functions = []


def keep_away():
    """From here on calls of torch's rules do not import Dynamo, unless somebody has done so."""
    if DYNAMO in sys.modules:
        return
    functions = [one for one in _kept_out() if not hasattr(one, ASKED)]
    sys.meta_path.insert(0, _Import(functions))
    for one in functions:
        setattr(one, ASKED, one)
