/* Constants: Python objects that are known, by value (numbers, strings) or by identity (modules,
 * types, functions of C). Also the values that stand for no object at all: NULL on the stack, an
 * argument that has not been looked at. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* ---- operators ------------------------------------------------------------------------------ */

static bool const_plain(value *v) { return object_is_plain(v->object); }

bool const_readable(value *v) { return const_plain(v) || object_is_immutable(v->object); }

static value *const_percent(tracer *t, value *l, value *r) {
  PyObject *args = value_plain(t, r);
  if (!args)
    return trace_pending(t)
               ? NULL
               : trace_break(t, BREAK_UNSUPPORTED_TYPE, "%% of a value that is not known");
  PyObject *result = PyNumber_Remainder(l->object, args);
  Py_DECREF(args);
  if (result == l->object) return Py_DECREF(result), l; /* nothing to fill in */
  return value_made(t, result);
}

/* An object of a class over a builtin type, say, which has its own ways with what is no constant.
 */
static bool const_has_ways(const value *v) {
  const PyTypeObject *type = value_is_const(v) ? Py_TYPE(v->object) : NULL;
  return type &&
         (PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE) ||
          type == &PyFrozenSet_Type) &&
         !PyType_Check(v->object) && !object_is_immutable(v->object);
}

/* A live container, say, that is known by its type alone: how it compares depends on what is in it.
 */
static bool const_compares_by_content(const value *v) {
  return value_is_const(v) && !object_is_scalar(v->object) && !PyType_Check(v->object) &&
         !PyModule_Check(v->object) && !object_is_immutable(v->object) &&
         Py_TYPE(v->object)->tp_richcompare &&
         Py_TYPE(v->object)->tp_richcompare != PyBaseObject_Type.tp_richcompare;
}

/* A constant with ways of its own that meets what is none, or NULL. */
static const value *const_unknown_pair(const value *l, const value *r) {
  if (value_is_const(l) == value_is_const(r)) return NULL;
  return const_has_ways(l) ? l : const_has_ways(r) ? r : NULL;
}

static value *const_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  const value *own = const_unknown_pair(l, r);
  if (own)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a %s",
                       Py_TYPE(own->object)->tp_name);
  bool text =
      value_is_const(l) && (PyUnicode_CheckExact(l->object) || PyBytes_CheckExact(l->object));
  if (text && op == 6) return const_percent(t, l, r);
  if (!value_is_const(l) || !value_is_const(r)) return trace_not_implemented(t);
  if (!const_plain(l) || !const_plain(r)) {
    if (PyType_Check(l->object) && (PyType_Check(r->object) || r->object == Py_None) && op == 7)
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a union of types");
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of %s and %s",
                       Py_TYPE(l->object)->tp_name, Py_TYPE(r->object)->tp_name);
  }
  if (const_too_large(op, l->object, r->object))
    return trace_break(t, BREAK_LIMIT, "the result of an operator is too large");
  return value_made(t, const_operate(op, l->object, r->object, inplace));
}

static value *const_unary(tracer *t, int op, value *v) {
  if (!const_plain(v))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operator of a %s",
                       Py_TYPE(v->object)->tp_name);
  if (LOOM_PYTHON >= 312 && op == UNOP_INVERT && PyBool_Check(v->object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "~ of a bool, which warns");
  switch (op) {
  case UNOP_NEG: return value_made(t, PyNumber_Negative(v->object));
  case UNOP_POS: return value_made(t, PyNumber_Positive(v->object));
  case UNOP_INVERT: return value_made(t, PyNumber_Invert(v->object));
  default: return value_made(t, PyNumber_Absolute(v->object));
  }
}

static bool const_compares_in_c(tracer *t, value *v) {
  return !type_runs_python(t, Py_TYPE(v->object), "__eq__") &&
         Py_TYPE(v->object)->tp_richcompare == PyBaseObject_Type.tp_richcompare;
}

/* Text that a library would read as the name of one of its own objects, with a warning. */
static bool const_name_warns(PyObject *o) {
  return PyBytes_CheckExact(o) ||
         (PyUnicode_CheckExact(o) && PyUnicode_GET_LENGTH(o) && PyUnicode_READ_CHAR(o, 0) == 'a');
}

