/* Products on a GPU by multiply-adds: a block computes a tile of the result (gpu_tile.c).
 *
 *   for each slab of the depth (16 steps):
 *     the slab of both operands goes from registers to shared memory; barrier
 *     the next slab is loaded into registers, while
 *     each thread multiplies its rows with its columns, step by step
 *   the sums go to shared memory, from where the epilogue takes element after element, threads next
 *   to each other
 *
 * Shared memory holds two slabs by turns, so that one barrier a slab is enough. A slab lies there
 * step by step, the rows or columns of a step next to each other. Operands are read as any value is
 * (lower_emit), so that elementwise operations before the product are computed on the way, and
 * views cost nothing. Threads follow the operand in memory: they go along its rows or columns where
 * these lie next to each other, else along the depth. Then a warp takes 8 steps of 4 rows, of
 * halves 16 steps of 2 rows, which lie 32 bytes next to each other. Steps are padded in shared
 * memory so that 8 of them lie in different banks; of 16 steps, the rows of the second half change
 * places with rows at a distance of 2.
 */
#include "passes/gpu_tile.h"

#define TILE_ELEMENTS 8 /* of a slab that a thread loads, at most */

/* ---- a slab of an operand ---- */

/* Element i of a thread is row or column `lane + i % lanes * lane_step` of the tile and step
 * `depth + i / lanes * depth_step` of the slab, where `lane` and `depth` are its first ones. */
typedef struct tile_side {
  const dot_operand *operand;
  int extent, pitch; /* rows or columns of the tile; elements between two steps in shared memory */
  int offset;        /* of the slab in shared memory, in elements */
  int count, lanes, lane_step, depth_step;
  MlirValue lane, depth; /* i64 */
  int part, parts;       /* elements of a thread that lie together, and how many such parts */
  int threads;           /* along this side of the tile */
  MlirValue thread;      /* number along this side, i64 */
  int swap;              /* rows at this distance change places in the second half; 0: none do */
} tile_side;

typedef struct tile_job {
  gpu_block *block;
  const dot_plan *p;
  tile_side sides[2];
  int slab; /* elements of shared memory for a slab */
} tile_job;

/* Elements of one access of shared memory, at most: 16 bytes. */
static int tile_most(const dot_plan *p) {
  int size = (int)loom_dtype_size(p->work);
  return size < 4 ? 4 : 16 / size;
}

/* How the threads divide a slab among them. */
static void tile_share(lower *l, const tile_job *job, tile_side *side) {
  const dot_operand *o = side->operand;
  int size = side->extent;
  side->count = size * TILE_DEPTH / GPU_BLOCK;
  side->pitch = size;
  if (o->strides[o->lane_group] == 1) {
    side->lane = tile_number(l, job->block->thread, 1, size);
    side->depth = tile_number(l, job->block->thread, size, GPU_BLOCK);
    side->lanes = 1;
    side->depth_step = GPU_BLOCK / size;
    return;
  }
  int run = loom_dtype_size(o->type.dtype) < 4 ? TILE_DEPTH : TILE_DEPTH / 2;
  int lanes = size < GPU_BLOCK / run ? size : GPU_BLOCK / run, runs = GPU_BLOCK / run / lanes;
  MlirValue within = tile_number(l, job->block->thread, 1, run);
  side->lane = tile_number(l, job->block->thread, run, lanes);
  side->depth =
      dot_add_scaled(l, within, tile_number(l, job->block->thread, run * lanes, runs), run);
  side->lanes = size / lanes;
  side->lane_step = lanes;
  side->depth_step = run * runs;
  side->pitch += tile_most(job->p);
  if (run == TILE_DEPTH) side->swap = tile_most(job->p) / 2;
}

/* ---- loads ---- */

