/* ATen ops that move elements: views, slices, joins. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_elements.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

#include <string.h>

static const loom_type *shape_type(fx_call *c, int i) {
  loom_value v = fx_tensor(c, i);
  return v == LOOM_NO_VALUE ? &c->types[0] : loom_emit_type(c->b, v);
}

bool aten_permute(fx_call *c, loom_value *out) {
  int64_t perm[LOOM_MAX_RANK];
  int rank = shape_type(c, 0)->rank, count = fx_ints(c, 1, perm, LOOM_MAX_RANK);
  if (count != rank) return fx_decline(c, "not a permutation");
  for (int i = 0; i < rank; i++)
    perm[i] += perm[i] < 0 ? rank : 0;
  out[0] = loom_emit_transpose(c->b, fx_tensor(c, 0), perm);
  return true;
}

/* t (no axes) and transpose.int (two). */
bool aten_transpose(fx_call *c, loom_value *out) {
  int rank = shape_type(c, 0)->rank, l = 0, r = 1;
  int64_t perm[LOOM_MAX_RANK];
  for (int i = 0; i < rank; i++)
    perm[i] = i;
  if (c->count > 1 && (!fx_axis(c, 1, rank, &l) || !fx_axis(c, 2, rank, &r))) return false;
  if (rank > 1) perm[l] = r, perm[r] = l;
  out[0] = loom_emit_transpose(c->b, fx_tensor(c, 0), perm);
  return true;
}

/* view, reshape, squeeze, unsqueeze: torch has worked out the sizes. */
bool aten_reshape(fx_call *c, loom_value *out) {
  if (shape_type(c, 0)->dtype != c->types[0].dtype) return aten_view_dtype(c, out);
  out[0] = loom_emit_reshape(c->b, fx_tensor(c, 0), c->types[0].rank, c->types[0].dims);
  return true;
}

/* view.dtype: the same bits, where the widths are the same. */
bool aten_view_dtype(fx_call *c, loom_value *out) {
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  loom_dtype from = loom_emit_type(c->b, v)->dtype, to = c->types[0].dtype;
  if (from == to) return out[0] = v, true;
  if (from == LOOM_BOOL || to == LOOM_BOOL || loom_dtype_size(from) != loom_dtype_size(to))
    return fx_decline(c, "a view of another dtype");
  out[0] = loom_emit(c->b, LOOM_OP_BITCAST, &v, 1, NULL, 0, &c->types[0], 1);
  return out[0] != LOOM_NO_VALUE;
}

bool aten_expand(fx_call *c, loom_value *out) {
  out[0] = loom_emit_broadcast_to(c->b, fx_tensor(c, 0), c->types[0].rank, c->types[0].dims);
  return true;
}

