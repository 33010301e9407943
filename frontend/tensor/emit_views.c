/* Views that torch makes of tensors, as views of the values' memory. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/size/size.h"
#include "frontend/tensor/emit_internal.h"
#include "frontend/tensor/internal.h"
#include "frontend/values/objects.h"

#include <stdlib.h>
#include <string.h>

static bool views_int(PyObject *args, Py_ssize_t i, int64_t *out) {
  if (i >= PyTuple_GET_SIZE(args) || !PyLong_Check(PyTuple_GET_ITEM(args, i))) return false;
  *out = PyLong_AsLongLong(PyTuple_GET_ITEM(args, i));
  return !PyErr_Occurred() || (error_drop(), false);
}

/* One place, or evenly spaced ones, along an axis. `dropped`: the result is without the axis. */
static value *views_slice_view(tracer *t, np_array *p, const tensor_look *look, int64_t base,
                               PyObject *args, bool dropped) {
  int64_t axis = 0, starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK];
  views_int(args, 1, &axis);
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

static value *views_transposed(tracer *t, np_array *p, const char *name, PyObject *args) {
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
  else if (!views_int(args, 1, &a) || !views_int(args, 2, &b))
    return NULL;
  a += a < 0 ? rank : 0;
  b += b < 0 ? rank : 0;
  if (rank < 2) return np_view_same(t, p);
  perm[a] = b;
  perm[b] = a;
  return np_view_transpose(t, p, perm);
}

/* diagonal(x, offset, dim1, dim2) */
static value *views_diagonal(tracer *t, np_array *p, PyObject *args) {
  int64_t offset = 0, axes[2] = {0, 1};
  views_int(args, 1, &offset);
  for (int i = 0; i < 2; i++) {
    views_int(args, 2 + i, &axes[i]);
    axes[i] += axes[i] < 0 ? p->type.rank : 0;
  }
  return np_view_diagonals(t, p, offset, (int)axes[0], (int)axes[1]);
}

/* unfold(x, dim, size, step): each step-th window. */
static value *views_windows(tracer *t, np_array *p, const tensor_look *look, PyObject *args) {
  int64_t axis = 0, width = 0, step = 0, starts[LOOM_MAX_RANK] = {0}, sizes[LOOM_MAX_RANK],
          steps[LOOM_MAX_RANK];
  if (!views_int(args, 1, &axis) || !views_int(args, 2, &width) || !views_int(args, 3, &step))
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

static bool views_is_one_of(const char *name, const char *const *names) {
  for (; *names; names++)
    if (!strcmp(*names, name)) return true;
  return false;
}

static bool views_is_symbolic(const np_array *p, const tensor_look *look) {
  bool symbolic = np_is_symbolic(p) || LOOM_STRIDE_IS_SYM(look->offset);
  for (int i = 0; i < look->type.rank; i++)
    symbolic |= LOOM_DIM_IS_SYM(look->type.dims[i]) || LOOM_STRIDE_IS_SYM(look->strides[i]);
  return symbolic;
}

/* The axis of `p` along which a step of `stride` bytes is, that no other one has taken; -1: none.
 */
static int views_axis_of(const np_array *p, uint32_t taken, int64_t stride) {
  int found = -1;
  for (int i = 0; i < p->type.rank; i++) {
    bool fits = !(taken >> i & 1) && p->type.dims[i] > 1 && p->strides[i] > 0 &&
                p->strides[i] <= stride && stride % p->strides[i] == 0;
    if (fits && (found < 0 || p->strides[i] > p->strides[found])) found = i;
  }
  return found;
}

/* `bytes` behind the first element of a dense array as an index of each axis. */
static bool views_starts(const np_array *p, int64_t bytes, int64_t *starts) {
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

/* The axes of a view that have several elements, from the one of the longest stride on: their
 * count, or -1 where strides are 0 or sizes are. */
static int views_by_stride(const tensor_look *look, int *axes) {
  int count = 0;
  for (int i = 0; i < look->type.rank; i++) {
    if (look->type.dims[i] == 1) continue;
    if (look->type.dims[i] <= 0 || look->strides[i] <= 0) return -1;
    int at = count++;
    for (; at > 0 && look->strides[axes[at - 1]] < look->strides[i]; at--)
      axes[at] = axes[at - 1];
    axes[at] = i;
  }
  return count;
}

/* Divides the last axis of a view in C order: `count` rows of `stride` elements, from one on. */
static value *views_divided(tracer *t, np_array *a, int64_t start, int64_t count, int64_t stride) {
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK + 1];
  int64_t strides[LOOM_MAX_RANK + 1];
  int last = a->type.rank - 1;
  if (last + 1 >= LOOM_MAX_RANK || start < 0 || start + count * stride > a->type.dims[last])
    return NULL;
  for (int i = 0; i <= last; i++) {
    sizes[i] = a->type.dims[i];
    steps[i] = 1;
  }
  starts[last] = start;
  sizes[last] = count * stride;
  value *v = np_view_slice(t, a, starts, sizes, steps);
  if (!v) return NULL;
  memcpy(strides, np_layout_of(v)->strides, sizeof *strides * (size_t)(last + 1));
  strides[last + 1] = strides[last];
  strides[last] *= stride;
  sizes[last] = count;
  sizes[last + 1] = stride;
  return np_view_reshape(t, np_layout_of(v), last + 2, sizes, strides);
}

/* Every `step`-th element of the last axis. */
static value *views_stepped(tracer *t, np_array *a, int64_t start, int64_t count, int64_t step) {
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK];
  int last = a->type.rank - 1;
  if (start + (count - 1) * step >= a->type.dims[last]) return NULL;
  for (int i = 0; i <= last; i++) {
    sizes[i] = a->type.dims[i];
    steps[i] = 1;
  }
  starts[last] = start;
  sizes[last] = count;
  steps[last] = step;
  return np_view_slice(t, a, starts, sizes, steps);
}

