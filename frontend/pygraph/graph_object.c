/* frameloom.Graph: a captured graph that can be read from Python, printed and run. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/pygraph/internal.h"
#include "frontend/pygraph/pygraph.h"

#include <string.h>
#include <structmember.h>

static PyTypeObject loom_graph_object_type;

/* ---- making one ------------------------------------------------------------------------------ */

static graph_object *graph_alloc(PyObject *name) {
  graph_object *g = (graph_object *)loom_graph_object_type.tp_alloc(&loom_graph_object_type, 0);
  if (g) g->name = Py_NewRef(name);
  return g;
}

static bool graph_copy_inputs(graph_object *g, const capture *c) {
  capture *own = &g->captured;
  own->inputs = calloc((size_t)c->input_count + 1, sizeof *own->inputs);
  if (!own->inputs) return false;
  own->input_count = c->input_count;
  for (uint32_t i = 0; i < c->input_count; i++)
    own->inputs[i].size = c->inputs[i].source || c->inputs[i].constant ? 0 : c->inputs[i].size;
  return true;
}

static bool graph_copy_warnings(graph_object *g, const capture *c) {
  capture *own = &g->captured;
  own->fp_ops = c->fp_ops;
  own->fp_reported = c->fp_reported;
  own->fp_untold = c->fp_untold;
  own->warnings = calloc((size_t)c->warning_count + 1, sizeof *own->warnings);
  if (!own->warnings) return false;
  own->warning_count = c->warning_count;
  for (uint32_t i = 0; i < c->warning_count; i++)
    own->warnings[i] = c->warnings[i];
  return true;
}

PyObject *graph_object_new(const capture *c, PyObject *name) {
  graph_object *g = graph_alloc(name);
  if (!g) return NULL;
  g->graph = &g->captured.graph;
  g->captured.hosts = Py_XNewRef(c->hosts);
  g->captured.late = c->late;
  if (loom_graph_copy(&c->graph, &g->captured.graph) && graph_copy_inputs(g, c) &&
      graph_copy_warnings(g, c))
    return (PyObject *)g;
  Py_DECREF(g);
  return PyErr_NoMemory();
}

PyObject *graph_object_of(loom_graph *graph, PyObject *name) {
  graph_object *g = graph_alloc(name);
  if (!g) return NULL;
  g->captured.graph = *graph;
  loom_graph_init(graph);
  g->graph = &g->captured.graph;
  return (PyObject *)g;
}

static PyObject *graph_region(graph_object *outer, const loom_graph *region) {
  graph_object *owner = outer->owner ? outer->owner : outer;
  graph_object *g = graph_alloc(outer->name);
  if (!g) return NULL;
  g->graph = region;
  g->owner = (graph_object *)Py_NewRef(owner);
  return (PyObject *)g;
}

PyObject *graph_node_regions(graph_object *graph, const loom_node *node) {
  int count = loom_op_table[node->op].regions;
  if (!node->regions || count < 0) count = 0;
  PyObject *regions = PyTuple_New(count);
  for (int i = 0; regions && i < count; i++) {
    PyObject *region = graph_region(graph, node->regions[i]);
    if (!region) Py_CLEAR(regions);
    if (region) PyTuple_SET_ITEM(regions, i, region);
  }
  return regions;
}

static int graph_traverse(PyObject *self, visitproc visit, void *arg) {
  graph_object *g = (graph_object *)self;
  Py_VISIT(g->owner);
  Py_VISIT(g->captured.hosts);
  return 0;
}

static int graph_clear(PyObject *self) {
  Py_CLEAR(((graph_object *)self)->captured.hosts);
  return 0;
}

static void graph_dealloc(PyObject *self) {
  graph_object *g = (graph_object *)self;
  PyObject_GC_UnTrack(self);
  graph_clear(self);
  if (!g->owner) loom_graph_fini(&g->captured.graph);
  free(g->captured.inputs);
  free(g->captured.warnings);
  Py_XDECREF(g->owner);
  Py_XDECREF(g->name);
  Py_TYPE(self)->tp_free(self);
}

/* ---- reading --------------------------------------------------------------------------------- */

PyObject *graph_value_tuple(graph_object *graph, const loom_value *values, uint32_t count) {
  PyObject *tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple && i < count; i++) {
    PyObject *v = graph_value_new(graph, values[i]);
    if (!v) Py_CLEAR(tuple);
    if (v) PyTuple_SET_ITEM(tuple, i, v);
  }
  return tuple;
}

static PyObject *graph_tuple(graph_object *graph, uint32_t count,
                             PyObject *(*item)(graph_object *graph, uint32_t i)) {
  PyObject *tuple = PyTuple_New(count);
  for (uint32_t i = 0; tuple && i < count; i++) {
    PyObject *made = item(graph, i);
    if (!made) Py_CLEAR(tuple);
    if (made) PyTuple_SET_ITEM(tuple, i, made);
  }
  return tuple;
}

static PyObject *graph_input(graph_object *g, uint32_t i) {
  return graph_value_new(g, g->graph->inputs[i].value);
}

static PyObject *graph_output(graph_object *g, uint32_t i) {
  return graph_value_new(g, g->graph->outputs[i].value);
}

static PyObject *graph_inputs(PyObject *self, void *unused) {
  graph_object *g = (graph_object *)self;
  return graph_tuple(g, g->graph->input_count, graph_input);
}

static PyObject *graph_outputs(PyObject *self, void *unused) {
  graph_object *g = (graph_object *)self;
  return graph_tuple(g, g->graph->output_count, graph_output);
}

static PyObject *graph_nodes(PyObject *self, void *unused) {
  graph_object *g = (graph_object *)self;
  return graph_tuple(g, g->graph->node_count, graph_node_new);
}

