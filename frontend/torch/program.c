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
  size_t room = (size_t)v->graph.input_count + v->graph.symbol_count + 1;
  c->inputs = calloc(room, sizeof *c->inputs);
  v->inputs = calloc(room, sizeof *v->inputs);
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

/* The symbols of the graph are ints behind the tensors. */
static bool program_symbols(compiled *c, version *v) {
  loom_graph *graph = &v->graph;
  if (graph->symbol_count > FX_MAX_SYMBOLS) return PyErr_NoMemory(), false;
  for (uint32_t s = 0; s < graph->symbol_count; s++) {
    const loom_symbol *known = &graph->symbols[s];
    fx_symbol row = {.name = PyUnicode_FromFormat("s%u", (unsigned)s),
                     .place = c->input_count,
                     .axis = -1,
                     .factor = 1,
                     .unit = 1,
                     .min = known->min,
                     .max = known->max,
                     .hint = known->hint};
    loom_dim dim;
    if (!row.name || !loom_dim_of_symbol(graph, s, &dim)) return Py_XDECREF(row.name), false;
    c->symbols.rows[c->symbols.count++] = row;
    v->inputs[c->input_count] = (fx_input){.kind = FX_INPUT_SIZE, .size = loom_stride_of_dim(dim)};
    c->inputs[c->input_count] = v->inputs[c->input_count];
    c->input_count++;
  }
  return true;
}

static bool program_numbers(version *v, const int64_t *numbers) {
  v->scalars = calloc((size_t)v->graph.input_count + 1, sizeof *v->scalars);
  if (!v->scalars) return PyErr_NoMemory(), false;
  for (uint32_t i = 0; i < v->graph.input_count; i++) {
    if (v->graph.inputs[i].kind != LOOM_INPUT_SCALAR) continue;
    v->scalars[v->scalar_count] =
        (fx_scalar){v->graph.inputs[i].value, i, numbers[v->scalar_count]};
    v->scalar_count++;
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

PyObject *torch_program_new(loom_graph *graph, PyObject *name, PyObject *constants,
                            const int64_t *numbers, PyObject *hosts, PyObject *eager) {
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
  v->general = v->graph.symbol_count != 0;
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
  if (!v->host_reasons || !v->host_places || !program_inputs(c, v) || !program_results(v) ||
      !program_numbers(v, numbers) || !program_symbols(c, v))
    Py_CLEAR(c);
  return (PyObject *)c;
}
