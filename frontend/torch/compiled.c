/* The callable that AOTAutograd gets for one FX graph.
 *
 * Called with one list of inputs, tensors and ints, in the order of the graph's placeholders; gives
 * a tuple of results. A graph whose sizes are symbols has one compiled version for each tuple of
 * sizes that it was called with, the last used tried first. */
#include "frontend/torch/torch.h"

#include <structmember.h>

#include <string.h>

/* One compiled version: immutable once made. */
typedef struct version {
  struct version *next;
  uint32_t refs;
  void **constant_data; /* of the CONST inputs, by input */
  int64_t *sizes;       /* of the SIZE placeholders, in order */
  loom_graph graph;
  loom_plan *plan; /* NULL: the interpreter */
  fx_input *inputs;
  fx_result *results;
  uint32_t result_count, ops;
  bool release_gil;
  PyObject *constants, *hosts, *host_reasons;
  loom_compile_report report;
} version;

typedef struct compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *module; /* the FX graph module */
  fx_input *inputs; /* kinds and names */
  uint32_t input_count, size_count;
  bool interpret, fastmath;
  long long visible;
  char cpu[16];
  version *versions; /* last used first */
  PyObject *dict;    /* attributes: AOTAutograd's wrappers copy them */
} compiled;

static void version_unref(version *v) {
  if (!v || --v->refs) return;
  for (uint32_t i = 0; i < v->result_count; i++)
    Py_XDECREF(v->results[i].object);
  if (v->plan) loom_plan_unref(v->plan);
  loom_graph_fini(&v->graph);
  Py_XDECREF(v->constants);
  Py_XDECREF(v->hosts);
  Py_XDECREF(v->host_reasons);
  free(v->constant_data);
  free(v->sizes);
  free(v->inputs);
  free(v->results);
  free(v);
}

/* ---- compiling ------------------------------------------------------------------------------- */

#define COMPILED_GIL_WORK 65536 /* elements of all values below which a run keeps the GIL */

static bool version_has_work(const loom_graph *graph) {
  int64_t work = 0;
  for (uint32_t i = 0; i < graph->value_count; i++) {
    int64_t elements = loom_type_elements(&graph->values[i].type);
    work += elements < 0 ? COMPILED_GIL_WORK : elements;
    if (work >= COMPILED_GIL_WORK) return true;
  }
  return false;
}

static bool version_compile(const compiled *c, version *v) {
  if (c->interpret || !v->graph.output_count) return true;
  loom_error err = {""};
  loom_compile_options options = {.cpu = c->cpu[0] ? c->cpu : NULL,
                                  .trace_dir = loom_config.trace[0] ? loom_config.trace : NULL,
                                  .fastmath = c->fastmath,
                                  .quiet = true};
  bool good;
  Py_BEGIN_ALLOW_THREADS good =
      loom_compile_plan(&v->graph, &options, loom_config.cache != 0, &v->plan, &v->report, &err);
  Py_END_ALLOW_THREADS if (!good) PyErr_SetString(PyExc_NotImplementedError, err.message);
  return good;
}

/* The names of the symbols with their sizes in this call. */
static PyObject *version_sizes(const compiled *c, const int64_t *sizes) {
  PyObject *dict = PyDict_New();
  for (uint32_t i = 0, at = 0; dict && i < c->input_count; i++) {
    if (c->inputs[i].kind != FX_INPUT_SIZE) continue;
    PyObject *size = PyLong_FromLongLong(sizes[at++]);
    if (!size || PyDict_SetItem(dict, c->inputs[i].name, size) < 0) Py_CLEAR(dict);
    Py_XDECREF(size);
  }
  return dict;
}

static bool version_import(const compiled *c, version *v) {
  fx_import im = {.graph = &v->graph, .visible = c->visible, .sizes = version_sizes(c, v->sizes)};
  bool good = im.sizes && fx_import_module(&im, c->module, &v->results, &v->result_count);
  if (good) {
    loom_graph_prune(&v->graph);
    v->inputs = im.inputs;
    v->constants = Py_NewRef(im.constants);
    v->hosts = Py_NewRef(im.hosts);
    v->host_reasons = Py_NewRef(im.host_reasons);
    v->ops = im.ops;
    im.inputs = NULL;
  }
  Py_XDECREF(im.sizes);
  fx_import_fini(&im);
  return good;
}

