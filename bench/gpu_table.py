"""The page of what bench/gpu.py has measured, and of which targets were reached. Nothing is measured here."""

from __future__ import annotations

import math
import re

import bench

NOT_RUN = "not run on hardware"
NOTHING = {"machine": {"hardware": False}, "sections": {}}  # before anything was measured
HEADING = ["what", "to reach", "reached", "verdict"]
ATTENTION = ("flash", "efficient", "cudnn", "eager")


# ---- measures: of a row, a number or None ----


def ratio(of, name):
    ours, theirs = of["times"].get("frameloom"), of["times"].get(name)
    return theirs / ours if ours and theirs else None


def of_copy(row):
    return ratio(row, "copy")


def of_inductor(row):
    return ratio(row, "inductor")


def of_eager(row):
    return ratio(row, "eager")


def of_flash(row):
    return ratio(row, "flash")


def of_best(row):
    found = [ratio(row, name) for name in ATTENTION]
    return min((r for r in found if r), default=None)


def error_of_torch(row):
    """Our distance from the exact result over torch's. Below a unit of the last place of f32 chance decides between the two."""
    ours, theirs = row["errors"].get("frameloom"), row["errors"].get("eager")
    if ours is None or theirs is None:
        return None
    return 1.0 if ours <= 2.0**-23 or ours == theirs else ours / theirs if theirs else math.inf


def memory_of_inductor(row):
    memory = row.get("memory") or {}
    return memory["frameloom"] / memory["inductor"] if memory.get("inductor") and "frameloom" in memory else None


def seconds(name):
    return lambda row: row["times"].get(name)


def beyond_launch(row):
    ours, theirs = row["times"].get("frameloom"), row["times"].get("cuLaunchKernelEx")
    return ours - theirs if ours is not None and theirs else None


def of_torch_graph(row):
    found = ratio(row, "torch's graph")
    return 1 / found if found else None


def same_pointers(row):
    return None if "changed" in row["name"] else of_torch_graph(row)


def runs(row):
    return 1.0


def percent(x):
    return f"{100 * x:.0f} %"


def times(x):
    return f"{x:.2f}"


