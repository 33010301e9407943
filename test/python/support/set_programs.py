"""Random programs that make sets, change them in every way that there is, and look at them in Python's order; each set that a
program gives back is changed and emptied behind the call, where its table shows. `differs` compares a program with plain Python.

    python test/python/support/set_programs.py [COUNT] [FIRST]"""

import random

from made_programs import check_programs, main

import frameloom

POOLS = [
    list(range(12)), [0, 1, 7, 8, 9, 15, 16, 17, 24, 32, 33, 40, 64, 65, 128], [-1, -2, 0, 2**61 - 1, 2**61, 2**64, 8, 16, -8],
    list("abcdefgh"), ["a", "b", "ab", b"a", b"b", "", 1, 8, 9, None, True], [(1, 2), (2, 1), (1,), (), ("a", 1), 1, 8], [0.5, 1.0, 8.0, 1, 8, True, 2j, 0.25],
    [int, str, len, 1, 8, "a", Ellipsis], [frozenset((1, 2)), frozenset((2, 1, 9)), frozenset(), frozenset(("a",)), frozenset((frozenset(),)), 1, "a", (frozenset((1,)), 2)],
]  # fmt: skip
NAMES = {int: "int", str: "str", len: "len", Ellipsis: "..."}
LITERALS = ["{{{0}}}", "set([{0}])", "frozenset([{0}])", "set(({0},))", "{{*[{0}], *({0},)}}", "set(dict.fromkeys([{0}]))", "set({{k: 1 for k in [{0}]}})",
    "{{x for x in [{0}]}}", "set(x for x in [{0}])", "frozenset(x for x in ({0},))", "set(frozenset([{0}]))", "frozenset({{{0}}})", "{{*S, {0}}}", "{{*S, *S}}",
    "dict.fromkeys([{0}]).keys() - S", "dict.fromkeys([{0}]).keys() & [{0}]", "S | dict.fromkeys([{0}]).keys()", "dict.fromkeys([{0}]).items() ^ S", "Over([{0}])", "Over(S)", "OverFrozen(S)"]  # fmt: skip
MADE = ["S | S", "S & S", "S - S", "S ^ S", "S.copy()", "set(S)", "frozenset(S)", "copy.copy(S)", "copy.deepcopy(S)", "S.union(S)", "S.union(L, S)", "S.union()",
    "S.intersection(S)", "S.intersection(L)", "S.intersection(S, L)", "S.difference(S)", "S.difference(L, S)", "S.symmetric_difference(L)", "S.symmetric_difference(S)", "S - {K, K}", "S | {K}",
    "set(list(S))", "set(sorted(S, key=repr))", "{x for x in S if x != K}", "set(o)", "o | S", "S & o", "o - {K}", "set(S for S in [S]) if False else S", "S if K in S else S", "set(range(n))", "{i * 8 for i in range(n)}"]  # fmt: skip
CHANGES = ["M.add(K)", "M.add(K)", "M.add(K)", "M.discard(K)", "M.discard(K)", "M.remove(K)", "log.append(M.pop())", "log.append(M.pop())", "M.clear()", "M.update(L)", "M.update(S)", "M.update(S, L)",
    "M.update(x for x in L)", "M.update({K: 1, K: 2})", "M.difference_update(L)", "M.difference_update(x for x in L)", "M.difference_update(S, L)", "M.intersection_update(S)", "M.intersection_update(L, S)",
    "M.symmetric_difference_update(S)", "M.symmetric_difference_update(L)", "M |= S", "M &= S", "M -= S", "M ^= S", "M |= {K, K}", "M -= {K}", "M ^= M", "M.update(M)",
    "for x in list(M): M.discard(x)", "for x in L: M.add(x)", "while len(M) > 3: log.append(M.pop())", "for i in range(n): M.add(i * 5)", "for i in range(n * 3): M.discard(i)", "M.update(o)", "M.update(range(n))"]  # fmt: skip
