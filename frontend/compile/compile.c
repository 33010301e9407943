/* From a captured graph to a loaded plan: the disk cache first, then the compiler library, which is
 * opened once, on the first miss. All of it runs without the GIL. */
#include "frontend/compile/compile.h"
#include "frontend/base/base.h"
#include "frontend/compile/internal.h"

#include <cpuid.h>
#include <dlfcn.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

/* ---- fork -------------------------------------------------------------------------------------
 *
 * A process that is forked while another of its threads compiles would inherit the compiler's locks
 * as they are. So compilations hold this lock for reading, and fork() waits for them
 * (milliseconds). */
static pthread_rwlock_t compile_lock = PTHREAD_RWLOCK_INITIALIZER;

static void compile_before_fork(void) { pthread_rwlock_wrlock(&compile_lock); }
static void compile_after_fork(void) { pthread_rwlock_unlock(&compile_lock); }
static void compile_after_fork_child(void) {
  compile_lock = (pthread_rwlock_t)PTHREAD_RWLOCK_INITIALIZER;
}

/* ---- the end of the process -------------------------------------------------------------------
 *
 * exit() runs the destructors of LLVM's and MLIR's static objects, which a thread that compiles
 * still reads. So from the end of the interpreter on no compilation begins, and exit() waits for
 * those that are under way. One that takes too long keeps the process from running what exit()
 * would run: it ends at once, with the same status. */
#define CLOSE_PATIENCE 3 /* seconds */

static _Atomic bool compile_closing, compile_lost;
static _Thread_local bool compile_inside; /* this thread holds the lock for reading */

static bool compile_none(void) {
  bool none = pthread_rwlock_trywrlock(&compile_lock) == 0;
  if (none) pthread_rwlock_unlock(&compile_lock);
  return none;
}

/* Waits for the compilations under way; false: one goes on, and nobody waits for it again. */
static bool compile_wait(void) {
  struct timespec late;
  if (compile_none()) return true;
  if (compile_inside || atomic_load(&compile_lost)) return false;
  clock_gettime(CLOCK_MONOTONIC, &late);
  late.tv_sec += CLOSE_PATIENCE;
  bool lost = pthread_rwlock_clockwrlock(&compile_lock, CLOCK_MONOTONIC, &late) != 0;
  if (!lost) pthread_rwlock_unlock(&compile_lock);
  atomic_store(&compile_lost, lost);
  return !lost;
}

/* Run by exit() before what was registered earlier. A thread that calls exit() in a compilation (a
 * signal handler's) has no other to wait for, and cannot go on either. */
static void compile_exit(int status, void *unused) {
  atomic_store(&compile_closing, true);
  if (compile_wait()) return;
  fflush(stdout);
  fflush(stderr);
  _exit(status);
}

void loom_compile_close(void) {
  atomic_store(&compile_closing, true);
  if (!compile_wait()) on_exit(compile_exit, NULL);
}

/* Compilations make static objects as they come to need them, and exit() destroys the last one
 * first: before all of them it runs what its thread has registered for its own end. */
static void compile_thread_exit(void *unused) {
  if (syscall(SYS_gettid) == getpid()) loom_compile_close();
}

void loom_compile_watch(void) {
  extern int __cxa_thread_atexit_impl(void (*)(void *), void *, void *);
  extern void *__dso_handle;
  static _Thread_local bool watched;
  atomic_store(&compile_closing, false); /* the interpreter may have begun again */
  atomic_store(&compile_lost, false);
  if (!watched) __cxa_thread_atexit_impl(compile_thread_exit, NULL, &__dso_handle);
  watched = true;
}

/* ---- the compiler library ------------------------------------------------------------------- */

static struct {
  pthread_once_t once;
  char path[PATH_MAX];
  uint64_t identity[4]; /* size, time of change and inode of the library: part of every key */
  bool found;
} library = {.once = PTHREAD_ONCE_INIT};

static pthread_mutex_t library_lock = PTHREAD_MUTEX_INITIALIZER;
static loom_compiler_compile_fn library_compile;

