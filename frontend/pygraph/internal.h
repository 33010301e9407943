/* Of captured graphs as Python sees them: what the files of this folder share. */
#ifndef LOOM_FRONTEND_PYGRAPH_INTERNAL_H
#define LOOM_FRONTEND_PYGRAPH_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "graph/graph.h"

/* A copy of a capture's graph, or a region of such a graph. */
typedef struct graph_object {
  PyObject_HEAD const loom_graph *graph; /* &own, or a region of the owner's */
  struct graph_object *owner;            /* of a region (owned); NULL: `captured` is this one's */
  PyObject *name;                        /* "step", "step from line 12" */
  /* What a run of it needs: graph, hosts and late. Of the inputs: the sizes of those that have
   * neither a source nor a constant. And what it may raise: fp_* and warnings. */
  capture captured;
} graph_object;

/* ---- graph_node.c: operations and values of a graph ---- */

extern PyTypeObject loom_graph_node_type, loom_graph_value_type;
PyObject *graph_node_new(graph_object *graph, uint32_t number);
PyObject *graph_value_new(graph_object *graph, loom_value value);

/* ---- graph_object.c: the type frameloom.Graph ---- */

PyObject *graph_node_regions(graph_object *graph, const loom_node *node);
PyObject *graph_value_tuple(graph_object *graph, const loom_value *values, uint32_t count);

#endif
