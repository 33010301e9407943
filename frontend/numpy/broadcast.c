/* np.broadcast(a, b, ...): an object that holds its operands and says the sizes they have together.
 * Only the sizes are followed. Everything else of the object is its state as an iterator, and the
 * operands themselves: whoever asks for these gets the real object, made of the real operands. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <opcode.h>
#include <string.h>

enum { BROADCAST_MOST = 64 }; /* NPY_MAXARGS */

/* any.a: the sizes, a tuple; any.b: the operands, a tuple. */
static value *broadcast_sizes(value *v) { return v->any.a; }
static value *broadcast_operands(value *v) { return v->any.b; }

static value *broadcast_size(tracer *t, value *v) {
  value *product = np_int(t, 1);
  value *sizes = broadcast_sizes(v);
  for (Py_ssize_t i = 0; product && i < sizes->seq.count; i++)
    product = trace_binary(t, NB_MULTIPLY, product, sizes->seq.items[i], false);
  return product;
}

static value *broadcast_get_attr(tracer *t, value *v, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (!text) return trace_raise_live(t);
  if (strcmp(text, "shape") == 0) return broadcast_sizes(v);
  if (strcmp(text, "ndim") == 0 || strcmp(text, "nd") == 0)
    return np_int(t, broadcast_sizes(v)->seq.count);
  if (strcmp(text, "numiter") == 0) return np_int(t, broadcast_operands(v)->seq.count);
  if (strcmp(text, "size") == 0) return broadcast_size(t, v);
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of what np.broadcast gave", text);
}

static PyObject *broadcast_python_type(tracer *t, value *v) {
  return (PyObject *)&PyArrayMultiIter_Type;
}

/* np.broadcast(*operands) */
static recipe *broadcast_rebuild(tracer *t, value *v) {
  value *operands = broadcast_operands(v);
  recipe *r = trace_recipe(t, RECIPE_CALL), *make = r ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!make) return NULL;
  make->object = Py_NewRef((PyObject *)&PyArrayMultiIter_Type);
  r->items = calloc((size_t)operands->seq.count + 1, sizeof *r->items);
  if (!r->items) {
    PyErr_NoMemory();
    return trace_raise_live(t), NULL;
  }
  r->items[r->count++] = make;
  for (Py_ssize_t i = 0; i < operands->seq.count; i++)
    if (!(r->items[r->count++] = trace_rebuild(t, operands->seq.items[i]))) return NULL;
  return r;
}

static const value_type broadcast_type = {.name = "np.broadcast",
                                          .get_attr = broadcast_get_attr,
                                          .python_type = broadcast_python_type,
                                          .rebuild = broadcast_rebuild};

/* Adds the operands of one argument: those of another np.broadcast, or the argument. */
static bool broadcast_add(tracer *t, value *arg, value **items, np_operand *o, int *count) {
  bool nested = arg->type == &broadcast_type;
  value *inner = nested ? broadcast_operands(arg) : NULL;
  for (Py_ssize_t i = 0; i < (nested ? inner->seq.count : 1); i++) {
    if (*count == BROADCAST_MOST)
      return trace_break(t, BREAK_NUMPY_FUNCTION, "np.broadcast of more than 64 operands") != NULL;
    value *item = nested ? inner->seq.items[i] : arg;
    if (!np_is_array(item))
      return trace_break(t, BREAK_NUMPY_FUNCTION, "np.broadcast of what is no array") != NULL;
    o[*count] = (np_operand){.array = np_array_of(item)};
    items[(*count)++] = item;
  }
  return true;
}

value *np_broadcast_object(tracer *t, const np_call *c) {
  value *items[BROADCAST_MOST], *sizes[LOOM_MAX_RANK];
  np_operand o[BROADCAST_MOST];
  int count = 0, rank;
  int64_t dims[LOOM_MAX_RANK];
  if (c->kwnames) return np_unsupported(t, c, "with keywords");
  for (Py_ssize_t i = 0; i < c->count; i++)
    if (!broadcast_add(t, c->args[i], items, o, &count)) return NULL;
  if (!np_broadcast(t, o, count, &rank, dims)) return NULL;
  for (int i = 0; i < rank; i++)
    if (!(sizes[i] = np_number(t, dims[i]))) return NULL;
  value *v = value_new(t, &broadcast_type);
  if (!v) return NULL;
  v->any.a = value_tuple(t, sizes, rank);
  v->any.b = value_tuple(t, items, count);
  return v->any.a && v->any.b ? v : NULL;
}
