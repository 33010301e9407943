/* Vectorisation of ops: the new axis is the first one of every batch. */
#include "graph/batch.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <string.h>

/* ---- attributes ---- */

/* A list with `front` before numbers that grow by `more`. */
static loom_attr rule_list(const loom_batch_step *s, int attr, int64_t front, int64_t more) {
  loom_attr list = s->node.attrs[attr];
  int64_t *ints = loom_arena_alloc(&s->b->graph->arena, ((size_t)list.count + 1) * sizeof *ints);
  if (!ints) return loom_emit_fail(s->b, "out of memory"), list;
  ints[0] = front;
  for (int32_t i = 0; i < list.count; i++)
    ints[i + 1] = list.ints[i] + more; /* numbers that may be symbolic stay: more is 0 */
  list.ints = ints;
  list.count++;
  return list;
}

/* A list of axes, each one further back. */
static loom_attr rule_axes(const loom_batch_step *s, int attr) {
  loom_attr list = rule_list(s, attr, 0, 1);
  list.ints++;
  list.count--;
  return list;
}

static loom_attr rule_axis(const loom_batch_step *s, int attr) {
  loom_attr axis = s->node.attrs[attr];
  axis.i++;
  return axis;
}

/* ---- the op itself, with more in its operands and attributes ---- */

/* The op with other operands; its types are those of batches where it declares them. */
static loom_value rule_emit(const loom_batch_step *s, const loom_value *operands,
                            const loom_attr *attrs) {
  const loom_node *node = &s->node;
  bool declares = loom_op_declares_type(node->op);
  loom_type type;
  if (declares &&
      !loom_batch_wider(s->walk, &s->walk->from->values[node->first_result].type, &type))
    return LOOM_NO_VALUE;
  return loom_emit(s->b, node->op, operands, node->operand_count, attrs,
                   loom_op_attr_count(node->op), declares ? &type : NULL, declares);
}

/* The same with batches of all operands. */
static loom_value rule_all(const loom_batch_step *s, const loom_attr *attrs) {
  uint32_t count = s->node.operand_count;
  loom_value *operands = loom_arena_alloc(&s->b->graph->arena, (count + 1) * sizeof *operands);
  if (!operands) return loom_emit_fail(s->b, "out of memory");
  for (uint32_t i = 0; i < count; i++)
    operands[i] = loom_batch_of(s, i);
  return rule_emit(s, operands, attrs);
}

/* Dimension `from` becomes dimension `to`, the others stay in order. */
static loom_value rule_move(const loom_batch_step *s, loom_value v, int from, int to) {
  int rank = loom_emit_type(s->b, v)->rank;
  int64_t perm[LOOM_MAX_RANK];
  int at = 0;
  for (int i = 0; i < rank; i++) {
    if (at == from) at++;
    perm[i] = i == to ? from : at++;
  }
  return v == LOOM_NO_VALUE || from == to ? v : loom_emit_transpose(s->b, v, perm);
}

/* The first two dimensions as one. */
static loom_value rule_merge(const loom_batch_step *s, loom_value v) {
  const loom_type type = *loom_emit_type(s->b, v);
  loom_dim dims[LOOM_MAX_RANK];
  if (v == LOOM_NO_VALUE) return v;
  if (!loom_dim_combine(s->b->graph, LOOM_EXPR_MUL, type.dims[0], type.dims[1], &dims[0]))
    return loom_emit_fail(s->b, "a size cannot be expressed");
  for (int i = 2; i < type.rank; i++)
    dims[i - 1] = type.dims[i];
  return loom_emit_reshape(s->b, v, type.rank - 1, dims);
}

/* The first dimension as two, of which the first is that of the batch. */
static loom_value rule_divide(const loom_batch_step *s, loom_value v, loom_dim second) {
  const loom_type type = *loom_emit_type(s->b, v);
  loom_dim dims[LOOM_MAX_RANK] = {s->walk->ask->size, second};
  if (v == LOOM_NO_VALUE) return v;
  for (int i = 1; i < type.rank; i++)
    dims[i + 1] = type.dims[i];
  return loom_emit_reshape(s->b, v, type.rank + 1, dims);
}

/* ---- views ---- */

