/* Does it pay to compile a function, and to run it compiled? */
#ifndef LOOM_FRONTEND_DISPATCH_TRIAL_H
#define LOOM_FRONTEND_DISPATCH_TRIAL_H

#include "frontend/base/base.h"
#include "frontend/dispatch/callable.h"
#include "frontend/run/run.h"

/* Around a run of the plain function that may stand in for a version. */
typedef struct weigh_run {
  uint64_t start, built;
  bool unfit, put_off;
} weigh_run;

/* ---- weigh.c: deciding whether a compilation is likely to pay ---- */

/* Around a compilation that is allowed. weigh_build_end() is false when it took longer than it may:
 * that says nothing about the function, and compilation is put off. */
typedef struct weigh_build {
  uint64_t start;
  int64_t outer;
} weigh_build;

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

/* For tests: pretend_times(compiled wall, compiled CPU, plain wall, plain CPU) sets the times of
 * runs, in ns. Without arguments runs are timed again. */
PyObject *loom_py_pretend_times(PyObject *module, PyObject *args);

#endif
