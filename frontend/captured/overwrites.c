/* Outputs of a graph that an effect copies into one of its inputs: the plan may write them there
 * itself (direct.c says when a run does). */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"

#include <string.h>

int64_t capture_array_input(const capture *c, const source *s) {
  for (uint32_t i = 0; i < c->input_count; i++)
    if (c->inputs[i].source == s && c->graph.inputs[i].kind == LOOM_INPUT_ARRAY) return i;
  return -1;
}

void capture_mark_overwrites(capture *c) {
  for (uint32_t i = 0; i < c->effect_count; i++) {
    const recipe *target = c->effects[i].target;
    if (target->kind != RECIPE_SOURCE || c->effects[i].number < 0) continue;
    int64_t input = capture_array_input(c, target->source);
    if (input < 0) continue;
    loom_output *output = &c->graph.outputs[c->effects[i].number];
    const loom_input *from = &c->graph.inputs[input];
    const loom_type *type = loom_graph_type(&c->graph, output->value);
    if (loom_type_equal(type, loom_graph_type(&c->graph, from->value)) &&
        !memcmp(output->strides, from->strides, sizeof *from->strides * (size_t)type->rank))
      output->overwrites = (int32_t)input;
  }
}
