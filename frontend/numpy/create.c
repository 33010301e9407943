/* Making, converting and choosing: zeros, arange, eye, array, astype, copyto, where, clip, take and
 * their like. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/call.h"
#include "frontend/numpy/host_call.h"
#include "frontend/numpy/index.h"
#include "frontend/numpy/size.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "graph/ops.h"

#include <math.h>
#include <string.h>

#define CREATE_KNOWN_BYTES 65536 /* larger aranges are not kept as known arrays */

/* The bits of 1 in a dtype. */
static uint64_t create_one(loom_dtype dtype) {
  loom_cell one = {.i = 1, .re = 1};
  return emit_bits(dtype, one);
}

static bool create_takes_number(tracer *t, const np_operand *o, loom_dtype dtype,
                                NPY_CASTING casting);

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
  if (!create_takes_number(t, &fill, np_array_of(v)->type.dtype, NPY_UNSAFE_CASTING))
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
  if (!create_takes_number(t, &fill, dtype, NPY_UNSAFE_CASTING))
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

value *np_fill(tracer *t, const np_call *c) {
  value *p[2];
  if (!np_parse(t, c, "a value", p)) return NULL;
  np_array *item = np_array_of(p[1]);
  PyObject *known = item ? NULL : np_known(t, p[1]);
  if (trace_pending(t)) return NULL;
  if (known && PySequence_Check(known) && !PyUnicode_Check(known) && !PyBytes_Check(known))
    return np_unsupported(t, c, "with a sequence");
  if (item ? item->type.rank > 0 : !value_is_number(p[1]) && !value_is_const(p[1]))
    return np_unsupported(t, c, "with something other than a number");
  if (!np_array_of(p[0])->writeable)
    return trace_break(t, BREAK_RAISES, "fill of a read-only array");
  return np_assign(t, np_array_of(p[0]), p[1]) ? value_const(t, Py_None) : NULL;
}

value *np_conj(tracer *t, const np_call *c) {
  if (c->count != 1 || c->kwnames) return np_unsupported(t, c, "with arguments");
  bool is_complex = loom_dtype_is_complex(np_array_of(c->args[0])->type.dtype);
  return is_complex ? np_ufunc_apply(t, "conjugate", c->args, 1, NULL) : c->args[0];
}

/* May np.copyto give this Python number to an array of `dtype`? It makes a bool of an int by way of
 * a C long. */
static bool create_takes_number(tracer *t, const np_operand *o, loom_dtype dtype,
                                NPY_CASTING casting) {
  int64_t number;
  if (!o->weak) return true;
  bool is_int = o->weak == &PyLong_Type, is_float = o->weak == &PyFloat_Type;
  bool inexact =
      loom_dtype_is_complex(dtype) || (loom_dtype_is_float(dtype) && o->weak != &PyComplex_Type);
  if (casting != NPY_UNSAFE_CASTING && casting != NPY_SAME_KIND_CASTING) return false;
  if (is_int && dtype == LOOM_BOOL)
    return casting == NPY_UNSAFE_CASTING &&
           (o->number ? value_known_int(t, o->from, &number) : true);
  if (casting == NPY_UNSAFE_CASTING) return true;
  return is_int || (is_float && inexact) || loom_dtype_is_complex(dtype);
}

