/* Runs of captured graphs on a device, in a call of a function on it (call.c): inputs are found by
 * the arrays that stand for them, or are copied from the host; results get memory, for which the
 * arrays that were made for them stand from then on. */
#include "frontend/captured/captured.h"
#include "frontend/compile/placed.h"
#include "frontend/device/device.h"
#include "frontend/device/internal.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct runner_object {
  PyObject_HEAD plan_object *plan; /* owned */
  uint32_t count;
  bool *scalars; /* which inputs are numbers */
} runner_object;

static PyTypeObject runner_type;

#define RUNNER_FEW 24

typedef struct runner_room {
  uint64_t few[RUNNER_FEW], *words;
  PyObject *kept_few[RUNNER_FEW], **kept; /* memory of inputs and results, or NULL (owned) */
  size_t sizes_few[RUNNER_FEW], *sizes;
} runner_room;

static bool runner_room_init(runner_room *room, size_t count) {
  bool few = count <= RUNNER_FEW;
  room->words = few ? room->few : malloc(count * sizeof *room->words);
  room->kept = few ? room->kept_few : malloc(count * sizeof *room->kept);
  room->sizes = few ? room->sizes_few : malloc(count * sizeof *room->sizes);
  if (room->kept) memset(room->kept, 0, count * sizeof *room->kept);
  if (!room->words || !room->kept || !room->sizes) return PyErr_NoMemory(), false;
  return true;
}

static void runner_room_fini(runner_room *room, size_t count) {
  for (size_t i = 0; room->kept && i < count; i++)
    Py_XDECREF(room->kept[i]);
  if (room->words != room->few) free(room->words);
  if (room->kept != room->kept_few) free(room->kept);
  if (room->sizes != room->sizes_few) free(room->sizes);
}

/* The first byte and the one behind the last, from the first element. */
static void runner_extent(const loom_buffer *b, int64_t *low, int64_t *high) {
  int64_t itemsize = (int64_t)loom_dtype_size(b->type.dtype);
  *low = 0;
  *high = itemsize;
  for (int i = 0; i < b->type.rank; i++) {
    if (!b->type.dims[i]) *low = *high = 0;
    if (!b->type.dims[i]) return;
    int64_t reach = (b->type.dims[i] - 1) * b->strides[i] * itemsize;
    *(reach < 0 ? low : high) += reach;
  }
}

static bool runner_upload(plan_object *plan, const loom_buffer *from, PyObject **kept,
                          loom_address *out) {
  int64_t low, high;
  loom_error err = {0};
  runner_extent(from, &low, &high);
  memory_object *memory = device_memory_new(plan->device, (size_t)(high - low));
  if (!memory) return false;
  *kept = (PyObject *)memory;
  *out = memory->address - (uint64_t)low;
  bool good;
  Py_BEGIN_ALLOW_THREADS good = loom_device_upload(
      plan->device, memory->address, (const char *)from->data + low, (size_t)(high - low), &err);
  Py_END_ALLOW_THREADS if (!good) device_raise(&err);
  return good;
}

static bool runner_inputs(const runner_object *r, const device_call *call,
                          const loom_buffer *inputs, loom_address *addresses, uint64_t *scalars,
                          PyObject **kept) {
  for (uint32_t i = 0; i < r->count; i++) {
    addresses[i] = 0;
    if (r->scalars[i]) {
      uint64_t bits = 0;
      memcpy(&bits, inputs[i].data, loom_dtype_size(inputs[i].type.dtype));
      *scalars++ = bits;
      continue;
    }
    uintptr_t place = (uintptr_t)inputs[i].data;
    const call_range *found = call_find(call, place);
    if (found)
      addresses[i] = found->address + (place - found->first);
    else if (!runner_upload(r->plan, &inputs[i], &kept[i], &addresses[i]))
      return false;
  }
  return true;
}

static size_t runner_bytes(const loom_buffer *b) {
  return (size_t)loom_type_elements(&b->type) * loom_dtype_size(b->type.dtype);
}

/* A number is read at once; an array of the host stands for anything else. */
static bool runner_result(const runner_object *r, device_call *call, const loom_buffer *out,
                          PyObject *memory) {
  loom_error err = {0};
  loom_address address = ((memory_object *)memory)->address;
  size_t size = runner_bytes(out);
  uintptr_t first = (uintptr_t)out->data;
  if (out->type.rank) return call_add(call, first, first + size, memory, address);
  bool good;
  Py_BEGIN_ALLOW_THREADS good =
      loom_device_download(r->plan->device, out->data, address, size, &err);
  Py_END_ALLOW_THREADS if (!good) device_raise(&err);
  return good && !placed_raise_reported(r->plan->device);
}

