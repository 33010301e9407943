/* Live objects: of which kinds they are, and what their parts are, by C code that runs none of
 * Python's. Guards read objects so, and so does capture. */
#include "frontend/captured/objects.h"
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/internal.h"

#include <string.h>

/* ---- plain data ------------------------------------------------------------------------------ */

bool object_is_scalar(PyObject *o) {
  return o == Py_None || PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o) ||
         PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyComplex_CheckExact(o) ||
         o == Py_Ellipsis || o == Py_NotImplemented;
}

/* Where looking ends, and an object is taken not to be plain: it may hold itself. */
#define PLAIN_DEPTH 64
#define PLAIN_ITEMS 4000000

typedef struct plain_look {
  int depth;
  Py_ssize_t items;
} plain_look;

static bool plain_to(PyObject *o, plain_look *look);

static bool plain_items(PyObject *const *items, Py_ssize_t count, plain_look *look) {
  for (Py_ssize_t i = 0; i < count; i++)
    if (!plain_to(items[i], look)) return false;
  return true;
}

static bool plain_dict(PyObject *o, plain_look *look) {
  PyObject *key, *item;
  for (Py_ssize_t pos = 0; PyDict_Next(o, &pos, &key, &item);)
    if (!plain_to(key, look) || !plain_to(item, look)) return false;
  return true;
}

static bool plain_set(PyObject *o, plain_look *look) {
  PyObject *key;
  Py_hash_t hash;
  for (Py_ssize_t pos = 0; _PySet_NextEntry(o, &pos, &key, &hash);)
    if (!plain_to(key, look)) return false;
  return true;
}

static bool plain_container(PyObject *o, plain_look *look) {
  if (PyTuple_CheckExact(o))
    return plain_items(((PyTupleObject *)o)->ob_item, PyTuple_GET_SIZE(o), look);
  if (PyList_CheckExact(o))
    return plain_items(((PyListObject *)o)->ob_item, PyList_GET_SIZE(o), look);
  if (PySlice_Check(o)) return plain_items(&((PySliceObject *)o)->start, 3, look);
  if (PyDict_CheckExact(o)) return plain_dict(o, look);
  return PyAnySet_CheckExact(o) && plain_set(o, look);
}

static bool plain_to(PyObject *o, plain_look *look) {
  if (look->items-- <= 0) return false;
  if (object_is_scalar(o) || PyRange_Check(o)) return true;
  if (look->depth == 0) return false;
  look->depth--;
  bool plain = plain_container(o, look);
  look->depth++;
  return plain;
}

bool object_is_plain(PyObject *o) {
  return object_is_scalar(o) || plain_to(o, &(plain_look){PLAIN_DEPTH, PLAIN_ITEMS});
}

/* Going through an ordered dictionary hashes its keys, which must run nothing of the user's. */
bool live_order_is_plain(PyObject *dict) {
  PyObject *key, *item;
  for (Py_ssize_t pos = 0; PyDict_Next(dict, &pos, &key, &item);)
    if (!object_is_plain(key)) return false;
  return true;
}

/* ---- deques, and what classes over builtin types have by the builtin's own code ---------------
 */

PyObject *scalar_exact(PyObject *object) {
  if (PyLong_Check(object)) return _PyLong_Copy((PyLongObject *)object);
  if (PyFloat_Check(object)) return PyFloat_FromDouble(PyFloat_AS_DOUBLE(object));
  if (PyComplex_Check(object)) return PyComplex_FromCComplex(((PyComplexObject *)object)->cval);
  if (PyUnicode_Check(object)) return PyUnicode_FromObject(object);
  if (PyBytes_Check(object))
    return PyBytes_FromStringAndSize(PyBytes_AS_STRING(object), PyBytes_GET_SIZE(object));
  return NULL;
}

bool object_is_deque(PyObject *object) {
  return python_type_is_builtin(Py_TYPE(object)) &&
         strcmp(Py_TYPE(object)->tp_name, "collections.deque") == 0;
}

/* The builtin type that the object's is or is over. */
static PyTypeObject *object_base(PyTypeObject *type) {
  while (type && !python_type_is_builtin(type))
    type = type->tp_base;
  return type;
}

bool object_is_over_deque(PyObject *object) {
  PyTypeObject *base = object_base(Py_TYPE(object));
  return base && strcmp(base->tp_name, "collections.deque") == 0;
}

PyObject *deque_item(PyObject *deque, Py_ssize_t at) {
  PyTypeObject *base = object_base(Py_TYPE(deque));
  return base->tp_as_sequence->sq_item(deque, at);
}

