/* An FX graph, node by node, as a captured graph.
 *
 * AOTAutograd has traced the model with fake tensors: every node carries the type of its result in
 * meta["val"]. An emitter's result has to have exactly that type, else the node runs through torch
 * like one without an emitter, so that a mistake in an emitter's promotion or shape rule cannot
 * become a wrong answer. */
#include "frontend/torch/torch.h"

#include <string.h>

/* ---- types ------------------------------------------------------------------------------------
 */

bool fx_read_dtype(PyObject *dtype, loom_dtype *out) {
  PyObject *text = PyObject_Str(dtype); /* "torch.float32" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  bool good = name && !strncmp(name, "torch.", 6) && loom_dtype_from_name(name + 6, out);
  Py_XDECREF(text);
  return good;
}

/* A sympy expression over torch's symbols as a size. */
static bool fx_read_expr(fx_import *im, PyObject *expr, loom_dim *out);

static bool fx_read_symbol(fx_import *im, PyObject *expr, loom_dim *out) {
  PyObject *name = PyObject_Str(expr);
  PyObject *number = name && im->sizes ? PyDict_GetItemWithError(im->sizes, name) : NULL;
  bool good = number && loom_dim_constant(im->graph, PyLong_AsLongLong(number), out);
  if (name && !number && !PyErr_Occurred())
    PyErr_Format(PyExc_ValueError, "the symbol %U is not an input", name);
  Py_XDECREF(name);
  return good;
}

static bool fx_combine_args(fx_import *im, PyObject *expr, loom_expr_kind kind, loom_dim *out) {
  PyObject *args = PyObject_GetAttrString(expr, "args");
  bool good = args && PyTuple_Check(args) && PyTuple_GET_SIZE(args) > 0;
  for (Py_ssize_t i = 0; good && i < PyTuple_GET_SIZE(args); i++) {
    loom_dim next;
    good = fx_read_expr(im, PyTuple_GET_ITEM(args, i), &next) &&
           (i == 0 ? (*out = next, true) : loom_dim_combine(im->graph, kind, *out, next, out));
  }
  Py_XDECREF(args);
  return good;
}

static bool fx_read_expr(fx_import *im, PyObject *expr, loom_dim *out) {
  static const struct {
    const char *name;
    loom_expr_kind kind;
  } kinds[] = {{"Add", LOOM_EXPR_ADD},           {"Mul", LOOM_EXPR_MUL},
               {"FloorDiv", LOOM_EXPR_FLOORDIV}, {"CleanDiv", LOOM_EXPR_FLOORDIV},
               {"Mod", LOOM_EXPR_MOD},           {"PythonMod", LOOM_EXPR_MOD},
               {"Min", LOOM_EXPR_MIN},           {"Max", LOOM_EXPR_MAX}};
  PyObject *number = PyNumber_Long(expr);
  if (number) {
    int64_t value = PyLong_AsLongLong(number);
    Py_DECREF(number);
    return !PyErr_Occurred() && loom_dim_constant(im->graph, value, out);
  }
  PyErr_Clear();
  const char *type = Py_TYPE(expr)->tp_name, *dot = strrchr(type, '.');
  type = dot ? dot + 1 : type;
  if (!strcmp(type, "Symbol")) return fx_read_symbol(im, expr, out);
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (!strcmp(type, kinds[i].name)) return fx_combine_args(im, expr, kinds[i].kind, out);
  PyErr_Format(PyExc_ValueError, "a size is of the kind %s", type);
  return false;
}

bool fx_read_dim(fx_import *im, PyObject *number, loom_dim *out) {
  if (PyLong_Check(number)) {
    *out = PyLong_AsLongLong(number);
    return !PyErr_Occurred();
  }
  const fx_value *v = fx_value_of(im, number);
  if (v && v->kind == FX_SIZE) return *out = v->dim, true;
  PyObject *node = PyObject_GetAttrString(number, "node");
  PyObject *expr = node ? PyObject_GetAttrString(node, "expr") : NULL;
  bool good = expr && fx_read_expr(im, expr, out);
  Py_XDECREF(expr);
  Py_XDECREF(node);
  if (!good && !PyErr_Occurred()) PyErr_SetString(PyExc_ValueError, "a size is too complicated");
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
    out->sizes[i] = type.dims[i];
    good = fx_read_dim(im, PyTuple_GET_ITEM(strides, i), &out->strides[i]);
  }
  Py_XDECREF(strides);
  return good;
}