/* An object of a library, which knows what it equals: 1; it cannot be asked here: -1. */
static int const_asks_library(value *l, value *r) {
  bool left = value_is_const(l) && object_is_immutable(l->object);
  bool right = value_is_const(r) && object_is_immutable(r->object);
  if (!left && !right) return 0;
  if (!value_is_const(l) || !value_is_const(r)) return -1;
  if (const_name_warns(l->object) || const_name_warns(r->object)) return -1;
  bool types = (PyType_Check(l->object) && Py_TYPE(l->object) == &PyType_Type) ||
               (PyType_Check(r->object) && Py_TYPE(r->object) == &PyType_Type);
  return (const_readable(l) || types) && (const_readable(r) || types) ? 1 : 0;
}

static value *const_compare(tracer *t, int op, value *l, value *r) {
  const value *own = const_unknown_pair(l, r);
  if (own && Py_TYPE(own->object)->tp_richcompare != PyBaseObject_Type.tp_richcompare)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of a %s",
                       Py_TYPE(own->object)->tp_name);
  if (value_is_const(l) != value_is_const(r) &&
      (const_compares_by_content(l) || const_compares_by_content(r)))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of a %s",
                       Py_TYPE(value_is_const(l) ? l->object : r->object)->tp_name);
  int asks = const_asks_library(l, r);
  if (asks < 0)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of a %s",
                       Py_TYPE(value_is_const(l) ? l->object : r->object)->tp_name);
  if (!value_is_const(l) || !value_is_const(r)) return trace_not_implemented(t);
  bool equality = op == Py_EQ || op == Py_NE; /* of bound methods: by what they are bound to */
  if (equality && PyCFunction_CheckExact(l->object) && PyCFunction_CheckExact(r->object) &&
      value_identity(t, l) && value_identity(t, r))
    return value_made(t, PyObject_RichCompare(l->object, r->object, op));
  bool plain = const_plain(l) && const_plain(r);
  if (plain || asks) return value_made(t, PyObject_RichCompare(l->object, r->object, op));
  if (op != Py_EQ && op != Py_NE)
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an order of %s", Py_TYPE(l->object)->tp_name);
  if ((!const_plain(l) && !const_compares_in_c(t, l)) ||
      (!const_plain(r) && !const_compares_in_c(t, r))) {
    bool by_identity = (PyType_Check(l->object) || PyModule_Check(l->object) || const_plain(l) ||
                        const_compares_in_c(t, l)) &&
                       (PyType_Check(r->object) || PyModule_Check(r->object) || const_plain(r) ||
                        const_compares_in_c(t, r));
    bool functions = PyCFunction_CheckExact(l->object) && PyCFunction_CheckExact(r->object);
    bool meta = (PyType_Check(l->object) &&
                 Py_TYPE(l->object)->tp_richcompare != PyType_Type.tp_richcompare) ||
                (PyType_Check(r->object) &&
                 Py_TYPE(r->object)->tp_richcompare != PyType_Type.tp_richcompare);
    if ((!by_identity && !functions) || meta)
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a comparison of %s",
                         Py_TYPE(l->object)->tp_name);
  }
  bool same;
  if (!value_same(t, l, r, &same)) return NULL;
  return value_bool(t, same == (op == Py_EQ));
}

/* ---- truth, length, items ------------------------------------------------------------------- */

static int const_truth(tracer *t, value *v) {
  PyObject *o = v->object;
  if (o == Py_NotImplemented) { /* warns, or raises, by the version */
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "the truth of NotImplemented");
    return -1;
  }
  if (const_plain(v)) return PyObject_IsTrue(o);
  PyTypeObject *type = Py_TYPE(o);
  bool has = (type->tp_as_number && type->tp_as_number->nb_bool) ||
             (type->tp_as_mapping && type->tp_as_mapping->mp_length) ||
             (type->tp_as_sequence && type->tp_as_sequence->sq_length);
  if (!has) return 1;
  if (PyFrozenSet_CheckExact(o)) return PySet_GET_SIZE(o) != 0;
  trace_break(t, BREAK_UNSUPPORTED_TYPE, "the truth of a %s", type->tp_name);
  return -1;
}

static value *const_raise_no(tracer *t, value *v, const char *what) {
  return trace_raise(t, PyExc_TypeError, "'%s' object %s", Py_TYPE(v->object)->tp_name, what);
}

/* A special method of a class that its own class (as Enum's) has in Python, called; NULL with
 * nothing pending: there is none. */
