/* What a run does to objects that existed before the call, in order, once its status is good. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"

static bool effect_write_array(loom_run *run, const effect *e) {
  if (run->arrays[e->number]) return true; /* written already */
  const loom_output *output = &run->captured->graph.outputs[e->number];
  const loom_graph *graph = &run->captured->graph;
  const loom_type *type = loom_graph_type(graph, output->value);
  loom_type now;
  int64_t strides[LOOM_MAX_RANK];
  if (!size_resolve(graph, type, output->strides, run->symbols, &now, strides)) {
    PyErr_SetString(PyExc_SystemError, "frameloom: a size of a result overflows");
    return false;
  }
  PyObject *target = recipe_build(run, e->target);
  if (!target) return false;
  bool good = run->adapter->write(target, &now, strides, run->data[e->number], e->uncounted);
  Py_DECREF(target);
  return good;
}

static bool effects_write_arrays(loom_run *run) {
  for (uint32_t i = 0; i < run->captured->effect_count; i++) {
    const effect *e = &run->captured->effects[i];
    switch (e->kind) {
    case EFFECT_WRITE_ARRAY:
      if (!effect_write_array(run, e)) return false;
    }
  }
  return true;
}

/* ---- other objects --------------------------------------------------------------------------- */

/* The class has neither a __setattr__ nor a data descriptor of that name: the guards say so. */
static int change_attr(PyObject *object, PyObject *name, PyObject *item) {
  if (PyType_Check(object)) return PyType_Type.tp_setattro(object, name, item);
  return PyObject_GenericSetAttr(object, name, item);
}

static int change_item(PyObject *dict, PyObject *key, PyObject *item) {
  if (PyODict_Check(dict))
    return item ? PyODict_SetItem(dict, key, item) : PyODict_DelItem(dict, key);
  return item ? PyDict_SetItem(dict, key, item) : PyDict_DelItem(dict, key);
}

static void change_renew(PyObject *dict) {
  if (!PyDict_GET_SIZE(dict)) PyDict_Clear(dict);
}

static int change_slice(const change *c, PyObject *made) {
  PyObject *items = PyTuple_GetSlice(made, 1, PyTuple_GET_SIZE(made));
  int failed = items ? PyList_SetSlice(PyTuple_GET_ITEM(made, 0), c->from, c->to, items) : -1;
  Py_XDECREF(items);
  return failed;
}

/* What the class of an instance overrides is not called: it has been looked into. */
static PyObject *change_call_base(PyObject *name, PyTypeObject *type, PyObject *made) {
  while (!python_type_is_builtin(type))
    type = type->tp_base;
  PyObject *method = PyObject_GetAttr((PyObject *)type, name);
  PyObject *result = method ? PyObject_Call(method, made, NULL) : NULL;
  Py_XDECREF(method);
  return result;
}

static int change_call(const change *c, PyObject *made) {
  PyTypeObject *type = Py_TYPE(PyTuple_GET_ITEM(made, 0));
  size_t given = (size_t)PyTuple_GET_SIZE(made);
  PyObject *result = NULL;
  if (PyTuple_CheckExact(c->key)) {
    size_t named = (size_t)PyTuple_GET_SIZE(c->key);
    result = PyObject_Vectorcall(PyTuple_GET_ITEM(made, 0), &PyTuple_GET_ITEM(made, 0) + 1,
                                 given - 1 - named, c->key);
  } else if (!python_type_is_builtin(type)) {
    result = change_call_base(c->key, type, made);
  } else {
    result = PyObject_VectorcallMethod(c->key, &PyTuple_GET_ITEM(made, 0), given, NULL);
  }
  Py_XDECREF(result);
  return result ? 0 : -1;
}

static int change_advance(const change *c, PyObject *iterator) {
  for (Py_ssize_t i = 0; i < c->to; i++) {
    PyObject *item = Py_TYPE(iterator)->tp_iternext(iterator);
    Py_XDECREF(item);
    if (item) continue;
    if (PyErr_Occurred() && !PyErr_ExceptionMatches(PyExc_StopIteration)) return -1;
    error_drop();
    break;
  }
  return 0;
}

static int change_apply(const change *c, PyObject *made) {
  PyObject *items[3] = {NULL, NULL, NULL};
  for (Py_ssize_t i = 0; i < 3 && i < PyTuple_GET_SIZE(made); i++)
    items[i] = PyTuple_GET_ITEM(made, i);
  switch (c->kind) {
  case CHANGE_ATTR: return change_attr(items[0], c->key, items[1]);
  case CHANGE_ITEM: return change_item(items[0], items[1], items[2]);
  case CHANGE_RENEW: change_renew(items[0]); return 0;
  case CHANGE_CELL: return PyCell_Set(items[0], items[1]);
  case CHANGE_SLICE: return change_slice(c, made);
  case CHANGE_CALL: return change_call(c, made);
  case CHANGE_ADVANCE: return change_advance(c, items[0]);
  }
  return 0;
}

/* A list of what each change is made with. */
static PyObject *changes_build(loom_run *run) {
  const capture *c = run->captured;
  PyObject *all = PyList_New(c->change_count);
  for (uint32_t i = 0; all && i < c->change_count; i++) {
    PyObject *made = recipe_build(run, c->changes[i].made);
    if (made)
      PyList_SET_ITEM(all, i, made);
    else
      Py_CLEAR(all);
  }
  return all;
}

static bool changes_apply(const loom_run *run, PyObject *made) {
  const capture *c = run->captured;
  for (uint32_t i = 0; i < c->change_count; i++)
    if (change_apply(&c->changes[i], PyList_GET_ITEM(made, i)) < 0) return false;
  return true;
}

PyObject *effects_commit(loom_run *run, bool *changed) {
  const capture *c = run->captured;
  PyObject *made = c->change_count ? changes_build(run) : NULL, *result = NULL;
  if (made || !c->change_count) result = recipe_build(run, c->result);
  if (result && (c->effect_count || c->change_count)) {
    *changed = true;
    if (!effects_write_arrays(run) || (made && !changes_apply(run, made))) Py_CLEAR(result);
  }
  Py_XDECREF(made);
  return result;
}