static void library_find(void) {
  pthread_atfork(compile_before_fork, compile_after_fork, compile_after_fork_child);
  static const char name[] = "libloom_compiler.so";
  Dl_info info;
  const char *slash =
      dladdr((void *)library_find, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
  if (!slash || (size_t)(slash - info.dli_fname) + 1 + sizeof name > sizeof library.path) return;
  size_t folder = (size_t)(slash - info.dli_fname) + 1;
  memcpy(library.path, info.dli_fname, folder);
  memcpy(library.path + folder, name, sizeof name);
  struct stat st;
  if (stat(library.path, &st) != 0) return;
  library.identity[0] = (uint64_t)st.st_size;
  library.identity[1] = (uint64_t)st.st_mtim.tv_sec;
  library.identity[2] = (uint64_t)st.st_mtim.tv_nsec;
  library.found = true;
}

static bool library_load(loom_error *err) {
  if (!library.found)
    return loom_fail(err, "the compiler library is not installed at %s", library.path);
  void *handle = dlopen(library.path, RTLD_NOW | RTLD_LOCAL);
  if (!handle) return loom_fail(err, "the compiler library cannot be loaded: %s", dlerror());
  loom_compiler_abi_fn abi = (loom_compiler_abi_fn)dlsym(handle, "loom_compiler_abi");
  loom_compiler_compile_fn compile =
      (loom_compiler_compile_fn)dlsym(handle, "loom_compiler_compile");
  if (!abi || !compile || abi() != LOOM_COMPILER_ABI) {
    dlclose(handle);
    return loom_fail(err, "the compiler library at %s is of another version", library.path);
  }
  library_compile = compile; /* never closed: LLVM does not like to be unloaded */
  on_exit(compile_exit, NULL);
  return true;
}

static bool library_open_locked(loom_error *err) {
  if (library_compile || library_load(err)) return true;
  loom_notice(LOOM_NOTICE_LIBRARY, "%s: functions that are not in the cache run as plain Python",
              err->message);
  return false;
}

static bool library_open(double *load_ms, loom_error *err) {
  double start = loom_clock_ms();
  pthread_mutex_lock(&library_lock);
  bool was_open = library_compile != NULL;
  bool good = library_open_locked(err);
  pthread_mutex_unlock(&library_lock);
  *load_ms = was_open ? 0 : loom_clock_ms() - start;
  return good;
}

/* ---- the key -------------------------------------------------------------------------------- */

/* The first part of a key, in front of the graph: everything else that the code depends on. */
typedef struct compile_key {
  char magic[16];
  uint32_t plan_version;
  bool fastmath, open_sums, tf32, quiet, quick, check, simulated;
  char cpu[16], device[16];
  uint64_t library[4];
  uint32_t cpuid[16]; /* of "native": brand-independent feature words and the model */
} compile_key;

static void compile_cpuid(uint32_t *out) {
  uint32_t a, b, c, d;
  if (__get_cpuid(1, &a, &b, &c, &d)) { /* b holds the core's number, which is no feature */
    out[0] = a;
    out[1] = c;
    out[2] = d;
  }
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
    out[3] = b;
    out[4] = c;
    out[5] = d;
  }
  if (__get_cpuid_count(7, 1, &a, &b, &c, &d)) {
    out[6] = a;
    out[7] = d;
  }
  if (__get_cpuid(0, &a, &b, &c, &d)) {
    out[8] = b;
    out[9] = c;
    out[10] = d;
  }
  if (__get_cpuid(0x80000001, &a, &b, &c, &d)) {
    out[11] = c;
    out[12] = d;
  }
  out[13] = (uint32_t)loom_cpu_features();
}

static bool compile_make_key(const loom_graph *graph, const loom_compile_options *options,
                             loom_bytes *out) {
  compile_key head;
  memset(&head, 0, sizeof head);
  memcpy(head.magic, "frameloom plan", 15);
  head.plan_version = LOOM_PLAN_VERSION;
  head.fastmath = options->fastmath;
  head.open_sums = options->open_sums;
  head.tf32 = options->tf32;
  head.quiet = options->quiet;
  head.quick = options->quick;
  head.check = options->check;
  const char *cpu = options->cpu ? options->cpu : "native";
  memcpy(head.cpu, cpu, strnlen(cpu, sizeof head.cpu - 1));
  if (options->device)
    memcpy(head.device, options->device, strnlen(options->device, sizeof head.device - 1));
  head.simulated = options->simulated;
  memcpy(head.library, library.identity, sizeof head.library);
  if (!strcmp(head.cpu, "native")) compile_cpuid(head.cpuid);
  loom_bytes body;
  if (!loom_graph_serialize(graph, &body)) return false;
  out->size = sizeof head + body.size;
  out->data = malloc(out->size);
  if (out->data) {
    memcpy(out->data, &head, sizeof head);
    memcpy(out->data + sizeof head, body.data, body.size);
  }
  free(body.data);
  return out->data != NULL;
}

