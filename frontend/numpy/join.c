/* Functions that put parts of arrays together, or take arrays apart: concatenate, repeat, roll,
 * array_split. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <string.h>

static value *concatenate_flat(tracer *t, const np_call *c, value **items, Py_ssize_t n) {
  Py_ssize_t numbers = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    np_operand o;
    if (!np_operand_from(t, items[i], &o)) return NULL;
    numbers += !o.array;
    np_array *a = o.array ? o.array : np_as_array(t, items[i]);
    if (!a || !(items[i] = np_flat(t, a, 'C'))) return NULL;
  }
  /* There they are weak in promotion, and what does not fit raises or wraps by its own rules. */
  if (numbers && numbers < n) return np_unsupported(t, c, "of numbers among arrays");
  return items[0];
}

/* Checks ranks and sizes of arrays that are to be joined along `axis`. */
static bool concatenate_fits(tracer *t, np_array *const *arrays, int n, int axis) {
  for (int i = 1; i < n; i++) {
    if (arrays[i]->type.rank != arrays[0]->type.rank) {
      trace_raise(t, PyExc_ValueError,
                  "all the input arrays must have same number of dimensions, but the array at "
                  "index 0 has %d "
                  "dimension(s) and the array at index %d has %d dimension(s)",
                  arrays[0]->type.rank, i, arrays[i]->type.rank);
      return false;
    }
    for (int d = 0; d < arrays[0]->type.rank; d++)
      if (d != axis && size_same(t, arrays[i]->type.dims[d], arrays[0]->type.dims[d]) <= 0) {
        trace_raise(t, PyExc_ValueError,
                    "all the input array dimensions except for the concatenation axis must match "
                    "exactly, but along "
                    "dimension %d, the array at index 0 has size %lld and the array at index %d "
                    "has size %lld",
                    d, (long long)arrays[0]->type.dims[d], i, (long long)arrays[i]->type.dims[d]);
        return false;
      }
  }
  return true;
}

/* What can be indexed: NumPy takes no iterators here. */
bool np_is_sequence(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a) return !a->scalar;
  if (value_is_sequence(v) || list_is_long(v)) return true;
  PyObject *o = value_is_const(v) ? np_known(t, v) : NULL;
  return o && (PyTuple_Check(o) || PyList_Check(o) || PyRange_Check(o));
}

value *np_concatenate(tracer *t, const np_call *c) {
  value *p[5];
  int64_t axis = 0, strides[LOOM_MAX_RANK];
  int k = 0;
  loom_dtype dtype;
  NPY_CASTING casting;
  if (!np_parse(t, c, "arrays | axis out dtype casting", p)) return NULL;
  if (!np_is_sequence(t, p[0]))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of what is no sequence");
  if (!np_is_none(t, p[2]) && !np_is_none(t, p[3])) return np_unsupported(t, c, "out= with dtype=");
  value *tuple = trace_to_tuple(t, p[0]);
  if (!tuple) return NULL;
  int n = (int)tuple->seq.count;
  if (n == 0) return trace_raise(t, PyExc_ValueError, "need at least one array to concatenate");
  value **items = trace_alloc(t, sizeof *items * (size_t)n);
  np_array **arrays = trace_alloc(t, sizeof *arrays * (size_t)n);
  np_operand *operands = trace_alloc(t, sizeof *operands * (size_t)n);
  loom_value *nodes = trace_alloc(t, sizeof *nodes * (size_t)n);
  if (!items || !arrays || !operands || !nodes) return NULL;
  memcpy(items, tuple->seq.items, sizeof *items * (size_t)n);
  bool flat = p[1] && np_is_none(t, p[1]);
  if (flat && !concatenate_flat(t, c, items, n)) return NULL;
  for (int i = 0; i < n; i++) {
    if (!(arrays[i] = np_as_array(t, items[i]))) return NULL;
    operands[i] =
        (np_operand){.array = arrays[i], .node = LOOM_NO_VALUE, .dtype = arrays[i]->type.dtype};
  }
  if (arrays[0]->type.rank == 0)
    return trace_raise(t, PyExc_ValueError, "zero-dimensional arrays cannot be concatenated");
  if ((p[1] && !flat && !np_int_arg(t, p[1], &axis)) ||
      !np_axis(t, axis, arrays[0]->type.rank, &k) || !concatenate_fits(t, arrays, n, k) ||
      !np_result_type(t, operands, n, &dtype))
    return NULL;
  value *out;
  if (!np_out_arg(t, p[2], &out) || !np_casting_arg(t, p[4], NPY_SAME_KIND_CASTING, &casting))
    return NULL;
  if (out) dtype = np_array_of(out)->type.dtype;
  if (!np_is_none(t, p[3]) && !np_dtype_arg(t, p[3], &dtype)) return NULL;
  for (int i = 0; i < n; i++) {
    if (!np_check_cast(t, arrays[i]->type.dtype, dtype, casting)) return NULL;
    if ((nodes[i] = emit_convert(t, np_read(t, arrays[i]), dtype)) == LOOM_NO_VALUE) return NULL;
  }
  loom_value v = emit_concatenate(t, nodes, n, k);
  if (v == LOOM_NO_VALUE) return NULL;
  if (out) {
    np_array *o = np_array_of(out);
    if (o->type.dtype != emit_type(t, v)->dtype || !np_same_sizes(t, &o->type, emit_type(t, v)))
      return np_unsupported(t, c, "out= of other sizes");
    return np_write(t, o, v) ? out : NULL;
  }
  np_layout_concatenate(t, arrays, n, emit_type(t, v), strides);
  return np_fresh(t, v, strides);
}

