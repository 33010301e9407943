/* Arrays and NumPy scalars that a loop captured once appends to a list (values/rows.c): in the
 * graph they are rows of one array, and when the run is over each owns its memory. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <string.h>

/* Only what was made here, is no view, and has nothing that a row has not. */
loom_value *np_row_at(value *v, const void *parts[2]) {
  np_array *a = np_array_of(v);
  if (!a || a->kind != VIEW_ROOT || a->storage->source || v->source || a->packed ||
      a->warns_on_write || a->storage->root != v || v->lent)
    return NULL;
  if (parts) {
    parts[0] = a;
    parts[1] = a->storage;
  }
  return &a->storage->current;
}

bool np_row_like(const value *one, const value *other) {
  const np_array *a = np_array_of(one), *b = np_array_of(other);
  return a->scalar == b->scalar && a->writeable == b->writeable &&
         loom_type_equal(&a->type, &b->type) &&
         !memcmp(a->strides, b->strides, sizeof *a->strides * (size_t)a->type.rank);
}

value *np_row_new(tracer *t, const value *like, loom_value node) {
  const np_array *a = np_array_of(like);
  value *v = np_fresh(t, node, a->strides);
  if (!v) return NULL;
  np_array_of(v)->scalar = a->scalar;
  np_array_of(v)->writeable = a->writeable;
  return v;
}

bool np_row_fits(tracer *t, const value *like, loom_type *stack, int64_t rows) {
  const np_array *a = np_array_of(like);
  int rank = a->type.rank;
  if (rank == LOOM_MAX_RANK || np_elements(&a->type) == 0 || !np_dtype_supported(a->type.dtype))
    return false;
  *stack = (loom_type){.dtype = a->type.dtype, .rank = rank + 1};
  memcpy(stack->dims + 1, a->type.dims, sizeof *stack->dims * (size_t)rank);
  return size_admit(t, rows, &stack->dims[0]);
}

/* ---- items of a list that a loop goes through (values/gather.c) ---- */

value *np_lender(value *v) {
  np_array *a = np_array_of(v);
  bool good = a && !a->packed && !a->warns_on_write && a->type.rank < LOOM_MAX_RANK &&
              np_dtype_supported(a->type.dtype) && np_elements(&a->type) != 0;
  return good ? a->storage->root : NULL;
}

bool np_row_is_small(tracer *t, const value *v) {
  const np_array *a = np_array_of(v);
  __int128 bytes = (__int128)loom_dtype_size(a->type.dtype);
  for (int i = 0; i < a->type.rank; i++)
    bytes *= size_hint(t, np_dim(a->type.dims[i]));
  return bytes <= NP_ROW_SMALL;
}

loom_value np_row_elements(tracer *t, value *v) { return np_read(t, np_array_of(v)); }

loom_value np_row_numbers(tracer *t, loom_dtype dtype, const uint64_t *bits, int64_t count) {
  npy_intp length = (npy_intp)count;
  loom_type type = type_make(dtype, 1, &count);
  int64_t stride = 1;
  size_t size = loom_dtype_size(dtype);
  PyObject *data = PyArray_SimpleNewFromDescr(1, &length, np_descr(dtype));
  if (!data) return trace_raise_live(t), LOOM_NO_VALUE;
  for (int64_t i = 0; i < count; i++)
    memcpy(PyArray_BYTES((PyArrayObject *)data) + (size_t)i * size, &bits[i], size);
  return trace_input(t, LOOM_INPUT_CONST, &type, &stride, NULL, data);
}

recipe *np_row_recipe(tracer *t, const value *like, loom_value stack, int64_t *output) {
  const np_array *a = np_array_of(like);
  int64_t strides[LOOM_MAX_RANK], count = np_count(t, &a->type);
  strides[0] = count;
  for (int i = 0; i < a->type.rank; i++)
    strides[i + 1] = np_in_elements(t, a->strides[i], a->type.dtype);
  if (*output < 0) *output = trace_output(t, stack, strides);
  return np_row_payload(t, a, *output);
}

PyObject *numpy_array_row(const void *payload, const loom_graph *graph, const int64_t *symbols,
                          const void *stack, int64_t i) {
  const numpy_array_payload *p = payload;
  size_t bytes = loom_dtype_size(p->dtype);
  void *data;
  if (p->flags & NUMPY_SCALAR)
    return numpy_array_scalar(payload, (const char *)stack + (size_t)i * bytes);
  PyObject *array = numpy_array_new_output(payload, graph, symbols, &data);
  if (!array) return NULL;
  bytes = (size_t)PyArray_NBYTES((PyArrayObject *)array);
  memcpy(data, (const char *)stack + (size_t)i * bytes, bytes);
  return array;
}

/* ---- the whole list as one array ---- */

static bool row_read(tracer *t, value *item, const value *like, loom_value *node) {
  const np_array *want = np_array_of(like);
  np_array *a = np_array_of(item);
  if (!a != !want ||
      (a && (a->scalar != want->scalar || a->packed || !loom_type_equal(&a->type, &want->type))))
    return false;
  if (!a && !rows_like(t, item, (value *)like)) return false;
  *node = a ? np_read(t, a) : rows_node(t, item);
  return *node != LOOM_NO_VALUE;
}

/* The same, where it matters how the items lie in memory. */
static bool row_read_alike(tracer *t, value *item, const value *like, loom_value *node) {
  const np_array *a = np_array_of(item), *want = np_array_of(like);
  return a && want &&
         !memcmp(a->strides, want->strides, sizeof *a->strides * (size_t)a->type.rank) &&
         row_read(t, item, like, node);
}

value *np_stacked(tracer *t, value *list) {
  loom_value node;
  value *like = list_stack(t, list, row_read, &node);
  if (!like) return NULL;
  value *v = np_fresh(t, node, NULL);
  const np_array *a = np_array_of(like);
  if (v) np_array_of(v)->packed = !a || a->scalar || !a->type.rank;
  return v;
}

/* np.stack of a long list along its first axis; all else is inlined. */
value *np_stack(tracer *t, const np_call *c) {
  value *p[5];
  int64_t axis = 0;
  if (c->count > 0 && !np_is_sequence(t, c->args[0]))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of what is no sequence");
  if (c->count < 1 || !list_is_long(c->args[0])) return trace_not_implemented(t);
  if (!np_parse(t, c, "arrays | axis out dtype casting", p)) return NULL;
  bool plain = np_is_none(t, p[2]) && np_is_none(t, p[3]) && !p[4] &&
               (!p[1] || (value_known_int(t, p[1], &axis) && axis == 0));
  loom_value node = LOOM_NO_VALUE;
  value *like = plain && !trace_pending(t) ? list_stack(t, p[0], row_read_alike, &node) : NULL;
  np_array *a = np_array_of(like);
  if (trace_pending(t)) return NULL;
  if (!a || (a->type.rank > 1 && !np_is_c(t, a))) return trace_not_implemented(t);
  return np_fresh(t, node, NULL);
}
