/* Reductions and scans: sum, prod, min, max, any, all, mean, var, std, argmin, argmax, ptp, cumsum,
 * cumprod. Dtype rules and errors are those of ufunc.reduce and of NumPy's _methods.py. */
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
#include "loom_ops_arithmetic.h"

#include <math.h>
#include <string.h>

/* add and multiply reduce small integers in the machine's integer. */
loom_dtype np_reduce_widened(loom_dtype d) {
  if (d == LOOM_BOOL || loom_dtype_is_signed(d)) return LOOM_I64;
  return loom_dtype_is_unsigned(d) ? LOOM_U64 : d;
}

#define REDUCE_OTHER_OUT "out= of another dtype"

/* Is out= absent, or an array of this dtype? NumPy keeps what it has so far in out=, which rounds,
 * wraps or refuses it on the way where the loop's dtype is another. */
static bool reduce_out_fits(value *out, loom_dtype dtype) {
  return !out || np_array_of(out)->type.dtype == dtype;
}

/* The dtype of a sum's loop: that of out= where it holds every element. */
static loom_dtype reduce_sum_dtype(const np_array *a, value *out) {
  np_array *o = out ? np_array_of(out) : NULL;
  bool holds = o && np_can_cast(a->type.dtype, o->type.dtype, NPY_SAFE_CASTING);
  return holds ? o->type.dtype : np_reduce_widened(a->type.dtype);
}

static bool reduce_is(const np_reduction *r, const char *kind) {
  return strcmp(r->kind, kind) == 0;
}

static loom_dtype reduce_loop_dtype(const np_reduction *r) {
  if (reduce_is(r, "and") || reduce_is(r, "or")) return LOOM_BOOL;
  if (r->typed) return r->dtype;
  bool sums = reduce_is(r, "sum") || reduce_is(r, "prod");
  return sums ? reduce_sum_dtype(r->a, r->out) : r->a->type.dtype;
}

/* The value that changes nothing; false for min and max, which have none. */
static bool reduce_identity(const char *kind, loom_dtype dtype, uint64_t *bits) {
  bool one = strcmp(kind, "prod") == 0 || strcmp(kind, "and") == 0;
  if (strcmp(kind, "min") == 0 || strcmp(kind, "max") == 0) return false;
  *bits = one ? emit_bits(dtype, (loom_cell){.i = 1, .re = 1}) : 0;
  return true;
}

static const char *reduce_ufunc_name(const char *kind) {
  static const char *const names[][2] = {{"sum", "add"},         {"prod", "multiply"},
                                         {"min", "minimum"},     {"max", "maximum"},
                                         {"and", "logical_and"}, {"or", "logical_or"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i][0], kind) == 0) return names[i][1];
  return kind;
}

static loom_value reduce_load_initial(tracer *t, const np_reduction *r, loom_dtype dtype) {
  np_operand initial;
  if (!np_operand_from(t, r->initial, &initial) || !np_check_stored(t, &initial, dtype))
    return LOOM_NO_VALUE;
  if (initial.array && initial.array->type.rank > 0) {
    trace_break(t, BREAK_RAISES, "initial= of more than one number");
    return LOOM_NO_VALUE;
  }
  return np_operand_load(t, &initial, dtype);
}

/* The operand as the loop's dtype, with what where= leaves out replaced by something neutral. */
static loom_value reduce_load(tracer *t, np_reduction *r, loom_dtype dtype) {
  loom_value v = emit_convert(t, np_read(t, r->a), dtype), neutral;
  if (!r->where || v == LOOM_NO_VALUE) return v;
  np_operand mask;
  uint64_t bits;
  loom_type type = *emit_type(t, v);
  if (!np_mask_from(t, r->where, &mask)) return LOOM_NO_VALUE;
  if (reduce_identity(r->kind, dtype, &bits)) {
    neutral = emit_constant(t, &type, bits);
  } else if (!r->initial) {
    trace_raise(t, PyExc_ValueError,
                "reduction operation '%s' does not have an identity, so to use a where mask one "
                "has to specify 'initial'",
                reduce_ufunc_name(r->kind));
    return LOOM_NO_VALUE;
  } else {
    neutral = emit_broadcast_to(t, reduce_load_initial(t, r, dtype), type.rank, type.dims);
  }
  loom_value m = np_operand_load(t, &mask, LOOM_BOOL);
  if (m == LOOM_NO_VALUE) return m;
  for (int i = 0; mask.array && i < mask.array->type.rank; i++) {
    int64_t n = mask.array->type.dims[mask.array->type.rank - 1 - i];
    if (n == 1 || (i < type.rank && size_same(t, n, type.dims[type.rank - 1 - i]) > 0)) continue;
    trace_break(t, BREAK_RAISES, "where= of other sizes than the array");
    return LOOM_NO_VALUE;
  }
  if (mask.array && mask.array->type.rank > type.rank) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "where= with more dimensions than the array");
    return LOOM_NO_VALUE;
  }
  return emit_select(t, emit_broadcast_to(t, m, type.rank, type.dims), v, neutral);
}