bool aten_repeat(fx_call *c, loom_value *out) {
  const loom_type from = *shape_type(c, 0);
  int64_t map[LOOM_MAX_RANK];
  loom_dim times[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  int rank = fx_dims(c, 1, times, LOOM_MAX_RANK / 2), at = 0;
  if (rank < from.rank) return fx_decline(c, "fewer repeats than dimensions");
  for (int i = 0; i < rank; i++) { /* every axis becomes (times, size), joined afterwards */
    int source = i - (rank - from.rank);
    dims[at++] = times[i];
    if (source < 0) continue;
    map[source] = at;
    dims[at++] = from.dims[source];
  }
  loom_value v = loom_emit_broadcast(c->b, fx_tensor(c, 0), at, dims, map);
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return true;
}

/* ---- slices ---- */

/* The start of a slice or an index as a number that counts from the front; declines where its sign
 * depends on the sizes. */
static bool shape_start(fx_call *c, int64_t size, int64_t *start) {
  int64_t low, high;
  loom_stride_range(c->im->graph, *start, &low, &high);
  if (low >= 0) return true;
  if (high >= 0) return fx_decline(c, "a start that may be negative");
  if (!loom_stride_combine(c->im->graph, LOOM_EXPR_ADD, *start, size, start))
    return fx_decline(c, "a size is too complicated");
  loom_stride_range(c->im->graph, *start, &low, &high);
  return low >= 0 || fx_decline(c, "a start that may lie before the first element");
}

/* Of a symbolic slice torch declares the size `length`, so only the start is to be found. Without
 * an end the two make up the whole axis. */
static bool shape_slice_sized(fx_call *c, int64_t size, int64_t length, bool open, int64_t *start,
                              int64_t step) {
  if (step == 1 && length == size) return *start = 0, true;
  if (open && step == 1)
    return loom_stride_minus(c->im->graph, size, length, start) ||
           fx_decline(c, "a size is too complicated");
  return shape_start(c, size, start);
}

/* Start, size and step of slice(dim, start, end, step) at arguments `at`...; the result has (or
 * takes in) `length` elements there, by torch's types. */
static bool shape_slice(fx_call *c, int at, int *axis, const loom_type *part, int64_t *start,
                        int64_t *size, int64_t *step) {
  const loom_type *from = shape_type(c, 0);
  int64_t end = INT64_MAX;
  *start = 0;
  if (!fx_axis(c, at, from->rank, axis) || !fx_int(c, at + 3, step)) return false;
  if (fx_has(c, at + 1) && !fx_number(c, at + 1, start)) return false;
  if (fx_has(c, at + 2) && !fx_number(c, at + 2, &end)) return false;
  int64_t n = loom_stride_of_dim(from->dims[*axis]);
  if (LOOM_STRIDE_IS_SYM(n) || LOOM_STRIDE_IS_SYM(*start) || LOOM_STRIDE_IS_SYM(end)) {
    if (*axis >= part->rank) return fx_decline(c, "a slice of unknown size");
    *size = loom_stride_of_dim(part->dims[*axis]);
    return shape_slice_sized(c, n, *size, end == INT64_MAX, start, *step);
  }
  if (*start < 0) *start += n;
  if (end < 0) end += n;
  *start = *start < 0 ? 0 : *start > n ? n : *start;
  end = end < *start ? *start : end > n ? n : end;
  *size = (end - *start + *step - 1) / *step;
  return true;
}

bool aten_slice(fx_call *c, loom_value *out) {
  int axis;
  int64_t start = 0, size = 0, step = 1;
  if (!shape_slice(c, 1, &axis, &c->types[0], &start, &size, &step)) return false;
  out[0] = loom_emit_slice(c->b, fx_tensor(c, 0), axis, start, size, step);
  return true;
}

/* narrow_copy(self, dim, start, length). */
bool aten_narrow(fx_call *c, loom_value *out) {
  int axis;
  int64_t start;
  const loom_type *from = shape_type(c, 0);
  if (!fx_axis(c, 1, from->rank, &axis) || !fx_int(c, 2, &start)) return false;
  loom_dim size = c->types[0].dims[axis], n = from->dims[axis];
  if (LOOM_DIM_IS_SYM(size) || LOOM_DIM_IS_SYM(n)) return fx_decline(c, "a part of unknown size");
  out[0] = loom_emit_slice(c->b, fx_tensor(c, 0), axis, start < 0 ? start + n : start, size, 1);
  return true;
}

/* unfold(self, dimension, size, step): windows along one axis, their places last. */
bool aten_unfold(fx_call *c, loom_value *out) {
  int axis;
  int64_t size, step, sizes[LOOM_MAX_RANK], strides[LOOM_MAX_RANK], ones[LOOM_MAX_RANK];
  loom_type from = *shape_type(c, 0);
  if (!fx_axis(c, 1, from.rank, &axis) || !fx_int(c, 2, &size) || !fx_int(c, 3, &step))
    return false;
  if (!from.rank) from.dims[from.rank++] = 1;
  if (loom_type_elements(&c->types[0]) <= 0 || 2 * from.rank > LOOM_MAX_RANK)
    return fx_decline(c, "a size that is unknown or 0");
  for (int i = 0; i < from.rank; i++) {
    sizes[i] = i == axis ? size : 1;
    strides[i] = i == axis ? step : 1;
    ones[i] = 1;
  }
  loom_attr attrs[3] = {{.kind = LOOM_ATTR_I64S, .ints = sizes, .count = from.rank},
                        {.kind = LOOM_ATTR_I64S, .ints = strides, .count = from.rank},
                        {.kind = LOOM_ATTR_I64S, .ints = ones, .count = from.rank}};
  loom_value v = loom_emit_reshape(c->b, fx_tensor(c, 0), from.rank, from.dims);
  v = loom_emit(c->b, LOOM_OP_WINDOWS, &v, 1, attrs, 3, NULL, 0);
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return out[0] != LOOM_NO_VALUE;
}

static bool shape_update(fx_call *c, loom_value update, int axis, int64_t start, int64_t step,
                         loom_value *out) {
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK];
  int rank = c->types[0].rank;
  for (int i = 0; i < rank; i++)
    steps[i] = 1;
  starts[axis] = start;
  steps[axis] = step;
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64S, .ints = starts, .count = rank},
                        {.kind = LOOM_ATTR_I64S, .ints = steps, .count = rank}};
  update = loom_emit_convert(c->b, update, c->types[0].dtype);
  out[0] = loom_emit(c->b, LOOM_OP_UPDATE_SLICE, (loom_value[]){fx_tensor(c, 0), update}, 2, attrs,
                     2, NULL, 0);
  return true;
}

