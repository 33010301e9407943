/* Numbers of the graph with the index of a loop in them (roll.c).
 *
 * The index of a loop that is captured once is a symbol of its body, which takes the values 0 to
 * count - 1. Capture can decide a question about such a number only if the answer is the same in
 * every iteration. A number that is linear in the index is largest and smallest in the first and
 * the last iteration. Its values there do not contain the index, so that ranges, or this call's
 * sizes and a guard, decide the question as any other. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/call.h"
#include "frontend/core/tracer.h"
#include "frontend/size/internal.h"
#include "frontend/size/size.h"

bool size_is_looped(tracer *t, int64_t number) {
  return t->loops.looped && LOOM_STRIDE_IS_SYM(number) &&
         (size_symbols(trace_graph(t), LOOM_STRIDE_EXPR(number)) & t->loops.looped);
}

bool size_loop(tracer *t, int64_t count, loom_value index, int64_t *out) {
  loom_graph *graph = trace_graph(t);
  int64_t low, high;
  loom_dim dim;
  loom_stride_range(graph, count, &low, &high);
  if (graph->symbol_count >= LOOM_MAX_SYMBOLS) return false;
  const loom_symbol known = {
      .max = high > 0 ? high - 1 : 0, .divisor = 1, .hint = size_hint(t, count) / 2};
  if (!loom_dim_symbol(graph, &known, &dim)) return trace_fail(t), false;
  uint32_t symbol = graph->symbol_count - 1;
  t->loops.looped |= (uint64_t)1 << symbol;
  t->loops.counts[symbol] = count;
  t->late.nodes[symbol] = index;
  t->capture->sized = true;
  *out = loom_stride_of_dim(dim);
  return true;
}

/* The symbol of the innermost loop in a number. */
static uint32_t loop_symbol(tracer *t, int64_t number) {
  uint64_t bits = size_symbols(trace_graph(t), LOOM_STRIDE_EXPR(number)) & t->loops.looped;
  return (uint32_t)(63 - __builtin_clzll(bits));
}

/* A number modulo which the index stands somewhere in an expression, or 0. */
static int loop_period(tracer *t, uint32_t index, uint32_t symbol) {
  const loom_graph *graph = trace_graph(t);
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST || e->kind == LOOM_EXPR_SYMBOL) return 0;
  const loom_expr *by = &graph->exprs[e->rhs];
  if (e->kind == LOOM_EXPR_MOD && by->kind == LOOM_EXPR_CONST && by->value > 1 && by->value < 64 &&
      size_symbols(graph, e->lhs) >> symbol & 1)
    return (int)by->value;
  int left = loop_period(t, e->lhs, symbol);
  return left ? left : loop_period(t, e->rhs, symbol);
}

void size_blame(tracer *t, int64_t number, const char *why) {
  if (trace_pending(t)) return;
  uint32_t symbol = loop_symbol(t, number);
  t->loops.blamed = symbol;
  t->loops.blamed_period = loop_period(t, LOOM_STRIDE_EXPR(number), symbol);
  t->loops.blamed_why = why;
  trace_break(t, BREAK_DATA_DEPENDENT, "%s", why);
  t->loops.blamed = -1;
  t->loops.blamed_period = t->loops.blamed_peel = t->loops.blamed_tail = 0;
}

/* A decision that becomes another one `from_first` iterations behind the first one, or as many
 * before the last one (0: not near it), is the same in all others. */
static void loop_blame_end(tracer *t, int64_t number, int64_t from_first, int64_t from_last) {
  bool first = from_first > 0 && from_first <= LOOP_NEAR;
  bool last = from_last > 0 && from_last <= LOOP_NEAR;
  if (first && (!last || from_first <= from_last))
    t->loops.blamed_peel = (int)from_first;
  else if (last)
    t->loops.blamed_tail = (int)from_last;
  size_blame(t, number, "a decision depends on the index of a loop");
}

/* number = factor * symbol + rest: false when it is no such sum, or something is pending. */
static bool loop_split(tracer *t, int64_t number, uint32_t symbol, int64_t *factor, int64_t *rest) {
  const loom_graph *graph = trace_graph(t);
  size_sum sum = {0};
  *factor = *rest = 0;
  if (!size_open(graph, LOOM_STRIDE_EXPR(number), &sum)) return false;
  for (int i = 0; i < sum.count; i++) {
    size_term term = sum.terms[i];
    int64_t part;
    bool found = false;
    for (int k = 0; k < term.count && !found; k++) {
      const loom_expr *e = &graph->exprs[term.factors[k]];
      found = e->kind == LOOM_EXPR_SYMBOL && e->value == symbol &&
              size_drop_factor(&term, term.factors[k]);
    }
    for (int k = 0; k < term.count; k++)
      if (size_symbols(graph, term.factors[k]) >> symbol & 1) return false;
    int64_t *to = found ? factor : rest;
    if (!size_build_term(t, &term, &part) || !size_op(t, LOOM_EXPR_ADD, *to, part, to))
      return false;
  }
  return true;
}

