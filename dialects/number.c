/* Arithmetic of numbers that may be symbolic, over the table of the pass that runs (ir.h). A static
 * result that has the form of a code of the table is refused: strides may be any numbers. */
#include "dialects/ir.h"

static _Thread_local bool number_failed;

bool loom_num_take_failure(void) {
  bool failed = number_failed;
  number_failed = false;
  return failed;
}

static int64_t number_combine(loom_expr_kind kind, int64_t a, int64_t b) {
  int64_t out = 0;
  if (!loom_num_known(a) || !loom_num_known(b) ||
      !loom_stride_combine(loom_sizes(), kind, a, b, &out))
    number_failed = true;
  return out;
}

static bool number_static(int64_t a, int64_t b) {
  return !LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b);
}

static int64_t number_plain(uint64_t wrapped) {
  if (!LOOM_STRIDE_IS_SYM((int64_t)wrapped)) return (int64_t)wrapped;
  number_failed = true;
  return 0;
}

int64_t loom_num_add(int64_t a, int64_t b) {
  if (number_static(a, b)) return number_plain((uint64_t)a + (uint64_t)b);
  return number_combine(LOOM_EXPR_ADD, a, b);
}

int64_t loom_num_mul(int64_t a, int64_t b) {
  if (number_static(a, b)) return number_plain((uint64_t)a * (uint64_t)b);
  return number_combine(LOOM_EXPR_MUL, a, b);
}

int64_t loom_num_sub(int64_t a, int64_t b) {
  return number_static(a, b) ? number_plain((uint64_t)a - (uint64_t)b)
                             : loom_num_add(a, loom_num_mul(b, -1));
}

int64_t loom_num_div(int64_t a, int64_t b) {
  if (b == 0) return number_failed = true, 0;
  if (number_static(a, b)) return a / b - (a % b != 0 && (a < 0) != (b < 0));
  return number_combine(LOOM_EXPR_FLOORDIV, a, b);
}

int64_t loom_num_min(int64_t a, int64_t b) {
  if (loom_num_at_most(a, b)) return a;
  return loom_num_at_most(b, a) ? b : number_combine(LOOM_EXPR_MIN, a, b);
}

int64_t loom_num_max(int64_t a, int64_t b) {
  if (loom_num_at_most(a, b)) return b;
  return loom_num_at_most(b, a) ? a : number_combine(LOOM_EXPR_MAX, a, b);
}

int64_t loom_num_ceil(int64_t a, int64_t b) {
  return loom_num_div(loom_num_add(a, loom_num_sub(b, 1)), b);
}

int64_t loom_num_dim(loom_dim dim) { return loom_stride_of_dim(dim); }

int64_t loom_num_hint(int64_t a) {
  return LOOM_STRIDE_IS_SYM(a) && loom_sizes() ? loom_stride_hint(loom_sizes(), a) : a;
}

int64_t loom_num_low(int64_t a) {
  int64_t low = a, high;
  if (LOOM_STRIDE_IS_SYM(a) && loom_sizes()) loom_stride_range(loom_sizes(), a, &low, &high);
  return low;
}

int64_t loom_num_high(int64_t a) {
  int64_t low, high = a;
  if (LOOM_STRIDE_IS_SYM(a) && loom_sizes()) loom_stride_range(loom_sizes(), a, &low, &high);
  return high;
}

bool loom_num_at_most(int64_t a, int64_t b) {
  if (number_static(a, b)) return a <= b;
  int64_t room, low, high;
  if (!loom_sizes() || !loom_stride_minus(loom_sizes(), b, a, &room)) return false;
  loom_stride_range(loom_sizes(), room, &low, &high);
  return low >= 0;
}

bool loom_num_below(int64_t a, int64_t b) {
  return number_static(a, b) ? a < b : loom_num_at_most(a, loom_num_sub(b, 1));
}

bool loom_num_multiple(int64_t a, int64_t of) {
  if (of == 0) return a == 0;
  if (!LOOM_STRIDE_IS_SYM(a)) return a % of == 0;
  return loom_sizes() && loom_stride_divisor(loom_sizes(), a) % of == 0;
}

bool loom_num_divide(int64_t a, int64_t b, int64_t *out) {
  int64_t back;
  if (number_static(a, b)) return b != 0 && a % b == 0 && (*out = a / b, true);
  return loom_sizes() && loom_stride_combine(loom_sizes(), LOOM_EXPR_FLOORDIV, a, b, out) &&
         loom_stride_combine(loom_sizes(), LOOM_EXPR_MUL, *out, b, &back) && back == a;
}

bool loom_num_known(int64_t a) {
  return !LOOM_STRIDE_IS_SYM(a) || (loom_sizes() && LOOM_STRIDE_EXPR(a) < loom_sizes()->expr_count);
}

int64_t loom_num_elements(const loom_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (int i = 0; i < type->rank; i++)
    count = loom_num_mul(count, loom_stride_of_dim(type->dims[i]));
  return count;
}

bool loom_type_is_static(const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return false;
  return true;
}

bool loom_type_is_sized(const loom_type *type) {
  if (loom_type_is_static(type)) return loom_type_elements(type) >= 0;
  loom_dim ignored;
  return loom_sizes() && loom_type_elements_in(loom_sizes(), type, &ignored);
}

bool loom_plain_strides(const loom_type *type, int64_t *out) {
  if (loom_type_is_static(type)) return loom_contiguous_strides(type, out), true;
  if (loom_sizes() && loom_contiguous_strides_in(loom_sizes(), type, out)) return true;
  number_failed = true;
  return false;
}
