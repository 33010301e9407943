/* loom-plan: gives buffers to values and writes the list of launches.
 *
 * before:
 *     func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
 *       %0 = loom.apply @k0(%a) : ...
 *       %1 = loom.apply @k1(%0) : ...
 *       return %1
 *     }
 *
 * after:
 *     loom.plan @main {
 *     ^bb0(%a: memref<8xf32>, %out: memref<8xf32>):
 *       %t = loom.buffer offset = 0 : memref<8xf32>
 *       loom.launch @k0 ... (%a, %t)
 *       loom.launch @k1 ... (%t, %out)
 *     } {inputs = 1, consts = [], arena = 64}
 *
 * requires: loom-outline, and loom-schedule for `stages`, `scratch` and `slots` of the kernels.
 * Functions that loom-regions made get plans of their own, behind the main one; loom.control
 * becomes loom.run.
 *
 * keeps: order.
 *
 * breaks: the function is gone; its meaning is the plan's.
 *
 * A returned value is written straight into its output buffer by the kernel that computes it;
 * reshapes of whole buffers are the buffer itself. All else lives in one arena. Offsets: buffers
 * are placed from the largest to the smallest, each into the tightest gap left by those already
 * placed that live at the same time; 64-byte aligned. Placing in the order of time would leave
 * holes that nothing fits. Where the caller gives inputs away (`loom.given`) or makes results late
 * (`loom.lent`), dead parts of the arena are given back between launches (plan_trim.c).
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "passes/passes.h"
#include "passes/plan.h"

/* Whose memory a storage is: known before the run, allocated when its size is known, or the host's.
 */
typedef enum plan_late { PLAN_KNOWN, PLAN_ALLOCATED, PLAN_FROM_HOST } plan_late;

typedef struct plan_storage { /* bytes that one or several values (in-place, reshaped) live in */
  int64_t size, offset;
  int first, last; /* steps between which it is live */
  int output;      /* output number, or -1: arena */
  bool kept;       /* made once (loom-keep): not in the arena, for as long as the plan */
  plan_late late;
  MlirValue buffer; /* the last loom.buffer made of it */
} plan_storage;

typedef struct plan_state {
  MlirOperation module, function, plan;
  MlirContext ctx;
  MlirBlock block, body; /* of the function, of the plan */
  loom_map storage_of;   /* value -> storage; apply -> that of its slots */
  loom_map kept_of;      /* apply -> storage of what its kernel packs once */
  loom_map kernels;      /* interned symbol attribute -> kernel operation */
  plan_storage *storages;
  int storage_count, storage_capacity;
  int64_t arena;
  intptr_t inputs;
  loom_late late;
  int steps;
  plan_trim *trims;
  int trim_count;
  int64_t peak; /* bytes that are there at the highest point, what the caller gives or makes late
                   included; 0: it does neither */
} plan_state;

#define PLAN_ALIGN 64

typedef struct plan_room { /* a part of the arena that symbolic storages share */
  int64_t size, offset;
  int last;
} plan_room;

static bool plan_memory(plan_state *s) {
  return loom_emit_error(mlirOperationGetLocation(s->function), "out of memory");
}

/* ---- types ---- */

static MlirType plan_memref(MlirContext ctx, MlirType tensor, const int64_t *strides) {
  loom_type type;
  if (!loom_type_from_mlir(tensor, &type)) return (MlirType){NULL};
  MlirType element = mlirShapedTypeGetElementType(tensor);
  bool plain = !strides || loom_strides_are_contiguous(&type, strides);
  int64_t dims[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  for (int i = 0; i < type.rank; i++) {
    dims[i] = LOOM_DIM_IS_SYM(type.dims[i]) ? mlirShapedTypeGetDynamicSize() : type.dims[i];
    steps[i] = plain || !LOOM_STRIDE_IS_SYM(strides[i]) ? plain ? 0 : strides[i]
                                                        : mlirShapedTypeGetDynamicStrideOrOffset();
  }
  if (plain) return mlirMemRefTypeContiguousGet(element, type.rank, dims, mlirAttributeGetNull());
  return mlirMemRefTypeGet(element, type.rank, dims,
                           mlirStridedLayoutAttrGet(ctx, 0, type.rank, steps),
                           mlirAttributeGetNull());
}

static bool plan_is_plain(MlirContext ctx, MlirType memref) {
  return mlirTypeEqual(memref, plan_memref(ctx, memref, NULL));
}

/* Bytes of a value, or -1 when they are not known. */
static int64_t plan_bytes(MlirValue value) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return -1;
  if (!loom_type_is_static(&type))
    return loom_type_is_sized(&type)
               ? loom_num_mul(loom_num_elements(&type), (int64_t)loom_dtype_size(type.dtype))
               : -1;
  int64_t elements = loom_type_elements(&type);
  int64_t size = (int64_t)loom_dtype_size(type.dtype);
  return elements < 0 || elements > INT64_MAX / 16 / size ? -1 : elements * size;
}

/* ---- sizes that are known only when the plan runs ---- */

/* The symbol that a size is, or -1. */
static int64_t plan_symbol(loom_dim dim) {
  const loom_expr *expr = LOOM_DIM_IS_SYM(dim) ? &loom_sizes()->exprs[LOOM_DIM_EXPR(dim)] : NULL;
  return expr && expr->kind == LOOM_EXPR_SYMBOL ? expr->value : -1;
}

