"""Kernels of one op with a lowering of their own, alone: what `run-test` cannot see.

Bad indices are reported, and the bits do not depend on how the chunks are shared out.
"""

import numpy as np
import pytest

from cpus import HAS_AVX512
import kernel_harness as harness

pytestmark = pytest.mark.skipif(not harness.available(), reason="loom-opt or LLVM's tools are missing")
INDEX = 0x100


def scatter(tmp_path, target, indices, updates, axis, combine):
    out = np.empty_like(target)
    kinds = ", ".join(harness.tensor(a) for a in (target, indices, updates))
    body = (f'%0 = loom.scatter "{combine}" %a0, %a1, %a2 axis = {axis} : ({kinds}) -> {harness.tensor(target)}\n'
            "yield %0")
    text = harness.kernel("k", [target, indices, updates], body, [out], inplace=[0])
    return harness.Kernel(text, str(tmp_path / "k"))


@pytest.mark.parametrize("shape, axis", [((50,), 0), ((50, 300), 0), ((50, 9, 3), 0), ((20, 50, 2), 1)])
def test_scatter_in_any_division(tmp_path, shape, axis):
    rng = np.random.default_rng(0)
    n = 3_000_000 // max(1, int(np.prod(shape)) // 50)
    indices = rng.integers(-shape[axis], shape[axis], n)
    target = rng.standard_normal(shape).astype(np.float32)
    updates = rng.standard_normal(shape[:axis] + (n,) + shape[axis + 1:]).astype(np.float32)
    kernel = scatter(tmp_path, target, indices, updates, axis, "add")
    expected = target.copy()
    np.add.at(np.moveaxis(expected, axis, 0), indices, np.moveaxis(updates, axis, 0))
    for parts, reverse in ((1, False), (3, True)):
        out = target.copy()
        assert kernel.run([out, indices, updates], [out], parts=parts, reverse=reverse) == 0
        np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("combine, expected", [("add", [1111, 3332]), ("mul", [1000000, 6000000]), ("set", [1000, 3000])])
def test_scatter_combines_duplicates_on_an_axis_of_one_element(tmp_path, combine, expected):
    """The old value is read anew for every update, also where no index can move it."""
    target, indices = np.array([[1], [2]], np.int64), np.array([0, -1, 0])
    updates = np.array([[10, 100, 1000], [10, 320, 3000]], np.int64)
    if combine == "mul":
        updates[1] = [10, 100, 3000]
    kernel = scatter(tmp_path, target, indices, updates, 1, combine)
    assert kernel.run([target, indices, updates], [target]) == 0
    np.testing.assert_array_equal(target.ravel(), expected)


