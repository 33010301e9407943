"""`python -m frameloom`: versions and settings of this installation.

    python -m frameloom            versions, settings, environment variables
    python -m frameloom reasons    why functions are not compiled: every code and what may help
    python -m frameloom markdown   both as the page docs/settings.md
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


def main(argv=None):
    """Print what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m frameloom", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="info", choices=("info", "reasons", "markdown"))
    {"info": _info, "reasons": _reasons, "markdown": _markdown}[parser.parse_args(argv).what]()


if __name__ == "__main__":
    main()
