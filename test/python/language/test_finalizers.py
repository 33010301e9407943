"""Objects that die in the middle of captured code: a generator's `finally`, a `__del__` and what a weak reference calls run
before what comes behind."""

import collections
import contextlib
import gc
import sys
import weakref

import numpy as np
import pytest

import frameloom

LOG = []


class Guarded:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        LOG.append(self.name)


@frameloom.disable
def make(name):
    return Guarded(name)


def counting(x):
    try:
        while True:
            yield x
            x = x + 1
    finally:
        LOG.append("closed")


@frameloom.disable
def begun(x):
    generator = counting(x)
    next(generator)
    return generator


def deleted(x):
    held = make("a")
    x = x * 2
    del held
    return x + 1, len(LOG), str(LOG)


def rebound(x):
    held = make("a")
    x = x * 2
    held = x
    return held + 1, str(LOG)


def kept_by_another_name(x):
    held = make("a")
    other = held
    del held
    seen = str(LOG)
    del other
    return x + 1, seen, str(LOG)


def in_a_loop(x):
    seen = []
    for i in range(4):
        held = make(i)
        x = x + held.name
        seen.append(len(LOG))
    return x, seen, len(LOG)


def dropped_from_the_stack(x):
    make("a")
    x = x * 2
    return x, str(LOG)


def generator_deleted(x):
    generator = begun(x)
    y = x + 1
    del generator
    return y, str(LOG)


def generator_rebound(x):
    generator = begun(x)
    generator = generator.gi_frame is not None
    return x * 2, generator, str(LOG)


def generator_left_by_break(x):
    for item in begun(x):
        if item.sum() > 10:
            break
    return x * 2, len(LOG)


def generator_not_begun(x):
    generator = counting(x)
    frameloom.graph_break()
    del generator
    return x * 2, str(LOG)


class Plain:
    def __init__(self, name):
        self.name = name


@frameloom.disable
def plain(name, **others):
    made = Plain(name)
    vars(made).update(others)
    return made


@frameloom.disable
def watched(name):
    made = Plain(name)
    made.watch = weakref.ref(made, lambda _: LOG.append(name))
    REFERENCES.append(made.watch)
    return made


REFERENCES = []


def watched_deleted(x):
    held = watched("w")
    x = x * 2
    del held
    return x, str(LOG)


def finalized_deleted(x):
    held = plain("f")
    weakref.finalize(held, LOG.append, "f")
    x = x * len(held.name)
    held = None
    return x, str(LOG)


def members_of_a_weak_set(x):
    held = plain("s")
    members = weakref.WeakSet([held])
    x = x * 2
    del held
    return x, len(members)


def held_by_an_attribute(x):
    held = plain("p", inner=make("q"))
    x = x * len(held.inner.name)
    del held
    return x, str(LOG)


def held_by_containers(x):
    held = plain("p", inner={"a": (plain("r", inner=[watched("w")]),)})
    x = x * len(held.inner["a"][0].inner[0].name)
    held = x
    return held, str(LOG)


@frameloom.disable
def closure(inner):
    return lambda: inner


def held_by_a_closure(x):
    held = plain("p", call=closure(make("c")))
    x = x * len(held.name)
    del held
    return x, str(LOG)


def held_twice(x):
    held = plain("p", inner=make("q"))
    inner = held.inner
    x = x * 2
    del held
    before = str(LOG)
    del inner
    return x, before, str(LOG)


@pytest.mark.parametrize("function", [
    watched_deleted, finalized_deleted, members_of_a_weak_set, held_by_an_attribute, held_by_containers, held_by_a_closure,
    held_twice, deleted, rebound, kept_by_another_name, in_a_loop, dropped_from_the_stack, generator_deleted, generator_rebound,
    generator_left_by_break, generator_not_begun])
@pytest.mark.parametrize("backend", ["loom", "interpret"])
def test_order(function, backend):
    compiled = frameloom.compile(function, backend=backend)
    for call in range(4):
        results = []
        for f in (compiled, function):
            LOG.clear()
            got = f(np.arange(3.0) + call)
            results.append((got, list(LOG)))
        for got, want in zip(results[0][0], results[1][0]):
            assert np.array_equal(got, want), (function.__name__, call, results)
        assert results[0][1] == results[1][1]


