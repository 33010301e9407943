/* Nodes of the graph as the body of a loop, or as the two regions of a branch. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "loom_ops_control.h"
#include "loom_ops_shapes.h"

#include <string.h>

typedef struct body_job {
  tracer *t;
  const roll_body *body;
  loom_graph *graph, region, test;
  uint32_t end;         /* behind the last node */
  uint8_t *live;        /* nodes, from the first one on */
  loom_value *map;      /* value -> in the region; LOOM_NO_VALUE */
  loom_value *operands; /* of the loop: count, initial values, what is outside */
  uint32_t operand_count;
  loom_value *unread; /* values that nobody reads, but the library would report an exception of:
                         they are carried, in front of the others; NULL: there may be none */
  uint32_t unread_count;
} body_job;

static bool body_is_carried(const body_job *j, loom_value v) {
  for (uint32_t i = 0; i < j->body->carried; i++)
    if (j->body->before[i] == v) return true;
  return v == j->body->index && !j->body->tested;
}

/* Has the value another size in each iteration? */
static bool body_varies(const body_job *j, loom_value v) {
  const loom_type *type = loom_graph_type(j->graph, v);
  bool varies = false;
  for (int i = 0; i < type->rank; i++)
    varies |= size_is_looped(j->t, loom_stride_of_dim(type->dims[i]));
  return varies;
}

/* Would somebody hear of a floating-point exception of the node? Not where derivatives are taken.
 */
static bool body_reports(const body_job *j, const loom_node *node) {
  return !j->t->loops.derived && !j->t->flags.derives && loom_node_fp(j->graph, node);
}

/* Marks what the results need, and what must happen all the same; false when something would be
 * lost. */
static bool body_mark(body_job *j) {
  const roll_body *b = j->body;
  uint8_t *needed = trace_alloc(j->t, j->graph->value_count + 1);
  if (!needed) return false;
  for (uint32_t i = 0; i < b->carried; i++)
    needed[b->after[i]] = 1;
  for (uint32_t n = j->end; n-- > b->first;) {
    const loom_node *node = &j->graph->nodes[n];
    bool live = loom_node_has_effect(node);
    for (uint32_t i = 0; i < node->result_count; i++)
      live |= needed[node->first_result + i];
    if (!live && body_reports(j, node)) {
      if (!j->unread || body_varies(j, node->first_result) ||
          loom_dtype_is_complex(loom_graph_type(j->graph, node->first_result)->dtype))
        return false;
      j->unread[j->unread_count++] = node->first_result;
      live = true;
    }
    j->live[n - b->first] = live;
    for (uint32_t i = 0; live && i < node->operand_count; i++)
      needed[node->operands[i]] = 1;
  }
  return true;
}

static loom_value body_input(body_job *j, loom_value outer, loom_value operand) {
  loom_value v =
      loom_graph_input(&j->region, LOOM_INPUT_ARRAY, loom_graph_type(j->graph, outer), NULL);
  if (v == LOOM_NO_VALUE) return trace_fail(j->t), v;
  j->map[outer] = v;
  if (operand != LOOM_NO_VALUE) j->operands[j->operand_count++] = operand;
  return v;
}

/* A carried value of this type whose initial one nobody reads. */
static bool body_unread(body_job *j, loom_value v) {
  const loom_attr zero = {.kind = LOOM_ATTR_SCALAR};
  loom_type type = *loom_graph_type(j->graph, v);
  loom_value init = trace_node(j->t, LOOM_OP_CONSTANT, NULL, 0, &zero, 1, &type);
  if (init == LOOM_NO_VALUE) return false;
  j->operands[j->operand_count++] = init;
  return loom_graph_input(&j->region, LOOM_INPUT_ARRAY, &type, NULL) != LOOM_NO_VALUE ||
         trace_fail(j->t);
}

/* Inputs: the index, what is carried, what is read of the outside. */
static bool body_inputs(body_job *j) {
  const roll_body *b = j->body;
  if (!b->tested && body_input(j, b->index, LOOM_NO_VALUE) == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < j->unread_count; i++)
    if (!body_unread(j, j->unread[i])) return false;
  for (uint32_t i = 0; i < b->carried; i++)
    if (body_input(j, b->before[i], b->inits[i]) == LOOM_NO_VALUE) return false;
  for (uint32_t n = b->first; n < j->end; n++) {
    const loom_node *node = &j->graph->nodes[n];
    for (uint32_t i = 0; j->live[n - b->first] && i < node->operand_count; i++) {
      loom_value v = node->operands[i];
      if (v >= b->first_value && j->graph->values[v].node >= (int32_t)b->first) continue;
      if (j->map[v] != LOOM_NO_VALUE || body_is_carried(j, v)) continue;
      if (body_input(j, v, v) == LOOM_NO_VALUE) return false;
    }
  }
  for (uint32_t i = 0; i < b->carried; i++) { /* one that is handed on */
    loom_value v = b->after[i];
    bool made = j->graph->values[v].node >= (int32_t)b->first;
    if (!made && j->map[v] == LOOM_NO_VALUE && body_input(j, v, v) == LOOM_NO_VALUE) return false;
  }
  return true;
}

