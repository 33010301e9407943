/* The short way of a call of a function on a device.
 *
 * A call whose arguments are arrays on the device, numbers and constants is like an earlier one if
 * the arrays have the same layouts and are the same ones in the same places. Then it is known which
 * version to call, and the arrays of the host that stand for the arguments are used again: nobody
 * writes to them, and where they lie does not depend on the arguments' memory. All other calls, and
 * the first one of each pattern, are made by DeviceFunction in _device.py. */
#include "frontend/captured/captured.h"
#include "frontend/device/device.h"
#include "frontend/device/internal.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

typedef struct caller_argument {
  PyObject *shape, *strides, *dtype; /* of an array on the device; NULL: none (owned) */
  PyObject *value;                   /* a constant, or the array that stands for it (owned) */
  PyTypeObject *type;                /* of a value that may be any other one (owned) */
  int64_t *layout;                   /* of an array of the host, which may be any other one */
  int same;                          /* the first argument that is the same array */
  uintptr_t first, end;              /* of what stands for it */
  int64_t low;                       /* its first byte, from its first element */
} caller_argument;

typedef struct caller_pattern {
  PyObject *version; /* owned */
  int refs, count;
  bool host; /* its arrays are the host's, and so is what the version gives */
  caller_argument arguments[];
} caller_pattern;

#define CALLER_PATTERNS 8
#define CALLER_ARGUMENTS 16

typedef struct caller_object {
  PyObject_HEAD PyObject *native;            /* the device (owned); NULL: there is no short way */
  caller_pattern *patterns[CALLER_PATTERNS]; /* the last one that was used first */
  int count;
} caller_object;

/* ---- patterns ---- */

static void pattern_unref(caller_pattern *p) {
  if (!p || --p->refs) return;
  for (int i = 0; i < p->count; i++) {
    Py_XDECREF(p->arguments[i].shape);
    Py_XDECREF(p->arguments[i].strides);
    Py_XDECREF(p->arguments[i].dtype);
    Py_XDECREF(p->arguments[i].value);
    Py_XDECREF((PyObject *)p->arguments[i].type);
    free(p->arguments[i].layout);
  }
  Py_XDECREF(p->version);
  free(p);
}

static bool caller_same_tuple(PyObject *a, PyObject *b) {
  return a == b || PyObject_RichCompareBool(a, b, Py_EQ) == 1;
}

static int caller_first(PyObject *const *args, int number) {
  int i = 0;
  while (args[i] != args[number])
    i++;
  return i;
}

static bool pattern_fits_one(const caller_object *c, const caller_argument *p,
                             PyObject *const *args, int i) {
  PyObject *arg = args[i];
  if (p->layout) return host_is_array(arg) && host_has_layout(arg, p->dtype, p->layout);
  if (device_is_array(arg)) {
    const array_object *a = (const array_object *)arg;
    return p->shape && a->native == c->native && a->dtype == p->dtype &&
           caller_same_tuple(a->shape, p->shape) && caller_same_tuple(a->strides, p->strides) &&
           caller_first(args, i) == p->same;
  }
  if (p->shape) return false;
  if (p->type) return Py_IS_TYPE(arg, p->type);
  if (arg == p->value) return true;
  return PyLong_CheckExact(arg) && PyLong_CheckExact(p->value) &&
         PyObject_RichCompareBool(arg, p->value, Py_EQ) == 1;
}

static bool pattern_fits(const caller_object *c, const caller_pattern *p, PyObject *const *args,
                         Py_ssize_t count) {
  if (p->count != count) return false;
  for (int i = 0; i < p->count; i++)
    if (!pattern_fits_one(c, &p->arguments[i], args, i)) return false;
  return true;
}

static caller_pattern *caller_find(caller_object *c, PyObject *const *args, Py_ssize_t count,
                                   bool host) {
  for (int i = 0; i < c->count; i++) {
    caller_pattern *p = c->patterns[i];
    if (p->host != host || !pattern_fits(c, p, args, count)) continue;
    memmove(c->patterns + 1, c->patterns, (size_t)i * sizeof *c->patterns);
    return c->patterns[0] = p;
  }
  return NULL;
}

