/* An interrupt during a long plan, for the function's own handlers.
 *
 * What a signal handler raises ends the plan before anything has been written. For Python the
 * function has just begun, and an exception there meets none of its handlers; but whoever wraps a
 * long loop in `try: ... except KeyboardInterrupt:`, or in a `with`, is to see it there. So the
 * plain function runs up to its first protected lines (those with a loop, where there are such),
 * where the exception is raised: as if the signal had come when the loop began. What stands in
 * front of these lines has its effects once, since the plan had none. Should it take long, or not
 * come there, the exception is raised where the function is. */
#include "frontend/callable.h"
#include "frontend/value/value.h"

#include <frameobject.h>

#define WATCH_NS 100000000 /* for what stands in front of the protected lines */

typedef struct watch {
  PyObject *code, *type, *raised, *traceback;
  PyFrameObject *frame; /* of the function: borrowed, it runs */
  int32_t begin, end;   /* in bytes of co_code */
  uint64_t late;
  bool done;
  struct watch *outer;
} watch;

static _Thread_local watch *watch_now;

static bool watch_is_there(const watch *w, PyFrameObject *frame) {
  int at = PyFrame_GetLasti(frame);
  return (frame == w->frame && at >= w->begin && at < w->end) || loom_clock_ns() > w->late;
}

/* Called by the interpreter, as a tracer is. */
static int watch_event(PyObject *unused, PyFrameObject *frame, int what, PyObject *arg) {
  watch *w = watch_now;
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

/* Is there a jump backwards between two instructions? */
static bool watch_has_loop(const loom_code *code, int32_t begin, int32_t end) {
  for (int32_t i = begin; i < end && i < code->count; i++)
    if (code->instrs[i].target >= 0 && code->instrs[i].target <= i) return true;
  return false;
}

/* The first protected lines that have a loop, else the first ones; false: there are none. */
static bool watch_find(watch *w) {
  loom_arena arena = {0};
  loom_error err = {{0}};
  const loom_handler *found = NULL;
  const loom_code *code = loom_decode((PyCodeObject *)w->code, &arena, &err);
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

/* The function has come to its end first: the exception comes out of the call, behind another one
 * that came out of it. */
static PyObject *watch_missed(watch *w, PyObject *result) {
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

PyObject *interrupt_pass(const callable *c, PyObject *const *args, size_t flags,
                         PyObject *kwnames) {
  watch w = {.code = c->function->func_code, .outer = watch_now};
  if (python_is_traced() || !watch_find(&w)) return NULL;
  PyErr_Fetch(&w.type, &w.raised, &w.traceback);
  w.late = loom_clock_ns() + WATCH_NS;
  Py_INCREF(w.code);
  watch_now = &w;
  PyEval_SetTrace(watch_event, NULL);
  PyObject *result = callable_call_plain(c, args, flags, kwnames);
  watch_now = w.outer;
  if (!w.done) {
    PyEval_SetTrace(NULL, NULL);
    result = watch_missed(&w, result);
  }
  Py_DECREF(w.code);
  return result;
}