/* Element i of the thread, in the slab whose first step is `low`. */
static MlirValue tile_element(lower *l, const tile_job *job, int s, MlirValue low, int i) {
  const dot_plan *p = job->p;
  const tile_side *side = &job->sides[s];
  const dot_operand *o = side->operand;
  int64_t depth = p->extents[DOT_DEPTH];
  lower_push(l, l->scopes[l->depth].block);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue lane = tile_add(l, side->lane, (int64_t)(i % side->lanes) * side->lane_step);
  MlirValue step = tile_add(l, side->depth, (int64_t)(i / side->lanes) * side->depth_step);
  lane = lane_op2(&b, "arith.addi", job->block->first[s], lane);
  step = lane_op2(&b, "arith.addi", low, step);
  dot_set(l, o->lane_group, tile_clamp(l, lane, p->extents[o->lane_group], side->extent));
  dot_set(l, DOT_DEPTH, tile_clamp(l, step, depth, TILE_DEPTH));
  MlirValue value = p->element(l, p, o);
  if (!l->failed && !loom_num_multiple(depth, TILE_DEPTH)) {
    b = lower_at_level(l, l->depth);
    MlirValue there = lane_cmpi(&b, "slt", step, tile_int(l, depth));
    value = lane_select(&b, there, value, tile_zero(l, p, 1));
  }
  lower_pop(l);
  return value;
}

/* All elements of the thread in slab number `slab`: those of lhs, then those of rhs. */
static void tile_load(lower *l, const tile_job *job, MlirValue slab, MlirValue *out) {
  MlirValue low = dot_op(l, "arith.muli", slab, TILE_DEPTH);
  for (int s = 0; s < 2; s++)
    for (int i = 0; i < job->sides[s].count && !l->failed; i++)
      *out++ = tile_element(l, job, s, low, i);
}

typedef struct tile_next {
  const tile_job *job;
  MlirValue slab;
} tile_next;

static void tile_load_slab(lower *l, void *user, MlirValue *out) {
  const tile_next *next = user;
  tile_load(l, next->job, next->slab, out);
}

static void tile_load_none(lower *l, void *user, MlirValue *out) {
  const tile_job *job = ((const tile_next *)user)->job;
  for (int i = 0; i < job->sides[0].count + job->sides[1].count; i++)
    out[i] = tile_zero(l, job->p, 1);
}

/* The elements of the next slab if there is one; else zeros, which nothing reads. */
static void tile_load_next(lower *l, const tile_job *job, MlirValue slab, MlirValue *out) {
  tile_next next = {job, dot_op(l, "arith.addi", slab, 1)};
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue more = lane_cmpi(&b, "slt", next.slab, job->block->high);
  tile_if(l, more, job->sides[0].count + job->sides[1].count, tile_load_slab, tile_load_none, &next,
          out);
}

/* ---- shared memory ---- */

/* Where slab number `slab` lies: there are two places. */
static MlirValue tile_place(lower *l, const tile_job *job, MlirValue slab) {
  MlirValue turn = dot_op(l, "arith.andi", slab, 1);
  return tile_address(l, job->p, job->block->memory, dot_op(l, "arith.muli", turn, job->slab));
}

/* The first element of the thread in shared memory. */
static MlirValue tile_first(lower *l, const tile_side *side) {
  MlirValue lane = side->lane;
  if (side->swap) {
    MlirValue half = dot_op(l, "arith.divui", side->depth, TILE_DEPTH / 2);
    half = dot_op(l, "arith.muli", half, side->swap);
    loom_builder b = lower_at_level(l, l->depth);
    lane = lane_op2(&b, "arith.xori", lane, half);
  }
  return tile_add(l, dot_add_scaled(l, lane, side->depth, side->pitch), side->offset);
}

static void tile_store(lower *l, const tile_job *job, MlirValue place, const MlirValue *values) {
  for (int s = 0; s < 2; s++) {
    const tile_side *side = &job->sides[s];
    MlirValue base = tile_address(l, job->p, place, tile_first(l, side));
    for (int i = 0; i < side->count; i++) {
      int64_t at = (int64_t)(i % side->lanes) * side->lane_step +
                   (int64_t)(i / side->lanes) * side->depth_step * side->pitch;
      MlirValue ptr = tile_address(l, job->p, base, tile_int(l, at));
      loom_builder b = lower_at_level(l, l->depth);
      lane_store(&b, *values++, ptr, job->p->work, (MlirValue){NULL});
    }
  }
}

