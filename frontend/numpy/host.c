/* Host calls: pure functions of NumPy's without an op run in the library, inside the plan.
 *
 * At capture the function is called on samples, made-up arrays of the same sizes, to learn the
 * dtypes and sizes of its results. Only functions whose results have dtypes and sizes that do not
 * depend on the data have a row. Where sizes are symbolic, the function is called with HOST_SETS
 * sets of sizes, and host_sizes.c finds the rule that fits all answers. If a size depends on the
 * data after all, or the rule is wrong, the results do not fit when the plan runs, and the plain
 * function runs instead.
 *
 * A capture has a table with a row for each host call: (callable, arguments with holes, keywords,
 * inputs, outputs, error state, functions that stand in for the user's frames). An input or output
 * is (type number, sizes); an output has the order of its axes in memory as a third item when that
 * is not C order. host_run.c makes the call. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/library.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/host_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_control.h"

#include <stdlib.h>
#include <string.h>

#define HOST_EFFECTS "raises warns"

/* One array or number among the results: its type as NumPy gave it, and how its axes are permuted
 * for the plan's buffer, which is in C order. */
typedef struct host_output {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  int64_t order[LOOM_MAX_RANK]; /* axes from the outermost in memory to the innermost */
  bool scalar, view, number;    /* number: a Python bool or float */
  bool gaps;                    /* a view between whose elements others lie */
  const void *block;            /* gaps: identifies the memory that the view lies in */
  int64_t at;                   /* gaps: its first element in that memory */
  np_array *own;                /* gaps: the array that stands for that memory */
} host_output;

/* The position of a view with gaps in its memory, which other results may share. */
static void host_place(PyArrayObject *a, host_output *out) {
  PyArrayObject *own = a;
  while (PyArray_BASE(own) && PyArray_Check(PyArray_BASE(own)))
    own = (PyArrayObject *)PyArray_BASE(own);
  int64_t bytes = PyArray_BYTES(a) - PyArray_BYTES(own);
  for (int i = 0; i < PyArray_NDIM(a); i++) /* places are told as of views that go forwards */
    if (PyArray_STRIDES(a)[i] < 0) bytes += (PyArray_DIMS(a)[i] - 1) * PyArray_STRIDES(a)[i];
  out->block = own;
  out->at = bytes / PyArray_ITEMSIZE(a);
}

/* Is the sample's result an array or number of a supported dtype? */
static bool host_result(PyObject *o, host_output *out) {
  loom_dtype dtype;
  *out = (host_output){.number = PyBool_Check(o) || PyFloat_CheckExact(o)};
  out->scalar = !PyArray_CheckExact(o);
  if (out->scalar && !out->number && !PyArray_IsScalar(o, Generic)) return false;
  PyArrayObject *a = (PyArrayObject *)PyArray_FROM_O(o);
  bool good = a && PyArray_NDIM(a) <= LOOM_MAX_RANK && PyArray_ISNOTSWAPPED(a) &&
              PyArray_TYPE(a) != NPY_LONGLONG && PyArray_TYPE(a) != NPY_ULONGLONG &&
              numpy_dtype_from_typenum(PyArray_TYPE(a), &dtype) && np_dtype_supported(dtype) &&
              np_memory_order(a, out->order, &out->gaps);
  if (good) {
    out->type = type_make(dtype, 0, NULL);
    out->type.rank = PyArray_NDIM(a);
    for (int i = 0; i < out->type.rank; i++) {
      out->type.dims[i] = PyArray_DIMS(a)[i];
      out->strides[i] = PyArray_STRIDES(a)[i];
    }
    out->view = !out->scalar && !PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA);
    good = !out->gaps || out->view;
    if (out->gaps) host_place(a, out);
  }
  Py_XDECREF(a);
  return good;
}

/* Collects all arrays and numbers of the library's result, nested tuples and lists included. */
static bool host_results(PyObject *o, host_output *out, uint32_t *count) {
  if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
    for (Py_ssize_t i = 0; i < n; i++)
      if (!host_results(PySequence_Fast_GET_ITEM(o, i), out, count)) return false;
    return true;
  }
  return *count < NP_HOST_ARRAYS && host_result(o, &out[(*count)++]);
}

