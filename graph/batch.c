/* The walk of vectorisation: which nodes depend on an example, and what stands for their operands.
 */
#include "graph/batch.h"
#include "loom_ops_control.h"

#include <stdlib.h>

/* ---- values ---- */

bool loom_batch_is(const loom_batch_step *s, uint32_t operand) {
  return s->walk->batch[s->node.operands[operand]] != LOOM_NO_VALUE;
}

loom_value loom_batch_plain(const loom_batch_step *s, uint32_t operand) {
  return s->walk->plain[s->node.operands[operand]];
}

const loom_type *loom_batch_type(const loom_batch_step *s, uint32_t operand) {
  return &s->walk->from->values[s->node.operands[operand]].type;
}

bool loom_batch_wider(const loom_batch_walk *w, const loom_type *type, loom_type *out) {
  *out = (loom_type){.dtype = type->dtype, .rank = type->rank + 1, .dims = {w->ask->size}};
  if (type->rank == LOOM_MAX_RANK)
    return loom_emit_fail(w->b, "a batch of arrays of %d dimensions has too many", type->rank),
           false;
  for (int i = 0; i < type->rank; i++)
    out->dims[i + 1] = type->dims[i];
  return true;
}

loom_value loom_batch_share(const loom_batch_walk *w, loom_value v) {
  loom_type type;
  int64_t map[LOOM_MAX_RANK];
  if (!loom_batch_wider(w, loom_emit_type(w->b, v), &type)) return LOOM_NO_VALUE;
  for (int i = 0; i < LOOM_MAX_RANK; i++)
    map[i] = i + 1;
  return loom_emit_broadcast(w->b, v, type.rank, type.dims, map);
}

loom_value loom_batch_value(const loom_batch_walk *w, loom_value v) {
  return w->batch[v] != LOOM_NO_VALUE ? w->batch[v] : loom_batch_share(w, w->plain[v]);
}

loom_value loom_batch_of(const loom_batch_step *s, uint32_t operand) {
  return loom_batch_value(s->walk, s->node.operands[operand]);
}

/* ---- ops without a rule ---- */

static loom_value batch_example(const loom_batch_step *s, uint32_t operand, int64_t i) {
  if (!loom_batch_is(s, operand)) return loom_batch_plain(s, operand);
  return loom_emit_row(s->b, loom_batch_of(s, operand), i);
}

/* The op once for each example. */
static bool batch_repeat(const loom_batch_step *s, loom_value *out) {
  const loom_node *node = &s->node;
  int64_t size = s->walk->ask->size;
  uint32_t results = node->result_count, operands = node->operand_count;
  uint32_t declared = loom_op_declares_type(node->op) ? results : 0;
  if (LOOM_DIM_IS_SYM(size) || size > LOOM_BATCH_REPEATED)
    return loom_emit_fail(s->b, "'%s' is repeated for each example, and there are more than %d",
                          loom_op_table[node->op].name, LOOM_BATCH_REPEATED),
           false;
  for (uint32_t i = 0; i < results && size == 0; i++) {
    loom_type type;
    if (!loom_batch_wider(s->walk, &s->walk->from->values[node->first_result + i].type, &type))
      return false;
    out[i] = loom_emit_int(s->b, &type, 0);
  }
  if (size == 0) return !s->b->failed;
  loom_arena *arena = &s->b->graph->arena;
  loom_value *rows = loom_arena_alloc(arena, (size_t)size * results * sizeof *rows),
             *given = loom_arena_alloc(arena, (operands + 1) * sizeof *given);
  loom_type *types = loom_arena_alloc(arena, (declared + 1) * sizeof *types);
  if (!rows || !given || !types) return loom_emit_fail(s->b, "out of memory"), false;
  for (uint32_t i = 0; i < declared; i++)
    types[i] = s->walk->from->values[node->first_result + i].type;
  for (int64_t e = 0; e < size; e++) {
    for (uint32_t i = 0; i < operands; i++)
      given[i] = batch_example(s, i, e);
    loom_value first = loom_emit(s->b, node->op, given, operands, node->attrs,
                                 loom_op_attr_count(node->op), declared ? types : NULL, declared);
    for (uint32_t i = 0; i < results && !s->b->failed; i++)
      rows[i * (uint32_t)size + (uint32_t)e] = loom_emit_as_row(s->b, first + i);
    if (s->b->failed) return false;
  }
  for (uint32_t i = 0; i < results; i++)
    out[i] = loom_emit_concatenate(s->b, rows + i * (uint32_t)size, (uint32_t)size, 0);
  return !s->b->failed;
}

