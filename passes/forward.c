/* loom-forward: elements that are read from small arrays, written element by element, are taken
 * from the updates that wrote them.
 *
 * before:
 *     %1 = loom.update_slice %0, %u starts = [1, 1] ...
 *     %2 = loom.update_slice %1, %v starts = [1, 2] ...
 *     %3 = loom.slice %2 starts = [1, 1] sizes = [1, 1] ...   // and what it is computed for
 *     %4 = loom.update_slice %2, %w starts = [1, 3] ...
 *
 * after:
 *     %3 = loom.slice %u starts = [0, 0] sizes = [1, 1] ...
 *
 * requires: nothing.
 *
 * keeps: values, the floating-point exceptions of every value that is used.
 *
 * breaks: nothing.
 *
 * A table that unrolled loops fill (of an edit distance, say) is a chain of updates, with a few
 * slices of each array between them. Without this pass each update would be a kernel that copies
 * the table. The pass knows for every element of an array which update wrote it last. A slice all
 * of whose elements come from one update becomes a slice of the value that was written. A slice
 * whose elements were written by no update becomes a slice of the array before the first one. Then
 * nobody reads the arrays between the updates, and loom-fuse gathers the updates into kernels
 * (fuse_inplace.c).
 *
 * A chain that nobody reads any more would be dead, and the floating-point exceptions of the values
 * that it writes would be lost. So slices of the last array of a chain are left as they are, unless
 * something else than slices reads that array, too, and keeps the chain alive. Large arrays are
 * left alone: they are updated in place, which reads of earlier contents would prevent.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_elements.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

#define FORWARD_CHAINS 16 /* at a time */

typedef struct forward_window {
  intptr_t rank;
  int64_t starts[LOOM_MAX_RANK], steps[LOOM_MAX_RANK], sizes[LOOM_MAX_RANK];
} forward_window;

typedef struct forward_read { /* a slice of the last array of a chain */
  MlirOperation slice;
  MlirValue source;
  forward_window window;
} forward_read;

typedef struct forward_chain {
  MlirValue base, tip; /* before the first update, after the last one until now */
  loom_type type;
  int32_t *writers;       /* of each element: an index in `updates`, or -1 */
  MlirOperation *updates; /* in order */
  int32_t update_count;
  uint32_t update_capacity;
  forward_read *reads; /* of the tip */
  int32_t read_count;
  uint32_t read_capacity;
} forward_chain;

typedef struct forward_state {
  forward_chain chains[FORWARD_CHAINS];
  int next;
  bool out_of_memory;
} forward_state;

/* ---- windows ---- */

/* The region of `op` in an array of this type; false when its place is not a constant. */
static bool forward_read_window(MlirOperation op, const loom_type *array, forward_window *out) {
  loom_type region;
  MlirValue value = loom_info(op)->updates ? loom_operand(op, 1) : loom_result(op, 0);
  out->rank = loom_get_i64s(op, "starts", out->starts, LOOM_MAX_RANK);
  if (out->rank != array->rank ||
      loom_get_i64s(op, "steps", out->steps, LOOM_MAX_RANK) != out->rank ||
      !loom_type_from_mlir(mlirValueGetType(value), &region) || region.rank != out->rank ||
      loom_type_elements(&region) <= 0)
    return false;
  for (intptr_t d = 0; d < out->rank; d++) {
    int64_t last = region.dims[d] - 1, start = out->starts[d], size = array->dims[d];
    out->sizes[d] = region.dims[d];
    if (!last) out->steps[d] = 1;
    if (LOOM_STRIDE_IS_SYM(start) || start < 0 || start >= size || out->steps[d] <= 0 ||
        last > (size - 1 - start) / out->steps[d])
      return false;
  }
  return true;
}

/* Calls `visit` with the number of each element of the window, in C order, until it says false. */
static bool forward_visit(const forward_chain *chain, const forward_window *w,
                          bool (*visit)(int32_t *writer, int32_t *user), int32_t *user) {
  int64_t at[LOOM_MAX_RANK] = {0};
  for (;;) {
    int64_t element = 0;
    for (intptr_t d = 0; d < w->rank; d++)
      element = element * chain->type.dims[d] + w->starts[d] + at[d] * w->steps[d];
    if (!visit(&chain->writers[element], user)) return false;
    intptr_t d = w->rank - 1;
    while (d >= 0 && ++at[d] == w->sizes[d])
      at[d--] = 0;
    if (d < 0) return true;
  }
}

static bool forward_set(int32_t *writer, int32_t *user) {
  *writer = *user;
  return true;
}

static bool forward_same(int32_t *writer, int32_t *user) {
  if (*user < -1) *user = *writer;
  return *writer == *user;
}

/* The window within what was written to `region`, all of which lies in that. */
static void forward_shift(forward_window *w, const forward_window *region) {
  for (intptr_t d = 0; d < w->rank; d++) {
    w->starts[d] = (w->starts[d] - region->starts[d]) / region->steps[d];
    w->steps[d] = w->sizes[d] > 1 ? w->steps[d] / region->steps[d] : 1;
  }
}

