/* Making and converting arrays: zeros, arange, eye, array, astype and their like. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"

#include <math.h>
#include <string.h>

#define CREATE_KNOWN_BYTES 65536 /* larger aranges are not kept as known arrays */

/* The bits of 1 in a dtype. */
static uint64_t create_one(loom_dtype dtype) {
  loom_cell one = {.i = 1, .re = 1};
  return emit_bits(dtype, one);
}

static bool create_sizes(tracer *t, value *v, loom_dtype dtype, loom_type *out) {
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  if (!np_numbers_arg(t, v, &rank, dims) || !np_sizes_admit(t, rank, dims)) return false;
  *out = type_make(dtype, rank, dims);
  return true;
}

/* 'C' or 'F', which is all that a new array takes; 0 after a failure. */
static char create_order_arg(tracer *t, value *v) {
  char order = np_order_arg(t, v, 'C');
  if (!order || order == 'C' || order == 'F') return order;
  trace_break(t, BREAK_RAISES, "an order that is neither C nor F");
  return 0;
}

static value *create_filled(tracer *t, const loom_type *type, char order, uint64_t bits) {
  int64_t strides[LOOM_MAX_RANK];
  if (order == 'F')
    np_f_strides(t, type, strides);
  else
    np_c_strides(t, type, strides);
  return np_fresh(t, emit_constant(t, type, bits), strides);
}

static value *create_call(tracer *t, const np_call *c, bool ones) {
  value *p[5];
  loom_dtype dtype = LOOM_F64;
  loom_type type;
  char order;
  if (!np_parse(t, c, "shape | dtype order device like", p)) return NULL;
  if (!np_is_none(t, p[3]) || !np_is_none(t, p[4])) return np_unsupported(t, c, "device= or like=");
  if ((!np_is_none(t, p[1]) && !np_dtype_arg(t, p[1], &dtype)) ||
      !(order = create_order_arg(t, p[2])) || !create_sizes(t, p[0], dtype, &type))
    return NULL;
  return create_filled(t, &type, order, ones ? create_one(dtype) : 0);
}

/* The content of np.empty is anyone's choice: zeros. */
value *np_zeros(tracer *t, const np_call *c) { return create_call(t, c, false); }
value *np_ones(tracer *t, const np_call *c) { return create_call(t, c, true); }

static value *create_like(tracer *t, const np_call *c, value *const *p,
                          uint64_t (*bits)(loom_dtype)) {
  if (!np_is_none(t, p[5])) return np_unsupported(t, c, "device=");
  if (!np_subok_arg(t, p[3])) return NULL;
  np_array *a = np_as_array(t, p[0]);
  char order = a ? np_order_arg(t, p[2], 'K') : 0;
  int64_t strides[LOOM_MAX_RANK];
  loom_type type;
  if (!order) return NULL;
  type = a->type;
  if (!np_is_none(t, p[1]) && !np_dtype_arg(t, p[1], &type.dtype)) return NULL;
  if (!np_is_none(t, p[4])) {
    if (!create_sizes(t, p[4], type.dtype, &type)) return NULL;
    if (order == 'A') order = np_is_f(t, a) && !np_is_c(t, a) ? 'F' : 'C';
    if (order == 'K' && type.rank != a->type.rank) order = 'C';
    if (order != 'K') return create_filled(t, &type, order, bits ? bits(type.dtype) : 0);
  }
  np_layout_copy(t, a, &type, order, strides);
  return np_fresh(t, emit_constant(t, &type, bits ? bits(type.dtype) : 0), strides);
}

value *np_zeros_like(tracer *t, const np_call *c) {
  value *p[6];
  return np_parse(t, c, "a | dtype order subok shape device", p) ? create_like(t, c, p, NULL)
                                                                 : NULL;
}

value *np_ones_like(tracer *t, const np_call *c) {
  value *p[6];
  return np_parse(t, c, "a | dtype order subok shape device", p) ? create_like(t, c, p, create_one)
                                                                 : NULL;
}

value *np_full_like(tracer *t, const np_call *c) {
  value *p[7];
  if (!np_parse(t, c, "a fill_value | dtype order subok shape device", p)) return NULL;
  value *like[6] = {p[0], p[2], p[3], p[4], p[5], p[6]};
  value *v = create_like(t, c, like, NULL);
  np_operand fill;
  if (!v || !np_operand_from(t, p[1], &fill)) return NULL;
  if (!np_takes_number(t, &fill, np_array_of(v)->type.dtype, NPY_UNSAFE_CASTING))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of such a number");
  return v && np_assign(t, np_array_of(v), p[1]) ? v : NULL;
}

