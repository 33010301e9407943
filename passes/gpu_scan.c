/* Scans whose rows a team shares, on a GPU: as many elements at once as the team has members, from
 * the first to the last.
 *
 *   each member computes its element's operands
 *   shuffles within each warp, by 1, 2, 4, 8, 16: a member has what its half, its quarter, ... has,
 *   and, where it is in the upper part, adds the lower one's to its own prefix
 *   a block: the first thread of each warp writes the warp's to shared memory; barrier; every
 * thread takes those of the warps before its own; barrier, so that the memory can be used again
 *   what was there before the first element is added, and the results are stored
 *
 * Where there are few long rows these are cut into parts with blocks of their own. A first stage
 * leaves in slots what each part has in all. In the second one a block begins with what the parts
 * before its own have. The order of additions depends on sizes alone.
 */
#include "passes/gpu.h"
#include "passes/passes.h"

#include <string.h>

#define SCAN_ROWS 2048 /* rows that a thread each has: fewer would leave a GPU idle, */
#define SCAN_LONG 256  /* where they have so many elements */
#define SCAN_SLOT 8    /* bytes of a value, in shared memory and in the slots */

typedef struct gpu_scan {
  MlirValue high; /* the end of the part */
  bool stores;
} gpu_scan;

bool gpu_scan_shares(const lower *l, int64_t rows, int64_t extent) {
  return l->kernel->target == LANES_GPU && loom_num_hint(rows) < SCAN_ROWS &&
         loom_num_hint(extent) >= SCAN_LONG;
}

static int scan_count(const lower *l) { return l->plan->scan_count; }

static MlirValue scan_join(lower *l, loom_builder *b, int i, MlirValue later, MlirValue before) {
  return lower_scan_join(l, b, l->plan->scans[i], later, before);
}

static MlirValue scan_slot(lower *l, loom_builder *b, MlirValue base, MlirValue number, int i) {
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
  int64_t size = (int64_t)scan_count(l) * SCAN_SLOT;
  MlirValue at = lane_op2(b, "arith.muli", number, loom_build_int(b, i64, size));
  at = lane_op2(b, "arith.addi", at, loom_build_int(b, i64, (int64_t)i * SCAN_SLOT));
  return lane_address(b, base, at, LOOM_I8);
}

/* ---- a team ---- */

typedef struct scan_write {
  MlirValue base, number;
  const MlirValue *values;
} scan_write;

static void scan_write_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const scan_write *w = user;
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < scan_count(l); i++)
    lane_store(&b, w->values[i], scan_slot(l, &b, w->base, w->number, i),
               lower_scan_dtype(l->plan->scans[i]), (MlirValue){NULL});
}

/* The warps of a block, one after the other. */
static void scan_block(lower *l, MlirValue *prefixes, MlirValue *totals) {
  enum { WARPS = GPU_BLOCK / GPU_WARP };
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue size = loom_build_int(&b, i64, GPU_WARP), zero = loom_build_int(&b, i64, 0);
  MlirValue memory = gpu_shared(l, &b, WARPS * scan_count(l) * SCAN_SLOT);
  MlirValue warp = lane_op2(&b, "arith.divui", l->team.member, size);
  MlirValue lane = lane_op2(&b, "arith.remui", l->team.member, size);
  scan_write write = {memory, warp, totals};
  lower_if(l, lane_cmpi(&b, "eq", lane, zero), scan_write_body, &write);
  gpu_barrier(l, &b);
  for (int i = 0; i < scan_count(l) && !l->failed; i++) {
    MlirOperation op = l->plan->scans[i];
    loom_dtype dtype = lower_scan_dtype(op);
    MlirValue before = lower_scan_identity(l, op, dtype), total = before;
    for (int w = 0; w < WARPS; w++) {
      MlirValue number = loom_build_int(&b, i64, w);
      MlirValue place = scan_slot(l, &b, memory, number, i);
      MlirValue own = lane_load(&b, place, dtype, 1, (MlirValue){NULL});
      total = w ? scan_join(l, &b, i, own, total) : own;
      MlirValue earlier = lane_cmpi(&b, "sgt", warp, number);
      before = lane_select(&b, earlier, total, before);
    }
    totals[i] = total;
    prefixes[i] = scan_join(l, &b, i, prefixes[i], before);
  }
  gpu_barrier(l, &b);
}

/* Of each member's values: those of all members up to it, and of all. */
static void scan_team(lower *l, MlirValue *prefixes, MlirValue *totals) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  memcpy(totals, prefixes, sizeof *totals * (size_t)scan_count(l));
  for (int mask = 1; mask < GPU_WARP; mask *= 2) {
    MlirValue bit = lane_op2(&b, "arith.andi", l->team.member, loom_build_int(&b, i64, mask));
    MlirValue upper = lane_cmpi(&b, "ne", bit, loom_build_int(&b, i64, 0));
    for (int i = 0; i < scan_count(l) && !l->failed; i++) {
      MlirValue other = gpu_shuffle(l, &b, totals[i], mask);
      MlirValue more = scan_join(l, &b, i, prefixes[i], other);
      MlirValue later = lane_select(&b, upper, totals[i], other);
      MlirValue before = lane_select(&b, upper, other, totals[i]);
      totals[i] = scan_join(l, &b, i, later, before);
      prefixes[i] = lane_select(&b, upper, more, prefixes[i]);
    }
  }
  if (l->team.size > GPU_WARP && !l->failed) scan_block(l, prefixes, totals);
}

