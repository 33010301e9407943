/* Loops that overwrite the buffer of an initial value.
 *
 * A loop carries an array in the buffer of its result, into which its first iteration would copy
 * the initial value. Where nothing else reads that one and the body writes into it in place
 * (fuse_inplace.c), the result may take its buffer instead (loom-plan), and an argument's
 * (loom-outline). For a body that makes its results anew that would not pay: the value alternates
 * between two buffers, and would have to be copied into the first one at the end.
 */
#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/passes.h"

static MlirOperation loop_symbol(MlirOperation control, MlirAttribute name) {
  MlirOperation function = mlirOperationGetParentOperation(control);
  MlirBlock top = mlirOperationGetBlock(function);
  if (!name.ptr || !mlirAttributeIsAFlatSymbolRef(name)) return (MlirOperation){NULL};
  MlirStringRef wanted = mlirFlatSymbolRefAttrGetValue(name);
  for (MlirOperation op = mlirBlockGetFirstOperation(top); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && mlirStringRefEqual(loom_get_str(op, "sym_name"), wanted))
      return op;
  return (MlirOperation){NULL};
}

static bool loop_writes_inplace(MlirOperation control, intptr_t result);

/* Is the value what an op in place left, in a function whose groups may be kernels already? */
static bool loop_is_written(MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr) return false;
  if (loom_info(def)->control) return loop_writes_inplace(def, mlirOpResultGetResultNumber(value));
  MlirOperation kernel = loom_find_kernel(def);
  MlirBlock body = loom_body(kernel.ptr ? kernel : def);
  return body.ptr && loom_overwriting(body).ptr;
}

static bool loop_writes_inplace(MlirOperation control, intptr_t result) {
  MlirAttribute bodies = loom_get_attr(control, "bodies"), carry = loom_get_attr(control, "carry");
  if (loom_str_is(loom_get_str(control, "kind"), "if") || !bodies.ptr || !carry.ptr ||
      result >= mlirDenseArrayGetNumElements(carry))
    return false;
  int64_t from = mlirDenseI64ArrayGetElement(carry, result);
  intptr_t last = mlirArrayAttrGetNumElements(bodies) - 1;
  MlirOperation body = loop_symbol(control, mlirArrayAttrGetElement(bodies, last));
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(carry); i++)
    if (mlirDenseI64ArrayGetElement(carry, i) == -1 - result) return false; /* still read behind */
  if (from < 0 || !body.ptr) return false;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(body, 0));
  MlirOperation end = mlirBlockGetTerminator(block);
  return from < mlirOperationGetNumOperands(end) && loop_is_written(loom_operand(end, from));
}

intptr_t loom_loop_takes(MlirOperation control, MlirValue value) {
  intptr_t found = -1, first = loom_str_is(loom_get_str(control, "kind"), "for");
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(control); i++) {
    MlirValue operand = loom_operand(control, i);
    if (!mlirValueEqual(loom_view_root(operand), value)) continue;
    if (found >= 0 || !mlirValueEqual(operand, value)) return -1;
    found = i;
  }
  intptr_t result = found - first;
  if (found < first || result >= mlirOperationGetNumResults(control) ||
      !mlirTypeEqual(mlirValueGetType(value), mlirValueGetType(loom_result(control, result))) ||
      !loom_is_read_last(value, control) || !loop_writes_inplace(control, result))
    return -1;
  return result;
}
