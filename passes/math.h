/* Transcendental functions as polynomials of our own, on scalars or vectors of f32 and f64 (math.c
 * and math_*.c). Each states its bound in ulp in the table of math.c. */
#ifndef LOOM_MATH_H
#define LOOM_MATH_H

#include "passes/lanes.h"

/* Null when there is none for this op and type. `y` is null for unary functions. */
MlirValue lower_math(loom_builder *b, loom_opcode code, loom_dtype dtype, MlirValue x, MlirValue y);
/* Rough instructions a lane: 1 for an op that is no function. */
int lower_math_cost(loom_opcode code, loom_dtype dtype);

#endif
