/* Instances of Python classes: live ones, read attribute by attribute, and those made inside, which
 * are only a class and a dictionary. Their operators are their special methods, inlined. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <structmember.h>

/* any.a: the class; any.b: a dict value with the attributes of one made inside; NULL for a live
 * one. */
value *value_object_new(tracer *t, PyObject *cls) {
  value *v = value_new(t, &value_object_type);
  if (!v || !trace_keep(t, Py_NewRef(cls))) return NULL;
  v->any.a = cls;
  return v;
}

PyObject *object_class(value *v) { return v->any.a; }
bool object_is_virtual(value *v) { return v->any.b != NULL; }

/* ---- attributes found on a class ------------------------------------------------------------ */

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

static PyObject *type_find(PyObject *type, PyObject *name, PyObject *after, PyObject **where_out) {
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

static value *wrap_constant(tracer *t, PyObject *object) {
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
  value *f = function && name && PyUnicode_Check(name) ? wrap_constant(t, function) : NULL;
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
static void guard_descriptor(tracer *t, PyTypeObject *kind, const char *const *names) {
  if (!PyType_HasFeature(kind, Py_TPFLAGS_HEAPTYPE)) return;
  const source *own = trace_source(t, SOURCE_CONST, NULL, (PyObject *)kind, NULL, 0);
  for (; own && *names; names++) {
    PyObject *name = name_interned(t, *names);
    const source *s = name ? trace_source(t, SOURCE_ATTR, own, NULL, name, 0) : NULL;
    if (s) guard_simple(t, _PyType_Lookup(kind, name) ? GUARD_PRESENT : GUARD_MISSING, s, NULL, 0);
  }
}

static const char *const descriptor_get[] = {"__get__", NULL};

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
    value *f = function ? wrap_constant(t, function) : NULL;
    if (!f || kind == &PyStaticMethod_Type) return f;
    value *cls = value_const(t, type);
    return cls ? value_method(t, f, cls) : NULL;
  }
  if (kind == &PyProperty_Type && self) {
    PyObject *getter = trace_keep(t, PyObject_GetAttrString(item, "fget"));
    value *f = getter ? wrap_constant(t, getter) : NULL;
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
  PyObject *where, *item = type_find(type, name, after, &where);
  if (after) guard_between(t, type, name, after, item ? where : NULL);
  const source *base = trace_source(t, SOURCE_CONST, NULL, where, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
  if (!item && s && !after && PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE))
    guard_simple(t, GUARD_MISSING, s, NULL, 0);
  if (!item) return NULL;
  return s ? type_bind(t, item, s, type, name, self) : NULL;
}

/* ---- attributes of instances ---------------------------------------------------------------- */

static bool is_data_descriptor(PyObject *item) {
  return item && Py_TYPE(item)->tp_descr_set != NULL;
}

static bool is_namespace(const PyTypeObject *type) {
  return python_type_is_builtin((PyTypeObject *)type) &&
         strcmp(type->tp_name, "types.SimpleNamespace") == 0;
}

bool object_is_namespace(PyObject *object) { return is_namespace(Py_TYPE(object)); }

/* Instances keep attributes in a dictionary or slots, as those of a class statement over object do.
 */
static bool class_stores_plainly(PyTypeObject *type) {
  return loom_class_is_python(type) || container_base(type) || scalar_base(type) ||
         is_namespace(type);
}

/* The builtin type whose ways with attributes are those of object. */
static PyTypeObject *class_base(value *v) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (scalar_content(v)) return scalar_base(type);
  return is_namespace(type) ? type : object_content(v) ? container_base(type) : &PyBaseObject_Type;
}

/* __dict__, as the class statement or the type of namespaces make it. */
static bool is_own_dict(PyTypeObject *type, PyObject *name, PyObject *descr) {
  return descr && !PyUnicode_CompareWithASCIIString(name, "__dict__") &&
         (Py_IS_TYPE(descr, &PyGetSetDescr_Type) ||
          (Py_IS_TYPE(descr, &PyMemberDescr_Type) && is_namespace(type)));
}

/* What the class says of a name that an instance has itself: no data descriptor may come to stand
 * before it. */
static void guard_behind(tracer *t, PyTypeObject *type, PyObject *name, PyObject *descr) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE)) return;
  const source *base = trace_source(t, SOURCE_CONST, NULL, (PyObject *)type, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
  guard_simple(t, descr ? GUARD_TYPE : GUARD_MISSING, s, descr ? (PyObject *)Py_TYPE(descr) : NULL,
               0);
  guard_data_descriptor(t, descr);
}

