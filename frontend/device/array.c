/* Arrays on a device: the fields of frameloom.DeviceArray. Its methods are in _device.py. */
#include "frontend/device/device.h"
#include "frontend/device/internal.h"
#include "frontend/numpy/numpy.h"

#include <stddef.h>
#include <structmember.h>

static PyTypeObject *array_class; /* of Python, owned */

static void array_dealloc(PyObject *self) {
  array_object *a = (array_object *)self;
  if (a->weak) PyObject_ClearWeakRefs(self);
  Py_XDECREF(a->native);
  Py_XDECREF(a->memory);
  Py_XDECREF(a->shape);
  Py_XDECREF(a->strides);
  Py_XDECREF(a->dtype);
  Py_TYPE(self)->tp_free(self);
}

static PyMemberDef array_members[] = {
    {"_native", T_OBJECT_EX, offsetof(array_object, native), READONLY, "The device."},
    {"_memory", T_OBJECT_EX, offsetof(array_object, memory), READONLY, "What keeps its memory."},
    {"_address", T_ULONGLONG, offsetof(array_object, address), READONLY, "Of its first element."},
    {"shape", T_OBJECT_EX, offsetof(array_object, shape), READONLY, "Its sizes."},
    {"strides", T_OBJECT_EX, offsetof(array_object, strides), READONLY, "Its strides in bytes."},
    {"dtype", T_OBJECT_EX, offsetof(array_object, dtype), READONLY, "The dtype of its elements."},
    {NULL, 0, 0, 0, NULL}};

static PyTypeObject array_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom._native.DeviceArrayFields",
    .tp_basicsize = sizeof(array_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE,
    .tp_new = PyType_GenericNew,
    .tp_dealloc = array_dealloc,
    .tp_weaklistoffset = offsetof(array_object, weak),
    .tp_members = array_members,
};

bool device_is_array(PyObject *object) { return Py_IS_TYPE(object, array_class); }

static PyObject *array_new(PyObject *native, PyObject *memory, loom_address address,
                           PyObject *shape, PyObject *strides, PyObject *dtype) {
  array_object *a = (array_object *)array_class->tp_alloc(array_class, 0);
  if (!a) return NULL;
  a->native = Py_NewRef(native);
  a->memory = Py_NewRef(memory);
  a->address = address;
  a->shape = Py_NewRef(shape);
  a->strides = Py_NewRef(strides);
  a->dtype = Py_NewRef(dtype);
  return (PyObject *)a;
}

static PyObject *array_tuple(int rank, const npy_intp *numbers) {
  PyObject *tuple = PyTuple_New(rank);
  for (int i = 0; tuple && i < rank; i++) {
    PyObject *number = PyLong_FromSsize_t(numbers[i]);
    if (!number) Py_CLEAR(tuple);
    if (number) PyTuple_SET_ITEM(tuple, i, number);
  }
  return tuple;
}

PyObject *device_array_like(PyObject *native, PyObject *memory, loom_address address,
                            PyObject *host) {
  PyArrayObject *array = (PyArrayObject *)host;
  PyObject *shape = array_tuple(PyArray_NDIM(array), PyArray_DIMS(array));
  PyObject *strides = array_tuple(PyArray_NDIM(array), PyArray_STRIDES(array));
  PyObject *made = shape && strides ? array_new(native, memory, address, shape, strides,
                                                (PyObject *)PyArray_DESCR(array))
                                    : NULL;
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return made;
}

/* device_array(device, memory, address, shape, strides, dtype) */
PyObject *loom_py_device_array(PyObject *module, PyObject *args) {
  PyObject *native, *memory, *shape, *strides, *dtype;
  unsigned long long address;
  if (!PyArg_ParseTuple(args, "OOKO!O!O!", &native, &memory, &address, &PyTuple_Type, &shape,
                        &PyTuple_Type, &strides, &PyArrayDescr_Type, &dtype))
    return NULL;
  if (array_class) return array_new(native, memory, address, shape, strides, dtype);
  return PyErr_Format(PyExc_RuntimeError, "the class of arrays on a device is not known");
}

/* set_device_array(class) */
PyObject *loom_py_set_device_array(PyObject *module, PyObject *made) {
  if (!PyType_Check(made) || !PyType_IsSubtype((PyTypeObject *)made, &array_type) ||
      ((PyTypeObject *)made)->tp_basicsize != array_type.tp_basicsize)
    return PyErr_Format(PyExc_TypeError, "%R cannot be the class of arrays on a device", made);
  Py_XSETREF(array_class, (PyTypeObject *)Py_NewRef(made));
  Py_RETURN_NONE;
}

bool device_array_init(PyObject *module) {
  return PyType_Ready(&array_type) == 0 &&
         PyModule_AddObjectRef(module, "DeviceArrayFields", (PyObject *)&array_type) == 0;
}
