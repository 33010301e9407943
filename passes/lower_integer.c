/* Functions of integers whose number of steps depends on the elements: loops that end when no lane
 * needs another step. */
#include "dialects/ir.h"
#include "passes/lower.h"

/* ---- powers ---- */

#define POWER_MOST 255 /* constant exponents up to this are products without a loop */

static MlirValue power_more(loom_builder *b, const void *user, const MlirValue *v) {
  return lane_cmpi(b, "ne", v[2], lane_const_int(b, mlirValueGetType(v[2]), 0));
}

/* One bit of the exponent: result, base, exponent. */
static void power_step(loom_builder *b, const void *user, MlirValue *v) {
  MlirType type = mlirValueGetType(v[0]);
  MlirValue one = lane_const_int(b, type, 1), zero = lane_const_int(b, type, 0);
  MlirValue odd = lane_cmpi(b, "ne", lane_op2(b, "arith.andi", v[2], one), zero);
  v[0] = lane_select(b, odd, lane_op2(b, "arith.muli", v[0], v[1]), v[0]);
  v[1] = lane_op2(b, "arith.muli", v[1], v[1]);
  v[2] = lane_op2(b, "arith.shrui", v[2], one);
}

MlirValue lower_int_power(loom_builder *b, MlirValue x, MlirValue y) {
  MlirValue one = lane_const_int(b, mlirValueGetType(x), 1);
  MlirAttribute known = lane_constant_of(y);
  if (known.ptr && mlirAttributeIsAInteger(known)) {
    int64_t n = mlirIntegerAttrGetValueInt(known);
    MlirValue square = x, out = {NULL};
    if (n == 0) return one;
    if (n > 0 && n <= POWER_MOST) {
      for (; n; n >>= 1) {
        if (n & 1) out = out.ptr ? lane_op2(b, "arith.muli", out, square) : square;
        if (n > 1) square = lane_op2(b, "arith.muli", square, square);
      }
      return out;
    }
  }
  MlirValue v[] = {one, x, y};
  lane_while(b, 3, v, power_more, power_step, NULL);
  return v[0];
}

/* ---- greatest common divisors ---- */

/* The number of zeros below the lowest bit that is set; of 0, one less than there are bits. */
static MlirValue gcd_zeros(loom_builder *b, MlirValue x, int bits) {
  MlirType type = mlirValueGetType(x);
  MlirValue top = lane_const_int(b, type, (int64_t)(UINT64_MAX << (bits - 1)));
  loom_named poison = {"is_zero_poison", mlirBoolAttrGet(b->ctx, true)};
  MlirValue some = lane_op2(b, "arith.ori", x, top);
  return loom_result(loom_build(b, "llvm.intr.cttz", 1, &some, 1, &type, 1, &poison), 0);
}

static MlirValue gcd_more(loom_builder *b, const void *user, const MlirValue *v) {
  return lane_cmpi(b, "ne", v[1], lane_const_int(b, mlirValueGetType(v[1]), 0));
}

/* u is odd. A lane in which v is 0 stands still. */
static void gcd_step(loom_builder *b, const void *user, MlirValue *v) {
  MlirType type = mlirValueGetType(v[0]);
  MlirValue zero = lane_const_int(b, type, 0), u = v[0];
  MlirValue rest = lane_op2(b, "arith.shrui", v[1], gcd_zeros(b, v[1], *(const int *)user));
  MlirValue more = lane_cmpi(b, "ne", rest, zero), less = lane_cmpi(b, "ult", rest, u);
  MlirValue down = lane_op2(b, "arith.subi", rest, u), up = lane_op2(b, "arith.subi", u, rest);
  v[0] = lane_select(b, lane_op2(b, "arith.andi", more, less), rest, u);
  v[1] = lane_select(b, more, lane_select(b, less, up, down), zero);
}

MlirValue lower_int_gcd(loom_builder *b, MlirValue x, MlirValue y, int bits) {
  MlirType type = mlirValueGetType(x), i32 = lane_like(type, mlirIntegerTypeGet(b->ctx, 32));
  if (bits < 32) { /* few CPUs shift each lane of these by a number of its own */
    MlirValue wide = lower_int_gcd(b, loom_build1(b, "arith.extui", x, i32),
                                   loom_build1(b, "arith.extui", y, i32), 32);
    return loom_build1(b, "arith.trunci", wide, type);
  }
  MlirValue zero = lane_const_int(b, type, 0), none = lane_cmpi(b, "eq", x, zero);
  MlirValue common = gcd_zeros(b, lane_op2(b, "arith.ori", x, y), bits);
  MlirValue v[] = {lane_select(b, none, y, x), lane_select(b, none, zero, y)};
  v[0] = lane_op2(b, "arith.shrui", v[0], gcd_zeros(b, v[0], bits));
  lane_while(b, 2, v, gcd_more, gcd_step, &bits);
  return lane_op2(b, "arith.shli", v[0], common);
}
