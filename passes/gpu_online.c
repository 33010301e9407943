/* The largest element of a row and the sum of the exponentials beneath it, in one pass (gpu.h): for
 * a softmax of a row that does not stay in registers.
 *
 *   m = -inf, s = 0
 *   for each vector x of the member:
 *     M = the largest of m and x
 *     s = s exp(m - M) + exp(x - M), m = M
 *
 * The members of a team put theirs together in the same way (Milakov and Gimelshein, "Online
 * normalizer calculation for softmax", 2018). Each lane of a vector has a sum of its own, all have
 * one m: one exponential a vector more than in a pass of its own. A row of nothing but -inf has NaN
 * for its sum, as exp(-inf - -inf) gives in two passes.
 */
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "passes/gpu.h"
#include "passes/math.h"
#include "passes/passes.h"

#include <math.h>

/* Is `value` exp(x - m), where m comes by views from the largest x? */
static bool online_is(MlirValue value, MlirOperation largest) {
  loom_opcode code;
  MlirOperation exp = loom_def(value);
  if (!exp.ptr || !loom_opcode_of(exp, &code) || code != LOOM_OP_EXP) return false;
  MlirOperation sub = loom_def(loom_operand(exp, 0));
  if (!sub.ptr || !loom_opcode_of(sub, &code) || code != LOOM_OP_SUB ||
      !mlirValueEqual(loom_operand(sub, 0), loom_operand(largest, 0)))
    return false;
  MlirOperation m = loom_def(loom_operand(sub, 1));
  while (m.ptr && !mlirOperationEqual(m, largest)) {
    if (loom_info(m)->fusion != LOOM_CLASS_VIEW) return false;
    m = loom_def(loom_operand(m, 0));
  }
  return m.ptr != NULL;
}

static bool online_kind(const lower_group *g, int depth, const char *kind) {
  loom_type type;
  return g->primary && g->depth == depth && g->count == 1 &&
         loom_str_is(loom_get_str(g->members[0], "kind"), kind) &&
         loom_type_from_mlir(mlirValueGetType(loom_operand(g->members[0], 0)), &type) &&
         type.dtype == LOOM_F32;
}

bool gpu_online_find(const lower *l, MlirOperation op, gpu_online *out) {
  const lower_plan *plan = l->plan;
  if (!l->team.size || l->team.rounds.count || plan->splits || !plan->lane_reduced ||
      plan->inner.count != 1)
    return false;
  for (int i = 0; i < plan->group_count; i++)
    for (int k = 0; k < plan->group_count; k++) {
      const lower_group *first = &plan->groups[i], *second = &plan->groups[k];
      if (!online_kind(first, 0, "max") || !online_kind(second, 1, "sum") ||
          !online_is(loom_operand(second->members[0], 0), first->members[0]))
        continue;
      *out = (gpu_online){first, first->members[0], second->members[0], NULL};
      bool whole = first->lanes.width == 1 || first->lanes.tail == LOWER_TAIL_NONE;
      if (whole && (mlirOperationEqual(op, out->largest) || mlirOperationEqual(op, out->sum)))
        return true;
    }
  return false;
}

/* What is subtracted: m, but 0 for -inf, which is not to be subtracted from itself. */
static MlirValue online_beneath(loom_builder *b, MlirValue m) {
  MlirType type = mlirValueGetType(m);
  MlirValue none = lane_cmpf(b, "oeq", m, lane_const_float(b, type, -INFINITY));
  return lane_select(b, none, lane_const_float(b, type, 0), m);
}

static MlirValue online_exp(loom_builder *b, MlirValue x, MlirValue beneath) {
  MlirValue below = lane_op2(b, "arith.subf", x, beneath);
  return lower_math(NULL, b, LOOM_OP_EXP, LOOM_F32, below, (MlirValue){NULL});
}

void gpu_online_merge(loom_builder *b, const MlirValue *x, const MlirValue *y, MlirValue *out) {
  MlirValue m = lower_combine(b, "max", LOOM_F32, x[0], y[0]), beneath = online_beneath(b, m);
  MlirValue left = lane_op2(b, "arith.mulf", x[1], online_exp(b, x[0], beneath));
  MlirValue right = lane_op2(b, "arith.mulf", y[1], online_exp(b, y[0], beneath));
  out[0] = m;
  out[1] = lane_op2(b, "arith.addf", left, right);
}

/* Carried: m, and the sums of the lanes. */
static void online_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_online *online = user;
  lower_value value = lower_emit(l, loom_operand(online->largest, 0), online->at);
  if (l->failed) return;
  MlirValue x = lower_wide(l, value), most = x;
  loom_builder b = lower_at_level(l, l->depth);
  for (int width = l->width; width > 1; width /= 2) {
    MlirValue low, high;
    lane_halves(&b, most, &low, &high);
    most = lower_combine(&b, "max", LOOM_F32, low, high);
  }
  if (l->width > 1) most = lane_extract(&b, most, 0);
  next[0] = lower_combine(&b, "max", LOOM_F32, carried[0], most);
  MlirValue beneath = online_beneath(&b, next[0]);
  MlirValue scale = lane_splat(&b, online_exp(&b, carried[0], beneath), l->width);
  MlirValue more = online_exp(&b, x, lane_splat(&b, beneath, l->width));
  next[1] = lane_op2(&b, "arith.addf", lane_op2(&b, "arith.mulf", carried[1], scale), more);
}

void gpu_online_emit(lower *l, gpu_online *online, const lower_at *at, const lower_at *operand_at,
                     int level) {
  const lower_lanes *lanes = &online->group->lanes;
  reduce_run run = {online->group, operand_at, true, 1, 2, 1, {LOOM_F32, LOOM_F32}, true};
  online->at = operand_at;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue accs[16] = {{NULL}};
  MlirValue inits[] = {
      lane_const_float(&b, lane_type(b.ctx, LOOM_F32, 1), -INFINITY),
      lane_const_float(&b, lane_type(b.ctx, LOOM_F32, lanes->width), 0),
  };
  MlirValue high = lower_int(l, online->group->nest.loops[0].extent).v;
  lower_lane_main(l, lanes, lower_int(l, 0).v, high, 2, inits, online_step, online, accs);
  if (l->failed) return;
  b = lower_at_level(l, l->depth);
  for (int width = lanes->width; width > 1; width /= 2) {
    MlirValue low, upper;
    lane_halves(&b, accs[1], &low, &upper);
    accs[1] = lane_op2(&b, "arith.addf", low, upper);
  }
  if (lanes->width > 1) accs[1] = lane_extract(&b, accs[1], 0);
  gpu_reduce(l, &run, accs);
  b = lower_at_level(l, l->depth);
  MlirType f32 = mlirValueGetType(accs[0]);
  MlirValue none = lane_cmpf(&b, "oeq", accs[0], lane_const_float(&b, f32, -INFINITY));
  accs[1] = lane_select(&b, none, lane_const_float(&b, f32, NAN), accs[1]);
  lower_value values[] = {{accs[0], level, false, LOOM_F32}, {accs[1], level, false, LOOM_F32}};
  lower_remember(l, loom_result(online->largest, 0), at, values[0]);
  lower_remember(l, loom_result(online->sum, 0), at, values[1]);
}
