"""Runs programs in a process of its own, which may crash or hang."""

import collections
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
PATIENCE = 60  # seconds for one program, of which the processor gave it a quarter: a busy machine is no hang
START = 180  # for the first one, which comes behind importing what it needs
PATIENCE_WITH_A_BUSY_MACHINE = 300
PROGRAMS = 1000  # by one process: what it has compiled and kept goes with it

Answer = collections.namedtuple("Answer", "text found crashed")


def processor_time(process):
    """Seconds that a process, the children that it had and those that it has were given."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    except OSError:  # it has ended
        return 0.0
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK") + sum(map(processor_time, children))


class Worker:
    def __init__(self):
        self.process, self.history = None, []

    def start(self):
        environment = {"FRAMELOOM_PUT_OFF": "0", **os.environ, "FRAMELOOM_CACHE": "0", "PYTHONHASHSEED": "0", "MALLOC_PERTURB_": "165",
                       "PYTHONPATH": os.pathsep.join([str(HERE), str(HERE.parent / "python" / "support"), os.environ.get("PYTHONPATH", "")])}
        self.process = subprocess.Popen([sys.executable, "-W", "ignore", str(HERE / "worker.py")], stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, env=environment)
        self.history, self.rest = [], b""

    def stop(self):
        if self.process:
            self.process.kill()
            self.process.communicate()
            self.process = None

    def line(self):
        """The next line of its answer, or None when it is dead or hangs."""
        patience, began, given = PATIENCE if self.history else START, time.monotonic(), processor_time(self.process.pid)
        while b"\n" not in self.rest:
            if not select.select([self.process.stdout], [], [], patience)[0]:
                starved = processor_time(self.process.pid) - given < patience / 4
                if starved and time.monotonic() - began < PATIENCE_WITH_A_BUSY_MACHINE:
                    continue
                return None
            some = os.read(self.process.stdout.fileno(), 1 << 16)
            if not some:
                return None
            self.rest += some
        line, _, self.rest = self.rest.partition(b"\n")
        return json.loads(line)

    def ask(self, request):
        """Answer(text, differences, whether the process is gone)."""
        if self.process is None or len(self.history) >= PROGRAMS:
            self.stop()
            self.start()
        made = request.get("text", "")
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
            line = self.line()
            if line and "made" in line:
                made, line = line["made"], self.line()
        except BrokenPipeError:
            line = None
        self.history.append({**request, "text": made})
        if line is not None:
            return Answer(line["text"], line["found"], False)
        try:
            code = self.process.wait(1)
        except subprocess.TimeoutExpired:
            code = None
        history = self.history
        self.stop()
        self.history = history
        return Answer(made, [f"hang: no answer in {PATIENCE} seconds" if code is None else f"crash: the process ended with {code}"], True)


def alone(request):
    """What one program does in a process of its own."""
    return sequence([request])


def dies_plainly(request):
    """Does the process die where nothing is compiled, be it when it ends? The library itself has programs that corrupt the heap."""
    worker = Worker()
    try:
        for _ in range(100):
            if worker.ask({**request, "plain": True}).crashed:
                return True
        worker.process.stdin.close()
        return worker.process.wait(PATIENCE) < 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        if worker.process:
            worker.process.kill()
            worker.process.wait()


def sequence(requests):
    """The answer of the last of some programs, or of the first that kills the process."""
    worker = Worker()
    try:
        for request in requests:
            answer = worker.ask(request)
            if answer.crashed:
                break
        return answer
    finally:
        worker.stop()


def culprits(history):
    """The fewest programs, in order, after which the process dies: the last alone if that will do."""
    if not history[-1]["text"] or alone(history[-1]).crashed:
        return history[-1:]
    kept, step = history, max(1, len(history) // 2)
    if not sequence(kept).crashed:
        return history[-1:]  # never again: reported with what ran last
    while step:
        at = 0
        while at < len(kept) - 1:
            some = kept[:at] + kept[min(at + step, len(kept) - 1):]
            if sequence(some).crashed:
                kept = some
            else:
                at += step
        step //= 2
    return kept
