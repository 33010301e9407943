"""Samples of torch's own OpInfo database through the backend, compared with eager torch.

A sample goes one of three ways, forward and, where it is differentiable, backward:

- recorded: its ATen ops are written down while eager torch computes them (torch_record.py) and become one
  graph, which the backend compiles and runs. Dynamo, AOTAutograd's fake tensors and its partitioner
  are skipped, all of them torch's own; the ops, decomposed by the backend's table, are the same, and so
  are importer, emitters, passes, kernels and host calls. A sample takes a fifth of the time, most
  of which is spent in the backend;
- traced: by AOTAutograd, as torch.compile has it behind Dynamo: what cannot be recorded (written inputs,
  sparse tensors, results that depend on data) and what eager torch refuses;
- whole: through torch.compile. What AOTAutograd cannot trace without Dynamo in front becomes a graph break.
"""

from __future__ import annotations

import copy
import itertools
import warnings
from collections import Counter

import torch
from functorch.compile import aot_function, min_cut_rematerialization_partition
from torch._subclasses.fake_tensor import (
    DataDependentOutputException,
    DynamicOutputShapeException,
    UnsupportedOperatorException,
)
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree as pytree

import frameloom.torch
import torch_record

DECOMPOSITIONS = frameloom.torch.decompositions()
SEED = 42  # OpInfo's own wrappers of random ops seed with this whenever eager torch calls them

# Their results are memory as it was found: only dtype, shape and strides are compared.
UNDEFINED = frozenset(
    "empty empty_like empty_strided empty_permuted new_empty new_empty_strided resize_ resize_as_".split()
)

# What a sample came to. All but the last three are good.
SAME = "same"  # forward and backward agree with eager torch
NEARER = "nearer"  # beyond the tolerance, but no farther than eager from float64 (times SLACK)
SHAPE = "shape"  # undefined or random results: dtype, shape and strides agree
RAISES = "raises"  # eager torch and the backend raise the same type
BROKEN = "torch cannot"  # torch's own aot_eager does not agree with eager torch either
WRONG, FAILED, CRASHED = "wrong", "failed", "crashed"
BAD = (WRONG, FAILED, CRASHED)
LEFT_OUT = "left out"  # not run: its op needs Dynamo, through which enough of its samples have gone
SLACK = 1.5
WORST, NEARBY = 10, 16  # so much farther is wrong at once; so many inputs decide otherwise


class Report:
    """What the graphs of one sample became."""

    def __init__(self):
        self.host_calls = Counter()
        self.refused = []  # graphs that ran in eager torch
        self.breaks = []  # why Dynamo was needed
        self.graphs = 0

    def whole(self):
        return not (self.host_calls or self.refused or self.breaks)


# ---- one sample ---------------------------------------------------------------------------------


class Case:
    """A sample as a function of its tensors."""

    def __init__(self, op, sample, grad):
        self.op, self.grad, self.post = op, grad, sample.output_process_fn_grad
        self.leaves, self.spec = pytree.tree_flatten(((sample.input, *sample.args), sample.kwargs))
        self.places = [i for i, leaf in enumerate(self.leaves) if isinstance(leaf, torch.Tensor)]

    def __call__(self, *tensors):
        filled = list(self.leaves)
        for place, tensor in zip(self.places, tensors):
            filled[place] = tensor
        args, kwargs = pytree.tree_unflatten(filled, self.spec)
        return self.op.op(*args, **kwargs)

    def tensors(self, dtype=None):
        """Fresh copies; floats as `dtype` where it is given."""
        made = {}  # a tensor that is given twice stays one tensor
        for i in self.places:
            t = self.leaves[i]
            if id(t) not in made:
                fresh = t.detach().clone(memory_format=torch.preserve_format)
                if dtype and fresh.is_floating_point():
                    fresh = fresh.to(dtype)
                made[id(t)] = fresh.requires_grad_(self.grad and t.requires_grad)
        return [made[id(self.leaves[i])] for i in self.places]

    def nearby(self, seed):
        """The same sample, its floats changed by up to a thousandth, or by some roundings where these are larger."""
        near, random = copy.copy(self), torch.Generator().manual_seed(seed)
        near.leaves = list(self.leaves)
        changed = {}  # a tensor that is given twice stays one tensor
        for i in self.places:
            t = self.leaves[i]
            if id(t) not in changed:
                span = max(1 / 512, 8 * torch.finfo(t.dtype).eps) if t.is_floating_point() else 0
                factors = 1 + (torch.rand(t.shape, generator=random) - 0.5) * span
                changed[id(t)] = t.detach() * factors.to(t.device, t.dtype) if t.is_floating_point() else t
                changed[id(t)].requires_grad_(t.requires_grad)
            near.leaves[i] = changed[id(t)]
        return near

    def run(self, fn, tensors, ramps=None):
        """Results and the gradients of the float ones times ramps."""
        torch.manual_seed(SEED)
        out = fn(*tensors)
        if not self.grad:
            return out, ()
        ends = [t for t in _tensors(self.post(out)) if t.requires_grad]
        leaves = list({id(t): t for t in tensors if t.requires_grad}.values())
        if not ends or not leaves:
            return out, ()
        ramps = [_ramp(t) for t in ends] if ramps is None else ramps
        return out, torch.autograd.grad(ends, leaves, ramps, allow_unused=True)

    def ramps(self, out):
        """What `run` weights the float results by."""
        return [_ramp(t) for t in _tensors(self.post(out)) if t.requires_grad] if self.grad else []


