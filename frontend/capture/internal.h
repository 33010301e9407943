/* Of captures: what the files of this folder share. */
#ifndef LOOM_FRONTEND_CAPTURE_INTERNAL_H
#define LOOM_FRONTEND_CAPTURE_INTERNAL_H

#include "frontend/capture/capture.h"

/* ---- capture.c: one capture, from a function and its arguments ---- */

/* capture_from() the function's beginning: the slots of arguments are those of SOURCE_ARG. */
capture *capture_function(PyFunctionObject *function, PyObject *const *args, Py_ssize_t count,
                          const number_mode *modes, size_table *sizes);

#endif
