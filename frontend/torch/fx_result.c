/* The results of an FX graph: outputs of the captured graph with storage of their own, views of
 * these, inputs, sizes.
 *
 * Sizes, strides and offsets are numbers of the graph. Which memory two results share has to be
 * known for all values of the symbols. Otherwise the import fails, and the graph is compiled for
 * each tuple of sizes. */
#include "frontend/base/base.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "graph/emit.h"
#include "loom_ops_control.h"
#include "loom_ops_shapes.h"

#include <string.h>

/* A value of its own for an output: a copy of what is an input or an output already (each tensor
 * that a graph makes has storage of its own), and of a host call's result in another order than the
 * C order in which it writes. */
static loom_value fx_own_value(fx_import *im, loom_value v, const torch_spec *spec,
                               const int64_t *strides) {
  const loom_value_info *info = &im->graph->values[v];
  bool copy = info->node < 0;
  for (uint32_t i = 0; i < im->graph->output_count; i++)
    copy |= im->graph->outputs[i].value == v;
  if (!copy && im->graph->nodes[info->node].op == LOOM_OP_HOST_CALL) {
    int64_t ordered[LOOM_MAX_RANK];
    copy = !loom_contiguous_strides_in(im->graph, &info->type, ordered);
    for (int i = 0; i < spec->rank && !copy; i++)
      copy |= !fx_one(spec->sizes[i]) && strides[i] != ordered[i];
  }
  return copy ? loom_emit1(&im->builder, LOOM_OP_COPY, v) : v;
}

/* A value without its expanded dimensions (stride 0), which become size 1 in `spec`. */
static loom_value fx_unexpanded(fx_import *im, loom_value v, torch_spec *spec, bool *expanded) {
  for (int i = 0; i < spec->rank; i++) {
    if (fx_one(spec->sizes[i]) || spec->strides[i] != 0) continue;
    v = loom_emit_slice(&im->builder, v, i, 0, 1, 1);
    spec->sizes[i] = 1;
    *expanded = true;
  }
  return v;
}

/* Are two elements surely in one place? As torch.empty_strided() makes them. */
static bool fx_shares_places(const torch_spec *spec) {
  int64_t extent = 1;
  bool done[LOOM_MAX_RANK] = {false};
  for (int n = 0; n < spec->rank; n++) {
    int least = -1;
    for (int i = 0; i < spec->rank; i++) {
      if (LOOM_STRIDE_IS_SYM(spec->sizes[i]) || LOOM_STRIDE_IS_SYM(spec->strides[i])) return false;
      if (spec->sizes[i] == 0) return false;
      if (!done[i] && (least < 0 || spec->strides[i] < spec->strides[least])) least = i;
    }
    done[least] = true;
    if (spec->sizes[least] == 1) continue;
    if (spec->strides[least] < extent) return true;
    extent += spec->strides[least] * (spec->sizes[least] - 1);
  }
  return false;
}

static bool fx_too_complicated(void) {
  PyErr_SetString(PyExc_NotImplementedError, "a size is too complicated");
  return false;
}

static bool fx_result_tensor(fx_import *im, const fx_value *v, fx_result *out) {
  int64_t strides[LOOM_MAX_RANK] = {0};
  if (!fx_read_spec(im, v->meta, &out->view)) return false;
  out->spec = out->view;
  loom_value value = fx_unexpanded(im, v->value, &out->spec, &out->expanded);
  if (fx_shares_places(&out->spec)) {
    PyErr_SetString(PyExc_NotImplementedError, "a result whose elements share places");
    return false;
  }
  if (!fx_spec_dense(im, &out->spec, strides)) return fx_too_complicated();
  for (int i = 0; i < out->spec.rank; i++)
    if (out->view.strides[i]) out->view.strides[i] = out->spec.strides[i];
  out->kind = FX_RESULT_OUTPUT;
  out->number = im->graph->output_count;
  if (value != LOOM_NO_VALUE) value = fx_own_value(im, value, &out->spec, strides);
  if (value == LOOM_NO_VALUE) {
    PyErr_SetString(PyExc_NotImplementedError, im->builder.err.message);
    return false;
  }
  return (loom_graph_output(im->graph, value, strides) || (PyErr_NoMemory(), false));
}

