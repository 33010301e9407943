/* A CompiledGraph that is made of a captured graph, not of an FX graph: the backward of a function
 * of tensors. It is compiled when it is first called. */
#include "frontend/base/base.h"
#include "frontend/torch/compiled_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"

#include <stdlib.h>
#include <string.h>

static void program_spec(const loom_type *type, const int64_t *strides, torch_spec *out) {
  *out = (torch_spec){.dtype = type->dtype, .rank = type->rank};
  memcpy(out->sizes, type->dims, sizeof out->sizes);
  memcpy(out->strides, strides, sizeof out->strides);
}

/* Inputs that are no constants are the arguments, in their order. */
static bool program_inputs(compiled *c, version *v) {
  c->inputs = calloc((size_t)v->graph.input_count + 1, sizeof *c->inputs);
  v->inputs = calloc((size_t)v->graph.input_count + 1, sizeof *v->inputs);
  if (!c->inputs || !v->inputs) return PyErr_NoMemory(), false;
  for (uint32_t i = 0; i < v->graph.input_count; i++) {
    const loom_input *input = &v->graph.inputs[i];
    if (input->kind != LOOM_INPUT_ARRAY) continue;
    fx_input *made = &v->inputs[c->input_count];
    *made = (fx_input){.kind = FX_INPUT_TENSOR, .number = i};
    program_spec(loom_graph_type(&v->graph, input->value), input->strides, &made->spec);
    c->inputs[c->input_count++] = *made;
  }
  return true;
}

/* An output that is an argument is given back as it is. */
static bool program_results(version *v) {
  uint32_t outputs = v->graph.output_count, kept = 0;
  v->results = calloc((size_t)outputs + 1, sizeof *v->results);
  if (!v->results) return PyErr_NoMemory(), false;
  v->result_count = outputs;
  for (uint32_t i = 0; i < outputs; i++) {
    const loom_output output = v->graph.outputs[i];
    fx_result *result = &v->results[i];
    for (uint32_t k = 0; k < v->graph.input_count; k++)
      if (v->graph.inputs[k].value == output.value && v->graph.inputs[k].kind == LOOM_INPUT_ARRAY)
        *result = (fx_result){.kind = FX_RESULT_INPUT, .number = k};
    if (result->kind == FX_RESULT_INPUT) continue;
    *result = (fx_result){.kind = FX_RESULT_OUTPUT, .number = kept};
    program_spec(loom_graph_type(&v->graph, output.value), output.strides, &result->spec);
    v->graph.outputs[kept++] = output;
  }
  v->graph.output_count = kept;
  return true;
}

PyObject *torch_program_new(loom_graph *graph, PyObject *name, PyObject *constants, PyObject *hosts,
                            PyObject *eager) {
  compiled *c = compiled_new();
  version *v = c ? calloc(1, sizeof *v) : NULL;
  if (!v) {
    loom_graph_fini(graph);
    Py_XDECREF(c);
    return c ? PyErr_NoMemory() : NULL;
  }
  v->refs = 1;
  v->graph = *graph;
  memset(graph, 0, sizeof *graph);
  c->is_program = true;
  c->pending = v;
  c->module = Py_NewRef(eager);
  c->name = Py_NewRef(name);
  c->gradients = true;
  c->fastmath = loom_config.fastmath;
  snprintf(c->cpu, sizeof c->cpu, "%s", loom_config.cpu);
  v->ops = v->graph.node_count;
  v->constants = Py_NewRef(constants);
  v->hosts = Py_NewRef(hosts);
  v->host_reasons = PyList_New(0);
  v->host_places = PyList_New(0);
  if (!v->host_reasons || !v->host_places || !program_inputs(c, v) || !program_results(v))
    Py_CLEAR(c);
  return (PyObject *)c;
}
