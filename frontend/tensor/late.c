/* Tensors whose sizes depend on elements: t[mask], masked_select(), nonzero() and their like. NumPy
 * computes them, in a host call that reports the size (numpy/late.c). What autograd records is left
 * to torch, behind a break. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/values.h"

#include <string.h>

typedef enum late_kind {
  LATE_NONE,
  LATE_ITEM,
  LATE_PUT,
  LATE_SELECT,
  LATE_PLACES,
  LATE_WHERE,
} late_kind;

static struct {
  PyObject *getitem, *setitem, *where, *argwhere;
  PyObject *models, *index, *put, *range, *is_known; /* of _tensor_late.py */
} late_python;

bool tensor_late_init(void) {
  static const tensor_name operators[] = {{"getitem", &late_python.getitem},
                                          {"setitem", &late_python.setitem}};
  static const tensor_name torch[] = {{"where", &late_python.where}};
  static const tensor_name numpy[] = {{"argwhere", &late_python.argwhere}};
  static const tensor_name models[] = {{"MODELS", &late_python.models},
                                       {"index", &late_python.index},
                                       {"put", &late_python.put},
                                       {"is_known", &late_python.is_known},
                                       {"late_range", &late_python.range}};
  return tensor_import("frameloom._tensor_late", models, sizeof models / sizeof *models) &&
         tensor_import("operator", operators, 2) && tensor_import("torch", torch, 1) &&
         tensor_import("numpy", numpy, sizeof numpy / sizeof *numpy);
}

static late_kind late_kind_of(PyObject *function, Py_ssize_t count) {
  static const struct {
    const char *name;
    late_kind kind;
    Py_ssize_t count;
  } kinds[] = {{"__getitem__", LATE_ITEM, 2},
               {"__setitem__", LATE_PUT, 3},
               {"masked_select", LATE_SELECT, 2},
               {"nonzero", LATE_PLACES, 1},
               {"argwhere", LATE_PLACES, 1}};
  if (function == late_python.getitem) return LATE_ITEM;
  if (function == late_python.setitem) return LATE_PUT;
  if (function == late_python.where) return count == 1 ? LATE_WHERE : LATE_NONE;
  if (!PyCFunction_Check(function) && !Py_IS_TYPE(function, &PyMethodDescr_Type) &&
      !Py_IS_TYPE(function, &PyWrapperDescr_Type))
    return LATE_NONE;
  const char *name = PyCFunction_Check(function) ? ((PyCFunctionObject *)function)->m_ml->ml_name
                                                 : PyUnicode_AsUTF8(PyDescr_NAME(function));
  for (size_t i = 0; name && i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(name, kinds[i].name) && count == kinds[i].count) return kinds[i].kind;
  return LATE_NONE;
}

/* Are they a tensor and a mask for its first axes; for `all` of them? */
static bool late_is_mask(value *const *args, bool all) {
  if (!tensor_is(args[0]) || !tensor_is(args[1])) return false;
  const loom_type *of = &np_layout_of(args[0])->type, *mask = &np_layout_of(args[1])->type;
  if (mask->dtype != LOOM_BOOL || !mask->rank || mask->rank > of->rank) return false;
  if (all && mask->rank != of->rank) return false;
  return !memcmp(mask->dims, of->dims, sizeof *mask->dims * (size_t)mask->rank);
}

/* The arrays in place of tensors, as arguments; false: torch's own operation is called. */
static bool late_arrays(tracer *t, value *const *args, Py_ssize_t count, value **arrays) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (!tensor_is(args[i]) || !np_layout_of(args[i])->type.rank ||
        !(arrays[i] = tensor_as_array(t, args[i])))
      return false;
  return true;
}

/* What NumPy gives, seen as tensors. */
static value *late_seen(tracer *t, value *v) {
  if (!v) return NULL;
  if (np_is_array(v)) {
    np_see_as(v, &tensor_value_type);
    np_layout_of(v)->stepped = true; /* torch tells the strides without elements, too */
    return tensor_add_foreign(t, v) ? v : NULL;
  }
  for (Py_ssize_t i = 0; value_is_tuple(v) && i < v->seq.count; i++)
    if (!late_seen(t, v->seq.items[i])) return NULL;
  return v;
}

static value *late_call(tracer *t, PyObject *function, value *const *arrays, Py_ssize_t count) {
  value *callee = value_const(t, function);
  return callee ? late_seen(t, trace_call(t, callee, arrays, count, NULL)) : NULL;
}

