/* Does it pay to compile a function, and to run it compiled? */
#ifndef LOOM_FRONTEND_DISPATCH_TRIAL_INTERNAL_H
#define LOOM_FRONTEND_DISPATCH_TRIAL_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/run/run.h"

/* Around a run of the plain function that may stand in for a version. */
typedef struct weigh_run {
  uint64_t start, built, timed;
  bool unfit, put_off;
} weigh_run;

/* ---- weigh.c: deciding whether a compilation is likely to pay ---- */

/* Around a compilation that is allowed. weigh_build_end() is false when it took longer than it may:
 * that says nothing about the function, and compilation is put off. */
typedef struct weigh_build {
  uint64_t start, busy;
  int64_t outer;
} weigh_build;

/* May a version be compiled for this call? If not, the plain function runs and is timed. */
bool weigh_allows(callable *c, PyObject *const *slots);
void weigh_build_begin(weigh_build *b, const callable *c);
bool weigh_build_end(weigh_build *b, callable *c, const entry *made);
void weigh_run_begin(weigh_run *run, callable *c);
void weigh_run_end(const weigh_run *run, callable *c);
/* (name, file, line, calls put off, ms of their runs, captures so far, runs needed before
 * compiling), or None. */
PyObject *weigh_report(callable *c);

/* ---- trial.c: timing compiled runs against plain runs ---- */

/* Around a run of the plain function that may be one of a trial. `raised`: it has not returned. */
typedef struct trial_run {
  entry *tried;
  trial_cost start;
  uint64_t builds, callees;
  bool timed, alone; /* alone: nothing that the run calls is compiled */
  bool in_vain;      /* a compiled run came first, in vain */
  weigh_run weigh;
} trial_run;

/* For a new version, with its symbols' values in the call that was captured. */
void trial_init(entry *e, const int64_t *hints);
/* Is the plain function to run in place of this version? Then c->tried is set. */
bool trial_is_plain(callable *c, entry *e);
bool trial_watches(const entry *e); /* are compiled runs timed? */
/* The start of a compiled run: the time when a version was looked for, if the clock was read then.
 */
trial_cost trial_clock(callable *c, const entry *e);
/* A compiled run that began at `start` has returned or raised. `in_vain`: the plain function is
 * about to run as well, and its time counts, too. */
void trial_compiled(callable *c, entry *e, trial_cost start, bool raised, bool in_vain);
/* Runs a version without breaks that is watched. */
PyObject *trial_call(callable *c, entry *e, PyObject *const *slots, const int64_t *symbols,
                     bool *plain);
/* Decides whether the version that a call has found is watched again, and when to ask next. */
void trial_look(callable *c, entry *e);
/* Most runs of the version have ended in the plain function: from now on that runs at once. False:
 * no version may be left to Python, or not this one. */
bool trial_give_up(entry *e);
/* Notes that a version with breaks computes nothing: from now on the plain function runs. */
void trial_idle(entry *e);
/* Records that a function, `c`'s or one called by it, is left to Python. It is reported like a
 * break of `c`, by explain() and the log. */
void trial_tell(callable *c, int reason, const PyFunctionObject *of, uint64_t compiled_ns,
                uint64_t plain_ns);
void trial_run_begin(trial_run *run, callable *c);
void trial_run_end(trial_run *run, callable *c, bool raised);
/* The time of a plain run that a test has set, or 0. */
uint64_t trial_pretended_ns(void);

#endif
