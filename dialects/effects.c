/* The answers that ops give to MLIR's interfaces: effects, whether an op may be speculated, whether
 * the symbols that it names exist, which branch is taken. (The C++ classes forward to these
 * functions: loom.td.) */
#define _GNU_SOURCE
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"

/* ---- effects ---- */

/* Does the kernel that the op applies report nothing? A kernel that is not there may. */
static bool effects_kernel_is_free(MlirOperation apply) {
  MlirOperation kernel = loom_find_kernel(apply);
  if (!kernel.ptr) return false;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  if (!block.ptr) return false;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (!loom_info(op)->ends && !loom_is_effect_free(op)) return false;
  return true;
}

bool loom_is_effect_free(MlirOperation op) {
  if (loom_info(op)->pure) return true;
  switch ((int)loom_op_of(op)) {
  case LOOM_OP_GATHER: return !loom_str_is(loom_get_str(op, "mode"), "raise");
  case LOOM_OP_HOST_CALL: {
    MlirStringRef effects = loom_get_str(op, "effects");
    return memmem(effects.data, effects.length, "pure", strlen("pure")) != NULL;
  }
  case LOOM_OP_APPLY: return effects_kernel_is_free(op);
  default: return false;
  }
}

/* Does a number of the op depend on a symbol, which may be that of a loop around it? */
static bool effects_reads_symbol(MlirOperation op) {
  const loom_op_info *info = loom_info(op);
  int64_t numbers[LOOM_MAX_RANK];
  for (int a = 0; a < LOOM_MAX_ATTRS && info->attrs[a].name; a++) {
    if (info->attrs[a].kind != LOOM_ATTR_I64S) continue;
    intptr_t count = loom_get_i64s(op, info->attrs[a].name, numbers, LOOM_MAX_RANK);
    for (intptr_t i = 0; i < count && i < LOOM_MAX_RANK; i++)
      if (LOOM_STRIDE_IS_SYM(numbers[i])) return true;
    if (count < 0 || count > LOOM_MAX_RANK) return true; /* no table here to look symbols up in */
  }
  return false;
}

bool loom_is_speculatable(MlirOperation op) {
  if (loom_info(op)->applies || loom_info(op)->fusion == LOOM_CLASS_HOST) return false;
  return loom_is_effect_free(op) && !loom_fp_of(op) && !effects_reads_symbol(op);
}

/* ---- symbols ---- */

static MlirLogicalResult effects_fail(MlirOperation op, MlirStringRef symbol, const char *what) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  loom_emit_error(mlirOperationGetLocation(op), "'%.*s' op names @%.*s, which is no %s",
                  (int)name.length, name.data, (int)symbol.length, symbol.data, what);
  return mlirLogicalResultFailure();
}

/* A kernel, or, where kernels have been lowered, the function of the stage (of an apply: the
 * first). */
static bool effects_has_stage(MlirOperation op, MlirStringRef kernel, loom_lookup lookup,
                              void *symbols) {
  char text[512];
  int length = snprintf(text, sizeof text, "%.*s_s%" PRId64, (int)kernel.length, kernel.data,
                        loom_get_i64(op, "stage", 0));
  if (length < 0 || (size_t)length >= sizeof text) return true;
  MlirContext ctx = mlirOperationGetContext(op);
  return lookup(symbols, op, mlirFlatSymbolRefAttrGet(ctx, loom_str(text))).ptr != NULL;
}

static bool effects_names(MlirOperation op, MlirAttribute name, loom_lookup lookup, void *symbols,
                          const char **what) {
  MlirOperation found = lookup(symbols, op, name);
  switch ((int)loom_op_of(op)) {
  case LOOM_OP_CONTROL: *what = "function"; return found.ptr && loom_is_named(found, "func.func");
  case LOOM_OP_RUN: *what = "plan"; return found.ptr && loom_is(found, LOOM_OP_PLAN);
  default:
    *what = "kernel";
    if (found.ptr) return !mlirBlockIsNull(loom_body(found));
    return effects_has_stage(op, mlirFlatSymbolRefAttrGetValue(name), lookup, symbols);
  }
}

MlirLogicalResult loom_verify_symbols(MlirOperation op, loom_lookup lookup, void *symbols) {
  const char *attrs[] = {"kernel", "bodies", "plans"}, *what;
  for (size_t a = 0; a < sizeof attrs / sizeof *attrs; a++) {
    MlirAttribute attr = loom_get_attr(op, attrs[a]);
    if (!attr.ptr) continue;
    bool list = mlirAttributeIsAArray(attr);
    for (intptr_t i = 0; i < (list ? mlirArrayAttrGetNumElements(attr) : 1); i++) {
      MlirAttribute name = list ? mlirArrayAttrGetElement(attr, i) : attr;
      if (!effects_names(op, name, lookup, symbols, &what))
        return effects_fail(op, mlirFlatSymbolRefAttrGetValue(name), what);
    }
  }
  return mlirLogicalResultSuccess();
}

