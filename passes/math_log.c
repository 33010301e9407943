/* The logarithm and what is made of it, and powers.
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
  int64_t root = m->f64 ? 0x3fe6a09e667f3bcd : 0x3f3504f3;
  MlirValue k = math_iop(m, "arith.shrsi", math_iop(m, "arith.subi", bits, root), mantissa);
  MlirValue shift = math_iop(m, "arith.shli", k, mantissa);
  MlirValue rest = math_from_bits(m, lane_op2(m->b, "arith.subi", bits, shift));
  k = lane_op2(m->b, "arith.subi", k,
               lane_select(m->b, tiny, math_int(m, m->f64 ? 54 : 25), math_int(m, 0)));
  log_parts out;
  out.k = loom_build1(m->b, "arith.sitofp", k, m->type);
  out.f = math_sub(m, rest, math_const(m, 1));
  MlirValue s = math_div(m, out.f, math_add(m, out.f, math_const(m, 2)));
  MlirValue z = math_mul(m, s, s), r = math_mul(m, z, MATH_POLY(m, z, log_r));
  MlirValue half_square = math_scale(m, math_mul(m, out.f, out.f), 0.5);
  /* f - (f^2/2 - s (f^2/2 + R)) */
  out.high = out.f;
  out.low = math_sub(m, math_mul(m, s, math_add(m, half_square, r)), half_square);
  return out;
}

/* The ends: NaN and infinity pass, 0 gives -infinity, less gives NaN. */
static MlirValue log_ends(math *m, MlirValue x, MlirValue result, bool flags) {
  MlirValue zero = math_test(m, "oeq", x, 0), negative = math_test(m, "olt", x, 0);
  if (flags) {
    math_flag(m, zero, LOOM_FP_DIVIDE);
    math_flag(m, negative, LOOM_FP_INVALID);
  }
  result = math_pick(m, math_test(m, "olt", x, INFINITY), result, x);
  result = math_pick(m, zero, math_const(m, -INFINITY), result);
  return math_pick(m, negative, math_const(m, NAN), result);
}

static MlirValue log_finite(math *m, MlirValue x) {
  log_parts p = log_split(m, x);
  double high = m->f64 ? 0.6931471805598903 : 0.693145751953125;
  double low = m->f64 ? 5.497923018708371e-14 : 1.428606765330187e-06;
  MlirValue tail = math_fma(m, p.k, math_const(m, low), p.low);
  return math_fma(m, p.k, math_const(m, high), math_add(m, tail, p.high));
}

MlirValue math_log(math *m, MlirValue x) { return log_ends(m, x, log_finite(m, x), true); }

static MlirValue log_two(math *m, MlirValue x, bool flags) {
  log_parts p = log_split(m, x);
  MlirValue sum = math_add(m, p.high, p.low);
  MlirValue lost = math_sub(m, p.low, math_sub(m, sum, p.high));
  MlirValue tail = math_fma(m, sum, math_const(m, 2.0355273740931033e-17),
                            math_scale(m, lost, 1.4426950408889634));
  MlirValue result = math_fma(m, sum, math_const(m, 1.4426950408889634), math_add(m, p.k, tail));
  MlirValue small = math_fma(m, sum, math_const(m, 1.4426950408889634), tail);
  result = math_pick(m, math_test(m, "oeq", p.k, 0), small, result);
  return log_ends(m, x, result, flags);
}

MlirValue math_log2(math *m, MlirValue x) { return log_two(m, x, true); }

MlirValue math_log10(math *m, MlirValue x) {
  return math_scale(m, math_log(m, x), 0.4342944819032518);
}

/* log(u) + (x - (u - 1)) / u with u = 1 + x rounded. */
MlirValue math_log1p(math *m, MlirValue x) {
  MlirValue one = math_const(m, 1), zero = math_const(m, 0), u = math_add(m, x, one);
  MlirValue lost = math_sub(m, x, math_sub(m, u, one));
  MlirValue usable = lane_op2(m->b, "arith.andi", math_test(m, "ogt", u, 0),
                              math_test(m, "olt", u, m->f64 ? 1e300 : 1e30));
  MlirValue tail = math_div(m, math_pick(m, usable, lost, zero), math_pick(m, usable, u, one));
  MlirValue result = math_add(m, log_finite(m, u), tail);
  return log_ends(m, u, math_copysign(m, result, x), true);
}

