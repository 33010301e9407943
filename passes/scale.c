/* loom-scale: multiplies factors of a convolution's channels into its constant weights.
 *
 * before:
 *     %0 = loom.convolution %x, %w ...             : ... -> tensor<2x8x9x9xf32>
 *     %1 = loom.broadcast %mean dims = [1]         : (tensor<8xf32>) -> tensor<2x8x9x9xf32>
 *     %2 = loom.sub %0, %1
 *     %3 = loom.broadcast %factor dims = [1]       : (tensor<8xf32>) -> tensor<2x8x9x9xf32>
 *     %4 = loom.mul %2, %3
 *
 * after:
 *     %0 = loom.broadcast %factor dims = [0]       : (tensor<8xf32>) -> tensor<8x4x3x3xf32>
 *     %1 = loom.mul %w, %0
 *     %2 = loom.convolution %x, %1 ...
 *     %3 = loom.mul %mean, %factor                 : tensor<8xf32>
 *     %4 = loom.broadcast %3 dims = [1]
 *     %5 = loom.sub %2, %4
 *
 * requires: what loom-simplify leaves. Does nothing unless the module has `loom.keep`: new weights
 * are computed once (loom-keep), where weights, factors and shifts are constants.
 *
 * keeps: values up to the rounding of products. breaks: floating-point exceptions of what overflows
 * in between: convolutions come from torch, which reports none.
 *
 * A batch norm with known statistics consists of such factors and shifts. The factors and shifts of
 * a channel are combined in one walk from the convolution along its only uses, so the pass ends.
 * Without a factor nothing changes. */
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

#define SCALE_DEPTH 16 /* ops that constants are made by, one on top of another */
#define SCALE_STEPS 16 /* ops behind a convolution that are looked at */

typedef struct scale_step { /* an add, sub or mul of the value so far and a number of its channel */
  MlirOperation op;
  bool scales, subtracts;
  MlirValue channels;
} scale_step;

/* Is the value made of constant arguments and numbers alone? */
static bool scale_is_constant(MlirOperation function, MlirValue value, int depth) {
  MlirOperation def = loom_def(value);
  if (!def.ptr)
    return loom_argument_has(function, mlirBlockArgumentGetArgNumber(value), loom_mark_const);
  loom_class class = loom_class_of(def);
  bool plain = class == LOOM_CLASS_POINTWISE || class == LOOM_CLASS_VIEW ||
               class == LOOM_CLASS_CONSTANT || class == LOOM_CLASS_REDUCE;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def) && plain; i++)
    plain = depth > 0 && scale_is_constant(function, loom_operand(def, i), depth - 1);
  return plain;
}

/* The operand of a broadcast of a constant along the channels, dimension 1. */
static bool scale_read_channels(MlirOperation function, MlirValue value, MlirValue *out) {
  MlirOperation def = loom_def(value);
  int64_t dims[LOOM_MAX_RANK];
  if (!def.ptr || !loom_is(def, LOOM_OP_BROADCAST) ||
      loom_get_i64s(def, "dims", dims, LOOM_MAX_RANK) != 1 || dims[0] != 1)
    return false;
  *out = loom_operand(def, 0);
  return scale_is_constant(function, *out, SCALE_DEPTH);
}

/* The next step behind `value`, its only use. */
static bool scale_read_step(MlirOperation function, MlirValue value, scale_step *out) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use))) return false;
  unsigned at = mlirOpOperandGetOperandNumber(use);
  out->op = mlirOpOperandGetOwner(use);
  out->scales = out->subtracts = false;
  switch (loom_op_of(out->op)) {
  case LOOM_OP_ADD: break;
  case LOOM_OP_MUL: out->scales = true; break;
  case LOOM_OP_SUB: out->subtracts = true; break;
  default: return false;
  }
  return (!out->subtracts || at == 0) &&
         scale_read_channels(function, loom_operand(out->op, 1 - at), &out->channels);
}

static MlirValue scale_combine(loom_builder *b, loom_opcode code, MlirValue x, MlirValue y) {
  return loom_build_op2(b, code, x, y, mlirValueGetType(x));
}

