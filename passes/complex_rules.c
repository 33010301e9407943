/* Formulas of complex arithmetic: the column `pair` of loom.td, in the words below.
 *
 * The formulas are NumPy's: products without a special case for infinities, quotients by Smith's
 * method, and the floating-point exceptions that NumPy's C code raises.
 */
#include <math.h>

#include "graph/ops.h"
#include "passes/complex.h"

/* ---- the words of the column: they build with `b` ---- */

#define OP1(OP, A) rule_op1(b, LOOM_OP_##OP, A)
#define OP2(OP, A, B) rule_op2(b, LOOM_OP_##OP, A, B)
#define ADD(A, B) OP2(ADD, A, B)
#define SUB(A, B) OP2(SUB, A, B)
#define MUL(A, B) OP2(MUL, A, B)
#define DIV(A, B) OP2(DIV, A, B)
#define NEG(A) OP1(NEG, A)
#define NUMBER(X) complex_constant(b, mlirValueGetType(x.re), X)
#define WHERE(C, A, B) rule_select(b, C, A, B)
#define COMPARE(DIRECTION, A, B) rule_compare(b, DIRECTION, A, B)
#define PAIR(RE, IM) ((complex_pair){RE, IM})

static MlirValue rule_op1(loom_builder *b, loom_opcode code, MlirValue x) {
  return loom_build_op1(b, code, x, mlirValueGetType(x));
}

static MlirValue rule_op2(loom_builder *b, loom_opcode code, MlirValue x, MlirValue y) {
  return loom_build_op2(b, code, x, y, mlirValueGetType(x));
}

static MlirValue rule_mul_add(loom_builder *b, MlirValue x, MlirValue y, MlirValue z) {
  return loom_build_op3(b, LOOM_OP_MUL_ADD, x, y, z, mlirValueGetType(x));
}

static MlirValue rule_select(loom_builder *b, MlirValue condition, MlirValue x, MlirValue y) {
  return loom_build_op3(b, LOOM_OP_SELECT, condition, x, y, mlirValueGetType(x));
}

static MlirValue rule_compare(loom_builder *b, const char *direction, MlirValue x, MlirValue y) {
  MlirType type = complex_retype(mlirValueGetType(x), mlirIntegerTypeGet(b->ctx, 1));
  MlirValue operands[] = {x, y};
  loom_named attr = {"direction", loom_attr_str(b->ctx, direction)};
  return loom_result(loom_build_op(b, LOOM_OP_COMPARE, 2, operands, 1, &type, 1, &attr), 0);
}

/* A comparison that raises "invalid" where an operand is NaN, as C's operators do. */
static MlirValue rule_order(loom_builder *b, const char *direction, MlirValue x, MlirValue y) {
  MlirValue order = COMPARE(direction, x, y);
  loom_set_attr(loom_def(order), loom_mark_signals, mlirUnitAttrGet(b->ctx));
  return order;
}

MlirType complex_retype(MlirType type, MlirType element) {
  int64_t dims[LOOM_MAX_RANK], rank = mlirShapedTypeGetRank(type);
  for (int64_t i = 0; i < rank && i < LOOM_MAX_RANK; i++)
    dims[i] = mlirShapedTypeGetDimSize(type, i);
  return mlirRankedTensorTypeGet(rank, dims, element, mlirRankedTensorTypeGetEncoding(type));
}

MlirValue complex_constant(loom_builder *b, MlirType type, double value) {
  MlirType element = mlirShapedTypeGetElementType(type);
  loom_named attr = {"value", mlirFloatAttrDoubleGet(b->ctx, element, value)};
  return loom_result(loom_build_op(b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &attr), 0);
}

/* ---- products and quotients ---- */

/* NumPy multiplies arrays with fused multiply-adds, and single numbers without. The same bits, and
 * an overflow in the same places, need both here. */
static complex_pair pair_product(loom_builder *b, complex_pair x, complex_pair y) {
  MlirValue ii = MUL(x.im, y.im), ir = MUL(x.im, y.re);
  if (mlirShapedTypeGetRank(mlirValueGetType(x.re)) > 0) {
    MlirValue re = rule_mul_add(b, x.re, y.re, NEG(ii));
    return PAIR(re, rule_mul_add(b, x.re, y.im, ir));
  }
  MlirValue rr = MUL(x.re, y.re), ri = MUL(x.re, y.im);
  MlirValue re = SUB(rr, ii);
  return PAIR(re, ADD(ri, ir));
}

