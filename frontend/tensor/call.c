/* Calls of torch's functions. Each is made once, on tensors without memory (_tensor_calls.py), to
 * learn the operations that it consists of and the types of its results. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/tensor/draws_internal.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

/* Of _tensor_calls.py. */
static struct {
  PyObject *record, *elements, *size, *unsupported, *functions, *constants, *state, *overrides,
      *operators, *tells, *switches, *autocast, *casts, *optimizer, *device, *transforms, *refused,
      *operations;
} call_python;

bool tensor_call_init(void) {
  static const tensor_name names[] = {
      {"record", &call_python.record},       {"Elements", &call_python.elements},
      {"Size", &call_python.size},           {"Unsupported", &call_python.unsupported},
      {"FUNCTIONS", &call_python.functions}, {"CONSTANTS", &call_python.constants},
      {"STATE", &call_python.state},         {"OVERRIDES", &call_python.overrides},
      {"TELLS", &call_python.tells},         {"SWITCHES", &call_python.switches},
      {"Optimizer", &call_python.optimizer}, {"Device", &call_python.device},
      {"Refused", &call_python.refused},     {"OPERATIONS", &call_python.operations}};
  static const tensor_name casts[] = {{"Autocast", &call_python.autocast},
                                      {"FUNCTIONS", &call_python.casts}};
  static const tensor_name transforms[] = {{"FUNCTIONS", &call_python.transforms}};
  call_python.operators = PyImport_ImportModule("operator");
  return call_python.operators &&
         tensor_import("frameloom._tensor_calls", names, sizeof names / sizeof *names) &&
         tensor_import("frameloom._tensor_autocast", casts, sizeof casts / sizeof *casts) &&
         tensor_import("frameloom._tensor_transforms", transforms, 1);
}

bool tensor_is_constant(PyObject *object) {
  return PySequence_Contains(call_python.constants, (PyObject *)Py_TYPE(object)) == 1;
}

bool tensor_is_device(PyObject *object) {
  return (PyObject *)Py_TYPE(object) == call_python.device;
}

static bool call_is_known(PyObject *set, PyObject *callee) {
  bool hashes = !PyObject_TypeCheck(callee, &PyType_Type) || Py_IS_TYPE(callee, &PyType_Type);
  int known = hashes ? PySet_Contains(set, callee) : 0;
  if (known < 0) error_drop(); /* not hashable */
  return known > 0;
}

bool tensor_has_row(PyObject *callee) {
  return tensor_ready() && PyFunction_Check(callee) &&
         (call_is_known(call_python.functions, callee) || tensor_is_backward(callee) ||
          tensor_is_gradient(callee) || tensor_has_model(callee) || tensor_is_checkpoint(callee) ||
          tensor_is_batch_call(callee) || tensor_is_function_part(callee) ||
          tensor_is_late_part(callee) || tensor_is_placed_part(callee));
}

/* ---- arguments ------------------------------------------------------------------------------- */

static PyObject *call_argument(tracer *t, value *v);

static PyObject *call_items(tracer *t, value *const *items, Py_ssize_t count, bool list) {
  PyObject *made = list ? PyList_New(count) : PyTuple_New(count);
  for (Py_ssize_t i = 0; made && i < count; i++) {
    PyObject *item = call_argument(t, items[i]);
    if (!item)
      Py_CLEAR(made);
    else if (list)
      PyList_SET_ITEM(made, i, item);
    else
      PyTuple_SET_ITEM(made, i, item);
  }
  return made;
}

static PyObject *call_slice(tracer *t, const value *v) {
  PyObject *parts[3] = {NULL}, *made = NULL;
  bool good = true;
  for (int i = 0; i < 3 && good; i++)
    good = (parts[i] = call_argument(t, v->seq.items[i])) != NULL;
  if (good) made = PySlice_New(parts[0], parts[1], parts[2]);
  for (int i = 0; i < 3; i++)
    Py_XDECREF(parts[i]);
  return made;
}

/* What stands for a tensor. Whether one from before the call requires a gradient is asked when
 * gradients are recorded. */
static PyObject *call_tensor(tracer *t, value *v) {
  const np_array *a = np_layout_of(v);
  PyObject *meta = tensor_meta(t, v);
  if (!meta) return NULL;
  const tensor_state *state = tensor_state_of(t);
  bool asks = a->kind == VIEW_ROOT && a->storage->live && state->records;
  if (asks && tensor_requires(t, a->storage->live, a->storage->source) &&
      !tensor_is_recorded(meta) && !tensor_gradient_leaf(t, v, meta))
    return NULL;
  return Py_NewRef(meta);
}

