/* The callable that stands in for a function, and how a call finds a version. */
#ifndef LOOM_FRONTEND_DISPATCH_CALLABLE_H
#define LOOM_FRONTEND_DISPATCH_CALLABLE_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/parts.h"
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
/* All live callables, for reports over them: a new list. */
PyObject *loom_py_callables(PyObject *module, PyObject *unused);

/* ---- stance.c: may this call be compiled? ---- */

/* What the process does about functions that would have to be compiled. */
PyObject *loom_py_set_stance(PyObject *module, PyObject *name);
PyObject *loom_py_get_stance(PyObject *module, PyObject *unused);
extern bool loom_all_eager;     /* config.disable, or the stance: every function is a plain one */
void loom_stance_refresh(void); /* config.disable may have changed */
vectorcallfunc stance_vectorcall(callable_role role); /* of all roles but ROLE_COMPILE */

/* ---- bind.c: arguments to slots ---- */

/* Positional, keyword, default and variadic arguments as Python binds them. False without an
 * exception when they do not fit (the plain function then says why), or with one (MemoryError). */
bool bind_arguments(const callable *c, PyObject *const *args, Py_ssize_t count, PyObject *kwnames,
                    binding *out);
void binding_fini(binding *b);

/* ---- miss.c: a call that no version fits ---- */

/* Captures and compiles. The result is a new reference to a version that fits these arguments. NULL
 * without an exception: the plain function has to run. NULL with an exception: GraphBreak under
 * fullgraph, MemoryError or KeyboardInterrupt. */
entry *callable_build(callable *c, PyObject *const *slots);
extern uint64_t callable_builds;   /* how often that has captured something, of any function */
void callable_forget(callable *c); /* all that was compiled or learnt */

/* ---- explain.c: what people are told of a callable ---- */

/* Why a call fits no version: recompile_why() of the newest one. NULL without an exception. */
PyObject *callable_why(const callable *c, PyObject *const *slots);
PyObject *callable_report(PyObject *self,
                          PyObject *unused); /* what `frameloom.explain` shows, as a dict */
extern bool explain_measures;                /* guards of new versions are measured */
PyObject *loom_py_measure_guards(PyObject *module, PyObject *on);
PyObject *callable_title(const callable *c); /* "step", "step from line 12": a new string */

/* ---- inline ---- */

/* The callable of the whole function, for it and for its parts. */
static inline callable *callable_whole(callable *c) { return c->place.owner ? c->place.owner : c; }

#endif
