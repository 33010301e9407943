"""Guards: what has to hold for a compiled version to be used again."""

import builtins
import collections
import math
import types

import numpy as np
import pytest
from compare import assert_same

import frameloom

SCALE = 2.0
LIMITS = [1.0, 3.0]
X = np.arange(4.0) - 1
TABLE = {"a": 1.0, "b": 2.0}


class Config:
    offset = 1.0


def helper(x):
    return x + 1


@pytest.fixture(params=["interpret", "loom"])
def compiled(request):
    return lambda fn, **kwargs: frameloom.compile(fn, backend=request.param, **kwargs)


def as_wrapped(f, *args):
    for _ in range(2):
        assert_same(f(*args), f.__wrapped__(*args), ulps=0)


def test_global_number(compiled, monkeypatch):
    f = compiled(lambda a: a * SCALE)
    x = np.arange(3.0)
    as_wrapped(f, x)
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    as_wrapped(f, x)
    monkeypatch.setitem(globals(), "SCALE", 3)
    as_wrapped(f, x)
    monkeypatch.setitem(globals(), "UNRELATED", 1)
    as_wrapped(f, x)
    assert len(f._report()["entries"]) == 3


def test_global_function_and_builtin(compiled, monkeypatch):
    f = compiled(lambda a: helper(a) * len(a))
    x = np.arange(3.0)
    as_wrapped(f, x)
    monkeypatch.setitem(globals(), "helper", lambda x: x - 1)
    as_wrapped(f, x)
    monkeypatch.setitem(globals(), "len", lambda x: 10)
    as_wrapped(f, x)


def test_code_of_an_inlined_function(compiled, monkeypatch):
    f = compiled(lambda a: helper(a) * 2)
    x = np.arange(3.0)
    as_wrapped(f, x)
    monkeypatch.setattr(helper, "__code__", (lambda x: x - 5).__code__)
    as_wrapped(f, x)


def test_module_attribute(compiled):
    module = types.ModuleType("settings")
    module.k = 2.0
    f = compiled(lambda a: a * module.k)
    x = np.arange(3.0)
    as_wrapped(f, x)
    module.k = 5.0
    as_wrapped(f, x)
    module.other = 1
    as_wrapped(f, x)
    assert len(f._report()["entries"]) == 2


def test_list_and_dict_contents(compiled, monkeypatch):
    f = compiled(lambda a: a * LIMITS[0] + LIMITS[-1] + TABLE["a"])
    x = np.arange(3.0)
    as_wrapped(f, x)
    LIMITS[0] = 7.0
    as_wrapped(f, x)
    LIMITS[0] = 1.0
    monkeypatch.setitem(TABLE, "a", 9.0)
    as_wrapped(f, x)
    LIMITS.append(11.0)
    as_wrapped(f, x)
    LIMITS.pop()
    as_wrapped(f, x)


def test_closure_cell_and_attributes(compiled):
    config = Config()
    k = 2.0

    def g(a):
        return a * k + config.offset

    f = compiled(g)
    x = np.arange(3.0)
    as_wrapped(f, x)
    k = 3.0
    as_wrapped(f, x)
    config.offset = 4.0
    as_wrapped(f, x)
    del config.offset
    as_wrapped(f, x)
    Config.offset = 8.0
    try:
        as_wrapped(f, x)
    finally:
        Config.offset = 1.0


def test_numbers_by_type_and_bits(compiled):
    f = compiled(lambda a, n: a * n, dynamic=False)
    x = np.array([1.0, -1.0])
    for n in (0.0, -0.0, 1, True, 1.0, math.nan):
        for _ in range(2):
            got, want = f(x, n), x * n
            assert got.dtype == want.dtype and got.tobytes() == want.tobytes()
    assert len(f._report()["entries"]) == 6


def test_strings_and_none(compiled):
    def g(a, mode, axis=None):
        return a.sum(axis) if mode == "sum" else a.max(axis)

    f = compiled(g)
    x = np.arange(6.0).reshape(2, 3)
    as_wrapped(f, x, "sum")
    as_wrapped(f, x, "max")
    as_wrapped(f, x, "su" + "m"[:1], 0)
    as_wrapped(f, x, "max", 1)


