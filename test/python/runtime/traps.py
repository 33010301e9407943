"""What a compiled function may be wrong about when something changes between two calls, for test_traps.py.

Each trap gives a function, its arguments and a change: after it, the compiled function has to answer as the plain one does.
"""

import abc
import collections
import enum
import functools
import math
import operator
import sys
import types

import numpy as np

TRAPS = []


def trap(make):
    TRAPS.append(make)
    return make


def x():
    return np.arange(1.0, 7.0)


# ---- arrays ---------------------------------------------------------------------------------------------------------


def array_trap(name, function, before, after):
    """One argument, that is another array at the second call."""

    def make():
        box = [before()]

        def change():
            box[0] = after()

        return function, lambda: [box[0]], change

    make.__name__ = name
    return trap(make)


def describe(a):
    b = a * 2 + 1
    return b, b.shape, b.dtype.name, a.ndim, b.strides


array_trap("shape", describe, x, lambda: np.arange(9.0))
array_trap("rank", describe, x, lambda: np.ones((2, 3)))
array_trap("dtype", describe, x, lambda: np.arange(1, 7, dtype=np.float32))
array_trap("integers", describe, x, lambda: np.arange(1, 7))
array_trap("byte_order", describe, x, lambda: np.arange(1.0, 7.0).astype(">f8"))
array_trap("strides", describe, x, lambda: np.arange(12.0)[::2])
array_trap("reversed", describe, x, lambda: np.arange(6.0)[::-1])
array_trap("order", describe, lambda: np.ones((3, 4)), lambda: np.ones((3, 4), order="F"))
array_trap("broadcast", describe, lambda: np.ones((3, 4)), lambda: np.broadcast_to(np.ones(4), (3, 4)))
array_trap("empty", describe, x, lambda: np.zeros(0))
array_trap("one_element", describe, x, lambda: np.ones(1))
array_trap("no_dimension", describe, x, lambda: np.float64(3.0) * np.ones(()))
array_trap("scalar", lambda a: (a * 2, type(a)), lambda: np.ones(()), lambda: np.float64(1.0))
array_trap("python_float", lambda a: (a * 2, type(a * 2)), lambda: np.float64(1.0), lambda: 1.0)
array_trap("misaligned", describe, x, lambda: np.frombuffer(b"\0" + np.arange(6.0).tobytes(), np.uint8)[1:].view(np.float64))
array_trap("subclass", lambda a: a * 2, x, lambda: np.ma.masked_array(np.arange(6.0), [0, 1, 0, 0, 0, 0]))
array_trap("matrix", lambda a: a * a, lambda: np.ones((2, 2)), lambda: np.asmatrix(np.full((2, 2), 2.0)))
array_trap("objects", lambda a: a + a, x, lambda: np.array([1, "a"], object)[:1])
array_trap("strings", lambda a: a.dtype.kind, x, lambda: np.array(["a"]))
array_trap("structured", lambda a: a.dtype.names, x, lambda: np.zeros(2, [("u", float)]))


@trap
def read_only():
    a = x()

    def function(a):
        a[0] = 5.0
        return a * 2

    return function, lambda: [a], lambda: a.setflags(write=False)


@trap
def alias_between_arguments():
    a, pair = x(), [x(), x()]

    def function(u, v):
        u[1:] += 1
        return v * 2

    def change():
        pair[:] = [a, a[::-1]]

    return function, lambda: [p if p.base is not None or p is a else p.copy() for p in pair], change


@trap
def same_argument_twice():
    one, pair = x(), [x(), x()]

    def function(u, v):
        return u is v, [u] == [v] if u is v else None, u + v

    def change():
        pair[:] = [one, one]

    return function, lambda: pair, change


@trap
def shape_of_one_array_changed_in_place():
    a = np.arange(6.0)

    def change():
        a.shape = (2, 3)

    return describe, lambda: [a], change


@trap
def dtype_of_one_array_changed_in_place():
    a = np.arange(6.0)

    def change():
        a.dtype = np.int64

    return describe, lambda: [a], change


@trap
def global_array_replaced():
    space = {"w": np.full(6, 2.0)}
    exec("def function(a): return a * w", space)
    return space["function"], lambda: [x()], lambda: space.update(w=np.full(6, 7.0, np.float32))


