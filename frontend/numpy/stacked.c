/* Lists of the caller's as arrays: the floats of a list, or its arrays one behind the other, also
 * where its items are tuples or lists of such. They are inputs of the graph, which each call reads
 * anew, so that capture needs to know neither the numbers nor their count. Plain C that runs no
 * Python code, since guards read them too.
 */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <string.h>

/* Which of the items of the list's items: "floats", "arrays", "tuples2[1].floats". */
typedef struct stack_key {
  PyTypeObject *within; /* NULL: the items themselves */
  int size, at;
  bool floats;
} stack_key;

static bool stack_key_read(PyObject *key, stack_key *out) {
  const char *text = PyUnicode_AsUTF8(key), *dot = text ? strchr(text, '.') : NULL;
  *out = (stack_key){0};
  if (!text) return error_drop(), false;
  if (dot) {
    char kind[8];
    if (sscanf(text, "%6[a-z]%d[%d]", kind, &out->size, &out->at) != 3) return false;
    out->within = !strcmp(kind, "tuples") ? &PyTuple_Type : &PyList_Type;
    text = dot + 1;
  }
  out->floats = !strcmp(text, "floats");
  return out->floats || !strcmp(text, "arrays");
}

static PyObject *stack_leaf(PyObject *item, const stack_key *key) {
  if (!key->within) return item;
  if (Py_TYPE(item) != key->within || Py_SIZE(item) != key->size) return NULL;
  return key->within == &PyTuple_Type ? PyTuple_GET_ITEM(item, key->at)
                                      : PyList_GET_ITEM(item, key->at);
}

static bool stack_is_c(PyArrayObject *a) {
  npy_intp step = PyArray_ITEMSIZE(a);
  for (int i = PyArray_NDIM(a); i-- > 0; step *= PyArray_DIM(a, i))
    if (PyArray_STRIDE(a, i) != step) return false;
  return true;
}

static bool stack_fits(PyObject *first, PyObject *item) {
  if (!item || !PyArray_CheckExact(item)) return false;
  PyArrayObject *a = (PyArrayObject *)item, *b = (PyArrayObject *)first;
  int rank = PyArray_NDIM(a);
  loom_dtype dtype;
  return rank == PyArray_NDIM(b) && PyArray_TYPE(a) == PyArray_TYPE(b) &&
         numpy_dtype_from_typenum(PyArray_TYPE(a), &dtype) &&
         PyArray_ISNBO(PyArray_DESCR(a)->byteorder) && stack_is_c(a) &&
         PyArray_CompareLists(PyArray_DIMS(a), PyArray_DIMS(b), rank);
}

static PyObject *stack_floats(PyObject *list, const stack_key *key) {
  npy_intp count = PyList_GET_SIZE(list);
  PyObject *made = PyArray_SimpleNew(1, &count, NPY_DOUBLE);
  double *data = made ? PyArray_DATA((PyArrayObject *)made) : NULL;
  for (npy_intp i = 0; made && i < count; i++) {
    PyObject *leaf = stack_leaf(PyList_GET_ITEM(list, i), key);
    if (leaf && PyFloat_CheckExact(leaf))
      data[i] = PyFloat_AS_DOUBLE(leaf);
    else
      Py_CLEAR(made);
  }
  return made;
}

static PyObject *stack_arrays(PyObject *list, const stack_key *key) {
  PyObject *first = stack_leaf(PyList_GET_ITEM(list, 0), key);
  if (!first || !stack_fits(first, first)) return NULL;
  PyArrayObject *a = (PyArrayObject *)first;
  npy_intp dims[NPY_MAXDIMS], count = PyList_GET_SIZE(list);
  int rank = PyArray_NDIM(a);
  size_t bytes = (size_t)PyArray_NBYTES(a);
  if (!rank || rank >= LOOM_MAX_RANK || !bytes) return NULL;
  dims[0] = count;
  memcpy(dims + 1, PyArray_DIMS(a), sizeof *dims * (size_t)rank);
  PyObject *made = PyArray_SimpleNew(rank + 1, dims, PyArray_TYPE(a));
  char *data = made ? PyArray_BYTES((PyArrayObject *)made) : NULL;
  for (npy_intp i = 0; made && i < count; i++) {
    PyObject *leaf = stack_leaf(PyList_GET_ITEM(list, i), key);
    if (stack_fits(first, leaf))
      memcpy(data + (size_t)i * bytes, PyArray_DATA((PyArrayObject *)leaf), bytes);
    else
      Py_CLEAR(made);
  }
  return made;
}

