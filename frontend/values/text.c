/* str() and repr() of values, and what special methods of objects give. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

/* What a special method of an object gives, which has to be of exactly this type: of subclasses
 * CPython warns, all else it refuses. */
value *special_or_pass(tracer *t, value *v, const char *name, PyTypeObject *type) {
  if (!value_is_instance(v)) return t->constants.not_implemented;
  value *result = trace_method(t, v, name, NULL, 0);
  if (!result) return trace_pending(t) ? NULL : t->constants.not_implemented;
  PyObject *given = value_type_of(t, result);
  if (given == (PyObject *)type) return result;
  return given ? trace_break(t, BREAK_UNSUPPORTED_TYPE, "%s() gives a %s", name,
                             ((PyTypeObject *)given)->tp_name)
               : NULL;
}

/* Names the class, whose names are guarded where they may change. */
static value *text_of_class(tracer *t, value *v) {
  static const char *const names[] = {"__module__", "__qualname__"};
  for (int i = 0; i < 2; i++) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString(names[i]));
    if (!name || !trace_get_attr(t, v, name)) return NULL;
  }
  return value_made(t, PyObject_Repr(v->object));
}

/* Is the text of a class that of `type`? A metaclass may get methods of its own later. */
static bool text_is_types(tracer *t, PyTypeObject *metaclass) {
  if (metaclass == &PyType_Type) return true;
  bool same = metaclass->tp_repr == PyType_Type.tp_repr && metaclass->tp_str == PyType_Type.tp_str;
  if (same) class_special(t, metaclass, "__repr__");
  if (same) class_special(t, metaclass, "__str__");
  return same && !trace_pending(t);
}

value *const_text(tracer *t, value *v, bool repr) {
  if (PyType_Check(v->object) && text_is_types(t, Py_TYPE(v->object))) return text_of_class(t, v);
  if (trace_pending(t)) return NULL;
  if (!object_is_immutable(v->object)) return NULL;
  return value_made(t, repr ? PyObject_Repr(v->object) : PyObject_Str(v->object));
}

value *object_text(tracer *t, value *v, bool repr) {
  PyTypeObject *type = (PyTypeObject *)object_class(v);
  bool scalar = scalar_content(v) != NULL;
  const char *name = type_keeps_default(t, type, "__str__") || repr ? "__repr__" : "__str__";
  bool known = scalar || type_runs_python(t, type, name);
  return known ? special_or_pass(t, v, name, &PyUnicode_Type) : NULL;
}

/* That of a tuple of a class written in C, as torch.Size. */
static value *text_of_tuple(tracer *t, value *v, bool repr) {
  PyObject *type = value_is_tuple(v) ? tuple_class(v) : NULL;
  if (!type || PyType_HasFeature((PyTypeObject *)type, Py_TPFLAGS_HEAPTYPE)) return NULL;
  value *items = value_tuple(t, v->seq.items, v->seq.count);
  PyObject *plain = items ? value_plain(t, items) : NULL;
  PyObject *made = plain ? PyObject_CallOneArg(type, plain) : NULL;
  Py_XDECREF(plain);
  if (!made) return trace_pending(t) ? NULL : (error_drop(), NULL);
  PyObject *text = repr ? PyObject_Repr(made) : PyObject_Str(made);
  Py_DECREF(made);
  return value_made(t, text);
}

static value *text_of(tracer *t, value *v, bool repr) {
  PyObject *plain = value_plain(t, v);
  if (plain) {
    PyObject *text = repr ? PyObject_Repr(plain) : PyObject_Str(plain);
    Py_DECREF(plain);
    return value_made(t, text);
  }
  value *text = trace_pending(t) ? NULL : text_of_tuple(t, v, repr);
  if (!text && !trace_pending(t) && v->type->text) text = v->type->text(t, v, repr);
  if (text || trace_pending(t)) return text;
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the text of a %s", v->type->name);
}

value *trace_repr(tracer *t, value *v) { return text_of(t, v, true); }
value *trace_str(tracer *t, value *v) { return value_str_object(v) ? v : text_of(t, v, false); }
