"""Frameloom compiles Python functions over NumPy arrays to machine code.

    import frameloom

    @frameloom.compile
    def gelu(x):
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

The first call with new types and sizes of arguments compiles; what cannot be compiled runs as plain Python between the
parts that can, with the reason on record (`frameloom.explain`, `FRAMELOOM_LOGS=breaks`).
"""

from . import _eager
from ._errors import BoundsError, CompileError, DeviceError, GraphBreak, RecompileError

if _eager.reason() is None:
    from ._api import (
        CompileProfiler, DeviceArray, Graph, allow_in_graph, compile, compile_times, config, custom_op, device, disable,
        disallow_in_graph, explain, graph_break, is_compiling, mark_dynamic, mark_static, nonstrict_trace, reset, run, set_logs, set_stance, skip_frame,
    )
    from ._gradient import checkpoint, custom_vjp, grad, hessian, jacobian, jvp, stop_gradient, value_and_grad, vjp
    from ._vmap import vmap
else:
    from ._eager import (
        CompileProfiler, DeviceArray, Graph, allow_in_graph, compile, compile_times, config, custom_op, device, disable,
        disallow_in_graph, explain, graph_break, is_compiling, mark_dynamic, mark_static, nonstrict_trace, reset, run, set_logs, set_stance, skip_frame,
    )
    from ._gradient import checkpoint, custom_vjp, grad, hessian, jacobian, jvp, stop_gradient, value_and_grad, vjp
    from ._vmap import vmap

__version__ = "0.1.0"
__all__ = [
    "BoundsError", "CompileError", "CompileProfiler", "DeviceArray", "DeviceError", "Graph", "GraphBreak", "RecompileError",
    "allow_in_graph", "checkpoint", "compile", "compile_times", "config", "custom_op", "custom_vjp", "device", "disable", "disallow_in_graph", "explain", "grad", "graph_break", "hessian",
    "is_compiling", "jacobian", "jvp", "mark_dynamic", "mark_static", "nonstrict_trace", "reset", "run", "set_logs", "set_stance",
    "skip_frame", "stop_gradient", "value_and_grad", "vjp", "vmap",
]