/* A host call that tells sizes says so in `loom.introduces`. */
static bool plan_find_late(plan_state *s) {
  if (!loom_late_find(&s->late, s->block)) return plan_memory(s);
  for (int32_t call = 1; call <= s->late.count; call++) {
    int64_t made[LOOM_MAX_RANK];
    intptr_t count = loom_late_told(&s->late, call, made, LOOM_MAX_RANK);
    loom_set_attr(s->late.calls[call - 1], loom_mark_introduces,
                  loom_attr_i64s(s->ctx, count, made));
  }
  return true;
}

/* Has this result of a host call a size that the call itself tells? */
static bool plan_is_from_host(MlirOperation op, intptr_t result) {
  int64_t made[LOOM_MAX_RANK];
  loom_type type;
  intptr_t count = loom_get_i64s(op, loom_mark_introduces, made, LOOM_MAX_RANK);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, result)), &type)) return false;
  for (int d = 0; d < type.rank; d++)
    for (intptr_t i = 0; i < count; i++)
      if (plan_symbol(type.dims[d]) == made[i]) return true;
  return false;
}

/* ---- storages ---- */

static int plan_add_storage(plan_state *s, int64_t size, int step) {
  if (s->storage_count == s->storage_capacity) {
    int capacity = s->storage_capacity ? s->storage_capacity * 2 : 64;
    plan_storage *grown = realloc(s->storages, sizeof *grown * (size_t)capacity);
    if (!grown) return -1;
    s->storages = grown;
    s->storage_capacity = capacity;
  }
  s->storages[s->storage_count] =
      (plan_storage){.size = size, .first = step, .last = step, .output = -1};
  return s->storage_count++;
}

static int plan_storage_of(const plan_state *s, MlirValue value) {
  return (int)loom_map_get(&s->storage_of, loom_buffer_root(value).ptr, -1);
}

static MlirOperation plan_kernel(const plan_state *s, MlirOperation apply) {
  MlirAttribute name = loom_get_attr(apply, "kernel");
  if (!name.ptr || !mlirAttributeIsAFlatSymbolRef(name)) return (MlirOperation){NULL};
  MlirAttribute text = mlirStringAttrGet(s->ctx, mlirFlatSymbolRefAttrGetValue(name));
  return (MlirOperation){(void *)(intptr_t)loom_map_get(&s->kernels, text.ptr, 0)};
}

static bool plan_find_kernels(plan_state *s) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s->module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!loom_is(op, LOOM_OP_KERNEL)) continue;
    if (!loom_map_put(&s->kernels, loom_get_attr(op, "sym_name").ptr, (intptr_t)op.ptr))
      return plan_memory(s);
  }
  return true;
}

/* The value whose buffer a loop takes for one of its results (loop_inplace.c), or null. */
static MlirValue plan_taken(MlirOperation op, intptr_t result) {
  for (intptr_t i = 0; loom_is(op, LOOM_OP_CONTROL) && i < mlirOperationGetNumOperands(op); i++)
    if (loom_loop_takes(op, loom_operand(op, i)) == result) return loom_operand(op, i);
  return (MlirValue){NULL};
}

/* The storage of one result: that of the operand which a kernel overwrites or a loop takes, or a
 * new one. */
static int plan_result_storage(plan_state *s, MlirOperation op, MlirOperation kernel,
                               intptr_t result, int step) {
  int64_t inplace[LOOM_MAX_RANK * 4];
  intptr_t count = kernel.ptr ? loom_get_i64s(kernel, "inplace", inplace, LOOM_MAX_RANK * 4) : 0;
  if (result < count && result < LOOM_MAX_RANK * 4 && inplace[result] >= 0 &&
      inplace[result] < mlirOperationGetNumOperands(op)) {
    int taken = plan_storage_of(s, loom_operand(op, inplace[result]));
    if (taken >= 0) return taken;
  }
  MlirValue taken = plan_taken(op, result);
  MlirOperation maker = taken.ptr ? loom_def(taken) : (MlirOperation){NULL};
  int storage = maker.ptr && !loom_is(maker, LOOM_OP_HOST_CALL) ? plan_storage_of(s, taken) : -1;
  if (storage >= 0 && !s->storages[storage].late && !s->storages[storage].kept) return storage;
  int64_t bytes = plan_bytes(loom_result(op, result));
  if (bytes < 0 && !LOOM_STRIDE_IS_SYM(bytes)) {
    loom_emit_error(mlirOperationGetLocation(op), "a plan needs values of known size");
    return -1;
  }
  return plan_add_storage(s, bytes, step);
}

static bool plan_check_op(const plan_state *s, MlirOperation op, MlirOperation *kernel) {
  *kernel = (MlirOperation){NULL};
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  switch (loom_op_of(op)) {
  case LOOM_OP_HOST_CALL:
  case LOOM_OP_CONTROL:
  case LOOM_OP_RESHAPE: return true;
  case LOOM_OP_APPLY: break;
  default:
    return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' has no place in a plan",
                           (int)name.length, name.data);
  }
  *kernel = plan_kernel(s, op);
  if (!kernel->ptr)
    return loom_emit_error(mlirOperationGetLocation(op), "the kernel does not exist");
  return loom_get_attr(*kernel, "stages").ptr ||
         loom_emit_error(mlirOperationGetLocation(op),
                         "the kernel has no schedule: run loom-schedule first");
}

