"""Frameloom on a GPU: does it run, and how fast beside torch, Inductor, cuBLAS and torch's attention (bench/gpu.sh runs it).

usage: gpu.py [--only SECTIONS] [--rows ROWS] [--missing] [--seconds S] [--row-limit S] [--driver tests] [--out FOLDER]

Leaves gpu-NAME.json and gpu-NAME.md, NAME being the GPU's, written after each section. A section runs in a process of its own
with a time limit. A row that ends its process, breaks the context or takes too long is told as such, and the next process
begins with the row behind it. Every result is compared before anything is timed; a row whose result is wrong has no time.
Times are those of CUDA events, the best of many, of all that are compared by turns in one process.

--only        some sections, with semicolons: the file's other rows are kept
--rows        some rows, with | between them: the file's other rows are kept
--missing     only rows that the file does not have, or that had no time left
--driver      "tests" takes the driver of the tests, which runs kernels in a simulator, with tiny sizes: no figure of it
              means anything
"""

from __future__ import annotations

import argparse
import json
import os
import re
import select
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
BROKEN = 3  # the status of a worker whose context can do nothing more
GRACE = 30  # seconds that a worker has to start, beyond the limits

# Sections in their order: (module, function, seconds, environment).
SECTIONS = {
    "forms": ("gpu_forms", "forms", 70, {}),
    "forms, warpgroups": ("gpu_forms", "forms_warpgroups", 30, {"FRAMELOOM_WGMMA": "1"}),
    "memory": ("gpu_rows", "memory", 70, {}),
    "products": ("gpu_rows", "products", 40, {}),
    "warpgroups": ("gpu_rows", "warpgroups", 40, {"FRAMELOOM_WGMMA": "1"}),
    "attention": ("gpu_rows", "attention", 40, {}),
    "attention, warpgroups": ("gpu_rows", "attention_warpgroups", 40, {"FRAMELOOM_WGMMA": "1"}),
    "launches": ("gpu_whole", "launches", 30, {}),
    "compile": ("gpu_whole", "compiling", 45, {"FRAMELOOM_CACHE": "0"}),
    "other products": ("gpu_rows", "other_products", 25, {}),
    "rows": ("gpu_rows", "rows", 90, {}),
    "epilogues": ("gpu_rows", "epilogues", 45, {}),
    "models": ("gpu_whole", "models", 120, {}),
    "sanitizer": ("gpu_whole", "sanitizer", 100, {}),
}


# ---- a worker ----


def machine_of(driver):
    import gpu_machine

    return {"tests": gpu_machine.Simulated, "cuda": gpu_machine.Gpu, "none": gpu_machine.Nothing}[driver]()


def section_of(name):
    """A section, or one of a test's: MODULE:FUNCTION."""
    if name not in SECTIONS and ":" in name:
        return *name.split(":"), 60, {}
    return SECTIONS[name]


def worker(options):
    """The rows of a section, a line of JSON for each."""
    import warnings

    warnings.simplefilter("ignore")
    stream = os.fdopen(options.channel, "w", buffering=1) if options.channel else sys.stdout

    def emit(**fact):
        stream.write(json.dumps(fact) + "\n")
        stream.flush()

    end = time.monotonic() + options.seconds
    machine = machine_of(options.driver)
    if options.worker == "first call":
        import gpu_whole

        emit(row=gpu_whole.first_call(machine))
        return 0
    rows = list(rows_of(options, machine))
    emit(names={name: group for group, name, _ in rows})
    wanted = set(options.rows.split("|")) if options.rows else None
    done = set(filter(None, options.done.split("|")))
    for group, name, run in rows:
        if name in done or (wanted is not None and name not in wanted):
            continue
        if time.monotonic() > end:
            break
        machine.begin()
        emit(start=name)
        start = time.monotonic()
        try:
            facts = run()
        except Exception as error:
            if options.verbose:
                import traceback

                traceback.print_exc()
            facts = lost(group, name, f"{type(error).__name__}: {error}".splitlines()[0][:200])
        try:
            machine.synchronize()
        except Exception as error:
            facts["failed"] = f"the context is broken: {error}".splitlines()[0][:200]
            emit(row=facts | {"seconds": time.monotonic() - start})
            return BROKEN
        emit(row=facts | {"seconds": time.monotonic() - start})
    emit(end=True)
    return 0