static value *live_attr(tracer *t, value *v, PyObject *name) {
  const overlay_slot *changed = overlay_find(overlay_of(t, v->object, true), name);
  if (changed) return changed->item;
  PyObject **dict = _PyObject_GetDictPtr(v->object);
  PyObject *item = dict && *dict ? PyDict_GetItemWithError(*dict, name) : NULL;
  const source *s = trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0);
  error_drop();
  if (!s) return NULL;
  if (item) return value_wrap(t, item, s);
  if (dict) guard_simple(t, GUARD_MISSING, s, NULL, 0);
  return NULL;
}

value *object_own_attr(tracer *t, value *v, PyObject *name) { return live_attr(t, v, name); }

static value *slot_attr(tracer *t, value *v, PyObject *name, PyObject *descr) {
  if (!v->object) {
    value *key = value_const(t, name);
    return key && v->any.b ? dict_get(t, v->any.b, key) : NULL;
  }
  const overlay_slot *changed = overlay_find(overlay_of(t, v->object, true), name);
  if (changed) return changed->item;
  PyObject *item = PyMember_GetOne((char *)v->object, ((PyMemberDescrObject *)descr)->d_member);
  error_drop();
  const source *s = trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0);
  if (!item) guard_simple(t, GUARD_MISSING, s, NULL, 0);
  if (!s || !item) return Py_XDECREF(item), NULL;
  return value_wrap(t, trace_keep(t, item), s);
}

/* Attributes that are not in the dictionary, which may have others of the same names. */
static bool class_has_slots(PyTypeObject *type) {
  for (Py_ssize_t i = 0; type->tp_mro && i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    PyTypeObject *cls = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
    PyObject *slots =
        PyType_HasFeature(cls, Py_TPFLAGS_HEAPTYPE) ? ((PyHeapTypeObject *)cls)->ht_slots : NULL;
    if (slots && PyTuple_GET_SIZE(slots)) return true;
  }
  return false;
}

/* What vars() gives: of a live object, its dictionary. */
static value *object_dict(tracer *t, value *v) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (v->any.b && class_has_slots(type))
    return trace_break(t, BREAK_ATTRIBUTE, "'__dict__' of a new %s, which has slots too",
                       type->tp_name);
  if (v->any.b && (type->tp_dictoffset || is_namespace(type)))
    return trace_map_set(t, &t->known.contents, v->any.b, v) ? v->any.b : NULL;
  PyObject *name = name_interned(t, "__dict__");
  if (!v->object || !v->source || !name || !type->tp_dictoffset || !class_stores_plainly(type))
    return trace_break(t, BREAK_ATTRIBUTE, "'__dict__' of a %s", type->tp_name);
  PyObject *dict = trace_keep(t, PyObject_GenericGetDict(v->object, NULL));
  const source *s = dict ? trace_source(t, SOURCE_DERIVED, v->source, NULL, name, 0) : NULL;
  if (!s) return trace_fail(t);
  if (pointer_map_get(&t->known.wrapped, dict)) return value_wrap(t, dict, s);
  guard_simple(t, GUARD_TYPE, s, (PyObject *)&PyDict_Type, 0);
  value *items = live_new(t, dict, s, v);
  if (!items || !trace_map_set(t, &t->known.wrapped, dict, items) ||
      !trace_map_set(t, &t->known.by_source, s, items))
    return NULL;
  return items;
}

/* As object.__getattribute__; NULL with nothing pending: missing. */
value *object_attr(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *descr = _PyType_Lookup(type, name);
  if (is_own_dict(type, name, descr)) return object_dict(t, v);
  value *part = descr ? scalar_attr(t, v, name, descr) : NULL;
  if (descr && !part && !trace_pending(t)) part = derived_attr(t, v, name, descr);
  if (part || trace_pending(t)) return part;
  if (descr && Py_IS_TYPE(descr, &PyMemberDescr_Type)) return slot_attr(t, v, name, descr);
  bool data = is_data_descriptor(descr);
  if (data) guard_data_descriptor(t, descr);
  if (data && !Py_TYPE(descr)->tp_descr_get) guard_descriptor(t, Py_TYPE(descr), descriptor_get);
  if (data && Py_TYPE(descr)->tp_descr_get) { /* one without stands behind what the instance has */
    if (Py_IS_TYPE(descr, &PyProperty_Type) || type_runs_python(t, Py_TYPE(descr), "__get__"))
      return type_attr(t, (PyObject *)type, name, v, NULL);
    if (!PyUnicode_CompareWithASCIIString(name, "__class__"))
      return value_const(t, model_real((PyObject *)type));
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' is a %s", PyUnicode_AsUTF8(name),
                       Py_TYPE(descr)->tp_name);
  }
  value *item = NULL;
  if (v->object) {
    item = live_attr(t, v, name);
    if (item) guard_behind(t, type, name, descr);
  } else if (v->any.b) {
    value *key = value_const(t, name);
    item = key ? dict_get(t, v->any.b, key) : NULL;
    if (item && !model_owns((PyObject *)type)) guard_behind(t, type, name, descr);
  }
  if (item || trace_pending(t)) return item;
  return type_attr(t, (PyObject *)type, name, v, NULL);
}