static MlirValue tile_read(lower *l, const tile_job *job, MlirValue ptr, int64_t at, int width) {
  MlirValue place = tile_address(l, job->p, ptr, tile_int(l, at));
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue value = lane_load(&b, place, job->p->work, width, (MlirValue){NULL});
  tile_align(l, loom_def(value), job->p->work, width);
  return value;
}

/* ---- multiply-adds ---- */

/* The sums of a thread: for each of its rows, vectors of its columns. */
static int tile_sums(const tile_job *job) { return job->p->block.tall * job->sides[1].parts; }

/* Elements of a side that are in each other's places come back to their own: those of one access
 * here, others by the address (tile_base). */
static MlirValue tile_turn(lower *l, const tile_side *side, MlirValue values) {
  int64_t order[8];
  if (side->part <= side->swap) return values;
  for (int i = 0; i < side->part; i++)
    order[i] = i ^ side->swap;
  loom_builder b = lower_at_level(l, l->depth);
  return lane_shuffle2(&b, values, values, side->part, order);
}

/* What a thread needs of a side in a step: its parts. */
static void tile_read_side(lower *l, const tile_job *job, const tile_side *side, MlirValue ptr,
                           int step, MlirValue *out) {
  for (int i = 0; i < side->parts; i++) {
    int64_t at = (int64_t)step * side->pitch + i * side->threads * side->part;
    out[i] = tile_read(l, job, ptr, at, side->part);
    if (side->swap && step >= TILE_DEPTH / 2) out[i] = tile_turn(l, side, out[i]);
  }
}

/* Where the thread's elements of a side lie in the first step, for the steps of one half. */
static MlirValue tile_base(lower *l, const tile_job *job, const tile_side *side, MlirValue place,
                           int half) {
  MlirValue at = dot_op(l, "arith.muli", side->thread, side->part);
  if (half && side->part <= side->swap) at = dot_op(l, "arith.xori", at, side->swap);
  return tile_address(l, job->p, place, tile_add(l, at, side->offset));
}

static void tile_step(lower *l, const tile_job *job, MlirValue (*ptrs)[2], int step,
                      MlirValue *sums) {
  const dot_plan *p = job->p;
  const tile_side *rows = &job->sides[0], *columns = &job->sides[1];
  MlirValue left[8], right[8];
  int half = step / (TILE_DEPTH / 2);
  tile_read_side(l, job, rows, ptrs[0][half], step, left);
  tile_read_side(l, job, columns, ptrs[1][half], step, right);
  loom_builder b = lower_at_level(l, l->depth);
  for (int r = 0; r < p->block.tall; r++) {
    MlirValue x = left[r / rows->part];
    if (rows->part > 1) x = lane_extract(&b, x, r % rows->part);
    x = lane_splat(&b, x, columns->part);
    for (int c = 0; c < columns->parts; c++) {
      MlirValue *sum = &sums[r * columns->parts + c];
      *sum = dot_multiply_add(&b, p->dtype, x, right[c], *sum);
    }
  }
}

/* Carried: the sums, then the elements of the slab. */
static void tile_slab(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_job *job = user;
  int count = tile_sums(job);
  MlirValue slab = mlirBlockGetArgument(l->scopes[l->depth].block, 0), ptrs[2][2];
  MlirValue place = tile_place(l, job, slab);
  tile_store(l, job, place, carried + count);
  loom_builder b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  tile_load_next(l, job, slab, next + count);
  for (int s = 0; s < 4; s++)
    ptrs[s / 2][s % 2] = tile_base(l, job, &job->sides[s / 2], place, s % 2);
  for (int i = 0; i < count; i++)
    next[i] = carried[i];
  for (int step = 0; step < TILE_DEPTH && !l->failed; step++)
    tile_step(l, job, ptrs, step, next);
}

