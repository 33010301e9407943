/* Operations and values of a graph as Python objects: a reference to the graph and a number. */
#include "frontend/base/base.h"
#include "frontend/pygraph/internal.h"
#include "loom_ops_control.h"

#include <string.h>

typedef struct graph_item {
  PyObject_HEAD graph_object *graph; /* owned */
  uint32_t number;
} graph_item;

static PyObject *item_new(PyTypeObject *type, graph_object *graph, uint32_t number) {
  graph_item *item = (graph_item *)type->tp_alloc(type, 0);
  if (!item) return NULL;
  item->graph = (graph_object *)Py_NewRef(graph);
  item->number = number;
  return (PyObject *)item;
}

PyObject *graph_node_new(graph_object *graph, uint32_t number) {
  return item_new(&loom_graph_node_type, graph, number);
}

PyObject *graph_value_new(graph_object *graph, loom_value value) {
  return item_new(&loom_graph_value_type, graph, value);
}

static void item_dealloc(PyObject *self) {
  Py_DECREF(((graph_item *)self)->graph);
  Py_TYPE(self)->tp_free(self);
}

static PyObject *item_compare(PyObject *a, PyObject *b, int op) {
  if (!Py_IS_TYPE(b, Py_TYPE(a)) || (op != Py_EQ && op != Py_NE)) Py_RETURN_NOTIMPLEMENTED;
  const graph_item *l = (const graph_item *)a, *r = (const graph_item *)b;
  bool same = l->graph->graph == r->graph->graph && l->number == r->number;
  return PyBool_FromLong(same == (op == Py_EQ));
}

static Py_hash_t item_hash(PyObject *self) {
  const graph_item *item = (const graph_item *)self;
  return (Py_hash_t)(((uintptr_t)item->graph->graph >> 4) + item->number * 1000003u);
}

static PyObject *item_graph(PyObject *self, void *unused) {
  return Py_NewRef(((graph_item *)self)->graph);
}

#define ITEM_SLOTS(name, doc)                                                                      \
  PyVarObject_HEAD_INIT(NULL, 0).tp_name = name, .tp_doc = PyDoc_STR(doc),                         \
                              .tp_basicsize = sizeof(graph_item),                                  \
                              .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION,  \
                              .tp_dealloc = item_dealloc, .tp_richcompare = item_compare,          \
                              .tp_hash = item_hash

/* ---- numbers that may be symbolic ---- */

static PyObject *number_text(const loom_graph *graph, uint32_t index) {
  static const char *const words[] = {
      [LOOM_EXPR_ADD] = "(%U + %U)",     [LOOM_EXPR_MUL] = "%U*%U",
      [LOOM_EXPR_FLOORDIV] = "%U // %U", [LOOM_EXPR_MOD] = "%U %% %U",
      [LOOM_EXPR_MIN] = "min(%U, %U)",   [LOOM_EXPR_MAX] = "max(%U, %U)"};
  const loom_expr *e = &graph->exprs[index];
  if (e->kind == LOOM_EXPR_CONST) return PyUnicode_FromFormat("%lld", (long long)e->value);
  if (e->kind == LOOM_EXPR_SYMBOL) return PyUnicode_FromFormat("s%lld", (long long)e->value);
  PyObject *l = number_text(graph, e->lhs), *r = number_text(graph, e->rhs), *text = NULL;
  if (l && r) text = PyUnicode_FromFormat(words[e->kind], l, r);
  Py_XDECREF(l);
  Py_XDECREF(r);
  return text;
}

/* An int, or a str in symbols. */
static PyObject *number_object(const loom_graph *graph, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number) && LOOM_STRIDE_EXPR(number) < graph->expr_count)
    return number_text(graph, LOOM_STRIDE_EXPR(number));
  return PyLong_FromLongLong(number);
}

static PyObject *number_tuple(const loom_graph *graph, const int64_t *numbers, int count,
                              bool sizes) {
  PyObject *tuple = PyTuple_New(count);
  for (int i = 0; tuple && i < count; i++) {
    int64_t number = sizes ? loom_stride_of_dim(numbers[i]) : numbers[i];
    PyObject *item = number_object(graph, number);
    if (!item) Py_CLEAR(tuple);
    if (item) PyTuple_SET_ITEM(tuple, i, item);
  }
  return tuple;
}

/* ---- values ---- */

static const loom_value_info *value_info(PyObject *self) {
  const graph_item *item = (const graph_item *)self;
  return &item->graph->graph->values[item->number];
}

static const loom_graph *item_loom_graph(PyObject *self) {
  return ((graph_item *)self)->graph->graph;
}

