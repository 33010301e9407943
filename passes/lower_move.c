/* Data movement inside a group (lower.h): iota, pad, concatenate, update_slice, gather.
 *
 * An operand that does not reach everywhere is loaded under a guard, so that no lane reads out of
 * bounds, and the other value is selected where the guard is false.
 */
#include "loom_ops_elements.h"
#include "loom_ops_shapes.h"
#include "passes/lower.h"

#include <string.h>

static const lower_value move_none = {{NULL}, 0, false, LOOM_I64};

static lower_value move_iota(lower *l, MlirOperation op, const lower_at *at) {
  loom_type type;
  int64_t axis = loom_get_i64(op, "axis", 0);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) || axis < 0 ||
      axis >= at->rank) {
    lower_fail(l, op, "a bad axis");
    return move_none;
  }
  l->individual |= lower_index_vars(&at->dims[axis]);
  lower_value out = {{NULL}, 0, false, type.dtype};
  if (l->dry) return out;
  out = lower_index_value(l, &at->dims[axis]);
  loom_builder b = lower_at_level(l, out.level);
  out.v = lower_convert(NULL, &b, out.v, LOOM_I64, type.dtype);
  out.dtype = type.dtype;
  return out;
}

/* ---- guards ---- */

/* Two values to one that has lanes if either has, at the inner of their scopes. */
static lower_value move_op2(lower *l, const char *name, lower_value x, lower_value y) {
  lower_value out = {{NULL}, x.level > y.level ? x.level : y.level, x.lanes || y.lanes, x.dtype};
  if (l->dry) return out;
  MlirValue a = out.lanes ? lower_wide(l, x) : x.v, c = out.lanes ? lower_wide(l, y) : y.v;
  loom_builder b = lower_at_level(l, out.level);
  out.v = lane_op2(&b, name, a, c);
  return out;
}

static lower_value move_select(lower *l, lower_value condition, lower_value x, lower_value y) {
  lower_value out = x;
  if (l->dry) return out;
  out.lanes = condition.lanes || x.lanes || y.lanes;
  out.level = condition.level > x.level ? condition.level : x.level;
  if (y.level > out.level) out.level = y.level;
  MlirValue c = out.lanes ? lower_wide(l, condition) : condition.v;
  MlirValue p = out.lanes ? lower_wide(l, x) : x.v, q = out.lanes ? lower_wide(l, y) : y.v;
  loom_builder b = lower_at_level(l, out.level);
  out.v = lane_select(&b, c, p, q);
  return out;
}

/* 0 <= index < size. */
static lower_value move_inside(lower *l, const lower_index *index, int64_t size) {
  lower_value out = {{NULL}, 0, false, LOOM_BOOL};
  l->individual |= lower_index_vars(index);
  if (l->dry) return out;
  out = lower_index_value(l, index);
  loom_builder b = lower_at_level(l, out.level);
  out.v = lane_cmpi(&b, "ult", out.v, lower_int_like(l, &b, mlirValueGetType(out.v), size));
  out.dtype = LOOM_BOOL;
  return out;
}

/* `at` under one more condition. */
static void move_guard(lower *l, lower_at *at, lower_value condition) {
  if (l->dry) {
    at->guard.ptr = (void *)(uintptr_t)(8 * (1 + l->serial++));
    return;
  }
  if (at->guard.ptr) {
    bool lanes = mlirTypeIsAVector(mlirValueGetType(at->guard));
    lower_value old = {at->guard, at->guard_level, lanes, LOOM_BOOL};
    condition = move_op2(l, "arith.andi", old, condition);
  }
  at->guard = condition.v;
  at->guard_level = condition.level;
}

typedef struct move_region {
  lower_at *at;  /* the operand's index, guarded */
  int split_var; /* whose interval decides the first bound; -1: none */
  int64_t split_first, split_end;
  lower_value condition; /* where it applies; null value: everywhere */
  bool never;
} move_region;

static bool move_open(lower *l, const lower_at *at, move_region *out) {
  memset(out, 0, sizeof *out);
  out->split_var = -1;
  out->at = lower_at_new(l, at->rank);
  if (!out->at) return false;
  memcpy(out->at, at, sizeof *at + (size_t)at->rank * sizeof at->dims[0]);
  return true;
}

