/* loom-lower: kernels to functions over bare pointers.
 *
 * Before: `loom.kernel @k` with a schedule. After: for each stage s a `func.func @k_s<s>` of the
 * kernel ABI (buffers, params, scratch, begin, end) -> status, in scf, arith, vector and llvm ops,
 * and a private body function whose pointers are noalias parameters, which pointers loaded from the
 * array of buffers could not be. A pair that shares one buffer is one parameter; a pair that the
 * caller may make share one (`loom.overlaps`) is not noalias.
 *
 * requires: loom-schedule. keeps: all but kernels. breaks: `loom.kernel` (erased).
 */
#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Dialect/SCF.h>
#include <mlir-c/Dialect/Vector.h>

#include "dialects/pass.h"
#include "passes/alone.h"
#include "passes/dot.h"
#include "passes/gpu.h"
#include "passes/lower.h"
#include "passes/passes.h"

#include <stdio.h>
#include <string.h>

/* ---- functions ---- */

static MlirAttribute lower_unit_attr(MlirContext ctx) { return mlirUnitAttrGet(ctx); }

/* Appends func.func @name(types) -> i32 to `into` before the kernel; returns its entry block.
 * `overlapping`: pointers that may be equal to one another. */
static MlirBlock lower_function(const lower_kernel *k, const char *name, intptr_t count,
                                const MlirType *types, bool internal, uint64_t overlapping) {
  loom_builder b = loom_builder_before(k->op);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  MlirLocation locs[72];
  MlirAttribute arg_attrs[72];
  MlirNamedAttribute noalias = mlirNamedAttributeGet(
      mlirIdentifierGet(b.ctx, loom_str("llvm.noalias")), lower_unit_attr(b.ctx));
  for (intptr_t i = 0; i < count; i++) {
    bool pointer = internal && i < count - 3 && !(overlapping >> i & 1);
    locs[i] = b.loc;
    arg_attrs[i] = mlirDictionaryAttrGet(b.ctx, pointer ? 1 : 0, &noalias);
  }
  MlirBlock block = mlirBlockCreate(count, types, locs);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  MlirAttribute inlined = loom_attr_str(b.ctx, "alwaysinline");
  loom_named attrs[] = {
      {"sym_name", loom_attr_str(b.ctx, name)},
      {"function_type", mlirTypeAttrGet(mlirFunctionTypeGet(b.ctx, count, types, 1, &i32))},
      {"arg_attrs", mlirArrayAttrGet(b.ctx, count, arg_attrs)},
      {"sym_visibility", loom_attr_str(b.ctx, "private")},
      {"passthrough", mlirArrayAttrGet(b.ctx, 1, &inlined)},
      {"llvm.linkage", mlirAttributeParseGet(b.ctx, loom_str("#llvm.linkage<internal>"))},
  };
  loom_build_regions(&b, "func.func", 0, NULL, 0, NULL, internal ? 6 : 3, attrs, 1, &region);
  return block;
}

static void lower_kernel_types(MlirContext ctx, MlirType *out) {
  MlirType ptr = mlirTypeParseGet(ctx, loom_str("!llvm.ptr")), i64 = mlirIntegerTypeGet(ctx, 64);
  out[0] = out[1] = out[2] = ptr;
  out[3] = out[4] = i64;
}

/* The entry function: loads the pointers and calls the body. */
static void lower_entry(const lower_kernel *k, const char *name, const char *body, int slots,
                        const lower_team *team) {
  MlirType types[5];
  lower_kernel_types(k->ctx, types);
  MlirBlock block = lower_function(k, name, 5, types, false, 0);
  if (team->size) gpu_set_sizes(mlirBlockGetParentOperation(block), team);
  loom_builder b = loom_builder_at_end(block, mlirOperationGetLocation(k->op));
  MlirValue buffers = mlirBlockGetArgument(block, 0), args[72];
  int shared[64], count = 0;
  memset(shared, 0, sizeof shared);
  for (int i = 0; i < k->result_count; i++)
    if (k->results[i].shares >= 0) shared[k->results[i].slot] = 1;
  for (int i = 0; i < k->buffer_count + slots; i++) {
    if (shared[i]) continue;
    MlirValue index = loom_build_int(&b, types[3], i);
    MlirValue place = lane_address(&b, buffers, index, LOOM_I64);
    args[count++] = loom_build1(&b, "llvm.load", place, types[0]);
  }
  for (int i = 1; i < 5; i++)
    args[count++] = mlirBlockGetArgument(block, i);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  loom_named callee = {"callee", mlirFlatSymbolRefAttrGet(b.ctx, loom_str(body))};
  MlirValue status = loom_result(loom_build(&b, "func.call", count, args, 1, &i32, 1, &callee), 0);
  loom_build(&b, "func.return", 1, &status, 0, NULL, 0, NULL);
}