/* slice_scatter(self, src, dim, start, end, step). */
bool aten_slice_scatter(fx_call *c, loom_value *out) {
  int axis;
  int64_t start = 0, size = 0, step = 1;
  loom_type type = c->types[0];
  if (!shape_slice(c, 2, &axis, shape_type(c, 1), &start, &size, &step)) return false;
  if (!loom_dim_of_stride(size, &type.dims[axis])) return fx_decline(c, "a negative size");
  loom_value update = fx_operand(c, 1, type.dtype, &type);
  if (size == 0) return aten_same(c, out);
  return shape_update(c, update, axis, start, step, out);
}

static bool shape_index(fx_call *c, int at, int *axis, int64_t *index) {
  const loom_type *from = shape_type(c, 0);
  if (!fx_axis(c, at, from->rank, axis) || !fx_number(c, at + 1, index)) return false;
  return shape_start(c, loom_stride_of_dim(from->dims[*axis]), index);
}

bool aten_select(fx_call *c, loom_value *out) {
  int axis;
  int64_t index;
  if (!shape_index(c, 1, &axis, &index)) return false;
  loom_value v = loom_emit_slice(c->b, fx_tensor(c, 0), axis, index, 1, 1);
  out[0] = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  return true;
}

bool aten_select_scatter(fx_call *c, loom_value *out) {
  int axis;
  int64_t index;
  if (!shape_index(c, 2, &axis, &index)) return false;
  loom_type type = c->types[0];
  type.dims[axis] = 1;
  loom_value update = loom_emit_reshape(c->b, fx_tensor(c, 1), type.rank, type.dims);
  return shape_update(c, update, axis, index, 1, out);
}

/* split_with_sizes, split.Tensor, unbind (`text` "unbind": the axis goes): by the declared sizes.
 */
bool aten_split(fx_call *c, loom_value *out) {
  bool unbind = !strcmp(c->text, "unbind");
  const loom_type from = *shape_type(c, 0);
  int axis;
  int64_t start = 0;
  if (!fx_axis(c, unbind ? 1 : 2, from.rank, &axis)) return false;
  for (uint32_t i = 0; i < c->result_count; i++) {
    int64_t size = unbind ? 1 : loom_stride_of_dim(c->types[i].dims[axis]);
    loom_value part = loom_emit_slice(c->b, fx_tensor(c, 0), axis, start, size, 1);
    out[i] = loom_emit_reshape(c->b, part, c->types[i].rank, c->types[i].dims);
    if (!loom_stride_combine(c->im->graph, LOOM_EXPR_ADD, start, size, &start))
      return fx_decline(c, "a size is too complicated");
  }
  return true;
}