/* Where `index`, of one variable and step 1 or -1, lies in [0, size). */
static void move_split(const lower *l, const lower_index *index, int64_t size,
                       move_region *region) {
  int var = -1;
  for (int v = 0; v < l->var_count; v++)
    if (index->coef[v]) {
      if (var >= 0) return;
      var = v;
    }
  if (var < 0 || region->split_var >= 0 || (index->coef[var] != 1 && index->coef[var] != -1))
    return;
  const lower_var *of = &l->vars[var];
  int64_t constant = index->constant, top = loom_num_sub(of->extent, of->cut);
  int64_t first = index->coef[var] == 1 ? loom_num_sub(0, constant)
                                        : loom_num_add(loom_num_sub(constant, size), 1);
  int64_t end = loom_num_add(first, size);
  if (loom_num_at_most(first, of->low))
    first = of->low;
  else if (!loom_num_at_most(of->low, first))
    return;
  if (loom_num_at_most(top, end))
    end = top;
  else if (!loom_num_at_most(end, top))
    return;
  region->split_var = var;
  region->split_first = first;
  region->split_end = end;
}

/* Requires dimension d of the region's index to lie in [0, size). */
static void move_bound(lower *l, move_region *region, int64_t d, int64_t size, bool *bounded) {
  int64_t low, high;
  const lower_index *index = &region->at->dims[d];
  if (size == 0) region->never = true;
  if (lower_index_range(l, index, &low, &high)) {
    if (loom_num_at_most(0, low) && loom_num_below(high, size)) return;
    if (loom_num_at_most(size, low) || loom_num_below(high, 0)) region->never = true;
    if (region->never) return;
    move_split(l, index, size, region);
  }
  lower_value inside = move_inside(l, index, size);
  region->condition = *bounded ? move_op2(l, "arith.andi", region->condition, inside) : inside;
  *bounded = true;
}

static lower_value move_inner(lower *l, move_region *region, bool bounded, MlirValue value) {
  if (l->splitting && l->split.var < 0 && region->split_var >= 0) {
    l->split.var = region->split_var;
    l->split.first = region->split_first;
    l->split.end = region->split_end;
  }
  if (bounded) move_guard(l, region->at, region->condition);
  return lower_emit(l, value, lower_at_intern(l, region->at));
}

static lower_value move_pad(lower *l, MlirOperation op, const lower_at *at) {
  int64_t low[LOOM_MAX_RANK];
  loom_type type;
  move_region region;
  bool bounded = false;
  loom_get_i64s(op, "low", low, LOOM_MAX_RANK);
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type) ||
      !move_open(l, at, &region))
    return move_none;
  for (int64_t d = 0; d < at->rank; d++) {
    region.at->dims[d].constant = loom_num_sub(region.at->dims[d].constant, low[d]);
    move_bound(l, &region, d, loom_num_dim(type.dims[d]), &bounded);
  }
  lower_at *zero = lower_at_new(l, 0);
  if (!zero) return move_none;
  lower_value fill = lower_emit(l, loom_operand(op, 1), lower_at_intern(l, zero));
  if (region.never) return fill;
  lower_value inner = move_inner(l, &region, bounded, loom_operand(op, 0));
  return bounded && !l->failed ? move_select(l, region.condition, inner, fill) : inner;
}

static lower_value move_concatenate(lower *l, MlirOperation op, const lower_at *at) {
  int64_t axis = loom_get_i64(op, "axis", 0), start = 0;
  lower_value out = move_none;
  bool any = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op) && !l->failed; i++) {
    loom_type type;
    move_region region;
    bool bounded = false;
    if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, i)), &type) || axis >= at->rank ||
        !move_open(l, at, &region))
      return move_none;
    region.at->dims[axis].constant = loom_num_sub(region.at->dims[axis].constant, start);
    start = loom_num_add(start, loom_num_dim(type.dims[axis]));
    if (type.dims[axis] == 0) continue;
    move_bound(l, &region, axis, loom_num_dim(type.dims[axis]), &bounded);
    if (region.never) continue;
    lower_value part = move_inner(l, &region, bounded, loom_operand(op, i));
    if (l->failed) return move_none;
    out = any && bounded ? move_select(l, region.condition, part, out) : part;
    any = true;
  }
  if (!any) lower_fail(l, op, "no element");
  return out;
}