# (what, groups, measure, limit, at least or at most, which of the rows decides, how a number is shown)
TARGETS = [
    ("forms that run and are right", ("forms",), runs, 1, ">=", "least", percent),
    ("pointwise, broadcast: of a copy's rate", ("pointwise",), of_copy, 0.92, ">=", "least", percent),
    ("transposed: of a copy's rate", ("transposed",), of_copy, 0.85, ">=", "least", percent),
    (
        "pointwise, broadcast, transposed: Inductor's time over ours",
        ("pointwise", "transposed"),
        of_inductor,
        1,
        ">=",
        "mean",
        times,
    ),
    ("reductions: of a copy's rate", ("reductions",), of_copy, 0.90, ">=", "least", percent),
    ("reductions: error over torch's", ("reductions",), error_of_torch, 1, "<=", "largest", times),
    ("softmax, layernorm, rmsnorm: of a copy's rate", ("rows forward",), of_copy, 0.88, ">=", "least", percent),
    ("softmax, layernorm, rmsnorm: Inductor's time over ours", ("rows forward",), of_inductor, 1.05, ">=", "mean", times),
    ("softmax, layernorm, rmsnorm: eager's time over ours", ("rows forward",), of_eager, 1.2, ">=", "mean", times),
    ("their gradients: of a copy's rate", ("rows backward",), of_copy, 0.80, ">=", "least", percent),
    ("products of halves by warps: of cuBLAS", ("products by warps",), of_eager, 0.55, ">=", "mean", times),
    ("products of halves by warpgroups: of cuBLAS", ("products by warpgroups",), of_eager, 0.93, ">=", "mean", times),
    (
        "products of halves by warpgroups: the slowest of cuBLAS",
        ("products by warpgroups",),
        of_eager,
        0.80,
        ">=",
        "least",
        times,
    ),
    (
        "products with an epilogue: Inductor's time over ours (max-autotune)",
        ("epilogues",),
        of_inductor,
        1,
        ">=",
        "mean",
        times,
    ),
    ("products of TF32: of cuBLAS", ("tf32",), of_eager, 0.90, ">=", "mean", times),
    ("products of f32: of cuBLAS", ("f32",), of_eager, 0.90, ">=", "mean", times),
    ("products of f64: of cuBLAS", ("f64",), of_eager, 0.85, ">=", "mean", times),
    ("products of few rows: of a copy's rate", ("few rows",), of_copy, 0.85, ">=", "least", percent),
    ("attention by warps: of FlashAttention 2", ("attention by warps",), of_flash, 0.9, ">=", "mean", times),
    ("attention by warpgroups: of torch's fastest", ("attention by warpgroups",), of_best, 0.80, ">=", "mean", times),
    (
        "attention, gradients: of FlashAttention 2",
        ("attention by warps backward", "attention by warpgroups backward"),
        of_flash,
        1,
        ">=",
        "mean",
        times,
    ),
    ("a launch beyond cuLaunchKernelEx", ("launch",), beyond_launch, 0.4e-6, "<=", "largest", bench.show_time),
    ("replay of 100 small kernels: of torch's graph", ("replay",), same_pointers, 1.1, "<=", "largest", times),
    ("PTX of a kernel", ("compile",), seconds("ptx"), 10e-3, "<=", "largest", bench.show_time),
    ("machine code of a kernel", ("compile",), seconds("cubin"), 40e-3, "<=", "largest", bench.show_time),
    ("GPT-2 with 12 blocks, compiled", ("GPT-2",), seconds("cold"), 1.5, "<=", "largest", bench.show_time),
    ("GPT-2 with 12 blocks, from the cache", ("GPT-2",), seconds("cached"), 15e-3, "<=", "largest", bench.show_time),
    ("models, forward: Inductor's time over ours", ("models forward",), of_inductor, 1, ">=", "mean", times),
    ("models, training: Inductor's time over ours", ("models training",), of_inductor, 0.95, ">=", "mean", times),
    ("models, training: memory over Inductor's", ("models training",), memory_of_inductor, 1, "<=", "mean", times),
]
CHANGED = ("replay with changed pointers beyond the same ones", 10e-6)


def broken(row):
    return "failed" in row or "wrong" in row


def decided(values, which):
    if which == "mean":
        return math.exp(sum(math.log(max(v, 1e-12)) for v in values) / len(values))
    return min(values) if which == "least" else max(values)


def all_rows(facts):
    return [row for section in facts["sections"].values() for row in section["rows"]]


def verdict(value, limit, sense, bad, hardware):
    if not hardware:
        return NOT_RUN
    if value is None:
        return "not measured"
    held = (value >= limit if sense == ">=" else value <= limit) and not bad
    return "held" if held else "**missed**"


def reached(facts):
    """Rows of the table of targets: (what, to reach, reached, verdict)."""
    rows, hardware = all_rows(facts), facts["machine"]["hardware"]
    for what, groups, measure, limit, sense, which, show in TARGETS:
        of_group = [row for row in rows if row["group"] in groups]
        tried = [row for row in of_group if not row.get("no time")]
        bad = sum(broken(row) for row in tried)
        if measure is runs:
            value = (len(tried) - bad) / len(tried) if tried else None
            text = f"{len(tried) - bad} of {len(tried)}" if tried else "-"
        else:
            values = [v for v in map(measure, (row for row in tried if not broken(row))) if v is not None]
            value = decided(values, which) if values else None
            text = (show(value) if value is not None else "-") + (f" of {len(values)} rows" if len(values) > 1 else "")
            text += f"; {bad} wrong or failed" if bad else ""
        limit_text = ("at most " if sense == "<=" else "") + show(limit)
        yield [what, limit_text, text, verdict(value, limit, sense, bad, hardware)]
    yield changed_pointers(rows, hardware)


