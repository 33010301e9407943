/* Arithmetic on one element, as NumPy defines it: what the interpreter runs and what constants are
 * folded with.
 *
 * A cell holds any element: bool and integers sign- or zero-extended in `i`, floats in `re`,
 * complex in `re` and `im`. Storing rounds or wraps to the dtype. float16, bfloat16 and float32 are
 * computed in double: for + - * / and sqrt that rounds to the same bits as the narrow operation,
 * since a double has more than twice as many bits plus two; where that is not so (the division
 * family) the narrow type is used. Floating-point exceptions are left in the environment, and the
 * integer ones that NumPy reports are raised there too. */
#include "graph/graph.h"
#include "graph/ops.h"

#include <complex.h>
#include <fenv.h>
#include <math.h>
#include <string.h>

#ifndef CMPLX /* the C library's header has it for GCC alone */
#define CMPLX(re, im) __builtin_complex((double)(re), (double)(im))
#endif

#if defined __x86_64__ && defined __GLIBC__
/* 2.35 of the C library has another hypot(), which leaves errno alone. The one before gives the
 * same numbers and flags, and programs that name it run with older versions. */
__asm__(".symver hypot, hypot@GLIBC_2.2.5");
#endif

/* ---- load and store ---- */

loom_cell loom_cell_load(loom_dtype dtype, const void *at) {
  loom_cell cell = {0};
  float parts[2];
#define CELL_LOAD(CASE, TYPE, FIELD)                                                               \
  case CASE: {                                                                                     \
    TYPE value;                                                                                    \
    memcpy(&value, at, sizeof value);                                                              \
    cell.FIELD = value;                                                                            \
    break;                                                                                         \
  }
  switch (dtype) {
  case LOOM_BOOL:
    cell.i = *(const uint8_t *)at != 0;
    break;
    CELL_LOAD(LOOM_I8, int8_t, i)
    CELL_LOAD(LOOM_I16, int16_t, i)
    CELL_LOAD(LOOM_I32, int32_t, i)
    CELL_LOAD(LOOM_I64, int64_t, i)
    CELL_LOAD(LOOM_U8, uint8_t, i)
    CELL_LOAD(LOOM_U16, uint16_t, i)
    CELL_LOAD(LOOM_U32, uint32_t, i)
    CELL_LOAD(LOOM_U64, int64_t, i)
    CELL_LOAD(LOOM_F32, float, re)
    CELL_LOAD(LOOM_F64, double, re)
  case LOOM_F16:
  case LOOM_BF16: {
    uint16_t bits;
    memcpy(&bits, at, sizeof bits);
    cell.re = dtype == LOOM_F16 ? loom_half_to_double(bits) : loom_bfloat_to_double(bits);
    break;
  }
  case LOOM_C64:
    memcpy(parts, at, sizeof parts);
    cell.re = parts[0];
    cell.im = parts[1];
    break;
  case LOOM_C128: memcpy(&cell.re, at, 2 * sizeof(double)); break;
  default: break;
  }
#undef CELL_LOAD
  return cell;
}

static uint16_t cell_narrow(loom_dtype dtype, double value) {
  uint16_t bits = dtype == LOOM_F16 ? loom_half_from_double(value) : loom_bfloat_from_double(value);
  uint16_t infinity = dtype == LOOM_F16 ? 0x7C00 : 0x7F80;
  if (isfinite(value) && (bits & 0x7FFF) == infinity) feraiseexcept(FE_OVERFLOW);
  return bits;
}

