/* Basic indexing and item assignment: integers, slices, None, Ellipsis give a slice and a reshape
 * of the array (a view); assignment writes through it. Keys with arrays are fancy.c's. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"

#include <string.h>

typedef struct index_plan {
  int64_t starts[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK]; /* of the result */
  int rank, axis;                                      /* of the result; of the array */
  bool all_ints; /* every item an integer, no Ellipsis: the result is one element */
} index_plan;

static bool index_is_int(PyObject *o) {
  return o && !PyBool_Check(o) && (PyLong_Check(o) || PyArray_IsScalar(o, Integer));
}

static bool index_error(tracer *t, const char *text) {
  trace_raise(t, PyExc_IndexError, "%s", text);
  return false;
}

/* An int as a number of the graph; false when it is none that is known or symbolic. */
static bool index_number(tracer *t, value *item, int64_t *out) {
  if (value_is_number(item)) return value_size_of(t, item, out);
  PyObject *o = np_known(t, item), *number = index_is_int(o) ? PyNumber_Index(o) : NULL;
  if (!number) return error_drop(), false;
  int overflow;
  *out = PyLong_AsLongLongAndOverflow(number, &overflow);
  Py_DECREF(number);
  return size_from_int(t, overflow ? INT64_MAX : *out);
}

static bool index_int(tracer *t, const np_array *a, index_plan *p, value *item) {
  int64_t n = np_dim(a->type.dims[p->axis]), i;
  if (!index_number(t, item, &i)) return false;
  int negative = size_less(t, i, 0);
  int64_t at = negative > 0 ? np_plus(t, i, n) : i;
  int below = size_less(t, at, 0), inside = size_less(t, at, n);
  if (trace_pending(t)) return false;
  if (below || !inside) {
    trace_raise(t, PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld",
                (long long)size_hint(t, i), p->axis, (long long)size_hint(t, n));
    return false;
  }
  p->starts[p->axis] = at;
  p->sizes[p->axis] = p->steps[p->axis] = 1;
  p->axis++;
  return true;
}

static void index_keep(tracer *t, const np_array *a, index_plan *p) {
  p->dims[p->rank] = p->sizes[p->axis];
  p->strides[p->rank++] = np_times(t, a->strides[p->axis], p->steps[p->axis]);
  p->axis++;
}

static void index_whole(tracer *t, const np_array *a, index_plan *p) {
  p->starts[p->axis] = 0;
  p->steps[p->axis] = 1;
  p->sizes[p->axis] = a->type.dims[p->axis];
  index_keep(t, a, p);
}

/* One end of a slice, as PySlice_AdjustIndices moves it into [low, high]. */
static bool index_bound(tracer *t, value *v, int64_t n, int64_t low, int64_t high, int64_t missing,
                        int64_t *out) {
  *out = missing;
  if (np_is_none(t, v)) return true;
  if (value_is_number(v) && !number_is_size(v)) number_ask(t, v);
  if (trace_pending(t) || !index_number(t, v, out)) return false;
  if (size_less(t, *out, 0) > 0) *out = np_plus(t, *out, n);
  if (size_less(t, *out, low) > 0)
    *out = low;
  else if (size_less(t, high, *out) > 0)
    *out = high;
  return !trace_pending(t);
}

/* start:stop:step of a symbolic dimension, or with symbolic ends; the step is known. */
static bool index_slice_symbolic(tracer *t, const np_array *a, index_plan *p, value *const *parts) {
  int64_t n = np_dim(a->type.dims[p->axis]), start, stop, step = 1, length;
  if (!np_is_none(t, parts[2])) {
    if (value_is_number(parts[2])) number_ask(t, parts[2]);
    if (trace_pending(t) || !index_number(t, parts[2], &step)) return false;
  }
  if (step == 0) {
    trace_raise(t, PyExc_ValueError, "slice step cannot be zero");
    return false;
  }
  int64_t last = np_plus(t, n, -1), low = step < 0 ? -1 : 0, high = step < 0 ? last : n;
  if (!index_bound(t, parts[0], n, low, high, step < 0 ? last : 0, &start) ||
      !index_bound(t, parts[1], n, low, high, step < 0 ? -1 : n, &stop))
    return false;
  if (step < 0 ? !size_minus(t, start, stop, &length) : !size_minus(t, stop, start, &length))
    return false;
  int none = size_less(t, length, size_is_late(t, length) ? 0 : 1);
  if (none < 0) return false;
  int64_t by = llabs(step);
  if (none)
    length = start = 0, step = 1;
  else if (!size_op(t, LOOM_EXPR_FLOORDIV, np_plus(t, length, by - 1), by, &length))
    return false;
  p->starts[p->axis] = start;
  p->steps[p->axis] = step;
  if (!size_admit(t, length, &p->sizes[p->axis])) return false;
  index_keep(t, a, p);
  return true;
}

