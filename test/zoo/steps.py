"""What is asked of a model: a forward pass, a training step, optimizer steps, and a training step with sizes as symbols,
compiled, against eager torch.

Each tensor of the results is compared with eager's. What differs by more than a few roundings is judged by how far eager
itself is from a run in float64, and by how far eager's own results move when weights and inputs change by some roundings.
Where that does not explain it, and where the compiled model raises, torch's `aot_eager` has the next word: if it differs or
raises as well, the matter is torch's own.
"""

import collections
import copy
import dataclasses
import logging
import random
import re
import time
import zlib

import numpy
import torch
from torch.utils import _pytree as pytree

import frameloom
import frameloom.torch as ft
from frameloom import _native

STEPS = ("forward", "training", "optimizer", "sizes")
SAME, CANNOT, WRONG, RAISED = "same", "torch cannot", "wrong", "raised"
CLOSE = 3e-5  # relative distance of a tensor that needs no explanation
LIKE_EAGER = 4  # times eager's own distance from float64 is still right,
ROUNDING = 2.0**-23  # of the largest gradient is right where a gradient is zero but for rounding (so of a mean and its deviation),
LIKE_NEARBY = 8  # or times the distance of eager's results with weights and inputs changed
NEARBY = 2.0**-20  # by so much, relatively
NEARBY_RUNS = 3
SEED = 7

TENSORS = "tensors"  # a backend: frameloom.compile itself, without Dynamo

torch._dynamo.config.allow_rnn = True  # else Dynamo leaves whatever calls nn.LSTM, nn.GRU or nn.RNN to eager torch


def seed():
    """Every source of random numbers that a model may draw from: masks of features are numpy's in some."""
    torch.manual_seed(SEED)
    numpy.random.seed(SEED)
    random.seed(SEED)


def tensors(tree):
    """All tensors of a result, however it is nested."""
    found = []
    for leaf in pytree.tree_leaves(tree):
        if isinstance(leaf, torch.Tensor):
            found.append(leaf)
        elif dataclasses.is_dataclass(leaf) and not isinstance(leaf, type):
            found += tensors([getattr(leaf, f.name) for f in dataclasses.fields(leaf)])
    return found


def loss_of(results):
    """A number in which every float of the results has a weight of its own."""
    total = 0
    for t in results:
        if t.is_floating_point() and t.requires_grad:
            weights = torch.cos(torch.arange(t.numel(), dtype=torch.float64) * 0.7 + 0.3).reshape(t.shape)
            total = total + (t * weights.to(t.dtype)).sum()
    return total


class Model:
    """A module with the keyword arguments that it is called with. `own_loss`: its result is the loss."""

    def __init__(self, module, arguments, own_loss=False):
        self.module, self.arguments, self.own_loss = module, arguments, own_loss
        for part in module.modules():
            if isinstance(part, torch.nn.modules.dropout._DropoutNd):
                part.p = 0.0  # random numbers are tested elsewhere
        self.state = {name: t.detach().clone() for name, t in self.named()}

    def named(self):
        yield from self.module.named_parameters()
        yield from self.module.named_buffers()

    def restore(self):
        with torch.no_grad():
            for name, t in self.named():
                if name in self.state and t.shape == self.state[name].shape:
                    t.copy_(self.state[name])
        self.module.zero_grad(set_to_none=True)

    def inputs(self):
        return pytree.tree_map_only(torch.Tensor, torch.clone, self.arguments)

    def grown(self):
        """The arguments with one row more of the batch, or None where the model has none that eager torch takes."""
        found = [t for t in pytree.tree_leaves(self.arguments) if isinstance(t, torch.Tensor) and t.ndim]
        if len({t.shape[0] for t in found}) != 1:
            return None
        more = pytree.tree_map_only(torch.Tensor, lambda t: torch.cat([t, t[:1]]), self.arguments)
        self.module.eval()
        self.restore()
        try:
            with torch.no_grad():
                self.module(**pytree.tree_map_only(torch.Tensor, torch.clone, more))
        except Exception:
            return None
        return more

    def double(self):
        twice = copy.deepcopy(self)
        twice.module.double()
        change = lambda t: t.double() if t.is_floating_point() else t  # noqa: E731
        twice.arguments = pytree.tree_map_only(torch.Tensor, change, twice.arguments)
        twice.state = {name: change(t) for name, t in twice.state.items()}
        return twice

    def nearby(self, number):
        """The same model, its floats changed by some roundings."""
        near, drawn = copy.deepcopy(self), torch.Generator().manual_seed(number)

        def change(t):
            return t + t * NEARBY * torch.randn(t.shape, generator=drawn, dtype=t.dtype) if t.is_floating_point() else t

        near.arguments = pytree.tree_map_only(torch.Tensor, change, near.arguments)
        near.state = {name: change(t) for name, t in near.state.items()}
        return near