value *np_full(tracer *t, const np_call *c) {
  value *p[6];
  loom_type type;
  if (!np_parse(t, c, "shape fill_value | dtype order device like", p)) return NULL;
  if (!np_is_none(t, p[4]) || !np_is_none(t, p[5])) return np_unsupported(t, c, "device= or like=");
  np_operand fill;
  if (!np_operand_from(t, p[1], &fill)) return NULL;
  loom_dtype dtype = fill.array                     ? fill.array->type.dtype
                     : fill.weak == &PyFloat_Type   ? LOOM_F64
                     : fill.weak == &PyComplex_Type ? LOOM_C128
                                                    : LOOM_I64;
  char order = create_order_arg(t, p[3]);
  if (!order || (!np_is_none(t, p[2]) && !np_dtype_arg(t, p[2], &dtype)) ||
      !create_sizes(t, p[0], dtype, &type))
    return NULL;
  if (!np_takes_number(t, &fill, dtype, NPY_UNSAFE_CASTING))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of such a number");
  value *v = create_filled(t, &type, order, 0);
  return v && np_assign(t, np_array_of(v), p[1]) ? v : NULL;
}

value *np_eye(tracer *t, const np_call *c) {
  value *p[7];
  int64_t dims[2], k = 0;
  loom_dtype dtype = LOOM_F64;
  bool square = strcmp(c->name, "identity") == 0;
  if (!np_parse(t, c, square ? "n | dtype like" : "N | M k dtype order device like", p))
    return NULL;
  value *typed = square ? p[1] : p[3];
  if (!square && (!np_is_none(t, p[5]) || !np_is_none(t, p[6])))
    return np_unsupported(t, c, "device= or like=");
  if (!np_number_arg(t, p[0], &dims[0])) return NULL;
  dims[1] = dims[0];
  if (!square && ((!np_is_none(t, p[1]) && !np_number_arg(t, p[1], &dims[1])) ||
                  (p[2] && !np_int_arg(t, p[2], &k))))
    return NULL;
  if (!np_sizes_admit(t, 2, dims)) return NULL;
  char order = square ? 'C' : create_order_arg(t, p[4]);
  if (!order || (!np_is_none(t, typed) && !np_dtype_arg(t, typed, &dtype))) return NULL;
  loom_type type = type_make(dtype, 2, dims), index = type_make(LOOM_I64, 2, dims);
  loom_value row = emit2(t, LOOM_OP_ADD, emit_iota(t, &index, 0), emit_float(t, &index, (double)k));
  loom_value on = emit_compare(t, "eq", row, emit_iota(t, &index, 1));
  loom_value v =
      emit_select(t, on, emit_constant(t, &type, create_one(dtype)), emit_constant(t, &type, 0));
  int64_t strides[2];
  if (order == 'F')
    np_f_strides(t, &type, strides);
  else
    np_c_strides(t, &type, strides);
  return np_fresh(t, v, strides);
}

/* ---- arange ---- */

/* start + i * step, as NumPy fills: the step of floats is the difference of the first two elements.
 */
static loom_value arange_nodes(tracer *t, const loom_type *type, double start, double step,
                               int64_t first, int64_t delta) {
  if (loom_dtype_is_complex(type->dtype)) {
    loom_type part = *type;
    part.dtype = type->dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
    return emit_convert(t, arange_nodes(t, &part, start, step, first, delta), type->dtype);
  }
  if (loom_dtype_is_float(type->dtype)) {
    loom_type work = *type;
    if (work.dtype == LOOM_F16) work.dtype = LOOM_F32;
    double base = loom_cell_round(type->dtype, (loom_cell){.re = start}).re;
    double second = loom_cell_round(type->dtype, (loom_cell){.re = start + step}).re;
    double by = loom_cell_round(work.dtype, (loom_cell){.re = second - base}).re;
    loom_value i = emit_iota(t, &work, 0);
    i = emit2(t, LOOM_OP_MUL, i, emit_float(t, &work, by));
    return emit_convert(t, emit2(t, LOOM_OP_ADD, emit_float(t, &work, base), i), type->dtype);
  }
  loom_value i = emit_iota(t, type, 0);
  uint64_t mask =
      loom_dtype_size(type->dtype) == 8 ? ~0ull : (1ull << (8 * loom_dtype_size(type->dtype))) - 1;
  if (delta != 1) i = emit2(t, LOOM_OP_MUL, i, emit_constant(t, type, (uint64_t)delta & mask));
  return first ? emit2(t, LOOM_OP_ADD, i, emit_constant(t, type, (uint64_t)first & mask)) : i;
}

