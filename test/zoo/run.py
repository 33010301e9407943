"""Models of many sorts through the torch backend, against eager torch: nothing may be wrong, raise, crash or hang.

    python test/zoo/run.py [--sample N] [--only SOURCE] [--steps forward,training,...] [--limit SECONDS] [--processes N]
                           [--door tensors] [--table FILE] [--again] [--missing] [model ...]

A model is named SOURCE/NAME, or by a part of that: `classic/` are hand-written (classics.py), `timm/` one of every module of timm
with few layers (small.py), `transformers/` every architecture of transformers with small sizes (tiny.py). Each runs in a process
of its own (worker.py): a forward pass, a training step, steps of an optimizer, a training step with sizes as symbols (steps.py); a step that crashes
or hangs is noted and the model goes on behind it. What was found is kept in build/zoo, so that a run that was stopped goes on
where it was; `--again` forgets it for the models of this run. All models take hours: bench/results/zoo.json has on record what
became of each that was ever run, and of which commit, for the page that `--table` writes. `--missing` runs those of which
a step is not on record. With `--door tensors` it is frameloom.compile that compiles a model, and not torch.compile:
bench/results/zoo-tensors.json has these on record. Ends with 1 when a step is wrong, raises, crashes or hangs.
"""

import argparse
import collections
import concurrent.futures
import importlib.util
import json
import pathlib
import subprocess
import sys
import textwrap
import zlib

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(HERE.parent / "suites"))
import process  # noqa: E402

STEPS = ("forward", "training", "optimizer", "sizes")
BAD = ("wrong", "raised", "crash", "hang")
BATCH = 8  # models that processes are forked for from one that has loaded the packages
DOORS = {  # where what was found is, what compiles, and what breaks
    "frameloom": ("zoo", '`torch.compile(model, backend="frameloom")`', "Dynamo breaks the graph"),
    "tensors": ("zoo-tensors", "`frameloom.compile(model)`", "the graph breaks"),
}
SOURCES = {"classic": "written by hand", "timm": "timm, one of each module, small sizes", "transformers": "transformers, small sizes"}


class Door:
    """What compiles the models, and where is kept what was found."""

    def __init__(self, name):
        self.name = name
        stem, self.words, self.breaks = DOORS[name]
        self.kept, self.record = ROOT / "build" / stem, ROOT / "bench" / "results" / f"{stem}.json"


door = Door("frameloom")


def kept_file(name):
    return door.kept / (name.replace("/", "-") + ".json")


def kept(name):
    """A model's rows by step, from earlier runs."""
    path = kept_file(name)
    return json.loads(path.read_text()) if path.exists() else {}


def keep(name, rows):
    """Whoever kills this run finds the file as it was before or as it is behind."""
    path = kept_file(name)
    new = path.with_suffix(".new")
    new.write_text(json.dumps(rows, indent=1))
    new.replace(path)


def run_batch(names, options):
    """Runs what is missing of some models: rows by step, by the models' names. Each is kept when its step has ended."""
    wanted = set(options.steps.split(","))
    found = {name: {} if options.again else kept(name) for name in names}
    missing = [name for name, rows in found.items() if not rows or outcome(rows["build"]) == "built" and not rows.keys() >= wanted]
    if not missing:
        return found
    known = {f"{name} {step}": row for name in missing for step, row in found[name].items()}

    def heard(row):
        name, _, step = row["id"].partition(" ")
        if step:  # not that the worker does not load
            found[name][step] = row
            keep(name, found[name])

    command = [sys.executable, str(HERE / "worker.py"), *missing, "--steps", options.steps, "--door", door.name]
    done = process.Run(names[0], command, options.limit, {"OMP_NUM_THREADS": "1"}, known, heard)
    if names[0] in done.rows:  # no step had begun
        raise SystemExit(f"the worker of {', '.join(missing)} does not load:\n{done.failure}")
    for key in done.rows:
        name, step = key.split(" ")
        if outcome(found[name][step]) == "hang" and step != "build" and torch_hangs(name, step, options):
            heard({"id": key, "outcomes": ["torch cannot"], "detail": "aot_eager takes more than the limit, too"})
    return found


def torch_hangs(name, step, options):
    """Does torch's own `aot_eager` take longer than the limit as well?"""
    command = [sys.executable, str(HERE / "worker.py"), name, "--steps", step, "--backend", "aot_eager"]
    done = process.Run(name, command, options.limit, {"OMP_NUM_THREADS": "1"})
    return outcome(done.rows.get(f"{name} {step}")) == "hang"


