/* Operations of ATen as nodes of the graph: a view is a view of a value's memory, a write replaces
 * the content of that memory, and all other operations are emitted by the rows of the torch backend
 * (torch/aten.def), or called through torch when the plan runs. */
#include "frontend/torch/emit.h"
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/torch/fx.h"
#include "frontend/values/objects.h"

#include <stdlib.h>
#include <string.h>

/* ---- tensors and what stands for them ---------------------------------------------------------
 */

bool tensor_stands_for(tracer *t, PyObject *meta, value *v) {
  tensor_state *state = tensor_state_of(t);
  return state && trace_map_set(t, &state->metas, np_layout_of(v), meta) &&
         trace_map_set(t, &state->values, meta, v);
}

value *tensor_of_meta(tracer *t, PyObject *meta) {
  const tensor_state *state = tensor_state_of(t);
  return state ? pointer_map_get(&state->values, meta) : NULL;
}

/* A tensor without memory like this one: its storage reaches as far as its elements do. */
static PyObject *emit_stand_in(tracer *t, const np_array *a) {
  static PyObject *make;
  int64_t elements[LOOM_MAX_RANK], dims[LOOM_MAX_RANK], extent = 1;
  if (!make) {
    PyObject *module = PyImport_ImportModule("frameloom._tensor_calls");
    make = module ? PyObject_GetAttrString(module, "empty") : NULL;
    Py_XDECREF(module);
  }
  if (a->conjugated) return trace_break(t, BREAK_TENSOR, "a conjugate that a loop keeps"), NULL;
  for (int i = 0; i < a->type.rank; i++) {
    dims[i] = loom_stride_of_dim(a->type.dims[i]);
    elements[i] = np_in_elements(t, a->strides[i], a->type.dtype);
    if (dims[i]) extent = np_plus(t, extent, np_times(t, np_plus(t, dims[i], -1), elements[i]));
  }
  if (trace_pending(t)) return NULL;
  PyObject *sizes = tensor_size_numbers(t, dims, a->type.rank);
  PyObject *strides = sizes ? tensor_size_numbers(t, elements, a->type.rank) : NULL;
  PyObject *reach = strides ? tensor_size_object(extent) : NULL;
  tracer *before = tensor_sizes_enter(t);
  PyObject *made = reach && make ? PyObject_CallFunction(make, "OOsO", sizes, strides,
                                                         loom_dtype_name(a->type.dtype), reach)
                                 : NULL;
  tensor_sizes_leave(before);
  if (trace_pending(t)) error_drop();
  Py_XDECREF(reach);
  Py_XDECREF(strides);
  Py_XDECREF(sizes);
  return made;
}

PyObject *tensor_meta(tracer *t, value *v) {
  const tensor_state *state = tensor_state_of(t);
  PyObject *meta = state ? pointer_map_get(&state->metas, np_layout_of(v)) : NULL;
  if (meta || !state) return meta;
  if (!(meta = emit_stand_in(t, np_layout_of(v))))
    return trace_pending(t) ? NULL : trace_raise_live(t);
  return trace_keep(t, meta) && tensor_stands_for(t, meta, v) ? meta : NULL;
}

/* ---- what torch says of a result ---------------------------------------------------------------
 */

bool tensor_look_at(tracer *t, PyObject *meta, tensor_look *out) {
  fx_import im = {.graph = trace_graph(t), .number_of = tensor_size_number};
  torch_spec spec;
  int64_t elements = 0;
  if (tensor_has_sizes(t)) im.index = PyDict_New();
  tracer *before = tensor_sizes_enter(t);
  PyObject *offset = PyObject_CallMethod(meta, "storage_offset", NULL);
  bool good = offset && fx_read_spec(&im, meta, &spec) &&
              (PyLong_Check(offset) ? (elements = PyLong_AsLongLong(offset), true)
                                    : tensor_size_number(offset, &elements));
  tensor_sizes_leave(before);
  Py_XDECREF(offset);
  Py_XDECREF(im.index);
  if (!good) {
    error_drop();
    trace_break(t, BREAK_UNSUPPORTED_DTYPE, "a tensor of a dtype or size that is not compiled");
    return false;
  }
  int64_t size = (int64_t)loom_dtype_size(spec.dtype);
  *out = (tensor_look){.type = {.dtype = spec.dtype, .rank = spec.rank},
                       .offset = np_times(t, elements, size)};
  for (int i = 0; i < spec.rank; i++) {
    if (!size_admit(t, spec.sizes[i], &out->type.dims[i])) return false;
    out->strides[i] = np_times(t, spec.strides[i], size);
  }
  return !trace_pending(t);
}

