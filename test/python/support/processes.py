"""Programs that tests run in a process of their own."""

import json
import os
import subprocess
import sys
import textwrap
from pathlib import Path

PATIENCE = 600  # seconds: what hangs fails; no test is about how long anything takes


def run_python(*arguments, environment=None, timeout=PATIENCE, **more):
    """`python ARGUMENTS`: what subprocess.run gives, streams as text. `environment` is added to this one's; None takes a name out."""
    known = os.environ | (environment or {})
    known = {name: value for name, value in known.items() if value is not None}
    return subprocess.run([sys.executable, *map(str, arguments)], capture_output=True, text=True, timeout=timeout, env=known, **more)


def run_code(code, *arguments, options=(), **more):
    return run_python(*options, "-c", textwrap.dedent(code), *arguments, **more)


def printed(code, *arguments, **more):
    """What a program prints that ends well."""
    done = run_code(code, *arguments, **more)
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return done.stdout


FORKING = """
import json, os, sys, traceback

first, programs = json.load(sys.stdin)
exec(first)
for text in programs:
    end, begin = os.pipe()
    if not os.fork():
        os.dup2(begin, 1)
        try:
            exec(text, {"__name__": "__main__"})
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        sys.stdout.flush()
        os._exit(0)
    os.close(begin)
    with open(end) as printed:
        print(json.dumps(printed.read()), flush=True)
    if os.wait()[1]:
        sys.exit(text)
"""


def printed_each(first, programs):
    """What each of some programs prints, which end well. Each has a process of its own, forked from one that has run `first`."""
    done = run_python("-c", FORKING, input=json.dumps([first, list(programs)]))
    assert done.returncode == 0, (done.stdout + done.stderr)[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def threads_named(name, process="self"):
    """How many threads of a process have that name. One that is about to end may be among them."""
    found = 0
    for task in Path(f"/proc/{process}/task").iterdir():
        try:
            found += (task / "comm").read_text() == name + "\n"
        except (FileNotFoundError, ProcessLookupError):  # it has ended
            pass
    return found


def run_command(*words):
    """`python -m frameloom WORDS`."""
    return run_python("-m", "frameloom", *words)


def with_own_path():
    """An environment in which a program finds what the test that runs it finds."""
    return {"PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place)}