# ---- steps: each gives tensors by name ------------------------------------------------------------


def forward(model, function):
    model.module.eval()
    model.restore()
    seed()
    with torch.no_grad():
        results = [function(**model.inputs()) for _ in range(2)]  # the second call finds what the first compiled
    return {f"call {n}, result {i}": t.clone() for n, out in enumerate(results) for i, t in enumerate(tensors(out))}


def sizes(model, function):
    """A training step with sizes as symbols, and with a larger batch."""
    made = {f"batch: {key}": t for key, t in training(model, function).items()}
    before, more = model.arguments, model.grown()
    if more is None:
        return made
    model.arguments = more
    try:
        return made | {f"larger batch: {key}": t for key, t in training(model, function).items()}
    finally:
        model.arguments = before


def training(model, function):
    model.module.train()
    model.restore()
    seed()
    out = tensors(function(**model.inputs()))
    made = {f"result {i}": t.detach().clone() for i, t in enumerate(out)}
    loss = loss_of(out)
    if isinstance(loss, torch.Tensor):
        loss.backward()
    made |= {f"gradient of {name}": p.grad.clone() for name, p in model.module.named_parameters() if p.grad is not None}
    return made | {f"buffer {name}": b.clone() for name, b in model.module.named_buffers()}


OPTIMIZERS = [
    lambda p: torch.optim.AdamW(p, lr=1e-2),
    lambda p: torch.optim.SGD(p, lr=1e-2, momentum=0.9, nesterov=True, weight_decay=1e-3),
    lambda p: torch.optim.Adam(p, lr=1e-2, amsgrad=True),
    lambda p: torch.optim.RMSprop(p, lr=1e-2, momentum=0.5, centered=True),
    lambda p: torch.optim.Adagrad(p, lr=1e-2),
    lambda p: torch.optim.NAdam(p, lr=1e-2),
]
STEPPED = 2  # steps of an optimizer
SPEED_RUNS = 8  # at most, to tell how fast a model is,
SPEED_SECONDS = 0.3  # or until so many have gone, after at least three,
SPEED_SECONDS_OF_ONE = 5  # or so many after one
SPEED_PASSES_OF_COMPILERS = 4  # that compile something, at most: sizes that are drawn make graphs that the steps before had no use for


def optimizer(model, function, compiled, name):
    """Optimizer steps with eager's gradients, so that only the steps themselves differ, and a training step behind them.

    `compiled` compiles a function, or leaves it as it is.
    """
    gradients = model.gradients
    model.module.train()
    model.restore()
    parameters = dict(model.module.named_parameters())
    stepper = OPTIMIZERS[zlib.crc32(name.encode()) % len(OPTIMIZERS)]([parameters[n] for n in gradients])
    step = compiled(stepper.step)
    for factor in range(1, 1 + STEPPED):
        for n, g in gradients.items():
            parameters[n].grad = g * factor
        step()
    made = {f"parameter {n}": parameters[n].detach().clone() for n in gradients}
    made |= {f"state {i} {key}": t.clone() for i, p in enumerate(gradients)
             for key, t in stepper.state[parameters[p]].items() if isinstance(t, torch.Tensor)}
    with torch.no_grad():  # from where eager's steps have led to
        for n, p in parameters.items():
            p.copy_(model.stepped.get(n, p))
    model.module.zero_grad(set_to_none=True)
    seed()
    out = tensors(function(**model.inputs()))
    loss_of(out).backward()
    made |= {f"result {i} behind it": t.detach().clone() for i, t in enumerate(out)}
    return made | {f"gradient of {n} behind it": p.grad.clone() for n, p in parameters.items() if p.grad is not None}


