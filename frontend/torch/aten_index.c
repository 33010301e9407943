/* ATen ops that read or write at positions given by tensors.
 *
 * All of them become one loom.gather or loom.scatter along one axis: the indexed axes are joined to
 * one, and the indices to positions in it. A position out of bounds is made one that the kernel
 * reports, so that joining cannot turn a wrong index into another element. */
#include "frontend/torch/torch.h"

#include <string.h>

static const loom_type *index_type(fx_call *c, int i) {
  loom_value v = fx_tensor(c, i);
  return v == LOOM_NO_VALUE ? &c->types[0] : loom_build_type(c->b, v);
}

static loom_value index_gather(fx_call *c, loom_value v, loom_value indices, int axis) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis},
                        {.kind = LOOM_ATTR_STR, .str = "raise"}};
  return loom_build(c->b, LOOM_OP_GATHER, (loom_value[]){v, indices}, 2, attrs, 2, NULL, 0);
}

/* The int64 indices, with what lies outside [-n, n) (or outside [0, n) where negative ones are
 * wrong) replaced by a position that no axis has; negative ones counted from the end. */
static loom_value index_checked(fx_call *c, loom_value indices, int64_t n, bool negative) {
  loom_builder *b = c->b;
  loom_value v = loom_build_convert(b, indices, LOOM_I64);
  if (v == LOOM_NO_VALUE) return v;
  const loom_type type = *loom_build_type(b, v);
  loom_value zero = loom_build_int(b, &type, 0), size = loom_build_int(b, &type, n);
  loom_value never = loom_build_int(b, &type, INT64_MAX / 2);
  if (negative) {
    loom_value from_end = loom_build2(b, LOOM_OP_ADD, v, size);
    v = loom_build_select(b, loom_build_compare(b, "lt", v, zero), from_end, v);
  }
  loom_value low = loom_build_compare(b, "lt", v, zero);
  loom_value high = loom_build_compare(b, "ge", v, size);
  return loom_build_select(b, loom_build2(b, LOOM_OP_OR, low, high), never, v);
}

/* ---- one index tensor along one axis ------------------------------------------------------------
 */

bool aten_embedding(fx_call *c, loom_value *out) {
  loom_dim n = index_type(c, 0)->dims[0];
  if (LOOM_DIM_IS_SYM(n)) return fx_decline(c, "a table of unknown size");
  out[0] = index_gather(c, fx_tensor(c, 0), index_checked(c, fx_tensor(c, 1), n, false), 0);
  return true;
}

bool aten_index_select(fx_call *c, loom_value *out) {
  int axis;
  const loom_type *from = index_type(c, 0);
  if (!fx_axis(c, 1, from->rank, &axis)) return false;
  if (index_type(c, 2)->rank != 1 || !from->rank) return fx_decline(c, "a 0-d operand");
  if (LOOM_DIM_IS_SYM(from->dims[axis])) return fx_decline(c, "an axis of unknown size");
  loom_value at = index_checked(c, fx_tensor(c, 2), from->dims[axis], false);
  out[0] = index_gather(c, fx_tensor(c, 0), at, axis);
  return true;
}

/* Positions in the flattened operand 0: `index` tells the coordinate along `axis`, its own place
 * the others. */
static loom_value index_flat(fx_call *c, loom_value index, int axis) {
  loom_builder *b = c->b;
  const loom_type from = *index_type(c, 0);
  if (index == LOOM_NO_VALUE) return index;
  const loom_type *shape = loom_build_type(b, index);
  const loom_type places = loom_type_make(LOOM_I64, shape->rank, shape->dims);
  loom_value at = index_checked(c, index, from.dims[axis], false);
  loom_value flat = loom_build_int(b, &places, 0);
  int64_t stride = 1;
  for (int i = from.rank - 1; i >= 0; i--) {
    loom_value coordinate = i == axis ? at : loom_build_iota(b, &places, i);
    loom_value scaled = loom_build2(b, LOOM_OP_MUL, coordinate, loom_build_int(b, &places, stride));
    flat = loom_build2(b, LOOM_OP_ADD, flat, scaled);
    stride *= from.dims[i];
  }
  /* What was out of bounds stays so, although the product may have wrapped. */
  loom_value wrong = loom_build_compare(b, "ge", at, loom_build_int(b, &places, from.dims[axis]));
  return loom_build_select(b, wrong, loom_build_int(b, &places, INT64_MAX), flat);
}

