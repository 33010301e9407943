/* An interrupt while a function is captured, or during a long plan, for the function's own
 * handlers.
 *
 * An exception of a signal handler ends the capture, or the plan before anything has been written.
 * At that point the function has just begun for Python, and an exception there meets none of its
 * handlers. But a user who wraps a long loop in `try: ... except KeyboardInterrupt:`, or in a
 * `with`, expects it there. So the plain function runs up to its first protected lines (those with
 * a loop, if there are any). The exception is raised there, as if the signal had come when the loop
 * began. The code before these lines has its effects once, since nothing had any effect yet. If
 * that takes long, or the lines are not reached, the exception is raised wherever the function is.
 * Without protected lines, those of functions that it calls count; without any, it is raised at the
 * function's first line. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/guard.h"
#include "frontend/captured/objects.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"

#include <frameobject.h>
#include <time.h>

/* For what stands in front of the protected lines: of the thread's own time, and of the clock's. */
#define WATCH_BUSY_NS 100000000
#define WATCH_NS 1000000000

static _Thread_local interrupt_watch *watch_now;

/* Is there a jump backwards between two instructions? */
static bool watch_has_loop(const loom_code *code, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end && i < code->count; i++)
    if (code->instrs[i].target >= 0 && code->instrs[i].target <= i) return true;
  return false;
}

/* The first protected lines that have a loop, else the first ones; false: there are none. */
static bool watch_find(interrupt_watch *w, PyCodeObject *object) {
  loom_arena arena = {0};
  loom_error err = {0};
  const loom_handler *found = NULL;
  bool any = PyBytes_GET_SIZE(object->co_exceptiontable) > 0;
  const loom_code *code = any ? loom_decode(object, &arena, &err) : NULL;
  for (int32_t i = 0; code && i < code->handler_count; i++) {
    const loom_handler *h = &code->handlers[i];
    if (watch_has_loop(code, h->begin, h->end)) {
      found = h;
      break;
    }
    if (!found) found = h;
  }
  if (found) {
    w->begin = code->instrs[found->begin].unit * 2;
    w->end = found->end < code->count ? code->instrs[found->end].unit * 2 : INT32_MAX;
  }
  loom_arena_fini(&arena);
  return found != NULL;
}

#define WATCH_CALLS 3      /* calls within each other that are followed */
#define WATCH_CHAIN 2      /* attributes of attributes */
#define WATCH_LOOKUPS 2000 /* in all: what is not found by then is not there */

/* What a function can get at by name: its globals, the variables around it, its arguments, their
 * defaults, and attributes of these. */
typedef struct watch_search {
  PyObject *names; /* of one function: borrowed */
  int *lookups, depth;
} watch_search;

static bool watch_names(PyFunctionObject *f, PyObject *const *args, Py_ssize_t count, int *lookups,
                        int depth);

/* The function behind what is called, a new reference: also behind a method, a property and a
 * compiled one. */
static PyObject *watch_function(PyObject *object) {
  if (PyMethod_Check(object)) return watch_function(PyMethod_GET_FUNCTION(object));
  if (Py_IS_TYPE(object, &loom_callable_type))
    return Py_XNewRef((PyObject *)((callable *)object)->function);
  if (PyType_Check(object)) {
    static PyObject *name;
    if (!name && !(name = PyUnicode_InternFromString("__init__"))) return error_drop(), NULL;
    PyObject *init = _PyType_Lookup((PyTypeObject *)object, name);
    return init && PyFunction_Check(init) ? Py_NewRef(init) : NULL;
  }
  const char *inner = Py_IS_TYPE(object, &PyProperty_Type) ? "fget" : NULL;
  if (Py_IS_TYPE(object, &PyStaticMethod_Type) || Py_IS_TYPE(object, &PyClassMethod_Type))
    inner = "__func__";
  if (!inner) return PyFunction_Check(object) ? Py_NewRef(object) : NULL;
  PyObject *item = PyObject_GetAttrString(object, inner);
  if (!item) error_drop();
  PyObject *found = item ? watch_function(item) : NULL;
  Py_XDECREF(item);
  return found;
}

/* Does what is called have protected lines, or call what has some? `self`: what it was found at. */
static bool watch_protects(PyObject *object, PyObject *self, int *lookups, int depth) {
  PyFunctionObject *f = (PyFunctionObject *)watch_function(object);
  if (!f) return false;
  PyCodeObject *code = (PyCodeObject *)f->func_code;
  PyObject *args[1] = {PyMethod_Check(object) ? PyMethod_GET_SELF(object) : self};
  bool found = !loom_code_is_library(code, f->func_globals) &&
               (PyBytes_GET_SIZE(code->co_exceptiontable) > 0 ||
                (depth > 0 && watch_names(f, args, args[0] != NULL, lookups, depth - 1)));
  Py_DECREF(f);
  return found;
}

static bool watch_base(const watch_search *s, PyObject *base, int chain);

static bool watch_attribute(const watch_search *s, PyObject *base, PyObject *name, int chain) {
  PyObject *item = source_attribute(base, name);
  if (!item && !PyModule_Check(base)) item = Py_XNewRef(_PyType_Lookup(Py_TYPE(base), name));
  bool found =
      item && (watch_protects(item, PyModule_Check(base) ? NULL : base, s->lookups, s->depth) ||
               (chain > 1 && watch_base(s, item, chain - 1)));
  Py_XDECREF(item);
  return found;
}

