/* Powers whose exponent is a constant, whole and small: products instead of logarithms.
 *
 * For f32 they are made in f64, where nothing overflows: only the last step rounds to f32. For f64
 * a power is a sum of two numbers, of which the smaller one holds what products lose, so that the
 * result is off by little more than half an ulp. Lanes whose power, or whose error, may overflow or
 * be denormal take the function that all other powers take (math_pow.c). */
#include "passes/math.h"

#include <math.h>
#include <stdlib.h>

#define WHOLE_MOST 8 /* exponents from 3 to this, and these below 0 */

int math_whole_exponent(MlirValue y) {
  MlirAttribute known = lane_constant_of(y);
  if (!known.ptr || !mlirAttributeIsAFloat(known)) return 0;
  double exponent = mlirFloatAttrGetValueDouble(known);
  if (!(fabs(exponent) <= WHOLE_MOST) || fabs(exponent) < 3) return 0;
  return exponent == (int)exponent ? (int)exponent : 0;
}

typedef struct whole_pair {
  MlirValue high, low; /* low NULL: 0 */
} whole_pair;

static whole_pair whole_product(math *m, whole_pair x, whole_pair y) {
  whole_pair out = {math_mul(m, x.high, y.high), {NULL}};
  out.low = math_fma(m, x.high, y.high, math_neg(m, out.high));
  if (x.low.ptr) out.low = math_fma(m, x.low, y.high, out.low);
  if (y.low.ptr) out.low = math_fma(m, x.high, y.low, out.low);
  return out;
}

/* x^n for n of at least 1, by squares. */
static whole_pair whole_pair_power(math *m, MlirValue x, int n) {
  whole_pair square = {x, {NULL}}, out = {{NULL}, {NULL}};
  for (; n; n >>= 1) {
    if (n & 1) out = out.high.ptr ? whole_product(m, square, out) : square;
    if (n > 1) square = whole_product(m, square, square);
  }
  return out;
}

static MlirValue whole_power(math *m, MlirValue x, int n) {
  MlirValue square = x, out = {NULL};
  for (; n; n >>= 1) {
    if (n & 1) out = out.ptr ? math_mul(m, square, out) : square;
    if (n > 1) square = math_mul(m, square, square);
  }
  return out;
}

/* 1 / (high + low) */
static MlirValue whole_inverse(math *m, whole_pair p) {
  MlirValue one = math_const(m, 1), q = math_div(m, one, p.high), back = math_neg(m, q);
  MlirValue rest = math_fma(m, back, p.low, math_fma(m, back, p.high, one));
  return math_fma(m, q, rest, q);
}

/* In lanes of `odd` it is some number. A sum with an error of 0 would make -0 a 0. */
static MlirValue whole_in_range(math *m, MlirValue x, int n, MlirValue *odd) {
  int limit = 900 / abs(n);
  MlirValue size = math_iop(m, "arith.andi", math_bits(m, x), INT64_MAX);
  MlirValue least = math_int(m, (int64_t)(1023 - limit) << 52);
  MlirValue offset = lane_op2(m->b, "arith.subi", size, least);
  *odd = lane_cmpi(m->b, "uge", offset, math_int(m, (int64_t)(2 * limit) << 52));
  if (n > 0) *odd = lane_op2(m->b, "arith.andi", *odd, lane_cmpi(m->b, "ne", size, math_int(m, 0)));
  x = math_pick(m, *odd, math_const(m, 1), x);
  whole_pair p = whole_pair_power(m, x, abs(n));
  if (n < 0) return whole_inverse(m, p);
  return math_pick(m, math_test(m, "une", p.low, 0), math_add(m, p.high, p.low), p.high);
}

MlirValue math_whole(math *m, MlirValue x, MlirValue y, int n) {
  if (m->f64 && !m->narrow) {
    MlirValue odd, power = whole_in_range(m, x, n, &odd);
    return math_pow_where(m, odd, power, x, y);
  }
  MlirType f64 = lane_like(m->type, mlirF64TypeGet(m->b->ctx));
  MlirValue x64 = m->narrow ? x : loom_build1(m->b, "arith.extf", x, f64);
  math wide = math_of(m->l, m->b, x64);
  MlirValue power = whole_power(&wide, x64, abs(n));
  if (n < 0) power = math_div(&wide, math_const(&wide, 1), power);
  return m->narrow ? power : loom_build1(m->b, "arith.truncf", power, m->type);
}
