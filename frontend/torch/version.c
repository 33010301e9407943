/* How one version of an FX graph is made: the captured graph, its plan, and which of its tensors
 * are made and dropped during a run. */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/torch/compiled_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "loom_ops_control.h"

#include <string.h>

void version_unref(version *v) {
  if (!v || --v->refs) return;
  for (uint32_t i = 0; i < v->result_count; i++)
    Py_XDECREF(v->results[i].object);
  if (v->placed) {
    if (loom_device_plan_is_captured(v->placed)) Py_XINCREF(v->constants);
    Py_BEGIN_ALLOW_THREADS loom_device_plan_free(v->placed);
    Py_END_ALLOW_THREADS
  }
  if (v->plan) loom_plan_unref(v->plan);
  loom_graph_fini(&v->graph);
  Py_XDECREF(v->constants);
  Py_XDECREF(v->hosts);
  Py_XDECREF(v->host_reasons);
  Py_XDECREF(v->host_places);
  free(v->constant_data);
  free(v->made_by);
  free(v->placeholder);
  free(v->sizes);
  free(v->scalars);
  free(v->inputs);
  free(v->results);
  free(v);
}

#define VERSION_GIL_WORK 65536 /* elements of all values below which a run keeps the GIL */

static bool version_has_work(const loom_graph *graph) {
  int64_t work = 0;
  for (uint32_t i = 0; i < graph->value_count; i++) {
    int64_t elements = loom_type_elements(&graph->values[i].type);
    work += elements < 0 ? VERSION_GIL_WORK : elements;
    if (work >= VERSION_GIL_WORK) return true;
  }
  return false;
}

#define VERSION_LEND_BYTES (256 << 10) /* smaller tensors are all there for the whole run */

static bool version_is_large(const torch_spec *spec) {
  int64_t bytes = (int64_t)loom_dtype_size(spec->dtype);
  for (int i = 0; i < spec->rank; i++)
    bytes *= spec->sizes[i];
  return bytes >= VERSION_LEND_BYTES;
}

bool version_is_idle(const version *v) {
  bool idle = !v->graph.output_count;
  for (uint32_t i = 0; i < v->graph.node_count && idle; i++)
    idle = !loom_node_has_effect(&v->graph.nodes[i]);
  return idle;
}

static bool version_compile(const compiled *c, version *v) {
  if (c->interpret || version_is_idle(v)) return true;
  for (uint32_t i = 0; i < v->result_count && !v->general; i++)
    if (v->results[i].kind == FX_RESULT_OUTPUT)
      v->graph.outputs[v->results[i].number].lent = version_is_large(&v->results[i].spec);
  if (c->device) return version_compile_placed(c, v);
  loom_error err = {0};
  const char *title = PyUnicode_AsUTF8(c->name);
  char *trace = compile_trace_folder(title);
  loom_compile_options options = {.cpu = c->cpu[0] ? c->cpu : NULL,
                                  .trace_dir = trace,
                                  .fastmath = c->fastmath,
                                  .open_sums = c->gradients,
                                  .quick = !loom_config.optimize,
                                  .check = checked_wanted(),
                                  .quiet = true};
  bool good;
  error_drop();
  Py_BEGIN_ALLOW_THREADS good =
      loom_compile_plan(&v->graph, &options, title ? title : "a graph",
                        loom_config.cache != 0 && !trace, &v->plan, &v->report, &err);
  Py_END_ALLOW_THREADS if (PyErr_Occurred()) good = false; /* raised by a signal handler */
  else if (!good && v->report.info.unchecked) checked_raise(err.message);
  else if (!good) PyErr_SetString(PyExc_NotImplementedError, err.message);
  free(trace);
  return good && loom_warn_notices();
}

static bool version_import(const compiled *c, version *v) {
  fx_import im = {.graph = &v->graph,
                  .visible = c->visible,
                  .place = c->place,
                  .own = c->own,
                  .frozen = c->frozen,
                  .symbols = &c->symbols,
                  .values_of_symbols = v->general ? NULL : v->sizes};
  bool good = fx_import_module(&im, c->module, &v->results, &v->result_count);
  if (good) {
    loom_graph_prune(&v->graph);
    v->inputs = im.inputs;
    v->scalars = im.scalars;
    v->scalar_count = im.scalar_count;
    v->constants = Py_NewRef(im.constants);
    v->hosts = Py_NewRef(im.hosts);
    v->host_reasons = Py_NewRef(im.host_reasons);
    v->host_places = Py_NewRef(im.host_places);
    v->ops = im.ops;
    v->checks = im.checks;
    im.inputs = NULL;
    im.scalars = NULL;
  }
  fx_import_fini(&im);
  return good;
}