/* One step for each op: where each value lives, and from when to when. */
static bool plan_find_storages(plan_state *s) {
  int step = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op), step++) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
      int used = plan_storage_of(s, loom_operand(op, i));
      if (used >= 0) s->storages[used].last = step;
    }
    MlirOperation kernel;
    if (mlirOperationEqual(op, mlirBlockGetTerminator(s->block))) break;
    if (!plan_check_op(s, op, &kernel)) return false;
    if (loom_is(op, LOOM_OP_RESHAPE)) continue;
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
      int storage = plan_result_storage(s, op, kernel, i, step);
      if (storage < 0) return false;
      s->storages[storage].last = step;
      if (loom_late_number(&s->late, s->storages[storage].size))
        s->storages[storage].late = PLAN_ALLOCATED;
      if (plan_is_from_host(op, i)) s->storages[storage].late = PLAN_FROM_HOST;
      s->storages[storage].kept = loom_get_attr(op, loom_mark_once).ptr != NULL;
      if (!loom_map_put(&s->storage_of, loom_result(op, i).ptr, storage)) return plan_memory(s);
    }
    int64_t slots = kernel.ptr ? loom_get_i64(kernel, "slots", 0) : 0;
    if (slots != 0) {
      int storage = plan_add_storage(s, slots, step);
      if (storage >= 0 && loom_late_number(&s->late, slots))
        s->storages[storage].late = PLAN_ALLOCATED;
      if (storage < 0 || !loom_map_put(&s->storage_of, op.ptr, storage)) return plan_memory(s);
      s->storages[storage].kept = loom_get_attr(op, loom_mark_once).ptr != NULL;
    }
    int64_t kept = kernel.ptr ? loom_get_i64(kernel, loom_mark_kept, 0) : 0;
    if (kept) {
      int storage = plan_add_storage(s, kept, step);
      if (storage < 0 || !loom_map_put(&s->kept_of, op.ptr, storage)) return plan_memory(s);
      s->storages[storage].kept = true;
    }
  }
  return true;
}

/* ---- the arena ---- */

static _Thread_local const plan_storage *plan_sort_base; /* qsort passes no context */

static int plan_larger_first(const void *a, const void *b) {
  const plan_storage *x = &plan_sort_base[*(const int *)a], *y = &plan_sort_base[*(const int *)b];
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return *(const int *)a - *(const int *)b;
}

static int64_t plan_aligned(int64_t size) {
  return (size + PLAN_ALIGN - 1) / PLAN_ALIGN * PLAN_ALIGN;
}

/* The tightest gap for storage `n` among the `placed` first entries of `order`, which is sorted by
 * offset. */
static int64_t plan_gap(const plan_state *s, int n, const int *placed, int count) {
  const plan_storage *want = &s->storages[n];
  int64_t size = plan_aligned(want->size), end = 0, best = -1, best_size = INT64_MAX;
  for (int i = 0; i < count; i++) {
    const plan_storage *other = &s->storages[placed[i]];
    if (other->last < want->first || want->last < other->first) continue;
    int64_t gap = other->offset - end;
    if (gap >= size && gap < best_size) {
      best = end;
      best_size = gap;
    }
    int64_t other_end = other->offset + plan_aligned(other->size);
    if (other_end > end) end = other_end;
  }
  return best >= 0 ? best : end;
}

/* Symbolic storages, behind the static ones: each takes a room that is free while it lives and
 * known to be as large, or grows one that is known to be smaller, or makes a new one; rooms lie one
 * after the other. */
static bool plan_place_symbolic(plan_state *s) {
  plan_room *rooms = malloc(sizeof *rooms * (size_t)(s->storage_count + 1));
  int count = 0;
  if (!rooms) return plan_memory(s);
  for (int n = 0; n < s->storage_count; n++) {
    plan_storage *storage = &s->storages[n];
    if (storage->output >= 0 || storage->late || !LOOM_STRIDE_IS_SYM(storage->size)) continue;
    int room = 0;
    for (; room < count; room++) { /* storages come in the order of time */
      bool fits = loom_num_at_most(storage->size, rooms[room].size);
      if (rooms[room].last >= storage->first ||
          (!fits && !loom_num_at_most(rooms[room].size, storage->size)))
        continue;
      if (!fits) rooms[room].size = storage->size;
      break;
    }
    if (room == count) rooms[count++] = (plan_room){.size = storage->size};
    rooms[room].last = storage->last;
    storage->offset = room;
  }
  for (int i = 0; i < count; i++) {
    rooms[i].offset = s->arena;
    s->arena =
        loom_num_add(s->arena, loom_num_mul(loom_num_ceil(rooms[i].size, PLAN_ALIGN), PLAN_ALIGN));
  }
  for (int n = 0; n < s->storage_count; n++)
    if (s->storages[n].output < 0 && !s->storages[n].late &&
        LOOM_STRIDE_IS_SYM(s->storages[n].size))
      s->storages[n].offset = rooms[s->storages[n].offset].offset;
  free(rooms);
  return true;
}

