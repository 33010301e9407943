/* Calls of builtin callables: the table of those that capture knows, and the real ones called on
 * known arguments. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/library/internal.h"
#include "frontend/library/library.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

typedef struct builtin_row {
  const char *module, *name;
  value *(*call)(tracer *t, const builtin_args *a);
  int op;
} builtin_row;

static value *builtin_pure(tracer *t, const builtin_args *a) {
  const char *name = PyCFunction_Check(a->callee) && !a->kwnames
                         ? ((PyCFunctionObject *)a->callee)->m_ml->ml_name
                         : NULL;
  value *computed = name ? number_math(t, name, a->args, a->count) : NULL;
  if (computed || trace_pending(t)) return computed;
  return call_real(t, a->callee, a->args, a->count, a->kwnames);
}

/* The message that the user gave, or a text of ours. */
static const char *builtin_message(const builtin_args *a, const char *missing) {
  value *v = a->count ? a->args[0] : builtin_keyword(a, "msg");
  PyObject *text = v ? value_str_object(v) : NULL;
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  if (!words) error_drop();
  return words && *words ? words : missing;
}

value *builtin_graph_break(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"msg", NULL};
  if (!builtin_check(t, a, 0, 1, keywords)) return NULL;
  return trace_break(t, BREAK_USER, "%s", builtin_message(a, "in the compiled function"));
}

/* The frame that calls it is left to Python. When it is not the outermost one, capture ends in
 * front of the call that leads there. */
value *builtin_skip_frame(tracer *t, const builtin_args *a) {
  static const char *const keywords[] = {"msg", NULL};
  if (!builtin_check(t, a, 0, 1, keywords)) return NULL;
  trace_break(t, BREAK_SKIPPED, "%s", builtin_message(a, "in the compiled function"));
  if (t->frame == t->outer.frame) t->capture->broke.step = -1;
  return NULL;
}

value *builtin_is_compiling(tracer *t, const builtin_args *a) { return t->constants.true_value; }

static const builtin_row builtin_rows[] = {
#define LOOM_BUILTIN(MODULE, NAME, FUNCTION) {MODULE, NAME, builtin_##FUNCTION, 0},
#define LOOM_OPERATOR(NAME, FUNCTION, OP) {"operator", NAME, builtin_##FUNCTION, OP},
#define LOOM_MODEL(MODULE, NAME) {MODULE, NAME, builtin_model, 0},
#define LOOM_PURE(MODULE, NAME) {MODULE, NAME, builtin_pure, 0},
#define LOOM_PURE_MODULE(MODULE) {MODULE, NULL, builtin_pure, 0},
#include "frontend/library/builtins.def"
#undef LOOM_BUILTIN
#undef LOOM_OPERATOR
#undef LOOM_MODEL
#undef LOOM_PURE
#undef LOOM_PURE_MODULE
};

/* Object -> row; filled once, the objects are kept for ever. */
enum { BUILTIN_SLOTS = 1024 };
static struct {
  PyObject *object;
  const builtin_row *row;
} builtin_slots[BUILTIN_SLOTS];
static bool builtin_ready;

static size_t builtin_slot(PyObject *object) {
  size_t slot = ((size_t)object >> 4) * 0x9e3779b97f4a7c15u >> 40 & (BUILTIN_SLOTS - 1);
  while (builtin_slots[slot].object && builtin_slots[slot].object != object)
    slot = (slot + 1) & (BUILTIN_SLOTS - 1);
  return slot;
}

static void builtin_add(PyObject *object, const builtin_row *row) {
  size_t slot = builtin_slot(object);
  if (builtin_slots[slot].object) return;
  builtin_slots[slot].object = Py_NewRef(object);
  builtin_slots[slot].row = row;
}

static bool builtin_add_module(PyObject *module, const builtin_row *row) {
  PyObject *key, *item, *dict = PyModule_GetDict(module);
  for (Py_ssize_t pos = 0; PyDict_Next(dict, &pos, &key, &item);)
    if (PyCFunction_CheckExact(item)) builtin_add(item, row);
  return true;
}

/* The module of a row when somebody has imported it: what nobody has is called by nobody, and an
 * import takes a millisecond. NULL without an exception: not yet. */
static PyObject *builtin_module(const char *name) {
  PyObject *text = PyUnicode_FromString(name);
  PyObject *module = text ? PyImport_GetModule(text) : NULL;
  Py_XDECREF(text);
  return module;
}

/* A program may have put another function in its place before anything was captured. */
static bool builtin_is_named(PyObject *object, const char *name) {
  if (PyFunction_Check(object))
    return PyUnicode_CompareWithASCIIString(((PyFunctionObject *)object)->func_name, name) == 0;
  return !PyCFunction_Check(object) || !strcmp(((PyCFunctionObject *)object)->m_ml->ml_name, name);
}

