/* Numbers that Python computes of sizes: `int(0.5 * n)`, `math.log2(n)`, `n ** 0.5`.
 *
 * The graph computes what is exact; a logarithm, a power, or the int of a float has to be Python's
 * own to the last bit, or may be a size, which guards compare. Where all that such a number depends
 * on is sizes and constants, it is a formula: a row of the capture that says which function of
 * Python's is called on what. The guards of a call compute it, by that function, before a plan
 * runs. An int is a symbol from then on, a float an input of the graph, and the truth of a
 * comparison is guarded to be what it was. A version does not fit sizes for which one of its
 * formulas raises: these get another version.
 *
 * A row is a tuple (function or number of an operator, operand, ...), where an operand is a known
 * number, (number of the graph,), or (None, slot of another row). Functions are C code that runs
 * none of Python's and makes nothing that the collector looks at: guards are checked between
 * reading versions and running one. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

#include <math.h>
#include <string.h>

/* ---- rows ---- */

/* The same number to the last bit: 1, 1.0 and True are three. */
static bool formula_same_operand(PyObject *a, PyObject *b) {
  if (a == b) return true;
  if (Py_TYPE(a) != Py_TYPE(b)) return false;
  if (PyFloat_CheckExact(a)) {
    double x = PyFloat_AS_DOUBLE(a), y = PyFloat_AS_DOUBLE(b);
    return memcmp(&x, &y, sizeof x) == 0;
  }
  return PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

static bool formula_same_row(PyObject *a, PyObject *b) {
  if (PyTuple_GET_SIZE(a) != PyTuple_GET_SIZE(b)) return false;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(a); i++)
    if (!formula_same_operand(PyTuple_GET_ITEM(a, i), PyTuple_GET_ITEM(b, i))) return false;
  return true;
}

/* The slot of the row, which is taken over; -1: failed. */
static int64_t formula_add(tracer *t, PyObject *row) {
  capture *c = t->capture;
  if (row && !c->formulas) c->formulas = PyList_New(0);
  Py_ssize_t count = row && c->formulas ? PyList_GET_SIZE(c->formulas) : FORMULA_ROWS;
  for (Py_ssize_t i = 0; row && i < count; i++) {
    if (!formula_same_row(PyList_GET_ITEM(c->formulas, i), row)) continue;
    Py_DECREF(row);
    return i;
  }
  bool good = count < FORMULA_ROWS && PyList_Append(c->formulas, row) == 0;
  Py_XDECREF(row);
  error_drop();
  return good ? count : -1;
}

static PyObject *formula_of_number(tracer *t, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return PyLong_FromLongLong(number);
  if (size_is_late(t, number) || size_is_looped(t, number)) return NULL;
  return Py_BuildValue("(L)", (long long)number);
}

static PyObject *formula_of_slot(int64_t slot) {
  return slot < 0 ? NULL : Py_BuildValue("(OL)", Py_None, (long long)slot);
}

static int formula_op(loom_opcode op) {
  switch (op) {
  case LOOM_OP_ADD: return 0;
  case LOOM_OP_MUL: return 5;
  case LOOM_OP_SUB: return 10;
  case LOOM_OP_DIV: return 11;
  case LOOM_OP_NEG: return FORMULA_NEG;
  case LOOM_OP_ABS: return FORMULA_ABS;
  case LOOM_OP_SQRT: return FORMULA_SQRT;
  case LOOM_OP_CONVERT: return FORMULA_FLOAT;
  default: return -1;
  }
}

static PyObject *formula_of_input(tracer *t, uint32_t index) {
  const struct capture_input *in = &t->capture->inputs[index];
  if (in->source || in->constant) return NULL;
  return in->formula ? formula_of_slot(in->formula - 1) : formula_of_number(t, in->size);
}

/* What makes a number of the graph again, as an operand: new reference; NULL when it is made of
 * other things than sizes and constants. */
static PyObject *formula_of_node(tracer *t, loom_value v, int *nodes) {
  const loom_graph *graph = trace_graph(t);
  const loom_value_info *info = &graph->values[v];
  const loom_type *type = loom_graph_type(graph, v);
  if (++*nodes > FORMULA_NODES || type->rank) return NULL;
  if (info->node < 0)
    return graph->inputs[info->index].kind == LOOM_INPUT_SCALAR ? formula_of_input(t, info->index)
                                                                : NULL;
  const loom_node n = graph->nodes[info->node];
  if (n.op == LOOM_OP_CONSTANT && type->dtype == LOOM_F64) {
    double x;
    memcpy(&x, &n.attrs[0].bits, sizeof x);
    return PyFloat_FromDouble(x);
  }
  if (n.op == LOOM_OP_CONSTANT && type->dtype == LOOM_I64)
    return PyLong_FromLongLong((int64_t)n.attrs[0].bits);
  int op = formula_op(n.op);
  if (op < 0 || type->dtype != LOOM_F64 || n.operand_count < 1 || n.operand_count > 2) return NULL;
  PyObject *row = PyTuple_New(1 + n.operand_count);
  if (row) PyTuple_SET_ITEM(row, 0, PyLong_FromLong(op));
  for (uint32_t i = 0; row && i < n.operand_count; i++) {
    PyObject *operand = formula_of_node(t, n.operands[i], nodes);
    if (!operand) Py_CLEAR(row);
    if (row) PyTuple_SET_ITEM(row, 1 + i, operand);
  }
  return row ? formula_of_slot(formula_add(t, row)) : NULL;
}

