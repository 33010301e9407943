/* Kernels of one scatter (alone.h). The result lies where the operand lay, which loom-fuse has made
 * a buffer that nothing else reads; what remains is to apply the updates, in order.
 *
 * Chunks share no element of the result, so that each applies its updates in order and the bits do
 * not depend on threads: they cut outer or inner. Where both are small there is one chunk: several
 * would each have to go through all indices.
 */
#include "passes/scatter.h"

#include <string.h>

enum { CUT_OUTER, CUT_ROW, CUT_LANE };

#define SCATTER_WORK 65536 /* elements that make a chunk worth its launch */
#define SCATTER_CHUNKS 16
/* Bytes of a line that a chunk has, at least; more where each element has an index, since then
 * pieces of several arrays are read apart. */
#define SCATTER_LANE_BYTES 256
#define SCATTER_LONG_BYTES 2048

static int64_t scatter_product(const int64_t *dims, int first, int last) {
  int64_t product = 1;
  for (int d = first; d < last; d++)
    product = loom_num_mul(product, dims[d]);
  return product;
}

static bool scatter_is_known(int64_t number) { return !LOOM_STRIDE_IS_SYM(number); }

static void scatter_cut(scatter_job *j, int cut, int64_t extent, int64_t granule, int64_t chunks) {
  int64_t most = loom_num_ceil(extent, granule);
  if (scatter_is_known(most) && chunks > most) chunks = most;
  if (chunks < 1) chunks = 1;
  j->cut = cut;
  j->size = loom_num_mul(loom_num_ceil(loom_num_ceil(extent, chunks), granule), granule);
  if (scatter_is_known(j->size) && j->size < 1) j->size = 1;
  j->chunks = chunks;
  if (scatter_is_known(extent)) j->chunks = loom_num_ceil(extent, j->size);
  if (j->chunks < 1) j->chunks = 1;
}

static void scatter_divide(scatter_job *j) {
  int64_t work = loom_num_hint(loom_num_ceil(loom_num_elements(&j->updates), SCATTER_WORK));
  int64_t chunks = work < SCATTER_CHUNKS ? work : SCATTER_CHUNKS;
  int64_t bytes = j->along ? SCATTER_LONG_BYTES : SCATTER_LANE_BYTES;
  int64_t granule = bytes / (int64_t)loom_dtype_size(j->to.dtype);
  if (loom_num_hint(j->outer) >= 8)
    scatter_cut(j, CUT_OUTER, j->outer, 1, chunks);
  else if (loom_num_hint(j->rows) >= 8)
    scatter_cut(j, CUT_ROW, j->rows, 1, chunks);
  else if (loom_num_hint(j->lanes) >= 2 * granule)
    scatter_cut(j, CUT_LANE, j->lanes, granule, chunks);
  else
    scatter_cut(j, CUT_OUTER, j->outer, 1, 1);
}

/* The box of outer, axis and inner elements. */
static void scatter_shape(scatter_job *j) {
  for (int d = 0; d < j->to.rank; d++)
    j->to_dims[d] = loom_num_dim(j->to.dims[d]);
  for (int d = 0; d < j->indices.rank; d++)
    j->index_dims[d] = loom_num_dim(j->indices.dims[d]);
  j->axis = (int)loom_get_i64(j->op, "axis", 0);
  j->outer = scatter_product(j->to_dims, 0, j->axis);
  j->along = loom_scatter_is_along(&j->to, &j->indices, &j->updates);
  j->count = j->along ? j->index_dims[j->axis] : scatter_product(j->index_dims, 0, j->indices.rank);
  j->rows = j->lanes = 1;
  if (j->axis + 1 >= j->to.rank) return;
  j->rows = scatter_product(j->to_dims, j->axis + 1, j->to.rank - 1);
  j->lanes = j->to_dims[j->to.rank - 1];
}

