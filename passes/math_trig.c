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
static const double atan_a64[] = {-0.3333333333333333,   0.19999999999999762,  -0.14285714285662374,
                                  0.11111111106628732,   -0.09090908888282673, 0.07692302183832775,
                                  -0.06666569167125434,  0.05881173710116238,  -0.05253123631568424,
                                  0.04700886759465037,   -0.04081347735649769, 0.03167615541653418,
                                  -0.018632194843553572, 0.005873031620395398};
static const double asin_a32[] = {0.1666666567325592,   0.07500094920396805,  0.044599320739507675,
                                  0.031101727858185768, 0.017143717035651207, 0.03370072692632675};
static const double asin_a64[] = {0.16666666666666669,  0.07499999999998425,  0.04464285714637338,
                                  0.030381944137085216, 0.022372173002005596, 0.017352391265909227,
                                  0.013971235301124539, 0.011478952690257387, 0.010324318288744113,
                                  0.00545087818772055,  0.017419357964884856, -0.014881409392818066,
                                  0.02877844261259304};

static const double trig_half_pi = 1.5707963267948966, trig_half_pi_low = 6.123233995736766e-17;

/* The difference between pi/2 and its nearest number in the type of the lanes. */
static double trig_low(const math *m) { return m->f64 ? trig_half_pi_low : -4.371138828673793e-08; }

/* A sum of two numbers, of which the second is what the first has lost to rounding. */
typedef struct trig_pair {
  MlirValue high, low;
} trig_pair;

/* x + y for |x| >= |y|. */
static trig_pair trig_sum(math *m, MlirValue x, MlirValue y) {
  MlirValue high = math_add(m, x, y);
  return (trig_pair){high, math_sub(m, y, math_sub(m, high, x))};
}

static trig_pair trig_pick(math *m, MlirValue condition, trig_pair x, trig_pair y) {
  return (trig_pair){math_pick(m, condition, x.high, y.high),
                     math_pick(m, condition, x.low, y.low)};
}

/* n quarter turns less an angle of at most as many. */
static MlirValue trig_from(math *m, int n, MlirValue angle) {
  MlirValue low = math_const(m, n * trig_low(m));
  return math_add(m, math_sub(m, low, angle), math_const(m, n * trig_half_pi));
}

typedef struct trig_rest {
  MlirValue turn; /* quarter turns as an integer */
  trig_pair r;
  MlirValue square;
} trig_rest;

static trig_rest trig_reduce(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x);
  MlirValue far = lane_op2(m->b, "arith.andi", math_test(m, "ogt", a, m->f64 ? 1e6 : 30000),
                           math_test(m, "une", a, INFINITY));
  MlirValue near = math_pick(m, far, math_const(m, 0), x);
  MlirValue magic = math_const(m, m->f64 ? 6755399441055744.0 : 12582912.0);
  MlirValue shifted = math_fma(m, near, math_const(m, 0.6366197723675814), magic);
  MlirValue n = math_neg(m, math_sub(m, shifted, magic)), turn = math_bits(m, shifted);
  MlirValue part[3] = {math_const(m, m->f64 ? trig_half_pi : 1.5707963705062866),
                       math_const(m, trig_low(m)),
                       math_const(m, m->f64 ? -1.4973849048591698e-33 : -1.7151245100058819e-15)};
  MlirValue first = math_fma(m, n, part[0], near), second = math_fma(m, n, part[1], first);
  MlirValue r[2] = {math_fma(m, n, part[2], second)};
  r[1] = math_fma(m, n, part[1], math_sub(m, first, second));
  math_reduce_far(m, x, far, &turn, r);
  return (trig_rest){turn, {r[0], r[1]}, math_mul(m, r[0], r[0])};
}

static MlirValue trig_sine_of(math *m, const trig_rest *p) {
  MlirValue r = p->r.high;
  return math_fma(m, math_mul(m, r, p->square), MATH_POLY(m, p->square, sin_s), r);
}

static MlirValue trig_cosine_of(math *m, const trig_rest *p) {
  MlirValue z = p->square;
  return math_fma(m, math_mul(m, z, z), MATH_POLY(m, z, cos_c),
                  math_fma(m, z, math_const(m, -0.5), math_const(m, 1)));
}

/* The same as sums of two that overlap: what comes last is rounded, the first loses nothing. */
static trig_pair trig_sine_pair(math *m, const trig_rest *p) {
  MlirValue cube = math_mul(m, p->r.high, p->square);
  return (trig_pair){p->r.high, math_fma(m, cube, MATH_POLY(m, p->square, sin_s), p->r.low)};
}

static trig_pair trig_cosine_pair(math *m, const trig_rest *p) {
  MlirValue z = p->square;
  MlirValue tail = math_mul(m, z, math_fma(m, z, MATH_POLY(m, z, cos_c), math_const(m, -0.5)));
  return (trig_pair){math_const(m, 1), tail};
}

static MlirValue trig_odd(math *m, MlirValue turn) {
  return lane_cmpi(m->b, "ne", math_iop(m, "arith.andi", turn, 1), math_int(m, 0));
}

/* The sine of x + quarter turns. */
static MlirValue trig_sine(math *m, MlirValue x, int quarters) {
  trig_rest p = trig_reduce(m, x);
  MlirValue turn = math_iop(m, "arith.addi", p.turn, quarters);
  MlirValue result = math_pick(m, trig_odd(m, turn), trig_cosine_of(m, &p), trig_sine_of(m, &p));
  MlirValue sign = math_iop(m, "arith.shli", math_iop(m, "arith.andi", turn, 2), m->f64 ? 62 : 30);
  result = math_from_bits(m, lane_op2(m->b, "arith.xori", math_bits(m, result), sign));
  return quarters ? result : math_pick(m, math_test(m, "oeq", x, 0), x, result);
}

