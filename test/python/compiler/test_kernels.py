"""The lowering of kernels compared with NumPy, kernel by kernel."""

import kernel_harness as kh
import numpy as np
import pytest

pytestmark = pytest.mark.skipif(not kh.available(), reason="needs loom-opt and LLVM's tools")
rng = np.random.default_rng(7)


def kernel_gives(tmp_path, inputs, body, expected, scalars=(), rtol=0, status=0, layout=None, **options):
    """Compiles the body, runs it whole and in parts, compares with `expected` (a list of arrays)."""
    outputs = [np.zeros_like(e) if layout is None else layout(e) for e in expected]
    arrays = [a for i, a in enumerate(inputs) if i not in scalars]
    compiled = kh.Kernel(kh.kernel("k", inputs, body, outputs, scalars), str(tmp_path / f"k{len(list(tmp_path.iterdir()))}"), **options)
    values = [inputs[i] for i in scalars]
    for parts, reverse in ((1, False), (3, True)):
        for out in outputs:
            out[...] = 1 if out.dtype == bool else 77
        assert compiled.run(arrays, outputs, values, parts, reverse) == status
        for out, want in zip(outputs, expected):
            if rtol:
                np.testing.assert_allclose(out, want, rtol=rtol, atol=rtol * np.abs(want).max(initial=0) * 0.01)
            else:
                np.testing.assert_array_equal(out, want)
    return compiled


def ty(array):
    return kh.tensor(np.asarray(array))


@pytest.mark.parametrize("n", [1, 3, 16, 37, 1000, 100003])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int64"])
def test_add(tmp_path, n, dtype):
    a, b = (rng.integers(-100, 100, n).astype(dtype) for _ in range(2))
    kernel_gives(tmp_path, [a, b], f"%0 = loom.add %a0, %a1 : {ty(a)}\nyield %0", [a + b])


def test_layouts(tmp_path):
    a = rng.standard_normal((40, 50)).astype("f4")
    inputs = [a[::-1, ::2], a.T[:40, :25], np.broadcast_to(a[0, :25], (40, 25)), a[:, 49::-2], a[:40, :25].copy("F")]
    body = "\n".join(f"%{i} = loom.add {'%a0' if i == 0 else f'%{i - 1}'}, %a{i + 1} : {ty(inputs[0])}" for i in range(4))
    want = inputs[0] + inputs[1] + inputs[2] + inputs[3] + inputs[4]
    kernel_gives(tmp_path, inputs, body + "\nyield %3", [want])


def test_scalar_and_views(tmp_path):
    a = rng.standard_normal((6, 35)).astype("f4")
    s = np.array(2.5, "f4")
    body = f"""
    %0 = loom.reshape %a0 : ({ty(a)}) -> tensor<6x5x7xf32>
    %1 = loom.transpose %0 perm = [2, 0, 1] : (tensor<6x5x7xf32>) -> tensor<7x6x5xf32>
    %2 = loom.slice %1 starts = [6, 1, 0] sizes = [3, 5, 5] steps = [-2, 1, 1] : (tensor<7x6x5xf32>) -> tensor<3x5x5xf32>
    %3 = loom.broadcast %a1 dims = [] : (tensor<f32>) -> tensor<3x5x5xf32>
    %4 = loom.mul %2, %3 : tensor<3x5x5xf32>
    yield %4"""
    want = a.reshape(6, 5, 7).transpose(2, 0, 1)[6:1:-2, 1:6] * s
    kernel_gives(tmp_path, [a, s], body, [np.ascontiguousarray(want)], scalars=(1,))


def test_reshape_that_is_not_affine(tmp_path):
    a = rng.standard_normal((12, 10)).astype("f4")
    body = f"""
    %0 = loom.transpose %a0 perm = [1, 0] : ({ty(a)}) -> tensor<10x12xf32>
    %1 = loom.reshape %0 : (tensor<10x12xf32>) -> tensor<8x15xf32>
    %2 = loom.add %1, %1 : tensor<8x15xf32>
    yield %2"""
    kernel_gives(tmp_path, [a], body, [a.T.reshape(8, 15) * 2])


