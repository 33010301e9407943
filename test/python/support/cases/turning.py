"""What a function depends on is changed between its calls: globals, classes, attributes, defaults, closures, arguments' insides."""

import collections
import dataclasses
import enum
import functools
import types

import numpy as np

from . import turned

scale, table, limits, names = 2.0, {"a": 1, "b": 2}, [1, 2, 3], ("x", "y")


class Model:
    gain = 2.0

    def __init__(self):
        self.bias, self.layers = 1.0, [1.0, 2.0]

    def forward(self, x):
        return x * self.gain + self.bias

    def __call__(self, x):
        return self.forward(x)

    @property
    def depth(self):
        return len(self.layers)

    @staticmethod
    def clip(x):
        return np.maximum(x, 0)

    @classmethod
    def named(cls):
        return cls.__name__


class Deeper(Model):
    pass


def other_forward(self, x):
    return x - self.bias


def put(object, **values):
    for name, value in values.items():
        setattr(object, name, value)


def drop(object, name):
    if name in vars(object):
        delattr(object, name)


model, deeper = Model(), Deeper()
FORWARD = Model.forward


def plainly():
    """As at the beginning."""
    put(Model, gain=2.0, forward=FORWARD, depth=property(lambda self: len(self.layers)))
    Model.clip = staticmethod(lambda x: np.maximum(x, 0))
    for name in ("forward", "gain", "__call__", "__getattr__", "__len__", "__bool__"):
        drop(Deeper, name)
    Deeper.__bases__ = (Model,)
    vars(model).clear()
    vars(deeper).clear()
    Model.__init__(model)
    Model.__init__(deeper)
    globals().update(scale=2.0, table={"a": 1, "b": 2}, limits=[1, 2, 3], names=("x", "y"))


@turned(plainly, lambda: globals().update(scale=3.0), lambda: globals().update(scale=3), lambda: globals().update(scale=np.float32(3)),
        lambda: globals().update(scale=True))
def a_global_number(x, y):
    return x * scale, type(scale)


@turned(plainly, lambda: table.update(a=5), lambda: table.pop("b"), lambda: table.update(b=7), lambda: table.clear())
def a_global_table(x, y):
    return x * table.get("a", 0.5), len(table), list(table), "b" in table


@turned(plainly, lambda: limits.append(4), lambda: limits.clear(), lambda: limits.extend([1.5, "s"]), lambda: limits.insert(0, 2))
def a_global_list(x, y):
    numbers = [n for n in limits if isinstance(n, (int, float))]
    return x + sum(numbers), numbers, limits[-1:] == []


@turned(plainly, lambda: setattr(Model, "gain", 5.0), lambda: setattr(model, "gain", 7), lambda: delattr(model, "gain"),
        lambda: setattr(Model, "gain", np.arange(1.0)))
def a_class_attribute(x, y):
    return model.forward(x), "gain" in vars(model)


@turned(plainly, lambda: setattr(Model, "forward", other_forward), lambda: setattr(model, "forward", lambda x: x * 9),
        lambda: delattr(model, "forward"), plainly)
def a_method(x, y):
    return model(x) + model.forward(y)


@turned(plainly, lambda: setattr(Deeper, "forward", other_forward), lambda: drop(Deeper, "forward"), lambda: setattr(deeper, "bias", 3),
        lambda: setattr(Deeper, "__call__", lambda self, x: x - 100))
def a_method_between(x, y):
    return deeper(x), deeper.named(), Deeper.named()


@turned(plainly, lambda: setattr(Model, "depth", 9), lambda: model.__dict__.update(depth=4),
        lambda: setattr(Model, "depth", property(lambda self: 1)), plainly)
def a_property_and_what_hides_it(x, y):
    return x * model.depth


@turned(plainly, lambda: setattr(Model, "clip", lambda x: x), lambda: setattr(Model, "clip", staticmethod(lambda x: x - 1)),
        lambda: setattr(Model, "clip", classmethod(lambda cls, x: (cls.__name__, x))), plainly)
def a_static_method(x, y):
    return Model.clip(x)


@turned(plainly, lambda: setattr(Deeper, "__getattr__", lambda self, name: len(name)), lambda: setattr(deeper, "missing", 2),
        lambda: drop(Deeper, "__getattr__"), plainly)
def a_fallback(x, y):
    return x + getattr(deeper, "missing", -1), hasattr(deeper, "missing")


@turned(plainly, lambda: setattr(Deeper, "__len__", lambda self: 0), lambda: setattr(Deeper, "__bool__", lambda self: True),
        lambda: drop(Deeper, "__bool__"), lambda: drop(Deeper, "__len__"))
def a_truth(x, y):
    return x + 1 if deeper else y - 1


