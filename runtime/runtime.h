/* The runtime: plans, kernels' images, threads, memory, the disk cache. Knows neither MLIR, LLVM
 * nor Python.
 *
 * Sections by file: image.c, plan.c (loading), run.c, threads.c, blocks.c (result blocks and
 * arenas), bounds.c (checked kernels), cache.c, support.c (loom_rt_*), sim.c (GPU kernels).
 */
#ifndef LOOM_RUNTIME_H
#define LOOM_RUNTIME_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Errors are texts that the failing function fills in, as in graph/types.h. */
#include "graph/graph.h"
#include "runtime/plan_format.h"

/* ---- the kernel ABI -------------------------------------------------------------------------- */

/* One stage of a kernel over chunks [begin, end). `buffers`: operands, results, then the slots
 * buffer if there is one. `params`: 8 bytes for each scalar operand (bit-cast, zero-extended), then
 * symbolic sizes. `scratch`: memory private to the calling thread. Returns status bits. The bits of
 * the results never depend on how chunks are divided among threads. */
typedef uint32_t (*loom_kernel_fn)(void *const *buffers, const uint64_t *params, void *scratch,
                                   int64_t begin, int64_t end);

/* Status bits of a kernel: loom_fp_flag (graph.h) raised by integer arithmetic (the runtime adds
 * those of the floating-point unit itself, from MXCSR), and: */
#define LOOM_STATUS_INDEX 0x100u /* an index out of bounds: results are not valid */
#define LOOM_STATUS_HOST 0x200u  /* a host call failed: the caller has the exception */
#define LOOM_STATUS_MEMORY 0x400u
#define LOOM_STATUS_INTERRUPTED 0x800u
#define LOOM_STATUS_SIZE 0x1000u   /* a symbolic size overflows, or a check of sizes failed */
#define LOOM_STATUS_BOUNDS 0x2000u /* a checked kernel left its buffers: results are not valid */

/* ---- checksum.c, env.c ----------------------------------------------------------------------- */

/* XXH3 with 64 bits: what every `checksum` here is. */
uint64_t loom_checksum(const void *data, size_t size);
/* XXH3 with 128 bits, high word first. */
void loom_hash128(const void *data, size_t size, uint64_t out[2]);

/* Environment variables (env.def). */
typedef enum loom_env_variable {
#define LOOM_ENV(KIND, ENUM, NAME, DEFAULT, TEXT) LOOM_ENV_##ENUM,
#include "runtime/env.def"
#undef LOOM_ENV
  LOOM_ENV_COUNT
} loom_env_variable;

const char *loom_env(loom_env_variable variable); /* NULL when unset or empty */
/* A number of bytes with an optional K, M or G; false when unset or not a number. */
bool loom_env_bytes(loom_env_variable variable, uint64_t *out);
/* 0 when unset or no positive number; of a list "4,2" the first. */
long loom_env_count(loom_env_variable variable);
bool loom_env_switch(loom_env_variable variable);
/* Notes every value that cannot be read. */
void loom_env_check(void);
/* 1 for "1", "on", "yes" and "true", 0 for their opposites, -1 for all else. */
int loom_env_word(const char *text);

/* ---- notice.c: what the user should know, once for each cause -------------------------------- */

#define LOOM_NOTICE_SIZE 1024

enum {
  LOOM_NOTICE_FOLDER,  /* the disk cache's folder cannot be used */
  LOOM_NOTICE_WRITE,   /* an entry cannot be written */
  LOOM_NOTICE_TRACE,   /* the folder of stages cannot be made */
  LOOM_NOTICE_LIBRARY, /* the compiler library cannot be loaded: all runs plainly */
  LOOM_NOTICE_TRACED,  /* a tracer or profiler is active: all runs plainly meanwhile */
  LOOM_NOTICE_AGAIN,   /* calls run again to report floating-point exceptions */
  LOOM_NOTICE_GRAPHS,  /* a device's launches cannot be one graph of its driver */
  LOOM_NOTICE_ENV,     /* and a loom_env_variable: its value cannot be read */
  LOOM_NOTICE_COUNT = LOOM_NOTICE_ENV + LOOM_ENV_COUNT
};