DTYPES = ["bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64"]


@pytest.mark.parametrize("source", DTYPES)
def test_convert(tmp_path, source):
    a = rng.integers(0, 2 if source == "bool" else 120, 77).astype(source)
    if source.startswith("float"):
        a = a + np.array(0.6, source)
    lines = [f"%{i} = loom.convert %a0 : ({ty(a)}) -> {ty(a.astype(d))}" for i, d in enumerate(DTYPES)]
    lines.append("yield " + ", ".join(f"%{i}" for i in range(len(DTYPES))))
    kernel_gives(tmp_path, [a], "\n".join(lines), [a.astype(d) for d in DTYPES])


@pytest.mark.parametrize("dtype", ["int32", "int8", "uint8", "int16", "uint16", "uint32", "int64", "uint64"])
def test_integer_division(tmp_path, dtype):
    info = np.iinfo(dtype)
    a = rng.integers(info.min, info.max, 4001, dtype, endpoint=True)
    b = rng.integers(0, 6, 4001).astype(dtype)
    b[3000:] = rng.integers(info.min, info.max, 1001, dtype, endpoint=True)
    a[2000:2500] = info.max
    a[0], b[0], b[1] = info.min, info.max, 0
    if info.min < 0:
        b[0] = -1
        b[2::2] *= -1
    names = ["floor_div", "rem", "fmod"]
    lines = [f"%{i} = loom.{op} %a0, %a1 : {ty(a)}" for i, op in enumerate(names)]
    with np.errstate(all="ignore"):
        want = [np.floor_divide(a, b), np.remainder(a, b), np.fmod(a, b)]
    kernel_gives(tmp_path, [a, b], "\n".join(lines) + "\nyield %0, %1, %2", want, status=3 if info.min < 0 else 1)


@pytest.mark.parametrize("dtype", ["int32", "uint8", "int64"])
def test_integer_ops(tmp_path, dtype):
    a = rng.integers(np.iinfo(dtype).min, np.iinfo(dtype).max, 61, dtype, endpoint=True)
    b = rng.integers(0, 40, 61).astype(dtype)
    ops = {"shl": np.left_shift, "shr": np.right_shift, "and": np.bitwise_and, "xor": np.bitwise_xor, "gcd": np.gcd,
           "max": np.maximum, "min": np.minimum, "pow": np.power, "mul": np.multiply}
    lines = [f"%{i} = loom.{op} %a0, %a1 : {ty(a)}" for i, op in enumerate(ops)]
    lines.append("yield " + ", ".join(f"%{i}" for i in range(len(ops))))
    with np.errstate(all="ignore"):
        kernel_gives(tmp_path, [a, b], "\n".join(lines), [f(a, b) for f in ops.values()])


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_float_ops(tmp_path, dtype):
    special = np.array([0.0, -0.0, 1, -1.5, np.inf, -np.inf, np.nan, 2.5, 3.5], dtype)
    a, b = (np.ascontiguousarray(x.ravel()) for x in np.meshgrid(special, special))
    ops = {"add": np.add, "div": np.divide, "max": np.maximum, "min": np.minimum, "fmax": np.fmax, "fmin": np.fmin,
           "copysign": np.copysign}
    unary = {"abs": np.abs, "neg": np.negative, "sign": np.sign, "floor": np.floor, "ceil": np.ceil,
             "trunc": np.trunc, "round_even": np.rint, "sqrt": np.sqrt}
    predicates = {"is_nan": np.isnan, "is_inf": np.isinf, "is_finite": np.isfinite, "signbit": np.signbit}
    compares = {"eq": np.equal, "ne": np.not_equal, "lt": np.less, "le": np.less_equal, "gt": np.greater}
    lines, want = [], []
    bools = ty(a.astype(bool))
    with np.errstate(all="ignore"):
        for op, f in ops.items():
            lines.append(f"%{len(lines)} = loom.{op} %a0, %a1 : {ty(a)}")
            want.append(f(a, b))
        for op, f in unary.items():
            lines.append(f"%{len(lines)} = loom.{op} %a0 : {ty(a)}")
            want.append(f(a))
        for op, f in predicates.items():
            lines.append(f"%{len(lines)} = loom.{op} %a0 : ({ty(a)}) -> {bools}")
            want.append(f(a))
        for op, f in compares.items():
            lines.append(f"%{len(lines)} = loom.compare \"{op}\" %a0, %a1 : ({ty(a)}, {ty(a)}) -> {bools}")
            want.append(f(a, b))
    lines.append("yield " + ", ".join(f"%{i}" for i in range(len(want))))
    kernel_gives(tmp_path, [a, b], "\n".join(lines), want)


