/* Products on a GPU with warps of two sorts (sm_90a), of halves, of f32 as TF32 where that is
 * allowed, and of int8 whose sums are i32: one copies slabs of the operands to
 * shared memory, two warpgroups multiply them. Slabs lie in a ring; each place of it has a barrier
 * for "full", which counts bytes, and one for "empty", at which all warps that multiply arrive.
 *
 *   thread 256, for each tile of the block, for each slab of the depth:
 *     wait for an empty place; announce the bytes; copy boxes of both operands there
 *   warps 0 to 7, for each tile of the block:
 *     for each slab: wait until it is full; begin its products; wait for those of the slab before,
 *                    whose place is empty now
 *     the sums go to shared memory, part after part, and from there to the epilogue
 *
 * Blocks are as many as there are multiprocessors, and take tiles in turn: while a block has the
 * epilogue of one tile, the slabs of its next one are on their way.
 *
 * A box is copied by a tensor map, of which zeros come where it is outside of the operand: ragged
 * ends need no code. A line of shared memory has 128 bytes: steps of the depth of a row, or
 * (turned, of halves alone) 64 rows at a step. Its pieces of 16 bytes change places as wgmma has
 * it.
 *
 * A map needs a buffer that begins at a multiple of 16 bytes, which only the launch knows. Where
 * one does not, the same blocks compute other tiles without maps (gpu_mma.c), and the warps that
 * copy have nothing to do.
 */
#include "passes/gpu_tile.h"
#include "passes/passes.h"

#include <stdio.h>
#include <string.h>

#define RING_THREADS 384
#define RING_ROWS 128
#define RING_GROUP 64      /* rows of a warpgroup */
#define RING_LINE 128      /* bytes: steps of a slab */
#define RING_PART 8192     /* bytes of 64 rows of a slab */
#define RING_PAD 8         /* elements behind a row of sums in shared memory */
#define RING_SUMS 32       /* rows of sums there: half of a warpgroup's */
#define RING_STAGES 6      /* places of the ring, at most */
#define RING_SHARED 232448 /* bytes of shared memory of a block of sm_90 */
#define RING_PROCESSORS 132
#define RING_LINES 256  /* of a box, at most, */
#define RING_ALIGNED 16 /* bytes at a multiple of which buffers begin */

/* ---- the plan ---- */

/* Steps of a slab. */
static int ring_depth(const dot_plan *p) { return RING_LINE / gpu_map_size(p); }

static int64_t ring_tiles(const dot_plan *p, int columns) {
  int64_t down = loom_num_ceil(p->extents[DOT_ROW], RING_ROWS);
  int64_t across = loom_num_ceil(p->extents[DOT_COLUMN], columns);
  return loom_num_mul(loom_num_mul(down, across), p->extents[DOT_BATCH]);
}

static int64_t ring_processors(const lower_kernel *kernel) {
  bool given = loom_option(kernel->op, loom_mark_processors).ptr != NULL;
  return given ? tile_processors(kernel) : RING_PROCESSORS;
}

/* Narrow tiles read more of shared memory for each product: 1/8, say. */
static int ring_columns(const dot_plan *p, int64_t processors) {
  int64_t wide = loom_ceil_div(loom_num_hint(ring_tiles(p, 256)), processors) * 256;
  int64_t narrow = loom_ceil_div(loom_num_hint(ring_tiles(p, 128)), processors) * 128;
  return wide * 8 <= narrow * 9 ? 256 : 128;
}

void gpu_ring_plan(const lower_kernel *kernel, dot_plan *p) {
  MlirAttribute set = loom_option(kernel->op, loom_mark_matrix);
  bool group =
      set.ptr && mlirAttributeIsAString(set) && loom_str_is(mlirStringAttrGetValue(set), "wgmma");
  if (!group || loom_dtype_size(p->factor) > 4 || !gpu_matrix_of(kernel, p)) return;
  if (!gpu_map_of(kernel, p, 0) || !gpu_map_of(kernel, p, 1) || !p->extents[DOT_DEPTH]) return;
  int64_t processors = ring_processors(kernel);
  int columns = ring_columns(p, processors);
  bool large = loom_num_hint(p->extents[DOT_ROW]) > RING_GROUP &&
               loom_num_hint(p->extents[DOT_COLUMN]) > columns / 2;
  if (!large || 2 * loom_num_hint(ring_tiles(p, columns)) < processors) return;
  p->aside = p->block;
  p->aside.splits = 1;
  p->aside.split = tile_slabs(p);
  p->block = (gpu_tile){.rows = RING_ROWS,
                        .columns = columns,
                        .depth = ring_depth(p),
                        .down = loom_num_ceil(p->extents[DOT_ROW], RING_ROWS),
                        .across = loom_num_ceil(p->extents[DOT_COLUMN], columns),
                        .splits = 1,
                        .ring = true};
  p->block.split = tile_slabs(p);
  p->stages[0] = loom_num_min(ring_tiles(p, columns), processors);
  p->stage_count = 1;
  p->slots = 0;
}

