/* Indexing with arrays.
 *
 * Reading: the slices, None and Ellipsis of the key give a view V; the axes of V that arrays index
 * are brought to the front and taken as one, which the arrays' elements, made one number each,
 * gather from. An index out of bounds makes the kernel report it, and the plain function raises.
 * Where the result's dimensions stand, how they lie in memory, and whether the result is a view,
 * is asked of NumPy with arrays of at most two elements along each axis. Where sizes are symbolic
 * they are asked for with this call's strides, whose order is guarded.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/fancy_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_logic.h"

#include <stdlib.h>
#include <string.h>

/* ---- the key -------------------------------------------------------------------------------- */

/* A Python int that is computed from data. */
static bool fancy_is_int(tracer *t, value *v) {
  return !number_is_size(v) && value_type_of(t, v) == (PyObject *)&PyLong_Type;
}

static bool fancy_is_array(tracer *t, value *item) {
  if (value_is_number(item)) return fancy_is_int(t, item);
  if (np_is_array(item)) {
    PyObject *known = np_known(t, item);
    return !known || !PyArray_IsScalar(known, Integer);
  }
  if (value_is_list(item) || value_is_range_iterator(item)) return true;
  PyObject *known = value_is_const(item) ? np_known(t, item) : NULL;
  return known && (PyList_CheckExact(known) || PyBool_Check(known) || PyRange_Check(known));
}

bool np_is_fancy(tracer *t, value *key) {
  if (!value_is_tuple(key)) return fancy_is_array(t, key);
  value *tuple = trace_to_tuple(t, key);
  for (Py_ssize_t i = 0; tuple && i < tuple->seq.count; i++)
    if (fancy_is_array(t, tuple->seq.items[i])) return true;
  return false;
}

static bool fancy_add(tracer *t, fancy_key *k, fancy_item item) {
  if (k->count >= 2 * LOOM_MAX_RANK) {
    trace_break(t, BREAK_LIMIT, "an index of many items");
    return false;
  }
  k->arrays += item.kind == FANCY_ARRAY || item.kind == FANCY_MASK;
  k->items[k->count++] = item;
  return true;
}

/* A mask that is known is the indices of its elements, as NumPy takes it. */
static bool fancy_add_mask(tracer *t, fancy_key *k, value *item, np_array *mask) {
  bool known = mask->known && mask->known_version == mask->storage->version;
  if (!known || mask->type.rank == 0 || !PyArray_CheckExact(mask->known))
    return fancy_add(t, k, (fancy_item){.kind = FANCY_MASK, .from = item, .index = mask});
  PyObject *all = PyArray_Nonzero((PyArrayObject *)mask->known);
  value *tuple = np_made(t, all);
  for (Py_ssize_t i = 0; tuple && i < tuple->seq.count; i++) {
    value *one = tuple->seq.items[i];
    fancy_item array = {.kind = FANCY_ARRAY,
                        .from = one,
                        .index = np_array_of(one),
                        .masked = true,
                        .extent = mask->type.dims[i]};
    if (!fancy_add(t, k, array)) return false;
  }
  return tuple != NULL;
}

static bool fancy_add_array(tracer *t, fancy_key *k, value *item) {
  np_array *index;
  bool computed = np_is_array(item) || value_has_data(item) || np_are_symbolic(t, &item, 1);
  PyObject *known = computed ? NULL : np_known(t, item);
  if (known && PyList_CheckExact(known) && PyList_GET_SIZE(known) == 0) {
    npy_intp none[1] = {0}; /* NumPy takes it for an array of integers */
    item = np_made(t, PyArray_SimpleNew(1, none, NPY_INTP));
    if (!item) return false;
  }
  if (!(index = np_as_array(t, item))) return false;
  index->scalar |= value_is_number(item);
  if (index->type.dtype == LOOM_BOOL) return fancy_add_mask(t, k, item, index);
  if (!loom_dtype_is_integer(index->type.dtype)) {
    trace_break(t, BREAK_RAISES, "an index of %s", loom_dtype_name(index->type.dtype));
    return false;
  }
  if (index->scalar && index->type.dtype == LOOM_U64) {
    trace_break(t, BREAK_RAISES, "a uint64 as index, which may be too large for one");
    return false;
  }
  return fancy_add(t, k, (fancy_item){.kind = FANCY_ARRAY, .from = item, .index = index});
}

