/* loom-simplify: brings tensor ops to a canonical form that fuses well.
 *
 * before:
 *     %1 = loom.reshape %0 : (tensor<8xf32>) -> tensor<8x1xf32>
 *     %2 = loom.broadcast %1 dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
 *
 * after:
 *     %2 = loom.broadcast %0 dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
 *
 * requires: nothing.
 *
 * keeps: values bit for bit, floating-point exceptions of values that are used.
 *
 * breaks: nothing.
 *
 * Upstream canonicalize and cse run beside it and fold constants. Here:
 *
 * - views: chains compose to one; views of constants are constants; a broadcast reads no dimension
 *   of size 1 that a reshape put there;
 *
 * - reshapes: ones that only add dimensions of size 1 sink below pointwise ops and reductions
 *   towards their users, and ones that only drop such dimensions rise above pointwise ops, so that
 *   ops that belong together work at one rank, the smaller one. All others rise above pointwise ops
 *   towards operands, where they become strides;
 *
 * - updates: writing through a slice is one update of the array under it; a slice of a region that
 *   was just written is the value that was written;
 *
 * - results without elements, and sums of no elements, are constants;
 *
 * - arithmetic: copies go, exact chains of conversions become one, x ** 2 is x * x and x ** 1 is x,
 *   division by a power of two is a product.
 *
 * Each rewrite removes an op, moves a reshape in one direction only, or replaces an op by a cheaper
 * one: it ends.
 *
 * An op that nobody reads is dead even if it could have raised a floating-point exception: where
 * the exception matters the value is an output of the graph (loom_graph_keep_raising). */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"
#include "passes/simplify.h"

bool simplify_replace(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), value);
  mlirOperationDestroy(op);
  return true;
}

bool simplify_types(MlirOperation op, loom_type *in, loom_type *out) {
  return loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), in) &&
         loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), out);
}

bool simplify_static(const loom_type *type) { return loom_type_elements(type) >= 0; }

bool simplify_same_type(MlirOperation op) {
  return mlirTypeEqual(mlirValueGetType(loom_operand(op, 0)), mlirValueGetType(loom_result(op, 0)));
}

bool simplify_used_once(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

/* ---- what has no elements, or is summed of none ---- */

/* A constant of `cell` in place of the op. */
static bool simplify_to_constant(MlirOperation op, const loom_type *type, loom_cell cell) {
  loom_builder b = loom_builder_before(op);
  MlirType result = mlirValueGetType(loom_result(op, 0));
  loom_attr scalar;
  loom_cell_to_attr(type->dtype, cell, &scalar);
  loom_named value = {"value", loom_scalar_to_mlir(b.ctx, type->dtype, &scalar)};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &result, 1, &value), 0));
}

/* Nothing has to be computed, and no schedule divides by a size of 0. */
static bool simplify_empty(MlirOperation op) {
  static const struct {
    const char *kind;
    loom_cell cell;
  } sums[] = {{"sum", {0}}, {"or", {0}}, {"prod", {.i = 1, .re = 1}}, {"and", {.i = -1, .re = 1}}};
  loom_opcode code;
  loom_type in, out;
  if (!loom_opcode_of(op, &code) || !loom_op_table[code].pure || !simplify_types(op, &in, &out))
    return false;
  if (loom_type_elements(&out) == 0) return simplify_to_constant(op, &out, (loom_cell){0});
  if (loom_type_elements(&in) != 0) return false;
  if (code == LOOM_OP_DOT_GENERAL) return simplify_to_constant(op, &out, (loom_cell){0});
  for (size_t i = 0; code == LOOM_OP_REDUCE && i < sizeof sums / sizeof *sums; i++)
    if (loom_str_is(loom_get_str(op, "kind"), sums[i].kind))
      return simplify_to_constant(op, &out, loom_cell_round(out.dtype, sums[i].cell));
  return false;
}

/* ---- arithmetic ---- */

/* Does every value of `from` have the same value in `to`? */
static bool simplify_is_exact(loom_dtype from, loom_dtype to) {
  int bits = (int)loom_dtype_size(from) * 8, room = (int)loom_dtype_size(to) * 8;
  if (from == LOOM_BOOL) return loom_dtype_is_integer(to) || loom_dtype_is_float(to);
  if (loom_dtype_is_signed(from) && loom_dtype_is_signed(to)) return bits <= room;
  if (loom_dtype_is_unsigned(from) && loom_dtype_is_unsigned(to)) return bits <= room;
  if (loom_dtype_is_unsigned(from) && loom_dtype_is_signed(to)) return bits < room;
  if (loom_dtype_is_integer(from) && to == LOOM_F64) return bits <= 32;
  if (loom_dtype_is_integer(from) && to == LOOM_F32) return bits <= 16;
  if (from == LOOM_F32) return to == LOOM_F64;
  if (from == LOOM_F16 || from == LOOM_BF16) return to == LOOM_F32 || to == LOOM_F64;
  return false;
}