def outcome(row):
    return row["outcomes"][0] if row else "not run"


def recorded():
    """Rows by model from bench/results/zoo.json, a line each; `commit` is a row, too."""
    return json.loads(door.record.read_text()) if door.record.exists() else {}


def slim(rows, commit):
    """What the page tells of a model's rows."""
    made = {"commit": commit}
    for step, row in rows.items():
        detail = row.get("detail") or (row["traces"][0][-300:] if outcome(row) in BAD and outcome(row) != "hang" else "")
        facts = {key: fact for key, fact in row.get("facts", {}).items() if fact and key != "seconds"}
        made[step] = {key: part for key, part in (("outcomes", row["outcomes"]), ("detail", detail), ("facts", facts)) if part}
    return made


def record(results):
    """Adds the rows of models that were run here, as of the commit that is checked out. Steps that were not run here stay."""
    commit = subprocess.run(["git", "rev-parse", "--short=10", "HEAD"], cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    known = recorded()
    for name, rows in results.items():
        new = slim(rows, commit)
        if outcome(rows.get("build")) == "built":
            new = known.get(name, {}) | new
        if {**known.get(name, {}), "commit": commit} != new:
            known[name] = new
    lines = (f"{json.dumps(name)}: {json.dumps(known[name], sort_keys=True)}" for name in sorted(known))
    door.record.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def wrong_steps(rows):
    """(step, outcome, detail) of what must not be."""
    if outcome(rows.get("build")) in BAD or "does not load" in {outcome(row) for _, row in steps_of(rows)}:
        return []  # eager torch, or an import: left out
    return [(step, outcome(row), row.get("detail") or (row.get("traces") or [""])[0][-300:]) for step, row in steps_of(rows) if outcome(row) in BAD]


def steps_of(rows):
    return ((step, rows[step]) for step in STEPS if step in rows)


def told(name, rows):
    build = rows.get("build")
    if outcome(build) != "built":
        return f"{name}: left out: {reason(rows)}"
    host = sum(sum(row.get("facts", {}).get("host", {}).values()) for row in rows.values())
    eager = sum(len(row.get("facts", {}).get("eager", ())) for row in rows.values())
    seconds = sum(row.get("seconds", 0) for row in rows.values())
    steps = ", ".join(f"{step} {outcome(rows.get(step))}" for step in STEPS if step in rows)
    return f"{name}: {steps}; {host} ops through torch, {eager} graphs left to eager, {seconds:.0f} s"


def reason(rows):
    row = rows.get("build") or next(iter(rows.values()), {"detail": "not run"})
    words = row.get("detail") or (row.get("traces") or [""])[0].strip().splitlines()[-1:] or outcome(row)
    return cell(words if isinstance(words, str) else " ".join(words))[:160]


def chosen(options):
    import sources

    names = sources.names()
    if options.only:
        names = [name for name in names if name.split("/")[0] in options.only.split(",")]
    if options.models:
        exact = [name for name in names if name in options.models or name.split("/")[1] in options.models]
        names = exact or [name for name in names if any(part in name for part in options.models)]
    if options.missing:
        wanted, known = options.steps.split(","), recorded()
        names = [name for name in names if name not in known or outcome(known[name]["build"]) == "built" and not known[name].keys() >= set(wanted)]
    if options.shuffle:
        names.sort(key=lambda name: zlib.crc32(name.encode()))
    if options.sample and len(names) > options.sample:
        names = [names[i * len(names) // options.sample] for i in range(options.sample)]
    return names


# ---- the page -------------------------------------------------------------------------------------


def cell(text):
    return " ".join(str(text).split()).replace("|", "\\|")


def versions(sources):
    found = ["torch " + __import__("torch").__version__.split("+")[0]]
    return ", ".join(found + [f"{name} {__import__(name).__version__}" for name in sources if importlib.util.find_spec(name)])


def totals(results, all_names):
    lines = ["| models | there are | run | left out | steps | as eager | torch cannot | " + " | ".join(BAD) + " |", "|---|" + "--:|" * (6 + len(BAD))]
    for source, title in SOURCES.items():
        mine = {name: rows for name, rows in results.items() if name.startswith(source + "/")}
        built = [rows for rows in mine.values() if outcome(rows.get("build")) == "built"]
        counts = collections.Counter(outcome(rows.get(step)) for rows in built for step in STEPS if step in rows)
        figures = [sum(n.startswith(source + "/") for n in all_names), len(mine), len(mine) - len(built), counts.total(), counts["same"],
                   counts["torch cannot"], *(counts[bad] for bad in BAD)]
        lines.append(f"| {title} | " + " | ".join(map(str, figures)) + " |")
    return lines


def counted(results, key):
    """How many models have it, and how often, of the rows of a dictionary or list that the facts hold."""
    models, times = collections.Counter(), collections.Counter()
    for rows in results.values():
        found = collections.Counter()
        for _, row in steps_of(rows):
            found.update(row.get("facts", {}).get(key, {}))
        times.update(found)
        models.update(found.keys())
    return sorted(((n, times[what], what) for what, n in models.items()), key=lambda row: (-row[0], -row[1], row[2]))


def listing(results, key, title, none):
    rows = counted(results, key)
    if not rows:
        return [none]
    return [f"| {title} | models | times |", "|---|--:|--:|", *(f"| {cell(what)[:200]} | {n} | {times} |" for n, times, what in rows)]


def model_line(name, rows):
    facts = [rows.get(step, {}).get("facts", {}) for step in STEPS]
    add = lambda key: sum(f.get(key, 0) for f in facts)  # noqa: E731
    host = sum(sum(f.get("host", {}).values()) for f in facts)
    eager = sum(len(f.get("eager", ())) for f in facts)
    breaks = sum(sum(f.get("breaks", {}).values()) for f in facts)
    words = ["" if s not in rows else f"**{outcome(rows[s])}**" if outcome(rows[s]) in BAD else outcome(rows[s]) for s in STEPS]
    return f"| `{name}` | {' | '.join(words)} | {add('graphs')} | {add('ops')} | {host} | {eager} | {breaks} |"


def page(results, all_names):
    left = {name: rows for name, rows in results.items() if outcome(rows.get("build")) != "built"}
    ran = {name: rows for name, rows in results.items() if name not in left}
    extent = "all of them were run" if len(results) == len(all_names) else f"{len(results)} of the {len(all_names)} models were run for this page"
    text = (
        f"Made by `make test-zoo{' DOOR=' + door.name if door.name != 'frameloom' else ''}` with {versions([s for s in ('timm', 'transformers') if any(n.startswith(s) for n in results)])}: "
        f"models of many sorts through {door.words}, each in a process of its own; {extent}. "
        "A forward pass (twice), a training step (results, gradients and buffers), steps of an optimizer (parameters, its state, and a "
        "training step after them, `optimizer.step` compiled as well), and a training step with `dynamic=True`, again with a larger "
        "batch, are compared with eager torch's, tensor by tensor. A result that differs by more than a few roundings "
        "counts as the same in two cases: it is at most four times as far from a run in float64 as eager's result is, or at most eight times "
        "as far from eager's result as that one moves when weights and inputs change by a millionth. *torch cannot*: eager torch raises, or "
        "torch's own `aot_eager` raises or differs as well. *Left out*: eager torch does not run the small model. "
        "*Hang*: it took more than the limit of CPU time, which is five minutes unless one is given. An empty cell: the step was not run. "
        "The answers are to be right, so the models are small: those of timm have one layer a stage, or two where there are no stages, half of "
        "the channels and pictures of 64 pixels a side, as far as their constructor takes that (`test/zoo/small.py`; those of earlier commits "
        "than 247c098bc9 have more); those of transformers have two layers of 32 channels, as far as their configuration takes that "
        "(`test/zoo/tiny.py`). "
        f"Models are of the commits {commits(results)}.")
    lines = ["# A zoo of models", "", *textwrap.wrap(text, 120, break_long_words=False, break_on_hyphens=False), "", *totals(results, all_names), ""]
    bad = [f"- `{name}`, {step}, {what}: {cell(detail)[:300]}" for name, rows in ran.items() for step, what, detail in wrong_steps(rows)]
    lines += ["## Wrong, raised, crashed, hung", "", *(bad or ["None."]), ""]
    lines += ["## Ops that ran through torch", "", *listing(ran, "host", "op: reason", "None."), ""]
    lines += ["## Graphs left to eager torch", "", *listing(ran, "eager", "reason", "None."), ""]
    lines += ["## Other warnings", "", *listing(ran, "warnings", "warning", "None."), ""]
    lines += ["## Slower than eager torch", "", *slower(ran), ""]
    lines += [f"## Where {door.breaks}", "", *listing(ran, "breaks", "reason", "Nowhere."), ""]
    lines += ["## What torch cannot", "", *(cannot(ran) or ["Nothing."]), ""]
    lines += ["## The same, but by more than a few roundings", "", *(explained(ran) or ["None."]), ""]
    lines += ["## Every model", "", "| model | " + " | ".join(STEPS) + " | graphs | ops | ops through torch | graphs left to eager | breaks |",
              "|---|" + "---|" * len(STEPS) + "--:|--:|--:|--:|--:|", *(model_line(name, rows) for name, rows in ran.items()), ""]
    lines += ["## Left out", "", *([f"- `{name}`: {reason(rows)}" for name, rows in left.items()] or ["None."]), ""]
    return "\n".join(lines).rstrip() + "\n"


def explained(results):
    return [f"- `{name}`, {step}: {cell(row['facts']['explained'])}" for name, rows in results.items() for step, row in steps_of(rows)
            if row.get("facts", {}).get("explained")]


def cannot(results):
    return [f"- `{name}`, {step}: {cell(row.get('detail', ''))[:200]}" for name, rows in results.items() for step, row in steps_of(rows)
            if outcome(row) == "torch cannot"]


SLOWER = 0.9  # of eager's speed; what is nearer is noise


def speeds(results):
    """(eager's CPU time over the compiled model's, name, step) of every step that was timed."""
    for name, rows in results.items():
        for step, row in steps_of(rows):
            eager, compiled = row.get("facts", {}).get("speed") or (0, 0)
            if compiled:
                yield eager / compiled, name, step


def slower(results):
    """How fast compiled models are, and those that are slower than eager torch."""
    found = sorted(speeds(results))
    if not found:
        return ["None was timed."]
    middle = found[len(found) // 2][0]
    text = ("Eager's time beside that of the compiled model: the least CPU time of some passes in turn, on one thread, with models so small "
            "that most of it is overhead. Those that are clearly slower are listed.")
    rows = [f"| `{name}`, {step} | {ratio:.2f} |" for ratio, name, step in found if ratio < SLOWER]
    return [*textwrap.wrap(text, 120), "", "| steps | eager : compiled |", "|---|--:|", f"| {len(found)} were timed: the one in the middle | {middle:.2f} |", *rows]


def kept_results(names):
    """Of all models that were ever run here."""
    return {name: rows for name in names if (rows := kept(name))}


def commits(results):
    """How many rows of the page are of which commit, as words."""
    found = collections.Counter(rows["commit"] for rows in results.values())
    return ", ".join(f"{commit} ({count})" for commit, count in found.most_common())


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("models", nargs="*")
    parser.add_argument("--sample", type=int, default=0, help="at most so many of the models, spread over all")
    parser.add_argument("--shuffle", action="store_true", help="in no order, so that what has run so far is of every sort")
    parser.add_argument("--only", default="", help=", ".join(SOURCES))
    parser.add_argument("--door", default="frameloom", choices=DOORS, help="what compiles: torch.compile with our backend, or frameloom.compile")
    parser.add_argument("--limit", type=float, default=300, help="seconds for one step of a model")
    parser.add_argument("--steps", default=",".join(STEPS))
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--table", type=pathlib.Path, help="writes the page of all models that were run so far")
    parser.add_argument("--again", action="store_true", help="runs what has been run before")
    parser.add_argument("--missing", action="store_true", help="only models of which a step is not on record in bench/results/zoo.json")
    parser.add_argument("--list", action="store_true")
    options = parser.parse_intermixed_args()
    sys.path.insert(0, str(HERE))
    global door
    door = Door(options.door)
    names = chosen(options)
    if options.list:
        print(*names, sep="\n")
        return 0
    door.kept.mkdir(parents=True, exist_ok=True)
    failed = passed = 0
    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        batches = [names[i : i + BATCH] for i in range(0, len(names), BATCH)]
        for found in pool.map(lambda batch: run_batch(batch, options), batches):
            for name, rows in found.items():
                print(told(name, rows), flush=True)
                for step, what, detail in wrong_steps(rows):
                    print(f"  {step}: {what}: {detail}", flush=True)
                failed += bool(wrong_steps(rows))
                passed += not wrong_steps(rows)
    if options.table:
        import sources

        installed = sources.names()
        record(kept_results(installed))
        known = recorded()  # also of packages that are not installed now
        everything = [*installed, *(name for name in known if name not in installed)]
        options.table.write_text(page({name: known[name] for name in everything if name in known}, everything))
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
