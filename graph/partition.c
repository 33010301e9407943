/* Cutting a joint graph in two (partition.h).
 *
 * Each value of the forward that the backward can use is two nodes of a flow network, joined by an
 * edge whose capacity is what it costs to save the value. The source leads to the first of them,
 * with the cost of computing the value in the backward once more; users follow from the second
 * one; what the backward reads itself leads to the sink. The least cut of the network is the
 * cheapest choice: an edge between the halves of a value that is cut means that the value is saved.
 */
#include "graph/partition.h"
#include "graph/flow.h"
#include "loom_ops_control.h"

#include <stdlib.h>
#include <string.h>

/* What things cost, in ns: a byte that is written and read again, one that is only read, and an
 * instruction of a vectorised kernel for one element. */
#define CUT_BYTE_SAVED 0.2
#define CUT_BYTE_READ 0.1
#define CUT_BYTE_HELD 0.01 /* of a result, which exists in any case */
#define CUT_INSTRUCTION 0.04
/* How often the traffic of a value counts that a checkpoint is there to forget. */
#define CUT_FORGOTTEN 1e3

typedef struct cut {
  const loom_joint *joint;
  const loom_graph *graph;
  bool *needed; /* by value: the backward computes or reads it */
  bool *result; /* by value: it is a result of the forward */
  bool *direct; /* by value: the backward reads it, or a view of it */
  bool *border; /* by value: it is of a checkpointed call, and read outside of that call */
  flow flow;
} cut;

/* Is it a number of the sizes, which is never saved? */
static bool cut_is_number(const cut *c, loom_value v) {
  const loom_value_info *info = &c->graph->values[v];
  return info->node < 0 && c->joint->made && c->joint->made[info->index];
}

static bool cut_is_forward(const cut *c, loom_value v) {
  const loom_value_info *info = &c->graph->values[v];
  if (cut_is_number(c, v)) return false;
  return info->node < 0 ? (uint32_t)info->index < c->joint->inputs
                        : (uint32_t)info->node < c->joint->nodes;
}

static const loom_node *cut_node(const cut *c, loom_value v) {
  int32_t node = c->graph->values[v].node;
  return node < 0 ? NULL : &c->graph->nodes[node];
}

static double cut_elements(const cut *c, loom_value v) {
  const loom_type *type = &c->graph->values[v].type;
  double count = 1;
  for (int i = 0; i < type->rank; i++)
    count *= (double)loom_stride_hint(c->graph, loom_stride_of_dim(type->dims[i]));
  return count;
}

static double cut_bytes(const cut *c, loom_value v) {
  return cut_elements(c, v) * (double)loom_dtype_size(c->graph->values[v].type.dtype);
}

/* Does the backward compute a value of a checkpointed call again, whatever that costs? What others
 * read of the call is saved, as the checkpoint's arguments are. */
static bool cut_is_forgotten(const cut *c, loom_value v) {
  const loom_node *node = cut_node(c, v);
  return node && node->location.checkpoint && !c->border[v] && !c->result[v] && !node->regions &&
         node->op != LOOM_OP_HOST_CALL && !loom_node_has_effect(node);
}

static double cut_save_cost(const cut *c, loom_value v) {
  const loom_value_info *info = &c->graph->values[v];
  if (c->direct[v] && info->node < 0 && c->joint->held[info->index]) return 0;
  double cost = cut_bytes(c, v) * (c->direct[v] && c->result[v] ? CUT_BYTE_HELD : CUT_BYTE_SAVED);
  return cut_is_forgotten(c, v) ? (cost + 1) * CUT_FORGOTTEN : cost;
}

static bool cut_is_repeatable(const cut *c, loom_value v) {
  const loom_node *node = cut_node(c, v);
  if (!node || c->border[v] || node->result_count != 1 || loom_node_has_effect(node)) return false;
  switch (loom_op_table[node->op].fusion) {
  case LOOM_CLASS_CONSTANT:
  case LOOM_CLASS_VIEW:
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_MOVE:
  case LOOM_CLASS_REDUCE: return true;
  default: return false;
  }
}

static double cut_repeat_cost(const cut *c, loom_value v) {
  const loom_node *node = cut_node(c, v);
  const loom_type *type = &c->graph->values[v].type;
  if (cut_is_forgotten(c, v)) return 0;
  if (!cut_is_repeatable(c, v)) return FLOW_ENDLESS;
  const loom_op_info *info = &loom_op_table[node->op];
  if (info->fusion == LOOM_CLASS_VIEW || info->fusion == LOOM_CLASS_CONSTANT) return 0;
  double work = (double)(type->dtype == LOOM_F64 ? info->cost_f64 : info->cost) + 1;
  if (info->fusion != LOOM_CLASS_REDUCE) return work * CUT_INSTRUCTION * cut_elements(c, v);
  loom_value from = node->operands[0];
  return cut_bytes(c, from) * CUT_BYTE_READ + work * CUT_INSTRUCTION * cut_elements(c, from);
}

/* Is a value of the forward on the backward's side of the cut? */
static bool cut_is_behind(const cut *c, loom_value v) {
  return c->flow.level && cut_is_forward(c, v) && c->flow.level[2 * v] < 0;
}