/* ---- results ---- */

static PyObject *result_of(PyObject *value, const device_call *call, const caller_pattern *p,
                           PyObject *const *args);

static PyObject *result_array(PyObject *value, const device_call *call, const caller_pattern *p,
                              PyObject *const *args) {
  for (int i = 0; i < p->count; i++)
    if (p->arguments[i].shape && p->arguments[i].value == value) return Py_NewRef(args[i]);
  uintptr_t place = host_place(value);
  const call_range *found = call_find(call, place);
  if (found)
    return device_array_like(call->native, found->memory, found->address + (place - found->first),
                             value);
  if (!host_is_empty(value)) return Py_NewRef(value);
  memory_object *memory = device_memory_new(((device_object *)call->native)->device, 0);
  PyObject *made =
      memory ? device_array_like(call->native, (PyObject *)memory, memory->address, value) : NULL;
  Py_XDECREF((PyObject *)memory);
  return made;
}

static PyObject *result_items(PyObject *value, const device_call *call, const caller_pattern *p,
                              PyObject *const *args) {
  bool tuple = PyTuple_CheckExact(value);
  Py_ssize_t count = PySequence_Fast_GET_SIZE(value);
  PyObject *made = tuple ? PyTuple_New(count) : PyList_New(count);
  for (Py_ssize_t i = 0; made && i < count; i++) {
    PyObject *item = result_of(PySequence_Fast_GET_ITEM(value, i), call, p, args);
    if (!item) Py_CLEAR(made);
    if (item && tuple) PyTuple_SET_ITEM(made, i, item);
    if (item && !tuple) PyList_SET_ITEM(made, i, item);
  }
  return made;
}

static PyObject *result_dict(PyObject *value, const device_call *call, const caller_pattern *p,
                             PyObject *const *args) {
  PyObject *made = PyDict_New(), *key, *item;
  Py_ssize_t at = 0;
  while (made && PyDict_Next(value, &at, &key, &item)) {
    PyObject *result = result_of(item, call, p, args);
    if (!result || PyDict_SetItem(made, key, result) < 0) Py_CLEAR(made);
    Py_XDECREF(result);
  }
  return made;
}

/* A result of the version as the function gives it: a new reference. */
static PyObject *result_of(PyObject *value, const device_call *call, const caller_pattern *p,
                           PyObject *const *args) {
  if (host_is_array(value)) return result_array(value, call, p, args);
  if (PyTuple_CheckExact(value) || PyList_CheckExact(value))
    return result_items(value, call, p, args);
  if (PyDict_CheckExact(value)) return result_dict(value, call, p, args);
  if (value == Py_None || PyBool_Check(value) || PyLong_CheckExact(value) ||
      PyFloat_CheckExact(value) || PyComplex_CheckExact(value) || PyUnicode_CheckExact(value) ||
      PyBytes_CheckExact(value) || host_is_scalar(value))
    return Py_NewRef(value);
  error_raise_own("DeviceError",
                  "a function on a device gives arrays and numbers, and tuples, lists and dicts of "
                  "them, not %.100s",
                  Py_TYPE(value)->tp_name);
  return NULL;
}

/* ---- a call ---- */

static PyObject *caller_refuse(PyObject *self) {
  PyObject *name = PyObject_GetAttrString(self, "__qualname__");
  if (name)
    error_raise_own("DeviceError",
                    "%S: a function on a device has to be compiled whole, and this call ran as "
                    "plain Python",
                    name);
  Py_XDECREF(name);
  return NULL;
}

static PyObject *caller_short(caller_object *c, caller_pattern *p, PyObject *const *args) {
  PyObject *room[CALLER_ARGUMENTS + 1], **given = room + 1, *result = NULL;
  device_call call;
  bool good = true;
  p->refs++;
  call_init(&call, c->native);
  for (int i = 0; good && i < p->count; i++) {
    const caller_argument *a = &p->arguments[i];
    given[i] = a->type ? args[i] : a->value;
    const array_object *array = a->shape && a->same == i ? (array_object *)args[i] : NULL;
    if (array)
      good = call_add(&call, a->first, a->end, array->memory, array->address + (uint64_t)a->low);
  }
  PyObject *made = good ? call_run(&call, p->version, given, (size_t)p->count, NULL) : NULL;
  if (made)
    result = call.runs == 1 ? result_of(made, &call, p, args) : caller_refuse((PyObject *)c);
  Py_XDECREF(made);
  call_fini(&call);
  pattern_unref(p);
  return result;
}

