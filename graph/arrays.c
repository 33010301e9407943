/* Arrays of test data, in one place for the tools that run and compare modules. */
#include "graph/arrays.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- filling ---- */

uint64_t loom_random_next(uint64_t *state) { /* xorshift64* */
  uint64_t x = *state ? *state : 0x9e3779b97f4a7c15u;
  x ^= x >> 12;
  x ^= x << 25;
  x ^= x >> 27;
  *state = x;
  return x * 0x2545f4914f6cdd1du;
}

/* The largest finite value of a float dtype, and its least normal one. */
static double array_largest(loom_dtype dtype) {
  switch (dtype) {
  case LOOM_F16: return 65504;
  case LOOM_BF16: return 0x1.fep127;
  case LOOM_F32:
  case LOOM_C64: return 0x1.fffffep127;
  default: return 0x1.fffffffffffffp1023;
  }
}

static double array_least(loom_dtype dtype) {
  bool wide = dtype == LOOM_F64 || dtype == LOOM_C128;
  return dtype == LOOM_F16 ? 0x1p-14 : wide ? 0x1p-1022 : 0x1p-126;
}

static double array_special_float(uint64_t bits) {
  static const double values[] = {NAN, INFINITY, -INFINITY, 0.0, -0.0, 1.0, -1.0};
  return values[bits % (sizeof values / sizeof *values)];
}

static double array_extreme_float(loom_dtype dtype, uint64_t bits) {
  double values[] = {array_largest(dtype), array_least(dtype), array_least(dtype) / 4};
  double value = values[bits / 2 % 3];
  return bits % 2 ? value : -value;
}

static int64_t array_special_int(loom_dtype dtype, uint64_t bits) {
  unsigned width = 8 * (unsigned)loom_dtype_size(dtype);
  bool is_signed = loom_dtype_is_signed(dtype);
  switch (bits % 5) {
  case 0: return is_signed ? INT64_MIN >> (64 - width) : 0;
  case 1: return is_signed ? INT64_MAX >> (64 - width) : -1;
  case 2: return 0;
  case 3: return 1;
  default: return -1;
  }
}

static double array_float(loom_dtype dtype, loom_fill fill, uint64_t *state) {
  uint64_t bits = loom_random_next(state) >> 16;
  if (fill == LOOM_FILL_SPECIAL && bits % 3 == 0) return array_special_float(bits / 3);
  if (fill == LOOM_FILL_EXTREME && bits % 3 == 0) return array_extreme_float(dtype, bits / 3);
  if (fill == LOOM_FILL_PLAIN) return (double)(bits % 17) / 4 - 2;
  return (double)(int64_t)(bits % (1u << 30)) * 0x1p-27 - 4;
}

static int64_t array_int(loom_dtype dtype, loom_fill fill, uint64_t *state) {
  uint64_t bits = loom_random_next(state) >> 16;
  if (fill >= LOOM_FILL_SPECIAL && bits % 3 == 0) return array_special_int(dtype, bits / 3);
  if (fill == LOOM_FILL_PLAIN) return (int64_t)(bits % 3);
  return loom_dtype_is_signed(dtype) ? (int64_t)(bits % 19) - 9 : (int64_t)(bits % 19);
}

void loom_array_fill(const loom_buffer *array, loom_fill fill, uint64_t *state) {
  loom_dtype dtype = array->type.dtype;
  int64_t count = loom_type_elements(&array->type);
  char class = loom_dtype_class(dtype);
  for (int64_t i = 0; i < count; i++) {
    loom_cell cell = {.i = 0};
    if (class == 'f' || class == 'c') cell.re = array_float(dtype, fill, state);
    if (class == 'c') cell.im = array_float(dtype, fill, state);
    if (class == 'i' || class == 'u') cell.i = array_int(dtype, fill, state);
    if (class == 'b') cell.i = (int64_t)(loom_random_next(state) >> 40 & 1);
    loom_cell_store(dtype, loom_array_element(array, i), cell);
  }
}

void *loom_array_element(const loom_buffer *array, int64_t number) {
  int64_t offset = 0;
  for (int d = array->type.rank - 1; d >= 0; d--) {
    offset += number % array->type.dims[d] * array->strides[d];
    number /= array->type.dims[d];
  }
  return (char *)array->data + offset * (int64_t)loom_dtype_size(array->type.dtype);
}

/* ---- comparing ---- */

double loom_array_bound(loom_dtype dtype) {
  if (!loom_dtype_is_inexact(dtype)) return 0;
  switch (dtype) {
  case LOOM_F16: return 4e-3;
  case LOOM_BF16: return 3e-2;
  case LOOM_F32:
  case LOOM_C64: return 2e-5;
  default: return 1e-12;
  }
}

static double array_size(const loom_buffer *array, int64_t count) {
  double largest = 1;
  for (int64_t i = 0; i < count; i++) {
    loom_cell cell = loom_cell_load(array->type.dtype, loom_array_element(array, i));
    if (isfinite(cell.re)) largest = fmax(largest, fabs(cell.re));
    if (isfinite(cell.im)) largest = fmax(largest, fabs(cell.im));
  }
  return largest;
}

static bool array_near(double x, double y, double bound) {
  if (isnan(x) || isnan(y)) return isnan(x) && isnan(y);
  if (x == y) return bound > 0 || signbit(x) == signbit(y);
  return isfinite(x) && isfinite(y) && fabs(x - y) <= bound;
}

bool loom_array_agree(const loom_buffer *got, const loom_buffer *want, double bound,
                      loom_array_difference *out) {
  loom_dtype dtype = want->type.dtype;
  int64_t count = loom_type_elements(&want->type);
  bool inexact = loom_dtype_is_inexact(dtype), complex = loom_dtype_is_complex(dtype);
  if (inexact && bound > 0) bound *= array_size(want, count);
  for (int64_t i = 0; i < count; i++) {
    const void *x = loom_array_element(got, i), *y = loom_array_element(want, i);
    if (memcmp(x, y, loom_dtype_size(dtype)) == 0) continue;
    *out = (loom_array_difference){i, loom_cell_load(dtype, x), loom_cell_load(dtype, y)};
    if (!inexact || !array_near(out->got.re, out->want.re, bound) ||
        (complex && !array_near(out->got.im, out->want.im, bound)))
      return false;
  }
  return true;
}

void loom_cell_print(loom_dtype dtype, loom_cell cell, char *out, size_t size) {
  int digits = dtype == LOOM_F64 || dtype == LOOM_C128 ? 17 : 9;
  switch (loom_dtype_class(dtype)) {
  case 'f': snprintf(out, size, "%.*g", digits, cell.re); break;
  case 'c': snprintf(out, size, "(%.*g, %.*g)", digits, cell.re, digits, cell.im); break;
  case 'u': snprintf(out, size, "%" PRIu64, (uint64_t)cell.i); break;
  default: snprintf(out, size, "%" PRId64, cell.i); break;
  }
}
