/* Rules of loom-simplify: reshapes move past pointwise ops and reductions.
 *
 * A reshape that only adds dimensions of size 1 sinks towards the users of its result. One that
 * only drops such dimensions rises towards its operand. So ops that belong together work at one
 * rank, the smaller one. Every other reshape rises above pointwise ops towards operands, where it
 * becomes strides.
 */
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"
#include "passes/simplify.h"

static bool simplify_is_pointwise(MlirOperation op) {
  return loom_class_of(op) == LOOM_CLASS_POINTWISE && mlirOperationGetNumResults(op) == 1 &&
         mlirOperationGetNumOperands(op) <= 3 && mlirOperationGetNumOperands(op) > 0;
}

static MlirType simplify_resized(MlirType like, const loom_type *sizes) {
  loom_type type;
  if (!loom_type_from_mlir(like, &type)) return (MlirType){NULL};
  loom_dtype dtype = type.dtype;
  type = *sizes;
  type.dtype = dtype;
  return loom_type_to_mlir(mlirTypeGetContext(like), &type);
}

/* The value at other sizes of as many elements, by a reshape or made anew when it is a splat. */
static MlirValue simplify_at_sizes(MlirOperation at, MlirValue value, const loom_type *sizes) {
  MlirType type = simplify_resized(mlirValueGetType(value), sizes);
  if (!loom_is_splat(value))
    return simplify_build_view(at, LOOM_OP_RESHAPE, value, type, NULL, 0, NULL);
  MlirAttribute constant = loom_constant_of(value);
  if (!constant.ptr)
    return simplify_build_view(at, LOOM_OP_BROADCAST, loom_operand(loom_def(value), 0), type,
                               "dims", 0, NULL);
  loom_builder b = loom_builder_before(at);
  loom_named attr = {"value", constant};
  return loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &attr), 0);
}

/* A clone of pointwise `op` on operands of `sizes`, before `at`. */
static MlirValue simplify_clone_at_sizes(MlirOperation at, MlirOperation op,
                                         const loom_type *sizes) {
  MlirValue operands[3];
  loom_named attrs[8];
  intptr_t count = mlirOperationGetNumOperands(op);
  intptr_t attr_count = mlirOperationGetNumAttributes(op);
  for (intptr_t i = 0; i < count; i++)
    operands[i] = simplify_at_sizes(at, loom_operand(op, i), sizes);
  char names[8][32];
  for (intptr_t i = 0; i < attr_count; i++) {
    MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
    MlirStringRef text = mlirIdentifierStr(named.name);
    memcpy(names[i], text.data, text.length);
    names[i][text.length] = 0;
    attrs[i] = (loom_named){names[i], named.attribute};
  }
  loom_builder b = loom_builder_before(at);
  b.loc = mlirOperationGetLocation(op);
  MlirType type = simplify_resized(mlirValueGetType(loom_result(op, 0)), sizes);
  return loom_result(
      loom_build_op(&b, loom_op_of(op), count, operands, 1, &type, attr_count, attrs), 0);
}

static bool simplify_is_plain_op(MlirOperation op) {
  intptr_t count = mlirOperationGetNumAttributes(op);
  if (count > 8) return false;
  for (intptr_t i = 0; i < count; i++)
    if (mlirIdentifierStr(mlirOperationGetAttribute(op, i).name).length > 30) return false;
  return true;
}

bool simplify_sink_reshape(MlirOperation op) {
  if (!simplify_is_pointwise(op) || !simplify_is_plain_op(op)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirOperation reshape = loom_def(loom_operand(op, i));
    loom_type in, out;
    int64_t where[LOOM_MAX_RANK];
    if (!reshape.ptr || !loom_info(reshape)->alias || !loom_def(loom_operand(reshape, 0)).ptr ||
        !simplify_types(reshape, &in, &out) || !simplify_static(&in) ||
        !simplify_unit_map(&in, &out, where))
      continue;
    MlirValue small = simplify_clone_at_sizes(op, op, &in);
    return simplify_replace(op, simplify_build_view(op, LOOM_OP_RESHAPE, small,
                                                    mlirValueGetType(loom_result(op, 0)), NULL, 0,
                                                    NULL));
  }
  return false;
}

bool simplify_sink_below_reduce(MlirOperation op, MlirOperation reshape) {
  loom_type in, out;
  int64_t where[LOOM_MAX_RANK], axes[LOOM_MAX_RANK], kept[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "axes", axes, LOOM_MAX_RANK), kept_count = 0;
  if (!loom_def(loom_operand(reshape, 0)).ptr || count < 0 || count > LOOM_MAX_RANK ||
      !simplify_types(reshape, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&in, &out, where))
    return false;
  uint32_t reduced = 0, mapped = 0;
  for (intptr_t a = 0; a < count; a++)
    reduced |= 1u << axes[a];
  loom_type small, result;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &result)) return false;
  small = (loom_type){.dtype = result.dtype};
  for (int i = 0; i < in.rank; i++) {
    mapped |= 1u << where[i];
    if (reduced >> where[i] & 1)
      kept[kept_count++] = i;
    else
      small.dims[small.rank++] = in.dims[i];
  }
  bool unit = (reduced & ~mapped) != 0; /* an index along such an axis would be lost */
  MlirStringRef kind = loom_get_str(op, "kind");
  if (!kept_count || (unit && (loom_str_is(kind, "argmin") || loom_str_is(kind, "argmax"))))
    return false;
  loom_builder b = loom_builder_before(op);
  MlirType type = loom_type_to_mlir(b.ctx, &small);
  MlirValue operand = loom_operand(reshape, 0);
  loom_named attrs[] = {{"kind", loom_get_attr(op, "kind")},
                        {"axes", loom_attr_i64s(b.ctx, kept_count, kept)}};
  MlirValue made =
      loom_result(loom_build_op(&b, LOOM_OP_REDUCE, 1, &operand, 1, &type, 2, attrs), 0);
  if (small.rank == result.rank) return simplify_replace(op, made);
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_RESHAPE, made,
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

