/* ATen ops that write at positions given by tensors (index.h). */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/index_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_reductions.h"

#include <math.h>
#include <string.h>

/* ---- scatters -------------------------------------------------------------------------------- */

/* `v` (of a dtype with arithmetic: halves are combined in float32) with slices along the axis
 * combined with `updates`. */
static loom_value scatter_build(fx_call *c, const char *combine, loom_value v, loom_value indices,
                                loom_value updates, int axis) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis},
                        {.kind = LOOM_ATTR_STR, .str = combine}};
  return loom_emit(c->b, LOOM_OP_SCATTER, (loom_value[]){v, indices, updates}, 3, attrs, 2, NULL,
                   0);
}

loom_value index_scatter(fx_call *c, const char *combine, loom_value v, loom_value indices,
                         loom_value updates, int axis) {
  if (v == LOOM_NO_VALUE) return v;
  loom_dtype dtype = loom_emit_type(c->b, v)->dtype, wide = fx_compute_dtype(dtype);
  if (!strcmp(combine, "set")) wide = dtype;
  v = loom_emit_convert(c->b, v, wide);
  v = scatter_build(c, combine, v, indices, loom_emit_convert(c->b, updates, wide), axis);
  return loom_emit_convert(c->b, v, dtype);
}

/* The part of `src` that lies under an index of this shape. */
static loom_value index_cut(fx_call *c, loom_value src, const loom_type *shape) {
  for (int i = 0; i < shape->rank; i++)
    src = loom_emit_slice(c->b, src, i, 0, loom_stride_of_dim(shape->dims[i]), 1);
  return src;
}

/* What scatter ops (self, dim, index, src) have in common: everything in at least one dimension. An
 * index that is smaller along other axes is one into the flat operand. */
typedef struct scatter_call {
  loom_type from, updates; /* `updates`: the dtype of `from`, the shape of the index */
  loom_value operand, at, src;
  int axis;
  bool along; /* an index for each element along the axis */
} scatter_call;

static bool scatter_is_along(const loom_type *from, const loom_type *shape, int axis) {
  bool same = true;
  for (int i = 0; i < from->rank; i++)
    same &= i == axis || from->dims[i] == shape->dims[i];
  return same;
}

static bool scatter_read(fx_call *c, scatter_call *s) {
  int axis;
  loom_dim elements;
  if (!index_line(c, &axis, &elements)) return false;
  s->from = index_type1(c, 0);
  const loom_type shape = index_type1(c, 2);
  if (shape.rank != s->from.rank) return fx_decline(c, "an index of another rank");
  s->updates = loom_type_make(s->from.dtype, shape.rank, shape.dims);
  s->src = fx_is_tensor(c, 3) ? index_cut(c, index_tensor1(c, 3), &shape)
                              : fx_operand(c, 3, s->from.dtype, &s->updates);
  s->src = loom_emit_convert(c->b, s->src, s->from.dtype);
  s->along = scatter_is_along(&s->from, &shape, axis);
  if (s->along) {
    s->axis = axis;
    s->operand = index_tensor1(c, 0);
    s->at = index_checked(c, index_tensor1(c, 2), loom_stride_of_dim(s->from.dims[axis]), false);
    return s->at != LOOM_NO_VALUE;
  }
  s->axis = 0;
  s->operand = loom_emit_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  s->at = index_flat(c, index_tensor1(c, 2), axis);
  return s->at != LOOM_NO_VALUE;
}

/* A result in the shape of operand 0. */
static bool scatter_done(fx_call *c, loom_value v, loom_value *out) {
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return out[0] != LOOM_NO_VALUE;
}

/* One index for each line along the axis: each element of the operand compares its own place with
 * it, so that nothing is written twice and what comes before and behind is fused. One-hot arrays
 * and gradients of losses are such. */
static loom_value scatter_single(fx_call *c, const scatter_call *s, const char *combine) {
  loom_emitter *b = c->b;
  const loom_type from = s->from;
  loom_type places = from, one = *loom_emit_type(b, s->at);
  places.dtype = LOOM_I64;
  loom_value size = fx_number_value(c, &one, loom_stride_of_dim(from.dims[s->axis]));
  loom_value good = loom_emit_compare(b, "lt", s->at, size); /* negative ones have become large */
  good = loom_emit_reduce(b, "and", good, (1u << from.rank) - 1, false);
  if (good == LOOM_NO_VALUE || !index_check(c, good)) return LOOM_NO_VALUE;
  loom_value at = loom_emit_broadcast_to(b, s->at, from.rank, from.dims);
  loom_value update = loom_emit_broadcast_to(b, s->src, from.rank, from.dims);
  loom_value here = loom_emit_compare(b, "eq", at, loom_emit_iota(b, &places, s->axis));
  loom_opcode op = *combine == 'a' ? LOOM_OP_ADD : LOOM_OP_MUL;
  if (strcmp(combine, "set") != 0) {
    loom_dtype wide = fx_compute_dtype(from.dtype);
    update = loom_emit2(b, op, loom_emit_convert(b, s->operand, wide),
                        loom_emit_convert(b, update, wide));
    update = loom_emit_convert(b, update, from.dtype);
  }
  return loom_emit_select(b, here, update, s->operand);
}

