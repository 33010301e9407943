/* What loom-fuse does before it looks for groups (fuse.c). A value that leaves its group, or that
 * an op outside of groups reads, has to lie in memory of its own and in a layout that its reader
 * takes. Otherwise a loom.copy is put in front of the reader.
 */
#include "dialects/ir.h"
#include "loom_ops_shapes.h"
#include "passes/fuse.h"
#include "passes/passes.h"

/* Does a reshape only add or drop dimensions of size 1? */
bool fuse_is_unit_reshape(MlirOperation op) {
  loom_type in, out;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &in) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out))
    return false;
  int i = 0, o = 0;
  for (;;) {
    while (i < in.rank && in.dims[i] == 1)
      i++;
    while (o < out.rank && out.dims[o] == 1)
      o++;
    if (i == in.rank || o == out.rank) return i == in.rank && o == out.rank;
    if (in.dims[i++] != out.dims[o++]) return false;
  }
}

MlirValue fuse_insert_copy(MlirOperation before, MlirValue value) {
  loom_builder b = loom_builder_before(before);
  return loom_build_op1(&b, LOOM_OP_COPY, value, mlirValueGetType(value));
}

bool fuse_is_free_class(loom_class class) {
  return class == LOOM_CLASS_CONSTANT || class == LOOM_CLASS_VIEW;
}

bool fuse_is_computed(MlirValue value) {
  MlirOperation def = loom_def(value);
  return def.ptr && !fuse_is_free_class(loom_class_of(def));
}

static bool prepare_argument_is_plain(MlirOperation function, MlirValue value) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  intptr_t number = mlirBlockArgumentGetArgNumber(value);
  if (loom_argument_has(function, number, loom_mark_scalar) ||
      !loom_type_from_mlir(mlirValueGetType(value), &type))
    return false;
  loom_argument_strides(function, number, &type, strides);
  return loom_strides_fit_plain(&type, strides);
}

/* Does a host call, or another op that wants C order, read the value or a reshape of it? */
static bool prepare_is_read_plain(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    loom_class class = loom_class_of(user);
    if (loom_is_named(user, "func.return")) continue;
    if (class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER) return true;
    if (loom_info(user)->alias && prepare_is_read_plain(loom_result(user, 0))) return true;
  }
  return false;
}

/* Does the op write its results in C order, whatever is asked? */
static bool prepare_is_written_plain(MlirOperation op) {
  loom_class class = loom_class_of(op);
  return class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER ||
         (class == LOOM_CLASS_ALONE && loom_info(op)->indexed);
}

/* May a group write the root so that the reshape of it that is returned lies as asked? */
static bool prepare_is_reshaped(MlirOperation function, MlirValue root) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  return loom_class_of(loom_def(root)) != LOOM_CLASS_ALONE && !loom_info(loom_def(root))->updates &&
         loom_type_from_mlir(mlirValueGetType(root), &type) && loom_type_is_sized(&type) &&
         loom_reshaped_strides(function, root, &type, strides);
}

static void prepare_return(MlirOperation function, MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op);
  for (intptr_t i = 0; i < count; i++) {
    MlirValue value = loom_operand(op, i), root = loom_buffer_root(value);
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    bool taken = !fuse_is_computed(root) || !loom_type_from_mlir(mlirValueGetType(value), &type);
    bool plain = !taken && prepare_is_written_plain(loom_def(root));
    if (!taken && (root.ptr != value.ptr || plain || prepare_is_read_plain(root))) {
      loom_result_strides(function, i, &type, strides);
      taken = !loom_strides_fit_plain(&type, strides) &&
              (plain || prepare_is_read_plain(root) || !prepare_is_reshaped(function, root));
    }
    for (intptr_t k = 0; k < i && !taken; k++)
      taken = loom_buffer_root(loom_operand(op, k)).ptr == root.ptr;
    if (taken) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* An argument of which the value is the view that has its elements in C order; or null. */
static MlirValue prepare_argument_in_order(MlirOperation function, MlirValue value) {
  MlirValue root = loom_view_root(value), none = {NULL};
  loom_layout layout = {0}, out;
  if (!mlirValueIsABlockArgument(root)) return none;
  intptr_t number = mlirBlockArgumentGetArgNumber(root);
  if (loom_argument_has(function, number, loom_mark_scalar) ||
      !loom_type_from_mlir(mlirValueGetType(root), &layout.type))
    return none;
  loom_argument_strides(function, number, &layout.type, layout.strides);
  bool plain = loom_layout_follow(value, root, &layout, &out) && out.base == 0 &&
               loom_strides_fit_plain(&out.type, out.strides);
  return plain ? root : none;
}

/* Operands of host calls and control flow are buffers in C order. A host call gets only the address
 * where a buffer begins, so an argument may be passed in place of a view of it. */
static void prepare_host(MlirOperation function, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i), root = loom_buffer_root(value);
    if (fuse_is_computed(root)) continue;
    MlirValue argument = prepare_argument_in_order(function, value);
    bool fits =
        argument.ptr && (loom_class_of(op) == LOOM_CLASS_HOST ||
                         mlirTypeEqual(mlirValueGetType(argument), mlirValueGetType(value)));
    mlirOperationSetOperand(op, i, fits ? argument : fuse_insert_copy(op, value));
  }
}

