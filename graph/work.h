/* How much work a graph is: a rough estimate, for the choice of what runs it. */
#ifndef LOOM_WORK_H
#define LOOM_WORK_H

#include "graph/graph.h"

typedef struct loom_work {
  double bytes; /* that kernels read from memory and write to it */
  double
      operations; /* on single elements; one of a 64-bit float or a complex number counts twice */
  double kernels; /* launches */
  bool guessed;   /* the count of a loop is not known */
} loom_work;

/* `symbols`: the sizes of a call. False: out of memory. */
bool loom_graph_work(const loom_graph *graph, const int64_t *symbols, loom_work *out);

#endif
