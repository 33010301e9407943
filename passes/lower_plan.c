/* How a kernel loops (lower.h): its domain, which variables are kept, their order, and where the
 * lanes are. */
#include "passes/gpu.h"
#include "passes/lower.h"

#include <string.h>

static bool plan_same_shape(const loom_type *a, const loom_type *b) {
  return a->rank == b->rank && memcmp(a->dims, b->dims, sizeof a->dims) == 0;
}

/* The index of a result over the kept variables: its sizes are those of the kept dimensions, but
 * for ones. */
static const lower_at *plan_kept_at(lower *l, const loom_type *type) {
  const lower_plan *plan = l->plan;
  lower_at *at = lower_at_new(l, type->rank);
  int v = 0;
  for (int d = 0; at && d < type->rank; d++) {
    if (type->dims[d] == 1) continue;
    while (v < plan->rank && (plan->reduced >> v & 1 || l->vars[v].extent == 1))
      v++;
    if (v == plan->rank || l->vars[v].extent != loom_num_dim(type->dims[d])) return NULL;
    at->dims[d].coef[v++] = 1;
  }
  while (v < plan->rank && (plan->reduced >> v & 1 || l->vars[v].extent == 1))
    v++;
  return at && v == plan->rank ? lower_at_intern(l, at) : NULL;
}

static void plan_domain(lower *l, const loom_type *domain, uint32_t reduced) {
  lower_plan *plan = l->plan;
  plan->rank = domain->rank;
  plan->reduced = reduced;
  l->var_count = domain->rank;
  for (int d = 0; d < domain->rank; d++)
    l->vars[d].extent = loom_num_dim(domain->dims[d]);
}

/* Does every result fit the domain of this group of reductions? */
static bool plan_try_primary(lower *l, lower_group *g) {
  lower_plan *plan = l->plan;
  plan_domain(l, &g->shape, g->axes);
  for (int i = 0; i < l->kernel->result_count; i++) {
    const loom_type *type = &l->kernel->results[i].type;
    plan->full[i] = plan_same_shape(type, &g->shape);
    plan->at[i] = plan->full[i] ? lower_at_identity(l, plan->rank, 0) : plan_kept_at(l, type);
    if (!plan->at[i]) return false;
  }
  return true;
}

static int64_t plan_size(const loom_type *shape) { return loom_num_hint(loom_num_elements(shape)); }

static bool plan_find_domain(lower *l) {
  lower_plan *plan = l->plan;
  int best = -1;
  if (plan->scan_count) {
    loom_type domain;
    uint32_t axis;
    if (!lower_scan_domain(l, &domain, &axis)) return false;
    plan_domain(l, &domain, axis);
    for (int i = 0; i < l->kernel->result_count; i++) {
      plan->full[i] = true;
      plan->at[i] = lower_at_identity(l, plan->rank, 0);
    }
    return true;
  }
  for (int g = 0; g < plan->group_count; g++)
    if (best < 0 || plan_size(&plan->groups[g].shape) > plan_size(&plan->groups[best].shape))
      best = g;
  if (best >= 0 && plan_try_primary(l, &plan->groups[best])) return true;
  const lower_buffer *results = l->kernel->results;
  plan_domain(l, &results[0].type, 0);
  for (int i = 0; i < l->kernel->result_count; i++) {
    plan->full[i] = false;
    plan->at[i] = plan_same_shape(&results[i].type, &results[0].type)
                      ? lower_at_identity(l, plan->rank, 0)
                      : plan_kept_at(l, &results[i].type);
    if (!plan->at[i]) return lower_fail(l, l->kernel->op, "results differ in shape");
  }
  return true;
}

/* Variables of the reduced dimensions: the domain's own, or new ones. */
static bool plan_group_vars(lower *l, lower_group *g) {
  const lower_plan *plan = l->plan;
  g->primary = plan->reduced && g->axes == plan->reduced && g->shape.rank == plan->rank;
  for (int d = 0; g->primary && d < plan->rank; d++)
    g->primary = loom_num_dim(g->shape.dims[d]) == l->vars[d].extent;
  g->first_var = g->primary ? 0 : l->var_count;
  if (g->primary) return true;
  if (!g->axes) return true;
  int lowest = __builtin_ctz(g->axes);
  g->first_var = l->var_count > lowest ? l->var_count - lowest : 0;
  /* Unreduced dimensions between reduced ones leave their numbers unused. */
  int top = 31 - __builtin_clz(g->axes);
  if (g->first_var + top >= LOWER_VARS)
    return lower_fail(l, g->members[0], "too many loops in a group");
  for (int d = 0; d <= top; d++) {
    int v = g->first_var + d;
    if (v < l->var_count) continue;
    l->vars[v].extent = g->axes >> d & 1 ? loom_num_dim(g->shape.dims[d]) : 1;
  }
  l->var_count = g->first_var + top + 1;
  return true;
}

/* How many accesses run along a variable with step 1; of all, or of loads alone. */
static int plan_unit_steps(const lower *l, int var, bool loads) {
  int count = 0;
  for (int i = 0; var >= 0 && i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    if (loads && a->store) continue;
    if (a->opaque && !a->store) continue;
    count += a->coef[var] == 1 || a->coef[var] == -1;
  }
  return count;
}

static int64_t plan_width(int64_t extent, int64_t width) {
  while (width > 1 && width > extent)
    width /= 2;
  return width;
}

/* Rough instructions that fetch a vector of which lane to lane lies some elements on. There are no
 * gathers of bytes. */
static int64_t plan_fetch(const lower_access *a, int var, int64_t width) {
  int64_t coef = loom_num_hint(a->coef[var]), step = coef < 0 ? -coef : coef;
  if (!a->opaque && step <= 1) return coef < 0 ? 2 : step;
  if (!a->opaque && step <= LOWER_APART) return 2 * step;
  return width * (loom_dtype_size(a->dtype) < 4 ? 6 : 4);
}