/* The body function's block becomes the outermost scope. */
static void lower_open(lower *l, const char *name, int slots) {
  const lower_kernel *k = l->kernel;
  MlirType abi[5], types[72];
  int place[64], count = 0;
  lower_kernel_types(k->ctx, abi);
  for (int i = 0; i < k->operand_count; i++)
    if (k->operands[i].slot >= 0) place[k->operands[i].slot] = count++;
  for (int i = 0; i < k->result_count; i++) {
    int shares = k->results[i].shares;
    place[k->results[i].slot] = shares < 0 ? count++ : place[k->operands[shares].slot];
  }
  uint64_t overlapping = 0;
  for (int i = 0; i < k->operand_count + k->result_count; i++)
    if (k->operands[i].overlaps && k->operands[i].slot >= 0)
      overlapping |= (uint64_t)1 << place[k->operands[i].slot];
  for (int i = 0; i < slots; i++)
    place[k->buffer_count + i] = count++;
  for (int i = 0; i < count; i++)
    types[i] = abi[0];
  for (int i = 1; i < 5; i++)
    types[count + i - 1] = abi[i];
  MlirBlock block = lower_function(k, name, count + 4, types, true, overlapping);
  for (int i = 0; i < k->buffer_count + slots; i++)
    l->pointers[i] = mlirBlockGetArgument(block, place[i]);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(k->op, 0));
  for (int i = 0; i < k->operand_count; i++)
    if (k->operands[i].slot >= 0)
      mlirBlockArgumentSetLocation(l->pointers[k->operands[i].slot],
                                   mlirValueGetLocation(mlirBlockGetArgument(body, i)));
  l->params = mlirBlockGetArgument(block, count);
  l->scratch = mlirBlockGetArgument(block, count + 1);
  l->begin = mlirBlockGetArgument(block, count + 2);
  l->end = mlirBlockGetArgument(block, count + 3);
  lower_push(l, block);
  loom_builder b = lower_at_level(l, 0);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  loom_named elem = {"elem_type", mlirTypeAttrGet(i32)};
  MlirValue one = loom_build_int(&b, i32, 1);
  l->status = loom_result(loom_build(&b, "llvm.alloca", 1, &one, 1, abi, 1, &elem), 0);
  lane_store(&b, loom_build_int(&b, i32, 0), l->status, LOOM_I32, (MlirValue){NULL});
}

static void lower_close(lower *l) {
  loom_builder b = lower_at_level(l, 0);
  MlirValue status = lane_load(&b, l->status, LOOM_I32, 1, (MlirValue){NULL});
  loom_build(&b, "func.return", 1, &status, 0, NULL, 0, NULL);
  lower_pop(l);
}

/* ---- units: rows of the kept variables ---- */

static MlirValue lower_min(loom_builder *b, MlirValue x, MlirValue y) {
  return lane_select(b, lane_cmpi(b, "slt", x, y), x, y);
}

/* All results are made before any is stored, since a result may overwrite an operand. */
static void lower_results(lower *l, bool full, lower_value *values) {
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    if (l->plan->full[i] == full)
      values[i] = lower_emit(l, l->kernel->results[i].value, l->plan->at[i]);
}

static void lower_store_results(lower *l, bool full, const lower_value *values) {
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    if (l->plan->full[i] == full) lower_store(l, i, l->plan->at[i], values[i]);
}

static void lower_full_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_store_results(l, true, user);
}

static void lower_full_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_value values[64];
  lower_results(l, true, values);
  gpu_inside(l, lower_full_store, values);
}

static void lower_lane_loop(lower *l, MlirValue low, MlirValue high, lower_body body) {
  const lower_lanes *lanes = &l->plan->lanes;
  MlirValue split = lower_lane_split(l, lanes, high);
  lower_lane_main(l, lanes, low, split, 0, NULL, body, NULL, NULL);
  lower_lane_tail(l, lanes, split, high, 0, NULL, body, NULL, NULL);
}