static bool arange_is_symbolic(value *const *three) {
  for (int i = 0; i < 3; i++)
    if (three[i] && value_is_number(three[i])) return true;
  return false;
}

/* How many elements: as Python computes ceil((stop - start) / step). NULL after a failure. */
static value *arange_length(tracer *t, const np_call *c, value *const *three) {
  static PyObject *ceiling;
  if (!ceiling) {
    PyObject *math = PyImport_ImportModule("math");
    ceiling = math ? PyObject_GetAttrString(math, "ceil") : NULL;
    Py_XDECREF(math);
    if (!ceiling) return trace_raise_live(t);
  }
  value *length = trace_binary(t, 10 /* - */, three[1], three[0], false);
  if (length) length = trace_binary(t, 11 /* / */, length, three[2], false);
  if (!length || value_is_const(length)) return trace_pending(t) ? NULL : np_unsupported(t, c, "");
  value *whole = formula_call(t, ceiling, &length, 1);
  return whole || trace_pending(t) ? whole : np_unsupported(t, c, "of floats that are not known");
}

/* Of floats, or ints as floats, some symbolic: float64. */
static value *arange_floats(tracer *t, const np_call *c, value *const *given) {
  value *three[3];
  loom_value in[3], i;
  int64_t length, n;
  for (int k = 0; k < 3; k++) {
    three[k] = np_is_none(t, given[k]) ? np_int(t, k == 2) : given[k];
    if (!three[k]) return NULL;
    bool number = value_is_number(three[k]) || value_is_whole(three[k]) ||
                  (value_is_const(three[k]) && PyFloat_CheckExact(three[k]->object));
    if (!number) return np_unsupported(t, c, "with bounds that are not known");
  }
  value *count = arange_length(t, c, three);
  if (!count || !value_size_of(t, count, &length)) return NULL;
  int empty = size_less(t, length, 1);
  if (empty < 0 || !size_admit(t, empty ? 0 : length, &n)) return NULL;
  for (int k = 0; k < 3; k++) {
    value *as_float = number_to_float(t, three[k]);
    if (!as_float) return trace_pending(t) ? NULL : np_unsupported(t, c, "of these numbers");
    in[k] = as_float->number.node;
  }
  loom_type type = type_make(LOOM_F64, 1, &n);
  loom_value by = emit2(t, LOOM_OP_SUB, emit2(t, LOOM_OP_ADD, in[0], in[2]), in[0]);
  i = emit2(t, LOOM_OP_MUL, emit_iota(t, &type, 0), emit_broadcast_to(t, by, 1, &n));
  return np_fresh(t, emit2(t, LOOM_OP_ADD, emit_broadcast_to(t, in[0], 1, &n), i), NULL);
}

static bool arange_is_whole(tracer *t, value *const *three) {
  for (int i = 0; i < 3; i++)
    if (!np_is_none(t, three[i]) && !value_is_whole(three[i])) return false;
  return true;
}

/* Of ints, at least one of which is symbolic. */
static value *arange_symbolic(tracer *t, const np_call *c, value *const *three, loom_dtype dtype) {
  int64_t start = 0, stop, step = 1, length, n;
  if (dtype == LOOM_BOOL) return np_unsupported(t, c, "of bool");
  if ((!np_is_none(t, three[0]) && !np_number_arg(t, three[0], &start)) ||
      !np_number_arg(t, three[1], &stop) ||
      (!np_is_none(t, three[2]) && !np_int_arg(t, three[2], &step)))
    return NULL;
  if (step == 0) return trace_raise(t, PyExc_ZeroDivisionError, "division by zero");
  if (LOOM_STRIDE_IS_SYM(start) && loom_dtype_is_float(dtype)) return size_know(t, start), NULL;
  if (step < 0 ? !size_minus(t, start, stop, &length) : !size_minus(t, stop, start, &length))
    return NULL;
  int empty = size_less(t, length, 1);
  if (empty < 0) return NULL;
  n = llabs(step);
  if (empty)
    length = 0;
  else if (!size_op(t, LOOM_EXPR_FLOORDIV, np_plus(t, length, n - 1), n, &length))
    return NULL;
  if (!size_admit(t, length, &n)) return NULL;
  loom_type type = type_make(dtype, 1, &n);
  bool known = !LOOM_STRIDE_IS_SYM(start);
  loom_value v =
      arange_nodes(t, &type, known ? (double)start : 0, (double)step, known ? start : 0, step);
  if (!known) {
    loom_value first = emit_convert(t, size_node(t, start), dtype);
    v = emit2(t, LOOM_OP_ADD, v, emit_broadcast_to(t, first, 1, &n));
  }
  return np_fresh(t, v, NULL);
}