def test_containers_as_arguments(compiled):
    f = compiled(lambda items, table: items[0] * len(items) + table["x"])
    x = np.arange(3.0)
    as_wrapped(f, [x, 1], {"x": 1.0})
    as_wrapped(f, [x, 1, 2], {"x": 1.0})
    as_wrapped(f, (x, 1), {"x": x})
    as_wrapped(f, [x, 1], {"x": 1.0, "y": 2})


def test_same_array_twice(compiled):
    def g(a, b):
        a += 1
        return a + b

    f = compiled(g)
    for shared in (False, True, False):
        a = np.arange(3.0)
        b = a if shared else np.arange(3.0)
        c = a.copy()
        d = c if shared else b.copy()
        np.testing.assert_array_equal(f(a, b), g(c, d))
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_overlap_of_written_arguments(compiled):
    def g(a, b):
        a[...] = a + b
        return b * 2

    f = compiled(g)
    for offset in (4, 1, 0, 2, 4):
        one, two = np.arange(8.0), np.arange(8.0)
        np.testing.assert_array_equal(f(one[:4], one[offset:offset + 4]), g(two[:4], two[offset:offset + 4]))
        np.testing.assert_array_equal(one, two)


def test_written_array_that_overlaps_itself(compiled):
    def g(a):
        a[..., ::2] *= -1
        a[0] += 5
        return a.copy()

    f = compiled(g)
    for strides in ((8, 8), (0, 8), (48, 8), (8, 32), (16, 8)):
        one, two = (np.lib.stride_tricks.as_strided(np.arange(40.0), (4, 6), strides) for _ in range(2))
        np.testing.assert_array_equal(f(one), g(two))
        np.testing.assert_array_equal(one, two)


def test_read_only_and_misaligned(compiled):
    def g(a):
        a[0] = 5.0
        return a + 1

    f = compiled(g)
    x = np.zeros(3)
    f(x)
    x = np.zeros(3)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        f(x)
    raw = np.zeros(25, np.uint8)[1:].view(np.float64)
    assert not raw.flags.aligned
    np.testing.assert_array_equal(f(raw), [6.0, 1.0, 1.0])
    assert raw[0] == 5.0


def test_strides_are_part_of_the_guard(compiled):
    f = compiled(lambda a: a * 2 + 1)
    base = np.arange(24.0).reshape(4, 6)
    for x in (base, base.T, base[::2], base[:, ::-1], base[1:3, 2:], np.broadcast_to(base[0], (4, 6)), base[:0]):
        as_wrapped(f, x)
        assert f(x).strides == (x * 2 + 1).strides


def test_guards_in_words():
    report = frameloom.explain(lambda a, n: a * n * SCALE, np.ones((2, 3), np.float32)[:, ::2], 2.0)
    text = "\n".join(guard.text for guard in report.out_guards)
    assert "float32[2, 2] strides (12, 8)" in text and "SCALE" in text and "2.0" in text


class Descriptor:
    def __get__(self, instance, owner):
        return 1234.0

    def __set__(self, instance, value):
        raise AttributeError


def test_class_that_comes_to_stand_before_its_instances(compiled):
    class Instance:
        def __init__(self):
            self.v = 2.0

    o = Instance()
    f = compiled(lambda a: a + o.v)
    x = np.arange(3.0)
    as_wrapped(f, x)
    Instance.v = Descriptor()
    as_wrapped(f, x)
    Instance.v = 5.0
    as_wrapped(f, x)
    Instance.__getattribute__ = lambda self, name: 55.0
    as_wrapped(f, x)
    del Instance.__getattribute__
    as_wrapped(f, x)


def test_names_that_come_into_being(compiled):
    class Instance:
        __slots__ = ("u", "w")

    o = Instance()
    f = compiled(lambda a: (a + 1 if hasattr(o, "u") else a + 2) * (3 if hasattr(o, "other") else 4))
    x = np.arange(3.0)
    as_wrapped(f, x)
    o.u = 1
    as_wrapped(f, x)
    Instance.__getattr__ = lambda self, name: 7
    as_wrapped(f, x)


