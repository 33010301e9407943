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

bool simplify_view_of_constant(MlirOperation op, MlirOperation constant) {
  loom_builder b = loom_builder_before(op);
  MlirType type = mlirValueGetType(loom_result(op, 0));
  loom_named value = {"value", loom_get_attr(constant, "value")};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0));
}

bool simplify_reshape_of_same(MlirOperation op, MlirOperation unused) {
  loom_type type;
  return simplify_same_type(op) &&
         loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) &&
         simplify_static(&type) && simplify_replace(op, loom_operand(op, 0));
}

bool simplify_reshape_of_reshape(MlirOperation op, MlirOperation inner) {
  loom_type in, out;
  if (!simplify_types(op, &in, &out) || !simplify_static(&in) || !simplify_static(&out))
    return false;
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_RESHAPE, loom_operand(inner, 0),
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

bool simplify_transpose_of_same(MlirOperation op, MlirOperation unused) {
  int64_t perm[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(op, "perm", perm, LOOM_MAX_RANK);
  if (rank < 0 || rank > LOOM_MAX_RANK || !simplify_same_type(op)) return false;
  for (intptr_t i = 0; i < rank; i++)
    if (perm[i] != i) return false;
  return simplify_replace(op, loom_operand(op, 0));
}

bool simplify_transpose_of_transpose(MlirOperation op, MlirOperation inner) {
  int64_t outer[LOOM_MAX_RANK], perm[LOOM_MAX_RANK], both[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(op, "perm", outer, LOOM_MAX_RANK);
  if (rank < 0 || rank > LOOM_MAX_RANK || loom_get_i64s(inner, "perm", perm, LOOM_MAX_RANK) != rank)
    return false;
  for (intptr_t i = 0; i < rank; i++)
    both[i] = perm[outer[i]];
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_TRANSPOSE, loom_operand(inner, 0),
                                                  mlirValueGetType(loom_result(op, 0)), "perm",
                                                  rank, both));
}

bool simplify_transpose_of_broadcast(MlirOperation op, MlirOperation inner) {
  int64_t outer[LOOM_MAX_RANK], from[LOOM_MAX_RANK], dims[LOOM_MAX_RANK] = {0};
  intptr_t rank = loom_get_i64s(op, "perm", outer, LOOM_MAX_RANK);
  intptr_t count = loom_get_i64s(inner, "dims", from, LOOM_MAX_RANK);
  if (rank < 0 || rank > LOOM_MAX_RANK || count < 0) return false;
  for (intptr_t i = 0; i < count; i++)
    for (intptr_t k = 0; k < rank; k++)
      if (outer[k] == from[i]) dims[i] = k;
  for (intptr_t i = 1; i < count; i++)
    if (dims[i] <= dims[i - 1]) return false; /* broadcasts keep the order of dimensions */
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, loom_operand(inner, 0),
                                                  mlirValueGetType(loom_result(op, 0)), "dims",
                                                  count, dims));
}

/* Where a slice begins and how it goes on; its rank, or -1 where it cannot be composed. */
static intptr_t simplify_read_slice(MlirOperation op, int64_t *starts, int64_t *steps) {
  intptr_t rank = loom_get_i64s(op, "starts", starts, LOOM_MAX_RANK);
  loom_type in, out;
  bool good = rank >= 0 && loom_get_i64s(op, "steps", steps, LOOM_MAX_RANK) == rank &&
              simplify_types(op, &in, &out) && simplify_static(&in);
  return good ? rank : -1;
}

bool simplify_slice_of_same(MlirOperation op, MlirOperation unused) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  intptr_t rank = simplify_read_slice(op, starts, steps);
  for (intptr_t i = 0; i < rank; i++)
    if (starts[i] != 0 || steps[i] != 1) return false;
  return rank >= 0 && simplify_same_type(op) && simplify_replace(op, loom_operand(op, 0));
}

