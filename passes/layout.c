/* loom-layout: in which order the dimensions of what lies between kernels are in memory.
 *
 * before:
 *     func.func @main(%x: tensor<2x64x8x8xf32> {loom.strides = array<i64: 4096, 1, 512, 64>})
 *       %0 = loom.fusion(%x) {... loom.pad ...} : tensor<2x64x9x9xf32>
 *       %1 = loom.fusion(%0) {... maxima of windows ...} : tensor<2x64x4x4xf32>
 *
 * after:
 *       %0 = loom.fusion(%x) {...} {loom.orders = [array<i64: 0, 2, 3, 1>]}
 *
 * requires: loom-fuse; before loom-outline, which gives kernels the strides.
 *
 * keeps: values, and the layout of arguments and results.
 *
 * breaks: nothing.
 *
 * A kernel is fast where the innermost dimension of what it writes is that of what it reads: its
 * lanes run along both. What it reads has an order: an argument by its strides, a result of the
 * function by those that the caller asks for, and what another group made by what was decided here.
 * Through a group's body this order is followed from the operands to the results: views carry it as
 * strides, other ops keep it dimension by dimension, and where two orders meet, the one counts that
 * more elements have. So an image whose channels are neighbours is pooled, resampled and added up
 * channel by channel, and an array in Fortran's order stays in that order.
 *
 * A value keeps C order where one of its readers needs it: host calls, loops and reshapes between
 * kernels; products, sorts and scatters, whose kernels are divided for it; convolutions, unless
 * channels are neighbours, for which they have forms; updates in place; and reshapes within a group
 * that would need index arithmetic. An order whose innermost dimension is
 * short is not taken either.
 *
 * It ends: each group is looked at once, in the program's order.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_reductions.h"
#include "passes/passes.h"

#define LAYOUT_LANES 8     /* elements of the innermost dimension, at least */
#define LAYOUT_CHANNELS 16 /* of a depthwise convolution with lanes of channels, at least */
#define LAYOUT_WINDOW 4    /* places of its windows, at least */

typedef struct layout_order { /* of a value's dimensions, the outermost first */
  int64_t dims[LOOM_MAX_RANK];
  int rank;       /* -1: none is known */
  int64_t weight; /* elements in memory that have it */
} layout_order;

typedef struct layout_state {
  MlirOperation function;
  MlirContext ctx;
  loom_map index; /* value of the body at hand -> its place in `orders` */
  layout_order *orders;
  uint32_t capacity;
  size_t count;
  bool out_of_memory;
} layout_state;

static const layout_order layout_none = {.rank = -1};

enum { LAYOUT_COUNT_VALUES };

/* ---- orders ---- */

/* The order that strides give. A dimension that has no place of its own (one element, or all
 * elements the same) comes behind the dimension before it. */
static layout_order layout_of_strides(const loom_type *type, const int64_t *strides,
                                      int64_t weight) {
  layout_order out = {.rank = 0, .weight = weight};
  int64_t steps[LOOM_MAX_RANK];
  for (int d = 0; d < type->rank; d++) {
    steps[d] = type->dims[d] == 1 ? 0 : loom_num_hint(strides[d]);
    if (steps[d] < 0) steps[d] = -steps[d];
    if (!steps[d]) continue;
    int at = out.rank++;
    for (; at > 0 && steps[out.dims[at - 1]] < steps[d]; at--)
      out.dims[at] = out.dims[at - 1];
    out.dims[at] = d;
  }
  for (int d = 0; d < type->rank; d++) {
    if (steps[d]) continue;
    int at = 0;
    while (d > 0 && out.dims[at] != d - 1)
      at++;
    at += d > 0;
    memmove(&out.dims[at + 1], &out.dims[at], sizeof *out.dims * (size_t)(out.rank - at));
    out.dims[at] = d;
    out.rank++;
  }
  return out;
}

static bool layout_is_plain(const layout_order *order) {
  for (int i = 0; i < order->rank; i++)
    if (order->dims[i] != i) return false;
  return true;
}