/* ---- parts ---- */

/* Where what a part of the row has lies. */
static MlirValue scan_part(lower *l, loom_builder *b, MlirValue part, int i) {
  const lower_nest *kept = &l->plan->kept;
  lower_index index = {0};
  int64_t stride = l->plan->splits;
  for (int k = kept->count - 1; k >= 0; k--) {
    if (kept->loops[k].var >= 0) index.coef[kept->loops[k].var] = stride;
    stride = loom_num_mul(stride, kept->loops[k].extent);
  }
  lower_value row;
  if (lower_index_base(l, &index, &row)) part = lane_op2(b, "arith.addi", part, row.v);
  return scan_slot(l, b, l->pointers[l->kernel->buffer_count], part, i);
}

static void scan_part_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const MlirValue *totals = user;
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < scan_count(l); i++)
    lane_store(&b, totals[i], scan_part(l, &b, l->part, i), lower_scan_dtype(l->plan->scans[i]),
               (MlirValue){NULL});
}

static void scan_part_load(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  MlirValue part = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  for (int i = 0; i < scan_count(l) && !l->failed; i++) {
    MlirValue place = scan_part(l, &b, part, i);
    MlirValue value =
        lane_load(&b, place, lower_scan_dtype(l->plan->scans[i]), 1, (MlirValue){NULL});
    next[i] = scan_join(l, &b, i, value, carried[i]);
  }
}

/* What the parts before this one have. */
static void scan_before(lower *l, MlirValue *values) {
  MlirValue prefixes[LOWER_MEMBERS], size = lower_int(l, l->team.size).v;
  lower_for(l, l->team.member, l->part, size, -1, scan_count(l), values, scan_part_load, NULL,
            prefixes);
  if (!l->failed) scan_team(l, prefixes, values);
}

/* ---- the loop ---- */

static void scan_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lower_scan_store(l);
}

/* Carried: what was there before. A member beyond the end has the last element, and adds nothing.
 */
static void scan_elements(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_scan *s = user;
  const lower_plan *plan = l->plan;
  struct lower_bound *outer = l->bound;
  lower_var *var = &l->vars[plan->inner.loops[0].var], saved = *var;
  MlirValue prefixes[LOWER_MEMBERS], totals[LOWER_MEMBERS], one = lower_int(l, 1).v;
  MlirValue first = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue at = lane_op2(&b, "arith.addi", first, l->team.member);
  MlirValue inside = lane_cmpi(&b, "slt", at, s->high);
  var->iv = lane_select(&b, inside, at, lane_op2(&b, "arith.subi", s->high, one));
  var->level = l->depth;
  for (int i = 0; i < scan_count(l) && !l->failed; i++) {
    MlirOperation op = plan->scans[i];
    lower_value v = lower_emit(l, loom_operand(op, 0), plan->at[0]);
    if (l->failed) break;
    b = lower_at_level(l, l->depth);
    MlirValue none = lower_scan_identity(l, op, lower_scan_dtype(op));
    prefixes[i] = lane_select(&b, inside, lower_opaque(&b, op, v.v), none);
  }
  if (!l->failed) scan_team(l, prefixes, totals);
  b = lower_at_level(l, l->depth);
  for (int i = 0; i < scan_count(l) && !l->failed; i++) {
    MlirOperation op = plan->scans[i];
    next[i] = scan_join(l, &b, i, totals[i], carried[i]);
    MlirValue made = scan_join(l, &b, i, prefixes[i], carried[i]);
    lower_bind(l, loom_result(op, 0), plan->at[0],
               (lower_value){made, l->depth, false, lower_scan_dtype(op)});
  }
  if (s->stores && !l->failed) lower_if(l, inside, scan_store, NULL);
  l->bound = outer;
  *var = saved;
}

void gpu_scan_loop(lower *l) {
  const lower_plan *plan = l->plan;
  MlirValue values[LOWER_MEMBERS], last[LOWER_MEMBERS];
  bool parts = l->part_high.ptr != NULL;
  MlirValue low = parts ? l->part_low : lower_int(l, 0).v;
  gpu_scan s = {.high = parts ? l->part_high : lower_int(l, plan->inner.loops[0].extent).v};
  s.stores = !parts || l->stage == plan->depth;
  for (int i = 0; i < scan_count(l); i++)
    values[i] = lower_scan_identity(l, plan->scans[i], lower_scan_dtype(plan->scans[i]));
  if (parts && s.stores) scan_before(l, values);
  lower_for(l, low, s.high, lower_int(l, l->team.size).v, -1, scan_count(l), values, scan_elements,
            &s, last);
  if (!s.stores && !l->failed) gpu_first(l, scan_part_store, last);
}
