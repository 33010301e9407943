/* Control flow of a code: joins of branches, and natural loops.
 *
 * A join is the first common post-dominator of two instructions. An instruction's post-dominators
 * are itself and those that all of its successors have in common: the greatest fixed point, found
 * by starting with all instructions. Paths that end in an exception come to no join. A loop
 * consists of the instructions that lead to a backward jump without passing its target. Exception
 * tables are left out, so that no handler is reached here. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"

#include <string.h>

typedef struct flow_cycle {
  int32_t head, size;
  uint64_t *body;
} flow_cycle;

struct loom_flow {
  const loom_code *code;
  int32_t count, words; /* of a set; there is one more element, the function's end */
  uint64_t *after;      /* a set for each instruction and the end */
  uint64_t *reached;    /* from the function's beginning */
  flow_cycle *cycles;
  int32_t cycle_count;
};

static bool bits_has(const uint64_t *set, int32_t i) { return set[i / 64] >> (i % 64) & 1; }

static void bits_add(uint64_t *set, int32_t i) { set[i / 64] |= (uint64_t)1 << (i % 64); }

static int32_t bits_count(const uint64_t *set, int32_t words) {
  int32_t size = 0;
  for (int32_t w = 0; w < words; w++)
    size += __builtin_popcountll(set[w]);
  return size;
}

static uint64_t *flow_after(const loom_flow *flow, int32_t at) {
  return flow->after + (size_t)at * (size_t)flow->words;
}

/* Where an instruction leads: at most two. */
static int flow_next(const loom_code *code, int32_t at, int32_t *out) {
  const loom_instr *in = &code->instrs[at];
  int n = 0;
  if (in->op == BC_RAISE || in->op == BC_RERAISE) return 0;
  if (in->op == BC_RETURN) return out[0] = code->count, 1;
  if (in->target >= 0 && in->target < code->count) out[n++] = in->target;
  if (in->op != BC_JUMP && at + 1 < code->count) out[n++] = at + 1;
  return n;
}

/* Takes from the set of `at` what does not come after all of its successors; true when that was
 * something. */
static bool flow_narrow(loom_flow *flow, int32_t at) {
  int32_t next[2];
  int n = flow_next(flow->code, at, next);
  uint64_t *set = flow_after(flow, at), changed = 0;
  for (int32_t w = 0; n && w < flow->words; w++) {
    uint64_t all = ~(uint64_t)0;
    for (int i = 0; i < n; i++)
      all &= flow_after(flow, next[i])[w];
    if (w == at / 64) all |= (uint64_t)1 << (at % 64);
    changed |= set[w] & ~all;
    set[w] &= all;
  }
  return changed != 0;
}

static void flow_find_after(loom_flow *flow) {
  uint64_t *end = flow_after(flow, flow->count);
  memset(flow->after, 0xff, sizeof *flow->after * (size_t)flow->words * ((size_t)flow->count + 1));
  memset(end, 0, sizeof *end * (size_t)flow->words);
  bits_add(end, flow->count);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = flow->count; i-- > 0;)
      changed |= flow_narrow(flow, i);
  }
}

static void flow_find_reached(loom_flow *flow) {
  bits_add(flow->reached, 0);
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = 0; i < flow->count; i++) {
      int32_t next[2];
      int n = bits_has(flow->reached, i) ? flow_next(flow->code, i, next) : 0;
      for (int k = 0; k < n; k++) {
        if (bits_has(flow->reached, next[k])) continue;
        bits_add(flow->reached, next[k]);
        changed = true;
      }
    }
  }
}

/* Adds to the loop what leads into it. */
static void flow_fill(const loom_flow *flow, flow_cycle *cycle) {
  for (bool changed = true; changed;) {
    changed = false;
    for (int32_t i = flow->count; i-- > 0;) {
      int32_t next[2];
      if (bits_has(cycle->body, i) || !bits_has(flow->reached, i)) continue;
      int n = flow_next(flow->code, i, next);
      for (int k = 0; k < n; k++) {
        if (next[k] == cycle->head || !bits_has(cycle->body, next[k])) continue;
        bits_add(cycle->body, i);
        changed = true;
      }
    }
  }
  cycle->size = bits_count(cycle->body, flow->words);
}

