/* Fork and join: one kernel stage over its chunks, by the calling thread and a pool of workers.
 *
 * The pool's state is one word, the gate: {generation, workers inside, open}. A launch writes the
 * job, then opens the gate with a new generation; a worker enters by a compare-and-swap that adds
 * one to the count, so it sees the job of that generation or does not get in. The caller works too,
 * and when no chunk is left it closes the gate and waits only for the workers inside: one that woke
 * up late is never waited for. The next job is written only when the gate is closed and empty.
 *
 * Chunks are divided into one range for each thread, so that a thread finds what it wrote in the
 * launch before in its own caches; a thread that is done with its range goes on with the others'.
 * What a chunk computes depends on nothing but its number, so neither the number of threads nor
 * their luck shows in the results.
 *
 * Workers spin for about 20 us after a job, then sleep on a futex; in the forked child, where they
 * do not exist, they are made again. A signal handler may fork while its thread waits for an answer
 * in the middle of a job: the workers leave first, with what they have begun done, and in both
 * processes the thread does the rest alone. One launch uses the pool at a time: others, on other
 * threads, run alone.
 *
 * Waking a sleeping worker costs the caller some microseconds, more than a short job is worth. How
 * long jobs took is remembered; a short one wakes workers only when launches follow each other so
 * fast that the workers, once awake, are still spinning when the next one comes.
 */
#include "runtime/internal.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <x86intrin.h>

#define THREADS_MAX 256
#define SPIN_TICKS 60000u /* of the time-stamp counter: about 20 us */
#define JOIN_TICKS 300000u
#define GATE_OPEN 1u
#define GATE_ENTERED 2u            /* one worker inside */
#define GATE_COUNT 0x7feu          /* how many, times GATE_ENTERED */
#define GATE_GENERATION (1u << 11) /* one generation */
#define IDLE_SECONDS 12
#define SHORT_TICKS 30000u /* a job that is not worth waking workers for: about 10 us of work */
#define HISTORY 64
#define ALONE_PIECES 16 /* of a job without workers, to ask between them whether to go on */
#define PIECES 8        /* pieces of a range that are handed out one by one */

typedef struct range {
  _Alignas(64) _Atomic int64_t next;
  int64_t end, piece;
} range;

/* How long a job took, all threads together. A stale entry, or one of another job, costs time only.
 */
typedef struct past {
  _Atomic uintptr_t job;
  _Atomic uint32_t ticks;
} past;

static struct {
  _Alignas(64) _Atomic uint32_t gate;
  _Atomic uint32_t sleepers;
  _Atomic uint32_t done;    /* futex of the caller that waits for the last worker inside */
  _Atomic uint32_t waiting; /* the caller waits on it */
  _Atomic uint32_t parked;  /* generation after which nobody spins */
  _Atomic uint32_t status;
  _Atomic bool cancelled; /* the caller wants no more of this job */
  _Atomic bool leaving;   /* the caller does the rest of it without workers */
  _Atomic bool stopping;
  /* The job. */
  _Alignas(64) loom_kernel_fn kernel;
  void *const *buffers;
  const uint64_t *params;
  size_t scratch;
  uint32_t control;    /* the caller's MXCSR: rounding and denormals as on its own thread */
  int team;            /* threads that may take part */
  _Atomic int entered; /* workers that did */
  range ranges[THREADS_MAX];
  /* The launching side. */
  _Alignas(64) _Atomic bool busy;
  _Atomic int count; /* 0: not known yet */
  int workers;
  pthread_t threads[THREADS_MAX];
  past history[HISTORY];
  _Atomic uint64_t last; /* when the last launch that could use workers ended */
} pool;

static _Thread_local bool pool_mine;   /* this thread's launch uses the pool */
static _Thread_local int threads_most; /* of this thread's launches; 0: no limit */

static void futex_wait(_Atomic uint32_t *word, uint32_t value, const struct timespec *timeout) {
  syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout, NULL, 0);
}

static void futex_wake(_Atomic uint32_t *word, int count) {
  syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, count, NULL, NULL, 0);
}

/* ---- how many ---- */

static int threads_default(void) {
  long asked = loom_env_count(LOOM_ENV_THREADS);
  if (asked >= 1) return asked < THREADS_MAX ? (int)asked : THREADS_MAX;
  long cpus = 0;
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) cpus = CPU_COUNT(&set);
  if (cpus < 1) cpus = sysconf(_SC_NPROCESSORS_ONLN);
  long quota = loom_quota_cpus("/proc/self/cgroup", "/sys/fs/cgroup");
  if (quota > 0 && quota < cpus) cpus = quota;
  return cpus < 1 ? 1 : cpus < THREADS_MAX ? (int)cpus : THREADS_MAX;
}

