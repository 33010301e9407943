/* What the threads of a simulated warpgroup do together: wgmma of NVIDIA's sm_90a, for operands in
 * shared memory whose lines go along the depth. Products of 64 steps that go on while the threads
 * do are in sim_product.c.
 *
 * A warpgroup is four warps, 128 threads. Eight lines of 64 bytes are an atom of 512 bytes, in
 * which the bits 4 and 5 of an address are combined with the bits 7 and 8 by exclusive or (PTX ISA
 * 9.7.15.5.1, swizzling of 64 bytes). Sums are as in sim_matrix.c: exact products, rounded once for
 * each instruction of 16 steps.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/types.h"
#include "runtime/sim.h"

enum {
  GROUP_THREADS = 128,
  GROUP_ROWS = 64,
  GROUP_COLUMNS = 128,
  GROUP_STEPS = 16,
  GROUP_LINE = 64
};

typedef struct group_call {
  float *sums;
  const uint8_t *a, *b;
} group_call;

/* Step `k` of a line, from a place on that is a multiple of 512 bytes but for steps before it. */
static const uint8_t *group_place(const uint8_t *base, int line, int k) {
  uintptr_t at = (uintptr_t)base + (uintptr_t)(line * GROUP_LINE + k * 2);
  return (const uint8_t *)(at ^ ((at >> 7 & 3) << 4)); /* NOLINT: an address */
}

static double group_element(const uint8_t *base, int line, int k, bool f16) {
  uint16_t half;
  memcpy(&half, group_place(base, line, k), sizeof half);
  return sim_half(half, f16);
}

static void group_multiply(void *const *calls, bool f16, int first) {
  double a[GROUP_ROWS][GROUP_STEPS], b[GROUP_COLUMNS][GROUP_STEPS];
  const group_call *call = calls[0];
  for (int k = 0; k < GROUP_STEPS; k++) {
    for (int r = 0; r < GROUP_ROWS; r++)
      a[r][k] = group_element(call->a, r, first + k, f16);
    for (int c = 0; c < GROUP_COLUMNS; c++)
      b[c][k] = group_element(call->b, c, first + k, f16);
  }
  sim_count_matrix(sim_current());
  for (int t = 0; t < GROUP_THREADS; t++)
    for (int i = 0; i < GROUP_COLUMNS / 2; i++) {
      float *sum = &((const group_call *)calls[t])->sums[i];
      sim_add_products(sum, a[sim_sum_row(t, i)], b[sim_sum_column(t, i)], GROUP_STEPS);
    }
}

static void group_bf16(void *const *calls) {
  for (int k = 0; k < GROUP_LINE / 2; k += GROUP_STEPS)
    group_multiply(calls, false, k);
}
static void group_f16(void *const *calls) {
  for (int k = 0; k < GROUP_LINE / 2; k += GROUP_STEPS)
    group_multiply(calls, true, k);
}

/* Each thread looks at its share of what all read. */
static void group_read(sim_block *block, const uint8_t *base, uint32_t lines) {
  uint32_t share = lines * GROUP_LINE / GROUP_THREADS;
  if ((uintptr_t)base % 512)
    sim_fault(block, -1, "a matrix in shared memory is not at a multiple of 512 bytes");
  const uint8_t *at = base + (uint32_t)block->thread % GROUP_THREADS * share;
  sim_memory_read(block, at, share);
  sim_memory_proxy(block, at, share);
}

static void group_run(const group_call *call, uint32_t site, sim_exchange exchange) {
  group_call mine = *call;
  sim_block *block = sim_current();
  group_read(block, call->a, GROUP_ROWS);
  group_read(block, call->b, GROUP_COLUMNS);
  sim_together("matrix product", site, GROUP_THREADS, exchange, &mine);
}

/* ---- the primitives (passes/gpu.def) ---- */

void loom_sim_wgmma_bf16(float *sums, const void *a, const void *b, uint32_t site) {
  group_run(&(group_call){sums, a, b}, site, group_bf16);
}

void loom_sim_wgmma_f16(float *sums, const void *a, const void *b, uint32_t site) {
  group_run(&(group_call){sums, a, b}, site, group_f16);
}

void loom_sim_wgmma_fence(void) {
  sim_block *block = sim_current();
  block->fibers[block->thread].fences++;
}
