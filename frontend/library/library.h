/* Functions of Python's own library that capture follows. */
#ifndef LOOM_FRONTEND_LIBRARY_LIBRARY_H
#define LOOM_FRONTEND_LIBRARY_LIBRARY_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"

/* ---- standin.c: stand-ins for the captured frames during a host call ---- */

/* trace_standins(): a new tuple of functions, one for each frame that is being captured, the
 * outermost first. standin_call(): callable(*args, **kwargs) called from within them. */
PyObject *trace_standins(tracer *t);
PyObject *standin_call(PyObject *standins, PyObject *callable, PyObject *args, PyObject *kwargs);

/* ---- builtins.c: the table of builtins and its calls ---- */

bool builtins_init(void);

/* ---- builtins_types.c: constructors, attributes, classes ---- */

int trace_isinstance(tracer *t, value *v, value *types); /* -1: failed */

#endif