/* The loops over reduced variables for results that have them; the lane loop is the last if it runs
 * along one. */
static void lower_inner_loops(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  int loop = *(int *)user, inner = loop + 1;
  const lower_nest *nest = &l->plan->inner;
  if (loop == nest->count || nest->loops[loop].var < 0) {
    lower_full_body(l, NULL, NULL, NULL);
    return;
  }
  bool part = loop == 0 && l->part_high.ptr;
  MlirValue low = part ? l->part_low : lower_int(l, 0).v;
  MlirValue high = part ? l->part_high : lower_int(l, nest->loops[loop].extent).v;
  MlirValue step = lower_int(l, 1).v;
  if (loop == 0) gpu_share_rows(l, &low, &high, &step);
  if (l->plan->lane_reduced && inner == nest->count)
    lower_lane_loop(l, low, high, lower_full_body);
  else
    lower_for(l, low, high, step, nest->loops[loop].var, 0, NULL, lower_inner_loops, &inner, NULL);
}

/* Reductions in order of depth, before any loop over full results wants them. */
static void lower_reduce_all(lower *l) {
  const lower_plan *plan = l->plan;
  for (int depth = 0; depth < plan->depth; depth++)
    for (int g = 0; g < plan->group_count && !l->failed; g++)
      if (plan->groups[g].depth == depth && plan->groups[g].primary && plan->saved_count)
        lower_emit(l, loom_result(plan->groups[g].members[0], 0), plan->kept_at);
}

static void lower_first_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_store_results(l, false, user);
}

static void lower_part_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  if (l->team.size)
    gpu_first(l, lower_first_body, user);
  else
    lower_first_body(l, user, carried, next);
}

/* A loop of one iteration for part 0 and none for others. */
static void lower_first_part(lower *l, lower_value *values) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue one = lower_int(l, 1).v;
  lower_for(l, lower_min(&b, l->part, one), one, one, -1, 0, NULL, lower_part_body, values, NULL);
}

static void lower_unit_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_value values[64];
  int first = 0;
  if (l->plan->scan_count) {
    lower_scan_loop(l);
    return;
  }
  if (l->plan->mix) {
    lower_mix_body(l);
    return;
  }
  if (l->plan->lane_reduced) lower_reduce_all(l);
  lower_results(l, false, values);
  if (lower_plan_any_full(l)) {
    int phase = lower_phase_open(l);
    lower_inner_loops(l, &first, NULL, NULL);
    lower_phase_close(l, phase);
  }
  if (l->part_high.ptr) { /* every part makes them, the first one stores them */
    lower_first_part(l, values);
    return;
  }
  if (l->team.size && (l->plan->lane_reduced || l->team.teams > 1))
    gpu_first(l, lower_first_body, values);
  else
    lower_store_results(l, false, values);
}

static void lower_unit_lanes(lower *l, MlirValue low, MlirValue high) {
  if (l->plan->splits && l->stage < l->plan->depth && !l->plan->scan_count) {
    lower_reduce_part(l, low, high);
    return;
  }
  if (l->plan->lane_reduced || l->plan->lanes.var < 0)
    lower_unit_body(l, NULL, NULL, NULL);
  else if (l->plan->box_count)
    lower_box_unit(l, low, high, lower_unit_body);
  else
    lower_lane_loop(l, low, high, lower_unit_body);
}

/* Parts of a row in this stage: all stages of a split plan have them but one that joins them. */
static int64_t lower_parts(const lower *l) {
  const lower_plan *plan = l->plan;
  if (!plan->splits || (l->stage == plan->depth && !lower_plan_any_full(l))) return 1;
  return plan->splits;
}

static MlirValue lower_unit_part(lower *l, MlirValue unit) {
  int64_t parts = lower_parts(l);
  l->part_high.ptr = NULL;
  if (parts == 1 && (!l->plan->splits || l->stage == l->plan->depth)) return unit;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue count = lower_divisor(l, parts).v, size = lower_int(l, l->plan->split_size).v;
  l->part = lane_op2(&b, "arith.remui", unit, count);
  l->part_low = lane_op2(&b, "arith.muli", l->part, size);
  l->part_high = lower_min(&b, lane_op2(&b, "arith.addi", l->part_low, size),
                           lower_int(l, l->plan->inner.loops[0].extent).v);
  return lane_op2(&b, "arith.divui", unit, count);
}

