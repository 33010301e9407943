/* The callable that AOTAutograd gets for one FX graph.
 *
 * Called with one list of inputs, tensors and ints, in the order of the graph's placeholders; gives
 * a tuple of results. A graph with symbolic sizes has one version for all sizes (the general one).
 * Where an op cannot be compiled for all sizes, or a call is outside of what is known of the
 * symbols, there is a version for each tuple of sizes, the last used tried first and only so many
 * of them kept; then the general version, in which such ops run through torch, serves the other
 * sizes. What cannot be compiled for a call runs in eager torch. */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/torch.h"
#include "graph/ops.h"

#include <structmember.h>

#include <string.h>

#define COMPILED_MAX_VERSIONS 8 /* for known sizes, of one graph */

/* One compiled version: immutable once made. */
typedef struct version {
  struct version *next;
  uint32_t refs;
  bool general;         /* for all sizes: its graph has symbols */
  void **constant_data; /* of the CONST inputs, by input */
  int64_t *sizes;       /* else: of torch's symbols, in order */
  loom_graph graph;
  loom_plan *plan; /* NULL: the interpreter */
  fx_input *inputs;
  fx_result *results;
  fx_scalar *scalars; /* sizes that are data */
  uint32_t scalar_count, result_count, ops;
  bool release_gil;
  bool checks;           /* a failed check of a value has the call run again in eager torch */
  bool lends;            /* some tensors are made and dropped during a run, as these say: */
  uint32_t *made_by;     /* by output: 1 + the number of its result, set when it is first written */
  uint32_t *placeholder; /* by input: 1 + the argument, dropped when it has been read */
  PyObject *constants, *hosts, *host_reasons, *host_places;
  loom_compile_report report;
} version;