@trap
def global_array_written():
    space = {"w": np.full(6, 2.0)}
    exec("def function(a): return a * w", space)
    return space["function"], lambda: [x()], lambda: space["w"].fill(9.0)


@trap
def errstate():
    def function(a):
        return 1 / (a - 1)

    outer = np.errstate(divide="ignore")
    outer.__enter__()
    return function, lambda: [x()], lambda: np.seterr(divide="raise"), lambda: outer.__exit__()


@trap
def bufsize_and_print_options_do_not_matter():
    old = np.getbufsize()
    return describe, lambda: [x()], lambda: np.setbufsize(64 * 16), lambda: np.setbufsize(old)


# ---- numbers --------------------------------------------------------------------------------------------------------


def value_trap(name, function, *values):
    def make():
        rest = list(values)

        def change():
            rest.pop(0)

        return function, lambda: [x(), rest[0]], change, None, len(values) - 1

    make.__name__ = name
    return trap(make)


def times(a, k):
    return a * k, type(a * k), (a * k).dtype.name, k, type(k)


value_trap("equal_numbers", times, 1, 1.0, True, np.float64(1), np.float32(1), np.int64(1), 1 + 0j, np.bool_(True), 1)
value_trap("zeros", lambda a, k: (a / 1 * k, math.copysign(1, k), math.atan2(k, -1.0)), 0.0, -0.0, 0.0)
value_trap("branch_on_number", lambda a, k: a + 1 if k > 2 else a - 1, 1, 3, 2, 2.5, 1)
value_trap("nan", lambda a, k: (a * k, k == k, k != k, k in [k], [k] == [k]), 1.0, math.nan, 2.0)
value_trap("infinity", times, 1.0, math.inf, -math.inf)
value_trap("large_ints", lambda a, k: (k, k + 1, k * 2, -k, k % 7), 5, 2**62, 2**63 - 1, -(2**63), -(2**63) + 5, 2**64, 10**30)
value_trap("small_ints", lambda a, k: a[:k], 3, 2, 1, 0, -1, -7, 10)
value_trap("none", lambda a, k: a if k is None else a * k, 2.0, None, 3.0)
value_trap("strings_as_arguments", lambda a, k: (k.upper(), len(k), a * len(k)), "ab", "cd", "abc", "")
value_trap("bytes_and_strings", lambda a, k: (k, type(k), len(k)), "ab", b"ab")
value_trap("int_subclass", times, 2, enum.IntEnum("Kind", "ONE TWO").TWO, 2)
value_trap("tuples", lambda a, k: (k[0] * a, len(k)), (1.0, 2), (1, 2), (1.0, 2, 3), [1.0, 2])
value_trap("types_as_arguments", lambda a, k: (k(a.sum()), k), int, float, str, np.float32)
value_trap("ranges", lambda a, k: [a[i] for i in k], range(3), range(0, 6, 2), range(0))
value_trap("slices", lambda a, k: a[k], slice(1, 3), slice(None, None, -1), slice(1, 4))
value_trap("dtypes", lambda a, k: a.astype(k), np.float32, np.dtype("i4"), "f4", float)
value_trap("frozensets", lambda a, k: (len(k), 1 in k, a * len(k)), frozenset({1}), frozenset({2}), frozenset({1, 2}))
value_trap("ellipsis", lambda a, k: a[k], ..., None, 0)
value_trap("functions_as_arguments", lambda a, k: k(a), np.sin, np.cos, abs, lambda a: a + 1, operator.neg)


@trap
def nan_objects():
    nan, box = float("nan"), []
    box[:] = [nan, nan]

    def change():
        box[1] = float("nan")

    return lambda u, v: ([u] == [v], u in [v], u is v, {u: 1} == {v: 1}, (u,) == (v,)), lambda: box, change


@trap
def nan_objects_that_become_one():
    box = [float("nan"), float("nan")]

    def change():
        box[1] = box[0]

    return lambda u, v: ([u] == [v], u in (v,), u is v, [v].count(u)), lambda: box, change


# ---- containers -----------------------------------------------------------------------------------------------------


def container_trap(name, function, make_object, change_object):
    def make():
        held = make_object()
        return function, lambda: [x(), held], lambda: change_object(held)

    make.__name__ = name
    return trap(make)


def total(a, many):
    for one in many:
        a = a * one
    return a, len(many)


