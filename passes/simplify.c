/* loom-simplify: brings tensor ops to a canonical form that fuses well.
 *
 * before:
 *     %1 = loom.reshape %0 : (tensor<8xf32>) -> tensor<8x1xf32>
 *     %2 = loom.broadcast %1 dims = [0, 1] : (tensor<8x1xf32>) -> tensor<8x4xf32>
 *
 * after:
 *     %2 = loom.broadcast %0 dims = [0] : (tensor<8xf32>) -> tensor<8x4xf32>
 *
 * requires: nothing.
 *
 * keeps: values bit for bit, floating-point exceptions of values that are used.
 *
 * breaks: nothing.
 *
 * Upstream canonicalize and cse run beside it and fold constants. Here:
 *
 * - views: chains compose to one; views of constants are constants; a broadcast reads no dimension
 *   of size 1 that a reshape put there;
 *
 * - reshapes: ones that only add dimensions of size 1 sink below pointwise ops and reductions
 *   towards their users, and ones that only drop such rise above pointwise ops, so that what
 * belongs together works at one rank, the smaller one; all others rise above pointwise ops towards
 *   operands, where they become strides;
 *
 * - updates: writing through a slice is one update of the array under it; what was just written is
 *   read from where it came;
 *
 * - what has no elements, and sums of none, are constants;
 *
 * - arithmetic: copies go, exact chains of conversions become one, x ** 2 is x * x and x ** 1 is x,
 *   division by a power of two is a product.
 *
 * Each rewrite removes an op, moves a reshape in one direction only, or replaces an op by a cheaper
 * one: it ends.
 *
 * An op that nobody reads is dead even if it could have raised a floating-point exception: where
 * the exception matters the value is an output of the graph (loom_graph_keep_raising).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "graph/ops.h"
#include "passes/passes.h"

static bool simplify_replace(MlirOperation op, MlirValue value) {
  mlirValueReplaceAllUsesOfWith(loom_result(op, 0), value);
  mlirOperationDestroy(op);
  return true;
}

static bool simplify_types(MlirOperation op, loom_type *in, loom_type *out) {
  return loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), in) &&
         loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), out);
}

static bool simplify_static(const loom_type *type) { return loom_type_elements(type) >= 0; }

static bool simplify_same_type(MlirOperation op) {
  return mlirTypeEqual(mlirValueGetType(loom_operand(op, 0)), mlirValueGetType(loom_result(op, 0)));
}

static MlirOperation simplify_def_is(MlirValue value, loom_opcode code) {
  MlirOperation def = loom_def(value);
  return def.ptr && loom_is(def, code) ? def : (MlirOperation){NULL};
}

static bool simplify_used_once(MlirValue value) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  return !mlirOpOperandIsNull(use) && mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
}

/* ---- what has no elements, or is summed of none ---- */

/* A constant of `cell` in place of the op. */
static bool simplify_to_constant(MlirOperation op, const loom_type *type, loom_cell cell) {
  loom_builder b = loom_builder_before(op);
  MlirType result = mlirValueGetType(loom_result(op, 0));
  loom_attr scalar;
  loom_cell_to_attr(type->dtype, cell, &scalar);
  loom_named value = {"value", loom_scalar_to_mlir(b.ctx, type->dtype, &scalar)};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &result, 1, &value), 0));
}

/* Nothing has to be computed, and no schedule divides by a size of 0. */
static bool simplify_empty(MlirOperation op) {
  static const struct {
    const char *kind;
    loom_cell cell;
  } sums[] = {{"sum", {0}}, {"or", {0}}, {"prod", {.i = 1, .re = 1}}, {"and", {.i = -1, .re = 1}}};
  loom_opcode code;
  loom_type in, out;
  if (!loom_opcode_of(op, &code) || !loom_op_table[code].pure || !simplify_types(op, &in, &out))
    return false;
  if (loom_type_elements(&out) == 0) return simplify_to_constant(op, &out, (loom_cell){0});
  if (loom_type_elements(&in) != 0) return false;
  if (code == LOOM_OP_DOT_GENERAL) return simplify_to_constant(op, &out, (loom_cell){0});
  for (size_t i = 0; code == LOOM_OP_REDUCE && i < sizeof sums / sizeof *sums; i++)
    if (loom_str_is(loom_get_str(op, "kind"), sums[i].kind))
      return simplify_to_constant(op, &out, loom_cell_round(out.dtype, sums[i].cell));
  return false;
}

/* ---- views ---- */

