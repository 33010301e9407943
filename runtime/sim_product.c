/* Products of a simulated warpgroup that go on while its threads do (wgmma of sm_90a, PTX ISA
 * 9.7.15): 64 rows by 128 or 256 columns by 128 bytes of the depth, four instructions in a group.
 *
 * Operands lie in shared memory in lines of 128 bytes, which begin at a multiple of 1,024 and in
 * which the bits 4 to 6 of an address are combined with the bits 7 to 9 (9.7.15.5.1, swizzling of
 * 128 bytes). A line is a row of 64 halves, 32 f32 or 128 int8; of a turned operand of halves it is
 * a step of 64 rows, and 64 such steps are 8,192 bytes, behind which come the next 64 rows. TF32
 * does without the last 13 bits of an f32.
 *
 * A group is computed when a thread of the warpgroup waits for it, which is as late as it may be,
 * of what then lies there. From its start to that wait it counts as a reader of the operands.
 */
#include <stdlib.h>
#include <string.h>

#include "graph/types.h"
#include "runtime/sim.h"

enum {
  PRODUCT_ROWS = 64,
  PRODUCT_MOST = 256,  /* columns */
  PRODUCT_STEPS = 128, /* at most */
  PRODUCT_CALLS = 4,   /* instructions of a group */
  PRODUCT_LINE = 128,
  PRODUCT_PART = 8192, /* bytes of 64 rows */
  PRODUCT_DEPTH = 4    /* groups under way, at most */
};

typedef enum product_kind { PRODUCT_BF16, PRODUCT_F16, PRODUCT_TF32, PRODUCT_S8 } product_kind;

typedef struct product_queue product_queue;

typedef struct product_call {
  product_queue *queue;
  float *sums; /* of int8: int32 */
  const uint8_t *a, *b;
  int columns;
  product_kind kind;
  bool turned[2];
} product_call;

typedef struct product_group {
  product_call call;
  float *sums[SIM_WAVE];
} product_group;

struct product_queue {
  product_group groups[PRODUCT_DEPTH]; /* the oldest one first */
  uint32_t count, started;
  sim_sums sums;
};

struct sim_products {
  product_queue of[SIM_GROUPS];
  double a[PRODUCT_ROWS][PRODUCT_STEPS], b[PRODUCT_MOST][PRODUCT_STEPS]; /* of what is computed */
};

void sim_products_fini(sim_block *block) {
  free(block->products);
  block->products = NULL;
}

void sim_products_end(const sim_block *block) {
  for (int g = 0; block->products && g < SIM_GROUPS; g++)
    if (block->products->of[g].count)
      sim_fault(block, -1, "warpgroup %d ends, and has not waited for a product", g);
}

static product_queue *product_queue_of(const sim_block *block) {
  return &block->products->of[block->thread / SIM_WAVE];
}

/* ---- sums ---- */

void sim_sums_take(sim_sums *sums, int thread, float *at, int count) {
  if (sums->count && thread == 0 && sums->at[0] != at)
    sim_fault(sim_current(), -1,
              "a warpgroup begins a product, and has not waited for another one");
  if (sums->count && sums->at[thread] == at) return;
  sums->at[thread] = at;
  memcpy(sums->kept[thread], at, (size_t)count * sizeof *at);
  memset(at, 0xff, (size_t)count * sizeof *at);
  if (thread == SIM_WAVE - 1) sums->count = count;
}

void sim_sums_give(sim_sums *sums) {
  for (int t = 0; t < SIM_WAVE && sums->count; t++)
    memcpy(sums->at[t], sums->kept[t], (size_t)sums->count * sizeof(float));
  sums->count = 0;
}

/* ---- the product ---- */

static int product_size(product_kind kind) {
  return kind == PRODUCT_TF32 ? 4 : kind == PRODUCT_S8 ? 1 : 2;
}

static double product_element(const uint8_t *base, int row, int step, const product_call *call,
                              int side) {
  int offset = call->turned[side] ? row / PRODUCT_ROWS * PRODUCT_PART + step * PRODUCT_LINE +
                                        row % PRODUCT_ROWS * 2
                                  : row * PRODUCT_LINE + step * product_size(call->kind);
  const uint8_t *at = base + (offset ^ ((offset >> 7 & 7) << 4));
  uint16_t half;
  if (call->kind == PRODUCT_S8) return (int8_t)*at;
  if (call->kind == PRODUCT_TF32) return sim_tf32(at);
  memcpy(&half, at, sizeof half);
  return sim_half(half, call->kind == PRODUCT_F16);
}

/* Sums of int8 are exact, and wrap. */
static void product_add_whole(float *at, const double *x, const double *y, int steps) {
  uint32_t sum;
  memcpy(&sum, at, sizeof sum);
  for (int k = 0; k < steps; k++)
    sum += (uint32_t)((int32_t)x[k] * (int32_t)y[k]);
  memcpy(at, &sum, sizeof sum);
}

