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

static const double sinh_s32[] = {0.1666666716337204, 0.008333339355885983, 0.00019838099251501262,
                                  2.806300699376152e-06};
static const double sinh_s64[] = {
    0.16666666666666666,   0.008333333333333299,   0.0001984126984132424, 2.7557319191363643e-06,
    2.505211769941287e-08, 1.6057679312223042e-10, 7.746188979486805e-13};
/* The exponent of a power of two: an integer, and the same as a float. Both are meaningless for
 * NaN. */
typedef struct exp_power_of {
  MlirValue whole, real;
} exp_power_of;

static double exp_magic(const math *m) { return m->f64 ? 6755399441055744.0 : 12582912.0; }

/* The whole number that is left of a sum with the magic number. */
static exp_power_of exp_round(math *m, MlirValue shifted) {
  MlirValue magic = math_const(m, exp_magic(m));
  MlirValue whole = lane_op2(m->b, "arith.subi", math_bits(m, shifted), math_bits(m, magic));
  return (exp_power_of){whole, math_sub(m, shifted, magic)};
}

/* Returns e^r - 1. */
static MlirValue exp_tail(math *m, MlirValue r) {
  return math_fma(m, math_mul(m, r, r), MATH_POLY(m, r, exp_q), r);
}

/* k is that of `clamped`, which x exceeds where the result overflows: so an infinity stays one, and
 * is no overflow. */
static MlirValue exp_reduce(math *m, MlirValue x, MlirValue clamped, exp_power_of *k) {
  MlirValue shifted =
      math_fma(m, clamped, math_const(m, 1.4426950408889634), math_const(m, exp_magic(m)));
  *k = exp_round(m, shifted);
  MlirValue n = math_neg(m, k->real);
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

static MlirValue exp_scale(math *m, MlirValue y, const exp_power_of *k) {
  if (math_scales(m)) return math_scale_by_power(m, y, k->real);
  MlirValue half = math_iop(m, "arith.shrsi", k->whole, 1);
  MlirValue rest = lane_op2(m->b, "arith.subi", k->whole, half);
  return math_mul(m, math_mul(m, y, exp_power(m, half)), exp_power(m, rest));
}

MlirValue math_exp(math *m, MlirValue x) {
  exp_power_of k;
  x = math_at_least(m, x, m->f64 ? -746 : -104);
  MlirValue r = exp_reduce(m, x, math_at_most(m, x, m->f64 ? 710 : 89), &k);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), &k);
}

MlirValue math_exp_sum(math *m, MlirValue high, MlirValue low) {
  exp_power_of k;
  MlirValue zero = math_const(m, 0), x = math_at_least(m, high, -746);
  MlirValue clamped = math_at_most(m, x, 710);
  low = math_pick(m, lane_cmpf(m->b, "oeq", clamped, high), low, zero);
  MlirValue r = math_add(m, exp_reduce(m, x, clamped, &k), low);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), &k);
}

MlirValue math_exp2(math *m, MlirValue x) {
  exp_power_of k;
  x = math_at_least(m, x, m->f64 ? -1080 : -152);
  MlirValue clamped = math_at_most(m, x, m->f64 ? 1025 : 129);
  k = exp_round(m, math_add(m, clamped, math_const(m, exp_magic(m))));
  MlirValue r = math_scale(m, math_sub(m, x, k.real), 0.6931471805599453);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), &k);
}

/* 2^k (e^r - 1) + (2^k - 1), halved meanwhile so that 2^k stays finite. */
static MlirValue exp_minus_one(math *m, MlirValue r, const exp_power_of *k) {
  MlirValue half = exp_power(m, math_iop(m, "arith.subi", k->whole, 1));
  MlirValue sum = math_fma(m, half, exp_tail(m, r), math_sub(m, half, math_const(m, 0.5)));
  return math_add(m, sum, sum);
}

MlirValue math_expm1(math *m, MlirValue x) {
  exp_power_of k;
  MlirValue y = math_at_least(m, x, m->f64 ? -40 : -20);
  MlirValue r = exp_reduce(m, y, math_at_most(m, y, m->f64 ? 710 : 89), &k);
  return math_copysign(m, exp_minus_one(m, r, &k), x);
}

/* t / (t + 2) with t = e^(2|x|) - 1. */
MlirValue math_tanh(math *m, MlirValue x) {
  MlirValue a = math_at_most(m, math_abs(m, x), m->f64 ? 20 : 10);
  exp_power_of k;
  MlirValue twice = math_add(m, a, a);
  MlirValue r = exp_reduce(m, twice, twice, &k), t = exp_minus_one(m, r, &k);
  return math_copysign(m, math_div(m, t, math_add(m, t, math_const(m, 2))), x);
}

/* e^x / 2, which is finite a little longer than e^x, for x >= 0. */
static MlirValue exp_half(math *m, MlirValue x) {
  exp_power_of k;
  MlirValue r = exp_reduce(m, x, math_at_most(m, x, m->f64 ? 711 : 90), &k);
  k.whole = math_iop(m, "arith.subi", k.whole, 1);
  k.real = math_sub(m, k.real, math_const(m, 1));
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), &k);
}

/* Up to 1 a polynomial in x^2; beyond, (e^a - e^-a) / 2. */
MlirValue math_sinh(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), e = exp_half(m, a);
  MlirValue far = math_sub(m, e, math_div(m, math_const(m, 0.25), e));
  MlirValue small = math_pick(m, math_test(m, "olt", a, 1), a, math_const(m, 1));
  MlirValue z = math_mul(m, small, small);
  MlirValue near = math_fma(m, math_mul(m, small, z), MATH_POLY(m, z, sinh_s), small);
  return math_copysign(m, math_pick(m, math_test(m, "olt", a, 1), near, far), x);
}

MlirValue math_cosh(math *m, MlirValue x) {
  MlirValue e = exp_half(m, math_abs(m, x));
  return math_add(m, e, math_div(m, math_const(m, 0.25), e));
}

/* e / (1 + e) with e = e^x, from some x on that of a number for which this is 1. */
MlirValue math_logistic(math *m, MlirValue x) {
  x = math_at_most(m, math_at_least(m, x, m->f64 ? -746 : -104), m->f64 ? 40 : 20);
  exp_power_of k;
  MlirValue r = exp_reduce(m, x, x, &k);
  MlirValue e = exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), &k);
  return math_div(m, e, math_add(m, e, math_const(m, 1)));
}
