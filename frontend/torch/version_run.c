/* A call of one version of an FX graph: torch's tensors become buffers, the plan or the interpreter
 * runs, and its outputs become tensors and ints. */
#include "frontend/base/base.h"
#include "frontend/compile/placed.h"
#include "frontend/torch/compiled_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <string.h>

#define RUN_STACK 64 /* inputs and outputs that need no allocation */

typedef struct run {
  const compiled *compiled;
  version *version;
  bool other;             /* an input or a result of torch's is not what was traced */
  bool released;          /* some input is no longer there: eager torch cannot run the call */
  const int64_t *symbols; /* of the version's graph */
  PyObject *const *args;
  PyObject *boxed;  /* the tuple that `args` are in, when it and they are this run's own; or NULL */
  PyObject **owned; /* for each graph input: a copy with the expected strides, or NULL */
  void **inputs, **outputs;
  PyObject **arrays; /* for each graph output */
  uint64_t *scalars;
} run;

/* A spec of the version for this call: itself, or written to `room`. NULL: a size overflows. */
static const torch_spec *run_spec(const run *r, const torch_spec *spec, torch_spec *room) {
  if (!r->version->general) return spec;
  return fx_spec_at(&r->version->graph, spec, r->symbols, room) ? room : NULL;
}

/* Do several indices mean one element? */
static bool run_overlaps_itself(const torch_spec *spec) {
  for (int i = 0; i < spec->rank; i++)
    if (spec->sizes[i] > 1 && spec->strides[i] == 0) return true;
  return false;
}

/* A copy of a tensor, at this place and with the strides that the kernels expect. */
static PyObject *run_restride(torch_place place, PyObject *tensor, const torch_spec *spec,
                              void **data) {
  PyObject *copy = torch_empty_on(place, spec, data);
  PyObject *done = copy ? PyObject_CallMethod(copy, "copy_", "O", tensor) : NULL;
  if (!done) Py_CLEAR(copy);
  Py_XDECREF(done);
  return copy;
}

static bool run_read_tensor(run *r, const fx_input *input, PyObject *tensor) {
  torch_view t;
  torch_spec room;
  const torch_spec *spec = run_spec(r, &input->spec, &room);
  PyObject *given = tensor;
  bool strides, empty = false;
  int64_t bytes = (int64_t)loom_dtype_size(input->spec.dtype);
  if (tensor == Py_None && input->spec.rank == 1 && input->spec.sizes[0] == 0) {
    r->inputs[input->number] = r; /* an effect token: never read */
    return true;
  }
  if (torch_is_lazy(tensor)) {
    tensor = torch_resolve(tensor);
    if (!tensor) return false;
    r->owned[input->number] = tensor;
  }
  torch_place place = r->compiled->place;
  if (!torch_read(input->host ? TORCH_CPU : place, tensor, &t)) return false;
  if (!spec || !torch_matches(&t, spec, &strides)) return r->other = true, false;
  r->inputs[input->number] = t.data;
  for (int i = 0; i < spec->rank; i++) {
    empty |= spec->sizes[i] == 0;
    bytes *= spec->sizes[i];
  }
  if (input->whole && !(strides && tensor == given && torch_is_whole(tensor, bytes)))
    return r->other = true, false;
  if ((strides && !input->host) || empty) return true;
  if (run_overlaps_itself(spec)) return r->other = true, false;
  PyObject *copy = run_restride(place, tensor, spec, &r->inputs[input->number]);
  if (!copy) return false;
  Py_XSETREF(r->owned[input->number], copy);
  return true;
}

/* An int that is no symbol itself is computed from those; a call has to agree. */
static bool run_read_size(run *r, const fx_input *input, PyObject *given) {
  int64_t expected, value = PyLong_AsLongLong(given);
  if (value == -1 && PyErr_Occurred()) return false;
  if (loom_stride_eval(&r->version->graph, input->size, r->symbols, &expected) && value == expected)
    return true;
  return r->other = true, false;
}