def _tensors(tree):
    return [t for t in pytree.tree_leaves(tree) if isinstance(t, torch.Tensor)]


def _ramp(t):
    """Weights that bfloat16 holds exactly."""
    ramp = torch.arange(t.numel(), dtype=torch.float64).remainder_(64).div_(64).add_(0.5)
    return ramp.reshape(t.shape).to(t.device, t.dtype)


def _eager_backend(module, report):
    return frameloom.torch.boxed(module)


def _strides(t):
    """Of the axes whose strides mean something, in the order of memory."""
    return sorted((t.stride(i), i) for i, n in enumerate(t.shape) if n > 1) if t.numel() else []


def _has_gaps(t):
    """Is it no dense array of permuted axes (a view of something larger, that is not returned)?"""
    expected = 1
    for stride, axis in _strides(t):
        if stride != expected and stride:
            return True
        expected *= t.shape[axis] if stride else 1
    return False


def _mismatch(results, expected):
    """None, or which result has another dtype, shape or strides."""
    for i, (t, e) in enumerate(zip(results, expected)):
        if not isinstance(t, torch.Tensor) or not isinstance(e, torch.Tensor):
            continue
        if t.dtype != e.dtype or t.shape != e.shape:
            return f"result {i} is {t.dtype} {tuple(t.shape)}, not {e.dtype} {tuple(e.shape)}"
        if _strides(t) != _strides(e) and not (t.is_contiguous() and _has_gaps(e)):
            return f"result {i} has strides {t.stride()}, not {e.stride()}"
    return None


def _checked(graph, module):
    """The graph's callable; its results have to be what torch's fake tensors, or torch itself, say."""
    (declared,) = [n for n in module.graph.nodes if n.op == "output"][0].args
    fakes = [getattr(node, "meta", {}).get("val") for node in declared]

    def run(inputs):
        given = list(inputs)
        results = graph(inputs)
        if _mismatch(results, fakes) and (wrong := _mismatch(results, module(*given))):
            raise AssertionError(wrong)
        return results

    run._boxed_call = True
    return run


def _backend(module, report, interpret=False):
    try:
        graph = frameloom.torch.compile_graph(module, interpret=interpret)
    except NotImplementedError as e:
        report.refused.append(str(e))
        return frameloom.torch.boxed(module)
    report.graphs += 1
    _note(graph, report)
    return _checked(graph, module)


def _compile(module, report):
    """The backend's callable for one graph; NotImplementedError where it refuses it."""
    graph = frameloom.torch.compile_graph(module, visible=0)
    report.graphs += 1
    _note(graph, report)
    return _checked(graph, module)


def _note(graph, report):
    for version in graph.report():
        for op, reason in version["host_calls"]:
            report.host_calls[str(op), str(reason)] += 1
    frameloom.torch.compiled_graphs.clear()


def traced(fn, backend, report):
    def compile_graph(module, example_inputs):
        return backend(module, report)

    return aot_function(
        fn,
        fw_compiler=compile_graph,
        bw_compiler=compile_graph,
        inference_compiler=compile_graph,
        decompositions=DECOMPOSITIONS,
        partition_fn=min_cut_rematerialization_partition,
    )


def _recorded(case, report, ramps):
    """Results and gradients by one graph that was recorded (torch_record), compiled by the backend."""

    def function(*tensors):
        return case.run(case, tensors[: len(case.places)], tensors[len(case.places) :])

    tensors = case.tensors()
    module, inputs, spec = torch_record.record(function, [*tensors, *ramps], DECOMPOSITIONS, _KNOWN)
    graph = _compile(module, report)
    torch.manual_seed(SEED)
    return pytree.tree_unflatten(graph([t.detach() for t in inputs]), spec)


def _compiled(case, report, expected):
    """Recorded, or traced where that is not possible."""
    try:
        return _recorded(case, report, case.ramps(expected[0]))
    except Exception:
        return case.run(traced(case, _backend, report), case.tensors())


_KNOWN = {}  # of the ops: how they are recorded


def _with_dynamo(case, backend):
    torch._dynamo.reset()
    try:
        return case.run(torch.compile(case, backend=backend), case.tensors())
    finally:
        torch._dynamo.reset()


