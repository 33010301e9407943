/* backward() inside of a captured function, and the gradients that tensors from before the call
 * keep.
 *
 * Autograd computes the gradients on the tensors without memory, which tells the operations, as at
 * the end of a capture (gradient.c). Here they become nodes at once, and what a leaf gets is its
 * attribute `grad` from then on, or is added to the tensor that is there. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

/* Of _tensor_gradients.py: `backward`, and the functions of torch's that it stands for. */
static struct {
  PyObject *backward, *of_tensor, *of_all;
} backward_python;

static PyObject *backward_grad; /* "grad" */

bool tensor_backward_init(void) {
  PyObject *module = PyImport_ImportModule("frameloom._tensor_gradients");
  if (!module) return false;
  backward_python.backward = PyObject_GetAttrString(module, "backward");
  backward_python.of_tensor = PyObject_GetAttrString(module, "OF_TENSOR");
  backward_python.of_all = PyObject_GetAttrString(module, "OF_ALL");
  backward_grad = PyUnicode_InternFromString("grad");
  Py_DECREF(module);
  return backward_python.backward && backward_python.of_tensor && backward_python.of_all &&
         backward_grad;
}

bool tensor_is_backward(const PyObject *function) {
  return function == backward_python.of_tensor || function == backward_python.of_all;
}

/* ---- the attribute `grad` ---------------------------------------------------------------------
 */

static bool backward_none(PyObject *object, const char *name) {
  PyObject *item = PyObject_GetAttrString(object, name);
  error_drop();
  Py_XDECREF(item);
  return item == Py_None;
}

/* A SOURCE_DERIVED `grad` of a tensor: nothing where autograd has a history of it, or calls
 * functions of the user's with its gradient. */
PyObject *tensor_derived(PyObject *base, PyObject *key) {
  if (key != backward_grad || !torch_is_exact(base)) return NULL;
  if (!backward_none(base, "grad_fn") || !backward_none(base, "_backward_hooks") ||
      !backward_none(base, "_post_accumulate_grad_hooks"))
    return NULL;
  PyObject *grad = PyObject_GetAttr(base, key);
  if (!grad) error_drop();
  return grad;
}

static value *backward_grad_of_live(tracer *t, value *v, PyObject *live) {
  const overlay_slot *changed = overlay_find(overlay_of(t, live, true), backward_grad);
  if (changed) return changed->item;
  const source *s =
      trace_source(t, SOURCE_DERIVED, np_layout_of(v)->storage->source, NULL, backward_grad, 0);
  PyObject *grad = trace_keep(t, tensor_derived(live, backward_grad));
  if (!grad)
    return trace_break(t, BREAK_TENSOR,
                       "the gradient of a tensor that has a history, or hooks of autograd's");
  if (!s) return NULL;
  if (grad != Py_None) return value_wrap(t, grad, s);
  guard_simple(t, GUARD_IDENTITY, s, Py_None, 0);
  return t->constants.none;
}

value *tensor_grad(tracer *t, value *v) {
  PyObject *live = tensor_live(v), *meta = tensor_meta(t, v);
  if (live) return backward_grad_of_live(t, v, live);
  if (meta && !tensor_is_recorded(meta)) return t->constants.none;
  return trace_break(t, BREAK_TENSOR, "the gradient of a tensor that has a history");
}

/* A tensor of the same type that has no history. */
static bool backward_fits(tracer *t, value *v, value *item) {
  if (value_is_none(item)) return true;
  PyObject *meta = tensor_is(item) ? tensor_meta(t, item) : NULL;
  return meta && !tensor_is_recorded(meta) &&
         loom_type_equal(&np_layout_of(v)->type, &np_layout_of(item)->type);
}

bool tensor_set_grad(tracer *t, value *v, value *item) {
  PyObject *live = tensor_live(v);
  if (!live || !item || !backward_fits(t, v, item)) {
    trace_break(t, BREAK_TENSOR, "setting the attribute grad of a tensor");
    return false;
  }
  if (!backward_grad_of_live(t, v, live)) return false; /* guards what is there */
  overlay *o = overlay_open(t, live, np_layout_of(v)->storage->source, true);
  return o && overlay_put(t, o, backward_grad, item);
}

/* ---- backward() -------------------------------------------------------------------------------
 */

/* Do the elements fill the memory from the first to the last one, each at a place of its own? */
static bool backward_is_dense(const np_array *a) {
  int64_t next = (int64_t)loom_dtype_size(a->type.dtype);
  uint32_t seen = 0;
  for (int k = 0; k < a->type.rank; k++) {
    int axis = -1;
    for (int i = 0; i < a->type.rank && axis < 0; i++)
      if (!(seen >> i & 1) && (a->type.dims[i] == 1 || a->strides[i] == next)) axis = i;
    if (axis < 0) return false;
    seen |= 1u << axis;
    next *= a->type.dims[axis];
  }
  return true;
}

/* The gradient as a tensor of its own, which lies as the leaf does where that is dense. */
static value *backward_laid_out(tracer *t, value *leaf, value *gradient) {
  const np_array *a = np_layout_of(leaf);
  loom_value node = np_read(t, np_layout_of(gradient));
  return tensor_new(t, node, backward_is_dense(a) ? a->strides : NULL);
}

static bool backward_accumulate(tracer *t, value *leaf, PyObject *meta) {
  value *gradient = tensor_of_meta(t, meta), *before = tensor_grad(t, leaf);
  if (!gradient && !trace_pending(t))
    trace_break(t, BREAK_TENSOR, "a gradient that torch made otherwise");
  if (!gradient || !before) return false;
  if (tensor_is(before)) return trace_method(t, before, "add_", &gradient, 1) != NULL;
  value *made = backward_laid_out(t, leaf, gradient);
  return made && tensor_set_grad(t, leaf, made);
}

/* What is `made`: gradients for each leaf, the operations, and these as they are called. */
static bool backward_take(tracer *t, tensor_state *state, PyObject *made) {
  PyObject *gradients = PyTuple_GET_ITEM(made, 0), *calls = PyTuple_GET_ITEM(made, 1);
  bool records = state->records;
  if (PyList_SetSlice(state->calls, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, PyTuple_GET_ITEM(made, 2)) < 0)
    return trace_raise_live(t) != NULL;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); i++)
    if (!tensor_emit(t, PyList_GET_ITEM(calls, i))) return false;
  state->records = false; /* as autograd's own writes are */
  bool good = true;
  for (uint32_t i = 0; good && i < state->leaf_count; i++)
    if (PyTuple_GET_ITEM(gradients, i) != Py_None)
      good = backward_accumulate(t, state->leaves[i], PyTuple_GET_ITEM(gradients, i));
  state->records = records;
  return good && !trace_pending(t);
}

value *tensor_backward(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs) {
  tensor_state *state = tensor_state_of(t);
  PyObject *leaves = state ? tensor_metas(t, state->leaves, state->leaf_count) : NULL;
  if (!leaves) return trace_pending(t) ? NULL : trace_raise_live(t);
  PyObject *made =
      PyObject_CallFunctionObjArgs(backward_python.backward, function, leaves, args, kwargs, NULL);
  Py_DECREF(leaves);
  if (!made) return tensor_call_failed(t, function);
  state->ran_backward = true;
  bool good = trace_keep(t, made) && backward_take(t, state, made);
  return good ? t->constants.none : NULL;
}