/* ---- what the code is made of ---- */

typedef struct ring_job {
  const dot_plan *p;
  gpu_block *block;
  bool turned[2];
  int stages, bytes;              /* places of the ring; bytes of one */
  MlirValue memory, full, empty;  /* shared memory: the ring, its barriers */
  MlirValue first, stage, parity; /* of a slab: its first step, its place, and the ring's round */
  MlirValue leads;                /* is the thread the first one of its warp? */
  MlirValue sums, group;          /* the thread's memory for them; the number of its warpgroup */
  int part;                       /* of the sums */
} ring_job;

static void ring_call(lower *l, const char *name, intptr_t count, const MlirValue *operands) {
  MlirType types[8];
  for (intptr_t i = 0; i < count; i++)
    types[i] = mlirValueGetType(operands[i]);
  loom_builder b = lower_at_level(l, l->depth);
  gpu_call(&b, l->kernel->op, name, count, types, operands, (MlirType){NULL});
}

static MlirValue ring_i32(lower *l, int64_t value) {
  loom_builder b = lower_at_level(l, l->depth);
  return loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 32), value);
}

static MlirValue ring_to_i32(lower *l, MlirValue value) {
  loom_builder b = lower_at_level(l, l->depth);
  return loom_build1(&b, "arith.trunci", value, mlirIntegerTypeGet(b.ctx, 32));
}

static MlirValue ring_site(lower *l) { return ring_i32(l, l->team.sites++); }

/* memory + number * scale + more bytes. */
static MlirValue ring_at(lower *l, MlirValue memory, MlirValue number, int scale, int64_t more) {
  MlirValue offset = dot_op(l, "arith.muli", number, scale);
  return slab_bytes(l, memory, tile_add(l, offset, more));
}

static MlirValue ring_iv(lower *l) { return mlirBlockGetArgument(l->scopes[l->depth].block, 0); }

/* The next place of the ring; behind the last one comes the first one, with the other parity. */
static void ring_next(lower *l, const ring_job *job, MlirValue *out) {
  MlirValue next = tile_add(l, job->stage, 1), end = tile_int(l, job->stages);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue wraps = lane_cmpi(&b, "eq", next, end);
  out[0] = lane_select(&b, wraps, tile_int(l, 0), next);
  b = lower_at_level(l, l->depth);
  MlirValue flips = loom_build1(&b, "arith.extui", wraps, mlirIntegerTypeGet(b.ctx, 64));
  out[1] = lane_op2(&b, "arith.xori", job->parity, flips);
}

static void ring_wait(lower *l, const ring_job *job, MlirValue barriers, MlirValue parity) {
  MlirValue operands[] = {ring_at(l, barriers, job->stage, 8, 0), ring_to_i32(l, parity)};
  ring_call(l, "loom_gpu_mbarrier_wait", 2, operands);
}

/* The tiles of a block, and the slabs of one: a loop that carries a place of the ring and the
 * parity. */
static void ring_tiles_loop(lower *l, ring_job *job, lower_body body) {
  MlirValue inits[] = {tile_int(l, 0), tile_int(l, 0)}, out[2];
  MlirValue tiles = tile_int(l, ring_tiles(job->p, job->p->block.columns));
  lower_for(l, l->begin, tiles, tile_int(l, job->p->stages[0]), -1, 2, inits, body, job, out);
}

/* ---- the warp that copies ---- */