void loom_cell_store(loom_dtype dtype, void *at, loom_cell cell) {
  float parts[2] = {(float)0, 0};
  uint16_t bits;
  switch (dtype) {
  case LOOM_BOOL: *(uint8_t *)at = cell.i != 0; break;
  case LOOM_I8:
  case LOOM_I16:
  case LOOM_I32:
  case LOOM_I64:
  case LOOM_U8:
  case LOOM_U16:
  case LOOM_U32:
  case LOOM_U64: memcpy(at, &cell.i, loom_dtype_size(dtype)); break; /* little-endian */
  case LOOM_F16:
  case LOOM_BF16:
    bits = cell_narrow(dtype, cell.re);
    memcpy(at, &bits, sizeof bits);
    break;
  case LOOM_F32:
    parts[0] = (float)cell.re;
    memcpy(at, parts, sizeof(float));
    break;
  case LOOM_F64: memcpy(at, &cell.re, sizeof(double)); break;
  case LOOM_C64:
    parts[0] = (float)cell.re;
    parts[1] = (float)cell.im;
    memcpy(at, parts, sizeof parts);
    break;
  case LOOM_C128: memcpy(at, &cell.re, 2 * sizeof(double)); break;
  default: break;
  }
}

loom_cell loom_cell_round(loom_dtype dtype, loom_cell cell) {
  unsigned char bytes[16];
  loom_cell_store(dtype, bytes, cell);
  return loom_cell_load(dtype, bytes);
}

loom_cell loom_cell_from_attr(loom_dtype dtype, const loom_attr *attr) {
  uint64_t bits[2] = {attr->bits, attr->bits_hi};
  return loom_cell_load(dtype, bits);
}

void loom_cell_to_attr(loom_dtype dtype, loom_cell cell, loom_attr *out) {
  uint64_t bits[2] = {0, 0};
  loom_cell_store(dtype, bits, cell);
  memset(out, 0, sizeof *out);
  out->kind = LOOM_ATTR_SCALAR;
  out->bits = bits[0];
  out->bits_hi = bits[1];
}

static loom_cell cell_int(int64_t i) { return (loom_cell){.i = i}; }
static loom_cell cell_real(double re) { return (loom_cell){.re = re}; }
static loom_cell cell_complex(double complex z) {
  return (loom_cell){.re = creal(z), .im = cimag(z)};
}
static double complex cell_z(loom_cell a) { return CMPLX(a.re, a.im); }

/* ---- what the formulas of loom.td call ---- */

static bool cell_less(loom_dtype dtype, int64_t a, int64_t b) {
  return loom_dtype_is_signed(dtype) ? a < b : (uint64_t)a < (uint64_t)b;
}

/* The magnitude; the least integer wraps. */
static uint64_t cell_abs(loom_dtype dtype, uint64_t a) {
  return cell_less(dtype, (int64_t)a, 0) ? 0 - a : a;
}

static bool cell_divides(loom_dtype dtype, int64_t a, int64_t b, bool raises_overflow) {
  if (b == 0) {
    feraiseexcept(FE_DIVBYZERO);
    return false;
  }
  if (b != -1 || !loom_dtype_is_signed(dtype)) return true;
  int64_t least = (int64_t)(UINT64_MAX << (8 * loom_dtype_size(dtype) - 1));
  if (a == least && raises_overflow) feraiseexcept(FE_OVERFLOW);
  return a != least;
}

