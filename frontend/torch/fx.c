/* An FX graph, node by node, as a captured graph: AOTAutograd has traced the model with fake
 * tensors, so every node carries the type of its result in meta["val"]. */
#include "frontend/torch/fx.h"
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"

#include <string.h>

/* ---- types ---- */

static bool fx_read_dtype(PyObject *dtype, loom_dtype *out) {
  PyObject *text = PyObject_Str(dtype); /* "torch.float32" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  bool good = name && !strncmp(name, "torch.", 6) && loom_dtype_from_name(name + 6, out);
  Py_XDECREF(text);
  return good;
}

bool fx_read_type(fx_import *im, PyObject *meta, loom_type *out) {
  PyObject *dtype = PyObject_GetAttrString(meta, "dtype");
  PyObject *shape = dtype ? PyObject_GetAttrString(meta, "shape") : NULL;
  memset(out, 0, sizeof *out);
  bool good =
      shape && fx_read_dtype(dtype, &out->dtype) && PyTuple_GET_SIZE(shape) <= LOOM_MAX_RANK;
  out->rank = good ? (int32_t)PyTuple_GET_SIZE(shape) : 0;
  for (int i = 0; i < out->rank && good; i++)
    good = fx_read_dim(im, PyTuple_GET_ITEM(shape, i), &out->dims[i]);
  Py_XDECREF(shape);
  Py_XDECREF(dtype);
  return good;
}

bool fx_read_spec(fx_import *im, PyObject *meta, torch_spec *out) {
  loom_type type;
  memset(out, 0, sizeof *out);
  if (!fx_read_type(im, meta, &type)) return false;
  PyObject *strides = PyObject_CallMethod(meta, "stride", NULL);
  bool good = strides != NULL;
  out->dtype = type.dtype;
  out->rank = type.rank;
  for (int i = 0; i < out->rank && good; i++) {
    out->sizes[i] = loom_stride_of_dim(type.dims[i]);
    good = fx_read_number(im, PyTuple_GET_ITEM(strides, i), &out->strides[i]);
  }
  Py_XDECREF(strides);
  return good;
}

/* ---- values of nodes ---- */

fx_value *fx_value_of(fx_import *im, PyObject *node) {
  if (PyLong_Check(node) || PyFloat_Check(node) || PyUnicode_Check(node) || PyList_Check(node))
    return NULL;
  PyObject *number = PyDict_GetItemWithError(im->index, node);
  if (!number) error_drop(); /* not hashable: no node */
  return number ? &im->values[PyLong_AsLong(number)] : NULL;
}

static bool fx_define(fx_import *im, PyObject *node, fx_value v) {
  if (!loom_grow(&im->values, (size_t)im->value_count, &im->value_capacity, sizeof *im->values))
    return PyErr_NoMemory(), false;
  PyObject *number = PyLong_FromUnsignedLong(im->value_count);
  im->values[im->value_count++] = v;
  bool good = number && PyDict_SetItem(im->index, node, number) == 0;
  Py_XDECREF(number);
  return good;
}

bool fx_define_tensor(fx_import *im, PyObject *tensor, loom_value value) {
  if (fx_value_of(im, tensor)) return true;
  return fx_define(im, tensor,
                   (fx_value){.kind = FX_TENSOR,
                              .value = value,
                              .meta = tensor,
                              .placeholder = -1,
                              .wide = LOOM_NO_VALUE});
}

bool fx_define_number(fx_import *im, PyObject *object, int64_t number) {
  if (fx_value_of(im, object)) return true;
  return fx_define(im, object, (fx_value){.kind = FX_SIZE, .number = number});
}

/* node.meta["val"], borrowed; None when there is none. */
static PyObject *fx_meta(PyObject *node) {
  PyObject *meta = PyObject_GetAttrString(node, "meta");
  PyObject *val = meta && PyDict_Check(meta) ? PyDict_GetItemString(meta, "val") : NULL;
  Py_XDECREF(meta);
  return val ? val : Py_None;
}

bool fx_is_fake_tensor(PyObject *meta) {
  return meta != Py_None && PyObject_HasAttrString(meta, "untyped_storage");
}

/* ---- constants ------------------------------------------------------------------------------- */

/* A tensor of one number as a constant of the graph. */
static loom_value fx_number_constant(fx_import *im, PyObject *tensor, const loom_type *type) {
  PyObject *number = PyObject_CallMethod(tensor, "item", NULL);
  if (!number) return LOOM_NO_VALUE;
  bool real = PyFloat_Check(number);
  loom_value v = real ? loom_emit_float(&im->builder, type, PyFloat_AS_DOUBLE(number))
                      : loom_emit_int(&im->builder, type, PyLong_AsLongLong(number));
  Py_DECREF(number);
  return PyErr_Occurred() ? LOOM_NO_VALUE : v;
}

loom_value fx_constant(fx_import *im, PyObject *tensor, const loom_type *type) {
  int64_t strides[LOOM_MAX_RANK];
  if (loom_type_elements(type) == 1 && !loom_dtype_is_complex(type->dtype))
    return fx_number_constant(im, tensor, type);
  PyObject *ordered = torch_is_lazy(tensor) ? torch_resolve(tensor) : Py_NewRef(tensor);
  if (ordered) Py_SETREF(ordered, PyObject_CallMethod(ordered, "contiguous", NULL));
  if (ordered && im->place != TORCH_CPU)
    Py_SETREF(ordered, PyObject_CallMethod(ordered, "cuda", "i", (int)im->place - 1));
  PyObject *plain = ordered ? PyObject_CallMethod(ordered, "detach", NULL) : NULL;
  bool good = plain && PyList_Append(im->constants, plain) == 0;
  Py_XDECREF(plain);
  Py_XDECREF(ordered);
  if (!good) return LOOM_NO_VALUE;
  loom_contiguous_strides(type, strides);
  loom_value v = loom_graph_input(im->graph, LOOM_INPUT_CONST, type, strides);
  if (v == LOOM_NO_VALUE) PyErr_NoMemory();
  return v;
}

PyObject *fx_bound(const fx_import *im, loom_value value) {
  Py_ssize_t next = 0;
  for (uint32_t i = 0; i < im->graph->input_count && next < PyList_GET_SIZE(im->constants); i++) {
    if (im->graph->inputs[i].kind != LOOM_INPUT_CONST) continue;
    if (im->graph->inputs[i].value == value) return PyList_GET_ITEM(im->constants, next);
    next++;
  }
  return NULL;
}

/* A tensor that the module holds or that is frozen. */
static bool fx_tensor_constant(fx_import *im, PyObject *node, PyObject *tensor, PyObject *meta) {
  loom_type type;
  if (!fx_read_type(im, tensor, &type)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_NotImplementedError, "a constant of a dtype that is not compiled");
    return false;
  }
  loom_value v = fx_constant(im, tensor, &type);
  if (PyErr_Occurred()) return false;
  return fx_define(
      im, node,
      (fx_value){
          .kind = FX_TENSOR, .value = v, .meta = meta, .placeholder = -1, .wide = LOOM_NO_VALUE});
}