/* Operands that the lowering reads as strided buffers: transposes of (reshapes of whole C-ordered)
 * buffers. */
static void prepare_strided(MlirOperation function, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i);
    if (mlirShapedTypeGetRank(mlirValueGetType(value)) == 0) continue;
    MlirValue under = value;
    for (MlirOperation def = loom_def(under); def.ptr && loom_is(def, LOOM_OP_TRANSPOSE);
         def = loom_def(under))
      under = loom_operand(def, 0);
    MlirValue root = loom_buffer_root(under);
    bool good = fuse_is_computed(root) ||
                (mlirValueIsABlockArgument(root) &&
                 (root.ptr == under.ptr || prepare_argument_is_plain(function, root)));
    if (!good) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* Do strides alone tell where a value lies, wherever its root is put? */
static bool prepare_is_strided(MlirOperation function, MlirValue value) {
  MlirValue root = loom_view_root(value);
  loom_layout layout = {0}, out;
  bool argument = mlirValueIsABlockArgument(root);
  if (!argument && !fuse_is_computed(root)) return false;
  if (!loom_type_from_mlir(mlirValueGetType(root), &layout.type)) return false;
  if (argument) {
    intptr_t number = mlirBlockArgumentGetArgNumber(root);
    if (loom_argument_has(function, number, loom_mark_scalar)) return false;
    loom_argument_strides(function, number, &layout.type, layout.strides);
    return loom_layout_follow(value, root, &layout, &out);
  }
  if (!loom_plain_strides(&layout.type, layout.strides) ||
      !loom_layout_follow(value, root, &layout, &out))
    return false;
  for (MlirOpOperand use = mlirValueGetFirstUse(root); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    if (!loom_is_named(mlirOpOperandGetOwner(use), "func.return")) continue;
    loom_result_strides(function, mlirOpOperandGetOperandNumber(use), &layout.type, layout.strides);
    if (!loom_layout_follow(value, root, &layout, &out)) return false;
  }
  return true;
}

/* A copy of the chain of views above `value`, for one reader: what is prepared for other readers of
 * the chain does not change it. */
static MlirValue prepare_clone_views(MlirOperation before, MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr || loom_class_of(def) != LOOM_CLASS_VIEW) return value;
  MlirValue under = prepare_clone_views(before, loom_operand(def, 0));
  MlirOperation copy = mlirOperationClone(def);
  mlirOperationSetOperand(copy, 0, under);
  loom_set_attr(copy, loom_mark_strided, mlirUnitAttrGet(mlirOperationGetContext(before)));
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(before), before, copy);
  return loom_result(copy, 0);
}

/* Operands of an attention may be any views that are strides: as they are, or at last by what has
 * been copied under a reshape. */
static void prepare_views(MlirOperation function, MlirOperation op, bool last) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i);
    if (mlirShapedTypeGetRank(mlirValueGetType(value)) == 0) continue;
    bool good = prepare_is_strided(function, value);
    if (good && !last) mlirOperationSetOperand(op, i, prepare_clone_views(op, value));
    if (!good && last) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* A scatter overwrites its operand: a buffer in C order that nothing else reads. */
static void prepare_scatter(MlirOperation op) {
  MlirValue value = loom_operand(op, 0);
  MlirOpOperand use = mlirValueGetFirstUse(value);
  bool once = mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
  if (fuse_is_computed(value) && once && loom_class_of(loom_def(value)) != LOOM_CLASS_HOST) return;
  mlirOperationSetOperand(op, 0, fuse_insert_copy(op, value));
}

/* A reshape that moves elements between dimensions reads a buffer whose layout allows it. */
static void prepare_reshape(MlirOperation function, MlirOperation op) {
  MlirValue value = loom_operand(op, 0), root = loom_buffer_root(value);
  loom_type in, out;
  int64_t strides[LOOM_MAX_RANK], ignored[LOOM_MAX_RANK];
  if (fuse_is_computed(root) || fuse_is_unit_reshape(op)) return;
  if (root.ptr == value.ptr && mlirValueIsABlockArgument(root) &&
      loom_type_from_mlir(mlirValueGetType(root), &in) && loom_type_is_sized(&in) &&
      loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out) && loom_type_is_sized(&out)) {
    loom_argument_strides(function, mlirBlockArgumentGetArgNumber(root), &in, strides);
    if (loom_reshape_strides(&in, strides, &out, ignored)) return;
  }
  mlirOperationSetOperand(op, 0, fuse_insert_copy(op, value));
}

void fuse_prepare(MlirOperation function, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_info(op)->strided) prepare_views(function, op, false);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_class class = loom_class_of(op);
    if (mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_strided))) continue;
    if (loom_info(op)->alias)
      prepare_reshape(function, op);
    else if (loom_is_named(op, "func.return"))
      prepare_return(function, op);
    else if (class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER)
      prepare_host(function, op);
    else if (loom_info(op)->strided)
      prepare_views(function, op, true);
    else if (class == LOOM_CLASS_ALONE && loom_info(op)->indexed)
      prepare_scatter(op);
    else if (class == LOOM_CLASS_ALONE)
      prepare_strided(function, op);
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_info(op)->updates && !loom_info(op)->indexed) fuse_prepare_update(function, block, op);
}
