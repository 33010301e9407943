"""`frameloom`, `python -m frameloom`: versions and settings of this installation.

    frameloom                  versions, settings, environment variables
    frameloom reasons          why functions are not compiled: every code and what may help
    frameloom explain FL0003   cause, example and remedy of one of them
    frameloom markdown         settings and reasons as the page docs/settings.md
"""

import argparse
import platform


def _rows():
    from frameloom import _native

    rows = _native.settings()
    return [row for row in rows if row[0]], [row for row in rows if not row[0]]


def _info():
    import numpy

    import frameloom

    print(f"frameloom {frameloom.__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
          f"{platform.machine()}")
    settings, variables = _rows()
    print("\nsettings (frameloom.config.<name>):")
    for name, _, _, env, doc in settings:
        print(f"  {name:16} {getattr(frameloom.config, name)!r:10} {doc}{f' [{env}]' if env else ''}")
    print("\nenvironment variables of the runtime:")
    for _, _, _, env, doc in variables:
        print(f"  {env:24} {doc}")


def _reasons():
    from frameloom import _native

    for code, _, text, hint in _native.reasons():
        print(f"FL{code:04d} {text}" + (f"\n       hint: {hint}" if hint else ""))


def _markdown():
    from frameloom import _native

    settings, variables = _rows()
    print("# Settings and reasons\n\nMade by `python -m frameloom markdown` from the tables in the source.\n")
    print("## Settings\n\n`frameloom.config.<name>`; the environment is read once, at import.\n")
    print("| name | default | environment | meaning |\n|---|---|---|---|")
    for name, kind, default, env, doc in settings:
        shown = {"bool": {"0": "False", "1": "True"}}.get(kind, {}).get(default, default or '""')
        print(f"| `{name}` | `{shown}` | {f'`{env}`' if env else ''} | {doc} |")
    print("\n## Environment variables of the runtime\n\n| variable | default | meaning |\n|---|---|---|")
    for _, _, default, env, doc in variables:
        print(f"| `{env}` | {default} | {doc} |")
    print("\n## Why a function is not compiled\n\n| code | reason | what may help |\n|---|---|---|")
    for code, _, text, hint in _native.reasons():
        print(f"| FL{code:04d} | {text} | {hint} |")


def page(code):
    """What breaks.md says of a code ("FL0003", "fl3", "3"), as text; KeyError when there is no such code."""
    import importlib.resources

    digits = code.upper().removeprefix("FL")
    name = f"FL{int(digits):04d}" if digits.isdecimal() else code
    text = importlib.resources.files("frameloom").joinpath("breaks.md").read_text(encoding="utf-8")
    for section in text.split("\n## ")[1:]:
        if section.split("\n", 1)[0] == name:
            return section
    raise KeyError(code)


def _explain(code):
    import sys

    from frameloom import _native

    try:
        section = page(code)
    except KeyError:
        sys.exit(f"frameloom explain: no such code: {code} (`frameloom reasons` lists all)")
    name, body = section.split("\n", 1)
    text = next(row[2] for row in _native.reasons() if f"FL{row[0]:04d}" == name)
    print(f"{name}: {text}\n{body.replace('**', '').rstrip()}")


def main(argv=None):
    """Print what is asked for."""
    parser = argparse.ArgumentParser(prog="frameloom", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="info", choices=("info", "reasons", "explain", "markdown"))
    parser.add_argument("code", nargs="?", help="of a reason, for explain")
    chosen = parser.parse_args(argv)
    from frameloom import _eager

    if _eager.reason():
        parser.exit(1, f"frameloom does not compile on {_eager.reason()}: functions run as they are\n")
    if (chosen.what == "explain") != (chosen.code is not None):
        parser.error("explain takes a code, such as FL0003; nothing else does")
    if chosen.what == "explain":
        _explain(chosen.code)
    else:
        {"info": _info, "reasons": _reasons, "markdown": _markdown}[chosen.what]()


if __name__ == "__main__":
    main()
