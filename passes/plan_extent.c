/* The bytes that kernels may access of a plan's arguments, for checked kernels (loom-check). A view
 * with strides reaches over more bytes than its elements have, and begins before its first element
 * where strides are negative. */
#include "passes/plan.h"

#include <stdlib.h>

#include "dialects/ir.h"
#include "passes/passes.h"

static bool extent_is_empty(const loom_type *type) {
  for (int i = 0; i < type->rank; i++)
    if (loom_num_high(loom_num_dim(type->dims[i])) == 0) return true;
  return false;
}

/* Bytes from the first element on (low) and in all. */
static void extent_of(const loom_type *type, const int64_t *strides, int64_t *low, int64_t *size) {
  int64_t first = 0, last = 0, bytes = (int64_t)loom_dtype_size(type->dtype);
  *low = *size = 0;
  if (extent_is_empty(type)) return;
  if (loom_strides_are_contiguous(type, strides)) {
    *size = loom_num_mul(loom_num_elements(type), bytes);
    return;
  }
  for (int i = 0; i < type->rank; i++) {
    int64_t reach = loom_num_mul(loom_num_sub(loom_num_dim(type->dims[i]), 1), strides[i]);
    int64_t back = loom_num_min(reach, 0);
    first = loom_num_add(first, back);
    last = loom_num_add(last, loom_num_sub(reach, back));
  }
  *low = loom_num_mul(first, bytes);
  *size = loom_num_mul(loom_num_add(loom_num_sub(last, first), 1), bytes);
}

bool plan_set_extents(MlirOperation function, MlirBlock block, MlirOperation plan) {
  MlirOperation terminator = mlirBlockGetTerminator(block);
  intptr_t inputs = mlirBlockGetNumArguments(block);
  intptr_t count = inputs + mlirOperationGetNumOperands(terminator);
  int64_t *extents = calloc((size_t)(2 * count + 1), sizeof *extents);
  if (!extents) return loom_emit_error(mlirOperationGetLocation(function), "out of memory");
  bool good = true;
  for (intptr_t i = 0; i < count && good; i++) {
    MlirValue value =
        i < inputs ? mlirBlockGetArgument(block, i) : loom_operand(terminator, i - inputs);
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    good = loom_type_from_mlir(mlirValueGetType(value), &type) && loom_type_is_sized(&type);
    if (!good) break;
    if (i < inputs)
      loom_argument_strides(function, i, &type, strides);
    else
      loom_result_strides(function, i - inputs, &type, strides);
    extent_of(&type, strides, &extents[2 * i], &extents[2 * i + 1]);
  }
  MlirAttribute all = loom_attr_i64s(mlirOperationGetContext(function), 2 * count, extents);
  if (good) loom_set_attr(plan, loom_mark_extents, all);
  free(extents);
  return good || loom_emit_error(mlirOperationGetLocation(function),
                                 "sizes that are not known are checked");
}
