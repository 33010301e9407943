"""Random programs, run plain and compiled in processes of their own, until the time is up.

usage: fuzz.py [--seconds N] [--seed S] [--kind numpy,...] [--first I] [--count N] [--processes N] [--keep FOLDER] [--raw]

Program I of a seed is the same everywhere. What differs is made smaller and printed by class, and with --keep a file of each
class is written, which `test/python/tools/test_fuzz.py` runs once it lies in `test/fuzz/found`. The status is 1 if anything differs.
"""

import argparse
import re
import sys
import threading
import time
import warnings
from pathlib import Path

from minimise import class_of, minimise
from workers import Worker, culprits, dies_plainly

KINDS = {"numpy": 4, "changes": 2, "python": 1, "calls": 1, "graphs": 1, "ir": 1, "device": 1, "auto": 1, "cuda": 1}  # and their shares of the time


def signature(text, row):
    """What findings are counted by: the class of the difference and the names that the program calls."""
    names = re.findall(r"loom[.](\w+) %", text) or re.findall(r"[.]([a-z_0-9]+)[(]", text.partition("def program")[2])
    return f"{class_of(row)}: {' '.join(sorted(set(names)))}"[:120]


class Run:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.seconds
        self.next = {kind: options.first for kind in options.kinds}
        self.counts, self.spent = dict.fromkeys(options.kinds, 0), dict.fromkeys(options.kinds, 0.0)
        self.classes, self.lock = {}, threading.Lock()

    def take(self):
        """The next program's kind and number, of the kind that has had the least of its share."""
        with self.lock:
            left = [k for k in self.options.kinds if self.next[k] < self.options.first + self.options.count]
            if time.monotonic() > self.end or not left:
                return None
            kind = min(left, key=lambda k: self.spent[k] / KINDS[k])
            index = self.next[kind]
            self.next[kind] += 1
            return {"kind": kind, "seed": self.options.seed, "index": index}

    def work(self):
        workers, helper = {kind: Worker() for kind in self.options.kinds}, Worker()
        try:
            while (request := self.take()) is not None:
                began = time.monotonic()
                answer = workers[request["kind"]].ask(request)
                self.spent[request["kind"]] += time.monotonic() - began
                self.counts[request["kind"]] += max(1, answer.text.count("func.func @"))
                if answer.found and (answer.text or not answer.crashed):  # else the library itself never came back
                    self.note(request, answer, workers[request["kind"]], helper)
        finally:
            for worker in [*workers.values(), helper]:
                worker.stop()

    def note(self, request, answer, worker, helper):
        text, row, before = answer.text, answer.found[0], []
        if answer.crashed:
            if text and dies_plainly({"kind": request["kind"], "text": text}):
                return
            before = [r["text"] for r in culprits(worker.history)][:-1]
        if text and not before and not self.options.raw and not row.startswith("hang"):
            def differs(candidate):
                return helper.ask({"kind": request["kind"], "text": candidate}).found
            text, row = minimise(text, row, differs, self.options.minimise)
        key = signature(text, row)
        with self.lock:
            known = self.classes.setdefault(key, [])
            known.append((request, text, row, before))
            if len(known) == 1:
                print(f"== {request['kind']} {request['seed']} {request['index']}: {key}\n{row}\n{program_of(text)}", flush=True)
                if self.options.keep:
                    self.write(request, text, row, before)

    def write(self, request, text, row, before):
        folder = Path(self.options.keep)
        folder.mkdir(parents=True, exist_ok=True)
        graph = request["kind"] == "ir"
        name = f"{request['kind']}_{request['seed']}_{request['index']}.{'mlir' if graph else 'py'}"
        note = " ".join(row.split())[:300].replace("\\", "/").replace('"""', "'''")
        (folder / name).write_text((f"// {note}\n\n" if graph else f'"""{note}"""\n\n') + text)
        for i, other in enumerate(before):
            (folder / f"{name}.before{i}").write_text(other)

    def summary(self):
        for key, cases in sorted(self.classes.items(), key=lambda item: -len(item[1])):
            print(f"{len(cases):5} {key}  ({', '.join(str(c[0]['index']) for c in cases[:5])})")
        print(", ".join(f"{count} programs of kind {kind}" for kind, count in self.counts.items()),
              f"seed {self.options.seed}: {sum(map(len, self.classes.values()))} differ, in {len(self.classes)} classes")


def program_of(text):
    return text[max(text.find("def arguments"), 0):]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--kind", default="all")
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=1 << 60)
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--minimise", type=float, default=20, help="seconds spent on making one program smaller")
    parser.add_argument("--keep")
    parser.add_argument("--raw", action="store_true", help="print programs as they were made")
    options = parser.parse_args()
    warnings.simplefilter("ignore", SyntaxWarning)  # of programs made smaller
    options.kinds = list(KINDS) if options.kind == "all" else list(options.kind.split(","))
    run = Run(options)
    threads = [threading.Thread(target=run.work) for _ in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    run.summary()
    return 1 if run.classes else 0


if __name__ == "__main__":
    sys.exit(main())
