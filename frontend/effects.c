/* What a run does to objects that existed before the call, in order, once its status is good. */
#include "frontend/frontend.h"

static bool effect_write_array(loom_run *run, const effect *e) {
  if (run->arrays[e->number]) return true; /* written already */
  const loom_output *output = &run->captured->graph.outputs[e->number];
  const loom_graph *graph = &run->captured->graph;
  const loom_type *type = loom_graph_type(graph, output->value);
  loom_type now;
  int64_t strides[LOOM_MAX_RANK];
  if (!size_resolve(graph, type, output->strides, run->symbols, &now, strides)) {
    PyErr_SetString(PyExc_SystemError, "frameloom: a size of a result overflows");
    return false;
  }
  PyObject *target = recipe_build(run, e->target);
  if (!target) return false;
  bool good = run->adapter->write(target, &now, strides, run->data[e->number]);
  Py_DECREF(target);
  return good;
}

bool effects_apply(loom_run *run) {
  for (uint32_t i = 0; i < run->captured->effect_count; i++) {
    const effect *e = &run->captured->effects[i];
    switch (e->kind) {
    case EFFECT_WRITE_ARRAY:
      if (!effect_write_array(run, e)) return false;
    }
  }
  return true;
}