static flow_cycle *flow_cycle_at(loom_arena *arena, loom_flow *flow, int32_t head) {
  for (int32_t i = 0; i < flow->cycle_count; i++)
    if (flow->cycles[i].head == head) return &flow->cycles[i];
  flow_cycle *cycle = &flow->cycles[flow->cycle_count];
  *cycle = (flow_cycle){.head = head,
                        .body = loom_arena_alloc(arena, sizeof *cycle->body * (size_t)flow->words)};
  if (!cycle->body) return NULL;
  flow->cycle_count++;
  bits_add(cycle->body, head);
  return cycle;
}

static bool flow_find_cycles(loom_arena *arena, loom_flow *flow) {
  int32_t back = 0;
  for (int32_t i = 0; i < flow->count; i++)
    back += flow->code->instrs[i].target >= 0 && flow->code->instrs[i].target <= i;
  flow->cycles = loom_arena_alloc(arena, sizeof *flow->cycles * ((size_t)back + 1));
  if (!flow->cycles) return false;
  for (int32_t i = 0; i < flow->count; i++) {
    int32_t target = flow->code->instrs[i].target;
    if (target < 0 || target > i || !bits_has(flow->reached, i)) continue;
    flow_cycle *cycle = flow_cycle_at(arena, flow, target);
    if (!cycle) return false;
    bits_add(cycle->body, i);
  }
  for (int32_t i = 0; i < flow->cycle_count; i++)
    flow_fill(flow, &flow->cycles[i]);
  return true;
}

const loom_flow *flow_new(loom_arena *arena, const loom_code *code) {
  loom_flow *flow = loom_arena_alloc(arena, sizeof *flow);
  if (!flow) return NULL;
  *flow = (loom_flow){.code = code, .count = code->count, .words = (code->count + 64) / 64};
  flow->after = loom_arena_alloc(arena, sizeof *flow->after * (size_t)flow->words *
                                            ((size_t)flow->count + 1));
  flow->reached = loom_arena_alloc(arena, sizeof *flow->reached * (size_t)flow->words);
  if (!flow->after || !flow->reached) return NULL;
  flow_find_after(flow);
  flow_find_reached(flow);
  return flow_find_cycles(arena, flow) ? flow : NULL;
}

/* Of all that comes after both, what has most behind it is come to first. */
int32_t flow_join(const loom_flow *flow, int32_t a, int32_t b) {
  const uint64_t *sets[2] = {flow_after(flow, a), flow_after(flow, b)};
  int32_t best = -1, most = 0;
  if (!bits_has(sets[0], flow->count) || !bits_has(sets[1], flow->count)) return -1;
  for (int32_t i = 0; i <= flow->count; i++) {
    if (!bits_has(sets[0], i) || !bits_has(sets[1], i)) continue;
    int32_t behind = bits_count(flow_after(flow, i), flow->words);
    if (behind <= most || behind > flow->count + 1) continue;
    best = i;
    most = behind;
  }
  return best;
}

int32_t flow_loop(const loom_flow *flow, int32_t at) {
  const flow_cycle *best = NULL;
  for (int32_t i = 0; i < flow->cycle_count; i++) {
    const flow_cycle *c = &flow->cycles[i];
    if (bits_has(c->body, at) && (!best || c->size < best->size)) best = c;
  }
  return best ? best->head : -1;
}

bool flow_within(const loom_flow *flow, int32_t head, int32_t at) {
  for (int32_t i = 0; i < flow->cycle_count; i++)
    if (flow->cycles[i].head == head) return bits_has(flow->cycles[i].body, at);
  return false;
}

int32_t flow_settle(const loom_code *code, int32_t at) {
  for (int32_t n = 0; n < code->count && at < code->count; n++) {
    if (code->instrs[at].op != BC_JUMP) return at;
    at = code->instrs[at].target;
  }
  return at;
}
