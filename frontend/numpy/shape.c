/* Functions that move elements without computing: reshape, transposes, joins, repeats, diagonals. A
 * view comes back wherever NumPy gives one. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/call.h"
#include "frontend/numpy/index.h"
#include "frontend/numpy/size.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "graph/ops.h"

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

/* Are these the sizes that an array has? Where its strides do not follow from them, NumPy's answer
 * tells whether it was asked for what there is. */
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

static value *shape_flat(tracer *t, np_array *a, char order) {
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
  return shape_flat(t, a, order);
}

/* The order in which NumPy's iterator visits axes that it is free to order, the outermost first: by
 * stride, where an axis over which nothing moves stays beside its neighbours of the C order. */
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
                                    : shape_flat(t, np_array_of(v), 'C');
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
  return shape_flat(t, a, order);
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

/* ---- joins ---- */

static value *concatenate_flat(tracer *t, const np_call *c, value **items, Py_ssize_t n) {
  Py_ssize_t numbers = 0;
  for (Py_ssize_t i = 0; i < n; i++) {
    np_operand o;
    if (!np_operand_from(t, items[i], &o)) return NULL;
    numbers += !o.array;
    np_array *a = o.array ? o.array : np_as_array(t, items[i]);
    if (!a || !(items[i] = shape_flat(t, a, 'C'))) return NULL;
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

/* a.repeat(n, axis): each element n times in a row. */
value *np_repeat(tracer *t, const np_call *c) {
  value *p[3];
  int64_t axis = 0, times, dims[LOOM_MAX_RANK], map[LOOM_MAX_RANK];
  int k = 0;
  if (!np_parse(t, c, "a repeats | axis", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a) return NULL;
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

/* Absent, or one of the kinds by its full name: NumPy refuses most of what is anything else. */
static bool sort_kind_is_plain(tracer *t, value *v) {
  static const char *const kinds[] = {"quicksort", "mergesort", "heapsort", "stable"};
  if (np_is_none(t, v)) return true;
  const char *kind = np_str_arg(t, v);
  for (size_t i = 0; kind && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i]) == 0) return true;
  return false;
}

/* a.sort(axis): in place. */
value *np_sort_method(tracer *t, const np_call *c) {
  value *p[5];
  int64_t axis = -1;
  int k;
  if (!np_parse(t, c, "a | axis kind order stable", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  if (!a || a->scalar || !np_is_none(t, p[3])) return np_unsupported(t, c, "with an order");
  if (!sort_kind_is_plain(t, p[2])) return np_unsupported(t, c, "with such a kind");
  PyObject *stable = p[4] && !np_is_array(p[4]) ? np_known(t, p[4]) : NULL;
  if (p[4] && (p[2] || (stable != Py_None && stable != Py_True && stable != Py_False)))
    return np_unsupported(t, c, "with such a stable=");
  if ((p[1] && !np_int_arg(t, p[1], &axis)) || !np_axis(t, axis, a->type.rank, &k)) return NULL;
  loom_attr attrs[2] = {attr_int(k), {.kind = LOOM_ATTR_BOOL}};
  loom_value v = np_read(t, a);
  if (v == LOOM_NO_VALUE) return NULL;
  return np_write(t, a, trace_node(t, LOOM_OP_SORT, &v, 1, attrs, 2, NULL))
             ? value_const(t, Py_None)
             : NULL;
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
  if (!a || !np_ints_arg(t, p[1], &ns, shifts)) return NULL;
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
    if (d) np_array_of(d)->offset = np_plus(t, a->offset, start);
    return d;
  }
  if (LOOM_STRIDE_IS_SYM(n)) return size_know(t, n), NULL;
  if (!size_admit(t, np_times(t, m, n), &dims[rank - 2])) return NULL;
  value *flat = np_view_reshape(t, a, rank - 1, dims, strides);
  if (!flat) return NULL;
  if (!size_admit(t, length, &dims[rank - 2])) return NULL;
  starts[rank - 2] = length ? down * n + right : 0;
  steps[rank - 2] = n + 1;
  value *v = np_view_slice(t, np_array_of(flat), starts, dims, steps);
  if (!v) return NULL;
  np_array *d = np_array_of(v);
  d->offset = np_plus(t, a->offset, start);
  d->strides[rank - 2] = stride;
  d->writeable = false;
  return v;
}

value *np_diagonal(tracer *t, const np_call *c) {
  value *p[4];
  int64_t offset = 0, axes[2] = {0, 1}, perm[LOOM_MAX_RANK];
  int x, y, n = 0;
  if (!np_parse(t, c, "a | offset axis1 axis2", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || (p[1] && !np_c_int_arg(t, p[1], &offset)) || (p[2] && !np_int_arg(t, p[2], &axes[0])) ||
      (p[3] && !np_int_arg(t, p[3], &axes[1])))
    return NULL;
  if (a->type.rank < 2)
    return trace_raise(t, PyExc_ValueError, "diag requires an array of at least two dimensions");
  if (!np_axis(t, axes[0], a->type.rank, &x) || !np_axis(t, axes[1], a->type.rank, &y)) return NULL;
  if (x == y) return trace_raise(t, PyExc_ValueError, "axis1 and axis2 cannot be the same");
  for (int i = 0; i < a->type.rank; i++)
    if (i != x && i != y) perm[n++] = i;
  perm[n++] = x;
  perm[n] = y;
  value *v = np_view_transpose(t, a, perm);
  return v ? diagonal_view(t, np_array_of(v), offset) : NULL;
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
  if (a->type.rank == 2) return diagonal_view(t, a, k);
  if (a->type.rank == 1) return diag_matrix(t, a, k);
  return trace_raise(t, PyExc_ValueError, "Input must be 1- or 2-d.");
}
