/* Products on a GPU by instructions on matrices: each warp of a block computes a part of the tile.
 *
 *   for each slab of the depth:
 *     wait for its copies; barrier
 *     the copies of a later slab begin, and loads of the next one into registers, while
 *     each warp multiplies: fragments of both operands, then products of all of them
 *     what was loaded goes from registers to shared memory
 *   the sums go to shared memory, part after part, and from there to the epilogue
 *
 * Shared memory has a place for the slab that is multiplied and for those that are on their way:
 * one where any operand comes through registers, two where both are copied without (gpu_slab.c). A
 * slab comes to the place of the one that was multiplied before, which all threads have left at the
 * barrier, so that one barrier a slab is enough.
 *
 * A warpgroup multiplies whole slabs, which it reads from shared memory itself (gpu_wgmma.c).
 *
 * Sums of halves and of TF32 are f32, of int8 int32. In which order an instruction adds up its
 * steps is the GPU's matter.
 */
#include "passes/gpu_tile.h"

#define MMA_STAGES 3
/* With so many pieces of operands a thread, registers of two blocks of a multiprocessor are enough
 * for it. ptxas counts with that, or with one block, instead of a number of its own with which it
 * may spill. */
#define MMA_FEW_PIECES 12
#define MMA_PRODUCTS 32 /* of a warp, at most */

typedef struct mma_job {
  gpu_block *block;
  const dot_plan *p;
  const gpu_matrix *matrix;
  gpu_slab slabs[2];
  int stages, slab;  /* slabs in shared memory at once; elements of one */
  int tall, wide;    /* products of a warp down and across */
  MlirValue group;   /* the memory of a warpgroup's sums, or null */
  MlirValue warp[2]; /* its first row and column in the tile */
  /* Within the loop: */
  MlirValue next, offset; /* number of a slab on its way, and its place: bytes */
} mma_job;

/* ---- a block ---- */

/* Slabs that fit. */
static int mma_stages(const mma_job *job) {
  int size = (int)loom_dtype_size(job->p->factor);
  bool async = job->slabs[0].async && job->slabs[1].async;
  return async && MMA_STAGES * job->slab * size <= TILE_SHARED ? MMA_STAGES : 2;
}

static void mma_warps(lower *l, mma_job *job) {
  const gpu_tile *tile = &job->p->block;
  int across = tile->columns / tile->wide, threads = job->matrix->threads;
  MlirValue down = tile_number(l, job->block->thread, threads * across, GPU_BLOCK);
  MlirValue beside = tile_number(l, job->block->thread, threads, across);
  job->warp[0] = dot_op(l, "arith.muli", down, tile->tall);
  job->warp[1] = dot_op(l, "arith.muli", beside, tile->wide);
}

/* Parts of the sums that go to shared memory at once: products down. */
static int mma_part(const mma_job *job) {
  const gpu_tile *tile = &job->p->block;
  int row = (tile->columns + job->matrix->pad) * (int)loom_dtype_size(job->p->work);
  int part = job->tall, warps = tile->rows / tile->tall;
  while (part > 1 && part * warps * job->matrix->m * row > TILE_SHARED)
    part /= 2;
  return part;
}

static int mma_part_rows(const mma_job *job) {
  return mma_part(job) * job->matrix->m * (job->p->block.rows / job->p->block.tall);
}

