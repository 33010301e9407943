/* What is told of plans on devices. */
#include "frontend/compile/placed.h"

bool placed_raise_reported(loom_device *device) {
  loom_error err = {0};
  if (!loom_device_reported(device, &err)) return false;
  PyErr_SetString(PyExc_IndexError, err.message);
  return true;
}

PyObject *placed_facts(loom_device_plan *plan, bool defers) {
  static const char *const states[] = {
      [LOOM_GRAPH_SINGLE] = "single", [LOOM_GRAPH_LOOPS] = "loops", [LOOM_GRAPH_UNUSED] = "unused",
      [LOOM_GRAPH_WAITS] = "waits",   [LOOM_GRAPH_USED] = "used",   [LOOM_GRAPH_FAILED] = "failed"};
  loom_device_plan_facts f = loom_device_plan_facts_of(plan);
  return Py_BuildValue("{sIsIsKsNsssIsIsKsK}", "launches", (unsigned)f.launches, "copies",
                       (unsigned)f.copies, "arena", (unsigned long long)f.arena, "waits",
                       PyBool_FromLong(f.asks || (f.reports && !defers)), "graph", states[f.graph],
                       "pieces", (unsigned)f.pieces, "depth", (unsigned)f.depth, "replays",
                       (unsigned long long)f.replays, "updates", (unsigned long long)f.updates);
}
