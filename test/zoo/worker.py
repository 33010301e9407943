"""Runs the steps of one model of the zoo and tells what became of each.

    python worker.py SOURCE/NAME [--steps forward,training,optimizer] [--skip LIST]

One line of JSON on the descriptor that LOOM_REPORT names when a step begins, and one when it has ended (test/suites/process.py).
The first step is `build`: a model that eager torch itself does not run is left out, with the reason.
"""

import argparse
import json
import os
import pathlib
import sys
import time
import traceback
import warnings

import torch

import sources
import steps


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("model")
    parser.add_argument("--steps", default=",".join(steps.STEPS))
    parser.add_argument("--skip", type=pathlib.Path, default=os.devnull)
    options = parser.parse_args()
    skipped = set(options.skip.read_text().split("\n"))
    report = os.fdopen(int(os.environ["LOOM_REPORT"]), "w", buffering=1)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    model = None
    for step in ("build", *options.steps.split(",")):
        if step in skipped and step != "build":
            continue
        if step not in skipped:
            report.write(json.dumps({"id": step, "begun": True}) + "\n")
        row, began = {"id": step, "outcomes": [], "detail": "", "traces": [""]}, time.monotonic()
        try:
            if step == "build":
                model = sources.build(options.model)
                row["outcomes"] = ["built"]
                row["parameters"] = sum(p.numel() for p in model.module.parameters())
            else:
                outcome, row["detail"], row["facts"] = steps.check(step, model, options.model)
                row["outcomes"] = [outcome]
        except Exception as error:
            row["outcomes"] = ["not built" if step == "build" else steps.CANNOT]
            row["detail"] = steps.short(error) if step == "build" else f"eager raises {steps.short(error)}"
            row["traces"] = [traceback.format_exc()[-4000:]]
        row["seconds"] = time.monotonic() - began
        if step not in skipped:
            report.write(json.dumps(row) + "\n")
        if model is None:
            break
    report.write(json.dumps({"done": True}) + "\n")
    report.flush()
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
