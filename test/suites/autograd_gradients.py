"""autograd's own tests of gradients, with NumPy for `autograd.numpy` and frameloom's derivatives in place of autograd's.

    python test/suites/autograd_gradients.py FOLDER [--table FILE] [TEST ...]

FOLDER is a checkout of autograd's repository: its package has the checks (differences of the function beside the derivative, twice
for second derivatives), its folder `tests` the functions. Every derivative that a test asks for is frameloom.vjp's, jvp's, grad's,
jacobian's or hessian's. A test that fails is *refused* when frameloom says so, with a reason (a graph break, or an error of the
function that was asked); *of autograd* when it asks for what only autograd has; of *another convention* where both are right by their
own; else it is *wrong*. Ends with 1 when one is wrong.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
FILES = ("binary_ops builtins complex dict direct fft graphs jacobian linalg list logic misc numpy scalar_ops systematic truediv "
         "tuple wrappers").split()
# Boxes, rules and vector spaces of autograd's own, names of its NumPy, and what its functions are called or called with.
AUTOGRADS = re.compile(
    r"module 'numpy(\.linalg)?' has no attribute|unexpected keyword argument|got some positional-only arguments|"
    r"DID NOT RAISE|startswith\(\(|has no attribute '(numpy_boxes|_\w+)'|test_(no_\w+_def|custom_where|dtypes|wrapped_name|checkpoint|flatten|scalar_array_box)")
# Gradients by a symmetric matrix are symmetric here, as JAX's are; autograd's are those by the triangle that LAPACK reads.
CONVENTIONS = re.compile(r"test_eigvalh_(lower|upper)(_broadcasting)?$")
REFUSED = re.compile(r"GraphBreak: |frameloom\.\w+: |a derivative needs the compiler|has no derivative|is differentiated|a gradient is that of")


# ---- in the process of the tests: a plugin of pytest ------------------------------------------------


def put_in_place():
    """frameloom's derivatives under autograd's names, and NumPy under that of autograd's NumPy."""
    import autograd
    import autograd.core
    import autograd.differential_operators
    import autograd.numpy
    import autograd.test_util
    import numpy

    import frameloom

    def make_vjp(f, x):
        return (lambda v: frameloom.vjp(f, x, cotangent=v)[1][0]), f(x)

    def make_jvp(f, x):
        return lambda v: frameloom.jvp(f, (x,), (v,))

    def named(operator):
        return lambda f, argnum=0: operator(f, tuple(argnum) if isinstance(argnum, list) else argnum)

    for module in (autograd.core, autograd.test_util):
        module.make_vjp, module.make_jvp = make_vjp, make_jvp
    autograd.differential_operators._make_vjp, autograd.differential_operators._make_jvp = make_vjp, make_jvp
    for name in ("grad", "value_and_grad", "jacobian", "hessian"):
        setattr(autograd, name, named(getattr(frameloom, name)))
        setattr(autograd.differential_operators, name, getattr(autograd, name))
    autograd.tuple, autograd.list, autograd.dict = tuple, list, dict
    for name in ("", ".random", ".linalg", ".fft"):
        sys.modules["autograd.numpy" + name] = sys.modules["numpy" + name]
    autograd.numpy = numpy


def pytest_configure(config):
    put_in_place()


def pytest_runtest_logreport(report):
    if report.when != "call" and report.passed or report.skipped:
        return
    words = "" if report.passed else str(getattr(report.longrepr, "reprcrash", report.longrepr))
    with open(os.environ["AUTOGRAD_REPORT"], "a") as out:
        out.write(json.dumps([report.nodeid.split("/")[-1], report.passed, words]) + "\n")


# ---- the run ------------------------------------------------------------------------------------------


def outcome(test, passed, words):
    if passed:
        return "passes"
    if AUTOGRADS.search(f"{words} {test}"):
        return "of autograd"
    if REFUSED.search(words):
        return "refused"
    return "other convention" if CONVENTIONS.search(test) else "wrong"


def reason(words):
    """The first line of what was raised."""
    text = re.sub(r"^.*?:\d+: ", "", words).split("\n")[0]
    return " ".join(text.replace("frameloom.GraphBreak: ", "").split()).replace("|", "\\|")[:170]


def run(folder, tests):
    with tempfile.TemporaryDirectory() as place:
        report = pathlib.Path(place) / "report"
        report.touch()
        paths = [folder, folder / "tests", HERE, *filter(None, os.environ.get("PYTHONPATH", "").split(os.pathsep))]
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "AUTOGRAD_REPORT": str(report)}
        command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, "--rootdir", ".", "-p", "no:cacheprovider", "-p", "autograd_gradients",
                   "--tb=short", *tests]  # its own settings ask for plugins
        done = subprocess.run(command, cwd=folder / "tests", env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        rows = [json.loads(line) for line in report.read_text().splitlines()]
    if done.returncode not in (0, 1) or not rows:
        raise SystemExit(done.stdout)
    return [(test, outcome(test, passed, words), reason(words)) for test, passed, words in rows]


def page(rows):
    counts = collections.defaultdict(collections.Counter)
    for test, what, _ in rows:
        counts[test.split("::")[0]][what] += 1
    kinds = ("passes", "refused", "of autograd", "other convention", "wrong")
    lines = ["# autograd's own tests", "", "Written by `make test-autograd`: the gradient tests of the package `autograd`, where a derivative is",
             "`frameloom.vjp`, `jvp`, `grad`, `jacobian` or `hessian`, and `autograd.numpy` is NumPy. Each check compares a derivative with",
             "differences of the function, most of them second derivatives, too. *Refused*: frameloom says that it has no derivative, and why.",
             "*Of autograd*: the test asks for what only autograd has. *Other convention*: the gradient by a symmetric matrix is symmetric.", "",
             "| file | tests | " + " | ".join(kinds) + " |", "|---|" + "--:|" * (1 + len(kinds))]
    for name, found in sorted(counts.items()):
        lines.append(f"| `{name}` | {found.total()} | " + " | ".join(str(found[kind]) for kind in kinds) + " |")
    total = sum(counts.values(), collections.Counter())
    lines.append(f"| all | {total.total()} | " + " | ".join(str(total[kind]) for kind in kinds) + " |")
    for kind in kinds[:0:-1]:
        lines += ["", f"## {kind.capitalize()}", ""]
        lines += [f"- `{test}`: {why}" for test, what, why in rows if what == kind] or ["None."]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("tests", nargs="*", help="as pytest takes them; all that ask for derivatives of NumPy's functions")
    parser.add_argument("--table", type=pathlib.Path, help="writes the page")
    options = parser.parse_args()
    rows = run(options.folder.resolve(), options.tests or [f"test_{name}.py" for name in FILES])
    for test, what, why in rows:
        if what != "passes":
            print(f"{test}: {what}: {why}")
    if options.table:
        options.table.write_text(page(rows))
    wrong = sum(what == "wrong" for _, what, _ in rows)
    print(f"{len(rows) - wrong} passed, {wrong} failed")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
