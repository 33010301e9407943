/* Reverse-mode differentiation of a captured graph.
 *
 * The cotangent of a value is the derivative of one result with respect to it, as JAX defines it: a
 * linear function is transposed, never conjugated. So the rule of a holomorphic function is the
 * rule of the real one, and the gradient of a real function of z = x + iy is df/dx - i df/dy.
 *
 * Rules of pointwise ops are the column `gradient` of loom.td (gradient_rules.c), those of ops with
 * a structure are functions (gradient_structure.c).
 */
#ifndef LOOM_GRADIENT_H
#define LOOM_GRADIENT_H

#include "graph/graph.h"

/* ---- gradient.c: the walk over the graph ---- */

typedef struct loom_gradient_step loom_gradient_step;
/* The cotangent of operand number `index`; LOOM_NO_VALUE with nothing failed: it is zero. */
typedef loom_value (*loom_gradient_rule)(const loom_gradient_step *s, uint32_t index);

/* Values whose derivative the caller knows: results of one copy each, whose nodes follow one
 * another from `first` on. They depend on the operands, and on nothing else. */
typedef struct loom_gradient_known {
  uint32_t first, result_count, operand_count;
  const loom_value *operands;
  void *rule; /* the caller's own */
} loom_gradient_known;

/* What is differentiated. */
typedef struct loom_gradient_ask {
  /* Values and their cotangents, of the same types; LOOM_NO_VALUE: zero. */
  const loom_value *of, *seeds;
  uint32_t of_count;
  const loom_value *to; /* whose cotangents are wanted: results of different nodes, or inputs */
  uint32_t count;
  loom_gradient_rule host; /* of calls of the library; NULL: they have no derivatives */
  /* A new symbol of the graph for the index of a loop of this length: its number. NULL: any. False:
   * there are too many. */
  bool (*symbol)(void *context, int64_t length, int64_t *out);
  /* In the order of their nodes. The cotangents of the operands, given those of the results
   * (LOOM_NO_VALUE: zero, also in `found`). False: it failed. */
  const loom_gradient_known *known;
  uint32_t known_count;
  bool (*rule)(const loom_gradient_step *s, const loom_gradient_known *known, loom_value *found);
  void *context; /* for these three */
  /* Are the nodes of a checkpointed call computed again (gradient_checkpoint.c)? */
  bool checkpoints;
} loom_gradient_ask;

/* Appends the nodes that compute the cotangents; `out` has `count` of them. Those that nothing
 * depends on have zeros. Nodes that are made have the location of the node that they differentiate.
 * False, with `at` the location of the node that has no derivative, leaves nodes that nobody needs.
 */
bool loom_gradient(loom_graph *graph, const loom_gradient_ask *ask, loom_value *out,
                   loom_location *at, loom_error *err);

#endif
