/* Of the tracer: what the files of this folder share. */
#ifndef LOOM_FRONTEND_CORE_INTERNAL_H
#define LOOM_FRONTEND_CORE_INTERNAL_H

#include "frontend/core/tracer.h"

/* ---- constants.c: folding of operations on constants ---- */

/* The value, or a constant in its place when the node just made for it has only constant operands.
 * A break when the library would report a floating-point exception for it at every call. */
loom_value constants_fold(tracer *t, loom_value v);

/* ---- examples.c: values that stand for one element of a batch ---- */

/* Does the value depend on one of them? */
bool trace_is_of_example(tracer *t, loom_value v);

#endif
