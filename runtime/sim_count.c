/* What the blocks of a simulated kernel ask of memory, as a GPU counts it.
 *
 * The threads of a warp run one after another here. On a GPU they access memory together: the n-th
 * access at a place in the code of each thread is one request, which fetches or writes whole
 * sectors of 32 bytes. A request of 32 floats next to each other is 4 sectors, and of floats in 32
 * rows it is 32. So sectors in relation to bytes say how well a kernel's accesses fit together. No
 * cache is taken account of.
 *
 * Shared memory lies in 32 banks, word by word of 4 bytes. A request takes as many passes as the
 * most different words of one bank that it asks for. All passes but the first are conflicts. A
 * request of 8 or 16 bytes a thread is made by each half or quarter of the warp for itself. (CUDA
 * C++ Programming Guide, Compute Capabilities: Shared Memory; the same on AMD's CDNA, 32 banks of
 * 4 bytes.)
 *
 * No request has accesses of both sides of a barrier of all threads: threads count their accesses
 * from one such barrier to the next, and the table of them is empty again behind it.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/sim.h"

#define COUNT_SECTOR 32u
#define COUNT_BANKS 32u
#define COUNT_WORD 4u
#define COUNT_SMALLEST 4096 /* slots of a table */
#define COUNT_KERNELS 64    /* names, at most; others are not counted */

static bool count_on;
static pthread_mutex_t count_lock = PTHREAD_MUTEX_INITIALIZER;
static loom_sim_counts count_table[COUNT_KERNELS];
static size_t count_used;

void loom_sim_count(bool on) { count_on = on; }

bool loom_sim_take_counts(loom_sim_counts *out) {
  pthread_mutex_lock(&count_lock);
  bool there = count_used > 0;
  if (there) {
    *out = count_table[0];
    memmove(count_table, count_table + 1, sizeof *count_table * --count_used);
  }
  pthread_mutex_unlock(&count_lock);
  return there;
}

/* ---- a map of 64-bit keys: open addressing, at most half full ---- */

typedef struct count_slot {
  uint64_t key;
  uint32_t value, span; /* of another span than the one at hand: the slot is free */
} count_slot;

struct sim_counter {
  sim_counter *next; /* of those that are free */
  loom_sim_counts sums;
  count_slot *slots;
  size_t used, capacity;
  uint32_t span;  /* of a block, between two barriers of all its threads; from 1 on */
  uint64_t phase; /* of the block, in this span */
};

static uint64_t count_mix(uint64_t x, uint64_t y) {
  x = (x ^ y) * 0xbf58476d1ce4e5b9u;
  x = (x ^ x >> 31) * 0x94d049bb133111ebu;
  return x ^ x >> 29;
}

static count_slot *count_find(const sim_counter *c, uint64_t key) {
  size_t slot = (size_t)key & (c->capacity - 1);
  while (c->slots[slot].span == c->span && c->slots[slot].key != key)
    slot = (slot + 1) & (c->capacity - 1);
  return &c->slots[slot];
}

static bool count_grow(sim_counter *c) {
  sim_counter larger = *c;
  larger.capacity = c->capacity ? 2 * c->capacity : COUNT_SMALLEST;
  larger.slots = calloc(larger.capacity, sizeof *larger.slots);
  if (!larger.slots) return false;
  for (size_t i = 0; i < c->capacity; i++)
    if (c->slots[i].span == c->span) *count_find(&larger, c->slots[i].key) = c->slots[i];
  free(c->slots);
  *c = larger;
  return true;
}

/* How often the key has come before. */
static uint32_t count_before(sim_counter *c, uint64_t key) {
  if (2 * c->used >= c->capacity && !count_grow(c)) return 1;
  count_slot *slot = count_find(c, key);
  if (slot->span != c->span) {
    *slot = (count_slot){.key = key, .span = c->span};
    c->used++;
  }
  return slot->value++;
}

static void count_forget(sim_counter *c, uint64_t phase) {
  /* Few keys are found faster in a part of the table that stays in the cache. */
  if (c->capacity > COUNT_SMALLEST && 16 * c->used < c->capacity) c->capacity /= 2;
  c->span++;
  c->used = 0;
  c->phase = phase;
}

/* ---- a launch ---- */

static sim_counter *count_free; /* with tables of earlier launches: a new one has to grow */

bool sim_count_init(sim_block *block) {
  if (!count_on) return true;
  pthread_mutex_lock(&count_lock);
  block->counter = count_free;
  if (count_free) count_free = count_free->next;
  pthread_mutex_unlock(&count_lock);
  if (!block->counter) block->counter = calloc(1, sizeof *block->counter);
  return block->counter != NULL;
}

