/* Assignment through arrays of indices: a scatter, whose updates are applied in the order of the
 * indices; through a boolean mask with a value that does not depend on how many elements the mask
 * takes, a select; through other masks a host call. */
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
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"

#include <string.h>

/* array[mask] = value as a select, where the value has none of the mask's dimensions. *done is
 * false where it has. */
static bool fancy_select(tracer *t, np_array *a, np_array *mask, value *item, bool *done) {
  np_operand o;
  int rest = a->type.rank - mask->type.rank;
  *done = false;
  if (!np_operand_from(t, item, &o) || rest < 0) return !trace_pending(t);
  loom_type value_type = o.array ? o.array->type : (loom_type){0};
  bool one = np_elements(&value_type) == 1;
  if (rest == 0 && value_type.rank > 1) {
    trace_break(t, BREAK_RAISES, "an array of several dimensions for what a mask takes");
    return false;
  }
  if (!one && value_type.rank > rest) return true;
  for (int i = 0; i < mask->type.rank; i++)
    if (mask->type.dims[i] != a->type.dims[i]) return true;
  for (int i = 0; i < value_type.rank && !one; i++) {
    int64_t n = value_type.dims[i];
    if (n != 1 && n != a->type.dims[a->type.rank - value_type.rank + i]) return true;
  }
  int64_t dims[LOOM_MAX_RANK];
  for (int i = 0; i < a->type.rank; i++)
    dims[i] = i < mask->type.rank ? mask->type.dims[i] : 1;
  loom_value v = np_operand_load(t, &o, a->type.dtype);
  if (one) v = emit_reshape(t, v, 0, NULL);
  v = emit_broadcast_to(t, v, a->type.rank, a->type.dims);
  loom_value where = emit_reshape(t, np_read(t, mask), a->type.rank, dims);
  where = emit_broadcast_to(t, where, a->type.rank, a->type.dims);
  *done = true;
  return np_write(t, a, emit_select(t, where, v, np_read(t, a)));
}

/* Elements that are written twice get NumPy's last value when its order is that of C: the plan
 * hands over all arrays in C order. */
static bool fancy_in_order(tracer *t, const fancy_key *k, const np_operand *o) {
  for (int i = 0; i < k->count; i++) {
    const np_array *index = k->items[i].kind == FANCY_ARRAY ? k->items[i].index : NULL;
    int64_t n = index ? np_elements(&index->type) : 0;
    bool row = index && index->type.rank == 1 && !LOOM_STRIDE_IS_SYM(index->strides[0]) &&
               index->strides[0] > 0;
    if (index && !row && !np_is_c(t, index) && n != 0 && n != 1) return false;
  }
  return !o->array || np_is_c(t, o->array) || np_elements(&o->array->type) == 1;
}

/* setitem(array, key, value): a copy of the array with the item set. */
static PyObject *fancy_set_function(void) {
  static PyObject *function;
  if (function) return function;
  PyObject *globals = PyDict_New();
  PyObject *code = globals ? PyRun_String("def setitem(array, key, value):\n"
                                          "    array = array.copy()\n"
                                          "    array[key] = value\n"
                                          "    return array\n",
                                          Py_file_input, globals, globals)
                           : NULL;
  function = code ? Py_XNewRef(PyDict_GetItemString(globals, "setitem")) : NULL;
  Py_XDECREF(code);
  Py_XDECREF(globals);
  return function;
}

static PyObject *fancy_host_item(tracer *t, np_host_call *h, const fancy_item *item) {
  if (item->kind == FANCY_ARRAY || item->kind == FANCY_MASK) return np_host_hole(t, h, item->index);
  return Py_XNewRef(np_known(t, item->from));
}

