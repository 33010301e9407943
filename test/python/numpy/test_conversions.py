"""Whatever makes numbers, arrays or Python objects of others, of objects of every kind: values, types, warnings and refusals."""

import random
import resource
import sys
import warnings

import numpy as np
import pytest
from seen import calls_compared

OBJECTS = [
    "0", "-1", "300", "2**33", "2**63", "2**64", "-2**63", "2**100", "True", "1.5", "-0.0", "float('nan')", "float('inf')", "1e300", "1e-320", "2.5", "-3.5",
    "1j", "complex('nan')", "None", "'12'", "'x'", "''", "b'3'", "...", "slice(2)", "range(3)", "[]", "[1]", "[1, 2.5]", "[[1, 2], [3, 4]]", "[[1], [2, 3]]",
    "[True, 2]", "[2**63, -1]", "[1, 2**70]", "[1, None]", "['a', 1]", "[1, 'a']", "[1j, True]", "(1, 2)", "((1, 2), [3, 4])", "[(), ()]", "[[[]]]", "{1: 2}", "{1}",
    "(i for i in range(2))", "map(abs, [1])", "iter([1, 2])", "Whole()", "Real()", "Array()", "Sequence()", "Nothing()", "np.float64(2.5)", "np.float32(-0.0)",
    "np.float16(65504)", "np.int64(-3)", "np.int8(-128)", "np.uint64(2**64 - 1)", "np.bool_(True)", "np.complex64(1 - 1j)", "np.longdouble(3)", "np.str_('7')",
    "np.datetime64('2020-01-01')", "np.timedelta64(3)", "np.array(1)", "np.array(2.5)", "np.array(True)", "np.array([2.5])", "np.array([[7]])", "np.array([])",
    "np.array([1.5, -2.5])", "np.array([np.nan, 300.0])", "np.arange(3, dtype='u1')", "np.arange(4).reshape(2, 2)", "np.array([1 + 2j, 0])", "np.array(['1', 'b'])",
    "np.array([1, None], object)", "np.array(3, object)", "np.arange(3, dtype='>i4')", "np.float32([1e30, 1])", "np.ones((2, 0))", "[np.array(1), 2]", "[np.ones(2), np.zeros(2)]",
    "[np.float32(1), 2.5]", "[np.ones(2), np.ones(3)]", "np.ma.array([1, 2], mask=[0, 1])", "np.matrix([[1, 2]])", "np.dtype('f4')", "np.float32", "np.add", "np.array([1, 2]).flat",
]  # fmt: skip
CALLS = [
    *(f"np.{t}({{}})" for t in "float64 float32 float16 int64 int8 uint8 uint64 bool_ complex64 complex128 longdouble intp str_ bytes_ object_ generic number dtype".split()),
    *(f"{f}({{}})" for f in "int float complex bool str repr len iter list tuple set sum min max abs round sorted reversed any all type callable bytes bytearray "
      "enumerate next oct hex bin ord divmod slice range dict zip isinstance iter".split()),
    *(f"np.{f}({{}})" for f in "array asarray asanyarray ascontiguousarray asfortranarray atleast_1d atleast_2d atleast_3d ravel shape ndim size isscalar iscomplexobj "
      "isrealobj zeros_like full ones zeros empty_like copy squeeze arange result_type min_scalar_type asarray_chkfinite nan_to_num sum mean sort stack concatenate vstack "
      "where nonzero argmax abs negative isnan sqrt exp floor sign conj real imag angle diag eye identity linspace cumsum prod unique round clip broadcast_to bincount".split()
      if f not in ("empty_like",)),
    "np.array({}, dtype='f4')", "np.array({}, dtype='i2')", "np.array({}, dtype='u8')", "np.array({}, dtype=bool)", "np.array({}, dtype='c8')", "np.array({}, dtype=object)",
    "np.array({}, dtype='S3')", "np.array({}, ndmin=2)", "np.array({}, copy=False)", "np.array({}, copy=None)", "np.array({}, order='F')", "np.array({}, subok=True)",
    "np.asarray({}, dtype=int)", "np.asarray({}, copy=True)", "np.full(2, {})", "np.full((2, 2), {}, dtype='i1')", "np.full_like(np.ones(2), {})", "np.zeros({}, dtype='i4')",
    "np.add({}, 1)", "np.add({}, 1.5)", "np.multiply({}, np.ones(2))", "np.maximum({}, 0)", "np.power({}, 2)", "np.fromiter({}, float)", "np.arange(0, 3, {})",
    "np.linspace(0, {}, 3)", "np.repeat([1, 2], {})", "np.tile([1], {})", "np.where({}, 1, 2)", "np.where([True, False], {}, 0)", "np.full({}, 7)", "np.can_cast({}, 'f4')",
    "round({}, 1)", "pow({}, 2)", "divmod({}, 3)", "divmod(7, {})", "min({}, 2)", "max([1, {}])", "sum([1, {}])", "isinstance({}, int)", "isinstance({}, np.generic)",
    "format({}, '.2f')", "f'{x!s:>5}'", "'%s' % ({},)", "'%d' % {}", "[1, 2, 3][{}]", "'abc'[{}]", "[0] * {}", "{} in [1, 2]", "1 in {}", "not {}", "-{}", "~{}",
    "1 + {}", "{} + 1", "{} ** 2", "{} % 3", "{} // 2", "{} << 1", "{} & 1", "{} == 1", "{} < 1", "1.5 * {}", "np.float32(1) + {}", "{} - np.int8(1)", "[*{}]", "len({}[:1])",
    "{}[0]", "{}.shape", "{}.dtype", "{}.real", "{}.item()", "{}.astype('f4')", "{}.tolist()", "{} @ {}", "{} if {} else 0", "({} and 1, {} or 2)", "dict(a={})",
]  # fmt: skip
COUNT = 9000  # of all 27,000