/* A view by strides whose axes lie within each other, of an array in C order: the elements in one
 * row are divided into rows, and these again. */
static value *views_nested_view(tracer *t, np_array *p, const tensor_look *look, int64_t base) {
  int64_t size = (int64_t)loom_dtype_size(p->type.dtype), all = 1, perm[LOOM_MAX_RANK];
  int64_t start = (look->offset - base) / size;
  int axes[LOOM_MAX_RANK], count = views_by_stride(look, axes);
  if (count < 1 || start < 0) return NULL;
  for (int i = p->type.rank - 1; i >= 0; i--) {
    if (p->type.dims[i] != 1 && p->strides[i] != all * size) return NULL;
    all *= p->type.dims[i];
  }
  value *v = np_view_reshape(t, p, 1, &all, &size);
  for (int i = 0; v && i < count; i++) {
    int64_t stride = look->strides[axes[i]] / size, most = look->type.dims[axes[i]];
    const np_array *a = np_layout_of(v);
    int64_t over = start + most * stride - a->type.dims[a->type.rank - 1];
    int64_t rest = i + 1 < count && over > 0 ? over : 0; /* of the begin, for the rows themselves */
    v = i + 1 < count ? views_divided(t, np_layout_of(v), start - rest, most, stride)
                      : views_stepped(t, np_layout_of(v), start, most, stride);
    start = rest;
    perm[axes[i]] = i;
  }
  if (!v) return NULL;
  for (int i = 0, k = 0; i < look->type.rank; i++) /* without the axes of one element */
    if (look->type.dims[i] != 1) perm[k++] = perm[i];
  v = np_view_transpose(t, np_layout_of(v), perm);
  if (!v) return NULL;
  return np_view_reshape(t, np_layout_of(v), look->type.rank, look->type.dims, look->strides);
}

/* A view by strides that slices and transposes make, too: each of its axes is one of the array's.
 */