/* A size that a host call tells is taken not to be 0. */
static void reduce_not_empty(tracer *t, int64_t number) {
  if (size_is_late(t, number) && !trace_pending(t)) size_less(t, number, 1);
}

static bool reduce_empty_error(tracer *t, const np_reduction *r) {
  bool none = false, nothing_kept = false;
  for (int i = 0; i < r->a->type.rank; i++)
    *(r->mask >> i & 1 ? &none : &nothing_kept) |= r->a->type.dims[i] == 0;
  uint64_t bits;
  if (r->initial || reduce_identity(r->kind, r->a->type.dtype, &bits)) return false;
  for (int i = 0; i < r->a->type.rank; i++)
    if (r->mask >> i & 1) reduce_not_empty(t, np_dim(r->a->type.dims[i]));
  if (!none || nothing_kept) return trace_pending(t);
  trace_raise(t, PyExc_ValueError,
              "zero-size array to reduction operation %s which has no identity",
              reduce_ufunc_name(r->kind));
  return true;
}

/* Sizes with kept dimensions of one element. */
static int reduce_kept(const np_reduction *r, int64_t *dims) {
  for (int i = 0; i < r->a->type.rank; i++)
    dims[i] = r->mask >> i & 1 ? 1 : r->a->type.dims[i];
  return r->a->type.rank;
}

static value *reduce_other_shape(tracer *t) {
  return trace_pending(t) ? NULL : trace_break(t, BREAK_RAISES, "out= of another shape");
}

/* Is out= absent, or of the result's shape? NumPy looks at it before it looks at anything else. */
static bool reduce_out_shaped(tracer *t, const np_reduction *r) {
  if (!r->out) return true;
  loom_type type = {.dtype = r->a->type.dtype};
  for (int i = 0; i < r->a->type.rank; i++)
    if (!(r->mask >> i & 1)) type.dims[type.rank++] = r->a->type.dims[i];
  if (r->keepdims) type.rank = reduce_kept(r, type.dims);
  if (np_same_sizes(t, &type, &np_array_of(r->out)->type)) return true;
  reduce_other_shape(t);
  return false;
}

static value *reduce_out(tracer *t, value *out, loom_value node) {
  np_array *o = np_array_of(out);
  if (node == LOOM_NO_VALUE) return NULL;
  if (!np_same_sizes(t, emit_type(t, node), &o->type)) return reduce_other_shape(t);
  return np_write(t, o, emit_convert(t, node, o->type.dtype)) ? out : NULL;
}

/* A sum of nothing but negative zeros is one only where it starts with one, while reductions here
 * start with 0. */
static bool reduce_may_start_negative(tracer *t, const np_reduction *r, loom_dtype dtype) {
  if (!reduce_is(r, "sum") || !loom_dtype_is_inexact(dtype)) return false;
  PyObject *known = np_known(t, r->initial);
  Py_complex c = known ? PyComplex_AsCComplex(known) : (Py_complex){-0.0, -0.0};
  if (PyErr_Occurred()) error_drop();
  return signbit(c.real) ? c.real == 0 : signbit(c.imag) && c.imag == 0;
}

