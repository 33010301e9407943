"""The page that `bench/models.py` writes: one table, geometric means, and which limits hold."""

from __future__ import annotations

import math
import statistics

from bench import show_time, table

MEMORY_NOISE = 1.005  # two processes of eager torch differ by 0.1 to 0.3 %: the kernel counts pages in batches

HEADING = ["model", "step", "graphs", "kernels", "host calls", "eager", "ours", "Inductor", "eager : ours",
           "Inductor : ours", "cold ours", "Inductor", "cached ours", "Inductor", "memory eager", "ours", "Inductor",
           "accuracy"]


def get(results, backend, key):
    return results.get(backend, {}).get(key)


def ratio(over, under):
    return over / under if over and under else None


def accuracy(results):
    """The median over inputs of our distance from a float64 run over eager's."""
    ours, eager = get(results, "frameloom", "errors"), get(results, "eager", "errors")
    if not ours or not eager:
        return ratio(get(results, "frameloom", "error"), get(results, "eager", "error"))
    return statistics.median(o / e if e else 1.0 if o == e else math.inf for o, e in zip(ours, eager, strict=True))


def facts_of(results):
    """What a row says, numbers or None."""
    times = {b: get(results, b, "time") for b in ("eager", "frameloom", "inductor")}
    cold = {b: get(results, b, "cold_compile") for b in ("frameloom", "inductor")}
    cached = {b: get(results, b, "cached_compile") for b in ("frameloom", "inductor")}
    memory = {b: get(results, b, "memory") for b in ("eager", "frameloom", "inductor")}
    return {"times": times, "cold": cold, "cached": cached, "memory": memory,
            "of_eager": ratio(times["eager"], times["frameloom"]),
            "of_inductor": ratio(times["inductor"], times["frameloom"]),
            "cold_ratio": ratio(cold["inductor"], cold["frameloom"]),
            "cached_ratio": ratio(cached["inductor"], cached["frameloom"]),
            "memory_ratio": ratio(memory["frameloom"], memory["eager"]),
            "accuracy": accuracy(results)}


def number(value, form="{:.2f}"):
    return "-" if value is None else form.format(value)


def megabytes(count):
    return "-" if count is None else f"{count / (1 << 20):.0f}M"


def cells(name, step, results):
    facts, ours = facts_of(results), results.get("frameloom", {})
    counts = [ours.get("cold_" + key) for key in ("graphs", "kernels", "host_calls")]
    kept = " *" if get(results, "inductor", "kept") else ""
    return [name, step, *(number(len(c) if isinstance(c, list) else c, "{}") for c in counts),
            *(show_time(t) for t in facts["times"].values()),
            number(facts["of_eager"]), number(facts["of_inductor"]) + kept,
            *(show_time(t) for t in (*facts["cold"].values(), *facts["cached"].values())),
            *(megabytes(m) for m in facts["memory"].values()), number(facts["accuracy"])]


def mean(values):
    values = [value for value in values if value]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else None


def all_facts(rows, step=None):
    """(name and step, facts) of every row, or of one step's."""
    return [(f"{row['name']} {at}", facts_of(results)) for row in rows for at, results in row["steps"].items()
            if step in (None, at)]


def mean_cells(rows, step):
    facts = [f for _, f in all_facts(rows, step)]

    def of(key):
        return number(mean(f[key] for f in facts))

    return ["geometric mean", step, "", "", "", "", "", "", of("of_eager"), of("of_inductor"), of("cold_ratio"), "",
            of("cached_ratio"), "", of("memory_ratio") if step == "training" else "-", "", "", of("accuracy")]


# ---- limits ----


def each(title, facts, key, holds):
    """A limit on every row: the worst, and which rows break it."""
    known = [(name, f[key]) for name, f in facts if f[key] is not None]
    broken = [f"{name} {value:.2f}" for name, value in known if not holds(value)]
    if not known:
        return f"- {title}: not measured"
    missing = f"; {len(facts) - len(known)} of {len(facts)} not measured" if len(known) < len(facts) else ""
    verdict = "**held**" if not broken else f"**not held** by {len(broken)} of {len(known)}: {', '.join(broken)}"
    return f"- {title}: {verdict}{missing}"


