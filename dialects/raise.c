/* Which floating-point exceptions computing a value can raise: by the columns `fp` and `fpInteger`
 * of the op table, and by the element types. */
#include "dialects/ir.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"

#define RAISE_BUDGET 32 /* ops that are looked at behind one value */

static bool raise_dtype(MlirValue value, loom_dtype *out) {
  MlirType type = mlirValueGetType(value);
  return mlirTypeIsAShaped(type) && loom_dtype_from_mlir(mlirShapedTypeGetElementType(type), out);
}

/* A module marked `loom.quiet` reports no exceptions. */
static bool raise_is_quiet(MlirOperation op) {
  MlirOperation parent = mlirOperationGetParentOperation(op);
  for (; !mlirOperationIsNull(parent); parent = mlirOperationGetParentOperation(op))
    op = parent;
  return !mlirAttributeIsNull(mlirOperationGetAttributeByName(op, loom_str(loom_mark_quiet)));
}

uint32_t loom_fp_of(MlirOperation op) {
  loom_opcode code;
  loom_dtype in, out;
  if (!loom_opcode_of(op, &code) || mlirOperationGetNumResults(op) < 1 ||
      mlirOperationGetNumOperands(op) < 1)
    return 0;
  uint32_t mask = loom_op_table[code].fp;
  if (!mask || raise_is_quiet(op)) return 0;
  if (!raise_dtype(loom_result(op, 0), &out) || !raise_dtype(loom_operand(op, 0), &in)) return mask;
  switch (code) {
  case LOOM_OP_CONVERT:
    if (!loom_dtype_is_inexact(in))
      return out == LOOM_F16 && loom_dtype_size(in) > 1 ? LOOM_FP_OVERFLOW : 0;
    if (out == LOOM_BOOL || loom_dtype_size(out) > loom_dtype_size(in)) mask &= LOOM_FP_INVALID;
    return out == LOOM_BOOL || (loom_dtype_is_inexact(out) && out >= in) ? 0 : mask;
  case LOOM_OP_REDUCE:
  case LOOM_OP_SCAN: {
    MlirStringRef kind = loom_get_str(op, "kind");
    bool arithmetic = loom_str_is(kind, "sum") || loom_str_is(kind, "prod");
    return arithmetic && loom_dtype_is_inexact(in) ? mask : 0;
  }
  default: return loom_dtype_is_inexact(in) ? mask : loom_op_table[code].fp_integer;
  }
}

static bool raise_may(MlirValue value, int *budget) {
  MlirOperation def = loom_def(value);
  if (!def.ptr) return false;
  if (--*budget < 0 || loom_fp_of(def)) return true;
  loom_class class = loom_info(def)->fusion;
  if (class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER)
    return false; /* stays whatever becomes of its result */
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); i++)
    if (raise_may(loom_operand(def, i), budget)) return true;
  return false;
}

bool loom_may_raise(MlirValue value) {
  int budget = RAISE_BUDGET;
  return raise_may(value, &budget);
}