static loom_value reduce_initial(tracer *t, const np_reduction *r, loom_value v) {
  if (v == LOOM_NO_VALUE || !r->initial) return v;
  loom_type type = *emit_type(t, v);
  if (reduce_may_start_negative(t, r, type.dtype)) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "a sum with a negative zero as initial=");
    return LOOM_NO_VALUE;
  }
  loom_value start =
      emit_broadcast_to(t, reduce_load_initial(t, r, type.dtype), type.rank, type.dims);
  if (start == LOOM_NO_VALUE) return start;
  loom_value in[2] = {start, v};
  return np_ufunc_loop(t, np_ufunc_object(reduce_ufunc_name(r->kind)), in, type.dtype);
}

/* NumPy's arithmetic on bool: the op table's sum of bool is not needed, but min and max are and and
 * or. */
static const char *reduce_op_kind(const np_reduction *r, loom_dtype dtype) {
  if (dtype != LOOM_BOOL) return r->kind;
  if (reduce_is(r, "sum") || reduce_is(r, "max")) return "or";
  return reduce_is(r, "prod") || reduce_is(r, "min") ? "and" : r->kind;
}

/* The reduction itself; min and max of no element start from `initial`, which reduce_initial()
 * brings in. */
static loom_value reduce_nodes(tracer *t, const np_reduction *r, loom_value v, const int64_t *axes,
                               int n) {
  loom_dtype dtype = emit_type(t, v)->dtype;
  uint64_t bits;
  int64_t dims[LOOM_MAX_RANK];
  int rank = 0;
  if (np_elements(emit_type(t, v)) != 0 || reduce_identity(r->kind, dtype, &bits))
    return emit_reduce(t, reduce_op_kind(r, dtype), v, axes, n);
  for (int i = 0; i < r->a->type.rank; i++)
    if (!(r->mask >> i & 1)) dims[rank++] = r->a->type.dims[i];
  loom_type type = type_make(dtype, rank, dims);
  if (np_elements(&type) == 0) return emit_constant(t, &type, 0);
  return emit_broadcast_to(t, reduce_load_initial(t, r, dtype), rank, dims);
}

/* A reduction over no axes: a sum starts with 0, which makes one of a negative zero. A complex
 * product may start with 1, which makes NaN of infinities. */
static loom_value reduce_nothing(tracer *t, const np_reduction *r, loom_value v) {
  if (v != LOOM_NO_VALUE && reduce_is(r, "prod") && loom_dtype_is_complex(emit_type(t, v)->dtype)) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "a complex product over no axes");
    return LOOM_NO_VALUE;
  }
  if (v == LOOM_NO_VALUE || r->initial || !reduce_is(r, "sum")) return v;
  loom_type type = *emit_type(t, v);
  if (!loom_dtype_is_inexact(type.dtype)) return v;
  loom_value in[2] = {emit_constant(t, &type, 0), v};
  return np_ufunc_loop(t, np_ufunc_object("add"), in, type.dtype);
}

value *np_reduce(tracer *t, np_reduction *r) {
  loom_dtype dtype = reduce_loop_dtype(r);
  int64_t axes[LOOM_MAX_RANK], dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  int n = 0;
  if (!reduce_out_fits(r->out, dtype))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a reduction with " REDUCE_OTHER_OUT);
  if (r->initial && np_is_none(t, r->initial)) r->initial = NULL;
  if (!reduce_out_shaped(t, r) || trace_pending(t) || reduce_empty_error(t, r)) return NULL;
  for (int i = 0; i < r->a->type.rank; i++)
    if (r->mask >> i & 1) axes[n++] = i;
  loom_value v = reduce_load(t, r, dtype);
  if (v == LOOM_NO_VALUE) return NULL;
  v = n > 0 ? reduce_nodes(t, r, v, axes, n) : reduce_nothing(t, r, v);
  v = reduce_initial(t, r, v);
  if (r->keepdims) v = emit_reshape(t, v, reduce_kept(r, dims), dims);
  if (r->out) return reduce_out(t, r->out, v);
  if (v == LOOM_NO_VALUE) return NULL;
  np_layout_reduce(t, r->a, r->mask, r->keepdims, emit_type(t, v), strides);
  return np_result(t, v, strides);
}

/* ---- functions ---- */

