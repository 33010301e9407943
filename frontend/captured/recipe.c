/* Rebuilds the Python result of a run from its recipe. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"

/* ---- rows of lists that loops have appended to ---- */

static void recipe_set(PyObject *into, Py_ssize_t at, PyObject *item) {
  if (PyTuple_Check(into))
    PyTuple_SET_ITEM(into, at, item);
  else
    PyList_SET_ITEM(into, at, item);
}

static PyObject *recipe_build_row(loom_run *run, const recipe *r, int64_t row) {
  const loom_graph *g = &run->captured->graph;
  if (r->kind != RECIPE_ROW && r->kind != RECIPE_TUPLE && r->kind != RECIPE_LIST)
    return recipe_build(run, r);
  if (r->kind != RECIPE_ROW) {
    PyObject *all = r->kind == RECIPE_TUPLE ? PyTuple_New(r->count) : PyList_New(r->count);
    for (uint32_t i = 0; all && i < r->count; i++) {
      PyObject *item = recipe_build_row(run, r->items[i], row);
      if (item)
        recipe_set(all, i, item);
      else
        Py_CLEAR(all);
    }
    return all;
  }
  const void *data = run->data[r->number];
  if (r->payload) return run->adapter->row(r->payload, g, run->symbols, data, row);
  switch (loom_graph_type(g, g->outputs[r->number].value)->dtype) {
  case LOOM_BOOL: return PyBool_FromLong(((const uint8_t *)data)[row]);
  case LOOM_F64: return PyFloat_FromDouble(((const double *)data)[row]);
  default: return PyLong_FromLongLong(((const int64_t *)data)[row]);
  }
}

/* Groups and the first of their rows; false with an exception. */
static bool recipe_rows_now(const loom_run *run, const recipe *r, int64_t *count, int64_t *from) {
  const loom_graph *g = &run->captured->graph;
  if (loom_stride_eval(g, r->number, run->symbols, count) && *count >= 0 &&
      loom_stride_eval(g, *(const int64_t *)r->payload, run->symbols, from))
    return true;
  PyErr_SetString(PyExc_SystemError, "frameloom: a size of a result overflows");
  return false;
}

/* How many items a list or tuple with rows has; -1 with an exception. */
static Py_ssize_t recipe_length(const loom_run *run, const recipe *r) {
  int64_t count, from;
  Py_ssize_t total = 0;
  for (uint32_t i = 0; i < r->count; i++) {
    const recipe *item = r->items[i];
    if (item->kind == RECIPE_ROWS && !recipe_rows_now(run, item, &count, &from)) return -1;
    total += item->kind == RECIPE_ROWS ? (Py_ssize_t)count * item->count : 1;
  }
  return total;
}

static bool recipe_fill_rows(loom_run *run, const recipe *r, PyObject *into) {
  int64_t count, from;
  Py_ssize_t at = 0;
  for (uint32_t i = 0; i < r->count; i++) {
    const recipe *rows = r->items[i];
    if (rows->kind != RECIPE_ROWS) {
      PyObject *item = recipe_build(run, rows);
      if (!item) return false;
      recipe_set(into, at++, item);
      continue;
    }
    if (!recipe_rows_now(run, rows, &count, &from)) return false;
    for (int64_t k = 0; k < count * rows->count; k++) {
      PyObject *item = recipe_build_row(run, rows->items[k % rows->count], from + k / rows->count);
      if (!item) return false;
      recipe_set(into, at++, item);
    }
  }
  return true;
}

static bool recipe_has_rows(const recipe *r) {
  return r->number && (r->kind == RECIPE_TUPLE || r->kind == RECIPE_LIST);
}

static PyObject *recipe_build_items(loom_run *run, const recipe *r) {
  PyObject *items = PyTuple_New(r->count);
  for (uint32_t i = 0; items && i < r->count; i++) {
    PyObject *item = recipe_build(run, r->items[i]);
    if (item)
      PyTuple_SET_ITEM(items, i, item);
    else
      Py_CLEAR(items);
  }
  return items;
}

