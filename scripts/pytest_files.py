"""Runs pytest in several processes at a time, a few files each.

usage: pytest_files.py [--processes N] FOLDER [ARGUMENT...]

Each process is a pytest of its own (pytest_quick.py), with one thread when it begins: what host calls warn of depends on that,
which is why this is not pytest-xdist. By default there are as many processes as CPUs that this one may use, each with at least 6 GiB of
memory. Arguments are handed on; with test ids among them pytest runs once, with files these alone are run, each by itself.

Code is not optimized for files of the folders CAPTURE, which ask what is captured and when: half of their time went into code
whose values files of the other folders ask for. FRAMELOOM_OPTIMIZE decides for all of them where it is set.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

BATCH = 9  # files: starting costs a second or two, importing torch as much again
SLOWEST = ("--durations=8", "--durations-min=4")  # tests of a batch, and seconds, that are worth a line
CAPTURE = ("breaks", "dynamic", "language", "loops", "transforms")  # of test/python
NO_TESTS = 5  # pytest's status when options leave none of a batch


def process_count():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)), memory // (6 << 30)))


def largest_first(files):
    return sorted(files, key=lambda path: -path.stat().st_size)


def kind(path):
    """Files of one kind are run together: few processes import torch, each has one environment, and few have a stand-in for CUDA."""
    return path.parent.name if path.parent.name in ("torch", "torch_cuda") else "capture" if path.parent.name in CAPTURE else "other"


def environment(files):
    quick = {"FRAMELOOM_OPTIMIZE": "0"} if all(kind(path) == "capture" for path in files) else {}
    return {**quick, **os.environ}


def batches(folder):
    """Lists of files of one kind, the largest ones first."""
    files = largest_first(folder.rglob("test_*.py"))
    for wanted in ("torch", "torch_cuda", "other", "capture"):
        some = [path for path in files if kind(path) == wanted]
        count = -(-len(some) // BATCH)
        yield from (some[i::count] for i in range(count))


class Runs:
    def __init__(self, command, waiting):
        self.command, self.waiting = command, waiting
        self.lock = threading.Lock()
        self.counts, self.failed, self.status, self.seconds = Counter(), [], 0, 0.0

    def report(self, files, status, printed, seconds):
        names = " ".join(path.stem for path in files)
        print(f"-- {names}: {seconds:.0f} s of CPU time\n{printed}", end="", flush=True)
        self.seconds += seconds
        last = printed.rstrip().rpartition("\n")[2]
        self.counts.update({word: int(count) for count, word in re.findall(r"(\d+) (\w+)", last.rpartition(" in ")[0])})
        if status in (0, NO_TESTS):
            return
        self.status = 1
        found = [line for line in printed.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        self.failed += found or [f"pytest ended with {status}: {names}"]

    def work(self):
        while True:
            with self.lock:
                if not self.waiting:
                    return
                files = self.waiting.pop(0)
            running = subprocess.Popen([*self.command, *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                       env=environment(files), text=True, errors="replace")
            printed = running.stdout.read()
            _, status, used = os.wait4(running.pid, 0)
            running.returncode = os.waitstatus_to_exitcode(status)
            with self.lock:
                self.report(files, running.returncode, printed, used.ru_utime + used.ru_stime)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=process_count())
    parser.add_argument("folder", type=Path)
    options, arguments = parser.parse_known_args()
    paths = [a for a in arguments if a.partition("::")[0].endswith(".py") and os.path.exists(a.partition("::")[0])]
    quick = [sys.executable, str(Path(__file__).with_name("pytest_quick.py"))]
    if any("::" in path for path in paths):
        return subprocess.run([*quick, *arguments]).returncode
    arguments = [argument for argument in arguments if argument not in paths]
    chosen = [[path] for path in largest_first(map(Path, paths))] or list(batches(options.folder))
    runs = Runs([*quick, *arguments, "-p", "no:cacheprovider", *SLOWEST], chosen)
    threads = [threading.Thread(target=runs.work) for _ in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join([f"== {runs.seconds:.0f} s of CPU time", *runs.failed, ", ".join(f"{count} {word}" for word, count in runs.counts.items())]))
    return runs.status


if __name__ == "__main__":
    sys.exit(main())
