/* The last part of loom-fuse (fuse.c): each group becomes a loom.fusion, in an order in which what
 * a group reads is made before it. */
#include <stdlib.h>

#include "loom_ops_compiler.h"
#include "loom_ops_shapes.h"
#include "passes/fuse.h"

typedef struct fuse_emit {
  fuse_state *s;
  MlirOperation terminator;
  loom_map outer;    /* old value -> index in `values` */
  MlirValue *values; /* new values outside of groups */
  int value_count;
  MlirValue *inputs; /* of the group being built */
  int input_count;
  uint32_t input_capacity;
  int *needed; /* node numbers, sorted */
  int needed_count;
  int stamp;
} fuse_emit;

/* The new value outside of groups for an old one: reshapes of whole buffers are made again on
 * demand. */
static MlirValue build_outer(fuse_emit *e, MlirValue value) {
  MlirValue root = loom_buffer_root(value);
  int64_t at = loom_map_get(&e->outer, root.ptr, -1);
  MlirValue mapped = at >= 0 ? e->values[at] : root;
  if (root.ptr == value.ptr) return mapped;
  loom_builder b = loom_builder_before(e->terminator);
  return loom_build_op1(&b, LOOM_OP_RESHAPE, mapped, mlirValueGetType(value));
}

static int build_compare_ints(const void *a, const void *b) {
  return *(const int *)a - *(const int *)b;
}

/* The members of a group and all free nodes that they read, in the order of the program. */
static void build_collect(fuse_emit *e, const fuse_group *group) {
  fuse_state *s = e->s;
  int top = 0;
  e->needed_count = 0;
  e->stamp++;
  for (int n = group->head; n >= 0; n = s->nodes[n].next) {
    s->nodes[n].stamp = e->stamp;
    s->stack[top++] = n;
  }
  while (top) {
    int n = s->stack[--top];
    e->needed[e->needed_count++] = n;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(s->nodes[n].op); i++) {
      int p = fuse_node_of(s, loom_operand(s->nodes[n].op, i));
      if (p < 0 || s->nodes[p].stamp == e->stamp || !s->nodes[p].free) continue;
      s->nodes[p].stamp = e->stamp;
      s->stack[top++] = p;
    }
  }
  qsort(e->needed, (size_t)e->needed_count, sizeof *e->needed, build_compare_ints);
}

static MlirValue build_inner(fuse_emit *e, MlirBlock block, loom_map *arguments, MlirValue value) {
  int n = fuse_node_of(e->s, value);
  if (n >= 0 && e->s->nodes[n].stamp == e->stamp)
    return loom_result(e->s->nodes[n].copy, mlirOpResultGetResultNumber(value));
  int64_t at = loom_map_get(arguments, value.ptr, -1);
  if (at >= 0) return mlirBlockGetArgument(block, at);
  if (!loom_grow(&e->inputs, (size_t)e->input_count, &e->input_capacity, sizeof *e->inputs)) {
    e->s->out_of_memory = true;
    return value;
  }
  if (!loom_map_put(arguments, value.ptr, e->input_count)) e->s->out_of_memory = true;
  e->inputs[e->input_count++] = build_outer(e, value);
  return mlirBlockAddArgument(block, mlirValueGetType(value), mlirValueGetLocation(value));
}

static void build_clone_body(fuse_emit *e, MlirBlock block) {
  loom_map arguments = {0};
  for (int i = 0; i < e->needed_count; i++) {
    fuse_node *node = &e->s->nodes[e->needed[i]];
    MlirOperation copy = mlirOperationClone(node->op);
    for (intptr_t k = 0; k < mlirOperationGetNumOperands(copy); k++)
      mlirOperationSetOperand(copy, k,
                              build_inner(e, block, &arguments, loom_operand(node->op, k)));
    mlirBlockAppendOwnedOperation(block, copy);
    node->copy = copy;
  }
  loom_map_fini(&arguments);
}

/* The values of a node that its group yields, to `out`: all results that are read. */
static intptr_t build_yields(const fuse_state *s, int n, MlirValue *out) {
  MlirOperation op = s->nodes[n].op;
  intptr_t count = 0, results = mlirOperationGetNumResults(op);
  int group = s->nodes[n].group;
  if (s->nodes[n].free || !fuse_is_stored(s, n, group, group)) return 0;
  for (intptr_t i = 0; i < results; i++)
    if (results == 1 || !mlirOpOperandIsNull(mlirValueGetFirstUse(loom_result(op, i))))
      out[count++] = loom_result(op, i);
  return count;
}

