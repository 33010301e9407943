/* Sources: where a live object comes from. Hash-consed in the capture's table, so that equal
 * sources are one pointer. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/internal.h"
#include "frontend/captured/objects.h"

#include <structmember.h>

typedef struct source_entry {
  source s;
  size_t hash;
  struct source_entry *next;
} source_entry;

typedef struct source_table {
  source_entry **buckets;
  size_t capacity, count;
} source_table;

source_table *source_table_new(void) {
  source_table *table = calloc(1, sizeof *table);
  if (!table) return NULL;
  table->capacity = 64;
  table->buckets = calloc(table->capacity, sizeof *table->buckets);
  if (table->buckets) return table;
  free(table);
  return NULL;
}

/* What its sources refer to has been given up: capture_free(). */
void source_table_free(source_table *table) {
  if (!table) return;
  for (size_t i = 0; i < table->capacity; i++) {
    for (source_entry *e = table->buckets[i], *next; e; e = next) {
      next = e->next;
      free(e);
    }
  }
  free(table->buckets);
  free(table);
}

int source_table_traverse(const source_table *table, visitproc visit, void *arg) {
  for (size_t i = 0; i < table->capacity; i++)
    for (const source_entry *e = table->buckets[i]; e; e = e->next) {
      Py_VISIT(e->s.object);
      Py_VISIT(e->s.key);
    }
  return 0;
}

void source_table_forget(source_table *table, bool (*unneeded)(void *context, PyObject *root),
                         void *context) {
  for (size_t i = 0; i < table->capacity; i++)
    for (source_entry *e = table->buckets[i]; e; e = e->next)
      if (e->s.kind == SOURCE_CONST && unneeded(context, e->s.object))
        Py_SETREF(e->s.object, Py_NewRef(Py_None));
}

/* Keys are exact builtin objects (names, indices, constants of dictionaries): hashing them runs no
 * user code. */
static size_t source_hash(const source *s) {
  size_t h = (size_t)s->kind * 1000003u ^ (size_t)s->index * 0x9e3779b97f4a7c15u;
  h = (h ^ (size_t)s->base >> 4) * 0x9e3779b97f4a7c15u;
  h = (h ^ (size_t)s->object >> 4) * 0x9e3779b97f4a7c15u;
  if (s->key) {
    Py_hash_t key = PyObject_Hash(s->key);
    if (key == -1) error_drop();
    h = (h ^ (size_t)key) * 0x9e3779b97f4a7c15u;
  }
  return h;
}

static bool source_key_equal(PyObject *a, PyObject *b) {
  if (a == b) return true;
  if (!a || !b || Py_TYPE(a) != Py_TYPE(b)) return false;
  int equal = PyObject_RichCompareBool(a, b, Py_EQ);
  if (equal < 0) error_drop();
  return equal == 1;
}

static bool source_equal(const source *a, const source *b) {
  return a->kind == b->kind && a->base == b->base && a->object == b->object &&
         a->index == b->index && source_key_equal(a->key, b->key);
}

static bool source_grow(source_table *table) {
  size_t capacity = table->capacity * 2;
  source_entry **buckets = calloc(capacity, sizeof *buckets);
  if (!buckets) return false;
  for (size_t i = 0; i < table->capacity; i++) {
    for (source_entry *e = table->buckets[i], *next; e; e = next) {
      next = e->next;
      e->next = buckets[e->hash % capacity];
      buckets[e->hash % capacity] = e;
    }
  }
  free(table->buckets);
  table->buckets = buckets;
  table->capacity = capacity;
  return true;
}

const source *source_table_get(source_table *table, const source *like) {
  size_t hash = source_hash(like);
  for (source_entry *e = table->buckets[hash % table->capacity]; e; e = e->next)
    if (e->hash == hash && source_equal(&e->s, like)) return &e->s;
  if (table->count >= 2 * table->capacity && !source_grow(table)) return NULL;
  source_entry *e = calloc(1, sizeof *e);
  if (!e) return NULL;
  e->s = *like;
  e->hash = hash;
  Py_XINCREF(e->s.object);
  Py_XINCREF(e->s.key);
  e->next = table->buckets[hash % table->capacity];
  table->buckets[hash % table->capacity] = e;
  table->count++;
  return &e->s;
}

/* ---- names ---------------------------------------------------------------------------------- */

static PyObject *source_name_of(const source *s, const char *format) {
  PyObject *base = s->base ? source_name(s->base) : PyUnicode_FromString("?");
  if (!base) return NULL;
  PyObject *name = PyUnicode_FromFormat(format, base, s->key);
  Py_DECREF(base);
  return name;
}

