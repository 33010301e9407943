/* Barriers in shared memory of a simulated GPU (mbarrier, PTX ISA 9.7.13.15), and the copies of
 * boxes of matrices that they count (cp.async.bulk.tensor, 9.7.9.27.1.2; tensor maps, 5.5).
 *
 * A phase of a barrier ends when as many arrivals as it counts have come and all bytes that were
 * announced (9.7.13.15.2, the expect-tx operation) are there; then the next one begins
 * (9.7.13.15.3). A wait names the parity of a phase, and is over when that phase is not the one
 * under way: so a wait for parity 1 of a new barrier is over at once.
 *
 * A copy is done when somebody waits for its barrier, which is as late as it may be. From its start
 * on the bytes that it writes hold nothing. It works by another proxy than threads do (9.7.13.4,
 * fence.proxy): what threads have written where it writes, and the barrier itself, have to be
 * behind a fence of the thread that wrote them.
 */
#include <stdlib.h>
#include <string.h>

#include "runtime/sim.h"

enum { PHASE_COUNT = (1 << 20) - 1, PHASE_PATTERN = 1024, PHASE_SPAN = 128 };

typedef struct phase_copy {
  uint8_t *to;
  const loom_sim_map *map;
  int32_t at, line, batch;
  uint32_t clock;
} phase_copy;

typedef struct sim_phase {
  const void *at; /* NULL: there is none */
  uint32_t count, pending, number;
  int64_t bytes;                         /* that were announced and are not there */
  uint32_t *now, *done;                  /* what the phase's arrivals know, and the last one's */
  uint32_t maker, made, fences, started; /* who made it, when; copies so far */
  phase_copy *copies;                    /* under way */
  uint32_t copy_count, capacity;
} sim_phase;

struct sim_phases {
  sim_phase all[SIM_PHASES];
  uint32_t count;
};

void sim_phases_fini(sim_block *block) {
  sim_phases *p = block->phases;
  for (uint32_t i = 0; p && i < p->count; i++) {
    free(p->all[i].now);
    free(p->all[i].done);
    free(p->all[i].copies);
  }
  free(p);
  block->phases = NULL;
}

void sim_phases_end(const sim_block *block) {
  const sim_phases *p = block->phases;
  for (uint32_t i = 0; p && i < p->count; i++)
    if (p->all[i].copy_count)
      sim_fault(block, -1, "the block ends, and nobody has waited for %u copies of barrier %u",
                p->all[i].copy_count, i);
}

/* ---- barriers ---- */

void loom_sim_mbarrier_init(const void *at, uint32_t count) {
  sim_block *block = sim_current();
  if (!block->phases) block->phases = calloc(1, sizeof *block->phases);
  sim_phases *p = block->phases;
  if (!p || p->count == SIM_PHASES || !block->clocks) {
    sim_fault(block, -1, "more barriers than the simulator has, or a block that is too small");
    return;
  }
  if ((uintptr_t)at % 8 || !count || count > PHASE_COUNT)
    sim_fault(block, -1, "a barrier that is not at a multiple of 8 bytes, or counts %u", count);
  sim_memory_inside(block, at, 8);
  p->all[p->count++] = (sim_phase){.at = at,
                                   .count = count,
                                   .pending = count,
                                   .now = sim_clocks_new(block),
                                   .done = sim_clocks_new(block),
                                   .maker = (uint32_t)block->thread,
                                   .made = sim_clocks_now(block),
                                   .fences = block->fibers[block->thread].fences};
}

/* NULL: a fault. */
static sim_phase *phase_find(sim_block *block, const void *at) {
  sim_phases *p = block->phases;
  for (uint32_t i = 0; p && i < p->count; i++) {
    sim_phase *phase = &p->all[i];
    if (phase->at != at) continue;
    if (sim_clocks_know(block, phase->maker, phase->made)) return phase;
    sim_fault(block, -1, "a race: thread %d uses a barrier that thread %u has made", block->thread,
              phase->maker);
    return NULL;
  }
  sim_fault(block, -1, "thread %d uses a barrier that there is not", block->thread);
  return NULL;
}

