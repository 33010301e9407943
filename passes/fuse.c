/* loom-fuse: groups tensor ops into loom.fusion, one kernel each (fuse.h lists the parts).
 *
 * before:
 *     %0 = loom.mul %a, %b
 *     %1 = loom.add %0, %c
 *
 * after:
 *     %1 = loom.fusion(%a, %b) {
 *     ^bb0(%x: ..., %y: ...):
 *       ... loom.mul, loom.constant, loom.add; loom.yield
 *     }
 *
 * requires: one block of table ops (others stay in place, in order), as loom-simplify leaves them.
 *
 * keeps: values, the floating-point exceptions of every value that is used, order of host calls.
 *
 * breaks: nothing; every op that computes is inside a group afterwards, and what stays outside is
 * host calls and reshapes of whole C-ordered buffers in front of `return` and host calls.
 *
 * A group has one iteration space: sizes, and for a reduction the set of reduced axes. Its kinds:
 *
 * - pointwise: all values that leave it have these sizes;
 *
 * - reduce: every reduce op takes operands of these sizes over the same axes; pointwise ops work at
 *   full size or at the reduced size, and one broadcast brings a reduced value back to full size;
 *
 * - scan: one scan and pointwise ops of its size before and after it, none that is costly when the
 *   scan goes along rows, which are taken element by element;
 *
 * - dot: one dot_general and pointwise ops of its result's size after it;
 *
 * - updates: updates in place of one array, one after the other (fuse_inplace.c);
 *
 * - alone: one op.
 *
 * Groups begin as one op each and are merged (fuse_moves.c) as far as one kernel bears
 * (fuse_legal.c). Constants, iotas and views cost nothing and are made anew in each group that uses
 * them. Cheap pointwise ops whose users end in different groups are "dissolved": computed again
 * where they are used (fuse_dissolve.c). Values at other sizes can therefore appear inside a group,
 * read through views; they depend on no reduction of it.
 *
 * What reads a product that is stored anyway, for others, goes into the product's kernel only when
 * no reduction has taken it in: else each pointwise op of a gradient would store an array there.
 *
 * Why merging is safe: the graph of groups stays acyclic, because two groups are merged only when
 * no path leaves one and enters the other through a third. It ends, because each merge or
 * dissolution removes a group.
 */
#include <stdlib.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_shapes.h"
#include "passes/fuse.h"
#include "passes/passes.h"

#define FUSE_WIDE 4 /* operands of nearly all ops, at most */

/* What costs as much as a division is not computed twice, unless it has to be. */
static bool fuse_is_costly(MlirOperation op) {
  return loom_info(op)->cost >= loom_op_table[LOOM_OP_DIV].cost;
}

static fuse_kind fuse_kind_of(loom_class class) {
  switch (class) {
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_MOVE:
  case LOOM_CLASS_VIEW:
  case LOOM_CLASS_CONSTANT: return FUSE_POINTWISE;
  case LOOM_CLASS_REDUCE: return FUSE_REDUCE;
  case LOOM_CLASS_SCAN: return FUSE_SCAN;
  case LOOM_CLASS_DOT: return FUSE_DOT;
  case LOOM_CLASS_ALONE: return FUSE_ALONE;
  default: return FUSE_STAYS;
  }
}

static bool fuse_add_node(MlirOperation op, void *user) {
  fuse_state *s = user;
  if (mlirOperationEqual(op, mlirBlockGetTerminator(s->block))) return true;
  int n = s->count++;
  fuse_node *node = &s->nodes[n];
  *node = (fuse_node){.op = op, .class = loom_class_of(op), .group = n, .next = -1, .stamp = -1};
  fuse_group *group = &s->groups[n];
  *group = (fuse_group){.kind = fuse_kind_of(node->class), .head = n, .tail = n, .count = 1};
  group->min = group->max = n;
  node->free = fuse_is_free_class(node->class);
  node->cost = fuse_is_costly(op) ? FUSE_COSTLY : FUSE_CHEAP;
  node->fp = loom_fp_of(op);
  node->ops = 1;
  s->wide |= mlirOperationGetNumOperands(op) > FUSE_WIDE && loom_is(op, LOOM_OP_CONCATENATE);
  if (mlirOperationGetNumResults(op) >= 1)
    loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &node->type);
  group->space = node->type;
  if (group->kind == FUSE_REDUCE) {
    int64_t axes[LOOM_MAX_RANK];
    intptr_t count = loom_get_i64s(op, "axes", axes, LOOM_MAX_RANK);
    for (intptr_t i = 0; i < count && i < LOOM_MAX_RANK; i++)
      group->axes |= 1u << axes[i];
    loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &group->space);
  }
  if (group->kind == FUSE_SCAN && group->space.rank)
    group->axes = 1u << loom_get_i64(op, "axis", group->space.rank - 1);
  if (node->free) group->count = 0;
  return fuse_watch(s, n) && loom_map_put(&s->index, op.ptr, n);
}