static bool plan_place(plan_state *s) {
  int *order = malloc(sizeof *order * 2 * (size_t)(s->storage_count + 1));
  if (!order) return plan_memory(s);
  int *placed = order + s->storage_count, count = 0, placed_count = 0;
  for (int n = 0; n < s->storage_count; n++)
    if (s->storages[n].output < 0 && !s->storages[n].kept &&
        !LOOM_STRIDE_IS_SYM(s->storages[n].size))
      order[count++] = n;
  plan_sort_base = s->storages;
  qsort(order, (size_t)count, sizeof *order, plan_larger_first);
  for (int i = 0; i < count; i++) {
    plan_storage *storage = &s->storages[order[i]];
    storage->offset = plan_gap(s, order[i], placed, placed_count);
    int64_t end = storage->offset + plan_aligned(storage->size);
    if (end > s->arena) s->arena = end;
    int at = placed_count++;
    for (; at > 0 && s->storages[placed[at - 1]].offset > storage->offset; at--)
      placed[at] = placed[at - 1];
    placed[at] = order[i];
  }
  free(order);
  return plan_place_symbolic(s);
}

/* ---- giving parts of it back (plan_trim.c) ---- */

static int plan_last_read(const plan_state *s, MlirValue value, const loom_map *steps) {
  int last = -1;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    int step = loom_is(user, LOOM_OP_RESHAPE) ? plan_last_read(s, loom_result(user, 0), steps)
                                              : (int)loom_map_get(steps, user.ptr, s->steps - 1);
    if (step > last) last = step;
  }
  return last;
}

/* Adds what the caller gives away until it was read last, and what it makes late from when it is
 * written first. False when it does neither. */
static bool plan_add_others(const plan_state *s, const loom_map *steps, int64_t *others) {
  bool any = false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(s->block); i++) {
    MlirValue argument = mlirBlockGetArgument(s->block, i);
    int64_t bytes = plan_bytes(argument);
    if (!loom_argument_has(s->function, i, loom_mark_given) || bytes < 0) continue;
    any = true;
    for (int step = plan_last_read(s, argument, steps); step >= 0; step--)
      others[step] += bytes;
  }
  for (int n = 0; n < s->storage_count; n++) {
    const plan_storage *storage = &s->storages[n];
    if (storage->output < 0 || !loom_result_has(s->function, storage->output, loom_mark_lent))
      continue;
    any = true;
    for (int step = storage->first; step < s->steps; step++)
      others[step] += storage->size;
  }
  return any;
}

static int plan_list_spans(const plan_state *s, plan_span *spans) {
  int count = 0;
  for (int n = 0; n < s->storage_count; n++) {
    const plan_storage *at = &s->storages[n];
    if (at->output < 0 && !at->kept)
      spans[count++] = (plan_span){at->offset, at->size, at->first, at->last};
  }
  return count;
}

static bool plan_number_steps(plan_state *s, loom_map *steps) {
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (!loom_map_put(steps, op.ptr, s->steps++)) return false;
  return true;
}

static bool plan_find_trims(plan_state *s) {
  loom_map steps = {0};
  for (int n = 0; n < s->storage_count; n++)
    if (LOOM_STRIDE_IS_SYM(s->storages[n].size) || s->storages[n].late) return true;
  bool good = plan_number_steps(s, &steps);
  int64_t *others = calloc((size_t)s->steps + 1, sizeof *others);
  plan_span *spans = malloc(sizeof *spans * ((size_t)s->storage_count + 1));
  if (good && others && spans && plan_add_others(s, &steps, others)) {
    plan_life life = {spans, plan_list_spans(s, spans), s->steps, others, s->arena};
    good = loom_plan_find_trims(&life, &s->trims, &s->trim_count, &s->peak);
  }
  good &= others && spans;
  free(others);
  free(spans);
  loom_map_fini(&steps);
  return good || plan_memory(s);
}

/* ---- the plan op ---- */

/* Is what `value` is a reshape of laid out in C order? */
static bool plan_root_is_plain(const plan_state *s, MlirValue root) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  if (!loom_type_from_mlir(mlirValueGetType(root), &type)) return false;
  loom_value_strides(s->function, root, &type, strides);
  return loom_strides_are_contiguous(&type, strides);
}

/* Does a kernel write `value` in the very layout that output `i` has? */
static bool plan_lies_as_asked(const plan_state *s, MlirValue value, intptr_t i) {
  loom_type type;
  int64_t asked[LOOM_MAX_RANK], have[LOOM_MAX_RANK];
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return false;
  loom_result_strides(s->function, i, &type, asked);
  MlirValue root = loom_buffer_root(value);
  if (!mlirValueEqual(root, value))
    return loom_strides_are_contiguous(&type, asked) && plan_root_is_plain(s, root);
  loom_value_strides(s->function, value, &type, have);
  return !memcmp(asked, have, sizeof *have * (size_t)type.rank);
}

/* A returned value that is computed here lives in its output from the start. Outputs are never
 * overwritten in place (loom-outline), so that one storage is one output. */
static void plan_bind_outputs(plan_state *s, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    MlirValue value = loom_operand(terminator, i);
    int storage = plan_storage_of(s, value);
    if (storage >= 0 && s->storages[storage].output < 0 &&
        s->storages[storage].late != PLAN_FROM_HOST && plan_lies_as_asked(s, value, i))
      s->storages[storage].output = (int)i;
  }
}

static MlirType plan_argument_type(plan_state *s, intptr_t i) {
  loom_type type;
  int64_t strides[LOOM_MAX_RANK];
  MlirType tensor = mlirValueGetType(mlirBlockGetArgument(s->block, i));
  if (!loom_type_from_mlir(tensor, &type)) return (MlirType){NULL};
  if (loom_argument_has(s->function, i, loom_mark_scalar)) return tensor;
  loom_argument_strides(s->function, i, &type, strides);
  return plan_memref(s->ctx, tensor, strides);
}

