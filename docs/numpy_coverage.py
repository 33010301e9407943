"""Writes docs/numpy-coverage.md: which public functions of NumPy are captured whole (`make docs`)."""

import pathlib
import re
import sys

import numpy as np

root = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(root / "test" / "python"))

from numpy_calls import calls, captured  # noqa: E402


def public_functions():
    """Names of the public functions and ufuncs of numpy, numpy.linalg and numpy.fft."""
    for prefix, module in (("np.", np), ("np.linalg.", np.linalg), ("np.fft.", np.fft)):
        for name in sorted(set(dir(module))):
            thing = getattr(module, name)
            if not name.startswith("_") and callable(thing) and not isinstance(thing, type):
                yield prefix + name


def main():
    reasons = {}
    for text in calls():
        name = re.match(r"[\w.]+", text).group()
        reasons.setdefault(name, []).append(captured(text))
    names = list(public_functions())
    whole = [n for n in names if n in reasons and not any(reasons[n])]
    parts = [n for n in names if n in reasons and any(reasons[n])]
    rest = [n for n in names if n not in reasons]
    lines = [
        "# NumPy functions that are captured whole", "",
        "Made by `make docs` from the calls in `test/python/numpy_calls.py`, each of which the tests also compare with",
        f"NumPy {np.__version__}. A function that is not captured runs as plain NumPy, and so does the function that calls it.",
        "", f"**{len(whole)}** of {len(names)} public functions of `numpy`, `numpy.linalg` and `numpy.fft` are captured",
        f"whole in every call tried, {len(parts)} are not (reasons below), {len(rest)} are not tried (printing, files,",
        "settings and the like).", "", "## Captured whole", "", ", ".join(f"`{n}`" for n in whole), "",
        "## Run as plain NumPy", "", "| function | reason |", "|---|---|",
    ]
    for name in parts:
        reason = next(r for r in reasons[name] if r).split(" at loc")[0].replace("|", "\\|")
        lines.append(f"| `{name}` | {reason} |")
    lines += ["", "## Not tried", "", ", ".join(f"`{n}`" for n in rest), ""]
    (root / "docs" / "numpy-coverage.md").write_text("\n".join(lines))
    print(f"{len(whole)} of {len(names)} captured whole, {len(parts)} not, {len(rest)} not tried")


if __name__ == "__main__":
    main()
