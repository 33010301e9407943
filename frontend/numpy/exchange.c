/* Buffers of a graph as arrays, for backends written in Python: what they get, and what they give.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/size_internal.h"

#include <fenv.h>

static PyArrayObject *buffer_array(const loom_buffer *b, bool writeable) {
  npy_intp dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  npy_intp size = (npy_intp)loom_dtype_size(b->type.dtype);
  for (int i = 0; i < b->type.rank; i++) {
    dims[i] = b->type.dims[i];
    strides[i] = b->strides[i] * size;
  }
  return (PyArrayObject *)PyArray_NewFromDescr(&PyArray_Type, np_descr(b->type.dtype), b->type.rank,
                                               dims, strides, b->data,
                                               writeable ? NPY_ARRAY_WRITEABLE : 0, NULL);
}

PyObject *numpy_buffer_wrap(const loom_buffer *buffer, PyObject *owner) {
  PyArrayObject *array = buffer_array(buffer, false);
  if (array && owner && PyArray_SetBaseObject(array, Py_NewRef(owner)) < 0) Py_CLEAR(array);
  if (array) PyArray_UpdateFlags(array, NPY_ARRAY_UPDATE_ALL);
  if (owner || !array) return (PyObject *)array;
  PyObject *copy = PyArray_NewCopy(array, NPY_KEEPORDER); /* the buffer is gone after this call */
  Py_DECREF(array);
  return copy;
}

/* Dtype and sizes of what was given, in a message. */
static bool buffer_fits(const loom_buffer *b, PyArrayObject *from, const char *what) {
  PyArray_Descr *wanted = np_descr(b->type.dtype);
  bool dtype = PyArray_EquivTypes(PyArray_DESCR(from), wanted), sizes = true;
  if (!dtype)
    PyErr_Format(PyExc_TypeError, "%s has dtype %S, not %S", what, PyArray_DESCR(from), wanted);
  Py_DECREF(wanted);
  if (!dtype) return false;
  sizes = PyArray_NDIM(from) == b->type.rank;
  for (int i = 0; sizes && i < b->type.rank; i++)
    sizes = PyArray_DIM(from, i) == b->type.dims[i];
  if (sizes) return true;
  PyObject *shape = PyObject_GetAttrString((PyObject *)from, "shape");
  PyObject *expected = PyTuple_New(b->type.rank);
  for (int i = 0; expected && i < b->type.rank; i++)
    PyTuple_SET_ITEM(expected, i, PyLong_FromLongLong(b->type.dims[i]));
  if (shape && expected)
    PyErr_Format(PyExc_ValueError, "%s has the shape %S, not %S", what, shape, expected);
  Py_XDECREF(shape);
  Py_XDECREF(expected);
  return false;
}

bool numpy_buffer_store(const loom_buffer *buffer, PyObject *from, const char *what) {
  PyArrayObject *array = (PyArrayObject *)PyArray_FROM_O(from), *to = NULL;
  bool good = array && buffer_fits(buffer, array, what);
  if (good) to = buffer_array(buffer, true);
  if (to) PyArray_UpdateFlags(to, NPY_ARRAY_UPDATE_ALL);
  good = to && PyArray_CopyInto(to, array) == 0;
  Py_XDECREF(array);
  Py_XDECREF(to);
  return good;
}

/* ---- running a graph ---- */

/* The arrays that a graph is called with, as buffers, and what its symbols are. */
typedef struct graph_run {
  const capture *c;
  loom_buffer *inputs, *outputs;
  PyArrayObject **arrays; /* inputs, then outputs: owned */
  int64_t symbols[LOOM_MAX_SYMBOLS];
  PyObject *kept;
} graph_run;

#define RUN_UNKNOWN INT64_MIN

/* A symbol that stands alone, or -1. */
static int64_t run_symbol(const loom_graph *graph, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return -1;
  const loom_expr *e = &graph->exprs[LOOM_STRIDE_EXPR(number)];
  return e->kind == LOOM_EXPR_SYMBOL && e->value < LOOM_MAX_SYMBOLS ? e->value : -1;
}

