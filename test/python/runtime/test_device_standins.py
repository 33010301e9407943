"""Arrays that stand for arrays on a device (frontend/device/standin.c): layouts, places, and what there is no room for."""

import numpy as np
import pytest

from frameloom import _native

RNG = np.random.default_rng(51)
DTYPES = [np.bool_, np.int8, np.uint16, np.int32, np.float16, np.float32, np.float64, np.complex64, np.complex128]


def random_view():
    """A view of an array: turned, stepped, reversed, broadcast, empty."""
    shape = tuple(int(RNG.choice([0, 1, 2, 3, 5, 8], p=[0.05, 0.15, 0.2, 0.2, 0.2, 0.2])) for _ in range(RNG.integers(0, 5)))
    array = np.zeros(shape, RNG.choice(DTYPES))
    array = array.transpose(RNG.permutation(array.ndim))
    array = array[tuple(slice(None, None, int(RNG.choice([1, 1, 2, -1, -3]))) for _ in shape)]
    return np.broadcast_to(array, (3, *array.shape)) if RNG.random() < 0.2 and array.ndim < 4 else array


def extent(array):
    """The first byte and the one behind the last, from the first element."""
    low, high = np.lib.array_utils.byte_bounds(array)
    first = array.__array_interface__["data"][0]
    return (0, 0) if not array.size else (low - first, high - first)


def test_layouts_and_places():
    used, taken = 0, []
    for _ in range(300):
        array = random_view()
        stand, low, first, used = _native.stand_in(array.shape, array.strides, array.dtype, used)
        assert stand.shape == array.shape and stand.strides == array.strides and stand.dtype == array.dtype
        assert not stand.flags.writeable and not stand.any()
        begin, end = extent(array)
        assert low == begin and stand.__array_interface__["data"][0] + low == first
        taken.append((first, first + end - begin))
    taken.sort()
    assert all(one[1] < other[0] for one, other in zip(taken, taken[1:], strict=False))
    assert used < 300 * 20_000


def test_large_ones_take_no_memory():
    stand = _native.stand_in((1 << 20, 1 << 14), (1 << 17, 8), np.dtype(np.float64), 0)
    assert stand is None  # 128 GB: all the room there is
    stand, _, _, used = _native.stand_in((1 << 19, 1 << 14), (1 << 17, 8), np.dtype(np.float64), 0)
    assert stand.nbytes == 1 << 36 and stand[-1, -1] == 0
    assert _native.stand_in((1 << 20,), (1 << 17,), np.dtype(np.float64), used) is None


@pytest.mark.parametrize("shape, strides, error", [
    ((3,), (), ValueError), ((-1,), (8,), ValueError), ((1,) * 70, (8,) * 70, ValueError), ((3,), ("8",), TypeError),
    ((1 << 62,), (1 << 62,), None), ((1 << 40, 1 << 40), (1 << 43, 8), None), ((1 << 62,), (-(1 << 62),), None),
])
def test_what_is_no_array(shape, strides, error):
    if error is None:
        assert _native.stand_in(shape, strides, np.dtype(np.float64), 0) is None
        return
    with pytest.raises(error):
        _native.stand_in(shape, strides, np.dtype(np.float64), 0)