/* Where a value of this order lies. */
static bool layout_strides(const loom_type *type, const layout_order *order, int64_t *out) {
  return order->rank == type->rank && loom_order_strides(type, order->dims, out);
}

/* The order without dimension `gone`, or with `more` dimensions behind it. */
static layout_order layout_without(const layout_order *order, int64_t gone) {
  layout_order out = {.rank = 0, .weight = order->weight};
  for (int i = 0; i < order->rank; i++)
    if (order->dims[i] != gone) out.dims[out.rank++] = order->dims[i] - (order->dims[i] > gone);
  return out;
}

static layout_order layout_with(const layout_order *order, int64_t dim, int more) {
  layout_order out = {.rank = 0, .weight = order->weight};
  if (order->rank + more > LOOM_MAX_RANK) return layout_none;
  for (int i = 0; i < order->rank; i++) {
    out.dims[out.rank++] = order->dims[i] + (order->dims[i] > dim ? more : 0);
    for (int k = 1; order->dims[i] == dim && k <= more; k++)
      out.dims[out.rank++] = dim + k;
  }
  return out;
}

/* ---- through a body ---- */

static layout_order layout_get(const layout_state *s, MlirValue value) {
  int64_t at = loom_map_get(&s->index, value.ptr, -1);
  return at < 0 ? layout_none : s->orders[at];
}

static void layout_put(layout_state *s, MlirValue value, layout_order order) {
  if (order.rank < 0) return;
  if (!loom_grow(&s->orders, s->count, &s->capacity, sizeof *s->orders) ||
      !loom_map_put(&s->index, value.ptr, (int64_t)s->count)) {
    s->out_of_memory = true;
    return;
  }
  s->orders[s->count++] = order;
}

/* The order of most elements among an op's operands of this rank (-1: any). */
static layout_order layout_heaviest(const layout_state *s, MlirOperation op, int rank) {
  layout_order best = layout_none;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    layout_order order = layout_get(s, loom_operand(op, i));
    if (order.rank < 0 || (rank >= 0 && order.rank != rank)) continue;
    if (best.rank < 0 || order.weight > best.weight) best = order;
  }
  return best;
}

static layout_order layout_through_view(const layout_state *s, MlirOperation op) {
  layout_order order = layout_get(s, loom_operand(op, 0));
  loom_layout in = {0}, out;
  if (order.rank < 0 || !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &in.type) ||
      !layout_strides(&in.type, &order, in.strides) || !loom_layout_view(op, &in, &out))
    return layout_none;
  return layout_of_strides(&out.type, out.strides, order.weight);
}

static layout_order layout_through_move(const layout_state *s, MlirOperation op, int rank) {
  layout_order order = layout_heaviest(s, op, rank), first = layout_get(s, loom_operand(op, 0));
  int64_t axis = loom_get_i64(op, "axis", -1);
  if (first.rank < 0 || first.rank == rank || axis < 0) return order;
  /* A gather has the dimensions of its indices in place of one. */
  return first.rank > rank ? layout_without(&first, axis)
                           : layout_with(&first, axis, rank - first.rank);
}

static layout_order layout_through_reduce(const layout_state *s, MlirOperation op) {
  layout_order order = layout_heaviest(s, op, -1);
  int64_t axes[LOOM_MAX_RANK];
  intptr_t count = loom_get_i64s(op, "axes", axes, LOOM_MAX_RANK);
  for (intptr_t i = count - 1; i >= 0 && order.rank > 0; i--)
    order = layout_without(&order, axes[i]);
  return order;
}

/* A convolution of each channel by itself has lanes of channels (conv_lanes.c), one of several has
 * lanes of output channels (conv_outputs.c). */
static bool layout_forward_takes(MlirOperation op) {
  loom_type in, weights, out;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &in) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &weights) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out) ||
      !loom_type_is_static(&weights))
    return false;
  int64_t groups = loom_get_i64(op, "groups", 1);
  if (weights.dims[1] > 1 || weights.dims[0] != in.dims[1])
    return in.rank >= 4 && weights.dims[0] / groups >= LAYOUT_LANES;
  return in.rank == 4 && weights.dims[0] >= LAYOUT_CHANNELS &&
         weights.dims[2] * weights.dims[3] >= LAYOUT_WINDOW && !LOOM_DIM_IS_SYM(in.dims[3]) &&
         !LOOM_DIM_IS_SYM(out.dims[2]) && !LOOM_DIM_IS_SYM(out.dims[3]);
}

