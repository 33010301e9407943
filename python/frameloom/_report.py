"""Text of reports: what was compiled, and what was not."""

import collections as _collections
import inspect as _inspect
import itertools as _itertools
from typing import NamedTuple

from ._errors import CompileError, GraphBreak


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


def _notices():
    from . import _native

    return _native.notices()


def _source(file, line, column):
    """The place and its source line with a caret under the column."""
    if not file or not line:
        return ""
    import linecache

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
    error = (CompileError if reason.name == "COMPILER" else GraphBreak)(str(reason))
    error.code, error.reason, error.detail, error.hint = reason.code, reason.reason, reason.detail, reason.hint
    error.filename, error.function = reason.file, reason.function
    error.lineno, error.column = reason.line, reason.column
    return error


class Guard(NamedTuple):
    """What has to hold for a compiled version to be used."""

    kind: str  # "type", "identity", "value", "length", "keys", "missing", "array", "size", "same", "disjoint", "state", ...
    source: str  # what is looked at: "a", "self.weights[0]", "<function>.__code__"
    text: str  # "a: float32[16, 4]"
    file: str | None  # the user's line that made it necessary
    line: int
    function: str | None
    cost_ns: float | None  # of one check; None where it was not measured

    def __str__(self):
        place = f"  ({self.file}:{self.line})" if self.file and self.line else ""
        cost = f"  {self.cost_ns:.1f} ns" if self.cost_ns is not None else ""
        return f"{self.text}{cost}{place}"


class Loop(NamedTuple):
    """What became of a loop."""

    file: str | None
    line: int
    column: int
    function: str | None
    fate: str  # "rolled" (once in the graph), "unrolled", "left" (to Python)
    iterations: int | None  # None: not known when it was captured
    why: str  # why it is not rolled, or ""

    def __str__(self):
        count = "" if self.iterations is None else f" of {_count(self.iterations, 'iteration')}"
        return f"{self.file}:{self.line}: loop{count} {self.fate}" + (f": {self.why}" if self.why else "")


class Recompile(NamedTuple):
    """A call that no compiled version fitted, though there were some."""

    function: str  # and the line where a part of it begins
    source: str
    guard: str  # the guard of the newest version that failed
    old: str
    new: str
    advice: str  # what to write to avoid it
    file: str | None
    line: int
    ms: float  # what capturing and compiling cost
    compiled: bool  # False: it could not be compiled

    def __str__(self):
        place = f" ({self.file}:{self.line})" if self.file else ""
        return f"{self.function}: {self.source} was {self.old} and is {self.new}{place}, {self.ms:.2f} ms; to avoid it: {self.advice}"


class PutOff(NamedTuple):
    """A function, or a part of one, whose compilation is put off since there are no arrays in sight, or earlier versions have taken long."""

    function: str
    file: str
    line: int
    calls: int
    plain_ms: float
    captures_ms: float
    wanted_ms: float

    def __str__(self):
        spent = f", versions so far {self.captures_ms:.3g} ms" if self.captures_ms else ""
        return (f"{self.function} ({self.file}:{self.line}): {_count(self.calls, 'call')} took {self.plain_ms:.3g} ms"
                f"{spent}; compiled when they have taken {self.wanted_ms:.3g} ms")


class KnownSize(NamedTuple):
    """A size that changes from call to call, but stays a constant: each has a version."""

    name: str
    axis: int
    reason: str

    def __str__(self):
        return f"{self.name}.shape[{self.axis}]: {self.reason}"


class HostCall(NamedTuple):
    """A function that the library itself runs inside a compiled graph, once in the graph."""

    op: str  # "aten.linalg_solve.default", "searchsorted"
    library: str  # "torch" or "numpy"
    reason: str | None  # why it is not compiled, where that is known
    file: str
    line: int

    def __str__(self):
        reason = f": {self.reason}" if self.reason else ""
        return f"{self.op} runs in {self.library}{reason} ({self.file}:{self.line})"


