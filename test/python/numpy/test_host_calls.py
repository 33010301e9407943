"""Functions of NumPy's without an op run in the library, between compiled kernels."""

import threading
import warnings

import numpy as np
import pytest

import frameloom
from compare import assert_same, outcome

EXPRESSIONS = """
np.linalg.inv(a)
np.linalg.inv(a + 1) * 2
np.linalg.det(a)
np.linalg.solve(a, a[0])
np.linalg.cholesky(a @ a.T)
np.linalg.eigvalsh(a + a.T)
np.linalg.pinv(a)
np.linalg.matrix_rank(a)
np.linalg.cond(a)
np.sort(v)
np.sort(a, axis=0)
np.argsort(v)
v.argsort()
a.argsort(axis=1) + 1
np.median(a)
np.median(a, axis=0)
np.percentile(v, 30)
np.quantile(a, [.1, .5], axis=1)
np.histogram(v)
np.histogram(v, bins=5, range=(-1, 1))
np.searchsorted(np.sort(v), a)
np.interp(a, np.sort(v), v)
np.convolve(v, v[:3])
np.correlate(v, v[:3])
np.digitize(a, [-1., 0., 1.])
np.nanmax(a, axis=0)
np.nanmean(a)
np.nanstd(a, axis=1)
np.insert(v, 1, 0)
np.delete(v, [1, 2])
np.partition(v, 3)[3]
np.linalg.inv(a).T.sum(0)
np.linalg.inv(a.T)
np.exp(np.sort(v * 2)) + 1
""".strip().split("\n")


def arguments():
    rng = np.random.default_rng(0)
    return rng.standard_normal((4, 4)) + 4 * np.eye(4), rng.standard_normal(9)


@pytest.mark.parametrize("expression", EXPRESSIONS)
def test_expression(expression):
    function = eval("lambda a, v: " + expression, {"np": np})
    compiled = frameloom.compile(function, fullgraph=True)
    for _ in range(2):
        assert_same(compiled(*arguments()), function(*arguments()), ulps=64, scale=1)


def test_exception_is_the_library_s():
    def program(a):
        return np.linalg.inv(a * 0) + 1

    compiled = frameloom.compile(program)
    for _ in range(2):
        _, error, _ = outcome(compiled, [np.eye(3)])
        assert type(error) is np.linalg.LinAlgError and str(error) == "Singular matrix"


def test_sizes_that_depend_on_data_fall_back():
    def program(v, where):
        return np.delete(v, where) * 2

    compiled = frameloom.compile(program)
    v = np.arange(6.0)
    for where in (np.array([0, 1]), np.array([2, 2]), np.array([5, 3])):
        assert_same(compiled(v, where), program(v, where))


def smallest(a):
    return np.nanmin(a, axis=-1)


@pytest.mark.parametrize("action", ["always", "default", "once", "module", "error"])
def test_warnings_name_the_users_line(action):
    """As plain NumPy gives them: file, line, registry of the module and what the filters make of it."""
    import traceback

    def program(a):
        b = a + 1
        return smallest(b) * 2, np.nanmean(a[:, :1], axis=0)

    compiled = frameloom.compile(program)
    a, seen = np.full((2, 3), np.nan), []
    for function in (program, compiled, compiled):
        globals().pop("__warningregistry__", None)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter(action)
            where = None
            try:
                for _ in range(2):
                    function(a)
            except RuntimeWarning as warning:
                where = [f.lineno for f in traceback.extract_tb(warning.__traceback__)][1:]
        seen.append(([(str(w.message), w.filename, w.lineno) for w in caught], where,
                     sorted(map(str, globals().get("__warningregistry__", {})))))
    assert seen[0] == seen[1] == seen[2]


def sorts_what_it_returns(a):
    b = a * 2
    return np.sort(b, axis=0), b, np.linalg.norm(b, axis=0)


def sorts_what_it_writes(a):
    a *= 2
    c = np.percentile(a, 30, axis=0)
    return c, np.median(a.reshape(-1)) + c


@pytest.mark.parametrize("function", [sorts_what_it_returns, sorts_what_it_writes])
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 0), (2, 0, 1)])
def test_layouts_of_what_is_read(function, order):
    """A buffer that is also a result, in the layout that NumPy gives it, is not read as if it were in C order."""
    values = np.random.default_rng(0).integers(0, 99, (3, 4, 5)).astype(float)
    mine, plain = (values.transpose(order).copy().transpose(np.argsort(order)) for _ in range(2))
    compiled = frameloom.compile(function)
    for _ in range(2):
        got, want = outcome(compiled, (mine,)), outcome(function, (plain,))
        assert got[1:] == want[1:]
        assert_same(got[0], want[0])
        assert_same(mine, plain)


def test_each_warning_once():
    """A call that warns, and a floating-point exception after it that has to be reported: both once, in their order."""
    def program(a):
        b = np.nanmax(a, axis=-1)
        return b, 1 / (a[0] - a[0]), np.median(b)

    compiled = frameloom.compile(program)
    a, before = np.array([[np.nan, np.nan], [1.0, 2.0]])[::-1], list(warnings.filters)
    for _ in range(3):
        assert outcome(compiled, (a,))[2] == outcome(program, (a,))[2]
    assert warnings.filters == before
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert repr(compiled(a)) == repr(program(a))