/* Data of the constant inputs, for the plan; they are in the order of the list. */
static bool version_bind(version *v) {
  Py_ssize_t next = 0;
  for (uint32_t i = 0; i < v->graph.input_count; i++) {
    torch_view t;
    if (v->graph.inputs[i].kind != LOOM_INPUT_CONST) continue;
    if (!torch_read(PyList_GET_ITEM(v->constants, next++), &t)) return false;
    if (v->plan) loom_plan_set_const(v->plan, i, t.data);
    v->constant_data[i] = t.data;
  }
  return true;
}

static version *version_new(const compiled *c, const int64_t *sizes) {
  version *v = calloc(1, sizeof *v);
  if (!v) return (version *)PyErr_NoMemory();
  v->refs = 1;
  loom_graph_init(&v->graph);
  v->sizes = malloc((c->size_count + 1) * sizeof *v->sizes);
  if (!v->sizes) PyErr_NoMemory();
  if (v->sizes) memcpy(v->sizes, sizes, c->size_count * sizeof *v->sizes);
  bool good = v->sizes && version_import(c, v) && version_compile(c, v);
  v->constant_data = good ? calloc(v->graph.input_count + 1, sizeof(void *)) : NULL;
  if (good && !v->constant_data) PyErr_NoMemory();
  if (!v->constant_data || !version_bind(v)) return version_unref(v), NULL;
  v->release_gil = version_has_work(&v->graph);
  for (uint32_t i = 0; i < v->graph.node_count; i++)
    v->release_gil |= v->graph.nodes[i].op == LOOM_OP_HOST_CALL;
  return v;
}

/* The version for these sizes, made if there is none; borrowed. */
static version *compiled_version(compiled *c, const int64_t *sizes) {
  for (version **at = &c->versions; *at; at = &(*at)->next) {
    version *v = *at;
    if (memcmp(v->sizes, sizes, c->size_count * sizeof *sizes) != 0) continue;
    if (at == &c->versions) return v;
    *at = v->next;
    v->next = c->versions;
    return c->versions = v;
  }
  version *v = version_new(c, sizes);
  if (!v) return NULL;
  v->next = c->versions;
  return c->versions = v;
}

/* ---- running ------------------------------------------------------------------------------------
 */

#define RUN_STACK 64 /* inputs and outputs that need no allocation */

typedef struct run {
  version *version;
  bool other; /* an input is not what the graph was traced with */
  PyObject *const *args;
  PyObject **owned; /* for each graph input: a copy with the expected strides, or NULL */
  void **inputs, **outputs;
  PyObject **arrays; /* for each graph output */
  void **memory;
} run;

static bool run_matches(const torch_view *t, const torch_spec *spec, bool *strides) {
  if (t->dtype != torch_scalar_type(spec->dtype) || t->rank != spec->rank) return false;
  *strides = true;
  for (int i = 0; i < spec->rank; i++) {
    if (t->sizes[i] != spec->sizes[i]) return false;
    *strides &= t->strides[i] == spec->strides[i] || spec->sizes[i] <= 1;
  }
  return true;
}

/* Do several indices mean one element? */
static bool run_overlaps_itself(const torch_spec *spec) {
  for (int i = 0; i < spec->rank; i++)
    if (spec->sizes[i] > 1 && spec->strides[i] == 0) return true;
  return false;
}

/* A copy of a tensor with the strides that the kernels expect. */
static PyObject *run_restride(PyObject *tensor, const torch_spec *spec, void **data) {
  PyObject *copy = torch_empty(spec, data);
  PyObject *done = copy ? PyObject_CallMethod(copy, "copy_", "O", tensor) : NULL;
  if (!done) Py_CLEAR(copy);
  Py_XDECREF(done);
  return copy;
}

/* What a conjugate or negative view stands for, in memory of its own. */
static PyObject *run_resolve(PyObject *tensor) {
  PyObject *conjugated = PyObject_CallMethod(tensor, "resolve_conj", NULL);
  PyObject *resolved = conjugated ? PyObject_CallMethod(conjugated, "resolve_neg", NULL) : NULL;
  Py_XDECREF(conjugated);
  return resolved;
}

