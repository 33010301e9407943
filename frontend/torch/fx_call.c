/* One call of an operation of torch's: its arguments by the schema, its results by an emitter or
 * through torch.
 *
 * An emitter's result has to have exactly the type that torch declares (fx.c), else the call is
 * made through torch like one without an emitter, so that a mistake in an emitter's promotion or
 * shape rule cannot become a wrong answer. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"

#include <string.h>

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
  if (v && v->kind == FX_OBJECT) c->args[i] = v->object;
  if (!v || v->kind != FX_SIZE || LOOM_STRIDE_IS_SYM(v->number)) return true;
  c->args[i] = c->kept[i] = PyLong_FromLongLong(v->number);
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

bool fx_declared(fx_call *c) {
  bool many = PyTuple_Check(c->meta) || PyList_Check(c->meta);
  Py_ssize_t count = many ? PySequence_Fast_GET_SIZE(c->meta) : 1;
  if (count > FX_MAX_RESULTS) return fx_decline(c, "%zd results", count);
  c->result_count = (uint32_t)count;
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *meta = many ? PySequence_Fast_GET_ITEM(c->meta, i) : c->meta;
    c->present[i] = fx_is_fake_tensor(meta);
    if (c->present[i] && !fx_read_type(c->im, meta, &c->types[i])) {
      error_drop();
      return fx_decline(c, "a result of a dtype or size that is not compiled");
    }
  }
  return true;
}

/* Have the emitted values the types that torch declares? */
static bool fx_agrees(fx_call *c, const loom_value *values) {
  for (uint32_t i = 0; i < c->result_count; i++) {
    if (!c->present[i]) continue;
    if (values[i] == LOOM_NO_VALUE) return fx_decline(c, "a result is missing");
    if (!loom_type_equal(loom_emit_type(c->b, values[i]), &c->types[i]))
      return fx_decline(c, "a result of another type than torch's");
  }
  return true;
}

/* Results without elements are known without computing anything. */
static bool fx_emit_empty(fx_call *c, loom_value *values) {
  for (uint32_t i = 0; i < c->result_count; i++)
    if (!c->present[i] || loom_type_elements(&c->types[i]) != 0) return false;
  for (uint32_t i = 0; i < c->result_count; i++)
    values[i] = loom_emit_int(c->b, &c->types[i], 0);
  return c->result_count > 0 && !c->b->failed;
}

/* Is a size of an operand or a result symbolic? */
static bool fx_is_sized(fx_call *c) {
  bool sized = false;
  for (uint32_t i = 0; i < c->result_count; i++)
    sized |= c->present[i] && fx_count(&c->types[i], ~0u) < 0;
  for (int i = 0; i < c->count; i++) {
    PyObject *o = fx_has(c, i) ? c->args[i] : NULL;
    Py_ssize_t n = o && (PyList_Check(o) || PyTuple_Check(o)) ? PySequence_Fast_GET_SIZE(o) : -1;
    for (Py_ssize_t k = 0; o && k < (n < 0 ? 1 : n); k++) {
      const fx_value *v = fx_value_of(c->im, n < 0 ? o : PySequence_Fast_GET_ITEM(o, k));
      sized |= v && v->kind == FX_SIZE && LOOM_STRIDE_IS_SYM(v->number);
      sized |= v && v->kind == FX_TENSOR && fx_count(loom_emit_type(c->b, v->value), ~0u) < 0;
    }
  }
  return sized;
}

/* Where a graph was before an emitter that may decline. */
typedef struct fx_mark {
  uint32_t nodes, values, inputs;
} fx_mark;

static fx_mark fx_mark_of(const loom_graph *graph) {
  return (fx_mark){graph->node_count, graph->value_count, graph->input_count};
}

/* Drops what a declined emitter has built: a scatter or a check among that would be run for what it
 * may raise. Inputs that it has made stay, and then the rest as well. */
static void fx_go_back(fx_call *c, fx_mark mark) {
  loom_graph *graph = c->b->graph;
  for (int i = 0; i < FX_MAX_RESULTS; i++)
    c->wide[i] = LOOM_NO_VALUE;
  if (graph->input_count != mark.inputs) return;
  graph->node_count = mark.nodes;
  graph->value_count = mark.values;
}

/* Emits through the table; false without an exception: declined. */
static bool fx_emit(fx_call *c, loom_value *values) {
  PyObject *text = PyObject_Str(c->target); /* "aten.add.Tensor" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL;
  /* Rows of other libraries keep their prefix. */
  const aten_row *row = name ? aten_find(strncmp(name, "aten.", 5) ? name : name + 5) : NULL;
  bool good = false;
  fx_mark mark = fx_mark_of(c->b->graph);
  if (fx_emit_empty(c, values)) {
    good = true;
  } else if (name && strided_reads_storage(name) && !strided_takes_whole(c)) {
    good = false; /* nor could torch be given what there is */
  } else if (row && !aten_takes_sizes(row) && fx_is_sized(c)) {
    fx_decline(c, "sizes that change");
  } else if (row) {
    c->op = row->op;
    c->text = row->text;
    good = row->emit(c, values) && !c->b->failed && fx_agrees(c, values) &&
           fx_complex_ok(c, mark.nodes);
  } else {
    fx_decline(c, "there is no lowering");
  }
  if (c->b->failed) fx_decline(c, "%.150s", c->b->err.message);
  c->b->failed = false;
  if (!good) fx_go_back(c, mark);
  Py_XDECREF(text);
  return good;
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
