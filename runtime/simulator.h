/* The simulator of a GPU, for what runs simulated kernels, and for what they call.
 *
 * Sections by file.
 */
#ifndef LOOM_SIMULATOR_H
#define LOOM_SIMULATOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/plan_format.h"

/* ---- sim.c: kernels for a GPU, every thread a fiber -------------------------------------------
 */

/* Which order threads and blocks run in; 0: that of their numbers. Before a launch. */
void loom_sim_set_seed(uint64_t seed);
/* Takes what a kernel did that no GPU would forgive, the first since the last call: a text, and the
 * number of the access among the plan's sites (-1: none). False: nothing. */
bool loom_sim_take_fault(char *text, size_t size, int64_t *site);
/* Counts what kernels ask of memory from now on. loom_sim_take_counts takes those of one
 * kernel, in the order of first launches; false: there is none. Index 0: loads, 1: stores. */
typedef struct loom_sim_counts {
  char name[128];
  uint64_t blocks, barriers, requests[2], sectors[2], bytes[2];
  uint64_t shared, conflicts; /* requests of shared memory, and passes that they take besides */
  uint64_t boxed;             /* bytes that copies of boxes have read */
  uint64_t matrix;            /* products of matrices, each of a warp */
} loom_sim_counts;
void loom_sim_count(bool on);
bool loom_sim_take_counts(loom_sim_counts *out);

/* What simulated kernels call (targets/sim/emit.c, passes/gpu.def). A stage: `kernel` is run by the
 * blocks [begin, end) of `threads` threads where `blocks` is set, by a thread a chunk elsewhere. */
uint32_t loom_sim_launch(void *kernel, const char *name, uint32_t blocks, uint32_t threads,
                         uint32_t shared, const struct loom_tensor_map *maps, uint32_t map_count,
                         void *const *buffers, const uint64_t *params, void *scratch, int64_t begin,
                         int64_t end);
/* A thread is about to access memory. `code`: the number of the site, and bit 0 for a write. */
void loom_sim_access(const void *pointer, uint32_t bytes, uint32_t code);
uint32_t loom_sim_thread(void);
uint32_t loom_sim_block(void);
void loom_sim_barrier(uint32_t site);
void loom_sim_barrier_part(uint32_t site);
void loom_sim_registers_give(uint32_t site);
void loom_sim_registers_take(uint32_t site);
uint32_t loom_sim_shuffle_xor(uint32_t value, uint32_t mask, uint32_t site);
uint32_t loom_sim_shuffle_wave_xor(uint32_t value, uint32_t mask, uint32_t site);
float loom_sim_exp2(float x);
uint32_t loom_sim_pack_bf16(float low, float high);
uint32_t loom_sim_pack_f16(float low, float high);
void *loom_sim_shared(void);

/* ---- sim_copy.c ---- */

/* Starts a copy from device memory to shared memory: `bytes` (0 to 4, 8 or 16), then zeros. */
void loom_sim_copy4(void *to, const void *from, uint32_t bytes);
void loom_sim_copy8(void *to, const void *from, uint32_t bytes);
void loom_sim_copy16(void *to, const void *from, uint32_t bytes);
/* The thread's copies since the last call are a group. */
void loom_sim_copy_commit(void);
/* Waits for all groups of the thread, or for all but the last one. */
void loom_sim_copy_wait_all(void);
void loom_sim_copy_wait_older(void);

/* ---- sim_phase.c: barriers in memory, and copies of boxes that they count ---- */

void loom_sim_mbarrier_init(const void *at, uint32_t count);
void loom_sim_mbarrier_arrive(const void *at);
/* The same, and so many bytes are on their way. */
void loom_sim_mbarrier_expect(const void *at, uint32_t bytes);
/* Waits until the phase of this parity is over. */
void loom_sim_mbarrier_wait(const void *at, uint32_t parity);
void loom_sim_map_copy(void *to, const void *map, int32_t at, int32_t line, int32_t batch,
                       const void *barrier);

/* What the simulator has in the place of a tensor map of the driver. */
typedef struct loom_sim_map {
  uint64_t magic, address;
  struct loom_tensor_map map; /* whose numbers are known */
} loom_sim_map;
/* False: no driver makes such a map. */
bool loom_sim_map_make(loom_sim_map *out, const struct loom_tensor_map *map, uint64_t address);

/* ---- sim_matrix.c: what the threads of a warp do together to matrices ---- */

