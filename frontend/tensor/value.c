/* The value type of tensors: what Python's operators, attributes and loops do with them is what
 * torch's functions do with the tensors that stand for them (call.c). */
#include "frontend/core/value.h"
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <opcode.h>
#include <string.h>

#undef UNARY_INVERT /* CPython 3.11 has instructions of these names: ours are meant */
#undef UNARY_NOT

bool tensor_is(const value *v) { return v && v->type == &tensor_value_type; }

value *tensor_new(tracer *t, loom_value node, const int64_t *strides) {
  value *v = np_fresh(t, node, strides);
  if (v) np_see_as(v, &tensor_value_type);
  return v;
}

static value *tensor_unary(tracer *t, int op, value *v) {
  switch (op) {
  case UNOP_NEG: return tensor_operator(t, "neg", &v, 1);
  case UNOP_POS: return tensor_operator(t, "pos", &v, 1);
  case UNOP_INVERT: return tensor_operator(t, "invert", &v, 1);
  case UNOP_ABS: return tensor_operator(t, "abs", &v, 1);
  default: return trace_not_implemented(t);
  }
}

static value *tensor_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  static const struct {
    int op;
    const char *name, *inplace;
  } rows[] = {{NB_ADD, "add", "iadd"},
              {NB_AND, "and_", "iand"},
              {NB_FLOOR_DIVIDE, "floordiv", "ifloordiv"},
              {NB_LSHIFT, "lshift", "ilshift"},
              {NB_MATRIX_MULTIPLY, "matmul", "imatmul"},
              {NB_MULTIPLY, "mul", "imul"},
              {NB_REMAINDER, "mod", "imod"},
              {NB_OR, "or_", "ior"},
              {NB_POWER, "pow", "ipow"},
              {NB_RSHIFT, "rshift", "irshift"},
              {NB_SUBTRACT, "sub", "isub"},
              {NB_TRUE_DIVIDE, "truediv", "itruediv"},
              {NB_XOR, "xor", "ixor"}};
  value *args[2] = {l, r};
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    if (rows[i].op == op)
      return tensor_operator(
          t, inplace && (tensor_is(l) || tensor_is_batched(l)) ? rows[i].inplace : rows[i].name,
          args, 2);
  return trace_not_implemented(t);
}

static value *tensor_compare(tracer *t, int op, value *l, value *r) {
  static const char *const names[] = {[Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq",
                                      [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};
  value *args[2] = {l, r};
  if (op < Py_LT || op > Py_GE) return trace_not_implemented(t);
  return tensor_operator(t, names[op], args, 2);
}

static int tensor_truth(tracer *t, value *v) {
  PyObject *known = tensor_elements(t, v);
  int truth = known ? PyObject_IsTrue(known) : -1;
  if (truth >= 0 || trace_pending(t)) return trace_pending(t) ? -1 : truth;
  error_drop(); /* of many elements: raised behind the break */
  trace_break(t, BREAK_DATA_DEPENDENT, "the truth of a tensor");
  return -1;
}

static value *tensor_length(tracer *t, value *v) {
  const np_array *a = np_layout_of(v);
  if (!a->type.rank) return trace_raise(t, PyExc_TypeError, "len() of a 0-d tensor");
  return value_size(t, loom_stride_of_dim(a->type.dims[0]));
}

static value *tensor_get_item(tracer *t, value *v, value *key) {
  value *args[2] = {v, key};
  return tensor_operator(t, "getitem", args, 2);
}

static bool tensor_set_item(tracer *t, value *v, value *key, value *item) {
  value *args[3] = {v, key, item};
  if (!item) return trace_raise_plainly(t, "an item of a tensor is deleted"), false;
  return tensor_operator(t, "setitem", args, 3) != NULL;
}

static int tensor_contains(tracer *t, value *v, value *item) {
  trace_break(t, BREAK_DATA_DEPENDENT, "`in` a tensor");
  return -1;
}

value *tensor_iter_unbound(tracer *t, value *v) {
  PyObject *name = name_interned(t, "unbind");
  PyObject *unbind = name ? _PyType_Lookup(torch_tensor_type(), name) : NULL;
  value *items = unbind ? tensor_method(t, unbind, v, NULL, 0, NULL) : NULL;
  return items ? trace_iter(t, items) : NULL;
}

static value *tensor_iter(tracer *t, value *v) {
  if (!np_layout_of(v)->type.rank)
    return trace_raise(t, PyExc_TypeError, "iteration over a 0-d tensor");
  return tensor_iter_unbound(t, v);
}

PyObject *tensor_live(const value *v) {
  const np_array *a = np_layout_of(v);
  return a->kind == VIEW_ROOT ? a->storage->live : NULL;
}

static PyObject *tensor_python_type(tracer *t, value *v) {
  PyObject *live = tensor_live(v);
  return (PyObject *)(live ? Py_TYPE(live) : tensor_made_type(t, v));
}

/* ---- attributes ---- */

/* A function that tensors have, bound to one. */
static value *bound_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                         PyObject *kwnames) {
  return tensor_method(t, v->any.b, v->any.a, args, count, kwnames);
}

static PyObject *bound_python_type(tracer *t, value *v) {
  return PyFunction_Check((PyObject *)v->any.b) ? (PyObject *)&PyMethod_Type
                                                : (PyObject *)&PyCFunction_Type;
}

static recipe *bound_rebuild(tracer *t, value *v) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a method of a tensor as a result");
}