static PyObject *formula_of_value(tracer *t, value *v, bool *varies) {
  int nodes = 0;
  if (value_is_number(v)) {
    *varies = true;
    return number_is_size(v) ? formula_of_number(t, v->number.size)
                             : formula_of_node(t, v->number.node, &nodes);
  }
  bool number = value_is_const(v) && (PyFloat_CheckExact(v->object) ||
                                      PyLong_CheckExact(v->object) || PyBool_Check(v->object));
  return number ? Py_NewRef(v->object) : NULL;
}

/* ---- what becomes of them ---- */

void formula_sample(tracer *t, int64_t *symbols) {
  const capture *c = t->capture;
  int64_t now;
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const size_guard *p = c->guards[i].payload;
    if (c->guards[i].kind == GUARD_SIZE && p->test == SIZE_COMPUTES &&
        formula_int_now(c, p->right, symbols, &now))
      symbols[c->graph.exprs[LOOM_STRIDE_EXPR(p->left)].value] = now;
  }
}

static uint64_t formula_row_symbols(tracer *t, int64_t slot) {
  PyObject *row = PyList_GET_ITEM(t->capture->formulas, slot);
  const loom_graph *graph = trace_graph(t);
  uint64_t symbols = 0;
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(row); i++) {
    PyObject *operand = PyTuple_GET_ITEM(row, i);
    if (!PyTuple_CheckExact(operand)) continue;
    Py_ssize_t last = PyTuple_GET_SIZE(operand) - 1;
    int64_t number = PyLong_AsLongLong(PyTuple_GET_ITEM(operand, last));
    symbols |=
        last ? formula_row_symbols(t, number) : size_symbols(graph, LOOM_STRIDE_EXPR(number));
  }
  return formula_symbols(t, symbols);
}

void formula_know(tracer *t, int64_t slot) {
  PyObject *row = PyList_GET_ITEM(t->capture->formulas, slot);
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(row); i++) {
    PyObject *operand = PyTuple_GET_ITEM(row, i);
    if (!PyTuple_CheckExact(operand)) continue;
    Py_ssize_t last = PyTuple_GET_SIZE(operand) - 1;
    int64_t number = PyLong_AsLongLong(PyTuple_GET_ITEM(operand, last));
    last ? formula_know(t, number) : size_know(t, number);
  }
}

static value *formula_float(tracer *t, int64_t slot) {
  capture *c = t->capture;
  const loom_type type = {.dtype = LOOM_F64};
  loom_value node = LOOM_NO_VALUE;
  for (uint32_t i = 0; i < c->input_count; i++)
    if (c->inputs[i].formula == slot + 1) node = c->graph.inputs[i].value;
  if (node == LOOM_NO_VALUE) {
    node = trace_input(t, LOOM_INPUT_SCALAR, &type, NULL, NULL, NULL);
    if (node == LOOM_NO_VALUE) return NULL;
    c->inputs[c->input_count - 1].formula = slot + 1;
  }
  value *v = value_new(t, &value_number_type);
  if (v) v->number.node = node;
  return v;
}

#define FORMULA_LARGEST (INT64_MAX / 4)

static value *formula_int(tracer *t, int64_t slot, int64_t now) {
  const capture *c = t->capture;
  loom_graph *graph = trace_graph(t);
  loom_symbol known = {.min = -FORMULA_LARGEST, .max = FORMULA_LARGEST, .divisor = 1, .hint = now};
  loom_dim dim;
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const size_guard *p = c->guards[i].payload;
    if (c->guards[i].kind == GUARD_SIZE && p->test == SIZE_COMPUTES && p->right == slot)
      return value_size(t, p->left);
  }
  if (now < -FORMULA_LARGEST || now > FORMULA_LARGEST || graph->symbol_count >= LOOM_MAX_SYMBOLS)
    return NULL;
  uint64_t from = formula_row_symbols(t, slot);
  if (!loom_dim_symbol(graph, &known, &dim)) return trace_fail(t), NULL;
  t->formula_symbols[graph->symbol_count - 1] = from;
  size_guard_formula(t, (size_guard){SIZE_COMPUTES, 0, 0, loom_stride_of_dim(dim), slot});
  /* Who runs the graph alone is to be told. */
  if (trace_pending(t) || size_node(t, loom_stride_of_dim(dim)) == LOOM_NO_VALUE) return NULL;
  return value_size(t, loom_stride_of_dim(dim));
}

