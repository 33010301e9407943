/* loom-fuse: groups tensor ops into loom.fusion, one kernel each (fuse_build.c makes the groups).
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
 * Constants, iotas and views cost nothing and are made anew in each group that uses them. Cheap
 * pointwise ops whose users end in different groups are "dissolved": computed again where they are
 * used. Values at other sizes can therefore appear inside a group, read through views; they depend
 * on no reduction of it.
 *
 * What reads a product that is stored anyway, for others, goes into the product's kernel only when
 * no reduction has taken it in: else each pointwise op of a gradient would store an array there.
 *
 * Why merging is safe: the graph of groups stays acyclic, because two groups are merged only when
 * no path leaves one and enters the other through a third. It ends, because each merge or
 * dissolution removes a group.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "passes/fuse.h"
#include "passes/passes.h"

/* Ops of one group: what a register file and a compile-time budget can bear. */
#define FUSE_MAX_OPS 192
#define FUSE_MAX_BUFFERS 48
#define FUSE_WIDE 4         /* operands of nearly all ops, at most */
#define FUSE_WIDE_UPDATE 16 /* elements that a scatter applies at one index */
#define FUSE_SMALL 65536    /* elements that one thread handles well alone */

/* ---- what a node is ---- */

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

static bool fuse_same_sizes(const loom_type *a, const loom_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

/* Sizes of `space` without `axes`. */
static loom_type fuse_reduced(const loom_type *space, uint32_t axes) {
  loom_type out = {.dtype = space->dtype};
  for (int i = 0; i < space->rank; i++)
    if (!(axes >> i & 1)) out.dims[out.rank++] = space->dims[i];
  return out;
}

/* Are the reduced axes the last ones, with rows enough for the threads or so little work that it
 * does not matter? Then a row can be visited again while it is in the cache. (Columns are not worth
 * it: a block of them that fits a cache is read in short pieces far apart, which costs several
 * times what reading all of the array once more does.) */
static bool fuse_rows(const loom_type *space, uint32_t axes) {
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

/* Does a reshape only add or drop dimensions of size 1? */
static bool fuse_is_unit_reshape(MlirOperation op) {
  loom_type in, out;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &in) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out))
    return false;
  int i = 0, o = 0;
  for (;;) {
    while (i < in.rank && in.dims[i] == 1)
      i++;
    while (o < out.rank && out.dims[o] == 1)
      o++;
    if (i == in.rank || o == out.rank) return i == in.rank && o == out.rank;
    if (in.dims[i++] != out.dims[o++]) return false;
  }
}

int fuse_node_of(const fuse_state *s, MlirValue value) {
  MlirOperation def = loom_def(value);
  return def.ptr ? (int)loom_map_get(&s->index, def.ptr, -1) : -1;
}

/* ---- preparation: everything that leaves lies in memory of its own ---- */

MlirValue fuse_insert_copy(MlirOperation before, MlirValue value) {
  loom_builder b = loom_builder_before(before);
  return loom_build_op1(&b, LOOM_OP_COPY, value, mlirValueGetType(value));
}

static bool fuse_is_free_class(loom_class class) {
  return class == LOOM_CLASS_CONSTANT || class == LOOM_CLASS_VIEW;
}

bool fuse_is_computed(MlirValue value) {
  MlirOperation def = loom_def(value);
  return def.ptr && !fuse_is_free_class(loom_class_of(def));
}

static bool fuse_argument_is_plain(MlirOperation function, MlirValue value) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  intptr_t number = mlirBlockArgumentGetArgNumber(value);
  if (loom_argument_has(function, number, loom_mark_scalar) ||
      !loom_type_from_mlir(mlirValueGetType(value), &type))
    return false;
  loom_argument_strides(function, number, &type, strides);
  return loom_strides_fit_plain(&type, strides);
}