# What AOTAutograd alone cannot trace: with Dynamo in front these are graph breaks.
UNTRACEABLE = (DataDependentOutputException, DynamicOutputShapeException, UnsupportedOperatorException)


def _untraceable(e):
    return isinstance(e, UNTRACEABLE) or any(
        part in str(e)
        for part in ("could not find kernel", "GuardOnDataDependent", "data-dependent", "FakeTensor", "sparse")
    )


# ---- comparing ----------------------------------------------------------------------------------


def tolerance(op, dtype):
    """OpInfo's own overrides where there are some, else assert_close's."""
    inexact = dtype.is_floating_point or dtype.is_complex  # functions of integers give float32
    rtol, atol = torch.testing._comparison.default_tolerances(dtype if inexact else torch.float32)
    for info in getattr(op, "decorators", None) or ():
        for override in getattr(info, "decorators", None) or (info,):
            for d, t in (getattr(override, "d", None) or {}).items():
                if d == dtype:
                    rtol = max(rtol, getattr(t, "rtol", 0))
                    atol = max(atol, getattr(t, "atol", t if isinstance(t, float) else 0))
    return {"rtol": rtol, "atol": atol}


def _difference(got, expected, limits):
    """None, or how they differ."""
    try:
        torch.testing.assert_close(got, expected, equal_nan=True, check_stride=False, **limits)
    except AssertionError as e:
        return " ".join(str(e).split())[:300]
    except Exception as e:  # objects that assert_close does not know
        return f"cannot be compared: {type(e).__name__}"
    return None


def _distance(t, exact):
    """The Euclidean distance of two tensors; infinite where only one of them is finite."""
    if t.shape != exact.shape:
        return float("inf")
    t, exact = t.to(exact.dtype), exact
    apart = torch.where((t == exact) | (t.isnan() & exact.isnan()), 0.0, (t - exact).abs())
    return float(apart.nan_to_num(nan=float("inf")).norm())


def _nearer(case, got, expected, limits):
    """Is every tensor that differs at most SLACK times as far from a float64 run as eager torch's?

    A single distance is a matter of luck where the op amplifies rounding errors: where it is more, root mean
    squares over NEARBY more inputs decide.
    """
    differs = _differing(got, expected, limits)
    if differs is None:
        return False
    sums = _squares(case, got, expected, differs)
    if not sums or not all(ours <= WORST**2 * eagers for ours, eagers in sums):
        return False
    near_enough = all(ours <= SLACK**2 * eagers for ours, eagers in sums)
    for seed in range(0 if near_enough else NEARBY):
        near = case.nearby(seed)
        try:
            expected = near.run(near, near.tensors())
            got = _compiled(near, Report(), expected)
        except Exception:
            return False
        more = _squares(near, got, expected, differs)
        if not more:
            return False
        sums = [(a + c, b + d) for (a, b), (c, d) in zip(sums, more)]
    return all(ours <= SLACK**2 * eagers for ours, eagers in sums)


def _differing(got, expected, limits):
    """Numbers of the tensors that are not alike; None where dtypes or shapes are not."""
    ours, eagers = _tensors(got), _tensors(expected)
    if len(ours) != len(eagers):
        return None
    if any(a.dtype != b.dtype or a.shape != b.shape for a, b in zip(ours, eagers)):
        return None
    different = [i for i, (a, b) in enumerate(zip(ours, eagers)) if _difference(a, b, limits)]
    return different if all(ours[i].is_floating_point() for i in different) else None


def _squares(case, got, expected, places):
    """The squared distances (ours, eager's) of these tensors from a float64 run; None without one."""
    try:
        exact = _tensors(case.run(case, case.tensors(torch.float64)))
    except Exception:
        return None
    ours, eagers = _tensors(got), _tensors(expected)
    if not len(ours) == len(eagers) == len(exact):
        return None
    pairs = [(ours[i], eagers[i], exact[i].to(ours[i].device, torch.float64)) for i in places]
    return [(_distance(a, e) ** 2, _distance(b, e) ** 2) for a, b, e in pairs]


def _like(got, expected):
    """Do dtypes and shapes agree?"""
    a, b = _tensors(got), _tensors(expected)
    return len(a) == len(b) and all(s.dtype == t.dtype and s.shape == t.shape for s, t in zip(a, b))


def _is_random(case, expected):
    """Does another seed give eager torch other results?"""
    state = torch.manual_seed
    try:
        torch.manual_seed = lambda seed: state(seed + 1)
        other = case.run(case, case.tensors())
    except Exception:
        return False
    finally:
        torch.manual_seed = state
    return _difference(other, expected, {"rtol": 0, "atol": 0}) is not None