def whole(title, value, holds, unit=""):
    if value is None:
        return f"- {title}: not measured"
    return f"- {title}: {'**held**' if holds(value) else '**not held**'}, {value:.2f}{unit}"


def limits(facts):
    rows = facts["rows"]
    every, training = all_facts(rows), all_facts(rows, "training")
    yield each("compiled at least 10 times sooner than by Inductor, cold", every, "cold_ratio", lambda x: x >= 10)
    yield each("from the disk cache in at most a fifth of Inductor's time", every, "cached_ratio", lambda x: x >= 5)
    yield each("not slower than eager by more than 5 %", every, "of_eager", lambda x: x >= 1 / 1.05)
    for step in ("forward", "training"):
        mine = mean(f["of_inductor"] for _, f in all_facts(rows, step))
        yield whole(f"{step}: geometric mean at least 0.9 of Inductor", mine, lambda x: x >= 0.9)
    yield each("peak memory of a training step at most eager's, to half a percent", training, "memory_ratio",
               lambda x: x <= MEMORY_NOISE)
    yield each("distance from float64 at most 1.5 times eager's", every, "accuracy", lambda x: x <= 1.5)
    inside = facts.get("calls", {}).get("inside")
    yield whole("a call with four tensors costs at most 1 us inside our callable", inside and inside / 1e3,
                lambda x: x <= 1, " us")


# ---- the page ----


def calls(facts):
    c = facts.get("calls")
    if c:
        yield (f"- `a * b + c * d` of 16 floats each, no_grad: eager {c['eager'] / 1e3:.2f} us, compiled "
               f"{c['frameloom'] / 1e3:.2f} us, of which {c['inside'] / 1e3:.2f} us inside our callable (reading four "
               f"tensors, the kernel, making the result); Dynamo with its \"eager\" backend {c['dynamo'] / 1e3:.2f} us.")


def notes(rows):
    for row in rows:
        for line in row["notes"]:
            yield f"- {row['name']}: {line}"
        hosts = {op: why for results in row["steps"].values()
                 for op, why in results.get("frameloom", {}).get("cold_host_calls") or []}
        for op, why in sorted(hosts.items()):
            yield f"- {row['name']}: `{op}` runs through torch: {why}"
    if any(get(results, "inductor", "kept") for row in rows for results in row["steps"].values()):
        yield "- *: Inductor's figures are of an earlier run, its times scaled by how eager's differ between the runs."


METHOD = """\
Made by `make bench-models`; `bench/models.py` says how each figure is measured. Weights are random, models are cut to a
few layers (`bench/torch_models.py`). A step is a forward pass (eval, no_grad) or forward, loss and backward pass.

- Times are the best of many runs, with all backends by turns in one process. With `eager : ours` and
  `Inductor : ours` above 1 we are faster.
- Compile times are those inside the backend's own function for each graph (`compile_graph`; Inductor:
  `compile_fx_inner`), after something small was compiled in the same process. So imports, Dynamo, AOTAutograd and work
  that is done once in a process or on a machine are not counted. Cold: the disk cache is empty; cached: a new process.
- Memory: how far the resident size rises in training steps above its value before them, when only parameters exist; in a
  thread whose heap starts empty.
- Accuracy: the distance of outputs (training: of all gradients) from a float64 run, divided by eager's distance; the
  median over nine inputs, since gradients jump where rounding decides about a ReLU or a maximum."""


def page(facts):
    rows = facts["rows"]
    body = [cells(row["name"], step, results) for row in rows for step, results in row["steps"].items()]
    body += [mean_cells(rows, step) for step in ("forward", "training")]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    return ["# Models", "", METHOD, "", f"{facts['cpu']}, {facts['threads']} threads; {versions}.", "",
            *table(HEADING, body), "", "## Limits", "", *limits(facts), "", "## Notes", "", *calls(facts),
            *notes(rows)]


def short(row):
    """A line for the terminal."""
    parts = []
    for step, results in row["steps"].items():
        f = facts_of(results)
        parts.append(f"{step}: eager:ours {number(f['of_eager'])}, Inductor:ours {number(f['of_inductor'])}, cold "
                     f"{show_time(f['cold']['frameloom'])}, memory {number(f['memory_ratio'])}, accuracy "
                     f"{number(f['accuracy'])}")
    return f"{row['name']}: " + "; ".join(parts)