/* Known counts, one for each element along the axis: the elements at known indices. */
static value *repeat_each(tracer *t, value *v, const int64_t *counts, int n, int axis) {
  npy_intp total = 0, at = 0;
  loom_type type = np_array_of(v)->type;
  for (int i = 0; i < n; i++)
    total = np_plus(t, total, counts[i]);
  type.dims[axis] = total;
  if (trace_pending(t) || !np_has_room(t, &type)) return NULL;
  PyArrayObject *index = (PyArrayObject *)PyArray_SimpleNew(1, &total, NPY_INTP);
  if (!index) return trace_raise_live(t);
  for (int i = 0; i < n; i++)
    for (int64_t k = 0; k < counts[i]; k++)
      ((npy_intp *)PyArray_DATA(index))[at++] = i;
  value *args[3] = {v, np_made(t, (PyObject *)index), np_int(t, axis)};
  np_call take = {.name = "take", .args = args, .count = 3};
  return args[1] && args[2] ? np_take(t, &take) : NULL;
}

/* Ints that NumPy makes an array of: are they what they are as numbers? False after a break: an
 * instance of a class over int converts itself. */
static bool join_are_ints(tracer *t, value *v) {
  Py_ssize_t count = value_is_sequence(v) ? v->seq.count : 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    value *item = value_is_sequence(v) ? v->seq.items[i] : v;
    if (value_is_instance(item) && !np_scalar_of(t, item))
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a number of a class of its own"), false;
  }
  return true;
}

value *np_repeat(tracer *t, const np_call *c) {
  value *p[3];
  int64_t axis = 0, times, dims[LOOM_MAX_RANK], map[LOOM_MAX_RANK];
  int k = 0;
  if (!np_parse(t, c, "a repeats | axis", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || !join_are_ints(t, p[1])) return NULL;
  if (value_is_sequence(p[1]) || np_is_array(p[1])) {
    int n;
    if (np_is_array(p[1]) && !np_known(t, p[1]))
      return np_unsupported(t, c, "counts that are not known");
    if (!np_ints_arg(t, p[1], &n, dims)) return NULL;
    if (n != 1) {
      np_know_sizes(t, a);
      bool flat = np_is_none(t, p[2]);
      if (trace_pending(t)) return NULL;
      if (!flat && (!np_int_arg(t, p[2], &axis) || !np_axis(t, axis, a->type.rank, &k)))
        return NULL;
      int64_t along = flat ? np_elements(&a->type) : a->type.dims[k], least = 0;
      for (int i = 0; i < n; i++)
        least = dims[i] < least ? dims[i] : least;
      if (along != n || least < 0) return np_unsupported(t, c, "with other counts");
      value *from = flat ? np_reshape_to(t, a, 1, &along, 'C') : p[0];
      return from ? repeat_each(t, from, dims, n, k) : NULL;
    }
    times = dims[0];
  } else if (!np_int_arg(t, p[1], &times)) {
    return NULL;
  }
  if (a->type.rank == 0 && !np_is_none(t, p[2])) return np_unsupported(t, c, "axis of a 0-d array");
  if (times < 0)
    return trace_raise(t, PyExc_ValueError, "repeats may not contain negative values.");
  loom_value v = np_read(t, a);
  if (np_is_none(t, p[2])) {
    int64_t n = np_count_dim(t, &a->type);
    v = emit_reshape(t, v, 1, &n);
  } else if (!np_int_arg(t, p[2], &axis) || !np_axis(t, axis, a->type.rank, &k)) {
    return NULL;
  }
  if (v == LOOM_NO_VALUE) return NULL;
  loom_type from = *emit_type(t, v), wide = {.dtype = from.dtype, .rank = from.rank + 1};
  if (wide.rank > LOOM_MAX_RANK) return np_unsupported(t, c, "too many dimensions");
  for (int i = 0; i < from.rank; i++) {
    map[i] = i + (i > k);
    wide.dims[map[i]] = dims[i] = from.dims[i];
  }
  wide.dims[k + 1] = times;
  if (!size_admit(t, np_times(t, np_dim(dims[k]), times), &dims[k])) return NULL;
  return np_fresh(t, emit_reshape(t, emit_broadcast(t, v, &wide, map), from.rank, dims), NULL);
}

/* One axis rolled: the last `shift` elements first. */
static loom_value roll_axis(tracer *t, loom_value v, int axis, int64_t shift) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *emit_type(t, v);
  int64_t n = np_dim(type.dims[axis]), starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK],
          sizes[LOOM_MAX_RANK], rest;
  if (n == 0 || shift == 0) return v;
  if (!LOOM_STRIDE_IS_SYM(n)) {
    if ((shift = (shift % n + n) % n) == 0) return v;
  } else if (size_less(t, llabs(shift), n) <= 0) { /* more than once around */
    size_know(t, n);
    return LOOM_NO_VALUE;
  } else if (shift < 0) {
    shift = np_plus(t, shift, n);
  }
  if (!size_minus(t, n, shift, &rest)) return LOOM_NO_VALUE;
  for (int i = 0; i < type.rank; i++) {
    steps[i] = 1;
    sizes[i] = type.dims[i];
  }
  loom_value parts[2];
  starts[axis] = rest;
  if (!size_admit(t, shift, &sizes[axis])) return LOOM_NO_VALUE;
  parts[0] = emit_slice(t, v, starts, sizes, steps);
  starts[axis] = 0;
  if (!size_admit(t, rest, &sizes[axis])) return LOOM_NO_VALUE;
  parts[1] = emit_slice(t, v, starts, sizes, steps);
  return parts[0] == LOOM_NO_VALUE || parts[1] == LOOM_NO_VALUE
             ? LOOM_NO_VALUE
             : emit_concatenate(t, parts, 2, axis);
}

