"""The match statement."""

import numpy as np

from . import program


@program
def match_values(x, y):
    out = []
    for command in (("add", 1), ("scale", 2, 3), ["many", 1, 2, 3], {"op": "neg", "k": 4}, 5, "text", Pair(1, 2), None, (0.5,)):
        match command:
            case ("add", k):
                out.append(x + k)
            case ("scale", a, b) if a > 1:
                out.append(x * a + b)
            case ["many", *rest]:
                out.append(y * sum(rest))
            case {"op": "neg", **others}:
                out.append(-y * others["k"])
            case int(n) | float(n):
                out.append(x - n)
            case Pair(first=f, second=s):
                out.append(f + s)
            case str() as s:
                out.append(s.upper())
            case None:
                out.append("none")
            case _:
                out.append("other")
    return out


@program
def match_class_with_args(x, y):
    class P:
        __match_args__ = ("a", "b")

        def __init__(self, a, b):
            self.a, self.b = a, b

    match P(x, 3):
        case P(a, 3):
            return a + y
        case _:
            return y
