/* The walk of reverse-mode differentiation: which values matter, and the sums of their cotangents.
 */
#include "graph/gradient_rules.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"

#include <stdlib.h>
#include <string.h>

typedef struct gradient_walk {
  loom_emitter *b;
  const loom_gradient_ask *ask;
  bool *active;          /* does the value depend on one of those asked for? */
  int32_t kept;          /* the checkpoint whose nodes are differentiated as all others */
  loom_value *cotangent; /* the sum so far, or LOOM_NO_VALUE */
} gradient_walk;

static bool gradient_is_smooth(const loom_graph *graph, loom_value v) {
  return loom_dtype_is_inexact(graph->values[v].type.dtype);
}

/* The rule that a node is a result of, or NULL. */
static const loom_gradient_known *gradient_known(const gradient_walk *w, uint32_t n) {
  uint32_t from = 0, to = w->ask->known_count;
  while (from < to) {
    uint32_t middle = (from + to) / 2;
    const loom_gradient_known *known = &w->ask->known[middle];
    if (n < known->first)
      to = middle;
    else if (n >= known->first + known->result_count)
      from = middle + 1;
    else
      return known;
  }
  return NULL;
}

/* Marks the values that depend on the given values through numbers that are not whole. Operands
 * come before their users. */
static void gradient_mark(gradient_walk *w, uint32_t nodes) {
  const loom_graph *graph = w->b->graph;
  const loom_gradient_known *known;
  for (uint32_t i = 0; i < w->ask->count; i++)
    w->active[w->ask->to[i]] = gradient_is_smooth(graph, w->ask->to[i]);
  for (uint32_t n = 0; n < nodes; n++) {
    const loom_node *node = &graph->nodes[n];
    bool active = false;
    const loom_value *operands = (known = gradient_known(w, n)) ? known->operands : node->operands;
    uint32_t operand_count = known ? known->operand_count : node->operand_count;
    for (uint32_t i = 0; i < operand_count; i++)
      active |= w->active[operands[i]];
    for (uint32_t i = 0; active && i < node->result_count; i++)
      w->active[node->first_result + i] |= gradient_is_smooth(graph, node->first_result + i);
  }
}

static void gradient_add(gradient_walk *w, loom_value v, loom_value cotangent) {
  loom_value *sum = &w->cotangent[v];
  if (cotangent == LOOM_NO_VALUE) return;
  *sum = *sum == LOOM_NO_VALUE ? cotangent : loom_emit2(w->b, LOOM_OP_ADD, *sum, cotangent);
}

static loom_value gradient_operand(const loom_gradient_step *s, uint32_t index) {
  bool pointwise = loom_op_table[s->node.op].fusion == LOOM_CLASS_POINTWISE;
  if (s->node.op == LOOM_OP_HOST_CALL && s->ask->host) return s->ask->host(s, index);
  return pointwise ? loom_gradient_pointwise(s, index) : loom_gradient_structure(s, index);
}

static void gradient_region(gradient_walk *w, const loom_gradient_step *s) {
  uint32_t count = s->node.operand_count;
  loom_value *found = loom_arena_alloc(&w->b->graph->arena, (count + 1) * sizeof *found);
  bool *active = loom_arena_alloc(&w->b->graph->arena, count + 1);
  if (!found || !active) {
    loom_emit_fail(w->b, "out of memory");
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    found[i] = LOOM_NO_VALUE;
    active[i] = w->active[s->node.operands[i]];
  }
  if (!loom_gradient_region(s, active, found)) return;
  for (uint32_t i = 0; i < count; i++)
    gradient_add(w, s->node.operands[i], found[i]);
}

/* All users of the results come behind the last of them: their cotangents are complete there. */
static void gradient_by_rule(gradient_walk *w, loom_gradient_step *s,
                             const loom_gradient_known *known) {
  const loom_graph *graph = w->b->graph;
  bool asked = false;
  if (s->number != known->first + known->result_count - 1) return;
  s->result = graph->nodes[known->first].first_result;
  s->cotangents = &w->cotangent[s->result];
  for (uint32_t i = 0; i < known->result_count; i++)
    asked |= s->cotangents[i] != LOOM_NO_VALUE;
  if (!asked) return;
  loom_value *found =
      loom_arena_alloc(&w->b->graph->arena, (known->operand_count + 1) * sizeof *found);
  if (!found) {
    loom_emit_fail(w->b, "out of memory");
    return;
  }
  if (!w->ask->rule(s, known, found)) {
    if (!w->b->failed) loom_emit_fail(w->b, "its rule failed");
    return;
  }
  for (uint32_t i = 0; i < known->operand_count; i++)
    if (w->active[known->operands[i]]) gradient_add(w, known->operands[i], found[i]);
}

