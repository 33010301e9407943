/* Arithmetic of one op on registers: NumPy's meaning of each op for each element type. */
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "passes/lower.h"
#include "passes/math.h"

#include <math.h>
#include <string.h>

typedef struct scalar_args {
  lower *l;
  loom_builder *b;
  loom_opcode code;
  loom_dtype dtype;
  MlirType type; /* of the operands */
  MlirValue x, y, z;
} scalar_args;

static MlirValue scalar_int(const scalar_args *a, int64_t value) {
  return lane_const_int(a->b, a->type, value);
}
static MlirValue scalar_float(const scalar_args *a, double value) {
  return lane_const_float(a->b, a->type, value);
}
static int scalar_bits(const scalar_args *a) { return (int)loom_dtype_size(a->dtype) * 8; }

/* ---- integers ---- */

static void scalar_flag(const scalar_args *a, MlirValue condition, uint32_t flag) {
  lower_flag(a->l, (lower_value){condition, lower_level_of(a->l, a->b), true, LOOM_BOOL}, flag);
}

/* The truncated quotient. No vector unit divides integers; a float quotient whose mantissa holds
 * the dividend truncates to the right one, since it is off by less than 1 / divisor. */
static MlirValue scalar_quotient(const scalar_args *a, bool is_signed, MlirValue divisor) {
  loom_builder *b = a->b;
  int bits = scalar_bits(a);
  if (bits > 32 || (bits == 32 && !is_signed) || lane_width(a->type) == 1)
    return lane_op2(b, is_signed ? "arith.divsi" : "arith.divui", a->x, divisor);
  MlirType i32 = lane_like(a->type, mlirIntegerTypeGet(b->ctx, 32));
  MlirType real = lane_like(a->type, bits == 32 ? mlirF64TypeGet(b->ctx) : mlirF32TypeGet(b->ctx));
  MlirValue x = a->x, y = divisor;
  if (bits < 32) {
    x = loom_build1(b, is_signed ? "arith.extsi" : "arith.extui", x, i32);
    y = loom_build1(b, is_signed ? "arith.extsi" : "arith.extui", y, i32);
  }
  x = loom_build1(b, "arith.sitofp", x, real);
  y = loom_build1(b, "arith.sitofp", y, real);
  MlirValue q = loom_build1(b, "arith.fptosi", lane_op2(b, "arith.divf", x, y), i32);
  return bits < 32 ? loom_build1(b, "arith.trunci", q, a->type) : q;
}

/* floor_div, rem and fmod of integers: the divisor is made 1 where the hardware would trap. */
static MlirValue scalar_divide(const scalar_args *a) {
  bool is_signed = loom_dtype_is_signed(a->dtype);
  MlirValue zero = scalar_int(a, 0), by_zero = lane_cmpi(a->b, "eq", a->y, zero), trap = by_zero;
  scalar_flag(a, by_zero, LOOM_FP_DIVIDE);
  MlirValue overflow = {NULL};
  if (is_signed) {
    int64_t lowest = (int64_t)(UINT64_MAX << (scalar_bits(a) - 1));
    MlirValue low = lane_cmpi(a->b, "eq", a->x, scalar_int(a, lowest));
    overflow = lane_op2(a->b, "arith.andi", low, lane_cmpi(a->b, "eq", a->y, scalar_int(a, -1)));
    trap = lane_op2(a->b, "arith.ori", by_zero, overflow);
    if (a->code == LOOM_OP_FLOOR_DIV) scalar_flag(a, overflow, LOOM_FP_OVERFLOW);
  }
  MlirValue divisor = lane_select(a->b, trap, scalar_int(a, 1), a->y);
  MlirValue q = scalar_quotient(a, is_signed, divisor);
  MlirValue r = lane_op2(a->b, "arith.subi", a->x, lane_op2(a->b, "arith.muli", q, divisor));
  if (is_signed && a->code != LOOM_OP_FMOD) {
    MlirValue differ = lane_cmpi(a->b, "slt", lane_op2(a->b, "arith.xori", r, divisor), zero);
    MlirValue adjust = lane_op2(a->b, "arith.andi", lane_cmpi(a->b, "ne", r, zero), differ);
    q = lane_op2(a->b, "arith.subi", q, lane_select(a->b, adjust, scalar_int(a, 1), zero));
    r = lane_op2(a->b, "arith.addi", r, lane_select(a->b, adjust, divisor, zero));
  }
  return lane_select(a->b, by_zero, zero, a->code == LOOM_OP_FLOOR_DIV ? q : r);
}

