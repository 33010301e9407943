"""Models, in Python, of types and functions of the standard library that are written in C.

Nothing here is ever called: capture evaluates it in place of the original. An object of a model class stands for one of
the original's: `__model__` gives the arguments with which the original is called when the object leaves the compiled
function; a class without it stays inside.
"""

# The builtins themselves: what a program puts in their place is nothing to code that is C in the original.
from builtins import (
    IndexError, KeyError, NotImplemented, OverflowError, RuntimeError, TypeError, ValueError, bool, bytes,
    callable, complex, dict, enumerate, float, getattr, hasattr, int, isinstance, iter, len, list, max, next,
    object, range, reversed, str, tuple, type,
)
import collections
import sys

_END = object()
_MAPPINGS = (dict, collections.OrderedDict, collections.defaultdict)
_SLOT_FIRST = sys.version_info >= (3, 12)  # bisect looks for what gives items before it needs one


def _whole(number):
    """An int is taken for what it is, whatever a class over it says."""
    if isinstance(number, int):
        return number if type(number) is int else int.__index__(number)
    if not hasattr(type(number), "__index__"):
        raise TypeError(f"'{type(number).__name__}' object cannot be interpreted as an integer")
    return number.__index__()


def _index(number):
    """As C code takes a number of items."""
    number = _whole(number)
    if not -(1 << 63) <= number < 1 << 63:
        raise OverflowError("Python int too large to convert to C ssize_t")
    return number


# ---- collections ----------------------------------------------------------------------------------------------------


