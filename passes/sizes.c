/* loom-sizes: sizes as values, and sizes that are assumed, become ops that kernels have.
 *
 *   %0 = loom.size %a axis = 0 : <?x4>, s0 rows
 * becomes
 *   %1 = loom.iota axis = 0 : <s0 + 1>
 *   %2 = loom.slice %1 starts = [s0] sizes = [1]
 *   %0 = loom.reshape %2 : <1> -> <>
 *
 * No array is read for it: a kernel knows the symbols. A constant size was folded before.
 *
 * loom.assume_shape is its operand where the types are the same. Else each dimension that gets
 * another size is read by a gather that raises: its indices are right where both sizes are the same
 * number, and out of bounds where they are not. As nothing is gathered into an empty array, an
 * element 0 or 1 of an array of one is asked for, too.
 *
 * requires: nothing. keeps: values; what is assumed is checked. breaks: nothing.
 */
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

enum { SIZES_COUNT_VALUES, SIZES_COUNT_ASSUMED };

static MlirType sizes_type(const loom_builder *b, loom_dtype dtype, int rank, loom_dim size) {
  loom_type type = {.dtype = dtype, .rank = (uint8_t)rank, .dims = {size}};
  return loom_type_to_mlir(b->ctx, &type);
}

static MlirValue sizes_iota(loom_builder *b, loom_dim size) {
  MlirType type = sizes_type(b, LOOM_I64, 1, size);
  loom_named along = {"axis", loom_attr_i64(b->ctx, 0)};
  return loom_result(loom_build_op(b, LOOM_OP_IOTA, 0, NULL, 1, &type, 1, &along), 0);
}

static MlirValue sizes_constant(loom_builder *b, int64_t number) {
  MlirType type = sizes_type(b, LOOM_I64, 0, 0);
  loom_named value = {"value", loom_attr_i64(b->ctx, number)};
  return loom_result(loom_build_op(b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0);
}

/* A size as a 0-d int64; null where no size is one larger. */
static MlirValue sizes_value(loom_builder *b, loom_dim dim) {
  int64_t size = loom_num_dim(dim), one = 1;
  loom_dim more;
  if (!LOOM_DIM_IS_SYM(dim)) return sizes_constant(b, size);
  if (!loom_dim_of_stride(loom_num_add(size, 1), &more)) return (MlirValue){NULL};
  MlirValue line = sizes_iota(b, more);
  MlirType last = sizes_type(b, LOOM_I64, 1, 1);
  loom_named window[] = {{"starts", loom_attr_i64s(b->ctx, 1, &size)},
                         {"sizes", loom_attr_i64s(b->ctx, 1, &one)},
                         {"steps", loom_attr_i64s(b->ctx, 1, &one)}};
  line = loom_result(loom_build_op(b, LOOM_OP_SLICE, 1, &line, 1, &last, 3, window), 0);
  return loom_build_op1(b, LOOM_OP_RESHAPE, line, sizes_type(b, LOOM_I64, 0, 0));
}

static void sizes_replace(MlirOperation op, MlirValue value, int counter) {
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), value);
  mlirOperationDestroy(op);
  loom_count(counter, 1);
}

static bool sizes_refuse(MlirOperation op) {
  return loom_emit_error(mlirOperationGetLocation(op), "a size is too large to be computed with");
}

static bool sizes_of(MlirOperation op, const loom_type *type) {
  loom_builder b = loom_builder_before(op);
  int64_t axis = loom_get_i64(op, "axis", -1);
  MlirValue value = {NULL};
  if (axis >= 0 && axis < type->rank) value = sizes_value(&b, type->dims[axis]);
  if (!value.ptr) return sizes_refuse(op);
  sizes_replace(op, value, SIZES_COUNT_VALUES);
  return true;
}

/* ---- sizes that are assumed ---- */

