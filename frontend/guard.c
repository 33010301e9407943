/* Guards as a flat program: which of a callable's compiled versions fits this call. No Python code
 * runs.
 *
 * Four groups, in this order:
 * - args: on arguments themselves, nothing to read, most discriminating;
 * - named: depend on nothing but the contents of a few dictionaries (globals, builtins, modules),
 * as what they compare (identity, or the bits of an immutable object) cannot change in any other
 * way. They are skipped while the version tags of these dictionaries are those of the last time
 * when all of them held: a tag changes with every write to its dictionary;
 * - held: on objects that such names lead to, or on a field of a function or cell that they lead
 * to. The object or field is found again with the named group, and looked at on every call;
 * - rest: as capture found them, each read by its source.
 */
#include "frontend/frontend.h"

#define GUARD_MAX_DICTS 16

/* Where a held guard looks: the object itself, or a field of one that is alive while names hold. */
typedef struct guard_held {
  const guard *g;
  PyObject *object, **place; /* borrowed */
  bool none;                 /* an empty field means None */
} guard_held;

struct guard_program {
  const guard **args, **named, **rest; /* point into the capture's guards */
  guard_held *held;
  uint32_t arg_count, named_count, held_count, rest_count, dict_count;
  PyObject *dicts[GUARD_MAX_DICTS]; /* owned */
  uint64_t versions[GUARD_MAX_DICTS];
  bool versions_known;
};

static uint64_t guard_dict_version(PyObject *dict) {
#if PY_VERSION_HEX >= 0x030c0000
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
#endif
  return ((PyDictObject *)dict)->ma_version_tag;
#if PY_VERSION_HEX >= 0x030c0000
#pragma GCC diagnostic pop
#endif
}

/* ---- one guard ------------------------------------------------------------------------------ */

/* Same exact type and bits; both are known to be of one immutable builtin type, so that comparing
 * runs no user code. */
static bool guard_number_equal(PyObject *a, PyObject *b) {
  if (a == b) return true;
  PyTypeObject *type = Py_TYPE(a);
  if (type != Py_TYPE(b)) return false;
  if (type == &PyFloat_Type)
    return !memcmp(&((PyFloatObject *)a)->ob_fval, &((PyFloatObject *)b)->ob_fval, 8);
  if (type == &PyComplex_Type)
    return !memcmp(&((PyComplexObject *)a)->cval, &((PyComplexObject *)b)->cval, 16);
  if (type != &PyLong_Type && type != &PyUnicode_Type && type != &PyBytes_Type) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) PyErr_Clear();
  return equal == 1;
}

static bool guard_length(PyObject *object, int64_t length) {
  if (PyTuple_Check(object)) return PyTuple_GET_SIZE(object) == length;
  if (PyList_CheckExact(object)) return PyList_GET_SIZE(object) == length;
  if (PyDict_CheckExact(object)) return PyDict_GET_SIZE(object) == length;
  if (PyAnySet_CheckExact(object)) return PySet_GET_SIZE(object) == length;
  return false;
}

static bool guard_dict_keys(PyObject *object, PyObject *keys) {
  if (!PyDict_CheckExact(object) || PyDict_GET_SIZE(object) != PyTuple_GET_SIZE(keys)) return false;
  Py_ssize_t position = 0, i = 0;
  PyObject *key, *item;
  while (PyDict_Next(object, &position, &key, &item))
    if (!guard_number_equal(key, PyTuple_GET_ITEM(keys, i++))) return false;
  return true;
}