static value *emit_tensor(tracer *t, PyObject *meta, loom_value node) {
  tensor_look look;
  if (!tensor_look_at(t, meta, &look)) return NULL;
  value *v = tensor_new(t, node, look.strides);
  return v && tensor_stands_for(t, meta, v) ? v : NULL;
}

bool tensor_emit_input(tracer *t, PyObject *meta) {
  tensor_look look;
  int64_t elements[LOOM_MAX_RANK];
  if (!tensor_look_at(t, meta, &look)) return false;
  for (int i = 0; i < look.type.rank; i++)
    elements[i] = np_in_elements(t, look.strides[i], look.type.dtype);
  loom_value node = trace_input(t, LOOM_INPUT_ARRAY, &look.type, elements, NULL, NULL);
  return trace_keep(t, Py_NewRef(meta)) && emit_tensor(t, meta, node);
}

/* ---- writes -----------------------------------------------------------------------------------
 */

static bool emit_write(tracer *t, PyObject *target, PyObject *by) {
  value *to = tensor_of_meta(t, target), *from = tensor_of_meta(t, by);
  if (to && !np_layout_of(to)->writeable) {
    trace_break(t, BREAK_TENSOR, "a write into a tensor that repeats its elements");
    return false;
  }
  if (to && from) return np_write(t, np_layout_of(to), np_read(t, np_layout_of(from)));
  trace_break(t, BREAK_TENSOR, "a write into a tensor that torch made otherwise");
  return false;
}

/* Another tensor that stands for the value of this one. */
static bool emit_again(tracer *t, PyObject *meta, PyObject *again) {
  tensor_state *state = tensor_state_of(t);
  value *v = tensor_of_meta(t, meta);
  if (v) return trace_map_set(t, &state->values, again, v);
  trace_break(t, BREAK_TENSOR, "a tensor that torch made otherwise");
  return false;
}

/* ---- all else ---------------------------------------------------------------------------------
 */