def prepare_optimizer(model, name):
    """Eager's gradients, and where its steps lead from them."""
    made = training(model, model.module)
    prefix = "gradient of "
    model.gradients = {key[len(prefix):]: t for key, t in made.items() if key.startswith(prefix)}
    model.stepped = {}
    if model.gradients:
        first = optimizer(model, model.module, lambda f: f, name)
        model.stepped = {n: first[f"parameter {n}"] for n in model.gradients}


def run(step, model, function, compiled, name):
    if step == "optimizer":
        return optimizer(model, function, compiled, name)
    return {"forward": forward, "training": training, "sizes": sizes}[step](model, function)


# ---- comparison -----------------------------------------------------------------------------------


def distance(a, b):
    """Relative to b; NaNs and infinities count as equal where both have them."""
    a, b = a.detach(), b.detach()
    if not (a.is_floating_point() or a.is_complex()):
        return 0.0 if torch.equal(a, b) else float("inf")
    kind = torch.complex128 if a.is_complex() else torch.float64
    a, b = a.to(kind).flatten(), b.to(kind).flatten()
    same = (a == b) | (a.isnan() & b.isnan())
    if not (same | (a.isfinite() & b.isfinite())).all():
        return float("inf")
    gap = torch.where(same, torch.zeros((), dtype=kind), a - b)
    size = torch.where(b.isfinite(), b, torch.zeros((), dtype=kind)).norm()
    return float(gap.norm() / size) if size > 0 else float(gap.norm())


def suspects(got, want):
    """Names of tensors that are not eager's within a few roundings, with the distance; None is one that is missing."""
    found = {}
    for name in want.keys() | got.keys():
        if name not in want or name not in got:
            found[name] = "is missing" if name in want else "is one too many"
            continue
        g, w = got[name], want[name]
        if g.shape != w.shape or g.dtype != w.dtype:
            found[name] = f"is {g.dtype} {tuple(g.shape)}, not {w.dtype} {tuple(w.shape)}"
        elif not distance(g, w) <= CLOSE * (1 if w.dtype != torch.bfloat16 else 300):
            found[name] = distance(g, w)
    return found


def family(key):
    """The first word of a tensor's name, behind those of its batch."""
    return key.rpartition("batch: ")[2].partition(" ")[0]


def unexplained(step, model, name, got, want, found):
    """Those of the suspects that neither float64 nor eager's own sensitivity explains."""
    found = dict(found)

    def eager(other):
        if step == "optimizer":
            prepare_optimizer(other, name)
        return run(step, other, other.module, lambda f: f, name)

    def explain(limit):
        for key in [k for k, v in found.items() if not isinstance(v, str) and limit(k)]:
            del found[key]

    def scale(key):
        """What a tensor that is zero but for rounding is measured by: the largest gradient, or the deviation beside a mean."""
        if family(key) == "gradient":
            return max(float(t.norm()) for other, t in exact.items() if family(other) == "gradient")
        variance = exact.get(key.replace("running_mean", "running_var")) if key.endswith("running_mean") else None
        return 0.0 if variance is None else float(variance.sqrt().norm())

    def vanishes(key):
        """A bias before a normalization has a gradient of sums that cancel, and so has a mean behind one: only their rounding is left
        in float32."""
        return float(exact[key].norm()) <= ROUNDING**2 * scale(key) and float(got[key].double().norm()) <= ROUNDING * scale(key)

    try:
        exact = eager(model.double())
    except Exception:  # not every model runs in float64
        exact = {}
    explain(lambda k: k in exact and vanishes(k))
    explain(lambda k: k in exact and distance(got[k], exact[k]) <= LIKE_EAGER * distance(want[k], exact[k]) + CLOSE)
    if any(not isinstance(v, str) for v in found.values()):
        runs = [eager(model.nearby(number)) for number in range(NEARBY_RUNS)]
        explain(lambda k: found[k] <= LIKE_NEARBY * max(distance(r[k], want[k]) for r in runs if k in r))
    return found


