/* loom-thin: products with a single row or column become reductions.
 *
 *   %0 = loom.dot_general %a, %v contract = [1] x [0] : 8x4, 4 -> 8
 * becomes
 *   %1 = loom.broadcast %v dims = [1] : 4 -> 8x4
 *   %2 = loom.mul %a, %1 : 8x4
 *   %0 = loom.reduce "sum" %2 axes = [1] : 8x4 -> 8
 *
 * An outer product, which sums nothing, becomes the broadcasts and the mul alone.
 *
 * Each element of the larger operand is used once, so there is nothing for register tiles to reuse:
 * a reduction reads at the speed of memory, keeps as many sums as hide their latency, and fuses
 * with what is around it.
 *
 * keeps: values up to the order of a sum. breaks: nothing.
 */
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

typedef struct thin_product {
  MlirOperation op;
  loom_type result, full; /* full: batch, rows, columns, depth */
  loom_type types[2];
  int64_t batch[2][LOOM_MAX_RANK], depth[2][LOOM_MAX_RANK];
  intptr_t batches, depths;
} thin_product;

/* Position of dimension `dim` of an operand in the full product. */
static int thin_place(const thin_product *t, int side, int dim) {
  int free_before = 0;
  for (intptr_t i = 0; i < t->batches; i++) {
    if (t->batch[side][i] == dim) return (int)i;
    free_before += t->batch[side][i] < dim;
  }
  for (intptr_t i = 0; i < t->depths; i++) {
    if (t->depth[side][i] == dim) return t->result.rank + (int)i;
    free_before += t->depth[side][i] < dim;
  }
  int rows = t->types[0].rank - (int)(t->batches + t->depths);
  return (int)t->batches + (side ? rows : 0) + dim - free_before;
}

/* Reads the product; false when it is no thin one. */
static bool thin_read(MlirOperation op, thin_product *t) {
  static const char *const batch[] = {"lhs_batch", "rhs_batch"};
  static const char *const depth[] = {"lhs_contract", "rhs_contract"};
  memset(t, 0, sizeof *t);
  t->op = op;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &t->result)) return false;
  int64_t free_size[2] = {1, 1};
  for (int side = 0; side < 2; side++) {
    t->batches = loom_get_i64s(op, batch[side], t->batch[side], LOOM_MAX_RANK);
    t->depths = loom_get_i64s(op, depth[side], t->depth[side], LOOM_MAX_RANK);
    if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, side)), &t->types[side]) ||
        !loom_type_is_sized(&t->types[side]) || loom_num_elements(&t->types[side]) == 0)
      return false;
  }
  t->full = t->result;
  t->full.rank = t->result.rank + (int)t->depths;
  if (!loom_type_is_sized(&t->result) || loom_num_elements(&t->result) == 0 ||
      t->full.rank > LOOM_MAX_RANK)
    return false;
  for (int side = 0; side < 2; side++)
    for (int d = 0; d < t->types[side].rank; d++) {
      int place = thin_place(t, side, d);
      if (place >= t->result.rank) t->full.dims[place] = t->types[side].dims[d];
      if (place >= t->batches && place < t->result.rank)
        free_size[side] = loom_num_mul(free_size[side], loom_num_dim(t->types[side].dims[d]));
    }
  return !t->depths || free_size[0] == 1 || free_size[1] == 1;
}

/* Half floats are multiplied and summed in f32. */
static MlirValue thin_convert(loom_builder *b, MlirValue value, loom_dtype dtype) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type) || type.dtype == dtype) return value;
  type.dtype = dtype;
  return loom_build_op1(b, LOOM_OP_CONVERT, value, loom_type_to_mlir(b->ctx, &type));
}

/* An operand with its dimensions in the order of the full product, spread over all of it. */
static MlirValue thin_operand(loom_builder *b, const thin_product *t, int side) {
  int64_t perm[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  loom_type sorted = t->types[side];
  int count = 0;
  for (int place = 0; place < t->full.rank; place++)
    for (int d = 0; d < t->types[side].rank; d++)
      if (thin_place(t, side, d) == place) {
        perm[count] = d;
        dims[count] = place;
        sorted.dims[count++] = t->types[side].dims[d];
      }
  MlirValue value = loom_operand(t->op, side);
  MlirType type = loom_type_to_mlir(b->ctx, &sorted);
  loom_named attr = {"perm", loom_attr_i64s(b->ctx, count, perm)};
  if (!mlirTypeEqual(type, mlirValueGetType(value)) || count > 1)
    value = loom_result(loom_build_op(b, LOOM_OP_TRANSPOSE, 1, &value, 1, &type, 1, &attr), 0);
  type = loom_type_to_mlir(b->ctx, &t->full);
  attr = (loom_named){"dims", loom_attr_i64s(b->ctx, count, dims)};
  return loom_result(loom_build_op(b, LOOM_OP_BROADCAST, 1, &value, 1, &type, 1, &attr), 0);
}

static bool thin_rewrite(MlirOperation op, void *user) {
  thin_product t;
  if (!loom_is(op, LOOM_OP_DOT_GENERAL) || !thin_read(op, &t)) return true;
  loom_count(0, 1);
  loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(op), "thin", "%s",
              t.depths ? "the product has a single row or column: it is a reduction"
                       : "the product sums over nothing: it is a multiplication");
  loom_builder b = loom_builder_before(op);
  MlirValue lhs = thin_operand(&b, &t, 0), rhs = thin_operand(&b, &t, 1);
  bool half = loom_dtype_is_half(t.result.dtype);
  if (half && t.depths) {
    lhs = thin_convert(&b, lhs, LOOM_F32);
    rhs = thin_convert(&b, rhs, LOOM_F32);
  }
  MlirValue product = loom_build_op2(&b, LOOM_OP_MUL, lhs, rhs, mlirValueGetType(lhs));
  if (!t.depths) { /* an outer product */
    mlirValueReplaceAllUsesOfWith(loom_result(op, 0), product);
    mlirOperationDestroy(op);
    return true;
  }
  int64_t axes[LOOM_MAX_RANK];
  for (intptr_t i = 0; i < t.depths; i++)
    axes[i] = t.result.rank + i;
  const char *kind = t.result.dtype == LOOM_BOOL ? "or" : "sum";
  loom_named attrs[] = {{"kind", loom_attr_str(b.ctx, kind)},
                        {"axes", loom_attr_i64s(b.ctx, t.depths, axes)}};
  loom_type type = t.result;
  if (half) type.dtype = LOOM_F32;
  MlirType result = loom_type_to_mlir(b.ctx, &type);
  MlirOperation reduce = loom_build_op(&b, LOOM_OP_REDUCE, 1, &product, 1, &result, 2, attrs);
  MlirValue sum = thin_convert(&b, loom_result(reduce, 0), t.result.dtype);
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), sum);
  mlirOperationDestroy(op);
  return true;
}

static bool thin_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return !block.ptr || loom_walk_block(block, thin_rewrite, NULL);
}

MlirPass loom_make_thin_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomThin",
      .flag = "loom-thin",
      .summary = "Turn products with a single row or column into reductions",
      .root = "builtin.module",
      .each_function = true,
      .run = thin_run,
      .counters = {{"products", "products that are none any more"}}};
  return loom_pass_of(&spec);
}