static bool simplify_convert_of_same(MlirOperation op, MlirOperation unused) {
  return simplify_same_type(op) && simplify_replace(op, loom_operand(op, 0));
}

static bool simplify_convert_of_convert(MlirOperation op, MlirOperation inner) {
  loom_type first, middle, last;
  if (!simplify_types(inner, &first, &middle) || !simplify_types(op, &middle, &last)) return false;
  if (!simplify_is_exact(first.dtype, middle.dtype)) return false;
  /* int to float to int saturates or wraps differently from int to int, and bool asks for exactness
   * only. */
  bool through_float = loom_dtype_is_float(middle.dtype) && !loom_dtype_is_float(first.dtype);
  if (through_float && !loom_dtype_is_float(last.dtype) && last.dtype != LOOM_BOOL &&
      !simplify_is_exact(first.dtype, last.dtype))
    return false;
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_CONVERT, loom_operand(inner, 0),
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

/* The value of a constant as a double that is the same number. */
static bool simplify_constant(MlirOperation constant, double *out) {
  MlirAttribute value = loom_get_attr(constant, "value");
  if (value.ptr && mlirAttributeIsAFloat(value)) {
    *out = mlirFloatAttrGetValueDouble(value);
    return true;
  }
  if (!value.ptr || !mlirAttributeIsAInteger(value)) return false;
  MlirType type = mlirAttributeGetType(value);
  if (!mlirTypeIsAInteger(type)) return false;
  int64_t integer = mlirIntegerTypeIsUnsigned(type) ? (int64_t)mlirIntegerAttrGetValueUInt(value)
                    : mlirIntegerTypeIsSigned(type) ? mlirIntegerAttrGetValueSInt(value)
                                                    : mlirIntegerAttrGetValueInt(value);
  *out = (double)integer;
  return fabs(*out) < 0x1p53;
}

static bool simplify_copy(MlirOperation op, MlirOperation unused) {
  return simplify_replace(op, loom_operand(op, 0));
}

static bool simplify_pow(MlirOperation op, MlirOperation constant) {
  double exponent;
  if (!simplify_constant(constant, &exponent)) return false;
  if (exponent == 1) return simplify_replace(op, loom_operand(op, 0));
  if (exponent != 2) return false;
  loom_builder b = loom_builder_before(op);
  MlirValue x = loom_operand(op, 0);
  return simplify_replace(op, loom_build_op2(&b, LOOM_OP_MUL, x, x, mlirValueGetType(x)));
}

/* x / 2^n -> x * 2^-n: both are exact or round the same real number once. */
static bool simplify_div(MlirOperation op, MlirOperation constant) {
  double divisor;
  loom_type type, out;
  if (!simplify_constant(constant, &divisor) || !simplify_types(op, &type, &out)) return false;
  int exponent, limit = type.dtype == LOOM_F64 ? 1000 : type.dtype == LOOM_F32 ? 120 : 0;
  if (fabs(frexp(divisor, &exponent)) != 0.5 || exponent > limit || exponent < -limit || !limit)
    return false;
  if (divisor == 1) return simplify_replace(op, loom_operand(op, 0));
  loom_builder b = loom_builder_before(op);
  MlirType result = mlirValueGetType(loom_result(op, 0));
  loom_named value = {
      "value", mlirFloatAttrDoubleGet(b.ctx, mlirShapedTypeGetElementType(result), 1 / divisor)};
  MlirValue factor =
      loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &result, 1, &value), 0);
  return simplify_replace(op, loom_build_op2(&b, LOOM_OP_MUL, loom_operand(op, 0), factor, result));
}

/* ---- the pass ---- */

/* Patterns of two ops: what is looked at, which of its operands, and the op that defines that one
 * (LOOM_OP_COUNT: any value). Rules of one op are tried in this order. */
