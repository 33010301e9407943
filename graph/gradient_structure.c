/* Derivatives of ops with a structure: views, moves, reductions, scans, products. */
#include "graph/gradient_rules.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <string.h>

static const loom_type structure_none;

static const loom_type *structure_operand(const loom_gradient_step *s, uint32_t index) {
  return index < s->node.operand_count ? loom_emit_type(s->b, s->node.operands[index])
                                       : &structure_none;
}

static loom_value structure_zeros(const loom_gradient_step *s, const loom_type *type) {
  const loom_type copy = *type; /* which may move */
  return loom_emit_int(s->b, &copy, 0);
}

static bool structure_is(const loom_gradient_step *s, int attr, const char *word) {
  return strcmp(s->node.attrs[attr].str, word) == 0;
}

/* ---- views ---- */

/* Sums over the dimensions that are new or were 1. */
static loom_value structure_broadcast(const loom_gradient_step *s) {
  const loom_type from = *structure_operand(s, 0), to = *loom_emit_type(s->b, s->g);
  const int64_t *dims = s->node.attrs[0].ints;
  int64_t perm[LOOM_MAX_RANK];
  uint32_t summed = (1u << to.rank) - 1, ones = 0;
  for (int i = 0; i < from.rank; i++) {
    bool one = from.dims[i] == 1 && to.dims[dims[i]] != 1;
    if (!one) summed &= ~(1u << dims[i]);
    ones |= (uint32_t)one << i;
  }
  loom_value v = summed ? loom_emit_reduce(s->b, "sum", s->g, summed, false) : s->g;
  int kept = 0;
  for (int i = 0; i < from.rank; i++) {
    if (ones >> i & 1) continue;
    perm[kept] = 0; /* which of the kept dimensions of the result is this one? */
    for (int j = 0; j < from.rank; j++)
      perm[kept] += !(ones >> j & 1) && dims[j] < dims[i];
    kept++;
  }
  if (kept) v = loom_emit_transpose(s->b, v, perm);
  return loom_emit_reshape(s->b, v, from.rank, from.dims);
}

static loom_value structure_transpose(const loom_gradient_step *s) {
  int64_t inverse[LOOM_MAX_RANK] = {0};
  for (int i = 0; i < s->node.attrs[0].count; i++)
    inverse[s->node.attrs[0].ints[i]] = i;
  return loom_emit_transpose(s->b, s->g, inverse);
}

static loom_value structure_update(const loom_gradient_step *s, loom_value into, loom_value update,
                                   const loom_attr *starts, const loom_attr *steps) {
  const loom_attr attrs[2] = {*starts, *steps};
  return loom_emit(s->b, LOOM_OP_UPDATE_SLICE, (loom_value[]){into, update}, 2, attrs, 2, NULL, 0);
}

/* The elements of `v` that an update of type `update` with these attributes replaces. */
static loom_value structure_taken(const loom_gradient_step *s, loom_value v,
                                  const loom_type *update, const loom_attr *starts,
                                  const loom_attr *steps) {
  int64_t sizes[LOOM_MAX_RANK];
  const loom_type from = *loom_emit_type(s->b, v);
  for (int i = 0; i < update->rank; i++) {
    bool whole = update->dims[i] == from.dims[i] && starts->ints[i] == 0 && steps->ints[i] == 1;
    sizes[i] = whole && LOOM_DIM_IS_SYM(from.dims[i]) ? -1 : loom_stride_of_dim(update->dims[i]);
  }
  const loom_attr attrs[3] = {
      *starts, {.kind = LOOM_ATTR_I64S, .ints = sizes, .count = update->rank}, *steps};
  return loom_emit(s->b, LOOM_OP_SLICE, &v, 1, attrs, 3, NULL, 0);
}

static loom_value structure_slice(const loom_gradient_step *s) {
  loom_value zeros = structure_zeros(s, structure_operand(s, 0));
  return structure_update(s, zeros, s->g, &s->node.attrs[0], &s->node.attrs[2]);
}

/* ---- moves ---- */

