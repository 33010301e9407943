/* Products by instructions of warpgroups (wgmma of sm_90a): four warps multiply 64 rows by 128
 * columns, which they read from shared memory themselves.
 *
 * A line of a slab is 64 bytes, 32 steps of the depth, and its pieces of 16 bytes lie at place
 * p ^ line / 2 % 4 (gpu_slab.c). That is the swizzle of 64 bytes that a descriptor names: bits 4
 * and 5 of an address are combined with bits 7 and 8. So slabs begin at multiples of 512 bytes.
 *
 * The sums are in memory of the thread as far as this code is concerned, at constant places; LLVM
 * makes registers of it. In the code of a target one asm statement fences, multiplies and waits: so
 * nothing can come between, which would make ptxas wait after each instruction.
 */
#include "passes/gpu_tile.h"

#include <stdio.h>

bool gpu_is_group(const gpu_matrix *m) { return loom_str_is(loom_str(m->set), "wgmma"); }

static MlirValue group_at(lower *l, MlirValue sums, int i) {
  loom_builder b = lower_at_level(l, l->depth);
  return i ? lane_address(&b, sums, lower_int(l, i).v, LOOM_F32) : sums;
}

/* In front of all else: LLVM makes registers of what the entry block of a function allocates. */
MlirValue gpu_sums_memory(lower *l, int sums) {
  loom_builder b = loom_builder_before(loom_def(l->status));
  MlirType f32 = mlirF32TypeGet(b.ctx), ptr = mlirTypeParseGet(b.ctx, loom_str("!llvm.ptr"));
  loom_named element = {"elem_type", mlirTypeAttrGet(f32)};
  MlirValue count = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 32), sums);
  return loom_result(loom_build(&b, "llvm.alloca", 1, &count, 1, &ptr, 1, &element), 0);
}

MlirValue gpu_group_sums(lower *l, const gpu_matrix *m) {
  MlirValue sums = gpu_sums_memory(l, m->sums);
  MlirType f32 = mlirF32TypeGet(l->kernel->ctx);
  for (int i = 0; i < m->sums; i++) {
    MlirValue at = group_at(l, sums, i);
    loom_builder here = lower_at_level(l, l->depth);
    lane_store(&here, lane_const_float(&here, f32, 0), at, LOOM_F32, (MlirValue){NULL});
  }
  return sums;
}

void gpu_group_fence(lower *l) {
  loom_builder b = lower_at_level(l, l->depth);
  gpu_call(&b, l->kernel->op, "loom_gpu_wgmma_fence", 0, NULL, NULL, (MlirType){NULL});
}

void gpu_group_multiply(lower *l, const gpu_matrix *m, MlirValue sums, MlirValue rows,
                        MlirValue columns) {
  char name[32];
  loom_builder b = lower_at_level(l, l->depth);
  MlirType ptr = mlirValueGetType(sums), i32 = mlirIntegerTypeGet(b.ctx, 32);
  MlirType types[] = {ptr, ptr, ptr, i32};
  MlirValue operands[] = {sums, rows, columns, loom_build_int(&b, i32, l->team.sites++)};
  snprintf(name, sizeof name, "loom_gpu_%s", m->name);
  gpu_call(&b, l->kernel->op, name, 4, types, operands, (MlirType){NULL});
}

typedef struct group_job {
  gpu_block *block;
  const gpu_matrix *matrix;
  MlirValue sums;
} group_job;

/* The thread's sums, `sums_beside` at a time, to their places in the warpgroup's rows. */
static void group_put(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const group_job *job = user;
  const gpu_matrix *m = job->matrix;
  const dot_plan *p = job->block->p;
  int pitch = p->block.columns + m->pad;
  MlirValue row = matrix_value(l, m->of_sum.line, job->block->thread);
  MlirValue column = matrix_value(l, m->of_sum.at, job->block->thread);
  MlirValue base = tile_address(l, p, job->block->memory, dot_add_scaled(l, column, row, pitch));
  for (int i = 0; i < m->sums; i += m->sums_beside) {
    int down = i % m->sums_group / m->sums_beside * m->sums_step, across = i / m->sums_group * 8;
    MlirValue to = tile_address(l, p, base, tile_int(l, (int64_t)down * pitch + across));
    loom_builder b = lower_at_level(l, 0);
    MlirValue values = lane_const_float(&b, lane_type(b.ctx, LOOM_F32, m->sums_beside), 0);
    for (int k = 0; k < m->sums_beside; k++) {
      MlirValue from = group_at(l, job->sums, i + k);
      b = lower_at_level(l, l->depth);
      values = lane_insert(&b, values, lane_load(&b, from, LOOM_F32, 1, (MlirValue){NULL}), k);
    }
    MlirOperation store = lane_store(&b, values, to, p->work, (MlirValue){NULL});
    tile_align(l, store, p->work, m->sums_beside);
  }
}

void gpu_group_finish(lower *l, gpu_block *block, const gpu_matrix *m, MlirValue sums) {
  const gpu_tile *tile = &block->p->block;
  group_job job = {block, m, sums};
  MlirValue number = tile_number(l, block->thread, m->threads, GPU_BLOCK);
  for (int group = 0; group < GPU_BLOCK / m->threads && !l->failed; group++) {
    loom_builder b = lower_at_level(l, l->depth);
    gpu_barrier(l, &b);
    lower_if(l, lane_cmpi(&b, "eq", number, tile_int(l, group)), group_put, &job);
    b = lower_at_level(l, l->depth);
    gpu_barrier(l, &b);
    gpu_sums all = {m->m, tile->columns + m->pad, m->m, m->m, 1, group * m->m};
    gpu_block_finish(l, block, &all);
  }
}