static bool index_slice(tracer *t, const np_array *a, index_plan *p, PyObject *o) {
  Py_ssize_t start, stop, step;
  if (PySlice_Unpack(o, &start, &stop, &step) < 0) {
    trace_raise_live(t);
    return false;
  }
  if (!size_from_int(t, step)) return false;
  Py_ssize_t n = PySlice_AdjustIndices(a->type.dims[p->axis], &start, &stop, step);
  p->starts[p->axis] = n > 0 ? start : 0;
  p->steps[p->axis] = n > 0 ? step : 1;
  p->sizes[p->axis] = n > 0 ? n : 0;
  index_keep(t, a, p);
  return true;
}

/* Is the item a symbolic int, or a slice with one, or a slice of a symbolic dimension? */
static bool index_is_symbolic(const value *item) {
  if (value_is_number(item)) return true;
  if (!value_is_slice(item)) return false;
  for (int i = 0; i < 3; i++)
    if (value_is_number(item->seq.items[i])) return true;
  return false;
}

/* The three parts of a slice of a symbolic dimension; NULL when the item is none. */
static value **index_slice_parts(tracer *t, const np_array *a, const index_plan *p, value *item) {
  if (value_is_slice(item))
    return LOOM_DIM_IS_SYM(a->type.dims[p->axis]) || index_is_symbolic(item) ? item->seq.items
                                                                             : NULL;
  if (!LOOM_DIM_IS_SYM(a->type.dims[p->axis]) || !value_is_const(item) ||
      !PySlice_Check(item->object))
    return NULL;
  PySliceObject *slice = (PySliceObject *)np_known(t, item);
  value **parts = slice ? trace_alloc(t, sizeof *parts * 3) : NULL;
  if (!parts) return NULL;
  PyObject *objects[3] = {slice->start, slice->stop, slice->step};
  for (int i = 0; i < 3; i++)
    if (!(parts[i] = value_const(t, objects[i]))) return NULL;
  return parts;
}

static bool index_new_axis(tracer *t, index_plan *p) {
  if (p->rank >= LOOM_MAX_RANK)
    return index_error(t, "number of dimensions must be within [0, 64]");
  p->dims[p->rank] = 1;
  p->strides[p->rank++] = 0;
  return true;
}

static bool index_item(tracer *t, const np_array *a, index_plan *p, value *item, int left) {
  bool symbolic = index_is_symbolic(item);
  PyObject *o = symbolic ? NULL : np_known(t, item);
  if (o == Py_None) return index_new_axis(t, p);
  if (o == Py_Ellipsis) {
    p->all_ints = false;
    for (int i = 0; i < left; i++)
      index_whole(t, a, p);
    return true;
  }
  if (p->axis >= a->type.rank) {
    trace_raise(t, PyExc_IndexError, "too many indices for array: array is %d-dimensional",
                a->type.rank);
    return false;
  }
  if (index_is_int(o) || (symbolic && number_is_size(item))) return index_int(t, a, p, item);
  p->all_ints = false;
  value **parts = index_slice_parts(t, a, p, item);
  if (parts) return index_slice_symbolic(t, a, p, parts);
  if (o && PySlice_Check(o)) return index_slice(t, a, p, o);
  if (trace_pending(t)) return false;
  trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
  return false;
}

/* How many dimensions of the array an item takes. */
static int index_takes(tracer *t, value *item) {
  PyObject *o = np_is_array(item) || index_is_symbolic(item) ? NULL : np_known(t, item);
  return o == Py_None || o == Py_Ellipsis ? 0 : 1;
}

