/* Random numbers of generators that the function makes. */
#ifndef LOOM_FRONTEND_TENSOR_DRAWS_INTERNAL_H
#define LOOM_FRONTEND_TENSOR_DRAWS_INTERNAL_H

#include "frontend/core/value.h"

/* ---- draws.c ---- */

bool tensor_draws_init(void); /* false with an exception */
/* A call that is given such a generator: `count` arguments, then those of kwnames. NULL with
 * nothing pending: it is given none. */
value *tensor_drawn(tracer *t, PyObject *function, value *const *args, Py_ssize_t count,
                    PyObject *kwnames);
/* Is it a method of a generator that existed before the call, which changes or tells its state? */
bool tensor_is_generator_method(PyObject *callee, value *const *args, Py_ssize_t count);
value *tensor_generator_method(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                               PyObject *kwnames);

#endif
