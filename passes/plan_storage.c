/* Where each value of a plan lives, for loom-plan (plan.c): storages, which one or several values
 * share (in-place results, reshapes, what a loop takes), with the steps between which each is live.
 * There is one step for each op of the function.
 */
#include <stdlib.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"
#include "passes/plan.h"

MlirType plan_memref(MlirContext ctx, MlirType tensor, const int64_t *strides) {
  loom_type type;
  if (!loom_type_from_mlir(tensor, &type)) return (MlirType){NULL};
  MlirType element = mlirShapedTypeGetElementType(tensor);
  bool plain = !strides || loom_strides_are_contiguous(&type, strides);
  int64_t dims[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  for (int i = 0; i < type.rank; i++) {
    dims[i] = LOOM_DIM_IS_SYM(type.dims[i]) ? mlirShapedTypeGetDynamicSize() : type.dims[i];
    steps[i] = plain || !LOOM_STRIDE_IS_SYM(strides[i]) ? plain ? 0 : strides[i]
                                                        : mlirShapedTypeGetDynamicStrideOrOffset();
  }
  if (plain) return mlirMemRefTypeContiguousGet(element, type.rank, dims, mlirAttributeGetNull());
  return mlirMemRefTypeGet(element, type.rank, dims,
                           mlirStridedLayoutAttrGet(ctx, 0, type.rank, steps),
                           mlirAttributeGetNull());
}

bool plan_is_plain(MlirContext ctx, MlirType memref) {
  return mlirTypeEqual(memref, plan_memref(ctx, memref, NULL));
}

/* Bytes of a value, or -1 when they are not known. */
int64_t plan_bytes(MlirValue value) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return -1;
  if (!loom_type_is_static(&type))
    return loom_type_is_sized(&type)
               ? loom_num_mul(loom_num_elements(&type), (int64_t)loom_dtype_size(type.dtype))
               : -1;
  int64_t elements = loom_type_elements(&type);
  int64_t size = (int64_t)loom_dtype_size(type.dtype);
  return elements < 0 || elements > INT64_MAX / 16 / size ? -1 : elements * size;
}

/* The symbol that a size is, or -1. */
static int64_t storage_symbol(loom_dim dim) {
  const loom_expr *expr = LOOM_DIM_IS_SYM(dim) ? &loom_sizes()->exprs[LOOM_DIM_EXPR(dim)] : NULL;
  return expr && expr->kind == LOOM_EXPR_SYMBOL ? expr->value : -1;
}

/* A host call that tells sizes says so in `loom.introduces`. */
bool plan_find_late(plan_state *s) {
  if (!loom_late_find(&s->late, s->block)) return plan_memory(s);
  for (int32_t call = 1; call <= s->late.count; call++) {
    int64_t made[LOOM_MAX_RANK];
    intptr_t count = loom_late_told(&s->late, call, made, LOOM_MAX_RANK);
    loom_set_attr(s->late.calls[call - 1], loom_mark_introduces,
                  loom_attr_i64s(s->ctx, count, made));
  }
  return true;
}

/* Has this result of a host call a size that the call itself tells? */
static bool storage_is_from_host(MlirOperation op, intptr_t result) {
  int64_t made[LOOM_MAX_RANK];
  loom_type type;
  intptr_t count = loom_get_i64s(op, loom_mark_introduces, made, LOOM_MAX_RANK);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, result)), &type)) return false;
  for (int d = 0; d < type.rank; d++)
    for (intptr_t i = 0; i < count; i++)
      if (storage_symbol(type.dims[d]) == made[i]) return true;
  return false;
}

static int storage_add(plan_state *s, int64_t size, int step) {
  if (!loom_grow(&s->storages, (size_t)s->storage_count, &s->storage_capacity, sizeof *s->storages))
    return -1;
  s->storages[s->storage_count] =
      (plan_storage){.size = size, .first = step, .last = step, .output = -1};
  return s->storage_count++;
}

int plan_storage_of(const plan_state *s, MlirValue value) {
  return (int)loom_map_get(&s->storage_of, loom_buffer_root(value).ptr, -1);
}

/* The value whose buffer a loop takes for one of its results (loop_inplace.c), or null. */
MlirValue plan_taken(MlirOperation op, intptr_t result) {
  for (intptr_t i = 0; loom_info(op)->control && i < mlirOperationGetNumOperands(op); i++)
    if (loom_loop_takes(op, loom_operand(op, i)) == result) return loom_operand(op, i);
  return (MlirValue){NULL};
}