static loom_value structure_update_slice(const loom_gradient_step *s, uint32_t index) {
  const loom_type update = *structure_operand(s, 1);
  const loom_attr *starts = &s->node.attrs[0], *steps = &s->node.attrs[1];
  if (index == 1) return structure_taken(s, s->g, &update, starts, steps);
  return structure_update(s, s->g, structure_zeros(s, &update), starts, steps);
}

static loom_value structure_concatenate(const loom_gradient_step *s, uint32_t index) {
  int axis = (int)s->node.attrs[0].i;
  int64_t start = 0, end;
  for (uint32_t i = 0; i < index; i++) {
    int64_t size = loom_stride_of_dim(structure_operand(s, i)->dims[axis]);
    if (!loom_stride_combine(s->b->graph, LOOM_EXPR_ADD, start, size, &end))
      return loom_emit_fail(s->b, "a position cannot be expressed");
    start = end;
  }
  return loom_emit_slice(s->b, s->g, axis, start,
                         loom_stride_of_dim(structure_operand(s, index)->dims[axis]), 1);
}

static loom_value structure_pad(const loom_gradient_step *s, uint32_t index) {
  const loom_type from = *structure_operand(s, 0), to = *loom_emit_type(s->b, s->g);
  int64_t ones[LOOM_MAX_RANK];
  for (int i = 0; i < from.rank; i++)
    ones[i] = 1;
  const loom_attr steps = {.kind = LOOM_ATTR_I64S, .ints = ones, .count = from.rank};
  const loom_attr *low = &s->node.attrs[0];
  if (index == 0) return structure_taken(s, s->g, &from, low, &steps);
  loom_value around = structure_update(s, s->g, structure_zeros(s, &from), low, &steps);
  return to.rank ? loom_emit_reduce(s->b, "sum", around, (1u << to.rank) - 1, false) : around;
}

/* Integers as an index of the operand's dimension, as mode "wrap" and "clip" of a gather make them.
 */
static loom_value structure_indices(const loom_gradient_step *s, loom_value indices,
                                    const loom_type *from, int axis) {
  loom_emitter *b = s->b;
  const loom_type type = *loom_emit_type(b, indices);
  if (structure_is(s, 1, "raise")) return indices;
  if (LOOM_DIM_IS_SYM(from->dims[axis]))
    return loom_emit_fail(b, "a gather of changing size that clips or wraps has no derivative");
  loom_value n = loom_emit_int(b, &type, from->dims[axis]);
  if (structure_is(s, 1, "wrap")) return loom_emit2(b, LOOM_OP_REM, indices, n);
  loom_value last = loom_emit_int(b, &type, from->dims[axis] - 1);
  loom_value least = loom_emit2(b, LOOM_OP_MIN, indices, last);
  return loom_emit2(b, LOOM_OP_MAX, least, loom_emit_int(b, &type, 0));
}

static loom_value structure_scatter_to(const loom_gradient_step *s, loom_value into,
                                       loom_value indices, loom_value updates, int axis,
                                       const char *combine) {
  const loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = axis},
                              {.kind = LOOM_ATTR_STR, .str = combine}};
  return loom_emit(s->b, LOOM_OP_SCATTER, (loom_value[]){into, indices, updates}, 3, attrs, 2, NULL,
                   0);
}

static loom_value structure_gather(const loom_gradient_step *s, uint32_t index) {
  const loom_type from = *structure_operand(s, 0);
  int axis = (int)s->node.attrs[0].i;
  if (index) return LOOM_NO_VALUE;
  loom_value indices = structure_indices(s, s->node.operands[1], &from, axis);
  if (indices == LOOM_NO_VALUE) return indices;
  return structure_scatter_to(s, structure_zeros(s, &from), indices, s->g, axis, "add");
}

/* What is at the indices, where those are of slices. */
static loom_value structure_at(const loom_gradient_step *s, loom_value v) {
  const loom_attr attrs[2] = {s->node.attrs[0], {.kind = LOOM_ATTR_STR, .str = "raise"}};
  return loom_emit(s->b, LOOM_OP_GATHER, (loom_value[]){v, s->node.operands[1]}, 2, attrs, 2, NULL,
                   0);
}