static MlirValue scalar_shift(const scalar_args *a, bool left) {
  MlirValue limit = scalar_int(a, scalar_bits(a));
  MlirValue in_range = lane_cmpi(a->b, "ult", a->y, limit);
  MlirValue count = lane_select(a->b, in_range, a->y, scalar_int(a, left ? 0 : scalar_bits(a) - 1));
  if (left)
    return lane_select(a->b, in_range, lane_op2(a->b, "arith.shli", a->x, count), scalar_int(a, 0));
  if (loom_dtype_is_signed(a->dtype)) return lane_op2(a->b, "arith.shrsi", a->x, count);
  return lane_select(a->b, in_range, lane_op2(a->b, "arith.shrui", a->x, count), scalar_int(a, 0));
}

static MlirValue scalar_int_abs(const scalar_args *a, MlirValue x) {
  if (!loom_dtype_is_signed(a->dtype)) return x;
  MlirValue zero = scalar_int(a, 0);
  return lane_select(a->b, lane_cmpi(a->b, "slt", x, zero), lane_op2(a->b, "arith.subi", zero, x),
                     x);
}

static MlirValue scalar_gcd(const scalar_args *a) {
  return lower_int_gcd(a->b, scalar_int_abs(a, a->x), scalar_int_abs(a, a->y), scalar_bits(a));
}

static MlirValue scalar_int_extreme(const scalar_args *a, bool max) {
  bool is_signed = loom_dtype_is_signed(a->dtype);
  const char *predicate = max ? (is_signed ? "sgt" : "ugt") : (is_signed ? "slt" : "ult");
  return lane_select(a->b, lane_cmpi(a->b, predicate, a->x, a->y), a->x, a->y);
}

static MlirValue scalar_int_sign(const scalar_args *a) {
  MlirValue zero = scalar_int(a, 0), one = scalar_int(a, 1);
  MlirValue positive = lane_select(a->b, lane_cmpi(a->b, "ne", a->x, zero), one, zero);
  if (!loom_dtype_is_signed(a->dtype)) return positive;
  return lane_select(a->b, lane_cmpi(a->b, "slt", a->x, zero), scalar_int(a, -1), positive);
}

static MlirValue scalar_integer(const scalar_args *a) {
  loom_builder *b = a->b;
  MlirValue none = {NULL};
  switch (a->code) {
  case LOOM_OP_ABS: return scalar_int_abs(a, a->x);
  case LOOM_OP_NEG: return lane_op2(b, "arith.subi", scalar_int(a, 0), a->x);
  case LOOM_OP_SIGN: return scalar_int_sign(a);
  case LOOM_OP_NOT: return lane_op2(b, "arith.xori", a->x, scalar_int(a, -1));
  case LOOM_OP_CEIL:
  case LOOM_OP_FLOOR:
  case LOOM_OP_TRUNC:
  case LOOM_OP_ROUND_EVEN: return a->x;
  case LOOM_OP_POPCOUNT: return lane_op1(b, "llvm.intr.ctpop", scalar_int_abs(a, a->x));
  case LOOM_OP_ADD: return lane_op2(b, "arith.addi", a->x, a->y);
  case LOOM_OP_SUB: return lane_op2(b, "arith.subi", a->x, a->y);
  case LOOM_OP_MUL: return lane_op2(b, "arith.muli", a->x, a->y);
  case LOOM_OP_FLOOR_DIV:
  case LOOM_OP_REM:
  case LOOM_OP_FMOD: return scalar_divide(a);
  case LOOM_OP_POW: return lower_int_power(b, a->x, a->y);
  case LOOM_OP_GCD: return scalar_gcd(a);
  case LOOM_OP_MAX:
  case LOOM_OP_FMAX: return scalar_int_extreme(a, true);
  case LOOM_OP_MIN:
  case LOOM_OP_FMIN: return scalar_int_extreme(a, false);
  case LOOM_OP_AND: return lane_op2(b, "arith.andi", a->x, a->y);
  case LOOM_OP_OR: return lane_op2(b, "arith.ori", a->x, a->y);
  case LOOM_OP_XOR: return lane_op2(b, "arith.xori", a->x, a->y);
  case LOOM_OP_SHL: return scalar_shift(a, true);
  case LOOM_OP_SHR: return scalar_shift(a, false);
  default: return none;
  }
}