/* ---- values of nodes ----------------------------------------------------------------------------
 */

fx_value *fx_value_of(fx_import *im, PyObject *node) {
  if (PyLong_Check(node) || PyFloat_Check(node) || PyUnicode_Check(node) || PyList_Check(node))
    return NULL;
  PyObject *number = PyDict_GetItemWithError(im->index, node);
  if (!number) PyErr_Clear(); /* not hashable: no node */
  return number ? &im->values[PyLong_AsLong(number)] : NULL;
}

static bool fx_define(fx_import *im, PyObject *node, fx_value v) {
  if (im->value_count == im->value_capacity) {
    uint32_t capacity = im->value_capacity ? 2 * im->value_capacity : 64;
    fx_value *grown = realloc(im->values, capacity * sizeof *grown);
    if (!grown) return PyErr_NoMemory(), false;
    im->values = grown;
    im->value_capacity = capacity;
  }
  PyObject *number = PyLong_FromUnsignedLong(im->value_count);
  im->values[im->value_count++] = v;
  bool good = number && PyDict_SetItem(im->index, node, number) == 0;
  Py_XDECREF(number);
  return good;
}

/* node.meta["val"], borrowed; None when there is none. */
static PyObject *fx_meta(PyObject *node) {
  PyObject *meta = PyObject_GetAttrString(node, "meta");
  PyObject *val = meta && PyDict_Check(meta) ? PyDict_GetItemString(meta, "val") : NULL;
  Py_XDECREF(meta);
  return val ? val : Py_None;
}

static bool fx_is_fake_tensor(PyObject *meta) {
  return meta != Py_None && PyObject_HasAttrString(meta, "untyped_storage");
}

/* ---- placeholders ---------------------------------------------------------------------------- */

static bool fx_tensor_input(fx_import *im, PyObject *node, PyObject *meta, fx_input *out) {
  loom_type type;
  if (!fx_read_spec(im, meta, &out->spec) || !fx_read_type(im, meta, &type)) {
    PyErr_Clear();
    PyErr_SetString(PyExc_NotImplementedError, "an input of a dtype or size that is not compiled");
    return false;
  }
  out->kind = FX_INPUT_TENSOR;
  out->number = im->graph->input_count;
  loom_value v = loom_graph_input(im->graph, LOOM_INPUT_ARRAY, &type, out->spec.strides);
  if (v == LOOM_NO_VALUE) return PyErr_NoMemory(), false;
  fx_value value = {.kind = FX_TENSOR, .value = v, .wide = LOOM_NO_VALUE, .meta = meta};
  value.placeholder = (int32_t)im->input_count - 1;
  return fx_define(im, node, value);
}

static bool fx_is_symbol(PyObject *meta) {
  return meta != Py_None && !fx_is_fake_tensor(meta) && PyObject_HasAttrString(meta, "node");
}

