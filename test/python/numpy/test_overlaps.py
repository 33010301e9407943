"""Statements that read and write one memory through different views of it, alone and one after another: what is read is what was there."""

import random
import sys
import warnings

import numpy as np
import pytest
from seen import calls_compared

VIEWS = [
    "a", "a[::-1]", "a[1:]", "a[:-1]", "a[2:]", "a[:-2]", "a[::2]", "a[1::2]", "a[6:]", "a[:6]", "a[3:9]", "a[9:3:-1]", "a[-1:]", "a[:1]", "a[5]", "a[4:4]", "m", "m.T",
    "m[::-1]", "m[:, ::-1]", "m[1:]", "m[:-1]", "m[:, 1:]", "m[:, :-1]", "m[0]", "m[-1]", "m[:, 0]", "m[1, 1:]", "m[:, 2][:, None]", "m[None, 0]", "m[:3, :3]",
    "m[:3, :3].T", "m.ravel()", "m.reshape(4, 3)", "m.reshape(2, 6)[:, ::2]", "m.swapaxes(0, 1)[1:]", "np.diagonal(m)", "a[[3, 1, 2]]", "a[a > 4]", "m[[0, 2]]",
    "m[:, [1, 0]]", "a.reshape(2, 2, 3)[:, 1]", "a.reshape(2, 2, 3)[..., 1].T", "s[::2]", "s[1:]", "w", "w[::-1]", "w[1:, 0]",
]  # fmt: skip
RIGHT = [*VIEWS, "2", "-1.5", "True", "np.float32(3)", "b", "b[::2]", "b[:6]", "b.reshape(3, 4)", "b[:4]", "b[:3, None]", "np.arange(6.0)", "np.arange(4)", "[1, 2, 3]"]
STATEMENTS = [
    "{0} = {1}", "{0}[...] = {1}", "{0} += {1}", "{0} *= {1}", "{0} -= {1}", "{0} /= {1}", "{0} //= {1}", "{0} **= 2", "{0} %= 3", "np.add({1}, {2}, out={0})",
    "np.multiply({0}, {1}, {0})", "np.subtract({1}, {0}, out={0})", "np.negative({1}, out={0})", "np.copyto({0}, {1})", "np.copyto({0}, {1}, where={0} > 3)", "np.maximum({1}, 3, out={0})",
    "np.cumsum({1}, out={0})", "np.add.accumulate({1}, out={0})", "{0}.fill(7)", "{0}.sort()", "np.square({1}, {0})", "np.add({1}, 1, out={0}, where={0} < 5)", "np.put({0}, [0, 1], {1})",
    "np.clip({1}, 1, 5, out={0})", "np.putmask({0}, {0} > 2, {1})", "np.minimum.reduce({1}, out={0})", "np.matmul({1}, {2}, out={0})", "np.sqrt(np.abs({1}), out={0})",
    "{0}[:] = np.roll({1}, 1)", "{0}[::-1] = {1}", "{0}[1:] += {0}[:-1]", "{0}[:-1] = {0}[1:]", "np.exp({1} / 20, {0})", "{0}[...] = {1} + {2}", "{0} = {1} * 2 + {2}",
    "np.add.at({0}, [0, 0], 1)", "np.fill_diagonal({0}, 5)", "{0}[:] = {0}[::-1] + {1}", "{0}[0] = {1}", "v = {1}", "v = {1} + 0", "v += {0}", "{0}[...] = v", "np.sum({1}, axis=0, out={0})",
]  # fmt: skip
COUNT = 1500
NAMED = ("a", "m", "s", "w")  # what an augmented assignment may rebind, which is no view any more


def programs(seed):
    chance = random.Random(seed)
    while True:
        lines = [chance.choice(STATEMENTS).format(chance.choice(VIEWS), chance.choice(RIGHT), chance.choice(RIGHT)) for _ in range(chance.choice([1, 1, 2, 3, 4]))]
        lines = [line for line in lines if not line.startswith(tuple(f"{name} =" for name in NAMED))]
        body = "".join(f"    {line}\n" for line in lines if compiles(line))
        yield f"def program(a, b, s):\n    m = a.reshape(3, 4)\n    w = np.lib.stride_tricks.sliding_window_view(b, 3, writeable=True)\n    v = b[2:]\n{body}    return a, m.sum(), v\n"


def compiles(line):
    """`2 += a` and its like are none."""
    try:
        compile(line, "line", "exec")
    except SyntaxError:
        return False
    return True


def arguments(dtype):
    a, b = (np.arange(12) * 5 % 11).astype(dtype), (np.arange(12) * 7 % 13).astype(dtype)
    return [a, b, a[2:8]]


def overlaps_alike(text, dtype, backend, dynamic):
    for rows, _, _ in calls_compared(text, {"np": np}, lambda: arguments(dtype), 30.0, backend=backend, dynamic=dynamic):
        assert not rows, f"{text}{dtype} {backend} dynamic={dynamic}: {rows}"


def options(number):
    return ("f8", "i4", "f4", "f8")[number % 4], ("loom", "interpret", "loom")[number % 3], (None, None, True)[number // 3 % 3]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(6))
def test_overlaps(part):
    made = programs(part)
    for number in range(COUNT // 6):
        overlaps_alike(next(made), *options(number))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    made = programs(sys.argv[1])
    for number in range(int(sys.argv[2])):
        try:
            overlaps_alike(next(made), *options(number))
        except AssertionError as error:
            print(str(error)[:700], flush=True)
