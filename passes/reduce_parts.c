/* Reductions that several chunks share (reduce.h): each chunk reduces its part and leaves the
 * result in a slot; a stage behind them combines the slots, always in the same order.
 */
#include "passes/gpu.h"
#include "passes/passes.h"
#include "passes/reduce.h"

#include <string.h>

#define REDUCE_LIGHT 16 /* cost of an element up to which several rows are added at once */

/* ---- split reductions: partial results in slots ---- */

void lower_reduce_slots(lower *l) {
  lower_plan *plan = l->plan;
  int64_t kept = loom_num_mul(plan->kept.rows, plan->kept.loops[plan->kept.count - 1].extent);
  int64_t bytes = 0, parts = loom_num_mul(kept, plan->splits);
  for (int g = 0; g < plan->group_count; g++) {
    reduce_run run = {.group = &plan->groups[g]};
    reduce_layout(&run);
    for (int i = 0; i < run.count; i++) {
      plan->groups[g].slots[i] = bytes;
      bytes = loom_num_add(bytes, loom_num_mul(parts, (int64_t)loom_dtype_size(run.dtypes[i])));
      bytes = loom_num_mul(loom_num_ceil(bytes, 64), 64);
    }
  }
  /* Of a scan 8 bytes for each part. */
  plan->slot_bytes = loom_num_add(bytes, loom_num_mul(parts, 8 * (int64_t)plan->scan_count));
}

/* The place of carried value `i` of part `part` for the kept variables' values. */
static MlirValue reduce_slot(lower *l, const reduce_run *run, int i, MlirValue part) {
  const lower_nest *kept = &l->plan->kept;
  lower_index index = {0};
  int64_t stride = 1;
  for (int k = kept->count - 1; k >= 0; k--) {
    if (kept->loops[k].var >= 0) index.coef[kept->loops[k].var] = stride;
    stride = loom_num_mul(stride, kept->loops[k].extent);
  }
  loom_builder b = lower_at_level(l, l->depth);
  lower_value sum;
  MlirValue offset = lane_op2(&b, "arith.muli", part, lower_int(l, stride).v);
  if (lower_index_base(l, &index, &sum)) offset = lane_op2(&b, "arith.addi", offset, sum.v);
  MlirValue base = lower_int(l, run->group->slots[i]).v;
  MlirValue slots = lane_address(&b, l->pointers[l->kernel->buffer_count], base, LOOM_I8);
  return lane_address(&b, slots, offset, run->dtypes[i]);
}

typedef struct reduce_join {
  const reduce_run *run;
  bool lanes;
  bool wide[16]; /* summed in f64 */
} reduce_join;

static MlirValue reduce_cast(loom_builder *b, const char *name, MlirValue v, MlirType element) {
  return loom_build1(b, name, v, lane_like(mlirValueGetType(v), element));
}

static void reduce_join_part(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_join *join = user;
  MlirValue part = mlirBlockGetArgument(l->scopes[l->depth].block, 0), parts[16], plain[16];
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < join->run->count; i++) {
    MlirValue place = reduce_slot(l, join->run, i, part);
    parts[i] = lane_load(&b, place, join->run->dtypes[i], join->lanes ? l->width : 1, l->mask);
    if (join->lanes) gpu_align_load(l, parts[i], join->run->dtypes[i]);
    if (join->lanes) parts[i] = lower_repeat_first(l, &b, parts[i]);
    plain[i] = join->wide[i] ? parts[i] : carried[i];
  }
  reduce_merge(&b, join->run, plain, parts, next);
  for (int i = 0; i < join->run->count; i++)
    if (join->wide[i])
      next[i] = lane_op2(&b, "arith.addf", carried[i],
                         reduce_cast(&b, "arith.extf", parts[i], mlirF64TypeGet(b.ctx)));
}

