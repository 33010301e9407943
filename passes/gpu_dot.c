/* Products on a GPU: a block computes a tile of the result.
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
 *
 * At ragged ends rows and columns beyond the last one read the last one again, and their sums go
 * nowhere. Steps beyond the depth are zeros. Each element is one chain of multiply-adds in the
 * order of the depth, whatever the tile: the tile decides no bit.
 *
 * Where there are few tiles and a great depth, the depth is divided into parts. Each has blocks of
 * its own, which write their sums to slots. A second stage adds up the parts of an element in their
 * order and has the epilogue. The sizes alone decide how many parts there are.
 */
#include "passes/dot.h"
#include "passes/gpu.h"
#include "passes/passes.h"

#define TILE_DEPTH 16
#define TILE_PROCESSORS 128 /* multiprocessors of a large GPU */
#define TILE_ELEMENTS 8     /* of a slab that a thread loads, at most */
#define TILE_SPLITS 64      /* parts of the depth, at most, */
#define TILE_SPLIT_SLABS 4  /* and slabs of one, at least */
/* In the unit of tile_cost(): a second launch; values that a block reads from device memory, one a
 * thread. */
#define TILE_LAUNCH 128
#define TILE_READ 1

/* ---- the tile ---- */

static int64_t tile_slabs(const dot_plan *p) {
  return loom_ceil_div(p->extents[DOT_DEPTH], TILE_DEPTH);
}

/* Elements of the result. */
static int64_t tile_total(const dot_plan *p) {
  return p->extents[DOT_BATCH] * p->extents[DOT_ROW] * p->extents[DOT_COLUMN];
}

/* Gives a tile its numbers of tiles and of slabs, for so many parts of the depth. */
static gpu_tile tile_of(const dot_plan *p, const gpu_tile *sizes, int64_t splits) {
  gpu_tile tile = *sizes;
  tile.depth = TILE_DEPTH;
  tile.down = loom_ceil_div(p->extents[DOT_ROW], tile.rows);
  tile.across = loom_ceil_div(p->extents[DOT_COLUMN], tile.columns);
  tile.split = loom_ceil_div(tile_slabs(p), splits);
  tile.splits = tile.split ? loom_ceil_div(tile_slabs(p), tile.split) : 1;
  return tile;
}

/* Instructions of a thread of the busiest multiprocessor, for a step of each slab: multiply-adds,
 * reads of shared memory, and what else there is in a step; the parts of the depth are written and
 * read. */
static int64_t tile_cost(const dot_plan *p, const gpu_tile *tile, int64_t processors) {
  int64_t blocks = tile->down * tile->across * p->extents[DOT_BATCH] * tile->splits;
  int step = tile->tall * tile->wide + tile->tall + tile->wide + 2;
  int64_t cost = loom_ceil_div(blocks, processors) * (tile->split ? tile->split : 1) * step;
  if (tile->splits == 1) return cost;
  int64_t values = loom_ceil_div(2 * tile_total(p) * tile->splits, processors * GPU_BLOCK);
  return cost + TILE_LAUNCH + values * TILE_READ;
}

static int64_t tile_processors(const lower_kernel *kernel) {
  MlirAttribute attr = loom_option(kernel->op, loom_mark_processors);
  bool given = attr.ptr && mlirAttributeIsAInteger(attr) && mlirIntegerAttrGetValueInt(attr) > 0;
  return given ? mlirIntegerAttrGetValueInt(attr) : TILE_PROCESSORS;
}

bool gpu_dot_plan(const lower_kernel *kernel, dot_plan *p) {
  static const gpu_tile blocks[] = {
      {.rows = 128, .columns = 128, .tall = 8, .wide = 8},
      {.rows = 64, .columns = 64, .tall = 4, .wide = 4},
      {.rows = 32, .columns = 128, .tall = 4, .wide = 4},
      {.rows = 128, .columns = 32, .tall = 4, .wide = 4},
      {.rows = 16, .columns = 128, .tall = 2, .wide = 4},
      {.rows = 128, .columns = 16, .tall = 4, .wide = 2},
      {.rows = 32, .columns = 32, .tall = 2, .wide = 2},
      {.rows = 16, .columns = 16, .tall = 1, .wide = 1},
  };
  for (int g = 0; g < DOT_GROUPS; g++)
    if (LOOM_STRIDE_IS_SYM(p->extents[g]))
      return loom_emit_error(mlirOperationGetLocation(p->op), "symbolic sizes on a GPU");
  int64_t best = INT64_MAX, processors = tile_processors(kernel);
  for (size_t i = 0; i < sizeof blocks / sizeof *blocks; i++)
    for (int64_t splits = 1; splits <= TILE_SPLITS; splits *= 2) {
      gpu_tile tile = tile_of(p, &blocks[i], splits);
      bool busy = tile.down * tile.across * p->extents[DOT_BATCH] >= processors;
      if (splits > 1 && (busy || splits * TILE_SPLIT_SLABS > tile_slabs(p))) break;
      int64_t cost = tile_cost(p, &tile, processors);
      if (cost >= best || (tile.tall == 8 && loom_dtype_size(p->work) > 4)) continue;
      best = cost;
      p->block = tile;
    }
  p->stages[0] = p->extents[DOT_BATCH] * p->block.down * p->block.across * p->block.splits;
  if (p->block.splits == 1) return true;
  p->stages[p->stage_count++] = loom_ceil_div(tile_total(p), GPU_BLOCK);
  p->slots = p->block.splits * tile_total(p) * (int64_t)loom_dtype_size(p->work);
  return true;
}

