/* Checked kernels (the setting `check`): what they refused is raised. */
#include "frontend/base/base.h"

bool checked_wanted(void) { return *loom_config.check != 0; }

void checked_raise(const char *text) {
  PyObject *errors = PyImport_ImportModule("frameloom._errors");
  PyObject *type = errors ? PyObject_GetAttrString(errors, "BoundsError") : NULL;
  if (type) PyErr_SetString(type, text);
  Py_XDECREF(type);
  Py_XDECREF(errors);
}
