/* Keys of dictionaries and sets: which can be told apart at capture, and compared as Python does
 * where that runs no user code. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

bool type_runs_python(tracer *t, PyTypeObject *type, const char *name) {
  PyObject *method = class_special(t, type, name);
  return method && (PyFunction_Check(method) || Py_IS_TYPE(method, &PyStaticMethod_Type) ||
                    Py_IS_TYPE(method, &PyClassMethod_Type));
}

/* Its type compares it with others by C code of its own that looks at what is in it. */
static bool key_has_ways(PyObject *o) {
  richcmpfunc compare = Py_TYPE(o)->tp_richcompare;
  return compare && compare != PyBaseObject_Type.tp_richcompare && !PyType_Check(o) &&
         !object_is_plain(o);
}

/* Two constants, not both of builtin types alone: as a dictionary does, by hash and then by what
 * the types say, where these are known to run nothing of the user's. */
static int key_equal_objects(tracer *t, value *l, value *r) {
  PyObject *both[2] = {l->object, r->object};
  bool same, ways = false;
  for (int i = 0; i < 2; i++) {
    if (!key_has_ways(both[i])) continue;
    ways = true;
    if (PyCFunction_CheckExact(both[i]) || object_is_immutable(both[i])) continue;
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of keys"), -1;
  }
  if (!ways) return value_same(t, l, r, &same) ? same : -1;
  if (!value_identity(t, l) || !value_identity(t, r)) return -1;
  Py_hash_t hashes[2] = {PyObject_Hash(both[0]), PyObject_Hash(both[1])};
  int equal = hashes[0] == -1 || hashes[1] == -1 ? -1
              : hashes[0] != hashes[1] ? 0
                                       : PyObject_RichCompareBool(both[0], both[1], Py_EQ);
  return equal < 0 ? (trace_raise_live(t), -1) : equal;
}

/* Enum's own __hash__, which is that of the member's name. */
static PyObject *key_enum_hash(PyObject **meta_out) {
  static PyObject *hash, *meta;
  if (!hash) {
    PyObject *module = PyImport_ImportModule("enum");
    PyObject *base = module ? PyObject_GetAttrString(module, "Enum") : NULL;
    hash = base ? PyObject_GetAttrString(base, "__hash__") : NULL;
    meta = base ? Py_NewRef((PyObject *)Py_TYPE(base)) : NULL;
    Py_XDECREF(module);
    Py_XDECREF(base);
    error_drop();
  }
  *meta_out = meta;
  return hash;
}

bool key_is_enum_class(tracer *t, PyTypeObject *type) {
  PyObject *meta, *hash = key_enum_hash(&meta);
  return hash && meta && PyObject_TypeCheck((PyObject *)type, (PyTypeObject *)meta) &&
         class_special(t, type, "__hash__") == hash && type_keeps_default(t, type, "__eq__");
}

bool object_is_enum_member(tracer *t, PyObject *object) {
  return key_is_enum_class(t, Py_TYPE(object));
}

Py_hash_t key_hash(tracer *t, PyObject *key) {
  if (!object_is_enum_member(t, key)) return PyObject_Hash(key);
  PyObject *text = trace_keep(t, PyUnicode_InternFromString("_name_"));
  PyObject *name = text ? PyObject_GenericGetAttr(key, text) : NULL;
  Py_hash_t hash = name && PyUnicode_CheckExact(name) ? PyObject_Hash(name) : -1;
  Py_XDECREF(name);
  error_drop();
  if (hash == -1) trace_break(t, BREAK_UNSUPPORTED_TYPE, "a key of type %s", Py_TYPE(key)->tp_name);
  return hash;
}

/* An object is a key by its identity when its class leaves hash and equality as they are. */
bool key_object_check(tracer *t, value *key) {
  PyTypeObject *type = (PyTypeObject *)object_class(key);
  if (class_special(t, type, "__hash__") == Py_None)
    return trace_raise(t, PyExc_TypeError, "unhashable type: '%s'", type->tp_name), false;
  return key_is_enum_class(t, type) || scalar_key(t, key) ||
         (type_keeps_default(t, type, "__hash__") && type_keeps_default(t, type, "__eq__"));
}

