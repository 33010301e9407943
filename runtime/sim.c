/* The simulator of a GPU: runs the threads of a block as fibers of the calling thread, block by
 * block. The chunks of a launch are divided among the pool's threads as for any kernel, and a fiber
 * never moves from one of them to another.
 *
 * A fiber runs until it waits for others: at a barrier of the block, or in a call that the threads
 * of its warp do together (a shuffle, a product of matrices). Which one goes on first is chosen by
 * a seed (loom_sim_set_seed), anew behind each barrier. A warp exchanges its values once all of its
 * threads are in the same call. Threads go on behind a barrier once all of the block are at the
 * same one. Where neither can happen any more, threads
 * have gone different ways: a fault.
 *
 * A GPU forgives none of these faults, and reports none. Here the first fault ends the run.
 */
#include "runtime/sim.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) && !defined(__SANITIZE_ADDRESS__)
#define __SANITIZE_ADDRESS__ 1 /* as GCC says it */
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

static _Thread_local sim_block *sim_running;
static uint64_t sim_seed;

void loom_sim_set_seed(uint64_t seed) { sim_seed = seed; }

sim_block *sim_current(void) { return sim_running; }

/* ---- faults ---- */

static pthread_mutex_t sim_lock = PTHREAD_MUTEX_INITIALIZER;
static struct {
  bool there;
  int64_t site;
  char text[600];
} sim_first;

void sim_fault(const sim_block *block, int64_t site, const char *format, ...) {
  va_list list;
  char text[400];
  va_start(list, format);
  vsnprintf(text, sizeof text, format, list);
  va_end(list);
  pthread_mutex_lock(&sim_lock);
  if (!sim_first.there) {
    sim_first.there = true;
    sim_first.site = site;
    snprintf(sim_first.text, sizeof sim_first.text, "%s%.120s%sblock %u: %s",
             site < 0 ? "kernel " : "", site < 0 ? block->name : "", site < 0 ? ", " : "",
             block->number, text);
  }
  pthread_mutex_unlock(&sim_lock);
}

bool loom_sim_take_fault(char *text, size_t size, int64_t *site) {
  pthread_mutex_lock(&sim_lock);
  bool there = sim_first.there;
  if (there) {
    snprintf(text, size, "%s", sim_first.text);
    *site = sim_first.site;
  }
  sim_first.there = false;
  pthread_mutex_unlock(&sim_lock);
  return there;
}

/* ---- fibers ----------------------------------------------------------------------------------
 *
 * A fiber that does not run is the registers that calls preserve, on its stack. */

void loom_sim_switch(void **from, void *to) __attribute__((visibility("hidden")));
__asm__(".pushsection .text\n"
        ".globl loom_sim_switch\n"
        ".hidden loom_sim_switch\n"
        ".type loom_sim_switch, @function\n"
        "loom_sim_switch:\n"
        "  pushq %rbp\n"
        "  pushq %rbx\n"
        "  pushq %r12\n"
        "  pushq %r13\n"
        "  pushq %r14\n"
        "  pushq %r15\n"
        "  movq %rsp, (%rdi)\n"
        "  movq %rsi, %rsp\n"
        "  popq %r15\n"
        "  popq %r14\n"
        "  popq %r13\n"
        "  popq %r12\n"
        "  popq %rbx\n"
        "  popq %rbp\n"
        "  ret\n"
        ".size loom_sim_switch, . - loom_sim_switch\n"
        ".popsection\n");

#if defined(__SANITIZE_ADDRESS__)
static _Thread_local const void *sim_home;
static _Thread_local size_t sim_home_size;

static void sim_leave(void **fake, const void *bottom, size_t size) {
  __sanitizer_start_switch_fiber(fake, bottom, size);
}
/* A fiber ends without leaving its frames, whose red zones stay. */
static void sim_clean(void *stack, size_t size) { __asan_unpoison_memory_region(stack, size); }
static void sim_arrive(void *fake, bool in_fiber) {
  __sanitizer_finish_switch_fiber(fake, in_fiber ? &sim_home : NULL,
                                  in_fiber ? &sim_home_size : NULL);
}
#else
static const void *const sim_home;
static const size_t sim_home_size;
static void sim_leave(void **fake, const void *bottom, size_t size) {
  (void)fake, (void)bottom, (void)size;
}
static void sim_clean(void *stack, size_t size) { (void)stack, (void)size; }
static void sim_arrive(void *fake, bool in_fiber) { (void)fake, (void)in_fiber; }
#endif

/* From a fiber back to its scheduler. `done`: it never goes on. */
static void sim_yield(sim_block *block, bool done) {
  void *fake = NULL;
  sim_leave(done ? NULL : &fake, sim_home, sim_home_size);
  loom_sim_switch(&block->fibers[block->thread].stack, block->scheduler);
  sim_arrive(fake, true);
}

