/* Shared by interp.c and interp_reduce.c only. */
#ifndef LOOM_GRAPH_INTERP_H
#define LOOM_GRAPH_INTERP_H

#include "graph/graph.h"

typedef struct interp_call {
  const loom_op_view *view;
  const loom_buffer *operands;
  loom_buffer *results;
  loom_error *err;
} interp_call;

/* Counts an index up in C order; false when it has wrapped to the first again. Not for empty types.
 */
bool interp_next(const loom_type *type, int64_t *index);
bool interp_empty(const loom_type *type);
char *interp_at(const loom_buffer *buffer, const int64_t *index);
loom_cell interp_load(const loom_buffer *buffer, const int64_t *index);
void interp_store(const loom_buffer *buffer, const int64_t *index, loom_cell cell);

bool interp_reduce(const interp_call *c);
bool interp_scan(const interp_call *c);
bool interp_sort(const interp_call *c);
bool interp_dot_general(const interp_call *c);
bool interp_convolution(const interp_call *c);
bool interp_random(const interp_call *c);

#endif
