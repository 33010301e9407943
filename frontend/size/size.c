/* Sizes that change from call to call, and ints computed from them: numbers of the graph.
 *
 * Capture has one call before it. A size that is known to change becomes a symbol whose hint is its
 * value in this call; everything else stays a constant. Where the code that is captured compares
 * sizes, the ranges of the symbols decide if they can, else this call's values do, and a guard
 * makes sure that the answer is the same on the next call. Three rules keep that sound:
 *
 * - a symbolic size in a type is at least 2 (size_admit), since NumPy treats sizes of 0 and 1 in
 *   ways of their own: code that asks whether a size is 0 or 1 may look at the number alone;
 * - two sizes of types that have to be equal are the same number (size_same): when they are not,
 *   though equal in this call, capture starts again with one symbol for both;
 * - what does not know of symbols asks for the value (size_know): capture starts again with a
 *   constant, so that a function which nobody has looked through is never given a symbol.
 *
 * What was learnt stays in the callable's size table. */
#include "frontend/size/size.h"
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/tracer.h"
#include "frontend/size/internal.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_shapes.h"

#include <inttypes.h>

/* ---- reading -------------------------------------------------------------------------------- */

static bool size_guarded(const capture *c, const source *s, const size_guard *payload) {
  for (uint32_t i = c->guard_count; i-- > 0;) {
    const guard *g = &c->guards[i];
    const size_guard *p = g->payload;
    if (g->kind == GUARD_SIZE && g->source == s && p->test == payload->test &&
        p->field == payload->field && p->axis == payload->axis && p->left == payload->left &&
        p->right == payload->right)
      return true;
  }
  return false;
}

void size_add_guard(tracer *t, const source *s, size_guard payload) {
  if (size_is_looped(t, payload.left) || size_is_looped(t, payload.right)) {
    size_know(t, size_is_looped(t, payload.left) ? payload.left : payload.right);
    return;
  }
  if (size_guarded(t->capture, s, &payload)) return;
  size_guard *copy = malloc(sizeof *copy);
  if (!copy) {
    PyErr_NoMemory();
    trace_fail(t);
    return;
  }
  *copy = payload;
  trace_guard(
      t, (guard){.kind = GUARD_SIZE, .source = s, .payload = copy, .payload_size = sizeof *copy});
}

void size_guard_reads(tracer *t, const source *s, size_field field, int axis, int64_t number) {
  size_add_guard(t, s, (size_guard){SIZE_READS, field, axis, number, 0});
}

void size_guard_formula(tracer *t, size_guard payload) { size_add_guard(t, NULL, payload); }

bool size_overflows(tracer *t) {
  trace_break(t, BREAK_LIMIT, "a size that cannot be expressed");
  return false;
}

/* A fresh symbol, read by `s` on every call. */
static bool size_bind(tracer *t, const source *s, size_fact *f, int64_t now) {
  loom_graph *graph = trace_graph(t);
  int64_t unit = now % f->unit == 0 ? f->unit : 1, symbol;
  loom_symbol known = {.min = f->min / unit + (f->min % unit > 0),
                       .max = f->max / unit,
                       .divisor = 1,
                       .hint = now / unit};
  loom_dim dim;
  if (!loom_dim_symbol(graph, &known, &dim)) return trace_fail(t), false;
  t->capture->sized = true;
  symbol = loom_stride_of_dim(dim);
  if (!size_op(t, LOOM_EXPR_MUL, symbol, unit, &f->symbol)) return false;
  size_add_guard(t, s, (size_guard){SIZE_BINDS, f->field, f->axis, symbol, unit});
  return !trace_pending(t);
}

/* The size of `f` by the symbol of `g`, of the same group; false when it is another one now. */
static bool size_follow(tracer *t, size_fact *f, const size_fact *g, int64_t now) {
  int64_t number;
  if (!size_op(t, LOOM_EXPR_ADD, g->symbol, f->offset - g->offset, &number)) return false;
  if (size_hint(t, number) != now || trace_pending(t)) return false;
  if (f->field == SIZE_OF_DIM && size_less(t, number, 2) != 0) return false;
  f->symbol = number;
  return true;
}

