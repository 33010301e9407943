/* Element types. */
#include "graph/graph.h"

#include <fenv.h>
#include <string.h>

static const struct {
  const char *name;
  uint8_t size;
  char class; /* as in the op table's dtypes column: b bool, i signed, u unsigned, f float, c
                 complex */
} dtype_rows[LOOM_DTYPE_COUNT] = {
    [LOOM_BOOL] = {"bool", 1, 'b'},        [LOOM_I8] = {"int8", 1, 'i'},
    [LOOM_I16] = {"int16", 2, 'i'},        [LOOM_I32] = {"int32", 4, 'i'},
    [LOOM_I64] = {"int64", 8, 'i'},        [LOOM_U8] = {"uint8", 1, 'u'},
    [LOOM_U16] = {"uint16", 2, 'u'},       [LOOM_U32] = {"uint32", 4, 'u'},
    [LOOM_U64] = {"uint64", 8, 'u'},       [LOOM_F16] = {"float16", 2, 'f'},
    [LOOM_BF16] = {"bfloat16", 2, 'f'},    [LOOM_F32] = {"float32", 4, 'f'},
    [LOOM_F64] = {"float64", 8, 'f'},      [LOOM_C64] = {"complex64", 8, 'c'},
    [LOOM_C128] = {"complex128", 16, 'c'},
};

size_t loom_dtype_size(loom_dtype dtype) { return dtype_rows[dtype].size; }
const char *loom_dtype_name(loom_dtype dtype) {
  return (unsigned)dtype < LOOM_DTYPE_COUNT ? dtype_rows[dtype].name : "invalid";
}
char loom_dtype_class(loom_dtype dtype) { return dtype_rows[dtype].class; }

bool loom_dtype_from_name(const char *name, loom_dtype *out) {
  for (int i = 0; i < LOOM_DTYPE_COUNT; i++)
    if (strcmp(dtype_rows[i].name, name) == 0) {
      *out = (loom_dtype)i;
      return true;
    }
  return false;
}

bool loom_dtype_is_float(loom_dtype dtype) { return dtype_rows[dtype].class == 'f'; }
bool loom_dtype_is_half(loom_dtype dtype) { return dtype == LOOM_F16 || dtype == LOOM_BF16; }
bool loom_dtype_is_signed(loom_dtype dtype) { return dtype_rows[dtype].class == 'i'; }
bool loom_dtype_is_unsigned(loom_dtype dtype) { return dtype_rows[dtype].class == 'u'; }
bool loom_dtype_is_integer(loom_dtype dtype) {
  return loom_dtype_is_signed(dtype) || loom_dtype_is_unsigned(dtype);
}
bool loom_dtype_is_complex(loom_dtype dtype) { return dtype_rows[dtype].class == 'c'; }

bool loom_dtype_is_inexact(loom_dtype dtype) {
  return loom_dtype_is_float(dtype) || loom_dtype_is_complex(dtype);
}

/* ---- float16 and bfloat16 ---- */

/* A float of `fraction` stored bits and `exponent` exponent bits from a double, rounded once to
 * nearest even. Raises overflow and underflow as the hardware's conversions do. */
static uint16_t dtype_narrow(double value, int fraction, int exponent) {
  uint64_t bits;
  memcpy(&bits, &value, sizeof bits);
  const int drop = 52 - fraction, bias = (1 << (exponent - 1)) - 1;
  const uint16_t sign = (uint16_t)(bits >> 48 & 0x8000);
  const uint16_t infinity = (uint16_t)(((1 << exponent) - 1) << fraction);
  uint64_t mantissa = bits & ((UINT64_C(1) << 52) - 1);
  int power = (int)(bits >> 52 & 0x7FF);
  if (power == 0x7FF) {
    if (mantissa == 0) return sign | infinity;
    uint16_t payload = (uint16_t)(mantissa >> drop);
    return (uint16_t)(sign | infinity | payload | 1 << (fraction - 1));
  }
  if (power == 0) { /* a double that is zero or subnormal is far below half an ulp */
    if (mantissa) feraiseexcept(FE_UNDERFLOW);
    return sign;
  }
  power += bias - 1023;
  if (power >= (1 << exponent) - 1) {
    feraiseexcept(FE_OVERFLOW);
    return sign | infinity;
  }
  mantissa |= UINT64_C(1) << 52;
  int shift = drop;
  if (power <= 0) { /* subnormal result */
    shift += 1 - power;
    power = 0;
    if (shift > 63) {
      feraiseexcept(FE_UNDERFLOW);
      return sign;
    }
  }
  uint64_t kept = mantissa >> shift, rest = mantissa & ((UINT64_C(1) << shift) - 1);
  uint64_t half = UINT64_C(1) << (shift - 1);
  kept += rest > half || (rest == half && (kept & 1));
  if (power > 0)
    kept += (uint64_t)(power - 1) << fraction; /* the leading one adds 1 to the exponent */
  else if (rest)
    feraiseexcept(FE_UNDERFLOW);
  /* A carry out of the fraction reaches the exponent, then infinity. */
  if (kept >= infinity) feraiseexcept(FE_OVERFLOW);
  return (uint16_t)(sign | kept);
}

uint16_t loom_half_from_double(double value) { return dtype_narrow(value, 10, 5); }
uint16_t loom_bfloat_from_double(double value) { return dtype_narrow(value, 7, 8); }

double loom_half_to_double(uint16_t bits) {
  int power = bits >> 10 & 31, fraction = bits & 1023;
  uint64_t sign = (uint64_t)(bits & 0x8000) << 48, wide;
  if (power == 0) {
    double value = fraction * 0x1p-24;
    return sign ? -value : value;
  }
  wide =
      sign | (uint64_t)(power == 31 ? 0x7FF : power - 15 + 1023) << 52 | (uint64_t)fraction << 42;
  double value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

double loom_bfloat_to_double(uint16_t bits) {
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}