/* An operand's part of a slab: one box, or one for each 64 rows. */
static void ring_copy_operand(lower *l, const ring_job *job, int side, MlirValue full) {
  const dot_operand *o = side ? &job->p->rhs : &job->p->lhs;
  int rows = side ? job->p->block.columns : RING_ROWS;
  MlirValue to = ring_at(l, job->memory, job->stage, job->bytes, side ? RING_ROWS * RING_LINE : 0);
  MlirValue map = slab_bytes(l, l->scratch, tile_int(l, side * 128)), batch = ring_i32(l, 0);
  if (job->p->extents[DOT_BATCH] != 1 && o->strides[DOT_BATCH])
    batch = ring_to_i32(l, l->vars[DOT_BATCH].iv);
  MlirValue row = ring_to_i32(l, job->block->first[side]), step = ring_to_i32(l, job->first);
  if (!job->turned[side]) {
    ring_call(l, "loom_gpu_map_copy", 6, (MlirValue[]){to, map, step, row, batch, full});
    return;
  }
  for (int i = 0; i < rows / 64; i++) {
    MlirValue part = i ? slab_bytes(l, to, tile_int(l, (int64_t)i * RING_PART)) : to;
    loom_builder b = lower_at_level(l, l->depth);
    MlirValue at = lane_op2(&b, "arith.addi", row, ring_i32(l, i * 64));
    ring_call(l, "loom_gpu_map_copy", 6, (MlirValue[]){part, map, at, step, batch, full});
  }
}

static void ring_copy_slab(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  job->first = dot_op(l, "arith.muli", ring_iv(l), ring_depth(job->p));
  job->stage = carried[0];
  job->parity = carried[1];
  ring_wait(l, job, job->empty, dot_op(l, "arith.xori", job->parity, 1));
  MlirValue full = ring_at(l, job->full, job->stage, 8, 0);
  ring_call(l, "loom_gpu_mbarrier_expect", 2, (MlirValue[]){full, ring_i32(l, job->bytes)});
  for (int side = 0; side < 2; side++)
    ring_copy_operand(l, job, side, full);
  ring_next(l, job, next);
}

static void ring_copy_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  gpu_block_find(l, job->block, ring_iv(l));
  lower_for(l, tile_int(l, 0), tile_int(l, tile_slabs(job->p)), tile_int(l, 1), -1, 2, carried,
            ring_copy_slab, job, next);
}

static void ring_copy_all(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_tiles_loop(l, user, ring_copy_tile);
}

static void ring_copier(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const ring_job *job = user;
  MlirValue site = ring_site(l), one = ring_i32(l, GPU_BLOCK);
  ring_call(l, "loom_gpu_registers_give", 1, &site);
  loom_builder b = lower_at_level(l, l->depth);
  lower_if(l, lane_cmpi(&b, "eq", job->block->thread, one), ring_copy_all, user);
  ring_call(l, "loom_gpu_leave", 0, NULL);
}

/* ---- warps that multiply ---- */

static int ring_sum_count(const ring_job *job) { return job->p->block.columns / 2; }

static MlirValue ring_sum(lower *l, const ring_job *job, int i) {
  loom_builder b = lower_at_level(l, l->depth);
  return i ? lane_address(&b, job->sums, lower_int(l, i).v, LOOM_F32) : job->sums;
}

static void ring_sums_zero(lower *l, const ring_job *job) {
  MlirValue zero = tile_zero(l, job->p, 1);
  for (int i = 0; i < ring_sum_count(job); i++) {
    MlirValue at = ring_sum(l, job, i);
    loom_builder b = lower_at_level(l, l->depth);
    lane_store(&b, zero, at, job->p->work, (MlirValue){NULL});
  }
}

static void ring_arrive(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const ring_job *job = user;
  MlirValue at = ring_at(l, job->empty, job->stage, 8, 0);
  ring_call(l, "loom_gpu_mbarrier_arrive", 1, &at);
}

static void ring_multiply(lower *l, const ring_job *job) {
  char name[40];
  loom_dtype factor = job->p->factor;
  const char *sort = factor == LOOM_F32   ? "tf32"
                     : factor == LOOM_I8  ? "s8"
                     : factor == LOOM_F16 ? "f16"
                                          : "bf16";
  MlirValue a = ring_at(l, job->memory, job->stage, job->bytes, 0);
  MlirValue b = slab_bytes(l, a, tile_int(l, RING_ROWS * RING_LINE));
  a = ring_at(l, a, job->group, RING_PART, 0);
  MlirValue operands[] = {
      job->sums, a, b, ring_i32(l, job->turned[0]), ring_i32(l, job->turned[1]), ring_site(l)};
  snprintf(name, sizeof name, "loom_gpu_wgmma_n%d_%s", job->p->block.columns, sort);
  ring_call(l, name, 6, operands);
}

