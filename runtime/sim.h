/* The simulator of a GPU: shared by its files only.
 *
 * Sections by file: sim.c (launches, blocks, fibers), sim_copy.c (asynchronous copies),
 * sim_memory.c (what threads do to memory), sim_count.c (what that costs a GPU), sim_clock.c (what
 * is ordered in blocks whose warps do different things), sim_phase.c (barriers in memory, and
 * copies of boxes), sim_group.c, sim_product.c and sim_own.c (warpgroups). sim_matrix.c has the
 * instructions on matrices.
 */
#ifndef LOOM_SIM_H
#define LOOM_SIM_H

#include <string.h>

#include "graph/types.h"
#include "runtime/runtime.h"
#include "runtime/simulator.h"

#define SIM_WARP 32
#define SIM_WAVE 128     /* threads that do something together, at most: a warpgroup */
#define SIM_THREADS 1024 /* of a block, at most */
#define SIM_GROUPS (SIM_THREADS / SIM_WAVE) /* warpgroups of a block, at most */
#define SIM_PHASES 32                       /* barriers in memory of a block, at most */
#define SIM_REGISTERS 65536                 /* of a multiprocessor */
#define SIM_STACK 65536u                    /* bytes of a thread's own memory */
#define SIM_ZONE 65536u /* bytes before and behind shared memory that are nobody's */

/* ---- sim.c ---- */

/* The entry point of a stage, as every GPU target has it (targets/gpu.c). */
typedef void (*sim_kernel)(void *const *buffers, const uint64_t *params, void *scratch,
                           int64_t begin, int64_t end, uint32_t *status);

/* SIM_PART: at a barrier of the first SIM_PART_THREADS threads; SIM_PHASE: for one in memory. */
typedef enum sim_state {
  SIM_READY,
  SIM_BARRIER,
  SIM_PART,
  SIM_PHASE,
  SIM_TOGETHER,
  SIM_DONE
} sim_state;
#define SIM_PART_THREADS 256

/* What threads do together once all of them have come: the calls of the threads, in the order of
 * their numbers. */
typedef void (*sim_exchange)(void *const *calls);

typedef struct sim_copies sim_copies;
typedef struct sim_clocks sim_clocks;
typedef struct sim_phases sim_phases;
typedef struct sim_products sim_products;
typedef struct sim_own sim_own;

typedef struct sim_fiber {
  void *stack; /* where it goes on */
  sim_state state;
  uint32_t site; /* of the call that it waits in, */
  /* and of one that several threads do together: its name, the threads, what they do, the thread's
   * operands and result. */
  const char *what;
  int size;
  sim_exchange exchange;
  void *call;
  sim_copies *copies; /* under way; NULL: it has never copied */
  void *phase;        /* that it waits for, */
  uint32_t parity;    /* and which */
  uint32_t fences;    /* between proxies, so far */
  uint32_t registers; /* that it has asked for; 0: it has those it began with */
} sim_fiber;

typedef struct sim_line sim_line;
typedef struct sim_counter sim_counter;

/* The block that this thread of the host runs. */
typedef struct sim_block {
  const char *name;
  sim_kernel kernel;
  void *const *buffers;
  const uint64_t *params;
  void *scratch;
  int64_t begin, end;
  uint32_t status;
  int threads, thread; /* of the block; the one that runs */
  uint32_t number;     /* of the block in its launch */
  void *scheduler;     /* its place, while a thread of the block runs */
  sim_fiber fibers[SIM_THREADS];
  uint16_t order[SIM_THREADS];
  uint8_t *stacks;
  uint64_t phase; /* barriers so far */
  bool ended;     /* it cannot go on */
  /* sim_memory.c */
  uint8_t *zone, *shared, *written; /* shared memory, and which bytes of it hold something */
  size_t shared_size;
  sim_line *lines;
  size_t line_count, line_capacity;
  uint32_t epoch;         /* lines of another one say nothing */
  sim_counter *counter;   /* NULL: nothing is counted */
  uint32_t *unfenced;     /* for each byte of shared memory: the thread + 1 that has written it, and
                             its fences until then, 16 bits each; 0: none has */
  sim_clocks *clocks;     /* NULL: barriers of all threads order everything */
  sim_phases *phases;     /* NULL: there are none */
  sim_products *products; /* of warpgroups, under way; NULL: there have been none */
  sim_own *own;           /* the same, with rows in registers */
} sim_block;

