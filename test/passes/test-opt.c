/* loom-opt with passes that are wrong on purpose, for tests of what finds them, and with the pass
 * of docs/laboratory.md. */
#include <mlir-c/Conversion.h>
#include <mlir-c/Transforms.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/native.h"
#include "test/passes/laboratory.h"

typedef struct swapped {
  const char *from, *to;
} swapped;

/* Replaces an op of two operands by another one. */
static MlirWalkResult swap(MlirOperation op, void *user) {
  const swapped *names = user;
  if (!loom_is_named(op, names->from)) return MlirWalkResultAdvance;
  loom_builder b = loom_builder_before(op);
  MlirValue other = loom_build2(&b, names->to, loom_operand(op, 0), loom_operand(op, 1),
                                mlirValueGetType(loom_result(op, 0)));
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), other);
  mlirOperationDestroy(op);
  return MlirWalkResultSkip;
}

static bool break_graph(MlirOperation root) {
  mlirOperationWalk(root, swap, &(swapped){"loom.sub", "loom.add"}, MlirWalkPostOrder);
  return true;
}

static bool break_lowered(MlirOperation root) {
  mlirOperationWalk(root, swap, &(swapped){"arith.mulf", "arith.addf"}, MlirWalkPostOrder);
  return true;
}

/* The sign of the first operand in place of the second one's. */
static MlirWalkResult turn(MlirOperation op, void *user) {
  if (!loom_is_named(op, "llvm.intr.copysign")) return MlirWalkResultAdvance;
  MlirValue first = loom_operand(op, 0), second = loom_operand(op, 1);
  mlirOperationSetOperand(op, 0, second);
  mlirOperationSetOperand(op, 1, first);
  return MlirWalkResultAdvance;
}

static bool break_copysign(MlirOperation root) {
  mlirOperationWalk(root, turn, NULL, MlirWalkPreOrder);
  return true;
}

/* Loops make no step. */
static MlirWalkResult stop(MlirOperation op, void *user) {
  if (!loom_is_named(op, "scf.for")) return MlirWalkResultAdvance;
  loom_builder b = loom_builder_before(op);
  MlirType type = mlirValueGetType(loom_operand(op, 2));
  mlirOperationSetOperand(op, 2, loom_build_int(&b, type, 0));
  return MlirWalkResultAdvance;
}

static bool break_endless(MlirOperation root) {
  mlirOperationWalk(root, stop, NULL, MlirWalkPreOrder);
  return true;
}

/* All values of a plan are in the same place. */
static MlirWalkResult move(MlirOperation op, void *user) {
  if (loom_is(op, LOOM_OP_BUFFER))
    loom_set_attr(op, "offset", loom_attr_i64(mlirOperationGetContext(op), 0));
  return MlirWalkResultAdvance;
}

static bool break_arena(MlirOperation root) {
  mlirOperationWalk(root, move, NULL, MlirWalkPreOrder);
  return true;
}

/* Exchanges the first two results of functions where they are of one type. */
static MlirWalkResult exchange(MlirOperation op, void *user) {
  if (!loom_is_named(op, "func.return") || mlirOperationGetNumOperands(op) < 2)
    return MlirWalkResultAdvance;
  MlirValue first = loom_operand(op, 0), second = loom_operand(op, 1);
  if (!mlirTypeEqual(mlirValueGetType(first), mlirValueGetType(second)))
    return MlirWalkResultAdvance;
  mlirOperationSetOperand(op, 0, second);
  mlirOperationSetOperand(op, 1, first);
  return MlirWalkResultAdvance;
}

static bool break_results(MlirOperation root) {
  mlirOperationWalk(root, exchange, NULL, MlirWalkPreOrder);
  return true;
}

static bool break_off(MlirOperation root) {
  return loom_emit_error(mlirOperationGetLocation(root), "it does not work");
}

static MlirPass make_graph(void) {
  return loom_pass_create("BreakGraph", "break-graph", "Add instead of subtracting", "",
                          break_graph);
}
static MlirPass make_lowered(void) {
  return loom_pass_create("BreakLowered", "break-lowered", "Add instead of multiplying", "",
                          break_lowered);
}
static MlirPass make_copysign(void) {
  return loom_pass_create("BreakCopysign", "break-copysign", "Exchange magnitude and sign", "",
                          break_copysign);
}
static MlirPass make_endless(void) {
  return loom_pass_create("BreakEndless", "break-endless", "Let loops run for ever", "",
                          break_endless);
}
static MlirPass make_arena(void) {
  return loom_pass_create("BreakArena", "break-arena", "Put all buffers in one place", "",
                          break_arena);
}
static MlirPass make_results(void) {
  return loom_pass_create("BreakResults", "break-results", "Exchange results", "", break_results);
}
static MlirPass make_off(void) {
  return loom_pass_create("BreakOff", "break-off", "Fail", "", break_off);
}

int main(int argc, char **argv) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  mlirRegisterTransformsPasses();
  mlirRegisterConversionConvertToLLVMPass();
  mlirRegisterConversionReconcileUnrealizedCastsPass();
  mlirRegisterConversionSCFToControlFlowPass();
  loom_register_passes();
  loom_register_pass(make_graph);
  loom_register_pass(make_lowered);
  loom_register_pass(make_copysign);
  loom_register_pass(make_endless);
  loom_register_pass(make_arena);
  loom_register_pass(make_results);
  loom_register_pass(make_off);
  loom_register_pass(lab_make_cancel_pass);
  loom_native_init();
  return loom_opt_main(argc, argv, registry);
}