class deque:
    _moved = False  # whether iterators over it find that it has changed: it has, and not by d[i] = x alone
    _watch = None  # a list that iterators share: whether it has changed since they were made

    def __init__(self, iterable=(), maxlen=None):
        if maxlen is not None:
            if not isinstance(maxlen, int):
                raise TypeError("an integer is required")
            maxlen = _index(maxlen)
            if maxlen < 0:
                raise ValueError("maxlen must be non-negative")
        self.maxlen = maxlen
        self._items = []
        for item in iterable:
            self.append(item)

    def __model__(self):
        return (self._items, self.maxlen)

    def _move(self):
        self._moved = True
        if self._watch is not None:
            self._watch[0] = True
            self._watch = None

    def append(self, item, /):
        self._move()
        self._items.append(item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[0]

    def appendleft(self, item, /):
        self._move()
        self._items.insert(0, item)
        if self.maxlen is not None and len(self._items) > self.maxlen:
            del self._items[-1]

    def extend(self, iterable, /):
        for item in list(iterable) if iterable is self else iterable:
            if self.maxlen != 0:
                self.append(item)

    def extendleft(self, iterable, /):
        for item in list(iterable) if iterable is self else iterable:
            if self.maxlen != 0:
                self.appendleft(item)

    def pop(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._move()
        return self._items.pop()

    def popleft(self):
        if not self._items:
            raise IndexError("pop from an empty deque")
        self._move()
        return self._items.pop(0)

    def clear(self):
        if self._items:
            self._move()
            self._items.clear()

    def copy(self):
        return deque(self._items, self.maxlen)

    __copy__ = copy

    def count(self, item, /):
        length = len(self._items)
        found = self._items.count(item)
        if len(self._items) != length:
            raise RuntimeError("deque mutated during iteration")
        return found

    def rotate(self, n=1, /):
        n = _index(n)
        length = len(self._items)
        if length > 1:
            self._move()
            n %= length
            self._items = self._items[-n:] + self._items[:-n] if n else self._items

    def reverse(self):
        self._items.reverse()

    def remove(self, item, /):
        length, at = len(self._items), -1
        try:
            at = self._items.index(item)
        except ValueError:
            pass
        if len(self._items) != length:
            raise IndexError("deque mutated during iteration")
        if at < 0:
            raise ValueError(f"{item!r} is not in deque")
        del self[at]

    def insert(self, i, item, /):
        i = _index(i)
        if self.maxlen is not None and len(self._items) >= self.maxlen:
            raise IndexError("deque already at its maximum size")
        self._move()
        self._items.insert(i, item)

    def index(self, item, /, *bounds):
        length = len(self._items)
        try:
            return self._items.index(item, *bounds)
        except ValueError:
            pass
        if len(self._items) != length:
            raise RuntimeError("deque mutated during iteration")
        raise ValueError(f"{item!r} is not in deque")

    def __len__(self):
        return len(self._items)

    def _at(self, i):
        i = _whole(i)
        if not -len(self._items) <= i < len(self._items):
            raise IndexError("deque index out of range")
        return i

    def __getitem__(self, i):
        return self._items[self._at(i)]

    def __setitem__(self, i, item):
        self._items[self._at(i)] = item

    def __delitem__(self, i):
        i = self._at(i)
        self._move()
        del self._items[i]

    # Where they are asked for by name, an index that is too large is refused before any item is looked for.

    def _named__getitem__(self, i):
        return self[_index(i)]

    def _named__setitem__(self, i, item):
        self[_index(i)] = item

    def _named__delitem__(self, i):
        del self[_index(i)]

    def __contains__(self, item):
        length = len(self._items)
        found = item in self._items
        if not found and len(self._items) != length:
            raise RuntimeError("deque mutated during iteration")
        return found

    def __iter__(self):
        return self._walk(self._watched(), len(self._items))

    def __reversed__(self):
        return self._walk_back(self._watched(), len(self._items))

    def _watched(self):
        if self._watch is None:
            self._watch = [False]
        return self._watch

    def _walk(self, changed, length):
        for i in range(length):
            if changed[0]:
                raise RuntimeError("deque mutated during iteration")
            yield self._items[i]
        if changed[0]:
            raise RuntimeError("deque mutated during iteration")

    def _walk_back(self, changed, length):
        for i in range(length - 1, -1, -1):
            if changed[0]:
                raise RuntimeError("deque mutated during iteration")
            yield self._items[i]

    def __eq__(self, other):
        if not isinstance(other, deque):
            return NotImplemented
        if type(other) is deque:
            return self._items == other._items
        return len(self._items) == len(other._items) and self._items == list(other)

    def _reflected(self, name, other):
        """What numbers do, and classes that define operators, comes before what sequences do."""
        method = getattr(type(other), name, None)
        builtin = type(other) in (int, bool, float, str, bytes, list, tuple)
        return NotImplemented if method is None or builtin else method(other, self)

    def __add__(self, other):
        if hasattr(type(other), "__array_ufunc__"):
            return NotImplemented
        result = self._reflected("__radd__", other)
        if result is not NotImplemented:
            return result
        if not isinstance(other, deque):
            raise TypeError("can only concatenate deque")
        return deque(self._items + other._items, self.maxlen)

    def __iadd__(self, other):
        if hasattr(type(other), "__array_ufunc__"):
            return NotImplemented
        result = self._reflected("__radd__", other)
        if result is not NotImplemented:
            return result
        self.extend(other)
        return self

    def __mul__(self, n):
        if hasattr(type(n), "__array_ufunc__"):
            return NotImplemented
        result = self._reflected("__rmul__", n)
        return deque(self._items * _index(n), self.maxlen) if result is NotImplemented else result

    __rmul__ = __mul__

    def __imul__(self, n):
        if hasattr(type(n), "__array_ufunc__"):
            return NotImplemented
        result = self._reflected("__rmul__", n)
        if result is not NotImplemented:
            return result
        n = _index(n)
        length = len(self._items)
        if length and (n < 1 or n > 1 and (length == 1 or length != self.maxlen)):
            self._move()
        self._items *= n
        if self.maxlen is not None:
            del self._items[:max(len(self._items) - self.maxlen, 0)]
        return self


class _mapping:
    """What OrderedDict and defaultdict share: a dictionary of their own, which a second __init__() leaves as it is."""

    _dict = None

    def __len__(self):
        return len(self._dict)

    def __setitem__(self, key, item):
        self._dict[key] = item

    def __delitem__(self, key):
        del self._dict[key]

    def __contains__(self, key):
        return key in self._dict

    def __iter__(self):
        return iter(self._dict)

    def __reversed__(self):
        return reversed(self._dict)

    def keys(self):
        return self._dict.keys()

    def values(self):
        return self._dict.values()

    def items(self):
        return self._dict.items()

    def get(self, key, default=None, /):
        return self._dict.get(key, default)

    def pop(self, key, /, *default):
        return self._dict.pop(key, *default)

    def setdefault(self, key, default=None, /):
        return self._dict.setdefault(key, default)

    def clear(self):
        self._dict.clear()

    def update(self, /, *others, **named):
        if len(others) > 1:
            raise TypeError("update expected at most 1 argument")
        for other in others:
            if hasattr(other, "keys"):
                for key in other.keys():
                    self._dict[key] = other[key]
            else:
                for key, item in other:
                    self._dict[key] = item
        for key in named:
            self._dict[key] = named[key]

    def __ior__(self, other):
        self.update(other)
        return self


class OrderedDict(_mapping):
    def __init__(self, /, *others, **named):
        if self._dict is None:
            self._dict = {}
        self.update(*others, **named)

    def __model__(self):
        return (self._dict,)

    def __getitem__(self, key):
        return self._dict[key]

    def pop(self, key, default=_END):
        if key not in self._dict:  # an empty one, too, asks for the key's hash
            if default is _END:
                raise KeyError(key)
            return default
        return self._dict.pop(key)

    def setdefault(self, key, default=None):
        return self._dict.setdefault(key, default)

    def move_to_end(self, key, last=True):
        if type(key) is not str and key in self._dict:  # the key that it has stays
            for own in self._dict:
                if own is key or own == key:
                    key = own
                    break
        self._dict.move_to_end(key, last)  # which no dict has but those of models

    def popitem(self, last=True):
        if not self._dict:
            raise KeyError("dictionary is empty")
        key = list(self._dict)[-1 if last else 0]
        return key, self._dict.pop(key)

    def copy(self):
        return OrderedDict(self._dict)

    __copy__ = copy

    def __eq__(self, other):
        if isinstance(other, OrderedDict):
            return self._dict == other._dict and list(self._dict) == list(other._dict)
        if not isinstance(other, dict):
            return NotImplemented
        return dict.__eq__(self._dict, other._dict if isinstance(other, _mapping) else other)

    def __or__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        both = OrderedDict(self._dict)
        both.update(other)
        return both

    def __ror__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        both = OrderedDict(other)
        both.update(self._dict)
        return both


class defaultdict(_mapping):
    def __init__(self, default_factory=None, /, *others, **named):
        if default_factory is not None and not callable(default_factory):
            raise TypeError("first argument must be callable or None")
        self.default_factory = default_factory
        if self._dict is None:
            self._dict = {}
        self.update(*others, **named)

    def __model__(self):
        return (self.default_factory, self._dict)

    def __missing__(self, key):
        if self.default_factory is None:
            raise KeyError(key)
        item = self.default_factory()
        self._dict[key] = item
        return item

    def __getitem__(self, key):
        if key in self._dict:
            return self._dict[key]
        return self.__missing__(key)

    def popitem(self):
        return self._dict.popitem()

    def update(self, /, *others, **named):
        if len(others) > 1:
            raise TypeError("update expected at most 1 argument")
        for other in others:
            if type(other) is defaultdict:
                self._dict.update(other._dict)
            elif isinstance(other, dict):
                self._dict.update(other)
            else:
                _mapping.update(self, other)
        self._dict.update(named)

    def copy(self):
        return defaultdict(self.default_factory, self._dict)

    __copy__ = copy

    def __eq__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        return dict.__eq__(self._dict, other._dict if isinstance(other, _mapping) else other)

    def __or__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        both = defaultdict(self.default_factory, self._dict)
        both.update(other)
        return both

    def __ror__(self, other):
        if not isinstance(other, dict):
            return NotImplemented
        both = defaultdict(self.default_factory, other)
        both.update(self._dict)
        return both


def _count_elements(mapping, iterable, /):
    for element in iterable:
        mapping[element] = mapping.get(element, 0) + 1


# ---- types ----------------------------------------------------------------------------------------------------------


class MappingProxyType:
    def __init__(self, mapping):
        if isinstance(mapping, (list, tuple)) or not hasattr(type(mapping), "__getitem__"):
            raise TypeError(f"mappingproxy() argument must be a mapping, not {type(mapping).__name__}")
        self._whole = mapping

    def __model__(self):
        return (self._whole,)

    def __len__(self):
        return len(self._whole)

    def __getitem__(self, key):
        return self._whole[key]

    def __contains__(self, key):
        return key in self._whole

    def __iter__(self):
        return iter(self._whole)

    def __reversed__(self):
        return reversed(self._whole)

    def get(self, key, default=None, /):
        return self._whole.get(key, default)

    def keys(self):
        return self._whole.keys()

    def values(self):
        return self._whole.values()

    def items(self):
        return self._whole.items()

    def copy(self):
        return self._whole.copy()

    def __eq__(self, other):
        return self._whole == (other._whole if isinstance(other, MappingProxyType) else other)

    def __ne__(self, other):
        return self._whole != (other._whole if isinstance(other, MappingProxyType) else other)

    def __or__(self, other):
        return self._whole | (other._whole if isinstance(other, MappingProxyType) else other)

    def __ror__(self, other):
        return other | self._whole

    def __str__(self):
        return str(self._whole)

    def __repr__(self):
        return f"mappingproxy({self._whole!r})"


# ---- itertools ------------------------------------------------------------------------------------------------------


def count(start=0, step=1):
    for number in start, step:
        kind = type(number)
        if not (hasattr(kind, "__index__") or hasattr(kind, "__float__") or hasattr(kind, "__int__") or isinstance(number, complex)):
            raise TypeError("a number is required")
    return _counted(start, step)


def _counted(start, step):
    if isinstance(start, int) and isinstance(step, int) and step == 1:
        start = int.__add__(start, 0)  # counted in C: a bool, say, becomes an int
        while True:
            yield start
            start = start + step
    while True:
        now = start
        start = start + step
        yield now


def repeat(object):
    return _repeated(object)


def _repeated(object):
    while True:
        yield object


def cycle(iterable, /):
    return _cycled(iter(iterable))


def _cycled(iterator):
    saved = []
    while (item := next(iterator, _END)) is not _END:
        yield item
        saved.append(item)
    while saved:
        for item in saved:
            yield item


def islice(iterable, /, *bounds):
    start, stop, step = (0, bounds[0], 1) if len(bounds) == 1 else (*bounds, None)[:3]
    return _sliced(iter(iterable), 0 if start is None else start, stop, 1 if step is None else step)


def _sliced(iterator, wanted, stop, step):
    taken = 0
    while True:
        while taken < wanted:
            if next(iterator, _END) is _END:
                return
            taken += 1
        if stop is not None and taken >= stop:
            return
        item = next(iterator, _END)
        if item is _END:
            return
        taken += 1
        wanted += step
        if stop is not None and wanted > stop:
            wanted = stop
        yield item


def accumulate(iterable, func=None, *, initial=None):
    return _accumulated(iter(iterable), func, initial)


def _accumulated(iterator, function, total):
    if total is None:
        total = next(iterator, _END)
        if total is _END:
            return
    yield total
    while (item := next(iterator, _END)) is not _END:
        total = total + item if function is None else function(total, item)
        yield total


def starmap(function, iterable, /):
    return _starmapped(function, iter(iterable))


def _starmapped(function, iterator):
    while (item := next(iterator, _END)) is not _END:
        yield function(*item)


def pairwise(iterable, /):
    return _paired(iter(iterable))


def _paired(iterator):
    left = next(iterator, _END)
    while left is not _END and (right := next(iterator, _END)) is not _END:
        yield left, right
        left = right


def zip_longest(*iterables, fillvalue=None):
    return _zipped_longest([iter(iterable) for iterable in iterables], fillvalue)


def _zipped_longest(iterators, fill):
    left = len(iterators)
    while left:
        row = []
        for i, iterator in enumerate(iterators):
            item = _END if iterator is None else next(iterator, _END)
            if item is _END:
                if iterator is not None:
                    left -= 1
                    iterators[i] = None
                if not left:
                    return
                item = fill
            row.append(item)
        yield tuple(row)


def takewhile(predicate, iterable, /):
    return _taken_while(predicate, iter(iterable))


def _taken_while(predicate, iterator):
    while (item := next(iterator, _END)) is not _END and predicate(item):
        yield item


def dropwhile(predicate, iterable, /):
    return _dropped_while(predicate, iter(iterable))


def _dropped_while(predicate, iterator):
    while (item := next(iterator, _END)) is not _END and predicate(item):
        pass
    while item is not _END:
        yield item
        item = next(iterator, _END)


def filterfalse(predicate, iterable, /):
    return _filtered_false(predicate, iter(iterable))


def _filtered_false(predicate, iterator):
    while (item := next(iterator, _END)) is not _END:
        if not (item if predicate is None else predicate(item)):
            yield item


def compress(data, selectors):
    return _compressed(iter(data), iter(selectors))


def _compressed(iterator, selectors):
    while (item := next(iterator, _END)) is not _END and (selected := next(selectors, _END)) is not _END:
        if selected:
            yield item


def groupby(iterable, key=None):
    """Groups are read while their turn lasts; what is compared with what, and when, is the original's."""
    return _grouped(iter(iterable), key)


def _grouped(iterator, key):
    current, unread = [], []  # the key of the item at hand; the item while nobody has had it
    target, turn = [], [0]  # the key of the group that was given last; its number while it lasts

    def step():
        item = next(iterator, _END)
        if item is _END:
            return False
        current[:] = [item if key is None else key(item)]
        unread[:] = [item]
        return True

    def same(wanted):
        return wanted is current[0] or wanted == current[0]

    def group(wanted, number):
        while turn[0] == number and (unread or step()) and same(wanted):
            yield unread.pop()

    for number in count(1):
        turn[0] = 0
        while not current or target and same(target[0]):
            if not step():
                return
        target[:] = current
        turn[0] = number
        yield current[0], group(current[0], number)


def tee(iterable, n=2, /):
    iterator = iter(iter(iterable))
    seen = []

    def branch():
        i = 0
        while True:
            if i == len(seen):
                item = next(iterator, _END)
                if item is _END:
                    return
                seen.append(item)
            yield seen[i]
            i += 1

    return tuple(branch() for _ in range(n))


# ---- operator, functools --------------------------------------------------------------------------------------------


class itemgetter:
    def __init__(self, item, /, *items):
        self._items = (item, *items)

    def __model__(self):
        return self._items

    def __call__(self, obj, /):
        if len(self._items) == 1:
            return obj[self._items[0]]
        return tuple(obj[i] for i in self._items)


class attrgetter:
    def __init__(self, attr, /, *attrs):
        self._attrs = (attr, *attrs)

    def __model__(self):
        return self._attrs

    def __call__(self, obj, /):
        out = []
        for dotted in self._attrs:
            value = obj
            for name in dotted.split("."):
                value = getattr(value, name)
            out.append(value)
        return out[0] if len(out) == 1 else tuple(out)


class methodcaller:
    def __init__(self, name, /, *args, **kwargs):
        self._name, self._args, self._kwargs = name, args, kwargs

    def __call__(self, obj, /):
        return getattr(obj, self._name)(*self._args, **self._kwargs)


class _key:
    __slots__ = ("_compare", "obj")

    def __init__(self, compare, obj):
        self._compare = compare
        self.obj = obj

    def __lt__(self, other):
        return self._compare(self.obj, other.obj) < 0

    def __gt__(self, other):
        return self._compare(self.obj, other.obj) > 0

    def __le__(self, other):
        return self._compare(self.obj, other.obj) <= 0

    def __ge__(self, other):
        return self._compare(self.obj, other.obj) >= 0

    def __eq__(self, other):
        return self._compare(self.obj, other.obj) == 0


class cmp_to_key:
    def __init__(self, mycmp):
        self._compare = mycmp

    def __call__(self, obj):
        return _key(self._compare, obj)


# ---- heapq, bisect: the same steps as the originals', so that lists come out in the same order ----------------------


def _siftdown(heap, startpos, pos, largest):
    newitem = heap[pos]
    while pos > startpos:
        parentpos = (pos - 1) >> 1
        parent = heap[parentpos]
        if parent < newitem if largest else newitem < parent:
            heap[pos] = parent
            pos = parentpos
            continue
        break
    heap[pos] = newitem


def _siftup(heap, pos, largest):
    endpos = len(heap)
    startpos = pos
    newitem = heap[pos]
    childpos = 2 * pos + 1
    while childpos < endpos:
        rightpos = childpos + 1
        if rightpos < endpos and not (heap[rightpos] < heap[childpos] if largest else heap[childpos] < heap[rightpos]):
            childpos = rightpos
        heap[pos] = heap[childpos]
        pos = childpos
        childpos = 2 * pos + 1
    heap[pos] = newitem
    _siftdown(heap, startpos, pos, largest)


def _check_heap(heap):
    if not isinstance(heap, list):
        raise TypeError("heap argument must be a list")


def _order(heap, largest):
    _check_heap(heap)
    for i in reversed(range(len(heap) // 2)):
        _siftup(heap, i, largest)


def _pop(heap, largest):
    _check_heap(heap)
    last = heap.pop()
    if heap:
        item = heap[0]
        heap[0] = last
        _siftup(heap, 0, largest)
        return item
    return last


def _replace(heap, item, largest):
    _check_heap(heap)
    first = heap[0]
    heap[0] = item
    _siftup(heap, 0, largest)
    return first


def heapify(heap, /):
    _order(heap, False)


def heappush(heap, item, /):
    _check_heap(heap)
    heap.append(item)
    _siftdown(heap, 0, len(heap) - 1, False)


def heappop(heap, /):
    return _pop(heap, False)


def heapreplace(heap, item, /):
    return _replace(heap, item, False)


def heappushpop(heap, item, /):
    _check_heap(heap)
    if heap and heap[0] < item:
        item, heap[0] = heap[0], item
        _siftup(heap, 0, False)
    return item


def _heapify_max(heap, /):
    _order(heap, True)


def _heappop_max(heap, /):
    return _pop(heap, True)


def _heapreplace_max(heap, item, /):
    return _replace(heap, item, True)


def _bounds(a, lo, hi):
    """Of what has the slots of sequences: a dict has not, a class over it has."""
    lo, hi = _index(lo), None if hi is None else _index(hi)
    if lo < 0:
        raise ValueError("lo must be non-negative")
    kind, whole = type(a), hi is None or hi == -1
    mapping = kind in _MAPPINGS
    if mapping and (whole or lo < hi or _SLOT_FIRST):
        raise TypeError(f"{kind.__name__} is not a sequence")
    if whole:
        hi = len(a)
    if _SLOT_FIRST and not hasattr(kind, "__getitem__"):
        raise TypeError(f"'{kind.__name__}' object is not a sequence")
    return lo, hi


def bisect_right(a, x, lo=0, hi=None, *, key=None):
    lo, hi = _bounds(a, lo, hi)
    while lo < hi:
        mid = (lo + hi) // 2
        if x < (a[mid] if key is None else key(a[mid])):
            hi = mid
        else:
            lo = mid + 1
    return lo


def bisect_left(a, x, lo=0, hi=None, *, key=None):
    lo, hi = _bounds(a, lo, hi)
    while lo < hi:
        mid = (lo + hi) // 2
        if (a[mid] if key is None else key(a[mid])) < x:
            lo = mid + 1
        else:
            hi = mid
    return lo


def insort_right(a, x, lo=0, hi=None, *, key=None):
    at = bisect_right(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)


def insort_left(a, x, lo=0, hi=None, *, key=None):
    at = bisect_left(a, x if key is None else key(x), lo, hi, key=key)
    a.insert(at, x)
