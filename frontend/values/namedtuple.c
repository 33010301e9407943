/* Named tuples, struct sequences and other subclasses of tuple: tuple values whose any.n holds the
 * class. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <structmember.h>

PyObject *tuple_class(const value *v) { return (PyObject *)(intptr_t)v->any.n; }

void tuple_set_class(value *v, PyObject *type) {
  v->any.n = type == (PyObject *)&PyTuple_Type ? 0 : (Py_ssize_t)(intptr_t)type;
}

/* Whatever operators and protocols do is tuple's own; only __new__, attributes and methods may be
 * the class's. */
bool tuple_class_known(tracer *t, PyTypeObject *type) {
  static const char *const names[] = {
      "__eq__",   "__ne__",   "__lt__",   "__le__",       "__gt__",      "__ge__",
      "__hash__", "__iter__", "__len__",  "__contains__", "__getitem__", "__add__",
      "__radd__", "__mul__",  "__rmul__", "__bool__",     "__getattr__", "__getattribute__"};
  if (!PyType_IsSubtype(type, &PyTuple_Type) || !Py_IS_TYPE(type, &PyType_Type)) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (type_runs_python(t, type, names[i])) return false;
  return true;
}

value *value_tuple_of(tracer *t, PyObject *type, value *const *items, Py_ssize_t count) {
  if (type != (PyObject *)&PyTuple_Type && !tuple_class_known(t, (PyTypeObject *)type))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an object of type %.100s",
                       ((PyTypeObject *)type)->tp_name);
  value *v = value_tuple(t, items, count);
  if (v) tuple_set_class(v, type);
  return v;
}

/* ---- classes with operators in C, such as torch.Size ---- */

bool tuple_has_operators(const value *v) {
  const PyTypeObject *type = v ? (PyTypeObject *)tuple_class(v) : NULL, *plain = &PyTuple_Type;
  return type && ((type->tp_as_number && type->tp_as_number->nb_add) ||
                  type->tp_as_sequence->sq_concat != plain->tp_as_sequence->sq_concat ||
                  type->tp_as_sequence->sq_repeat != plain->tp_as_sequence->sq_repeat ||
                  type->tp_as_mapping->mp_subscript != plain->tp_as_mapping->mp_subscript);
}

static PyObject *tuple_empty(const value *v) {
  PyObject *type = v ? tuple_class(v) : NULL, *none = PyTuple_New(0);
  PyObject *made =
      type && none ? PyTuple_Type.tp_new((PyTypeObject *)type, none, NULL) : Py_XNewRef(none);
  Py_XDECREF(none);
  return made;
}

/* What the operator makes of tuples without items. */
static PyObject *tuple_apply(tuple_operator op, const value *l, const value *r) {
  PyObject *a = tuple_empty(l), *b = r ? tuple_empty(r) : NULL, *made = NULL;
  if (op == TUPLE_CONCAT) made = a && b ? PyNumber_Add(a, b) : NULL;
  if (op == TUPLE_REPEAT) made = a ? PySequence_Repeat(a, 1) : NULL;
  if (op == TUPLE_SLICE) made = a ? PySequence_GetSlice(a, 0, 0) : NULL;
  Py_XDECREF(a);
  Py_XDECREF(b);
  return made;
}

value *tuple_of_operator(tracer *t, value *made, tuple_operator op, const value *l,
                         const value *r) {
  if (!made || (!tuple_has_operators(l) && !tuple_has_operators(r))) return made;
  PyObject *empty = tuple_apply(op, l, r);
  if (!empty || !PyTuple_Check(empty)) {
    error_drop();
    Py_XDECREF(empty);
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "such an operator of a %.100s",
                       ((PyTypeObject *)tuple_class(tuple_has_operators(l) ? l : r))->tp_name);
  }
  PyObject *type = (PyObject *)Py_TYPE(empty);
  Py_DECREF(empty);
  /* Such a class refuses what it does not hold. */
  for (Py_ssize_t i = 0; i < made->seq.count && type != (PyObject *)&PyTuple_Type; i++)
    if (value_type_of(t, made->seq.items[i]) != (PyObject *)&PyLong_Type)
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a %.100s of more than ints",
                         ((PyTypeObject *)type)->tp_name);
  return value_tuple_of(t, type, made->seq.items, made->seq.count);
}

