/* lab-cancel, the pass of docs/laboratory.md: x - x is 0.
 *
 * before:
 *     %0 = loom.sub %a, %a
 *
 * after:
 *     %0 = loom.constant(0)
 *
 * requires: nothing.
 *
 * keeps: values of integers. Of floats not: NaN - NaN is NaN, and so is the difference of two
 * infinities. With floats=0 the pass leaves floats alone.
 *
 * breaks: nothing. It ends, since each step removes a subtraction.
 */
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_shapes.h"
#include "test/passes/laboratory.h"

enum { CANCEL_FLOATS };
enum { CANCEL_COUNT };

static bool cancel_visit(MlirOperation op, void *user) {
  loom_type type;
  (void)user;
  if (!loom_is(op, LOOM_OP_SUB) || !mlirValueEqual(loom_operand(op, 0), loom_operand(op, 1)) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type))
    return true;
  if (loom_dtype_is_inexact(type.dtype) && !loom_pass_value(CANCEL_FLOATS, 1)) {
    loom_remark(LOOM_REMARK_MISSED, mlirOperationGetLocation(op), "cancel",
                "the difference of a NaN or infinity with itself is not 0");
    return true;
  }
  loom_attr zero = {.kind = LOOM_ATTR_SCALAR};
  loom_builder b = loom_builder_before(op);
  loom_named value = {"value", loom_scalar_to_mlir(b.ctx, type.dtype, &zero)};
  MlirType result = mlirValueGetType(loom_result(op, 0));
  MlirOperation made = loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &result, 1, &value);
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), loom_result(made, 0));
  loom_count(CANCEL_COUNT, 1);
  loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(op), "cancel",
              "a value minus itself is 0");
  mlirOperationDestroy(op);
  return true;
}

static bool cancel_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return !block.ptr || loom_walk_block(block, cancel_visit, NULL);
}

MlirPass lab_make_cancel_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LabCancel",
      .flag = "lab-cancel",
      .summary = "Replace a value minus itself by 0",
      .root = "builtin.module",
      .each_function = true,
      .run = cancel_run,
      .options = {[CANCEL_FLOATS] = {"floats", "1: floats, too", 1, 0, 1}},
      .counters = {[CANCEL_COUNT] = {"cancelled", "subtractions that are gone"}}};
  return loom_pass_of(&spec);
}
