/* Reports for users: breaks, loops, recompilations, versions. */
#ifndef LOOM_FRONTEND_REPORT_REPORT_H
#define LOOM_FRONTEND_REPORT_REPORT_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/run/run.h"

/* What a callable remembers for reports: report.c. */
typedef struct report {
  PyObject *breaks;     /* list of tuples; or NULL (owned) */
  PyObject *loops;      /* list of tuples, of loops in which capture broke; or NULL (owned) */
  PyObject *recompiles; /* list of tuples of recompile_why(); or NULL (owned) */
} report;

/* ---- report.c: what a callable remembers of its breaks ---- */

void report_fini(report *r); /* drops all that it remembers */
int report_traverse(const report *r, visitproc visit, void *arg);
/* Remembers and logs a break in the function with this name; (code, name, text, hint, detail, file,
 * function, line, column). False with an exception. */
bool report_break(report *r, PyObject *name, const break_info *info);
void report_raise_break(const break_info *info); /* sets GraphBreak */
/* Loops of a capture that broke, which are left to Python. */
void report_loops(report *r, const capture *captured);

/* ---- report_entry.c: one version as a dict ---- */

PyObject *report_entry(const entry *e); /* a version as a new dict */

/* ---- recompile.c: why a call fits no version ---- */

/* The guard of the version that fails: a row (title, what, guard, old, new, advice, file, line), a
 * new reference. NULL: none fails, or an exception is set. */
PyObject *recompile_why(entry *newest, PyObject *title, PyObject *const *slots);
PyObject *recompile_sentence(PyObject *row); /* "a was float64[3] and is float64[4] (f.py:3)" */
/* Logs and remembers a recompilation with the time that it has cost. `made`: the new version, or
 * NULL. False with an exception. */
bool recompile_keep(report *to, PyObject *row, const entry *made, double ms);

/* ---- entry_log.c: logs of a new version ---- */

void entry_log(const entry *e); /* logs a new version */
/* A new folder, malloc'ed name, for the stages of a compilation whose schedule is to be logged; or
 * NULL. schedule_log() logs what is in it, and deletes a temporary one. */
char *schedule_log_folder(void);
void schedule_log(const char *folder, PyObject *name, bool temporary);

#endif
