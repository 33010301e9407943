/* Derivatives inside of a capture: the functions of python/frameloom/_gradient.py that plain Python
 * cannot compute.
 *
 * An argument to differentiate by becomes a value of its own (a copy that compiled code does not
 * make), so that the same array read from elsewhere is a constant. The pullback appends the nodes
 * that compute the cotangents to the graph, so that derivatives are differentiated like all else.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/gradient_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "graph/gradient_rules.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_functions.h"
#include "loom_ops_shapes.h"

#include <string.h>

/* Is the function that is captured one of frameloom.grad() and the like, or of frameloom.vmap()? */
static bool gradient_is_outermost(tracer *t) {
  PyObject *globals = t->outer.frame->function->globals;
  PyObject *name =
      globals && PyDict_Check(globals) ? PyDict_GetItemString(globals, "__name__") : NULL;
  return name && PyUnicode_Check(name) &&
         (!PyUnicode_CompareWithASCIIString(name, "frameloom._gradient") ||
          !PyUnicode_CompareWithASCIIString(name, "frameloom._vmap"));
}

bool np_gradient_near(tracer *t) { return t->loops.derived || gradient_is_outermost(t); }

/* _open() and _close(): between them runs what is differentiated. */
value *np_gradient_open(tracer *t, const np_call *c) {
  (void)c;
  trace_derive(t, true, gradient_is_outermost(t));
  return t->constants.none;
}

value *np_gradient_close(tracer *t, const np_call *c) {
  (void)c;
  trace_derive(t, false, false);
  return t->constants.none;
}

/* A float or complex number of Python as a 0-d value of the graph; LOOM_NO_VALUE with nothing
 * pending: `v` is none. */
static loom_value gradient_float(tracer *t, value *v) {
  const loom_type type = type_make(LOOM_F64, 0, NULL);
  if (value_is_const(v) && v->object && PyComplex_CheckExact(v->object))
    return emit_complex(t, LOOM_C128, PyComplex_RealAsDouble(v->object),
                        PyComplex_ImagAsDouble(v->object));
  if (value_is_const(v) && v->object && PyFloat_CheckExact(v->object))
    return emit_float(t, &type, PyFloat_AS_DOUBLE(v->object));
  if (!value_is_number(v) || number_is_size(v)) return LOOM_NO_VALUE;
  loom_value node = number_node(t, v);
  return node != LOOM_NO_VALUE && loom_dtype_is_float(emit_type(t, node)->dtype) ? node
                                                                                 : LOOM_NO_VALUE;
}

loom_value np_gradient_own(tracer *t, loom_value v) {
  return v == LOOM_NO_VALUE ? v : trace_node(t, LOOM_OP_COPY, &v, 1, NULL, 0, NULL);
}

loom_value np_gradient_node(tracer *t, value *v, const char *what) {
  np_array *a = np_array_of(v);
  if (a && loom_dtype_is_inexact(a->type.dtype)) return np_read(t, a);
  loom_value node = a ? LOOM_NO_VALUE : gradient_float(t, v);
  if (node == LOOM_NO_VALUE && !trace_pending(t))
    trace_raise(t, PyExc_TypeError, "%s must be a float or an array of floats or complex numbers",
                what);
  return node;
}

/* A value of the kind of `like`: a float, NumPy's scalar, an array. */
value *np_gradient_value(tracer *t, const value *like, loom_value node) {
  const np_array *a = np_array_of(like);
  if (node == LOOM_NO_VALUE) return NULL;
  if (!a && loom_dtype_is_complex(emit_type(t, node)->dtype)) return np_result(t, node, NULL);
  if (!a) return np_python_number(t, node);
  return a->scalar ? np_result(t, node, NULL) : np_fresh(t, node, NULL);
}