container_trap("list_grows", total, lambda: [1.0, 2.0], lambda o: o.append(3.0))
container_trap("list_shrinks", total, lambda: [1.0, 2.0], lambda o: o.pop())
container_trap("list_item", total, lambda: [1.0, 2.0], lambda o: o.__setitem__(0, 5.0))
container_trap("list_order", lambda a, o: a * o[0] + o[1], lambda: [1.0, 2.0], lambda o: o.reverse())
container_trap("list_item_type", total, lambda: [1.0, 2.0], lambda o: o.__setitem__(0, np.float32(1)))
container_trap("list_in_list", lambda a, o: a * o[0][0], lambda: [[1.0]], lambda o: o[0].__setitem__(0, 4.0))
container_trap("dict_item", lambda a, o: a * o["k"], lambda: {"k": 2.0}, lambda o: o.update(k=3.0))
container_trap("dict_key_added", lambda a, o: (a * o.get("z", 1.0), len(o)), lambda: {"k": 2.0}, lambda o: o.update(z=3.0))
container_trap("dict_key_removed", lambda a, o: a * o.get("k", 1.0), lambda: {"k": 2.0}, lambda o: o.clear())
container_trap("dict_key_missing", lambda a, o: a * o["k"], lambda: {"k": 2.0}, lambda o: o.clear())
container_trap("dict_order", lambda a, o: [a * v for v in o.values()], lambda: {"k": 1.0, "z": 2.0},
               lambda o: o.update(k=o.pop("k")))
container_trap("dict_key_type", lambda a, o: list(o), lambda: {1: "a"}, lambda o: (o.clear(), o.update({True: "a"})))
container_trap("large_dict", lambda a, o: a * o[3], lambda: {i: float(i) for i in range(1000)}, lambda o: o.update({3: 7.0}))
container_trap("set_item", lambda a, o: (3 in o, len(o)), lambda: {1, 2}, lambda o: (o.discard(2), o.add(3)))
container_trap("deque", lambda a, o: (a * o[0], len(o)), lambda: collections.deque([1.0, 2.0]), lambda o: o.rotate())
container_trap("defaultdict", lambda a, o: a * o.get("k", 3.0), lambda: collections.defaultdict(float), lambda o: o["k"])
container_trap("ordered_dict", lambda a, o: list(o), lambda: collections.OrderedDict(a=1, b=2), lambda o: o.move_to_end("a"))
container_trap("counter", lambda a, o: o["a"], lambda: collections.Counter("aab"), lambda o: o.update("a"))
container_trap("namespace", lambda a, o: a * o.k, lambda: types.SimpleNamespace(k=2.0), lambda o: setattr(o, "k", 3.0))
container_trap("namespace_gone", lambda a, o: hasattr(o, "k"), lambda: types.SimpleNamespace(k=2.0), lambda o: delattr(o, "k"))
container_trap("mapping_proxy", lambda a, o: a * o[1]["k"], lambda: (lambda d: (d, types.MappingProxyType(d)))({"k": 2.0}),
               lambda o: o[0].update(k=5.0))
container_trap("partial", lambda a, o: o(a), lambda: functools.partial(np.multiply, 2.0), lambda o: o.__setstate__(
    (np.multiply, (3.0,), {}, None)))
container_trap("bytearray", lambda a, o: (len(o), o[0]), lambda: bytearray(b"ab"), lambda o: o.extend(b"c"))
container_trap("memory_view", lambda a, o: o[0], lambda: memoryview(bytearray(b"ab")), lambda o: o.__setitem__(0, 7))


# ---- names ----------------------------------------------------------------------------------------------------------


def space_trap(name, code, change, **names):
    def make():
        space = {"np": np, "math": math, **names}
        exec(code, space)
        return space["function"], lambda: [x()], lambda: change(space)

    make.__name__ = name
    return trap(make)


