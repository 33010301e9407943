/* pad, concatenate, update_slice, gather, iota (lower.h). */
#include "passes/lower.h"

static lower_value move_iota(lower *l, MlirOperation op, const lower_at *at) {
  loom_type type;
  lower_value out = {{NULL}, 0, false, LOOM_I64};
  int64_t axis = loom_get_i64(op, "axis", 0);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) || axis < 0 ||
      axis >= at->rank) {
    lower_fail(l, op, "a bad axis");
    return out;
  }
  l->individual |= lower_index_vars(&at->dims[axis]);
  out.dtype = type.dtype;
  if (l->dry) return out;
  out = lower_index_value(l, &at->dims[axis]);
  loom_builder b = lower_at_level(l, out.level);
  out.v = lower_convert(NULL, &b, out.v, LOOM_I64, type.dtype);
  out.dtype = type.dtype;
  return out;
}

lower_value lower_emit_move(lower *l, MlirOperation op, loom_opcode code, const lower_at *at) {
  lower_value none = {{NULL}, 0, false, LOOM_I64};
  if (code == LOOM_OP_IOTA) return move_iota(l, op, at);
  lower_fail(l, op, "not supported in a group");
  return none;
}
