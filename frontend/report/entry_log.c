/* Logs of a new version: its graph, guards, side effects, host calls, times and schedule. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/pygraph/pygraph.h"
#include "frontend/report/internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"

#include "targets/compiler.h"

#include <dirent.h>
#include <string.h>
#include <unistd.h>

static void entry_log_time(const entry *e, PyObject *name) {
  char line[200];
  const loom_compile_info *i = &e->made.report.info;
  snprintf(line, sizeof line,
           "capture %.2f ms, compile %.2f ms (load %.2f, import %.2f, passes %.2f, lower %.2f, "
           "emit %.2f)",
           e->made.capture_ms, e->made.report.total_ms, e->made.report.load_ms, i->import_ms,
           i->passes_ms, i->lower_ms, i->emit_ms);
  loom_log(LOOM_LOG_TIME, "%U: %s", name, line);
}

/* Functions that the library itself runs inside the plan. */
static void entry_log_hosts(const entry *e, PyObject *name) {
  PyObject *rows = report_host_calls(&e->captured->graph, e->captured->hosts);
  for (Py_ssize_t i = 0; rows && i < PyList_GET_SIZE(rows); i++) {
    PyObject *row = PyList_GET_ITEM(rows, i), *why = PyTuple_GET_ITEM(row, 2);
    loom_log(LOOM_LOG_HOST_CALLS, "%U: %U runs in %U, %U:%S%s%V", name, PyTuple_GET_ITEM(row, 0),
             PyTuple_GET_ITEM(row, 1), PyTuple_GET_ITEM(row, 3), PyTuple_GET_ITEM(row, 4),
             why == Py_None ? "" : ": ", why == Py_None ? NULL : why, "");
  }
  Py_XDECREF(rows);
}

/* The graph as MLIR text, and in the manner of Python. */
static void entry_log_graph(const entry *e) {
  PyObject *graph = graph_object_new(e->captured, e->made.name);
  PyObject *text = graph && loom_log_mask & LOOM_LOG_GRAPH ? PyObject_Str(graph) : NULL;
  PyObject *code =
      graph && loom_log_mask & LOOM_LOG_GRAPH_CODE ? PyObject_GetAttrString(graph, "code") : NULL;
  if (text) loom_log(LOOM_LOG_GRAPH, "%U\n%U", e->made.name, text);
  if (code) loom_log(LOOM_LOG_GRAPH_CODE, "%U\n%U", e->made.name, code);
  Py_XDECREF(code);
  Py_XDECREF(text);
  Py_XDECREF(graph);
}

/* "a", "a view of a", "an object made inside": what a recipe stands for. */
static PyObject *entry_words_of(const recipe *r) {
  if (r && r->source) return source_name(r->source);
  if (r && r->kind == RECIPE_VIEW && r->count) {
    PyObject *base = entry_words_of(r->items[0]);
    PyObject *text = base ? PyUnicode_FromFormat("a view of %U", base) : NULL;
    Py_XDECREF(base);
    return text;
  }
  return PyUnicode_FromString("an object made inside");
}

static void entry_log_change(const entry *e, const change *c) {
  PyObject *target = entry_words_of(c->made && c->made->count ? c->made->items[0] : NULL);
  if (!target) return;
  bool keyed = c->kind == CHANGE_ATTR || c->kind == CHANGE_CALL;
  const char *verb = c->kind == CHANGE_ATTR      ? "sets an attribute of"
                     : c->kind == CHANGE_CALL    ? "calls a method of"
                     : c->kind == CHANGE_RENEW   ? "clears, if it is empty,"
                     : c->kind == CHANGE_CELL    ? "sets the variable of"
                     : c->kind == CHANGE_SLICE   ? "changes the items of"
                     : c->kind == CHANGE_ADVANCE ? "takes items from"
                                                 : "sets an item of";
  if (keyed && c->key)
    loom_log(LOOM_LOG_SIDE_EFFECTS, "%U: %s %U: %S", e->made.name, verb, target, c->key);
  else
    loom_log(LOOM_LOG_SIDE_EFFECTS, "%U: %s %U", e->made.name, verb, target);
  Py_DECREF(target);
}