/* Takes the symbol of another fact when the two are of one group, or, where all sizes are symbols
 * from the start, the first time that they are equal. A guess that was wrong is not made again. */
static void size_join(tracer *t, size_fact *f, int64_t now) {
  size_table *table = t->call.sizes;
  uint32_t self = (uint32_t)(f - table->facts);
  for (uint32_t i = 0; i < table->count; i++) {
    const size_fact *g = &table->facts[i];
    bool alike =
        g != f && g->symbol && g->field == f->field && g->min == f->min && g->max == f->max;
    if (!alike) continue;
    if (g->group != f->group && table->always && f->field == SIZE_OF_DIM && !f->apart &&
        size_hint(t, g->symbol) == now) {
      f->group = g->group;
      f->offset = g->offset;
    }
    if (g->group != f->group) continue;
    if (size_follow(t, f, g, now)) return;
    f->group = self;
    f->offset = 0;
  }
  f->apart = true;
}

bool size_read(tracer *t, const source *s, size_field field, int axis, int64_t now, int64_t *out) {
  size_table *table = t->call.sizes;
  *out = now;
  if (!table || table->never || !s || (!table->count && !table->always)) return true;
  if (field == SIZE_OF_DIM && now < 2) return true;
  size_fact *f = size_table_get(table, s, field, axis);
  if (!f) return PyErr_NoMemory(), trace_fail(t), false;
  bool at_once = table->always && !f->held &&
                 (field == SIZE_OF_DIM || (field == SIZE_OF_INT && s->kind == SOURCE_ARG));
  bool symbol = f->state == SIZE_SYMBOL || (f->state == SIZE_STATIC && at_once);
  if (!symbol || f->skip || now < f->min || now > f->max) return true;
  size_join(t, f, now);
  if (f->symbol) {
    size_guard_reads(t, s, field, axis, f->symbol);
  } else {
    if (trace_graph(t)->symbol_count >= LOOM_MAX_SYMBOLS) return true;
    if (!size_bind(t, s, f, now)) return false;
  }
  *out = f->symbol;
  return !trace_pending(t);
}

/* ---- starting again ------------------------------------------------------------------------- */

void size_restart(tracer *t) {
  if (t->state != TRACE_ERROR && t->state != TRACE_BROKEN) t->state = TRACE_RESTART;
}

/* Symbols that a number of the graph is made of, those behind formulas included. */
uint64_t formula_symbols(const tracer *t, uint64_t symbols) {
  uint64_t all = symbols;
  for (uint64_t bits = symbols; bits; bits &= bits - 1)
    all |= t->formula_symbols[__builtin_ctzll(bits)];
  return all;
}

/* Marks what the symbols of a number were read from: not to be symbols again, in this capture or
 * for ever. */
static bool size_pin(tracer *t, int64_t number, bool for_ever, const char *why) {
  const loom_graph *graph = trace_graph(t);
  uint64_t symbols = formula_symbols(t, size_symbols(graph, LOOM_STRIDE_EXPR(number)));
  bool found = false;
  for (uint32_t i = 0; t->call.sizes && i < t->call.sizes->count; i++) {
    size_fact *f = &t->call.sizes->facts[i];
    if (!f->symbol || !(size_symbols(graph, LOOM_STRIDE_EXPR(f->symbol)) & symbols)) continue;
    found = f->skip = true;
    if (!for_ever || f->state == SIZE_PINNED) continue;
    f->state = SIZE_PINNED;
    snprintf(f->why, sizeof f->why, "%s", why);
    loom_location at = trace_location(t);
    loom_log(LOOM_LOG_DYNAMIC, "%s:%d: a size of %s has to be known: compiled for its value%s%s",
             at.file ? at.file : "?", (int)at.line, f->name, why[0] ? "; " : "", why);
  }
  return found;
}

static void size_know_for(tracer *t, int64_t number, bool for_ever, const char *why) {
  if (!LOOM_STRIDE_IS_SYM(number) || (trace_pending(t) && t->state != TRACE_RESTART)) return;
  if (size_is_looped(t, number)) {
    size_blame(t, number, "the index of a loop has to be known");
    return;
  }
  if (size_pin(t, number, for_ever, why))
    size_restart(t);
  else
    trace_break(t, BREAK_DATA_DEPENDENT, "a decision depends on a size that depends on data");
}

