/* Pointwise ATen ops. torch computes on halves in float32 and rounds once an op; so do these. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/index_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static bool pointwise_done(fx_call *c, loom_value v, loom_value *out) {
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

static loom_value pointwise_float(fx_call *c, const loom_type *like, double x) {
  return loom_emit_float(c->b, like, x);
}

/* Operand 0 as the dtype in which a float result is computed. */
static loom_value pointwise_operand(fx_call *c, loom_type *type) {
  *type = c->types[0];
  type->dtype = fx_compute_dtype(type->dtype);
  return fx_operand(c, 0, type->dtype, type);
}

/* ---- one operand ---- */

/* Integers become floats first, where the declared result is one. */
bool aten_unary(fx_call *c, loom_value *out) {
  loom_type type;
  if (c->op == LOOM_OP_ABS && fx_is_complex_operand(c, 0)) return fx_complex_abs(c, out);
  loom_value x = pointwise_operand(c, &type);
  bool exact = loom_dtype_is_inexact(type.dtype);
  if (!exact && (c->op == LOOM_OP_CEIL || c->op == LOOM_OP_FLOOR || c->op == LOOM_OP_TRUNC ||
                 c->op == LOOM_OP_ROUND_EVEN))
    return pointwise_done(c, x, out);
  if (type.dtype == LOOM_BOOL && c->op == LOOM_OP_ABS) return pointwise_done(c, x, out);
  return pointwise_done(c, loom_emit1(c->b, c->op, x), out);
}

bool aten_predicate(fx_call *c, loom_value *out) {
  loom_value x = fx_tensor(c, 0);
  return pointwise_done(c, loom_emit1(c->b, c->op, x), out);
}

bool aten_logical_not(fx_call *c, loom_value *out) {
  loom_value x = loom_emit_convert(c->b, fx_tensor(c, 0), LOOM_BOOL);
  return pointwise_done(c, loom_emit1(c->b, LOOM_OP_NOT, x), out);
}

bool aten_sign(fx_call *c, loom_value *out) {
  loom_value x = fx_tensor(c, 0);
  if (c->types[0].dtype == LOOM_BOOL) return pointwise_done(c, x, out);
  if (!loom_dtype_is_float(c->types[0].dtype))
    return pointwise_done(c, loom_emit1(c->b, LOOM_OP_SIGN, x), out);
  loom_value zero = pointwise_float(c, &c->types[0], 0); /* torch: the sign of NaN is 0 */
  loom_value nan = loom_emit1(c->b, LOOM_OP_IS_NAN, x);
  loom_value sign = loom_emit1(c->b, LOOM_OP_SIGN, x);
  return pointwise_done(c, loom_emit_select(c->b, nan, zero, sign), out);
}

bool aten_reciprocal(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value x = pointwise_operand(c, &type);
  loom_value one = pointwise_float(c, &type, 1);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_DIV, one, x), out);
}

bool aten_relu(fx_call *c, loom_value *out) {
  loom_value x = fx_tensor(c, 0);
  loom_value zero = loom_emit_int(c->b, &c->types[0], 0);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_MAX, x, zero), out);
}

bool aten_gelu(fx_call *c, loom_value *out) {
  loom_type type;
  loom_emitter *b = c->b;
  loom_value x = pointwise_operand(c, &type), inner;
  loom_value half = loom_emit2(b, LOOM_OP_MUL, x, pointwise_float(c, &type, 0.5));
  loom_value one = pointwise_float(c, &type, 1);
  if (!strcmp(fx_text(c, 1), "tanh")) {
    loom_value cube = loom_emit2(b, LOOM_OP_MUL, loom_emit2(b, LOOM_OP_MUL, x, x), x);
    cube = loom_emit2(b, LOOM_OP_MUL, cube, pointwise_float(c, &type, 0.044715));
    inner = loom_emit2(b, LOOM_OP_MUL, loom_emit2(b, LOOM_OP_ADD, x, cube),
                       pointwise_float(c, &type, 0.7978845608028654));
    inner = loom_emit1(b, LOOM_OP_TANH, inner);
  } else {
    inner = loom_emit2(b, LOOM_OP_MUL, x, pointwise_float(c, &type, 0.7071067811865476));
    inner = loom_emit1(b, LOOM_OP_ERF, inner);
  }
  loom_value sum = loom_emit2(b, LOOM_OP_ADD, inner, one);
  return pointwise_done(c, loom_emit2(b, LOOM_OP_MUL, half, sum), out);
}