static MlirValue sizes_gather(loom_builder *b, MlirValue array, MlirValue index, int64_t axis,
                              MlirType type) {
  MlirValue both[] = {array, index};
  loom_named attrs[] = {{"axis", loom_attr_i64(b->ctx, axis)},
                        {"mode", loom_attr_str(b->ctx, "raise")}};
  return loom_result(loom_build_op(b, LOOM_OP_GATHER, 2, both, 1, &type, 2, attrs), 0);
}

/* Is the size another one? Element 1 of an array of one is asked for then. */
static MlirValue sizes_differ(loom_builder *b, MlirValue was, MlirValue is) {
  MlirValue both[] = {was, is};
  MlirType truth = sizes_type(b, LOOM_BOOL, 0, 0), number = sizes_type(b, LOOM_I64, 0, 0);
  loom_named how = {"direction", loom_attr_str(b->ctx, "ne")};
  MlirValue wrong = loom_result(loom_build_op(b, LOOM_OP_COMPARE, 2, both, 1, &truth, 1, &how), 0);
  MlirValue index = loom_build_op1(b, LOOM_OP_CONVERT, wrong, number);
  sizes_gather(b, sizes_iota(b, 1), index, 0, number);
  return index;
}

/* `array` with dimension `axis` of the size that `type` has there, by indices that are too large if
 * it is of another. */
static MlirValue sizes_assume(loom_builder *b, MlirValue array, loom_type *type, int axis,
                              loom_dim size) {
  MlirValue was = sizes_value(b, type->dims[axis]), is = sizes_value(b, size);
  if (!was.ptr || !is.ptr) return (MlirValue){NULL};
  MlirType number = mlirValueGetType(was), line = sizes_type(b, LOOM_I64, 1, size);
  MlirValue beyond = loom_build_op2(b, LOOM_OP_MUL, sizes_differ(b, was, is), was, number);
  loom_named dims = {"dims", loom_attr_i64s(b->ctx, 0, NULL)};
  beyond = loom_result(loom_build_op(b, LOOM_OP_BROADCAST, 1, &beyond, 1, &line, 1, &dims), 0);
  MlirValue index = loom_build_op2(b, LOOM_OP_ADD, sizes_iota(b, size), beyond, line);
  type->dims[axis] = size;
  return sizes_gather(b, array, index, axis, loom_type_to_mlir(b->ctx, type));
}

static bool sizes_assumed(MlirOperation op, loom_type *type) {
  loom_builder b = loom_builder_before(op);
  loom_type asked;
  MlirValue value = loom_operand(op, 0);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &asked)) return sizes_refuse(op);
  for (int axis = 0; axis < type->rank && value.ptr; axis++)
    if (type->dims[axis] != asked.dims[axis])
      value = sizes_assume(&b, value, type, axis, asked.dims[axis]);
  if (!value.ptr) return sizes_refuse(op);
  sizes_replace(op, value, SIZES_COUNT_ASSUMED);
  return true;
}

static bool sizes_visit(MlirOperation op, void *user) {
  (void)user;
  loom_type type;
  bool value = loom_is(op, LOOM_OP_SIZE);
  if (!value && !loom_is(op, LOOM_OP_ASSUME_SHAPE)) return true;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type)) return sizes_refuse(op);
  return value ? sizes_of(op, &type) : sizes_assumed(op, &type);
}

static bool sizes_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return !block.ptr || loom_walk_block(block, sizes_visit, NULL);
}

MlirPass loom_make_sizes_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomSizes",
      .flag = "loom-sizes",
      .summary = "Turn sizes as values and assumed sizes into ops that kernels have",
      .root = "builtin.module",
      .each_function = true,
      .run = sizes_run,
      .counters = {[SIZES_COUNT_VALUES] = {"values", "sizes that are values"},
                   [SIZES_COUNT_ASSUMED] = {"assumed", "arrays whose sizes are checked"}}};
  return loom_pass_of(&spec);
}