void loom_notice(int cause, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Takes a notice: its cause. -1: there is none. */
int loom_notice_take(char out[LOOM_NOTICE_SIZE]);
/* What was noted of this cause so far, or NULL. */
const char *loom_notice_text(int cause);

/* ---- image.c: position-independent code ------------------------------------------------------ */

/* The bytes of an image: this header, code (with its constants, PC-relative), then for each import
 * a word {support function, offset of its 8-byte slot in the code}. */
typedef struct loom_image_header {
  uint64_t magic, checksum; /* checksum: of all that follows the header */
  uint32_t code_size; /* page-aligned parts: [0, text_size) is mapped r-x, the rest r-- after slots
                         are filled */
  uint32_t text_size;
  uint32_t import_count, reserved;
} loom_image_header;
#define LOOM_IMAGE_MAGIC 0x31474d494d4f4f4cull
#define LOOM_IMAGE_PAGE 4096u

typedef struct loom_image_import {
  uint32_t function; /* row of support.def */
  uint32_t slot;     /* offset in the image's read-only part, 8-byte aligned */
} loom_image_import;

typedef struct loom_image {
  uint8_t *base;
  size_t size;
} loom_image;

/* Checks and maps an image; never a page both writable and executable. */
bool loom_image_map(const void *bytes, size_t size, loom_image *out, loom_error *err);
void loom_image_unmap(loom_image *image);

/* ---- support.c: what compiled code may call (support.def) ------------------------------------ */

typedef enum loom_support_function {
#define LOOM_SUPPORT(ENUM, SYMBOL, FUNCTION) LOOM_SUPPORT_##ENUM,
#include "runtime/support.def"
#undef LOOM_SUPPORT
  LOOM_SUPPORT_COUNT
} loom_support_function;

/* Row of the helper that LLVM knows as `symbol`, or -1. */
int loom_support_find(const char *symbol);
void *loom_support_address(loom_support_function function);

/* CPU features that compiled code may need, as bits; and the name for LLVM. */
#define LOOM_CPU_AVX2 1u   /* with FMA, BMI2, F16C */
#define LOOM_CPU_AVX512 2u /* F, BW, DQ, VL */
#define LOOM_CPU_BF16 4u   /* AVX512_BF16 */
#define LOOM_CPU_AMX 8u    /* tiles of bfloat16, which the system lets this process use */
uint64_t loom_cpu_features(void);
/* Do dot products of pairs (BF16) take less time than the multiply-adds of floats that do the same?
 */
bool loom_cpu_pairs_fast(void);

/* ---- threads.c ------------------------------------------------------------------------------- */

/* Threads used by launches: OMP_NUM_THREADS, else the CPUs this process may use, as far as the
 * quotas of its control groups (containers) go. */
int loom_threads_count(void);
void loom_threads_set_count(int count); /* >= 1; takes effect with the next launch */
/* Launches of this thread use at most so many from now on; 0: no limit. Returns the limit before.
 */
int loom_threads_limit(int most);

/* Runs a kernel stage over [first, first + chunks), the caller taking part; returns the union of
 * status bits, those of the floating-point unit included. `scratch` bytes are given to each thread.
 * Callable from several threads at once (a busy pool makes the caller run alone); safe in a forked
 * child. */
uint32_t loom_threads_launch(loom_kernel_fn kernel, void *const *buffers, const uint64_t *params,
                             size_t scratch, int64_t first, int64_t chunks);

/* ---- blocks.c: a caching allocator for results and arenas ------------------------------------ */

/* 64-byte aligned. Freed blocks are kept for reuse, bounded (LOOM_BLOCKS_LIMIT bytes, given back
 * when idle); huge pages are asked for on large ones. Thread-safe; usable after fork. NULL when out
 * of memory. */
void *loom_block_alloc(size_t size);
/* Memory for one run: any cached block that is large enough serves, and smaller ones that served
 * runs go back to the system when none is. */
void *loom_block_borrow(size_t size);
void loom_block_free(void *block, size_t size);
/* Bytes [begin, end) of a block hold nothing any more: whole pages of them go back to the system,
 * and come again, as zeros, when they are touched. */
void loom_block_forget(void *block, size_t begin, size_t end);
/* A run whose highest memory use is `peak` bytes uses the first `used` bytes of a borrowed block.
 * Memory behind these, which earlier runs have touched, stays only if those runs had as high a
 * memory use, or if it is so little, in a run that is not large, that its page faults would cost
 * more than it is worth. */
void loom_block_settle(void *block, size_t used, size_t peak);
void *loom_block_realloc(void *block, size_t old_size, size_t new_size);
/* For checked runs: from now on each block has memory of its own with guards round it, filled with
 * NaNs, and none is reused. What is written next to one stops the next checked run. */
void loom_block_check(bool on);
typedef struct loom_block_stats {
  size_t live_bytes, cached_bytes;
  uint64_t allocations, reuses;
} loom_block_stats;
void loom_block_get_stats(loom_block_stats *out);
void loom_block_trim(void); /* gives all cached blocks back */

/* ---- plan.c, run.c --------------------------------------------------------------------------- */

typedef struct loom_plan
    loom_plan; /* loaded: immutable but for its constants, shared, reference-counted */

/* Loads a plan from its bytes (copied). Every offset is checked; fails on a version, feature or
 * checksum mismatch. */
loom_plan *loom_plan_load(const void *bytes, size_t size, loom_error *err);
loom_plan *loom_plan_ref(loom_plan *plan);
void loom_plan_unref(loom_plan *plan);
const loom_plan_header *loom_plan_header_of(const loom_plan *plan);
/* Bytes of output number `index` for these values of the symbols (NULL when there are none); false
 * when a size overflows or a check fails, and for an output that is made during the run
 * (LOOM_PLAN_ALLOC). */
bool loom_plan_output_size(const loom_plan *plan, uint32_t index, const int64_t *symbols,
                           size_t *out);
/* LOOM_PLAN_ARRAY, LOOM_PLAN_SCALAR or LOOM_PLAN_CONST, for a number below the header's. */
uint32_t loom_plan_kind_of_input(const loom_plan *plan, uint32_t index);
/* The input whose buffer the caller may pass for output `index` too (the kernel that writes it
 * reads each element before it writes that one, and nothing reads the input afterwards), or -1. */
int32_t loom_plan_output_overwrites(const loom_plan *plan, uint32_t index);
/* Binds the data of constant input number `input`; the caller keeps it alive as long as the plan,
 * and unchanged: what depends on constants alone is computed in the first run and kept. Not while
 * the plan runs. */
void loom_plan_set_const(loom_plan *plan, uint32_t input, const void *data);

/* Bytes that the plan keeps from its first run on. */
size_t loom_plan_kept_bytes(const loom_plan *plan);

/* What a host call gets. `buffers`: `reads` operands, then results. A result whose size is not
 * known yet comes as NULL: the function puts the address of its data there (kept alive until the
 * run ends) and writes the symbols that its results introduce. */
typedef struct loom_host_call {
  const char *name;
  uint32_t slot, reads, count;
  void **buffers;
  int64_t *symbols; /* of the graph: values known so far */
} loom_host_call;

/* The frontend's side of host calls: returns 0, or not 0 with the exception kept by the frontend.
 */
typedef int (*loom_host_fn)(void *context, const loom_host_call *call);

/* Memory for an output whose size is known only now; the caller owns it, whatever becomes of the
 * run. */
typedef void *(*loom_allocate_fn)(void *context, uint32_t output, size_t bytes,
                                  const int64_t *symbols);

/* Asked between instructions of a long run and between chunks of a long kernel, about every 50 ms,
 * on the caller's thread: not 0 stops it (LOOM_STATUS_INTERRUPTED). */
typedef int (*loom_poll_fn)(void *context);

/* Memory for output `output`, whose pointer was NULL, just before an instruction uses it: stored in
 * the caller's array. False: there is none. */
typedef bool (*loom_lend_fn)(void *context, uint32_t output);
/* Called when the last instruction that uses input `input` has run. More than once if that
 * instruction names the input several times. */
typedef void (*loom_release_fn)(void *context, uint32_t input);

/* The first access of a run that a checked kernel refused. */
typedef struct loom_violation {
  char text[1200];
} loom_violation;

typedef struct loom_call {
  void *const *inputs; /* for each graph input of kind ARRAY its data; other entries are ignored */
  const uint64_t *scalars; /* in the order of the scalar inputs */
  void *const *outputs;
  loom_host_fn host;
  void *host_context;
  loom_poll_fn poll;      /* may be NULL; gets host_context */
  const int64_t *symbols; /* a value for each symbol; those that host calls introduce are ignored */
  loom_allocate_fn allocate; /* for outputs made during the run; gets host_context */
  loom_lend_fn lend;         /* may be NULL; gets host_context */
  loom_release_fn release;   /* may be NULL; gets host_context */
  loom_violation *violation; /* may be NULL; filled before LOOM_STATUS_BOUNDS comes back */
} loom_call;

/* Runs a plan: status bits (0: all well); of the floating-point flags those that the launches'
 * masks name. Ends at the first status that is none of these flags. Callable from many threads at
 * once; takes no lock of Python's. */
uint32_t loom_plan_run(const loom_plan *plan, const loom_call *call);

/* ---- cache.c: the disk cache ----------------------------------------------------------------- */

/* One cached object by content: `key` bytes in full are stored and compared, so that a hash
 * collision cannot give a wrong plan. The folder is FRAMELOOM_CACHE_DIR, else
 * XDG_CACHE_HOME/frameloom, else ~/.cache/frameloom, mode 0700 and owned by this user, else the
 * cache is off; FRAMELOOM_CACHE=0 turns it off. */
bool loom_cache_read(const void *key, size_t key_size,
                     loom_bytes *out); /* false: a miss (damaged entries too) */
bool loom_cache_write(const void *key, size_t key_size, const void *data, size_t size);

#endif