/* The storage of one result: that of the operand which a kernel overwrites or a loop takes, or a
 * new one. */
static int storage_of_result(plan_state *s, MlirOperation op, MlirOperation kernel, intptr_t result,
                             int step) {
  int64_t inplace[LOOM_MAX_RANK * 4];
  intptr_t count = kernel.ptr ? loom_get_i64s(kernel, "inplace", inplace, LOOM_MAX_RANK * 4) : 0;
  if (result < count && result < LOOM_MAX_RANK * 4 && inplace[result] >= 0 &&
      inplace[result] < mlirOperationGetNumOperands(op)) {
    int taken = plan_storage_of(s, loom_operand(op, inplace[result]));
    if (taken >= 0) return taken;
  }
  MlirValue taken = plan_taken(op, result);
  MlirOperation maker = taken.ptr ? loom_def(taken) : (MlirOperation){NULL};
  int storage =
      maker.ptr && loom_class_of(maker) != LOOM_CLASS_HOST ? plan_storage_of(s, taken) : -1;
  if (storage >= 0 && !s->storages[storage].late && !s->storages[storage].kept) return storage;
  int64_t bytes = plan_bytes(loom_result(op, result));
  if (bytes < 0 && !LOOM_STRIDE_IS_SYM(bytes)) {
    loom_emit_error(mlirOperationGetLocation(op), "a plan needs values of known size");
    return -1;
  }
  return storage_add(s, bytes, step);
}

static bool storage_check_op(const plan_state *s, MlirOperation op, MlirOperation *kernel) {
  *kernel = (MlirOperation){NULL};
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  switch (loom_op_of(op)) {
  case LOOM_OP_HOST_CALL:
  case LOOM_OP_CONTROL:
  case LOOM_OP_RESHAPE: return true;
  case LOOM_OP_APPLY: break;
  default:
    return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' has no place in a plan",
                           (int)name.length, name.data);
  }
  *kernel = plan_kernel(s, op);
  if (!kernel->ptr)
    return loom_emit_error(mlirOperationGetLocation(op), "the kernel does not exist");
  return loom_get_attr(*kernel, "stages").ptr ||
         loom_emit_error(mlirOperationGetLocation(op),
                         "the kernel has no schedule: run loom-schedule first");
}

/* One step for each op: where each value lives, and from when to when. */
bool plan_find_storages(plan_state *s) {
  int step = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op), step++) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
      int used = plan_storage_of(s, loom_operand(op, i));
      if (used >= 0) s->storages[used].last = step;
    }
    MlirOperation kernel;
    if (mlirOperationEqual(op, mlirBlockGetTerminator(s->block))) break;
    if (!storage_check_op(s, op, &kernel)) return false;
    if (loom_info(op)->alias) continue;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
      int storage = storage_of_result(s, op, kernel, i, step);
      if (storage < 0) return false;
      s->storages[storage].last = step;
      if (loom_late_number(&s->late, s->storages[storage].size))
        s->storages[storage].late = PLAN_ALLOCATED;
      if (storage_is_from_host(op, i)) s->storages[storage].late = PLAN_FROM_HOST;
      s->storages[storage].kept = loom_get_attr(op, loom_mark_once).ptr != NULL;
      if (!loom_map_put(&s->storage_of, loom_result(op, i).ptr, storage)) return plan_memory(s);
    }
    int64_t slots = kernel.ptr ? loom_get_i64(kernel, "slots", 0) : 0;
    if (slots != 0) {
      int storage = storage_add(s, slots, step);
      if (storage >= 0 && loom_late_number(&s->late, slots))
        s->storages[storage].late = PLAN_ALLOCATED;
      if (storage < 0 || !loom_map_put(&s->storage_of, op.ptr, storage)) return plan_memory(s);
      s->storages[storage].kept = loom_get_attr(op, loom_mark_once).ptr != NULL;
    }
    int64_t kept = kernel.ptr ? loom_get_i64(kernel, loom_mark_kept, 0) : 0;
    if (kept) {
      int storage = storage_add(s, kept, step);
      if (storage < 0 || !loom_map_put(&s->kept_of, op.ptr, storage)) return plan_memory(s);
      s->storages[storage].kept = true;
    }
  }
  return true;
}