static bool fx_placeholder(fx_import *im, PyObject *node) {
  PyObject *meta = fx_meta(node);
  fx_input *input = &im->inputs[im->input_count++];
  fx_value v = {.kind = FX_SIZE};
  if (fx_is_fake_tensor(meta)) return fx_tensor_input(im, node, meta, input);
  input->kind = FX_INPUT_OBJECT;
  if (!fx_is_symbol(meta))
    return fx_define(im, node, (fx_value){.kind = FX_OBJECT, .object = meta});
  input->kind = FX_INPUT_SIZE;
  return fx_read_dim(im, meta, &v.dim) && fx_define(im, node, v);
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

fx_input *fx_placeholders(PyObject *module, uint32_t *count) {
  PyObject *nodes = fx_nodes(module);
  if (!nodes) return NULL;
  Py_ssize_t n = PyList_GET_SIZE(nodes);
  fx_input *inputs = calloc((size_t)n + 1, sizeof *inputs);
  *count = 0;
  for (Py_ssize_t i = 0; i < n && inputs; i++) {
    PyObject *node = PyList_GET_ITEM(nodes, i);
    if (!fx_node_is(node, "placeholder")) continue;
    PyObject *meta = fx_meta(node);
    fx_input *input = &inputs[(*count)++];
    input->kind = fx_is_fake_tensor(meta) ? FX_INPUT_TENSOR
                  : fx_is_symbol(meta)    ? FX_INPUT_SIZE
                                          : FX_INPUT_OBJECT;
    if (input->kind == FX_INPUT_SIZE) input->name = PyObject_Str(meta);
  }
  Py_DECREF(nodes);
  if (!inputs) PyErr_NoMemory();
  return inputs;
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The arguments of a schema: a tuple of (name, default), kept for each op. */
static PyObject *fx_schema(PyObject *target) {
  static PyObject *known;
  if (!known && !(known = PyDict_New())) return NULL;
  PyObject *found = PyDict_GetItemWithError(known, target);
  if (found || PyErr_Occurred()) return found;
  PyObject *schema = PyObject_GetAttrString(target, "_schema");
  PyObject *arguments = schema ? PyObject_GetAttrString(schema, "arguments") : NULL;
  PyObject *fast = arguments ? PySequence_Fast(arguments, "arguments") : NULL;
  PyObject *rows = fast ? PyTuple_New(PySequence_Fast_GET_SIZE(fast)) : NULL;
  for (Py_ssize_t i = 0; rows && i < PyTuple_GET_SIZE(rows); i++) {
    PyObject *argument = PySequence_Fast_GET_ITEM(fast, i);
    PyObject *name = PyObject_GetAttrString(argument, "name");
    PyObject *value = name ? PyObject_GetAttrString(argument, "default_value") : NULL;
    PyObject *row = value ? PyTuple_Pack(2, name, value) : NULL;
    Py_XDECREF(name);
    Py_XDECREF(value);
    if (row)
      PyTuple_SET_ITEM(rows, i, row);
    else
      Py_CLEAR(rows);
  }
  if (rows && PyDict_SetItem(known, target, rows) < 0) Py_CLEAR(rows);
  Py_XDECREF(fast);
  Py_XDECREF(arguments);
  Py_XDECREF(schema);
  Py_XDECREF(rows); /* the dict has it */
  return rows;
}

/* A node that is a known number or object is replaced by it. */
static bool fx_known(fx_call *c, Py_ssize_t i) {
  const fx_value *v = fx_value_of(c->im, c->args[i]);
  int64_t size;
  if (v && v->kind == FX_OBJECT) c->args[i] = v->object;
  if (!v || v->kind != FX_SIZE || !loom_dim_eval(c->im->graph, v->dim, NULL, &size)) return true;
  c->args[i] = c->kept[i] = PyLong_FromLongLong(size);
  return c->args[i] != NULL;
}

bool fx_bind(fx_call *c, PyObject *args, PyObject *kwargs) {
  PyObject *schema = fx_schema(c->target);
  if (!schema) return false;
  Py_ssize_t count = PyTuple_GET_SIZE(schema), given = PyTuple_GET_SIZE(args);
  if (count > FX_MAX_ARGS) return fx_decline(c, "a call with %zd arguments", count);
  c->count = (int)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *row = PyTuple_GET_ITEM(schema, i);
    PyObject *by_name = i < given ? NULL : PyDict_GetItem(kwargs, PyTuple_GET_ITEM(row, 0));
    c->args[i] = i < given ? PyTuple_GET_ITEM(args, i)
                 : by_name ? by_name
                           : PyTuple_GET_ITEM(row, 1);
    if (!fx_known(c, i)) return false;
  }
  return true;
}

/* The types that torch declares for the results. */
static bool fx_declared(fx_call *c) {
  bool many = PyTuple_Check(c->meta) || PyList_Check(c->meta);
  Py_ssize_t count = many ? PySequence_Fast_GET_SIZE(c->meta) : 1;
  if (count > FX_MAX_RESULTS) return fx_decline(c, "%zd results", count);
  c->result_count = (uint32_t)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(c->meta, i) : c->meta;
    c->present[i] = fx_is_fake_tensor(meta);
    if (c->present[i] && !fx_read_type(c->im, meta, &c->types[i])) {
      PyErr_Clear();
      return fx_decline(c, "a result of a dtype or size that is not compiled");
    }
  }
  return true;
}