void size_know(tracer *t, int64_t number) { size_know_for(t, number, true, ""); }

void size_know_since(tracer *t, int64_t number, const char *why) {
  size_know_for(t, number, true, why);
}

/* ---- floats that are read from objects ---- */

static size_fact *size_float(const tracer *t, const source *s) {
  if (!t->call.sizes || t->call.sizes->never || !t->call.sizes->count || !s ||
      s->kind == SOURCE_ARG)
    return NULL;
  PyObject *text = source_name(s);
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  size_fact *f = name ? size_table_find(t->call.sizes, name, SIZE_OF_FLOAT, 0) : NULL;
  Py_XDECREF(text);
  error_drop();
  return f && f->state == SIZE_SYMBOL && !f->skip ? f : NULL;
}

bool size_float_changes(tracer *t, const source *s) { return size_float(t, s) != NULL; }

bool size_number_changes(tracer *t, const source *s) {
  size_fact *f = size_float(t, s);
  if (f) f->of_library = true;
  return f != NULL;
}

bool size_know_float(tracer *t, const source *s) {
  size_fact *f = size_float(t, s);
  if (!f || f->apart) return false;
  f->skip = true;
  f->state = SIZE_PINNED;
  size_restart(t);
  return true;
}

/* ---- arithmetic ----------------------------------------------------------------------------- */

bool size_from_int(tracer *t, int64_t number) {
  if (number > -LOOM_NUMBER_LIMIT && number < LOOM_NUMBER_LIMIT) return true;
  trace_break(t, BREAK_NUMPY_FUNCTION, "an integer that no size or index can be");
  return false;
}

bool size_op(tracer *t, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out) {
  if (trace_pending(t)) return false;
  if (loom_stride_combine(trace_graph(t), kind, a, b, out)) return true;
  if (!LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b)) return size_overflows(t);
  size_know(t, LOOM_STRIDE_IS_SYM(a) ? a : b);
  return false;
}

bool size_minus(tracer *t, int64_t a, int64_t b, int64_t *out) {
  int64_t negative;
  return size_op(t, LOOM_EXPR_MUL, b, -1, &negative) && size_op(t, LOOM_EXPR_ADD, a, negative, out);
}

int64_t size_hint(tracer *t, int64_t number) {
  const loom_graph *graph = trace_graph(t);
  int64_t hints[LOOM_MAX_SYMBOLS], out;
  if (!LOOM_STRIDE_IS_SYM(number)) return number;
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++)
    hints[i] = graph->symbols[i].hint;
  if (loom_stride_eval(graph, number, hints, &out)) return out;
  size_know(t, number);
  return 2;
}

/* ---- decisions ------------------------------------------------------------------------------ */

bool size_is_late(tracer *t, int64_t number) {
  return LOOM_STRIDE_IS_SYM(number) &&
         (size_symbols(trace_graph(t), LOOM_STRIDE_EXPR(number)) & t->late.symbols);
}

bool size_any_late(const tracer *t) { return t->late.symbols != 0; }

bool size_wants_node(tracer *t, loom_dim size) {
  if (!LOOM_DIM_IS_SYM(size)) return false;
  const loom_expr *e = &trace_graph(t)->exprs[LOOM_DIM_EXPR(size)];
  return e->kind == LOOM_EXPR_SYMBOL && t->late.symbols >> e->value & 1 &&
         t->late.nodes[e->value] == LOOM_NO_VALUE;
}

void size_not_small(tracer *t, int64_t number) {
  if (size_is_late(t, number) && !trace_pending(t)) size_less(t, number, 2);
}

