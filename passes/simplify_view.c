/* Rules of loom-simplify: chains of views become one, and slices meet the updates under them. */
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_elements.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"
#include "passes/simplify.h"

/* ---- views ---- */

MlirValue simplify_build_view(MlirOperation at, loom_opcode code, MlirValue operand, MlirType type,
                              const char *attr, intptr_t count, const int64_t *values) {
  loom_builder b = loom_builder_before(at);
  loom_named named = {attr, {NULL}};
  if (attr) named.value = loom_attr_i64s(b.ctx, count, values);
  return loom_result(loom_build_op(&b, code, 1, &operand, 1, &type, attr ? 1 : 0, &named), 0);
}

bool simplify_view_of_constant(MlirOperation op) {
  MlirOperation def = simplify_def_is(loom_operand(op, 0), LOOM_OP_CONSTANT);
  if (!def.ptr) return false;
  loom_builder b = loom_builder_before(op);
  MlirType type = mlirValueGetType(loom_result(op, 0));
  loom_named value = {"value", loom_get_attr(def, "value")};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0));
}

bool simplify_reshape(MlirOperation op) {
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_RESHAPE);
  loom_type in, out;
  if (!simplify_types(op, &in, &out) || !simplify_static(&in) || !simplify_static(&out))
    return false;
  if (simplify_same_type(op)) return simplify_replace(op, loom_operand(op, 0));
  if (!inner.ptr) return false;
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_RESHAPE, loom_operand(inner, 0),
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

bool simplify_transpose(MlirOperation op) {
  int64_t outer[LOOM_MAX_RANK], perm[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(op, "perm", outer, LOOM_MAX_RANK);
  if (rank < 0 || rank > LOOM_MAX_RANK) return false;
  bool identity = true;
  for (intptr_t i = 0; i < rank; i++)
    identity &= outer[i] == i;
  if (identity && simplify_same_type(op)) return simplify_replace(op, loom_operand(op, 0));
  MlirType type = mlirValueGetType(loom_result(op, 0));
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_TRANSPOSE);
  if (inner.ptr && loom_get_i64s(inner, "perm", perm, LOOM_MAX_RANK) == rank) {
    int64_t both[LOOM_MAX_RANK];
    for (intptr_t i = 0; i < rank; i++)
      both[i] = perm[outer[i]];
    return simplify_replace(op, simplify_build_view(op, LOOM_OP_TRANSPOSE, loom_operand(inner, 0),
                                                    type, "perm", rank, both));
  }
  inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_BROADCAST);
  intptr_t count = inner.ptr ? loom_get_i64s(inner, "dims", perm, LOOM_MAX_RANK) : -1;
  if (count < 0) return false;
  int64_t dims[LOOM_MAX_RANK] = {0};
  for (intptr_t i = 0; i < count; i++)
    for (intptr_t k = 0; k < rank; k++)
      if (outer[k] == perm[i]) dims[i] = k;
  for (intptr_t i = 1; i < count; i++)
    if (dims[i] <= dims[i - 1]) return false; /* broadcasts keep the order of dimensions */
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, loom_operand(inner, 0),
                                                  type, "dims", count, dims));
}

bool simplify_slice(MlirOperation op) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK], a[LOOM_MAX_RANK], b[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(op, "starts", starts, LOOM_MAX_RANK);
  if (rank < 0 || loom_get_i64s(op, "steps", steps, LOOM_MAX_RANK) != rank) return false;
  bool identity = simplify_same_type(op);
  loom_type in, out;
  if (!simplify_types(op, &in, &out) || !simplify_static(&in)) return false;
  for (intptr_t i = 0; i < rank; i++)
    identity &= starts[i] == 0 && steps[i] == 1;
  if (identity) return simplify_replace(op, loom_operand(op, 0));
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_SLICE);
  if (!inner.ptr || loom_get_i64s(inner, "starts", a, LOOM_MAX_RANK) != rank ||
      loom_get_i64s(inner, "steps", b, LOOM_MAX_RANK) != rank)
    return false;
  for (intptr_t i = 0; i < rank; i++) {
    a[i] = loom_num_add(a[i], loom_num_mul(starts[i], b[i]));
    b[i] *= steps[i];
    if (!loom_num_known(a[i])) return false;
  }
  loom_builder at = loom_builder_before(op);
  MlirValue source = loom_operand(inner, 0);
  MlirType type = mlirValueGetType(loom_result(op, 0));
  loom_named attrs[] = {{"starts", loom_attr_i64s(at.ctx, rank, a)},
                        {"sizes", loom_get_attr(op, "sizes")},
                        {"steps", loom_attr_i64s(at.ctx, rank, b)}};
  return simplify_replace(
      op, loom_result(loom_build_op(&at, LOOM_OP_SLICE, 1, &source, 1, &type, 3, attrs), 0));
}

/* ---- slices and their updates ---- */

typedef struct simplify_window { /* a slice, or the region that an update replaces */
  intptr_t rank;
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  loom_type region;
} simplify_window;

static bool simplify_read_window(MlirOperation op, simplify_window *out) {
  bool slice = loom_is(op, LOOM_OP_SLICE);
  MlirValue region = slice ? loom_result(op, 0) : loom_operand(op, 1);
  out->rank = loom_get_i64s(op, "starts", out->starts, LOOM_MAX_RANK);
  return out->rank >= 0 && loom_get_i64s(op, "steps", out->steps, LOOM_MAX_RANK) == out->rank &&
         loom_type_from_mlir(mlirValueGetType(region), &out->region) &&
         simplify_static(&out->region);
}