@pytest.mark.parametrize("axis", [True, [0], np.int64(1), (0, 1), 0.0])
def test_axis_of_another_type(compiled, axis):
    f = compiled(lambda a, axis: a.sum(axis=axis))
    x = np.arange(6.0).reshape(2, 3)
    for _ in range(2):
        try:
            want = f.__wrapped__(x, axis)
        except TypeError as error:
            with pytest.raises(TypeError, match=str(error)):
                f(x, axis)
        else:
            np.testing.assert_array_equal(f(x, axis), want)


MANY = {f"number{i}": float(i) for i in range(20)}


def many_globals():
    """A function that reads twenty globals, a builtin and a module's attribute, over a dictionary of its own."""
    scope = {"np": np, **MANY}
    text = " + ".join(MANY)
    exec(f"def total(x):\n    return np.add(x, {text}) * max(number3, number4)\n", scope)
    return scope, scope["total"]


def test_every_global_is_seen_to_change(compiled):
    scope, plain = many_globals()
    f = compiled(plain)
    x = np.arange(3.0)
    for name in ("number0", "number19", "number3"):
        for value in (7.5, 8, np.float32(2), MANY[name]):
            scope[name] = value
            for _ in range(2):
                got, want = f(x), plain(x)
                assert got.dtype == want.dtype
                np.testing.assert_array_equal(got, want)


def test_builtins_and_globals_that_shadow_them(compiled, monkeypatch):
    scope, plain = many_globals()
    f = compiled(plain)
    x = np.arange(3.0)
    np.testing.assert_array_equal(f(x), plain(x))
    scope["max"] = min
    np.testing.assert_array_equal(f(x), plain(x))
    del scope["max"]
    np.testing.assert_array_equal(f(x), plain(x))
    monkeypatch.setattr(builtins, "max", lambda a, b: 100.0)
    np.testing.assert_array_equal(f(x), plain(x))
    monkeypatch.undo()
    np.testing.assert_array_equal(f(x), plain(x))
    del scope["number5"]
    with pytest.raises(NameError):
        f(x)
    scope["number5"] = 1.0
    np.testing.assert_array_equal(f(x), plain(x))
    monkeypatch.setattr(np, "add", np.subtract)
    np.testing.assert_array_equal(f(x), plain(x))


def test_unrelated_writes_to_the_globals_change_nothing(compiled):
    scope, plain = many_globals()
    f = compiled(plain)
    x = np.arange(3.0)
    for k in range(5):
        scope[f"other{k}"] = k
        np.testing.assert_array_equal(f(x), plain(x))


def test_dictionaries_are_guarded_key_by_key():
    cache = {}

    def f(x, key):
        if key not in cache:
            cache[key] = x * len(key)
        return cache[key] + 1

    compiled, x = frameloom.compile(f, fullgraph=True), np.ones(3)
    for key in ("a", "bb", "a", "bb"):
        assert compiled(x, key)[0] == len(key) + 1
    count = len(compiled._report()["entries"])
    assert count == 4  # the first time and later, for each
    cache["other"] = cache["a"]
    cache["bb"] = np.full(3, 7.0)
    assert compiled(x, "a")[0] == 2 and compiled(x, "bb")[0] == 8
    assert len(compiled._report()["entries"]) == count
    del cache["a"]
    assert compiled(x, "a")[0] == 2 and "a" in cache and len(compiled._report()["entries"]) == count


def test_versions_that_fill_a_cache_make_room():
    cache = {}

    def f(x, key):
        if key not in cache:
            cache[key] = x * 2
        return cache[key] + 1

    compiled, x = frameloom.compile(f, fullgraph=True), np.ones(3)
    for _ in range(3):
        for key in "abcdefg":
            assert compiled(x, key)[0] == 3
    assert len(compiled._report()["entries"]) == 8
    for i in range(40):
        frameloom.compile(f)(x, str(i))
    assert len(cache) == 47


