/* ATen ops that order: sort, topk, kthvalue, the medians, searches in sorted sequences, running
 * extremes.
 *
 * loom.sort is stable and puts NaN last, as torch does. torch does not define which of several
 * equal elements topk and kthvalue select, but a model's result may depend on it (a mask of the
 * largest scores after a relu, say): topk follows torch's kernel (native_topk.c), and where the
 * indices of kthvalue are used, torch computes them. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/index_internal.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"

#include <string.h>

/* The axis at argument `i` of operand 0, which is not 0-d and has only known sizes. */
static bool sort_line(fx_call *c, int i, loom_type *type, int *axis) {
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  *type = *loom_emit_type(c->b, v);
  if (!fx_axis(c, i, type->rank, axis)) return false;
  if (!type->rank || loom_type_elements(type) <= 0)
    return fx_decline(c, "a size that is unknown or 0");
  return true;
}

/* Is item `i` of the node's results used at all? What is not known is. */
static bool sort_uses(fx_call *c, int i) {
  PyObject *users = PyObject_GetAttrString(c->node, "users");
  PyObject *list = users ? PySequence_List(users) : NULL;
  bool used = !list;
  for (Py_ssize_t k = 0; list && k < PyList_GET_SIZE(list) && !used; k++) {
    PyObject *args = PyObject_GetAttrString(PyList_GET_ITEM(list, k), "args");
    PyObject *at = args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) == 2
                       ? PyTuple_GET_ITEM(args, 1)
                       : NULL;
    used = !at || !PyLong_Check(at) || PyLong_AsLong(at) == i;
    Py_XDECREF(args);
  }
  Py_XDECREF(list);
  Py_XDECREF(users);
  error_drop();
  return used;
}

static loom_value sort_build(fx_call *c, loom_value v, int axis, bool numbers) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis}, {.kind = LOOM_ATTR_BOOL, .i = numbers}};
  return loom_emit(c->b, LOOM_OP_SORT, &v, 1, attrs, 2, NULL, 0);
}

static loom_value sort_reversed(fx_call *c, loom_value v, int axis) {
  if (v == LOOM_NO_VALUE) return v;
  int64_t n = loom_emit_type(c->b, v)->dims[axis];
  return loom_emit_slice(c->b, v, axis, n - 1, n, -1);
}

/* The elements of `v` at the positions `at` along the axis; both have one shape but for that axis.
 */
static loom_value sort_take(fx_call *c, loom_value v, loom_value at, int axis) {
  loom_emitter *b = c->b;
  if (v == LOOM_NO_VALUE || at == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type from = *loom_emit_type(b, v), places = *loom_emit_type(b, at);
  loom_value flat = loom_emit_int(b, &places, 0);
  int64_t stride = 1;
  for (int i = from.rank - 1; i >= 0; i--) {
    loom_value coordinate = i == axis ? at : loom_emit_iota(b, &places, i);
    loom_value scaled = loom_emit2(b, LOOM_OP_MUL, coordinate, loom_emit_int(b, &places, stride));
    flat = loom_emit2(b, LOOM_OP_ADD, flat, scaled);
    stride *= from.dims[i];
  }
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = 0}, {.kind = LOOM_ATTR_STR, .str = "clip"}};
  v = loom_emit_reshape(b, v, 1, &stride);
  return loom_emit(b, LOOM_OP_GATHER, (loom_value[]){v, flat}, 2, attrs, 2, NULL, 0);
}

/* Sorted along the axis, in either direction: the elements and, where wanted, their numbers. Going
 * down, equal elements keep their order too: sorted backwards and turned around. */
