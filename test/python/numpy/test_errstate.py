"""Floating-point warnings are NumPy's own, as np.errstate asks."""

import warnings

import numpy as np
import pytest
from compare import check

import frameloom


@pytest.fixture(params=["interpret", "loom"])
def compiled(request):
    return lambda fn, **kwargs: frameloom.compile(fn, backend=request.param, **kwargs)


def caught(call):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        try:
            result = call()
        except FloatingPointError as e:
            return "raised", str(e)
    return [str(w.message) for w in seen], result


def warns_alike(f, fn, *args):
    (seen, got), (expected, want) = caught(lambda: f(*args)), caught(lambda: fn(*args))
    assert seen == expected
    if isinstance(want, str):
        assert got == want
    else:
        np.testing.assert_allclose(got, want, rtol=1e-15 if want.dtype.kind == "f" else 0)


CASES = [
    (lambda a, b: a / b, np.array([1.0, 0.0, -1.0]), np.array([0.0, 0.0, 2.0])),
    (lambda a, b: np.log(a) + b, np.array([0.0, -1.0, 1.0]), np.ones(3)),
    (lambda a, b: np.exp(a) * b, np.array([1000.0, 1.0]), np.ones(2)),
    (lambda a, b: np.sqrt(a - b), np.array([1.0]), np.array([2.0])),
    (lambda a, b: a * b, np.array([1e300, 1e-300]), np.array([1e300, 1e-300])),
    (lambda a, b: a // b, np.array([1, 5]), np.array([0, 2])),
    (lambda a, b: a % b, np.array([1, 5]), np.array([0, 2])),
    (lambda a, b: a // b, np.array([-128], np.int8), np.array([-1], np.int8)),
    (lambda a, b: a - b, np.array([np.inf]), np.array([np.inf])),
    (lambda a, b: (a * b).sum(), np.array([1e308, 1e308]), np.array([1.0, 1.0])),
    (lambda a, b: a + b, np.array([np.nan, np.inf]), np.array([1.0, 1.0])),
]


@pytest.mark.parametrize("case", range(len(CASES)))
@pytest.mark.parametrize("how", ["warn", "ignore", "raise"])
def test_like_numpy(compiled, case, how):
    fn, a, b = CASES[case]
    f = compiled(fn)
    for _ in range(2):
        with np.errstate(all=how):
            warns_alike(f, fn, a, b)
    with np.errstate(all="ignore", divide="warn"):
        warns_alike(f, fn, a, b)


def test_call_and_log(compiled):
    f = compiled(lambda a: 1.0 / a)
    seen = []

    class Log:
        def write(self, message):
            seen.append(message)

    x = np.array([0.0])
    with np.errstate(divide="call", call=lambda kind, flag: seen.append((kind, flag))):
        f(x)
    with np.errstate(divide="log", call=Log()):
        f(x)
    assert seen[0] == ("divide by zero", 1) and "divide by zero" in seen[1]


def test_the_warning_has_the_users_line(compiled):
    f = compiled(lambda a: 1.0 / a)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        f(np.zeros(3))
    assert seen[0].filename == __file__
    assert seen[0].lineno == f.__code__.co_firstlineno


def test_nothing_is_written_before_a_warning(compiled):
    def g(a, b):
        a += 1
        a /= b
        return a

    f = compiled(g)
    a, c = np.arange(3.0), np.arange(3.0)
    b = np.array([1.0, 0.0, 2.0])
    with np.errstate(all="raise"):
        with pytest.raises(FloatingPointError):
            f(a, b)
        with pytest.raises(FloatingPointError):
            g(c, b)
    np.testing.assert_array_equal(a, c)


def test_flags_do_not_leak(compiled):
    """A flag that a kernel raises is not seen by NumPy's next operation, nor the other way round."""
    f = compiled(lambda a: a * 2)
    with np.errstate(all="ignore"):
        np.array([1.0]) / 0.0
        f(np.array([1e308]))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f(np.array([1.0]))
        np.array([1.0]) * 2


def test_context_of_each_thread(compiled):
    import threading

    f = compiled(lambda a: 1.0 / a)
    x, results = np.array([0.0]), []

    def work(how):
        with np.errstate(divide=how):
            results.append((how, caught(lambda: f(x))))

    threads = [threading.Thread(target=work, args=(how,)) for how in ("ignore", "raise")]
    for t in threads:
        t.start()
        t.join()
    outcome = dict(results)
    assert outcome["ignore"][0] == [] and outcome["raise"][0] == "raised"


def divide_quietly(a, b):
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(b != 0, a / b, 0.0)


def divide_loudly(a, b):
    with np.errstate(divide="raise"):
        return a / b


def divide_then_loud(a, b):
    with np.errstate(all="ignore"):
        x = a / b
        with np.errstate(divide="warn"):
            return x + np.log(b)


def divide_caught(a, b):
    try:
        with np.errstate(all="raise"):
            return a / b
    except FloatingPointError as error:
        return np.ones(2) * len(str(error))


def quiet_then_outside(a, b):
    with np.errstate(all="ignore"):
        x = a / b
    return x + a / (b + 1)


def library_quiet(a, b):
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.ldexp(a / b, 2) + np.median(a - a / b)


def library_loud(a, b):
    with np.errstate(all="raise"):
        return np.ldexp(a * 1e308, 2) + b


@pytest.mark.parametrize("fn", [divide_quietly, divide_loudly, divide_then_loud, divide_caught, quiet_then_outside,
                                library_quiet, library_loud])
@pytest.mark.parametrize("outer", ["warn", "ignore", "raise"])
def test_state_inside_the_function(compiled, fn, outer):
    f = compiled(fn)
    for b in ([1.0, 2.0], [0.0, 2.0], [-1.0, 0.0], [np.nan, 3.0], [1.0, 4.0]):
        for _ in range(2):
            with np.errstate(all=outer):
                warns_alike(f, fn, np.array([1.0, 0.0]), np.array(b))


def test_what_the_function_ignores_does_not_run_it_again(capsys):
    def program(a, b):
        with np.errstate(divide="ignore"):
            return a / b

    def loud(a, b):
        return a / b

    frameloom.set_logs("breaks")
    try:
        for fn, action, runs in ((program, "always", 0), (loud, "always", 1), (loud, "ignore", 0)):
            f = frameloom.compile(fn, fullgraph=True)
            f(np.ones(2), np.ones(2))
            capsys.readouterr()
            with warnings.catch_warnings(record=True):
                warnings.simplefilter(action)
                assert f(np.ones(2), np.array([0.0, 1.0]))[0] == np.inf
            assert capsys.readouterr().err.count("runs as plain Python") == runs
    finally:
        frameloom.set_logs("")


def test_seterr_stays_a_side_effect():
    def program(a):
        np.seterr(all="ignore")
        return a + 1

    old = np.geterr()
    try:
        np.seterr(all="warn")
        f = frameloom.compile(program)
        f(np.ones(2))
        assert np.geterr()["divide"] == "ignore"
        np.seterr(all="warn")
        f(np.ones(2))
        assert np.geterr()["divide"] == "ignore"
    finally:
        np.seterr(**old)


@pytest.mark.parametrize("source", ["(c // a) < (c // a)", "(c // a) - (c // a)", "(c % a) * 0", "(c // a) ^ (c // a)",
                                    "(c // a + 1) & 0"])
def test_divisions_whose_quotient_does_not_matter_are_reported(source):
    plain = eval("lambda a, c: " + source)
    check(frameloom.compile(plain), plain, [np.zeros((2, 1), int), np.ones((1, 1), int)])


def states_around_breaks():
    """Functions in which an error state, or the token of one, outlives a graph break."""

    def made_before(x):
        state = np.errstate(all="ignore")
        print(end="")
        with state:
            print(end="")
            return np.log(x)

    @np.errstate(divide="raise")
    def decorated(x):
        print(end="")
        return np.log(x)

    @np.errstate(divide="ignore", over="warn")
    def asked(x):
        r = np.log(x)
        print(end="")
        return r, np.geterr()

    def twice(x):
        state = np.errstate(divide="ignore")
        with state:
            r = np.log(x)
        try:
            with state:
                pass
        except TypeError as e:
            return r, str(e), type(state._token)

    def with_call(x):
        calls = []
        with np.errstate(divide="call", call=lambda *args: calls.append(args)):
            print(end="")
            r = np.log(x)
        return r, calls

    return [made_before, decorated, asked, twice, with_call]


@pytest.mark.parametrize("fn", states_around_breaks(), ids=lambda fn: fn.__name__)
def test_states_outlive_breaks(fn):
    x, f = np.zeros(3), frameloom.compile(fn)
    want, before = caught(lambda: repr(fn(x))), np.geterr()
    for _ in range(2):
        assert caught(lambda: repr(f(x))) == want
        assert np.geterr() == before
    assert repr(np.divide(1, np.uint8(1))) == "np.float64(1.0)"  # the thread's state is an object of NumPy's


def constants_that_raise():
    """Operations on constants that report something at every call: in the library, as a break with a reason."""
    return [
        lambda: np.isnan(np.array(1 + 1j) / 0.0),
        lambda: np.array([1.0]) / 0.0,
        lambda: np.nextafter(np.zeros(3), 1),
        lambda: np.full(3, 1e308) * np.full(3, 1e308),
        lambda: np.full(3, 5e-8, np.float32).astype(np.float16),
    ]


@pytest.mark.parametrize("fn", constants_that_raise())
def test_constants_that_raise(fn):
    f = frameloom.compile(fn)
    for _ in range(3):
        assert caught(lambda: repr(f())) == caught(lambda: repr(fn()))
    assert all(row[0] != 16 for row in f._report()["breaks"])


FILTERS = {
    "all are dropped": (0, lambda: warnings.simplefilter("ignore")),
    "these are dropped": (0, lambda: warnings.simplefilter("ignore", RuntimeWarning)),
    "dropped behind others of other classes": (0, lambda: (warnings.simplefilter("ignore"), warnings.simplefilter("error", DeprecationWarning))),
    "others are dropped": (1, lambda: warnings.simplefilter("ignore", DeprecationWarning)),
    "some texts are dropped": (1, lambda: warnings.filterwarnings("ignore", "divide by")),
    "some texts are dropped, then all": (0, lambda: (warnings.simplefilter("ignore"), warnings.filterwarnings("ignore", "divide by"))),
    "some texts are shown": (1, lambda: (warnings.simplefilter("ignore"), warnings.filterwarnings("always", "divide by"))),
    "some modules are dropped": (1, lambda: warnings.filterwarnings("ignore", module="none such")),
    "errors of others": (1, lambda: (warnings.simplefilter("ignore"), warnings.filterwarnings("error", "divide by"))),
}


@pytest.mark.parametrize("name", FILTERS)
def test_filters_that_drop_warnings_keep_compiled_code(name, capsys):
    runs, prepare = FILTERS[name]

    def program(a, b):
        return a / b

    f = frameloom.compile(program, fullgraph=True)
    f(np.ones(2), np.ones(2))

    def seen(function):
        with warnings.catch_warnings(record=True) as caught:
            prepare()
            try:
                result = repr(function(np.ones(2), np.array([0.0, 1.0])))
            except RuntimeWarning as e:
                result = str(e)
        return result, [str(w.message) for w in caught]

    frameloom.set_logs("breaks")
    try:
        assert seen(f) == seen(program)
        assert capsys.readouterr().err.count("runs as plain Python") == runs
    finally:
        frameloom.set_logs("")


def test_filters_do_not_hide_what_raises_or_calls():
    def program(a, b):
        return a / b

    f = frameloom.compile(program, fullgraph=True)
    f(np.ones(2), np.ones(2))
    called = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with np.errstate(divide="raise"), pytest.raises(FloatingPointError):
            f(np.ones(2), np.zeros(2))
        with np.errstate(divide="call", call=lambda *what: called.append(what)):
            f(np.ones(2), np.zeros(2))
    assert called == [("divide by zero", 1)]


class Seen(list):
    """Texts and lines of the warnings that Python shows, without a change of its filters."""

    def __enter__(self):
        self.before, warnings.showwarning = warnings.showwarning, self.add
        return self

    def add(self, message, category, filename, line, *rest):
        self.append((str(message), line))

    def __exit__(self, *error):
        warnings.showwarning = self.before


def module_of(source, **names):
    """Plain and compiled forms of `f`, each in a module of its own."""
    forms = []
    for native in (False, True):
        space = {"np": np, "__name__": "userland", **names}
        exec(compile(source, "userland.py", "exec"), space)
        if native:
            space["f"] = frameloom.compile(space["f"])
        forms.append(space)
    return forms


ONE = "def f(x):\n    y = x * 2\n    return 1 / y\n"
TWO = "def half(x):\n    return np.reciprocal(x)\ndef f(x):\n    return half(x) * 0.5 + np.log(x + 0) * (x - x)\n"


@pytest.fixture
def default_filters():
    with warnings.catch_warnings(), frameloom.config.patch(leave_slower=False):
        warnings.resetwarnings()
        yield


@pytest.mark.parametrize("filters", [[], ["once"], ["module"], ["ignore"], ["error"], ["always"], ["default", "ignore divide"],
                                     ["always", "ignore divide"], ["ignore in log"], ["error elsewhere"], ["ignore userland"],
                                     ["ignore line 3"]], ids=str)
@pytest.mark.parametrize("source", [ONE, TWO], ids=["one", "two"])
def test_shown_as_often_as_by_numpy(default_filters, source, filters):
    """What a filter shows once for each place is shown again when filters have changed, and by no other rule."""
    zero, minus, good = np.array([1.0, 0.0, 2.0]), np.array([1.0, -1.0]), np.ones(3)
    spaces = module_of(source)
    for text in filters:
        action, _, what = text.partition(" ")
        kinds = {"": {}, "divide": {"message": "divide by zero"}, "in log": {"message": ".* in log$"}, "elsewhere": {"module": "other"},
                 "userland": {"module": "userl"}, "line 3": {"lineno": 3}}[what]
        warnings.filterwarnings(action, category=RuntimeWarning, **kinds)

    def calls(space):
        with Seen() as seen:
            for x in (good, zero, zero, zero, minus, good, minus, zero, "filters", zero, zero, "registry", zero, zero, "nested", minus, zero):
                if isinstance(x, np.ndarray):
                    try:
                        space["f"](x)
                    except RuntimeWarning as warning:
                        seen.append(("raised", str(warning)))
                elif x == "filters":
                    warnings.filterwarnings("default", category=BytesWarning)
                elif x == "registry":
                    space.get("__warningregistry__", {}).clear()
                else:
                    with warnings.catch_warnings():
                        pass
                seen.append("next")
        return seen

    start = warnings.filters[:]
    expected = calls(spaces[0])
    warnings.filters[:] = start
    warnings._filters_mutated()
    assert calls(spaces[1]) == expected
    assert any(isinstance(one, tuple) for one in expected) or any(text.startswith("ignore") for text in filters)


def test_what_would_not_be_seen_runs_once(default_filters, capfd):
    """The function runs again for a warning that would be shown, not for one that was, or that a filter drops."""
    zero, two = np.array([1.0, 0.0]), np.array([1.0, 2.0])
    space = module_of(ONE)[1]

    def plain(x):
        with frameloom.config.patch(logs="breaks", leave_slower=False):
            capfd.readouterr()
            space["f"](x)
        return "to be reported" in capfd.readouterr().err

    with Seen() as seen:
        space["f"](two)
        assert [plain(zero) for _ in range(3)] == [True, False, False]
        with warnings.catch_warnings():
            assert [plain(zero) for _ in range(3)] == [True, False, False]
        assert [plain(zero) for _ in range(2)] == [True, False]
        with np.errstate(divide="call", call=lambda *how: None):
            assert plain(zero) and plain(zero)
        space["__warningregistry__"].clear()
        warnings.filterwarnings("ignore", message="divide by zero .* in divide", category=RuntimeWarning)
        assert not plain(zero)
        warnings.filterwarnings("always", message="divide")
        assert plain(zero) and plain(zero)
    assert len(seen) == 5


WITNESSED = [
    "np.log(x) + 1 / x", "np.sqrt(x) * y - y", "np.exp(x * 700) * 0.5 + np.sqrt(y)", "(x / y).sum() + np.log(y).max() * y",
    "np.where(x > 0, np.log(x), 1 / y)", "np.arctanh(x)[::2] + (y * y)[1::2]", "x @ (1 / y) + np.log1p(-x * x)",
    "np.hypot(x, y * 1e200) ** 2 / y", "np.mean(1 / x) * np.log2(y)", "np.sin(x / y) + np.maximum(np.log(y), 0)",
    "(1 / x).astype(np.float32) * np.float32(3) + np.sqrt(y.astype(np.float32))", "np.abs((x + 1j * y) / (y + 0j)) + np.log(x)",
    "np.cumsum(1 / x) + np.sqrt(y)", "float(x[0]) / y + np.log(y - 1)", "x ** -1.5 + y ** 2",
    "np.exp(x + 1j * y).real / y", "((x + 1j * y) / (y + 1j * x)).imag + np.log(x)", "np.cumsum(x + 1j * y).real * 2 + np.sqrt(y)",
    "np.abs((x + 1j * y).astype(np.complex64)) + 1 / x",
]


@pytest.mark.parametrize("dynamic", [False, True])
@pytest.mark.parametrize("source", WITNESSED)
def test_every_warning_comes_once(default_filters, source, dynamic):
    """However often some are raised that were shown before, the first of another operation is shown at its call."""
    rng = np.random.default_rng(len(source))
    special = np.array([0.0, -1.0, 1.0, np.inf, -np.inf, np.nan, 1e308, 1e-300, 2.0])
    spaces = module_of(f"def f(x, y):\n    z = {source}\n    return z\n")
    spaces[1]["f"] = frameloom.compile(spaces[0]["f"], dynamic=dynamic)
    arguments, calm = [], rng.uniform(.2, .8, (2, 40))
    for step in range(90):
        pair = calm.copy()
        if step % 15 > 2:  # the same again and again
            pair = arguments[-1][0].copy()
        elif step:
            for _ in range(rng.integers(1, 3)):
                pair[rng.integers(2), rng.integers(40)] = rng.choice(special)
        arguments.append((pair, 40 if not dynamic else int(rng.integers(17, 20)) * 2))

    def calls(function):
        function.__globals__.pop("__warningregistry__", None)
        with Seen() as seen:
            for step, (pair, size) in enumerate(arguments):
                function(pair[0, :size].copy(), pair[1, :size].copy())
                seen.append(step)
        return [one for one in seen if "run a second time" not in str(one)]

    plain = calls(spaces[0]["f"])
    warnings._filters_mutated()
    assert calls(spaces[1]["f"]) == plain
    assert any(isinstance(one, tuple) for one in plain)


def test_another_operation_is_told_apart(default_filters, capfd):
    """Behind calls whose flags one operation raised there is no second run, and there is one for another."""
    space = module_of("def f(x, y):\n    return np.sqrt(x) - y\n")[1]
    root, difference = (np.array([-1.0, 4.0]), np.array([2.0, 3.0])), (np.array([np.inf, 0.0]), np.array([np.inf, 1.0]))
    runs = []
    with Seen() as seen, frameloom.config.patch(logs="breaks", leave_slower=False):
        for arguments in [root] * 40 + [difference] + [root, difference] * 3:
            capfd.readouterr()
            space["f"](*arguments)
            runs.append("to be reported" in capfd.readouterr().err)
    assert seen == [("invalid value encountered in sqrt", 2), ("invalid value encountered in subtract", 2)]
    assert runs[:5] == [True] * 5 and runs[40] and not any(runs[20:40]) and not any(runs[41:])


EDGES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 1e-30, -1e-30, np.inf, -np.inf, np.nan, 11.0, 11.2, 16.0, -17.0, 88.0, 88.8, 89.5,
         127.9, 128.0, 709.0, 709.9, 710.5, -711.0, 1023.5, 1024.0, 3e4, -3e4, 3e38, -3e38, 1.7e308, -1.7e308, 5e-324, 1e-310]
OF_ONE = ["sqrt", "exp", "exp2", "expm1", "sinh", "cosh", "tanh", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "arcsin", "arccos", "arctan",
          "arcsinh", "arccosh", "arctanh", "reciprocal", "square", "cbrt"]
OF_TWO = ["divide", "add", "subtract", "multiply", "power", "remainder", "fmod", "floor_divide", "hypot", "arctan2"]
OF_COMPLEX = ["add", "subtract", "multiply", "divide", "abs", "square", "exp", "log", "sqrt", "sin", "tanh", "power", "reciprocal", "cumsum", "sum"]
OF_INTEGERS = ["remainder", "fmod", "floor_divide"]


def edges_of(dtype):
    """Numbers at the edges of domains, and their neighbours."""
    if np.dtype(dtype).kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 7, info.max, info.min, info.min + 1, *([-1, -7] if info.min else [])], dtype)
    real = np.dtype(dtype.replace("complex64", "float32").replace("complex128", "float64"))
    with np.errstate(all="ignore"):
        edges = np.array(EDGES).astype(real)
        near = np.concatenate([edges, np.nextafter(edges, real.type(np.inf)), np.nextafter(edges, real.type(-np.inf))])
    if np.dtype(dtype).kind == "f":
        return near
    both = np.empty(4 * len(near), dtype)
    rng = np.random.default_rng(3)
    both.real, both.imag = np.tile(near, 4), rng.permutation(np.tile(near, 4))
    return both