@turned(plainly, lambda: setattr(deeper, "__class__", Model), lambda: setattr(deeper, "__class__", Deeper), plainly, plainly)
def a_class(x, y):
    return x + (2 if type(deeper) is Deeper else 3), isinstance(deeper, Deeper), deeper.named()


@turned(plainly, lambda: model.layers.append(3.0), lambda: setattr(model, "layers", (4.0,)), lambda: setattr(model, "layers", {2.0: 1}),
        lambda: setattr(model, "layers", np.ones(3)))
def an_attribute_of_another_type(x, y):
    total = x
    for weight in model.layers:
        total = total * 0.5 + weight
    return total, len(model.layers)


def helper(x, by=2.0, *, plus=1.0):
    return x * by + plus


HELPER = helper.__code__


def helper_plainly():
    helper.__defaults__, helper.__kwdefaults__, helper.__code__ = (2.0,), {"plus": 1.0}, HELPER


@turned(helper_plainly, lambda: setattr(helper, "__defaults__", (3.0,)), lambda: setattr(helper, "__kwdefaults__", {"plus": 5}),
        lambda: setattr(helper, "__code__", (lambda x, by=0, *, plus=0: x - by - plus).__code__),
        lambda: setattr(helper, "__defaults__", None))
def defaults_of_a_callee(x, y):
    try:
        return helper(x)
    except TypeError as e:
        return str(e), x + 1


def around(by):
    def inner(x):
        return x * by

    def change(value):
        nonlocal by
        by = value

    return inner, change


scaled, change_scaled = around(2.0)


@turned(lambda: change_scaled(2.0), lambda: change_scaled(3), lambda: change_scaled(np.ones(1)), lambda: change_scaled(None),
        lambda: change_scaled(2.0))
def a_cell_of_a_callee(x, y):
    try:
        return scaled(x)
    except TypeError:
        return x - 1


@dataclasses.dataclass
class Config:
    rate: float = 0.1
    steps: int = 3
    tags: list = dataclasses.field(default_factory=list)


config = Config()


@turned(lambda: put(globals()["config"], rate=0.1, steps=3, tags=[]), lambda: put(config, rate=0.2), lambda: put(config, steps=5),
        lambda: config.tags.append("t"), lambda: put(config, rate=1, steps=True))
def a_configuration(x, y):
    for _ in range(config.steps):
        x = x - config.rate * y
    return x, config == Config(), repr(config), list(config.tags)


class Kind(enum.Enum):
    A = 1
    B = 2

    def apply(self, x):
        return x + self.value if self is Kind.A else x * self.value


kind = Kind.A


@turned(lambda: globals().update(kind=Kind.A), lambda: globals().update(kind=Kind.B), lambda: globals().update(kind=Kind(1)),
        lambda: globals().update(kind=Kind["B"]), lambda: globals().update(kind=None))
def a_member(x, y):
    return kind.apply(x) if kind else x, {Kind.A: "a", Kind.B: "b"}.get(kind, "none")


space = types.SimpleNamespace(f=np.sin, n=2)


@turned(lambda: put(space, f=np.sin, n=2), lambda: put(space, f=np.cos), lambda: put(space, f=lambda x: x * 3), lambda: put(space, n=0),
        lambda: put(space, f=functools.partial(np.add, 2)))
def a_function_in_a_namespace(x, y):
    for _ in range(space.n):
        x = space.f(x)
    return x * 1


history = collections.deque(maxlen=3)


@turned(history.clear, lambda: history.append(1.0), lambda: history.extend([2.0, 3.0, 4.0]), lambda: history.rotate(1), history.clear)
def a_queue(x, y):
    return x + sum(history), history.maxlen, len(history), list(history)[::-1]


parts = functools.partial(helper, by=4.0)


@turned(helper_plainly, lambda: parts.keywords.update(by=5.0), lambda: parts.keywords.update(plus=2.0), lambda: parts.keywords.pop("plus"),
        lambda: parts.keywords.update(by=4.0))
def a_partial_that_changes(x, y):
    return parts(x)


@turned(lambda: vars(collections).pop("patched", None), lambda: put(collections, patched=2), lambda: put(collections, patched=3.5),
        lambda: vars(collections).pop("patched", None), plainly)
def an_attribute_of_a_module(x, y):
    return x + getattr(collections, "patched", 0)


@turned(plainly, lambda: globals().update(names=("y", "x")), lambda: globals().update(names=["x"]), lambda: globals().update(names="xy"),
        lambda: globals().update(names=()))
def locals_by_names(x, y):
    given = {"x": x, "y": y}
    return [given[n] * 2 for n in names]


@turned(plainly, lambda: globals().update(len=lambda o: 42), lambda: globals().pop("len", None), lambda: globals().update(sum=max),
        lambda: globals().pop("sum", None))
def a_builtin_that_is_hidden(x, y):
    return x + len(limits), sum([1, 2])