/* Dimension d as a multiple of a step from a start: (index - start) / step, where that is whole. */
static void move_unstep(lower *l, move_region *region, int64_t d, int64_t start, int64_t step,
                        int64_t size, bool *bounded) {
  lower_index *index = &region->at->dims[d], quotient, rest;
  if (step < 0) {
    lower_index_negate(l, index);
    start = loom_num_mul(start, -1);
    step = -step;
  }
  index->constant = loom_num_sub(index->constant, start);
  if (step == 1) {
    move_bound(l, region, d, size, bounded);
    return;
  }
  /* Before the start the unsigned quotient is huge, hence out of bounds. */
  move_bound(l, region, d, loom_num_add(loom_num_mul(loom_num_sub(size, 1), step), 1), bounded);
  lower_index_divmod(l, index, step, &quotient, &rest);
  int64_t low, high;
  if (!(lower_index_range(l, &rest, &low, &high) && low == 0 && high == 0)) {
    lower_value whole = move_inside(l, &rest, 1);
    region->condition = *bounded ? move_op2(l, "arith.andi", region->condition, whole) : whole;
    *bounded = true;
  }
  region->at->dims[d] = quotient;
}

static lower_value move_update(lower *l, MlirOperation op, const lower_at *at) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  loom_type type;
  move_region region;
  bool bounded = false;
  loom_get_i64s(op, "starts", starts, LOOM_MAX_RANK);
  loom_get_i64s(op, "steps", steps, LOOM_MAX_RANK);
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &type) ||
      !move_open(l, at, &region))
    return move_none;
  if (loom_type_elements(&type) == 0) return lower_emit(l, loom_operand(op, 0), at);
  for (int64_t d = 0; d < at->rank && !l->failed; d++)
    move_unstep(l, &region, d, starts[d], steps[d], loom_num_dim(type.dims[d]), &bounded);
  if (l->failed) return move_none;
  if (region.never) return lower_emit(l, loom_operand(op, 0), at);
  lower_value update = move_inner(l, &region, bounded, loom_operand(op, 1));
  if (!bounded || l->failed) return update;
  return move_select(l, region.condition, update, lower_emit(l, loom_operand(op, 0), at));
}

/* ---- gather ---- */

static lower_value move_index_int(lower *l, lower_value index) {
  if (!l->dry) {
    loom_builder b = lower_at_level(l, index.level);
    index.v = lower_convert(NULL, &b, index.v, index.dtype, LOOM_I64);
  }
  index.dtype = LOOM_I64;
  return index;
}

/* np.take's meaning of an index of an axis of n elements. */
static MlirValue move_wrap_index(lower *l, loom_builder *b, lower_value *index, MlirStringRef mode,
                                 int64_t n, const lower_at *at) {
  MlirType type = mlirValueGetType(index->v);
  MlirValue zero = lane_const_int(b, type, 0), size = lower_int_like(l, b, type, n), v = index->v;
  if (loom_str_is(mode, "clip")) {
    MlirValue top = lower_int_like(l, b, type, loom_num_sub(n, 1));
    v = lane_select(b, lane_cmpi(b, "slt", v, zero), zero, v);
    return lane_select(b, lane_cmpi(b, "sgt", v, top), top, v);
  }
  if (loom_str_is(mode, "wrap")) {
    v = lane_op2(b, "arith.remsi", v, size);
    return lane_select(b, lane_cmpi(b, "slt", v, zero), lane_op2(b, "arith.addi", v, size), v);
  }
  v = lane_select(b, lane_cmpi(b, "slt", v, zero), lane_op2(b, "arith.addi", v, size), v);
  MlirValue bad = lane_cmpi(b, "uge", v, size), counts = bad;
  if (at->guard.ptr) { /* what the guard keeps out was never asked for */
    MlirValue guard = lane_splat(b, at->guard, lane_width(type));
    if (lane_width(mlirValueGetType(guard)) == lane_width(type))
      counts = lane_op2(b, "arith.andi", bad, guard);
  }
  lower_value condition = {counts, index->level, index->lanes, LOOM_BOOL};
  lower_flag(l, condition, 0x100u); /* LOOM_STATUS_INDEX */
  return lane_select(b, bad, zero, v);
}