/* np.copyto(dst, src, casting='same_kind', where=True) */
value *np_copyto(tracer *t, const np_call *c) {
  value *p[4];
  NPY_CASTING casting;
  np_operand mask, src;
  if (!np_parse(t, c, "dst src | casting where", p)) return NULL;
  np_array *dst = np_array_of(p[0]);
  if (!dst || dst->scalar) return np_unsupported(t, c, "to something other than an array");
  if (!np_casting_arg(t, p[2], NPY_SAME_KIND_CASTING, &casting) || !np_operand_from(t, p[1], &src))
    return NULL;
  if (src.array && !np_check_cast(t, src.array->type.dtype, dst->type.dtype, casting)) return NULL;
  if (!create_takes_number(t, &src, dst->type.dtype, casting))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of such a number");
  if (!p[3] || (!np_is_array(p[3]) && np_known(t, p[3]) == Py_True))
    return np_assign(t, dst, p[1]) ? value_const(t, Py_None) : NULL;
  if (trace_pending(t) || !np_operand_from(t, p[3], &mask)) return NULL;
  if (mask.array && mask.array->type.dtype != LOOM_BOOL)
    return np_unsupported(t, c, "a mask that is not bool");
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  np_operand all[3] = {{.array = dst}, src, mask};
  if (!np_copies_whole(t, dst, src.array) || !np_broadcast(t, all, 3, &rank, dims)) return NULL;
  loom_type want = type_make(dst->type.dtype, rank, dims);
  if (!np_same_sizes(t, &want, &dst->type)) return np_unsupported(t, c, "of larger arrays");
  loom_value m = emit_broadcast_to(t, np_operand_load(t, &mask, LOOM_BOOL), rank, dims);
  loom_value s = emit_broadcast_to(t, np_operand_load(t, &src, dst->type.dtype), rank, dims);
  return np_write(t, dst, emit_select(t, m, s, np_read(t, dst))) ? value_const(t, Py_None) : NULL;
}

/* ---- choosing ---- */

value *np_where(tracer *t, const np_call *c) {
  value *p[3];
  np_operand o[3];
  int rank;
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  loom_dtype dtype;
  if (!np_parse(t, c, "condition | x y /", p)) return NULL;
  if (!p[1] && !p[2]) {
    np_call one = *c;
    one.count = 1;
    return np_nonzero(t, &one);
  }
  if (!p[1] || !p[2]) return np_unsupported(t, c, "with x or y only");
  for (int i = 0; i < 3; i++)
    if (!np_operand_from(t, p[i], &o[i])) return NULL;
  if (!np_broadcast(t, o, 3, &rank, dims) || !np_result_type(t, o + 1, 2, &dtype)) return NULL;
  loom_value v[3];
  for (int i = 0; i < 3; i++)
    v[i] = emit_broadcast_to(t, np_operand_load(t, &o[i], i ? dtype : LOOM_BOOL), rank, dims);
  loom_value r = emit_select(t, v[0], v[1], v[2]);
  if (r == LOOM_NO_VALUE) return NULL;
  np_array *arrays[3] = {o[0].array, o[1].array, o[2].array};
  np_layout_elementwise(t, arrays, 3, emit_type(t, r), 'K', true,
                        strides); /* always its iterator */
  return np_fresh(t, r, strides);
}

/* One number for all elements of a result? What is an array of the one element that there is, is
 * not taken for a number. */
static bool clip_is_number(const np_operand *bound, bool single) {
  const np_array *a = bound->array;
  if (single && a && a->type.rank) return false;
  for (int d = 0; a && d < a->type.rank; d++)
    if (a->type.dims[d] != 1 && a->strides[d] != 0) return false;
  return true;
}

/* Of numbers NumPy takes a bound only where an element is beyond it, so that of two zeros the
 * element stays; a bound that is NaN is all there is. */
static loom_value clip_to_numbers(tracer *t, loom_value v, loom_value low, loom_value high) {
  v = emit_select(t, emit_compare(t, "lt", v, low), low, v);
  v = emit_select(t, emit_compare(t, "gt", v, high), high, v);
  loom_value no_low = emit1(t, LOOM_OP_IS_NAN, low), no_high = emit1(t, LOOM_OP_IS_NAN, high);
  return emit_select(t, no_low, low, emit_select(t, no_high, high, v));
}

/* Of bools NumPy compares the bytes, whatever they hold. */
static loom_value clip_bytes(tracer *t, const loom_value *v) {
  loom_value bytes[3];
  for (int i = 0; i < 3; i++)
    bytes[i] = emit_bitcast(t, v[i], LOOM_U8);
  loom_value r = emit2(t, LOOM_OP_MIN, emit2(t, LOOM_OP_MAX, bytes[0], bytes[1]), bytes[2]);
  return emit_bitcast(t, r, LOOM_BOOL);
}