void sim_count_begin(sim_block *block) {
  sim_counter *c = block->counter;
  if (!c) return;
  c->sums.blocks++;
  count_forget(c, block->phase);
}

/* The counter, for an access; NULL: nothing is counted. */
static sim_counter *count_at(const sim_block *block, uint32_t bytes) {
  sim_counter *c = block->counter;
  if (!c || !bytes) return NULL;
  if (c->phase != block->phase) count_forget(c, block->phase);
  return c;
}

void sim_count_access(sim_block *block, uintptr_t at, uint32_t bytes, bool writes, int64_t site) {
  sim_counter *c = count_at(block, bytes);
  if (!c) return;
  uint64_t thread = (uint64_t)block->thread, place = count_mix((uint64_t)site + 1, writes);
  uint32_t turn = count_before(c, count_mix(place, thread + 1));
  uint64_t request = count_mix(count_mix(place, 4096 + thread / SIM_WARP), turn);
  c->sums.bytes[writes] += bytes;
  c->sums.requests[writes] += !count_before(c, request);
  for (uintptr_t s = at / COUNT_SECTOR; s <= (at + bytes - 1) / COUNT_SECTOR; s++)
    c->sums.sectors[writes] += !count_before(c, count_mix(request, s));
}

/* The group of threads whose accesses are made together. */
static uint64_t count_group(uint64_t thread, uint32_t bytes) {
  uint32_t words = bytes <= COUNT_WORD ? 1 : bytes <= 2 * COUNT_WORD ? 2 : 4;
  return thread / (SIM_WARP / words) * 4 + words;
}

void sim_count_shared(sim_block *block, uint32_t offset, uint32_t bytes, bool writes,
                      int64_t site) {
  sim_counter *c = count_at(block, bytes);
  if (!c) return;
  uint64_t thread = (uint64_t)block->thread, place = count_mix((uint64_t)site + 1, 2u + writes);
  uint32_t turn = count_before(c, count_mix(place, thread + 1));
  uint64_t group = count_mix(count_mix(place, 8192 + count_group(thread, bytes)), turn);
  c->sums.shared += !count_before(c, group);
  for (uint32_t w = offset / COUNT_WORD; w <= (offset + bytes - 1) / COUNT_WORD; w++) {
    if (count_before(c, count_mix(group, w))) continue;
    /* One more word of the bank: is it the bank with the most? Then the group takes one more pass.
     */
    uint32_t words = 1 + count_before(c, count_mix(count_mix(group, 1), w % COUNT_BANKS));
    uint64_t passes = count_mix(count_mix(group, 2), 0);
    const count_slot *most = count_find(c, passes);
    if (most->span == c->span && words <= most->value) continue;
    count_before(c, passes);
    c->sums.conflicts += words > 1;
  }
}

void sim_count_barrier(sim_block *block) {
  if (block->counter) block->counter->sums.barriers++;
}

void sim_count_map(sim_block *block, uint32_t bytes) {
  if (block->counter) block->counter->sums.boxed += bytes;
}

void sim_count_matrix(sim_block *block) {
  if (block->counter) block->counter->sums.matrix++;
}

static loom_sim_counts *count_entry(const char *name) {
  for (size_t i = 0; i < count_used; i++)
    if (strcmp(count_table[i].name, name) == 0) return &count_table[i];
  if (count_used == COUNT_KERNELS) return NULL;
  loom_sim_counts *entry = &count_table[count_used++];
  memset(entry, 0, sizeof *entry);
  strncpy(entry->name, name, sizeof entry->name - 1);
  return entry;
}

void sim_count_fini(sim_block *block) {
  sim_counter *c = block->counter;
  if (!c) return;
  pthread_mutex_lock(&count_lock);
  loom_sim_counts *entry = count_entry(block->name);
  for (int i = 0; entry && i < 2; i++) {
    entry->requests[i] += c->sums.requests[i];
    entry->sectors[i] += c->sums.sectors[i];
    entry->bytes[i] += c->sums.bytes[i];
  }
  if (entry) entry->shared += c->sums.shared;
  if (entry) entry->conflicts += c->sums.conflicts;
  if (entry) entry->blocks += c->sums.blocks;
  if (entry) entry->barriers += c->sums.barriers;
  if (entry) entry->boxed += c->sums.boxed;
  if (entry) entry->matrix += c->sums.matrix;
  memset(&c->sums, 0, sizeof c->sums);
  c->next = count_free;
  count_free = c;
  pthread_mutex_unlock(&count_lock);
}
