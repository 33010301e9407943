/* Callables, which stand in for functions: what the module's table has of them. */
#ifndef LOOM_FRONTEND_DISPATCH_CALLABLE_H
#define LOOM_FRONTEND_DISPATCH_CALLABLE_H

#include "frontend/base/python.h"

/* ---- callable.c: the object that is called ---- */

bool loom_callable_init(PyObject *module);
PyObject *loom_py_reset(PyObject *module, PyObject *unused);
/* frameloom.graph_break(), skip_frame() and is_compiling(), as plain Python calls them (capture:
 * builtins.def). */
PyObject *loom_py_graph_break(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_skip_frame(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_is_compiling(PyObject *module, PyObject *unused);
/* All live callables, for reports over them: a new list. */
PyObject *loom_py_callables(PyObject *module, PyObject *unused);

/* ---- stance.c: may this call be compiled? ---- */

/* What the process does about functions that would have to be compiled. */
PyObject *loom_py_set_stance(PyObject *module, PyObject *name);
PyObject *loom_py_get_stance(PyObject *module, PyObject *unused);

/* ---- explain.c: reports on a callable ---- */

/* Are the guards of new versions measured? The result is what was set before. METH_O. */
PyObject *loom_py_measure_guards(PyObject *module, PyObject *on);

/* ---- trial.c: timing compiled runs against plain runs ---- */

/* For tests: pretend_times(compiled wall, compiled CPU, plain wall, plain CPU) sets the times of
 * runs, in ns. Without arguments runs are timed again. */
PyObject *loom_py_pretend_times(PyObject *module, PyObject *args);

#endif
