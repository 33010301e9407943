"""Random programs (expressions, shapes, dtypes, strides) compared with plain NumPy."""

import os

from expression_programs import program_alike, programs
from hypothesis import HealthCheck, given, settings
from statement_programs import broken_programs, statements_alike, wide_programs

import frameloom

COUNT = int(os.environ.get("FRAMELOOM_PROGRAMS", "400"))
COMMON = dict(deadline=None, derandomize=True, database=None,
              suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])


def compiled_alike(program, backend):
    program_alike(program, frameloom.compile(program.function(), backend=backend), program.arrays)


@given(programs(shape_ops=False, reductions=False))
@settings(max_examples=COUNT, **COMMON)
def test_elementwise_programs(program):
    compiled_alike(program, "loom")


@given(programs())
@settings(max_examples=COUNT, **COMMON)
def test_programs(program):
    compiled_alike(program, "loom")


@given(programs())
@settings(max_examples=COUNT // 4, **COMMON)
def test_programs_interpreted(program):
    compiled_alike(program, "interpret")


@given(wide_programs())
@settings(max_examples=COUNT, **COMMON)
def test_programs_of_statements(program):
    statements_alike(program)


@given(wide_programs(masks=True))
@settings(max_examples=COUNT // 2, **COMMON)
def test_programs_of_masks(program):
    statements_alike(program)


@given(broken_programs())
@settings(max_examples=COUNT // 2, **COMMON)
def test_programs_with_breaks(program):
    statements_alike(program, "interpret")