static bool scatter_is_single(const scatter_call *s) {
  return s->from.rank > 1 && s->updates.dims[s->axis] == 1 && s->from.dims[s->axis] != 1 &&
         s->along;
}

/* scatter.src, scatter.value, scatter_add(self, dim, index, src): `text` is how they combine, or
 * nothing: argument 4 is. */
bool aten_scatter(fx_call *c, loom_value *out) {
  scatter_call s;
  const char *combine = c->text;
  if (!*combine) combine = !strcmp(fx_text(c, 4), "add") ? "add" : "mul";
  if (loom_type_elements(index_type(c, 2)) == 0) return aten_same(c, out);
  if (!scatter_read(c, &s)) return false;
  if (scatter_is_single(&s)) return scatter_done(c, scatter_single(c, &s, combine), out);
  return scatter_done(c, index_scatter(c, combine, s.operand, s.at, s.src, s.axis), out);
}

/* ---- reductions by index ---- */

/* A reduction by torch's name, and the number that changes nothing. */
typedef struct scatter_kind {
  const char *combine;
  double identity;
  bool mean;
} scatter_kind;

static bool scatter_find(fx_call *c, const char *name, loom_dtype dtype, scatter_kind *out) {
  static const struct {
    const char *name;
    scatter_kind kind;
  } kinds[] = {{"sum", {"add", 0, false}},
               {"mean", {"add", 0, true}},
               {"prod", {"mul", 1, false}},
               {"amax", {"max", -INFINITY, false}},
               {"amin", {"min", INFINITY, false}}};
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].name, name) != 0) continue;
    *out = kinds[i].kind;
    if (dtype == LOOM_BOOL && out->mean) return fx_decline(c, "a mean of bools");
    if (dtype == LOOM_BOOL) /* as numbers: the largest is "any", the smallest "all" */
      *out = i == 0 || i == 3 ? kinds[3].kind : kinds[4].kind;
    return true;
  }
  return fx_decline(c, "an unknown reduction");
}

/* The identity in the shape of `type`: for extremes of integers the end of their range. */
static loom_value scatter_identity(fx_call *c, const scatter_kind *kind, const loom_type *type) {
  int bits = 8 * (int)loom_dtype_size(type->dtype);
  bool is_signed = loom_dtype_is_signed(type->dtype);
  if (loom_dtype_is_float(type->dtype) || !isinf(kind->identity))
    return loom_emit_float(c->b, type, kind->identity);
  int64_t high = (int64_t)(UINT64_MAX >> (64 - bits + is_signed));
  int64_t low = is_signed ? -high - 1 : 0;
  return loom_emit_int(c->b, type, kind->identity < 0 ? low : high);
}