space_trap("global_number", "def function(a): return a * k", lambda s: s.update(k=3.0), k=2.0)
space_trap("global_equal_number", "def function(a): return (a.astype('f4') * k).dtype, type(k)", lambda s: s.update(k=np.float64(2)), k=2.0)
space_trap("global_gone", "def function(a): return a * k", lambda s: s.pop("k"), k=2.0)
space_trap("builtin_shadowed", "def function(a): return a * len(a)", lambda s: s.update(len=lambda a: 10))
space_trap("builtin_shown_again", "def function(a): return a * len(a)", lambda s: s.pop("len"), len=lambda a: 10)
space_trap("global_function", "def g(a): return a * 2\ndef function(a): return g(a)", lambda s: s.update(g=lambda a: a * 5))
space_trap("global_function_code", "def g(a): return a * 2\ndef function(a): return g(a)",
           lambda s: setattr(s["g"], "__code__", (lambda a: a * 5).__code__))
space_trap("function_code", "def function(a): return a * 2", lambda s: setattr(s["function"], "__code__", (lambda a: a * 5).__code__))
space_trap("function_default", "def g(a, k=2.0): return a * k\ndef function(a): return g(a)",
           lambda s: setattr(s["g"], "__defaults__", (3.0,)))
space_trap("function_default_gone", "def g(a, k=2.0): return a * k\ndef function(a): return g(a)",
           lambda s: setattr(s["g"], "__defaults__", None))
space_trap("function_kwdefault", "def g(a, *, k=2.0): return a * k\ndef function(a): return g(a)",
           lambda s: setattr(s["g"], "__kwdefaults__", {"k": 3.0}))
space_trap("function_kwdefault_edited", "def g(a, *, k=2.0): return a * k\ndef function(a): return g(a)",
           lambda s: s["g"].__kwdefaults__.update(k=3.0))
space_trap("own_default", "def function(a, k=2.0): return a * k", lambda s: setattr(s["function"], "__defaults__", (3.0,)))
space_trap("own_kwdefault", "def function(a, *, k=2.0): return a * k", lambda s: s["function"].__kwdefaults__.update(k=3.0))
space_trap("mutable_default", "def function(a, k=[2.0]): return a * k[0]", lambda s: s["function"].__defaults__[0].__setitem__(0, 3.0))
space_trap("function_name", "def g(a): return a\ndef function(a): return g.__name__, g.__qualname__, g.__doc__",
           lambda s: setattr(s["g"], "__name__", "h"))
space_trap("function_doc", "def g(a): return a\ndef function(a): return g.__doc__", lambda s: setattr(s["g"], "__doc__", "h"))
space_trap("function_attribute", "def g(a): return a\ng.k = 2.0\ndef function(a): return a * g.k", lambda s: setattr(s["g"], "k", 3.0))
space_trap("function_attribute_new", "def g(a): return a\ndef function(a): return hasattr(g, 'k')", lambda s: setattr(s["g"], "k", 3.0))
space_trap("function_annotation", "def g(a): return a\ndef function(a): return dict(g.__annotations__)",
           lambda s: s["g"].__annotations__.update(a=int))
space_trap("module_attribute", "def function(a): return a * m.k", lambda s: setattr(s["m"], "k", 3.0), m=types.ModuleType("m"))
TRAPS.pop()


@trap
def module_attribute():
    module = types.ModuleType("m")
    module.k = 2.0
    space = {"m": module}
    exec("def function(a): return a * m.k", space)
    return space["function"], lambda: [x()], lambda: setattr(module, "k", 3.0)


@trap
def module_function():
    module = types.ModuleType("m")
    module.f = lambda a: a * 2
    space = {"m": module}
    exec("def function(a): return m.f(a)", space)
    return space["function"], lambda: [x()], lambda: setattr(module, "f", np.negative)


@trap
def module_attribute_gone():
    module = types.ModuleType("m")
    module.k = 2.0
    space = {"m": module}
    exec("def function(a): return getattr(m, 'k', 9.0) * a", space)
    return space["function"], lambda: [x()], lambda: delattr(module, "k")


@trap
def module_getattr():
    module = types.ModuleType("m")
    module.__getattr__ = lambda name: 2.0
    space = {"m": module}
    exec("def function(a): return m.k * a", space)
    return space["function"], lambda: [x()], lambda: setattr(module, "__getattr__", lambda name: 4.0)


@trap
def library_function_replaced():
    old = np.sin

    def change():
        np.sin = np.cos

    def restore():
        np.sin = old

    return lambda a: np.sin(a), lambda: [x()], change, restore


@trap
def builtin_replaced():
    import builtins

    old = builtins.abs

    def change():
        builtins.abs = lambda a: a + 100

    def restore():
        builtins.abs = old

    return lambda a: abs(a), lambda: [x()], change, restore