/* Is it a convolution, or the gradient of one, that takes channels as neighbours? */
static bool layout_takes_channels(MlirOperation op) {
  switch (loom_op_of(op)) {
  case LOOM_OP_CONVOLUTION:
  case LOOM_OP_CONVOLUTION_INPUT: return layout_forward_takes(op);
  case LOOM_OP_CONVOLUTION_GRADIENT: return true;
  default: return false;
  }
}

static bool layout_has_channels_last(const layout_order *order) {
  return order->rank >= 3 && order->dims[order->rank - 1] == 1;
}

/* Is operand `i` of such an op an image? Others are weights. */
static bool layout_is_image(MlirOperation op, intptr_t i) {
  return i == 0 || loom_op_of(op) == LOOM_OP_CONVOLUTION_GRADIENT;
}

static layout_order layout_through(const layout_state *s, MlirOperation op) {
  loom_type type;
  if (mlirOperationGetNumResults(op) < 1 ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type))
    return layout_none;
  switch (loom_class_of(op)) {
  case LOOM_CLASS_VIEW: return layout_through_view(s, op);
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_SCAN: return layout_heaviest(s, op, type.rank);
  case LOOM_CLASS_MOVE: return layout_through_move(s, op, type.rank);
  case LOOM_CLASS_REDUCE: return layout_through_reduce(s, op);
  case LOOM_CLASS_DOT: {
    layout_order order = layout_get(s, loom_operand(op, 0));
    bool keeps =
        layout_takes_channels(op) && layout_has_channels_last(&order) && !layout_is_image(op, 1);
    return keeps ? order : layout_none;
  }
  default: return layout_none;
  }
}

/* The op that a group's kernel is divided for: a product, or one with a kernel of its own; or null.
 */
static MlirOperation layout_special(MlirBlock body) {
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_class class = loom_class_of(op);
    if (class == LOOM_CLASS_DOT || class == LOOM_CLASS_ALONE) return op;
  }
  return (MlirOperation){NULL};
}

/* ---- what readers take ---- */

/* Can everything that reads a value of a body which lies so read it by strides? */
static bool layout_is_read(MlirValue value, const loom_layout *layout) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    loom_layout out;
    if (loom_class_of(user) != LOOM_CLASS_VIEW) continue;
    if (!loom_layout_view(user, layout, &out) || !layout_is_read(loom_result(user, 0), &out))
      return false;
  }
  return true;
}

static bool layout_group_takes(MlirOperation group, intptr_t operand, const layout_order *order,
                               const loom_layout *layout) {
  MlirBlock body = loom_body(group);
  if (!body.ptr || loom_overwriting(body).ptr) return false;
  MlirOperation special = layout_special(body);
  if (special.ptr && !(layout_takes_channels(special) && layout_has_channels_last(order)))
    return false;
  MlirValue inside = mlirBlockGetArgument(body, operand);
  for (MlirOpOperand use = mlirValueGetFirstUse(inside); special.ptr && !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (mlirOperationEqual(mlirOpOperandGetOwner(use), special) &&
        !layout_is_image(special, mlirOpOperandGetOperandNumber(use)))
      return false; /* its weights */
  return layout_is_read(inside, layout);
}

static bool layout_is_taken(MlirValue value, const layout_order *order) {
  loom_layout layout = {0};
  if (!loom_type_from_mlir(mlirValueGetType(value), &layout.type) ||
      !layout_strides(&layout.type, order, layout.strides))
    return false;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (!layout_group_takes(mlirOpOperandGetOwner(use), mlirOpOperandGetOperandNumber(use), order,
                            &layout))
      return false;
  return true;
}

/* Is there something to be gained by this order? */
static bool layout_is_worth(const loom_type *type, const layout_order *order) {
  if (order->rank != type->rank || order->rank < 2 || layout_is_plain(order)) return false;
  int64_t strides[LOOM_MAX_RANK];
  return loom_num_hint(loom_num_elements(type)) > 0 &&
         loom_num_hint(loom_num_dim(type->dims[order->dims[order->rank - 1]])) >= LAYOUT_LANES &&
         layout_strides(type, order, strides) && !loom_strides_fit_plain(type, strides);
}

/* ---- groups ---- */

static layout_order layout_of_value(const layout_state *s, MlirValue value) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  bool scalar =
      mlirValueIsABlockArgument(value) &&
      loom_argument_has(s->function, mlirBlockArgumentGetArgNumber(value), loom_mark_scalar);
  if (scalar || !loom_type_from_mlir(mlirValueGetType(value), &type) || type.rank < 1 ||
      !loom_type_is_sized(&type))
    return layout_none;
  loom_value_strides(s->function, value, &type, strides);
  return layout_of_strides(&type, strides, loom_num_hint(loom_num_elements(&type)));
}

