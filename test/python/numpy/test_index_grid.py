"""Keys of every kind, alone and by twos and threes, read, written and added to, of arrays of few dimensions: what NumPy takes and refuses."""

import itertools
import random
import sys
import warnings

import numpy as np
import pytest
from seen import calls_compared

ITEMS = [
    "0", "-1", "3", "7", "True", "2**63", "2**70", "1.0", "'f0'", "None", "...", "()", "[]", "slice(None)", "slice(1, None)", "slice(None, None, -1)",
    "slice(3, 0, -2)", "slice(5, 9)", "slice(None, 2**65)", "slice(0, 3, 0)", "slice(None, None, 2**62)", "slice('a', None)", "slice(np.int8(1), None)",
    "np.int8(1)", "np.int64(-2)", "np.uint64(1)", "np.uint8(200)", "np.bool_(True)", "np.float64(1)", "np.array(1)", "np.array(-5)", "np.array(True)",
    "np.array([1])", "np.array([0, -1])", "np.array([[0, 1], [2, 0]])", "np.array([], int)", "np.array([1, 9])", "np.array([1, 2], 'u1')", "np.array([0.0])",
    "np.array([True, False, True])", "np.array([True, False, True, False])", "np.zeros((3, 4), bool)", "np.eye(3, 4) > 0", "np.zeros(0, bool)",
    "[0, 1]", "[True, False, True]", "[[0, 1]]", "[[0], [1]]", "[0, None]", "(0, 1)", "[np.array(1), 2]", "range(2)", "Index()", "Many()",
]  # fmt: skip
SHAPES = [(4,), (3,), (3, 4), (3, 1), (), (0, 4), (2, 3, 4)]
VALUES = [
    "1.0", "2", "True", "2**70", "1j", "None", "'x'", "[1.0]", "[[2.0]]", "[1, 2]", "[]", "(3.0,)", "[[1, 2, 3, 4]]", "[np.ones(1)]", "np.float32(3)",
    "np.ones(())", "np.ones(1)", "np.ones((1, 1))", "np.ones(4)", "np.ones((3, 1))", "np.ones((1, 3, 4))", "np.ones(0)", "np.array([1 + 2j])", "range(4)",
    "np.array(['1'])", "np.array([5], object)", "a", "a[..., :1]", "a.T",
]  # fmt: skip
FORMS = {
    "get": "return a[{}]",
    "get caught": "try:\n        return a[{}]\n    except Exception as error:\n        return type(error).__name__",
    "set": "a[{}] = {}",
    "set caught": "try:\n        a[{}] = {}\n    except Exception as error:\n        return type(error).__name__",
    "add": "a[{}] += {}",
    "delete": "del a[{}]",
}
TYPES = ["f8", "i2", "?", "c16", "u1", "f4"]
LAYOUTS = ["C"] * 6 + ["read-only", "broadcast"]
COUNT = 6000  # programs of the whole grid that a run takes


class Index:
    def __index__(self):
        return 1


class Many:
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return [0, 1][i]


def space():
    return {"np": np, "Index": Index, "Many": Many}


def programs(seed):
    """Texts, and what makes their arguments."""
    chance = random.Random(seed)
    while True:
        count = chance.choice([1, 1, 1, 2, 2, 2, 3])
        items = [chance.choice(ITEMS) for _ in range(count)]
        key = items[0] if count == 1 else f"({', '.join(items)})"
        form, value, shape, dtype = chance.choice(list(FORMS)), chance.choice(VALUES), chance.choice(SHAPES), chance.choice(TYPES)
        given = chance.random() < 0.4  # the key, or its items, are arguments
        names = [f"k{i}" for i in range(count)] if given else []
        text = FORMS[form].format(f"({', '.join(names)})" if count > 1 and given else names[0] if given else key, value)
        yield f"def program({', '.join(['a', *names])}):\n    {text}\n", items if given else [], shape, dtype, chance.choice(LAYOUTS)


def arguments(items, shape, dtype, layout):
    size = int(np.prod(shape))
    array = np.arange(1.0, size + 1).reshape(shape).astype(dtype)
    if layout == "broadcast":
        array = np.broadcast_to(array.reshape(-1)[:1].reshape(()) if size else array, shape)
    elif layout == "read-only":
        array.flags.writeable = False
    return [array, *(eval(item, space()) for item in items)]


def indexes_alike(text, items, shape, dtype, layout, dynamic):
    given = lambda: arguments(items, shape, dtype, layout)
    for rows, _, _ in calls_compared(text, space(), given, backend="interpret", dynamic=dynamic):
        assert not rows, f"{text}{items} {shape} {dtype} {layout} dynamic={dynamic}: {rows}"


@pytest.mark.parametrize("part", range(6))
@pytest.mark.filterwarnings("ignore")
def test_index_grid(part):
    for row in itertools.islice(programs(part), COUNT // 6):
        indexes_alike(*row, None if len(row[0]) % 3 else True)


if __name__ == "__main__":  # test_index_grid.py SEED COUNT
    warnings.simplefilter("ignore")
    for number, row in enumerate(itertools.islice(programs(int(sys.argv[1])), int(sys.argv[2]))):
        if len(sys.argv) > 3: print("AT", number, row, flush=True)
        try:
            indexes_alike(*row, None if number % 3 else True)
        except AssertionError as error:
            print(str(error)[:600], flush=True)