@trap
def closure_cell():
    k = 2.0

    def function(a):
        return a * k

    def change():
        nonlocal k
        k = 3.0

    return function, lambda: [x()], change


@trap
def closure_cell_emptied():
    k = 2.0

    def function(a):
        return a * k

    def change():
        nonlocal k
        del k

    return function, lambda: [x()], change


@trap
def closure_of_a_callee():
    k = 2.0

    def inner(a):
        return a * k

    def function(a):
        return inner(a)

    def change():
        nonlocal k
        k = np.float32(2.0)

    return function, lambda: [x().astype(np.float32)], change


@trap
def modules_in_sys():
    name = "frameloom_trap_module"
    module, other = types.ModuleType(name), types.ModuleType(name)
    module.k, other.k = 2.0, 3.0
    sys.modules[name] = module

    def function(a):
        import frameloom_trap_module

        return a * frameloom_trap_module.k

    def change():
        sys.modules[name] = other

    return function, lambda: [x()], change, lambda: sys.modules.pop(name)


# ---- classes and objects --------------------------------------------------------------------------------------------


def class_trap(name, function, change, body):
    def make():
        space = {"np": np, "abc": abc, "functools": functools}
        exec(body, space)
        held = space["C"]()
        return function, lambda: [x(), held], lambda: change(held, space)

    make.__name__ = name
    return trap(make)


PLAIN = "class C:\n    k = 2.0\n    def f(self, a): return a * self.k\n"

class_trap("class_attribute", lambda a, o: a * o.k, lambda o, s: setattr(s["C"], "k", 3.0), PLAIN)
class_trap("attribute_before_the_class", lambda a, o: a * o.k, lambda o, s: setattr(o, "k", 3.0), PLAIN)
class_trap("attribute_equal", lambda a, o: type(o.k), lambda o, s: setattr(o, "k", 2), PLAIN)
class_trap("attribute_gone", lambda a, o: o.f(a), lambda o, s: delattr(s["C"], "k"), PLAIN)
class_trap("instance_attribute", lambda a, o: a * o.v, lambda o, s: setattr(o, "v", 9.0), "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("instance_attribute_gone", lambda a, o: hasattr(o, "v"), lambda o, s: delattr(o, "v"),
           "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("instance_dict_replaced", lambda a, o: a * o.v, lambda o, s: setattr(o, "__dict__", {"v": 7.0}),
           "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("instance_dict_updated", lambda a, o: a * o.v, lambda o, s: o.__dict__.update(v=7.0),
           "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("slot", lambda a, o: a * o.v, lambda o, s: setattr(o, "v", 9.0),
           "class C:\n __slots__ = ('v',)\n def __init__(self): self.v = 1.0\n")
class_trap("slot_emptied", lambda a, o: hasattr(o, "v"), lambda o, s: delattr(o, "v"),
           "class C:\n __slots__ = ('v',)\n def __init__(self): self.v = 1.0\n")
class_trap("method_replaced", lambda a, o: o.f(a), lambda o, s: setattr(s["C"], "f", lambda self, a: a * 7), PLAIN)
class_trap("method_of_the_instance", lambda a, o: o.f(a), lambda o, s: setattr(o, "f", lambda a: a * 7), PLAIN)
class_trap("method_code", lambda a, o: o.f(a), lambda o, s: setattr(s["C"].f, "__code__", (lambda self, a: a * 7).__code__), PLAIN)
class_trap("class_of_the_instance", lambda a, o: o.f(a), lambda o, s: setattr(o, "__class__", s["D"]),
           PLAIN + "class D:\n    def f(self, a): return a + 5\n")
class_trap("bases", lambda a, o: o.f(a), lambda o, s: setattr(s["C"], "__bases__", (s["B"],)),
           "class A:\n    def f(self, a): return a * 2\nclass B:\n    def f(self, a): return a * 3\nclass C(A): pass\n")
class_trap("bases_and_isinstance", lambda a, o: isinstance(o, MARK[0]), lambda o, s: setattr(s["C"], "__bases__", (s["B"],)),
           "class A: pass\nclass B: pass\nclass C(A): pass\n")