static PyObject *caller_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  caller_object *c = (caller_object *)self;
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  bool may = c->count && !loom_all_eager && (!kwargs || !PyDict_GET_SIZE(kwargs));
  PyObject *const *items = &PyTuple_GET_ITEM(args, 0);
  caller_pattern *p = may ? caller_find(c, items, count, false) : NULL;
  if (p) return caller_short(c, p, items);
  PyObject *method = PyObject_GetAttrString(self, "_call"), *result = NULL;
  if (method) result = PyObject_Call(method, args, kwargs);
  Py_XDECREF(method);
  return result;
}

/* ---- patterns are made ---- */

static bool remember_array(caller_argument *a, PyObject *arg, PyObject *stand) {
  const array_object *array = (const array_object *)arg;
  unsigned long long first, end;
  long long low;
  PyObject *host;
  if (!PyArg_ParseTuple(stand, "OKKL", &host, &first, &end, &low)) return false;
  a->shape = Py_NewRef(array->shape);
  a->strides = Py_NewRef(array->strides);
  a->dtype = Py_NewRef(array->dtype);
  a->value = Py_NewRef(host);
  a->first = (uintptr_t)first;
  a->end = (uintptr_t)end;
  a->low = low;
  return true;
}

static bool remember_one(caller_argument *a, PyObject *const *args, int i, PyObject *stand) {
  PyObject *arg = args[i];
  a->same = caller_first(args, i);
  if (PyTuple_Check(stand) && device_is_array(arg)) return remember_array(a, arg, stand);
  if (PyFloat_CheckExact(arg)) a->type = (PyTypeObject *)Py_NewRef(&PyFloat_Type);
  a->value = Py_NewRef(arg);
  return true;
}

/* Of the host: an array of this layout, or a value of this type. */
static bool remember_host(caller_argument *a, PyObject *arg) {
  if (!host_is_array(arg)) return a->type = (PyTypeObject *)Py_NewRef(Py_TYPE(arg)), true;
  a->layout = host_layout(arg, &a->dtype);
  if (!a->layout) PyErr_NoMemory();
  return a->layout != NULL;
}

static caller_pattern *caller_pattern_new(PyObject *version, Py_ssize_t count) {
  caller_pattern *p = calloc(1, sizeof *p + (size_t)count * sizeof *p->arguments);
  if (!p) return (void *)PyErr_NoMemory();
  p->refs = 1;
  p->version = Py_NewRef(version);
  return p;
}

static PyObject *caller_add(caller_object *c, caller_pattern *p, bool good) {
  if (!good) return pattern_unref(p), NULL;
  caller_pattern *last = c->count == CALLER_PATTERNS ? c->patterns[--c->count] : NULL;
  memmove(c->patterns + 1, c->patterns, (size_t)c->count * sizeof(caller_pattern *));
  c->patterns[0] = p;
  c->count++;
  pattern_unref(last);
  Py_RETURN_NONE;
}

/* remember(version, arguments, for each of them (array, first, end, low) or None): a call of this
 * pattern is made by the version. Other arguments are floats, or constants that are compared. */
static PyObject *caller_remember(PyObject *self, PyObject *args) {
  caller_object *c = (caller_object *)self;
  PyObject *version, *given, *stands;
  if (!PyArg_ParseTuple(args, "OO!O!", &version, &PyTuple_Type, &given, &PyTuple_Type, &stands))
    return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(given);
  if (!c->native || count > CALLER_ARGUMENTS || PyTuple_GET_SIZE(stands) != count) Py_RETURN_NONE;
  caller_pattern *p = caller_pattern_new(version, count);
  bool good = p != NULL;
  for (; good && p->count < count; p->count++)
    good = remember_one(&p->arguments[p->count], &PyTuple_GET_ITEM(given, 0), p->count,
                        PyTuple_GET_ITEM(stands, p->count));
  return caller_add(c, p, good);
}

