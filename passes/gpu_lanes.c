/* Lane loops of a team (gpu.h): member m takes vectors m, m + size, ... of the loop. */
#include "passes/gpu.h"

typedef struct lanes_once {
  lower_body body;
  void *user;
  int var;
  MlirValue start;
} lanes_once;

static void lanes_once_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const lanes_once *once = user;
  lower_var saved = l->vars[once->var];
  l->vars[once->var].iv = once->start;
  l->vars[once->var].level = l->depth;
  once->body(l, once->user, carried, next);
  l->vars[once->var] = saved;
}

/* ---- columns whose rows all teams of a block share ---- */

typedef struct lanes_columns {
  lower_body body;
  void *user;
  int var;
  MlirValue low, high;
} lanes_columns;

/* Vector number `round` x members + member. A thread without columns has the first ones of the
 * unit, since it waits with the others; it stores nothing (gpu_first) and has no rows
 * (gpu_share_rows). */
static void lanes_column(lower *l, const lanes_columns *c, MlirValue round) {
  lower_push(l, l->scopes[l->depth].block);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue vector = l->team.member;
  if (round.ptr) {
    MlirValue first = lane_op2(&b, "arith.muli", round, lower_int(l, l->team.size).v);
    vector = lane_op2(&b, "arith.addi", first, vector);
  }
  MlirValue start = lane_op2(&b, "arith.muli", vector, lower_int(l, l->width).v);
  start = lane_op2(&b, "arith.addi", c->low, start);
  lower_var saved = l->vars[c->var];
  l->team.inside = lane_cmpi(&b, "slt", start, c->high);
  l->vars[c->var].iv = lane_select(&b, l->team.inside, start, c->low);
  l->vars[c->var].level = l->depth;
  c->body(l, c->user, NULL, NULL);
  l->vars[c->var] = saved;
  l->team.inside.ptr = NULL;
  lower_pop(l);
}

static void lanes_round(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_column(l, user, mlirBlockGetArgument(l->scopes[l->depth].block, 0));
}

/* Every thread makes as many rounds, so that all meet at the barriers of the reductions. */
static void lanes_shared(lower *l, lanes_columns *c) {
  int rounds = l->team.columns / (l->team.size * l->width);
  if (rounds <= 1)
    lanes_column(l, c, (MlirValue){NULL});
  else
    lower_for(l, lower_int(l, 0).v, lower_int(l, rounds).v, lower_int(l, 1).v, -1, 0, NULL,
              lanes_round, c, NULL);
}

void gpu_share_rows(lower *l, MlirValue *low, MlirValue *high, MlirValue *step) {
  if (l->team.teams <= 1) return;
  loom_builder b = lower_at_level(l, l->depth);
  *low = lane_op2(&b, "arith.addi", *low, l->team.number);
  *high = lane_select(&b, l->team.inside, *high, *low);
  *step = lower_int(l, l->team.teams).v;
}

void gpu_share_parts(lower *l, bool lanes, MlirValue *low, MlirValue *step) {
  if (lanes && l->team.teams <= 1) return;
  *low = lanes ? l->team.number : l->team.member;
  *step = lower_int(l, lanes ? l->team.teams : l->team.size).v;
}

/* ---- lane loops ---- */

void gpu_lanes(lower *l, MlirValue low, MlirValue high, int var, int carried,
               const MlirValue *inits, lower_body body, void *user, MlirValue *out) {
  if (l->team.teams > 1) {
    lanes_columns columns = {body, user, var, low, high};
    lanes_shared(l, &columns);
    return;
  }
  if (l->team.rounds.count) {
    gpu_rounds(l, low, high, var, carried, inits, body, user, out);
    return;
  }
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue width = lower_int(l, l->width).v;
  MlirValue start =
      lane_op2(&b, "arith.addi", low, lane_op2(&b, "arith.muli", l->team.member, width));
  if (l->team.once && !carried && var >= 0) {
    lanes_once once = {body, user, var, start};
    lower_if(l, lane_cmpi(&b, "slt", start, high), lanes_once_body, &once);
    return;
  }
  MlirValue step = lower_int(l, (int64_t)l->width * l->team.size).v;
  lower_for(l, start, high, step, var, carried, inits, body, user, out);
}

void gpu_first(lower *l, lower_body body, void *user) {
  loom_builder b = lower_at_level(l, l->depth);
  bool columns = !l->plan->lane_reduced;
  if (columns && l->team.teams <= 1) {
    body(l, user, NULL, NULL);
    return;
  }
  MlirValue number = columns ? l->team.number : l->team.member;
  MlirValue first = lane_cmpi(&b, "eq", number, lower_int(l, 0).v);
  if (columns) first = lane_op2(&b, "arith.andi", first, l->team.inside);
  lower_if(l, first, body, user);
}

/* ---- accesses ---- */

void gpu_align(const lower *l, MlirOperation access, loom_dtype dtype) {
  if (!l->team.aligned || l->width == 1) return;
  int64_t bytes = l->width * (int64_t)loom_dtype_size(dtype);
  loom_set_attr(access, "alignment", loom_attr_i64(l->kernel->ctx, bytes));
}

/* Between the load and its value are conversions of one operand at most that is not constant. */
void gpu_align_load(const lower *l, MlirValue value, loom_dtype dtype) {
  if (!l->team.aligned || l->width == 1) return;
  MlirOperation op = loom_def(value);
  while (op.ptr && !loom_is_named(op, "llvm.load"))
    op = loom_def(loom_operand(op, 0));
  if (op.ptr) gpu_align(l, op, dtype);
}
