/* Which groups loom-fuse may make one (fuse.c): the kernel of both has one iteration space, reads
 * each value in the way that it is made, keeps to what a kernel bears, and no path leads from one
 * group to the other through a third.
 */
#include "dialects/ir.h"
#include "passes/fuse.h"
#include "passes/passes.h"

#define FUSE_MAX_BUFFERS 48

/* Sizes of `space` without `axes`. */
static loom_type legal_reduced(const loom_type *space, uint32_t axes) {
  loom_type out = {.dtype = space->dtype};
  for (int i = 0; i < space->rank; i++)
    if (!(axes >> i & 1)) out.dims[out.rank++] = space->dims[i];
  return out;
}

/* Are the reduced axes the last ones, with rows enough for the threads or so little work that it
 * does not matter? Then a row can be visited again while it is in the cache. (Columns are not worth
 * it: a block of them that fits a cache is read in short pieces far apart, which costs several
 * times what reading all of the array once more does.) */
static bool legal_rows(const loom_type *space, uint32_t axes) {
  int64_t rows = 1, total = 1;
  bool inner = false;
  for (int i = 0; i < space->rank; i++) {
    if (axes >> i & 1)
      inner = true;
    else if (inner)
      return false;
    else
      rows = loom_num_mul(rows, loom_num_dim(space->dims[i]));
    total = loom_num_mul(total, loom_num_dim(space->dims[i]));
  }
  return loom_num_high(total) <= FUSE_SMALL || loom_num_hint(rows) >= 8;
}

/* The last node in each group or in what it depends on: groups are computed as a whole, so that one
 * may depend on nodes behind its own. To a fixed point; merging only ever raises it. */
static void legal_deepen(fuse_state *s) {
  bool changed = true;
  if (s->deep) return;
  s->deep = true;
  for (int g = 0; g < s->count; g++)
    s->groups[g].deep = s->groups[g].max;
  while (changed) {
    changed = false;
    for (int n = 0; n < s->count; n++) {
      const fuse_node *node = &s->nodes[n];
      if (node->free) continue;
      for (int e = 0; e < node->edge_count; e++) {
        int p = s->nodes[s->edges[node->first_edge + e].producer].group;
        if (s->groups[p].deep <= s->groups[node->group].deep) continue;
        s->groups[node->group].deep = s->groups[p].deep;
        changed = true;
      }
    }
  }
}

/* Is there a path from group `from` to group `to` through a third? Walks backwards from `to`;
 * groups that need nothing from where `from` begins cannot depend on it. */
static bool legal_path_between(fuse_state *s, int from, int to) {
  int top = 0, mark = ++s->mark;
  legal_deepen(s);
  s->stack[top++] = to;
  s->groups[to].mark = mark;
  while (top) {
    int g = s->stack[--top];
    for (int n = s->groups[g].head; n >= 0; n = s->nodes[n].next)
      for (int e = 0; e < s->nodes[n].edge_count; e++) {
        int p = s->nodes[s->edges[s->nodes[n].first_edge + e].producer].group;
        if (p == from && g != to) return true;
        if (p == from || s->groups[p].mark == mark || s->groups[p].deep < s->groups[from].min)
          continue;
        s->groups[p].mark = mark;
        s->stack[top++] = p;
      }
  }
  return false;
}

bool fuse_direct_path(fuse_state *s, int from, int to) {
  for (int n = s->groups[to].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++)
      if (s->nodes[s->edges[s->nodes[n].first_edge + e].producer].group == from) return true;
  return false;
}

/* What two groups would be together. Node levels follow from the sizes. */
static bool legal_join(const fuse_group *a, const fuse_group *b, fuse_group *out) {
  *out = *a;
  if (a->kind == FUSE_POINTWISE && b->kind == FUSE_POINTWISE)
    return fuse_same_sizes(&a->space, &b->space);
  if (a->kind == FUSE_REDUCE && b->kind == FUSE_REDUCE)
    return a->axes == b->axes && fuse_same_sizes(&a->space, &b->space);
  if (a->kind == FUSE_REDUCE && b->kind == FUSE_POINTWISE) {
    loom_type reduced = legal_reduced(&a->space, a->axes);
    return fuse_same_sizes(&reduced, &b->space) || fuse_same_sizes(&a->space, &b->space);
  }
  if (a->kind == FUSE_UPDATES && b->kind == FUSE_UPDATES) return true;
  if ((a->kind == FUSE_DOT || a->kind == FUSE_SCAN) && b->kind == FUSE_POINTWISE)
    return fuse_same_sizes(&a->space, &b->space);
  *out = *b;
  if (a->kind == FUSE_POINTWISE && (b->kind == FUSE_REDUCE || b->kind == FUSE_SCAN))
    return fuse_same_sizes(&a->space, &b->space);
  return false;
}

