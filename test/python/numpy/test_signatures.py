"""Calls that the signature of a function or method of NumPy's refuses: the same exception with the same text."""

import inspect
import re

import numpy as np
import pytest
from compare import told
from paths import ROOT

import frameloom

with open(ROOT / "frontend" / "numpy" / "names.def") as table:
    ROWS = re.findall(r'^NP_FUNCTION\("([\w.]+)", "(\w+)"', table.read(), re.M)


def signature(function):
    try:
        return inspect.signature(function)
    except (ValueError, TypeError):
        return None


def refused(parameters):
    """Texts of arguments that a signature refuses: `a` stands for whatever an argument is."""
    kinds = inspect.Parameter
    required = [p for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    names = [p.name for p in parameters]
    plain = ["a"] * len(required)
    if any(p.kind == kinds.POSITIONAL_ONLY for p in parameters):
        for i, p in enumerate(parameters):
            if p.kind == kinds.POSITIONAL_ONLY and (i == len(required) - 1 or (i >= len(required) and p.default is not p.empty)):
                yield [*plain[:i], *(f"{q.name}=a" for q in required[i + 1:]), f"{p.name}=a"]
        if required and parameters[0].kind == kinds.POSITIONAL_ONLY:
            yield [f"{p.name}=a" for p in required]
        optional = [p for p in parameters if p.kind == kinds.POSITIONAL_ONLY and p.default is not p.empty]
        if optional:
            yield [*plain, *(f"{p.name}=a" for p in optional)]
    if not any(p.kind == kinds.VAR_KEYWORD for p in parameters):
        yield [*plain, "unheard_of=a"]
        if required and required[0].kind == kinds.POSITIONAL_OR_KEYWORD:
            yield [*plain, f"{required[0].name}=a"]
    if not any(p.kind == kinds.VAR_POSITIONAL for p in parameters):
        places = sum(p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD) for p in parameters)
        yield ["a"] * (places + 1)
        if len(names) > places + 1:
            yield ["a"] * len(names)
    if required:
        yield plain[:-1]


def programs():
    for module, name in ROWS:
        function = np
        for part in [*module.split(".")[1:], name]:
            function = getattr(function, part, None)
        if function is None or isinstance(function, np.ufunc):
            continue
        found = signature(function)
        for arguments in refused(list(found.parameters.values())) if found else ():
            yield f"{module.replace('numpy', 'np', 1)}.{name}({', '.join(arguments)})"
    for name in dir(np.ndarray):
        found = None if name.startswith("_") else signature(getattr(np.ndarray, name))
        for arguments in refused(list(found.parameters.values())[1:]) if found else ():
            yield f"a.{name}({', '.join(arguments)})"


PROGRAMS = sorted(set(programs()))


def test_there_are_many():
    assert len(PROGRAMS) > 800


@pytest.mark.parametrize("part", range(8))
def test_what_a_signature_refuses(part):
    wrong = []
    for text in PROGRAMS[part::8]:
        function = eval(f"lambda a: {text}", {"np": np})
        want, got = (told(call, np.ones(3), after=False) for call in (function, frameloom.compile(function)))
        if "empty" in text:  # what lies in the memory is any bytes: the type, the dtype, the shape and the strides remain
            want, got = (call[0][:6] for call in (want, got))
        if want != got:
            wrong.append((text, want, got))
    assert not wrong, f"{len(wrong)} differ: {wrong[:5]}"
