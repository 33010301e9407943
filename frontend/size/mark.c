/* What users declare about the sizes of an array: mark_dynamic and mark_static. Marks belong to the
 * array object, not to a function: capture looks for them when it reads the array's sizes. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/tracer.h"
#include "frontend/size/size.h"

/* id of the array -> (weak reference to it, {axis: None or (least, largest)}). */
static PyObject *marks;

#define MARK_PRUNE 256 /* entries beyond which those of dead arrays are looked for */

static PyObject *mark_find(PyObject *array) {
  PyObject *key = marks ? PyLong_FromVoidPtr(array) : NULL;
  PyObject *row = key ? PyDict_GetItemWithError(marks, key) : NULL;
  Py_XDECREF(key);
  return row && python_weakref_is(PyTuple_GET_ITEM(row, 0), array) ? PyTuple_GET_ITEM(row, 1)
                                                                   : NULL;
}

static bool mark_prune(void) {
  PyObject *rows = PyDict_Items(marks);
  for (Py_ssize_t i = 0; rows && i < PyList_GET_SIZE(rows); i++) {
    PyObject *item = PyList_GET_ITEM(rows, i), *row = PyTuple_GET_ITEM(item, 1);
    if (python_weakref_is(PyTuple_GET_ITEM(row, 0), NULL) &&
        PyDict_DelItem(marks, PyTuple_GET_ITEM(item, 0)) < 0)
      Py_CLEAR(rows);
  }
  Py_XDECREF(rows);
  return rows != NULL;
}

/* The marks of an array, made when it has none (borrowed). */
static PyObject *mark_make(PyObject *array) {
  PyObject *axes = mark_find(array);
  if (axes || PyErr_Occurred()) return axes;
  if (!marks && !(marks = PyDict_New())) return NULL;
  if (PyDict_GET_SIZE(marks) > MARK_PRUNE && !mark_prune()) return NULL;
  PyObject *key = PyLong_FromVoidPtr(array), *ref = PyWeakref_NewRef(array, NULL);
  PyObject *made = PyDict_New(), *row = NULL;
  if (key && ref && made) row = PyTuple_Pack(2, ref, made);
  bool good = row && PyDict_SetItem(marks, key, row) == 0;
  Py_XDECREF(key);
  Py_XDECREF(ref);
  Py_XDECREF(made);
  Py_XDECREF(row);
  return good ? made : NULL;
}

PyObject *loom_py_mark(PyObject *module, PyObject *args) {
  PyObject *array, *range;
  int axis;
  if (!PyArg_ParseTuple(args, "OiO", &array, &axis, &range)) return NULL;
  PyObject *axes = mark_make(array), *key = axes ? PyLong_FromLong(axis) : NULL;
  bool good = key && PyDict_SetItem(axes, key, range) == 0;
  Py_XDECREF(key);
  if (!good) return NULL;
  Py_RETURN_NONE;
}

static void mark_apply(size_fact *f, PyObject *range) {
  if (range == Py_None) {
    f->state = SIZE_PINNED;
    return;
  }
  int64_t low = PyLong_AsLongLong(PyTuple_GET_ITEM(range, 0)),
          high = PyLong_AsLongLong(PyTuple_GET_ITEM(range, 1));
  if (f->state == SIZE_STATIC) f->state = SIZE_SYMBOL;
  f->min = low > f->min ? low : f->min;
  f->max = high < f->max ? high : f->max;
}

bool size_hold(tracer *t, const source *s, int rank) {
  for (int i = 0; t->call.sizes && t->call.sizes->always && i < rank; i++) {
    size_fact *f = size_table_get(t->call.sizes, s, SIZE_OF_DIM, i);
    if (!f) return PyErr_NoMemory(), trace_fail(t), false;
    f->held = true;
  }
  return true;
}

bool size_apply_marks(tracer *t, PyObject *array, const source *s) {
  PyObject *axes = mark_find(array), *axis, *range;
  if (!t->call.sizes || !axes) return !PyErr_Occurred();
  for (Py_ssize_t at = 0; PyDict_Next(axes, &at, &axis, &range);) {
    size_fact *f = size_table_get(t->call.sizes, s, SIZE_OF_DIM, (int)PyLong_AsLong(axis));
    if (!f) return PyErr_NoMemory(), trace_fail(t), false;
    mark_apply(f, range);
  }
  return true;
}