/* The cotangent of each update: where several have one index, that of the last one alone, the
 * others are overwritten. */
static loom_value structure_last_written(const loom_gradient_step *s) {
  loom_emitter *b = s->b;
  loom_type from = *structure_operand(s, 0), updates = *structure_operand(s, 2);
  const loom_type indices = *structure_operand(s, 1);
  int axis = (int)s->node.attrs[0].i;
  loom_type flat = loom_type_make(LOOM_I64, 1, (loom_dim[]){loom_type_elements(&indices)});
  if (flat.dims[0] < 0) return loom_emit_fail(b, "a scatter of changing size has no derivative");
  loom_type numbers = indices;
  from.dtype = updates.dtype = numbers.dtype = LOOM_I64;
  int64_t map[LOOM_MAX_RANK];
  for (int i = 0; i < indices.rank; i++)
    map[i] = axis + i;
  loom_value order = loom_emit_reshape(b, loom_emit_iota(b, &flat, 0), indices.rank, indices.dims);
  order = loom_emit_broadcast(b, order, updates.rank, updates.dims, map);
  loom_value winner =
      structure_scatter_to(s, loom_emit_int(b, &from, -1), s->node.operands[1], order, axis, "set");
  loom_value wins = loom_emit_compare(b, "eq", structure_at(s, winner), order);
  loom_value taken = structure_at(s, s->g);
  return loom_emit_select(b, wins, taken, structure_zeros(s, loom_emit_type(b, taken)));
}

static loom_value structure_scatter(const loom_gradient_step *s, uint32_t index) {
  const loom_type updates = *structure_operand(s, 2);
  bool subtracts = structure_is(s, 1, "sub");
  bool sets = structure_is(s, 1, "set"), adds = subtracts || structure_is(s, 1, "add");
  if (index == 1) return LOOM_NO_VALUE;
  if (!sets && !adds)
    return loom_emit_fail(s->b, "a scatter that combines by '%s' has no derivative",
                          s->node.attrs[1].str);
  if (index == 0 && adds) return s->g;
  if (index == 0)
    return structure_scatter_to(s, s->g, s->node.operands[1], structure_zeros(s, &updates),
                                (int)s->node.attrs[0].i, "set");
  if (loom_scatter_is_along(structure_operand(s, 0), structure_operand(s, 1), &updates))
    return loom_emit_fail(s->b, "a scatter of single elements along an axis has no derivative");
  if (!adds) return structure_last_written(s);
  loom_value taken = structure_at(s, s->g);
  return subtracts ? loom_emit1(s->b, LOOM_OP_NEG, taken) : taken;
}

/* v sorted by the permutation that sorts the operand goes back to where it came from. */
static loom_value structure_sort(const loom_gradient_step *s) {
  const loom_attr attrs[2] = {s->node.attrs[0], {.kind = LOOM_ATTR_BOOL, .i = 1}};
  loom_value order = loom_emit(s->b, LOOM_OP_SORT, s->node.operands, 1, attrs, 2, NULL, 0);
  return structure_scatter_to(s, structure_zeros(s, structure_operand(s, 0)), order, s->g,
                              (int)s->node.attrs[0].i, "add");
}

/* ---- reductions and scans ---- */

static uint32_t structure_axes(const loom_gradient_step *s) {
  uint32_t mask = 0;
  for (int i = 0; i < s->node.attrs[1].count; i++)
    mask |= 1u << s->node.attrs[1].ints[i];
  return mask;
}

/* A value of the reduction's result, for each of the elements that were reduced. */
static loom_value structure_spread(const loom_gradient_step *s, loom_value v) {
  const loom_type from = *structure_operand(s, 0);
  uint32_t mask = structure_axes(s);
  int64_t map[LOOM_MAX_RANK];
  int kept = 0;
  for (int i = 0; i < from.rank; i++)
    if (!(mask >> i & 1)) map[kept++] = i;
  return loom_emit_broadcast(s->b, v, from.rank, from.dims, map);
}

