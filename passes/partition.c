/* loom-partition: cuts every function that computes results and their gradients into two.
 *
 *   func.func @f(%x: tensor<4xf64>, %g: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
 *     %0 = loom.exp %x
 *     %1 = loom.mul %g, %0
 *     return %0, %1
 *   }
 * becomes
 *   func.func @f_forward(%x: tensor<4xf64>) -> (tensor<4xf64>, tensor<4xf64>) {
 *     %0 = loom.exp %x
 *     return %0, %0
 *   }
 *   func.func @f_backward(%s: tensor<4xf64>, %g: tensor<4xf64>) -> tensor<4xf64> {
 *     %0 = loom.mul %g, %s
 *     return %0
 *   }
 *
 * The first `results` results are the forward's, the last `cotangents` arguments the backward's;
 * such functions are what loom-grad makes with its option "values". Behind its own results the
 * forward gives what it saves, which are the first arguments of the backward; an argument that is
 * saved is given back. What is saved graph/partition.h says.
 *
 *   requires: functions of one block of tensor ops, sizes that are known.  keeps: what else the
 *   module holds.  breaks: attributes of results, as what they overwrite.
 */
#include "graph/partition.h"
#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

enum { PARTITION_RESULTS, PARTITION_COTANGENTS }; /* the options */

typedef struct partition {
  loom_graph whole, ordered, forward, backward;
  loom_value *map;                     /* of `whole` -> of `ordered` */
  bool *late;                          /* by value of `whole`: the backward computes it */
  uint32_t results, cotangents, nodes; /* of the forward */
  loom_value *values;                  /* results, then gradients, in `ordered` */
  loom_saved saved;
} partition;

/* Marks what depends on a cotangent, and what the forward's results do not need. */
static bool partition_mark(partition *p) {
  loom_graph *g = &p->whole;
  bool *needed = calloc(g->value_count + 1, sizeof *needed);
  if (!needed) return false;
  for (uint32_t i = 0; i < p->results; i++)
    needed[g->outputs[i].value] = true;
  for (uint32_t n = g->node_count; n-- > 0;) {
    const loom_node *node = &g->nodes[n];
    bool wanted = false;
    for (uint32_t i = 0; i < node->result_count; i++)
      wanted |= needed[node->first_result + i];
    for (uint32_t i = 0; wanted && i < node->operand_count; i++)
      needed[node->operands[i]] = true;
  }
  for (uint32_t i = g->input_count - p->cotangents; i < g->input_count; i++)
    p->late[g->inputs[i].value] = true;
  for (uint32_t n = 0; n < g->node_count; n++) {
    const loom_node *node = &g->nodes[n];
    bool late = true;
    for (uint32_t i = 0; i < node->result_count; i++)
      late &= !needed[node->first_result + i];
    for (uint32_t i = 0; i < node->operand_count; i++)
      late |= p->late[node->operands[i]];
    for (uint32_t i = 0; i < node->result_count; i++)
      p->late[node->first_result + i] = late;
  }
  free(needed);
  return true;
}

static bool partition_copy(partition *p, bool late, loom_error *err) {
  const loom_graph *g = &p->whole;
  for (uint32_t n = 0; n < g->node_count; n++)
    if (p->late[g->nodes[n].first_result] == late &&
        !loom_graph_copy_node(g, &g->nodes[n], &p->ordered, p->map, err))
      return false;
  return true;
}

/* The nodes of the forward first. */
static bool partition_order(partition *p, loom_error *err) {
  const loom_graph *g = &p->whole;
  for (uint32_t i = 0; i < g->input_count; i++)
    p->map[g->inputs[i].value] =
        loom_graph_input(&p->ordered, g->inputs[i].kind, loom_graph_type(g, g->inputs[i].value),
                         g->inputs[i].strides);
  if (!partition_copy(p, false, err)) return false;
  p->nodes = p->ordered.node_count;
  if (!partition_copy(p, true, err)) return false;
  for (uint32_t i = 0; i < g->output_count; i++)
    p->values[i] = p->map[g->outputs[i].value];
  for (uint32_t i = 0; i < p->results; i++)
    if (p->late[g->outputs[i].value]) return loom_fail(err, "result %u depends on a cotangent", i);
  return true;
}