static void sim_fiber_main(void) {
  sim_block *block = sim_running;
  sim_arrive(NULL, true);
  uint32_t status = 0;
  block->kernel(block->buffers, block->params, block->scratch, block->begin, block->end, &status);
  block->status |= status;
  if (sim_copies_any(&block->fibers[block->thread]))
    sim_fault(block, -1, "thread %d ends while it copies", block->thread);
  block->fibers[block->thread].state = SIM_DONE;
  sim_yield(block, true);
}

static uint8_t *sim_stack(const sim_block *block, int thread) {
  return block->stacks + (size_t)thread * SIM_STACK;
}

/* The stack of a fiber that has not run: six registers, and the address to return to. */
static void sim_fiber_init(sim_block *block, int thread) {
  uintptr_t *top = (uintptr_t *)(sim_stack(block, thread) + SIM_STACK - 16);
  sim_clean(sim_stack(block, thread), SIM_STACK);
  memset(top - 6, 0, 6 * sizeof *top);
  *top = (uintptr_t)sim_fiber_main;
  sim_copies_fini(&block->fibers[thread]);
  block->fibers[thread] = (sim_fiber){.stack = top - 6};
}

static void sim_resume(sim_block *block, int thread) {
  void *fake;
  block->thread = thread;
  sim_leave(&fake, sim_stack(block, thread), SIM_STACK);
  loom_sim_switch(&block->scheduler, block->fibers[thread].stack);
  sim_arrive(fake, false);
}

/* ---- the order of threads ---- */

