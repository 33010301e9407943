"""A process that makes and checks programs, one for each line of its input: {"kind", "text"} or {"kind", "seed", "index"}.

It answers each with a line {"text", "found"}. With "plain" it compiles nothing from then on. It may die or hang over one: fuzz.py looks after that.
"""

import gc
import importlib
import json
import os
import resource
import sys
import traceback

MEMORY = 6 << 30  # bytes that a program may make the process ask for


def answer(request):
    kind = importlib.import_module(f"{request['kind']}_kind")
    text = request.get("text")
    if text is None:
        try:
            text = kind.make(request["seed"], request["index"])
        except Exception:
            return {"text": "", "found": ["error in the generator: " + traceback.format_exc()]}
        tell({"made": text})
    if request.get("only_make"):
        return {"text": text, "found": []}
    if request.get("plain"):
        importlib.import_module("frameloom").compile = lambda function, **options: function
    try:
        return {"text": text, "found": kind.check(text)}
    except MemoryError:  # both forms have made what cannot be compared within the limit
        return {"text": text, "found": []}
    except Exception:  # of the comparison itself: a finding as well
        return {"text": text, "found": ["error in the check: " + traceback.format_exc()]}


def tell(line):
    os.write(PIPE, json.dumps(line).encode() + b"\n")


if __name__ == "__main__":
    PIPE = os.dup(1)
    os.dup2(2, 1)  # what programs print is no answer
    if "libasan" not in os.environ.get("LD_PRELOAD", ""):  # AddressSanitizer reserves more than there is
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    for number, row in enumerate(sys.stdin):
        tell(answer(json.loads(row)))
        if number == 0:
            gc.freeze()  # what has been imported stays