static bool body_nodes(body_job *j) {
  const roll_body *b = j->body;
  loom_error err = {0};
  for (uint32_t n = b->first; n < j->end; n++)
    if (j->live[n - b->first] &&
        !loom_graph_copy_node(j->graph, &j->graph->nodes[n], &j->region, j->map, &err))
      return false;
  for (uint32_t i = 0; i < j->unread_count; i++)
    if (!loom_graph_output(&j->region, j->map[j->unread[i]], NULL)) return false;
  for (uint32_t i = 0; i < b->carried; i++)
    if (!loom_graph_output(&j->region, j->map[b->after[i]], NULL)) return false;
  return true;
}

/* The region that says whether a `while` goes on: what is carried last. */
static bool body_test(body_job *j) {
  loom_value v = LOOM_NO_VALUE;
  for (uint32_t i = 0; i < j->region.input_count; i++) {
    loom_value in = loom_graph_input(&j->test, LOOM_INPUT_ARRAY,
                                     loom_graph_type(&j->region, j->region.inputs[i].value), NULL);
    if (in == LOOM_NO_VALUE) return false;
    if (i + 1 == j->unread_count + j->body->carried) v = in;
  }
  return loom_graph_output(&j->test, v, NULL);
}

#define BODY_CONSTANT 4 /* nodes on the way to what a constant is made of */

/* Does the value depend on nothing, and is it made without any report? */
static bool body_is_constant(const loom_graph *graph, loom_value v, int depth) {
  int32_t number = graph->values[v].node;
  const loom_node *node = number < 0 ? NULL : &graph->nodes[number];
  bool constant = node && !node->regions && depth < BODY_CONSTANT && !loom_node_has_effect(node) &&
                  !loom_node_fp(graph, node);
  for (uint32_t i = 0; constant && i < node->operand_count; i++)
    constant = body_is_constant(graph, node->operands[i], depth + 1);
  return constant;
}

/* The iteration that was evaluated is in the loop now: what is left of it here means nothing, but
 * for constants, which values that were looked at for the first time may stand for. */
static void body_clear(body_job *j) {
  for (uint32_t n = j->body->first; n < j->end; n++) {
    loom_node *node = &j->graph->nodes[n];
    if (node->result_count && body_is_constant(j->graph, node->first_result, 0)) continue;
    node->op = LOOM_OP_CONSTANT;
    node->operand_count = 0;
    node->regions = NULL;
    memset(node->attrs, 0, sizeof node->attrs);
    node->attrs[0].kind = LOOM_ATTR_SCALAR;
  }
}

static bool body_finish(body_job *j) {
  const roll_body *b = j->body;
  loom_location location = trace_location(j->t);
  loom_error err = {0};
  loom_graph regions[2] = {b->tested ? j->test : j->region, j->region};
  loom_value made =
      loom_graph_region_node(j->graph, b->tested ? LOOM_OP_WHILE : LOOM_OP_FOR, j->operands,
                             j->operand_count, regions, b->symbol, &location, &err);
  if (made == LOOM_NO_VALUE)
    return trace_break(j->t, BREAK_COMPILER, "a loop: %s", err.message), false;
  body_clear(j);
  for (uint32_t i = 0; i < b->carried; i++)
    b->after[i] = made + j->unread_count + i;
  return true;
}

bool roll_make_loop(tracer *t, const roll_body *b) {
  body_job j = {.t = t, .body = b, .graph = trace_graph(t)};
  j.end = j.graph->node_count;
  j.live = trace_alloc(t, j.end - b->first + 1u);
  j.unread = trace_alloc(t, sizeof *j.unread * (j.end - b->first + 1u));
  if (!j.live || !j.unread || !body_mark(&j)) return false;
  loom_value counted = b->tested ? LOOM_NO_VALUE : size_node(t, b->count);
  uint32_t values = j.graph->value_count;
  j.map = trace_alloc(t, sizeof *j.map * (values + 1u));
  j.operands = trace_alloc(t, sizeof *j.operands * (values + b->carried + j.unread_count + 2u));
  if ((counted == LOOM_NO_VALUE && !b->tested) || !j.map || !j.operands) return false;
  memset(j.map, 0xff, sizeof *j.map * values);
  if (!b->tested) j.operands[j.operand_count++] = counted;
  loom_region_init(&j.region, j.graph);
  loom_region_init(&j.test, j.graph);
  bool good = body_inputs(&j) && body_nodes(&j) && (!b->tested || body_test(&j));
  if (good && !b->tested) loom_graph_fini(&j.test);
  if (good) return body_finish(&j);
  loom_graph_fini(&j.region);
  loom_graph_fini(&j.test);
  return false;
}

