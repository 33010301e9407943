/* Remainders and neighbours: exact.
 *
 * r = |x|; while r >= |y|: r -= q s with s = |y| 2^j, j the least that keeps the quotient in the
 * mantissa, q the whole part of r / s rounded. q is right or one too large, since rounding cannot
 * pass a whole number; so r - q s is a multiple of the last place of s, smaller than s in
 * magnitude, and fma makes it exactly. A step takes 51 bits (22 in f32) off the quotient: one step
 * nearly always.
 */
#include "passes/math.h"

#include <math.h>

/* The exponent of a positive finite number. */
static MlirValue rem_exponent(math *m, MlirValue x) {
  double smallest = m->f64 ? 2.2250738585072014e-308 : 1.17549435e-38;
  MlirValue tiny = math_test(m, "olt", x, smallest);
  /* Of no others, which may overflow. */
  MlirValue up = math_scale(m, math_pick(m, tiny, x, math_const(m, 0)),
                            m->f64 ? 18014398509481984.0 : 16777216.0);
  MlirValue bits = math_bits(m, math_pick(m, tiny, up, x));
  MlirValue e = math_iop(m, "arith.shrui", bits, m->f64 ? 52 : 23);
  MlirValue less = lane_select(m->b, tiny, math_int(m, m->f64 ? 54 : 24), math_int(m, 0));
  return lane_op2(m->b, "arith.subi", e, less);
}

static MlirValue rem_power(math *m, MlirValue k) {
  MlirValue biased = math_iop(m, "arith.addi", k, m->f64 ? 1023 : 127);
  return math_from_bits(m, math_iop(m, "arith.shli", biased, m->f64 ? 52 : 23));
}

/* One step in every lane that still needs one. */
static MlirValue rem_step(math *m, MlirValue r, MlirValue y) {
  MlirValue more = lane_cmpf(m->b, "oge", r, y), none = math_int(m, 0);
  MlirValue gap = lane_op2(m->b, "arith.subi", rem_exponent(m, r), rem_exponent(m, y));
  MlirValue j = math_iop(m, "arith.subi", gap, m->f64 ? 51 : 22);
  j = lane_select(m->b, lane_cmpi(m->b, "sgt", j, none), j, none);
  MlirValue half = math_iop(m, "arith.shrui", j, 1);
  MlirValue rest = lane_op2(m->b, "arith.subi", j, half);
  MlirValue s = math_mul(m, math_mul(m, y, rem_power(m, half)), rem_power(m, rest));
  MlirValue top = math_pick(m, more, r, math_const(m, 0));
  MlirValue q = lane_op1(m->b, "llvm.intr.trunc", math_div(m, top, s));
  MlirValue left = math_fma(m, math_neg(m, q), s, r);
  MlirValue over = math_test(m, "olt", left, 0);
  return math_pick(m, over, math_add(m, left, s), left);
}

typedef struct rem_operands {
  const math *m;
  MlirValue y;
} rem_operands;

static MlirValue rem_more(loom_builder *b, const void *user, const MlirValue *r) {
  return lane_cmpf(b, "oge", *r, ((const rem_operands *)user)->y);
}

static void rem_next(loom_builder *b, const void *user, MlirValue *r) {
  const rem_operands *of = user;
  math inner = *of->m;
  inner.b = b;
  *r = rem_step(&inner, *r, of->y);
}

/* Of r >= 0 and y > 0, both finite. */
static MlirValue rem_loop(math *m, MlirValue r, MlirValue y) {
  rem_operands of = {m, y};
  lane_while(m->b, 1, &r, rem_more, rem_next, &of);
  return r;
}

