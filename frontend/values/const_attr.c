/* Attributes of constants: of modules, of classes with and without metaclasses, of objects of
 * builtin types. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/live.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

static value *const_raise_attr(tracer *t, value *v, PyObject *name) {
  return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'",
                     Py_TYPE(v->object)->tp_name, PyUnicode_AsUTF8(name));
}

/* Has the module a class in Python that says what attributes it has beside its own names? */
static bool module_class_looks(tracer *t, value *v) {
  PyTypeObject *type = Py_TYPE(v->object);
  if (type == &PyModule_Type || type->tp_base != &PyModule_Type) return false;
  PyObject *look = class_special(t, type, "__getattr__");
  return look && PyFunction_Check(look) &&
         class_special(t, type, "__getattribute__") ==
             class_special(t, &PyModule_Type, "__getattribute__");
}

static value *module_attr(tracer *t, value *v, PyObject *name) {
  PyObject *dict = PyModule_GetDict(v->object);
  PyObject *item = PyDict_GetItemWithError(dict, name);
  const source *base = value_source(t, v);
  const source *s = base ? trace_source(t, SOURCE_ATTR, base, NULL, name, 0) : NULL;
  error_drop();
  if (!s) return NULL;
  const overlay_slot *changed = overlay_find(overlay_of(t, dict, false), name);
  if (changed && changed->item) return changed->item;
  if (item) return value_wrap(t, item, s);
  PyObject *hook = PyDict_GetItemString(dict, "__getattr__");
  if (hook && PyFunction_Check(hook) && PyModule_CheckExact(v->object)) {
    guard_simple(t, GUARD_MISSING, s, NULL, 0);
    PyObject *own = trace_keep(t, PyUnicode_InternFromString("__getattr__"));
    const source *at = own ? trace_source(t, SOURCE_ATTR, base, NULL, own, 0) : NULL;
    value *key = at ? value_const(t, name) : NULL, *f = key ? value_wrap(t, hook, at) : NULL;
    return f ? trace_call1(t, f, key) : NULL;
  }
  if (!hook && module_class_looks(t, v) && !_PyType_Lookup(Py_TYPE(v->object), name)) {
    guard_simple(t, GUARD_MISSING, s, NULL, 0);
    PyObject *own = trace_keep(t, PyUnicode_InternFromString("__getattr__"));
    value *look = own ? type_attr(t, (PyObject *)Py_TYPE(v->object), own, NULL, NULL) : NULL,
          *args[2] = {v, look ? value_const(t, name) : NULL};
    return args[1] ? trace_call(t, look, args, 2, NULL) : NULL;
  }
  if (trace_pending(t)) return NULL;
  if (hook || !PyModule_CheckExact(v->object))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a module with its own lookup",
                       PyUnicode_AsUTF8(name));
  if (_PyType_Lookup(&PyModule_Type, name))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a module", PyUnicode_AsUTF8(name));
  guard_simple(t, GUARD_MISSING, s, NULL, 0);
  return trace_raise(t, PyExc_AttributeError, "module has no attribute '%s'",
                     PyUnicode_AsUTF8(name));
}

/* A name of a class, which may be given another. */
static value *type_own_name(tracer *t, PyTypeObject *type, PyObject *name) {
  const source *base = trace_source(t, SOURCE_CONST, NULL, (PyObject *)type, NULL, 0);
  const source *s = base ? trace_source(t, SOURCE_DERIVED, base, NULL, name, 0) : NULL;
  PyObject *item = s ? PyType_Type.tp_getattro((PyObject *)type, name) : NULL;
  if (item && PyUnicode_CheckExact(item) && PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
      !class_is_made(t, (PyObject *)type))
    guard_simple(t, GUARD_NUMBER, s, item, 0);
  return value_made(t, item);
}

/* Attributes of a class that `type` itself makes; NULL with nothing pending: it is none of them. */
static value *type_own_attr(tracer *t, PyTypeObject *type, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (!strcmp(text, "__name__") || !strcmp(text, "__qualname__") || !strcmp(text, "__module__"))
    return type_own_name(t, type, name);
  if (strcmp(text, "__mro__") && strcmp(text, "__bases__") && strcmp(text, "__base__")) return NULL;
  guard_mro(t, type);
  PyObject *item = PyType_Type.tp_getattro((PyObject *)type, name);
  if (!item || !PyTuple_CheckExact(item)) return value_made(t, item);
  value **items = trace_alloc(t, sizeof *items * (size_t)PyTuple_GET_SIZE(item));
  for (Py_ssize_t i = 0; items && i < PyTuple_GET_SIZE(item); i++)
    if (!(items[i] = value_const(t, PyTuple_GET_ITEM(item, i)))) items = NULL;
  value *tuple = items ? value_tuple(t, items, PyTuple_GET_SIZE(item)) : NULL;
  Py_DECREF(item);
  return tuple;
}

/* Metaclasses that keep type's own lookup, and have no data descriptor or __getattr__ to say about
 * this name. */
static bool class_lookup_plain(tracer *t, PyTypeObject *meta, PyObject *name, PyObject *found) {
  if (meta->tp_getattro == PyType_Type.tp_getattro) return true;
  if (!found || type_runs_python(t, meta, "__getattribute__")) return false;
  PyObject *own = class_lookup(t, meta, name);
  guard_data_descriptor(t, own);
  return !own || !Py_TYPE(own)->tp_descr_set;
}

/* A data descriptor of the metaclass comes before what the class itself has of that name. */
static value *meta_attr(tracer *t, value *v, PyObject *name, PyObject *descr) {
  PyObject *meta = (PyObject *)Py_TYPE(v->object);
  if (Py_IS_TYPE(descr, &PyProperty_Type) || type_runs_python(t, Py_TYPE(descr), "__get__"))
    return type_attr(t, meta, name, v, NULL);
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class", PyUnicode_AsUTF8(name));
}

