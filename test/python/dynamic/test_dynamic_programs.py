"""Random programs called with several sizes through one compiled function: right each time, in few versions."""

import os

import numpy as np
from expression_programs import program_alike, programs
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from statement_programs import Program as Statements
from statement_programs import statements_alike, wide_programs

import frameloom

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", "400"))
COMMON = dict(deadline=None, derandomize=True, database=None,
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
OTHER = {0: [0, 0, 0], 1: [1, 1, 1], 2: [4, 6, 11], 3: [7, 5, 12], 4: [5, 7, 3], 5: [9, 3, 20], 8: [10, 8, 21],
         9: [6, 13, 4], 17: [14, 16, 2], 33: [31, 36, 35], 40: [41, 15, 17]}


def others(n):
    return OTHER.get(n, [n + 3, n - 7, n // 2])


def laid_out(values, like):
    """The values with strides like those of an array of other sizes: order of axes, signs, gaps, repeated axes."""
    if like.ndim == 0 or like.size == 0:
        return values
    order = sorted(range(like.ndim), key=lambda i: -abs(like.strides[i]))
    single = [i for i in range(like.ndim) if like.strides[i] == 0 and like.shape[i] > 1]
    steps = [abs(s) for s, n in zip(like.strides, like.shape) if s and n > 1]
    gap = min(steps) // like.itemsize if steps else 1
    shape = [1 if i in single else values.shape[i] for i in order]
    block = np.zeros(shape[:-1] + [shape[-1] * gap], values.dtype)[..., ::gap]
    view = block.transpose(np.argsort(order))
    view = view[tuple(slice(None, None, -1 if s < 0 else 1) for s in like.strides)]
    view[...] = values[tuple(slice(0, 1) if i in single else slice(None) for i in range(like.ndim))]
    return np.broadcast_to(view, values.shape) if single else view


def resized(a, which, seed):
    """An array like `a` with other sizes; sizes that were equal stay equal."""
    values = np.random.default_rng(seed)
    shape = tuple(others(n)[which] for n in a.shape)
    if a.dtype == bool:
        new = values.integers(0, 2, shape).astype(bool)
    elif a.dtype.kind == "f":
        new = np.asarray(values.integers(-16, 17, shape) / 4).astype(a.dtype)
    else:
        new = np.asarray(values.integers(0 if a.dtype.kind == "u" else -5, 9, shape)).astype(a.dtype)
    return laid_out(new, a)


def decided_by_rounding(program):
    """The variance of equal numbers is 0 or a rounding error away from it: what is divided by it says nothing."""
    same = any(a.size > 1 and (0 in a.strides or (a == a.flat[0]).all()) for a in program.arrays)
    return same and ("np.var(" in program.source or "np.std(" in program.source)


def sizes_alike(program, backend, dynamic):
    assume(not decided_by_rounding(program))
    compiled = frameloom.compile(program.function(), backend=backend, dynamic=dynamic)
    for which in (None, 0, 1, 2):
        arrays = program.arrays if which is None else [resized(a, which, 7 * which + i)
                                                       for i, a in enumerate(program.arrays)]
        program_alike(program, compiled, arrays)
    return compiled


def versions(compiled):
    return len(compiled._report()["entries"])


@given(programs())
@settings(max_examples=COUNT // 4, **COMMON)
def test_sizes_change(program):
    sizes_alike(program, "loom", None)


@given(programs())
@settings(max_examples=COUNT // 4, **COMMON)
def test_sizes_change_interpreted(program):
    sizes_alike(program, "interpret", None)


@given(programs(), st.sampled_from(["interpret", "loom"]))
@settings(max_examples=COUNT // 4, **COMMON)
def test_all_sizes_at_once(program, backend):
    sizes_alike(program, backend, True)


@given(programs(shape_ops=False, reductions=False))
@settings(max_examples=COUNT // 8, **COMMON)
def test_elementwise_programs_are_compiled_twice(program):
    compiled = sizes_alike(program, "interpret", None)
    assert versions(compiled) <= 2 or any(1 in a.shape or 0 in a.strides for a in program.arrays), compiled._report()


@given(wide_programs(), st.sampled_from(["interpret", "loom"]), st.sampled_from([None, True]))
@settings(max_examples=COUNT // 2, **COMMON)
def test_programs_of_statements(program, backend, dynamic):
    compiled = frameloom.compile(program.function(), backend=backend, dynamic=dynamic)
    for which in (None, 0, 1, 2):
        arrays = program.arrays if which is None else [resized(a, which, 7 * which + i)
                                                       for i, a in enumerate(program.arrays)]
        statements_alike(Statements(program.source, arrays, program.aliases, program.state), backend, compiled)