/* `v` reduced with `src` at `at`; without `include` what `v` has there does not count. */
static loom_value scatter_reduce(fx_call *c, const scatter_kind *kind, bool include, loom_value v,
                                 loom_value at, loom_value src, int axis) {
  loom_emitter *b = c->b;
  if (v == LOOM_NO_VALUE || src == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  loom_dtype dtype = loom_emit_type(b, v)->dtype;
  loom_dtype wide = dtype == LOOM_BOOL ? LOOM_U8 : fx_compute_dtype(dtype);
  v = loom_emit_convert(b, v, wide);
  src = loom_emit_convert(b, src, wide);
  if (v == LOOM_NO_VALUE || src == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type type = *loom_emit_type(b, v), updates = *loom_emit_type(b, src);
  if (!include) v = scatter_build(c, "set", v, at, scatter_identity(c, kind, &updates), axis);
  v = scatter_build(c, kind->combine, v, at, src, axis);
  if (kind->mean) {
    loom_value count = loom_emit_int(b, &type, include), one = loom_emit_int(b, &type, 1);
    count = scatter_build(c, "add", count, at, loom_emit_int(b, &updates, 1), axis);
    if (!include) count = loom_emit2(b, LOOM_OP_MAX, count, one);
    v = loom_emit2(b, loom_dtype_is_float(wide) ? LOOM_OP_DIV : LOOM_OP_FLOOR_DIV, v, count);
  }
  return loom_emit_convert(b, v, dtype);
}

/* scatter_reduce.two(self, dim, index, src, reduce, include_self). */
bool aten_scatter_reduce(fx_call *c, loom_value *out) {
  scatter_call s;
  scatter_kind kind;
  bool include;
  if (loom_type_elements(index_type(c, 2)) == 0) return aten_same(c, out);
  if (!fx_bool(c, 5, &include) || !scatter_find(c, fx_text(c, 4), c->types[0].dtype, &kind) ||
      !scatter_read(c, &s))
    return false;
  return scatter_done(c, scatter_reduce(c, &kind, include, s.operand, s.at, s.src, s.axis), out);
}

/* index_reduce(self, dim, index, source, reduce, include_self): whole slices. */
bool aten_index_reduce(fx_call *c, loom_value *out) {
  scatter_kind kind;
  bool include;
  int axis;
  loom_dim elements;
  if (loom_type_elements(index_type(c, 2)) == 0) return aten_same(c, out);
  if (!fx_bool(c, 5, &include) || !scatter_find(c, fx_text(c, 4), c->types[0].dtype, &kind) ||
      !index_line(c, &axis, &elements))
    return false;
  if (kind.mean && loom_dtype_is_half(c->types[0].dtype))
    return fx_decline(c, "a mean of halves, which eager torch rounds after every element");
  loom_value at = index_checked(c, index_tensor1(c, 2), index_type1(c, 0).dims[axis], false);
  loom_value src = index_tensor1(c, 3);
  return scatter_done(c, scatter_reduce(c, &kind, include, index_tensor1(c, 0), at, src, axis),
                      out);
}

/* `v` times argument 4 of index_add. */
static loom_value index_multiple(fx_call *c, loom_value v) {
  double alpha;
  if (v == LOOM_NO_VALUE || !fx_double(c, 4, &alpha)) return LOOM_NO_VALUE;
  if (alpha == 1) return v;
  loom_type type = *loom_emit_type(c->b, v);
  type.dtype = fx_compute_dtype(type.dtype);
  v = loom_emit_convert(c->b, v, type.dtype);
  return loom_emit2(c->b, LOOM_OP_MUL, v, fx_operand(c, 4, type.dtype, &type));
}

#define SCATTER_LONG 256 /* elements of a row from which on updates seldom meet in the same one */

/* Slices of one element along the last axis: as rows of the transposed operand. Updates of a short
 * row would wait for each other. */
static loom_value index_columns(fx_call *c, const char *combine, loom_value at, loom_value src,
                                int axis) {
  int64_t front[LOOM_MAX_RANK], back[LOOM_MAX_RANK];
  for (int i = 0; i <= axis; i++) {
    front[i] = i == 0 ? axis : i - 1;
    back[front[i]] = i;
  }
  loom_value v = loom_emit_transpose(c->b, index_tensor1(c, 0), front);
  src = loom_emit_transpose(c->b, src, front);
  v = index_scatter(c, combine, v, at, src, 0);
  return loom_emit_transpose(c->b, v, back);
}

/* index_add(self, dim, index, source, alpha), index_copy(self, dim, index, source) and
 * index_fill(self, dim, index, value): whole slices. `text` says which; positions count from the
 * end for the last alone. */
bool aten_index_slices(fx_call *c, loom_value *out) {
  const loom_type from = index_type1(c, 0);
  const char *text = c->text;
  bool add = !strcmp(text, "add"), fill = !strcmp(text, "fill");
  int axis;
  if (!add && index_type(c, 2)->dtype != LOOM_I64)
    return fx_decline(c, "an index that is not int64"); /* torch raises */
  if (loom_type_elements(index_type(c, 2)) == 0) return aten_same(c, out);
  if (loom_type_elements(&from) == 0) return fx_decline(c, "a size of 0");
  if (!fx_axis(c, 1, from.rank, &axis)) return false;
  loom_type slices = from;
  slices.dims[axis] = index_type1(c, 2).dims[0];
  loom_value src = fill ? fx_operand(c, 3, from.dtype, &slices) : index_tensor1(c, 3);
  if (add) src = index_multiple(c, src);
  int64_t size = loom_stride_of_dim(from.dims[axis]);
  loom_value at = index_checked(c, index_tensor1(c, 2), size, fill);
  if (src == LOOM_NO_VALUE || at == LOOM_NO_VALUE) return false;
  const char *combine = fill ? "set" : text;
  bool elements = axis > 0 && axis == from.rank - 1; /* a slice is one element */
  if (elements && !LOOM_DIM_IS_SYM(from.dims[axis]) && from.dims[axis] < SCATTER_LONG)
    return scatter_done(c, index_columns(c, combine, at, src, axis), out);
  if (elements) at = fx_spread_line(c, at, axis, &slices);
  loom_value v = index_scatter(c, combine, index_tensor1(c, 0), at, src, axis);
  return scatter_done(c, v, out);
}

/* put(self, index, source, accumulate): operand 0 as if flat. */
bool aten_put(fx_call *c, loom_value *out) {
  bool accumulate;
  if (loom_type_elements(index_type(c, 1)) == 0) return aten_same(c, out);
  if (!fx_bool(c, 3, &accumulate)) return false;
  const loom_type from = index_type1(c, 0), places = index_type1(c, 1);
  loom_dim elements = loom_type_elements(&from);
  if (elements <= 0) return fx_decline(c, "a size that is unknown or 0");
  loom_value at = index_checked(c, index_tensor1(c, 1), elements, true);
  loom_value src = loom_emit_reshape(c->b, fx_tensor(c, 2), places.rank, places.dims);
  loom_value line = loom_emit_reshape(c->b, fx_tensor(c, 0), 1, &elements);
  return scatter_done(c, index_scatter(c, accumulate ? "add" : "set", line, at, src, 0), out);
}

/* ---- masks ----------------------------------------------------------------------------------- */

/* How many true elements a flat mask has up to each place, without that place's own. */
static loom_value scatter_rank(fx_call *c, loom_value mask) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = "sum"}, {.kind = LOOM_ATTR_I64, .i = 0}};
  loom_value ones = loom_emit_convert(c->b, mask, LOOM_I64);
  loom_value sums = loom_emit(c->b, LOOM_OP_SCAN, &ones, 1, attrs, 2, NULL, 0);
  return loom_emit2(c->b, LOOM_OP_SUB, sums, ones);
}

