/* Derivatives of control flow.
 *
 * `if`: another `if` by the same condition, whose regions are those of the first with the
 * cotangents of its results as further inputs. Each computes its branch once more, and the
 * cotangents of what the branch reads from outside. */
#include "graph/gradient_rules.h"
#include "loom_ops_control.h"

#include <stdlib.h>

/* The inputs and outputs of the derivative's regions. */
typedef struct region_job {
  const loom_gradient_step *s;
  const loom_value *cotangents; /* values of the outer graph, those that are not zero */
  const uint32_t *which;        /* of which results they are */
  uint32_t cotangent_count;
  const bool *active; /* of the operands */
  loom_error *err;
} region_job;

/* The region's inputs, and then those for cotangents; map[v]: the copy of value v. */
static bool region_inputs_copy(const region_job *j, const loom_graph *from, loom_graph *to,
                               loom_value *map, loom_value *cotangents) {
  const loom_graph *outer = j->s->b->graph;
  for (uint32_t i = 0; i < from->input_count; i++) {
    loom_value v = from->inputs[i].value;
    map[v] =
        loom_graph_input(to, from->inputs[i].kind, &from->values[v].type, from->inputs[i].strides);
    if (map[v] == LOOM_NO_VALUE) return loom_fail(j->err, "out of memory");
  }
  for (uint32_t i = 0; i < j->cotangent_count; i++) {
    const loom_type *type = &outer->values[j->cotangents[i]].type;
    int64_t strides[LOOM_MAX_RANK] = {0};
    if (!loom_contiguous_strides_in(to, type, strides))
      return loom_fail(j->err, "a size cannot be expressed");
    cotangents[i] = loom_graph_input(to, LOOM_INPUT_ARRAY, type, strides);
    if (cotangents[i] == LOOM_NO_VALUE) return loom_fail(j->err, "out of memory");
  }
  return true;
}

static bool region_nodes_copy(const loom_graph *from, loom_graph *to, loom_value *map,
                              loom_error *err) {
  for (uint32_t n = 0; n < from->node_count; n++)
    if (!loom_graph_copy_node(from, &from->nodes[n], to, map, err)) return false;
  return true;
}

/* The outputs of the region's derivative: the cotangents of the inputs that active operands are. */
static bool region_derive(const region_job *j, const loom_graph *from, loom_graph *to,
                          loom_value *map) {
  uint32_t count = j->cotangent_count, wanted = 0;
  loom_value *room =
      loom_arena_alloc(&to->arena, (2 * count + 2 * from->input_count + 1) * sizeof *room);
  if (!room) return loom_fail(j->err, "out of memory");
  loom_value *of = room, *seeds = of + count, *inputs = seeds + count,
             *found = inputs + from->input_count;
  if (!region_inputs_copy(j, from, to, map, seeds) || !region_nodes_copy(from, to, map, j->err))
    return false;
  for (uint32_t i = 0; i < count; i++)
    of[i] = map[from->outputs[j->which[i]].value];
  for (uint32_t i = 0; i < from->input_count; i++)
    if (j->active[i + 1]) inputs[wanted++] = map[from->inputs[i].value];
  const loom_gradient_ask ask = {
      .of = of, .seeds = seeds, .of_count = count, .to = inputs, .count = wanted};
  loom_location at = {0};
  if (!loom_gradient(to, &ask, found, &at, j->err)) {
    j->s->b->location = at;
    return false;
  }
  for (uint32_t i = 0; i < wanted; i++)
    if (!loom_graph_output(to, found[i], NULL)) return loom_fail(j->err, "out of memory");
  return true;
}

static bool region_if(const loom_gradient_step *s, const bool *active, loom_value *out) {
  loom_graph *graph = s->b->graph;
  const loom_node *node = &s->node;
  uint32_t count = 0, operands = node->operand_count;
  loom_value *cotangents =
      loom_arena_alloc(&graph->arena, (node->result_count + 1) * sizeof *cotangents);
  uint32_t *which = loom_arena_alloc(&graph->arena, (node->result_count + 1) * sizeof *which);
  if (!cotangents || !which) return loom_emit_fail(s->b, "out of memory"), false;
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (s->cotangents[i] == LOOM_NO_VALUE) continue;
    which[count] = i;
    cotangents[count++] = s->cotangents[i];
  }
  loom_value *given = loom_arena_alloc(&graph->arena, (operands + count) * sizeof *given);
  if (!given) return loom_emit_fail(s->b, "out of memory"), false;
  for (uint32_t i = 0; i < operands; i++)
    given[i] = node->operands[i];
  for (uint32_t i = 0; i < count; i++)
    given[operands + i] = cotangents[i];
  loom_error err = {0};
  const region_job job = {s, cotangents, which, count, active, &err};
  loom_graph regions[2];
  bool good = true;
  for (int r = 0; r < 2; r++) {
    const loom_graph *from = node->regions[r];
    loom_region_init(&regions[r], r ? &regions[0] : graph);
    loom_value *map = calloc(from->value_count + 1, sizeof *map);
    good = good && map && region_derive(&job, from, &regions[r], map);
    free(map);
  }
  if (!good) {
    loom_graph_fini(&regions[0]);
    loom_graph_fini(&regions[1]);
    return loom_emit_fail(s->b, "%s", err.message[0] ? err.message : "out of memory"), false;
  }
  loom_value first = loom_graph_region_node(graph, LOOM_OP_IF, given, operands + count, regions, -1,
                                            &s->b->location, &err);
  if (first == LOOM_NO_VALUE) return loom_emit_fail(s->b, "%s", err.message), false;
  for (uint32_t i = 1; i < operands; i++)
    if (active[i]) out[i] = first++;
  return true;
}

bool loom_gradient_region(const loom_gradient_step *s, const bool *active, loom_value *out) {
  if (s->node.op == LOOM_OP_IF) return region_if(s, active, out);
  if (s->node.op == LOOM_OP_FOR) return loom_gradient_loop(s, active, out);
  return loom_emit_fail(s->b, "'%s' has no derivative", loom_op_table[s->node.op].name), false;
}
