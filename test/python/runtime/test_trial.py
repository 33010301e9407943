"""A function that its breaks make slower than plain Python is left to it, after some calls that are timed."""

import numpy as np
import pytest

import frameloom

SLOWER = "FL0024"


@pytest.fixture
def pretend():
    """pretend(compiled wall, CPU, plain wall, CPU): what runs take from here on, in ns."""
    yield frameloom._native._pretend_times
    frameloom._native._pretend_times()


def codes(compiled):
    return [f"FL{row[0]:04d}" for row in compiled._report()["breaks"] or []]


def positive(x, seen):
    count = 0
    for i in range(len(x)):
        if x[i] > 0:
            count += 1
    seen.append(count)
    return count


def smoothed(x, rounds):
    for _ in range(rounds):
        y = x
        for _ in range(8):
            y = np.sin(y) * 0.5 + np.cos(y) * 0.25 + np.sqrt(np.abs(y) + 1.0)
        x = y
        if y[0, 0] > 1e9:
            break
    return x


def counts_positive(compiled, x, calls):
    seen = []
    results = [compiled(x, seen) for _ in range(calls)]
    want = int((x > 0).sum())
    assert results == seen == [want] * calls


def test_a_slower_function_is_left_to_python_and_gives_the_same(pretend):
    compiled = frameloom.compile(positive)
    pretend(200_000, 200_000, 100_000, 100_000)
    counts_positive(compiled, np.arange(-15.0, 20.0), 60)
    assert SLOWER in codes(compiled)
    with pytest.raises(TypeError):
        compiled(None, [])


def test_it_is_looked_at_again_when_its_calls_take_much_longer(pretend):
    compiled = frameloom.compile(positive, dynamic=True)
    pretend(200_000, 200_000, 100_000, 100_000)
    counts_positive(compiled, np.arange(-15.0, 20.0), 60)
    assert verdict(compiled) == ["left"]
    pretend(50_000, 50_000, 100_000, 100_000)
    counts_positive(compiled, np.arange(-15.0, 20.0), 300)
    assert verdict(compiled) == ["left"]
    pretend(50_000, 50_000, 5_000_000, 5_000_000)
    counts_positive(compiled, np.arange(-15.0, 20.0), 400)
    assert verdict(compiled) == ["stays"]
    counts_positive(compiled, np.arange(-15.0, 9000.0), 30)


def test_a_faster_function_stays_compiled(pretend):
    compiled = frameloom.compile(smoothed)
    pretend(100_000, 100_000, 200_000, 200_000)
    x = np.full((24, 24), 0.5)
    want = smoothed(x, 10)
    for _ in range(20):
        np.testing.assert_allclose(compiled(x, 10), want, rtol=1e-12)
    assert SLOWER not in codes(compiled)


def test_the_setting_keeps_the_parts(pretend):
    pretend(200_000, 200_000, 100_000, 100_000)
    with frameloom.config.patch(leave_slower=False):
        compiled = frameloom.compile(positive)
        counts_positive(compiled, np.arange(-15.0, 20.0), 60)
        assert SLOWER not in codes(compiled)


def test_a_function_called_by_one_that_runs_for_real():
    def outer(x):
        total = 0
        for k in range(20):
            seen = []
            total += len(str(positive(x, seen))) + seen[0]
        return total

    compiled = frameloom.compile(outer)
    x = np.arange(-15.0, 20.0)
    for _ in range(8):
        assert compiled(x) == outer(x)


def test_callees_give_the_same_in_every_state_of_the_trial():
    def callee(x):
        return np.sin(x) * 0.5 + np.cos(x) * 0.25

    def drive(x, call):
        total = 0.0
        for k in range(40):
            if x[k] > 0:
                total += k
        return total, max([call], key=str)(x)  # not captured: the callee runs in a frame of its own

    x = np.linspace(-1.0, 1.0, 64)
    compiled = frameloom.compile(drive)
    want = drive(x, callee)
    for _ in range(40):
        total, result = compiled(x, callee)
        assert total == want[0]
        np.testing.assert_allclose(result, want[1], rtol=1e-12)


def test_what_a_plain_run_compiles_is_not_judged(pretend):
    """The first plain runs of this one used to compile what it calls, and to look slow. Compiled runs are said to take a
    hundred times as long as plain ones do, and less than that compilation."""
    pretend(2_000_000, 2_000_000, 0, 0)

    class Account:
        def __init__(self, cash):
            self.cash, self.held = cash, 0

        def buy(self, price):
            self.cash -= price
            self.held += 1

    def trade(prices):
        account = Account(1000.0)
        for i in range(1, len(prices)):
            if prices[i - 1] <= 0 and prices[i] > 0:
                account.buy(float(prices[i]))
        return account.cash, account.held

    compiled = frameloom.compile(trade)
    prices = np.sin(np.arange(60.0))
    for _ in range(60):
        assert compiled(prices) == trade(prices)
    assert SLOWER in codes(compiled)