/* What a rule gave for the value `of`, of its type. */
loom_value np_gradient_given(tracer *t, loom_emitter *b, const char *rule, loom_value of,
                             value *given) {
  const loom_type type = *emit_type(t, of);
  if (np_is_none(t, given)) return LOOM_NO_VALUE;
  loom_value v = np_gradient_node(t, given, "a cotangent");
  if (v == LOOM_NO_VALUE) return v;
  const loom_type have = *emit_type(t, v);
  if (have.rank != type.rank || !np_same_sizes(t, &have, &type))
    return loom_emit_fail(b, "the rule of %s gives another shape", rule);
  if (loom_dtype_is_complex(have.dtype) && !loom_dtype_is_complex(type.dtype))
    v = emit1(t, LOOM_OP_REAL, v);
  return emit_convert(t, v, type.dtype);
}

/* _track(x): x as a variable of its own. */
value *np_track(tracer *t, const np_call *c) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, "x |", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  loom_value node = np_gradient_node(t, p[0], "what is differentiated by");
  if (!a || a->scalar || node == LOOM_NO_VALUE)
    return np_gradient_value(t, p[0], np_gradient_own(t, node));
  value *copy = np_copy(t, a, a->type.dtype, 'K');
  if (!copy) return NULL;
  np_storage *s = np_array_of(copy)->storage;
  s->current = np_gradient_own(t, s->current);
  return s->current == LOOM_NO_VALUE ? NULL : copy;
}

/* _variable(x): what _track(x) gave, whatever is written into that array later. */
value *np_variable(tracer *t, const np_call *c) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, "x |", p)) return NULL;
  return np_gradient_value(t, p[0], np_gradient_node(t, p[0], "what is differentiated by"));
}

/* The bits of a float as an integer and back: nothing is differentiated through integers. */
static loom_value gradient_stopped(tracer *t, loom_value v) {
  const loom_type type = *emit_type(t, v);
  loom_dtype bits = loom_dtype_size(type.dtype) == 8   ? LOOM_I64
                    : loom_dtype_size(type.dtype) == 4 ? LOOM_I32
                                                       : LOOM_I16;
  if (!loom_dtype_is_complex(type.dtype))
    return emit_bitcast(t, emit_bitcast(t, v, bits), type.dtype);
  loom_value re = emit1(t, LOOM_OP_REAL, v), im = emit1(t, LOOM_OP_IMAG, v);
  if (re == LOOM_NO_VALUE || im == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return emit2(t, LOOM_OP_COMPLEX, gradient_stopped(t, re), gradient_stopped(t, im));
}

/* stop_gradient(x): the same number, a constant for derivatives. */
value *np_stop_gradient(tracer *t, const np_call *c) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, "x |", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  if (a && !loom_dtype_is_inexact(a->type.dtype)) return p[0];
  if (!a && (!value_is_number(p[0]) || number_is_size(p[0]))) return p[0];
  loom_value node = a ? np_read(t, a) : gradient_float(t, p[0]);
  if (node == LOOM_NO_VALUE) return trace_pending(t) ? NULL : p[0];
  return np_gradient_value(t, p[0], gradient_stopped(t, node));
}

/* The cotangent of the result: what is given, or 1. */
static loom_value gradient_seed(tracer *t, loom_value y, value *seed) {
  const loom_type type = *emit_type(t, y);
  if (np_is_none(t, seed)) return emit_float(t, &type, 1);
  loom_value v = np_gradient_node(t, seed, "a cotangent");
  if (v == LOOM_NO_VALUE) return v;
  const loom_type given = *emit_type(t, v);
  if (given.rank != type.rank || !np_same_sizes(t, &given, &type))
    return trace_raise(t, PyExc_ValueError, "a cotangent must have the shape of the result"),
           LOOM_NO_VALUE;
  return emit_convert(t, v, type.dtype);
}

/* ---- functions of the library that the plan calls ---- */

/* The module of rules, which lives as long as the process: the function of the dictionary `table`
 * for this one, or NULL. */
static PyObject *derived_lookup(tracer *t, const char *table, PyObject *callee) {
  static PyObject *module;
  if (!module && !(module = PyImport_ImportModule("frameloom._gradient_rules")))
    return trace_fail(t);
  PyObject *rows = callee ? PyObject_GetAttrString(module, table) : NULL;
  PyObject *found = rows ? PyDict_GetItemWithError(rows, callee) : NULL;
  Py_XDECREF(rows); /* the module keeps it */
  error_drop();     /* no key: a function of the user's that cannot be hashed */
  return found;
}