void reduce_combine(lower *l, const reduce_run *run, bool lanes, MlirValue *out) {
  reduce_join join = {run, lanes, {false}};
  MlirValue inits[16];
  int width = lanes ? l->width : 1;
  loom_builder b = lower_at_level(l, l->depth);
  reduce_identities(l, run, width, inits);
  for (int i = 0, c = 0; i < run->group->count; i++) {
    MlirOperation op = run->group->members[i];
    join.wide[c] = run->dtypes[c] == LOOM_F32 && loom_str_is(loom_get_str(op, "kind"), "sum");
    if (join.wide[c]) inits[c] = lane_const_float(&b, lane_type(b.ctx, LOOM_F64, width), 0);
    c += 1 + reduce_is_arg(op);
  }
  MlirValue low = lower_int(l, 0).v, high = lower_int(l, l->plan->splits).v,
            one = lower_int(l, 1).v;
  if (l->team.size) {
    gpu_share_parts(l, lanes, &low, &one);
    reduce_run wide = *run;
    wide.row = !lanes;
    for (int i = 0; i < run->count; i++)
      if (join.wide[i]) wide.dtypes[i] = LOOM_F64;
    lower_for(l, low, high, one, -1, run->count, inits, reduce_join_part, &join, out);
    gpu_reduce(l, &wide, out);
  } else {
    lower_for(l, low, high, one, -1, run->count, inits, reduce_join_part, &join, out);
  }
  for (int i = 0; i < run->count && !l->failed; i++)
    if (join.wide[i]) out[i] = reduce_cast(&b, "arith.truncf", out[i], mlirF32TypeGet(b.ctx));
}

/* ---- one part ---- */

/* A team's part of a row, or of columns, lies in its slot. */
typedef struct reduce_made {
  const reduce_run *run;
  const MlirValue *accs;
} reduce_made;

static void reduce_part_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_made *made = user;
  const reduce_run *run = made->run;
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < run->count; i++) {
    MlirValue slot = reduce_slot(l, run, i, l->part);
    MlirOperation store = lane_store(&b, made->accs[i], slot, run->dtypes[i], (MlirValue){NULL});
    gpu_align(l, store, run->dtypes[i]);
  }
}

static void reduce_part_row(lower *l, const reduce_run *run) {
  MlirValue inits[16], accs[16];
  reduce_identities(l, run, run->width, inits);
  reduce_loops(l, run, 0, inits, accs);
  if (l->failed) return;
  if (run->width > 1) reduce_tree(l, run, accs);
  reduce_made made = {run, accs};
  gpu_reduce(l, run, accs);
  if (l->team.size)
    gpu_first(l, reduce_part_store, &made);
  else
    reduce_part_store(l, &made, NULL, NULL);
}

/* The columns of a block on a GPU: their sums are in registers. */
static void reduce_part_columns(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  reduce_run run = *(const reduce_run *)user;
  MlirValue inits[16], accs[16];
  run.width = l->width;
  reduce_identities(l, &run, run.width, inits);
  reduce_loops(l, &run, 0, inits, accs);
  if (l->failed) return;
  gpu_reduce(l, &run, accs);
  reduce_made made = {&run, accs};
  gpu_first(l, reduce_part_store, &made);
}

/* Columns: while rows are read in order, the sums of a block lie in the slots, in the first cache.
 */
static void reduce_column_fill(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_run *run = user;
  MlirValue accs[16];
  reduce_identities(l, run, l->width, accs);
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < run->count; i++)
    lane_store(&b, accs[i], reduce_slot(l, run, i, l->part), run->dtypes[i], l->mask);
}

