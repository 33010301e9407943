/* A loom.kernel as plain C structs (lower.h). */
#include "passes/lower.h"
#include "passes/passes.h"

#include <string.h>

static bool kernel_strides(MlirOperation op, MlirAttribute all, int index, lower_buffer *out) {
  if (index >= mlirArrayAttrGetNumElements(all))
    return loom_emit_error(mlirOperationGetLocation(op), "kernel lacks strides of value %d", index);
  intptr_t count =
      loom_attr_read_i64s(mlirArrayAttrGetElement(all, index), out->strides, LOOM_MAX_RANK);
  if (count != out->type.rank)
    return loom_emit_error(mlirOperationGetLocation(op),
                           "kernel has %d strides for a value of rank %d", (int)count,
                           (int)out->type.rank);
  return true;
}

static bool kernel_buffer(MlirOperation op, MlirAttribute strides, int index, MlirValue value,
                          lower_buffer *out) {
  MlirLocation loc = mlirOperationGetLocation(op);
  out->value = value;
  out->scalar = -1;
  out->shares = -1;
  if (!loom_type_from_mlir(mlirValueGetType(value), &out->type))
    return loom_emit_error(loc, "kernel value %d is no tensor of a known element type", index);
  if (!loom_type_is_sized(&out->type))
    return loom_emit_error(loc, "kernel value %d is too large", index);
  return kernel_strides(op, strides, index, out);
}

static void kernel_options(MlirOperation op, lower_kernel *out) {
  MlirAttribute vector = loom_option(op, loom_mark_vector);
  out->target = loom_is_for_gpu(op) ? LANES_GPU : LANES_CPU;
  out->vector_bytes = 32;
  out->checked = loom_option(op, loom_mark_check).ptr != NULL;
  out->fastmath = loom_option(op, loom_mark_fastmath).ptr != NULL;
  if (vector.ptr && mlirAttributeIsAInteger(vector) && mlirIntegerAttrGetValueInt(vector) == 64)
    out->vector_bytes = 64;
}

static void kernel_count_ops(lower_kernel *out) {
  loom_opcode code;
  for (MlirOperation op = mlirBlockGetFirstOperation(out->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_opcode_of(op, &code)) out->ops[code]++;
}

static bool kernel_slots(MlirOperation op, lower_kernel *out) {
  int64_t scalars[64], inplace[64], overlaps[64];
  intptr_t scalar_count = loom_get_i64s(op, "scalars", scalars, 64);
  intptr_t inplace_count = loom_get_i64s(op, "inplace", inplace, 64);
  intptr_t overlap_count = loom_get_i64s(op, loom_mark_overlaps, overlaps, 64);
  MlirLocation loc = mlirOperationGetLocation(op);
  if (scalar_count > 64 || out->result_count > 64 || out->operand_count > 64)
    return loom_emit_error(loc, "kernel has too many operands");
  out->scalar_count = scalar_count > 0 ? (int)scalar_count : 0;
  for (intptr_t i = 0; i < scalar_count; i++) {
    if (scalars[i] < 0 || scalars[i] >= out->operand_count ||
        out->operands[scalars[i]].type.rank != 0)
      return loom_emit_error(loc, "kernel scalar %d is no 0-d operand", (int)i);
    out->operands[scalars[i]].scalar = (int)i;
  }
  for (int i = 0; i < out->operand_count; i++)
    out->operands[i].slot = out->operands[i].scalar >= 0 ? -1 : out->buffer_count++;
  for (int i = 0; i < out->result_count; i++) {
    out->results[i].slot = out->buffer_count++;
    if (i < overlap_count && overlaps[i] >= 0 && overlaps[i] < out->operand_count)
      out->results[i].overlaps = out->operands[overlaps[i]].overlaps = true;
    if (i >= inplace_count || inplace[i] < 0) continue;
    if (inplace[i] >= out->operand_count || out->operands[inplace[i]].slot < 0)
      return loom_emit_error(loc, "kernel result %d overwrites no buffer", i);
    out->results[i].shares = (int)inplace[i];
  }
  if (out->buffer_count > 60) return loom_emit_error(loc, "kernel has too many buffers");
  return true;
}

static bool kernel_same(MlirOperation op, lower_kernel *out) {
  int64_t same[64];
  intptr_t count = loom_get_i64s(op, loom_mark_same, same, 64);
  for (int i = 0; i < out->operand_count; i++) {
    out->operands[i].same = i;
    if (i >= count) continue;
    if (same[i] < 0 || same[i] > i)
      return loom_emit_error(mlirOperationGetLocation(op), "kernel operand %d is no earlier one",
                             i);
    out->operands[i].same = (int)same[i];
  }
  return true;
}

bool lower_kernel_parse(MlirOperation op, loom_arena *arena, lower_kernel *out) {
  memset(out, 0, sizeof *out);
  MlirLocation loc = mlirOperationGetLocation(op);
  out->op = op;
  out->ctx = mlirOperationGetContext(op);
  out->arena = arena;
  out->block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
  MlirOperation yield = mlirBlockGetTerminator(out->block);
  if (!yield.ptr || !loom_info(yield)->ends) return loom_emit_error(loc, "kernel has no yield");
  MlirAttribute strides = loom_get_attr(op, "strides");
  if (!strides.ptr || !mlirAttributeIsAArray(strides))
    return loom_emit_error(loc, "kernel has no strides");
  out->operand_count = (int)mlirBlockGetNumArguments(out->block);
  out->result_count = (int)mlirOperationGetNumOperands(yield);
  size_t bytes = sizeof *out->operands;
  out->operands =
      loom_arena_alloc(arena, bytes * (size_t)(out->operand_count + out->result_count + 1));
  if (!out->operands) return loom_emit_error(loc, "out of memory");
  out->results = out->operands + out->operand_count;
  for (int i = 0; i < out->operand_count; i++)
    if (!kernel_buffer(op, strides, i, mlirBlockGetArgument(out->block, i), &out->operands[i]))
      return false;
  for (int i = 0; i < out->result_count; i++)
    if (!kernel_buffer(op, strides, out->operand_count + i, loom_operand(yield, i),
                       &out->results[i]))
      return false;
  kernel_options(op, out);
  kernel_count_ops(out);
  return kernel_same(op, out) && kernel_slots(op, out);
}