static void tile_multiply(lower *l, tile_job *job, MlirValue *sums) {
  int count = tile_sums(job), loaded = job->sides[0].count + job->sides[1].count;
  MlirValue values[LOWER_CARRIED];
  for (int i = 0; i < count; i++)
    values[i] = sums[i] = tile_zero(l, job->p, job->sides[1].part);
  if (tile_slabs(job->p) == 0) return;
  if (tile_may_be_empty(job->p))
    tile_load_next(l, job, dot_op(l, "arith.subi", job->block->low, 1), values + count);
  else
    tile_load(l, job, job->block->low, values + count);
  lower_for(l, job->block->low, job->block->high, tile_int(l, 1), -1, count + loaded, values,
            tile_slab, job, values);
  for (int i = 0; i < count; i++)
    sums[i] = values[i];
}

/* ---- the epilogue ---- */

/* Sums of the rows of part number `chunk` of each thread, through shared memory: the first rows of
 * all threads, then their second rows, and so on. */
static void tile_finish(lower *l, const tile_job *job, const MlirValue *values, int chunk) {
  const dot_plan *p = job->p;
  const tile_side *rows = &job->sides[0], *columns = &job->sides[1];
  int part = rows->threads * rows->part;
  loom_builder b = lower_at_level(l, l->depth);
  if (tile_slabs(p) || chunk) gpu_barrier(l, &b);
  MlirValue row = dot_op(l, "arith.muli", rows->thread, p->block.columns);
  MlirValue at = dot_add_scaled(l, row, columns->thread, columns->part);
  MlirValue base = tile_address(l, p, job->block->memory, at);
  for (int r = 0; r < rows->part; r++)
    for (int c = 0; c < columns->parts; c++) {
      int64_t offset =
          (int64_t)r * rows->threads * p->block.columns + c * columns->threads * columns->part;
      MlirValue ptr = tile_address(l, p, base, tile_int(l, offset));
      MlirValue sum = values[(chunk * rows->part + r) * columns->parts + c];
      b = lower_at_level(l, l->depth);
      tile_align(l, lane_store(&b, sum, ptr, p->work, (MlirValue){NULL}), p->work, columns->part);
    }
  gpu_barrier(l, &b);
  gpu_sums sums = {part, p->block.columns, rows->threads, 1, rows->part, chunk * part};
  gpu_block_finish(l, job->block, &sums);
}

/* ---- a block ---- */

static void tile_open(lower *l, tile_job *job) {
  const dot_plan *p = job->p;
  const gpu_tile *tile = &p->block;
  int most = tile_most(p), of[] = {tile->tall, tile->wide};
  gpu_block_open(l, job->block);
  for (int s = 0; s < 2; s++) {
    tile_side *side = &job->sides[s];
    side->operand = s ? &p->rhs : &p->lhs;
    side->extent = s ? tile->columns : tile->rows;
    side->part = of[s] < most ? of[s] : most;
    side->parts = of[s] / side->part;
    side->threads = side->extent / of[s];
    side->thread =
        tile_number(l, job->block->thread, s ? 1 : tile->columns / tile->wide, side->threads);
    side->offset = job->slab;
    tile_share(l, job, side);
    job->slab += side->pitch * TILE_DEPTH;
  }
  int sums = job->sides[0].threads * job->sides[0].part * tile->columns;
  int elements = 2 * job->slab > sums ? 2 * job->slab : sums;
  loom_builder b = lower_at_level(l, l->depth);
  job->block->memory = gpu_shared(l, &b, elements * (int)loom_dtype_size(p->work));
}

void gpu_fma_block(lower *l, gpu_block *block) {
  tile_job job = {.block = block, .p = block->p};
  MlirValue sums[LOWER_CARRIED];
  tile_open(l, &job);
  tile_multiply(l, &job, sums);
  for (int chunk = 0; chunk < job.sides[0].parts && !l->failed; chunk++)
    tile_finish(l, &job, sums, chunk);
}
