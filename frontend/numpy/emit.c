/* Nodes of the captured graph. Every function takes LOOM_NO_VALUE (something broke before) among
 * its operands and hands it on, so that calls compose; identities are folded here, which keeps
 * captured graphs small. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/size_internal.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <math.h>
#include <string.h>

loom_attr attr_int(int64_t i) { return (loom_attr){.kind = LOOM_ATTR_I64, .i = i}; }

loom_attr attr_ints(const int64_t *ints, int32_t count) {
  return (loom_attr){.kind = LOOM_ATTR_I64S, .count = count, .ints = ints};
}

loom_attr attr_str(const char *text) { return (loom_attr){.kind = LOOM_ATTR_STR, .str = text}; }

loom_type type_make(loom_dtype dtype, int rank, const int64_t *dims) {
  loom_type type = {.dtype = dtype, .rank = rank};
  for (int i = 0; i < rank; i++)
    type.dims[i] = dims[i];
  return type;
}

const loom_type *emit_type(tracer *t, loom_value v) { return loom_graph_type(trace_graph(t), v); }

loom_value emit_constant(tracer *t, const loom_type *type, uint64_t bits) {
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, type);
}

uint64_t emit_bits(loom_dtype dtype, loom_cell cell) {
  loom_attr attr;
  loom_cell_to_attr(dtype, cell, &attr);
  return attr.bits;
}

loom_value emit_float(tracer *t, const loom_type *type, double x) {
  loom_cell cell = {0};
  if (loom_dtype_is_inexact(type->dtype))
    cell.re = x;
  else
    cell.i = (int64_t)x;
  return emit_constant(t, type, emit_bits(type->dtype, cell));
}

loom_value emit_complex(tracer *t, loom_dtype dtype, double re, double im) {
  loom_type part = type_make(dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, 0, NULL);
  return emit2(t, LOOM_OP_COMPLEX, emit_float(t, &part, re), emit_float(t, &part, im));
}

bool emit_is_constant(tracer *t, loom_value v, uint64_t *bits) {
  const loom_graph *g = trace_graph(t);
  int32_t node = g->values[v].node;
  if (node < 0 || g->nodes[node].op != LOOM_OP_CONSTANT) return false;
  *bits = g->nodes[node].attrs[0].bits;
  return true;
}

static loom_value emit_node(tracer *t, loom_opcode op, const loom_value *operands, uint32_t count,
                            const loom_attr *attrs, uint32_t attr_count, const loom_type *type) {
  for (uint32_t i = 0; i < count; i++)
    if (operands[i] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  return trace_node(t, op, operands, count, attrs, attr_count, type);
}

loom_value emit1(tracer *t, loom_opcode op, loom_value a) {
  return emit_node(t, op, &a, 1, NULL, 0, NULL);
}

loom_value emit2(tracer *t, loom_opcode op, loom_value a, loom_value b) {
  return emit_node(t, op, (loom_value[]){a, b}, 2, NULL, 0, NULL);
}

loom_value emit_predicate(tracer *t, loom_opcode op, loom_value a) {
  return emit_node(t, op, &a, 1, NULL, 0, NULL);
}

loom_value emit_compare(tracer *t, const char *direction, loom_value a, loom_value b) {
  loom_attr attr = attr_str(direction);
  return emit_node(t, LOOM_OP_COMPARE, (loom_value[]){a, b}, 2, &attr, 1, NULL);
}

loom_value emit_select(tracer *t, loom_value condition, loom_value a, loom_value b) {
  return emit_node(t, LOOM_OP_SELECT, (loom_value[]){condition, a, b}, 3, NULL, 0, NULL);
}

loom_value emit_convert(tracer *t, loom_value v, loom_dtype dtype) {
  if (v == LOOM_NO_VALUE || emit_type(t, v)->dtype == dtype) return v;
  if (loom_dtype_is_complex(emit_type(t, v)->dtype) && !loom_dtype_is_complex(dtype) &&
      dtype != LOOM_BOOL) {
    trace_break(t, BREAK_UNSUPPORTED_DTYPE, "complex numbers without their imaginary parts");
    return LOOM_NO_VALUE;
  }
  loom_type type = *emit_type(t, v);
  type.dtype = dtype;
  return emit_node(t, LOOM_OP_CONVERT, &v, 1, NULL, 0, &type);
}

loom_value emit_bitcast(tracer *t, loom_value v, loom_dtype dtype) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *emit_type(t, v);
  type.dtype = dtype;
  return emit_node(t, LOOM_OP_BITCAST, &v, 1, NULL, 0, &type);
}

loom_value emit_broadcast(tracer *t, loom_value v, const loom_type *type, const int64_t *dims) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type *from = emit_type(t, v);
  uint64_t bits;
  if (loom_type_equal(from, type)) return v;
  if (emit_is_constant(t, v, &bits)) return emit_constant(t, type, bits);
  loom_attr attr = attr_ints(dims, from->rank);
  return emit_node(t, LOOM_OP_BROADCAST, &v, 1, &attr, 1, type);
}

loom_value emit_broadcast_to(tracer *t, loom_value v, int rank, const int64_t *dims) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type *from = emit_type(t, v);
  loom_type type = type_make(from->dtype, rank, dims);
  int64_t map[LOOM_MAX_RANK];
  for (int i = 0; i < from->rank; i++)
    map[i] = rank - from->rank + i;
  return emit_broadcast(t, v, &type, map);
}

loom_value emit_reshape(tracer *t, loom_value v, int rank, const int64_t *dims) {
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = type_make(emit_type(t, v)->dtype, rank, dims);
  uint64_t bits;
  if (loom_type_equal(emit_type(t, v), &type)) return v;
  if (emit_is_constant(t, v, &bits)) return emit_constant(t, &type, bits);
  return emit_node(t, LOOM_OP_RESHAPE, &v, 1, NULL, 0, &type);
}

loom_value emit_transpose(tracer *t, loom_value v, const int64_t *perm) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type from = *emit_type(t, v);
  loom_type type = {.dtype = from.dtype, .rank = from.rank};
  bool same = true;
  for (int i = 0; i < from.rank; i++) {
    type.dims[i] = from.dims[perm[i]];
    same &= perm[i] == i;
  }
  uint64_t bits;
  if (same) return v;
  if (emit_is_constant(t, v, &bits)) return emit_constant(t, &type, bits);
  loom_attr attr = attr_ints(perm, from.rank);
  return emit_node(t, LOOM_OP_TRANSPOSE, &v, 1, &attr, 1, &type);
}

/* Does a slice take every element in its place? */
static bool emit_slice_is_whole(const loom_type *from, const int64_t *starts, const int64_t *sizes,
                                const int64_t *steps) {
  for (int i = 0; i < from->rank; i++)
    if (sizes[i] != from->dims[i] || (sizes[i] != 0 && starts[i] != 0) ||
        (sizes[i] != 0 && sizes[i] != 1 && steps[i] != 1))
      return false;
  return true;
}