@pytest.mark.parametrize("name, dtype", [*((name, dtype) for dtype in ("float16", "float32", "float64") for name in OF_ONE + OF_TWO),
                                         *((name, dtype) for dtype in ("complex64", "complex128") for name in OF_COMPLEX),
                                         *((name, dtype) for dtype in ("int8", "int64", "uint16") for name in OF_INTEGERS)])
def test_no_warning_is_lost_beside_another(default_filters, name, dtype):
    """Beside operations that raise every flag at every call, one raises what NumPy's raises, for operands at the edges of its domain."""
    two = name in OF_TWO
    source = f"def f(x, y, zero, big):\n    a = 1 / zero\n    b = zero / zero\n    c = big * big\n    d = np.{name}({'x, y' if two else 'x'})\n    return a, b, c, d\n"
    plain, own = module_of(source)
    values, rng = edges_of(dtype), np.random.default_rng(len(name))
    calm, zero, big = np.full(5, 3, dtype) if dtype[0] in "iu" else np.full(5, 0.75, dtype), np.zeros(3), np.full(3, 1e308)
    rows = [(x, y) for x in values for y in rng.permutation(values)[:3]] if two else [(x, x) for x in values]

    def shown(space, x, y):
        with Seen() as seen:
            space["f"](x, y, zero, big)
        return [one for one in seen if "run a second time" not in str(one)]

    for _ in range(30):
        assert shown(plain, calm, calm) == shown(own, calm, calm)
    for x, y in rows:
        rare = [calm.copy(), calm.copy()]
        rare[0][3], rare[1][3] = x, y
        for space in plain, own:
            for key in [k for k in space["__warningregistry__"] if k != "version" and k[2] == 5]:
                del space["__warningregistry__"][key]
        assert shown(own, *rare) == shown(plain, *rare), (x, y)