static PyObject *value_name(PyObject *self, void *unused) {
  const loom_value_info *info = value_info(self);
  if (info->node < 0) return PyUnicode_FromFormat("%%arg%d", (int)info->index);
  const loom_node *node = &item_loom_graph(self)->nodes[info->node];
  if (node->result_count == 1) return PyUnicode_FromFormat("%%%u", (unsigned)node->first_result);
  return PyUnicode_FromFormat("%%%u#%d", (unsigned)node->first_result, (int)info->index);
}

static PyObject *value_type_text(PyObject *self, void *unused) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return PyErr_NoMemory();
  loom_type_print(item_loom_graph(self), &value_info(self)->type, stream);
  fclose(stream);
  PyObject *made = PyUnicode_FromStringAndSize(text, (Py_ssize_t)size);
  free(text);
  return made;
}

static PyObject *value_dtype(PyObject *self, void *unused) {
  return PyUnicode_FromString(loom_dtype_name(value_info(self)->type.dtype));
}

static PyObject *value_shape(PyObject *self, void *unused) {
  const loom_type *type = &value_info(self)->type;
  return number_tuple(item_loom_graph(self), type->dims, type->rank, true);
}

static PyObject *value_node(PyObject *self, void *unused) {
  const loom_value_info *info = value_info(self);
  if (info->node < 0) Py_RETURN_NONE;
  return graph_node_new(((graph_item *)self)->graph, (uint32_t)info->node);
}

static PyObject *value_index(PyObject *self, void *unused) {
  return PyLong_FromLong(value_info(self)->index);
}

static PyObject *value_kind(PyObject *self, void *unused) {
  static const char *const kinds[] = {"array", "scalar", "constant"};
  const loom_value_info *info = value_info(self);
  return PyUnicode_FromString(
      info->node >= 0 ? "result" : kinds[item_loom_graph(self)->inputs[info->index].kind]);
}

static PyObject *value_strides(PyObject *self, void *unused) {
  const loom_value_info *info = value_info(self);
  const loom_graph *graph = item_loom_graph(self);
  if (info->node >= 0 || graph->inputs[info->index].kind == LOOM_INPUT_SCALAR) Py_RETURN_NONE;
  return number_tuple(graph, graph->inputs[info->index].strides, info->type.rank, false);
}

static PyObject *value_repr(PyObject *self) {
  PyObject *name = value_name(self, NULL), *type = value_type_text(self, NULL), *text = NULL;
  if (name && type) text = PyUnicode_FromFormat("<frameloom.Value %U: %U>", name, type);
  Py_XDECREF(name);
  Py_XDECREF(type);
  return text;
}

