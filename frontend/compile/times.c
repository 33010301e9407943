/* What compilation has taken, by function and phase, for frameloom.compile_times(). */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"

#include <string.h>

#define TIMES_KEEP 4096 /* rows; the oldest go */

enum { TIME_PHASES = 7 };
static const char *const time_names[TIME_PHASES] = {
    "capture_ms", "load_ms", "import_ms", "passes_ms", "lower_ms", "emit_ms", "total_ms"};
typedef struct time_row {
  char *name;
  bool cached;
  double ms[TIME_PHASES];
} time_row;

static time_row *times_rows; /* a ring once it is full */
static uint64_t times_count;

static time_row *times_next(void) {
  if (!times_rows) times_rows = calloc(TIMES_KEEP, sizeof *times_rows);
  if (!times_rows) return NULL;
  time_row *row = &times_rows[times_count++ % TIMES_KEEP];
  free(row->name);
  *row = (time_row){.name = NULL};
  return row;
}

void times_add(PyObject *name, double capture_ms, const loom_compile_report *r) {
  const char *text = PyUnicode_AsUTF8(name);
  time_row *row = text ? times_next() : NULL;
  if (!row) {
    error_drop();
    return;
  }
  const double ms[TIME_PHASES] = {
      capture_ms,       r->load_ms,      r->info.import_ms,       r->info.passes_ms,
      r->info.lower_ms, r->info.emit_ms, capture_ms + r->total_ms};
  row->name = strdup(text);
  row->cached = r->cached;
  memcpy(row->ms, ms, sizeof ms);
}

static PyObject *times_tuple(const time_row *row) {
  PyObject *phases = PyDict_New();
  for (int i = 0; phases && i < TIME_PHASES; i++) {
    PyObject *ms = PyFloat_FromDouble(row->ms[i]);
    if (!ms || PyDict_SetItemString(phases, time_names[i], ms) < 0) Py_CLEAR(phases);
    Py_XDECREF(ms);
  }
  return phases ? Py_BuildValue("(sON)", row->name ? row->name : "?",
                                row->cached ? Py_True : Py_False, phases)
                : NULL;
}

PyObject *loom_py_compile_times(PyObject *module, PyObject *unused) {
  PyObject *list = PyList_New(0);
  uint64_t first = times_count > TIMES_KEEP ? times_count - TIMES_KEEP : 0;
  for (uint64_t i = first; list && i < times_count; i++) {
    PyObject *row = times_tuple(&times_rows[i % TIMES_KEEP]);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}