static bool legal_node_is_full(const fuse_group *g, const fuse_node *node) {
  return node->class != LOOM_CLASS_REDUCE && fuse_same_sizes(&g->space, &node->type);
}

bool fuse_is_back_broadcast(const fuse_group *g, MlirOperation op) {
  int64_t dims[LOOM_MAX_RANK];
  loom_type type;
  if (!op.ptr || !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type) ||
      !fuse_same_sizes(&type, &g->space))
    return false;
  intptr_t count = loom_get_i64s(op, "dims", dims, LOOM_MAX_RANK);
  intptr_t at = 0;
  for (int i = 0; i < g->space.rank; i++)
    if (!(g->axes >> i & 1) && (at >= count || dims[at++] != i)) return false;
  return at == count;
}

static bool legal_edge_fits(const fuse_state *s, const fuse_group *g, const fuse_edge *edge) {
  const fuse_node *producer = &s->nodes[edge->producer], *user = &s->nodes[edge->user];
  if (g->kind == FUSE_UPDATES) return fuse_updates_fit(producer->op, user->op);
  if (edge->via == FUSE_BUFFER) return false;
  if (g->kind != FUSE_REDUCE) return edge->via == FUSE_DIRECT;
  bool from_full = legal_node_is_full(g, producer);
  bool to_full = user->class == LOOM_CLASS_REDUCE || legal_node_is_full(g, user);
  if (edge->via == FUSE_DIRECT) return from_full == to_full;
  return !from_full && to_full && edge->via == FUSE_BROADCAST && legal_rows(&g->space, g->axes) &&
         fuse_is_back_broadcast(g, edge->broadcast);
}

/* Every edge between the two groups must fit the joint group. */
static bool legal_edges_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  for (int n = s->groups[b].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++) {
      const fuse_edge *edge = &s->edges[s->nodes[n].first_edge + e];
      if (s->nodes[edge->producer].group == a && !legal_edge_fits(s, g, edge)) return false;
    }
  return true;
}

/* Does a value of this node leave groups `a` and `b`? */
static bool legal_leaves(const fuse_state *s, int n, int a, int b) {
  if (s->nodes[n].returned) return true;
  for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
    int user = s->nodes[s->edges[e].user].group;
    if (user != a && user != b) return true;
  }
  return false;
}

bool fuse_is_stored(const fuse_state *s, int n, int a, int b) {
  bool read = s->nodes[n].first_use >= 0;
  return legal_leaves(s, n, a, b) || (!read && loom_checks_indices(s->nodes[n].op));
}

/* A full-size value may leave a reduce group only when it goes by rows. */
static bool legal_yields_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind != FUSE_REDUCE || legal_rows(&g->space, g->axes)) return true;
  int both[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next)
      if (legal_node_is_full(g, &s->nodes[n]) && legal_leaves(s, n, a, b)) return false;
  return true;
}

/* Lanes do not run along the axis of a scan: where that is the last one, every element is taken for
 * itself, and costly ops are better off in a kernel of their own. */
static bool legal_costs_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind != FUSE_SCAN || !(g->axes >> (g->space.rank - 1) & 1)) return true;
  int both[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next)
      if (s->nodes[n].cost >= FUSE_COSTLY) return false;
  return true;
}

/* A group that can be computed again everywhere is better off so than stored by the first reduction
 * that reads it, when others read it too. */
static bool legal_should_wait(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind == FUSE_POINTWISE || !fuse_can_dissolve(s, a)) return false;
  for (int n = s->groups[a].head; n >= 0; n = s->nodes[n].next)
    if (legal_leaves(s, n, a, b)) return true;
  return false;
}

