/* What a capture gives back: its memory, the references that it has, and its graph. */
#include "frontend/captured/captured.h"
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/internal.h"

_Thread_local PyFunctionObject *loom_function_now __attribute__((tls_model("initial-exec")));
_Thread_local int64_t loom_capture_patience __attribute__((tls_model("initial-exec"))) = -1;
_Thread_local int disabled_depth __attribute__((tls_model("initial-exec")));
PyCFunction loom_version_died;
PyObject *(*loom_callable_unwrap)(PyObject *object);
PyObject *(*loom_callable_why_plain)(PyObject *object);
bool (*loom_direct_runner)(PyObject *runner, const loom_buffer *inputs, uint32_t input_count,
                           const loom_buffer *outputs, uint32_t output_count,
                           const int64_t *symbols, bool *good);
bool loom_all_eager;

int object_order(const void *a, const void *b) {
  uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
  return (left > right) - (left < right);
}

bool capture_borrows(const capture *c, PyObject *object) {
  return c->weak_count && bsearch(&object, c->weak, c->weak_count, sizeof *c->weak, object_order);
}

int capture_each(const capture *c, visitproc visit, void *arg) {
  const capture_tables *tables = c->tables;
  for (uint32_t i = 0; i < c->guard_count; i++)
    Py_VISIT(c->guards[i].object);
  for (uint32_t i = 0; i < c->input_count; i++)
    Py_VISIT(c->inputs[i].constant);
  for (uint32_t i = 0; i < tables->recipe_count; i++)
    Py_VISIT(tables->recipes[i]->object);
  for (uint32_t i = 0; i < c->change_count; i++)
    Py_VISIT(c->changes[i].key);
  Py_VISIT(tables->names);
  Py_VISIT(c->hosts);
  Py_VISIT(c->formulas);
  return source_table_traverse(tables->sources, visit, arg);
}

static int capture_release(PyObject *object, void *context) {
  if (!capture_borrows(context, object)) Py_DECREF(object);
  return 0;
}

void capture_free(capture *c) {
  if (!c) return;
  capture_tables *tables = c->tables;
  capture_each(c, capture_release, c);
  for (uint32_t i = 0; i < c->guard_count; i++)
    free(c->guards[i].payload);
  for (uint32_t i = 0; i < tables->recipe_count; i++) {
    free(tables->recipes[i]->items);
    free(tables->recipes[i]->payload);
    free(tables->recipes[i]);
  }
  free(tables->recipes);
  free(c->guards);
  free(c->inputs);
  free(c->changes);
  free(c->effects);
  free(c->shared);
  free(c->loops);
  free(c->warnings);
  free(c->weak);
  free(c->packed.data);
  loom_graph_fini(&c->graph);
  source_table_free(tables->sources);
  free(tables);
  free(c);
}

/* For the garbage collector, which must be shown owned references alone. */
typedef struct capture_owned {
  const capture *c;
  visitproc visit;
  void *arg;
} capture_owned;

static int capture_visit_owned(PyObject *object, void *context) {
  const capture_owned *o = context;
  return capture_borrows(o->c, object) ? 0 : o->visit(object, o->arg);
}

int capture_traverse(const capture *c, visitproc visit, void *arg) {
  capture_owned owned = {c, visit, arg};
  return c->weak_count ? capture_each(c, capture_visit_owned, &owned) : capture_each(c, visit, arg);
}

void capture_compact(capture *c) {
  loom_graph compact;
  if (!loom_graph_copy(&c->graph, &compact)) return;
  loom_graph_fini(&c->graph);
  c->graph = compact;
}

void capture_pack(capture *c) {
  loom_graph interface;
  if (c->packed.data || !loom_graph_interface(&c->graph, &interface)) return;
  if (loom_graph_pack(&c->graph, &c->packed)) {
    loom_graph_fini(&c->graph);
    c->graph = interface;
  } else {
    loom_graph_fini(&interface);
  }
}

void capture_name_inputs(const capture *c, loom_graph *graph) {
  for (uint32_t i = 0; i < graph->input_count && i < c->input_count; i++) {
    const source *s = c->inputs[i].source;
    PyObject *name = s ? source_name(s) : NULL;
    const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
    if (text) graph->inputs[i].name = loom_arena_strdup(&graph->arena, text);
    error_drop();
    Py_XDECREF(name);
  }
}

const loom_graph *capture_graph(const capture *c, loom_graph *room) {
  loom_graph_init(room);
  if (!c->packed.data) return &c->graph;
  if (!loom_graph_unpack(&c->packed, room)) return NULL;
  capture_name_inputs(c, room);
  return room;
}

bool version_watches(PyObject *callback) {
  return PyCFunction_Check(callback) && PyCFunction_GET_FUNCTION(callback) == loom_version_died;
}

bool capture_reads(const capture *c, const PyObject *object) {
  const capture_tables *tables = c->tables;
  for (uint32_t i = 0; i < tables->recipe_count + c->input_count; i++) {
    const recipe *r = i < tables->recipe_count ? tables->recipes[i] : NULL;
    const source *s = r ? r->source : c->inputs[i - tables->recipe_count].source;
    while (s && s->base)
      s = s->base;
    if ((r && r->object == object) || (s && s->object == object)) return true;
  }
  return false;
}