static bool fancy_add_item(tracer *t, fancy_key *k, value *item) {
  if (fancy_is_array(t, item)) return fancy_add_array(t, k, item);
  fancy_item number = {.kind = FANCY_INT, .from = item};
  if (value_is_whole(item))
    return np_number_arg(t, item, &number.number) && fancy_add(t, k, number);
  if (value_is_slice(item)) return fancy_add(t, k, (fancy_item){.kind = FANCY_BASIC, .from = item});
  PyObject *o = np_known(t, item);
  if (trace_pending(t)) return false;
  if (o == Py_Ellipsis) return fancy_add(t, k, (fancy_item){.kind = FANCY_DOTS, .from = item});
  if (o == Py_None || (o && PySlice_Check(o)))
    return fancy_add(t, k, (fancy_item){.kind = FANCY_BASIC, .from = item});
  if (!o || PyBool_Check(o) || !(PyLong_Check(o) || PyArray_IsScalar(o, Integer))) {
    trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
    return false;
  }
  return np_int_arg(t, item, &number.number) && fancy_add(t, k, number);
}

bool fancy_parse(tracer *t, value *key, fancy_key *k) {
  *k = (fancy_key){.tuple = value_is_tuple(key)};
  if (!k->tuple) return fancy_add_item(t, k, key);
  value *tuple = trace_to_tuple(t, key);
  if (!tuple) return false;
  for (Py_ssize_t i = 0; i < tuple->seq.count; i++)
    if (!fancy_add_item(t, k, tuple->seq.items[i])) return false;
  return true;
}

/* A mask whose content is not known is the indices of its elements as well: as many as the plan
 * finds. */
static bool fancy_expand_masks(tracer *t, fancy_key *k) {
  fancy_key all = {.tuple = k->tuple};
  for (int i = 0; i < k->count; i++) {
    const fancy_item *item = &k->items[i];
    if (item->kind != FANCY_MASK) {
      if (!fancy_add(t, &all, *item)) return false;
      continue;
    }
    np_call c = {.name = "nonzero", .args = &item->from, .count = 1};
    if (item->index->type.rank == 0)
      return np_unsupported(t, &c, "of a mask without dimensions") != NULL;
    value *tuple = np_nonzero(t, &c);
    for (int d = 0; tuple && d < item->index->type.rank; d++) {
      value *one = tuple->seq.items[d];
      fancy_item index = {.kind = FANCY_ARRAY,
                          .from = one,
                          .index = np_array_of(one),
                          .masked = true,
                          .extent = item->index->type.dims[d]};
      if (!fancy_add(t, &all, index)) return false;
    }
    if (!tuple) return false;
    all.tuple |= item->index->type.rank > 1;
  }
  *k = all;
  return true;
}

/* ---- reading: the view and its indexed axes ------------------------------------------------- */

/* The key with everything that is not basic replaced by a whole slice, applied. */
static np_array *fancy_view(tracer *t, value *v, fancy_key *k) {
  value *items[2 * LOOM_MAX_RANK];
  PyObject *whole = trace_keep(t, PySlice_New(NULL, NULL, NULL));
  for (int i = 0; i < k->count; i++) {
    bool basic = k->items[i].kind == FANCY_BASIC || k->items[i].kind == FANCY_DOTS;
    items[i] = basic ? k->items[i].from : value_const(t, whole);
    if (!items[i]) return NULL;
  }
  value *key = value_tuple(t, items, k->count);
  return key ? np_array_of(np_get_item(t, v, key)) : NULL;
}

/* Which axes of V the indices stand at. */
static bool fancy_axes(tracer *t, fancy_key *k, fancy_read *r) {
  int taken = 0, axis = 0;
  for (int i = 0; i < k->count; i++)
    taken += k->items[i].kind != FANCY_DOTS;
  for (int i = 0; i < k->count; i++) {
    fancy_item *item = &k->items[i];
    if (item->kind == FANCY_DOTS) {
      axis += r->from->type.rank - taken;
    } else if (item->kind == FANCY_BASIC) {
      axis++;
    } else if (r->count < LOOM_MAX_RANK) {
      r->axes[r->count] = axis++;
      r->index[r->count++] = item;
    }
  }
  for (int i = 0; i < r->count; i++) {
    int64_t n = np_dim(r->from->type.dims[r->axes[i]]), number = r->index[i]->number;
    if (r->index[i]->masked &&
        size_same(t, r->index[i]->extent, r->from->type.dims[r->axes[i]]) <= 0) {
      trace_break(t, BREAK_RAISES, "a mask of other sizes than the array");
      return false;
    }
    if (r->index[i]->kind != FANCY_INT) continue;
    if (size_less(t, number, np_times(t, n, -1)) == 0 && size_less(t, number, n) > 0) continue;
    size_know(t, number); /* which the message tells */
    size_know(t, n);
    if (trace_pending(t)) return false;
    trace_raise(t, PyExc_IndexError, "index %lld is out of bounds for axis %d with size %lld",
                (long long)size_hint(t, number), r->axes[i], (long long)size_hint(t, n));
    return false;
  }
  return true;
}

