/* What the files of report/ share. */
#ifndef LOOM_FRONTEND_REPORT_INTERNAL_H
#define LOOM_FRONTEND_REPORT_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"

/* ---- report_entry.c: one version as a dict ---- */

/* (file, line, column, function, fate, iterations or None, why) of its loops; `left`: only of those
 * that are left to Python. A new list. */
PyObject *report_loop_rows(const capture *captured, bool left);

#endif
