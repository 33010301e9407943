/* Symbolic floats: numbers like 1 / (batch * height * width), which gradients of means and norms
 * scale by. The graph computes them from sizes as float64 of rank 0, as Python would. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_shapes.h"

#include <string.h>

typedef struct real_row {
  const char *name; /* of the Python function */
  loom_opcode op;
  int count;
} real_row;

static const real_row real_rows[] = {
    {"truediv", LOOM_OP_DIV, 2},    {"mul", LOOM_OP_MUL, 2},        {"add", LOOM_OP_ADD, 2},
    {"sub", LOOM_OP_SUB, 2},        {"pow", LOOM_OP_POW, 2},        {"neg", LOOM_OP_NEG, 1},
    {"sym_float", LOOM_OP_COPY, 1}, {"_sym_sqrt", LOOM_OP_SQRT, 1},
};

bool fx_is_real(PyObject *meta) {
  PyObject *node = PyObject_GetAttrString(meta, "node");
  PyObject *type = node ? PyObject_GetAttrString(node, "pytype") : NULL;
  bool is = type == (PyObject *)&PyFloat_Type;
  Py_XDECREF(type);
  Py_XDECREF(node);
  error_drop();
  return is;
}

static loom_value real_operand(fx_call *c, PyObject *o) {
  const loom_type type = {.dtype = LOOM_F64};
  const fx_value *v = fx_value_of(c->im, o);
  if (v && v->kind == FX_REAL) return v->value;
  if (v && v->kind == FX_SIZE) return fx_number_value(c, &type, v->number);
  if (v && v->kind == FX_OBJECT) o = v->object;
  if (PyFloat_Check(o)) return loom_emit_float(c->b, &type, PyFloat_AS_DOUBLE(o));
  double number = PyLong_Check(o) ? PyLong_AsDouble(o) : 0;
  if (!PyLong_Check(o) || PyErr_Occurred()) return LOOM_NO_VALUE;
  return loom_emit_float(c->b, &type, number);
}

static const real_row *real_find(PyObject *target) {
  PyObject *name = PyObject_GetAttrString(target, "__name__");
  const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "";
  const real_row *row = NULL;
  for (size_t i = 0; i < sizeof real_rows / sizeof *real_rows && text; i++)
    if (!strcmp(real_rows[i].name, text)) row = &real_rows[i];
  Py_XDECREF(name);
  error_drop();
  return row;
}

loom_value fx_real(fx_call *c, PyObject *args) {
  const real_row *row = real_find(c->target);
  if (!row || PyTuple_GET_SIZE(args) != row->count) return LOOM_NO_VALUE;
  loom_value x = real_operand(c, PyTuple_GET_ITEM(args, 0)), y = x;
  if (row->count == 2) y = real_operand(c, PyTuple_GET_ITEM(args, 1));
  error_drop(); /* an int that no float is near to: missed when it is used */
  if (x == LOOM_NO_VALUE || y == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  if (row->op == LOOM_OP_COPY) return x;
  return row->count == 2 ? loom_emit2(c->b, row->op, x, y) : loom_emit1(c->b, row->op, x);
}
