/* Numbers of the graph taken apart (size.c), and those with the index of a loop (size_loop.c). */
#ifndef LOOM_FRONTEND_SIZE_INTERNAL_H
#define LOOM_FRONTEND_SIZE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "graph/graph.h"

/* ---- size.c: numbers of the graph, constant or symbolic ---- */

#define SIZE_MAX_TERMS 16
#define SIZE_MAX_FACTORS 8

typedef struct size_term {
  int64_t coefficient;
  int count;
  uint32_t factors[SIZE_MAX_FACTORS];
} size_term;

typedef struct size_sum {
  int count;
  size_term terms[SIZE_MAX_TERMS];
} size_sum;

/* A canonical number as a sum of products, and a product of a sum as a number again. */
bool size_open(const loom_graph *graph, uint32_t index, size_sum *out);
bool size_build_term(tracer *t, const size_term *term, int64_t *out);
bool size_drop_factor(size_term *term, uint32_t factor); /* false: it has none such */
/* Bounds of something of the sign of `number`. */
bool size_sign_range(const loom_graph *graph, int64_t number, __int128 *low, __int128 *high);

/* ---- size_loop.c: numbers that depend on the index of a loop ---- */

/* A number with an index in it: is it positive, is it 0, in every iteration? 1, 0; -1 when it
 * differs from one to the next: then that loop is not captured once. */
int size_loop_positive(tracer *t, int64_t number);
int size_loop_zero(tracer *t, int64_t number);

#endif