# ---- one step, told --------------------------------------------------------------------------------


class Told:
    """What the backend makes of a step: graphs, ops that run through torch, graphs left to eager with the reason."""

    def __init__(self):
        self.rows, self.words = [], []

    def __enter__(self):
        self.handler = logging.Handler(logging.WARNING)
        self.handler.emit = lambda record: self.words.append(record.getMessage())
        logging.getLogger("frameloom.torch").addHandler(self.handler)
        self.before = getattr(ft._listeners, "all", ())
        ft._listeners.all = (*self.before, lambda *row: self.rows.append(row))
        self.breaks = torch._dynamo.utils.counters["graph_break"].copy()
        return self

    def __exit__(self, *_):
        ft._listeners.all = self.before
        logging.getLogger("frameloom.torch").removeHandler(self.handler)

    def facts(self):
        reports = [(kind, made, reason, made.report() if reason is None else []) for kind, made, _, reason in self.rows]
        versions = [v for *_, report in reports for v in report[:1]]
        host = collections.Counter(f"{op}: {why}" for v in versions for op, why in v["host_calls"])
        breaks = torch._dynamo.utils.counters["graph_break"] - self.breaks
        return {
            "graphs": len(self.rows),
            "ops": sum(v["ops"] for v in versions),
            "kernels": sum(v["kernels"] for v in versions),
            "host": dict(host),
            "eager": [reason for *_, reason, _ in reports if reason is not None],
            "warnings": [w for w in self.words if not w.startswith("a graph runs in eager torch")],
            "breaks": {key.strip().splitlines()[0]: count for key, count in breaks.items()},
        }


class ToldByItself(Told):
    """The same of what frameloom.compile makes."""

    def facts(self):
        reports = [one._report() for one in _native.callables()]
        entries = [e for report in reports for e in report["entries"] if e["ops"] or not e["part"]]
        rows = [row for report in reports for row in report["breaks"] or ()]
        return {
            "graphs": len(entries),
            "ops": sum(len(e["ops"]) for e in entries),
            "kernels": sum(e["kernels"] for e in entries),
            "host": dict(collections.Counter(f"{op}: {why}" for e in entries for op, _, why, *_ in e["host_calls"])),
            "warnings": self.words,
            "breaks": dict(collections.Counter(f"FL{row[0]:04}: {row[2]}: {BEHIND.sub('', row[4])}" for row in rows)),
        }


BEHIND = re.compile(r" \(in [^()]*(<locals>)?[^()]*\)$|[\d.]+ ms against [\d.]+ ms")  # where, and how long: another one in each model


def compiled_run(step, model, name, backend, keep=None):
    """`keep`: a list that the compiled model is added to."""
    keywords = {"dynamic": True if step == "sizes" else None}
    if backend == TENSORS:
        frameloom.reset()
        compiled = frameloom.compile
    else:
        torch._dynamo.reset()
        keywords["backend"], compiled = backend, torch.compile
    function = compiled(model.module, **keywords)
    if keep is not None:
        keep.append(function)
    return run(step, model, function, lambda f: compiled(f, **keywords), name)