static MlirValue rem_of(math *m, MlirValue x, MlirValue y, bool zero_flag) {
  MlirValue r = math_abs(m, x), d = math_abs(m, y), one = math_const(m, 1);
  MlirValue endless = math_test(m, "oeq", r, INFINITY), zero = math_test(m, "oeq", y, 0);
  MlirValue bad = lane_op2(m->b, "arith.ori", endless, zero), nan = lane_cmpf(m->b, "uno", x, y);
  MlirValue numbers = lane_cmpf(m->b, "ord", x, y);
  MlirValue divides = math_test(m, "une", y, 0); /* by zero it is a quotient's to report */
  MlirValue invalid = zero_flag ? bad : lane_op2(m->b, "arith.andi", endless, divides);
  math_flag(m, lane_op2(m->b, "arith.andi", invalid, numbers), LOOM_FP_INVALID);
  MlirValue out = lane_op2(m->b, "arith.ori", bad, nan);
  MlirValue least = math_test(m, "oeq", d, INFINITY);
  MlirValue largest = math_const(m, m->f64 ? 0x1.fffffffffffffp1023 : 0x1.fffffep127);
  /* A number modulo infinity is the number. */
  MlirValue skip = lane_op2(m->b, "arith.ori", out, least);
  MlirValue left = rem_loop(m, math_pick(m, skip, math_const(m, 0), r),
                            math_pick(m, skip, math_pick(m, out, one, largest), d));
  left = math_pick(m, least, r, left);
  left = math_pick(m, bad, math_const(m, NAN), left);
  return math_pick(m, nan, math_add(m, x, y), math_copysign(m, left, x));
}

MlirValue math_fmod(math *m, MlirValue x, MlirValue y) { return rem_of(m, x, y, true); }

/* Has the remainder another sign than the divisor? */
static MlirValue rem_differs(math *m, MlirValue mod, MlirValue y) {
  MlirValue differ =
      lane_op2(m->b, "arith.xori", math_test(m, "olt", y, 0), math_test(m, "olt", mod, 0));
  return lane_op2(m->b, "arith.andi", math_test(m, "une", mod, 0), differ);
}

/* These two are npy_remainder and npy_floor_divide. */
MlirValue math_remainder(math *m, MlirValue x, MlirValue y) {
  MlirValue mod = rem_of(m, x, y, true), adjust = rem_differs(m, mod, y);
  MlirValue nonzero = math_test(m, "une", mod, 0);
  mod = math_pick(m, adjust, math_add(m, mod, y), mod);
  return math_pick(m, nonzero, mod, math_copysign(m, math_const(m, 0), y));
}

MlirValue math_floor_divide(math *m, MlirValue x, MlirValue y) {
  MlirValue mod = rem_of(m, x, y, false), zero = math_const(m, 0), one = math_const(m, 1);
  MlirValue quotient = math_div(m, x, y);
  MlirValue div = math_div(m, math_sub(m, x, mod), y);
  div = math_pick(m, rem_differs(m, mod, y), math_sub(m, div, one), div);
  MlirValue whole = lane_op1(m->b, "llvm.intr.floor", div);
  MlirValue up = math_test(m, "ogt", math_sub(m, div, whole), 0.5);
  whole = math_pick(m, up, math_add(m, whole, one), whole);
  whole = math_pick(m, math_test(m, "une", div, 0), whole, math_copysign(m, zero, quotient));
  return math_pick(m, math_test(m, "oeq", y, 0), quotient, whole);
}

/* The bits of a float's magnitude count upwards, through zero by hand. */
MlirValue math_nextafter(math *m, MlirValue x, MlirValue y) {
  loom_builder *b = m->b;
  MlirValue bits = math_bits(m, x), one = math_int(m, 1);
  MlirValue least = math_copysign(m, math_from_bits(m, one), y);
  MlirValue up = lane_cmpf(b, "ogt", math_abs(m, x), math_const(m, 0));
  MlirValue rising = lane_cmpf(b, "olt", x, y);
  MlirValue outwards = lane_op2(b, "arith.xori", rising, math_test(m, "olt", x, 0));
  MlirValue step = lane_select(b, outwards, one, math_int(m, -1));
  MlirValue moved = math_from_bits(m, lane_op2(b, "arith.addi", bits, step));
  MlirValue result = math_pick(m, up, moved, least), size = math_abs(m, result);
  MlirValue differ = lane_cmpf(b, "one", x, y);
  MlirValue over = lane_op2(b, "arith.andi", math_test(m, "oeq", size, INFINITY), differ);
  MlirValue finite = math_test(m, "olt", math_abs(m, x), INFINITY);
  math_flag(m, lane_op2(b, "arith.andi", over, finite), LOOM_FP_OVERFLOW);
  MlirValue under = math_test(m, "olt", size, m->f64 ? 2.2250738585072014e-308 : 1.17549435e-38);
  math_flag(m, lane_op2(b, "arith.andi", under, differ), LOOM_FP_UNDERFLOW);
  result = math_pick(m, differ, result, y);
  return math_pick(m, lane_cmpf(b, "uno", x, y), math_add(m, x, y), result);
}
