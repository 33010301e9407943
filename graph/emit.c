/* Nodes of a captured graph, made by functions that compose. */
#include "graph/emit.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <stdarg.h>
#include <string.h>

loom_value loom_emit_fail(loom_emitter *b, const char *format, ...) {
  if (b->failed) return LOOM_NO_VALUE;
  va_list args;
  va_start(args, format);
  vsnprintf(b->err.message, sizeof b->err.message, format, args);
  va_end(args);
  b->failed = true;
  return LOOM_NO_VALUE;
}

loom_value loom_emit(loom_emitter *b, loom_opcode op, const loom_value *operands, uint32_t count,
                     const loom_attr *attrs, uint32_t attr_count, const loom_type *types,
                     uint32_t type_count) {
  if (b->failed) return LOOM_NO_VALUE;
  for (uint32_t i = 0; i < count; i++)
    if (operands[i] == LOOM_NO_VALUE) return loom_emit_fail(b, "an operand is missing");
  loom_error err = {0};
  loom_value v = loom_graph_node(b->graph, op, operands, count, attrs, attr_count, types,
                                 type_count, &b->location, &err);
  return v != LOOM_NO_VALUE ? v
                            : loom_emit_fail(b, "loom.%s: %s", loom_op_table[op].name, err.message);
}

loom_value loom_emit1(loom_emitter *b, loom_opcode op, loom_value v) {
  return loom_emit(b, op, &v, 1, NULL, 0, NULL, 0);
}

loom_value loom_emit2(loom_emitter *b, loom_opcode op, loom_value l, loom_value r) {
  return loom_emit(b, op, (loom_value[]){l, r}, 2, NULL, 0, NULL, 0);
}

loom_value loom_emit_compare(loom_emitter *b, const char *direction, loom_value l, loom_value r) {
  loom_attr attr = {.kind = LOOM_ATTR_STR, .str = direction};
  return loom_emit(b, LOOM_OP_COMPARE, (loom_value[]){l, r}, 2, &attr, 1, NULL, 0);
}

loom_value loom_emit_select(loom_emitter *b, loom_value condition, loom_value l, loom_value r) {
  return loom_emit(b, LOOM_OP_SELECT, (loom_value[]){condition, l, r}, 3, NULL, 0, NULL, 0);
}

const loom_type *loom_emit_type(const loom_emitter *b, loom_value v) {
  static const loom_type none = {.dtype = LOOM_BOOL};
  return v == LOOM_NO_VALUE ? &none : loom_graph_type(b->graph, v);
}

loom_type loom_type_make(loom_dtype dtype, int rank, const loom_dim *dims) {
  loom_type type = {.dtype = dtype, .rank = rank};
  for (int i = 0; i < rank; i++)
    type.dims[i] = dims[i];
  return type;
}

/* ---- constants ------------------------------------------------------------------------------ */

static loom_value build_cell(loom_emitter *b, const loom_type *type, loom_cell cell) {
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR};
  loom_cell_to_attr(type->dtype, loom_cell_round(type->dtype, cell), &attr);
  return loom_emit(b, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, type, 1);
}

loom_value loom_emit_float(loom_emitter *b, const loom_type *type, double x) {
  bool real = loom_dtype_is_inexact(type->dtype);
  if (!real) return loom_emit_int(b, type, type->dtype == LOOM_BOOL ? x != 0 : (int64_t)x);
  return build_cell(b, type, (loom_cell){.re = x});
}

loom_value loom_emit_int(loom_emitter *b, const loom_type *type, int64_t x) {
  bool real = loom_dtype_is_inexact(type->dtype);
  if (type->dtype == LOOM_BOOL) x = x != 0;
  return build_cell(b, type, real ? (loom_cell){.re = (double)x} : (loom_cell){.i = x});
}

const loom_attr *loom_emit_constant_of(const loom_emitter *b, loom_value v) {
  int32_t node = b->graph->values[v].node;
  if (node < 0 || b->graph->nodes[node].op != LOOM_OP_CONSTANT) return NULL;
  return &b->graph->nodes[node].attrs[0];
}