static void mma_open(lower *l, mma_job *job) {
  const dot_plan *p = job->p;
  int size = (int)loom_dtype_size(p->factor), row = p->block.columns + job->matrix->pad;
  for (int s = 0; s < 2; s++) {
    gpu_slab_plan(l->kernel, p, s, &job->slabs[s]);
    job->slabs[s].offset = job->slab;
    job->slab += job->slabs[s].lines * job->slabs[s].length;
  }
  job->stages = mma_stages(job);
  bool few = job->slabs[0].pieces + job->slabs[1].pieces <= MMA_FEW_PIECES;
  l->team.blocks = few ? 2 : 1;
  gpu_block_open(l, job->block);
  mma_warps(l, job);
  int slabs = job->stages * job->slab * size;
  int rows = gpu_is_group(job->matrix) ? job->matrix->m : mma_part_rows(job);
  int sums = rows * row * (int)loom_dtype_size(p->work);
  loom_builder b = lower_at_level(l, l->depth);
  job->block->memory = gpu_shared(l, &b, slabs > sums ? slabs : sums);
  for (int s = 0; s < 2; s++) {
    gpu_slab_open(l, job->block, &job->slabs[s]);
    if (!gpu_is_group(job->matrix))
      gpu_slab_aim(l, &job->slabs[s], job->block->thread, job->warp[s]);
  }
  if (gpu_is_group(job->matrix)) job->group = gpu_group_sums(l, job->matrix);
}

/* ---- slabs ---- */

static void mma_call(lower *l, const char *name) {
  loom_builder b = lower_at_level(l, l->depth);
  gpu_call(&b, l->kernel->op, name, 0, NULL, NULL, (MlirType){NULL});
}

static bool mma_any(const mma_job *job, bool async) {
  return job->slabs[0].async == async || job->slabs[1].async == async;
}

static void mma_copy(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const mma_job *job = user;
  for (int s = 0; s < 2; s++)
    if (job->slabs[s].async) gpu_slab_copy(l, &job->slabs[s], job->next, job->offset);
}

/* The copies of slab `number`, if there is one, are a group. */
static void mma_copy_group(lower *l, mma_job *job, MlirValue number, MlirValue offset) {
  if (!mma_any(job, true)) return;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue there = lane_cmpi(&b, "slt", number, job->block->high);
  job->next = number;
  job->offset = offset;
  lower_if(l, there, mma_copy, job);
  mma_call(l, "loom_gpu_copy_commit");
}

static void mma_load(lower *l, void *user, MlirValue *out) {
  const mma_job *job = user;
  for (int s = 0; s < 2 && !l->failed; s++) {
    if (job->slabs[s].async) continue;
    gpu_slab_load(l, &job->slabs[s], job->next, out);
    out += job->slabs[s].pieces;
  }
}

static void mma_load_none(lower *l, void *user, MlirValue *out) {
  const mma_job *job = user;
  for (int s = 0; s < 2; s++) {
    if (job->slabs[s].async) continue;
    gpu_slab_zero(l, &job->slabs[s], out);
    out += job->slabs[s].pieces;
  }
}

/* The elements of slab `number` that come through registers; zeros, which nothing reads, where it
 * does not exist. */
static void mma_load_next(lower *l, mma_job *job, MlirValue number, MlirValue *out) {
  int count = 0;
  for (int s = 0; s < 2; s++)
    count += job->slabs[s].async ? 0 : job->slabs[s].pieces;
  if (!count) return;
  loom_builder b = lower_at_level(l, l->depth);
  job->next = number;
  tile_if(l, lane_cmpi(&b, "slt", number, job->block->high), count, mma_load, mma_load_none, job,
          out);
}

static void mma_store(lower *l, const mma_job *job, MlirValue offset, const MlirValue *values) {
  for (int s = 0; s < 2 && !l->failed; s++) {
    if (job->slabs[s].async) continue;
    gpu_slab_store(l, &job->slabs[s], offset, values);
    values += job->slabs[s].pieces;
  }
}

/* ---- products ---- */

