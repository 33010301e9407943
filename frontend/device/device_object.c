/* Devices, their memory and plans on them, as objects of Python. _device.py makes arrays of them.
 */
#include "frontend/compile/compile.h"
#include "frontend/compile/placed.h"
#include "frontend/device/device.h"
#include "frontend/device/internal.h"
#include "frontend/pygraph/pygraph.h"

#include <stddef.h>
#include <stdlib.h>

static PyTypeObject device_type, memory_type;

void *device_raise(const loom_error *err) {
  error_raise_own("DeviceError", "%s", err->message);
  return NULL;
}

static PyObject *device_none(bool good, const loom_error *err) {
  return good ? Py_NewRef(Py_None) : device_raise(err);
}

static loom_device *device_of(PyObject *self) { return ((device_object *)self)->device; }

PyObject *loom_py_open_device(PyObject *module, PyObject *name) {
  loom_error err = {0};
  loom_device *device = NULL;
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = loom_device_open(text, &device, &err);
  Py_END_ALLOW_THREADS if (!good) return device_raise(&err);
  device_object *self = PyObject_New(device_object, &device_type);
  if (self) self->device = device;
  return (PyObject *)self;
}

/* ---- memory ---- */

memory_object *device_memory_later(loom_device *device, size_t size) {
  memory_object *memory = PyObject_New(memory_object, &memory_type);
  if (!memory) return NULL;
  memory->device = device;
  memory->address = 0;
  memory->size = size;
  memory->shared = false;
  return memory;
}

memory_object *device_memory_new(loom_device *device, size_t size) {
  loom_error err = {0};
  memory_object *memory = device_memory_later(device, size);
  if (!memory) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = loom_device_alloc(device, size, &memory->address, &err);
  Py_END_ALLOW_THREADS if (good) return memory;
  Py_DECREF(memory);
  return device_raise(&err);
}

static PyObject *device_alloc(PyObject *self, PyObject *number) {
  size_t size = PyLong_AsSize_t(number);
  return PyErr_Occurred() ? NULL : (PyObject *)device_memory_new(device_of(self), size);
}

/* Work on the default stream, and on all that wait for it, comes first where others have seen the
 * memory. */
static void memory_dealloc(PyObject *self) {
  memory_object *memory = (memory_object *)self;
  Py_BEGIN_ALLOW_THREADS if (memory->shared)
      loom_device_after(memory->device, LOOM_STREAM_LEGACY, NULL);
  loom_device_free(memory->device, memory->address);
  Py_END_ALLOW_THREADS PyObject_Free(self);
}

static PyObject *memory_share(PyObject *self, PyObject *unused) {
  ((memory_object *)self)->shared = true;
  return Py_NewRef(Py_None);
}

static PyObject *memory_address(PyObject *self, void *unused) {
  return PyLong_FromUnsignedLongLong(((memory_object *)self)->address);
}

static PyObject *device_copy(PyObject *self, PyObject *args, bool up) {
  unsigned long long address;
  Py_buffer view;
  loom_error err = {0};
  if (!PyArg_ParseTuple(args, up ? "Ky*" : "Kw*", &address, &view)) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good =
      up ? loom_device_upload(device_of(self), address, view.buf, (size_t)view.len, &err)
         : loom_device_download(device_of(self), view.buf, address, (size_t)view.len, &err);
  Py_END_ALLOW_THREADS PyBuffer_Release(&view);
  if (!good) return device_raise(&err);
  return !up && placed_raise_reported(device_of(self)) ? NULL : Py_NewRef(Py_None);
}

static PyObject *device_upload(PyObject *self, PyObject *args) {
  return device_copy(self, args, true);
}

static PyObject *device_download(PyObject *self, PyObject *args) {
  return device_copy(self, args, false);
}

/* ---- order ---- */

static PyObject *device_wait(PyObject *self, PyObject *unused) {
  loom_error err = {0};
  bool good, reported;
  Py_BEGIN_ALLOW_THREADS good = loom_device_wait(device_of(self), &err);
  reported = good && loom_device_reported_late(device_of(self), &err);
  Py_END_ALLOW_THREADS if (reported) PyErr_SetString(PyExc_IndexError, err.message);
  return reported ? NULL : device_none(good, &err);
}

