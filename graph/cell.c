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

/* ---- unary ---- */

static loom_cell cell_int(int64_t i) { return (loom_cell){.i = i}; }
static loom_cell cell_real(double re) { return (loom_cell){.re = re}; }
static loom_cell cell_complex(double complex z) {
  return (loom_cell){.re = creal(z), .im = cimag(z)};
}
static double complex cell_z(loom_cell a) { return CMPLX(a.re, a.im); }

static bool cell_unary_int(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell *out) {
  bool is_unsigned = !loom_dtype_is_signed(dtype);
  int64_t magnitude =
      !is_unsigned && a.i < 0 ? (int64_t)(0 - (uint64_t)a.i) : a.i; /* the least integer wraps */
  switch (op) {
  case LOOM_OP_ABS: *out = cell_int(magnitude); break;
  case LOOM_OP_NEG: *out = cell_int((int64_t)(0 - (uint64_t)a.i)); break;
  case LOOM_OP_SIGN: *out = cell_int(is_unsigned ? a.i != 0 : (a.i > 0) - (a.i < 0)); break;
  case LOOM_OP_NOT: *out = cell_int(dtype == LOOM_BOOL ? !a.i : ~a.i); break;
  case LOOM_OP_POPCOUNT: *out = cell_int(__builtin_popcountll((uint64_t)magnitude)); break;
  case LOOM_OP_CEIL:
  case LOOM_OP_FLOOR:
  case LOOM_OP_TRUNC:
  case LOOM_OP_ROUND_EVEN:
  case LOOM_OP_COPY: *out = a; break;
  default: return false;
  }
  return true;
}

/* loom.td says what most ops on floats compute (`real`). */
static bool cell_unary_float(loom_opcode op, double x, double *out) {
  switch (op) {
#define LOOM_OP_REAL1(OP, FORMULA)                                                                 \
  case LOOM_OP_##OP: *out = FORMULA; break;
#include "loom_formulas.inc"
  case LOOM_OP_COPY: *out = x; break;
  default: return false;
  }
  return true;
}

static bool cell_unary_complex(loom_opcode op, loom_cell a, loom_cell *out) {
  double complex z = cell_z(a), r;
  switch (op) {
  case LOOM_OP_NEG: r = CMPLX(-a.re, -a.im); break;
  case LOOM_OP_SIGN: r = z == 0 ? 0 : z / cabs(z); break;
  case LOOM_OP_SQRT: r = csqrt(z); break;
  case LOOM_OP_EXP: r = cexp(z); break;
  case LOOM_OP_LOG: r = clog(z); break;
  case LOOM_OP_SIN: r = csin(z); break;
  case LOOM_OP_COS: r = ccos(z); break;
  case LOOM_OP_TAN: r = ctan(z); break;
  case LOOM_OP_ASIN: r = casin(z); break;
  case LOOM_OP_ACOS: r = cacos(z); break;
  case LOOM_OP_ATAN: r = catan(z); break;
  case LOOM_OP_SINH: r = csinh(z); break;
  case LOOM_OP_COSH: r = ccosh(z); break;
  case LOOM_OP_TANH: r = ctanh(z); break;
  case LOOM_OP_ASINH: r = casinh(z); break;
  case LOOM_OP_ACOSH: r = cacosh(z); break;
  case LOOM_OP_ATANH: r = catanh(z); break;
  case LOOM_OP_COPY: r = z; break;
  default: return false;
  }
  *out = cell_complex(r);
  return true;
}

/* Of a small number a polynomial in float32 loses powers, of which a double keeps all: what NumPy
 * then reports is reported. */
static void cell_lose_powers(loom_opcode op, double x) {
  bool series = op == LOOM_OP_SIN || op == LOOM_OP_COS || op == LOOM_OP_EXP;
  if (series && x != 0 && fabs(x) < 0x1p-60) feraiseexcept(FE_UNDERFLOW);
}

bool loom_cell_unary(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell *out) {
  bool good;
  *out = (loom_cell){0};
  if (loom_dtype_is_complex(dtype))
    good = cell_unary_complex(op, a, out);
  else if (loom_dtype_is_float(dtype))
    good = cell_unary_float(op, a.re, &out->re);
  else
    good = cell_unary_int(op, dtype, a, out);
  if (good && dtype == LOOM_F32) cell_lose_powers(op, a.re);
  if (good) *out = loom_cell_round(dtype, *out);
  return good;
}

