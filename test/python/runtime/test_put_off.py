"""What has no arrays in sight is compiled when its calls have taken as long as that is likely to take."""

import json

import numpy as np
import pytest
from reports import graphs

import frameloom

PUT_OFF = "FL0028"


def put_off(compiled):
    """Functions, and what of calls put off, by name."""
    return {row[0]: row for row in compiled._report()["put_off"]}


@pytest.fixture
def plain_runs_take():
    """plain_runs_take(ns): what plain runs of functions take from here on."""
    yield lambda ns: frameloom._native._pretend_times(0, 0, ns, ns)
    frameloom._native._pretend_times()


def names(compiled):
    return [entry["name"] for entry in compiled._report()["entries"]]


def digits(n):
    return sum(int(c) for c in str(n))


def with_helper(n, helper):
    return helper(n) + 1  # it breaks, so that it is called for real


def long_way(n):
    total = 0
    for i in range(n):
        total = (total * 31 + i) % 1000003
    return total


def test_a_helper_without_arrays_is_not_compiled_at_its_first_calls(plain_runs_take):
    plain_runs_take(1000)

    def helper(n):
        print(end="")
        return digits(n)

    compiled = frameloom.compile(with_helper)
    for n in range(19, 22):
        assert compiled(n, helper) == with_helper(n, helper)
    assert not any(helper.__qualname__ in name for name in names(compiled))
    rows = put_off(compiled)
    name, file, line, calls, plain_ms, captures_ms, wanted_ms = rows[helper.__qualname__]
    assert (file, line) == (__file__, helper.__code__.co_firstlineno)
    assert calls >= 2 and plain_ms == 0 and captures_ms == 0, "its time is that of what it calls"
    name, file, line, calls, plain_ms, captures_ms, wanted_ms = rows["digits"]
    assert calls >= 2 and 0 < plain_ms < wanted_ms and captures_ms == 0


def test_it_is_when_its_calls_have_taken_long(plain_runs_take):
    plain_runs_take(2_000_000)

    def helper(n):
        print(end="")
        return long_way(20 + n)

    compiled = frameloom.compile(with_helper)
    for n in range(30):
        assert compiled(n, helper) == with_helper(n, helper)
    row = put_off(compiled).get(helper.__qualname__)
    assert row is None or row[5] > 0 or any(helper.__qualname__ in name for name in names(compiled))


class Holder:
    def __init__(self, held):
        self.held = held

    def total(self, unused):
        print(end="")
        return float(np.sum(np.asarray(self.held[0]) * 2))


@pytest.mark.parametrize("held", [[np.arange(3.0)], (np.arange(3.0),), {0: np.arange(3.0)}, np.arange(3.0)], ids=lambda held: type(held).__name__)
def test_arrays_that_arguments_hold_are_in_sight(held):
    holder = Holder(held)

    compiled = frameloom.compile(with_helper)
    assert compiled(1, holder.total) == with_helper(1, holder.total)
    assert "Holder.total" in names(compiled), compiled._report()["put_off"]


def test_the_last_of_many_names_is_in_sight():
    source = "def f(x):\n" + "".join(f" a{i} = {i}\n" for i in range(40)) + " y = x.T\n del x\n print(end='')\n"
    source += "".join(f" y = y * 2 + a{i}\n" for i in range(40)) + " return y\n"
    space = {}
    exec(source, space)
    compiled, x = frameloom.compile(space["f"]), np.arange(3.0)
    np.testing.assert_array_equal(compiled(x), space["f"](x))
    assert any(entry["ops"] for entry in compiled._report()["entries"]) and not put_off(compiled)


def test_a_function_that_is_asked_for_is_captured_at_its_first_call():
    def f(n):
        return np.ones(n).sum() + n

    compiled = frameloom.compile(f)
    assert [compiled(n) for n in (3, 4, 5)] == [6, 8, 10]
    assert compiled._report()["entries"] and not put_off(compiled)


def words(text):
    return text.upper() + "!"


def test_further_versions_without_arrays_are_put_off(plain_runs_take):
    plain_runs_take(1000)
    compiled = frameloom.compile(words)
    texts = [c * 3 for c in "abcdef"]
    assert [compiled(t) for t in texts] == [t.upper() + "!" for t in texts]
    assert len(compiled._report()["entries"]) < len(texts)
    assert put_off(compiled)["words"][3] > 0


def test_versions_for_arrays_are_not():
    def f(x):
        return x * 2

    compiled = frameloom.compile(f, dynamic=False)
    assert [compiled(t) for t in ("a", "b", "c")] == ["aa", "bb", "cc"]
    for n in (3, 4):
        np.testing.assert_array_equal(compiled(np.arange(n)), np.arange(n) * 2)
    assert graphs(compiled) == 2
    assert not put_off(compiled), "arrays have been seen"