bool tensor_add_foreign(tracer *t, value *v) {
  tensor_state *state = tensor_state_of(t);
  if (!state) return false;
  state->foreign = trace_more(t, state->foreign, state->foreign_count, &state->foreign_room,
                              sizeof *state->foreign);
  if (!state->foreign) return trace_fail(t) != NULL;
  state->foreign[state->foreign_count++] =
      (tensor_foreign){.tensor = v, .version = np_layout_of(v)->storage->version};
  return true;
}

/* A number that is known only when the plan runs, as a tensor without axes: where it may stand for
 * the number, record() says. */
static PyObject *call_number(tracer *t, value *v) {
  tensor_state *state = tensor_state_of(t);
  value *made = NULL;
  if (!state) return NULL;
  for (uint32_t i = 0; i < state->foreign_count && !made; i++) {
    value *one = state->foreign[i].tensor;
    const np_array *a = np_layout_of(one);
    if (a->kind == VIEW_ROOT && a->storage->current == v->number.node) made = one;
  }
  if (!made && (made = tensor_new(t, v->number.node, NULL)) && !tensor_add_foreign(t, made))
    return NULL;
  PyObject *meta = made ? tensor_meta(t, made) : NULL;
  if (!meta) return NULL;
  return PyList_Append(state->numbers, meta) == 0 ? Py_NewRef(meta) : trace_raise_live(t);
}

static bool call_is_number(tracer *t, const value *v) {
  if (!value_is_number(v) || number_is_size(v)) return false;
  loom_dtype dtype = loom_graph_type(trace_graph(t), v->number.node)->dtype;
  return dtype == LOOM_F64 || dtype == LOOM_I64;
}

static PyObject *call_element(tracer *t, value *v) {
  PyObject *inner = call_argument(t, tensor_batched_inner(v));
  PyObject *made = inner ? tensor_batched_argument(v, inner) : NULL;
  Py_XDECREF(inner);
  return made || trace_pending(t) ? made : trace_raise_live(t);
}

/* Is it one of torch.ops, an object that never changes? */
static bool call_is_operation(value *v) {
  return value_is_instance(v) && v->object &&
         PySequence_Contains(call_python.operations, (PyObject *)Py_TYPE(v->object)) == 1;
}

/* An argument as torch is given it: a new reference. NULL after a break. */
static PyObject *call_argument(tracer *t, value *v) {
  if (tensor_is_batched(v)) return call_element(t, v);
  if (tensor_is(v)) return call_tensor(t, v);
  if (call_is_number(t, v)) return call_number(t, v);
  int64_t size;
  if (number_is_size(v) && value_size_of(t, v, &size)) return tensor_size_object(size);
  if (tuple_is_plain(v) || value_is_list(v))
    return call_items(t, v->seq.items, v->seq.count, value_is_list(v));
  if (value_is_slice(v)) return call_slice(t, v);
  if (value_is_tuple(v) && value_type_of(t, v) == call_python.size) {
    PyObject *items = call_items(t, v->seq.items, v->seq.count, false);
    PyObject *made = items ? PyObject_CallOneArg(call_python.size, items) : NULL;
    Py_XDECREF(items);
    return made || trace_pending(t) ? made : trace_raise_live(t);
  }
  if (call_is_operation(v)) {
    if (v->source) guard_simple(t, GUARD_IDENTITY, v->source, v->object, 0);
    return Py_NewRef(v->object);
  }
  PyObject *known = value_known(t, v);
  if (!known && !trace_pending(t))
    trace_break(t, BREAK_TENSOR, "an argument of type %.100s that is not known at capture",
                ((PyTypeObject *)value_type_of(t, v))->tp_name);
  return known;
}

/* ---- results --------------------------------------------------------------------------------- */

