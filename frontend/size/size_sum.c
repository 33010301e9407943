/* Numbers of the graph as sums of products of symbols: what the ranges of the symbols say about a
 * sum's sign, and which sums can be divided without a remainder. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/tracer.h"
#include "frontend/size/internal.h"
#include "frontend/size/size.h"

/* ---- signs ---- */

static bool size_open_term(const loom_graph *graph, uint32_t index, size_term *out) {
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST)
    return !__builtin_mul_overflow(out->coefficient, e->value, &out->coefficient);
  if (e->kind == LOOM_EXPR_MUL)
    return size_open_term(graph, e->lhs, out) && size_open_term(graph, e->rhs, out);
  if (out->count == SIZE_MAX_FACTORS) return false;
  out->factors[out->count++] = index;
  return true;
}

bool size_open(const loom_graph *graph, uint32_t index, size_sum *out) {
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_ADD)
    return size_open(graph, e->lhs, out) && size_open(graph, e->rhs, out);
  if (out->count == SIZE_MAX_TERMS) return false;
  size_term *term = &out->terms[out->count++];
  *term = (size_term){.coefficient = 1};
  return size_open_term(graph, index, term);
}

bool size_drop_factor(size_term *term, uint32_t factor) {
  for (int i = 0; i < term->count; i++) {
    if (term->factors[i] != factor) continue;
    term->factors[i] = term->factors[--term->count];
    return true;
  }
  return false;
}

static void size_factor_range(const loom_graph *graph, uint32_t factor, int64_t *low,
                              int64_t *high) {
  loom_stride_range(graph, LOOM_STRIDE_SYM(factor), low, high);
}

/* Divides all terms by factors that they share and that are positive: the sign stays. */
static void size_reduce(const loom_graph *graph, size_sum *sum) {
  for (int i = 0; sum->count && i < sum->terms[0].count; i++) {
    uint32_t factor = sum->terms[0].factors[i];
    int64_t low, high;
    size_factor_range(graph, factor, &low, &high);
    bool shared = low > 0;
    for (int k = 0; shared && k < sum->count; k++) {
      size_term copy = sum->terms[k];
      shared = size_drop_factor(&copy, factor);
    }
    if (!shared) continue;
    for (int k = 0; k < sum->count; k++)
      size_drop_factor(&sum->terms[k], factor);
    i = -1;
  }
}

/* Bounds may lie far outside of int64. A lower one beyond -SIZE_FAR stands for minus infinity, and
 * is not made larger than SIZE_NEAR, so that in a sum of a few terms the infinite one wins; upper
 * ones the other way round. */
#define SIZE_FAR ((__int128)1 << 100)
#define SIZE_NEAR ((__int128)1 << 90)

static __int128 size_times(__int128 a, __int128 b) {
  double product = (double)a * (double)b;
  if (product > 0x1p110) return (__int128)1 << 110;
  return product < -0x1p110 ? -((__int128)1 << 110) : a * b;
}

static void size_term_range(const loom_graph *graph, const size_term *term, __int128 *low,
                            __int128 *high) {
  *low = *high = term->coefficient;
  for (int i = 0; i < term->count; i++) {
    int64_t l, h;
    size_factor_range(graph, term->factors[i], &l, &h);
    __int128 c[4] = {size_times(*low, l), size_times(*low, h), size_times(*high, l),
                     size_times(*high, h)};
    *low = *high = c[0];
    for (int k = 1; k < 4; k++) {
      if (c[k] < *low) *low = c[k];
      if (c[k] > *high) *high = c[k];
    }
    *low = *low > SIZE_NEAR ? SIZE_NEAR : *low < -SIZE_FAR ? -SIZE_FAR : *low;
    *high = *high < -SIZE_NEAR ? -SIZE_NEAR : *high > SIZE_FAR ? SIZE_FAR : *high;
  }
}

bool size_sign_range(const loom_graph *graph, int64_t number, __int128 *low, __int128 *high) {
  size_sum sum = {0};
  *low = *high = number;
  if (!LOOM_STRIDE_IS_SYM(number)) return true;
  if (!size_open(graph, LOOM_STRIDE_EXPR(number), &sum)) return false;
  size_reduce(graph, &sum);
  *low = *high = 0;
  for (int i = 0; i < sum.count; i++) {
    __int128 l, h;
    size_term_range(graph, &sum.terms[i], &l, &h);
    *low += l;
    *high += h;
  }
  return true;
}

bool size_linear(const loom_graph *graph, int64_t number, int64_t *symbol, int64_t *coefficient,
                 int64_t *rest) {
  size_sum sum = {0};
  if (!size_open(graph, LOOM_STRIDE_EXPR(number), &sum)) return false;
  size_reduce(graph, &sum);
  int first = sum.count == 2 && !sum.terms[0].count;
  if (sum.count < 1 || sum.count > 2 || sum.terms[first].count != 1) return false;
  if (sum.count == 2 && sum.terms[1 - first].count) return false;
  const loom_expr *e = &graph->exprs[sum.terms[first].factors[0]];
  *symbol = e->value;
  *coefficient = sum.terms[first].coefficient;
  *rest = sum.count == 2 ? sum.terms[1 - first].coefficient : 0;
  return e->kind == LOOM_EXPR_SYMBOL && llabs(*rest) < SIZE_DIM_MAX;
}