bool scatter_read(const lower_kernel *kernel, MlirOperation op, scatter_job *j) {
  memset(j, 0, sizeof *j);
  j->op = op;
  loom_type *types[] = {&j->to, &j->indices, &j->updates};
  for (int i = 0; i < 3; i++)
    if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, i)), types[i]))
      return alone_refuse(op, "an operand of an unknown type");
  MlirStringRef combine = loom_get_str(op, "combine");
  static const char *const words[][2] = {
      {"add", "sum"}, {"mul", "prod"}, {"min", "min"}, {"max", "max"}};
  for (int i = 0; i < 4; i++)
    if (loom_str_is(combine, words[i][0])) j->combine = words[i][1];
  if (j->combine &&
      (loom_dtype_is_complex(j->to.dtype) || j->to.dtype == LOOM_F16 || j->to.dtype == LOOM_BF16))
    return alone_refuse(op, "no arithmetic for this element type");
  MlirOperation yield = mlirBlockGetTerminator(kernel->block);
  if (kernel->result_count != 1 || !mlirValueEqual(loom_operand(yield, 0), loom_result(op, 0)) ||
      kernel->results[0].shares < 0 ||
      !mlirValueEqual(kernel->operands[kernel->results[0].shares].value, loom_operand(op, 0)))
    return alone_refuse(op, "the result does not overwrite the operand");
  scatter_shape(j);
  scatter_divide(j);
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

bool scatter_plan(const lower_kernel *kernel, alone_plan *out) {
  scatter_job job;
  if (!scatter_read(kernel, out->op, &job)) return false;
  out->stages[0] = job.chunks;
  out->stage_count = 1;
  return true;
}

/* ---- indices ---- */

/* Indices of the dimensions beside the axis. */
static void scatter_beside(lower *l, const scatter_job *j, lower_index *dims) {
  int axis = j->axis, inner = j->to.rank - axis - 1;
  alone_split(l, SCATTER_OUTER, j->to_dims, axis, dims);
  if (inner > 1) alone_split(l, SCATTER_ROW, j->to_dims + axis + 1, inner - 1, dims + axis + 1);
  if (inner && j->lanes != 1) dims[j->to.rank - 1].coef[SCATTER_LANE] = 1;
}

lower_value scatter_target(lower *l, scatter_job *j, lower_value *inside) {
  lower_at *at = lower_at_new(l, j->indices.rank);
  lower_value index = {{NULL}, 0, false, LOOM_I64};
  if (!at) return index;
  if (j->along) {
    scatter_beside(l, j, at->dims);
    alone_split(l, SCATTER_INDEX, j->index_dims + j->axis, 1, at->dims + j->axis);
  } else {
    alone_split(l, SCATTER_INDEX, j->index_dims, j->indices.rank, at->dims);
  }
  index = lower_emit(l, loom_operand(j->op, 1), lower_at_intern(l, at));
  if (l->failed) return index;
  index.level = l->depth;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue v = lower_convert(NULL, &b, index.v, j->indices.dtype, LOOM_I64);
  MlirValue zero = lower_int(l, 0).v, size = lower_int(l, j->to_dims[j->axis]).v;
  if (!loom_dtype_is_unsigned(j->indices.dtype))
    v = lane_select(&b, lane_cmpi(&b, "slt", v, zero), lane_op2(&b, "arith.addi", v, size), v);
  MlirValue good = lane_cmpi(&b, "ult", v, size), bad = lane_cmpi(&b, "uge", v, size);
  lower_flag(l, (lower_value){bad, l->depth, false, LOOM_BOOL}, 0x100u); /* LOOM_STATUS_INDEX */
  b = lower_at_level(l, l->depth);
  index.v = lane_select(&b, good, v, zero);
  index.dtype = LOOM_I64;
  *inside = (lower_value){good, l->depth, false, LOOM_BOOL};
  return index;
}

