/* DLPack: capsules of device memory, made and read. The structures are those of dlpack.h, version
 * 0.8. */
#include "frontend/device/device.h"
#include "frontend/device/internal.h"

#include <stdlib.h>
#include <string.h>

#define DLPACK_CUDA 2
#define DLPACK_ROCM 10
#define DLPACK_RANK 32

typedef struct dlpack_tensor {
  void *data;
  int32_t device, number;
  int32_t rank;
  uint8_t code, bits;
  uint16_t lanes;
  int64_t *shape, *strides;
  uint64_t offset;
} dlpack_tensor;

typedef struct dlpack_managed {
  dlpack_tensor tensor;
  void *context; /* the owner */
  void (*deleter)(struct dlpack_managed *self);
} dlpack_managed;

typedef struct dlpack_own {
  dlpack_managed managed;
  int64_t numbers[2 * DLPACK_RANK];
} dlpack_own;

/* ---- made ---- */

/* Called by whoever has the tensor, from any thread. */
static void dlpack_delete(dlpack_managed *managed) {
  PyGILState_STATE state = PyGILState_Ensure();
  Py_XDECREF((PyObject *)managed->context);
  PyGILState_Release(state);
  free(managed);
}

/* A capsule that nobody has taken. */
static void dlpack_drop(PyObject *capsule) {
  if (!PyCapsule_IsValid(capsule, "dltensor")) return;
  dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  managed->deleter(managed);
}

static bool dlpack_numbers(PyObject *tuple, int rank, int64_t *out) {
  for (int i = 0; i < rank; i++)
    out[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(tuple, i));
  return !PyErr_Occurred();
}

int dlpack_type(const loom_device *device) {
  return strcmp(loom_device_kind(device), "hip") == 0 ? DLPACK_ROCM : DLPACK_CUDA;
}

PyObject *dlpack_new(int type, int device, PyObject *args) {
  PyObject *owner, *shape, *strides;
  unsigned long long address;
  int code, bits;
  if (!PyArg_ParseTuple(args, "OKO!O!ii", &owner, &address, &PyTuple_Type, &shape, &PyTuple_Type,
                        &strides, &code, &bits))
    return NULL;
  Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  if (rank > DLPACK_RANK || PyTuple_GET_SIZE(strides) != rank)
    return PyErr_Format(PyExc_ValueError, "a shape and strides of other lengths");
  dlpack_own *own = calloc(1, sizeof *own);
  if (!own) return PyErr_NoMemory();
  if (!dlpack_numbers(shape, (int)rank, own->numbers) ||
      !dlpack_numbers(strides, (int)rank, own->numbers + rank))
    return free(own), NULL;
  own->managed = (dlpack_managed){.tensor = {.data = (void *)(uintptr_t)address,
                                             .device = type,
                                             .number = device,
                                             .rank = (int32_t)rank,
                                             .code = (uint8_t)code,
                                             .bits = (uint8_t)bits,
                                             .lanes = 1,
                                             .shape = own->numbers,
                                             .strides = own->numbers + rank},
                                  .context = owner,
                                  .deleter = dlpack_delete};
  PyObject *capsule = PyCapsule_New(own, "dltensor", dlpack_drop);
  if (capsule)
    Py_INCREF(owner);
  else
    free(own);
  return capsule;
}

/* ---- read ---- */

static void dlpack_give_back(PyObject *capsule) {
  dlpack_managed *managed = PyCapsule_GetPointer(capsule, "used_dltensor");
  if (managed && managed->deleter) managed->deleter(managed);
}

/* read_dlpack(capsule): (owner, device type, device, address, shape, strides in elements or None,
 * code, bits). The capsule counts as taken: the owner gives the tensor back when it dies. */
PyObject *loom_py_read_dlpack(PyObject *module, PyObject *capsule) {
  dlpack_managed *managed = PyCapsule_GetPointer(capsule, "dltensor");
  if (!managed) return NULL;
  const dlpack_tensor *t = &managed->tensor;
  if (t->lanes != 1 || t->rank < 0 || t->rank > DLPACK_RANK)
    return PyErr_Format(PyExc_TypeError, "a DLPack tensor of %d dimensions and %d lanes",
                        (int)t->rank, (int)t->lanes);
  PyObject *owner = PyCapsule_New(managed, "used_dltensor", NULL);
  PyObject *shape = tuple_of_numbers(t->shape, t->rank);
  PyObject *strides = t->strides ? tuple_of_numbers(t->strides, t->rank) : Py_NewRef(Py_None);
  PyObject *result = NULL;
  if (owner && shape && strides && PyCapsule_SetName(capsule, "used_dltensor") == 0) {
    PyCapsule_SetDestructor(owner, dlpack_give_back);
    result = Py_BuildValue("OiiKOOii", owner, (int)t->device, (int)t->number,
                           (unsigned long long)((uintptr_t)t->data + t->offset), shape, strides,
                           (int)t->code, (int)t->bits);
  }
  Py_XDECREF(owner);
  Py_XDECREF(shape);
  Py_XDECREF(strides);
  return result;
}
