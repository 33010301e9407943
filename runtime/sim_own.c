/* Products of a simulated warpgroup whose rows are in registers (wgmma of sm_90a, PTX
 * ISA 9.7.15.5.1.1.1: each warp has the fragment of 16 rows that mma has), and whose columns lie in
 * shared memory as those of sim_product.c do: 64 or 128 of them, 16 steps for each call. They are
 * computed at the end of all calls, which is as late as it may be, of what then lies there.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/types.h"
#include "runtime/sim.h"

enum { OWN_STEPS = 16, OWN_CALLS = 8, OWN_LINE = 128, OWN_PART = 8192, OWN_LINES = 64 };

typedef struct own_call {
  float *sums;
  loom_u32x4 own;
  const uint8_t *b;
  int columns, step;
  bool f16, turned;
} own_call;

struct sim_own {
  struct own_queue {
    own_call calls[OWN_CALLS][SIM_WAVE];
    int count;
    sim_sums sums;
  } of[SIM_GROUPS];
};

void sim_own_fini(sim_block *block) {
  free(block->own);
  block->own = NULL;
}

void sim_own_end(const sim_block *block) {
  for (int g = 0; block->own && g < SIM_GROUPS; g++)
    if (block->own->of[g].count)
      sim_fault(block, -1, "warpgroup %d ends, and has not waited for a product", g);
}

/* Where step `k` of a column lies: a line is a column, or (turned) a step of 64 columns. */
static int own_offset(const own_call *c, int column, int k) {
  int step = c->step * OWN_STEPS + k;
  int offset = c->turned ? column / OWN_LINES * OWN_PART + step * OWN_LINE + column % OWN_LINES * 2
                         : column * OWN_LINE + step * 2;
  return offset ^ ((offset >> 7 & 7) << 4);
}

static double own_column(const own_call *c, int column, int k) {
  uint16_t half;
  memcpy(&half, c->b + own_offset(c, column, k), sizeof half);
  return sim_half(half, c->f16);
}

/* Step k of row `row` of a warp's 16, which is in the registers of four threads. */
static double own_row(const own_call *calls, int row, int k) {
  const own_call *c = &calls[row % 8 * 4 + k % 8 / 2];
  uint32_t word = c->own[row / 8 + k / 8 * 2];
  return sim_half((uint16_t)(word >> k % 2 * 16), c->f16);
}

/* Sums are as in sim_matrix.c: exact products, rounded once for each instruction. */
static void own_compute(const own_call *calls) {
  double b[2 * OWN_LINES][OWN_STEPS], a[16][OWN_STEPS];
  int columns = calls->columns;
  for (int c = 0; c < columns; c++)
    for (int k = 0; k < OWN_STEPS; k++)
      b[c][k] = own_column(calls, c, k);
  for (int warp = 0; warp < SIM_WAVE / SIM_WARP; warp++) {
    for (int r = 0; r < 16; r++)
      for (int k = 0; k < OWN_STEPS; k++)
        a[r][k] = own_row(calls + warp * SIM_WARP, r, k);
    for (int t = 0; t < SIM_WARP; t++)
      for (int i = 0; i < columns / 2; i++) {
        float *sum = &calls[warp * SIM_WARP + t].sums[i];
        sim_add_products(sum, a[sim_sum_row(t, i)], b[sim_sum_column(t, i)], OWN_STEPS);
      }
  }
}

static struct own_queue *own_queue_of(const sim_block *block, int thread) {
  return &block->own->of[thread / SIM_WAVE];
}

typedef struct own_started {
  struct own_queue *queue;
  own_call call;
} own_started;

static void own_start(void *const *calls) {
  sim_block *block = sim_current();
  struct own_queue *q = ((const own_started *)calls[0])->queue;
  if (q->count == OWN_CALLS) {
    sim_fault(block, -1, "a warpgroup has more than %d products under way", OWN_CALLS);
    return;
  }
  for (int t = 0; t < SIM_WAVE; t++) {
    own_call *call = &q->calls[q->count][t];
    *call = ((const own_started *)calls[t])->call;
    sim_sums_take(&q->sums, t, call->sums, call->columns / 2);
  }
  q->count++;
  sim_count_matrix(block);
}

/* Each thread looks at its share of what all read: columns, or steps. */
static bool own_read(sim_block *block, const own_call *c) {
  int thread = block->thread % SIM_WAVE, items = c->columns * 2;
  bool good = (uintptr_t)c->b % 1024 == 0;
  if (!good) sim_fault(block, -1, "a matrix in shared memory is not at a multiple of 1,024 bytes");
  for (int i = thread; good && i < items; i += SIM_WAVE) {
    int half = i % 2 * 8, column = i / 2;                            /* eight steps of a column, */
    if (c->turned) column = i / OWN_STEPS * 8, half = i % OWN_STEPS; /* or columns of a step */
    good = sim_memory_read_as(block, c->b + own_offset(c, column, half), 16,
                              (uint32_t)block->thread, sim_clocks_now(block));
  }
  return good;
}

static void own_run(own_call call, uint32_t site) {
  sim_block *block = sim_current();
  if (!block->own) block->own = calloc(1, sizeof *block->own);
  if (!block->own) {
    block->status |= LOOM_STATUS_MEMORY;
    return;
  }
  own_started started = {own_queue_of(block, block->thread), call};
  if (own_read(block, &call)) sim_together("matrix product", site, SIM_WAVE, own_start, &started);
}

static void own_finish(void *const *calls) {
  struct own_queue *q = calls[0];
  sim_sums_give(&q->sums);
  for (int i = 0; i < q->count; i++)
    own_compute(q->calls[i]);
  q->count = 0;
}

static void own_wait(uint32_t site) {
  sim_block *block = sim_current();
  if (!block->own) return;
  sim_together("wait for products", site, SIM_WAVE, own_finish, own_queue_of(block, block->thread));
}

/* ---- the primitives (passes/gpu.def) ---- */

void loom_sim_wgmma_own_n64_bf16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                 uint32_t turned_b, uint32_t site) {
  own_run((own_call){sums, own, b, 64, (int)step, false, turned_b != 0}, site);
}
void loom_sim_wgmma_own_n64_f16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                uint32_t turned_b, uint32_t site) {
  own_run((own_call){sums, own, b, 64, (int)step, true, turned_b != 0}, site);
}
void loom_sim_wgmma_own_n128_bf16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                  uint32_t turned_b, uint32_t site) {
  own_run((own_call){sums, own, b, 128, (int)step, false, turned_b != 0}, site);
}
void loom_sim_wgmma_own_n128_f16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                 uint32_t turned_b, uint32_t site) {
  own_run((own_call){sums, own, b, 128, (int)step, true, turned_b != 0}, site);
}

void loom_sim_wgmma_end_n64(float *sums, uint32_t site) {
  (void)sums;
  own_wait(site);
}
void loom_sim_wgmma_end_n128(float *sums, uint32_t site) {
  (void)sums;
  own_wait(site);
}