static MlirValue scalar_bool(const scalar_args *a) {
  loom_builder *b = a->b;
  MlirValue none = {NULL};
  switch (a->code) {
  case LOOM_OP_CEIL:
  case LOOM_OP_FLOOR:
  case LOOM_OP_TRUNC:
  case LOOM_OP_ROUND_EVEN: return a->x;
  case LOOM_OP_ABS: return lane_op2(b, "arith.ori", a->x, a->x); /* any byte but 0 becomes 1 */
  case LOOM_OP_NOT: return lane_op2(b, "arith.xori", a->x, scalar_int(a, 1));
  case LOOM_OP_ADD:
  case LOOM_OP_OR:
  case LOOM_OP_MAX:
  case LOOM_OP_FMAX: return lane_op2(b, "arith.ori", a->x, a->y);
  case LOOM_OP_MUL:
  case LOOM_OP_AND:
  case LOOM_OP_MIN:
  case LOOM_OP_FMIN: return lane_op2(b, "arith.andi", a->x, a->y);
  case LOOM_OP_XOR:
  case LOOM_OP_SUB: return lane_op2(b, "arith.xori", a->x, a->y);
  default: return none;
  }
}

/* ---- floats ---- */

/* np.maximum: NaN if either is, of two zeros any. x86's max gives the second operand where one is
 * NaN; the first one's NaN is put back. */
static MlirValue scalar_float_extreme(const scalar_args *a, bool max) {
  MlirContext ctx = a->b->ctx;
  loom_named flags = {"fastmath", mlirAttributeParseGet(ctx, loom_str("#arith.fastmath<nsz>"))};
  MlirValue operands[] = {a->x, a->y};
  MlirType type = mlirValueGetType(a->x);
  return loom_result(
      loom_build(a->b, max ? "arith.maximumf" : "arith.minimumf", 2, operands, 1, &type, 1, &flags),
      0);
}
/* np.fmax: the other where one is NaN. */
static MlirValue scalar_float_fextreme(const scalar_args *a, bool max) {
  const char *predicate = max ? "ogt" : "olt";
  MlirValue r = lane_select(a->b, lane_cmpf(a->b, predicate, a->x, a->y), a->x, a->y);
  return lane_select(a->b, lane_cmpf(a->b, "uno", a->y, a->y), a->x, r);
}

static MlirValue scalar_float_sign(const scalar_args *a) {
  MlirValue zero = scalar_float(a, 0);
  MlirValue unit =
      lane_select(a->b, lane_cmpf(a->b, "ogt", a->x, zero), scalar_float(a, 1),
                  lane_select(a->b, lane_cmpf(a->b, "olt", a->x, zero), scalar_float(a, -1), zero));
  return lane_select(a->b, lane_cmpf(a->b, "uno", a->x, a->x), a->x, unit);
}