def changed_pointers(rows, hardware):
    found = {
        ("changed" in row["name"]): row["times"].get("frameloom")
        for row in rows
        if row["group"] == "replay" and not broken(row)
    }
    value = found[True] - found[False] if found.get(True) and found.get(False) else None
    what, limit = CHANGED
    text = bench.show_time(max(value, 0)) if value is not None else "-"
    return [what, f"at most {bench.show_time(limit)}", text, verdict(value, limit, "<=", 0, hardware)]


# ---- the page ----


def of_row(row, peers):
    """Cells of one row: what it is, our time, others' times over ours, the rest."""
    if broken(row):
        state = "wrong" if "wrong" in row else row["failed"]
        return [row["name"], f"**{state}**", *["-"] * len(peers), "-"]
    ours = row["times"].get("frameloom")
    cells = []
    for peer in peers:
        found = ratio(row, peer)
        cells.append("-" if found is None else f"{found:.2f}")
    rest = []
    if row.get("bytes") and ours:
        rest.append(f"{row['bytes'] / ours / 1e12:.2f} TB/s")
    if row.get("flops") and ours:
        rest.append(f"{row['flops'] / ours / 1e12:.0f} TFLOP/s")
    if (error := error_of_torch(row)) is not None and row["times"]:
        rest.append(f"error {error:.2f} of torch's")
    if row.get("memory"):
        rest.append("memory " + ", ".join(f"{name} {size / 2 ** 20:.0f} MiB" for name, size in row["memory"].items()))
    rest += [
        f"{name} {bench.show_time(t)}"
        for name, t in row["times"].items()
        if name in ("ptx", "cubin", "cold", "cached", "cuLaunchKernelEx")
    ]
    shown = bench.show_time(ours) if ours else "right" if not row["times"] else "-"
    return [row["name"], shown, *cells, "; ".join(rest) or "-"]


def section_table(rows):
    peers = [
        name
        for name in ("copy", "eager", "inductor", "flash", "efficient", "cudnn", "torch's graph")
        if any(name in row["times"] for row in rows)
    ]
    heading = ["what", "frameloom", *[f"{peer} : frameloom" for peer in peers], "more"]
    return bench.table(heading, [of_row(row, peers) for row in rows])


def page(facts):
    machine = facts["machine"]
    lines = [
        f"# On a GPU: {machine['name']}",
        "",
        "Made by `bench/gpu.sh`; what each section does stands in `bench/gpu.py`.",
        "",
    ]
    if not machine["hardware"]:
        lines += ["**No GPU was used: kernels ran in a simulator. No number here means anything.**", ""]
    lines += [
        ", ".join(
            f"{key} {machine[key]}"
            for key in ("architecture", "torch", "cuda", "triton", "cupy", "frameloom", "python")
            if machine.get(key)
        ),
        "",
        "A ratio is another's time over Frameloom's: above 1 is faster; a copy's is the share of its rate, for the bytes",
        "that have to be read and written. Means are geometric. Rows that are wrong or fail count as missed.",
        "",
        "## Targets",
        "",
    ]
    lines += [*bench.table(HEADING, list(reached(facts))), ""]
    for name, section in facts["sections"].items():
        rows = section["rows"]
        lines += [f"## {name[0].upper()}{name[1:]}", ""]
        if section.get("note"):
            lines += [f"{section['note']}.", ""]
        if rows:
            lines += [*section_table(rows), ""]
        notes = [f"- {row['name']}: {note}" for row in rows for note in row.get("notes", [])]
        notes += [f"- {row['name']}: {line}" for row in rows for line in row.get("said", [])]
        lines += notes and [*dict.fromkeys(notes), ""]
    return [re.sub(r"[ \t]+$", "", line) for line in lines[:-1] if line is not None]
