"""Runs the steps of models of the zoo and tells what became of each.

    python worker.py SOURCE/NAME... [--steps forward,training,...] [--skip LIST]

Each model runs in a process of its own, forked from this one, which has loaded the packages and done nothing else. One line of
JSON on the descriptor that LOOM_REPORT names when a step begins, and one when it has ended; a step's id is
`SOURCE/NAME STEP` (test/suites/process.py). The first step is `build`: a model that eager torch itself does not run is left
out, with the reason.
"""

import argparse
import ctypes
import json
import os
import pathlib
import signal
import sys
import time
import traceback
import warnings

import torch

import frameloom.torch
import sources
import steps

PR_SET_PDEATHSIG = 1


def run_model(name, wanted, skipped, report, backend=None, door="frameloom"):
    """Builds the model, and runs what is wanted of it but not to be skipped; with a backend, only by that, without a comparison."""
    model = None
    for step in ("build", *wanted):
        told = f"{name} {step}" not in skipped
        if not told and step != "build":
            continue
        if told:
            report.write(json.dumps({"id": f"{name} {step}", "begun": True}) + "\n")
        row, began = {"id": f"{name} {step}", "outcomes": [], "detail": "", "traces": [""]}, time.process_time()
        try:
            if step == "build":
                model = sources.build(name)
                row["outcomes"] = ["built"]
                row["parameters"] = sum(p.numel() for p in model.module.parameters())
            elif backend:
                steps.compiled_run(step, model, name, backend)
                row["outcomes"] = ["same"]
            else:
                def tell(outcome, detail, facts, row=row):
                    so_far = {**row, "outcomes": [outcome], "detail": detail, "facts": facts}
                    report.write(json.dumps({**so_far, "begun": True}) + "\n")

                outcome, row["detail"], row["facts"] = steps.check(step, model, name, door, tell)
                row["outcomes"] = [outcome]
        except Exception as error:
            row["outcomes"] = ["not built" if step == "build" else steps.CANNOT]
            row["detail"] = ("" if step == "build" else "eager raises ") + steps.short(error)
            row["traces"] = [traceback.format_exc()[-4000:]]
        row["seconds"] = time.process_time() - began
        if told:
            report.write(json.dumps(row) + "\n")
        if model is None:
            return


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("models", nargs="+")
    parser.add_argument("--steps", default=",".join(steps.STEPS))
    parser.add_argument("--backend", help="runs the steps by this one alone")
    parser.add_argument("--door", default="frameloom", choices=["frameloom", steps.TENSORS], help="torch.compile's backend, or frameloom.compile itself")
    parser.add_argument("--skip", type=pathlib.Path, default=os.devnull)
    options = parser.parse_intermixed_args()
    wanted, skipped = options.steps.split(","), set(options.skip.read_text().split("\n"))
    report = os.fdopen(int(os.environ["LOOM_REPORT"]), "w", buffering=1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    frameloom.torch.config.fallback_random = True  # eager torch's random numbers
    sources.load(options.models)
    for name in options.models:
        if all(f"{name} {step}" in skipped for step in wanted):
            continue
        child = os.fork()
        if child == 0:
            ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            run_model(name, wanted, skipped, report, options.backend, options.door)
            report.flush()
            os._exit(0)
        if os.waitpid(child, 0)[1]:
            os._exit(1)  # the step that had begun is noted as a crash, and another process goes on behind it
    report.write(json.dumps({"done": True}) + "\n")
    report.flush()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
