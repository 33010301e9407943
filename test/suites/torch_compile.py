"""What stands in place of torch.compile in tests that call it themselves: in a plain run the function as it is, in a compiled
one frameloom.compile. Graphs, and how many there are, are the business of the backend that such a test hands over; none is
called here, so nothing is asked of them.
"""

import functools
import os
import re
import resource
import types

import torch
import torch._dynamo
from torch._dynamo import config, testing
from torch._dynamo.utils import CompileCounterInt

DIES = re.compile("free|leak|release|dealloc|weakref|gc")
MEMORY = 6 << 30  # bytes: some tests take all there is where nothing is compiled


def _clear(counter):
    """Numbers of graphs and of operations that no test compares (`debug_disable_compile_counter`)."""
    counter.frame_count = counter.op_count = CompileCounterInt(0)
    counter.graphs = []


def put_in_place(standing):
    """`standing(function, fullgraph, dynamic)` for torch.compile and the older torch._dynamo.optimize."""

    def compile(model=None, *, fullgraph=False, dynamic=None, backend="inductor", mode=None, options=None, disable=False, **others):
        del backend, mode, options, others
        if model is None:
            return lambda model: compile(model, fullgraph=fullgraph, dynamic=dynamic, disable=disable)
        return model if disable else standing(model, fullgraph, dynamic)

    def optimize(backend="inductor", *, nopython=False, dynamic=None, disable=False, **others):
        del others
        return lambda model: compile(model, fullgraph=nopython, dynamic=dynamic, disable=disable)

    def optimize_assert(backend="inductor", *, dynamic=None, **others):
        return optimize(backend, nopython=True, dynamic=dynamic)

    torch.compile = compile
    torch._dynamo.optimize = torch._dynamo.eval_frame.optimize = testing.optimize = optimize
    torch._dynamo.optimize_assert = torch._dynamo.eval_frame.optimize_assert = testing.optimize_assert = optimize_assert
    config.debug_disable_compile_counter = True
    testing.CompileCounter.clear = testing.CompileCounterWithBackend.clear = _clear
    resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))


class Plain:
    def __init__(self):
        put_in_place(lambda model, fullgraph, dynamic: model)


class Compiled:
    """The functions that a test has compiled."""

    def __init__(self):
        import frameloom
        from frameloom import _native

        self.compile, self.reset, self.callables = frameloom.compile, frameloom.reset, _native.callables
        frameloom.config.recompile_limit = 10000  # of which it warns
        self.made, self.kept = [], True
        put_in_place(self.standing)

    def standing(self, model, fullgraph, dynamic):
        if not isinstance(model, (types.FunctionType, types.MethodType, torch.nn.Module, functools.partial)):
            function = model  # of a library, a class
            model = lambda *args, **kwargs: function(*args, **kwargs)
        made = self.compile(model, dynamic=dynamic)
        if self.kept:
            self.made.append(made)  # until the test is told of
        return made

    def replace(self, item, dynamic):
        """Nothing takes the test's place. One that asks whether something dies keeps what it has compiled to itself."""
        del dynamic
        self.kept = not DIES.search(item.name)
        return lambda: None

    def told(self):
        """Of all functions together: 'whole', 'parts' or 'python', failures of the compiler, and why capture ended."""
        kinds, failures, breaks = set(), [], []
        for function in self.callables():
            report = function._report()
            rows = report["breaks"] or ()
            kinds.add("parts" if report["entries"] and rows else "whole" if report["entries"] else "python")
            failures += [f"FL0016 {function.__qualname__}: {row[4]} ({os.path.basename(row[5] or '?')}:{row[7]})" for row in rows if row[0] == 16]
            breaks += [f"FL{row[0]:04} {row[4]}" for row in rows]
        kind = "parts" if "parts" in kinds else "whole" if "whole" in kinds else "python"
        return {"captured": kind, "failures": sorted(set(failures)), "breaks": sorted(set(breaks))}

    def forget(self):
        self.made.clear()
        self.reset()
