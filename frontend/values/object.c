/* Instances of Python classes: live ones, read attribute by attribute, and those made inside, which
 * are only a class and a dictionary. class_attr.c has the attributes that are found on classes,
 * object_special.c the operators, made.c how instances made inside become results. */
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
value *object_attributes(const value *v) { return v->any.b; }

bool object_is_data_descriptor(PyObject *item) {
  return item && Py_TYPE(item)->tp_descr_set != NULL;
}

bool type_is_namespace(const PyTypeObject *type) {
  return python_type_is_builtin((PyTypeObject *)type) &&
         strcmp(type->tp_name, "types.SimpleNamespace") == 0;
}

/* Instances keep attributes in a dictionary or slots, as those of a class statement over object do.
 */
static bool class_stores_plainly(PyTypeObject *type) {
  return loom_class_is_python(type) || container_base(type) || scalar_base(type) ||
         type_is_namespace(type) || type == &PyODict_Type;
}

/* The builtin type whose ways with attributes are those of object. */
static PyTypeObject *class_base(value *v) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (scalar_content(v)) return scalar_base(type);
  return type_is_namespace(type) ? type
         : object_content(v)     ? container_base(type)
                                 : &PyBaseObject_Type;
}

/* __dict__, as the class statement or the type of namespaces make it. */
static bool is_own_dict(PyTypeObject *type, PyObject *name, PyObject *descr) {
  return descr && !PyUnicode_CompareWithASCIIString(name, "__dict__") &&
         (Py_IS_TYPE(descr, &PyGetSetDescr_Type) ||
          (Py_IS_TYPE(descr, &PyMemberDescr_Type) && type_is_namespace(type)));
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

value *object_slot(tracer *t, value *v, PyObject *name, PyObject *descr) {
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
value *object_dict(tracer *t, value *v) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (v->any.b && class_has_slots(type))
    return trace_break(t, BREAK_ATTRIBUTE, "'__dict__' of a new %s, which has slots too",
                       type->tp_name);
  if (v->any.b && (type->tp_dictoffset || type_is_namespace(type)))
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
  if (descr && Py_IS_TYPE(descr, &PyMemberDescr_Type)) return object_slot(t, v, name, descr);
  bool data = object_is_data_descriptor(descr);
  static const char *const get[] = {"__get__", NULL};
  if (data) guard_data_descriptor(t, descr);
  if (data && !Py_TYPE(descr)->tp_descr_get) guard_descriptor(t, Py_TYPE(descr), get);
  if (data && Py_TYPE(descr)->tp_descr_get) { /* one without stands behind what the instance has */
    if (class_is_property(Py_TYPE(descr)) || type_runs_python(t, Py_TYPE(descr), "__get__"))
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
      overlay_find(overlay_of(t, v->object, true), name) || object_is_data_descriptor(descr))
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
value *object_get_attr(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *hook = name_interned(t, "__getattr__"),
           *attribute = name_interned(t, "__getattribute__");
  if (!hook || !attribute) return NULL;
  value *inside = model_of_instance(t, v, name);
  if (inside || trace_pending(t)) return inside;
  if (model_has_attribute(t, v, name)) return model_get_attribute(t, v, name);
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
  bool dict =
      v->any.b && (type->tp_dictoffset || type_is_namespace(type)); /* or it has slots only */
  if (dict && !PyUnicode_CompareWithASCIIString(name, "__dict__")) return object_dict(t, v);
  PyTypeObject *real = (PyTypeObject *)model_real((PyObject *)type);
  if (model_owns((PyObject *)type) && (real->tp_dictoffset || _PyType_Lookup(real, name)))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name), type->tp_name);
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'", type->tp_name,
                     PyUnicode_AsUTF8(name));
}