/* The number of elements of operand 0 and the axis at argument 1. */
static bool index_line(fx_call *c, int *axis, loom_dim *elements) {
  const loom_type *from = index_type(c, 0);
  if (!fx_axis(c, 1, from->rank, axis)) return false;
  *elements = loom_type_elements(from);
  return (from->rank && *elements > 0) || fx_decline(c, "a size that is unknown or 0");
}

/* gather(self, dim, index). */
bool aten_gather(fx_call *c, loom_value *out) {
  int axis;
  loom_dim elements;
  if (!index_line(c, &axis, &elements)) return false;
  loom_value line = loom_build_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  out[0] = index_gather(c, line, index_flat(c, fx_tensor(c, 2), axis), 0);
  return true;
}

/* ---- scatters -------------------------------------------------------------------------------- */

static loom_value index_scatter(fx_call *c, const char *combine, loom_value v, loom_value indices,
                                loom_value updates) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = 0}, {.kind = LOOM_ATTR_STR, .str = combine}};
  return loom_build(c->b, LOOM_OP_SCATTER, (loom_value[]){v, indices, updates}, 3, attrs, 2, NULL,
                    0);
}

/* The part of `src` that lies under an index of this shape. */
static loom_value index_cut(fx_call *c, loom_value src, const loom_type *shape) {
  for (int i = 0; i < shape->rank; i++)
    src = loom_build_slice(c->b, src, i, 0, shape->dims[i], 1);
  return src;
}

/* scatter.src, scatter.value, scatter_add(self, dim, index, src): `text` is how they combine. */
bool aten_scatter(fx_call *c, loom_value *out) {
  int axis;
  loom_dim elements;
  if (!index_line(c, &axis, &elements)) return false;
  const loom_type from = c->types[0], shape = *index_type(c, 2);
  loom_type updates = loom_type_make(from.dtype, shape.rank, shape.dims);
  if (shape.rank != from.rank || loom_type_elements(&shape) < 0)
    return fx_decline(c, "an index of unknown size");
  if (loom_type_elements(&shape) == 0) return aten_same(c, out);
  loom_value src = fx_is_tensor(c, 3) ? index_cut(c, fx_tensor(c, 3), &shape)
                                      : fx_operand(c, 3, from.dtype, &updates);
  loom_value line = loom_build_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  src = loom_build_convert(c->b, src, from.dtype);
  line = index_scatter(c, c->text, line, index_flat(c, fx_tensor(c, 2), axis), src);
  out[0] = loom_build_reshape(c->b, line, from.rank, from.dims);
  return true;
}

/* embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq). */
bool aten_embedding_backward(fx_call *c, loom_value *out) {
  loom_builder *b = c->b;
  int64_t padding;
  bool by_frequency;
  if (!fx_int(c, 3, &padding) || !fx_bool(c, 4, &by_frequency)) return false;
  if (by_frequency) return fx_decline(c, "scaled by frequency");
  loom_type type = c->types[0];
  loom_value indices = index_checked(c, fx_tensor(c, 1), type.dims[0], false);
  loom_value grad = fx_tensor(c, 0);
  if (indices == LOOM_NO_VALUE || grad == LOOM_NO_VALUE) return false;
  const loom_type places = *loom_build_type(b, indices), shape = *loom_build_type(b, grad);
  type.dtype = fx_compute_dtype(type.dtype);
  grad = loom_build_convert(b, grad, type.dtype);
  if (padding >= 0) {
    loom_value kept = loom_build_compare(b, "ne", indices, loom_build_int(b, &places, padding));
    int64_t map[LOOM_MAX_RANK];
    for (int i = 0; i < places.rank; i++)
      map[i] = i;
    loom_type zeros = loom_type_make(type.dtype, shape.rank, shape.dims);
    kept = loom_build_broadcast(b, kept, shape.rank, shape.dims, map);
    grad = loom_build_select(b, kept, grad, loom_build_int(b, &zeros, 0));
  }
  loom_value v = index_scatter(c, "add", loom_build_int(b, &type, 0), indices, grad);
  out[0] = loom_build_convert(b, v, c->types[0].dtype);
  return out[0] != LOOM_NO_VALUE;
}

/* ---- index.Tensor: several index tensors ----------------------------------------------------- */

