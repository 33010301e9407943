/* Sine, cosine and the inverse functions.
 *
 * x = n pi/2 + r with |r| <= pi/4, pi/2 in three parts of full precision: with fma the first step
 * is exact, since the terms cancel. Good up to about 2^15 in f32 and 2^20 in f64; larger arguments
 * are math_far.c's. The polynomials interpolate at Chebyshev nodes in r^2, made with 60 digits.
 */
#include "passes/math.h"

#include <math.h>

static const double sin_s32[] = {-0.1666666716337204, 0.008333331905305386, -0.00019840084132738411,
                                 2.724962087086169e-06};
static const double sin_s64[] = {
    -0.16666666666666666,  0.008333333333333331,   -0.0001984126984126504, 2.755731921932058e-06,
    -2.50521062259944e-08, 1.6058530596645953e-10, -7.586636882825159e-13};
static const double cos_c32[] = {0.0416666641831398, -0.0013888301327824593,
                                 2.4547689463361166e-05};
static const double cos_c64[] = {
    0.041666666666666664,   -0.0013888888888888887,  2.4801587301584632e-05, -2.755731922139249e-07,
    2.0876755787492604e-09, -1.1470460319209511e-11, 4.745838412531023e-14};
static const double atan_a32[] = {-0.3333333134651184, 0.19999538362026215, -0.14263896644115448,
                                  0.10743099451065063, -0.06449835002422333};
static const double atan_a64[] = {
    -0.3333333333333333,   0.199999999999998,   -0.14285714285659326,  0.11111111105106705,
    -0.09090908751076636,  0.0769229630497447,  -0.06666423628069258,  0.058789145444006215,
    -0.052303478730160745, 0.04551108126325172, -0.034558092551413795, 0.01627194475162406};
static const double asin_a32[] = {0.1666666567325592,   0.07500094920396805,  0.044599320739507675,
                                  0.031101727858185768, 0.017143717035651207, 0.03370072692632675};
static const double asin_a64[] = {0.16666666666666669,  0.07499999999998425,  0.04464285714637338,
                                  0.030381944137085216, 0.022372173002005596, 0.017352391265909227,
                                  0.013971235301124539, 0.011478952690257387, 0.010324318288744113,
                                  0.00545087818772055,  0.017419357964884856, -0.014881409392818066,
                                  0.02877844261259304};

static const double trig_half_pi = 1.5707963267948966, trig_half_pi_low = 6.123233995736766e-17;

typedef struct trig_parts {
  MlirValue turn, sine, cosine; /* quarter turns as an integer; of the rest */
} trig_parts;

static trig_parts trig_reduce(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x);
  MlirValue far = lane_op2(m->b, "arith.andi", math_test(m, "ogt", a, m->f64 ? 1e6 : 30000),
                           math_test(m, "une", a, INFINITY));
  MlirValue near = math_pick(m, far, math_const(m, 0), x);
  MlirValue magic = math_const(m, m->f64 ? 6755399441055744.0 : 12582912.0);
  MlirValue shifted = math_fma(m, near, math_const(m, 0.6366197723675814), magic);
  MlirValue n = math_neg(m, math_sub(m, shifted, magic)), turn = math_bits(m, shifted);
  MlirValue r = near;
  r = math_fma(m, n, math_const(m, m->f64 ? 1.5707963267948966 : 1.5707963705062866), r);
  r = math_fma(m, n, math_const(m, m->f64 ? 6.123233995736766e-17 : -4.371138828673793e-08), r);
  r = math_fma(m, n, math_const(m, m->f64 ? -1.4973849048591698e-33 : -1.7151245100058819e-15), r);
  math_reduce_far(m, x, far, &turn, &r);
  MlirValue z = math_mul(m, r, r);
  trig_parts out = {turn, {NULL}, {NULL}};
  out.sine = math_fma(m, math_mul(m, r, z), MATH_POLY(m, z, sin_s), r);
  out.cosine = math_fma(m, math_mul(m, z, z), MATH_POLY(m, z, cos_c),
                        math_fma(m, z, math_const(m, -0.5), math_const(m, 1)));
  return out;
}

static MlirValue trig_odd(math *m, MlirValue turn) {
  return lane_cmpi(m->b, "ne", math_iop(m, "arith.andi", turn, 1), math_int(m, 0));
}

/* The sine of x + quarter turns. */
static MlirValue trig_sine(math *m, MlirValue x, int quarters) {
  trig_parts p = trig_reduce(m, x);
  MlirValue turn = math_iop(m, "arith.addi", p.turn, quarters);
  MlirValue result = math_pick(m, trig_odd(m, turn), p.cosine, p.sine);
  MlirValue sign = math_iop(m, "arith.shli", math_iop(m, "arith.andi", turn, 2), m->f64 ? 62 : 30);
  result = math_from_bits(m, lane_op2(m->b, "arith.xori", math_bits(m, result), sign));
  return quarters ? result : math_pick(m, math_test(m, "oeq", x, 0), x, result);
}

MlirValue math_sin(math *m, MlirValue x) { return trig_sine(m, x, 0); }
MlirValue math_cos(math *m, MlirValue x) { return trig_sine(m, x, 1); }

/* sin / cos, or -cos / sin after an odd quarter turn. */
MlirValue math_tan(math *m, MlirValue x) {
  trig_parts p = trig_reduce(m, x);
  MlirValue odd = trig_odd(m, p.turn);
  MlirValue result = math_div(m, math_pick(m, odd, math_neg(m, p.cosine), p.sine),
                              math_pick(m, odd, p.sine, p.cosine));
  return math_pick(m, math_test(m, "oeq", x, 0), x, result);
}