def check_whole(op, dtype, sample, grad):
    """(outcome, detail) of one sample through torch.compile; "torch cannot" where Dynamo fails without us."""
    case = Case(op, sample, grad)
    try:
        expected = case.run(case, case.tensors())
    except Exception as e:
        return RAISES, type(e).__name__
    try:
        got = _with_dynamo(case, frameloom.torch.backend)
    except Exception as e:
        text = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:160]}"
    else:
        return _judge(case, Report(), got, expected, dtype)[:2]
    try:
        _with_dynamo(case, "aot_eager")
    except Exception:
        return BROKEN, text
    return FAILED, text


def check_sample(op, dtype, sample, grad, interpret=False, recorded=False, dynamo=True):
    """(outcome, detail, Report) of one sample: recorded where it is asked for and possible, else traced,
    else, where `dynamo` allows it, through torch.compile."""
    case, report = Case(op, sample, grad), Report()
    try:
        expected = case.run(case, case.tensors())
    except Exception as e:
        return _check_raises(case, report, e, interpret)
    if recorded:
        try:
            got = _recorded(case, report, case.ramps(expected[0]))
        except Exception as e:
            report = Report()
        else:
            return _judge(case, report, got, expected, dtype)
    try:
        got = case.run(
            traced(case, lambda m, r: _backend(m, r, interpret), report), case.tensors()
        )
    except AssertionError as e:
        return WRONG, str(e)[:300], report
    except Exception as e:
        return _check_broken(case, report, expected, dtype, e, dynamo)
    return _judge(case, report, got, expected, dtype)


def _judge(case, report, got, expected, dtype):
    limits = tolerance(case.op, dtype)
    difference = _difference(got, expected, limits)
    if difference is None:
        return SAME, "", report
    if case.op.name in UNDEFINED and _like(got, expected):
        return SHAPE, "", report
    if dtype in (torch.bfloat16, torch.float32) and _nearer(case, got, expected, limits):
        return NEARER, "", report
    try:  # does torch's own run of the same graphs agree with ours?
        torchs = case.run(traced(case, _eager_backend, report), case.tensors())
    except Exception:
        torchs = None
    if torchs is not None and _difference(got, torchs, limits) is None:
        return (SHAPE if _like(got, expected) else BROKEN), difference, report
    if _like(got, expected) and _is_random(case, expected):
        return SHAPE, difference, report
    return WRONG, difference, report


def _check_raises(case, report, error, interpret):
    """Eager torch refuses the sample: the backend has to raise the same type."""
    try:
        case.run(traced(case, lambda m, r: _backend(m, r, interpret), report), case.tensors())
    except Exception as e:
        if isinstance(e, type(error)) or isinstance(error, type(e)) or _untraceable(e):
            return RAISES, type(error).__name__, report
        kind = f"{type(e).__name__}, eager: {type(error).__name__}"
    else:
        kind = f"no exception, eager: {type(error).__name__}"
    try:
        case.run(traced(case, _eager_backend, report), case.tensors())
    except Exception as e:
        if not isinstance(e, type(error)):
            return BROKEN, kind, report
    else:
        return BROKEN, kind, report
    return FAILED, kind, report


def _check_broken(case, report, expected, dtype, error, dynamo):
    """The sample was not compiled as one graph: with Dynamo it is a graph break."""
    if not dynamo and isinstance(error, UNTRACEABLE):
        return LEFT_OUT, type(error).__name__, report
    text = f"{type(error).__name__}: {(str(error).splitlines() or [''])[0][:160]}"
    report.breaks.append(type(error).__name__)
    if not isinstance(error, UNTRACEABLE):
        try:
            case.run(traced(case, _eager_backend, report), case.tensors())
            return FAILED, text, report  # torch's own aot_eager can do it
        except Exception:
            pass
    try:
        return _judge(case, report, _with_dynamo(case, frameloom.torch.backend), expected, dtype)
    except Exception as e:
        text = f"{type(e).__name__}: {(str(e).splitlines() or [''])[0][:160]}"
    try:
        _with_dynamo(case, "aot_eager")
    except Exception:
        return BROKEN, text, report
    return FAILED, text, report


# ---- all samples --------------------------------------------------------------------------------


def needs_grad(op, dtype):
    return dtype.is_floating_point and op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")


def samples(op, dtype, limit=None):
    """(index, sample) of at most `limit` samples, spread evenly over all of them."""
    grad = needs_grad(op, dtype)

    def generate():
        torch.manual_seed(0)
        return op.sample_inputs("cpu", dtype, requires_grad=grad)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if limit is None:
            yield from enumerate(generate())
            return
        count = sum(1 for _ in generate())
        wanted = sorted({i * count // min(limit, count) for i in range(min(limit, count))})
        for index, sample in enumerate(itertools.islice(generate(), wanted[-1] + 1 if wanted else 0)):
            if index in wanted:
                yield index, sample