def hushed(compiled):
    return [entry["hushed"] for entry in compiled._report()["entries"]]


HUSHED = ["x / y", "np.sqrt(x)", "np.log(x)", "np.log2(x)", "np.log10(x)"]


def noisy(operation, rounds=1):
    """One operation that raises at every call, one that may raise the same, some day."""
    return (f"def f(x, y, u, v):\n    for i in range({rounds}):\n        d = {operation}\n        y = y * 1\n    s = u / v\n"
            "    t = np.sqrt(u) + np.log(v)\n    return d, s, t\n")


@pytest.mark.parametrize("rounds", [1, 50])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("operation", HUSHED)
def test_what_raises_again_and_again_is_hushed_and_the_same(default_filters, operation, dtype, rounds):
    """Bit by bit, wherever its domain ends; the other operation's warnings are shown at their calls, and its own when they would be."""
    plain, own = module_of(noisy(operation, rounds))
    other = frameloom.compile(module_of(noisy(operation, rounds))[0]["f"])
    edges = edges_of(dtype)
    if "log" in operation:
        edges = edges[~(np.abs(edges) > np.finfo(dtype).max / 4)]  # near there a kernel may raise overflow
    x, y = np.repeat(edges, len(edges)), np.tile(edges, len(edges))
    calm, same, zero = np.full(8, 0.75, dtype), np.full(8, 0.75, dtype), np.zeros(8, dtype)

    def shown(space, *arguments):
        with Seen() as seen:
            space["f"](*arguments)
        return [one for one in seen if "run a second time" not in str(one)]

    with frameloom.config.patch(unroll_limit=4):
        for _ in range(40):
            assert shown(own, x, y, calm, same) == shown(plain, x, y, calm, same)
        assert hushed(own["f"]) == [True], own["f"]._report()["recompiles"]
        with np.errstate(all="ignore"):
            want, results = other(x, y, calm, same), own["f"](x, y, calm, same)
        assert hushed(other) == [False]
        for one, two in zip(results, want):
            assert one.tobytes() == two.tobytes()
        for u, v in ((calm, zero), (zero, zero.copy()), (-calm, same), (calm, same)):
            assert shown(own, x, y, u, v) == shown(plain, x, y, u, v)
        assert hushed(own["f"]) == [True]
        for space in plain, own:
            space["__warningregistry__"].clear()
        told = shown(own, x, y, calm, same)
        assert told == shown(plain, x, y, calm, same) and told
        assert not shown(own, x, y, calm, same)
        warnings.filterwarnings("always")
        told = shown(own, x, y, calm, same)
        assert told == shown(plain, x, y, calm, same) and told
        for how in ("raise", "call"):
            called = []
            with np.errstate(all=how, under="ignore", call=lambda *what: called.append(what)):
                if how == "raise":
                    with pytest.raises(FloatingPointError):
                        own["f"](x, y, calm, same)
                else:
                    own["f"](x, y, calm, same)
                    assert called