/* A class's own method, when it is the expected one, has to stay it. */
static void guard_method(tracer *t, PyTypeObject *type, PyObject *name, PyObject *standard) {
  if (!PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) || _PyType_Lookup(type, name) != standard)
    return;
  const source *own = trace_source(t, SOURCE_CONST, NULL, (PyObject *)type, NULL, 0);
  guard_simple(t, GUARD_IDENTITY, own ? trace_source(t, SOURCE_ATTR, own, NULL, name, 0) : NULL,
               standard, 0);
}

value *object_lazy_attr(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *attribute = name_interned(t, "__getattribute__"), *item = NULL;
  PyObject *standard = attribute ? _PyType_Lookup(&PyBaseObject_Type, attribute) : NULL;
  PyObject *descr = _PyType_Lookup(type, name);
  if (!v->object || _PyType_Lookup(type, attribute) != standard ||
      overlay_find(overlay_of(t, v->object, true), name) || is_data_descriptor(descr))
    return NULL;
  PyObject **dict = _PyObject_GetDictPtr(v->object);
  if (dict && *dict) item = PyDict_GetItemWithError(*dict, name);
  error_drop();
  if (!item || !object_grows(item) || pointer_map_get(&t->known.wrapped, item)) return NULL;
  guard_method(t, type, attribute, standard);
  guard_behind(t, type, name, descr);
  const source *s = trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0);
  guard_simple(t, GUARD_PRESENT, s, NULL, 0);
  return value_lazy(t, item, s);
}

/* An AttributeError is being raised: the class's __getattr__ is asked, if it has one. */
static value *object_get_missed(tracer *t, value *v, PyObject *name, PyObject *hook) {
  PyObject *type = object_class(v);
  if (t->state != TRACE_RAISING || !exception_matches(t, t->raised, PyExc_AttributeError) ||
      !class_lookup(t, (PyTypeObject *)type, hook))
    return NULL;
  t->state = TRACE_GOING;
  t->raised = NULL;
  value *method = type_attr(t, type, hook, v, NULL), *key = method ? value_const(t, name) : NULL;
  return key ? trace_call1(t, method, key) : NULL;
}

/* The class has a __getattribute__ in Python. */
static value *object_get_by_own(tracer *t, value *v, PyObject *name, PyObject *attribute,
                                PyObject *hook) {
  value *method = type_attr(t, object_class(v), attribute, v, NULL);
  value *key = method ? value_const(t, name) : NULL;
  value *item = key ? trace_call1(t, method, key) : NULL;
  return item ? item : object_get_missed(t, v, name, hook);
}

/* As the class's own lookup methods say, which are inlined. */
static value *object_get_attr(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *hook = name_interned(t, "__getattr__"),
           *attribute = name_interned(t, "__getattribute__");
  if (!hook || !attribute) return NULL;
  value *inside = model_of_instance(t, v, name);
  if (inside || trace_pending(t)) return inside;
  PyObject *named = model_named(t, (PyObject *)type, name);
  if (named == name && model_is_private(t, (PyObject *)type, name))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name), type->tp_name);
  if (!(name = named)) return NULL;
  PyObject *standard = _PyType_Lookup(class_base(v), attribute);
  PyObject *own = class_lookup(t, type, attribute);
  if (own != standard && !PyFunction_Check(own))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class with __getattribute__",
                       PyUnicode_AsUTF8(name));
  if (own != standard) return object_get_by_own(t, v, name, attribute, hook);
  value *item = object_attr(t, v, name);
  if (item || trace_pending(t)) return item ? item : object_get_missed(t, v, name, hook);
  value *method = type_attr(t, (PyObject *)type, hook, v, NULL);
  if (method || trace_pending(t)) {
    value *key = method ? value_const(t, name) : NULL;
    return key ? trace_call1(t, method, key) : NULL;
  }
  bool dict = v->any.b && (type->tp_dictoffset || is_namespace(type)); /* or it has slots only */
  if (dict && !PyUnicode_CompareWithASCIIString(name, "__dict__")) return object_dict(t, v);
  PyTypeObject *real = (PyTypeObject *)model_real((PyObject *)type);
  if (model_owns((PyObject *)type) && (real->tp_dictoffset || _PyType_Lookup(real, name)))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name), type->tp_name);
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'", type->tp_name,
                     PyUnicode_AsUTF8(name));
}

