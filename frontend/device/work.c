/* How much work a graph is, as Python asks it to choose between the host and a device. */
#include "graph/work.h"
#include "frontend/device/device.h"
#include "frontend/pygraph/pygraph.h"

/* graph_work(graph, symbols): (bytes, operations, kernels, is the count of a loop a guess?) */
PyObject *loom_py_graph_work(PyObject *module, PyObject *args) {
  PyObject *object, *symbols;
  if (!PyArg_ParseTuple(args, "OO!", &object, &PyTuple_Type, &symbols)) return NULL;
  const loom_graph *graph = graph_object_graph(object);
  if (!graph) return NULL;
  int64_t sizes[LOOM_MAX_SYMBOLS] = {0};
  Py_ssize_t count = PyTuple_GET_SIZE(symbols);
  for (Py_ssize_t i = 0; i < count && i < LOOM_MAX_SYMBOLS; i++)
    sizes[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(symbols, i));
  if (PyErr_Occurred()) return NULL;
  loom_work work;
  if (!loom_graph_work(graph, sizes, &work)) return PyErr_NoMemory();
  return Py_BuildValue("dddN", work.bytes, work.operations, work.kernels,
                       PyBool_FromLong(work.guessed));
}