/* Finds the object that is called: by its name (`model(x)`), or by an attribute. */
static bool watch_base(const watch_search *s, PyObject *base, int chain) {
  static PyObject *call;
  if (!base || (!call && !(call = PyUnicode_InternFromString("__call__")))) return false;
  PyObject *own = _PyType_Lookup(Py_TYPE(base), call);
  if (watch_protects(base, NULL, s->lookups, s->depth) ||
      (own && watch_protects(own, base, s->lookups, s->depth)))
    return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(s->names); i++)
    if (--*s->lookups < 0 || watch_attribute(s, base, PyTuple_GET_ITEM(s->names, i), chain))
      return *s->lookups >= 0;
  return false;
}

static bool watch_names(PyFunctionObject *f, PyObject *const *args, Py_ssize_t count, int *lookups,
                        int depth) {
  PyObject *names = ((PyCodeObject *)f->func_code)->co_names;
  watch_search s = {names, lookups, depth};
  Py_ssize_t cells = f->func_closure ? PyTuple_GET_SIZE(f->func_closure) : 0;
  for (Py_ssize_t i = 0; i < count; i++)
    if (watch_base(&s, args[i], WATCH_CHAIN)) return true;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); i++) {
    PyObject *base = PyDict_GetItem(f->func_globals, PyTuple_GET_ITEM(names, i));
    if (watch_base(&s, base, WATCH_CHAIN)) return true;
  }
  Py_ssize_t defaults = f->func_defaults ? PyTuple_GET_SIZE(f->func_defaults) : 0;
  for (Py_ssize_t i = 0; i < defaults; i++)
    if (watch_base(&s, PyTuple_GET_ITEM(f->func_defaults, i), WATCH_CHAIN)) return true;
  for (Py_ssize_t i = 0; i < cells; i++)
    if (watch_base(&s, PyCell_GET(PyTuple_GET_ITEM(f->func_closure, i)), WATCH_CHAIN)) return true;
  return false;
}

static bool watch_calls(PyFunctionObject *f, PyObject *const *args, Py_ssize_t count) {
  int lookups = WATCH_LOOKUPS;
  return watch_names(f, args, count, &lookups, WATCH_CALLS);
}

/* Does the line begin in the frame whose protected lines are watched? Where functions called by the
 * watched one count, their frames do as well. */
static bool watch_takes(interrupt_watch *w, PyFrameObject *frame) {
  if (!w->calls) return frame == w->frame;
  PyCodeObject *code = PyFrame_GetCode(frame);
  PyObject *globals = PyFrame_GetGlobals(frame);
  bool takes = !loom_code_is_library(code, globals) && watch_find(w, code);
  Py_DECREF(globals);
  Py_DECREF(code);
  return takes;
}

static bool watch_is_there(interrupt_watch *w, PyFrameObject *frame) {
  int at = PyFrame_GetLasti(frame);
  return (watch_takes(w, frame) && at >= w->begin && at < w->end) ||
         loom_busy_ns() > w->busy_late || loom_clock_ns() > w->late;
}

/* Called by the interpreter, as a tracer is. */
static int watch_event(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg) {
  interrupt_watch *w = watch_now;
  if (!w) return 0;
  if (what == PyTrace_CALL && !w->frame) {
    PyCodeObject *code = PyFrame_GetCode(frame);
    if ((PyObject *)code == w->code) w->frame = frame;
    Py_DECREF(code);
  }
  if (what != PyTrace_LINE || !watch_is_there(w, frame)) return 0;
  w->done = true;
  PyEval_SetTrace(NULL, NULL);
  PyErr_Restore(w->type, w->raised, w->traceback);
  return -1;
}

/* The function has come to its end first: the exception comes out of the call, behind another one
 * that came out of it. */
static PyObject *watch_missed(interrupt_watch *w, PyObject *result) {
  PyObject *type, *other, *traceback;
  Py_XDECREF(result);
  PyErr_Fetch(&type, &other, &traceback);
  if (other) {
    PyErr_NormalizeException(&type, &other, &traceback);
    PyErr_NormalizeException(&w->type, &w->raised, &w->traceback);
    if (w->raised && other != w->raised) PyException_SetContext(w->raised, Py_NewRef(other));
  }
  Py_XDECREF(type);
  Py_XDECREF(other);
  Py_XDECREF(traceback);
  PyErr_Restore(w->type, w->raised, w->traceback);
  return NULL;
}

bool interrupt_open(interrupt_watch *w, PyFunctionObject *function, PyObject *const *args,
                    Py_ssize_t count) {
  const int lazy = CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR;
  PyCodeObject *code = (PyCodeObject *)function->func_code;
  if (python_is_traced() || code->co_flags & lazy) return false;
  *w = (interrupt_watch){.code = Py_NewRef((PyObject *)code), .end = INT32_MAX, .outer = watch_now};
  PyErr_Fetch(&w->type, &w->raised, &w->traceback);
  w->calls = !watch_find(w, code) && watch_calls(function, args, count);
  w->busy_late = loom_busy_ns() + WATCH_BUSY_NS;
  w->late = loom_clock_ns() + WATCH_NS;
  watch_now = w;
  PyEval_SetTrace(watch_event, NULL);
  return true;
}

PyObject *interrupt_close(interrupt_watch *w, PyObject *result) {
  watch_now = w->outer;
  if (!w->done) {
    if (_PyThreadState_UncheckedGet()->c_tracefunc == watch_event) PyEval_SetTrace(NULL, NULL);
    result = watch_missed(w, result);
  }
  Py_DECREF(w->code);
  return result;
}

PyObject *interrupt_pass(const callable *c, PyObject *const *args, size_t flags,
                         PyObject *kwnames) {
  interrupt_watch w;
  Py_ssize_t count = PyVectorcall_NARGS(flags) + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0);
  if (!interrupt_open(&w, c->function, args, count)) return NULL;
  return interrupt_close(&w, callable_call_plain(c, args, flags, kwnames));
}