/* `op` on one operand with a declared result type; a constant stays a constant. */
static loom_value build_moved(loom_emitter *b, loom_opcode op, loom_value v, const loom_attr *attr,
                              const loom_type *type) {
  const loom_attr *constant = loom_emit_constant_of(b, v);
  if (!constant) return loom_emit(b, op, &v, 1, attr, attr ? 1 : 0, type, 1);
  loom_attr copy = *constant;
  return loom_emit(b, LOOM_OP_CONSTANT, NULL, 0, &copy, 1, type, 1);
}

/* ---- types and shapes ------------------------------------------------------------------------ */

loom_value loom_emit_convert(loom_emitter *b, loom_value v, loom_dtype dtype) {
  if (v == LOOM_NO_VALUE || loom_emit_type(b, v)->dtype == dtype) return v;
  loom_type type = *loom_emit_type(b, v);
  type.dtype = dtype;
  return loom_emit(b, LOOM_OP_CONVERT, &v, 1, NULL, 0, &type, 1);
}

loom_value loom_emit_broadcast(loom_emitter *b, loom_value v, int rank, const loom_dim *dims,
                               const int64_t *map) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type *from = loom_emit_type(b, v);
  loom_type type = loom_type_make(from->dtype, rank, dims);
  if (loom_type_equal(from, &type)) return v;
  loom_attr attr = {.kind = LOOM_ATTR_I64S, .ints = map, .count = from->rank};
  return build_moved(b, LOOM_OP_BROADCAST, v, &attr, &type);
}

loom_value loom_emit_broadcast_to(loom_emitter *b, loom_value v, int rank, const loom_dim *dims) {
  if (v == LOOM_NO_VALUE) return v;
  int64_t map[LOOM_MAX_RANK];
  int from = loom_emit_type(b, v)->rank;
  if (from > rank) return loom_emit_fail(b, "a broadcast to fewer dimensions");
  for (int i = 0; i < from; i++)
    map[i] = rank - from + i;
  return loom_emit_broadcast(b, v, rank, dims, map);
}

loom_value loom_emit_reshape(loom_emitter *b, loom_value v, int rank, const loom_dim *dims) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = loom_type_make(loom_emit_type(b, v)->dtype, rank, dims);
  if (loom_type_equal(loom_emit_type(b, v), &type)) return v;
  return build_moved(b, LOOM_OP_RESHAPE, v, NULL, &type);
}

loom_value loom_emit_transpose(loom_emitter *b, loom_value v, const int64_t *perm) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type *from = loom_emit_type(b, v);
  loom_type type = {.dtype = from->dtype, .rank = from->rank};
  bool same = true;
  for (int i = 0; i < type.rank; i++) {
    type.dims[i] = from->dims[perm[i]];
    same &= perm[i] == i;
  }
  if (same) return v;
  loom_attr attr = {.kind = LOOM_ATTR_I64S, .ints = perm, .count = type.rank};
  return build_moved(b, LOOM_OP_TRANSPOSE, v, &attr, &type);
}

loom_value loom_emit_slice(loom_emitter *b, loom_value v, int axis, int64_t start, int64_t size,
                           int64_t step) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type *from = loom_emit_type(b, v);
  int64_t starts[LOOM_MAX_RANK] = {0}, sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  if (start == 0 && step == 1 && size == loom_stride_of_dim(from->dims[axis])) return v;
  for (int i = 0; i < from->rank; i++) {
    sizes[i] = LOOM_DIM_IS_SYM(from->dims[i]) ? -1 : from->dims[i];
    steps[i] = 1;
  }
  starts[axis] = start;
  sizes[axis] = size;
  steps[axis] = step;
  loom_attr attrs[3] = {{.kind = LOOM_ATTR_I64S, .ints = starts, .count = from->rank},
                        {.kind = LOOM_ATTR_I64S, .ints = sizes, .count = from->rank},
                        {.kind = LOOM_ATTR_I64S, .ints = steps, .count = from->rank}};
  return loom_emit(b, LOOM_OP_SLICE, &v, 1, attrs, 3, NULL, 0);
}

