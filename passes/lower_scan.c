/* Scans (lower.h): running results along one axis, in order.
 *
 * The axis is the kernel's one reduced variable. Its loop carries the running value of every scan,
 * and all else of an element is made inside it. Lanes run along another variable when that one is
 * the contiguous one; else a row is taken element by element, as the order demands.
 */
#include "passes/gpu.h"
#include "passes/lower.h"

#include "passes/passes.h"

#include <math.h>
#include <string.h>

bool lower_scan_collect(lower *l) {
  lower_plan *plan = l->plan;
  MlirOperation op = mlirBlockGetFirstOperation(l->kernel->block);
  for (; op.ptr; op = mlirOperationGetNextInBlock(op)) {
    if (loom_class_of(op) != LOOM_CLASS_SCAN) continue;
    if (plan->scan_count == LOWER_MEMBERS) return lower_fail(l, op, "too many scans in a group");
    plan->scans[plan->scan_count++] = op;
    plan->depth = 1; /* a stage before the last one, where rows are cut into parts */
  }
  return true;
}

/* The domain is the scans' shape; all results and scans have it. */
bool lower_scan_domain(lower *l, loom_type *domain, uint32_t *axis_set) {
  const lower_plan *plan = l->plan;
  int64_t axis = loom_get_i64(plan->scans[0], "axis", 0);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(plan->scans[0], 0)), domain) || axis < 0 ||
      axis >= domain->rank)
    return lower_fail(l, plan->scans[0], "a bad axis");
  for (int i = 1; i < plan->scan_count; i++)
    if (loom_get_i64(plan->scans[i], "axis", 0) != axis)
      return lower_fail(l, plan->scans[i], "scans along two axes in a group");
  for (int i = 0; i < l->kernel->result_count; i++) {
    const loom_type *type = &l->kernel->results[i].type;
    if (type->rank != domain->rank || memcmp(type->dims, domain->dims, sizeof type->dims) != 0)
      return lower_fail(l, plan->scans[0], "a result of another shape");
  }
  *axis_set = 1u << axis;
  return true;
}

lower_value lower_emit_scan(lower *l, MlirOperation op, const lower_at *at) {
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  if (!l->dry || !l->plan || !l->plan->scan_count || at != l->plan->at[0]) {
    lower_fail(l, op, "a scan that is read at another index");
    return out;
  }
  out = lower_emit(l, loom_operand(op, 0), at);
  l->cost += 2;
  return out;
}

MlirValue lower_scan_identity(lower *l, MlirOperation op, loom_dtype dtype) {
  loom_builder b = lower_at_level(l, 0);
  MlirStringRef kind = loom_get_str(op, "kind");
  MlirType type = lane_type(b.ctx, dtype, l->width);
  bool min = loom_str_is(kind, "min"), max = loom_str_is(kind, "max");
  if (loom_dtype_is_float(dtype)) {
    /* -0 is the identity of addition: 0 would turn a first -0 into 0. */
    double value = loom_str_is(kind, "prod") ? 1 : min ? INFINITY : max ? -INFINITY : -0.0;
    return lane_const_float(&b, type, value);
  }
  int64_t value = loom_str_is(kind, "prod");
  int64_t low =
      loom_dtype_is_signed(dtype) ? (int64_t)(UINT64_MAX << (loom_dtype_size(dtype) * 8 - 1)) : 0;
  if (min || max) value = max ? low : dtype == LOOM_BOOL ? 1 : ~low;
  return lane_const_int(&b, type, value);
}

loom_dtype lower_scan_dtype(MlirOperation op) {
  loom_type type = {0};
  loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type);
  return type.dtype;
}

MlirValue lower_scan_join(lower *l, loom_builder *b, MlirOperation op, MlirValue later,
                          MlirValue before) {
  char kind[16] = {0};
  MlirStringRef name = loom_get_str(op, "kind");
  memcpy(kind, name.data, name.length < 15 ? name.length : 15);
  MlirValue out = lower_combine(b, kind, lower_scan_dtype(op), later, before);
  if (!out.ptr) lower_fail(l, op, "not supported for this element type");
  return out;
}

void lower_scan_store(lower *l) {
  const lower_plan *plan = l->plan;
  lower_value values[64];
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    values[i] = lower_emit(l, l->kernel->results[i].value, plan->at[i]);
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++)
    lower_store(l, i, plan->at[i], values[i]);
}

static void scan_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const lower_plan *plan = l->plan;
  struct lower_bound *outer = l->bound;
  for (int i = 0; i < plan->scan_count && !l->failed; i++) {
    MlirOperation op = plan->scans[i];
    lower_value v = lower_emit(l, loom_operand(op, 0), plan->at[0]);
    if (l->failed) break;
    MlirValue wide = lower_wide(l, v);
    loom_builder b = lower_at_level(l, l->depth);
    wide = lower_opaque(&b, op, wide);
    next[i] = lower_scan_join(l, &b, op, wide, carried[i]);
    if (l->failed) break;
    lower_bind(l, loom_result(op, 0), plan->at[0],
               (lower_value){next[i], l->depth, l->width > 1, lower_scan_dtype(op)});
  }
  lower_scan_store(l);
  l->bound = outer;
}

void lower_scan_loop(lower *l) {
  const lower_plan *plan = l->plan;
  MlirValue inits[LOWER_MEMBERS], last[LOWER_MEMBERS];
  if (l->team.size) {
    gpu_scan_loop(l);
    return;
  }
  lower_loop loop = plan->inner.loops[0];
  for (int i = 0; i < plan->scan_count; i++)
    inits[i] = lower_scan_identity(l, plan->scans[i], lower_scan_dtype(plan->scans[i]));
  MlirValue low = lower_int(l, 0).v, high = lower_int(l, loop.extent).v, one = lower_int(l, 1).v;
  lower_for(l, low, high, one, loop.var, plan->scan_count, inits, scan_step, NULL, last);
}