static loom_value rule_slice(const loom_batch_step *s) {
  loom_dim size = s->walk->ask->size;
  const loom_attr attrs[3] = {rule_list(s, 0, 0, 0),
                              rule_list(s, 1, LOOM_DIM_IS_SYM(size) ? -1 : size, 0),
                              rule_list(s, 2, 1, 0)};
  return rule_all(s, attrs);
}

static loom_value rule_windows(const loom_batch_step *s) {
  const loom_attr attrs[3] = {rule_list(s, 0, 1, 0), rule_list(s, 1, 1, 0), rule_list(s, 2, 1, 0)};
  loom_value v = rule_all(s, attrs); /* the window of the new axis has one element */
  loom_type type;
  if (!loom_batch_wider(s->walk, &s->walk->from->values[s->node.first_result].type, &type))
    return LOOM_NO_VALUE;
  return loom_emit_reshape(s->b, v, type.rank, type.dims);
}

static loom_value rule_size(const loom_batch_step *s) {
  const loom_attr axis = rule_axis(s, 0);
  loom_value v = loom_batch_of(s, 0);
  v = loom_emit(s->b, LOOM_OP_SIZE, &v, 1, &axis, 1, NULL, 0);
  return loom_batch_share(s->walk, v);
}

static loom_value rule_view(const loom_batch_step *s) {
  switch (s->node.op) {
  case LOOM_OP_BROADCAST: return rule_all(s, (loom_attr[]){rule_list(s, 0, 0, 1)});
  case LOOM_OP_TRANSPOSE: return rule_all(s, (loom_attr[]){rule_list(s, 0, 0, 1)});
  case LOOM_OP_RESHAPE:
  case LOOM_OP_ASSUME_SHAPE: return rule_all(s, NULL);
  case LOOM_OP_SLICE: return rule_slice(s);
  case LOOM_OP_WINDOWS: return rule_windows(s);
  case LOOM_OP_SIZE: return rule_size(s);
  default: return LOOM_NO_VALUE;
  }
}

/* ---- moves ---- */

static loom_value rule_pad(const loom_batch_step *s) {
  const loom_attr attrs[2] = {rule_list(s, 0, 0, 0), rule_list(s, 1, 0, 0)};
  loom_type type, flags;
  if (!loom_batch_is(s, 1))
    return rule_emit(s, (loom_value[]){loom_batch_of(s, 0), loom_batch_plain(s, 1)}, attrs);
  /* Each example is padded with another value: that is chosen where the padding is. */
  loom_value inside = loom_batch_of(s, 0);
  loom_value padded = loom_emit_pad_zeros(s->b, inside, attrs[0].ints, attrs[1].ints);
  type = flags = *loom_emit_type(s->b, padded);
  loom_type ones = *loom_emit_type(s->b, inside);
  ones.dtype = LOOM_BOOL;
  loom_value is =
      loom_emit_pad_zeros(s->b, loom_emit_int(s->b, &ones, 1), attrs[0].ints, attrs[1].ints);
  loom_value around =
      loom_emit_broadcast(s->b, loom_batch_of(s, 1), type.rank, type.dims, (int64_t[]){0});
  return loom_emit_select(s->b, is, padded, around);
}

/* Indices of slices of the examples one behind the other: those of example e are e * n further on.
 * An index outside of its example is an error before that. */
static loom_value rule_flat_indices(const loom_batch_step *s, loom_value indices, loom_dim n,
                                    const char *mode) {
  loom_emitter *b = s->b;
  const loom_type type = *loom_emit_type(b, indices);
  loom_type whole = {.dtype = LOOM_I64, .rank = type.rank};
  memcpy(whole.dims, type.dims, sizeof whole.dims);
  const loom_type line = loom_type_make(LOOM_I64, 1, &n);
  const loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64}, {.kind = LOOM_ATTR_STR, .str = mode}};
  loom_value at = loom_emit(b, LOOM_OP_GATHER, (loom_value[]){loom_emit_iota(b, &line, 0), indices},
                            2, attrs, 2, NULL, 0);
  loom_value example = loom_emit_iota(b, &whole, 0), size;
  if (LOOM_DIM_IS_SYM(n)) {
    const loom_attr axis = {.kind = LOOM_ATTR_I64};
    loom_value of = loom_emit_iota(b, &line, 0);
    size = loom_emit(b, LOOM_OP_SIZE, &of, 1, &axis, 1, NULL, 0);
    size = loom_emit_broadcast_to(b, size, whole.rank, whole.dims);
  } else
    size = loom_emit_int(b, &whole, n);
  return loom_emit2(b, LOOM_OP_ADD, at, loom_emit2(b, LOOM_OP_MUL, example, size));
}