static MlirValue scale_broadcast(loom_builder *b, MlirValue channels, int64_t dim, MlirType type) {
  loom_named dims = {"dims", loom_attr_i64s(b->ctx, 1, &dim)};
  return loom_result(loom_build_op(b, LOOM_OP_BROADCAST, 1, &channels, 1, &type, 1, &dims), 0);
}

/* The convolution with scaled weights, then one shift, in place of the last step's result. */
static void scale_rewrite(MlirOperation convolution, const scale_step *steps, int count) {
  MlirOperation last = steps[count - 1].op;
  loom_builder b = loom_builder_before(last);
  MlirValue scale = {NULL}, shift = {NULL};
  for (int i = 0; i < count; i++) {
    MlirValue channels = steps[i].channels;
    bool sub = steps[i].subtracts;
    if (steps[i].scales) {
      scale = scale.ptr ? scale_combine(&b, LOOM_OP_MUL, scale, channels) : channels;
      if (shift.ptr) shift = scale_combine(&b, LOOM_OP_MUL, shift, channels);
    } else if (shift.ptr) {
      shift = scale_combine(&b, sub ? LOOM_OP_SUB : LOOM_OP_ADD, shift, channels);
    } else {
      shift =
          sub ? loom_build_op1(&b, LOOM_OP_NEG, channels, mlirValueGetType(channels)) : channels;
    }
  }
  MlirValue weights = loom_operand(convolution, 1);
  MlirType type = mlirValueGetType(weights), result = mlirValueGetType(loom_result(last, 0));
  weights = scale_combine(&b, LOOM_OP_MUL, weights, scale_broadcast(&b, scale, 0, type));
  MlirOperation made = mlirOperationClone(convolution);
  mlirOperationSetOperand(made, 1, weights);
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(last), last, made);
  MlirValue value = loom_result(made, 0);
  if (shift.ptr)
    value = scale_combine(&b, LOOM_OP_ADD, value, scale_broadcast(&b, shift, 1, result));
  mlirValueReplaceAllUsesOfWith(loom_result(last, 0), value);
  for (int i = count - 1; i >= 0; i--)
    mlirOperationDestroy(steps[i].op);
  mlirOperationDestroy(convolution);
}

/* The steps behind a convolution of constant weights; 0 when no factor is among them. */
static int scale_find(MlirOperation function, MlirOperation op, scale_step *steps) {
  loom_type type, weights;
  int count = 0;
  bool scales = false;
  if (!loom_is(op, LOOM_OP_CONVOLUTION) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &weights) ||
      !loom_dtype_is_float(type.dtype) || weights.dtype != type.dtype ||
      !scale_is_constant(function, loom_operand(op, 1), SCALE_DEPTH))
    return 0;
  MlirValue value = loom_result(op, 0);
  while (count < SCALE_STEPS && scale_read_step(function, value, &steps[count])) {
    scales |= steps[count].scales;
    value = loom_result(steps[count++].op, 0);
  }
  return scales ? count : 0;
}

static bool scale_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  scale_step steps[SCALE_STEPS];
  if (mlirBlockIsNull(block) || !loom_option(function, loom_mark_keep).ptr) return true;
  for (MlirOperation op = mlirBlockGetFirstOperation(block), next; op.ptr; op = next) {
    int count = scale_find(function, op, steps);
    next = mlirOperationGetNextInBlock(op);
    for (int i = 0; i < count; i++) /* steps are erased; they come one after the other */
      if (mlirOperationEqual(next, steps[i].op)) next = mlirOperationGetNextInBlock(next);
    if (!count) continue;
    loom_count(0, count);
    loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(op), "scale",
                "%d operations on channels go into the constant weights and one addition", count);
    scale_rewrite(op, steps, count);
  }
  return true;
}

MlirPass loom_make_scale_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomScale",
      .flag = "loom-scale",
      .summary = "Take factors of channels into a convolution's constant weights",
      .root = "builtin.module",
      .each_function = true,
      .run = scale_run,
      .counters = {{"steps", "operations that weights took in"}}};
  return loom_pass_of(&spec);
}
