/* Loops (lower.h): their order, folding neighbours into one, and building them. */
#include "passes/gpu.h"
#include "passes/lower.h"

#include <string.h>

/* ---- order and folding ---- */

static int64_t nest_abs(int64_t x) {
  x = loom_num_hint(x);
  return x < 0 ? -x : x;
}

/* Is variable x to run outside of y? By the first access (stores first) that tells them apart. */
static bool nest_outside(const lower *l, int x, int y) {
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < l->access_count; i++) {
      const lower_access *a = &l->accesses[i];
      int64_t cx = nest_abs(a->coef[x]), cy = nest_abs(a->coef[y]);
      if (a->store != (pass == 0) || !cx || !cy || cx == cy) continue;
      return cx > cy;
    }
  return x < y;
}

static bool nest_can_fold(const lower *l, int outer, int inner) {
  if (l->individual & (1u << outer | 1u << inner)) return false;
  for (int i = 0; i < l->access_count; i++) {
    const int64_t *coef = l->accesses[i].coef;
    if (coef[outer] != loom_num_mul(coef[inner], l->vars[inner].extent)) return false;
  }
  return true;
}

void lower_nest_build(const lower *l, uint32_t vars, lower_nest *out) {
  memset(out, 0, sizeof *out);
  int order[LOWER_VARS], n = 0;
  for (int v = 0; v < l->var_count; v++) {
    if (!(vars >> v & 1) || l->vars[v].extent == 1) continue;
    int at = n++;
    while (at > 0 && nest_outside(l, v, order[at - 1])) {
      order[at] = order[at - 1];
      at--;
    }
    order[at] = v;
  }
  for (int i = 0; i < n; i++) {
    lower_loop *last = out->count ? &out->loops[out->count - 1] : NULL;
    if (last && nest_can_fold(l, last->var, order[i])) {
      last->var = order[i];
      last->extent = loom_num_mul(last->extent, l->vars[order[i]].extent);
    } else {
      out->loops[out->count++] = (lower_loop){order[i], l->vars[order[i]].extent};
    }
  }
  if (!out->count) out->loops[out->count++] = (lower_loop){-1, 1};
  out->rows = 1;
  for (int i = 0; i + 1 < out->count; i++)
    out->rows = loom_num_mul(out->rows, out->loops[i].extent);
}

/* ---- building ---- */

void lower_for(lower *l, MlirValue low, MlirValue high, MlirValue step, int var, int carried,
               const MlirValue *inits, lower_body body, void *user, MlirValue *out) {
  MlirType types[LOWER_CARRIED + 1];
  MlirLocation locs[LOWER_CARRIED + 1];
  MlirValue args[LOWER_CARRIED], next[LOWER_CARRIED],
      operands[LOWER_CARRIED + 3] = {low, high, step};
  if (carried > LOWER_CARRIED || l->failed) {
    lower_fail(l, l->kernel->op, "a loop carries too many values");
    return;
  }
  types[0] = mlirIntegerTypeGet(l->kernel->ctx, 64);
  locs[0] = l->loc;
  for (int i = 0; i < carried; i++) {
    operands[3 + i] = inits[i];
    types[1 + i] = mlirValueGetType(inits[i]);
    locs[1 + i] = l->loc;
  }
  MlirBlock block = mlirBlockCreate(carried + 1, types, locs);
  for (int i = 0; i < carried; i++)
    args[i] = next[i] = mlirBlockGetArgument(block, i + 1);
  lower_push(l, block);
  lower_var saved = {0};
  if (var >= 0) {
    saved = l->vars[var];
    l->vars[var].iv = mlirBlockGetArgument(block, 0);
    l->vars[var].level = l->depth;
  }
  body(l, user, args, next);
  loom_builder inner = lower_at_level(l, l->depth);
  loom_build(&inner, "scf.yield", carried, next, 0, NULL, 0, NULL);
  if (var >= 0) l->vars[var] = saved;
  lower_pop(l);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  loom_builder b = lower_at_level(l, l->depth);
  MlirOperation op = loom_build_regions(&b, "scf.for", 3 + carried, operands, carried, types + 1, 0,
                                        NULL, 1, &region);
  for (int i = 0; i < carried; i++)
    out[i] = loom_result(op, i);
}