static MlirValue simplify_build_view(MlirOperation at, loom_opcode code, MlirValue operand,
                                     MlirType type, const char *attr, intptr_t count,
                                     const int64_t *values) {
  loom_builder b = loom_builder_before(at);
  loom_named named = {attr, {NULL}};
  if (attr) named.value = loom_attr_i64s(b.ctx, count, values);
  return loom_result(loom_build_op(&b, code, 1, &operand, 1, &type, attr ? 1 : 0, &named), 0);
}

/* A view of a constant is the constant at the view's type. */
static bool simplify_view_of_constant(MlirOperation op) {
  MlirOperation def = simplify_def_is(loom_operand(op, 0), LOOM_OP_CONSTANT);
  if (!def.ptr) return false;
  loom_builder b = loom_builder_before(op);
  MlirType type = mlirValueGetType(loom_result(op, 0));
  loom_named value = {"value", loom_get_attr(def, "value")};
  return simplify_replace(
      op, loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0));
}

static bool simplify_reshape(MlirOperation op) {
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

static bool simplify_transpose(MlirOperation op) {
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

static bool simplify_slice(MlirOperation op) {
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

/* slice(update_slice(x, u)) of the same region is u, when nobody else wants the updated array: to
 * read it there costs less than to keep u as well. */
static bool simplify_slice_of_update(MlirOperation op) {
  MlirOperation update = simplify_def_is(loom_operand(op, 0), LOOM_OP_UPDATE_SLICE);
  simplify_window outer, inner;
  if (!update.ptr || !simplify_used_once(loom_operand(op, 0)) ||
      !simplify_read_window(op, &outer) || !simplify_read_window(update, &inner) ||
      !simplify_same_window(&outer, &inner) || !simplify_may_drop(loom_operand(update, 0)))
    return false;
  return simplify_replace(op, loom_operand(update, 1));
}

/* An update of everything is the update; of a region by what it holds, the array; of a region that
 * was just updated, one update. */
static bool simplify_update(MlirOperation op) {
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

/* Writing through a view: update(x, update(slice(x, A), u, B), A) is update(x, u, A then B). */
static bool simplify_update_of_view(MlirOperation op) {
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

/* Where the dimensions of `small` are in `large` when a reshape between them only adds dimensions
 * of size 1. Dimensions of size 1 are matched from the left. */
static bool simplify_unit_map(const loom_type *small, const loom_type *large, int64_t *where) {
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

static bool simplify_broadcast(MlirOperation op) {
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

/* ---- reshapes and pointwise ops ---- */

static bool simplify_is_pointwise(MlirOperation op) {
  return loom_class_of(op) == LOOM_CLASS_POINTWISE && mlirOperationGetNumResults(op) == 1 &&
         mlirOperationGetNumOperands(op) <= 3 && mlirOperationGetNumOperands(op) > 0;
}

/* A constant, or a broadcast of a single element: it can be made at any size. */
static bool simplify_is_splat(MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr) return false;
  if (loom_is(def, LOOM_OP_CONSTANT)) return true;
  return loom_is(def, LOOM_OP_BROADCAST) &&
         mlirShapedTypeGetRank(mlirValueGetType(loom_operand(def, 0))) == 0;
}

static MlirType simplify_resized(MlirType like, const loom_type *sizes) {
  loom_type type;
  if (!loom_type_from_mlir(like, &type)) return (MlirType){NULL};
  loom_dtype dtype = type.dtype;
  type = *sizes;
  type.dtype = dtype;
  return loom_type_to_mlir(mlirTypeGetContext(like), &type);
}

/* The value at other sizes of as many elements, by a reshape or made anew when it is a splat. */
static MlirValue simplify_at_sizes(MlirOperation at, MlirValue value, const loom_type *sizes) {
  MlirType type = simplify_resized(mlirValueGetType(value), sizes);
  MlirOperation def = loom_def(value);
  if (!simplify_is_splat(value))
    return simplify_build_view(at, LOOM_OP_RESHAPE, value, type, NULL, 0, NULL);
  if (loom_is(def, LOOM_OP_BROADCAST))
    return simplify_build_view(at, LOOM_OP_BROADCAST, loom_operand(def, 0), type, "dims", 0, NULL);
  loom_builder b = loom_builder_before(at);
  loom_named attr = {"value", loom_get_attr(def, "value")};
  return loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &attr), 0);
}

/* A clone of pointwise `op` on operands of `sizes`, before `at`. */
static MlirValue simplify_clone_at_sizes(MlirOperation at, MlirOperation op,
                                         const loom_type *sizes) {
  MlirValue operands[3];
  loom_named attrs[8];
  intptr_t count = mlirOperationGetNumOperands(op);
  intptr_t attr_count = mlirOperationGetNumAttributes(op);
  for (intptr_t i = 0; i < count; i++)
    operands[i] = simplify_at_sizes(at, loom_operand(op, i), sizes);
  char names[8][32];
  for (intptr_t i = 0; i < attr_count; i++) {
    MlirNamedAttribute named = mlirOperationGetAttribute(op, i);
    MlirStringRef text = mlirIdentifierStr(named.name);
    memcpy(names[i], text.data, text.length);
    names[i][text.length] = 0;
    attrs[i] = (loom_named){names[i], named.attribute};
  }
  loom_builder b = loom_builder_before(at);
  b.loc = mlirOperationGetLocation(op);
  MlirType type = simplify_resized(mlirValueGetType(loom_result(op, 0)), sizes);
  return loom_result(
      loom_build_op(&b, loom_op_of(op), count, operands, 1, &type, attr_count, attrs), 0);
}

static bool simplify_is_plain_op(MlirOperation op) {
  intptr_t count = mlirOperationGetNumAttributes(op);
  if (count > 8) return false;
  for (intptr_t i = 0; i < count; i++)
    if (mlirIdentifierStr(mlirOperationGetAttribute(op, i).name).length > 30) return false;
  return true;
}

/* op(reshape(x), y) -> reshape(op(x, reshape'(y))) when the reshape only adds dimensions of size 1
 * to a computed value. */
static bool simplify_sink_reshape(MlirOperation op) {
  if (!simplify_is_pointwise(op) || !simplify_is_plain_op(op)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirOperation reshape = simplify_def_is(loom_operand(op, i), LOOM_OP_RESHAPE);
    loom_type in, out;
    int64_t where[LOOM_MAX_RANK];
    if (!reshape.ptr || !loom_def(loom_operand(reshape, 0)).ptr ||
        !simplify_types(reshape, &in, &out) || !simplify_static(&in) ||
        !simplify_unit_map(&in, &out, where))
      continue;
    MlirValue small = simplify_clone_at_sizes(op, op, &in);
    return simplify_replace(op, simplify_build_view(op, LOOM_OP_RESHAPE, small,
                                                    mlirValueGetType(loom_result(op, 0)), NULL, 0,
                                                    NULL));
  }
  return false;
}

/* reduce(reshape(x)) -> reshape(reduce(x)) when the reshape only adds dimensions of size 1 to a
 * computed value: so that a sum is taken where what it is the sum of was computed. */
static bool simplify_sink_below_reduce(MlirOperation op) {
  MlirOperation reshape = simplify_def_is(loom_operand(op, 0), LOOM_OP_RESHAPE);
  loom_type in, out;
  int64_t where[LOOM_MAX_RANK], axes[LOOM_MAX_RANK], kept[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "axes", axes, LOOM_MAX_RANK), kept_count = 0;
  if (!reshape.ptr || !loom_def(loom_operand(reshape, 0)).ptr || count < 0 ||
      count > LOOM_MAX_RANK || !simplify_types(reshape, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&in, &out, where))
    return false;
  uint32_t reduced = 0, mapped = 0;
  for (intptr_t a = 0; a < count; a++)
    reduced |= 1u << axes[a];
  loom_type small, result;
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &result)) return false;
  small = (loom_type){.dtype = result.dtype};
  for (int i = 0; i < in.rank; i++) {
    mapped |= 1u << where[i];
    if (reduced >> where[i] & 1)
      kept[kept_count++] = i;
    else
      small.dims[small.rank++] = in.dims[i];
  }
  bool unit = (reduced & ~mapped) != 0; /* an index along such an axis would be lost */
  MlirStringRef kind = loom_get_str(op, "kind");
  if (!kept_count || (unit && (loom_str_is(kind, "argmin") || loom_str_is(kind, "argmax"))))
    return false;
  loom_builder b = loom_builder_before(op);
  MlirType type = loom_type_to_mlir(b.ctx, &small);
  MlirValue operand = loom_operand(reshape, 0);
  loom_named attrs[] = {{"kind", loom_get_attr(op, "kind")},
                        {"axes", loom_attr_i64s(b.ctx, kept_count, kept)}};
  MlirValue made =
      loom_result(loom_build_op(&b, LOOM_OP_REDUCE, 1, &operand, 1, &type, 2, attrs), 0);
  if (small.rank == result.rank) return simplify_replace(op, made);
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_RESHAPE, made,
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

/* reshape(broadcast(x)) -> broadcast(x) when the reshape only drops dimensions of size 1. */
static bool simplify_reshape_of_broadcast(MlirOperation op) {
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_BROADCAST);
  loom_type in, out, from;
  int64_t where[LOOM_MAX_RANK], dims[LOOM_MAX_RANK], kept[LOOM_MAX_RANK];
  if (!inner.ptr || !simplify_types(op, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&out, &in, where) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(inner, 0)), &from))
    return false;
  intptr_t count = loom_get_i64s(inner, "dims", dims, LOOM_MAX_RANK);
  loom_type small = {.dtype = from.dtype};
  if (count != from.rank) return false;
  for (intptr_t d = 0; d < count; d++) /* what is dropped has size 1 in `x` as well */
    for (int i = 0; i < out.rank; i++)
      if (where[i] == dims[d]) {
        kept[small.rank] = i;
        small.dims[small.rank++] = from.dims[d];
      }
  MlirValue value = loom_operand(inner, 0);
  if (small.rank < from.rank)
    value =
        simplify_build_view(op, LOOM_OP_RESHAPE, value,
                            loom_type_to_mlir(mlirOperationGetContext(op), &small), NULL, 0, NULL);
  return simplify_replace(op, simplify_build_view(op, LOOM_OP_BROADCAST, value,
                                                  mlirValueGetType(loom_result(op, 0)), "dims",
                                                  small.rank, kept));
}

