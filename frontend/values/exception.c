/* Exceptions raised and caught inside the captured function. */
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/objects_internal.h"
#include "frontend/values/values.h"

#include <stdarg.h>

typedef struct exception_data {
  PyObject *type;
  value *args;  /* NULL: raised by the evaluator, whose messages are not CPython's own */
  value *attrs; /* dict value, of a class written in Python */
  value *cause;
  value *traceback; /* of value_traceback_type, or NULL */
  bool suppress;    /* raised with `from` */
  const char *message;
} exception_data;

value *value_exception(tracer *t, PyObject *type, value *args) {
  value *v = value_new(t, &value_exception_type);
  exception_data *data = v ? trace_alloc(t, sizeof *data) : NULL;
  if (!data || !trace_keep(t, Py_NewRef(type))) return NULL;
  data->type = type;
  data->args = args;
  data->message = "";
  v->any.a = data;
  return v;
}

static exception_data *exception_of(value *v) { return v->any.a; }

static int traceback_truth(tracer *t, value *v) { return 1; }
static PyObject *traceback_python_type(tracer *t, value *v) {
  return (PyObject *)&PyTraceBack_Type;
}
static bool traceback_same(tracer *t, value *l, value *r, bool *same) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the identity of a traceback");
}
static const value_type value_traceback_type = {.name = "traceback",
                                                .truth = traceback_truth,
                                                .same = traceback_same,
                                                .python_type = traceback_python_type};

bool value_is_traceback(const value *v) { return v->type == &value_traceback_type; }

value *exception_traceback(tracer *t, value *v) {
  exception_data *data = exception_of(v);
  return data->traceback ? data->traceback : t->constants.none;
}

bool exception_give(value *v, value *traceback) {
  bool known = traceback && (value_is_none(traceback) || value_is_traceback(traceback));
  if (known) exception_of(v)->traceback = value_is_none(traceback) ? NULL : traceback;
  return known;
}

bool exception_raised(tracer *t, value *v) {
  if (!value_is_made_exception(v)) return true;
  exception_of(v)->traceback = value_new(t, &value_traceback_type);
  return exception_of(v)->traceback != NULL;
}

bool value_is_exception(const value *v) {
  return value_is_made_exception(v) || (value_is_const(v) && PyExceptionInstance_Check(v->object));
}

PyObject *exception_class(value *v) {
  return value_is_made_exception(v) ? exception_of(v)->type : (PyObject *)Py_TYPE(v->object);
}

/* For the report of a break: the class and what is known of the message. */
const char *exception_message(value *v) {
  if (!value_is_made_exception(v)) return "one that existed before";
  exception_data *data = exception_of(v);
  if (!data->args) return data->message;
  value *first = data->args->seq.count ? data->args->seq.items[0] : NULL;
  PyObject *text = first ? value_str_object(first) : NULL;
  const char *utf8 = text ? PyUnicode_AsUTF8(text) : "";
  error_drop();
  return utf8 ? utf8 : "";
}

void *trace_raise(tracer *t, PyObject *type, const char *format, ...) {
  char message[256];
  va_list list;
  if (t->state != TRACE_GOING) return NULL;
  va_start(list, format);
  vsnprintf(message, sizeof message, format, list);
  va_end(list);
  error_drop();
  value *v = value_exception(t, type, NULL);
  if (v) exception_of(v)->message = loom_arena_strdup(&t->memory.arena, message);
  if (v && !exception_of(v)->message) exception_of(v)->message = "";
  return trace_raise_value(t, v);
}

void *trace_raise_key(tracer *t, value *key) {
  value *args = value_tuple(t, &key, 1);
  return args ? trace_raise_value(t, value_exception(t, PyExc_KeyError, args)) : NULL;
}

void *trace_raise_live(tracer *t) {
  PyObject *type, *object, *traceback;
  if (t->state != TRACE_GOING && t->state != TRACE_RAISING) return NULL;
  if (!PyErr_Occurred())
    return trace_break(t, BREAK_UNKNOWN_CALL, "a call failed without an exception");
  if (error_is_foreign()) return trace_fail(t);
  if (PyErr_ExceptionMatches(PyExc_MemoryError)) { /* which the run may not even ask for */
    error_drop();
    return trace_break(t, BREAK_LIMIT, "an operation that memory does not suffice for");
  }
  PyErr_Fetch(&type, &object, &traceback);
  PyErr_NormalizeException(&type, &object, &traceback);
  PyObject *args =
      object && PyExceptionInstance_Check(object) ? ((PyBaseExceptionObject *)object)->args : NULL;
  value *known = args && object_is_plain(args) ? value_made(t, Py_NewRef(args)) : NULL;
  value *v = value_exception(t, type ? type : PyExc_Exception, known);
  Py_XDECREF(type);
  Py_XDECREF(object);
  Py_XDECREF(traceback);
  error_drop();
  return trace_raise_value(t, v);
}

