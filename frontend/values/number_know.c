/* What happens when capture has to know a symbolic number: the arguments and sizes that it is
 * computed of are captured by value, and capture starts again. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"

static void number_know_input(tracer *t, const loom_value_info *info, bool *found) {
  const source *s = t->capture->inputs[info->index].source;
  if (trace_graph(t)->inputs[info->index].kind != LOOM_INPUT_SCALAR) return; /* an array's data */
  if (t->capture->inputs[info->index].formula) {
    *found = true;
    formula_know(t, t->capture->inputs[info->index].formula - 1);
  } else if (s && s->kind == SOURCE_ARG) {
    if (t->kept->numbers[s->index] == NUMBER_APART) return;
    *found = true;
    trace_restart(t, s->index);
  } else {
    *found |= size_know_float(t, s);
  }
}

/* Notes the numbers of the caller from which the node is computed. Operands come before their
 * users. */
static void number_know_node(tracer *t, loom_value node, bool *found) {
  const loom_graph *graph = trace_graph(t);
  uint8_t *needed = trace_alloc(t, (size_t)node + 1);
  if (!needed) return;
  needed[node] = 1;
  for (loom_value v = node + 1; v-- > 0;) {
    const loom_value_info *info = &graph->values[v];
    if (!needed[v]) continue;
    if (series_blame(t, v)) {
      *found = true;
      return;
    }
    if (info->node < 0) {
      number_know_input(t, info, found);
      continue;
    }
    const loom_node *n = &graph->nodes[info->node];
    for (uint32_t i = 0; i < n->operand_count; i++)
      if (n->operands[i] < v) needed[n->operands[i]] = 1;
  }
}

void number_know(tracer *t, value *v) {
  bool found = false;
  if (t->state == TRACE_BROKEN || t->state == TRACE_ERROR) return;
  if (number_is_size(v)) {
    size_know(t, v->number.size);
    return;
  }
  number_know_node(t, v->number.node, &found);
  if (!found)
    trace_break(t, BREAK_DATA_DEPENDENT, "a Python decision depends on a number that is computed");
}

void number_ask(tracer *t, value *v) { number_know(t, v); }