bool aten_silu(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value x = pointwise_operand(c, &type);
  loom_value s = loom_emit1(c->b, LOOM_OP_LOGISTIC, x);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_MUL, x, s), out);
}

bool aten_leaky_relu(fx_call *c, loom_value *out) {
  loom_type type;
  double slope;
  loom_value x = pointwise_operand(c, &type);
  if (!fx_double(c, 1, &slope)) return false;
  loom_value positive = loom_emit_compare(c->b, "gt", x, pointwise_float(c, &type, 0));
  loom_value scaled = loom_emit2(c->b, LOOM_OP_MUL, x, pointwise_float(c, &type, slope));
  return pointwise_done(c, loom_emit_select(c->b, positive, x, scaled), out);
}

bool aten_elu(fx_call *c, loom_value *out) {
  loom_type type;
  double alpha, scale, input_scale;
  loom_emitter *b = c->b;
  loom_value x = pointwise_operand(c, &type);
  if (!fx_double(c, 1, &alpha) || !fx_double(c, 2, &scale) || !fx_double(c, 3, &input_scale))
    return false;
  loom_value positive = loom_emit_compare(b, "gt", x, pointwise_float(c, &type, 0));
  loom_value grown = loom_emit2(b, LOOM_OP_MUL, x, pointwise_float(c, &type, input_scale));
  grown = loom_emit1(b, LOOM_OP_EXPM1, grown);
  grown = loom_emit2(b, LOOM_OP_MUL, grown, pointwise_float(c, &type, alpha * scale));
  loom_value linear = loom_emit2(b, LOOM_OP_MUL, x, pointwise_float(c, &type, scale));
  return pointwise_done(c, loom_emit_select(b, positive, linear, grown), out);
}

/* round.decimals(self, decimals): scaled as torch does it. */
bool aten_round_decimals(fx_call *c, loom_value *out) {
  loom_type type;
  int64_t decimals;
  loom_emitter *b = c->b;
  loom_value x = pointwise_operand(c, &type);
  if (!fx_int(c, 1, &decimals)) return false;
  if (!loom_dtype_is_float(type.dtype)) return fx_decline(c, "integers rounded to decimals");
  if (decimals == 0) return pointwise_done(c, loom_emit1(b, LOOM_OP_ROUND_EVEN, x), out);
  double power = 1;
  for (int64_t i = 0; i < llabs(decimals) && i < 400; i++)
    power *= 10;
  loom_value scale = pointwise_float(c, &type, power);
  x = loom_emit2(b, decimals < 0 ? LOOM_OP_DIV : LOOM_OP_MUL, x, scale);
  x = loom_emit1(b, LOOM_OP_ROUND_EVEN, x);
  return pointwise_done(c, loom_emit2(b, decimals < 0 ? LOOM_OP_MUL : LOOM_OP_DIV, x, scale), out);
}

/* angle of a real number: 0, pi where it is negative, NaN where it is one. */
bool aten_angle(fx_call *c, loom_value *out) {
  loom_type type;
  loom_emitter *b = c->b;
  if (fx_is_complex_operand(c, 0)) return fx_complex_angle(c, out);
  loom_value x = pointwise_operand(c, &type);
  loom_value zero = pointwise_float(c, &type, 0);
  loom_value negative = loom_emit_compare(b, "lt", x, zero);
  loom_value v = loom_emit_select(b, negative, pointwise_float(c, &type, 3.141592653589793), zero);
  return pointwise_done(c, loom_emit_select(b, loom_emit1(b, LOOM_OP_IS_NAN, x), x, v), out);
}

/* frexp: x = mantissa * 2 ** exponent with 0.5 <= |mantissa| < 1, by the bits of x; what is 0 or
 * not finite stays, with exponent 0. */