static void run_bind(graph_run *r, int64_t number, int64_t now) {
  int64_t symbol = run_symbol(&r->c->graph, number);
  if (symbol >= 0 && r->symbols[symbol] == RUN_UNKNOWN) r->symbols[symbol] = now;
}

static bool run_take(graph_run *r, uint32_t i, PyObject *object) {
  const loom_graph *graph = &r->c->graph;
  const loom_type *type = loom_graph_type(graph, graph->inputs[i].value);
  PyArrayObject *a = (PyArrayObject *)PyArray_FROM_O(object);
  r->arrays[i] = a;
  if (!a) return false;
  PyArray_Descr *wanted = np_descr(type->dtype);
  if (PyArray_NDIM(a) != type->rank || !PyArray_EquivTypes(PyArray_DESCR(a), wanted)) {
    PyErr_Format(PyExc_TypeError, "input %u of the graph has dtype %S and %d dimensions", i, wanted,
                 (int)type->rank);
    Py_DECREF(wanted);
    return false;
  }
  /* The buffer has the strides of an element of its own: an aligned copy where it has others. */
  r->arrays[i] = (PyArrayObject *)PyArray_FromArray(a, wanted, NPY_ARRAY_CARRAY_RO);
  Py_DECREF(a);
  if (!(a = r->arrays[i])) return false;
  r->inputs[i] = (loom_buffer){.data = PyArray_DATA(a), .type = *type};
  for (int d = 0; d < type->rank; d++) {
    run_bind(r, loom_stride_of_dim(type->dims[d]), PyArray_DIM(a, d));
    r->inputs[i].type.dims[d] = PyArray_DIM(a, d);
  }
  loom_contiguous_strides(&r->inputs[i].type, r->inputs[i].strides);
  if (type->rank == 0 && loom_dtype_is_integer(type->dtype))
    run_bind(r, r->c->inputs[i].size, *(int64_t *)PyArray_DATA(a));
  return true;
}

static bool expr_has(const loom_graph *graph, int64_t number, int64_t symbol) {
  if (!LOOM_STRIDE_IS_SYM(number) || LOOM_STRIDE_EXPR(number) >= graph->expr_count) return false;
  const loom_expr *e = &graph->exprs[LOOM_STRIDE_EXPR(number)];
  if (e->kind == LOOM_EXPR_CONST) return false;
  if (e->kind == LOOM_EXPR_SYMBOL) return e->value == symbol;
  return expr_has(graph, LOOM_STRIDE_SYM(e->lhs), symbol) ||
         expr_has(graph, LOOM_STRIDE_SYM(e->rhs), symbol);
}

static bool node_has(const loom_graph *graph, const loom_node *node, int64_t symbol);

/* Does anything in the graph depend on the symbol? Capture may have made one that nothing needs. */
static bool graph_has(const loom_graph *graph, int64_t symbol) {
  for (uint32_t i = 0; i < graph->value_count; i++) {
    const loom_type *type = &graph->values[i].type;
    for (int d = 0; d < type->rank; d++)
      if (expr_has(graph, loom_stride_of_dim(type->dims[d]), symbol)) return true;
  }
  for (uint32_t i = 0; i < graph->node_count; i++)
    if (node_has(graph, &graph->nodes[i], symbol)) return true;
  return false;
}

static bool node_has(const loom_graph *graph, const loom_node *node, int64_t symbol) {
  for (int i = 0; i < LOOM_MAX_ATTRS; i++)
    for (int k = 0; node->attrs[i].kind == LOOM_ATTR_I64S && k < node->attrs[i].count; k++)
      if (expr_has(graph, node->attrs[i].ints[k], symbol)) return true;
  for (int i = 0; node->regions && i < loom_op_table[node->op].regions; i++)
    if (graph_has(node->regions[i], symbol)) return true;
  return false;
}