def test_it_is_hushed_no_longer_than_it_raises(default_filters):
    own = module_of(noisy("np.sqrt(x)"))[1]
    calm, noise = np.full(8, 0.75), np.full(8, -1.0)
    with Seen():
        for count, argument, want in ((40, noise, True), (200, calm, False), (40, noise, True)):
            for _ in range(count):
                own["f"](argument, calm, calm, calm)
            assert hushed(own["f"]) == [want]


PLACES = {  # an operation in a region of the graph: what is around `d = ...`
    "for": ("for i in range(4):\n        d = {}", "x[i]", "y[i]"),
    "nested for": ("for i in range(4):\n        e = d\n        for k in range(3):\n            e = {} + e * 0\n        d = e", "x[i]", "y[i]"),
    "while": ("s = steps\n    while s.sum() < 4:\n        d = {}\n        s = s + 1", "x[3]", "y[3]"),
    "in its condition": ("s = steps\n    while s.sum() < 3 + 0 * np.nan_to_num({}).real.sum():\n        s = s + 1", "x[3]", "y[3]"),
    "branch": ("if steps[0] == 0:\n        d = {}\n    else:\n        d = x[0] * 1", "x[3]", "y[3]"),
}
IN_PLACES = [("for", name, dtype) for name, dtype in
             [*((name, "float64") for name in OF_ONE + OF_TWO), ("exp", "float32"), ("divide", "float32"), ("sqrt", "float16"), ("add", "float16"),
              *((name, dtype) for name in ("add", "multiply", "divide", "abs", "exp") for dtype in ("complex64", "complex128")),
              *((name, "int64") for name in OF_INTEGERS)]]