static value *call_result(tracer *t, PyObject *o) {
  value *known = tensor_of_meta(t, o);
  if (known) return known;
  PyObject *inner = tensor_batched_result(o);
  if (inner) {
    value *of = call_result(t, inner);
    Py_DECREF(inner);
    return of ? tensor_batched_of(t, o, of) : NULL;
  }
  if (torch_is_tensor(o)) return trace_break(t, BREAK_TENSOR, "a tensor that torch made otherwise");
  int64_t size;
  if (tensor_has_sizes(t) && tensor_size_number(o, &size)) return value_size(t, size);
  bool list = PyList_CheckExact(o);
  if (!list && !PyTuple_Check(o)) return value_made(t, Py_NewRef(o));
  Py_ssize_t count = PySequence_Fast_GET_SIZE(o);
  value **items = trace_alloc(t, sizeof *items * (size_t)(count + 1));
  for (Py_ssize_t i = 0; items && i < count; i++)
    if (!(items[i] = call_result(t, PySequence_Fast_GET_ITEM(o, i)))) return NULL;
  if (!items) return NULL;
  return list ? value_list(t, items, count)
              : value_tuple_of(t, (PyObject *)Py_TYPE(o), items, count);
}

/* What torch raises of the user's tensors, too, is raised at this place of the function. */
static void *call_refused(tracer *t) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  PyObject *real = error ? PyObject_GetAttrString(error, "args") : NULL;
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  if (real && PyTuple_CheckExact(real) && PyTuple_GET_SIZE(real) == 1)
    PyErr_SetObject((PyObject *)Py_TYPE(PyTuple_GET_ITEM(real, 0)), PyTuple_GET_ITEM(real, 0));
  Py_XDECREF(real);
  return trace_raise_live(t);
}

/* The exception that the call has ended with: one of ours is a reason, or has what torch raises of
 * the user's tensors; any other is raised by torch, once the call is made with those. */
void *tensor_call_failed(tracer *t, PyObject *function) {
  if (trace_pending(t)) return error_drop(), NULL;
  if (PyErr_ExceptionMatches(call_python.refused)) return call_refused(t);
  PyObject *type, *error, *trace, *name = PyObject_GetAttrString(function, "__name__");
  if (!name) error_drop();
  PyErr_Fetch(&type, &error, &trace);
  PyErr_NormalizeException(&type, &error, &trace);
  PyObject *text = error ? PyObject_Str(error) : NULL;
  const char *words = text ? PyUnicode_AsUTF8(text) : "?";
  const char *called = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "a function";
  bool ours = type && PyErr_GivenExceptionMatches(type, call_python.unsupported);
  error_drop();
  if (ours)
    trace_break(t, BREAK_TENSOR, "%.60s: %.160s", called, words);
  else
    trace_break(t, BREAK_TENSOR, "%.60s raises %.60s: %.100s", called,
                type ? ((PyTypeObject *)type)->tp_name : "?", words);
  Py_XDECREF(text);
  Py_XDECREF(name);
  Py_XDECREF(type);
  Py_XDECREF(error);
  Py_XDECREF(trace);
  return NULL;
}

static value *call_recorded(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs) {
  tensor_state *state = tensor_state_of(t);
  if (PyList_GET_SIZE(state->levels) &&
      (tensor_is_backward(function) || tensor_is_gradient(function) ||
       PyDict_GetItemString(kwargs, "requires_grad")))
    return trace_break(t, BREAK_TENSOR, "gradients are asked for inside of vmap");
  if (tensor_is_backward(function) || tensor_is_gradient(function) ||
      call_is_known(call_python.transforms, function))
    tensor_know_sizes(t, "gradients are computed");
  else if (PyList_GET_SIZE(state->levels))
    tensor_know_sizes(t, "a call inside of vmap");
  if (trace_pending(t)) return NULL;
  if (tensor_is_backward(function)) return tensor_backward(t, function, args, kwargs);
  loom_location at = trace_innermost_location(t); /* where torch's warnings come from */
  PyObject *place = Py_BuildValue("(si)", at.file, (int)at.line);
  tracer *before = tensor_sizes_enter(t);
  PyObject *made =
      place ? PyObject_CallFunctionObjArgs(call_python.record, function, args, kwargs,
                                           state->records ? Py_True : Py_False, state->numbers,
                                           state->autocast, state->levels, place, NULL)
            : NULL;
  tensor_sizes_leave(before);
  Py_XDECREF(place);
  if (trace_pending(t)) return error_drop(), Py_XDECREF(made), NULL;
  if (!made) return tensor_call_failed(t, function);
  value *result = NULL;
  bool good = trace_keep(t, made) &&
              tensor_take_calls(t, PyTuple_GET_ITEM(made, 1), PyTuple_GET_ITEM(made, 2));
  if (good) result = call_result(t, PyTuple_GET_ITEM(made, 0));
  if (tensor_is_gradient(function)) {
    if (result && !tensor_gradient_stays_inside(t, args, kwargs)) return NULL;
    state->ran_backward = true;
  }
  if (result && tensor_is_function_end(function)) tensor_function_ended(t, result);
  if (result && PyDict_GetItemString(kwargs, "requires_grad") == Py_True)
    result = tensor_make_leaf(t, result);
  return trace_pending(t) ? NULL : result;
}

