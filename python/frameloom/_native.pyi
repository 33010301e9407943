"""The extension module: dispatch, capture and the runtime."""

from collections.abc import Callable as _AnyCallable
from typing import Any, Generic, ParamSpec, TypeVar

_P = ParamSpec("_P")
_R = TypeVar("_R")

class Callable(Generic[_P, _R]):
    """A compiled function. Made by frameloom.compile()."""

    __wrapped__: _AnyCallable[_P, _R]
    __name__: str
    __qualname__: str
    def __new__(cls, function: _AnyCallable[_P, _R], backend: str | Backend = "loom", fullgraph: bool = False,
                dynamic: bool | None = None, fastmath: bool = False, cpu: str = "native",
                role: str = "compile", target: _AnyCallable[..., Any] = ..., reason: str = ...) -> Callable[_P, _R]: ...
    def __call__(self, *args: _P.args, **kwargs: _P.kwargs) -> _R: ...
    def __get__(self, instance: Any, owner: type | None = None) -> Any: ...
    def _report(self) -> dict[str, Any]: ...
    def _options(self) -> dict[str, Any]: ...
    def _reset(self) -> None: ...

class Value:
    """An array in a graph: an input, or a result of an operation."""

    name: str
    type: str
    dtype: str
    shape: tuple[int | str, ...]
    strides: tuple[int | str, ...] | None
    kind: str
    node: Node | None
    index: int
    graph: Graph

class Node:
    """An operation of a graph."""

    op: str
    operands: tuple[Value, ...]
    results: tuple[Value, ...]
    attributes: dict[str, Any]
    location: tuple[str, int, int, str | None] | None
    regions: tuple[Graph, ...]
    target: _AnyCallable[..., Any] | None
    graph: Graph

class Graph:
    """A captured graph."""

    name: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    symbols: dict[str, tuple[int, int]]
    code: str
    def __call__(self, *inputs: Any) -> tuple[Any, ...]: ...
    def __len__(self) -> int: ...
    def print(self) -> None: ...

Backend = _AnyCallable[[Graph, list[Any]], _AnyCallable[..., Any]]

def measure_guards(on: bool) -> bool: ...
def compile_times() -> list[tuple[str, bool, dict[str, float]]]: ...
def callables() -> list[Callable[..., Any]]: ...
def reset() -> None: ...
def graph_break(msg: str = "") -> None: ...
def skip_frame(msg: str = "") -> None: ...
def get_stance() -> str: ...
def set_stance(name: str) -> None: ...
def is_compiling() -> bool: ...
def mark(array: Any, axis: int, range: tuple[int, int] | None) -> None: ...
def settings() -> list[tuple[str | None, str, str, str, str]]: ...
def reasons() -> list[tuple[int, str, str, str]]: ...
def get_setting(name: str) -> str | int | bool: ...
def set_setting(name: str, value: str | int | bool) -> None: ...
