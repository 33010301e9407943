/* Rows that stay in registers (gpu.h), between passes over them.
 *
 * A softmax goes through a row three times: for its largest element, for the sum of the
 * exponentials, and for the results. Where the vectors that fall to a member of the team are few,
 * the loop over them is written out. Round r of each pass is then about the same elements, and what
 * one pass has made of them the next ones take as it is: a row is read from memory once.
 *
 *   before: scf.for i = member; i < extent; i += team     after: round 0: x0, e0 = exp(x0 - m), ...
 *             x = load [i], e = exp(x - m), ...                  round 1: x1, e1 = exp(x1 - m), ...
 *
 * A round is a scope of its own with the block of its surroundings, and has the same number in
 * every pass; so the values that belong to it are found again (lower_emit.c), and no other
 * round's. What a round needs of other passes comes before it in that block.
 *
 * In the last round of a row some members may be outside. These load nothing, take zeros in place
 * of it, and store nothing; their zeros are left out of what is carried.
 */
#include "passes/gpu.h"

#define ROWS_WORDS 128 /* of 32 bits, of a thread's elements */
#define ROWS_COST 8192 /* instructions that are written out, about */

/* Is a row gone through more than once? */
static bool rows_pass_again(const lower *l) {
  return l->plan->group_count > 0 && l->plan->depth + lower_plan_any_full(l) > 1;
}

/* Words of what is loaded for one lane and differs between rows. */
static int64_t rows_words(const lower *l) {
  const lower_plan *plan = l->plan;
  int64_t words = 0;
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    bool differs = lower_plan_rows(plan) == 1;
    for (int k = 0; k < plan->kept.count && !a->store; k++)
      differs |= plan->kept.loops[k].var >= 0 && a->coef[plan->kept.loops[k].var] != 0;
    if (!a->store && differs && a->coef[plan->lanes.var])
      words += loom_dtype_size(a->dtype) == 8 ? 2 : 1;
  }
  return words;
}

int gpu_row_rounds(const lower *l, int64_t team, int width) {
  const lower_plan *plan = l->plan;
  if (!plan->lane_reduced || plan->scan_count || plan->inner.count != 1 || !rows_pass_again(l))
    return 0;
  int64_t extent = plan->inner.loops[0].extent;
  for (int g = 0; g < plan->group_count; g++)
    if (!plan->groups[g].primary) return 0;
  if (LOOM_STRIDE_IS_SYM(extent) || extent % width) return 0;
  int64_t rounds = (extent + team * width - 1) / (team * width), lanes = rounds * width;
  bool few = lanes * rows_words(l) <= ROWS_WORDS && lanes * plan->cost <= ROWS_COST;
  return few ? (int)rounds : 0;
}

/* The number of the first round's scope: the same in all passes over rows of this scope. */
static uint32_t rows_serial(lower *l) {
  lower_rounds *rounds = &l->team.rounds;
  MlirBlock block = l->scopes[l->depth].block;
  if (rounds->depth != l->depth || !rounds->block.ptr || !mlirBlockEqual(rounds->block, block)) {
    rounds->block = block;
    rounds->depth = l->depth;
    rounds->serial = l->serial + 1;
    l->serial += (uint32_t)rounds->count;
  }
  return rounds->serial;
}

typedef struct rows_pass {
  lower_body body;
  void *user;
  MlirValue first, high; /* the member's first lane; the end of the row */
  int var, carried;
  uint32_t serial;
} rows_pass;

static void rows_round(lower *l, const rows_pass *pass, int round, MlirValue *values) {
  int64_t all = (int64_t)l->team.size * l->width;
  lower_push(l, l->scopes[l->depth].block);
  l->scopes[l->depth].serial = pass->serial + (uint32_t)round;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue start = lane_op2(&b, "arith.addi", pass->first, lower_int(l, round * all).v);
  if ((round + 1) * all > l->plan->inner.loops[0].extent)
    l->team.rounds.inside = lane_cmpi(&b, "slt", start, pass->high);
  lower_var saved = l->vars[pass->var];
  l->vars[pass->var].iv = start;
  l->vars[pass->var].level = l->depth;
  MlirValue next[LOWER_CARRIED];
  for (int i = 0; i < pass->carried; i++)
    next[i] = values[i];
  pass->body(l, pass->user, values, next);
  for (int i = 0; i < pass->carried && !l->failed; i++)
    values[i] = l->team.rounds.inside.ptr
                    ? lane_select(&b, l->team.rounds.inside, next[i], values[i])
                    : next[i];
  l->vars[pass->var] = saved;
  lower_pop(l);
}

void gpu_rounds(lower *l, MlirValue low, MlirValue high, int var, int carried,
                const MlirValue *inits, lower_body body, void *user, MlirValue *out) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue lane = lane_op2(&b, "arith.muli", l->team.member, lower_int(l, l->width).v);
  MlirValue values[LOWER_CARRIED], outer = l->team.rounds.inside;
  rows_pass pass = {body, user, lane_op2(&b, "arith.addi", low, lane), high, var, carried, 0};
  pass.serial = rows_serial(l);
  for (int i = 0; i < carried; i++)
    values[i] = inits[i];
  for (int r = 0; r < l->team.rounds.count && !l->failed; r++) {
    l->team.rounds.inside.ptr = NULL;
    rows_round(l, &pass, r, values);
  }
  l->team.rounds.inside = outer;
  for (int i = 0; i < carried; i++)
    out[i] = values[i];
}

/* ---- members outside of the row ---- */

void gpu_inside(lower *l, lower_body body, void *user) {
  if (l->team.rounds.inside.ptr)
    lower_if(l, l->team.rounds.inside, body, user);
  else
    body(l, user, NULL, NULL);
}

static MlirValue rows_zero(loom_builder *b, MlirType type) {
  return mlirTypeIsAInteger(lane_element(type)) ? lane_const_int(b, type, 0)
                                                : lane_const_float(b, type, 0);
}

/* An scf.if: what is loaded, or zero. */
MlirValue gpu_load(const lower *l, loom_builder *b, MlirValue address, loom_dtype dtype, int width,
                   MlirValue mask) {
  if (!l->team.rounds.inside.ptr) {
    MlirValue value = lane_load(b, address, dtype, width, mask);
    gpu_align_load(l, value, dtype);
    return value;
  }
  MlirRegion regions[2];
  MlirType type = {NULL};
  for (int k = 0; k < 2; k++) {
    MlirBlock block = mlirBlockCreate(0, NULL, NULL);
    loom_builder at = loom_builder_at_end(block, b->loc);
    MlirValue value = k == 0 ? lane_load(&at, address, dtype, width, mask) : rows_zero(&at, type);
    if (k == 0) gpu_align_load(l, value, dtype);
    type = mlirValueGetType(value);
    loom_build(&at, "scf.yield", 1, &value, 0, NULL, 0, NULL);
    regions[k] = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(regions[k], block);
  }
  return loom_result(
      loom_build_regions(b, "scf.if", 1, &l->team.rounds.inside, 1, &type, 0, NULL, 2, regions), 0);
}
