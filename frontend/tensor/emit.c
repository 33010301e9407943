/* Operations of ATen as nodes of the graph: a view is a view of a value's memory, a write replaces
 * the content of that memory, and all other operations are emitted by the rows of the torch backend
 * (torch/aten.def), or called through torch when the plan runs. */
#include "frontend/torch/emit.h"
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/internal.h"
#include "frontend/torch/fx.h"
#include "frontend/values/objects.h"

#include <stdlib.h>
#include <string.h>

/* ---- tensors and what stands for them ---------------------------------------------------------
 */

static bool emit_pair(tracer *t, PyObject *meta, value *v) {
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
  return trace_keep(t, meta) && emit_pair(t, meta, v) ? meta : NULL;
}

/* ---- what torch says of a result ---------------------------------------------------------------
 */

typedef struct emit_look {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK], offset; /* bytes; the offset in the storage */
} emit_look;

static bool emit_read(tracer *t, PyObject *meta, emit_look *out) {
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
  *out = (emit_look){.type = {.dtype = spec.dtype, .rank = spec.rank},
                     .offset = np_times(t, elements, size)};
  for (int i = 0; i < spec.rank; i++) {
    if (!size_admit(t, spec.sizes[i], &out->type.dims[i])) return false;
    out->strides[i] = np_times(t, spec.strides[i], size);
  }
  return !trace_pending(t);
}

static value *emit_tensor(tracer *t, PyObject *meta, loom_value node) {
  emit_look look;
  if (!emit_read(t, meta, &look)) return NULL;
  value *v = tensor_new(t, node, look.strides);
  return v && emit_pair(t, meta, v) ? v : NULL;
}

bool tensor_emit_input(tracer *t, PyObject *meta) {
  emit_look look;
  int64_t elements[LOOM_MAX_RANK];
  if (!emit_read(t, meta, &look)) return false;
  for (int i = 0; i < look.type.rank; i++)
    elements[i] = np_in_elements(t, look.strides[i], look.type.dtype);
  loom_value node = trace_input(t, LOOM_INPUT_ARRAY, &look.type, elements, NULL, NULL);
  return trace_keep(t, Py_NewRef(meta)) && emit_tensor(t, meta, node);
}

/* ---- views ------------------------------------------------------------------------------------
 */

static bool emit_int(PyObject *args, Py_ssize_t i, int64_t *out) {
  if (i >= PyTuple_GET_SIZE(args) || !PyLong_Check(PyTuple_GET_ITEM(args, i))) return false;
  *out = PyLong_AsLongLong(PyTuple_GET_ITEM(args, i));
  return !PyErr_Occurred() || (error_drop(), false);
}

/* One place, or evenly spaced ones, along an axis. `dropped`: the result is without the axis. */
static value *emit_slice_view(tracer *t, np_array *p, const emit_look *look, int64_t base,
                              PyObject *args, bool dropped) {
  int64_t axis = 0, starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK];
  emit_int(args, 1, &axis);
  if (axis < 0) axis += p->type.rank;
  if (axis < 0 || axis >= p->type.rank) return NULL;
  int64_t sizes[LOOM_MAX_RANK], stride = p->strides[axis], moved;
  for (int i = 0; i < p->type.rank; i++) {
    sizes[i] = p->type.dims[i];
    steps[i] = 1;
  }
  sizes[axis] = dropped ? 1 : look->type.dims[axis];
  bool several = sizes[axis] != 0 && sizes[axis] != 1;
  if (!dropped && stride && several && !size_divide(t, look->strides[axis], stride, &steps[axis]))
    return NULL;
  if (!size_minus(t, look->offset, base, &moved)) return NULL;
  if (stride && moved && !size_divide(t, moved, stride, &starts[axis])) return NULL;
  value *v = np_view_slice(t, p, starts, sizes, steps);
  if (!v) return NULL;
  return np_view_reshape(t, np_layout_of(v), look->type.rank, look->type.dims, look->strides);
}

