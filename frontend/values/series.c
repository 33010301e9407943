/* Functions of the index of a loop that is captured once: `0.9**k`, `math.sin(k * dt)`.
 *
 * The graph computes what is exact; a power or a sine has to be Python's own to the last bit. Where
 * all that such an operation depends on is the index of one loop, whose iterations are known, it is
 * done here for each of them, by Python's function on Python's numbers, and the iteration reads its
 * result from the table of these. One that raises, or whose results are not all floats or all ints
 * of 64 bits, has none: the loop is then captured in another way. Where the number of iterations is
 * symbolic the table has room for more than this call needs, and a guard that they are no more. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

#include <math.h>
#include <string.h>

struct number_series {
  number_series *next;
  loom_value node;
  uint32_t symbol;
  const uint64_t *bits;
  int64_t count;
};

/* One operand: for each iteration its bits. */
typedef struct series_operand {
  loom_dtype dtype;
  PyObject *constant; /* or this (borrowed) */
  const uint64_t *bits;
} series_operand;

typedef struct series_walk {
  tracer *t;
  int64_t symbol; /* the loop's, -1: none met yet */
  int64_t count;  /* iterations to compute: at most as many as the tables that were found have */
  int nodes;
} series_walk;

/* ---- of which loop ---- */

static bool series_meet(series_walk *w, uint32_t symbol) {
  if (w->symbol >= 0) return w->symbol == (int64_t)symbol;
  if (!(w->t->loops.looped >> symbol & 1)) return false;
  w->symbol = symbol;
  return true;
}

static bool series_meet_size(series_walk *w, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return true;
  uint64_t symbols = size_symbols(trace_graph(w->t), LOOM_STRIDE_EXPR(number));
  if (!symbols) return true;
  return !(symbols & (symbols - 1)) && series_meet(w, (uint32_t)__builtin_ctzll(symbols));
}

static const number_series *series_find(const tracer *t, loom_value node) {
  for (const number_series *n = t->live.series; n; n = n->next)
    if (n->node == node) return n;
  return NULL;
}

static int64_t series_index(const loom_graph *graph, int64_t symbol) {
  uint32_t expr = 0;
  while (graph->exprs[expr].kind != LOOM_EXPR_SYMBOL || graph->exprs[expr].value != symbol)
    expr++;
  return LOOM_STRIDE_SYM(expr);
}

static bool series_op_is_known(loom_opcode op) {
  return op == LOOM_OP_ADD || op == LOOM_OP_SUB || op == LOOM_OP_MUL || op == LOOM_OP_DIV ||
         op == LOOM_OP_NEG || op == LOOM_OP_ABS || op == LOOM_OP_SQRT || op == LOOM_OP_CONVERT ||
         op == LOOM_OP_CONSTANT;
}

/* Is the node made of the index of that loop, constants, and exact operations alone? */
static bool series_meet_node(series_walk *w, loom_value v) {
  const loom_graph *graph = trace_graph(w->t);
  const number_series *known = series_find(w->t, v);
  if (known) {
    if (known->count < w->count) w->count = known->count;
    return series_meet(w, known->symbol);
  }
  for (uint64_t bits = w->t->loops.looped; bits; bits &= bits - 1) {
    uint32_t symbol = (uint32_t)__builtin_ctzll(bits);
    if (w->t->late.nodes[symbol] == v) return series_meet(w, symbol);
  }
  const loom_value_info *info = &graph->values[v];
  if (info->node < 0 || ++w->nodes > SERIES_NODES) return false;
  const loom_node *n = &graph->nodes[info->node];
  const loom_type *type = loom_graph_type(graph, v);
  if (type->rank || (type->dtype != LOOM_F64 && type->dtype != LOOM_I64) ||
      !series_op_is_known(n->op))
    return false;
  for (uint32_t i = 0; i < n->operand_count; i++)
    if (!series_meet_node(w, n->operands[i])) return false;
  return true;
}

static bool series_meet_value(series_walk *w, value *v) {
  if (value_is_number(v))
    return number_is_size(v) ? series_meet_size(w, v->number.size)
                             : series_meet_node(w, v->number.node);
  return value_is_const(v) &&
         (PyFloat_CheckExact(v->object) || PyLong_CheckExact(v->object) || PyBool_Check(v->object));
}

/* ---- operands ---- */

static double series_double(uint64_t bits) {
  double x;
  memcpy(&x, &bits, sizeof x);
  return x;
}

