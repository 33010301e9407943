/* Derivatives of checkpointed calls, whose values are computed again instead of being kept.
 *
 *   y = nodes(x)
 * becomes, besides the nodes themselves,
 *   gx = for i < 1 { cotangents of x in nodes(x), given those of y }
 *
 * What a loop's body computes lives only while the body runs, and passes do not merge it with what
 * was computed before the loop. So the values between x and y take no memory from the function to
 * its derivative.
 */
#include "graph/gradient_rules.h"
#include "loom_ops_control.h"

#include <stdlib.h>

typedef struct again_job {
  loom_emitter *b;
  loom_gradient_checkpoint *c;
  loom_value *map;           /* value of the graph -> of the region */
  loom_value *given, *seeds; /* values of the checkpoint that others read; their cotangents */
  uint32_t given_count;
  loom_error *err;
} again_job;

static bool again_is_inside(const again_job *j, loom_value v) {
  int32_t node = j->b->graph->values[v].node;
  return node >= (int32_t)j->c->first && node <= (int32_t)j->c->last;
}

/* A node without operands, which the region makes itself; or NULL. */
static const loom_node *again_constant(const again_job *j, loom_value v) {
  int32_t node = j->b->graph->values[v].node;
  const loom_node *made = node < 0 ? NULL : &j->b->graph->nodes[node];
  return made && !made->operand_count && !made->regions ? made : NULL;
}

/* What the nodes read of others, each once; map[v] is marked by its own number meanwhile. */
static bool again_collect(again_job *j) {
  const loom_graph *graph = j->b->graph;
  loom_gradient_checkpoint *c = j->c;
  uint32_t room = 1;
  for (uint32_t n = c->first; n <= c->last; n++)
    room += graph->nodes[n].operand_count;
  c->read = loom_arena_alloc(&j->b->graph->arena, room * sizeof *c->read);
  c->found = loom_arena_alloc(&j->b->graph->arena, room * sizeof *c->found);
  for (uint32_t v = 0; v < graph->value_count; v++)
    j->map[v] = LOOM_NO_VALUE;
  for (uint32_t n = c->first; c->read && c->found && n <= c->last; n++)
    for (uint32_t i = 0; i < graph->nodes[n].operand_count; i++) {
      loom_value v = graph->nodes[n].operands[i];
      if (again_is_inside(j, v) || again_constant(j, v) || j->map[v] != LOOM_NO_VALUE) continue;
      j->map[v] = v;
      c->found[c->count] = LOOM_NO_VALUE;
      c->read[c->count++] = v;
    }
  return c->read && c->found;
}

static bool again_collect_given(again_job *j) {
  const loom_graph *graph = j->b->graph;
  const loom_node *last = &graph->nodes[j->c->last];
  loom_value from = graph->nodes[j->c->first].first_result,
             to = last->first_result + last->result_count;
  j->given = loom_arena_alloc(&j->b->graph->arena, (to - from + 1) * sizeof *j->given);
  j->seeds = loom_arena_alloc(&j->b->graph->arena, (to - from + 1) * sizeof *j->seeds);
  for (loom_value v = from; j->given && j->seeds && v < to; v++)
    if (j->c->cotangents[v] != LOOM_NO_VALUE) j->given[j->given_count++] = v;
  return j->given && j->seeds;
}

static loom_value again_input(const again_job *j, loom_graph *region, const loom_type *type) {
  const loom_type copy = *type;
  loom_value v = loom_graph_input(region, LOOM_INPUT_ARRAY, &copy, NULL);
  if (v == LOOM_NO_VALUE) loom_fail(j->err, "out of memory");
  return v;
}

/* The index, a place for each cotangent, what is read, the cotangents that are given. */
static bool again_inputs(const again_job *j, loom_graph *region) {
  const loom_graph *graph = j->b->graph;
  const loom_gradient_checkpoint *c = j->c;
  const loom_type index = {.dtype = LOOM_I64};
  again_input(j, region, &index);
  for (uint32_t i = 0; i < c->count; i++)
    if (c->active[c->read[i]]) again_input(j, region, &graph->values[c->read[i]].type);
  for (uint32_t i = 0; i < c->count; i++)
    j->map[c->read[i]] = again_input(j, region, &graph->values[c->read[i]].type);
  for (uint32_t i = 0; i < j->given_count; i++)
    j->seeds[i] = again_input(j, region, &graph->values[j->given[i]].type);
  return !j->err->message[0];
}

