/* Numbers of any sign that may be symbolic (strides, starts of slices), what is known of them, and
 * the strides of contiguous layouts. They share the table of expressions with sizes. */
#include "graph/graph.h"

#include <string.h>

/* ---- codes ---- */

int64_t loom_stride_of_dim(loom_dim dim) { return dim; }

bool loom_dim_of_stride(int64_t stride, loom_dim *out) {
  *out = stride;
  return LOOM_STRIDE_IS_SYM(stride) || stride >= 0;
}

bool loom_number_exists(const loom_graph *graph, int64_t number) {
  uint64_t count = graph ? graph->expr_count : 0;
  return !LOOM_DIM_IS_SYM(number) || (uint64_t)number - (uint64_t)INT64_MIN < count;
}

bool loom_stride_symbol(loom_graph *graph, const loom_symbol *known, int64_t *out) {
  const loom_symbol any = {.min = INT64_MIN / 4, .max = INT64_MAX / 4, .divisor = 1};
  loom_dim dim;
  if (!loom_dim_symbol(graph, known ? known : &any, &dim)) return false;
  *out = loom_stride_of_dim(dim);
  return true;
}

static bool stride_to_dim(loom_graph *graph, int64_t stride, loom_dim *out) {
  return loom_dim_of_stride(stride, out) || loom_dim_constant(graph, stride, out);
}

/* A negative constant is an expression as a size and a plain value as a stride. */
static bool stride_from_dim(const loom_graph *graph, loom_dim dim, int64_t *out) {
  *out = loom_stride_of_dim(dim);
  if (LOOM_DIM_IS_SYM(dim) && graph->exprs[LOOM_DIM_EXPR(dim)].kind == LOOM_EXPR_CONST)
    *out = graph->exprs[LOOM_DIM_EXPR(dim)].value;
  return LOOM_DIM_IS_SYM(dim) || !LOOM_STRIDE_IS_SYM(*out);
}

static int64_t stride_floordiv(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static bool stride_constants(loom_expr_kind kind, int64_t a, int64_t b, int64_t *out) {
  bool good = true;
  switch (kind) {
  case LOOM_EXPR_ADD: good = !__builtin_add_overflow(a, b, out); break;
  case LOOM_EXPR_MUL: good = !__builtin_mul_overflow(a, b, out); break;
  case LOOM_EXPR_FLOORDIV:
    good = b > 0;
    if (good) *out = stride_floordiv(a, b);
    break;
  case LOOM_EXPR_MOD:
    good = b > 0;
    if (good) *out = a - b * stride_floordiv(a, b);
    break;
  case LOOM_EXPR_MIN: *out = a < b ? a : b; break;
  case LOOM_EXPR_MAX: *out = a > b ? a : b; break;
  default: return false;
  }
  return good && !LOOM_STRIDE_IS_SYM(*out);
}

bool loom_stride_combine(loom_graph *graph, loom_expr_kind kind, int64_t a, int64_t b,
                         int64_t *out) {
  if (!LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b)) return stride_constants(kind, a, b, out);
  loom_dim lhs, rhs, result;
  if (!graph) return false;
  return stride_to_dim(graph, a, &lhs) && stride_to_dim(graph, b, &rhs) &&
         loom_dim_combine(graph, kind, lhs, rhs, &result) && stride_from_dim(graph, result, out);
}

bool loom_stride_minus(loom_graph *graph, int64_t a, int64_t b, int64_t *out) {
  int64_t negative;
  return loom_stride_combine(graph, LOOM_EXPR_MUL, b, -1, &negative) &&
         loom_stride_combine(graph, LOOM_EXPR_ADD, a, negative, out);
}

bool loom_stride_eval(const loom_graph *graph, int64_t stride, const int64_t *symbols,
                      int64_t *out) {
  *out = stride;
  if (!LOOM_STRIDE_IS_SYM(stride)) return true;
  return loom_dim_eval(graph, LOOM_DIM_SYM(LOOM_STRIDE_EXPR(stride)), symbols, out);
}

/* ---- what is known ---- */

typedef struct stride_bounds {
  int64_t low, high;
} stride_bounds;