bool aten_flip(fx_call *c, loom_value *out) {
  const loom_type from = *shape_type(c, 0);
  uint32_t axes = 0;
  int64_t list[LOOM_MAX_RANK];
  int count = fx_ints(c, 1, list, LOOM_MAX_RANK);
  if (count < 0) return false;
  for (int i = 0; i < count; i++)
    axes |= 1u << (list[i] < 0 ? list[i] + from.rank : list[i]);
  out[0] = fx_tensor(c, 0);
  for (int i = 0; i < from.rank; i++) {
    if (!(axes >> i & 1)) continue;
    int64_t size = loom_stride_of_dim(from.dims[i]), last;
    if (size == 0) continue;
    if (!loom_stride_minus(c->im->graph, size, 1, &last))
      return fx_decline(c, "a size is too complicated");
    out[0] = loom_emit_slice(c->b, out[0], i, last, size, -1);
  }
  return true;
}

/* ---- joins ----------------------------------------------------------------------------------- */

#define SHAPE_MAX_PARTS 256

bool aten_cat(fx_call *c, loom_value *out) {
  loom_value parts[SHAPE_MAX_PARTS];
  int count = fx_tensors(c, 0, parts, SHAPE_MAX_PARTS), axis, kept = 0;
  if (count < 0 || !fx_axis(c, 1, c->types[0].rank, &axis)) return false;
  for (int i = 0; i < count; i++) {
    const loom_type *type = loom_emit_type(c->b, parts[i]);
    if (type->rank == 1 && type->dims[0] == 0 && c->types[0].rank != 1)
      continue; /* as torch does */
    parts[kept++] = loom_emit_convert(c->b, parts[i], c->types[0].dtype);
  }
  if (!kept) return fx_decline(c, "nothing to join");
  out[0] = loom_emit_concatenate(c->b, parts, (uint32_t)kept, axis);
  return true;
}

bool aten_stack(fx_call *c, loom_value *out) {
  loom_value parts[SHAPE_MAX_PARTS];
  int count = fx_tensors(c, 0, parts, SHAPE_MAX_PARTS), axis;
  if (count < 0 || !fx_axis(c, 1, c->types[0].rank, &axis)) return false;
  loom_type type = c->types[0];
  type.dims[axis] = 1;
  for (int i = 0; i < count; i++) {
    loom_value part = loom_emit_convert(c->b, parts[i], type.dtype);
    parts[i] = loom_emit_reshape(c->b, part, type.rank, type.dims);
  }
  out[0] = loom_emit_concatenate(c->b, parts, (uint32_t)count, axis);
  return true;
}

/* What is added at one side, or cut off there. */
static bool shape_pad_side(fx_call *c, int64_t number, int64_t *added, int64_t *cut) {
  int64_t low, high;
  loom_stride_range(c->im->graph, number, &low, &high);
  *added = low >= 0 ? number : 0;
  if (low >= 0) return true;
  if (high > 0) return fx_decline(c, "a padding that may be negative");
  return loom_stride_combine(c->im->graph, LOOM_EXPR_MUL, number, -1, cut) ||
         fx_decline(c, "a size is too complicated");
}

/* constant_pad_nd(self, pad, value): pairs from the last axis on; negative ones cut. */
bool aten_pad(fx_call *c, loom_value *out) {
  const loom_type from = *shape_type(c, 0);
  int64_t pairs[2 * LOOM_MAX_RANK], low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  int count = fx_numbers(c, 1, pairs, 2 * LOOM_MAX_RANK);
  if (count < 0) return false;
  loom_value v = fx_tensor(c, 0);
  for (int k = 0; k < count / 2; k++) {
    int axis = from.rank - 1 - k;
    int64_t cuts[2] = {0, 0}, n = loom_stride_of_dim(from.dims[axis]), left;
    if (!shape_pad_side(c, pairs[2 * k], &low[axis], &cuts[0]) ||
        !shape_pad_side(c, pairs[2 * k + 1], &high[axis], &cuts[1]))
      return false;
    if (!cuts[0] && !cuts[1]) continue;
    if (!loom_stride_minus(c->im->graph, n, cuts[0], &left) ||
        !loom_stride_minus(c->im->graph, left, cuts[1], &left))
      return fx_decline(c, "a size is too complicated");
    v = loom_emit_slice(c->b, v, axis, cuts[0], left, 1);
  }
  loom_type scalar = loom_type_make(from.dtype, 0, NULL);
  out[0] = loom_emit_pad(c->b, v, fx_operand(c, 2, from.dtype, &scalar), low, high);
  return true;
}