/* np.clip: minimum(maximum(a, low), high), with the dtypes of the ufunc `clip`. */
value *np_clip(tracer *t, const np_call *c) {
  static PyObject *ufunc;
  value *p[9];
  np_operand o[3];
  loom_dtype types[4];
  int rank;
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  if (!np_parse(t, c,
                c->method ? "a | min max out dtype casting"
                          : "a | a_min a_max out min max dtype casting",
                p))
    return NULL;
  value *low = p[1], *high = p[2], *out;
  if (!np_out_arg(t, p[3], &out)) return NULL;
  if (c->method ? p[4] || p[5] : p[6] || p[7]) return np_unsupported(t, c, "dtype= or casting=");
  bool by_name = !c->method && (p[4] || p[5]), by_place = !c->method && (p[1] || p[2]);
  if (by_name == by_place ? !c->method : by_place && !(p[1] && p[2]))
    return trace_break(t, BREAK_RAISES, "bounds of np.clip that do not go together");
  if (by_name) low = p[4], high = p[5];
  bool no_low = np_is_none(t, low), no_high = np_is_none(t, high);
  if (no_low && no_high) return np_unsupported(t, c, "without bounds");
  if (no_low) return np_ufunc_apply(t, "minimum", (value *[]){p[0], high}, 2, out);
  if (no_high) return np_ufunc_apply(t, "maximum", (value *[]){p[0], low}, 2, out);
  if (!ufunc) {
    PyObject *module = PyImport_ImportModule("numpy._core.umath");
    ufunc = module ? PyObject_GetAttrString(module, "clip") : NULL;
    Py_XDECREF(module);
    if (!ufunc) return trace_raise_live(t);
  }
  value *in[3] = {p[0], low, high};
  np_array *arrays[3], *outs[1] = {out ? np_array_of(out) : NULL};
  for (int i = 0; i < 3; i++) {
    if (!np_operand_from(t, in[i], &o[i])) return NULL;
    arrays[i] = o[i].array;
  }
  if (!np_broadcast(t, o, 3, &rank, dims) ||
      !np_resolve(t, ufunc, o, 3, outs, 1, NULL, NULL, types))
    return NULL;
  loom_value v[3];
  for (int i = 0; i < 3; i++)
    v[i] = emit_broadcast_to(t, np_operand_load(t, &o[i], types[i]), rank, dims);
  bool single = true;
  for (int d = 0; d < rank; d++)
    single &= dims[d] == 1;
  bool numbers = loom_dtype_is_float(types[0]) && clip_is_number(&o[1], single) &&
                 clip_is_number(&o[2], single);
  loom_value r = numbers ? clip_to_numbers(t, v[0], v[1], v[2])
                 : types[0] == LOOM_BOOL
                     ? clip_bytes(t, v)
                     : emit2(t, LOOM_OP_MIN, emit2(t, LOOM_OP_MAX, v[0], v[1]), v[2]);
  if (r == LOOM_NO_VALUE) return NULL;
  if (out) {
    loom_type type = type_make(outs[0]->type.dtype, rank, dims);
    if (!np_same_sizes(t, &type, &outs[0]->type))
      return np_unsupported(t, c, "out= of other sizes");
    return np_write(t, outs[0], emit_convert(t, r, type.dtype)) ? out : NULL;
  }
  np_layout_elementwise(t, arrays, 3, emit_type(t, r), 'K', false, strides);
  return np_result(t, r, strides);
}

/* np.take(a, indices, axis, out, mode) */
value *np_take(tracer *t, const np_call *c) {
  value *p[5];
  int64_t axis = 0;
  int k = 0;
  if (!np_parse(t, c, "a indices | axis out mode", p)) return NULL;
  np_array *a = np_as_array(t, p[0]), *i = a ? np_as_array(t, p[1]) : NULL;
  if (!i) return NULL;
  if (!np_is_none(t, p[3])) return np_unsupported(t, c, "out=");
  np_not_small(t, a); /* there is an element to be read by lanes without an index */
  const char *mode = np_is_none(t, p[4]) ? "raise" : np_str_arg(t, p[4]);
  if (!mode || !loom_dtype_is_integer(i->type.dtype) || i->type.dtype == LOOM_U64)
    return np_unsupported(t, c, "with indices that are not integers");
  if (strcmp(mode, "raise") && strcmp(mode, "wrap") && strcmp(mode, "clip"))
    return np_unsupported(t, c, "with such a mode");
  loom_value v[2] = {np_read(t, a), emit_convert(t, np_read(t, i), LOOM_I64)};
  if (np_is_none(t, p[2])) {
    int64_t n = np_count_dim(t, &a->type);
    v[0] = emit_reshape(t, v[0], 1, &n);
  } else if (!np_int_arg(t, p[2], &axis) || !np_axis(t, axis, a->type.rank, &k)) {
    return NULL;
  }
  if (v[0] == LOOM_NO_VALUE || v[1] == LOOM_NO_VALUE) return NULL;
  for (int d = 0; d < emit_type(t, v[0])->rank; d++) /* no kernel would look at the indices */
    if (emit_type(t, v[0])->dims[d] == 0) return np_unsupported(t, c, "from nothing");
  loom_attr attrs[2] = {attr_int(k), attr_str(mode)};
  return np_result(t, trace_node(t, LOOM_OP_GATHER, v, 2, attrs, 2, NULL), NULL);
}