static bool object_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *hook = name_interned(t, item ? "__setattr__" : "__delattr__");
  if (model_owns((PyObject *)type) && !model_owns(t->frame->function->globals)) {
    trace_break(t, BREAK_ATTRIBUTE, "assignment to an attribute of a %s", type->tp_name);
    return false;
  }
  if (!hook) return false;
  PyObject *standard = _PyType_Lookup(class_base(v), hook);
  if (class_lookup(t, type, hook) != standard) {
    value *method = type_attr(t, (PyObject *)type, hook, v, NULL),
          *key = method ? value_const(t, name) : NULL;
    value *args[2] = {key, item};
    return key && trace_call(t, method, args, item ? 2 : 1, NULL) != NULL;
  }
  return object_store(t, v, name, item);
}

/* May a class hold it without saying anything to lookups? */
static bool store_is_data(tracer *t, value *item) {
  if (value_is_const(item)) return object_is_scalar(item->object);
  PyObject *type = value_is_instance(item)   ? object_class(item)
                   : item->type->python_type ? item->type->python_type(t, item)
                                             : NULL;
  return type && !((PyTypeObject *)type)->tp_descr_get && !((PyTypeObject *)type)->tp_descr_set;
}

/* An attribute of a class: data, in place of data. */
bool type_store(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)v->object;
  PyObject *before = _PyType_Lookup(type, name);
  bool special = PyUnicode_GET_LENGTH(name) > 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
                 PyUnicode_READ_CHAR(name, 1) == '_';
  bool plain = Py_TYPE(type)->tp_setattro == PyType_Type.tp_setattro && !special &&
               PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
               !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) &&
               !(before && (Py_TYPE(before)->tp_descr_get || is_data_descriptor(before)));
  if (!item || !plain || !store_is_data(t, item) || model_owns(v->object)) {
    trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a class", PyUnicode_AsUTF8(name));
    return false;
  }
  guard_behind(t, type, name, before);
  bool own = PyDict_GetItemWithError(type->tp_dict, name) == before;
  if (own && !trace_gives_up(t, before, item)) return false;
  overlay *o =
      overlay_open(t, v->object, trace_source(t, SOURCE_CONST, NULL, v->object, NULL, 0), true);
  return o && overlay_put(t, o, name, item);
}

/* May the attribute let go of what it holds? */
static bool live_gives_up(tracer *t, const value *v, PyObject *name, bool slot, const value *item) {
  PyObject *const none[1] = {NULL};
  const source here = {.kind = SOURCE_CONST, .object = v->object},
               like = {.kind = SOURCE_ATTR, .base = &here, .key = name};
  PyObject **dict = slot ? NULL : _PyObject_GetDictPtr(v->object);
  PyObject *before = slot            ? source_read(&like, none)
                     : dict && *dict ? Py_XNewRef(PyDict_GetItemWithError(*dict, name))
                                     : NULL;
  error_drop();
  bool good = trace_gives_up(t, before, item);
  Py_XDECREF(before);
  return good;
}

/* An attribute of an object that existed before the call. */
static bool live_store(tracer *t, value *v, PyObject *name, value *item, PyObject *descr) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  bool slot = descr && Py_IS_TYPE(descr, &PyMemberDescr_Type);
  if (!class_stores_plainly(type) || !v->source || !PyUnicode_CheckExact(name)) {
    trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a %s that existed before the call",
                PyUnicode_AsUTF8(name), type->tp_name);
    return false;
  }
  if (!slot) guard_behind(t, type, name, descr);
  overlay *o = overlay_open(t, v->object, v->source, true);
  if (o && !overlay_find(o, name) && !live_gives_up(t, v, name, slot, item)) return false;
  if (!o || item) return o && overlay_put(t, o, name, item);
  value *now = slot ? slot_attr(t, v, name, descr) : live_attr(t, v, name);
  if (!now) {
    trace_raise(t, PyExc_AttributeError, "%s", PyUnicode_AsUTF8(name));
    return false;
  }
  PyObject **dict = slot ? NULL : _PyObject_GetDictPtr(v->object);
  bool existed = dict && *dict && PyDict_GetItemWithError(*dict, name);
  error_drop();
  const source *s = trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0);
  PyObject *const none[1] = {NULL};
  const source here = {.kind = SOURCE_CONST, .object = v->object},
               like = {.kind = SOURCE_ATTR, .base = &here, .key = name};
  PyObject *before = slot ? source_read(&like, none) : NULL;
  existed |= before != NULL;
  Py_XDECREF(before);
  guard_simple(t, existed ? GUARD_PRESENT : GUARD_MISSING, s, NULL, 0);
  return s && overlay_delete(t, o, name, existed);
}

