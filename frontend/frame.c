/* What is read of the interpreter's own frames, which no public header describes: for CPython 3.11.
 */
#include "frontend/resume.h"

/* The first fields of _PyInterpreterFrame. */
typedef struct interpreter_frame {
  PyFunctionObject *function;
  PyObject *globals, *builtins, *locals;
  PyCodeObject *code;
  PyFrameObject *object; /* once somebody has asked for it */
} interpreter_frame;

bool frame_is_seen(void) {
  const PyThreadState *state = _PyThreadState_UncheckedGet();
  const interpreter_frame *f = (const interpreter_frame *)state->cframe->current_frame;
  return f && f->object && Py_REFCNT(f->object) > 1;
}
