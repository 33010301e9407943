"""Indices, counts and other numbers given to methods of deques, by operators and by name: of every size and kind, inside of handlers too."""

import collections
import re

import pytest
from compare import told

import frameloom

CALLS = """d[n]; d * n; n * d; d.rotate(n); d.insert(n, 1); d.index(1, n); d.index(1, 0, n); d.pop(n); d.remove(n); d.count(n); d.extend(n); d.__getitem__(n)
    d.__setitem__(n, 1); d.__delitem__(n); d.__mul__(n); d.__rmul__(n); d.__imul__(n); d.__contains__(n); d.__add__(n); d.__iadd__(n); d.__eq__(n)
    d.__lt__(n); d.__len__(n); d.__reversed__(n); d.__iter__(n); collections.deque.__getitem__(d, n); collections.deque.__mul__(d, n)
    collections.deque.__delitem__(d, n); collections.deque(d, n); (lambda g, i: g(i))(d.__getitem__, n); list(map(d.__getitem__, [n]))"""
NUMBERS = """2**65; -2**65; 2**63; -2**63-1; 2**63-1; 0; 2; -1; -7; 1.5; 'a'; None; True; Index(); Large(); MyInt(1); MyInt(2**65); [1]; other; ()"""
SAID = ["0", "len(error.args)", "str(error)", "type(error.__context__).__name__"]
SPACE = {"collections": collections, "Index": type("Index", (), {"__index__": lambda self: 1, "__repr__": lambda self: "index"}),
         "Large": type("Large", (), {"__index__": lambda self: 2**65, "__repr__": lambda self: "large"}), "MyInt": type("MyInt", (int,), {})}


def listed(texts):
    return [text.strip() for line in texts.split("\n") for text in line.split(";")]


def functions_of(call, number):
    """Of a deque made inside and one that is passed, with and without a handler around what is raised."""
    text = re.sub(r"\bn\b", f"({number})", call)
    for made in ("", "    d = collections.deque([1, 2, 3], 5)\n"):
        for said in SAID:
            tried = f"try:\n    r = {text}\nexcept Exception as error:\n    r = (type(error).__name__, {said})\n"
            for around in (tried, "try:\n    raise KeyError('around')\nexcept KeyError:\n" + re.sub("(?m)^(?=.)", "    ", tried)):
                space = {**SPACE, "other": collections.deque([1])}
                exec(f"def function(d):\n{made}" + re.sub("(?m)^(?=.)", "    ", around) + "    return r, d\n", space)
                yield space["function"]


def given():
    return collections.deque([1, 2, 3], 4)


@pytest.mark.parametrize("call", listed(CALLS))
def test_numbers(call):
    different = []
    for number in listed(NUMBERS):
        if number == "2**63-1" and ("mul" in call or "*" in call):
            continue  # all memory
        for function in functions_of(call, number):
            frameloom.reset()
            want, compiled = told(function, given()), frameloom.compile(function, backend="interpret")
            for _ in range(2):
                got = told(compiled, given())
                if got != want:
                    different.append(f"{call} of {number}: {got} instead of {want}")
    assert not different, "\n".join(different)