class_trap("bases_seen", lambda a, o: (type(o).__bases__, type(o).__mro__), lambda o, s: setattr(s["C"], "__bases__", (s["B"],)),
           "class A: pass\nclass B: pass\nclass C(A): pass\n")
class_trap("bases_and_super", lambda a, o: o.f(a), lambda o, s: setattr(s["C"], "__bases__", (s["B"],)),
           "class A:\n    def f(self, a): return a * 2\nclass B:\n    def f(self, a): return a * 3\n"
           "class C(A):\n    def f(self, a): return super().f(a)\n")
class_trap("base_attribute", lambda a, o: a * o.k, lambda o, s: setattr(s["A"], "k", 3.0), "class A:\n    k = 2.0\nclass C(A): pass\n")
class_trap("attribute_between", lambda a, o: a * o.k, lambda o, s: setattr(s["C"], "k", 3.0), "class A:\n    k = 2.0\nclass C(A): pass\n")
class_trap("property_added", lambda a, o: a * o.v, lambda o, s: setattr(s["C"], "v", property(lambda self: 5.0)),
           "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("property_replaced", lambda a, o: a * o.v, lambda o, s: setattr(s["C"], "v", property(lambda self: 5.0)),
           "class C:\n @property\n def v(self): return 2.0\n")
class_trap("getattr_added", lambda a, o: getattr(o, "w", 1.0) * a, lambda o, s: setattr(s["C"], "__getattr__", lambda self, n: 4.0), PLAIN)
class_trap("getattribute_added", lambda a, o: o.k * a,
           lambda o, s: setattr(s["C"], "__getattribute__", lambda self, n: 4.0), PLAIN)
class_trap("operator_added", lambda a, o: hasattr(o, "__add__") and (o + 1), lambda o, s: setattr(s["C"], "__add__", lambda self, n: 4.0), PLAIN)
class_trap("operator_replaced", lambda a, o: (o + 1) * a, lambda o, s: setattr(s["C"], "__add__", lambda self, n: 4.0),
           "class C:\n    def __add__(self, k): return 2.0\n")
class_trap("truth_added", lambda a, o: a if o else -a, lambda o, s: setattr(s["C"], "__bool__", lambda self: False), PLAIN)
class_trap("length_added", lambda a, o: a if o else -a, lambda o, s: setattr(s["C"], "__len__", lambda self: 0), PLAIN)
class_trap("equality_added", lambda a, o: o == 3, lambda o, s: setattr(s["C"], "__eq__", lambda self, other: True), PLAIN)
class_trap("equality_in_a_list", lambda a, o: 3 in [o], lambda o, s: setattr(s["C"], "__eq__", lambda self, other: True), PLAIN)
class_trap("hash_added", lambda a, o: {o: a}[o], lambda o, s: setattr(s["C"], "__hash__", None), PLAIN)
class_trap("call_replaced", lambda a, o: o(a), lambda o, s: setattr(s["C"], "__call__", lambda self, a: a + 9),
           "class C:\n    def __call__(self, a): return a * 2\n")
class_trap("iter_replaced", lambda a, o: [a * k for k in o], lambda o, s: setattr(s["C"], "__iter__", lambda self: iter([9.0])),
           "class C:\n    def __iter__(self): return iter([1.0, 2.0])\n")
class_trap("descriptor_added", lambda a, o: o.f(a), lambda o, s: setattr(s["C"], "f", staticmethod(lambda a: a * 9)), PLAIN)
class_trap("class_name", lambda a, o: type(o).__name__, lambda o, s: setattr(s["C"], "__name__", "D"), PLAIN)
class_trap("class_qualified_name", lambda a, o: f"{type(o)}", lambda o, s: setattr(s["C"], "__qualname__", "D"), PLAIN)
class_trap("class_module", lambda a, o: type(o).__module__, lambda o, s: setattr(s["C"], "__module__", "D"), PLAIN)
class_trap("class_doc", lambda a, o: type(o).__doc__, lambda o, s: setattr(s["C"], "__doc__", "D"), "class C:\n    'text'\n")
class_trap("class_dict", lambda a, o: "z" in type(o).__dict__, lambda o, s: setattr(s["C"], "z", 1), PLAIN)
class_trap("constructor", lambda a, o: type(o)().k * a, lambda o, s: setattr(s["C"], "__init__", lambda self: setattr(self, "k", 6.0)), PLAIN)
class_trap("new_replaced", lambda a, o: type(o)().k * a,
           lambda o, s: setattr(s["C"], "__new__", lambda cls: types.SimpleNamespace(k=6.0)), PLAIN)