typedef struct index_axes {
  int64_t perm[LOOM_MAX_RANK];  /* indexed axes first */
  loom_value at[LOOM_MAX_RANK]; /* the index of each indexed axis */
  int64_t sizes[LOOM_MAX_RANK]; /* and its size */
  int count, first;             /* indexed axes; where their result goes */
  loom_type places;             /* int64, the indices' common shape */
} index_axes;

static bool index_collect(fx_call *c, PyObject *list, index_axes *x) {
  const loom_type from = *index_type(c, 0);
  Py_ssize_t given = PySequence_Fast_GET_SIZE(list);
  int last = -1, rest = 0, others[LOOM_MAX_RANK];
  x->first = -1;
  for (int i = 0; i < from.rank; i++) {
    PyObject *item = i < given ? PySequence_Fast_GET_ITEM(list, i) : Py_None;
    const fx_value *v = item == Py_None ? NULL : fx_value_of(c->im, item);
    if (!v) {
      others[rest++] = i;
      continue;
    }
    if (v->kind != FX_TENSOR || !loom_dtype_is_integer(loom_build_type(c->b, v->value)->dtype))
      return fx_decline(c, "a mask as index");
    if (LOOM_DIM_IS_SYM(from.dims[i])) return fx_decline(c, "an axis of unknown size");
    if (x->first < 0) x->first = i;
    if (last >= 0 && last != i - 1) x->first = 0; /* apart: the result comes first */
    last = i;
    x->sizes[x->count] = from.dims[i];
    x->at[x->count] = v->value;
    x->perm[x->count++] = i;
  }
  for (int i = 0; i < rest; i++)
    x->perm[x->count + i] = others[i];
  return x->count > 0 || fx_decline(c, "no index tensor");
}

/* The common shape of the indices, right-aligned as they broadcast. */
static bool index_places(fx_call *c, index_axes *x) {
  x->places = loom_type_make(LOOM_I64, 0, NULL);
  for (int k = 0; k < x->count; k++) {
    int rank = loom_build_type(c->b, x->at[k])->rank;
    if (rank > x->places.rank) x->places.rank = rank;
  }
  for (int i = 0; i < x->places.rank; i++)
    x->places.dims[i] = 1;
  for (int k = 0; k < x->count; k++) {
    const loom_type *type = loom_build_type(c->b, x->at[k]);
    int shift = x->places.rank - type->rank;
    for (int i = 0; i < type->rank; i++)
      if (type->dims[i] != 1) x->places.dims[shift + i] = type->dims[i];
  }
  return true;
}

/* Positions in the joined axes. */
static loom_value index_joined(fx_call *c, const index_axes *x) {
  loom_builder *b = c->b;
  const loom_type *places = &x->places;
  loom_value flat = loom_build_int(b, places, 0), wrong = LOOM_NO_VALUE;
  for (int k = 0; k < x->count; k++) {
    loom_value at = index_checked(c, x->at[k], x->sizes[k], true);
    at = loom_build_broadcast_to(b, at, places->rank, places->dims);
    loom_value bad = loom_build_compare(b, "ge", at, loom_build_int(b, places, x->sizes[k]));
    wrong = k ? loom_build2(b, LOOM_OP_OR, wrong, bad) : bad;
    flat = loom_build2(b, LOOM_OP_MUL, flat, loom_build_int(b, places, x->sizes[k]));
    flat = loom_build2(b, LOOM_OP_ADD, flat, at);
  }
  return loom_build_select(b, wrong, loom_build_int(b, places, INT64_MAX), flat);
}

/* The operand with its indexed axes first and joined. */
static loom_value index_operand(fx_call *c, const index_axes *x, loom_type *out) {
  const loom_type from = *index_type(c, 0);
  *out = loom_type_make(from.dtype, 1, (loom_dim[]){1});
  for (int k = 0; k < x->count; k++)
    out->dims[0] *= x->sizes[k];
  for (int i = x->count; i < from.rank; i++)
    out->dims[out->rank++] = from.dims[x->perm[i]];
  loom_value v = loom_build_transpose(c->b, fx_tensor(c, 0), x->perm);
  return loom_build_reshape(c->b, v, out->rank, out->dims);
}