static bool recipe_fill(loom_run *run, const recipe *r, PyObject *into) {
  if (recipe_has_rows(r)) return recipe_fill_rows(run, r, into);
  for (uint32_t i = 0; i < r->count; i++) {
    PyObject *item = recipe_build(run, r->items[i]);
    if (!item) return false;
    if (r->kind == RECIPE_TUPLE) {
      PyTuple_SET_ITEM(into, i, item);
    } else if (r->kind == RECIPE_LIST) {
      PyList_SET_ITEM(into, i, item);
    }
  }
  return true;
}

/* In the slots in which Python would have them, or one after the other. */
static bool recipe_fill_set(loom_run *run, const recipe *r, PyObject *into) {
  PyObject *items = recipe_build_items(run, r), **all = items ? &PyTuple_GET_ITEM(items, 0) : NULL;
  bool given = all && r->object && set_table_give(into, r->object, all);
  bool good = all && !PyErr_Occurred();
  for (uint32_t i = 0; good && !given && i < r->count; i++)
    good = PySet_Add(into, all[i]) == 0;
  Py_XDECREF(items);
  return good;
}

static bool recipe_fill_dict(loom_run *run, const recipe *r, PyObject *into) {
  for (uint32_t i = 0; i + 1 < r->count; i += 2) {
    PyObject *key = recipe_build(run, r->items[i]);
    PyObject *item = key ? recipe_build(run, r->items[i + 1]) : NULL;
    bool good = item && PyDict_SetItem(into, key, item) == 0;
    Py_XDECREF(key);
    Py_XDECREF(item);
    if (!good) return false;
  }
  return true;
}

static PyObject *recipe_container(const loom_run *run, const recipe *r) {
  Py_ssize_t count = recipe_has_rows(r) ? recipe_length(run, r) : r->count;
  if (count < 0) return NULL;
  switch (r->kind) {
  case RECIPE_TUPLE: return PyTuple_New(count);
  case RECIPE_LIST: return PyList_New(count);
  case RECIPE_SET: return PySet_New(NULL);
  case RECIPE_FROZENSET: return PyFrozenSet_New(NULL);
  default: return PyDict_New();
  }
}

/* A mutable container goes into `shared` before it is filled, so that one that contains itself
 * comes out right. */
static PyObject *recipe_build_container(loom_run *run, const recipe *r, PyObject **shared) {
  PyObject *made = recipe_container(run, r);
  if (!made) return NULL;
  if (shared) *shared = Py_NewRef(made);
  bool set = r->kind == RECIPE_SET || r->kind == RECIPE_FROZENSET;
  if (set                      ? recipe_fill_set(run, r, made)
      : r->kind == RECIPE_DICT ? recipe_fill_dict(run, r, made)
                               : recipe_fill(run, r, made))
    return made;
  Py_DECREF(made);
  return NULL;
}

static PyObject *recipe_build_slice(loom_run *run, const recipe *r) {
  PyObject *items = recipe_build_items(run, r);
  if (!items) return NULL;
  PyObject *made = PySlice_New(PyTuple_GET_ITEM(items, 0), PyTuple_GET_ITEM(items, 1),
                               PyTuple_GET_ITEM(items, 2));
  Py_DECREF(items);
  return made;
}

static PyObject *recipe_build_call(loom_run *run, const recipe *r) {
  PyObject *items = recipe_build_items(run, r);
  if (!items) return NULL;
  PyObject *made = PyObject_Vectorcall(PyTuple_GET_ITEM(items, 0), &PyTuple_GET_ITEM(items, 1),
                                       r->count - 1, NULL);
  Py_DECREF(items);
  return made;
}

