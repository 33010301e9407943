/* The simulator of a GPU: shared by its files only.
 *
 * Sections by file: sim.c (launches, blocks, fibers), sim_copy.c (asynchronous copies),
 * sim_memory.c (what threads do to memory), sim_count.c (what that costs a GPU). sim_matrix.c has
 * the instructions on matrices.
 */
#ifndef LOOM_SIM_H
#define LOOM_SIM_H

#include "runtime/runtime.h"
#include "runtime/simulator.h"

#define SIM_WARP 32
#define SIM_WAVE 128     /* threads that do something together, at most: a warpgroup */
#define SIM_THREADS 1024 /* of a block, at most */
#define SIM_STACK 65536u /* bytes of a thread's own memory */
#define SIM_ZONE 65536u  /* bytes before and behind shared memory that are nobody's */

/* ---- sim.c ---- */

/* The entry point of a stage, as every GPU target has it (targets/gpu.c). */
typedef void (*sim_kernel)(void *const *buffers, const uint64_t *params, void *scratch,
                           int64_t begin, int64_t end, uint32_t *status);

typedef enum sim_state { SIM_READY, SIM_BARRIER, SIM_TOGETHER, SIM_DONE } sim_state;

/* What threads do together once all of them have come: the calls of the threads, in the order of
 * their numbers. */
typedef void (*sim_exchange)(void *const *calls);

typedef struct sim_copies sim_copies;

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
  uint32_t epoch;       /* lines of another one say nothing */
  sim_counter *counter; /* NULL: nothing is counted */
} sim_block;

sim_block *sim_current(void);
/* Keeps the first fault of a launch: the text, and the access that it is about (-1: none). */
void sim_fault(const sim_block *block, int64_t site, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The thread that runs waits for the `size` threads from a multiple of that number on. The last one
 * to come does `exchange` for all, and they go on. */
void sim_together(const char *what, uint32_t site, int size, sim_exchange exchange, void *call);

/* ---- sim_copy.c ---- */

/* The thread's copies that are under way have come, or are given up. */
void sim_copies_fini(sim_fiber *fiber);
/* Are some under way that read or write memory? */
bool sim_copies_any(const sim_fiber *fiber);

/* ---- sim_memory.c ---- */

/* Bytes of shared memory hold something, or nothing: something is on its way to them. */
/* A read of shared memory by an instruction on matrices. */
void sim_memory_read(sim_block *block, const void *at, uint32_t bytes);
void sim_memory_set_written(sim_block *block, const void *at, uint32_t bytes, bool written);
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
/* A warp multiplies fragments of matrices. */
void sim_count_matrix(sim_block *block);

#endif