/* Data of the constant inputs, for the plan; they are in the order of the list. */
static bool version_bind(const compiled *c, version *v) {
  Py_ssize_t next = 0;
  for (uint32_t i = 0; i < v->graph.input_count; i++) {
    torch_view t;
    if (v->graph.inputs[i].kind != LOOM_INPUT_CONST) continue;
    if (!torch_read(c->place, PyList_GET_ITEM(v->constants, next++), &t)) return false;
    if (v->plan && !c->device) loom_plan_set_const(v->plan, i, t.data);
    v->constant_data[i] = t.data;
  }
  return true;
}

/* A training step's memory is at its highest where activations that are not yet used and gradients
 * that are already there meet: large ones of both are there only as long as the plan needs them. */
static bool version_lend(const compiled *c, version *v) {
  v->made_by = calloc(v->graph.output_count + 1, sizeof *v->made_by);
  v->placeholder = calloc(v->graph.input_count + 1, sizeof *v->placeholder);
  if (!v->made_by || !v->placeholder) return PyErr_NoMemory(), false;
  if (!v->plan || v->general) return true;
  for (uint32_t i = 0; i < v->result_count; i++) {
    const fx_result *result = &v->results[i];
    if (result->kind == FX_RESULT_OUTPUT && v->graph.outputs[result->number].lent)
      v->made_by[result->number] = i + 1, v->lends = true;
  }
  for (uint32_t i = 0; i < v->graph.node_count; i++)
    if (v->checks || v->graph.nodes[i].op == LOOM_OP_HOST_CALL)
      return true; /* may end in eager torch */
  for (uint32_t i = 0; i < c->input_count; i++)
    if (v->inputs[i].kind == FX_INPUT_TENSOR && version_is_large(&v->inputs[i].spec))
      v->placeholder[v->inputs[i].number] = i + 1, v->lends = true;
  for (uint32_t i = 0; i < v->result_count; i++)
    if ((v->results[i].kind == FX_RESULT_INPUT || v->results[i].kind == FX_RESULT_PART) &&
        v->inputs[v->results[i].number].kind == FX_INPUT_TENSOR)
      v->placeholder[v->inputs[v->results[i].number].number] = 0;
  return true;
}

torch_description version_description(const compiled *c, const version *v) {
  return (torch_description){.graph = &v->graph,
                             .plan = v->plan,
                             .report = &v->report,
                             .device = c->device ? loom_device_name(c->device) : NULL,
                             .host_reasons = v->host_reasons,
                             .host_places = v->host_places,
                             .ops = v->ops,
                             .name = c->name};
}

version *version_new(const compiled *c, const int64_t *sizes) {
  version *v = calloc(1, sizeof *v);
  if (!v) return (version *)PyErr_NoMemory();
  v->refs = 1;
  v->general = !sizes;
  loom_graph_init(&v->graph);
  v->sizes = calloc(c->symbols.count + 1, sizeof *v->sizes);
  if (!v->sizes) PyErr_NoMemory();
  if (v->sizes && sizes) memcpy(v->sizes, sizes, c->symbols.count * sizeof *v->sizes);
  if (!v->sizes || !version_import(c, v)) return version_unref(v), NULL;
  return v;
}

version *version_finish(const compiled *c, version *v) {
  if (!v) return NULL;
  bool good = version_compile(c, v);
  v->constant_data = good ? calloc(v->graph.input_count + 1, sizeof(void *)) : NULL;
  if (good && !v->constant_data) PyErr_NoMemory();
  if (!v->constant_data || !version_bind(c, v) || !version_lend(c, v))
    return version_unref(v), NULL;
  v->release_gil = version_has_work(&v->graph);
  for (uint32_t i = 0; i < v->graph.node_count; i++)
    v->release_gil |= v->graph.nodes[i].op == LOOM_OP_HOST_CALL;
  torch_description d = version_description(c, v);
  torch_log(&d);
  return v;
}
