"""Small arrays that are filled and read element by element, row by row: reads are taken from where they were written,
and many updates share a kernel (passes/forward.c, passes/fuse_inplace.c)."""

import random
import warnings

import numpy as np
import pytest
from compare import assert_same

import frameloom


class Writer:
    """A random function of straight code that fills tables."""

    def __init__(self, seed, length):
        self.random = random.Random(seed)
        self.lines = []
        self.tables = {}
        self.numbers, self.rows = [], {}
        self.divides = self.random.random() < 0.3
        for name in ("d", "e", "f")[:self.random.randint(1, 3)]:
            rows, columns = self.random.randint(2, 6), self.random.randint(2, 6)
            start = self.random.choice((f"np.zeros(({rows}, {columns}))", f"np.ones(({rows}, {columns})) * y",
                                        f"x[:{rows}, :{columns}].copy()", f"x[:{rows}, :{columns}] / z",
                                        f"x[1:{rows + 1}, :{columns}]",
                                        f"np.arange({rows * columns}.0).reshape({rows}, {columns})"))
            self.lines.append(f"{name} = {start}")
            self.tables[name] = rows, columns
        for _ in range(length):
            self.statement()
        names = self.numbers[-4:] + list(self.tables)
        self.random.shuffle(names)
        self.lines.append(f"return {', '.join(names[:self.random.randint(1, len(names))])},")

    def place(self, size, whole=True):
        """An index of one dimension, and how many elements it takes (None: the dimension goes)."""
        kind = self.random.random()
        if kind < 0.7 or not whole:
            return str(self.random.randrange(-size, size)), None
        if kind < 0.8:
            return ":", size
        start, step = self.random.randrange(size), self.random.randint(1, 2)
        return f"{start}::{step}", len(range(start, size, step))

    def number(self):
        kind = self.random.random()
        if self.numbers and kind < 0.3:
            return self.random.choice(self.numbers)
        if kind < 0.4:
            return self.random.choice(("1.0", "2.5", "y", "0.0"))
        name = self.random.choice(list(self.tables))
        rows, columns = self.tables[name]
        return f"{name}[{self.place(rows, False)[0]}, {self.place(columns, False)[0]}]"

    def value(self):
        a, b = self.number(), self.number()
        forms = ["({} + {}) * 0.5", "np.minimum({}, {})", "np.where({} < {}, 1.0, 2.0)", "{} - {}"]
        if self.divides:
            forms.append("{} / {}")
        return self.random.choice(forms).format(a, b)

    def statement(self):
        kind = self.random.random()
        name = self.random.choice(list(self.tables))
        rows, columns = self.tables[name]
        if kind < 0.15:
            number = f"s{len(self.numbers)}"
            self.lines.append(f"{number} = {self.value()}")
            self.numbers.append(number)
        elif kind < 0.2 and len(self.tables) < 5:
            copy = f"c{len(self.lines)}"
            self.lines.append(f"{copy} = {name}{self.random.choice(('.copy()', '', ' * 0.5', '[::-1]'))}")
            self.tables[copy] = rows, columns
        else:
            (i, height), (j, width) = self.place(rows), self.place(columns)
            taken = [size for size in (height, width) if size is not None]
            value = self.value()
            if taken and self.random.random() < 0.5:
                other = self.random.choice(list(self.tables))
                if self.tables[other] >= (max(taken), max(taken)) and self.tables[other][1] >= max(taken):
                    source = f"{other}[{', '.join(f':{size}' for size in taken)}]" if len(taken) == 2 else \
                        f"{other}[{self.random.randrange(self.tables[other][0])}, :{taken[0]}]"
                    value = f"{source} * 0.5 + {self.number()}"
            operator = self.random.choice(("=", "=", "=", "+=", "*="))
            self.lines.append(f"{name}[{i}, {j}] {operator} {value}")

    def function(self):
        namespace = {"np": np}
        exec("def filled(x, y, z):\n" + "".join(f"    {line}\n" for line in self.lines), namespace)
        return namespace["filled"]


def results_and_warnings(function, arguments):
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        try:
            results = function(*arguments)
        except ZeroDivisionError as error:  # of two Python floats
            results = str(error),
    return results, arguments[0], {str(w.message) for w in found if w.category is RuntimeWarning}


def tables_alike(seed, length):
    written = Writer(seed, length)
    plain = written.function()
    compiled = frameloom.compile(plain, dynamic=False)
    generator = np.random.default_rng(seed)
    for _ in range(2):
        x = generator.uniform(-3, 3, (7, 6)).round(1)
        y, z = float(generator.uniform(1, 2)), generator.uniform(1, 2, (1, 1))
        want = results_and_warnings(plain, (x.copy(), y, z))
        have = results_and_warnings(compiled, (x.copy(), y, z))
        source = "\n".join(written.lines)
        assert have[2] == want[2], source
        assert len(have[0]) == len(want[0])
        for mine, theirs in zip(have[0] + (have[1],), want[0] + (want[1],)):
            np.testing.assert_array_equal(np.asarray(mine), np.asarray(theirs), err_msg=source)
            assert type(mine) is type(theirs)
        for i, one in enumerate(have[0]):
            for k, other in enumerate(have[0]):
                assert isinstance(one, str) or np.shares_memory(one, other) == np.shares_memory(want[0][i], want[0][k]), source


@pytest.mark.parametrize("seed", range(16))
def test_random_tables(seed):
    tables_alike(seed, 12 + 3 * seed)


def edit_distance(a, b):
    d = np.zeros((a.size + 1, b.size + 1))
    d[:, 0] = np.arange(a.size + 1)
    d[0] = np.arange(b.size + 1)
    for i in range(1, a.size + 1):
        for j in range(1, b.size + 1):
            cost = np.where(a[i - 1] == b[j - 1], 0.0, 1.0)
            d[i, j] = np.minimum(np.minimum(d[i - 1, j] + 1, d[i, j - 1] + 1), d[i - 1, j - 1] + cost)
    return d


def test_a_table_takes_few_kernels():
    a, b = np.array([3, 1, 2, 2, 0, 1, 3, 3, 2]), np.array([3, 2, 2, 0, 1, 1, 3, 2])
    compiled = frameloom.compile(edit_distance, dynamic=False)
    np.testing.assert_array_equal(compiled(a, b), edit_distance(a, b))
    entry, = compiled._report()["entries"]
    assert entry["kernels"] < 16


def test_what_is_overwritten_still_warns():
    """Nobody reads the quotients, but NumPy has computed them."""

    def overwritten(x):
        d = np.zeros((4, 4))
        for i in range(4):
            for j in range(4):
                d[i, j] = 1.0 / x[i, j]
        s = d[3, 3] + 1
        for i in range(4):
            for j in range(4):
                d[i, j] = s
        return d[0, 0]

    compiled = frameloom.compile(overwritten)
    x = np.ones((4, 4))
    assert_same(compiled(x), overwritten(x))
    x[1, 2] = 0
    with pytest.warns(RuntimeWarning, match="divide by zero"):
        assert_same(compiled(x), overwritten(x))