/* ---- placeholders ---------------------------------------------------------------------------- */

/* What the forward has kept for a backward graph goes with the call; parameters and inputs of the
 * model stay (torch's partitioner names them so). No more than a guess about memory. */
static bool fx_is_given(const fx_import *im, PyObject *node) {
  PyObject *name = im->visible == 0 ? PyObject_GetAttrString(node, "name") : NULL;
  const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
  bool given = text && strncmp(text, "primals", 7) != 0;
  Py_XDECREF(name);
  error_drop();
  return given;
}

/* The name that torch gives the placeholder, for those who read the graph; or NULL. */
static const char *fx_name(const fx_import *im, PyObject *node) {
  PyObject *name = PyObject_GetAttrString(node, "name");
  const char *text = name ? PyUnicode_AsUTF8(name) : NULL;
  if (text) text = loom_arena_strdup(&im->graph->arena, text);
  Py_XDECREF(name);
  error_drop();
  return text;
}

bool fx_is_on_host(PyObject *meta) {
  PyObject *on = PyObject_GetAttrString(meta, "is_cpu");
  bool host = on == Py_True;
  error_drop();
  Py_XDECREF(on);
  return host;
}

static bool fx_tensor_input(fx_import *im, PyObject *node, PyObject *meta, fx_input *out) {
  loom_type type;
  if (!fx_read_spec(im, meta, &out->spec) || !fx_read_type(im, meta, &type)) {
    error_drop();
    PyErr_SetString(PyExc_NotImplementedError, "an input of a dtype or size that is not compiled");
    return false;
  }
  out->kind = FX_INPUT_TENSOR;
  out->host = im->place != TORCH_CPU && fx_is_on_host(meta);
  out->number = im->graph->input_count;
  loom_value v = loom_graph_input(im->graph, LOOM_INPUT_ARRAY, &type, out->spec.strides);
  if (v == LOOM_NO_VALUE) return PyErr_NoMemory(), false;
  im->graph->inputs[out->number].given = fx_is_given(im, node);
  im->graph->inputs[out->number].name = fx_name(im, node);
  fx_value value = {.kind = FX_TENSOR, .value = v, .wide = LOOM_NO_VALUE, .meta = meta};
  value.placeholder = (int32_t)im->input_count - 1;
  const char *name = im->graph->inputs[out->number].name;
  value.tangent = im->visible == 0 && name && strncmp(name, "tangents", 8) == 0;
  return fx_define(im, node, value);
}