def reductions_give(tmp_path, shape, axes, dtype):
    a = rng.integers(-50, 50, shape).astype(dtype)
    want, lines = [], []
    with np.errstate(all="ignore"):
        for kind, f in {"sum": np.sum, "min": np.min, "max": np.max}.items():
            want.append(np.asarray(f(a, axis=axes, **({"dtype": dtype} if kind == "sum" else {}))))
            lines.append(f"%{len(lines)} = loom.reduce \"{kind}\" %a0 axes = {list(axes)} : ({ty(a)}) -> {ty(want[-1])}")
    if len(axes) == 1:
        for kind, f in {"argmin": np.argmin, "argmax": np.argmax}.items():
            want.append(np.asarray(f(a, axis=axes[0])))
            lines.append(f"%{len(lines)} = loom.reduce \"{kind}\" %a0 axes = {list(axes)} : ({ty(a)}) -> {ty(want[-1])}")
    lines.append("yield " + ", ".join(f"%{i}" for i in range(len(want))))
    return kernel_gives(tmp_path, [a], "\n".join(lines), want)


@pytest.mark.parametrize("shape,axes", [((7, 100), (1,)), ((7, 100), (0,)), ((5, 6, 70), (0, 2)), ((40, 3, 9), (1, 2)),
                                        ((33000,), (0,)), ((3, 41), (0, 1)), ((257, 129), (0,)), ((4, 5000), (1,))])
@pytest.mark.parametrize("dtype", ["float32", "int64", "int8"])
def test_reduce(tmp_path, shape, axes, dtype):
    reductions_give(tmp_path, shape, axes, dtype)


def test_sum_is_accurate(tmp_path):
    a = rng.random((3, 60000)).astype("f4")
    exact = a.astype("f8").sum(axis=1)
    body = f"%0 = loom.reduce \"sum\" %a0 axes = [1] : ({ty(a)}) -> tensor<3xf32>\nyield %0"
    out = np.zeros(3, "f4")
    kh.Kernel(kh.kernel("k", [a], body, [out]), str(tmp_path / "k")).run([a], [out])
    assert np.abs(out - exact).max() <= 2 * np.abs(a.sum(axis=1) - exact).max() + np.spacing(np.float32(exact.max()))


@pytest.mark.parametrize("axis", [0, 1])
def test_nan_in_reductions(tmp_path, axis):
    a = rng.standard_normal((50, 60)).astype("f4")
    a[3, 5] = a[40, 5] = a[3, 50] = np.nan
    a[7] = np.inf
    lines, want = [], []
    for kind, f in {"min": np.min, "max": np.max, "argmin": np.argmin, "argmax": np.argmax}.items():
        want.append(f(a, axis=axis))
        lines.append(f"%{len(lines)} = loom.reduce \"{kind}\" %a0 axes = [{axis}] : ({ty(a)}) -> {ty(want[-1])}")
    kernel_gives(tmp_path, [a], "\n".join(lines) + "\nyield %0, %1, %2, %3", want)


