/* Numbers of the graph taken apart into sums of products (size_sum.c), and comparisons of numbers
 * that depend on a loop's index (size_loop.c). */
#ifndef LOOM_FRONTEND_SIZE_INTERNAL_H
#define LOOM_FRONTEND_SIZE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "graph/graph.h"

/* ---- size.c: numbers of the graph, constant or symbolic ---- */

void size_add_guard(tracer *t, const source *s, size_guard payload); /* `s` may be NULL */
void size_restart(tracer *t);   /* capture starts again with what has been learnt of sizes */
bool size_overflows(tracer *t); /* false, after a break */

/* ---- size_sum.c: numbers as sums of products ---- */

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

/* Takes a canonical number apart into a sum of products; makes a number of one product. */
bool size_open(const loom_graph *graph, uint32_t index, size_sum *out);
bool size_build_term(tracer *t, const size_term *term, int64_t *out);
/* False: the product does not have that factor. */
bool size_drop_factor(size_term *term, uint32_t factor);
/* Bounds of an expression that has the same sign as `number`. */
bool size_sign_range(const loom_graph *graph, int64_t number, __int128 *low, __int128 *high);
/* number = coefficient * symbol + rest, but for a positive factor: false when it is no such sum. */
bool size_linear(const loom_graph *graph, int64_t number, int64_t *symbol, int64_t *coefficient,
                 int64_t *rest);

/* ---- size_loop.c: numbers that depend on the index of a loop ---- */

/* Is a number that depends on a loop's index positive, or 0, in every iteration? 1 or 0; -1: the
 * answer differs between iterations, and that loop is not captured once. */
int size_loop_positive(tracer *t, int64_t number);
int size_loop_zero(tracer *t, int64_t number);

#endif