/* Is a value of the forward computed in the backward, or taken over from it? */
static bool cut_is_repeated(const cut *c, loom_value v) {
  return c->needed[v] && cut_is_behind(c, v);
}

static bool cut_is_saved(const cut *c, loom_value v) {
  return c->needed[v] && cut_is_forward(c, v) && !cut_is_behind(c, v);
}

/* Marks the values from which the gradients are computed. Values come in the order in which they
 * are computed. Once there is a cut, values before it are not followed to their operands. */
static void cut_mark(cut *c) {
  memset(c->needed, 0, c->graph->value_count * sizeof *c->needed);
  for (uint32_t i = 0; i < c->joint->gradient_count; i++)
    c->needed[c->joint->gradients[i]] = true;
  for (uint32_t n = c->graph->node_count; n-- > 0;) {
    const loom_node *node = &c->graph->nodes[n];
    bool needed = loom_node_has_effect(node) && n >= c->joint->nodes;
    for (uint32_t i = 0; i < node->result_count; i++) {
      loom_value v = node->first_result + i;
      needed |= c->needed[v] && !(c->flow.level && cut_is_saved(c, v));
    }
    for (uint32_t i = 0; needed && i < node->operand_count; i++)
      c->needed[node->operands[i]] = true;
  }
}

static void cut_find_direct(cut *c) {
  for (uint32_t i = 0; i < c->joint->gradient_count; i++)
    c->direct[c->joint->gradients[i]] = true;
  for (uint32_t n = c->graph->node_count; n-- > 0;) {
    const loom_node *node = &c->graph->nodes[n];
    bool view = loom_op_table[node->op].fusion == LOOM_CLASS_VIEW;
    for (uint32_t i = 0; i < node->operand_count; i++)
      c->direct[node->operands[i]] |= n >= c->joint->nodes ? c->needed[node->first_result]
                                                           : view && c->direct[node->first_result];
  }
}

static void cut_find_borders(cut *c) {
  for (uint32_t n = 0; n < c->joint->nodes; n++) {
    const loom_node *node = &c->graph->nodes[n];
    for (uint32_t i = 0; i < node->operand_count; i++) {
      const loom_node *made = cut_node(c, node->operands[i]);
      if (made && made->location.checkpoint &&
          made->location.checkpoint != node->location.checkpoint)
        c->border[node->operands[i]] = true;
    }
  }
}

static bool cut_add_value(cut *c, loom_value v, uint32_t source) {
  return flow_add(&c->flow, 2 * v, 2 * v + 1, cut_save_cost(c, v)) &&
         flow_add(&c->flow, source, 2 * v, cut_repeat_cost(c, v));
}

/* The edges to what is computed of a value: within the forward, and from there to the backward. */
static bool cut_add_users(cut *c, uint32_t sink) {
  bool good = true;
  for (uint32_t n = 0; n < c->graph->node_count && good; n++) {
    const loom_node *node = &c->graph->nodes[n];
    bool forward = n < c->joint->nodes, needed = loom_node_has_effect(node) && !forward;
    for (uint32_t i = 0; i < node->result_count; i++)
      needed |= c->needed[node->first_result + i];
    for (uint32_t i = 0; needed && good && i < node->operand_count; i++) {
      loom_value from = node->operands[i];
      if (!cut_is_forward(c, from)) continue;
      if (!forward) good = flow_add(&c->flow, 2 * from + 1, sink, FLOW_ENDLESS);
      for (uint32_t r = 0; forward && good && r < node->result_count; r++)
        good = flow_add(&c->flow, 2 * from + 1, 2 * (node->first_result + r), FLOW_ENDLESS);
    }
  }
  for (uint32_t i = 0; good && i < c->joint->gradient_count; i++)
    if (cut_is_forward(c, c->joint->gradients[i]))
      good = flow_add(&c->flow, 2 * c->joint->gradients[i] + 1, sink, FLOW_ENDLESS);
  return good;
}

static bool cut_solve(cut *c) {
  uint32_t values = c->graph->value_count, source = 2 * values, sink = source + 1;
  bool good = flow_init(&c->flow, 2 * values + 2);
  for (loom_value v = 0; v < values && good; v++)
    if (c->needed[v] && cut_is_forward(c, v)) good = cut_add_value(c, v, source);
  if (!good || !cut_add_users(c, sink)) return false;
  flow_cut(&c->flow, source, sink);
  return true;
}

static bool cut_add_input(const cut *c, uint32_t i, loom_graph *backward, loom_value *map) {
  const loom_input *input = &c->graph->inputs[i];
  map[input->value] = loom_graph_input(backward, input->kind,
                                       loom_graph_type(c->graph, input->value), input->strides);
  return map[input->value] != LOOM_NO_VALUE;
}