static PyObject *source_name_indexed(const source *s, const char *format) {
  PyObject *base = s->base ? source_name(s->base) : PyUnicode_FromString("?");
  if (!base) return NULL;
  PyObject *name = PyUnicode_FromFormat(format, base, s->index);
  Py_DECREF(base);
  return name;
}

/* A free variable of the compiled function has a name. */
static PyObject *source_name_cell(const source *s) {
  PyObject *function = s->base && s->base->kind == SOURCE_FUNCTION ? s->base->object : NULL;
  if (!function || !PyFunction_Check(function))
    return source_name_indexed(s, "%U.__closure__[%zd]");
  PyCodeObject *code = (PyCodeObject *)PyFunction_GET_CODE(function);
  Py_ssize_t at = code->co_nlocalsplus - code->co_nfreevars + s->index;
  if (s->index >= code->co_nfreevars) return source_name_indexed(s, "%U.__closure__[%zd]");
  return Py_NewRef(PyTuple_GET_ITEM(code->co_localsplusnames, at));
}

/* The repr() of another key may be the user's own code. */
static PyObject *source_name_item(const source *s) {
  bool of_class = s->base && s->base->kind == SOURCE_CONST && PyType_Check(s->base->object);
  if (of_class) return source_name_of(s, "vars(%U)[%R]");
  PyObject *base = s->base ? source_name(s->base) : PyUnicode_FromString("?"), *name = NULL;
  PyObject *words = object_is_plain(s->key)
                        ? guard_words(s->key)
                        : PyUnicode_FromFormat("<%s>", Py_TYPE(s->key)->tp_name);
  if (base && words) name = PyUnicode_FromFormat("%U[%U]", base, words);
  Py_XDECREF(base);
  Py_XDECREF(words);
  return name;
}

PyObject *source_name(const source *s) {
  switch (s->kind) {
  case SOURCE_ARG: return s->key ? Py_NewRef(s->key) : PyUnicode_FromFormat("arg%zd", s->index);
  case SOURCE_GLOBAL: return Py_NewRef(s->key);
  case SOURCE_CELL: return source_name_cell(s);
  case SOURCE_ATTR: return source_name_of(s, "%U.%U");
  case SOURCE_ITEM: return source_name_item(s);
  case SOURCE_DEFAULT: return source_name_indexed(s, "%U.__defaults__[%zd]");
  case SOURCE_KWDEFAULT: return source_name_of(s, "%U.__kwdefaults__[%R]");
  case SOURCE_FUNCTION: return PyUnicode_FromString("<function>");
  case SOURCE_CONST:
    if (PyType_Check(s->object)) return PyUnicode_FromString(((PyTypeObject *)s->object)->tp_name);
    return PyUnicode_FromFormat("<%s>", Py_TYPE(s->object)->tp_name);
  case SOURCE_SELF: return source_name_of(s, "%U.__self__");
  case SOURCE_FUNC: return source_name_of(s, "%U.__func__");
  case SOURCE_DERIVED: return source_name_of(s, "%U.%U");
  }
  return PyUnicode_FromString("?");
}

/* ---- reading -------------------------------------------------------------------------------- */

static PyObject *read_dict(PyObject *dict, PyObject *key) {
  if (!dict || !PyDict_CheckExact(dict)) return NULL;
  PyObject *item = PyDict_GetItemWithError(dict, key);
  if (!item) error_drop();
  return Py_XNewRef(item);
}

static PyObject *read_global(const source *s) {
  PyObject *item = read_dict(s->object, s->key);
  if (item) return item;
  PyObject *builtins = PyDict_GetItemString(s->object, "__builtins__");
  if (!builtins) builtins = PyEval_GetBuiltins();
  if (builtins && PyModule_CheckExact(builtins)) builtins = PyModule_GetDict(builtins);
  return read_dict(builtins, s->key);
}

/* A dictionary that a function is given when it is first asked for. */
static PyObject *read_own_dict(PyObject **place) {
  if (!*place) *place = PyDict_New();
  if (!*place) error_drop();
  return Py_XNewRef(*place);
}

static PyObject *read_function(PyObject *base, const char *name) {
  PyFunctionObject *f = (PyFunctionObject *)base;
  if (!strcmp(name, "__code__")) return Py_NewRef(f->func_code);
  if (!strcmp(name, "__globals__")) return Py_NewRef(f->func_globals);
  if (!strcmp(name, "__closure__")) return Py_XNewRef(f->func_closure);
  if (!strcmp(name, "__defaults__"))
    return Py_NewRef(f->func_defaults ? f->func_defaults : Py_None);
  if (!strcmp(name, "__kwdefaults__"))
    return Py_NewRef(f->func_kwdefaults ? f->func_kwdefaults : Py_None);
  if (!strcmp(name, "__name__")) return Py_NewRef(f->func_name);
  if (!strcmp(name, "__qualname__")) return Py_NewRef(f->func_qualname);
  if (!strcmp(name, "__doc__")) return Py_XNewRef(f->func_doc);
  if (!strcmp(name, "__module__")) return Py_XNewRef(f->func_module);
#if PYTHON_HAS_TYPE_PARAMETERS
  if (!strcmp(name, "__type_params__"))
    return f->func_typeparams ? Py_NewRef(f->func_typeparams) : PyTuple_New(0);
#endif
  if (!strcmp(name, "__dict__")) return read_own_dict(&f->func_dict);
  if (!strcmp(name, "__annotations__"))
    return PyFunction_GetAnnotations(base) ? Py_NewRef(f->func_annotations)
                                           : read_own_dict(&f->func_annotations);
  return NULL;
}