static const value_type bound_type = {.name = "method of a tensor",
                                      .call = bound_call,
                                      .python_type = bound_python_type,
                                      .rebuild = bound_rebuild};

bool tensor_is_method(PyObject *descriptor) {
  return Py_IS_TYPE(descriptor, &PyMethodDescr_Type) || PyFunction_Check(descriptor) ||
         Py_IS_TYPE(descriptor, &PyWrapperDescr_Type);
}

value *tensor_bound(tracer *t, value *v, PyObject *descriptor) {
  value *bound = value_new(t, &bound_type);
  if (!bound) return NULL;
  bound->any.a = v;
  bound->any.b = descriptor;
  return bound;
}

/* What the tensor that stands for this one answers as this one would, where it says so at all. */
bool tensor_attribute_follows(const char *name) {
  static const char *const names[] = {"shape",  "ndim", "dtype",  "layout",    "itemsize",
                                      "nbytes", "T",    "mT",     "H",         "mH",
                                      "real",   "imag", "device", "is_sparse", "is_quantized"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (!strcmp(names[i], name)) return true;
  return false;
}

/* What holds of every tensor that is captured. NULL: it says nothing of that. */
static PyObject *tensor_attribute_settled(const char *name) {
  static const char *const never[] = {"is_cuda", "is_nested", "is_meta", "is_mkldnn", "is_xpu",
                                      "is_mps",  "is_ipu",    "is_xla",  "is_vulkan", "is_maia"};
  if (!strcmp(name, "is_cpu")) return Py_True;
  for (size_t i = 0; i < sizeof never / sizeof *never; i++)
    if (!strcmp(never[i], name)) return Py_False;
  return NULL;
}

/* An attribute of the user's, of a tensor that existed before the call. */
static bool tensor_has_own(const value *v, PyObject *name) {
  PyObject *live = tensor_live(v);
  PyObject **dict = live ? _PyObject_GetDictPtr(live) : NULL;
  if (!dict || !*dict || PyDict_Size(*dict) == 0) return false;
  return PyDict_GetItemWithError(*dict, name) != NULL;
}

/* A hook sees the gradients of all that is computed of its tensor. But results of a compiled part
 * have no edges between them in autograd's graph. So a function that hooks a tensor of its own runs
 * as plain Python. */
static bool tensor_is_to_be_hooked(tracer *t, const value *v, const char *name) {
  if (tensor_live(v) || (strcmp(name, "register_hook") && strcmp(name, "retain_grad")))
    return false;
  trace_break(t, BREAK_TENSOR, "%s() of a tensor that the function makes", name);
  t->capture->broke.step = -1;
  return true;
}

static value *tensor_attribute_missing(tracer *t, value *v, PyObject *name) {
  const char *type = ((PyTypeObject *)tensor_python_type(t, v))->tp_name;
  const source *s =
      v->source ? trace_source(t, SOURCE_ATTR, v->source, NULL, trace_keep(t, Py_NewRef(name)), 0)
                : NULL;
  if (s) guard_simple(t, GUARD_MISSING, s, NULL, 0);
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'", type,
                     PyUnicode_AsUTF8(name));
}

/* The attribute grad_fn, which a leaf does not have. */
static value *tensor_history(tracer *t, value *v) {
  value *leaf = tensor_is_leaf(t, v, name_interned(t, "is_leaf"));
  if (!leaf || leaf->object == Py_True) return leaf ? t->constants.none : NULL;
  return trace_break(t, BREAK_TENSOR, "the attribute grad_fn of a tensor");
}

/* The attribute data: a tensor in the same memory whose writes the tensor does not count. */
static value *tensor_data(tracer *t, value *v, PyObject *name) {
  value *data = tensor_attribute(t, v, name);
  if (data && tensor_is(data) && np_layout_of(data) != np_layout_of(v))
    np_layout_of(data)->uncounted = true;
  return data;
}