static bool run_read(run *r, const compiled *c) {
  const version *v = r->version;
  for (uint32_t i = 0; i < c->input_count; i++) {
    if (c->inputs[i].kind == FX_INPUT_TENSOR && !run_read_tensor(r, &v->inputs[i], r->args[i]))
      return false;
    if (c->inputs[i].kind == FX_INPUT_SIZE && !run_read_size(r, &v->inputs[i], r->args[i]))
      return false;
  }
  for (uint32_t i = 0; i < v->scalar_count; i++) {
    int64_t number;
    if (!loom_stride_eval(&v->graph, v->scalars[i].number, r->symbols, &number))
      return r->other = true, false;
    r->scalars[i] = (uint64_t)number;
    r->inputs[v->scalars[i].input] = &r->scalars[i];
  }
  return true;
}

/* Tensors for the outputs, `later` those too that runs ask for. */
static bool run_allocate(run *r, bool later) {
  torch_spec room;
  for (uint32_t i = 0; i < r->version->result_count; i++) {
    const fx_result *result = &r->version->results[i];
    if (result->kind != FX_RESULT_OUTPUT || r->arrays[result->number]) continue;
    if (!later && r->version->made_by[result->number]) continue;
    const torch_spec *spec = run_spec(r, &result->spec, &room);
    if (!spec) return r->other = true, false;
    r->arrays[result->number] =
        torch_empty_on(r->compiled->place, spec, &r->outputs[result->number]);
    if (!r->arrays[result->number]) return false;
  }
  return true;
}

static bool run_lend(void *context, uint32_t output) {
  run *r = context;
  uint32_t result = r->version->made_by[output];
  if (r->arrays[output] || !result) return r->arrays[output] != NULL; /* nothing lies at NULL */
  PyGILState_STATE state = PyGILState_Ensure();
  r->arrays[output] = torch_empty_on(r->compiled->place, &r->version->results[result - 1].spec,
                                     &r->outputs[output]);
  PyGILState_Release(state);
  return r->arrays[output] != NULL;
}

static void run_release(void *context, uint32_t input) {
  run *r = context;
  uint32_t placeholder = r->version->placeholder[input];
  if (!placeholder) return;
  PyGILState_STATE state = PyGILState_Ensure();
  r->released = true;
  Py_CLEAR(r->owned[input]);
  if (r->boxed) {
    Py_DECREF(PyTuple_GET_ITEM(r->boxed, placeholder - 1));
    PyTuple_SET_ITEM(r->boxed, placeholder - 1, Py_NewRef(Py_None));
  }
  PyGILState_Release(state);
}

static int run_host(void *context, const loom_host_call *call) {
  PyGILState_STATE state = PyGILState_Ensure();
  const version *v = ((run *)context)->version;
  int failed = torch_host_run(v->hosts, &v->graph, call, ((run *)context)->compiled->place);
  ((run *)context)->other |= failed == TORCH_HOST_OTHER;
  PyGILState_Release(state);
  return failed;
}

/* A buffer of the interpreter for this call's sizes. */
static bool run_buffer(const run *r, void *data, loom_value value, const int64_t *strides,
                       loom_buffer *out) {
  const loom_graph *graph = &r->version->graph;
  const loom_type *type = loom_graph_type(graph, value);
  *out = (loom_buffer){.data = data, .type = *type};
  for (int i = 0; i < type->rank; i++)
    if (!loom_dim_eval(graph, type->dims[i], r->symbols, &out->type.dims[i]) ||
        !loom_stride_eval(graph, strides[i], r->symbols, &out->strides[i]))
      return false;
  return true;
}

static int run_interpret_host(void *context, uint32_t slot, void **buffers, uint32_t reads,
                              uint32_t count, const int64_t *symbols) {
  const version *v = ((run *)context)->version;
  loom_host_call call = {.name = "torch", .slot = slot, .reads = reads, .count = count};
  call.buffers = buffers;
  call.symbols = (int64_t *)symbols; /* only read */
  return torch_host_run(v->hosts, &v->graph, &call, TORCH_CPU);
}

