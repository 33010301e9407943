"""Random programs that make dicts, change them in every way that there is, and go through them while they are changed; of each dict
that a program gives back keys are exchanged while it is gone through behind the call, where the gaps in its table show. Two of
three programs have nothing to do with dicts that existed before the part of them that is captured; of the others only pairs and
their order are compared, since what such a dict has been through in several parts is not kept in all cases; so it is where
capture ends at a statement, whatever it is. `differs` compares a program with plain Python.

    python test/python/support/dict_programs.py [COUNT] [FIRST]"""

import collections
import random
import re

from made_programs import check_programs, drained, main

import frameloom

POOLS = [
    list("abcdefgh"), list("abcdefgh"), list(range(12)), [1, 2, "a", (1, 2), None, 1.0, True, 2.0, frozenset((1, 2))], [*"abcdefghijklmnopqrst"],
    ["a", "b", "c", 1, 2, 3], [(1, 2), (2, 1), (), "a", b"a", 0.5, 2j], [*"abc", float("inf"), -1, -2, 2**61 - 1, 2**70],
    [frozenset((1, 2)), frozenset((2, 1, 9)), frozenset(), frozenset((frozenset(),)), (frozenset((1,)), 2), "a", "b", 1],
]  # fmt: skip
LITERALS = ["{{{0}}}", "{{{0}}}", "dict({{{0}}})", "dict([{1}])", "dict({1},)", "{{**{{{0}}}, **D}}", "{{**D, {0}}}", "{{k: v for k, v in [{1}]}}", "dict.fromkeys([{2}], V)", "dict.fromkeys(({2},))",
    "dict.fromkeys({{{2}}})", "dict(a=V, c=V, g=V)", "dict(D, a=V, z=V)", "dict(zip([{2}], range(9)))", "{{k: V for k in [{2}]}}", "Over({{{0}}})", "Ordered({{{0}}})", "Ordered([{1}])",
    "defaultdict(int, {{{0}}})", "Counter([{2}])", "{{}}", "dict()"]  # fmt: skip
MADE = ["D.copy()", "dict(D)", "D | D", "D | {K: V, K: V}", "{**D, **D}", "{**D}", "copy.copy(D)", "{k: v for k, v in D.items()}", "{k: V for k in D if k != K}", "dict(D.items())", "dict.fromkeys(D)",
    "dict.fromkeys(D, V)", "D if K in D else D", "dict(list(D.items())[1:])", "{i: i for i in range(n)}", "{**o}", "o | D", "D | o", "dict(o)", "o.copy()"]  # fmt: skip
CHANGES = ["M[K] = V", "M[K] = V", "M[K] = V", "del M[K]", "del M[K]", "del M[K]", "log.append(M.pop(K))", "log.append(M.pop(K, 0))", "log.append(M.popitem())", "log.append(M.popitem())", "M.clear()",
    "log.append(M.setdefault(K, V))", "M[K] += 1", "M.update({K: V})", "M |= {K: V, K: V}", "M.update([(K, V), (K, V)])", "M.update(a=V, j=V)", "M.update(D)", "M |= D", "M.update(D.items())", "M.update(dict.fromkeys(P, V))",
    "M[K] = V; del M[K]", "M[K] = M.pop(K)", "M.pop(next(iter(M)))", "del M[next(reversed(M))]", "M.update(o)", "M.__init__({K: V})", "M |= o.items()",
    "for i in range(n): M[i] = V", "for i in range(n * 3): M.pop(i, None)", "for k in list(M): del M[k]", "for k in P: M.pop(k, None)", "while len(M) > 3: log.append(M.popitem())", "for k in P[n:]: M[k] = V",
    "for i in range(n): M[K] = i; del M[K]", "for i in range(n): M[i] = i; log.append(M.popitem())", "for i in range(n): M[i + 9] = M.pop(next(iter(M)))"]  # fmt: skip
LOOKS = ["log.append(list(D))", "log.append(list(D.items()))", "log.append(D.copy())", "log.append(repr(D))", "log.append(list(reversed(D)))", "log.append(D.get(K))", "log.append(K in D)", "log.append(D == D)",
    "log.append(len(D))", "log.append(next(iter(D), None))", "log.append(sum(map(len, map(repr, D))))", "frameloom.graph_break()", "frameloom.graph_break()", "kept.append(ITER)", "kept.append(ITER)",
    "log.append(next(kept[-1]))", "log.append(next(kept[0], 'end'))", "log.append(list(kept.pop()))", "log.append(D | D)"]  # fmt: skip
ITERATORS = ["iter(D)", "iter(D.keys())", "iter(D.values())", "iter(D.items())", "reversed(D)", "reversed(D.keys())", "reversed(D.values())", "reversed(D.items())"]  # fmt: skip


PARTED = re.compile(r"\bo\b|graph_break|kept")  # what ends a capture, or a dict that existed before it


class Over(dict):
    pass