static MlirValue scalar_predicate(const scalar_args *a) {
  loom_builder *b = a->b;
  unsigned bits = (unsigned)scalar_bits(a);
  MlirType ints = lane_like(a->type, mlirIntegerTypeGet(b->ctx, bits));
  if (!loom_dtype_is_float(a->dtype)) {
    MlirType i1 = lane_like(a->type, mlirIntegerTypeGet(b->ctx, 1));
    if (a->code == LOOM_OP_SIGNBIT && loom_dtype_is_signed(a->dtype))
      return lane_cmpi(b, "slt", a->x, scalar_int(a, 0));
    return lane_const_int(b, i1, a->code == LOOM_OP_IS_FINITE);
  }
  MlirValue raw = loom_build1(b, "arith.bitcast", a->x, ints);
  if (a->code == LOOM_OP_SIGNBIT) return lane_cmpi(b, "slt", raw, lane_const_int(b, ints, 0));
  /* By the exponent's bits, so that a signalling NaN raises nothing. */
  int64_t infinity = bits == 64 ? 0x7ff0000000000000 : 0x7f800000;
  int64_t magnitude = bits == 64 ? INT64_MAX : (int64_t)((1ull << (bits - 1)) - 1);
  raw = lane_op2(b, "arith.andi", raw, lane_const_int(b, ints, magnitude));
  const char *predicate = a->code == LOOM_OP_IS_NAN   ? "sgt"
                          : a->code == LOOM_OP_IS_INF ? "eq"
                                                      : "slt";
  return lane_cmpi(b, predicate, raw, lane_const_int(b, ints, infinity));
}

/* The user's own sums and products. Only these are for LLVM to contract and regroup, when that is
 * allowed: what polynomials are made of has to stay as it is. */
static MlirValue scalar_arithmetic(const scalar_args *a, const char *name) {
  MlirValue v = lane_op2(a->b, name, a->x, a->y);
  if (a->l && a->l->kernel->fastmath)
    loom_set_attr(loom_def(v), "fastmath",
                  mlirAttributeParseGet(a->b->ctx, loom_str("#arith.fastmath<reassoc,contract>")));
  return v;
}

static MlirValue scalar_floating(const scalar_args *a) {
  loom_builder *b = a->b;
  MlirValue one;
  switch (a->code) {
  case LOOM_OP_ABS: return lane_op1(b, "llvm.intr.fabs", a->x);
  case LOOM_OP_NEG: return lane_op1(b, "arith.negf", a->x);
  case LOOM_OP_SIGN: return scalar_float_sign(a);
  case LOOM_OP_CEIL: return lane_op1(b, "llvm.intr.ceil", a->x);
  case LOOM_OP_FLOOR: return lane_op1(b, "llvm.intr.floor", a->x);
  case LOOM_OP_TRUNC: return lane_op1(b, "llvm.intr.trunc", a->x);
  case LOOM_OP_ROUND_EVEN: return lane_op1(b, "llvm.intr.roundeven", a->x);
  case LOOM_OP_SQRT: return lane_op1(b, "llvm.intr.sqrt", a->x);
  case LOOM_OP_RSQRT:
    one = scalar_float(a, 1);
    return lane_op2(b, "arith.divf", one, lane_op1(b, "llvm.intr.sqrt", a->x));
  case LOOM_OP_ADD: return scalar_arithmetic(a, "arith.addf");
  case LOOM_OP_SUB: return scalar_arithmetic(a, "arith.subf");
  case LOOM_OP_MUL: return scalar_arithmetic(a, "arith.mulf");
  case LOOM_OP_MUL_ADD: return lane_fma(b, a->x, a->y, a->z);
  case LOOM_OP_DIV: return lane_op2(b, "arith.divf", a->x, a->y);
  case LOOM_OP_MAX: return scalar_float_extreme(a, true);
  case LOOM_OP_MIN: return scalar_float_extreme(a, false);
  case LOOM_OP_FMAX: return scalar_float_fextreme(a, true);
  case LOOM_OP_FMIN: return scalar_float_fextreme(a, false);
  case LOOM_OP_COPYSIGN: return lane_op2(b, "llvm.intr.copysign", a->x, a->y);
  case LOOM_OP_BESIDE: /* targets/x86/fence.c computes what is frozen for nobody */
    lane_op1(b, "llvm.freeze", a->y);
    return a->x;
  default: return lower_math(a->l, b, a->code, a->dtype, a->x, a->y);
  }
}

