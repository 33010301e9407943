/* Sizes, layouts and dtypes of results. */
#ifndef LOOM_FRONTEND_NUMPY_SIZE_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_SIZE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/numpy.h"
#include "graph/graph.h"

/* ---- sizes.c: symbolic sizes of arrays ---- */

int64_t np_dim(loom_dim dim); /* a size as a number */
/* The number of the graph behind an int64 scalar of NumPy. False: it is no such number. */
bool np_size_of(tracer *t, value *v, int64_t *out);
/* A number as an int64 without dimensions. */
loom_value np_number_node(tracer *t, int64_t number);
/* How many elements: a number; and as a size. */
int64_t np_count(tracer *t, const loom_type *type);
loom_dim np_count_dim(tracer *t, const loom_type *type);
value *np_number(tracer *t, int64_t number); /* as a Python int */
/* A known or symbolic int; one or a sequence of them. */
bool np_number_arg(tracer *t, value *v, int64_t *out);
bool np_numbers_arg(tracer *t, value *v, int *count, int64_t *out);
/* Numbers from a program as the sizes of an array: ValueError where one is negative. */
bool np_sizes_admit(tracer *t, int rank, int64_t *dims);
/* Is the number of bytes one that an array can have? A view may repeat elements, and be larger than
 * memory. False after a break. */
bool np_addressable(tracer *t, const loom_type *type);
/* Can there be an array of this type in memory? False after a break: the library says no. */
bool np_has_room(tracer *t, const loom_type *type);
/* Makes all sizes of the array constants: capture starts again when some are not. */
void np_know_sizes(tracer *t, const np_array *a);
/* No symbolic size passes: capture starts again with them constant. */
bool np_gate_values(tracer *t, value *const *values, Py_ssize_t count);
bool np_gate_key(tracer *t, value *key); /* of a key: only late sizes pass */
bool np_gate_late(tracer *t, value *v);  /* all sizes but late ones pass */
/* Assumes that late sizes are at least 2: in these values, and in an array. */
bool np_gate_small(tracer *t, value *const *values, Py_ssize_t count);
void np_not_small(tracer *t, const np_array *a);
/* Is anything in these values symbolic? */
bool np_are_symbolic(tracer *t, value *const *values, Py_ssize_t count);

/* ---- layout.c: strides of results ---- */

/* The array with this call's sizes and strides, whose order is guarded. */
np_array np_layout_now(tracer *t, const np_array *a);
/* -1: symbolic, and so at least 2. */
int64_t np_elements(const loom_type *type);
void np_c_strides(tracer *t, const loom_type *type, int64_t *out); /* bytes */
void np_f_strides(tracer *t, const loom_type *type, int64_t *out);
bool np_is_c(tracer *t, const np_array *a); /* NumPy's C_CONTIGUOUS */
bool np_is_f(tracer *t, const np_array *a);
/* Strides that NumPy gives a new result of an elementwise operation over these operands.
 * `iterates`: NumPy needs its iterator, be it that operands are converted on the way or that there
 * are several results. */
void np_layout_elementwise(tracer *t, np_array *const *operands, int count, const loom_type *result,
                           char order, bool iterates, int64_t *out);
/* Strides of a copy (order 'K', 'A', 'C' or 'F') with the dtype of `type`. */
void np_layout_copy(tracer *t, const np_array *a, const loom_type *type, char order, int64_t *out);
/* Strides of the result of ufunc.reduce of `a` over the axes in `mask`. */
void np_layout_reduce(tracer *t, const np_array *a, uint32_t mask, bool keepdims,
                      const loom_type *result, int64_t *out);
/* Strides of an einsum's result: `axes` holds, for each array, `row` apart, its axis of each label
 * (-1: none); the result's labels come first. */
void np_layout_labels(tracer *t, np_array *const *arrays, int count, const int *axes, int row,
                      int labels, const loom_type *result, int64_t *out);
/* Strides of the arrays joined. */
void np_layout_concatenate(tracer *t, np_array *const *arrays, int count, const loom_type *result,
                           int64_t *out);
/* Strides of a view with other sizes, or false when only a copy can have them (order 'C', 'F'). */
bool np_reshape_strides(tracer *t, const np_array *a, int rank, const int64_t *dims, char order,
                        int64_t *out);

/* ---- promote.c: operands and dtypes ---- */

typedef struct np_operand {
  np_array *array;  /* or NULL: a Python number */
  PyObject *number; /* a known Python int or float (weak in promotion) */
  loom_value node;  /* a Python number known only when run */
  PyTypeObject *weak;
  loom_dtype dtype; /* of an array */
  value *from;
} np_operand;

/* Any value as an operand: arrays, numbers, nested lists. False after a raise or break. */
bool np_operand_from(tracer *t, value *v, np_operand *out);
/* np_operand_from() for where=: an array has to hold bools. */
bool np_mask_from(tracer *t, value *v, np_operand *out);
/* np.asarray(v): weak numbers get their default dtype. NULL after a raise or break. */
np_array *np_as_array(tracer *t, value *v);
/* The operand as elements of `dtype`, not broadcast. */
loom_value np_operand_load(tracer *t, const np_operand *o, loom_dtype dtype);
/* Does a symbolic int fit into the dtype? In this call, and by a guard in others; if not, capture
 * has to know it. */
bool np_int_fits(tracer *t, int64_t number, loom_dtype dtype);
/* Sizes of all operands together, or a ValueError. */
bool np_broadcast(tracer *t, const np_operand *o, int count, int *rank, int64_t *dims);
bool np_dtype_supported(loom_dtype dtype);
PyArray_Descr *np_descr(loom_dtype dtype);                          /* new reference */
bool np_dtype_of(tracer *t, PyArray_Descr *descr, loom_dtype *out); /* breaks on others */
/* np.dtype(v) of a known value. */
bool np_dtype_arg(tracer *t, value *v, loom_dtype *out);
/* Dtypes of inputs and outputs as ufunc.resolve_dtypes gives them. `dtype` (or NULL) is the
 * keyword's live value. */
bool np_resolve(tracer *t, PyObject *ufunc, const np_operand *o, int nin, np_array *const *outs,
                int nout, PyObject *dtype, PyObject *casting, loom_dtype *types);
/* np.result_type of operands. */
bool np_result_type(tracer *t, const np_operand *o, int count, loom_dtype *out);
bool np_can_cast(loom_dtype from, loom_dtype to, NPY_CASTING casting);
const char *np_shape_text(const loom_type *type, char *buffer, size_t size);

#endif
