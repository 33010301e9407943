/* Tensors as arrays and arrays as tensors: t.numpy(), torch.from_numpy() and their like give a view
 * of the same memory, which is an array to NumPy and a tensor to torch. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/torch/torch.h"
#include "frontend/values/containers.h"
#include "frontend/values/values.h"

#include <string.h>

static struct {
  PyObject *from_numpy, *as_tensor, *tensor;
} exchange_python;

bool tensor_exchange_init(void) {
  static const tensor_name names[] = {{"from_numpy", &exchange_python.from_numpy},
                                      {"as_tensor", &exchange_python.as_tensor},
                                      {"tensor", &exchange_python.tensor}};
  return tensor_import("torch", names, sizeof names / sizeof *names);
}

/* ---- tensors as arrays ----------------------------------------------------------------------- */

value *tensor_as_array(tracer *t, value *v) {
  np_array *a = np_layout_of(v);
  PyObject *meta = tensor_meta(t, v);
  if (!meta || a->conjugated || !a->writeable || !np_dtype_is_numpys(a->type.dtype)) return NULL;
  if (tensor_state_of(t)->records && a->storage->live && a->kind == VIEW_ROOT &&
      tensor_requires(t, a->storage->live, a->storage->source))
    return NULL;
  if (tensor_is_recorded(meta)) return NULL;
  value *array = np_view_same(t, a);
  if (!array) return NULL;
  np_see_as(array, NULL);
  np_layout_of(array)->detached = a->detached ? OF_DETACHED : ATTACHED;
  np_layout_of(array)->uncounted = true;
  return array;
}

value *tensor_exchanged(tracer *t, const char *name, value *v) {
  bool array = !strcmp(name, "numpy") || !strcmp(name, "__array__");
  return !strcmp(name, "cpu") ? v : array ? tensor_as_array(t, v) : NULL;
}

/* ---- arrays as tensors ----------------------------------------------------------------------- */

bool tensor_is_exchange(PyObject *callee, value *const *args, Py_ssize_t count) {
  bool takes = callee == exchange_python.from_numpy || callee == exchange_python.as_tensor ||
               callee == exchange_python.tensor;
  return takes && count && np_is_array(args[0]) && !np_layout_of(args[0])->scalar;
}

/* Has torch tensors that lie as the array does? */
static bool exchange_fits(np_array *a) {
  if (torch_scalar_type(a->type.dtype) < 0 || !a->writeable || a->warns_on_write) return false;
  for (int i = 0; i < a->type.rank; i++)
    if (a->strides[i] < 0 || a->strides[i] % (int64_t)loom_dtype_size(a->type.dtype)) return false;
  return true;
}

value *tensor_from_array(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                         PyObject *kwnames) {
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  value *dtype = count == 2 ? args[1] : NULL;
  for (Py_ssize_t i = 0; i < named; i++)
    if (!PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "dtype"))
      dtype = args[count + i];
  bool plain = count + named <= 1 || (count + named == 2 && dtype);
  if (!tensor_state_of(t)) return NULL;
  if (!plain || !exchange_fits(np_layout_of(args[0])))
    return trace_break(t, BREAK_TENSOR, "such a tensor of an array");
  value *v = np_view_same(t, np_layout_of(args[0]));
  if (!v) return NULL;
  np_see_as(v, &tensor_value_type);
  if (!tensor_add_foreign(t, v)) return NULL;
  if (callee == exchange_python.tensor) v = tensor_call_method(t, v, "clone", NULL, 0);
  if (v && dtype && dtype != t->constants.none) v = tensor_call_method(t, v, "to", &dtype, 1);
  return v;
}
