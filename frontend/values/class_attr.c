/* Attributes that are found on a class: along its bases, bound to an instance, guarded by what
 * would be found first. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#include <structmember.h>

PyObject *class_lookup(tracer *t, PyTypeObject *type, PyObject *name) {
  PyObject *item = _PyType_Lookup(type, name);
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || type->tp_flags & Py_TPFLAGS_IMMUTABLETYPE)
    return item;
  const source *base = trace_source(t, SOURCE_CONST, NULL, (PyObject *)type, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
  guard_simple(t, item ? GUARD_IDENTITY : GUARD_MISSING, s, item, 0);
  return item;
}

PyObject *class_special(tracer *t, PyTypeObject *type, const char *name) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  return key ? class_lookup(t, type, key) : NULL;
}

/* The method is object's own, or there is none. */
bool type_keeps_default(tracer *t, PyTypeObject *type, const char *name) {
  return class_special(t, type, name) == class_special(t, &PyBaseObject_Type, name);
}

bool type_keeps_of_type(tracer *t, PyTypeObject *meta, const char *name) {
  return class_special(t, meta, name) == class_special(t, &PyType_Type, name);
}

void guard_mro(tracer *t, PyTypeObject *type) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || !type->tp_mro) return;
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("__mro__"));
  const source *base = key ? trace_source(t, SOURCE_CONST, NULL, (PyObject *)type, NULL, 0) : NULL;
  const source *s = base ? trace_source(t, SOURCE_DERIVED, base, NULL, key, 0) : NULL;
  guard_simple(t, GUARD_IDENTITY, s, type->tp_mro, 0);
  for (Py_ssize_t i = 1; class_is_made(t, (PyObject *)type) && i < PyTuple_GET_SIZE(type->tp_mro);
       i++) {
    PyObject *cls = PyTuple_GET_ITEM(type->tp_mro, i);
    if (!class_is_made(t, cls)) guard_mro(t, (PyTypeObject *)cls);
  }
}

PyObject *class_find(PyObject *type, PyObject *name, PyObject *after, PyObject **where_out) {
  *where_out = type;
  if (!after) return _PyType_Lookup((PyTypeObject *)type, name);
  PyObject *mro = ((PyTypeObject *)type)->tp_mro;
  bool passed = false;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
    PyObject *cls = PyTuple_GET_ITEM(mro, i);
    if (passed && PyType_Check(cls)) {
      PyObject *item = PyDict_GetItemWithError(python_type_dict((PyTypeObject *)cls), name);
      error_drop();
      *where_out = cls;
      if (item) return item;
    }
    passed |= cls == after;
  }
  return NULL;
}

value *class_wrap_constant(tracer *t, PyObject *object) {
  const source *s = trace_source(t, SOURCE_CONST, NULL, object, NULL, 0);
  return s ? value_wrap(t, object, s) : NULL;
}

static bool is_cached_property(PyTypeObject *kind) {
  static PyObject *own;
  if (!own) {
    PyObject *functools = PyImport_ImportModule("functools");
    own = functools ? PyObject_GetAttrString(functools, "cached_property") : NULL;
    Py_XDECREF(functools);
    error_drop();
  }
  return own && (PyObject *)kind == own;
}

/* A functools.cached_property, whose value is kept among the attributes. Without the lock that it
 * takes where the version still has one: nothing else runs while capturing. */
static value *object_cached(tracer *t, PyObject *descr, value *self) {
  if (!((PyTypeObject *)object_class(self))->tp_dictoffset)
    return trace_break(t, BREAK_ATTRIBUTE, "a cached property without a dictionary");
  if (type_runs_python(t, (PyTypeObject *)object_class(self), "__getattribute__"))
    return trace_break(t, BREAK_ATTRIBUTE, "a cached property of a class with __getattribute__");
  PyObject *function = trace_keep(t, PyObject_GetAttrString(descr, "func"));
  PyObject *name = trace_keep(t, PyObject_GetAttrString(descr, "attrname"));
  value *f = function && name && PyUnicode_Check(name) ? class_wrap_constant(t, function) : NULL;
  value *key = f ? value_const(t, name) : NULL, *item = key ? trace_call1(t, f, self) : NULL;
  if (!item && !trace_pending(t)) trace_break(t, BREAK_ATTRIBUTE, "a cached property");
  if (!item || object_is_virtual(self))
    return item && dict_put(t, self->any.b, key, item) ? item : NULL;
  return object_store(t, self, name, item) ? item : NULL;
}

