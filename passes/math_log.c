/* The logarithm and what is made of it.
 *
 * x = 2^k (1 + f) with sqrt(1/2) <= 1 + f < sqrt(2); with s = f / (2 + f) and z = s^2, log(1 + f) =
 * 2s + s z R(z). R interpolates at Chebyshev nodes, made with 60 digits. ln 2 is split so that k
 * times its high part is exact.
 */
#include "passes/math.h"

#include <math.h>

static const double log_r32[] = {0.6666668653488159, 0.3998877704143524, 0.2958005368709564};
static const double log_r64[] = {0.666666666666667,   0.39999999999899444, 0.2857142862600327,
                                 0.22222211130259878, 0.18182889455674947, 0.15331710618210773,
                                 0.14616585424888623};

typedef struct log_parts {
  MlirValue k, f, high, low; /* k as a float; log(1 + f) = high + low */
} log_parts;

/* Right for x positive and finite; anything for the rest, without flags. */
static log_parts log_split(math *m, MlirValue x) {
  int mantissa = m->f64 ? 52 : 23;
  double smallest = m->f64 ? 2.2250738585072014e-308 : 1.17549435e-38;
  double up = m->f64 ? 18014398509481984.0 : 33554432.0; /* 2^54, 2^25 */
  MlirValue tiny = math_test(m, "olt", x, smallest);
  MlirValue bits = math_bits(m, math_pick(m, tiny, math_scale(m, x, up), x));
  /* The bias keeps the shifted bits positive; k becomes a float by way of a large number's bits. */
  int64_t root = m->f64 ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  int64_t bias = (m->f64 ? 1023ll : 127ll) << mantissa;
  double magic = m->f64 ? 4503599627370496.0 : 8388608.0; /* 2^mantissa */
  MlirValue power = math_iop(m, "arith.addi", bits, bias - root);
  MlirValue k = math_iop(m, "arith.shrui", power, mantissa);
  power = math_iop(m, "arith.shli", k, mantissa);
  MlirValue rest = math_iop(m, "arith.addi", lane_op2(m->b, "arith.subi", bits, power), bias);
  rest = math_from_bits(m, rest);
  k = lane_op2(m->b, "arith.ori", k, math_bits(m, math_const(m, magic)));
  double less = magic + (m->f64 ? 1023 : 127);
  MlirValue offset =
      math_pick(m, tiny, math_const(m, less + (m->f64 ? 54 : 25)), math_const(m, less));
  log_parts out;
  out.k = math_sub(m, math_from_bits(m, k), offset);
  out.f = math_sub(m, rest, math_const(m, 1));
  MlirValue s = math_div(m, out.f, math_add(m, out.f, math_const(m, 2)));
  MlirValue z = math_mul(m, s, s), r = math_mul(m, z, MATH_POLY(m, z, log_r));
  MlirValue half_square = math_scale(m, math_mul(m, out.f, out.f), 0.5);
  /* f - (f^2/2 - s (f^2/2 + R)) */
  out.high = out.f;
  out.low = math_sub(m, math_mul(m, s, math_add(m, half_square, r)), half_square);
  return out;
}

MlirValue math_log_split(math *m, MlirValue x, MlirValue *k) {
  log_parts p = log_split(m, x);
  *k = p.k;
  return p.f;
}

/* The ends: NaN and infinity pass, 0 gives -infinity, less gives NaN. */
static MlirValue log_ends(math *m, MlirValue x, MlirValue result) {
  MlirValue zero = math_test(m, "oeq", x, 0), negative = math_test(m, "olt", x, 0);
  math_flag(m, zero, LOOM_FP_DIVIDE);
  math_flag(m, negative, LOOM_FP_INVALID);
  result = math_pick(m, math_test(m, "olt", x, INFINITY), result, x);
  result = math_pick(m, zero, math_const(m, -INFINITY), result);
  return math_pick(m, negative, math_const(m, NAN), result);
}

