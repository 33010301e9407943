/* Ops that loom-fuse leaves in groups of their own so that loom-keep can have them computed once:
 * costly ops on values that do not change from call to call. In a group with values that do change,
 * they would be computed in each call. */
#include "passes/fuse.h"

/* Is the value an argument that is a constant, or made of such alone? Adds its bytes to `*read`. */
static bool keep_reads_constant(const fuse_state *s, MlirOperation function, MlirValue value,
                                int64_t *read) {
  int n = fuse_node_of(s, value);
  while (n >= 0 && s->nodes[n].class == LOOM_CLASS_VIEW) {
    value = loom_operand(s->nodes[n].op, 0);
    n = fuse_node_of(s, value);
  }
  loom_type type;
  if (n >= 0 && s->nodes[n].class == LOOM_CLASS_CONSTANT) return true;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type) || !loom_type_is_static(&type))
    return false;
  *read += loom_type_elements(&type) * (int64_t)loom_dtype_size(type.dtype);
  if (n >= 0) return s->nodes[n].constant;
  return mlirValueIsABlockArgument(value) &&
         loom_argument_has(function, mlirBlockArgumentGetArgNumber(value), loom_mark_const);
}

/* Cheap ops cost no more than what they have made takes to read. */
static bool keep_is_worth_it(const fuse_node *node, int64_t read) {
  bool costly = node->class != LOOM_CLASS_POINTWISE && node->class != LOOM_CLASS_MOVE;
  int64_t made = loom_type_elements(&node->type) * (int64_t)loom_dtype_size(node->type.dtype);
  return (costly || node->cost >= FUSE_COSTLY) && (made <= read || made <= LOOM_KEEP_BYTES);
}

void fuse_find_constants(fuse_state *s, MlirOperation function) {
  bool keeps = loom_option(function, loom_mark_keep).ptr != NULL;
  for (int n = 0; n < s->count; n++) {
    fuse_node *node = &s->nodes[n];
    fuse_group *group = &s->groups[n];
    int64_t read = 0;
    node->constant = keeps && !node->free && !node->returned && group->kind != FUSE_STAYS &&
                     loom_type_is_static(&node->type);
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op) && node->constant; i++)
      node->constant = keep_reads_constant(s, function, loom_operand(node->op, i), &read);
    node->constant &= read > 0;
    group->varies = !node->constant;
    group->once = node->constant && keep_is_worth_it(node, read);
  }
}

bool fuse_constants_fit(const fuse_group *a, const fuse_group *b) {
  return !(a->once && b->varies) && !(a->varies && b->once);
}

bool fuse_constants_stay(const fuse_state *s, int g) {
  if (!s->groups[g].once) return false;
  for (int n = s->groups[g].head; n >= 0; n = s->nodes[n].next)
    for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
      const fuse_node *user = &s->nodes[s->edges[e].user];
      bool packs = user->class == LOOM_CLASS_DOT && !loom_info(user->op)->windowed;
      if (!user->constant && !packs) return true;
    }
  return false;
}
