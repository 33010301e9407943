"""Writes docs/numpy-coverage.md: which public functions of NumPy are captured whole (`make docs`)."""

import pathlib
import platform
import re
import sys

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "test" / "python" / "numpy"))

from numpy_calls import calls, traced  # noqa: E402

# What a function is, in the order of the page: by the call of it that is worst.
KINDS = {
    "known": ("decided at capture: no operation is left", "Views, copies, and what shapes, dtypes and constants tell: the graph is empty."),
    "compiled": ("compiled: no call of the library", "Every operation of the graph is in a kernel or moves a view."),
    "partly": ("captured, with calls of the library among compiled operations",
               "Beside compiled operations the graph calls NumPy (`loom.host_call`)."),
    "library": ("captured as calls of the library alone", "The graph calls NumPy (`loom.host_call`); nothing is compiled."),
    "breaks": ("not captured whole: run as plain NumPy", ""),
    "untried": ("not tried (printing, files, settings and the like)", ""),
}


def public_functions():
    """Names of the public functions and ufuncs of numpy, numpy.linalg and numpy.fft."""
    for prefix, module in (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft)):
        for name in sorted(set(dir(module))):
            thing = getattr(module, name)
            if not name.startswith("_") and callable(thing) and not isinstance(thing, type):
                yield prefix + name


def kind_of(reason, graph):
    """Of one call."""
    if reason:
        return "breaks"
    ops = set(re.findall(r'^\s*(?:%\S.* = )?"?(loom[.]\w+)', graph, re.M))  # by their assembly format, or by MLIR's generic one
    if "loom.host_call" in ops:
        return "partly" if len(ops) > 1 else "library"
    return "compiled" if ops else "known"


def versions():
    return f"NumPy {np.__version__} on CPython {'.'.join(platform.python_version_tuple()[:2])}"


def named(names):
    return ", ".join(f"`{n}`" for n in names)


def page():
    """The page and one line for the terminal."""
    found = {}
    for text in calls():
        reason, graph = traced(text)
        found.setdefault(re.match(r"[\w.]+", text).group(), []).append((kind_of(reason, graph), reason))
    order, rows = list(KINDS), {kind: [] for kind in KINDS}
    for name in public_functions():
        rows[max((kind for kind, _ in found.get(name, [("untried", "")])), key=order.index)].append(name)
    lines = [
        "# NumPy functions that are captured whole", "",
        "Made by `make docs` from the calls in `test/python/numpy/numpy_calls.py`, each of which the tests also compare with",
        f"{versions()}. A function is listed by its worst call. A call that is not captured runs as",
        "plain NumPy: it breaks the graph of the function that makes it.", "", "| public functions of `numpy`, `numpy.linalg` and `numpy.fft` | number |", "|---|--:|",
        *(f"| {title} | {len(rows[kind])} |" for kind, (title, _) in KINDS.items()), f"| all | {sum(map(len, rows.values()))} |",
    ]
    for kind in ("known", "compiled", "partly", "library"):
        title, meaning = KINDS[kind]
        lines += ["", "## " + title[0].upper() + title[1:], "", meaning, "", named(rows[kind])]
    lines += ["", "## Run as plain NumPy", "", "| function | reason |", "|---|---|"]
    for name in rows["breaks"]:
        reason = next(r for _, r in found[name] if r).split(" at loc")[0].replace("|", "\\|")
        lines.append(f"| `{name}` | {reason} |")
    lines += ["", "## Not tried", "", named(rows["untried"]), ""]
    return "\n".join(lines), "; ".join(f"{len(rows[kind])} {title}" for kind, (title, _) in KINDS.items())


def main():
    text, short = page()
    (root / "docs" / "numpy-coverage.md").write_text(text)
    print(short)


if __name__ == "__main__":
    main()