def in_two_parts(x):
    y = x * 2
    print(end="")
    return y + 1


def versions(compiled):
    """How many the function itself has, and the part behind its break."""
    made = names(compiled)
    own = made.count("in_two_parts")
    return own, len(made) - own


def test_beyond_the_budget_further_versions_are_paid_for(plain_runs_take):
    """Other dimensions at each call: no size can be a symbol."""
    plain_runs_take(1000)
    compiled = frameloom.compile(in_two_parts)
    arrays = [np.ones((2,) * rank) for rank in range(1, 8)]

    def call_all():
        for x in arrays:
            np.testing.assert_array_equal(compiled(x), x * 2 + 1)

    with frameloom.config.patch(compile_budget=0):
        call_all()
        assert versions(compiled) == (7, 1)
        assert set(put_off(compiled)) == set(names(compiled)) - {"in_two_parts"}
        plain_runs_take(10**10)
        for _ in range(20):
            call_all()
        assert versions(compiled)[1] > 1
    compiled = frameloom.compile(in_two_parts)
    with frameloom.config.patch(compile_budget=0, put_off=False):
        call_all()
    assert versions(compiled) == (7, 7)


def test_parts_that_multiply_are_paid_for(plain_runs_take):
    source = "def f(x, note):\n" + "".join(f" x = x * 0.5 + {i}\n note(x[0])\n" for i in range(60)) + " return x\n"
    names_ = {}
    exec(source, names_)
    f, x = names_["f"], np.arange(3.0)

    def call(compiled):
        want, got = [], []
        np.testing.assert_array_equal(compiled(x, got.append), f(x, want.append))
        assert got == want

    compiled = frameloom.compile(f)
    with frameloom.config.patch(compile_budget=0):
        call(compiled)
        before = len(compiled._report()["entries"])
        assert 30 < before < 40
        plain_runs_take(10**10)
        for _ in range(20):
            call(compiled)
        assert len(compiled._report()["entries"]) > before
    compiled = frameloom.compile(f)
    with frameloom.config.patch(compile_budget=0, put_off=False):
        call(compiled)
    assert len(compiled._report()["entries"]) > 60


def test_versions_of_functions_that_are_called_are_paid_for_once(plain_runs_take):
    """Other dimensions at each call, in functions that call each other: one plain run pays for one of them, not for all."""
    names_ = {"np": np}
    exec("def f0(x):\n    print(end='')\n    return x * 2\n", names_)
    for i in range(1, 6):
        exec(f"def f{i}(x):\n    y = x + 1\n    print(end='')\n    return f{i - 1}(y) * 2\n", names_)
    f, arrays = names_["f5"], [np.ones((2,) * rank) for rank in range(1, 8)]

    def call_all(compiled):
        for x in arrays:
            np.testing.assert_array_equal(compiled(x), f(x))

    def callees(compiled):
        return [name for name in names(compiled) if not name.startswith("f5")]

    plain_runs_take(1000)
    compiled = frameloom.compile(f)
    with frameloom.config.patch(compile_budget=0):
        call_all(compiled)
        first = callees(compiled)
        assert len(first) == len(set(first)), "further versions are put off, those of whole functions as well"
        plain_runs_take(10**10)
        for _ in range(20):
            call_all(compiled)
        assert len(callees(compiled)) > len(first)
        paid = {row[0]: row[4] for row in compiled._report()["put_off"]}
    compiled = frameloom.compile(f)
    with frameloom.config.patch(compile_budget=0, put_off=False):
        call_all(compiled)
    assert len(callees(compiled)) > 3 * len(first), paid


def test_it_can_be_switched_off():
    with frameloom.config.patch(put_off=False):
        compiled = frameloom.compile(words)
        for c in "abc":
            assert compiled(c) == c.upper() + "!"
    assert len(compiled._report()["entries"]) == 3 and not put_off(compiled)


def test_a_long_capture_without_arrays_is_given_up_until_it_pays():
    """Functions are looked into so far that none of them holds a call up for long; what comes behind is compiled later."""

    def step(k):
        return (k * 7 + 3) % 11

    source = "def f(n, x):\n k = n\n" + " k = step(k)\n" * 4000 + " return x[0] * 2 + k\n"
    names_ = {"step": step}
    exec(source, names_)
    f = names_["f"]
    compiled = frameloom.compile(f)
    assert compiled(3, (7,)) == f(3, (7,))
    report = compiled._report()
    assert "f" not in names(compiled) and not report["breaks"] and put_off(compiled)["f"][5] > 0
    x = (np.arange(3.0),)
    np.testing.assert_array_equal(compiled(3, x), f(3, x))
    assert "f" in names(compiled), "given arrays it is compiled at once"