/* ---- a slab of an operand ---- */

/* Element i of a thread is row or column `lane + i % lanes * lane_step` of the tile and step
 * `depth + i / lanes * depth_step` of the slab, where `lane` and `depth` are its first ones. */
typedef struct tile_side {
  const dot_operand *operand;
  int extent, pitch; /* rows or columns of the tile; elements between two steps in shared memory */
  int offset;        /* of the slab in shared memory, in elements */
  int count, lanes, lane_step, depth_step;
  MlirValue lane, depth, first; /* i64; `first`: of the tile */
  int part, parts;  /* elements of a thread that lie together, and how many such parts */
  int threads;      /* along this side of the tile */
  MlirValue thread; /* number along this side, i64 */
  int swap;         /* rows at this distance change places in the second half; 0: none do */
} tile_side;

typedef struct tile_job {
  const dot_plan *p;
  tile_side sides[2];
  int slab;            /* elements of shared memory for a slab */
  MlirValue low, high; /* numbers of the slabs */
  MlirValue part;      /* of the depth, where it is split */
  MlirValue memory, thread;
  int chunk;                  /* part of the rows whose epilogue is made, */
  MlirValue sum, row, column; /* and an element of it */
  MlirValue at;               /* number of the element whose parts are added up */
} tile_job;

static MlirValue tile_int(lower *l, int64_t value) { return lower_int(l, value).v; }

/* A number of the thread as i64: thread / by % of. */
static MlirValue tile_number(lower *l, const tile_job *job, int by, int of) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue n = job->thread;
  if (by > 1) n = lane_op2(&b, "arith.divui", n, loom_build_int(&b, i32, by));
  if (of < GPU_BLOCK / by) n = lane_op2(&b, "arith.remui", n, loom_build_int(&b, i32, of));
  return loom_build1(&b, "arith.extui", n, i64);
}

static MlirValue tile_add(lower *l, MlirValue x, int64_t y) {
  return y ? dot_op(l, "arith.addi", x, y) : x;
}

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
    side->lane = tile_number(l, job, 1, size);
    side->depth = tile_number(l, job, size, GPU_BLOCK);
    side->lanes = 1;
    side->depth_step = GPU_BLOCK / size;
    return;
  }
  int run = loom_dtype_size(o->type.dtype) < 4 ? TILE_DEPTH : TILE_DEPTH / 2;
  int lanes = size < GPU_BLOCK / run ? size : GPU_BLOCK / run, runs = GPU_BLOCK / run / lanes;
  MlirValue within = tile_number(l, job, 1, run);
  side->lane = tile_number(l, job, run, lanes);
  side->depth = dot_add_scaled(l, within, tile_number(l, job, run * lanes, runs), run);
  side->lanes = size / lanes;
  side->lane_step = lanes;
  side->depth_step = run * runs;
  side->pitch += tile_most(job->p);
  if (run == TILE_DEPTH) side->swap = tile_most(job->p) / 2;
}

/* ---- loads ---- */

/* Rows and columns beyond the last one are the last one. */
static MlirValue tile_clamp(lower *l, MlirValue at, int64_t extent, int step) {
  return extent % step ? dot_op(l, "arith.minsi", at, extent - 1) : at;
}

static MlirValue tile_zero(lower *l, const dot_plan *p, int width) {
  loom_builder b = lower_at_level(l, 0);
  MlirType type = lane_type(b.ctx, p->work, width);
  return loom_dtype_is_float(p->work) ? lane_const_float(&b, type, 0) : lane_const_int(&b, type, 0);
}

