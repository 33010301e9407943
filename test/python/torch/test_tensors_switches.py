"""Switches of torch's process and thread that change between two calls: the compiled function does what eager torch does."""

import contextlib
import warnings

import pytest

torch = pytest.importorskip("torch")

import frameloom  # noqa: E402
from reports import captures  # noqa: E402
from torch.nn import functional as F  # noqa: E402
from torch.nn.attention import SDPBackend, sdpa_kernel  # noqa: E402


@contextlib.contextmanager
def switched(on, off):
    on()
    try:
        yield
    finally:
        off()


def deterministic(mode, fills=True):
    def on():
        torch.set_deterministic_debug_mode(mode)
        torch.utils.deterministic.fill_uninitialized_memory = fills

    def off():
        torch.set_deterministic_debug_mode("default")
        torch.utils.deterministic.fill_uninitialized_memory = True

    return switched(on, off)


SWITCHES = {
    "deterministic": lambda: deterministic("error"),
    "deterministic, warns": lambda: deterministic("warn"),
    "deterministic, not filled": lambda: deterministic("error", False),
    "attention in parts": lambda: sdpa_kernel(SDPBackend.MATH),
    "attention by nothing": lambda: sdpa_kernel(SDPBackend.CUDNN_ATTENTION),
    "without mkldnn": lambda: switched(lambda: torch._C._set_mkldnn_enabled(False), lambda: torch._C._set_mkldnn_enabled(True)),
    "float64": lambda: switched(lambda: torch.set_default_dtype(torch.float64), lambda: torch.set_default_dtype(torch.float32)),
    "meta": lambda: torch.device("meta"),
    "denormals": lambda: switched(lambda: torch.set_flush_denormal(True), lambda: torch.set_flush_denormal(False)),
}

X, PLACES = torch.linspace(-1, 1, 48).view(6, 8), torch.tensor([1, 1, 2, 0, 3, 3, 3, 1])
IMAGE = torch.linspace(-1, 1, 2 * 4 * 81).view(2, 4, 9, 9).contiguous(memory_format=torch.channels_last)
KERNEL, TOKENS = torch.linspace(-1, 1, 216).view(6, 4, 3, 3), torch.linspace(-1, 1, 128).view(1, 2, 8, 8)
TINY = torch.full((8,), 1e-42)

# Functions, and whether what they give is determined when tensors are not filled.
FUNCTIONS = {
    "empty": (lambda: torch.empty(7), False),
    "empty of ints": (lambda: torch.empty(7, dtype=torch.int16), False),
    "empty of bools": (lambda: X.new_empty(3, 2, dtype=torch.bool), False),
    "empty like": (lambda: torch.empty_like(X.t()).view(torch.int32), False),
    "empty by strides": (lambda: torch.empty_strided((2, 3), (1, 2), dtype=torch.complex64), False),
    "empty, written": (lambda: torch.empty(4).fill_(2) + X[0, :4], True),
    "put": (lambda: X.new_zeros(8).put(PLACES, X[0]), True),
    "unpool": (lambda: F.max_unpool2d(*F.max_pool2d(IMAGE, 3, return_indices=True), 3), True),
    "index_add": (lambda: torch.zeros(8).index_add(0, PLACES, X[0]), True),
    "index_put": (lambda: torch.zeros(8).index_put((PLACES[:3],), X[0, :3]), True),
    "attention": (lambda: F.scaled_dot_product_attention(TOKENS, TOKENS, TOKENS), True),
    "convolution": (lambda: F.conv2d(IMAGE, KERNEL), True),
    "constants": (lambda: torch.ones(3) / torch.arange(1, 4), True),
    "denormals": (lambda: TINY * 0.5, True),
}


def what_it_gives(f):
    with warnings.catch_warnings(record=True) as given:
        warnings.simplefilter("always")
        try:
            result = f()
        except (RuntimeError, NotImplementedError) as error:
            return type(error), str(error)[:80], []
    return result, None, [str(one.message) for one in given]


def assert_as_eager(f, g, whole):
    (result, text, given), (other, other_text, other_given) = what_it_gives(f), what_it_gives(g)
    assert (text, given) == (other_text, other_given)
    if text is not None:
        assert result is other
        return
    facts = [(one.dtype, one.device, one.shape, one.stride()) for one in (result, other)]
    assert facts[0] == facts[1]
    if whole and result.device.type == "cpu":
        assert torch.equal(other == 0, result == 0)  # denormals, too
        torch.testing.assert_close(other, result, rtol=1e-5, atol=1e-6, equal_nan=True)