@pytest.mark.parametrize("combine", ["add", "mul", "min", "max"])
def test_scatter_of_lines_that_follow_each_other(tmp_path, combine):
    """More updates than lines, of which some follow each other: the line before may still be in registers. A bad index is reported
    and updates nothing, whatever comes before and after."""
    rng = np.random.default_rng(4)
    apply = {"add": np.add, "mul": np.multiply, "min": np.minimum, "max": np.maximum}[combine]
    for rows, lanes, dtype in [(3, 16, "float64"), (7, 64, "float32"), (1, 32, "int32"), (5, 24, "float32"), (40, 256, "int32")]:
        indices = np.repeat(rng.integers(-rows, rows, 3 * rows), rng.integers(1, 5, 3 * rows))
        target, updates = (rng.integers(1, 4, (n, lanes)).astype(dtype) / (4 if dtype[0] == "f" else 1) for n in (rows, len(indices)))
        target, updates = target.astype(dtype), updates.astype(dtype)
        folder = tmp_path / f"{rows}x{lanes}"
        folder.mkdir()
        kernel = scatter(folder, target, indices, updates, 0, combine)
        for bad in (False, True):
            if bad:
                indices[len(indices) // 2] = rows
                indices[len(indices) // 2 + 1] = 0
            expected, out = target.copy(), target.copy()
            good = indices < rows
            apply.at(expected, indices[good], updates[good])
            assert kernel.run([out, indices, updates], [out], parts=2, reverse=True) == (INDEX if bad else 0)
            np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize("combine, expected", [("set", [10, 1, 2, 3, 4, 5, 30]), ("add", [10, 1, 2, 3, 4, 5, 36])])
@pytest.mark.parametrize("bad", [7, -8, 2**62, -2**63])
def test_scatter_reports_bad_indices(tmp_path, bad, combine, expected):
    """They update nothing, whether indices name slices or, along an axis, elements."""
    target, updates = np.arange(7.0), np.array([10.0, 20.0, 30.0])
    indices = np.array([-7, bad, 6])
    for axis, line in enumerate([(slice(None),), (None, slice(None))]):
        out, at, new = (np.array(a[line], order="C") for a in (target, indices, updates))
        folder = tmp_path / str(axis)
        folder.mkdir()
        kernel = scatter(folder, out, at, new, axis, combine)
        assert kernel.run([out, at, new], [out]) == INDEX
        np.testing.assert_array_equal(out.ravel(), expected)


def convolve(x, w, stride, padding, dilation, groups):
    """The sum over the window, in float64."""
    n, ins, outs, window = *x.shape[:2], w.shape[0], np.array(w.shape[2:], int)
    x = np.pad(x.astype(float), [(0, 0), (0, 0), *map(tuple, padding)])
    out = (np.array(x.shape[2:], int) - dilation * (window - 1) - 1) // stride + 1
    result = np.zeros((n, outs, *out))
    for place in np.ndindex(*window):
        view = x[(slice(None), slice(None), *(
            slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, out, stride)))]
        view = view.reshape(n, groups, ins // groups, *out)
        weights = w[(slice(None), slice(None), *place)].reshape(groups, outs // groups, ins // groups)
        result += np.einsum("ngi...,goi->ngo...", view, weights).reshape(result.shape)
    return result


def fenced(array, rng, order=None):
    """A copy in this or a random order of its dimensions, in the middle of a block of ones, and the block."""
    if order is None:
        order = rng.permutation(array.ndim) if rng.integers(0, 3) == 0 else np.arange(array.ndim)
    block = np.ones(array.size + 256, array.dtype)
    inside = block[128:128 + array.size].reshape([array.shape[d] for d in order]).transpose(np.argsort(order))
    inside[...] = array
    return inside, block


def convolve_compiled(path, machine, rng, dtype, shapes, stride, padding, dilation, groups, layout=None):
    """A convolution of small integers, with something added, is the sum over the window by any division of chunks. `layout`: the
    dimensions of the input, and often of the result, from the outermost; else any."""
    listed = lambda a: "[" + ", ".join(map(str, np.ravel(a))) + "]"
    x, w = (rng.integers(-2, 3, shape).astype(dtype) for shape in shapes)
    expected = convolve(x, w, stride, padding, dilation, groups)
    add = rng.integers(-9, 10, expected.shape).astype(dtype)
    (x, _), (w, _), (add, _) = fenced(x, rng, layout), fenced(w, rng), fenced(add, rng)
    result, block = fenced(np.zeros_like(expected, dtype), rng, layout if layout and rng.integers(0, 3) else None)
    kinds, kind = f"({harness.tensor(x)}, {harness.tensor(w)})", harness.tensor(result)
    body = (f"%0 = loom.convolution %a0, %a1 strides = {listed(stride)} padding = {listed(padding)} "
            f"dilation = {listed(dilation)} groups = {groups} : {kinds} -> {kind}\n"
            f"%1 = loom.add %0, %a2 : {kind}\nyield %1")
    kernel = harness.Kernel(harness.kernel("k", [x, w, add], body, [result]), str(path), *machine)
    for parts in (1, 3):
        result[...] = 0
        assert kernel.run([x, w, add], [result], parts=parts, reverse=parts > 1) == 0
        np.testing.assert_array_equal(result, (expected + add).astype(int).astype(dtype))
        assert (block[:128] == 1).all() and (block[-128:] == 1).all()


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
@pytest.mark.parametrize("spatial", [0, 1, 2, 3])
def test_random_convolutions(tmp_path, cpu, options, spatial):
    """Small integers, so that every order of summing gives the same: whatever the sizes (lines of one pixel, steps and
    padding beyond the window), groups and layouts, with nothing written beside the result, by any division of chunks."""
    if cpu == "x86-64-v4" and not HAS_AVX512:
        pytest.skip("no AVX-512")
    rng = np.random.default_rng(spatial)
    for case in range(8 if spatial else 2):
        groups, dtype = int(rng.choice([1, 1, 2, 5])), rng.choice(["float32", "float32", "float64", "int8"])
        window, stride, dilation = (rng.integers(1, high, spatial) for high in (5, 6, 4))
        padding = rng.integers(0, 5, (spatial, 2))
        size = np.maximum(1, dilation * (window - 1) + 1 - padding.sum(1)) + rng.choice([0, 0, 1, 9, 20], spatial)
        ins, outs = groups * int(rng.integers(1, 6)), groups * int(rng.choice([1, 2, 3, 9, 17]))
        shapes = (int(rng.integers(1, 4)), ins, *size), (outs, ins // groups, *window)
        convolve_compiled(tmp_path / f"k{case}", (cpu, options), rng, dtype, shapes, stride, padding, dilation, groups)


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
def test_random_convolutions_of_neighbouring_channels(tmp_path, cpu, options):
    """Each channel by itself, where channels are neighbours in memory: fewer and more than a vector has lanes, lines shorter and
    longer than a tile, windows that leave the input on every side."""
    if cpu == "x86-64-v4" and not HAS_AVX512:
        pytest.skip("no AVX-512")
    rng = np.random.default_rng(6)
    for case in range(14):
        groups, dtype = int(rng.choice([4, 5, 16, 19, 40])), rng.choice(["float32", "float32", "float64", "int8"])
        window, stride, dilation = rng.integers(1, 6, 2), rng.integers(1, 4, 2), rng.choice([1, 1, 2, 3], 2)
        padding = rng.integers(0, 5, (2, 2))
        size = np.maximum(1, dilation * (window - 1) + 1 - padding.sum(1)) + rng.choice([0, 1, 7, 16, 40], 2)
        shapes = (int(rng.integers(1, 3)), groups, *size), (groups * int(rng.choice([1, 1, 2, 3])), 1, *window)
        convolve_compiled(tmp_path / f"k{case}", (cpu, options), rng, dtype, shapes, stride, padding, dilation, groups,
                          layout=(0, 2, 3, 1))


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
@pytest.mark.parametrize("outs", [1, 2, 3])
def test_convolutions_of_columns(tmp_path, monkeypatch, cpu, options, outs):
    """What is read of a line does not depend on the place in it; nothing is read of a line that does not exist."""
    if cpu == "x86-64-v4" and not HAS_AVX512:
        pytest.skip("no AVX-512")
    monkeypatch.setattr(harness, "CHECKED", True)
    rng = np.random.default_rng(outs)
    for case, (window, padding) in enumerate([((1, 2), ((2, 1), (1, 4))), ((3, 3), ((1, 1), (40, 40))), ((2, 3), ((3, 0), (2, 70)))]):
        shapes = (1, 4, 17, 1), (4 * outs, 1, *window)
        for dtype in ("int8", "float32"):
            convolve_compiled(tmp_path / f"k{case}{dtype}", (cpu, options), rng, dtype, shapes, np.array([1, 1]), np.array(padding),
                              np.array([1, 1]), 4, layout=(0, 2, 3, 1) if case == 0 else (0, 1, 2, 3))


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
@pytest.mark.parametrize("spatial", [0, 1, 2, 3])
def test_random_gradients_of_convolutions(tmp_path, cpu, options, spatial):
    """Like the convolutions above: the sum over all pixels of what a weight is multiplied with. Halves are summed as float32. Some
    channels have weights of their own and are neighbours in memory."""
    if cpu == "x86-64-v4" and not HAS_AVX512:
        pytest.skip("no AVX-512")
    rng = np.random.default_rng(10 + spatial)
    listed = lambda a: "[" + ", ".join(map(str, np.ravel(a))) + "]"
    for case in range(15 if spatial else 2):
        groups, dtype = int(rng.choice([1, 1, 2, 5])), rng.choice(["float32", "float16", "float64", "int8"])
        window, stride, dilation = (rng.integers(1, high, spatial) for high in (5, 4, 3))
        padding = rng.integers(0, 5, (spatial, 2)) * rng.integers(0, 2)
        size = np.maximum(1, dilation * (window - 1) + 1 - padding.sum(1)) + rng.choice([0, 0, 1, 9, 20], spatial)
        ins, outs = groups * int(rng.choice([1, 2, 5, 12])), groups * int(rng.choice([1, 2, 3, 9, 17, 40]))
        if case % 2 and spatial:
            ins = outs = groups = int(rng.choice([4, 7, 16, 33]))
        last = (0, *range(2, 2 + spatial), 1) if ins == outs == groups and case % 4 else None
        x = rng.integers(-2, 3, (int(rng.integers(1, 4)), ins, *size)).astype(dtype)
        pixels = (size + padding.sum(1) - dilation * (window - 1) - 1) // stride + 1
        gradient = rng.integers(-2, 3, (x.shape[0], outs, *pixels)).astype(dtype)
        expected = np.zeros((outs, ins // groups, *window))
        padded = np.pad(x.astype(float), [(0, 0), (0, 0), *map(tuple, padding)])
        for place in np.ndindex(*window):
            view = padded[(slice(None), slice(None), *(
                slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, pixels, stride)))]
            view = view.reshape(x.shape[0], groups, ins // groups, -1)
            each = gradient.astype(float).reshape(x.shape[0], groups, outs // groups, -1)
            expected[(slice(None), slice(None), *place)] = np.einsum("ngip,ngop->goi", view, each).reshape(outs, -1)
        (x, _), (gradient, _) = fenced(x, rng, last), fenced(gradient, rng, last)
        dtype = "float32" if dtype == "float16" else dtype
        result, block = fenced(np.zeros_like(expected, dtype), rng)
        kinds, kind = f"({harness.tensor(x)}, {harness.tensor(gradient)})", harness.tensor(result)
        body = (f"%0 = loom.convolution_gradient %a0, %a1 strides = {listed(stride)} padding = {listed(padding)} "
                f"dilation = {listed(dilation)} window = {listed(window)} groups = {groups} : {kinds} -> {kind}\nyield %0")
        kernel = harness.Kernel(harness.kernel("k", [x, gradient], body, [result]), str(tmp_path / f"k{case}"), cpu, options)
        for parts in (1, 3):
            result[...] = 0
            assert kernel.run([x, gradient], [result], parts=parts, reverse=parts > 1) == 0
            np.testing.assert_array_equal(result, expected.astype(int).astype(dtype))
            assert (block[:128] == 1).all() and (block[-128:] == 1).all()


@pytest.mark.parametrize("cpu, options", [("x86-64-v3", ""), ("x86-64-v4", "loom.vector = 64 : i64")])
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_random_gradients_of_depthwise_inputs(tmp_path, cpu, options, spatial):
    """Each pixel of the gradient goes to the places of its window, in tensors of any layout and with something added."""
    if cpu == "x86-64-v4" and not HAS_AVX512:
        pytest.skip("no AVX-512")
    rng = np.random.default_rng(30 + spatial)
    listed = lambda a: "[" + ", ".join(map(str, np.ravel(a))) + "]"
    for case in range(12 if spatial == 2 else 3):
        channels, dtype = int(rng.choice([1, 4, 7, 16, 33])), rng.choice(["float32", "float32", "float64", "int8"])
        window, stride, dilation = (rng.integers(1, high, spatial) for high in (5, 6, 3))
        dilation = dilation if case % 3 == 0 else np.ones(spatial, int)
        padding = rng.integers(0, 5, (spatial, 2)) * rng.integers(0, 2)
        size = np.maximum(1, dilation * (window - 1) + 1 - padding.sum(1)) + rng.choice([0, 1, 9, 20], spatial)
        pixels = (size + padding.sum(1) - dilation * (window - 1) - 1) // stride + 1
        gradient, weights = (rng.integers(-2, 3, shape).astype(dtype) for shape in ((2, channels, *pixels), (channels, 1, *window)))
        padded = np.zeros((2, channels, *(size + padding.sum(1))))
        for place in np.ndindex(*window):
            at = tuple(slice(k * d, k * d + (o - 1) * s + 1, s) for k, d, o, s in zip(place, dilation, pixels, stride))
            padded[(slice(None), slice(None), *at)] += gradient * weights[(slice(None), 0, *place)].reshape(-1, *[1] * spatial)
        expected = padded[(slice(None), slice(None), *(slice(low, low + n) for (low, _), n in zip(padding, size)))] * 2
        last = (0, *range(2, 2 + spatial), 1) if case % 2 else None
        (gradient, _), (weights, _) = fenced(gradient, rng, last), fenced(weights, rng)
        result, block = fenced(np.zeros_like(expected, dtype), rng, last)
        kinds, kind = f"({harness.tensor(gradient)}, {harness.tensor(weights)})", harness.tensor(result)
        body = (f"%0 = loom.convolution_input %a0, %a1 strides = {listed(stride)} padding = {listed(padding)} "
                f"dilation = {listed(dilation)} sizes = {listed(size)} : {kinds} -> {kind}\n"
                f"%1 = loom.add %0, %0 : {kind}\nyield %1")
        kernel = harness.Kernel(harness.kernel("k", [gradient, weights], body, [result]), str(tmp_path / f"k{case}"), cpu, options)
        for parts in (1, 3):
            result[...] = 0
            assert kernel.run([gradient, weights], [result], parts=parts, reverse=parts > 1) == 0
            np.testing.assert_array_equal(result, expected.astype(int).astype(dtype))
            assert (block[:128] == 1).all() and (block[-128:] == 1).all()


def sort(tmp_path, array, axis, numbers, name="k"):
    out = np.zeros(array.shape, np.int64 if numbers else array.dtype)
    body = (f"%0 = loom.sort %a0 axis = {axis} {{indices = {str(numbers).lower()}}} : ({harness.tensor(array)}) -> "
            f"{harness.tensor(out)}\nyield %0")
    kernel = harness.Kernel(harness.kernel("k", [array], body, [out]), str(tmp_path / name))
    results = []
    for parts in (1, 3):
        out[...] = 0
        assert kernel.run([array], [out], parts=parts, reverse=parts > 1) == 0
        results.append(out.copy())
    np.testing.assert_array_equal(*results)
    return out


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "int32", "uint64", "int64", "float32", "float64"])
def test_sort_is_numpys_stable_sort(tmp_path, dtype):
    """To the bit: NaNs of both signs last, zeros of both signs equal, extremes of integers."""
    rng = np.random.default_rng(2)
    if dtype[0] == "f":
        special = np.array([np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 1.0, -1.0, np.finfo(dtype).tiny / 4], dtype)
    elif dtype == "bool":
        special = np.array([False, True])
    else:
        special = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max, 0, 1], dtype)
    for case, (shape, axis) in enumerate([((5, 1), 1), ((9, 24), 1), ((25, 7), 0), ((2, 300, 3), 1), ((6000,), 0)]):
        x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
        x = np.where(rng.random(shape) < 0.4, rng.choice(special, shape), x).astype(dtype)
        if case == 3:
            x = np.asfortranarray(x)
        values, numbers = sort(tmp_path, x, axis, False, f"v{case}"), sort(tmp_path, x, axis, True, f"n{case}")
        assert values.tobytes() == np.sort(x, axis, kind="stable").tobytes()
        np.testing.assert_array_equal(numbers, np.argsort(x, axis, kind="stable"))