static void sort_both(fx_call *c, int axis, bool down, bool numbers, loom_value *values,
                      loom_value *indices) {
  loom_emitter *b = c->b;
  loom_value v = fx_tensor(c, 0), from = down ? sort_reversed(c, v, axis) : v;
  *indices = LOOM_NO_VALUE;
  if (!numbers) {
    *values = sort_build(c, from, axis, false);
    if (down) *values = sort_reversed(c, *values, axis);
    return;
  }
  loom_value at = sort_build(c, from, axis, true);
  if (at == LOOM_NO_VALUE) return;
  if (down) {
    const loom_type type = *loom_emit_type(b, at);
    loom_value last = loom_emit_int(b, &type, type.dims[axis] - 1);
    at = loom_emit2(b, LOOM_OP_SUB, last, sort_reversed(c, at, axis));
  }
  *indices = at;
  *values = sort_take(c, v, at, axis);
}

/* Result `i` in its declared shape. */
static bool sort_done(fx_call *c, uint32_t i, loom_value v, loom_value *out) {
  out[i] = loom_emit_reshape(c->b, v, c->types[i].rank, c->types[i].dims);
  return out[i] != LOOM_NO_VALUE;
}

/* Torch leaves open which of several equal elements comes first, unless it is asked for a stable
 * order. Where elements of few values make that common, the choice would be another than eager's.
 */
static bool sort_is_open(loom_dtype dtype) {
  return dtype == LOOM_BOOL || loom_dtype_is_half(dtype);
}

/* A result that nothing uses still has to be of its type. */
static bool sort_unused(fx_call *c, uint32_t i, loom_value *out) {
  out[i] = loom_emit_int(c->b, &c->types[i], 0);
  return out[i] != LOOM_NO_VALUE;
}

/* An operand of one element or none, 0-d too, is sorted already. */
static bool sort_trivial(fx_call *c, loom_value *out) {
  out[0] = fx_tensor(c, 0);
  return out[0] != LOOM_NO_VALUE && sort_unused(c, 1, out);
}

static bool sort_call(fx_call *c, int at, bool stable, loom_value *out) {
  loom_type type;
  int axis;
  bool down, numbers = sort_uses(c, 1);
  int64_t count = loom_type_elements(&c->types[0]);
  if (!fx_bool(c, at + 1, &down)) return false;
  if (count == 0 || count == 1) return sort_trivial(c, out);
  if (!sort_line(c, at, &type, &axis)) return false;
  if (numbers && !stable && sort_is_open(type.dtype))
    return fx_decline(c, "indices of equal elements");
  loom_value values = LOOM_NO_VALUE, indices = LOOM_NO_VALUE;
  sort_both(c, axis, down, numbers, &values, &indices);
  out[0] = values;
  if (indices == LOOM_NO_VALUE) return sort_unused(c, 1, out);
  out[1] = indices;
  return values != LOOM_NO_VALUE;
}

/* sort.default(self, dim, descending), sort.stable(self, stable, dim, descending). */
bool aten_sort(fx_call *c, loom_value *out) { return sort_call(c, 1, false, out); }

bool aten_sort_stable(fx_call *c, loom_value *out) {
  bool stable = fx_has(c, 1) && c->args[1] == Py_True;
  return sort_call(c, 2, stable, out);
}

/* topk(self, k, dim, largest, sorted): values and indices, of which torch's kernel takes. */
bool aten_topk(fx_call *c, loom_value *out) {
  int axis;
  int64_t k;
  bool largest, sorted;
  if (!fx_int(c, 1, &k) || !fx_bool(c, 3, &largest) || !fx_bool(c, 4, &sorted)) return false;
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type *type = loom_emit_type(c->b, v);
  if (!type->rank && k == 1) return sort_trivial(c, out);
  if (type->dtype == LOOM_BOOL || loom_dtype_is_complex(type->dtype))
    return fx_decline(c, "elements without an order");
  if (!fx_axis(c, 2, type->rank, &axis)) return false;
  return torch_native_emit(c, torch_topk, (const int[]){0}, 1,
                           (const int64_t[]){k, axis, largest, sorted}, 4, out);
}