/* The number behind the last element of a spec. */
static bool fx_end(fx_import *im, const torch_spec *spec, fx_place *out) {
  bool good = loom_stride_combine(im->graph, LOOM_EXPR_ADD, out->offset, 1, &out->end);
  for (int i = 0; i < spec->rank && good; i++) {
    int64_t last;
    good = loom_stride_minus(im->graph, spec->sizes[i], 1, &last) &&
           loom_stride_combine(im->graph, LOOM_EXPR_MUL, last, spec->strides[i], &last) &&
           loom_stride_combine(im->graph, LOOM_EXPR_ADD, out->end, last, &out->end);
    out->empty |= spec->sizes[i] == 0;
  }
  return good || fx_too_complicated();
}

bool fx_read_place(fx_import *im, PyObject *meta, const torch_spec *spec, fx_place *out) {
  PyObject *storage = PyObject_CallMethod(meta, "untyped_storage", NULL);
  PyObject *offset = storage ? PyObject_CallMethod(meta, "storage_offset", NULL) : NULL;
  PyObject *bytes = offset ? PyObject_CallMethod(storage, "nbytes", NULL) : NULL;
  bool good = bytes && fx_read_number(im, offset, &out->offset);
  out->sized = good && fx_read_number(im, bytes, &out->size) &&
               loom_stride_combine(im->graph, LOOM_EXPR_FLOORDIV, out->size,
                                   (int64_t)loom_dtype_size(spec->dtype), &out->size);
  if (good) error_drop();
  Py_XDECREF(bytes);
  Py_XDECREF(offset);
  Py_XDECREF(storage);
  return good && fx_end(im, spec, out);
}

int fx_share(fx_value *a, fx_value *b) {
  fx_value *both[] = {a, b};
  for (int i = 0; i < 2; i++) {
    if (both[i]->storage) continue;
    PyObject *storage = PyObject_CallMethod(both[i]->meta, "untyped_storage", NULL);
    PyObject *number = storage ? PyObject_GetAttrString(storage, "_cdata") : NULL;
    if (number) both[i]->storage = PyLong_AsUnsignedLongLong(number);
    Py_XDECREF(number);
    Py_XDECREF(storage);
    if (!number || PyErr_Occurred()) return -1;
  }
  return a->storage == b->storage;
}

static bool fx_mark(uint8_t *bits, int64_t size, const torch_spec *spec, int64_t offset) {
  int64_t index[LOOM_MAX_RANK] = {0};
  bool met = false;
  for (;;) {
    int64_t at = offset;
    for (int i = 0; i < spec->rank; i++)
      at += index[i] * spec->strides[i];
    if (at < 0 || at >= size) return true;
    met |= bits[at];
    bits[at] = 1;
    int axis = spec->rank - 1;
    while (axis >= 0 && ++index[axis] == spec->sizes[axis])
      index[axis--] = 0;
    if (axis < 0) return met;
  }
}

#define FX_MAX_STORAGE (1 << 26) /* elements; larger ones are taken to overlap */

/* With known sizes: has an element of the one a place in the other? */
static bool fx_meets(const torch_spec *a, const fx_place *at_a, const torch_spec *b,
                     const fx_place *at_b) {
  int64_t size = at_a->end > at_b->end ? at_a->end : at_b->end;
  uint8_t *bits = size <= FX_MAX_STORAGE ? calloc((size_t)size, 1) : NULL;
  if (!bits) return true;
  fx_mark(bits, size, a, at_a->offset);
  bool met = fx_mark(bits, size, b, at_b->offset);
  free(bits);
  return met;
}

static bool fx_is_known(const torch_spec *spec, const fx_place *place) {
  bool known = !LOOM_STRIDE_IS_SYM(place->offset) && !LOOM_STRIDE_IS_SYM(place->end);
  for (int i = 0; i < spec->rank; i++)
    known &= !LOOM_STRIDE_IS_SYM(spec->sizes[i]) && !LOOM_STRIDE_IS_SYM(spec->strides[i]);
  return known;
}

/* Is a number at least another one, whatever the symbols are? */
static bool fx_at_least(fx_import *im, int64_t a, int64_t b) {
  int64_t difference, low, high;
  if (!loom_stride_minus(im->graph, a, b, &difference)) return false;
  loom_stride_range(im->graph, difference, &low, &high);
  return low >= 0;
}

