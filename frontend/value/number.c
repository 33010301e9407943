/* Symbolic numbers: an int or float argument that is an input of the graph, so that a new value
 * needs no new capture.
 *
 * Only what is exact is done symbolically: + - * of floats. Whatever asks for the value itself (a
 * branch, an index, integer arithmetic, which never overflows in Python, a division, which may
 * raise) makes the argument known.
 */
#include "frontend/value/value.h"

static void number_know_node(tracer *t, loom_value node, bool *found) {
  const loom_graph *graph = trace_graph(t);
  const loom_value_info *info = &graph->values[node];
  if (info->node < 0) {
    const source *s = t->capture->inputs[info->index].source;
    if (s && s->kind == SOURCE_ARG) {
      *found = true;
      trace_restart(t, s->index);
    }
    return;
  }
  const loom_node *n = &graph->nodes[info->node];
  for (uint32_t i = 0; i < n->operand_count; i++)
    number_know_node(t, n->operands[i], found);
}

void number_know(tracer *t, value *v) {
  bool found = false;
  if (t->state == TRACE_BROKEN || t->state == TRACE_ERROR) return;
  number_know_node(t, v->number.node, &found);
  if (!found)
    trace_break(t, BREAK_DATA_DEPENDENT, "a Python decision depends on a number that is computed");
}

static loom_dtype number_dtype(tracer *t, value *v) {
  return loom_graph_type(trace_graph(t), v->number.node)->dtype;
}

static value *number_made(tracer *t, loom_value node) {
  value *v = node == LOOM_NO_VALUE ? NULL : value_new(t, &value_number_type);
  if (v) v->number.node = node;
  return v;
}

/* An operand as a float64 node; LOOM_NO_VALUE with nothing pending: not a number of ours. */
static loom_value number_float(tracer *t, value *v) {
  loom_type type = {.dtype = LOOM_F64};
  if (v->type == &value_number_type) {
    if (number_dtype(t, v) == LOOM_F64) return v->number.node;
    loom_attr attr = {.kind = LOOM_ATTR_NONE};
    return trace_node(t, LOOM_OP_CONVERT, &v->number.node, 1, &attr, 0, &type);
  }
  if (!value_is_const(v)) return LOOM_NO_VALUE;
  double number;
  if (PyFloat_CheckExact(v->object)) {
    number = PyFloat_AS_DOUBLE(v->object);
  } else if (PyLong_CheckExact(v->object) || PyBool_Check(v->object)) {
    number = PyLong_AsDouble(v->object);
    if (PyErr_Occurred()) return PyErr_Clear(), LOOM_NO_VALUE;
  } else {
    return LOOM_NO_VALUE;
  }
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR};
  memcpy(&attr.bits, &number, sizeof number);
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

static bool number_is_float(tracer *t, value *v) {
  if (v->type == &value_number_type) return number_dtype(t, v) == LOOM_F64;
  return value_is_const(v) && PyFloat_CheckExact(v->object);
}

static bool number_is(value *v) {
  return v->type == &value_number_type ||
         (value_is_const(v) && (PyFloat_CheckExact(v->object) || PyLong_CheckExact(v->object) ||
                                PyBool_Check(v->object)));
}

static value *number_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  loom_opcode opcode = op == 0    ? LOOM_OP_ADD
                       : op == 10 ? LOOM_OP_SUB
                       : op == 5  ? LOOM_OP_MUL
                                  : LOOM_OP_COUNT;
  if (!number_is(l) || !number_is(r)) {
    /* n * [0], "%d" % n: the sequence wants to know. */
    value *other = l->type == &value_number_type ? r : l, *number = other == l ? r : l;
    if (value_is_const(other) || other->type == &value_list_type ||
        other->type == &value_tuple_type)
      return number_know(t, number), NULL;
    return trace_not_implemented(t);
  }
  if (opcode == LOOM_OP_COUNT || (!number_is_float(t, l) && !number_is_float(t, r))) {
    if (l->type == &value_number_type) number_know(t, l);
    if (r->type == &value_number_type) number_know(t, r);
    return NULL;
  }
  loom_value operands[2] = {number_float(t, l), number_float(t, r)};
  if (operands[0] == LOOM_NO_VALUE || operands[1] == LOOM_NO_VALUE)
    return trace_pending(t)
               ? NULL
               : trace_break(t, BREAK_UNSUPPORTED_TYPE, "an int too large for a float");
  return number_made(t, trace_node(t, opcode, operands, 2, NULL, 0, NULL));
}

static value *number_unary(tracer *t, int op, value *v) {
  if (number_dtype(t, v) != LOOM_F64 || op == UNOP_INVERT) return number_know(t, v), NULL;
  if (op == UNOP_POS) return v;
  return number_made(t, trace_node(t, op == UNOP_NEG ? LOOM_OP_NEG : LOOM_OP_ABS, &v->number.node,
                                   1, NULL, 0, NULL));
}

static value *number_compare(tracer *t, int op, value *l, value *r) {
  if (!number_is(l) || !number_is(r)) return trace_not_implemented(t);
  if (l->type == &value_number_type) number_know(t, l);
  if (r->type == &value_number_type) number_know(t, r);
  return NULL;
}

static int number_truth(tracer *t, value *v) { return number_know(t, v), -1; }

static value *number_get_attr(tracer *t, value *v, PyObject *name) {
  return number_know(t, v), NULL;
}

value *number_to_float(tracer *t, value *v) { return number_made(t, number_float(t, v)); }

static PyObject *number_python_type(tracer *t, value *v) {
  switch (number_dtype(t, v)) {
  case LOOM_F64: return (PyObject *)&PyFloat_Type;
  case LOOM_BOOL: return (PyObject *)&PyBool_Type;
  default: return (PyObject *)&PyLong_Type;
  }
}

static recipe *number_rebuild(tracer *t, value *v) {
  recipe *r = trace_recipe(t, v->source ? RECIPE_SOURCE : RECIPE_SCALAR);
  if (!r) return NULL;
  r->source = v->source;
  if (!v->source) r->number = trace_output(t, v->number.node, NULL);
  return trace_pending(t) ? NULL : r;
}

const value_type value_number_type = {.name = "number",
                                      .unary = number_unary,
                                      .binary = number_binary,
                                      .compare = number_compare,
                                      .truth = number_truth,
                                      .get_attr = number_get_attr,
                                      .python_type = number_python_type,
                                      .rebuild = number_rebuild};
