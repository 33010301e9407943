/* Counters and remarks of loom-fuse (fuse.c); remarks are at the user's lines. */
#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/fuse.h"

static MlirStringRef explain_name(const fuse_node *node) {
  return mlirIdentifierStr(mlirOperationGetName(node->op));
}

/* One that is computed again by each reader: of the free ones, those that compute. */
static bool explain_is_dissolved(const fuse_node *node) {
  return node->free && !fuse_is_free_class(node->class);
}

static void explain_count(const fuse_state *s) {
  for (int g = 0; g < s->count; g++) {
    const fuse_group *group = &s->groups[g];
    if (!group->count || group->kind == FUSE_STAYS) continue;
    loom_count(FUSE_COUNT_KERNELS, 1);
    if (group->count > 1) loom_count(FUSE_COUNT_FUSED, group->count);
  }
  for (int n = 0; n < s->count; n++)
    if (explain_is_dissolved(&s->nodes[n])) loom_count(FUSE_COUNT_DISSOLVED, 1);
}

/* Why the node is in another kernel than what makes its operands. */
static void explain_missed(fuse_state *s, int n) {
  const fuse_node *node = &s->nodes[n];
  MlirStringRef name = explain_name(node);
  for (int e = 0; e < node->edge_count; e++) {
    int p = s->edges[node->first_edge + e].producer, told = 0;
    const fuse_node *producer = &s->nodes[p];
    if (producer->group == node->group || producer->free ||
        s->groups[producer->group].kind == FUSE_STAYS)
      continue;
    for (int before = 0; before < e; before++)
      told |= s->edges[node->first_edge + before].producer == p;
    fuse_group joint;
    const char *obstacle = fuse_obstacle(s, producer->group, node->group, true, &joint);
    MlirStringRef other = explain_name(producer);
    if (obstacle && !told)
      loom_remark(LOOM_REMARK_MISSED, mlirOperationGetLocation(node->op), "fuse",
                  "'%.*s' is not fused with '%.*s', whose result it reads: %s", (int)name.length,
                  name.data, (int)other.length, other.data, obstacle);
  }
}

static void explain_node(fuse_state *s, int n) {
  const fuse_node *node = &s->nodes[n];
  const fuse_group *group = &s->groups[node->group];
  MlirLocation loc = mlirOperationGetLocation(node->op);
  MlirStringRef name = explain_name(node);
  if (explain_is_dissolved(node)) {
    loom_remark(LOOM_REMARK_PASSED, loc, "dissolve", "'%.*s' is computed again by each reader",
                (int)name.length, name.data);
    return;
  }
  if (node->free || group->kind == FUSE_STAYS) return;
  if (group->head == n && group->count > 1)
    loom_remark(LOOM_REMARK_PASSED, loc, "fuse", "'%.*s' and %d other ops are one kernel",
                (int)name.length, name.data, group->count - 1);
  explain_missed(s, n);
}

void fuse_explain(fuse_state *s) {
  explain_count(s);
  for (int n = 0; loom_remarks_wanted() && n < s->count; n++)
    explain_node(s, n);
}
