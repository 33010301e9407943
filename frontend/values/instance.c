/* Instances of Python classes that are made inside: __new__, then __init__, inlined. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/containers_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

static bool same_as_object(tracer *t, PyTypeObject *type, PyObject *name) {
  return class_lookup(t, type, name) == _PyType_Lookup(&PyBaseObject_Type, name);
}

/* object.__new__(cls). */
value *object_allocate(tracer *t, PyObject *cls) {
  PyTypeObject *type = (PyTypeObject *)cls;
  if ((!loom_class_is_python(type) && !container_base(type)) ||
      type->tp_flags & Py_TPFLAGS_IS_ABSTRACT || !type_keeps_default(t, type, "__del__"))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s", type->tp_name);
  value *v = value_object_new(t, cls);
  if (v) v->any.b = value_dict(t);
  return v && v->any.b && container_fill(t, v) ? v : NULL;
}

/* A class's own __new__, written in Python, is a static method that gets the class first. */
static value *object_new_inlined(tracer *t, PyObject *cls, PyObject *make, value *const *args,
                                 Py_ssize_t count, PyObject *kwnames) {
  value *self = value_const(t, cls), *function = self ? type_attr(t, cls, make, NULL, NULL) : NULL;
  value *bound = function ? value_method(t, function, self) : NULL;
  return bound ? trace_call(t, bound, args, count, kwnames) : NULL;
}

/* Calling a class written in Python: __new__, then __init__ inlined. */
value *object_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames) {
  PyTypeObject *type = (PyTypeObject *)cls;
  PyObject *make = name_interned(t, "__new__"), *init = name_interned(t, "__init__");
  if (!make || !init) return NULL;
  PyTypeObject *scalar = scalar_base(type), *base = scalar ? scalar : container_base(type);
  bool plain =
      class_lookup(t, type, make) == _PyType_Lookup(base ? base : &PyBaseObject_Type, make);
  value *v = !plain                      ? object_new_inlined(t, cls, make, args, count, kwnames)
             : scalar                    ? scalar_make(t, cls, args, count, kwnames)
             : base == &PyFrozenSet_Type ? derived_make_frozen(t, cls, args, count, kwnames)
                                         : object_allocate(t, cls);
  PyObject *made = !v ? NULL : value_is_instance(v) ? object_class(v) : value_type_of(t, v);
  if (!made || !PyType_IsSubtype((PyTypeObject *)made, type)) return trace_pending(t) ? NULL : v;
  if (same_as_object(t, (PyTypeObject *)made, init)) {
    if (plain && !scalar && base != &PyFrozenSet_Type && (count || kwnames))
      return trace_raise(t, PyExc_TypeError, "%s() takes no arguments", type->tp_name);
    return v;
  }
  value *method = type_attr(t, made, init, v, NULL);
  value *given = method ? trace_call(t, method, args, count, kwnames) : NULL;
  if (given && !value_is_none(given))
    return trace_raise(t, PyExc_TypeError, "__init__() should return None");
  return given ? v : NULL;
}

/* What frees instances of the classes of class statements. */
static destructor statement_dealloc(void) {
  static destructor found;
  PyObject *made = found ? NULL : PyObject_CallFunction((PyObject *)&PyType_Type, "s(){}", "found");
  if (made) found = ((PyTypeObject *)made)->tp_dealloc;
  error_drop();
  Py_XDECREF(made);
  return found;
}

/* Does a type in C leave instances of its subclasses what they are without it? typing.Generic is in
 * C since 3.12: it has class methods alone. */
static bool type_adds_nothing(PyTypeObject *type) {
  PyObject *dict = python_type_dict(type), *name, *item;
  if (type->tp_basicsize != PyBaseObject_Type.tp_basicsize || type->tp_base != &PyBaseObject_Type ||
      type->tp_new != PyBaseObject_Type.tp_new)
    return false;
  for (Py_ssize_t at = 0; PyDict_Next(dict, &at, &name, &item);)
    if (!Py_IS_TYPE(item, &PyClassMethodDescr_Type) && !PyUnicode_Check(item) && item != Py_None)
      return false;
  return true;
}

bool loom_class_is_python(PyTypeObject *type) {
  for (PyTypeObject *base = type; base && base != &PyBaseObject_Type; base = base->tp_base)
    if (!type_adds_nothing(base) && (python_type_is_builtin(base) || base->tp_methods ||
                                     base->tp_dealloc != statement_dealloc() ||
                                     !PyDict_GetItemString(python_type_dict(base), "__module__")))
      return false;
  return true;
}