/* Instructions that join two sets of lanes. */
static int64_t plan_join(MlirOperation op) {
  MlirStringRef kind = loom_get_str(op, "kind");
  bool arg = loom_str_is(kind, "argmax") || loom_str_is(kind, "argmin");
  return arg ? 12 : loom_str_is(kind, "max") || loom_str_is(kind, "min") ? 4 : 2;
}

/* Should the lanes run along the innermost reduced loop, so that a tree over them ends each row, or
 * along the innermost kept one? By rough instructions for one row and for as many elements of
 * columns. */
static bool plan_lanes_reduce(const lower *l, lower_loop kept, lower_loop inner) {
  const lower_plan *plan = l->plan;
  int64_t along_inner = 1, along_kept = 1, tree = 4, join = 0;
  int64_t row = loom_num_hint(inner.extent), column = loom_num_hint(kept.extent);
  size_t size = 1;
  for (int i = 0; i < l->access_count; i++)
    if (!l->accesses[i].store && loom_dtype_size(l->accesses[i].dtype) > size)
      size = loom_dtype_size(l->accesses[i].dtype);
  int64_t width = l->kernel->vector_bytes / (int64_t)size;
  int64_t rows = plan_width(row, width), columns = plan_width(column, width);
  for (int i = 0; i < l->access_count; i++) {
    if (l->accesses[i].store) continue;
    along_inner += plan_fetch(&l->accesses[i], inner.var, rows);
    along_kept += plan_fetch(&l->accesses[i], kept.var, columns);
  }
  for (int g = 0; g < plan->group_count; g++)
    for (int i = 0; i < plan->groups[g].count; i++)
      join += plan_join(plan->groups[g].members[i]);
  for (int64_t w = rows; w > 1; w /= 2)
    tree += join;
  int64_t others = loom_num_hint(plan->inner.rows);
  int64_t of_row = along_inner * others * ((row + rows - 1) / rows) + tree;
  int64_t of_columns = along_kept * others * row * ((column + columns - 1) / columns);
  return of_row * column <= of_columns;
}

static void plan_loops(lower *l) {
  lower_plan *plan = l->plan;
  uint32_t all = (1u << plan->rank) - 1;
  lower_nest_build(l, all & ~plan->reduced, &plan->kept);
  lower_nest_build(l, all & plan->reduced, &plan->inner);
  for (int g = 0; g < plan->group_count; g++) {
    lower_group *group = &plan->groups[g];
    uint32_t vars = 0;
    for (int d = 0; d < group->shape.rank; d++)
      if (group->axes >> d & 1) vars |= 1u << (group->first_var + d);
    lower_nest_build(l, vars, &group->nest);
  }
  lower_loop kept = plan->kept.loops[plan->kept.count - 1];
  lower_loop inner = plan->inner.loops[plan->inner.count - 1];
  plan->lane_reduced =
      plan->reduced && inner.var >= 0 &&
      (kept.var < 0 || (l->kernel->target == LANES_GPU ? plan_unit_steps(l, inner.var, true) >=
                                                             plan_unit_steps(l, kept.var, true)
                                                       : plan_lanes_reduce(l, kept, inner)));
  plan->lanes.var = plan->lane_reduced ? inner.var : kept.var;
  if (!plan->scan_count) return;
  /* A scan's own axis never has the lanes. */
  plan->lane_reduced = kept.var < 0 ||
                       plan_unit_steps(l, inner.var, false) > plan_unit_steps(l, kept.var, false) ||
                       gpu_scan_shares(l, loom_num_mul(plan->kept.rows, kept.extent), inner.extent);
  plan->lanes.var = plan->lane_reduced ? -1 : kept.var;
}

bool lower_plan_make(lower *l, lower_plan *out) {
  memset(out, 0, sizeof *out);
  l->plan = out;
  const lower_kernel *k = l->kernel;
  if (k->result_count == 0) return lower_fail(l, k->op, "a kernel without results");
  if (!lower_reduce_collect(l) || !lower_scan_collect(l) || !plan_find_domain(l)) return false;
  for (int g = 0; g < out->group_count; g++)
    if (!plan_group_vars(l, &out->groups[g])) return false;
  if (out->reduced && !out->scan_count) {
    lower_at *kept = lower_at_new(l, out->rank - __builtin_popcount(out->reduced));
    for (int d = 0, n = 0; kept && d < out->rank; d++)
      if (!(out->reduced >> d & 1)) {
        if (l->vars[d].extent != 1) kept->dims[n].coef[d] = 1;
        n++;
      }
    if (kept) out->kept_at = lower_at_intern(l, kept);
    out->full_at = lower_at_identity(l, out->rank, 0);
  }
  for (int i = 0; i < k->result_count; i++)
    lower_store(l, i, out->at[i], lower_emit(l, k->results[i].value, out->at[i]));
  if (l->failed) return false;
  out->cost = l->cost;
  plan_loops(l);
  lower_mix_find(l);
  lower_tile_find(l);
  lower_save_find(l);
  lower_box_find(l);
  return true;
}

bool lower_plan_any_full(const lower *l) {
  for (int i = 0; i < l->kernel->result_count; i++)
    if (l->plan->full[i]) return true;
  return false;
}

int lower_plan_row_loops(const lower_plan *plan) {
  return plan->lane_reduced ? plan->kept.count : plan->kept.count - 1;
}

int64_t lower_plan_rows(const lower_plan *plan) {
  int64_t rows = plan->kept.rows;
  if (plan->lane_reduced) rows = loom_num_mul(rows, plan->kept.loops[plan->kept.count - 1].extent);
  return rows;
}
