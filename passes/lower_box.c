/* Boxes (lower.h): parts of the domain in which pad, concatenate and update_slice know which of
 * their operands an element comes from.
 *
 * Dry runs find them. The first guard that is not decided names a variable and the interval of it
 * in which the guard holds; the domain is cut at the ends of that interval, and each part is looked
 * at again with the variable's range narrowed, until no guard is left that is an interval of one
 * variable. So the inside of a padded or updated array is a loop without masks and selects. A box
 * gets a condition for each row variable that is cut and a part of the lane loop for the lane
 * variable. What was made in one box is unknown in others, since there it may mean something else.
 */
#include "passes/lower.h"

#include <string.h>

#define BOX_LANES 8  /* the lane loop is cut only where it is at least so long */
#define BOX_GROWTH 3 /* code may grow to so many times that of the undivided loop */

/* ---- finding ---- */

/* Makes every result once, as the code will; returns the number of values that took. */
static uint32_t box_try(lower *l) {
  uint32_t count = l->remembered;
  l->split.var = -1;
  l->box = ++l->box_count;
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    lower_emit(l, l->kernel->results[i].value, l->plan->at[i]);
  return l->remembered - count;
}

static bool box_may_cut(const lower *l) {
  const lower_nest *kept = &l->plan->kept;
  if (l->split.var < 0 || l->plan->box_count + 3 > LOWER_BOXES) return false;
  for (int i = 0; i < kept->count; i++)
    if (kept->loops[i].var == l->split.var)
      return kept->loops[i].extent == l->vars[l->split.var].extent &&
             (l->split.var != l->plan->lanes.var ||
              loom_num_hint(kept->loops[i].extent) >= BOX_LANES);
  return false;
}

/* Cuts the node's part of the domain further; returns the number of values of all its parts. */
static uint32_t box_find(lower *l, int node) {
  lower_plan *plan = l->plan;
  uint32_t values = box_try(l);
  if (l->failed || !box_may_cut(l)) return values;
  int v = l->split.var, count = 0;
  lower_var whole = l->vars[v];
  int64_t first = whole.low, end = loom_num_sub(whole.extent, whole.cut);
  int64_t points[4] = {first, l->split.first, l->split.end, end};
  plan->boxes[node].var = v;
  plan->boxes[node].child = plan->box_count;
  for (int i = 0; i < 3; i++)
    if (points[i] != points[i + 1])
      plan->boxes[plan->box_count + count++] = (lower_box){-1, 0, 0, points[i], points[i + 1]};
  plan->boxes[node].children = count;
  plan->box_count += count;
  values = 0;
  for (int i = 0; i < count && !l->failed; i++) {
    const lower_box *child = &plan->boxes[plan->boxes[node].child + i];
    l->vars[v].low = child->first;
    l->vars[v].cut = loom_num_sub(whole.extent, child->end);
    values += box_find(l, plan->boxes[node].child + i);
  }
  l->vars[v] = whole;
  return values;
}

void lower_box_find(lower *l) {
  lower_plan *plan = l->plan;
  plan->box_count = 0;
  if (!l->guards || plan->reduced || plan->scan_count || plan->group_count ||
      plan->tile_loop >= 0 || plan->mix || plan->lanes.var < 0 || l->kernel->target == LANES_GPU)
    return;
  int accesses = l->access_count, cost = l->cost;
  uint32_t individual = l->individual, values = box_try(l);
  plan->boxes[0] = (lower_box){.var = -1};
  plan->box_count = 1;
  l->splitting = true;
  if (box_find(l, 0) > BOX_GROWTH * values + 32 || plan->box_count == 1) plan->box_count = 0;
  l->splitting = false;
  l->box = 0;
  l->access_count = accesses;
  l->cost = cost;
  l->individual = individual;
}

/* ---- code ---- */

static void box_node(lower *l, int node, MlirValue low, MlirValue high, lower_body body);

/* A part of the lane loop that need not begin at a multiple of the width. */
static void box_lanes(lower *l, MlirValue low, MlirValue high, lower_body body) {
  lower_lanes lanes = l->plan->lanes;
  const lower_var *var = &l->vars[lanes.var];
  int64_t extent = loom_num_hint(loom_num_sub(loom_num_sub(var->extent, var->cut), var->low));
  while (lanes.width > 1 && lanes.width > extent)
    lanes.width /= 2;
  /* Vectors of half the size that leave no rest are better than a rest under a mask. */
  int half = lanes.width / 2;
  if (half >= BOX_LANES && extent % lanes.width && extent % half == 0) lanes.width = half;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue split = high;
  if (lanes.width > 1) {
    lanes.tail = lower_tail_for(l, 1, lanes.width);
    split = lane_op2(&b, "arith.subi", high, low);
    split = lane_op2(&b, "arith.andi", split, lower_int(l, -(int64_t)lanes.width).v);
    split = lane_op2(&b, "arith.addi", low, split);
  }
  lower_lane_main(l, &lanes, low, split, 0, NULL, body, NULL, NULL);
  lower_lane_tail(l, &lanes, split, high, 0, NULL, body, NULL, NULL);
}

typedef struct box_inside {
  int node, var;
  MlirValue low, high;
  lower_body body;
} box_inside;

static void box_then(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const box_inside *inside = user;
  int level = l->vars[inside->var].level;
  l->vars[inside->var].level = l->depth; /* what its narrower range allows stays in here */
  box_node(l, inside->node, inside->low, inside->high, inside->body);
  l->vars[inside->var].level = level;
}

static void box_row(lower *l, const lower_box *child, box_inside *inside) {
  const lower_var *var = &l->vars[inside->var];
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue condition = lane_const_int(&b, mlirIntegerTypeGet(b.ctx, 1), 1);
  if (child->first != 0) condition = lane_cmpi(&b, "sge", var->iv, lower_int(l, child->first).v);
  if (child->end != var->extent)
    condition = lane_op2(&b, "arith.andi", condition,
                         lane_cmpi(&b, "slt", var->iv, lower_int(l, child->end).v));
  lower_if(l, condition, box_then, inside);
}

static void box_part(lower *l, const lower_box *child, box_inside *inside) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue first = lower_int(l, child->first).v, end = lower_int(l, child->end).v;
  MlirValue low = lane_op2(&b, "arith.maxsi", inside->low, first);
  MlirValue high = lane_op2(&b, "arith.minsi", inside->high, end);
  high = lane_op2(&b, "arith.maxsi", low, high);
  box_node(l, inside->node, low, high, inside->body);
}

static void box_node(lower *l, int node, MlirValue low, MlirValue high, lower_body body) {
  const lower_plan *plan = l->plan;
  const lower_box *box = &plan->boxes[node];
  if (box->var < 0) {
    uint32_t outer = l->box;
    l->box = ++l->box_count;
    box_lanes(l, low, high, body);
    l->box = outer;
    return;
  }
  lower_var *var = &l->vars[box->var];
  int64_t old_low = var->low, old_cut = var->cut;
  for (int i = 0; i < box->children; i++) {
    const lower_box *child = &plan->boxes[box->child + i];
    box_inside inside = {box->child + i, box->var, low, high, body};
    var->low = child->first;
    var->cut = loom_num_sub(var->extent, child->end);
    if (box->var == plan->lanes.var)
      box_part(l, child, &inside);
    else
      box_row(l, child, &inside);
  }
  var->low = old_low;
  var->cut = old_cut;
}

void lower_box_unit(lower *l, MlirValue low, MlirValue high, lower_body body) {
  box_node(l, 0, low, high, body);
}
