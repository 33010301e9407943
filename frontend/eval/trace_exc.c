/* Instructions for exceptions, `with` and imports. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/eval/internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* ---- raising -------------------------------------------------------------------------------- */

static bool is_exception_class(value *v) {
  return value_is_const(v) && PyType_Check(v->object) &&
         PyType_IsSubtype((PyTypeObject *)v->object, (PyTypeObject *)PyExc_BaseException);
}

static value *raise_instance(tracer *t, value *v) {
  if (value_is_made_exception(v)) return v;
  if (is_exception_class(v)) {
    value *made = trace_call(t, v, NULL, 0, NULL);
    return made && value_is_made_exception(made) ? made : NULL;
  }
  if (value_is_const(v) && PyExceptionInstance_Check(v->object))
    return trace_break(t, BREAK_RAISES, "a %s that existed before the call",
                       Py_TYPE(v->object)->tp_name);
  return trace_raise(t, PyExc_TypeError, "exceptions must derive from BaseException");
}

/* Raising what is handled, or was caught, leaves its traceback as it is: but each frame that it
 * leaves adds itself. */
static step raise_again(tracer *t, const frame *f, value *v) {
  if (!value_is_made_exception(v) && (f != t->outer.frame || !value_is_exception(v)))
    trace_break(t, BREAK_RAISES, "an exception that existed before the call");
  trace_raise_value(t, v);
  return STEP_FAIL;
}

/* What this frame, or one that it was inlined into, handles; NULL with nothing pending: what the
 * caller does. */
static value *handled_now(tracer *t) {
  if (t->handled) t->handled = value_looked_at(t, t->handled);
  return t->handled;
}

step step_RAISE(tracer *t, frame *f, const loom_instr *in) {
  value *cause = in->arg == 2 ? frame_pop(f) : NULL;
  if (in->arg == 0) {
    value *again = handled_now(t);
    if (again) return raise_again(t, f, again);
    if (!trace_pending(t) && handled_is_nothing(t))
      trace_raise(t, PyExc_RuntimeError, "No active exception to reraise");
    return STEP_FAIL;
  }
  value *v = raise_instance(t, frame_pop(f));
  if (trace_pending(t) || !v) return STEP_FAIL;
  /* The words of a model are its own, and are not to be read: the original has others. A KeyError
   * has no words: its argument is the key. */
  if (model_owns(f->function->globals) && exception_class(v) != PyExc_KeyError)
    v = value_exception(t, exception_class(v), NULL);
  if (!v) return STEP_FAIL;
  if (cause && !value_is_none(cause) && !(cause = raise_instance(t, cause)))
    return STEP_FAIL;
  else {
    if (cause) exception_set_cause(v, cause);
    trace_raise_value(t, v);
  }
  return STEP_FAIL;
}

step step_RERAISE(tracer *t, frame *f, const loom_instr *in) {
  return raise_again(t, f, frame_pop(f));
}

step step_LOAD_ASSERTION_ERROR(tracer *t, frame *f, const loom_instr *in) {
  return frame_result(f, value_const(t, PyExc_AssertionError));
}

/* ---- handling ------------------------------------------------------------------------------- */

step step_PUSH_EXC(tracer *t, frame *f, const loom_instr *in) {
  value *exception = frame_pop(f), *before = t->handled;
  /* Should the frame be left in the handler, its stack has to hold what the caller handles; a
   * generator handles nothing of its caller's. */
  if (!before && f == t->outer.frame && !(f->code->object->co_flags & CO_GENERATOR))
    before = value_lazy(t, Py_None, handled_source(t, "handled_or_none"));
  else if (!before)
    before = t->constants.none;
  if (!before) return STEP_FAIL;
  frame_push(f, before);
  frame_push(f, exception);
  t->handled = exception;
  t->outer.handlers += f == t->outer.frame;
  return STEP_NEXT;
}

step step_POP_EXC(tracer *t, frame *f, const loom_instr *in) {
  value *before = frame_pop(f);
  if (f == t->outer.frame)
    t->handled = --t->outer.handlers > 0 ? before : NULL;
  else
    t->handled = value_is_none(before) ? NULL : before;
  return STEP_NEXT;
}

/* Does an except clause name nothing but classes of exceptions and tuples of them? Python checks
 * this before it compares. */
static bool exc_valid(value *types) {
  if (!value_is_tuple(types)) return is_exception_class(types);
  for (Py_ssize_t i = 0; i < types->seq.count; i++)
    if (!is_exception_class(types->seq.items[i])) return false;
  return true;
}

/* 1 matches, 0 does not, -1 failed. */
static int exc_match(tracer *t, value *exception, value *types) {
  if (value_is_tuple(types) && exc_valid(types)) {
    for (Py_ssize_t i = 0; i < types->seq.count; i++) {
      int match = exc_match(t, exception, types->seq.items[i]);
      if (match) return match;
    }
    return 0;
  }
  if (is_exception_class(types)) return exception_matches(t, exception, types->object);
  trace_raise(t, PyExc_TypeError,
              "catching classes that do not inherit from BaseException is not allowed");
  return -1;
}

step step_EXC_MATCH(tracer *t, frame *f, const loom_instr *in) {
  value *types = frame_pop(f), *exception = frame_peek(f, 1);
  if (!value_is_exception(exception)) return STEP_FAIL;
  int match = exc_match(t, exception, types);
  return match < 0 ? STEP_FAIL : frame_result(f, value_bool(t, match));
}

/* ---- with ----------------------------------------------------------------------------------- */