/* The elements of a spec within lines of `line` elements: [*low, *high), as far as its static
 * inner dimensions go. False when a stride is neither within a line nor a multiple of it. */
static bool fx_line_part(const fx_import *im, const torch_spec *spec, int64_t offset, int64_t line,
                         int64_t *low, int64_t *high) {
  if (LOOM_STRIDE_IS_SYM(offset) || offset < 0) return false;
  *low = offset % line;
  *high = *low + 1;
  for (int i = 0; i < spec->rank; i++) {
    int64_t stride = spec->strides[i], size = spec->sizes[i];
    if (fx_one(size) || loom_stride_divisor(im->graph, stride) % line == 0) continue;
    if (LOOM_STRIDE_IS_SYM(stride) || LOOM_STRIDE_IS_SYM(size) || stride < 0) return false;
    *high += (size - 1) * stride;
  }
  return *high <= line;
}

/* Parts of the same lines that are apart, like q, k and v of one product. The lines are as long as
 * one of the strides. */
static bool fx_parts_differ(const fx_import *im, const torch_spec *a, int64_t offset_a,
                            const torch_spec *b, int64_t offset_b) {
  for (int i = 0; i < a->rank; i++) {
    int64_t line = loom_stride_divisor(im->graph, a->strides[i]), low_a, high_a, low_b, high_b;
    if (line > 1 && fx_line_part(im, a, offset_a, line, &low_a, &high_a) &&
        fx_line_part(im, b, offset_b, line, &low_b, &high_b) &&
        (high_a <= low_b || high_b <= low_a))
      return true;
  }
  return false;
}

/* May an element of the one have a place in the other? */
static bool fx_overlaps(fx_import *im, const torch_spec *a, const fx_place *at_a,
                        const torch_spec *b, const fx_place *at_b) {
  if (at_a->empty || at_b->empty || fx_at_least(im, at_a->offset, at_b->end) ||
      fx_at_least(im, at_b->offset, at_a->end))
    return false;
  if (fx_is_known(a, at_a) && fx_is_known(b, at_b)) return fx_meets(a, at_a, b, at_b);
  return !fx_parts_differ(im, a, at_a->offset, b, at_b->offset);
}

/* Is result `k` the whole of its storage, as it is made? */
static bool fx_is_whole(const fx_result *r, const fx_place *place, const torch_spec *traced) {
  return place->offset == 0 && place->sized && place->end == place->size && !r->expanded &&
         !memcmp(traced->strides, r->spec.strides, sizeof traced->strides);
}

/* Do two tensors differ in this lazy property, "is_conj" or "is_neg"? -1 with an exception. */
static int fx_differs(PyObject *a, PyObject *b, const char *property) {
  PyObject *of_a = PyObject_CallMethod(a, property, NULL);
  PyObject *of_b = of_a ? PyObject_CallMethod(b, property, NULL) : NULL;
  int differs = of_b ? of_a != of_b : -1;
  Py_XDECREF(of_a);
  Py_XDECREF(of_b);
  return differs;
}

/* A result may share storage with another result that has been made already. When one of them is
 * the whole storage, the result is a view of it, as in eager torch. Results that share only some
 * elements are refused. */
static bool fx_find_view(fx_import *im, PyObject *list, Py_ssize_t i, fx_value *v, fx_result *all,
                         const bool *known) {
  fx_result *out = &all[i];
  fx_place place = {0};
  torch_spec spec, traced;
  bool good = fx_read_spec(im, v->meta, &spec) && fx_read_place(im, v->meta, &spec, &place);
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list) && good; k++) {
    if (!known[k] || out->kind == FX_RESULT_VIEW) continue;
    fx_value *other = fx_value_of(im, PySequence_Fast_GET_ITEM(list, k));
    fx_place base = {0};
    if (!other || other->kind != FX_TENSOR || all[k].kind != FX_RESULT_OUTPUT) continue;
    int share = fx_share(v, other);
    good = share >= 0;
    if (share <= 0) continue;
    good = fx_read_spec(im, other->meta, &traced) && fx_read_place(im, other->meta, &traced, &base);
    bool shared =
        good && traced.dtype == spec.dtype && fx_overlaps(im, &traced, &base, &spec, &place);
    bool whole = shared && fx_is_whole(&all[k], &base, &traced);
    if (!shared || all[k].expanded) continue; /* torch refuses to write to what is expanded */
    if (!whole) {
      PyErr_SetString(PyExc_NotImplementedError, "results that share a part of their storage");
      good = false;
    }
    int conjugate = good ? fx_differs(v->meta, other->meta, "is_conj") : -1;
    int negative = conjugate >= 0 ? fx_differs(v->meta, other->meta, "is_neg") : -1;
    good = negative >= 0;
    *out = (fx_result){.kind = FX_RESULT_VIEW,
                       .number = (uint32_t)k,
                       .view = spec,
                       .offset = place.offset,
                       .conjugate = conjugate > 0,
                       .negative = negative > 0};
  }
  return good;
}