/* The spec of an output and the type of its buffer: sizes in memory order. */
static PyObject *host_output_spec(const host_output *o, loom_type *type) {
  *type = o->type;
  bool same = true;
  for (int i = 0; i < o->type.rank; i++) {
    type->dims[i] = o->type.dims[o->order[i]];
    same &= o->order[i] == i;
  }
  PyObject *plain = np_host_spec(type);
  if (!plain || same) return plain;
  PyObject *order = PyTuple_New(o->type.rank);
  for (int i = 0; order && i < o->type.rank; i++)
    PyTuple_SET_ITEM(order, i, PyLong_FromLongLong(o->order[i]));
  PyObject *spec =
      order ? PyTuple_Pack(3, PyTuple_GET_ITEM(plain, 0), PyTuple_GET_ITEM(plain, 1), order) : NULL;
  Py_XDECREF(order);
  Py_DECREF(plain);
  return spec;
}

static loom_value host_node(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                            PyObject *kwargs, PyObject *outputs, const loom_type *types,
                            uint32_t count, const char *effects) {
  PyObject *row = Py_BuildValue("(OOOOONN)", callable, args, kwargs, h->inputs, outputs,
                                np_error_state(t), trace_standins(t));
  if (!row) return error_drop(), LOOM_NO_VALUE;
  loom_attr attrs[3] = {attr_str("numpy"), attr_str(effects), attr_int(trace_host(t, row))};
  loom_location at = trace_location(t);
  loom_error err = {0};
  if (trace_pending(t)) return LOOM_NO_VALUE;
  loom_value v = loom_graph_node(trace_graph(t), LOOM_OP_HOST_CALL, h->operands, h->count, attrs, 3,
                                 types, count, &at, &err);
  if (v == LOOM_NO_VALUE) trace_break(t, BREAK_COMPILER, "host_call: %s", err.message);
  return v;
}

loom_value np_host_emit(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                        const loom_type *type) {
  PyObject *spec = np_host_spec(type), *outputs = spec ? PyList_New(1) : NULL,
           *kwargs = PyDict_New();
  loom_value v = LOOM_NO_VALUE;
  if (outputs && kwargs) {
    PyList_SET_ITEM(outputs, 0, Py_NewRef(spec));
    v = host_node(t, h, callable, args, kwargs, outputs, type, 1, HOST_EFFECTS);
  }
  Py_XDECREF(spec);
  Py_XDECREF(outputs);
  Py_XDECREF(kwargs);
  if (PyErr_Occurred()) trace_raise_live(t);
  return trace_pending(t) ? LOOM_NO_VALUE : v;
}

/* The spec of the number itself goes into the list, and its type. */
static bool host_add_count(PyObject *outputs, loom_dim size, loom_type *type) {
  PyObject *spec = PyLong_FromLongLong(size);
  bool good = spec && PyList_Append(outputs, spec) == 0;
  Py_XDECREF(spec);
  *type = type_make(LOOM_I64, 0, NULL);
  return good;
}

loom_value np_host_emit_late(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                             PyObject *kwargs, const loom_type *types, uint32_t count) {
  loom_type all[2 * NP_HOST_ARRAYS];
  loom_dim told[NP_HOST_ARRAYS];
  uint32_t total = count, tells = 0;
  PyObject *outputs = PyList_New(0), *none = kwargs ? Py_NewRef(kwargs) : PyDict_New();
  bool good = outputs && none;
  for (uint32_t i = 0; i < count && good; i++) {
    PyObject *spec = np_host_spec(&types[i]);
    good = spec && PyList_Append(outputs, spec) == 0;
    Py_XDECREF(spec);
    all[i] = types[i];
  }
  for (uint32_t i = 0; i < count && good; i++)
    for (int d = 0; d < types[i].rank && good; d++) {
      bool seen = !size_wants_node(t, types[i].dims[d]);
      for (uint32_t k = 0; k < tells; k++)
        seen |= told[k] == types[i].dims[d];
      if (seen || tells == NP_HOST_ARRAYS) continue;
      told[tells++] = types[i].dims[d];
      good = host_add_count(outputs, types[i].dims[d], &all[total++]);
    }
  loom_value v = LOOM_NO_VALUE;
  if (good)
    v = host_node(t, h, callable, args, none, outputs, all, total,
                  tells ? HOST_EFFECTS " sizes" : HOST_EFFECTS);
  for (uint32_t k = 0; k < tells && v != LOOM_NO_VALUE; k++)
    size_set_late_node(t, told[k], v + (loom_value)(count + k));
  Py_XDECREF(outputs);
  Py_XDECREF(none);
  if (PyErr_Occurred()) trace_raise_live(t);
  return trace_pending(t) ? LOOM_NO_VALUE : v;
}