def timed(step, model, function):
    """CPU seconds of one pass."""
    model.module.zero_grad(set_to_none=True)
    began = time.process_time()
    if step == "forward":
        with torch.no_grad():
            function(**model.arguments)
    else:
        sum(t.sum() for t in tensors(function(**model.arguments)) if t.is_floating_point() and t.requires_grad).backward()
    return time.process_time() - began


def graphs_made():
    return torch._dynamo.utils.counters["stats"]["unique_graphs"] + sum(len(one._report()["entries"]) for one in _native.callables())


def speed(step, model, function):
    """CPU seconds of a pass of eager torch and of the compiled model, each the least of some in turn. Passes that compile do not
    count."""
    model.module.train(step == "training")
    model.restore()
    best, gone, number, compiling = [float("inf"), float("inf")], 0, 0, 0
    while number < SPEED_RUNS:
        before = graphs_made()
        seconds = [timed(step, model, f) for f in (model.module, function)]
        if graphs_made() > before and compiling < SPEED_PASSES_OF_COMPILERS:
            compiling += 1
            continue
        best, number, gone = [min(pair) for pair in zip(best, seconds)], number + 1, gone + sum(seconds)
        if number > 2 and gone > SPEED_SECONDS or gone > SPEED_SECONDS_OF_ONE:
            break
    model.restore()
    return best


def short(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:300]


def next_word(step, model, name, want, ours):
    """What torch's `aot_eager` makes of a step that went wrong: the outcome, and words."""
    try:
        got = compiled_run(step, model, name, "aot_eager")
    except Exception as error:
        return CANNOT, f"aot_eager raises, too: {short(error)}"
    found = suspects(got, want)
    found = unexplained(step, model, name, got, want, found) if found else found
    if found and ours is not None and ours.keys() <= found.keys():
        return CANNOT, f"aot_eager differs, too: {words(found)}"
    return None, ""


def rungs(step, model, name, want):
    """Whether the reference interpreter is wrong, too."""
    try:
        found = suspects(compiled_run(step, model, name, "frameloom_interpret"), want)
    except Exception as error:
        return f"; the interpreter raises {short(error)}"
    return "; the interpreter is wrong, too" if found else "; the interpreter is right"


def words(found):
    key = max(found, key=lambda k: found[k] if isinstance(found[k], float) else float("inf"))
    what = found[key] if isinstance(found[key], str) else f"differs by {found[key]:.1e}"
    return f"{key} {what}" + (f" ({len(found)} tensors)" if len(found) > 1 else "")


def check(step, model, name, backend="frameloom", tell=lambda *row: None):
    """(outcome, detail, facts) of one step of a model. `tell` is given what is known before other backends are asked about a step
    that went wrong: they may take far longer than the step."""
    if step == "optimizer":
        prepare_optimizer(model, name)
        if not model.gradients:
            return SAME, "nothing to train", {}
    want = run(step, model, model.module, lambda f: f, name)
    compiled, began = [], time.process_time()
    with ToldByItself() if backend == TENSORS else Told() as told:
        try:
            got = compiled_run(step, model, name, backend, compiled)
        except Exception as error:
            tell(RAISED, short(error), told.facts())
            outcome, detail = next_word(step, model, name, want, None)
            return outcome or RAISED, detail or short(error), told.facts()
    facts = {**told.facts(), "seconds": time.process_time() - began}
    if step in ("forward", "training") and (step == "forward" or any(key.startswith("gradient") for key in got)):
        try:
            facts["speed"] = speed(step, model, compiled[0])
        except Exception as error:
            return RAISED, "called again: " + short(error), facts
    suspected = suspects(got, want)
    found = unexplained(step, model, name, got, want, suspected) if suspected else suspected
    if suspected.keys() - found.keys():
        facts["explained"] = words({key: suspected[key] for key in suspected.keys() - found.keys()})
    if not found:
        return SAME, "", facts
    tell(WRONG, words(found), facts)
    outcome, detail = next_word(step, model, name, want, found)
    return outcome or WRONG, detail or words(found) + rungs(step, model, name, want), facts