/* These three are made in f64 for f32, so that no square overflows. */
MlirValue math_asinh(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), one = math_const(m, 1), square = math_mul(m, a, a);
  MlirValue root = math_add(m, one, math_sqrt(m, math_add(m, square, one)));
  MlirValue finite = math_test(m, "olt", a, INFINITY);
  MlirValue t = math_add(m, a, math_div(m, square, root));
  return math_copysign(m, math_pick(m, finite, math_log1p(m, math_pick(m, finite, t, one)), a), x);
}

MlirValue math_acosh(math *m, MlirValue x) {
  MlirValue t = math_sub(m, x, math_const(m, 1));
  MlirValue square = math_fma(m, t, t, math_add(m, t, t));
  square = math_pick(m, math_test(m, "olt", t, 0), math_const(m, -1), square);
  return math_log1p(m, math_add(m, t, math_sqrt(m, square)));
}

MlirValue math_atanh(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), one = math_const(m, 1);
  MlirValue t = math_div(m, math_add(m, a, a), math_sub(m, one, a));
  return math_copysign(m, math_scale(m, math_log1p(m, t), 0.5), x);
}

MlirValue math_hypot(math *m, MlirValue x, MlirValue y) {
  MlirValue a = math_abs(m, x), c = math_abs(m, y), infinity = math_const(m, INFINITY);
  MlirValue result = math_sqrt(m, math_fma(m, a, a, math_mul(m, c, c)));
  result = math_pick(m, math_test(m, "oeq", a, INFINITY), infinity, result);
  return math_pick(m, math_test(m, "oeq", c, INFINITY), infinity, result);
}

/* 2^(y log2 |x|), in f64 for f32; then the cases of C's pow. */
MlirValue math_pow(math *m, MlirValue x, MlirValue y) {
  loom_builder *b = m->b;
  MlirValue a = math_abs(m, x), one = math_const(m, 1);
  MlirValue unit = lane_op2(b, "arith.ori", math_test(m, "oeq", a, 1), math_test(m, "oeq", y, 0));
  MlirValue exponent =
      math_mul(m, log_two(m, math_pick(m, unit, one, a), false), math_pick(m, unit, one, y));
  MlirValue p = math_exp2(m, exponent);
  MlirValue trunc = lane_op1(b, "llvm.intr.trunc", y), half = math_scale(m, y, 0.5);
  MlirValue whole = lane_cmpf(b, "oeq", trunc, y);
  MlirValue odd = lane_cmpf(b, "une", half, lane_op1(b, "llvm.intr.trunc", half));
  odd = lane_op2(b, "arith.andi", odd, whole);
  MlirValue flip =
      lane_op2(b, "arith.andi", odd, lane_cmpi(b, "slt", math_bits(m, x), math_int(m, 0)));
  p = math_pick(m, flip, math_neg(m, p), p);
  MlirValue below =
      lane_op2(b, "arith.andi", math_test(m, "olt", x, 0), math_test(m, "une", a, INFINITY));
  MlirValue number =
      lane_op2(b, "arith.andi", lane_cmpf(b, "ord", y, y), lane_cmpf(b, "une", trunc, y));
  MlirValue bad = lane_op2(b, "arith.andi", below, number);
  math_flag(m, bad, LOOM_FP_INVALID);
  math_flag(m, lane_op2(b, "arith.andi", math_test(m, "oeq", a, 0), math_test(m, "olt", y, 0)),
            LOOM_FP_DIVIDE);
  p = math_pick(m, bad, math_const(m, NAN), p);
  /* |x| = 1: 1 or -1, but NaN for a NaN exponent of -1 and for a fraction. */
  MlirValue nan = lane_op2(b, "arith.andi", lane_cmpf(b, "uno", y, y), math_test(m, "une", x, 1));
  p = math_pick(m, nan, y, p);
  return math_pick(m, math_test(m, "oeq", y, 0), one, p);
}
