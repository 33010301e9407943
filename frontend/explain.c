/* What was compiled and what was not, for people: break records, logs, and the dict behind
 * frameloom.explain(). */
#include <string.h>

#include "frontend/callable.h"

#define EXPLAIN_MAX_BREAKS 64

static const struct {
  int code;
  const char *name, *text, *hint;
} explain_reasons[] = {
#define LOOM_BREAK(CODE, NAME, TEXT, HINT) {CODE, #NAME, TEXT, HINT},
#include "frontend/breaks.def"
#undef LOOM_BREAK
};

const char *loom_break_text(int reason, const char **name_out, const char **hint_out) {
  for (size_t i = 0; i < sizeof explain_reasons / sizeof *explain_reasons; i++)
    if (explain_reasons[i].code == reason) {
      *name_out = explain_reasons[i].name;
      *hint_out = explain_reasons[i].hint;
      return explain_reasons[i].text;
    }
  *name_out = "UNKNOWN";
  *hint_out = "";
  return "unknown reason";
}

PyObject *loom_py_reasons(PyObject *module, PyObject *unused) {
  PyObject *list = PyList_New(0);
  for (size_t i = 0; list && i < sizeof explain_reasons / sizeof *explain_reasons; i++) {
    PyObject *row = Py_BuildValue("(isss)", explain_reasons[i].code, explain_reasons[i].name,
                                  explain_reasons[i].text, explain_reasons[i].hint);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

/* ---- breaks --------------------------------------------------------------------------------- */

/* (code, name, text, hint, detail, file, function, line, column) */
static PyObject *break_tuple(const break_info *info) {
  const char *name, *hint, *text = loom_break_text(info->reason, &name, &hint);
  PyObject *detail =
      PyUnicode_DecodeUTF8(info->detail, (Py_ssize_t)strlen(info->detail), "replace");
  if (!detail) return NULL;
  return Py_BuildValue("(isssNzzii)", info->reason, name, text, hint, detail, info->location.file,
                       info->location.function, info->location.line, info->location.column);
}

bool callable_record_break(callable *c, const break_info *info) {
  const char *name, *hint, *text = loom_break_text(info->reason, &name, &hint);
  loom_log(LOOM_LOG_BREAKS, "%s:%d:%d: %U: FL%04d %s: %s",
           info->location.file ? info->location.file : "?", info->location.line,
           info->location.column, c->function->func_qualname, info->reason, text, info->detail);
  if (info->reason == BREAK_LIVE_ITERATOR) return true; /* another break's doing */
  PyObject *row = break_tuple(info);
  if (row && !c->breaks) c->breaks = PyList_New(0);
  int known = row && c->breaks ? PySequence_Contains(c->breaks, row) : -1;
  if (known == 0 && PyList_GET_SIZE(c->breaks) < EXPLAIN_MAX_BREAKS)
    known = PyList_Append(c->breaks, row);
  Py_XDECREF(row);
  return known >= 0;
}

void callable_raise_break(const break_info *info) {
  PyObject *report = PyImport_ImportModule("frameloom._report");
  PyObject *row = report ? break_tuple(info) : NULL;
  PyObject *made = row ? PyObject_CallMethod(report, "graph_break_error", "(O)", row) : NULL;
  if (made) PyErr_SetObject((PyObject *)Py_TYPE(made), made);
  Py_XDECREF(made);
  Py_XDECREF(row);
  Py_XDECREF(report);
}

/* ---- names ----------------------------------------------------------------------------------- */

PyObject *callable_title(const callable *c) {
  const frame_shape *at = resume_start(c);
  PyObject *name = c->function->func_qualname;
  if (!at) return Py_NewRef(name);
  return PyUnicode_FromFormat("%U from line %d", name,
                              PyCode_Addr2Line((PyCodeObject *)c->code, 2 * at->unit));
}

/* ---- entries -------------------------------------------------------------------------------- */

static PyObject *entry_graph_text(const loom_graph *graph) {
  char *text = NULL;
  size_t size = 0;
  FILE *stream = open_memstream(&text, &size);
  if (!stream) return PyErr_NoMemory();
  loom_graph_print(graph, stream);
  fclose(stream);
  PyObject *made = PyUnicode_DecodeUTF8(text, (Py_ssize_t)size, "replace");
  free(text);
  return made;
}

static PyObject *entry_ops(const loom_graph *graph) {
  PyObject *list = PyList_New(graph->node_count);
  for (uint32_t i = 0; list && i < graph->node_count; i++) {
    PyObject *name = PyUnicode_FromString(loom_op_table[graph->nodes[i].op].name);
    if (!name) Py_CLEAR(list);
    if (name) PyList_SET_ITEM(list, i, name);
  }
  return list;
}

/* (kind, source or "", words, file, line, function, ns or None) */
static PyObject *guard_tuple(const entry *e, uint32_t i) {
  static const char *const kinds[] = {
      [GUARD_TYPE] = "type",       [GUARD_IDENTITY] = "identity", [GUARD_NUMBER] = "value",
      [GUARD_LENGTH] = "length",   [GUARD_DICT_KEYS] = "keys",    [GUARD_MISSING] = "missing",
      [GUARD_ARRAY] = "array",     [GUARD_SAME] = "same",         [GUARD_DISJOINT] = "disjoint",
      [GUARD_NONZERO] = "nonzero", [GUARD_APART] = "apart",       [GUARD_SIZE] = "size",
      [GUARD_CUSTOM] = "state",    [GUARD_PRESENT] = "present",   [GUARD_IN_PARTS] = "identity"};
  const guard *g = &e->captured->guards[i];
  PyObject *words = guard_describe(e->captured, g);
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString("");
  PyObject *ns = e->guard_ns ? PyFloat_FromDouble(e->guard_ns[i]) : Py_NewRef(Py_None), *row = NULL;
  bool known = (size_t)g->kind < sizeof kinds / sizeof *kinds && kinds[g->kind];
  if (words && name && ns)
    row = Py_BuildValue("(sOOzizO)", known ? kinds[g->kind] : "other", name, words,
                        g->location.file, (int)g->location.line, g->location.function, ns);
  Py_XDECREF(words);
  Py_XDECREF(name);
  Py_XDECREF(ns);
  return row;
}

/* None of a version that is over: what they name has died. */
static PyObject *entry_guards(const entry *e) {
  bool held = entry_hold(e);
  uint32_t count = held ? e->captured->guard_count : 0;
  PyObject *list = PyList_New(count);
  for (uint32_t i = 0; list && i < count; i++) {
    PyObject *row = guard_tuple(e, i);
    if (!row) Py_CLEAR(list);
    if (row) PyList_SET_ITEM(list, i, row);
  }
  if (held) entry_release(e);
  return list;
}

/* (file, line, column, function, fate, iterations or None, why) */
static PyObject *capture_loops(const capture *captured, bool left) {
  static const char *const fates[] = {
      [LOOP_ROLLED] = "rolled", [LOOP_UNROLLED] = "unrolled", [LOOP_LEFT] = "left"};
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && i < captured->loop_count; i++) {
    const loop_record *r = &captured->loops[i];
    if (left && r->fate != LOOP_LEFT) continue;
    PyObject *count = r->count < 0 ? Py_NewRef(Py_None) : PyLong_FromLongLong(r->count);
    PyObject *why = PyUnicode_DecodeUTF8(r->why, (Py_ssize_t)strlen(r->why), "replace");
    PyObject *row = count && why ? Py_BuildValue("(ziizsOO)", r->location.file,
                                                 (int)r->location.line, (int)r->location.column,
                                                 r->location.function, fates[r->fate], count, why)
                                 : NULL;
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(count);
    Py_XDECREF(why);
    Py_XDECREF(row);
  }
  return list;
}

void callable_record_loops(callable *c, const capture *captured) {
  PyObject *rows = capture_loops(captured, true);
  if (rows && !c->loops) c->loops = PyList_New(0);
  for (Py_ssize_t i = 0; rows && c->loops && i < PyList_GET_SIZE(rows); i++) {
    PyObject *row = PyList_GET_ITEM(rows, i);
    bool full = PyList_GET_SIZE(c->loops) >= EXPLAIN_MAX_BREAKS;
    if (full || PySequence_Contains(c->loops, row) || PyList_Append(c->loops, row) < 0) break;
  }
  Py_XDECREF(rows);
  error_drop(); /* a report that is short of memory says less */
}

bool explain_measures;

PyObject *loom_py_measure_guards(PyObject *module, PyObject *on) {
  PyObject *before = PyBool_FromLong(explain_measures);
  explain_measures = PyObject_IsTrue(on) == 1;
  return before;
}

unsigned loom_plan_kernel_count(const loom_plan *plan) {
  const loom_plan_header *header = loom_plan_header_of(plan);
  const char *bytes = (const char *)header;
  const loom_plan_kernel *rows = (const void *)(bytes + header->kernels.offset);
  unsigned count = 0;
  for (uint32_t i = 0; i < header->kernels.count; i++) {
    const char *name = bytes + header->names.offset + rows[i].name, *stage = strrchr(name, '_');
    count += stage && strcmp(stage, "_s0") == 0;
  }
  return count;
}

static PyObject *entry_report(const entry *e) {
  static const char *const kinds[] = {"loom", "interpret", "eager", "user"};
  static const char *const trials[] = {[TRIAL_OPEN] = "open",
                                       [TRIAL_PLAIN_NEXT] = "open",
                                       [TRIAL_LEFT] = "left, callees on trial",
                                       [TRIAL_ALONE_NEXT] = "left, callees on trial",
                                       [TRIAL_CALLEES] = "left, callees compiled",
                                       [TRIAL_ALONE] = "left",
                                       [TRIAL_OVER] = "stays"};
  const loom_compile_info *info = &e->report.info;
  loom_graph room;
  const loom_graph *whole = capture_graph(e->captured, &room);
  if (!whole) return PyErr_NoMemory();
  PyObject *graph = entry_graph_text(whole), *ops = entry_ops(whole), *guards = entry_guards(e),
           *loops = capture_loops(e->captured, false), *made = NULL;
  loom_graph_fini(&room);
  if (graph && ops && guards && loops)
    made = Py_BuildValue(
        "{sssssOsOsOsOsOsKsKsOsOsOsIsIs{sdsdsdsdsdsdsd}}", "backend", kinds[e->kind], "trial",
        trials[e->trial.state], "name", e->name, "loops", loops, "graph", graph, "ops", ops,
        "guards", guards, "hits", (unsigned long long)e->hits, "again",
        (unsigned long long)e->again, "hushed", witness_is_hushed(e) ? Py_True : Py_False, "part",
        e->part ? Py_True : Py_False, "cached", e->report.cached ? Py_True : Py_False, "fusions",
        info->fusions, "kernels", e->plan ? loom_plan_kernel_count(e->plan) : 0, "times",
        "capture_ms", e->capture_ms, "load_ms", e->report.load_ms, "import_ms", info->import_ms,
        "passes_ms", info->passes_ms, "lower_ms", info->lower_ms, "emit_ms", info->emit_ms,
        "total_ms", e->report.total_ms);
  Py_XDECREF(graph);
  Py_XDECREF(ops);
  Py_XDECREF(guards);
  Py_XDECREF(loops);
  return made;
}

/* Versions of a callable and of the parts of its function. */
static bool report_entries(callable *c, PyObject *entries) {
  callable_bury(c);
  entry_list *list = c->entries;
  bool good = true;
  if (list) list->refs++;
  for (uint32_t i = list ? list->count : 0; good && i-- > 0;) {
    PyObject *row = entry_report(list->items[i]);
    good = row && PyList_Append(entries, row) == 0;
    Py_XDECREF(row);
  }
  entries_unref(list);
  for (uint32_t i = 0; good && i < c->resumes.count; i++)
    good = report_entries(c->resumes.points[i], entries);
  PyObject *key, *called;
  for (Py_ssize_t at = 0; good && !c->quiet && c->resumes.callees &&
                          PyDict_Next(c->resumes.callees, &at, &key, &called);)
    good = report_entries((callable *)called, entries);
  return good;
}

/* What has been put off, of a callable, the parts of its function and what it calls. */
static bool report_put_off(const callable *c, PyObject *rows) {
  PyObject *row = weigh_report(c), *key, *called;
  bool good = row && (row == Py_None || PyList_Append(rows, row) == 0);
  Py_XDECREF(row);
  for (uint32_t i = 0; good && i < c->resumes.count; i++)
    good = report_put_off(c->resumes.points[i], rows);
  for (Py_ssize_t at = 0; good && !c->quiet && c->resumes.callees &&
                          PyDict_Next(c->resumes.callees, &at, &key, &called);)
    good = report_put_off((callable *)called, rows);
  return good;
}

static uint32_t report_captures(const callable *c) {
  uint32_t captures = c->captures;
  for (uint32_t i = 0; i < c->resumes.count; i++)
    captures += c->resumes.points[i]->captures;
  return captures;
}

PyObject *callable_report(PyObject *self, PyObject *unused) {
  callable *c = (callable *)self;
  PyObject *entries = PyList_New(0), *put_off = PyList_New(0);
  if (!entries || !put_off || !report_entries(c, entries) || !report_put_off(c, put_off)) {
    Py_XDECREF(entries);
    Py_XDECREF(put_off);
    return NULL;
  }
  return Py_BuildValue("{sNsNsOsOsOsKsKsI}", "entries", entries, "put_off", put_off, "breaks",
                       c->breaks ? c->breaks : Py_None, "loops", c->loops ? c->loops : Py_None,
                       "recompiles", c->recompiles ? c->recompiles : Py_None, "hits",
                       (unsigned long long)c->hits, "misses", (unsigned long long)c->misses,
                       "captures", report_captures(c));
}
