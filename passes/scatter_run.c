/* Scatters that combine whole lines of a result with fewer lines than there are updates: segments
 * are summed, or the gradients of an embedding. Updates of one line often follow each other. A line
 * that was read anew for each would wait for the store before.
 *
 *     for an index: same = it is the one before
 *       old = same ? the registers' line : the result's line, there
 *       registers = old + update; the result's line, there = registers
 *
 * Nothing branches: while the line stays the same, another line is read in its place, which no
 * store is under way to. The order of the additions is that of the updates, as in any other form.
 * An index that is out of bounds is reported, and writes back what line 0 has. */
#include "passes/passes.h"
#include "passes/scatter.h"

#define RUN_VECTORS 8
#define RUN_AHEAD 16 /* updates */

bool scatter_run_plan(const lower_kernel *kernel, scatter_job *j) {
  const int64_t numbers[] = {j->outer, j->count, j->rows, j->lanes, j->size, j->to_dims[j->axis]};
  int64_t size = (int64_t)loom_dtype_size(j->to.dtype), vl = kernel->vector_bytes / size;
  for (int i = 0; i < 6; i++)
    if (LOOM_STRIDE_IS_SYM(numbers[i])) return false;
  if (j->along || !j->combine || j->to.rank != 2 || j->axis != 0 || j->indices.rank != 1 ||
      size < 4 || j->to_dims[0] < 2 || j->count < j->to_dims[0])
    return false;
  int64_t lanes = j->chunks > 1 ? j->size : j->lanes;
  const lower_buffer *to = &kernel->results[0];
  if (j->lanes % lanes != 0 || lanes % vl != 0 || lanes / vl > RUN_VECTORS) return false;
  if (to->strides[1] != 1 || LOOM_STRIDE_IS_SYM(to->strides[0])) return false;
  j->vl = (int)vl;
  j->vectors = (int)(lanes / vl);
  return true;
}

/* Vector `v` of the update. */
static MlirValue run_update(lower *l, scatter_job *j, int v) {
  lower_at *at = lower_at_new(l, j->updates.rank);
  if (!at) return (MlirValue){NULL};
  alone_coef(l, &at->dims[0], SCATTER_INDEX, 1);
  at->dims[1].coef[SCATTER_LANE] = 1;
  at->dims[1].constant = (int64_t)v * j->vl;
  lower_value value = lower_emit(l, loom_operand(j->op, 2), lower_at_intern(l, at));
  return l->failed ? (MlirValue){NULL} : lower_wide(l, value);
}

/* The gather of whole lines from a buffer of the kernel that makes the updates; or null. */
static MlirOperation run_gather(const lower *l, const scatter_job *j, const lower_buffer **table) {
  MlirOperation def = loom_def(loom_operand(j->op, 2)), none = {NULL};
  if (!def.ptr || loom_class_of(def) != LOOM_CLASS_MOVE || !loom_info(def)->indexed ||
      loom_get_i64(def, "axis", -1) != 0)
    return none;
  for (int i = 0; i < l->kernel->operand_count; i++) {
    *table = &l->kernel->operands[i];
    if ((*table)->slot < 0 || !mlirValueEqual((*table)->value, loom_operand(def, 0))) continue;
    bool lines = (*table)->type.rank == 2 && (*table)->strides[1] == 1 &&
                 loom_type_elements(&(*table)->type) > 0 &&
                 !LOOM_STRIDE_IS_SYM((*table)->strides[0]);
    return lines ? def : none;
  }
  return none;
}

/* Lines of a table lie anywhere in memory, so that no hardware foresees them: what an update some
 * steps ahead gathers is fetched. At the end that is the last one. */