bool object_own_put(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *descr = _PyType_Lookup(type, name);
  if (!is_data_descriptor(descr)) return object_store(t, v, name, item);
  guard_behind(t, type, name, descr);
  PyObject **dict = _PyObject_GetDictPtr(v->object);
  overlay *o = overlay_open(t, v->object, v->source, true);
  bool existed = !item && dict && *dict && PyDict_GetItemWithError(*dict, name);
  const source *s = trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0);
  if (!item) guard_simple(t, existed ? GUARD_PRESENT : GUARD_MISSING, s, NULL, 0);
  if (!(item ? overlay_put(t, o, name, item) : overlay_delete(t, o, name, existed))) return false;
  overlay_slot *slot = overlay_find(o, name);
  if (slot) slot->hidden = true;
  return true;
}

/* As object.__setattr__. */
bool object_store(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *descr = _PyType_Lookup(type, name);
  if (is_data_descriptor(descr))
    descr = class_lookup(t, type, name);
  else if (object_is_virtual(v) && !model_owns((PyObject *)type))
    guard_behind(t, type, name, descr);
  if (is_data_descriptor(descr) && !Py_IS_TYPE(descr, &PyMemberDescr_Type)) {
    const char *hook = item ? "__set__" : "__delete__";
    guard_data_descriptor(t, descr);
    if (type_runs_python(t, Py_TYPE(descr), hook)) {
      PyObject *where;
      type_find((PyObject *)type, name, NULL, &where);
      const source *base = trace_source(t, SOURCE_CONST, NULL, where, NULL, 0);
      const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
      value *d = s ? value_wrap(t, descr, s) : NULL, *args[2] = {v, item};
      return d && trace_method(t, d, hook, args, item ? 2 : 1) != NULL;
    }
    PyObject *setter = Py_IS_TYPE(descr, &PyProperty_Type)
                           ? PyObject_GetAttrString(descr, item ? "fset" : "fdel")
                           : NULL;
    if (!trace_keep(t, setter) || setter == Py_None) {
      if (setter) return trace_raise(t, PyExc_AttributeError, "can't set attribute"), false;
      return trace_break(t, BREAK_ATTRIBUTE, "assignment to '%s'", PyUnicode_AsUTF8(name)), false;
    }
    value *args[2] = {v, item}, *f = wrap_constant(t, setter);
    return f && trace_call(t, f, args, item ? 2 : 1, NULL) != NULL;
  }
  bool slot = descr && Py_IS_TYPE(descr, &PyMemberDescr_Type);
  if (slot && PyDescr_TYPE(descr) == container_base(type))
    return trace_break(t, BREAK_ATTRIBUTE, "assignment to '%s'", PyUnicode_AsUTF8(name)), false;
  if (!slot && !type->tp_dictoffset) {
    trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'", type->tp_name,
                PyUnicode_AsUTF8(name));
    return false;
  }
  if (!object_is_virtual(v)) return live_store(t, v, name, item, descr);
  if (!model_owns((PyObject *)type)) guard_behind(t, type, name, descr);
  value *key = value_const(t, name);
  if (!key) return false;
  bool held = item && value_is_dict(item) && model_owns((PyObject *)type);
  if (held && !trace_map_set(t, &t->known.contents, item, v)) return false;
  if (item) return dict_put(t, v->any.b, key, item);
  if (dict_get(t, v->any.b, key)) return dict_remove(t, v->any.b, key);
  trace_raise(t, PyExc_AttributeError, "%s", PyUnicode_AsUTF8(name));
  return false;
}

/* ---- special methods ------------------------------------------------------------------------ */

value *trace_special(tracer *t, value *v, const char *name) {
  PyObject *text = name_interned(t, name);
  PyObject *type = !text ? NULL : value_is_instance(v) ? object_class(v) : value_type_of(t, v);
  if (!type) return NULL;
  if (value_is_instance(v) || value_is_made_exception(v)) return type_attr(t, type, text, v, NULL);
  return class_lookup(t, (PyTypeObject *)type, text) ? trace_get_attr(t, v, text) : NULL;
}

value *value_index(tracer *t, value *v, const char *unless) {
  value *content = scalar_content(v); /* an instance of a class over int is that int */
  if (!value_is_instance(v) || (content && PyLong_CheckExact(content->object))) return v;
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (!class_special(t, type, "__index__") || (unless && class_special(t, type, unless))) return v;
  value *index = trace_special(t, v, "__index__");
  if (index) index = trace_call(t, index, NULL, 0, NULL);
  PyObject *kind = index ? value_type_of(t, index) : NULL;
  if (kind && kind != (PyObject *)&PyLong_Type)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "__index__() gives a %s",
                       ((PyTypeObject *)kind)->tp_name);
  return kind ? index : NULL;
}