PyObject *name_interned(tracer *t, const char *name) {
  return trace_keep(t, PyUnicode_InternFromString(name));
}

/* Whether a class statement's instances in classes are descriptors (`names`, NULL at the end) has
 * to stay as it is. */
void guard_descriptor(tracer *t, PyTypeObject *kind, const char *const *names) {
  if (!PyType_HasFeature(kind, Py_TPFLAGS_HEAPTYPE)) return;
  const source *own = trace_source(t, SOURCE_CONST, NULL, (PyObject *)kind, NULL, 0);
  for (; own && *names; names++) {
    PyObject *name = name_interned(t, *names);
    const source *s = name ? trace_source(t, SOURCE_ATTR, own, NULL, name, 0) : NULL;
    if (s) guard_simple(t, _PyType_Lookup(kind, name) ? GUARD_PRESENT : GUARD_MISSING, s, NULL, 0);
  }
}

static const char *const descriptor_get[] = {"__get__", NULL};

bool class_is_property(PyTypeObject *kind) {
  return kind == &PyProperty_Type || (PyType_IsSubtype(kind, &PyProperty_Type) &&
                                      kind->tp_descr_get == PyProperty_Type.tp_descr_get);
}

void guard_data_descriptor(tracer *t, PyObject *descr) {
  static const char *const names[] = {"__set__", "__delete__", NULL};
  if (descr) guard_descriptor(t, Py_TYPE(descr), names);
}

/* What `descriptor.__get__(self, type)` gives, for the descriptors that are known. */
static value *type_bind(tracer *t, PyObject *item, const source *s, PyObject *type, PyObject *name,
                        value *self) {
  value *v = value_wrap(t, item, s);
  if (!v) return NULL;
  PyTypeObject *kind = Py_TYPE(item);
  if (kind == &PyFunction_Type) return self ? value_method(t, v, self) : v;
  if (kind == &PyMethodDescr_Type || kind == &PyWrapperDescr_Type)
    return self ? value_method(t, v, self) : v;
  if (kind == &PyStaticMethod_Type || kind == &PyClassMethod_Type) {
    PyObject *function = trace_keep(t, PyObject_GetAttrString(item, "__func__"));
    value *f = function ? class_wrap_constant(t, function) : NULL;
    if (!f || kind == &PyStaticMethod_Type) return f;
    value *cls = value_const(t, type);
    return cls ? value_method(t, f, cls) : NULL;
  }
  if (class_is_property(kind) && kind != &PyProperty_Type) {
    guard_descriptor(t, kind, descriptor_get);
    guard_simple(t, GUARD_IDENTITY, s, item, 0);
    if (!self) return v;
  }
  if (class_is_property(kind) && self) {
    PyObject *getter = trace_keep(t, PyObject_GetAttrString(item, "fget"));
    value *f = getter ? class_wrap_constant(t, getter) : NULL;
    return f ? trace_call1(t, f, self) : NULL;
  }
  if (kind == &PyClassMethodDescr_Type) {
    value *cls = value_const(t, type);
    return cls ? value_method(t, v, cls) : NULL;
  }
  if (self && value_is_instance(self) && is_cached_property(kind))
    return object_cached(t, item, self);
  if (!kind->tp_descr_get) return guard_descriptor(t, kind, descriptor_get), v;
  if (object_is_cached(item)) return self ? value_method(t, v, self) : v;
  if (loom_callable_unwrap && loom_callable_unwrap(item))
    return self ? value_method(t, v, self) : v;
  if (!self &&
      (kind == &PyProperty_Type || kind == &PyGetSetDescr_Type || kind == &PyMemberDescr_Type))
    return v;
  if (value_is_instance(v) && type_runs_python(t, kind, "__get__")) {
    value *args[2] = {self ? self : t->constants.none, value_const(t, type)};
    return args[1] ? trace_method(t, v, "__get__", args, 2) : NULL;
  }
  if (self && value_is_instance(self) && kind == &PyMemberDescr_Type)
    return object_slot(t, self, name, item);
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' is a %s", PyUnicode_AsUTF8(name), kind->tp_name);
}