static loom_value rule_gather(const loom_batch_step *s) {
  int axis = (int)s->node.attrs[0].i, depth = loom_batch_type(s, 1)->rank;
  const loom_dim n = loom_batch_type(s, 0)->dims[axis];
  if (!loom_batch_is(s, 1)) { /* the same slices of all examples */
    const loom_attr attrs[2] = {rule_axis(s, 0), s->node.attrs[1]};
    return rule_emit(s, (loom_value[]){loom_batch_of(s, 0), loom_batch_plain(s, 1)}, attrs);
  }
  if (!loom_batch_is(s, 0)) { /* the batch comes with the dimensions of the indices */
    loom_value v =
        rule_emit(s, (loom_value[]){loom_batch_plain(s, 0), loom_batch_of(s, 1)}, s->node.attrs);
    return rule_move(s, v, axis, 0);
  }
  loom_value of = rule_merge(s, rule_move(s, loom_batch_of(s, 0), axis + 1, 1));
  loom_value at = rule_flat_indices(s, loom_batch_of(s, 1), n, s->node.attrs[1].str);
  const loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64}, {.kind = LOOM_ATTR_STR, .str = "raise"}};
  loom_value v = rule_emit(s, (loom_value[]){of, at}, attrs);
  for (int i = 0; i < axis; i++) /* what came before the axis goes back there */
    v = rule_move(s, v, 1 + depth + i, 1 + i);
  return v;
}

static loom_value rule_scatter(const loom_batch_step *s) {
  int axis = (int)s->node.attrs[0].i, depth = loom_batch_type(s, 1)->rank;
  const loom_type from = *loom_batch_type(s, 0);
  loom_value operands[3] = {loom_batch_of(s, 0), loom_batch_plain(s, 1), loom_batch_of(s, 2)};
  const loom_attr attrs[2] = {rule_axis(s, 0), s->node.attrs[1]};
  bool along = loom_scatter_is_along(&from, loom_batch_type(s, 1), loom_batch_type(s, 2));
  if (along) operands[1] = loom_batch_of(s, 1);
  if (along || !loom_batch_is(s, 1)) return rule_emit(s, operands, attrs);
  operands[0] = rule_merge(s, rule_move(s, operands[0], axis + 1, 1));
  operands[1] = rule_flat_indices(s, loom_batch_of(s, 1), from.dims[axis], "raise");
  for (int i = 0; i < depth; i++) /* the dimensions of the indices come first */
    operands[2] = rule_move(s, operands[2], 1 + axis + i, 1 + i);
  const loom_attr first[2] = {{.kind = LOOM_ATTR_I64}, s->node.attrs[1]};
  loom_value v = rule_divide(s, rule_emit(s, operands, first), from.dims[axis]);
  return rule_move(s, v, 1, axis + 1);
}

static loom_value rule_update(const loom_batch_step *s) {
  return rule_all(s, (loom_attr[]){rule_list(s, 0, 0, 0), rule_list(s, 1, 1, 0)});
}

static loom_value rule_moves(const loom_batch_step *s) {
  switch (s->node.op) {
  case LOOM_OP_UPDATE_SLICE: return rule_update(s);
  case LOOM_OP_CONCATENATE: return rule_all(s, (loom_attr[]){rule_axis(s, 0)});
  case LOOM_OP_PAD: return rule_pad(s);
  case LOOM_OP_GATHER: return rule_gather(s);
  case LOOM_OP_SCATTER: return rule_scatter(s);
  case LOOM_OP_SORT: return rule_all(s, (loom_attr[]){rule_axis(s, 0), s->node.attrs[1]});
  default: return LOOM_NO_VALUE;
  }
}

/* ---- reductions and products ---- */

