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

void gpu_lanes(lower *l, MlirValue low, MlirValue high, int var, int carried,
               const MlirValue *inits, lower_body body, void *user, MlirValue *out) {
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
  MlirValue zero = lower_int(l, 0).v;
  lower_if(l, lane_cmpi(&b, "eq", l->team.member, zero), body, user);
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