IN_PLACES += [(place, name, dtype) for place in PLACES if place != "for"
              for name, dtype in (("log", "float64"), ("divide", "float64"), ("exp", "float32"), ("multiply", "float64"), ("divide", "complex128"))]


@pytest.mark.parametrize("place, name, dtype", IN_PLACES)
def test_no_warning_is_lost_in_a_loop(default_filters, place, name, dtype):
    """The same in one iteration of a loop, or in a branch; and where it raises nothing the function does not run again."""
    two = name in OF_TWO
    around, *operands = PLACES[place]
    body = around.format(f"np.{name}({', '.join(operands[:1 + two])})")
    source = f"def f(x, y, zero, big, steps):\n    a, b, c, d = 1 / zero, zero / zero, big * big, x[0]\n    {body}\n    return a, b, c, d\n"
    plain, own = module_of(source)
    values, rng = edges_of(dtype), np.random.default_rng(len(name))
    calm, zero, big = np.full((4, 5), 3, dtype) if dtype[0] in "iu" else np.full((4, 5), 0.75, dtype), np.zeros(3), np.full(3, 1e308)
    rows = [(x, y) for x in values for y in rng.permutation(values)[:2]] if two else [(x, x) for x in values]

    def shown(space, x, y):
        with Seen() as seen:
            space["f"](x, y, zero, big, np.zeros(1, int))
        return [one for one in seen if "run a second time" not in str(one)]

    def again():
        return sum(entry["again"] for entry in own["f"]._report()["entries"])

    with frameloom.config.patch(unroll_limit=1, capture_data_dependent=True):
        own["f"](calm, calm, np.ones(3), np.ones(3), np.zeros(1, int))
        warnings._filters_mutated()
        for _ in range(30):
            assert shown(plain, calm, calm) == shown(own, calm, calm)
        before = again()
        for _ in range(3):
            shown(own, calm, calm)
        assert again() == before, "it is told apart"
        for x, y in rows:
            rare = [calm.copy(), calm.copy()]
            rare[0][3, 3], rare[1][3, 3] = x, y
            for space in plain, own:
                for key in [k for k in space["__warningregistry__"] if k != "version" and k[2] > 2]:
                    del space["__warningregistry__"][key]
            assert shown(own, *rare) == shown(plain, *rare), (x, y)
    ops = {op for entry in own["f"]._report()["entries"] for op in entry["ops"]}
    assert ops & {"for", "while", "if"}, ops