/* Does a host call, or another op that wants C order, read the value or a reshape of it? */
static bool fuse_is_read_plain(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    loom_class class = loom_class_of(user);
    if (loom_is_named(user, "func.return")) continue;
    if (class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER) return true;
    if (loom_is(user, LOOM_OP_RESHAPE) && fuse_is_read_plain(loom_result(user, 0))) return true;
  }
  return false;
}

/* Does the op write its results in C order, whatever is asked? */
static bool fuse_is_written_plain(MlirOperation op) {
  loom_class class = loom_class_of(op);
  return class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER || loom_is(op, LOOM_OP_SCATTER);
}

static void fuse_prepare_return(MlirOperation function, MlirOperation op) {
  intptr_t count = mlirOperationGetNumOperands(op);
  for (intptr_t i = 0; i < count; i++) {
    MlirValue value = loom_operand(op, i), root = loom_buffer_root(value);
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    bool taken = !fuse_is_computed(root) || !loom_type_from_mlir(mlirValueGetType(value), &type);
    bool plain = !taken && fuse_is_written_plain(loom_def(root));
    if (!taken && (root.ptr != value.ptr || plain || fuse_is_read_plain(root))) {
      loom_result_strides(function, i, &type, strides);
      taken = !loom_strides_fit_plain(&type, strides);
    }
    for (intptr_t k = 0; k < i && !taken; k++)
      taken = loom_buffer_root(loom_operand(op, k)).ptr == root.ptr;
    if (taken) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* An argument of which the value is the view that has its elements in C order; or null. */
static MlirValue fuse_argument_in_order(MlirOperation function, MlirValue value) {
  MlirValue root = loom_view_root(value), none = {NULL};
  loom_layout layout = {0}, out;
  if (!mlirValueIsABlockArgument(root)) return none;
  intptr_t number = mlirBlockArgumentGetArgNumber(root);
  if (loom_argument_has(function, number, loom_mark_scalar) ||
      !loom_type_from_mlir(mlirValueGetType(root), &layout.type))
    return none;
  loom_argument_strides(function, number, &layout.type, layout.strides);
  bool plain = loom_layout_follow(value, root, &layout, &out) && out.base == 0 &&
               loom_strides_fit_plain(&out.type, out.strides);
  return plain ? root : none;
}

/* Operands of a host call or control flow: C-ordered buffers. A host call gets but where they
 * begin, so that an argument may stand for a view of it. */
static void fuse_prepare_host(MlirOperation function, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i), root = loom_buffer_root(value);
    if (fuse_is_computed(root)) continue;
    MlirValue argument = fuse_argument_in_order(function, value);
    bool fits =
        argument.ptr && (loom_is(op, LOOM_OP_HOST_CALL) ||
                         mlirTypeEqual(mlirValueGetType(argument), mlirValueGetType(value)));
    mlirOperationSetOperand(op, i, fits ? argument : fuse_insert_copy(op, value));
  }
}

/* Operands that the lowering reads as strided buffers: transposes of (reshapes of whole C-ordered)
 * buffers. */
static void fuse_prepare_strided(MlirOperation function, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i);
    if (mlirShapedTypeGetRank(mlirValueGetType(value)) == 0) continue;
    MlirValue under = value;
    for (MlirOperation def = loom_def(under); def.ptr && loom_is(def, LOOM_OP_TRANSPOSE);
         def = loom_def(under))
      under = loom_operand(def, 0);
    MlirValue root = loom_buffer_root(under);
    bool good = fuse_is_computed(root) ||
                (mlirValueIsABlockArgument(root) &&
                 (root.ptr == under.ptr || fuse_argument_is_plain(function, root)));
    if (!good) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* Do strides alone tell where a value lies, wherever its root is put? */