value *np_derived_function(tracer *t, PyObject *function) {
  const source *s = function ? trace_source(t, SOURCE_CONST, NULL, function, NULL, 0) : NULL;
  return s ? value_wrap(t, function, s) : NULL;
}

value *np_derivative_other(tracer *t, PyObject *callee) {
  if (!t->loops.derived) return NULL;
  return np_derived_function(t, derived_lookup(t, "REPLACED", callee));
}

bool np_derivative_known(tracer *t, PyObject *callee) {
  return t->loops.derived && derived_lookup(t, "RULES", callee);
}

bool np_derived_leaves(value *v, np_derived *d) {
  if (np_is_array(v)) {
    if (d->result_count == DERIVED_ARRAYS) return false;
    d->results[d->result_count++] = v;
    return true;
  }
  if (!value_is_sequence(v)) return false;
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    if (!np_derived_leaves(v->seq.items[i], d)) return false;
  return true;
}

/* The array as it is now, whatever is written into it later. */
static value *derived_now(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  loom_value node = np_read(t, a);
  return a->scalar ? np_result(t, node, NULL) : np_fresh(t, node, a->strides);
}

void np_derivative_note(tracer *t, const np_call *c, value *result) {
  np_derived **list = t->loops.derived ? np_derivatives(t) : NULL,
             *d = list ? trace_alloc(t, sizeof *d) : NULL;
  const loom_graph *graph = trace_graph(t);
  if (!d) return;
  *d = (np_derived){.next = *list,
                    .node = (int32_t)graph->node_count - 1,
                    .callee = c->callee,
                    .name = c->name,
                    .count = c->count,
                    .total = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0),
                    .kwnames = c->kwnames};
  for (int i = 0; i < DERIVED_ARRAYS; i++)
    d->asked[i] = LOOM_NO_VALUE;
  while (d->node >= 0 && graph->nodes[d->node].op != LOOM_OP_HOST_CALL)
    d->node--;
  d->whole = d->total <= DERIVED_ARRAYS && np_derived_leaves(result, d);
  for (Py_ssize_t i = 0; d->whole && i < d->total; i++) {
    bool array = np_is_array(c->args[i]);
    d->args[i] = array ? derived_now(t, c->args[i]) : c->args[i];
    d->read[i] = array ? np_read(t, np_array_of(c->args[i])) : LOOM_NO_VALUE;
  }
  for (uint32_t i = 0; d->whole && i < d->result_count; i++)
    d->whole = (d->results[i] = derived_now(t, d->results[i])) != NULL;
  *list = d;
}

np_derived *np_derived_of(tracer *t, uint32_t node) {
  np_derived **list = np_derivatives(t), *d = list ? *list : NULL;
  while (d && d->node != (int32_t)node)
    d = d->next;
  return d;
}

bool np_derived_reads(const np_derived *d, loom_value v) {
  for (Py_ssize_t i = 0; d->whole && i < d->total; i++)
    if (d->read[i] == v) return true;
  return !d->whole;
}

int64_t np_derived_buffer(tracer *t, const loom_node *call, value *result,
                          const loom_attr **turned) {
  const loom_graph *graph = trace_graph(t);
  loom_value v = np_read(t, np_array_of(result));
  if (v == LOOM_NO_VALUE) return -1;
  const loom_node *node = &graph->nodes[graph->values[v].node];
  bool is_turned = node->op == LOOM_OP_TRANSPOSE;
  loom_value of = is_turned ? node->operands[0] : v;
  *turned = is_turned ? &node->attrs[0] : NULL;
  if (of < call->first_result || of >= call->first_result + call->result_count) return -1;
  return of - call->first_result;
}