/* What was in the buffer of `value` before ops overwrote it in place, one after the other. */
static MlirValue plan_first_in_place(const plan_state *s, MlirValue value) {
  for (;;) {
    int64_t inplace[64];
    MlirOperation def = loom_def(value);
    MlirValue taken =
        def.ptr ? plan_taken(def, mlirOpResultGetResultNumber(value)) : (MlirValue){NULL};
    if (taken.ptr &&
        (!loom_def(taken).ptr || plan_storage_of(s, taken) == plan_storage_of(s, value))) {
      value = taken;
      continue;
    }
    MlirOperation kernel = def.ptr && loom_is(def, LOOM_OP_APPLY) ? plan_kernel(s, def) : def;
    if (!kernel.ptr || !loom_is(kernel, LOOM_OP_KERNEL)) return value;
    intptr_t count = loom_get_i64s(kernel, "inplace", inplace, 64);
    intptr_t result = mlirOpResultGetResultNumber(value);
    MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
    if (result >= count || result >= 64 || inplace[result] < 0 || !loom_overwriting(body).ptr)
      return value;
    value = loom_operand(def, inplace[result]);
  }
}

/* Whose buffer the caller may pass for output `i`: that of the operand over which the output's
 * kernel writes (loom-outline). */
static int64_t plan_overwrites(const plan_state *s, MlirValue value, intptr_t i) {
  int64_t argument = loom_result_overwrites(s->function, i), overlaps[64];
  int storage = plan_storage_of(s, value);
  value = plan_first_in_place(s, value);
  MlirOperation def = loom_def(value);
  if (argument < 0 || storage < 0 || s->storages[storage].output != i) return -1;
  if (!def.ptr) return mlirBlockArgumentGetArgNumber(value) == argument ? argument : -1;
  if (!loom_is(def, LOOM_OP_APPLY)) return -1;
  MlirOperation kernel = plan_kernel(s, def);
  intptr_t count = kernel.ptr ? loom_get_i64s(kernel, loom_mark_overlaps, overlaps, 64) : 0;
  for (intptr_t r = 0; r < count && r < 64; r++)
    if (mlirValueEqual(loom_result(def, r), value)) return overlaps[r] < 0 ? -1 : argument;
  return -1;
}

/* One i64 an output; null when no output overwrites an input. */
static MlirAttribute plan_all_overwrites(const plan_state *s, MlirOperation terminator) {
  int64_t all[64];
  bool any = false;
  intptr_t count = mlirOperationGetNumOperands(terminator);
  if (count > 64) count = 64;
  for (intptr_t i = 0; i < count; i++) {
    all[i] = plan_overwrites(s, loom_operand(terminator, i), i);
    any |= all[i] >= 0;
  }
  return any ? loom_attr_i64s(s->ctx, count, all) : mlirAttributeGetNull();
}

/* Bytes of all arguments where some are symbolic: their types do not tell. */
static bool plan_set_bytes(plan_state *s, MlirOperation terminator) {
  intptr_t outs = mlirOperationGetNumOperands(terminator);
  int64_t *bytes = malloc(sizeof *bytes * (size_t)(s->inputs + outs + 1));
  bool symbolic = false;
  if (!bytes) return plan_memory(s);
  for (intptr_t i = 0; i < s->inputs + outs; i++) {
    bytes[i] = plan_bytes(i < s->inputs ? mlirBlockGetArgument(s->block, i)
                                        : loom_operand(terminator, i - s->inputs));
    symbolic |= LOOM_STRIDE_IS_SYM(bytes[i]);
  }
  if (symbolic) loom_set_attr(s->plan, "bytes", loom_attr_i64s(s->ctx, s->inputs + outs, bytes));
  intptr_t count = 0;
  int64_t late[256];
  for (uint32_t i = 0; i < loom_sizes()->symbol_count && count < 256; i++)
    if (s->late.count && s->late.told[i]) late[count++] = i;
  if (count) loom_set_attr(s->plan, loom_mark_late, loom_attr_i64s(s->ctx, count, late));
  free(bytes);
  return count < 256 || loom_emit_error(mlirOperationGetLocation(s->function), "too many sizes");
}

static bool plan_make(plan_state *s, MlirOperation terminator) {
  MlirLocation loc = mlirOperationGetLocation(s->function);
  s->inputs = mlirBlockGetNumArguments(s->block);
  int64_t *consts = malloc(sizeof *consts * (size_t)(s->inputs + 1)), const_count = 0;
  if (!consts) return plan_memory(s);
  s->body = mlirBlockCreate(0, NULL, NULL);
  bool good = true;
  for (intptr_t i = 0; i < s->inputs && good; i++) {
    MlirType type = plan_argument_type(s, i);
    good = type.ptr != NULL;
    if (!good) break;
    mlirBlockAddArgument(s->body, type, loc);
    if (loom_argument_has(s->function, i, loom_mark_const)) consts[const_count++] = i;
  }
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator) && good; i++) {
    loom_type type;
    int64_t strides[LOOM_MAX_RANK];
    MlirType tensor = mlirValueGetType(loom_operand(terminator, i));
    good = loom_type_from_mlir(tensor, &type) && loom_type_is_sized(&type);
    if (!good) break;
    loom_result_strides(s->function, i, &type, strides);
    mlirBlockAddArgument(s->body, plan_memref(s->ctx, tensor, strides), loc);
  }
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, s->body);
  loom_builder b = loom_builder_before(s->function);
  loom_named attrs[] = {{"sym_name", loom_get_attr(s->function, "sym_name")},
                        {"inputs", loom_attr_i64(s->ctx, s->inputs)},
                        {"consts", loom_attr_i64s(s->ctx, const_count, consts)},
                        {"arena", loom_attr_i64(s->ctx, s->arena)},
                        {loom_mark_overwrites, plan_all_overwrites(s, terminator)}};
  s->plan = loom_build_op_regions(&b, LOOM_OP_PLAN, 0, NULL, 0, NULL, attrs[4].value.ptr ? 5 : 4,
                                  attrs, 1, &region);
  free(consts);
  if (good && s->peak) loom_set_attr(s->plan, loom_mark_peak, loom_attr_i64(s->ctx, s->peak));
  if (good && loom_option(s->function, loom_mark_check).ptr)
    good = loom_plan_set_extents(s->function, s->block, s->plan);
  if (good) return plan_set_bytes(s, terminator);
  return loom_emit_error(loc, "a plan needs array types of known size");
}