static bool run_read(run *r, const compiled *c) {
  for (uint32_t i = 0; i < c->input_count; i++) {
    const fx_input *input = &r->version->inputs[i];
    torch_view t;
    bool strides;
    if (input->kind != FX_INPUT_TENSOR) continue;
    PyObject *tensor = r->args[i];
    if (torch_is_lazy(tensor)) {
      tensor = run_resolve(tensor);
      if (!tensor) return false;
      r->owned[input->number] = tensor;
    }
    if (!torch_read(tensor, &t)) return false;
    if (!run_matches(&t, &input->spec, &strides)) return r->other = true, false;
    r->inputs[input->number] = t.data;
    if (strides || loom_type_elements(loom_graph_type(
                       &r->version->graph, r->version->graph.inputs[input->number].value)) == 0)
      continue;
    if (run_overlaps_itself(&input->spec)) return r->other = true, false;
    PyObject *copy = run_restride(tensor, &input->spec, &r->inputs[input->number]);
    if (!copy) return false;
    Py_XSETREF(r->owned[input->number], copy);
  }
  return true;
}

static bool run_allocate(run *r) {
  for (uint32_t i = 0; i < r->version->result_count; i++) {
    const fx_result *result = &r->version->results[i];
    if (result->kind != FX_RESULT_OUTPUT || r->arrays[result->number]) continue;
    r->arrays[result->number] = torch_empty(&result->spec, &r->outputs[result->number]);
    if (!r->arrays[result->number]) return false;
  }
  return true;
}

static int run_host(void *context, const loom_host_call *call) {
  PyGILState_STATE state = PyGILState_Ensure();
  int failed = torch_host_run(((run *)context)->version->hosts, call->slot, call->buffers,
                              call->reads, call->count);
  PyGILState_Release(state);
  return failed;
}

static int run_poll(void *context) {
  PyGILState_STATE state = PyGILState_Ensure();
  int failed = PyErr_CheckSignals();
  PyGILState_Release(state);
  return failed;
}

static bool run_interpret(run *r) {
  const loom_graph *graph = &r->version->graph;
  loom_buffer *buffers = calloc(graph->input_count + graph->output_count + 1, sizeof *buffers);
  if (!buffers) return PyErr_NoMemory(), false;
  for (uint32_t i = 0; i < graph->input_count; i++) {
    buffers[i] = (loom_buffer){.data = r->inputs[i],
                               .type = *loom_graph_type(graph, graph->inputs[i].value)};
    memcpy(buffers[i].strides, graph->inputs[i].strides, sizeof buffers[i].strides);
  }
  loom_buffer *outputs = buffers + graph->input_count;
  for (uint32_t i = 0; i < graph->output_count; i++) {
    outputs[i] = (loom_buffer){.data = r->outputs[i],
                               .type = *loom_graph_type(graph, graph->outputs[i].value)};
    memcpy(outputs[i].strides, graph->outputs[i].strides, sizeof outputs[i].strides);
  }
  loom_error err = {""};
  bool good = loom_interpret(graph, buffers, outputs, NULL, &err);
  free(buffers);
  if (!good) PyErr_SetString(PyExc_RuntimeError, err.message);
  return good;
}

static bool run_status(uint32_t status) {
  if (PyErr_Occurred()) return false;
  if (status & LOOM_STATUS_MEMORY) return PyErr_NoMemory(), false;
  if (status & LOOM_STATUS_INDEX)
    return PyErr_SetString(PyExc_IndexError, "index out of range in self"), false;
  if (status & (LOOM_STATUS_HOST | LOOM_STATUS_INTERRUPTED))
    return PyErr_SetString(PyExc_RuntimeError, "frameloom: a call of torch failed"), false;
  return true; /* floating-point flags are no affair of torch's */
}

static bool run_plan(run *r) {
  version *v = r->version;
  loom_call call = {.inputs = r->inputs,
                    .outputs = r->outputs,
                    .host = run_host,
                    .host_context = r,
                    .poll = run_poll};
  uint32_t status;
  if (!v->plan) return !v->graph.output_count || run_interpret(r);
  if (!v->release_gil) return run_status(loom_plan_run(v->plan, &call));
  Py_BEGIN_ALLOW_THREADS status = loom_plan_run(v->plan, &call);
  Py_END_ALLOW_THREADS return run_status(status);
}

static PyObject *run_numbers(const int64_t *numbers, int count) {
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; i++) {
    PyObject *number = PyLong_FromLongLong(numbers[i]);
    if (!number) Py_CLEAR(tuple);
    if (number) PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}

static PyObject *run_view(PyObject *base, const fx_result *result) {
  PyObject *sizes = run_numbers(result->view.sizes, result->view.rank);
  PyObject *strides = run_numbers(result->view.strides, result->view.rank);
  PyObject *view = sizes && strides ? PyObject_CallMethod(base, "as_strided", "OOL", sizes, strides,
                                                          (long long)result->offset)
                                    : NULL;
  Py_XDECREF(strides);
  Py_XDECREF(sizes);
  return view;
}

