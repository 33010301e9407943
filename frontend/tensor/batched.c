/* Elements of tensors along an axis, as functions under torch.vmap() see them: a value that has a
 * tensor, or an element of a level further out, and an axis. torch's own vmap says what a call with
 * them computes (_tensor_batches.py). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

/* Of _tensor_batches.py. */
static struct {
  PyObject *type, *begin, *end, *element, *is_element, *depth;
} batched_python;

static value_type batched_type; /* filled by tensor_batched_init() */

static value *batched_break(tracer *t, const char *what) {
  return trace_break(t, BREAK_TENSOR, "%.100s inside of vmap", what);
}

bool tensor_is_batched(const value *v) { return v && v->type == &batched_type; }

static value *batched_new(tracer *t, value *inner, Py_ssize_t axis, Py_ssize_t depth) {
  value *v = inner ? value_new(t, &batched_type) : NULL;
  if (!v) return NULL;
  v->any.a = inner;
  v->any.i = axis;
  v->any.n = depth;
  return v;
}

/* ---- as arguments and results of calls ----
 */

value *tensor_batched_inner(const value *v) { return v->any.a; }

PyObject *tensor_batched_argument(const value *v, PyObject *inner) {
  return PyObject_CallFunction(batched_python.type, "Onn", inner, v->any.i, v->any.n);
}

PyObject *tensor_batched_result(PyObject *o) {
  if ((PyObject *)Py_TYPE(o) != batched_python.type) return NULL;
  return PyObject_GetAttrString(o, "inner");
}

static Py_ssize_t batched_number(PyObject *o, const char *name) {
  PyObject *number = PyObject_GetAttrString(o, name);
  Py_ssize_t found = number ? PyLong_AsSsize_t(number) : -1;
  Py_XDECREF(number);
  return found;
}

value *tensor_batched_of(tracer *t, PyObject *o, value *inner) {
  return batched_new(t, inner, batched_number(o, "dim"), batched_number(o, "depth"));
}

/* ---- the value type ---- */

static int batched_truth(tracer *t, value *v) {
  trace_break(t, BREAK_DATA_DEPENDENT, "the truth of a tensor inside of vmap");
  return -1;
}

static value *batched_length(tracer *t, value *v) {
  PyObject *name = name_interned(t, "shape");
  value *shape = name ? tensor_attribute(t, v, name) : NULL;
  if (!shape) return NULL;
  if (!shape->seq.count) return batched_break(t, "the length of a tensor without axes");
  return shape->seq.items[0];
}

static int batched_contains(tracer *t, value *v, value *item) {
  trace_break(t, BREAK_DATA_DEPENDENT, "`in` a tensor inside of vmap");
  return -1;
}

static value *batched_get_attr(tracer *t, value *v, PyObject *name) {
  PyObject *descriptor = _PyType_Lookup(torch_tensor_type(), name);
  if (descriptor && tensor_is_method(descriptor)) return tensor_bound(t, v, descriptor);
  if (descriptor && tensor_attribute_follows(PyUnicode_AsUTF8(name)))
    return tensor_attribute(t, v, name);
  return batched_break(t, "an attribute of a tensor that is not followed");
}

static bool batched_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  return batched_break(t, "an attribute of a tensor is set") != NULL;
}

static bool batched_key(tracer *t, value *v) { return false; }

static PyObject *batched_python_type(tracer *t, value *v) {
  return (PyObject *)torch_tensor_type();
}

static recipe *batched_rebuild(tracer *t, value *v) {
  return trace_break(t, BREAK_TENSOR, "an element leaves the function under vmap");
}

bool tensor_batched_init(void) {
  static const tensor_name names[] = {
      {"Batched", &batched_python.type},          {"begin_batch", &batched_python.begin},
      {"end_batch", &batched_python.end},         {"element", &batched_python.element},
      {"is_element", &batched_python.is_element}, {"depth_now", &batched_python.depth}};
  batched_type = tensor_value_type;
  batched_type.name = "element of a Tensor";
  batched_type.truth = batched_truth;
  batched_type.length = batched_length;
  batched_type.contains = batched_contains;
  batched_type.iter = tensor_iter_unbound;
  batched_type.get_attr = batched_get_attr;
  batched_type.set_attr = batched_set_attr;
  batched_type.key = batched_key;
  batched_type.key_object = NULL;
  batched_type.python_type = batched_python_type;
  batched_type.rebuild = batched_rebuild;
  return tensor_import("frameloom._tensor_batches", names, sizeof names / sizeof *names);
}

/* ---- levels ---- */

bool tensor_is_batch_call(const PyObject *callee) {
  return callee == batched_python.begin || callee == batched_python.end ||
         callee == batched_python.element || callee == batched_python.is_element ||
         callee == batched_python.depth;
}

static value *batched_begin(tracer *t, const tensor_state *state, value *const *args) {
  PyObject *size = value_known(t, args[0]);
  PyObject *randomness = size ? value_known(t, args[1]) : NULL;
  PyObject *level = randomness ? PyTuple_Pack(2, size, randomness) : NULL;
  bool good = level && PyLong_CheckExact(size) && PyUnicode_CheckExact(randomness);
  if (good && PyList_Append(state->levels, level) < 0) trace_raise_live(t);
  Py_XDECREF(level);
  Py_XDECREF(randomness);
  Py_XDECREF(size);
  if (trace_pending(t)) return NULL;
  return good ? t->constants.none : batched_break(t, "a size that is not known");
}

static value *batched_element(tracer *t, value *const *args, Py_ssize_t depth) {
  PyObject *number = value_known(t, args[1]);
  Py_ssize_t axis = number && PyLong_Check(number) ? PyLong_AsSsize_t(number) : -1;
  Py_XDECREF(number);
  if (trace_pending(t)) return NULL;
  if (axis < 0 || depth < 0 || !(tensor_is(args[0]) || tensor_is_batched(args[0])))
    return batched_break(t, "an axis that is not known");
  return batched_new(t, args[0], axis, depth);
}

value *tensor_batch_call(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count) {
  tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  Py_ssize_t depth = PyList_GET_SIZE(state->levels);
  if (callee == batched_python.begin && count == 2) return batched_begin(t, state, args);
  if (callee == batched_python.element && count == 2) return batched_element(t, args, depth - 1);
  if (callee == batched_python.is_element && count == 1)
    return value_bool(t, tensor_is_batched(args[0]) && args[0]->any.n == depth - 1);
  if (callee == batched_python.depth && !count) return value_int(t, depth);
  if (callee != batched_python.end || !depth) return batched_break(t, "such a call");
  if (PyList_SetSlice(state->levels, depth - 1, depth, NULL) < 0) return trace_raise_live(t);
  return t->constants.none;
}
