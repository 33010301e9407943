/* From a captured graph to a loaded plan: the disk cache, the compiler library, what compilations
 * have taken. */
#ifndef LOOM_FRONTEND_COMPILE_COMPILE_H
#define LOOM_FRONTEND_COMPILE_COMPILE_H

#include "frontend/base/python.h"
#include "graph/graph.h"
#include "runtime/runtime.h"
#include "targets/compiler.h"

typedef struct loom_compile_report {
  bool cached;              /* from the disk */
  double load_ms, total_ms; /* opening the compiler library (0: it was open); everything */
  loom_compile_info info;   /* zero when cached */
} loom_compile_report;

/* ---- compile.c: from a captured graph to a loaded plan ---- */

/* A loaded plan for the graph, from the disk cache or the compiler library. Called without the GIL;
 * signal handlers run meanwhile, and when one raises it fails at once, with an exception set.
 * `title`: what is compiled, for users. */
bool loom_compile_plan(const loom_graph *graph, const loom_compile_options *options,
                       const char *title, bool cache, loom_plan **out, loom_compile_report *report,
                       loom_error *err);
/* To be called when the interpreter ends: no compilation begins any more, and those that are
 * running are waited for, for some seconds at most. */
void loom_compile_close(void);
/* To be called when the interpreter has begun. When this thread ends the process,
 * loom_compile_close() is called. */
void loom_compile_watch(void);
/* How many kernels a plan has. It counts first stages, so it works for plans of the disk cache,
 * too. */
unsigned loom_plan_kernel_count(const loom_plan *plan);

/* ---- trace_folder.c: where stages are written ---- */

/* The folder for the stages of one compilation of what is called so (NULL: it has no name), made,
 * in malloc'ed memory: <trace>/<process>-<number>-<name>. NULL when nothing is traced, or, with a
 * notice, when it cannot be made. */
char *compile_trace_folder(const char *name);

/* ---- times.c: compile times by function and phase ---- */

/* Adds a compilation to the times of its phases, which the whole process shares. */
void times_add(PyObject *name, double capture_ms, const loom_compile_report *report);
PyObject *loom_py_compile_times(PyObject *module, PyObject *unused);

#endif
