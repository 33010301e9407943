"""Versions keep nothing alive that the user could drop: when what they guard dies, so do they."""

import dataclasses
import enum
import functools
import gc
import types
import weakref

import numpy as np
import pytest
from processes import printed

import frameloom

X = np.arange(4.0)


def plain_class():
    class A:
        k = 3.0

        def __init__(self, v):
            self.v = v

        def scaled(self, x):
            return x * self.v + self.k

    return A


def inheriting_class():
    class Base:
        def scaled(self, x):
            return x * 2

    class A(Base):
        def __init__(self, v):
            self.v = v

        def scaled(self, x):
            return super().scaled(x) + self.v

    return A


def class_with_descriptors():
    class A:
        __slots__ = ("v", "__weakref__")

        def __init__(self, v):
            self.v = v

        @property
        def twice(self):
            return self.v * 2

        @staticmethod
        def add(a, b):
            return a + b

        @classmethod
        def name_length(cls):
            return len(cls.__name__)

        def scaled(self, x):
            return self.add(x, self.twice) + self.name_length()

    return A


def data_class():
    @dataclasses.dataclass
    class A:
        v: float

        def scaled(self, x):
            return x + dataclasses.replace(self, v=2.0).v

    return A


def class_with_a_metaclass():
    class Meta(type):
        @property
        def size(cls):
            return 4.0

    class A(metaclass=Meta):
        def __init__(self, v):
            self.v = v

        def scaled(self, x):
            return x + self.v

        def __eq__(self, other):
            return self is other

        def __hash__(self):
            return 1

        def __len__(self):
            return 2

    return A


def class_with_cached_property():
    class A:
        def __init__(self, v):
            self.v = v

        @functools.cached_property
        def three(self):
            return 3.0

        def scaled(self, x):
            return x + self.v + len(A.__mro__)

    return A


CLASSES = [plain_class, inheriting_class, class_with_descriptors, data_class, class_with_a_metaclass, class_with_cached_property]


def versions(compiled):
    return len(compiled._report()["entries"])


def uses_an_instance(x, a):
    return a.scaled(x) + 1


def makes_an_instance(x, a):
    return type(a)(2.0).scaled(x)


def gives_an_instance(x, a):
    return type(a)(2.0), x + 1


def breaks_with_an_instance(x, a):
    y = a.scaled(x)
    frameloom.graph_break()
    return a.scaled(y)


def changes_an_instance(x, a):
    a.v = 4.0
    return a.scaled(x)


USES = [uses_an_instance, makes_an_instance, gives_an_instance, breaks_with_an_instance, changes_an_instance]


def dies(make, use, backend="interpret", rounds=6):
    """`use` of what `make` gives, time and again, below the limit: each is collected, and so are the versions for it."""
    with frameloom.config.patch(recompile_limit=100):
        return dies_below_the_limit(make, use, backend, rounds)


def dies_below_the_limit(make, use, backend, rounds):
    compiled, counts = frameloom.compile(use, backend=backend), []
    for _ in range(rounds):
        thing = make()
        argument = thing(1.5) if isinstance(thing, type) else thing
        for _ in range(2):
            want, got = use(X.copy(), argument), compiled(X.copy(), argument)
            if not isinstance(want, tuple):
                np.testing.assert_array_equal(want, got)
        counts.append(versions(compiled))
        dead = weakref.ref(thing)
        del thing, argument, want, got
        gc.collect()
        assert dead() is None, [type(o) for o in gc.get_referrers(dead())]
        for _ in range(2):  # pending calls are made between instructions
            pass
    assert counts[-1] == counts[1] and compiled._report()["captures"] > 0
    return compiled