value *np_arange(tracer *t, const np_call *c) {
  value *p[6];
  double ends[3] = {0, 0, 1};
  int64_t ints[3] = {0, 0, 1};
  bool whole = true, done;
  loom_dtype dtype = LOOM_I64;
  if (!np_parse(t, c, "start | stop step dtype device like", p)) return NULL;
  if (!np_is_none(t, p[4]) || !np_is_none(t, p[5])) return np_unsupported(t, c, "device= or like=");
  value *three[3] = {p[1] ? p[0] : NULL, p[1] ? p[1] : p[0], p[2]};
  if (p[1] && np_is_none(t, p[1])) three[0] = NULL, three[1] = p[0];
  if (!np_is_none(t, p[3]) && !np_dtype_arg(t, p[3], &dtype)) return NULL;
  if (arange_is_symbolic(three) && !arange_is_whole(t, three) && np_is_none(t, p[3]))
    return arange_floats(t, c, three);
  if (arange_is_symbolic(three)) return arange_symbolic(t, c, three, dtype);
  for (int i = 0; i < 3; i++) {
    if (np_is_none(t, three[i])) continue;
    PyObject *o = np_known(t, three[i]);
    if (!o || !(PyLong_Check(o) || PyFloat_Check(o) || PyArray_IsScalar(o, Number)))
      return trace_pending(t) ? NULL : np_unsupported(t, c, "with bounds that are not known");
    bool integer = PyLong_Check(o) || PyArray_IsScalar(o, Integer);
    whole &= integer;
    ends[i] = PyFloat_AsDouble(o);
    if (integer && !np_int_arg(t, three[i], &ints[i])) return NULL;
    if (PyErr_Occurred()) return trace_raise_live(t);
  }
  if (!np_is_none(t, p[3])) {
    if (!np_dtype_arg(t, p[3], &dtype)) return NULL;
  } else if (!whole) {
    dtype = LOOM_F64;
  }
  double length = ends[2] != 0 ? ceil((ends[1] - ends[0]) / ends[2]) : 0;
  size_t size = loom_dtype_size(dtype);
  bool small = !(length > 0) || length * (double)size <= CREATE_KNOWN_BYTES;
  value *known = small ? np_fold(t, c->callee, c->args, c->count, c->kwnames, &done) : NULL;
  if (small && (trace_pending(t) || !done)) return known;
  if (small && (np_elements(&np_array_of(known)->type) < 2 || dtype == LOOM_BOOL)) return known;
  if ((!whole && loom_dtype_is_integer(dtype)) || !(length < 9e15))
    return known ? known : np_unsupported(t, c, "of floats as integers");
  int64_t n = known ? np_array_of(known)->type.dims[0] : (int64_t)length;
  loom_type type = type_make(dtype, 1, &n);
  value *v = np_fresh(t, arange_nodes(t, &type, ends[0], ends[2], ints[0], ints[2]), NULL);
  if (v && known) np_array_of(v)->known = np_array_of(known)->known;
  return v;
}

/* ---- array, astype ---- */

static bool create_has_order(tracer *t, const np_array *a, char order) {
  return order == 'C' ? np_is_c(t, a) : order == 'F' ? np_is_f(t, a) : true;
}