static bool simplify_same_window(const simplify_window *a, const simplify_window *b) {
  size_t size = sizeof *a->starts * (size_t)a->rank;
  return a->rank == b->rank && loom_type_equal(&a->region, &b->region) &&
         !memcmp(a->starts, b->starts, size) && !memcmp(a->steps, b->steps, size);
}

/* May a use of the value go away? */
static bool simplify_may_drop(MlirValue value) {
  return !simplify_used_once(value) || !loom_may_raise(value);
}

bool simplify_slice_of_update(MlirOperation op) {
  MlirOperation update = simplify_def_is(loom_operand(op, 0), LOOM_OP_UPDATE_SLICE);
  simplify_window outer, inner;
  if (!update.ptr || !simplify_used_once(loom_operand(op, 0)) ||
      !simplify_read_window(op, &outer) || !simplify_read_window(update, &inner) ||
      !simplify_same_window(&outer, &inner) || !simplify_may_drop(loom_operand(update, 0)))
    return false;
  return simplify_replace(op, loom_operand(update, 1));
}

bool simplify_update(MlirOperation op) {
  simplify_window region, other;
  loom_type type;
  if (!simplify_read_window(op, &region) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type))
    return false;
  bool whole = loom_type_equal(&type, &region.region);
  for (intptr_t i = 0; i < region.rank; i++)
    whole &= region.starts[i] == 0 && (region.steps[i] == 1 || type.dims[i] == 1);
  if (whole && simplify_may_drop(loom_operand(op, 0)))
    return simplify_replace(op, loom_operand(op, 1));
  MlirOperation slice = simplify_def_is(loom_operand(op, 1), LOOM_OP_SLICE);
  if (slice.ptr && mlirValueEqual(loom_operand(slice, 0), loom_operand(op, 0)) &&
      simplify_read_window(slice, &other) && simplify_same_window(&region, &other))
    return simplify_replace(op, loom_operand(op, 0));
  MlirOperation under = simplify_def_is(loom_operand(op, 0), LOOM_OP_UPDATE_SLICE);
  if (!under.ptr || !simplify_used_once(loom_operand(op, 0)) ||
      !simplify_read_window(under, &other) || !simplify_same_window(&region, &other) ||
      !simplify_may_drop(loom_operand(under, 1)))
    return false;
  mlirOperationSetOperand(op, 0, loom_operand(under, 0));
  return false;
}

bool simplify_update_of_view(MlirOperation op) {
  MlirOperation update = simplify_def_is(loom_operand(op, 1), LOOM_OP_UPDATE_SLICE);
  MlirOperation slice =
      update.ptr ? simplify_def_is(loom_operand(update, 0), LOOM_OP_SLICE) : update;
  simplify_window outer, inner, view;
  if (!slice.ptr || !mlirValueEqual(loom_operand(slice, 0), loom_operand(op, 0)) ||
      !simplify_read_window(op, &outer) || !simplify_read_window(slice, &view) ||
      !simplify_same_window(&outer, &view) || !simplify_read_window(update, &inner))
    return false;
  for (intptr_t i = 0; i < outer.rank; i++) {
    outer.starts[i] = loom_num_add(outer.starts[i], loom_num_mul(inner.starts[i], outer.steps[i]));
    outer.steps[i] *= inner.steps[i];
    if (!loom_num_known(outer.starts[i])) return false;
  }
  loom_builder b = loom_builder_before(op);
  MlirValue operands[] = {loom_operand(op, 0), loom_operand(update, 1)};
  MlirType type = mlirValueGetType(loom_result(op, 0));
  loom_named attrs[] = {{"starts", loom_attr_i64s(b.ctx, outer.rank, outer.starts)},
                        {"steps", loom_attr_i64s(b.ctx, outer.rank, outer.steps)}};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_UPDATE_SLICE, 2, operands, 1, &type, 2, attrs), 0));
}

bool simplify_unit_map(const loom_type *small, const loom_type *large, int64_t *where) {
  int at = 0;
  for (int i = 0; i < small->rank; i++, at++) {
    while (at < large->rank && large->dims[at] != small->dims[i]) {
      if (large->dims[at] != 1) return false;
      at++;
    }
    if (at == large->rank) return false;
    where[i] = at;
  }
  for (; at < large->rank; at++)
    if (large->dims[at] != 1) return false;
  return small->rank < large->rank;
}

bool simplify_broadcast(MlirOperation op) {
  int64_t outer[LOOM_MAX_RANK], inner_dims[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "dims", outer, LOOM_MAX_RANK);
  if (count < 0 || count > LOOM_MAX_RANK) return false;
  if (simplify_same_type(op)) return simplify_replace(op, loom_operand(op, 0));
  MlirType type = mlirValueGetType(loom_result(op, 0));
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_BROADCAST);
  intptr_t small = inner.ptr ? loom_get_i64s(inner, "dims", inner_dims, LOOM_MAX_RANK) : -1;
  if (!inner.ptr) {
    inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_RESHAPE);
    loom_type in, out;
    if (!inner.ptr || !simplify_types(inner, &in, &out) || !simplify_static(&in) ||
        !simplify_unit_map(&in, &out, inner_dims))
      return false;
    small = in.rank;
  }
  for (intptr_t i = 0; i < small; i++) {
    if (inner_dims[i] >= count) return false;
    dims[i] = outer[inner_dims[i]];
  }
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, loom_operand(inner, 0),
                                                  type, "dims", small < 0 ? 0 : small, dims));
}
