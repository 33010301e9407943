/* The callable that stands in for a function, and how a call finds a version. */
#ifndef LOOM_FRONTEND_DISPATCH_CALLABLE_H
#define LOOM_FRONTEND_DISPATCH_CALLABLE_H

#include "frontend/base/base.h"
#include "frontend/base/limits.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/learnt.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

/* A signature that was not captured: not tried again on every call. */
typedef struct negative {
  Py_hash_t signature;
  uint32_t calls, attempts;
} negative;

/* What a callable does when it is called. */
typedef enum callable_role {
  ROLE_COMPILE, /* runs compiled versions of the function, and makes them */
  ROLE_DISABLE, /* the plain function; nothing below it is compiled */
  ROLE_SKIP,    /* the plain function; what it calls is as it always is */
  ROLE_RUN      /* `target`; below it compiled versions run, and none is made */
} callable_role;

typedef enum dynamic { DYNAMIC_AUTO, DYNAMIC_ALWAYS, DYNAMIC_NEVER } dynamic;
/* A place in a function where capture ended, and what runs from there on (resume.c). */
typedef struct resume_point resume_point;
/* Places of one callable. */
typedef struct resume_table {
  struct callable **points; /* owned */
  uint32_t count, capacity;
  PyObject *callees;   /* dict: code -> the callable for functions with it that the hook is given,
                          shared with those (hook.c); or NULL */
  PyObject *generator; /* of a generator function: the one that is called in its place, whose code
                          asks for parts (generator.c); or NULL */
} resume_table;

/* See weigh.c. */
typedef struct weighing {
  bool arrays;       /* some version had array operations: nothing is weighed from then on */
  bool unfit;        /* the run that is about to begin is plain for want of a version, */
  bool put_off;      /* which may be made some time */
  uint32_t calls;    /* that were put off */
  int64_t patience;  /* instructions that the next capture may take; -1: any number */
  uint64_t plain_ns; /* what those calls have taken */
  uint64_t spent_ns; /* what captures have */
} weighing;

/* What has been learnt of the numbers among the arguments. */
typedef struct callable_numbers {
  size_table sizes;  /* which sizes and ints change */
  slot_set symbolic; /* slots whose number is captured as an input */
  slot_set by_value; /* where that was tried and the value was needed */
  slot_set apart;    /* where the values needed were too many: what needs them breaks */
  PyObject *last;    /* tuple of the numbers of the last capture, to see which change; or NULL */
} callable_numbers;

/* Which calls run as plain Python (trial.c), and calls that do so whatever the arguments are. */
typedef struct callable_turns {
  uint32_t let_be, let_be_all; /* such calls still to come, and all of them */
  entry *tried;           /* the plain function is about to run in its place (owned), or NULL; */
  trial_cost tried_since; /* when its run in vain began, or 0: it has not run */
  bool clocked;           /* calls read the clock before they look for a version: */
  uint64_t found_since;   /* the last one */
  uint32_t left_row;      /* calls in a row that the version that fits left to Python */
  uint64_t left_at;       /* the number of the last of those */
  uint64_t look_at;       /* the number of hits at which trial_look() is called */
} callable_turns;

/* How versions were made, and which were not. */
typedef struct callable_making {
  long process;         /* process and */
  unsigned long thread; /* thread that is compiling a new version; 0: none */
  uint32_t captures, failures;
  uint32_t wasted; /* versions that died before they had been worth while */
  uint32_t splits; /* versions, the last of `entries`, that end before what varies without end */
  int64_t spent;   /* versions that made room (build_make_room) */
  negative negatives[CALLABLE_NEGATIVES];
  uint32_t negative_count;
} callable_making;

struct callable {
  PyObject_HEAD vectorcallfunc vectorcall;
  PyFunctionObject *function;
  PyObject *code; /* owned: that of `function` for which the counts below hold */
  Py_ssize_t
      simple; /* positional arguments when a call may pass them straight on; -1: always bind */
  Py_ssize_t slots;
  entry_list *entries; /* owned; NULL: none */
  PyObject *weakrefs;
  struct callable *next, *previous; /* of all live ones */
  backend kind;
  PyObject *user; /* BACKEND_USER: the backend (owned); else NULL */
  dynamic dynamic;
  callable_role role;
  PyObject *target; /* ROLE_RUN: what is called (owned); else NULL */
  PyObject *reason; /* why it is disabled, a str; or NULL */
  bool fullgraph, fastmath, warned;
  bool skipped; /* the function has called skip_frame() */
  bool shared;  /* for all functions with this code: `function` only names them */
  bool quiet;   /* made for a function that a compiled one calls: says nothing of its own */
  bool burying; /* callable_bury() will be called soon */
  char cpu[16];
  uint64_t hits, misses;
  resume_table resumes;
  resume_point *point;    /* of a part of a function: where it starts; else NULL */
  struct callable *owner; /* of a part: what it is a part of (borrowed) */
  callable_numbers numbers;
  callable_turns turns;
  callable_making builds;
  weighing weighing;
  report report; /* for people */
};

typedef struct binding {
  PyObject *slots[LOOM_MAX_SLOTS]; /* `count` of them owned */
  Py_ssize_t count;
  PyObject *varargs, *varkw; /* owned or NULL */
} binding;

/* While one is open, calls of `c` in this thread that no version fits are not captured. */
typedef struct plain_frame {
  const callable *who;
  struct plain_frame *outer;
} plain_frame;

/* ---- callable.c: the object that is called ---- */

extern PyTypeObject loom_callable_type;
bool loom_callable_init(PyObject *module);
PyObject *loom_py_reset(PyObject *module, PyObject *unused);
/* frameloom.graph_break(), skip_frame() and is_compiling(), as plain Python calls them (capture:
 * builtins.def). */