static PyObject *read_member(PyObject *base, PyObject *name) {
  PyObject *descr = _PyType_Lookup(Py_TYPE(base), name);
  if (!descr || !Py_IS_TYPE(descr, &PyMemberDescr_Type)) return NULL;
  PyObject *item = PyMember_GetOne((char *)base, ((PyMemberDescrObject *)descr)->d_member);
  if (!item) error_drop();
  return item;
}

PyObject *source_attribute(PyObject *base, PyObject *name) {
  if (PyType_Check(base)) return Py_XNewRef(_PyType_Lookup((PyTypeObject *)base, name));
  if (PyModule_Check(base)) return read_dict(PyModule_GetDict(base), name);
  if (PyFunction_Check(base)) {
    PyObject *item = read_function(base, PyUnicode_AsUTF8(name));
    if (item) return item;
  }
  PyObject **dict = _PyObject_GetDictPtr(base);
  PyObject *item = dict ? read_dict(*dict, name) : NULL;
  return item ? item : read_member(base, name);
}

/* The item of a set that has the key's type and equals it. */
static PyObject *read_set(PyObject *base, PyObject *key) {
  PyObject *item;
  Py_hash_t hash;
  for (Py_ssize_t pos = 0; _PySet_NextEntry(base, &pos, &item, &hash);)
    if (source_key_equal(item, key)) return Py_NewRef(item);
  return NULL;
}

/* `hash`: of the key when it is known, else 0. */
static PyObject *read_item(PyObject *base, PyObject *key, Py_hash_t hash) {
  if (PyAnySet_Check(base)) return read_set(base, key);
  if (PyDict_Check(base)) {
    if (!hash && (hash = PyObject_Hash(key)) == -1) return error_drop(), NULL;
    PyObject *item = _PyDict_GetItem_KnownHash(base, key, hash);
    if (!item) error_drop();
    return Py_XNewRef(item);
  }
  if (object_is_over_deque(base)) {
    Py_ssize_t at = PyLong_AsSsize_t(key);
    PyObject *item = at >= 0 && at < Py_SIZE(base) ? deque_item(base, at) : NULL;
    if (!item) error_drop();
    return item;
  }
  if (object_is_cached(base)) return cached_read(base, key, hash);
  if (PyType_Check(base)) return read_dict(python_type_dict((PyTypeObject *)base), key);
  if (!PyTuple_Check(base) && !PyList_Check(base)) return NULL;
  Py_ssize_t i = PyLong_AsSsize_t(key);
  if (i < 0) i += Py_SIZE(base);
  if (i < 0 || i >= Py_SIZE(base)) return error_drop(), NULL;
  return Py_NewRef(PyTuple_Check(base) ? PyTuple_GET_ITEM(base, i) : PyList_GET_ITEM(base, i));
}

static PyObject *read_cell(PyObject *base, Py_ssize_t index) {
  PyObject *closure = PyFunction_Check(base) ? ((PyFunctionObject *)base)->func_closure : NULL;
  if (!closure || index >= PyTuple_GET_SIZE(closure)) return NULL;
  return Py_XNewRef(PyCell_GET(PyTuple_GET_ITEM(closure, index)));
}

PyObject *source_thread(void) {
  static PyObject *thread;
  if (!thread) thread = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  return thread;
}

/* What the thread is handling. */
static PyObject *read_handled(PyObject *key) {
  PyObject *handled = PyErr_GetHandledException();
  bool always = PyUnicode_CompareWithASCIIString(key, "handled_or_none") == 0;
  return handled || !always ? handled : Py_NewRef(Py_None);
}

/* How often classes were registered with abstract ones. */
static PyObject *read_abstract_token(void) {
  static PyObject *function;
  PyObject *module = function ? NULL : PyImport_ImportModule("_abc");
  if (module) function = PyObject_GetAttrString(module, "get_cache_token");
  Py_XDECREF(module);
  PyObject *token = function ? PyObject_CallNoArgs(function) : NULL;
  if (!token) error_drop();
  return token;
}