/* Two operands with the new axis make it a batch axis of the product, one operand a free one. */
static loom_value rule_dot(const loom_batch_step *s) {
  const loom_node *node = &s->node;
  bool left = loom_batch_is(s, 0), right = loom_batch_is(s, 1);
  loom_value operands[2] = {left ? loom_batch_of(s, 0) : loom_batch_plain(s, 0),
                            right ? loom_batch_of(s, 1) : loom_batch_plain(s, 1)};
  const loom_attr attrs[4] = {left && right ? rule_list(s, 0, 0, 1)
                              : left        ? rule_axes(s, 0)
                                            : node->attrs[0],
                              left && right ? rule_list(s, 1, 0, 1)
                              : right       ? rule_axes(s, 1)
                                            : node->attrs[1],
                              left ? rule_axes(s, 2) : node->attrs[2],
                              right ? rule_axes(s, 3) : node->attrs[3]};
  loom_value v = rule_emit(s, operands, attrs);
  int batch = node->attrs[0].count, contracted = node->attrs[2].count;
  int free = loom_batch_type(s, 0)->rank - batch - contracted;
  return left && right ? v : rule_move(s, v, left ? batch : batch + free, 0);
}

/* The examples follow one another along the axis of the images. */
static loom_value rule_convolution(const loom_batch_step *s) {
  if (loom_batch_is(s, 1)) return LOOM_NO_VALUE;
  loom_dim images = loom_batch_type(s, 0)->dims[0];
  loom_value operands[2] = {rule_merge(s, loom_batch_of(s, 0)), loom_batch_plain(s, 1)};
  return rule_divide(s, rule_emit(s, operands, s->node.attrs), images);
}

static loom_value rule_reduced(const loom_batch_step *s) {
  switch (s->node.op) {
  case LOOM_OP_REDUCE: return rule_all(s, (loom_attr[]){s->node.attrs[0], rule_axes(s, 1)});
  case LOOM_OP_SCAN: return rule_all(s, (loom_attr[]){s->node.attrs[0], rule_axis(s, 1)});
  case LOOM_OP_DOT_GENERAL: return rule_dot(s);
  case LOOM_OP_CONVOLUTION: return rule_convolution(s);
  default: return LOOM_NO_VALUE;
  }
}

/* Attention of the examples one behind the other, where they share the scale. */
static void rule_attention(const loom_batch_step *s, uint32_t scale, loom_value *out) {
  const loom_node *node = &s->node;
  loom_value operands[10];
  if (loom_batch_is(s, scale) || node->operand_count > 10) return;
  for (uint32_t i = 0; i < node->operand_count; i++) {
    const loom_type type = *loom_batch_type(s, i);
    loom_value v = loom_batch_of(s, i);
    bool mask = i > scale && type.dims[0] == 1; /* one for the whole of an example */
    loom_type whole;
    if (mask && loom_batch_wider(s->walk, &type, &whole)) {
      whole.dims[1] = loom_batch_type(s, scale - 1)->dims[0];
      v = loom_emit_broadcast(s->b, v, whole.rank, whole.dims, (int64_t[]){0, 1, 2, 3, 4});
    }
    operands[i] = i == scale ? loom_batch_plain(s, i) : rule_merge(s, v);
  }
  loom_value first = rule_emit(s, operands, node->attrs);
  for (uint32_t i = 0; i < node->result_count && !s->b->failed; i++)
    out[i] = rule_divide(s, first + i, s->walk->from->values[node->first_result + i].type.dims[0]);
}

bool loom_batch_rule(const loom_batch_step *s, loom_value *out) {
  const loom_op_info *info = &loom_op_table[s->node.op];
  if (s->node.op == LOOM_OP_ATTENTION)
    rule_attention(s, 3, out);
  else if (s->node.op == LOOM_OP_ATTENTION_GRADIENT)
    rule_attention(s, 6, out);
  else if (info->fusion == LOOM_CLASS_POINTWISE)
    out[0] = rule_all(s, s->node.attrs);
  else if ((out[0] = rule_view(s)) == LOOM_NO_VALUE && !s->b->failed &&
           (out[0] = rule_moves(s)) == LOOM_NO_VALUE && !s->b->failed)
    out[0] = rule_reduced(s);
  return !s->b->failed;
}