def rows_of(options, machine):
    import importlib

    module, function, _, _ = section_of(options.worker)
    make = getattr(importlib.import_module(module), function)
    if options.worker != "compile":
        return make(machine)
    return make(machine, lambda section, environment: one_process(section, environment, options))


def command_of(section, options, channel, *more):
    return [
        sys.executable,
        str(HERE / "gpu.py"),
        "--worker",
        section,
        "--channel",
        str(channel),
        "--driver",
        options.driver,
        *more,
        *(["--verbose"] if options.verbose else []),
    ]


def one_process(section, environment, options):
    """The only row of a section in a process of its own."""
    reading, writing = os.pipe()
    try:
        child = subprocess.Popen(
            command_of(section, options, writing),
            pass_fds=[writing],
            env=os.environ | environment,
            stdout=subprocess.DEVNULL,
            stderr=None if options.verbose else subprocess.DEVNULL,
        )
        os.close(writing)
        writing = -1
        with os.fdopen(reading) as stream:
            lines = [json.loads(line) for line in stream]
        if child.wait() or not lines:
            raise RuntimeError(f"{section}: the process's status is {child.returncode}")
        return lines[0]["row"]
    finally:
        if writing >= 0:
            os.close(writing)


# ---- the run ----


def messages(descriptor, limit):
    """What a worker writes, line by line; None where nothing has come until limit() and it is to end."""
    data = b""
    while True:
        left = limit() - time.monotonic()
        if left <= 0:
            yield None
            return
        if not select.select([descriptor], [], [], left)[0]:
            continue
        part = os.read(descriptor, 65536)
        if not part:
            return
        *lines, data = (data + part).split(b"\n")
        for line in lines:
            yield json.loads(line)


def lost(group, name, reason):
    """A row without facts."""
    return {"group": group, "name": name, "times": {}, "errors": {}, "notes": [], "failed": reason}


def run_section(section, options, seconds, kept):
    """The section's rows and what went wrong outside of them; those that were kept in their places; workers follow each other
    until every row has had its turn."""
    end, rows, order = time.monotonic() + seconds, dict(kept), dict.fromkeys(kept)
    environment = os.environ | section_of(section)[3]
    while True:
        reading, writing = os.pipe()
        done = [name for name, row in rows.items() if not row.get("no time")]
        more = [
            "--seconds",
            str(max(end - time.monotonic(), 1)),
            "--done",
            "|".join(done),
            *(["--rows", options.rows] if options.rows else []),
        ]
        child = subprocess.Popen(
            command_of(section, options, writing, *more),
            pass_fds=[writing],
            env=environment,
            start_new_session=True,
            stdout=subprocess.DEVNULL,
            stderr=None if options.verbose else subprocess.DEVNULL,
        )
        os.close(writing)
        current, since, finished, in_time = None, time.monotonic(), False, True
        for message in messages(reading, lambda: since + (options.row_limit if current else options.row_limit + GRACE)):
            if message is None:
                in_time = False
                break
            if "names" in message:
                order = message["names"]
            elif "start" in message:
                current, since = message["start"], time.monotonic()
            elif "row" in message:
                rows[current], current, since = message["row"], None, time.monotonic()
            elif "end" in message:
                finished = True
        os.close(reading)
        if not in_time:
            os.killpg(child.pid, signal.SIGKILL)
        status = child.wait()
        if finished:
            break
        reason = (
            f"more than {options.row_limit:.0f} s"
            if not in_time
            else f"ended by signal {-status}" if status < 0 else f"exit status {status}"
        )
        if current:
            rows[current] = lost(order[current], current, reason)
        elif status != BROKEN:
            return [rows[n] for n in order if n in rows], f"outside of any row: {reason}"
        if all(n in rows for n in order):
            break
        if time.monotonic() > end:
            break
    wanted = set(options.rows.split("|")) if options.rows else set(order)
    for name in order:
        if name not in rows and name in wanted:
            rows[name] = lost(order[name], name, "no time was left") | {"no time": True}
    return [rows[n] for n in order if n in rows], None