def test_a_slower_generator_is_left_to_python_and_on_record(capfd, pretend):
    pretend(200_000, 200_000, 100_000, 100_000)

    def above(x):
        for i in range(len(x)):
            if x[i] > 0:
                yield i

    def drive(x, make):
        return [i for i in max([make], key=str)(x)]  # not captured: the generator is called for real

    compiled, x = frameloom.compile(drive), np.arange(-20.0, 20.0)
    with frameloom.config.patch(logs="breaks"):
        for _ in range(60):
            assert compiled(x, above) == drive(x, above)
    rows = [row for row in compiled._report()["breaks"] if row[0] == 25]
    assert len(rows) == 1 and "above" in rows[0][4] and rows[0][7] == above.__code__.co_firstlineno
    assert "FL0025" in capfd.readouterr().err

    def many(x, make):
        return [drive(x, make) for _ in range(60)]

    frameloom.reset()
    assert any(reason.code == "FL0025" for reason in frameloom.explain(many, x, above).break_reasons)


def test_the_setting_keeps_generators_compiled(pretend):
    pretend(200_000, 200_000, 100_000, 100_000)

    def above(x):
        for i in range(len(x)):
            if x[i] > 0:
                yield i

    def drive(x, make):
        return [i for i in max([make], key=str)(x)]

    compiled, x = frameloom.compile(drive), np.arange(-20.0, 20.0)
    with frameloom.config.patch(leave_slower=False):
        for _ in range(60):
            assert compiled(x, above) == drive(x, above)
    assert "FL0025" not in codes(compiled)


# ---- whole functions ----


def compiled_runs(compiled):
    return sum(entry["hits"] for entry in compiled._report()["entries"] if not entry["part"])


def affine(x):
    return x * 2 + 1


def called(compiled, count, *arguments):
    want = compiled.__wrapped__(*arguments)
    for _ in range(count):
        np.testing.assert_array_equal(compiled(*arguments), want)


def test_a_whole_function_that_loses_is_left(pretend):
    compiled = frameloom.compile(affine)
    pretend(110_000, 110_000, 100_000, 100_000)
    called(compiled, 50, np.arange(5.0))
    assert SLOWER in codes(compiled)
    assert [reason.code for reason in frameloom.explain(compiled, np.arange(5.0)).break_reasons] == [SLOWER]
    assert not frameloom.explain(affine, np.arange(5.0)).break_reasons
    before = compiled_runs(compiled)
    called(compiled, 200, np.arange(5.0))
    assert before == compiled_runs(compiled) < 25


def test_a_whole_function_that_wins_stays(pretend):
    compiled = frameloom.compile(affine)
    pretend(1_000_000, 1_000_000, 2_000_000, 2_000_000)
    called(compiled, 50, np.arange(5.0))
    assert SLOWER not in codes(compiled) and compiled_runs(compiled) == 49


def test_threads_are_not_free(pretend):
    compiled = frameloom.compile(affine)
    pretend(1_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 50, np.arange(5.0))
    assert SLOWER in codes(compiled)


def test_a_plain_run_that_may_be_long_waits(pretend):
    compiled = frameloom.compile(affine)
    pretend(50_000_000, 50_000_000, 51_000_000, 51_000_000)
    called(compiled, 25, np.arange(5.0))
    assert compiled_runs(compiled) == 25
    called(compiled, 25, np.arange(5.0))
    assert compiled_runs(compiled) < 50


def test_no_plain_run_that_needs_much_memory(pretend):
    def pairs(x):
        return (x[:, None] * x[None, :]).sum(1)

    compiled, x = frameloom.compile(pairs), np.ones(6000)
    pretend(1_000_000, 1_000_000, 1, 1)
    for _ in range(8):
        assert compiled(x)[5] == 6000
    assert compiled_runs(compiled) == 8


def test_what_was_left_is_looked_at_again(pretend):
    compiled = frameloom.compile(affine)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 50, np.arange(5.0))
    before = compiled_runs(compiled)
    pretend(1_000_000, 1_000_000, 2_000_000, 2_000_000)
    called(compiled, 4000, np.arange(5.0))
    assert compiled_runs(compiled) > before + 1000


def test_what_stayed_is_looked_at_again(pretend):
    compiled = frameloom.compile(affine)
    pretend(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    called(compiled, 50, np.arange(5.0))
    assert SLOWER not in codes(compiled)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 4000, np.arange(5.0))
    assert SLOWER in codes(compiled)


@pytest.mark.parametrize("function", [affine, positive])
def test_what_was_in_doubt_is_looked_at_again_soon(pretend, function):
    arguments = ([],) if function is positive else ()
    compiled = frameloom.compile(function)

    def calls(count):
        for _ in range(count):
            compiled(np.arange(5.0), *arguments)

    pretend(1_000_000, 1_000_000, 1_000_000, 1_000_000)
    calls(50)
    assert verdict(compiled) == ["stays"]
    pretend(1_100_000, 1_100_000, 1_000_000, 1_000_000)
    calls(130)
    assert verdict(compiled) == ["left"]


