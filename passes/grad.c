/* loom-grad: turns every function of tensors into its gradient.
 *
 *   func.func @f(%x: tensor<4xf64>) -> tensor<f64> {
 *     %0 = loom.mul %x, %x
 *     %1 = loom.reduce "sum" %0 axes = [0]
 *     return %1
 *   }
 * becomes
 *   func.func @f(%x: tensor<4xf64>, %g: tensor<f64>) -> tensor<4xf64> {
 *     %0 = loom.broadcast %g dims = []
 *     %1 = loom.mul %0, %x
 *     %2 = loom.add %1, %1
 *     return %2
 *   }
 *
 * Further arguments are the cotangents of the results that are floats or complex numbers; results
 * are the cotangents of the arguments that are, behind the function's own results with the option
 * "values". The rules are those of graph/gradient.h. Ops with one number in `loom.checkpoint`
 * belong to a call whose values the derivative computes again.
 *
 *   requires: functions of one block of tensor ops.  keeps: what else the module holds.
 *   breaks: attributes of results, as what they overwrite.
 */
#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "graph/gradient.h"
#include "passes/passes.h"

enum { GRAD_VALUES }; /* the option */

static bool grad_is_smooth(const loom_graph *graph, loom_value v) {
  return loom_dtype_is_inexact(graph->values[v].type.dtype);
}

/* The graph of a function as that of its gradient. `at`: where it failed. */
static bool grad_graph(loom_graph *graph, loom_location *at, loom_error *err) {
  uint32_t ins = graph->input_count, outs = graph->output_count, to_count = 0, of_count = 0;
  loom_value *room = loom_arena_alloc(&graph->arena, (2 * (ins + outs) + 1) * sizeof *room);
  if (!room) return loom_fail(err, "out of memory");
  loom_value *to = room, *found = to + ins, *of = found + ins, *seeds = of + outs;
  for (uint32_t i = 0; i < ins; i++)
    if (grad_is_smooth(graph, graph->inputs[i].value)) to[to_count++] = graph->inputs[i].value;
  for (uint32_t i = 0; i < outs; i++) {
    if (!grad_is_smooth(graph, graph->outputs[i].value)) continue;
    const loom_type type = graph->values[graph->outputs[i].value].type;
    int64_t strides[LOOM_MAX_RANK] = {0};
    of[of_count] = graph->outputs[i].value;
    if (!loom_contiguous_strides_in(graph, &type, strides))
      return loom_fail(err, "the sizes of a result cannot be expressed");
    seeds[of_count++] = loom_graph_input(graph, LOOM_INPUT_ARRAY, &type, strides);
  }
  const loom_gradient_ask ask = {.of = of,
                                 .seeds = seeds,
                                 .of_count = of_count,
                                 .to = to,
                                 .count = to_count,
                                 .checkpoints = true};
  if (!loom_gradient(graph, &ask, found, at, err)) return false;
  if (!loom_pass_value(GRAD_VALUES, 0)) graph->output_count = 0;
  for (uint32_t i = 0; i < graph->output_count; i++)
    graph->outputs[i].overwrites = -1;
  for (uint32_t i = 0; i < to_count; i++)
    if (!loom_graph_output(graph, found[i], NULL)) return loom_fail(err, "out of memory");
  loom_graph_prune(graph);
  return true;
}

static bool grad_function(MlirOperation func) {
  loom_graph graph;
  loom_error err = {0};
  loom_location at = {0};
  loom_graph_init(&graph);
  bool good = loom_export(func, &graph, &err) && grad_graph(&graph, &at, &err) &&
              loom_replace_function(func, &graph, &err);
  if (!good) loom_function_error(func, &at, "differentiate", &err);
  loom_graph_fini(&graph);
  return good;
}

MlirPass loom_make_grad_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomGrad",
      .flag = "loom-grad",
      .summary = "Turn every function into its gradient",
      .root = "builtin.module",
      .each_function = true,
      .run = grad_function,
      .options = {{"values", "Keep the results of the functions, in front of the gradients", 0, 0,
                   1}},
  };
  return loom_pass_of(&spec);
}