def bound_while_it_is_handled(x):
    try:
        x.none_such
    finally:
        held = make("f")
        waiting = begun(x)


def raised_again_by_name(x):
    before = make("b")
    try:
        x.none_such
    except ZeroDivisionError:
        pass
    except AttributeError as e:
        held = make("h")
        print(end="")
        raise e


def raised_again(x):
    before = make("b")
    try:
        x.none_such
    except AttributeError:
        held, before = before, make("c")
        del held
        raise


def raised_again_from_two_handlers(x):
    try:
        try:
            x.none_such
        except AttributeError:
            first = make("1")
            raise
    finally:
        second = make("2")
        del first
        print(end="")


def raised_again_by_a_manager(x):
    with contextlib.ExitStack() as stack:
        stack.callback(make, "s")
        held = make("h")
        x.none_such


def raised_again_by_a_callee(x):
    held = make("outer")
    try:
        bound_while_it_is_handled(x)
    finally:
        held = [held, make("more")]


def raised_again_by_itself(x, depth=3):
    held = make(f"{depth} before")
    try:
        raised_again_by_itself(x, depth - 1) if depth else x.none_such
    finally:
        later = make(f"{depth} after")


def raised_again_with_a_cell(x):
    try:
        x.none_such
    finally:
        held = make("h")
        call = lambda: held  # noqa: E731
        print(end="")


@pytest.mark.parametrize("function", [
    bound_while_it_is_handled, raised_again_by_name, raised_again, raised_again_from_two_handlers, raised_again_by_a_manager,
    raised_again_by_a_callee, raised_again_by_itself, raised_again_with_a_cell])
def test_what_is_raised_again_keeps_the_frames_locals(function):
    """Whatever a name stood for in the end dies with the traceback, which shows it."""
    compiled = frameloom.compile(function, backend="interpret")

    def seen(call):
        LOG.clear()
        error, frames = None, []
        try:
            call(np.arange(3.0))
        except AttributeError as raised:
            error = raised
        at = error.__traceback__.tb_next
        while at:
            frames.append((at.tb_frame.f_code.co_name, at.tb_lineno, {name: type(v) for name, v in at.tb_frame.f_locals.items()}))
            at = at.tb_next
        before, error = list(LOG), None
        gc.collect()
        return before, list(LOG), frames

    want = seen(function)
    for _ in range(3):
        assert seen(compiled) == want


@frameloom.disable
def references(held):
    return sys.getrefcount(held)


@frameloom.disable
def gives_up(held, again=None):
    held = again
    return str(LOG)


@frameloom.disable
def keeps(held):
    def inner():
        return held

    return sys.getrefcount(held), inner


class Counted:
    @frameloom.disable
    def references(self, other):
        return sys.getrefcount(self), sys.getrefcount(other)


def argument_of_a_call(x):
    return x * 2, gives_up(make("a")), gives_up(make("b"), x), gives_up(held=make("c")), str(LOG)


def counted_arguments(x):
    held = make("h")
    counts = [references(make("a")), references(held), references(held=held), references(*[held]), keeps(held)[0],
              *Counted().references(make("b")), *Counted().references(other=held)]
    return x * 2, counts


@pytest.mark.parametrize("function", [argument_of_a_call, counted_arguments])
def test_arguments_of_what_runs_for_real(function):
    """They are the callee's, and nobody else's."""
    compiled = frameloom.compile(function)
    for call in range(3):
        results = []
        for run in (compiled, function):
            LOG.clear()
            results.append((run(np.arange(3.0) + call)[1:], str(LOG)))
        assert results[0] == results[1]


class Slotted:
    __slots__ = ("inner",)


VARIABLE = None


def attribute_rebound(x, holder):
    holder.inner = None
    return x * 2, str(LOG)


def attribute_deleted(x, holder):
    del holder.inner
    return x * 2, str(LOG)


def variable_rebound(x, holder):
    global VARIABLE
    VARIABLE = x
    return x * 2, str(LOG)