static void phase_step(sim_block *block, sim_phase *phase) {
  if (phase->pending || phase->bytes) return;
  phase->pending = phase->count;
  phase->number++;
  memcpy(phase->done, phase->now, sim_clocks_size(block));
}

static void phase_arrive(sim_block *block, const void *at, uint32_t bytes) {
  sim_phase *phase = phase_find(block, at);
  if (!phase) return;
  sim_clocks_tell(block, phase->now);
  phase->bytes += bytes;
  if (phase->bytes > PHASE_COUNT)
    sim_fault(block, -1, "more bytes are announced to a barrier than it counts");
  if (!phase->pending)
    sim_fault(block, -1, "thread %d arrives at a barrier more often than it counts", block->thread);
  else
    phase->pending--;
  phase_step(block, phase);
}

void loom_sim_mbarrier_arrive(const void *at) { phase_arrive(sim_current(), at, 0); }
void loom_sim_mbarrier_expect(const void *at, uint32_t bytes) {
  phase_arrive(sim_current(), at, bytes);
}

/* ---- tensor maps ---- */

#define MAP_MAGIC 0x70616d2d6d6f6f6cu

/* What cuTensorMapEncodeTiled asks for (CUDA driver API, 6.30). A stride is that of a line and some
 * padding. Boxes begin at signed numbers of 32 bits, which have to reach all elements. */
bool loom_sim_map_make(loom_sim_map *out, const loom_tensor_map *map, uint64_t address) {
  memset(out, 0, sizeof *out);
  bool good = address && address % 16 == 0 && map->kind < LOOM_MAP_KINDS;
  if (!good) return false;
  for (int i = 0; i < 3; i++)
    good = good && map->extents[i] >= 1 && map->extents[i] <= INT32_MAX;
  good = good && map->strides[0] >= map->extents[0] * loom_map_size(map->kind);
  for (int i = 0; i < 2; i++)
    good = good && map->strides[i] % 16 == 0 && map->strides[i] < UINT64_C(1) << 40 &&
           map->box[i] >= 1 && map->box[i] <= 256;
  if (!good || map->box[0] * loom_map_size(map->kind) != PHASE_SPAN) return false;
  *out = (loom_sim_map){.magic = MAP_MAGIC, .address = address, .map = *map};
  out->map.offset = 0; /* they are in the address */
  out->map.buffer = out->map.kernel = 0;
  return true;
}

/* ---- copies ---- */

/* The hardware rounds to nearest; what of two is as near, is not told: the greater one, here. */
static void map_round(uint8_t *at, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 4) {
    uint32_t bits;
    memcpy(&bits, at + i, sizeof bits);
    if ((bits & 0x7f800000u) != 0x7f800000u) bits = (bits + 0x1000u) & ~0x1fffu;
    memcpy(at + i, &bits, sizeof bits);
  }
}

/* A line of a box: what is outside of the matrix is zeros. */
static void map_line(sim_block *block, const phase_copy *c, uint32_t line, uint8_t *to) {
  const loom_tensor_map *m = &c->map->map;
  int64_t row = (int64_t)c->line + line, size = loom_map_size(m->kind);
  memset(to, 0, PHASE_SPAN);
  if (row < 0 || (uint64_t)row >= m->extents[1] || c->batch < 0 ||
      (uint64_t)c->batch >= m->extents[2])
    return;
  int64_t low = c->at < 0 ? -(int64_t)c->at : 0, high = (int64_t)m->extents[0] - c->at;
  if (high > m->box[0]) high = m->box[0];
  if (low >= high) return;
  uint64_t from = c->map->address + (uint64_t)row * m->strides[0] +
                  (uint64_t)c->batch * m->strides[1] + (uint64_t)((c->at + low) * size);
  size_t bytes = (size_t)((high - low) * size);
  memcpy(to + low * size, (const void *)(uintptr_t)from, bytes);
  if (m->kind == LOOM_MAP_TF32) map_round(to, PHASE_SPAN);
  sim_count_map(block, (uint32_t)bytes);
}