sim_block *sim_current(void);
/* Keeps the first fault of a launch: the text, and the access that it is about (-1: none). */
void sim_fault(const sim_block *block, int64_t site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The thread that runs waits for the `size` threads from a multiple of that number on. The last one
 * to come does `exchange` for all, and they go on. */
void sim_together(const char *what, uint32_t site, int size, sim_exchange exchange, void *call);

/* The thread that runs waits, in another state than SIM_READY, until it is made ready. */
void sim_wait(sim_block *block, sim_state state, uint32_t site);

/* ---- sim_clock.c ----
 *
 * `who` has a clock: a thread, then SIM_GROUPS warpgroups, then SIM_PHASES barriers in memory.
 * Without clocks nothing is done, and everything is known. */

/* Around a launch, and before each block. False: out of memory. */
bool sim_clocks_init(sim_block *block);
void sim_clocks_fini(sim_block *block);
void sim_clocks_begin(sim_block *block);
/* A vector of clocks, calloc'ed, or NULL; its bytes. */
uint32_t *sim_clocks_new(const sim_block *block);
size_t sim_clocks_size(const sim_block *block);
/* The thread that runs adds what it knows to a vector, or takes what one knows. */
void sim_clocks_tell(sim_block *block, uint32_t *to);
void sim_clocks_hear(sim_block *block, const uint32_t *from);
/* Threads [first, last) tell each other. */
void sim_clocks_meet(sim_block *block, int first, int last);
/* The thread that runs gets to know one clock; its own one; does it know that of others? */
void sim_clocks_learn(sim_block *block, uint32_t who, uint32_t clock);
uint32_t sim_clocks_now(const sim_block *block);
bool sim_clocks_know(const sim_block *block, uint32_t who, uint32_t clock);
/* An access of shared memory that `who` makes for the thread that runs. */
void sim_clocks_access(sim_block *block, const void *at, uint32_t bytes, uint32_t who,
                       uint32_t clock, bool writes, int64_t site);

/* ---- sim_phase.c ---- */

void sim_phases_fini(sim_block *block);
/* All threads of the block have ended. */
void sim_phases_end(const sim_block *block);
/* Is what the thread waits for over? Copies that it waits for come. */
bool sim_phase_over(sim_block *block, const sim_fiber *fiber);

/* ---- products of matrices: sim_matrix.c, sim_group.c, sim_product.c, sim_own.c ---- */

static inline double sim_half(uint16_t bits, bool f16) {
  return f16 ? loom_half_to_double(bits) : loom_bfloat_to_double(bits);
}

/* What an instruction on TF32 takes an f32 in memory for. */
static inline double sim_tf32(const uint8_t *at) {
  uint32_t bits;
  float value;
  memcpy(&bits, at, sizeof bits);
  bits &= ~UINT32_C(0x1fff);
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* PTX ISA 9.7.15.5.1.1.2, fragments of D of wgmma.m64nNk16: sum i of thread t. */
static inline int sim_sum_row(int t, int i) { return t / 32 * 16 + t % 32 / 4 + i / 2 % 2 * 8; }
static inline int sim_sum_column(int t, int i) { return t % 4 * 2 + i % 2 + i / 4 * 8; }

/* Adds exact products, rounded once: as an instruction of so many steps does. */
static inline void sim_add_products(float *sum, const double *x, const double *y, int steps) {
  double wide = *sum;
  for (int k = 0; k < steps; k++)
    wide += x[k] * y[k];
  *sum = (float)wide;
}

/* ---- sim_product.c ---- */

void sim_products_fini(sim_block *block);
void sim_products_end(const sim_block *block);

/* The sums of a warpgroup's threads while products are under way: they hold nothing that may be
 * read.
 */
#define SIM_SUMS 128 /* of a thread, at most */
typedef struct sim_sums {
  int count; /* 0: none are kept */
  float *at[SIM_WAVE], kept[SIM_WAVE][SIM_SUMS];
} sim_sums;
/* Keeps a thread's sums, which become NaN; a fault where another product has others under way. */
void sim_sums_take(sim_sums *sums, int thread, float *at, int count);
/* Gives all back. */
void sim_sums_give(sim_sums *sums);

/* ---- sim_own.c ---- */

void sim_own_fini(sim_block *block);
void sim_own_end(const sim_block *block);

/* ---- sim_copy.c ---- */

/* The thread's copies that are under way have come, or are given up. */
void sim_copies_fini(sim_fiber *fiber);
/* Are some under way that read or write memory? */
bool sim_copies_any(const sim_fiber *fiber);

/* ---- sim_memory.c ---- */

/* A read of shared memory by an instruction on matrices. */
void sim_memory_read(sim_block *block, const void *at, uint32_t bytes);
/* The same by what works on its own, as `who` with this clock. False: it is next to it. */
bool sim_memory_read_as(sim_block *block, const void *at, uint32_t bytes, uint32_t who,
                        uint32_t clock);
/* Is shared memory there for something that is no access of a thread? A fault where it is not. */
bool sim_memory_inside(sim_block *block, const void *at, uint32_t bytes);
/* The other proxy is about to access shared memory. */
void sim_memory_proxy(sim_block *block, const void *at, uint32_t bytes);
/* Bytes of shared memory hold something, or nothing: something is on its way to them. */
void sim_memory_set_written(sim_block *block, const void *at, uint32_t bytes, bool written);
/* It is the thread that runs who has written them. */
void sim_memory_written_by(sim_block *block, const void *at, uint32_t bytes);
bool sim_memory_init(sim_block *block, size_t shared);
void sim_memory_fini(sim_block *block);
/* Before a block's threads begin: shared memory holds nothing. */
void sim_memory_begin(sim_block *block);
/* What was accessed before can be accessed by any thread from here on. */
void sim_memory_barrier(sim_block *block);

/* ---- sim_count.c ---- */

/* Around a launch, and before each block. False: out of memory. */
bool sim_count_init(sim_block *block);
void sim_count_fini(sim_block *block);
void sim_count_begin(sim_block *block);
/* The thread that runs accesses device memory. */
void sim_count_access(sim_block *block, uintptr_t at, uint32_t bytes, bool writes, int64_t site);
/* Of shared memory: `offset` from its begin. */
void sim_count_shared(sim_block *block, uint32_t offset, uint32_t bytes, bool writes, int64_t site);
void sim_count_barrier(sim_block *block);
/* So many bytes come by a copy of a box. */
void sim_count_map(sim_block *block, uint32_t bytes);
/* A warp multiplies fragments of matrices. */
void sim_count_matrix(sim_block *block);

#endif