static bool fancy_broadcast(tracer *t, fancy_read *r) {
  for (int i = 0; i < r->count; i++)
    if (r->index[i]->index && r->index[i]->index->type.rank > r->rank)
      r->rank = r->index[i]->index->type.rank;
  for (int d = 0; d < r->rank; d++)
    r->dims[d] = 1;
  for (int i = 0; i < r->count; i++) {
    if (!r->index[i]->index) continue;
    const loom_type *type = &r->index[i]->index->type;
    for (int d = 0; d < type->rank; d++) {
      int64_t *out = &r->dims[r->rank - type->rank + d];
      if (*out == 1) *out = type->dims[d];
      if (type->dims[d] == *out || type->dims[d] == 1) continue;
      bool late = LOOM_DIM_IS_SYM(type->dims[d]) || LOOM_DIM_IS_SYM(*out);
      if (late && (size_same(t, type->dims[d], *out) > 0 || trace_pending(t))) {
        if (trace_pending(t)) return false;
        continue;
      }
      trace_break(t, BREAK_RAISES, "arrays of indices whose sizes do not fit together");
      return false;
    }
  }
  return true;
}

/* An array without dimensions is an integer, which has to be within its axis even where empty
 * arrays beside it take nothing. */
static bool fancy_looks_at_all(tracer *t, const fancy_read *r) {
  bool empty = false, integer = false;
  for (int d = 0; d < r->rank; d++)
    empty |= r->dims[d] == 0;
  for (int i = 0; i < r->count; i++)
    integer |= r->index[i]->index && r->index[i]->index->type.rank == 0;
  if (!empty || !integer) return true;
  trace_break(t, BREAK_RAISES, "an index without dimensions beside empty ones");
  return false;
}

bool fancy_open(tracer *t, value *v, fancy_key *k, fancy_read *r) {
  *r = (fancy_read){0};
  if (!(r->from = fancy_view(t, v, k)) || !fancy_axes(t, k, r) || !fancy_broadcast(t, r) ||
      !fancy_looks_at_all(t, r))
    return false;
  if (r->from->type.rank - r->count + r->rank <= LOOM_MAX_RANK) return true;
  trace_break(t, BREAK_LIMIT, "more than %d dimensions", LOOM_MAX_RANK);
  return false;
}

/* ---- reading: what NumPy does with small arrays --------------------------------------------- */

/* Smaller strides of the same order, signs and zeros: each further one steps over what the ones
 * before it reach with two elements. */