/* A view with gaps of another result's memory, where the library returns both results in one
 * array. */
static value *host_part(tracer *t, host_output *outputs, uint32_t i, loom_value v) {
  host_output *o = &outputs[i], *first = outputs;
  while (first->block != o->block)
    first++;
  int64_t at = first == o ? 0 : o->at - first->at;
  if (at < 0) return trace_break(t, BREAK_NUMPY_FUNCTION, "results in one memory");
  return np_with_gaps(t, &o->type, o->strides, o->order, v, at, &first->own);
}

static value *host_output_value(tracer *t, host_output *outputs, uint32_t i, loom_value v) {
  const host_output *o = &outputs[i];
  int64_t back[LOOM_MAX_RANK];
  if (o->number) return np_python_number(t, v);
  if (o->scalar) return np_result(t, v, NULL);
  if (o->gaps) return host_part(t, outputs, i, v);
  for (int i = 0; i < o->type.rank; i++)
    back[o->order[i]] = i;
  value *out = np_fresh(t, emit_transpose(t, v, back), o->strides);
  return out && o->view ? np_view_same(t, np_array_of(out)) : out;
}

/* Does NumPy's function `shares` say so of an array among the results and one of the list's, or of
 * two of the results? */
static bool host_shares(PyObject *shares, PyObject *o, PyObject *list) {
  if (PyTuple_Check(o) || PyList_CheckExact(o)) {
    for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
      if (host_shares(shares, PySequence_Fast_GET_ITEM(o, i), list)) return true;
    return false;
  }
  if (!PyArray_CheckExact(o)) return false;
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++) {
    PyObject *answer = PyObject_CallFunctionObjArgs(shares, o, PyList_GET_ITEM(list, i), NULL);
    bool shared = answer != Py_False;
    Py_XDECREF(answer);
    if (shared) return error_drop(), true;
  }
  return PyList_Append(list, o) < 0;
}

/* The same by the name of NumPy's function. What cannot be answered counts as shared. */
static bool host_shares_by(const char *name, PyObject *result, PyObject *list) {
  PyObject *shares = np_lookup("numpy", name);
  bool shared = !shares || host_shares(shares, result, list);
  Py_XDECREF(shares);
  if (shared) error_drop();
  return shared;
}

static void host_collect(PyObject *o, PyObject *list) {
  if (PyArray_CheckExact(o) && PyList_Append(list, o) < 0) error_drop();
  if (!PyTuple_Check(o) && !PyList_CheckExact(o)) return;
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(o); i++)
    host_collect(PySequence_Fast_GET_ITEM(o, i), list);
}

bool np_is_fresh(PyObject *args, PyObject *kwargs, PyObject *result) {
  PyObject *list = PyList_New(0), *key, *item;
  Py_ssize_t pos = 0;
  if (!list) return false;
  host_collect(args, list);
  while (PyDict_Next(kwargs, &pos, &key, &item))
    host_collect(item, list);
  bool fresh = !host_shares_by("shares_memory", result, list);
  Py_DECREF(list);
  return fresh;
}

bool np_is_apart(PyObject *result) {
  PyObject *list = PyList_New(0);
  bool apart = list && !host_shares_by("may_share_memory", result, list);
  Py_XDECREF(list);
  return apart;
}

/* The values in the shape in which the library gives them. */
static value *host_value(tracer *t, PyObject *o, host_output *outputs, uint32_t *next,
                         loom_value first) {
  if (!PyTuple_Check(o) && !PyList_CheckExact(o)) {
    uint32_t i = (*next)++;
    return host_output_value(t, outputs, i, first + (loom_value)i);
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(o);
  value **items = trace_alloc(t, sizeof *items * (size_t)(n + 1));
  if (!items) return NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    PyObject *item = PySequence_Fast_GET_ITEM(o, i);
    if (!(items[i] = host_value(t, item, outputs, next, first))) return NULL;
  }
  if (PyList_CheckExact(o)) return value_list(t, items, n);
  return value_tuple_of(t, (PyObject *)Py_TYPE(o), items, n);
}