static uint64_t series_bits(double x) {
  uint64_t bits;
  memcpy(&bits, &x, sizeof bits);
  return bits;
}

static bool series_int(loom_opcode op, int64_t a, int64_t b, int64_t *out) {
  if (op == LOOM_OP_ADD) return !__builtin_add_overflow(a, b, out);
  if (op == LOOM_OP_SUB) return !__builtin_sub_overflow(a, b, out);
  return op == LOOM_OP_MUL && !__builtin_mul_overflow(a, b, out);
}

static bool series_float(loom_opcode op, double a, double b, double *out) {
  switch (op) {
  case LOOM_OP_ADD: return *out = a + b, true;
  case LOOM_OP_SUB: return *out = a - b, true;
  case LOOM_OP_MUL: return *out = a * b, true;
  case LOOM_OP_DIV: return *out = a / b, true;
  case LOOM_OP_NEG: return *out = -a, true;
  case LOOM_OP_ABS: return *out = fabs(a), true;
  case LOOM_OP_SQRT: return *out = sqrt(a), true;
  default: return false;
  }
}

/* What an op makes of its operands' bits in one iteration. */
static bool series_step(const loom_node *n, loom_dtype from, loom_dtype to, uint64_t a, uint64_t b,
                        uint64_t *out) {
  int64_t number;
  double real;
  if (n->op == LOOM_OP_CONVERT && from == LOOM_I64 && to == LOOM_F64)
    return *out = series_bits((double)(int64_t)a), true;
  if (from != to) return false;
  if (to == LOOM_F64)
    return series_float(n->op, series_double(a), series_double(b), &real) &&
           (*out = series_bits(real), true);
  return series_int(n->op, (int64_t)a, (int64_t)b, &number) && (*out = (uint64_t)number, true);
}

static const uint64_t *series_node(series_walk *w, loom_value v) {
  const loom_graph *graph = trace_graph(w->t);
  const number_series *known = series_find(w->t, v);
  if (known) return known->bits;
  uint64_t *bits = trace_alloc(w->t, sizeof *bits * (size_t)w->count);
  bool index = v == w->t->late.nodes[w->symbol];
  const loom_node n =
      index ? (loom_node){.op = LOOM_OP_COUNT} : graph->nodes[graph->values[v].node];
  if (!bits) return NULL;
  if (index || n.op == LOOM_OP_CONSTANT) {
    for (int64_t i = 0; i < w->count; i++)
      bits[i] = index ? (uint64_t)i : n.attrs[0].bits;
    return bits;
  }
  loom_dtype to = loom_graph_type(graph, v)->dtype,
             from = loom_graph_type(graph, n.operands[0])->dtype;
  const uint64_t *in[2] = {0};
  for (uint32_t i = 0; i < n.operand_count && i < 2; i++)
    if (!(in[i] = series_node(w, n.operands[i]))) return NULL;
  for (int64_t i = 0; i < w->count; i++)
    if (!series_step(&n, from, to, in[0][i], in[1] ? in[1][i] : 0, &bits[i])) return NULL;
  return bits;
}

static const uint64_t *series_size(series_walk *w, int64_t number) {
  uint64_t *bits = trace_alloc(w->t, sizeof *bits * (size_t)w->count);
  int64_t symbols[LOOM_MAX_SYMBOLS] = {0}, now;
  for (int64_t i = 0; bits && i < w->count; i++) {
    symbols[w->symbol] = i;
    if (!loom_stride_eval(trace_graph(w->t), number, symbols, &now)) return NULL;
    bits[i] = (uint64_t)now;
  }
  return bits;
}

static bool series_read(series_walk *w, value *v, series_operand *out) {
  *out = (series_operand){.dtype = LOOM_I64};
  if (!value_is_number(v)) return (out->constant = v->object) != NULL;
  if (number_is_size(v)) return (out->bits = series_size(w, v->number.size)) != NULL;
  out->dtype = loom_graph_type(trace_graph(w->t), v->number.node)->dtype;
  return (out->bits = series_node(w, v->number.node)) != NULL;
}

static PyObject *series_object(const series_operand *o, int64_t i) {
  if (o->constant) return Py_NewRef(o->constant);
  return o->dtype == LOOM_F64 ? PyFloat_FromDouble(series_double(o->bits[i]))
                              : PyLong_FromLongLong((int64_t)o->bits[i]);
}

/* ---- the table ---- */

#define SERIES_OPERANDS 4