static PyObject *device_order(PyObject *self, PyObject *number,
                              bool (*order)(loom_device *, uint64_t, loom_error *)) {
  loom_error err = {0};
  uint64_t value = PyLong_AsUnsignedLongLong(number);
  if (PyErr_Occurred()) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = order(device_of(self), value, &err);
  Py_END_ALLOW_THREADS return device_none(good, &err);
}

static PyObject *device_after(PyObject *self, PyObject *stream) {
  return device_order(self, stream, loom_device_after);
}

static PyObject *device_before(PyObject *self, PyObject *stream) {
  return device_order(self, stream, loom_device_before);
}

static PyObject *device_owner(PyObject *self, PyObject *address) {
  loom_error err = {0};
  uint64_t value = PyLong_AsUnsignedLongLong(address);
  int number = -1;
  if (PyErr_Occurred()) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = loom_device_owner(device_of(self), value, &number, &err);
  Py_END_ALLOW_THREADS return good ? PyLong_FromLong(number) : device_raise(&err);
}

/* copy(address, device, its address, bytes) */
static PyObject *device_copy_over(PyObject *self, PyObject *args) {
  unsigned long long to, from, size;
  PyObject *other;
  loom_error err = {0};
  if (!PyArg_ParseTuple(args, "KO!KK", &to, &device_type, &other, &from, &size)) return NULL;
  bool good;
  Py_BEGIN_ALLOW_THREADS good =
      loom_device_copy(device_of(self), to, device_of(other), from, (size_t)size, &err);
  Py_END_ALLOW_THREADS return device_none(good, &err);
}

static PyObject *device_dlpack(PyObject *self, PyObject *args) {
  const loom_device *device = device_of(self);
  return dlpack_new(dlpack_type(device), loom_device_number(device), args);
}

/* ---- plans ---- */

/* compile(graph, fastmath, title, waits) */
static PyObject *device_compile(PyObject *self, PyObject *args) {
  PyObject *object;
  const char *title;
  int fastmath, waits = 0;
  if (!PyArg_ParseTuple(args, "Ops|p", &object, &fastmath, &title, &waits)) return NULL;
  const loom_graph *graph = graph_object_graph(object);
  plan_object *made = graph ? PyObject_New(plan_object, &device_plan_type) : NULL;
  if (!made) return NULL;
  made->plan = NULL;
  made->weak = NULL;
  loom_device *device = made->device = device_of(self);
  loom_compile_options options = {.device = loom_device_architecture(device),
                                  .simulated = loom_device_is_simulated(device),
                                  .fastmath = fastmath != 0,
                                  .tf32 = loom_config.tf32 != 0,
                                  .quick = !loom_config.optimize};
  loom_compile_report report;
  loom_plan *plan = NULL;
  loom_error err = {0};
  bool cache = loom_config.cache, good;
  Py_BEGIN_ALLOW_THREADS good =
      loom_compile_plan(graph, &options, title, cache, &plan, &report, &err) &&
      loom_device_plan_load(device, plan, &made->plan, &err);
  Py_END_ALLOW_THREADS if (good) {
    const loom_plan_header *h = loom_plan_header_of(plan);
    made->assumes = graph->assumes || waits;
    snprintf(made->title, sizeof made->title, "%s", title);
    made->inputs = h->input_count;
    made->scalars = h->scalar_count;
    made->outputs = h->output_count;
    made->symbols = h->symbol_count;
  }
  if (plan) loom_plan_unref(plan);
  if (good) return (PyObject *)made;
  Py_DECREF(made);
  return PyErr_Occurred() ? NULL : device_raise(&err);
}

static void plan_dealloc(PyObject *self) {
  if (((plan_object *)self)->weak) PyObject_ClearWeakRefs(self);
  Py_BEGIN_ALLOW_THREADS loom_device_plan_free(((plan_object *)self)->plan);
  Py_END_ALLOW_THREADS PyObject_Free(self);
}

static bool plan_numbers(PyObject *tuple, uint32_t count, uint64_t *out, const char *what) {
  if ((uint64_t)PyTuple_GET_SIZE(tuple) != count) {
    PyErr_Format(PyExc_ValueError, "a plan with %u %s", (unsigned)count, what);
    return false;
  }
  for (uint32_t i = 0; i < count; i++)
    out[i] = PyLong_AsUnsignedLongLong(PyTuple_GET_ITEM(tuple, i));
  return !PyErr_Occurred();
}

