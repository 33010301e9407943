/* Cheap pointwise ops that are computed again where they are used, for loom-fuse (fuse.c). */
#include "loom_ops_shapes.h"
#include "passes/fuse.h"

/* Ops dissolved one into another: bounds the depth of what follows them. */
#define FUSE_MAX_INSIDE 64
#define FUSE_MAX_DISSOLVED 12 /* cost of what is computed again */
/* Ops that put arrays together, one inside another: as many as boxes (lower_box.c) are found for.
 */
#define FUSE_MAX_PIECES 13
#define FUSE_PIECES 4 /* operands of each of them */

static bool dissolve_is_piece(const fuse_node *node) {
  return (loom_is(node->op, LOOM_OP_CONCATENATE) || loom_is(node->op, LOOM_OP_PAD)) &&
         mlirOperationGetNumOperands(node->op) <= FUSE_PIECES;
}

/* Is the node a part of one concatenation, and of nothing else? Then each of its elements is asked
 * for where it goes, and it need not lie in memory before. */
static bool dissolve_is_part(const fuse_state *s, const fuse_node *node) {
  if (!dissolve_is_piece(node) || node->first_use < 0) return false;
  const fuse_edge *edge = &s->edges[node->first_use];
  const fuse_node *user = &s->nodes[edge->user];
  return edge->next_use < 0 && loom_is(user->op, LOOM_OP_CONCATENATE) && dissolve_is_piece(user) &&
         node->ops + user->ops <= FUSE_MAX_PIECES;
}

/* May the op be computed where it is used? Elements that are gathered for a scatter are so. */
static bool dissolve_can_move(const fuse_state *s, int n) {
  const fuse_node *node = &s->nodes[n];
  if (node->class == LOOM_CLASS_POINTWISE || dissolve_is_part(s, node)) return true;
  for (int e = node->first_use; e >= 0; e = s->edges[e].next_use) {
    const fuse_node *user = &s->nodes[s->edges[e].user];
    if (user->group != node->group &&
        !(user->class == LOOM_CLASS_ALONE && loom_info(user->op)->indexed))
      return false;
  }
  return node->class == LOOM_CLASS_MOVE && loom_info(node->op)->indexed;
}

/* May the group be computed again inside each of its users? Not when an exception would be lost or
 * made up: where only some elements are asked for and one of the others would have raised it, or
 * where zeros stand for elements that do not exist and raise it (1 / 0, log 0). */
bool fuse_can_dissolve(const fuse_state *s, int g) {
  const fuse_group *group = &s->groups[g];
  const uint32_t matters = LOOM_FP_DIVIDE | LOOM_FP_OVERFLOW | LOOM_FP_INVALID;
  int cost = 0, uses = 0, inputs = 0, ops = 0;
  uint32_t fp = 0;
  bool viewed = false, at_zero = false, parts = true;
  if (group->kind != FUSE_POINTWISE || !group->count || fuse_constants_stay(s, g)) return false;
  for (int n = group->head; n >= 0; n = s->nodes[n].next) {
    const fuse_node *node = &s->nodes[n];
    if (node->returned || node->watched || !dissolve_can_move(s, n)) return false;
    parts &= dissolve_is_part(s, node);
    cost += node->cost;
    ops += node->ops;
    fp |= node->fp;
    at_zero |= (node->fp & LOOM_FP_DIVIDE) || node->fp == LOOM_FP_INVALID;
    for (int e = 0; e < node->edge_count; e++)
      inputs += s->nodes[s->edges[node->first_edge + e].producer].group != g;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op); i++)
      inputs += mlirValueIsABlockArgument(loom_operand(node->op, i)) &&
                mlirShapedTypeGetRank(mlirValueGetType(loom_operand(node->op, i))) > 0;
  }
  for (int n = group->head; n >= 0; n = s->nodes[n].next)
    for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
      const fuse_edge *edge = &s->edges[e];
      if (s->nodes[edge->user].group == g) continue;
      bool packed = s->nodes[edge->user].class == LOOM_CLASS_DOT;
      if (edge->via == FUSE_BUFFER || (edge->partial && (fp & matters)) ||
          (edge->guarded && at_zero))
        return false;
      if (!fuse_buffers_fit(s, g, s->nodes[edge->user].group)) return false;
      viewed |= edge->via == FUSE_VIEWED || (packed && edge->via == FUSE_DIRECT);
      uses++;
    }
  if (!uses || ops > FUSE_MAX_INSIDE) return false;
  return parts || (uses == 1 && viewed) || (inputs <= 2 && cost * uses <= FUSE_MAX_DISSOLVED);
}

static bool dissolve_feeds_product(const fuse_state *s, int g) {
  for (int n = s->groups[g].head; n >= 0; n = s->nodes[n].next)
    for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use)
      if (s->nodes[s->edges[e].user].class == LOOM_CLASS_DOT) return true;
  return false;
}

/* The edges of what a node reads are no uses any more. */
static void dissolve_unlink(fuse_state *s, int n) {
  fuse_node *node = &s->nodes[n];
  for (int e = node->first_edge; e < node->first_edge + node->edge_count; e++) {
    const fuse_edge *edge = &s->edges[e];
    if (edge->previous_use >= 0)
      s->edges[edge->previous_use].next_use = edge->next_use;
    else if (s->nodes[edge->producer].first_use == e)
      s->nodes[edge->producer].first_use = edge->next_use;
    if (edge->next_use >= 0) s->edges[edge->next_use].previous_use = edge->previous_use;
  }
  node->edge_count = 0;
}

/* Has a node edges that do not follow from what it reads (graph_add_order in fuse_graph.c)? */
static bool dissolve_is_ordered(const fuse_state *s, int n) {
  return s->watches && loom_get_attr(s->nodes[n].op, loom_mark_inplace).ptr;
}

/* Finds the edges around a dissolved group again: finding all of them for each group would take the
 * square of the program. */
static void dissolve_edges(fuse_state *s, int head) {
  for (int n = head; n >= 0; n = s->nodes[n].next)
    dissolve_unlink(s, n);
  for (int n = head; n >= 0; n = s->nodes[n].next)
    while (s->nodes[n].first_use >= 0 && !s->out_of_memory) {
      int user = s->edges[s->nodes[n].first_use].user;
      if (dissolve_is_ordered(s, user)) {
        fuse_find_edges(s);
        return;
      }
      dissolve_unlink(s, user);
      fuse_find_reads(s, user);
    }
}

static void dissolve_one(fuse_state *s, int g) {
  int cost = 0, ops = 0, head = s->groups[g].head;
  uint32_t fp = 0;
  s->dissolved = true;
  for (int n = head; n >= 0; n = s->nodes[n].next) {
    cost += s->nodes[n].cost;
    ops += s->nodes[n].ops;
    fp |= s->nodes[n].fp;
  }
  for (int n = head; n >= 0; n = s->nodes[n].next) {
    s->nodes[n].free = true;
    for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
      s->nodes[s->edges[e].user].cost += cost;
      s->nodes[s->edges[e].user].ops += ops;
      s->nodes[s->edges[e].user].fp |= fp;
    }
  }
  s->groups[g].count = 0;
  s->groups[g].head = -1;
  dissolve_edges(s, head);
}

bool fuse_dissolve(fuse_state *s) {
  bool changed = false;
  for (int g = 0; g < s->count; g++) {
    if (!fuse_can_dissolve(s, g) || (s->patient && dissolve_feeds_product(s, g))) continue;
    dissolve_one(s, g);
    changed = true;
  }
  if (changed) fuse_find_edges(s);
  return changed;
}