static PyObject *series_apply(PyObject *callee, int op, const series_operand *in, Py_ssize_t count,
                              int64_t i) {
  PyObject *objects[SERIES_OPERANDS] = {NULL}, *result = NULL;
  Py_ssize_t have = 0;
  while (have < count && (objects[have] = series_object(&in[have], i)))
    have++;
  if (have == count)
    result = callee ? PyObject_Vectorcall(callee, objects, (size_t)count, NULL)
                    : const_operate(op, objects[0], objects[1], false);
  while (have-- > 0)
    Py_DECREF(objects[have]);
  return result;
}

/* Takes the result over. All are to be of the type of the first. */
static bool series_keep(PyObject *result, bool first, loom_dtype *dtype, uint64_t *bits) {
  int overflow = 0;
  if (!result) return false;
  bool real = PyFloat_CheckExact(result), good = real || PyLong_CheckExact(result);
  if (first) *dtype = real ? LOOM_F64 : LOOM_I64;
  good = good && (*dtype == LOOM_F64) == real;
  if (good)
    *bits = real ? series_bits(PyFloat_AS_DOUBLE(result))
                 : (uint64_t)PyLong_AsLongLongAndOverflow(result, &overflow);
  Py_DECREF(result);
  return good && !overflow;
}

/* All results in bits[]: how many there are. */
static int64_t series_fill(series_walk *w, PyObject *callee, int op, value *const *args,
                           Py_ssize_t count, loom_dtype *dtype, uint64_t *bits) {
  series_operand in[SERIES_OPERANDS];
  for (Py_ssize_t i = 0; i < count; i++)
    if (!series_read(w, args[i], &in[i])) return 0;
  for (int64_t i = 0; i < w->count; i++)
    if (!series_keep(series_apply(callee, op, in, count, i), !i, dtype, &bits[i]))
      return error_drop(), i;
  return w->count;
}

/* The row of the iteration, as a number. */
static value *series_row(series_walk *w, loom_dtype dtype, const uint64_t *bits, int64_t count) {
  tracer *t = w->t;
  loom_graph *graph = trace_graph(t);
  loom_value stack = loom_adapters()[0]->numbers(t, dtype, bits, count);
  loom_value node =
      stack == LOOM_NO_VALUE ? stack : rows_slice(t, stack, series_index(graph, w->symbol));
  number_series *made = trace_alloc(t, sizeof *made);
  value *v = node == LOOM_NO_VALUE || !made ? NULL : value_new(t, &value_number_type);
  if (!v) return NULL;
  *made = (number_series){t->live.series, node, (uint32_t)w->symbol, bits, count};
  t->live.series = made;
  v->number.node = node;
  return v;
}

static value *series_of(tracer *t, PyObject *callee, int op, value *const *args, Py_ssize_t count) {
  series_walk w = {.t = t, .symbol = -1, .count = SERIES_MAX};
  loom_dtype dtype = LOOM_F64;
  bool any = false;
  if (!t->loops.looped || trace_pending(t) || count > SERIES_OPERANDS) return NULL;
  for (Py_ssize_t i = 0; i < count; i++)
    any |= value_is_number(args[i]);
  for (Py_ssize_t i = 0; any && i < count; i++)
    if (!series_meet_value(&w, args[i])) return NULL;
  if (w.symbol < 0) return NULL;
  int64_t number = t->loops.counts[w.symbol], needed = size_hint(t, number), room = needed;
  bool varies = LOOM_STRIDE_IS_SYM(number);
  if (varies) room = needed < SERIES_LEAST / 2 ? SERIES_LEAST : 2 * needed;
  if (varies && (size_is_late(t, number) || size_is_looped(t, number))) return NULL;
  if (needed < 1 || needed > w.count) return NULL;
  if (room < w.count) w.count = room;
  uint64_t *bits = trace_alloc(t, sizeof *bits * (size_t)w.count);
  int64_t have = bits ? series_fill(&w, callee, op, args, count, &dtype, bits) : 0;
  if (have < needed || (varies && size_less(t, number, have + 1) <= 0)) return NULL;
  return series_row(&w, dtype, bits, have);
}

value *series_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count) {
  return series_of(t, callee, 0, args, count);
}

value *series_operate(tracer *t, int op, value *l, value *r) {
  value *args[2] = {l, r};
  return series_of(t, NULL, op, args, 2);
}

bool series_blame(tracer *t, loom_value node) {
  const number_series *known = series_find(t, node);
  if (!known) return false;
  size_blame(t, series_index(trace_graph(t), known->symbol), "the index of a loop has to be known");
  return true;
}