/* self (or NULL), positional arguments, then those by the names of kwnames. */
static value *call_torch(tracer *t, PyObject *function, value *self, value *const *args,
                         Py_ssize_t count, PyObject *kwnames) {
  tensor_state *state = tensor_state_of(t);
  Py_ssize_t named = kwnames ? PyTuple_GET_SIZE(kwnames) : 0;
  if (!state) return NULL;
  value **all = trace_alloc(t, sizeof *all * (size_t)(count + named + 1));
  if (!all) return NULL;
  Py_ssize_t given = 0;
  if (self) all[given++] = self;
  for (Py_ssize_t i = 0; i < count; i++)
    all[given++] = args[i];
  if (named) memcpy(all + given, args + count, sizeof *all * (size_t)named);
  value *drawn = tensor_drawn(t, function, all, given, kwnames);
  if (drawn || trace_pending(t)) return drawn;
  value *late = tensor_late(t, function, all, given, named, kwnames);
  if (late || trace_pending(t)) return late;
  if (PyList_SetSlice(state->numbers, 0, PY_SSIZE_T_MAX, NULL) < 0) return trace_raise_live(t);
  PyObject *list = call_items(t, all, given, false);
  PyObject *kwargs = list ? PyDict_New() : NULL;
  for (Py_ssize_t i = 0; kwargs && i < named; i++) {
    PyObject *item = call_argument(t, args[count + i]);
    if (!item || PyDict_SetItem(kwargs, PyTuple_GET_ITEM(kwnames, i), item) < 0) Py_CLEAR(kwargs);
    Py_XDECREF(item);
  }
  value *result = NULL;
  PyObject *decision = tensor_decision(function);
  if (kwargs) result = call_recorded(t, decision ? decision : function, list, kwargs);
  if (result && !tensor_write_placed(t)) result = NULL;
  if (result && decision) result = tensor_decided(t, result);
  Py_XDECREF(kwargs);
  Py_XDECREF(list);
  if (!result && !trace_pending(t)) {
    if (PyErr_Occurred()) return trace_raise_live(t);
    return trace_break(t, BREAK_TENSOR, "a call of torch's failed silently");
  }
  return result;
}

PyObject *tensor_elements(tracer *t, value *v) {
  tensor_state *state = tensor_state_of(t);
  PyObject *meta = state ? tensor_meta(t, v) : NULL;
  if (!meta) return NULL;
  if (!state->elements) {
    PyObject *made = PyObject_CallOneArg(call_python.elements, state->calls);
    if (!made) return trace_raise_live(t);
    state->elements = trace_keep(t, made);
  }
  PyObject *real = state->elements ? PyObject_CallMethod(state->elements, "of", "O", meta) : NULL;
  if (!real) return trace_raise_live(t);
  if (real != Py_None) return trace_keep(t, real);
  Py_DECREF(real);
  return NULL;
}

value *tensor_method(tracer *t, PyObject *function, value *self, value *const *args,
                     Py_ssize_t count, PyObject *kwnames) {
  bool batched = tensor_is_batched(self);
  if (!batched && tensor_is_leaf_maker(function) && !kwnames &&
      (!count || (count == 1 && args[0]->object == Py_True)))
    return tensor_make_leaf(t, self);
  if (!call_is_known(call_python.functions, function) && !tensor_is_backward(function)) {
    PyObject *name = PyObject_GetAttrString(function, "__name__");
    const char *text = name && PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : "?";
    bool alone = !count && !kwnames && !batched;
    error_drop();
    value *result = alone ? tensor_numbers(t, function, text, self) : NULL;
    if (!result && !trace_pending(t) && alone) result = tensor_exchanged(t, text, self);
    if (!result && !trace_pending(t))
      trace_break(t, BREAK_TENSOR, "the method %.100s of a tensor", text);
    Py_XDECREF(name);
    return result;
  }
  return call_torch(t, function, self, args, count, kwnames);
}

value *tensor_call(tracer *t, PyObject *function, value *const *args, Py_ssize_t count) {
  return call_torch(t, function, NULL, args, count, NULL);
}