/* np.sum(a, axis, dtype, out, keepdims, initial, where) and its like. */
static value *reduce_call(tracer *t, const np_call *c, const char *kind, const char *names) {
  value *p[8];
  np_reduction r = {.kind = kind};
  if (!np_parse(t, c, names, p)) return NULL;
  bool typed = strstr(names, "dtype") != NULL;
  value **q = p + 2 + typed;
  if (!(r.a = np_as_array(t, p[0])) || !np_axes_arg(t, p[1], r.a->type.rank, &r.mask)) return NULL;
  if (typed && !np_is_none(t, p[2])) {
    r.typed = true;
    if (!np_dtype_arg(t, p[2], &r.dtype)) return NULL;
  }
  if (!np_out_arg(t, q[0], &r.out) || !np_bool_arg(t, q[1], false, &r.keepdims)) return NULL;
  bool anything = strstr(names, "initial") == NULL;
  r.initial = anything ? NULL : q[2];
  r.where = q[anything ? 2 : 3];
  if (r.where && !np_is_array(r.where) && np_known(t, r.where) == Py_True) r.where = NULL;
  return trace_pending(t) ? NULL : np_reduce(t, &r);
}

#define REDUCE_TYPED "a | axis dtype out keepdims initial where"
#define REDUCE_UNTYPED "a | axis out keepdims initial where"
#define REDUCE_TRUTH_METHOD "a | axis dtype out keepdims where"

value *np_sum(tracer *t, const np_call *c) { return reduce_call(t, c, "sum", REDUCE_TYPED); }
/* np.prod(a.shape): of ints some of which are symbolic. */
static bool reduce_is_shape(tracer *t, value *v) {
  if (!value_is_tuple(v) || !np_are_symbolic(t, &v, 1)) return false;
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    if (!value_is_whole(v->seq.items[i])) return false;
  return true;
}

value *np_prod(tracer *t, const np_call *c) {
  int64_t product = 1, number;
  bool plain = c->count == 1 && !c->kwnames, done = false;
  if (plain && value_is_tuple(c->args[0]) && !np_are_symbolic(t, c->args, 1)) {
    value *known = np_fold(t, c->callee, c->args, 1, NULL, &done);
    if (done || trace_pending(t)) return known;
  }
  if (!plain || !reduce_is_shape(t, c->args[0])) return reduce_call(t, c, "prod", REDUCE_TYPED);
  for (Py_ssize_t i = 0; i < c->args[0]->seq.count; i++) {
    if (!np_number_arg(t, c->args[0]->seq.items[i], &number)) return NULL;
    product = np_times(t, product, number);
  }
  return trace_pending(t) ? NULL : np_result(t, np_number_node(t, product), NULL);
}

value *np_min(tracer *t, const np_call *c) { return reduce_call(t, c, "min", REDUCE_UNTYPED); }
value *np_max(tracer *t, const np_call *c) { return reduce_call(t, c, "max", REDUCE_UNTYPED); }

static value *reduce_truth(tracer *t, const np_call *c, const char *kind) {
  value *p[6];
  if (!c->method) return reduce_call(t, c, kind, "a | axis out keepdims where");
  if (!np_parse(t, c, REDUCE_TRUTH_METHOD, p)) return NULL;
  if (!np_is_none(t, p[2])) return np_unsupported(t, c, "dtype=");
  return reduce_call(t, c, kind, REDUCE_TRUTH_METHOD);
}

value *np_all(tracer *t, const np_call *c) { return reduce_truth(t, c, "and"); }
value *np_any(tracer *t, const np_call *c) { return reduce_truth(t, c, "or"); }

value *np_ptp(tracer *t, const np_call *c) {
  value *p[4], *ends[2];
  np_reduction r = {.kind = "max"};
  if (!np_parse(t, c, "a | axis out keepdims", p) || !(r.a = np_as_array(t, p[0])) ||
      !np_axes_arg(t, p[1], r.a->type.rank, &r.mask) || !np_bool_arg(t, p[3], false, &r.keepdims))
    return NULL;
  if (!np_is_none(t, p[2])) return np_unsupported(t, c, "out="); /* holds the maxima on the way */
  if (!(ends[0] = np_reduce(t, &r))) return NULL;
  r.kind = "min";
  if (!(ends[1] = np_reduce(t, &r))) return NULL;
  return np_ufunc_apply(t, "subtract", ends, 2, NULL);
}

