"""Words about what was compiled and what was not. Imported only when somebody asks."""

import linecache
from typing import NamedTuple

from ._errors import GraphBreak


class BreakReason(NamedTuple):
    """Why a call was not captured, and where."""

    code: str
    name: str
    reason: str
    hint: str
    detail: str
    file: str | None
    function: str | None
    line: int
    column: int

    def __str__(self):
        text = f"{self.code} {self.reason}"
        if self.detail:
            text += f": {self.detail}"
        text += _source(self.file, self.line, self.column)
        if self.hint:
            text += f"\n  hint: {self.hint}"
        return text


def _reason(row):
    number, name, text, hint, detail, file, function, line, column = row
    return BreakReason(f"FL{number:04d}", name, text, hint, detail, file, function, line, column)


def _source(file, line, column):
    """The place and its source line with a caret under the column."""
    if not file or not line:
        return ""
    text = f"\n  {file}:{line}:{column}"
    source = linecache.getline(file, line).rstrip("\n")
    if not source.strip():
        return text
    stripped = source.lstrip()
    # Columns count bytes of UTF-8, from 1.
    before = source.encode()[: max(column - 1, 0)].decode(errors="replace")
    at = max(len(before) - (len(source) - len(stripped)), 0)
    return f"{text}\n    {stripped}\n    {' ' * at}^"


def graph_break_error(row):
    """The exception for a break; called from C."""
    reason = _reason(row)
    error = GraphBreak(str(reason))
    error.code, error.reason, error.detail, error.hint = reason.code, reason.reason, reason.detail, reason.hint
    error.filename, error.function = reason.file, reason.function
    error.lineno, error.column = reason.line, reason.column
    return error


class Explanation:
    """How a function was compiled.

    graph_count, graph_break_count, op_count
    graphs           the captured graphs, as MLIR text
    ops_per_graph    names of the operations of each
    kernels          kernels of each; `kernel_count` is their sum
    break_reasons    `BreakReason`s
    out_guards       what has to hold of the arguments and of all else that the function reads, in words
    compile_times    for each graph a dict of milliseconds
    """

    def __init__(self, name, report):
        # Between two breaks there may be nothing to compute.
        entries = [e for e in report["entries"] if e["ops"] or not e["part"]]
        self.name = name
        self.graphs = [e["graph"] for e in entries]
        self.ops_per_graph = [e["ops"] for e in entries]
        self.kernels = [e["kernels"] for e in entries]
        self.cached = [e["cached"] for e in entries]
        self.out_guards = [g for e in entries for g in e["guards"]]
        self.compile_times = [e["times"] for e in entries]
        self.break_reasons = [_reason(row) for row in report["breaks"] or []]

    @property
    def graph_count(self):
        return len(self.graphs)

    @property
    def graph_break_count(self):
        return len(self.break_reasons)

    @property
    def op_count(self):
        return sum(map(len, self.ops_per_graph))

    @property
    def kernel_count(self):
        return sum(self.kernels)

    def json(self):
        """All fields as JSON text."""
        import json

        fields = {name: getattr(self, name) for name in (
            "name", "graph_count", "graph_break_count", "op_count", "kernel_count", "graphs", "ops_per_graph", "kernels", "cached",
            "out_guards", "compile_times")}
        fields["break_reasons"] = [reason._asdict() for reason in self.break_reasons]
        return json.dumps(fields, indent=2)

    def __str__(self):
        lines = [f"{self.name}: {_count(self.graph_count, 'graph')}, {_count(self.op_count, 'operation')}, "
                 f"{_count(self.graph_break_count, 'break')}"]
        for i, graph in enumerate(self.graphs):
            times = self.compile_times[i]
            made = _count(self.kernels[i], "kernel") + (" from the disk cache" if self.cached[i] else "")
            lines.append(f"\ngraph {i}: {made}, {times['total_ms']:.1f} ms\n{graph.rstrip()}")
        if self.out_guards:
            lines.append("\nguards:\n" + "\n".join(f"  {guard}" for guard in self.out_guards))
        if self.break_reasons:
            lines.append("\nbreaks:\n" + "\n".join(str(reason) for reason in self.break_reasons))
        return "\n".join(lines)

    def __repr__(self):
        return f"<frameloom.Explanation of {str(self).splitlines()[0]}>"


def _count(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")


def explain_call(compiled, args, kwargs):
    """Run a fresh callable once and report on it. An exception of the function itself is the caller's."""
    compiled(*args, **kwargs)
    return Explanation(compiled.__qualname__, compiled._report())
