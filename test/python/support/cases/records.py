"""Dataclasses, named tuples, enums."""

import collections
import dataclasses
import enum
import typing

import numpy as np

from . import program


@dataclasses.dataclass
class State:
    position: np.ndarray
    velocity: np.ndarray
    step: float = 0.5
    tags: list = dataclasses.field(default_factory=list)

    def advance(self):
        return dataclasses.replace(self, position=self.position + self.step * self.velocity)


@dataclasses.dataclass(frozen=True)
class Parameters:
    alpha: float = 1.5
    beta: float = 2.5

    def __post_init__(self):
        if self.alpha < 0:
            raise ValueError("alpha")


class Pair(typing.NamedTuple):
    first: object
    second: object = 7

    def both(self):
        return self.first + self.second


Old = collections.namedtuple("Old", "a b c", defaults=(3,))


class Color(enum.Enum):
    RED = 1
    GREEN = 2


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 5


class Mode(enum.Flag):
    A = 1
    B = 2


@program
def dataclass_made_inside(x, y):
    s = State(x, y).advance().advance()
    s.tags.append("moved")
    return s.position, s.step, s.tags


@program
def frozen_dataclass(x, y):
    p = Parameters(beta=4.0)
    try:
        p.alpha = 3
    except dataclasses.FrozenInstanceError as error:
        name = type(error).__name__
    return x * p.alpha + y * p.beta, name


@program
def named_tuples(x, y):
    p = Pair(x)
    o = Old(x, y)
    q = p._replace(second=y)
    a, b, c = o
    return p.both(), q.both(), q._fields, o._asdict()["c"], a + b * c, o[1]


@program
def enums(x, y):
    color = Color.RED if Color(2) is Color.GREEN else Color.GREEN
    return x * color.value + y, color.name, [c.name for c in Color], Color["RED"].value


@program
def enums_that_are_ints(x, y):
    return x * Level.HIGH + y, Level.LOW < Level.HIGH, Mode.A | Mode.B