int loom_threads_count(void) {
  int count = atomic_load_explicit(&pool.count, memory_order_relaxed);
  if (count) return count;
  count = threads_default();
  atomic_store_explicit(&pool.count, count, memory_order_relaxed);
  return count;
}

void loom_threads_set_count(int count) {
  if (count < 1) count = 1;
  atomic_store(&pool.count, count < THREADS_MAX ? count : THREADS_MAX);
}

int loom_threads_limit(int most) {
  int before = threads_most;
  threads_most = most;
  return before;
}

/* ---- the work ---- */

/* Asks the caller's thread, after a piece, whether to go on; then the scratch memory may be
 * another. */
static bool job_goes_on(int self, void **scratch) {
  if (self && atomic_load_explicit(&pool.leaving, memory_order_relaxed)) return false;
  if (self || !loom_polling) return !atomic_load_explicit(&pool.cancelled, memory_order_relaxed);
  if (loom_poll_now()) {
    atomic_store_explicit(&pool.cancelled, true, memory_order_relaxed);
    return false;
  }
  return !pool.scratch || (*scratch = loom_scratch(pool.scratch)) != NULL;
}

/* Runs pieces of the job, those of range `self` first; returns status bits. */
static uint32_t job_run(int self, int team) {
  void *scratch = NULL;
  if (pool.scratch && !(scratch = loom_scratch(pool.scratch))) return LOOM_STATUS_MEMORY;
  uint32_t status = 0;
  for (int i = 0; i < team; i++) {
    range *r = &pool.ranges[self + i < team ? self + i : self + i - team];
    for (;;) {
      int64_t begin = atomic_load_explicit(&r->next, memory_order_relaxed);
      if (begin >= r->end) break;
      begin = atomic_fetch_add_explicit(&r->next, r->piece, memory_order_relaxed);
      if (begin >= r->end) break;
      int64_t end = begin + r->piece < r->end ? begin + r->piece : r->end;
      status |= pool.kernel(pool.buffers, pool.params, scratch, begin, end);
      if (job_goes_on(self, &scratch)) continue;
      bool leaves = self && !atomic_load_explicit(&pool.cancelled, memory_order_relaxed);
      return leaves ? status : status | LOOM_STATUS_INTERRUPTED;
    }
  }
  return status;
}

/* A worker without memory has taken no chunk: others do its share, and its failure is no one's. */
static void worker_take_part(int self) {
  int team = pool.team;
  int place = atomic_fetch_add_explicit(&pool.entered, 1, memory_order_relaxed) + 1;
  if (place < team) {
    _mm_setcsr((pool.control & ~0x3fu) | FP_MASKS);
    uint32_t saved = fp_begin();
    uint32_t status = job_run(self < team ? self : place, team) & ~LOOM_STATUS_MEMORY;
    status |= fp_end(saved);
    if (status) atomic_fetch_or_explicit(&pool.status, status, memory_order_relaxed);
  }
  uint32_t before = atomic_fetch_sub(&pool.gate, GATE_ENTERED);
  if ((before & (GATE_COUNT | GATE_OPEN)) == GATE_ENTERED && atomic_load(&pool.waiting)) {
    atomic_fetch_add(&pool.done, 1);
    futex_wake(&pool.done, 1);
  }
}

static bool worker_may_enter(uint32_t gate, uint32_t seen) {
  return (gate & GATE_OPEN) && gate / GATE_GENERATION != seen;
}

/* Returns a gate that may be entered, or any when the pool stops. */
static uint32_t worker_wait(uint32_t seen, bool trims) {
  uint64_t start = __rdtsc();
  for (;;) {
    uint32_t gate = atomic_load(&pool.gate);
    if (worker_may_enter(gate, seen) || atomic_load_explicit(&pool.stopping, memory_order_relaxed))
      return gate;
    if (__rdtsc() - start < SPIN_TICKS &&
        atomic_load_explicit(&pool.parked, memory_order_relaxed) != gate / GATE_GENERATION) {
      _mm_pause();
      continue;
    }
    atomic_fetch_add(&pool.sleepers, 1);
    gate = atomic_load(&pool.gate);
    if (!worker_may_enter(gate, seen) && !atomic_load(&pool.stopping)) {
      struct timespec idle = {.tv_sec = IDLE_SECONDS};
      uint64_t before = coarse_ms();
      futex_wait(&pool.gate, gate, trims ? &idle : NULL);
      if (trims && coarse_ms() - before >= (IDLE_SECONDS - 1) * 1000u)
        trims = loom_block_trim_idle();
    }
    atomic_fetch_sub(&pool.sleepers, 1);
  }
}

