/* Backends written by the user: a callable gets the graph and this call's inputs, and returns
 * another callable, which each run calls with its inputs. The results are copied into buffers of
 * ours, so they never alias anything that the backend keeps. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/pygraph/pygraph.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

static PyObject *backend_inputs(const entry *e, const loom_buffer *inputs, PyObject *const *live) {
  uint32_t count = e->captured->graph.input_count;
  PyObject *list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    bool array = e->captured->graph.inputs[i].kind != LOOM_INPUT_SCALAR;
    PyObject *input = loom_adapters()[0]->buffer_wrap(&inputs[i], array ? live[i] : NULL);
    if (!input) Py_CLEAR(list);
    if (input) PyList_SET_ITEM(list, i, input);
  }
  return list;
}

/* Asks the backend, once. */
static bool backend_make(entry *e, PyObject *inputs) {
  if (e->user.runner) return true;
  PyObject *graph = graph_object_new(e->captured, e->made.name);
  PyObject *made =
      graph ? PyObject_CallFunctionObjArgs(e->user.backend, graph, inputs, NULL) : NULL;
  Py_XDECREF(graph);
  if (made && !PyCallable_Check(made)) {
    PyErr_Format(PyExc_TypeError, "the backend gave %.100s, which cannot be called",
                 Py_TYPE(made)->tp_name);
    Py_CLEAR(made);
  }
  if (!made) return false;
  if (!e->user.runner) e->user.runner = Py_NewRef(made); /* another thread may have been faster */
  Py_DECREF(made);
  return true;
}

/* What a device cannot do, whatever the function's arguments are. */
static const char *backend_cannot(const entry *e) {
  const capture *c = e->captured;
  if (c->hosts && PyList_GET_SIZE(c->hosts)) return "calls a function that runs on the host";
  if (e->stopped || c->late) return "has parts that run as plain Python";
  return c->adapter && c->adapter != loom_adapters()[0] ? "has arrays of another library" : NULL;
}

/* What a run does besides making results would be done to objects that stand for others. */
static const char *backend_may_not(const entry *e) {
  const capture *c = e->captured;
  if (c->effect_count) return "writes to an array that it was given";
  if (c->change_count) return "changes an object that it was given, or a global one";
  return c->generators ? "gives a generator" : NULL;
}

static bool backend_refuse(const entry *e) {
  const char *what = e->user.device ? backend_may_not(e) : NULL;
  if (!what) what = backend_cannot(e);
  if (!what) return true;
  error_raise_own("DeviceError", "%U: a function on a device cannot be compiled when it %s",
                  e->made.name, what);
  return false;
}

PyObject *backend_cannot_fall_back(const entry *e, bool *fallback) {
  if (!e->user.device || !*fallback) return NULL;
  *fallback = false;
  if (!PyErr_Occurred())
    error_raise_own("DeviceError",
                    "%U: what the function reads has changed while it ran on a device",
                    e->made.name);
  return NULL;
}

/* The backend gets the memory of the results, too. What it gives for one is None, or an array to
 * copy. */
static bool backend_run_given(entry *e, PyObject *inputs, const loom_buffer *outputs,
                              const int64_t *symbols) {
  uint32_t count = e->captured->graph.output_count;
  PyObject *list = PyList_New(count), *made = NULL;
  PyObject *numbers = tuple_of_numbers(symbols, (int)e->captured->graph.symbol_count);
  bool good = list != NULL && numbers != NULL;
  for (uint32_t i = 0; good && i < count; i++) {
    PyObject *output = loom_adapters()[0]->buffer_wrap(&outputs[i], Py_None);
    good = output != NULL;
    if (good) PyList_SET_ITEM(list, i, output);
  }
  if (good) made = PyObject_CallFunctionObjArgs(e->user.runner, inputs, list, numbers, NULL);
  good = made && PyList_Check(made) && PyList_GET_SIZE(made) == count;
  if (made && !good)
    PyErr_SetString(PyExc_TypeError, "the backend of a device gave no list of its results");
  for (uint32_t i = 0; good && i < count; i++)
    if (PyList_GET_ITEM(made, i) != Py_None)
      good = loom_adapters()[0]->buffer_store(&outputs[i], PyList_GET_ITEM(made, i), "a result");
  Py_XDECREF(list);
  Py_XDECREF(numbers);
  Py_XDECREF(made);
  return good;
}

static bool backend_store(const entry *e, PyObject *result, const loom_buffer *outputs) {
  uint32_t count = e->captured->graph.output_count;
  bool many = PyTuple_Check(result) || PyList_Check(result);
  if (!many && count == 1)
    return loom_adapters()[0]->buffer_store(outputs, result, "what the backend gave");
  if (!many || PySequence_Fast_GET_SIZE(result) != count) {
    PyErr_Format(PyExc_TypeError, "what the backend made gave no tuple of %u results",
                 (unsigned)count);
    return false;
  }
  PyObject *held = PySequence_Tuple(result);
  bool good = held != NULL;
  for (uint32_t i = 0; good && i < count; i++) {
    char what[64];
    snprintf(what, sizeof what, "result %u of what the backend made", i);
    good = loom_adapters()[0]->buffer_store(&outputs[i], PyTuple_GET_ITEM(held, i), what);
  }
  Py_XDECREF(held);
  return good;
}

static bool backend_says(PyObject *backend, const char *attribute) {
  PyObject *value = backend ? PyObject_GetAttrString(backend, attribute) : NULL;
  bool says = value == Py_True;
  Py_XDECREF(value);
  if (backend && !value) error_drop();
  return says;
}

void entry_user_init(entry_user *user, PyObject *backend) {
  user->backend = Py_XNewRef(backend);
  user->device = backend_says(backend, "on_device");
  user->fills = backend_says(backend, "fills_outputs");
}

void entry_user_fini(entry_user *user) {
  Py_CLEAR(user->backend);
  Py_CLEAR(user->runner);
}

int entry_user_traverse(const entry_user *user, visitproc visit, void *arg) {
  Py_VISIT(user->backend);
  Py_VISIT(user->runner);
  return 0;
}

/* By a runner in C. False: it is another one. */
static bool backend_run_direct(const entry *e, const loom_buffer *inputs,
                               const loom_buffer *outputs, const int64_t *symbols, bool *good) {
  const loom_graph *graph = &e->captured->graph;
  return e->user.device && e->user.runner && loom_direct_runner &&
         loom_direct_runner(e->user.runner, inputs, graph->input_count, outputs,
                            graph->output_count, symbols, good);
}

bool backend_run(entry *e, const loom_buffer *inputs, PyObject *const *live,
                 const loom_buffer *outputs, const int64_t *symbols) {
  bool given = e->user.device || e->user.fills;
  if (given && !backend_refuse(e)) return false;
  bool good;
  if (backend_run_direct(e, inputs, outputs, symbols, &good)) return good;
  PyObject *list = backend_inputs(e, inputs, live), *args = NULL, *result = NULL;
  good = list && backend_make(e, list);
  if (good && backend_run_direct(e, inputs, outputs, symbols, &good)) {
    Py_DECREF(list);
    return good;
  }
  if (given) {
    good = good && backend_run_given(e, list, outputs, symbols);
    Py_XDECREF(list);
    return good;
  }
  if (good) args = PySequence_Tuple(list);
  if (args) result = PyObject_Call(e->user.runner, args, NULL);
  good = result && backend_store(e, result, outputs);
  Py_XDECREF(list);
  Py_XDECREF(args);
  Py_XDECREF(result);
  return good;
}