/* The forward gives its results, then what is saved. */
static bool partition_forward(partition *p, loom_error *err) {
  const loom_graph *g = &p->ordered;
  loom_value *map = loom_arena_alloc(&p->ordered.arena, (g->value_count + 1) * sizeof *map);
  if (!map) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i + p->cotangents < g->input_count; i++)
    map[g->inputs[i].value] =
        loom_graph_input(&p->forward, g->inputs[i].kind, loom_graph_type(g, g->inputs[i].value),
                         g->inputs[i].strides);
  for (uint32_t n = 0; n < p->nodes; n++)
    if (!loom_graph_copy_node(g, &g->nodes[n], &p->forward, map, err)) return false;
  bool good = true;
  for (uint32_t i = 0; i < p->results && good; i++)
    good = loom_graph_output(&p->forward, map[p->values[i]], p->whole.outputs[i].strides);
  for (uint32_t i = 0; i < p->saved.count && good; i++)
    good = loom_graph_output(&p->forward, map[p->saved.values[i]], NULL);
  return good || loom_fail(err, "out of memory");
}

static bool partition_cut(partition *p, loom_error *err) {
  uint32_t inputs = p->ordered.input_count - p->cotangents;
  bool *held = loom_arena_alloc(&p->ordered.arena, inputs + 1);
  if (!held) return loom_fail(err, "out of memory");
  memset(held, 1, inputs);
  const loom_joint joint = {.graph = &p->ordered,
                            .nodes = p->nodes,
                            .inputs = inputs,
                            .held = held,
                            .results = p->values,
                            .result_count = p->results,
                            .gradients = p->values + p->results,
                            .gradient_count = p->whole.output_count - p->results};
  return loom_graph_partition(&joint, &p->backward, &p->saved, err) && partition_forward(p, err);
}

/* Adds a function of the graph in front of `func`, under its name with a suffix. */
static bool partition_add(MlirOperation func, const loom_graph *graph, const char *suffix,
                          loom_error *err) {
  MlirStringRef name = mlirStringAttrGetValue(loom_get_attr(func, "sym_name"));
  char *full = malloc(name.length + strlen(suffix) + 1);
  if (!full) return loom_fail(err, "out of memory");
  memcpy(full, name.data, name.length);
  memcpy(full + name.length, suffix, strlen(suffix) + 1);
  MlirAttribute attr = mlirStringAttrGet(mlirOperationGetContext(func), loom_str(full));
  free(full);
  return loom_add_function(func, graph, attr, err);
}

static bool partition_check(partition *p, loom_error *err) {
  const loom_graph *g = &p->whole;
  p->results = (uint32_t)loom_pass_value(PARTITION_RESULTS, 1);
  p->cotangents = (uint32_t)loom_pass_value(PARTITION_COTANGENTS, 1);
  if (p->results > g->output_count || p->cotangents > g->input_count)
    return loom_fail(err, "it has %u results and %u arguments", g->output_count, g->input_count);
  for (uint32_t v = 0; v < g->value_count; v++)
    if (loom_type_elements(&g->values[v].type) < 0)
      return loom_fail(err, "its sizes are not known");
  p->map = calloc(g->value_count + 1, sizeof *p->map);
  p->late = calloc(g->value_count + 1, sizeof *p->late);
  p->values = calloc(g->output_count + 1, sizeof *p->values);
  return (p->map && p->late && p->values && partition_mark(p)) || loom_fail(err, "out of memory");
}

static bool partition_function(MlirOperation func) {
  partition p;
  loom_error err = {0};
  memset(&p, 0, sizeof p);
  loom_graph *const graphs[] = {&p.whole, &p.ordered, &p.forward, &p.backward};
  for (int i = 0; i < 4; i++)
    loom_graph_init(graphs[i]);
  bool good = loom_export(func, &p.whole, &err) && partition_check(&p, &err) &&
              partition_order(&p, &err) && partition_cut(&p, &err) &&
              partition_add(func, &p.forward, "_forward", &err) &&
              partition_add(func, &p.backward, "_backward", &err);
  if (good)
    mlirOperationDestroy(func);
  else
    loom_emit_error(mlirOperationGetLocation(func), "cannot cut the function: %s", err.message);
  for (int i = 0; i < 4; i++)
    loom_graph_fini(graphs[i]);
  loom_saved_fini(&p.saved);
  free(p.values);
  free(p.late);
  free(p.map);
  return good;
}

MlirPass loom_make_partition_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomPartition",
      .flag = "loom-partition",
      .summary = "Cut functions with gradients into forward and backward parts",
      .root = "builtin.module",
      .each_function = true,
      .run = partition_function,
      .options = {{"results", "How many results, from the first on, are the forward's", 1, 0, 4096},
                  {"cotangents", "How many arguments, the last ones, are the backward's", 1, 0,
                   4096}},
  };
  return loom_pass_of(&spec);
}
