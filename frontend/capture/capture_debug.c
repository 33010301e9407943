/* For tests: what a capture found, and what its recipes stand for, as Python objects. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/capture/capture.h"
#include "frontend/capture/internal.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/learnt.h"

static const char *const guard_names[] = {
    [GUARD_TYPE] = "type",       [GUARD_IDENTITY] = "is",    [GUARD_NUMBER] = "equals",
    [GUARD_LENGTH] = "length",   [GUARD_DICT_KEYS] = "keys", [GUARD_MISSING] = "missing",
    [GUARD_ARRAY] = "array",     [GUARD_SAME] = "same",      [GUARD_DISJOINT] = "disjoint",
    [GUARD_NONZERO] = "nonzero", [GUARD_APART] = "apart",    [GUARD_SIZE] = "size",
    [GUARD_SET_TABLE] = "order", [GUARD_CUSTOM] = "custom",  [GUARD_PRESENT] = "present",
    [GUARD_IN_PARTS] = "parts"};

static PyObject *debug_guard(const guard *g) {
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString(""), *text = NULL;
  if (!name) return NULL;
  if (g->kind == GUARD_NUMBER)
    text = PyUnicode_FromFormat("%U equals %R", name, g->object);
  else if (g->kind == GUARD_TYPE)
    text = PyUnicode_FromFormat("%U type %s", name, ((PyTypeObject *)g->object)->tp_name);
  else if (g->kind == GUARD_IDENTITY)
    text = PyUnicode_FromFormat("%U is <%s>", name, Py_TYPE(g->object)->tp_name);
  else
    text = PyUnicode_FromFormat("%U %s %lld", name, guard_names[g->kind], (long long)g->number);
  Py_DECREF(name);
  return text;
}

static PyObject *debug_guards(const capture *c) {
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < c->guard_count; i++) {
    PyObject *text = debug_guard(&c->guards[i]);
    if (!text || PyList_Append(list, text)) Py_CLEAR(list);
    Py_XDECREF(text);
  }
  return list;
}

static PyObject *debug_recipe(const capture *c, const recipe *r, PyObject *const *args,
                              PyObject *memo);

static PyObject *debug_items(const capture *c, const recipe *r, PyObject *const *args,
                             PyObject *memo) {
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < r->count; i++) {
    PyObject *item = debug_recipe(c, r->items[i], args, memo);
    if (!item || PyList_Append(list, item)) Py_CLEAR(list);
    Py_XDECREF(item);
  }
  return list;
}

static PyObject *debug_dict(PyObject *list) {
  PyObject *dict = PyDict_New();
  for (Py_ssize_t i = 0; dict && i < PyList_GET_SIZE(list); i += 2)
    if (PyDict_SetItem(dict, PyList_GET_ITEM(list, i), PyList_GET_ITEM(list, i + 1)))
      Py_CLEAR(dict);
  return dict;
}

static PyObject *debug_call(PyObject *list) {
  PyObject *args = PyList_GetSlice(list, 1, PyList_GET_SIZE(list)),
           *tuple = args ? PyList_AsTuple(args) : NULL;
  PyObject *result = tuple ? PyObject_Call(PyList_GET_ITEM(list, 0), tuple, NULL) : NULL;
  Py_XDECREF(args);
  Py_XDECREF(tuple);
  return result;
}

static PyObject *debug_container(const recipe *r, PyObject *list) {
  PyObject *result;
  switch (r->kind) {
  case RECIPE_TUPLE: result = PyList_AsTuple(list); break;
  case RECIPE_SET: result = PySet_New(list); break;
  case RECIPE_FROZENSET: result = PyFrozenSet_New(list); break;
  case RECIPE_DICT: result = debug_dict(list); break;
  case RECIPE_CALL: result = debug_call(list); break;
  case RECIPE_SLICE:
    result =
        PySlice_New(PyList_GET_ITEM(list, 0), PyList_GET_ITEM(list, 1), PyList_GET_ITEM(list, 2));
    break;
  default: return list;
  }
  Py_DECREF(list);
  return result;
}

/* The object that a recipe without arrays stands for; NULL without an exception when it needs the
 * graph. */
static PyObject *debug_recipe(const capture *c, const recipe *r, PyObject *const *args,
                              PyObject *memo) {
  if (r->kind == RECIPE_CONST) return Py_NewRef(r->object);
  if (r->kind == RECIPE_SOURCE) return source_read(r->source, args);
  if (r->kind == RECIPE_SHARED) r = c->shared[r->number];
  PyObject *key = PyLong_FromVoidPtr((void *)r),
           *known = key ? PyDict_GetItemWithError(memo, key) : NULL;
  if (known || !key) return Py_XDECREF(key), Py_XNewRef(known);
  bool container = r->kind >= RECIPE_TUPLE && r->kind <= RECIPE_CALL;
  PyObject *list = container ? debug_items(c, r, args, memo) : NULL;
  PyObject *result = list ? debug_container(r, list) : NULL;
  if (result && PyDict_SetItem(memo, key, result)) Py_CLEAR(result);
  Py_DECREF(key);
  return result;
}

