/* Functions that the user has marked: custom operators and functions allowed in the graph are run
 * as they are, inside the plan; others are never captured. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

Py_ssize_t loom_rule_count;

/* id of the object -> (object, kind, function that runs, fake or None, name). */
static PyObject *rules;

static PyObject *rules_find(PyObject *object) {
  PyObject *key = rules ? PyLong_FromVoidPtr(object) : NULL;
  PyObject *row = key ? PyDict_GetItemWithError(rules, key) : NULL;
  Py_XDECREF(key);
  return row;
}

PyObject *loom_py_set_rule(PyObject *module, PyObject *args) {
  PyObject *object, *callable, *fake;
  const char *kind, *name;
  if (!PyArg_ParseTuple(args, "OsOOs", &object, &kind, &callable, &fake, &name)) return NULL;
  if (strcmp(kind, "allow") && strcmp(kind, "disallow") && strcmp(kind, "custom")) {
    PyErr_Format(PyExc_ValueError, "unknown rule '%.40s'", kind);
    return NULL;
  }
  if (!rules && !(rules = PyDict_New())) return NULL;
  PyObject *key = PyLong_FromVoidPtr(object);
  PyObject *row = Py_BuildValue("(OsOOs)", object, kind, callable, fake, name);
  bool good = key && row && PyDict_SetItem(rules, key, row) == 0;
  Py_XDECREF(key);
  Py_XDECREF(row);
  if (!good) return NULL;
  loom_rule_count = PyDict_GET_SIZE(rules);
  Py_RETURN_NONE;
}

static value *rules_opaque(tracer *t, PyObject *row, value *const *args, Py_ssize_t count,
                           PyObject *kwnames) {
  PyObject *fake = PyTuple_GET_ITEM(row, 3);
  const char *name = PyUnicode_AsUTF8(PyTuple_GET_ITEM(row, 4));
  bool custom = !PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(row, 1), "custom");
  if (custom && fake == Py_None)
    return trace_break(t, BREAK_CUSTOM_OP, "%s has no fake: .register_fake() gives it one", name);
  Py_INCREF(row); /* the fake may register others */
  disabled_depth++;
  value *result = loom_adapters()[0]->opaque(t, PyTuple_GET_ITEM(row, 2), custom ? fake : NULL,
                                             name, args, count, kwnames);
  disabled_depth--;
  Py_DECREF(row);
  return result;
}

value *rules_call(tracer *t, value *callee, value *const *args, Py_ssize_t count,
                  PyObject *kwnames) {
  PyObject *row = rules_find(callee->object);
  if (!row) return NULL;
  value_identity(t, callee);
  if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(row, 1), "disallow"))
    return trace_break(t, BREAK_DISALLOWED, "%s()", PyUnicode_AsUTF8(PyTuple_GET_ITEM(row, 4)));
  return rules_opaque(t, row, args, count, kwnames);
}
