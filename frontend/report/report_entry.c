/* One version as a dict, for frameloom.explain(). */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/compile/compile.h"
#include "frontend/report/internal.h"
#include "frontend/report/report.h"
#include "frontend/run/run.h"
#include "loom_ops_control.h"

#include <string.h>

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
      [GUARD_TYPE] = "type",        [GUARD_IDENTITY] = "identity", [GUARD_NUMBER] = "value",
      [GUARD_LENGTH] = "length",    [GUARD_DICT_KEYS] = "keys",    [GUARD_MISSING] = "missing",
      [GUARD_ARRAY] = "array",      [GUARD_SAME] = "same",         [GUARD_DISJOINT] = "disjoint",
      [GUARD_NONZERO] = "nonzero",  [GUARD_APART] = "apart",       [GUARD_SIZE] = "size",
      [GUARD_SET_TABLE] = "order",  [GUARD_CUSTOM] = "state",      [GUARD_PRESENT] = "present",
      [GUARD_IN_PARTS] = "identity"};
  const guard *g = &e->captured->guards[i];
  PyObject *words = guard_describe(e->captured, g);
  PyObject *name = g->source ? source_name(g->source) : PyUnicode_FromString("");
  PyObject *ns = e->made.guard_ns ? PyFloat_FromDouble(e->made.guard_ns[i]) : Py_NewRef(Py_None),
           *row = NULL;
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
PyObject *report_loop_rows(const capture *captured, bool left) {
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

#define HOST_WHY 5 /* where torch/host.c says why; code of our own has no such reason */

/* (name, library, why or None, file, line) */
static PyObject *host_call_row(const loom_node *node, PyObject *row) {
  const char *library = node->attrs[0].str;
  bool torch = !strcmp(library, "torch");
  PyObject *function = PyTuple_GET_ITEM(row, 0);
  PyObject *name = torch ? NULL : PyObject_GetAttrString(function, "__name__");
  error_drop();
  PyObject *words = PyObject_Str(name ? name : function);
  PyObject *made = words ? Py_BuildValue("(NsOsi)", words, library,
                                         torch ? PyTuple_GET_ITEM(row, HOST_WHY) : Py_None,
                                         node->location.file ? node->location.file : "?",
                                         (int)node->location.line)
                         : NULL;
  Py_XDECREF(name);
  return made;
}

PyObject *report_host_calls(const loom_graph *graph, PyObject *hosts) {
  PyObject *list = PyList_New(0);
  for (uint32_t i = 0; list && hosts && i < graph->node_count; i++) {
    const loom_node *node = &graph->nodes[i];
    int64_t slot = node->op == LOOM_OP_HOST_CALL ? node->attrs[2].i : -1;
    if (slot < 0 || slot >= PyList_GET_SIZE(hosts)) continue;
    PyObject *host = PyList_GET_ITEM(hosts, slot);
    if (!strcmp(node->attrs[0].str, "torch") && PyTuple_GET_SIZE(host) <= HOST_WHY) continue;
    PyObject *row = host_call_row(node, host);
    if (!row || PyList_Append(list, row) < 0) Py_CLEAR(list);
    Py_XDECREF(row);
  }
  return list;
}

PyObject *report_entry(const entry *e) {
  static const char *const trials[] = {[TRIAL_OPEN] = "open",
                                       [TRIAL_PLAIN_NEXT] = "open",
                                       [TRIAL_LEFT] = "left, callees on trial",
                                       [TRIAL_ALONE_NEXT] = "left, callees on trial",
                                       [TRIAL_CALLEES] = "left, callees compiled",
                                       [TRIAL_ALONE] = "left",
                                       [TRIAL_OVER] = "stays"};
  const loom_compile_info *info = &e->made.report.info;
  loom_graph room;
  const loom_graph *whole = capture_graph(e->captured, &room);
  if (!whole) return PyErr_NoMemory();
  PyObject *graph = entry_graph_text(whole), *ops = entry_ops(whole), *guards = entry_guards(e),
           *loops = report_loop_rows(e->captured, false), *made = NULL,
           *hosts = report_host_calls(whole, e->captured->hosts);
  loom_graph_fini(&room);
  if (graph && ops && guards && loops && hosts)
    made = Py_BuildValue(
        "{sssssOsOsOsOsOsOsKsKsOsOsOsIsIs{sdsdsdsdsdsdsd}}", "backend",
        e->kind == BACKEND_USER ? "user" : loom_backend_names[e->kind], "trial",
        trials[e->trial.state], "name", e->made.name, "loops", loops, "graph", graph, "ops", ops,
        "guards", guards, "host_calls", hosts, "hits", (unsigned long long)e->counts.hits, "again",
        (unsigned long long)e->counts.again, "hushed", witness_is_hushed(e) ? Py_True : Py_False,
        "part", e->made.part ? Py_True : Py_False, "cached",
        e->made.report.cached ? Py_True : Py_False, "fusions", info->fusions, "kernels",
        e->plan ? loom_plan_kernel_count(e->plan) : 0, "times", "capture_ms", e->made.capture_ms,
        "load_ms", e->made.report.load_ms, "import_ms", info->import_ms, "passes_ms",
        info->passes_ms, "lower_ms", info->lower_ms, "emit_ms", info->emit_ms, "total_ms",
        e->made.report.total_ms);
  Py_XDECREF(graph);
  Py_XDECREF(ops);
  Py_XDECREF(guards);
  Py_XDECREF(loops);
  Py_XDECREF(hosts);
  return made;
}
