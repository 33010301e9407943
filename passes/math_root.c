/* Cube roots and hypotenuses. */
#include "passes/math.h"

#include <math.h>

/* x^(-1/3) on [1, 2] to 4e-5. */
static const double root_cube[] = {1.670021026790868, -1.1728982373518144, 0.6954782172452784,
                                   -0.22122575275523554, 0.02858742194595232};

/* x as z 2^(3n) with 1 <= z < 8, by the bits; 2^n too, and 2^(-r/3) for z = mantissa 2^r. */
static MlirValue root_split(math *m, MlirValue x, MlirValue *mantissa, MlirValue *scale,
                            MlirValue *turn) {
  int fraction = m->f64 ? 52 : 23, up = m->f64 ? 54 : 24;
  MlirValue tiny = math_test(m, "olt", x, m->f64 ? 2.2250738585072014e-308 : 1.17549435e-38);
  x = math_pick(m, tiny, math_scale(m, x, m->f64 ? 18014398509481984.0 : 16777216.0), x);
  MlirValue bits = math_bits(m, x), low = math_iop(m, "arith.andi", bits, (1ll << fraction) - 1);
  /* With a bias that is a multiple of 3; 43691 / 2^17 divides by 3. */
  MlirValue e = math_iop(m, "arith.shrui", bits, fraction);
  if (!m->f64) e = math_iop(m, "arith.addi", e, 2);
  MlirValue third = math_iop(m, "arith.shrui", math_iop(m, "arith.muli", e, 43691), 17);
  MlirValue r = lane_op2(m->b, "arith.subi", e, math_iop(m, "arith.muli", third, 3));
  MlirValue n = math_iop(m, "arith.subi", third, m->f64 ? 341 : 43);
  n = lane_op2(m->b, "arith.subi", n, lane_select(m->b, tiny, math_int(m, up / 3), math_int(m, 0)));
  int bias = m->f64 ? 1023 : 127;
  *mantissa = math_from_bits(m, math_iop(m, "arith.ori", low, (int64_t)bias << fraction));
  n = math_iop(m, "arith.addi", n, bias);
  *scale = math_from_bits(m, math_iop(m, "arith.shli", n, fraction));
  MlirValue two = lane_cmpi(m->b, "eq", r, math_int(m, 2));
  MlirValue some = lane_cmpi(m->b, "ne", r, math_int(m, 0));
  *turn = math_pick(m, two, math_const(m, 0.6299605249474366), math_const(m, 0.7937005259840998));
  *turn = math_pick(m, some, *turn, math_const(m, 1));
  r = math_iop(m, "arith.shli", math_iop(m, "arith.addi", r, bias), fraction);
  return math_mul(m, *mantissa, math_from_bits(m, r));
}

/* y near z^(-1/3), refined; c = z y^2 near the cube root, corrected by (z - c^3) / (3 c^2) with
 * z - c^3 exact to the last place. */
MlirValue math_cbrt(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), one = math_const(m, 1), mantissa, scale, turn;
  MlirValue plain =
      lane_op2(m->b, "arith.andi", math_test(m, "ogt", a, 0), math_test(m, "olt", a, INFINITY));
  MlirValue z = root_split(m, math_pick(m, plain, a, one), &mantissa, &scale, &turn);
  MlirValue y = math_mul(m, math_poly(m, mantissa, root_cube, 5, root_cube, 5), turn);
  if (m->f64) { /* y (1 + h / 3 + 2 h^2 / 9) with h = 1 - z y^3 */
    MlirValue cube = math_mul(m, math_mul(m, y, y), y);
    MlirValue h = math_fma(m, math_neg(m, z), cube, one);
    MlirValue by =
        math_fma(m, h, math_const(m, 0.2222222222222222), math_const(m, 0.3333333333333333));
    y = math_fma(m, math_mul(m, y, h), by, y);
  }
  MlirValue square = math_mul(m, y, y), c = math_mul(m, z, square);
  MlirValue high = math_mul(m, c, c), low = math_fma(m, c, c, math_neg(m, high));
  MlirValue back = math_neg(m, c);
  MlirValue rest = math_fma(m, back, low, math_fma(m, back, high, z));
  MlirValue root = math_fma(m, rest, math_scale(m, square, 0.3333333333333333), c);
  root = math_mul(m, root, scale);
  return math_copysign(m, math_pick(m, plain, root, x), x);
}

/* Squares of numbers scaled by a power of two that keeps them in range. */
MlirValue math_hypot(math *m, MlirValue x, MlirValue y) {
  MlirValue a = math_abs(m, x), c = math_abs(m, y), infinity = math_const(m, INFINITY);
  MlirValue endless = lane_op2(m->b, "arith.ori", math_test(m, "oeq", a, INFINITY),
                               math_test(m, "oeq", c, INFINITY));
  MlirValue one = math_const(m, 1), most = lane_select(m->b, lane_cmpf(m->b, "ogt", a, c), a, c);
  double limit = m->f64 ? 0x1p500 : 0x1p60, by = m->f64 ? 0x1p600 : 0x1p70;
  MlirValue big = math_test(m, "ogt", most, limit), small = math_test(m, "olt", most, 1 / limit);
  MlirValue down = math_const(m, 1 / by), up = math_const(m, by);
  MlirValue scale = math_pick(m, big, down, math_pick(m, small, up, one));
  MlirValue back = math_pick(m, big, up, math_pick(m, small, down, one));
  a = math_mul(m, math_pick(m, endless, one, a), scale);
  c = math_mul(m, math_pick(m, endless, one, c), scale);
  MlirValue root = math_sqrt(m, math_fma(m, a, a, math_mul(m, c, c)));
  return math_pick(m, endless, infinity, math_mul(m, root, back));
}