static void build_emit_group(fuse_emit *e, const fuse_group *group) {
  fuse_state *s = e->s;
  build_collect(e, group);
  size_t room = 0;
  for (int i = 0; i < e->needed_count; i++)
    room += (size_t)mlirOperationGetNumResults(s->nodes[e->needed[i]].op);
  MlirValue *yields = malloc(sizeof *yields * (2 * room + 1));
  MlirType *types = malloc(sizeof *types * (room + 1));
  if (!yields || !types) s->out_of_memory = true;
  MlirValue *old = yields ? yields + room : NULL;
  intptr_t count = 0;
  for (int i = 0; i < e->needed_count && !s->out_of_memory; i++)
    count += build_yields(s, e->needed[i], old + count);
  if (count && !s->out_of_memory) {
    e->input_count = 0;
    MlirBlock block = mlirBlockCreate(0, NULL, NULL);
    build_clone_body(e, block);
    for (intptr_t i = 0; i < count; i++) {
      yields[i] =
          loom_result(s->nodes[fuse_node_of(s, old[i])].copy, mlirOpResultGetResultNumber(old[i]));
      types[i] = mlirValueGetType(yields[i]);
    }
    loom_builder inside = loom_builder_at_end(block, mlirOperationGetLocation(e->terminator));
    loom_build_op(&inside, LOOM_OP_YIELD, count, yields, 0, NULL, 0, NULL);
    MlirRegion region = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(region, block);
    loom_builder b = loom_builder_before(e->terminator);
    b.loc = mlirOperationGetLocation(s->nodes[e->needed[e->needed_count - 1]].op);
    MlirOperation fusion = loom_build_op_regions(&b, LOOM_OP_FUSION, e->input_count, e->inputs,
                                                 count, types, 0, NULL, 1, &region);
    for (intptr_t i = 0; i < count; i++) {
      if (!loom_map_put(&e->outer, old[i].ptr, e->value_count)) s->out_of_memory = true;
      e->values[e->value_count++] = loom_result(fusion, i);
    }
  }
  free(yields);
  free(types);
}

/* An op that stays: moved behind the groups it reads. */
static void build_emit_stays(fuse_emit *e, int n) {
  MlirOperation op = e->s->nodes[n].op;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    mlirOperationSetOperand(op, i, build_outer(e, loom_operand(op, i)));
  mlirOperationMoveBefore(op, e->terminator);
}

/* Emits groups so that each comes after those that it reads; else in the order of the program. */
static void build_emit_all(fuse_emit *e) {
  fuse_state *s = e->s;
  int mark = ++s->mark; /* groups marked are done or on the way */
  for (int first = 0; first < s->count; first++) {
    int top = 0, root = s->nodes[first].group;
    if (s->nodes[first].free || s->groups[root].mark == mark) continue;
    /* A second stack lives behind the needed list: build_collect uses s->stack. */
    int *path = e->needed + s->count;
    path[top++] = root;
    while (top) {
      int g = path[top - 1], deeper = -1;
      for (int n = s->groups[g].head; n >= 0 && deeper < 0; n = s->nodes[n].next)
        for (int k = 0; k < s->nodes[n].edge_count && deeper < 0; k++) {
          int p = s->nodes[s->edges[s->nodes[n].first_edge + k].producer].group;
          if (p != g && s->groups[p].mark != mark) deeper = p;
        }
      if (deeper >= 0) {
        path[top++] = deeper;
        continue;
      }
      top--;
      s->groups[g].mark = mark;
      if (s->groups[g].kind == FUSE_STAYS)
        build_emit_stays(e, s->groups[g].head);
      else
        build_emit_group(e, &s->groups[g]);
    }
  }
}

/* Replaces the block's ops by the groups. */
void fuse_rewrite(fuse_state *s, MlirOperation terminator) {
  fuse_emit e = {.s = s, .terminator = terminator};
  size_t results = 1;
  for (int n = 0; n < s->count; n++)
    results += (size_t)mlirOperationGetNumResults(s->nodes[n].op);
  e.values = malloc(sizeof *e.values * results);
  e.needed = malloc(sizeof *e.needed * 2 * (size_t)(s->count + 1));
  if (!e.values || !e.needed) s->out_of_memory = true;
  if (!s->out_of_memory) build_emit_all(&e);
  if (!s->out_of_memory)
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++)
      mlirOperationSetOperand(terminator, i, build_outer(&e, loom_operand(terminator, i)));
  for (int n = s->count - 1; n >= 0 && !s->out_of_memory; n--)
    if (s->groups[s->nodes[n].group].kind != FUSE_STAYS || s->nodes[n].free)
      mlirOperationDestroy(s->nodes[n].op);
  loom_map_fini(&e.outer);
  free(e.values);
  free(e.inputs);
  free(e.needed);
}