typedef uint32_t loom_u32x2 __attribute__((vector_size(8)));
typedef uint32_t loom_u32x4 __attribute__((vector_size(16)));
typedef uint32_t loom_u32x8 __attribute__((vector_size(32)));
typedef float loom_f32x4 __attribute__((vector_size(16)));
typedef float loom_f32x8 __attribute__((vector_size(32)));
typedef double loom_f64x2 __attribute__((vector_size(16)));
typedef double loom_f64x4 __attribute__((vector_size(32)));
#define LOOM_WIDE __attribute__((target("avx"))) /* vectors of 32 bytes are passed in registers */

/* ldmatrix: four matrices of 8 x 8 halves, whose lines begin where the threads say. */
loom_u32x4 loom_sim_ldmatrix(const void *line, uint32_t site);
loom_u32x4 loom_sim_ldmatrix_turned(const void *line, uint32_t site);
/* Fragments of a and b times each other plus c, in the order of NVIDIA's mma, AMD's MFMA (waves of
 * 64 threads) and AMD's WMMA. */
loom_f32x4 loom_sim_mma_bf16(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site);
loom_f32x4 loom_sim_mma_f16(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site);
loom_f32x4 loom_sim_mma_tf32(loom_u32x4 a, loom_u32x2 b, loom_f32x4 c, uint32_t site);
loom_u32x4 loom_sim_mma_s8(loom_u32x4 a, loom_u32x2 b, loom_u32x4 c, uint32_t site);
loom_f64x2 loom_sim_mma_f64(double a, double b, loom_f64x2 c, uint32_t site);
loom_f32x4 loom_sim_mfma_bf16(loom_u32x2 a, loom_u32x2 b, loom_f32x4 c, uint32_t site);
loom_f32x4 loom_sim_mfma_f16(loom_u32x2 a, loom_u32x2 b, loom_f32x4 c, uint32_t site);
/* A warpgroup's sums, rows and columns in shared memory (sim_group.c). */
void loom_sim_wgmma_bf16(float *sums, const void *a, const void *b, uint32_t site);
void loom_sim_wgmma_f16(float *sums, const void *a, const void *b, uint32_t site);
void loom_sim_wgmma_fence(void);
void loom_sim_leave(void); /* at the end of a thread's work: nothing */
/* 128 bytes of the depth, of 64 rows and 128 or 256 columns; they are under way until they are
 * waited for. */
#define LOOM_SIM_WGMMA(NAME)                                                                       \
  void loom_sim_wgmma_##NAME(float *sums, const void *a, const void *b, uint32_t turned_a,         \
                             uint32_t turned_b, uint32_t site)
LOOM_SIM_WGMMA(n128_bf16);
LOOM_SIM_WGMMA(n128_f16);
LOOM_SIM_WGMMA(n128_tf32);
LOOM_SIM_WGMMA(n128_s8);
LOOM_SIM_WGMMA(n256_bf16);
LOOM_SIM_WGMMA(n256_f16);
LOOM_SIM_WGMMA(n256_tf32);
LOOM_SIM_WGMMA(n256_s8);
/* All but the last call of the thread are done; or all are. */
void loom_sim_wgmma_wait_older(uint32_t site);
void loom_sim_wgmma_wait_n128(float *sums, uint32_t site);
void loom_sim_wgmma_wait_n256(float *sums, uint32_t site);
void loom_sim_wgmma_wait_n128_s32(float *sums, uint32_t site);
void loom_sim_wgmma_wait_n256_s32(float *sums, uint32_t site);
/* 16 steps of the depth, of rows in registers, as fragments of mma; then the end of all. */
void loom_sim_wgmma_own_n64_bf16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                 uint32_t turned_b, uint32_t site);
void loom_sim_wgmma_own_n64_f16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                uint32_t turned_b, uint32_t site);
void loom_sim_wgmma_own_n128_bf16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                  uint32_t turned_b, uint32_t site);
void loom_sim_wgmma_own_n128_f16(float *sums, loom_u32x4 own, const void *b, uint32_t step,
                                 uint32_t turned_b, uint32_t site);
void loom_sim_wgmma_end_n64(float *sums, uint32_t site);
void loom_sim_wgmma_end_n128(float *sums, uint32_t site);
LOOM_WIDE loom_f64x4 loom_sim_mfma_f64(double a, double b, loom_f64x4 c, uint32_t site);
LOOM_WIDE loom_f32x8 loom_sim_wmma_bf16(loom_u32x8 a, loom_u32x8 b, loom_f32x8 c, uint32_t site);
LOOM_WIDE loom_f32x8 loom_sim_wmma_f16(loom_u32x8 a, loom_u32x8 b, loom_f32x8 c, uint32_t site);

#endif