bool exception_matches(tracer *t, value *v, PyObject *type) {
  return PyType_IsSubtype((PyTypeObject *)exception_class(v), (PyTypeObject *)type);
}

/* Does calling the class only keep the arguments? Others check them, or give an object of another
 * class, as OSError. */
static bool exception_keeps(PyTypeObject *type) {
  PyTypeObject *const simple[] = {
      (PyTypeObject *)PyExc_BaseException,  (PyTypeObject *)PyExc_StopIteration,
      (PyTypeObject *)PyExc_SystemExit,     (PyTypeObject *)PyExc_ImportError,
      (PyTypeObject *)PyExc_AttributeError, (PyTypeObject *)PyExc_NameError};
  PyTypeObject *base = type;
  while (base && PyType_HasFeature(base, Py_TPFLAGS_HEAPTYPE))
    base = base->tp_base;
  if (!base || base->tp_new != simple[0]->tp_new) return false;
  for (size_t i = 0; i < sizeof simple / sizeof *simple; i++)
    if (base->tp_init == simple[i]->tp_init) return true;
  return false;
}

/* The special methods that an exception made inside has as its class defines them. */
static bool exception_follows(const char *name) {
  static const char *const known[] = {
      "__init__",  "__str__",  "__eq__",     "__ne__",      "__lt__",      "__le__",
      "__gt__",    "__ge__",   "__hash__",   "__getattr__", "__getitem__", "__init_subclass__",
      "__class__", "__doc__",  "__module__", "__dict__",    "__weakref__", "__qualname__",
      "__slots__", "__cause__"};
  for (size_t i = 0; i < sizeof known / sizeof *known; i++)
    if (!strcmp(name, known[i])) return true;
  return false;
}

/* Has the class other special methods, which would have to be called, or run as an instance dies?
 * Those that change how each attribute is found are guarded. */
static bool exception_has_hooks(tracer *t, PyTypeObject *type) {
  static const char *const hooks[] = {"__getattribute__", "__setattr__", "__delattr__", "__del__"};
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++)
    if (type_runs_python(t, type, hooks[i])) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(type->tp_mro); i++) {
    PyTypeObject *cls = (PyTypeObject *)PyTuple_GET_ITEM(type->tp_mro, i);
    PyObject *dict = python_type_dict(cls), *name, *item;
    for (Py_ssize_t at = 0; !python_type_is_builtin(cls) && PyDict_Next(dict, &at, &name, &item);) {
      const char *text = PyUnicode_Check(name) ? PyUnicode_AsUTF8(name) : NULL;
      if (text && !strncmp(text, "__", 2) && Py_TYPE(item)->tp_descr_get &&
          !exception_follows(text))
        return true;
    }
  }
  error_drop();
  return false;
}

/* Calling an exception class. */
value *exception_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                      PyObject *kwnames) {
  PyTypeObject *type = (PyTypeObject *)cls;
  value *tuple = value_tuple(t, args, count);
  value *v = tuple ? value_exception(t, cls, tuple) : NULL;
  if (!v) return NULL;
  if (type_runs_python(t, type, "__new__") || !exception_keeps(type) ||
      exception_has_hooks(t, type) || type_runs_python(t, Py_TYPE(type), "__call__"))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s", type->tp_name);
  if (!type_runs_python(t, type, "__init__")) {
    if (kwnames)
      return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a new %s with keywords", type->tp_name);
    return v;
  }
  exception_of(v)->attrs = value_dict(t);
  PyObject *name = trace_keep(t, PyUnicode_InternFromString("__init__"));
  value *init = name ? type_attr(t, cls, name, v, NULL) : NULL;
  return init && trace_call(t, init, args, count, kwnames) ? v : NULL;
}

/* BaseException.__init__ called explicitly: sets args. */
bool exception_init(tracer *t, value *v, value *const *args, Py_ssize_t count) {
  exception_of(v)->args = value_tuple(t, args, count);
  return exception_of(v)->args != NULL;
}

void exception_set_cause(value *v, value *cause) {
  exception_of(v)->cause = cause;
  exception_of(v)->suppress = true;
}

value *exception_stop_value(tracer *t, value *stop) {
  const value *args = value_is_made_exception(stop) ? exception_of(stop)->args : NULL;
  return args && args->seq.count ? args->seq.items[0] : t->constants.none;
}

/* What BaseException keeps of each exception; NULL with nothing pending: nothing of that name. */
static value *exception_kept(tracer *t, value *v, PyObject *name) {
  exception_data *data = exception_of(v);
  if (!PyUnicode_CompareWithASCIIString(name, "args")) {
    if (data->args) return data->args;
    return trace_break(t, BREAK_RAISES, "the arguments of %s are read",
                       ((PyTypeObject *)data->type)->tp_name);
  }
  if (!PyUnicode_CompareWithASCIIString(name, "__class__")) return value_const(t, data->type);
  if (!PyUnicode_CompareWithASCIIString(name, "__cause__"))
    return data->cause ? data->cause : t->constants.none;
  if (!PyUnicode_CompareWithASCIIString(name, "__suppress_context__"))
    return value_bool(t, data->suppress);
  if (!PyUnicode_CompareWithASCIIString(name, "__traceback__")) return exception_traceback(t, v);
  return NULL;
}