/* symbol * coefficient + rest >= 0 narrows the symbol's range, which its own guard checks. */
static bool size_narrow(loom_graph *graph, int64_t difference) {
  size_sum sum = {0};
  if (!size_open(graph, LOOM_STRIDE_EXPR(difference), &sum) || sum.count > 2) return false;
  const size_term *term = &sum.terms[0];
  int64_t rest = sum.count == 2 ? sum.terms[1].coefficient : 0;
  if (term->count != 1 || (sum.count == 2 && sum.terms[1].count != 0)) return false;
  const loom_expr *e = &graph->exprs[term->factors[0]];
  if (e->kind != LOOM_EXPR_SYMBOL || rest == INT64_MIN) return false;
  loom_symbol *symbol = &graph->symbols[e->value];
  int64_t c = term->coefficient, q;
  if (c > 0) { /* symbol >= ceil(-rest / c) */
    q = -rest / c + (-rest % c > 0);
    if (q > symbol->min) symbol->min = q;
  } else { /* symbol <= floor(rest / -c) */
    q = rest / -c - (rest % -c < 0);
    if (q < symbol->max) symbol->max = q;
  }
  return true;
}

/* What a host call tells is not known here. That it is not one of the smallest numbers is assumed
 * where it decides something: the call itself checks it, and else the plain function runs. */
#define SIZE_LATE_SMALL 4

static bool size_assume_least(tracer *t, int64_t symbol, int64_t least) {
  loom_symbol *s = &trace_graph(t)->symbols[symbol];
  if (!(t->late.symbols >> symbol & 1) || least > SIZE_LATE_SMALL) return false;
  if (s->min < least) s->min = least;
  return true;
}

/* Is the number positive, for all but the smallest sizes? 1, 0, -1. */
static int size_late_positive(tracer *t, int64_t number) {
  int64_t symbol, c, rest;
  if (size_linear(trace_graph(t), number, &symbol, &c, &rest)) {
    int64_t edge = c > 0 ? -rest : rest, by = llabs(c); /* by * symbol > edge, or >= */
    int64_t least = edge / by - (edge % by < 0) + (c > 0 || edge % by != 0);
    if (size_assume_least(t, symbol, least)) return c > 0;
  }
  size_know(t, number);
  return -1;
}

/* Is it 0? 1, 0, -1. */
static int size_late_zero(tracer *t, int64_t number) {
  int64_t symbol, c, rest;
  if (size_linear(trace_graph(t), number, &symbol, &c, &rest) &&
      (rest % c || size_assume_least(t, symbol, -rest / c + 1)))
    return 0;
  size_know(t, number);
  return -1;
}

/* Is `a < b`, whatever their symbols are? 1, 0; -1: that depends on them. Their difference may be
 * none that can be expressed: Python's "to the end" is the largest number. */
static int size_less_by_range(const loom_graph *graph, int64_t a, int64_t b) {
  int64_t low[2], high[2];
  loom_stride_range(graph, a, &low[0], &high[0]);
  loom_stride_range(graph, b, &low[1], &high[1]);
  return high[0] < low[1] ? 1 : high[1] <= low[0] ? 0 : -1;
}

/* Has `b - a` the sign that this call's sizes say? The guard: a < b, or b <= a. */
int size_less(tracer *t, int64_t a, int64_t b) {
  loom_graph *graph = trace_graph(t);
  int64_t difference, narrowed;
  __int128 low, high;
  int ranged = size_less_by_range(graph, a, b);
  if (ranged >= 0) return ranged;
  if (!size_minus(t, b, a, &difference)) return -1;
  if (size_sign_range(graph, difference, &low, &high)) {
    if (low > 0) return 1;
    if (high <= 0) return 0;
  }
  if (size_is_looped(t, difference)) return size_loop_positive(t, difference);
  if (size_is_late(t, difference)) return size_late_positive(t, difference);
  bool less = size_hint(t, difference) > 0;
  if (trace_pending(t)) return -1;
  if (less ? size_op(t, LOOM_EXPR_ADD, difference, -1, &narrowed)
           : size_op(t, LOOM_EXPR_MUL, difference, -1, &narrowed))
    if (LOOM_STRIDE_IS_SYM(narrowed) && size_narrow(graph, narrowed)) return less;
  if (less)
    size_add_guard(t, NULL, (size_guard){SIZE_LESS, 0, 0, a, b});
  else
    size_add_guard(t, NULL, (size_guard){SIZE_AT_MOST, 0, 0, b, a});
  return trace_pending(t) ? -1 : less;
}