bool simplify_pad_of_nothing(MlirOperation op, MlirOperation unused) {
  int64_t low[LOOM_MAX_RANK], high[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(op, "low", low, LOOM_MAX_RANK);
  if (rank < 0 || loom_get_i64s(op, "high", high, LOOM_MAX_RANK) != rank) return false;
  for (intptr_t i = 0; i < rank; i++)
    if (low[i] || high[i]) return false;
  return simplify_same_type(op) && simplify_replace(op, loom_operand(op, 0));
}

bool simplify_slice_of_slice(MlirOperation op, MlirOperation inner) {
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK], a[LOOM_MAX_RANK], b[LOOM_MAX_RANK];
  intptr_t rank = simplify_read_slice(op, starts, steps);
  if (rank < 0 || loom_get_i64s(inner, "starts", a, LOOM_MAX_RANK) != rank ||
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
  MlirValue region = loom_info(op)->updates ? loom_operand(op, 1) : loom_result(op, 0);
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

bool simplify_slice_of_update(MlirOperation op, MlirOperation update) {
  simplify_window outer, inner;
  if (!simplify_used_once(loom_operand(op, 0)) || !simplify_read_window(op, &outer) ||
      !simplify_read_window(update, &inner) || !simplify_same_window(&outer, &inner) ||
      !simplify_may_drop(loom_operand(update, 0)))
    return false;
  return simplify_replace(op, loom_operand(update, 1));
}

bool simplify_update_of_all(MlirOperation op, MlirOperation unused) {
  simplify_window region;
  loom_type type;
  if (!simplify_read_window(op, &region) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type))
    return false;
  bool whole = loom_type_equal(&type, &region.region);
  for (intptr_t i = 0; i < region.rank; i++)
    whole &= region.starts[i] == 0 && (region.steps[i] == 1 || type.dims[i] == 1);
  return whole && simplify_may_drop(loom_operand(op, 0)) &&
         simplify_replace(op, loom_operand(op, 1));
}

bool simplify_update_by_slice(MlirOperation op, MlirOperation slice) {
  simplify_window region, other;
  return mlirValueEqual(loom_operand(slice, 0), loom_operand(op, 0)) &&
         simplify_read_window(op, &region) && simplify_read_window(slice, &other) &&
         simplify_same_window(&region, &other) && simplify_replace(op, loom_operand(op, 0));
}

bool simplify_update_of_update(MlirOperation op, MlirOperation under) {
  simplify_window region, other;
  if (!simplify_used_once(loom_operand(op, 0)) || !simplify_read_window(op, &region) ||
      !simplify_read_window(under, &other) || !simplify_same_window(&region, &other) ||
      !simplify_may_drop(loom_operand(under, 1)))
    return false;
  mlirOperationSetOperand(op, 0, loom_operand(under, 0));
  return false;
}

bool simplify_update_of_view(MlirOperation op, MlirOperation update) {
  MlirOperation slice = loom_def(loom_operand(update, 0));
  simplify_window outer, inner, view;
  if (!slice.ptr || !loom_is(slice, LOOM_OP_SLICE) ||
      !mlirValueEqual(loom_operand(slice, 0), loom_operand(op, 0)) ||
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

bool simplify_broadcast_of_same(MlirOperation op, MlirOperation unused) {
  return simplify_same_type(op) && simplify_replace(op, loom_operand(op, 0));
}

/* The broadcast of what is under `inner`, whose dimension i is dimension where[i] of `inner`. */
static bool simplify_broadcast_below(MlirOperation op, MlirOperation inner, intptr_t rank,
                                     const int64_t *where) {
  int64_t outer[LOOM_MAX_RANK], dims[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "dims", outer, LOOM_MAX_RANK);
  if (count < 0 || count > LOOM_MAX_RANK) return false;
  for (intptr_t i = 0; i < rank; i++) {
    if (where[i] >= count) return false;
    dims[i] = outer[where[i]];
  }
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, loom_operand(inner, 0),
                                                  mlirValueGetType(loom_result(op, 0)), "dims",
                                                  rank < 0 ? 0 : rank, dims));
}

bool simplify_broadcast_of_broadcast(MlirOperation op, MlirOperation inner) {
  int64_t dims[LOOM_MAX_RANK];
  intptr_t rank = loom_get_i64s(inner, "dims", dims, LOOM_MAX_RANK);
  return simplify_broadcast_below(op, inner, rank, dims);
}

bool simplify_broadcast_of_reshape(MlirOperation op, MlirOperation inner) {
  int64_t where[LOOM_MAX_RANK];
  loom_type in, out;
  return simplify_types(inner, &in, &out) && simplify_static(&in) &&
         simplify_unit_map(&in, &out, where) && simplify_broadcast_below(op, inner, in.rank, where);
}