/* Smith's method, as NumPy has it: NumPy compares the parts of y in C. Let a be the part of y of
 * larger magnitude and c the other. Then ratio = c / a and scale = 1 / (a + c ratio). A y of 0
 * divides both parts of x by 0. */
static complex_pair pair_quotient(loom_builder *b, complex_pair x, complex_pair y) {
  MlirValue zero = NUMBER(0), one = NUMBER(1);
  MlirValue re = OP1(ABS, y.re), im = OP1(ABS, y.im);
  MlirValue first = rule_order(b, "ge", re, im);
  MlirValue a = WHERE(first, y.re, y.im), c = WHERE(first, y.im, y.re);
  MlirValue none = OP2(AND, COMPARE("eq", re, zero), COMPARE("eq", im, zero));
  MlirValue ratio = DIV(c, WHERE(none, one, a));
  MlirValue scale = MUL(c, ratio);
  scale = DIV(one, WHERE(none, re, ADD(a, scale)));
  MlirValue re_ratio = MUL(x.re, ratio), im_ratio = MUL(x.im, ratio);
  MlirValue top[2][2] = {{ADD(x.re, im_ratio), SUB(x.im, re_ratio)},
                         {ADD(re_ratio, x.im), SUB(im_ratio, x.re)}};
  MlirValue parts[2] = {x.re, x.im};
  for (int i = 0; i < 2; i++) {
    MlirValue high = WHERE(first, top[0][i], top[1][i]);
    parts[i] = MUL(WHERE(none, parts[i], high), scale);
  }
  return PAIR(parts[0], parts[1]);
}

/* ---- the exponential ---- */

/* Is im no finite number? A NaN is invalid beside a finite re. */
static MlirValue exp_odd(loom_builder *b, MlirValue re, MlirValue im, MlirValue endless) {
  MlirValue size = OP1(ABS, im);
  MlirValue finite = COMPARE("lt", OP1(ABS, re), endless);
  MlirValue silent = OP2(AND, COMPARE("ne", im, im), OP1(NOT, finite));
  size = WHERE(silent, endless, size);
  return OP1(NOT, rule_order(b, "lt", size, endless));
}

/* Is re infinity? A NaN is invalid unless im is zero or NaN as well. */
static MlirValue exp_endless(loom_builder *b, complex_pair x, MlirValue flat, MlirValue endless) {
  MlirValue silent = OP2(OR, flat, COMPARE("ne", x.im, x.im));
  silent = OP2(AND, silent, COMPARE("ne", x.re, x.re));
  MlirValue zero = NUMBER(0);
  return rule_order(b, "ge", WHERE(silent, zero, x.re), endless);
}

/* e^re (cos im + i sin im). The power is taken in two halves, so that it overflows no earlier than
 * the result. Special cases are C's. A zero im stays. Beside an infinite re, an im that is no
 * finite number does not change the magnitude, and only its sign counts for e^-inf. */
static complex_pair pair_exp(loom_builder *b, complex_pair x) {
  MlirValue re = x.re, im = x.im, zero = NUMBER(0), endless = NUMBER(INFINITY);
  MlirValue half = OP1(EXP, MUL(re, NUMBER(0.5)));
  MlirValue flat = COMPARE("eq", im, zero);
  MlirValue odd = exp_odd(b, re, im, endless);
  MlirValue all = OP2(AND, odd, exp_endless(b, x, flat, endless));
  MlirValue none = OP2(AND, odd, COMPARE("eq", re, NUMBER(-INFINITY)));
  MlirValue angle = WHERE(none, OP2(COPYSIGN, zero, im), im);
  /* The sine of zero would be no factor for an infinite power. */
  MlirValue upright = WHERE(flat, NUMBER(M_PI_2), angle);
  MlirValue cosine = OP1(COS, angle), sine = OP1(SIN, upright);
  MlirValue across = MUL(MUL(half, cosine), half), up = MUL(MUL(half, sine), half);
  across = WHERE(all, endless, across);
  return PAIR(across, WHERE(flat, im, up));
}

/* ---- the rules ---- */

complex_pair complex_by_formula(loom_builder *b, loom_opcode code, complex_pair x, complex_pair y) {
  (void)y;
  switch (code) {
#define LOOM_OP_PAIR(OP, FORMULA)                                                                  \
  case LOOM_OP_##OP: return FORMULA;
#include "loom_pairs.inc"
#undef LOOM_OP_PAIR
  default: return PAIR({NULL}, {NULL});
  }
}
