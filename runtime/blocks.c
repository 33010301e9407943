/* A caching allocator for results and arenas.
 *
 * A page fault on a fresh block costs more than most kernels, so freed blocks are kept, by size
 * class: small ones first with the thread that freed them (no lock), all others in one shared
 * cache. Each block has a header of 64 bytes before its data, so that a block can be freed whatever
 * size its owner believes it has.
 *
 * The shared cache is bounded: past the limit the blocks longest unused go back to the system; so
 * do, when the cache is next used or a worker thread goes idle, all that nobody has asked for in
 * BLOCKS_IDLE_MS.
 *
 * Blocks of 2 MiB and more are mappings of their own. Their data starts at a huge page, which is
 * asked for. Smaller ones come from the C library: what it keeps of memory that others have freed
 * has its pages. Those of a result that have none are asked for at once, which costs half of what
 * faults cost.
 */
#include "graph/giving.h"
#include "runtime/internal.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#define BLOCK_POISON(p, n) ASAN_POISON_MEMORY_REGION(p, n)
#define BLOCK_UNPOISON(p, n) ASAN_UNPOISON_MEMORY_REGION(p, n)
#else
#define BLOCK_POISON(p, n) ((void)(p), (void)(n))
#define BLOCK_UNPOISON(p, n) ((void)(p), (void)(n))
#endif

#define BLOCK_ALIGN 64u
#define BLOCK_PAGE 4096u
#define BLOCK_HUGE (2u << 20)
#define BLOCK_MAPPED BLOCK_HUGE /* from this size on a block is a mapping of its own */
/* From this size on any block that is large enough serves a run. */
#define BLOCK_LENT (256u << 10)
/* From this size on a block's pages are asked for, and given back. */
#define BLOCK_PAGES (128u << 10)
#define BLOCK_LARGEST ((size_t)1 << 46)
#define CLASS_COUNT 168
#define SMALL_CLASSES 36       /* up to 64 KiB: a thread keeps blocks of its own */
#define LOCAL_LIMIT (1u << 20) /* bytes that one thread keeps */
#define LOCAL_DEPTH 32u        /* blocks of one class that one thread keeps */
#define BLOCKS_IDLE_MS 10000u
#define BLOCKS_CHECK_MS 1000u
#define BLOCK_MAGIC 0x4b4cu
#define BLOCK_GUARDED 0x4c4bu /* the magic of blocks that blocks_guard.c makes */

typedef struct block {
  struct block *next;          /* in its class */
  struct block *previous;      /* in its class: shared cache only */
  struct block *newer, *older; /* by the time of its last use: shared cache only */
  size_t size;                 /* bytes of data, that of its class */
  uint64_t stamp;
  uint16_t class;
  uint16_t offset;      /* in what the C library gave */
  uint16_t magic, lent; /* lent: to a run */
  size_t peak;          /* lent: the highest point of a call that used it (loom_block_settle) */
} block;
_Static_assert(sizeof(block) <= BLOCK_ALIGN, "the header must fit before the data");

/* What one thread owns. Counters are written by their thread only and read by all. */
typedef struct local {
  struct local *next, *previous; /* of all threads */
  size_t cached;
  _Atomic uint64_t allocations, reuses;
  _Atomic int64_t live, kept;
  void *scratch;
  size_t scratch_size;
  uint32_t depth[SMALL_CLASSES];
  block *small[SMALL_CLASSES];
} local;

static struct {
  pthread_mutex_t lock;
  block *classes[CLASS_COUNT];
  block *newest, *oldest;
  size_t cached, limit;
  bool limit_known;
  uint64_t checked;
  local *threads;
  uint64_t allocations, reuses; /* of threads that ended */
  int64_t live;
} shared = {.lock = PTHREAD_MUTEX_INITIALIZER};

static pthread_key_t local_key;
static pthread_once_t local_once = PTHREAD_ONCE_INIT;
static bool local_key_made;
/* One pointer fits into the static TLS block that the dynamic linker reserves, so reading it needs
 * no call. */
static _Thread_local local *local_current __attribute__((tls_model("initial-exec")));

/* ---- size classes ---- */

