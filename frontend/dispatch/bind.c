/* Binds the arguments of a call to slots, as Python does when it enters a function. What does not
 * fit is left to the plain function, whose own error message is the right one. */
#include "frontend/base/base.h"
#include "frontend/dispatch/callable_internal.h"

typedef struct bind_shape {
  PyCodeObject *code;
  Py_ssize_t positional, keyword_only, posonly; /* counts */
  bool varargs, varkw;
} bind_shape;

static bind_shape bind_shape_of(const callable *c) {
  PyCodeObject *code = (PyCodeObject *)c->code;
  return (bind_shape){.code = code,
                      .positional = code->co_argcount,
                      .keyword_only = code->co_kwonlyargcount,
                      .posonly = code->co_posonlyargcount,
                      .varargs = code->co_flags & CO_VARARGS,
                      .varkw = code->co_flags & CO_VARKEYWORDS};
}

/* The slot that a keyword names, or -1. Names are exact strings and nearly always interned. */
static Py_ssize_t bind_find(const bind_shape *shape, PyObject *name) {
  PyObject *names = shape->code->co_localsplusnames;
  Py_ssize_t count = shape->positional + shape->keyword_only;
  for (Py_ssize_t i = shape->posonly; i < count; i++)
    if (PyTuple_GET_ITEM(names, i) == name) return i;
  for (Py_ssize_t i = shape->posonly; i < count; i++)
    if (PyUnicode_CheckExact(name) && PyUnicode_Compare(PyTuple_GET_ITEM(names, i), name) == 0)
      return i;
  return -1;
}

static bool bind_keywords(const bind_shape *shape, PyObject *const *values, PyObject *kwnames,
                          binding *out) {
  for (Py_ssize_t k = 0; k < PyTuple_GET_SIZE(kwnames); k++) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, k);
    Py_ssize_t slot = bind_find(shape, name);
    if (slot >= 0) {
      if (out->slots[slot]) return false;
      out->slots[slot] = values[k];
    } else if (!out->varkw || PyDict_SetItem(out->varkw, name, values[k]) < 0) {
      return false;
    }
  }
  return true;
}

static bool bind_defaults(const callable *c, const bind_shape *shape, binding *out) {
  PyObject *defaults = c->function->func_defaults, *keywords = c->function->func_kwdefaults;
  Py_ssize_t count = defaults ? PyTuple_GET_SIZE(defaults) : 0;
  for (Py_ssize_t i = 0; i < shape->positional; i++) {
    Py_ssize_t at = i - (shape->positional - count);
    if (out->slots[i]) continue;
    if (at < 0) return false;
    out->slots[i] = PyTuple_GET_ITEM(defaults, at);
  }
  for (Py_ssize_t i = shape->positional; i < shape->positional + shape->keyword_only; i++) {
    if (out->slots[i]) continue;
    PyObject *name = PyTuple_GET_ITEM(shape->code->co_localsplusnames, i);
    PyObject *found = keywords ? PyDict_GetItemWithError(keywords, name) : NULL;
    if (!found) return false;
    out->slots[i] = found;
  }
  return true;
}

static bool bind_variadic(const bind_shape *shape, PyObject *const *args, Py_ssize_t count,
                          binding *out) {
  Py_ssize_t slot = shape->positional + shape->keyword_only;
  if (!shape->varargs && count > shape->positional) return false;
  if (shape->varargs) {
    Py_ssize_t extra = count > shape->positional ? count - shape->positional : 0;
    out->varargs = PyTuple_New(extra);
    if (!out->varargs) return false;
    for (Py_ssize_t i = 0; i < extra; i++)
      PyTuple_SET_ITEM(out->varargs, i, Py_NewRef(args[shape->positional + i]));
    out->slots[slot++] = out->varargs;
  }
  if (shape->varkw) {
    out->varkw = PyDict_New();
    if (!out->varkw) return false;
    out->slots[slot] = out->varkw;
  }
  return true;
}

bool bind_arguments(const callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                    binding *out) {
  bind_shape shape = bind_shape_of(c);
  out->varargs = out->varkw = NULL;
  out->count = 0;
  if (c->slots > LOOM_MAX_SLOTS) return false;
  memset(out->slots, 0, (size_t)c->slots * sizeof *out->slots);
  for (Py_ssize_t i = 0; i < count && i < shape.positional; i++)
    out->slots[i] = args[i];
  if (!bind_variadic(&shape, args, count, out) ||
      (kwnames && !bind_keywords(&shape, args + count, kwnames, out)) ||
      !bind_defaults(c, &shape, out))
    return false;
  /* Defaults may be replaced while the call runs without the GIL. */
  out->count = c->slots;
  for (Py_ssize_t i = 0; i < out->count; i++)
    Py_INCREF(out->slots[i]);
  return true;
}

void binding_fini(binding *b) {
  for (Py_ssize_t i = 0; i < b->count; i++)
    Py_DECREF(b->slots[i]);
  Py_XDECREF(b->varargs);
  Py_XDECREF(b->varkw);
}