/* Are the emitted values what torch says they are? */
static bool fx_agrees(fx_call *c, const loom_value *values) {
  for (uint32_t i = 0; i < c->result_count; i++) {
    if (!c->present[i]) continue;
    if (values[i] == LOOM_NO_VALUE) return fx_decline(c, "a result is missing");
    if (!loom_type_equal(loom_build_type(c->b, values[i]), &c->types[i]))
      return fx_decline(c, "a result of another type than torch's");
  }
  return true;
}

/* Kernels compute on no complex numbers. */
static bool fx_is_complex(fx_call *c) {
  for (uint32_t i = 0; i < c->result_count; i++)
    if (c->present[i] && loom_dtype_is_complex(c->types[i].dtype)) return true;
  for (int i = 0; i < c->count; i++)
    if (fx_is_tensor(c, i) && loom_dtype_is_complex(loom_build_type(c->b, fx_tensor(c, i))->dtype))
      return true;
  return false;
}

/* Results without elements are known without computing anything. */
static bool fx_emit_empty(fx_call *c, loom_value *values) {
  for (uint32_t i = 0; i < c->result_count; i++)
    if (!c->present[i] || loom_type_elements(&c->types[i]) != 0) return false;
  for (uint32_t i = 0; i < c->result_count; i++)
    values[i] = loom_build_int(c->b, &c->types[i], 0);
  return c->result_count > 0 && !c->b->failed;
}

/* Emits through the table; false without an exception: declined. */
static bool fx_emit(fx_call *c, loom_value *values) {
  PyObject *text = PyObject_Str(c->target); /* "aten.add.Tensor" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  /* Rows of torch's prims keep their prefix. */
  bool known = name && (!strncmp(name, "aten.", 5) || !strncmp(name, "prims.", 6));
  const aten_row *row = known ? aten_find(*name == 'a' ? name + 5 : name) : NULL;
  bool good = false;
  if (fx_emit_empty(c, values)) {
    good = true;
  } else if (row && fx_is_complex(c)) {
    fx_decline(c, "complex numbers");
  } else if (row) {
    c->op = row->op;
    c->text = row->text;
    good = row->emit(c, values) && !c->b->failed && fx_agrees(c, values);
  } else {
    fx_decline(c, "there is no lowering");
  }
  if (c->b->failed) fx_decline(c, "%.150s", c->b->err.message);
  c->b->failed = false;
  Py_XDECREF(text);
  return good;
}

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

void fx_release(fx_call *c) {
  for (int i = 0; i < FX_MAX_ARGS; i++)
    Py_CLEAR(c->kept[i]);
}

bool fx_emit_call(fx_call *c, PyObject *args, PyObject *kwargs, loom_value *values) {
  for (int i = 0; i < FX_MAX_RESULTS; i++)
    values[i] = c->wide[i] = LOOM_NO_VALUE;
  bool bound = fx_bind(c, args, kwargs) && fx_declared(c);
  bool good = bound && fx_emit(c, values);
  if (!good && bound && !PyErr_Occurred()) good = torch_host_emit(c, args, kwargs, values);
  if (!bound && !PyErr_Occurred()) PyErr_SetString(PyExc_NotImplementedError, c->why);
  fx_release(c);
  c->im->ops++;
  return good && !PyErr_Occurred();
}

static bool fx_aten(fx_import *im, fx_call *c, PyObject *args, PyObject *kwargs) {
  loom_value values[FX_MAX_RESULTS];
  fx_value many;
  bool is_foreach;
  if (!fx_foreach(c, args, kwargs, &many, &is_foreach)) return false;
  if (is_foreach) return fx_define(im, c->node, many);
  return fx_emit_call(c, args, kwargs, values) && fx_define_results(im, c, values);
}

static bool fx_getitem(fx_import *im, PyObject *node, PyObject *args) {
  const fx_value *many = fx_value_of(im, PyTuple_GET_ITEM(args, 0));
  Py_ssize_t i = PyLong_AsSsize_t(PyTuple_GET_ITEM(args, 1));
  if (!many || many->kind != FX_MANY || i < 0 || i >= many->count) {
    PyErr_SetString(PyExc_NotImplementedError,
                    "an item of something that is not a list of tensors");
    return false;
  }
  return fx_define(im, node, many->items[i]);
}

