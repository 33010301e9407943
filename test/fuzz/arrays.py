"""Arrays for programs under test: every dtype, memory layout and kind of values, each made from a few words and a seed."""

import functools
import random

import numpy as np

INTEGERS = ("i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8")
FLOATS = ("f2", "f4", "f8")
COMPLEX = ("c8", "c16")
NUMBERS = ("?", *INTEGERS, *FLOATS, *COMPLEX)
LONG = ("g", "G")
OTHERS = ("U3", "S4", "O", "M8[D]", "m8[s]", "i4,f8")
LAYOUTS = ("C", "F", "negative", "step", "broadcast", "overlap", "misaligned", "swapped", "permuted", "readonly", "inner", "one negative")
COMPILED = tuple(layout for layout in LAYOUTS if layout not in ("misaligned", "swapped"))  # the others run as plain NumPy
VALUES = ("tame", "normal", "special", "few special", "positive", "small", "equal")


def floats(kind, dtype, count, rng):
    """Numbers of a real floating type."""
    info = np.finfo(dtype)
    specials = [np.nan, np.inf, -np.inf, 0.0, -0.0, info.max, -info.max, info.tiny, -info.tiny, info.smallest_subnormal,
                -info.smallest_subnormal, info.tiny / 2, 1.0, -1.0, 0.5, 2.0, -3.0, 1.5, info.eps, 1 + info.eps, 127.5, 2.0**15]
    if kind == "special":
        values = [rng.choice(specials) for _ in range(count)]
    elif kind == "few special":
        values = [rng.choice(specials[:5]) if rng.random() < 0.2 else rng.gauss(0, 1) for _ in range(count)]
    elif kind == "tame":
        values = [rng.randrange(-32, 33) / 4 for _ in range(count)]
    elif kind == "small":
        values = [float(rng.randrange(-2, 3)) for _ in range(count)]
    elif kind == "positive":
        values = [rng.uniform(0.5, 2.0) for _ in range(count)]
    elif kind == "equal":
        values = [rng.choice(specials[3:])] * count
    else:
        values = [rng.gauss(0, 2) for _ in range(count)]
    with np.errstate(all="ignore"):
        return np.array(values, np.longdouble if dtype == "g" else np.float64).astype(dtype)


def integers(kind, dtype, count, rng):
    info = np.iinfo(dtype)
    extremes = [info.min, info.max, info.min + 1, info.max - 1, 0, 1, 2, 7, info.max // 2, info.bits - 1, info.bits]
    if info.min < 0:
        extremes += [-1, -2, info.min // 2]
    if kind in ("special", "few special"):
        values = [rng.choice(extremes) if kind == "special" or rng.random() < 0.2 else rng.randrange(0, 9) for _ in range(count)]
    elif kind in ("positive", "small"):
        values = [rng.randrange(1, 4) for _ in range(count)]
    elif kind == "equal":
        values = [rng.choice(extremes)] * count
    else:
        values = [rng.randrange(max(info.min, -9), 10) for _ in range(count)]
    return np.array(values, dtype)


def others(dtype, count, rng):
    """Of what is no number."""
    if dtype.kind in "US":
        return np.array([rng.choice(["", "a", "ab", "abc", "0", "-1"]) for _ in range(count)], dtype)
    if dtype.kind in "mM":
        return np.array([rng.choice([-(2**63), 0, 1, -5, 10957]) for _ in range(count)], "i8").view(dtype)  # the first is NaT
    if dtype.kind == "O":
        made = np.empty(count, object)
        made[:] = [rng.choice([0, 1, 2.5, -3, 2**70, True]) for _ in range(count)]
        return made
    made = np.zeros(count, dtype)
    for name in dtype.names:
        made[name] = elements("tame", dtype[name], count, rng)
    return made


def elements(kind, dtype, count, rng):
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([kind != "equal" and rng.random() < 0.5 for _ in range(count)], bool)
    if dtype.kind in "iu":
        return integers(kind, dtype, count, rng)
    if dtype.kind == "f":
        return floats(kind, dtype, count, rng)
    if dtype.kind == "c":
        part = {"F": "f4", "D": "f8", "G": "g"}[dtype.char]
        made = np.empty(count, dtype)
        made.real, made.imag = floats(kind, part, count, rng), floats(kind, part, count, rng)
        return made
    return others(dtype, count, rng)


def empty(dtype, shape, layout, rng):
    """Memory of a layout, inside of a larger block, so that what is written beside it shows."""
    rank = len(shape)
    if layout in ("broadcast", "overlap") and rank:
        axis = rng.randrange(rank)
        inner = empty(dtype, tuple(1 if i == axis else n for i, n in enumerate(shape)), "inner", rng)
        strides = [0 if i == axis else s for i, s in enumerate(inner.strides)]
        if layout == "overlap":
            inner = empty(dtype, tuple(2 * n + 2 for n in shape), "C", rng)
            strides = [s if i == axis or i == rank - 1 else inner.itemsize for i, s in enumerate(inner.strides)]
        return np.lib.stride_tricks.as_strided(inner, shape, strides)
    if layout == "misaligned" and not dtype.hasobject:
        count = int(np.prod(shape, dtype=int))
        block = np.zeros(dtype.itemsize * count + 17, np.uint8)
        return block[9 if dtype.itemsize > 1 else 8:][:dtype.itemsize * count].view(dtype).reshape(shape)
    if layout == "swapped":
        return empty(dtype.newbyteorder(), shape, "inner", rng)
    if layout == "permuted":
        order = rng.sample(range(rank), rank)
        made = empty(dtype, tuple(shape[i] for i in order), "inner", rng)
        return made.transpose(np.argsort(order).astype(int)) if rank else made
    block = np.zeros(tuple(2 * n + 2 for n in shape) if layout in ("step", "negative", "one negative", "inner") else shape, dtype,
                     order="F" if layout == "F" else "C")
    if layout in ("C", "F", "readonly", "misaligned", "overlap", "broadcast") or not rank:
        return block
    if layout == "inner":
        return block[tuple(slice(1, n + 1) for n in shape)]
    if layout == "one negative":
        axis = rng.randrange(rank)
        return block[tuple(slice(n, 0, -1) if i == axis else slice(1, n + 1) for i, n in enumerate(shape))]
    sign = -1 if layout == "negative" else 2
    return block[tuple(slice(n, 0, -1) if sign < 0 else slice(1, 2 * n + 1, 2) for n in shape)]


def array(dtype, shape, layout="C", values="tame", seed=0):
    """The same array whenever it is asked for with the same words."""
    words = f"{dtype} {layout} {values} {seed}"
    made = empty(np.dtype(dtype), tuple(shape), layout, random.Random(words))
    if made.size:
        made[...] = content(words, str(dtype), tuple(shape), layout, values)
    if layout == "readonly":
        made.flags.writeable = False
    return made


@functools.lru_cache(64)  # a program asks for its arrays with every call
def content(words, dtype, shape, layout, values):
    """What an array is filled with."""
    rng, dtype = random.Random(words), np.dtype(dtype)
    made = empty(dtype, shape, layout, rng)
    return elements(values, dtype, made.size, rng).reshape(shape)


def blocks(values):
    """The memory that arrays among these values lie in, each block once."""
    found = {}
    for value in values:
        if isinstance(value, np.ndarray):
            while isinstance(value.base, np.ndarray):
                value = value.base
            found[id(value)] = value
    return list(found.values())