bool object_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *hook = name_interned(t, item ? "__setattr__" : "__delattr__");
  if (model_has_attribute(t, v, name)) return model_set_attribute(t, v, name, item);
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
  PyObject *before = _PyType_Lookup(type, name), *of_meta = _PyType_Lookup(Py_TYPE(type), name);
  bool special = PyUnicode_GET_LENGTH(name) > 2 && PyUnicode_READ_CHAR(name, 0) == '_' &&
                 PyUnicode_READ_CHAR(name, 1) == '_';
  bool plain = Py_TYPE(type)->tp_setattro == PyType_Type.tp_setattro && !special &&
               PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
               !PyType_HasFeature(type, Py_TPFLAGS_IMMUTABLETYPE) &&
               !(before && (Py_TYPE(before)->tp_descr_get || object_is_data_descriptor(before)));
  if (!item || !plain || !store_is_data(t, item) || model_owns(v->object) ||
      object_is_data_descriptor(of_meta)) {
    trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a class", PyUnicode_AsUTF8(name));
    return false;
  }
  guard_behind(t, Py_TYPE(type), name, of_meta);
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

static bool live_assign(tracer *t, value *v, PyObject *name, value *item, PyObject *descr) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  bool slot = descr && Py_IS_TYPE(descr, &PyMemberDescr_Type);
  if (!slot) guard_behind(t, type, name, descr);
  overlay *o = overlay_open(t, v->object, v->source, true);
  if (o && !overlay_find(o, name) && !live_gives_up(t, v, name, slot, item)) return false;
  if (!o || item) return o && overlay_put(t, o, name, item);
  value *now = slot ? object_slot(t, v, name, descr) : live_attr(t, v, name);
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

/* An attribute of an object that existed before the call. */
static bool live_store(tracer *t, value *v, PyObject *name, value *item, PyObject *descr) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  if (class_stores_plainly(type) && v->source && PyUnicode_CheckExact(name))
    return live_assign(t, v, name, item, descr);
  trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a %s that existed before the call",
              PyUnicode_AsUTF8(name), type->tp_name);
  return false;
}

/* Such an object as an instance that has nothing but attributes. */
static value *beside(tracer *t, PyObject *object, const source *s) {
  value *v = value_object_new(t, (PyObject *)Py_TYPE(object));
  if (!v) return NULL;
  v->object = object;
  v->source = s;
  return v;
}

value *object_beside_get(tracer *t, PyObject *object, const source *s, PyObject *name) {
  value *v = beside(t, object, s), *item = v ? live_attr(t, v, name) : NULL;
  if (item) guard_behind(t, Py_TYPE(object), name, _PyType_Lookup(Py_TYPE(object), name));
  return item;
}

bool object_beside_put(tracer *t, PyObject *object, const source *s, PyObject *name, value *item) {
  value *v = beside(t, object, s);
  return v && live_assign(t, v, name, item, NULL);
}

bool object_beside_none(tracer *t, PyObject *object, const source *s) {
  PyObject **dict = _PyObject_GetDictPtr(object);
  bool empty = dict && *dict && !PyDict_GET_SIZE(*dict);
  if ((dict && *dict && !empty) || overlay_count(overlay_of(t, object, true))) return false;
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__dict__"));
  const source *all = name ? trace_source(t, SOURCE_DERIVED, s, NULL, name, 0) : NULL;
  guard_simple(t, empty ? GUARD_LENGTH : GUARD_MISSING, all, NULL, 0);
  return !trace_pending(t);
}

bool object_own_put(tracer *t, value *v, PyObject *name, value *item) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  PyObject *descr = _PyType_Lookup(type, name);
  if (!object_is_data_descriptor(descr)) return object_store(t, v, name, item);
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
  if (object_is_data_descriptor(descr))
    descr = class_lookup(t, type, name);
  else if (object_is_virtual(v) && !model_owns((PyObject *)type))
    guard_behind(t, type, name, descr);
  if (object_is_data_descriptor(descr) && !Py_IS_TYPE(descr, &PyMemberDescr_Type)) {
    const char *hook = item ? "__set__" : "__delete__";
    guard_data_descriptor(t, descr);
    if (type_runs_python(t, Py_TYPE(descr), hook)) {
      PyObject *where;
      class_find((PyObject *)type, name, NULL, &where);
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
    value *args[2] = {v, item}, *f = class_wrap_constant(t, setter);
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
