/* The least cut of a directed graph with capacities, by Dinic's algorithm (Dinic, "Algorithm for
 * solution of a problem of maximum flow in networks with power estimation", 1970). */
#ifndef LOOM_GRAPH_FLOW_H
#define LOOM_GRAPH_FLOW_H

#include <stdbool.h>
#include <stdint.h>

#define FLOW_ENDLESS 1e30 /* a capacity that no cut may pay */

typedef struct flow_edge {
  uint32_t to, next; /* the next edge of the same node, or UINT32_MAX */
  double left;       /* of its capacity */
} flow_edge;

typedef struct flow {
  uint32_t node_count, edge_count, edge_capacity;
  uint32_t *first, *at, *queue; /* by node: its edges; the one to be tried next; room */
  int32_t *level;               /* by node: edges from the source, -1: not reached */
  flow_edge *edges;             /* each edge and, behind it, its reverse */
} flow;

/* False when out of memory. flow_fini() may follow in either case. */
bool flow_init(flow *f, uint32_t nodes);
void flow_fini(flow *f);
bool flow_add(flow *f, uint32_t from, uint32_t to, double capacity);
/* Afterwards `level` is -1 for the nodes on the side of the sink. */
void flow_cut(flow *f, uint32_t source, uint32_t sink);

#endif
