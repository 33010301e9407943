/* Wide concatenations, for loom-fuse (fuse.c).
 *
 * A kernel decides for each element which operand it comes from, in each part of its domain. The
 * cost of that grows with the square of the number of operands, and the number of buffers of a
 * kernel is limited. So a concatenation of many operands becomes a tree: neighbours are first put
 * together, by kernels of their own, and the results are concatenated. Neighbours that are like
 * those before them (one array many times) are put together once.
 */
#include <stdlib.h>
#include <string.h>

#include "loom_ops_shapes.h"
#include "passes/fuse.h"

#define WIDE_MOST 32 /* operands of a concatenation that stays as it is */
#define WIDE_PART 16

typedef struct wide_parts {
  MlirValue *values;
  int64_t *sizes; /* along the axis: numbers */
  intptr_t count;
} wide_parts;

/* The operands, when all sizes along the axis can be told. */
static bool wide_read(MlirOperation op, int64_t axis, wide_parts *out) {
  loom_type type;
  for (intptr_t i = 0; i < out->count; i++) {
    out->values[i] = loom_operand(op, i);
    if (!loom_type_from_mlir(mlirValueGetType(out->values[i]), &type) || axis < 0 ||
        axis >= type.rank || !loom_type_is_sized(&type))
      return false;
    out->sizes[i] = loom_num_dim(type.dims[axis]);
  }
  return true;
}

/* The type of values of that size in all. */
static MlirType wide_type(MlirValue like, int64_t axis, int64_t size) {
  loom_type type;
  loom_type_from_mlir(mlirValueGetType(like), &type);
  if (!loom_dim_of_stride(size, &type.dims[axis])) return (MlirType){NULL};
  return loom_type_to_mlir(mlirTypeGetContext(mlirValueGetType(like)), &type);
}

/* A concatenation of `count` values in front of `op`. */
static MlirValue wide_join(MlirOperation op, const MlirValue *values, intptr_t count, int64_t axis,
                           MlirType result) {
  loom_builder b = loom_builder_before(op);
  b.loc = mlirOperationGetLocation(op);
  loom_named attr = {"axis", loom_attr_i64(b.ctx, axis)};
  return loom_result(loom_build_op(&b, LOOM_OP_CONCATENATE, count, values, 1, &result, 1, &attr),
                     0);
}

static bool wide_same(const MlirValue *a, const MlirValue *b, intptr_t count) {
  for (intptr_t i = 0; i < count; i++)
    if (a[i].ptr != b[i].ptr) return false;
  return true;
}

/* Builds one level of the tree: concatenations of `parts`, which replace them. False: the size of a
 * part cannot be expressed. */
static bool wide_level(MlirOperation op, int64_t axis, wide_parts *p, MlirValue *joined,
                       int64_t *sizes) {
  intptr_t count = 0;
  for (intptr_t i = 0; i < p->count; i += WIDE_PART) {
    intptr_t some = p->count - i < WIDE_PART ? p->count - i : WIDE_PART;
    int64_t size = 0;
    for (intptr_t k = 0; k < some; k++)
      size = loom_num_add(size, p->sizes[i + k]);
    bool again =
        i && some == WIDE_PART && wide_same(p->values + i, p->values + i - WIDE_PART, some);
    MlirType type = wide_type(p->values[i], axis, size);
    if (!type.ptr) return false;
    sizes[count] = size;
    joined[count] = again       ? joined[count - 1]
                    : some == 1 ? p->values[i]
                                : wide_join(op, p->values + i, some, axis, type);
    count++;
  }
  memcpy(p->values, joined, (size_t)count * sizeof *joined);
  memcpy(p->sizes, sizes, (size_t)count * sizeof *sizes);
  p->count = count;
  return true;
}

/* Gives the new operation, or `op`; a null one without memory. */
static MlirOperation wide_split(MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op);
  int64_t axis = loom_get_i64(op, "axis", -1);
  wide_parts p = {calloc((size_t)count, 2 * sizeof *p.values),
                  calloc((size_t)count, 2 * sizeof *p.sizes), count};
  bool memory = p.values && p.sizes;
  bool good = memory && wide_read(op, axis, &p);
  while (good && p.count > WIDE_PART)
    good = wide_level(op, axis, &p, p.values + count, p.sizes + count);
  if (good) {
    MlirType type = mlirValueGetType(loom_result(op, 0));
    MlirValue all = wide_join(op, p.values, p.count, axis, type);
    mlirValueReplaceAllUsesOfWith(loom_result(op, 0), all);
    mlirOperationDestroy(op);
    op = loom_def(all);
  }
  free(p.values);
  free(p.sizes);
  return memory ? op : (MlirOperation){NULL};
}

bool fuse_prepare_wide(MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (mlirOperationGetNumOperands(op) <= WIDE_MOST || !loom_is(op, LOOM_OP_CONCATENATE)) continue;
    op = wide_split(op);
    if (!op.ptr) return false;
  }
  return true;
}
