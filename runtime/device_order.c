/* Which launches and copies of a plan have to wait for which: the edges of a graph of the driver.
 * Two of them are in order where one writes memory that the other one reads or writes, and only
 * what is not in order by way of others gets an edge.
 *
 * A graph lives longer than the addresses of a call, so that this is decided by the plan alone.
 * Within the arena, places decide; where they depend on sizes, all of the arena is one place. Each
 * result has memory of its own, unless the caller may pass an argument's for it. Arguments, and
 * results of that kind, may be the same memory.
 */
#include "runtime/device_internal.h"

#include <stdlib.h>

#include "runtime/internal.h"

#define ORDER_MOST 4096u /* steps; more are a chain */

struct device_order {
  uint32_t first, count;
  uint32_t depth;
  uint32_t *begin;  /* for each step, and behind the last one: where its list begins */
  uint32_t *before; /* the lists, one after the other */
  uint32_t room;
};

typedef enum order_kind { ORDER_ARENA, ORDER_RESULT, ORDER_SHARED } order_kind;

typedef struct order_place {
  order_kind kind;
  uint64_t begin, end; /* bytes of the arena; of a result its number */
} order_place;

static order_place order_place_of(const loom_plan *plan, uint32_t buffer) {
  const loom_plan_buffer *b = &plan->buffers[buffer];
  uint32_t sized = LOOM_PLAN_SIZE_REGISTER | LOOM_PLAN_OFFSET_REGISTER;
  if (b->kind == LOOM_PLAN_BUFFER_OUTPUT && !b->overwrites)
    return (order_place){ORDER_RESULT, b->index, b->index + 1ull};
  if (b->kind != LOOM_PLAN_BUFFER_ARENA) return (order_place){ORDER_SHARED, 0, 1};
  if (b->flags & sized) return (order_place){ORDER_ARENA, 0, UINT64_MAX};
  return (order_place){ORDER_ARENA, b->offset, b->offset + b->size};
}

static bool order_meet(const loom_plan *plan, uint32_t a, uint32_t b) {
  order_place x = order_place_of(plan, a), y = order_place_of(plan, b);
  return x.kind == y.kind && x.begin < y.end && y.begin < x.end;
}

/* The buffers of a step: *reads of them are only read. */
static const uint32_t *order_list(const loom_plan *plan, const loom_plan_instr *in,
                                  uint32_t copied[2], uint32_t *count, uint32_t *reads) {
  copied[0] = in->a;
  copied[1] = in->b;
  *reads = *count = 0;
  if (in->opcode == LOOM_PLAN_COPY) return *reads = 1, *count = 2, copied;
  if (in->opcode != LOOM_PLAN_LAUNCH) return copied;
  *count = in->buffer_count;
  *reads = in->c;
  return plan->indices + in->buffers;
}

static bool order_conflict(const loom_plan *plan, const loom_plan_instr *x,
                           const loom_plan_instr *y) {
  uint32_t copied[2][2], count[2], reads[2];
  const uint32_t *a = order_list(plan, x, copied[0], &count[0], &reads[0]);
  const uint32_t *b = order_list(plan, y, copied[1], &count[1], &reads[1]);
  for (uint32_t i = 0; i < count[0]; i++)
    for (uint32_t k = i < reads[0] ? reads[1] : 0; k < count[1]; k++)
      if (order_meet(plan, a[i], b[k])) return true;
  return false;
}

/* Appends to the list of the step that is looked at. */
static bool order_put(device_order *order, uint32_t step) {
  uint32_t *end = &order->begin[order->count + 1];
  if (*end == order->room) {
    uint32_t room = 2 * order->room + 16;
    uint32_t *more = realloc(order->before, room * sizeof *more);
    if (!more) return false;
    order->before = more;
    order->room = room;
  }
  order->before[(*end)++] = step;
  return true;
}

/* A bit for each step: a row of `set` has all that comes before a step in any way. */
static bool order_step(device_order *order, const loom_plan *plan, uint64_t *set, size_t words) {
  uint32_t n = order->count;
  const loom_plan_instr *steps = plan->instrs + order->first;
  uint64_t *own = set + n * words;
  for (uint32_t i = n; i-- > 0;) {
    if (own[i / 64] >> i % 64 & 1 || !order_conflict(plan, &steps[i], &steps[n])) continue;
    if (!order_put(order, i)) return false;
    for (size_t w = 0; w < words; w++)
      own[w] |= set[i * words + w];
    own[i / 64] |= 1ull << i % 64;
  }
  return true;
}

static bool order_is_step(const loom_plan_instr *in) {
  return in->opcode == LOOM_PLAN_LAUNCH || in->opcode == LOOM_PLAN_COPY;
}

/* `length`: of the longest path to each step. */
static void order_measure(device_order *order, const loom_plan *plan, uint32_t *length) {
  uint32_t n = order->count;
  for (uint32_t i = order->begin[n]; i < order->begin[n + 1]; i++)
    if (length[order->before[i]] > length[n]) length[n] = length[order->before[i]];
  length[n] += order_is_step(&plan->instrs[order->first + n]);
  if (length[n] > order->depth) order->depth = length[n];
}

static bool order_fill(device_order *order, const loom_plan *plan, uint32_t count) {
  bool chain = count > ORDER_MOST, good = true;
  size_t words = chain ? 0 : (count + 63u) / 64;
  uint64_t *set = calloc(count * words + 1, sizeof *set);
  uint32_t *length = calloc(count + 1u, sizeof *length);
  good = set && length;
  for (; good && order->count < count; order->count++) {
    uint32_t n = order->count;
    order->begin[n + 1] = order->begin[n];
    good = chain ? !n || order_put(order, n - 1) : order_step(order, plan, set, words);
    if (good) order_measure(order, plan, length);
  }
  free(length);
  free(set);
  return good;
}

device_order *device_order_new(const loom_plan *plan, uint32_t first, uint32_t end) {
  uint32_t count = end - first;
  device_order *order = calloc(1, sizeof *order);
  if (!order) return NULL;
  order->first = first;
  order->begin = calloc(count + 2u, sizeof *order->begin);
  if (order->begin && order_fill(order, plan, count)) return order;
  device_order_free(order);
  return NULL;
}

void device_order_free(device_order *order) {
  if (!order) return;
  free(order->begin);
  free(order->before);
  free(order);
}

const uint32_t *device_order_before(const device_order *order, uint32_t step, uint32_t *count) {
  *count = order->begin[step + 1] - order->begin[step];
  return order->before + order->begin[step];
}

uint32_t device_order_depth(const device_order *order) { return order->depth; }