/* ---- exact division ---- */

/* term / by, when it is a product of some of its factors. */
static bool size_divide_term(const size_term *term, const size_term *by, size_term *out) {
  *out = *term;
  if (by->coefficient == 0 || out->coefficient % by->coefficient != 0) return false;
  out->coefficient /= by->coefficient;
  for (int i = 0; i < by->count; i++)
    if (!size_drop_factor(out, by->factors[i])) return false;
  return true;
}

bool size_build_term(tracer *t, const size_term *term, int64_t *out) {
  *out = term->coefficient;
  for (int i = 0; i < term->count; i++)
    if (!size_op(t, LOOM_EXPR_MUL, *out, LOOM_STRIDE_SYM(term->factors[i]), out)) return false;
  return true;
}

static bool size_open_number(const loom_graph *graph, int64_t number, size_sum *out) {
  *out = (size_sum){.count = 1, .terms = {{.coefficient = number}}};
  if (!LOOM_STRIDE_IS_SYM(number)) return true;
  out->count = 0;
  return size_open(graph, LOOM_STRIDE_EXPR(number), out);
}

/* A symbol that is divided by a constant without a rest in this call: the next attempt counts in
 * that unit. False when there is none. */
static bool size_find_unit(tracer *t, uint32_t index) {
  const loom_graph *graph = trace_graph(t);
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST || e->kind == LOOM_EXPR_SYMBOL) return false;
  const loom_expr *from = &graph->exprs[e->lhs], *by = &graph->exprs[e->rhs];
  bool divides = (e->kind == LOOM_EXPR_FLOORDIV || e->kind == LOOM_EXPR_MOD) &&
                 from->kind == LOOM_EXPR_SYMBOL && by->kind == LOOM_EXPR_CONST && by->value > 1 &&
                 by->value < 1 << 20 && graph->symbols[from->value].hint % by->value == 0;
  for (uint32_t i = 0; divides && t->call.sizes && i < t->call.sizes->count; i++) {
    size_fact *f = &t->call.sizes->facts[i];
    int64_t plain;
    if (!f->symbol || f->unit > 1 << 20 ||
        !size_op(t, LOOM_EXPR_MUL, LOOM_STRIDE_SYM(e->lhs), f->unit, &plain) || plain != f->symbol)
      continue;
    f->unit *= by->value;
    size_restart(t);
  }
  return t->state == TRACE_RESTART || size_find_unit(t, e->lhs) || size_find_unit(t, e->rhs);
}

bool size_make_exact(tracer *t, int64_t number) {
  return LOOM_STRIDE_IS_SYM(number) && !trace_pending(t) &&
         size_find_unit(t, LOOM_STRIDE_EXPR(number));
}

bool size_divide(tracer *t, int64_t a, int64_t b, int64_t *out) {
  const loom_graph *graph = trace_graph(t);
  size_sum sum, by;
  size_term term;
  int64_t part;
  if (!LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b)) return *out = a / b, true;
  bool good = size_open_number(graph, a, &sum) && size_open_number(graph, b, &by) && by.count == 1;
  *out = 0;
  for (int i = 0; good && i < sum.count; i++) {
    good = size_divide_term(&sum.terms[i], &by.terms[0], &term);
    if (good && (!size_build_term(t, &term, &part) || !size_op(t, LOOM_EXPR_ADD, *out, part, out)))
      return false;
  }
  if (good) return !trace_pending(t);
  if (!LOOM_STRIDE_IS_SYM(b) && size_op(t, LOOM_EXPR_FLOORDIV, a, b, &part) &&
      size_make_exact(t, part))
    return false;
  if (size_make_exact(t, b)) return false;
  size_know(t, a);
  size_know(t, b);
  return false;
}

bool size_exists(tracer *t, int64_t number) {
  const loom_graph *graph = trace_graph(t);
  size_sum sum;
  __int128 low = 0, high = 0;
  bool good = size_open_number(graph, number, &sum);
  for (int i = 0; good && i < sum.count; i++) {
    __int128 l, h;
    size_term_range(graph, &sum.terms[i], &l, &h);
    low += l < 0 ? l : 0; /* partial sums in any order */
    high += h > 0 ? h : 0;
    good = low >= INT64_MIN && high <= INT64_MAX;
  }
  if (!good && (size_is_late(t, number) || size_is_looped(t, number))) return size_overflows(t);
  if (!good) size_add_guard(t, NULL, (size_guard){SIZE_AT_MOST, 0, 0, number, number});
  return !trace_pending(t);
}
