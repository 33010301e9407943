"""Enumerations: arithmetic of those that are ints, keys, sizes, flags, members of one's own."""

import enum

import numpy as np

from . import case, given


class Axis(enum.IntEnum):
    ROW = 0
    COLUMN = 1


class Size(enum.IntEnum):
    SMALL = 2
    LARGE = 4

    @property
    def twice(self):
        return self * 2


class Mode(enum.IntFlag):
    READ = 1
    WRITE = 2
    RUN = 4


class Part(enum.Flag):
    HEAD = enum.auto()
    TAIL = enum.auto()
    BOTH = HEAD | TAIL


class Kind(enum.StrEnum):
    SUM = "sum"
    MEAN = enum.auto()


class Colour(str, enum.Enum):
    RED = "red"
    BLUE = "blue"


class Planet(enum.Enum):
    EARTH = (5.9, 6.3)
    MARS = (0.6, 3.3)

    def __init__(self, mass, radius):
        self.mass = mass
        self.radius = radius

    @property
    def gravity(self):
        return self.mass / self.radius**2

    @classmethod
    def heaviest(cls):
        return max(cls, key=lambda p: p.mass)


class Step(enum.Enum):
    FIRST = enum.auto()
    SECOND = enum.auto()

    @classmethod
    def _missing_(cls, value):
        return cls.FIRST


@case
def int_enum_arithmetic(x, y):
    return x + Axis.COLUMN + 1, Axis.COLUMN + Axis.COLUMN, Size.LARGE * 2.5, -Size.SMALL, Size.LARGE // 3, 2**Size.SMALL


@case
def int_enum_as_axis(x, y):
    table = np.stack([x, y])
    return table.sum(axis=Axis.ROW), table.mean(axis=Axis.COLUMN), np.concatenate([x, y], axis=Axis.ROW)


@case
def int_enum_as_size(x, y):
    return np.zeros(Size.SMALL) + x[0], np.ones((Size.SMALL, Size.LARGE)) * y[0], x[: Size.SMALL], x[Axis.COLUMN]


@case
def int_enum_in_a_loop(x, y):
    for i in range(Size.LARGE):
        x = x + i
    for a in Axis:
        x = x * (a + 1)
    return x


@case
def int_enum_compared(x, y):
    if Axis.COLUMN == 1 and Size.LARGE > 3 and Axis.ROW < Axis.COLUMN and not Axis.ROW:
        return x * Size.LARGE
    return y


@case
def int_enum_property(x, y):
    return x * Size.LARGE.twice, Size.SMALL.name, Size.SMALL.value, Size(4), Size["SMALL"] is Size.SMALL


@given(lambda: Size.LARGE)
def int_enum_argument(x, y, s):
    return x * s, s + 1, s is Size.LARGE, isinstance(s, int), y[: s - 1]


@given(lambda: {Axis.ROW: 1.5, Axis.COLUMN: 2.5})
def int_enum_keys(x, y, d):
    d[Size.SMALL] = 7
    return x * d[Axis.ROW] + d[1], d.get(Size.LARGE), list(d)


@case
def int_enum_as_a_key(x, y):
    table = {Axis.ROW: x, Axis.COLUMN: y}
    return table[Axis.ROW] + table[1], Axis.ROW in table, [k.name for k in table], table


@case
def int_enum_formatted(x, y):
    return f"{Axis.ROW} {Axis.COLUMN:3d} {Size.LARGE!r}", str(Axis.ROW), repr(Axis.COLUMN), x


@case
def int_enum_as_list_index(x, y):
    return [x, y][Axis.COLUMN], (x, y)[Axis.ROW], "ab"[Axis.COLUMN], list(range(Size.SMALL))


@case
def int_enum_functions(x, y):
    return x, int(Size.LARGE), float(Size.SMALL), bool(Axis.ROW), abs(Size.LARGE), divmod(Size.LARGE, 3), max(Size), sum(Size), hash(Size.LARGE)


@case
def int_flags(x, y):
    mode = Mode.READ | Mode.WRITE
    if mode & Mode.WRITE:
        x = x * 2
    if mode & Mode.RUN:
        x = x * 3
    return x, mode, mode ^ Mode.READ, ~mode, mode & ~Mode.READ, Mode.READ in mode, mode + 1, mode.name


@given(lambda: Mode.READ | Mode.RUN)
def int_flags_argument(x, y, m):
    return x if m & Mode.RUN else y, m | Mode.WRITE, m == 5


@case
def flags(x, y):
    part = Part.HEAD | Part.TAIL
    if Part.HEAD in part:
        x = x + 1
    return x, part is Part.BOTH, part & Part.HEAD, ~Part.HEAD, bool(part & Part.TAIL), part ^ Part.TAIL, [p.name for p in part], len(part)


@given(lambda: Part.HEAD)
def flags_argument(x, y, p):
    if p & Part.TAIL:
        return x
    return y + (p | Part.TAIL).value


@case
def string_enums(x, y):
    if Kind.SUM == "sum":
        x = x * 2
    return x, Kind("mean") is Kind.MEAN, Kind.SUM + "s", Kind.MEAN.upper(), f"{Kind.SUM}", len(Kind.MEAN), {"sum": 1}[Kind.SUM]


@given(lambda: Kind.MEAN)
def string_enum_argument(x, y, k):
    return getattr(x, k)(), k == "mean", k.startswith("m")


@case
def string_mixin(x, y):
    return x if Colour.RED == "red" else y, Colour("blue"), Colour.RED.value, {Colour.RED: 1}["red"]


@case
def enum_of_tuples(x, y):
    return x * Planet.MARS.gravity, Planet.EARTH.mass, Planet.heaviest(), Planet((0.6, 3.3)) is Planet.MARS


@case
def enum_missing(x, y):
    return Step(17) is Step.FIRST, x


@case
def enum_not_a_member(x, y):
    try:
        Size(17)
    except ValueError as error:
        return str(error), x
    return y


@case
def enum_iterated(x, y):
    for member in Planet:
        x = x + member.mass
    return x, [m.name for m in Size], len(Size), list(Size), Size.LARGE in Size, Size.__members__["LARGE"]


@case
def enum_matched(x, y):
    out = []
    for member in (Axis.ROW, Axis.COLUMN, 7):
        match member:
            case Axis.ROW:
                out.append(x)
            case Axis.COLUMN:
                out.append(y)
            case _:
                out.append(None)
    return out


@given(lambda: {Planet.MARS: 2.0})
def enum_keys_of_a_live_dict(x, y, d):
    d[Planet.EARTH] = x
    return d[Planet.MARS] * y


@case
def enum_sorted(x, y):
    return sorted([Size.LARGE, Size.SMALL]), sorted(Planet, key=lambda p: p.mass)[0], {Size.LARGE, Size.SMALL, 2}, x


@case
def enum_made_inside(x, y):
    class Inner(enum.Enum):
        A = 1

    return x * Inner.A.value


@case
def int_enum_and_numpy_scalars(x, y):
    s = x[0]
    return pow(s, Size.SMALL), divmod(s, Size.SMALL), s * Size.LARGE, Size.LARGE * s, s > Size.SMALL, Size.SMALL == s, np.power(x, Size.SMALL)
