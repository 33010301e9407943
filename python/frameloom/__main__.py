"""`python -m frameloom`: versions and settings of this installation.

    python -m frameloom            versions, settings, environment variables
    python -m frameloom reasons    why functions are not compiled: every code and what may help
"""

import argparse
import platform


def _info():
    import numpy

    import frameloom
    from frameloom import _native

    print(f"frameloom {frameloom.__version__}, Python {platform.python_version()}, NumPy {numpy.__version__}, "
          f"{platform.machine()}")
    print("\nsettings (frameloom.config.<name>):")
    for name, kind, default, env, doc in _native.settings():
        if name:
            print(f"  {name:16} {getattr(frameloom.config, name)!r:10} {doc}{f' [{env}]' if env else ''}")
    print("\nenvironment variables of the runtime:")
    for name, kind, default, env, doc in _native.settings():
        if not name:
            print(f"  {env:24} {doc}")


def _reasons():
    from frameloom import _native

    for code, name, text, hint in _native.reasons():
        print(f"FL{code:04d} {text}" + (f"\n       hint: {hint}" if hint else ""))


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m frameloom", description=__doc__.splitlines()[0])
    parser.add_argument("what", nargs="?", default="info", choices=("info", "reasons"))
    {"info": _info, "reasons": _reasons}[parser.parse_args(argv).what]()


if __name__ == "__main__":
    main()
