/* A compilation on a thread of its own, for the process' first thread, on which Python runs signal
 * handlers. The first thread waits for the compilation, and lets handlers run meanwhile. When a
 * handler raises, it stops waiting at once, however long the compilation still takes. The abandoned
 * compilation goes on and puts its plan into the disk cache, so all that it reads is a copy. After
 * a long wait, a line on a terminal says what is being compiled. */
#include "frontend/base/base.h"
#include "frontend/compile/compile.h"
#include "frontend/compile/internal.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

/* bytes of address space: passes and LLVM recurse over nested code */
#define APART_STACK (64u << 20)
#define APART_POLL_MS 50   /* an interrupt is answered within this time */
#define APART_TELL_MS 2000 /* a compilation that takes longer is told of */

typedef struct apart_job {
  pthread_mutex_t lock;
  pthread_cond_t ended;
  bool done, left; /* by the thread that compiles; by the one that waits */
  bool good;
  loom_graph graph;
  loom_compile_options options;
  loom_bytes key;
  _Atomic(const char *) phase;
  loom_plan *plan;
  loom_compile_report report;
  loom_error err;
} apart_job;

static void apart_free(apart_job *job) {
  if (job->plan) loom_plan_unref(job->plan);
  loom_graph_fini(&job->graph);
  free((char *)job->options.cpu);
  free((char *)job->options.trace_dir);
  free(job->key.data);
  pthread_cond_destroy(&job->ended);
  pthread_mutex_destroy(&job->lock);
  free(job);
}

static bool apart_copy_text(const char **text) { return !*text || (*text = strdup(*text)) != NULL; }

static apart_job *apart_new(const loom_graph *graph, const loom_compile_options *options,
                            const loom_bytes *key) {
  apart_job *job = calloc(1, sizeof *job);
  if (!job) return NULL;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&job->ended, &attributes);
  pthread_condattr_destroy(&attributes);
  pthread_mutex_init(&job->lock, NULL);
  job->options = *options;
  job->options.phase = &job->phase;
  bool cpu = apart_copy_text(&job->options.cpu), trace = apart_copy_text(&job->options.trace_dir);
  bool good = cpu && trace && loom_graph_copy(graph, &job->graph);
  if (good && key->size) {
    job->key = (loom_bytes){malloc(key->size), key->size};
    good = job->key.data != NULL;
    if (good) memcpy(job->key.data, key->data, key->size);
  }
  if (good) return job;
  apart_free(job);
  return NULL;
}

static void *apart_main(void *argument) {
  apart_job *job = argument;
  prctl(PR_SET_NAME, "loom-compile");
  bool good =
      loom_compile_here(&job->graph, &job->options, &job->key, &job->plan, &job->report, &job->err);
  pthread_mutex_lock(&job->lock);
  job->good = good;
  job->done = true;
  bool left = job->left;
  pthread_cond_signal(&job->ended);
  pthread_mutex_unlock(&job->lock);
  if (left) apart_free(job);
  return NULL;
}

/* Signals are for the threads of Python. */
static bool apart_start(apart_job *job) {
  pthread_t thread;
  pthread_attr_t attributes;
  sigset_t all, before;
  pthread_attr_init(&attributes);
  pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
  pthread_attr_setstacksize(&attributes, APART_STACK);
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool good = pthread_create(&thread, &attributes, apart_main, job) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  pthread_attr_destroy(&attributes);
  return good;
}

static void apart_tell(apart_job *job, const char *title) {
  const char *phase = atomic_load(&job->phase);
  if (!isatty(STDERR_FILENO)) return;
  fprintf(stderr, "frameloom: still compiling %s (%u ops, stage '%s')\n", title,
          job->graph.node_count, phase ? phase : "import");
}

typedef enum apart_end {
  APART_DONE, /* the job is the caller's again */
  APART_LEFT, /* a handler has raised */
  APART_LOST  /* a handler has forked, and this is the child, where nobody compiles */
} apart_end;

/* Waits for the end, or for a handler that raises, however far the job has come by then. What is
 * lost is not freed: its thread may have held its lock. */
static apart_end apart_wait(apart_job *job, const char *title) {
  double start = loom_clock_ms();
  pid_t process = getpid();
  bool told = false;
  pthread_mutex_lock(&job->lock);
  while (!job->done) {
    struct timespec late;
    clock_gettime(CLOCK_MONOTONIC, &late);
    late.tv_nsec += APART_POLL_MS * 1000000;
    late.tv_sec += late.tv_nsec / 1000000000;
    late.tv_nsec %= 1000000000;
    if (!pthread_cond_timedwait(&job->ended, &job->lock, &late) || job->done) continue;
    pthread_mutex_unlock(&job->lock);
    bool stop = loom_poll_signals(NULL);
    if (getpid() != process) return stop ? APART_LEFT : APART_LOST;
    if (!told && loom_clock_ms() - start > APART_TELL_MS) {
      apart_tell(job, title);
      told = true;
    }
    pthread_mutex_lock(&job->lock);
    if (stop) {
      bool done = job->done;
      job->left = true;
      pthread_mutex_unlock(&job->lock);
      if (done) apart_free(job);
      return APART_LEFT;
    }
  }
  pthread_mutex_unlock(&job->lock);
  return APART_DONE;
}

bool loom_compile_apart(const loom_graph *graph, const loom_compile_options *options,
                        const loom_bytes *key, const char *title, loom_plan **out,
                        loom_compile_report *report, loom_error *err) {
  apart_job *job = apart_new(graph, options, key);
  if (!job) return loom_fail(err, "out of memory");
  if (!apart_start(job)) { /* as many threads as there may be: here, then */
    apart_free(job);
    return loom_compile_here(graph, options, key, out, report, err);
  }
  apart_end end = apart_wait(job, title);
  if (end == APART_LEFT) return loom_fail(err, "interrupted");
  if (end == APART_LOST) return loom_compile_here(graph, options, key, out, report, err);
  bool good = job->good;
  *out = job->plan;
  *report = job->report;
  *err = job->err;
  job->plan = NULL;
  apart_free(job);
  return good;
}