static bool again_nodes(const again_job *j, loom_graph *region) {
  const loom_graph *graph = j->b->graph;
  for (uint32_t n = j->c->first; n <= j->c->last; n++) {
    const loom_node *node = &graph->nodes[n];
    for (uint32_t i = 0; i < node->operand_count; i++) {
      const loom_node *constant = again_constant(j, node->operands[i]);
      if (constant && j->map[node->operands[i]] == LOOM_NO_VALUE &&
          !loom_graph_copy_node(graph, constant, region, j->map, j->err))
        return false;
    }
    if (!loom_graph_copy_node(graph, node, region, j->map, j->err)) return false;
  }
  return true;
}

static bool again_region(const again_job *j, loom_graph *region) {
  const loom_gradient_checkpoint *c = j->c;
  loom_value *to = loom_arena_alloc(&region->arena, (c->count + 1) * sizeof *to);
  loom_value *found = loom_arena_alloc(&region->arena, (c->count + 1) * sizeof *found);
  uint32_t count = 0;
  if (!to || !found) return loom_fail(j->err, "out of memory");
  if (!again_inputs(j, region) || !again_nodes(j, region)) return false;
  for (uint32_t i = 0; i < c->count; i++)
    if (c->active[c->read[i]]) to[count++] = j->map[c->read[i]];
  for (uint32_t i = 0; i < j->given_count; i++)
    j->given[i] = j->map[j->given[i]];
  const loom_gradient_ask ask = {
      .of = j->given, .seeds = j->seeds, .of_count = j->given_count, .to = to, .count = count};
  loom_location at = {0};
  if (!loom_gradient(region, &ask, found, &at, j->err)) {
    j->b->location = at;
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    if (!loom_graph_output(region, found[i], NULL)) return loom_fail(j->err, "out of memory");
  return true;
}

/* As again_inputs() has them, with one iteration in place of the index. */
static loom_value *again_operands(const again_job *j, uint32_t *count) {
  const loom_gradient_checkpoint *c = j->c;
  loom_graph *graph = j->b->graph;
  const loom_type index = {.dtype = LOOM_I64};
  loom_value *operands =
      loom_arena_alloc(&graph->arena, (1 + 2 * c->count + j->given_count) * sizeof *operands);
  uint32_t n = 0;
  if (!operands) return loom_fail(j->err, "out of memory"), NULL;
  operands[n++] = loom_emit_int(j->b, &index, 1);
  for (uint32_t i = 0; i < c->count; i++) {
    const loom_type type = graph->values[c->read[i]].type;
    if (c->active[c->read[i]]) operands[n++] = loom_emit_int(j->b, &type, 0);
  }
  for (uint32_t i = 0; i < c->count; i++)
    operands[n++] = c->read[i];
  for (uint32_t i = 0; i < j->given_count; i++)
    operands[n++] = c->cotangents[j->given[i]];
  *count = n;
  return operands;
}

static bool again_run(again_job *j) {
  loom_graph *graph = j->b->graph, region;
  uint32_t count = 0, active = 0;
  if (!again_collect(j) || !again_collect_given(j)) return loom_fail(j->err, "out of memory");
  for (uint32_t i = 0; i < j->c->count; i++)
    active += j->c->active[j->c->read[i]];
  if (!j->given_count || !active) return true; /* nothing is asked of these nodes */
  loom_value *operands = again_operands(j, &count);
  if (!operands || j->b->failed) return false;
  loom_region_init(&region, graph);
  if (!again_region(j, &region)) {
    loom_graph_fini(&region);
    return false;
  }
  loom_value first = loom_graph_region_node(graph, LOOM_OP_FOR, operands, count, &region, -1,
                                            &j->b->location, j->err);
  for (uint32_t i = 0; i < j->c->count && first != LOOM_NO_VALUE; i++)
    if (j->c->active[j->c->read[i]]) j->c->found[i] = first++;
  return first != LOOM_NO_VALUE;
}

bool loom_gradient_again(loom_emitter *b, loom_gradient_checkpoint *c) {
  loom_error err = {0};
  again_job j = {
      .b = b, .c = c, .map = calloc(b->graph->value_count + 1, sizeof *j.map), .err = &err};
  bool good = j.map && again_run(&j);
  free(j.map);
  if (!good && !b->failed) loom_emit_fail(b, "%s", err.message[0] ? err.message : "out of memory");
  return good;
}