static value *formula_result(tracer *t, int64_t slot) {
  const loom_graph *graph = trace_graph(t);
  int64_t hints[LOOM_MAX_SYMBOLS], number;
  int overflow = 0;
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++)
    hints[i] = graph->symbols[i].hint;
  PyObject *now = slot < 0 ? NULL : formula_now(t->capture, slot, hints);
  value *result = NULL;
  if (!now || trace_pending(t)) return Py_XDECREF(now), NULL;
  if (PyBool_Check(now)) {
    size_guard_formula(t, (size_guard){SIZE_ANSWERS, 0, 0, now == Py_True, slot});
    result = trace_pending(t) ? NULL : value_bool(t, now == Py_True);
  } else if (PyFloat_CheckExact(now)) {
    result = formula_float(t, slot);
  } else if (PyLong_CheckExact(now)) {
    number = PyLong_AsLongLongAndOverflow(now, &overflow);
    if (!overflow) result = formula_int(t, slot, number);
  }
  Py_DECREF(now);
  return result;
}

static value *formula_make(tracer *t, PyObject *head, value *const *args, Py_ssize_t count) {
  bool varies = false;
  PyObject *row = head && count <= FORMULA_OPERANDS ? PyTuple_New(1 + count) : NULL;
  if (row) PyTuple_SET_ITEM(row, 0, head);
  if (!row) return Py_XDECREF(head), error_drop(), NULL;
  for (Py_ssize_t i = 0; row && i < count; i++) {
    PyObject *operand = formula_of_value(t, args[i], &varies);
    if (!operand) Py_CLEAR(row);
    if (row) PyTuple_SET_ITEM(row, 1 + i, operand);
  }
  error_drop();
  if (!row || !varies) return Py_XDECREF(row), NULL;
  return formula_result(t, formula_add(t, row));
}

/* Is there anything that a formula could be made of? */
static bool formula_may(tracer *t, value *const *args, Py_ssize_t count) {
  bool any = false;
  for (Py_ssize_t i = 0; i < count; i++)
    any |= value_is_number(args[i]);
  return any && trace_graph(t)->symbol_count && !trace_pending(t);
}

/* Functions of numbers alone, in C, without a tuple for their arguments. */
static PyObject *formula_head(PyObject *callee, Py_ssize_t count) {
  static const char *const slow[] = {"factorial", "comb", "perm", NULL};
  PyTypeObject *type = Py_IS_TYPE(callee, &PyMethodDescr_Type) ? PyDescr_TYPE(callee) : NULL;
  if (callee == (PyObject *)&PyLong_Type || callee == (PyObject *)&PyFloat_Type)
    return count == 1 ? Py_NewRef(callee) : NULL;
  if (type == &PyLong_Type || type == &PyFloat_Type) {
    int flags = ((PyMethodDescrObject *)callee)->d_method->ml_flags;
    return flags & METH_VARARGS ? NULL : Py_NewRef(callee);
  }
  if (!PyCFunction_CheckExact(callee)) return NULL;
  PyCFunctionObject *f = (PyCFunctionObject *)callee;
  const char *name = f->m_ml->ml_name, *module = "";
  if (f->m_module && PyUnicode_Check(f->m_module)) module = PyUnicode_AsUTF8(f->m_module);
  if (!strcmp(module, "builtins"))
    return !strcmp(name, "round") || !strcmp(name, "abs") ? Py_NewRef(callee) : NULL;
  if (strcmp(module, "math") != 0) return NULL;
  for (int i = 0; slow[i]; i++)
    if (!strcmp(name, slow[i])) return NULL;
  if (!strcmp(name, "log") && count == 1) return PyLong_FromLong(FORMULA_LOG);
  return f->m_ml->ml_flags & METH_VARARGS ? NULL : Py_NewRef(callee);
}

value *formula_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count) {
  if (!formula_may(t, args, count)) return NULL;
  return formula_make(t, formula_head(callee, count), args, count);
}

value *formula_operate(tracer *t, int op, value *l, value *r) {
  value *args[2] = {l, r};
  if (op > 12 || !formula_may(t, args, 2)) return NULL;
  return formula_make(t, PyLong_FromLong(op), args, 2);
}

value *formula_compare(tracer *t, int op, value *l, value *r) {
  value *args[2] = {l, r};
  if (!formula_may(t, args, 2)) return NULL;
  return formula_make(t, PyLong_FromLong(FORMULA_COMPARE + op), args, 2);
}