static value *views_strided_view(tracer *t, np_array *p, const tensor_look *look, int64_t base) {
  int64_t starts[LOOM_MAX_RANK] = {0}, steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK];
  int64_t perm[LOOM_MAX_RANK];
  uint32_t taken = 0;
  int rank = p->type.rank, used = 0;
  if (views_is_symbolic(p, look)) return tensor_know_sizes(t, "a view by strides"), NULL;
  if (look->offset < base || !views_starts(p, look->offset - base, starts)) return NULL;
  for (int i = 0; i < rank; i++)
    sizes[i] = steps[i] = 1;
  for (int j = 0; j < look->type.rank; j++) {
    if (look->type.dims[j] == 1) continue;
    int axis = views_axis_of(p, taken, look->strides[j]);
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

/* Does as_strided() say where in the memory the view begins? Of a tensor from before the call
 * nobody knows where that itself begins, and guards do not compare it. */
static bool views_begins_elsewhere(const np_array *p, PyObject *args) {
  bool given = PyTuple_GET_SIZE(args) > 3 && PyTuple_GET_ITEM(args, 3) != Py_None;
  return given && p->storage->source;
}

value *tensor_view(tracer *t, np_array *p, int64_t base, const tensor_look *look, const char *name,
                   PyObject *args) {
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
  if (views_is_one_of(name, slices)) {
    PyObject *axis = Py_None;
    int at = !strcmp(name, "slice") || !strcmp(name, "narrow") ? 1 : 2;
    if (PyTuple_GET_SIZE(args) > at) axis = PyTuple_GET_ITEM(args, at);
    PyObject *pair = PyTuple_Pack(2, Py_None, axis);
    value *v = pair ? views_slice_view(t, p, look, base, pair, false) : NULL;
    Py_XDECREF(pair);
    return v;
  }
  if (views_is_one_of(name, places)) return views_slice_view(t, p, look, base, args, true);
  if (views_is_one_of(name, turns)) return views_transposed(t, p, name, args);
  if (views_is_one_of(name, shapes))
    return np_view_reshape(t, p, look->type.rank, look->type.dims, look->strides);
  if (!strcmp(name, "diagonal")) return views_diagonal(t, p, args);
  if (!strcmp(name, "unfold")) return views_windows(t, p, look, args);
  if (!strcmp(name, "as_strided") && !views_begins_elsewhere(p, args)) {
    value *v = views_strided_view(t, p, look, base);
    return v || trace_pending(t) ? v : views_nested_view(t, p, look, base);
  }
  if (!strcmp(name, "expand")) return np_view_broadcast(t, p, look->type.rank, look->type.dims);
  return NULL;
}

bool tensor_view_agrees(tracer *t, const np_array *a, const tensor_look *look, int64_t offset) {
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

bool tensor_operation_name(PyObject *function, char *out, size_t size) {
  PyObject *text = PyObject_Str(function);
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  bool aten = words && !strncmp(words, "aten.", 5);
  if (aten) snprintf(out, size, "%.*s", (int)strcspn(words + 5, "."), words + 5);
  Py_XDECREF(text);
  return aten;
}

/* Does autograd know a tensor as a view? It does not know parts that torch calls unsafe, for one.
 */
static bool views_is_known(PyObject *meta) {
  PyObject *answer = PyObject_CallMethod(meta, "_is_view", NULL);
  bool known = answer == Py_True;
  if (!answer) error_drop();
  Py_XDECREF(answer);
  return known;
}

static bool views_one(tracer *t, const char *name, PyObject *args, value *of, PyObject *meta) {
  tensor_look look, base;
  np_array *p = np_layout_of(of);
  PyObject *first = PyTuple_GET_ITEM(args, 0);
  if (tensor_of_meta(t, meta)) return true;
  if (!tensor_look_at(t, meta, &look) || !tensor_look_at(t, first, &base)) return false;
  value *v = tensor_view(t, p, base.offset, &look, name, args);
  int64_t offset;
  if (trace_pending(t) || !size_minus(t, np_plus(t, p->offset, look.offset), base.offset, &offset))
    return false;
  if (!v || !tensor_view_agrees(t, np_layout_of(v), &look, offset)) {
    if (trace_pending(t)) return false;
    trace_break(t, BREAK_TENSOR, "the view %s of a tensor", name);
    return false;
  }
  bool recorded = tensor_is_recorded(meta), of_recorded = tensor_is_recorded(first);
  bool quiet = of_recorded && !recorded, own = recorded && (!of_recorded || !views_is_known(meta));
  np_layout_of(v)->detached = !strcmp(name, "detach") ? DETACHED
                              : own || (p->detached == WITH_OWN_HISTORY && !quiet)
                                  ? WITH_OWN_HISTORY
                              : quiet || p->detached ? OF_DETACHED
                                                     : ATTACHED;
  /* Strides along axes of one element show, too. */
  memcpy(np_layout_of(v)->strides, look.strides, sizeof look.strides);
  return tensor_stands_for(t, meta, v);
}

bool tensor_emit_view(tracer *t, PyObject *function, PyObject *args, PyObject *results) {
  char name[64];
  PyObject *first = PyTuple_GET_SIZE(args) ? PyTuple_GET_ITEM(args, 0) : NULL;
  value *of = first ? tensor_of_meta(t, first) : NULL;
  if (!of || !tensor_operation_name(function, name, sizeof name)) {
    trace_break(t, BREAK_TENSOR, "a view of a tensor that torch made otherwise");
    return false;
  }
  if (!PyList_Check(results) && !PyTuple_Check(results))
    return views_one(t, name, args, of, results);
  for (Py_ssize_t i = 0; i < PySequence_Fast_GET_SIZE(results); i++)
    if (!views_one(t, name, args, of, PySequence_Fast_GET_ITEM(results, i))) return false;
  return true;
}