/* The cotangent of a result: that of the buffer. */
static value *derived_cotangent(tracer *t, const loom_gradient_step *s, value *result) {
  const loom_attr *turned;
  int64_t number = np_derived_buffer(t, &s->node, result, &turned);
  if (number < 0) return loom_emit_fail(s->b, "a part of a result has no derivative"), NULL;
  loom_value g = s->cotangents[number];
  if (g == LOOM_NO_VALUE) return t->constants.none;
  if (turned) g = emit_transpose(t, g, turned->ints);
  return np_array_of(result)->scalar ? np_result(t, g, NULL) : np_fresh(t, g, NULL);
}

/* The number of the parameter that an argument is for. */
static Py_ssize_t derived_place(const np_derived *d, PyObject *rule, Py_ssize_t i) {
  if (i < d->count) return i;
  PyObject *names = PyCode_GetVarnames((PyCodeObject *)PyFunction_GET_CODE(rule));
  Py_ssize_t place = -1;
  for (Py_ssize_t k = 2; names && k < PyTuple_GET_SIZE(names); k++)
    if (!PyUnicode_Compare(PyTuple_GET_ITEM(names, k), PyTuple_GET_ITEM(d->kwnames, i - d->count)))
      place = k - 2;
  Py_XDECREF(names);
  error_drop();
  return place;
}

static bool derived_ask(tracer *t, const loom_gradient_step *s, np_derived *d) {
  PyObject *rule = d->whole ? derived_lookup(t, "RULES", d->callee) : NULL;
  value *args[2 + DERIVED_ARRAYS], *cotangents[DERIVED_ARRAYS];
  if (!rule) return loom_emit_fail(s->b, "%s has no derivative", d->name), false;
  for (uint32_t i = 0; i < d->result_count; i++)
    if (!(cotangents[i] = derived_cotangent(t, s, d->results[i]))) return false;
  args[0] = value_tuple(t, cotangents, d->result_count);
  args[1] = value_tuple(t, d->results, d->result_count);
  for (Py_ssize_t i = 0; i < d->total; i++)
    args[2 + i] = d->args[i];
  value *function = np_derived_function(t, rule);
  if (!args[0] || !args[1] || !function) return false;
  trace_derive(t, true, false); /* the rule calls what has rules itself */
  value *given = trace_call(t, function, args, 2 + d->count, d->kwnames);
  trace_derive(t, false, false);
  if (!given || !value_is_tuple(given)) return false;
  for (Py_ssize_t i = 0; i < d->total; i++) {
    Py_ssize_t place = d->read[i] == LOOM_NO_VALUE ? -1 : derived_place(d, rule, i);
    bool has = place >= 0 && place < given->seq.count;
    d->found[i] = has ? np_gradient_given(t, s->b, d->name, d->read[i], given->seq.items[place])
                      : LOOM_NO_VALUE;
    if (trace_pending(t) || s->b->failed) return false;
  }
  for (uint32_t i = 0; i < s->node.result_count && i < DERIVED_ARRAYS; i++)
    d->asked[i] = s->cotangents[i];
  return true;
}

/* The rule of a host call, asked once for all operands: of one that several arguments are, the sum.
 */
static loom_value derived_rule(const loom_gradient_step *s, uint32_t index) {
  tracer *t = s->ask->context;
  np_derived *d = np_derived_of(t, s->number);
  loom_value sum = LOOM_NO_VALUE, operand = s->node.operands[index];
  if (!d)
    return loom_emit_fail(s->b, strstr(s->node.attrs[1].str, "sizes")
                                    ? "a result whose size depends on data has no derivative"
                                    : "a call of the library has no derivative");
  if (!np_derived_reads(d, operand))
    return loom_emit_fail(s->b, "%s of arrays in a list has no derivative", d->name);
  for (uint32_t i = 0; i < index; i++)
    if (s->node.operands[i] == operand) return LOOM_NO_VALUE;
  bool known = true;
  for (uint32_t i = 0; i < s->node.result_count && i < DERIVED_ARRAYS; i++)
    known &= d->asked[i] == s->cotangents[i];
  if (!known && !derived_ask(t, s, d)) return loom_emit_fail(s->b, "%s", d->name);
  for (Py_ssize_t i = 0; i < d->total; i++) {
    if (d->read[i] != operand || d->found[i] == LOOM_NO_VALUE) continue;
    sum = sum == LOOM_NO_VALUE ? d->found[i] : loom_emit2(s->b, LOOM_OP_ADD, sum, d->found[i]);
  }
  return sum;
}