static value *tensor_get_attr(tracer *t, value *v, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  PyObject *descriptor = text ? _PyType_Lookup(torch_tensor_type(), name) : NULL;
  if (!text) return trace_raise_live(t);
  PyObject *live = tensor_live(v);
  value *beside =
      !descriptor && live && v->source ? object_beside_get(t, live, v->source, name) : NULL;
  if (beside || trace_pending(t)) return beside;
  if (!descriptor) return tensor_attribute_missing(t, v, name);
  bool own = tensor_has_own(v, name);
  if (own) return trace_break(t, BREAK_TENSOR, "the attribute %s of a tensor", text);
  if (tensor_is_to_be_hooked(t, v, text)) return NULL;
  if (tensor_is_method(descriptor)) return tensor_bound(t, v, descriptor);
  PyObject *settled = tensor_attribute_settled(text);
  if (settled) return value_const(t, settled);
  const np_array *a = np_layout_of(v);
  if (!strcmp(text, "requires_grad") && a->kind == VIEW_ROOT && v->source)
    return value_const(t, tensor_requires(t, a->storage->live, v->source) ? Py_True : Py_False);
  if (!strcmp(text, "requires_grad")) return tensor_attribute(t, v, name);
  if (!strcmp(text, "grad")) return tensor_grad(t, v);
  if (!strcmp(text, "data")) return tensor_data(t, v, name);
  if (!strcmp(text, "is_leaf")) return tensor_is_leaf(t, v, name);
  if (!strcmp(text, "grad_fn")) return tensor_history(t, v);
  if (tensor_attribute_follows(text)) return tensor_attribute(t, v, name);
  return trace_break(t, BREAK_TENSOR, "the attribute %s of a tensor", text);
}

/* t.real = other, as torch has it: a copy into the view. */
static bool tensor_set_part(tracer *t, value *v, PyObject *name, value *item) {
  value *part = tensor_get_attr(t, v, name);
  PyObject *copy = part ? trace_keep(t, PyUnicode_InternFromString("copy_")) : NULL;
  value *method = copy ? tensor_get_attr(t, part, copy) : NULL;
  return method && trace_call(t, method, &item, 1, NULL);
}

/* Is the other one the same elements of the same memory, as in t.data *= 2? */
static bool tensor_is_own_data(value *v, value *item) {
  if (!item || !tensor_is(item)) return false;
  const np_array *a = np_layout_of(v), *b = np_layout_of(item);
  return a->storage == b->storage && a->kind == VIEW_ROOT && loom_type_equal(&a->type, &b->type) &&
         !memcmp(a->strides, b->strides, sizeof *a->strides * (size_t)a->type.rank) &&
         a->conjugated == b->conjugated;
}

static bool tensor_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  if (!PyUnicode_CompareWithASCIIString(name, "data") && tensor_is_own_data(v, item)) return true;
  if (!PyUnicode_CompareWithASCIIString(name, "grad")) return tensor_set_grad(t, v, item);
  if (!PyUnicode_CompareWithASCIIString(name, "requires_grad") && item && item->object == Py_True)
    return tensor_make_leaf(t, v) != NULL;
  bool part = !PyUnicode_CompareWithASCIIString(name, "real") ||
              !PyUnicode_CompareWithASCIIString(name, "imag");
  if (part && tensor_is(item)) return tensor_set_part(t, v, name, item);
  PyObject *live = _PyType_Lookup(torch_tensor_type(), name) ? NULL : tensor_live(v);
  if (live && v->source && PyUnicode_CheckExact(name))
    return object_beside_put(t, live, v->source, name, item);
  trace_break(t, BREAK_TENSOR, "setting the attribute %s of a tensor", PyUnicode_AsUTF8(name));
  return false;
}

/* A tensor is a key by its identity, as torch.Tensor.__hash__() has it. One that the function makes
 * is one value. */
static bool tensor_key(tracer *t, value *v) {
  PyObject *live = tensor_live(v);
  if (!live) return true;
  guard_simple(t, GUARD_IDENTITY, np_layout_of(v)->storage->source, live, 0);
  return true;
}

const value_type tensor_value_type = {.name = "Tensor",
                                      .kinds = VALUE_IS_FOREIGN,
                                      .unary = tensor_unary,
                                      .binary = tensor_binary,
                                      .compare = tensor_compare,
                                      .truth = tensor_truth,
                                      .number = tensor_number,
                                      .length = tensor_length,
                                      .get_item = tensor_get_item,
                                      .set_item = tensor_set_item,
                                      .contains = tensor_contains,
                                      .get_attr = tensor_get_attr,
                                      .set_attr = tensor_set_attr,
                                      .iter = tensor_iter,
                                      .key = tensor_key,
                                      .copy = tensor_copy,
                                      .key_object = tensor_live,
                                      .python_type = tensor_python_type,
                                      .rebuild = tensor_rebuild};
