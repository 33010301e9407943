/* Products of an attention by instructions of warpgroups (wgmma of sm_90a), in the place of those
 * of warps (gpu_flash_cell.c). The own side comes from registers: a warp's fragments are what it
 * has for a warp's instruction, and so is what it gets of the sums. The other side is read from
 * shared memory: a tile of 64 rows lies there in parts of 64 columns, in lines of 128 bytes whose
 * pieces change places as slabs of products have it, which is the swizzle of 128 bytes.
 *
 * The steps of a product are begun one after the other, and waited for at its end. Its sums are in
 * memory of the thread as far as this code is concerned (gpu_wgmma.c).
 */
#include "passes/gpu_flash.h"

#include <stdio.h>

#define GROUP_LINES 64 /* elements of a line: rows of a tile, and columns of a part of one */

static MlirValue group_sum(lower *l, MlirValue sums, int i) {
  loom_builder b = alone_here(l);
  return i ? lane_address(&b, sums, lower_int(l, i).v, LOOM_F32) : sums;
}

/* Begins 16 steps of the depth of a product with so many columns. */
static void group_step(lower *l, const gpu_flash *f, MlirValue sums, int columns, MlirValue own,
                       MlirValue part, int step, bool turned) {
  char name[40];
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), ptr = mlirValueGetType(sums);
  MlirType types[] = {ptr, mlirValueGetType(own), ptr, i32, i32, i32};
  MlirValue operands[] = {sums,
                          own,
                          part,
                          loom_build_int(&b, i32, step),
                          loom_build_int(&b, i32, turned),
                          loom_build_int(&b, i32, l->team.sites++)};
  snprintf(name, sizeof name, "loom_gpu_wgmma_own_n%d_%s", columns,
           f->dot.dtype == LOOM_BF16 ? "bf16" : "f16");
  gpu_call(&b, l->kernel->op, name, 6, types, operands, (MlirType){NULL});
}

static void group_end(lower *l, MlirValue sums, int columns) {
  char name[40];
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), types[] = {mlirValueGetType(sums), i32};
  MlirValue operands[] = {sums, loom_build_int(&b, i32, l->team.sites++)};
  snprintf(name, sizeof name, "loom_gpu_wgmma_end_n%d", columns);
  gpu_call(&b, l->kernel->op, name, 2, types, operands, (MlirType){NULL});
}

/* Where 64 columns of a tile lie. */
static MlirValue group_part(lower *l, const flash_job *j, MlirValue offset, int part) {
  loom_builder b = alone_here(l);
  MlirValue at = alone_op(l, "arith.addi", offset, (int64_t)part * GROUP_LINES * GROUP_LINES * 2);
  b = alone_here(l);
  return lane_address(&b, j->memory, at, LOOM_I8);
}

/* Does an instruction have so many columns of results? */
static bool group_columns(int cells) {
  return cells * FLASH_SIDE == GROUP_LINES || cells * FLASH_SIDE == 2 * GROUP_LINES;
}

bool gpu_flash_group(const lower_kernel *kernel, const gpu_flash *f) {
  MlirAttribute set = loom_option(kernel->op, loom_mark_matrix);
  bool asked =
      set.ptr && mlirAttributeIsAString(set) && loom_str_is(mlirStringAttrGetValue(set), "wgmma");
  bool depth = !f->op.gradient || group_columns(f->columns[0]);
  return asked && f->across == 1 && f->other == GROUP_LINES && f->length >= GROUP_LINES && depth &&
         group_columns(f->columns[1]);
}

void gpu_flash_group_multiply(lower *l, const flash_job *j, MlirValue offset, int steps,
                              const MlirValue *own, MlirValue *scores) {
  const gpu_flash *f = j->f;
  int count = f->cells * gpu_flash_values(f), part_steps = GROUP_LINES / FLASH_SIDE;
  MlirValue sums = gpu_sums_memory(l, count), part = {NULL};
  for (int i = 0; i < count; i++) {
    MlirValue at = group_sum(l, sums, i);
    loom_builder b = alone_here(l);
    lane_store(&b, lane_const_float(&b, mlirF32TypeGet(b.ctx), 0), at, LOOM_F32, (MlirValue){NULL});
  }
  for (int step = 0; step < steps && !l->failed; step++) {
    if (step % part_steps == 0) part = group_part(l, j, offset, step / part_steps);
    group_step(l, f, sums, GROUP_LINES, own[step], part, step % part_steps, false);
  }
  group_end(l, sums, GROUP_LINES);
  for (int i = 0; i < count; i++) {
    MlirValue at = group_sum(l, sums, i);
    loom_builder b = alone_here(l);
    scores[i] = lane_load(&b, at, LOOM_F32, 1, (MlirValue){NULL});
  }
}

void gpu_flash_group_weigh(lower *l, const flash_job *j, MlirValue offset, int columns,
                           const MlirValue *weights, MlirValue *results) {
  const gpu_flash *f = j->f;
  int count = columns * gpu_flash_values(f), values = gpu_flash_values(f);
  MlirValue sums = gpu_sums_memory(l, count), part = group_part(l, j, offset, 0);
  for (int i = 0; i < count; i++) {
    MlirValue at = group_sum(l, sums, i);
    loom_builder b = alone_here(l);
    lane_store(&b, results[i], at, LOOM_F32, (MlirValue){NULL});
  }
  for (int step = 0; step < f->cells && !l->failed; step++) {
    MlirValue own = gpu_flash_pack(l, f, weights + step * values);
    group_step(l, f, sums, columns * FLASH_SIDE, own, part, step, true);
  }
  group_end(l, sums, columns * FLASH_SIDE);
  for (int i = 0; i < count; i++) {
    MlirValue at = group_sum(l, sums, i);
    loom_builder b = alone_here(l);
    results[i] = lane_load(&b, at, LOOM_F32, 1, (MlirValue){NULL});
  }
}