step step_BEFORE_WITH(tracer *t, frame *f, const loom_instr *in) {
  value *manager = frame_pop(f);
  value *enter = trace_special(t, manager, "__enter__");
  value *leave = enter ? trace_special(t, manager, "__exit__") : NULL;
  if (!leave) {
    if (!trace_pending(t))
      trace_raise(t, PyExc_TypeError, "the object does not support the context manager protocol");
    return STEP_FAIL;
  }
  frame_push(f, leave);
  return frame_result(f, trace_call(t, enter, NULL, 0, NULL));
}

step step_WITH_EXCEPT_START(tracer *t, frame *f, const loom_instr *in) {
  if (f->sp < 4) return STEP_FAIL;
  value *exception = frame_peek(f, 1), *leave = frame_peek(f, 4);
  if (!value_is_made_exception(exception))
    return trace_break(t, BREAK_RAISES, "an exception that existed before the call leaves a with"),
           STEP_FAIL;
  value *args[3] = {value_const(t, exception_class(exception)), exception,
                    exception_traceback(t, exception)};
  if (!args[0]) return STEP_FAIL;
  return frame_result(f, trace_call(t, leave, args, 3, NULL));
}

/* ---- imports: only of modules that are loaded ----------------------------------------------- */

/* A library imports a part of its own: nothing of the user's runs. */
static bool import_of_same_library(const frame *f, PyObject *name) {
  PyObject *own = PyDict_GetItemString(f->function->globals, "__package__");
  const char *package = own && PyUnicode_Check(own) ? PyUnicode_AsUTF8(own) : NULL;
  const char *wanted = PyUnicode_AsUTF8(name);
  if (!package || !wanted) return error_drop(), false;
  size_t n = strcspn(package, ".");
  return n > 0 && strncmp(package, wanted, n) == 0 && wanted[n] == '.';
}

static value *import_loaded(tracer *t, PyObject *name) {
  PyObject *modules = PyImport_GetModuleDict();
  PyObject *module =
      modules && PyDict_CheckExact(modules) ? PyDict_GetItemWithError(modules, name) : NULL;
  error_drop();
  if (!module && loom_code_is_installed(t->frame->function->code) &&
      import_of_same_library(t->frame, name)) {
    Py_XDECREF(PyImport_Import(name));
    error_drop();
    module = PyDict_GetItem(modules, name);
  }
  if (!module || !PyModule_Check(module))
    return trace_break(t, BREAK_SIDE_EFFECT, "an import of '%s', which is not loaded",
                       PyUnicode_AsUTF8(name));
  const source *s = trace_source(t, SOURCE_GLOBAL, NULL, modules, name, 0);
  return s ? value_wrap(t, module, s) : NULL;
}

/* The absolute name of a relative import, or NULL. */
static PyObject *import_absolute(tracer *t, frame *f, PyObject *name, int64_t level) {
  PyObject *package = PyDict_GetItemString(f->function->globals, "__package__");
  if (!package || !PyUnicode_CheckExact(package)) return NULL;
  Py_ssize_t end = PyUnicode_GET_LENGTH(package);
  for (int64_t up = 1; up < level && end > 0; up++)
    end = PyUnicode_FindChar(package, '.', 0, end, -1);
  PyObject *base = end > 0 ? PyUnicode_Substring(package, 0, end) : NULL;
  if (!base || PyUnicode_GET_LENGTH(name) == 0) return trace_keep(t, base);
  PyObject *full = PyUnicode_FromFormat("%U.%U", base, name);
  Py_DECREF(base);
  return trace_keep(t, full);
}

/* A name that a package lacks may be a module of it, which the import would load. */
static bool import_loads_more(value *module, value *names) {
  PyObject *dict = value_is_const(module) && PyModule_Check(module->object)
                       ? PyModule_GetDict(module->object)
                       : NULL;
  if (!dict || !value_is_tuple(names) || !PyDict_GetItemString(dict, "__path__")) return false;
  for (Py_ssize_t i = 0; i < names->seq.count; i++) {
    PyObject *name = value_str_object(names->seq.items[i]);
    if (!name || !PyDict_Contains(dict, name)) return true;
  }
  return false;
}

step step_IMPORT_NAME(tracer *t, frame *f, const loom_instr *in) {
  value *from = frame_pop(f), *level = frame_pop(f);
  PyObject *names = f->code->object->co_names,
           *name = in->arg < PyTuple_GET_SIZE(names) ? PyTuple_GET_ITEM(names, in->arg) : NULL;
  int64_t up = 0;
  if (!name || !value_known_int(t, level, &up)) return STEP_FAIL;
  if (up > 0) name = import_absolute(t, f, name, up);
  if (!name) {
    trace_break(t, BREAK_SIDE_EFFECT, "a relative import");
    return STEP_FAIL;
  }
  value *module = import_loaded(t, name);
  if (module && import_loads_more(module, from)) {
    trace_break(t, BREAK_SIDE_EFFECT, "an import of a module of a package");
    return STEP_FAIL;
  }
  Py_ssize_t dot = PyUnicode_FindChar(name, '.', 0, PyUnicode_GET_LENGTH(name), 1);
  if (!module || dot < 0 || trace_truth(t, from) || up > 0) return frame_result(f, module);
  PyObject *first = trace_keep(t, PyUnicode_Substring(name, 0, dot));
  return first ? frame_result(f, import_loaded(t, first)) : STEP_FAIL;
}

step step_IMPORT_FROM(tracer *t, frame *f, const loom_instr *in) {
  PyObject *names = f->code->object->co_names,
           *name = in->arg < PyTuple_GET_SIZE(names) ? PyTuple_GET_ITEM(names, in->arg) : NULL;
  value *module = frame_peek(f, 1);
  if (!name) return STEP_FAIL;
  return frame_result(f, trace_get_attr(t, module, name));
}
