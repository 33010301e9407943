/* Blocks of checked runs (loom_block_check), so that what leaves its array outside of checked
 * kernels (calls of the host, unchecked code) is found too.
 *
 * A large block is a mapping of its own between two pages without access: its data ends as near to
 * the second as its alignment allows. A small one lies between two rows of known bytes; so do the
 * bytes between the end of a large one's data and the page. These are looked at after each checked
 * launch and when the block is freed. All data starts as NaNs, so that what is read before it is
 * written shows in results; quiet ones, since a raised flag would make a function run again as
 * plain Python, and that would hide it.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "runtime/internal.h"

#define GUARD_PAGE 4096u
#define GUARD_MAPPED (16u << 10) /* from this size on a block has pages round it */
#define GUARD_ROW 128u           /* bytes round a small one */
#define GUARD_LOOK 512           /* blocks looked at after a launch: the newest */
#define GUARD_BYTE 0xa5u
#define GUARD_NAN 0x7ffda5a57ffda5a5ull

/* Right before the caller's room. */
typedef struct guard {
  struct guard *newer, *older;
  uint8_t *base;
  size_t whole, size, room;
  uint64_t row[2];
} guard;

static struct {
  pthread_mutex_t lock;
  guard *newest;
  char broken[160]; /* the first that was found when it was freed */
} guards = {.lock = PTHREAD_MUTEX_INITIALIZER};

static _Atomic bool guards_on;

bool guard_wanted(void) { return atomic_load_explicit(&guards_on, memory_order_relaxed); }

static void guards_lock(void) { pthread_mutex_lock(&guards.lock); }
static void guards_unlock(void) { pthread_mutex_unlock(&guards.lock); }
static void guards_start(void) { pthread_atfork(guards_lock, guards_unlock, guards_unlock); }

void loom_block_check(bool on) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  if (on) pthread_once(&once, guards_start);
  atomic_store(&guards_on, on);
  if (on) loom_block_trim();
}

void guard_fill(void *data, size_t size) {
  const uint64_t nan = GUARD_NAN;
  uint8_t *at = data;
  for (; size >= sizeof nan; at += sizeof nan, size -= sizeof nan)
    memcpy(at, &nan, sizeof nan);
  memcpy(at, &nan, size);
}

static uint8_t *guard_data(guard *g) { return (uint8_t *)(g + 1) + g->room; }
static guard *guard_of(void *data, size_t room) { return (guard *)((uint8_t *)data - room) - 1; }

/* The bytes between the data's end and the end of the memory. */
static size_t guard_behind(guard *g) {
  size_t end = g->whole - (g->size >= GUARD_MAPPED ? GUARD_PAGE : 0);
  return (size_t)(g->base + end - (guard_data(g) + g->size));
}

/* [no access] [guard, room, data, the rest of a row] [no access] */
static guard *guard_map(size_t size, size_t room) {
  size_t data = (size + room - 1) / room * room;
  size_t pages = (sizeof(guard) + room + data + GUARD_PAGE - 1) / GUARD_PAGE * GUARD_PAGE;
  size_t whole = pages + 2 * (size_t)GUARD_PAGE;
  uint8_t *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  mprotect(base, GUARD_PAGE, PROT_NONE);
  mprotect(base + whole - GUARD_PAGE, GUARD_PAGE, PROT_NONE);
  guard *g = guard_of(base + whole - GUARD_PAGE - data, room);
  *g = (guard){.base = base, .whole = whole, .size = size, .room = room};
  return g;
}

/* [guard, room] [data] [a row], with its own row in the guard. */
static guard *guard_make(size_t size, size_t room) {
  size_t head = (sizeof(guard) + room - 1) / room * room;
  size_t whole = (head + room + size + GUARD_ROW + room - 1) / room * room;
  uint8_t *base = aligned_alloc(room, whole);
  if (!base) return NULL;
  guard *g = guard_of(base + head + room, room);
  *g = (guard){.base = base, .whole = whole, .size = size, .room = room};
  return g;
}

void *guard_alloc(size_t size, size_t room) {
  guard *g = size >= GUARD_MAPPED ? guard_map(size, room) : guard_make(size, room);
  if (!g) return NULL;
  guard_fill(guard_data(g), size);
  memset(guard_data(g) + size, GUARD_BYTE, guard_behind(g));
  memset(g->row, GUARD_BYTE, sizeof g->row);
  pthread_mutex_lock(&guards.lock);
  g->older = guards.newest;
  if (g->older) g->older->newer = g;
  guards.newest = g;
  pthread_mutex_unlock(&guards.lock);
  return guard_data(g);
}

/* ---- looking ---- */

static bool guard_row_holds(const uint8_t *row, size_t size) {
  for (size_t i = 0; i < size; i++)
    if (row[i] != GUARD_BYTE) return false;
  return true;
}

static bool guard_holds(guard *g, char *text, size_t size) {
  bool before = guard_row_holds((const uint8_t *)g->row, sizeof g->row);
  if (before && guard_row_holds(guard_data(g) + g->size, guard_behind(g))) return true;
  snprintf(text, size, "something wrote %s the block of %zu bytes at %p",
           before ? "behind" : "before", g->size, (void *)guard_data(g));
  memset(g->row, GUARD_BYTE, sizeof g->row); /* said once */
  memset(guard_data(g) + g->size, GUARD_BYTE, guard_behind(g));
  return false;
}

bool guard_broken(char *text, size_t size) {
  bool broken = false;
  int left = GUARD_LOOK;
  pthread_mutex_lock(&guards.lock);
  if (*guards.broken) {
    broken = true;
    snprintf(text, size, "%s", guards.broken);
    *guards.broken = 0;
  }
  for (guard *g = guards.newest; g && left-- && !broken; g = g->older)
    broken = !guard_holds(g, text, size);
  pthread_mutex_unlock(&guards.lock);
  return broken;
}

void guard_free(void *data) {
  guard *g = guard_of(data, 64);
  char text[sizeof guards.broken];
  pthread_mutex_lock(&guards.lock);
  if (!guard_holds(g, text, sizeof text) && !*guards.broken)
    memcpy(guards.broken, text, sizeof text);
  *(g->newer ? &g->newer->older : &guards.newest) = g->older;
  if (g->older) g->older->newer = g->newer;
  pthread_mutex_unlock(&guards.lock);
  bool mapped = g->size >= GUARD_MAPPED;
  uint8_t *base = g->base;
  if (mapped)
    munmap(base, g->whole);
  else
    free(base);
}