static value *const_meta(tracer *t, value *v, const char *name, value *const *args,
                         Py_ssize_t count) {
  if (!PyType_Check(v->object) || !type_runs_python(t, Py_TYPE(v->object), name)) return NULL;
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  value *method = key ? type_attr(t, (PyObject *)Py_TYPE(v->object), key, v, NULL) : NULL;
  return method ? trace_call(t, method, args, count, NULL) : NULL;
}

static value *const_length(tracer *t, value *v) {
  PyObject *o = v->object;
  value *own = const_meta(t, v, "__len__", NULL, 0);
  if (own || trace_pending(t)) return own;
  if (PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyRange_Check(o) ||
      PyFrozenSet_CheckExact(o)) {
    Py_ssize_t length = PyObject_Size(o);
    return length < 0 ? trace_raise_live(t) : value_int(t, length);
  }
  if (PySet_CheckExact(o)) {
    guard_simple(t, GUARD_LENGTH, v->source, NULL, PyObject_Size(o));
    return value_int(t, PyObject_Size(o));
  }
  if (const_plain(v)) return const_raise_no(t, v, "has no len()");
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the length of a %s", Py_TYPE(o)->tp_name);
}

/* C[key], as the __class_getitem__ says that the user wrote; NULL with nothing pending: there is
 * none. */
static value *const_class_item(tracer *t, PyObject *cls, value *key) {
  const PyMappingMethods *mapping = Py_TYPE(cls)->tp_as_mapping;
  if (mapping && mapping->mp_subscript) return NULL; /* the metaclass's comes first */
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__class_getitem__"));
  PyObject *item = name ? class_lookup(t, (PyTypeObject *)cls, name) : NULL;
  PyObject *function = item && Py_IS_TYPE(item, &PyClassMethod_Type)
                           ? trace_keep(t, PyObject_GetAttrString(item, "__func__"))
                           : NULL;
  if (!function || !PyFunction_Check(function) ||
      loom_code_is_library((PyCodeObject *)PyFunction_GET_CODE(function),
                           PyFunction_GET_GLOBALS(function)))
    return NULL;
  value *method = type_attr(t, cls, name, NULL, NULL);
  return method ? trace_call1(t, method, key) : NULL;
}

/* A live class, or a tuple of some: a new reference, or NULL. */
static PyObject *const_types(tracer *t, value *key) {
  bool tuple = tuple_is_plain(key);
  Py_ssize_t count = tuple ? key->seq.count : 1;
  PyObject *all = PyTuple_New(count);
  for (Py_ssize_t i = 0; all && i < count; i++) {
    const value *v = tuple ? key->seq.items[i] : key;
    bool type = value_is_const(v) && PyType_Check(v->object) && !class_is_made(t, v->object);
    if (type)
      PyTuple_SET_ITEM(all, i, Py_NewRef(v->object));
    else
      Py_CLEAR(all);
  }
  if (tuple || !all) return all;
  PyObject *only = Py_NewRef(PyTuple_GET_ITEM(all, 0));
  Py_DECREF(all);
  return only;
}

/* C[int] of a class over typing.Generic, which keeps what it gives: asked for now. NULL with
 * nothing pending: it is something else. */
static value *const_generic(tracer *t, PyObject *cls, value *key) {
  PyObject *typing = PyImport_AddModule("typing"), *result = NULL; /* borrowed */
  PyObject *names = typing ? PyModule_GetDict(typing) : NULL;
  PyObject *generic = names ? PyDict_GetItemString(names, "Generic") : NULL;
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__class_getitem__"));
  const PyMappingMethods *mapping = Py_TYPE(cls)->tp_as_mapping;
  bool known = generic && PyType_Check(generic) && cls != generic && name;
  if (!known || class_is_made(t, cls)) return error_drop(), NULL;
  PyObject *own = _PyType_Lookup((PyTypeObject *)generic, name);
  PyObject *found = class_lookup(t, (PyTypeObject *)cls, name);
  bool builtin = found && python_type_is_builtin((PyTypeObject *)cls) &&
                 Py_IS_TYPE(found, &PyClassMethodDescr_Type); /* list[int] */
  if ((mapping && mapping->mp_subscript) || (found != own && !builtin)) return NULL;
  PyObject *k = const_types(t, key);
  if (k && !(result = trace_keep(t, PyObject_GetItem(cls, k)))) error_drop();
  Py_XDECREF(k);
  const source *s = result ? trace_source(t, SOURCE_CONST, NULL, result, NULL, 0) : NULL;
  return s ? value_wrap(t, result, s) : NULL;
}

