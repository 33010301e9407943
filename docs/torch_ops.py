"""Writes docs/torch-ops.md: torch's own OpInfo samples through the backend (`make torch-ops`).

    python docs/torch_ops.py [--limit N] [--dtypes float32,int64] [--ops REGEX] [--again REGEX] [--report]

Results are kept in build/torch-ops, one line for each sample, so that a run that was stopped goes on
where it was; `--again` forgets the outcomes, host calls and ops that match. Samples run in a child
process: one that crashes or hangs is noted and the next child goes on behind it.
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
import re
import resource
import subprocess
import sys
import time
import warnings
from collections import Counter, defaultdict

ROOT = pathlib.Path(__file__).resolve().parent.parent
DATA = ROOT / "build" / "torch-ops"
DTYPES = ("float32", "float64", "int64", "bool", "bfloat16")
WHOLE = 5  # of every so manyth op (float32), the first sample goes through the whole of torch.compile too
DYNAMO = 12  # so many of each op and dtype that only Dynamo can split; the others are left out
EVERY = -2  # in place of a sample's number: says that all samples of the op were run, and how many there are
SECONDS = 180  # for one sample, before its process is ended
MEGABYTES = 4000  # of a process, before the next one takes over


GOOD = ("same", "nearer", "shape", "raises")
BAD = ("wrong", "failed", "crashed")


# ---- the child: runs samples ----------------------------------------------------------------------


def load(dtype):
    path = DATA / f"{dtype}.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return {(row["op"], row["sample"]): row for row in map(json.loads, lines)}


def work(dtype, limit, pattern):
    """Runs what is missing; notes what is being run, for the parent."""
    sys.path.insert(0, str(ROOT / "test" / "python" / "torch"))
    warnings.simplefilter("ignore")
    import torch
    import torch_ops

    torch.set_num_threads(1)
    torch.manual_seed = torch.default_generator.manual_seed  # the other devices' would keep a stack for each call
    done, kind = load(dtype), getattr(torch, dtype)
    with open(DATA / f"{dtype}.jsonl", "a", buffering=1) as out:
        for number, op in enumerate(torch_ops.op_db):
            if kind not in op.supported_dtypes("cpu") or not re.search(pattern, op.formatted_name):
                continue
            whole = dtype == "float32" and number % WHOLE == 0
            work_op(torch_ops, op, kind, limit, done, out, whole)


def write(out, dtype, op, sample, outcome, detail="", report=None, seconds=0):
    row = {"op": op, "sample": sample, "outcome": outcome, "detail": detail, "ms": round(seconds * 1e3)}
    if report:
        row["host"] = [f"{name}: {reason}" for name, reason in report.host_calls]
        row["refused"], row["breaks"] = report.refused, report.breaks
    out.write(json.dumps({k: v for k, v in row.items() if v or k == "sample"}) + "\n")


def work_op(torch_ops, op, dtype, limit, done, out, whole):
    name, text, current = op.formatted_name, str(dtype)[6:], DATA / f"{str(dtype)[6:]}.current"
    grad = torch_ops.needs_grad(op, dtype)
    current.write_text(json.dumps([name, -1]))
    if (name, -1) in done:
        return
    dynamo = DYNAMO - sum(row["op"] == name and "breaks" in row for row in done.values())
    count = 0
    try:
        for index, sample in torch_ops.samples(op, dtype, limit):
            count += 1
            if (name, index) in done:
                continue
            current.write_text(json.dumps([name, index]))
            start = time.time()
            outcome, detail, report = torch_ops.check_sample(
                op, dtype, sample, grad, recorded=True, dynamo=dynamo > 0
            )
            dynamo -= bool(report.breaks)
            if whole and index == 0 and outcome in GOOD and not report.breaks:
                again, why = torch_ops.check_whole(op, dtype, sample, grad)
                outcome, detail = (again, "torch.compile: " + why) if again in BAD else (outcome, detail)
            write(out, text, name, index, outcome, detail, report, time.time() - start)
            if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss > MEGABYTES * 1024:
                sys.exit(9)
        if limit is None and (name, EVERY) not in done:
            write(out, text, name, EVERY, "count", str(count))
    except Exception as e:  # OpInfo's own samples
        write(out, text, name, -1, "torch cannot", f"no samples: {type(e).__name__}: {e}"[:200])


# ---- the parent ----------------------------------------------------------------------------------


def run_child(dtype, args):
    """None when all is done, else how the child ended."""
    current = DATA / f"{dtype}.current"
    current.write_text("[]")
    command = [sys.executable, __file__, "--child", dtype, "--ops", args.ops]
    if args.limit:
        command += ["--limit", str(args.limit)]
    env = dict(os.environ, FRAMELOOM_CACHE="0", OMP_NUM_THREADS="1")
    with open(DATA / f"{dtype}.log", "ab") as log:
        child = subprocess.Popen(command, env=env, stdout=log, stderr=log)
        while child.poll() is None:
            time.sleep(0.5)
            if time.time() - current.stat().st_mtime > SECONDS:
                child.kill()
                child.wait()
                return f"took more than {SECONDS} s"
    return None if child.returncode == 0 else f"ended with {child.returncode}"


def run(dtype, args):
    while (ended := run_child(dtype, args)) is not None:
        at = json.loads((DATA / f"{dtype}.current").read_text())
        if not at:
            sys.exit(f"the child of {dtype} {ended}: see {DATA / dtype}.log")
        if ended == "ended with 9":
            continue
        print(f"{dtype} {at[0]} sample {at[1]} {ended}", flush=True)
        with open(DATA / f"{dtype}.jsonl", "a") as out:
            write(out, dtype, *at, "crashed", ended)


def forget(dtype, pattern):
    rows = load(dtype)
    kept = [row for row in rows.values() if not re.search(pattern, json.dumps(row))]
    (DATA / f"{dtype}.jsonl").write_text("".join(json.dumps(row) + "\n" for row in kept))
    print(f"{dtype}: {len(rows) - len(kept)} of {len(rows)} again")


# ---- the page -----------------------------------------------------------------------------------


class Entry:
    """All samples of one op in one dtype."""

    def __init__(self):
        self.outcomes, self.host, self.details, self.whole = Counter(), Counter(), {}, True
        self.every = False  # were all samples run?

    def add(self, row):
        if row["sample"] == EVERY:
            self.every = True
            return
        self.outcomes[row["outcome"]] += 1
        self.host.update(set(row.get("host", ())))
        self.host.update({"the graph ran in eager torch: " + r for r in row.get("refused", ())})
        self.host.update({"graph break: " + r for r in row.get("breaks", ())})
        self.whole &= not (row.get("host") or row.get("refused") or row.get("breaks"))
        if row["outcome"] in BAD or row["outcome"] in ("shape", "torch cannot"):
            self.details.setdefault(row["outcome"], (row["sample"], row.get("detail", "")))

    def kind(self):
        if any(self.outcomes[o] for o in BAD):
            return "failing"
        return "compiled" if self.whole else "through torch"


def entries(dtype):
    table = defaultdict(Entry)
    for row in load(dtype).values():
        table[row["op"]].add(row)
    return table


# What becomes of samples, in the order of the page: each sample is counted once, and all of them are in the denominator.
OUTCOMES = {"same": ("same",), "as near": ("nearer",), "shape only": ("shape",), "raises as well": ("raises",),
            "torch cannot": ("torch cannot",), "left out": ("left out",), "different": BAD}


def totals(tables):
    """Two tables: what ops are, and what became of samples."""
    ops, samples = [], []
    for dtype, table in tables.items():
        kinds, n = Counter(e.kind() for e in table.values()), max(len(table), 1)
        ops.append([dtype, len(table), sum(e.every for e in table.values()),
                    *(f"{kinds[kind]} ({100 * kinds[kind] / n:.0f} %)" for kind in ("compiled", "through torch", "failing"))])
        outcomes = sum((e.outcomes for e in table.values()), Counter())
        samples.append([dtype, outcomes.total(), *(sum(outcomes[o] for o in group) for group in OUTCOMES.values())])
    return ops_table(ops) + [""] + samples_table(samples)


def markdown(heading, rows):
    return ["| " + " | ".join(heading) + " |", "|---|" + "--:|" * (len(heading) - 1),
            *("| " + " | ".join(map(str, row)) + " |" for row in rows)]


def ops_table(rows):
    return markdown(["dtype", "ops", "of these with every sample run", "compiled whole", "through torch", "failing"], rows)


def samples_table(rows):
    """Rows are [dtype, samples, one number for each of OUTCOMES]; a row of sums is added."""
    rows = [*rows, ["all", *(sum(column) for column in zip(*(row[1:] for row in rows)))]]
    return markdown(["dtype", "samples", *OUTCOMES], [[dtype, count, *(share(n, count) for n in numbers)]
                                                      for dtype, count, *numbers in rows])


def share(number, count):
    """With as many digits that a number short of all is not shown as all, nor one above none as none."""
    if number in (0, count):
        return f"{number} ({100 * number // max(count, 1)} %)"
    percent = f"{100 * number / count:.1f}"
    return f"{number} ({'99.9+' if percent == '100.0' else '<0.1' if percent == '0.0' else percent} %)"


def wanted(table):
    """(entries it alone keeps from being compiled whole, entries it is in, ATen op: reason)."""
    alone, part = Counter(), Counter()
    for e in table.values():
        ops = {h.split(": ")[0] for h in e.host}
        part.update(ops)
        if len(ops) == 1:
            alone.update(ops)
    return sorted(((alone[o], part[o], o) for o in part), reverse=True)


def write_wanted(tables, path):
    table = tables.get("float32", {})
    reasons = defaultdict(Counter)
    for e in table.values():
        for h in e.host:
            op, _, reason = h.partition(": ")
            reasons[op][reason] += 1
    lines = [
        f"{alone:4} {part:4}  {op:55} {'; '.join(r for r, _ in reasons[op].most_common(4))[:160]}"
        for alone, part, op in wanted(table)
    ]
    sets = Counter(frozenset(h.split(": ")[0] for h in e.host) for e in table.values() if e.host)
    lines += ["", "entries  set of ops that keeps them from being compiled whole"]
    lines += [f"{n:4}  {', '.join(sorted(ops))}" for ops, n in sets.most_common() if len(ops) > 1]
    pathlib.Path(path).write_text("alone part  ATen op (float32)\n" + "\n".join(lines) + "\n")


def cell(text):
    return " ".join(text.split()).replace("|", "\\|")


def mark(entry):
    if entry is None:
        return ""
    return {"compiled": "yes", "through torch": "torch", "failing": "**no**"}[entry.kind()]


def median(table):
    """Samples of the ops of which not every one was run."""
    counts = sorted(e.outcomes.total() for e in table.values() if not e.every) or [0]
    return counts[len(counts) // 2]


def extent(tables):
    """What part of the samples was run."""
    if all(e.every for table in tables.values() for e in table.values()):
        return ["every one was run for this page."]
    return ["this page shows what has been run: the table says of how many ops every sample; of the others it was, in the",
            "median, " + ", ".join(f"{median(t)} ({d})" for d, t in tables.items()) + "."]


def slack():
    return re.search(r"^SLACK = (\S+)", (ROOT / "test" / "python" / "torch" / "torch_ops.py").read_text(), re.M)[1]


def page(tables):
    import torch

    ops = sorted({op for table in tables.values() for op in table})
    lines = [
        "# torch ops",
        "",
        f"Made by `make torch-ops` from the OpInfo database of torch {torch.__version__.split('+')[0]} on the CPU: its samples",
        "through the backend, forward and, where the op is differentiable, backward, against eager torch at OpInfo's tolerances.",
        "`make torch-ops` runs every sample there is, `make torch-ops LIMIT=n` n of each op and dtype, spread evenly over all;",
        *extent(tables),
        "",
        f"The first sample of every {WHOLE}th op goes through the whole of `torch.compile` (float32). For each sample, the ATen ops that",
        "AOTAutograd would hand over are recorded while eager torch computes them, decomposed and functional, and the",
        "backend compiles them as one graph with forward and backward (`test/python/torch/torch_record.py`): that leaves out Dynamo,",
        "fake tensors and the partitioner, which are torch's own and take most of the time. What cannot be recorded",
        "in this way (results that depend on data, written or sparse tensors) goes through AOTAutograd or `torch.compile`.",
        "",
        *totals(tables),
        "",
        "- *compiled whole*: no graph of any sample needed torch. *Through torch*: some ATen op ran in torch (the reasons are below), or",
        "  the op depends on data in a way that torch makes a graph break of. *Failing*: a sample is different.",
        "",
        "Each sample is counted in exactly one column; shares are of all samples.",
        "",
        "- *same*: the result of eager torch, within OpInfo's tolerances.",
        "- *as near*: beyond these tolerances. Kernels do not round bfloat16 between the ops of a graph, and they sum in another order;",
        f"  the result is accepted when it is at most [{slack()} times](../test/python/torch/torch_ops.py \"SLACK\") as far from a float64",
        "  run as eager's, or the root mean square of its distances over 16 more inputs nearby is.",
        "- *shape only*: the values are not defined (`empty`) or random with other numbers once torch has decomposed the op",
        "  (`aot_eager` differs from eager in the same way): dtypes and shapes agree, values are not compared.",
        "- *raises as well*: eager torch raises an exception, and the compiled function one of the same type.",
        "- *torch cannot*: torch's own `aot_eager` fails or differs as well, and nothing is compared.",
        "- *left out*: not run. The first op's result depends on data, so that Dynamo breaks the graph there;",
        f"  {DYNAMO} such samples of an op are run, and no more.",
        "- *different*: wrong, failed or crashed.",
        "",
        "## Failing",
        "",
    ]
    lines += failing(tables) + ["", "## ATen ops that ran through torch (float32)", ""]
    lines += ["| ATen op | ops it is in | reasons |", "|---|--:|---|"]
    table = tables.get("float32", {})
    for _, part, op in sorted(wanted(table), key=lambda row: (-row[1], row[2])):
        reasons = sorted({h.partition(": ")[2] for e in table.values() for h in e.host if h.split(": ")[0] == op})
        lines.append(f"| `{cell(op)}` | {part} | {cell('; '.join(reasons[:3]))} |")
    lines += ["", "## Every op", "", "yes: compiled whole; torch: at least one ATen op through torch.", ""]
    lines += ["| op | " + " | ".join(tables) + " | through torch |", "|---|" + "---|" * (len(tables) + 1)]
    for op in ops:
        rows = [table.get(op) for table in tables.values()]
        through = sorted({h.split(": ")[0] for e in rows if e for h in e.host})
        lines.append(f"| `{op}` | " + " | ".join(map(mark, rows)) + f" | {cell(', '.join(through[:6]))} |")
    return "\n".join(lines) + "\n"


def failing(tables):
    lines = []
    for dtype, table in tables.items():
        for op, e in sorted(table.items()):
            for outcome in BAD:
                if e.outcomes[outcome]:
                    index, detail = e.details[outcome]
                    lines.append(
                        f"| `{op}` | {dtype} | {e.outcomes[outcome]} of {e.outcomes.total()} {outcome} | "
                        f"{index} | {cell(detail)[:160]} |"
                    )
    head = ["| op | dtype | samples | first | detail |", "|---|---|---|--:|---|"]
    return head + lines if lines else ["None."]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--limit", type=int, default=0, help="samples of each op and dtype; 0: all")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--ops", default="", help="a regular expression")
    parser.add_argument("--again", help="forget results that match before running")
    parser.add_argument("--report", action="store_true", help="run nothing")
    parser.add_argument("--wanted", help="write the ops that run through torch to this file")
    parser.add_argument("--page", default=str(ROOT / "docs" / "torch-ops.md"))
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    DATA.mkdir(parents=True, exist_ok=True)
    if args.child:
        return work(args.child, args.limit or None, args.ops)
    dtypes = args.dtypes.split(",")
    for dtype in () if args.report else dtypes:
        if args.again:
            forget(dtype, args.again)
        run(dtype, args)
    tables = {dtype: entries(dtype) for dtype in DTYPES if (DATA / f"{dtype}.jsonl").exists()}
    if args.wanted:
        write_wanted(tables, args.wanted)
    pathlib.Path(args.page).write_text(page(tables))
    print("\n".join(totals(tables)))


if __name__ == "__main__":
    main()