class_trap("setattr_added", lambda a, o: type(o)().f(a),
           lambda o, s: setattr(s["C"], "__setattr__", lambda self, n, v: object.__setattr__(self, n, v * 2)),
           "class C:\n    def __init__(self): self.k = 1.0\n    def f(self, a): return a * self.k\n")
class_trap("abstract_registered", lambda a, o: isinstance(o, MARK[1]), lambda o, s: MARK[1].register(s["C"]), PLAIN)
class_trap("class_attribute_many_times", lambda a, o: a * o.k,
           lambda o, s: [setattr(s["C"], "k", float(i)) for i in range(1200)], PLAIN)
class_trap("class_without_a_version", lambda a, o: a * o.k, lambda o, s: setattr(s["C"], "k", 3.0),
           PLAIN + "for i in range(1200):\n    C.k = float(i)\n    C().k\n")
class_trap("method_of_a_class_without_a_version", lambda a, o: o.f(a), lambda o, s: setattr(s["C"], "f", lambda self, a: a * 7),
           PLAIN + "for i in range(1200):\n    C.k = float(i)\n    C().k\n")
WARM = ("class C:\n def __init__(self): self.u, self.v = 0.5, 1.0\n def put(self, v): self.v = v\n def get(self): return self.v\n"
        "for i in range(200):\n C().put(i)\n C().get()\n")  # stores and loads that go straight to where the values are
class_trap("instance_attribute_stored_inline", lambda a, o: a * o.v, lambda o, s: o.put(9.0), WARM)
class_trap("instance_attribute_stored_inline_seen_in_a_dict", lambda a, o: a * o.__dict__["v"], lambda o, s: o.put(9.0), WARM)
class_trap("instance_attribute_stored_inline_seen_by_vars", lambda a, o: sorted(vars(o).items()), lambda o, s: o.put(9.0), WARM)
class_trap("instance_attribute_taken_and_given", lambda a, o: (a * o.v, list(vars(o))), lambda o, s: (delattr(o, "u"), setattr(o, "u", 0.5)), WARM)
class_trap("instance_attributes_beyond_the_inline_ones", lambda a, o: a * o.v, lambda o, s: ([setattr(o, f"n{i}", i) for i in range(60)], o.put(7.0)), WARM)
class_trap("instance_globals", lambda a, o: o.function(a), lambda o, s: o.put(9.0),
           WARM + "def begin(self):\n self.u, self.v = 0.5, 2.0\n exec('def function(a): return a * v', vars(self))\nC.__init__ = begin\n")
class_trap("cached_property", lambda a, o: a * o.v, lambda o, s: o.__dict__.update(v=8.0),
           "class C:\n @functools.cached_property\n def v(self): return 2.0\n")
class_trap("lru_cache_cleared", lambda a, o: o.f(3), lambda o, s: (setattr(s["C"], "k", 5), s["C"].f.cache_clear()),
           "class C:\n k = 2\n @functools.lru_cache\n def f(self, n): return n * self.k\n")
class_trap("bound_method_argument", lambda a, o: o.m(a), lambda o, s: setattr(o, "k", 9.0),
           PLAIN + "    def __init__(self): self.m = self.f\n")
class_trap("object_replaced_by_equal", lambda a, o: o.v is o.w, lambda o, s: setattr(o, "v", s["D"]()),
           "class D:\n pass\nclass C:\n def __init__(self): self.v = self.w = D()\n")

DESCRIBED = ("class D:\n v = 2.0\n def __get__(self, o, t): return self.v\n{set}class C:\n k = D()\n"
             " def __init__(self): vars(self)['k'] = 5.0\n")
SET = " def __set__(self, o, v): vars(o)['z'] = v\n"


def put_and_get(a, o):
    o.k = 3.0
    return a * o.k, sorted(vars(o))


