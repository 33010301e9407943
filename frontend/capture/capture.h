/* From a function and its arguments to a capture. */
#ifndef LOOM_FRONTEND_CAPTURE_CAPTURE_H
#define LOOM_FRONTEND_CAPTURE_CAPTURE_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/learnt.h"

/* ---- capture.c: one capture, from a function and its arguments ---- */

/* Captures one call of `function` (a plain Python function) with bound arguments, from `start` on:
 * the slots of arguments are those of a frame_shape. `start` is NULL for the function's beginning:
 * they are those of SOURCE_ARG. `modes` says how the arguments' numbers are captured (NULL: all
 * NUMBER_KNOWN). `sizes` says which sizes become symbols (NULL: none), and learns which must not.
 * No user code runs. A Python exception is set (and NULL returned) only for MemoryError and
 * KeyboardInterrupt. */
capture *capture_from(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                      Py_ssize_t count, const number_mode *modes, size_table *sizes);
/* Captures what comes before the instruction at which capture_from() broke (`step` of its
 * break_info); or before an earlier instruction, when the frame holds something there that cannot
 * be rebuilt. NULL without an exception: there is nothing to capture. */
capture *capture_until(PyFunctionObject *function, const frame_shape *start, PyObject *const *args,
                       Py_ssize_t count, const number_mode *modes, size_table *sizes, int64_t step);

/* ---- capture_debug.c: for tests: a capture as Python objects ---- */

/* For tests: (function, args) -> {'graph': str, 'guards': [str], 'known': bool, 'result': object or
 * str, 'break': None or (code, name, detail, file, line, column)}. METH_VARARGS. */
PyObject *loom_debug_capture(PyObject *self, PyObject *args);

#endif