/* Sums are as in sim_matrix.c: exact products, rounded once for each instruction. */
static void product_compute(sim_products *p, const product_group *g) {
  double (*a)[PRODUCT_STEPS] = p->a, (*b)[PRODUCT_STEPS] = p->b;
  const product_call *call = &g->call;
  int steps = PRODUCT_LINE / product_size(call->kind), part = steps / PRODUCT_CALLS;
  for (int k = 0; k < steps; k++) {
    for (int r = 0; r < PRODUCT_ROWS; r++)
      a[r][k] = product_element(call->a, r, k, call, 0);
    for (int c = 0; c < call->columns; c++)
      b[c][k] = product_element(call->b, c, k, call, 1);
  }
  for (int t = 0; t < SIM_WAVE; t++)
    for (int i = 0; i < call->columns / 2; i++) {
      float *sum = &g->sums[t][i];
      const double *x = a[sim_sum_row(t, i)], *y = b[sim_sum_column(t, i)];
      if (call->kind == PRODUCT_S8) product_add_whole(sum, x, y, steps);
      for (int first = 0; first < steps && call->kind != PRODUCT_S8; first += part)
        sim_add_products(sum, x + first, y + first, part);
    }
}

/* ---- its start ---- */

static void product_start(void *const *calls) {
  sim_block *block = sim_current();
  const product_call *first = calls[0];
  product_queue *q = first->queue;
  if (q->count == PRODUCT_DEPTH) {
    sim_fault(block, -1, "a warpgroup has more than %d products under way", PRODUCT_DEPTH);
    return;
  }
  product_group *g = &q->groups[q->count++];
  g->call = *first;
  for (int t = 0; t < SIM_WAVE; t++) {
    g->sums[t] = ((const product_call *)calls[t])->sums;
    sim_sums_take(&q->sums, t, g->sums[t], g->call.columns / 2);
  }
  q->started++;
  for (int i = 0; i < PRODUCT_CALLS; i++)
    sim_count_matrix(block);
}

/* Each thread looks at its share of what all read. */
static bool product_read(sim_block *block, const uint8_t *base, int rows) {
  uint32_t share = (uint32_t)rows * PRODUCT_LINE / SIM_WAVE;
  uint32_t group = (uint32_t)block->thread / SIM_WAVE;
  if ((uintptr_t)base % 1024)
    sim_fault(block, -1, "a matrix in shared memory is not at a multiple of 1,024 bytes");
  return sim_memory_read_as(block, base + (uint32_t)block->thread % SIM_WAVE * share, share,
                            (uint32_t)block->threads + group, product_queue_of(block)->started + 1);
}

static void product_run(product_call call, uint32_t site) {
  sim_block *block = sim_current();
  if (!block->products) block->products = calloc(1, sizeof *block->products);
  if (!block->products) {
    block->status |= LOOM_STATUS_MEMORY;
    return;
  }
  call.queue = product_queue_of(block);
  if (product_read(block, call.a, PRODUCT_ROWS) && product_read(block, call.b, call.columns))
    sim_together("matrix product", site, SIM_WAVE, product_start, &call);
}

/* ---- waits ---- */

static void product_finish(product_queue *q, uint32_t left) {
  uint32_t done = q->count > left ? q->count - left : 0;
  int sums = q->sums.count;
  sim_sums_give(&q->sums);
  for (uint32_t i = 0; i < done; i++)
    product_compute(sim_current()->products, &q->groups[i]);
  memmove(q->groups, q->groups + done, (q->count - done) * sizeof *q->groups);
  q->count -= done;
  for (int t = 0; t < SIM_WAVE && q->count; t++)
    sim_sums_take(&q->sums, t, q->sums.at[t], sums);
}

static void product_finish_older(void *const *calls) { product_finish(calls[0], 1); }

static void product_finish_all(void *const *calls) { product_finish(calls[0], 0); }

static void product_wait(uint32_t site, sim_exchange finish) {
  sim_block *block = sim_current();
  if (!block->products) return;
  product_queue *q = product_queue_of(block);
  sim_together("wait for products", site, SIM_WAVE, finish, q);
  sim_clocks_learn(block, (uint32_t)(block->threads + block->thread / SIM_WAVE),
                   q->started - q->count);
}

/* ---- the primitives (passes/gpu.def) ---- */

#define PRODUCT_OF(NAME, COLUMNS, KIND)                                                            \
  void loom_sim_wgmma_n##COLUMNS##_##NAME(float *sums, const void *a, const void *b,               \
                                          uint32_t turned_a, uint32_t turned_b, uint32_t site) {   \
    bool turned[] = {turned_a != 0, turned_b != 0};                                                \
    product_run((product_call){NULL, sums, a, b, COLUMNS, KIND, {turned[0], turned[1]}}, site);    \
  }
PRODUCT_OF(bf16, 128, PRODUCT_BF16)
PRODUCT_OF(bf16, 256, PRODUCT_BF16)
PRODUCT_OF(f16, 128, PRODUCT_F16)
PRODUCT_OF(f16, 256, PRODUCT_F16)
PRODUCT_OF(tf32, 128, PRODUCT_TF32)
PRODUCT_OF(tf32, 256, PRODUCT_TF32)
PRODUCT_OF(s8, 128, PRODUCT_S8)
PRODUCT_OF(s8, 256, PRODUCT_S8)

void loom_sim_leave(void) {}

void loom_sim_wgmma_wait_older(uint32_t site) { product_wait(site, product_finish_older); }

void loom_sim_wgmma_wait_n128(float *sums, uint32_t site) {
  (void)sums;
  product_wait(site, product_finish_all);
}
void loom_sim_wgmma_wait_n256(float *sums, uint32_t site) {
  (void)sums;
  product_wait(site, product_finish_all);
}
void loom_sim_wgmma_wait_n128_s32(float *sums, uint32_t site) {
  (void)sums;
  product_wait(site, product_finish_all);
}
void loom_sim_wgmma_wait_n256_s32(float *sums, uint32_t site) {
  (void)sums;
  product_wait(site, product_finish_all);
}