static lower_value move_gather(lower *l, MlirOperation op, const lower_at *at) {
  loom_type type, indices;
  int64_t axis = loom_get_i64(op, "axis", 0);
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &indices) || axis >= type.rank ||
      axis + indices.rank > at->rank) {
    lower_fail(l, op, "a bad axis");
    return move_none;
  }
  if (type.dims[axis] == 0) {
    lower_fail(l, op, "an axis of no element");
    return move_none;
  }
  lower_at *where = lower_at_new(l, indices.rank), *out = lower_at_new(l, type.rank);
  if (!where || !out) return move_none;
  where->guard = out->guard = at->guard;
  where->guard_level = out->guard_level = at->guard_level;
  uint32_t vars = 0;
  for (int d = 0; d < indices.rank; d++) {
    where->dims[d] = at->dims[axis + d];
    vars |= lower_index_vars(&where->dims[d]);
  }
  lower_value index =
      move_index_int(l, lower_emit(l, loom_operand(op, 1), lower_at_intern(l, where)));
  if (l->failed) return move_none;
  if (!l->dry) {
    if (at->guard.ptr && at->guard_level > index.level) index.level = at->guard_level;
    if (at->guard.ptr && mlirTypeIsAVector(mlirValueGetType(at->guard)) && !index.lanes) {
      index.v = lower_wide(l, index);
      index.lanes = true;
    }
    loom_builder b = lower_at_level(l, index.level);
    index.v =
        move_wrap_index(l, &b, &index, loom_get_str(op, "mode"), loom_num_dim(type.dims[axis]), at);
  }
  for (int d = 0; d < type.rank; d++)
    if (d != axis) out->dims[d] = at->dims[d < axis ? d : d + indices.rank - 1];
  lower_index_opaque(l, index, vars, &out->dims[axis]);
  lower_value got = lower_emit(l, loom_operand(op, 0), lower_at_intern(l, out));
  /* Of a constant it is the same everywhere, but its indices are looked at in every loop. */
  if (got.level < index.level) got.level = index.level;
  return got;
}

lower_value lower_emit_or_zero(lower *l, MlirValue value, const lower_at *at) {
  loom_type type;
  move_region region;
  bool bounded = false;
  if (!at || !loom_type_from_mlir(mlirValueGetType(value), &type) || !move_open(l, at, &region))
    return move_none;
  lower_value zero = {{NULL}, 0, false, type.dtype};
  if (!l->dry) {
    loom_builder b = lower_at_level(l, 0);
    MlirType element = lane_type(b.ctx, type.dtype, 1);
    zero.v = loom_dtype_is_float(type.dtype) ? lane_const_float(&b, element, 0)
                                             : lane_const_int(&b, element, 0);
  }
  for (int64_t d = 0; d < at->rank; d++)
    move_bound(l, &region, d, loom_num_dim(type.dims[d]), &bounded);
  if (region.never) return zero;
  lower_value inner = move_inner(l, &region, bounded, value);
  return bounded && !l->failed ? move_select(l, region.condition, inner, zero) : inner;
}

lower_value lower_emit_move(lower *l, MlirOperation op, loom_opcode code, const lower_at *at) {
  switch (code) {
  case LOOM_OP_IOTA: return move_iota(l, op, at);
  case LOOM_OP_PAD: return move_pad(l, op, at);
  case LOOM_OP_CONCATENATE: return move_concatenate(l, op, at);
  case LOOM_OP_UPDATE_SLICE: return move_update(l, op, at);
  case LOOM_OP_GATHER: return move_gather(l, op, at);
  default: lower_fail(l, op, "not supported in a group"); return move_none;
  }
}
