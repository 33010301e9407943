/* The parts of complex numbers, for loom-complex (complex.c) and the formulas of its ops
 * (complex_rules.c). */
#ifndef LOOM_COMPLEX_H
#define LOOM_COMPLEX_H

#include "dialects/ir.h"

/* The real and the imaginary part of one complex value: two values of floats. */
typedef struct complex_pair {
  MlirValue re, im;
} complex_pair;

/* ---- complex_rules.c: the column `pair` of loom.td ---- */

/* The parts of the result of a pointwise op, from the parts of its operands. An op of one operand
 * does not read `y`. The parts are {NULL} where the op has no formula. */
complex_pair complex_by_formula(loom_builder *b, loom_opcode code, complex_pair x, complex_pair y);

/* A tensor filled with one float. */
MlirValue complex_constant(loom_builder *b, MlirType type, double value);
/* The tensor type with another element type. It keeps its encoding (symbolic sizes). */
MlirType complex_retype(MlirType type, MlirType element);

#endif