bool aten_frexp(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_type bits = type;
  bool wide = type.dtype == LOOM_F64;
  bits.dtype = wide ? LOOM_I64 : LOOM_I32;
  int shift = wide ? 52 : 23, bias = wide ? 1022 : 126;
  int64_t field = wide ? 0x7FF : 0xFF;
  loom_value x = fx_tensor_as(c, 0, type.dtype), zero = pointwise_float(c, &type, 0);
  loom_value size = loom_emit1(b, LOOM_OP_ABS, x);
  loom_value tiny = loom_emit_compare(b, "lt", size, /* subnormal: scaled to be normal */
                                      pointwise_float(c, &type, wide ? 0x1p-1022 : 0x1p-126));
  loom_value scaled = loom_emit2(b, LOOM_OP_MUL, x, pointwise_float(c, &type, ldexp(1, shift)));
  loom_value from = loom_emit_select(b, tiny, scaled, x);
  loom_value word = loom_emit(b, LOOM_OP_BITCAST, &from, 1, NULL, 0, &bits, 1);
  loom_value power = loom_emit2(b, LOOM_OP_SHR, word, loom_emit_int(b, &bits, shift));
  power = loom_emit2(b, LOOM_OP_AND, power, loom_emit_int(b, &bits, field));
  loom_value less = loom_emit_select(b, tiny, loom_emit_int(b, &bits, bias + shift),
                                     loom_emit_int(b, &bits, bias));
  loom_value half = loom_emit2(b, LOOM_OP_AND, word, loom_emit_int(b, &bits, ~(field << shift)));
  half = loom_emit2(b, LOOM_OP_OR, half, loom_emit_int(b, &bits, (int64_t)bias << shift));
  half = loom_emit(b, LOOM_OP_BITCAST, &half, 1, NULL, 0, &type, 1);
  loom_value plain = loom_emit2(b, LOOM_OP_AND, loom_emit1(b, LOOM_OP_IS_FINITE, x),
                                loom_emit_compare(b, "ne", x, zero));
  loom_value exponent = loom_emit_select(b, plain, loom_emit2(b, LOOM_OP_SUB, power, less),
                                         loom_emit_int(b, &bits, 0));
  out[1] = loom_emit_convert(b, exponent, c->types[1].dtype);
  return pointwise_done(c, loom_emit_select(b, plain, half, x), out);
}

/* ---- two operands ---------------------------------------------------------------------------- */

/* Is it a number or a tensor without axes on the right of a product or a quotient? Torch computes
 * with it as float32. */
static bool pointwise_is_scale(fx_call *c, int i) {
  if (i != 1 || (c->op != LOOM_OP_MUL && c->op != LOOM_OP_DIV)) return false;
  return !fx_is_tensor(c, 1) || !loom_emit_type(c->b, fx_tensor(c, 1))->rank;
}

/* An operand of another dtype than `to`, halves: torch rounds it to that first. */
static loom_value pointwise_operand_as(fx_call *c, int i, loom_dtype to, const loom_type *type) {
  loom_value v = fx_operand(c, i, type->dtype, type);
  if (to == type->dtype) return v;
  const loom_type *own = fx_is_tensor(c, i) ? loom_emit_type(c->b, fx_tensor(c, i)) : NULL;
  if (pointwise_is_scale(c, i) || (own && own->dtype == to)) return v;
  return loom_emit_convert(c->b, loom_emit_convert(c->b, v, to), type->dtype);
}

/* Both operands in the dtype of torch's promotion, halves as float32. */
static bool pointwise_pair(fx_call *c, loom_type *type, loom_value *l, loom_value *r) {
  *type = c->types[0];
  if (!fx_promote(c, (int[]){0, 1}, 2, &type->dtype)) return false;
  loom_dtype to = type->dtype;
  type->dtype = fx_compute_dtype(to);
  *l = pointwise_operand_as(c, 0, to, type);
  *r = pointwise_operand_as(c, 1, to, type);
  return true;
}

bool aten_binary(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  if (!pointwise_pair(c, &type, &l, &r)) return false;
  return pointwise_done(c, loom_emit2(c->b, c->op, l, r), out);
}

/* add and sub: alpha is argument 2; rsub swaps. */
static bool pointwise_scaled(fx_call *c, bool swap, loom_value *out) {
  loom_type type;
  loom_value l, r;
  if (!pointwise_pair(c, &type, &l, &r)) return false;
  loom_value scale = fx_operand(c, 2, type.dtype, &type);
  bool one = PyLong_Check(c->args[2]) && PyLong_AsLong(c->args[2]) == 1;
  if (!one && swap) l = loom_emit2(c->b, LOOM_OP_MUL, l, scale);
  if (!one && !swap) r = loom_emit2(c->b, LOOM_OP_MUL, r, scale);
  return pointwise_done(c, swap ? loom_emit2(c->b, c->op, r, l) : loom_emit2(c->b, c->op, l, r),
                        out);
}