def test_what_is_put_off_is_in_the_log(capfd):
    with frameloom.config.patch(logs="breaks"):
        compiled = frameloom.compile(words)
        for c in "abc":
            compiled(c)
    assert capfd.readouterr().err.count(PUT_OFF) == 1, "once for a function"


def test_explain_lists_what_is_put_off():
    def helper(n):
        print(end="")
        return digits(n)

    told = frameloom.explain(with_helper, 5, helper)
    row = next(row for row in told.put_off if row.function == helper.__qualname__)
    assert row.line == helper.__code__.co_firstlineno and row.wanted_ms > row.plain_ms
    assert PUT_OFF in str(told) and str(row) in str(told)
    assert json.loads(told.json())["put_off"][0]["wanted_ms"] == row.wanted_ms


def test_reset_forgets_the_times():
    compiled = frameloom.compile(words)
    for c in "abcd":
        compiled(c)
    compiled._reset()
    assert not put_off(compiled)
    compiled("e")
    assert len(compiled._report()["entries"]) == 1


def test_what_is_raised_is_the_plain_functions():
    def f(text):
        return int(text)

    compiled = frameloom.compile(f)
    for text in ("1", "2", "x", "3"):
        if text == "x":
            with pytest.raises(ValueError, match="invalid literal"):
                compiled(text)
        else:
            assert compiled(text) == int(text)


@pytest.mark.filterwarnings("ignore:frameloom")
@pytest.mark.parametrize("settings", [{}, {"put_off": False}], ids=["put off", "at the limit"])
def test_calls_that_no_version_fits_are_mostly_not_looked_at(settings, plain_runs_take):
    """Not even where some values among many have versions: to look at all guards takes longer than a short function."""
    plain_runs_take(1000)
    with frameloom.config.patch(**settings):
        compiled = frameloom.compile(words)
        for round_ in range(40):
            for i in range(97):
                assert compiled(str(i)) == f"{i}!"
        report = compiled._report()
    assert report["hits"] + report["misses"] < 1500
    assert compiled("new") == "NEW!"
    with pytest.raises(AttributeError):
        compiled(3)


def test_arrays_are_seen_again_behind_calls_that_were_not_looked_at():
    def f(x):
        return x * 2

    compiled = frameloom.compile(f)
    for i in range(200):
        assert compiled(str(i)) == str(i) * 2
    x = np.arange(3.0)
    for _ in range(200):
        np.testing.assert_array_equal(compiled(x), x * 2)
    assert any(entry["ops"] and entry["hits"] for entry in compiled._report()["entries"])


def test_a_stance_that_compiles_nothing_leaves_nothing_behind():
    """Calls that are plain because nothing may be compiled now say nothing of those that come later."""
    compiled = frameloom.compile(words)
    with frameloom.set_stance("eager_on_recompile"):
        for i in range(100):
            assert compiled(str(i)) == f"{i}!"
    assert compiled("x") == "X!"
    assert len(compiled._report()["entries"]) == 1


def digits_of(n):
    while n:
        print(end="")  # it breaks, so that it runs for real
        yield n % 10
        n //= 10


def doubled(x, n):
    for i in range(n):
        yield x * 2 + i


def test_parts_of_generators():
    """What runs between two yields is not timed: so much of it is taken to have run when a part is asked for."""
    def total(make, *args):
        print(end="")
        seen = 0
        for one in max([make], key=str)(*args):
            seen = seen + one
        return seen

    compiled = frameloom.compile(total)
    assert [compiled(digits_of, 10**k + 7) for k in range(5, 9)] == [8] * 4
    assert not any(name.startswith("digits_of") for name in names(compiled))
    assert any(name.startswith("digits_of") for name in put_off(compiled))
    fresh, x = frameloom.compile(total), np.arange(3.0)
    np.testing.assert_array_equal(fresh(doubled, x, 3), total(doubled, x, 3))
    assert any(entry["ops"] for entry in fresh._report()["entries"]), "it has an array"


def test_parts_of_generators_that_run_often():
    def total(make, x):
        seen = x * 2  # it computes something, so that it is not left to Python
        for one in max([make], key=str)(10**200):
            seen = seen + one
        return seen

    x = np.arange(3.0)
    with frameloom.config.patch(leave_slower=False):
        compiled = frameloom.compile(total)
        for _ in range(8):
            np.testing.assert_array_equal(compiled(digits_of, x), total(digits_of, x))
    assert any(name.startswith("digits_of") for name in names(compiled)), compiled._report()["put_off"]