value *np_to_array(tracer *t, value *v, bool typed, loom_dtype dtype, bool copy, char order) {
  np_operand o;
  if (!np_operand_from(t, v, &o)) return NULL;
  np_array *a = o.array ? o.array : np_as_array(t, v);
  if (!a) return NULL;
  if (!typed) dtype = a->type.dtype;
  if (!np_is_array(v) && !np_check_stored(t, &o, dtype)) return NULL;
  if (!np_is_array(v) && dtype == a->type.dtype && !a->scalar && create_has_order(t, a, order))
    return a->storage->root;
  if (a->scalar || a->type.rank == 0) {
    if (np_is_array(v) && !a->scalar && !copy && dtype == a->type.dtype) return v;
    return np_fresh(t, emit_convert(t, np_read(t, a), dtype), NULL);
  }
  if (!copy && dtype == a->type.dtype && create_has_order(t, a, order)) return v;
  if (order == 'A' && dtype != a->type.dtype) order = 'K'; /* PyArray_FromArray knows no 'A' */
  return np_copy(t, a, dtype, order);
}

/* copy=False, unlike copy=None: the library refuses to make an array of its own. */
static bool create_must_not_copy(tracer *t, value *copy) {
  return copy && !np_is_none(t, copy) && np_known(t, copy) &&
         PyObject_IsTrue(np_known(t, copy)) == 0;
}

static value *create_array(tracer *t, const np_call *c, value *object, value *type,
                           value *order_arg, bool copy, char order) {
  loom_dtype dtype = LOOM_F64;
  bool typed = !np_is_none(t, type), done;
  /* NumPy makes no copy of what `__array__` gives: an array that shares memory, or does not. */
  if (np_is_flat(object)) return np_unsupported(t, c, "of a.flat");
  if (!np_is_array(object) && c->callee && !np_are_symbolic(t, &object, 1)) {
    value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
    if (done || trace_pending(t)) return v;
  }
  if ((typed && !np_dtype_arg(t, type, &dtype)) || !(order = np_order_arg(t, order_arg, order)))
    return NULL;
  return np_to_array(t, object, typed, dtype, copy, order);
}

/* copy=; None: where there is no other way. */
static bool create_copy_arg(tracer *t, value *v, bool missing, bool *out) {
  *out = v ? false : missing;
  return np_is_none(t, v) || np_bool_arg(t, v, missing, out);
}

/* np.array(object, dtype, *, copy, order, subok, ndmin, like) */
value *np_array_call(tracer *t, const np_call *c) {
  value *p[7];
  bool copy;
  int64_t ndmin = 0;
  if (!np_parse(t, c, "object | dtype copy order subok ndmin like", p)) return NULL;
  if (!np_is_none(t, p[6])) return np_unsupported(t, c, "like=");
  if (!np_subok_arg(t, p[4]) || !create_copy_arg(t, p[2], true, &copy) ||
      (p[5] && !np_int_arg(t, p[5], &ndmin)))
    return NULL;
  value *v = create_array(t, c, p[0], p[1], p[3], copy, 'K');
  if (v && v != p[0] && create_must_not_copy(t, p[2])) return np_unsupported(t, c, "copy=False");
  if (!v || !np_array_of(v) || ndmin <= np_array_of(v)->type.rank) return v;
  np_array *a = np_array_of(v);
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  if (ndmin > LOOM_MAX_RANK) return np_unsupported(t, c, "ndmin=");
  int more = (int)ndmin - a->type.rank;
  char order = np_order_arg(t, p[3], 'K');
  bool item = a->type.rank == 0 || order == 'F' || (np_is_f(t, a) && !np_is_c(t, a));
  int64_t size = (int64_t)loom_dtype_size(a->type.dtype);
  int64_t step = item ? size : np_times(t, a->strides[0], np_dim(a->type.dims[0]));
  for (int i = 0; i < ndmin; i++) {
    dims[i] = i < more ? 1 : a->type.dims[i - more];
    strides[i] = i < more ? step : a->strides[i - more]; /* NumPy's _prepend_ones */
  }
  return np_view_reshape(t, a, (int)ndmin, dims, strides);
}

value *np_asarray(tracer *t, const np_call *c) {
  value *p[6];
  bool copy;
  if (!np_parse(t, c, "a | dtype order device copy like", p)) return NULL;
  if (!np_is_none(t, p[3]) || !np_is_none(t, p[5])) return np_unsupported(t, c, "device= or like=");
  if (!create_copy_arg(t, p[4], false, &copy)) return NULL;
  value *v = create_array(t, c, p[0], p[1], p[2], copy, 'K');
  if (v && v != p[0] && create_must_not_copy(t, p[4])) return np_unsupported(t, c, "copy=False");
  return v;
}

