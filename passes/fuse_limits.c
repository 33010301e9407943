/* How many reductions one kernel bears, and how much work behind them, for loom-fuse (fuse.c).
 *
 * The lowering makes loops for up to LOWER_MEMBERS reductions at once that need no result of each
 * other, has room for LOWER_GROUPS such loops, and gives each variables of its own out of
 * LOWER_VARS. Reductions of a group are all over the same axes. Each loop computes the operands of
 * its reductions anew, so that the code of a long chain of reductions grows with the square of its
 * length. Such a chain is cut before that costs more than several kernels do.
 *
 * A reduction along rows has its lanes along the row. What is computed of its result is computed
 * for one row at a time, without lanes: a logarithm of the sums of short rows costs several times
 * what it does in a kernel of its own, whose lanes are the rows.
 */
#include <stdlib.h>

#include "passes/fuse.h"
#include "passes/lower.h"

#define LIMITS_NODES 256 /* of a group and more */
#define LIMITS_CHAIN 4   /* reductions, each of the one before, that are always borne */
#define LIMITS_CODE 100  /* ops in all loops of a longer chain */
/* What is computed of a row's result, in instructions: in all rows less than this is always borne;
 * so is what costs no more than a store and a load of the result and a part of the row itself. */
#define LIMITS_TAIL_WORK 16384
#define LIMITS_TAIL_MOVE 8
#define LIMITS_TAIL_PART 4 /* a fourth of it */
#define LIMITS_LANES 8
#define LIMITS_BACK 64 /* readers that are looked at in search of one that goes back to the row */

static int limits_compare(const void *a, const void *b) {
  int x = *(const int *)a, y = *(const int *)b;
  return (x > y) - (x < y);
}

static bool limits_is_reduction(const fuse_node *node) { return node->class == LOOM_CLASS_REDUCE; }

/* The nodes of both groups in order; -1: too many. */
static int limits_nodes(const fuse_state *s, int a, int b, int out[LIMITS_NODES]) {
  int count = 0, both[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next) {
      if (count == LIMITS_NODES) return -1;
      out[count++] = n;
    }
  qsort(out, (size_t)count, sizeof *out, limits_compare);
  return count;
}

/* The depth of each of `nodes`: the reductions in a row that it needs. The largest. */
static int limits_depths(fuse_state *s, int a, int b, const int *nodes, int count) {
  int most = 0;
  for (int i = 0; i < count; i++) {
    fuse_node *node = &s->nodes[nodes[i]];
    node->depth = 0;
    for (int e = 0; e < node->edge_count; e++) {
      const fuse_node *p = &s->nodes[s->edges[node->first_edge + e].producer];
      if ((p->group != a && p->group != b) || p > node) continue;
      int depth = p->depth + limits_is_reduction(p);
      if (depth > node->depth) node->depth = depth;
    }
    if (node->depth > most) most = node->depth;
  }
  return most;
}

/* How many loops the lowering makes of the reductions among `nodes`. */
static int limits_loops(const fuse_state *s, const int *nodes, int count) {
  int members[LOWER_GROUPS + 1] = {0}, loops = 0;
  for (int i = 0; i < count; i++) {
    const fuse_node *node = &s->nodes[nodes[i]];
    if (!limits_is_reduction(node)) continue;
    if (node->depth > LOWER_GROUPS) return LOWER_GROUPS + 1;
    loops += members[node->depth]++ % LOWER_MEMBERS == 0;
  }
  return loops;
}

/* How many ops they have, when each computes what is known by then. */
static int limits_code(const fuse_state *s, const int *nodes, int count, int depth) {
  int code = 0;
  for (int i = 0; i < count; i++)
    code += depth - s->nodes[nodes[i]].depth;
  return code;
}

bool fuse_reductions_fit(fuse_state *s, int a, int b, const fuse_group *joint) {
  int nodes[LIMITS_NODES], reductions = 0;
  if (joint->kind != FUSE_REDUCE || !joint->axes) return true;
  int low = __builtin_ctz(joint->axes), top = 31 - __builtin_clz(joint->axes);
  int most = (LOWER_VARS - 1 - joint->space.rank) / (top - low + 1);
  if (most > LOWER_GROUPS) most = LOWER_GROUPS;
  int count = limits_nodes(s, a, b, nodes);
  for (int i = 0; i < count; i++)
    reductions += limits_is_reduction(&s->nodes[nodes[i]]);
  if (count < 0 || (reductions <= most && reductions <= LIMITS_CHAIN)) return count >= 0;
  int depth = limits_depths(s, a, b, nodes, count);
  if (depth > LIMITS_CHAIN && limits_code(s, nodes, count, depth) > LIMITS_CODE) return false;
  return reductions <= most || limits_loops(s, nodes, count) <= most;
}

static int64_t limits_cost(const fuse_node *node) {
  const loom_op_info *info = loom_info(node->op);
  return node->type.dtype == LOOM_F64 ? info->cost_f64 : info->cost;
}

/* Does the row itself read the value, or what is computed of it? Then the row has to be read once
 * more where the two are not in one kernel. */
static bool limits_goes_back(const fuse_state *s, const fuse_group *g, int n, int *left) {
  for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
    const fuse_edge *edge = &s->edges[e];
    const fuse_node *user = &s->nodes[edge->user];
    if (--*left < 0) return true;
    if (edge->via == FUSE_BROADCAST && fuse_is_back_broadcast(g, edge->broadcast)) return true;
    if (edge->via == FUSE_DIRECT && user->class == LOOM_CLASS_POINTWISE &&
        limits_goes_back(s, g, edge->user, left))
      return true;
  }
  return false;
}

bool fuse_tail_fits(const fuse_state *s, int a, int b, const fuse_group *g) {
  int64_t rows = 1, row = 1, tail = 0, work = 0;
  int left = LIMITS_BACK;
  int both[] = {a, b};
  if (g->kind != FUSE_REDUCE || !g->space.rank) return true;
  if (!(g->axes >> (g->space.rank - 1) & 1)) return true;
  for (int i = 0; i < g->space.rank; i++) {
    int64_t size = loom_num_hint(loom_num_dim(g->space.dims[i]));
    int64_t *of = g->axes >> i & 1 ? &row : &rows;
    if (__builtin_mul_overflow(*of, size, of)) return true;
  }
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next) {
      const fuse_node *node = &s->nodes[n];
      bool full = limits_is_reduction(node) || fuse_same_sizes(&g->space, &node->type);
      if (full)
        work += limits_cost(node) + 1;
      else if (node->cost >= FUSE_COSTLY && !limits_goes_back(s, g, n, &left))
        tail += limits_cost(node);
    }
  if (rows > INT32_MAX || row > INT32_MAX || rows * tail < LIMITS_TAIL_WORK) return true;
  return tail <= LIMITS_TAIL_MOVE + row * work / (LIMITS_LANES * LIMITS_TAIL_PART);
}