PyObject *model_member(PyObject *object, PyObject *name) {
  PyTypeObject *base = object_base(Py_TYPE(object));
  PyObject *descr = base ? _PyType_Lookup(base, name) : NULL;
  if (descr && Py_TYPE(descr)->tp_descr_get)
    return Py_TYPE(descr)->tp_descr_get(descr, object, (PyObject *)Py_TYPE(object));
  PyErr_SetObject(PyExc_AttributeError, name);
  return NULL;
}

/* ---- functions with functools.lru_cache ------------------------------------------------------ */

/* As functools keeps a result where the cache is bounded, on all versions. */
typedef struct cached_link {
  PyObject_HEAD struct cached_link *prev, *next;
  Py_hash_t hash;
  PyObject *key, *result;
} cached_link;

bool object_is_cached(PyObject *object) {
  return python_type_is_builtin(Py_TYPE(object)) &&
         !strcmp(Py_TYPE(object)->tp_name, "functools._lru_cache_wrapper");
}

typedef struct cached_look {
  PyObject *own, *found, *mark, *function; /* function: what is looked for, NULL when found */
} cached_look;

static int cached_visit(PyObject *object, void *arg) {
  cached_look *look = arg;
  if (PyDict_CheckExact(object) && object != look->own) look->found = object;
  if (Py_IS_TYPE(object, &PyBaseObject_Type)) look->mark = object;
  if (object == look->function) look->function = NULL;
  return 0;
}

/* What the wrapper holds. Keys and results are visited before the dictionary and the mark, and the
 * dictionary of the wrapper's attributes is another. */
static cached_look cached_parts(PyObject *wrapper, PyObject *function) {
  PyObject **own = _PyObject_GetDictPtr(wrapper);
  cached_look look = {.own = own ? *own : NULL, .function = function};
  Py_TYPE(wrapper)->tp_traverse(wrapper, cached_visit, &look);
  return look;
}

/* The dictionary that the wrapper looks into; borrowed. */
static PyObject *cached_dict(PyObject *wrapper) { return cached_parts(wrapper, NULL).found; }

PyObject *cached_mark(PyObject *wrapper) { return cached_parts(wrapper, NULL).mark; }

bool cached_calls(PyObject *wrapper, PyObject *function) {
  return !cached_parts(wrapper, function).function;
}

PyObject *cached_read(PyObject *wrapper, PyObject *key, Py_hash_t hash) {
  PyObject *dict = cached_dict(wrapper);
  if (dict && !hash && (hash = PyObject_Hash(key)) == -1) return error_drop(), NULL;
  PyObject *item = dict ? _PyDict_GetItem_KnownHash(dict, key, hash) : NULL;
  if (!item) error_drop();
  bool link = item && !strcmp(Py_TYPE(item)->tp_name, "functools._lru_list_elem");
  return Py_XNewRef(link ? ((cached_link *)item)->result : item);
}

/* ---- iterators of builtin types ---------------------------------------------------------------
 */

/* As itertools keeps it on all versions: `now` is PY_SSIZE_T_MAX where the number is an object. */
typedef struct count_layout {
  PyObject_HEAD Py_ssize_t now;
  PyObject *number, *step;
} count_layout;

live_kind live_kind_of(PyObject *object) {
  PyTypeObject *type = Py_TYPE(object);
  if (!python_type_is_builtin(type) || !type->tp_iternext) return LIVE_NONE;
  if (type == &PyListIter_Type || type == &PyTupleIter_Type) return LIVE_SEQUENCE;
  if (!strcmp(type->tp_name, "str_iterator") || !strcmp(type->tp_name, "str_ascii_iterator"))
    return LIVE_SEQUENCE;
  if (type == &PyListRevIter_Type) return LIVE_REVERSED;
  if (type == &PyRangeIter_Type) return LIVE_RANGE;
  if (type == &PyEnum_Type) return LIVE_ENUMERATE;
  if (type == &PyZip_Type) return LIVE_ZIP;
  if (type == &PyMap_Type) return LIVE_MAP;
  if (type == &PyFilter_Type) return LIVE_FILTER;
  return strcmp(type->tp_name, "itertools.count") ? LIVE_NONE : LIVE_COUNT;
}

static PyObject *read_count(PyObject *object, const char *name) {
  const count_layout *c = (const count_layout *)object;
  if (!strcmp(name, "step")) return Py_XNewRef(c->step);
  return c->now == PY_SSIZE_T_MAX ? Py_XNewRef(c->number) : PyLong_FromSsize_t(c->now);
}

/* "0", "1", ...: what it was made of; "parts": of how many; "place": where it stands, None: at the
 * beginning; "start", "stop", "step" of the range. Asked of its own __reduce__(), written in C. */