MlirValue math_sin(math *m, MlirValue x) { return trig_sine(m, x, 0); }
MlirValue math_cos(math *m, MlirValue x) { return trig_sine(m, x, 1); }

/* x / y to within an ulp, for a y that has a reciprocal. */
static MlirValue trig_quotient(math *m, trig_pair x, trig_pair y) {
  MlirValue inverse = math_div(m, math_const(m, 1), math_add(m, y.high, y.low));
  MlirValue q = math_mul(m, math_add(m, x.high, x.low), inverse), minus = math_neg(m, q);
  MlirValue rest =
      math_add(m, math_fma(m, minus, y.high, x.high), math_fma(m, minus, y.low, x.low));
  return math_fma(m, rest, inverse, q);
}

/* sin / cos, or -cos / sin after an odd quarter turn. */
MlirValue math_tan(math *m, MlirValue x) {
  trig_rest p = trig_reduce(m, x);
  MlirValue odd = trig_odd(m, p.turn), result;
  if (m->f64) {
    trig_pair sine = trig_sine_pair(m, &p), cosine = trig_cosine_pair(m, &p);
    trig_pair top = trig_pick(m, odd, cosine, sine), bottom = trig_pick(m, odd, sine, cosine);
    MlirValue turned = math_iop(m, "arith.shli", p.turn, 63);
    result = math_bits(m, trig_quotient(m, top, bottom));
    result = math_from_bits(m, lane_op2(m->b, "arith.xori", result, turned));
  } else {
    MlirValue sine = trig_sine_of(m, &p), cosine = trig_cosine_of(m, &p);
    result =
        math_div(m, math_pick(m, odd, math_neg(m, cosine), sine), math_pick(m, odd, sine, cosine));
  }
  return math_pick(m, math_test(m, "oeq", x, 0), x, result);
}

/* asin(s) = s + tail, where s is |x| up to 1/2 and beyond it sqrt((1 - |x|) / 2). */
typedef struct trig_arc {
  MlirValue outer, s, tail;
} trig_arc;

/* |x| <= 1/2: x + x^3 p(x^2). Beyond: pi/2 - 2 asin(sqrt((1 - |x|) / 2)). Above 1 the root raises
 * invalid. */
static trig_arc trig_asin(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), half = math_const(m, 0.5), outer = math_test(m, "ogt", a, 0.5);
  MlirValue z =
      math_pick(m, outer, math_mul(m, math_sub(m, math_const(m, 1), a), half), math_mul(m, a, a));
  MlirValue s = math_pick(m, outer, math_sqrt(m, math_pick(m, outer, z, half)), a);
  return (trig_arc){outer, s, math_mul(m, math_mul(m, s, z), MATH_POLY(m, z, asin_a))};
}

MlirValue math_asin(math *m, MlirValue x) {
  trig_arc p = trig_asin(m, x);
  /* s + tail may be beyond 1/2, where an ulp is as large as one of the result. */
  MlirValue twice = math_add(m, p.s, p.s);
  trig_pair sum = trig_sum(m, math_const(m, trig_half_pi), math_neg(m, twice));
  MlirValue low = math_fma(m, p.tail, math_const(m, -2), math_const(m, trig_low(m)));
  MlirValue far = math_add(m, sum.high, math_add(m, sum.low, low));
  return math_copysign(m, math_pick(m, p.outer, far, math_add(m, p.s, p.tail)), x);
}

MlirValue math_acos(math *m, MlirValue x) {
  trig_arc arc = trig_asin(m, x);
  MlirValue p = math_add(m, arc.s, arc.tail), twice = math_add(m, p, p);
  MlirValue far = math_pick(m, math_test(m, "olt", x, 0), trig_from(m, 2, twice), twice);
  return math_pick(m, arc.outer, far, trig_from(m, 1, math_copysign(m, p, x)));
}

/* The angle of top / bottom, 0 <= top <= bottom: the larger ones turned back by pi/4. In f64 these
 * are beyond 1/2, where top - bottom is exact and an ulp of the angle is large. */
static MlirValue trig_octant(math *m, MlirValue top, MlirValue bottom) {
  double limit = m->f64 ? 0.5463024898437905 : 0.41421356237309503;
  MlirValue far = lane_cmpf(m->b, "ogt", top, math_scale(m, bottom, limit));
  MlirValue up = math_pick(m, far, math_sub(m, top, bottom), top);
  MlirValue down = math_pick(m, far, math_add(m, top, bottom), bottom);
  MlirValue t = math_div(m, up, down), z = math_mul(m, t, t);
  MlirValue p = math_fma(m, math_mul(m, t, z), MATH_POLY(m, z, atan_a), t);
  MlirValue low = math_add(m, p, math_const(m, trig_low(m) / 2));
  return math_pick(m, far, math_add(m, low, math_const(m, trig_half_pi / 2)), p);
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
  /* Small ones are made larger, too: half of the smallest number is the number itself. */
  MlirValue small = math_test(m, "olt", high, m->f64 ? 1e-290 : 1e-30);
  MlirValue up = math_const(m, m->f64 ? 0x1p100 : 0x1p40);
  MlirValue scale = math_pick(m, big, math_const(m, 0.25), math_pick(m, small, up, one));
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