static value *emit_transposed(tracer *t, np_array *p, const char *name, PyObject *args) {
  int64_t perm[LOOM_MAX_RANK], a, b;
  int rank = p->type.rank;
  for (int i = 0; i < rank; i++)
    perm[i] = i;
  if (!strcmp(name, "permute")) {
    PyObject *list = PyTuple_GET_SIZE(args) > 1 ? PyTuple_GET_ITEM(args, 1) : NULL;
    if (!list || !(PyList_Check(list) || PyTuple_Check(list)) ||
        PySequence_Fast_GET_SIZE(list) != rank)
      return NULL;
    for (int i = 0; i < rank; i++) {
      a = PyLong_AsLongLong(PySequence_Fast_GET_ITEM(list, i));
      perm[i] = a < 0 ? a + rank : a;
    }
    return np_view_transpose(t, p, perm);
  }
  if (!strcmp(name, "t"))
    a = 0, b = rank - 1;
  else if (!emit_int(args, 1, &a) || !emit_int(args, 2, &b))
    return NULL;
  a += a < 0 ? rank : 0;
  b += b < 0 ? rank : 0;
  if (rank < 2) return np_view_same(t, p);
  perm[a] = b;
  perm[b] = a;
  return np_view_transpose(t, p, perm);
}

/* diagonal(x, offset, dim1, dim2) */
static value *emit_diagonal(tracer *t, np_array *p, PyObject *args) {
  int64_t offset = 0, axes[2] = {0, 1};
  emit_int(args, 1, &offset);
  for (int i = 0; i < 2; i++) {
    emit_int(args, 2 + i, &axes[i]);
    axes[i] += axes[i] < 0 ? p->type.rank : 0;
  }
  return np_view_diagonals(t, p, offset, (int)axes[0], (int)axes[1]);
}

/* unfold(x, dim, size, step): each step-th window. */
static value *emit_windows(tracer *t, np_array *p, const emit_look *look, PyObject *args) {
  int64_t axis = 0, width = 0, step = 0, starts[LOOM_MAX_RANK] = {0}, sizes[LOOM_MAX_RANK],
          steps[LOOM_MAX_RANK];
  if (!emit_int(args, 1, &axis) || !emit_int(args, 2, &width) || !emit_int(args, 3, &step))
    return NULL;
  axis += axis < 0 ? p->type.rank : 0;
  if (axis < 0 || axis >= p->type.rank || look->type.rank != p->type.rank + 1) return NULL;
  for (int i = 0; i < look->type.rank; i++) {
    sizes[i] = look->type.dims[i];
    steps[i] = i == axis ? step : 1;
  }
  value *v = np_view_window(t, p, (int)axis, width);
  return v && step != 1 ? np_view_slice(t, np_layout_of(v), starts, sizes, steps) : v;
}

static bool emit_is_one_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(*names, name)) return true;
  return false;
}

static bool emit_is_symbolic(const np_array *p, const emit_look *look) {
  bool symbolic = np_is_symbolic(p) || LOOM_STRIDE_IS_SYM(look->offset);
  for (int i = 0; i < look->type.rank; i++)
    symbolic |= LOOM_DIM_IS_SYM(look->type.dims[i]) || LOOM_STRIDE_IS_SYM(look->strides[i]);
  return symbolic;
}

/* The axis of `p` along which a step of `stride` bytes is, that no other one has taken; -1: none.
 */
static int emit_axis_of(const np_array *p, uint32_t taken, int64_t stride) {
  int found = -1;
  for (int i = 0; i < p->type.rank; i++) {
    bool fits = !(taken >> i & 1) && p->type.dims[i] > 1 && p->strides[i] > 0 &&
                p->strides[i] <= stride && stride % p->strides[i] == 0;
    if (fits && (found < 0 || p->strides[i] > p->strides[found])) found = i;
  }
  return found;
}

/* `bytes` behind the first element of a dense array as an index of each axis. */
static bool emit_starts(const np_array *p, int64_t bytes, int64_t *starts) {
  for (uint32_t done = 0;;) {
    int next = -1;
    for (int i = 0; i < p->type.rank; i++)
      if (!(done >> i & 1) && (next < 0 || p->strides[i] > p->strides[next])) next = i;
    if (next < 0) return bytes == 0;
    done |= 1u << next;
    if (p->strides[next] <= 0) return false;
    starts[next] = p->type.dims[next] > 1 ? bytes / p->strides[next] : 0;
    bytes -= starts[next] * p->strides[next];
    if (starts[next] < 0 || starts[next] >= p->type.dims[next]) return false;
  }
}