bool loom_cell_predicate(loom_opcode op, loom_dtype dtype, loom_cell a, bool *out) {
  bool exact = !loom_dtype_is_inexact(dtype);
  switch (op) {
  case LOOM_OP_IS_NAN: *out = !exact && (isnan(a.re) || isnan(a.im)); return true;
  case LOOM_OP_IS_INF: *out = !exact && (isinf(a.re) || isinf(a.im)); return true;
  case LOOM_OP_IS_FINITE: *out = exact || (isfinite(a.re) && isfinite(a.im)); return true;
  case LOOM_OP_SIGNBIT:
    *out = exact ? loom_dtype_is_signed(dtype) && a.i < 0 : signbit(a.re) != 0;
    return true;
  default: return false;
  }
}

/* ---- integer division and powers ---- */

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

static int64_t cell_gcd(loom_dtype dtype, int64_t a, int64_t b) {
  bool is_signed = loom_dtype_is_signed(dtype);
  uint64_t x = is_signed && a < 0 ? 0 - (uint64_t)a : (uint64_t)a;
  uint64_t y = is_signed && b < 0 ? 0 - (uint64_t)b : (uint64_t)b;
  while (y) {
    uint64_t r = x % y;
    x = y;
    y = r;
  }
  return (int64_t)x;
}

static int64_t cell_shift(loom_opcode op, loom_dtype dtype, int64_t a, int64_t b) {
  bool inside = (uint64_t)b < 8 * loom_dtype_size(dtype);
  if (op == LOOM_OP_SHL) return inside ? (int64_t)((uint64_t)a << b) : 0;
  if (!loom_dtype_is_signed(dtype)) return inside ? (int64_t)((uint64_t)a >> b) : 0;
  return inside ? a >> b : -(a < 0);
}

static bool cell_int_less(loom_dtype dtype, int64_t a, int64_t b) {
  return loom_dtype_is_signed(dtype) ? a < b : (uint64_t)a < (uint64_t)b;
}

static bool cell_binary_bool(loom_opcode op, int64_t a, int64_t b, int64_t *out) {
  switch (op) {
  case LOOM_OP_ADD:
  case LOOM_OP_OR:
  case LOOM_OP_MAX:
  case LOOM_OP_FMAX: *out = a | b; return true;
  case LOOM_OP_MUL:
  case LOOM_OP_AND:
  case LOOM_OP_MIN:
  case LOOM_OP_FMIN: *out = a & b; return true;
  case LOOM_OP_XOR: *out = a ^ b; return true;
  default: return false;
  }
}

static bool cell_binary_int(loom_opcode op, loom_dtype dtype, int64_t a, int64_t b, int64_t *out) {
  if (dtype == LOOM_BOOL) return cell_binary_bool(op, a, b, out);
  switch (op) {
  case LOOM_OP_ADD: *out = (int64_t)((uint64_t)a + (uint64_t)b); break;
  case LOOM_OP_SUB: *out = (int64_t)((uint64_t)a - (uint64_t)b); break;
  case LOOM_OP_MUL: *out = (int64_t)((uint64_t)a * (uint64_t)b); break;
  case LOOM_OP_FLOOR_DIV: *out = cell_floor_div(dtype, a, b); break;
  case LOOM_OP_REM: *out = cell_rem(dtype, a, b, true); break;
  case LOOM_OP_FMOD: *out = cell_rem(dtype, a, b, false); break;
  case LOOM_OP_POW: *out = cell_int_pow(dtype, a, b); break;
  case LOOM_OP_MAX:
  case LOOM_OP_FMAX: *out = cell_int_less(dtype, a, b) ? b : a; break;
  case LOOM_OP_MIN:
  case LOOM_OP_FMIN: *out = cell_int_less(dtype, b, a) ? b : a; break;
  case LOOM_OP_AND: *out = a & b; break;
  case LOOM_OP_OR: *out = a | b; break;
  case LOOM_OP_XOR: *out = a ^ b; break;
  case LOOM_OP_SHL:
  case LOOM_OP_SHR: *out = cell_shift(op, dtype, a, b); break;
  case LOOM_OP_GCD: *out = cell_gcd(dtype, a, b); break;
  default: return false;
  }
  return true;
}