value *tensor_call_method(tracer *t, value *v, const char *name, value *const *args,
                          Py_ssize_t count) {
  PyObject *text = trace_keep(t, PyUnicode_InternFromString(name));
  value *method = text ? trace_get_attr(t, v, text) : NULL;
  return method ? trace_call(t, method, args, count, NULL) : NULL;
}

value *tensor_operator(tracer *t, const char *name, value *const *args, Py_ssize_t count) {
  PyObject *function = PyObject_GetAttrString(call_python.operators, name);
  if (!function || !trace_keep(t, function)) return trace_raise_live(t);
  return tensor_call(t, function, args, count);
}

value *tensor_attribute(tracer *t, value *v, PyObject *name) {
  static PyObject *get;
  if (!get) get = PyDict_GetItemString(PyEval_GetBuiltins(), "getattr");
  value *args[2] = {v, value_const(t, name)};
  return get && args[1] ? call_torch(t, get, NULL, args, 2, NULL) : NULL;
}

/* May the class of the value, or of an item of a tuple, override functions of torch's? Those of
 * tensors that are compiled do not. */
static bool call_may_override(tracer *t, value *v) {
  if (value_is_sequence(v)) {
    for (Py_ssize_t i = 0; i < v->seq.count; i++)
      if (call_may_override(t, v->seq.items[i])) return true;
    return false;
  }
  if (tensor_is(v) || tensor_is_batched(v)) return false;
  PyObject *type = value_type_of(t, v), *name = PyUnicode_InternFromString("__torch_function__");
  bool found = type && name && _PyType_Lookup((PyTypeObject *)type, name);
  if (type && !found && PyType_IsSubtype((PyTypeObject *)type, &PyType_Type)) {
    PyObject *cls = value_known(t, v); /* torch finds the attribute of a class in the class, too */
    found = !cls || _PyType_Lookup((PyTypeObject *)cls, name);
    Py_XDECREF(cls);
  }
  Py_XDECREF(name);
  return found;
}

/* The answer of has_torch_function() and its like. */
static value *call_overrides(tracer *t, value *const *args, Py_ssize_t count) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (call_may_override(t, args[i]))
      return trace_pending(t)
                 ? NULL
                 : trace_break(t, BREAK_TENSOR, "a class that overrides torch's functions");
  return trace_pending(t) ? NULL : value_const(t, Py_False);
}

/* A function that tells something of torch's state, which a guard compares: it is called now. */
static value *call_state(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                         PyObject *kwnames) {
  const tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  if (call_is_known(call_python.overrides, callee)) return call_overrides(t, args, count);
  if (callee == call_python.tells) return value_const(t, state->records ? Py_True : Py_False);
  if (kwnames) return trace_break(t, BREAK_TENSOR, "such a call of torch's state");
  PyObject *list = call_items(t, args, count, false);
  value *result = list ? value_made(t, PyObject_CallObject(callee, list)) : NULL;
  Py_XDECREF(list);
  return result;
}

/* _set_grad_enabled(bool). */
static value *call_switch(tracer *t, value *const *args, Py_ssize_t count, PyObject *kwnames) {
  tensor_state *state = tensor_state_of(t);
  PyObject *on = state && count == 1 && !kwnames ? value_known(t, args[0]) : NULL;
  if (trace_pending(t)) return NULL;
  if (on != Py_True && on != Py_False) {
    Py_XDECREF(on);
    return trace_break(t, BREAK_TENSOR, "such a call of set_grad_enabled()");
  }
  state->records = on == Py_True;
  Py_DECREF(on);
  return t->constants.none;
}

/* id() of an optimizer, under which a gradient scaler has what it knows of it. */
static bool call_is_id(const PyObject *callee, value *const *args, Py_ssize_t count,
                       PyObject *kwnames) {
  static PyObject *id;
  if (!id) id = PyDict_GetItemString(PyEval_GetBuiltins(), "id");
  return callee == id && count == 1 && !kwnames && args[0]->object &&
         PyObject_TypeCheck(args[0]->object, (PyTypeObject *)call_python.optimizer);
}

static value *call_id(tracer *t, value *v) {
  if (v->source) guard_simple(t, GUARD_IDENTITY, v->source, v->object, 0);
  return value_made(t, PyLong_FromVoidPtr(v->object));
}

/* ---- autocast -------------------------------------------------------------------------------- */

PyObject *tensor_autocast_new(void) { return PyObject_CallNoArgs(call_python.autocast); }