/* ---- instructions ---- */

static MlirValue plan_output(const plan_state *s, intptr_t i) {
  return mlirBlockGetArgument(s->body, s->inputs + i);
}

static MlirValue plan_arena_buffer(plan_state *s, loom_builder *b, int storage, MlirType type) {
  plan_storage *at = &s->storages[storage];
  if (at->buffer.ptr && mlirTypeEqual(mlirValueGetType(at->buffer), type)) return at->buffer;
  bool symbolic = LOOM_STRIDE_IS_SYM(at->offset) || LOOM_STRIDE_IS_SYM(at->size);
  if (at->kept) {
    loom_named kept[] = {{"offset", loom_attr_i64(s->ctx, 0)},
                         {loom_mark_kept, loom_attr_i64(s->ctx, storage)}};
    at->buffer = loom_result(loom_build_op(b, LOOM_OP_BUFFER, 0, NULL, 1, &type, 2, kept), 0);
    return at->buffer;
  }
  loom_named attrs[] = {{"offset", loom_attr_i64(s->ctx, at->offset)},
                        {"bytes", loom_attr_i64(s->ctx, at->size)},
                        {loom_mark_late, loom_attr_i64(s->ctx, at->late)},
                        {loom_mark_storage, loom_attr_i64(s->ctx, storage)}};
  bool checked =
      loom_option(s->function, loom_mark_check).ptr != NULL; /* which values share memory */
  int count = at->late || checked ? 4 : symbolic ? 2 : 1;
  MlirOperation made = loom_build_op(b, LOOM_OP_BUFFER, 0, NULL, 1, &type, count, attrs);
  at->buffer = loom_result(made, 0);
  return at->buffer;
}

/* The buffer of a value, made at the end of the plan when it lies in the arena. */
static MlirValue plan_buffer(plan_state *s, loom_builder *b, MlirValue value) {
  MlirValue root = loom_buffer_root(value);
  if (mlirValueIsABlockArgument(root))
    return mlirBlockGetArgument(s->body, mlirBlockArgumentGetArgNumber(root));
  int storage = plan_storage_of(s, root);
  if (s->storages[storage].output >= 0) return plan_output(s, s->storages[storage].output);
  return plan_arena_buffer(s, b, storage, plan_memref(s->ctx, mlirValueGetType(value), NULL));
}

/* Buffers of an op's operands and results, scalars apart. */
typedef struct plan_lists {
  MlirValue *values; /* buffers, then scalars */
  intptr_t buffers, scalars;
} plan_lists;

static bool plan_gather(plan_state *s, loom_builder *b, MlirOperation op, plan_lists *out) {
  intptr_t operands = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  MlirValue *scalars = malloc(sizeof *scalars * (size_t)(operands + 1));
  out->values = malloc(sizeof *out->values * (size_t)(operands + results + 3));
  out->buffers = out->scalars = 0;
  if (!scalars || !out->values) {
    free(scalars);
    return plan_memory(s);
  }
  for (intptr_t i = 0; i < operands; i++) {
    MlirValue root = loom_buffer_root(loom_operand(op, i));
    if (!mlirValueEqual(root, loom_operand(op, i)) && !plan_root_is_plain(s, root)) {
      free(scalars);
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a reshape between kernels of an array that is not in C order");
    }
    MlirValue buffer = plan_buffer(s, b, loom_operand(op, i));
    if (mlirTypeIsAMemRef(mlirValueGetType(buffer)))
      out->values[out->buffers++] = buffer;
    else
      scalars[out->scalars++] = buffer;
  }
  for (intptr_t i = 0; i < results; i++)
    out->values[out->buffers++] = plan_buffer(s, b, loom_result(op, i));
  for (int kept = 0; kept < 2; kept++) {
    int slots = (int)loom_map_get(kept ? &s->kept_of : &s->storage_of, op.ptr, -1);
    if (slots < 0) continue;
    int64_t size = s->storages[slots].size;
    if (LOOM_STRIDE_IS_SYM(size)) size = mlirShapedTypeGetDynamicSize();
    MlirType bytes = mlirMemRefTypeContiguousGet(mlirIntegerTypeGet(s->ctx, 8), 1, &size,
                                                 mlirAttributeGetNull());
    out->values[out->buffers++] = plan_arena_buffer(s, b, slots, bytes);
  }
  memcpy(out->values + out->buffers, scalars, sizeof *scalars * (size_t)out->scalars);
  free(scalars);
  return true;
}

