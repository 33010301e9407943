"""Special methods that give what they should not, and classes that have only some of those that belong together.

Each operation is done on instances of classes whose methods give every kind of value; what is raised is caught inside of the
compiled function, where nothing runs it again.
"""

import itertools
import math
import operator

import pytest
from compare import described

import frameloom

OPERATIONS = {  # name: (what is done with o, methods that it may ask for)
    "get item": ("o[1]", ["__getitem__"]),
    "set item": ("o[1] = 2", ["__setitem__", "__delitem__"]),
    "delete item": ("del o[1]", ["__delitem__", "__setitem__"]),
    "length": ("len(o)", ["__len__"]),
    "truth": ("bool(o)", ["__bool__", "__len__"]),
    "not": ("not o", ["__bool__", "__len__"]),
    "iter": ("list(o)", ["__iter__", "__getitem__"]),
    "unpack": ("a, b = o", ["__iter__", "__getitem__"]),
    "star": ("[*o]", ["__iter__"]),
    "for": ("[v for v in o]", ["__iter__"]),
    "next": ("next(o)", ["__next__"]),
    "next or": ("next(o, 5)", ["__next__"]),
    "contains": ("1 in o", ["__contains__", "__iter__", "__getitem__"]),
    "reversed": ("list(reversed(o))", ["__reversed__", "__len__", "__getitem__"]),
    "call": ("o(1)", ["__call__"]),
    "repr": ("repr(o)", ["__repr__"]),
    "str": ("str(o)", ["__str__", "__repr__"]),
    "format": ("format(o, '>4')", ["__format__", "__str__"]),
    "f-string": ("f'{o}'", ["__format__", "__str__"]),
    "f-string with a format": ("f'{o:>4}'", ["__format__", "__str__"]),
    "f-string of repr": ("f'{o!r}'", ["__repr__"]),
    "str.format": ("'{:>4} {!s}'.format(o, o)", ["__format__", "__str__"]),
    "percent": ("'%s' % (o,)", ["__str__", "__repr__"]),
    "hash": ("hash(o)", ["__hash__", "__eq__"]),
    "key": ("{o: 1}[o]", ["__hash__", "__eq__"]),
    "index": ("[1, 2, 3][o]", ["__index__", "__int__"]),
    "range": ("list(range(o))", ["__index__", "__int__"]),
    "slice": ("[1, 2, 3][:o]", ["__index__"]),
    "int": ("int(o)", ["__int__", "__index__", "__trunc__"]),
    "float": ("float(o)", ["__float__", "__index__"]),
    "complex": ("complex(o)", ["__complex__", "__float__", "__index__"]),
    "bytes": ("bytes(o)", ["__bytes__", "__index__"]),
    "round": ("round(o)", ["__round__"]),
    "round to": ("round(o, 1)", ["__round__"]),
    "floor": ("math.floor(o)", ["__floor__", "__float__"]),
    "abs": ("abs(o)", ["__abs__"]),
    "negative": ("-o", ["__neg__"]),
    "invert": ("~o", ["__invert__"]),
    "add": ("o + 1", ["__add__", "__radd__"]),
    "reflected": ("1 + o", ["__radd__", "__add__"]),
    "in place": ("o += 1; r = o", ["__iadd__", "__add__"]),
    "power": ("o ** 2", ["__pow__"]),
    "power of three": ("pow(o, 2, 3)", ["__pow__"]),
    "divmod": ("divmod(o, 2)", ["__divmod__"]),
    "matmul": ("o @ 2", ["__matmul__"]),
    "equal": ("o == 1", ["__eq__"]),
    "not equal": ("o != 1", ["__ne__", "__eq__"]),
    "less": ("o < 1", ["__lt__", "__gt__"]),
    "greater, reflected": ("1 > o", ["__lt__", "__gt__"]),
    "if": ("3 if o else 4", ["__bool__", "__len__"]),
    "with": ("with o as v: r = v", ["__enter__", "__exit__"]),
    "with that raises": ("with o: raise KeyError('inside')", ["__enter__", "__exit__"]),
    "get attribute": ("o.other", ["__getattr__", "__getattribute__"]),
    "set attribute": ("o.other = 1", ["__setattr__"]),
    "delete attribute": ("del o.other", ["__delattr__"]),
    "dir": ("dir(o)", ["__dir__"]),
    "isinstance": ("isinstance(1, o)", ["__instancecheck__"]),
    "sum": ("sum(o)", ["__iter__"]),
    "sorted": ("sorted(o)", ["__iter__", "__getitem__"]),
    "max": ("max(o)", ["__iter__"]),
    "join": ("''.join(o)", ["__iter__"]),
    "length hint": ("operator.length_hint(o, 3)", ["__len__", "__length_hint__"]),
    "str of a list": ("str([o])", ["__repr__", "__str__"]),
    "dict": ("dict(o)", ["keys", "__getitem__", "__iter__"]),
    "double star": ("(lambda **k: sorted(k))(**o)", ["keys", "__getitem__"]),
    "star in a call": ("(lambda *a: a)(*o)", ["__iter__"]),
    "yield from": ("(lambda: (yield from o))().send(None)", ["__iter__"]),
}
VALUES = {
    "None": "None", "an int": "2", "a negative int": "-1", "a large int": "1 << 70", "a bool": "True", "a float": "1.5", "a str": "'ab'",
    "a subclass of int": "MyInt(2)", "a subclass of str": "MyStr('ab')", "a list": "[1, 2]", "an iterator": "iter([1, 2])", "a tuple": "(1, 'a')",
    "NotImplemented": "NotImplemented", "itself": "self", "bytes": "b'ab'", "a pair of names": "['aa', 'bb']", "a complex": "1j",
}
SPACE = {"math": math, "operator": operator, "MyInt": type("MyInt", (int,), {}), "MyStr": type("MyStr", (str,), {})}