/* A view by strides that slices and transposes make, too: each of its axes is one of the array's.
 */
static value *emit_strided_view(tracer *t, np_array *p, const emit_look *look, int64_t base) {
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK];
  int64_t perm[LOOM_MAX_RANK];
  uint32_t taken = 0;
  int rank = p->type.rank, used = 0;
  if (emit_is_symbolic(p, look)) return tensor_know_sizes(t, "a view by strides"), NULL;
  if (look->offset < base || !emit_starts(p, look->offset - base, starts)) return NULL;
  for (int i = 0; i < rank; i++)
    sizes[i] = steps[i] = 1;
  for (int j = 0; j < look->type.rank; j++) {
    if (look->type.dims[j] == 1) continue;
    int axis = emit_axis_of(p, taken, look->strides[j]);
    if (axis < 0) return NULL;
    taken |= 1u << axis;
    perm[used++] = axis;
    sizes[axis] = look->type.dims[j];
    steps[axis] = look->strides[j] / p->strides[axis];
    if (starts[axis] + (sizes[axis] - 1) * steps[axis] >= p->type.dims[axis]) return NULL;
  }
  for (int i = 0; i < rank; i++)
    if (!(taken >> i & 1)) perm[used++] = i;
  value *v = np_view_slice(t, p, starts, sizes, steps);
  if (v) v = np_view_transpose(t, np_layout_of(v), perm);
  if (!v) return NULL;
  return np_view_reshape(t, np_layout_of(v), look->type.rank, look->type.dims, look->strides);
}

/* The view that an operation gives; NULL with nothing pending: it is one that has no form here. */
static value *emit_view_value(tracer *t, np_array *p, int64_t base, const emit_look *look,
                              const char *name, PyObject *args) {
  static const char *const slices[] = {"slice", "split",  "split_with_sizes",
                                       "chunk", "narrow", NULL};
  static const char *const places[] = {"select", "unbind", NULL};
  static const char *const turns[] = {"transpose", "t", "permute", NULL};
  static const char *const shapes[] = {"view",    "unsqueeze", "squeeze",        "alias",
                                       "detach",  "flatten",   "_reshape_alias", "unflatten",
                                       "view_as", NULL};
  if (!strcmp(name, "view_as_real") && loom_dtype_is_complex(p->type.dtype))
    return np_view_pairs(t, p);
  if (!strcmp(name, "view_as_complex") && (p->type.dtype == LOOM_F32 || p->type.dtype == LOOM_F64))
    return np_view_complex(t, p);
  if (!strcmp(name, "_conj") && loom_dtype_is_complex(p->type.dtype))
    return np_view_conjugate(t, p);
  if (look->type.dtype != p->type.dtype) return NULL;
  if (emit_is_one_of(name, slices)) {
    PyObject *axis = Py_None;
    int at = !strcmp(name, "slice") || !strcmp(name, "narrow") ? 1 : 2;
    if (PyTuple_GET_SIZE(args) > at) axis = PyTuple_GET_ITEM(args, at);
    PyObject *pair = PyTuple_Pack(2, Py_None, axis);
    value *v = pair ? emit_slice_view(t, p, look, base, pair, false) : NULL;
    Py_XDECREF(pair);
    return v;
  }
  if (emit_is_one_of(name, places)) return emit_slice_view(t, p, look, base, args, true);
  if (emit_is_one_of(name, turns)) return emit_transposed(t, p, name, args);
  if (emit_is_one_of(name, shapes))
    return np_view_reshape(t, p, look->type.rank, look->type.dims, look->strides);
  if (!strcmp(name, "diagonal")) return emit_diagonal(t, p, args);
  if (!strcmp(name, "unfold")) return emit_windows(t, p, look, args);
  if (!strcmp(name, "as_strided")) return emit_strided_view(t, p, look, base);
  if (!strcmp(name, "expand")) return np_view_broadcast(t, p, look->type.rank, look->type.dims);
  return NULL;
}