/* log(x + low) for a low of at most half an ulp of x, given as a part of x; null for 0. */
static MlirValue log_finite(math *m, MlirValue x, MlirValue low, MlirValue doublings) {
  log_parts p = log_split(m, x);
  double ln2_high = m->f64 ? 0.6931471805598903 : 0.693145751953125;
  double ln2_low = m->f64 ? 5.497923018708371e-14 : 1.428606765330187e-06;
  if (low.ptr) p.low = math_add(m, p.low, low);
  if (doublings.ptr) p.k = math_add(m, p.k, doublings);
  MlirValue tail = math_fma(m, p.k, math_const(m, ln2_low), p.low);
  return math_fma(m, p.k, math_const(m, ln2_high), math_add(m, tail, p.high));
}

MlirValue math_log_finite(math *m, MlirValue x) {
  MlirValue none = {NULL};
  return log_finite(m, x, none, none);
}

MlirValue math_log(math *m, MlirValue x) { return log_ends(m, x, math_log_finite(m, x)); }

MlirValue math_log2(math *m, MlirValue x) {
  log_parts p = log_split(m, x);
  MlirValue sum = math_add(m, p.high, p.low);
  MlirValue lost = math_sub(m, p.low, math_sub(m, sum, p.high));
  MlirValue tail = math_fma(m, sum, math_const(m, 2.0355273740931033e-17),
                            math_scale(m, lost, 1.4426950408889634));
  MlirValue result = math_fma(m, sum, math_const(m, 1.4426950408889634), math_add(m, p.k, tail));
  MlirValue small = math_fma(m, sum, math_const(m, 1.4426950408889634), tail);
  result = math_pick(m, math_test(m, "oeq", p.k, 0), small, result);
  return log_ends(m, x, result);
}

/* k log10(2) + log(1 + f) / log(10), the leading products exact or with their errors. */
MlirValue math_log10(math *m, MlirValue x) {
  log_parts p = log_split(m, x);
  double scale = m->f64 ? 0.4342944819032518 : 0.4342944920063019;
  double scale_low = m->f64 ? 1.098319650216765e-17 : -1.0103050052231683e-08;
  double two_high = m->f64 ? 0.30102999566383914 : 0.301025390625;
  double two_low = m->f64 ? 1.42050232272661e-13 : 4.605038981195214e-06;
  MlirValue by = math_const(m, scale), sum = math_add(m, p.high, p.low);
  MlirValue lost = math_sub(m, p.low, math_sub(m, sum, p.high));
  MlirValue product = math_mul(m, sum, by), error = math_fma(m, sum, by, math_neg(m, product));
  MlirValue tail = math_fma(m, sum, math_const(m, scale_low), error);
  tail = math_fma(m, lost, by, tail);
  tail = math_fma(m, p.k, math_const(m, two_low), tail);
  MlirValue whole = math_scale(m, p.k, two_high), high = math_add(m, whole, product);
  tail = math_add(m, tail, math_sub(m, product, math_sub(m, high, whole)));
  return log_ends(m, x, math_add(m, high, tail));
}

/* log(1 + x + low): log(u) + (x - (u - 1) + low) / u with u = 1 + x rounded. `x` is above -1 and
 * finite. Where `huge` holds it is log(2 x). */
static MlirValue log_one_plus(math *m, MlirValue x, MlirValue low, MlirValue huge) {
  MlirValue one = math_const(m, 1), zero = math_const(m, 0), u = math_add(m, x, one);
  MlirValue lost = math_sub(m, x, math_sub(m, u, one));
  if (low.ptr) lost = math_add(m, lost, low);
  MlirValue doublings = {NULL};
  if (huge.ptr) doublings = math_pick(m, huge, one, zero);
  return log_finite(m, u, math_div(m, lost, u), doublings);
}

