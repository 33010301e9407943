/* What the files of report/ share. */
#ifndef LOOM_FRONTEND_REPORT_INTERNAL_H
#define LOOM_FRONTEND_REPORT_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"

/* ---- report_entry.c: one version as a dict ---- */

/* A new list of the loops of a capture: (file, line, column, function, fate, iterations or None,
 * why). `left`: only those that are left to Python. */
PyObject *report_loop_rows(const capture *captured, bool left);

/* A new list of the functions that a library runs inside the plan of a graph (`hosts`: as in a
 * capture, or NULL): (name, library, why or None, file, line). NULL with an exception. */
PyObject *report_host_calls(const loom_graph *graph, PyObject *hosts);

#endif
