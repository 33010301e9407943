/* The loom.plan op, for loom-plan (plan.c): its arguments, which are the function's inputs and
 * outputs as memrefs, and what its attributes say about them.
 *
 * A returned value is written straight into its output buffer by the kernel that computes it, where
 * that lays it out as the output asks.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "passes/plan.h"

/* Is what `value` is a reshape of laid out in C order? */
bool plan_root_is_plain(const plan_state *s, MlirValue root) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  if (!loom_type_from_mlir(mlirValueGetType(root), &type)) return false;
  loom_value_strides(s->function, root, &type, strides);
  return loom_strides_are_contiguous(&type, strides);
}

/* Does a kernel write `value` in the very layout that output `i` has? */
bool plan_lies_as_asked(const plan_state *s, MlirValue value, intptr_t i) {
  loom_type type;
  int64_t asked[LOOM_MAX_RANK], have[LOOM_MAX_RANK];
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return false;
  loom_result_strides(s->function, i, &type, asked);
  MlirValue root = loom_buffer_root(value);
  if (!mlirValueEqual(root, value)) {
    if (loom_strides_are_contiguous(&type, asked)) return plan_root_is_plain(s, root);
    loom_type under;
    return loom_type_from_mlir(mlirValueGetType(root), &under) &&
           loom_reshaped_strides(s->function, root, &under, have);
  }
  loom_value_strides(s->function, value, &type, have);
  return !memcmp(asked, have, sizeof *have * (size_t)type.rank);
}

/* A returned value that is computed here lives in its output from the start. Outputs are never
 * overwritten in place (loom-outline), so that one storage is one output. */
void plan_bind_outputs(plan_state *s, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    MlirValue value = loom_operand(terminator, i);
    int storage = plan_storage_of(s, value);
    if (storage >= 0 && s->storages[storage].output < 0 &&
        s->storages[storage].late != PLAN_FROM_HOST && plan_lies_as_asked(s, value, i))
      s->storages[storage].output = (int)i;
  }
}

static MlirType make_argument_type(plan_state *s, intptr_t i) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  MlirType tensor = mlirValueGetType(mlirBlockGetArgument(s->block, i));
  if (!loom_type_from_mlir(tensor, &type)) return (MlirType){NULL};
  if (loom_argument_has(s->function, i, loom_mark_scalar)) return tensor;
  loom_argument_strides(s->function, i, &type, strides);
  return plan_memref(s->ctx, tensor, strides);
}

/* What was in the buffer of `value` before ops overwrote it in place, one after the other. */
static MlirValue make_first_in_place(const plan_state *s, MlirValue value) {
  for (;;) {
    int64_t inplace[64];
    MlirOperation def = loom_def(value);
    MlirValue taken =
        def.ptr ? plan_taken(def, mlirOpResultGetResultNumber(value)) : (MlirValue){NULL};
    if (taken.ptr &&
        (!loom_def(taken).ptr || plan_storage_of(s, taken) == plan_storage_of(s, value))) {
      value = taken;
      continue;
    }
    MlirOperation kernel = def.ptr ? plan_kernel(s, def) : def;
    if (!kernel.ptr) return value;
    intptr_t count = loom_get_i64s(kernel, "inplace", inplace, 64);
    intptr_t result = mlirOpResultGetResultNumber(value);
    MlirBlock body = loom_body(kernel);
    if (result >= count || result >= 64 || inplace[result] < 0 || !loom_overwriting(body).ptr)
      return value;
    value = loom_operand(def, inplace[result]);
  }
}

/* Whose buffer the caller may pass for output `i`: that of the operand over which the output's
 * kernel writes (loom-outline). */
static int64_t make_overwrites(const plan_state *s, MlirValue value, intptr_t i) {
  int64_t argument = loom_result_overwrites(s->function, i), overlaps[64];
  int storage = plan_storage_of(s, value);
  value = make_first_in_place(s, value);
  MlirOperation def = loom_def(value);
  if (argument < 0 || storage < 0 || s->storages[storage].output != i) return -1;
  if (!def.ptr) return mlirBlockArgumentGetArgNumber(value) == argument ? argument : -1;
  MlirOperation kernel = plan_kernel(s, def);
  intptr_t count = kernel.ptr ? loom_get_i64s(kernel, loom_mark_overlaps, overlaps, 64) : 0;
  for (intptr_t r = 0; r < count && r < 64; r++)
    if (mlirValueEqual(loom_result(def, r), value)) return overlaps[r] < 0 ? -1 : argument;
  return -1;
}

/* One i64 an output; null when no output overwrites an input. */
static MlirAttribute make_all_overwrites(const plan_state *s, MlirOperation terminator) {
  int64_t all[64];
  bool any = false;
  intptr_t count = mlirOperationGetNumOperands(terminator);
  if (count > 64) count = 64;
  for (intptr_t i = 0; i < count; i++) {
    all[i] = make_overwrites(s, loom_operand(terminator, i), i);
    any |= all[i] >= 0;
  }
  return any ? loom_attr_i64s(s->ctx, count, all) : mlirAttributeGetNull();
}