static void mma_step(lower *l, mma_job *job, MlirValue offset, int depth, MlirValue *sums) {
  const gpu_matrix *m = job->matrix;
  MlirValue left[MMA_PRODUCTS], right[MMA_PRODUCTS];
  if (job->group.ptr) {
    MlirValue rows = gpu_slab_line(l, &job->slabs[0], offset, job->warp[0]);
    MlirValue columns = gpu_slab_line(l, &job->slabs[1], offset, job->warp[1]);
    gpu_group_multiply(l, m, job->group, rows, columns);
    return;
  }
  for (int i = 0; i < job->tall && !l->failed; i++)
    left[i] = gpu_slab_fragment(l, &job->slabs[0], offset, i * m->m, depth);
  for (int i = 0; i < job->wide && !l->failed; i += m->beside) {
    MlirValue both = gpu_slab_fragment(l, &job->slabs[1], offset, i * m->n, depth);
    loom_builder b = lower_at_level(l, l->depth);
    if (m->beside == 1)
      right[i] = both;
    else
      lane_halves(&b, both, &right[i], &right[i + 1]);
  }
  for (int i = 0; i < job->tall && !l->failed; i++)
    for (int j = 0; j < job->wide; j++) {
      MlirValue *sum = &sums[i * job->wide + j];
      *sum = gpu_matrix_multiply(l, m, left[i], right[j], *sum);
    }
}

/* ---- the loop over slabs ---- */

/* Values that the loop carries for a product: its sums one by one, since a vector of NVPTX may be
 * pairs of registers, which would be taken apart for each instruction; AMD's instructions have
 * vectors of registers. */
static int mma_carried(const mma_job *job) {
  if (job->group.ptr) return 0; /* they have memory of their own */
  return gpu_matrix_is_nvidia(job->matrix) ? job->matrix->sums : 1;
}

static void mma_take_apart(lower *l, const mma_job *job, const MlirValue *sums, MlirValue *out) {
  loom_builder b = lower_at_level(l, l->depth);
  int parts = mma_carried(job);
  for (int i = 0; i < job->tall * job->wide; i++)
    for (int k = 0; k < parts; k++)
      *out++ = parts == 1 ? sums[i] : lane_extract(&b, sums[i], k);
}

static void mma_put_together(lower *l, const mma_job *job, const MlirValue *values,
                             MlirValue *out) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  int parts = mma_carried(job);
  MlirValue zero = tile_zero(l, job->p, job->matrix->sums);
  for (int i = 0; i < job->tall * job->wide; i++) {
    out[i] = parts == 1 ? values[i] : zero;
    for (int k = 0; k < parts && parts > 1; k++)
      out[i] = loom_build3(&b, "llvm.insertelement", out[i], values[i * parts + k],
                           loom_build_int(&b, i32, k), mlirValueGetType(zero));
  }
}

/* Carried: the sums, then where the slabs lie: the one that is multiplied, those behind it, and the
 * place that is free. */
static void mma_slab(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  mma_job *job = user;
  int count = job->tall * job->wide * mma_carried(job);
  const MlirValue *places = carried + count;
  MlirValue number = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue values[2 * SLAB_PIECES], sums[MMA_PRODUCTS];
  MlirValue free = places[job->stages - 1];
  if (mma_any(job, true))
    mma_call(l, job->stages == 2 ? "loom_gpu_copy_wait_all" : "loom_gpu_copy_wait_older");
  if (job->group.ptr) gpu_group_fence(l);
  loom_builder b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  mma_copy_group(l, job, dot_op(l, "arith.addi", number, job->stages - 1), free);
  mma_load_next(l, job, dot_op(l, "arith.addi", number, 1), values);
  mma_put_together(l, job, carried, sums);
  for (int depth = 0; depth < job->p->block.depth && !l->failed; depth += job->matrix->k)
    mma_step(l, job, places[0], depth, sums);
  if (l->failed) return;
  mma_take_apart(l, job, sums, next);
  mma_store(l, job, free, values);
  for (int i = 0; i < job->stages; i++)
    next[count + i] = places[(i + 1) % job->stages];
}