static PyObject *recipe_build_view(loom_run *run, const recipe *r) {
  PyObject *base = recipe_build(run, r->items[0]);
  if (!base) return NULL;
  PyObject *made = run->adapter->view(base, r->payload, &run->captured->graph, run->symbols);
  if (!made && !PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "frameloom: a size of a view overflows");
  Py_DECREF(base);
  return made;
}

static PyObject *recipe_build_item(loom_run *run, const recipe *r) {
  PyObject *list = recipe_build(run, r->items[0]);
  PyObject *item = list ? PySequence_GetItem(list, (Py_ssize_t)r->number) : NULL;
  Py_XDECREF(list);
  return item;
}

static PyObject *recipe_build_source(loom_run *run, const source *s) {
  PyObject *object = source_read(s, run->args);
  if (!object && !PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "frameloom: an object of a result is gone");
  return object;
}

static PyObject *recipe_build_output(loom_run *run, const recipe *r) {
  if (run->arrays[r->number]) return Py_NewRef(run->arrays[r->number]);
  PyErr_SetString(PyExc_SystemError, "frameloom: an output has no array");
  return NULL;
}

/* A scalar without a payload is a Python number. */
static PyObject *recipe_build_scalar(loom_run *run, const recipe *r) {
  const void *data = run->data[r->number];
  const loom_graph *g = &run->captured->graph;
  if (r->payload) return run->adapter->scalar(r->payload, data);
  switch (loom_graph_type(g, g->outputs[r->number].value)->dtype) {
  case LOOM_BOOL: return PyBool_FromLong(*(const uint8_t *)data);
  case LOOM_F64: return PyFloat_FromDouble(*(const double *)data);
  default: return PyLong_FromLongLong(*(const int64_t *)data);
  }
}

static PyObject *recipe_build_size(loom_run *run, const recipe *r) {
  int64_t now;
  if (loom_stride_eval(&run->captured->graph, r->number, run->symbols, &now))
    return PyLong_FromLongLong(now);
  PyErr_SetString(PyExc_SystemError, "frameloom: a size of a result overflows");
  return NULL;
}

static PyObject *recipe_build_new(loom_run *run, const recipe *r, PyObject **shared) {
  switch (r->kind) {
  case RECIPE_CONST: return Py_NewRef(r->object);
  case RECIPE_SOURCE: return recipe_build_source(run, r->source);
  case RECIPE_OUTPUT: return recipe_build_output(run, r);
  case RECIPE_SCALAR: return recipe_build_scalar(run, r);
  case RECIPE_VIEW: return recipe_build_view(run, r);
  case RECIPE_ITEM: return recipe_build_item(run, r);
  case RECIPE_SLICE: return recipe_build_slice(run, r);
  case RECIPE_CALL: return recipe_build_call(run, r);
  case RECIPE_SHARED: return recipe_build(run, r);
  case RECIPE_SIZE: return recipe_build_size(run, r);
  default: return recipe_build_container(run, r, shared);
  }
}

PyObject *recipe_build(loom_run *run, const recipe *r) {
  const capture *c = run->captured;
  if (!c->shared_count) return recipe_build_new(run, r, NULL);
  uint32_t number;
  if (r->kind == RECIPE_SHARED) {
    number = (uint32_t)r->number;
  } else {
    for (number = 0; number < c->shared_count && c->shared[number] != r;)
      number++;
  }
  if (number == c->shared_count) return recipe_build_new(run, r, NULL);
  if (run->shared[number]) return Py_NewRef(run->shared[number]);
  PyObject *made = recipe_build_new(run, c->shared[number], &run->shared[number]);
  if (made && !run->shared[number]) run->shared[number] = Py_NewRef(made);
  return made;
}

const recipe *recipe_find_output(const recipe *r, int64_t number) {
  if (!r) return NULL;
  if (r->kind == RECIPE_OUTPUT) return r->number == number ? r : NULL;
  for (uint32_t i = 0; i < r->count; i++) {
    const recipe *found = recipe_find_output(r->items[i], number);
    if (found) return found;
  }
  return NULL;
}
