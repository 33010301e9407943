/* What the threads of a simulated block do to memory.
 *
 * Two threads of a block access a byte without a barrier between, and one of them writes: a race,
 * whatever the order in which the simulator ran them. For each line of 16 bytes that was accessed
 * since the last barrier it is known which thread wrote each byte, and which one read it. Lines are
 * kept in a hash table by address, for global and shared memory alike.
 *
 * Shared memory begins as signalling NaNs, and a read of bytes that no thread has written is a
 * fault.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim.h"

#define MEMORY_LINE 16u
#define MEMORY_SEVERAL 0xffffu /* more than one thread */

struct sim_line {
  uintptr_t number; /* its address / 16 */
  uint32_t epoch, site;
  uint16_t writer[MEMORY_LINE], reader[MEMORY_LINE]; /* thread + 1; 0: none */
};

/* ---- lines ---- */

static sim_line *memory_slot(const sim_block *block, uintptr_t number) {
  size_t mask = block->line_capacity - 1;
  size_t slot = (size_t)(number * 0x9e3779b97f4a7c15u >> 32) & mask;
  while (block->lines[slot].epoch == block->epoch && block->lines[slot].number != number)
    slot = (slot + 1) & mask;
  return &block->lines[slot];
}

static bool memory_grow(sim_block *block) {
  sim_line *old = block->lines;
  size_t count = block->line_capacity;
  block->line_capacity = count ? 2 * count : 4096;
  block->lines = calloc(block->line_capacity, sizeof *old);
  if (!block->lines) {
    block->lines = old;
    block->line_capacity = count;
    return false;
  }
  for (size_t i = 0; i < count; i++)
    if (old[i].epoch == block->epoch) *memory_slot(block, old[i].number) = old[i];
  free(old);
  return true;
}

/* NULL: out of memory. */
static sim_line *memory_line(sim_block *block, uintptr_t number) {
  if (2 * block->line_count >= block->line_capacity && !memory_grow(block)) return NULL;
  sim_line *line = memory_slot(block, number);
  if (line->epoch == block->epoch) return line;
  memset(line, 0, sizeof *line);
  line->number = number;
  line->epoch = block->epoch;
  block->line_count++;
  return line;
}

#define MEMORY_ALIGNED 1024 /* what shared memory begins at a multiple of */

/* ---- a block ---- */

bool sim_memory_init(sim_block *block, size_t shared) {
  block->shared_size = shared;
  block->zone = malloc(shared + 2 * SIM_ZONE + MEMORY_ALIGNED);
  block->written = calloc(shared + 1, 1);
  block->unfenced = calloc(shared + 1, sizeof *block->unfenced);
  if (!block->zone || !block->written || !block->unfenced) return false;
  block->shared = (uint8_t *)(((uintptr_t)block->zone + SIM_ZONE + MEMORY_ALIGNED - 1) &
                              ~(uintptr_t)(MEMORY_ALIGNED - 1));
  return memory_grow(block);
}

void sim_memory_fini(sim_block *block) {
  free(block->zone);
  free(block->written);
  free(block->unfenced);
  free(block->lines);
}

void sim_memory_barrier(sim_block *block) {
  block->epoch++;
  block->line_count = 0;
}

void sim_memory_begin(sim_block *block) {
  static const uint64_t poison = 0x7ff57d017fa17d01u;
  for (size_t i = 0; i < block->shared_size; i++)
    block->shared[i] = (uint8_t)(poison >> i % 8 * 8);
  memset(block->written, 0, block->shared_size);
  memset(block->unfenced, 0, block->shared_size * sizeof *block->unfenced);
  sim_memory_barrier(block);
}

/* ---- an access ---- */

static void memory_race(const sim_block *block, const sim_line *line, uint32_t other, bool writes,
                        bool other_writes, int64_t site) {
  char who[32] = "other threads";
  if (other != MEMORY_SEVERAL) snprintf(who, sizeof who, "thread %u", other - 1);
  sim_fault(block, site, "a race: thread %d %s what %s %s since the last barrier (access %u)",
            block->thread, writes ? "writes" : "reads", who, other_writes ? "wrote" : "read",
            line->site);
}

static void memory_byte(const sim_block *block, sim_line *line, uint32_t i, bool writes,
                        int64_t site) {
  uint16_t me = (uint16_t)(block->thread + 1), *writer = &line->writer[i], *reader;
  reader = &line->reader[i];
  if (*writer && *writer != me)
    memory_race(block, line, *writer, writes, true, site);
  else if (writes && *reader && *reader != me)
    memory_race(block, line, *reader, true, false, site);
  if (writes)
    *writer = me;
  else
    *reader = !*reader || *reader == me ? me : MEMORY_SEVERAL;
}

static bool memory_inside(const sim_block *block, const uint8_t *at, uint32_t bytes, int64_t site) {
  ptrdiff_t offset = at - block->shared;
  if (offset >= 0 && (size_t)offset + bytes <= block->shared_size) return true;
  sim_fault(block, site, "thread %d accesses byte %td of shared memory, which has %zu",
            block->thread, offset, block->shared_size);
  return false;
}