/* ---- diagonals ------------------------------------------------------------------------------- */

/* Where the diagonal (offset, dim1, dim2 at arguments `at`...) lies in the operand with its two
 * axes moved last and joined. */
typedef struct shape_diagonal {
  int64_t perm[LOOM_MAX_RANK], start, step, length;
  loom_dim moved[LOOM_MAX_RANK], joined[LOOM_MAX_RANK];
  int rank;
} shape_diagonal;

static bool shape_find_diagonal(fx_call *c, int at, shape_diagonal *d) {
  const loom_type *from = shape_type(c, 0);
  int64_t offset;
  int row, column, k = 0;
  if (!fx_int(c, at, &offset) || !fx_axis(c, at + 1, from->rank, &row) ||
      !fx_axis(c, at + 2, from->rank, &column))
    return false;
  d->rank = from->rank;
  if (d->rank < 2 || loom_type_elements(from) <= 0)
    return fx_decline(c, "a size that is unknown or 0");
  for (int i = 0; i < d->rank; i++)
    if (i != row && i != column) d->perm[k++] = i;
  d->perm[k++] = row;
  d->perm[k] = column;
  for (int i = 0; i < d->rank; i++)
    d->moved[i] = d->joined[i] = from->dims[d->perm[i]];
  d->joined[d->rank - 2] = from->dims[row] * from->dims[column];
  d->step = from->dims[column] + 1;
  d->start = offset >= 0 ? offset : -offset * from->dims[column];
  int64_t rows = from->dims[row] + (offset < 0 ? offset : 0);
  int64_t columns = from->dims[column] - (offset > 0 ? offset : 0);
  d->length = rows < columns ? rows : columns;
  return true;
}

static loom_value shape_joined(fx_call *c, const shape_diagonal *d) {
  loom_value v = loom_emit_transpose(c->b, fx_tensor(c, 0), d->perm);
  return loom_emit_reshape(c->b, v, d->rank - 1, d->joined);
}

/* diagonal(self, offset, dim1, dim2). */
bool aten_diagonal(fx_call *c, loom_value *out) {
  shape_diagonal d = {0};
  if (!shape_find_diagonal(c, 1, &d)) return false;
  int axis = d.rank - 2;
  int64_t size = c->types[0].dims[axis];
  if (size == 0) return fx_decline(c, "an empty diagonal");
  out[0] = loom_emit_slice(c->b, shape_joined(c, &d), axis, d.start, size, d.step);
  return true;
}

/* diagonal_scatter(self, src, offset, dim1, dim2). */
bool aten_diagonal_scatter(fx_call *c, loom_value *out) {
  shape_diagonal d = {0};
  int64_t back[LOOM_MAX_RANK], starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK];
  if (!shape_find_diagonal(c, 2, &d)) return false;
  if (fx_count(shape_type(c, 1), ~0u) <= 0) return fx_decline(c, "an empty diagonal");
  const loom_type *update_type = shape_type(c, 1);
  bool fits = update_type->rank == d.rank - 1 && update_type->dims[d.rank - 2] == d.length;
  for (int i = 0; fits && i < d.rank - 2; i++)
    fits = update_type->dims[i] == d.moved[i];
  if (!fits) return fx_decline(c, "a diagonal of another size"); /* torch raises */
  for (int i = 0; i < d.rank; i++) {
    back[d.perm[i]] = i;
    steps[i] = 1;
  }
  starts[d.rank - 2] = d.start;
  steps[d.rank - 2] = d.step;
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64S, .ints = starts, .count = d.rank - 1},
                        {.kind = LOOM_ATTR_I64S, .ints = steps, .count = d.rank - 1}};
  loom_value update = loom_emit_convert(c->b, fx_tensor(c, 1), c->types[0].dtype);
  loom_value v = loom_emit(c->b, LOOM_OP_UPDATE_SLICE, (loom_value[]){shape_joined(c, &d), update},
                           2, attrs, 2, NULL, 0);
  v = loom_emit_reshape(c->b, v, d.rank, d.moved);
  out[0] = loom_emit_transpose(c->b, v, back);
  return true;
}