@pytest.mark.parametrize("use", USES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("make", CLASSES, ids=lambda f: f.__name__)
def test_classes_die(make, use):
    dies(make, use)


def test_functions_die():
    def make():
        k = np.float64(2.0)

        def inner(x):
            return x * k

        return inner

    dies(make, lambda x, f: f(x) + 1)
    dies(lambda: eval("lambda x, k=2.0: x * k"), lambda x, f: f(x) + 1)
    dies(lambda: functools.partial(eval("lambda x, k: x * k"), k=3.0), lambda x, f: f(x) + 1)


def make_module():
    module = types.ModuleType("made")
    exec("k = 2.0\ndef scaled(x):\n    return x * k\nclass A:\n    def scaled(self, x):\n        return scaled(x)\n", module.__dict__)
    return module


def test_modules_die():
    dies(make_module, lambda x, m: m.scaled(x) + m.k)
    dies(make_module, lambda x, m: m.A().scaled(x))
    dies(make_module, lambda x, m: (m.scaled(x), frameloom.graph_break(), m.scaled(x))[2])


def test_globals_that_are_exchanged_die():
    space = {"np": np}
    exec("def f(x): return helper(x) + box.v", space)

    class Box:
        v = 1.0

    def step(k):
        exec(f"def helper(x): return x * {k}", space)
        space["box"] = type("Box", (), {"v": float(k)})()
        return weakref.ref(space["helper"]), weakref.ref(type(space["box"]))

    compiled = frameloom.compile(space["f"], backend="interpret")
    before = ()
    for k in range(6):
        now = step(k)
        gc.collect()
        assert all(dead() is None for dead in before)
        before = now
        np.testing.assert_array_equal(compiled(X), X * k + k)
    for _ in range(2):
        pass
    assert versions(compiled) == 1


def test_enumerations_die():
    def make():
        return enum.Enum("Colour", {"RED": 1, "BLUE": 2})

    compiled = frameloom.compile(lambda x, c: x + (1 if c is type(c).RED else c.value), backend="interpret")
    for _ in range(4):
        colour = make()
        assert compiled(X, colour.RED)[0] == 1 and compiled(X, colour.BLUE)[0] == 2
        dead = weakref.ref(colour)
        del colour
        gc.collect()
        assert dead() is None


def test_what_is_made_anew_for_each_call_is_not_compiled_for_ever():
    """Versions that die unused count towards the limit; those that were used do not."""
    compiled = frameloom.compile(lambda x, f: f(x), backend="interpret")
    with pytest.warns(RuntimeWarning, match="recompile_limit"):
        for k in range(20):
            compiled(X, eval(f"lambda x: x * {k}"))
    assert compiled._report()["captures"] <= 9
    compiled = frameloom.compile(lambda x, f: f(x), backend="interpret")
    for k in range(20):
        function = eval(f"lambda x: x * {k}")
        for _ in range(10):
            np.testing.assert_array_equal(compiled(X, function), X * k)
        del function
    assert compiled._report()["captures"] == 20 and versions(compiled) <= 1


def test_the_same_address_is_no_mistake():
    """What is made anew often comes to lie where the last one was: it is looked at again."""
    compiled = frameloom.compile(lambda x, f: f(x), backend="interpret")
    with frameloom.config.patch(recompile_limit=100):
        for k in range(40):
            function = eval(f"lambda x: x * {k}")
            np.testing.assert_array_equal(compiled(X, function), X * k)
            del function
    for k in range(40):
        cls = type("A", (), {"scaled": eval(f"lambda self, x: x * {k}")})
        np.testing.assert_array_equal(frameloom.compile(uses_an_instance)(X, cls()), X * k + 1)
        del cls


def test_attributes_that_are_exchanged_for_others_at_their_address():
    class A:
        pass

    compiled = frameloom.compile(lambda x, a: x * a.p + a.s(), backend="interpret")
    a = A()
    for k in range(30):
        A.p = property(eval(f"lambda self: {k}.0"))
        A.s = staticmethod(eval(f"lambda: {k}.0"))
        np.testing.assert_array_equal(compiled(X, a), X * k + k)
        del A.p, A.s


def test_bases_that_are_exchanged():
    made = [type(f"B{k}", (), {"v": float(k)}) for k in range(4)]

    class A(made[0]):
        pass

    compiled = frameloom.compile(lambda x, a: x + a.v, backend="interpret")
    a = A()
    for k in [0, 1, 2, 3, 1, 0, 2]:
        A.__bases__ = (made[k],)
        np.testing.assert_array_equal(compiled(X, a), X + k)


def test_a_class_that_dies_while_its_version_runs():
    """Another thread or a finalizer may drop it: what the result needs is there to the end."""
    space = {}
    exec("class A:\n    def __init__(self, v): self.v = v\n", space)

    def f(x):
        y = sort(x)
        return space["A"](y), y

    def sort(x):
        return drops(x) * 2

    @frameloom.custom_op("life::drops")
    def drops(x):
        if dropping:
            space.pop("A", None)
            gc.collect()
        return x + 1

    dropping = False
    compiled = frameloom.compile(f, backend="loom")
    for _ in range(3):
        compiled(X)
    dropping = True
    try:
        plain = compiled(X)[1]
        np.testing.assert_array_equal(plain, (X + 1) * 2)
    except KeyError:
        pass  # Python's own order: the class is looked up behind the call


def test_a_class_made_inside_does_not_end_the_version():
    class Base:
        def f(self):
            return 1.0

    @frameloom.compile
    def function(x):
        class Inside(Base):
            tag = "t"

            def g(self):
                return self.f() + len(self.tag)

        return x * Inside().g()

    for _ in range(3):
        np.testing.assert_array_equal(function(np.ones(2)), [2.0, 2.0])
        gc.collect()
    assert function._report()["captures"] == 1
    Base.f = lambda self: 4.0
    np.testing.assert_array_equal(function(np.ones(2)), [5.0, 5.0])


KEPT_REFERENCES = """
import gc, weakref
import numpy as np, frameloom
x = np.arange(8.0)
for i in range(20):
    scope = {}
    exec("def f(x, h): return h(x) + 1\\ndef h(x): return x * 2", scope)
    compiled, helper = frameloom.compile(scope.pop("f")), scope.pop("h")
    for _ in range(2):
        assert (compiled(x, helper) == x * 2 + 1).all()
    held = weakref.getweakrefs(helper) + weakref.getweakrefs(helper.__code__)
    assert held
    del compiled
    gc.collect()
    more = [bytes(700) for _ in range(50)]
    del helper  # whoever holds a weak reference hears of it, long after the version
    assert all(r() is None for r in held)
print("good")
"""

A_DYING_KEY = """
import weakref
import numpy as np, frameloom
x = np.arange(8.0)
table = weakref.WeakKeyDictionary()
for i in range(30):
    scope = {}
    exec("def f(x, h): return h(x) + 1\\ndef h(x): return x * 2", scope)
    compiled = frameloom.compile(scope.pop("f"))
    table[compiled] = scope.pop("h")
    for _ in range(2):
        assert (compiled(x, table[compiled]) == x * 2 + 1).all()
    del compiled  # the table drops what the version guards, while the callable is going
    more = [np.arange(8.0) + i for _ in range(5)]
assert len(table) == 0
print("good")
"""


@pytest.mark.parametrize("program", [KEPT_REFERENCES, A_DYING_KEY], ids=["kept-references", "a-dying-key"])
def test_what_dies_after_the_callable(program):
    """Freed memory is filled with something that is no pointer."""
    assert printed(program, environment={"MALLOC_PERTURB_": "165"}) == "good\n"


def test_a_class_made_inside_is_listed_once():
    """What capture makes of a class is not among the subclasses of its base."""

    class Base:
        pass

    @frameloom.compile
    def function(x):
        class Inside(Base):
            pass

        names = [cls.__name__ for cls in Base.__subclasses__()]
        del Inside
        gc.collect()
        return x + 1, names, Base.__subclasses__()

    for _ in range(3):
        assert function(1) == (2, ["Inside"], [])


def test_a_cached_function_made_inside_dies():
    def program(x):
        @functools.lru_cache
        def double(y):
            return 2 * y

        reference, result = weakref.ref(double), double(x)
        del double
        gc.collect()
        return result, reference()

    compiled = frameloom.compile(program)
    for _ in range(4):
        assert compiled(2) == program(2) == (4, None)


def closed_at_the_end(log):
    try:
        yield 1
    finally:
        log.append("closed")


HELD = {
    "behind a handler": """
    try:
        missing
    except NameError as error:
        held = closed_at_the_end(log)
        next(held)
    log.append("end")
""",
    "behind a break in a handler": """
    try:
        missing
    except NameError as error:
        held = closed_at_the_end(log)
        next(held)
        id(held)
    log.append("end")
""",
    "behind a cycle": """
    held = closed_at_the_end(log)
    next(held)
    try:
        raise ValueError("kept by its frame")
    except ValueError as error:
        id(held)
        kept = error
    log.append("end")
    del kept
""",
}


@pytest.mark.parametrize("backend", ["loom", "interpret"])
@pytest.mark.parametrize("body", HELD.values(), ids=HELD)
def test_what_a_function_held_dies_when_it_returns(body, backend):
    """No frame that a traceback has keeps what an exception's handler had for a while: nobody waits for the collector."""
    space = {"closed_at_the_end": closed_at_the_end}
    exec(f"def function(log):{body}", space)
    compiled = frameloom.compile(space["function"], backend=backend)
    gc.collect()
    gc.disable()
    try:
        for _ in range(4):
            log = []
            compiled(log)
            assert log == ["end", "closed"]
    finally:
        gc.enable()


def exchange_code(fn):
    fn.__wrapped__.__code__ = (lambda a: a * 3 + 1).__code__
    fn(np.zeros(2))


FORGETTING = {"its_own_reset": lambda fn: fn._reset(), "the_reset_of_all": lambda fn: frameloom.reset(), "another_code": exchange_code}


@pytest.mark.parametrize("how", FORGETTING)
def test_what_is_run_when_versions_are_freed_may_call_the_function(how):
    """The last reference to an object of the user's may be that of a version: its finalizer finds the function anew."""
    seen = []

    class Calls:
        def __del__(self):
            seen.append(compiled(np.arange(3.0)))

    def backend(graph, inputs):
        held = Calls()
        return lambda *args: (held, graph(*args))[1]

    def f(a):
        b = a * 3
        frameloom.graph_break()
        return b + 1

    compiled = frameloom.compile(f, backend=backend)
    for count in (3, 5):  # with the parts behind the break: several versions
        np.testing.assert_array_equal(compiled(np.arange(float(count))), np.arange(float(count)) * 3 + 1)
    FORGETTING[how](compiled)
    assert len(seen) >= 4
    for result in (*seen, compiled(np.arange(3.0))):
        np.testing.assert_array_equal(result, np.arange(3.0) * 3 + 1)
    Calls.__del__ = lambda self: None