/* Is one answer like another, but for sizes? */
static bool host_is_like(const host_output *a, const host_output *b) {
  return !a->gaps && !b->gaps && a->type.rank == b->type.rank && a->type.dtype == b->type.dtype &&
         a->scalar == b->scalar &&
         !memcmp(a->order, b->order, sizeof *a->order * (size_t)a->type.rank);
}

/* The stride of an axis of one element, which is one of what its axes step over: the one that was
 * seen with all sets of sizes. `given`: the strides of the first; `all`: the bytes of the whole. */
static bool host_lift_step(tracer *t, const np_host_call *asked, host_output *const *answers,
                           uint32_t i, const int64_t *given, int axis, int64_t all) {
  host_output *o = &answers[0][i];
  for (int d = -1; d < o->type.rank; d++) {
    int64_t candidate = d < 0 ? all : o->strides[d], now;
    bool same = d < 0 || o->type.dims[d] != 1;
    for (int s = 0; s < HOST_SETS && same; s++)
      same = loom_stride_eval(trace_graph(t), candidate, asked[s].values, &now) &&
             now == (s ? answers[s][i].strides : given)[axis];
    if (same) return o->strides[axis] = candidate, true;
  }
  return false;
}

static bool host_lift(tracer *t, const np_host_call *asked, host_output *const *answers,
                      uint32_t i) {
  host_output *o = &answers[0][i];
  int64_t stride = (int64_t)loom_dtype_size(o->type.dtype), seen[HOST_SETS], given[LOOM_MAX_RANK];
  int rank = o->type.rank;
  for (int s = 1; s < HOST_SETS; s++)
    if (!host_is_like(o, &answers[s][i])) return false;
  for (int d = 0; d < rank; d++) {
    for (int s = 0; s < HOST_SETS; s++)
      seen[s] = answers[s][i].type.dims[d];
    if (!np_host_size(t, asked, seen, &o->type.dims[d])) return false;
  }
  memcpy(given, o->strides, sizeof given);
  if (np_elements(&o->type) == 0) {
    for (int s = 1; s < HOST_SETS; s++)
      if (memcmp(given, answers[s][i].strides, sizeof *given * (size_t)rank)) return false;
    return true;
  }
  for (int d = rank - 1; d >= 0; d--) {
    o->strides[o->order[d]] = stride;
    stride = np_times(t, stride, np_dim(o->type.dims[o->order[d]]));
  }
  for (int d = 0; d < rank; d++)
    if (o->type.dims[d] == 1 && !host_lift_step(t, asked, answers, i, given, d, stride))
      return false;
  return true;
}

/* Takes the sizes of results back to symbols. */
static bool host_generalise(tracer *t, const np_call *c, const np_host_call *h, PyObject *callable,
                            host_output *o, uint32_t count) {
  bool symbolic = h->number_count > 0, good = true;
  for (uint32_t k = 0; k < h->count; k++)
    symbolic |= size_type_is_symbolic(loom_graph_type(trace_graph(t), h->operands[k]));
  if (!symbolic) return true;
  np_host_call asked[HOST_SETS] = {*h};
  host_output *answers[HOST_SETS] = {o};
  for (int s = 1; s < HOST_SETS && good; s++) {
    host_arguments_list l = {0};
    uint32_t others = 0;
    answers[s] = trace_alloc(t, sizeof *o * NP_HOST_ARRAYS);
    PyObject *result =
        answers[s] ? np_host_try(t, c, &asked[s], &l, callable, s, HOST_ASCENDING) : NULL;
    good = result && host_results(result, answers[s], &others) && others == count;
    Py_XDECREF(result);
    np_host_arguments_fini(&l);
  }
  for (uint32_t i = 0; i < count && good; i++)
    good = host_lift(t, asked, answers, i);
  for (int s = 1; s < HOST_SETS; s++)
    np_host_fini(&asked[s]);
  error_drop();
  return good && !trace_pending(t);
}