/* Arithmetic on sizes: the result's own expression is in its meta. */
static bool fx_size_call(fx_import *im, PyObject *node, PyObject *meta) {
  fx_value v = {.kind = FX_SIZE};
  if (PyLong_Check(meta) || PyFloat_Check(meta))
    return fx_define(im, node, (fx_value){.kind = FX_OBJECT, .object = meta});
  return fx_read_dim(im, meta, &v.dim) && fx_define(im, node, v);
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
  PyErr_Clear();
  Py_XDECREF(trace);
}

static bool fx_call_function(fx_import *im, PyObject *node) {
  PyObject *target = PyObject_GetAttrString(node, "target");
  PyObject *args = PyObject_GetAttrString(node, "args");
  PyObject *kwargs = PyObject_GetAttrString(node, "kwargs");
  PyObject *meta = fx_meta(node);
  bool good = target && args && kwargs;
  if (good && PyObject_HasAttrString(target, "_schema")) {
    fx_locate(im, node);
    fx_call c = {.im = im, .b = &im->builder, .target = target, .node = node, .meta = meta};
    good = fx_is_symbol(meta) ? fx_size_call(im, node, meta) : fx_aten(im, &c, args, kwargs);
  } else if (good && fx_is_symbol(meta)) {
    good = fx_size_call(im, node, meta);
  } else if (good) {
    good = fx_getitem(im, node, args);
  }
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  Py_XDECREF(target);
  return good;
}

/* ---- constants ------------------------------------------------------------------------------- */

/* A tensor of one number as a constant of the graph. */
static bool fx_number_constant(fx_import *im, PyObject *node, PyObject *tensor, PyObject *meta,
                               const loom_type *type) {
  PyObject *number = PyObject_CallMethod(tensor, "item", NULL);
  if (!number) return false;
  bool real = PyFloat_Check(number);
  loom_value v = real ? loom_build_float(&im->builder, type, PyFloat_AS_DOUBLE(number))
                      : loom_build_int(&im->builder, type, PyLong_AsLongLong(number));
  Py_DECREF(number);
  if (PyErr_Occurred()) return false;
  return fx_define(
      im, node,
      (fx_value){
          .kind = FX_TENSOR, .value = v, .meta = meta, .placeholder = -1, .wide = LOOM_NO_VALUE});
}

/* A tensor that the module holds: its data is bound to the plan. */
static bool fx_tensor_constant(fx_import *im, PyObject *node, PyObject *tensor, PyObject *meta) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  if (!fx_read_type(im, tensor, &type)) {
    if (!PyErr_Occurred())
      PyErr_SetString(PyExc_NotImplementedError, "a constant of a dtype that is not compiled");
    return false;
  }
  if (loom_type_elements(&type) == 1 && !loom_dtype_is_complex(type.dtype))
    return fx_number_constant(im, node, tensor, meta, &type);
  PyObject *ordered = PyObject_CallMethod(tensor, "contiguous", NULL);
  PyObject *plain = ordered ? PyObject_CallMethod(ordered, "detach", NULL) : NULL;
  bool good = plain && PyList_Append(im->constants, plain) == 0;
  Py_XDECREF(plain);
  Py_XDECREF(ordered);
  if (!good) return false;
  loom_contiguous_strides(&type, strides);
  loom_value v = loom_graph_input(im->graph, LOOM_INPUT_CONST, &type, strides);
  if (v == LOOM_NO_VALUE) return PyErr_NoMemory(), false;
  return fx_define(
      im, node,
      (fx_value){
          .kind = FX_TENSOR, .value = v, .meta = meta, .placeholder = -1, .wide = LOOM_NO_VALUE});
}

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

/* ---- results --------------------------------------------------------------------------------- */

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
    loom_contiguous_strides(&info->type, ordered);
    for (int i = 0; i < spec->rank; i++)
      copy |= spec->sizes[i] > 1 && strides[i] != ordered[i];
  }
  return copy ? loom_build1(&im->builder, LOOM_OP_COPY, v) : v;
}