static bool fx_is_symbol(PyObject *meta) {
  return meta != Py_None && !fx_is_fake_tensor(meta) && PyObject_HasAttrString(meta, "node");
}

/* The tensor that the next placeholder is taken to be, borrowed, or NULL. */
static bool fx_frozen(fx_import *im, PyObject **out) {
  PyObject *number = PyLong_FromUnsignedLong(im->input_count);
  *out = number ? PyDict_GetItemWithError(im->frozen, number) : NULL;
  Py_XDECREF(number);
  return *out || !PyErr_Occurred();
}

static bool fx_placeholder(fx_import *im, PyObject *node) {
  PyObject *meta = fx_meta(node), *tensor;
  fx_value v = {.kind = FX_SIZE};
  if (!fx_frozen(im, &tensor)) return false;
  fx_input *input = &im->inputs[im->input_count++];
  input->kind = FX_INPUT_OBJECT;
  if (tensor) return fx_tensor_constant(im, node, tensor, meta);
  if (fx_is_fake_tensor(meta)) return fx_tensor_input(im, node, meta, input);
  if (!fx_is_symbol(meta))
    return fx_define(im, node, (fx_value){.kind = FX_OBJECT, .object = meta});
  input->kind = FX_INPUT_SIZE;
  if (!fx_read_number(im, meta, &v.number)) return false;
  input->size = v.number;
  return fx_define(im, node, v);
}

/* The nodes of a module's graph, a new list. */
static PyObject *fx_nodes(PyObject *module) {
  PyObject *graph = PyObject_GetAttrString(module, "graph");
  PyObject *nodes = graph ? PyObject_GetAttrString(graph, "nodes") : NULL;
  PyObject *list = nodes ? PySequence_List(nodes) : NULL;
  Py_XDECREF(nodes);
  Py_XDECREF(graph);
  return list;
}

static bool fx_node_is(PyObject *node, const char *kind) {
  PyObject *op = PyObject_GetAttrString(node, "op");
  bool same = op && PyUnicode_Check(op) && PyUnicode_CompareWithASCIIString(op, kind) == 0;
  Py_XDECREF(op);
  return same;
}

/* A symbolic float or bool has no place among sizes. */
static bool fx_is_size(PyObject *meta) {
  PyObject *node = PyObject_GetAttrString(meta, "node");
  PyObject *type = node ? PyObject_GetAttrString(node, "pytype") : NULL;
  bool is = type == (PyObject *)&PyLong_Type;
  Py_XDECREF(type);
  Py_XDECREF(node);
  if (!is && !PyErr_Occurred())
    PyErr_SetString(PyExc_NotImplementedError, "an input that is a symbolic float or bool");
  return is;
}

static bool fx_describe_inputs(PyObject *nodes, fx_input *inputs, uint32_t *count,
                               fx_symbols *symbols) {
  PyObject **metas = calloc((size_t)PyList_GET_SIZE(nodes) + 1, sizeof(PyObject *));
  bool good = metas || (PyErr_NoMemory(), false);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(nodes) && good; i++) {
    PyObject *node = PyList_GET_ITEM(nodes, i);
    if (!fx_node_is(node, "placeholder")) continue;
    PyObject *meta = metas[*count] = fx_meta(node);
    fx_input *input = &inputs[(*count)++];
    input->kind = fx_is_fake_tensor(meta) ? FX_INPUT_TENSOR
                  : fx_is_symbol(meta)    ? FX_INPUT_SIZE
                                          : FX_INPUT_OBJECT;
    good = input->kind != FX_INPUT_SIZE || fx_is_size(meta);
  }
  good = good && fx_find_symbols(inputs, *count, metas, symbols);
  free(metas);
  return good;
}

fx_input *fx_placeholders(PyObject *module, uint32_t *count, fx_symbols *symbols) {
  PyObject *nodes = fx_nodes(module);
  fx_input *inputs = nodes ? calloc((size_t)PyList_GET_SIZE(nodes) + 1, sizeof *inputs) : NULL;
  *count = 0;
  if (nodes && !inputs) PyErr_NoMemory();
  if (inputs && !fx_describe_inputs(nodes, inputs, count, symbols)) {
    free(inputs);
    inputs = NULL;
  }
  Py_XDECREF(nodes);
  return inputs;
}

