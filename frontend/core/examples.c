/* Values that stand for one element of a batch (frameloom.vmap): what is computed from them inside
 * of the mapped function is computed anew for the whole batch, and nothing else may use it. */
#include "frontend/base/base.h"
#include "frontend/core/internal.h"
#include "frontend/core/tracer.h"

#include <stdlib.h>

struct trace_example {
  struct trace_example *next;
  loom_value value;
};

bool trace_example(tracer *t, loom_value v) {
  struct trace_example *e = trace_alloc(t, sizeof *e);
  if (!e) return false;
  *e = (struct trace_example){t->loops.examples, v};
  t->loops.examples = e;
  return true;
}

bool *trace_examples_mark(tracer *t, const loom_value *from, uint32_t count) {
  const loom_graph *graph = trace_graph(t);
  bool *marks = calloc((size_t)graph->value_count + 1, sizeof *marks);
  if (!marks) return trace_fail(t), NULL;
  for (uint32_t i = 0; i < count; i++)
    marks[from[i]] = true;
  for (const struct trace_example *e = from ? NULL : t->loops.examples; e; e = e->next)
    marks[e->value] = true;
  loom_graph_mark(graph, marks);
  return marks;
}

bool trace_is_of_example(tracer *t, loom_value v) {
  if (!t->loops.examples) return false;
  bool *marks = trace_examples_mark(t, NULL, 0), found = marks && marks[v];
  free(marks);
  return found;
}