def slug(name):
    return re.sub(r"[^a-z0-9]+", "-", name.lower().replace("nvidia", "")).strip("-")


def load(path):
    try:
        return json.loads(path.read_text())
    except (OSError, ValueError):
        return {"machine": None, "sections": {}}


def probe(options):
    """The machine's facts, or an end with the reason."""
    code = "import sys; sys.path[:0] = [sys.argv[1]]; import gpu, json; print(json.dumps(gpu.machine_of(sys.argv[2]).facts()))"
    done = subprocess.run([sys.executable, "-c", code, str(HERE), options.driver], capture_output=True, text=True)
    if done.returncode:
        sys.exit("nothing can be measured here: " + (done.stderr.strip().splitlines() or ["no reason is known"])[-1])
    return json.loads(done.stdout.splitlines()[-1])


def write(path, facts):
    import gpu_table

    path.with_suffix(".json").write_text(json.dumps(facts, indent=1) + "\n")
    path.with_suffix(".md").write_text("\n".join(gpu_table.page(facts)) + "\n")


def arguments(given=None):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="sections, with semicolons: " + "; ".join(SECTIONS))
    parser.add_argument("--missing", action="store_true")
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--row-limit", type=float, default=60)
    parser.add_argument("--driver", choices=("cuda", "tests", "none"), default="cuda")
    parser.add_argument("--rows", default="", help="names of rows, with | between them")
    parser.add_argument("--verbose", action="store_true", help="show what workers print")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--worker", help=argparse.SUPPRESS)
    parser.add_argument("--channel", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--done", default="", help=argparse.SUPPRESS)
    return parser.parse_args(given)


def chosen_sections(text):
    names = [name.strip() for name in text.split(";") if name.strip()] or list(SECTIONS)
    if unknown := {name for name in names if ":" not in name} - set(SECTIONS):
        sys.exit(f"no such section: {', '.join(sorted(unknown))}")
    return names


def main():
    options = arguments()
    if options.worker:
        return worker(options)
    sections, started = chosen_sections(options.only), time.monotonic()
    machine = probe(options)
    if not machine["hardware"] and options.out == HERE / "results":
        sys.exit("without a GPU --out is needed: nothing that comes of it is a result")
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"gpu-{slug(machine['name'])}"
    facts = load(path.with_suffix(".json"))
    facts["machine"] = machine
    with tempfile.TemporaryDirectory(prefix="bench-gpu-") as folder:
        os.environ.setdefault("FRAMELOOM_CACHE_DIR", folder)
        os.environ["TORCHINDUCTOR_CACHE_DIR"] = os.path.join(folder, "inductor")
        for section in sections:
            left = options.seconds - (time.monotonic() - started)
            old = facts["sections"].get(section, {})
            known = {row["name"]: row for row in old.get("rows", [])}
            chosen = set(options.rows.split("|")) if options.rows else set(known)
            kept = known if options.missing else {name: row for name, row in known.items() if name not in chosen}
            if left < 5:
                facts["sections"].setdefault(section, {"rows": [], "note": "no time was left"})
                write(path, facts)
                continue
            start = time.monotonic()
            rows, reason = run_section(section, options, min(section_of(section)[2], left), kept)
            facts["sections"][section] = {"rows": rows, "note": reason, "seconds": time.monotonic() - start}
            write(path, facts)
            good = sum("failed" not in row and "wrong" not in row for row in rows)
            print(
                f"{section}: {good} of {len(rows)} rows, {time.monotonic() - start:.0f} s" + (f", {reason}" if reason else ""),
                flush=True,
            )
    print(f"{path}.md")
    return 0


if __name__ == "__main__":
    sys.exit(main())
