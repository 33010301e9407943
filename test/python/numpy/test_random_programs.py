"""Random programs (expressions, shapes, dtypes, strides) compared with plain NumPy."""

import os

import numpy as np
from compare import check
from expression_programs import programs
from hypothesis import HealthCheck, given, settings
from statement_programs import broken_programs, wide_programs
from statement_programs import run as run_statements

import frameloom

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", "400"))
COMMON = dict(deadline=None, derandomize=True, database=None,
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def run(program, backend, fullgraph=False):
    plain = program.function()
    compiled = frameloom.compile(program.function(), backend=backend, fullgraph=fullgraph)
    # Cancellation in a later step scales an earlier rounding error: compare with the largest magnitude in play.
    scale = max([1.0] + [float(np.max(np.abs(a[np.isfinite(a)].astype(np.float64)), initial=0)) ** 2
                         for a in program.arrays if a.size])
    # A wide result of narrow steps is as exact as these.
    narrow = any(a.dtype.name in ("float32", "int16", "uint16") for a in program.arrays) or "float32" in program.source
    check(compiled, plain, program.arrays, ulps=lambda t: 64 * 2.0**29 if narrow and t == np.float64 else 64, scale=scale)


@given(programs(shape_ops=False, reductions=False))
@settings(max_examples=COUNT, **COMMON)
def test_elementwise_programs(program):
    run(program, "loom")


@given(programs())
@settings(max_examples=COUNT, **COMMON)
def test_programs(program):
    run(program, "loom")


@given(programs())
@settings(max_examples=COUNT // 4, **COMMON)
def test_programs_interpreted(program):
    run(program, "interpret")


@given(wide_programs())
@settings(max_examples=COUNT, **COMMON)
def test_programs_of_statements(program):
    run_statements(program)


@given(wide_programs(masks=True))
@settings(max_examples=COUNT // 2, **COMMON)
def test_programs_of_masks(program):
    run_statements(program)


@given(broken_programs())
@settings(max_examples=COUNT // 2, **COMMON)
def test_programs_with_breaks(program):
    run_statements(program, "interpret")