static void mma_multiply(lower *l, mma_job *job, MlirValue *sums) {
  int count = job->tall * job->wide * mma_carried(job), size = (int)loom_dtype_size(job->p->factor);
  MlirValue values[LOWER_CARRIED], loaded[2 * SLAB_PIECES];
  for (int i = 0; i < job->tall * job->wide; i++)
    sums[i] = tile_zero(l, job->p, job->matrix->sums);
  if (tile_slabs(job->p) == 0) return;
  for (int i = 0; i < count; i++)
    values[i] = tile_zero(l, job->p, job->matrix->sums / mma_carried(job));
  for (int i = 0; i < job->stages; i++) {
    values[count + i] = tile_int(l, (int64_t)i * job->slab * size);
    MlirValue number = tile_add(l, job->block->low, i);
    if (i < job->stages - 1) mma_copy_group(l, job, number, values[count + i]);
  }
  job->next = job->block->low;
  if (tile_may_be_empty(job->p))
    mma_load_next(l, job, job->block->low, loaded);
  else
    mma_load(l, job, loaded);
  mma_store(l, job, values[count], loaded);
  lower_for(l, job->block->low, job->block->high, tile_int(l, 1), -1, count + job->stages, values,
            mma_slab, job, values);
  if (!l->failed) mma_put_together(l, job, values, sums);
}

/* ---- the epilogue ---- */

/* Part of the sums of a product, in shared memory at `base`. */
static void mma_put(lower *l, const mma_job *job, MlirValue base, int row, int column,
                    MlirValue sums) {
  static const int64_t first[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const gpu_matrix *m = job->matrix;
  int pitch = job->p->block.columns + m->pad, beside = m->sums_beside;
  for (int i = 0; i < m->sums; i += beside) {
    int64_t at = (int64_t)(row + i / beside * m->sums_step) * pitch + column;
    MlirValue ptr = tile_address(l, job->p, base, tile_int(l, at));
    loom_builder b = lower_at_level(l, l->depth);
    MlirValue value = beside == m->sums ? sums
                      : beside == 1     ? lane_extract(&b, sums, i)
                                        : lane_shuffle2(&b, sums, sums, beside, first + i);
    MlirOperation store = lane_store(&b, value, ptr, job->p->work, (MlirValue){NULL});
    tile_align(l, store, job->p->work, beside);
  }
}

/* The products down from number `first` on of all warps. */
static void mma_finish(lower *l, mma_job *job, const MlirValue *sums, int first) {
  const gpu_matrix *m = job->matrix;
  const gpu_tile *tile = &job->p->block;
  int part = mma_part(job), pitch = tile->columns + m->pad, group = part * m->m;
  loom_builder b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  MlirValue warp = dot_op(l, "arith.divui", job->warp[0], tile->tall);
  MlirValue row = matrix_value(l, m->of_sum.line, job->block->thread);
  MlirValue column = matrix_value(l, m->of_sum.at, job->block->thread);
  row = dot_add_scaled(l, row, warp, group);
  column = dot_add_scaled(l, column, job->warp[1], 1);
  MlirValue base =
      tile_address(l, job->p, job->block->memory, dot_add_scaled(l, column, row, pitch));
  for (int i = 0; i < part; i++)
    for (int j = 0; j < job->wide; j++)
      mma_put(l, job, base, i * m->m, j * m->n, sums[(first + i) * job->wide + j]);
  b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  gpu_sums all = {mma_part_rows(job), pitch, group, tile->tall, 1, first * m->m};
  gpu_block_finish(l, job->block, &all);
}

void gpu_mma_block(lower *l, gpu_block *block) {
  const dot_plan *p = block->p;
  const gpu_tile *tile = &p->block;
  mma_job job = {.block = block, .p = p, .matrix = tile->matrix};
  MlirValue sums[MMA_PRODUCTS];
  job.tall = tile->tall / tile->matrix->m;
  job.wide = tile->wide / tile->matrix->n;
  mma_open(l, &job);
  mma_multiply(l, &job, sums);
  if (job.group.ptr && !l->failed) {
    gpu_group_finish(l, block, job.matrix, job.group);
    return;
  }
  for (int first = 0; first < job.tall && !l->failed; first += mma_part(&job))
    mma_finish(l, &job, sums, first);
}