bool aten_scaled(fx_call *c, loom_value *out) { return pointwise_scaled(c, false, out); }
bool aten_rsub(fx_call *c, loom_value *out) { return pointwise_scaled(c, true, out); }

/* Halves are compared as they were rounded: whether `x == x.amax()` has to be as in eager torch. */
bool aten_compare(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  c->rounded = true;
  if (!pointwise_pair(c, &type, &l, &r)) return false;
  return pointwise_done(c, loom_emit_compare(c->b, c->text, l, r), out);
}

bool aten_logical(fx_call *c, loom_value *out) {
  loom_value l = fx_operand(c, 0, LOOM_BOOL, &c->types[0]);
  loom_value r = fx_operand(c, 1, LOOM_BOOL, &c->types[0]);
  return pointwise_done(c, loom_emit2(c->b, c->op, l, r), out);
}

/* Ops whose result is a float also for integers: div, atan2. */
bool aten_binary_float(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value l = pointwise_operand_as(c, 0, c->types[0].dtype, &type);
  loom_value r = pointwise_operand_as(c, 1, c->types[0].dtype, &type);
  return pointwise_done(c, loom_emit2(c->b, c->op, l, r), out);
}

/* Is a number 0 as an integer of this dtype? Torch drops the bits that do not fit. */
static bool pointwise_is_zero_as(PyObject *number, loom_dtype dtype) {
  int64_t bits = (int64_t)PyLong_AsUnsignedLongLongMask(number);
  size_t size = loom_dtype_size(dtype);
  if (dtype != LOOM_BOOL && size < sizeof bits) bits &= (INT64_C(1) << (8 * size)) - 1;
  return bits == 0;
}

/* An integer division by zero raises in torch. */
static bool pointwise_divides(fx_call *c, const loom_type *type) {
  if (loom_dtype_is_float(type->dtype)) return true;
  if (fx_is_tensor(c, 1)) {
    loom_value by = fx_tensor(c, 1);
    if (by == LOOM_NO_VALUE) return false;
    by = loom_emit_convert(c->b, by, type->dtype);
    loom_type own = *loom_emit_type(c->b, by);
    return refusals_check_all(c, loom_emit_compare(c->b, "ne", by, loom_emit_int(c->b, &own, 0)));
  }
  if (!PyLong_Check(c->args[1]) || pointwise_is_zero_as(c->args[1], type->dtype))
    return error_drop(), fx_decline(c, "an integer division that may raise");
  return true;
}

bool aten_remainder(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  if (!pointwise_pair(c, &type, &l, &r) || !pointwise_divides(c, &type)) return false;
  loom_value rest = loom_emit2(c->b, c->op, l, r);
  if (c->op == LOOM_OP_REM && loom_dtype_is_float(type.dtype)) {
    /* No remainder has the dividend's sign, in NumPy the divisor's. */
    loom_value none = loom_emit_compare(c->b, "eq", rest, loom_emit_int(c->b, &type, 0));
    rest = loom_emit_select(c->b, none, loom_emit2(c->b, LOOM_OP_COPYSIGN, rest, l), rest);
  }
  return pointwise_done(c, rest, out);
}

bool aten_div_mode(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  const char *mode = fx_text(c, 2);
  if (!*mode) return aten_binary_float(c, out);
  if (!pointwise_pair(c, &type, &l, &r) || !pointwise_divides(c, &type)) return false;
  if (!strcmp(mode, "floor"))
    return pointwise_done(c, loom_emit2(c->b, LOOM_OP_FLOOR_DIV, l, r), out);
  if (loom_dtype_is_float(type.dtype)) {
    loom_value q = loom_emit2(c->b, LOOM_OP_DIV, l, r);
    if (c->types[0].dtype != type.dtype && !pointwise_is_scale(c, 1))
      q = loom_emit_convert(c->b, loom_emit_convert(c->b, q, c->types[0].dtype), type.dtype);
    return pointwise_done(c, loom_emit1(c->b, LOOM_OP_TRUNC, q), out);
  }
  /* Truncated: what is left after the remainder with the dividend's sign divides exactly. */
  loom_value rest = loom_emit2(c->b, LOOM_OP_FMOD, l, r);
  loom_value whole = loom_emit2(c->b, LOOM_OP_SUB, l, rest);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_FLOOR_DIV, whole, r), out);
}

