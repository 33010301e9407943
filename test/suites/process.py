"""A worker process that runs tests one by one and tells what became of each, followed from outside: what crashes or hangs
is noted, and another process goes on behind it.

A worker writes lines of JSON to the descriptor that LOOM_REPORT names: `{"id": ..., "begun": true}` when a test begins,
`{"id": ..., "outcomes": [...], ...}` when it has ended, `{"done": true}` at its end. A line with both "begun" and "outcomes"
tells what is known of a test that goes on: that stays when the rest of it crashes or hangs.

A test hangs when the limit has gone by since the last line and its processes have taken as much CPU time, or take none: on a
machine that others use, too, a test may take far longer than its own time.
"""

import json
import os
import selectors
import subprocess
import tempfile
import time

LOOKS = 10  # at the CPU time, while the limit goes by
IDLE = 0.01  # of the time that goes by: processes that take less of it in LOOKS looks do not go on
FALLEN_LIMIT = 20  # tests of one file that may crash or hang before the rest of it is left


def cpu_seconds(top):
    """CPU time of a process, all that it has started, and all that these have waited for."""
    spent, parents = {}, {}
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                with open(f"/proc/{entry}/stat") as stream:
                    fields = stream.read().rpartition(")")[2].split()
            except OSError:  # it has ended
                continue
            parents[int(entry)], spent[int(entry)] = int(fields[1]), sum(map(int, fields[11:15]))
    family, more = set(), {top} & spent.keys()
    while more:
        family |= more
        more = {process for process, parent in parents.items() if parent in more} - family
    return sum(spent[process] for process in family) / os.sysconf("SC_CLK_TCK")


class Patience:
    """How long a test may take, from the last line that it wrote. `took` tells the CPU time so far, in seconds."""

    def __init__(self, took, limit):
        self.took, self.limit = took, limit
        self.begin()

    def begin(self):
        self.seen = [self.took()]

    def is_over(self):
        """Asked LOOKS times while `limit` seconds go by."""
        self.seen.append(self.took())
        if len(self.seen) <= LOOKS:
            return False
        return self.seen[-1] - self.seen[0] >= self.limit or self.seen[-1] - self.seen[-1 - LOOKS] < IDLE * self.limit


class Run:
    """One module or file in one mode: rows by the id of a test.

    `known`: rows of tests that are not run again. `heard` is given the row of each test as soon as it has ended: what it keeps
    stays when this process is killed.
    """

    def __init__(self, name, command, limit, environment=None, known=None, heard=None):
        self.name, self.command, self.limit = name, command, limit
        self.environment = environment or {}
        self.known, self.heard = known or {}, heard or (lambda row: None)
        self.rows = {}
        self.counts = [0, 0]
        self.failure = None
        began = time.monotonic()
        while self.attempt() and self.fallen() < FALLEN_LIMIT:
            pass
        self.seconds = time.monotonic() - began

    def fallen(self):
        return sum(bool({"crash", "hang"} & set(row["outcomes"])) for row in self.rows.values())

    def attempt(self):
        """Runs what has not been run; True when it has to go on in another process."""
        reader, writer = os.pipe()
        with tempfile.TemporaryDirectory() as folder, tempfile.NamedTemporaryFile("w+") as skipped, \
                tempfile.TemporaryFile() as output:
            skipped.write("\n".join((self.known | self.rows).keys()))
            skipped.flush()
            paths = os.pathsep.join(os.path.abspath(p) for p in os.environ.get("PYTHONPATH", "").split(os.pathsep) if p)
            # What is wrong is looked for, not what is slow: all is compiled that would not be before many more calls. Sets have
            # one order in all processes, which the order of warnings may follow.
            environment = {"FRAMELOOM_PUT_OFF": "0", "PYTHONHASHSEED": "0", **os.environ, "LOOM_REPORT": str(writer), "PYTHONFAULTHANDLER": "1", "PYTHONPATH": paths,
                           **self.environment}
            process = subprocess.Popen([*self.command, "--skip", skipped.name], cwd=folder, pass_fds=[writer],
                                       env=environment, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
            os.close(writer)
            begun, done, how = self.follow(process, reader)
            process.wait()
            output.seek(0)
            words = output.read().decode(errors="replace")[-4000:]
        if done:
            return False
        if begun is None:
            self.failure = words
            self.rows[self.name] = {"id": self.name, "outcomes": ["does not load"], "traces": [words]}
            return False
        if begun not in self.rows:
            self.rows[begun] = {"id": begun, "outcomes": [how], "traces": [f"exit {process.returncode}\n{words}"]}
        self.heard(self.rows[begun])
        return True

    def follow(self, process, reader):
        """Reads rows until the process ends or takes too long: (test that was running, all done, what happened)."""
        begun, done, how, pending = None, False, "crash", b""
        watched, patience = selectors.DefaultSelector(), Patience(lambda: cpu_seconds(process.pid), self.limit)
        watched.register(reader, selectors.EVENT_READ)
        while True:
            if not watched.select(self.limit / LOOKS):
                if not patience.is_over():
                    continue
                how = "hang"
                process.kill()
                break
            patience.begin()
            text = os.read(reader, 1 << 16)
            if not text:
                break
            *lines, pending = (pending + text).split(b"\n")
            for line in lines:
                row = json.loads(line)
                done |= "done" in row
                self.counts = row.get("counts") or self.counts
                if "outcomes" in row:
                    self.rows[row["id"]] = row
                    if "begun" not in row:
                        self.heard(row)
                if "id" in row:
                    begun = row["id"] if "begun" in row else None
        watched.close()
        os.close(reader)
        return begun, done, how