/* ---- compiling ------------------------------------------------------------------------------ */

static bool compile_from_cache(const loom_bytes *key, loom_plan **out) {
  loom_bytes bytes;
  if (!loom_cache_read(key->data, key->size, &bytes)) return false;
  *out = loom_plan_load(bytes.data, bytes.size, NULL);
  free(bytes.data);
  return *out != NULL;
}

static bool compile_new(const loom_graph *graph, const loom_compile_options *options,
                        const loom_bytes *key, loom_plan **out, loom_compile_report *report,
                        loom_error *err) {
  if (!library_open(&report->load_ms, err)) return false;
  loom_bytes bytes = {NULL, 0};
  if (!library_compile(graph, options, &bytes, &report->info, err)) return false;
  *out = loom_plan_load(bytes.data, bytes.size, err);
  if (*out && key) loom_cache_write(key->data, key->size, bytes.data, bytes.size);
  free(bytes.data);
  return *out != NULL;
}

/* Takes the lock; fails when the process is about to end. */
bool loom_compile_here(const loom_graph *graph, const loom_compile_options *options,
                       const loom_bytes *key, loom_plan **out, loom_compile_report *report,
                       loom_error *err) {
  pthread_rwlock_rdlock(&compile_lock);
  compile_inside = true;
  bool good = !atomic_load(&compile_closing);
  if (!good)
    loom_fail(err, "the process ends");
  else
    good = compile_new(graph, options, key->data ? key : NULL, out, report, err);
  compile_inside = false;
  pthread_rwlock_unlock(&compile_lock);
  return good;
}

/* nodes; they take some tens of milliseconds, and a thread would cost one */
#define COMPILE_QUICK 48

static uint32_t compile_nodes(const loom_graph *graph) {
  uint32_t nodes = graph->node_count;
  for (uint32_t i = 0; i < graph->node_count; i++) {
    const loom_node *node = &graph->nodes[i];
    for (int k = 0; node->regions && k < loom_op_table[node->op].regions; k++)
      nodes += compile_nodes(node->regions[k]);
  }
  return nodes;
}

bool loom_compile_plan(const loom_graph *graph, const loom_compile_options *options,
                       const char *title, bool cache, loom_plan **out, loom_compile_report *report,
                       loom_error *err) {
  double start = loom_clock_ms();
  memset(report, 0, sizeof *report);
  pthread_once(&library.once, library_find);
  loom_bytes key = {NULL, 0};
  if (cache && !compile_make_key(graph, options, &key)) return loom_fail(err, "out of memory");
  bool good = report->cached = key.data && compile_from_cache(&key, out);
  if (!good && syscall(SYS_gettid) == getpid() && compile_nodes(graph) > COMPILE_QUICK)
    good = loom_compile_apart(graph, options, &key, title, out, report, err);
  else if (!good)
    good = loom_compile_here(graph, options, &key, out, report, err);
  free(key.data);
  report->total_ms = loom_clock_ms() - start;
  return good;
}

unsigned loom_plan_kernel_count(const loom_plan *plan) {
  const loom_plan_header *header = loom_plan_header_of(plan);
  const char *bytes = (const char *)header;
  const loom_plan_kernel *rows = (const void *)(bytes + header->kernels.offset);
  unsigned count = 0;
  for (uint32_t i = 0; i < header->kernels.count; i++) {
    const char *name = bytes + header->names.offset + rows[i].name, *stage = strrchr(name, '_');
    count += stage && strcmp(stage, "_s0") == 0;
  }
  return count;
}
