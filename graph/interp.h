/* Shared by the files of the interpreter only. */
#ifndef LOOM_GRAPH_INTERP_H
#define LOOM_GRAPH_INTERP_H

#include "graph/graph.h"

typedef struct interp_call {
  const loom_op_view *view;
  const loom_buffer *operands;
  loom_buffer *results;
  loom_error *err;
  const int64_t *symbols; /* of the graph, or NULL when all sizes are static */
  uint32_t symbol_count;
} interp_call;

/* Is the time over? (interp_region.c) */
bool interp_is_late(void);
/* Counts an index up in C order; false when it has wrapped to the first again, and when the time is
 * over, which fails the op. Not for empty types. */
bool interp_next(const loom_type *type, int64_t *index);
bool interp_empty(const loom_type *type);
loom_cell interp_load(const loom_buffer *buffer, const int64_t *index);
void interp_store(const loom_buffer *buffer, const int64_t *index, loom_cell cell);

/* A bool keeps its byte, as in every kernel: a view of bytes has other true ones than 1. */
void interp_copy_element(const loom_buffer *to, const int64_t *to_index, const loom_buffer *from,
                         const int64_t *from_index);

/* Moves of elements (interp_move.c). A map fills `in` with the index in the operand that it
 * returns, for an index of the result. */
typedef const loom_buffer *interp_map(const interp_call *c, const int64_t *out, int64_t *in);
interp_map interp_map_broadcast, interp_map_reshape, interp_map_transpose, interp_map_slice,
    interp_map_windows, interp_map_same, interp_map_concatenate, interp_map_pad;
bool interp_move(const interp_call *c, interp_map map);
bool interp_update_slice(const interp_call *c);
bool interp_gather(const interp_call *c);
bool interp_scatter(const interp_call *c);

bool interp_reduce(const interp_call *c);
bool interp_scan(const interp_call *c);
bool interp_sort(const interp_call *c);
bool interp_dot_general(const interp_call *c);
bool interp_convolution(const interp_call *c);
bool interp_convolution_gradient(const interp_call *c);
bool interp_convolution_input(const interp_call *c);
bool interp_attention(const interp_call *c);
bool interp_attention_gradient(const interp_call *c);
bool interp_random(const interp_call *c);

bool interp_region(const interp_call *c);
void interp_copy(const loom_buffer *to, const loom_buffer *from);
/* loom_interpret with symbols whose values are known from the graph around. */
bool interp_graph(const loom_graph *graph, const int64_t *symbols, uint32_t symbol_count,
                  const loom_buffer *inputs, loom_buffer *outputs, loom_error *err);

#endif
