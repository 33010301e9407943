"""The programs of numpy_kind.py by functions that choose where they run (`device="auto"`), on the driver of the tests, whose device is stated
to cost nothing: what it takes runs there. All must be as without a device: values, layouts, memory, warnings and exceptions."""

import os
import re
import resource
from pathlib import Path

import numpy_kind

import frameloom

os.environ["FRAMELOOM_CUDA_DRIVER"] = str(Path(os.environ.get("LOOM_BUILD", "build/dev")).resolve() / "lib" / "libnullcuda.so")
resource.setrlimit(resource.RLIMIT_AS, (resource.getrlimit(resource.RLIMIT_AS)[1],) * 2)  # the driver keeps many addresses for its memory
COSTS = "up=1e18 down=1e18 memory=1e18 operations=1e21 launch=1e-15 wait=1e-15"
make = numpy_kind.make


def check(text, seen=None):
    """Texts of what differs. `seen`: a list that gets where the calls of each function ran."""
    text = re.sub(r"^BACKEND = .*$", "", text, flags=re.MULTILINE)
    made = []

    def compiled(function, **options):
        made.append(frameloom_compile(function, device="auto", **options))
        return made[-1]

    frameloom_compile, frameloom.compile = frameloom.compile, compiled
    try:
        with frameloom.config.patch(device_costs=COSTS, leave_slower=False):
            return numpy_kind.check(text)
    finally:
        frameloom.compile = frameloom_compile
        if seen is not None:
            seen += [placing.where for function in made for placing in getattr(function, "_placings", {}).values()]