/* The elements that are the extreme share the cotangent. */
static loom_value structure_extreme(const loom_gradient_step *s) {
  loom_emitter *b = s->b;
  const loom_type from = *structure_operand(s, 0);
  loom_value is = loom_emit_compare(b, "eq", s->node.operands[0], structure_spread(s, s->result));
  loom_value ones = loom_emit_convert(b, is, from.dtype);
  loom_value count = loom_emit_reduce(b, "sum", ones, structure_axes(s), false);
  return loom_emit2(b, LOOM_OP_MUL, ones,
                    structure_spread(s, loom_emit2(b, LOOM_OP_DIV, s->g, count)));
}

static loom_value structure_scan_of(const loom_gradient_step *s, loom_value v, const char *kind,
                                    int axis) {
  const loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = kind},
                              {.kind = LOOM_ATTR_I64, .i = axis}};
  return loom_emit(s->b, LOOM_OP_SCAN, &v, 1, attrs, 2, NULL, 0);
}

static loom_value structure_reversed(const loom_gradient_step *s, loom_value v, int axis) {
  int64_t size = loom_stride_of_dim(loom_emit_type(s->b, v)->dims[axis]), last;
  if (size == 0 || v == LOOM_NO_VALUE) return v;
  if (!loom_stride_combine(s->b->graph, LOOM_EXPR_ADD, size, -1, &last))
    return loom_emit_fail(s->b, "a position cannot be expressed");
  return loom_emit_slice(s->b, v, axis, last, size, -1);
}

/* For each element the product of those before it along the axis. */
static loom_value structure_product_before(const loom_gradient_step *s, loom_value v, int axis) {
  const loom_type type = *loom_emit_type(s->b, v), scalar = loom_type_make(type.dtype, 0, NULL);
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  low[axis] = 1;
  v = loom_emit_pad(s->b, v, loom_emit_int(s->b, &scalar, 1), low, high);
  v = loom_emit_slice(s->b, v, axis, 0, loom_stride_of_dim(type.dims[axis]), 1);
  return structure_scan_of(s, v, "prod", axis);
}

/* For each element the product of all others along the last axis, right where some are 0. */
static loom_value structure_product_of_others(const loom_gradient_step *s, loom_value v, int axis) {
  loom_value before = structure_product_before(s, v, axis);
  loom_value behind = structure_product_before(s, structure_reversed(s, v, axis), axis);
  return loom_emit2(s->b, LOOM_OP_MUL, before, structure_reversed(s, behind, axis));
}

/* Reduced dimensions go to the end and become one. */
static loom_value structure_product(const loom_gradient_step *s) {
  const loom_type from = *structure_operand(s, 0);
  uint32_t mask = structure_axes(s);
  int64_t perm[LOOM_MAX_RANK], inverse[LOOM_MAX_RANK];
  loom_type moved = {.dtype = from.dtype, .rank = from.rank}, flat = {.dtype = from.dtype};
  loom_dim length = 1;
  int at = 0;
  for (int reduced = 0; reduced < 2; reduced++)
    for (int i = 0; i < from.rank; i++) {
      if ((int)(mask >> i & 1) != reduced) continue;
      perm[at] = i;
      inverse[i] = at;
      moved.dims[at++] = from.dims[i];
      if (!reduced) flat.dims[flat.rank++] = from.dims[i];
      loom_dim longer = length;
      if (reduced && !loom_dim_combine(s->b->graph, LOOM_EXPR_MUL, length, from.dims[i], &longer))
        return loom_emit_fail(s->b, "a size cannot be expressed");
      length = longer;
    }
  if (length == 0) return structure_zeros(s, &from);
  flat.dims[flat.rank++] = length;
  loom_value v = loom_emit_transpose(s->b, s->node.operands[0], perm);
  v = loom_emit_reshape(s->b, v, flat.rank, flat.dims);
  v = structure_product_of_others(s, v, flat.rank - 1);
  v = loom_emit_reshape(s->b, v, moved.rank, moved.dims);
  v = loom_emit_transpose(s->b, v, inverse);
  return loom_emit2(s->b, LOOM_OP_MUL, v, structure_spread(s, s->g));
}

