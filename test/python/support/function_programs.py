"""Random classes of torch.autograd.Function with side effects in forward(), setup_context() and backward(), in random functions that
are compiled, against eager torch: results, gradients, what is printed, and what lists, dicts, objects and counters hold after each
step.

    python function_programs.py COUNT SEED

Prints what differs and ends with 1 if anything does. `differences(seed)` is one program.
"""

import contextlib
import io
import random
import sys
import warnings

import torch

import frameloom

# What the source of a program finds. Each run has new ones.
SPACE = """
import collections, functools, itertools, random, contextlib, types, warnings
import torch
from torch.autograd import Function
from torch.autograd.function import once_differentiable

class Box:
    def __init__(self):
        self.n, self.scale, self.items, self.last = 0, 2.0, [], None
    def hit(self, what="hit"):
        self.n += 1
        self.items.append(what)
        return self.n
    @property
    def twice(self):
        self.n += 2
        return self.n

class Slots:
    __slots__ = ("n", "items")
    def __init__(self):
        self.n, self.items = 0, []

LOG, COUNTS, BOX, SEEN, QUEUE, NUMBERS, SCALE = [], {}, Box(), set(), collections.deque(maxlen=5), itertools.count(), 1.5
SLOTS, STATE, NAMES = Slots(), types.SimpleNamespace(n=0, by=2.0), collections.OrderedDict(a=1)
PATTERN = itertools.cycle([1.0, 2.0, 3.0])
TENSOR = torch.ones(3)
NUMBERS_LIST = [3]
ORDER = collections.defaultdict(list)

def tally():
    count = 0
    def add(by=1):
        nonlocal count
        count += by
        return count
    return add

TALLY = tally()

def rescale():
    global SCALE
    SCALE += 1

def produce():
    n = 0
    while True:
        got = yield n
        n += 1 if got is None else got

MADE = produce()
next(MADE)

@functools.lru_cache(maxsize=None)
def cached(n):
    LOG.append(("cached", n))
    return n + 1

def told(what, kept=[]):
    kept.append(what)
    return len(kept)

@contextlib.contextmanager
def noted(what):
    LOG.append(("in", what))
    yield
    LOG.append(("out", what))
"""
# Effects of which each may stand in forward(), setup_context(), backward(), or the function. `{w}`: where.
EFFECTS = (
    "LOG.append('{w}')", "LOG.append(('{w}', len(LOG)))", "LOG.extend(['{w}', 1])", "LOG.insert(0, '{w}')", "LOG += ['{w}']", "LOG and LOG.pop()",
    "LOG[:] = LOG[-3:]", "LOG.sort(key=str)", "LOG.reverse()", "LOG.clear()", "COUNTS['{w}'] = COUNTS.get('{w}', 0) + 1", "COUNTS.setdefault('{w}', []).append(1)",
    "COUNTS.update(k=1)", "COUNTS.pop('{w}', None)", "BOX.n += 1", "BOX.hit('{w}')", "BOX.items.append('{w}')", "BOX.scale = BOX.scale + 0.5", "BOX.twice",
    "BOX.__dict__['raw'] = '{w}'", "setattr(BOX, '{w}', BOX.n)", "vars(BOX).update(v=1)", "SEEN.add('{w}')", "SEEN.discard('{w}')", "SEEN |= {{1}}", "QUEUE.append('{w}')",
    "LOG.append(next(NUMBERS))", "LOG.append(TALLY())", "LOG.append(MADE.send(2))", "LOG.append(next(PATTERN))", "cached(len(LOG))", "told('{w}')",
    "LOG.append(told('{w}'))", "print('{w}', len(LOG))", "SLOTS.n += 1", "SLOTS.items.append('{w}')", "STATE.n += 1", "STATE.by *= 1.5", "NAMES.move_to_end('a')",
    "NAMES['{w}'] = len(NAMES)", "ORDER['{w}'].append(len(LOG))", "F.calls += 1", "F.kept.append('{w}')", "rescale()",
    "LOG.append(random.random())", "random.seed(3)", "warnings.warn('{w}')", "TENSOR.add_(1)", "TENSOR[0] = 5", "BOX.last = '{w}'",
    "with noted('{w}'): LOG.append('within')", "LOG.append(F.calls)", "LOG.append([*map(TALLY, [1, 2])])", "list(filter(LOG.append, [1, 2]))",
    "[LOG.append(k) for k in range(2)]", "any(LOG.append(k) for k in range(2))", "exec('LOG.append(7)')", "LOG.__setitem__(slice(0, 0), ['{w}'])",
    "del LOG[:1]", "functools.reduce(lambda a, b: LOG.append(b), [1, 2, 3])", "torch.manual_seed(5)", "torch.set_grad_enabled(torch.is_grad_enabled())",
)  # fmt: skip
# Those of what forward() has kept in ctx, in backward(): the attributes are made by KEPT.
KEPT = {
    "items": ("[]", ("ctx.items.append('{w}')", "LOG.append(len(ctx.items))", "LOG.append(list(ctx.items))", "ctx.items[:] = [1, 2]", "ctx.items = ctx.items + ['{w}']")),
    "count": ("0", ("ctx.count += 1", "LOG.append(ctx.count)", "ctx.count = ctx.count * 2 + 1", "LOG.append(getattr(ctx, 'count', None)); del ctx.count", "LOG.append(hasattr(ctx, 'count'))")),
    "table": ("{'a': 1}", ("ctx.table['a'] += 1", "ctx.table['{w}'] = 1", "LOG.append(dict(ctx.table))", "ctx.table.pop('a', None)")),
    "box": ("Box()", ("ctx.box.n += 1", "ctx.box.hit()", "LOG.append(ctx.box.n)", "LOG.append(ctx.box.twice)")),
    "steps": ("iter([1, 2, 3, 4, 5, 6])", ("LOG.append(next(ctx.steps, None))",)),
    "made": ("(k * k for k in range(10))", ("LOG.append(next(ctx.made))",)),
    "log": ("LOG", ("ctx.log.append('{w}')", "LOG.append(len(ctx.log))")),
    "hit": ("BOX.hit", ("ctx.hit('{w}')",)),
    "add": ("tally()", ("LOG.append(ctx.add())", "ctx.add(3)")),
    "shape": ("tuple(x.shape)", ("LOG.append(ctx.shape)",)),
    "nothing": ("None", ("LOG.append(ctx.nothing)", "ctx.nothing = (ctx.nothing or 0) + 1")),
    "named": ("collections.namedtuple('P', 'a b')(1, [2])", ("ctx.named.b.append(3)", "LOG.append(list(ctx.named.b))")),
    "seen": ("set()", ("ctx.seen.add('{w}')", "LOG.append(sorted(ctx.seen))")),
    "queue": ("collections.deque([1])", ("ctx.queue.append(len(ctx.queue))", "LOG.append(list(ctx.queue))")),
}  # fmt: skip
# Numbers of what is kept.
NUMBERS = {"items": "(1 + len(ctx.items))", "count": "(2 + getattr(ctx, 'count', 0))", "table": "(1 + sum(ctx.table.values()))", "box": "(ctx.box.n + 1)", "steps": "next(ctx.steps, 9)",
           "made": "next(ctx.made)", "log": "(len(ctx.log) + 1)", "add": "ctx.add()", "shape": "len(ctx.shape)", "named": "len(ctx.named.b)", "seen": "(len(ctx.seen) + 1)", "queue": "len(ctx.queue)"}  # fmt: skip
