/* Shared by the files of this folder only. */
#ifndef LOOM_RUNTIME_INTERNAL_H
#define LOOM_RUNTIME_INTERNAL_H

#include <stdatomic.h>
#include <time.h>
#include <xmmintrin.h>

#include "runtime/runtime.h"

/* ---- MXCSR: the floating-point unit's flags around a kernel ---- */

#define FP_STICKY                                                                                  \
  0x1du /* invalid, divide, overflow, underflow; inexact and denormal matter to nobody */
#define FP_MASKS 0x1f80u

/* Clears the sticky flags and masks traps, when that changes anything: writing MXCSR costs more
 * than reading it. Returns the caller's state for fp_end(). */
static inline uint32_t fp_begin(void) {
  uint32_t saved = _mm_getcsr();
  if ((saved & (FP_STICKY | FP_MASKS)) != FP_MASKS) _mm_setcsr((saved & ~0x3fu) | FP_MASKS);
  return saved;
}

/* The loom_fp_flag bits raised since fp_begin(); puts the caller's state back (inexact and denormal
 * may stay set). */
static inline uint32_t fp_end(uint32_t saved) {
  uint32_t now = _mm_getcsr();
  if ((now ^ saved) & (FP_STICKY | FP_MASKS)) _mm_setcsr(saved);
  return ((now >> 2) & 7u) |
         ((now & 1u) << 3); /* MXCSR's order is that of loom_fp_flag but for invalid */
}

/* ---- plan_check.c: is a plan's binary form what it should be? ---- */

#define PLAN_SYMBOLS 65536 /* of one plan, at most */

/* Reads the header and checks it: size, checksum, CPU, and that each section lies within the bytes.
 */
bool plan_check_header(const void *bytes, size_t size, loom_plan_header *h, loom_error *err);
/* Does a name at this offset end within the bytes? */
bool plan_check_name(const loom_plan_header *h, const uint8_t *bytes, uint32_t name);
/* Checks everything behind the header. */
bool plan_check(const loom_plan_header *h, const uint8_t *bytes, loom_error *err);

/* ---- plan.c, run.c: a loaded plan ---- */

#define PLAN_STACK 32 /* buffers or parameters kept on the stack; more take a block */
#define PLAN_ARENA_LARGEST ((uint64_t)1 << 46)
#define PLAN_STOPS                                                                                 \
  (~(uint32_t)(LOOM_FP_DIVIDE | LOOM_FP_OVERFLOW | LOOM_FP_UNDERFLOW | LOOM_FP_INVALID))

/* Where a buffer is found in one call: entry `index` of the inputs, outputs, constants, late or
 * kept buffers, or in the arena at an offset or at the offset in register `index`. */
typedef enum place_kind {
  PLACE_INPUT,
  PLACE_OUTPUT,
  PLACE_CONST,
  PLACE_LATE,
  PLACE_KEPT,
  PLACE_ARENA,
  PLACE_ARENA_AT
} place_kind;
typedef struct place {
  uint32_t kind, index;
  uint64_t offset;
} place;

/* What a plan computes of constants alone, in its first run (keep.c). */
typedef struct plan_kept {
  _Atomic uint64_t state; /* KEPT_NOT, KEPT_DONE, or KEPT_PROCESS + the process that computes the
                             buffers */
  uint32_t status;        /* of its instructions: part of every run's */
  uint32_t count;
  bool *used; /* for each: by an instruction of every run */
  uint64_t *sizes;
  void *buffers[];
} plan_kept;

enum { KEPT_NOT, KEPT_DONE, KEPT_PROCESS }; /* and KEPT_PROCESS + pid */

struct loom_plan {
  _Atomic uint32_t references;
  loom_image image;
  uint32_t text_size; /* bytes of its code */
  const loom_plan_instr *instrs;
  const uint32_t *indices;
  const char *names;
  loom_kernel_fn *kernels;
  void **consts;     /* for each input */
  uint32_t *outputs; /* for each output: its buffer */
  uint32_t *last;    /* for each input: 1 + the instruction that uses it last; or 0 */
  place *places;     /* for each buffer */
  const loom_plan_buffer *buffers;
  const loom_plan_extent *extents; /* for each buffer; NULL: the kernels are not checked */
  const loom_plan_site *sites;     /* of a root */
  struct bounds_life *lives;       /* for each buffer, where kernels are checked */
  bool direct;                     /* one launch of one chunk, no arena, lists that fit the stack */
  uint32_t list_limit;             /* the longest buffer or parameter list */
  const loom_plan_instr *once;
  plan_kept *kept; /* NULL: nothing */
  const int64_t *constants;
  uint32_t constant_count;
  const loom_plan *root; /* the plan that this one is a region of, or itself */
  loom_plan **regions; /* of a root: NULL, then its regions; they have no references of their own */
  uint32_t region_count;       /* with the NULL */
  _Alignas(8) uint8_t bytes[]; /* the binary form as far as a run needs it: no code, no regions */
};

/* ---- run.c ---- */

/* One call: the arrays of pointers in the order of place_kind, and what is private to it. */
typedef struct run {
  const loom_plan *plan;
  const loom_call *call;
  void *const *array[5]; /* inputs, outputs, constants, late and kept buffers */
  uint8_t *arena;
  uint64_t arena_size, arena_room; /* bytes in use, and borrowed */
  int64_t *registers;
  void **late;
  uint64_t *owned; /* for each late buffer: bytes to give back + 1, or 0 */
  uint64_t *room;  /* for each late buffer: how many bytes it has, as far as that is known */
  void **buffers;  /* lists of the instruction that runs */
  uint64_t *params;
  uint64_t *memory; /* the lists above when they are too long for the stack of who opened it */
  size_t memory_size;
} run;