static void *worker_main(void *argument) {
  int self = (int)(intptr_t)argument;
  uint32_t seen = UINT32_MAX; /* no generation: they have 21 bits */
  while (!atomic_load(&pool.stopping)) {
    uint32_t gate = worker_wait(seen, self == 1);
    if (!worker_may_enter(gate, seen)) continue;
    if (!atomic_compare_exchange_strong(&pool.gate, &gate, gate + GATE_ENTERED)) continue;
    seen = gate / GATE_GENERATION;
    worker_take_part(self);
  }
  return NULL;
}

/* ---- the pool ---- */

/* Closes the gate and waits for the workers inside: no longer than one piece takes, when there are
 * no more or they are leaving. */
static void launch_join(void) {
  if (!(atomic_fetch_and(&pool.gate, ~GATE_OPEN) & GATE_COUNT)) return;
  uint64_t start = __rdtsc();
  while (atomic_load(&pool.gate) & GATE_COUNT) {
    if (__rdtsc() - start < JOIN_TICKS) {
      _mm_pause();
      continue;
    }
    uint32_t done = atomic_load(&pool.done);
    atomic_store(&pool.waiting, 1);
    if (atomic_load(&pool.gate) & GATE_COUNT) futex_wait(&pool.done, done, NULL);
    atomic_store(&pool.waiting, 0);
  }
}

/* The child has none of the workers: what they had begun of this thread's job nobody would end. */
static void pool_before_fork(void) {
  if (!pool_mine) return;
  atomic_store(&pool.leaving, true);
  launch_join();
}

/* A launch on another thread of the parent is none of the child's. */
static void pool_forget(void) {
  atomic_store(&pool.gate, 0);
  atomic_store(&pool.sleepers, 0);
  atomic_store(&pool.waiting, 0);
  atomic_store(&pool.busy, pool_mine);
  pool.workers = 0;
}

/* Handlers run last one first: with the lock of blocks held no worker might come to its end. */
static void pool_register(void) {
  loom_scratch(1);
  pthread_atfork(pool_before_fork, NULL, pool_forget);
}

/* Starts workers up to `count`, as far as the system allows; signals stay with the program's own
 * threads. */
static void pool_grow(int count) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, pool_register);
  sigset_t all, old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  while (pool.workers < count) {
    intptr_t self = pool.workers + 1; /* 0 is the caller */
    if (pthread_create(&pool.threads[pool.workers], NULL, worker_main, (void *)self)) break;
    pthread_setname_np(pool.threads[pool.workers], "loom-kernels");
    pool.workers++;
  }
  pthread_sigmask(SIG_SETMASK, &old, NULL);
}

/* No worker may run when the library is unmapped or the process's data is torn down. */
__attribute__((destructor)) static void pool_stop(void) {
  atomic_store(&pool.stopping, true);
  /* A launch on another thread ends soon; one that a signal handler left by exit() never does. From
   * here on launches find the pool busy and run alone. */
  int patience = 1000;
  while (atomic_exchange(&pool.busy, true) && --patience)
    usleep(1000);
  if (!patience) return;
  atomic_fetch_add(&pool.gate, GATE_GENERATION);
  futex_wake(&pool.gate, THREADS_MAX);
  for (int i = 0; i < pool.workers; i++)
    pthread_join(pool.threads[i], NULL);
  pool.workers = 0;
}

void loom_threads_park(void) {
  atomic_store_explicit(&pool.parked, atomic_load(&pool.gate) / GATE_GENERATION,
                        memory_order_relaxed);
}

/* ---- launches ---- */

static uint32_t launch_alone(loom_kernel_fn kernel, void *const *buffers, const uint64_t *params,
                             size_t scratch, int64_t first, int64_t chunks) {
  void *memory = NULL;
  if (scratch && !(memory = loom_scratch(scratch))) return LOOM_STATUS_MEMORY;
  uint32_t saved = fp_begin(), status = 0;
  int64_t piece = loom_polling && chunks > ALONE_PIECES ? chunks / ALONE_PIECES : chunks;
  for (int64_t begin = 0; begin < chunks; begin += piece) {
    int64_t end = chunks - begin < piece ? chunks : begin + piece;
    status |= kernel(buffers, params, memory, first + begin, first + end);
    if (end == chunks) break;
    if (loom_poll_now()) status |= LOOM_STATUS_INTERRUPTED;
    if (scratch && !(memory = loom_scratch(scratch))) status |= LOOM_STATUS_MEMORY;
    if (status & (LOOM_STATUS_INTERRUPTED | LOOM_STATUS_MEMORY)) break;
  }
  return status | fp_end(saved);
}

