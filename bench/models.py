"""Real models through torch.compile: eager torch, frameloom and Inductor.

usage: models.py [--only PATTERN] [--quick] [--memory] [--no-inductor] [--keep-peers] [--threads N] [--limit S]
                 [--out FILE]

Writes docs/benchmarks.md (one table, and which limits hold) and bench/results/models.json. Every model and backend
runs in child processes with a time limit: what fails or takes too long is a dash with its reason. `--only` measures
some models and keeps the others' rows of the results file; `--keep-peers` takes Inductor's figures from there;
`--memory` measures memory alone and keeps all else.

What is measured, for a forward pass (eval, no_grad) and a training step (forward, mean of squares, backward):

- time: best of many calls, backends in turns in one process, results compared with eager's before and after;
- compile time: the time inside the backend's compile function, one call for each graph: `compile_graph` for frameloom,
  `compile_fx_inner` for Inductor. Import, Dynamo and AOTAutograd are outside of both; so is what each does once (loading
  its library; looking for a C++ compiler, precompiling headers), by compiling something small first. Cold: an empty
  disk cache; cached: a new process, from the disk cache (FxGraphCache for Inductor);
- memory: the highest resident size during training steps above that before them, in a process of its own, with free
  memory given back first; gradients, activations and pools of blocks count, parameters do not. The steps run in a
  thread whose heap is empty, for every backend: what imports and compilation have left free in the main heap would be
  counted as small tensors spread over it (`model_worker.phase_memory`);
- accuracy: distance of all outputs (or all gradients) from those of a float64 run with the same weights, over eager's
  distance, the median of this ratio over nine inputs. A gradient jumps where rounding decides about a ReLU or the
  largest of a pooling window. One such decision outweighs all other rounding, and which of two runs in float32 decides
  as float64 does is chance; over several inputs chance favours neither, and the median is free of its outliers.
"""

from __future__ import annotations

import argparse
import fnmatch
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import bench  # noqa: E402
import model_table  # noqa: E402


# ---- children ----


def child(out, phase, name, backend, settings):
    """In the new process: runs a phase, writes a line of JSON for each fact, never returns."""
    code = 1
    try:
        os.setsid()
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        if not settings["verbose"]:
            os.dup2(silent, 2)
        stream = os.fdopen(out, "w", buffering=1)
        import warnings

        import model_worker
        import torch
        warnings.simplefilter("ignore")
        torch.set_num_threads(settings["threads"])

        def emit(**fact):
            stream.write(json.dumps(fact) + "\n")

        try:
            model_worker.PHASES[phase](name, backend, emit, settings)
            code = 0
        except Exception as error:
            emit(failed=f"{type(error).__name__}: {error}".splitlines()[0][:300])
            if settings["verbose"]:
                import traceback
                traceback.print_exc()
    finally:
        os._exit(code)


def read_lines(descriptor, end):
    """What a child writes until it ends; (text, in time?)."""
    data = b""
    while True:
        left = end - time.monotonic()
        if left <= 0:
            return data, False
        if select.select([descriptor], [], [], left)[0]:
            part = os.read(descriptor, 65536)
            if not part:
                return data, True
            data += part


def run_child(phase, name, backend, settings):
    """The facts that a phase found, and a reason where it did not come to its end."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        child(writing, phase, name, backend, settings)
    os.close(writing)
    data, in_time = read_lines(reading, time.monotonic() + settings["limit"])
    os.close(reading)
    if not in_time:
        for kill in (os.killpg, os.kill):
            try:
                kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
    status = os.waitpid(pid, 0)[1]
    facts = [json.loads(line) for line in data.decode(errors="replace").splitlines() if line.endswith("}")]
    reason = next((fact.pop("failed") for fact in facts if "failed" in fact), None)
    if not in_time:
        reason = f"more than {settings['limit']:.0f} s"
    elif status and not reason:
        reason = f"ended by signal {status & 127}" if status & 127 else f"exit status {status >> 8}"
    return [fact for fact in facts if fact], reason


# ---- one model ----


class Caches:
    """Folders of disk caches. Inductor's starts as a copy of one that holds what it makes once on a machine."""

    def __init__(self, root):
        self.ours, self.inductor, self.template = (os.path.join(root, n) for n in ("ours", "inductor", "template"))
        os.environ["FRAMELOOM_CACHE_DIR"] = self.ours
        os.environ["FRAMELOOM_CACHE"] = "1"
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = self.inductor

    def empty(self):
        for folder in (self.ours, self.inductor):
            shutil.rmtree(folder, ignore_errors=True)
        os.mkdir(self.ours, 0o700)
        if os.path.isdir(self.template):
            shutil.copytree(self.template, self.inductor)
        else:
            os.mkdir(self.inductor)

    def keep_template(self):
        shutil.copytree(self.inductor, self.template)