static value *host_emit(tracer *t, const np_call *c, np_host_call *h, const host_arguments_list *l,
                        PyObject *callable, PyObject *result) {
  host_output *o = trace_alloc(t, sizeof *o * NP_HOST_ARRAYS);
  loom_type *types = trace_alloc(t, sizeof *types * NP_HOST_ARRAYS);
  uint32_t count = 0, next = 0;
  if (!o || !types) return NULL;
  bool good = host_results(result, o, &count) && count > 0 &&
              np_is_fresh(l->sample_args, l->sample_kwargs, result) &&
              host_generalise(t, c, h, callable, o, count);
  PyObject *outputs = PyList_New(0);
  for (uint32_t i = 0; i < count && good; i++) {
    PyObject *spec = host_output_spec(&o[i], &types[i]);
    good = spec && outputs && PyList_Append(outputs, spec) == 0;
    Py_XDECREF(spec);
  }
  loom_value v = good && outputs ? host_node(t, h, callable, l->args, l->kwargs, outputs, types,
                                             count, HOST_EFFECTS)
                                 : LOOM_NO_VALUE;
  Py_XDECREF(outputs);
  error_drop();
  if (trace_pending(t)) return NULL;
  if (v == LOOM_NO_VALUE) return np_unsupported(t, c, "with such results");
  return host_value(t, result, o, &next, v);
}

static value *host_call(tracer *t, const np_call *c, int first) {
  np_host_call h = {0};
  host_arguments_list l = {0};
  PyObject *callable =
      c->callee ? Py_NewRef(c->callee) : PyObject_GetAttrString((PyObject *)&PyArray_Type, c->name);
  PyObject *result = callable ? np_host_try(t, c, &h, &l, callable, 0, first) : NULL;
  bool good = result != NULL;
  value *v = NULL;
  if (good)
    v = host_emit(t, c, &h, &l, callable, result);
  else if (callable && h.count == 0 && c->callee && !c->opaque && !trace_pending(t))
    v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &good);
  error_drop();
  if (!good && !trace_pending(t)) np_unsupported(t, c, "with these arguments");
  Py_XDECREF(result);
  Py_XDECREF(callable);
  np_host_arguments_fini(&l);
  np_host_fini(&h);
  if (v && !trace_pending(t)) np_derivative_note(t, c, v);
  return trace_pending(t) ? NULL : v;
}

static bool host_holds_arrays(value *v, int depth) {
  if (np_is_array(v) || (value_is_number(v) && !number_is_size(v))) return true;
  bool items = value_is_sequence(v) && depth < LOOM_MAX_RANK;
  for (Py_ssize_t i = 0; items && i < v->seq.count; i++)
    if (host_holds_arrays(v->seq.items[i], depth + 1)) return true;
  return false;
}

/* Where derivatives are taken: lists of arrays and computed numbers as arrays, which have
 * cotangents. */
static value *host_as_array(tracer *t, value *v) {
  if (np_is_array(v) || !host_holds_arrays(v, 0)) return v;
  if (value_is_number(v)) return np_result(t, number_node(t, v), NULL);
  np_array *a = value_is_sequence(v) ? np_as_array(t, v) : NULL;
  if (!a) return trace_pending(t) ? NULL : v;
  return np_fresh(t, np_read(t, a), NULL);
}

static value *host_of_arrays(tracer *t, const np_call *c, int first) {
  Py_ssize_t count = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  value **args =
      np_derivative_known(t, c->callee) ? trace_alloc(t, sizeof *args * (size_t)(count + 1)) : NULL;
  if (!args) return trace_pending(t) ? NULL : host_call(t, c, first);
  for (Py_ssize_t i = 0; i < count; i++)
    if (!(args[i] = host_as_array(t, c->args[i]))) return NULL;
  np_call arrays = *c;
  arrays.args = args;
  return host_call(t, &arrays, first);
}

value *np_host(tracer *t, const np_call *c) { return host_of_arrays(t, c, HOST_ASCENDING); }

/* The result has as many axes as the sample has columns: for made-up sizes it may be enormous. */
value *np_histogramdd(tracer *t, const np_call *c) {
  np_array *a = c->count ? np_array_of(c->args[0]) : NULL;
  if (a && a->type.rank == 2) size_know(t, np_dim(a->type.dims[1]));
  return trace_pending(t) ? NULL : np_host(t, c);
}

value *np_whole(tracer *t, const np_call *c) {
  Py_ssize_t count = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  return np_are_symbolic(t, c->args, count) ? np_host(t, c) : trace_not_implemented(t);
}