/* np.round: rint, for floats with no decimals; integers are copied. */
value *np_round(tracer *t, const np_call *c) {
  value *p[3];
  int64_t decimals = 0;
  if (!np_parse(t, c, "a | decimals out", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || (p[1] && !np_c_int_arg(t, p[1], &decimals))) return NULL;
  value *out;
  if (!np_out_arg(t, p[2], &out)) return NULL;
  if (loom_dtype_is_float(a->type.dtype)) {
    np_array *o = out ? np_array_of(out) : NULL;
    if (o && !np_same_sizes(t, &o->type, &a->type))
      return trace_pending(t) ? NULL : np_unsupported(t, c, "with out= of other sizes");
    if (decimals == 0) return np_ufunc_apply(t, "rint", p, 1, out);
    /* NumPy scales by a power of ten, rounds, and scales back. */
    double power = pow(10, (double)llabs(decimals));
    if (out || llabs(decimals) > 22) return np_unsupported(t, c, "with out= or many decimals");
    PyObject *number = PyFloat_FromDouble(power);
    value *pair[2] = {p[0], value_const(t, trace_keep(t, number))};
    const char *first = decimals > 0 ? "multiply" : "divide",
               *last = decimals > 0 ? "divide" : "multiply";
    pair[0] = np_ufunc_apply(t, first, pair, 2, NULL);
    pair[0] = pair[0] ? np_ufunc_apply(t, "rint", pair, 1, NULL) : NULL;
    value *v = pair[0] ? np_ufunc_apply(t, last, pair, 2, NULL) : NULL;
    int64_t strides[LOOM_MAX_RANK];
    if (!v || np_array_of(v)->scalar) return v;
    np_layout_copy(t, a, &a->type, 'A', strides);
    return np_fresh(t, np_read(t, np_array_of(v)), strides);
  }
  if (decimals < 0 || out || a->type.dtype == LOOM_BOOL) return np_unsupported(t, c, "of integers");
  return a->type.rank == 0 ? np_result(t, np_read(t, a), NULL) : np_copy(t, a, a->type.dtype, 'K');
}

value *np_result_type_call(tracer *t, const np_call *c) {
  np_operand o[32];
  loom_dtype dtype;
  bool done;
  value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
  if (done || trace_pending(t)) return v;
  if (c->count > 32 || c->kwnames || c->count == 0) return np_unsupported(t, c, "");
  for (Py_ssize_t i = 0; i < c->count; i++) {
    if (value_is_sequence(c->args[i]) || value_is_dict(c->args[i]))
      return np_unsupported(t, c, "of what describes a structured dtype");
    PyObject *known = np_is_array(c->args[i]) ? NULL : np_known(t, c->args[i]);
    if (known && (PyArray_DescrCheck(known) || PyType_Check(known) || PyUnicode_Check(known))) {
      np_array *a = trace_alloc(t, sizeof *a);
      o[i] = (np_operand){.array = a};
      if (!a || !np_dtype_arg(t, c->args[i], &a->type.dtype)) return NULL;
    } else if (!np_operand_from(t, c->args[i], &o[i])) {
      return NULL;
    }
  }
  if (!np_result_type(t, o, (int)c->count, &dtype)) return NULL;
  return value_const(t, trace_keep(t, (PyObject *)np_descr(dtype)));
}

/* All arrays are exact ones: subok= says nothing. */
static bool create_only_subok(PyObject *kwnames) {
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "subok") != 0) return false;
  return true;
}