int size_equal(tracer *t, int64_t a, int64_t b) {
  const loom_graph *graph = trace_graph(t);
  int64_t difference;
  __int128 low, high;
  if (a == b) return 1;
  if (!LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b)) return 0;
  if (!size_minus(t, a, b, &difference)) return -1;
  if (!LOOM_STRIDE_IS_SYM(difference)) return difference == 0;
  if (size_sign_range(graph, difference, &low, &high) && (low > 0 || high < 0)) return 0;
  if (size_is_looped(t, difference)) return size_loop_zero(t, difference);
  if (size_is_late(t, difference)) return size_late_zero(t, difference);
  bool equal = size_hint(t, difference) == 0;
  size_add_guard(t, NULL, (size_guard){equal ? SIZE_EQUAL : SIZE_DIFFERS, 0, 0, a, b});
  return trace_pending(t) ? -1 : equal;
}

/* The fact whose size is `number` but for a constant. */
static size_fact *size_fact_of(tracer *t, int64_t number, int64_t *offset) {
  for (uint32_t i = 0; t->call.sizes && LOOM_STRIDE_IS_SYM(number) && i < t->call.sizes->count;
       i++) {
    size_fact *f = &t->call.sizes->facts[i];
    if (f->symbol && size_minus(t, number, f->symbol, offset) && !LOOM_STRIDE_IS_SYM(*offset))
      return f;
  }
  return NULL;
}

/* Both groups become one, so that f + left and g + right are the same number. */
static void size_merge(size_table *table, const size_fact *f, const size_fact *g, int64_t left,
                       int64_t right) {
  uint32_t from = g->group, to = f->group;
  int64_t more = f->offset + left - right - g->offset;
  for (uint32_t i = 0; i < table->count; i++) {
    size_fact *h = &table->facts[i];
    if (h->group != from) continue;
    h->group = to;
    h->offset += more;
  }
}

/* Which of the sizes that host calls tell the number is, or -1. */
static int64_t size_late_find(tracer *t, int64_t number) {
  for (uint32_t i = 0; i < t->late.count; i++)
    if (t->kept->late[i] == LATE_FREE && t->late.sizes[i] == number) return i;
  return -1;
}

/* One of two sizes that have to be equal is told by a host call: capture starts again, and that
 * call checks it. */
static int size_same_late(tracer *t, int64_t l, int64_t r) {
  int64_t a = size_late_find(t, l), b = size_late_find(t, r);
  if (a >= 0 && b >= 0) {
    t->kept->late[a > b ? a : b] = LATE_SAME(a > b ? b : a);
  } else if ((a >= 0 && !LOOM_STRIDE_IS_SYM(r)) || (b >= 0 && !LOOM_STRIDE_IS_SYM(l))) {
    t->kept->late[a >= 0 ? a : b] = a >= 0 ? r : l;
  } else {
    trace_break(t, BREAK_DATA_DEPENDENT, "arrays whose sizes depend on data have to fit together");
    return -1;
  }
  size_restart(t);
  return -1;
}

bool size_late(tracer *t, loom_dim *out) {
  loom_graph *graph = trace_graph(t);
  uint32_t at = t->late.count;
  if (at >= LOOM_MAX_SYMBOLS || graph->symbol_count >= LOOM_MAX_SYMBOLS) {
    trace_break(t, BREAK_LIMIT, "too many sizes that depend on data");
    return false;
  }
  int64_t known = t->kept->late[at], number = known;
  if (known == LATE_FREE) {
    loom_symbol symbol = {.max = SIZE_DIM_MAX, .divisor = 1, .hint = 4099 + 2 * (int64_t)at};
    if (!loom_dim_symbol(graph, &symbol, out)) return trace_fail(t), false;
    t->late.symbols |= (uint64_t)1 << (graph->symbol_count - 1);
    t->late.nodes[graph->symbol_count - 1] = LOOM_NO_VALUE;
    t->capture->late = t->late.symbols;
    t->capture->sized = true;
    number = loom_stride_of_dim(*out);
  } else if (known < LATE_FREE) {
    number = t->late.sizes[LATE_SAME(known)];
  }
  t->late.sizes[t->late.count++] = number;
  return loom_dim_of_stride(number, out) || size_overflows(t);
}