@pytest.mark.parametrize("axis", [0, 1])
def test_normalise(tmp_path, axis):
    """Two dependent reductions and a result of the full shape in one kernel."""
    a = rng.standard_normal((70, 130)).astype("f4")
    n = a.shape[axis]
    kept = ty(a.sum(axis=axis))
    body = f"""
    %n = loom.constant({n}.0 : f32) : {kept}
    %0 = loom.reduce "sum" %a0 axes = [{axis}] : ({ty(a)}) -> {kept}
    %1 = loom.div %0, %n : {kept}
    %2 = loom.broadcast %1 dims = [{1 - axis}] : ({kept}) -> {ty(a)}
    %3 = loom.sub %a0, %2 : {ty(a)}
    %4 = loom.mul %3, %3 : {ty(a)}
    %5 = loom.reduce "sum" %4 axes = [{axis}] : ({ty(a)}) -> {kept}
    %6 = loom.div %5, %n : {kept}
    %7 = loom.sqrt %6 : {kept}
    %8 = loom.broadcast %7 dims = [{1 - axis}] : ({kept}) -> {ty(a)}
    %9 = loom.div %3, %8 : {ty(a)}
    yield %9, %1, %6"""
    mean, var = a.mean(axis=axis, dtype="f8"), a.var(axis=axis, dtype="f8")
    full = (a - np.expand_dims(mean, axis)) / np.sqrt(np.expand_dims(var, axis))
    kernel_gives(tmp_path, [a], body, [full.astype("f4"), mean.astype("f4"), var.astype("f4")], rtol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "int8"])
def test_pad_and_concatenate(tmp_path, dtype):
    a = rng.integers(-9, 9, (5, 21)).astype(dtype)
    c = rng.integers(-9, 9, (5, 3)).astype(dtype)
    v = np.array(7, dtype)
    t = kh.NAMES[dtype]
    body = f"""
    %0 = loom.pad %a0, %a1 low = [1, 2] high = [2, 3] : ({ty(a)}, {ty(v)}) -> tensor<8x26x{t}>
    yield %0"""
    kernel_gives(tmp_path, [a, v], body, [np.pad(a, ((1, 2), (2, 3)), constant_values=7)], scalars=(1,))
    body = f"""
    %0 = loom.add %a1, %a1 : {ty(c)}
    %1 = loom.concatenate %a0, %0, %a0 axis = 1 : ({ty(a)}, {ty(c)}, {ty(a)}) -> tensor<5x45x{t}>
    %2 = loom.transpose %1 perm = [1, 0] : (tensor<5x45x{t}>) -> tensor<45x5x{t}>
    yield %1"""
    kernel_gives(tmp_path, [a, c], body, [np.concatenate([a, c + c, a], axis=1)])
    body = f"""
    %1 = loom.concatenate %a0, %a0 axis = 0 : ({ty(a)}, {ty(a)}) -> tensor<10x21x{t}>
    yield %1"""
    kernel_gives(tmp_path, [a], body, [np.concatenate([a, a], axis=0)])


@pytest.mark.parametrize("step", [1, 2, -1, -3])
def test_update_slice(tmp_path, step):
    a = rng.integers(-9, 9, (6, 40)).astype("f4")
    want = a.copy()
    view = want[2:5, 30:8:step] if step < 0 else want[2:5, 8:30:step]
    u = rng.integers(10, 90, view.shape).astype("f4")
    view[...] = u
    body = f"""
    %0 = loom.update_slice %a0, %a1 starts = [2, {30 if step < 0 else 8}] steps = [1, {step}] : ({ty(a)}, {ty(u)}) -> {ty(a)}
    yield %0"""
    kernel_gives(tmp_path, [a, u], body, [want])


@pytest.mark.parametrize("mode", ["raise", "wrap", "clip"])
@pytest.mark.parametrize("axis", [0, 1])
def test_gather(tmp_path, mode, axis):
    a = rng.standard_normal((9, 23)).astype("f4")
    bound = a.shape[axis] if mode == "raise" else 60
    index = rng.integers(-bound, bound, (4, 17))
    want = np.take(a, index, axis=axis, mode=mode)
    body = f"""
    %0 = loom.gather "{mode}" %a0, %a1 axis = {axis} : ({ty(a)}, {ty(index)}) -> {ty(want)}
    %1 = loom.add %0, %0 : {ty(want)}
    yield %1"""
    compiled = kernel_gives(tmp_path, [a, index], body, [want + want])
    if mode == "raise":
        index[3, 5] = a.shape[axis]
        assert compiled.run([a, index], [np.zeros_like(want)]) == 0x100