static int fuse_count_ops(MlirBlock block) {
  int count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count++;
  return count;
}

/* Only functions of table ops on arrays are grouped; what is grouped already, or has other ops or
 * nested regions, is left as it is. */
static bool fuse_is_excluded(MlirBlock block, MlirOperation terminator) {
  loom_opcode code;
  loom_type type;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); !mlirOperationEqual(op, terminator);
       op = mlirOperationGetNextInBlock(op))
    if ((!loom_opcode_of(op, &code) && !loom_info(op)->control) ||
        mlirOperationGetNumRegions(op) > 0)
      return true;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++)
    if (!loom_type_from_mlir(mlirValueGetType(loom_operand(terminator, i)), &type)) return true;
  return false;
}

static bool fuse_run(MlirOperation function) {
  MlirRegion region = mlirOperationGetRegion(function, 0);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (mlirBlockIsNull(block) || !mlirBlockIsNull(mlirBlockGetNextInRegion(block))) return true;
  MlirOperation terminator = mlirBlockGetTerminator(block);
  if (!terminator.ptr || !loom_is_named(terminator, "func.return") ||
      fuse_is_excluded(block, terminator))
    return true;
  if (!fuse_prepare_wide(block))
    return loom_emit_error(mlirOperationGetLocation(function), "out of memory");
  fuse_prepare(function, block);
  int count = fuse_count_ops(block);
  fuse_state s = {.block = block, .reader = -1};
  s.max_ops = (int)loom_pass_value(FUSE_OPTION_OPS, FUSE_MAX_OPS);
  s.nodes = calloc((size_t)count + 1, sizeof *s.nodes);
  s.groups = calloc((size_t)count + 1, sizeof *s.groups);
  s.stack = calloc((size_t)count + 1, sizeof *s.stack);
  s.out_of_memory = !loom_late_find(&s.late, block) || !s.nodes || !s.groups || !s.stack ||
                    !loom_walk_block(block, fuse_add_node, &s);
  if (!s.out_of_memory) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
      int n = fuse_node_of(&s, loom_buffer_root(loom_operand(terminator, i)));
      if (n >= 0) s.nodes[n].returned = true;
    }
    fuse_find_constants(&s, function);
    fuse_find_edges(&s);
    fuse_move(&s);
    fuse_explain(&s);
    fuse_rewrite(&s, terminator);
  }
  bool good = !s.out_of_memory;
  loom_map_fini(&s.index);
  loom_map_fini(&s.watched);
  loom_map_fini(&s.readers);
  loom_late_fini(&s.late);
  free(s.reads);
  free(s.nodes);
  free(s.groups);
  free(s.stack);
  free(s.edges);
  return good || loom_emit_error(mlirOperationGetLocation(function), "out of memory");
}

MlirPass loom_make_fuse_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomFuse",
      .flag = "loom-fuse",
      .summary = "Group tensor ops into loom.fusion, one kernel each",
      .root = "builtin.module",
      .each_function = true,
      .run = fuse_run,
      .options = {[FUSE_OPTION_OPS] = {"max-ops", "Ops of one kernel at most", FUSE_MAX_OPS, 1,
                                       FUSE_MAX_OPS}},
      .counters = {[FUSE_COUNT_FUSED] = {"fused", "ops that share a kernel with others"},
                   [FUSE_COUNT_KERNELS] = {"kernels", "groups, one kernel each"},
                   [FUSE_COUNT_DISSOLVED] = {"dissolved", "ops computed again by each reader"}}};
  return loom_pass_of(&spec);
}
