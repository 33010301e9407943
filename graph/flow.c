/* The least cut of a graph with capacities (flow.h). */
#include "graph/flow.h"

#include <stdlib.h>
#include <string.h>

#define FLOW_NONE UINT32_MAX

bool flow_init(flow *f, uint32_t nodes) {
  size_t room = (size_t)nodes + 1;
  *f = (flow){.node_count = nodes};
  f->first = malloc(room * sizeof *f->first);
  f->at = malloc(room * sizeof *f->at);
  f->queue = malloc(room * sizeof *f->queue);
  f->level = malloc(room * sizeof *f->level);
  if (!f->first || !f->at || !f->queue || !f->level) return false;
  memset(f->first, 0xff, room * sizeof *f->first);
  return true;
}

void flow_fini(flow *f) {
  free(f->first);
  free(f->at);
  free(f->queue);
  free(f->level);
  free(f->edges);
}

static void flow_link(flow *f, uint32_t from, uint32_t to, double capacity) {
  f->edges[f->edge_count] = (flow_edge){.to = to, .next = f->first[from], .left = capacity};
  f->first[from] = f->edge_count++;
}

bool flow_add(flow *f, uint32_t from, uint32_t to, double capacity) {
  if (f->edge_count + 2 > f->edge_capacity) {
    uint32_t more = f->edge_capacity ? 2 * f->edge_capacity : 64;
    flow_edge *grown = realloc(f->edges, more * sizeof *grown);
    if (!grown) return false;
    f->edges = grown;
    f->edge_capacity = more;
  }
  flow_link(f, from, to, capacity);
  flow_link(f, to, from, 0);
  return true;
}

/* Levels by breadth; false: the sink is not reached any more. */
static bool flow_levels(flow *f, uint32_t source, uint32_t sink) {
  uint32_t head = 0, tail = 0;
  memset(f->level, 0xff, f->node_count * sizeof *f->level);
  f->level[source] = 0;
  f->queue[tail++] = source;
  while (head < tail) {
    uint32_t node = f->queue[head++];
    for (uint32_t e = f->first[node]; e != FLOW_NONE; e = f->edges[e].next) {
      uint32_t to = f->edges[e].to;
      if (f->edges[e].left <= 0 || f->level[to] >= 0) continue;
      f->level[to] = f->level[node] + 1;
      f->queue[tail++] = to;
    }
  }
  return f->level[sink] >= 0;
}

/* One path from the source to the sink, without recursion: `queue` holds its edges. False: there is
 * none left at these levels. */
static bool flow_path(flow *f, uint32_t source, uint32_t sink) {
  uint32_t node = source, depth = 0;
  while (node != sink) {
    uint32_t e = f->at[node];
    while (e != FLOW_NONE &&
           (f->edges[e].left <= 0 || f->level[f->edges[e].to] != f->level[node] + 1))
      e = f->edges[e].next;
    f->at[node] = e;
    if (e != FLOW_NONE) {
      f->queue[depth++] = e;
      node = f->edges[e].to;
    } else if (!depth) {
      return false;
    } else { /* a dead end */
      f->level[node] = -1;
      node = f->edges[f->queue[--depth] ^ 1].to;
    }
  }
  double least = FLOW_ENDLESS;
  for (uint32_t i = 0; i < depth; i++)
    if (f->edges[f->queue[i]].left < least) least = f->edges[f->queue[i]].left;
  for (uint32_t i = 0; i < depth; i++) {
    f->edges[f->queue[i]].left -= least;
    f->edges[f->queue[i] ^ 1].left += least;
  }
  return least < FLOW_ENDLESS; /* else no cut separates the two */
}

void flow_cut(flow *f, uint32_t source, uint32_t sink) {
  bool more = true;
  while (more && flow_levels(f, source, sink)) {
    memcpy(f->at, f->first, f->node_count * sizeof *f->at);
    uint32_t paths = 0;
    while (flow_path(f, source, sink))
      paths++;
    more = paths > 0;
  }
}