def merge(row, facts, backend=None, prefix=""):
    for fact in facts:
        place = row["steps"].setdefault(fact.pop("step"), {}).setdefault(fact.pop("backend", backend), {})
        place.update({prefix + key: value for key, value in fact.items()})


def note(row, backend, phase, reason):
    if reason:
        row["notes"].append(f"{backend}, {phase}: {reason}")
        print(f"  {row['name']}: {backend}, {phase}: {reason}", flush=True)


def measure_memory(row, backends, settings):
    for backend in ("eager", *backends):
        facts, reason = run_child("memory", row["name"], backend, settings)
        merge(row, facts, backend)
        note(row, backend, "memory", reason)


def measure(name, backends, settings, caches):
    row = {"name": name, "steps": {}, "notes": []}
    caches.empty()
    for backend in backends:
        for prefix in ("cold_", "cached_"):
            facts, reason = run_child("compile", name, backend, settings)
            merge(row, facts, backend, prefix)
            note(row, backend, prefix + "compile", reason)
    facts, reason = run_child("time", name, backends, settings)
    merge(row, facts)
    note(row, "+".join(backends), "time", reason)
    measure_memory(row, backends, settings)
    for step, results in row["steps"].items():
        for backend, result in results.items():
            note(row, backend, step, result.get("note"))
    return row


def keep_inductor(row, old):
    """Inductor's figures of an earlier run, its times scaled by how eager's have changed since."""
    for step, results in (old or {}).get("steps", {}).items():
        if "inductor" not in results or step not in row["steps"]:
            continue
        kept = dict(results["inductor"], kept=True)
        then, now = results.get("eager", {}).get("time"), row["steps"][step].get("eager", {}).get("time")
        if then and now and "time" in kept:
            kept["time"] *= now / then
        row["steps"][step]["inductor"] = kept


# ---- the run ----


def load_results(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {"rows": []}


def import_torch(with_inductor):
    """In the parent, once: children are forked from it. Nothing is computed here, so that no thread is started."""
    import torch
    import torch._dynamo
    if with_inductor:
        import torch._inductor.compile_fx  # noqa: F401
    try:
        import transformers
        version = transformers.__version__
    except ImportError:
        version = "not installed"
    import torch_models
    return {"torch": torch.__version__, "transformers": version}, list(torch_models.MODELS)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="names of models, a pattern or several with commas")
    parser.add_argument("--quick", action="store_true", help="less time for each measurement")
    parser.add_argument("--memory", action="store_true", help="only memory; other figures from the results file")
    parser.add_argument("--no-inductor", action="store_true")
    parser.add_argument("--keep-peers", action="store_true", help="Inductor's figures from the results file")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--limit", type=float, default=300, help="seconds for one child")
    parser.add_argument("--verbose", action="store_true", help="show what children print")
    parser.add_argument("--results", type=Path, default=HERE / "results" / "models.json")
    parser.add_argument("--out", type=Path, default=HERE.parent / "docs" / "benchmarks.md")
    return parser.parse_args()


def main():
    options = arguments()
    bench.limit_threads(options.threads)  # before torch is imported
    with_inductor = not (options.no_inductor or options.keep_peers)
    versions, names = import_torch(with_inductor)
    patterns = options.only.split(",")
    settings = {"threads": options.threads, "seconds": 1.5 if options.quick else 6, "limit": options.limit,
                "verbose": options.verbose}
    old = load_results(options.results)
    rows = {row["name"]: row for row in old["rows"]}
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="bench-models-") as root:
        caches = Caches(root)
        caches.empty()
        facts = [] if options.memory else run_child("calls", "", "", settings)[0]
        calls = facts[0] if facts else old.get("calls", {})
        if with_inductor:
            run_child("prepare", "", "inductor", settings)
            caches.keep_template()
        backends = ["frameloom", *(["inductor"] if with_inductor else [])]
        for name in names:
            if not any(fnmatch.fnmatch(name, pattern) for pattern in patterns):
                continue
            if options.memory and name in rows:
                caches.empty()
                row = rows[name]
                row["notes"] = [line for line in row["notes"] if ", memory: " not in line]
                measure_memory(row, backends, settings)
            else:
                row = measure(name, backends, settings, caches)
            if options.keep_peers and not options.memory:
                keep_inductor(row, rows.get(name))
            rows[name] = row
            print(f"{time.monotonic() - started:5.0f} s  {model_table.short(row)}", flush=True)
    facts = {"cpu": bench.cpu_name(), "threads": options.threads, "versions": versions, "calls": calls,
             "rows": [rows[name] for name in names if name in rows]}
    options.results.parent.mkdir(parents=True, exist_ok=True)
    options.results.write_text(json.dumps(facts, indent=1) + "\n")
    options.out.write_text("\n".join(model_table.page(facts)) + "\n")
    print("\n".join(model_table.page(facts)))


if __name__ == "__main__":
    main()