static value *const_get_item(tracer *t, value *v, value *key) {
  PyObject *o = v->object;
  value *own = const_meta(t, v, "__getitem__", &key, 1);
  if (own || trace_pending(t)) return own;
  if (PyType_Check(o) && (own = const_class_item(t, o, key))) return own;
  if (!trace_pending(t) && PyType_Check(o) && (own = const_generic(t, o, key))) return own;
  if (trace_pending(t)) return NULL;
  if (PyType_Check(o)) return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a subscript of a type");
  if (!const_plain(v))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an item of a %s", Py_TYPE(o)->tp_name);
  value *index = scalar_plain(t, key, "__index__");
  PyObject *k = value_plain(t, index ? index : key);
  if (!k)
    return trace_pending(t) ? NULL
                            : trace_break(t, BREAK_DATA_DEPENDENT, "an index that is not known");
  PyObject *item = PyObject_GetItem(o, k);
  Py_DECREF(k);
  return value_made(t, item);
}

static int const_contains(tracer *t, value *v, value *item) {
  PyObject *o = v->object;
  value *own = const_meta(t, v, "__contains__", &item, 1);
  if (own || trace_pending(t)) return own ? trace_truth(t, own) : -1;
  PyObject *k = const_plain(v) ? value_plain(t, item) : NULL;
  if (!k) {
    if (!trace_pending(t) && PyFrozenSet_CheckExact(o)) { /* of classes, say: by identity */
      value *all = set_from(t, v, true);
      return all ? trace_contains(t, all, item) : -1;
    }
    if (!trace_pending(t))
      trace_break(t, BREAK_UNSUPPORTED_TYPE, "a search in a %s", Py_TYPE(o)->tp_name);
    return -1;
  }
  int found = PySequence_Contains(o, k);
  Py_DECREF(k);
  if (found < 0) trace_raise_live(t);
  return found;
}

static value *const_iter(tracer *t, value *v) {
  PyObject *o = v->object;
  if (PyUnicode_CheckExact(o) || PyBytes_CheckExact(o) || PyFrozenSet_CheckExact(o) ||
      PyTuple_CheckExact(o)) {
    PyObject *list = PySequence_List(o);
    value *items = value_made(t, list);
    return items ? iter_known(t, items->seq.items, items->seq.count) : NULL;
  }
  if (PyRange_Check(o)) {
    value *iterator = value_new(t, &value_range_type);
    if (iterator) iterator->object = o;
    return iterator;
  }
  value *own = const_meta(t, v, "__iter__", NULL, 0);
  if (own || trace_pending(t)) return own;
  if (const_plain(v)) return const_raise_no(t, v, "is not iterable");
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "iteration over a %s", Py_TYPE(o)->tp_name);
}

static bool const_set_item(tracer *t, value *v, value *key, value *item) {
  trace_break(t, BREAK_SIDE_EFFECT, "assignment to an item of a %s", Py_TYPE(v->object)->tp_name);
  return false;
}

/* ---- calls ---------------------------------------------------------------------------------- */

/* What a weak reference refers to, where capture has come to it by another way: that keeps it
 * alive, whatever becomes of the frames that capture itself holds on to. NULL with nothing pending:
 * not so. */
static value *const_referent(tracer *t, value *v) {
  PyObject *known = PyObject_CallNoArgs(v->object);
  Py_XDECREF(known); /* no longer alive for having been asked for */
  const value *held = known ? pointer_map_get(&t->known.wrapped, known) : NULL;
  if (!held || !held->source || held->source->kind == SOURCE_ARG) return NULL;
  PyObject *key = trace_keep(t, PyUnicode_InternFromString("weakref()"));
  const source *base = key ? value_source(t, v) : NULL;
  const source *s = base ? trace_source(t, SOURCE_DERIVED, base, NULL, key, 0) : NULL;
  return s ? value_wrap(t, known, s) : NULL;
}