/* ---- branches ---- */

/* Values that a way reads of the outside become inputs of both, in one order. */
typedef struct ways_inputs {
  uint8_t *known;
  loom_value *list;
  uint32_t count;
} ways_inputs;

static bool ways_holds(const body_job *way, loom_value v) {
  int32_t node = way->graph->values[v].node;
  return node >= (int32_t)way->body->first && node < (int32_t)way->end;
}

static bool ways_read(const body_job *ways, int own, ways_inputs *in, loom_value v) {
  if (ways_holds(&ways[own], v)) return true;
  if (ways_holds(&ways[1 - own], v) && !body_is_constant(ways[own].graph, v, 0)) return false;
  if (!in->known[v]) in->list[in->count++] = v;
  in->known[v] = 1;
  return true;
}

static bool ways_outside(const body_job *ways, int own, ways_inputs *in) {
  const body_job *way = &ways[own];
  for (uint32_t n = way->body->first; n < way->end; n++) {
    const loom_node *node = &way->graph->nodes[n];
    for (uint32_t k = 0; way->live[n - way->body->first] && k < node->operand_count; k++)
      if (!ways_read(ways, own, in, node->operands[k])) return false;
  }
  for (uint32_t k = 0; k < way->body->carried; k++)
    if (!ways_read(ways, own, in, way->body->after[k])) return false;
  return true;
}

static bool ways_fill(body_job *j, const loom_value *list, uint32_t count) {
  loom_region_init(&j->region, j->graph);
  for (uint32_t i = 0; i < count; i++)
    if (body_input(j, list[i], LOOM_NO_VALUE) == LOOM_NO_VALUE) return false;
  return body_nodes(j);
}

static bool ways_finish(tracer *t, const roll_ways *w, body_job *ways, const loom_value *operands,
                        uint32_t count) {
  loom_location location = trace_location(t);
  loom_error err = {0};
  loom_graph regions[2] = {ways[w->true_way].region, ways[1 - w->true_way].region};
  loom_value made = loom_graph_region_node(ways[0].graph, LOOM_OP_IF, operands, count, regions, -1,
                                           &location, &err);
  if (made == LOOM_NO_VALUE)
    return trace_break(t, BREAK_COMPILER, "a branch: %s", err.message), false;
  for (int i = 0; i < 2; i++)
    body_clear(&ways[i]);
  for (uint32_t i = 0; i < w->count; i++)
    w->results[i] = made + i;
  return true;
}

bool roll_make_branch(tracer *t, const roll_ways *w) {
  loom_graph *graph = trace_graph(t);
  roll_body bodies[2];
  body_job ways[2];
  uint32_t values = graph->value_count;
  ways_inputs in = {.known = trace_alloc(t, values + 1u)};
  loom_value *operands = trace_alloc(t, sizeof *operands * (values + 2u));
  if (w->count == 0) return true; /* whatever happened has no results */
  if (!in.known || !operands) return false;
  for (int i = 0; i < 2; i++) {
    bodies[i] = (roll_body){.first = w->bounds[i], .carried = w->count};
    bodies[i].after = (loom_value *)w->values[i];
    ways[i] = (body_job){.t = t, .body = &bodies[i], .graph = graph, .end = w->bounds[i + 1]};
    ways[i].live = trace_alloc(t, ways[i].end - bodies[i].first + 1u);
    ways[i].map = trace_alloc(t, sizeof *ways[i].map * (values + 1u));
    if (!ways[i].live || !ways[i].map || !body_mark(&ways[i])) return false;
    memset(ways[i].map, 0xff, sizeof *ways[i].map * values);
  }
  operands[0] = w->condition;
  in.list = operands + 1;
  if (!ways_outside(ways, 0, &in) || !ways_outside(ways, 1, &in)) return false;
  bool good = ways_fill(&ways[0], in.list, in.count);
  good = ways_fill(&ways[1], in.list, in.count) && good;
  if (good) return ways_finish(t, w, ways, operands, in.count + 1);
  for (int i = 0; i < 2; i++)
    loom_graph_fini(&ways[i].region);
  return false;
}
