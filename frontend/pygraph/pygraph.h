/* A captured graph as Python sees it: what a backend written by the user gets. */
#ifndef LOOM_FRONTEND_PYGRAPH_PYGRAPH_H
#define LOOM_FRONTEND_PYGRAPH_PYGRAPH_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"

/* ---- graph_object.c: the type frameloom.Graph ---- */

bool loom_graph_object_init(PyObject *module);
PyObject *graph_object_new(const capture *c, PyObject *name);
/* Takes the graph, which is left empty. */
PyObject *graph_object_of(loom_graph *graph, PyObject *name);
/* Of the capture only the graph, what runs of it need, and which flags and warnings it may raise.
 * NULL with TypeError. */
const capture *graph_object_capture(PyObject *object);
/* The graph of a frameloom.Graph, as long as that lives; NULL with TypeError. */
const loom_graph *graph_object_graph(PyObject *object);

#endif