/* Elements that a reduction takes together: a number of the graph. */
static int64_t reduce_count(tracer *t, const np_array *a, uint32_t mask) {
  int64_t n = 1;
  for (int i = 0; i < a->type.rank; i++)
    if (mask >> i & 1) n = np_times(t, n, np_dim(a->type.dims[i]));
  return n;
}

static loom_value reduce_divisor(tracer *t, const loom_type *type, int64_t count) {
  if (!LOOM_STRIDE_IS_SYM(count)) return emit_float(t, type, (double)count);
  loom_value n = emit_convert(t, emit_convert(t, size_node(t, count), LOOM_F64), type->dtype);
  return emit_broadcast_to(t, n, type->rank, type->dims);
}

/* v / count as NumPy's _mean and _var divide: in float64 where the dtype may not hold the count. */
static loom_value reduce_divide(tracer *t, loom_value v, int64_t count) {
  if (v == LOOM_NO_VALUE) return v;
  loom_dtype dtype = emit_type(t, v)->dtype;
  bool narrow = dtype == LOOM_C64,
       wide = dtype == LOOM_F16 ||
              (dtype == LOOM_F32 && (size_is_late(t, count) || size_less(t, 1 << 24, count) > 0));
  if (wide) v = emit_convert(t, v, LOOM_F64);
  if (narrow) v = emit_convert(t, v, LOOM_C128);
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *emit_type(t, v);
  return emit_convert(t, emit2(t, LOOM_OP_DIV, v, reduce_divisor(t, &type, count)), dtype);
}

/* The dtype that mean and var compute in; false after a break. */
static bool reduce_float_dtype(tracer *t, const np_call *c, const np_array *a, value *v,
                               loom_dtype *out) {
  bool inexact = loom_dtype_is_inexact(a->type.dtype);
  *out = inexact ? a->type.dtype : LOOM_F64;
  if (np_is_none(t, v)) return !trace_pending(t);
  if (!np_dtype_arg(t, v, out)) return false;
  if (loom_dtype_is_float(*out)) return true;
  np_unsupported(t, c, "dtype= that is not a float");
  return false;
}

/* The same array value with other elements: a fresh result laid out as `like`. */
static value *reduce_same(tracer *t, value *like, loom_value node) {
  np_array *a = np_array_of(like);
  if (a->scalar) return np_result(t, node, NULL);
  if (node == LOOM_NO_VALUE) return NULL;
  const loom_type *type = emit_type(t, node);
  int64_t strides[LOOM_MAX_RANK];
  if (type->dtype == a->type.dtype) return np_fresh(t, node, a->strides);
  np_layout_copy(t, a, type, 'K', strides);
  return np_fresh(t, node, strides);
}

value *np_mean(tracer *t, const np_call *c) {
  value *p[6], *out;
  np_reduction r = {.kind = "sum", .typed = true};
  if (!np_parse(t, c, "a | axis dtype out keepdims where", p) || !(r.a = np_as_array(t, p[0])) ||
      !np_axes_arg(t, p[1], r.a->type.rank, &r.mask) ||
      !reduce_float_dtype(t, c, r.a, p[2], &r.dtype) || !np_bool_arg(t, p[4], false, &r.keepdims))
    return NULL;
  if (p[5] && (np_is_array(p[5]) || np_known(t, p[5]) != Py_True))
    return np_unsupported(t, c, "where=");
  if (r.a->type.rank == 0 && !np_is_none(t, p[1]))
    return np_unsupported(t, c, "axis of a 0-d array");
  int64_t n = reduce_count(t, r.a, r.mask);
  reduce_not_empty(t, n);
  if (n == 0) return np_unsupported(t, c, "of an empty slice");
  bool half = r.dtype == LOOM_F16 && np_is_none(t, p[2]); /* summed in float32 */
  if (!np_out_arg(t, p[3], &out)) return NULL;
  if (half && out) return np_unsupported(t, c, "of float16 with out=");
  if (!reduce_out_fits(out, r.dtype)) return np_unsupported(t, c, REDUCE_OTHER_OUT);
  if (half) r.dtype = LOOM_F32;
  value *sum = np_reduce(t, &r);
  if (!sum) return NULL;
  loom_value v = reduce_divide(t, np_read(t, np_array_of(sum)), n);
  if (half) v = emit_convert(t, v, LOOM_F16);
  if (out) return reduce_out(t, out, v);
  return reduce_same(t, sum, v);
}