def test_each_warning_once_beside_another_thread():
    """The filters of warnings belong to all threads: what a call's warnings do to it must not happen to those of others."""
    ended, raised = threading.Event(), []

    def warn():
        while not ended.is_set():
            try:
                warnings.warn("of another thread", stacklevel=1)
            except UserWarning as error:
                raised.append(error)

    def program(a):
        b = np.nanmax(a, axis=-1)
        return b, 1 / (a[0] - a[0]), np.median(b)

    a = np.array([[np.nan, np.nan], [1.0, 2.0]])[::-1]
    compiled, other = frameloom.compile(program), threading.Thread(target=warn)

    def told(function):
        return [row for row in outcome(function, (a,))[2] if "another thread" not in row[1]]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        other.start()
        try:
            for _ in range(100):
                assert told(compiled) == told(program)
        finally:
            ended.set()
            other.join()
    assert not raised


TRANSFORMS = """np.fft.fft(v) | np.fft.ifft(v) | np.fft.rfft(v) | np.fft.irfft(v) | np.fft.hfft(v) | np.fft.ihfft(v) | np.fft.fft2(a) | np.fft.rfft2(a)
np.fft.irfft2(a) | np.fft.fftn(a, axes=(0,)) | np.fft.ifftn(a) | np.fft.rfftn(a, s=(4, 6), axes=(0, 1)) | np.fft.fft(a, axis=0) | np.fft.fft(v, 12) | np.fft.fft(v, norm='ortho')
np.fft.ifft(np.fft.fft(v)).real + 1 | np.fft.irfft(np.fft.rfft(v) * 2, 9) | np.fft.fftshift(np.fft.fft(v)) | np.fft.fftfreq(8) + v[:8] | np.fft.fft(a.T) * 1j | abs(np.fft.rfft(v)) ** 2
np.fft.fft(v.astype(np.float32)) | np.fft.fft(np.arange(4)) | np.fft.fft(v, 0)""".replace("\n", " | ").split(" | ")


@pytest.mark.parametrize("expression", TRANSFORMS)
def test_transforms(expression):
    function = eval("lambda a, v: " + expression, {"np": np})
    compiled = frameloom.compile(function)
    for _ in range(2):
        want, want_error, _ = outcome(function, list(arguments()))
        got, error, _ = outcome(compiled, list(arguments()))
        assert type(error) is type(want_error) and str(error) == str(want_error)
        if want_error is None:
            assert got.dtype == want.dtype and got.shape == want.shape and got.strides == want.strides
            np.testing.assert_allclose(got, want, rtol=1e-12, atol=1e-12)


def test_transforms_of_several_lengths():
    program = lambda v: np.fft.irfft(np.fft.rfft(v) * 2, len(v)) + np.fft.fft(v).real  # noqa: E731
    compiled = frameloom.compile(program)
    for n in (8, 9, 16, 5, 31, 8):
        v = np.sin(np.arange(n) * 1.0)
        np.testing.assert_allclose(compiled(v), program(v), rtol=1e-12, atol=1e-12)


KNOWN = EXPRESSIONS + """
np.histogram2d([0., 1, 2, 3], [1., 1, 2, 5])
np.histogram2d(v, v, bins=3)[0][1:]
np.histogramdd(a, bins=2)
np.histogram(v, np.linspace(-1, 1, 5))
np.fft.fft(v).imag
np.fft.irfft2(a)
np.fft.rfft(a, axis=0)
np.linalg.qr(a)[1]
np.linalg.svd(a)
np.linalg.lstsq(a, v[:4], rcond=None)
np.linspace([1., 2], [3, 4], 3, axis=1)
np.unravel_index([3, 4, 5], (3, 4))
np.broadcast_to([1., 2], (3, 2))
np.broadcast_to(v[:4], (2, 4, 4))
""".strip().split("\n")


def arrays_in(result):
    if isinstance(result, np.ndarray):
        return [result]
    return [array for item in result for array in arrays_in(item)] if isinstance(result, (tuple, list)) else []


def inside_its_memory(array):
    """Elements lie in the memory of what owns them."""
    owner = array
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    low, high = np.lib.array_utils.byte_bounds(array)
    start = owner.__array_interface__["data"][0]
    return low >= start and high <= start + owner.nbytes


@pytest.mark.parametrize("expression", KNOWN)
@pytest.mark.parametrize("lists", [False, True])
def test_known_arguments(expression, lists):
    """The library is asked when the function is captured. Results keep their strides, views with gaps have the gaps, and
    nobody else's memory."""
    how = "{}" if lists else "np.array({})"
    a, v = (how.format(array.tolist()) for array in arguments())
    source = f"def f():\n    a, v = {a}, {v}\n    r = {expression}\n    return r, a, v"
    scope = {"np": np}
    exec(source, scope)
    try:
        scope["f"]()
    except (TypeError, AttributeError):
        pytest.skip("not of lists")
    compiled = frameloom.compile(scope["f"])
    for _ in range(3):
        got, expected = compiled(), scope["f"]()
        for ours, theirs in zip(arrays_in(got), arrays_in(expected), strict=True):
            assert inside_its_memory(ours)
            assert ours.strides == theirs.strides and ours.flags.owndata == theirs.flags.owndata
            if ours.flags.writeable:
                ours += 1
                theirs += 1
        assert_same(got, expected, ulps=64, scale=1)


def test_known_arguments_in_the_result():
    """What a function hands back as it got it is one array, also when everything is known."""
    def edges():
        known = np.linspace(0, 1, 5)
        counts, same = np.histogram([0.1, 0.2], known)
        same[0] = -9
        return known, counts

    compiled = frameloom.compile(edges)
    for _ in range(3):
        assert_same(compiled(), edges())


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "float16", "float32"])
def test_made_up_arguments_warn_of_nothing(dtype):
    """A library call is first tried on made-up arrays: numbers in these that the dtype does not hold would warn."""
    x = np.zeros(65521, dtype)
    fn = frameloom.compile(lambda a: np.partition(a, 65000))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(2):
            assert fn(x).dtype == x.dtype