/* Is an argument of a node, behind the first, a symbolic size, or a list with one? */
static bool fx_takes_sizes(fx_import *im, PyObject *args) {
  for (Py_ssize_t i = 1; i < PyTuple_GET_SIZE(args); i++) {
    PyObject *arg = PyTuple_GET_ITEM(args, i);
    bool many = PySequence_Check(arg) && !PyUnicode_Check(arg);
    PyObject *list = many ? PySequence_Fast(arg, "sizes") : PyTuple_Pack(1, arg);
    bool found = false;
    for (Py_ssize_t k = 0; list && k < PySequence_Fast_GET_SIZE(list); k++) {
      const fx_value *v = fx_value_of(im, PySequence_Fast_GET_ITEM(list, k));
      found |= v && v->kind == FX_SIZE;
    }
    Py_XDECREF(list);
    if (found) return true;
  }
  error_drop();
  return false;
}

/* Does a place lie within another one, whatever the symbols are? */
static bool fx_within(fx_import *im, const fx_place *inner, const fx_place *outer) {
  return fx_at_least(im, inner->offset, outer->offset) && fx_at_least(im, outer->end, inner->end);
}

/* Makes a result a view of this input, with which it shares a storage: `surely`, only where it lies
 * within the input for all values of the symbols. */
static bool fx_is_part(fx_import *im, const fx_value *v, const torch_spec *spec,
                       const fx_place *place, const fx_value *input, bool surely, fx_result *out) {
  torch_spec given;
  fx_place base = {0};
  if (!fx_read_spec(im, input->meta, &given) || !fx_read_place(im, input->meta, &given, &base))
    return false;
  bool part = given.dtype == spec->dtype && (!surely || fx_within(im, place, &base));
  int64_t offset;
  if (!part || !loom_stride_minus(im->graph, place->offset, base.offset, &offset)) return true;
  int conjugate = fx_differs(v->meta, input->meta, "is_conj");
  int negative = conjugate >= 0 ? fx_differs(v->meta, input->meta, "is_neg") : -1;
  *out = (fx_result){.kind = FX_RESULT_PART,
                     .number = (uint32_t)input->placeholder,
                     .view = *spec,
                     .offset = offset,
                     .conjugate = conjugate > 0,
                     .negative = negative > 0};
  return negative >= 0;
}

/* Has another result an element of this one's? True also when that is not known. */
static bool fx_is_shared(fx_import *im, PyObject *list, Py_ssize_t i, fx_value *v,
                         const torch_spec *spec, const fx_place *place) {
  bool shared = false;
  for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list) && !shared; k++) {
    fx_value *other = k == i ? NULL : fx_value_of(im, PySequence_Fast_GET_ITEM(list, k));
    torch_spec there;
    fx_place at = {0};
    if (!other || other->kind != FX_TENSOR || fx_share(v, other) == 0) continue;
    shared = !fx_read_spec(im, other->meta, &there) ||
             !fx_read_place(im, other->meta, &there, &at) || there.dtype != spec->dtype ||
             fx_overlaps(im, spec, place, &there, &at);
  }
  error_drop();
  return shared;
}

/* A result that looks at an input's memory is a view of that, as in eager torch: AOTAutograd hands
 * such results on as they are where several come of one split. Of several inputs in one storage the
 * one that holds it is taken, or any where sizes leave that open. A gradient is a view of the
 * result's gradient only, as the parts of a concatenation's are, and where no other gradient has
 * its elements: torch adds to gradients in place. */