static bool simplify_is_unit_only(const loom_type *in, const loom_type *out) {
  int64_t where[LOOM_MAX_RANK];
  return simplify_unit_map(in, out, where) || simplify_unit_map(out, in, where);
}

/* Is a reshape of this value nothing but other strides? What is computed is C-ordered; an argument
 * may not be. */
static bool simplify_reshapes_freely(MlirValue value, const loom_type *out) {
  MlirOperation def = loom_def(value);
  if (def.ptr)
    return simplify_is_splat(value) || loom_class_of(def) != LOOM_CLASS_VIEW ||
           loom_is(def, LOOM_OP_RESHAPE);
  loom_type in;
  int64_t strides[LOOM_MAX_RANK], ignored[LOOM_MAX_RANK];
  MlirOperation function = mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
  if (!function.ptr || !loom_type_from_mlir(mlirValueGetType(value), &in)) return false;
  loom_argument_strides(function, mlirBlockArgumentGetArgNumber(value), &in, strides);
  return loom_reshape_strides(&in, strides, out, ignored);
}

static bool simplify_is_returned(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (loom_is_named(mlirOpOperandGetOwner(use), "func.return")) return true;
  return false;
}

/* reshape(op(x, y)) -> op(reshape(x), reshape(y)) when nobody else reads the op and the operands'
 * reshapes are free. A returned reshape is its operand's buffer as it is. */