/* ---- calls ----------------------------------------------------------------------------------- */

static bool fx_define_results(fx_import *im, const fx_call *c, const loom_value *values) {
  bool many = PyTuple_Check(c->meta) || PyList_Check(c->meta);
  fx_value *items = loom_arena_alloc(&im->graph->arena, c->result_count * sizeof *items + 1);
  if (!items) return PyErr_NoMemory(), false;
  for (uint32_t i = 0; i < c->result_count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(c->meta, (Py_ssize_t)i) : c->meta;
    if (c->present[i])

      items[i] = (fx_value){.kind = FX_TENSOR,
                            .value = values[i],
                            .wide = c->wide[i],
                            .meta = meta,
                            .placeholder = -1};
  }
  if (!many) return fx_define(im, c->node, items[0]);
  return fx_define(im, c->node,
                   (fx_value){.kind = FX_MANY, .items = items, .count = c->result_count});
}

static bool fx_aten(fx_import *im, fx_call *c, PyObject *args, PyObject *kwargs) {
  loom_value values[FX_MAX_RESULTS];
  fx_value many;
  bool is_foreach;
  if (!fx_foreach(c, args, kwargs, &many, &is_foreach)) return false;
  if (is_foreach) return fx_define(im, c->node, many);
  return fx_emit_call(c, args, kwargs, values) && fx_define_results(im, c, values);
}

/* A higher-order op: called in torch with its subgraphs and ops, never merged or dropped. */
static bool fx_higher_order(fx_import *im, fx_call *c, PyObject *args, PyObject *kwargs) {
  loom_value values[FX_MAX_RESULTS];
  for (int i = 0; i < FX_MAX_RESULTS; i++)
    values[i] = c->wide[i] = LOOM_NO_VALUE;
  fx_decline(c, "a higher-order op");
  bool good = fx_declared(c) && torch_host_emit(c, args, kwargs, values);
  if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_NotImplementedError, c->why);
  im->ops++;
  return good && fx_define_results(im, c, values);
}

static bool fx_getitem(fx_import *im, PyObject *node, PyObject *args) {
  PyObject *number = PyTuple_GET_SIZE(args) == 2 ? PyTuple_GET_ITEM(args, 1) : Py_None;
  const fx_value *many = PyLong_Check(number) ? fx_value_of(im, PyTuple_GET_ITEM(args, 0)) : NULL;
  Py_ssize_t i = many ? PyLong_AsSsize_t(number) : -1;
  if (!many || many->kind != FX_MANY || i < 0 || i >= many->count) {
    PyErr_SetString(PyExc_NotImplementedError,
                    "an item of something that is not a list of tensors");
    return false;
  }
  return fx_define(im, node, many->items[i]);
}

/* Arithmetic on sizes: the result's own expression is in its meta. What is no number of ours (a
 * bool) is only missed when it is used. */
static bool fx_size_call(fx_call *c, PyObject *args) {
  fx_import *im = c->im;
  PyObject *node = c->node, *meta = c->meta;
  fx_value v = {.kind = FX_SIZE};
  if (PyLong_Check(meta) || PyFloat_Check(meta))
    return fx_define(im, node, (fx_value){.kind = FX_OBJECT, .object = meta});
  if (fx_is_real(meta)) {
    v.value = fx_real(c, args);
    v.kind = v.value == LOOM_NO_VALUE ? FX_NOTHING : FX_REAL;
    return !PyErr_Occurred() && fx_define(im, node, v);
  }
  if (!fx_read_number(im, meta, &v.number)) v.kind = FX_NOTHING;
  error_drop();
  return fx_define(im, node, v);
}

static bool fx_is_number(PyObject *meta) {
  return fx_is_symbol(meta) || PyLong_Check(meta) || PyFloat_Check(meta);
}

/* The innermost line of the user's in the node's stack trace. */
static void fx_locate(fx_import *im, PyObject *node) {
  PyObject *trace = PyObject_GetAttrString(node, "stack_trace");
  const char *text = trace && PyUnicode_Check(trace) ? PyUnicode_AsUTF8(trace) : NULL;
  const char *at = NULL;
  for (const char *p = text; p && (p = strstr(p, "File \"")); p++)
    at = p + 6;
  const char *end = at ? strchr(at, '"') : NULL;
  const char *line = end ? strstr(end, "line ") : NULL;
  im->builder.location = (loom_location){0};
  if (line) {
    char file[512];
    snprintf(file, sizeof file, "%.*s", (int)(end - at), at);
    im->builder.location.file = loom_arena_strdup(&im->graph->arena, file);
    im->builder.location.line = atoi(line + 5);
    im->builder.location.column = 1;
  }
  error_drop();
  Py_XDECREF(trace);
}