static uint64_t sim_random(uint64_t *state) {
  uint64_t z = (*state += 0x9e3779b97f4a7c15u);
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/* Seed 0: the order of their numbers. */
static void sim_shuffle_order(sim_block *block) {
  uint64_t state = sim_seed ^ (uint64_t)block->number << 32 ^ block->phase;
  for (int i = 0; i < block->threads; i++)
    block->order[i] = (uint16_t)i;
  for (int i = block->threads - 1; i > 0 && sim_seed; i--) {
    int j = (int)(sim_random(&state) % (uint64_t)(i + 1));
    uint16_t other = block->order[j];
    block->order[j] = block->order[i];
    block->order[i] = other;
  }
}

/* ---- waiting for others ---- */

void sim_wait(sim_block *block, sim_state state, uint32_t site) {
  sim_fiber *fiber = &block->fibers[block->thread];
  fiber->state = state;
  fiber->site = site;
  sim_yield(block, false);
}

/* Do all threads [first, last) wait in this state? *one: a thread that waits elsewhere. */
static bool sim_all(const sim_block *block, int first, int last, sim_state state, int *one) {
  for (int t = first; t < last; t++)
    if (block->fibers[t].state != state || block->fibers[t].site != block->fibers[first].site) {
      *one = t;
      return false;
    }
  return true;
}

/* The threads from `first` on that do a call together; 0: none begin there. */
static int sim_group(const sim_block *block, int first) {
  const sim_fiber *fiber = &block->fibers[first];
  bool begins = fiber->state == SIM_TOGETHER && first % fiber->size == 0;
  return begins && first + fiber->size <= block->threads ? fiber->size : 0;
}

/* The warps that can exchange their values do so. */
static void sim_exchange_all(sim_block *block) {
  for (int first = 0, one; first < block->threads; first += SIM_WARP) {
    void *calls[SIM_WAVE];
    int size = sim_group(block, first);
    if (!size || !sim_all(block, first, first + size, SIM_TOGETHER, &one)) continue;
    for (int i = 0; i < size; i++)
      calls[i] = block->fibers[first + i].call;
    block->fibers[first].exchange(calls);
    for (int i = 0; i < size; i++)
      block->fibers[first + i].state = SIM_READY;
  }
}

static const char *sim_doing(const sim_fiber *fiber, char text[64]) {
  if (fiber->state == SIM_DONE) return "has ended";
  bool barrier = fiber->state == SIM_BARRIER || fiber->state == SIM_PART;
  if (fiber->state == SIM_PHASE) return "waits for a barrier in memory";
  snprintf(text, 64, "waits at %s %u", barrier ? "barrier" : fiber->what, fiber->site);
  return text;
}

/* Nobody can go on: a thread waits for one that has gone another way. */
static void sim_stuck(sim_block *block) {
  int waiting = 0, last = block->threads, other = 0;
  char texts[2][64];
  while (block->fibers[waiting].state == SIM_DONE)
    waiting++;
  for (int t = 0; t < block->threads; t++)
    if (block->fibers[t].state == SIM_TOGETHER) waiting = t;
  int first = 0;
  if (block->fibers[waiting].state == SIM_TOGETHER) {
    int size = block->fibers[waiting].size;
    first = waiting / size * size;
    if (first + size < last) last = first + size;
  }
  for (int t = first; t < last; t++)
    if (block->fibers[t].state != block->fibers[waiting].state ||
        block->fibers[t].site != block->fibers[waiting].site)
      other = t;
  sim_fault(block, -1, "threads diverge: thread %d %s, thread %d %s", waiting,
            sim_doing(&block->fibers[waiting], texts[0]), other,
            sim_doing(&block->fibers[other], texts[1]));
  block->ended = true;
}

/* All threads of the block are at a barrier, or have ended. */
static bool sim_release(sim_block *block) {
  int one;
  if (!sim_all(block, 0, block->threads, SIM_BARRIER, &one)) return false;
  for (int t = 0; t < block->threads; t++)
    block->fibers[t].state = SIM_READY;
  block->phase++;
  sim_clocks_meet(block, 0, block->threads);
  sim_memory_barrier(block);
  sim_count_barrier(block);
  sim_shuffle_order(block);
  return true;
}

/* The first threads are at a barrier of theirs. */
static bool sim_release_part(sim_block *block) {
  int one;
  if (block->threads < SIM_PART_THREADS || !sim_all(block, 0, SIM_PART_THREADS, SIM_PART, &one))
    return false;
  for (int t = 0; t < SIM_PART_THREADS; t++)
    block->fibers[t].state = SIM_READY;
  sim_clocks_meet(block, 0, SIM_PART_THREADS);
  sim_count_barrier(block);
  return true;
}

/* Registers that warps have asked for, while others have those of the launch. */
static void sim_registers(const sim_block *block) {
  uint32_t all = 0, first = SIM_REGISTERS / (uint32_t)block->threads / 8 * 8;
  for (int t = 0; t < block->threads; t++)
    all += block->fibers[t].registers ? block->fibers[t].registers : first;
  if (all > SIM_REGISTERS)
    sim_fault(block, -1, "the block's threads ask for %u registers, and there are %d", all,
              SIM_REGISTERS);
}

static void sim_end_block(sim_block *block) {
  sim_registers(block);
  sim_phases_end(block);
  sim_products_end(block);
  sim_own_end(block);
}

static void sim_run_block(sim_block *block) {
  int done = 0;
  block->phase = 0;
  block->ended = false;
  for (int t = 0; t < block->threads; t++)
    sim_fiber_init(block, t);
  sim_phases_fini(block);
  sim_products_fini(block);
  sim_own_fini(block);
  sim_clocks_begin(block);
  sim_memory_begin(block);
  sim_count_begin(block);
  sim_shuffle_order(block);
  while (!block->ended) {
    bool ran = false;
    for (int i = 0; i < block->threads; i++) {
      int t = block->order[i];
      sim_fiber *fiber = &block->fibers[t];
      if (fiber->state == SIM_PHASE && sim_phase_over(block, fiber)) fiber->state = SIM_READY;
      if (fiber->state != SIM_READY) continue;
      sim_resume(block, t);
      done += block->fibers[t].state == SIM_DONE;
      ran = true;
    }
    if (done == block->threads) break;
    if (!ran && !sim_release_part(block) && !sim_release(block)) sim_stuck(block);
    sim_exchange_all(block);
  }
  if (!block->ended) sim_end_block(block);
}

/* ---- a launch ---- */

static void sim_run_blocks(sim_block *block, bool whole_blocks, int64_t begin, int64_t end) {
  int64_t count = end - begin;
  if (!whole_blocks) count = (count + block->threads - 1) / block->threads;
  block->begin = begin;
  block->end = end;
  for (int64_t i = 0; i < count && !block->ended; i++) {
    block->number = (uint32_t)(sim_seed & 1 ? count - 1 - i : i);
    sim_run_block(block);
  }
}

/* The maps of a launch's buffers, where no driver has made them. Those that cannot be made are
 * zeros: the kernel does without. */
static void *sim_maps(const loom_tensor_map *maps, uint32_t count, void *const *buffers,
                      const uint64_t *params, void *given, loom_sim_map *made) {
  if (given) return given;
  for (uint32_t i = 0; i < count && i < LOOM_MAP_MOST; i++) {
    loom_tensor_map map = maps[i];
    memset(&made[i], 0, sizeof made[i]);
    uint64_t address = (uint64_t)(uintptr_t)buffers[map.buffer] + (uint64_t)map.offset;
    if (loom_map_known(&map, params)) loom_sim_map_make(&made[i], &map, address);
  }
  return made;
}

uint32_t loom_sim_launch(void *kernel, const char *name, uint32_t blocks, uint32_t threads,
                         uint32_t shared, const loom_tensor_map *maps, uint32_t map_count,
                         void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                         int64_t end) {
  loom_sim_map made[LOOM_MAP_MOST];
  sim_block *block = calloc(1, sizeof *block), *outer = sim_running;
  size_t bytes = (size_t)threads * SIM_STACK;
  if (!block || threads > SIM_THREADS || threads % SIM_WARP) {
    free(block);
    return LOOM_STATUS_MEMORY;
  }
  block->name = name;
  memcpy(&block->kernel, &kernel, sizeof kernel);
  block->buffers = buffers;
  block->params = params;
  block->scratch = map_count ? sim_maps(maps, map_count, buffers, params, scratch, made) : scratch;
  block->threads = (int)threads;
  block->stacks =
      mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  uint32_t status = LOOM_STATUS_MEMORY;
  if (block->stacks != MAP_FAILED && sim_memory_init(block, shared) && sim_clocks_init(block) &&
      sim_count_init(block)) {
    sim_running = block;
    sim_run_blocks(block, blocks != 0, begin, end);
    sim_running = outer;
    status = block->status;
  }
  for (int t = 0; t < block->threads; t++)
    sim_copies_fini(&block->fibers[t]);
  sim_phases_fini(block);
  sim_products_fini(block);
  sim_own_fini(block);
  sim_clocks_fini(block);
  sim_memory_fini(block);
  sim_count_fini(block);
  if (block->stacks != MAP_FAILED) munmap(block->stacks, bytes);
  if (block->ended) status |= LOOM_STATUS_BOUNDS;
  free(block);
  return status;
}

/* ---- the primitives (passes/gpu.def) ---- */

uint32_t loom_sim_thread(void) { return (uint32_t)sim_running->thread; }
uint32_t loom_sim_block(void) { return sim_running->number; }
void *loom_sim_shared(void) { return sim_running->shared; }

void loom_sim_barrier(uint32_t site) { sim_wait(sim_running, SIM_BARRIER, site); }

void loom_sim_barrier_part(uint32_t site) {
  sim_block *block = sim_running;
  if (block->thread >= SIM_PART_THREADS)
    sim_fault(block, -1, "thread %d is at a barrier of the first %d", block->thread,
              SIM_PART_THREADS);
  else
    sim_wait(block, SIM_PART, site);
}

/* setmaxnreg (PTX ISA 9.7.19.5): all warps of a warpgroup do it. */
static void sim_registers_done(void *const *calls) { (void)calls; }

void loom_sim_registers_give(uint32_t site) {
  sim_together("a change of registers", site, SIM_WAVE, sim_registers_done, NULL);
  sim_running->fibers[sim_running->thread].registers = 40;
}

void loom_sim_registers_take(uint32_t site) {
  sim_together("a change of registers", site, SIM_WAVE, sim_registers_done, NULL);
  sim_running->fibers[sim_running->thread].registers = 232;
}

void sim_together(const char *what, uint32_t site, int size, sim_exchange exchange, void *call) {
  sim_block *block = sim_running;
  sim_fiber *fiber = &block->fibers[block->thread];
  fiber->state = SIM_TOGETHER;
  fiber->site = site;
  fiber->what = what;
  fiber->size = size;
  fiber->exchange = exchange;
  fiber->call = call;
  sim_yield(block, false);
}

typedef struct sim_shuffle {
  uint32_t value, mask, result;
} sim_shuffle;

static void sim_shuffle_all(void *const *calls) {
  for (uint32_t i = 0; i < SIM_WARP; i++) {
    sim_shuffle *mine = calls[i];
    mine->result = ((const sim_shuffle *)calls[(i ^ mine->mask) % SIM_WARP])->value;
  }
}

static void sim_shuffle_wave(void *const *calls) {
  for (uint32_t i = 0; i < SIM_WAVE; i++) {
    sim_shuffle *mine = calls[i];
    mine->result = ((const sim_shuffle *)calls[(i ^ mine->mask) % SIM_WAVE])->value;
  }
}

uint32_t loom_sim_shuffle_xor(uint32_t value, uint32_t mask, uint32_t site) {
  sim_shuffle call = {value, mask, 0};
  sim_together("shuffle", site, SIM_WARP, sim_shuffle_all, &call);
  return call.result;
}

uint32_t loom_sim_shuffle_wave_xor(uint32_t value, uint32_t mask, uint32_t site) {
  sim_shuffle call = {value, mask, 0};
  sim_together("shuffle", site, SIM_WAVE, sim_shuffle_wave, &call);
  return call.result;
}
