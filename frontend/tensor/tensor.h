/* The adapter of torch for capture: tensors as values. */
#ifndef LOOM_FRONTEND_TENSOR_TENSOR_H
#define LOOM_FRONTEND_TENSOR_TENSOR_H

#include "frontend/base/base.h"

/* Makes torch's tensors values of capture, from when torch is imported on. False with an exception.
 */
bool tensor_init(void);

/* What torch asks of symbolic sizes (sizes.c): (operation, number, number, reason). METH_VARARGS.
 */
PyObject *tensor_py_size(PyObject *module, PyObject *args);

#endif
