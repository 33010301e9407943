/* Functions that give the elements another shape: reshape, transposes, broadcasts, windows,
 * diagonals. A view comes back wherever NumPy gives one. */
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
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_shapes.h"

#include <string.h>

char np_order_arg(tracer *t, value *v, char missing) {
  if (np_is_none(t, v)) return trace_pending(t) ? 0 : missing;
  const char *text = np_str_arg(t, v);
  char order = text && strlen(text) == 1 ? (char)Py_TOUPPER(*text) : 0;
  if (order && strchr("KACF", order)) return order;
  trace_break(t, BREAK_NUMPY_FUNCTION, "an order that is not known");
  return 0;
}

value *np_copy(tracer *t, np_array *a, loom_dtype dtype, char order) {
  loom_value v = emit_convert(t, np_read(t, a), dtype);
  int64_t strides[LOOM_MAX_RANK];
  if (v == LOOM_NO_VALUE) return NULL;
  if (a->scalar) return np_result(t, v, NULL);
  np_layout_copy(t, a, emit_type(t, v), order, strides);
  return np_fresh(t, v, strides);
}

/* ---- reshape ---- */

static bool shape_mismatch(tracer *t, const np_array *a, int rank, const int64_t *numbers) {
  char text[128];
  loom_type asked = {.dtype = a->type.dtype, .rank = rank};
  for (int i = 0; i < rank; i++)
    asked.dims[i] = size_hint(t, numbers[i]);
  trace_raise(t, PyExc_ValueError, "cannot reshape array of size %lld into shape %s",
              (long long)size_hint(t, np_count(t, &a->type)),
              np_shape_text(&asked, text, sizeof text));
  return false;
}

/* Replaces the one size of -1; ValueError where the sizes do not fit. */
static bool shape_complete(tracer *t, const np_array *a, int rank, int64_t *dims) {
  int64_t product = 1, n = np_count(t, &a->type);
  int unknown = -1;
  for (int i = 0; i < rank; i++) {
    int negative = size_less(t, dims[i], 0);
    if (negative < 0) return false;
    if (!negative) {
      product = np_times(t, product, dims[i]);
    } else if (unknown >= 0) {
      trace_raise(t, PyExc_ValueError, "can only specify one unknown dimension");
      return false;
    } else {
      unknown = i;
    }
  }
  if (unknown >= 0) {
    int64_t now = size_hint(t, product);
    if (now <= 0 || size_hint(t, n) % now != 0) return shape_mismatch(t, a, rank, dims);
    if (!size_divide(t, n, product, &dims[unknown])) return false;
  } else if (size_hint(t, product) != size_hint(t, n)) {
    return size_equal(t, product, n) < 0 ? false : shape_mismatch(t, a, rank, dims);
  } else if (product != n) { /* equal in this call only */
    if (size_make_exact(t, product)) return false;
    size_know(t, product);
    size_know(t, n);
    return false;
  }
  for (int i = 0; i < rank; i++)
    if (!size_admit(t, dims[i], &dims[i])) return false;
  return true;
}

/* The elements in the given order with other sizes; Fortran order is C order of the transposes. */
static loom_value shape_values(tracer *t, loom_value v, int rank, const int64_t *dims,
                               bool fortran) {
  if (!fortran || v == LOOM_NO_VALUE) return emit_reshape(t, v, rank, dims);
  int64_t perm[LOOM_MAX_RANK], reversed[LOOM_MAX_RANK];
  int n = emit_type(t, v)->rank;
  for (int i = 0; i < n; i++)
    perm[i] = n - 1 - i;
  v = emit_transpose(t, v, perm);
  for (int i = 0; i < rank; i++)
    reversed[i] = dims[rank - 1 - i];
  v = emit_reshape(t, v, rank, reversed);
  for (int i = 0; i < rank; i++)
    perm[i] = rank - 1 - i;
  return emit_transpose(t, v, perm);
}

static value *shape_fortran_view(tracer *t, np_array *a, int rank, const int64_t *dims,
                                 const int64_t *strides) {
  int64_t perm[LOOM_MAX_RANK], reversed[LOOM_MAX_RANK], back[LOOM_MAX_RANK];
  for (int i = 0; i < a->type.rank; i++)
    perm[i] = a->type.rank - 1 - i;
  value *v = np_view_transpose(t, a, perm);
  for (int i = 0; i < rank; i++) {
    reversed[i] = dims[rank - 1 - i];
    back[i] = strides[rank - 1 - i];
    perm[i] = rank - 1 - i;
  }
  v = v ? np_view_reshape(t, np_array_of(v), rank, reversed, back) : NULL;
  return v ? np_view_transpose(t, np_array_of(v), perm) : NULL;
}