@pytest.mark.parametrize("switch", SWITCHES)
def test_switched_between_calls(switch):
    for name, (f, determined) in FUNCTIONS.items():
        late, early = frameloom.compile(f), frameloom.compile(f)
        filled = switch.startswith("deterministic") and not switch.endswith("not filled")
        assert_as_eager(f, late, determined)
        with SWITCHES[switch]():
            assert_as_eager(f, late, determined or filled)
            assert_as_eager(f, early, determined or filled)
        assert_as_eager(f, late, determined)
        assert_as_eager(f, early, determined)


def test_a_switch_back_finds_the_first_version():
    f = frameloom.compile(lambda x: torch.empty(3).fill_(1) + x)
    for mode in ("default", "error", "default", "error"):
        with deterministic(mode):
            f(torch.ones(3))
    assert captures(f) == 2


# What tells a state of the process, what changes it, and two values.
STATES = {
    "anomaly mode": (torch.is_anomaly_enabled, torch.set_anomaly_enabled, False, True),
    "anomaly mode's check": (torch.is_anomaly_check_nan_enabled, lambda on: torch.set_anomaly_enabled(False, on), False, True),
    "warnings": (torch.is_warn_always_enabled, torch.set_warn_always, False, True),
    "precision": (torch.get_float32_matmul_precision, torch.set_float32_matmul_precision, "high", "highest"),
    "determinism": (torch.get_deterministic_debug_mode, torch.set_deterministic_debug_mode, 1, 0),
    "dtype": (torch.get_default_dtype, torch.set_default_dtype, torch.float64, torch.float32),
    "dtype of autocast": (lambda: torch.get_autocast_dtype("cpu"), lambda kind: torch.set_autocast_dtype("cpu", kind), torch.float16, torch.bfloat16),
    "dtype of autocast, by its old names": (torch.get_autocast_cpu_dtype, torch.set_autocast_cpu_dtype, torch.float16, torch.bfloat16),
    "gradients": (torch.is_grad_enabled, torch.set_grad_enabled, False, True),
}


@pytest.mark.parametrize("state", STATES)
def test_a_state_that_the_function_reads_and_changes(state):
    """The state of the process behind each call, and what the function is told of it, are those of plain calls."""
    now, change, *values = STATES[state]

    def reads(x):
        return now(), x * 2

    def changes(x, value):
        y, before = x * 2, now()
        change(value)
        between = now()
        return y + 1, before, between

    before, found = now(), []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            for f, g in ((reads, changes), (frameloom.compile(reads), frameloom.compile(changes))):
                told = []
                for outer in (*values, *values):
                    change(outer)
                    told.append(f(torch.ones(2))[0])
                    for inner in values:
                        told += [*g(torch.ones(2), inner)[1:], now()]
                found.append(told)
        finally:
            change(before)
    assert found[0] == found[1]


def outcome_of(f, *args):
    try:
        return f(*args)
    except RuntimeError as error:
        return "returned nan" in str(error), torch.is_anomaly_enabled()


def in_anomaly_mode(step, check):
    def run(x):
        with torch.autograd.set_detect_anomaly(True, check_nan=check):
            return step(x)

    return run


def differentiated(x):
    (x * 0).sqrt().sum().backward()
    return x.grad


@pytest.mark.parametrize("check", [True, False])
@pytest.mark.parametrize("outside", [True, False])
def test_anomaly_mode_finds_what_it_finds_in_eager_torch(check, outside):
    """A gradient that is NaN raises, also where a version was made without anomaly mode."""
    found = []
    for wrap in (lambda f: f, frameloom.compile):
        plain = wrap(differentiated)
        careful = in_anomaly_mode(plain, check) if outside else wrap(in_anomaly_mode(differentiated, check))
        told = []
        for f in (plain, careful, plain, careful):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                told.append(outcome_of(f, torch.ones(2, requires_grad=True)))
        found.append(told)
    assert str(found[0]) == str(found[1])


def test_gradients_of_results_in_anomaly_mode():
    f = frameloom.compile(lambda x: (x * x).sin(), fullgraph=True)
    x = torch.ones(2, requires_grad=True)
    with warnings.catch_warnings(), torch.autograd.detect_anomaly():
        warnings.simplefilter("ignore")
        y = f(x)
        y.sum().backward()
        with pytest.raises(RuntimeError, match="returned nan"):
            f(x * float("inf")).sum().backward()
    torch.testing.assert_close(x.grad, 2 * torch.ones(2) * torch.ones(2).cos())