static bool fx_find_input(fx_import *im, PyObject *list, Py_ssize_t i, fx_value *v,
                          fx_result *out) {
  fx_place place = {0};
  torch_spec spec;
  bool gradient = i >= im->visible;
  if (gradient && im->visible > 0) return true; /* kept for the backward */
  bool good = fx_read_spec(im, v->meta, &spec) && fx_read_place(im, v->meta, &spec, &place);
  if (gradient && good && (fx_shares_places(&spec) || fx_is_shared(im, list, i, v, &spec, &place)))
    return true;
  for (int surely = 1; surely >= gradient; surely--)
    for (uint32_t k = 0; k < im->value_count && good && out->kind != FX_RESULT_PART; k++) {
      fx_value *input = &im->values[k];
      if (input->kind != FX_TENSOR || input->placeholder < 0) continue;
      if (gradient && !input->tangent) continue;
      int share = fx_share(v, input);
      good = share >= 0;
      if (share > 0) good = fx_is_part(im, v, &spec, &place, input, surely, out);
    }
  return good;
}

bool fx_part_of(fx_import *im, fx_value *v, fx_value *input, torch_spec *view, int64_t *offset) {
  fx_result part = {.kind = FX_RESULT_OUTPUT};
  fx_place place = {0};
  bool found = (!im->symbols || !im->symbols->count) && fx_share(v, input) > 0 &&
               fx_read_spec(im, v->meta, view) && fx_read_place(im, v->meta, view, &place) &&
               fx_is_part(im, v, view, &place, input, true, &part) && part.kind == FX_RESULT_PART &&
               !part.conjugate && !part.negative;
  error_drop();
  *offset = part.offset;
  return found;
}

/* Does a node, or what it is made of first, look at a tensor by symbolic sizes? */
static bool fx_views_by_sizes(fx_import *im, PyObject *node) {
  bool found = false;
  Py_INCREF(node);
  for (int steps = 0; node && steps < 64 && !found; steps++) {
    const fx_value *v = fx_value_of(im, node);
    if (!v || (v->kind == FX_TENSOR && v->placeholder >= 0)) break;
    PyObject *args = PyObject_GetAttrString(node, "args");
    bool some = args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0;
    found = some && fx_takes_sizes(im, args);
    Py_SETREF(node, some ? Py_NewRef(PyTuple_GET_ITEM(args, 0)) : NULL);
    Py_XDECREF(args);
  }
  error_drop();
  Py_XDECREF(node);
  return found;
}

/* What aliases an argument or a base torch makes again: by the same steps, or, where these take
 * symbolic sizes, with as_strided(), of whatever strides and offset our result has. They have to be
 * the traced ones then, and a view with gaps is none of ours. */
static bool fx_is_as_traced(fx_import *im, PyObject *node, const fx_value *v,
                            const fx_result *out) {
  torch_spec traced;
  fx_place place = {0};
  if (!im->symbols || !im->symbols->count || out->kind != FX_RESULT_OUTPUT) return true;
  if (!fx_read_spec(im, v->meta, &traced) || !fx_read_place(im, v->meta, &traced, &place))
    return false;
  bool same = place.offset == 0;
  for (int i = 0; i < traced.rank; i++)
    same &= fx_one(traced.sizes[i]) || traced.strides[i] == out->view.strides[i];
  same = same || !fx_views_by_sizes(im, node);
  if (!same) PyErr_SetString(PyExc_NotImplementedError, "a view of symbolic sizes as a result");
  return same;
}

/* Does a value lie in an input's memory? True also when that is not known. */
static bool fx_is_of_input(fx_import *im, fx_value *v) {
  torch_spec spec;
  fx_place place = {0};
  bool good = fx_read_spec(im, v->meta, &spec) && fx_read_place(im, v->meta, &spec, &place);
  bool found = !good;
  for (uint32_t k = 0; k < im->value_count && !found; k++) {
    fx_value *input = &im->values[k];
    found = input->kind == FX_TENSOR && input->placeholder >= 0 && fx_share(v, input) != 0;
  }
  error_drop();
  return found;
}

/* Is a result handed on as it is? Nobody makes it again of what it aliases in torch. Parts of an
 * input are handed on, too, but are views of it in eager torch. */
static bool fx_is_own(fx_import *im, Py_ssize_t i, fx_value *v) {
  PyObject *number = im->own ? PyLong_FromSsize_t(i) : NULL;
  bool own = number && PySet_Contains(im->own, number) > 0;
  Py_XDECREF(number);
  return own && !fx_is_of_input(im, v);
}

