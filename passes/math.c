/* The table of functions, and the tools they are written with (math.h). */
#include "passes/math.h"
#include "graph/ops.h"

#include <string.h>

/* ---- tools ---- */

math math_of(lower *l, loom_builder *b, MlirValue x) {
  MlirType type = mlirValueGetType(x);
  bool f64 = mlirTypeIsAF64(lane_element(type));
  MlirType ints = lane_like(type, mlirIntegerTypeGet(b->ctx, f64 ? 64 : 32));
  return (math){.l = l, .b = b, .type = type, .ints = ints, .f64 = f64};
}

MlirValue math_const(math *m, double value) { return lane_const_float(m->b, m->type, value); }
MlirValue math_int(math *m, int64_t value) { return lane_const_int(m->b, m->ints, value); }
MlirValue math_add(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.addf", x, y); }
MlirValue math_sub(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.subf", x, y); }
MlirValue math_mul(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.mulf", x, y); }
MlirValue math_div(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.divf", x, y); }
MlirValue math_fma(math *m, MlirValue x, MlirValue y, MlirValue z) {
  return lane_fma(m->b, x, y, z);
}
MlirValue math_scale(math *m, MlirValue x, double by) { return math_mul(m, x, math_const(m, by)); }
MlirValue math_abs(math *m, MlirValue x) { return lane_op1(m->b, "llvm.intr.fabs", x); }
MlirValue math_neg(math *m, MlirValue x) { return lane_op1(m->b, "arith.negf", x); }
MlirValue math_sqrt(math *m, MlirValue x) { return lane_op1(m->b, "llvm.intr.sqrt", x); }
MlirValue math_copysign(math *m, MlirValue x, MlirValue sign) {
  return lane_op2(m->b, "llvm.intr.copysign", x, sign);
}
MlirValue math_test(math *m, const char *predicate, MlirValue x, double y) {
  return lane_cmpf(m->b, predicate, x, math_const(m, y));
}
MlirValue math_pick(math *m, MlirValue condition, MlirValue x, MlirValue y) {
  return lane_select(m->b, condition, x, y);
}

/* NaN passes. The instruction for vectors may take either of two zeros, so there are none. */
static MlirValue math_limit(math *m, MlirValue x, double limit, bool most) {
  MlirValue end = math_const(m, limit);
  if (!mlirTypeIsAVector(m->type))
    return math_pick(m, math_test(m, most ? "ogt" : "olt", x, limit), end, x);
  MlirAttribute nsz = mlirAttributeParseGet(m->b->ctx, loom_str("#arith.fastmath<nsz>"));
  loom_named flags = {"fastmath", nsz};
  MlirValue operands[] = {x, end};
  const char *name = most ? "arith.minimumf" : "arith.maximumf";
  return loom_result(loom_build(m->b, name, 2, operands, 1, &m->type, 1, &flags), 0);
}

MlirValue math_at_least(math *m, MlirValue x, double low) { return math_limit(m, x, low, false); }
MlirValue math_at_most(math *m, MlirValue x, double high) { return math_limit(m, x, high, true); }

MlirValue math_bits(math *m, MlirValue x) { return loom_build1(m->b, "arith.bitcast", x, m->ints); }
MlirValue math_from_bits(math *m, MlirValue x) {
  return loom_build1(m->b, "arith.bitcast", x, m->type);
}
MlirValue math_iop(math *m, const char *name, MlirValue x, int64_t y) {
  return lane_op2(m->b, name, x, math_int(m, y));
}

MlirValue math_poly(math *m, MlirValue x, const double *c32, int n32, const double *c64, int n64) {
  const double *c = m->f64 ? c64 : c32;
  int n = m->f64 ? n64 : n32;
  MlirValue sum = math_const(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--)
    sum = math_fma(m, sum, x, math_const(m, c[i]));
  return sum;
}

void math_flag(math *m, MlirValue condition, uint32_t flag) {
  if (!m->l) return;
  if (m->raised) {
    MlirValue bits = lower_flag_bits(m->b, condition, flag);
    *m->raised = m->raised->ptr ? lane_op2(m->b, "arith.ori", *m->raised, bits) : bits;
    return;
  }
  lower_flag(m->l, (lower_value){condition, lower_level_of(m->l, m->b), true, LOOM_BOOL}, flag);
}

/* ---- the table ---- */

typedef enum math_how { MATH_POLY, MATH_WIDE } math_how;

typedef struct math_row {
  loom_opcode code;
  math_how how[2]; /* f32, f64 */
  MlirValue (*unary)(math *, MlirValue);
  MlirValue (*binary)(math *, MlirValue, MlirValue);
} math_row;

static const math_row math_rows[] = {
#define LOOM_MATH(OP, F32, ULP32, F64, ULP64, MAKER)                                               \
  {LOOM_OP_##OP, {MATH_##F32, MATH_##F64}, MAKER, NULL},
#define LOOM_MATH2(OP, F32, ULP32, F64, ULP64, MAKER)                                              \
  {LOOM_OP_##OP, {MATH_##F32, MATH_##F64}, NULL, MAKER},
#include "passes/math.def"
#undef LOOM_MATH
#undef LOOM_MATH2
};

static const math_row *math_find(loom_opcode code) {
  for (size_t i = 0; i < sizeof math_rows / sizeof *math_rows; i++)
    if (math_rows[i].code == code) return &math_rows[i];
  return NULL;
}

/* The sign is that of x in f32: LLVM would round the f64 it comes from, to f16 by a call where the
 * result becomes a half float. */
static bool math_has_sign_of(loom_opcode code) {
  switch (code) {
  case LOOM_OP_ASINH:
  case LOOM_OP_ATANH: return true;
  default: return false;
  }
}

MlirValue math_inline(math *m, loom_opcode code, MlirValue x, MlirValue y) {
  const math_row *row = math_find(code);
  if (row->how[m->f64] == MATH_POLY) return row->unary ? row->unary(m, x) : row->binary(m, x, y);
  MlirType wide = lane_like(m->type, mlirF64TypeGet(m->b->ctx));
  MlirValue x64 = loom_build1(m->b, "arith.extf", x, wide);
  math m64 = math_of(m->l, m->b, x64);
  m64.narrow = true;
  m64.raised = m->raised;
  MlirValue result = row->unary ? row->unary(&m64, x64)
                                : row->binary(&m64, x64, loom_build1(m->b, "arith.extf", y, wide));
  result = loom_build1(m->b, "arith.truncf", result, m->type);
  return math_has_sign_of(code) ? math_copysign(m, result, x) : result;
}

MlirValue lower_math(lower *l, loom_builder *b, loom_opcode code, loom_dtype dtype, MlirValue x,
                     MlirValue y) {
  if ((dtype != LOOM_F32 && dtype != LOOM_F64) || !math_find(code)) return (MlirValue){NULL};
  if (math_find(code)->binary == math_pow && math_whole_exponent(y)) {
    math m = math_of(l, b, x);
    return math_whole(&m, x, y, math_whole_exponent(y));
  }
  if (l && math_is_shared(l, code)) return math_shared(l, b, code, x, y);
  math m = math_of(l, b, x);
  return math_inline(&m, code, x, y);
}