static value *const_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                         PyObject *kwnames) {
  PyObject *o = v->object;
  bool mine = false;
  if (PyWeakref_CheckRefExact(o) && !count && !kwnames) {
    value *referent = const_referent(t, v);
    if (referent || trace_pending(t)) return referent;
  }
  PyObject *plain = loom_callable_unwrap ? loom_callable_unwrap(o) : NULL;
  if (plain) {
    const source *base = value_source(t, v);
    PyObject *name = trace_keep(t, PyUnicode_InternFromString("__wrapped__"));
    const source *s = base && name ? trace_source(t, SOURCE_CONST, NULL, plain, NULL, 0) : NULL;
    value *f = s ? value_wrap(t, plain, s) : NULL;
    return f ? trace_call(t, f, args, count, kwnames) : NULL;
  }
  PyObject *disabled = loom_callable_why_plain ? loom_callable_why_plain(o) : NULL;
  if (disabled) return trace_break(t, BREAK_DISABLED, "%s", PyUnicode_AsUTF8(disabled));
  if (object_is_cached(o)) return cached_call(t, v, args, count, kwnames);
  value *result = loom_library->call(t, o, args, count, kwnames, &mine);
  if (mine || result || trace_pending(t)) return result;
  for (const loom_adapter *const *a = loom_adapters(); *a; a++) {
    if (!(*a)->call) continue;
    mine = true;
    result = (*a)->call(t, o, NULL, args, count, kwnames, &mine);
    if (result || trace_pending(t)) return result;
    if (mine) return trace_break(t, BREAK_UNKNOWN_CALL, "%s failed silently", (*a)->name);
  }
  if (!Py_TYPE(o)->tp_call) return const_raise_no(t, v, "is not callable");
  const char *name = PyType_Check(o)        ? ((PyTypeObject *)o)->tp_name
                     : PyCFunction_Check(o) ? ((PyCFunctionObject *)o)->m_ml->ml_name
                     : Py_IS_TYPE(o, &PyMethodDescr_Type)
                         ? ((PyMethodDescrObject *)o)->d_method->ml_name
                         : Py_TYPE(o)->tp_name;
  return trace_break(t, BREAK_UNKNOWN_CALL, "%s()", name);
}

static PyObject *const_python_type(tracer *t, value *v) { return (PyObject *)Py_TYPE(v->object); }

static recipe *const_rebuild(tracer *t, value *v) {
  if (v->source) {
    recipe *r = trace_recipe(t, RECIPE_SOURCE);
    if (r) r->source = v->source;
    return r;
  }
  if (class_is_made(t, v->object))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a class made inside is returned");
  recipe *r = trace_recipe(t, RECIPE_CONST);
  if (r) r->object = Py_NewRef(v->object);
  return r;
}

static PyObject *const_known(tracer *t, value *v, bool plain) {
  if (plain && !object_is_plain(v->object)) return NULL;
  if (v->any.i) value_identity(t, v);
  return Py_NewRef(v->object);
}

static bool const_known_int(tracer *t, value *v, int64_t *out) {
  int overflow;
  if (!PyLong_CheckExact(v->object) && !PyBool_Check(v->object)) return false;
  *out = PyLong_AsLongLongAndOverflow(v->object, &overflow);
  return !overflow;
}

static bool const_key(tracer *t, value *v) {
  PyTypeObject *type = Py_TYPE(v->object);
  if (type_runs_python(t, type, "__hash__") || type_runs_python(t, type, "__eq__"))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a key of type %s", type->tp_name), false;
  if (type->tp_hash == PyObject_HashNotImplemented)
    return trace_raise(t, PyExc_TypeError, "unhashable type: '%s'", type->tp_name), false;
  return true;
}

const value_type value_const_type = {.name = "constant",
                                     .unary = const_unary,
                                     .binary = const_binary,
                                     .compare = const_compare,
                                     .truth = const_truth,
                                     .length = const_length,
                                     .get_item = const_get_item,
                                     .set_item = const_set_item,
                                     .contains = const_contains,
                                     .get_attr = const_get_attr,
                                     .set_attr = const_set_attr,
                                     .call = const_call,
                                     .iter = const_iter,
                                     .python_type = const_python_type,
                                     .rebuild = const_rebuild,
                                     .walk_place = roll_walk_const,
                                     .known = const_known,
                                     .known_int = const_known_int,
                                     .key = const_key,
                                     .copy = copy_const,
                                     .text = const_text};

static void null_walk(roll_walk *w, value **holder) { roll_pointer(w, (*holder)->type); }

const value_type value_null_type = {.name = "NULL", .walk_place = null_walk};
value value_poison = {.type = &value_null_type};

static void lazy_walk(roll_walk *w, value *v) { roll_pointer(w, v->object); }

const value_type value_lazy_type = {.name = "argument", .walk = lazy_walk};