/* ---- chains ---- */

static void forward_apply(const forward_chain *chain) {
  if (chain->read_count) loom_count(0, chain->read_count);
  for (int32_t i = 0; i < chain->read_count; i++) {
    const forward_read *read = &chain->reads[i];
    MlirContext ctx = mlirOperationGetContext(read->slice);
    loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(read->slice), "forward",
                "it reads what was put into the array before, not the array");
    mlirOperationSetOperand(read->slice, 0, read->source);
    loom_set_attr(read->slice, "starts",
                  loom_attr_i64s(ctx, read->window.rank, read->window.starts));
    loom_set_attr(read->slice, "steps", loom_attr_i64s(ctx, read->window.rank, read->window.steps));
  }
}

static bool forward_is_kept(MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use))
    if (!loom_is(mlirOpOperandGetOwner(use), LOOM_OP_SLICE)) return true;
  return false;
}

static void forward_end(forward_chain *chain) {
  if (chain->read_count && forward_is_kept(chain->tip)) forward_apply(chain);
  free(chain->writers);
  free(chain->updates);
  free(chain->reads);
  memset(chain, 0, sizeof *chain);
}

static forward_chain *forward_find(forward_state *s, MlirValue value) {
  for (int i = 0; i < FORWARD_CHAINS; i++)
    if (s->chains[i].tip.ptr && mlirValueEqual(s->chains[i].tip, value)) return &s->chains[i];
  return NULL;
}

static forward_chain *forward_begin(forward_state *s, MlirValue base) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(base), &type)) return NULL;
  int64_t elements = loom_type_elements(&type);
  if (elements <= 0 || elements * (int64_t)loom_dtype_size(type.dtype) >= LOOM_INPLACE_BYTES)
    return NULL;
  forward_chain *chain = &s->chains[s->next];
  s->next = (s->next + 1) % FORWARD_CHAINS;
  forward_end(chain);
  chain->writers = malloc(sizeof *chain->writers * (size_t)elements);
  if (!chain->writers) {
    s->out_of_memory = true;
    return NULL;
  }
  memset(chain->writers, 0xff, sizeof *chain->writers * (size_t)elements);
  chain->base = chain->tip = base;
  chain->type = type;
  return chain;
}

static void forward_update(forward_state *s, MlirOperation op) {
  forward_chain *chain = forward_find(s, loom_operand(op, 0));
  forward_window window;
  if (!chain) chain = forward_begin(s, loom_operand(op, 0));
  if (!chain || !forward_read_window(op, &chain->type, &window)) return;
  if (!loom_grow(&chain->updates, (size_t)chain->update_count, &chain->update_capacity,
                 sizeof *chain->updates)) {
    s->out_of_memory = true;
    return;
  }
  int32_t number = chain->update_count++;
  chain->updates[number] = op;
  forward_visit(chain, &window, forward_set, &number);
  forward_apply(chain); /* this update keeps what they read alive */
  chain->read_count = 0;
  chain->tip = loom_result(op, 0);
}

static void forward_slice(forward_state *s, MlirOperation op) {
  forward_chain *chain = forward_find(s, loom_operand(op, 0));
  forward_read read = {.slice = op};
  int32_t writer = INT32_MIN;
  if (!chain || !chain->update_count || !forward_read_window(op, &chain->type, &read.window) ||
      !forward_visit(chain, &read.window, forward_same, &writer))
    return;
  read.source = chain->base;
  if (writer >= 0) {
    forward_window region;
    MlirOperation update = chain->updates[writer];
    if (!forward_read_window(update, &chain->type, &region)) return;
    read.source = loom_operand(update, 1);
    forward_shift(&read.window, &region);
  }
  if (!loom_grow(&chain->reads, (size_t)chain->read_count, &chain->read_capacity,
                 sizeof *chain->reads)) {
    s->out_of_memory = true;
    return;
  }
  chain->reads[chain->read_count++] = read;
}

/* ---- the pass ---- */

static bool forward_op(MlirOperation op, void *user) {
  forward_state *s = user;
  switch (loom_op_of(op)) {
  case LOOM_OP_UPDATE_SLICE: forward_update(s, op); break;
  case LOOM_OP_SLICE: forward_slice(s, op); break;
  default: break;
  }
  return !s->out_of_memory;
}

static bool forward_run(MlirOperation function) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  if (!block.ptr) return true;
  forward_state s = {.next = 0};
  loom_sweep(block); /* an update that is left is wanted */
  loom_walk_block(block, forward_op, &s);
  for (int i = 0; i < FORWARD_CHAINS; i++)
    forward_end(&s.chains[i]);
  return !s.out_of_memory || loom_emit_error(mlirOperationGetLocation(function), "out of memory");
}

MlirPass loom_make_forward_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomForward",
      .flag = "loom-forward",
      .summary = "Read elements of updated small arrays where they come from",
      .root = "builtin.module",
      .each_function = true,
      .run = forward_run,
      .counters = {{"reads", "reads of what was put into an array"}}};
  return loom_pass_of(&spec);
}
