/* Domains of operations: the operands with which they raise a floating-point flag.
 *
 * A pole raises divide, an operand outside of the domain raises invalid, one beyond the range of
 * exponents overflow. NaN raises nothing.
 */
#include "frontend/base/base.h"
#include "frontend/run/internal.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

typedef enum domain_test {
  DOMAIN_NEVER,
  DOMAIN_AT,     /* x == bound */
  DOMAIN_BELOW,  /* x < bound */
  DOMAIN_EITHER, /* |x| == bound */
  DOMAIN_BEYOND, /* |x| > bound */
  DOMAIN_INFINITE,
  DOMAIN_LARGE, /* x > bound times the largest exponent of the element type */
  DOMAIN_FAR,   /* |x| > that */
} domain_test;

typedef struct domain_row {
  loom_opcode op;
  uint32_t flag;
  domain_test test;
  double bound;
} domain_row;

/* Of operations with one operand. */
static const domain_row domain_rows[] = {
    {LOOM_OP_SQRT, LOOM_FP_INVALID, DOMAIN_BELOW, 0},
    {LOOM_OP_RSQRT, LOOM_FP_DIVIDE, DOMAIN_AT, 0},
    {LOOM_OP_RSQRT, LOOM_FP_INVALID, DOMAIN_BELOW, 0},
    {LOOM_OP_RSQRT, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
    {LOOM_OP_EXP, LOOM_FP_OVERFLOW, DOMAIN_LARGE, 0.693},
    {LOOM_OP_EXP2, LOOM_FP_OVERFLOW, DOMAIN_LARGE, 1},
    {LOOM_OP_EXPM1, LOOM_FP_OVERFLOW, DOMAIN_LARGE, 0.693},
    {LOOM_OP_EXPM1, LOOM_FP_INVALID, DOMAIN_NEVER, 0},
    {LOOM_OP_SINH, LOOM_FP_OVERFLOW, DOMAIN_FAR, 0.693},
    {LOOM_OP_COSH, LOOM_FP_OVERFLOW, DOMAIN_FAR, 0.693},
    {LOOM_OP_LOG, LOOM_FP_DIVIDE, DOMAIN_AT, 0},
    {LOOM_OP_LOG, LOOM_FP_INVALID, DOMAIN_BELOW, 0},
    {LOOM_OP_LOG, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
    {LOOM_OP_LOG2, LOOM_FP_DIVIDE, DOMAIN_AT, 0},
    {LOOM_OP_LOG2, LOOM_FP_INVALID, DOMAIN_BELOW, 0},
    {LOOM_OP_LOG2, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
    {LOOM_OP_LOG10, LOOM_FP_DIVIDE, DOMAIN_AT, 0},
    {LOOM_OP_LOG10, LOOM_FP_INVALID, DOMAIN_BELOW, 0},
    {LOOM_OP_LOG10, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
    {LOOM_OP_LOG1P, LOOM_FP_DIVIDE, DOMAIN_AT, -1},
    {LOOM_OP_LOG1P, LOOM_FP_INVALID, DOMAIN_BELOW, -1},
    {LOOM_OP_LOG1P, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
    {LOOM_OP_SIN, LOOM_FP_INVALID, DOMAIN_INFINITE, 0},
    {LOOM_OP_COS, LOOM_FP_INVALID, DOMAIN_INFINITE, 0},
    {LOOM_OP_TAN, LOOM_FP_INVALID, DOMAIN_INFINITE, 0},
    {LOOM_OP_ASIN, LOOM_FP_INVALID, DOMAIN_BEYOND, 1},
    {LOOM_OP_ACOS, LOOM_FP_INVALID, DOMAIN_BEYOND, 1},
    {LOOM_OP_ACOSH, LOOM_FP_INVALID, DOMAIN_BELOW, 1},
    {LOOM_OP_ATANH, LOOM_FP_DIVIDE, DOMAIN_EITHER, 1},
    {LOOM_OP_ATANH, LOOM_FP_INVALID, DOMAIN_BEYOND, 1},
    {LOOM_OP_ATANH, LOOM_FP_OVERFLOW, DOMAIN_NEVER, 0},
};

/* The exponent of the element type's largest number. */
static double domain_exponent(loom_dtype dtype) {
  return dtype == LOOM_F64 ? 1023 : dtype == LOOM_F16 ? 15 : 127;
}

static loom_value domain_compare(loom_emitter *b, const char *direction, loom_value x,
                                 double bound) {
  loom_type type = *loom_emit_type(b, x);
  return loom_emit_compare(b, direction, x, loom_emit_float(b, &type, bound));
}

static loom_value domain_of_one(loom_emitter *b, const domain_row *row, loom_value x) {
  double far = row->bound * domain_exponent(loom_emit_type(b, x)->dtype);
  switch (row->test) {
  case DOMAIN_NEVER: return LOOM_NO_VALUE;
  case DOMAIN_AT: return domain_compare(b, "eq", x, row->bound);
  case DOMAIN_BELOW: return domain_compare(b, "lt", x, row->bound);
  case DOMAIN_EITHER: return domain_compare(b, "eq", loom_emit1(b, LOOM_OP_ABS, x), row->bound);
  case DOMAIN_BEYOND: return domain_compare(b, "gt", loom_emit1(b, LOOM_OP_ABS, x), row->bound);
  case DOMAIN_INFINITE: return loom_emit1(b, LOOM_OP_IS_INF, x);
  case DOMAIN_LARGE: return domain_compare(b, "gt", x, far);
  case DOMAIN_FAR: return domain_compare(b, "gt", loom_emit1(b, LOOM_OP_ABS, x), far);
  }
  return LOOM_NO_VALUE;
}

/* A quotient: of no zero by zero; of two zeros or two infinities. */
static bool domain_of_quotient(loom_emitter *b, const loom_value *operands, uint32_t flag,
                               loom_value *where) {
  loom_value x = operands[0], y = operands[1], zero = domain_compare(b, "eq", y, 0);
  if (flag == LOOM_FP_OVERFLOW) return false;
  if (flag == LOOM_FP_DIVIDE) {
    *where = loom_emit2(b, LOOM_OP_AND, zero, domain_compare(b, "ne", x, 0));
    return true;
  }
  loom_value both = loom_emit2(b, LOOM_OP_AND, zero, domain_compare(b, "eq", x, 0));
  loom_value infinite = loom_emit2(b, LOOM_OP_AND, loom_emit1(b, LOOM_OP_IS_INF, x),
                                   loom_emit1(b, LOOM_OP_IS_INF, y));
  *where = loom_emit2(b, LOOM_OP_OR, both, infinite);
  return true;
}

bool domain_has_integers(loom_opcode op) {
  return op == LOOM_OP_FLOOR_DIV || op == LOOM_OP_REM || op == LOOM_OP_FMOD;
}

/* A division by zero; of the least integer by -1. */
static loom_value domain_of_integers(loom_emitter *b, const loom_value *operands, uint32_t flag) {
  loom_value x = operands[0], y = operands[1];
  loom_type type = *loom_emit_type(b, y);
  bool is_signed = loom_dtype_is_signed(type.dtype);
  if (flag == LOOM_FP_DIVIDE) return loom_emit_compare(b, "eq", y, loom_emit_int(b, &type, 0));
  if (flag != LOOM_FP_OVERFLOW || !is_signed) return LOOM_NO_VALUE;
  int64_t least = INT64_MIN >> (64 - 8 * loom_dtype_size(type.dtype));
  loom_value at = loom_emit_compare(b, "eq", x, loom_emit_int(b, &type, least));
  return loom_emit2(b, LOOM_OP_AND, at, loom_emit_compare(b, "eq", y, loom_emit_int(b, &type, -1)));
}

bool domain_raises(loom_emitter *b, loom_opcode op, const loom_value *operands, uint32_t flag,
                   loom_value *where) {
  if (loom_dtype_is_integer(loom_emit_type(b, operands[0])->dtype)) {
    *where = domain_of_integers(b, operands, flag);
    return true;
  }
  if (op == LOOM_OP_DIV) return domain_of_quotient(b, operands, flag, where);
  for (size_t i = 0; i < sizeof domain_rows / sizeof *domain_rows; i++) {
    const domain_row *row = &domain_rows[i];
    if (row->op != op || row->flag != flag) continue;
    *where = domain_of_one(b, row, operands[0]);
    return true;
  }
  return false;
}