/* A result on the CPU of a graph of a device is copied there. */
static bool fx_result_host(const fx_import *im, const fx_value *v, fx_result *out) {
  bool host = im->place != TORCH_CPU && fx_is_on_host(v->meta);
  bool token = out->spec.rank == 1 && out->spec.sizes[0] == 0;
  out->host = out->kind == FX_RESULT_OUTPUT && host && !token;
  if (!host || out->kind == FX_RESULT_VIEW || (out->kind == FX_RESULT_OUTPUT && !out->expanded))
    return true;
  PyErr_SetString(PyExc_NotImplementedError, "a view on the CPU of a graph on a device");
  return false;
}

/* One node is one tensor, however often it is returned. `known[i]`: result i has been made already.
 */
static bool fx_result_of(fx_import *im, PyObject *list, Py_ssize_t i, fx_result *all,
                         const bool *known) {
  PyObject *item = PySequence_Fast_GET_ITEM(list, i);
  fx_value *v = fx_value_of(im, item);
  fx_result *out = &all[i];
  if (v && v->kind == FX_TENSOR) {
    for (Py_ssize_t k = 0; k < PySequence_Fast_GET_SIZE(list); k++)
      if (known[k] && PySequence_Fast_GET_ITEM(list, k) == item) return *out = all[k], true;
    if (v->placeholder < 0)
      return fx_find_input(im, list, i, v, out) &&
             (i >= im->visible || out->kind == FX_RESULT_PART ||
              fx_find_view(im, list, i, v, all, known)) &&
             (out->kind != FX_RESULT_OUTPUT || fx_result_tensor(im, v, out)) &&
             fx_result_host(im, v, out) &&
             (i >= im->visible || fx_is_own(im, i, v) || fx_is_as_traced(im, item, v, out));
    *out = (fx_result){.kind = FX_RESULT_INPUT, .number = (uint32_t)v->placeholder};
    return true;
  }
  if (v && (v->kind == FX_NOTHING || v->kind == FX_MANY || v->kind == FX_REAL)) {
    PyErr_SetString(PyExc_NotImplementedError, "a result that is no tensor, int or object");
    return false;
  }
  if (v && v->kind == FX_SIZE) return out->kind = FX_RESULT_SIZE, out->size = v->number, true;
  out->kind = FX_RESULT_OBJECT;
  out->object = Py_NewRef(v && v->kind == FX_OBJECT ? v->object : item);
  return true;
}

/* Is a result no part of its storage? Those come first: others may be views of them, also of ones
 * behind them in the list. */
static bool fx_comes_first(fx_import *im, PyObject *item) {
  const fx_value *v = fx_value_of(im, item);
  torch_spec spec;
  fx_place place = {0};
  if (!v || v->kind != FX_TENSOR || v->placeholder >= 0) return true;
  bool whole = fx_read_spec(im, v->meta, &spec) && fx_read_place(im, v->meta, &spec, &place) &&
               place.offset == 0 && place.sized && place.end == place.size;
  error_drop(); /* it comes back where the result is made */
  return whole;
}

static bool fx_results(fx_import *im, PyObject *list, Py_ssize_t n, fx_result *all) {
  bool *known = calloc((size_t)n + 1, sizeof *known), good = known != NULL;
  for (int pass = 0; pass < 2; pass++)
    for (Py_ssize_t i = 0; i < n && good; i++) {
      if (known[i] || (pass == 0 && !fx_comes_first(im, PySequence_Fast_GET_ITEM(list, i))))
        continue;
      good = fx_result_of(im, list, i, all, known);
      known[i] = true;
    }
  free(known);
  return good;
}

bool fx_output(fx_import *im, PyObject *node, fx_result **results, uint32_t *count) {
  PyObject *args = PyObject_GetAttrString(node, "args");
  PyObject *given = args ? PyTuple_GET_ITEM(args, 0) : NULL;
  bool many = given && (PyList_Check(given) || PyTuple_Check(given));
  PyObject *list = !given ? NULL : many ? Py_NewRef(given) : PyTuple_Pack(1, given);
  Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(list) : 0;
  fx_result *all = calloc((size_t)n + 1, sizeof *all);
  bool good = list && all && fx_results(im, list, n, all);
  *results = all;
  *count = (uint32_t)n;
  Py_XDECREF(list);
  Py_XDECREF(args);
  return good;
}