value *np_roll(tracer *t, const np_call *c) {
  value *p[3];
  int64_t shifts[LOOM_MAX_RANK], axes[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  int ns, na, axis;
  if (!np_parse(t, c, "a shift | axis", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || !join_are_ints(t, p[1]) || !np_ints_arg(t, p[1], &ns, shifts)) return NULL;
  loom_value v = np_read(t, a);
  if (np_is_none(t, p[2])) {
    /* As NumPy: the flat array is rolled and given the old sizes, a view of it. */
    int64_t n = np_count_dim(t, &a->type);
    if (ns != 1) return np_unsupported(t, c, "several shifts without axes");
    value *flat = np_fresh(t, roll_axis(t, emit_reshape(t, v, 1, &n), 0, shifts[0]), NULL);
    if (!flat) return NULL;
    memcpy(axes, a->type.dims, sizeof axes);
    return np_reshape_to(t, np_array_of(flat), a->type.rank, axes, 'C');
  }
  if (!np_ints_arg(t, p[2], &na, axes)) return NULL;
  if (ns == 0 || na == 0) return np_unsupported(t, c, "without shifts or axes");
  int n = ns > na ? ns : na;
  if ((ns != n && ns != 1) || (na != n && na != 1))
    return np_unsupported(t, c, "shifts and axes of several lengths");
  for (int i = 0; i < n; i++) {
    if (!np_axis(t, axes[na == 1 ? 0 : i], a->type.rank, &axis)) return NULL;
    v = roll_axis(t, v, axis, shifts[ns == 1 ? 0 : i]);
  }
  np_layout_copy(t, a, &a->type, 'K', strides);
  return np_fresh(t, v, strides);
}

#define SPLIT_PARTS 64

/* np.array_split into so many parts, where the size is symbolic: the first ones are longer by one.
 */
value *np_array_split(tracer *t, const np_call *c) {
  value *p[3], *parts[SPLIT_PARTS];
  int64_t axis = 0, count;
  int along;
  Py_ssize_t all = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  if (!np_are_symbolic(t, c->args, all)) return trace_not_implemented(t);
  if (!np_parse(t, c, "ary indices_or_sections | axis", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  if (!a || value_is_number(p[1]) || np_is_array(p[1]) || !value_is_whole(p[1]))
    return trace_not_implemented(t);
  if (!np_int_arg(t, p[1], &count) || (p[2] && !np_int_arg(t, p[2], &axis)) ||
      !np_axis(t, axis, a->type.rank, &along))
    return NULL;
  if (count < 1 || count > SPLIT_PARTS || !LOOM_DIM_IS_SYM(a->type.dims[along]))
    return trace_not_implemented(t);
  int64_t n = np_dim(a->type.dims[along]), each, extra, starts[LOOM_MAX_RANK] = {0};
  int64_t sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK], from = 0;
  if (!size_op(t, LOOM_EXPR_FLOORDIV, n, count, &each) ||
      !size_op(t, LOOM_EXPR_MOD, n, count, &extra))
    return NULL;
  for (int i = 0; i < a->type.rank; i++) {
    sizes[i] = a->type.dims[i];
    steps[i] = 1;
  }
  for (int64_t i = 0; i < count; i++) {
    int64_t more = 0, to;
    if (extra && !size_op(t, LOOM_EXPR_MIN, extra, i + 1, &more)) return NULL;
    to = np_plus(t, np_times(t, each, i + 1), more);
    starts[along] = from;
    int64_t size;
    if (!size_minus(t, to, from, &size) || !size_admit(t, size, &sizes[along])) return NULL;
    if (!(parts[i] = np_view_slice(t, a, starts, sizes, steps))) return NULL;
    from = to;
  }
  return value_list(t, parts, count);
}
