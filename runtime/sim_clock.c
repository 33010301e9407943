/* What is ordered before what in a simulated block whose warps do different things: those of more
 * than 256 threads, which wait for each other at other places than barriers of all.
 *
 * Each thread has a vector of clocks (Mattern, 1988): its own, which goes on whenever it tells
 * others what it has done, and for each other one how far that one's work is known to be done.
 * Barriers of memory (sim_phase.c) have such vectors as well: who arrives adds what he knows, who
 * waits takes it. Besides the threads there are those that work on their own: each warpgroup's
 * products, and the copies that a barrier counts.
 *
 * For each 16 bytes of shared memory the last accesses are kept, with the clock of who made them.
 * Two that share a byte, one of which writes, are a race where the later one's thread does not know
 * that the earlier one is done. More accesses than there is room for are forgotten, the oldest ones
 * first: then a race may be missed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim.h"

enum { CLOCK_ACCESSES = 8, CLOCK_LINE = 16, CLOCK_LEAST = 256 };

typedef struct clock_access {
  uint32_t clock;
  uint16_t who; /* + 1; 0: none */
  bool writes;
} clock_access;

typedef struct clock_line {
  uint16_t bytes[CLOCK_ACCESSES]; /* of the line, a bit each */
  clock_access accesses[CLOCK_ACCESSES];
} clock_line;

struct sim_clocks {
  uint32_t count; /* of those that have a clock */
  uint32_t *known;
  clock_line *lines;
  size_t line_count;
};

/* ---- clocks ---- */

bool sim_clocks_init(sim_block *block) {
  if (block->threads <= CLOCK_LEAST) return true;
  sim_clocks *c = block->clocks = calloc(1, sizeof *c);
  if (!c) return false;
  c->count = (uint32_t)block->threads + SIM_GROUPS + SIM_PHASES;
  c->line_count = block->shared_size / CLOCK_LINE + 1;
  c->known = malloc((size_t)block->threads * c->count * sizeof *c->known);
  c->lines = malloc(c->line_count * sizeof *c->lines);
  return c->known && c->lines;
}

void sim_clocks_fini(sim_block *block) {
  if (!block->clocks) return;
  free(block->clocks->known);
  free(block->clocks->lines);
  free(block->clocks);
  block->clocks = NULL;
}

static uint32_t *clock_of(const sim_block *block, int thread) {
  return block->clocks->known + (size_t)thread * block->clocks->count;
}

void sim_clocks_begin(sim_block *block) {
  sim_clocks *c = block->clocks;
  if (!c) return;
  memset(c->known, 0, (size_t)block->threads * c->count * sizeof *c->known);
  memset(c->lines, 0, c->line_count * sizeof *c->lines);
  for (int t = 0; t < block->threads; t++)
    clock_of(block, t)[t] = 1;
}

size_t sim_clocks_size(const sim_block *block) {
  return block->clocks ? block->clocks->count * sizeof(uint32_t) : 0;
}

uint32_t *sim_clocks_new(const sim_block *block) {
  return block->clocks ? calloc(block->clocks->count, sizeof(uint32_t)) : NULL;
}

static void clock_join(uint32_t *to, const uint32_t *from, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (to[i] < from[i]) to[i] = from[i];
}

void sim_clocks_tell(sim_block *block, uint32_t *to) {
  uint32_t *mine = block->clocks ? clock_of(block, block->thread) : NULL;
  if (!mine || !to) return;
  clock_join(to, mine, block->clocks->count);
  mine[block->thread]++;
}

void sim_clocks_hear(sim_block *block, const uint32_t *from) {
  if (block->clocks && from) clock_join(clock_of(block, block->thread), from, block->clocks->count);
}