class Program:
    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        self.pool = chance.choice(POOLS)
        self.outside = [chance.sample(self.pool, min(len(self.pool), chance.randrange(9))) for _ in range(2)]
        self.dicts, self.number = [], 10
        self.inside = chance.random() < 0.67
        lines = [self.made() for _ in range(chance.choice((1, 1, 2, 3)))]
        for _ in range(chance.choice((2, 4, 6, 9, 14))):
            lines.append(self.made() if chance.random() < 0.15 else self.statement())
        body = "\n".join("    " + line for line in lines)
        kept = "" if self.inside else chance.choice((", kept", ""))
        self.source = f"def program(n, o):\n    log, kept, P = [], [], {self.pool}\n{body}\n    return log, [{', '.join(self.dicts)}]{kept}\n".replace("inf", "float('inf')")

    def key(self):
        return repr(self.chance.choice(self.pool))

    def value(self):
        self.number += 1
        return str(self.number)

    def filled(self, text):
        for word, choose in (("ITER", lambda: self.chance.choice(ITERATORS)), ("D", lambda: self.chance.choice(self.dicts) if self.dicts else "{'x': 1, 'y': 2}"), ("K", self.key), ("V", self.value)):
            parts = text.split(word) if word == "ITER" or "Default" not in text else [text]
            text = parts[0] + "".join(choose() + part for part in parts[1:])
        return text

    def choice(self, texts):
        return self.chance.choice([text for text in texts if not (self.inside and PARTED.search(text))])

    def literal(self):
        text, many = self.chance.choice(LITERALS), self.chance.choice((1, 2, 3, 4, 5, 5, 6, 8, 11))
        keys = [self.key() for _ in range(many)]
        pairs = ", ".join(f"{key}: V" for key in keys), ", ".join(f"({key}, V)" for key in keys), ", ".join(keys)
        if text == "dict({1},)":
            return "dict((" + pairs[1] + ",))"
        return text.format(*pairs)

    def made(self):
        text = self.filled(self.choice(MADE) if self.dicts and self.chance.random() < 0.5 else self.literal())
        if len(self.dicts) < 4 and (not self.dicts or self.chance.random() < 0.7):
            self.dicts.append(f"d{len(self.dicts)}")
            return f"{self.dicts[-1]} = {text}"
        return f"{self.chance.choice(self.dicts)} = {text}"

    def change(self):
        return self.filled(self.choice(CHANGES)).replace("M", self.chance.choice(self.dicts))

    def caught(self, text):
        return f"try: {text}\n    except Exception as error: log.append(type(error).__name__)"

    def statement(self):
        if self.chance.random() < 0.1 and not self.inside:
            inner = [self.change() for _ in range(self.chance.choice((1, 2)))]
            inner = "".join(f"\n            {text}" if text.startswith(("for", "while")) else f"\n            {text}" for text in inner)
            head = self.filled(f"for item in {self.chance.choice(('D', 'ITER'))}:")
            return f"try:\n        {head}\n            log.append(item)\n            if len(log) > 60: break{inner}\n    except Exception as error: log.append(type(error).__name__)"
        text = self.filled(self.choice(LOOKS)) if self.chance.random() < 0.35 else self.change()
        if text.startswith(("for", "while")):
            return f"try:\n        {text}\n    except Exception as error: log.append(type(error).__name__)"
        return self.caught(text)


def exchanged(each, ordinary):
    """What an iterator finds while keys are exchanged for as many others."""
    found = []
    for count, key in enumerate(each):
        found.append(key)
        if count < 12:
            del each[key if count % 3 else next(iter(each))]
            each[("new", count) if count % 4 == 3 and not ordinary else f"new {count}"] = count
        if count > 40:
            break
    return found


def told(dicts, inside=True):
    """What each looks like, and what is found when it is gone through and changed."""
    for number, each in enumerate(dicts):
        yield type(each), list(each.items()), list(reversed(each))
        if not inside:
            continue
        for ordinary in (True, False):
            try:
                yield exchanged(each, ordinary)
            except Exception as error:
                yield repr(error)
        try:
            for key in each:
                each.popitem()
                each[number] = key
                if number < 6:
                    number += 1
                yield key
        except Exception as error:
            yield repr(error)
        yield list(each.items())


def seen(function, n, pool, inside):
    o = dict(zip(pool, range(9)))
    try:
        log, dicts, *kept = function(n, o)
        told_log = repr(log)
        drain = [drained(iterator) for iterator in kept[0]] if kept else []
    except Exception as error:
        return repr(error), list(o.items())
    return told_log, repr(drain), repr(o), repr(list(told(dicts, inside()))), repr(list(told([o])))


def differs(seed):
    program = Program(seed)
    space = {"frameloom": frameloom, "copy": __import__("copy"), "Over": Over, "Ordered": collections.OrderedDict,
             "defaultdict": collections.defaultdict, "Counter": collections.Counter}  # fmt: skip
    exec(program.source, space)
    compiled = frameloom.compile(space["program"], backend="interpret")

    def inside():
        return program.inside and not compiled._report()["breaks"]

    for n, pool in zip((3, 3, 7, 3, 3), [*program.outside, *program.outside, program.outside[1][::-1]]):
        got, want = seen(compiled, n, pool, inside), seen(space["program"], n, pool, inside)
        if got != want:
            return f"seed {seed}, n {n}, {pool}\n{program.source}{got}\ninstead of\n{want}\n"
    return None


def check_dicts(seeds):
    check_programs(seeds, differs)


if __name__ == "__main__":
    main(check_dicts)
