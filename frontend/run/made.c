/* How a version was made: for reports, and for compiling its witness and hush with the same
 * options. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

void entry_made_init(entry_made *made, const entry_order *order, const capture *captured) {
  made->part = order->part || captured->stopped;
  made->fastmath = order->fastmath;
  snprintf(made->cpu, sizeof made->cpu, "%s", order->cpu);
  made->name = Py_NewRef(order->name);
  made->capture_ms = order->capture_ms;
  made->report = *order->report;
}

void entry_made_fini(entry_made *made) {
  Py_XDECREF(made->name);
  free(made->guard_ns);
}

void entry_measure_guards(entry *e, PyObject *const *slots) {
  e->made.guard_ns = guard_program_cost(e->guards, e->captured, slots);
}
