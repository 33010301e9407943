/* Calls of functions on a device. Arrays of the host stand for memory there: those that the caller
 * hands over (standin.c), and the results of a graph that has run. Where the graph runs (runner.c)
 * and where results are made, the memory is found by their places. */
#include "frontend/device/device.h"
#include "frontend/device/internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <structmember.h>

static _Thread_local device_call *call_current __attribute__((tls_model("initial-exec")));

typedef struct call_object {
  PyObject_HEAD PyObject *native; /* owned */
  device_call call;
} call_object;

static PyTypeObject call_type;

device_call *call_now(void) { return call_current; }

void call_init(device_call *call, PyObject *native) {
  call->native = native;
  call->ranges = call->few;
  call->count = call->runs = 0;
  call->capacity = CALL_FEW;
}

void call_fini(device_call *call) {
  while (call->count)
    Py_DECREF(call->ranges[--call->count].memory);
  if (call->ranges != call->few) free(call->ranges);
  call->ranges = call->few;
  call->capacity = CALL_FEW;
}

bool call_add(device_call *call, uintptr_t first, uintptr_t end, PyObject *memory,
              loom_address address) {
  if (call->count == call->capacity) {
    uint32_t capacity = 2 * call->capacity;
    bool few = call->ranges == call->few;
    call_range *more = realloc(few ? NULL : call->ranges, capacity * sizeof *more);
    if (!more) return PyErr_NoMemory(), false;
    for (uint32_t i = 0; few && i < call->count; i++)
      more[i] = call->few[i];
    call->ranges = more;
    call->capacity = capacity;
  }
  call->ranges[call->count++] = (call_range){first, end, Py_NewRef(memory), address};
  return true;
}

const call_range *call_find(const device_call *call, uintptr_t place) {
  for (uint32_t i = 0; i < call->count; i++)
    if (place >= call->ranges[i].first && place < call->ranges[i].end) return &call->ranges[i];
  return NULL;
}

/* `args` has room for one more in front. */
PyObject *call_run(device_call *call, PyObject *callable, PyObject *const *args, size_t count,
                   PyObject *kwargs) {
  device_call *outer = call_current;
  call_current = call;
  PyObject *result =
      PyObject_VectorcallDict(callable, args, count | PY_VECTORCALL_ARGUMENTS_OFFSET, kwargs);
  call_current = outer;
  return result;
}

/* ---- as an object ---- */

static PyObject *call_object_new(PyTypeObject *type, PyObject *args, PyObject *kwargs) {
  PyObject *native;
  if (!PyArg_ParseTuple(args, "O", &native)) return NULL;
  call_object *self = (call_object *)type->tp_alloc(type, 0);
  if (!self) return NULL;
  self->native = Py_NewRef(native);
  call_init(&self->call, native);
  return (PyObject *)self;
}

static void call_object_dealloc(PyObject *self) {
  call_fini(&((call_object *)self)->call);
  Py_XDECREF(((call_object *)self)->native);
  Py_TYPE(self)->tp_free(self);
}

/* add(first, end, memory, address) */
static PyObject *call_object_add(PyObject *self, PyObject *args) {
  unsigned long long first, end, address;
  PyObject *memory;
  if (!PyArg_ParseTuple(args, "KKOK", &first, &end, &memory, &address)) return NULL;
  return call_add(&((call_object *)self)->call, (uintptr_t)first, (uintptr_t)end, memory, address)
             ? Py_NewRef(Py_None)
             : NULL;
}

/* find(host's array): (memory, address), or None */
static PyObject *call_object_find(PyObject *self, PyObject *host) {
  if (!host_is_array(host)) Py_RETURN_NONE;
  uintptr_t place = host_place(host);
  const call_range *found = call_find(&((call_object *)self)->call, place);
  if (!found) Py_RETURN_NONE;
  return Py_BuildValue("OK", found->memory,
                       (unsigned long long)(found->address + (place - found->first)));
}

/* run(callable, args, kwargs) */
static PyObject *call_object_run(PyObject *self, PyObject *args) {
  PyObject *callable, *given, *kwargs;
  if (!PyArg_ParseTuple(args, "OO!O!", &callable, &PyList_Type, &given, &PyDict_Type, &kwargs))
    return NULL;
  PyObject *list = PyList_AsTuple(given); /* the caller's list may change meanwhile */
  if (!list) return NULL;
  device_call *call = &((call_object *)self)->call, *outer = call_current;
  Py_INCREF(self);
  call_current = call;
  PyObject *result = PyObject_Call(callable, list, kwargs);
  call_current = outer;
  Py_DECREF(self);
  Py_DECREF(list);
  return result;
}

static PyMethodDef call_object_methods[] = {
    {"add", call_object_add, METH_VARARGS,
     PyDoc_STR("add(first, end, memory, address): bytes of the host that stand for memory.")},
    {"find", call_object_find, METH_O,
     PyDoc_STR("find(array): (memory, address) that an array of the host stands for, or None.")},
    {"run", call_object_run, METH_VARARGS,
     PyDoc_STR("run(callable, args, kwargs): calls it as this call.")},
    {NULL, NULL, 0, NULL}};

static PyMemberDef call_object_members[] = {
    {"native", T_OBJECT_EX, offsetof(call_object, native), READONLY, "The device."},
    {"runs", T_UINT, offsetof(call_object, call) + offsetof(device_call, runs), 0,
     "How many graphs have run."},
    {NULL, 0, 0, 0, NULL}};

static PyTypeObject call_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DeviceCall",
    .tp_basicsize = sizeof(call_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = call_object_new,
    .tp_dealloc = call_object_dealloc,
    .tp_methods = call_object_methods,
    .tp_members = call_object_members,
};

bool device_call_init(PyObject *module) {
  return PyType_Ready(&call_type) == 0 &&
         PyModule_AddObjectRef(module, "DeviceCall", (PyObject *)&call_type) == 0;
}
