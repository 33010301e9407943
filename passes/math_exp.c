/* The exponential and what is made of it.
 *
 * x = k ln 2 + r with |r| <= ln 2 / 2; e^r - 1 = r + r^2 q(r). q is the polynomial that
 * interpolates (e^r - 1 - r) / r^2 at Chebyshev nodes, made with 60 digits; so are the others
 * below. The result is scaled by two powers of two, so that what overflows or is denormal comes out
 * right and raises what it must.
 */
#include "passes/math.h"

static const double exp_q32[] = {0.5, 0.16666576266288757, 0.041666556149721146,
                                 0.008363178931176662, 0.0013926184037700295};
static const double exp_q64[] = {0.5,
                                 0.16666666666666669,
                                 0.04166666666662413,
                                 0.008333333333330062,
                                 0.0013888888917213717,
                                 0.00019841269863053618,
                                 2.4801521295954376e-05,
                                 2.7557268459997064e-06,
                                 2.7620088445409746e-07,
                                 2.510038549551032e-08};

static double exp_magic(const math *m) { return m->f64 ? 6755399441055744.0 : 12582912.0; }

/* Rounds to a whole number: as a float, and as an integer (meaningless for NaN). */
static MlirValue exp_round(math *m, MlirValue shifted, MlirValue *whole) {
  MlirValue magic = math_const(m, exp_magic(m));
  *whole = lane_op2(m->b, "arith.subi", math_bits(m, shifted), math_bits(m, magic));
  return math_sub(m, shifted, magic);
}

/* Returns e^r - 1. */
static MlirValue exp_tail(math *m, MlirValue r) {
  return math_fma(m, math_mul(m, r, r), MATH_POLY(m, r, exp_q), r);
}

static MlirValue exp_reduce(math *m, MlirValue x, MlirValue *k) {
  MlirValue shifted =
      math_fma(m, x, math_const(m, 1.4426950408889634), math_const(m, exp_magic(m)));
  MlirValue n = math_neg(m, exp_round(m, shifted, k));
  double high = m->f64 ? 0.6931471805599453 : 0.6931471824645996;
  double low = m->f64 ? 2.3190468138462996e-17 : -1.9046542121259336e-09;
  MlirValue r = math_fma(m, n, math_const(m, high), x);
  return math_fma(m, n, math_const(m, low), r);
}

/* 2^k for a normal result. */
static MlirValue exp_power(math *m, MlirValue k) {
  MlirValue biased = math_iop(m, "arith.addi", k, m->f64 ? 1023 : 127);
  return math_from_bits(m, math_iop(m, "arith.shli", biased, m->f64 ? 52 : 23));
}

static MlirValue exp_scale(math *m, MlirValue y, MlirValue k) {
  MlirValue half = math_iop(m, "arith.shrsi", k, 1);
  MlirValue rest = lane_op2(m->b, "arith.subi", k, half);
  return math_mul(m, math_mul(m, y, exp_power(m, half)), exp_power(m, rest));
}

/* NaN passes. */
static MlirValue exp_clamp(math *m, MlirValue x, double low, double high) {
  x = math_pick(m, math_test(m, "ogt", x, high), math_const(m, high), x);
  return math_pick(m, math_test(m, "olt", x, low), math_const(m, low), x);
}

MlirValue math_exp(math *m, MlirValue x) {
  MlirValue k;
  x = exp_clamp(m, x, m->f64 ? -746 : -104, m->f64 ? 710 : 89);
  MlirValue r = exp_reduce(m, x, &k);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

MlirValue math_exp2(math *m, MlirValue x) {
  MlirValue k;
  x = exp_clamp(m, x, -1080, 1025);
  MlirValue n = exp_round(m, math_add(m, x, math_const(m, exp_magic(m))), &k);
  MlirValue r = math_scale(m, math_sub(m, x, n), 0.6931471805599453);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

/* 2^k (e^r - 1) + (2^k - 1), halved meanwhile so that 2^k stays finite. */
static MlirValue exp_minus_one(math *m, MlirValue x) {
  MlirValue k, r = exp_reduce(m, x, &k);
  MlirValue half = exp_power(m, math_iop(m, "arith.subi", k, 1));
  MlirValue sum = math_fma(m, half, exp_tail(m, r), math_sub(m, half, math_const(m, 0.5)));
  return math_add(m, sum, sum);
}

MlirValue math_expm1(math *m, MlirValue x) {
  MlirValue y = exp_clamp(m, x, m->f64 ? -40 : -20, m->f64 ? 710 : 89);
  return math_copysign(m, exp_minus_one(m, y), x);
}

/* t / (t + 2) with t = e^(2|x|) - 1. */
MlirValue math_tanh(math *m, MlirValue x) {
  MlirValue a = exp_clamp(m, math_abs(m, x), 0, m->f64 ? 20 : 10);
  MlirValue t = exp_minus_one(m, math_add(m, a, a));
  return math_copysign(m, math_div(m, t, math_add(m, t, math_const(m, 2))), x);
}

MlirValue math_sinh(math *m, MlirValue x) {
  MlirValue t = exp_minus_one(m, exp_clamp(m, math_abs(m, x), 0, 709));
  MlirValue sum = math_add(m, t, math_div(m, t, math_add(m, t, math_const(m, 1))));
  return math_copysign(m, math_scale(m, sum, 0.5), x);
}

MlirValue math_cosh(math *m, MlirValue x) {
  MlirValue e = math_exp(m, exp_clamp(m, math_abs(m, x), 0, 709));
  return math_scale(m, math_add(m, e, math_div(m, math_const(m, 1), e)), 0.5);
}

/* e = exp(-|x|) never overflows: 1 / (1 + e), or e / (1 + e) on the left. */
MlirValue math_logistic(math *m, MlirValue x) {
  MlirValue one = math_const(m, 1), e = math_exp(m, math_neg(m, math_abs(m, x)));
  MlirValue top = math_pick(m, math_test(m, "olt", x, 0), e, one);
  return math_div(m, top, math_add(m, one, e));
}

/* |x| <= 1: x p(x^2). Beyond: 1 - exp(-f(|x|)), f interpolating -log(erfc) up to 4, where the
 * result is 1. */
MlirValue math_erf(math *m, MlirValue x) {
  static const double near[] = {
      1.128379225730896,    -0.37612637877464294,   0.11283782124519348,    -0.026865430176258087,
      0.005221031606197357, -0.0008484080317430198, 0.00011265958892181516, -9.667044650996104e-06};
  static const double far[] = {
      -0.0003201380604878068, 1.1302334070205688,    0.6318260431289673,
      0.11008008569478989,    -0.026421135291457176, 0.004759596195071936,
      -0.0005968056502752006, 4.605804133461788e-05, -1.6371513993362896e-06};
  MlirValue a = exp_clamp(m, math_abs(m, x), 0, 4);
  MlirValue inner = math_mul(m, x, math_poly(m, math_mul(m, a, a), near, 8, near, 8));
  MlirValue e = math_exp(m, math_neg(m, math_poly(m, a, far, 9, far, 9)));
  MlirValue outer = math_copysign(m, math_sub(m, math_const(m, 1), e), x);
  return math_pick(m, math_test(m, "ogt", a, 1), outer, inner);
}
