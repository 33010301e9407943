/* The graph that loom-fuse works on (fuse.c): an edge from each op to each op that reads its value,
 * with how the value is reached through the views between them (fuse_via).
 *
 * Views, constants and dissolved ops are no ends of edges: they are made anew in each group that
 * reads them, so that an edge goes past them to what they are made of. Edges of order have no
 * value. They keep ops outside of groups in their order, an op that overwrites an array after its
 * other readers, and an op with a size that a host call reports after that call.
 */
#include <stdlib.h>

#include "dialects/ir.h"
#include "loom_ops_shapes.h"
#include "passes/fuse.h"
#include "passes/passes.h"

#define FUSE_WIDE_UPDATE 16 /* elements that a scatter applies at one index */

bool fuse_same_sizes(const loom_type *a, const loom_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

int fuse_node_of(const fuse_state *s, MlirValue value) {
  MlirOperation def = loom_def(value);
  return def.ptr ? (int)loom_map_get(&s->index, def.ptr, -1) : -1;
}

static void graph_add_edge(fuse_state *s, fuse_edge edge) {
  if (!loom_grow(&s->edges, (size_t)s->edge_count, &s->edge_capacity, sizeof *s->edges)) {
    s->out_of_memory = true;
    return;
  }
  edge.previous_use = -1;
  edge.next_use = s->nodes[edge.producer].first_use;
  if (edge.next_use >= 0) s->edges[edge.next_use].previous_use = s->edge_count;
  s->nodes[edge.producer].first_use = s->edge_count;
  s->edges[s->edge_count++] = edge;
}

/* How reading through view `op` changes the way a value is reached. */
static fuse_via graph_through(fuse_via via, MlirOperation op, MlirOperation *broadcast) {
  if (via == FUSE_BUFFER) return via;
  switch (loom_op_of(op)) {
  case LOOM_OP_BROADCAST:
    *broadcast = op;
    return via == FUSE_DIRECT ? FUSE_BROADCAST : FUSE_EXPANDED;
  case LOOM_OP_RESHAPE:
    if (fuse_is_unit_reshape(op)) break;
    return FUSE_BUFFER;
  case LOOM_OP_WINDOWS: return FUSE_EXPANDED;
  default: break;
  }
  return via == FUSE_DIRECT || via == FUSE_VIEWED ? FUSE_VIEWED : FUSE_EXPANDED;
}

/* Does the view leave out elements of its operand? Windows may, by their strides and at the end of
 * a dimension. */
static bool graph_is_partial(const fuse_node *view) {
  loom_type type;
  if (loom_is(view->op, LOOM_OP_WINDOWS)) return true;
  return loom_is(view->op, LOOM_OP_SLICE) &&
         (!loom_type_from_mlir(mlirValueGetType(loom_operand(view->op, 0)), &type) ||
          loom_num_elements(&type) != loom_num_elements(&view->type));
}

/* Node `user` comes behind `before`, of which it reads nothing: this is no use of a value, and
 * nothing is yielded for it. */
static void graph_add_order_edge(fuse_state *s, int before, int user) {
  int first = s->nodes[before].first_use;
  graph_add_edge(s, (fuse_edge){.producer = before, .user = user, .via = FUSE_BUFFER});
  if (s->out_of_memory) return;
  s->edges[s->edge_count - 1].next_use = -1;
  if (first >= 0) s->edges[first].previous_use = -1;
  s->nodes[before].first_use = first;
}

/* The sizes of what node `user` makes or reads have to be known before it. */
static void graph_need_size(fuse_state *s, MlirValue value, int user) {
  int32_t call = loom_late_value(&s->late, value);
  int before = call ? (int)loom_map_get(&s->index, s->late.calls[call - 1].ptr, -1) : -1;
  if (before >= 0 && before != user) graph_add_order_edge(s, before, user);
}

static fuse_via graph_reads(const fuse_node *node, intptr_t i);

/* Adds the edges from what a value is made of to `edge.user`; `edge` says how the value is read. */
static void graph_trace(fuse_state *s, MlirValue value, fuse_edge edge) {
  for (;;) {
    int n = fuse_node_of(s, value);
    const fuse_node *node = n < 0 ? NULL : &s->nodes[n];
    graph_need_size(s, value, edge.user);
    if (s->watches && (!node || !node->free)) fuse_note_read(s, value, edge.user);
    if (!node) return;
    if (!node->free) {
      edge.producer = n;
      graph_add_edge(s, edge);
      return;
    }
    if (node->class != LOOM_CLASS_VIEW) { /* dissolved: its cost bounds the depth */
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op); i++) {
        fuse_edge inner = edge;
        if (graph_reads(node, i) == FUSE_BUFFER) inner.via = FUSE_BUFFER;
        graph_trace(s, loom_operand(node->op, i), inner);
      }
      return;
    }
    edge.via = graph_through(edge.via, node->op, &edge.broadcast);
    edge.partial |= graph_is_partial(node);
    value = loom_operand(node->op, 0);
  }
}