/* What the function itself gives, by operations of NumPy's; NULL with nothing pending: not so. */
static value *late_by_arrays(tracer *t, PyObject *function, value *const *args, Py_ssize_t count) {
  late_kind kind = late_kind_of(function, count);
  value *arrays[2];
  bool masks = kind == LATE_ITEM || kind == LATE_SELECT;
  if (kind == LATE_NONE || kind == LATE_PUT || (masks && !late_is_mask(args, kind == LATE_SELECT)))
    return NULL;
  if (!late_arrays(t, args, count, arrays)) return NULL;
  if (kind == LATE_PLACES) return late_call(t, late_python.argwhere, arrays, 1);
  if (kind == LATE_WHERE) {
    value *places = late_call(t, late_python.argwhere, arrays, 1), *axis = value_int(t, 1);
    return places && axis ? tensor_call_method(t, places, "unbind", &axis, 1) : NULL;
  }
  return late_seen(t, trace_get_item(t, arrays[0], arrays[1]));
}

/* ---- models in Python ---- */

static bool late_is_a_mask(value *v) {
  return tensor_is(v) && np_layout_of(v)->type.dtype == LOOM_BOOL && np_layout_of(v)->type.rank;
}

/* Is it a whole number that is a tensor? As an index it is that number; one of uint8 is a mask. */
static bool late_is_a_place(value *v) {
  if (!tensor_is(v) || np_layout_of(v)->type.rank) return false;
  loom_dtype dtype = np_layout_of(v)->type.dtype;
  return dtype == LOOM_I64 || dtype == LOOM_I32 || dtype == LOOM_I16 || dtype == LOOM_I8;
}

/* A slice with such a number in it. */
static bool late_is_a_slice(const value *v) {
  bool found = false;
  for (Py_ssize_t i = 0; value_is_slice(v) && i < v->seq.count; i++)
    found |= v->seq.items[i] && late_is_a_place(v->seq.items[i]);
  return found;
}

static bool late_has(value *key, bool (*is)(value *)) {
  if (!value_is_tuple(key)) return is(key);
  for (Py_ssize_t i = 0; i < key->seq.count; i++)
    if (is(key->seq.items[i])) return true;
  return false;
}

static bool late_is_one_place(value *v) { return late_is_a_place(v) || late_is_a_slice(v); }

/* Is a tensor among these, or in a tuple or list among them? */
static bool late_has_tensor(value *const *args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (tensor_is(args[i]) || ((value_is_tuple(args[i]) || value_is_list(args[i])) &&
                               late_has_tensor(args[i]->seq.items, args[i]->seq.count)))
      return true;
  return false;
}

/* The model that is followed in place of a call; NULL: there is none. Those of functions that take
 * no tensor are for calls with one. */
static PyObject *late_model_of(PyObject *function, value *const *args, Py_ssize_t count) {
  late_kind kind = late_kind_of(function, count);
  if (kind == LATE_ITEM || kind == LATE_PUT) {
    bool places = tensor_is(args[0]) && late_has(args[1], late_is_one_place);
    if (kind == LATE_PUT) return places ? late_python.put : NULL;
    return places || late_has(args[1], late_is_a_mask) ? late_python.index : NULL;
  }
  PyObject *model = PyDict_GetItemWithError(late_python.models, function);
  error_drop();
  return model && late_has_tensor(args, count) ? model : NULL;
}

bool tensor_is_late_part(const PyObject *callee) {
  return callee == late_python.range || callee == late_python.is_known;
}

/* is_known(tensor); late_range(end), where `end` is a tensor of one int64. */
value *tensor_late_part(tracer *t, const PyObject *callee, value *const *args, Py_ssize_t count) {
  bool takes = count == 1 && tensor_is(args[0]);
  if (callee == late_python.is_known) {
    PyObject *elements = takes ? tensor_elements(t, args[0]) : NULL;
    return trace_pending(t) ? NULL : value_bool(t, elements != NULL);
  }
  value *array = takes ? tensor_as_array(t, args[0]) : NULL;
  if (array) return late_seen(t, np_late_range(t, np_layout_of(array)));
  return trace_pending(t) ? NULL : trace_break(t, BREAK_TENSOR, "a size that is no tensor's");
}

value *tensor_late(tracer *t, PyObject *function, value *const *args, Py_ssize_t count,
                   Py_ssize_t named, PyObject *kwnames) {
  for (Py_ssize_t i = 0; i < count + named; i++)
    if (tensor_is_batched(args[i])) return NULL;
  value *made = kwnames ? NULL : late_by_arrays(t, function, args, count);
  if (made || trace_pending(t)) return made;
  PyObject *model = late_model_of(function, args, count);
  value *followed = model ? value_const(t, model) : NULL;
  if (followed) made = trace_call(t, followed, args, count, kwnames);
  return made && made->object == Py_NotImplemented ? NULL : made;
}