/* _refuse(what): a rule does not follow an option. */
value *np_gradient_refuse(tracer *t, const np_call *c) {
  value *p[1] = {NULL};
  if (!np_parse(t, c, "what |", p)) return NULL;
  const char *what = np_str_arg(t, p[0]);
  return trace_break(t, BREAK_GRADIENT, "%s has no derivative", what ? what : "an option");
}

static bool gradient_symbol(void *context, int64_t length, int64_t *out) {
  tracer *t = context;
  int64_t number;
  if (!size_loop(t, length, LOOM_NO_VALUE, &number)) return false;
  return *out = (int64_t)trace_graph(t)->symbol_count - 1, true;
}

value *np_gradient_failed(tracer *t, int reason, const loom_location *at, const loom_error *err) {
  break_info *info = &t->capture->broke;
  if (!trace_pending(t) && t->loops.looped && !t->kept->bans.all) {
    t->kept->bans.all = true; /* what cannot be done to a loop, may be done to its iterations */
    t->state = TRACE_RESTART;
    return NULL;
  }
  if (!trace_pending(t)) trace_break(t, reason, "%s", err->message);
  if (t->state != TRACE_BROKEN || info->reason != reason) return NULL;
  char *inside = strstr(info->detail, " (in "); /* a function of ours */
  if (inside) *inside = 0;
  info->location = *at;
  return NULL;
}

/* Without a given cotangent the differentiated result has to be one number. */
static bool gradient_is_number(tracer *t, value *y) {
  const np_array *a = np_array_of(y);
  if (!a || a->type.rank == 0) return true;
  trace_raise(t, PyExc_TypeError,
              "a gradient is that of one float: the result is an array of %d dimensions",
              a->type.rank);
  return false;
}

/* _pull(y, cotangent, xs): the cotangents of the tuple xs of tracked values, as a tuple. */
value *np_pull(tracer *t, const np_call *c) {
  value *p[3] = {NULL};
  if (!np_parse(t, c, "y cotangent xs |", p)) return NULL;
  if (!value_is_tuple(p[2])) return np_unsupported(t, c, "of what is no tuple");
  if (np_is_none(t, p[1]) && !gradient_is_number(t, p[0])) return NULL;
  uint32_t count = (uint32_t)p[2]->seq.count;
  loom_value *from = trace_alloc(t, (count + 1) * sizeof *from),
             *found = trace_alloc(t, (count + 1) * sizeof *found);
  value **out = trace_alloc(t, (count + 1) * sizeof *out);
  loom_value y = np_gradient_node(t, p[0], "what is differentiated");
  loom_value seed = y == LOOM_NO_VALUE ? y : gradient_seed(t, y, p[1]);
  if (!from || !found || !out || seed == LOOM_NO_VALUE) return NULL;
  for (uint32_t i = 0; i < count; i++)
    if ((from[i] = np_gradient_node(t, p[2]->seq.items[i], "what is differentiated by")) ==
        LOOM_NO_VALUE)
      return NULL;
  loom_location at = trace_location(t);
  loom_error err = {0};
  uint32_t known_count = 0;
  const loom_gradient_ask ask = {.of = &y,
                                 .seeds = &seed,
                                 .of_count = 1,
                                 .to = from,
                                 .count = count,
                                 .host = derived_rule,
                                 .symbol = gradient_symbol,
                                 .known = np_known_rules(t, &known_count),
                                 .known_count = known_count,
                                 .rule = np_known_rule,
                                 .context = t,
                                 .checkpoints = true};
  if (!loom_gradient(trace_graph(t), &ask, found, &at, &err))
    return np_gradient_failed(t, BREAK_GRADIENT, &at, &err);
  for (uint32_t i = 0; i < count; i++)
    if (!(out[i] = np_gradient_value(t, p[2]->seq.items[i], found[i]))) return NULL;
  return value_tuple(t, out, (Py_ssize_t)count);
}