static bool builtin_add_row(PyObject *module, const builtin_row *row) {
  if (!row->name) return builtin_add_module(module, row);
  PyObject *object = PyObject_GetAttrString(module, row->name);
  if (object && builtin_is_named(object, row->name)) builtin_add(object, row);
  Py_XDECREF(object);
  return object != NULL;
}

static bool builtin_has_row(PyObject *object);
/* A call of a builtin object; *mine false when the table has no row for it. */
static value *builtin_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count,
                           PyObject *kwnames, bool *mine);

bool builtins_init(void) {
  static const library_hooks hooks = {.has_row = builtin_has_row, .call = builtin_call};
  loom_library = &hooks;
  static bool added[sizeof builtin_rows / sizeof *builtin_rows];
  bool all = true;
  if (builtin_ready) return true;
  for (size_t i = 0; i < sizeof builtin_rows / sizeof *builtin_rows;) {
    const char *name = builtin_rows[i].module;
    bool waits = !added[i];
    PyObject *module = waits ? builtin_module(name) : NULL;
    if (PyErr_Occurred()) return false;
    for (; i < sizeof builtin_rows / sizeof *builtin_rows && !strcmp(builtin_rows[i].module, name);
         i++) {
      if (module && !builtin_add_row(module, &builtin_rows[i])) return Py_DECREF(module), false;
      added[i] |= module != NULL;
    }
    all &= !waits || module;
    Py_XDECREF(module);
  }
  builtin_ready = all;
  return true;
}

/* ---- the real function ---------------------------------------------------------------------- */

/* ---- methods of builtin types --------------------------------------------------------------- */

static PyTypeObject *descriptor_type(PyObject *o) {
  if (Py_IS_TYPE(o, &PyMethodDescr_Type) || Py_IS_TYPE(o, &PyWrapperDescr_Type) ||
      Py_IS_TYPE(o, &PyClassMethodDescr_Type))
    return ((PyDescrObject *)o)->d_type;
  return NULL;
}

static bool pure_type(PyTypeObject *type) {
  return type == &PyUnicode_Type || type == &PyLong_Type || type == &PyFloat_Type ||
         type == &PyComplex_Type || type == &PyBytes_Type || type == &PyBool_Type ||
         type == &PyRange_Type || type == &PySlice_Type || type == &PyTuple_Type ||
         type == &PyFrozenSet_Type;
}

/* object.__setattr__(self, name, value) and its like, called by classes that override them. */
static value *call_object_method(tracer *t, const char *name, value *const *args,
                                 Py_ssize_t count) {
  value *self = count ? args[0] : NULL;
  PyObject *text = count > 1 ? value_str_object(args[1]) : NULL;
  if (!self) return t->constants.not_implemented;
  if (!strcmp(name, "__init__")) {
    if (value_is_made_exception(self))
      return exception_init(t, self, args + 1, count - 1) ? t->constants.none : NULL;
    return count == 1 && value_is_instance(self) ? t->constants.none : t->constants.not_implemented;
  }
  if (!strcmp(name, "with_traceback") && value_is_made_exception(self) && count == 2)
    return exception_give(self, args[1]) ? self : t->constants.not_implemented;
  if (!value_is_instance(self)) return t->constants.not_implemented;
  bool stores = !strcmp(name, "__setattr__") || !strcmp(name, "__delattr__");
  if (stores && model_owns(object_class(self)) && !model_owns(t->frame->function->globals))
    return t->constants.not_implemented;
  if (!strcmp(name, "__getattribute__") && text && count == 2) {
    value *item = object_attr(t, self, text);
    return item || trace_pending(t)
               ? item
               : trace_raise(t, PyExc_AttributeError, "no attribute '%s'", PyUnicode_AsUTF8(text));
  }
  if (!strcmp(name, "__setattr__") && text && count == 3)
    return object_store(t, self, text, args[2]) ? t->constants.none : NULL;
  if (!strcmp(name, "__delattr__") && text && count == 2)
    return object_store(t, self, text, NULL) ? t->constants.none : NULL;
  return t->constants.not_implemented;
}

/* list.append(x, 1): the method of the value that stands for the list. */
static value *call_value_method(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                                PyObject *kwnames) {
  value *method = trace_get_attr(t, args[0], PyDescr_NAME(descr));
  return method ? trace_call(t, method, args + 1, count - 1, kwnames) : NULL;
}

/* Does each call have an object of its own there? */
static bool kept_by_call(const source *s) {
  while (s->base)
    s = s->base;
  return s->kind == SOURCE_ARG;
}

/* A method of a list, a set, a string and their like that the program keeps: keywords.__contains__,
 * say. It is called on the value that stands for its object. A guard compares the method by
 * identity, so that one which is an argument is left to Python. */