/* Are `dims` the sizes of the array? Symbolic sizes are compared by their values where the strides
 * that NumPy has returned do not follow from the sizes alone. */
static bool shape_is(tracer *t, const np_array *a, const int64_t *dims) {
  bool same = true, told = np_elements(&a->type) == 0 || !np_is_c(t, a);
  for (int i = 0; i < a->type.rank; i++) {
    same &= dims[i] == a->type.dims[i];
    told |= a->type.dims[i] == 1;
  }
  for (int i = 0; i < a->type.rank && !same && told; i++)
    if (size_equal(t, np_dim(dims[i]), np_dim(a->type.dims[i])) <= 0) return false;
  return same || told;
}

value *np_reshape_to(tracer *t, np_array *a, int rank, int64_t *dims, char order) {
  int64_t strides[LOOM_MAX_RANK];
  if (order == 'A') order = np_is_f(t, a) && !np_is_c(t, a) ? 'F' : 'C';
  bool fortran = order == 'F', same = rank == a->type.rank && shape_is(t, a, dims);
  if (trace_pending(t)) return NULL;
  if (same) return np_view_same(t, a); /* NumPy looks at the sizes as they were asked for */
  if (!shape_complete(t, a, rank, dims)) return NULL;
  if (np_reshape_strides(t, a, rank, dims, order, strides)) {
    value *v = fortran ? shape_fortran_view(t, a, rank, dims, strides)
                       : np_view_reshape(t, a, rank, dims, strides);
    if (v && rank == 1) np_array_of(v)->stepped = true; /* NumPy steps over elements of none, too */
    return v;
  }
  /* NumPy copies, and gives a view of the copy. */
  value *copy = np_copy(t, a, a->type.dtype, order);
  if (!copy || !np_reshape_strides(t, np_array_of(copy), rank, dims, order, strides)) return NULL;
  a = np_array_of(copy);
  return fortran ? shape_fortran_view(t, a, rank, dims, strides)
                 : np_view_reshape(t, a, rank, dims, strides);
}

/* Sizes given one by one (method) or as one tuple, and the keywords after them. */
static bool shape_sizes(tracer *t, const np_call *c, int *rank, int64_t *dims) {
  if (c->count == 2) return np_numbers_arg(t, c->args[1], rank, dims);
  *rank = (int)c->count - 1;
  if (*rank == 0) return trace_break(t, BREAK_RAISES, "reshape without sizes") != NULL;
  if (*rank > LOOM_MAX_RANK || *rank < 0)
    return np_unsupported(t, c, "of too many dimensions") != NULL;
  for (int i = 0; i < *rank; i++)
    if (!np_number_arg(t, c->args[1 + i], &dims[i])) return false;
  return true;
}

static value *shape_keyword(const np_call *c, const char *name) {
  for (Py_ssize_t i = 0; c->kwnames && i < PyTuple_GET_SIZE(c->kwnames); i++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(c->kwnames, i), name) == 0)
      return c->args[c->count + i];
  return NULL;
}

/* 'C', 'F' or 'A'; 0 after a failure. */
static char reshape_order(tracer *t, value *v) {
  char order = np_order_arg(t, v, 'C');
  if (order == 'K') trace_break(t, BREAK_RAISES, "the order K, which reshape does not know");
  return order == 'K' ? 0 : order;
}