class Whole:
    def __index__(self):
        return 2


class Real:
    def __float__(self):
        return 1.5


class Array:
    def __array__(self, dtype=None, copy=None):
        return np.array([1.0, 2.0], dtype)


class Sequence:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        if i > 1:
            raise IndexError
        return i + 0.5


class Nothing:
    pass


SCOPE = {"np": np, "Whole": Whole, "Real": Real, "Array": Array, "Sequence": Sequence, "Nothing": Nothing}


def programs(seed, count):
    """Each call of each object, as an argument of the function or made in it, what is raised caught in it or not."""
    chance = random.Random(seed)
    pairs = [(call, thing, form) for call in CALLS for thing in OBJECTS for form in range(3)]
    for call, thing, form in chance.sample(pairs, min(count, len(pairs))):
        said = "return " + call.replace("{}", "x")
        if form:
            said = f"try:\n        {said}\n    except Exception as error:\n        return type(error).__name__"
        made = f"    x = {thing}\n" if form == 2 else ""
        yield f"def program({'x' if form < 2 else ''}):\n{made}    {said}\n", thing if form < 2 else None


def converts_alike(text, thing):
    for rows, got, want in calls_compared(text, dict(SCOPE), lambda: [eval(thing, SCOPE)] if thing else [], 20.0, backend="interpret"):
        assert not rows or alike(got.result, want.result), f"{text}{thing}: {rows}"


def alike(got, want):
    """Iterators, and objects that are equal to none but themselves."""
    if type(got) is not type(want):
        return False
    if hasattr(want, "__next__"):
        return [repr(x) for x in got] == [repr(x) for x in want]
    return isinstance(want, (Whole, Real, Array, Sequence, Nothing)) or " object at 0x" in repr(want)


@pytest.fixture(autouse=True)
def memory():
    """What an object is taken for as a size may ask for more than there is: that is a MemoryError then, in both forms."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, before)


@pytest.mark.parametrize("part", range(9))
@pytest.mark.filterwarnings("ignore")
def test_conversions(part):
    for text, thing in programs(part, COUNT // 9):
        converts_alike(text, thing)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    resource.setrlimit(resource.RLIMIT_AS, (6 << 30, resource.RLIM_INFINITY))
    for text, thing in programs(sys.argv[1], int(sys.argv[2])):
        try:
            converts_alike(text, thing)
        except AssertionError as error:
            print(str(error)[:500], flush=True)
        except Exception as error:
            print("CHECK", text, thing, repr(error)[:300], flush=True)