/* Is out= absent or an array to write to? The library refuses any other only when it has computed
 * nearly all, and has warned. */
static bool reduce_out_is_taken(tracer *t, value *v) {
  if (np_is_none(t, v)) return true;
  np_array *a = np_is_array(v) ? np_array_of(v) : NULL;
  return a && !a->scalar && a->writeable;
}

/* The derivative where all are equal is 0, as that of |x| at 0 is, and not 0 times infinity. */
static loom_value reduce_root(tracer *t, loom_value v) {
  if (!t->loops.derived) return emit1(t, LOOM_OP_SQRT, v);
  const loom_type *type = emit_type(t, v);
  loom_value zero = emit_float(t, type, 0), none = emit_compare(t, "eq", v, zero);
  v = emit_select(t, none, emit_float(t, type, 1), v);
  return emit_select(t, none, zero, emit1(t, LOOM_OP_SQRT, v));
}

static value *reduce_var(tracer *t, const np_call *c, bool root) {
  value *p[9], *pair[2], *out;
  np_reduction r = {.kind = "sum", .typed = true, .keepdims = true};
  bool keepdims;
  int64_t ddof = 0;
  if (!np_parse(t, c, "a | axis dtype out ddof keepdims where mean correction", p) ||
      !(r.a = np_as_array(t, p[0])) || !np_axes_arg(t, p[1], r.a->type.rank, &r.mask) ||
      !reduce_float_dtype(t, c, r.a, p[2], &r.dtype) || !np_bool_arg(t, p[5], false, &keepdims))
    return NULL;
  if ((p[6] && (np_is_array(p[6]) || np_known(t, p[6]) != Py_True)) || p[7] || p[8])
    return np_unsupported(t, c, "where=, mean= or correction=");
  if (p[4] && !np_int_arg(t, p[4], &ddof)) return NULL;
  if (r.a->type.rank == 0 && !np_is_none(t, p[1]))
    return np_unsupported(t, c, "axis of a 0-d array");
  int64_t n = reduce_count(t, r.a, r.mask);
  reduce_not_empty(t, n);
  if (n == 0) return np_unsupported(t, c, "of an empty slice");
  if (!reduce_out_is_taken(t, p[3])) return np_unsupported(t, c, "out= that is no array");
  if (!np_out_arg(t, p[3], &out)) return NULL;
  if (!reduce_out_fits(out, r.dtype)) return np_unsupported(t, c, REDUCE_OTHER_OUT);
  if (size_less(t, ddof, n) <= 0) return np_unsupported(t, c, "with no degrees of freedom");
  value *sum = np_reduce(t, &r);
  if (!sum) return NULL;
  pair[0] = p[0];
  if (!np_is_array(p[0]) && !(pair[0] = np_fresh(t, np_read(t, r.a), NULL))) return NULL;
  pair[1] =
      np_fresh(t, reduce_divide(t, np_read(t, np_array_of(sum)), n), np_array_of(sum)->strides);
  value *x = pair[1] ? np_ufunc_apply(t, "subtract", pair, 2, NULL) : NULL;
  value *square = x ? np_ufunc_apply(t, "square", &x, 1, NULL) : NULL;
  if (!square) return NULL;
  r.a = np_array_of(square);
  r.keepdims = keepdims;
  if (!(sum = np_reduce(t, &r))) return NULL;
  loom_value v = reduce_divide(t, np_read(t, np_array_of(sum)), np_plus(t, n, -ddof));
  if (root) v = reduce_root(t, v);
  if (out) return reduce_out(t, out, v);
  return reduce_same(t, sum, v);
}

value *np_var(tracer *t, const np_call *c) { return reduce_var(t, c, false); }
value *np_std(tracer *t, const np_call *c) { return reduce_var(t, c, true); }

