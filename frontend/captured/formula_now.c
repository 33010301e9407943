/* Formulas of a capture on a call: what Python computes of sizes (values/formula.c), and in words.
 */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/internal.h"

#include <math.h>

/* ---- operators on two live numbers ---- */

/* Results that would take the machine's memory or minutes. */
bool const_too_large(int op, PyObject *l, PyObject *r) {
  if (op == 3 /* << */)
    return PyLong_Check(r) && (python_long_size(r) > 1 || PyLong_AsLong(r) > 100000);
  if (op == 8 /* ** */ && PyLong_Check(l) && PyLong_Check(r))
    return python_long_size(r) > 1 ||
           (python_long_size(r) == 1 && (double)_PyLong_NumBits(l) * PyLong_AsDouble(r) > 1e6);
  if (op == 5 /* * */ && PyLong_Check(l) != PyLong_Check(r)) {
    PyObject *number = PyLong_Check(l) ? l : r, *other = number == l ? r : l;
    if (!PyUnicode_Check(other) && !PyBytes_Check(other)) return false;
    return python_long_size(number) > 1 ||
           (python_long_size(number) == 1 &&
            PyLong_AsDouble(number) * (double)PyObject_Size(other) > 1e7);
  }
  return false;
}

static const binaryfunc const_operators[2][13] = {
    {PyNumber_Add, PyNumber_And, PyNumber_FloorDivide, PyNumber_Lshift, PyNumber_MatrixMultiply,
     PyNumber_Multiply, PyNumber_Remainder, PyNumber_Or, NULL, PyNumber_Rshift, PyNumber_Subtract,
     PyNumber_TrueDivide, PyNumber_Xor},
    {PyNumber_InPlaceAdd, PyNumber_InPlaceAnd, PyNumber_InPlaceFloorDivide, PyNumber_InPlaceLshift,
     PyNumber_InPlaceMatrixMultiply, PyNumber_InPlaceMultiply, PyNumber_InPlaceRemainder,
     PyNumber_InPlaceOr, NULL, PyNumber_InPlaceRshift, PyNumber_InPlaceSubtract,
     PyNumber_InPlaceTrueDivide, PyNumber_InPlaceXor}};

PyObject *const_operate(int op, PyObject *l, PyObject *r, bool inplace) {
  if (const_too_large(op, l, r)) return NULL;
  if (op == 8) return (inplace ? PyNumber_InPlacePower : PyNumber_Power)(l, r, Py_None);
  return const_operators[inplace][op](l, r);
}

/* ---- on a call ---- */

static PyObject *formula_row(PyObject *rows, int64_t slot, const loom_graph *graph,
                             const int64_t *symbols);

static PyObject *formula_operand(PyObject *rows, PyObject *operand, const loom_graph *graph,
                                 const int64_t *symbols) {
  if (!PyTuple_CheckExact(operand)) return Py_NewRef(operand);
  Py_ssize_t last = PyTuple_GET_SIZE(operand) - 1;
  int64_t number = PyLong_AsLongLong(PyTuple_GET_ITEM(operand, last));
  if (last) return formula_row(rows, number, graph, symbols);
  return loom_stride_eval(graph, number, symbols, &number) ? PyLong_FromLongLong(number) : NULL;
}

static PyObject *formula_real(long op, PyObject *operand) {
  double x = PyFloat_AsDouble(operand);
  if ((x == -1 && PyErr_Occurred()) || (op == FORMULA_SQRT && !(x >= 0)) ||
      (op == FORMULA_LOG && !(x > 0)))
    return NULL;
  return PyFloat_FromDouble(op == FORMULA_SQRT ? sqrt(x) : op == FORMULA_LOG ? log(x) : x);
}

static PyObject *formula_operate_now(long op, PyObject *const *in, Py_ssize_t count) {
  if (op >= FORMULA_COMPARE) return PyObject_RichCompare(in[0], in[1], (int)op - FORMULA_COMPARE);
  if (op == FORMULA_NEG) return PyNumber_Negative(in[0]);
  if (op == FORMULA_ABS) return PyNumber_Absolute(in[0]);
  if (op >= FORMULA_SQRT) return formula_real(op, in[0]);
  return count == 2 ? const_operate((int)op, in[0], in[1], false) : NULL;
}

