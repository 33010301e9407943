/* What is seen of the interpreter's own frames. */
#include "frontend/python.h"
#include "frontend/resume.h"

PyCodeObject *frame_code(const struct _PyInterpreterFrame *f) {
  return (PyCodeObject *)((const python_frame *)f)->code;
}

PyFunctionObject *frame_function(const struct _PyInterpreterFrame *f) {
  PyObject *function = (PyObject *)((const python_frame *)f)->function;
  return function && PyFunction_Check(function) ? (PyFunctionObject *)function : NULL;
}

PyObject **frame_slots(struct _PyInterpreterFrame *f) { return ((python_frame *)f)->slots; }

bool frame_is_seen(void) {
  const python_frame *f = python_frame_now();
  return f && f->object && Py_REFCNT(f->object) > 1;
}

#if LOOM_PYTHON >= 312

/* From 3.12 on whoever evaluates a frame drops it too, by functions that are not exported: so the
 * interpreter evaluates it, with code that does nothing but return. */
PyObject *frame_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *leave,
                      PyObject *result) {
  python_frame *mirror = (python_frame *)f;
  PyObject *code = (PyObject *)mirror->code;
  char *first = ((PyCodeObject *)leave)->co_code_adaptive;
  mirror->code = Py_NewRef(leave);
  mirror->at = first - PYTHON_FRAME_STARTS_BEFORE;
  PyObject *got = handover_leave(state, f, result);
  Py_DECREF(code);
  return got;
}

#else

PyObject *frame_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *leave,
                      PyObject *result) {
  return result;
}

#endif

/* Does the traceback come to the frame of `at` before? */
static bool frame_came_before(const PyTracebackObject *first, const PyTracebackObject *at) {
  for (; first != at; first = first->tb_next)
    if (first->tb_frame == at->tb_frame) return true;
  return false;
}

#define FRAME_TRACEBACK 64 /* entries that are looked at */

/* References to the frame that a traceback holds: by its entries, and as the caller of frames of
 * such entries that have ended. */
static Py_ssize_t frame_references(const python_frame *f, const PyTracebackObject *first) {
  Py_ssize_t count = 0, length = 0;
  for (const PyTracebackObject *at = first; at && length++ < FRAME_TRACEBACK; at = at->tb_next) {
    PyFrameObject *back = at->tb_frame == f->object ? NULL : PyFrame_GetBack(at->tb_frame);
    count += at->tb_frame == f->object || (back == f->object && !frame_came_before(first, at));
    Py_XDECREF(back);
  }
  return count;
}

bool frame_is_seen_beside(PyObject *exception) {
  const python_frame *f = python_frame_now();
  if (!f || !f->object) return false;
  PyObject *traceback = PyException_GetTraceback(exception);
  Py_ssize_t known = 1 + frame_references(f, (PyTracebackObject *)traceback);
  Py_XDECREF(traceback);
  return Py_REFCNT(f->object) > known;
}