static bool index_plan_make(tracer *t, const np_array *a, value *key, index_plan *p) {
  *p = (index_plan){.all_ints = true};
  value *one[1] = {key}, **items = one;
  Py_ssize_t count = 1;
  bool single = np_is_array(key) || value_is_tuple(key) || index_is_symbolic(key);
  PyObject *known = single ? NULL : np_known(t, key);
  if (value_is_tuple(key) || (known && PyTuple_CheckExact(known))) {
    value *tuple = trace_to_tuple(t, key);
    if (!tuple) return false;
    items = tuple->seq.items;
    count = tuple->seq.count;
  }
  int taken = 0, dots = 0;
  for (Py_ssize_t i = 0; i < count; i++) {
    taken += index_takes(t, items[i]);
    dots += !np_is_array(items[i]) && !index_is_symbolic(items[i]) &&
            np_known(t, items[i]) == Py_Ellipsis;
  }
  if (trace_pending(t)) return false;
  if (dots > 1) return index_error(t, "an index can only have a single ellipsis ('...')");
  if (taken > a->type.rank) {
    trace_raise(t, PyExc_IndexError,
                "too many indices for array: array is %d-dimensional, but %d were indexed",
                a->type.rank, taken);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++)
    if (!index_item(t, a, p, items[i], a->type.rank - taken)) return false;
  p->all_ints &= p->axis == a->type.rank && p->rank == 0;
  while (p->axis < a->type.rank)
    index_whole(t, a, p);
  return true;
}

/* Is the slice the result already? A dimension that an integer took may come back as a new one. */
static bool index_same_layout(const np_array *slice, const index_plan *p) {
  if (p->rank != slice->type.rank) return false;
  for (int i = 0; i < p->rank; i++)
    if (p->dims[i] != p->sizes[i] || p->strides[i] != slice->strides[i]) return false;
  return true;
}

/* The view that a plan without arrays describes. */
static value *index_view(tracer *t, np_array *a, const index_plan *p) {
  value *v = np_view_slice(t, a, p->starts, p->sizes, p->steps);
  if (!v || index_same_layout(np_array_of(v), p)) return v;
  return np_view_reshape(t, np_array_of(v), p->rank, p->dims, p->strides);
}

/* One element, as a NumPy scalar; of an array that is known, a known one. */
static value *index_element(tracer *t, value *from, value *key, const index_plan *p) {
  np_array *a = np_array_of(from);
  PyObject *known = np_known(t, from), *item = known ? np_known(t, key) : NULL;
  if (item) return np_made(t, PyObject_GetItem(known, item));
  loom_value v = emit_slice(t, np_read(t, a), p->starts, p->sizes, p->steps);
  v = emit_reshape(t, v, 0, NULL);
  if (a->type.dtype == LOOM_BOOL) v = emit1(t, LOOM_OP_ABS, v); /* True, whatever its byte was */
  return np_result(t, v, NULL);
}

/* vector[indices] where a size is symbolic; NULL with nothing pending: it is something else, for
 * which sizes have to be known. */