# Effects on what the function has made.
GIVEN = (
    "given.append('{w}')",
    "given and given.pop()",
    "given[:] = [7]",
    "given.insert(0, 5)",
    "given.extend([1, 2])",
    "given.clear()",
    "given.__iadd__([3])",
    "BOX.last = given",
    "LOG.append(list(given))",
)
# Factors of gradients, of what may change between the call and the backward.
FACTORS = ("2", "SCALE", "BOX.scale", "STATE.by", "F.factor", "(1 + len(LOG))", "(BOX.n + 1)", "(F.calls + 1)", "ctx.by", "ctx.kept", "TENSOR", "ctx.tensor", "torch.tensor([1.0, 2.0, 3.0])", "(COUNTS.get('k', 2))",
           "(2 if ctx.needs_input_grad[0] else 3)", "x", "x.detach()", "(len(ctx.needs_input_grad) + 1)", "(len(given or ()) + 1)", "(sum(map(len, map(str, given or ()))) + 1)", "torch.ones_like(g)")  # fmt: skip
# What happens between the call and its backward.
BETWEEN = ("", "", "", "rescale()", "BOX.scale = BOX.scale + 1", "STATE.by = 4.0", "F.factor = F.factor * 2", "LOG.append('between')", "BOX.n += 3", "F.calls = 7", "COUNTS['k'] = 5",
           "with torch.no_grad(): TENSOR.add_(2)", "F.backward = staticmethod(lambda ctx, *g: (g[0] * 3,) * len(ctx.needs_input_grad[:-2]) + (None, None))", "GIVEN.append(4)", "GIVEN[:] = [1]")  # fmt: skip