/* Without the GIL. */
static bool plan_order(plan_object *plan, const loom_device_call *call, loom_address *outputs,
                       const size_t *sizes, uint32_t *status, loom_error *err) {
  loom_device *device = plan->device;
  if (!sizes) return loom_device_plan_run(plan->plan, call, status, err);
  const loom_device *before;
  if (!loom_device_hold(device, &before, err)) return false;
  bool good = true;
  for (uint32_t i = 0; good && i < plan->outputs; i++)
    good = loom_device_alloc(device, sizes[i], &outputs[i], err);
  good = good && loom_device_plan_run(plan->plan, call, status, err);
  loom_device_let_go(device, before);
  return good;
}

static bool plan_call(plan_object *plan, const loom_device_call *call, loom_address *outputs,
                      const size_t *sizes) {
  loom_error err = {0};
  uint32_t status = 0;
  bool good;
  if (placed_raise_reported(plan->device)) return false;
  Py_BEGIN_ALLOW_THREADS good = plan_order(plan, call, outputs, sizes, &status, &err);
  Py_END_ALLOW_THREADS if (!good) return device_raise(&err), false;
  if (!status) return loom_warn_notices();
  if (status & LOOM_STATUS_INTERRUPTED) return false; /* with the signal's exception */
  if (status & LOOM_STATUS_INDEX && !plan->assumes) {
    PyErr_SetString(PyExc_IndexError, "an index is out of bounds");
    return false;
  }
  if (status & LOOM_STATUS_SIZE)
    loom_fail(&err, "a plan on a device is run with sizes that it is not for");
  else if (status & LOOM_STATUS_INDEX)
    loom_fail(&err, "the values of this call lead to a raise, a warning or an error of an index, "
                    "for which the function would have to run as plain Python");
  else
    loom_fail(&err, "kernels on a device ended with status %#x", status);
  return device_raise(&err), false;
}

bool device_plan_call(plan_object *plan, const loom_address *inputs, const uint64_t *scalars,
                      loom_address *outputs, const size_t *sizes, const int64_t *symbols) {
  loom_device_call call = {.inputs = inputs,
                           .scalars = scalars,
                           .outputs = outputs,
                           .symbols = symbols,
                           .graphs = loom_config.cudagraphs,
                           .defers = !plan->assumes,
                           .title = plan->title,
                           .poll = loom_poll_signals};
  return plan_call(plan, &call, outputs, sizes);
}

/* run(addresses of inputs (0 for numbers), bits of numbers, addresses of results, symbols, of which
 * the plan may need fewer) */
static PyObject *plan_run(PyObject *self, PyObject *args) {
  plan_object *plan = (plan_object *)self;
  PyObject *inputs, *scalars, *outputs, *symbols, *result = NULL;
  if (!PyArg_ParseTuple(args, "O!O!O!O!", &PyTuple_Type, &inputs, &PyTuple_Type, &scalars,
                        &PyTuple_Type, &outputs, &PyTuple_Type, &symbols))
    return NULL;
  Py_ssize_t sizes = PyTuple_GET_SIZE(symbols);
  if ((uint64_t)sizes < plan->symbols)
    return PyErr_Format(PyExc_ValueError, "a plan with %u symbols", (unsigned)plan->symbols);
  size_t lists = (size_t)plan->inputs + plan->scalars + plan->outputs;
  uint64_t *at = calloc(lists + (size_t)sizes + 1, sizeof *at);
  if (!at) return PyErr_NoMemory();
  int64_t *numbers = (int64_t *)(at + lists);
  for (Py_ssize_t i = 0; i < sizes; i++)
    numbers[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(symbols, i));
  uint64_t *numbers_at = at + plan->inputs, *outputs_at = numbers_at + plan->scalars;
  if (!PyErr_Occurred() && plan_numbers(inputs, plan->inputs, at, "inputs") &&
      plan_numbers(scalars, plan->scalars, numbers_at, "numbers") &&
      plan_numbers(outputs, plan->outputs, outputs_at, "results") &&
      device_plan_call(plan, at, numbers_at, outputs_at, NULL, numbers))
    result = Py_NewRef(Py_None);
  free(at);
  return result;
}

static PyObject *plan_facts(PyObject *self, PyObject *unused) {
  return placed_facts(((plan_object *)self)->plan, !((plan_object *)self)->assumes);
}

/* ---- types ---- */

static PyObject *device_name(PyObject *self, void *unused) {
  return PyUnicode_FromString(loom_device_name(device_of(self)));
}

