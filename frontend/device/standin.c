/* Arrays of the host that stand for arrays on a device while a function runs. They have the same
 * dtype, sizes and strides. All of them lie in one piece of memory that is never written, so that
 * it takes no memory: reading any of it gives zeros. Stand-ins of one call lie apart from each
 * other; those of different calls may lie at the same place. */
#include "frontend/device/device.h"
#include "frontend/device/internal.h"
#include "frontend/numpy/numpy.h"

#include <stdlib.h>
#include <sys/mman.h>

#define STANDIN_ROOM ((int64_t)1 << 37) /* bytes of addresses */
#define STANDIN_APART 64                /* a stand-in begins at a multiple of it */

static char *standin_memory; /* set while the GIL is held; never given back */

static bool standin_open(void) {
  if (standin_memory) return standin_memory != MAP_FAILED;
  standin_memory = mmap(NULL, (size_t)STANDIN_ROOM, PROT_READ,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return standin_memory != MAP_FAILED;
}

static bool standin_dims(PyObject *shape, PyObject *strides, npy_intp *dims, npy_intp *steps) {
  Py_ssize_t rank = PyTuple_GET_SIZE(shape);
  if (PyTuple_GET_SIZE(strides) != rank || rank > NPY_MAXDIMS) {
    PyErr_SetString(PyExc_ValueError, "an array with a shape and strides of other lengths");
    return false;
  }
  for (Py_ssize_t i = 0; i < rank; i++) {
    dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(shape, i));
    steps[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(strides, i));
    if (!PyErr_Occurred() && dims[i] < 0)
      PyErr_SetString(PyExc_ValueError, "an array with a negative size");
  }
  return !PyErr_Occurred();
}

/* The first byte and the one behind the last, from the first element. False: they overflow. */
static bool standin_extent(Py_ssize_t rank, const npy_intp *dims, const npy_intp *steps,
                           int64_t itemsize, int64_t *low, int64_t *high) {
  *low = 0;
  *high = itemsize;
  for (Py_ssize_t i = 0; i < rank; i++)
    if (!dims[i]) return *low = *high = 0, true;
  for (Py_ssize_t i = 0; i < rank; i++) {
    int64_t reach, *side = steps[i] < 0 ? low : high;
    if (__builtin_mul_overflow(dims[i] - 1, steps[i], &reach) ||
        __builtin_add_overflow(*side, reach, side))
      return false;
  }
  return true;
}

static PyObject *standin_new(PyArray_Descr *dtype, Py_ssize_t rank, const npy_intp *dims,
                             const npy_intp *steps, int64_t first, int64_t low, int64_t end) {
  Py_INCREF(dtype);
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, dtype, (int)rank, dims, steps,
                                         standin_memory + first - low, 0, NULL);
  if (!array) return NULL;
  return Py_BuildValue("NLnL", array, (long long)low, (Py_ssize_t)(standin_memory + first),
                       (long long)end);
}

/* stand_in(shape, strides, dtype, used): (array, its first byte from its first element, where that
 * byte is, bytes that stand-ins of this call use then). None: there is no room for it behind `used`
 * bytes. */
PyObject *loom_py_stand_in(PyObject *module, PyObject *args) {
  PyObject *shape, *strides;
  PyArray_Descr *dtype;
  long long used;
  npy_intp dims[NPY_MAXDIMS], steps[NPY_MAXDIMS];
  if (!PyArg_ParseTuple(args, "O!O!O!L", &PyTuple_Type, &shape, &PyTuple_Type, &strides,
                        &PyArrayDescr_Type, &dtype, &used) ||
      !standin_dims(shape, strides, dims, steps))
    return NULL;
  int64_t low, high, end;
  bool fits =
      standin_extent(PyTuple_GET_SIZE(shape), dims, steps, PyDataType_ELSIZE(dtype), &low, &high) &&
      used >= 0 && used < STANDIN_ROOM && high - low < STANDIN_ROOM - used;
  if (!fits || !standin_open()) return Py_NewRef(Py_None);
  end = used + (high - low);
  end = (end / STANDIN_APART + 1) * STANDIN_APART;
  if (end > STANDIN_ROOM) return Py_NewRef(Py_None);
  return standin_new(dtype, PyTuple_GET_SIZE(shape), dims, steps, used, low, end);
}

/* place_of(array): where its element [0, ..., 0] is. */
PyObject *loom_py_place_of(PyObject *module, PyObject *array) {
  if (!PyArray_Check(array))
    return PyErr_Format(PyExc_TypeError, "an array of NumPy is needed, not %.100s",
                        Py_TYPE(array)->tp_name);
  return PyLong_FromVoidPtr(PyArray_DATA((PyArrayObject *)array));
}

/* ---- of any array of the host ---- */

bool host_is_array(PyObject *object) { return PyArray_CheckExact(object); }
bool host_is_scalar(PyObject *object) {
  return PyArray_CheckScalar(object) || PyArray_DescrCheck(object);
}
uintptr_t host_place(PyObject *array) { return (uintptr_t)PyArray_DATA((PyArrayObject *)array); }
bool host_is_empty(PyObject *array) { return PyArray_SIZE((PyArrayObject *)array) == 0; }

int64_t *host_layout(PyObject *array, PyObject **dtype) {
  PyArrayObject *a = (PyArrayObject *)array;
  int rank = PyArray_NDIM(a);
  int64_t *layout = malloc((2 * (size_t)rank + 1) * sizeof *layout);
  if (!layout) return NULL;
  layout[0] = rank;
  for (int i = 0; i < rank; i++) {
    layout[1 + i] = PyArray_DIM(a, i);
    layout[1 + rank + i] = PyArray_STRIDE(a, i);
  }
  *dtype = Py_NewRef((PyObject *)PyArray_DESCR(a));
  return layout;
}

bool host_has_layout(PyObject *array, PyObject *dtype, const int64_t *layout) {
  PyArrayObject *a = (PyArrayObject *)array;
  int rank = PyArray_NDIM(a);
  if (rank != layout[0] || (PyObject *)PyArray_DESCR(a) != dtype) return false;
  for (int i = 0; i < rank; i++)
    if (PyArray_DIM(a, i) != layout[1 + i] || PyArray_STRIDE(a, i) != layout[1 + rank + i])
      return false;
  return true;
}