/* Pieces of 16 bytes change places: bits 4 to 6 of an address with bits 7 to 9 (PTX ISA 5.5.6). */
static void map_put(uint8_t *to, uint32_t line, const uint8_t *bytes) {
  for (uint32_t i = 0; i < PHASE_SPAN; i += 16)
    memcpy(to + line * PHASE_SPAN + (i ^ (line & 7) << 4), bytes + i, 16);
}

static uint32_t map_bytes(const loom_sim_map *map) { return map->map.box[1] * PHASE_SPAN; }

static void phase_land(sim_block *block, sim_phase *phase) {
  for (uint32_t i = 0; i < phase->copy_count; i++) {
    const phase_copy *c = &phase->copies[i];
    uint8_t bytes[PHASE_SPAN];
    for (uint32_t line = 0; line < c->map->map.box[1]; line++) {
      map_line(block, c, line, bytes);
      map_put(c->to, line, bytes);
    }
    sim_memory_set_written(block, c->to, map_bytes(c->map), true);
    phase->bytes -= map_bytes(c->map);
    uint32_t who = (uint32_t)block->threads + SIM_GROUPS + (uint32_t)(phase - block->phases->all);
    phase->now[who] = c->clock;
  }
  phase->copy_count = 0;
  phase_step(block, phase);
}

static bool phase_keep(sim_phase *phase, const phase_copy *copy) {
  if (phase->copy_count == phase->capacity) {
    uint32_t capacity = phase->capacity ? 2 * phase->capacity : 8;
    phase_copy *copies = realloc(phase->copies, capacity * sizeof *copies);
    if (!copies) return false;
    phase->copies = copies;
    phase->capacity = capacity;
  }
  phase->copies[phase->copy_count++] = *copy;
  return true;
}

void loom_sim_map_copy(void *to, const void *map, int32_t at, int32_t line, int32_t batch,
                       const void *barrier) {
  sim_block *block = sim_current();
  sim_phase *phase = phase_find(block, barrier);
  const loom_sim_map *m = map;
  if (!phase) return;
  if (m->magic != MAP_MAGIC || (uintptr_t)to % PHASE_PATTERN) {
    sim_fault(block, -1, "thread %d copies by what is no map, or not to a multiple of 1,024 bytes",
              block->thread);
    return;
  }
  if (block->fibers[phase->maker].fences == phase->fences)
    sim_fault(block, -1, "a race: no fence between proxies behind the making of a barrier");
  uint32_t bytes = map_bytes(m), clock = ++phase->started;
  uint32_t who = (uint32_t)block->threads + SIM_GROUPS + (uint32_t)(phase - block->phases->all);
  if (!sim_memory_inside(block, to, bytes)) return;
  sim_memory_proxy(block, to, bytes);
  sim_clocks_access(block, to, bytes, who, clock, true, -1);
  sim_memory_set_written(block, to, bytes, false);
  if (!phase_keep(phase, &(phase_copy){to, m, at, line, batch, clock}))
    block->status |= LOOM_STATUS_MEMORY;
}

/* ---- waits ---- */

bool sim_phase_over(sim_block *block, const sim_fiber *fiber) {
  sim_phase *phase = fiber->phase;
  if ((phase->number & 1) == fiber->parity && phase->copy_count) phase_land(block, phase);
  return (phase->number & 1) != fiber->parity;
}

void loom_sim_mbarrier_wait(const void *at, uint32_t parity) {
  sim_block *block = sim_current();
  sim_fiber *fiber = &block->fibers[block->thread];
  fiber->phase = phase_find(block, at);
  fiber->parity = parity;
  if (!fiber->phase) return;
  if (parity > 1) sim_fault(block, -1, "thread %d waits for a parity %u", block->thread, parity);
  while (!sim_phase_over(block, fiber))
    sim_wait(block, SIM_PHASE, 0);
  sim_clocks_hear(block, ((const sim_phase *)fiber->phase)->done);
}