static value *index_take(tracer *t, np_array *a, value *key) {
  np_array *index = np_array_of(key);
  if (a->type.rank != 1 || a->scalar || !index || index->type.rank == 0 ||
      !(np_is_symbolic(a) || np_is_symbolic(index)) || !loom_dtype_is_integer(index->type.dtype) ||
      index->type.dtype == LOOM_U64 || a->type.dims[0] == 0 || !np_is_c(t, index))
    return NULL;
  np_not_small(t, a);
  loom_attr attrs[2] = {attr_int(0), attr_str("raise")};
  loom_value in[2] = {np_read(t, a), emit_convert(t, np_read(t, index), LOOM_I64)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return NULL;
  return np_fresh(t, trace_node(t, LOOM_OP_GATHER, in, 2, attrs, 2, NULL), NULL);
}

static value *index_get(tracer *t, value *v, value *key) {
  np_array *a = np_array_of(v);
  index_plan p;
  if (a->scalar) {
    PyObject *known = np_known(t, key);
    if (known && PyTuple_CheckExact(known) && PyTuple_GET_SIZE(known) == 0)
      return np_scalar_again(t, v);
    if (known != Py_None && known != Py_Ellipsis) /* an error, but for a bool */
      return trace_pending(t) ? NULL : trace_break(t, BREAK_RAISES, "an index of a NumPy scalar");
  }
  value *taken = np_mask_get(t, v, key);
  if (!taken && !trace_pending(t)) taken = index_take(t, a, key);
  if (taken || trace_pending(t)) return taken;
  if (np_is_fancy(t, key)) return np_gate_late(t, v) ? np_fancy_get(t, v, key) : NULL;
  if (!index_plan_make(t, a, key, &p)) return NULL;
  if (p.all_ints) return index_element(t, v, key, &p);
  return index_view(t, a, &p);
}

/* ---- assignment ---- */

static bool index_same_memory(const np_array *a, const np_array *b) {
  if (a->storage != b->storage || a->offset != b->offset || !loom_type_equal(&a->type, &b->type))
    return false;
  return memcmp(a->strides, b->strides, sizeof(int64_t) * (size_t)a->type.rank) == 0;
}

/* The value of an assignment with the target's dtype and sizes; leading sizes of 1 are dropped, as
 * NumPy does. */
loom_value np_assign_value(tracer *t, const loom_type *target, const np_operand *o) {
  loom_value node = np_operand_load(t, o, target->dtype);
  if (node == LOOM_NO_VALUE) return node;
  loom_type type = *emit_type(t, node);
  char text[2][128];
  int drop = 0;
  while (type.rank - drop > target->rank && type.dims[drop] == 1)
    drop++;
  bool fits = type.rank - drop <= target->rank;
  for (int i = drop; fits && i < type.rank; i++) {
    int64_t want = target->dims[target->rank - type.rank + i];
    fits = type.dims[i] == 1 || size_same(t, type.dims[i], want) > 0;
  }
  if (trace_pending(t)) return LOOM_NO_VALUE;
  if (!fits) {
    trace_raise(t, PyExc_ValueError, "could not broadcast input array from shape %s into shape %s",
                np_shape_text(&type, text[0], 128), np_shape_text(target, text[1], 128));
    return LOOM_NO_VALUE;
  }
  node = emit_reshape(t, node, type.rank - drop, type.dims + drop);
  return emit_broadcast_to(t, node, target->rank, target->dims);
}

/* Does NumPy copy as if from another memory? Along one axis in one direction it goes element by
 * element, which shows where the two go through the same memory at different paces. */
bool np_copies_whole(tracer *t, const np_array *to, const np_array *from) {
  if (!from || from->storage != to->storage || to->type.rank != 1 || from->type.rank == 0)
    return true;
  int64_t stride = from->strides[from->type.rank - 1];
  if (stride == to->strides[0] || size_equal(t, stride, to->strides[0]) > 0) return true;
  if (size_less(t, stride, 0) != size_less(t, to->strides[0], 0)) return !trace_pending(t);
  if (!trace_pending(t))
    trace_break(t, BREAK_NUMPY_FUNCTION, "a copy within an array, by other strides");
  return false;
}

bool np_assign(tracer *t, np_array *a, value *item) {
  np_operand o;
  if (!np_operand_from(t, item, &o)) return false;
  if (o.array && a->writeable && index_same_memory(o.array, a))
    return true; /* a[i] += x assigns what is there already */
  if (!np_check_stored(t, &o, a->type.dtype) || !np_copies_whole(t, a, o.array)) return false;
  return np_write(t, a, np_assign_value(t, &a->type, &o));
}

/* An array that was known stays known when a known item of it is set. */
static bool index_set_known(tracer *t, np_array *a, PyObject *before, value *key, value *item) {
  PyObject *k = np_known(t, key), *i = k ? np_known(t, item) : NULL;
  if (trace_pending(t)) return false;
  if (!i || a->parent || !PyArray_CheckExact(before)) return true;
  PyObject *after = PyArray_NewCopy((PyArrayObject *)before, NPY_KEEPORDER);
  if (!after || PyObject_SetItem(trace_keep(t, after), k, i) < 0) {
    trace_raise_live(t);
    return false;
  }
  a->known = after;
  a->known_version = a->storage->version;
  return true;
}

/* array[mask] = one number, where a size is symbolic; *mine is false when it is something else. */
static bool index_set_mask(tracer *t, np_array *a, value *key, value *item, bool *mine) {
  np_array *mask = np_array_of(key);
  np_operand o;
  *mine = mask && mask->type.dtype == LOOM_BOOL && mask->type.rank == a->type.rank &&
          (np_is_symbolic(a) || np_is_symbolic(mask)) && !np_array_of(item);
  if (!*mine) return false;
  if (!np_operand_from(t, item, &o)) return false;
  *mine = !o.array;
  if (!*mine || !np_same_sizes(t, &mask->type, &a->type)) return false;
  loom_value v = np_operand_load(t, &o, a->type.dtype);
  v = emit_broadcast_to(t, v, a->type.rank, a->type.dims);
  return np_write(t, a, emit_select(t, np_read(t, mask), v, np_read(t, a)));
}

/* May the value be assigned to the place that a key names, whatever its sizes? A single element
 * takes no sequence, and a list may not be nested deeper than the `rank` of the place. False after
 * a break. */
bool np_takes_depth(tracer *t, value *item, int rank, bool element) {
  np_array *from = np_array_of(item);
  np_operand o;
  if (from ? !element || from->type.rank == 0 : value_is_number(item)) return true;
  if (!np_operand_from(t, item, &o)) return false;
  if (!o.array || o.array->type.rank <= (element ? 0 : rank)) return true;
  trace_break(t, BREAK_RAISES, "what has more dimensions than the place it is assigned to");
  return false;
}

static bool index_set(tracer *t, value *v, value *key, value *item) {
  np_array *a = np_array_of(v);
  index_plan p;
  if (!item) {
    trace_raise(t, PyExc_ValueError, "cannot delete array elements");
    return false;
  }
  if (a->scalar) {
    trace_raise(t, PyExc_TypeError, "'numpy.%s' object does not support item assignment",
                loom_dtype_name(a->type.dtype));
    return false;
  }
  bool mine;
  bool set = index_set_mask(t, a, key, item, &mine) || np_mask_set(t, v, key, item);
  if (set || trace_pending(t)) return set;
  if (np_is_fancy(t, key))
    return np_placed_same(v, key, item) || (np_gate_late(t, v) && np_fancy_set(t, v, key, item));
  if (trace_pending(t) || !index_plan_make(t, a, key, &p)) return false;
  if (!np_takes_depth(t, item, p.rank, p.all_ints && !p.rank)) return false;
  PyObject *known = np_known(t, v);
  value *view = index_view(t, a, &p);
  if (!view || !np_assign(t, np_array_of(view), item)) return false;
  return !known || index_set_known(t, a, known, key, item);
}

/* ---- what raises ---- */

static bool index_is_small(tracer *t, value *item) {
  int overflow = 0;
  PyObject *o = value_is_number(item) ? NULL : np_known(t, item);
  if (!o) return value_is_number(item);
  if (index_is_int(o) && PyLong_Check(o)) PyLong_AsLongLongAndOverflow(o, &overflow);
  return index_is_int(o) && !overflow;
}

/* Integers alone, of 64 bits. */
static bool index_is_all_small(tracer *t, value *key) {
  if (!value_is_tuple(key)) return index_is_small(t, key);
  for (Py_ssize_t i = 0; i < key->seq.count; i++)
    if (!index_is_small(t, key->seq.items[i])) return false;
  return true;
}

/* Where a key, or a key and a value, may be refused for several reasons, NumPy's order decides. */
static void index_judge(tracer *t, value *v, value *key, bool written) {
  if (t->state != TRACE_RAISING) return;
  value *raised = t->raised;
  t->state = TRACE_GOING; /* to look at the key */
  bool several = written || value_is_tuple(key) || value_is_whole(key);
  bool one = !several || index_is_all_small(t, key);
  if (written && (exception_class(raised) != PyExc_IndexError || !np_array_of(v)->writeable))
    one = false;
  if (trace_pending(t)) return;
  if (one)
    trace_raise_value(t, raised);
  else
    trace_break(t, BREAK_RAISES, "an index or an assignment that raises an exception");
}

value *np_get_item(tracer *t, value *v, value *key) {
  value *item = index_get(t, v, key);
  index_judge(t, v, key, false);
  return item;
}

bool np_set_item(tracer *t, value *v, value *key, value *item) {
  bool set = index_set(t, v, key, item);
  index_judge(t, v, key, true);
  return set;
}