/* The inputs behind those for saved values. */
static bool cut_add_inputs(const cut *c, loom_graph *backward, loom_value *map, loom_saved *saved) {
  const bool *made = c->joint->made;
  saved->numbers = malloc((c->graph->input_count + 1) * sizeof *saved->numbers);
  if (!saved->numbers) return false;
  for (uint32_t i = c->joint->inputs; i < c->graph->input_count; i++)
    if (!(made && made[i]) && !cut_add_input(c, i, backward, map)) return false;
  for (uint32_t i = 0; made && i < c->graph->input_count; i++) {
    if (!made[i] || !c->needed[c->graph->inputs[i].value]) continue;
    if (!cut_add_input(c, i, backward, map)) return false;
    saved->numbers[saved->number_count++] = i;
  }
  return true;
}

/* The numbers of the joint graph. */
static bool cut_add_numbers(const cut *c, loom_graph *backward) {
  const loom_graph *from = c->graph;
  backward->exprs =
      loom_arena_copy(&backward->arena, from->exprs, from->expr_count * sizeof *from->exprs);
  backward->symbols =
      loom_arena_copy(&backward->arena, from->symbols, from->symbol_count * sizeof *from->symbols);
  backward->expr_count = backward->expr_capacity = from->expr_count;
  backward->symbol_count = backward->symbol_capacity = from->symbol_count;
  return backward->exprs && backward->symbols;
}

static bool cut_save(const cut *c, loom_graph *backward, loom_value *map, loom_saved *saved) {
  if (c->graph->symbol_count && !cut_add_numbers(c, backward)) return false;
  saved->values = malloc((c->graph->value_count + 1) * sizeof *saved->values);
  saved->copied = calloc(c->graph->value_count + 1, sizeof *saved->copied);
  if (!saved->values || !saved->copied) return false;
  for (loom_value v = 0; v < c->graph->value_count; v++) {
    const loom_value_info *info = &c->graph->values[v];
    if (!cut_is_saved(c, v)) continue;
    const int64_t *strides =
        info->node < 0 && c->graph->inputs[info->index].kind == LOOM_INPUT_ARRAY
            ? c->graph->inputs[info->index].strides
            : NULL;
    int64_t own[LOOM_MAX_RANK];
    if (!strides && !loom_contiguous_strides_in(backward, &info->type, own)) return false;
    map[v] = loom_graph_input(backward, LOOM_INPUT_ARRAY, &info->type, strides ? strides : own);
    if (map[v] == LOOM_NO_VALUE) return false;
    saved->copied[saved->count] = !c->direct[v];
    saved->values[saved->count++] = v;
  }
  return cut_add_inputs(c, backward, map, saved);
}

static bool cut_build(const cut *c, loom_graph *backward, loom_value *map, loom_error *err) {
  for (uint32_t n = 0; n < c->graph->node_count; n++) {
    const loom_node *node = &c->graph->nodes[n];
    bool forward = n < c->joint->nodes, wanted = !forward && loom_node_has_effect(node);
    for (uint32_t i = 0; i < node->result_count; i++)
      wanted |=
          forward ? cut_is_repeated(c, node->first_result + i) : c->needed[node->first_result + i];
    if (wanted && !loom_graph_copy_node(c->graph, node, backward, map, err)) return false;
  }
  const int64_t *const *strides = c->joint->gradient_strides;
  for (uint32_t i = 0; i < c->joint->gradient_count; i++)
    if (!loom_graph_output(backward, map[c->joint->gradients[i]], strides ? strides[i] : NULL))
      return loom_fail(err, "out of memory");
  return true;
}

static bool cut_run(cut *c, loom_graph *backward, loom_saved *saved, loom_error *err) {
  loom_value *map = malloc((c->graph->value_count + 1) * sizeof *map);
  bool good = map && c->needed && c->result && c->direct && c->border;
  if (good) {
    memset(map, 0xff, (c->graph->value_count + 1) * sizeof *map);
    for (uint32_t i = 0; i < c->joint->result_count; i++)
      c->result[c->joint->results[i]] = true;
    cut_mark(c);
    cut_find_direct(c);
    cut_find_borders(c);
    good = cut_solve(c);
    if (good) cut_mark(c);
    good = good && cut_save(c, backward, map, saved);
  }
  if (!good) loom_fail(err, "out of memory");
  good = good && cut_build(c, backward, map, err);
  free(map);
  return good;
}

void loom_saved_fini(loom_saved *saved) {
  free(saved->values);
  free(saved->copied);
  free(saved->numbers);
  *saved = (loom_saved){0};
}

bool loom_graph_partition(const loom_joint *joint, loom_graph *backward, loom_saved *saved,
                          loom_error *err) {
  size_t values = joint->graph->value_count;
  cut c = {.joint = joint,
           .graph = joint->graph,
           .needed = calloc(values + 1, sizeof(bool)),
           .result = calloc(values + 1, sizeof(bool)),
           .direct = calloc(values + 1, sizeof(bool)),
           .border = calloc(values + 1, sizeof(bool))};
  *saved = (loom_saved){0};
  loom_graph_init(backward);
  bool good = cut_run(&c, backward, saved, err);
  if (!good) {
    loom_graph_fini(backward);
    loom_graph_init(backward);
    loom_saved_fini(saved);
  }
  flow_fini(&c.flow);
  free(c.needed);
  free(c.result);
  free(c.direct);
  free(c.border);
  return good;
}