/* A class's own dictionary has the name, or has it not: it is to stay so. */
static void guard_own(tracer *t, PyObject *cls, PyObject *name, bool present) {
  if (!PyType_HasFeature((PyTypeObject *)cls, Py_TPFLAGS_HEAPTYPE) || class_is_made(t, cls)) return;
  const source *base = trace_source(t, SOURCE_CONST, NULL, cls, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_ITEM, base, NULL, name, 0) : NULL;
  guard_simple(t, present ? GUARD_PRESENT : GUARD_MISSING, s, NULL, 0);
}

/* What has been assigned to a class (of the method resolution order, behind `after`) and stands
 * before what its dictionary holds: plain data. A read of the attribute at the next call does not
 * tell which class has it, where one that comes later in that order is assigned to. */
static value *type_assigned(tracer *t, PyObject *type, PyObject *name, PyObject *after) {
  PyObject *mro = ((PyTypeObject *)type)->tp_mro;
  Py_ssize_t count = t->live.overlays && mro ? PyTuple_GET_SIZE(mro) : 0, begin = 0, at;
  const overlay_slot *changed = NULL;
  while (after && begin < count && PyTuple_GET_ITEM(mro, begin++) != after) {
  }
  for (at = begin; at < count; at++) {
    changed = overlay_find(overlay_of(t, PyTuple_GET_ITEM(mro, at), true), name);
    if (changed) break;
  }
  if (!changed) return NULL;
  if (at > begin) guard_mro(t, (PyTypeObject *)type);
  for (Py_ssize_t i = begin; i < at; i++) {
    PyObject *cls = PyTuple_GET_ITEM(mro, i);
    if (!PyType_Check(cls)) continue;
    bool own = PyDict_GetItemWithError(python_type_dict((PyTypeObject *)cls), name) != NULL;
    error_drop();
    guard_own(t, cls, name, own);
    if (own) return NULL;
  }
  return changed->item;
}

/* Nothing of that name comes between `after` and the class `where` it was found, or the end. */
static void guard_between(tracer *t, PyObject *type, PyObject *name, PyObject *after,
                          const PyObject *where) {
  PyObject *mro = ((PyTypeObject *)type)->tp_mro;
  bool passed = false;
  for (Py_ssize_t i = 0; mro && i < PyTuple_GET_SIZE(mro); i++) {
    PyObject *cls = PyTuple_GET_ITEM(mro, i);
    if (passed && cls == where) return;
    if (passed && PyType_Check(cls)) class_lookup(t, (PyTypeObject *)cls, name);
    passed |= cls == after;
  }
}

value *type_attr(tracer *t, PyObject *type, PyObject *name, value *self, PyObject *after) {
  value *assigned = type_assigned(t, type, name, after);
  if (assigned) return assigned;
  PyObject *where, *item = class_find(type, name, after, &where);
  if (after) guard_between(t, type, name, after, item ? where : NULL);
  const source *base = trace_source(t, SOURCE_CONST, NULL, where, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
  if (!item && s && !after && PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE))
    guard_simple(t, GUARD_MISSING, s, NULL, 0);
  if (!item) return NULL;
  return s ? type_bind(t, item, s, type, name, self) : NULL;
}