void size_set_late_node(tracer *t, loom_dim size, loom_value node) {
  const loom_expr *e = &trace_graph(t)->exprs[LOOM_DIM_EXPR(size)];
  t->late.nodes[e->value] = node;
}

int size_same(tracer *t, loom_dim a, loom_dim b) {
  int64_t l = loom_stride_of_dim(a), r = loom_stride_of_dim(b), left = 0, right = 0;
  if (a == b) return 1;
  if (trace_pending(t)) return -1;
  if (size_is_looped(t, l) || size_is_looped(t, r)) return size_equal(t, l, r);
  if (size_is_late(t, l) || size_is_late(t, r)) return size_same_late(t, l, r);
  if (size_hint(t, l) != size_hint(t, r)) return size_equal(t, l, r);
  if (!LOOM_STRIDE_IS_SYM(l) && !LOOM_STRIDE_IS_SYM(r)) return 0;
  const size_fact *f = size_fact_of(t, l, &left), *g = size_fact_of(t, r, &right);
  if (f && g && f->group != g->group && f->field == g->field && !trace_pending(t)) {
    size_merge(t->call.sizes, f, g, left, right);
    size_restart(t);
    return -1;
  }
  if (size_make_exact(t, l) || size_make_exact(t, r)) return -1;
  /* Equal by way of other arithmetic, or to a constant: in this call only. */
  size_know(t, l);
  size_know(t, r);
  return -1;
}

bool size_admit(tracer *t, int64_t number, loom_dim *out) {
  if (LOOM_STRIDE_IS_SYM(number)) {
    int small = size_less(t, number, size_is_late(t, number) ? 0 : 2);
    if (small > 0) size_know_for(t, number, false, "");
    if (small != 0) return false;
  }
  if (loom_dim_of_stride(number, out)) return true;
  return size_overflows(t);
}

/* ---- as data and as Python ints ---- */

/* A number with a symbol that a host call introduces: computed in the graph. */
static loom_value size_late_node(tracer *t, uint32_t index) {
  static const loom_opcode ops[] = {[LOOM_EXPR_ADD] = LOOM_OP_ADD,
                                    [LOOM_EXPR_MUL] = LOOM_OP_MUL,
                                    [LOOM_EXPR_FLOORDIV] = LOOM_OP_FLOOR_DIV,
                                    [LOOM_EXPR_MOD] = LOOM_OP_REM,
                                    [LOOM_EXPR_MIN] = LOOM_OP_MIN,
                                    [LOOM_EXPR_MAX] = LOOM_OP_MAX};
  const loom_expr e = trace_graph(t)->exprs[index];
  if (e.kind == LOOM_EXPR_SYMBOL) return t->late.nodes[e.value];
  loom_value in[2] = {size_node(t, LOOM_STRIDE_SYM(e.lhs)), size_node(t, LOOM_STRIDE_SYM(e.rhs))};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return trace_node(t, ops[e.kind], in, 2, NULL, 0, NULL);
}

loom_value size_node(tracer *t, int64_t number) {
  capture *c = t->capture;
  if (LOOM_STRIDE_IS_SYM(number) &&
      trace_graph(t)->exprs[LOOM_STRIDE_EXPR(number)].kind == LOOM_EXPR_CONST)
    number = trace_graph(t)->exprs[LOOM_STRIDE_EXPR(number)].value;
  const loom_type type = {.dtype = LOOM_I64};
  if (!LOOM_STRIDE_IS_SYM(number)) {
    loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = (uint64_t)number};
    return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
  }
  for (uint32_t i = 0; i < c->input_count; i++)
    if (!c->inputs[i].source && !c->inputs[i].constant && c->inputs[i].size == number)
      return c->graph.inputs[i].value;
  if (!size_exists(t, number)) return LOOM_NO_VALUE;
  if (size_is_late(t, number) || size_is_looped(t, number))
    return size_late_node(t, LOOM_STRIDE_EXPR(number));
  loom_value v = trace_input(t, LOOM_INPUT_SCALAR, &type, NULL, NULL, NULL);
  if (v != LOOM_NO_VALUE) c->inputs[c->input_count - 1].size = number;
  return v;
}