loom_value emit_slice(tracer *t, loom_value v, const int64_t *starts, const int64_t *sizes,
                      const int64_t *steps) {
  if (v == LOOM_NO_VALUE) return v;
  const loom_type from = *emit_type(t, v);
  loom_type type = type_make(from.dtype, from.rank, sizes);
  uint64_t bits;
  if (emit_slice_is_whole(&from, starts, sizes, steps)) return v;
  if (emit_is_constant(t, v, &bits)) return emit_constant(t, &type, bits);
  int64_t numbers[LOOM_MAX_RANK];
  for (int i = 0; i < from.rank; i++)
    numbers[i] = np_dim(sizes[i]);
  loom_attr attrs[3] = {attr_ints(starts, from.rank), attr_ints(numbers, from.rank),
                        attr_ints(steps, from.rank)};
  return emit_node(t, LOOM_OP_SLICE, &v, 1, attrs, 3, &type);
}

loom_value emit_update(tracer *t, loom_value v, loom_value update, const int64_t *starts,
                       const int64_t *steps) {
  if (v == LOOM_NO_VALUE || update == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type *from = emit_type(t, v), *part = emit_type(t, update);
  if (np_elements(part) == 0) return v;
  if (emit_slice_is_whole(from, starts, part->dims, steps)) return update;
  loom_attr attrs[2] = {attr_ints(starts, from->rank), attr_ints(steps, from->rank)};
  return emit_node(t, LOOM_OP_UPDATE_SLICE, (loom_value[]){v, update}, 2, attrs, 2, NULL);
}

loom_value emit_reduce(tracer *t, const char *kind, loom_value v, const int64_t *axes, int count) {
  loom_attr attrs[2] = {attr_str(kind), attr_ints(axes, count)};
  return emit_node(t, LOOM_OP_REDUCE, &v, 1, attrs, 2, NULL);
}

loom_value emit_reduce_all(tracer *t, const char *kind, loom_value v) {
  int64_t axes[LOOM_MAX_RANK];
  int rank = v == LOOM_NO_VALUE ? 0 : emit_type(t, v)->rank;
  for (int i = 0; i < rank; i++)
    axes[i] = i;
  return rank ? emit_reduce(t, kind, v, axes, rank) : v;
}

loom_value emit_scan(tracer *t, const char *kind, loom_value v, int64_t axis) {
  loom_attr attrs[2] = {attr_str(kind), attr_int(axis)};
  return emit_node(t, LOOM_OP_SCAN, &v, 1, attrs, 2, NULL);
}

loom_value emit_concatenate(tracer *t, const loom_value *v, int count, int64_t axis) {
  if (count == 1) return v[0];
  loom_attr attr = attr_int(axis);
  return emit_node(t, LOOM_OP_CONCATENATE, v, (uint32_t)count, &attr, 1, NULL);
}

loom_value emit_iota(tracer *t, const loom_type *type, int64_t axis) {
  loom_attr attr = attr_int(axis);
  return trace_node(t, LOOM_OP_IOTA, NULL, 0, &attr, 1, type);
}