static value *call_kept_method(tracer *t, PyObject *o, PyObject *self, value *const *args,
                               Py_ssize_t count, PyObject *kwnames) {
  PyTypeObject *type = Py_TYPE(self);
  bool known =
      pure_type(type) || type == &PyList_Type || type == &PyDict_Type || type == &PySet_Type;
  PyMethodDef *method = ((PyCFunctionObject *)o)->m_ml;
  PyObject *name = known ? trace_keep(t, PyUnicode_InternFromString(method->ml_name)) : NULL;
  PyObject *descr = name ? _PyType_Lookup(type, name) : NULL;
  if (!descr || !Py_IS_TYPE(descr, &PyMethodDescr_Type) ||
      ((PyMethodDescrObject *)descr)->d_method != method)
    return t->constants.not_implemented;
  const value *v = pointer_map_get(&t->known.wrapped, o);
  const source *s = v && v->source ? v->source : trace_source(t, SOURCE_CONST, NULL, o, NULL, 0);
  if (s && kept_by_call(s)) return t->constants.not_implemented;
  const source *from = s ? trace_source(t, SOURCE_SELF, s, NULL, NULL, 0) : NULL;
  value *object = from ? value_wrap(t, self, from) : NULL;
  value *bound = object ? trace_get_attr(t, object, name) : NULL;
  return bound ? trace_call(t, bound, args, count, kwnames) : NULL;
}

/* int.from_bytes, chain.from_iterable: self is the class. */
static value *call_class_method(tracer *t, PyObject *o, value *const *args, Py_ssize_t count,
                                PyObject *kwnames) {
  PyObject *cls =
      count && value_is_const(args[0]) && PyType_Check(args[0]->object) ? args[0]->object : NULL;
  PyTypeObject *type = PyDescr_TYPE(o);
  if (!cls || (type != (PyTypeObject *)cls && !pure_type(type)))
    return t->constants.not_implemented;
  /* A subclass gives objects of its own; dict.fromkeys and its like of the class are known. */
  if (type != (PyTypeObject *)cls) return t->constants.not_implemented;
  PyObject *bound = trace_keep(t, PyObject_GetAttr((PyObject *)type, PyDescr_NAME(o)));
  if (!bound) return PyErr_Occurred() ? trace_fail(t) : NULL;
  builtin_args a = {.callee = bound, .args = args + 1, .count = count - 1, .kwnames = kwnames};
  value *result = builtin_bound_call(t, bound, &a);
  if (result != t->constants.not_implemented || !pure_type(type)) return result;
  return call_real(t, bound, args + 1, count - 1, kwnames);
}

/* Does the method of a type in C read or write an attribute as object's does? */
static bool is_object_attribute(PyObject *method) {
  if (!Py_IS_TYPE(method, &PyWrapperDescr_Type)) return false;
  const void *function = ((PyWrapperDescrObject *)method)->d_wrapped;
  return function == (const void *)PyObject_GenericGetAttr ||
         function == (const void *)PyObject_GenericSetAttr;
}

static value *call_descriptor(tracer *t, PyObject *o, PyTypeObject *type, value *const *args,
                              Py_ssize_t count, PyObject *kwnames) {
  const char *name = PyUnicode_AsUTF8(PyDescr_NAME(o));
  bool makes = !strcmp(name, "__init__") || !strcmp(name, "__call__");
  if (kwnames && Py_IS_TYPE(o, &PyWrapperDescr_Type) && !makes) return t->constants.not_implemented;
  if (type == &PyBaseObject_Type || type == (PyTypeObject *)PyExc_BaseException ||
      (PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException) && !strcmp(name, "__init__")))
    return call_object_method(t, name, args, count);
  if (Py_IS_TYPE(o, &PyClassMethodDescr_Type)) return call_class_method(t, o, args, count, kwnames);
  if (!count) return t->constants.not_implemented;
  if (type == &PyType_Type && !strcmp(name, "__instancecheck__") && count == 2 && !kwnames &&
      value_is_const(args[0]) && PyType_Check(args[0]->object))
    return trace_type_check(t, args[0]->object, args[1]);
  if (type == &PyContextVar_Type && !kwnames) return context_call(t, name, args, count);
  if (is_object_attribute(o) && value_is_instance(args[0])) /* int's, say, is object's own */
    return call_object_method(t, name, args, count);
  if (!list_settle(t, args[0])) return NULL;
  if (object_content(args[0]) &&
      PyType_IsSubtype(container_base((PyTypeObject *)object_class(args[0])), type))
    return container_call(t, o, args, count, kwnames);
  bool frozen = value_is_set(args[0]) && set_is_frozen(args[0]);
  if ((frozen ? &PyFrozenSet_Type : args[0]->type->builtin) == type)
    return call_value_method(t, o, args, count, kwnames);
  value *of_model = special_of_model(t, o, args, count, kwnames);
  if (of_model != t->constants.not_implemented) return of_model;
  if (type == &PyProperty_Type) return class_descriptor(t, o, args, count, kwnames);
  if (!pure_type(type)) return t->constants.not_implemented;
  if (scalar_content(args[0]) &&
      PyType_IsSubtype(scalar_base((PyTypeObject *)object_class(args[0])), type))
    return scalar_call(t, o, args, count, kwnames);
  if (type == &PyUnicode_Type && !strcmp(name, "join") && count == 2 && !kwnames) {
    value *pair[2] = {args[0], trace_fast(t, args[1])};
    return pair[1] ? call_real(t, o, pair, 2, NULL) : NULL;
  }
  return call_real(t, o, args, count, kwnames);
}