static void reduce_column_add(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_run *run = user;
  MlirValue places[16], accs[16], sums[16];
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < run->count; i++) {
    places[i] = reduce_slot(l, run, i, l->part);
    accs[i] = lane_load(&b, places[i], run->dtypes[i], l->width, l->mask);
  }
  lower_loop loop = run->group->nest.loops[run->group->nest.count - 1];
  lower_var row = l->vars[loop.var];
  for (int u = 0; u < run->rows && !l->failed; u++) {
    /* The row's variable lives in a scope of its own, so that no value of one row is taken for the
     * next one's. */
    lower_push(l, l->scopes[l->depth].block);
    MlirValue iv = row.iv;
    if (u) iv = lane_op2(&b, "arith.addi", iv, lower_int(l, u).v);
    l->vars[loop.var] = (lower_var){.extent = row.extent, .iv = iv, .level = l->depth};
    reduce_step(l, (void *)run, accs, sums);
    memcpy(accs, sums, sizeof accs);
    lower_pop(l);
  }
  l->vars[loop.var] = row;
  for (int i = 0; i < run->count && !l->failed; i++)
    lane_store(&b, accs[i], places[i], run->dtypes[i], l->mask);
}

typedef struct reduce_columns {
  const reduce_run *run;
  MlirValue low, high;
  int loop;
} reduce_columns;

static void reduce_columns_lanes(lower *l, const reduce_columns *columns, lower_body body) {
  const lower_lanes *lanes = &l->plan->lanes;
  void *run = (void *)columns->run;
  MlirValue split = lower_lane_split(l, lanes, columns->high);
  lower_lane_main(l, lanes, columns->low, split, 0, NULL, body, run, NULL);
  lower_lane_tail(l, lanes, split, columns->high, 0, NULL, body, run, NULL);
}

static void reduce_column_rows(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  reduce_columns columns = *(reduce_columns *)user;
  const lower_nest *nest = &columns.run->group->nest;
  if (columns.loop == nest->count) {
    reduce_columns_lanes(l, &columns, reduce_column_add);
    return;
  }
  lower_loop loop = nest->loops[columns.loop];
  bool part = columns.loop++ == 0, last = columns.loop == nest->count;
  MlirValue low = part ? l->part_low : lower_int(l, 0).v;
  MlirValue high = part ? l->part_high : lower_int(l, loop.extent).v, one = lower_int(l, 1).v;
  reduce_run several = *columns.run;
  if (last && l->plan->cost <= REDUCE_LIGHT) {
    const int64_t rows = LOWER_COLUMN_ROWS;
    several.rows = (int)rows;
    columns.run = &several;
    loom_builder b = lower_at_level(l, l->depth);
    MlirValue whole = lane_op2(&b, "arith.subi", high, low);
    whole = lane_op2(&b, "arith.andi", whole, lower_int(l, -rows).v);
    MlirValue end = lane_op2(&b, "arith.addi", low, whole);
    lower_for(l, low, end, lower_int(l, rows).v, loop.var, 0, NULL, reduce_column_rows, &columns,
              NULL);
    several.rows = 1;
    if (loom_num_multiple(loop.extent, rows) &&
        (!part || loom_num_multiple(l->plan->split_size, rows)))
      return;
    low = end;
  }
  lower_for(l, low, high, one, loop.var, 0, NULL, reduce_column_rows, &columns, NULL);
}

void lower_reduce_part(lower *l, MlirValue low, MlirValue high) {
  lower_plan *plan = l->plan;
  for (int g = 0; g < plan->group_count && !l->failed; g++) {
    const lower_group *group = &plan->groups[g];
    if (group->depth != l->stage) continue;
    const lower_at *at = reduce_operand_at(l, group, plan->kept_at);
    reduce_run run = {group, at, plan->lane_reduced, group->lanes.width, 0, 1, {0}, false};
    reduce_layout(&run);
    if (plan->lane_reduced) {
      reduce_part_row(l, &run);
      continue;
    }
    reduce_columns columns = {&run, low, high, 0};
    if (l->team.size) {
      reduce_columns_lanes(l, &columns, reduce_part_columns);
      continue;
    }
    reduce_columns_lanes(l, &columns, reduce_column_fill);
    reduce_column_rows(l, &columns, NULL, NULL);
  }
}