value *np_reshape(tracer *t, const np_call *c) {
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  char order;
  if (c->method) {
    np_array *a = np_as_array(t, c->args[0]);
    if (shape_keyword(c, "copy")) return np_unsupported(t, c, "copy=");
    if (!a || !shape_sizes(t, c, &rank, dims) ||
        !(order = reshape_order(t, shape_keyword(c, "order"))))
      return NULL;
    if (a->scalar && rank == 0) return c->args[0];
    return np_reshape_to(t, a, rank, dims, order);
  }
  value *p[4];
  if (!np_parse(t, c, "a | shape order copy", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!np_is_none(t, p[3]) || !p[1]) return np_unsupported(t, c, "copy=");
  if (!a || !np_numbers_arg(t, p[1], &rank, dims) || !(order = reshape_order(t, p[2]))) return NULL;
  if (a->scalar && rank == 0 && np_is_array(p[0])) return p[0];
  return np_reshape_to(t, a, rank, dims, order);
}

value *np_flat(tracer *t, np_array *a, char order) {
  int64_t n = np_count_dim(t, &a->type);
  return np_fresh(t, shape_values(t, np_read(t, a), 1, &n, order == 'F'), NULL);
}

/* A copy always. 'K' reads in memory order: the axes sorted by stride. */
value *np_flatten(tracer *t, const np_call *c) {
  value *p[2];
  if (!np_parse(t, c, "a | order", p)) return NULL;
  char order = np_order_arg(t, p[1], 'C');
  np_array *a = order ? np_as_array(t, p[0]) : NULL;
  if (!a) return NULL;
  if (order == 'K' && !np_is_c(t, a)) return np_unsupported(t, c, "order K");
  if (order == 'A') order = np_is_f(t, a) && !np_is_c(t, a) ? 'F' : 'C';
  return np_flat(t, a, order);
}

/* The order in which NumPy's iterator visits the axes, the outermost first: by falling strides. An
 * axis of one element, or with stride 0, stays beside its neighbours in C order. */
static bool ravel_visits(tracer *t, const np_array *a, int64_t *perm) {
  int n = a->type.rank;
  int64_t steps[LOOM_MAX_RANK]; /* magnitudes; 0 where the axis does not say where it belongs */
  for (int i = 0; i < n; i++) {
    int64_t stride = a->strides[i];
    steps[i] = a->type.dims[i] == 1          ? 0
               : size_less(t, stride, 0) > 0 ? np_times(t, stride, -1)
                                             : stride;
  }
  for (int i = n - 1; i >= 0; i--) {
    int at = i, j = i;
    for (; j + 1 < n; j++) {
      int64_t own = steps[i], other = steps[perm[j + 1]];
      if (size_equal(t, own, 0) != 0 || size_equal(t, other, 0) != 0) continue;
      if (size_less(t, own, other) == 0) break; /* the other is the inner one already */
      at = j + 1;
    }
    for (int k = i; k < at; k++)
      perm[k] = perm[k + 1];
    perm[at] = i;
  }
  return !trace_pending(t);
}

/* order='K' of an array that is neither C nor Fortran contiguous. */
static value *ravel_memory_order(tracer *t, np_array *a) {
  int64_t perm[LOOM_MAX_RANK], n = np_count(t, &a->type);
  value *v = ravel_visits(t, a, perm) ? np_view_transpose(t, a, perm) : NULL;
  if (!v) return NULL;
  return np_is_c(t, np_array_of(v)) ? np_reshape_to(t, np_array_of(v), 1, &n, 'C')
                                    : np_flat(t, np_array_of(v), 'C');
}

value *np_ravel(tracer *t, const np_call *c) {
  value *p[2];
  int64_t n;
  if (!np_parse(t, c, "a | order", p)) return NULL;
  char order = np_order_arg(t, p[1], 'C');
  np_array *a = order ? np_as_array(t, p[0]) : NULL;
  if (!a) return NULL;
  if (order == 'A' || order == 'K') {
    bool fortran = np_is_f(t, a) && !np_is_c(t, a);
    if (order == 'K' && !fortran && !np_is_c(t, a)) return ravel_memory_order(t, a);
    order = fortran ? 'F' : 'C';
  }
  n = -1; /* NumPy asks for that as well: no array has it, so that strides are made anew */
  if (order == 'F' ? np_is_f(t, a) : np_is_c(t, a)) return np_reshape_to(t, a, 1, &n, order);
  return np_flat(t, a, order);
}

/* ---- axes ---- */

/* Sizes or axes of a method: all arguments after self, or one tuple. None and nothing: count 0. */
static bool shape_axes(tracer *t, const np_call *c, int rank, int *count, int64_t *perm) {
  uint32_t seen = 0;
  *count = 0;
  if (c->count == 1 || (c->count == 2 && np_is_none(t, c->args[1]))) return true;
  if (!shape_sizes(t, c, count, perm)) return false;
  if (*count != rank) {
    trace_raise(t, PyExc_ValueError, "axes don't match array");
    return false;
  }
  for (int i = 0; i < rank; i++) {
    int axis;
    if (!np_axis(t, perm[i], rank, &axis)) return false;
    if (seen >> axis & 1) {
      trace_raise(t, PyExc_ValueError, "repeated axis in transpose");
      return false;
    }
    seen |= 1u << axis;
    perm[i] = axis;
  }
  return true;
}

value *np_transpose(tracer *t, const np_call *c) {
  int64_t perm[LOOM_MAX_RANK];
  int count;
  if (c->method && c->kwnames) return np_unsupported(t, c, "with keyword arguments");
  value *axes = shape_keyword(c, "axes"), *both[2] = {c->count ? c->args[0] : NULL, axes};
  np_call own = {.name = c->name,
                 .args = axes ? both : c->args,
                 .count = axes ? 2 : c->count,
                 .method = c->method};
  if (c->count < 1 || (c->kwnames && !axes)) return np_unsupported(t, c, "");
  np_array *a = np_as_array(t, c->args[0]);
  if (!a || !shape_axes(t, &own, a->type.rank, &count, perm)) return NULL;
  if (a->scalar) return c->args[0];
  if (count == 0)
    for (int i = 0; i < a->type.rank; i++)
      perm[i] = a->type.rank - 1 - i;
  return np_view_transpose(t, a, perm);
}

value *np_swapaxes(tracer *t, const np_call *c) {
  value *p[3];
  int64_t ends[2], perm[LOOM_MAX_RANK];
  int x, y;
  if (!np_parse(t, c, "a axis1 axis2", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || !np_int_arg(t, p[1], &ends[0]) || !np_int_arg(t, p[2], &ends[1]) ||
      !np_axis(t, ends[0], a->type.rank, &x) || !np_axis(t, ends[1], a->type.rank, &y))
    return NULL;
  for (int i = 0; i < a->type.rank; i++)
    perm[i] = i == x ? y : i == y ? x : i;
  return np_view_transpose(t, a, perm);
}

value *np_squeeze(tracer *t, const np_call *c) {
  value *p[2];
  uint32_t mask = 0;
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  int rank = 0;
  if (!np_parse(t, c, "a | axis", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a) return NULL;
  bool all = np_is_none(t, p[1]);
  if (!all && a->scalar) return np_unsupported(t, c, "of a scalar");
  if (!all && !np_axes_arg(t, p[1], a->type.rank, &mask)) return NULL;
  for (int i = 0; i < a->type.rank; i++) {
    bool drop = all ? a->type.dims[i] == 1 : mask >> i & 1;
    if (drop && a->type.dims[i] != 1)
      return trace_raise(t, PyExc_ValueError,
                         "cannot select an axis to squeeze out which has size not equal to one");
    if (drop) continue;
    dims[rank] = a->type.dims[i];
    strides[rank++] = a->strides[i];
  }
  if (rank == a->type.rank) /* nothing to squeeze out */
    return np_is_array(p[0]) ? p[0] : np_copy(t, a, a->type.dtype, 'K');
  return np_view_reshape(t, a, rank, dims, strides);
}

value *np_broadcast_to(tracer *t, const np_call *c) {
  value *p[3];
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  char text[2][128];
  if (!np_parse(t, c, "array shape | subok", p) || !np_subok_arg(t, p[2])) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || !np_numbers_arg(t, p[1], &rank, dims)) return NULL;
  bool fits = rank >= a->type.rank;
  for (int i = 0; i < rank; i++)
    if (size_less(t, dims[i], 0) > 0)
      return trace_raise(t, PyExc_ValueError,
                         "all elements of broadcast shape must be non-negative");
  if (trace_pending(t) || !np_sizes_admit(t, rank, dims)) return NULL;
  for (int i = 0; fits && i < a->type.rank; i++)
    fits = a->type.dims[i] == 1 || size_same(t, a->type.dims[i], dims[rank - a->type.rank + i]) > 0;
  if (trace_pending(t)) return NULL;
  loom_type asked = type_make(a->type.dtype, rank, dims);
  if (!fits)
    return trace_raise(t, PyExc_ValueError,
                       "operands could not be broadcast together with remapped shapes "
                       "[original->remapped]: %s and "
                       "requested shape %s",
                       np_shape_text(&a->type, text[0], 128), np_shape_text(&asked, text[1], 128));
  return np_view_broadcast(t, a, rank, dims);
}

/* np.lib.stride_tricks.sliding_window_view, read only. */
value *np_sliding_window(tracer *t, const np_call *c) {
  value *p[5];
  int64_t widths[LOOM_MAX_RANK], axes[LOOM_MAX_RANK];
  int count, named, axis;
  bool writeable;
  if (!np_parse(t, c, "x window_shape | axis subok writeable", p) || !np_subok_arg(t, p[3]))
    return NULL;
  np_array *a = np_array_of(p[0]);
  if (!np_bool_arg(t, p[4], false, &writeable) || !np_ints_arg(t, p[1], &count, widths))
    return NULL;
  bool all = np_is_none(t, p[2]);
  if (!all && !np_ints_arg(t, p[2], &named, axes)) return NULL;
  if (all && a) named = a->type.rank;
  if (!a || a->scalar || writeable || named != count || a->type.rank + count > LOOM_MAX_RANK)
    return np_unsupported(t, c, "with these arguments");
  value *v = p[0];
  for (int i = 0; i < count; i++) {
    if (!np_axis(t, all ? i : axes[i], a->type.rank, &axis)) return NULL;
    if (widths[i] < 1 || size_less(t, np_dim(np_array_of(v)->type.dims[axis]), widths[i]) != 0)
      return np_unsupported(t, c, "with a window of no element, or larger than the array");
    if (!(v = np_view_window(t, np_array_of(v), axis, widths[i]))) return NULL;
  }
  return count ? v : np_unsupported(t, c, "without windows");
}

/* All arrays are exact ones: subok= says nothing. */
static bool shape_only_subok(PyObject *kwnames) {
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
  if (c->count > 32 || !shape_only_subok(c->kwnames)) return np_unsupported(t, c, "");
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

/* a.view() of the same dtype. */
value *np_view(tracer *t, const np_call *c) {
  np_array *a = np_array_of(c->args[0]);
  if (c->count != 1 || c->kwnames || !a || a->scalar)
    return np_unsupported(t, c, "of another type");
  return np_view_same(t, a);
}

/* ---- diagonals ---- */

/* The elements (i, i + offset) of the last two dimensions: every (n + 1)th of the two taken as one.
 */
static value *diagonal_view(tracer *t, np_array *a, int64_t offset) {
  int rank = a->type.rank;
  int64_t m = np_dim(a->type.dims[rank - 2]), n = np_dim(a->type.dims[rank - 1]);
  int64_t down = offset < 0 ? -offset : 0, right = offset > 0 ? offset : 0;
  int64_t rows = np_plus(t, m, -down), columns = np_plus(t, n, -right);
  int64_t length = size_less(t, rows, columns) > 0 ? rows : columns;
  if (size_less(t, length, 0) > 0) length = 0;
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK], starts[LOOM_MAX_RANK] = {0},
                                                       steps[LOOM_MAX_RANK];
  for (int i = 0; i < rank; i++) {
    dims[i] = a->type.dims[i];
    strides[i] = a->strides[i];
    steps[i] = 1;
  }
  int64_t stride = np_plus(t, strides[rank - 2], strides[rank - 1]);
  int64_t start = length ? np_plus(t, np_times(t, strides[rank - 2], down),
                                   np_times(t, strides[rank - 1], right))
                         : 0;
  if (trace_pending(t)) return NULL;
  if (LOOM_STRIDE_IS_SYM(n) && length) { /* no step of a slice: that has to be known */
    int64_t first = np_plus(t, np_times(t, n, down), right);
    value *d = np_view_diagonal(t, a, first, np_plus(t, n, 1), length);
    if (d) np_layout_of(d)->offset = np_plus(t, a->offset, start);
    return d;
  }
  if (LOOM_STRIDE_IS_SYM(n)) return size_know(t, n), NULL;
  if (!size_admit(t, np_times(t, m, n), &dims[rank - 2])) return NULL;
  value *flat = np_view_reshape(t, a, rank - 1, dims, strides);
  if (!flat) return NULL;
  if (!size_admit(t, length, &dims[rank - 2])) return NULL;
  starts[rank - 2] = length ? down * n + right : 0;
  steps[rank - 2] = n + 1;
  value *v = np_view_slice(t, np_layout_of(flat), starts, dims, steps);
  if (!v) return NULL;
  np_array *d = np_layout_of(v);
  d->offset = np_plus(t, a->offset, start);
  d->strides[rank - 2] = stride;
  return v;
}

value *np_view_diagonals(tracer *t, np_array *a, int64_t offset, int x, int y) {
  int64_t perm[LOOM_MAX_RANK];
  int n = 0;
  for (int i = 0; i < a->type.rank; i++)
    if (i != x && i != y) perm[n++] = i;
  perm[n++] = x;
  perm[n] = y;
  value *v = np_view_transpose(t, a, perm);
  return v ? diagonal_view(t, np_layout_of(v), offset) : NULL;
}

value *np_diagonal(tracer *t, const np_call *c) {
  value *p[4];
  int64_t offset = 0, axes[2] = {0, 1};
  int x, y;
  if (!np_parse(t, c, "a | offset axis1 axis2", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || (p[1] && !np_c_int_arg(t, p[1], &offset)) || (p[2] && !np_int_arg(t, p[2], &axes[0])) ||
      (p[3] && !np_int_arg(t, p[3], &axes[1])))
    return NULL;
  if (a->type.rank < 2)
    return trace_raise(t, PyExc_ValueError, "diag requires an array of at least two dimensions");
  if (!np_axis(t, axes[0], a->type.rank, &x) || !np_axis(t, axes[1], a->type.rank, &y)) return NULL;
  if (x == y) return trace_raise(t, PyExc_ValueError, "axis1 and axis2 cannot be the same");
  value *v = np_view_diagonals(t, a, offset, x, y);
  if (v) np_array_of(v)->writeable = false;
  return v;
}

/* a.trace(offset, axis1, axis2, dtype, out) */
value *np_trace(tracer *t, const np_call *c) {
  value *p[6];
  if (!np_parse(t, c, "a | offset axis1 axis2 dtype out", p)) return NULL;
  if (!np_is_none(t, p[4]) || !np_is_none(t, p[5])) return np_unsupported(t, c, "dtype= or out=");
  Py_ssize_t n = p[3] ? 4 : p[2] ? 3 : p[1] ? 2 : 1;
  for (Py_ssize_t i = 1; i < n; i++)
    if (!p[i] && !(p[i] = np_int(t, i == 3))) return NULL;
  np_call own = {.name = c->name, .args = p, .count = n, .method = c->method};
  value *d = np_diagonal(t, &own);
  np_reduction r = {.kind = "sum", .a = np_array_of(d)};
  if (!d) return NULL;
  r.mask = 1u << (r.a->type.rank - 1);
  return np_reduce(t, &r);
}

/* np.diag of a vector: the vector spread over columns, kept where row and column agree. */
static value *diag_matrix(tracer *t, np_array *a, int64_t k) {
  int64_t size, low[1] = {k > 0 ? k : 0};
  if (!size_admit(t, np_plus(t, np_dim(a->type.dims[0]), llabs(k)), &size)) return NULL;
  loom_type square = type_make(a->type.dtype, 2, (int64_t[]){size, size}), index = square;
  loom_type zero = type_make(a->type.dtype, 0, NULL);
  index.dtype = LOOM_I64;
  loom_attr attrs[2] = {attr_ints(low, 1), attr_ints((int64_t[]){llabs(k) - low[0]}, 1)};
  loom_value in[2] = {np_read(t, a), emit_constant(t, &zero, 0)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return NULL;
  loom_value padded = trace_node(t, LOOM_OP_PAD, in, 2, attrs, 2, NULL);
  loom_value spread = emit_broadcast_to(t, padded, 2, square.dims);
  loom_value row = emit_iota(t, &index, 0), column = emit_iota(t, &index, 1);
  if (row == LOOM_NO_VALUE || column == LOOM_NO_VALUE) return NULL;
  row = emit2(t, LOOM_OP_ADD, row, emit_float(t, &index, (double)k));
  loom_value on = emit_compare(t, "eq", row, column);
  return np_fresh(t, emit_select(t, on, spread, emit_constant(t, &square, 0)), NULL);
}

value *np_diag(tracer *t, const np_call *c) {
  value *p[2];
  int64_t k = 0;
  if (!np_parse(t, c, "v | k", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || (p[1] && !np_c_int_arg(t, p[1], &k))) return NULL;
  if (a->type.rank == 2) {
    value *v = diagonal_view(t, a, k);
    if (v) np_array_of(v)->writeable = false;
    return v;
  }
  if (a->type.rank == 1) return diag_matrix(t, a, k);
  return trace_raise(t, PyExc_ValueError, "Input must be 1- or 2-d.");
}