/* masked_scatter(self, mask, source): true places take the elements of `source` in order. Too few
 * of them are an index out of bounds. */
bool aten_masked_scatter(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  const loom_type type = c->types[0];
  loom_dim elements = loom_type_elements(&type), given = loom_type_elements(index_type(c, 2));
  if (elements <= 0 || given <= 0) return fx_decline(c, "a size that is unknown or 0");
  if (index_type(c, 1)->dtype != LOOM_BOOL)
    return fx_decline(c, "a mask of another type, which torch refuses");
  loom_value mask = fx_operand(c, 1, LOOM_BOOL, &type), self = fx_operand(c, 0, type.dtype, &type);
  mask = loom_emit_reshape(b, mask, 1, &elements);
  self = loom_emit_reshape(b, self, 1, &elements);
  loom_type places = loom_type_make(LOOM_I64, 1, &elements);
  loom_value at = index_checked(c, scatter_rank(c, mask), given, false);
  at = loom_emit_select(b, mask, at, loom_emit_int(b, &places, 0));
  loom_value source = loom_emit_reshape(b, fx_tensor(c, 2), 1, &given);
  source = loom_emit_convert(b, index_gather(c, source, at, 0), type.dtype);
  return scatter_done(c, loom_emit_select(b, mask, source, self), out);
}

/* masked_scatter_backward(grad, mask, sizes): the elements at true places in order, then zeros. */
bool aten_masked_scatter_backward(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_dim elements = loom_type_elements(index_type(c, 0));
  int64_t wanted = loom_type_elements(&c->types[0]);
  if (elements <= 0 || wanted <= 0) return fx_decline(c, "a size that is unknown or 0");
  loom_value mask = fx_operand(c, 1, LOOM_BOOL, index_type(c, 0));
  mask = loom_emit_reshape(b, mask, 1, &elements);
  /* What is masked out goes to one place more. */
  loom_type line = loom_type_make(c->types[0].dtype, 1, (loom_dim[]){wanted + 1});
  loom_type places = loom_type_make(LOOM_I64, 1, &elements);
  loom_value rest = loom_emit_int(b, &places, wanted);
  loom_value at = loom_emit_select(b, mask, scatter_rank(c, mask), rest);
  loom_value grad = loom_emit_reshape(b, fx_tensor(c, 0), 1, &elements);
  loom_value v = index_scatter(c, "set", loom_emit_int(b, &line, 0), at,
                               loom_emit_convert(b, grad, line.dtype), 0);
  return scatter_done(c, loom_emit_slice(b, v, 0, 0, wanted, 1), out);
}