typedef struct plan_part { /* chunks [first, first + count) of a stage */
  int64_t stage, first, count;
} plan_part;

static void plan_launch(plan_state *s, loom_builder *b, MlirOperation op, const plan_lists *lists,
                        plan_part part) {
  MlirOperation kernel = plan_kernel(s, op);
  int32_t segments[] = {(int32_t)lists->buffers, (int32_t)lists->scalars};
  loom_named attrs[9] = {
      {"kernel", loom_get_attr(op, "kernel")},
      {"stage", loom_attr_i64(s->ctx, part.stage)},
      {"chunks", loom_attr_i64(s->ctx, part.count)},
      {"scratch", loom_attr_i64(s->ctx, loom_get_i64(kernel, "scratch", 0))},
      {"fp", loom_attr_i64(s->ctx, loom_get_i64(kernel, "fp", 15))},
      {"operandSegmentSizes", mlirDenseI32ArrayGet(s->ctx, 2, segments)},
  };
  int count = 6;
  if (loom_sizes()->symbol_count)
    attrs[count++] = (loom_named){"symbols", loom_attr_i64(s->ctx, loom_sizes()->symbol_count)};
  if (part.first) attrs[count++] = (loom_named){loom_mark_first, loom_attr_i64(s->ctx, part.first)};
  if (loom_get_attr(op, loom_mark_once).ptr ||
      part.stage < loom_get_i64(kernel, loom_mark_once_stages, 0))
    attrs[count++] = (loom_named){loom_mark_once, mlirUnitAttrGet(s->ctx)};
  loom_build_op(b, LOOM_OP_LAUNCH, lists->buffers + lists->scalars, lists->values, 0, NULL, count,
                attrs);
}

/* A kernel that does nothing but copy a buffer in C order, which may turn out to be the same one.
 */
static bool plan_is_copy(const plan_state *s, MlirOperation kernel, const plan_lists *lists) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  MlirOperation first = mlirBlockGetFirstOperation(body);
  return loom_is(first, LOOM_OP_COPY) && loom_get_attr(first, loom_mark_inplace).ptr &&
         lists->buffers == 2 && lists->scalars == 0 &&
         mlirOperationEqual(mlirOperationGetNextInBlock(first), mlirBlockGetTerminator(body)) &&
         plan_is_plain(s->ctx, mlirValueGetType(lists->values[0])) &&
         plan_is_plain(s->ctx, mlirValueGetType(lists->values[1]));
}

static bool plan_launches(plan_state *s, loom_builder *b, MlirOperation op, plan_lists *lists) {
  MlirOperation kernel = plan_kernel(s, op);
  if (plan_is_copy(s, kernel, lists)) {
    loom_build_op(b, LOOM_OP_COPY_BUFFER, 2, lists->values, 0, NULL, 0, NULL);
    return true;
  }
  int64_t stages[64];
  intptr_t count = loom_get_i64s(kernel, "stages", stages, 64);
  if (count < 1 || count > 64)
    return loom_emit_error(mlirOperationGetLocation(kernel), "a kernel has 1 to 64 stages");
  MlirAttribute parts = loom_get_attr(kernel, loom_mark_launches);
  if (!parts.ptr) {
    for (intptr_t i = 0; i < count; i++)
      plan_launch(s, b, op, lists, (plan_part){i, 0, stages[i]});
    return true;
  }
  for (intptr_t i = 0; i + 3 <= mlirDenseArrayGetNumElements(parts); i += 3) {
    plan_part part = {mlirDenseI64ArrayGetElement(parts, i),
                      mlirDenseI64ArrayGetElement(parts, i + 1),
                      mlirDenseI64ArrayGetElement(parts, i + 2)};
    plan_launch(s, b, op, lists, part);
  }
  return true;
}

/* What is no kernel reads buffers, and writes them in C order. */
static bool plan_check_buffers(const plan_state *s, MlirOperation op, const plan_lists *lists,
                               const char *what) {
  if (lists->scalars)
    return loom_emit_error(mlirOperationGetLocation(op), "a %s takes no scalar inputs", what);
  for (intptr_t i = mlirOperationGetNumOperands(op); i < lists->buffers; i++)
    if (!plan_is_plain(s->ctx, mlirValueGetType(lists->values[i])))
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a %s cannot write a result in another order than C", what);
  return true;
}

static bool plan_control(plan_state *s, loom_builder *b, MlirOperation op, plan_lists *lists) {
  if (!plan_check_buffers(s, op, lists, "loop or branch")) return false;
  loom_named attrs[] = {
      {"kind", loom_get_attr(op, "kind")},
      {"plans", loom_get_attr(op, "bodies")},
      {"carry", loom_get_attr(op, "carry")},
      {"reads", loom_attr_i64(s->ctx, mlirOperationGetNumOperands(op))},
      {loom_mark_symbol, loom_get_attr(op, loom_mark_symbol)},
  };
  loom_build_op(b, LOOM_OP_RUN, lists->buffers, lists->values, 0, NULL, attrs[4].value.ptr ? 5 : 4,
                attrs);
  return true;
}