static int64_t cell_floor_div(loom_dtype dtype, int64_t a, int64_t b) {
  if (!cell_divides(dtype, a, b, true)) return b == 0 ? 0 : a; /* the least integer by -1 wraps */
  if (!loom_dtype_is_signed(dtype)) return (int64_t)((uint64_t)a / (uint64_t)b);
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static int64_t cell_rem(loom_dtype dtype, int64_t a, int64_t b, bool floored) {
  if (!cell_divides(dtype, a, b, false)) return 0;
  if (!loom_dtype_is_signed(dtype)) return (int64_t)((uint64_t)a % (uint64_t)b);
  int64_t r = a % b;
  return floored && r != 0 && (r < 0) != (b < 0) ? r + b : r;
}

/* Wraps at 64 bits, which agrees with wrapping at fewer. A negative exponent is 1 / power,
 * truncated. */
static int64_t cell_int_pow(loom_dtype dtype, int64_t base, int64_t exponent) {
  if (loom_dtype_is_signed(dtype) && exponent < 0) {
    if (base == -1) return exponent & 1 ? -1 : 1;
    return base == 1;
  }
  uint64_t result = 1, power = (uint64_t)base;
  for (uint64_t e = (uint64_t)exponent; e; e >>= 1, power *= power)
    if (e & 1) result *= power;
  return (int64_t)result;
}

static uint64_t cell_shift_right(loom_dtype dtype, uint64_t a, uint64_t b) {
  bool inside = b < 8 * loom_dtype_size(dtype);
  if (!loom_dtype_is_signed(dtype)) return inside ? a >> b : 0;
  return (uint64_t)((int64_t)a >> (inside ? b : 63));
}

/* npy_divmod: the remainder has the divisor's sign and the quotient is its exact partner rounded to
 * an integer. */
#define CELL_DIVMOD(NAME, TYPE, FMOD, FLOOR, COPYSIGN)                                             \
  static TYPE NAME(TYPE a, TYPE b, TYPE *modulus) {                                                \
    TYPE mod = FMOD(a, b);                                                                         \
    if (b == 0) {                                                                                  \
      *modulus = mod;                                                                              \
      return a / b;                                                                                \
    }                                                                                              \
    TYPE div = (a - mod) / b;                                                                      \
    if (mod != 0) {                                                                                \
      if (isless(b, (TYPE)0) != isless(mod, (TYPE)0)) {                                            \
        mod += b;                                                                                  \
        div -= (TYPE)1;                                                                            \
      }                                                                                            \
    } else {                                                                                       \
      mod = COPYSIGN((TYPE)0, b);                                                                  \
    }                                                                                              \
    *modulus = mod;                                                                                \
    if (div == 0) return COPYSIGN((TYPE)0, a / b);                                                 \
    TYPE floored = FLOOR(div);                                                                     \
    return isgreater(div - floored, (TYPE)0.5) ? floored + (TYPE)1 : floored;                      \
  }
CELL_DIVMOD(cell_divmod64, double, fmod, floor, copysign)
CELL_DIVMOD(cell_divmod32, float, fmodf, floorf, copysignf)
#undef CELL_DIVMOD

static double cell_divmod(loom_dtype dtype, double a, double b, bool quotient) {
  if (dtype == LOOM_F64) {
    double mod, div = cell_divmod64(a, b, &mod);
    return quotient ? div : mod;
  }
  float mod, div = cell_divmod32((float)a, (float)b, &mod);
  return quotient ? div : mod;
}

/* The neighbour of a in the dtype: bits of a sign-magnitude float count up away from zero. */
static double cell_nextafter(loom_dtype dtype, double a, double b) {
  if (dtype == LOOM_F64) return nextafter(a, b);
  if (dtype == LOOM_F32) return nextafterf((float)a, (float)b);
  if (isnan(a) || isnan(b)) return a + b;
  bool half = dtype == LOOM_F16;
  if (a == b) return half ? a : b; /* of two zeros, as NumPy and torch have it */
  uint16_t bits = half ? loom_half_from_double(a) : loom_bfloat_from_double(a);
  if (a == 0)
    bits = b < 0 ? 0x8001 : 1;
  else
    bits += (a < b) == (a > 0) ? 1 : -1;
  double next = half ? loom_half_to_double(bits) : loom_bfloat_to_double(bits);
  if (isinf(next) && !isinf(a)) feraiseexcept(FE_OVERFLOW);
  return next;
}

static double cell_pow(double x, double y) {
  if (x == 0 && y == -INFINITY) feraiseexcept(FE_DIVBYZERO); /* as NumPy's vectors do */
  return pow(x, y);
}

static double cell_mul_add(loom_dtype dtype, double x, double y, double z) {
  return dtype == LOOM_F64 ? fma(x, y, z) : fmaf((float)x, (float)y, (float)z);
}

/* As NumPy's loops do it on machines that have fused multiply-adds. */
static double complex cell_multiply(loom_dtype dtype, double complex a, double complex b) {
  loom_dtype part = dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  loom_cell im = loom_cell_round(part, cell_real(cimag(a) * cimag(b)));
  loom_cell turned = loom_cell_round(part, cell_real(cimag(a) * creal(b)));
  return CMPLX(cell_mul_add(part, creal(a), creal(b), -im.re),
               cell_mul_add(part, creal(a), cimag(b), turned.re));
}

static double cell_part(loom_dtype dtype, double x) {
  return dtype == LOOM_C64 ? (double)(float)x : x;
}

/* Smith's method in the order of NumPy's loops: `large` is the part of b of larger magnitude. A b
 * of 0 divides both parts of a. */
static double complex cell_divide(loom_dtype dtype, double complex a, double complex b) {
  double a_re = creal(a), a_im = cimag(a), b_re = creal(b), b_im = cimag(b);
  if (b_re == 0 && b_im == 0) return CMPLX(a_re / fabs(b_re), a_im / fabs(b_re));
  bool first = fabs(b_re) >= fabs(b_im);
  double large = first ? b_re : b_im, small = first ? b_im : b_re;
  double ratio = cell_part(dtype, small / large);
  double scale = cell_part(dtype, large + cell_part(dtype, small * ratio));
  scale = cell_part(dtype, 1.0 / scale);
  double x = cell_part(dtype, a_re * ratio), y = cell_part(dtype, a_im * ratio);
  double re = cell_part(dtype, first ? a_re + y : x + a_im);
  double im = cell_part(dtype, first ? a_im - x : y - a_re);
  return CMPLX(re * scale, im * scale);
}

/* ---- elementwise ops: each case is a formula of loom.td ---- */

#define CELL_CASE(OP, FORMULA)                                                                     \
  case LOOM_OP_##OP: *out = FORMULA; return true;

static bool cell_of_ints(loom_opcode op, loom_dtype dtype, uint64_t x, uint64_t y, uint64_t *out) {
  switch (op) {
#define LOOM_FORMULA_INTEGER CELL_CASE
#include "loom_formulas.inc"
  default: return false;
  }
}

static bool cell_of_bools(loom_opcode op, loom_dtype dtype, uint64_t x, uint64_t y, uint64_t *out) {
  switch (op) {
#define LOOM_FORMULA_BOOLEAN CELL_CASE
#include "loom_formulas.inc"
  default: return false;
  }
}

static bool cell_of_floats(loom_opcode op, loom_dtype dtype, double x, double y, double z,
                           double *out) {
  switch (op) {
#define LOOM_FORMULA_REAL CELL_CASE
#include "loom_formulas.inc"
  default: return false;
  }
}

static bool cell_of_complex(loom_opcode op, loom_dtype dtype, double complex x, double complex y,
                            double complex *out) {
  switch (op) {
#define LOOM_FORMULA_COMPLEX CELL_CASE
#include "loom_formulas.inc"
  default: return false;
  }
}
#undef CELL_CASE

/* Of a small number a polynomial in float32 loses powers, of which a double keeps all: what NumPy
 * then reports is reported. */
static void cell_lose_powers(loom_opcode op, double x) {
  bool series = op == LOOM_OP_SIN || op == LOOM_OP_COS || op == LOOM_OP_EXP;
  if (series && x != 0 && fabs(x) < 0x1p-60) feraiseexcept(FE_UNDERFLOW);
}

bool loom_cell_apply(loom_opcode op, loom_dtype dtype, const loom_cell *in, loom_cell *out) {
  const loom_op_info *info = &loom_op_table[op];
  loom_cell x = in[0], y = info->operands > 1 ? in[1] : x, z = info->operands > 2 ? in[2] : x;
  double complex pair = 0;
  uint64_t word = 0;
  bool good;
  *out = (loom_cell){0};
  if (loom_dtype_is_complex(dtype)) {
    good = cell_of_complex(op, dtype, cell_z(x), cell_z(y), &pair);
    *out = cell_complex(pair);
  } else if (loom_dtype_is_float(dtype)) {
    good = cell_of_floats(op, dtype, x.re, y.re, z.re, &out->re);
  } else {
    good = (dtype == LOOM_BOOL ? cell_of_bools : cell_of_ints)(op, dtype, (uint64_t)x.i,
                                                               (uint64_t)y.i, &word);
    *out = cell_int((int64_t)word);
  }
  if (!good) return false;
  if (dtype == LOOM_F32) cell_lose_powers(op, x.re);
  *out = info->lower == LOOM_LOWER_PREDICATE ? loom_cell_convert(dtype, LOOM_BOOL, *out)
                                             : loom_cell_round(dtype, *out);
  return true;
}

/* ---- comparison ---- */

int loom_cell_order(loom_dtype dtype, loom_cell a, loom_cell b) {
  if (!loom_dtype_is_inexact(dtype)) return a.i == b.i ? 0 : cell_less(dtype, a.i, b.i) ? -1 : 1;
  if (isnan(a.re) || isnan(b.re) || isnan(a.im) || isnan(b.im)) return LOOM_CELL_UNORDERED;
  if (a.re != b.re) return a.re < b.re ? -1 : 1;
  return a.im == b.im ? 0 : a.im < b.im ? -1 : 1; /* complex: lexicographic */
}

bool loom_cell_compare(const char *direction, loom_dtype dtype, loom_cell a, loom_cell b) {
  int order = loom_cell_order(dtype, a, b);
  bool or_equal = direction[1] == 'e';
  if (strcmp(direction, "ne") == 0) return order != 0;
  if (order == LOOM_CELL_UNORDERED) return false;
  switch (direction[0]) {
  case 'e': return order == 0;
  case 'l': return order < 0 || (or_equal && order == 0);
  default: return order > 0 || (or_equal && order == 0);
  }
}

/* ---- conversion ---- */

/* What x86's conversions give out of range: the least integer, with the invalid exception. */
static int64_t cell_to_i64(double x) {
  if (x >= -0x1p63 && x < 0x1p63) return (int64_t)x;
  feraiseexcept(FE_INVALID);
  return INT64_MIN;
}
static int32_t cell_to_i32(double x) {
  if (x > -0x1p31 - 1 && x < 0x1p31) return (int32_t)x;
  feraiseexcept(FE_INVALID);
  return INT32_MIN;
}

static int64_t cell_float_to_int(loom_dtype to, double x) {
  switch (to) {
  case LOOM_I64: return cell_to_i64(x);
  case LOOM_U64:
    return isgreaterequal(x, 0x1p63) ? (int64_t)((uint64_t)cell_to_i64(x - 0x1p63) ^ 1ull << 63)
                                     : cell_to_i64(x);
  case LOOM_U32:
    return isgreaterequal(x, 0x1p31) ? (int64_t)((uint32_t)cell_to_i32(x - 0x1p31) ^ 1u << 31)
                                     : cell_to_i32(x);
  default: return cell_to_i32(x);
  }
}

/* An integer as a float of the dtype: float32 in one rounding, the half types through it as NumPy
 * does. */
static double cell_int_to_float(loom_dtype from, loom_dtype to, int64_t i) {
  bool is_signed = loom_dtype_is_signed(from);
  if (to == LOOM_F64 || to == LOOM_C128) return is_signed ? (double)i : (double)(uint64_t)i;
  return is_signed ? (float)i : (float)(uint64_t)i;
}

loom_cell loom_cell_convert(loom_dtype from, loom_dtype to, loom_cell a) {
  bool from_int = !loom_dtype_is_inexact(from);
  bool to_int = !loom_dtype_is_inexact(to);
  loom_cell out = a;
  if (to == LOOM_BOOL)
    out = cell_int(from_int ? a.i != 0 : a.re != 0 || a.im != 0);
  else if (to_int && !from_int)
    out = cell_int(cell_float_to_int(to, a.re));
  else if (from_int && !to_int)
    out = cell_real(cell_int_to_float(from, to, a.i));
  else if (!loom_dtype_is_complex(to))
    out.im = 0;
  return loom_cell_round(to, out);
}