typedef struct compiled {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyObject *module; /* the FX graph module */
  PyObject *name;   /* of the graph, for people: a str */
  PyObject *own;    /* a set: numbers of results that are handed on as they are */
  PyObject *frozen; /* dict: number of an argument -> the tensor that it is taken to be */
  fx_input *inputs; /* kinds */
  fx_symbols symbols;
  uint32_t input_count;
  bool interpret, fastmath, gradients;
  long long visible;
  char cpu[16];
  version *general;     /* or NULL */
  version *versions;    /* for known sizes, last used first */
  uint32_t known;       /* how many of these have been made */
  bool no_general;      /* no general plan: making one has failed */
  bool per_size;        /* plans for given sizes are better than the general one */
  PyObject *why_static; /* why there is no general one, or why it is not the better one; or NULL */
  PyObject *weak;
  PyObject *dict; /* attributes: AOTAutograd's wrappers copy them */
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

#define COMPILED_LEND_BYTES (256 << 10) /* smaller tensors are all there for the whole run */

static bool version_is_large(const torch_spec *spec) {
  int64_t bytes = (int64_t)loom_dtype_size(spec->dtype);
  for (int i = 0; i < spec->rank; i++)
    bytes *= spec->sizes[i];
  return bytes >= COMPILED_LEND_BYTES;
}

/* Has running the graph neither results nor effects? */
static bool version_is_idle(const version *v) {
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
  loom_error err = {0};
  const char *title = PyUnicode_AsUTF8(c->name);
  char *trace = compile_trace_folder(title);
  loom_compile_options options = {.cpu = c->cpu[0] ? c->cpu : NULL,
                                  .trace_dir = trace,
                                  .fastmath = c->fastmath,
                                  .open_sums = c->gradients,
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

static torch_description version_description(const compiled *c, const version *v) {
  return (torch_description){.graph = &v->graph,
                             .plan = v->plan,
                             .report = &v->report,
                             .host_reasons = v->host_reasons,
                             .host_places = v->host_places,
                             .ops = v->ops,
                             .name = c->name};
}

/* The graph for these values of torch's symbols; NULL: for all of them. */
static version *version_new(const compiled *c, const int64_t *sizes) {
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

/* Compiles it; takes `v` over (NULL: an exception is set already). */
static version *version_finish(const compiled *c, version *v) {
  if (!v) return NULL;
  bool good = version_compile(c, v);
  v->constant_data = good ? calloc(v->graph.input_count + 1, sizeof(void *)) : NULL;
  if (good && !v->constant_data) PyErr_NoMemory();
  if (!v->constant_data || !version_bind(v) || !version_lend(c, v)) return version_unref(v), NULL;
  v->release_gil = version_has_work(&v->graph);
  for (uint32_t i = 0; i < v->graph.node_count; i++)
    v->release_gil |= v->graph.nodes[i].op == LOOM_OP_HOST_CALL;
  torch_description d = version_description(c, v);
  torch_log(&d);
  return v;
}

/* Takes the exception that says why something is not compiled; false when it is another one. */
static bool compiled_forgive(PyObject **why) {
  if (!PyErr_ExceptionMatches(PyExc_NotImplementedError)) return false;
  PyObject *type, *value, *trace;
  PyErr_Fetch(&type, &value, &trace);
  PyErr_NormalizeException(&type, &value, &trace);
  if (why) Py_XSETREF(*why, value ? PyObject_Str(value) : NULL);
  Py_XDECREF(trace);
  Py_XDECREF(value);
  Py_XDECREF(type);
  return !PyErr_Occurred();
}

static version *compiled_keep(compiled *c, version *v) {
  version **last = &c->versions;
  uint32_t count = 0;
  if (!v) return NULL;
  c->known++;
  v->next = c->versions;
  c->versions = v;
  for (; *last && count < COMPILED_MAX_VERSIONS; count++)
    last = &(*last)->next;
  version *old = *last;
  *last = NULL;
  version_unref(old); /* at most one is too many */
  return v;
}

/* The version for known sizes; NULL, maybe with an exception, when there is none yet. */
static version *compiled_find(compiled *c, const int64_t *sizes) {
  for (version **at = &c->versions; *at; at = &(*at)->next) {
    version *v = *at;
    if (memcmp(v->sizes, sizes, c->symbols.count * sizeof *sizes) != 0) continue;
    *at = v->next;
    v->next = c->versions;
    return c->versions = v;
  }
  return NULL;
}

/* The general version, made when there are too many others; NULL without an exception: there can be
 * none. */
static version *compiled_general(compiled *c) {
  if (c->general || c->no_general) return c->general;
  c->general = version_finish(c, version_new(c, NULL));
  c->no_general = !c->general;
  if (!c->general) compiled_forgive(NULL);
  return c->general;
}

/* The version for a call, made if there is none; borrowed. NULL without an exception: none can be
 * made. */
static version *compiled_version(compiled *c, const int64_t *sizes) {
  bool fits = fx_symbols_fit(&c->symbols, sizes);
  if (fits && c->general && !c->per_size) return c->general;
  version *v = compiled_find(c, sizes);
  if (v) return v;
  bool many = c->known >= COMPILED_MAX_VERSIONS;
  if (fits && many && compiled_general(c)) return c->general;
  if (PyErr_Occurred()) return NULL;
  v = compiled_keep(c, version_finish(c, version_new(c, sizes)));
  if (v || !compiled_forgive(NULL)) return v;
  return fits ? compiled_general(c) : NULL;
}

/* Would some ops that run through torch in the general version be compiled if sizes were known?
 * Only then a version for each tuple of sizes is worth its compilation; the one for `hints`, else
 * NULL. */
static version *compiled_better(compiled *c, const version *general, const int64_t *hints) {
  Py_ssize_t through_torch = PyList_GET_SIZE(general->host_reasons);
  version *known = through_torch ? version_new(c, hints) : NULL;
  error_drop();
  if (!known) return NULL;
  if (PyList_GET_SIZE(known->host_reasons) >= through_torch) return version_unref(known), NULL;
  PyObject *first = PyList_GET_ITEM(general->host_reasons, 0);
  Py_XSETREF(c->why_static, PyUnicode_FromFormat("%S: %S", PyTuple_GET_ITEM(first, 0),
                                                 PyTuple_GET_ITEM(first, 1)));
  return known;
}

/* Tries the general version first; the better one for known sizes in its place is given back. */
static bool compiled_prepare_general(compiled *c, const int64_t *hints, version **better) {
  version *general = version_new(c, NULL);
  *better = general && hints ? compiled_better(c, general, hints) : NULL;
  c->per_size = *better != NULL;
  if (c->per_size) return version_unref(general), true;
  c->general = version_finish(c, general);
  c->no_general = !c->general;
  return c->general || compiled_forgive(&c->why_static);
}

/* Compiles at once, so that an unsupported graph fails here and not at the first call. */
static bool compiled_prepare(compiled *c) {
  int64_t hints[FX_MAX_SYMBOLS];
  bool hinted = true;
  version *known = NULL;
  for (uint32_t i = 0; i < c->symbols.count; i++) {
    hints[i] = c->symbols.rows[i].hint;
    hinted &= c->symbols.rows[i].hinted;
  }
  if (c->symbols.count && !compiled_prepare_general(c, hinted ? hints : NULL, &known)) return false;
  if (c->general) return true;
  if (!hinted) {
    PyErr_SetString(PyExc_NotImplementedError, "sizes that are only known when run");
    return false;
  }
  return compiled_keep(c, version_finish(c, known ? known : version_new(c, hints))) != NULL;
}

/* ---- running ---- */

#define RUN_STACK 64 /* inputs and outputs that need no allocation */

typedef struct run {
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
  if (!torch_read(tensor, &t)) return false;
  if (!spec || !run_matches(&t, spec, &strides)) return r->other = true, false;
  r->inputs[input->number] = t.data;
  for (int i = 0; i < spec->rank; i++) {
    empty |= spec->sizes[i] == 0;
    bytes *= spec->sizes[i];
  }
  if (input->whole && !(strides && tensor == given && torch_is_whole(tensor, bytes)))
    return r->other = true, false;
  if (strides || empty) return true;
  if (run_overlaps_itself(spec)) return r->other = true, false;
  PyObject *copy = run_restride(tensor, spec, &r->inputs[input->number]);
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
    r->arrays[result->number] = torch_empty(spec, &r->outputs[result->number]);
    if (!r->arrays[result->number]) return false;
  }
  return true;
}

static bool run_lend(void *context, uint32_t output) {
  run *r = context;
  uint32_t result = r->version->made_by[output];
  if (r->arrays[output] || !result) return r->arrays[output] != NULL; /* nothing lies at NULL */
  PyGILState_STATE state = PyGILState_Ensure();
  r->arrays[output] = torch_empty(&r->version->results[result - 1].spec, &r->outputs[output]);
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
  int failed = torch_host_run(v->hosts, &v->graph, call);
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
  return torch_host_run(v->hosts, &v->graph, &call);
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
  if (!v->release_gil) return run_status(r, loom_plan_run(v->plan, &call), &violation);
  Py_BEGIN_ALLOW_THREADS status = loom_plan_run(v->plan, &call);
  Py_END_ALLOW_THREADS return run_status(r, status, &violation);
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

static PyObject *run_strided(PyObject *base, const torch_spec *spec, int64_t offset) {
  PyObject *sizes = run_numbers(spec->sizes, spec->rank);
  PyObject *strides = run_numbers(spec->strides, spec->rank);
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

static PyObject *run_result(const run *r, PyObject *before, const fx_result *result) {
  switch (result->kind) {
  case FX_RESULT_OUTPUT:
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

/* Runs a version; NULL without an exception: the call is another one than it was made for. */
static PyObject *compiled_run(compiled *c, version *v, PyObject *const *args, PyObject *boxed,
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
    run r = {.version = v,
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

/* The values of torch's symbols in a call; false when they are not whole, or with an exception. */
static bool compiled_read_symbols(const compiled *c, PyObject *const *args, int64_t *out) {
  for (uint32_t i = 0; i < c->symbols.count; i++) {
    const fx_symbol *row = &c->symbols.rows[i];
    int64_t value;
    if (row->axis < 0) {
      value = PyLong_AsLongLong(args[row->place]);
      if (value == -1 && PyErr_Occurred()) return false;
    } else {
      torch_view t;
      if (!torch_read(args[row->place], &t)) return false;
      if (row->axis >= t.rank) return false;
      value = t.sizes[row->axis];
    }
    if (value % row->factor) return false;
    out[i] = value / row->factor;
  }
  return true;
}

/* A call that the plan does not support runs in eager torch. */
static PyObject *compiled_eager(const compiled *c, PyObject *const *args) {
  PyObject *result = PyObject_Vectorcall(c->module, args, c->input_count, NULL);
  bool many = !result || PyTuple_Check(result) || PyList_Check(result);
  PyObject *tuple = many ? result : PyTuple_Pack(1, result);
  if (!many) Py_DECREF(result);
  return tuple;
}

/* `args` may be those in the tuple `boxed`, which nobody else has, made of `list`. */
static PyObject *compiled_dispatch(compiled *c, PyObject *const *args, PyObject *list,
                                   PyObject *boxed) {
  int64_t values[FX_MAX_SYMBOLS] = {0}, symbols[FX_MAX_SYMBOLS];
  PyObject *result = NULL;
  bool good = compiled_read_symbols(c, args, values);
  version *v = good ? compiled_version(c, values) : NULL;
  for (uint32_t i = 0; i < c->symbols.count && v; i++)
    symbols[i] = values[i] / c->symbols.rows[i].unit;
  /* The convention gives the list away, so that nobody else holds what is dropped. */
  if (v && list && v->lends && PyList_SetSlice(list, 0, PY_SSIZE_T_MAX, NULL) < 0) return NULL;
  if (v) result = compiled_run(c, v, args, boxed, symbols);
  return result || PyErr_Occurred() ? result : compiled_eager(c, args);
}

/* The list of AOTAutograd's boxed convention, or the inputs one by one. */
static PyObject *compiled_call(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *kwnames) {
  compiled *c = (compiled *)self;
  Py_ssize_t count = PyVectorcall_NARGS(flags);
  PyObject *list = count == 1 && PyList_CheckExact(args[0]) ? args[0] : NULL;
  PyObject *boxed = list ? PyList_AsTuple(list) : NULL;
  if (PyErr_Occurred()) return NULL;
  if (boxed) {
    args = &PyTuple_GET_ITEM(boxed, 0);
    count = PyTuple_GET_SIZE(boxed);
  }
  bool good = count == (Py_ssize_t)c->input_count && !kwnames;
  if (!good)
    PyErr_Format(PyExc_TypeError, "frameloom: %zd inputs for a graph with %u", count,
                 c->input_count);
  PyObject *result = good ? compiled_dispatch(c, args, list, boxed) : NULL;
  Py_XDECREF(boxed);
  return result;
}

/* ---- the type -------------------------------------------------------------------------------- */

static void compiled_clear_versions(compiled *c) {
  version_unref(c->general);
  while (c->versions) {
    version *v = c->versions;
    c->versions = v->next;
    version_unref(v);
  }
}

static int compiled_clear(PyObject *self) {
  compiled *c = (compiled *)self;
  Py_CLEAR(c->module);
  Py_CLEAR(c->name);
  Py_CLEAR(c->own);
  Py_CLEAR(c->frozen);
  Py_CLEAR(c->dict);
  return 0;
}

static int compiled_traverse(PyObject *self, visitproc visit, void *arg) {
  compiled *c = (compiled *)self;
  Py_VISIT(Py_TYPE(self));
  Py_VISIT(c->module);
  Py_VISIT(c->frozen);
  Py_VISIT(c->dict);
  return 0;
}

static void compiled_dealloc(PyObject *self) {
  compiled *c = (compiled *)self;
  PyTypeObject *type = Py_TYPE(self);
  PyObject_GC_UnTrack(self);
  if (c->weak) PyObject_ClearWeakRefs(self);
  compiled_clear_versions(c);
  fx_symbols_fini(&c->symbols);
  Py_XDECREF(c->why_static);
  free(c->inputs);
  compiled_clear(self);
  type->tp_free(self);
  Py_DECREF(type);
}

/* The sizes that a version is for, by the names of torch's symbols; None: all. */
static PyObject *version_sizes(const compiled *c, const version *v) {
  if (v->general) Py_RETURN_NONE;
  PyObject *dict = PyDict_New();
  for (uint32_t i = 0; dict && i < c->symbols.count; i++) {
    PyObject *size = PyLong_FromLongLong(v->sizes[i]);
    if (!size || PyDict_SetItem(dict, c->symbols.rows[i].name, size) < 0) Py_CLEAR(dict);
    Py_XDECREF(size);
  }
  return dict;
}

static PyObject *version_describe(const compiled *c, const version *v) {
  torch_description d = version_description(c, v);
  PyObject *row = torch_describe(&d), *sizes = row ? version_sizes(c, v) : NULL;
  PyObject *why = c->why_static && !v->general ? c->why_static : Py_None;
  bool good = sizes && PyDict_SetItemString(row, "sizes", sizes) == 0 &&
              PyDict_SetItemString(row, "static_because", why) == 0;
  Py_XDECREF(sizes);
  if (!good) Py_CLEAR(row);
  return row;
}

static PyObject *compiled_report(PyObject *self, PyObject *unused) {
  const compiled *c = (compiled *)self;
  PyObject *list = PyList_New(0);
  const version *v = c->general ? c->general : c->versions;
  for (; list && v; v = v->general ? c->versions : v->next) {
    PyObject *row = version_describe(c, v);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

/* What a result really has, where that is known before a call. */
static PyObject *compiled_strides_of(const compiled *c, const fx_result *result) {
  bool known = !c->symbols.count && result->kind == FX_RESULT_OUTPUT && !result->expanded;
  return known ? run_numbers(result->spec.strides, result->spec.rank) : Py_NewRef(Py_None);
}

static PyObject *compiled_result_strides(PyObject *self, PyObject *unused) {
  const compiled *c = (compiled *)self;
  const version *v = c->general ? c->general : c->versions;
  PyObject *list = PyList_New(v ? v->result_count : 0);
  for (uint32_t i = 0; list && v && i < v->result_count; i++) {
    PyObject *strides = compiled_strides_of(c, &v->results[i]);
    if (!strides) Py_CLEAR(list);
    if (strides) PyList_SET_ITEM(list, i, strides);
  }
  return list;
}

static PyObject *compiled_graph(PyObject *self, PyObject *unused) {
  const compiled *c = (compiled *)self;
  const version *v = c->general && !c->per_size ? c->general : c->versions;
  if (!v) Py_RETURN_NONE;
  return torch_graph_text(&v->graph);
}

static PyMethodDef compiled_methods[] = {
    {"report", compiled_report, METH_NOARGS,
     PyDoc_STR("report()\n--\n\nA list with a dict for each compiled version: ops, host_calls, "
               "host_places, kernels, compile_ms (milliseconds), cached.")},
    {"result_strides", compiled_result_strides, METH_NOARGS,
     PyDoc_STR("result_strides()\n--\n\nFor each result its strides in elements, as a tuple; None "
               "where they are as torch declares or follow from symbols.")},
    {"graph", compiled_graph, METH_NOARGS,
     PyDoc_STR("graph()\n--\n\nThe captured graph of the version used last, as loom MLIR.")},
    {NULL, NULL, 0, NULL}};
static PyGetSetDef compiled_getset[] = {
    {"__dict__", PyObject_GenericGetDict, PyObject_GenericSetDict, NULL, NULL},
    {NULL, NULL, NULL, NULL, NULL}};
static PyMemberDef compiled_members[] = {
    {"__weaklistoffset__", T_PYSSIZET, offsetof(compiled, weak), READONLY, NULL},
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

/* Frozen arguments are bound to the plan, and are not read from a call. */
static bool compiled_freeze(compiled *c, PyObject *frozen) {
  PyObject *number, *tensor;
  Py_ssize_t at = 0;
  c->frozen = Py_NewRef(frozen);
  while (PyDict_Next(frozen, &at, &number, &tensor)) {
    size_t i = PyLong_AsSize_t(number);
    if (PyErr_Occurred()) return false;
    if (i >= c->input_count || c->inputs[i].kind != FX_INPUT_TENSOR)
      return PyErr_SetString(PyExc_ValueError, "no tensor among the arguments is frozen"), false;
    c->inputs[i].kind = FX_INPUT_OBJECT;
  }
  return true;
}

PyObject *torch_py_compile(PyObject *module, PyObject *args) {
  PyObject *graph_module, *frozen;
  const char *cpu;
  int interpret, fastmath, gradients;
  long long visible;
  if (!PyArg_ParseTuple(args, "OsppLpO!", &graph_module, &cpu, &interpret, &fastmath, &visible,
                        &gradients, &PyDict_Type, &frozen))
    return NULL;
  compiled *c = (compiled *)compiled_type->tp_alloc(compiled_type, 0);
  if (!c) return NULL;
  c->vectorcall = compiled_call;
  c->module = Py_NewRef(graph_module);
  c->name = PyObject_GetAttrString(graph_module, "_frameloom_name");
  if (!c->name || !PyUnicode_Check(c->name)) {
    error_drop();
    Py_XSETREF(c->name, PyUnicode_FromString("torch graph"));
  }
  c->own = PyObject_GetAttrString(graph_module, "_frameloom_own");
  if (!c->own || !PyAnySet_Check(c->own)) {
    error_drop();
    Py_XSETREF(c->own, PySet_New(NULL));
  }
  c->interpret = interpret;
  c->visible = visible;
  c->fastmath = fastmath;
  c->gradients = gradients;
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  c->inputs = fx_placeholders(graph_module, &c->input_count, &c->symbols);
  bool good = c->name && c->own && c->inputs && compiled_freeze(c, frozen) &&
              PyObject_SetAttrString((PyObject *)c, "_boxed_call", Py_True) == 0 &&
              compiled_prepare(c);
  if (!good) Py_CLEAR(c);
  return (PyObject *)c;
}