static PyObject *device_architecture(PyObject *self, void *unused) {
  return PyUnicode_FromString(loom_device_architecture(device_of(self)));
}

static PyObject *device_kind(PyObject *self, void *unused) {
  return PyUnicode_FromString(loom_device_kind(device_of(self)));
}

static PyObject *device_dlpack_type(PyObject *self, void *unused) {
  return PyLong_FromLong(dlpack_type(device_of(self)));
}

static PyObject *device_number(PyObject *self, void *unused) {
  return PyLong_FromLong(loom_device_number(device_of(self)));
}

static PyObject *device_stream(PyObject *self, void *unused) {
  return PyLong_FromUnsignedLongLong(loom_device_stream(device_of(self)));
}

static PyMethodDef device_methods[] = {
    {"alloc", device_alloc, METH_O, PyDoc_STR("Memory of so many bytes.")},
    {"upload", device_upload, METH_VARARGS, PyDoc_STR("upload(address, bytes)")},
    {"download", device_download, METH_VARARGS, PyDoc_STR("download(address, buffer)")},
    {"wait", device_wait, METH_NOARGS, PyDoc_STR("Waits for the device's work so far.")},
    {"after", device_after, METH_O, PyDoc_STR("Further work waits for a stream.")},
    {"before", device_before, METH_O, PyDoc_STR("A stream waits for the work so far.")},
    {"owner", device_owner, METH_O,
     PyDoc_STR("The number of the device whose memory an address is.")},
    {"copy", device_copy_over, METH_VARARGS,
     PyDoc_STR("copy(address, device, its address, bytes): from another device.")},
    {"dlpack", device_dlpack, METH_VARARGS,
     PyDoc_STR("dlpack(owner, address, shape, strides, code, bits): a capsule.")},
    {"compile", device_compile, METH_VARARGS,
     PyDoc_STR("compile(graph, fastmath, title, waits=False): a plan on the device.")},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef device_getset[] = {
    {"name", device_name, NULL, "\"cuda:0\"", NULL},
    {"architecture", device_architecture, NULL, "\"sm_90\"", NULL},
    {"kind", device_kind, NULL, "\"cuda\" or \"hip\"", NULL},
    {"dlpack_type", device_dlpack_type, NULL, "What DLPack calls its kind.", NULL},
    {"number", device_number, NULL, "Its number.", NULL},
    {"stream", device_stream, NULL, "The stream that its work is ordered on, as a number.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef memory_methods[] = {
    {"share", memory_share, METH_NOARGS, PyDoc_STR("Others may order work on it from now on.")},
    {NULL, NULL, 0, NULL}};

static PyObject *memory_is_shared(PyObject *self, void *unused) {
  return PyBool_FromLong(((memory_object *)self)->shared);
}

static PyGetSetDef memory_getset[] = {
    {"shared", memory_is_shared, NULL, "May others have ordered work on it?", NULL},
    {"address", memory_address, NULL, "Where it is, on the device.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyMethodDef plan_methods[] = {
    {"run", plan_run, METH_VARARGS,
     PyDoc_STR("run(inputs, numbers, results, symbols): orders a run on these addresses.")},
    {"facts", plan_facts, METH_NOARGS,
     PyDoc_STR("What a run orders, and what became of its graph.")},
    {NULL, NULL, 0, NULL}};

static PyTypeObject device_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.Device",
    .tp_basicsize = sizeof(device_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_methods = device_methods,
    .tp_getset = device_getset,
};

static PyTypeObject memory_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DeviceMemory",
    .tp_basicsize = sizeof(memory_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = memory_dealloc,
    .tp_methods = memory_methods,
    .tp_getset = memory_getset,
};

PyTypeObject device_plan_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DevicePlan",
    .tp_basicsize = sizeof(plan_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = plan_dealloc,
    .tp_weaklistoffset = offsetof(plan_object, weak),
    .tp_methods = plan_methods,
};

bool loom_device_init(PyObject *module) {
  return PyType_Ready(&device_type) == 0 && PyType_Ready(&memory_type) == 0 &&
         PyType_Ready(&device_plan_type) == 0 &&
         PyModule_AddObjectRef(module, "DeviceMemory", (PyObject *)&memory_type) == 0 &&
         device_array_init(module) && device_call_init(module) && device_caller_init(module) &&
         device_runner_init(module);
}