/* A convolution packs what its windows read just before it is used, an element as often as windows
 * overlap; its weights lie in memory. */
static fuse_via graph_reads_factor(const fuse_node *node, intptr_t i) {
  loom_type weights;
  if (!loom_info(node->op)->windowed) return FUSE_DIRECT;
  if (i == 1 || !loom_type_from_mlir(mlirValueGetType(loom_operand(node->op, 1)), &weights))
    return FUSE_BUFFER;
  for (int d = 2; d < weights.rank; d++)
    if (weights.dims[d] > 1) return FUSE_EXPANDED;
  return FUSE_DIRECT;
}

/* A scatter applies each update once; it looks at each index of a slice in every chunk, which is
 * little beside a wide update, and at each index of an element once. */
static fuse_via graph_reads_scatter(const fuse_node *node, intptr_t i) {
  loom_type types[3];
  if (i == 2) return FUSE_VIEWED;
  if (i == 0) return FUSE_BUFFER;
  for (int k = 0; k < 3; k++)
    if (!loom_type_from_mlir(mlirValueGetType(loom_operand(node->op, k)), &types[k]))
      return FUSE_BUFFER;
  if (loom_scatter_is_along(&types[0], &types[1], &types[2])) return FUSE_VIEWED;
  int64_t wide = loom_num_hint(loom_num_elements(&types[2])) / FUSE_WIDE_UPDATE;
  return loom_num_hint(loom_num_elements(&types[1])) <= wide ? FUSE_VIEWED : FUSE_BUFFER;
}

/* How operand `i` is read. A dot_general packs its operands once, so that any of them can be
 * computed on the way; moves read at indices of their own, and compute what they select from. */
static fuse_via graph_reads(const fuse_node *node, intptr_t i) {
  loom_type type;
  switch (node->class) {
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_REDUCE:
  case LOOM_CLASS_SCAN: return FUSE_DIRECT;
  case LOOM_CLASS_DOT: return graph_reads_factor(node, i);
  case LOOM_CLASS_ALONE:
    return loom_info(node->op)->indexed ? graph_reads_scatter(node, i) : FUSE_BUFFER;
  case LOOM_CLASS_MOVE: break;
  default: return FUSE_BUFFER;
  }
  if (loom_info(node->op)->indexed && i == 0) return FUSE_BUFFER;
  if (loom_info(node->op)->updates && i == 0) {
    /* What is replaced as a whole would not be computed, and its exceptions lost. */
    loom_type all;
    bool known = loom_type_from_mlir(mlirValueGetType(loom_operand(node->op, 1)), &all);
    return known && fuse_same_sizes(&all, &node->type) ? FUSE_BUFFER : FUSE_DIRECT;
  }
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(node->op, i)), &type)) return FUSE_BUFFER;
  int64_t elements = loom_num_hint(loom_num_elements(&type));
  return loom_num_hint(loom_num_elements(&node->type)) <= 2 * elements ? FUSE_VIEWED
                                                                       : FUSE_EXPANDED;
}

/* All that reads what node `n` overwrites comes first. */
static void graph_add_order(fuse_state *s, int n) {
  for (int at = -2, user; (user = fuse_next_reader(s, n, &at)) >= 0;) {
    if (user != n) graph_add_order_edge(s, user, n);
  }
}

static void graph_forget_reads(fuse_state *s) {
  s->read_count = 0;
  for (int n = 0; n < s->count && s->watches; n++)
    if (!fuse_watch(s, n)) s->out_of_memory = true;
}

void fuse_find_reads(fuse_state *s, int n) {
  fuse_node *node = &s->nodes[n];
  bool windowed = loom_info(node->op)->windowed;
  node->first_edge = s->edge_count;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op); i++)
    graph_trace(s, loom_operand(node->op, i),
                (fuse_edge){.user = n,
                            .via = graph_reads(node, i),
                            .partial = windowed,
                            .guarded = node->class == LOOM_CLASS_MOVE || windowed});
  for (intptr_t i = 0; i < mlirOperationGetNumResults(node->op); i++)
    graph_need_size(s, loom_result(node->op, i), n);
  node->edge_count = s->edge_count - node->first_edge;
}

void fuse_find_edges(fuse_state *s) {
  s->deep = false;
  s->edge_count = 0;
  for (int n = 0; n < s->count; n++)
    s->nodes[n].first_use = -1;
  graph_forget_reads(s);
  int last_stays = -1;
  for (int n = 0; n < s->count; n++) {
    fuse_node *node = &s->nodes[n];
    node->edge_count = 0;
    if (node->free) continue;
    fuse_find_reads(s, n);
    if (s->watches && loom_get_attr(node->op, loom_mark_inplace).ptr) graph_add_order(s, n);
    if (s->groups[node->group].kind == FUSE_STAYS) {
      if (last_stays >= 0)
        graph_add_edge(s, (fuse_edge){.producer = last_stays, .user = n, .via = FUSE_BUFFER});
      last_stays = n;
    }
    node->edge_count = s->edge_count - node->first_edge;
  }
}