static bool simplify_raise_reshape(MlirOperation op) {
  MlirOperation def = loom_def(loom_operand(op, 0));
  loom_type in, out;
  if (!def.ptr || !simplify_is_pointwise(def) || !simplify_is_plain_op(def) ||
      !simplify_used_once(loom_operand(op, 0)) || !simplify_types(op, &in, &out) ||
      !simplify_static(&in) || !simplify_static(&out) || simplify_is_unit_only(&in, &out))
    return false;
  if (simplify_is_returned(loom_result(op, 0))) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(def); i++)
    if (!simplify_reshapes_freely(loom_operand(def, i), &out)) return false;
  MlirValue made = simplify_clone_at_sizes(op, def, &out);
  simplify_replace(op, made);
  mlirOperationDestroy(def);
  return true;
}

/* Do all readers reshape the value to the type of `op`, one of them? */
static bool simplify_only_reshaped(MlirOperation op) {
  MlirType type = mlirValueGetType(loom_result(op, 0));
  for (MlirOpOperand use = mlirValueGetFirstUse(loom_operand(op, 0)); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (!loom_is(user, LOOM_OP_RESHAPE) ||
        !mlirTypeEqual(mlirValueGetType(loom_result(user, 0)), type))
      return false;
  }
  return true;
}

/* reshape(op(x, y)) -> op(reshape(x), reshape(y)) when it only drops dimensions of size 1 and
 * nobody reads them: for all such readers at once. */
