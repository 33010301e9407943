/* Code that runs when captured code drops an object: a generator's `finally`, a `__del__`, the
 * callback of a weak reference; those of the object itself and of all that dies with it.
 *
 * A part holds references to all that the frame holds at its beginning, for as long as it runs. So
 * an object that a name or the stack drops in the middle would die at the part's end, after later
 * code of the part has run. Where somebody could notice that, capture breaks in front of the
 * instruction, which runs for real. The arguments of a function also belong to its caller and do
 * not die. An object that a cell, an attribute, a global or a container drops would die with the
 * effects, at the part's end, too.
 */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/live.h"
#include "frontend/values/live_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"

#define FINALIZER_HOLDERS                                                                          \
  6 /* references to what the frame alone holds: its own and those of capture */
#define FINALIZER_DEPTH 24
#define FINALIZER_OBJECTS 4096

/* Has it a weak reference with a callback? Weak references without one need no care: code that asks
 * whether the object still lives calls them, and such a call runs for real. */
static bool finalizer_watched(PyObject *o) {
  if (!Py_TYPE(o)->tp_weaklistoffset) return false;
  PyObject **first = PyObject_GET_WEAKREFS_LISTPTR(o);
  if (!first || !*first) return false;
  PyObject *module = PyImport_ImportModule("_weakref");
  PyObject *list = module ? PyObject_CallMethod(module, "getweakrefs", "O", o) : NULL;
  bool called = false;
  for (Py_ssize_t i = 0; list && PyList_Check(list) && i < PyList_GET_SIZE(list); i++) {
    PyObject *callback = PyObject_GetAttrString(PyList_GET_ITEM(list, i), "__callback__");
    called |= callback && callback != Py_None && !version_watches(callback);
    Py_XDECREF(callback);
  }
  Py_XDECREF(list);
  Py_XDECREF(module);
  error_drop();
  return called;
}

static bool finalizer_is(PyObject *o) {
  PyTypeObject *type = Py_TYPE(o);
  if (PyGen_CheckExact(o)) return python_generator_waits(o);
  return type->tp_finalize || type->tp_del || finalizer_watched(o);
}

typedef struct finalizer_walk {
  int depth, left;
  bool found; /* or there is too much to look at */
} finalizer_walk;

static int finalizer_visit(PyObject *o, void *user);

/* What dies with the object: what nobody else holds. */
static void finalizer_look(PyObject *o, finalizer_walk *w) {
  traverseproc traverse = Py_TYPE(o)->tp_traverse;
  if (!traverse || PyType_Check(o) || PyModule_Check(o) || PyGen_CheckExact(o)) return;
  if (PyTraceBack_Check(o) || PyFrame_Check(o)) return; /* frames that ran hold what others do */
  if (w->depth == FINALIZER_DEPTH || !PyObject_IS_GC(o)) {
    w->found |= w->depth == FINALIZER_DEPTH;
    return;
  }
  w->depth++;
  traverse(o, finalizer_visit, w);
  w->depth--;
}

static int finalizer_visit(PyObject *o, void *user) {
  finalizer_walk *w = user;
  if (w->found || Py_REFCNT(o) > FINALIZER_HOLDERS || PyType_Check(o)) return w->found;
  w->found = w->left-- == 0 || finalizer_is(o);
  if (!w->found) finalizer_look(o, w);
  return w->found;
}

static bool finalizer_runs(PyObject *o) {
  if (finalizer_is(o)) return true;
  if (Py_REFCNT(o) > FINALIZER_HOLDERS) return false;
  finalizer_walk w = {.left = FINALIZER_OBJECTS};
  finalizer_look(o, &w);
  return w.found;
}

/* Is it held by another name or place of the frame, or not by the frame alone? */
static bool finalizer_stays(const tracer *t, const frame *f, const value *v) {
  int held = 0;
  bool slot = false;
  for (Py_ssize_t i = 0; i < t->call.count; i++)
    slot |= t->call.args[i] == v->object;
  for (int32_t i = 0; i < f->code->locals; i++)
    held += f->locals[i] && f->locals[i]->object == v->object;
  for (int32_t i = 0; i < f->sp; i++)
    held += f->stack[i] && f->stack[i]->object == v->object;
  return !slot || held > 1;
}

bool trace_lets_go(tracer *t, const frame *f, const value *v) {
  if (!t->outer.start || f != t->outer.frame || !v || !v->object || trace_pending(t) ||
      finalizer_stays(t, f, v) || !finalizer_runs(v->object))
    return !trace_pending(t);
  if (PyGen_CheckExact(v->object))
    trace_break(t, BREAK_GENERATOR, "a generator that has begun is given up");
  else
    trace_break(t, BREAK_UNKNOWN_CALL, "the finalizer of a %s", Py_TYPE(v->object)->tp_name);
  return false;
}

/* What captured code has read does not say that it keeps it: all items of a list are read with it.
 */
static bool finalizer_breaks(tracer *t, PyObject *before) {
  for (Py_ssize_t i = 0; i < t->call.count; i++)
    if (t->call.args[i] == before) return false;
  if (Py_REFCNT(before) > FINALIZER_HOLDERS || !finalizer_runs(before)) return false;
  trace_break(t, BREAK_UNKNOWN_CALL, "the finalizer of a %s", Py_TYPE(before)->tp_name);
  return true;
}

bool trace_gives_up(tracer *t, PyObject *before, const value *item) {
  /* The frame has it, or captured code has read it and may keep it, as who puts another in its
   * place for a while does. */
  return (before && pointer_map_get(&t->known.wrapped, before)) ||
         trace_gives_up_item(t, before, item);
}

bool trace_gives_up_item(tracer *t, PyObject *before, const value *item) {
  return !before || (item && item->object == before) || !finalizer_breaks(t, before);
}

bool trace_gives_up_items(tracer *t, const value *list, Py_ssize_t from, Py_ssize_t count) {
  const source *s = list->source ? list->source : shadow_model_source(t, list);
  for (Py_ssize_t i = from; s && i < from + count; i++) {
    const value *item = list->seq.items[i];
    bool own = item->object && item->source && item->source->base == s;
    if (own && finalizer_breaks(t, item->object)) return false;
  }
  return true;
}