/* The neighbour among the values of float16 or bfloat16: as for f32, on the bits in memory. */
static MlirValue scalar_half_next(const scalar_args *a) {
  loom_builder *b = a->b;
  MlirValue bits = lane_to_memory(b, a->x, a->dtype), zero = scalar_float(a, 0);
  MlirType ints = mlirValueGetType(bits);
  MlirValue outwards =
      lane_op2(b, "arith.xori", lane_cmpf(b, "olt", a->x, a->y), lane_cmpf(b, "olt", a->x, zero));
  MlirValue step =
      lane_select(b, outwards, lane_const_int(b, ints, 1), lane_const_int(b, ints, -1));
  MlirValue moved = lane_from_memory(b, lane_op2(b, "arith.addi", bits, step), a->dtype);
  MlirValue least = lane_from_memory(b, lane_const_int(b, ints, 1), a->dtype);
  least = lane_op2(b, "llvm.intr.copysign", least, a->y);
  MlirValue next = lane_select(b, lane_cmpf(b, "oeq", a->x, zero), least, moved);
  MlirValue size = lane_op1(b, "llvm.intr.fabs", next), endless = scalar_float(a, INFINITY);
  MlirValue differ = lane_cmpf(b, "one", a->x, a->y);
  MlirValue over = lane_op2(b, "arith.andi", lane_cmpf(b, "oeq", size, endless), differ);
  MlirValue finite = lane_cmpf(b, "olt", lane_op1(b, "llvm.intr.fabs", a->x), endless);
  if (a->l) scalar_flag(a, lane_op2(b, "arith.andi", over, finite), LOOM_FP_OVERFLOW);
  next = lane_select(b, differ, next, a->dtype == LOOM_F16 ? a->x : a->y); /* NumPy's own */
  MlirValue nan = lane_cmpf(b, "uno", a->x, a->y);
  return lane_select(b, nan, lane_op2(b, "arith.addf", a->x, a->y), next);
}

/* Floats of any width: half ones are computed in f32 and rounded, unless the result is exact. */
static MlirValue scalar_rounded(const scalar_args *a) {
  if (!loom_dtype_is_half(a->dtype)) return scalar_floating(a);
  if (a->code == LOOM_OP_NEXTAFTER) return scalar_half_next(a);
  scalar_args wide = *a;
  wide.dtype = LOOM_F32;
  MlirValue result = scalar_floating(&wide);
  return loom_op_table[a->code].exact ? result : lane_round(a->b, a->dtype, result);
}

/* ---- comparisons, conversions ---- */

static MlirValue scalar_compare(const scalar_args *a, MlirStringRef direction) {
  static const char *const names[] = {"eq", "ne", "lt", "le", "gt", "ge"};
  static const char *const floats[] = {"oeq", "une", "olt", "ole", "ogt", "oge"};
  static const char *const ints[] = {"eq", "ne", "slt", "sle", "sgt", "sge"};
  static const char *const words[] = {"eq", "ne", "ult", "ule", "ugt", "uge"};
  for (int i = 0; i < 6; i++) {
    if (!loom_str_is(direction, names[i])) continue;
    if (loom_dtype_is_float(a->dtype)) return lane_cmpf(a->b, floats[i], a->x, a->y);
    return lane_cmpi(a->b, loom_dtype_is_signed(a->dtype) ? ints[i] : words[i], a->x, a->y);
  }
  return (MlirValue){NULL};
}

MlirValue lower_combine(loom_builder *b, const char *kind, loom_dtype dtype, MlirValue x,
                        MlirValue y) {
  static const struct {
    const char *kind;
    loom_opcode code;
  } kinds[] = {{"sum", LOOM_OP_ADD}, {"prod", LOOM_OP_MUL}, {"min", LOOM_OP_MIN},
               {"max", LOOM_OP_MAX}, {"and", LOOM_OP_AND},  {"or", LOOM_OP_OR}};
  scalar_args a = {NULL, b, LOOM_OP_ADD, dtype, mlirValueGetType(x), x, y, {NULL}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].kind, kind) != 0) continue;
    a.code = kinds[i].code;
    if (dtype == LOOM_BOOL) return scalar_bool(&a);
    return loom_dtype_is_float(dtype) ? scalar_rounded(&a) : scalar_integer(&a);
  }
  return (MlirValue){NULL};
}

