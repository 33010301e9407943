"""Which arguments methods of containers and functions of itertools take by name, and what they ask of keys of empty containers."""

import collections
import itertools

import pytest

import frameloom

CALLS = """
{}.pop([]); {}.pop([], 1); {'a':1}.pop([]); {}.get([]); {}.setdefault([]); [] in {}; set().discard([]); set().remove([]); [] in set()
frozenset().__contains__([]); {}[[]]; collections.OrderedDict().pop('a', default=3); collections.OrderedDict(a=1).pop(key='a')
collections.OrderedDict().pop('a', 2, default=3); collections.OrderedDict().pop('a', None); collections.OrderedDict().pop('a', defaul=3)
collections.OrderedDict().pop('a'); collections.OrderedDict().pop([]); collections.OrderedDict().pop([],1); collections.defaultdict(list).pop([])
collections.defaultdict(list).get('a', default=1); collections.OrderedDict().setdefault('a', default=4); collections.OrderedDict().setdefault(key='a')
collections.OrderedDict(a=1).popitem(last=False); collections.deque([1]).append(item=1); collections.deque([1]).rotate(n=1)
collections.Counter().pop([]); collections.Counter().get('a', default=2); collections.OrderedDict(self=1); collections.OrderedDict(a=1).update(self=1)
collections.defaultdict(list, self=1); collections.Counter(self=1); dict(self=1); itertools.tee([1], n=3)
list(itertools.compress(data='ab', selectors=[1,0])); list(itertools.groupby(iterable='ab', key=None)); next(itertools.count(start=2, step=3))
list(itertools.islice(iterable=[1], stop=1)); list(itertools.accumulate(iterable=[1,2], func=None))
list(itertools.takewhile(predicate=bool, iterable=[1])); list(itertools.zip_longest([1], fillvalue=3, x=2)); list(itertools.pairwise(iterable=[1,2]))
list(itertools.chain(x=1)); list(itertools.repeat(object=1, times=2)); list(itertools.starmap(function=pow, iterable=[(1,2)]))
list(itertools.product([1], repeat=1)); list(itertools.permutations(iterable=[1,2], r=1)); list(itertools.combinations(iterable=[1,2], r=1))
list(itertools.cycle(iterable=[1]))
"""


@pytest.mark.parametrize("call", [call.strip() for line in CALLS.strip().split("\n") for call in line.split(";")])
def test_arguments(call):
    space = {"collections": collections, "itertools": itertools}
    exec(f"def function():\n    try:\n        return {call}\n    except Exception as error:\n        return type(error).__name__\n", space)
    want, compiled = space["function"](), frameloom.compile(space["function"], backend="interpret")
    for _ in range(2):
        got = compiled()
        assert type(got) is type(want)
        assert repr(got).partition(" at 0x")[0] == repr(want).partition(" at 0x")[0]