static bool run_interpret(run *r) {
  const loom_graph *graph = &r->version->graph;
  loom_buffer *buffers = calloc(graph->input_count + graph->output_count + 1, sizeof *buffers);
  loom_buffer *outputs = buffers + graph->input_count;
  if (!buffers) return PyErr_NoMemory(), false;
  loom_error err = {.message = "a size overflows"};
  bool good = true;
  for (uint32_t i = 0; i < graph->input_count && good; i++)
    good =
        run_buffer(r, r->inputs[i], graph->inputs[i].value, graph->inputs[i].strides, &buffers[i]);
  for (uint32_t i = 0; i < graph->output_count && good; i++)
    good = run_buffer(r, r->outputs[i], graph->outputs[i].value, graph->outputs[i].strides,
                      &outputs[i]);
  good = good &&
         loom_interpret_hosted(graph, buffers, outputs, r->symbols, run_interpret_host, r, &err);
  free(buffers);
  if (!good && !PyErr_Occurred() && r->version->checks) return r->other = true, false;
  if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_RuntimeError, err.message);
  return good;
}

static bool run_status(run *r, uint32_t status, const loom_violation *violation) {
  if (status & LOOM_STATUS_BOUNDS) {
    if (!PyErr_Occurred()) checked_raise(violation->text);
    return false;
  }
  if (PyErr_Occurred() || r->other) return false;
  if (status & LOOM_STATUS_SIZE) return r->other = true, false;
  if (status & LOOM_STATUS_MEMORY) return PyErr_NoMemory(), false;
  if (status & LOOM_STATUS_INDEX && !r->released) return r->other = true, false; /* torch's error */
  if (status & LOOM_STATUS_INDEX)
    return PyErr_SetString(PyExc_IndexError, "index out of range in self"), false;
  if (status & (LOOM_STATUS_HOST | LOOM_STATUS_INTERRUPTED))
    return PyErr_SetString(PyExc_RuntimeError, "frameloom: a call of torch failed"), false;
  return true; /* floating-point flags are no affair of torch's */
}

static bool run_plan(run *r) {
  version *v = r->version;
  loom_violation violation;
  loom_call call = {.inputs = r->inputs,
                    .outputs = r->outputs,
                    .scalars = r->scalars,
                    .symbols = r->symbols,
                    .host = run_host,
                    .host_context = r,
                    .poll = loom_poll_signals,
                    .lend = v->lends ? run_lend : NULL,
                    .release = v->lends ? run_release : NULL,
                    .violation = &violation};
  uint32_t status;
  if (!v->plan) return version_is_idle(v) || run_interpret(r);
  if (v->placed)
    return version_run_placed(r->compiled, v, &call, &status) && run_status(r, status, &violation);
  int threads = loom_threads_limit(torch_threads());
  if (v->release_gil) {
    Py_BEGIN_ALLOW_THREADS status = loom_plan_run(v->plan, &call);
    Py_END_ALLOW_THREADS
  } else {
    status = loom_plan_run(v->plan, &call);
  }
  loom_threads_limit(threads);
  return run_status(r, status, &violation);
}

static PyObject *run_strided(PyObject *base, const torch_spec *spec, int64_t offset) {
  PyObject *sizes = tuple_of_numbers(spec->sizes, spec->rank);
  PyObject *strides = tuple_of_numbers(spec->strides, spec->rank);
  PyObject *view = sizes && strides ? PyObject_CallMethod(base, "as_strided", "OOL", sizes, strides,
                                                          (long long)offset)
                                    : NULL;
  Py_XDECREF(strides);
  Py_XDECREF(sizes);
  return view;
}

static PyObject *run_view(const run *r, PyObject *base, const fx_result *result) {
  torch_spec room;
  int64_t offset;
  const torch_spec *spec = run_spec(r, &result->view, &room);
  if (!spec || !loom_stride_eval(&r->version->graph, result->offset, r->symbols, &offset))
    return PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows"), NULL;
  PyObject *view = result->kind == FX_RESULT_PART ? torch_part(base, spec, offset)
                                                  : run_strided(base, spec, offset);
  if (view && result->conjugate) Py_SETREF(view, PyObject_CallMethod(view, "conj", NULL));
  if (view && result->negative) Py_SETREF(view, PyObject_CallMethod(view, "_neg_view", NULL));
  return view;
}