class DevicePlan(NamedTuple):
    """What calls of one set of sizes order on a device."""

    device: str
    launches: int
    copies: int
    arena: int  # bytes of memory of each call beside arguments and results
    waits: bool  # each call waits for the device: for conditions and counts, or for values that decide whether it runs at all
    graph: str  # "single": there is one launch; "loops": the host runs loops or branches; "unused"; "waits": for the next call; "used"; "failed"
    pieces: int  # graphs that a call takes: one for each piece between what the host does
    depth: int  # launches and copies of them that have to follow each other
    replays: int  # runs of these graphs
    updates: int  # launches and copies that were changed in them

    def __str__(self):
        graphs = "one graph of the driver" if self.pieces == 1 else f"{self.pieces} graphs of the driver"
        graphs += f" ({self.depth} steps deep)"
        graph = {
            "single": "no graph for a single launch",
            "loops": "loops and branches, which the host runs: ordered one by one",
            "unused": "ordered one by one (cudagraphs is off)",
            "waits": f"{graphs} from the next call on",
            "used": f"{graphs}, {_count(self.replays, 'call')} of {'it' if self.pieces == 1 else 'them'}, {_count(self.updates, 'change')}",
            "failed": "ordered one by one, since the driver has refused a graph of them",
        }[self.graph]
        waits = ", waits for the device" if self.waits else ""
        return (f"{self.device}: {self.launches} launch{'es' * (self.launches != 1)}, {self.copies} cop{'y' if self.copies == 1 else 'ies'}, "
                f"{self.arena} bytes of arena{waits}; {graph}")


class Placement(NamedTuple):
    """What runs calls of a function with `device="auto"` whose arguments have the same layouts, and why."""

    device: str  # "cuda:0"; "": there is none
    where: str  # "host" or "device"
    why: str
    host_s: float | None  # estimated seconds of a call; None: nothing was estimated
    device_s: float | None
    up: int | None  # bytes to the device in each call
    down: int | None  # bytes from it
    kept: int | None  # bytes of arguments that lie there
    bytes: float | None  # that kernels read and write
    operations: float | None
    kernels: float | None
    witness: bool  # these include a second graph, which tells whether NumPy would give a floating-point warning
    measured_host_s: float | None  # None: it was not measured
    measured_device_s: float | None

    @classmethod
    def nowhere(cls, why):
        return cls("", "host", why, *(None,) * 8, False, None, None)

    def __str__(self):
        there = f"on {self.device}" if self.where == "device" else "on the host"
        text = f"{there}: {self.why}"
        if self.measured_device_s is not None and self.measured_host_s is not None:
            text += f"; {_seconds(self.measured_device_s)} on {self.device} against {_seconds(self.measured_host_s)} on the host"
        if self.device_s is not None:
            text += (f"; estimated {_seconds(self.device_s)} on {self.device} against {_seconds(self.host_s)} on the host: "
                     f"{_bytes(self.up)} to copy there, {_bytes(self.down)} back, {_bytes(self.kept)} lie there, {_count(round(self.kernels), 'kernel')} "
                     f"with {_bytes(self.bytes)} of memory and {self.operations:.3g} operations")
            if self.witness:
                text += ", to look for floating-point warnings as well"
        return text


def _seconds(s):
    return f"{s * 1e3:.3g} ms" if s >= 1e-3 else f"{s * 1e6:.3g} us"


def _bytes(count):
    for unit, size in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if count >= size:
            return f"{count / size:.3g} {unit}"
    return f"{count:.0f} bytes"


LEFT = (24, 25)  # codes of functions and generators that were slower compiled