/* A value without its expanded dimensions (stride 0), which become size 1 in `spec`. */
static loom_value fx_unexpanded(fx_import *im, loom_value v, torch_spec *spec, bool *expanded) {
  for (int i = 0; i < spec->rank; i++) {
    if (spec->sizes[i] <= 1 || spec->strides[i] != 0) continue;
    v = loom_build_slice(&im->builder, v, i, 0, 1, 1);
    spec->sizes[i] = 1;
    *expanded = true;
  }
  return v;
}

static bool fx_result_tensor(fx_import *im, const fx_value *v, fx_result *out) {
  int64_t strides[LOOM_MAX_RANK] = {0};
  if (!fx_read_spec(im, v->meta, &out->view)) return false;
  out->spec = out->view;
  loom_value value = fx_unexpanded(im, v->value, &out->spec, &out->expanded);
  torch_spec_dense(&out->spec, strides);
  for (int i = 0; i < out->spec.rank; i++)
    if (out->view.strides[i]) out->view.strides[i] = out->spec.strides[i];
  out->kind = FX_RESULT_OUTPUT;
  out->number = im->graph->output_count;
  if (value != LOOM_NO_VALUE) value = fx_own_value(im, value, &out->spec, strides);
  return value != LOOM_NO_VALUE &&
         (loom_graph_output(im->graph, value, strides) || (PyErr_NoMemory(), false));
}

/* Where a result lies in its storage, in elements. */
typedef struct fx_place {
  PyObject *storage; /* an int that identifies it; owned */
  int64_t offset, end, size;
} fx_place;