def test_iota(tmp_path):
    a = np.zeros((7, 37), "f4")
    body = f"""
    %0 = loom.iota {{axis = 1 : i64}} : {ty(a)}
    %1 = loom.iota {{axis = 0 : i64}} : {ty(a)}
    %2 = loom.sub %0, %1 : {ty(a)}
    %3 = loom.add %2, %a0 : {ty(a)}
    yield %3"""
    kernel_gives(tmp_path, [a], body, [np.arange(37, dtype="f4") - np.arange(7, dtype="f4")[:, None]])


@pytest.mark.parametrize("shape,axis", [((5, 40), 1), ((40, 37), 0), ((6, 7, 33), 1), ((1000,), 0), ((3, 1), 1)])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_scan(tmp_path, shape, axis, dtype):
    a = rng.integers(-3, 4, shape).astype(dtype)
    body = f"""
    %0 = loom.add %a0, %a0 : {ty(a)}
    %1 = loom.scan "sum" %0 axis = {axis} : {ty(a)}
    %2 = loom.scan "prod" %a0 axis = {axis} : {ty(a)}
    yield %1, %2"""
    with np.errstate(all="ignore"):
        want = [np.cumsum(a + a, axis=axis, dtype=dtype), np.cumprod(a, axis=axis, dtype=dtype)]
    kernel_gives(tmp_path, [a], body, want)


@pytest.mark.parametrize("shape,axes", [((600001,), (0,)), ((3, 200003), (1,)), ((3000, 211), (0,)), ((700, 3, 301), (0, 1)),
                                        ((2, 700, 3, 101), (0, 1, 3)), ((100003, 5), (0,)), ((3, 400, 500), (1, 2)),
                                        ((301, 5003), (0,))])
@pytest.mark.parametrize("dtype", ["float32", "int16"])
def test_split_reductions(tmp_path, shape, axes, dtype):
    compiled = reductions_give(tmp_path, shape, axes, dtype)
    assert len(compiled.chunks) == 2 and compiled.slots > 0


@pytest.mark.parametrize("axis", [0, 1, None])
def test_split_normalise(tmp_path, axis):
    """Three stages: mean, variance, the result of the full shape."""
    a = rng.standard_normal((1201, 7) if axis is None else (3, 200005) if axis else (50001, 13)).astype("f4")
    if axis is None:
        a = rng.standard_normal((1201, 701)).astype("f4")
    axes = [0, 1] if axis is None else [axis]
    kept = ty(np.asarray(a.sum(axis=axis)))
    dims = [] if axis is None else [1 - axis]
    n = a.size if axis is None else a.shape[axis]
    body = f"""
    %n = loom.constant({n}.0 : f32) : {kept}
    %0 = loom.reduce "sum" %a0 axes = {axes} : ({ty(a)}) -> {kept}
    %1 = loom.div %0, %n : {kept}
    %2 = loom.broadcast %1 dims = {dims} : ({kept}) -> {ty(a)}
    %3 = loom.sub %a0, %2 : {ty(a)}
    %4 = loom.mul %3, %3 : {ty(a)}
    %5 = loom.reduce "sum" %4 axes = {axes} : ({ty(a)}) -> {kept}
    %6 = loom.div %5, %n : {kept}
    %7 = loom.sqrt %6 : {kept}
    %8 = loom.broadcast %7 dims = {dims} : ({kept}) -> {ty(a)}
    %9 = loom.div %3, %8 : {ty(a)}
    yield %9, %1, %6"""
    mean, var = np.asarray(a.mean(axis=axis, dtype="f8")), np.asarray(a.var(axis=axis, dtype="f8"))
    expand = (lambda x: x) if axis is None else (lambda x: np.expand_dims(x, axis))
    full = (a - expand(mean)) / np.sqrt(expand(var))
    compiled = kernel_gives(tmp_path, [a], body, [full.astype("f4"), mean.astype("f4"), var.astype("f4")], rtol=1e-4)
    assert len(compiled.chunks) == 3


