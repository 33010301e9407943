"""What the report of a compiled function counts."""

import frameloom


def graphs(compiled):
    """Versions, and parts between breaks, that compute something."""
    return sum(bool(entry["ops"]) for entry in compiled._report()["entries"])


def captures(compiled):
    """How often it was captured, versions that are gone included."""
    return compiled._report()["captures"]


def break_codes(function, *args):
    """The codes of the breaks of a call, in their order; of what was put off, none."""
    explained = frameloom.explain(function, *args)
    return [line.split()[0] for line in str(explained).splitlines() if line.startswith("FL00") and "FL0028" not in line]
