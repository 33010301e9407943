/* What is read of the interpreter's own frames, which no public header describes: for CPython 3.11.
 */
#include "frontend/resume.h"

/* The first fields of _PyInterpreterFrame. */
typedef struct interpreter_frame {
  PyFunctionObject *function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject *code;
  PyFrameObject *object; /* once somebody has asked for it */
  struct _PyInterpreterFrame *previous;
  void *at;
  int stack;
  bool entered;
  char owner;
  PyObject *slots[1];
} interpreter_frame;

static const interpreter_frame *frame_mirror(const struct _PyInterpreterFrame *f) {
  return (const interpreter_frame *)f;
}

PyCodeObject *frame_code(const struct _PyInterpreterFrame *f) { return frame_mirror(f)->code; }

PyFunctionObject *frame_function(const struct _PyInterpreterFrame *f) {
  PyObject *function = (PyObject *)frame_mirror(f)->function;
  return function && PyFunction_Check(function) ? (PyFunctionObject *)function : NULL;
}

PyObject **frame_slots(struct _PyInterpreterFrame *f) { return ((interpreter_frame *)f)->slots; }

static const interpreter_frame *frame_now(void) {
  const PyThreadState *state = _PyThreadState_UncheckedGet();
  return (const interpreter_frame *)state->cframe->current_frame;
}

bool frame_is_seen(void) {
  const interpreter_frame *f = frame_now();
  return f && f->object && Py_REFCNT(f->object) > 1;
}

/* Does the traceback come to the frame of `at` before? */
static bool frame_came_before(const PyTracebackObject *first, const PyTracebackObject *at) {
  for (; first != at; first = first->tb_next)
    if (first->tb_frame == at->tb_frame) return true;
  return false;
}

#define FRAME_TRACEBACK 64 /* entries that are looked at */

/* References to the frame that a traceback holds: by its entries, and as the caller of frames of
 * such entries that have ended. */
static Py_ssize_t frame_references(const interpreter_frame *f, const PyTracebackObject *first) {
  Py_ssize_t count = 0, length = 0;
  for (const PyTracebackObject *at = first; at && length++ < FRAME_TRACEBACK; at = at->tb_next) {
    PyFrameObject *back = at->tb_frame == f->object ? NULL : PyFrame_GetBack(at->tb_frame);
    count += at->tb_frame == f->object || (back == f->object && !frame_came_before(first, at));
    Py_XDECREF(back);
  }
  return count;
}

bool frame_is_seen_beside(PyObject *exception) {
  const interpreter_frame *f = frame_now();
  if (!f || !f->object) return false;
  PyObject *traceback = PyException_GetTraceback(exception);
  Py_ssize_t known = 1 + frame_references(f, (PyTracebackObject *)traceback);
  Py_XDECREF(traceback);
  return Py_REFCNT(f->object) > known;
}
