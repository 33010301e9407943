#include "frontend/numpy/capture.h"
value *np_ufunc_method(tracer *t, const char *name, value *const *args, Py_ssize_t count,
                       PyObject *kwnames) {
  return trace_break(t, BREAK_NUMPY_FUNCTION, "the ufunc method %s", name);
}