static PyObject *run_size(const run *r, int64_t number) {
  int64_t size;
  if (loom_stride_eval(&r->version->graph, number, r->symbols, &size))
    return PyLong_FromLongLong(size);
  return PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows"), NULL;
}

/* An argument, or the copy of it that lies as the graph was told. */
static PyObject *run_given(const run *r, uint32_t place) {
  PyObject *copy = r->owned[r->version->inputs[place].number];
  return copy ? copy : r->args[place];
}

/* The host waits for the device, which may have found errors. */
static PyObject *run_result_on_host(const run *r, PyObject *tensor) {
  PyObject *copy = PyObject_CallMethod(tensor, "cpu", NULL);
  if (copy && r->version->placed && placed_raise_reported(r->compiled->device)) Py_CLEAR(copy);
  return copy;
}

static PyObject *run_result(const run *r, PyObject *before, const fx_result *result) {
  switch (result->kind) {
  case FX_RESULT_OUTPUT:
    if (result->host) return run_result_on_host(r, r->arrays[result->number]);
    return result->expanded ? run_view(r, r->arrays[result->number], result)
                            : Py_NewRef(r->arrays[result->number]);
  case FX_RESULT_INPUT: return Py_NewRef(r->args[result->number]);
  case FX_RESULT_PART: return run_view(r, run_given(r, result->number), result);
  case FX_RESULT_VIEW: return run_view(r, PyTuple_GET_ITEM(before, result->number), result);
  case FX_RESULT_OBJECT: return Py_NewRef(result->object);
  default: return run_size(r, result->size);
  }
}

static PyObject *run_results(const run *r) {
  const version *v = r->version;
  PyObject *tuple = PyTuple_New(v->result_count);
  for (int views = 0; views < 2; views++) /* of others, which may come behind them */
    for (uint32_t i = 0; tuple && i < v->result_count; i++) {
      if ((v->results[i].kind == FX_RESULT_VIEW) != views) continue;
      PyObject *item = run_result(r, tuple, &v->results[i]);
      if (item)
        PyTuple_SET_ITEM(tuple, i, item);
      else
        Py_CLEAR(tuple);
    }
  return tuple;
}

PyObject *version_run(const compiled *c, version *v, PyObject *const *args, PyObject *boxed,
                      const int64_t *symbols) {
  void *stack[2 * RUN_STACK + 2];
  uint64_t few[16];
  uint32_t in = v->graph.input_count, out = v->graph.output_count;
  bool small = in + out <= RUN_STACK, some = v->scalar_count <= sizeof few / sizeof *few;
  void **memory = small ? stack : malloc(2 * ((size_t)in + out + 1) * sizeof *memory);
  uint64_t *scalars = some ? few : malloc(v->scalar_count * sizeof *scalars);
  PyObject *result = NULL;
  if (memory && scalars) {
    memset(memory, 0, 2 * ((size_t)in + out) * sizeof *memory);
    memcpy(memory, v->constant_data, in * sizeof *memory);
    run r = {.compiled = c,
             .version = v,
             .symbols = symbols,
             .args = args,
             .boxed = boxed,
             .inputs = memory,
             .outputs = memory + in,
             .owned = (PyObject **)memory + in + out,
             .arrays = (PyObject **)memory + 2 * (size_t)in + out,
             .scalars = scalars};
    v->refs++;
    bool good = run_read(&r, c) && run_allocate(&r, !v->plan) && run_plan(&r);
    if (good && run_allocate(&r, true)) result = run_results(&r);
    for (uint32_t i = 0; i < in; i++)
      Py_XDECREF(r.owned[i]);
    for (uint32_t i = 0; i < out; i++)
      Py_XDECREF(r.arrays[i]);
    version_unref(v);
  } else {
    PyErr_NoMemory();
  }
  if (!small) free(memory);
  if (!some) free(scalars);
  return result;
}
