/* Reports what was compiled of a callable and what was not: the dict behind frameloom.explain(). */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/dispatch/callable.h"
#include "frontend/dispatch/callable_internal.h"
#include "frontend/dispatch/resume_internal.h"
#include "frontend/dispatch/trial_internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

bool callable_record_break(callable *c, const break_info *info) {
  return report_break(&c->report, c->function->func_qualname, info);
}

/* ---- names ----------------------------------------------------------------------------------- */

PyObject *callable_title(const callable *c) {
  const frame_shape *at = resume_start(c);
  PyObject *name = c->function->func_qualname;
  if (!at) return Py_NewRef(name);
  return PyUnicode_FromFormat("%U from line %d", name,
                              PyCode_Addr2Line((PyCodeObject *)c->code, 2 * at->unit));
}

bool explain_measures;

PyObject *loom_py_measure_guards(PyObject *module, PyObject *on) {
  PyObject *before = PyBool_FromLong(explain_measures);
  explain_measures = PyObject_IsTrue(on) == 1;
  return before;
}

/* Versions of a callable and of the parts of its function. */
static bool report_entries(callable *c, PyObject *entries) {
  callable_bury(c);
  entry_list *list = c->entries;
  bool good = true;
  if (list) list->refs++;
  for (uint32_t i = list ? list->count : 0; good && i-- > 0;) {
    PyObject *row = report_entry(list->items[i]);
    good = row && PyList_Append(entries, row) == 0;
    Py_XDECREF(row);
  }
  entries_unref(list);
  for (uint32_t i = 0; good && i < c->resumes.count; i++)
    good = report_entries(c->resumes.points[i], entries);
  PyObject *key, *called;
  for (Py_ssize_t at = 0; good && !c->place.quiet && c->resumes.callees &&
                          PyDict_Next(c->resumes.callees, &at, &key, &called);)
    good = report_entries((callable *)called, entries);
  return good;
}

/* What has been put off, of a callable, the parts of its function and what it calls. */
static bool report_put_off(callable *c, PyObject *rows) {
  PyObject *row = weigh_report(c), *key, *called;
  bool good = row && (row == Py_None || PyList_Append(rows, row) == 0);
  Py_XDECREF(row);
  for (uint32_t i = 0; good && i < c->resumes.count; i++)
    good = report_put_off(c->resumes.points[i], rows);
  for (Py_ssize_t at = 0; good && !c->place.quiet && c->resumes.callees &&
                          PyDict_Next(c->resumes.callees, &at, &key, &called);)
    good = report_put_off((callable *)called, rows);
  return good;
}

/* Sizes that stay constants though they change, with the reason: (name, axis, reason) each. */
static bool report_sizes(const callable *c, PyObject *rows) {
  bool good = true;
  for (uint32_t i = 0; good && i < c->numbers.sizes.count; i++) {
    const size_fact *f = &c->numbers.sizes.facts[i];
    if (f->state != SIZE_PINNED || f->field != SIZE_OF_DIM || !f->why[0]) continue;
    PyObject *row = Py_BuildValue("(sis)", f->name, (int)f->axis, f->why);
    good = row && PyList_Append(rows, row) == 0;
    Py_XDECREF(row);
  }
  for (uint32_t i = 0; good && i < c->resumes.count; i++)
    good = report_sizes(c->resumes.points[i], rows);
  return good;
}

static uint32_t report_captures(const callable *c) {
  uint32_t captures = c->builds.captures;
  for (uint32_t i = 0; i < c->resumes.count; i++)
    captures += c->resumes.points[i]->builds.captures;
  return captures;
}

PyObject *callable_report(PyObject *self, PyObject *unused) {
  callable *c = (callable *)self;
  const report *r = &c->report;
  PyObject *entries = PyList_New(0), *put_off = PyList_New(0), *sizes = PyList_New(0);
  if (!entries || !put_off || !sizes || !report_entries(c, entries) ||
      !report_put_off(c, put_off) || !report_sizes(c, sizes)) {
    Py_XDECREF(entries);
    Py_XDECREF(put_off);
    Py_XDECREF(sizes);
    return NULL;
  }
  return Py_BuildValue(
      "{sNsNsNsOsOsOsKsKsI}", "entries", entries, "put_off", put_off, "sizes", sizes, "breaks",
      r->breaks ? r->breaks : Py_None, "loops", r->loops ? r->loops : Py_None, "recompiles",
      r->recompiles ? r->recompiles : Py_None, "hits", (unsigned long long)c->counts.hits, "misses",
      (unsigned long long)c->counts.misses, "captures", report_captures(c));
}

PyObject *callable_why(const callable *c, PyObject *const *slots) {
  if (!c->entries) return NULL;
  PyObject *title = callable_title(c);
  PyObject *row = title ? recompile_why(c->entries->items[0], title, slots) : NULL;
  Py_XDECREF(title);
  if (!row) error_drop();
  return row;
}