/* Makes the tensors among some arguments operands. */
static bool emit_operands(tracer *t, fx_import *im, PyObject *o) {
  if (PyList_Check(o) || PyTuple_Check(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
      if (!emit_operands(t, im, PySequence_Fast_GET_ITEM(o, i))) return false;
    return true;
  }
  if (!torch_is_tensor(o)) return true;
  value *v = tensor_of_meta(t, o);
  if (!v) {
    trace_break(t, BREAK_TENSOR, "a tensor that torch made otherwise");
    return false;
  }
  loom_value node = np_read(t, np_layout_of(v));
  if (node == LOOM_NO_VALUE) return false;
  return fx_define_tensor(im, o, node) || trace_raise_live(t) != NULL;
}

static loom_value emit_number_data(void *user, int64_t number) { return size_node(user, number); }

/* Arguments with a node in place of each symbolic size, which is an operand, too. A new reference;
 * NULL with an exception. */
static PyObject *emit_arguments(fx_import *im, PyObject *o) {
  int64_t number;
  if (PyDict_CheckExact(o)) {
    PyObject *made = PyDict_New(), *key, *item;
    for (Py_ssize_t at = 0; made && PyDict_Next(o, &at, &key, &item);) {
      PyObject *one = emit_arguments(im, item);
      if (!one || PyDict_SetItem(made, key, one) < 0) Py_CLEAR(made);
      Py_XDECREF(one);
    }
    return made;
  }
  if (PyList_Check(o) || PyTuple_Check(o)) {
    PyObject *made = PySequence_List(o);
    for (Py_ssize_t i = 0; made && i < PyList_GET_SIZE(made); i++) {
      PyObject *one = emit_arguments(im, PyList_GET_ITEM(made, i));
      if (!one || PyList_SetItem(made, i, one) < 0) Py_CLEAR(made);
    }
    if (made && PyTuple_Check(o)) Py_SETREF(made, PyList_AsTuple(made));
    return made;
  }
  if (!tensor_size_number(o, &number)) return Py_NewRef(o);
  PyObject *node = PyObject_GetAttrString(o, "node");
  if (node && !fx_define_number(im, node, number)) Py_CLEAR(node);
  return node;
}

static bool emit_import_init(tracer *t, fx_import *im) {
  capture *c = t->capture;
  if (!c->hosts) c->hosts = PyList_New(0);
  im->graph = trace_graph(t);
  im->number_of = tensor_size_number;
  im->number_data = emit_number_data;
  im->user = t;
  for (uint32_t i = 0; i < im->graph->symbol_count; i++)
    im->hints[i] = im->graph->symbols[i].hint;
  im->builder = (loom_emitter){.graph = im->graph, .location = trace_location(t)};
  im->keeps_refusals = true;
  im->index = PyDict_New();
  im->constants = PyList_New(0);
  im->hosts = Py_XNewRef(c->hosts);
  im->host_reasons = PyList_New(0);
  im->host_places = PyList_New(0);
  return im->index && im->constants && im->hosts && im->host_reasons && im->host_places;
}

static bool emit_results(tracer *t, PyObject *results, const loom_value *values) {
  bool many = PyTuple_Check(results) || PyList_Check(results);
  Py_ssize_t count = many ? PySequence_Fast_GET_SIZE(results) : 1;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(results, i) : results;
    if (!torch_is_tensor(meta) || tensor_of_meta(t, meta)) continue;
    if (!emit_tensor(t, meta, values[i])) return false;
  }
  return true;
}

/* An operation on lists, element by element; *values: those of its results. `is_one`: is it such an
 * operation? */
static bool emit_each(tracer *t, fx_call *c, PyObject *args, PyObject *kwargs, loom_value **values,
                      bool *is_one) {
  fx_value all;
  if (!fx_foreach(c, args, kwargs, &all, is_one)) return false;
  if (!*is_one) return true;
  if (!(*values = trace_alloc(t, sizeof **values * (all.count + 1)))) return false;
  for (uint32_t i = 0; i < all.count; i++)
    (*values)[i] = all.items[i].value;
  return true;
}

/* Sizes of results are at least 2, or known. */
static bool emit_admit(tracer *t, PyObject *results) {
  bool many = PyTuple_Check(results) || PyList_Check(results);
  Py_ssize_t count = many ? PySequence_Fast_GET_SIZE(results) : 1;
  tensor_look look;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(results, i) : results;
    if (torch_is_tensor(meta) && !tensor_look_at(t, meta, &look)) return false;
  }
  return true;
}

static bool emit_compute_known(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs,
                               PyObject *results) {
  loom_value room[FX_MAX_RESULTS], *values = room;
  fx_import im = {0};
  bool good = emit_import_init(t, &im) && emit_operands(t, &im, args);
  PyObject *key, *item;
  Py_ssize_t at = 0;
  while (good && PyDict_Next(kwargs, &at, &key, &item))
    good = emit_operands(t, &im, item);
  fx_call c = {.im = &im, .b = &im.builder, .target = function, .node = Py_None, .meta = results};
  bool each = false, sized = good && tensor_has_sizes(t);
  args = sized ? emit_arguments(&im, args) : Py_XNewRef(args);
  kwargs = sized && args ? emit_arguments(&im, kwargs) : Py_XNewRef(kwargs);
  good = good && args && kwargs;
  if (good && !(emit_each(t, &c, args, kwargs, &values, &each) &&
                (each || fx_emit_call(&c, args, kwargs, values)))) {
    error_drop();
    if (!trace_pending(t))
      trace_break(t, BREAK_TENSOR, "%.200s", c.why[0] ? c.why : "an operation of torch's");
    good = false;
  }
  if (good && PyList_GET_SIZE(im.constants)) {
    trace_break(t, BREAK_TENSOR, "an operation of constants");
    good = false;
  }
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  fx_import_fini(&im);
  t->spent.computes = true;
  return good && !trace_pending(t) && emit_results(t, results, values);
}

