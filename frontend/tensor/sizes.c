/* Symbolic sizes of tensors. In the tensors without memory, a symbolic number of the graph is a
 * torch.SymInt, whose node is an object of ours (_tensor_sizes.py). torch computes with such sizes
 * in its own rules for shapes. What it adds or multiplies becomes a number of the graph. What it
 * compares is decided by the ranges of the symbols, or as in this call with a guard (size/size.c).
 * Where torch asks for the value itself, capture starts again with a constant. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/internal.h"
#include "frontend/tensor/tensor.h"
#include "graph/graph.h"

#include <string.h>

/* Of _tensor_sizes.py. */
static struct {
  PyObject *make, *node, *stop;
} sizes_python;

bool tensor_sizes_init(void) {
  static const tensor_name names[] = {
      {"make", &sizes_python.make}, {"Node", &sizes_python.node}, {"Stop", &sizes_python.stop}};
  return tensor_import("frameloom._tensor_sizes", names, sizeof names / sizeof *names);
}

/* ---- numbers as objects ---- */

PyObject *tensor_size_object(int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return PyLong_FromLongLong(number);
  return PyObject_CallFunction(sizes_python.make, "L", (long long)number);
}

/* The node of a symbolic size of ours: a new reference. NULL with nothing pending: another object.
 */
static PyObject *sizes_node(PyObject *o) {
  if (PyLong_Check(o) || PyFloat_Check(o) || o == Py_None || torch_is_tensor(o)) return NULL;
  PyObject *node = PyObject_GetAttrString(o, "node");
  error_drop();
  if (node && (PyObject *)Py_TYPE(node) != sizes_python.node) Py_CLEAR(node);
  return node;
}

bool tensor_size_number(PyObject *o, int64_t *out) {
  PyObject *node = sizes_node(o), *number = node ? PyObject_GetAttrString(node, "number") : NULL;
  if (number) *out = PyLong_AsLongLong(number);
  Py_XDECREF(number);
  Py_XDECREF(node);
  return number != NULL;
}

PyObject *tensor_size_numbers(tracer *t, const int64_t *numbers, int count) {
  PyObject *all = PyTuple_New(count);
  for (int i = 0; all && i < count; i++) {
    PyObject *number = tensor_size_object(numbers[i]);
    if (!number) Py_CLEAR(all);
    if (number) PyTuple_SET_ITEM(all, i, number);
  }
  return all || trace_pending(t) ? all : trace_raise_live(t);
}

/* ---- sizes that capture has to know ---- */

/* Symbol `i`, where it is a size; the index of a loop that is captured once is none. */
static bool sizes_symbol(tracer *t, uint32_t i, int64_t *out) {
  loom_dim dim;
  if (!loom_dim_of_symbol(trace_graph(t), i, &dim)) return false;
  *out = loom_stride_of_dim(dim);
  return !size_is_looped(t, *out);
}

void tensor_know_sizes(tracer *t, const char *why) {
  int64_t number;
  for (uint32_t i = 0; i < trace_graph(t)->symbol_count; i++)
    if (sizes_symbol(t, i, &number)) size_know_since(t, number, why);
}

bool tensor_has_sizes(tracer *t) {
  int64_t number;
  for (uint32_t i = 0; i < trace_graph(t)->symbol_count; i++)
    if (sizes_symbol(t, i, &number)) return true;
  return false;
}

/* ---- what torch asks of sizes ---- */

/* The capture that this thread makes a call of torch's for. */
static _Thread_local tracer *sizes_tracer;

tracer *tensor_sizes_enter(tracer *t) {
  tracer *before = sizes_tracer;
  sizes_tracer = t;
  return before;
}

void tensor_sizes_leave(tracer *before) { sizes_tracer = before; }

/* a // b and a % b, for b > 0. */
static bool sizes_divide(tracer *t, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out) {
  if (size_less(t, 0, b) > 0) return size_op(t, kind, a, b, out);
  if (!trace_pending(t)) {
    size_know(t, a);
    size_know(t, b);
  }
  return false;
}

/* Are two sizes that torch expects to be equal? Then they become one symbol. */
static int sizes_same(tracer *t, int64_t a, int64_t b) {
  loom_dim l, r;
  bool small = (!LOOM_STRIDE_IS_SYM(a) && a < 2) || (!LOOM_STRIDE_IS_SYM(b) && b < 2);
  if (small || size_hint(t, a) != size_hint(t, b)) return size_equal(t, a, b);
  if (!loom_dim_of_stride(a, &l) || !loom_dim_of_stride(b, &r)) return size_equal(t, a, b);
  return size_same(t, l, r);
}

static bool sizes_extreme(tracer *t, bool max, int64_t a, int64_t b, int64_t *out) {
  int less = size_less(t, a, b);
  *out = (less > 0) == max ? b : a;
  return less >= 0;
}

typedef struct sizes_answer {
  int64_t number;
  int truth; /* 0 or 1; -1: the answer is the number */
} sizes_answer;

static bool sizes_ask(tracer *t, const char *op, int64_t a, int64_t b, const char *why,
                      sizes_answer *out) {
  out->truth = -1;
  if (!strcmp(op, "add")) return size_op(t, LOOM_EXPR_ADD, a, b, &out->number);
  if (!strcmp(op, "sub")) return size_minus(t, a, b, &out->number);
  if (!strcmp(op, "mul")) return size_op(t, LOOM_EXPR_MUL, a, b, &out->number);
  if (!strcmp(op, "floordiv")) return sizes_divide(t, LOOM_EXPR_FLOORDIV, a, b, &out->number);
  if (!strcmp(op, "mod")) return sizes_divide(t, LOOM_EXPR_MOD, a, b, &out->number);
  if (!strcmp(op, "divide")) return size_divide(t, a, b, &out->number);
  if (!strcmp(op, "min")) return sizes_extreme(t, false, a, b, &out->number);
  if (!strcmp(op, "max")) return sizes_extreme(t, true, a, b, &out->number);
  if (!strcmp(op, "hint")) return out->number = size_hint(t, a), true;
  if (!strcmp(op, "know")) return size_know_since(t, a, why), false;
  out->truth = !strcmp(op, "less")    ? size_less(t, a, b)
               : !strcmp(op, "equal") ? size_equal(t, a, b)
               : !strcmp(op, "same")  ? sizes_same(t, a, b)
                                      : -1;
  return out->truth >= 0;
}

PyObject *tensor_py_size(PyObject *module, PyObject *args) {
  const char *op, *why = "torch needs its value";
  long long a, b;
  sizes_answer answer = {0};
  tracer *t = sizes_tracer;
  if (!PyArg_ParseTuple(args, "sLL|s", &op, &a, &b, &why)) return NULL;
  if (!t || trace_pending(t) || !sizes_ask(t, op, a, b, why, &answer) || trace_pending(t)) {
    if (!PyErr_Occurred()) PyErr_SetString(sizes_python.stop, "the value of a size is needed");
    return NULL;
  }
  if (answer.truth >= 0) return PyBool_FromLong(answer.truth);
  return PyLong_FromLongLong(answer.number);
}