/* ---- embeddings and index_put ---------------------------------------------------------------- */

/* embedding_dense_backward(grad, indices, num_weights, padding_idx, scale_grad_by_freq). */
bool aten_embedding_backward(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  int64_t padding;
  bool by_frequency;
  if (!fx_int(c, 3, &padding) || !fx_bool(c, 4, &by_frequency)) return false;
  if (by_frequency) return fx_decline(c, "scaled by frequency");
  loom_type type = c->types[0];
  loom_value indices = index_checked(c, fx_tensor(c, 1), loom_stride_of_dim(type.dims[0]), false);
  loom_value grad = fx_tensor(c, 0);
  if (indices == LOOM_NO_VALUE || grad == LOOM_NO_VALUE) return false;
  const loom_type places = *loom_emit_type(b, indices), shape = *loom_emit_type(b, grad);
  type.dtype = fx_compute_dtype(type.dtype);
  grad = loom_emit_convert(b, grad, type.dtype);
  if (padding >= 0) {
    loom_value kept = loom_emit_compare(b, "ne", indices, loom_emit_int(b, &places, padding));
    int64_t map[LOOM_MAX_RANK];
    for (int i = 0; i < places.rank; i++)
      map[i] = i;
    loom_type zeros = loom_type_make(type.dtype, shape.rank, shape.dims);
    kept = loom_emit_broadcast(b, kept, shape.rank, shape.dims, map);
    grad = loom_emit_select(b, kept, grad, loom_emit_int(b, &zeros, 0));
  }
  loom_value v = index_scatter(c, "add", loom_emit_int(b, &type, 0), indices, grad, 0);
  out[0] = loom_emit_convert(b, v, c->types[0].dtype);
  return out[0] != LOOM_NO_VALUE;
}

/* index_put with one mask of leading axes and one value: a select. */
static bool index_put_mask(fx_call *c, loom_value mask, bool accumulate, loom_value *out) {
  loom_emitter *b = c->b;
  const loom_type type = c->types[0], shape = *loom_emit_type(b, mask);
  int64_t map[LOOM_MAX_RANK];
  if (loom_type_elements(index_type(c, 2)) != 1) return fx_decline(c, "a mask as index");
  for (int i = 0; i < shape.rank; i++)
    map[i] = i;
  mask = loom_emit_broadcast(b, mask, type.rank, type.dims, map);
  loom_value value = loom_emit_reshape(b, fx_tensor(c, 2), 0, NULL);
  value = loom_emit_broadcast_to(b, loom_emit_convert(b, value, type.dtype), type.rank, type.dims);
  if (accumulate) value = loom_emit2(b, LOOM_OP_ADD, fx_tensor(c, 0), value);
  out[0] = loom_emit_select(b, mask, value, fx_tensor(c, 0));
  return true;
}

/* The only index of a list, when it is a mask; else LOOM_NO_VALUE. */
static loom_value index_mask(fx_call *c, PyObject *list) {
  if (PySequence_Fast_GET_SIZE(list) != 1 || PySequence_Fast_GET_ITEM(list, 0) == Py_None)
    return LOOM_NO_VALUE;
  const fx_value *v = fx_value_of(c->im, PySequence_Fast_GET_ITEM(list, 0));
  bool is = v && v->kind == FX_TENSOR && loom_emit_type(c->b, v->value)->dtype == LOOM_BOOL;
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
  loom_value v = loom_emit_convert(c->b, fx_tensor(c, 2), joined->dtype);
  return loom_emit_transpose(c->b, loom_emit_broadcast_to(c->b, v, rank, dims), perm);
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
  if (loom_type_elements(&x.places) == 0) return aten_same(c, out);
  if (loom_type_elements(&joined) == 0) return fx_decline(c, "a size of 0");
  loom_value updates = index_updates(c, &x, &joined);
  v = index_scatter(c, accumulate ? "add" : "set", v, index_joined(c, &x), updates, 0);
  for (int i = 0; i < c->types[0].rank; i++) {
    back[x.perm[i]] = i;
    moved[i] = c->types[0].dims[x.perm[i]];
  }
  v = loom_emit_reshape(c->b, v, c->types[0].rank, moved);
  out[0] = loom_emit_transpose(c->b, v, back);
  return true;
}