static void lower_unit_at(lower *l, const lower_schedule *schedule, MlirValue unit) {
  const lower_nest *kept = &l->plan->kept;
  unit = lower_unit_part(l, unit);
  MlirValue row = unit;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue low = lower_int(l, 0).v, high = lower_int(l, kept->loops[kept->count - 1].extent).v;
  if (schedule->blocks != 1) {
    MlirValue blocks = lower_divisor(l, schedule->blocks).v, size = lower_int(l, schedule->block).v;
    row = lane_op2(&b, "arith.divui", unit, blocks);
    low = lane_op2(&b, "arith.muli", lane_op2(&b, "arith.remui", unit, blocks), size);
    high = lower_min(&b, lane_op2(&b, "arith.addi", low, size), high);
  }
  int loops = lower_plan_row_loops(l->plan);
  lower_row_vars(l, kept, loops, row);
  lower_unit_lanes(l, low, high);
  l->part_high.ptr = NULL;
  for (int i = 0; i < loops; i++)
    if (kept->loops[i].var >= 0) l->vars[kept->loops[i].var].iv.ptr = NULL;
}

static void lower_unit(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_unit_at(l, user, mlirBlockGetArgument(l->scopes[l->depth].block, 0));
}

static void lower_turned_unit(lower *l, const lower_schedule *schedule, MlirValue unit) {
  gpu_turn_unit(l, unit, lower_unit_body);
}

static void lower_strip(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_tile_unit(l, mlirBlockGetArgument(l->scopes[l->depth].block, 0), lower_unit_body);
}

static void lower_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const lower_schedule *schedule = user;
  MlirValue unit = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  lower_panel_unit(l, unit, schedule->block, lower_unit_body);
}

static void lower_units(lower *l) {
  lower_schedule schedule;
  if (!lower_schedule_read(l, &schedule)) {
    l->failed = true;
    return;
  }
  const lower_plan *plan = l->plan;
  lower_schedule_join(l, l->stage, &schedule);
  bool tiled = plan->tile_loop >= 0;
  bool one_row = lower_plan_rows(plan) == 1 && !plan->lane_reduced && !plan->splits && !plan->panel;
  loom_builder b = lower_at_level(l, 0);
  int64_t per_chunk = one_row ? schedule.block : schedule.units;
  int64_t total =
      one_row && !schedule.team
          ? plan->kept.loops[plan->kept.count - 1].extent
          : loom_num_mul(loom_num_mul(lower_plan_rows(plan), schedule.blocks), lower_parts(l));
  if (tiled) total = lower_tile_units(plan);
  if (plan->panel) total = lower_panel_units(plan, schedule.block);
  if (schedule.team) {
    if (tiled) total = gpu_turn_units(plan);
    gpu_units(l, &schedule, total, tiled ? lower_turned_unit : lower_unit_at);
    return;
  }
  MlirValue scale = lower_int(l, per_chunk).v;
  MlirValue low = lane_op2(&b, "arith.muli", l->begin, scale);
  MlirValue high = lower_min(&b, lane_op2(&b, "arith.muli", l->end, scale), lower_int(l, total).v);
  if (one_row)
    lower_unit_lanes(l, low, high);
  else
    lower_for(l, low, high, lower_int(l, 1).v, -1, 0, NULL,
              plan->panel ? lower_panel
              : tiled     ? lower_strip
                          : lower_unit,
              &schedule, NULL);
}

/* ---- the pass ---- */

typedef struct lower_job {
  const lower_kernel *kernel;
  loom_arena *arena;
  lower analysis; /* of any other kernel */
  lower_plan map;
  MlirOperation dot; /* or null */
  dot_plan plan;
  const alone_kind *kind; /* or NULL */
  alone_plan alone;
} lower_job;

static void lower_stage_body(lower *l, lower_job *job, int stage) {
  if (job->dot.ptr) {
    dot_lower(l, &job->plan, stage);
    return;
  }
  if (job->kind) {
    bool gpu = l->kernel->target == LANES_GPU;
    (gpu ? job->kind->gpu_lower : job->kind->lower)(l, &job->alone, stage);
    return;
  }
  const lower *analysis = &job->analysis;
  l->plan = analysis->plan;
  for (int i = 0; i < l->plan->saved_count; i++) {
    l->plan->saved[i].phase = 0;
    l->plan->saved[i].closed = false;
  }
  l->var_count = analysis->var_count;
  memcpy(l->vars, analysis->vars, sizeof l->vars);
  l->accesses = analysis->accesses;
  l->access_count = analysis->access_count;
  /* Indices are compared as pointers: results keep the same ones in both runs. */
  l->interned = analysis->interned;
  l->interned_count = l->interned_capacity = analysis->interned_count;
  l->stage = stage;
  bool empty = true;
  for (int i = 0; i < l->kernel->result_count; i++)
    empty &= loom_type_elements(&l->kernel->results[i].type) == 0;
  if (!empty) lower_units(l);
}