END = "        if isinstance(given[0], int) and given[0] > 2: raise IndexError('end')\n"


def function_of(done, said):
    """A function of an instance that catches what the operation raises, and gives `said` of it."""
    statement = any(word in done for word in ("del ", "with ", "raise", "; ", " = "))
    body = done.replace("; ", "\n        ") if statement else f"r = {done}"
    text = f"def function(o):\n    r = None\n    try:\n        {body}\n    except Exception as error:\n        return type(error).__name__, {said}\n    return type(r).__name__, r\n"
    space = dict(SPACE)
    exec(text, space)
    return space["function"]


def class_of(methods):
    body = "".join(
        f"    def {name}(self, *given):\n"
        f"{END if name == '__getitem__' else ''}        {'raise' if value.startswith('ValueError') else 'return'} {value}\n"
        for name, value in methods.items())
    text = f"class C:\n    total = 0\n    other = 7\n{body}"
    space = dict(SPACE)
    exec(text, space)
    return space["C"]


def told_of_new(function, cls):
    """What a call gives with an object of the class, which it may give itself."""
    given = cls()
    try:
        kind, value = function(given)
    except BaseException as error:
        return described(error)
    return kind, "itself" if value is given else described(value)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("said", ["str(error)", "'raised'"])  # a message is the library's own: where it is asked for, the operation is run
@pytest.mark.parametrize("name", OPERATIONS)
def test_what_special_methods_give(name, said):
    done, methods = OPERATIONS[name]
    function, different = function_of(done, said), []
    kinds = [{}] + [{method: value} for method in methods for value in [*VALUES.values(), "ValueError('raised')"]]
    kinds += [dict(zip(methods, pair)) for pair in itertools.product(["2", "None", "'ab'", "NotImplemented", "iter([1, 2])"], repeat=2) if len(methods) > 1]
    for given in kinds:
        cls = class_of(given)
        frameloom.reset()
        compiled = frameloom.compile(function)
        want = told_of_new(function, cls)
        for _ in range(2):
            got = told_of_new(compiled, cls)
            if got != want:
                different.append(f"{given}: {got} instead of {want}")
                break
    assert not different, "\n".join(different)
