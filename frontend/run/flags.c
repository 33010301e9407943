/* Floating-point flags of a graph that runs where there are none: on a device. Would anybody see
 * the warnings that stand for them, and has an operation raised one? The witness tells, a graph
 * that the device runs on the same inputs. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/pygraph/pygraph.h"
#include "frontend/run/internal.h"
#include "frontend/run/run.h"

/* The flags of which somebody would see a warning; -1: the library has to run, since it does
 * something else than to warn, or since it is not known what it would do. */
static int flags_seen(const capture *c, PyObject *globals) {
  uint32_t shown[WITNESS_ROWS], reported, seen;
  const loom_adapter *adapter = loom_adapters()[0];
  uint32_t flags = c->fp_ops & 15u;
  if (!flags) return 0;
  if (flags & c->fp_reported || c->warning_count > WITNESS_ROWS) return -1;
  int matters = adapter->flags_matter(flags);
  if (matters <= 0) {
    if (matters < 0) error_drop();
    return matters;
  }
  if (!adapter->warnings_shown(c, globals, flags, NULL, &reported, shown)) return -1;
  seen = reported & c->fp_untold;
  for (uint32_t i = 0; i < c->warning_count; i++)
    seen |= shown[i];
  return (int)seen;
}

/* graph_flags(graph, globals) */
PyObject *loom_py_graph_flags(PyObject *module, PyObject *args) {
  PyObject *object, *globals;
  if (!PyArg_ParseTuple(args, "OO!", &object, &PyDict_Type, &globals)) return NULL;
  const capture *c = graph_object_capture(object);
  return c ? PyLong_FromLong(flags_seen(c, globals)) : NULL;
}

/* graph_witness(graph, flags): a graph of the same inputs whose one result is a bool: may an
 * operation have raised one of these flags? None: that cannot be told. */
PyObject *loom_py_graph_witness(PyObject *module, PyObject *args) {
  PyObject *object;
  unsigned flags;
  if (!PyArg_ParseTuple(args, "OI", &object, &flags)) return NULL;
  const capture *c = graph_object_capture(object);
  if (!c) return NULL;
  if (c->warning_count > WITNESS_ROWS) Py_RETURN_NONE;
  uint32_t shown[WITNESS_ROWS];
  witness_cover cover;
  loom_graph graph;
  for (uint32_t i = 0; i < c->warning_count; i++)
    shown[i] = c->warnings[i].flags & flags;
  bool good = witness_graph(c, flags, shown, &cover, &graph);
  good = good && !(c->fp_untold & flags & ~cover.untold);
  for (uint32_t i = 0; good && i < c->warning_count; i++)
    good = !(shown[i] & ~cover.rows[i]);
  PyObject *name = good ? PyUnicode_FromString("which operations raise flags") : NULL;
  PyObject *made = name ? graph_object_of(&graph, name) : NULL;
  Py_XDECREF(name);
  loom_graph_fini(&graph);
  return made || PyErr_Occurred() ? made : Py_NewRef(Py_None);
}