/* ---- binary on floats ---- */

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

static bool cell_binary_float(loom_opcode op, loom_dtype dtype, double x, double y, double *out) {
  switch (op) {
#define LOOM_OP_REAL2(OP, FORMULA)                                                                 \
  case LOOM_OP_##OP: *out = FORMULA; break;
#include "loom_formulas.inc"
  case LOOM_OP_FLOOR_DIV: *out = cell_divmod(dtype, x, y, true); break;
  case LOOM_OP_REM: *out = cell_divmod(dtype, x, y, false); break;
  case LOOM_OP_POW:
    if (x == 0 && y == -INFINITY) feraiseexcept(FE_DIVBYZERO); /* as NumPy's vectors do */
    *out = pow(x, y);
    break;
  case LOOM_OP_NEXTAFTER: *out = cell_nextafter(dtype, x, y); break;
  default: return false;
  }
  return true;
}

double loom_cell_mul_add(loom_dtype dtype, double x, double y, double z) {
  return dtype == LOOM_F64 ? fma(x, y, z) : fmaf((float)x, (float)y, (float)z);
}

/* As NumPy's loops do it on machines that have fused multiply-adds. */
static loom_cell cell_multiply_complex(loom_dtype dtype, loom_cell a, loom_cell b) {
  loom_dtype part = dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  loom_cell im = loom_cell_round(part, (loom_cell){.re = a.im * b.im});
  loom_cell turned = loom_cell_round(part, (loom_cell){.re = a.im * b.re});
  return (loom_cell){.re = loom_cell_mul_add(part, a.re, b.re, -im.re),
                     .im = loom_cell_mul_add(part, a.re, b.im, turned.re)};
}

static double cell_part(loom_dtype dtype, double x) {
  return dtype == LOOM_C64 ? (double)(float)x : x;
}

/* Smith's method in the order of NumPy's loops: `large` is the part of b of larger magnitude. A b
 * of 0 divides both parts of a. */
static loom_cell cell_divide_complex(loom_dtype dtype, loom_cell a, loom_cell b) {
  if (b.re == 0 && b.im == 0) return (loom_cell){.re = a.re / fabs(b.re), .im = a.im / fabs(b.re)};
  bool first = fabs(b.re) >= fabs(b.im);
  double large = first ? b.re : b.im, small = first ? b.im : b.re;
  double ratio = cell_part(dtype, small / large);
  double scale = cell_part(dtype, large + cell_part(dtype, small * ratio));
  scale = cell_part(dtype, 1.0 / scale);
  double x = cell_part(dtype, a.re * ratio), y = cell_part(dtype, a.im * ratio);
  double re = cell_part(dtype, first ? a.re + y : x + a.im);
  double im = cell_part(dtype, first ? a.im - x : y - a.re);
  return (loom_cell){.re = re * scale, .im = im * scale};
}

static bool cell_binary_complex(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell b,
                                loom_cell *out) {
  double complex l = cell_z(a), r = cell_z(b);
  switch (op) {
  case LOOM_OP_ADD: *out = cell_complex(l + r); break;
  case LOOM_OP_SUB: *out = cell_complex(l - r); break;
  case LOOM_OP_MUL: *out = cell_multiply_complex(dtype, a, b); break;
  case LOOM_OP_DIV: *out = cell_divide_complex(dtype, a, b); break;
  case LOOM_OP_POW: *out = cell_complex(cpow(l, r)); break;
  default: return false;
  }
  return true;
}

bool loom_cell_binary(loom_opcode op, loom_dtype dtype, loom_cell a, loom_cell b, loom_cell *out) {
  bool good;
  *out = (loom_cell){0};
  if (loom_dtype_is_complex(dtype))
    good = cell_binary_complex(op, dtype, a, b, out);
  else if (loom_dtype_is_float(dtype))
    good = cell_binary_float(op, dtype, a.re, b.re, &out->re);
  else
    good = cell_binary_int(op, dtype, a.i, b.i, &out->i);
  if (good) *out = loom_cell_round(dtype, *out);
  return good;
}

/* ---- comparison ---- */

int loom_cell_order(loom_dtype dtype, loom_cell a, loom_cell b) {
  if (!loom_dtype_is_inexact(dtype))
    return a.i == b.i ? 0 : cell_int_less(dtype, a.i, b.i) ? -1 : 1;
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