/* kthvalue(self, k, dim, keepdim). */
bool aten_kthvalue(fx_call *c, loom_value *out) {
  loom_type type;
  int axis;
  int64_t k;
  bool numbers = sort_uses(c, 1);
  if (!fx_int(c, 1, &k)) return false;
  if (!c->types[0].rank && loom_type_elements(loom_emit_type(c->b, fx_tensor(c, 0))) == 1)
    return sort_done(c, 0, fx_tensor(c, 0), out) && sort_unused(c, 1, out);
  if (!sort_line(c, 2, &type, &axis)) return false;
  if (numbers) return fx_decline(c, "indices of equal elements");
  loom_value values = LOOM_NO_VALUE, indices = LOOM_NO_VALUE;
  sort_both(c, axis, false, numbers, &values, &indices);
  if (!sort_done(c, 0, loom_emit_slice(c->b, values, axis, k - 1, 1, 1), out)) return false;
  if (!numbers) return sort_unused(c, 1, out);
  return sort_done(c, 1, loom_emit_slice(c->b, indices, axis, k - 1, 1, 1), out);
}

/* ---- medians --------------------------------------------------------------------------------- */

/* How many elements along the axis are NaN, with the axis kept, int64. */
static loom_value sort_nans(fx_call *c, loom_value v, int axis) {
  loom_value nan = loom_emit1(c->b, LOOM_OP_IS_NAN, v);
  nan = loom_emit_convert(c->b, nan, LOOM_I64);
  return loom_emit_reduce(c->b, "sum", nan, 1u << axis, true);
}

/* The position of the lower median among the `n` sorted elements: of those that are no NaN
 * (`skip`), else of all when none is NaN and of the first NaN otherwise. */
static loom_value sort_middle(fx_call *c, loom_value v, int axis, bool skip) {
  loom_emitter *b = c->b;
  loom_value nans = sort_nans(c, v, axis);
  if (nans == LOOM_NO_VALUE) return nans;
  const loom_type type = *loom_emit_type(b, nans);
  int64_t n = loom_emit_type(b, v)->dims[axis];
  loom_value all = loom_emit_int(b, &type, n), zero = loom_emit_int(b, &type, 0);
  loom_value kept = loom_emit2(b, LOOM_OP_SUB, all, nans);
  if (!skip)
    return loom_emit_select(b, loom_emit_compare(b, "eq", nans, zero),
                            loom_emit_int(b, &type, (n - 1) / 2), kept);
  loom_value below = loom_emit2(b, LOOM_OP_SUB, kept, loom_emit_int(b, &type, 1));
  below = loom_emit2(b, LOOM_OP_SHR, below, loom_emit_int(b, &type, 1));
  return loom_emit2(b, LOOM_OP_MAX, below, zero);
}

/* The median of `v` along the axis (kept), and its number. */
static loom_value sort_median(fx_call *c, loom_value v, int axis, loom_value *number) {
  bool skip = !strcmp(c->text, "skip"), real = loom_dtype_is_float(loom_emit_type(c->b, v)->dtype);
  loom_value order = sort_build(c, v, axis, true);
  if (order == LOOM_NO_VALUE) return order;
  if (real) {
    *number = sort_take(c, order, sort_middle(c, v, axis, skip), axis);
  } else {
    int64_t n = loom_emit_type(c->b, v)->dims[axis];
    *number = loom_emit_slice(c->b, order, axis, (n - 1) / 2, 1, 1);
  }
  return sort_take(c, v, *number, axis);
}

/* median.dim and nanmedian.dim (`text` "skip") (self, dim, keepdim): values and indices. */
bool aten_median_dim(fx_call *c, loom_value *out) {
  loom_type type;
  int axis;
  loom_value v = fx_tensor(c, 0), number = LOOM_NO_VALUE;
  if (v != LOOM_NO_VALUE && !loom_emit_type(c->b, v)->rank)
    return sort_done(c, 0, v, out) && sort_unused(c, 1, out);
  if (!sort_line(c, 1, &type, &axis)) return false;
  loom_value median = sort_median(c, v, axis, &number);
  return sort_done(c, 0, median, out) && sort_done(c, 1, number, out);
}

