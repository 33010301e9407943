/* Functions whose elements are chosen among others, or bounded: where, clip, take, round. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

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

/* ---- np.choose --------------------------------------------------------------------------------
 */

#define CHOOSE_MOST 16 /* arrays to choose from: an element is compared with all numbers */

/* Arrays of one dtype, in a known sequence. */
static bool choose_reads(tracer *t, value *choices, np_operand *o, int *count) {
  if (!value_is_sequence(choices) || choices->seq.count > CHOOSE_MOST || !choices->seq.count)
    return false;
  *count = (int)choices->seq.count;
  for (int i = 0; i < *count; i++) {
    np_array *a = np_array_of(choices->seq.items[i]);
    if (!a || (i && a->type.dtype != o[1].dtype)) return false;
    o[1 + i] = (np_operand){.array = a, .dtype = a->type.dtype};
  }
  return true;
}

/* The index as one of `count`; "raise": where another one is met, the plain function runs. */
static loom_value choose_index(tracer *t, loom_value index, int count, const char *mode) {
  const loom_type type = *emit_type(t, index);
  loom_value low = emit_float(t, &type, 0), high = emit_float(t, &type, count - 1);
  if (!strcmp(mode, "clip")) return emit2(t, LOOM_OP_MIN, emit2(t, LOOM_OP_MAX, index, low), high);
  loom_value out =
      emit2(t, LOOM_OP_OR, emit_compare(t, "lt", index, low), emit_compare(t, "gt", index, high));
  out = emit_reduce_all(t, "or", out);
  return out != LOOM_NO_VALUE && trace_assume(t, out, false) ? index : LOOM_NO_VALUE;
}

/* np.choose(a, choices, out, mode) */
value *np_choose_call(tracer *t, const np_call *c) {
  value *p[4];
  np_operand o[1 + CHOOSE_MOST] = {{0}};
  int count = 0, rank;
  int64_t dims[LOOM_MAX_RANK];
  if (!np_parse(t, c, "a choices | out mode", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  const char *mode = np_is_none(t, p[3]) ? "raise" : np_str_arg(t, p[3]);
  if (trace_pending(t)) return NULL;
  bool fits = a && mode && (!strcmp(mode, "raise") || !strcmp(mode, "clip")) &&
              np_is_none(t, p[2]) && np_elements(&a->type) > 1 &&
              loom_dtype_is_integer(a->type.dtype) && a->type.dtype != LOOM_U64 &&
              choose_reads(t, p[1], o, &count);
  if (!fits) return trace_pending(t) ? NULL : np_host(t, c);
  o[0] = (np_operand){.array = a, .dtype = a->type.dtype};
  if (!np_broadcast(t, o, 1 + count, &rank, dims)) return NULL;
  loom_value index = choose_index(t, emit_convert(t, np_read(t, a), LOOM_I64), count, mode);
  index = index == LOOM_NO_VALUE ? index : emit_broadcast_to(t, index, rank, dims);
  loom_value r = LOOM_NO_VALUE;
  for (int i = 0; i < count && index != LOOM_NO_VALUE; i++) {
    const loom_type type = *emit_type(t, index);
    loom_value one = emit_broadcast_to(t, np_read(t, o[1 + i].array), rank, dims);
    r = i == 0 ? one
               : emit_select(t, emit_compare(t, "eq", index, emit_float(t, &type, i)), one, r);
  }
  return r == LOOM_NO_VALUE ? NULL : np_fresh(t, r, NULL);
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
