/* Live tensors: what guards compare, and what runs read, make and write. A run may also have NumPy
 * arrays: the type of each object tells which library it belongs to. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/tensor/draws_internal.h"
#include "frontend/tensor/internal.h"
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

static struct {
  PyObject *generators, *begin, *end, *put_back; /* of _tensor_draws.py */
} live_python;

static bool live_init(void) {
  static const tensor_name names[] = {{"generators", &live_python.generators},
                                      {"begin", &live_python.begin},
                                      {"end", &live_python.end},
                                      {"put_back", &live_python.put_back}};
  return tensor_import("frameloom._tensor_draws", names, sizeof names / sizeof *names);
}

bool tensor_ready(void) {
  static bool ready, refused;
  if (ready || refused) return ready;
  PyObject *torch = PyDict_GetItemString(PyImport_GetModuleDict(), "torch");
  if (!torch || !PyObject_HasAttrString(torch, "compile")) return false; /* not (yet) imported */
  ready = torch_init() && live_init() && torch_modes_init() && tensor_call_init() &&
          tensor_batched_init() && tensor_models_init() && tensor_sizes_init() &&
          tensor_gradient_init() && tensor_backward_init() && tensor_functions_init() &&
          tensor_made_init() && tensor_results_init() && tensor_exchange_init() &&
          tensor_watched_init() && tensor_draws_init() && tensor_late_init() &&
          tensor_placed_init() && tensor_numbers_init();
  refused = !ready;
  error_drop();
  return ready;
}

bool tensor_import(const char *name, const tensor_name *names, size_t count) {
  PyObject *module = PyImport_ImportModule(name);
  bool good = module != NULL;
  for (size_t i = 0; good && i < count; i++)
    good = (*names[i].object = PyObject_GetAttrString(module, names[i].name)) != NULL;
  Py_XDECREF(module);
  return good;
}

bool tensor_describe(PyObject *object, numpy_array_payload *out) {
  torch_view view;
  memset(out, 0, sizeof *out);
  if (!torch_look(object, &view) || view.rank > LOOM_MAX_RANK ||
      !torch_dtype(view.dtype, &out->dtype))
    return false;
  int64_t size = (int64_t)loom_dtype_size(out->dtype);
  out->typenum = view.dtype;
  out->nd = (int)view.rank;
  out->flags = NUMPY_ALIGNED | NUMPY_WRITEABLE | NUMPY_TENSOR;
  if (view.inference) out->flags |= NUMPY_INFERENCE;
  if ((uintptr_t)view.data % (uintptr_t)size) return false;
  for (int i = 0; i < out->nd; i++) {
    out->dims[i] = view.sizes[i];
    if (__builtin_mul_overflow(view.strides[i], size, &out->strides[i])) return false;
  }
  return true;
}

/* ---- guards ---------------------------------------------------------------------------------- */

static bool live_guard(PyObject *object, const void *payload) {
  const numpy_array_payload *p = payload;
  torch_view view;
  if (!torch_look(object, &view) || view.dtype != p->typenum || view.rank != p->nd) return false;
  if (view.inference != ((p->flags & NUMPY_INFERENCE) != 0)) return false;
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  for (int i = 0; i < p->nd; i++) /* symbolic ones have guards of their own */
    if ((view.sizes[i] != p->dims[i] && !LOOM_DIM_IS_SYM(p->dims[i])) ||
        (view.strides[i] * size != p->strides[i] && !LOOM_STRIDE_IS_SYM(p->strides[i])))
      return false;
  return !((uintptr_t)view.data % (uintptr_t)size);
}

static bool live_guard_custom(const void *payload, PyObject *object) {
  const tensor_guard *wanted = payload;
  torch_modes now;
  if (wanted->of_tensor)
    return torch_is_exact(object) && torch_requires_grad(object) == wanted->requires;
  torch_modes_read(&now);
  return torch_modes_equal(&wanted->modes, &now);
}

static PyObject *live_custom_words(const void *payload) {
  const tensor_guard *wanted = payload;
  if (wanted->of_tensor)
    return PyUnicode_FromFormat("requires %s gradient", wanted->requires ? "a" : "no");
  return PyUnicode_FromFormat("has no mode of torch's active but autocast %s, inference mode %s, "
                              "and records %sgradients",
                              wanted->modes.casts ? "on" : "off",
                              wanted->modes.inference ? "on" : "off",
                              wanted->modes.records ? "" : "no ");
}