/* Bytes of all arguments where some are symbolic: their types do not tell. */
static bool make_set_bytes(plan_state *s, MlirOperation terminator) {
  intptr_t outs = mlirOperationGetNumOperands(terminator);
  int64_t *bytes = malloc(sizeof *bytes * (size_t)(s->inputs + outs + 1));
  bool symbolic = false;
  if (!bytes) return plan_memory(s);
  for (intptr_t i = 0; i < s->inputs + outs; i++) {
    bytes[i] = plan_bytes(i < s->inputs ? mlirBlockGetArgument(s->block, i)
                                        : loom_operand(terminator, i - s->inputs));
    symbolic |= LOOM_STRIDE_IS_SYM(bytes[i]);
  }
  if (symbolic) loom_set_attr(s->plan, "bytes", loom_attr_i64s(s->ctx, s->inputs + outs, bytes));
  intptr_t count = 0;
  int64_t late[256];
  for (uint32_t i = 0; i < loom_sizes()->symbol_count && count < 256; i++)
    if (s->late.count && s->late.told[i]) late[count++] = i;
  if (count) loom_set_attr(s->plan, loom_mark_late, loom_attr_i64s(s->ctx, count, late));
  free(bytes);
  return count < 256 || loom_emit_error(mlirOperationGetLocation(s->function), "too many sizes");
}

/* What the function takes and gives, where sizes or strides are symbolic or arguments have values:
 * loom-interpret asks for it. */
static void make_set_signature(plan_state *s) {
  MlirAttribute all[] = {loom_get_attr(s->function, "function_type"),
                         loom_get_attr(s->function, "arg_attrs"),
                         loom_get_attr(s->function, "res_attrs")};
  bool wanted = loom_sizes()->symbol_count > 0;
  for (intptr_t i = 0; all[1].ptr && i < mlirArrayAttrGetNumElements(all[1]) && !wanted; i++)
    wanted = mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(all[1], i),
                                                loom_str(loom_mark_values))
                 .ptr != NULL;
  for (int i = 0; i < 3; i++)
    if (!all[i].ptr) all[i] = mlirUnitAttrGet(s->ctx);
  if (wanted) loom_set_attr(s->plan, loom_mark_signature, mlirArrayAttrGet(s->ctx, 3, all));
}

bool plan_make(plan_state *s, MlirOperation terminator) {
  MlirLocation loc = mlirOperationGetLocation(s->function);
  s->inputs = mlirBlockGetNumArguments(s->block);
  int64_t *consts = malloc(sizeof *consts * (size_t)(s->inputs + 1)), const_count = 0;
  if (!consts) return plan_memory(s);
  s->body = mlirBlockCreate(0, NULL, NULL);
  bool good = true;
  for (intptr_t i = 0; i < s->inputs && good; i++) {
    MlirType type = make_argument_type(s, i);
    good = type.ptr != NULL;
    if (!good) break;
    mlirBlockAddArgument(s->body, type, mlirValueGetLocation(mlirBlockGetArgument(s->block, i)));
    if (loom_argument_has(s->function, i, loom_mark_const)) consts[const_count++] = i;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator) && good; i++) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    MlirValue value = loom_operand(terminator, i);
    MlirType tensor = mlirValueGetType(value);
    good = loom_type_from_mlir(tensor, &type) && loom_type_is_sized(&type);
    if (!good) break;
    loom_result_strides(s->function, i, &type, strides);
    mlirBlockAddArgument(s->body, plan_memref(s->ctx, tensor, strides),
                         mlirValueGetLocation(value));
  }
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, s->body);
  loom_builder b = loom_builder_before(s->function);
  loom_named attrs[] = {{"sym_name", loom_get_attr(s->function, "sym_name")},
                        {"inputs", loom_attr_i64(s->ctx, s->inputs)},
                        {"consts", loom_attr_i64s(s->ctx, const_count, consts)},
                        {"arena", loom_attr_i64(s->ctx, s->arena)},
                        {loom_mark_overwrites, make_all_overwrites(s, terminator)}};
  s->plan = loom_build_op_regions(&b, LOOM_OP_PLAN, 0, NULL, 0, NULL, attrs[4].value.ptr ? 5 : 4,
                                  attrs, 1, &region);
  free(consts);
  if (good) make_set_signature(s);
  if (good && s->peak) loom_set_attr(s->plan, loom_mark_peak, loom_attr_i64(s->ctx, s->peak));
  if (good && loom_option(s->function, loom_mark_check).ptr)
    good = plan_set_extents(s->function, s->block, s->plan);
  if (good) return make_set_bytes(s, terminator);
  return loom_emit_error(loc, "a plan needs array types of known size");
}