PyObject *numpy_stack(PyObject *list, PyObject *name) {
  stack_key key;
  if (!PyList_CheckExact(list) || !PyList_GET_SIZE(list) || !stack_key_read(name, &key))
    return NULL;
  PyObject *made = key.floats ? stack_floats(list, &key) : stack_arrays(list, &key);
  if (!made) error_drop();
  return made;
}

/* How a leaf of the first item is named; NULL: it can be no row. */
static const char *stack_kind(PyObject *leaf) {
  if (PyFloat_CheckExact(leaf)) return "floats";
  bool small = PyArray_CheckExact(leaf) && PyArray_NBYTES((PyArrayObject *)leaf) <= NP_ROW_SMALL;
  return small ? "arrays" : NULL;
}

/* One stack: the array as a value; what rows look like goes to *like. */
static value *stack_wrap(tracer *t, PyObject *list, const source *s, const char *name,
                         value **like) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  PyObject *made = key ? numpy_stack(list, key) : NULL;
  if (!made) return NULL;
  const source *at = trace_source(t, SOURCE_DERIVED, s, NULL, key, 0);
  value *stack = at && trace_keep(t, made) ? value_wrap(t, made, at) : NULL;
  np_array *a = np_array_of(stack);
  if (!a) return NULL;
  a->storage->list = list;
  value *number = value_new(t, &value_number_type);
  loom_value row = rows_slice(t, np_read(t, a), 0);
  if (!number || row == LOOM_NO_VALUE) return NULL;
  number->number.node = row;
  *like = a->type.rank == 1 ? number : np_fresh(t, row, NULL);
  return *like ? stack : NULL;
}

value *np_stack_live(tracer *t, PyObject *list, const source *s, value **like, loom_value *stacks,
                     uint32_t room, int64_t *count) {
  PyObject *first = PyList_GET_ITEM(list, 0);
  bool tuple = PyTuple_CheckExact(first), within = tuple || PyList_CheckExact(first);
  Py_ssize_t parts = within ? Py_SIZE(first) : 1;
  value *likes[ROWS_LEAVES], *stack = NULL;
  const char *kinds[ROWS_LEAVES];
  if (parts < 1 || parts > (Py_ssize_t)room || parts > ROWS_LEAVES) return NULL;
  char name[64];
  for (Py_ssize_t k = 0; k < parts; k++) { /* before any of them is an input */
    PyObject *leaf = !within ? first
                     : tuple ? PyTuple_GET_ITEM(first, k)
                             : PyList_GET_ITEM(first, k);
    if (!(kinds[k] = stack_kind(leaf))) return NULL;
    stack_key key = {within ? Py_TYPE(first) : NULL, (int)parts, (int)k, kinds[k][0] == 'f'};
    PyObject *made = key.floats ? stack_floats(list, &key) : stack_arrays(list, &key);
    Py_XDECREF(made);
    if (!made) return error_drop(), NULL;
  }
  for (Py_ssize_t k = 0; k < parts; k++) {
    if (within)
      snprintf(name, sizeof name, "%s%d[%d].%s", tuple ? "tuples" : "lists", (int)parts, (int)k,
               kinds[k]);
    stack = stack_wrap(t, list, s, within ? name : kinds[k], &likes[k]);
    if (!stack) return NULL;
    stacks[k] = np_read(t, np_array_of(stack));
    *count = np_dim(np_array_of(stack)->type.dims[0]);
  }
  if (!within) return *like = likes[0], stack;
  *like = value_tuple(t, likes, parts);
  if (*like && !tuple) (*like)->type = &value_list_type;
  return *like ? stack : NULL;
}