static value *reduce_arg(tracer *t, const np_call *c, const char *kind) {
  value *p[4], *out;
  bool keepdims;
  int64_t axis = 0, dims[LOOM_MAX_RANK];
  if (!np_parse(t, c, "a | axis out keepdims", p) || !np_bool_arg(t, p[3], false, &keepdims))
    return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a) return NULL;
  if (!np_out_arg(t, p[2], &out)) return NULL;
  if (!reduce_out_fits(out, LOOM_I64)) return np_unsupported(t, c, REDUCE_OTHER_OUT);
  loom_value v = np_read(t, a);
  bool flat = np_is_none(t, p[1]);
  int rank = a->type.rank, k = 0;
  if (flat) {
    int64_t n = np_count_dim(t, &a->type);
    v = emit_reshape(t, v, 1, &n);
  } else if (!np_int_arg(t, p[1], &axis) || !np_axis(t, axis, rank ? rank : 1, &k)) {
    return NULL;
  } else if (rank == 0) {
    v = emit_reshape(t, v, 1, (int64_t[]){1});
  }
  if (v == LOOM_NO_VALUE) return NULL;
  reduce_not_empty(t, np_dim(emit_type(t, v)->dims[k]));
  if (emit_type(t, v)->dims[k] == 0)
    return trace_raise(t, PyExc_ValueError, "attempt to get %s of an empty sequence", kind);
  if (emit_type(t, v)->dtype == LOOM_BOOL) v = emit_convert(t, v, LOOM_U8);
  v = emit_reduce(t, kind, v, (int64_t[]){k}, 1);
  if (keepdims) {
    for (int i = 0; i < rank; i++)
      dims[i] = flat || i == k ? 1 : a->type.dims[i];
    v = emit_reshape(t, v, rank, dims);
  }
  return out ? reduce_out(t, out, v) : np_result(t, v, NULL);
}

value *np_argmax(tracer *t, const np_call *c) { return reduce_arg(t, c, "argmax"); }
value *np_argmin(tracer *t, const np_call *c) { return reduce_arg(t, c, "argmin"); }

/* ---- scans ---- */

value *np_scan(tracer *t, np_array *a, const char *kind, int axis, loom_dtype dtype, value *out) {
  int64_t strides[LOOM_MAX_RANK];
  if (!reduce_out_fits(out, dtype))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a running reduction with " REDUCE_OTHER_OUT);
  loom_value v = emit_convert(t, np_read(t, a), dtype);
  if (dtype == LOOM_BOOL) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "a running sum of bool");
    return NULL;
  }
  v = emit_scan(t, kind, v, axis);
  if (v == LOOM_NO_VALUE) return NULL;
  if (out) return reduce_out(t, out, v);
  np_layout_elementwise(t, &a, 1, emit_type(t, v), 'K', false,
                        strides); /* accumulate has an iterator too */
  return np_fresh(t, v, strides);
}

static value *reduce_running(tracer *t, const np_call *c, const char *kind) {
  value *p[4];
  int64_t axis = 0;
  int k = 0;
  if (!np_parse(t, c, "a | axis dtype out", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a) return NULL;
  value *out;
  if (!np_out_arg(t, p[3], &out)) return NULL;
  loom_dtype dtype = reduce_sum_dtype(a, out);
  if (!np_is_none(t, p[2]) && !np_dtype_arg(t, p[2], &dtype)) return NULL;
  if (np_is_none(t, p[1])) {
    int64_t n = np_count_dim(t, &a->type);
    value *flat = np_fresh(t, emit_reshape(t, np_read(t, a), 1, &n), NULL);
    if (!flat) return NULL;
    a = np_array_of(flat);
  } else if (a->type.rank == 0) {
    return np_unsupported(t, c, "axis of a 0-d array");
  } else if (!np_int_arg(t, p[1], &axis) || !np_axis(t, axis, a->type.rank, &k)) {
    return NULL;
  }
  return np_scan(t, a, kind, k, dtype, out);
}

value *np_cumsum(tracer *t, const np_call *c) { return reduce_running(t, c, "sum"); }
value *np_cumprod(tracer *t, const np_call *c) { return reduce_running(t, c, "prod"); }

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