static loom_value structure_reduce(const loom_gradient_step *s) {
  if (!s->node.attrs[1].count) return s->g;
  if (structure_is(s, 0, "sum")) return structure_spread(s, s->g);
  if (structure_is(s, 0, "prod")) return structure_product(s);
  if (structure_is(s, 0, "min") || structure_is(s, 0, "max")) return structure_extreme(s);
  return loom_emit_fail(s->b, "a reduction by '%s' has no derivative", s->node.attrs[0].str);
}

/* The cotangent of a running extreme belongs to the last element that was one. */
static loom_value structure_running_extreme(const loom_gradient_step *s, int axis) {
  loom_emitter *b = s->b;
  loom_type type = *structure_operand(s, 0);
  const loom_type from = type;
  type.dtype = LOOM_I64;
  loom_value is = loom_emit_compare(b, "eq", s->node.operands[0], s->result);
  loom_value at =
      loom_emit_select(b, is, loom_emit_iota(b, &type, axis), loom_emit_int(b, &type, 0));
  return structure_scatter_to(s, structure_zeros(s, &from), structure_scan_of(s, at, "max", axis),
                              s->g, axis, "add");
}

/* The elements `by` further on along the axis, zeros behind the last. */
static loom_value structure_ahead(const loom_gradient_step *s, loom_value v, int axis, int64_t by) {
  const loom_type type = *loom_emit_type(s->b, v);
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  high[axis] = by;
  return loom_emit_slice(s->b, loom_emit_pad_zeros(s->b, v, low, high), axis, by,
                         loom_stride_of_dim(type.dims[axis]), 1);
}

/* The sum over all k >= i of g[k] times the product of x[i + 1] to x[k] is s[i] = g[i] + x[i + 1]
 * s[i + 1]: a linear recurrence, composed with itself for 1, 2, 4, ... steps. It divides by
 * nothing, so that zeros are right. */
static loom_value structure_running_product(const loom_gradient_step *s, int axis) {
  loom_emitter *b = s->b;
  loom_dim length = structure_operand(s, 0)->dims[axis];
  if (LOOM_DIM_IS_SYM(length))
    return loom_emit_fail(b, "a running product of changing size has no derivative");
  if (length == 0) return s->g;
  loom_value factor = structure_ahead(s, s->node.operands[0], axis, 1), sum = s->g;
  for (int64_t by = 1; by < length && !b->failed; by *= 2) {
    loom_value more = structure_ahead(s, sum, axis, by);
    sum = loom_emit2(b, LOOM_OP_ADD, sum, loom_emit2(b, LOOM_OP_MUL, factor, more));
    factor = loom_emit2(b, LOOM_OP_MUL, factor, structure_ahead(s, factor, axis, by));
  }
  return loom_emit2(b, LOOM_OP_MUL, sum, structure_product_before(s, s->node.operands[0], axis));
}

static loom_value structure_scan(const loom_gradient_step *s) {
  int axis = (int)s->node.attrs[1].i;
  if (structure_is(s, 0, "prod")) return structure_running_product(s, axis);
  if (!structure_is(s, 0, "sum")) return structure_running_extreme(s, axis);
  loom_value v = structure_scan_of(s, structure_reversed(s, s->g, axis), "sum", axis);
  return structure_reversed(s, v, axis);
}

/* ---- products ---- */

/* One operand of a product: where its dimensions are. */
typedef struct structure_side {
  int64_t batch[LOOM_MAX_RANK], contract[LOOM_MAX_RANK], free[LOOM_MAX_RANK];
  int batches, contracted, free_count;
} structure_side;

static bool structure_has(const int64_t *list, int count, int64_t item) {
  for (int i = 0; i < count; i++)
    if (list[i] == item) return true;
  return false;
}