/* median and nanmedian(self): of all elements. */
bool aten_median(fx_call *c, loom_value *out) {
  loom_value v = fx_tensor(c, 0), number = LOOM_NO_VALUE;
  if (v == LOOM_NO_VALUE) return false;
  loom_dim all = loom_type_elements(loom_emit_type(c->b, v));
  if (all <= 0) return fx_decline(c, "a size that is unknown or 0");
  v = loom_emit_reshape(c->b, v, 1, &all);
  return sort_done(c, 0, sort_median(c, v, 0, &number), out);
}

/* ---- searches -------------------------------------------------------------------------------- */

/* Where the values belong in the sorted sequences: eager's binary search, step by step, so that
 * also unsorted sequences and NaN give its answers. `base` is where each value's sequence of length
 * `n` begins in the flat `sequence`; `sorter`, when there is one, leads from sorted positions to
 * those in the sequence. */
typedef struct sort_search {
  loom_value sequence, sorter, base, value;
  int64_t n;
  bool right;
} sort_search;

static loom_value sort_flat_take(fx_call *c, loom_value flat, loom_value at) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = 0}, {.kind = LOOM_ATTR_STR, .str = "clip"}};
  return loom_emit(c->b, LOOM_OP_GATHER, (loom_value[]){flat, at}, 2, attrs, 2, NULL, 0);
}

static loom_value sort_find(fx_call *c, const sort_search *s) {
  loom_emitter *b = c->b;
  const loom_type type = *loom_emit_type(b, s->base);
  loom_value low = loom_emit_int(b, &type, 0), high = loom_emit_int(b, &type, s->n);
  loom_value one = loom_emit_int(b, &type, 1);
  for (int64_t left = s->n; left > 0; left >>= 1) {
    loom_value middle = loom_emit2(b, LOOM_OP_SHR, loom_emit2(b, LOOM_OP_ADD, low, high), one);
    loom_value at = loom_emit2(b, LOOM_OP_ADD, s->base, middle);
    if (s->sorter != LOOM_NO_VALUE)
      at = loom_emit2(b, LOOM_OP_ADD, s->base, sort_flat_take(c, s->sorter, at));
    loom_value met = sort_flat_take(c, s->sequence, at);
    loom_value reached = loom_emit_compare(b, s->right ? "gt" : "ge", met, s->value);
    loom_value open = loom_emit_compare(b, "lt", low, high);
    loom_value up = loom_emit2(b, LOOM_OP_AND, open, loom_emit1(b, LOOM_OP_NOT, reached));
    loom_value down = loom_emit2(b, LOOM_OP_AND, open, reached);
    low = loom_emit_select(b, up, loom_emit2(b, LOOM_OP_ADD, middle, one), low);
    high = loom_emit_select(b, down, middle, high);
  }
  return low;
}