def of_a_closure():
    inner = make("c")

    def function(x, holder):
        nonlocal inner
        inner = holder
        return x * 2, str(LOG)

    return function


def filled(kind):
    """An object that holds a container of two that have finalizers, each held by it alone."""
    items = {"a": make("a"), "b": make("b")}
    return plain("h", items=kind(items if issubclass(kind, dict) else items.values()))


class Items(list):
    pass


class Named(dict):
    pass


def replaced(items, x):
    items[0] = x


def deleted_item(items, x):
    del items[0]


def deleted_slice(items, x):
    del items[:]


def replaced_slice(items, x):
    items[::2] = [x]


def popped(items, x):
    items.pop()


def popped_and_dropped(items, x):
    last = items.pop()
    last = x * len(last.name)


def cleared(items, x):
    items.clear()


def repeated_zero_times(items, x):
    items *= 0


def popped_left(items, x):
    items.popleft()


def pushed_out(items, x):
    items.rotate(1)
    items.appendleft(x)
    del items[2]


def replaced_key(items, x):
    items["a"] = x


def deleted_key(items, x):
    del items["b"]


def popped_key(items, x):
    items.pop("a")


def popped_item(items, x):
    items.popitem()


def updated(items, x):
    items.update({"b": x})


SEQUENCE = [deleted_slice, replaced_slice]
BOTH = [replaced, deleted_item, popped, popped_and_dropped, cleared, repeated_zero_times]
OF_DEQUES = [popped_left, pushed_out]
OF_DICTS = [replaced_key, deleted_key, popped_key, popped_item, updated, cleared]
CHANGES = [(kind, change) for kinds, changes in (
    ((list, Items), SEQUENCE + BOTH), ((collections.deque,), BOTH + OF_DEQUES),
    ((dict, Named, collections.OrderedDict), OF_DICTS)) for kind in kinds for change in changes]


@pytest.mark.parametrize("kind,change", CHANGES)
def test_what_a_container_gives_up(kind, change):
    def function(x, holder):
        before = str(LOG)
        change(holder.items, x)
        return x * 2, before, str(LOG), len(holder.items)

    compiled = frameloom.compile(function)
    for call in range(3):
        results = []
        for run in (compiled, function):
            holder = filled(kind)
            LOG.clear()
            results.append((run(np.arange(3.0) + call, holder)[1:], str(LOG)))
        assert results[0] == results[1]


def test_what_a_class_gives_up():
    class Holder:
        item = None

    def function(x):
        Holder.item = x
        return x * 2, str(LOG)

    compiled = frameloom.compile(function)
    for call in range(3):
        results = []
        for run in (compiled, function):
            Holder.item = make("c")
            LOG.clear()
            results.append((run(np.arange(3.0) + call)[1:], str(LOG)))
        assert results[0] == results[1]


def test_containers_of_what_has_no_finalizer_do_not_break():
    def function(x, items, named):
        items.pop()
        items[0] = 1
        named["a"] = x
        del named["b"]
        return x * 2 + len(items)

    compiled = frameloom.compile(function, fullgraph=True)
    items, named = [plain("a"), plain("b")], {"a": plain("a"), "b": plain("b")}
    assert np.array_equal(compiled(np.arange(3.0), items, named), np.arange(3.0) * 2 + 1)
    assert items == [1] and list(named) == ["a"]


@pytest.mark.parametrize("holder", [Plain, Slotted])
@pytest.mark.parametrize("function", [attribute_rebound, attribute_deleted, variable_rebound, None])
def test_what_lives_on_gives_it_up(function, holder, monkeypatch):
    compiled = frameloom.compile(function) if function else None
    for call in range(3):
        results = []
        for plainly in (False, True):
            run = function if plainly else compiled
            if not function:
                run = of_a_closure() if plainly else frameloom.compile(of_a_closure())
            monkeypatch.setitem(globals(), "VARIABLE", make("v"))
            held = holder.__new__(holder)
            held.inner = make("i")
            LOG.clear()
            results.append((run(np.arange(3.0) + call, held)[1], str(LOG)))
        assert results[0] == results[1]
