/* loom-vmap: turns every function of tensors into one that does for a batch of examples what it did
 * for one.
 *
 *   func.func @f(%x: tensor<4xf64>, %w: tensor<4xf64>) -> tensor<f64> {
 *     %0 = loom.mul %x, %w
 *     %1 = loom.reduce "sum" %0 axes = [0]
 *     return %1
 *   }
 * becomes with --loom-vmap="size=8 shared=1"
 *   func.func @f(%x: tensor<8x4xf64>, %w: tensor<4xf64>) -> tensor<8xf64> {
 *     %0 = loom.broadcast %w dims = [1]
 *     %1 = loom.mul %x, %0
 *     %2 = loom.reduce "sum" %1 axes = [1]
 *     return %2
 *   }
 *
 * All arguments but those that "shared" numbers, and all results, have a further axis of "size"
 * examples, the first one. The rules are those of graph/batch.h.
 *
 *   requires: functions of one block of tensor ops.  keeps: what else the module holds.
 *   breaks: attributes of arguments and results.
 */
#include <stdlib.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "graph/batch.h"
#include "passes/passes.h"

enum { VMAP_SIZE }; /* the option */

/* The numbers of the option "shared". */
static bool vmap_shared(bool *shared, uint32_t count, loom_error *err) {
  for (const char *text = loom_pass_text_value(); *text;) {
    char *end;
    unsigned long i = strtoul(text, &end, 10);
    if (end == text || (*end && *end != ','))
      return loom_fail(err, "'shared' takes numbers of arguments, separated by commas");
    if (i >= count) return loom_fail(err, "there is no argument %lu to be shared", i);
    shared[i] = true;
    text = *end ? end + 1 : end;
  }
  return true;
}

static bool vmap_function(MlirOperation func) {
  loom_graph graph, to;
  loom_error err = {0};
  loom_location at = {0};
  loom_graph_init(&graph);
  bool good = loom_export(func, &graph, &err);
  bool *shared = calloc((size_t)graph.input_count + 1, sizeof *shared);
  loom_region_init(&to, &graph);
  if (!shared) good = loom_fail(&err, "out of memory");
  good = good && vmap_shared(shared, graph.input_count, &err) &&
         loom_batch_function(&graph, loom_pass_value(VMAP_SIZE, 2), shared, &to, &at, &err) &&
         loom_replace_function(func, &to, &err);
  if (!good) loom_function_error(func, &at, "vectorise", &err);
  free(shared);
  loom_graph_fini(&to);
  loom_graph_fini(&graph);
  return good;
}

MlirPass loom_make_vmap_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomVmap",
      .flag = "loom-vmap",
      .summary = "Turn every function into one that does it for a batch of examples",
      .root = "builtin.module",
      .each_function = true,
      .run = vmap_function,
      .options = {{"size", "Examples in a batch", 2, 0, INT32_MAX}},
      .text = {"shared", "Numbers of the arguments that all examples share: 0,2"},
  };
  return loom_pass_of(&spec);
}