/* Element i of the thread, in the slab whose first step is `low`. */
static MlirValue tile_element(lower *l, const dot_plan *p, const tile_side *side, MlirValue low,
                              int i) {
  const dot_operand *o = side->operand;
  int64_t depth = p->extents[DOT_DEPTH];
  lower_push(l, l->scopes[l->depth].block);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue lane = tile_add(l, side->lane, (int64_t)(i % side->lanes) * side->lane_step);
  MlirValue step = tile_add(l, side->depth, (int64_t)(i / side->lanes) * side->depth_step);
  lane = lane_op2(&b, "arith.addi", side->first, lane);
  step = lane_op2(&b, "arith.addi", low, step);
  dot_set(l, o->lane_group, tile_clamp(l, lane, p->extents[o->lane_group], side->extent));
  dot_set(l, DOT_DEPTH, tile_clamp(l, step, depth, TILE_DEPTH));
  MlirValue value = p->element(l, p, o);
  if (!l->failed && depth % TILE_DEPTH) {
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
      *out++ = tile_element(l, job->p, &job->sides[s], low, i);
}

/* The elements of the next slab if there is one; else zeros, which nothing reads. */
static void tile_load_next(lower *l, const tile_job *job, MlirValue slab, MlirValue *out) {
  int count = job->sides[0].count + job->sides[1].count;
  MlirValue next = dot_op(l, "arith.addi", slab, 1), none[2 * TILE_ELEMENTS];
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue more = lane_cmpi(&b, "slt", next, job->high);
  MlirBlock blocks[] = {mlirBlockCreate(0, NULL, NULL), mlirBlockCreate(0, NULL, NULL)};
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  MlirType types[2 * TILE_ELEMENTS];
  lower_push(l, blocks[0]);
  tile_load(l, job, next, out);
  lower_pop(l);
  for (int i = 0; i < count; i++) {
    none[i] = tile_zero(l, job->p, 1);
    types[i] = mlirValueGetType(none[i]);
  }
  for (int i = 0; i < 2; i++) {
    loom_builder inner = loom_builder_at_end(blocks[i], l->loc);
    if (!l->failed) loom_build(&inner, "scf.yield", count, i ? none : out, 0, NULL, 0, NULL);
    mlirRegionAppendOwnedBlock(regions[i], blocks[i]);
  }
  MlirOperation op = loom_build_regions(&b, "scf.if", 1, &more, count, types, 0, NULL, 2, regions);
  for (int i = 0; i < count; i++)
    out[i] = loom_result(op, i);
}

/* ---- shared memory ---- */

static MlirValue tile_address(lower *l, const tile_job *job, MlirValue ptr, MlirValue offset) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_address(&b, ptr, offset, job->p->work);
}

/* Where slab number `slab` lies: there are two places. */
static MlirValue tile_place(lower *l, const tile_job *job, MlirValue slab) {
  MlirValue turn = dot_op(l, "arith.andi", slab, 1);
  return tile_address(l, job, job->memory, dot_op(l, "arith.muli", turn, job->slab));
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
    MlirValue base = tile_address(l, job, place, tile_first(l, side));
    for (int i = 0; i < side->count; i++) {
      int64_t at = (int64_t)(i % side->lanes) * side->lane_step +
                   (int64_t)(i / side->lanes) * side->depth_step * side->pitch;
      MlirValue ptr = tile_address(l, job, base, tile_int(l, at));
      loom_builder b = lower_at_level(l, l->depth);
      lane_store(&b, *values++, ptr, job->p->work, (MlirValue){NULL});
    }
  }
}

/* An access of shared memory to so many elements, which lie at a multiple of their size. */
static void tile_align(const lower *l, MlirOperation access, loom_dtype dtype, int width) {
  int64_t bytes = width * (int64_t)loom_dtype_size(dtype);
  loom_set_attr(access, "alignment", loom_attr_i64(l->kernel->ctx, bytes));
}

static MlirValue tile_read(lower *l, const tile_job *job, MlirValue ptr, int64_t at, int width) {
  MlirValue place = tile_address(l, job, ptr, tile_int(l, at));
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
  return tile_address(l, job, place, tile_add(l, at, side->offset));
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
  tile_load(l, job, job->low, values + count);
  lower_for(l, job->low, job->high, tile_int(l, 1), -1, count + loaded, values, tile_slab, job,
            values);
  for (int i = 0; i < count; i++)
    sums[i] = values[i];
}

/* ---- the epilogue ---- */