static structure_side structure_side_of(const loom_gradient_step *s, uint32_t index) {
  const loom_attr *batch = &s->node.attrs[index], *contract = &s->node.attrs[2 + index];
  structure_side side = {.batches = batch->count, .contracted = contract->count};
  for (int i = 0; i < side.batches; i++)
    side.batch[i] = batch->ints[i];
  for (int i = 0; i < side.contracted; i++)
    side.contract[i] = contract->ints[i];
  for (int i = 0; i < structure_operand(s, index)->rank; i++)
    if (!structure_has(side.batch, side.batches, i) &&
        !structure_has(side.contract, side.contracted, i))
      side.free[side.free_count++] = i;
  return side;
}

/* The cotangent of one operand is the product of the result's with the other operand, summed over
 * the dimensions that the other one alone has. Of that product the dimensions are those of the
 * batch, the free ones of this operand, the summed ones in the order in which the other has them.
 */
static loom_value structure_dot(const loom_gradient_step *s, uint32_t index) {
  structure_side mine = structure_side_of(s, index), other = structure_side_of(s, 1 - index);
  int64_t batch[LOOM_MAX_RANK], summed[LOOM_MAX_RANK], perm[LOOM_MAX_RANK];
  int first = mine.batches + (index == 0 ? mine.free_count : 0);
  for (int i = 0; i < mine.batches; i++)
    batch[i] = i;
  for (int i = 0; i < other.free_count; i++)
    summed[i] = first + i;
  const loom_attr attrs[4] = {
      {.kind = LOOM_ATTR_I64S, .ints = batch, .count = mine.batches},
      {.kind = LOOM_ATTR_I64S, .ints = other.batch, .count = other.batches},
      {.kind = LOOM_ATTR_I64S, .ints = summed, .count = other.free_count},
      {.kind = LOOM_ATTR_I64S, .ints = other.free, .count = other.free_count}};
  loom_value v = loom_emit(s->b, LOOM_OP_DOT_GENERAL,
                           (loom_value[]){s->g, s->node.operands[1 - index]}, 2, attrs, 4, NULL, 0);
  for (int i = 0; i < mine.batches; i++)
    perm[mine.batch[i]] = i;
  for (int i = 0; i < mine.free_count; i++)
    perm[mine.free[i]] = mine.batches + i;
  for (int i = 0; i < mine.contracted; i++) {
    int before = 0;
    for (int j = 0; j < other.contracted; j++)
      before += other.contract[j] < other.contract[i];
    perm[mine.contract[i]] = mine.batches + mine.free_count + before;
  }
  return loom_emit_transpose(s->b, v, perm);
}

/* ---- all of them ---- */

loom_value loom_gradient_structure(const loom_gradient_step *s, uint32_t index) {
  const loom_type *from = structure_operand(s, index);
  switch (s->node.op) {
  case LOOM_OP_BROADCAST: return structure_broadcast(s);
  case LOOM_OP_RESHAPE: return loom_emit_reshape(s->b, s->g, from->rank, from->dims);
  case LOOM_OP_TRANSPOSE: return structure_transpose(s);
  case LOOM_OP_SLICE: return structure_slice(s);
  case LOOM_OP_UPDATE_SLICE: return structure_update_slice(s, index);
  case LOOM_OP_CONCATENATE: return structure_concatenate(s, index);
  case LOOM_OP_PAD: return structure_pad(s, index);
  case LOOM_OP_GATHER: return structure_gather(s, index);
  case LOOM_OP_SCATTER: return structure_scatter(s, index);
  case LOOM_OP_SORT: return structure_sort(s);
  case LOOM_OP_REDUCE: return structure_reduce(s);
  case LOOM_OP_SCAN: return structure_scan(s);
  case LOOM_OP_DOT_GENERAL: return structure_dot(s, index);
  case LOOM_OP_HOST_CALL:
    return loom_emit_fail(s->b, "'%s' has no derivative", s->node.attrs[0].str);
  default: return loom_emit_fail(s->b, "'%s' has no derivative", loom_op_table[s->node.op].name);
  }
}