static void gradient_node(gradient_walk *w, uint32_t n) {
  loom_gradient_step step = {.b = w->b, .ask = w->ask, .number = n, .node = w->b->graph->nodes[n]};
  const loom_node *node = &step.node;
  const loom_gradient_known *known = gradient_known(w, n);
  bool asked = false;
  if (known) return gradient_by_rule(w, &step, known);
  step.result = node->first_result;
  step.cotangents = &w->cotangent[step.result];
  step.g = step.cotangents[0];
  for (uint32_t i = 0; i < node->result_count; i++)
    asked |= step.cotangents[i] != LOOM_NO_VALUE;
  if (!asked) return;
  w->b->location = node->location;
  w->b->location.warning = w->b->location.checkpoint = 0;
  if (node->regions) return gradient_region(w, &step);
  for (uint32_t i = 0; i < node->operand_count && !w->b->failed; i++)
    if (w->active[node->operands[i]])
      gradient_add(w, node->operands[i], gradient_operand(&step, i));
}

static bool gradient_is_in(int32_t node, uint32_t first, uint32_t last) {
  return node >= (int32_t)first && node <= (int32_t)last;
}

/* May the nodes be computed again? Not calls of the library, and not those inside of which the
 * walk ends. */
static bool gradient_is_repeatable(const gradient_walk *w, uint32_t first, uint32_t last) {
  const loom_graph *graph = w->b->graph;
  for (uint32_t i = 0; i < w->ask->count; i++)
    if (gradient_is_in(graph->values[w->ask->to[i]].node, first, last)) return false;
  for (uint32_t n = first; n <= last; n++)
    if (graph->nodes[n].op == LOOM_OP_HOST_CALL || loom_node_has_effect(&graph->nodes[n]) ||
        gradient_known(w, n))
      return false;
  return true;
}

/* The checkpointed call whose last node is number `last`: the number of its first node, once its
 * cotangents are known; -1: the node is differentiated by itself. */
static int32_t gradient_checkpoint(gradient_walk *w, uint32_t last) {
  const loom_node *nodes = w->b->graph->nodes;
  int32_t mark = nodes[last].location.checkpoint;
  uint32_t first = last;
  if (!w->ask->checkpoints || !mark || mark == w->kept) return -1;
  while (first && (nodes[first - 1].location.checkpoint == mark || !nodes[first - 1].operand_count))
    first--; /* constants belong to whom they are next to */
  if (!gradient_is_repeatable(w, first, last)) return w->kept = mark, -1;
  loom_gradient_checkpoint c = {
      .first = first, .last = last, .active = w->active, .cotangents = w->cotangent};
  w->b->location = nodes[last].location;
  w->b->location.warning = w->b->location.checkpoint = 0;
  if (!loom_gradient_again(w->b, &c)) return (int32_t)first;
  for (uint32_t i = 0; i < c.count; i++)
    gradient_add(w, c.read[i], c.found[i]);
  return (int32_t)first;
}

static bool gradient_run(gradient_walk *w, loom_value *out) {
  const loom_graph *graph = w->b->graph;
  const loom_gradient_ask *ask = w->ask;
  int32_t last = -1;
  for (uint32_t i = 0; i < graph->value_count; i++) /* none has been made yet */
    w->cotangent[i] = LOOM_NO_VALUE;
  for (uint32_t i = 0; i < ask->of_count; i++)
    if (graph->values[ask->of[i]].node > last) last = graph->values[ask->of[i]].node;
  gradient_mark(w, (uint32_t)(last + 1));
  for (uint32_t i = 0; i < ask->of_count; i++)
    if (w->active[ask->of[i]]) gradient_add(w, ask->of[i], ask->seeds[i]);
  for (int32_t n = last, first; n >= 0 && !w->b->failed; n--) {
    if ((first = gradient_checkpoint(w, (uint32_t)n)) < 0)
      gradient_node(w, (uint32_t)n);
    else
      n = first;
  }
  for (uint32_t i = 0; i < ask->count && !w->b->failed; i++) {
    const loom_type type = graph->values[ask->to[i]].type;
    out[i] = w->cotangent[ask->to[i]];
    if (out[i] == LOOM_NO_VALUE) out[i] = loom_emit_int(w->b, &type, 0);
  }
  return !w->b->failed;
}

bool loom_gradient(loom_graph *graph, const loom_gradient_ask *ask, loom_value *out,
                   loom_location *at, loom_error *err) {
  loom_emitter b = {.graph = graph};
  uint32_t values = graph->value_count;
  gradient_walk w = {.b = &b,
                     .ask = ask,
                     .active = calloc(values + 1, sizeof *w.active),
                     .cotangent = calloc(values + 1, sizeof *w.cotangent)};
  bool done = w.active && w.cotangent ? gradient_run(&w, out)
                                      : (loom_emit_fail(&b, "out of memory"), false);
  free(w.active);
  free(w.cotangent);
  *at = b.location;
  return done || loom_fail(err, "%s", b.err.message);
}
