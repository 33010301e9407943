/* Words and numbers about one compiled graph: its report and its logs. */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/torch/torch_internal.h"

PyObject *torch_graph_text(const loom_graph *graph) {
  char *text = NULL;
  size_t size = 0;
  FILE *out = open_memstream(&text, &size);
  if (!out) return PyErr_NoMemory();
  loom_graph_print(graph, out);
  fclose(out);
  PyObject *string = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  free(text);
  return string;
}

PyObject *torch_describe(const torch_description *d) {
  return Py_BuildValue("{s:I,s:O,s:O,s:I,s:n,s:d,s:O,s:I,s:s}", "ops", d->ops, "host_calls",
                       d->host_reasons, "host_places", d->host_places, "kernels",
                       d->plan ? loom_plan_kernel_count(d->plan) : 0, "kept_bytes",
                       (Py_ssize_t)(d->plan ? loom_plan_kept_bytes(d->plan) : 0), "compile_ms",
                       d->report->total_ms, "cached", d->report->cached ? Py_True : Py_False,
                       "symbols", d->graph->symbol_count, "device", d->device ? d->device : "cpu");
}

static void describe_host_calls(const torch_description *d, PyObject *name) {
  for (Py_ssize_t i = 0; d->host_reasons && i < PyList_GET_SIZE(d->host_reasons); i++) {
    PyObject *row = PyList_GET_ITEM(d->host_reasons, i);
    loom_log(LOOM_LOG_HOST_CALLS, "%U: %S: %S, %S", name, PyTuple_GET_ITEM(row, 0),
             PyTuple_GET_ITEM(row, 1), PyList_GET_ITEM(d->host_places, i));
  }
}

void torch_log(const torch_description *d) {
  PyObject *name = d->name;
  const loom_compile_info *i = &d->report->info;
  times_add(name, 0, d->report);
  if (!loom_log_mask) return;
  PyObject *text = loom_log_mask & LOOM_LOG_GRAPH ? torch_graph_text(d->graph) : NULL;
  if (text) loom_log(LOOM_LOG_GRAPH, "%U\n%U", name, text);
  Py_XDECREF(text);
  error_drop();
  describe_host_calls(d, name);
  if (!d->plan) return;
  loom_log(LOOM_LOG_CACHE, "%U: %s", name, d->report->cached ? "from the disk cache" : "compiled");
  loom_log(LOOM_LOG_KERNELS, "%U: %u ops, %u kernels", name, d->ops,
           loom_plan_kernel_count(d->plan));
  char line[160];
  snprintf(line, sizeof line,
           "compile %.2f ms (load %.2f, import %.2f, passes %.2f, lower %.2f, emit %.2f)",
           d->report->total_ms, d->report->load_ms, i->import_ms, i->passes_ms, i->lower_ms,
           i->emit_ms);
  loom_log(LOOM_LOG_TIME, "%U: %s", name, line);
}