/* The item that a field of a named tuple or a member of a struct sequence stands for, or -1. */
static Py_ssize_t tuple_field_index(PyTypeObject *type, PyObject *name, PyObject *descr) {
  if (Py_IS_TYPE(descr, &PyMemberDescr_Type)) {
    Py_ssize_t offset = ((PyMemberDescrObject *)descr)->d_member->offset;
    return (offset - (Py_ssize_t)offsetof(PyTupleObject, ob_item)) / (Py_ssize_t)sizeof(PyObject *);
  }
  const char *kind = strrchr(Py_TYPE(descr)->tp_name, '.'); /* of _collections or collections */
  if (!kind || strcmp(kind, "._tuplegetter")) return -1;
  PyObject *key = PyUnicode_InternFromString("_fields"),
           *fields = key ? _PyType_Lookup(type, key) : NULL;
  Py_XDECREF(key);
  for (Py_ssize_t i = 0; fields && PyTuple_CheckExact(fields) && i < PyTuple_GET_SIZE(fields); i++)
    if (PyUnicode_Check(PyTuple_GET_ITEM(fields, i)) &&
        !PyUnicode_Compare(PyTuple_GET_ITEM(fields, i), name))
      return i;
  return -1;
}

value *tuple_field(tracer *t, value *v, PyObject *name) {
  PyTypeObject *type = (PyTypeObject *)tuple_class(v);
  PyObject *descr = _PyType_Lookup(type, name);
  if (!descr) {
    if (type->tp_dictoffset)
      return trace_break(t, BREAK_ATTRIBUTE, "'%s' of a %s", PyUnicode_AsUTF8(name), type->tp_name);
    return NULL;
  }
  Py_ssize_t i = tuple_field_index(type, name, descr);
  if (i >= 0 && i < v->seq.count) return v->seq.items[i];
  bool method = Py_IS_TYPE(descr, &PyMethodDescr_Type);
  if (PyType_IsSubtype(&PyTuple_Type, type) || (method && PyDescr_TYPE(descr) == &PyTuple_Type))
    return NULL;
  return type_attr(t, (PyObject *)type, name, v, NULL);
}

/* tuple.__new__(cls, items): runs nothing of the class's. */
/* What makes an object of the class from the class and a tuple of the items: tuple.__new__(),
 * unless the class is one in C that has a function of its own. */
static PyObject *tuple_maker(PyObject *class) {
  PyObject *plain = PyObject_GetAttrString((PyObject *)&PyTuple_Type, "__new__");
  PyObject *made = plain ? PyObject_CallFunction(plain, "O()", class) : NULL;
  if (!made && plain) {
    error_drop();
    Py_SETREF(plain, PyObject_GetAttrString(class, "__new__"));
  }
  Py_XDECREF(made);
  return plain;
}

recipe *tuple_rebuild_class(tracer *t, value *v, recipe *items) {
  recipe *r = items ? trace_recipe(t, RECIPE_CALL) : NULL;
  recipe *make = r ? trace_recipe(t, RECIPE_CONST) : NULL,
         *cls = make ? trace_recipe(t, RECIPE_CONST) : NULL;
  if (!cls) return NULL;
  make->object = tuple_maker(tuple_class(v));
  cls->object = Py_NewRef(tuple_class(v));
  r->items = calloc(3, sizeof *r->items);
  if (!r->items || !make->object) return trace_fail(t);
  r->items[0] = make;
  r->items[1] = cls;
  r->items[2] = items;
  r->count = 3;
  return r;
}
