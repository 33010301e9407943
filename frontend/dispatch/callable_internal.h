/* The callable that stands in for a function, and how a call finds a version. */
#ifndef LOOM_FRONTEND_DISPATCH_CALLABLE_INTERNAL_H
#define LOOM_FRONTEND_DISPATCH_CALLABLE_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/parts_internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

struct callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyFunctionObject *function;
  PyObject *code; /* owned: that of `function` for which the counts below hold */
  Py_ssize_t
      simple; /* positional arguments when a call may pass them straight on; -1: always bind */
  Py_ssize_t slots;
  entry_list *entries; /* owned; NULL: none */
  PyObject *weakrefs;
  callable_counts counts;
  callable_options options;
  callable_duty duty;
  callable_links links;
  callable_place place;
  resume_table resumes;
  callable_numbers numbers;
  callable_turns turns;
  callable_making builds;
  weighing weighing;
  report report; /* for people: report.c */
};

typedef struct binding {
  PyObject *slots[LOOM_MAX_SLOTS]; /* `count` of them owned */
  Py_ssize_t count;
  PyObject *varargs, *varkw; /* owned or NULL */
} binding;

/* While one is open, calls of `who` in this thread that no version fits are not captured. */
typedef struct plain_frame {
  const callable *who;
  struct plain_frame *outer;
} plain_frame;

/* ---- callable.c: the object that is called ---- */

extern PyTypeObject loom_callable_type;
/* A callable for the part of `owner`'s function that starts at `point`. `code` is the code object
 * of that function. The callable takes over `point`. */
callable *callable_part(callable *owner, resume_point *point, PyObject *code);
/* A callable that is shared by all functions with the code of `function`, for calls that compiled
 * code of `owner` makes. It has the options of `owner`. */
callable *callable_shared(const callable *owner, PyObject *function);
/* The function that is being called. A shared callable has the function that the current call began
 * with. */
PyFunctionObject *callable_function(const callable *c);
/* Runs a shared callable with the arguments at the start of a frame of `function`. The arguments
 * are taken out of `slots` once the frame itself will not need them any more. *useful: an array
 * operation was compiled. NULL with *plain set: the frame has to be evaluated. */
PyObject *callable_call_frame(callable *c, PyFunctionObject *function, PyObject **slots,
                              bool *plain, bool *useful);
/* The user has replaced the function's code: drops what was derived from the old code. */
bool callable_refresh(callable *c);
bool callable_is_off(void); /* is nothing compiled now in this thread? */
/* The version whose guards hold, or a version that is built now: a new reference. NULL with *plain
 * set: the plain code has to run. It then also raises the pending exception of a signal handler.
 * NULL otherwise: an exception is set. */
entry *callable_entry(callable *c, PyObject *const *slots, int64_t *symbols, bool *plain);
bool callable_thread_is_traced(void);
/* callable_call_plain(): calls the plain function. callable_call_uncompiled(): the same in place of
 * a call that was to be compiled. */
PyObject *callable_call_plain(const callable *c, PyObject *const *args, size_t flags,
                              PyObject *kwnames);
PyObject *callable_call_uncompiled(callable *c, PyObject *const *args, size_t flags,
                                   PyObject *kwnames);
/* To be called when a call is about to run as plain Python: its version is left to Python or on
 * trial, or there is none. `settled`: its callees are left to Python, too. After many such calls in
 * a row, most calls go to Python without a look at guards. `often`: other calls in between do not
 * end the row, they only shorten it. The result is how many calls this one stands for. */
uint32_t callable_let_be(callable *c, bool settled, bool often);
bool callable_is_let_be(const callable *c);
void callable_look_at(callable *c); /* from here on its calls look at guards again */
void plain_frame_open(plain_frame *frame, const callable *c);
void plain_frame_close(const plain_frame *frame);

/* ---- stack.c: how much of the C stack is left ---- */

/* The end of this thread's C stack, less a sixteenth that is left for callees; NULL: not known yet.
 */
extern _Thread_local char *stack_end __attribute__((tls_model("initial-exec")));
size_t callable_stack_left(void); /* bytes of the thread's C stack */
/* Is enough of the C stack left? If not, sets RecursionError. */
bool callable_stack_check(const callable *c);
/* Lets calls through a callable nest deeper where the C stack has room. From 3.12 on CPython counts
 * them up to a low number, while plain Python calls do not count. The result is to be passed to
 * python_recursion_take_back() when the call has returned. */
int callable_go_deeper(void);

/* ---- options.c: how the function is to be compiled ---- */

/* The arguments of compile() that make another callable like this one, as a new dict. */
PyObject *callable_get_options(PyObject *self, PyObject *unused);

/* ---- stance.c: may this call be compiled? ---- */

void loom_stance_refresh(void);                       /* config.disable may have changed */
vectorcallfunc stance_vectorcall(callable_role role); /* of all roles but ROLE_COMPILE */
/* May this call, which no version fits, be compiled? False with an exception: the stance or a
 * setting makes it an error. */
bool stance_allows(const callable *c, PyObject *const *slots);

/* ---- bind.c: arguments to slots ---- */

/* Positional, keyword, default and variadic arguments as Python binds them. False without an
 * exception when they do not fit (the plain function then says why), or with one (MemoryError). */
bool bind_arguments(const callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                    binding *out);
void binding_fini(binding *b);

/* ---- bury.c: versions of which something that they guard has died ---- */

/* callable_bury(): drops the dead versions. callable_bury_soon(): has the interpreter do so at its
 * next chance. */
void callable_bury(struct callable *c);
void callable_bury_soon(struct callable *home);

/* ---- miss.c: a call that no version fits ---- */

/* Captures and compiles. The result is a new reference to a version that fits these arguments. NULL
 * without an exception: the plain function has to run. NULL with an exception: GraphBreak under
 * fullgraph, MemoryError or KeyboardInterrupt. */
entry *callable_build(callable *c, PyObject *const *slots);
/* Waits while another thread builds what plain Python cannot run in its place: a derivative. Has it
 * waited? */
bool callable_wait(const callable *c);
extern uint64_t callable_builds;   /* how many captures there have been, of all functions */
void callable_forget(callable *c); /* drops all that was compiled or learnt */
/* The callable is about to die: its versions no longer report to it when an object that they guard
 * dies. */
void callable_disown(callable *c);

/* ---- dynamic.c: what a miss says of sizes ---- */

/* Finds a version that this call fails only by sizes and ints. From now on these are symbols. */
void dynamic_learn(callable *c, PyObject *const *slots);

/* ---- explain.c: reports on a callable ---- */

bool callable_record_break(callable *c, const break_info *info); /* as report_break() */
/* Why a call fits no version: recompile_why() of the newest one. NULL without an exception. */
PyObject *callable_why(const callable *c, PyObject *const *slots);
/* What `frameloom.explain` shows, as a dict. */
PyObject *callable_report(PyObject *self, PyObject *unused);
extern bool explain_measures;                /* the cost of guards of new versions is measured */
PyObject *callable_title(const callable *c); /* "step", "step from line 12": a new string */

/* ---- inline ---- */

/* The callable of the whole function, for it and for its parts. */
static inline callable *callable_whole(callable *c) { return c->place.owner ? c->place.owner : c; }

#endif
