/* Operations of torch as nodes of the graph, and the tensors without memory that stand for values.
 */
#ifndef LOOM_FRONTEND_TENSOR_EMIT_INTERNAL_H
#define LOOM_FRONTEND_TENSOR_EMIT_INTERNAL_H

#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"

/* ---- emit.c: operations of ATen as nodes of the graph ---- */

/* The tensor without memory that stands for a value; borrowed. NULL after a failure. */
PyObject *tensor_meta(tracer *t, value *v);
/* The value that such a tensor stands for, or NULL. */
value *tensor_of_meta(tracer *t, PyObject *meta);
/* A tensor that the graph is given: a new input without a source. */
bool tensor_emit_input(tracer *t, PyObject *meta);
/* A list of operations, as _tensor_calls.py notes them. False after a break. */
bool tensor_emit_all(tracer *t, PyObject *calls);
/* tensor_emit_all() of operations that the function calls; `called`: the same operations as they
 * are called. */
bool tensor_take_calls(tracer *t, PyObject *calls, PyObject *called);

/* What torch says of a tensor. */
typedef struct tensor_look {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK], offset; /* bytes; the offset in the storage */
} tensor_look;

bool tensor_look_at(tracer *t, PyObject *meta, tensor_look *out); /* false after a break */
/* From here on `meta` is the tensor without memory that stands for `v`. */
bool tensor_stands_for(tracer *t, PyObject *meta, value *v);

/* ---- emit_views.c: views that torch makes ---- */

/* The name of an operation without its overload: "transpose" of aten.transpose.int. */
bool tensor_operation_name(PyObject *function, char *out, size_t size);
/* `results`: of a view, or a list of them. False after a break. */
bool tensor_emit_view(tracer *t, PyObject *function, PyObject *args, PyObject *results);
/* The view of `p` that the operation of this name gives; `base`: the offset of the tensor that it
 * is given. NULL with nothing pending: it has no form here. */
value *tensor_view(tracer *t, np_array *p, int64_t base, const tensor_look *look, const char *name,
                   PyObject *args);
/* Has a view the sizes and strides that torch says? */
bool tensor_view_agrees(tracer *t, const np_array *a, const tensor_look *look, int64_t offset);

/* ---- reshaped.c: other sizes of the same tensor ---- */

/* A tensor becomes a view of what it was, as _tensor_calls.py notes it. False after a break. */
bool tensor_emit_reshape(tracer *t, PyObject *meta, PyObject *before, PyObject *view);

#endif