/* A value beyond 64 bits never occurs, since evaluation refuses it: so bounds may be cut there. */
static int64_t stride_cut(__int128 value) {
  return value < INT64_MIN ? INT64_MIN : value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

static stride_bounds stride_hull(const __int128 *values, int count) {
  __int128 low = values[0], high = values[0];
  for (int i = 1; i < count; i++) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return (stride_bounds){stride_cut(low), stride_cut(high)};
}

static stride_bounds stride_divide(stride_bounds a, stride_bounds b) {
  if (b.low <= 0) return (stride_bounds){INT64_MIN, INT64_MAX};
  const __int128 values[] = {stride_floordiv(a.low, b.low), stride_floordiv(a.low, b.high),
                             stride_floordiv(a.high, b.low), stride_floordiv(a.high, b.high)};
  return stride_hull(values, 4);
}

static stride_bounds stride_mod(stride_bounds a, stride_bounds b) {
  if (b.low <= 0) return (stride_bounds){INT64_MIN, INT64_MAX};
  stride_bounds out = {0, b.high - 1};
  if (a.low >= 0 && a.high < out.high) out.high = a.high;
  return out;
}

static stride_bounds stride_bounds_of(const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return (stride_bounds){expr->value, expr->value};
  if (expr->kind == LOOM_EXPR_SYMBOL) {
    const loom_symbol *symbol = &graph->symbols[expr->value];
    return (stride_bounds){symbol->min, symbol->max};
  }
  stride_bounds a = stride_bounds_of(graph, expr->lhs), b = stride_bounds_of(graph, expr->rhs);
  const __int128 products[] = {(__int128)a.low * b.low, (__int128)a.low * b.high,
                               (__int128)a.high * b.low, (__int128)a.high * b.high};
  switch (expr->kind) {
  case LOOM_EXPR_ADD:
    return (stride_bounds){stride_cut((__int128)a.low + b.low),
                           stride_cut((__int128)a.high + b.high)};
  case LOOM_EXPR_MUL: return stride_hull(products, 4);
  case LOOM_EXPR_FLOORDIV: return stride_divide(a, b);
  case LOOM_EXPR_MOD: return stride_mod(a, b);
  case LOOM_EXPR_MIN:
    return (stride_bounds){a.low < b.low ? a.low : b.low, a.high < b.high ? a.high : b.high};
  default: return (stride_bounds){a.low > b.low ? a.low : b.low, a.high > b.high ? a.high : b.high};
  }
}

void loom_stride_range(const loom_graph *graph, int64_t stride, int64_t *low, int64_t *high) {
  stride_bounds bounds = {stride, stride};
  if (LOOM_STRIDE_IS_SYM(stride)) bounds = stride_bounds_of(graph, LOOM_STRIDE_EXPR(stride));
  *low = bounds.low;
  *high = bounds.high;
}

void loom_dim_range(const loom_graph *graph, loom_dim dim, int64_t *low, int64_t *high) {
  loom_stride_range(graph, loom_stride_of_dim(dim), low, high);
}

static int64_t stride_gcd(int64_t a, int64_t b) {
  while (b) {
    int64_t rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

/* 0 divides only 0: the divisor of the constant 0, neutral for gcd. */
static int64_t stride_divisor(const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  int64_t product;
  switch (expr->kind) {
  case LOOM_EXPR_CONST: return expr->value < 0 ? -expr->value : expr->value;
  case LOOM_EXPR_SYMBOL:
    product = graph->symbols[expr->value].divisor;
    return product > 0 ? product : 1;
  case LOOM_EXPR_FLOORDIV:
  case LOOM_EXPR_MOD: return 1;
  default: break;
  }
  int64_t a = stride_divisor(graph, expr->lhs), b = stride_divisor(graph, expr->rhs);
  if (expr->kind != LOOM_EXPR_MUL) return stride_gcd(a, b);
  return __builtin_mul_overflow(a, b, &product) ? a : product;
}

int64_t loom_stride_divisor(const loom_graph *graph, int64_t stride) {
  if (LOOM_STRIDE_IS_SYM(stride)) stride = stride_divisor(graph, LOOM_STRIDE_EXPR(stride));
  int64_t divisor = stride < 0 ? -stride : stride;
  return divisor ? divisor : 1;
}

int64_t loom_hint_round(int64_t hint) {
  int64_t power = 1;
  if (hint <= 0) return 0;
  while (power < hint && power <= INT64_MAX / 16)
    power *= 16;
  return power;
}

/* A symbol's likely value; 0 hints stand for a middling size. */
static int64_t stride_symbol_hint(const loom_symbol *symbol) {
  int64_t hint = symbol->hint > 0 ? loom_hint_round(symbol->hint) : 1024;
  if (hint < symbol->min) hint = symbol->min;
  return hint > symbol->max ? symbol->max : hint;
}

static int64_t stride_hint(const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return expr->value;
  if (expr->kind == LOOM_EXPR_SYMBOL) return stride_symbol_hint(&graph->symbols[expr->value]);
  int64_t a = stride_hint(graph, expr->lhs), b = stride_hint(graph, expr->rhs);
  switch (expr->kind) {
  case LOOM_EXPR_ADD: return stride_cut((__int128)a + b);
  case LOOM_EXPR_MUL: return stride_cut((__int128)a * b);
  case LOOM_EXPR_FLOORDIV: return b > 0 ? stride_floordiv(a, b) : a;
  case LOOM_EXPR_MOD: return b > 0 ? a - b * stride_floordiv(a, b) : 0;
  case LOOM_EXPR_MIN: return a < b ? a : b;
  default: return a > b ? a : b;
  }
}

int64_t loom_stride_hint(const loom_graph *graph, int64_t stride) {
  if (!LOOM_STRIDE_IS_SYM(stride)) return stride;
  int64_t low, high, hint = stride_hint(graph, LOOM_STRIDE_EXPR(stride));
  loom_stride_range(graph, stride, &low, &high);
  return hint < low ? low : hint > high ? high : hint;
}

/* ---- layouts ---- */

bool loom_contiguous_strides_in(loom_graph *graph, const loom_type *type, int64_t *out) {
  int64_t stride = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    out[i] = stride;
    int64_t size = loom_stride_of_dim(type->dims[i]);
    bool skipped = !LOOM_STRIDE_IS_SYM(size) && size <= 1;
    if (skipped || i == 0) continue;
    if (!loom_stride_combine(graph, LOOM_EXPR_MUL, stride, size, &stride)) return false;
  }
  return true;
}

bool loom_type_elements_in(loom_graph *graph, const loom_type *type, loom_dim *out) {
  *out = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return *out = 0, true;
  for (int i = 0; i < type->rank; i++)
    if (!loom_dim_combine(graph, LOOM_EXPR_MUL, *out, type->dims[i], out)) return false;
  return true;
}
