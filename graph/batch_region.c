/* Vectorisation of control flow.
 *
 *   if      By a condition that all examples share: another `if` over batches. By one that each has
 *           for itself: both branches, and a choice element by element.
 *   for     The same loop over batches of what it carries.
 *   while   The same where all examples share the condition. Else a loop for as long as some
 *           example goes on, in which those that have ended keep their values.
 *
 * What may raise, and a `while`, which may never end, are errors where they would run for examples
 * that do not come to them. */
#include "graph/batch.h"
#include "loom_ops_control.h"

#include <stdlib.h>

/* ---- which values of a region depend on an example ---- */

/* Do the outputs of the region depend on an example, given whether its inputs do? */
static bool region_outputs(const loom_batch_step *s, const loom_graph *region, const bool *inputs,
                           bool *outputs) {
  bool *depends = calloc(region->value_count + 1, sizeof *depends);
  if (!depends) return loom_emit_fail(s->b, "out of memory"), false;
  for (uint32_t i = 0; i < region->input_count; i++)
    depends[region->inputs[i].value] = inputs[i];
  loom_graph_mark(region, depends);
  for (uint32_t i = 0; i < region->output_count; i++)
    outputs[i] = depends[region->outputs[i].value];
  free(depends);
  return true;
}

/* ---- the node over batches ---- */

/* A region of its own for the node that is made. */
static bool region_copy(const loom_batch_step *s, const loom_graph *region, loom_graph *to,
                        const bool *inputs, const bool *outputs) {
  loom_emitter b = {.graph = to, .location = s->node.location};
  loom_batch_walk w;
  bool good = loom_batch_enter(&w, s->walk->ask, region, &b);
  w.masked = s->walk->masked;
  good = good && loom_batch_copy(&w, inputs, outputs);
  free(w.plain);
  if (good) return true;
  s->b->location = b.location;
  return loom_emit_fail(s->b, "%s", b.err.message), false;
}

/* `outputs`: which of the regions' outputs are batches. */
static bool region_node(const loom_batch_step *s, loom_graph *regions, const loom_value *operands,
                        const bool *outputs, loom_value *out) {
  const loom_node *node = &s->node;
  loom_error err = {0};
  int64_t symbol = node->op == LOOM_OP_IF ? -1 : node->attrs[0].i;
  loom_value first = loom_graph_region_node(s->b->graph, node->op, operands, node->operand_count,
                                            regions, symbol, &node->location, &err);
  if (first == LOOM_NO_VALUE) return loom_emit_fail(s->b, "%s", err.message), false;
  for (uint32_t i = 0; i < node->result_count; i++)
    out[i] = outputs[i] ? first + i : loom_batch_share(s->walk, first + i);
  return !s->b->failed;
}

/* Room for flags of the operands and the results, all false. */
static bool *region_flags(const loom_batch_step *s) {
  size_t count = (size_t)s->node.operand_count + s->node.result_count + 2;
  bool *flags = loom_arena_alloc(&s->b->graph->arena, 2 * count);
  if (!flags) loom_emit_fail(s->b, "out of memory");
  return flags;
}

static loom_value *region_operands(const loom_batch_step *s, const bool *batches) {
  uint32_t count = s->node.operand_count;
  loom_value *operands = loom_arena_alloc(&s->b->graph->arena, (count + 1) * sizeof *operands);
  if (!operands) return loom_emit_fail(s->b, "out of memory"), NULL;
  for (uint32_t i = 0; i < count; i++)
    operands[i] = batches[i] ? loom_batch_of(s, i) : loom_batch_plain(s, i);
  return s->b->failed ? NULL : operands;
}

/* ---- if ---- */

/* A branch among the nodes of the graph itself; `out`: batches of its outputs. */
static bool if_inline(const loom_batch_step *s, const loom_graph *branch, loom_value *out) {
  loom_batch_walk w;
  bool good = loom_batch_enter(&w, s->walk->ask, branch, s->b);
  w.masked = true;
  for (uint32_t i = 0; good && i < branch->input_count; i++) {
    loom_value operand = s->node.operands[i + 1];
    w.plain[branch->inputs[i].value] = s->walk->plain[operand];
    w.batch[branch->inputs[i].value] = s->walk->batch[operand];
  }
  good = good && loom_batch_nodes(&w, 0, branch->node_count);
  for (uint32_t i = 0; good && i < branch->output_count; i++)
    out[i] = loom_batch_value(&w, branch->outputs[i].value);
  free(w.plain);
  return good && !s->b->failed;
}