/* x to a known power, as torch special-cases it; LOOM_NO_VALUE: no special case. */
static loom_value pointwise_power(fx_call *c, loom_value x, const loom_type *type, double power) {
  loom_emitter *b = c->b;
  loom_value square = loom_emit2(b, LOOM_OP_MUL, x, x);
  loom_value one = loom_emit_int(b, type, 1);
  bool real = loom_dtype_is_float(type->dtype);
  if (power == 0) return one;
  if (power == 1) return x;
  if (power == 2) return square;
  if (power == 3) return loom_emit2(b, LOOM_OP_MUL, square, x);
  if (real && power == 0.5) return loom_emit1(b, LOOM_OP_SQRT, x);
  if (real && power == -0.5) return loom_emit1(b, LOOM_OP_RSQRT, x);
  if (real && power == -1) return loom_emit2(b, LOOM_OP_DIV, one, x);
  if (real && power == -2) return loom_emit2(b, LOOM_OP_DIV, one, square);
  return LOOM_NO_VALUE;
}

bool aten_pow(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  if (!pointwise_pair(c, &type, &l, &r)) return false;
  bool known = !fx_is_tensor(c, 1);
  double power = 0;
  if (known && !fx_double(c, 1, &power)) return false;
  if (!loom_dtype_is_float(type.dtype) && (!known || power < 0 || type.dtype == LOOM_BOOL))
    return fx_decline(c, "an integer power that may be negative");
  loom_value v = known ? pointwise_power(c, l, &type, power) : LOOM_NO_VALUE;
  if (v == LOOM_NO_VALUE) v = loom_emit2(c->b, LOOM_OP_POW, l, r);
  return pointwise_done(c, v, out);
}

/* nextafter: in the operands' own dtype. */
bool aten_nextafter(fx_call *c, loom_value *out) {
  const loom_type type = c->types[0];
  if (fx_compute_dtype(type.dtype) != type.dtype) return fx_decline(c, "the next half");
  loom_value l = fx_operand(c, 0, type.dtype, &type), r = fx_operand(c, 1, type.dtype, &type);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_NEXTAFTER, l, r), out);
}

/* bitwise_left_shift, bitwise_right_shift. */
bool aten_shift(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value l, r;
  if (!pointwise_pair(c, &type, &l, &r)) return false;
  if (!loom_dtype_is_integer(type.dtype)) return fx_decline(c, "a shift of other than integers");
  return pointwise_done(c, loom_emit2(c->b, c->op, l, r), out);
}

/* ---- more operands --------------------------------------------------------------------------- */

bool aten_where(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  if (loom_emit_type(c->b, fx_tensor(c, 0))->dtype != LOOM_BOOL)
    return fx_decline(c, "a condition that is not bool");
  loom_value condition = fx_operand(c, 0, LOOM_BOOL, &type);
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value l = fx_operand(c, 1, type.dtype, &type), r = fx_operand(c, 2, type.dtype, &type);
  return pointwise_done(c, loom_emit_select(c->b, condition, l, r), out);
}

bool aten_masked_fill(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value x = pointwise_operand(c, &type);
  loom_value mask = fx_operand(c, 1, LOOM_BOOL, &type);
  loom_value value = fx_operand(c, 2, type.dtype, &type);
  return pointwise_done(c, loom_emit_select(c->b, mask, value, x), out);
}

/* a * b + c, rounded twice. */
bool aten_fma(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value l = fx_operand(c, 0, type.dtype, &type), r = fx_operand(c, 1, type.dtype, &type);
  loom_value product = loom_emit2(c->b, LOOM_OP_MUL, l, r);
  loom_value sum = loom_emit2(c->b, c->op, product, fx_operand(c, 2, type.dtype, &type));
  return pointwise_done(c, sum, out);
}

/* self + value * tensor1 * tensor2, or with a division. */
bool aten_addcmul(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value x = pointwise_operand_as(c, 0, c->types[0].dtype, &type);
  loom_value l = pointwise_operand_as(c, 1, c->types[0].dtype, &type);
  loom_value r = pointwise_operand_as(c, 2, c->types[0].dtype, &type);
  if (c->op == LOOM_OP_DIV && !loom_dtype_is_float(type.dtype))
    return fx_decline(c, "a division of integers");
  bool one = PyLong_Check(c->args[3]) && PyLong_AsLong(c->args[3]) == 1;
  if (!one) l = loom_emit2(c->b, LOOM_OP_MUL, fx_operand(c, 3, type.dtype, &type), l);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_ADD, x, loom_emit2(c->b, c->op, l, r)), out);
}