/* Where part number `part` of element number `at` of the result lies. */
static MlirValue tile_slot(lower *l, const tile_job *job, MlirValue part, MlirValue at) {
  MlirValue slots = l->pointers[l->kernel->buffer_count];
  return tile_address(l, job, slots, dot_add_scaled(l, at, part, tile_total(job->p)));
}

static void tile_finish_sums(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_job *job = user;
  if (job->part.ptr) {
    const int64_t *extents = job->p->extents;
    MlirValue at = dot_add_scaled(l, job->row, l->vars[DOT_BATCH].iv, extents[DOT_ROW]);
    at = dot_add_scaled(l, job->column, at, extents[DOT_COLUMN]);
    MlirValue slot = tile_slot(l, job, job->part, at);
    loom_builder b = lower_at_level(l, l->depth);
    lane_store(&b, job->sum, slot, job->p->work, (MlirValue){NULL});
    return;
  }
  dot_set(l, DOT_ROW, job->row);
  dot_set(l, DOT_COLUMN, job->column);
  job->p->finish(l, job->p, job->sum);
}

/* One element of the part: threads that follow each other take columns that do. */
static void tile_finish_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_job *job = user;
  const dot_plan *p = job->p;
  int columns = p->block.columns;
  const tile_side *rows = &job->sides[0];
  MlirType i64 = mlirIntegerTypeGet(l->kernel->ctx, 64);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue at = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  at = lane_op2(&b, "arith.addi", at, loom_build1(&b, "arith.extui", job->thread, i64));
  MlirValue row = dot_op(l, "arith.divui", at, columns);
  MlirValue column = dot_op(l, "arith.remui", at, columns);
  MlirValue within = dot_op(l, "arith.divui", row, rows->threads);
  row = dot_add_scaled(l, within, dot_op(l, "arith.remui", row, rows->threads), rows->part);
  row = tile_add(l, row, (int64_t)job->chunk * rows->threads * rows->part);
  row = lane_op2(&b, "arith.addi", rows->first, row);
  column = lane_op2(&b, "arith.addi", job->sides[1].first, column);
  job->row = row;
  job->column = column;
  MlirValue ptr = tile_address(l, job, job->memory, at);
  b = lower_at_level(l, l->depth);
  job->sum = lane_load(&b, ptr, p->work, 1, (MlirValue){NULL});
  MlirValue inside = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 1), 1);
  if (p->extents[DOT_ROW] % p->block.rows)
    inside = lane_cmpi(&b, "slt", row, tile_int(l, p->extents[DOT_ROW]));
  if (p->extents[DOT_COLUMN] % columns)
    inside = lane_op2(&b, "arith.andi", inside,
                      lane_cmpi(&b, "slt", column, tile_int(l, p->extents[DOT_COLUMN])));
  lower_if(l, inside, tile_finish_sums, job);
}

/* Sums of the rows of part number `chunk` of each thread, through shared memory: the first rows of
 * all threads, then their second rows, and so on. */
static void tile_finish(lower *l, tile_job *job, const MlirValue *sums) {
  const dot_plan *p = job->p;
  const tile_side *rows = &job->sides[0], *columns = &job->sides[1];
  loom_builder b = lower_at_level(l, l->depth);
  if (tile_slabs(p) || job->chunk) gpu_barrier(l, &b);
  MlirValue row = dot_op(l, "arith.muli", rows->thread, p->block.columns);
  MlirValue at = dot_add_scaled(l, row, columns->thread, columns->part);
  MlirValue base = tile_address(l, job, job->memory, at);
  for (int r = 0; r < rows->part; r++)
    for (int c = 0; c < columns->parts; c++) {
      int64_t offset =
          (int64_t)r * rows->threads * p->block.columns + c * columns->threads * columns->part;
      MlirValue ptr = tile_address(l, job, base, tile_int(l, offset));
      MlirValue sum = sums[(job->chunk * rows->part + r) * columns->parts + c];
      b = lower_at_level(l, l->depth);
      tile_align(l, lane_store(&b, sum, ptr, p->work, (MlirValue){NULL}), p->work, columns->part);
    }
  gpu_barrier(l, &b);
  int count = rows->threads * rows->part * p->block.columns;
  lower_for(l, tile_int(l, 0), tile_int(l, count), tile_int(l, GPU_BLOCK), -1, 0, NULL,
            tile_finish_element, job, NULL);
}

/* ---- a block ---- */