void scatter_places(lower *l, scatter_job *j) {
  lower_at *update = lower_at_new(l, j->updates.rank), *place = lower_at_new(l, j->to.rank);
  if (!update || !place) return;
  int axis = j->axis, many = j->along ? 1 : j->indices.rank, inner = j->to.rank - axis - 1;
  scatter_beside(l, j, place->dims);
  memcpy(update->dims, place->dims, sizeof *place->dims * (size_t)axis);
  memcpy(update->dims + axis + many, place->dims + axis + 1, sizeof *place->dims * (size_t)inner);
  alone_split(l, SCATTER_INDEX, j->along ? j->index_dims + axis : j->index_dims, many,
              update->dims + axis);
  place->dims[axis] = j->target;
  j->update = lower_at_intern(l, update);
  j->place = lower_at_intern(l, place);
}

/* ---- loops ---- */

void scatter_apply(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  lower_value value = lower_emit(l, loom_operand(j->op, 2), j->update);
  if (l->failed) return;
  if (j->combine) {
    /* Read here, after the store of an earlier update of the same element. */
    lower_value old = lower_emit(l, loom_operand(j->op, 0), j->place);
    if (l->failed) return;
    MlirValue x = lower_wide(l, old), y = lower_wide(l, value);
    loom_builder b = lower_at_level(l, l->depth);
    value.v = lower_combine(&b, j->combine, j->to.dtype, x, y);
    if (j->inside.ptr) value.v = lane_select(&b, j->inside, value.v, x);
    value.lanes = l->width > 1;
    value.level = l->depth;
  }
  lower_store(l, 0, j->place, value);
}

static void scatter_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  lower_lanes lanes = alone_lanes(l, SCATTER_LANE, j->lanes, j->to.dtype);
  scatter_places(l, j);
  MlirValue low = j->low[SCATTER_LANE], high = j->high[SCATTER_LANE];
  MlirValue split = lower_lane_split(l, &lanes, high);
  lower_lane_main(l, &lanes, low, split, 0, NULL, scatter_apply, j, NULL);
  lower_lane_tail(l, &lanes, split, high, 0, NULL, scatter_apply, j, NULL);
}

MlirValue scatter_aim(lower *l, scatter_job *j, uint32_t vars) {
  lower_value inside = {{NULL}, 0, false, LOOM_BOOL}, target = scatter_target(l, j, &inside);
  if (!l->failed) lower_index_opaque(l, target, vars, &j->target);
  return inside.v;
}

static void scatter_once(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  scatter_places(l, j);
  scatter_apply(l, j, NULL, NULL);
}

static void scatter_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  MlirValue none = lower_int(l, 0).v, one = lower_int(l, 1).v;
  const uint32_t vars =
      1u << SCATTER_OUTER | 1u << SCATTER_INDEX | 1u << SCATTER_ROW | 1u << SCATTER_LANE;
  MlirValue good = scatter_aim(l, j, vars);
  if (l->failed) return;
  /* What an index out of bounds names is element 0, which gets what it has: nothing branches. */
  j->inside = j->combine && loom_num_at_most(1, j->to_dims[j->axis]) ? good : (MlirValue){NULL};
  if (j->inside.ptr) {
    scatter_once(l, j, NULL, NULL);
    return;
  }
  loom_builder b = lower_at_level(l, l->depth);
  lower_for(l, none, lane_select(&b, good, one, none), one, SCATTER_ONCE, 0, NULL, scatter_once, j,
            NULL);
}

/* No row at all for an index that is bad. */
static void scatter_slice(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  if (j->combine && j->rows == 1 && j->lanes == 1) {
    scatter_element(l, j, carried, next);
    return;
  }
  MlirValue good = scatter_aim(l, j, 1u << SCATTER_INDEX);
  if (l->failed) return;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue low = j->low[SCATTER_ROW], high = lane_select(&b, good, j->high[SCATTER_ROW], low);
  lower_for(l, low, high, lower_int(l, 1).v, SCATTER_ROW, 0, NULL, scatter_row, j, NULL);
}

