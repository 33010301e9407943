/* Shared by the files of the shape rules only. */
#ifndef LOOM_GRAPH_INFER_H
#define LOOM_GRAPH_INFER_H

#include "graph/graph.h"

typedef struct infer_state {
  loom_graph *graph; /* NULL: static sizes only */
  const loom_op_view *view;
  loom_type *out;
  uint32_t declared; /* number of declared types in `out` */
  uint32_t count;    /* number of results */
  loom_error *err;
  const char *name;
} infer_state;

#define INFER_FAIL(s, format, ...)                                                                 \
  loom_fail((s)->err, "'%s': " format, (s)->name __VA_OPT__(, ) __VA_ARGS__)

/* ---- infer.c: checks that rules share, which report what fails ---- */

bool infer_one_of(const char *text, const char *const *words);
bool infer_dtype(infer_state *s, loom_dtype dtype);
bool infer_axis(infer_state *s, int64_t axis, int rank); /* is it in [0, rank)? */
/* An attribute of one entry for each dimension. */
bool infer_list(infer_state *s, uint32_t attr, int rank);
/* A list of different axes; marks them. */
bool infer_axes(infer_state *s, uint32_t attr, int rank, bool *marked);
bool infer_push(infer_state *s, loom_type *type, loom_dim dim);
bool infer_size_failed(infer_state *s);
bool infer_need_declared(infer_state *s); /* of an op whose result types are given */

/* ---- infer_view.c: rules of views ---- */

/* Are the elements start, start + step, ... (size of them) inside a dimension? What is taken by
 * numbers must be known to exist; of symbolic starts and sizes only those are refused that no value
 * of the symbols makes fit: who writes them guards the rest. */
bool infer_slice_fits(infer_state *s, loom_dim dim, int64_t start, int64_t size, int64_t step,
                      int axis);
bool infer_broadcast(infer_state *s);
bool infer_reshape(infer_state *s);
bool infer_transpose(infer_state *s);
bool infer_slice(infer_state *s);
bool infer_windows(infer_state *s);

/* ---- infer_contract.c: rules of contractions and attention ---- */

bool infer_dot_general(infer_state *s);
bool infer_convolution(infer_state *s);
bool infer_convolution_gradient(infer_state *s);
bool infer_convolution_input(infer_state *s);
bool infer_attention(infer_state *s);
bool infer_attention_gradient(infer_state *s);

/* ---- inline ---- */

static inline const loom_type *infer_operand(const infer_state *s, uint32_t i) {
  return &s->view->operands[i];
}

static inline const loom_attr *infer_attr(const infer_state *s, uint32_t i) {
  return &s->view->attrs[i];
}

#endif