static void run_fetch(lower *l, const scatter_job *j) {
  const lower_buffer *table = NULL;
  loom_type indices;
  MlirOperation gather = run_gather(l, j, &table);
  if (!gather.ptr || !loom_type_from_mlir(mlirValueGetType(loom_operand(gather, 1)), &indices) ||
      indices.rank != 1)
    return;
  lower_at *at = lower_at_new(l, 1);
  if (!at) return;
  int64_t lines = table->type.dims[0], size = (int64_t)loom_dtype_size(table->type.dtype);
  MlirValue ahead = alone_op(l, "arith.addi", l->vars[SCATTER_INDEX].iv, RUN_AHEAD);
  ahead = alone_op(l, "arith.minsi", ahead, j->count - 1);
  lower_index_opaque(l, (lower_value){ahead, l->depth, false, LOOM_I64}, 1u << SCATTER_INDEX,
                     &at->dims[0]);
  lower_value index = lower_emit(l, loom_operand(gather, 1), lower_at_intern(l, at));
  if (l->failed) return;
  loom_builder b = alone_here(l);
  MlirValue line = lower_convert(NULL, &b, index.v, indices.dtype, LOOM_I64);
  line = alone_op(l, "arith.minsi", alone_op(l, "arith.maxsi", line, 0), lines - 1);
  MlirValue offset = alone_op(l, "arith.muli", line, table->strides[0]);
  offset = alone_op2(l, "arith.addi", offset, j->low[SCATTER_LANE]);
  MlirValue ptr = alone_address(l, l->pointers[table->slot], offset, table->type.dtype);
  for (int64_t i = 0; i < (int64_t)j->vectors * j->vl * size; i += ALONE_LINE_BYTES)
    alone_prefetch(l, alone_address(l, ptr, alone_const(l, i), LOOM_U8));
}

/* The chunk's part of a line of the result. */
static MlirValue run_line(lower *l, const scatter_job *j, MlirValue line) {
  const lower_buffer *to = &l->kernel->results[0];
  MlirValue offset = alone_op(l, "arith.muli", line, to->strides[0]);
  offset = alone_op2(l, "arith.addi", offset, j->low[SCATTER_LANE]);
  return alone_address(l, l->pointers[to->slot], offset, j->to.dtype);
}

/* Carried: the line before, as a number; its vectors. */
static void run_index(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  scatter_job *j = user;
  loom_dtype dtype = j->to.dtype;
  lower_value inside = {{NULL}, 0, false, LOOM_BOOL}, target = scatter_target(l, j, &inside);
  if (l->failed) return;
  MlirValue none = {NULL}, zero = alone_const(l, 0), one = alone_const(l, 1);
  loom_builder b = alone_here(l);
  MlirValue same = lane_cmpi(&b, "eq", target.v, carried[0]);
  MlirValue other = lane_select(&b, lane_cmpi(&b, "eq", target.v, zero), one, zero);
  other = lane_select(&b, same, other, target.v);
  MlirValue from = run_line(l, j, other), to = run_line(l, j, target.v);
  run_fetch(l, j);
  b = alone_here(l);
  MlirValue all = lane_splat(&b, same, j->vl), good = lane_splat(&b, inside.v, j->vl);
  next[0] = target.v;
  for (int v = 0; v < j->vectors && !l->failed; v++) {
    MlirValue update = run_update(l, j, v), at = alone_const(l, (int64_t)v * j->vl);
    if (l->failed) return;
    MlirValue source = alone_address(l, from, at, dtype);
    MlirValue place = alone_address(l, to, at, dtype);
    b = alone_here(l);
    MlirValue old = lane_load(&b, source, dtype, j->vl, none);
    old = lane_select(&b, all, carried[1 + v], old);
    MlirValue made = lower_combine(&b, j->combine, dtype, old, update);
    next[1 + v] = lane_select(&b, good, made, old);
    lane_store(&b, next[1 + v], place, dtype, none);
  }
}

void scatter_run_chunk(lower *l, scatter_job *j) {
  MlirValue values[1 + RUN_VECTORS];
  loom_builder b = alone_here(l);
  values[0] = alone_const(l, -1);
  MlirType type = lane_type(b.ctx, j->to.dtype, j->vl);
  for (int v = 0; v < j->vectors; v++)
    values[1 + v] = loom_dtype_is_float(j->to.dtype) ? lane_const_float(&b, type, 0)
                                                     : lane_const_int(&b, type, 0);
  alone_set(l, SCATTER_LANE, j->low[SCATTER_LANE]);
  l->lane_var = SCATTER_LANE;
  l->width = j->vl;
  lower_for(l, alone_const(l, 0), alone_const(l, j->count), alone_const(l, 1), SCATTER_INDEX,
            1 + j->vectors, values, run_index, j, values);
  l->lane_var = -1;
  l->width = 1;
  l->vars[SCATTER_LANE].iv = (MlirValue){NULL};
}
