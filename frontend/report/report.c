/* What a callable remembers for reports: where capture broke, and the loops that are left to
 * Python.
 */
#include "frontend/report/report.h"
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/report/internal.h"

#include <string.h>

#define REPORT_ROWS 64 /* of each kind */

void report_fini(report *r) {
  Py_CLEAR(r->breaks);
  Py_CLEAR(r->loops);
  Py_CLEAR(r->recompiles);
}

int report_traverse(const report *r, visitproc visit, void *arg) {
  Py_VISIT(r->breaks);
  Py_VISIT(r->loops);
  Py_VISIT(r->recompiles);
  return 0;
}

/* (code, name, text, hint, detail, file, function, line, column) */
static PyObject *break_tuple(const break_info *info) {
  const char *name, *hint, *text = loom_break_text(info->reason, &name, &hint);
  PyObject *detail =
      PyUnicode_DecodeUTF8(info->detail, (Py_ssize_t)strlen(info->detail), "replace");
  if (!detail) return NULL;
  return Py_BuildValue("(isssNzzii)", info->reason, name, text, hint, detail, info->location.file,
                       info->location.function, info->location.line, info->location.column);
}

bool report_break(report *r, PyObject *name, const break_info *info) {
  const char *title, *hint, *text = loom_break_text(info->reason, &title, &hint);
  loom_log(LOOM_LOG_BREAKS, "%s:%d:%d: %U: FL%04d %s: %s",
           info->location.file ? info->location.file : "?", info->location.line,
           info->location.column, name, info->reason, text, info->detail);
  if (info->reason == BREAK_LIVE_ITERATOR) return true; /* another break's doing */
  PyObject *row = break_tuple(info);
  if (row && !r->breaks) r->breaks = PyList_New(0);
  int known = row && r->breaks ? PySequence_Contains(r->breaks, row) : -1;
  if (known == 0 && PyList_GET_SIZE(r->breaks) < REPORT_ROWS) known = PyList_Append(r->breaks, row);
  Py_XDECREF(row);
  return known >= 0;
}

void report_raise_break(const break_info *info) {
  PyObject *module = PyImport_ImportModule("frameloom._report");
  PyObject *row = module ? break_tuple(info) : NULL;
  PyObject *made = row ? PyObject_CallMethod(module, "graph_break_error", "(O)", row) : NULL;
  if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
  Py_XDECREF(made);
  Py_XDECREF(row);
  Py_XDECREF(module);
}

void report_loops(report *r, const capture *captured) {
  PyObject *rows = report_loop_rows(captured, true);
  if (rows && !r->loops) r->loops = PyList_New(0);
  for (Py_ssize_t i = 0; rows && r->loops && i < PyList_GET_SIZE(rows); i++) {
    PyObject *row = PyList_GET_ITEM(rows, i);
    bool full = PyList_GET_SIZE(r->loops) >= REPORT_ROWS;
    if (full || PySequence_Contains(r->loops, row) || PyList_Append(r->loops, row) < 0) break;
  }
  Py_XDECREF(rows);
  error_drop(); /* a report that is short of memory says less */
}