#define RUN_STACK (4 * PLAN_STACK)

/* Does the instruction have a list of buffers? */
static inline bool run_has_list(const loom_plan_instr *in) {
  return in->opcode == LOOM_PLAN_LAUNCH || in->opcode == LOOM_PLAN_HOST_CALL ||
         in->opcode == LOOM_PLAN_FOR || in->opcode == LOOM_PLAN_WHILE ||
         in->opcode == LOOM_PLAN_BRANCH;
}

/* Makes ready to run a plan, any number of times: sizes, arena, lists (in `stack`, RUN_STACK words,
 * when they fit). run_close() is called whatever comes back. */
uint32_t run_open(run *r, const loom_plan *plan, const loom_call *call, uint64_t *stack);
uint32_t run_once(run *r);
void run_close(run *r);
/* Another value for a symbol, between two runs: the arena may grow, and loses what is in it. */
uint32_t run_set_symbol(run *r, uint32_t symbol, int64_t value);
/* Fills the registers that the caller's symbols determine. */
uint32_t run_prologue(const loom_plan *plan, const int64_t *symbols, int64_t *registers);
/* The arena's size, and that every buffer whose place is computed lies inside. */
uint32_t run_arena(run *r);
/* A launch with the buffers in r->buffers. */
uint32_t run_kernel(const run *r, const loom_plan_instr *in);
/* Where a buffer lies, and how many bytes it has. False: these are too many, or more than the
 * memory behind it. */
void *run_place(const run *r, uint32_t buffer);
bool run_size_of(const run *r, uint32_t buffer, uint64_t *out);

/* ---- bounds.c: checked kernels ---- */

/* Does each extent, and each site of a root, name what is there? Finds out how long buffers live.
 */
bool bounds_check(loom_plan *plan, loom_error *err);
/* A launch of a plan with extents, with the buffers in r->buffers. */
uint32_t bounds_launch(const run *r, const loom_plan_instr *in, size_t scratch, int64_t chunks);
/* Of a plan with extents: do `size` bytes from where a buffer begins, which the interpreter copies,
 * lie in it? And does what a region's kernels may access of one lie in the buffer that it gets? 0,
 * or LOOM_STATUS_BOUNDS. */
uint32_t bounds_copy(const run *r, uint32_t buffer, uint64_t size);
uint32_t bounds_region(const run *region, uint32_t buffer, const run *outer, uint32_t given);
/* Called after instruction `i` of a plan with extents. Overwrites values that no later instruction
 * reads, and finds what has been written beside blocks meanwhile. */
uint32_t bounds_after(const run *r, uint32_t i);

/* ---- keep.c ---- */

/* Makes sure that what the plan keeps is there: the status of what computes it. */
uint32_t kept_ready(const run *r);
plan_kept *kept_new(const loom_plan_header *h);
void kept_free(plan_kept *kept);

/* ---- control.c ---- */

/* FOR, WHILE, BRANCH */
uint32_t run_control(const run *r, const loom_plan_instr *in);

/* ---- run.c: a long run asks every POLL_MS whether to go on ---- */

#define POLL_MS 50u

typedef struct run_poll {
  loom_poll_fn poll;
  void *context;
  uint64_t last; /* coarse_ms() of the last question */
} run_poll;

/* Of the plan that this thread is running; NULL: none, or it is not to be asked. */
extern _Thread_local run_poll *loom_polling;
/* Asks when it is time: true when the run has to stop. What is asked may run plans of its own on
 * this thread, and finds the floating-point unit as the caller of the plan left it but for flags.
 */
bool loom_poll_now(void);

/* ---- threads.c ---- */

/* Makes spinning workers park at once: other code's threads are about to want the CPUs. */
void loom_threads_park(void);

/* ---- quota.c ---- */

/* CPUs that the control groups of this process allow; 0: no limit. `list`: /proc/self/cgroup;
 * `mounts`: the folder /sys/fs/cgroup. */
long loom_quota_cpus(const char *list, const char *mounts);

/* ---- blocks_guard.c: blocks of checked runs ---- */

/* Is loom_block_check() on? */
bool guard_wanted(void);
/* `room` bytes of the caller's, then `size` bytes of data (aligned to `room`, which is what comes
 * back), between pages that nobody may touch or between bytes that nobody may change. */
void *guard_alloc(size_t size, size_t room);
void guard_free(void *data);
/* Numbers that nobody takes for results: quiet NaNs in every floating-point type. */
void guard_fill(void *data, size_t size);
/* Has something been written next to a block? `text` says which. */
bool guard_broken(char *text, size_t size);

/* ---- blocks.c ---- */

/* Memory private to the calling thread, kept until the thread ends; what it held is lost when it
 * grows. */
void *loom_scratch(size_t size);
/* Gives back blocks that nobody has asked for in a while; true when some are still kept. */
bool loom_block_trim_idle(void);

/* Milliseconds of a coarse monotonic clock: costs a few nanoseconds. */
static inline uint64_t coarse_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
  return (uint64_t)now.tv_sec * 1000u + (uint64_t)now.tv_nsec / 1000000u;
}

#endif