/* remember_host(version, arguments): a call with arrays of these layouts, and other values of these
 * types, is the version's. */
static PyObject *caller_remember_host(PyObject *self, PyObject *args) {
  PyObject *version, *given;
  if (!PyArg_ParseTuple(args, "OO!", &version, &PyTuple_Type, &given)) return NULL;
  Py_ssize_t count = PyTuple_GET_SIZE(given);
  if (count > CALLER_ARGUMENTS) Py_RETURN_NONE;
  caller_pattern *p = caller_pattern_new(version, count);
  bool good = p != NULL;
  if (good) p->host = true;
  for (; good && p->count < count; p->count++)
    good = remember_host(&p->arguments[p->count], PyTuple_GET_ITEM(given, p->count));
  return caller_add((caller_object *)self, p, good);
}

/* on_host(arguments): the call of a version that remember_host() got, or NotImplemented. */
static PyObject *caller_on_host(PyObject *self, PyObject *args) {
  caller_object *c = (caller_object *)self;
  if (!PyTuple_CheckExact(args)) Py_RETURN_NOTIMPLEMENTED;
  Py_ssize_t count = PyTuple_GET_SIZE(args);
  caller_pattern *p = caller_find(c, &PyTuple_GET_ITEM(args, 0), count, true);
  if (!p) Py_RETURN_NOTIMPLEMENTED;
  PyObject *version = Py_NewRef(p->version);
  PyObject *result = PyObject_Vectorcall(version, &PyTuple_GET_ITEM(args, 0), (size_t)count, NULL);
  Py_DECREF(version);
  return result;
}

/* ---- the type ---- */

/* open_calls(device): calls on this device may be short from now on. */
static PyObject *caller_open(PyObject *self, PyObject *native) {
  Py_XSETREF(((caller_object *)self)->native, Py_NewRef(native));
  Py_RETURN_NONE;
}

static int caller_traverse(PyObject *self, visitproc visit, void *arg) {
  caller_object *c = (caller_object *)self;
  Py_VISIT(c->native);
  for (int i = 0; i < c->count; i++) {
    caller_pattern *p = c->patterns[i];
    if (p->refs > 1) continue; /* a call of it is under way */
    Py_VISIT(p->version);
    for (int k = 0; k < p->count; k++)
      Py_VISIT(p->arguments[k].value);
  }
  return 0;
}

static int caller_clear(PyObject *self) {
  caller_object *c = (caller_object *)self;
  while (c->count)
    pattern_unref(c->patterns[--c->count]);
  Py_CLEAR(c->native);
  return 0;
}

static void caller_dealloc(PyObject *self) {
  PyObject_GC_UnTrack(self);
  caller_clear(self);
  Py_TYPE(self)->tp_free(self);
}

static PyMethodDef caller_methods[] = {
    {"_open_calls", caller_open, METH_O,
     PyDoc_STR("Calls on this device may be short from now on.")},
    {"_remember", caller_remember, METH_VARARGS,
     PyDoc_STR("_remember(version, arguments, stand-ins): what calls like this one are made by.")},
    {"remember_host", caller_remember_host, METH_VARARGS,
     PyDoc_STR("remember_host(version, arguments): calls with arrays of the host like this one are "
               "made by the version.")},
    {"on_host", caller_on_host, METH_O,
     PyDoc_STR("on_host(arguments): the result of such a call, or NotImplemented.")},
    {NULL, NULL, 0, NULL}};

static PyTypeObject caller_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DeviceCaller",
    .tp_basicsize = sizeof(caller_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE | Py_TPFLAGS_HAVE_GC,
    .tp_new = PyType_GenericNew,
    .tp_call = caller_call,
    .tp_traverse = caller_traverse,
    .tp_clear = caller_clear,
    .tp_dealloc = caller_dealloc,
    .tp_methods = caller_methods,
};

bool device_caller_init(PyObject *module) {
  return PyType_Ready(&caller_type) == 0 &&
         PyModule_AddObjectRef(module, "DeviceCaller", (PyObject *)&caller_type) == 0;
}