/* `object` is what the guard's source reads, NULL when it is gone. */
static inline bool guard_holds_on(const guard *g, PyObject *object, PyObject *const *args) {
  if (g->kind == GUARD_MISSING) return !object;
  if (g->kind == GUARD_CUSTOM)
    return (object || !g->source) && g->adapter->guard(g->payload, object);
  if (!object) return false;
  switch (g->kind) {
  case GUARD_TYPE: return (PyObject *)Py_TYPE(object) == g->object;
  case GUARD_IDENTITY: return object == g->object;
  case GUARD_NUMBER: return guard_number_equal(object, g->object);
  case GUARD_LENGTH: return guard_length(object, g->number);
  case GUARD_DICT_KEYS: return guard_dict_keys(object, g->object);
  case GUARD_DICT_VERSION:
    return PyDict_CheckExact(object) && guard_dict_version(object) == (uint64_t)g->number;
  case GUARD_ARRAY: return g->adapter->guard_array(object, g->payload);
  default: break;
  }
  PyObject *other = source_read(g->source2, args);
  bool holds = false;
  if (g->kind == GUARD_SAME) holds = other && (object == other) == (g->number != 0);
  if (g->kind == GUARD_DISJOINT) holds = other && g->adapter->disjoint(object, other);
  Py_XDECREF(other);
  return holds;
}

static bool guard_holds(const guard *g, PyObject *const *args) {
  if (!g->source) return guard_holds_on(g, NULL, args);
  if (g->source->kind == SOURCE_ARG) return guard_holds_on(g, args[g->source->index], args);
  PyObject *object = source_read(g->source, args);
  bool holds = guard_holds_on(g, object, args);
  Py_XDECREF(object);
  return holds;
}

/* ---- building ------------------------------------------------------------------------------- */

static bool guard_add_dict(guard_program *p, PyObject *dict) {
  if (!dict || !PyDict_CheckExact(dict)) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (p->dicts[i] == dict) return true;
  if (p->dict_count == GUARD_MAX_DICTS) return false;
  p->dicts[p->dict_count++] = Py_NewRef(dict);
  return true;
}

static PyObject *guard_builtins(PyObject *globals) {
  PyObject *builtins = PyDict_GetItemString(globals, "__builtins__");
  if (!builtins) builtins = PyEval_GetBuiltins();
  return builtins && PyModule_CheckExact(builtins) ? PyModule_GetDict(builtins) : builtins;
}

/* Does reading this source depend on nothing but dictionaries that the program watches? Adds them.
 */
static bool guard_watch_source(guard_program *p, const source *s) {
  if (s->kind == SOURCE_CONST || s->kind == SOURCE_FUNCTION) return true;
  if (s->kind == SOURCE_GLOBAL) {
    if (!guard_add_dict(p, s->object)) return false;
    PyObject *found = PyDict_GetItemWithError(s->object, s->key);
    if (!found) PyErr_Clear();
    return found || guard_add_dict(p, guard_builtins(s->object));
  }
  if (s->kind != SOURCE_ATTR || !s->base || !guard_watch_source(p, s->base)) return false;
  PyObject *base = source_read(s->base, NULL);
  bool good = base && PyModule_CheckExact(base) && guard_add_dict(p, PyModule_GetDict(base));
  Py_XDECREF(base);
  return good;
}

static bool guard_is_named(guard_program *p, const guard *g) {
  bool kind = g->kind == GUARD_IDENTITY || g->kind == GUARD_NUMBER || g->kind == GUARD_MISSING;
  if (g->kind == GUARD_TYPE) kind = !(((PyTypeObject *)g->object)->tp_flags & Py_TPFLAGS_HEAPTYPE);
  return kind && g->source && guard_watch_source(p, g->source);
}

/* The field that a source reads of a function or of one of its cells, NULL when it is none such. */
static PyObject **guard_field(const source *s, PyObject *base, bool *none) {
  PyFunctionObject *f = (PyFunctionObject *)base;
  *none = false;
  if (!PyFunction_Check(base)) return NULL;
  if (s->kind == SOURCE_CELL) {
    if (!f->func_closure || s->index >= PyTuple_GET_SIZE(f->func_closure)) return NULL;
    return &((PyCellObject *)PyTuple_GET_ITEM(f->func_closure, s->index))->ob_ref;
  }
  if (s->kind != SOURCE_ATTR || !PyUnicode_Check(s->key)) return NULL;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__code__")) return &f->func_code;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__globals__")) return &f->func_globals;
  *none = true;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__defaults__")) return &f->func_defaults;
  if (!PyUnicode_CompareWithASCIIString(s->key, "__kwdefaults__")) return &f->func_kwdefaults;
  return NULL;
}