/* `slots`: buffers behind operands and results: slots, what the plan keeps. */
static bool lower_stage(lower_job *job, int stage, int slots) {
  MlirStringRef symbol = loom_get_str(job->kernel->op, "sym_name");
  char name[256], body[272];
  snprintf(name, sizeof name, "%.*s_s%d", (int)(symbol.length < 200 ? symbol.length : 200),
           symbol.data, stage);
  snprintf(body, sizeof body, "%s_body", name);
  lower l;
  lower_init(&l, job->kernel, job->arena, false);
  l.symbol = name;
  lower_locate(&l, job->dot.ptr ? job->dot : job->kind ? job->alone.op : (MlirOperation){NULL});
  lower_open(&l, body, slots);
  lower_stage_body(&l, job, stage);
  lower_close(&l);
  lower_entry(job->kernel, name, body, slots, &l.team);
  return !l.failed;
}

enum { LOWER_COUNT_KERNELS, LOWER_COUNT_STAGES };

static void lower_tell(const lower_job *job, int stages) {
  loom_count(LOWER_COUNT_KERNELS, 1);
  loom_count(LOWER_COUNT_STAGES, stages);
  loom_remark(LOOM_REMARK_ANALYSIS, mlirOperationGetLocation(job->kernel->op), "lower",
              "stages: %d, code: %s", stages,
              job->dot.ptr ? "tiles of a product"
              : job->kind  ? "one operation of its own"
                           : "loops over its elements");
}

static bool lower_stages(lower_job *job) {
  int stages = 1;
  int slots = 0;
  MlirOperation op;
  job->dot = dot_find(job->kernel);
  if (job->dot.ptr) {
    if (!dot_plan_make(job->kernel, job->dot, &job->plan)) return false;
    stages = job->plan.stage_count;
    slots = (job->plan.slots != 0) + (job->plan.kept != 0);
  } else if ((job->kind = alone_find(job->kernel, &op))) {
    if (!alone_plan_make(job->kind, job->kernel, op, &job->alone)) return false;
    stages = job->alone.stage_count;
    slots = job->alone.slots != 0;
  } else {
    lower_init(&job->analysis, job->kernel, job->arena, true);
    lower_schedule schedule;
    if (!lower_plan_make(&job->analysis, &job->map)) return false;
    if (!lower_schedule_read(&job->analysis, &schedule)) return false;
    slots = job->map.splits != 0;
    if (slots) stages = job->map.depth + 1;
  }
  for (int i = 0; i < stages; i++)
    if (!lower_stage(job, i, slots)) return false;
  lower_tell(job, stages);
  return true;
}

static bool lower_one(MlirOperation op, void *user) {
  if (!loom_body(op).ptr) return true;
  loom_arena arena = {0};
  lower_kernel kernel;
  lower_job job = {.kernel = &kernel, .arena = &arena};
  bool ok = lower_kernel_parse(op, &arena, &kernel) && lower_stages(&job);
  loom_arena_fini(&arena);
  if (ok) mlirOperationDestroy(op);
  return ok;
}

static bool lower_run(MlirOperation root) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(root, 0));
  return !block.ptr || loom_walk_block(block, lower_one, NULL);
}

MlirPass loom_make_lower_pass(void) {
  const loom_pass_spec spec = {
      .name = "loom-lower",
      .flag = "loom-lower",
      .summary = "Lower kernels to functions over bare pointers",
      .root = "builtin.module",
      .run = lower_run,
      .dialect_count = 5,
      .dialects = {mlirGetDialectHandle__arith__(), mlirGetDialectHandle__func__(),
                   mlirGetDialectHandle__llvm__(), mlirGetDialectHandle__scf__(),
                   mlirGetDialectHandle__vector__()},
      .counters = {[LOWER_COUNT_KERNELS] = {"kernels", "kernels"},
                   [LOWER_COUNT_STAGES] = {"stages", "functions of them all"}}};
  return loom_pass_of(&spec);
}
