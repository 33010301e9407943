/* Calls of the library that capture makes, and that leave the state of the process as it was. Their
 * `with` statements would see to that, unless a signal handler interrupts them. So such a call gets
 * a copy of the context, which contains the error state, and the warnings' filters are restored
 * after it where they have changed. */
#include "frontend/base/base.h"
#include "frontend/numpy/call_internal.h"

static PyObject *apart_warnings(void) {
  static PyObject *module;
  if (!module) module = PyImport_ImportModule("warnings");
  return module;
}

/* Keeps a pending exception. */
static void apart_restore_filters(PyObject *before) {
  PyObject *type, *raised, *traceback;
  PyErr_Fetch(&type, &raised, &traceback);
  PyObject *now = PyObject_GetAttrString(apart_warnings(), "filters");
  if (now != before && PyObject_SetAttrString(apart_warnings(), "filters", before) == 0)
    Py_XDECREF(PyObject_CallMethod(apart_warnings(), "_filters_mutated", NULL));
  Py_XDECREF(now);
  error_drop();
  PyErr_Restore(type, raised, traceback);
}

static void apart_leave(PyObject *context) {
  PyObject *type, *raised, *traceback;
  PyErr_Fetch(&type, &raised, &traceback);
  if (PyContext_Exit(context)) error_drop();
  PyErr_Restore(type, raised, traceback);
}

PyObject *np_call_apart(PyObject *how, PyObject *function, PyObject *args, PyObject *kwargs) {
  PyObject *module = apart_warnings(), *result = NULL;
  PyObject *filters = module ? PyObject_GetAttrString(module, "filters") : NULL;
  PyObject *context = filters ? PyContext_CopyCurrent() : NULL;
  if (context && PyContext_Enter(context) == 0) {
    result = PyObject_CallFunctionObjArgs(how, function, args, kwargs, NULL);
    apart_leave(context);
    apart_restore_filters(filters);
  }
  Py_XDECREF(context);
  Py_XDECREF(filters);
  return result;
}