static PyObject *fancy_host_key(tracer *t, np_host_call *h, const fancy_key *k) {
  PyObject *key = PyTuple_New(k->count);
  for (int i = 0; key && i < k->count; i++) {
    PyObject *o = fancy_host_item(t, h, &k->items[i]);
    if (!o) Py_CLEAR(key);
    if (key) PyTuple_SET_ITEM(key, i, o);
  }
  if (!key || k->tuple || k->count != 1) return key;
  PyObject *one = Py_NewRef(PyTuple_GET_ITEM(key, 0));
  Py_DECREF(key);
  return one;
}

static bool fancy_host_set(tracer *t, np_array *a, const fancy_key *k, const np_operand *o) {
  np_host_call h;
  np_array *number = NULL;
  if (!o->array) {
    number = np_array_of(np_fresh(t, np_operand_load(t, o, a->type.dtype), NULL));
    if (!number) return false;
  }
  bool good = np_host_init(&h);
  PyObject *array = good ? np_host_hole(t, &h, a) : NULL;
  PyObject *key = array ? fancy_host_key(t, &h, k) : NULL;
  PyObject *item = key ? np_host_hole(t, &h, o->array ? o->array : number) : NULL;
  PyObject *args = item ? PyTuple_Pack(3, array, key, item) : NULL;
  loom_value v = args ? np_host_emit(t, &h, fancy_set_function(), args, &a->type) : LOOM_NO_VALUE;
  Py_XDECREF(array);
  Py_XDECREF(key);
  Py_XDECREF(item);
  Py_XDECREF(args);
  np_host_fini(&h);
  if (PyErr_Occurred()) trace_raise_live(t);
  if (v == LOOM_NO_VALUE && !trace_pending(t))
    trace_break(t, BREAK_NUMPY_FUNCTION, "assignment through such arrays of indices");
  return v != LOOM_NO_VALUE && np_write(t, a, v);
}

/* The value with the sizes of what the key takes, its dimensions as in V brought to the front. */
static loom_value fancy_updates(tracer *t, const fancy_key *k, const fancy_read *r,
                                const np_operand *o) {
  int place = fancy_place(k, r), n = r->rank, rest = 0;
  bool indexed[LOOM_MAX_RANK] = {false};
  int64_t others[LOOM_MAX_RANK] = {0}, perm[LOOM_MAX_RANK];
  for (int i = 0; i < r->count; i++)
    indexed[r->axes[i]] = true;
  for (int d = 0; d < r->from->type.rank; d++)
    if (!indexed[d]) others[rest++] = r->from->type.dims[d];
  loom_type target = {.dtype = r->from->type.dtype, .rank = n + rest};
  for (int i = 0; i < n + rest; i++) {
    bool index = i >= place && i < place + n;
    target.dims[i] = index ? r->dims[i - place] : others[i < place ? i : i - n];
  }
  for (int i = 0; i < n + rest; i++)
    perm[i] = i < n ? place + i : i - n < place ? i - n : i;
  return emit_transpose(t, np_assign_value(t, &target, o), perm);
}

/* `combine` is "set" or how updates come to what is there: "add", "mul", "min", "max"; those of
 * "sub" are negated and added. */