/* Do classes over BaseException leave the name to it? */
static bool exception_keeps_name(tracer *t, const exception_data *data, PyObject *name) {
  PyObject *own = _PyType_Lookup((PyTypeObject *)PyExc_BaseException, name);
  return own && class_lookup(t, (PyTypeObject *)data->type, name) == own;
}

static value *exception_get_attr(tracer *t, value *v, PyObject *name) {
  exception_data *data = exception_of(v);
  value *key = value_const(t, name);
  if (!key) return NULL;
  value *item = data->attrs ? dict_get(t, data->attrs, key) : NULL;
  if (!item && !trace_pending(t) && exception_keeps_name(t, data, name))
    item = exception_kept(t, v, name);
  if (item || trace_pending(t)) return item;
  PyObject *descr = _PyType_Lookup((PyTypeObject *)data->type, name);
  if (descr && (PyFunction_Check(descr) || Py_IS_TYPE(descr, &PyProperty_Type) ||
                !Py_TYPE(descr)->tp_descr_get))
    return type_attr(t, data->type, name, v, NULL);
  if (descr && (Py_IS_TYPE(descr, &PyWrapperDescr_Type) || Py_IS_TYPE(descr, &PyMethodDescr_Type)))
    return value_method(t, value_const(t, descr), v);
  if (descr || type_runs_python(t, (PyTypeObject *)data->type, "__getattr__"))
    return trace_break(t, BREAK_ATTRIBUTE, "'%s' of an exception", PyUnicode_AsUTF8(name));
  return trace_raise(t, PyExc_AttributeError, "an exception has no attribute '%s'",
                     PyUnicode_AsUTF8(name));
}

static bool exception_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  exception_data *data = exception_of(v);
  if (!PyUnicode_CompareWithASCIIString(name, "__traceback__") &&
      exception_keeps_name(t, data, name) && exception_give(v, item))
    return true;
  if (!PyUnicode_CompareWithASCIIString(name, "args") ||
      _PyType_Lookup((PyTypeObject *)data->type, name)) {
    trace_break(t, BREAK_ATTRIBUTE, "assignment to '%s' of an exception", PyUnicode_AsUTF8(name));
    return false;
  }
  if (!data->attrs && !(data->attrs = value_dict(t))) return false;
  value *key = value_const(t, name);
  return key && (item ? dict_put(t, data->attrs, key, item) : dict_remove(t, data->attrs, key));
}

/* str(): only of classes that keep BaseException's (or KeyError's) own. */
static value *exception_text(tracer *t, value *v, bool repr) {
  if (repr) return NULL;
  exception_data *data = exception_of(v);
  PyTypeObject *type = (PyTypeObject *)data->type;
  if (type_runs_python(t, type, "__str__")) return trace_method(t, v, "__str__", NULL, 0);
  bool base = type->tp_str == ((PyTypeObject *)PyExc_BaseException)->tp_str;
  bool key = type->tp_str == ((PyTypeObject *)PyExc_KeyError)->tp_str;
  if (!data->args || (!base && !key))
    return trace_break(t, BREAK_RAISES, "the message of %s is read", type->tp_name);
  if (data->args->seq.count == 0) return value_str(t, "");
  value *first = data->args->seq.count == 1 ? data->args->seq.items[0] : data->args;
  return key && data->args->seq.count == 1 ? trace_repr(t, first) : trace_str(t, first);
}

static PyObject *exception_python_type(tracer *t, value *v) { return exception_class(v); }
static int exception_truth(tracer *t, value *v) { return 1; }

const value_type value_exception_type = {.name = "exception",
                                         .truth = exception_truth,
                                         .get_attr = exception_get_attr,
                                         .set_attr = exception_set_attr,
                                         .python_type = exception_python_type,
                                         .text = exception_text};

/* Reads what the thread is handling: see source.c. */
const source *handled_source(tracer *t, const char *name) {
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  const source *thread = trace_source(t, SOURCE_CONST, NULL, source_thread(), NULL, 0);
  return key && thread ? trace_source(t, SOURCE_DERIVED, thread, NULL, key, 0) : NULL;
}

/* Is nothing handled by the caller? By a guard. */
bool handled_is_nothing(tracer *t) {
  PyObject *handled = PyErr_GetHandledException();
  Py_XDECREF(handled);
  if (handled)
    return trace_break(t, BREAK_RAISES, "the exception that the caller handles is read") != NULL;
  guard_simple(t, GUARD_MISSING, handled_source(t, "handled"), NULL, 0);
  return !trace_pending(t);
}