/* ---- control flow ---- */

int loom_branch_taken(MlirAttribute condition) {
  if (!condition.ptr || !mlirAttributeIsABool(condition)) return -1;
  return mlirBoolAttrGetValue(condition) ? 0 : 1;
}

intptr_t loom_yield_forwards(MlirOperation yield) {
  MlirOperation parent = mlirOperationGetParentOperation(yield);
  bool decides = parent.ptr && loom_is(parent, LOOM_OP_WHILE) &&
                 mlirRegionEqual(mlirBlockGetParentRegion(mlirOperationGetBlock(yield)),
                                 mlirOperationGetRegion(parent, 0));
  return decides ? 0 : mlirOperationGetNumOperands(yield);
}

/* Puts the ops of a region before `op`, on the op's operands from `first` on; its yield then stands
 * before `op`. Null: out of memory. */
static MlirOperation effects_inline(MlirOperation op, intptr_t region, intptr_t first,
                                    MlirRewriterBase rewriter) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
  MlirOperation yield = mlirBlockGetTerminator(block);
  intptr_t count = mlirBlockGetNumArguments(block);
  MlirValue *values = malloc(sizeof *values * (size_t)(count + 1));
  if (!values) return (MlirOperation){NULL};
  for (intptr_t i = 0; i < count; i++)
    values[i] = loom_operand(op, first + i);
  mlirRewriterBaseInlineBlockBefore(rewriter, block, op, count, values);
  free(values);
  return yield;
}

/* The op's results become the operands of `from`, from `first` on. */
static MlirLogicalResult effects_replace(MlirOperation op, MlirOperation from, intptr_t first,
                                         MlirRewriterBase rewriter) {
  intptr_t count = mlirOperationGetNumResults(op);
  MlirValue *values = malloc(sizeof *values * (size_t)(count + 1));
  if (!values) return mlirLogicalResultFailure();
  for (intptr_t i = 0; i < count; i++)
    values[i] = loom_operand(from, first + i);
  mlirRewriterBaseReplaceOpWithValues(rewriter, op, count, values);
  free(values);
  return mlirLogicalResultSuccess();
}

/* An `if` whose condition is constant becomes the ops of its branch. */
static MlirLogicalResult effects_canonicalize_if(MlirOperation op, MlirRewriterBase rewriter) {
  int taken = loom_branch_taken(loom_constant_of(loom_operand(op, 0)));
  if (taken < 0) return mlirLogicalResultFailure();
  MlirOperation yield = effects_inline(op, taken, 1, rewriter);
  if (!yield.ptr) return mlirLogicalResultFailure();
  MlirLogicalResult done = effects_replace(op, yield, 0, rewriter);
  mlirRewriterBaseEraseOp(rewriter, yield);
  return done;
}

/* A `for` of a constant count that is not positive carries its initial values out. */
static MlirLogicalResult effects_canonicalize_for(MlirOperation op, MlirRewriterBase rewriter) {
  MlirAttribute count = loom_constant_of(loom_operand(op, 0));
  if (!count.ptr || !mlirAttributeIsAInteger(count) || mlirIntegerAttrGetValueInt(count) > 0)
    return mlirLogicalResultFailure();
  return effects_replace(op, op, 1, rewriter);
}

/* A `while` whose condition is false at once has only computed the condition. */
static MlirLogicalResult effects_canonicalize_while(MlirOperation op, MlirRewriterBase rewriter) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirOperation yield = mlirBlockGetTerminator(block);
  if (loom_get_i64(op, "symbol", -1) >= 0 ||
      loom_branch_taken(loom_constant_of(loom_operand(yield, 0))) != 1)
    return mlirLogicalResultFailure();
  yield = effects_inline(op, 0, 0, rewriter);
  if (!yield.ptr) return mlirLogicalResultFailure();
  mlirRewriterBaseEraseOp(rewriter, yield);
  return effects_replace(op, op, 0, rewriter);
}

MlirLogicalResult loom_canonicalize(MlirOperation op, MlirRewriterBase rewriter) {
  switch ((int)loom_op_of(op)) {
  case LOOM_OP_IF: return effects_canonicalize_if(op, rewriter);
  case LOOM_OP_FOR: return effects_canonicalize_for(op, rewriter);
  case LOOM_OP_WHILE: return effects_canonicalize_while(op, rewriter);
  default: return mlirLogicalResultFailure();
  }
}