/* Carried: the place of the slab and the parity, and the place of the slab before. */
static void ring_multiply_slab(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  job->stage = carried[0];
  job->parity = carried[1];
  ring_wait(l, job, job->full, job->parity);
  ring_multiply(l, job);
  MlirValue site = ring_site(l);
  ring_call(l, "loom_gpu_wgmma_wait_older", 1, &site);
  ring_next(l, job, next);
  next[2] = job->stage;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue later = lane_cmpi(&b, "sgt", ring_iv(l), tile_int(l, 0));
  b = lower_at_level(l, l->depth);
  ring_job before = *job;
  before.stage = carried[2];
  lower_if(l, lane_op2(&b, "arith.andi", later, job->leads), ring_arrive, &before);
}

/* ---- the epilogue ---- */

/* Half of a warpgroup's sums: rows 0 to 7, or 8 to 15, of each warp's 16 (PTX ISA
 * 9.7.15.5.1.1.2). */
static void ring_put(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  static const matrix_term rows[] = {{4, 8, 1}, {32, 4, 8}}, columns[] = {{1, 4, 2}, {1, 1, 0}};
  const ring_job *job = user;
  const dot_plan *p = job->p;
  int pitch = p->block.columns + RING_PAD;
  MlirValue row = matrix_value(l, rows, job->block->thread);
  MlirValue column = matrix_value(l, columns, job->block->thread);
  MlirValue base = tile_address(l, p, job->block->memory, dot_add_scaled(l, column, row, pitch));
  for (int i = 0; i < p->block.columns; i += 8) {
    loom_builder b = lower_at_level(l, 0);
    MlirValue values = tile_zero(l, p, 2);
    for (int k = 0; k < 2; k++) {
      MlirValue from = ring_sum(l, job, i / 2 + job->part * 2 + k);
      b = lower_at_level(l, l->depth);
      values = lane_insert(&b, values, lane_load(&b, from, p->work, 1, (MlirValue){NULL}), k);
    }
    MlirValue to = i ? tile_address(l, p, base, tile_int(l, i)) : base;
    b = lower_at_level(l, l->depth);
    tile_align(l, lane_store(&b, values, to, p->work, (MlirValue){NULL}), p->work, 2);
  }
}

/* One warpgroup's sums, half after half: all threads that multiply take the elements. */
static void ring_finish_group(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  gpu_block *block = job->block;
  MlirValue first = block->first[0], group = ring_iv(l);
  block->first[0] = dot_add_scaled(l, first, group, RING_GROUP);
  for (job->part = 0; job->part < 2 && !l->failed; job->part++) {
    loom_builder b = lower_at_level(l, l->depth);
    gpu_barrier(l, &b);
    lower_if(l, lane_cmpi(&b, "eq", job->group, group), ring_put, job);
    b = lower_at_level(l, l->depth);
    gpu_barrier(l, &b);
    gpu_sums all = {RING_SUMS, job->p->block.columns + RING_PAD, 8, 16, 1, job->part * 8};
    gpu_block_finish(l, block, &all);
  }
  block->first[0] = first;
}

static void ring_multiply_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  char name[32];
  MlirValue inits[] = {carried[0], carried[1], carried[0]}, out[3];
  gpu_block_find(l, job->block, ring_iv(l));
  ring_sums_zero(l, job);
  lower_for(l, tile_int(l, 0), tile_int(l, tile_slabs(job->p)), tile_int(l, 1), -1, 3, inits,
            ring_multiply_slab, job, out);
  if (l->failed) return;
  snprintf(name, sizeof name, "loom_gpu_wgmma_wait_n%d%s", job->p->block.columns,
           job->p->work == LOOM_I32 ? "_s32" : "");
  ring_call(l, name, 2, (MlirValue[]){job->sums, ring_site(l)});
  job->stage = out[2];
  lower_if(l, job->leads, ring_arrive, job);
  next[0] = out[0];
  next[1] = out[1];
  lower_for(l, tile_int(l, 0), tile_int(l, RING_ROWS / RING_GROUP), tile_int(l, 1), -1, 0, NULL,
            ring_finish_group, job, NULL);
}