static bool simplify_raise_drop(MlirOperation op) {
  MlirOperation def = loom_def(loom_operand(op, 0));
  loom_type in, out;
  int64_t where[LOOM_MAX_RANK];
  if (!def.ptr || !simplify_is_pointwise(def) || !simplify_is_plain_op(def) ||
      !simplify_types(op, &in, &out) || !simplify_static(&in) ||
      !simplify_unit_map(&out, &in, where) || !simplify_only_reshaped(op))
    return false;
  MlirValue made = simplify_clone_at_sizes(def, def, &out);
  for (MlirOpOperand use = mlirValueGetFirstUse(loom_operand(op, 0)); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    mlirValueReplaceAllUsesOfWith(loom_result(mlirOpOperandGetOwner(use), 0), made);
  return simplify_replace(op, made);
}

/* ---- arithmetic ---- */

/* Does every value of `from` have the same value in `to`? */
static bool simplify_is_exact(loom_dtype from, loom_dtype to) {
  int bits = (int)loom_dtype_size(from) * 8, room = (int)loom_dtype_size(to) * 8;
  if (from == LOOM_BOOL) return loom_dtype_is_integer(to) || loom_dtype_is_float(to);
  if (loom_dtype_is_signed(from) && loom_dtype_is_signed(to)) return bits <= room;
  if (loom_dtype_is_unsigned(from) && loom_dtype_is_unsigned(to)) return bits <= room;
  if (loom_dtype_is_unsigned(from) && loom_dtype_is_signed(to)) return bits < room;
  if (loom_dtype_is_integer(from) && to == LOOM_F64) return bits <= 32;
  if (loom_dtype_is_integer(from) && to == LOOM_F32) return bits <= 16;
  if (from == LOOM_F32) return to == LOOM_F64;
  if (from == LOOM_F16 || from == LOOM_BF16) return to == LOOM_F32 || to == LOOM_F64;
  return false;
}

static bool simplify_convert(MlirOperation op) {
  if (simplify_same_type(op)) return simplify_replace(op, loom_operand(op, 0));
  MlirOperation inner = simplify_def_is(loom_operand(op, 0), LOOM_OP_CONVERT);
  loom_type first, middle, last;
  if (!inner.ptr || !simplify_types(inner, &first, &middle) || !simplify_types(op, &middle, &last))
    return false;
  if (!simplify_is_exact(first.dtype, middle.dtype)) return false;
  /* int to float to int saturates or wraps differently from int to int, and bool asks for exactness
   * only. */
  bool through_float = loom_dtype_is_float(middle.dtype) && !loom_dtype_is_float(first.dtype);
  if (through_float && !loom_dtype_is_float(last.dtype) && last.dtype != LOOM_BOOL &&
      !simplify_is_exact(first.dtype, last.dtype))
    return false;
  return simplify_replace(op,
                          simplify_build_view(op, LOOM_OP_CONVERT, loom_operand(inner, 0),
                                              mlirValueGetType(loom_result(op, 0)), NULL, 0, NULL));
}

/* The value that fills operand `i` when it is a constant (or a broadcast of one). */
static bool simplify_constant(MlirOperation op, intptr_t i, double *out) {
  MlirOperation def = simplify_def_is(loom_operand(op, i), LOOM_OP_CONSTANT);
  if (!def.ptr) return false;
  MlirAttribute value = loom_get_attr(def, "value");
  if (value.ptr && mlirAttributeIsAFloat(value)) {
    *out = mlirFloatAttrGetValueDouble(value);
    return true;
  }
  if (!value.ptr || !mlirAttributeIsAInteger(value)) return false;
  MlirType type = mlirAttributeGetType(value);
  if (!mlirTypeIsAInteger(type)) return false;
  int64_t integer = mlirIntegerTypeIsUnsigned(type) ? (int64_t)mlirIntegerAttrGetValueUInt(value)
                    : mlirIntegerTypeIsSigned(type) ? mlirIntegerAttrGetValueSInt(value)
                                                    : mlirIntegerAttrGetValueInt(value);
  *out = (double)integer;
  return fabs(*out) < 0x1p53;
}

static bool simplify_pow(MlirOperation op) {
  double exponent;
  if (!simplify_constant(op, 1, &exponent)) return false;
  if (exponent == 1) return simplify_replace(op, loom_operand(op, 0));
  if (exponent != 2) return false;
  loom_builder b = loom_builder_before(op);
  MlirValue x = loom_operand(op, 0);
  return simplify_replace(op, loom_build_op2(&b, LOOM_OP_MUL, x, x, mlirValueGetType(x)));
}

/* x / 2^n -> x * 2^-n: both are exact or round the same real number once. */
static bool simplify_div(MlirOperation op) {
  double divisor;
  loom_type type, out;
  if (!simplify_constant(op, 1, &divisor) || !simplify_types(op, &type, &out)) return false;
  int exponent, limit = type.dtype == LOOM_F64 ? 1000 : type.dtype == LOOM_F32 ? 120 : 0;
  if (fabs(frexp(divisor, &exponent)) != 0.5 || exponent > limit || exponent < -limit || !limit)
    return false;
  if (divisor == 1) return simplify_replace(op, loom_operand(op, 0));
  loom_builder b = loom_builder_before(op);
  MlirType result = mlirValueGetType(loom_result(op, 0));
  loom_named value = {
      "value", mlirFloatAttrDoubleGet(b.ctx, mlirShapedTypeGetElementType(result), 1 / divisor)};
  MlirValue factor =
      loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &result, 1, &value), 0);
  return simplify_replace(op, loom_build_op2(&b, LOOM_OP_MUL, loom_operand(op, 0), factor, result));
}