#define SIMPLIFY_ANY LOOM_OP_COUNT
static const struct {
  uint16_t code, operand, def;
  simplify_rule *rule;
} simplify_rules[] = {
    {LOOM_OP_COPY, 0, SIMPLIFY_ANY, simplify_copy},
    {LOOM_OP_RESHAPE, 0, LOOM_OP_CONSTANT, simplify_view_of_constant},
    {LOOM_OP_RESHAPE, 0, SIMPLIFY_ANY, simplify_reshape_of_same},
    {LOOM_OP_RESHAPE, 0, LOOM_OP_RESHAPE, simplify_reshape_of_reshape},
    {LOOM_OP_RESHAPE, 0, SIMPLIFY_ANY, simplify_raise_reshape},
    {LOOM_OP_RESHAPE, 0, LOOM_OP_BROADCAST, simplify_reshape_of_broadcast},
    {LOOM_OP_RESHAPE, 0, SIMPLIFY_ANY, simplify_raise_drop},
    {LOOM_OP_REDUCE, 0, LOOM_OP_RESHAPE, simplify_sink_below_reduce},
    {LOOM_OP_TRANSPOSE, 0, LOOM_OP_CONSTANT, simplify_view_of_constant},
    {LOOM_OP_TRANSPOSE, 0, SIMPLIFY_ANY, simplify_transpose_of_same},
    {LOOM_OP_TRANSPOSE, 0, LOOM_OP_TRANSPOSE, simplify_transpose_of_transpose},
    {LOOM_OP_TRANSPOSE, 0, LOOM_OP_BROADCAST, simplify_transpose_of_broadcast},
    {LOOM_OP_PAD, 0, SIMPLIFY_ANY, simplify_pad_of_nothing},
    {LOOM_OP_SLICE, 0, LOOM_OP_CONSTANT, simplify_view_of_constant},
    {LOOM_OP_SLICE, 0, SIMPLIFY_ANY, simplify_slice_of_same},
    {LOOM_OP_SLICE, 0, LOOM_OP_SLICE, simplify_slice_of_slice},
    {LOOM_OP_SLICE, 0, LOOM_OP_UPDATE_SLICE, simplify_slice_of_update},
    {LOOM_OP_UPDATE_SLICE, 0, SIMPLIFY_ANY, simplify_update_of_all},
    {LOOM_OP_UPDATE_SLICE, 1, LOOM_OP_SLICE, simplify_update_by_slice},
    {LOOM_OP_UPDATE_SLICE, 0, LOOM_OP_UPDATE_SLICE, simplify_update_of_update},
    {LOOM_OP_UPDATE_SLICE, 1, LOOM_OP_UPDATE_SLICE, simplify_update_of_view},
    {LOOM_OP_BROADCAST, 0, LOOM_OP_CONSTANT, simplify_view_of_constant},
    {LOOM_OP_BROADCAST, 0, SIMPLIFY_ANY, simplify_broadcast_of_same},
    {LOOM_OP_BROADCAST, 0, LOOM_OP_BROADCAST, simplify_broadcast_of_broadcast},
    {LOOM_OP_BROADCAST, 0, LOOM_OP_RESHAPE, simplify_broadcast_of_reshape},
    {LOOM_OP_CONVERT, 0, SIMPLIFY_ANY, simplify_convert_of_same},
    {LOOM_OP_CONVERT, 0, LOOM_OP_CONVERT, simplify_convert_of_convert},
    {LOOM_OP_POW, 1, LOOM_OP_CONSTANT, simplify_pow},
    {LOOM_OP_DIV, 1, LOOM_OP_CONSTANT, simplify_div},
};

static bool simplify_by_rules(MlirOperation op, loom_opcode code) {
  for (size_t i = 0; i < sizeof simplify_rules / sizeof *simplify_rules; i++) {
    if (simplify_rules[i].code != code) continue;
    MlirOperation def = loom_def(loom_operand(op, simplify_rules[i].operand));
    loom_opcode wanted = simplify_rules[i].def;
    if (wanted != SIMPLIFY_ANY && (!def.ptr || loom_op_of(def) != wanted)) continue;
    if (simplify_rules[i].rule(op, def)) return true;
  }
  return false;
}

static bool simplify_op(MlirOperation op) {
  if (mlirOperationGetNumResults(op) != 1 || mlirOperationGetNumOperands(op) < 1) return false;
  return simplify_empty(op) || simplify_by_rules(op, loom_op_of(op)) || simplify_sink_reshape(op);
}

static bool simplify_block(MlirBlock block) {
  bool changed = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(block), next; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    bool replaced = simplify_op(op);
    if (replaced) loom_count(0, 1);
    changed |= replaced;
  }
  return changed;
}

static bool simplify_run(MlirOperation function) {
  const int limit = 32; /* rounds: chains of views are composed pair by pair */
  MlirRegion region = mlirOperationGetRegion(function, 0);
  for (MlirBlock block = mlirRegionGetFirstBlock(region); !mlirBlockIsNull(block);
       block = mlirBlockGetNextInRegion(block)) {
    for (int round = 0; round < limit && simplify_block(block); round++)
      loom_sweep(block);
    loom_sweep(block);
  }
  return true;
}

MlirPass loom_make_simplify_pass(void) {
  static const loom_pass_spec spec = {.name = "LoomSimplify",
                                      .flag = "loom-simplify",
                                      .summary =
                                          "Bring tensor ops to a canonical form that fuses well",
                                      .root = "builtin.module",
                                      .each_function = true,
                                      .run = simplify_run,
                                      .counters = {{"replaced", "operations that were replaced"}}};
  return loom_pass_of(&spec);
}
