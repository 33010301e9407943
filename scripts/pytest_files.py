"""Runs pytest in several processes at a time, a few files each.

usage: pytest_files.py [--processes N] FOLDER [ARGUMENT...]

Each process is a plain pytest, with one thread when it begins: what host calls warn of depends on that, which is why this
is not pytest-xdist. By default there are as many processes as CPUs that this one may use, each with at least 6 GiB of
memory. Arguments are handed on; with files or test ids among them pytest runs once, with these alone.
"""

import argparse
import os
import re
import subprocess
import sys
import threading
from collections import Counter
from pathlib import Path

BATCH = 5  # files: starting costs a second or two, importing torch as much again
NO_TESTS = 5  # pytest's status when options leave none of a batch


def process_count():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(1, min(len(os.sched_getaffinity(0)), memory // (6 << 30)))


def batches(folder):
    """Lists of files, the largest ones first; those of torch by themselves, so that few processes import it."""
    files = sorted(folder.glob("test_*.py"), key=lambda path: -path.stat().st_size)
    for torch in (True, False):
        some = [path for path in files if path.name.startswith("test_torch") == torch]
        count = -(-len(some) // BATCH)
        yield from (some[i::count] for i in range(count))


class Runs:
    def __init__(self, command, waiting):
        self.command, self.waiting = command, waiting
        self.lock = threading.Lock()
        self.counts, self.failed, self.status = Counter(), [], 0

    def report(self, files, done):
        names = " ".join(path.stem for path in files)
        print(f"-- {names}\n{done.stdout}", end="", flush=True)
        last = done.stdout.rstrip().rpartition("\n")[2]
        self.counts.update({word: int(count) for count, word in re.findall(r"(\d+) (\w+)", last.rpartition(" in ")[0])})
        if done.returncode in (0, NO_TESTS):
            return
        self.status = 1
        found = [line for line in done.stdout.splitlines() if line.startswith(("FAILED ", "ERROR "))]
        self.failed += found or [f"pytest ended with {done.returncode}: {names}"]

    def work(self):
        while True:
            with self.lock:
                if not self.waiting:
                    return
                files = self.waiting.pop(0)
            done = subprocess.run([*self.command, *map(str, files)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                                  text=True, errors="replace")
            with self.lock:
                self.report(files, done)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--processes", type=int, default=process_count())
    parser.add_argument("folder", type=Path)
    options, arguments = parser.parse_known_args()
    command = [sys.executable, "-m", "pytest", *arguments]
    paths = [argument.partition("::")[0] for argument in arguments]
    if any(path.endswith(".py") and os.path.exists(path) for path in paths):
        return subprocess.run(command).returncode
    runs = Runs([*command, "-p", "no:cacheprovider"], list(batches(options.folder)))
    threads = [threading.Thread(target=runs.work) for _ in range(options.processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    print("\n".join(["==", *runs.failed, ", ".join(f"{count} {word}" for word, count in runs.counts.items())]))
    return runs.status


if __name__ == "__main__":
    sys.exit(main())