static PyObject *run_results(const run *r) {
  const version *v = r->version;
  PyObject *tuple = PyTuple_New(v->result_count);
  for (uint32_t i = 0; tuple && i < v->result_count; i++) {
    const fx_result *result = &v->results[i];
    int64_t size = 0;
    PyObject *item;
    if (result->kind == FX_RESULT_OUTPUT)
      item = result->expanded ? run_view(r->arrays[result->number], result)
                              : Py_NewRef(r->arrays[result->number]);
    else if (result->kind == FX_RESULT_INPUT)
      item = Py_NewRef(r->args[result->number]);
    else if (result->kind == FX_RESULT_VIEW)
      item = run_view(PyTuple_GET_ITEM(tuple, result->number), result);
    else if (result->kind == FX_RESULT_OBJECT)
      item = Py_NewRef(result->object);
    else
      item = loom_dim_eval(&v->graph, result->dim, NULL, &size) ? PyLong_FromLongLong(size) : NULL;
    if (!item) Py_CLEAR(tuple);
    if (item) PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

static PyObject *compiled_run(compiled *c, version *v, PyObject *const *args) {
  void *stack[2 * RUN_STACK + 2];
  uint32_t in = v->graph.input_count, out = v->graph.output_count;
  bool small = in + out <= RUN_STACK;
  void **memory = small ? stack : malloc(2 * ((size_t)in + out + 1) * sizeof *memory);
  if (!memory) return PyErr_NoMemory();
  memset(memory, 0, 2 * ((size_t)in + out) * sizeof *memory);
  memcpy(memory, v->constant_data, in * sizeof *memory);
  run r = {.version = v,
           .args = args,
           .inputs = memory,
           .outputs = memory + in,
           .owned = (PyObject **)memory + in + out,
           .arrays = (PyObject **)memory + 2 * (size_t)in + out};
  v->refs++;
  PyObject *result = run_read(&r, c) && run_allocate(&r) && run_plan(&r) ? run_results(&r) : NULL;
  for (uint32_t i = 0; i < in; i++)
    Py_XDECREF(r.owned[i]);
  for (uint32_t i = 0; i < out; i++)
    Py_XDECREF(r.arrays[i]);
  version_unref(v);
  if (!small) free(memory);
  return result;
}

#define COMPILED_MAX_SIZES 64

/* The list of AOTAutograd's boxed convention, or the inputs one by one. */
static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *kwnames) {
  compiled *c = (compiled *)self;
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject *boxed = count == 1 && PyList_CheckExact(args[0]) ? PyList_AsTuple(args[0]) : NULL;
  int64_t sizes[COMPILED_MAX_SIZES];
  uint32_t size_count = 0;
  if (PyErr_Occurred()) return NULL;
  if (boxed) {
    args = &PyTuple_GET_ITEM(boxed, 0);
    count = PyTuple_GET_SIZE(boxed);
  }
  bool good = count == (Py_ssize_t)c->input_count && !kwnames;
  if (!good)
    PyErr_Format(PyExc_TypeError, "frameloom: %zd inputs for a graph with %u", count,
                 c->input_count);
  for (uint32_t i = 0; i < c->input_count && good; i++) {
    if (c->inputs[i].kind != FX_INPUT_SIZE) continue;
    sizes[size_count++] = PyLong_AsLongLong(args[i]);
    good = !PyErr_Occurred();
  }
  version *v = good ? compiled_version(c, sizes) : NULL;
  PyObject *result = v ? compiled_run(c, v, args) : NULL;
  Py_XDECREF(boxed);
  return result;
}

/* ---- the type -------------------------------------------------------------------------------- */

static void compiled_clear_versions(compiled *c) {
  while (c->versions) {
    version *v = c->versions;
    c->versions = v->next;
    version_unref(v);
  }
}

static int compiled_clear(PyObject *self) {
  compiled *c = (compiled *)self;
  Py_CLEAR(c->module);
  Py_CLEAR(c->dict);
  return 0;
}

static int compiled_traverse(PyObject *self, visitproc visit, void *arg) {
  compiled *c = (compiled *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(c->module);
  Py_VISIT(c->dict);
  return 0;
}

static void compiled_dealloc(PyObject *self) {
  compiled *c = (compiled *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  compiled_clear_versions(c);
  for (uint32_t i = 0; i < c->input_count; i++)
    Py_XDECREF(c->inputs[i].name);
  free(c->inputs);
  compiled_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

static PyObject *version_describe(const version *v) {
  return Py_BuildValue("{s:I,s:O,s:I,s:d,s:O}", "ops", v->ops, "host_calls", v->host_reasons,
                       "kernels", v->report.info.kernels, "compile_ms", v->report.total_ms,
                       "cached", v->report.cached ? Py_True : Py_False);
}

static PyObject *compiled_report(PyObject *self, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (version *v = ((compiled *)self)->versions; list && v; v = v->next) {
    PyObject *row = version_describe(v);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

static PyObject *compiled_graph(PyObject *self, PyObject *unused) {
  version *v = ((compiled *)self)->versions;
  char *text = NULL;
  size_t size = 0;
  FILE *out = v ? open_memstream(&text, &size) : NULL;
  if (!out) Py_RETURN_NONE;
  loom_graph_print(&v->graph, out);
  fclose(out);
  PyObject *string = PyUnicode_FromStringAndSize(text, (Py_ssize_t)size);
  free(text);
  return string;
}

static PyMethodDef compiled_methods[] = {
    {"report", compiled_report, METH_NOARGS,
     PyDoc_STR("report()\n--\n\nA list with a dict for each compiled version: ops, host_calls, "
               "kernels, compile_ms (milliseconds), cached.")},
    {"graph", compiled_graph, METH_NOARGS,
     PyDoc_STR("graph()\n--\n\nThe captured graph of the version used last, as loom MLIR.")},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef compiled_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef compiled_members[] = {
    {"__dictoffset__", T_PYSSIZET, offsetof(compiled, dict), READONLY, NULL},
    {"__vectorcalloffset__", T_PYSSIZET, offsetof(compiled, vectorcall), READONLY, NULL},
    {NULL, 0, 0, 0, NULL}};
static PyType_Slot compiled_slots[] = {
    {Py_tp_dealloc, compiled_dealloc}, {Py_tp_traverse, compiled_traverse},
    {Py_tp_clear, compiled_clear},     {Py_tp_call, PyVectorcall_Call},
    {Py_tp_methods, compiled_methods}, {Py_tp_getset, compiled_getset},
    {Py_tp_members, compiled_members}, {0, NULL}};
static PyType_Spec compiled_spec = {.name = "frameloom._native.CompiledGraph",
                                    .basicsize = sizeof(compiled),
                                    .flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC |
                                             Py_TPFLAGS_HAVE_VECTORCALL |
                                             Py_TPFLAGS_DISALLOW_INSTANTIATION,
                                    .slots = compiled_slots};
static PyTypeObject *compiled_type;

bool torch_compiled_init(PyObject *module) {
  if (!compiled_type) compiled_type = (PyTypeObject *)PyType_FromSpec(&compiled_spec);
  return compiled_type != NULL;
}

PyObject *torch_py_init(PyObject *module, PyObject *unused) {
  if (!torch_init()) return NULL;
  Py_RETURN_NONE;
}

PyObject *torch_py_compile(PyObject *module, PyObject *args) {
  PyObject *graph_module;
  const char *cpu;
  int interpret, fastmath;
  long long visible;
  if (!PyArg_ParseTuple(args, "OsppL", &graph_module, &cpu, &interpret, &fastmath, &visible))
    return NULL;
  compiled *c = (compiled *)compiled_type->tp_alloc(compiled_type, 0);
  if (!c) return NULL;
  c->vectorcall = compiled_call;
  c->module = Py_NewRef(graph_module);
  c->interpret = interpret;
  c->visible = visible;
  c->fastmath = fastmath;
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  c->inputs = fx_placeholders(graph_module, &c->input_count);
  bool good = c->inputs && PyObject_SetAttrString((PyObject *)c, "_boxed_call", Py_True) == 0;
  for (uint32_t i = 0; i < c->input_count && good; i++)
    c->size_count += c->inputs[i].kind == FX_INPUT_SIZE;
  if (good && c->size_count > COMPILED_MAX_SIZES) {
    PyErr_SetString(PyExc_NotImplementedError, "too many symbolic sizes");
    good = false;
  }
  /* A graph without symbols is compiled at once, so that what is not supported shows here. */
  if (good && !c->size_count) good = compiled_version(c, (int64_t[]){0}) != NULL;
  if (!good) Py_CLEAR(c);
  return (PyObject *)c;
}
