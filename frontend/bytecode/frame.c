/* The interpreter's own frames: their code, function and locals, and how one is left without being
 * evaluated. frames_agree() checks that their fields are as python.h says. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/bytecode/internal.h"

PyCodeObject *frame_code(const struct _PyInterpreterFrame *f) {
  return (PyCodeObject *)((const python_frame *)f)->code;
}

PyFunctionObject *frame_function(const struct _PyInterpreterFrame *f) {
  PyObject *function = (PyObject *)((const python_frame *)f)->function;
  return function && PyFunction_Check(function) ? (PyFunctionObject *)function : NULL;
}

PyObject **frame_slots(struct _PyInterpreterFrame *f) { return ((python_frame *)f)->slots; }

/* Where there is no hook, a frame takes over the arguments that its caller has on the stack; under
 * one the interpreter gives it references of its own, and drops the caller's behind the call. With
 * None in their places objects have as many references as they have otherwise, and die when they
 * do. */
void frame_give_arguments(struct _PyInterpreterFrame *f, const PyObject *code, call_place call) {
  python_frame *to = (python_frame *)f, *from = (python_frame *)python_frame_now();
  if (!from || (const PyObject *)from->code != code) return;
  PyObject **taken = from->slots + call.begin, **end = from->slots + call.end;
#if LOOM_PYTHON >= 313
  PyObject *callee = taken[0], **first = taken[1] ? taken + 1 : taken + 2;
#else
  PyObject *callee = taken[0] ? taken[0] : taken[1], **first = taken[0] ? taken + 1 : taken + 2;
#endif
  const PyCodeObject *own = (const PyCodeObject *)to->code;
  if (callee != (PyObject *)to->function) return;
  for (int i = 0; i < own->co_argcount && first + i < end; i++) {
    if (!to->slots[i] || first[i] != to->slots[i]) return;
    first[i] = Py_NewRef(Py_None);
    Py_DECREF(to->slots[i]);
  }
}

#define FRAME_OF_GENERATOR 1 /* _frameowner */
#define FRAME_OF_OBJECT 2    /* it has ended, and its object has what is left of it */

bool frame_is_generators(const struct _PyInterpreterFrame *f) {
  return ((const python_frame *)f)->owner == FRAME_OF_GENERATOR;
}

bool frame_is_seen(void) {
  const python_frame *f = python_frame_now();
  return f && f->object && Py_REFCNT(f->object) > 1;
}

#if LOOM_PYTHON >= 312

/* Ends a frame that was taken over from the interpreter. From 3.12 on the evaluator of a frame also
 * drops it, by functions that CPython does not export. So the interpreter evaluates the frame, with
 * code that only returns. */
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

/* The frame of a frame object. */
static python_frame *frame_of(const PyFrameObject *object) {
  typedef struct frame_object { /* its first fields */
    PyObject_HEAD PyFrameObject *back;
    python_frame *frame;
  } frame_object;
  return ((const frame_object *)object)->frame;
}

PyObject *frame_left_by(PyObject *exception, const PyObject *code) {
  PyObject *traceback = PyException_GetTraceback(exception), *found = NULL;
  PyFrameObject *first = traceback ? ((PyTracebackObject *)traceback)->tb_frame : NULL;
  const python_frame *f = first ? frame_of(first) : NULL;
  if (f && f->owner == FRAME_OF_OBJECT && (const PyObject *)f->code == code)
    found = Py_NewRef((PyObject *)first);
  Py_XDECREF(traceback);
  return found;
}

bool frame_bind(PyObject *object, PyObject *const *locals, Py_ssize_t count) {
  python_frame *f = frame_of((PyFrameObject *)object);
  if (Py_REFCNT(object) == 1) return false;
  for (Py_ssize_t i = 0; i < count && f->stack >= count; i++) /* else it was cleared */
    if (f->slots[i] != locals[i]) Py_XSETREF(f->slots[i], Py_XNewRef(locals[i]));
  return true;
}

/* ---- are the mirrors right? ---------------------------------------------------------------------
 *
 * The fields above are nobody's promise: another release of a version that is known may have them
 * elsewhere. So they are compared once with what the public functions say. */

static bool probe_agrees;

/* A frame that runs, seen from a C function that it calls with its first local. */
static bool probe_running(const python_frame *f, PyObject *local) {
  PyFrameObject *object = PyEval_GetFrame(), *back = object ? PyFrame_GetBack(object) : NULL;
  PyCodeObject *code = object ? PyFrame_GetCode(object) : NULL;
  bool good =
      f && object && f->code == (void *)code && f->object == object && frame_of(object) == f &&
      f->globals == PyEval_GetGlobals() && f->builtins == PyEval_GetBuiltins() &&
      f->slots[0] == local &&
      (const char *)f->at - (const char *)code->co_code_adaptive == PyFrame_GetLasti(object);
  const python_frame *previous = good ? f->previous : NULL;
  while (good && back && previous && previous->object != back)
    previous = previous->previous;
  good = good && (!back || previous);
  Py_XDECREF(back);
  Py_XDECREF(code);
  return good;
}

PyObject *loom_py_frame_probe(PyObject *module, PyObject *local) {
  return PyBool_FromLong(probe_running(python_frame_now(), local));
}

static PyObject *probe_function;

/* A frame that is about to start. */
static PyObject *probe_evaluate(PyThreadState *state, struct _PyInterpreterFrame *frame,
                                int thrown) {
  const python_frame *f = (const python_frame *)frame;
  const PyFunctionObject *function = (const PyFunctionObject *)f->function;
  const PyCodeObject *code = (const PyCodeObject *)PyFunction_GET_CODE(probe_function);
  if ((const PyObject *)function == probe_function && f->code == (const void *)code)
    probe_agrees = (const char *)f->at == code->co_code_adaptive - PYTHON_FRAME_STARTS_BEFORE &&
                   f->slots[0] == Py_Ellipsis && !f->slots[1];
  return _PyEval_EvalFrameDefault(state, frame, thrown);
}

PyObject *loom_py_frames_agree(PyObject *module, PyObject *function) {
  if (!PyFunction_Check(function)) return PyErr_Format(PyExc_TypeError, "a function is expected");
  PyInterpreterState *interpreter = PyInterpreterState_Get();
  frame_evaluator *before = _PyInterpreterState_GetEvalFrameFunc(interpreter);
  probe_function = function;
  probe_agrees = false;
  _PyInterpreterState_SetEvalFrameFunc(interpreter, probe_evaluate);
  PyObject *args[] = {Py_Ellipsis}, *result = PyObject_Vectorcall(function, args, 1, NULL);
  _PyInterpreterState_SetEvalFrameFunc(interpreter, before);
  probe_agrees = probe_agrees && result == Py_True;
  Py_XDECREF(result);
  return result ? PyBool_FromLong(probe_agrees) : NULL;
}