static bool fancy_scatter(tracer *t, value *v, fancy_key *k, const np_operand *o,
                          const char *combine) {
  fancy_read r;
  int64_t perm[LOOM_MAX_RANK], inverse[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  if (!fancy_open(t, v, k, &r)) return false;
  loom_value in[3] = {fancy_front(t, &r, perm), LOOM_NO_VALUE, LOOM_NO_VALUE};
  if (in[0] != LOOM_NO_VALUE) in[1] = fancy_linear(t, &r);
  if (in[1] != LOOM_NO_VALUE) in[2] = fancy_updates(t, k, &r, o);
  if (in[2] == LOOM_NO_VALUE) return false;
  bool negated = strcmp(combine, "sub") == 0;
  if (negated) in[2] = emit1(t, LOOM_OP_NEG, in[2]);
  loom_attr attrs[2] = {attr_int(0), attr_str(negated ? "add" : combine)};
  loom_value out = trace_node(t, LOOM_OP_SCATTER, in, 3, attrs, 2, NULL);
  if (out == LOOM_NO_VALUE) return false;
  for (int i = 0; i < r.from->type.rank; i++) {
    dims[i] = r.from->type.dims[perm[i]];
    inverse[perm[i]] = i;
  }
  out = emit_transpose(t, emit_reshape(t, out, r.from->type.rank, dims), inverse);
  return np_write(t, r.from, out);
}

static bool fancy_has_mask(const fancy_key *k) {
  for (int i = 0; i < k->count; i++)
    if (k->items[i].kind == FANCY_MASK) return true;
  return false;
}

/* array[mask] = vector where a size is symbolic. */
bool np_mask_set(tracer *t, value *v, value *key, value *item) {
  np_array *a = np_array_of(v), *mask = np_array_of(key), *from = np_array_of(item);
  fancy_key k;
  np_operand o;
  if (!mask || mask->type.dtype != LOOM_BOOL || mask->type.rank == 0 || a->scalar || !from ||
      mask->type.rank != a->type.rank || from->type.rank != 1 || trace_pending(t) ||
      !(np_is_symbolic(a) || np_is_symbolic(mask) || np_is_symbolic(from)))
    return false;
  if (!np_operand_from(t, item, &o) || !np_check_stored(t, &o, a->type.dtype) ||
      !np_same_sizes(t, &mask->type, &a->type))
    return false;
  return fancy_parse(t, key, &k) && fancy_host_set(t, a, &k, &o);
}

/* The rules for integers hold where all arrays of the key are without dimensions. */
static bool fancy_takes_depth(tracer *t, const np_array *a, const fancy_key *k, value *item) {
  int rank = a->type.rank;
  bool element = true;
  for (int i = 0; i < k->count; i++) {
    const fancy_item *one = &k->items[i];
    bool integer = one->kind == FANCY_INT || one->kind == FANCY_ARRAY;
    if (one->kind == FANCY_MASK || (one->kind == FANCY_ARRAY && one->index->type.rank > 0))
      return true;
    rank += integer ? -1 : one->kind == FANCY_BASIC && np_known(t, one->from) == Py_None;
    element &= integer;
  }
  return np_takes_depth(t, item, rank, element && rank == 0);
}

/* A mask for all axes, as which nothing of more than one axis may be assigned. */
static bool fancy_is_one_mask(const np_array *a, const fancy_key *k) {
  bool masks = k->count > 0;
  int rank = 0;
  for (int i = 0; i < k->count; i++) {
    const fancy_item *one = &k->items[i];
    masks &= one->kind == FANCY_MASK || (one->kind == FANCY_ARRAY && one->masked);
    rank += one->kind == FANCY_MASK ? one->index->type.rank : 1;
  }
  return masks && rank == a->type.rank;
}

bool np_fancy_set(tracer *t, value *v, value *key, value *item) {
  np_array *a = np_array_of(v);
  fancy_key k;
  np_operand o;
  bool done = false;
  if (!np_operand_from(t, item, &o) || !np_check_stored(t, &o, a->type.dtype)) return false;
  np_array *mask = np_array_of(key);
  if (mask && mask->type.dtype == LOOM_BOOL && mask->type.rank > 0) {
    bool good = fancy_select(t, a, mask, item, &done);
    if (!good || done) return good;
  }
  if (!fancy_parse(t, key, &k) || !fancy_takes_depth(t, a, &k, item)) return false;
  if (np_elements(&a->type) == 0 || (o.array && np_elements(&o.array->type) == 0))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "assignment of nothing through arrays") != NULL;
  if (o.array && o.array->type.rank > 1 && fancy_is_one_mask(a, &k))
    return trace_break(t, BREAK_RAISES, "a mask and a value of many axes") != NULL;
  if (!fancy_in_order(t, &k, &o)) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "assignment through arrays that are not in C order");
    return false;
  }
  return fancy_has_mask(&k) ? fancy_host_set(t, a, &k, &o) : fancy_scatter(t, v, &k, &o, "set");
}