bool sim_memory_inside(sim_block *block, const void *at, uint32_t bytes) {
  return memory_inside(block, at, bytes, -1);
}

/* Of the thread that writes: it, and its fences so far. */
static void memory_unfenced(sim_block *block, size_t offset, uint32_t bytes) {
  uint32_t fences = block->fibers[block->thread].fences & 0xffff;
  for (uint32_t i = 0; i < bytes; i++)
    block->unfenced[offset + i] = (uint32_t)(block->thread + 1) << 16 | fences;
}

/* Shared memory holds what its threads have written. False: the access is next to it. */
static bool memory_shared(sim_block *block, const uint8_t *at, uint32_t bytes, bool writes,
                          int64_t site) {
  if (!memory_inside(block, at, bytes, site)) return false;
  ptrdiff_t offset = at - block->shared;
  if (!writes && memchr(block->written + offset, 0, bytes))
    sim_fault(block, site, "thread %d reads shared memory that nobody has written", block->thread);
  if (writes) memset(block->written + offset, 1, bytes);
  if (writes) memory_unfenced(block, (size_t)offset, bytes);
  return true;
}

void sim_memory_set_written(sim_block *block, const void *at, uint32_t bytes, bool written) {
  ptrdiff_t offset = (const uint8_t *)at - block->shared;
  if (offset < 0 || (size_t)offset + bytes > block->shared_size) return;
  memset(block->written + offset, written, bytes);
  memset(block->unfenced + offset, 0, bytes * sizeof *block->unfenced);
}

void sim_memory_written_by(sim_block *block, const void *at, uint32_t bytes) {
  ptrdiff_t offset = (const uint8_t *)at - block->shared;
  if (offset >= 0 && (size_t)offset + bytes <= block->shared_size)
    memory_unfenced(block, (size_t)offset, bytes);
}

static void memory_bytes(sim_block *block, const uint8_t *at, uint32_t bytes, bool writes,
                         int64_t site) {
  for (uintptr_t a = (uintptr_t)at, end = a + bytes; a < end;) {
    sim_line *line = memory_line(block, a / MEMORY_LINE);
    if (!line) return;
    for (uintptr_t next = (a / MEMORY_LINE + 1) * MEMORY_LINE; a < end && a < next; a++)
      memory_byte(block, line, a % MEMORY_LINE, writes, site);
    if (site >= 0) line->site = (uint32_t)site;
  }
}

void loom_sim_access(const void *pointer, uint32_t bytes, uint32_t code) {
  sim_block *block = sim_current();
  const uint8_t *at = pointer;
  int64_t site = code >> 1;
  bool writes = code & 1;
  uint8_t *own = block->stacks; /* of threads: on a GPU that is registers */
  if (at >= own && at < own + (size_t)block->threads * SIM_STACK) return;
  bool shared = at >= block->zone && at < block->shared + block->shared_size + SIM_ZONE;
  if (shared && !memory_shared(block, at, bytes, writes, site)) return;
  if (shared && block->clocks) {
    sim_count_shared(block, (uint32_t)(at - block->shared), bytes, writes, site);
    sim_clocks_access(block, at, bytes, (uint32_t)block->thread, sim_clocks_now(block), writes,
                      site);
    return;
  }
  if (shared) sim_count_shared(block, (uint32_t)(at - block->shared), bytes, writes, site);
  if (!shared) sim_count_access(block, (uintptr_t)at, bytes, writes, site);
  memory_bytes(block, at, bytes, writes, site);
}

void sim_memory_read(sim_block *block, const void *at, uint32_t bytes) {
  uint32_t me = (uint32_t)block->thread;
  if (!memory_shared(block, at, bytes, false, -1)) return;
  if (block->clocks)
    sim_clocks_access(block, at, bytes, me, sim_clocks_now(block), false, -1);
  else
    memory_bytes(block, at, bytes, false, -1);
}

bool sim_memory_read_as(sim_block *block, const void *at, uint32_t bytes, uint32_t who,
                        uint32_t clock) {
  if (!memory_shared(block, at, bytes, false, -1)) return false;
  sim_memory_proxy(block, at, bytes);
  if (block->clocks)
    sim_clocks_access(block, at, bytes, who, clock, false, -1);
  else
    memory_bytes(block, at, bytes, false, -1);
  return true;
}

/* What a thread has written has to be behind a fence of its own (PTX ISA 9.7.13.4, fence.proxy). */
void sim_memory_proxy(sim_block *block, const void *at, uint32_t bytes) {
  size_t offset = (size_t)((const uint8_t *)at - block->shared);
  for (uint32_t i = 0; i < bytes; i++) {
    uint32_t mark = block->unfenced[offset + i], thread = mark >> 16;
    if (!thread || (block->fibers[thread - 1].fences & 0xffff) != (mark & 0xffff)) continue;
    sim_fault(block, -1, "a race: no fence between proxies behind what thread %u wrote",
              thread - 1);
    return;
  }
}