static PyGetSetDef value_getset[] = {
    {"name", value_name, NULL, "As it is printed: \"%arg0\", \"%3\".", NULL},
    {"type", value_type_text, NULL, "Its type as MLIR text.", NULL},
    {"dtype", value_dtype, NULL, "NumPy's name of its dtype.", NULL},
    {"shape", value_shape, NULL, "Sizes: ints, or strs in symbols.", NULL},
    {"node", value_node, NULL, "The operation that makes it; None for an input.", NULL},
    {"index", value_index, NULL, "Which result of the operation, or which input.", NULL},
    {"kind", value_kind, NULL, "\"result\"; of inputs \"array\", \"scalar\" or \"constant\".",
     NULL},
    {"strides", value_strides, NULL, "Of an input array: in elements; else None.", NULL},
    {"graph", item_graph, NULL, "The graph that it belongs to.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject loom_graph_value_type = {
    ITEM_SLOTS("frameloom.Value", "An array in a graph: an input, or a result of an operation."),
    .tp_repr = value_repr, .tp_getset = value_getset};

/* ---- nodes ---- */

static const loom_node *node_of(PyObject *self) {
  const graph_item *item = (const graph_item *)self;
  return &item->graph->graph->nodes[item->number];
}

static PyObject *node_op(PyObject *self, void *unused) {
  return PyUnicode_FromString(loom_op_table[node_of(self)->op].name);
}

static PyObject *node_operands(PyObject *self, void *unused) {
  const loom_node *node = node_of(self);
  return graph_value_tuple(((graph_item *)self)->graph, node->operands, node->operand_count);
}

static PyObject *node_results(PyObject *self, void *unused) {
  const loom_node *node = node_of(self);
  PyObject *tuple = PyTuple_New(node->result_count);
  for (uint32_t i = 0; tuple && i < node->result_count; i++) {
    PyObject *v = graph_value_new(((graph_item *)self)->graph, node->first_result + i);
    if (!v) Py_CLEAR(tuple);
    if (v) PyTuple_SET_ITEM(tuple, i, v);
  }
  return tuple;
}

static PyObject *attr_scalar(const loom_attr *attr, loom_dtype dtype) {
  loom_cell cell = loom_cell_from_attr(dtype, attr);
  switch (loom_dtype_class(dtype)) {
  case 'b': return PyBool_FromLong(cell.i != 0);
  case 'i': return PyLong_FromLongLong(cell.i);
  case 'u': return PyLong_FromUnsignedLongLong((uint64_t)cell.i);
  case 'f': return PyFloat_FromDouble(cell.re);
  default: return PyComplex_FromDoubles(cell.re, cell.im);
  }
}

static PyObject *attr_object(PyObject *self, const loom_attr *attr) {
  const loom_node *node = node_of(self);
  const loom_graph *graph = item_loom_graph(self);
  switch (attr->kind) {
  case LOOM_ATTR_I64: return PyLong_FromLongLong(attr->i);
  case LOOM_ATTR_I64S: return number_tuple(graph, attr->ints, attr->count, false);
  case LOOM_ATTR_BOOL: return PyBool_FromLong(attr->i != 0);
  case LOOM_ATTR_STR: return PyUnicode_FromString(attr->str);
  case LOOM_ATTR_DTYPE: return PyUnicode_FromString(loom_dtype_name((loom_dtype)attr->i));
  case LOOM_ATTR_SCALAR:
    if (node->result_count) return attr_scalar(attr, graph->values[node->first_result].type.dtype);
    Py_RETURN_NONE;
  case LOOM_ATTR_NONE: break;
  }
  Py_RETURN_NONE;
}

static PyObject *node_attributes(PyObject *self, void *unused) {
  const loom_node *node = node_of(self);
  const loom_op_info *info = &loom_op_table[node->op];
  PyObject *dict = PyDict_New();
  for (int i = 0; dict && i < LOOM_MAX_ATTRS && info->attrs[i].name; i++) {
    PyObject *item = attr_object(self, &node->attrs[i]);
    if (!item || PyDict_SetItemString(dict, info->attrs[i].name, item) < 0) Py_CLEAR(dict);
    Py_XDECREF(item);
  }
  return dict;
}

static PyObject *node_location(PyObject *self, void *unused) {
  const loom_location *at = &node_of(self)->location;
  if (!at->file) Py_RETURN_NONE;
  return Py_BuildValue("(siiz)", at->file, (int)at->line, (int)at->column, at->function);
}

static PyObject *node_regions(PyObject *self, void *unused) {
  return graph_node_regions(((graph_item *)self)->graph, node_of(self));
}

static PyObject *node_target(PyObject *self, void *unused) {
  const loom_node *node = node_of(self);
  const graph_object *graph = ((graph_item *)self)->graph;
  PyObject *hosts = graph->owner ? graph->owner->captured.hosts : graph->captured.hosts;
  if (node->op != LOOM_OP_HOST_CALL || !hosts || node->attrs[2].i < 0 ||
      node->attrs[2].i >= PyList_GET_SIZE(hosts))
    Py_RETURN_NONE;
  return Py_NewRef(PyTuple_GET_ITEM(PyList_GET_ITEM(hosts, node->attrs[2].i), 0));
}

static PyObject *node_repr(PyObject *self) {
  PyObject *operands = node_operands(self, NULL), *results = node_results(self, NULL), *text = NULL;
  if (operands && results)
    text = PyUnicode_FromFormat("<frameloom.Node %s: %zd operands, %zd results>",
                                loom_op_table[node_of(self)->op].name, PyTuple_GET_SIZE(operands),
                                PyTuple_GET_SIZE(results));
  Py_XDECREF(operands);
  Py_XDECREF(results);
  return text;
}

static PyGetSetDef node_getset[] = {
    {"op", node_op, NULL, "The operation's name, without \"loom.\".", NULL},
    {"operands", node_operands, NULL, "A tuple of values.", NULL},
    {"results", node_results, NULL, "A tuple of values.", NULL},
    {"attributes", node_attributes, NULL, "{name: value}.", NULL},
    {"location", node_location, NULL, "(file, line, column, function) of the user, or None.", NULL},
    {"regions", node_regions, NULL, "Of for, while and if: graphs.", NULL},
    {"target", node_target, NULL, "Of host_call: the Python function that runs; else None.", NULL},
    {"graph", item_graph, NULL, "The graph that it belongs to.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

PyTypeObject loom_graph_node_type = {ITEM_SLOTS("frameloom.Node", "An operation of a graph."),
                                     .tp_repr = node_repr, .tp_getset = node_getset};