# Effects that end a part of the function: what follows is not captured together with it.
ENDING = tuple(
    one for one in EFFECTS if any(name in one for name in ("exec", "cached", "send", "print", "warn", "random", "seed", "with noted", "TENSOR"))
)
OPS = ("{0} * {1}", "{0} + {1}", "{0}.sin() * {1}", "{0}.exp() - {1}", "{0} * 2", "({0} * {1}).tanh()", "{0}.clone()", "torch.maximum({0}, {1})")
GLOBAL = "global LOG, SEEN"


class Program:
    """The source of a class F and of a function `call(x, y)` that applies it."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        pick, chance = self.random.choice, self.random.random
        self.apart, self.outputs, self.takes = chance() < 0.35, pick((1, 1, 2, 3)), pick((1, 1, 2))
        self.kept = self.random.sample(list(KEPT), pick((0, 1, 2)))
        self.once, self.plain = chance() < 0.15, self.outputs > 1 and chance() < 0.3
        self.materializes, self.dirty = chance() < 0.9, not self.apart and chance() < 0.04
        self.quiet = chance() < 0.3  # no effects in backward(), so that the call is captured
        self.within = chance() < 0.3  # the function computes gradients itself
        self.given = pick(("given", "given", "given", "LOG", "None", "NUMBERS_LIST", "(1, 2)"))
        self.lists = self.given in ("given", "LOG", "NUMBERS_LIST")
        self.rare = 0.5 if chance() < 0.5 else 1
        self.late = chance() < 0.2  # gradients are computed when other calls have changed things
        self.between = random.Random(seed + 11).choice(BETWEEN)
        self.source = SPACE + self.function_class() + self.caller()

    def effects(self, where, most):
        found = []
        for _ in range(int(self.random.choice(range(most + 1)) * self.rare)):
            found.append(
                self.random.choice(EFFECTS if self.late or where not in ("end", "behind") else [one for one in EFFECTS if one not in ENDING]).format(
                    w=where
                )
            )
        return found

    def of_kept(self, where):
        return [self.random.choice(KEPT[name][1]).replace("{w}", where) for name in self.kept if self.random.random() < 0.7]

    def function_class(self):
        pick, chance = self.random.choice, self.random.random
        tensors = ["x", "y"][: self.takes]
        results = []
        forward = [GLOBAL, *self.effects("forward", 2)]
        if self.dirty:
            forward += ["x.mul_(3)", "ctx.mark_dirty(x)"]
            results.append("x")
        while len(results) < self.outputs:
            results.append(f"r{len(results)}")
            forward.append(f"{results[-1]} = " + pick(OPS).format(pick(tensors), pick(tensors)))
        if self.plain:
            results[-1] = "r_plain"
            forward.append(f"r_plain = {pick(tensors)} > 0")
        forward += self.effects("ahead", 1)
        saved = [one for one in ("x", *tensors[1:], *(r for r in results if self.apart is False)) if chance() < 0.6]
        setup = [GLOBAL] * self.apart + [f"ctx.save_for_backward({', '.join(saved)})"] if saved else [GLOBAL] * self.apart
        setup += [f"ctx.{name} = {KEPT[name][0]}" for name in self.kept]
        setup += [
            f"ctx.by = {pick(('3', 'x.shape[0]', 'x.dim() + 1', 'SCALE', 'BOX.scale', 'float(len(LOG))', 'by'))}",
            f"ctx.kept = {pick(tensors)}",
        ]
        setup += [
            f"ctx.tensor = {pick(('x', 'x * 2', 'TENSOR', 'x.detach()', *results[:1] * (not self.dirty and not self.plain)))}",
            "ctx.given = given",
        ]
        if self.plain:
            setup.append("ctx.mark_non_differentiable(r_plain)")
        if not self.materializes:
            setup.append("ctx.set_materialize_grads(False)")
        setup += self.effects("setup", 1)
        if not self.quiet or chance() < 0.3:
            setup += self.of_kept("kept")
        names = ", ".join(tensors)
        result = ", ".join(results) if self.outputs > 1 else results[0]
        lines = ["class F(Function):", "    calls, kept, factor = 0, [], 2.5"]
        if self.apart:
            lines += [
                "    @staticmethod",
                f"    def forward({names}, by, given):",
                *(f"        {one}" for one in forward),
                f"        return {result}",
            ]
            lines += [
                "    @staticmethod",
                "    def setup_context(ctx, inputs, output):",
                f"        {names}, by, given = inputs",
                f"        {result} = output",
                *(f"        {one}" for one in setup),
            ]
        else:
            lines += [
                "    @staticmethod",
                f"    def forward(ctx, {names}, by, given):",
                *(f"        {one}" for one in [*forward, *setup]),
                f"        return {result}",
            ]
        gradients = [f"g{i}" for i in range(self.outputs)]
        body = [GLOBAL, "x = ctx.kept", "given = ctx.given"]
        if saved:
            body.append(f"{', '.join(f's{i}' for i in range(len(saved)))}, = ctx.saved_tensors")
        effects = [] if self.quiet else [*self.effects("backward", 2), *self.of_kept("backward")]
        if not self.quiet and self.lists and chance() < 0.3:
            effects.append(pick(GIVEN).format(w="backward"))
        if chance() < 0.5:  # few effects, so that more is captured
            effects = effects[:1]
        self.random.shuffle(effects)
        body += effects
        usable = [one for one in gradients if not (self.plain and one == gradients[-1])] or gradients[:1]
        for one in tensors:
            terms = []
            for g in usable:
                factor = pick(
                    (
                        *FACTORS,
                        *[NUMBERS[name] for name in self.kept if name in NUMBERS] * 4,
                        "ctx.by",
                        *[f"s{i}" for i in range(len(saved)) if saved[i] != "r_plain"],
                    )
                )
                guard = f" if {g} is not None else 0" if not self.materializes else ""
                terms.append(f"({g} * {factor.replace('(g)', f'({g})')}{guard})")
            body.append(f"for_{one} = {' + '.join(terms)}")
            if chance() < 0.3 and len(tensors) > 1:
                body.append(f"for_{one} = for_{one} if ctx.needs_input_grad[{tensors.index(one)}] else None")
        if chance() < 0.1:
            body.append(f"for_{tensors[-1]} = None")
        if not self.quiet and chance() < 0.3:
            body += self.effects("last", 1)
        lines += [
            "    @staticmethod",
            *["    @once_differentiable"] * self.once,
            f"    def backward(ctx, {', '.join(gradients)}):",
            *(f"        {one}" for one in body),
        ]
        return "\n".join([*lines, f"        return {', '.join(f'for_{one}' for one in tensors)}, None, None", ""])

    def caller(self):
        pick, chance = self.random.choice, self.random.random
        by, given = pick(("2", "0.5", "x.shape[0]", "None")), self.given
        names = [f"o{i}" for i in range(self.outputs)]
        lines = [GLOBAL, "given = [1, 2]", "box = BOX", *self.effects("begin", 1)]
        lines += [f"v = {pick(('x', 'x * 2', 'x.sin()', 'x.view(-1)', 'x.detach()'))}", f"u = {pick(('y', 'y * 3', 'x + y', 'v', 'y.detach()'))}"]
        if self.dirty:
            lines.append("v = v.clone()")
        lines.append(f"{', '.join(names)} = F.apply(v, {'u, ' * (self.takes > 1)}{by}, {given})")
        if chance() < 0.35:
            lines += [pick(("given.append(3)", "given[0] = 9", "given.clear()", "BOX.scale = 7.0", "BOX.n += 1", "rescale()", "F.factor = 9.0", "STATE.by = 5.0", "COUNTS['k'] = 8",
                            "w = v.detach(); w.mul_(2)", "TENSOR.mul_(2)", "LOG.append('after')", "LOG[:] = []", "F.calls = 12"))]  # fmt: skip
        if chance() < 0.25:
            lines.append(f"again = F.apply({names[0]}, {'u, ' * (self.takes > 1)}{by}, {given})" + ("[0]" if self.outputs > 1 else ""))
            names.append("again")
        lines += self.effects("end", 1)
        results = [pick(names) for _ in range(pick((1, 1, 2)))]
        results = [one if chance() < 0.5 or one == f"o{self.outputs - 1}" and self.plain else f"{one} * 2" for one in results]
        if self.within and self.apart and chance() < 0.5:
            of = f"F.apply(a, {'u.detach(), ' * (self.takes > 1)}{by}, {given})" + ("[0]" if self.outputs > 1 else "")
            lines.append(f"found = torch.func.{pick(('grad', 'vjp', 'jacrev'))}(lambda a: {of}.sum(), x.detach())")
            if ".vjp" in lines[-1]:
                lines.append("found = found[1](torch.ones(()))")
            else:
                lines[-1] = lines[-1].replace(", x.detach())", ")(x.detach())")
        elif self.within:
            wanted = "x" if chance() < 0.7 else "(x, y)"
            once = f"torch.autograd.grad(({results[0]}).float().sum(), {wanted}, allow_unused=True, retain_graph=True, create_graph={chance() < 0.3})"
            lines.append(pick((f"found = {once}", f"found = {once}; found = {once}", f"({results[0]}).float().sum().backward(retain_graph=True); found = None",
                               f"found = [({results[0]}).float().sum().backward(retain_graph=True) for _ in range(2)]")))  # fmt: skip
            lines += self.effects("behind", 1)
        else:
            lines.append("found = None")
        return "def call(x, y):\n" + "".join(f"    {one}\n" for one in [*lines, f"return {', '.join(results)}, given, found, len(LOG)"])


def plain(one):
    """Something that is compared by ==."""
    if isinstance(one, torch.Tensor):
        return ("tensor", one.dtype, one.detach().double().flatten().tolist(), tuple(one.shape), one.requires_grad)
    if isinstance(one, (list, tuple)):
        return [plain(item) for item in one]
    return one if isinstance(one, (int, float, str, bool, type(None))) else type(one).__name__


def alike(one, other):
    if isinstance(one, (list, tuple)) and isinstance(other, (list, tuple)):
        return len(one) == len(other) and all(map(alike, one, other))
    if isinstance(one, float) and isinstance(other, float):
        return one == other or one != one and other != other or abs(one - other) <= 1e-4 * max(1, abs(other))
    return one == other


def state(space):
    """What the effects of a program have left."""
    box, function = space["BOX"], space["F"]
    return plain(space["TENSOR"]), repr((
        plain(space["LOG"]), {str(k): plain(v) for k, v in space["COUNTS"].items()}, {k: plain(v) for k, v in vars(box).items()}, sorted(map(str, space["SEEN"])), list(space["QUEUE"]),
        list(space["NAMES"].items()), space["SLOTS"].n, space["SLOTS"].items, vars(space["STATE"]), space["SCALE"], space["NUMBERS_LIST"], dict(space["ORDER"]),
        function.calls, function.kept, function.factor, space["told"].__defaults__, space["cached"].cache_info().currsize))  # fmt: skip


WAYS = ("sum", "sum", "twice", "grad", "second", "none", "no_grad", "autocast", "plain")


def history(source, way, compiled, between=""):
    """What a few calls of a program give and leave, step by step."""
    space = {"__name__": "program"}
    exec(compile(source, "<program>", "exec"), space)
    call = frameloom.compile(space["call"]) if compiled else space["call"]
    told, kept = [], []
    random.seed(1)
    torch.manual_seed(1)
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        for step in range(3):
            x, y = (torch.tensor(one).requires_grad_(way != "plain") for one in ([0.5, -0.25, 1.5 + step], [1.0, 0.75, -0.5]))
            try:
                with contextlib.ExitStack() as stack:
                    if way == "no_grad":
                        stack.enter_context(torch.no_grad())
                    if way == "autocast":
                        stack.enter_context(torch.autocast("cpu", dtype=torch.bfloat16))
                    made = call(x, y)
                told.append(("results", plain(made), state(space)))
                tensors = [one for one in made if isinstance(one, torch.Tensor) and one.requires_grad]
                if not tensors or way in ("none", "no_grad", "plain"):
                    continue
                total = sum(one.float().sum() for one in tensors)
                space["GIVEN"] = made[-3] if isinstance(made[-3], list) else []
                exec(between, space)
                if way == "late":  # gradients of all steps at the end, in the reverse order
                    kept.append((total, x, y, made))
                    continue
                if way == "twice":
                    total.backward(retain_graph=True)
                    told.append(("first", plain(x.grad), plain(y.grad), plain(made[-3]), state(space)))
                if way in ("sum", "twice", "autocast"):
                    total.backward()
                if way == "grad":
                    told.append(plain(torch.autograd.grad(total, (x, y), allow_unused=True)))
                if way == "second":
                    first = torch.autograd.grad(total, (x, y), allow_unused=True, create_graph=True)
                    told.append(("first", plain(first), state(space)))
                    again = [one for one in first if one is not None and one.requires_grad]
                    if again:
                        told.append(plain(torch.autograd.grad(sum((one * one).sum() for one in again), (x, y), allow_unused=True)))
                told.append(("gradients", plain(x.grad), plain(y.grad), plain(made[-3]), state(space)))
            except Exception as error:  # noqa: BLE001
                told.append(("raised", type(error).__name__, str(error)[:130], state(space)))
        for total, x, y, made in reversed(kept):
            try:
                total.backward()
                told.append(("late", plain(x.grad), plain(y.grad), plain(made[-3]), state(space)))
            except Exception as error:  # noqa: BLE001
                told.append(("raised", type(error).__name__, str(error)[:130], state(space)))
    told.append(("printed", printed.getvalue()))
    told.append(("warned", [str(one.message) for one in warned if len(str(one.message)) < 12]))
    return told, call._report() if compiled else None


def differences(seed):
    """The first step in which a program's compiled history differs, with its source; None: none does."""
    program = Program(seed)
    way = "late" if program.late else random.Random(seed + 7).choice(WAYS)
    wanted, _ = history(program.source, way, False, program.between)
    got, report = history(program.source, way, True, program.between)
    for step, (one, other) in enumerate(zip(got, wanted)):
        if other[0] == "raised" and "modified by an inplace" in other[2]:
            return None  # eager torch has no result; a compiled backward may not need that tensor (docs/tensors.md)
        if one[0] == "raised" and "reads something that has changed" in one[2]:
            return None  # ctx has an object of which the backward knows nothing
        if not alike(one, other):
            return f"seed {seed}, {way}, {program.between}, step {step}:\n  compiled {one}\n  eager    {other}\n{program.source[len(SPACE) :]}"
    return None if len(got) == len(wanted) else f"seed {seed}, {way}: {len(got)} steps, and not {len(wanted)}"


if __name__ == "__main__":
    count, seed = map(int, sys.argv[1:3])
    found = [one for one in map(differences, range(seed, seed + count)) if one]
    for one in found:
        print(one)
    print(f"{len(found)} of {count} programs differ")
    sys.exit(bool(found))
