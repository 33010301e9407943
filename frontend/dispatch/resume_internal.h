/* Going on behind a break: parts of functions, functions that are called, generators, interrupts.
 */
#ifndef LOOM_FRONTEND_DISPATCH_RESUME_INTERNAL_H
#define LOOM_FRONTEND_DISPATCH_RESUME_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/run/run.h"

/* ---- interrupt.c: delivering an interrupt to the function's own handlers ---- */

/* While a watch is open, the next plain run of the function raises the exception that was pending
 * when it comes to one of its protected lines. */
typedef struct interrupt_watch {
  PyObject *code, *type, *raised, *traceback; /* owned */
  PyFrameObject *frame;                       /* of the function: borrowed, it runs */
  int32_t begin, end;                         /* the protected lines, in bytes of co_code */
  uint64_t busy_late, late; /* when the exception is raised wherever the function is */
  bool done, calls; /* done: it has been raised; calls: the lines are those of called functions */
  struct interrupt_watch *outer;
} interrupt_watch;

/* Takes over the pending exception of a call with these arguments. False, with the exception still
 * pending: it has to leave the call. */
bool interrupt_open(interrupt_watch *w, PyFunctionObject *function, PyObject *const *args,
                    Py_ssize_t count);
PyObject *interrupt_close(interrupt_watch *w, PyObject *result); /* the result of the call */
/* Calls the plain function with the pending exception taken over. */
PyObject *interrupt_pass(const callable *c, PyObject *const *args, size_t flags, PyObject *kwnames);

/* ---- hook.c: compiling functions that running code calls ---- */

void hook_open(hook_scope *scope, callable *owner, const PyObject *code);
void hook_close(const hook_scope *scope);
/* The function that the user has asked to compile, on whose behalf others are called now; or NULL.
 */
callable *hook_asked(void);
/* Nothing is compiled until hook_close(), for instance during a host call, whose code belongs to
 * the library or stands in for a function of the user. False: nothing would have been compiled, and
 * there is nothing to close. */
bool hook_pause(hook_scope *scope);
/* The innermost open scope of this thread, or NULL. */
extern _Thread_local hook_scope *hook_scope_now __attribute__((tls_model("initial-exec")));
extern uint64_t hook_callees;        /* how many frames have been handed to a callable so far */
void hook_forget(const callable *c); /* the callable is about to be freed */
/* The hook leaves frames of code `twin` alone: this code asks for the compiled parts of `code` by
 * itself. `twin` lives as long as `code`. */
void hook_bar(PyCodeObject *twin, PyCodeObject *code);
void hook_reset(const callable *c); /* forgets what was learnt of the callable */

/* ---- resume.c: going on behind a break ---- */

/* Runs a version that ends in front of an instruction, and what comes after it. Like entry_run().
 */
PyObject *resume_run(callable *c, entry *e, PyObject *const *args, const int64_t *symbols,
                     bool *fallback);
/* Where the captures of a part start; NULL: at the function's beginning. */
const frame_shape *resume_start(const callable *c);
/* May a capture that broke for this reason end before the instruction that broke? */
bool resume_is_possible(const callable *c, const break_info *why);
void resume_point_free(resume_point *point);
/* The part that starts at this place: a new reference. NULL: there are too many, or an exception is
 * set. */
callable *resume_part(callable *owner, PyObject *code, const frame_shape *at);
/* Moves the items of a tuple that nobody else has into the slots that are `present`, in order. */
void resume_take(PyObject **items, PyObject *tuple, Py_ssize_t count, const slot_set *present);

/* ---- generator.c: generators whose work between yields is compiled ---- */

/* Is this the code of a generator function, whose parts can be compiled? */
bool generator_is_code(const PyObject *code);
/* The vectorcall function of the callable of a generator function. */
PyObject *generator_vectorcall(PyObject *self, PyObject *const *args, size_t flags,
                               PyObject *kwnames);
/* The generator for a frame of a generator function that is about to start and holds its arguments.
 * `c`: the shared callable for its code. NULL without an exception: a plain generator is to be
 * made. */
PyObject *generator_call_frame(callable *c, PyFunctionObject *function, PyObject *const *slots);

#endif