LOOKS = ["log.append(list(S))", "log.append([x for x in S])", "log.append(tuple(S))", "log.append(repr(S))", "log.append(f'{S}')", "for x in S: log.append(x)", "log.append(len(S))",
    "log.append(K in S)", "log.append(S == S)", "log.append(list(enumerate(S)))", "log.append(list(zip(S, S)))", "log.append(dict.fromkeys(S))", "log.append(next(iter(S), None))", "log.append([*S])",
    "log.append(min(S, key=repr))", "log.append(sorted(S, key=str))", "log.append(sum(len(repr(x)) for x in S))", "log.append(S <= S)", "log.append(S.isdisjoint(S))", "frameloom.graph_break()"]  # fmt: skip


class Over(set):
    pass


class OverFrozen(frozenset):
    pass


class Program:
    def __init__(self, seed):
        self.chance = chance = random.Random(seed)
        self.pool = chance.choice(POOLS)
        self.outside = [chance.sample(self.pool, min(len(self.pool), chance.randrange(7))) for _ in range(2)]
        self.sets = []
        lines = [self.made() for _ in range(chance.choice((1, 2, 2, 3)))]
        for _ in range(chance.choice((2, 4, 6, 9, 14))):
            lines.append(self.made() if chance.random() < 0.2 else self.statement())
        body = "\n".join("    " + line for line in lines)
        self.source = f"def program(n, o):\n    log = []\n{body}\n    return log, {', '.join(self.sets)}\n"

    def key(self):
        key = self.chance.choice(self.pool)
        return NAMES[key] if key.__hash__ and not isinstance(key, (int, float, str, bytes, tuple, complex)) and key in NAMES else repr(key)

    def keys(self):
        many = self.chance.choice((1, 2, 3, 4, 5, 5, 6, 8, 11))
        return ", ".join(self.key() for _ in range(many))

    def filled(self, text):
        out, chance = [], self.chance
        for word in text.replace("S", "\0S\0").replace("K", "\0K\0").replace("L", "\0L\0").split("\0"):
            out.append(chance.choice(self.sets) if word == "S" and self.sets else "{1, 9}" if word == "S" else self.key() if word == "K" else f"[{self.keys()}]" if word == "L" else word)
        return "".join(out)

    def made(self):
        text = self.chance.choice(MADE) if self.sets and self.chance.random() < 0.6 else self.chance.choice(LITERALS).format(self.keys())
        text = self.filled(text)
        if len(self.sets) < 4 and (not self.sets or self.chance.random() < 0.7):
            self.sets.append(f"s{len(self.sets)}")
            return f"{self.sets[-1]} = {text}"
        return f"{self.chance.choice(self.sets)} = {text}"

    def statement(self):
        text = self.chance.choice(LOOKS if self.chance.random() < 0.25 else CHANGES)
        text = self.filled(text.replace("M", "\1")).replace("\1", self.chance.choice(self.sets))
        head = "" if text.startswith(("for", "while")) and self.chance.random() < 0.5 else "try: "
        if text.startswith(("for", "while")):
            return text
        return f"{head}{text}\n    except Exception as error: log.append(type(error).__name__)" if head else text


def told(sets):
    """What each looks like, and what comes of it when more is added and when it is emptied."""
    for each in sets:
        yield type(each), list(each)
    changed = [set(()) if isinstance(each, frozenset) else each for each in sets]
    for each in changed:
        for item in (72, 3, "z", 41):
            each.add(item)
        yield list(each)
        if each:
            yield each.pop()
        each.discard(3)
        yield [*each, *(each.pop() for _ in range(len(each)))]


def seen(function, program, n, pool):
    o = set(pool)
    try:
        log, *sets = function(n, o)
    except Exception as error:
        return repr(error), list(o)
    return repr(log), list(o), repr(list(told(sets)))


def differs(seed):
    program = Program(seed)
    space = {"frameloom": frameloom, "copy": __import__("copy"), "Over": Over, "OverFrozen": OverFrozen}
    exec(program.source, space)
    compiled = frameloom.compile(space["program"], backend="interpret")
    for n, pool in zip((3, 3, 9, 3, 3), [*program.outside, *program.outside, program.outside[1][::-1]]):
        got, want = seen(compiled, program, n, pool), seen(space["program"], program, n, pool)
        if got != want:
            return f"seed {seed}, n {n}, {pool}\n{program.source}{got}\ninstead of\n{want}\n"
    return None


def check_sets(seeds):
    check_programs(seeds, differs)


if __name__ == "__main__":
    main(check_sets)