value *trace_method(tracer *t, value *v, const char *name, value *const *args, Py_ssize_t count) {
  value *method = trace_special(t, v, name);
  return method ? trace_call(t, method, args, count, NULL) : NULL;
}

static value *object_no(tracer *t, value *v, const char *what) {
  if (trace_pending(t)) return NULL;
  return trace_raise(t, PyExc_TypeError, "'%s' object %s",
                     ((PyTypeObject *)object_class(v))->tp_name, what);
}

static const char *const operator_names[13] = {"add", "and",     "floordiv", "lshift", "matmul",
                                               "mul", "mod",     "or",       "pow",    "rshift",
                                               "sub", "truediv", "xor"};

const char *object_operator_name(int op) { return operator_names[op]; }

static value *object_operator(tracer *t, int op, const char *prefix, value *self, value *other) {
  char name[24];
  snprintf(name, sizeof name, "__%s%s__", prefix, operator_names[op]);
  value *method = trace_special(t, self, name);
  if (!method) return trace_pending(t) ? NULL : trace_not_implemented(t);
  value *result = trace_call1(t, method, other);
  if (result && value_is_const(result) && result->object == Py_NotImplemented)
    return trace_not_implemented(t);
  return result;
}

/* Has the right operand's class a reflected method that the left one's does not have? */
static bool object_overloads(tracer *t, int op, value *l, value *r) {
  char name[24];
  snprintf(name, sizeof name, "__r%s__", operator_names[op]);
  PyObject *key = name_interned(t, name);
  if (!key || !PyType_IsSubtype((PyTypeObject *)object_class(r), (PyTypeObject *)object_class(l)))
    return false;
  return class_lookup(t, (PyTypeObject *)object_class(r), key) !=
         class_lookup(t, (PyTypeObject *)object_class(l), key);
}

static value *object_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  bool left = value_is_instance(l);
  value *result = trace_not_implemented(t);
  if (left && inplace) result = object_operator(t, op, "i", l, r);
  if (result != t->constants.not_implemented) return result;
  bool sub = value_is_instance(r) && left && object_class(l) != object_class(r) &&
             object_overloads(t, op, l, r);
  if (sub) result = object_operator(t, op, "r", r, l);
  if (result != t->constants.not_implemented) return result;
  if (left) result = object_operator(t, op, "", l, r);
  if (result != t->constants.not_implemented || sub) return result;
  if (value_is_instance(r) && (!left || object_class(l) != object_class(r)))
    result = object_operator(t, op, "r", r, l);
  bool none = result == t->constants.not_implemented;
  if (none && (object_content(l) || object_content(r)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over dict or list");
  if (none &&
      ((scalar_content(l) && value_is_const(r)) || (scalar_content(r) && value_is_const(l))))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a class over a number or text");
  return result;
}

static value *object_unary(tracer *t, int op, value *v) {
  static const char *const names[] = {[UNOP_NEG] = "__neg__",
                                      [UNOP_POS] = "__pos__",
                                      [UNOP_INVERT] = "__invert__",
                                      [UNOP_ABS] = "__abs__"};
  value *result = trace_method(t, v, names[op], NULL, 0);
  return result ? result : object_no(t, v, "has no such operator");
}

/* Namespaces are what their attributes are. */
static value *namespace_compare(tracer *t, int op, value *l, value *r) {
  if (op != Py_EQ && op != Py_NE) return trace_not_implemented(t);
  value *a = object_dict(t, l), *b = a ? object_dict(t, r) : NULL;
  return b ? trace_compare(t, op, a, b) : NULL;
}

static value *object_compare(tracer *t, int op, value *l, value *r) {
  if (l->type == r->type && is_namespace((PyTypeObject *)object_class(l)) &&
      is_namespace((PyTypeObject *)object_class(r)))
    return namespace_compare(t, op, l, r);
  if (!value_is_instance(l) && object_content(r))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison with a class over dict or list");
  if (!value_is_instance(l)) return trace_not_implemented(t);
  bool plain_ne = op == Py_NE && type_keeps_default(t, (PyTypeObject *)object_class(l), "__ne__");
  const char *name = compare_methods[plain_ne ? Py_EQ : op];
  if (type_keeps_default(t, (PyTypeObject *)object_class(l), name)) return trace_not_implemented(t);
  value *result = trace_method(t, l, name, &r, 1);
  if (!result) return NULL;
  if (value_is_const(result) && result->object == Py_NotImplemented)
    return trace_not_implemented(t);
  if (!plain_ne) return result;
  int truth = trace_truth(t, result);
  return truth < 0 ? NULL : value_bool(t, !truth);
}

static value *object_length(tracer *t, value *v) {
  int64_t length;
  value *result = trace_method(t, v, "__len__", NULL, 0);
  if (!result) return object_no(t, v, "has no len()");
  PyObject *type = value_type_of(t, result);
  if (type && type != (PyObject *)&PyLong_Type)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "__len__() gives a %s",
                       ((PyTypeObject *)type)->tp_name);
  if (!type || !value_is_const(result)) return type ? result : NULL;
  if (!value_known_int(t, result, &length))
    return trace_raise(t, PyExc_OverflowError, "a length that is too large");
  return length >= 0 ? result : trace_raise(t, PyExc_ValueError, "__len__() should return >= 0");
}