/* Up to 512 bytes a class for each 64; then four for each doubling. */
static inline uint32_t class_of(size_t size) {
  if (size <= 512) return size ? (uint32_t)((size - 1) / 64) : 0;
  unsigned top = 63u - (unsigned)__builtin_clzll(size - 1); /* 512 .. 1023: 9 */
  return 8u + (top - 9u) * 4u + (uint32_t)((size - 1) >> (top - 2)) - 4u;
}

static inline size_t class_size(uint32_t class) {
  if (class < 8) return ((size_t)class + 1) * 64;
  unsigned top = (class - 8) / 4 + 9;
  return ((size_t)((class - 8) % 4) + 5) << (top - 2);
}

/* ---- blocks from the system ---- */

static inline void *block_data(block *b) { return (uint8_t *)b + BLOCK_ALIGN; }
static inline block *block_of(void *data) { return (block *)((uint8_t *)data - BLOCK_ALIGN); }

/* One that is never kept for reuse: its class has no small ones, and no block of this size is asked
 * for. */
static block *block_guarded(uint32_t class, size_t asked) {
  void *data = guard_alloc(asked, BLOCK_ALIGN);
  if (!data) return NULL;
  block *b = block_of(data);
  memset(b, 0, sizeof *b);
  b->size = asked;
  b->class = (uint16_t)(class < SMALL_CLASSES ? SMALL_CLASSES : class);
  b->magic = BLOCK_GUARDED;
  return b;
}

/* A mapping whose data starts at a multiple of `align`, its header at the end of the page before.
 */
