/* Rows of ufuncs.def, which say what a ufunc computes. */
#ifndef LOOM_FRONTEND_NUMPY_UFUNC_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_UFUNC_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "graph/graph.h"

typedef enum ufunc_kind {
  UFUNC_SAME1,
  UFUNC_SAME2,
  UFUNC_PREDICATE,
  UFUNC_COMPARE,
  UFUNC_ROUND,
  UFUNC_LOGICAL,
  UFUNC_CUSTOM,
  UFUNC_PAIR
} ufunc_kind;

typedef struct ufunc_row {
  const char *name;
  ufunc_kind kind;
  loom_opcode op;
  const void *extra; /* a direction, or a function */
  PyObject *object;
} ufunc_row;

typedef loom_value (*ufunc_function)(tracer *t, const loom_value *in, loom_dtype out);
typedef bool (*ufunc_pair)(tracer *t, const loom_value *in, loom_value *out);

/* ---- ufunc_loop.c: one loop ---- */

const ufunc_row *ufunc_find(PyObject *ufunc); /* NULL: it has none */
loom_value ufunc_row_loop(tracer *t, const ufunc_row *row, const loom_value *in, loom_dtype out);
bool ufunc_is_float(tracer *t, loom_value v);
/* The number with the dtype and the shape of `like`. */
loom_value ufunc_number(tracer *t, loom_value like, double x);

#endif