/* Has the view the sizes and strides that torch says? */
static bool emit_view_agrees(tracer *t, const np_array *a, const emit_look *look, int64_t offset) {
  bool empty = false;
  if (a->type.dtype != look->type.dtype || !np_same_sizes(t, &a->type, &look->type)) return false;
  for (int i = 0; i < a->type.rank; i++)
    empty |= a->type.dims[i] == 0;
  for (int i = 0; i < a->type.rank; i++)
    if (a->type.dims[i] != 0 && a->type.dims[i] != 1 &&
        size_equal(t, a->strides[i], look->strides[i]) <= 0)
      return false;
  return empty || size_equal(t, a->offset, offset) > 0;
}

/* The name of an operation without its overload: "transpose" of aten.transpose.int. */
static bool emit_name(PyObject *function, char *out, size_t size) {
  PyObject *text = PyObject_Str(function);
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  bool aten = words && !strncmp(words, "aten.", 5);
  if (aten) snprintf(out, size, "%.*s", (int)strcspn(words + 5, "."), words + 5);
  Py_XDECREF(text);
  return aten;
}

static bool emit_one_view(tracer *t, const char *name, PyObject *args, value *of, PyObject *meta) {
  emit_look look, base;
  np_array *p = np_layout_of(of);
  PyObject *first = PyTuple_GET_ITEM(args, 0);
  if (tensor_of_meta(t, meta)) return true;
  if (!emit_read(t, meta, &look) || !emit_read(t, first, &base)) return false;
  value *v = emit_view_value(t, p, base.offset, &look, name, args);
  int64_t offset;
  if (trace_pending(t) || !size_minus(t, np_plus(t, p->offset, look.offset), base.offset, &offset))
    return false;
  if (!v || !emit_view_agrees(t, np_layout_of(v), &look, offset)) {
    if (trace_pending(t)) return false;
    trace_break(t, BREAK_TENSOR, "the view %s of a tensor", name);
    return false;
  }
  bool recorded = tensor_is_recorded(meta), of_recorded = tensor_is_recorded(first);
  bool quiet = of_recorded && !recorded, own = recorded && !of_recorded;
  np_layout_of(v)->detached = !strcmp(name, "detach") ? DETACHED
                              : own || (p->detached == WITH_OWN_HISTORY && !quiet)
                                  ? WITH_OWN_HISTORY
                              : quiet || p->detached ? OF_DETACHED
                                                     : ATTACHED;
  /* Strides along axes of one element show, too. */
  memcpy(np_layout_of(v)->strides, look.strides, sizeof look.strides);
  return emit_pair(t, meta, v);
}

static bool emit_view(tracer *t, PyObject *function, PyObject *args, PyObject *results) {
  char name[64];
  PyObject *first = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
  value *of = first ? tensor_of_meta(t, first) : NULL;
  if (!of || !emit_name(function, name, sizeof name)) {
    trace_break(t, BREAK_TENSOR, "a view of a tensor that torch made otherwise");
    return false;
  }
  if (!PyList_Check(results) && !PyTuple_Check(results))
    return emit_one_view(t, name, args, of, results);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(results); i++)
    if (!emit_one_view(t, name, args, of, PySequence_Fast_GET_ITEM(results, i))) return false;
  return true;
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
  emit_look look;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(results, i) : results;
    if (torch_is_tensor(meta) && !emit_read(t, meta, &look)) return false;
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
  if (function == Py_None)
    return results == Py_None ? emit_write(t, args, kwargs) : emit_again(t, args, kwargs);
  if (results == args) return true;
  PyObject *view = PyObject_GetAttrString(function, "is_view");
  bool is_view = view == Py_True;
  error_drop();
  Py_XDECREF(view);
  char name[64];
  if (is_view && emit_name(function, name, sizeof name) && !strcmp(name, "lift_fresh"))
    return emit_constant_tensor(t, PyTuple_GET_ITEM(args, 0));
  return is_view ? emit_view(t, function, args, results)
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