static bool fuse_is_strided(MlirOperation function, MlirValue value) {
  MlirValue root = loom_view_root(value);
  loom_layout layout = {0}, out;
  bool argument = mlirValueIsABlockArgument(root);
  if (!argument && !fuse_is_computed(root)) return false;
  if (!loom_type_from_mlir(mlirValueGetType(root), &layout.type)) return false;
  if (argument) {
    intptr_t number = mlirBlockArgumentGetArgNumber(root);
    if (loom_argument_has(function, number, loom_mark_scalar)) return false;
    loom_argument_strides(function, number, &layout.type, layout.strides);
    return loom_layout_follow(value, root, &layout, &out);
  }
  if (!loom_plain_strides(&layout.type, layout.strides) ||
      !loom_layout_follow(value, root, &layout, &out))
    return false;
  for (MlirOpOperand use = mlirValueGetFirstUse(root); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    if (!loom_is_named(mlirOpOperandGetOwner(use), "func.return")) continue;
    loom_result_strides(function, mlirOpOperandGetOperandNumber(use), &layout.type, layout.strides);
    if (!loom_layout_follow(value, root, &layout, &out)) return false;
  }
  return true;
}

/* A chain of views of one's own, so that what is done for other readers does not change it. */
static MlirValue fuse_clone_views(MlirOperation before, MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr || loom_class_of(def) != LOOM_CLASS_VIEW) return value;
  MlirValue under = fuse_clone_views(before, loom_operand(def, 0));
  MlirOperation copy = mlirOperationClone(def);
  mlirOperationSetOperand(copy, 0, under);
  loom_set_attr(copy, loom_mark_strided, mlirUnitAttrGet(mlirOperationGetContext(before)));
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(before), before, copy);
  return loom_result(copy, 0);
}

/* Operands of an attention may be any views that are strides: as they are, or at last by what has
 * been copied under a reshape. */
static void fuse_prepare_views(MlirOperation function, MlirOperation op, bool last) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    MlirValue value = loom_operand(op, i);
    if (mlirShapedTypeGetRank(mlirValueGetType(value)) == 0) continue;
    bool good = fuse_is_strided(function, value);
    if (good && !last) mlirOperationSetOperand(op, i, fuse_clone_views(op, value));
    if (!good && last) mlirOperationSetOperand(op, i, fuse_insert_copy(op, value));
  }
}

/* A scatter overwrites its operand: a buffer in C order that nothing else reads. */
static void fuse_prepare_scatter(MlirOperation op) {
  MlirValue value = loom_operand(op, 0);
  MlirOpOperand use = mlirValueGetFirstUse(value);
  bool once = mlirOpOperandIsNull(mlirOpOperandGetNextUse(use));
  if (fuse_is_computed(value) && once && !loom_is(loom_def(value), LOOM_OP_HOST_CALL)) return;
  mlirOperationSetOperand(op, 0, fuse_insert_copy(op, value));
}

/* A reshape that moves elements between dimensions reads a buffer whose layout allows it. */
static void fuse_prepare_reshape(MlirOperation function, MlirOperation op) {
  MlirValue value = loom_operand(op, 0), root = loom_buffer_root(value);
  loom_type in, out;
  int64_t strides[LOOM_MAX_RANK], ignored[LOOM_MAX_RANK];
  if (fuse_is_computed(root) || fuse_is_unit_reshape(op)) return;
  if (root.ptr == value.ptr && mlirValueIsABlockArgument(root) &&
      loom_type_from_mlir(mlirValueGetType(root), &in) && loom_type_is_sized(&in) &&
      loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &out) && loom_type_is_sized(&out)) {
    loom_argument_strides(function, mlirBlockArgumentGetArgNumber(root), &in, strides);
    if (loom_reshape_strides(&in, strides, &out, ignored)) return;
  }
  mlirOperationSetOperand(op, 0, fuse_insert_copy(op, value));
}

