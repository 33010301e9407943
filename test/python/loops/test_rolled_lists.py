"""Lists that a rolled loop appends to: the items are what plain Python's are, each an object of its own."""

import collections
import os
import random

import numpy as np
import pytest
from compare import copied
from rolling import FIRST, alike, fates, short  # noqa: F401

import frameloom


def lists_alike(function, *args, counts=(40, 5, 0, 1, 2, 4, 60), rolled=True):
    """Runs both for several counts, the last argument."""
    for n in counts:
        compiled = frameloom.compile(function)
        for _ in range(2):
            mine, theirs = copied(args), copied(args)
            alike([function(*theirs, n), theirs], [compiled(*mine, n), mine])
    if rolled is not None:
        found = fates(function, *copied(args), 40)
        assert ("rolled" in found) == rolled and not (rolled and "unrolled" in found), found


def start():
    return np.linspace(0.1, 0.9, 4)


# ---- what is appended -----------------------------------------------------------------------------------------------


def test_arrays():
    def run(x, n):
        out = []
        for _ in range(n):
            x = x + 0.1 * (x - x * x)
            out.append(x)
        return out

    lists_alike(run, start())


def test_the_last_item_is_the_variable():
    def run(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out, x, n > 0 and out[-1] is x

    lists_alike(run, start())


def test_before_and_behind_the_step():
    def run(x, n):
        out, behind = [], [x]
        for _ in range(n):
            out.append(x)
            x = np.sin(x)
            behind.append(x)
        return out, behind

    lists_alike(run, start(), rolled=False)  # one array in two lists

    def one(x, n):
        out = []
        for _ in range(n):
            out.append(x)
            x = np.sin(x)
        return out, x

    lists_alike(one, start())


def test_numbers():
    def run(x, n):
        losses, times, counts, flags, now = [], [], [], [], 0.0
        for i in range(n):
            x = x * 0.99
            now += 0.25
            losses.append((x * x).sum())
            times.append(now)
            counts.append(3 * i - 1)
            flags.append(i * 0.5 < 100)
        return losses, times, counts, flags

    lists_alike(run, start(), rolled=None)

    def fewer(x, n):
        losses, times, counts, now = [], [], [], 0.0
        for i in range(n):
            x = x * 0.99
            now += 0.25
            losses.append((x * x).sum())
            times.append(now)
            counts.append(3 * i - 1)
        return losses, times, counts

    lists_alike(fewer, start())


def test_indices_of_some_iterations():
    def run(x, n):
        return [i for i in range(n) if i > 7], [(i, k) for i in range(n) for k in range(2) if i != 5], [x[: i % 2] for i in range(n)]

    lists_alike(run, start(), rolled=None)


def test_tuples():
    def run(x, n):
        out = []
        for i in range(n):
            x = np.cos(x)
            out.append((i, x, x.max()))
        return out

    lists_alike(run, start())


def test_lists_of_lists():
    def grid(x, n):
        return [[x * i + j for j in range(3)] for i in range(n)]

    def pairs(x, n):
        out = []
        for i in range(n):
            x = x * 1.01
            out.append([x, (i, [x.sum()]), []])
        out[-1:] = [item + [None] for item in out[-1:]]
        return out, x

    def kept(x, n):
        out, row = [], []
        for i in range(n):
            x = x * 1.01
            row.append(x)
            out.append(row)
            row = [x]
        row.append(1)
        return out, row

    def shared(x, n):
        out, row = [], []
        for i in range(n):
            row.append(x * i)
            out.append(row)
        return out, row

    def changed(x, n):
        out = [[x * 1]]
        for i in range(n):
            out.append([x * i])
            out[-2].append(x - i)
        return out

    def afterwards(x, n):
        out = []
        for i in range(n):
            out.append([x * i, i])
        if n:
            out[n // 2].append(len(out))
            out[0][1] = None
            out[-1][0] += 1
        return out

    for function in (grid, pairs, afterwards):
        lists_alike(function, start(), rolled=None)
        assert "rolled" in fates(function, start(), 40)
    for function in (kept, shared, changed):
        lists_alike(function, start(), rolled=None)


def test_several_lists_and_items():
    def run(x, n):
        a, b = [], []
        for _ in range(n):
            x = x + 1
            a.append(x)
            b.append(x * 2)
            b.append(x.astype(np.float32))
        return a, b, len(a), len(b)

    lists_alike(run, start())


def test_comprehensions():
    def run(a, n):
        return [row * 2 + 1 for row in a[:n]]

    def numbers(a, n):
        return [row.sum() for row in a[:n]]

    def computed(x, n):
        return np.stack([np.sin(x * i) for i in range(n)]) if n else None

    table = np.arange(240.0).reshape(60, 4)
    lists_alike(run, table)
    lists_alike(numbers, table)
    lists_alike(computed, start())


def test_layouts_and_sizes():
    def fortran(x, n):
        out = []
        for _ in range(n):
            x = x * 1.5
            out.append(x)
        return out

    lists_alike(fortran, np.asfortranarray(np.arange(6.0).reshape(2, 3)))
    lists_alike(fortran, np.arange(24.0).reshape(2, 3, 4).transpose(2, 0, 1))
    lists_alike(fortran, np.ones((1, 3), np.complex64))
    lists_alike(fortran, np.array(2.5))
    lists_alike(fortran, np.zeros((0, 3)), rolled=False)


def test_the_dtype_changes_behind_the_first_iteration():
    def run(x, n):
        out = []
        for _ in range(n):
            x = x * 1.5
            out.append(x)
        return out

    lists_alike(run, np.arange(4))


def test_lists_of_the_caller():
    def run(x, h, n):
        for _ in range(n):
            x = x * 1.01
            h.append(x)
        return x

    def read(x, h, n):
        before = len(h)
        for _ in range(n):
            x = x * 1.01
            h.append(x)
        return before, len(h)

    lists_alike(run, start(), [])
    lists_alike(run, start(), [1, "two"])
    lists_alike(read, start(), [])
    lists_alike(read, start(), [1, "two"])


def test_lists_elsewhere():
    class Log:
        def __init__(self):
            self.values = []

        def add(self, value):
            self.values.append(value)

    def attribute(x, n):
        log = Log()
        for _ in range(n):
            x = x * 1.01
            log.add(x)
        return log.values, x

    def named(x, n):
        history = {"x": [], "norm": []}
        for _ in range(n):
            x = x * 1.01
            history["x"].append(x)
            history["norm"].append(np.abs(x).max())
        return history

    def closure(x, n):
        out = []

        def note(v):
            out.append(v)
            return v

        for _ in range(n):
            x = note(x * 1.01)
        return out

    def bound(x, n):
        out = []
        note = out.append
        for _ in range(n):
            x = x * 1.01
            note(x)
        return out

    def added(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out += [x]
        return out

    for function in (attribute, named, closure, bound, added):
        lists_alike(function, start())


class Series(list):
    def note(self, value):
        self.append(value)


def test_classes_over_lists_and_deques():
    def over(x, n):
        out = Series()
        for _ in range(n):
            x = x * 1.01
            out.note(x)
        return out, type(out) is Series, len(out)

    def deque(x, n):
        out = collections.deque()
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out, len(out)

    def bounded(x, n):
        out = collections.deque(maxlen=5)
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out

    for function in (over, deque):
        lists_alike(function, start())
    lists_alike(bounded, start(), rolled=None)


@pytest.mark.parametrize("looked_at", [False, True])
@pytest.mark.parametrize("kind", [collections.deque, lambda: collections.deque([1], maxlen=6), Series, lambda: [None]])
def test_containers_of_the_caller(kind, looked_at):
    def run(x, h, n):
        before = len(h) if looked_at else None
        for _ in range(n):
            x = x * 1.01
            h.append(x)
        return x, before

    compiled = frameloom.compile(run)
    for n in (12, 0, 1, 20):
        theirs, mine = kind(), kind()
        alike(run(start(), theirs, n), compiled(start(), mine, n))
        assert type(mine) is type(theirs)
        alike(theirs, mine)


# ---- what is done with the list -------------------------------------------------------------------------------------


def test_as_one_array():
    def stacked(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return np.stack(out) if out else None

    def with_first(x, n):
        out = [x]
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return np.array(out), np.asarray(out)[-1]

    def both(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out, np.array(out)

    def numbers(x, n):
        out = []
        for i in range(n):
            out.append(float(i) * 0.5)
        return np.array(out)

    def changed(x, n):
        out = [x * 0]
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        x += 100
        return np.stack(out), x

    for function in (stacked, with_first, both, numbers, changed):
        lists_alike(function, start())


def test_items_afterwards():
    def run(x, n):
        out = [x + 0]
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        out[-1] += 5
        first, last = out[0], out[-1]
        first -= 1
        picked = out[n // 2]
        picked *= 2
        return out, first, last, picked, picked is out[n // 2], len(out), last is x

    lists_alike(run, start())


def test_whole_list_afterwards():
    def gone_through(x, n):
        out, total = [], 0.0
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        for y in out:
            total = total + y
        return total, out[::2], out[:3], sum(y.sum() for y in out)

    def changed(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        out.reverse()
        if out:
            out.pop()
        out.extend([x, None])
        return out, out == [], list(out), tuple(out), [*out]

    lists_alike(gone_through, start(), counts=(40, 5, 0, 1, 250), rolled=None)
    lists_alike(changed, start(), counts=(40, 5, 0, 1, 250), rolled=None)


def test_two_loops():
    def run(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        out.append(None)
        for _ in range(n):
            x = x * 0.5
            out.append(x)
        return out, len(out)

    lists_alike(run, start())


def test_a_list_for_each_iteration_of_an_outer_loop():
    def run(x, n):
        means = []
        for _ in range(n):
            inner = []
            for _ in range(7):
                x = x * 1.01
                inner.append(x)
            means.append(np.stack(inner).mean(axis=0))
        return means

    def flat(x, n):
        out = []
        for _ in range(n):
            for _ in range(7):
                x = x * 1.01
                out.append(x)
        return out

    lists_alike(run, start(), rolled=None)
    lists_alike(flat, start(), counts=(20, 0, 1), rolled=None)


# ---- what is not rolled, and what is left alone -----------------------------------------------------------------------


def test_one_array_many_times():
    def run(x, n):
        out = []
        for _ in range(n):
            x += 1
            out.append(x)
        return out

    def made(x, n):
        y, out = x * 2, []
        for _ in range(n):
            y += 1
            out.append(y)
        return out, y

    def swapped(x, n):
        a, b, out = x * 2, x * 3, []
        for _ in range(n):
            a, b = b, a
            a += 1
            out.append(a)
        return out, a, b

    for function in (run, made, swapped):
        lists_alike(function, start(), rolled=False)


def test_changed_after_it_was_appended():
    def later(x, n):
        out, before = [], x * 0
        for _ in range(n):
            x = x * 1.01
            out.append(x)
            before -= 1
            before = x
        return out

    def at_once(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
            x += 1
        return out

    lists_alike(later, start(), rolled=False)
    lists_alike(at_once, start())


def test_views():
    def run(a, n):
        out = []
        for i in range(n):
            out.append(a[i])
        return out

    def reshaped(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x.reshape(2, 2))
        return out

    lists_alike(run, np.arange(240.0).reshape(60, 4), rolled=False)
    lists_alike(reshaped, start(), rolled=False)


def test_the_body_reads_the_end():
    def run(x, n):
        out = [x]
        for _ in range(n):
            out.append(out[-1] * 1.01)
        return out

    def second_order(x, n):
        out = [x, x * 1.1]
        for _ in range(n):
            out.append(2 * out[-1] - out[-2] - 0.01 * out[-1])
        return out, np.array(out)

    def numbers(x, n):
        times, out = [0.0], [x * 1]
        for _ in range(n):
            times.append(times[-1] + 0.1)
            out.append(out[-1] + 0.1 * times[-1])
        return times, out

    for function in (run, second_order, numbers):
        lists_alike(function, start())


def test_the_body_reads_the_list():
    def length(x, n):
        out = []
        for _ in range(n):
            out.append(x * len(out))
        return out

    def first(x, n):
        out = [x * 1]
        for _ in range(n):
            out.append(out[0] + out[-1])
        return out

    def gone_through(x, n):
        out = [x * 1]
        for _ in range(n):
            out.append(sum(out) * 0.1)
        return out

    def written(x, n):
        out = [x * 1]
        for _ in range(n):
            out.append(x * 2)
            out[0] = out[0] + x
        return out

    for function in (length, first, gone_through, written):
        lists_alike(function, start(), counts=(20, 3, 0, 1), rolled=False)

    compiled = frameloom.explain(length, start(), 20)
    assert "reads a list" in compiled.loops[0].why


def test_exceptions():
    def run(x, a, h, n):
        for i in range(n):
            x = x * 1.01
            h.append(x + a[i])
        return x

    compiled = frameloom.compile(run)
    for size in (60, 30):
        mine, theirs = [], []
        a = np.arange(float(size))
        for function, h in ((run, theirs), (compiled, mine)):
            if size == 60:
                function(start(), a, h, 40)
            else:
                with pytest.raises(IndexError):
                    function(start(), a, h, 40)
        alike(theirs, mine)
        assert len(mine) == min(size, 40)


def test_integer_overflow_and_division():
    def run(x, d, n):
        out = []
        for i in range(n):
            x = x // d[i]
            out.append(x)
        return out

    for divisors in (np.arange(1, 61), np.arange(-20, 40)):
        with np.errstate(all="ignore"):
            lists_alike(run, np.arange(4) + 10**6, divisors, rolled=None)


# ---- rows are arrays like any other ------------------------------------------------------------------------------------


def test_items_own_their_memory():
    @frameloom.compile
    def run(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out, x

    out, last = run(start(), 1000)
    assert len(out) == 1000 and out[-1] is last
    assert all(type(y) is np.ndarray and y.base is None and y.flags.owndata and y.flags.writeable for y in out)
    kept = [y.copy() for y in out]
    for y in out[::2]:
        y[:] = 0
    assert all((a == b).all() for a, b in zip(out[1::2], kept[1::2]))
    again, _ = run(start(), 1000)
    assert all((a == b).all() for a, b in zip(again, kept))


def test_many_iterations_take_as_long_to_compile():
    def run(x, n):
        out, norms = [], []
        for _ in range(n):
            x = x + 0.001 * (1 - x)
            out.append(x)
            norms.append(np.abs(x).max())
        return np.stack(out), norms

    counts = []
    for n in (100, 100_000):
        report = frameloom.explain(run, start(), n)
        assert [loop.fate for loop in report.loops] == ["rolled"]
        counts.append(report.op_count)
    assert counts[0] == counts[1]
    stacked, norms = frameloom.compile(run)(start(), 100_000)
    assert stacked.shape == (100_000, 4) and stacked.base is None and len(norms) == 100_000
    assert type(norms[5]) is np.float64 and abs(norms[-1] - 1) < 1e-9


def test_symbolic_counts():
    @frameloom.compile
    def run(x, n):
        out = []
        for _ in range(n):
            x = x * 1.01
            out.append(x)
        return out, np.stack(out), len(out), x is out[-1]

    plain = run.__wrapped__
    for n in (40, 50, 60, 33, 100, 7, 41, 1):
        alike(plain(start(), n), run(start(), n))


# ---- random programs ----------------------------------------------------------------------------------------------------

STEPS = [
    "x = x * 1.01",
    "x = x + 0.1 * y",
    "x += 0.5",
    "x[1:] -= 0.25",
    "y = np.sin(x)",
    "y = x",
    "y = y * 0.5 + x",
    "x, y = y, x",
    "z = x",
    "y += 1",
    "k = k + 0.5",
    "z *= 0.5",
]
NOTES = [
    "out.append(x)",
    "out.append(y)",
    "out.append(x * 2)",
    "out.append(x.copy())",
    "out.append(x.sum())",
    "out.append(k)",
    "out.append((k, x))",
    "out.append((y, x + y))",
    "out.append([y, (k, x)])",
    "other.append([x + k, i])",
    "other.append(x)",
    "other.append(y - x)",
    "other.append(x.max())",
    "other.append(i)",
    "other += [x * k]",
    "h.append(x)",
    "h.append(x + 1)",
    "if i % 3 == 1: out.append(x - 1)",
    "if i > 2: other.append((i, x))",
    "if i < n - 2: out.append(i * k)",
    "out.append(out[-1])",
    "other.append(len(out))",
    "out.append(x[1:])",
    "z = out[-1]",
]
ENDS = [
    "return out, other, x, y, z, k",
    "return out, other, [x, y, z]",
    "x += 1; y -= 1; return out, other, x, y, z",
    "return out, out[-1] is x, out[-1] is y, len(other)",
    "z += 2; return out[-1], out[0], out, z",
    "out.append(x); return out[::-1], other, x",
    "return [a for a in out], other, y",
    "other.append(out); return other",
    "x = out[-1]; return x, out, y",
]


def program(seed):
    pick = random.Random(seed)
    body = [pick.choice(STEPS) for _ in range(pick.randint(1, 4))]
    body += [pick.choice(NOTES) for _ in range(pick.randint(1, 3))]
    pick.shuffle(body)
    begin = pick.choice(["x = x * 1", "pass", "x = x + y"])
    lines = ["def run(x, y, h, n):", f"    {begin}", "    z, k, out, other = x * 3, 0.5, [x], []"]
    lines += ["    for i in range(n):"] + [f"        {line}" for line in body] + [f"    {pick.choice(ENDS)}"]
    return "\n".join(lines) + "\n"


@pytest.mark.parametrize("seed", range(FIRST, FIRST + int(os.environ.get("FRAMELOOM_LIST_PROGRAMS", "60"))))
def test_random_programs(seed):
    text = program(seed)
    space = {"np": np}
    exec(compile(text, f"<program {seed}>", "exec"), space)
    run = space["run"]
    compiled = frameloom.compile(run)
    for n in (12, 0, 1, 2, 9):
        results = []
        for function in (run, compiled):
            args = [start(), start()[::-1].copy(), [], n]
            try:
                result = function(*args)
            except Exception as error:
                result = [type(error).__name__, str(error)]
            results.append([result, args[:3]])
        try:
            alike(*results)
        except AssertionError:
            print(text, n)
            raise