bool key_is_refused(tracer *t, value *key) {
  return trace_raise(t, PyExc_TypeError, "unhashable type: '%s'", key->type->name);
}

static bool key_by_identity(tracer *t, value *key) {
  return key->object && !type_runs_python(t, Py_TYPE(key->object), "__hash__") &&
         value_identity(t, key);
}

bool key_check(tracer *t, value *key) {
  if (!trace_goes_deeper(t)) return false;
  if (key->type->key ? key->type->key(t, key) : key_by_identity(t, key)) return true;
  if (!trace_pending(t)) trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %s as a key", key->type->name);
  return false;
}

static int key_equal_tuples(tracer *t, value *l, value *r) {
  if (l->seq.count != r->seq.count) return 0;
  for (Py_ssize_t i = 0; i < l->seq.count; i++) {
    int equal = key_equal(t, l->seq.items[i], r->seq.items[i]);
    if (equal != 1) return equal;
  }
  return 1;
}

/* A symbolic int equals ints alone; a float may equal it, too: its value decides. */
static int key_equal_sizes(tracer *t, value *l, value *r) {
  int64_t a, b;
  value *other = number_is_size(l) ? r : l;
  if (value_is_const(other) && !PyFloat_CheckExact(other->object) &&
      !PyComplex_CheckExact(other->object) && !PyLong_CheckExact(other->object) &&
      !PyBool_Check(other->object))
    return 0;
  if (value_size_of(t, l, &a) && value_size_of(t, r, &b)) return size_equal(t, a, b);
  if (!trace_pending(t)) number_know(t, number_is_size(l) ? l : r);
  return -1;
}

PyObject *key_known(tracer *t, value *key) {
  PyObject *object = key->type->key_object ? key->type->key_object(key) : NULL;
  return object ? Py_NewRef(object) : value_known(t, key);
}

int key_equal(tracer *t, value *l, value *r) {
  if (l == r) return 1;
  if (l->type->key_object || r->type->key_object) return 0;
  if (!trace_goes_deeper(t)) return -1;
  value *left = scalar_key(t, l), *right = scalar_key(t, r);
  if (left) l = left;
  if (right) r = right;
  if (number_is_size(l) || number_is_size(r)) return key_equal_sizes(t, l, r);
  if (value_is_tuple(l) && value_is_tuple(r)) return key_equal_tuples(t, l, r);
  value *object = value_is_instance(l) ? l : value_is_instance(r) ? r : NULL;
  if (object && !key_object_check(t, object)) {
    if (!trace_pending(t)) trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of keys");
    return -1;
  }
  bool sets =
      value_is_any_set(l) && value_is_any_set(r) && !(value_is_const(l) && value_is_const(r));
  if (!sets && l->type != r->type && !(l->object && r->object)) return 0;
  if (value_is_const(l) && value_is_const(r)) {
    if (value_identical(t, l, r)) return 1;
    if (!object_is_plain(l->object) || !object_is_plain(r->object))
      return key_equal_objects(t, l, r);
    int equal = PyObject_RichCompareBool(l->object, r->object, Py_EQ);
    return equal < 0 ? (trace_raise_live(t), -1) : equal;
  }
  if (l->type == r->type && value_is_instance(l)) {
    bool same;
    return value_same(t, l, r, &same) ? same : -1;
  }
  for (int i = 0; i < 2; i++) { /* numbers of a library, say, have another hash than any text */
    value *text = i ? r : l, *other = i ? l : r;
    if (!value_is_const(text) || value_is_const(other)) continue;
    PyObject *type = value_type_of(t, other);
    if (!type) return -1;
    if (PyType_Check(text->object) ||
        (PyUnicode_CheckExact(text->object) &&
         !PyType_IsSubtype((PyTypeObject *)type, &PyUnicode_Type)) ||
        (PyBytes_CheckExact(text->object) &&
         !PyType_IsSubtype((PyTypeObject *)type, &PyBytes_Type)))
      return 0;
  }
  value *equal = trace_compare(t, Py_EQ, l, r);
  return equal ? trace_truth(t, equal) : -1;
}