/* A 1-d batch of conditions for values of this type. */
static loom_value region_spread(loom_emitter *b, loom_value condition, const loom_type *type) {
  return loom_emit_broadcast(b, condition, type->rank, type->dims, (int64_t[]){0});
}

static bool if_each(const loom_batch_step *s, loom_value *out) {
  uint32_t count = s->node.result_count;
  loom_value *otherwise = loom_arena_alloc(&s->b->graph->arena, (count + 1) * sizeof *otherwise);
  if (!otherwise) return loom_emit_fail(s->b, "out of memory"), false;
  if (!if_inline(s, s->node.regions[0], out) || !if_inline(s, s->node.regions[1], otherwise))
    return false;
  for (uint32_t i = 0; i < count; i++) {
    const loom_type type = *loom_emit_type(s->b, out[i]);
    loom_value condition = region_spread(s->b, loom_batch_of(s, 0), &type);
    out[i] = loom_emit_select(s->b, condition, out[i], otherwise[i]);
  }
  return !s->b->failed;
}

static bool if_shared(const loom_batch_step *s, loom_value *out) {
  const loom_node *node = &s->node;
  bool *batches = region_flags(s), *outputs = batches + node->operand_count,
       *other = outputs + node->result_count + 1;
  if (!batches) return false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    batches[i] = loom_batch_is(s, i);
  if (!region_outputs(s, node->regions[0], batches + 1, outputs) ||
      !region_outputs(s, node->regions[1], batches + 1, other))
    return false;
  for (uint32_t i = 0; i < node->result_count; i++)
    outputs[i] |= other[i];
  loom_value *operands = region_operands(s, batches);
  if (!operands) return false;
  loom_graph regions[2];
  bool good = true;
  for (int r = 0; r < 2; r++) {
    loom_region_init(&regions[r], r ? &regions[0] : s->b->graph);
    good = good && region_copy(s, node->regions[r], &regions[r], batches + 1, outputs);
  }
  if (good) return region_node(s, regions, operands, outputs, out);
  loom_graph_fini(&regions[0]);
  loom_graph_fini(&regions[1]);
  return false;
}

/* ---- loops ---- */

/* Marks the carried values that depend on an example in some iteration. `first`: the number of the
 * first of them among the inputs. */
static bool loop_fix(const loom_batch_step *s, const loom_graph *body, uint32_t first,
                     bool *inputs) {
  uint32_t carried = s->node.result_count;
  bool *outputs = calloc(carried + 1, sizeof *outputs), good = outputs != NULL, changed = good;
  if (!good) loom_emit_fail(s->b, "out of memory");
  while (changed && good) {
    changed = false;
    good = region_outputs(s, body, inputs, outputs);
    for (uint32_t i = 0; good && i < carried; i++) {
      changed |= outputs[i] && !inputs[first + i];
      inputs[first + i] |= outputs[i];
    }
  }
  free(outputs);
  return good;
}

static bool loop_for(const loom_batch_step *s, loom_value *out) {
  const loom_node *node = &s->node;
  bool *batches = region_flags(s);
  if (!batches) return false;
  if (loom_batch_is(s, 0))
    return loom_emit_fail(s->b, "a loop that has another length for each example"), false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    batches[i] = loom_batch_is(s, i);
  if (!loop_fix(s, node->regions[0], 1, batches)) return false;
  loom_value *operands = region_operands(s, batches);
  loom_graph region;
  if (!operands) return false;
  loom_region_init(&region, s->b->graph);
  if (region_copy(s, node->regions[0], &region, batches, batches + 1))
    return region_node(s, &region, operands, batches + 1, out);
  loom_graph_fini(&region);
  return false;
}