PyObject *loom_py_graph_break(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_skip_frame(PyObject *module, PyObject *args, PyObject *kwargs);
PyObject *loom_py_is_compiling(PyObject *module, PyObject *unused);
/* A callable for the part of `owner`'s function (with this code) that starts at `point`, which it
 * takes over. */
callable *callable_part(callable *owner, resume_point *point, PyObject *code);
/* One for the functions with this one's code that `owner`'s calls, with the same options. */
callable *callable_shared(const callable *owner, PyObject *function);
/* The function that is being called: with `shared`, the one that this call began with. */
PyFunctionObject *callable_function(const callable *c);
/* Runs a shared one with the arguments that a frame of `function` starts with, which are taken out
 * of it as soon as nothing but the compiled code can go on with them. *useful: an array operation
 * was compiled. NULL with *plain set: the frame has to be evaluated. */
PyObject *callable_call_frame(callable *c, PyFunctionObject *function, PyObject **slots,
                              bool *plain, bool *useful);
/* The user has replaced the function's code: what follows from it is found anew. */
bool callable_refresh(callable *c);
size_t callable_stack_left(void); /* bytes of the thread's C stack */
bool callable_is_off(void);       /* is nothing compiled now in this thread? */
/* The version whose guards hold, or one that is built now: new reference. NULL with *plain set: the
 * plain code has to run, and to raise a pending exception of a signal handler's; else with an
 * exception. */
entry *callable_entry(callable *c, PyObject *const *slots, int64_t *symbols, bool *plain);
bool callable_thread_is_traced(void);
/* The plain function; on behalf of a call that was not compiled. */
PyObject *callable_call_plain(const callable *c, PyObject *const *args, size_t flags,
                              PyObject *kwnames);
PyObject *callable_call_uncompiled(callable *c, PyObject *const *args, size_t flags,
                                   PyObject *kwnames);
/* The version that fits this call is left to Python (`settled`: with all that it calls) or on
 * trial, or there is none. After many such calls in a row, or (`often`) many more than others, most
 * calls do without guards. How many calls this one stands for. */
uint32_t callable_let_be(callable *c, bool settled, bool often);
bool callable_is_let_be(const callable *c);
void callable_look_at(callable *c); /* not so from here on */
bool callable_stack_check(
    const callable *c); /* else RecursionError: the C stack is nearly used up */
/* Plain Python calls need no C stack, calls through a callable do, and from 3.12 on CPython counts
 * them up to a low number: lets them go deeper where the stack has room. What it gives is for
 * python_recursion_take_back(), when the call has returned. */
int callable_go_deeper(void);
void plain_frame_open(plain_frame *frame, const callable *c);
void plain_frame_close(const plain_frame *frame);
/* All live callables, for reports over them: a new list. */
PyObject *loom_py_callables(PyObject *module, PyObject *unused);

/* ---- stance.c: may this call be compiled? ---- */

/* What the process does about functions that would have to be compiled. */
PyObject *loom_py_set_stance(PyObject *module, PyObject *name);
PyObject *loom_py_get_stance(PyObject *module, PyObject *unused);
extern bool loom_all_eager;     /* config.disable, or the stance: every function is a plain one */
void loom_stance_refresh(void); /* config.disable may have changed */
vectorcallfunc stance_vectorcall(callable_role role); /* of all roles but ROLE_COMPILE */
/* False, perhaps with an exception: this call, which no version fits, is not to be compiled. */
bool stance_allows(const callable *c, PyObject *const *slots);

/* ---- bury.c: versions of which something that they guard has died ---- */

/* Drops them; and the same when the interpreter next has the chance. */
void callable_bury(struct callable *c);
void callable_bury_soon(struct callable *home);

/* ---- bind.c: arguments to slots ---- */

/* Positional, keyword, default and variadic arguments as Python binds them. False without an
 * exception when they do not fit (the plain function then says why), or with one (MemoryError). */
bool bind_arguments(const callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                    binding *out);
void binding_fini(binding *b);

/* ---- miss.c: a call that no version fits ---- */

void callable_numbers_init(callable_numbers *n,
                           dynamic sizes); /* of one that is all zero, or fini */
void callable_numbers_fini(callable_numbers *n);

/* Captures and compiles; the new entry (new reference) fits these arguments. NULL without an
 * exception: run the plain function; with one: GraphBreak under fullgraph, MemoryError,
 * KeyboardInterrupt. */
entry *callable_build(callable *c, PyObject *const *slots);
extern uint64_t callable_builds; /* how often that has captured something, of any function */
/* Takes over the reference. It is tried before all others, or (`last`) after them. */
void callable_publish(callable *c, entry *e, bool last);
void callable_forget(callable *c); /* all that was compiled or learnt */
/* Its versions ask it for nothing from here on, whatever of what they guard dies. */
void callable_disown(callable *c);

/* ---- dynamic.c: what a miss says of sizes ---- */

/* Sizes and ints by which this call fails a version that fits otherwise are symbols from here on.
 */
void dynamic_learn(callable *c, PyObject *const *slots);

/* ---- explain.c: what people are told of a callable ---- */

bool callable_record_break(callable *c, const break_info *info); /* as report_break() */
/* Why a call fits no version: recompile_why() of the newest one. NULL without an exception. */
PyObject *callable_why(const callable *c, PyObject *const *slots);
PyObject *callable_report(PyObject *self,
                          PyObject *unused); /* what `frameloom.explain` shows, as a dict */
extern bool explain_measures;                /* guards of new versions are measured */
PyObject *loom_py_measure_guards(PyObject *module, PyObject *on);
PyObject *callable_title(const callable *c); /* "step", "step from line 12": a new string */

#endif
