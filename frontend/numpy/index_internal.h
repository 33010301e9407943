/* Indexing, and the shapes of views: for the files of this folder. */
#ifndef LOOM_FRONTEND_NUMPY_INDEX_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_INDEX_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/size_internal.h"
#include "graph/graph.h"

/* ---- gaps.c: arrays with gaps between their elements ---- */

/* The axes in memory order, the outermost first. *gaps: other memory lies between the elements.
 * False when elements overlap, or when no array with more elements has these strides. */
bool np_memory_order(PyArrayObject *a, int64_t *order, bool *gaps);
/* A view, with these strides in bytes, of a new array that is larger than the view: it has gaps.
 * `at`: how many elements behind the new array's begin the view begins. `node`: its elements, the
 * axes in memory order. *own: the new array, made where it is NULL; several views may share it. */
value *np_with_gaps(tracer *t, const loom_type *type, const int64_t *strides, const int64_t *order,
                    loom_value node, int64_t at, np_array **own);

/* ---- index.c: basic indexing ---- */

value *np_get_item(tracer *t, value *v, value *key);
bool np_set_item(tracer *t, value *v, value *key, value *item);
/* Does NumPy copy as if `to` and `from` did not overlap? False after a break. */
bool np_copies_whole(tracer *t, const np_array *to, const np_array *from);
/* Can the value be assigned as far as its nesting goes, to an array of this rank, or to one
 * element? False after a break. */
bool np_takes_depth(tracer *t, value *item, int rank, bool element);
/* The value of an assignment with the target's dtype and sizes. */
loom_value np_assign_value(tracer *t, const loom_type *target, const np_operand *o);
/* a[...] = item */
bool np_assign(tracer *t, np_array *a, value *item);

/* ---- fancy.c: reading with arrays as indices ---- */

bool np_is_fancy(tracer *t, value *key); /* does the key hold an array, a list or a bool? */
value *np_fancy_get(tracer *t, value *v, value *key);

/* ---- fancy_set.c: assignment with arrays as indices ---- */

bool np_fancy_set(tracer *t, value *v, value *key, value *item);
/* ufunc.at(v, key, item) of a ufunc that combines by "add", "sub", "mul", "min" or "max". *done is
 * false where only the library can do it. */
bool np_fancy_combine(tracer *t, value *v, value *key, value *item, const char *combine,
                      bool *done);
bool np_mask_set(tracer *t, value *v, value *key, value *item);

/* ---- shape.c: the same elements in another shape ---- */

/* A copy in the given order ('K', 'A', 'C', 'F') with another dtype; a NumPy scalar when `a` is
 * one. */
value *np_copy(tracer *t, np_array *a, loom_dtype dtype, char order);
/* a.reshape(dims): a view where NumPy can make one. The sizes are numbers, one may be -1; they
 * become sizes of a type. */
value *np_reshape_to(tracer *t, np_array *a, int rank, int64_t *dims, char order);
/* order=: 'K', 'A', 'C' or 'F'; 0 after a break. */
char np_order_arg(tracer *t, value *v, char missing);
value *np_diagonal(tracer *t, const np_call *c);
value *np_flat(tracer *t, np_array *a, char order); /* a copy with one axis */

/* ---- join.c: putting together and taking apart ---- */

bool np_is_sequence(tracer *t, value *v); /* may it be a sequence of arrays to be joined? */

#endif