static bool run_check(graph_run *r) {
  const loom_graph *graph = &r->c->graph;
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++)
    if (r->symbols[i] == RUN_UNKNOWN && !graph_has(graph, i)) {
      r->symbols[i] = graph->symbols[i].hint;
    } else if (r->symbols[i] == RUN_UNKNOWN) {
      PyErr_Format(PyExc_ValueError,
                   "the symbol s%u is no size of an input: this graph cannot be "
                   "run by itself",
                   i);
      return false;
    }
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const loom_type *type = loom_graph_type(graph, graph->inputs[i].value);
    for (int d = 0; d < type->rank; d++) {
      int64_t size;
      if (loom_dim_eval(graph, type->dims[d], r->symbols, &size) &&
          size == r->inputs[i].type.dims[d])
        continue;
      PyErr_Format(PyExc_ValueError, "input %u of the graph has another size in dimension %d", i,
                   d);
      return false;
    }
  }
  return true;
}

static bool run_outputs(graph_run *r) {
  const loom_graph *graph = &r->c->graph;
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const loom_type *type = loom_graph_type(graph, graph->outputs[i].value);
    npy_intp dims[LOOM_MAX_RANK];
    loom_buffer *b = &r->outputs[i];
    b->type = *type;
    for (int d = 0; d < type->rank; d++) {
      if (!loom_dim_eval(graph, type->dims[d], r->symbols, &b->type.dims[d]))
        return PyErr_SetString(PyExc_ValueError, "a size of a result overflows"), false;
      dims[d] = b->type.dims[d];
    }
    PyArrayObject *a = (PyArrayObject *)PyArray_Zeros(type->rank, dims, np_descr(type->dtype), 0);
    if (!a) return false;
    r->arrays[graph->input_count + i] = a;
    b->data = PyArray_DATA(a);
    loom_contiguous_strides(&b->type, b->strides);
  }
  return true;
}

static int run_host(void *context, uint32_t slot, void **buffers, uint32_t reads, uint32_t count,
                    const int64_t *symbols) {
  graph_run *r = context;
  return np_host_run((void *)r->c, "numpy", slot, buffers, reads, count, r->symbols, &r->kept);
}

static PyObject *run_results(graph_run *r) {
  const loom_graph *graph = &r->c->graph;
  PyObject *tuple = PyTuple_New(graph->output_count);
  for (uint32_t i = 0; tuple && i < graph->output_count; i++)
    PyTuple_SET_ITEM(tuple, i, Py_NewRef(r->arrays[graph->input_count + i]));
  return tuple;
}

static PyObject *run_interpreter(graph_run *r) {
  loom_error err = {.message = "a size overflows"};
  feclearexcept(FE_ALL_EXCEPT);
  bool good =
      loom_interpret_hosted(&r->c->graph, r->inputs, r->outputs, r->symbols, run_host, r, &err);
  feclearexcept(FE_ALL_EXCEPT);
  if (good) return run_results(r);
  if (!PyErr_Occurred())
    PyErr_Format(PyExc_RuntimeError, "the graph cannot be run: %s", err.message);
  return NULL;
}

PyObject *numpy_graph_run(const capture *c, PyObject *const *args, Py_ssize_t count) {
  const loom_graph *graph = &c->graph;
  uint32_t all = graph->input_count + graph->output_count;
  graph_run r = {.c = c};
  PyObject *result = NULL;
  if (count != graph->input_count) {
    PyErr_Format(PyExc_TypeError, "the graph takes %u inputs, not %zd",
                 (unsigned)graph->input_count, count);
    return NULL;
  }
  if (c->late) {
    PyErr_SetString(PyExc_NotImplementedError, "the graph has sizes that depend on data");
    return NULL;
  }
  for (int i = 0; i < LOOM_MAX_SYMBOLS; i++)
    r.symbols[i] = RUN_UNKNOWN;
  r.inputs = calloc((size_t)all + 1, sizeof *r.inputs);
  r.arrays = calloc((size_t)all + 1, sizeof *r.arrays);
  r.outputs = r.inputs ? r.inputs + graph->input_count : NULL;
  bool good = r.inputs && r.arrays;
  if (!good) PyErr_NoMemory();
  for (uint32_t i = 0; good && i < graph->input_count; i++)
    good = run_take(&r, i, args[i]);
  if (good && run_check(&r) && run_outputs(&r)) result = run_interpreter(&r);
  for (uint32_t i = 0; r.arrays && i < all; i++)
    Py_XDECREF(r.arrays[i]);
  Py_XDECREF(r.kept);
  free(r.arrays);
  free(r.inputs);
  return result;
}
