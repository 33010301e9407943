/* One compiled version of a function: how it is made and dropped. */
#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

#include <unistd.h>

const dispatch_hooks *loom_dispatch;

bool backend_from_name(const char *name, backend *out) {
  for (int i = 0; loom_backend_names[i]; i++)
    if (!strcmp(name, loom_backend_names[i])) return *out = (backend)i, true;
  return false;
}

/* ---- making one ----------------------------------------------------------------------------- */

void entry_hints(const loom_graph *graph, int64_t *out) {
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++)
    out[i] = graph->symbols[i].hint;
}

static const recipe *entry_output_recipe(const capture *c, int64_t number) {
  const recipe *found = recipe_find_output(c->result, number);
  for (uint32_t i = 0; i < c->shared_count && !found; i++)
    found = recipe_find_output(c->shared[i], number);
  for (uint32_t i = 0; i < c->effect_count && !found; i++)
    found = recipe_find_output(c->effects[i].target, number);
  for (uint32_t i = 0; i < c->change_count && !found; i++)
    found = recipe_find_output(c->changes[i].made, number);
  return found;
}

/* Is the size of this output known only when the plan has run so far? */
bool entry_is_late(const capture *c, uint32_t number) {
  return size_type_is_late(&c->graph, loom_graph_type(&c->graph, c->graph.outputs[number].value),
                           c->late);
}

/* Is the plan's output, with the sizes of the call that was captured, no larger than the graph's?
 */
static bool entry_agrees(const entry *e, uint32_t number, const int64_t *hints) {
  const loom_graph *graph = &e->captured->graph;
  loom_type now;
  size_t planned = 0;
  if (entry_is_late(e->captured, number)) return true; /* run_late_output */
  return size_resolve(graph, loom_graph_type(graph, graph->outputs[number].value), NULL, hints,
                      &now, NULL) &&
         loom_plan_output_size(e->plan, number, hints, &planned) &&
         planned <= (size_t)loom_type_elements(&now) * loom_dtype_size(now.dtype);
}

/* Does the plan look for constants and scalars only where the graph has some? */
static bool entry_inputs_agree(const entry *e) {
  const loom_graph *graph = &e->captured->graph;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    uint32_t planned = loom_plan_kind_of_input(e->plan, i);
    if ((planned == LOOM_PLAN_CONST && graph->inputs[i].kind != LOOM_INPUT_CONST) ||
        (planned == LOOM_PLAN_SCALAR && graph->inputs[i].kind != LOOM_INPUT_SCALAR))
      return false;
  }
  return true;
}

/* Sizes of outputs, and whether plan and capture agree on them. */
static bool entry_measure(entry *e, loom_error *err) {
  const capture *c = e->captured;
  if (e->plan && loom_plan_header_of(e->plan)->output_count != c->graph.output_count)
    return loom_fail(err, "the plan has another number of outputs than the graph");
  if (e->plan && loom_plan_header_of(e->plan)->input_count != c->graph.input_count)
    return loom_fail(err, "the plan has another number of inputs than the graph");
  if (e->plan && loom_plan_header_of(e->plan)->symbol_count > c->graph.symbol_count)
    return loom_fail(err, "the plan has more symbols than the graph");
  if (e->plan && !entry_inputs_agree(e))
    return loom_fail(err, "the plan takes its inputs from elsewhere than the graph");
  int64_t hints[LOOM_MAX_SYMBOLS];
  entry_hints(&c->graph, hints);
  for (uint32_t i = 0; i < c->graph.output_count; i++) {
    const loom_type *type = loom_graph_type(&c->graph, c->graph.outputs[i].value);
    int64_t elements = loom_type_elements(type);
    bool symbolic = size_type_is_symbolic(type);
    if (elements < 0 && !symbolic) return loom_fail(err, "a result is too large");
    e->outputs.sizes[i] = symbolic ? 0 : (size_t)elements * loom_dtype_size(type->dtype);
    e->outputs.recipes[i] = entry_output_recipe(c, i);
    if (e->plan && !entry_agrees(e, i, hints))
      return loom_fail(err, "the plan has a larger output than the graph");
  }
  return true;
}