/* Are the numbers of a sorter those of elements? Eager torch raises if not. */
static bool sort_check_sorter(fx_call *c, loom_value numbers, loom_dim count) {
  loom_emitter *b = c->b;
  if (numbers == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(b, numbers);
  loom_value first = loom_emit_compare(b, "ge", numbers, loom_emit_int(b, &type, 0));
  loom_value end = fx_number_value(c, &type, loom_stride_of_dim(count));
  loom_value last = loom_emit_compare(b, "lt", numbers, end);
  return refusals_check_all(c, loom_emit2(b, LOOM_OP_AND, first, last));
}

/* Finds operand `value` (a tensor or a number) in the sequences of operand `sequence`. */
static bool sort_search_call(fx_call *c, int sequence, int value, int sorter, bool right,
                             loom_value *out) {
  loom_emitter *b = c->b;
  loom_value line = fx_tensor(c, sequence);
  if (line == LOOM_NO_VALUE) return false;
  const loom_type lines = *loom_emit_type(b, line), shape = c->types[0];
  loom_type type = loom_type_make(LOOM_I64, shape.rank, shape.dims);
  sort_search s = {.right = right, .sorter = LOOM_NO_VALUE};
  loom_dim all = loom_type_elements(&lines);
  if (all == 0) return sort_unused(c, 0, out); /* the only position */
  if (all < 0 || loom_type_elements(&type) < 0) return fx_decline(c, "a size that is unknown");
  if (!fx_is_tensor(c, value) && !loom_dtype_is_float(lines.dtype))
    return fx_decline(c, "a number among integers or bools");
  loom_type values = loom_type_make(lines.dtype, shape.rank, shape.dims);
  if (fx_is_tensor(c, value) && loom_emit_type(b, fx_tensor(c, value))->dtype != lines.dtype)
    return fx_decline(c, "a search among elements of another type");
  s.value = fx_operand(c, value, lines.dtype, &values);
  s.sequence = loom_emit_reshape(b, line, 1, &all);
  s.n = lines.dims[lines.rank - 1];
  if (fx_has(c, sorter) && !sort_check_sorter(c, fx_tensor(c, sorter), s.n)) return false;
  if (fx_has(c, sorter)) s.sorter = loom_emit_reshape(b, fx_tensor(c, sorter), 1, &all);
  s.base = loom_emit_int(b, &type, 0);
  int64_t stride = s.n;
  for (int i = lines.rank - 2; i >= 0; i--) { /* the values have the sequences' leading axes */
    loom_value row =
        loom_emit2(b, LOOM_OP_MUL, loom_emit_iota(b, &type, i), loom_emit_int(b, &type, stride));
    s.base = loom_emit2(b, LOOM_OP_ADD, s.base, row);
    stride *= lines.dims[i];
  }
  out[0] = loom_emit_convert(b, sort_find(c, &s), shape.dtype);
  return out[0] != LOOM_NO_VALUE;
}

/* searchsorted.Tensor and .Scalar(sequence, self, out_int32, right, side, sorter). */
bool aten_searchsorted(fx_call *c, loom_value *out) {
  bool right;
  if (!fx_bool(c, 3, &right)) return false;
  return sort_search_call(c, 0, 1, 5, right || !strcmp(fx_text(c, 4), "right"), out);
}

/* bucketize.Tensor and .Scalar(self, boundaries, out_int32, right). */
bool aten_bucketize(fx_call *c, loom_value *out) {
  bool right;
  if (index_type(c, 1)->rank != 1)
    return fx_decline(c, "boundaries of another rank, which torch refuses");
  return fx_bool(c, 3, &right) && sort_search_call(c, 1, 0, c->count, right, out);
}

/* ---- running extremes ------------------------------------------------------------------------ */

static loom_value sort_scan(fx_call *c, const char *kind, loom_value v, int axis) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = kind}, {.kind = LOOM_ATTR_I64, .i = axis}};
  return loom_emit(c->b, LOOM_OP_SCAN, &v, 1, attrs, 2, NULL, 0);
}

/* cummax and cummin(self, dim) (`text` "max", "min"): values, and the number of the last element
 * so far that equals them. */
bool aten_cumulative_extreme(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type type;
  int axis;
  int64_t count = loom_type_elements(&c->types[0]);
  if (count == 0 || count == 1) return sort_trivial(c, out);
  if (!sort_line(c, 1, &type, &axis)) return false;
  loom_value v = fx_tensor(c, 0);
  v = loom_emit_convert(b, v, type.dtype == LOOM_BOOL ? LOOM_U8 : fx_compute_dtype(type.dtype));
  loom_value run = sort_scan(c, c->text, v, axis);
  loom_value here = loom_emit_compare(b, "eq", v, run);
  if (loom_dtype_is_float(type.dtype))
    here = loom_emit2(b, LOOM_OP_OR, here, loom_emit1(b, LOOM_OP_IS_NAN, v));
  const loom_type places = c->types[1];
  loom_value number = loom_emit_iota(b, &places, axis);
  number = loom_emit_select(b, here, number, loom_emit_int(b, &places, 0));
  out[0] = loom_emit_convert(b, run, type.dtype);
  out[1] = sort_scan(c, "max", number, axis);
  return out[1] != LOOM_NO_VALUE;
}