/* |x| <= 1/2: x + x^3 p(x^2). Beyond: pi/2 - 2 asin(sqrt((1 - |x|) / 2)). Above 1 the root raises
 * invalid. */
static MlirValue trig_asin(math *m, MlirValue x, MlirValue *outer) {
  MlirValue a = math_abs(m, x), half = math_const(m, 0.5);
  *outer = math_test(m, "ogt", a, 0.5);
  MlirValue z =
      math_pick(m, *outer, math_mul(m, math_sub(m, math_const(m, 1), a), half), math_mul(m, a, a));
  MlirValue s = math_pick(m, *outer, math_sqrt(m, math_pick(m, *outer, z, half)), a);
  return math_fma(m, math_mul(m, s, z), MATH_POLY(m, z, asin_a), s);
}

MlirValue math_asin(math *m, MlirValue x) {
  MlirValue outer, p = trig_asin(m, x, &outer);
  MlirValue far = math_fma(m, p, math_const(m, -2), math_const(m, trig_half_pi_low));
  if (!m->f64) far = math_fma(m, p, math_const(m, -2), math_const(m, -4.371138828673793e-08));
  far = math_add(m, far, math_const(m, trig_half_pi));
  return math_copysign(m, math_pick(m, outer, far, p), x);
}

MlirValue math_acos(math *m, MlirValue x) {
  MlirValue outer, p = trig_asin(m, x, &outer), negative = math_test(m, "olt", x, 0);
  MlirValue twice = math_add(m, p, p);
  MlirValue left = math_add(m, math_sub(m, math_const(m, 2 * trig_half_pi_low), twice),
                            math_const(m, 2 * trig_half_pi));
  MlirValue far = math_pick(m, negative, left, twice);
  MlirValue near = math_sub(m, math_const(m, trig_half_pi_low), math_copysign(m, p, x));
  near = math_add(m, near, math_const(m, trig_half_pi));
  return math_pick(m, outer, far, near);
}

/* The angle of top / bottom, 0 <= top <= bottom: beyond tan(pi/8) turned back by pi/4. */
static MlirValue trig_octant(math *m, MlirValue top, MlirValue bottom) {
  MlirValue far = lane_cmpf(m->b, "ogt", top, math_scale(m, bottom, 0.41421356237309503));
  MlirValue up = math_pick(m, far, math_sub(m, top, bottom), top);
  MlirValue down = math_pick(m, far, math_add(m, top, bottom), bottom);
  MlirValue t = math_div(m, up, down), z = math_mul(m, t, t);
  MlirValue p = math_fma(m, math_mul(m, t, z), MATH_POLY(m, z, atan_a), t);
  MlirValue low =
      math_add(m, p, math_const(m, m->f64 ? trig_half_pi_low / 2 : -2.1855694143368964e-08));
  return math_pick(m, far, math_add(m, low, math_const(m, trig_half_pi / 2)), p);
}

/* pi/2 * n - angle, pi/2 in two parts. */
static MlirValue trig_from(math *m, int n, MlirValue angle) {
  MlirValue low = math_const(m, n * (m->f64 ? trig_half_pi_low : -4.371138828673793e-08));
  return math_add(m, math_sub(m, low, angle), math_const(m, n * trig_half_pi));
}

MlirValue math_atan(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), one = math_const(m, 1), steep = math_test(m, "ogt", a, 1);
  MlirValue huge = math_test(m, "ogt", a, 1e30); /* also keeps infinity out of the division */
  a = math_pick(m, huge, math_const(m, 1e30), a);
  MlirValue angle = trig_octant(m, math_pick(m, steep, one, a), math_pick(m, steep, a, one));
  return math_copysign(m, math_pick(m, steep, trig_from(m, 1, angle), angle), x);
}

MlirValue math_atan2(math *m, MlirValue y, MlirValue x) {
  loom_builder *b = m->b;
  MlirValue a = math_abs(m, x), c = math_abs(m, y), one = math_const(m, 1);
  MlirValue both =
      lane_op2(b, "arith.andi", math_test(m, "oeq", a, INFINITY), math_test(m, "oeq", c, INFINITY));
  a = math_pick(m, both, one, a);
  c = math_pick(m, both, one, c);
  MlirValue steep = lane_cmpf(b, "ogt", c, a);
  MlirValue low = math_pick(m, steep, a, c), high = math_pick(m, steep, c, a);
  MlirValue big = math_test(m, "ogt", high, m->f64 ? 1e300 : 1e37);
  MlirValue scale = math_pick(m, big, math_const(m, 0.25), one);
  low = math_mul(m, low, scale);
  high = math_mul(m, high, scale);
  /* Infinity over a number: 0; 0 over 0: 0. */
  MlirValue endless = math_test(m, "oeq", high, INFINITY);
  low = math_pick(m, endless, math_const(m, 0), low);
  high = math_pick(m, lane_op2(b, "arith.ori", endless, math_test(m, "oeq", high, 0)), one, high);
  MlirValue angle = trig_octant(m, low, high);
  angle = math_pick(m, steep, trig_from(m, 1, angle), angle);
  MlirValue left = lane_cmpi(b, "slt", math_bits(m, x), math_int(m, 0));
  angle = math_pick(m, left, trig_from(m, 2, angle), angle);
  angle = math_copysign(m, angle, y);
  MlirValue nan = lane_cmpf(b, "uno", x, y);
  return math_pick(m, nan, math_add(m, x, y), angle);
}