static bool emit_compute(tracer *t, PyObject *function, PyObject *args, PyObject *kwargs,
                         PyObject *results) {
  return (!tensor_has_sizes(t) || emit_admit(t, results)) &&
         emit_compute_known(t, function, args, kwargs, results);
}

/* The tensor that torch.tensor() and the like have made of numbers: a constant of the graph. */
static bool emit_constant_tensor(tracer *t, PyObject *tensor) {
  numpy_array_payload p;
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  PyObject *whole = PyObject_CallMethod(tensor, "contiguous", NULL);
  if (!whole || !tensor_describe(whole, &p)) {
    Py_XDECREF(whole);
    error_drop();
    trace_break(t, BREAK_TENSOR, "a tensor that torch made otherwise");
    return false;
  }
  type = (loom_type){.dtype = p.dtype, .rank = p.nd};
  for (int i = 0; i < p.nd; i++)
    type.dims[i] = p.dims[i];
  loom_contiguous_strides(&type, strides);
  value *v = tensor_new(t, trace_input(t, LOOM_INPUT_CONST, &type, strides, NULL, whole), NULL);
  if (!v) return false;
  tensor_state *state = tensor_state_of(t);
  PyObject *meta = tensor_meta(t, v);
  PyObject *call = meta ? Py_BuildValue("(OOOOO)", Py_None, tensor, meta, tensor, Py_False) : NULL;
  bool good = call && PyList_Append(state->calls, call) == 0;
  Py_XDECREF(call);
  return good ? trace_map_set(t, &state->values, tensor, v) : trace_raise_live(t) != NULL;
}

/* One operation, as _tensor_calls.py notes it. */
static bool emit_call(tracer *t, PyObject *call) {
  PyObject *function = PyTuple_GET_ITEM(call, 0), *args = PyTuple_GET_ITEM(call, 1);
  PyObject *kwargs = PyTuple_GET_ITEM(call, 2), *results = PyTuple_GET_ITEM(call, 3);
  if (trace_pending(t)) return false;
  if (function == Py_None && PyTuple_CheckExact(results))
    return tensor_emit_reshape(t, args, kwargs, results);
  if (function == Py_None)
    return results == Py_None ? emit_write(t, args, kwargs) : emit_again(t, args, kwargs);
  if (results == args) return true;
  PyObject *view = PyObject_GetAttrString(function, "is_view");
  bool is_view = view == Py_True;
  error_drop();
  Py_XDECREF(view);
  char name[64];
  if (is_view && tensor_operation_name(function, name, sizeof name) && !strcmp(name, "lift_fresh"))
    return emit_constant_tensor(t, PyTuple_GET_ITEM(args, 0));
  return is_view ? tensor_emit_view(t, function, args, results)
                 : emit_compute(t, function, args, kwargs, results);
}

bool tensor_emit_all(tracer *t, PyObject *calls) {
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(calls); i++)
    if (!emit_call(t, PyList_GET_ITEM(calls, i))) return false;
  return true;
}

bool tensor_take_calls(tracer *t, PyObject *calls, PyObject *called) {
  if (PyList_SetSlice(tensor_state_of(t)->calls, PY_SSIZE_T_MAX, PY_SSIZE_T_MAX, called) < 0)
    return trace_raise_live(t) != NULL;
  return tensor_emit_all(t, calls);
}