static bool fx_call_function(fx_import *im, PyObject *node) {
  PyObject *target = PyObject_GetAttrString(node, "target");
  PyObject *args = PyObject_GetAttrString(node, "args");
  PyObject *kwargs = PyObject_GetAttrString(node, "kwargs");
  PyObject *meta = fx_meta(node);
  bool good = target && args && kwargs;
  fx_call c = {.im = im, .b = &im->builder, .target = target, .node = node, .meta = meta};
  if (good && PyObject_HasAttrString(target, "_schema")) {
    fx_locate(im, node);
    good = fx_is_number(meta) ? fx_size_call(&c, args) : fx_aten(im, &c, args, kwargs);
  } else if (good && fx_is_number(meta)) {
    good = fx_size_call(&c, args);
  } else if (good && PyObject_HasAttrString(target, "py_kernels")) {
    fx_locate(im, node);
    good = fx_higher_order(im, &c, args, kwargs);
  } else if (good) {
    good = fx_getitem(im, node, args);
  }
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  Py_XDECREF(target);
  return good;
}

/* ---- attributes ---- */

/* get_attr: a dotted path from the module. */
static bool fx_attribute(fx_import *im, PyObject *node) {
  PyObject *path = PyObject_GetAttrString(node, "target");
  PyObject *parts = path ? PyObject_CallMethod(path, "split", "s", ".") : NULL;
  PyObject *object = parts ? Py_NewRef(im->module) : NULL, *meta = fx_meta(node);
  for (Py_ssize_t i = 0; object && i < PyList_GET_SIZE(parts); i++) {
    PyObject *next = PyObject_GetAttr(object, PyList_GET_ITEM(parts, i));
    Py_SETREF(object, next);
  }
  bool is_tensor = object && fx_is_fake_tensor(object);
  if (object && !is_tensor)
    PyErr_SetString(PyExc_NotImplementedError, "an attribute of the module that is no tensor");
  bool good =
      is_tensor && fx_tensor_constant(im, node, object, fx_is_fake_tensor(meta) ? meta : object);
  Py_XDECREF(object);
  Py_XDECREF(parts);
  Py_XDECREF(path);
  return good;
}

/* ---- the module ------------------------------------------------------------------------------ */

static bool fx_node(fx_import *im, PyObject *node, fx_result **results, uint32_t *count) {
  if (fx_node_is(node, "placeholder")) return fx_placeholder(im, node);
  if (fx_node_is(node, "call_function")) return fx_call_function(im, node);
  if (fx_node_is(node, "get_attr")) return fx_attribute(im, node);
  if (fx_node_is(node, "output")) return fx_output(im, node, results, count);
  PyErr_SetString(PyExc_NotImplementedError, "a node that is no call of a function");
  return false;
}

bool fx_import_module(fx_import *im, PyObject *module, fx_result **results,
                      uint32_t *result_count) {
  *results = NULL;
  *result_count = 0;
  im->builder.graph = im->graph;
  im->module = module;
  if (!fx_bind_symbols(im)) {
    if (!PyErr_Occurred()) PyErr_NoMemory();
    return false;
  }
  im->constants = PyList_New(0);
  im->index = PyDict_New();
  im->hosts = PyList_New(0);
  im->host_reasons = PyList_New(0);
  im->host_places = PyList_New(0);
  PyObject *list = fx_nodes(module);
  Py_ssize_t count = list ? PyList_GET_SIZE(list) : 0;
  im->inputs = calloc((size_t)count + 1, sizeof *im->inputs);
  bool good = list && im->index && im->constants && im->hosts && im->host_reasons &&
              im->host_places && im->inputs;
  for (Py_ssize_t i = 0; good && i < count; i++)
    good = fx_node(im, PyList_GET_ITEM(list, i), results, result_count);
  Py_XDECREF(list);
  if (!good && !PyErr_Occurred()) PyErr_NoMemory();
  return good;
}

void fx_import_fini(fx_import *im) {
  free(im->values);
  free(im->inputs);
  free(im->scalars);
  Py_XDECREF(im->sizes);
  Py_XDECREF(im->index);
  Py_XDECREF(im->constants);
  Py_XDECREF(im->hosts);
  Py_XDECREF(im->host_reasons);
  Py_XDECREF(im->host_places);
}