static void fancy_small_strides(const np_array *a, npy_intp size, npy_intp *out) {
  int order[LOOM_MAX_RANK], n = a->type.rank;
  for (int i = 0; i < n; i++) {
    int at = i;
    for (; at > 0 && llabs(a->strides[order[at - 1]]) > llabs(a->strides[i]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  npy_intp next = size;
  int64_t last = 0;
  for (int i = 0; i < n; i++) {
    int64_t stride = llabs(a->strides[order[i]]);
    if (stride != last && last != 0) next *= 2;
    npy_intp small = stride ? next : 0;
    out[order[i]] = a->strides[order[i]] < 0 ? -small : small;
    last = stride;
  }
}

/* A stand-in for `a` when NumPy is asked for a layout: an array of zeros with at most two elements
 * along each axis. A new reference. */
static PyObject *fancy_small(tracer *t, const np_array *a) {
  npy_intp dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK] = {0};
  npy_intp size = (npy_intp)loom_dtype_size(a->type.dtype), below = 0, above = size;
  np_array now = np_layout_now(t, a);
  fancy_small_strides(&now, size, strides);
  for (int i = 0; i < a->type.rank; i++) {
    bool less = !LOOM_DIM_IS_SYM(a->type.dims[i]) && a->type.dims[i] < 2;
    dims[i] = less ? a->type.dims[i] : 2;
    if (dims[i] == 2) *(strides[i] < 0 ? &below : &above) += strides[i];
  }
  npy_intp total = above - below;
  PyObject *block = PyArray_ZEROS(1, &total, NPY_BYTE, 0);
  if (!block) return NULL;
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, np_descr(a->type.dtype), a->type.rank, dims,
                                         strides, PyArray_BYTES((PyArrayObject *)block) - below,
                                         NPY_ARRAY_WRITEABLE, NULL);
  if (!array || PyArray_SetBaseObject((PyArrayObject *)array, block) < 0) {
    Py_XDECREF(array);
    return NULL;
  }
  if (!a->scalar) return array;
  PyObject *scalar = PyArray_ToScalar(PyArray_DATA((PyArrayObject *)array), (PyArrayObject *)array);
  Py_DECREF(array);
  return scalar;
}

/* The key for the small V: a new reference. */
static PyObject *fancy_small_key(tracer *t, const fancy_key *k) {
  PyObject *key = PyTuple_New(k->count);
  for (int i = 0; key && i < k->count; i++) {
    const fancy_item *item = &k->items[i];
    PyObject *o = item->kind == FANCY_DOTS    ? Py_NewRef(Py_Ellipsis)
                  : item->kind == FANCY_BASIC ? PySlice_New(NULL, NULL, NULL)
                  : item->kind == FANCY_INT   ? PyLong_FromLong(0)
                                              : fancy_small(t, item->index);
    if (!o) Py_CLEAR(key);
    if (key) PyTuple_SET_ITEM(key, i, o);
  }
  if (!key || k->tuple) return key;
  PyObject *one = Py_NewRef(PyTuple_GET_ITEM(key, 0));
  Py_DECREF(key);
  return one;
}

/* What NumPy gives for the small arrays. */
typedef struct fancy_result {
  bool scalar, view; /* view: of an array with the indices' dimensions first */
  bool placed;       /* a view of V itself, whose place is data */
  int rank;
  int64_t strides[LOOM_MAX_RANK]; /* of the array that owns the memory, for two elements an axis */
  int64_t shown[LOOM_MAX_RANK];   /* of the result itself */
} fancy_result;

/* Is the result one of V's axes that no index takes, in some order, each with memory of its own? */
static bool fancy_is_placed(const fancy_read *r, PyArrayObject *a) {
  for (int i = 0; i < PyArray_NDIM(a); i++)
    if (PyArray_DIM(a, i) > 1 && PyArray_STRIDE(a, i) == 0) return false;
  return PyArray_NDIM(a) == r->from->type.rank - r->count;
}

/* Raises what NumPy raised for the small arrays. Their indices are all 0: where that alone is out
 * of bounds, the message tells another index. */
static void fancy_raise(tracer *t, const fancy_read *r) {
  for (int i = 0; i < r->count; i++)
    if (r->from->type.dims[r->axes[i]] == 0) {
      error_drop();
      trace_break(t, BREAK_RAISES, "indexing nothing with an array");
      return;
    }
  trace_raise_live(t);
}

static bool fancy_ask(tracer *t, const fancy_key *k, const fancy_read *r, fancy_result *out) {
  PyObject *from = fancy_small(t, r->from), *key = from ? fancy_small_key(t, k) : NULL;
  PyObject *result = key ? PyObject_GetItem(from, key) : NULL;
  bool good = result != NULL, shared = false;
  *out = (fancy_result){.scalar = good && !PyArray_CheckExact(result)};
  if (good && !out->scalar) {
    PyArrayObject *a = (PyArrayObject *)result, *own = a;
    while (PyArray_BASE(own) && PyArray_CheckExact(PyArray_BASE(own)))
      own = (PyArrayObject *)PyArray_BASE(own);
    out->view = own != a;
    out->rank = PyArray_NDIM(a);
    shared = PyArray_BASE((PyArrayObject *)from) == (PyObject *)own ||
             PyArray_NDIM(own) != PyArray_NDIM(a);
    out->placed = shared && r->rank == 0 && fancy_is_placed(r, a);
    for (int i = 0; i < out->rank && (!shared || out->placed); i++) {
      out->strides[i] = out->placed ? llabs(PyArray_STRIDES(a)[i]) : PyArray_STRIDES(own)[i];
      out->shown[i] = PyArray_STRIDES(a)[i];
    }
    shared &= !out->placed;
  }
  Py_XDECREF(result);
  Py_XDECREF(key);
  Py_XDECREF(from);
  if (!good) fancy_raise(t, r);
  if (shared) trace_break(t, BREAK_DATA_DEPENDENT, "a view whose place depends on array data");
  return good && !shared;
}

/* ---- reading: the nodes --------------------------------------------------------------------- */

/* A number everywhere. */
static loom_value fancy_number(tracer *t, const loom_type *type, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return emit_constant(t, type, (uint64_t)number);
  return emit_broadcast_to(t, size_node(t, number), type->rank, type->dims);
}

/* An index as elements of int64 with all the dimensions, not negative; *bad gathers what is out of
 * bounds. */
static loom_value fancy_offset(tracer *t, const fancy_read *r, int i, loom_value *bad) {
  int64_t n = np_dim(r->from->type.dims[r->axes[i]]), number = r->index[i]->number;
  loom_type type = type_make(LOOM_I64, r->rank, r->dims);
  if (!r->index[i]->index)
    return fancy_number(t, &type, size_less(t, number, 0) > 0 ? np_plus(t, number, n) : number);
  loom_value v = emit_convert(t, np_read(t, r->index[i]->index), LOOM_I64);
  v = emit_broadcast_to(t, v, r->rank, r->dims);
  loom_value size = fancy_number(t, &type, n), zero = emit_constant(t, &type, 0);
  loom_value wrapped = emit2(t, LOOM_OP_ADD, v, size);
  v = emit_select(t, emit_compare(t, "lt", v, zero), wrapped, v);
  loom_value outside =
      emit2(t, LOOM_OP_OR, emit_compare(t, "lt", v, zero), emit_compare(t, "ge", v, size));
  *bad = *bad == LOOM_NO_VALUE ? outside : emit2(t, LOOM_OP_OR, *bad, outside);
  return v;
}

/* Indices along several axes as one along the axes taken together. */
loom_value fancy_linear(tracer *t, const fancy_read *r) {
  loom_type type = type_make(LOOM_I64, r->rank, r->dims);
  loom_value bad = LOOM_NO_VALUE, sum = LOOM_NO_VALUE;
  if (r->count == 1) return emit_convert(t, np_read(t, r->index[0]->index), LOOM_I64);
  for (int i = 0; i < r->count; i++) {
    loom_value n = fancy_number(t, &type, np_dim(r->from->type.dims[r->axes[i]]));
    loom_value v = fancy_offset(t, r, i, &bad);
    if (v == LOOM_NO_VALUE) return v;
    sum = i == 0 ? v : emit2(t, LOOM_OP_ADD, emit2(t, LOOM_OP_MUL, sum, n), v);
  }
  if (bad == LOOM_NO_VALUE) return sum;
  return emit_select(t, bad, emit_constant(t, &type, (uint64_t)INT64_MAX), sum);
}

loom_value fancy_front(tracer *t, const fancy_read *r, int64_t *perm) {
  int64_t dims[LOOM_MAX_RANK], all = 1;
  bool indexed[LOOM_MAX_RANK] = {false};
  int n = 0, rank = 1;
  for (int i = 0; i < r->count; i++) {
    indexed[r->axes[i]] = true;
    perm[n++] = r->axes[i];
    all = np_times(t, all, np_dim(r->from->type.dims[r->axes[i]]));
  }
  if (!size_admit(t, all, &dims[0])) return LOOM_NO_VALUE;
  for (int d = 0; d < r->from->type.rank; d++)
    if (!indexed[d]) dims[rank++] = r->from->type.dims[perm[n++] = d];
  bool nothing = false; /* no kernel would run, and so none look at the indices */
  for (int i = 0; i < rank; i++)
    nothing |= dims[i] == 0;
  if (nothing) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "indexing nothing with an array");
    return LOOM_NO_VALUE;
  }
  return emit_reshape(t, emit_transpose(t, np_read(t, r->from), perm), rank, dims);
}