static PyObject *debug_graph(const capture *c) {
  char *text = NULL;
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return PyErr_NoMemory();
  loom_graph_print(&c->graph, file);
  fclose(file);
  PyObject *result = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  free(text);
  return result;
}

static PyObject *debug_break(const break_info *info) {
  static const char *const names[] = {
#define LOOM_BREAK(CODE, NAME, TEXT, HINT) [CODE] = #NAME,
#include "frontend/base/breaks.def"
#undef LOOM_BREAK
  };
  if (!info->reason) Py_RETURN_NONE;
  return Py_BuildValue("(isssii)", info->reason, names[info->reason], info->detail,
                       info->location.file ? info->location.file : "", (int)info->location.line,
                       (int)info->location.column);
}

static PyObject *debug_report(const capture *c, PyObject *const *args) {
  PyObject *memo = PyDict_New(), *result = NULL, *known = Py_False;
  if (!memo) return NULL;
  if (!c->broke.reason) result = debug_recipe(c, c->result, args, memo);
  Py_DECREF(memo);
  if (PyErr_Occurred()) return NULL;
  if (result) known = Py_True;
  if (!result) result = Py_NewRef(Py_None);
  return Py_BuildValue("{s:N,s:N,s:O,s:N,s:N}", "graph", debug_graph(c), "guards", debug_guards(c),
                       "known", known, "result", result, "break", debug_break(&c->broke));
}

/* (code,) -> how many instructions it decodes to. */
static PyObject *debug_decode(PyObject *code) {
  loom_arena arena = {0};
  loom_error err = {0};
  loom_code *decoded = loom_decode((PyCodeObject *)code, &arena, &err);
  PyObject *result = decoded ? PyLong_FromLong(decoded->count) : NULL;
  if (!decoded) PyErr_SetString(PyExc_ValueError, err.message);
  loom_arena_fini(&arena);
  return result;
}

/* Slots in the order of SOURCE_ARG, bound as a plain positional call with defaults. */
static bool debug_bind(PyFunctionObject *f, PyObject *tuple, PyObject **slots,
                       Py_ssize_t *count_out) {
  PyCodeObject *code = (PyCodeObject *)f->func_code;
  Py_ssize_t given = PyTuple_GET_SIZE(tuple), named = code->co_argcount;
  Py_ssize_t defaults = f->func_defaults ? PyTuple_GET_SIZE(f->func_defaults) : 0;
  if (named + code->co_kwonlyargcount + 2 > 64) return false;
  for (Py_ssize_t i = 0; i < named; i++) {
    if (i < given)
      slots[i] = PyTuple_GET_ITEM(tuple, i);
    else if (i >= named - defaults)
      slots[i] = PyTuple_GET_ITEM(f->func_defaults, i - (named - defaults));
    else
      return false;
  }
  Py_ssize_t slot = named;
  for (Py_ssize_t i = 0; i < code->co_kwonlyargcount; i++) {
    PyObject *name = PyTuple_GET_ITEM(code->co_localsplusnames, slot);
    PyObject *item = f->func_kwdefaults ? PyDict_GetItemWithError(f->func_kwdefaults, name) : NULL;
    if (!item) return false;
    slots[slot++] = item;
  }
  if (code->co_flags & CO_VARARGS)
    slots[slot++] =
        PyTuple_GetSlice(tuple, given < named ? given : named, given); /* kept alive by the test */
  else if (given > named)
    return false;
  if (code->co_flags & CO_VARKEYWORDS) slots[slot++] = PyDict_New();
  *count_out = slot;
  return true;
}

PyObject *loom_debug_capture(PyObject *self, PyObject *args) {
  PyObject *function, *tuple = NULL, *slots[64] = {NULL};
  int symbolic = 0;
  number_mode flags[64];
  Py_ssize_t count;
  if (!PyArg_ParseTuple(args, "O|O!p", &function, &PyTuple_Type, &tuple, &symbolic)) return NULL;
  if (PyCode_Check(function)) return debug_decode(function);
  if (!PyFunction_Check(function) || !tuple ||
      !debug_bind((PyFunctionObject *)function, tuple, slots, &count)) {
    PyErr_SetString(PyExc_TypeError, "a Python function and a tuple of its arguments are needed");
    return NULL;
  }
  for (int i = 0; i < 64; i++)
    flags[i] = symbolic ? NUMBER_INPUT : NUMBER_KNOWN;
  size_table sizes = {.always = symbolic, .never = !symbolic};
  capture *c = capture_function((PyFunctionObject *)function, slots, count, flags, &sizes);
  size_table_clear(&sizes);
  PyObject *report = c ? debug_report(c, slots) : NULL;
  capture_free(c);
  PyCodeObject *code = (PyCodeObject *)((PyFunctionObject *)function)->func_code;
  Py_ssize_t slot = code->co_argcount + code->co_kwonlyargcount;
  if (code->co_flags & CO_VARARGS) Py_XDECREF(slots[slot++]);
  if (code->co_flags & CO_VARKEYWORDS) Py_XDECREF(slots[slot]);
  return report;
}