static void entry_log_effects(const entry *e) {
  const capture *c = e->captured;
  for (uint32_t i = 0; i < c->effect_count; i++) {
    PyObject *target = entry_words_of(c->effects[i].target);
    if (target)
      loom_log(LOOM_LOG_SIDE_EFFECTS, "%U: writes output %lld into %U", e->made.name,
               (long long)c->effects[i].number, target);
    Py_XDECREF(target);
    error_drop();
  }
  for (uint32_t i = 0; i < c->change_count; i++) {
    entry_log_change(e, &c->changes[i]);
    error_drop();
  }
}

void entry_log(const entry *e) {
  if (!loom_log_mask) return;
  PyObject *name = e->made.name;
  if (loom_log_mask & (LOOM_LOG_GRAPH | LOOM_LOG_GRAPH_CODE)) entry_log_graph(e);
  error_drop(); /* here and below: an interrupt comes back later, and meets no running code */
  bool held = loom_log_mask & LOOM_LOG_GUARDS && entry_hold(e);
  for (uint32_t i = 0; held && i < e->captured->guard_count; i++) {
    const guard *g = &e->captured->guards[i];
    PyObject *words = guard_describe(e->captured, g);
    if (words)
      loom_log(LOOM_LOG_GUARDS, "%U: %U (%s:%d)", name, words,
               g->location.file ? g->location.file : "?", (int)g->location.line);
    Py_XDECREF(words);
    error_drop();
  }
  if (held) entry_release(e);
  if (loom_log_mask & LOOM_LOG_SIDE_EFFECTS) entry_log_effects(e);
  error_drop();
  if (loom_log_mask & LOOM_LOG_HOST_CALLS) entry_log_hosts(e, name);
  if (e->kind != BACKEND_LOOM) return;
  loom_log(LOOM_LOG_CACHE, "%U: %s", name,
           e->made.report.cached ? "from the disk cache" : "compiled");
  if (!e->made.report.cached)
    loom_log(LOOM_LOG_KERNELS, "%U: %u ops, %u fusions, %u kernels", name, e->made.report.info.ops,
             e->made.report.info.fusions, e->made.report.info.kernels);
  entry_log_time(e, name);
}

/* ---- the compiler's schedule ---- */

char *schedule_log_folder(void) {
  const char *base = getenv("TMPDIR");
  char path[4096];
  if (!(loom_log_mask & LOOM_LOG_SCHEDULE)) return NULL;
  int length = snprintf(path, sizeof path, "%s/frameloom-XXXXXX", base && *base ? base : "/tmp");
  if (length < 0 || (size_t)length >= sizeof path || !mkdtemp(path)) return NULL;
  return strdup(path);
}

/* The text of a file: malloc'ed, or NULL. */
static char *schedule_read(const char *path) {
  FILE *file = fopen(path, "r"), *out;
  char *text = NULL, part[4096];
  size_t size = 0, n;
  if (!file) return NULL;
  if ((out = open_memstream(&text, &size))) {
    while (!feof(file) && !ferror(file) && (n = fread(part, 1, sizeof part, file)))
      fwrite(part, 1, n, out);
    fclose(out);
  }
  fclose(file);
  return text;
}

void schedule_log(const char *folder, PyObject *name, bool temporary) {
  DIR *all = opendir(folder);
  char path[4400];
  for (struct dirent *row = all ? readdir(all) : NULL; row; row = readdir(all)) {
    if (row->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "%s/%s", folder, row->d_name);
    char *text = strstr(row->d_name, "-schedule.") ? schedule_read(path) : NULL;
    if (text) loom_log(LOOM_LOG_SCHEDULE, "%U\n%s", name, text);
    free(text);
    if (temporary) unlink(path);
  }
  if (all) closedir(all);
  if (temporary) rmdir(folder);
}