/* ---- the pass ---- */

static const struct {
  loom_opcode code;
  bool (*rule)(MlirOperation op); /* true: the op was replaced and is gone */
} simplify_rules[] = {
    {LOOM_OP_RESHAPE, simplify_view_of_constant},
    {LOOM_OP_RESHAPE, simplify_reshape},
    {LOOM_OP_RESHAPE, simplify_raise_reshape},
    {LOOM_OP_RESHAPE, simplify_reshape_of_broadcast},
    {LOOM_OP_RESHAPE, simplify_raise_drop},
    {LOOM_OP_REDUCE, simplify_sink_below_reduce},
    {LOOM_OP_TRANSPOSE, simplify_view_of_constant},
    {LOOM_OP_TRANSPOSE, simplify_transpose},
    {LOOM_OP_SLICE, simplify_view_of_constant},
    {LOOM_OP_SLICE, simplify_slice},
    {LOOM_OP_SLICE, simplify_slice_of_update},
    {LOOM_OP_UPDATE_SLICE, simplify_update},
    {LOOM_OP_UPDATE_SLICE, simplify_update_of_view},
    {LOOM_OP_BROADCAST, simplify_view_of_constant},
    {LOOM_OP_BROADCAST, simplify_broadcast},
    {LOOM_OP_CONVERT, simplify_convert},
    {LOOM_OP_POW, simplify_pow},
    {LOOM_OP_DIV, simplify_div},
};

static bool simplify_op(MlirOperation op) {
  if (mlirOperationGetNumResults(op) != 1 || mlirOperationGetNumOperands(op) < 1) return false;
  loom_opcode code = loom_op_of(op);
  if (code == LOOM_OP_COPY) return simplify_replace(op, loom_operand(op, 0));
  if (simplify_empty(op)) return true;
  for (size_t i = 0; i < sizeof simplify_rules / sizeof *simplify_rules; i++)
    if (simplify_rules[i].code == code && simplify_rules[i].rule(op)) return true;
  return simplify_sink_reshape(op);
}

static bool simplify_block(MlirBlock block) {
  bool changed = false;
  for (MlirOperation op = mlirBlockGetFirstOperation(block), next; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    bool replaced = simplify_op(op);
    if (replaced) loom_count(0, 1);
    changed |= replaced;
  }
  return changed;
}

static bool simplify_run(MlirOperation function) {
  const int limit = 32; /* rounds: chains of views are composed pair by pair */
  MlirRegion region = mlirOperationGetRegion(function, 0);
  for (MlirBlock block = mlirRegionGetFirstBlock(region); !mlirBlockIsNull(block);
       block = mlirBlockGetNextInRegion(block)) {
    for (int round = 0; round < limit && simplify_block(block); round++)
      loom_sweep(block);
    loom_sweep(block);
  }
  return true;
}

MlirPass loom_make_simplify_pass(void) {
  static const loom_pass_spec spec = {.name = "LoomSimplify",
                                      .flag = "loom-simplify",
                                      .summary =
                                          "Bring tensor ops to a canonical form that fuses well",
                                      .root = "func.func",
                                      .run = simplify_run,
                                      .counters = {{"replaced", "operations that were replaced"}}};
  return loom_pass_of(&spec);
}