bool aten_index(fx_call *c, loom_value *out) {
  index_axes x = {.count = 0};
  loom_type joined;
  if (!PyList_Check(c->args[1]) && !PyTuple_Check(c->args[1])) return fx_decline(c, "no list");
  if (!index_collect(c, c->args[1], &x) || !index_places(c, &x)) return false;
  loom_value v = index_operand(c, &x, &joined);
  v = index_gather(c, v, index_joined(c, &x), 0);
  /* places, then the other axes: places move behind the first `x.first` of these. */
  int64_t perm[LOOM_MAX_RANK];
  int places = x.places.rank, rank = c->types[0].rank;
  for (int i = 0; i < rank; i++)
    perm[i] = i < x.first ? places + i : i < x.first + places ? i - x.first : i;
  out[0] = loom_build_transpose(c->b, v, perm);
  return true;
}

/* index_put with one mask of leading axes and one value: a select. */
static bool index_put_mask(fx_call *c, loom_value mask, bool accumulate, loom_value *out) {
  loom_builder *b = c->b;
  const loom_type type = c->types[0], shape = *loom_build_type(b, mask);
  int64_t map[LOOM_MAX_RANK];
  if (loom_type_elements(index_type(c, 2)) != 1) return fx_decline(c, "a mask as index");
  for (int i = 0; i < shape.rank; i++)
    map[i] = i;
  mask = loom_build_broadcast(b, mask, type.rank, type.dims, map);
  loom_value value = loom_build_reshape(b, fx_tensor(c, 2), 0, NULL);
  value =
      loom_build_broadcast_to(b, loom_build_convert(b, value, type.dtype), type.rank, type.dims);
  if (accumulate) value = loom_build2(b, LOOM_OP_ADD, fx_tensor(c, 0), value);
  out[0] = loom_build_select(b, mask, value, fx_tensor(c, 0));
  return true;
}

/* The only index of a list, when it is a mask; else LOOM_NO_VALUE. */
static loom_value index_mask(fx_call *c, PyObject *list) {
  if (PySequence_Fast_GET_SIZE(list) != 1 || PySequence_Fast_GET_ITEM(list, 0) == Py_None)
    return LOOM_NO_VALUE;
  const fx_value *v = fx_value_of(c->im, PySequence_Fast_GET_ITEM(list, 0));
  bool is = v && v->kind == FX_TENSOR && loom_build_type(c->b, v->value)->dtype == LOOM_BOOL;
  return is ? v->value : LOOM_NO_VALUE;
}

/* The values to put, in the order places, other axes. */
static loom_value index_updates(fx_call *c, const index_axes *x, const loom_type *joined) {
  loom_dim dims[LOOM_MAX_RANK];
  int64_t perm[LOOM_MAX_RANK];
  int places = x->places.rank, rank = places + joined->rank - 1;
  for (int i = 0; i < rank; i++) {
    int other = i < x->first ? i : i - places;
    bool place = i >= x->first && i < x->first + places;
    dims[i] = place ? x->places.dims[i - x->first] : joined->dims[1 + other];
    perm[i] = i < places ? x->first + i : i - places < x->first ? i - places : i;
  }
  loom_value v = loom_build_convert(c->b, fx_tensor(c, 2), joined->dtype);
  return loom_build_transpose(c->b, loom_build_broadcast_to(c->b, v, rank, dims), perm);
}

/* index_put(self, indices, values, accumulate). */
bool aten_index_put(fx_call *c, loom_value *out) {
  index_axes x = {.count = 0};
  loom_type joined;
  bool accumulate;
  int64_t back[LOOM_MAX_RANK];
  loom_dim moved[LOOM_MAX_RANK];
  if (!fx_bool(c, 3, &accumulate)) return false;
  loom_value mask = index_mask(c, c->args[1]);
  if (mask != LOOM_NO_VALUE) return index_put_mask(c, mask, accumulate, out);
  if (!index_collect(c, c->args[1], &x) || !index_places(c, &x)) return false;
  loom_value v = index_operand(c, &x, &joined);
  if (loom_type_elements(&joined) <= 0 || loom_type_elements(&x.places) <= 0)
    return fx_decline(c, "a size that is unknown or 0");
  loom_value updates = index_updates(c, &x, &joined);
  v = index_scatter(c, accumulate ? "add" : "set", v, index_joined(c, &x), updates);
  for (int i = 0; i < c->types[0].rank; i++) {
    back[x.perm[i]] = i;
    moved[i] = c->types[0].dims[x.perm[i]];
  }
  v = loom_build_reshape(c->b, v, c->types[0].rank, moved);
  out[0] = loom_build_transpose(c->b, v, back);
  return true;
}