class Explanation:
    """How a function was compiled.

    graph_count, graph_break_count, op_count
    graphs           the captured graphs, as MLIR text
    graph_names      "step", "step from line 12"
    ops_per_graph    names of the operations of each
    kernels          kernels of each; `kernel_count` is their sum
    break_reasons    `BreakReason`s
    out_guards       `Guard`s: what has to hold of the arguments and of all else that the function reads
    host_calls       `HostCall`s: functions that the library itself runs inside the graphs
    loops            `Loop`s: which were rolled, unrolled or left to Python
    recompiles       `Recompile`s
    compile_times    for each graph a dict of milliseconds
    known_sizes      `KnownSize`s: sizes that change and stay constants
    put_off          `PutOff`s: what is not compiled before its calls have taken longer
    device_plans     `DevicePlan`s: of a function on a device, what the call ordered there, then what earlier calls have
    placements       `Placement`s: of a function with `device="auto"`, what ran this call, then earlier ones, and why
    again            calls that ran again as plain Python, to report floating-point exceptions
    notices          what this process was told of once: what keeps functions from running fast
    """

    def __init__(self, name, report):
        # Between two breaks there may be nothing to compute.
        entries = [e for e in report["entries"] if e["ops"] or not e["part"]]
        self.name = name
        self.graphs = [e["graph"] for e in entries]
        self.graph_names = [e["name"] for e in entries]
        self.ops_per_graph = [e["ops"] for e in entries]
        self.kernels = [e["kernels"] for e in entries]
        self.cached = [e["cached"] for e in entries]
        self.out_guards = [Guard(*row) for e in entries for row in e["guards"]]
        self.host_calls = [HostCall(*row) for e in entries for row in e["host_calls"]]
        rows = [row for e in report["entries"] for row in e["loops"]] + list(report["loops"] or [])
        self.loops = list(dict.fromkeys(Loop(*row) for row in rows))
        self.recompiles = [Recompile(*row) for row in report["recompiles"] or []]
        self.compile_times = [e["times"] for e in entries]
        self.break_reasons = [_reason(row) for row in report["breaks"] or []]
        self.known_sizes = list(dict.fromkeys(KnownSize(*row) for row in report["sizes"]))
        self.put_off = [PutOff(*row) for row in report["put_off"]]
        self.again = sum(e["again"] for e in report["entries"])
        self.notices = _notices()
        self.device_plans = []
        self.placements = []

    def add_left(self, report):
        """That the function whose report it is was left to Python after it had been timed is a reason, too."""
        self.break_reasons += [_reason(row) for row in report["breaks"] or [] if row[0] in LEFT]

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
            "name", "graph_count", "graph_break_count", "op_count", "kernel_count", "graphs", "graph_names", "ops_per_graph",
            "kernels", "cached", "compile_times", "again", "notices")}
        for name in ("out_guards", "host_calls", "loops", "recompiles", "break_reasons", "known_sizes", "put_off", "device_plans", "placements"):
            fields[name] = [row._asdict() for row in getattr(self, name)]
        return json.dumps(fields, indent=2)

    def __str__(self):
        lines = [f"{self.name}: {_count(self.graph_count, 'graph')}, {_count(self.op_count, 'operation')}, "
                 f"{_count(self.graph_break_count, 'break')}"]
        for i, graph in enumerate(self.graphs):
            times = self.compile_times[i]
            made = _count(self.kernels[i], "kernel") + (" from the disk cache" if self.cached[i] else "")
            lines.append(f"\ngraph {i}, {self.graph_names[i]}: {made}, {times['total_ms']:.1f} ms\n{graph.rstrip()}")
        costs = [guard.cost_ns for guard in self.out_guards if guard.cost_ns is not None]
        total = f", {sum(costs):.0f} ns" if costs else ""
        hosts = _counted(self.host_calls)
        for title, rows in ((f"guards{total}", self.out_guards), ("run by the library inside the graphs", hosts), ("loops", self.loops), ("recompiles", self.recompiles)):
            if rows:
                lines.append(f"\n{title}:\n" + "\n".join(f"  {row}" for row in rows))
        if self.break_reasons:
            lines.append("\nbreaks:\n" + "\n".join(str(reason) for reason in self.break_reasons))
        if self.known_sizes:
            lines.append("\nsizes that stay constants:\n" + "\n".join(f"  {row}" for row in self.known_sizes))
        if self.put_off:
            lines.append("\nFL0028: put off, having no arrays in sight, or versions that have taken long:\n" + "\n".join(f"  {row}" for row in self.put_off))
        if self.device_plans:
            lines.append("\non the device:\n" + "\n".join(f"  {row}" for row in self.device_plans))
        if self.placements:
            lines.append("\nwhere it runs:\n" + "\n".join(f"  {row}" for row in dict.fromkeys(self.placements)))
        if self.again:
            lines.append(f"\nFL0026: {_count(self.again, 'call')} ran again as plain Python, to report floating-point exceptions")
        if self.notices:
            lines.append("\nin this process:\n" + "\n".join(f"  {text}" for text in self.notices))
        return "\n".join(lines)

    def __repr__(self):
        return f"<frameloom.Explanation of {str(self).splitlines()[0]}>"