def test_what_is_asked_of_a_dictionary_is_guarded():
    table = {"a": 1.0, (2, "b"): 2.0, int: 3.0}

    def present(x):
        return x + ("a" in table)

    def size(x):
        return x + len(table)

    def keys(x):
        return x + sum(1 for key in table if isinstance(key, tuple)), list(table)

    x = np.zeros(2)
    for f in (present, size, keys):
        compiled = frameloom.compile(f, fullgraph=True)
        before = dict(table)
        for change in (lambda: table.update(a=5.0), lambda: table.pop("a"), lambda: table.update(z=1), lambda: table.pop((2, "b")),
                       lambda: table.update({(2, "b"): 0}), table.clear):
            got, want = compiled(x), f(x)
            assert str(got) == str(want)
            change()
            assert str(compiled(x)) == str(f(x))
        table.update(before)


class Deeper(dict):
    def __len__(self):
        raise RuntimeError("never asked")


def test_guards_ask_nothing_of_classes_over_dict():
    d = Deeper(a=1)

    def f(x, d):
        return x + dict.__len__(d) + sum(1 for _ in d)

    compiled = frameloom.compile(f)
    assert compiled(np.zeros(2), d)[0] == 2
    d["b"] = 2
    assert compiled(np.zeros(2), d)[0] == 4


def test_ordered_dictionaries_are_guarded_in_their_order():
    d = collections.OrderedDict(a=1, b=2)

    def f(x, d):
        return x, list(d), next(iter(d.items()))

    compiled = frameloom.compile(f, fullgraph=True)
    for _ in range(3):
        assert compiled(np.zeros(2), d)[1:] == f(np.zeros(2), d)[1:]
        d.move_to_end(next(iter(d)))


def test_builtins_are_those_of_the_function():
    """A function has the builtins that its globals named when it was made, whatever they name later."""
    import builtins as real

    def other(**changes):
        return {**vars(real), **changes}

    space = {"__builtins__": other(abs=lambda x: x * 10), "frameloom": frameloom}
    exec("def f(x): return abs(x) + len(x)\ndef broken(x):\n    y = abs(x)\n    frameloom.graph_break()\n    return abs(y) + len(x)\n"
         "def missing(x):\n    try:\n        return nothing\n    except NameError:\n        return x", space)
    for name in ("f", "broken", "missing"):
        function = space[name]
        compiled = frameloom.compile(function, backend="interpret")
        for change in (None, other(abs=lambda x: x * 100), real, other(len=lambda x: 7), other(nothing=5), None):
            if change is not None:
                space["__builtins__"] = change
            for _ in range(3):
                np.testing.assert_array_equal(compiled(X), function(X))
    space["__builtins__"] = other(abs=lambda x: x * 10)
    space["abs"] = lambda x: x * 3
    np.testing.assert_array_equal(compiled(X), space["missing"](X))
    caller = frameloom.compile(lambda x: space["f"](x) + 1, backend="interpret")
    for value in (lambda x: x * 4, None, lambda x: x * 5):
        if value:
            space["abs"] = value
        else:
            del space["abs"]
        np.testing.assert_array_equal(caller(X), space["f"](X) + 1)


def overriding(kind):
    def array_ufunc(self, ufunc, method, *arguments, **options):
        return "ufunc", ufunc.__name__, method

    def array_function(self, function, types, arguments, options):
        return "function", function.__name__

    return {"none": None, "priority": 1000.0, "ufunc": array_ufunc, "function": array_function,
            "array": lambda self, dtype=None, copy=None: np.ones(4)}[kind]


OPERATIONS = [lambda x, w: x + w, lambda x, w: w + x, lambda x, w: np.add(x, w), lambda x, w: x < w, lambda x, w: np.concatenate([x, w]),
              lambda x, w: np.where(x > 1, x, w), lambda x, w: (x + 1) + type(w)(3.0), lambda x, w: x + w.v, lambda x, w: x[0] + w,
              lambda x, w: np.float64(2) + w, lambda x, w: np.sum(w), lambda x, w: x.sum() + w]


