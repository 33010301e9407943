/* Ops over lists of tensors (torch._foreach_*, which optimizers are written in), element by
 * element.
 *
 * foreach.def names the op that each element goes through; that one is emitted, or runs through
 * torch, as if the model had called it. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"

#include <string.h>

static const struct foreach_row {
  const char *name, *op, *keyword;
} foreach_rows[] = {
#define FOREACH(NAME, OP, KEYWORD) {NAME, OP, KEYWORD},
#include "frontend/torch/foreach.def"
#undef FOREACH
};

static const struct foreach_row *foreach_find(PyObject *target) {
  PyObject *text = PyObject_Str(target); /* "aten._foreach_add.List" */
  const char *name = text ? PyUnicode_AsUTF8(text) : NULL, *prefix = "aten._foreach_";
  const struct foreach_row *found = NULL;
  bool is_one = name && !strncmp(name, prefix, strlen(prefix));
  for (size_t i = 0; is_one && i < sizeof foreach_rows / sizeof *foreach_rows; i++)
    if (!strcmp(foreach_rows[i].name, name + strlen(prefix))) found = &foreach_rows[i];
  error_drop();
  Py_XDECREF(text);
  return found;
}

/* torch.ops.aten.<op>.<overload>; a new reference. */
static PyObject *foreach_op(const char *path) {
  char name[64];
  const char *dot = strchr(path, '.');
  snprintf(name, sizeof name, "%.*s", (int)(dot - path), path);
  PyObject *torch = PyImport_ImportModule("torch");
  PyObject *ops = torch ? PyObject_GetAttrString(torch, "ops") : NULL;
  PyObject *aten = ops ? PyObject_GetAttrString(ops, "aten") : NULL;
  PyObject *packet = aten ? PyObject_GetAttrString(aten, name) : NULL;
  PyObject *op = packet ? PyObject_GetAttrString(packet, dot + 1) : NULL;
  Py_XDECREF(packet);
  Py_XDECREF(aten);
  Py_XDECREF(ops);
  Py_XDECREF(torch);
  return op;
}

/* The arguments of element `k`: an item of each list, all else as it is. */
static bool foreach_arguments(const fx_call *c, const struct foreach_row *row, Py_ssize_t k,
                              PyObject **args, PyObject **kwargs) {
  int count = c->count - (*row->keyword ? 1 : 0);
  *args = PyTuple_New(count);
  *kwargs = PyDict_New();
  for (int i = 0; *args && *kwargs && i < c->count; i++) {
    PyObject *o = c->args[i];
    bool list = PyList_Check(o) || PyTuple_CheckExact(o);
    if (list && k >= PySequence_Fast_GET_SIZE(o))
      return PyErr_SetString(PyExc_NotImplementedError, "lists of different lengths"), false;
    o = list ? PySequence_Fast_GET_ITEM(o, k) : o;
    if (i < count)
      PyTuple_SET_ITEM(*args, i, Py_NewRef(o));
    else if (PyDict_SetItemString(*kwargs, row->keyword, o) < 0)
      return false;
  }
  return *args && *kwargs;
}

static bool foreach_element(const fx_call *c, const struct foreach_row *row, PyObject *op,
                            Py_ssize_t k, fx_value *out) {
  PyObject *args = NULL, *kwargs = NULL;
  PyObject *meta = PySequence_Fast_GET_ITEM(c->meta, k);
  fx_call one = {.im = c->im, .b = c->b, .target = op, .node = c->node, .meta = meta};
  loom_value values[FX_MAX_RESULTS];
  bool good =
      foreach_arguments(c, row, k, &args, &kwargs) && fx_emit_call(&one, args, kwargs, values);
  if (good)
    *out = (fx_value){.kind = FX_TENSOR,
                      .value = values[0],
                      .wide = one.wide[0],
                      .meta = meta,
                      .placeholder = -1};
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  return good;
}

bool fx_foreach(fx_call *c, PyObject *args, PyObject *kwargs, fx_value *out, bool *is_one) {
  const struct foreach_row *row = foreach_find(c->target);
  *is_one = row && (PyList_Check(c->meta) || PyTuple_Check(c->meta));
  if (!*is_one) return true;
  Py_ssize_t count = PySequence_Fast_GET_SIZE(c->meta);
  fx_value *items = loom_arena_alloc(&c->im->graph->arena, (size_t)count * sizeof *items + 1);
  PyObject *op = foreach_op(row->op);
  bool good = op && items && fx_bind(c, args, kwargs);
  for (Py_ssize_t k = 0; k < count && good; k++)
    good = foreach_element(c, row, op, k, &items[k]);
  *out = (fx_value){.kind = FX_MANY, .items = items, .count = (uint32_t)count};
  fx_release(c);
  Py_XDECREF(op);
  if (!good && !PyErr_Occurred()) PyErr_NoMemory();
  return good;
}
