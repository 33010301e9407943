/* The moves of loom-fuse (fuse.c), in their order: ops go to what makes their operands
 * (vertically), cheap groups are computed again where they are used (fuse_dissolve.c), and what is
 * left over is gathered with neighbours of the same iteration space (horizontally).
 *
 * Each merge or dissolution removes a group, so that the moves end.
 */
#include "dialects/ir.h"
#include "passes/fuse.h"
#include "passes/passes.h"

/* Groups that depend on `g` depend on what it depends on. */
static void moves_deepen_users(fuse_state *s, int g) {
  int top = 0;
  s->stack[top++] = g;
  while (top) {
    const fuse_group *group = &s->groups[s->stack[--top]];
    s->groups[s->stack[top]].raised = false;
    for (int n = group->head; n >= 0; n = s->nodes[n].next)
      for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
        int user = s->nodes[s->edges[e].user].group;
        if (s->groups[user].deep >= group->deep) continue;
        s->groups[user].deep = group->deep;
        if (!s->groups[user].raised) s->stack[top++] = user;
        s->groups[user].raised = true;
      }
  }
}

static void moves_merge(fuse_state *s, int a, int b, const fuse_group *joint) {
  fuse_group *into = &s->groups[a], *from = &s->groups[b];
  int deep = into->deep > from->deep ? into->deep : from->deep;
  into->deep = from->deep = deep;
  for (int n = from->head; n >= 0; n = s->nodes[n].next)
    s->nodes[n].group = a;
  s->nodes[into->tail].next = from->head;
  into->tail = from->tail;
  into->count += from->count;
  into->min = from->min < into->min ? from->min : into->min;
  into->max = from->max > into->max ? from->max : into->max;
  into->kind = joint->kind;
  into->space = joint->space;
  into->axes = joint->axes;
  into->once |= from->once;
  into->varies |= from->varies;
  from->head = -1;
  from->count = 0;
  if (s->deep) moves_deepen_users(s, a);
}

static bool moves_try_merge(fuse_state *s, int a, int b, bool related) {
  fuse_group joint;
  if (!fuse_may_merge(s, a, b, related, &joint)) return false;
  moves_merge(s, a, b, &joint);
  return true;
}

/* The last producer of a node in front of node `limit`, or -1. */
static int moves_producer_before(const fuse_state *s, const fuse_node *node, int limit) {
  int last = -1;
  for (int e = 0; e < node->edge_count; e++) {
    int producer = s->edges[node->first_edge + e].producer;
    if (producer < limit && producer > last) last = producer;
  }
  return last;
}

/* Later producers first: of a sum of products, each is added by the product that comes last. All
 * added by one would have to be there at once. */
static bool moves_vertically(fuse_state *s) {
  bool changed = false;
  for (int n = 0; n < s->count; n++) {
    const fuse_node *node = &s->nodes[n];
    if (node->free || s->groups[node->group].kind == FUSE_STAYS) continue;
    for (int p = moves_producer_before(s, node, n); p >= 0; p = moves_producer_before(s, node, p))
      changed |= moves_try_merge(s, s->nodes[p].group, node->group, true);
  }
  return changed;
}

/* Does group `b` read a value that group `a` reads? What `a` reads is noted in s->readers first. */
static bool moves_share_input(fuse_state *s, int a, int b) {
  int both[] = {a, b};
  for (int k = s->reader == a; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next)
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(s->nodes[n].op); i++) {
        MlirValue value = loom_operand(s->nodes[n].op, i);
        if (k && loom_map_get(&s->readers, value.ptr, -1) == a) return true;
        if (!k && !loom_map_put(&s->readers, value.ptr, a)) s->out_of_memory = true;
      }
  s->reader = a;
  return false;
}

/* Siblings: groups of one space that share an input, or are so small that a launch costs more than
 * the work. */
static bool moves_horizontally(fuse_state *s) {
  const int window = 16;
  bool changed = false;
  for (int a = 0; a < s->count; a++) {
    if (!s->groups[a].count || s->groups[a].kind > FUSE_REDUCE) continue;
    for (int b = a + 1, seen = 0; b < s->count && seen < window; b++) {
      if (!s->groups[b].count || s->groups[b].kind > FUSE_REDUCE) continue;
      seen++;
      if (fuse_direct_path(s, a, b) || fuse_direct_path(s, b, a)) continue;
      int64_t elements = loom_num_high(loom_num_elements(&s->groups[a].space));
      if (elements > FUSE_SMALL && !moves_share_input(s, a, b)) continue;
      if (!moves_try_merge(s, a, b, false)) continue;
      changed = true;
      s->reader = -1;
    }
  }
  return changed;
}

static void moves_grow(fuse_state *s, bool patient) {
  s->patient = patient;
  moves_vertically(s);
  for (int round = 0; round < 4 && fuse_dissolve(s); round++)
    moves_vertically(s);
}

void fuse_move(fuse_state *s) {
  moves_grow(s, true);
  moves_grow(s, false);
  if (moves_horizontally(s)) moves_vertically(s);
}
