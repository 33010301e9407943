/* Going on behind a break: code objects that start in the middle of a function, and the loop that
 * runs captured segments and breaking instructions by turns.
 *
 * Sections by file: encode.c, handover.c, resume.c.
 */
#ifndef LOOM_FRONTEND_RESUME_H
#define LOOM_FRONTEND_RESUME_H

#include "frontend/callable.h"

struct _PyInterpreterFrame;
typedef PyObject *frame_evaluator(PyThreadState *, struct _PyInterpreterFrame *, int);

/* ---- encode.c: code objects (the version of CPython matters here) ------------------------------
 */

/* Constants of such code, by which it speaks with the driver (handover.c). */
typedef enum handover_role {
  HANDOVER_GIVE,   /* ~ of it gives the next object of the frame's state */
  HANDOVER_ENTER,  /* its truth is asked for when the state is restored: may raise */
  HANDOVER_LEAVE,  /* is true, or contains what was raised, when the frame shall go on by itself */
  HANDOVER_RESULT, /* ~ of it gives what a frame returns that was not evaluated, or raises */
  HANDOVER_EXIT0,  /* ends the tuple that a frame returns when it is left behind the instruction */
  HANDOVER_EXIT1,  /* the same, behind a jump that was taken */
  HANDOVER_EXIT2,  /* the same, in front of the handler of an exception that it raised */
  HANDOVER_ROLES
} handover_role;
PyObject *handover_constant(handover_role role); /* borrowed */

typedef struct step_code {
  PyObject *code;     /* owned */
  int32_t next[3];    /* where the function goes on behind each exit; -1: there is no such exit */
  int32_t depth[3];   /* of its stack there */
  slot_set locals[3]; /* which of its locals are bound there: none of another slot */
  int32_t place;      /* of the instruction: what the handler finds under the exception, or -1 */
  call_place call;    /* when it is a CALL */
} step_code;

/* The first code unit of the instruction that `unit` belongs to: with its prefixes, and with what a
 * call is preceded by; of what an unconditional jump leads to. -1: there is none. */
int32_t encode_begin(PyCodeObject *code, int32_t unit);
/* Code that takes over a frame's state in front of the instruction at `at->unit`. With `whole` the
 * function goes on to its end; else one instruction is run, and the frame is left by an exit. False
 * without an exception when this cannot be done there. */
bool encode_step(PyCodeObject *code, const frame_shape *at, bool whole, step_code *out);
/* Code that returns HANDOVER_RESULT's, for a frame of `code`. NULL with an exception. */
PyObject *encode_leave(PyCodeObject *code);

/* ---- frame.c: the interpreter's frames (the version of CPython matters here)
 * --------------------- */

/* What a function given to the interpreter's hook returns for a frame that it has not evaluated:
 * `result`, or NULL with an exception. `leave` is the frame's code's (see encode_leave). */
PyObject *frame_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *leave,
                      PyObject *result);
PyCodeObject *frame_code(const struct _PyInterpreterFrame *f);         /* borrowed */
PyFunctionObject *frame_function(const struct _PyInterpreterFrame *f); /* borrowed; NULL: none */
PyObject **frame_slots(struct _PyInterpreterFrame *f); /* its locals: the arguments come first */
/* The frame that runs now, if it is one of `code`, is in a CALL: if that calls the function of `f`,
 * whose frame has its arguments, it keeps none of them. */
void frame_give_arguments(struct _PyInterpreterFrame *f, const PyObject *code, call_place call);
bool frame_is_generators(
    const struct _PyInterpreterFrame *f); /* is it a generator's own, that goes on? */
/* frames_agree(function) -> are the interpreter's frames as python.h says? The function has one
 * argument and one more local, and returns frame_probe(argument), with nothing bound to the local.
 * METH_O. */
PyObject *loom_py_frames_agree(PyObject *module, PyObject *function);
PyObject *loom_py_frame_probe(PyObject *module, PyObject *local);
/* Does somebody hold the frame object of the frame that runs now? */
bool frame_is_seen(void);
/* The same, but for the traceback of an exception. */
bool frame_is_seen_beside(PyObject *exception);
/* The frame object of `code` that was left with this exception: a new reference, or NULL. */
PyObject *frame_left_by(PyObject *exception, const PyObject *code);
/* What is bound in a frame that was left, from now on. False: nobody else has it any more. */
bool frame_bind(PyObject *object, PyObject *const *locals, Py_ssize_t count);

/* ---- handover.c --------------------------------------------------------------------------------
 */

/* What a frame's locals and stack hold, by slot: owned, NULL where nothing is. */
typedef struct frame_state {
  PyObject *items[CALLABLE_MAX_SLOTS];
  Py_ssize_t count;
} frame_state;
void frame_state_clear(frame_state *s);

/* Calls a function made of a step's code: the frame takes over the state, and raises a pending
 * exception. `args` are those that its code has to be given. */
PyObject *handover_call(PyObject *function, frame_state *s, PyObject *const *args, size_t count,
                        PyObject *kwnames);
/* What HANDOVER_RESULT gives: evaluates a frame that asks for it. Takes `result`; NULL: the
 * exception that is set. */
PyObject *handover_leave(PyThreadState *state, struct _PyInterpreterFrame *f, PyObject *result);
/* Which exit a result was left by, or -1: it is the function's own. */
int handover_exit(PyObject *result);

/* ---- resume.c ----------------------------------------------------------------------------------
 */

/* The part that starts there: a new reference, or NULL: there are too many, or an exception. */
callable *resume_part(callable *owner, PyObject *code, const frame_shape *at);
/* Moves the items of a tuple that nobody else has into the slots that are `present`, in order. */
void resume_take(PyObject **items, PyObject *tuple, Py_ssize_t count, const slot_set *present);

#endif