static bool live_differs(const void *payload, PyObject *object) { return false; }

static bool live_sizes_differ(PyObject *object, const void *payload, uint32_t *sizes,
                              uint32_t *strides) {
  numpy_array_payload now;
  const numpy_array_payload *p = payload;
  *sizes = *strides = 0;
  if (!torch_is_exact(object) || !tensor_describe(object, &now) || now.typenum != p->typenum ||
      now.nd != p->nd || ((now.flags ^ p->flags) & NUMPY_INFERENCE))
    return false;
  numpy_sizes_differ(&now, p, sizes, strides);
  return true;
}

static bool live_size(PyObject *object, size_field field, int axis, int64_t *out) {
  torch_view view;
  if (!torch_is_exact(object) || !torch_look(object, &view) || axis >= view.rank) return false;
  *out = field == SIZE_OF_DIM ? view.sizes[axis] : view.strides[axis];
  return true;
}

static Py_hash_t live_fingerprint(PyObject *object) {
  numpy_array_payload p;
  if (!tensor_ready() || !torch_is_exact(object)) return 0;
  if (!tensor_describe(object, &p)) return 1;
  uint64_t h = (uint64_t)p.typenum * 131u + (uint64_t)p.nd;
  for (int i = 0; i < p.nd; i++) {
    h = (h ^ (uint64_t)p.dims[i]) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)p.strides[i]) * 0x9e3779b97f4a7c15u;
  }
  return (Py_hash_t)(h | 1);
}

static PyObject *live_words(PyObject *object) {
  numpy_array_payload p;
  if (!tensor_ready() || !tensor_describe(object, &p)) return NULL;
  PyObject *name = PyUnicode_FromString("a tensor");
  PyObject *text = name ? numpy_array_words(name, &p) : NULL;
  Py_XDECREF(name);
  return text;
}

/* The bytes that a tensor may touch; strides are never negative. */
static bool live_extent(PyObject *object, const char **low, const char **high) {
  numpy_array_payload p;
  torch_view view;
  if (!tensor_describe(object, &p) || !torch_look(object, &view)) return false;
  *low = *high = view.data;
  for (int i = 0; i < p.nd; i++)
    if (!p.dims[i]) return true;
  for (int i = 0; i < p.nd; i++)
    *high += (p.dims[i] - 1) * p.strides[i];
  *high += loom_dtype_size(p.dtype);
  return true;
}

/* ---- runs ------------------------------------------------------------------------------------ */

static void *live_data(PyObject *object) {
  torch_view view;
  if (!torch_is_exact(object)) return numpy_array_data(object);
  return torch_look(object, &view) ? view.data : NULL;
}

/* For the sizes of this call; the offset in elements. False with an exception. */
static bool live_spec(const numpy_array_payload *p, const loom_graph *graph, const int64_t *symbols,
                      torch_spec *out, int64_t *offset) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  numpy_array_payload now;
  *out = (torch_spec){.dtype = p->dtype, .rank = p->nd};
  p = numpy_array_resolve(p, graph, symbols, &now);
  if (!p && !PyErr_Occurred()) PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
  if (!p) return false;
  for (int i = 0; i < p->nd; i++) {
    out->sizes[i] = p->dims[i];
    out->strides[i] = p->strides[i] / size;
  }
  *offset = p->offset / size;
  return true;
}

static PyObject *live_new_output(const void *payload, const loom_graph *graph,
                                 const int64_t *symbols, void **data) {
  const numpy_array_payload *p = payload;
  torch_spec spec;
  int64_t offset;
  if (!(p->flags & NUMPY_TENSOR)) return numpy_array_new_output(payload, graph, symbols, data);
  return live_spec(p, graph, symbols, &spec, &offset) ? torch_empty(&spec, data) : NULL;
}

static PyObject *live_torch_call(const char *function, PyObject *tensor) {
  PyObject *torch = tensor ? PyDict_GetItemString(PyImport_GetModuleDict(), "torch") : NULL;
  PyObject *made = torch ? PyObject_CallMethod(torch, function, "O", tensor) : NULL;
  Py_XDECREF(tensor);
  return made;
}

