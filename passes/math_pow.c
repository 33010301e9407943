/* Powers: e^(y log x), the logarithm in two parts so that a large exponent leaves it right.
 *
 * As in math_log.c, s = f / (2 + f), z = s^2, log(1 + f) = s (2 + z (2/3 + z R(z))); the quotient,
 * the square, 2/3 and the sums around it are pairs of numbers, R alone is not: it is under 2% of
 * its sum, and that sum under 1% of the 2. The relative error is about 2^-64, so that the exponent,
 * at most 745, is right to 2^-54. Needs f64.
 */
#include "passes/math.h"

#include <math.h>

static const double pow_r[] = {0.4,
                               0.2857142857142938,
                               0.2222222222164818,
                               0.181818183370346,
                               0.1538459479629481,
                               0.13334813317048047,
                               0.11706014884419476,
                               0.11725409493632094};

typedef struct pair {
  MlirValue high, low;
} pair;

/* x + y for |x| >= |y|. */
static pair pow_sum(math *m, MlirValue x, MlirValue y) {
  pair out = {math_add(m, x, y), {NULL}};
  out.low = math_sub(m, y, math_sub(m, out.high, x));
  return out;
}

static pair pow_product(math *m, pair x, pair y) {
  pair out = {math_mul(m, x.high, y.high), {NULL}};
  MlirValue error = math_fma(m, x.high, y.high, math_neg(m, out.high));
  out.low = math_fma(m, x.low, y.high, math_fma(m, x.high, y.low, error));
  return out;
}

/* f / (2 + f) */
static pair pow_ratio(math *m, MlirValue f) {
  MlirValue two = math_const(m, 2), inverse;
  pair d = pow_sum(m, two, f), out;
  inverse = math_div(m, math_const(m, 1), d.high);
  out.high = math_mul(m, f, inverse);
  MlirValue back = math_neg(m, out.high);
  MlirValue rest = math_fma(m, back, d.low, math_fma(m, back, d.high, f));
  out.low = math_mul(m, rest, inverse);
  return out;
}

/* For x positive and finite. */
static pair pow_log(math *m, MlirValue x) {
  MlirValue k, f = math_log_split(m, x, &k);
  pair s = pow_ratio(m, f), z = pow_product(m, s, s);
  MlirValue r = math_mul(m, z.high, math_poly(m, z.high, pow_r, 8, pow_r, 8));
  pair inner = pow_sum(m, math_const(m, 0.6666666666666666), r);
  inner.low = math_add(m, inner.low, math_const(m, 3.700743415417188e-17));
  pair product = pow_product(m, z, inner);
  pair outer = pow_sum(m, math_const(m, 2), product.high);
  outer.low = math_add(m, outer.low, product.low);
  pair part = pow_product(m, s, outer);
  pair sum = pow_sum(m, math_scale(m, k, 0.6931471805598903), part.high);
  MlirValue low = math_fma(m, k, math_const(m, 5.497923018708371e-14), part.low);
  return pow_sum(m, sum.high, math_add(m, sum.low, low));
}

/* |x|^y but for the ends. Beyond 2^70 an exponent gives 0, 1 or infinity, as 2^70 does. */
static MlirValue pow_finite(math *m, MlirValue x, MlirValue y) {
  if (m->narrow) return math_exp(m, math_mul(m, math_log_finite(m, x), y));
  pair log = pow_log(m, x);
  double most = 1180591620717411303424.0;
  y = math_pick(m, math_test(m, "ogt", y, most), math_const(m, most), y);
  y = math_pick(m, math_test(m, "olt", y, -most), math_const(m, -most), y);
  pair exponent = {y, math_const(m, 0)};
  exponent = pow_product(m, log, exponent);
  return math_exp_sum(m, exponent.high, exponent.low);
}

static MlirValue pow_and(math *m, MlirValue x, MlirValue y) {
  return lane_op2(m->b, "arith.andi", x, y);
}

/* The cases of C's pow around the function of |x|. For f32 it is made in f64. */
MlirValue math_pow(math *m, MlirValue x, MlirValue y) {
  loom_builder *b = m->b;
  MlirValue a = math_abs(m, x), one = math_const(m, 1), zero = math_const(m, 0);
  MlirValue none = math_test(m, "oeq", a, 0), endless = math_test(m, "oeq", a, INFINITY);
  MlirValue plain = pow_and(m, math_test(m, "ogt", a, 0), math_test(m, "olt", a, INFINITY));
  MlirValue unit = lane_op2(b, "arith.ori", math_test(m, "oeq", a, 1), math_test(m, "oeq", y, 0));
  MlirValue usable = lane_cmpf(b, "ord", y, y);
  MlirValue p = pow_finite(m, math_pick(m, plain, a, one), math_pick(m, usable, y, one));
  p = math_pick(m, unit, one, p);
  MlirValue down = math_test(m, "olt", y, 0), infinity = math_const(m, INFINITY);
  p = math_pick(m, none, math_pick(m, down, infinity, zero), p);
  p = math_pick(m, endless, math_pick(m, down, zero, infinity), p);
  MlirValue trunc = lane_op1(b, "llvm.intr.trunc", y), half = math_scale(m, y, 0.5);
  MlirValue whole = lane_cmpf(b, "oeq", trunc, y);
  MlirValue odd = lane_cmpf(b, "une", half, lane_op1(b, "llvm.intr.trunc", half));
  MlirValue negative = lane_cmpi(b, "slt", math_bits(m, x), math_int(m, 0));
  p = math_pick(m, pow_and(m, pow_and(m, odd, whole), negative), math_neg(m, p), p);
  MlirValue number = pow_and(m, usable, lane_cmpf(b, "une", trunc, y));
  MlirValue bad = pow_and(m, pow_and(m, plain, negative), number);
  math_flag(m, bad, LOOM_FP_INVALID);
  math_flag(m, pow_and(m, none, down), LOOM_FP_DIVIDE);
  p = math_pick(m, bad, math_const(m, NAN), p);
  /* A NaN gives NaN, but for 1 and for the exponent 0. */
  p = math_pick(m, lane_cmpf(b, "uno", x, y), math_add(m, x, y), p);
  p = math_pick(m, math_test(m, "oeq", x, 1), one, p);
  return math_pick(m, math_test(m, "oeq", y, 0), one, p);
}
