/* Building nodes of a captured graph, for code that makes one without evaluating Python: the torch
 * backend, and graphs that are rewritten.
 *
 * Every function takes LOOM_NO_VALUE (something failed before) among its operands and hands it on,
 * so that calls compose and one look at `failed` at the end is enough. Identities are folded here,
 * which keeps graphs small. Sizes may be symbolic.
 */
#ifndef LOOM_GRAPH_BUILD_H
#define LOOM_GRAPH_BUILD_H

#include "graph/graph.h"

typedef struct loom_emitter {
  loom_graph *graph;
  loom_location location; /* of the nodes made next */
  bool failed;
  loom_error err; /* the first failure */
} loom_emitter;

/* Fails the builder; always LOOM_NO_VALUE. */
loom_value loom_emit_fail(loom_emitter *b, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

loom_value loom_emit(loom_emitter *b, loom_opcode op, const loom_value *operands, uint32_t count,
                     const loom_attr *attrs, uint32_t attr_count, const loom_type *types,
                     uint32_t type_count);
loom_value loom_emit1(loom_emitter *b, loom_opcode op, loom_value v);
loom_value loom_emit2(loom_emitter *b, loom_opcode op, loom_value l, loom_value r);
loom_value loom_emit_compare(loom_emitter *b, const char *direction, loom_value l, loom_value r);
loom_value loom_emit_select(loom_emitter *b, loom_value condition, loom_value l, loom_value r);

/* Of LOOM_NO_VALUE, what a builder that has failed returns, a type without axes. */
const loom_type *loom_emit_type(const loom_emitter *b, loom_value v);
loom_type loom_type_make(loom_dtype dtype, int rank, const loom_dim *dims);

/* A tensor filled with one number, rounded to the dtype; integers exactly. */
loom_value loom_emit_float(loom_emitter *b, const loom_type *type, double x);
loom_value loom_emit_int(loom_emitter *b, const loom_type *type, int64_t x);
/* The number that the constant `v` has, as an attribute of the graph's; NULL: it is no constant. */
const loom_attr *loom_emit_constant_of(const loom_emitter *b, loom_value v);

loom_value loom_emit_convert(loom_emitter *b, loom_value v, loom_dtype dtype);
/* Operand dimension i becomes result dimension map[i]. */
loom_value loom_emit_broadcast(loom_emitter *b, loom_value v, int rank, const loom_dim *dims,
                               const int64_t *map);
/* Right-aligned, as NumPy and torch broadcast. */
loom_value loom_emit_broadcast_to(loom_emitter *b, loom_value v, int rank, const loom_dim *dims);
loom_value loom_emit_reshape(loom_emitter *b, loom_value v, int rank, const loom_dim *dims);
loom_value loom_emit_transpose(loom_emitter *b, loom_value v, const int64_t *perm);
/* `size` elements along one axis from `start` in steps; the others whole. Start and size may be
 * symbolic numbers (of a size: loom_stride_of_dim). */
loom_value loom_emit_slice(loom_emitter *b, loom_value v, int axis, int64_t start, int64_t size,
                           int64_t step);
/* Element number `i` along the first axis, without that axis; and a value with an axis of one
 * element in front. */
loom_value loom_emit_row(loom_emitter *b, loom_value v, int64_t i);
loom_value loom_emit_as_row(loom_emitter *b, loom_value v);
/* Over the axes of the mask; keepdims leaves them with size 1. */
loom_value loom_emit_reduce(loom_emitter *b, const char *kind, loom_value v, uint32_t axes,
                            bool keepdims);
loom_value loom_emit_concatenate(loom_emitter *b, const loom_value *values, uint32_t count,
                                 int axis);
/* low[d] elements of the 0-d `value`, or of zeros, before dimension d and high[d] behind it. */
loom_value loom_emit_pad(loom_emitter *b, loom_value v, loom_value value, const int64_t *low,
                         const int64_t *high);
loom_value loom_emit_pad_zeros(loom_emitter *b, loom_value v, const int64_t *low,
                               const int64_t *high);
loom_value loom_emit_iota(loom_emitter *b, const loom_type *type, int axis);
/* The first `batch` axes of both are batches; axis `left` of l is summed over with axis `right` of
 * r. */
loom_value loom_emit_dot(loom_emitter *b, loom_value l, loom_value r, int batch, int left,
                         int right);

#endif
