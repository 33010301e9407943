/* What the files of rules share with the walk (gradient.c). */
#ifndef LOOM_GRADIENT_RULES_H
#define LOOM_GRADIENT_RULES_H

#include "graph/emit.h"
#include "graph/gradient.h"

/* One node of which the cotangent is known. */
struct loom_gradient_step {
  loom_emitter *b;
  const loom_gradient_ask *ask;
  uint32_t number;              /* of the node */
  loom_node node;               /* a copy: the graph's nodes move as new ones are made */
  loom_value result;            /* the first one */
  loom_value g;                 /* its cotangent */
  const loom_value *cotangents; /* of all results; LOOM_NO_VALUE: zero */
};

loom_value loom_gradient_pointwise(const loom_gradient_step *s, uint32_t index);
loom_value loom_gradient_structure(const loom_gradient_step *s, uint32_t index);
/* A node with regions: the cotangents of those of its operands that are active, all at once; zero
 * is LOOM_NO_VALUE. False: the builder has failed. */
bool loom_gradient_region(const loom_gradient_step *s, const bool *active, loom_value *out);
/* The same of a `for` (gradient_loop.c). */
bool loom_gradient_loop(const loom_gradient_step *s, const bool *active, loom_value *out);

/* Nodes of one checkpointed call. By value of the graph: does it depend on what is differentiated
 * by, and its cotangent so far (LOOM_NO_VALUE: zero). */
typedef struct loom_gradient_checkpoint {
  uint32_t first, last;
  const bool *active;
  const loom_value *cotangents;
  loom_value *read, *found; /* made: what the nodes read of others, and its cotangents */
  uint32_t count;
} loom_gradient_checkpoint;

/* Appends the nodes that compute the checkpoint's nodes again and then these cotangents. False: the
 * builder has failed (gradient_checkpoint.c). */
bool loom_gradient_again(loom_emitter *b, loom_gradient_checkpoint *c);

#endif