static void entry_bind_constants(const entry *e) {
  const capture *c = e->captured;
  for (uint32_t i = 0; i < c->input_count && e->plan; i++)
    if (c->graph.inputs[i].kind == LOOM_INPUT_CONST)
      loom_plan_set_const(e->plan, i, e->adapter->data(c->inputs[i].constant));
}

/* false with MemoryError */
static bool entry_outputs_init(entry_outputs *o, const capture *c) {
  uint32_t count = c->graph.output_count;
  o->recipes = calloc((size_t)count + 1, sizeof *o->recipes);
  o->sizes = calloc((size_t)count + 1, sizeof *o->sizes);
  return (o->recipes && o->sizes) || (PyErr_NoMemory(), false);
}

static void entry_outputs_fini(entry_outputs *o) {
  free(o->recipes);
  free(o->sizes);
}

/* All parts of an entry that has its capture and its plan. */
static bool entry_init(entry *e, const entry_order *order, loom_error *err) {
  entry_life_init(&e->life, order->code);
  entry_user_init(&e->user, order->user);
  entry_made_init(&e->made, order, e->captured);
  if (!entry_outputs_init(&e->outputs, e->captured) ||
      !(e->guards = guard_program_new(e->captured)) || !entry_measure(e, err))
    return false;
  entry_simple_init(&e->simple, e->captured, e->kind);
  if (!entry_direct_init(e)) return false;
  entry_bind_constants(e);
  if (!entry_let_go(e)) return PyErr_Occurred() ? false : (PyErr_NoMemory(), false);
  entry_gil_init(&e->gil, e->captured);
  if (e->adapter->drawn_from) e->life.drawn_from = e->adapter->drawn_from(e->captured);
  return true;
}

static void entry_fini(entry *e) {
  entry_life_fini(&e->life);
  Py_XDECREF(e->life.drawn_from);
  guard_program_free(e->guards);
  if (e->plan) loom_plan_unref(e->plan);
  capture_free(e->captured);
  entry_outputs_fini(&e->outputs);
  entry_direct_fini(&e->direct);
  entry_made_fini(&e->made);
  witness_free(e->witness);
  entry_user_fini(&e->user);
}

entry *entry_new(capture *captured, loom_plan *plan, const entry_order *order, loom_error *err) {
  entry *e = calloc(1, sizeof *e);
  if (!e) {
    capture_free(captured);
    if (plan) loom_plan_unref(plan);
    return (entry *)PyErr_NoMemory();
  }
  e->refs = 1;
  e->kind = order->kind;
  e->captured = captured;
  e->plan = plan;
  e->adapter = captured->adapter ? captured->adapter : loom_adapters()[0];
  e->operations = captured->graph.node_count;
  e->stopped = captured->stopped;
  if (entry_init(e, order, err)) return e;
  entry_unref(e);
  return NULL;
}

void entry_settle(entry *e) {
  if (e->plan)
    capture_pack(e->captured);
  else
    capture_compact(e->captured);
}

void entry_free(entry *e) {
  entry_fini(e);
  free(e);
}

/* An entry that a running call shares has more references than the collector can see: it is left
 * alone. */
int entry_traverse(entry *e, visitproc visit, void *arg) {
  if (e->refs != 1) return 0;
  Py_VISIT(e->life.code);
  int stopped = entry_user_traverse(&e->user, visit, arg);
  if (stopped) return stopped;
  stopped = guard_program_traverse(e->guards, visit, arg);
  return stopped ? stopped : capture_traverse(e->captured, visit, arg);
}

void entries_unref(entry_list *list) {
  if (!list || --list->refs) return;
  for (uint32_t i = 0; i < list->count; i++)
    entry_unref(list->items[i]);
  free(list);
}