void sim_clocks_meet(sim_block *block, int first, int last) {
  uint32_t *all = sim_clocks_new(block);
  if (!all) return;
  for (int t = first; t < last; t++)
    clock_join(all, clock_of(block, t), block->clocks->count);
  for (int t = first; t < last; t++) {
    memcpy(clock_of(block, t), all, block->clocks->count * sizeof *all);
    clock_of(block, t)[t]++;
  }
  free(all);
}

void sim_clocks_learn(sim_block *block, uint32_t who, uint32_t clock) {
  if (!block->clocks) return;
  uint32_t *mine = clock_of(block, block->thread);
  if (mine[who] < clock) mine[who] = clock;
}

uint32_t sim_clocks_now(const sim_block *block) {
  return block->clocks ? clock_of(block, block->thread)[block->thread] : 0;
}

bool sim_clocks_know(const sim_block *block, uint32_t who, uint32_t clock) {
  if (!block->clocks || who == (uint32_t)block->thread) return true;
  return clock_of(block, block->thread)[who] >= clock;
}

/* ---- accesses ---- */

static const char *clock_name(const sim_block *block, uint32_t who, char text[48]) {
  uint32_t threads = (uint32_t)block->threads;
  if (who < threads)
    snprintf(text, 48, "thread %u", who);
  else if (who < threads + SIM_GROUPS)
    snprintf(text, 48, "a product of warpgroup %u", who - threads);
  else
    snprintf(text, 48, "a copy for barrier %u", who - threads - SIM_GROUPS);
  return text;
}

static void clock_compare(const sim_block *block, const clock_access *old, uint32_t who,
                          bool writes, int64_t site) {
  char mine[48], other[48];
  if (sim_clocks_know(block, old->who - 1u, old->clock)) return;
  sim_fault(block, site, "a race: %s %s what %s %s, and nothing orders them",
            clock_name(block, who, mine), writes ? "writes" : "reads",
            clock_name(block, old->who - 1u, other), old->writes ? "wrote" : "read");
}

/* The place of a new access: that of one which it takes the place of, a free one, or the oldest. */
static int clock_place(clock_line *line, uint32_t bytes, const clock_access *mine) {
  for (int i = 0; i < CLOCK_ACCESSES; i++) {
    const clock_access *old = &line->accesses[i];
    if (!old->who) return i;
    if (old->who != mine->who || old->writes != mine->writes) continue;
    if (old->clock == mine->clock || !(line->bytes[i] & ~bytes)) return i;
  }
  memmove(line->accesses, line->accesses + 1, (CLOCK_ACCESSES - 1) * sizeof *line->accesses);
  memmove(line->bytes, line->bytes + 1, (CLOCK_ACCESSES - 1) * sizeof *line->bytes);
  line->bytes[CLOCK_ACCESSES - 1] = 0;
  return CLOCK_ACCESSES - 1;
}

void sim_clocks_access(sim_block *block, const void *at, uint32_t bytes, uint32_t who,
                       uint32_t clock, bool writes, int64_t site) {
  size_t offset = (size_t)((const uint8_t *)at - block->shared), end = offset + bytes;
  clock_access mine = {.clock = clock, .who = (uint16_t)(who + 1), .writes = writes};
  for (size_t next; offset < end; offset = next) {
    clock_line *line = &block->clocks->lines[offset / CLOCK_LINE];
    next = (offset / CLOCK_LINE + 1) * CLOCK_LINE;
    if (next > end) next = end;
    uint32_t mask = ((1u << (next - offset)) - 1) << offset % CLOCK_LINE;
    for (int i = 0; i < CLOCK_ACCESSES && line->accesses[i].who; i++)
      if (line->bytes[i] & mask && (writes || line->accesses[i].writes))
        clock_compare(block, &line->accesses[i], who, writes, site);
    int place = clock_place(line, mask, &mine);
    bool same = line->accesses[place].who && line->accesses[place].clock == clock;
    line->bytes[place] = (uint16_t)(mask | (same ? line->bytes[place] : 0u));
    line->accesses[place] = mine;
  }
}