static block *block_map(size_t size) {
  size_t align = size >= BLOCK_HUGE ? BLOCK_HUGE : BLOCK_PAGE;
  size_t need = size + BLOCK_PAGE, whole = need + align;
  uint8_t *base = mmap(NULL, whole, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (base == MAP_FAILED) return NULL;
  uintptr_t data = ((uintptr_t)base + BLOCK_PAGE + align - 1) & ~(uintptr_t)(align - 1);
  uint8_t *begin = (uint8_t *)data - BLOCK_PAGE, *end = (uint8_t *)data + size;
  if (begin > base) munmap(base, (size_t)(begin - base));
  if (base + whole > end) munmap(end, (size_t)(base + whole - end));
  if (size >= BLOCK_HUGE) madvise((void *)data, size, MADV_HUGEPAGE);
  return block_of((void *)data);
}

/* Asks for the pages of [begin, end). Those that are there stay as they are; a system that knows no
 * such request brings them when they are touched. */
static void pages_bring(uint8_t *begin, uint8_t *end) {
#ifdef MADV_POPULATE_WRITE
  uint8_t *first = begin - (uintptr_t)begin % BLOCK_PAGE;
  if (first < end) madvise(first, (size_t)(end - first), MADV_POPULATE_WRITE);
#endif
}

/* Gives the whole pages of [begin, end) back; they come again, as zeros, when they are touched. */
static void pages_drop(uint8_t *begin, uint8_t *end) {
  begin += -(uintptr_t)begin % BLOCK_PAGE;
  end -= (uintptr_t)end % BLOCK_PAGE;
  if (begin < end) madvise(begin, (size_t)(end - begin), MADV_DONTNEED);
}

/* All of a result is written. Huge pages come by one fault each; only what is left behind the last
 * one is asked for. */
static void block_bring(block *b, size_t asked) {
  if (b->magic == BLOCK_GUARDED || b->size < BLOCK_PAGES) return;
  uint8_t *data = block_data(b);
  size_t huge = b->size >= BLOCK_MAPPED ? asked / BLOCK_HUGE * BLOCK_HUGE : 0;
  if (asked > huge) pages_bring(data + huge, data + asked);
}

/* A block of the C library's memory. Large data starts at a page: results would else lie a little
 * behind the arguments, modulo a page, and loads would wait for stores that they have nothing to do
 * with. */
static block *block_malloc(size_t size) {
  size_t align = size < BLOCK_PAGES ? BLOCK_ALIGN : BLOCK_PAGE;
  uint8_t *base = malloc(size + align + BLOCK_ALIGN);
  if (!base) return NULL;
  uint8_t *data = base + BLOCK_ALIGN;
  data += -(uintptr_t)data % align;
  block *b = block_of(data);
  b->offset = (uint16_t)((uint8_t *)b - base);
  return b;
}

static block *block_new(uint32_t class, size_t asked) {
  size_t size = class_size(class);
  if (guard_wanted()) return block_guarded(class, asked);
  block *b = size >= BLOCK_MAPPED ? block_map(size) : block_malloc(size);
  if (!b) return NULL;
  b->size = size;
  b->class = (uint16_t)class;
  b->magic = BLOCK_MAGIC;
  b->lent = 0;
  b->peak = 0;
  return b;
}

static void block_delete(block *b) {
  BLOCK_UNPOISON(block_data(b), b->size); /* what is made here next need not be a block */
  if (b->magic == BLOCK_GUARDED) {
    guard_free(block_data(b));
    return;
  }
  uint8_t *data = block_data(b);
  if (b->size >= BLOCK_MAPPED) {
    munmap(data - BLOCK_PAGE, b->size + BLOCK_PAGE);
    return;
  }
  if (b->size >= BLOCK_PAGES) pages_drop(data, data + b->size); /* the C library might keep them */
  free((uint8_t *)b - b->offset);
}

/* ---- the shared cache (its lock is held) ---- */

static size_t shared_limit(void) {
  if (!shared.limit_known) {
    uint64_t bytes;
    if (!loom_env_bytes(LOOM_ENV_BLOCKS_LIMIT, &bytes)) {
      bytes = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 8;
      if (bytes > (1ull << 30)) bytes = 1ull << 30;
    }
    shared.limit = bytes;
    shared.limit_known = true;
  }
  return shared.limit;
}

static void shared_unlink(block *b) {
  *(b->previous ? &b->previous->next : &shared.classes[b->class]) = b->next;
  if (b->next) b->next->previous = b->previous;
  *(b->newer ? &b->newer->older : &shared.newest) = b->older;
  *(b->older ? &b->older->newer : &shared.oldest) = b->newer;
  shared.cached -= b->size;
}

static void shared_link(block *b, uint64_t now) {
  b->stamp = now;
  b->previous = NULL;
  b->next = shared.classes[b->class];
  if (b->next) b->next->previous = b;
  shared.classes[b->class] = b;
  b->newer = NULL;
  b->older = shared.newest;
  *(b->older ? &b->older->newer : &shared.oldest) = b;
  shared.newest = b;
  shared.cached += b->size;
}

/* Unlinks the blocks beyond `limit` and those idle since before `before`; returns them as a list to
 * be deleted when the lock is released, since munmap of a large block takes long. */
static block *shared_evict(size_t limit, uint64_t before, block *list) {
  while (shared.oldest && (shared.cached > limit || shared.oldest->stamp < before)) {
    block *b = shared.oldest;
    shared_unlink(b);
    b->next = list;
    list = b;
  }
  return list;
}

/* Idle blocks, if it is time to look for them. */
static block *shared_idle(uint64_t now) {
  if (now - shared.checked < BLOCKS_CHECK_MS) return NULL;
  shared.checked = now;
  return shared_evict(SIZE_MAX, now > BLOCKS_IDLE_MS ? now - BLOCKS_IDLE_MS : 0, NULL);
}

static void delete_list(block *list) {
  while (list) {
    block *next = list->next;
    block_delete(list);
    list = next;
  }
}

/* ---- what a thread keeps ---- */

static void local_flush(local *l) {
  block *list = NULL;
  for (uint32_t c = 0; c < SMALL_CLASSES; c++) {
    while (l->small[c]) {
      block *b = l->small[c];
      l->small[c] = b->next;
      b->next = list;
      list = b;
    }
    l->depth[c] = 0;
  }
  l->cached = 0;
  atomic_store_explicit(&l->kept, 0, memory_order_relaxed);
  delete_list(list);
}

static void local_end(void *pointer) {
  local *l = pointer;
  local_flush(l);
  pthread_mutex_lock(&shared.lock);
  *(l->previous ? &l->previous->next : &shared.threads) = l->next;
  if (l->next) l->next->previous = l->previous;
  shared.allocations += l->allocations;
  shared.reuses += l->reuses;
  shared.live += l->live;
  pthread_mutex_unlock(&shared.lock);
  free(l->scratch);
  free(l);
  local_current = NULL;
}

static void shared_lock(void) { pthread_mutex_lock(&shared.lock); }
static void shared_unlock(void) { pthread_mutex_unlock(&shared.lock); }

static void local_start(void) {
  pthread_atfork(shared_lock, shared_unlock, shared_unlock);
  local_key_made = pthread_key_create(&local_key, local_end) == 0;
}

static local *local_make(void) {
  pthread_once(&local_once, local_start);
  local *l = calloc(1, sizeof *l);
  if (!l) return NULL;
  pthread_mutex_lock(&shared.lock);
  l->next = shared.threads;
  if (l->next) l->next->previous = l;
  shared.threads = l;
  pthread_mutex_unlock(&shared.lock);
  if (local_key_made) pthread_setspecific(local_key, l);
  return local_current = l;
}

static inline local *local_get(void) {
  return __builtin_expect(local_current != NULL, 1) ? local_current : local_make();
}

/* A thread may outlive this library when it is closed: no call into it must stay behind. */
__attribute__((destructor)) static void blocks_stop(void) {
  if (local_key_made) pthread_key_delete(local_key);
  local_key_made = false;
}

/* Counters have one writer: no read-modify-write instruction is needed. */
#define COUNT(field, n)                                                                            \
  atomic_store_explicit(&(field), atomic_load_explicit(&(field), memory_order_relaxed) + (n),      \
                        memory_order_relaxed)

/* ---- the interface ---- */

static block *shared_take(uint32_t class) {
  uint64_t now = coarse_ms();
  pthread_mutex_lock(&shared.lock);
  block *b = shared.classes[class];
  if (b) shared_unlink(b);
  block *idle = shared_idle(now);
  pthread_mutex_unlock(&shared.lock);
  delete_list(idle);
  return b;
}

static void *block_use(local *l, block *b) {
  COUNT(l->allocations, 1);
  COUNT(l->live, (int64_t)b->size);
  BLOCK_UNPOISON(block_data(b), b->size);
  return block_data(b);
}

/* `whole`: all of it will be written. */
static void *block_get(size_t size, bool whole) {
  local *l = local_get();
  if (!l || size > BLOCK_LARGEST) return NULL;
  uint32_t class = class_of(size);
  block *b;
  if (class < SMALL_CLASSES && (b = l->small[class])) {
    l->small[class] = b->next;
    l->depth[class]--;
    l->cached -= b->size;
    COUNT(l->kept, -(int64_t)b->size);
    COUNT(l->reuses, 1);
  } else if ((b = shared_take(class))) {
    COUNT(l->reuses, 1);
  } else {
    b = block_new(class, size);
    if (!b) {
      loom_block_trim(); /* what is cached may be what is missing */
      b = block_new(class, size);
    }
    if (!b) return NULL;
    if (whole) block_bring(b, size);
  }
  return block_use(l, b);
}

void *loom_block_alloc(size_t size) { return block_get(size, true); }

/* The smallest cached block of at least this class; where there is none, those that runs have
 * used and that are too small go to `list`: the new one serves in their place. */
static block *shared_borrow(uint32_t class, block **list) {
  for (uint32_t c = class; c < CLASS_COUNT; c++) {
    block *b = shared.classes[c];
    if (b) return shared_unlink(b), b;
  }
  for (block *b = shared.oldest, *newer; b; b = newer) {
    newer = b->newer;
    if (!b->lent) continue;
    shared_unlink(b);
    b->next = *list;
    *list = b;
  }
  return NULL;
}

void *loom_block_borrow(size_t size) {
  if (size < BLOCK_LENT || size > BLOCK_LARGEST) return block_get(size, false);
  local *l = local_get();
  if (!l) return NULL;
  block *list = NULL;
  pthread_mutex_lock(&shared.lock);
  block *b = shared_borrow(class_of(size), &list);
  pthread_mutex_unlock(&shared.lock);
  delete_list(list);
  if (b) COUNT(l->reuses, 1);
  void *data = b ? block_use(l, b) : block_get(size, false);
  if (data) block_of(data)->lent = 1;
  return data;
}

static void shared_give(block *b) {
  uint64_t now = coarse_ms();
  pthread_mutex_lock(&shared.lock);
  size_t limit = shared_limit();
  block *list = NULL;
  if (b->size > limit || b->magic == BLOCK_GUARDED) {
    b->next = NULL;
    list = b;
  } else {
    shared_link(b, now);
    list = shared_evict(limit, 0, shared_idle(now));
  }
  pthread_mutex_unlock(&shared.lock);
  delete_list(list);
}

void loom_block_free(void *data, size_t size) {
  (void)size; /* the header knows better */
  if (!data) return;
  block *b = block_of(data);
  local *l = local_get();
  BLOCK_POISON(data, b->size);
  if (l) COUNT(l->live, -(int64_t)b->size);
  if (l && b->class < SMALL_CLASSES && l->depth[b->class] < LOCAL_DEPTH &&
      l->cached + b->size <= LOCAL_LIMIT) {
    b->next = l->small[b->class];
    l->small[b->class] = b;
    l->depth[b->class]++;
    l->cached += b->size;
    COUNT(l->kept, (int64_t)b->size);
    return;
  }
  shared_give(b);
}

void loom_block_forget(void *data, size_t begin, size_t end) {
  const block *b = block_of(data);
  if (end > b->size) end = b->size;
  if (b->magic == BLOCK_GUARDED) { /* what is read of it all the same shows */
    if (begin < end) guard_fill((uint8_t *)data + begin, end - begin);
    return;
  }
  if (b->size < BLOCK_PAGES || begin >= end) return;
  /* A mapped block stays one of huge pages: a fault for each small page would take a fifth of a
   * training step. The first touch of a huge page brings all of it, which is at most 2 MiB more. */
  pages_drop((uint8_t *)data + begin, (uint8_t *)data + end);
}

void loom_block_settle(void *data, size_t used, size_t peak) {
  block *b = block_of(data);
  size_t behind = b->size > used ? b->size - used : 0;
  if (loom_giving_is_worth(behind, peak) && peak + behind > b->peak && b->peak)
    loom_block_forget(data, used, SIZE_MAX);
  if (peak > b->peak) b->peak = peak;
}

void *loom_block_realloc(void *data, size_t old_size, size_t new_size) {
  if (!data) return loom_block_alloc(new_size);
  block *b = block_of(data);
  if (new_size <= b->size && class_of(new_size) == b->class && b->magic != BLOCK_GUARDED)
    return data;
  void *fresh = loom_block_alloc(new_size);
  if (!fresh) return NULL;
  memcpy(fresh, data, b->size < new_size ? b->size : new_size);
  loom_block_free(data, old_size);
  return fresh;
}

void *loom_scratch(size_t size) {
  local *l = local_get();
  if (!l) return NULL;
  if (l->scratch_size >= size) {
    if (guard_wanted()) guard_fill(l->scratch, l->scratch_size);
    return l->scratch;
  }
  free(l->scratch);
  size_t rounded = (size + BLOCK_PAGE - 1) & ~(size_t)(BLOCK_PAGE - 1);
  l->scratch = aligned_alloc(BLOCK_PAGE, rounded);
  l->scratch_size = l->scratch ? rounded : 0;
  if (l->scratch && guard_wanted()) guard_fill(l->scratch, rounded);
  return l->scratch;
}

void loom_block_get_stats(loom_block_stats *out) {
  pthread_mutex_lock(&shared.lock);
  int64_t live = shared.live, kept = 0;
  *out = (loom_block_stats){.allocations = shared.allocations, .reuses = shared.reuses};
  for (local *l = shared.threads; l; l = l->next) {
    live += atomic_load_explicit(&l->live, memory_order_relaxed);
    kept += atomic_load_explicit(&l->kept, memory_order_relaxed);
    out->allocations += atomic_load_explicit(&l->allocations, memory_order_relaxed);
    out->reuses += atomic_load_explicit(&l->reuses, memory_order_relaxed);
  }
  out->live_bytes = live > 0 ? (size_t)live : 0;
  out->cached_bytes = shared.cached + (kept > 0 ? (size_t)kept : 0);
  pthread_mutex_unlock(&shared.lock);
}

void loom_block_trim(void) {
  if (local_current) local_flush(local_current);
  pthread_mutex_lock(&shared.lock);
  block *list = shared_evict(0, 0, NULL);
  pthread_mutex_unlock(&shared.lock);
  delete_list(list);
}

bool loom_block_trim_idle(void) {
  uint64_t now = coarse_ms();
  pthread_mutex_lock(&shared.lock);
  shared.checked = 0;
  block *list = shared_idle(now);
  bool more = shared.cached > 0;
  pthread_mutex_unlock(&shared.lock);
  delete_list(list);
  return more;
}
