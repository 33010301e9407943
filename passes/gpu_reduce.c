/* The end of a reduction whose elements a team has divided: a tree over the members.
 *
 *   shuffles within each warp, by 16, 8, 4, 2, 1: every thread has the warp's values
 *   a block: the first thread of each warp writes them to shared memory; barrier; every thread
 *   combines those of all warps, in their order; barrier, so that the memory can be used again
 *
 * The tree depends on the team's size alone, so that a result has the same bits on every GPU.
 */
#include "passes/gpu.h"

#define REDUCE_SLOT 8 /* bytes of a carried value in shared memory */

static MlirType reduce_i32(const lower *l) { return mlirIntegerTypeGet(l->kernel->ctx, 32); }

/* ---- shuffles, of 32 bits each ---- */

static MlirValue reduce_exchange(lower *l, loom_builder *b, MlirValue value, int mask) {
  MlirType i32 = reduce_i32(l), types[] = {i32, i32, i32};
  MlirValue operands[] = {value, loom_build_int(b, i32, mask),
                          loom_build_int(b, i32, l->team.sites++)};
  return gpu_call(b, l->kernel->op, "loom_gpu_shuffle_xor", 3, types, operands, i32);
}

static unsigned reduce_bits(MlirType type) {
  if (mlirTypeIsAInteger(type)) return mlirIntegerTypeGetWidth(type);
  return mlirTypeIsAF64(type) ? 64 : mlirTypeIsAF32(type) ? 32 : 16;
}

static MlirValue reduce_shuffle(lower *l, loom_builder *b, MlirValue value, int mask) {
  MlirType type = mlirValueGetType(value), i32 = reduce_i32(l);
  unsigned bits = reduce_bits(type);
  MlirType integer = mlirIntegerTypeGet(b->ctx, bits);
  bool real = !mlirTypeIsAInteger(type);
  if (real) value = loom_build1(b, "arith.bitcast", value, integer);
  if (bits == 64) {
    MlirValue half = loom_build_int(b, integer, 32);
    MlirValue high = lane_op2(b, "arith.shrui", value, half);
    MlirValue low = reduce_exchange(l, b, loom_build1(b, "arith.trunci", value, i32), mask);
    high = reduce_exchange(l, b, loom_build1(b, "arith.trunci", high, i32), mask);
    high = lane_op2(b, "arith.shli", loom_build1(b, "arith.extui", high, integer), half);
    value = lane_op2(b, "arith.ori", high, loom_build1(b, "arith.extui", low, integer));
  } else if (bits < 32) {
    value = reduce_exchange(l, b, loom_build1(b, "arith.extui", value, i32), mask);
    value = loom_build1(b, "arith.trunci", value, integer);
  } else {
    value = reduce_exchange(l, b, value, mask);
  }
  return real ? loom_build1(b, "arith.bitcast", value, type) : value;
}

/* ---- shared memory ---- */

/* Where carried value `c` of a warp lies. */
static MlirValue reduce_slot(lower *l, loom_builder *b, const reduce_run *run, MlirValue memory,
                             MlirValue warp, int c) {
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
  MlirValue size = loom_build_int(b, i64, run->count * REDUCE_SLOT);
  MlirValue at = lane_op2(b, "arith.muli", warp, size);
  at = lane_op2(b, "arith.addi", at, loom_build_int(b, i64, c * REDUCE_SLOT));
  return lane_address(b, memory, at, LOOM_I8);
}

typedef struct reduce_write {
  const reduce_run *run;
  const MlirValue *accs;
  MlirValue memory, warp;
} reduce_write;

static void reduce_write_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_write *w = user;
  loom_builder b = lower_at_level(l, l->depth);
  for (int c = 0; c < w->run->count; c++)
    lane_store(&b, w->accs[c], reduce_slot(l, &b, w->run, w->memory, w->warp, c), w->run->dtypes[c],
               (MlirValue){NULL});
}

static void reduce_block(lower *l, const reduce_run *run, MlirValue *accs) {
  enum { WARPS = GPU_BLOCK / GPU_WARP };
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue memory = gpu_shared(l, &b, WARPS * run->count * REDUCE_SLOT);
  MlirValue size = loom_build_int(&b, i64, GPU_WARP), zero = loom_build_int(&b, i64, 0);
  MlirValue lane = lane_op2(&b, "arith.remui", l->team.member, size);
  reduce_write write = {run, accs, memory, lane_op2(&b, "arith.divui", l->team.member, size)};
  lower_if(l, lane_cmpi(&b, "eq", lane, zero), reduce_write_body, &write);
  gpu_barrier(l, &b);
  for (int w = 0; w < WARPS; w++) {
    MlirValue others[16] = {{NULL}}, warp = loom_build_int(&b, i64, w);
    for (int c = 0; c < run->count; c++)
      others[c] = lane_load(&b, reduce_slot(l, &b, run, memory, warp, c), run->dtypes[c], 1,
                            (MlirValue){NULL});
    if (w == 0)
      for (int c = 0; c < run->count; c++)
        accs[c] = others[c];
    else
      reduce_merge(&b, run, accs, others, accs);
  }
  gpu_barrier(l, &b);
}

void gpu_reduce(lower *l, const reduce_run *run, MlirValue *accs) {
  loom_builder b = lower_at_level(l, l->depth);
  for (int mask = GPU_WARP / 2; mask; mask /= 2) {
    MlirValue others[16] = {{NULL}};
    for (int c = 0; c < run->count; c++)
      others[c] = reduce_shuffle(l, &b, accs[c], mask);
    reduce_merge(&b, run, accs, others, accs);
  }
  if (l->team.size > GPU_WARP) reduce_block(l, run, accs);
}