static void ring_multiplier(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  MlirValue site = ring_site(l);
  ring_call(l, "loom_gpu_registers_take", 1, &site);
  MlirValue lane = tile_number(l, job->block->thread, 1, GPU_WARP);
  loom_builder b = lower_at_level(l, l->depth);
  job->leads = lane_cmpi(&b, "eq", lane, tile_int(l, 0));
  job->group = tile_number(l, job->block->thread, 128, 2);
  job->sums = gpu_sums_memory(l, ring_sum_count(job));
  gpu_block_vectors(l, job->block);
  l->team.part = true;
  ring_tiles_loop(l, job, ring_multiply_tile);
  l->team.part = false;
}

/* ---- a block ---- */

static void ring_ready(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const ring_job *job = user;
  for (int i = 0; i < 2 * job->stages; i++) {
    MlirValue at = slab_bytes(l, job->full, tile_int(l, (int64_t)i * 8));
    int count = i < job->stages ? 1 : GPU_BLOCK / GPU_WARP;
    ring_call(l, "loom_gpu_mbarrier_init", 2, (MlirValue[]){at, ring_i32(l, count)});
  }
  ring_call(l, "loom_gpu_wgmma_fence", 0, NULL);
}

static void ring_run(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ring_job *job = user;
  loom_builder b = lower_at_level(l, l->depth);
  lower_if(l, lane_cmpi(&b, "eq", job->block->thread, ring_i32(l, 0)), ring_ready, job);
  b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  MlirValue multiplies = lane_cmpi(&b, "ult", job->block->thread, ring_i32(l, GPU_BLOCK));
  lower_if_else(l, multiplies, ring_multiplier, ring_copier, job);
}

/* A tile of the other form. The next one's slabs lie where its sums do. */
static void ring_aside_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  MlirValue begin = l->begin;
  gpu_block block = {.p = user};
  l->begin = ring_iv(l);
  if (block.p->block.matrix)
    gpu_mma_block(l, &block);
  else
    gpu_fma_block(l, &block);
  loom_builder b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  l->begin = begin;
}

static void ring_aside_tiles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const ring_job *job = user;
  dot_plan other = *job->p;
  other.block = job->p->aside;
  int64_t tiles = loom_num_mul(other.block.down, other.block.across);
  tiles = loom_num_mul(tiles, other.extents[DOT_BATCH]);
  l->team.part = true;
  lower_for(l, l->begin, tile_int(l, tiles), tile_int(l, job->p->stages[0]), -1, 0, NULL,
            ring_aside_tile, &other, NULL);
  l->team.part = false;
}

static void ring_aside(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const ring_job *job = user;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue some = lane_cmpi(&b, "ult", job->block->thread, ring_i32(l, GPU_BLOCK));
  lower_if(l, some, ring_aside_tiles, user);
}

/* Where the ring lies, and behind it the sums of the epilogue and the barriers. */
static void ring_open(lower *l, ring_job *job) {
  int columns = job->p->block.columns;
  int sums = RING_SUMS * (columns + RING_PAD) * (int)sizeof(float);
  job->bytes = (RING_ROWS + columns) * RING_LINE;
  job->stages = (RING_SHARED - sums - 16 * RING_STAGES) / job->bytes;
  if (job->stages > RING_STAGES) job->stages = RING_STAGES;
  int ring = job->stages * job->bytes;
  loom_builder b = lower_at_level(l, l->depth);
  job->memory = gpu_shared(l, &b, ring + sums + 16 * job->stages);
  job->block->memory = slab_bytes(l, job->memory, tile_int(l, ring));
  job->full = slab_bytes(l, job->memory, tile_int(l, ring + sums));
  job->empty = slab_bytes(l, job->full, tile_int(l, 8 * job->stages));
}

void gpu_ring_blocks(lower *l, const dot_plan *p) {
  int bytes[TILE_BUFFERS] = {0};
  gpu_block block = {.p = p};
  ring_job job = {.p = p, .block = &block};
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  l->team.threads = RING_THREADS;
  l->team.maps[0] = 0;
  block.thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  for (int side = 0; side < 2; side++) {
    const dot_operand *o = side ? &p->rhs : &p->lhs;
    job.turned[side] = gpu_slab_is_turned(p, side);
    bytes[l->kernel->operands[o->operand].slot] = RING_ALIGNED;
    gpu_map_write(l, p, side, RING_LINE,
                  job.turned[side] ? 64
                  : side           ? p->block.columns
                                   : RING_ROWS);
  }
  ring_open(l, &job);
  lower_if_else(l, tile_aligned(l, bytes), ring_run, ring_aside, &job);
  l->team.blocks = 1;
}