MlirValue math_log1p(math *m, MlirValue x) {
  MlirValue none = {NULL}, one = math_const(m, 1), u = math_add(m, x, one);
  MlirValue usable =
      lane_op2(m->b, "arith.andi", math_test(m, "ogt", x, -1), math_test(m, "olt", x, INFINITY));
  MlirValue result = log_one_plus(m, math_pick(m, usable, x, one), none, none);
  return log_ends(m, u, math_copysign(m, result, x));
}

/* The error of x + y rounded to sum, for |x| >= |y|. */
static MlirValue log_error(math *m, MlirValue x, MlirValue y, MlirValue sum) {
  return math_sub(m, y, math_sub(m, sum, x));
}

/* log(1 + t) with t = a + a^2 / (1 + sqrt(a^2 + 1)), in two parts. These three are made in f64 for
 * f32. */
MlirValue math_asinh(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), one = math_const(m, 1), zero = math_const(m, 0);
  MlirValue huge = math_test(m, "ogt", a, m->f64 ? 1e150 : 1e18);
  MlirValue finite = math_test(m, "olt", a, INFINITY);
  MlirValue y = math_pick(m, finite, a, one), small = math_pick(m, huge, zero, y);
  MlirValue square = math_mul(m, small, small);
  MlirValue root = math_add(m, one, math_sqrt(m, math_add(m, square, one)));
  MlirValue more = math_div(m, square, root), t = math_add(m, y, more);
  MlirValue result = log_one_plus(m, t, log_error(m, y, more, t), huge);
  return math_copysign(m, math_pick(m, finite, result, a), x);
}

/* log(1 + t + sqrt(t (t + 2))) with t = x - 1. */
MlirValue math_acosh(math *m, MlirValue x) {
  MlirValue one = math_const(m, 1), zero = math_const(m, 0);
  MlirValue below = math_test(m, "olt", x, 1), finite = math_test(m, "olt", x, INFINITY);
  MlirValue huge = math_test(m, "ogt", x, m->f64 ? 1e150 : 1e18);
  math_flag(m, below, LOOM_FP_INVALID);
  MlirValue y = math_pick(m, finite, x, one);
  y = math_sub(m, math_pick(m, below, one, y), one);
  MlirValue small = math_pick(m, huge, zero, y);
  MlirValue root = math_sqrt(m, math_fma(m, small, small, math_add(m, small, small)));
  MlirValue t = math_add(m, root, y); /* the root is the larger */
  MlirValue result = log_one_plus(m, t, log_error(m, root, y, t), huge);
  result = math_pick(m, finite, result, x);
  return math_pick(m, below, math_const(m, NAN), result);
}

/* log(1 + t) / 2 with t = 2a / (1 - a), in two parts. */
MlirValue math_atanh(math *m, MlirValue x) {
  MlirValue none = {NULL}, a = math_abs(m, x), one = math_const(m, 1);
  MlirValue inside = math_test(m, "olt", a, 1), edge = math_test(m, "oeq", a, 1);
  MlirValue beyond = math_test(m, "ogt", a, 1);
  math_flag(m, edge, LOOM_FP_DIVIDE);
  math_flag(m, beyond, LOOM_FP_INVALID);
  MlirValue y = math_pick(m, inside, a, math_const(m, 0.5)), twice = math_add(m, y, y);
  MlirValue below = math_sub(m, one, y), rest = math_sub(m, math_sub(m, one, below), y);
  MlirValue t = math_div(m, twice, below), back = math_neg(m, t);
  MlirValue left = math_fma(m, back, rest, math_fma(m, back, below, twice));
  MlirValue result = log_one_plus(m, t, math_div(m, left, below), none);
  result = math_pick(m, inside, math_scale(m, result, 0.5), a);
  result = math_pick(m, edge, math_const(m, INFINITY), result);
  result = math_pick(m, beyond, math_const(m, NAN), result);
  return math_copysign(m, result, x);
}