/* Finds what a held guard looks at; false when its source leads nowhere. */
static bool guard_resolve(guard_held *h) {
  const source *s = h->g->source;
  h->place = NULL;
  h->object = NULL;
  PyObject *base = s->base ? source_read(s->base, NULL) : NULL;
  if (base) h->place = guard_field(s, base, &h->none);
  Py_XDECREF(base); /* the dictionaries, or the callable itself, keep it alive */
  if (h->place) return true;
  h->object = source_read(s, NULL);
  Py_XDECREF(h->object);
  return h->object != NULL;
}

static bool guard_is_held(guard_program *p, const guard *g) {
  const source *s = g->source;
  guard_held probe = {.g = g};
  if (!s || g->kind == GUARD_SAME || g->kind == GUARD_DISJOINT || g->kind == GUARD_MISSING)
    return false;
  if (guard_watch_source(p, s)) return guard_resolve(&probe);
  return s->base && guard_watch_source(p, s->base) && guard_resolve(&probe) && probe.place;
}

/* What the dispatcher itself makes sure of: that the function is one, and its code. */
static bool guard_is_given(const guard *g) {
  const source *s = g->source;
  if (!s) return false;
  if (s->kind == SOURCE_FUNCTION) return g->kind == GUARD_TYPE || g->kind == GUARD_IDENTITY;
  return g->kind == GUARD_IDENTITY && s->kind == SOURCE_ATTR && s->base->kind == SOURCE_FUNCTION &&
         PyUnicode_CompareWithASCIIString(s->key, "__code__") == 0;
}

guard_program *guard_program_new(const capture *c) {
  guard_program *p = calloc(1, sizeof *p);
  const guard **all = p ? calloc(3 * (size_t)c->guard_count + 1, sizeof *all) : NULL;
  guard_held *held = p ? calloc((size_t)c->guard_count + 1, sizeof *held) : NULL;
  if (!all || !held) {
    free(all);
    free(held);
    free(p);
    return (guard_program *)PyErr_NoMemory();
  }
  p->args = all;
  p->named = all + c->guard_count;
  p->rest = all + 2 * (size_t)c->guard_count;
  p->held = held;
  for (uint32_t i = 0; i < c->guard_count; i++) {
    const guard *g = &c->guards[i];
    bool simple = g->kind != GUARD_SAME && g->kind != GUARD_DISJOINT && g->kind != GUARD_CUSTOM;
    if (guard_is_given(g)) continue;
    if (simple && g->source && g->source->kind == SOURCE_ARG)
      p->args[p->arg_count++] = g;
    else if (guard_is_named(p, g))
      p->named[p->named_count++] = g;
    else if (guard_is_held(p, g))
      p->held[p->held_count++].g = g;
    else
      p->rest[p->rest_count++] = g;
  }
  return p;
}

void guard_program_free(guard_program *p) {
  if (!p) return;
  for (uint32_t i = 0; i < p->dict_count; i++)
    Py_DECREF(p->dicts[i]);
  free(p->args);
  free(p->held);
  free(p);
}

int guard_program_traverse(guard_program *p, visitproc visit, void *arg) {
  for (uint32_t i = 0; p && i < p->dict_count; i++)
    Py_VISIT(p->dicts[i]);
  return 0;
}

/* ---- checking ------------------------------------------------------------------------------- */

static bool guard_versions_hold(const guard_program *p) {
  if (!p->versions_known) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    if (guard_dict_version(p->dicts[i]) != p->versions[i]) return false;
  return true;
}