void lower_if(lower *l, MlirValue condition, lower_body body, void *user) {
  if (l->failed) return;
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  lower_push(l, block);
  body(l, user, NULL, NULL);
  loom_builder inner = lower_at_level(l, l->depth);
  loom_build(&inner, "scf.yield", 0, NULL, 0, NULL, 0, NULL);
  lower_pop(l);
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  mlirRegionAppendOwnedBlock(regions[0], block);
  loom_builder b = lower_at_level(l, l->depth);
  loom_build_regions(&b, "scf.if", 1, &condition, 0, NULL, 0, NULL, 2, regions);
}

void lower_if_else(lower *l, MlirValue condition, lower_body body, lower_body otherwise,
                   void *user) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue yes = lane_const_int(&b, mlirValueGetType(condition), 1);
  MlirValue other = lane_op2(&b, "arith.xori", condition, yes);
  lower_if(l, condition, body, user);
  lower_if(l, other, otherwise, user);
}

void lower_row_vars(lower *l, const lower_nest *nest, int loops, MlirValue row) {
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = loops - 1; i >= 0; i--) {
    if (nest->loops[i].var < 0) continue;
    lower_var *var = &l->vars[nest->loops[i].var];
    MlirValue extent = lower_divisor(l, nest->loops[i].extent).v;
    var->level = l->depth;
    var->iv = i ? lane_op2(&b, "arith.remui", row, extent) : row;
    if (i) row = lane_op2(&b, "arith.divui", row, extent);
  }
}

void lower_leave(lower *l, int level, bool lanes, lower_outer *saved) {
  memcpy(saved->scopes, l->scopes, sizeof l->scopes);
  saved->depth = l->depth;
  saved->lane_var = l->lane_var;
  saved->width = l->width;
  saved->mask = l->mask;
  l->depth = level;
  if (lanes) return;
  l->lane_var = -1;
  l->width = 1;
  l->mask.ptr = NULL;
}

void lower_return(lower *l, const lower_outer *saved) {
  memcpy(l->scopes, saved->scopes, sizeof l->scopes);
  l->depth = saved->depth;
  l->lane_var = saved->lane_var;
  l->width = saved->width;
  l->mask = saved->mask;
}

MlirValue lower_lane_split(lower *l, const lower_lanes *lanes, MlirValue high) {
  if (lanes->width == 1 || lanes->tail == LOWER_TAIL_NONE) return high;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue mask = loom_build_int(&b, mlirValueGetType(high), -(int64_t)lanes->width);
  return lane_op2(&b, "arith.andi", high, mask);
}

void lower_lane_main(lower *l, const lower_lanes *lanes, MlirValue low, MlirValue split,
                     int carried, const MlirValue *inits, lower_body body, void *user,
                     MlirValue *out) {
  l->lane_var = lanes->var;
  l->width = lanes->width;
  MlirValue step = lower_int(l, lanes->width).v;
  if (l->team.size)
    gpu_lanes(l, low, split, lanes->var, carried, inits, body, user, out);
  else
    lower_for(l, low, split, step, lanes->var, carried, inits, body, user, out);
  l->lane_var = -1;
  l->width = 1;
}

typedef struct nest_tail {
  const lower_lanes *lanes;
  MlirValue high;
  lower_body body;
  void *user;
} nest_tail;

static void nest_masked(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  nest_tail *tail = user;
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), type = lane_int(b.ctx, 32, tail->lanes->width);
  MlirValue left = lane_op2(&b, "arith.subi", tail->high, l->vars[tail->lanes->var].iv);
  left = lane_splat(&b, loom_build1(&b, "arith.trunci", left, i32), tail->lanes->width);
  l->mask = lane_cmpi(&b, "ult", lane_id(&b, type), left);
  tail->body(l, tail->user, carried, next);
  l->mask.ptr = NULL;
}

void lower_lane_tail(lower *l, const lower_lanes *lanes, MlirValue split, MlirValue high,
                     int carried, const MlirValue *inits, lower_body body, void *user,
                     MlirValue *out) {
  nest_tail tail = {lanes, high, body, user};
  bool masked = lanes->tail == LOWER_TAIL_MASK;
  for (int i = 0; i < carried; i++)
    out[i] = inits[i];
  if (lanes->tail == LOWER_TAIL_NONE || lanes->width == 1) return;
  l->lane_var = lanes->var;
  l->width = masked ? lanes->width : 1;
  MlirValue step = lower_int(l, l->width).v;
  if (l->team.size)
    gpu_lanes(l, split, high, lanes->var, carried, inits, body, user, out);
  else
    lower_for(l, split, high, step, lanes->var, carried, inits, masked ? nest_masked : body,
              masked ? &tail : user, out);
  l->lane_var = -1;
  l->width = 1;
}