static int object_truth(tracer *t, value *v) {
  value *result = trace_method(t, v, "__bool__", NULL, 0);
  PyObject *type = result ? value_type_of(t, result) : NULL;
  if (result && type != (PyObject *)&PyBool_Type) {
    if (type)
      trace_raise(t, PyExc_TypeError, "__bool__ should return bool, returned %s",
                  ((PyTypeObject *)type)->tp_name);
    return -1;
  }
  if (!result && !trace_pending(t) && trace_special(t, v, "__len__")) result = object_length(t, v);
  if (!result) return trace_pending(t) ? -1 : 1;
  return trace_truth(t, result);
}

static value *object_get_item(tracer *t, value *v, value *key) {
  value *result = trace_method(t, v, "__getitem__", &key, 1);
  return result ? result : object_no(t, v, "is not subscriptable");
}

/* A class with one of the two methods has the slot of both. */
static bool object_set_item(tracer *t, value *v, value *key, value *item) {
  static const char *const names[] = {"__setitem__", "__delitem__"};
  value *args[2] = {key, item};
  bool removes = !item;
  if (trace_method(t, v, names[removes], args, removes ? 1 : 2)) return true;
  if (trace_pending(t)) return false;
  if (trace_special(t, v, names[!removes]))
    return trace_raise(t, PyExc_AttributeError, "%s", names[removes]) != NULL;
  if (!trace_is_no_index(t, key)) return false;
  return object_no(t, v,
                   removes ? "doesn't support item deletion" : "does not support item assignment");
}

static int object_contains(tracer *t, value *v, value *item) {
  value *result = trace_method(t, v, "__contains__", &item, 1);
  if (result) return trace_truth(t, result);
  return trace_pending(t) ? -1 : trace_search(t, v, item);
}

/* What __iter__() has given: the interpreter calls the slot for the next item without looking. */
static value *iter_checked(tracer *t, value *given) {
  if (value_is_iterator(given)) return given;
  PyTypeObject *type = (PyTypeObject *)value_type_of(t, given);
  if (!type || (class_special(t, type, "__next__") && type->tp_iternext))
    return type ? given : NULL;
  return trace_raise(t, PyExc_TypeError, "iter() returned non-iterator of type '%s'",
                     type->tp_name);
}

static value *object_iter(tracer *t, value *v) {
  value *result = trace_method(t, v, "__iter__", NULL, 0);
  if (result || trace_pending(t)) return result ? iter_checked(t, result) : NULL;
  if (trace_special(t, v, "__getitem__")) return iter_indexed(t, v, -1);
  return object_no(t, v, "is not iterable");
}

static value *object_next(tracer *t, value *v) {
  value *result = trace_method(t, v, "__next__", NULL, 0);
  if (result) return result;
  if (t->state == TRACE_RAISING && exception_matches(t, t->raised, PyExc_StopIteration)) {
    value *stop = t->raised;
    t->state = TRACE_GOING;
    t->raised = NULL;
    t->returned = exception_stop_value(t, stop);
    return NULL;
  }
  return object_no(t, v, "is not an iterator");
}

static value *object_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                          PyObject *kwnames) {
  value *method = trace_special(t, v, "__call__");
  return method ? trace_call(t, method, args, count, kwnames) : object_no(t, v, "is not callable");
}

static value *object_reversed(tracer *t, value *v) {
  value *result = trace_method(t, v, "__reversed__", NULL, 0);
  return result || trace_pending(t) ? result : t->constants.not_implemented;
}

static PyObject *object_python_type(tracer *t, value *v) { return model_real(object_class(v)); }

/* Gives an object just made an attribute. None of the class's own code runs: what it has as a
 * property or another descriptor of that name is passed by. */
int object_give(PyObject *made, PyObject *name, PyObject *item) {
  PyObject *descr = _PyType_Lookup(Py_TYPE(made), name);
  bool passed = is_data_descriptor(descr) && !Py_IS_TYPE(descr, &PyMemberDescr_Type);
  if (!passed) return PyObject_GenericSetAttr(made, name, item);
  PyObject *dict = PyObject_GenericGetDict(made, NULL);
  int failed = dict ? PyDict_SetItem(dict, name, item) : -1;
  Py_XDECREF(dict);
  return failed;
}

