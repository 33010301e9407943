/* Updates in place, for loom-fuse (fuse.c): an update_slice that replaces a small part of a large
 * array writes into the array's buffer and moves nothing else.
 *
 * That is possible when the buffer is the plan's own and nothing reads the old value later. Such an
 * op is marked `loom.inplace` and is a kernel of its own; all readers of the old value come before
 * it (fuse_state.watched). An argument whose place a result may take (`loom.overwrites`) is first
 * copied as a whole, by an op that is marked as well. That copy costs nothing where the caller
 * passes one buffer for both.
 *
 * Small arrays are updated in place, too, when there are many updates of which each is read by the
 * next one alone (a table that is filled element by element, after loom-forward): a kernel that
 * selects among all of them would be as large as the array. The array before the first update is
 * copied, unless nothing reads it later. Such updates are gathered into few kernels, each writing
 * one region after the other.
 */
#include <stdlib.h>

#include "loom_ops_elements.h"
#include "passes/fuse.h"

#define INPLACE_PART 4   /* of an array: what is replaced is at most a fourth */
#define INPLACE_CHAIN 8  /* updates of a small array that are worth it */
#define INPLACE_FEW 4096 /* elements of a region that are written in one chunk anyway */

/* Is a small part replaced, of a large array or of one of any size? */
static bool inplace_is_worth(MlirOperation op, bool large) {
  loom_type whole, part;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &whole) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &part) ||
      !loom_type_is_sized(&whole) || !loom_type_is_sized(&part))
    return false;
  int64_t all = loom_num_hint(loom_num_elements(&whole));
  int64_t some = loom_num_hint(loom_num_elements(&part));
  large &= all * (int64_t)loom_dtype_size(whole.dtype) < LOOM_INPLACE_BYTES;
  return !large && some <= all / INPLACE_PART;
}

/* An argument in C order whose buffer the caller would like to pass for a result too. */
static bool inplace_is_wanted(MlirOperation function, MlirBlock block, MlirValue argument) {
  MlirOperation terminator = mlirBlockGetTerminator(block);
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  intptr_t number = mlirBlockArgumentGetArgNumber(argument);
  if (loom_argument_has(function, number, loom_mark_scalar) ||
      !loom_type_from_mlir(mlirValueGetType(argument), &type))
    return false;
  loom_argument_strides(function, number, &type, strides);
  if (!loom_strides_are_contiguous(&type, strides)) return false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++)
    if (loom_result_overwrites(function, i) == number) return true;
  return false;
}

/* The result lies as the operand does, in C order. */
static bool inplace_is_plain(MlirOperation function, MlirValue result) {
  for (MlirOpOperand use = mlirValueGetFirstUse(result); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    if (!loom_is_named(mlirOpOperandGetOwner(use), "func.return")) continue;
    if (!loom_type_from_mlir(mlirValueGetType(result), &type)) return false;
    loom_result_strides(function, mlirOpOperandGetOperandNumber(use), &type, strides);
    if (!loom_strides_are_contiguous(&type, strides)) return false;
  }
  return true;
}

static void inplace_mark(MlirOperation op) {
  loom_set_attr(op, loom_mark_inplace, mlirUnitAttrGet(mlirOperationGetContext(op)));
}

/* The update that is the only one to read this one's result; or null. */
static MlirOperation inplace_next(MlirOperation op) {
  MlirOpOperand use = mlirValueGetFirstUse(loom_result(op, 0));
  if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)) ||
      mlirOpOperandGetOperandNumber(use) != 0 ||
      !loom_is(mlirOpOperandGetOwner(use), LOOM_OP_UPDATE_SLICE))
    return (MlirOperation){NULL};
  return mlirOpOperandGetOwner(use);
}

/* Does a long chain of updates of a small array begin here? All of it is marked then. */
static bool inplace_mark_chain(MlirOperation function, MlirOperation op) {
  int count = 0;
  for (MlirOperation at = op; at.ptr; at = inplace_next(at)) {
    if (!inplace_is_worth(at, false) || !inplace_is_plain(function, loom_result(at, 0))) break;
    count++;
  }
  if (count < INPLACE_CHAIN) return false;
  for (MlirOperation at = op; count--; at = inplace_next(at))
    inplace_mark(at);
  return true;
}

static void inplace_copy_base(MlirOperation op, bool marked) {
  MlirValue copy = fuse_insert_copy(op, loom_operand(op, 0));
  if (marked) inplace_mark(loom_def(copy));
  mlirOperationSetOperand(op, 0, copy);
}

void fuse_prepare_update(MlirOperation function, MlirBlock block, MlirOperation op) {
  MlirValue whole = loom_operand(op, 0), part = loom_operand(op, 1);
  MlirOperation def = loom_def(whole);
  if (loom_get_attr(op, loom_mark_inplace).ptr) return; /* in a chain */
  bool computed = fuse_is_computed(whole) && loom_class_of(def) != LOOM_CLASS_HOST;
  bool last = loom_is_read_last(whole, op);
  bool wanted = !def.ptr && last && inplace_is_wanted(function, block, whole);
  if (!inplace_is_worth(op, true)) {
    if (!inplace_mark_chain(function, op)) return;
    if (!computed || !last) inplace_copy_base(op, false);
  } else {
    if ((!computed && !wanted) || !last || !inplace_is_plain(function, loom_result(op, 0))) return;
    if (wanted) inplace_copy_base(op, true);
    inplace_mark(op);
  }
  if (loom_view_root(part).ptr == whole.ptr) /* read before any of it is written */
    mlirOperationSetOperand(op, 1, fuse_insert_copy(op, part));
}

bool fuse_updates_fit(MlirOperation before, MlirOperation op) {
  MlirOperation both[] = {before, op};
  for (int i = 0; i < 2; i++) {
    loom_type part;
    if (!loom_is(both[i], LOOM_OP_UPDATE_SLICE) ||
        !loom_type_from_mlir(mlirValueGetType(loom_operand(both[i], 1)), &part) ||
        loom_type_elements(&part) < 0 || loom_type_elements(&part) > INPLACE_FEW)
      return false;
  }
  return mlirOperationEqual(inplace_next(before), op);
}

/* ---- what comes before what ---- */

bool fuse_watch(fuse_state *s, int n) {
  MlirOperation op = s->nodes[n].op;
  if (!loom_get_attr(op, loom_mark_inplace).ptr) return true;
  s->groups[n].kind = loom_info(op)->updates ? FUSE_UPDATES : FUSE_ALONE;
  s->watches = true;
  return loom_map_put(&s->watched, loom_operand(op, 0).ptr, -1);
}

void fuse_note_read(fuse_state *s, MlirValue value, int user) {
  int64_t last = loom_map_get(&s->watched, value.ptr, -2);
  if (last == -2) return;
  s->nodes[user].watched = true;
  if (!loom_grow(&s->reads, (size_t)s->read_count, &s->read_capacity, sizeof *s->reads)) {
    s->out_of_memory = true;
    return;
  }
  s->reads[s->read_count] = (fuse_read){user, (int)last};
  if (!loom_map_put(&s->watched, value.ptr, s->read_count++)) s->out_of_memory = true;
}

int fuse_next_reader(const fuse_state *s, int n, int *at) {
  if (*at == -2) *at = (int)loom_map_get(&s->watched, loom_operand(s->nodes[n].op, 0).ptr, -1);
  if (*at < 0) return -1;
  int user = s->reads[*at].user;
  *at = s->reads[*at].next;
  return user;
}