static void fuse_prepare(MlirOperation function, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_info(op)->strided) fuse_prepare_views(function, op, false);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_class class = loom_class_of(op);
    if (mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_strided))) continue;
    if (loom_is(op, LOOM_OP_RESHAPE))
      fuse_prepare_reshape(function, op);
    else if (loom_is_named(op, "func.return"))
      fuse_prepare_return(function, op);
    else if (class == LOOM_CLASS_HOST || class == LOOM_CLASS_OTHER)
      fuse_prepare_host(function, op);
    else if (loom_info(op)->strided)
      fuse_prepare_views(function, op, true);
    else if (loom_is(op, LOOM_OP_SCATTER))
      fuse_prepare_scatter(op);
    else if (class == LOOM_CLASS_ALONE)
      fuse_prepare_strided(function, op);
  }
  bool gpu = loom_is_for_gpu(function);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr && !gpu;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is(op, LOOM_OP_UPDATE_SLICE)) fuse_prepare_update(function, block, op);
}

/* ---- edges ---- */

static void fuse_add_edge(fuse_state *s, fuse_edge edge) {
  if (s->edge_count == s->edge_capacity) {
    int capacity = s->edge_capacity ? s->edge_capacity * 2 : 256;
    fuse_edge *grown = realloc(s->edges, sizeof *grown * (size_t)capacity);
    if (!grown) {
      s->out_of_memory = true;
      return;
    }
    s->edges = grown;
    s->edge_capacity = capacity;
  }
  edge.previous_use = -1;
  edge.next_use = s->nodes[edge.producer].first_use;
  if (edge.next_use >= 0) s->edges[edge.next_use].previous_use = s->edge_count;
  s->nodes[edge.producer].first_use = s->edge_count;
  s->edges[s->edge_count++] = edge;
}

/* How reading through view `op` changes the way a value is reached. */
static fuse_via fuse_through(fuse_via via, MlirOperation op, MlirOperation *broadcast) {
  if (via == FUSE_BUFFER) return via;
  if (loom_is(op, LOOM_OP_BROADCAST)) {
    *broadcast = op;
    return via == FUSE_DIRECT ? FUSE_BROADCAST : FUSE_EXPANDED;
  }
  if (loom_is(op, LOOM_OP_RESHAPE) && !fuse_is_unit_reshape(op)) return FUSE_BUFFER;
  if (loom_is(op, LOOM_OP_WINDOWS)) return FUSE_EXPANDED;
  return via == FUSE_DIRECT || via == FUSE_VIEWED ? FUSE_VIEWED : FUSE_EXPANDED;
}

/* Does the view leave out elements of its operand (windows may: strides, the end of a dimension)?
 */
static bool fuse_is_partial(const fuse_node *view) {
  loom_type type;
  if (loom_is(view->op, LOOM_OP_WINDOWS)) return true;
  return loom_is(view->op, LOOM_OP_SLICE) &&
         (!loom_type_from_mlir(mlirValueGetType(loom_operand(view->op, 0)), &type) ||
          loom_num_elements(&type) != loom_num_elements(&view->type));
}

/* Node `user` comes behind `before`, of which it reads nothing: this is no use of a value, and
 * nothing is yielded for it. */
static void fuse_add_order_edge(fuse_state *s, int before, int user) {
  int first = s->nodes[before].first_use;
  fuse_add_edge(s, (fuse_edge){.producer = before, .user = user, .via = FUSE_BUFFER});
  if (s->out_of_memory) return;
  s->edges[s->edge_count - 1].next_use = -1;
  if (first >= 0) s->edges[first].previous_use = -1;
  s->nodes[before].first_use = first;
}

/* The sizes of what node `user` makes or reads have to be known before it. */
static void fuse_need_size(fuse_state *s, MlirValue value, int user) {
  int32_t call = loom_late_value(&s->late, value);
  int before = call ? (int)loom_map_get(&s->index, s->late.calls[call - 1].ptr, -1) : -1;
  if (before >= 0 && before != user) fuse_add_order_edge(s, before, user);
}

static fuse_via fuse_reads(const fuse_node *node, intptr_t i);