static bool runner_run(const runner_object *r, device_call *call, const loom_buffer *inputs,
                       const loom_buffer *outputs, uint32_t count, const int64_t *symbols) {
  size_t all = (size_t)r->count + count;
  runner_room room;
  uint64_t scalars_few[RUNNER_FEW], *scalars = scalars_few;
  if (r->count > RUNNER_FEW && !(scalars = malloc(r->count * sizeof *scalars)))
    return PyErr_NoMemory(), false;
  bool good = runner_room_init(&room, all);
  good = good && runner_inputs(r, call, inputs, room.words, scalars, room.kept);
  loom_address *made = room.words + r->count;
  for (uint32_t i = 0; good && i < count; i++) {
    room.sizes[i] = runner_bytes(&outputs[i]);
    made[i] = 0;
    memory_object *memory = device_memory_later(r->plan->device, room.sizes[i]);
    room.kept[r->count + i] = (PyObject *)memory;
    good = memory != NULL;
  }
  bool all_there = good;
  good = good && device_plan_call(r->plan, room.words, scalars, made, room.sizes, symbols);
  for (uint32_t i = 0; all_there && i < count; i++)
    ((memory_object *)room.kept[r->count + i])->address = made[i];
  for (uint32_t i = 0; good && i < count; i++)
    good = runner_result(r, call, &outputs[i], room.kept[r->count + i]);
  runner_room_fini(&room, all);
  if (scalars != scalars_few) free(scalars);
  return good;
}

/* backend_direct: run/run.h */
static bool runner_direct(PyObject *object, const loom_buffer *inputs, uint32_t input_count,
                          const loom_buffer *outputs, uint32_t output_count, const int64_t *symbols,
                          bool *good) {
  if (!Py_IS_TYPE(object, &runner_type)) return false;
  runner_object *r = (runner_object *)Py_NewRef(object);
  device_call *call = call_now();
  *good = false;
  if (!call)
    error_raise_own("DeviceError", "a graph of a device is run outside of a call of its function");
  else if (input_count != r->count || output_count != r->plan->outputs)
    PyErr_SetString(PyExc_ValueError, "a plan with other inputs or results");
  else {
    call->runs++;
    *good = runner_run(r, call, inputs, outputs, output_count, symbols);
  }
  Py_DECREF(r);
  return true;
}

/* ---- the type ---- */

/* DeviceRunner(plan, (is each input a number?, ...)) */
static PyObject *runner_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *plan, *scalars;
  if (!PyArg_ParseTuple(args, "O!O!", &device_plan_type, &plan, &PyTuple_Type, &scalars))
    return NULL;
  runner_object *r = (runner_object *)type->tp_alloc(type, 0);
  if (!r) return NULL;
  r->plan = (plan_object *)Py_NewRef(plan);
  r->count = (uint32_t)PyTuple_GET_SIZE(scalars);
  r->scalars = calloc(r->count + 1u, sizeof *r->scalars);
  bool good = r->scalars && r->count == r->plan->inputs;
  if (!r->scalars) PyErr_NoMemory();
  uint32_t numbers = 0;
  for (uint32_t i = 0; r->scalars && i < r->count; i++)
    numbers += r->scalars[i] = PyTuple_GET_ITEM(scalars, i) == Py_True;
  if (good && numbers == r->plan->scalars) return (PyObject *)r;
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "a plan with %u inputs, %u of them numbers",
                 (unsigned)r->plan->inputs, (unsigned)r->plan->scalars);
  Py_DECREF(r);
  return NULL;
}

static void runner_dealloc(PyObject *self) {
  runner_object *r = (runner_object *)self;
  Py_XDECREF((PyObject *)r->plan);
  free(r->scalars);
  Py_TYPE(self)->tp_free(self);
}

/* A backend's answer has to be callable; runs go by runner_direct(). */
static PyObject *runner_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  return PyErr_Format(PyExc_TypeError, "a graph on a device is run by the call of its function");
}

static PyTypeObject runner_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DeviceRunner",
    .tp_basicsize = sizeof(runner_object),
    .tp_flags = Py_TPFLAGS_DEFAULT,
    .tp_new = runner_new,
    .tp_call = runner_call,
    .tp_dealloc = runner_dealloc,
};

bool device_runner_init(PyObject *module) {
  loom_direct_runner = runner_direct;
  return PyType_Ready(&runner_type) == 0 &&
         PyModule_AddObjectRef(module, "DeviceRunner", (PyObject *)&runner_type) == 0;
}
