/* The callable that AOTAutograd gets for one FX graph.
 *
 * Called with one list of inputs, tensors and ints, in the order of the graph's placeholders; gives
 * a tuple of results. A graph with symbolic sizes has one version for all sizes (the general one).
 * Where an op cannot be compiled for all sizes, or a call violates what is known of the symbols,
 * there is a version for each tuple of sizes. The one used last is tried first, and only so many
 * are kept. After that the general version, in which such ops run through torch, serves all other
 * sizes. A call that cannot be compiled runs in eager torch. */
#include "frontend/base/base.h"
#include "frontend/compile/placed.h"
#include "frontend/torch/compiled_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <structmember.h>

#include <string.h>

#define COMPILED_MAX_VERSIONS 8 /* for known sizes, of one graph */

/* ---- which version a call gets ---- */

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

/* The one version of a graph that is no FX graph. */
static version *compiled_program(compiled *c) {
  version *pending = c->pending;
  c->pending = NULL;
  bool general = pending && pending->general;
  version *made = pending ? version_finish(c, pending) : NULL;
  if (general)
    c->general = made;
  else if (pending)
    compiled_keep(c, made);
  if (pending && !made) compiled_forgive(NULL);
  return c->general ? c->general : c->versions;
}

/* The version for a call, made if there is none; borrowed. NULL without an exception: none can be
 * made. */
static version *compiled_version(compiled *c, const int64_t *sizes) {
  if (c->is_program) return compiled_program(c);
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
  if (c->device && hints) { /* the general one comes when there are many others */
    c->per_size = true;
    c->why_static = PyUnicode_FromString("a device's kernels for known sizes are faster");
    return c->why_static != NULL;
  }
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

/* ---- calls ---- */

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
      if (!torch_read(c->place, args[row->place], &t)) return false;
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
  if (v) result = version_run(c, v, args, boxed, symbols);
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
  version_unref(c->pending);
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
  PyObject *plan = !sizes      ? NULL
                   : v->placed ? placed_facts(v->placed, !v->checks)
                               : Py_NewRef(Py_None);
  bool good = plan && PyDict_SetItemString(row, "device_plan", plan) == 0 &&
              PyDict_SetItemString(row, "sizes", sizes) == 0 &&
              PyDict_SetItemString(row, "static_because", why) == 0;
  Py_XDECREF(plan);
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
  return known ? tuple_of_numbers(result->spec.strides, result->spec.rank) : Py_NewRef(Py_None);
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
     PyDoc_STR(
         "report()\n--\n\nA list with a dict for each compiled version: ops, host_calls, "
         "host_places, kernels, compile_ms (milliseconds), cached, device, and of one on a device "
         "device_plan.")},
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

compiled *compiled_new(void) {
  compiled *c = (compiled *)compiled_type->tp_alloc(compiled_type, 0);
  if (c) c->vectorcall = compiled_call;
  return c;
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

/* Where the tensors of the graph lie: "" is the CPU, others are names of devices. */
static bool compiled_place(compiled *c, const char *device) {
  loom_error err = {0};
  void *stream;
  if (!device[0]) return true;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = loom_device_open(device, &c->device, &err);
  Py_END_ALLOW_THREADS if (!good) PyErr_SetString(PyExc_NotImplementedError, err.message);
  if (good) c->place = loom_device_number(c->device) + 1;
  return good && torch_stream(c->place, &stream);
}

PyObject *torch_py_compile(PyObject *module, PyObject *args) {
  PyObject *graph_module, *frozen;
  const char *cpu, *device;
  int interpret, fastmath, gradients, graphs, tf32;
  long long visible;
  if (!PyArg_ParseTuple(args, "OsppLpO!spp", &graph_module, &cpu, &interpret, &fastmath, &visible,
                        &gradients, &PyDict_Type, &frozen, &device, &graphs, &tf32))
    return NULL;
  compiled *c = compiled_new();
  if (!c || !compiled_place(c, device)) {
    Py_XDECREF(c);
    return NULL;
  }
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
  c->graphs = graphs;
  c->tf32 = tf32;
  snprintf(c->cpu, sizeof c->cpu, "%s", cpu);
  c->inputs = fx_placeholders(graph_module, &c->input_count, &c->symbols);
  bool good = c->name && c->own && c->inputs && compiled_freeze(c, frozen) &&
              PyObject_SetAttrString((PyObject *)c, "_boxed_call", Py_True) == 0 &&
              compiled_prepare(c);
  if (!good) Py_CLEAR(c);
  return (PyObject *)c;
}
