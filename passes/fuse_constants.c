/* What loom-fuse refuses of arithmetic on constants. */
#include <fenv.h>

#include "passes/fuse.h"

static bool fuse_constant(MlirOperation op, intptr_t i, loom_cell *out) {
  MlirOperation def = loom_def(loom_operand(op, i));
  loom_type type;
  loom_attr scalar;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, i)), &type) ||
      !loom_scalar_from_mlir(loom_get_attr(def, "value"), type.dtype, &scalar))
    return false;
  *out = loom_cell_from_attr(type.dtype, &scalar);
  return true;
}

/* Does an op on constants, which folding has left, raise an exception that the library warns of? */
static bool fuse_constants_raise(MlirOperation op) {
  loom_opcode code;
  loom_type type;
  loom_cell x, y, result;
  fenv_t saved;
  intptr_t count = mlirOperationGetNumOperands(op);
  if (!loom_opcode_of(op, &code) || count > 2 ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type) ||
      !loom_dtype_is_float(type.dtype) || !fuse_constant(op, 0, &x) ||
      (count == 2 && !fuse_constant(op, 1, &y)))
    return true;
  feholdexcept(&saved);
  bool known = count == 2 ? loom_cell_binary(code, type.dtype, x, y, &result)
                          : loom_cell_unary(code, type.dtype, x, &result);
  int raised = fetestexcept(FE_ALL_EXCEPT & ~FE_INEXACT);
  fesetenv(&saved);
  return !known || raised;
}

/* What folding left of arithmetic on constants may raise a floating-point exception, whatever the
 * input. LLVM would fold it and lose the exception, and the library would be asked for its warning
 * at every call: it is left to the library. */
bool fuse_check_constants(MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    intptr_t count = mlirOperationGetNumOperands(op);
    if (loom_class_of(op) != LOOM_CLASS_POINTWISE || count == 0 || !loom_fp_of(op)) continue;
    bool constant = true;
    for (intptr_t i = 0; i < count; i++)
      constant &= loom_def(loom_operand(op, i)).ptr &&
                  loom_is(loom_def(loom_operand(op, i)), "loom.constant");
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    if (constant && fuse_constants_raise(op))
      return loom_emit_error(mlirOperationGetLocation(op),
                             "'%.*s' of constants raises a floating-point exception at every call",
                             (int)name.length, name.data);
  }
  return true;
}