bool simplify_reshape_of_broadcast(MlirOperation op, MlirOperation inner) {
  loom_type in, out, from;
  int64_t where[LOOM_MAX_RANK], dims[LOOM_MAX_RANK], kept[LOOM_MAX_RANK];
  if (!simplify_types(op, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&out, &in, where) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(inner, 0)), &from))
    return false;
  intptr_t count = loom_get_i64s(inner, "dims", dims, LOOM_MAX_RANK);
  loom_type small = {.dtype = from.dtype};
  if (count != from.rank) return false;
  for (intptr_t d = 0; d < count; d++) /* what is dropped has size 1 in `x` as well */
    for (int i = 0; i < out.rank; i++)
      if (where[i] == dims[d]) {
        kept[small.rank] = i;
        small.dims[small.rank++] = from.dims[d];
      }
  MlirValue value = loom_operand(inner, 0);
  if (small.rank < from.rank)
    value =
        simplify_build_view(op, LOOM_OP_RESHAPE, value,
                            loom_type_to_mlir(mlirOperationGetContext(op), &small), NULL, 0, NULL);
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, value,
                                                  mlirValueGetType(loom_result(op, 0)), "dims",
                                                  small.rank, kept));
}

static bool simplify_is_unit_only(const loom_type *in, const loom_type *out) {
  int64_t where[LOOM_MAX_RANK];
  return simplify_unit_map(in, out, where) || simplify_unit_map(out, in, where);
}

/* Is a reshape of this value nothing but other strides? What is computed is C-ordered; an argument
 * may not be. */
static bool simplify_reshapes_freely(MlirValue value, const loom_type *out) {
  MlirOperation def = loom_def(value);
  if (def.ptr)
    return loom_is_splat(value) || loom_class_of(def) != LOOM_CLASS_VIEW || loom_info(def)->alias;
  loom_type in;
  int64_t strides[LOOM_MAX_RANK], ignored[LOOM_MAX_RANK];
  MlirOperation function = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
  if (!function.ptr || !loom_type_from_mlir(mlirValueGetType(value), &in)) return false;
  loom_argument_strides(function, mlirBlockArgumentGetArgNumber(value), &in, strides);
  return loom_reshape_strides(&in, strides, out, ignored);
}

static bool simplify_is_returned(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (loom_is_named(mlirOpOperandGetOwner(use), "func.return")) return true;
  return false;
}

bool simplify_raise_reshape(MlirOperation op, MlirOperation def) {
  loom_type in, out;
  if (!def.ptr || !simplify_is_pointwise(def) || !simplify_is_plain_op(def) ||
      !simplify_used_once(loom_operand(op, 0)) || !simplify_types(op, &in, &out) ||
      !simplify_static(&in) || !simplify_static(&out) || simplify_is_unit_only(&in, &out))
    return false;
  if (simplify_is_returned(loom_result(op, 0))) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); i++)
    if (!simplify_reshapes_freely(loom_operand(def, i), &out)) return false;
  MlirValue made = simplify_clone_at_sizes(op, def, &out);
  simplify_replace(op, made);
  mlirOperationDestroy(def);
  return true;
}

/* Do all readers reshape the value to the type of `op`, one of them? */
static bool simplify_only_reshaped(MlirOperation op) {
  MlirType type = mlirValueGetType(loom_result(op, 0));
  for (MlirOpOperand use = mlirValueGetFirstUse(loom_operand(op, 0)); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!loom_info(user)->alias || !mlirTypeEqual(mlirValueGetType(loom_result(user, 0)), type))
      return false;
  }
  return true;
}

bool simplify_raise_drop(MlirOperation op, MlirOperation def) {
  loom_type in, out;
  int64_t where[LOOM_MAX_RANK];
  if (!def.ptr || !simplify_is_pointwise(def) || !simplify_is_plain_op(def) ||
      !simplify_types(op, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&out, &in, where) || !simplify_only_reshaped(op))
    return false;
  MlirValue made = simplify_clone_at_sizes(def, def, &out);
  for (MlirOpOperand use = mlirValueGetFirstUse(loom_operand(op, 0)); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    mlirValueReplaceAllUsesOfWith(loom_result(mlirOpOperandGetOwner(use), 0), made);
  return simplify_replace(op, made);
}