static bool fx_read_place(fx_import *im, PyObject *meta, const torch_spec *spec, fx_place *out) {
  PyObject *storage = PyObject_CallMethod(meta, "untyped_storage", NULL);
  PyObject *offset = storage ? PyObject_CallMethod(meta, "storage_offset", NULL) : NULL;
  PyObject *bytes = offset ? PyObject_CallMethod(storage, "nbytes", NULL) : NULL;
  out->storage = bytes ? PyObject_GetAttrString(storage, "_cdata") : NULL;
  bool good =
      out->storage && fx_read_dim(im, offset, &out->offset) && fx_read_dim(im, bytes, &out->size);
  out->size /= (int64_t)loom_dtype_size(spec->dtype);
  out->end = out->offset + 1;
  for (int i = 0; i < spec->rank; i++) {
    out->end += (spec->sizes[i] - 1) * spec->strides[i];
    if (spec->sizes[i] == 0) out->end = INT64_MIN; /* covers nothing */
  }
  Py_XDECREF(bytes);
  Py_XDECREF(offset);
  Py_XDECREF(storage);
  return good;
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

/* Has an element of the one a place in the other? */
static bool fx_overlaps(const torch_spec *a, const fx_place *at_a, const torch_spec *b,
                        const fx_place *at_b) {
  if (at_a->offset >= at_b->end || at_b->offset >= at_a->end) return false;
  int64_t size = at_a->end > at_b->end ? at_a->end : at_b->end;
  uint8_t *bits = size <= FX_MAX_STORAGE ? calloc((size_t)size, 1) : NULL;
  if (!bits) return true;
  fx_mark(bits, size, a, at_a->offset);
  bool met = fx_mark(bits, size, b, at_b->offset);
  free(bits);
  return met;
}

/* Is result `k` the whole of its storage, as it is made? */
static bool fx_is_whole(const fx_result *r, const fx_place *place, const torch_spec *traced) {
  return place->offset == 0 && place->end == place->size && !r->expanded &&
         !memcmp(traced->strides, r->spec.strides, sizeof traced->strides);
}

/* A result that shares storage with an earlier one is a view of that, as it is in eager torch, when
 * the earlier one is the whole storage. Results that only share some elements are refused. */
static bool fx_find_view(fx_import *im, PyObject *list, Py_ssize_t i, const fx_value *v,
                         fx_result *all) {
  fx_result *out = &all[i];
  fx_place place = {NULL, 0, 0, 0};
  torch_spec spec, traced;
  bool good = fx_read_spec(im, v->meta, &spec) && fx_read_place(im, v->meta, &spec, &place);
  for (Py_ssize_t k = 0; k < i && good && out->kind != FX_RESULT_VIEW; k++) {
    const fx_value *other = fx_value_of(im, PySequence_Fast_GET_ITEM(list, k));
    fx_place base = {NULL, 0, 0, 0};
    if (!other || other->kind != FX_TENSOR || all[k].kind != FX_RESULT_OUTPUT) continue;
    good = fx_read_spec(im, other->meta, &traced) && fx_read_place(im, other->meta, &traced, &base);
    bool shared = good && PyObject_RichCompareBool(base.storage, place.storage, Py_EQ) == 1 &&
                  traced.dtype == spec.dtype && fx_overlaps(&traced, &base, &spec, &place);
    bool whole = shared && fx_is_whole(&all[k], &base, &traced);
    Py_XDECREF(base.storage);
    if (!shared || all[k].expanded) continue; /* torch refuses to write to what is expanded */
    if (!whole) {
      PyErr_SetString(PyExc_NotImplementedError, "results that share a part of their storage");
      good = false;
    }
    *out = (fx_result){.kind = FX_RESULT_VIEW, .number = (uint32_t)k, .view = spec};
    out->offset = place.offset;
  }
  Py_XDECREF(place.storage);
  return good;
}

/* One node is one tensor, however often it is returned. */
static bool fx_result_of(fx_import *im, PyObject *list, Py_ssize_t i, fx_result *all) {
  PyObject *item = PySequence_Fast_GET_ITEM(list, i);
  const fx_value *v = fx_value_of(im, item);
  fx_result *out = &all[i];
  if (v && v->kind == FX_TENSOR) {
    for (Py_ssize_t k = 0; k < i; k++)
      if (PySequence_Fast_GET_ITEM(list, k) == item) return *out = all[k], true;
    if (v->placeholder < 0)
      return (i >= im->visible || fx_find_view(im, list, i, v, all)) &&
             (out->kind == FX_RESULT_VIEW || fx_result_tensor(im, v, out));
    *out = (fx_result){.kind = FX_RESULT_INPUT, .number = (uint32_t)v->placeholder};
    return true;
  }
  if (v && v->kind == FX_SIZE) return out->kind = FX_RESULT_SIZE, out->dim = v->dim, true;
  out->kind = FX_RESULT_OBJECT;
  out->object = Py_NewRef(v && v->kind == FX_OBJECT ? v->object : item);
  return true;
}

static bool fx_output(fx_import *im, PyObject *node, fx_result **results, uint32_t *count) {
  PyObject *args = PyObject_GetAttrString(node, "args");
  PyObject *given = args ? PyTuple_GET_ITEM(args, 0) : NULL;
  bool many = given && (PyList_Check(given) || PyTuple_Check(given));
  PyObject *list = !given ? NULL : many ? Py_NewRef(given) : PyTuple_Pack(1, given);
  Py_ssize_t n = list ? PySequence_Fast_GET_SIZE(list) : 0;
  fx_result *all = calloc((size_t)n + 1, sizeof *all);
  bool good = list && all;
  for (Py_ssize_t i = 0; i < n && good; i++)
    good = fx_result_of(im, list, i, all);
  *results = all;
  *count = (uint32_t)n;
  Py_XDECREF(list);
  Py_XDECREF(args);
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
  im->constants = PyList_New(0);
  im->index = PyDict_New();
  im->hosts = PyList_New(0);
  im->host_reasons = PyList_New(0);
  PyObject *list = fx_nodes(module);
  Py_ssize_t count = list ? PyList_GET_SIZE(list) : 0;
  im->inputs = calloc((size_t)count + 1, sizeof *im->inputs);
  bool good = list && im->index && im->constants && im->hosts && im->host_reasons && im->inputs;
  for (Py_ssize_t i = 0; good && i < count; i++)
    good = fx_node(im, PyList_GET_ITEM(list, i), results, result_count);
  Py_XDECREF(list);
  if (!good && !PyErr_Occurred()) PyErr_NoMemory();
  return good;
}

void fx_import_fini(fx_import *im) {
  free(im->values);
  free(im->inputs);
  Py_XDECREF(im->index);
  Py_XDECREF(im->constants);
  Py_XDECREF(im->hosts);
  Py_XDECREF(im->host_reasons);
}