/* start + weight * (end - start); from the other end for weights of a half and more, as in torch.
 */
bool aten_lerp(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  loom_emitter *b = c->b;
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value start = fx_operand(c, 0, type.dtype, &type), end = fx_operand(c, 1, type.dtype, &type);
  loom_value weight = fx_operand(c, 2, type.dtype, &type);
  loom_value way = loom_emit2(b, LOOM_OP_SUB, end, start);
  loom_value rest = loom_emit2(b, LOOM_OP_SUB, pointwise_float(c, &type, 1), weight);
  loom_value near = loom_emit2(b, LOOM_OP_ADD, start, loom_emit2(b, LOOM_OP_MUL, weight, way));
  loom_value far = loom_emit2(b, LOOM_OP_SUB, end, loom_emit2(b, LOOM_OP_MUL, way, rest));
  double known;
  if (PyFloat_Check(c->args[2]) && fx_double(c, 2, &known))
    return pointwise_done(c, fabs(known) < 0.5 ? near : far, out);
  loom_value size = loom_emit1(b, LOOM_OP_ABS, weight);
  loom_value small = loom_emit_compare(b, "lt", size, pointwise_float(c, &type, 0.5));
  return pointwise_done(c, loom_emit_select(b, small, near, far), out);
}

/* clamp, clamp_min, clamp_max, hardtanh: bounds at arguments 1 and 2 (`text` "max": only an upper).
 */
bool aten_clamp(fx_call *c, loom_value *out) {
  loom_type type;
  loom_value x = pointwise_operand(c, &type);
  int low = strcmp(c->text, "max") ? 1 : -1, high = low < 0 ? 1 : strcmp(c->text, "min") ? 2 : -1;
  if (low > 0 && fx_has(c, low))
    x = loom_emit2(c->b, LOOM_OP_MAX, x, fx_operand(c, low, type.dtype, &type));
  if (high > 0 && fx_has(c, high))
    x = loom_emit2(c->b, LOOM_OP_MIN, x, fx_operand(c, high, type.dtype, &type));
  return pointwise_done(c, x, out);
}

/* ---- conversions and copies ------------------------------------------------------------------ */

bool aten_to_copy(fx_call *c, loom_value *out) {
  loom_dtype from = loom_emit_type(c->b, fx_tensor(c, 0))->dtype;
  loom_dtype to = c->types[0].dtype;
  if (loom_dtype_is_complex(from) && !loom_dtype_is_complex(to) && to != LOOM_BOOL)
    return fx_complex_to_real(c, out);
  out[0] = loom_emit_convert(c->b, fx_tensor(c, 0), c->types[0].dtype);
  return true;
}

/* The same elements: in a dialect of values a copy is its operand. */
bool aten_same(fx_call *c, loom_value *out) {
  out[0] = fx_tensor(c, 0);
  return true;
}

/* copy: argument 1 as the dtype and shape of argument 0. */
bool aten_copy(fx_call *c, loom_value *out) {
  out[0] = fx_operand(c, 1, c->types[0].dtype, &c->types[0]);
  return true;
}

/* The number at argument 0 or 1 (`text`), in the declared shape. */
bool aten_full(fx_call *c, loom_value *out) {
  int at = *c->text ? *c->text - '0' : -1;
  out[0] = at < 0 ? loom_emit_int(c->b, &c->types[0], 0)
                  : fx_operand(c, at, c->types[0].dtype, &c->types[0]);
  return true;
}

bool aten_ones(fx_call *c, loom_value *out) {
  out[0] = loom_emit_int(c->b, &c->types[0], 1);
  return true;
}

/* arange.start_step: start, end, step. */
bool aten_arange(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  loom_value start = fx_operand(c, 0, type.dtype, &type);
  loom_value step = fx_operand(c, 2, type.dtype, &type);
  loom_type wide = type;
  if (loom_dtype_is_float(type.dtype)) { /* torch computes float ranges in float64 */
    wide.dtype = LOOM_F64;
    start = fx_operand(c, 0, LOOM_F64, &wide);
    step = fx_operand(c, 2, LOOM_F64, &wide);
  }
  loom_value scaled = loom_emit2(c->b, LOOM_OP_MUL, loom_emit_iota(c->b, &wide, 0), step);
  return pointwise_done(c, loom_emit2(c->b, LOOM_OP_ADD, start, scaled), out);
}
