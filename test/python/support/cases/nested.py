"""Breaks three calls deep, inside of what the callers have open: handlers, with blocks, loops."""

import contextlib
import sys
import traceback

import numpy as np

import frameloom

from . import case, made, program


class Failure(Exception):
    pass


class Manager:
    def __init__(self, log, name, swallow=False):
        self.log, self.name, self.swallow = log, name, swallow

    def __enter__(self):
        self.log.append("in " + self.name)
        return self

    def __exit__(self, kind, value, tb):
        self.log.append(("out " + self.name, kind and kind.__name__, tb and tb.tb_lineno))
        return self.swallow


def deepest(x, fail=False):
    y = x * 2
    frameloom.graph_break()
    if fail:
        raise Failure("deep", float(y[0]))
    return y + 1


def middle(x, log, fail=False):
    with Manager(log, "middle"):
        z = deepest(x + 1, fail)
        log.append("middle went on")
    return z * 3


def outer(x, log, fail=False):
    try:
        return middle(x, log, fail) - 1
    finally:
        log.append(("finally", sys.exc_info()[0] and sys.exc_info()[0].__name__))


@program
def three_deep(x, y):
    log = []
    a = outer(x, log)
    b = outer(y, log)
    return a + b, log


@program
def three_deep_that_fails(x, y):
    log = []
    total = x
    for i in range(3):
        try:
            total = total + outer(y * i, log, i == 1)
        except Failure as error:
            log.append(error.args)
            total = total * 2
            log.append([f.lineno for f in traceback.extract_tb(error.__traceback__)][1:])
    return total, log


@program
def three_deep_uncaught(x, y):
    log = []
    z = outer(x, log)
    return z + outer(y, log, True)


@program
def with_that_swallows(x, y):
    log = []
    z = x
    with Manager(log, "caller", True):
        z = z + 1
        z = z + outer(y, log, True)
        log.append("never")
    return z * 2, log


@program
def handler_of_a_handler(x, y):
    log = []
    try:
        try:
            outer(x, log, True)
        except Failure as error:
            log.append(sys.exc_info()[1] is error)
            z = outer(y, log)
            log.append(sys.exc_info()[1] is error)
            raise KeyError("second") from error
    except KeyError as error:
        log.append((type(error.__cause__).__name__, type(error.__context__).__name__))
        return z + 1, log


@program
def raised_again_in_a_callee(x, y):
    def again():
        frameloom.graph_break()
        raise

    log = []
    try:
        outer(x, log, True)
    except Failure:
        y = y * 2
        again()
    return y


@program
def context_of_a_context(x, y):
    log = []
    try:
        try:
            outer(x, log, True)
        finally:
            frameloom.graph_break()
            outer(y, log, True)
    except Failure as error:
        inner = error.__context__
        return error, inner, inner.__context__, x + 1, log


@program
def loops_of_loops(x, y):
    def inner(a):
        for k in range(2):
            a = a + k
            frameloom.graph_break()
            a = a * 2
        return a

    def between(a):
        for _ in range(2):
            a = inner(a) - 1
        return a

    for i in range(2):
        x = between(x) + y * i
    return x


@program
def loop_left_from_below(x, y):
    def search(a):
        for k in range(5):
            try:
                a = a + k
                frameloom.graph_break()
                if k == 2:
                    return a
            finally:
                a = a * 0
                marks.append(k)

    marks = []
    for i in range(3):
        x = x + search(y)
        if i == 1:
            break
    else:
        marks.append("else")
    return x, marks


@program
def stack_of_managers(x, y):
    log = []
    with contextlib.ExitStack() as stack:
        for i in range(3):
            stack.enter_context(Manager(log, str(i)))
            x = x + deepest(y)
        stack.callback(log.append, "callback")
    return x, log


@program
def managers_of_generators(x, y):
    log = []

    @contextlib.contextmanager
    def opened(name):
        log.append(name)
        frameloom.graph_break()
        try:
            yield x * 2
        except Failure as error:
            log.append(error.args[0])
        finally:
            log.append("closed")

    with opened("a") as a:
        b = a + deepest(y)
    with opened("b") as c:
        deepest(c, True)
    return b, log


@program
def nonlocal_through_levels(x, y):
    count, state = 0, x

    def first():
        def second():
            nonlocal count, state
            count += 1
            frameloom.graph_break()
            state = state + y * count

        second()
        return second

    first()()
    return state, count