/* The elements of `base` as `spec` says, from `further` elements of its dtype on. A view of real
 * numbers over complex ones, or the other way, is one of their pairs. */
static PyObject *live_strided(PyObject *base, const torch_spec *spec, int64_t further) {
  torch_view view;
  loom_dtype dtype;
  int64_t offset;
  if (!torch_look(base, &view) || !torch_dtype(view.dtype, &dtype)) return NULL;
  bool to_complex = loom_dtype_is_complex(spec->dtype) && !loom_dtype_is_complex(dtype);
  bool to_real = !loom_dtype_is_complex(spec->dtype) && loom_dtype_is_complex(dtype);
  int64_t sizes[LOOM_MAX_RANK + 1], strides[LOOM_MAX_RANK + 1];
  int rank = spec->rank;
  for (int i = 0; i < rank; i++) {
    sizes[i] = spec->sizes[i];
    strides[i] = spec->strides[i] * (to_complex ? 2 : 1);
  }
  if (to_complex) {
    sizes[rank] = 2;
    strides[rank++] = 1;
    further *= 2;
  }
  PyObject *from = to_real ? live_torch_call("view_as_real", Py_NewRef(base)) : Py_NewRef(base);
  PyObject *given[2] = {tuple_of_numbers(sizes, rank), tuple_of_numbers(strides, rank)};
  PyObject *made = NULL;
  if (from && given[0] && given[1] && torch_offset(from, &offset))
    made = PyObject_CallMethod(from, "as_strided", "OOL", given[0], given[1],
                               (long long)(offset + further));
  Py_XDECREF(given[1]);
  Py_XDECREF(given[0]);
  Py_XDECREF(from);
  return to_complex ? live_torch_call("view_as_complex", made) : made;
}

/* A tensor over `array`, to which this takes the reference. */
static PyObject *live_over_array(PyObject *array, const numpy_array_payload *p) {
  PyObject *made = live_torch_call("from_numpy", array);
  if (made && p->flags & NUMPY_VIEWED)
    Py_SETREF(made, PyObject_CallMethod(made, "view_as", "O", made));
  return made;
}

/* The same tensor without its history, and, as t.data, with a count of writes of its own. */
static PyObject *live_apart(PyObject *tensor, const numpy_array_payload *p) {
  if (p->flags & NUMPY_UNCOUNTED) return PyObject_GetAttrString(tensor, "data");
  return PyObject_CallMethod(tensor, "detach", NULL);
}

/* By torch's own functions, so that autograd knows it as a view. The base and the view may be of
 * two libraries. */
static PyObject *live_view(PyObject *base, const void *payload, const loom_graph *graph,
                           const int64_t *symbols) {
  const numpy_array_payload *p = payload;
  torch_spec spec;
  int64_t further;
  if (!torch_is_exact(base)) {
    PyObject *array = numpy_array_view(base, payload, graph, symbols);
    return p->flags & NUMPY_TENSOR ? live_over_array(array, p) : array;
  }
  if (!live_spec(p, graph, symbols, &spec, &further)) return NULL;
  base = p->flags & NUMPY_OF_DETACHED ? live_apart(base, p) : Py_NewRef(base);
  PyObject *made = base ? live_strided(base, &spec, further) : NULL;
  Py_XDECREF(base);
  if (made && p->flags & NUMPY_CONJUGATED) Py_SETREF(made, PyObject_CallMethod(made, "conj", NULL));
  if (made && p->flags & NUMPY_DETACHED) Py_SETREF(made, live_apart(made, p));
  bool over = p->flags & NUMPY_OVER_ARRAY;
  if (made && (over || !(p->flags & NUMPY_TENSOR)))
    Py_SETREF(made, PyObject_CallMethod(made, "numpy", NULL));
  return over ? live_over_array(made, p) : made;
}