/* ---- the call ------------------------------------------------------------------------------- */

/* partial objects that existed before the call: what they hold is read through their members. */
static value *call_partial(tracer *t, PyObject *o, value *const *args, Py_ssize_t count,
                           PyObject *kwnames, const source *s) {
  static const char *const names[3] = {"func", "args", "keywords"};
  value *parts[3];
  for (int i = 0; i < 3; i++) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString(names[i]));
    PyObject *item = name ? trace_keep(t, PyObject_GenericGetAttr(o, name)) : NULL;
    const source *at = item ? trace_source(t, SOURCE_ATTR, s, NULL, name, 0) : NULL;
    if (!at || !(parts[i] = value_wrap(t, item, at))) return NULL;
  }
  return partial_call(t, parts[0], parts[1], parts[2], args, count, kwnames);
}

static value *call_class(tracer *t, PyObject *o, const builtin_args *a) {
  PyTypeObject *type = (PyTypeObject *)o;
  if (PyType_IsSubtype(type, (PyTypeObject *)PyExc_BaseException))
    return exception_make(t, o, a->args, a->count, a->kwnames);
  if (type_runs_python(t, Py_TYPE(type), "__call__")) {
    PyObject *name = trace_keep(t, PyUnicode_InternFromString("__call__"));
    value *cls = name ? value_const(t, o) : NULL;
    value *method = cls ? type_attr(t, (PyObject *)Py_TYPE(type), name, cls, NULL) : NULL;
    return method ? trace_call(t, method, a->args, a->count, a->kwnames) : NULL;
  }
  if (type_runs_python(t, type, "__new__") && tuple_class_known(t, type))
    return object_make(t, o, a->args, a->count, a->kwnames);
  if (PyType_HasFeature(type, Py_TPFLAGS_HEAPTYPE) &&
      Py_TYPE(type)->tp_call == PyType_Type.tp_call &&
      (loom_class_is_python(type) || container_base(type) || scalar_base(type)))
    return object_make(t, o, a->args, a->count, a->kwnames);
  return t->constants.not_implemented;
}

static bool builtin_has_row(PyObject *object) { return builtin_slots[builtin_slot(object)].object; }

static value *builtin_call(tracer *t, PyObject *o, value *const *args, Py_ssize_t count,
                           PyObject *kwnames, bool *mine) {
  builtin_args a = {.callee = o, .args = args, .count = count, .kwnames = kwnames};
  value *result = t->constants.not_implemented;
  size_t slot = builtin_slot(o);
  const builtin_row *row = builtin_slots[slot].row;
  *mine = false;
  if (row && scalar_is_taken(t, row->name, args, count))
    a.args = scalar_taken(t, row->name, args, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0));
  if (!a.args && count) return NULL;
  if (builtin_slots[slot].object) {
    a.op = builtin_slots[slot].row->op;
    a.name = builtin_slots[slot].row->name;
    result = builtin_slots[slot].row->call(t, &a);
  } else if (descriptor_type(o)) {
    result = call_descriptor(t, o, descriptor_type(o), args, count, kwnames);
  } else if (PyType_Check(o)) {
    result = call_class(t, o, &a);
  } else if (is_partial(o)) {
    value *v = pointer_map_get(&t->known.wrapped, o);
    const source *s = v && v->source ? v->source : trace_source(t, SOURCE_CONST, NULL, o, NULL, 0);
    result = s ? call_partial(t, o, args, count, kwnames, s) : NULL;
  } else if (PyCFunction_CheckExact(o)) {
    PyObject *self = PyCFunction_GET_SELF(o);
    result = self && !PyType_Check(self) ? call_kept_method(t, o, self, args, count, kwnames)
                                         : builtin_bound_call(t, o, &a);
  }
  *mine = result != t->constants.not_implemented;
  return *mine ? result : NULL;
}
