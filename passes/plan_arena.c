/* The arena of a plan, for loom-plan (plan.c): an offset for each storage that lies in it.
 *
 * Storages of static size are placed from the largest to the smallest, each into the tightest gap
 * left by those already placed that live at the same time. Placing in the order of time would leave
 * holes that nothing fits. Those of symbolic size lie in rooms behind them: sizes are compared only
 * where one is known to be at most the other for all values of the symbols.
 *
 * Where the caller gives inputs away (`loom.given`) or makes results late (`loom.lent`), what of
 * the arena is dead between launches is given back (plan_trim.c).
 */
#include <inttypes.h>
#include <stdlib.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/passes.h"
#include "passes/plan.h"

#define ARENA_ALIGN 64

typedef struct arena_room { /* a part of the arena that symbolic storages share */
  int64_t size, offset;
  int last;
} arena_room;

/* qsort passes no context */
static _Thread_local const plan_storage *arena_sort_base;

static int arena_larger_first(const void *a, const void *b) {
  const plan_storage *x = &arena_sort_base[*(const int *)a], *y = &arena_sort_base[*(const int *)b];
  if (x->size != y->size) return x->size < y->size ? 1 : -1;
  return *(const int *)a - *(const int *)b;
}

static int64_t arena_aligned(int64_t size) {
  return (size + ARENA_ALIGN - 1) / ARENA_ALIGN * ARENA_ALIGN;
}

/* The tightest gap for storage `n` among the `placed` first entries of `order`, which is sorted by
 * offset. */
static int64_t arena_gap(const plan_state *s, int n, const int *placed, int count) {
  const plan_storage *want = &s->storages[n];
  int64_t size = arena_aligned(want->size), end = 0, best = -1, best_size = INT64_MAX;
  for (int i = 0; i < count; i++) {
    const plan_storage *other = &s->storages[placed[i]];
    if (other->last < want->first || want->last < other->first) continue;
    int64_t gap = other->offset - end;
    if (gap >= size && gap < best_size) {
      best = end;
      best_size = gap;
    }
    int64_t other_end = other->offset + arena_aligned(other->size);
    if (other_end > end) end = other_end;
  }
  return best >= 0 ? best : end;
}

/* Symbolic storages, behind the static ones: each takes a room that is free while it lives and
 * known to be as large, or grows one that is known to be smaller, or makes a new one; rooms lie one
 * after the other. */
static bool arena_place_symbolic(plan_state *s) {
  arena_room *rooms = malloc(sizeof *rooms * (size_t)(s->storage_count + 1));
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
    if (room == count) rooms[count++] = (arena_room){.size = storage->size};
    rooms[room].last = storage->last;
    storage->offset = room;
  }
  for (int i = 0; i < count; i++) {
    rooms[i].offset = s->arena;
    s->arena = loom_num_add(s->arena,
                            loom_num_mul(loom_num_ceil(rooms[i].size, ARENA_ALIGN), ARENA_ALIGN));
  }
  for (int n = 0; n < s->storage_count; n++)
    if (s->storages[n].output < 0 && !s->storages[n].late &&
        LOOM_STRIDE_IS_SYM(s->storages[n].size))
      s->storages[n].offset = rooms[s->storages[n].offset].offset;
  free(rooms);
  return true;
}

bool plan_place(plan_state *s) {
  int *order = malloc(sizeof *order * 2 * (size_t)(s->storage_count + 1));
  if (!order) return plan_memory(s);
  int *placed = order + s->storage_count, count = 0, placed_count = 0;
  for (int n = 0; n < s->storage_count; n++)
    if (s->storages[n].output < 0 && !s->storages[n].kept &&
        !LOOM_STRIDE_IS_SYM(s->storages[n].size))
      order[count++] = n;
  arena_sort_base = s->storages;
  qsort(order, (size_t)count, sizeof *order, arena_larger_first);
  for (int i = 0; i < count; i++) {
    plan_storage *storage = &s->storages[order[i]];
    storage->offset = arena_gap(s, order[i], placed, placed_count);
    int64_t end = storage->offset + arena_aligned(storage->size);
    if (end > s->arena) s->arena = end;
    int at = placed_count++;
    for (; at > 0 && s->storages[placed[at - 1]].offset > storage->offset; at--)
      placed[at] = placed[at - 1];
    placed[at] = order[i];
  }
  free(order);
  return arena_place_symbolic(s);
}

static int arena_last_read(const plan_state *s, MlirValue value, const loom_map *steps) {
  int last = -1;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    int step = loom_info(user)->alias ? arena_last_read(s, loom_result(user, 0), steps)
                                      : (int)loom_map_get(steps, user.ptr, s->steps - 1);
    if (step > last) last = step;
  }
  return last;
}

/* Adds what the caller gives away until it was read last, and what it makes late from when it is
 * written first. False when it does neither. */
static bool arena_add_others(const plan_state *s, const loom_map *steps, int64_t *others) {
  bool any = false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(s->block); i++) {
    MlirValue argument = mlirBlockGetArgument(s->block, i);
    int64_t bytes = plan_bytes(argument);
    if (!loom_argument_has(s->function, i, loom_mark_given) || bytes < 0) continue;
    any = true;
    for (int step = arena_last_read(s, argument, steps); step >= 0; step--)
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

static int arena_list_spans(const plan_state *s, plan_span *spans) {
  int count = 0;
  for (int n = 0; n < s->storage_count; n++) {
    const plan_storage *at = &s->storages[n];
    if (at->output < 0 && !at->kept)
      spans[count++] = (plan_span){at->offset, at->size, at->first, at->last};
  }
  return count;
}

static bool arena_number_steps(plan_state *s, loom_map *steps) {
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (!loom_map_put(steps, op.ptr, s->steps++)) return false;
  return true;
}

bool plan_find_trims(plan_state *s) {
  loom_map steps = {0};
  for (int n = 0; n < s->storage_count; n++)
    if (LOOM_STRIDE_IS_SYM(s->storages[n].size) || s->storages[n].late) return true;
  bool good = arena_number_steps(s, &steps);
  int64_t *others = calloc((size_t)s->steps + 1, sizeof *others);
  plan_span *spans = malloc(sizeof *spans * ((size_t)s->storage_count + 1));
  if (good && others && spans && arena_add_others(s, &steps, others)) {
    plan_life life = {spans, arena_list_spans(s, spans), s->steps, others, s->arena};
    good = plan_choose_trims(&life, &s->trims, &s->trim_count, &s->peak);
  }
  good &= others && spans;
  free(others);
  free(spans);
  loom_map_fini(&steps);
  return good || plan_memory(s);
}

void plan_explain(const plan_state *s) {
  int64_t bytes = 0, arena = loom_num_hint(s->arena);
  int buffers = 0;
  for (int n = 0; n < s->storage_count; n++) {
    const plan_storage *storage = &s->storages[n];
    if (storage->output >= 0 || storage->kept) continue;
    bytes += loom_num_hint(storage->size);
    buffers++;
  }
  loom_count(PLAN_COUNT_BUFFERS, buffers);
  loom_count(PLAN_COUNT_BYTES, bytes);
  loom_count(PLAN_COUNT_SAVED, bytes > arena ? bytes - arena : 0);
  if (buffers)
    loom_remark(LOOM_REMARK_ANALYSIS, mlirOperationGetLocation(s->function), "arena",
                "%d buffers of %" PRId64 " bytes in all share an arena of %" PRId64, buffers, bytes,
                arena);
}