/* In an order, with one dimension at least. */
static value *create_contiguous(tracer *t, const np_call *c, char order) {
  value *p[3];
  if (!np_parse(t, c, "a | dtype like", p)) return NULL;
  if (!np_is_none(t, p[2])) return np_unsupported(t, c, "like=");
  value *v = create_array(t, c, p[0], p[1], NULL, false, order);
  if (!v || np_array_of(v)->type.rank > 0) return v;
  return np_view_reshape(t, np_array_of(v), 1, (int64_t[]){1},
                         (int64_t[]){(int64_t)loom_dtype_size(np_array_of(v)->type.dtype)});
}

value *np_ascontiguousarray(tracer *t, const np_call *c) { return create_contiguous(t, c, 'C'); }
value *np_asfortranarray(tracer *t, const np_call *c) { return create_contiguous(t, c, 'F'); }

value *np_copy_call(tracer *t, const np_call *c) {
  value *p[3] = {NULL};
  bool plain = c->method && strcmp(c->name, "__copy__") != 0;
  const char *names = plain ? "a | order" : c->method ? "a |" : "a | order subok";
  if (!np_parse(t, c, names, p) || !np_subok_arg(t, p[2])) return NULL;
  if (!plain && c->method && np_is_array(p[0]) && np_array_of(p[0])->scalar) return p[0];
  char order = np_order_arg(t, p[1], plain ? 'C' : 'K');
  np_array *a = order ? np_as_array(t, p[0]) : NULL;
  if (!a) return NULL;
  if (!c->method && a->scalar) return np_fresh(t, np_read(t, a), NULL);
  return np_copy(t, a, a->type.dtype, order);
}

bool np_casting_arg(tracer *t, value *v, NPY_CASTING missing, NPY_CASTING *out) {
  *out = missing;
  if (!v) return true;
  PyObject *o = np_known(t, v);
  if (o && PyArray_CastingConverter(o, out)) return true;
  if (o) error_drop(); /* "same_value" is a rule of astype alone */
  if (!trace_pending(t)) trace_break(t, BREAK_NUMPY_FUNCTION, "a casting rule that is not known");
  return false;
}

bool np_check_cast(tracer *t, loom_dtype from, loom_dtype to, NPY_CASTING casting) {
  static const char *const names[] = {"no", "equiv", "safe", "same_kind", "unsafe"};
  if (np_can_cast(from, to, casting)) return true;
  trace_raise(t, PyExc_TypeError,
              "Cannot cast array data from dtype('%s') to dtype('%s') according to the rule '%s'",
              loom_dtype_name(from), loom_dtype_name(to),
              names[casting <= NPY_UNSAFE_CASTING ? casting : 4]);
  return false;
}

value *np_astype(tracer *t, const np_call *c) {
  value *p[6];
  loom_dtype dtype;
  bool copy;
  NPY_CASTING casting;
  if (!np_parse(t, c, c->method ? "a dtype | order casting subok copy" : "a dtype | copy device",
                p))
    return NULL;
  if (!c->method && !np_is_array(p[0])) return trace_not_implemented(t);
  if (!c->method && !np_is_none(t, p[3])) return np_unsupported(t, c, "device=");
  if (!c->method) p[5] = p[2], p[2] = p[3] = p[4] = NULL;
  char order = np_order_arg(t, p[2], 'K');
  np_array *a = order ? np_as_array(t, p[0]) : NULL;
  if (!a || !np_dtype_arg(t, p[1], &dtype) || !np_bool_arg(t, p[5], true, &copy) ||
      !np_subok_arg(t, p[4]) || !np_casting_arg(t, p[3], NPY_UNSAFE_CASTING, &casting) ||
      !np_check_cast(t, a->type.dtype, dtype, casting))
    return NULL;
  if (!copy && dtype == a->type.dtype && create_has_order(t, a, order)) return p[0];
  return np_copy(t, a, dtype, order);
}

value *np_conj(tracer *t, const np_call *c) {
  if (c->count != 1 || c->kwnames) return np_unsupported(t, c, "with arguments");
  bool is_complex = loom_dtype_is_complex(np_array_of(c->args[0])->type.dtype);
  return is_complex ? np_ufunc_apply(t, "conjugate", c->args, 1, NULL) : c->args[0];
}