bool tensor_autocast_is_as_before(const tensor_state *state) {
  PyObject *same = PyObject_CallMethod(state->autocast, "is_as_before", NULL);
  error_drop();
  Py_XDECREF(same);
  return same == Py_True;
}

/* A function that tells or changes the state of autocast. */
static value *call_autocast(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                            PyObject *kwnames) {
  const tensor_state *state = tensor_state_of(t);
  if (!state) return NULL;
  if (kwnames) return trace_break(t, BREAK_TENSOR, "such a call of a function of autocast's");
  value **all = trace_alloc(t, sizeof *all * (size_t)(count + 1));
  if (!all || !(all[0] = value_const(t, callee))) return NULL;
  for (Py_ssize_t i = 0; i < count; i++)
    all[i + 1] = args[i];
  PyObject *list = call_items(t, all, count + 1, false);
  PyObject *call = list ? PyObject_GetAttrString(state->autocast, "call") : NULL;
  PyObject *made = call ? PyObject_CallObject(call, list) : NULL;
  Py_XDECREF(call);
  Py_XDECREF(list);
  if (made) return value_made(t, made);
  return trace_pending(t) ? NULL : tensor_call_failed(t, callee);
}

/* torch.Size(numbers) */
static value *call_size(tracer *t, value *const *args, Py_ssize_t count) {
  value *items = count ? trace_listed(t, args[0]) : value_tuple(t, NULL, 0);
  for (Py_ssize_t i = 0; items && i < items->seq.count; i++) {
    int64_t size;
    if (trace_pending(t) || !value_size_of(t, items->seq.items[i], &size))
      return trace_pending(t) ? NULL : trace_break(t, BREAK_TENSOR, "torch.Size() of no numbers");
  }
  return items ? value_tuple_of(t, call_python.size, items->seq.items, items->seq.count) : NULL;
}

/* The method numel() of torch.Size. */
static value *call_size_numel(tracer *t, const value *size) {
  value *product = value_int(t, 1);
  for (Py_ssize_t i = 0; product && i < size->seq.count; i++)
    product = trace_binary(t, 5, product, size->seq.items[i], false);
  return product;
}

static bool call_is_size_numel(PyObject *callee, const value *self) {
  return value_is_tuple(self) && Py_IS_TYPE(callee, &PyMethodDescr_Type) &&
         (PyObject *)PyDescr_TYPE(callee) == call_python.size &&
         !PyUnicode_CompareWithASCIIString(PyDescr_NAME(callee), "numel");
}

value *tensor_call_object(tracer *t, PyObject *callee, value *self, value *const *args,
                          Py_ssize_t count, PyObject *kwnames, bool *mine) {
  *mine = false;
  if (!tensor_ready() || !callee) return NULL;
  bool state =
      call_is_known(call_python.state, callee) || call_is_known(call_python.overrides, callee);
  *mine = true;
  if (tensor_is_parameter_class(callee)) return tensor_parameter(t, args, count, kwnames);
  if (callee == call_python.size && count <= 1 && !kwnames) return call_size(t, args, count);
  if (!self && count == 1 && !kwnames && call_is_size_numel(callee, args[0]))
    return call_size_numel(t, args[0]);
  if (call_is_id(callee, args, count, kwnames)) return call_id(t, args[0]);
  if (tensor_is_exchange(callee, args, count))
    return tensor_from_array(t, callee, args, count, kwnames);
  if (callee == call_python.switches) return call_switch(t, args, count, kwnames);
  if (tensor_is_checkpoint(callee)) return tensor_checkpoint(t, callee, args, count);
  if (tensor_is_batch_call(callee)) return tensor_batch_call(t, callee, args, count);
  if (tensor_is_function_part(callee)) return tensor_function_part(t, callee, args, count);
  if (tensor_is_late_part(callee)) return tensor_late_part(t, callee, args, count);
  if (tensor_is_placed_part(callee)) return tensor_placed_part(t, args, count);
  if (tensor_is_generator_method(callee, args, count))
    return tensor_generator_method(t, callee, args, count, kwnames);
  if (call_is_known(call_python.casts, callee))
    return call_autocast(t, callee, args, count, kwnames);
  if (tensor_has_model(callee)) return tensor_call_model(t, callee, args, count, kwnames);
  *mine = state || tensor_is_backward(callee) || tensor_is_gradient(callee) ||
          call_is_known(call_python.functions, callee);
  if (!*mine) return NULL;
  if (state) return call_state(t, callee, args, count, kwnames);
  return call_torch(t, callee, self, args, count, kwnames);
}