/* The condition of each example, of the loop's inputs. */
static loom_value while_condition(const loom_batch_step *s, loom_emitter *b,
                                  const loom_batch_walk *inputs) {
  const loom_graph *test = s->node.regions[0], *body = inputs->from;
  loom_batch_walk w;
  bool good = loom_batch_enter(&w, s->walk->ask, test, b);
  w.masked = true;
  for (uint32_t i = 0; good && i < test->input_count; i++) {
    w.plain[test->inputs[i].value] = inputs->plain[body->inputs[i].value];
    w.batch[test->inputs[i].value] = inputs->batch[body->inputs[i].value];
  }
  good = good && loom_batch_nodes(&w, 0, test->node_count);
  loom_value out = good ? loom_batch_value(&w, test->outputs[0].value) : LOOM_NO_VALUE;
  free(w.plain);
  return out;
}

/* The region of a loop that goes on for as long as some example does: the test, or the body. */
static bool while_region(const loom_batch_step *s, loom_graph *to, const bool *batches, bool test) {
  const loom_graph *body = s->node.regions[1];
  loom_emitter b = {.graph = to, .location = s->node.location};
  loom_batch_walk w;
  bool good = loom_batch_enter(&w, s->walk->ask, body, &b);
  w.masked = true;
  for (uint32_t i = 0; good && i < body->input_count; i++)
    good = loom_batch_input(&w, i, batches[i]);
  loom_value condition = good ? while_condition(s, &b, &w) : LOOM_NO_VALUE;
  good = good && condition != LOOM_NO_VALUE;
  if (good && test) {
    loom_value any = loom_emit_reduce(&b, "or", condition, 1, false);
    good = any != LOOM_NO_VALUE && loom_graph_output(to, any, NULL);
  }
  if (good && !test) good = loom_batch_nodes(&w, 0, body->node_count);
  for (uint32_t i = 0; good && !test && i < body->output_count; i++) {
    loom_value next = loom_batch_value(&w, body->outputs[i].value);
    const loom_type type = *loom_emit_type(&b, next);
    next = loom_emit_select(&b, region_spread(&b, condition, &type), next,
                            w.batch[body->inputs[i].value]);
    good = next != LOOM_NO_VALUE && loom_graph_output(to, next, NULL);
  }
  free(w.plain);
  if (good) return true;
  s->b->location = b.location;
  return loom_emit_fail(s->b, "%s", b.failed ? b.err.message : "out of memory"), false;
}

static bool loop_while(const loom_batch_step *s, loom_value *out) {
  const loom_node *node = &s->node;
  bool *batches = region_flags(s), each = false;
  if (!batches) return false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    batches[i] = loom_batch_is(s, i);
  if (!loop_fix(s, node->regions[1], 0, batches) ||
      !region_outputs(s, node->regions[0], batches, &each))
    return false;
  for (uint32_t i = 0; each && i < node->result_count; i++)
    batches[i] = true; /* when it ends is another matter for each example */
  loom_value *operands = region_operands(s, batches);
  if (!operands) return false;
  loom_graph regions[2];
  const bool no = false;
  bool good = true;
  for (int r = 0; r < 2; r++) {
    loom_region_init(&regions[r], r ? &regions[0] : s->b->graph);
    if (good && each)
      good = while_region(s, &regions[r], batches, r == 0);
    else if (good)
      good = region_copy(s, node->regions[r], &regions[r], batches, r ? batches : &no);
  }
  if (good) return region_node(s, regions, operands, batches, out);
  loom_graph_fini(&regions[0]);
  loom_graph_fini(&regions[1]);
  return false;
}

bool loom_batch_region(const loom_batch_step *s, loom_value *out) {
  switch (s->node.op) {
  case LOOM_OP_IF: return loom_batch_is(s, 0) ? if_each(s, out) : if_shared(s, out);
  case LOOM_OP_FOR: return loop_for(s, out);
  case LOOM_OP_WHILE: return loop_while(s, out);
  default:
    return loom_emit_fail(s->b, "'%s' cannot be vectorised", loom_op_table[s->node.op].name), false;
  }
}
