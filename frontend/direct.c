/* Runs that write straight into arguments.
 *
 * What a function writes into an argument is an output of the graph that an effect copies back when
 * the run's status is known: had a floating-point exception to be reported, the plain function
 * would have to find everything as it was. Where none can be, and nothing else can stop the run,
 * the plan writes large outputs into the argument itself: when the graph does not read that array,
 * or when the kernel that writes it reads it element by element (loom_plan_output_overwrites). The
 * same when all that can raise is the one ufunc that writes the argument: NumPy reports what it
 * raised after it has written, and so can be done here. That the array shares no memory with others
 * is guarded. */
#include "frontend/callable.h"

#define DIRECT_BYTES 16384 /* smaller copies cost less than to look at the error state */

static int64_t direct_input_of(const capture *c, const source *s) {
  for (uint32_t i = 0; i < c->input_count; i++)
    if (c->inputs[i].source == s && c->graph.inputs[i].kind == LOOM_INPUT_ARRAY) return i;
  return -1;
}

static const source *direct_root(const recipe *target) {
  while (target->kind == RECIPE_VIEW)
    target = target->items[0];
  return target->kind == RECIPE_SOURCE ? target->source : NULL;
}

static bool direct_is_read(const loom_graph *g, loom_value value) {
  for (uint32_t n = 0; n < g->node_count; n++)
    for (uint32_t i = 0; i < g->nodes[n].operand_count; i++)
      if (g->nodes[n].operands[i] == value) return true;
  for (uint32_t i = 0; i < g->output_count; i++)
    if (g->outputs[i].value == value) return true;
  return false;
}

void capture_mark_overwrites(capture *c) {
  for (uint32_t i = 0; i < c->effect_count; i++) {
    const recipe *target = c->effects[i].target;
    if (target->kind != RECIPE_SOURCE || c->effects[i].number < 0) continue;
    int64_t input = direct_input_of(c, target->source);
    if (input < 0) continue;
    loom_output *output = &c->graph.outputs[c->effects[i].number];
    const loom_input *from = &c->graph.inputs[input];
    const loom_type *type = loom_graph_type(&c->graph, output->value);
    if (loom_type_equal(type, loom_graph_type(&c->graph, from->value)) &&
        !memcmp(output->strides, from->strides, sizeof *from->strides * (size_t)type->rank))
      output->overwrites = (int32_t)input;
  }
}

/* Can anything but a floating-point exception make a run of the plan end early? */
static bool direct_is_safe(const loom_graph *g) {
  for (uint32_t n = 0; n < g->node_count; n++) {
    const loom_op_info *op = &loom_op_table[g->nodes[n].op];
    if (op->regions) return false;
    switch (g->nodes[n].op) {
    case LOOM_OP_HOST_CALL:
    case LOOM_OP_GATHER:
    case LOOM_OP_SCATTER:
    case LOOM_OP_ASSUME_SHAPE: return false;
    default: break;
    }
  }
  return true;
}

/* Is the write of this effect by one operation whose flags a kernel raises exactly as the library
 * does, and the only one that can raise any? */
static bool direct_is_reporter(const capture *c, const effect *e) {
  const loom_graph *g = &c->graph;
  int32_t maker = g->values[g->outputs[e->number].value].node;
  if (e->report < 0 || c->effect_count != 1 || c->change_count || c->fp_reported || maker < 0)
    return false;
  switch (g->nodes[maker].op) {
  case LOOM_OP_ADD:
  case LOOM_OP_SUB:
  case LOOM_OP_MUL:
  case LOOM_OP_DIV: break;
  default: return false;
  }
  for (uint32_t n = 0; n < g->node_count; n++)
    if ((int32_t)n != maker && (loom_node_fp(g, &g->nodes[n]) & c->fp_ops)) return false;
  return true;
}

void direct_find(entry *e) {
  const capture *c = e->captured;
  if (e->kind != BACKEND_LOOM || !direct_is_safe(&c->graph)) return;
  for (uint32_t i = 0; i < c->effect_count; i++) {
    const recipe *target = c->effects[i].target;
    const source *s = direct_root(target);
    uint32_t number = (uint32_t)c->effects[i].number;
    if (!s || e->outputs[number]) continue;
    int64_t input = direct_input_of(c, s);
    bool free = input < 0 || !direct_is_read(&c->graph, c->graph.inputs[input].value);
    if (free ||
        (target->kind == RECIPE_SOURCE && loom_plan_output_overwrites(e->plan, number) == input))
      e->targets[number] = target;
    if (e->targets[number] && direct_is_reporter(c, &c->effects[i])) e->reporter = &c->effects[i];
  }
}

int direct_report(const entry *e, uint32_t flags) {
  const capture *c = e->captured;
  return e->adapter->report(PyList_GET_ITEM(c->hosts, e->reporter->report), flags);
}

bool direct_allowed(const entry *e) {
  const capture *c = e->captured;
  bool any = false;
  for (uint32_t i = 0; i < c->effect_count && !any; i++)
    any = e->targets[c->effects[i].number] && e->sizes[c->effects[i].number] >= DIRECT_BYTES;
  if (!any || c->fp_reported) return false;
  if (e->reporter) return true;
  int matters = c->fp_ops ? e->adapter->flags_matter(c->fp_ops) : 0;
  if (matters < 0) error_drop();
  return !matters;
}

bool direct_open(const entry *e, loom_run *run, uint32_t i) {
  if (!e->targets[i] || e->sizes[i] < DIRECT_BYTES) return false;
  const loom_output *output = &e->captured->graph.outputs[i];
  PyObject *target = recipe_build(run, e->targets[i]);
  if (!target) return false;
  run->data[i] = e->adapter->direct(target, loom_graph_type(&e->captured->graph, output->value),
                                    output->strides);
  if (run->data[i])
    run->arrays[i] = target;
  else
    Py_DECREF(target);
  return run->data[i] != NULL;
}