/* ---- nodes ---- */

static bool batch_depends(const loom_batch_walk *w, const loom_node *node) {
  for (uint32_t i = 0; i < node->operand_count; i++)
    if (w->batch[node->operands[i]] != LOOM_NO_VALUE) return true;
  return false;
}

/* A node that no example changes: it is there already, or is copied. */
static bool batch_keep(loom_batch_walk *w, const loom_node *node) {
  loom_error err = {0};
  if (w->from == w->b->graph) return true;
  if (loom_graph_copy_node(w->from, node, w->b->graph, w->plain, &err)) return true;
  return loom_emit_fail(w->b, "%s", err.message), false;
}

/* Are the results of the types that they have for one example, with the axis in front? */
static bool batch_check(const loom_batch_step *s, const loom_value *out) {
  for (uint32_t i = 0; i < s->node.result_count; i++) {
    loom_type want;
    if (!loom_batch_wider(s->walk, &s->walk->from->values[s->node.first_result + i].type, &want))
      return false;
    if (!loom_type_equal(&want, loom_emit_type(s->b, out[i])))
      return loom_emit_fail(s->b, "the batch of '%s' is of another type than its examples",
                            loom_op_table[s->node.op].name),
             false;
  }
  return true;
}

static bool batch_node(loom_batch_walk *w, uint32_t n) {
  loom_batch_step s = {.walk = w, .b = w->b, .number = n, .node = w->from->nodes[n]};
  const loom_node *node = &s.node;
  bool depends = batch_depends(w, node), checks = loom_node_has_effect(node);
  if (!depends && !w->masked) return batch_keep(w, node);
  w->b->location = node->location;
  w->b->location.warning = 0;
  if (checks && w->masked)
    return loom_emit_fail(w->b,
                          "'%s', which may raise, in a branch or loop that not all examples take",
                          loom_op_table[node->op].name),
           false;
  if (node->op == LOOM_OP_WHILE && w->masked)
    return loom_emit_fail(w->b,
                          "a loop of unknown length in a branch or loop that not all examples "
                          "take: it might never end"),
           false;
  if (!depends) return batch_keep(w, node);
  loom_value *out = loom_arena_alloc(&w->b->graph->arena, (node->result_count + 1) * sizeof *out);
  if (!out) return loom_emit_fail(w->b, "out of memory"), false;
  bool good;
  if (node->op == LOOM_OP_HOST_CALL && !w->ask->host)
    good = (loom_emit_fail(w->b, "a call of the library cannot be vectorised"), false);
  else if (node->op == LOOM_OP_HOST_CALL)
    good = w->ask->host(w->ask->context, &s, out);
  else if (node->regions)
    good = loom_batch_region(&s, out);
  else {
    for (uint32_t i = 0; i < node->result_count; i++)
      out[i] = LOOM_NO_VALUE;
    good = loom_batch_rule(&s, out) && (out[0] != LOOM_NO_VALUE || batch_repeat(&s, out));
  }
  if (!good || w->b->failed || !batch_check(&s, out)) return false;
  for (uint32_t i = 0; i < node->result_count; i++)
    w->batch[node->first_result + i] = out[i];
  return true;
}

bool loom_batch_nodes(loom_batch_walk *w, uint32_t first, uint32_t end) {
  for (uint32_t n = first; n < end; n++)
    if (!batch_node(w, n)) return false;
  return true;
}

/* ---- a graph that is written while another is read ---- */

bool loom_batch_enter(loom_batch_walk *w, const loom_batch_ask *ask, const loom_graph *region,
                      loom_emitter *b) {
  size_t values = (size_t)region->value_count + 1;
  *w = (loom_batch_walk){.b = b, .ask = ask, .from = region};
  w->plain = malloc(2 * values * sizeof *w->plain);
  if (!w->plain) return loom_emit_fail(b, "out of memory"), false;
  w->batch = w->plain + values;
  for (size_t i = 0; i < 2 * values; i++)
    w->plain[i] = LOOM_NO_VALUE;
  return true;
}