/* ---- ufunc.at ---- */

static bool fancy_is_index(const value *v) {
  const np_array *a = np_array_of(v);
  return a && a->type.rank > 0 && loom_dtype_is_integer(a->type.dtype);
}

/* An array of ints, or a tuple of such arrays, all of one shape: the sizes of that in `out`. */
static bool fancy_index_sizes(tracer *t, value *key, loom_type *out, int *count) {
  *count = 1;
  if (fancy_is_index(key)) return *out = np_array_of(key)->type, true;
  value *tuple = value_is_tuple(key) ? trace_to_tuple(t, key) : NULL;
  if (!tuple || !tuple->seq.count) return false;
  for (Py_ssize_t i = 0; i < tuple->seq.count; i++) {
    if (!fancy_is_index(tuple->seq.items[i])) return false;
    loom_type own = np_array_of(tuple->seq.items[i])->type;
    own.dtype = LOOM_I64;
    if (i && !loom_type_equal(&own, out)) return false;
    *out = own;
  }
  *count = (int)tuple->seq.count;
  return true;
}

/* Does the loop of an array's own dtype give what the library's does, for which a number is an
 * int64 or float64 and no weak one? Its result is converted back: that of a small number is the
 * same. */
static bool fancy_fits_loop(const np_array *a, const np_operand *o) {
  loom_dtype dtype = a->type.dtype;
  if (o->array) return np_can_cast(o->dtype, dtype, NPY_SAFE_CASTING);
  if (!o->number) return false;
  if (PyFloat_CheckExact(o->number)) {
    double number = PyFloat_AS_DOUBLE(o->number);
    return dtype == LOOM_F64 || (dtype == LOOM_F32 && (float)number == number);
  }
  if (!PyLong_CheckExact(o->number) || dtype == LOOM_U64) return false;
  int huge;
  long number = PyLong_AsLongAndOverflow(o->number, &huge);
  return !huge && number >= 0 && number <= 127;
}

/* Has the value at most the dimensions of what `count` indices of these sizes take, each of them 1
 * or as there? */
static bool fancy_fits_sizes(const np_array *a, const loom_type *index, int count,
                             const loom_type *value) {
  loom_type target = *index;
  if (count > a->type.rank || index->rank + a->type.rank - count > LOOM_MAX_RANK) return false;
  for (int d = count; d < a->type.rank; d++)
    target.dims[target.rank++] = a->type.dims[d];
  for (int i = 1; i <= value->rank; i++)
    if (i > target.rank || (value->dims[value->rank - i] != 1 &&
                            value->dims[value->rank - i] != target.dims[target.rank - i]))
      return false;
  return true;
}

bool np_fancy_combine(tracer *t, value *v, value *key, value *item, const char *combine,
                      bool *done) {
  np_array *a = np_array_of(v);
  loom_type index = {0}, number = {0};
  fancy_key k;
  np_operand o;
  int count;
  loom_dtype dtype = a->type.dtype;
  bool numbers = loom_dtype_is_integer(dtype) || dtype == LOOM_F32 || dtype == LOOM_F64;
  /* Which of two zeros, or of two NaNs, stays is NumPy's choice. */
  bool extreme = strcmp(combine, "min") == 0 || strcmp(combine, "max") == 0;
  if (extreme) numbers = loom_dtype_is_integer(dtype);
  *done = false;
  if (!numbers || !fancy_index_sizes(t, key, &index, &count) || np_elements(&index) == 0)
    return !trace_pending(t);
  if (!np_operand_from(t, item, &o)) return false;
  if (!fancy_fits_loop(a, &o) ||
      !fancy_fits_sizes(a, &index, count, o.array ? &o.array->type : &number) ||
      (o.array && np_elements(&o.array->type) == 0))
    return true;
  if (!fancy_parse(t, key, &k)) return false;
  if (!fancy_in_order(t, &k, &o)) return true;
  *done = true;
  return fancy_scatter(t, v, &k, &o, combine);
}
