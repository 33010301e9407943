from collections.abc import Callable as _AnyCallable
from collections.abc import Iterable as _Iterable
from contextlib import AbstractContextManager as _Manager
from typing import Any, Literal, ParamSpec, TypeVar, overload

from ._custom import CustomOp as _CustomOp
from ._native import Backend as _Backend
from ._native import Callable as _Compiled
from ._native import Graph as Graph
from ._report import CompileProfiler as CompileProfiler
from ._report import Explanation as _Explanation

_P = ParamSpec("_P")
_R = TypeVar("_R")
_F = TypeVar("_F", bound=_AnyCallable[..., Any])
_Stance = Literal["default", "force_eager", "eager_on_recompile", "fail_on_recompile"]
__version__: str

class GraphBreak(RuntimeError):
    code: str
    reason: str
    detail: str
    hint: str
    filename: str | None
    function: str | None
    lineno: int
    column: int

class CompileError(GraphBreak): ...
class RecompileError(RuntimeError): ...
class BoundsError(RuntimeError): ...

class _Config:
    logs: str
    trace: str
    backend: str
    disable: bool
    recompile_limit: int
    error_on_recompile: bool
    unroll_limit: int
    leave_slower: bool
    put_off: bool
    suppress_errors: bool
    unroll: int
    capture_data_dependent: bool
    cache_size_limit: int
    cache: bool
    fastmath: bool
    check: str
    cpu: str
    def patch(self, **settings: str | int | bool) -> _Manager[_Config]: ...

config: _Config

@overload
def compile(fn: _AnyCallable[_P, _R], *, fullgraph: bool = False, dynamic: bool | None = None,
            backend: str | _Backend | None = None, options: dict[str, Any] | None = None,
            disable: bool = False) -> _Compiled[_P, _R]: ...
@overload
def compile(fn: None = None, *, fullgraph: bool = False, dynamic: bool | None = None, backend: str | _Backend | None = None,
            options: dict[str, Any] | None = None,
            disable: bool = False) -> _AnyCallable[[_AnyCallable[_P, _R]], _Compiled[_P, _R]]: ...
@overload
def disable(fn: _AnyCallable[_P, _R], recursive: bool = True, *, reason: str | None = None) -> _Compiled[_P, _R]: ...
@overload
def disable(fn: None = None, recursive: bool = True, *,
            reason: str | None = None) -> _AnyCallable[[_AnyCallable[_P, _R]], _Compiled[_P, _R]]: ...
def allow_in_graph(fn: _F) -> _F: ...
def disallow_in_graph(fn: _F) -> _F: ...
def nonstrict_trace(fn: _F) -> _F: ...
@overload
def custom_op(name: str, fn: _AnyCallable[_P, _R], *, mutates_args: tuple[()] = ()) -> _CustomOp: ...
@overload
def custom_op(name: str, fn: None = None, *, mutates_args: tuple[()] = ()) -> _AnyCallable[[_AnyCallable[_P, _R]], _CustomOp]: ...
def run(fn: _AnyCallable[_P, _R]) -> _Compiled[_P, _R]: ...

class set_stance:
    stance: str
    def __init__(self, stance: _Stance = "default") -> None: ...
    def __call__(self, fn: _F) -> _F: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *exception: object) -> None: ...

def explain(fn: _AnyCallable[..., Any], /, *args: Any, **kwargs: Any) -> _Explanation: ...
@overload
def compile_times(repr: Literal["str"] = "str", aggregate: bool = False) -> str: ...
@overload
def compile_times(repr: Literal["csv"], aggregate: bool = False) -> tuple[list[str], list[str]]: ...
def graph_break(msg: str = "") -> None: ...
def skip_frame(msg: str = "") -> None: ...
def is_compiling() -> bool: ...
def mark_dynamic(array: Any, axis: int | _Iterable[int], *, min: int | None = None, max: int | None = None) -> None: ...
def mark_static(array: Any, axis: int | _Iterable[int] | None = None) -> None: ...
def reset() -> None: ...
def set_logs(*names: str, **flags: bool) -> None: ...
