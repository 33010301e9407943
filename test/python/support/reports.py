"""What the report of a compiled function counts."""


def graphs(compiled):
    """Versions, and parts between breaks, that compute something."""
    return sum(bool(entry["ops"]) for entry in compiled._report()["entries"])


def captures(compiled):
    """How often it was captured, versions that are gone included."""
    return compiled._report()["captures"]