/* The elements with the dimensions of the indices first, those of the other axes after them. */
static loom_value fancy_gather(tracer *t, const fancy_read *r) {
  int64_t perm[LOOM_MAX_RANK];
  loom_value v = fancy_front(t, r, perm);
  loom_attr attrs[2] = {attr_int(0), attr_str("raise")};
  loom_value in[2] = {v, v == LOOM_NO_VALUE ? v : fancy_linear(t, r)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return trace_node(t, LOOM_OP_GATHER, in, 2, attrs, 2, NULL);
}

/* Where the indices' dimensions stand in the result: NumPy puts them first when something stands
 * between two of them. */
int fancy_place(const fancy_key *k, const fancy_read *r) {
  int status = -1; /* none seen; 0: in a row of them; 1: past it */
  for (int i = 0; i < k->count; i++) {
    bool index = k->items[i].kind == FANCY_ARRAY || k->items[i].kind == FANCY_INT;
    if (index && status == 1) return 0;
    if (index) status = 0;
    if (!index && status == 0) status = 1;
  }
  return r->axes[0];
}

/* Does axis `a` lie within axis `b`? One of one element has the stride of the next one that has
 * more, and steps over what lies within it. */
static bool fancy_is_inner(const fancy_result *like, const loom_type *type, int a, int b) {
  if (like->strides[a] != like->strides[b]) return like->strides[a] < like->strides[b];
  return type->dims[a] == 1 && type->dims[b] != 1;
}

/* Real strides with the order of the small ones, without gaps. */
static void fancy_strides(tracer *t, const fancy_result *like, const loom_type *type,
                          int64_t *out) {
  int order[LOOM_MAX_RANK];
  int64_t next = (int64_t)loom_dtype_size(type->dtype);
  np_c_strides(t, type, out);
  if (np_elements(type) == 0) return;
  for (int i = 0; i < type->rank; i++) {
    int at = i;
    for (; at > 0 && fancy_is_inner(like, type, order[at - 1], i); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  for (int i = type->rank; i-- > 0;) {
    out[order[i]] = next;
    next = np_times(t, next, np_dim(type->dims[order[i]]));
  }
}

static value *fancy_make(tracer *t, const fancy_key *k, const fancy_read *r, loom_value node,
                         const fancy_result *like) {
  int64_t strides[LOOM_MAX_RANK], back[LOOM_MAX_RANK];
  loom_type type = *emit_type(t, node);
  int place = fancy_place(k, r), n = r->rank;
  if (like->scalar) return np_result(t, emit_reshape(t, node, 0, NULL), NULL);
  for (int i = 0; i < type.rank; i++)
    back[i] = i < place ? n + i : i < place + n ? i - place : i;
  for (int i = 0; i < type.rank; i++)
    if (type.dims[back[i]] != 0 && type.dims[back[i]] != 1 &&
        like->shown[i] != like->strides[like->view ? back[i] : i])
      return trace_break(t, BREAK_NUMPY_FUNCTION, "indexing with arrays in this order");
  fancy_strides(t, like, &type, strides);
  if (!like->view && place == 0) return np_fresh(t, node, strides);
  if (!like->view) {
    loom_type turned = type;
    for (int i = 0; i < type.rank; i++)
      turned.dims[i] = type.dims[back[i]];
    fancy_strides(t, like, &turned, strides);
    return np_fresh(t, emit_transpose(t, node, back), strides);
  }
  value *own = np_fresh(t, node, strides);
  return own ? np_view_transpose(t, np_array_of(own), back) : NULL;
}

/* A view whose place is data. */
static value *fancy_make_placed(tracer *t, value *v, value *key, const fancy_read *r,
                                loom_value node, const fancy_result *like) {
  int64_t strides[LOOM_MAX_RANK];
  if (node == LOOM_NO_VALUE) return NULL;
  fancy_strides(t, like, emit_type(t, node), strides);
  value *made = np_placed_new(t, v, key, node, strides);
  if (!made) {
    if (!trace_pending(t))
      trace_break(t, BREAK_DATA_DEPENDENT, "a view whose place depends on array data");
    return NULL;
  }
  np_array_of(made)->writeable = r->from->writeable;
  np_array_of(made)->warns_on_write = r->from->warns_on_write;
  return made;
}

value *np_fancy_get(tracer *t, value *v, value *key) {
  fancy_key k;
  fancy_read r = {0};
  fancy_result like;
  PyObject *known = np_known(t, v), *live = known ? np_known(t, key) : NULL;
  if (live) return np_made(t, PyObject_GetItem(known, live));
  if (!fancy_parse(t, key, &k)) return NULL;
  if (!fancy_expand_masks(t, &k)) return NULL;
  if (!fancy_open(t, v, &k, &r)) return NULL;
  if (!fancy_ask(t, &k, &r, &like)) return NULL;
  loom_value node = fancy_gather(t, &r);
  if (like.placed && !(np_gate_values(t, &v, 1) && np_gate_key(t, key))) return NULL;
  if (like.placed) return fancy_make_placed(t, v, key, &r, node, &like);
  return node == LOOM_NO_VALUE ? NULL : fancy_make(t, &k, &r, node, &like);
}