/* np.broadcast_arrays: a tuple of views. */
value *np_broadcast_arrays(tracer *t, const np_call *c) {
  np_operand o[32];
  value *out[32];
  int rank;
  int64_t dims[LOOM_MAX_RANK];
  if (c->count > 32 || !create_only_subok(c->kwnames)) return np_unsupported(t, c, "");
  for (Py_ssize_t i = 0; i < c->count; i++) {
    o[i] = (np_operand){.array = np_as_array(t, c->args[i])};
    if (!o[i].array) return NULL;
  }
  if (!np_broadcast(t, o, (int)c->count, &rank, dims)) return NULL;
  for (Py_ssize_t i = 0; i < c->count; i++) {
    loom_type type = type_make(o[i].array->type.dtype, rank, dims);
    bool same = loom_type_equal(&type, &o[i].array->type), scalar = o[i].array->scalar;
    if (same && scalar)
      out[i] = np_fresh(t, np_read(t, o[i].array), NULL);
    else if (same)
      out[i] = np_is_array(c->args[i]) ? c->args[i] : o[i].array->storage->root;
    else
      out[i] = np_view_broadcast(t, o[i].array, rank, dims);
    if (!out[i]) return NULL;
    if (same) continue;
    np_array_of(out[i])->writeable = o[i].array->writeable || scalar;
    np_array_of(out[i])->warns_on_write = true;
  }
  return value_tuple(t, out, c->count);
}

/* np.float32(x) and the other scalar types. */
value *np_scalar_type(tracer *t, const np_call *c) {
  bool done;
  value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
  if (done || trace_pending(t)) return v;
  if (c->count != 1 || c->kwnames) return np_unsupported(t, c, "");
  PyArray_Descr *descr = PyArray_DescrFromTypeObject(c->callee);
  loom_dtype dtype;
  if (!descr) return trace_raise_live(t);
  trace_keep(t, (PyObject *)descr);
  if (!np_dtype_of(t, descr, &dtype)) return NULL;
  np_operand o;
  if (!np_operand_from(t, c->args[0], &o)) return NULL;
  loom_value node = np_operand_load(t, &o, dtype);
  int64_t strides[LOOM_MAX_RANK];
  if (node == LOOM_NO_VALUE) return NULL;
  if (np_is_array(c->args[0]) && o.array && o.array->type.rank > 0 && o.array->type.dtype == dtype)
    return c->args[0]; /* what is of the type already is not copied */
  if (!o.array) return np_result(t, node, NULL);
  np_layout_copy(t, o.array, emit_type(t, node), 'K', strides);
  return np_result(t, node, strides);
}

/* A Python number that is known only when run. */
value *np_python_number(tracer *t, loom_value node) {
  if (node == LOOM_NO_VALUE) return NULL;
  loom_dtype dtype = emit_type(t, node)->dtype;
  loom_dtype wide = dtype == LOOM_BOOL           ? LOOM_BOOL
                    : loom_dtype_is_float(dtype) ? LOOM_F64
                                                 : LOOM_I64;
  value *v = value_new(t, &value_number_type);
  if (v) v->number.node = emit_convert(t, node, wide);
  return v && v->number.node != LOOM_NO_VALUE ? v : NULL;
}

/* a.item(i), flat, or a.item(i, j, ...). */
static value *item_at(tracer *t, const np_call *c, np_array *a) {
  value *from = c->args[0], *key = c->count == 2 ? c->args[1] : NULL;
  if (key && value_is_tuple(key)) return np_unsupported(t, c, "of a tuple");
  np_know_sizes(t, a);
  if (trace_pending(t)) return NULL;
  int64_t n = np_elements(&a->type);
  if (key && a->type.rank != 1 && !(from = np_reshape_to(t, a, 1, &n, 'C'))) return NULL;
  if (!key && c->count - 1 != a->type.rank) return np_unsupported(t, c, "of other dimensions");
  if (!key) key = value_tuple(t, c->args + 1, c->count - 1);
  value *item = key ? np_get_item(t, from, key) : NULL;
  np_array *i = np_array_of(item);
  if (item && (!i || i->type.rank)) return np_unsupported(t, c, "of what is not an integer");
  np_call one = {.name = "item", .args = &item, .count = 1, .method = true};
  return item ? np_item(t, &one) : NULL;
}