static value *class_attr(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)v->object;
  bool of_type = _PyType_Lookup(&PyType_Type, name) &&
                 !type_runs_python(t, Py_TYPE(type), "__getattribute__") &&
                 class_lookup(t, Py_TYPE(type), name) == _PyType_Lookup(&PyType_Type, name);
  value *own = of_type ? type_own_attr(t, type, name) : NULL;
  if (own || trace_pending(t)) return own;
  if (!class_lookup_plain(t, Py_TYPE(type), name, _PyType_Lookup(type, name)))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a class with a metaclass",
                       PyUnicode_AsUTF8(name));
  own = type_own_attr(t, type, name);
  if (own || trace_pending(t)) return own;
  PyObject *meta = class_lookup(t, Py_TYPE(type), name);
  guard_data_descriptor(t, meta);
  if (meta && Py_TYPE(meta)->tp_descr_set) return meta_attr(t, v, name, meta);
  value *item = type_attr(t, v->object, name, NULL, NULL);
  if (item || trace_pending(t)) return item;
  if (meta && PyFunction_Check(meta)) return type_attr(t, (PyObject *)Py_TYPE(type), name, v, NULL);
  if (meta) return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a metaclass", PyUnicode_AsUTF8(name));
  return trace_raise(t, PyExc_AttributeError, "type object '%s' has no attribute '%s'",
                     type->tp_name, PyUnicode_AsUTF8(name));
}

static bool const_reads_in_c(PyObject *descr) {
  return Py_IS_TYPE(descr, &PyGetSetDescr_Type) || Py_IS_TYPE(descr, &PyMemberDescr_Type);
}

/* An object with a dictionary (a ufunc) may be given another text of documentation. */
static bool const_attr_changes(PyObject *object, PyObject *name) {
  return Py_TYPE(object)->tp_dictoffset && (!PyUnicode_CompareWithASCIIString(name, "__dict__") ||
                                            !PyUnicode_CompareWithASCIIString(name, "__doc__"));
}

/* A method or attribute of a class in C, which never changes. */
static bool const_is_descriptor(PyObject *object) {
  return Py_IS_TYPE(object, &PyMethodDescr_Type) || Py_IS_TYPE(object, &PyWrapperDescr_Type) ||
         Py_IS_TYPE(object, &PyClassMethodDescr_Type) || Py_IS_TYPE(object, &PyGetSetDescr_Type) ||
         Py_IS_TYPE(object, &PyMemberDescr_Type);
}

/* Attributes of objects of builtin types: methods are bound, data is read when the object is wholly
 * known. */
static value *builtin_attr(tracer *t, value *v, PyObject *name) {
  PyObject *descr = _PyType_Lookup(Py_TYPE(v->object), name);
  bool generic = Py_TYPE(v->object)->tp_getattro == PyObject_GenericGetAttr;
  if (!descr || !generic) {
    if (generic && !Py_TYPE(v->object)->tp_dictoffset) return const_raise_attr(t, v, name);
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name),
                       Py_TYPE(v->object)->tp_name);
  }
  if (Py_IS_TYPE(descr, &PyStaticMethod_Type)) {
    PyObject *function = trace_keep(t, PyObject_GetAttrString(descr, "__func__"));
    return function ? value_const(t, function) : NULL;
  }
  if (Py_IS_TYPE(descr, &PyMethodDescr_Type) || Py_IS_TYPE(descr, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(descr, &PyClassMethodDescr_Type)) {
    value *function = value_const(t, descr);
    return function ? value_method(t, function, v) : NULL;
  }
  if (v->source && is_partial(v->object) && Py_IS_TYPE(descr, &PyMemberDescr_Type)) {
    PyObject *item = trace_keep(t, PyObject_GenericGetAttr(v->object, name));
    const source *s = item ? trace_source(t, SOURCE_ATTR, v->source, NULL, name, 0) : NULL;
    return s ? value_wrap(t, item, s) : NULL;
  }
  bool code = PyCode_Check(v->object) && PyUnicode_READ_CHAR(name, 0) != '_'; /* stays what it is */
  code |= const_is_descriptor(v->object);
  if ((code || const_readable(v)) && const_reads_in_c(descr) &&
      !const_attr_changes(v->object, name))
    return value_made(t, PyObject_GenericGetAttr(v->object, name));
  return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name),
                     Py_TYPE(v->object)->tp_name);
}

static value *property_attr(tracer *t, value *v, PyObject *name) {
  const char *text = PyUnicode_AsUTF8(name);
  if (PyCFunction_Check(v->object) && !strcmp(text, "__name__"))
    return value_str(t, ((PyCFunctionObject *)v->object)->m_ml->ml_name);
  if (PyCFunction_Check(v->object) && !PyCFunction_CheckExact(v->object))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", text, Py_TYPE(v->object)->tp_name);
  return builtin_attr(t, v, name);
}

value *const_get_attr(tracer *t, value *v, PyObject *name) {
  if (PyModule_Check(v->object)) return module_attr(t, v, name);
  if (PyType_Check(v->object)) return class_attr(t, v, name);
  return property_attr(t, v, name);
}

bool const_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  if (PyType_Check(v->object)) return type_store(t, v, name, item);
  bool module = PyModule_CheckExact(v->object) && PyUnicode_GET_LENGTH(name) &&
                PyUnicode_READ_CHAR(name, 0) != '_';
  if (module && item) return overlay_put_variable(t, PyModule_GetDict(v->object), name, item);
  trace_break(t, BREAK_SIDE_EFFECT, "assignment to '%s' of a %s", PyUnicode_AsUTF8(name),
              Py_TYPE(v->object)->tp_name);
  return false;
}