static PyObject *graph_symbols(PyObject *self, void *unused) {
  const loom_graph *graph = ((graph_object *)self)->graph;
  PyObject *dict = PyDict_New();
  for (uint32_t i = 0; dict && i < graph->symbol_count; i++) {
    const loom_symbol *s = &graph->symbols[i];
    char name[16];
    snprintf(name, sizeof name, "s%u", i);
    PyObject *range = Py_BuildValue("(LL)", (long long)s->min, (long long)s->max);
    if (!range || PyDict_SetItemString(dict, name, range) < 0) Py_CLEAR(dict);
    Py_XDECREF(range);
  }
  return dict;
}

static PyObject *graph_str(PyObject *self) {
  graph_object *g = (graph_object *)self;
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return PyErr_NoMemory();
  loom_graph_print(g->graph, stream);
  fclose(stream);
  PyObject *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  free(text);
  return made;
}

static PyObject *graph_repr(PyObject *self) {
  const graph_object *g = (const graph_object *)self;
  return PyUnicode_FromFormat("<frameloom.Graph %U: %u operations, %u inputs, %u outputs>", g->name,
                              (unsigned)g->graph->node_count, (unsigned)g->graph->input_count,
                              (unsigned)g->graph->output_count);
}

static PyObject *graph_code(PyObject *self, void *unused) {
  PyObject *module = PyImport_ImportModule("frameloom._graph_code");
  PyObject *text = module ? PyObject_CallMethod(module, "graph_code", "O", self) : NULL;
  Py_XDECREF(module);
  return text;
}

static PyObject *graph_print(PyObject *self, PyObject *unused) {
  PyObject *text = graph_str(self);
  if (text) PySys_FormatStdout("%U", text);
  Py_XDECREF(text);
  return text ? Py_NewRef(Py_None) : NULL;
}

static Py_ssize_t graph_length(PyObject *self) {
  return (Py_ssize_t)((graph_object *)self)->graph->node_count;
}

/* ---- running --------------------------------------------------------------------------------- */

static PyObject *graph_call(PyObject *self, PyObject *args, PyObject *kwargs) {
  graph_object *g = (graph_object *)self;
  if (kwargs && PyDict_GET_SIZE(kwargs)) {
    PyErr_SetString(PyExc_TypeError, "a graph takes no keyword arguments");
    return NULL;
  }
  if (g->owner) {
    PyErr_SetString(PyExc_TypeError, "a region of a graph is not run by itself");
    return NULL;
  }
  return loom_adapters()[0]->graph_run(&g->captured, &PyTuple_GET_ITEM(args, 0),
                                       PyTuple_GET_SIZE(args));
}

static PyMethodDef graph_methods[] = {
    {"print", graph_print, METH_NOARGS, PyDoc_STR("Prints the graph as MLIR text.")},
    {NULL, NULL, 0, NULL}};

static PyMemberDef graph_members[] = {{"name", T_OBJECT, offsetof(graph_object, name), READONLY,
                                       "The function, and the line where its part begins."},
                                      {NULL, 0, 0, 0, NULL}};

static PyGetSetDef graph_getset[] = {
    {"inputs", graph_inputs, NULL, "Its inputs: a tuple of values.", NULL},
    {"outputs", graph_outputs, NULL, "What it gives: a tuple of values.", NULL},
    {"nodes", graph_nodes, NULL, "Its operations in order: a tuple.", NULL},
    {"symbols", graph_symbols, NULL, "Symbolic sizes: {name: (least, largest)}.", NULL},
    {"code", graph_code, NULL, "The graph in the manner of Python code, with the user's lines.",
     NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PySequenceMethods graph_sequence = {.sq_length = graph_length};

static PyTypeObject loom_graph_object_type = {
    PyVarObject_HEAD_INIT(NULL, 0).tp_name = "frameloom.Graph",
    .tp_doc = PyDoc_STR("A captured graph. Calling it with an array for each input runs it in the "
                        "reference interpreter and gives a tuple of arrays."),
    .tp_basicsize = sizeof(graph_object),
    .tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC | Py_TPFLAGS_DISALLOW_INSTANTIATION,
    .tp_dealloc = graph_dealloc,
    .tp_traverse = graph_traverse,
    .tp_clear = graph_clear,
    .tp_repr = graph_repr,
    .tp_str = graph_str,
    .tp_call = graph_call,
    .tp_as_sequence = &graph_sequence,
    .tp_methods = graph_methods,
    .tp_members = graph_members,
    .tp_getset = graph_getset,
};

const loom_graph *graph_object_graph(PyObject *object) {
  if (Py_IS_TYPE(object, &loom_graph_object_type)) return ((graph_object *)object)->graph;
  PyErr_Format(PyExc_TypeError, "%.100s is no graph", Py_TYPE(object)->tp_name);
  return NULL;
}

const capture *graph_object_capture(PyObject *object) {
  const loom_graph *graph = graph_object_graph(object);
  if (!graph) return NULL;
  if (!((graph_object *)object)->owner) return &((graph_object *)object)->captured;
  PyErr_SetString(PyExc_TypeError, "a region of a graph has no warnings of its own");
  return NULL;
}

bool loom_graph_object_init(PyObject *module) {
  return PyType_Ready(&loom_graph_object_type) == 0 && PyType_Ready(&loom_graph_node_type) == 0 &&
         PyType_Ready(&loom_graph_value_type) == 0 &&
         PyModule_AddObjectRef(module, "Graph", (PyObject *)&loom_graph_object_type) == 0 &&
         PyModule_AddObjectRef(module, "Node", (PyObject *)&loom_graph_node_type) == 0 &&
         PyModule_AddObjectRef(module, "Value", (PyObject *)&loom_graph_value_type) == 0;
}