def test_a_clear_case_is_not_looked_at_again_soon(pretend):
    compiled = frameloom.compile(affine)
    pretend(1_000_000, 1_000_000, 2_000_000, 2_000_000)
    called(compiled, 50, np.arange(5.0))
    before = compiled_runs(compiled)
    called(compiled, 3000, np.arange(5.0))
    assert compiled_runs(compiled) - before == 3000


def test_under_fullgraph_nothing_is_left(pretend):
    compiled = frameloom.compile(affine, fullgraph=True)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 50, np.arange(5.0))
    assert compiled_runs(compiled) == 50


def test_runs_in_vain_end():
    """Each run finds that a warning is due, for which the plain function has to run: also when that is looked at again."""
    compiled, x = frameloom.compile(lambda x: 1 / x), np.arange(3.0)
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        for _ in range(100):
            compiled(x)
        assert compiled_runs(compiled) < 20
        for _ in range(4000):
            compiled(x)
    assert compiled_runs(compiled) < 100


def verdict(compiled):
    """What became of the comparison of each version of a whole function."""
    return [entry["trial"] for entry in compiled._report()["entries"] if entry["name"] == compiled.__qualname__]


def tried(function, arguments, calls=50):
    """Compiled and called, whether or not it raises: the compiled function, and how often it has raised."""
    compiled, raised = frameloom.compile(function), 0
    for i in range(calls):
        try:
            compiled(*arguments(i))
        except ValueError:
            raised += 1
    return compiled, raised


def raising(x, odd):
    total = (x * 2 + 1).sum()
    if odd:
        int("no number")
    return total


def test_calls_that_raise_are_compared(pretend):
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    compiled, raised = tried(raising, lambda i: (np.arange(5.0), True))
    assert raised == 50 and SLOWER in codes(compiled) and verdict(compiled) == ["left"]
    pretend(1_000_000, 1_000_000, 2_000_000, 2_000_000)
    compiled, raised = tried(raising, lambda i: (np.arange(5.0), True))
    assert raised == 50 and verdict(compiled) == ["stays"]


def broken(x, odd):
    """The version that returns and the one that raises are the same."""
    total = (x * 2 + 1).sum()
    if int(total) != 25:
        total = -total
    return int("no number" if odd[0] else "5") + total


@pytest.mark.parametrize("period", [2, 3, 5])
def test_calls_that_raise_now_and_then_are_compared(pretend, period):
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    compiled, raised = tried(broken, lambda i: (np.arange(5.0), [i % period == 0]), 80)
    assert raised == len(range(0, 80, period))
    assert set(verdict(compiled)) == {"left"}


def test_without_callees_there_is_one_comparison(pretend):
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    compiled = frameloom.compile(positive)
    counts_positive(compiled, np.arange(-15.0, 20.0), 30)
    assert verdict(compiled) == ["left"]

    def outer(x, seen):
        return max([positive], key=str)(x, seen)  # not captured: the callee runs in a frame of its own

    compiled = frameloom.compile(outer)
    counts_positive(compiled, np.arange(-15.0, 20.0), 22)
    assert verdict(compiled) == ["left, callees on trial"]


@pytest.mark.parametrize("function", [affine, raising, positive])
def test_calls_of_what_was_left_do_without_guards_soon(pretend, function):
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    arguments = {affine: (), raising: (True,), positive: ([],)}[function]
    compiled, _ = tried(function, lambda i: (np.arange(5.0), *arguments))
    before = compiled._report()["hits"]
    assert before < 50
    for _ in range(200):
        try:
            compiled(np.arange(5.0), *arguments)
        except ValueError:
            pass
    assert compiled._report()["hits"] - before < 20


def test_other_arguments_of_what_is_left_are_compiled(pretend):
    compiled = frameloom.compile(affine)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 400, np.arange(5.0))
    assert len(compiled._report()["entries"]) == 1
    called(compiled, 200, np.arange(12).reshape(3, 4))
    assert len(compiled._report()["entries"]) == 2


def test_other_code_of_what_is_left_runs(pretend):
    def function(x):
        return x + 1

    def other(x):
        return x - 1

    compiled = frameloom.compile(function)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    called(compiled, 400, np.arange(5.0))
    function.__code__ = other.__code__
    called(compiled, 40, np.arange(5.0))
    frameloom.reset()
    called(compiled, 40, np.arange(5.0))


def test_recursion_and_exceptions_in_every_state(pretend):
    def down(x, n, seen):
        seen.append(n)
        if n < 0:
            raise ValueError(n)
        return x if n == 0 else compiled(x * 2, n - 1, seen)

    compiled, x = frameloom.compile(down), np.arange(3.0)
    pretend(2_000_000, 2_000_000, 1_000_000, 1_000_000)
    for i in range(120):
        seen = []
        if i % 7 == 3:
            with pytest.raises(ValueError):
                compiled(x, -1, seen)
            assert seen == [-1]
        else:
            np.testing.assert_array_equal(compiled(x, 3, seen), x * 8)
            assert seen == [3, 2, 1, 0]