/* ---- short jobs ---- */

static past *past_of(uintptr_t job) {
  return &pool.history[(job ^ job >> 6 ^ job >> 12) % HISTORY];
}

static uintptr_t past_job(loom_kernel_fn kernel, int64_t chunks) {
  return (uintptr_t)kernel + (uintptr_t)chunks;
}

/* Is this job too short to wake sleeping workers for, and alone in its time? */
static bool past_short(const past *entry, uintptr_t job, uint64_t start) {
  return atomic_load_explicit(&entry->job, memory_order_relaxed) == job &&
         atomic_load_explicit(&entry->ticks, memory_order_relaxed) < SHORT_TICKS &&
         start - atomic_load_explicit(&pool.last, memory_order_relaxed) >= SPIN_TICKS;
}

static void past_keep(past *entry, uintptr_t job, uint64_t start, int team) {
  uint64_t now = __rdtsc(), ticks = (now - start) * (uint64_t)team;
  atomic_store_explicit(&pool.last, now, memory_order_relaxed);
  atomic_store_explicit(&entry->job, job, memory_order_relaxed);
  atomic_store_explicit(&entry->ticks, ticks < UINT32_MAX ? (uint32_t)ticks : UINT32_MAX,
                        memory_order_relaxed);
}

static void launch_divide(int64_t first, int64_t chunks, int team) {
  for (int i = 0; i < team; i++) {
    range *r = &pool.ranges[i];
    int64_t begin = first + chunks / team * i + (chunks % team < i ? chunks % team : i);
    int64_t size = chunks / team + (i < chunks % team);
    r->end = begin + size;
    r->piece = size > PIECES ? size / PIECES : 1;
    atomic_store_explicit(&r->next, begin, memory_order_relaxed);
  }
}

/* With workers; the pool is the caller's. */
static uint32_t launch_team(loom_kernel_fn kernel, void *const *buffers, const uint64_t *params,
                            size_t scratch, int64_t first, int64_t chunks, int team) {
  if (pool.workers < team - 1) pool_grow(team - 1);
  uint32_t saved = fp_begin();
  pool.kernel = kernel;
  pool.buffers = buffers;
  pool.params = params;
  pool.scratch = scratch;
  pool.control = saved;
  atomic_store_explicit(&pool.cancelled, false, memory_order_relaxed);
  atomic_store_explicit(&pool.leaving, false, memory_order_relaxed);
  pool.team = team;
  atomic_store_explicit(&pool.entered, 0, memory_order_relaxed);
  atomic_store_explicit(&pool.status, 0, memory_order_relaxed);
  launch_divide(first, chunks, team);
  uint32_t closed = atomic_load_explicit(&pool.gate, memory_order_relaxed);
  atomic_store(&pool.gate, (closed + GATE_GENERATION) | GATE_OPEN);
  if (atomic_load(&pool.sleepers)) futex_wake(&pool.gate, team - 1);
  pool_mine = true;
  uint32_t status = job_run(0, team);
  launch_join();
  pool_mine = false;
  return status | fp_end(saved) | atomic_load_explicit(&pool.status, memory_order_relaxed);
}

uint32_t loom_threads_launch(loom_kernel_fn kernel, void *const *buffers, const uint64_t *params,
                             size_t scratch, int64_t first, int64_t chunks) {
  if (chunks <= 0) return 0;
  int team = chunks == 1 ? 1 : loom_threads_count();
  if (team > chunks) team = (int)chunks;
  if (threads_most > 0 && team > threads_most) team = threads_most;
  if (team == 1) return launch_alone(kernel, buffers, params, scratch, first, chunks);
  uint64_t start = __rdtsc();
  uintptr_t job = past_job(kernel, chunks);
  past *entry = past_of(job);
  bool alone =
      atomic_load_explicit(&pool.sleepers, memory_order_relaxed) && past_short(entry, job, start);
  if (alone || atomic_exchange_explicit(&pool.busy, true, memory_order_acquire)) {
    uint32_t status = launch_alone(kernel, buffers, params, scratch, first, chunks);
    past_keep(entry, job, start, 1);
    return status;
  }
  uint32_t status = launch_team(kernel, buffers, params, scratch, first, chunks, team);
  atomic_store_explicit(&pool.busy, false, memory_order_release);
  past_keep(entry, job, start, team);
  return status;
}