/* The slabs of a block. The result is the number of its tile. */
static MlirValue tile_open_part(lower *l, tile_job *job) {
  const gpu_tile *block = &job->p->block;
  int64_t tiles = block->down * block->across * job->p->extents[DOT_BATCH];
  job->low = tile_int(l, 0);
  job->high = tile_int(l, tile_slabs(job->p));
  if (block->splits == 1) return l->begin;
  job->part = dot_op(l, "arith.divui", l->begin, tiles);
  job->low = dot_op(l, "arith.muli", job->part, block->split);
  MlirValue high = dot_op(l, "arith.addi", job->low, block->split);
  job->high = dot_op(l, "arith.minsi", high, tile_slabs(job->p));
  return dot_op(l, "arith.remui", l->begin, tiles);
}

static void tile_open(lower *l, tile_job *job) {
  const dot_plan *p = job->p;
  const gpu_tile *block = &p->block;
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  int most = tile_most(p), of[] = {block->tall, block->wide};
  job->thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  MlirValue chunk = tile_open_part(l, job);
  MlirValue tile = dot_op(l, "arith.remui", chunk, block->down * block->across);
  for (int s = 0; s < 2; s++) {
    tile_side *side = &job->sides[s];
    side->operand = s ? &p->rhs : &p->lhs;
    side->extent = s ? block->columns : block->rows;
    side->part = of[s] < most ? of[s] : most;
    side->parts = of[s] / side->part;
    side->threads = side->extent / of[s];
    side->thread = tile_number(l, job, s ? 1 : block->columns / block->wide, side->threads);
    side->first = dot_op(l, s ? "arith.remui" : "arith.divui", tile, block->across);
    side->first = dot_op(l, "arith.muli", side->first, side->extent);
    side->offset = job->slab;
    tile_share(l, job, side);
    job->slab += side->pitch * TILE_DEPTH;
  }
  dot_set(l, DOT_BATCH, dot_op(l, "arith.divui", chunk, block->down * block->across));
  int sums = job->sides[0].threads * job->sides[0].part * block->columns;
  int elements = 2 * job->slab > sums ? 2 * job->slab : sums;
  b = lower_at_level(l, l->depth);
  job->memory = gpu_shared(l, &b, elements * (int)loom_dtype_size(p->work));
}

/* ---- the parts of the depth, added up ---- */

static MlirValue tile_sum(loom_builder *b, const dot_plan *p, MlirValue x, MlirValue y) {
  const char *add = loom_dtype_is_float(p->work) ? "arith.addf"
                    : p->dtype == LOOM_BOOL      ? "arith.ori"
                                                 : "arith.addi";
  return lane_op2(b, add, x, y);
}

static void tile_join_part(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_job *job = user;
  MlirValue part = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue slot = tile_slot(l, job, part, job->at);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue value = lane_load(&b, slot, job->p->work, 1, (MlirValue){NULL});
  next[0] = tile_sum(&b, job->p, carried[0], value);
}

static void tile_join_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_job *job = user;
  const dot_plan *p = job->p;
  int64_t rows = p->extents[DOT_ROW], columns = p->extents[DOT_COLUMN];
  MlirValue sum = tile_zero(l, p, 1), row = dot_op(l, "arith.divui", job->at, columns);
  lower_for(l, tile_int(l, 0), tile_int(l, p->block.splits), tile_int(l, 1), -1, 1, &sum,
            tile_join_part, user, &sum);
  dot_set(l, DOT_BATCH, dot_op(l, "arith.divui", row, rows));
  dot_set(l, DOT_ROW, dot_op(l, "arith.remui", row, rows));
  dot_set(l, DOT_COLUMN, dot_op(l, "arith.remui", job->at, columns));
  p->finish(l, p, sum);
}

/* An element for each thread: its parts in their order, and the epilogue. */
static void tile_join(lower *l, tile_job *job) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  job->thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  MlirValue at = tile_number(l, job, 1, GPU_BLOCK);
  job->at = dot_add_scaled(l, at, l->begin, GPU_BLOCK);
  b = lower_at_level(l, l->depth);
  MlirValue inside = lane_cmpi(&b, "slt", job->at, tile_int(l, tile_total(job->p)));
  lower_if(l, inside, tile_join_element, job);
}

bool gpu_dot_lower(lower *l, const dot_plan *p, int stage) {
  tile_job job = {.p = p};
  MlirValue sums[LOWER_CARRIED];
  l->team.size = GPU_BLOCK;
  if (stage == 1) {
    tile_join(l, &job);
    return !l->failed;
  }
  tile_open(l, &job);
  tile_multiply(l, &job, sums);
  for (job.chunk = 0; job.chunk < job.sides[0].parts && !l->failed; job.chunk++)
    tile_finish(l, &job, sums);
  return !l->failed;
}