PyObject *live_iter_read(PyObject *object, PyObject *key) {
  live_kind kind = live_kind_of(object);
  const char *name = PyUnicode_AsUTF8(key);
  if (kind == LIVE_NONE || !name) return NULL;
  if (kind == LIVE_COUNT) return read_count(object, name);
  PyObject *reduced = PyObject_CallMethod(object, "__reduce__", NULL), *item = NULL;
  PyObject *parts = reduced && PyTuple_Check(reduced) && PyTuple_GET_SIZE(reduced) > 1
                        ? PyTuple_GET_ITEM(reduced, 1)
                        : NULL;
  bool digit = name[0] >= '0' && name[0] <= '9';
  if (parts && PyTuple_Check(parts)) {
    Py_ssize_t count = PyTuple_GET_SIZE(parts), at = digit ? atoi(name) : 0;
    if (!strcmp(name, "parts"))
      item = PyLong_FromSsize_t(count);
    else if (!strcmp(name, "place"))
      item = Py_NewRef(PyTuple_GET_SIZE(reduced) > 2 ? PyTuple_GET_ITEM(reduced, 2) : Py_None);
    else if (at < count)
      item = digit ? Py_NewRef(PyTuple_GET_ITEM(parts, at))
                   : PyObject_GetAttr(PyTuple_GET_ITEM(parts, at), key);
  }
  Py_XDECREF(reduced);
  if (!item) error_drop();
  return item;
}

/* ---- models of types that are written in C ----------------------------------------------------
 */

static struct {
  PyObject *globals[2]; /* the library's, and torch's */
  int count;
} models;

bool model_add_module(PyObject *globals) {
  if (model_is_module(globals)) return true;
  if (models.count == (int)(sizeof models.globals / sizeof *models.globals)) return false;
  models.globals[models.count++] = Py_NewRef(globals);
  return true;
}

bool model_is_module(const PyObject *globals) {
  for (int i = 0; i < models.count; i++)
    if (models.globals[i] == globals) return true;
  return false;
}

PyObject *model_find(const char *name) {
  PyObject *found = NULL;
  for (int i = 0; i < models.count && !found; i++)
    found = PyDict_GetItemString(models.globals[i], name);
  return found;
}

bool model_owns(PyObject *object) {
  if (!object) return false;
  if (model_is_module(object)) return true;
  if (PyFunction_Check(object)) return model_is_module(((PyFunctionObject *)object)->func_globals);
  if (!PyType_Check(object) || !PyType_HasFeature((PyTypeObject *)object, Py_TPFLAGS_HEAPTYPE))
    return false;
  PyObject *name = PyDict_GetItemString(python_type_dict((PyTypeObject *)object), "__module__");
  bool owns = false;
  for (int i = 0; i < models.count && name && PyUnicode_Check(name) && !owns; i++) {
    PyObject *own = PyDict_GetItemString(models.globals[i], "__name__");
    owns = own && PyUnicode_Compare(name, own) == 0;
  }
  return owns;
}

/* Containers that may have changed on the next call. */
bool object_grows(PyObject *object) {
  return PyList_CheckExact(object) || PyDict_CheckExact(object) || PySet_CheckExact(object) ||
         object_is_deque(object);
}

PyObject *context_read(PyObject *variable) {
  PyObject *now = NULL;
  if (PyContextVar_Get(variable, NULL, &now) < 0) error_drop();
  return now;
}

/* Where the path goes on behind the folder that packages are installed in, or NULL. */
static const char *path_in_packages(const char *file) {
  static const char *const folders[] = {"/site-packages/", "/dist-packages/"};
  for (int i = 0; i < 2; i++) {
    const char *at = strstr(file, folders[i]);
    if (at) return at + strlen(folders[i]);
  }
  return NULL;
}

static bool path_is_in(const char *path, const char *package) {
  size_t n = strlen(package);
  return strncmp(path, package, n) == 0 && path[n] == '/';
}

/* Of a library whose arrays are captured, or of this one. */
static bool path_is_known(const char *path) {
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    if (path_is_in(path, (*a)->name)) return true;
  }
  return path_is_in(path, "frameloom");
}

static bool path_is_ours(const char *file) {
  return strstr(file, "/frameloom/_gradient") || strstr(file, "/frameloom/_tensor_");
}

bool loom_code_is_installed(const PyCodeObject *code) {
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  error_drop();
  return file && path_in_packages(file);
}

bool loom_code_is_library(const PyCodeObject *code, PyObject *globals) {
  const char *file = PyUnicode_AsUTF8(code->co_filename);
  error_drop();
  if (!file || model_owns(globals) || path_is_ours(file) || strncmp(file, "<frozen", 7) == 0)
    return file != NULL;
  const char *package = path_in_packages(file);
  return package ? path_is_known(package) : strstr(file, "/lib/python3.") != NULL;
}

bool is_partial(PyObject *o) {
  return !strcmp(Py_TYPE(o)->tp_name, "functools.partial") && !PyType_Check(o);
}