/* Is all that `b` reads of product `a` stored anyway, for others? Then nothing is gained by storing
 * what `b` computes besides: a reduction that reads it may compute it on the way. */
static bool legal_is_stored_anyway(const fuse_state *s, int a, int b) {
  for (int n = s->groups[b].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++) {
      int p = s->edges[s->nodes[n].first_edge + e].producer;
      if (s->nodes[p].group == a && !legal_leaves(s, p, a, b)) return false;
    }
  return true;
}

/* Collects the distinct values from outside, and views of them, that computing `value` in the
 * group(s) reads: a view becomes strides of a buffer of its own. False when they are too many. */
static bool legal_count_inputs(const fuse_state *s, MlirValue value, int a, int b,
                               const void **seen, int *count) {
  MlirValue read = value;
  int n = fuse_node_of(s, value);
  while (n >= 0 && s->nodes[n].free && s->nodes[n].class == LOOM_CLASS_VIEW) {
    value = loom_operand(s->nodes[n].op, 0);
    n = fuse_node_of(s, value);
  }
  if (n >= 0 && s->nodes[n].free) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(s->nodes[n].op); i++)
      if (!legal_count_inputs(s, loom_operand(s->nodes[n].op, i), a, b, seen, count)) return false;
    return true;
  }
  if (n >= 0 && (s->nodes[n].group == a || s->nodes[n].group == b)) return true;
  for (int i = 0; i < *count; i++)
    if (seen[i] == read.ptr) return true;
  if (*count == FUSE_MAX_BUFFERS) return false;
  seen[(*count)++] = read.ptr;
  return true;
}

bool fuse_buffers_fit(const fuse_state *s, int a, int b) {
  const void *seen[FUSE_MAX_BUFFERS];
  int inputs = 0, outputs = 0, both[] = {a, b};
  if (!s->wide && !s->dissolved && s->groups[a].count + s->groups[b].count <= FUSE_MAX_BUFFERS / 4)
    return true;
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next) {
      outputs += fuse_is_stored(s, n, a, b);
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(s->nodes[n].op); i++)
        if (!legal_count_inputs(s, loom_operand(s->nodes[n].op, i), a, b, seen, &inputs))
          return false;
    }
  return inputs + outputs <= FUSE_MAX_BUFFERS;
}

const char *fuse_obstacle(fuse_state *s, int a, int b, bool related, fuse_group *joint) {
  fuse_group *ga = &s->groups[a], *gb = &s->groups[b];
  if (a == b || !ga->count || !gb->count) return "they are in one already";
  if (ga->count + gb->count > s->max_ops) return "both have more ops than a kernel may have";
  if (ga->kind == FUSE_ALONE || gb->kind == FUSE_ALONE) return "one has a kernel of its own";
  if (!fuse_constants_fit(ga, gb)) return "one is computed once, the other at each call";
  if (!legal_join(ga, gb, joint) && (related || !legal_join(gb, ga, joint)))
    return "they have other sizes or reduced axes";
  if (!legal_edges_fit(s, a, b, joint))
    return "a value is read in another way than it is made, or has to lie in memory";
  if (!legal_yields_fit(s, a, b, joint))
    return "a value of full size would leave a reduction that goes by columns";
  if (!legal_costs_fit(s, a, b, joint)) return "a scan of rows takes costly ops one by one";
  if (!fuse_tail_fits(s, a, b, joint))
    return "what is computed of the result of each short row would be computed without lanes";
  if (!fuse_reductions_fit(s, a, b, joint)) return "their reductions do not fit one kernel";
  if (related && legal_should_wait(s, a, b, joint))
    return "it is cheaper to compute it again for each reader";
  if (s->patient && joint->kind == FUSE_DOT && legal_is_stored_anyway(s, a, b))
    return "the product is stored anyway, for others";
  if (legal_path_between(s, a, b) || (!related && legal_path_between(s, b, a)))
    return "a third kernel has to run between them";
  return fuse_buffers_fit(s, a, b) ? NULL : "a kernel of both would take too many buffers";
}

bool fuse_may_merge(fuse_state *s, int a, int b, bool related, fuse_group *joint) {
  return !fuse_obstacle(s, a, b, related, joint);
}