/* By torch's own copy_(), which counts the write for autograd. */
static bool live_write(PyObject *target, const loom_type *type, const int64_t *strides,
                       const void *data, bool uncounted) {
  torch_spec spec = {.dtype = type->dtype, .rank = type->rank};
  if (!torch_is_exact(target)) return numpy_array_write(target, type, strides, data, uncounted);
  for (int i = 0; i < type->rank; i++) {
    spec.sizes[i] = type->dims[i];
    spec.strides[i] = strides[i];
  }
  PyObject *source = torch_over(&spec, (void *)(uintptr_t)data);
  /* What is differentiated is written where no gradients are recorded: by a view of its elements.
   */
  PyObject *plain = uncounted                     ? PyObject_GetAttrString(target, "data")
                    : torch_requires_grad(target) ? PyObject_CallMethod(target, "detach", NULL)
                                                  : Py_NewRef(target);
  PyObject *done = source && plain ? PyObject_CallMethod(plain, "copy_", "O", source) : NULL;
  Py_XDECREF(plain);
  Py_XDECREF(source);
  Py_XDECREF(done);
  return done != NULL;
}

static void *live_direct(PyObject *target, const loom_type *type, const int64_t *strides,
                         bool uncounted) {
  torch_view view;
  if (!torch_is_exact(target)) return numpy_array_direct(target, type, strides, uncounted);
  if (!torch_look(target, &view) || view.dtype != torch_scalar_type(type->dtype) ||
      view.rank != type->rank || (uintptr_t)view.data % loom_dtype_size(type->dtype))
    return NULL;
  for (int i = 0; i < type->rank; i++)
    if (view.sizes[i] != type->dims[i] || (view.sizes[i] > 1 && view.strides[i] != strides[i]))
      return NULL;
  return uncounted || torch_count_write(target) ? view.data : NULL;
}

static int live_host_call(void *context, const char *name, uint32_t slot, void **buffers,
                          uint32_t reads, uint32_t count, int64_t *symbols, PyObject **kept) {
  const capture *c = context;
  if (strcmp(name, "torch"))
    return loom_numpy_adapter.host_call(context, name, slot, buffers, reads, count, symbols, kept);
  loom_host_call call = {.name = name,
                         .slot = slot,
                         .buffers = buffers,
                         .reads = reads,
                         .count = count,
                         .symbols = symbols};
  return torch_host_run(c->hosts, &c->graph, &call, TORCH_CPU);
}

static PyObject *live_drawn_from(const capture *c) {
  if (!c->hosts || !tensor_ready()) return NULL;
  PyObject *found = PyObject_CallOneArg(live_python.generators, c->hosts);
  if (!found) error_drop();
  if (found == Py_None) Py_CLEAR(found);
  return found;
}

static PyObject *live_drawn(PyObject *from) { return PyObject_CallOneArg(live_python.begin, from); }

/* A call that may be made while an exception is pending, which it leaves. */
static void live_call(PyObject *function, PyObject *from, PyObject *state) {
  PyObject *type, *error, *trace;
  PyErr_Fetch(&type, &error, &trace);
  Py_XDECREF(PyObject_CallFunctionObjArgs(function, from, state, NULL));
  error_drop();
  PyErr_Restore(type, error, trace);
}

static void live_draw_again(PyObject *from, PyObject *state) {
  live_call(live_python.put_back, from, state);
}

static void live_drawn_end(void) { live_call(live_python.end, NULL, NULL); }

void tensor_fill_live(loom_adapter *adapter) {
  const loom_adapter *numpy = &loom_numpy_adapter;
  *adapter = (loom_adapter){.name = "torch",
                            .guard_array = live_guard,
                            .guard = live_guard_custom,
                            .number = live_custom_words,
                            .number_differs = live_differs,
                            .sizes_differ = live_sizes_differ,
                            .size = live_size,
                            .guarded_size = numpy->guarded_size,
                            .disjoint = numpy->disjoint,
                            .apart = numpy->apart,
                            .fingerprint = live_fingerprint,
                            .describe = numpy->describe,
                            .words = live_words,
                            .derived = tensor_derived,
                            .data = live_data,
                            .new_output = live_new_output,
                            .threads = torch_threads,
                            .view = live_view,
                            .write = live_write,
                            .direct = live_direct,
                            .host_call = live_host_call,
                            .drawn_from = live_drawn_from,
                            .drawn = live_drawn,
                            .draw_again = live_draw_again,
                            .drawn_end = live_drawn_end,
                            .scalar = numpy->scalar,
                            .row = numpy->row,
                            .report = numpy->report,
                            .flags_matter = numpy->flags_matter,
                            .warnings_shown = numpy->warnings_shown};
  numpy_other_extent = live_extent;
}