/* Adds the edges from what a value is made of to `edge.user`; `edge` says how the value is read. */
static void fuse_trace(fuse_state *s, MlirValue value, fuse_edge edge) {
  for (;;) {
    int n = fuse_node_of(s, value);
    const fuse_node *node = n < 0 ? NULL : &s->nodes[n];
    fuse_need_size(s, value, edge.user);
    if (s->watches && (!node || !node->free)) fuse_note_read(s, value, edge.user);
    if (!node) return;
    if (!node->free) {
      edge.producer = n;
      fuse_add_edge(s, edge);
      return;
    }
    if (node->class != LOOM_CLASS_VIEW) { /* dissolved: its cost bounds the depth */
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op); i++) {
        fuse_edge inner = edge;
        if (fuse_reads(node, i) == FUSE_BUFFER) inner.via = FUSE_BUFFER;
        fuse_trace(s, loom_operand(node->op, i), inner);
      }
      return;
    }
    edge.via = fuse_through(edge.via, node->op, &edge.broadcast);
    edge.partial |= fuse_is_partial(node);
    value = loom_operand(node->op, 0);
  }
}

/* A convolution packs what its windows read just before it is used, an element as often as windows
 * overlap; its weights lie in memory. */
static fuse_via fuse_reads_factor(const fuse_node *node, intptr_t i) {
  loom_type weights;
  if (!loom_is(node->op, LOOM_OP_CONVOLUTION)) return FUSE_DIRECT;
  if (i == 1 || !loom_type_from_mlir(mlirValueGetType(loom_operand(node->op, 1)), &weights))
    return FUSE_BUFFER;
  for (int d = 2; d < weights.rank; d++)
    if (weights.dims[d] > 1) return FUSE_EXPANDED;
  return FUSE_DIRECT;
}

/* A scatter applies each update once; it looks at each index of a slice in every chunk, which is
 * little beside a wide update, and at each index of an element once. */