static PyObject *formula_row(PyObject *rows, int64_t slot, const loom_graph *graph,
                             const int64_t *symbols) {
  PyObject *row = PyList_GET_ITEM(rows, slot), *head = PyTuple_GET_ITEM(row, 0);
  PyObject *in[FORMULA_OPERANDS] = {NULL}, *result = NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(row) - 1, have = 0;
  while (have < count &&
         (in[have] = formula_operand(rows, PyTuple_GET_ITEM(row, have + 1), graph, symbols)))
    have++;
  if (have == count)
    result = PyLong_CheckExact(head) ? formula_operate_now(PyLong_AsLong(head), in, count)
                                     : PyObject_Vectorcall(head, in, (size_t)count, NULL);
  while (have-- > 0)
    Py_DECREF(in[have]);
  return result;
}

PyObject *formula_now(const capture *c, int64_t slot, const int64_t *symbols) {
  if (!c->formulas || slot < 0 || slot >= PyList_GET_SIZE(c->formulas)) return NULL;
  PyObject *result = formula_row(c->formulas, slot, &c->graph, symbols);
  if (!result) error_drop();
  return result;
}

bool formula_int_now(const capture *c, int64_t slot, const int64_t *symbols, int64_t *out) {
  PyObject *now = formula_now(c, slot, symbols);
  bool whole = now && PyLong_Check(now);
  int overflow = 0;
  *out = whole ? PyLong_AsLongLongAndOverflow(now, &overflow) : 0;
  Py_XDECREF(now);
  return whole && !overflow;
}

/* ---- words ---- */

static PyObject *formula_operand_words(const capture *c, PyObject *operand) {
  if (!PyTuple_CheckExact(operand)) return guard_words(operand);
  Py_ssize_t last = PyTuple_GET_SIZE(operand) - 1;
  int64_t number = PyLong_AsLongLong(PyTuple_GET_ITEM(operand, last));
  return last ? formula_words(c, number) : guard_number_words(c, number);
}

static const char *formula_sign(long op) {
  static const char *const signs[] = {"+", "&",  "//", "<<", "@", "*", "%",
                                      "|", "**", ">>", "-",  "/", "^"};
  if (op >= FORMULA_COMPARE) return compare_signs[op - FORMULA_COMPARE];
  return op < (long)(sizeof signs / sizeof *signs) ? signs[op] : NULL;
}

PyObject *formula_words(const capture *c, int64_t slot) {
  static const char *const names[] = {"-", "abs", "math.sqrt", "float", "math.log"};
  PyObject *row = PyList_GET_ITEM(c->formulas, slot), *head = PyTuple_GET_ITEM(row, 0);
  Py_ssize_t count = PyTuple_GET_SIZE(row) - 1;
  PyObject *words = PyList_New(0), *text = NULL, *comma = PyUnicode_FromString(", ");
  for (Py_ssize_t i = 0; words && i < count; i++) {
    PyObject *one = formula_operand_words(c, PyTuple_GET_ITEM(row, i + 1));
    if (!one || PyList_Append(words, one) < 0) Py_CLEAR(words);
    Py_XDECREF(one);
  }
  PyObject *all = words && comma ? PyUnicode_Join(comma, words) : NULL;
  long op = PyLong_CheckExact(head) ? PyLong_AsLong(head) : -1;
  if (all && op < 0) {
    PyObject *name = PyObject_GetAttrString(head, "__name__");
    text = name ? PyUnicode_FromFormat("%S(%U)", name, all) : NULL;
    Py_XDECREF(name);
  } else if (all && formula_sign(op) && count == 2) {
    text = PyUnicode_FromFormat("(%U %s %U)", PyList_GET_ITEM(words, 0), formula_sign(op),
                                PyList_GET_ITEM(words, 1));
  } else if (all) {
    text = PyUnicode_FromFormat("%s(%U)", names[op - FORMULA_NEG], all);
  }
  Py_XDECREF(all);
  Py_XDECREF(words);
  Py_XDECREF(comma);
  return text;
}