/* A number in the first and in the last iteration of the innermost loop, without its index. */
typedef struct loop_ends {
  int64_t factor, first, last;
  int64_t low, high; /* the smaller and the larger of them */
} loop_ends;

static bool loop_extremes(tracer *t, int64_t number, loop_ends *out) {
  uint32_t symbol = loop_symbol(t, number);
  int64_t steps;
  __int128 least, most;
  *out = (loop_ends){0};
  if (!loop_split(t, number, symbol, &out->factor, &out->first) || trace_pending(t)) return false;
  if (!size_op(t, LOOM_EXPR_ADD, t->loops.counts[symbol], -1, &steps) ||
      !size_op(t, LOOM_EXPR_MUL, out->factor, steps, &steps) ||
      !size_op(t, LOOM_EXPR_ADD, out->first, steps, &out->last) ||
      !size_sign_range(trace_graph(t), out->factor, &least, &most))
    return false;
  out->low = most <= 0 ? out->last : out->first;
  out->high = least >= 0 ? out->last : out->first;
  return least >= 0 || most <= 0;
}

/* How many steps of `by` a number at one end of the loop, that grows by as much towards the other
 * end, is away from being positive, or from not being so; 0: not known, or it will not be. */
static int64_t loop_crossing(int64_t at, int64_t by) {
  if (LOOM_STRIDE_IS_SYM(at) || LOOM_STRIDE_IS_SYM(by) || !by || llabs(at) > 1ll << 40) return 0;
  if (by > 0 && at <= 0) return -at / by + 1;
  if (by < 0 && at > 0) return (at - by - 1) / -by;
  return 0;
}

int size_loop_positive(tracer *t, int64_t number) {
  loop_ends ends;
  if (!loop_extremes(t, number, &ends)) {
    size_blame(t, number, "a decision depends on the index of a loop");
    return -1;
  }
  if (size_hint(t, ends.low) > 0 && size_less(t, 0, ends.low) > 0) return 1;
  if (size_hint(t, ends.high) <= 0 && size_less(t, 0, ends.high) == 0) return 0;
  loop_blame_end(t, number, loop_crossing(ends.first, ends.factor),
                 loop_crossing(ends.last, LOOM_STRIDE_IS_SYM(ends.factor) ? 0 : -ends.factor));
  return -1;
}

/* How many steps of `by` away from one end the number is 0; -1: not known, -2: it is never. */
static int64_t loop_root(int64_t at, int64_t by) {
  if (LOOM_STRIDE_IS_SYM(at) || LOOM_STRIDE_IS_SYM(by) || !by) return -1;
  return at % by || -(at / by) < 0 ? -2 : -(at / by);
}

int size_loop_zero(tracer *t, int64_t number) {
  loop_ends ends;
  if (!loop_extremes(t, number, &ends)) {
    size_blame(t, number, "a decision depends on the index of a loop");
    return -1;
  }
  if (ends.low == 0 && ends.high == 0) return 1;
  if (size_hint(t, ends.low) > 0 && size_less(t, 0, ends.low) > 0) return 0;
  if (size_hint(t, ends.high) < 0 && size_less(t, ends.high, 0) > 0) return 0;
  int64_t first = loop_root(ends.first, ends.factor);
  int64_t last = loop_root(ends.last, LOOM_STRIDE_IS_SYM(ends.factor) ? 0 : -ends.factor);
  if (first == -2 || last == -2) return 0;
  loop_blame_end(t, number, first + 1, last + 1);
  return -1;
}

bool size_at_iteration(tracer *t, int64_t number, int64_t step, int64_t iteration, int64_t *out) {
  return size_op(t, LOOM_EXPR_MUL, step, iteration, &step) &&
         size_op(t, LOOM_EXPR_ADD, number, step, out);
}

bool size_at_first(tracer *t, int64_t number, int64_t *out) {
  int64_t factor;
  *out = number;
  return !size_is_looped(t, number) || loop_split(t, number, loop_symbol(t, number), &factor, out);
}