@program
def default_arguments_changed(x, y):
    def keep(a, seen=[]):
        seen.append(a.sum())
        frameloom.graph_break()
        return len(seen)

    return keep(x) + keep(y), x + keep(x)


@program
def recursion_with_breaks(x, y):
    def walk(a, n):
        if n == 0:
            frameloom.graph_break()
            return a
        b = walk(a * 2, n - 1)
        frameloom.graph_break()
        return b + n

    return walk(x, 3), walk(y, 1)


@program
def lines_of_a_stack(x, y):
    def where():
        frame, lines = sys._getframe(1), []
        while frame is not None and frame.f_code.co_filename == __file__:
            lines.append((frame.f_code.co_name, frame.f_lineno))
            frame = frame.f_back
        return lines

    def below(a):
        b = a + 1
        return where(), b * 2

    lines, z = below(x)
    more = [below(y)[0]
            for _ in range(2)]
    return lines, z + y, more


@program
def locals_of_callers(x, y):
    def peek():
        return sorted(k for k in sys._getframe(1).f_locals)

    def below(a):
        b = a + 1
        names = peek()
        c = b * 2
        return names, c, peek()

    return below(x), peek()


@program
def exception_kept_and_raised_later(x, y):
    kept = None
    try:
        deepest(x, True)
    except Failure as error:
        kept = error
    y = y + 1
    frameloom.graph_break()
    try:
        raise kept
    except Failure as error:
        return error is kept, len(traceback.extract_tb(error.__traceback__)), y


@program
def exception_group_of_callees(x, y):
    errors = []
    for a in (x, y):
        try:
            deepest(a, True)
        except Failure as error:
            errors.append(error)
    try:
        raise ExceptionGroup("all", errors)
    except* Failure as group:
        z = x + len(group.exceptions)
    return z


@program
def generator_with_breaks_consumed(x, y):
    def steps(a):
        for i in range(3):
            a = a + i
            frameloom.graph_break()
            yield a * 2

    total = y
    for part in steps(x):
        total = total + part
    return total, [p.sum() for p in steps(y)]


@program
def return_in_a_finally(x, y):
    def work(a):
        try:
            deepest(a, True)
        finally:
            return a + 1

    return work(x) + work(y), sys.exc_info()


@program
def continue_in_a_finally(x, y):
    for i in range(3):
        try:
            x = x + deepest(y, i == 1)
        except Failure:
            continue
        finally:
            x = x * 2
    return x


@program
def closures_over_a_loop(x, y):
    functions = []
    for i in range(3):
        def scaled(a, i=i):
            frameloom.graph_break()
            return a * i + n

        functions.append(scaled)
        n = i
    return [f(x) for f in functions], y


@program
def callbacks_of_c_code(x, y):
    def key(pair):
        frameloom.graph_break()
        return -pair[0]

    rows = sorted([(1, "a"), (3, "b"), (2, "c")], key=key)
    return x * rows[0][0], rows, list(map(lambda a: deepest(a), [x, y]))


@program
def method_chains(x, y):
    class Chain:
        def __init__(self, a):
            self.a, self.log = a, []

        def step(self, k):
            self.a = self.a * k
            frameloom.graph_break()
            self.log.append(k)
            return self

        @property
        def total(self):
            frameloom.graph_break()
            return self.a.sum()

        def __call__(self, b):
            return self.step(b).total

    chain = Chain(x).step(2).step(3)
    return chain.total, chain.log, chain(4), y + chain.a


@program
def operators_with_breaks(x, y):
    class Boxed:
        def __init__(self, a):
            self.a = a

        def __add__(self, other):
            frameloom.graph_break()
            return Boxed(self.a + other.a)

        def __getitem__(self, i):
            frameloom.graph_break()
            return self.a[i]

        def __len__(self):
            frameloom.graph_break()
            return len(self.a)

        def __bool__(self):
            return len(self) > 3

        def __iter__(self):
            for k in range(2):
                frameloom.graph_break()
                yield self.a[k]

        def __contains__(self, k):
            frameloom.graph_break()
            return k == 1

        def __eq__(self, other):
            frameloom.graph_break()
            return other == 3

    box = Boxed(x) + Boxed(y)
    first, second = box
    return box[1:3], len(box), 1 in box, box == 3, box != 3, first + second, "yes" if box else "no"


@made
def cells_across_breaks():
    total = np.zeros(1)
    count = 0

    def function(x, y):
        nonlocal total, count
        total = total + x.max()
        count += 1
        frameloom.graph_break()
        total = total * 2
        count += 1
        return total + y

    return function, lambda: (total, count)