loom_value loom_emit_row(loom_emitter *b, loom_value v, int64_t i) {
  const loom_type type = *loom_emit_type(b, v);
  return v == LOOM_NO_VALUE ? v
                            : loom_emit_reshape(b, loom_emit_slice(b, v, 0, i, 1, 1), type.rank - 1,
                                                type.dims + 1);
}

loom_value loom_emit_as_row(loom_emitter *b, loom_value v) {
  const loom_type type = *loom_emit_type(b, v);
  loom_dim dims[LOOM_MAX_RANK] = {1};
  if (v == LOOM_NO_VALUE) return v;
  if (type.rank == LOOM_MAX_RANK)
    return loom_emit_fail(b, "an array of %d dimensions cannot have one more", type.rank);
  memcpy(dims + 1, type.dims, (size_t)type.rank * sizeof *dims);
  return loom_emit_reshape(b, v, type.rank + 1, dims);
}

loom_value loom_emit_reduce(loom_emitter *b, const char *kind, loom_value v, uint32_t axes,
                            bool keepdims) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type kept = *loom_emit_type(b, v);
  int64_t list[LOOM_MAX_RANK];
  int32_t count = 0;
  for (int i = 0; i < kept.rank; i++) {
    if (!(axes >> i & 1)) continue;
    list[count++] = i;
    kept.dims[i] = 1;
  }
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = kind},
                        {.kind = LOOM_ATTR_I64S, .ints = list, .count = count}};
  loom_value r = loom_emit(b, LOOM_OP_REDUCE, &v, 1, attrs, 2, NULL, 0);
  return keepdims ? loom_emit_reshape(b, r, kept.rank, kept.dims) : r;
}

loom_value loom_emit_concatenate(loom_emitter *b, const loom_value *values, uint32_t count,
                                 int axis) {
  if (count == 1) return values[0];
  loom_attr attr = {.kind = LOOM_ATTR_I64, .i = axis};
  return loom_emit(b, LOOM_OP_CONCATENATE, values, count, &attr, 1, NULL, 0);
}

loom_value loom_emit_iota(loom_emitter *b, const loom_type *type, int axis) {
  loom_attr attr = {.kind = LOOM_ATTR_I64, .i = axis};
  return loom_emit(b, LOOM_OP_IOTA, NULL, 0, &attr, 1, type, 1);
}

loom_value loom_emit_pad(loom_emitter *b, loom_value v, loom_value value, const int64_t *low,
                         const int64_t *high) {
  if (v == LOOM_NO_VALUE || value == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  int rank = loom_emit_type(b, v)->rank;
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64S, .ints = low, .count = rank},
                        {.kind = LOOM_ATTR_I64S, .ints = high, .count = rank}};
  return loom_emit(b, LOOM_OP_PAD, (loom_value[]){v, value}, 2, attrs, 2, NULL, 0);
}

loom_value loom_emit_pad_zeros(loom_emitter *b, loom_value v, const int64_t *low,
                               const int64_t *high) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type scalar = loom_type_make(loom_emit_type(b, v)->dtype, 0, NULL);
  return loom_emit_pad(b, v, loom_emit_int(b, &scalar, 0), low, high);
}

loom_value loom_emit_dot(loom_emitter *b, loom_value l, loom_value r, int batch, int left,
                         int right) {
  int64_t batches[LOOM_MAX_RANK], axes[2] = {left, right};
  for (int i = 0; i < batch; i++)
    batches[i] = i;
  loom_attr attrs[4] = {{.kind = LOOM_ATTR_I64S, .ints = batches, .count = batch},
                        {.kind = LOOM_ATTR_I64S, .ints = batches, .count = batch},
                        {.kind = LOOM_ATTR_I64S, .ints = &axes[0], .count = 1},
                        {.kind = LOOM_ATTR_I64S, .ints = &axes[1], .count = 1}};
  return loom_emit(b, LOOM_OP_DOT_GENERAL, (loom_value[]){l, r}, 2, attrs, 4, NULL, 0);
}