static void scatter_elements(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  if (j->lanes == 1)
    scatter_element(l, j, carried, next);
  else
    lower_for(l, j->low[SCATTER_LANE], j->high[SCATTER_LANE], lower_int(l, 1).v, SCATTER_LANE, 0,
              NULL, scatter_element, j, NULL);
}

static void scatter_index(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  if (!j->along)
    scatter_slice(l, j, carried, next);
  else if (j->rows == 1)
    scatter_elements(l, j, carried, next);
  else
    lower_for(l, j->low[SCATTER_ROW], j->high[SCATTER_ROW], lower_int(l, 1).v, SCATTER_ROW, 0, NULL,
              scatter_elements, j, NULL);
}

static void scatter_outer(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  lower_for(l, lower_int(l, 0).v, lower_int(l, j->count).v, lower_int(l, 1).v, SCATTER_INDEX, 0,
            NULL, scatter_index, j, NULL);
}

static void scatter_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  static const int vars[] = {SCATTER_OUTER, SCATTER_ROW, SCATTER_LANE, -1};
  const int64_t extents[] = {j->outer, j->rows, j->lanes};
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue chunk = l->vars[SCATTER_CHUNK].iv, size = lower_int(l, j->size).v;
  MlirValue first = lane_op2(&b, "arith.muli", chunk, size);
  MlirValue extent = lower_int(l, extents[j->cut]).v, zero = lower_int(l, 0).v;
  MlirValue last = lane_op2(&b, "arith.minsi", lane_op2(&b, "arith.addi", first, size), extent);
  /* Symbolic sizes may leave a chunk nothing: the loop over lanes expects a begin within the row.
   */
  MlirValue some = lane_cmpi(&b, "slt", first, extent);
  first = lane_select(&b, some, first, zero);
  last = lane_select(&b, some, last, zero);
  for (int cut = CUT_OUTER; cut <= CUT_LANE; cut++) {
    j->low[vars[cut]] = cut == j->cut ? first : lower_int(l, 0).v;
    j->high[vars[cut]] = cut == j->cut ? last : lower_int(l, extents[cut]).v;
  }
  if (j->vectors)
    scatter_run_chunk(l, j);
  else
    lower_for(l, j->low[SCATTER_OUTER], j->high[SCATTER_OUTER], lower_int(l, 1).v, SCATTER_OUTER, 0,
              NULL, scatter_outer, j, NULL);
}

/* An axis of one element may have stride 0: its place would not depend on the index then, and the
 * old value be read once, before the loop over the indices. Any other stride means the same place.
 */
static void scatter_bind_axis(const lower_kernel *kernel, int axis) {
  lower_buffer *to = &kernel->results[0], *from = &kernel->operands[to->shares];
  if (to->strides[axis] == 0) to->strides[axis] = 1;
  if (from->strides[axis] == 0) from->strides[axis] = 1;
}

void scatter_open(lower *l, const scatter_job *j) {
  scatter_bind_axis(l->kernel, j->axis);
  const int64_t extents[SCATTER_VARS] = {j->outer, j->count, j->rows, j->lanes, 1, INT32_MAX};
  l->var_count = SCATTER_VARS;
  for (int v = 0; v < SCATTER_VARS; v++)
    l->vars[v].extent = extents[v];
}

void scatter_lower(lower *l, const alone_plan *plan, int stage) {
  scatter_job job;
  if (!scatter_read(l->kernel, plan->op, &job)) {
    l->failed = true;
    return;
  }
  if (loom_type_elements(&job.updates) == 0) return;
  scatter_open(l, &job);
  scatter_run_plan(l->kernel, &job);
  lower_for(l, l->begin, l->end, lower_int(l, 1).v, SCATTER_CHUNK, 0, NULL, scatter_chunk, &job,
            NULL);
}