class_trap("descriptor_writes_no_more", lambda a, o: a * o.k, lambda o, s: delattr(s["D"], "__set__"), DESCRIBED.format(set=SET))
class_trap("descriptor_writes_now", lambda a, o: a * o.k, lambda o, s: setattr(s["D"], "__set__", lambda self, o, v: None), DESCRIBED.format(set=""))
class_trap("descriptor_deletes_now", lambda a, o: a * o.k, lambda o, s: setattr(s["D"], "__delete__", lambda self, o: None), DESCRIBED.format(set=""))
class_trap("descriptor_reads_no_more", lambda a, o: a * type(o).k, lambda o, s: (delattr(s["D"], "__get__"), setattr(s["C"], "k", 4.0)), DESCRIBED.format(set=""))
class_trap("descriptor_stored_to_writes_now", put_and_get, lambda o, s: setattr(s["D"], "__set__", lambda self, o, v: None), DESCRIBED.format(set=""))
class_trap("descriptor_stored_to_writes_no_more", put_and_get, lambda o, s: delattr(s["D"], "__set__"), DESCRIBED.format(set=SET))
class_trap("class_attribute_becomes_a_descriptor", lambda a, o: a * (o.k if isinstance(o.k, float) else 2),
           lambda o, s: setattr(s["D"], "__get__", lambda self, o, t: 7.0), "class D: pass\nclass C:\n k = D()\n")
class_trap("class_attribute_becomes_a_descriptor_of_the_class", lambda a, o: a * (type(o).k if isinstance(type(o).k, float) else 2),
           lambda o, s: setattr(s["D"], "__get__", lambda self, o, t: 7.0), "class D: pass\nclass C:\n k = D()\n")
class_trap("property_before_objects_that_are_made", lambda a, o: a * type(o)().v,
           lambda o, s: setattr(s["C"], "v", property(lambda self: 7.0, lambda self, v: None)), "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("property_before_objects_that_are_made_and_kept", lambda a, o: vars(type(o)()),
           lambda o, s: setattr(s["C"], "v", property(lambda self: 7.0, lambda self, v: None)), "class C:\n def __init__(self): self.v = 1.0\n")
class_trap("class_attribute_before_objects_that_are_made", lambda a, o: a * type(o)().v,
           lambda o, s: setattr(s["C"], "v", 7.0), "class C:\n def __init__(self): self.v = 1.0\n")

MARK = [None, None]


class Marked(abc.ABC):
    pass


MARK[1] = Marked


def metaclass_body(text):
    return f"class M(type):\n    {text}\nclass C(metaclass=M): pass\n"


class_trap("metaclass_attribute", lambda a, o: type(o).k * a, lambda o, s: setattr(s["M"], "k", 3.0), metaclass_body("k = 2.0"))
class_trap("metaclass_property", lambda a, o: type(o).k * a, lambda o, s: setattr(s["M"], "k", property(lambda cls: 4.0)),
           metaclass_body("k = property(lambda cls: 2.0)"))
class_trap("metaclass_hides", lambda a, o: type(o).k * a, lambda o, s: setattr(s["M"], "k", property(lambda cls: 4.0)),
           "class M(type): pass\nclass C(metaclass=M):\n    k = 2.0\n")
class_trap("metaclass_descriptor_writes_no_more", lambda a, o: type(o).k * a, lambda o, s: delattr(s["D"], "__set__"),
           "class D:\n def __get__(self, o, t): return 2.0\n def __set__(self, o, v): pass\n"
           "class M(type):\n k = D()\nclass C(metaclass=M): pass\n"
           "M.k, kept = 0, M.k\nC.k = 5.0\nM.k = kept\n")
class_trap("metaclass_descriptor_writes_now", lambda a, o: type(o).k * a, lambda o, s: setattr(s["D"], "__set__", lambda self, o, v: None),
           "class D:\n def __get__(self, o, t): return 2.0\n"
           "class M(type):\n k = D()\nclass C(metaclass=M):\n k = 5.0\n")
class_trap("metaclass_call", lambda a, o: type(o)().k, lambda o, s: setattr(s["M"], "__call__", lambda cls: types.SimpleNamespace(k=1)),
           "class M(type): pass\nclass C(metaclass=M):\n    k = 2.0\n")
class_trap("instance_check_added", lambda a, o: isinstance(o, MARK[0]), lambda o, s: setattr(s["M"], "__instancecheck__", lambda c, i: False),
           "class M(type): pass\nclass A(metaclass=M): pass\nclass C(A): pass\n")