bool loom_batch_input(loom_batch_walk *w, uint32_t input, bool batch) {
  const loom_input *as = &w->from->inputs[input];
  loom_type type = w->from->values[as->value].type;
  if (batch && !loom_batch_wider(w, &w->from->values[as->value].type, &type)) return false;
  loom_value made = batch ? loom_graph_input(w->b->graph, LOOM_INPUT_ARRAY, &type, NULL)
                          : loom_graph_input(w->b->graph, as->kind, &type, as->strides);
  if (made == LOOM_NO_VALUE) return loom_emit_fail(w->b, "out of memory"), false;
  (batch ? w->batch : w->plain)[as->value] = made;
  return true;
}

static bool batch_output(loom_batch_walk *w, loom_value v, bool batch) {
  loom_value out = batch ? loom_batch_value(w, v) : w->plain[v];
  if (w->b->failed) return false;
  return loom_graph_output(w->b->graph, out, NULL) ||
         (loom_emit_fail(w->b, "out of memory"), false);
}

bool loom_batch_copy(loom_batch_walk *w, const bool *inputs, const bool *outputs) {
  for (uint32_t i = 0; i < w->from->input_count; i++)
    if (!loom_batch_input(w, i, inputs[i])) return false;
  if (!loom_batch_nodes(w, 0, w->from->node_count)) return false;
  for (uint32_t i = 0; i < w->from->output_count; i++)
    if (!batch_output(w, w->from->outputs[i].value, outputs[i])) return false;
  return true;
}

bool loom_batch_function(const loom_graph *from, loom_dim size, const bool *shared, loom_graph *to,
                         loom_location *at, loom_error *err) {
  const loom_batch_ask ask = {.size = size};
  loom_emitter b = {.graph = to};
  loom_batch_walk w;
  uint32_t ins = from->input_count, outs = from->output_count;
  bool *batches = malloc(ins + outs + 1), good = loom_batch_enter(&w, &ask, from, &b) && batches;
  for (uint32_t i = 0; good && i < ins + outs; i++)
    batches[i] = i >= ins || !shared[i];
  good = good && loom_batch_copy(&w, batches, batches + ins);
  free(w.plain);
  free(batches);
  *at = b.location;
  return good || loom_fail(err, "%s", b.failed ? b.err.message : "out of memory");
}

/* ---- a graph ---- */

/* Marks the values that some result is made of. Operands come before their users. */
static void batch_needed(const loom_graph *graph, const loom_batch_ask *ask, bool *needed,
                         uint32_t end) {
  for (uint32_t i = 0; i < ask->of_count; i++)
    needed[ask->of[i]] = true;
  for (uint32_t n = end; n-- > 0;) {
    const loom_node *node = &graph->nodes[n];
    bool asked = loom_node_has_effect(node);
    for (uint32_t i = 0; i < node->result_count; i++)
      asked |= needed[node->first_result + i];
    for (uint32_t i = 0; asked && i < node->operand_count; i++)
      needed[node->operands[i]] = true;
    for (uint32_t i = 0; asked && i < node->result_count; i++)
      needed[node->first_result + i] = true;
  }
}

static bool batch_run(loom_batch_walk *w, bool *needed, loom_value *out) {
  const loom_batch_ask *ask = w->ask;
  const loom_graph *graph = w->from;
  uint32_t values = graph->value_count, end = graph->node_count;
  for (uint32_t i = 0; i < values; i++)
    w->plain[i] = i;
  batch_needed(graph, ask, needed, end);
  for (uint32_t i = 0; i < ask->count; i++)
    w->batch[ask->examples[i]] = ask->batches[i];
  for (uint32_t n = 0; n < end; n++) {
    const loom_node *node = &graph->nodes[n];
    bool asked = loom_node_has_effect(node) && batch_depends(w, node);
    for (uint32_t i = 0; i < node->result_count; i++)
      asked |= needed[node->first_result + i];
    if (asked && !loom_batch_nodes(w, n, n + 1)) return false;
  }
  for (uint32_t i = 0; i < ask->of_count; i++)
    out[i] = w->batch[ask->of[i]];
  return true;
}

bool loom_batch(loom_graph *graph, const loom_batch_ask *ask, loom_value *out, loom_location *at,
                loom_error *err) {
  loom_emitter b = {.graph = graph};
  loom_batch_walk w;
  bool *needed = calloc((size_t)graph->value_count + 1, sizeof *needed);
  bool done = loom_batch_enter(&w, ask, graph, &b) && needed && batch_run(&w, needed, out);
  free(w.plain);
  free(needed);
  *at = b.location;
  return done || loom_fail(err, "%s", b.failed ? b.err.message : "out of memory");
}