@pytest.mark.parametrize("name, kind", [("__array_ufunc__", "none"), ("__array_ufunc__", "ufunc"), ("__array_priority__", "priority"),
                                        ("__array_function__", "function"), ("__array__", "array")])
def test_what_numpy_asks_objects_for_may_come_and_go(name, kind):
    """On the class, then on the object alone, then nowhere: each time the answer is plain Python's."""
    def outcome(function, *arguments):
        try:
            return repr(function(*arguments))
        except Exception as error:
            return type(error).__name__

    for operation in OPERATIONS:
        class W:
            def __init__(self, v=2.0):
                self.v = v

            def __radd__(self, other):
                return "radd", self.v, np.shape(other)

            def __add__(self, other):
                return "add", self.v

            def __gt__(self, other):
                return "gt"

        w, compiled = W(), frameloom.compile(operation, backend="interpret")
        for stage in range(4):
            if stage == 1:
                setattr(W, name, overriding(kind))
            elif stage == 2:
                delattr(W, name)
                setattr(w, name, overriding(kind))
            elif stage == 3:
                delattr(w, name)
            for _ in range(2):
                assert outcome(compiled, X, w) == outcome(operation, X, w), (stage, OPERATIONS.index(operation))


def test_a_builtin_that_is_exchanged_within_the_call():
    def f(x, change):
        before = abs(x)
        change()
        return before + abs(x)

    def change():
        builtins.abs = lambda x: x * 10

    compiled, real = frameloom.compile(f, backend="interpret"), builtins.abs
    try:
        for _ in range(3):
            builtins.abs = real
            got = compiled(X, change)
            builtins.abs = real
            np.testing.assert_array_equal(got, f(X, change))
    finally:
        builtins.abs = real


def test_what_is_deleted_is_guarded_to_be_there():
    def f(x, o):
        o.a = x + 1
        del o.a
        return x

    def g(x, o):
        vars(o)["a"] = x + 1
        del vars(o)["a"]
        return x

    for function in (f, g):
        compiled, first, second = frameloom.compile(function, fullgraph=True), types.SimpleNamespace(a=1, b=2), types.SimpleNamespace(b=2)
        for o in (first, second, first):
            assert compiled(np.ones(2), o)[0] == 1 and vars(o) == {"b": 2}


def holders():
    """How a list is reached, in an item of which nobody asks for it, as an error comes first: an object, the source, and what deletes the name."""
    module, table, several, thing, kind = types.ModuleType("module"), {"a": [1]}, [0, [1]], types.SimpleNamespace(data=[1]), type("Kind", (), {"data": [1]})
    module.data = [1]
    yield thing, "o.data", lambda: delattr(thing, "data")
    yield kind(), "o.data", lambda: delattr(kind, "data")
    yield module, "o.data", lambda: delattr(module, "data")
    yield table, "o['a']", table.clear
    yield several, "o[1]", several.clear
    yield None, "GLOBAL", lambda: NAMES.pop("GLOBAL")
    yield None, "cell", lambda: NAMES["empty"]()


NAMES = {}


@pytest.mark.parametrize("case", range(7))
def test_a_name_whose_value_nobody_reads_has_to_exist(case):
    o, source, delete = list(holders())[case]
    NAMES.update(GLOBAL=[1], __builtins__=builtins)
    exec("def make():\n"
         "    cell = [1]\n"
         "    def program(o):\n"
         "        try:\n"
         f"            {source}[sorted(1)] = 3\n"
         "        except Exception as error:\n"
         "            return type(error), cell if o is program else 0\n"
         "    def empty():\n"
         "        nonlocal cell\n"
         "        del cell\n"
         "    return program, empty\n"
         "program, empty = make()\n", NAMES)
    program, compiled = NAMES["program"], frameloom.compile(NAMES["program"])
    for _ in range(3):
        assert compiled(o) == program(o) == (TypeError, 0)
    delete()
    assert program(o)[0] in (AttributeError, NameError, KeyError, IndexError)
    assert compiled(o) == program(o)