value *np_whole_or_known(tracer *t, const np_call *c) {
  Py_ssize_t count = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  bool done = false;
  if (np_are_symbolic(t, c->args, count)) return np_host(t, c);
  value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
  return done || trace_pending(t) ? v : trace_not_implemented(t);
}

value *np_opaque(tracer *t, PyObject *callable, PyObject *fake, const char *name,
                 value *const *args, Py_ssize_t count, PyObject *kwnames) {
  const np_call c = {.name = name,
                     .args = args,
                     .count = count,
                     .kwnames = kwnames,
                     .callee = callable,
                     .opaque = true,
                     .sampler = fake};
  return np_gate(t, np_host, &c) ? host_call(t, &c, HOST_ASCENDING) : NULL;
}

/* The types of the results with the size that the call tells; false when the sample's are not as
 * they should be. */
static bool host_vector_types(tracer *t, host_output *o, uint32_t count, int whole,
                              const loom_type *like, loom_type *types) {
  loom_dim size;
  for (uint32_t i = 0; i < count; i++) {
    bool shaped = (int)i == whole;
    if (o[i].scalar || o[i].number || o[i].gaps || o[i].type.rank != (shaped ? like->rank : 1))
      return false;
  }
  if (!size_late(t, &size)) return false;
  for (uint32_t i = 0; i < count; i++) {
    if ((int)i == whole)
      memcpy(o[i].type.dims, like->dims, sizeof like->dims);
    else
      o[i].type.dims[0] = size;
    o[i].view = false;
    for (int d = 0; d < o[i].type.rank; d++)
      o[i].order[d] = d;
    np_c_strides(t, &o[i].type, o[i].strides);
    types[i] = o[i].type;
  }
  return true;
}

value *np_host_vectors(tracer *t, const np_call *c, int whole) {
  np_host_call h = {0};
  host_arguments_list l = {0};
  host_output *o = trace_alloc(t, sizeof *o * NP_HOST_ARRAYS);
  loom_type *types = trace_alloc(t, sizeof *types * NP_HOST_ARRAYS);
  np_array *first = np_array_of(c->args[0]);
  uint32_t count = 0, next = 0;
  PyObject *result = o && types ? np_host_try(t, c, &h, &l, c->callee, 0, HOST_ASCENDING) : NULL;
  bool good = result && (whole < 0 || first) && host_results(result, o, &count) &&
              host_vector_types(t, o, count, whole, first ? &first->type : NULL, types);
  loom_value v =
      good ? np_host_emit_late(t, &h, c->callee, l.args, l.kwargs, types, count) : LOOM_NO_VALUE;
  value *made = v == LOOM_NO_VALUE ? NULL : host_value(t, result, o, &next, v);
  error_drop();
  Py_XDECREF(result);
  np_host_arguments_fini(&l);
  np_host_fini(&h);
  return made || trace_pending(t) ? made : np_unsupported(t, c, "with these arguments");
}

/* As long as no number is beyond minlength: else the result is longer, and the plain function runs.
 */
value *np_bincount(tracer *t, const np_call *c) {
  value *p[3];
  int64_t least = 0;
  if (!np_parse(t, c, "x | weights minlength", p)) return NULL;
  if (p[2] && !np_int_arg(t, p[2], &least)) return NULL;
  return least > 0 ? host_of_arrays(t, c, HOST_ZEROS) : np_unsupported(t, c, "without minlength");
}

/* A function of NumPy's whose answer depends on sizes and dtypes only: called at capture. */
value *np_of_sizes(tracer *t, const np_call *c) {
  np_host_call h = {0};
  host_arguments_list l = {0};
  PyObject *result = np_host_try(t, c, &h, &l, c->callee, 0, HOST_ASCENDING);
  np_host_arguments_fini(&l);
  np_host_fini(&h);
  error_drop();
  PyObject *arrays = result ? PyList_New(0) : NULL;
  if (arrays) host_collect(result, arrays);
  bool good = arrays && PyList_GET_SIZE(arrays) == 0; /* else it may hold what the samples held */
  Py_XDECREF(arrays);
  if (good) return np_made(t, result);
  Py_XDECREF(result);
  return trace_pending(t) ? NULL : np_unsupported(t, c, "with these arguments");
}