def _counted(rows):
    """Their texts, each once and with how often it is there."""
    counts = _collections.Counter(map(str, rows))
    return [text + (f", {count} times" if count > 1 else "") for text, count in counts.items()]


def _count(number, word):
    return f"{number} {word}" + ("" if number == 1 else "s")


VALUES = 1000  # of a generator, however many it would give


def explain_call(compiled, args, kwargs):
    """Run a fresh callable once and report on it; a generator to its end, or for VALUES values. An exception of the function itself is the caller's."""
    from . import _native

    before = _native.measure_guards(True)
    try:
        result = compiled(*args, **kwargs)
        if compiled.__code__.co_flags & _inspect.CO_GENERATOR:
            for _ in _itertools.islice(result, VALUES):
                pass
    finally:
        _native.measure_guards(before)
    return Explanation(compiled.__qualname__, compiled._report())


class CompileProfiler:
    """A backend that runs the captured graphs as they are, and keeps count: `compile(fn, backend=CompileProfiler())`.

    frame_count  graphs that it was given
    op_count     operations in them

    `report()` lists the graph breaks and, as if `recompile_limit` were 1, each guard whose failure made a function be
    compiled again, of the functions that have this object as their backend and are still alive.
    """

    def __init__(self):
        self.frame_count = self.op_count = 0

    def __call__(self, graph, example_inputs):
        self.frame_count += 1
        self.op_count += len(graph)
        return graph

    def _reports(self):
        from . import _native

        for compiled in _native.callables():
            if compiled._options()["backend"] is self:
                yield compiled, compiled._report()

    def get_metrics(self):
        """A dict of "breaks" and "recompiles": {function: [BreakReason]} and {function: [Recompile]}."""
        breaks, recompiles = {}, {}
        for compiled, report in self._reports():
            name = f"{compiled.__qualname__} ({compiled.__code__.co_filename}:{compiled.__code__.co_firstlineno})"
            for row in report["breaks"] or ():
                breaks.setdefault(name, []).append(_reason(row))
            for row in report["recompiles"] or ():
                recompiles.setdefault(name, []).append(Recompile(*row))
        return {"breaks": breaks, "recompiles": recompiles}

    def report(self):
        """Words about both."""
        metrics = self.get_metrics()
        lines = [f"frameloom compile profiler: {_count(self.frame_count, 'graph')}, {_count(self.op_count, 'operation')}"]
        lines += ["", "Graph breaks: what runs as plain Python between the graphs" if metrics["breaks"] else "No graph breaks."]
        for name, rows in metrics["breaks"].items():
            lines += [name, *("  " + str(row).replace("\n", "\n  ") for row in rows)]
        if not metrics["recompiles"]:
            lines += ["", "No recompilations."]
        else:
            lines += ["", "Recompilations: guards that failed"]
            for name, rows in metrics["recompiles"].items():
                lines += [name, *(f"  {row}" for row in rows)]
            most = max(map(len, metrics["recompiles"].values())) + 1
            lines += ["", f"With frameloom.config.recompile_limit = {most} or more all of these stay compiled."]
        return "\n".join(lines)


def compile_times(repr="str", aggregate=False):
    """Milliseconds of each phase of each compilation in this process.

    repr       "str": a table as text; "csv": (header, rows) as torch's, times joined by commas
    aggregate  sums, not single times
    """
    from . import _native

    if repr not in ("str", "csv"):
        raise ValueError(f"repr must be 'str' or 'csv', not {repr!r}")
    table = {}
    for name, cached, phases in _native.compile_times():
        for phase, ms in phases.items():
            table.setdefault(f"{name}: {phase.removesuffix('_ms')}", []).append(ms)
    table = {key: [sum(times)] if aggregate else times for key, times in table.items()}
    rows = [(key, ", ".join(f"{ms:.3f}" for ms in times)) for key, times in table.items()]
    if repr == "csv":
        return [key for key, _ in rows], [times for _, times in rows]
    width = max((len(key) for key, _ in rows), default=8)
    lines = [f"{'Function':{width}}  Milliseconds"] + [f"{key:{width}}  {times}" for key, times in rows]
    return "\n".join(lines)