/* Follows the orders of a group's operands through its body. */
static void layout_follow(layout_state *s, MlirOperation group, MlirBlock body) {
  s->count = 0;
  loom_map_fini(&s->index);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(group); i++)
    layout_put(s, mlirBlockGetArgument(body, i), layout_of_value(s, loom_operand(group, i)));
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    layout_order order = layout_through(s, op);
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
      layout_put(s, loom_result(op, i), order);
  }
}

/* Only an op of groups, not a value that the function returns. */
static bool layout_is_free(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (!loom_body(mlirOpOperandGetOwner(use)).ptr) return false;
  return true;
}

static bool layout_group(MlirOperation group, void *user) {
  layout_state *s = user;
  MlirBlock body = loom_body(group);
  if (!body.ptr || loom_overwriting(body).ptr) return true;
  MlirOperation special = layout_special(body), yield = mlirBlockGetTerminator(body);
  if (special.ptr && !layout_takes_channels(special)) return true;
  layout_follow(s, group, body);
  intptr_t count = mlirOperationGetNumResults(group);
  MlirAttribute *orders = malloc(sizeof *orders * (size_t)(count + 1));
  bool any = false;
  for (intptr_t i = 0; orders && i < count; i++) {
    MlirValue value = loom_result(group, i);
    layout_order order = layout_get(s, loom_operand(yield, i));
    loom_type type;
    bool good = loom_type_from_mlir(mlirValueGetType(value), &type) && loom_type_is_sized(&type) &&
                layout_is_worth(&type, &order) && layout_is_free(value) &&
                layout_is_taken(value, &order);
    orders[i] = loom_attr_i64s(s->ctx, good ? order.rank : 0, order.dims);
    any |= good;
    loom_count(LAYOUT_COUNT_VALUES, good);
    if (good)
      loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(group), "order",
                  "dimension %d of result %d is innermost in memory",
                  (int)order.dims[order.rank - 1], (int)i);
  }
  if (any) loom_set_attr(group, loom_mark_orders, mlirArrayAttrGet(s->ctx, count, orders));
  s->out_of_memory |= !orders;
  free(orders);
  loom_num_take_failure(); /* an order that has no number is not taken */
  return !s->out_of_memory;
}

static bool layout_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  if (mlirBlockIsNull(block) || loom_is_for_gpu(function)) return true;
  layout_state s = {.function = function, .ctx = mlirOperationGetContext(function)};
  loom_walk_block(block, layout_group, &s);
  loom_map_fini(&s.index);
  free(s.orders);
  return !s.out_of_memory || loom_emit_error(mlirOperationGetLocation(function), "out of memory");
}

MlirPass loom_make_layout_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomLayout",
      .flag = "loom-layout",
      .summary = "Choose the order of dimensions of what lies between kernels",
      .root = "builtin.module",
      .each_function = true,
      .run = layout_run,
      .counters = {[LAYOUT_COUNT_VALUES] = {"values", "values in another order than C"}}};
  return loom_pass_of(&spec);
}