/* make_object(cls, attributes): an instance as object.__new__ and object.__setattr__ make it. */
static PyObject *object_make_live(PyObject *module, PyObject *args) {
  PyObject *cls, *attributes, *key, *item, *none = PyTuple_New(0);
  if (!none || !PyArg_ParseTuple(args, "O!O!", &PyType_Type, &cls, &PyDict_Type, &attributes))
    return Py_XDECREF(none), NULL;
  newfunc make =
      is_namespace((PyTypeObject *)cls) ? ((PyTypeObject *)cls)->tp_new : PyBaseObject_Type.tp_new;
  PyObject *made = make((PyTypeObject *)cls, none, NULL);
  Py_DECREF(none);
  for (Py_ssize_t pos = 0; made && PyDict_Next(attributes, &pos, &key, &item);)
    if (object_give(made, key, item)) Py_CLEAR(made);
  return made;
}

/* What an object made here holds, as a dictionary that only serves to make it. */
recipe *object_rebuild_attributes(tracer *t, value *v) {
  recipe *r = trace_recipe(t, RECIPE_DICT);
  return r ? trace_rebuild_items(t, r, v->any.b) : NULL;
}

static PyObject *object_read_dict(PyObject *module, PyObject *object) {
  return PyObject_GenericGetDict(object, NULL);
}

recipe *object_rebuild_dict(tracer *t, value *dict) {
  static PyMethodDef method = {"attributes", object_read_dict, METH_O, NULL};
  value *v = pointer_map_get(&t->known.contents, dict);
  if (!v || !value_is_instance(v) || v->any.b != dict) return NULL;
  return trace_rebuild_call(t, PyCFunction_New(&method, NULL), &v, 1);
}

static recipe *object_rebuild_new(tracer *t, value *v) {
  if (object_content(v) || scalar_content(v)) return container_rebuild(t, v);
  static PyMethodDef method = {"make_object", object_make_live, METH_VARARGS, NULL};
  recipe *attributes = object_rebuild_attributes(t, v),
         *r = attributes ? trace_recipe(t, RECIPE_CALL) : NULL;
  recipe *make = r ? trace_recipe(t, RECIPE_CONST) : NULL,
         *cls = make ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  make->object = PyCFunction_New(&method, NULL);
  cls->object = Py_NewRef(object_class(v));
  r->items = calloc(3, sizeof *r->items);
  if (!r->items || !make->object) return trace_fail(t);
  r->items[0] = make;
  r->items[1] = cls;
  r->items[2] = attributes;
  r->count = 3;
  return r;
}

static recipe *object_rebuild(tracer *t, value *v) {
  if (class_is_made(t, object_class(v)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an object of a class made inside is returned");
  if (!v->source && model_owns(object_class(v))) return model_rebuild(t, v);
  if (!v->source && object_is_virtual(v)) return object_rebuild_new(t, v);
  if (!v->source)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s is returned",
                       ((PyTypeObject *)object_class(v))->tp_name);
  recipe *r = trace_recipe(t, RECIPE_SOURCE);
  if (r) r->source = v->source;
  return r;
}

/* An instance of a class over int is that int: its __index__ is not called. */
static bool object_known_int(tracer *t, value *v, int64_t *out) {
  value *content = scalar_content(v);
  return content && PyLong_CheckExact(content->object) && value_known_int(t, content, out);
}

static void object_walk(roll_walk *w, value *v) {
  value *content = object_content(v) ? object_content(v) : scalar_content(v), *attrs = v->any.b;
  roll_pointer(w, v->object);
  roll_pointer(w, v->any.a);
  roll_value(w, &attrs);
  roll_value(w, &content);
}

const value_type value_object_type = {.name = "object",
                                      .kinds = VALUE_IS_RETURNING,
                                      .unary = object_unary,
                                      .binary = object_binary,
                                      .compare = object_compare,
                                      .truth = object_truth,
                                      .length = object_length,
                                      .get_item = object_get_item,
                                      .set_item = object_set_item,
                                      .contains = object_contains,
                                      .get_attr = object_get_attr,
                                      .set_attr = object_set_attr,
                                      .call = object_call,
                                      .iter = object_iter,
                                      .next = object_next,
                                      .python_type = object_python_type,
                                      .rebuild = object_rebuild,
                                      .walk = object_walk,
                                      .known = value_known_object,
                                      .known_int = object_known_int,
                                      .key = key_object_check,
                                      .copy = copy_object,
                                      .reversed = object_reversed,
                                      .text = object_text};