static fuse_via fuse_reads_scatter(const fuse_node *node, intptr_t i) {
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
static fuse_via fuse_reads(const fuse_node *node, intptr_t i) {
  loom_type type;
  switch (node->class) {
  case LOOM_CLASS_POINTWISE:
  case LOOM_CLASS_REDUCE:
  case LOOM_CLASS_SCAN: return FUSE_DIRECT;
  case LOOM_CLASS_DOT: return fuse_reads_factor(node, i);
  case LOOM_CLASS_ALONE:
    return loom_is(node->op, LOOM_OP_SCATTER) ? fuse_reads_scatter(node, i) : FUSE_BUFFER;
  case LOOM_CLASS_MOVE: break;
  default: return FUSE_BUFFER;
  }
  if (loom_is(node->op, LOOM_OP_GATHER) && i == 0) return FUSE_BUFFER;
  if (loom_is(node->op, LOOM_OP_UPDATE_SLICE) && i == 0) {
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
static void fuse_add_order(fuse_state *s, int n) {
  for (int at = -2, user; (user = fuse_next_reader(s, n, &at)) >= 0;) {
    if (user != n) fuse_add_order_edge(s, user, n);
  }
}

static void fuse_forget_reads(fuse_state *s) {
  s->read_count = 0;
  for (int n = 0; n < s->count && s->watches; n++)
    if (!fuse_watch(s, n)) s->out_of_memory = true;
}

void fuse_find_reads(fuse_state *s, int n) {
  fuse_node *node = &s->nodes[n];
  bool convolution = loom_is(node->op, LOOM_OP_CONVOLUTION);
  node->first_edge = s->edge_count;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(node->op); i++)
    fuse_trace(s, loom_operand(node->op, i),
               (fuse_edge){.user = n,
                           .via = fuse_reads(node, i),
                           .partial = convolution,
                           .guarded = node->class == LOOM_CLASS_MOVE || convolution});
  for (intptr_t i = 0; i < mlirOperationGetNumResults(node->op); i++)
    fuse_need_size(s, loom_result(node->op, i), n);
  node->edge_count = s->edge_count - node->first_edge;
}

void fuse_find_edges(fuse_state *s) {
  s->deep = false;
  s->edge_count = 0;
  for (int n = 0; n < s->count; n++)
    s->nodes[n].first_use = -1;
  fuse_forget_reads(s);
  int last_stays = -1;
  for (int n = 0; n < s->count; n++) {
    fuse_node *node = &s->nodes[n];
    node->edge_count = 0;
    if (node->free) continue;
    fuse_find_reads(s, n);
    if (s->watches && loom_get_attr(node->op, loom_mark_inplace).ptr) fuse_add_order(s, n);
    if (s->groups[node->group].kind == FUSE_STAYS) {
      if (last_stays >= 0)
        fuse_add_edge(s, (fuse_edge){.producer = last_stays, .user = n, .via = FUSE_BUFFER});
      last_stays = n;
    }
    node->edge_count = s->edge_count - node->first_edge;
  }
}

/* ---- legality ---- */

/* The last node in each group or in what it depends on: groups are computed as a whole, so that one
 * may depend on nodes behind its own. To a fixed point; merging only ever raises it. */
static void fuse_deepen(fuse_state *s) {
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
static bool fuse_path_between(fuse_state *s, int from, int to) {
  int top = 0, mark = ++s->mark;
  fuse_deepen(s);
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

static bool fuse_direct_path(fuse_state *s, int from, int to) {
  for (int n = s->groups[to].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++)
      if (s->nodes[s->edges[s->nodes[n].first_edge + e].producer].group == from) return true;
  return false;
}

/* What two groups would be together. Node levels follow from the sizes. */
static bool fuse_join(const fuse_group *a, const fuse_group *b, fuse_group *out) {
  *out = *a;
  if (a->kind == FUSE_POINTWISE && b->kind == FUSE_POINTWISE)
    return fuse_same_sizes(&a->space, &b->space);
  if (a->kind == FUSE_REDUCE && b->kind == FUSE_REDUCE)
    return a->axes == b->axes && fuse_same_sizes(&a->space, &b->space);
  if (a->kind == FUSE_REDUCE && b->kind == FUSE_POINTWISE) {
    loom_type reduced = fuse_reduced(&a->space, a->axes);
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

static bool fuse_node_is_full(const fuse_group *g, const fuse_node *node) {
  return node->class != LOOM_CLASS_REDUCE && fuse_same_sizes(&g->space, &node->type);
}

/* Does the broadcast bring a reduced value back over the reduced axes? */
static bool fuse_is_back_broadcast(const fuse_group *g, MlirOperation op) {
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

static bool fuse_edge_fits(const fuse_state *s, const fuse_group *g, const fuse_edge *edge) {
  const fuse_node *producer = &s->nodes[edge->producer], *user = &s->nodes[edge->user];
  if (g->kind == FUSE_UPDATES) return fuse_updates_fit(producer->op, user->op);
  if (edge->via == FUSE_BUFFER) return false;
  if (g->kind != FUSE_REDUCE) return edge->via == FUSE_DIRECT;
  bool from_full = fuse_node_is_full(g, producer);
  bool to_full = user->class == LOOM_CLASS_REDUCE || fuse_node_is_full(g, user);
  if (edge->via == FUSE_DIRECT) return from_full == to_full;
  return !from_full && to_full && edge->via == FUSE_BROADCAST && fuse_rows(&g->space, g->axes) &&
         fuse_is_back_broadcast(g, edge->broadcast);
}

/* Every edge between the two groups must fit the joint group. */
static bool fuse_edges_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  for (int n = s->groups[b].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++) {
      const fuse_edge *edge = &s->edges[s->nodes[n].first_edge + e];
      if (s->nodes[edge->producer].group == a && !fuse_edge_fits(s, g, edge)) return false;
    }
  return true;
}

/* Does a value of this node leave groups `a` and `b`? */
bool fuse_leaves(const fuse_state *s, int n, int a, int b) {
  if (s->nodes[n].returned) return true;
  for (int e = s->nodes[n].first_use; e >= 0; e = s->edges[e].next_use) {
    int user = s->nodes[s->edges[e].user].group;
    if (user != a && user != b) return true;
  }
  return false;
}

bool fuse_is_stored(const fuse_state *s, int n, int a, int b) {
  bool read = s->nodes[n].first_use >= 0;
  return fuse_leaves(s, n, a, b) || (!read && loom_checks_indices(s->nodes[n].op));
}

/* A full-size value may leave a reduce group only when it goes by rows. */
static bool fuse_yields_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind != FUSE_REDUCE || fuse_rows(&g->space, g->axes)) return true;
  int both[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next)
      if (fuse_node_is_full(g, &s->nodes[n]) && fuse_leaves(s, n, a, b)) return false;
  return true;
}

/* Lanes do not run along the axis of a scan: where that is the last one, every element is taken for
 * itself, and costly ops are better off in a kernel of their own. */
static bool fuse_costs_fit(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind != FUSE_SCAN || !(g->axes >> (g->space.rank - 1) & 1)) return true;
  int both[] = {a, b};
  for (int k = 0; k < 2; k++)
    for (int n = s->groups[both[k]].head; n >= 0; n = s->nodes[n].next)
      if (s->nodes[n].cost >= FUSE_COSTLY) return false;
  return true;
}

/* A group that can be computed again everywhere is better off so than stored by the first reduction
 * that reads it, when others read it too. */
static bool fuse_should_wait(const fuse_state *s, int a, int b, const fuse_group *g) {
  if (g->kind == FUSE_POINTWISE || !fuse_can_dissolve(s, a)) return false;
  for (int n = s->groups[a].head; n >= 0; n = s->nodes[n].next)
    if (fuse_leaves(s, n, a, b)) return true;
  return false;
}

/* Is all that `b` reads of product `a` stored anyway, for others? Then nothing is gained by storing
 * what `b` computes besides: a reduction that reads it may compute it on the way. */
static bool fuse_is_stored_anyway(const fuse_state *s, int a, int b) {
  for (int n = s->groups[b].head; n >= 0; n = s->nodes[n].next)
    for (int e = 0; e < s->nodes[n].edge_count; e++) {
      int p = s->edges[s->nodes[n].first_edge + e].producer;
      if (s->nodes[p].group == a && !fuse_leaves(s, p, a, b)) return false;
    }
  return true;
}

/* Groups that depend on `g` depend on what it depends on. */
static void fuse_raise(fuse_state *s, int g) {
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

static void fuse_merge(fuse_state *s, int a, int b, const fuse_group *joint) {
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
  if (s->deep) fuse_raise(s, a);
}

/* Collects the distinct values from outside, and views of them, that computing `value` in the
 * group(s) reads: a view becomes strides of a buffer of its own. False when they are too many. */
static bool fuse_count_inputs(const fuse_state *s, MlirValue value, int a, int b, const void **seen,
                              int *count) {
  MlirValue read = value;
  int n = fuse_node_of(s, value);
  while (n >= 0 && s->nodes[n].free && s->nodes[n].class == LOOM_CLASS_VIEW) {
    value = loom_operand(s->nodes[n].op, 0);
    n = fuse_node_of(s, value);
  }
  if (n >= 0 && s->nodes[n].free) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(s->nodes[n].op); i++)
      if (!fuse_count_inputs(s, loom_operand(s->nodes[n].op, i), a, b, seen, count)) return false;
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
        if (!fuse_count_inputs(s, loom_operand(s->nodes[n].op, i), a, b, seen, &inputs))
          return false;
    }
  return inputs + outputs <= FUSE_MAX_BUFFERS;
}

static bool fuse_try_merge(fuse_state *s, int a, int b, bool related) {
  fuse_group *ga = &s->groups[a], *gb = &s->groups[b], joint;
  if (a == b || !ga->count || !gb->count || ga->count + gb->count > FUSE_MAX_OPS) return false;
  if (!fuse_constants_fit(ga, gb)) return false;
  if (!fuse_join(ga, gb, &joint) && (related || !fuse_join(gb, ga, &joint))) return false;
  if (!fuse_edges_fit(s, a, b, &joint) || !fuse_yields_fit(s, a, b, &joint) ||
      !fuse_costs_fit(s, a, b, &joint) || !fuse_reductions_fit(s, a, b, &joint))
    return false;
  if (related && fuse_should_wait(s, a, b, &joint)) return false;
  if (s->patient && joint.kind == FUSE_DOT && fuse_is_stored_anyway(s, a, b)) return false;
  if (fuse_path_between(s, a, b) || (!related && fuse_path_between(s, b, a))) return false;
  if (!fuse_buffers_fit(s, a, b)) return false;
  fuse_merge(s, a, b, &joint);
  return true;
}

/* ---- the three moves ---- */

/* The last producer of a node in front of node `limit`, or -1. */
static int fuse_producer_before(const fuse_state *s, const fuse_node *node, int limit) {
  int last = -1;
  for (int e = 0; e < node->edge_count; e++) {
    int producer = s->edges[node->first_edge + e].producer;
    if (producer < limit && producer > last) last = producer;
  }
  return last;
}

/* Later producers first: of a sum of products, each is added by the product that comes last. All
 * added by one would have to be there at once. */
static bool fuse_vertically(fuse_state *s) {
  bool changed = false;
  for (int n = 0; n < s->count; n++) {
    const fuse_node *node = &s->nodes[n];
    if (node->free || s->groups[node->group].kind == FUSE_STAYS) continue;
    for (int p = fuse_producer_before(s, node, n); p >= 0; p = fuse_producer_before(s, node, p))
      changed |= fuse_try_merge(s, s->nodes[p].group, node->group, true);
  }
  return changed;
}

/* Does group `b` read a value that group `a` reads? What `a` reads is noted in s->readers first. */
static bool fuse_share_input(fuse_state *s, int a, int b) {
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
static bool fuse_horizontally(fuse_state *s) {
  const int window = 16;
  bool changed = false;
  for (int a = 0; a < s->count; a++) {
    if (!s->groups[a].count || s->groups[a].kind > FUSE_REDUCE) continue;
    for (int b = a + 1, seen = 0; b < s->count && seen < window; b++) {
      if (!s->groups[b].count || s->groups[b].kind > FUSE_REDUCE) continue;
      seen++;
      if (fuse_direct_path(s, a, b) || fuse_direct_path(s, b, a)) continue;
      int64_t elements = loom_num_high(loom_num_elements(&s->groups[a].space));
      if (elements > FUSE_SMALL && !fuse_share_input(s, a, b)) continue;
      if (!fuse_try_merge(s, a, b, false)) continue;
      changed = true;
      s->reader = -1;
    }
  }
  return changed;
}

static void fuse_grow(fuse_state *s, bool patient) {
  s->patient = patient;
  fuse_vertically(s);
  for (int round = 0; round < 4 && fuse_dissolve(s); round++)
    fuse_vertically(s);
}

/* ---- the pass ---- */

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
    if ((!loom_opcode_of(op, &code) && !loom_is(op, LOOM_OP_CONTROL)) ||
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
    fuse_grow(&s, true);
    fuse_grow(&s, false);
    if (fuse_horizontally(&s)) fuse_vertically(&s);
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
  return loom_pass_create("LoomFuse", "loom-fuse",
                          "Group tensor ops into loom.fusion, one kernel each", "func.func",
                          fuse_run);
}