/* Is the value one that no loop of NumPy reports as out of range for uint32? NumPy's loops over
 * vectors convert by way of 32 bits and report values beyond these. Its loops over single elements,
 * also over those behind the last whole vector, convert by way of 64 bits and give another number.
 * Which loop sees an element is NumPy's choice, so NumPy runs again where one loop may have
 * reported. */
static MlirValue scalar_fits_u32(loom_builder *b, MlirValue value, loom_dtype from) {
  MlirType shape = mlirValueGetType(value);
  bool wide = from == LOOM_F64; /* -2147483648.5 truncates into range */
  MlirValue low = lane_const_float(b, shape, wide ? -2147483649.0 : -2147483648.0);
  MlirValue high = lane_const_float(b, shape, 4294967296.0);
  return lane_op2(b, "arith.andi", lane_cmpf(b, wide ? "ogt" : "oge", value, low),
                  lane_cmpf(b, "olt", value, high));
}

/* Float to integer as C compiled for x86-64 does it: 32 and 64 bits signed by cvttss2si, which
 * gives the lowest value out of range; narrower types by way of 32 bits, and uint32 by way of 64.
 * The conversion itself is poison out of range in LLVM, so the operand is replaced there first. */
static MlirValue scalar_to_int(lower *l, loom_builder *b, MlirValue value, loom_dtype from,
                               loom_dtype to) {
  MlirType shape = mlirValueGetType(value);
  unsigned bits = to == LOOM_I64 || to == LOOM_U64 || to == LOOM_U32 ? 64 : 32;
  MlirType wide = lane_like(shape, mlirIntegerTypeGet(b->ctx, bits));
  double limit = bits == 64 ? 9223372036854775808.0 : 2147483648.0;
  MlirValue high = lane_const_float(b, shape, limit), low = lane_const_float(b, shape, -limit);
  MlirValue source = value, top = {NULL};
  if (to == LOOM_U64) { /* above 2^63: subtract it first, and put the bit back */
    top = lane_cmpf(b, "oge", value, high);
    source = lane_select(b, top, lane_op2(b, "arith.subf", value, high), value);
  }
  MlirValue fits = lane_op2(b, "arith.andi", lane_cmpf(b, "oge", source, low),
                            lane_cmpf(b, "olt", source, high));
  if (from == LOOM_F64 && bits == 32) /* -2147483648.5 truncates into range */
    fits = lane_op2(b, "arith.andi",
                    lane_cmpf(b, "ogt", source, lane_const_float(b, shape, -limit - 1)),
                    lane_cmpf(b, "olt", source, high));
  MlirType i1 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 1));
  scalar_args a = {l, b, LOOM_OP_CONVERT, from, shape, value, {NULL}, {NULL}};
  MlirValue told = to == LOOM_U32 && l ? scalar_fits_u32(b, value, from) : fits;
  if (l)
    scalar_flag(&a, lane_op2(b, "arith.xori", told, lane_const_int(b, i1, -1)), LOOM_FP_INVALID);
  MlirValue safe = lane_select(b, fits, source, lane_const_float(b, shape, 0));
  MlirValue out = loom_build1(b, "arith.fptosi", safe, wide);
  MlirValue lowest = lane_const_int(b, wide, bits == 64 ? INT64_MIN : INT32_MIN);
  out = lane_select(b, fits, out, lowest);
  if (top.ptr)
    out = lane_op2(b, "arith.xori", out, lane_select(b, top, lowest, lane_const_int(b, wide, 0)));
  unsigned want = (unsigned)loom_dtype_size(to) * 8;
  if (want < bits)
    out = loom_build1(b, "arith.trunci", out, lane_like(shape, mlirIntegerTypeGet(b->ctx, want)));
  return out;
}

