/* Vectorisation of a captured graph: what one example needs becomes what a batch of them needs.
 *
 * Some values stand for one example. For each there is a value that holds a batch of examples along
 * a further axis, the first one. What depends on an example is computed anew with that axis; what
 * does not stays as it is and is read by all examples.
 *
 * Ops without a structure, views, moves, reductions and products have rules (batch_rules.c), nodes
 * with regions as well (batch_region.c). Other ops are repeated for each example.
 */
#ifndef LOOM_BATCH_H
#define LOOM_BATCH_H

#include "graph/emit.h"
#include "graph/graph.h"

/* How many examples something without a rule is repeated for: each time are a few more nodes. */
#define LOOM_BATCH_REPEATED 1000

typedef struct loom_batch_walk loom_batch_walk;

/* A node that depends on an example. */
typedef struct loom_batch_step {
  const loom_batch_walk *walk;
  loom_emitter *b;
  uint32_t number; /* of the node in the graph that is read */
  loom_node node;  /* a copy: the graph's nodes move as new ones are made */
} loom_batch_step;

/* What is vectorised. */
typedef struct loom_batch_ask {
  loom_dim size; /* of the new axis */
  /* Values that stand for one example, and the batches of these, whose first axis is the new one.
   */
  const loom_value *examples, *batches;
  uint32_t count;
  const loom_value *of; /* whose batches are wanted */
  uint32_t of_count;
  /* The batches of the results of a call of the library. False: it failed. NULL: there are none. */
  bool (*host)(void *context, const loom_batch_step *s, loom_value *out);
  void *context;
} loom_batch_ask;

/* Appends the nodes that compute the batches; `out` has `of_count` of them, LOOM_NO_VALUE for
 * values that depend on no example. Nodes that are made have the location of the node they stand
 * for. False, with `at` the location of the node that cannot be vectorised, leaves nodes that
 * nobody needs. */
bool loom_batch(loom_graph *graph, const loom_batch_ask *ask, loom_value *out, loom_location *at,
                loom_error *err);

/* `to`, which loom_region_init() has made of `from`, becomes the graph of a function that does for
 * `size` examples what that of `from` does for one: all inputs but those of which `shared` is true,
 * and all outputs, have the new axis. Calls of the library fail. */
bool loom_batch_function(const loom_graph *from, loom_dim size, const bool *shared, loom_graph *to,
                         loom_location *at, loom_error *err);

/* ---- for the rules ---- */

/* One graph that is read while another, or the same, is written. */
struct loom_batch_walk {
  loom_emitter *b; /* of the graph that is written */
  const loom_batch_ask *ask;
  const loom_graph *from; /* the graph that is read */
  loom_value *plain;      /* by value of it: the value itself in the graph that is written */
  loom_value *batch;      /* the batch of it; LOOM_NO_VALUE: it depends on no example */
  bool masked;            /* runs for all examples where only some may come to it */
};

/* The walk over nodes number `first` to `end` of the graph that is read. */
bool loom_batch_nodes(loom_batch_walk *w, uint32_t first, uint32_t end);
/* Are there batches of the operand's value? */
bool loom_batch_is(const loom_batch_step *s, uint32_t operand);
/* The batch of an operand: one value for all where it depends on no example. */
loom_value loom_batch_of(const loom_batch_step *s, uint32_t operand);
/* A batch in which this value of the graph that is written is each example's. */
loom_value loom_batch_share(const loom_batch_walk *w, loom_value v);
/* The batch of a value of the graph that is read. */
loom_value loom_batch_value(const loom_batch_walk *w, loom_value v);
/* The operand where it depends on no example. */
loom_value loom_batch_plain(const loom_batch_step *s, uint32_t operand);
/* The type of one example. */
const loom_type *loom_batch_type(const loom_batch_step *s, uint32_t operand);
/* The type of a batch of examples. False: it has too many dimensions. */
bool loom_batch_wider(const loom_batch_walk *w, const loom_type *type, loom_type *out);

/* The walk over `region` whose results go to the graph of `b`; nothing stands for a value yet. Its
 * memory is ended by free(w->plain), also when this fails. */
bool loom_batch_enter(loom_batch_walk *w, const loom_batch_ask *ask, const loom_graph *region,
                      loom_emitter *b);
/* An input of the graph that is written for one of the graph that is read. */
bool loom_batch_input(loom_batch_walk *w, uint32_t input, bool batch);
/* The region with its inputs and outputs: batches where it is said so. */
bool loom_batch_copy(loom_batch_walk *w, const bool *inputs, const bool *outputs);

/* The batch of each result of a node. False: the builder has failed. */
bool loom_batch_rule(const loom_batch_step *s, loom_value *out);
bool loom_batch_region(const loom_batch_step *s, loom_value *out);

#endif
