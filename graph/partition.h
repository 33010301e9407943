/* Cutting a joint graph, which computes results and then their gradients, into a forward and a
 * backward part. */
#ifndef LOOM_GRAPH_PARTITION_H
#define LOOM_GRAPH_PARTITION_H

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The joint graph: its first `nodes` nodes and `inputs` inputs are the forward's, those behind them
 * the backward's, whose inputs are the gradients of the results. */
typedef struct loom_joint {
  const loom_graph *graph;
  uint32_t nodes, inputs;
  const bool *held; /* by input of the forward: somebody holds it until the backward runs */
  const bool *made; /* by input of both: a number of the sizes, which the backward computes of its
                       own inputs, too; or NULL: none is */
  const loom_value *results; /* of the forward: they are there anyway */
  uint32_t result_count;
  const loom_value *gradients;            /* what the backward computes */
  const int64_t *const *gradient_strides; /* by gradient, in elements; NULL: C order */
  uint32_t gradient_count;
} loom_joint;

/* The values of the joint graph that the backward takes over from the forward.
 *
 * An input or result of the forward is saved as it is where the backward itself reads it, or a view
 * of it. An input or result from which the backward only computes other values is saved as a copy,
 * since a program may write into it before the backward runs. In eager torch such a write is
 * allowed: there each operation saves only what its own gradient reads. */
typedef struct loom_saved {
  loom_value *values; /* malloc'ed */
  bool *copied;       /* malloc'ed: by value, an input or result that has to be saved as a copy */
  uint32_t count;
  uint32_t *numbers; /* malloc'ed: inputs of the joint graph that are such numbers, in the order of
                        the backward's inputs for them */
  uint32_t number_count;
} loom_saved;

/* Chooses what is saved and what the backward computes once more: the cheapest cut, where saving
 * costs the memory traffic of a value, and computing again the instructions of an op. Products,
 * sorts, control flow and host calls are never run twice, but for products and sorts of a
 * checkpointed call: the backward computes again what is inside of one. Makes the backward graph:
 * its inputs are the saved values in their order, in C order unless they are inputs of the joint
 * graph, then the backward's inputs, then the numbers of the sizes; its outputs are the gradients.
 * A number of the joint graph is one of it, too. False with `err` set. */
bool loom_graph_partition(const loom_joint *joint, loom_graph *backward, loom_saved *saved,
                          loom_error *err);
void loom_saved_fini(loom_saved *saved);

#ifdef __cplusplus
}
#endif

#endif
