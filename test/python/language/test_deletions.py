"""What is deleted or taken out is missing the next time: each place twice, also where nobody has asked what it held.

The exception is caught inside of the compiled function, where nothing runs it again.
"""

import collections
import types

import pytest

import frameloom


class Plain:
    pass


class Slotted:
    __slots__ = ("a",)


class Hooked:
    def __delattr__(self, name):
        object.__delattr__(self, name)


def world():
    made = {
        "o": Plain(), "s": Slotted(), "w": Hooked(), "C": type("C", (), {}), "m": types.ModuleType("m"), "n": types.SimpleNamespace(),
        "d": {"a": [1]}, "e": collections.defaultdict(list, a=[1]), "p": collections.OrderedDict(a=[1]), "l": [[1]], "t": {1},
        "q": collections.deque([[1]]), "b": bytearray(b"a"), "f": lambda: 0,
    }
    for name in "oswCmnf":
        made[name].a = [1]
    return made


STATEMENTS = [
    "del o.a", "del s.a", "del w.a", "del C.a", "del m.a", "del n.a", "del f.a", "delattr(o, 'a')", "del vars(o)['a']", "o.__dict__.pop('a')",
    "del d['a']", "del e['a']", "del p['a']", "d.pop('a')", "d.popitem()", "p.popitem()", "p.move_to_end('a'); p.clear()", "d['a'].remove(1)",
    "del l[0]", "l.pop()", "l.remove([1])", "del l[0][0]", "o.a.pop()", "t.remove(1)", "t.pop()", "del q[0]", "q.pop()", "q.popleft()", "b.pop()",
]  # fmt: skip


@pytest.mark.parametrize("before", ["pass", "id(o)"])
@pytest.mark.parametrize("statement", STATEMENTS)
def test_places_of_objects(statement, before):
    space, rows = {}, []
    exec(f"def function({', '.join(world())}):\n    try:\n        {before}; {statement}\n"
         "    except Exception as error:\n        return type(error).__name__, str(error)\n    return 'done'\n", space)
    for called in (space["function"], frameloom.compile(space["function"])):
        given, others = world(), world()
        rows.append([called(**given) for _ in range(3)] + [called(**others) for _ in range(2)])
    assert rows[1] == rows[0]


@pytest.mark.parametrize("between", ["pass", "id(n)", "n += 1"])
@pytest.mark.parametrize("loop", ["for step in items:", "for step in (1, 2):", "while n < 9:"])
@pytest.mark.parametrize("kept", ["if n == 99: kept = lambda: deleted", "pass", "kept = lambda: deleted"])
def test_variables(kept, loop, between):
    """Local ones and those of closures, in a loop that a break cuts or not."""
    text = f"""
def function(items, n):
    deleted = n
    try:
        {loop}
            {kept}
            {between}
            del deleted
    except NameError as error:
        return type(error).__name__
"""
    space = {}
    exec(text, space)
    compiled = frameloom.compile(space["function"])
    assert [compiled([1, 2, 3], 1) for _ in range(3)] == ["UnboundLocalError"] * 3


ADDING = {"list": (lambda: [0], "{}.append(1)"), "set": (lambda: {0}, "{}.add(1)"), "deque": (lambda: collections.deque([0]), "{}.append(1)")}
PLACES = ["kept = lambda: all", "all = all; kept = lambda: all", "kept = [all, lambda: all]", "other.append(all)", "thing.all = all", "table['all'] = all", "{'all': [all]}"]


@pytest.mark.parametrize("before", ["pass", "id(given)"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("kind", ADDING)
def test_what_is_only_added_to_is_added_to_once(kind, place, before):
    """And then put where the changes of the call lead to it."""
    make, add = ADDING[kind]
    for name in ("all", "given"):
        space = {}
        exec(f"def function(given, other, thing, table):\n    all = given\n    {before}\n    {add.format(name)}\n    {place}\n", space)
        seen = []
        for called in (space["function"], frameloom.compile(space["function"])):
            for _ in range(3):
                given = make()
                called(given, [], Plain(), {})
                seen.append(given)
        assert seen == seen[:1] * 6, (name, seen)