value *np_item(tracer *t, const np_call *c) {
  np_array *a = np_array_of(c->args[0]);
  PyObject *known = np_known(t, c->args[0]);
  if (c->kwnames || !a || a->type.dtype == LOOM_U64) return np_unsupported(t, c, "");
  if (c->count > 1) return item_at(t, c, a);
  if (np_elements(&a->type) != 1)
    return trace_raise(t, PyExc_ValueError,
                       "can only convert an array of size 1 to a Python scalar");
  if (known) return np_made(t, PyObject_CallMethod(known, "item", NULL));
  return np_python_number(t, emit_reshape(t, np_read(t, a), 0, NULL));
}

/* float(x) and int(x) of an array without dimensions. An int of floats may be too large, or raise:
 * left to Python. */
value *np_builtin_number(tracer *t, const np_call *c) {
  np_array *a = c->count == 1 && !c->kwnames ? np_array_of(c->args[0]) : NULL;
  bool whole = c->callee == (PyObject *)&PyLong_Type;
  if (!a || a->type.rank != 0 || a->type.dtype == LOOM_U64 ||
      (whole && loom_dtype_is_float(a->type.dtype)))
    return np_unsupported(t, c, "of this argument");
  PyObject *known = np_known(t, c->args[0]);
  int64_t number;
  if (whole && np_size_of(t, c->args[0], &number)) return value_size(t, number);
  if (known) return np_made(t, whole ? PyNumber_Long(known) : PyNumber_Float(known));
  return np_python_number(t, emit_convert(t, np_read(t, a), whole ? LOOM_I64 : LOOM_F64));
}

/* a.view() of the same dtype. */
value *np_view(tracer *t, const np_call *c) {
  np_array *a = np_array_of(c->args[0]);
  if (c->count != 1 || c->kwnames || !a || a->scalar)
    return np_unsupported(t, c, "of another type");
  return np_view_same(t, a);
}

/* round(x, n) of a NumPy float is np.round(); without n it is a Python int. */
value *np_builtin_round(tracer *t, const np_call *c) {
  np_array *a = c->count == 2 && !c->kwnames ? np_array_of(c->args[0]) : NULL;
  if (c->count && !np_is_array(c->args[0])) return trace_not_implemented(t);
  if (!a || !a->scalar || !loom_dtype_is_float(a->type.dtype) || np_is_none(t, c->args[1]))
    return np_unsupported(t, c, "of this argument");
  np_call round = {.name = "round", .args = c->args, .count = 2};
  return np_round(t, &round);
}

value *np_builtin_divmod(tracer *t, const np_call *c) {
  if (c->count != 2 || (!np_is_array(c->args[0]) && !np_is_array(c->args[1])))
    return np_unsupported(t, c, "");
  return np_ufunc_apply(t, "divmod", c->args, 2, NULL);
}

/* Of known arrays only: the elements of others are not known at capture. */
value *np_tolist(tracer *t, const np_call *c) {
  PyObject *known = c->count == 1 && !c->kwnames ? np_known(t, c->args[0]) : NULL;
  return known ? np_made(t, PyObject_CallMethod(known, "tolist", NULL)) : np_unsupported(t, c, "");
}

value *np_count_nonzero(tracer *t, const np_call *c) {
  value *p[3];
  uint32_t mask;
  if (!np_parse(t, c, "a | axis keepdims", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  np_reduction r = {.kind = "sum", .typed = true, .dtype = LOOM_I64};
  if (!a || !np_bool_arg(t, p[2], false, &r.keepdims) || !np_axes_arg(t, p[1], a->type.rank, &mask))
    return NULL;
  value *bools = np_copy(t, a, LOOM_BOOL, 'K');
  r.a = np_array_of(bools);
  r.mask = mask;
  return r.a ? np_reduce(t, &r) : NULL;
}