@pytest.mark.parametrize("shape", [(64, 96), (70, 133), (3, 65, 40), (32, 32), (16, 17), (600, 300)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int16", "bool"])
def test_transposed_tiles(tmp_path, shape, dtype):
    a = rng.integers(-50, 50, shape).astype(dtype)
    c = np.ascontiguousarray(np.swapaxes(a, -1, -2))[..., ::-1]
    t = np.swapaxes(a, -1, -2)
    body = f"""
    %0 = loom.{'xor' if dtype == 'bool' else 'add'} %a0, %a1 : {ty(c)}
    yield %0"""
    compiled = kernel_gives(tmp_path, [t, c], body, [t ^ c if dtype == "bool" else t + c])
    assert compiled.scratch > 0


@pytest.mark.parametrize("shape", [(50, 130), (7, 1), (5, 1024), (33, 37)])
def test_softmax_saves_its_exponentials(tmp_path, shape):
    a = rng.standard_normal(shape).astype("f4")
    kept = f"tensor<{shape[0]}xf32>"
    body = f"""
    %0 = loom.reduce "max" %a0 axes = [1] : ({ty(a)}) -> {kept}
    %1 = loom.broadcast %0 dims = [0] : ({kept}) -> {ty(a)}
    %2 = loom.sub %a0, %1 : {ty(a)}
    %3 = loom.exp %2 : {ty(a)}
    %4 = loom.reduce "sum" %3 axes = [1] : ({ty(a)}) -> {kept}
    %5 = loom.broadcast %4 dims = [0] : ({kept}) -> {ty(a)}
    %6 = loom.div %3, %5 : {ty(a)}
    yield %6"""
    e = np.exp(a.astype("f8") - a.max(axis=1, keepdims=True))
    compiled = kernel_gives(tmp_path, [a], body, [(e / e.sum(axis=1, keepdims=True)).astype("f4")], rtol=2e-6)
    assert shape[1] == 1 or compiled.scratch >= 4 * shape[1]


@pytest.mark.parametrize("shape", [(4096, 211), (4095, 211), (703, 3, 301), (1021, 4101)])
def test_column_sums_take_several_rows(tmp_path, shape):
    a = rng.integers(-50, 50, shape).astype("f4")
    axes = tuple(range(len(shape) - 1))
    want = a.sum(axis=axes)
    body = f"%0 = loom.reduce \"sum\" %a0 axes = {list(axes)} : ({ty(a)}) -> {ty(want)}\nyield %0"
    kernel_gives(tmp_path, [a], body, [want])


@pytest.mark.parametrize("shape", [(1003, 3), (1003, 7), (1003, 16), (3, 1003)])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "int64"])
def test_narrow_reductions(tmp_path, shape, axis, dtype):
    """Lanes along rows of a few elements, or across them."""
    a = rng.integers(-50, 50, shape).astype(dtype)
    want, lines = [], []
    for kind, f in {"max": np.max, "argmin": np.argmin, "argmax": np.argmax}.items():
        want.append(np.asarray(f(a, axis=axis)))
        lines.append(f"%{len(lines)} = loom.reduce \"{kind}\" %a0 axes = [{axis}] : ({ty(a)}) -> {ty(want[-1])}")
    lines.append("yield " + ", ".join(f"%{i}" for i in range(len(want))))
    kernel_gives(tmp_path, [a], "\n".join(lines), want)


@pytest.mark.parametrize("step", [2, 3, 4, 5, -2, -3, -4, -7, 8, -8, 9])
@pytest.mark.parametrize("dtype", ["float32", "int8", "bool", "int64"])
def test_steps(tmp_path, step, dtype):
    a = rng.integers(0, 2 if dtype == "bool" else 100, 64 * abs(step)).astype(dtype)[::step]
    op = "xor" if dtype == "bool" else "add"
    body = f"%0 = loom.{op} %a0, %a0 : {ty(a)}\nyield %0"
    kernel_gives(tmp_path, [a], body, [a ^ a if dtype == "bool" else a + a])