static bool guard_check_named(guard_program *p, PyObject *const *args) {
  p->versions_known = false;
  for (uint32_t i = 0; i < p->named_count; i++)
    if (!guard_holds(p->named[i], args)) return false;
  for (uint32_t i = 0; i < p->held_count; i++)
    if (!guard_resolve(&p->held[i])) return false;
  for (uint32_t i = 0; i < p->dict_count; i++)
    p->versions[i] = guard_dict_version(p->dicts[i]);
  p->versions_known = true;
  return true;
}

static inline bool guard_held_holds(const guard_held *h, PyObject *const *args) {
  PyObject *object = h->place ? *h->place : h->object;
  if (!object && h->none) object = Py_None;
  return guard_holds_on(h->g, object, args);
}

bool guard_program_check(guard_program *p, PyObject *const *args) {
  for (uint32_t i = 0; i < p->arg_count; i++)
    if (!guard_holds_on(p->args[i], args[p->args[i]->source->index], args)) return false;
  if (!guard_versions_hold(p) && !guard_check_named(p, args)) return false;
  for (uint32_t i = 0; i < p->held_count; i++)
    if (!guard_held_holds(&p->held[i], args)) return false;
  for (uint32_t i = 0; i < p->rest_count; i++)
    if (!guard_holds(p->rest[i], args)) return false;
  return true;
}

const guard *guard_first_failure(const capture *c, PyObject *const *args) {
  for (uint32_t i = 0; i < c->guard_count; i++)
    if (!guard_holds(&c->guards[i], args)) return &c->guards[i];
  return NULL;
}

/* ---- words ---------------------------------------------------------------------------------- */

/* Its repr() runs nothing but the interpreter's own code. */
static bool guard_has_plain_repr(PyObject *object) {
  return object == Py_None || PyBool_Check(object) || PyCode_Check(object) ||
         PyFunction_Check(object) || PyCFunction_Check(object) || Py_IS_TYPE(object, &PyType_Type);
}

static PyObject *guard_describe_on(const guard *g, PyObject *name, PyObject *other) {
  switch (g->kind) {
  case GUARD_TYPE:
    return PyUnicode_FromFormat("type(%U) is %s", name, ((PyTypeObject *)g->object)->tp_name);
  case GUARD_IDENTITY:
    if (guard_has_plain_repr(g->object)) return PyUnicode_FromFormat("%U is %R", name, g->object);
    return PyUnicode_FromFormat("%U is <%s at %p>", name, Py_TYPE(g->object)->tp_name, g->object);
  case GUARD_NUMBER: return PyUnicode_FromFormat("%U is exactly %R", name, g->object);
  case GUARD_LENGTH: return PyUnicode_FromFormat("len(%U) == %lld", name, (long long)g->number);
  case GUARD_DICT_KEYS: return PyUnicode_FromFormat("list(%U) == list(%R)", name, g->object);
  case GUARD_DICT_VERSION: return PyUnicode_FromFormat("%U is unchanged", name);
  case GUARD_MISSING: return PyUnicode_FromFormat("%U does not exist", name);
  case GUARD_ARRAY:
    return g->adapter->describe ? g->adapter->describe(name, g->payload)
                                : PyUnicode_FromFormat("%U is an array of the same kind", name);
  case GUARD_SAME:
    return PyUnicode_FromFormat("%U %s %U", name, g->number ? "is" : "is not", other);
  case GUARD_DISJOINT: return PyUnicode_FromFormat("%U and %U do not overlap", name, other);
  case GUARD_CUSTOM:
    return PyUnicode_FromFormat("%s: %U is in the same state", g->adapter->name, name);
  }
  return PyUnicode_FromString("?");
}

PyObject *guard_describe(const guard *g) {
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString("the process");
  PyObject *other = g->source2 ? source_name(g->source2) : PyUnicode_FromString("");
  PyObject *text = name && other ? guard_describe_on(g, name, other) : NULL;
  Py_XDECREF(name);
  Py_XDECREF(other);
  return text;
}