MlirValue lower_convert(lower *l, loom_builder *b, MlirValue value, loom_dtype from,
                        loom_dtype to) {
  MlirType shape = mlirValueGetType(value), type = lane_like(shape, lane_type(b->ctx, to, 1));
  if (from == to) return value;
  bool float_from = loom_dtype_is_float(from), float_to = loom_dtype_is_float(to);
  if (to == LOOM_BOOL)
    return float_from ? lane_cmpf(b, "une", value, lane_const_float(b, shape, 0))
                      : lane_cmpi(b, "ne", value, lane_const_int(b, shape, 0));
  if (loom_dtype_is_half(from)) return lower_convert(l, b, value, LOOM_F32, to);
  if (loom_dtype_is_half(to)) {
    /* Integers beyond f32's are beyond float16's too, but not beyond bfloat16's. */
    bool exact = to == LOOM_F16 || loom_dtype_size(from) <= 2;
    if (!float_from) value = lower_convert(l, b, value, from, exact ? LOOM_F32 : LOOM_F64);
    return lane_round(b, to, value);
  }
  if (float_from && float_to) {
    size_t a = loom_dtype_size(from), c = loom_dtype_size(to);
    return a == c ? value : loom_build1(b, a < c ? "arith.extf" : "arith.truncf", value, type);
  }
  if (float_from) return scalar_to_int(l, b, value, from, to);
  bool is_signed = loom_dtype_is_signed(from);
  if (float_to) return loom_build1(b, is_signed ? "arith.sitofp" : "arith.uitofp", value, type);
  size_t a = loom_dtype_size(from), c = loom_dtype_size(to);
  if (from == LOOM_BOOL) return loom_build1(b, "arith.extui", value, type);
  if (a == c) return value;
  if (a > c) return loom_build1(b, "arith.trunci", value, type);
  return loom_build1(b, is_signed ? "arith.extsi" : "arith.extui", value, type);
}

static bool scalar_known_dtype(loom_dtype dtype) { return !loom_dtype_is_complex(dtype); }

static MlirValue scalar_bitcast(const scalar_args *a, loom_dtype to) {
  MlirValue bits = a->x;
  MlirType from = lane_like(a->type, lane_memory_type(a->b->ctx, to, 1));
  bool memory = loom_dtype_is_half(a->dtype) || a->dtype == LOOM_BOOL;
  if (memory) bits = lane_to_memory(a->b, bits, a->dtype);
  if (!mlirTypeEqual(mlirValueGetType(bits), from))
    bits = loom_build1(a->b, "arith.bitcast", bits, from);
  bool differs = loom_dtype_is_half(to) || to == LOOM_BOOL; /* from what memory has */
  return differs ? lane_from_memory(a->b, bits, to) : bits;
}

MlirValue lower_scalar(lower *l, loom_builder *b, MlirOperation op, loom_opcode code,
                       loom_dtype dtype, MlirValue *args) {
  MlirValue none = {NULL};
  if (!scalar_known_dtype(dtype)) return none;
  intptr_t count = mlirOperationGetNumOperands(op);
  scalar_args a = {l, b, code, dtype, mlirValueGetType(args[0]), args[0], none, none};
  if (count > 1) a.y = args[1];
  if (count > 2) a.z = args[2];
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type)) return none;
  switch (code) {
  case LOOM_OP_SELECT: return lane_select(b, args[0], args[1], args[2]);
  case LOOM_OP_COMPARE: {
    MlirValue truth = scalar_compare(&a, loom_get_str(op, "direction"));
    if (!mlirAttributeIsNull(loom_get_attr(op, loom_mark_signals))) lane_signals(b, truth);
    return truth;
  }
  case LOOM_OP_CONVERT:
    return scalar_known_dtype(type.dtype) ? lower_convert(l, b, a.x, dtype, type.dtype) : none;
  case LOOM_OP_BITCAST: return scalar_bitcast(&a, type.dtype);
  case LOOM_OP_IS_NAN:
  case LOOM_OP_IS_INF:
  case LOOM_OP_IS_FINITE:
  case LOOM_OP_SIGNBIT:
    if (loom_dtype_is_half(dtype)) a.dtype = LOOM_F32;
    return scalar_predicate(&a);
  default: break;
  }
  if (dtype == LOOM_BOOL) return scalar_bool(&a);
  return loom_dtype_is_float(dtype) ? scalar_rounded(&a) : scalar_integer(&a);
}

int lower_cost(loom_opcode code, loom_dtype dtype) {
  const loom_op_info *info = &loom_op_table[code];
  return dtype == LOOM_F64 ? info->cost_f64 : info->cost;
}