/* What `type` keeps of a class, by C code of its own. */
static PyObject *read_class(PyObject *base, PyObject *key) {
  if (PyUnicode_CompareWithASCIIString(key, "abc.get_cache_token()") == 0)
    return read_abstract_token();
  PyObject *item = PyType_Type.tp_getattro(base, key);
  if (!item) error_drop();
  return item;
}

static PyObject *read_derived(PyObject *base, PyObject *key) {
  static PyObject *mro; /* __mro__ is the most frequent key; such keys are interned */
  if (!mro) mro = PyUnicode_InternFromString("__mro__");
  if (key == mro && PyType_Check(base)) return Py_XNewRef(((PyTypeObject *)base)->tp_mro);
  if (base == source_thread()) return read_handled(key);
  if (PyUnicode_CompareWithASCIIString(key, "__class__") == 0)
    return Py_NewRef((PyObject *)Py_TYPE(base));
  if (PyType_Check(base)) return read_class(base, key);
  if (PyCell_Check(base)) return Py_XNewRef(PyCell_GET(base));
  if (PyContextVar_CheckExact(base)) return context_read(base);
  if (PyWeakref_CheckRefExact(base)) return PyObject_CallNoArgs(base);
  if (PyModule_Check(base) && PyUnicode_CompareWithASCIIString(key, "getrecursionlimit()") == 0)
    return PyLong_FromLong(Py_GetRecursionLimit());
  if (PyUnicode_CompareWithASCIIString(key, "__dict__") == 0) {
    PyObject **dict = _PyObject_GetDictPtr(base);
    return dict ? Py_XNewRef(*dict) : NULL;
  }
  if (object_is_over_deque(base) || PyDict_Check(base)) {
    PyObject *item = model_member(base, key);
    if (!item) error_drop();
    return item;
  }
  PyObject *part = live_iter_read(base, key);
  for (const loom_adapter *const *a = loom_adapters(); *a && !part; a++)
    part = (*a)->derived ? (*a)->derived(base, key) : NULL;
  return part ? part : scalar_exact(base); /* a complex number of NumPy is one of Python, too */
}

static PyObject *read_default(PyObject *base, Py_ssize_t index) {
  PyObject *defaults = PyFunction_Check(base) ? ((PyFunctionObject *)base)->func_defaults : NULL;
  if (!defaults || index >= PyTuple_GET_SIZE(defaults)) return NULL;
  return Py_NewRef(PyTuple_GET_ITEM(defaults, index));
}

PyObject *source_read_from(const source *s, PyObject *base) {
  switch (s->kind) {
  case SOURCE_CELL: return read_cell(base, s->index);
  case SOURCE_ATTR: return source_attribute(base, s->key);
  case SOURCE_ITEM: return read_item(base, s->key, s->index);
  case SOURCE_DEFAULT: return read_default(base, s->index);
  case SOURCE_KWDEFAULT:
    return PyFunction_Check(base) ? read_dict(((PyFunctionObject *)base)->func_kwdefaults, s->key)
                                  : NULL;
  case SOURCE_SELF:
    if (PyCFunction_Check(base)) return Py_XNewRef(PyCFunction_GET_SELF(base));
    return PyMethod_Check(base) ? Py_NewRef(PyMethod_GET_SELF(base)) : NULL;
  case SOURCE_FUNC: return PyMethod_Check(base) ? Py_NewRef(PyMethod_GET_FUNCTION(base)) : NULL;
  case SOURCE_DERIVED: return read_derived(base, s->key);
  default: return NULL;
  }
}

PyObject *source_read(const source *s, PyObject *const *args) {
  if (s->kind == SOURCE_ARG) return Py_XNewRef(args[s->index]);
  if (s->kind == SOURCE_GLOBAL) return read_global(s);
  if (s->kind == SOURCE_FUNCTION && !s->object) return Py_XNewRef((PyObject *)loom_function_now);
  if (s->kind == SOURCE_FUNCTION || s->kind == SOURCE_CONST) return Py_XNewRef(s->object);
  PyObject *base = source_read(s->base, args);
  if (!base) return NULL;
  PyObject *item = source_read_from(s, base);
  Py_DECREF(base);
  return item;
}

PyObject *loom_py_read_source(PyObject *module, PyObject *args) {
  int kind;
  source like = {0};
  PyObject *holder;
  if (!PyArg_ParseTuple(args, "inOO", &kind, &like.index, &like.key, &holder)) return NULL;
  like.kind = (source_kind)kind;
  like.object = holder;
  PyObject *found = kind == SOURCE_GLOBAL ? read_global(&like) : source_read_from(&like, holder);
  error_drop();
  PyObject *made = found ? PyTuple_Pack(1, found) : PyTuple_New(0);
  Py_XDECREF(found);
  return made;
}
