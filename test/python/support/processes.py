"""Programs that tests run in a process of their own."""

import os
import subprocess
import sys
import textwrap

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


def run_command(*words):
    """`python -m frameloom WORDS`."""
    return run_python("-m", "frameloom", *words)


def with_own_path():
    """An environment in which a program finds what the test that runs it finds."""
    return {"PYTHONPATH": os.pathsep.join(os.path.abspath(place) for place in sys.path if place)}