static bool plan_host_call(plan_state *s, loom_builder *b, MlirOperation op, plan_lists *lists) {
  if (!plan_check_buffers(s, op, lists, "host call")) return false;
  loom_named attrs[] = {
      {"name", loom_get_attr(op, "name")},
      {"slot", loom_get_attr(op, "slot")},
      {"reads", loom_attr_i64(s->ctx, mlirOperationGetNumOperands(op))},
      {loom_mark_introduces, loom_get_attr(op, loom_mark_introduces)},
  };
  loom_build_op(b, LOOM_OP_CALL_HOST, lists->buffers, lists->values, 0, NULL,
                attrs[3].value.ptr ? 4 : 3, attrs);
  return true;
}

/* A value returned a second time, or an input returned as it is. */
static bool plan_copy_outputs(plan_state *s, loom_builder *b, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    MlirValue source = plan_buffer(s, b, loom_operand(terminator, i)), target = plan_output(s, i);
    if (mlirValueEqual(source, target)) continue;
    int storage = plan_storage_of(s, loom_operand(terminator, i));
    if (storage >= 0 && s->storages[storage].output == i) continue;
    if (!mlirTypeEqual(mlirValueGetType(source), mlirValueGetType(target)) ||
        !plan_lies_as_asked(s, loom_operand(terminator, i), i))
      return loom_emit_error(mlirOperationGetLocation(terminator),
                             "result %d is another value in another layout: run loom-fuse first",
                             (int)i);
    MlirValue both[] = {source, target};
    loom_build_op(b, LOOM_OP_COPY_BUFFER, 2, both, 0, NULL, 0, NULL);
  }
  return true;
}

static void plan_write_trims(const plan_state *s, loom_builder *b, int step, int *next) {
  for (; *next < s->trim_count && s->trims[*next].step <= step; ++*next) {
    loom_named attrs[] = {{"offset", loom_attr_i64(s->ctx, s->trims[*next].offset)},
                          {"bytes", loom_attr_i64(s->ctx, s->trims[*next].size)}};
    loom_build_op(b, LOOM_OP_TRIM_ARENA, 0, NULL, 0, NULL, 2, attrs);
  }
}

static bool plan_write(plan_state *s, MlirOperation terminator) {
  int step = 0, trim = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block);
       op.ptr && !mlirOperationEqual(op, terminator);
       op = mlirOperationGetNextInBlock(op), step++) {
    if (loom_is(op, LOOM_OP_RESHAPE)) continue;
    loom_builder b = loom_builder_at_end(s->body, mlirOperationGetLocation(op));
    plan_write_trims(s, &b, step, &trim);
    plan_lists lists;
    bool good = plan_gather(s, &b, op, &lists) &&
                (loom_is(op, LOOM_OP_APPLY)     ? plan_launches(s, &b, op, &lists)
                 : loom_is(op, LOOM_OP_CONTROL) ? plan_control(s, &b, op, &lists)
                                                : plan_host_call(s, &b, op, &lists));
    free(lists.values);
    if (!good) return false;
  }
  loom_builder b = loom_builder_at_end(s->body, mlirOperationGetLocation(terminator));
  return plan_copy_outputs(s, &b, terminator);
}

/* What is around a region has not been grouped either, so that it is to be named first. */
static bool plan_check_regions(const plan_state *s) {
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    loom_opcode code;
    if (loom_opcode_of(op, &code) && mlirOperationGetNumRegions(op) > 0)
      return loom_emit_error(mlirOperationGetLocation(op),
                             "'%.*s' has regions: run loom-regions first", (int)name.length,
                             name.data);
  }
  return true;
}

static bool plan_function(MlirOperation module, MlirOperation function) {
  plan_state s = {.module = module, .function = function};
  s.ctx = mlirOperationGetContext(module);
  s.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s.function, 0));
  MlirOperation terminator = mlirBlockGetTerminator(s.block);
  bool good = terminator.ptr && loom_is_named(terminator, "func.return") &&
              mlirBlockIsNull(mlirBlockGetNextInRegion(s.block));
  if (!good)
    loom_emit_error(mlirOperationGetLocation(s.function), "a plan needs a function of one block");
  good = good && plan_check_regions(&s) && plan_find_late(&s) && plan_find_kernels(&s) &&
         plan_find_storages(&s);
  if (good) plan_bind_outputs(&s, terminator);
  good = good && plan_place(&s) && plan_find_trims(&s) && plan_make(&s, terminator) &&
         plan_write(&s, terminator);
  if (good && loom_get_attr(function, loom_mark_region).ptr)
    loom_set_attr(s.plan, loom_mark_region, mlirUnitAttrGet(s.ctx));
  loom_map_fini(&s.storage_of);
  loom_map_fini(&s.kept_of);
  loom_map_fini(&s.kernels);
  free(s.storages);
  free(s.trims);
  loom_late_fini(&s.late);
  return good;
}

/* The functions go when all have their plans: the next one is looked for behind the last. */
static bool plan_run(MlirOperation module) {
  bool good = true;
  for (MlirOperation f = loom_next_function(module, (MlirOperation){NULL}); f.ptr && good;
       f = loom_next_function(module, f))
    good = plan_function(module, f);
  MlirOperation main = loom_main_function(module);
  for (MlirOperation f = main, next; f.ptr && good; f = next) {
    next = loom_next_function(module, f);
    if (!mlirOperationEqual(f, main)) mlirOperationDestroy(f);
  }
  if (good && main.ptr) mlirOperationDestroy(main);
  return good;
}

MlirPass loom_make_plan_pass(void) {
  return loom_pass_create("LoomPlan", "loom-plan",
                          "Give buffers to values: a loom.plan of launches", "builtin.module",
                          plan_run);
}
