"""The match statement."""

import numpy as np

from . import case, given, program


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


class Twice:
    __match_args__ = ("a", "a", "b")
    a = b = None
    KEY = "k"


@given(lambda: Twice(), lambda: {"k": 1, "m": 2})
def match_names_a_thing_twice(x, y, o, d):
    said = []
    for pick in range(4):
        try:
            match (o, pick):
                case Twice(_, _), 0:
                    said.append("twice")
                case Twice(_, a=_), 1:
                    said.append("twice by name")
                case Twice(_, b=_), 2:
                    said.append("once each")
                case _:
                    match d:
                        case {Twice.KEY: _, "k": _}:
                            said.append("key twice")
        except (TypeError, ValueError) as error:
            said.append(type(error).__name__)
    return x, said
