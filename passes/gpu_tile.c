/* Products on a GPU: which tile of the result a block computes, and what the two forms of a block
 * have in common (gpu_dot.c: multiply-adds; gpu_mma.c: instructions on matrices). gpu_ring.c has a
 * form of its own.
 *
 *   for each slab of the depth:
 *     slabs of both operands in shared memory; the sums of the tile
 *   the sums go to shared memory, from where the epilogue takes element after element, threads next
 *   to each other
 *
 * At ragged ends rows and columns beyond the last one read the last one again, and their sums go
 * nowhere. Steps beyond the depth are zeros. Each element is one chain of sums in the order of the
 * depth, whatever the tile: the tile decides no bit.
 *
 * Where there are few tiles and a great depth, the depth is divided into parts. Each has blocks of
 * its own, which write their sums to slots. A second stage adds up the parts of an element in their
 * order and has the epilogue. The sizes alone decide how many parts there are.
 */
#include "passes/gpu_tile.h"
#include "passes/passes.h"

#define TILE_PROCESSORS 128 /* multiprocessors of a large GPU */
#define TILE_SPLITS 64      /* parts of the depth, at most, */
#define TILE_SPLIT_SLABS 4  /* and slabs of one, at least */
/* In the unit of tile_cost(): a second launch; values that a block reads from device memory, one a
 * thread. */
#define TILE_LAUNCH 128
#define TILE_READ 1
#define TILE_GROUP 8 /* tiles down that blocks next to each other have */
/* For instructions on matrices: bytes of a slab's depth, but of f64, and registers of a thread for
 * sums, at most. */
#define TILE_LINE 64
#define TILE_MATRIX_SUMS 64

/* ---- the choice of a tile ---- */

int64_t tile_slabs(const dot_plan *p) {
  return loom_num_ceil(p->extents[DOT_DEPTH], p->block.depth);
}

bool tile_may_be_empty(const dot_plan *p) {
  int64_t depth = p->extents[DOT_DEPTH];
  return LOOM_STRIDE_IS_SYM(depth) && (p->block.splits > 1 || loom_num_low(depth) < 1);
}

/* Elements of the result. */
static int64_t tile_total(const dot_plan *p) {
  return loom_num_mul(loom_num_mul(p->extents[DOT_BATCH], p->extents[DOT_ROW]),
                      p->extents[DOT_COLUMN]);
}

/* Divides a tile among the warps of a block. Each gets a rectangle that is a multiple of what the
 * instruction computes; of all ways the one is taken whose rectangles are closest to squares.
 * False: there is none. */
static bool tile_warps(gpu_tile *tile) {
  const gpu_matrix *matrix = tile->matrix;
  int warps = GPU_BLOCK / matrix->threads, best = INT32_MAX;
  int registers = matrix->sums * (int)loom_dtype_size(matrix->dtype) / 4;
  if (registers < matrix->sums) registers = matrix->sums;
  for (int down = 1; down <= warps; down *= 2) {
    int tall = tile->rows / down, wide = tile->columns / (warps / down);
    if (tall % matrix->m || wide % (matrix->n * matrix->beside) || !tall || !wide) continue;
    int sums = tall / matrix->m * (wide / matrix->n) * registers;
    if (tall + wide >= best || sums > TILE_MATRIX_SUMS) continue;
    best = tall + wide;
    tile->tall = tall;
    tile->wide = wide;
  }
  return best < INT32_MAX;
}

/* Gives a tile its numbers of tiles and of slabs, for so many parts of the depth. */
static void tile_divide(dot_plan *p, const gpu_tile *sizes, int64_t splits) {
  gpu_tile *tile = &p->block;
  *tile = *sizes;
  tile->down = loom_ceil_div(p->extents[DOT_ROW], tile->rows);
  tile->across = loom_ceil_div(p->extents[DOT_COLUMN], tile->columns);
  tile->split = loom_ceil_div(tile_slabs(p), splits);
  tile->splits = tile->split ? loom_ceil_div(tile_slabs(p), tile->split) : 1;
}

/* Instructions of a thread for a slab: multiply-adds or products of matrices, reads of shared
 * memory, and what else there is in a step. */
static int64_t tile_slab_cost(const gpu_tile *tile) {
  const gpu_matrix *matrix = tile->matrix;
  if (!matrix) return tile->depth * (tile->tall * tile->wide + tile->tall + tile->wide + 2);
  int tall = tile->tall / matrix->m, wide = tile->wide / matrix->n;
  return tile->depth / matrix->k * (2 * tall * wide + 2 * tall + 2 * wide / matrix->beside + 2);
}

/* The same for all slabs of the busiest multiprocessor; the parts of the depth are written and
 * read.
 */
static int64_t tile_cost(const dot_plan *p, int64_t processors) {
  const gpu_tile *tile = &p->block;
  int64_t blocks = tile->down * tile->across * p->extents[DOT_BATCH] * tile->splits;
  int64_t slabs = loom_ceil_div(blocks, processors) * (tile->split ? tile->split : 1);
  int64_t cost = loom_ceil_div(slabs * tile_slab_cost(tile), TILE_DEPTH);
  if (tile->splits == 1) return cost;
  int64_t values = loom_ceil_div(2 * tile_total(p) * tile->splits, processors * GPU_BLOCK);
  return cost + TILE_LAUNCH + values * TILE_READ;
}

int64_t tile_processors(const lower_kernel *kernel) {
  MlirAttribute attr = loom_option(kernel->op, loom_mark_processors);
  bool given = attr.ptr && mlirAttributeIsAInteger(attr) && mlirIntegerAttrGetValueInt(attr) > 0;
  return given ? mlirIntegerAttrGetValueInt(attr) : TILE_PROCESSORS;
}

static const gpu_tile tile_sizes[] = {
    {.rows = 128, .columns = 128, .tall = 8, .wide = 8},
    {.rows = 64, .columns = 64, .tall = 4, .wide = 4},
    {.rows = 32, .columns = 128, .tall = 4, .wide = 4},
    {.rows = 128, .columns = 32, .tall = 4, .wide = 4},
    {.rows = 16, .columns = 128, .tall = 2, .wide = 4},
    {.rows = 128, .columns = 16, .tall = 4, .wide = 2},
    {.rows = 32, .columns = 32, .tall = 2, .wide = 2},
    {.rows = 16, .columns = 16, .tall = 1, .wide = 1},
};

/* For instructions on matrices, whose warps have more to do. */
static const gpu_tile tile_matrix_sizes[] = {
    {.rows = 128, .columns = 128}, {.rows = 128, .columns = 64}, {.rows = 64, .columns = 128},
    {.rows = 64, .columns = 64},   {.rows = 32, .columns = 128}, {.rows = 128, .columns = 32},
    {.rows = 32, .columns = 64},   {.rows = 64, .columns = 32},  {.rows = 16, .columns = 128},
    {.rows = 128, .columns = 16},  {.rows = 32, .columns = 32},
};

/* Does this kernel have a tile of these sizes? */
static bool tile_fits(const dot_plan *p, const gpu_matrix *matrix, gpu_tile *tile) {
  int size = (int)loom_dtype_size(p->factor);
  tile->matrix = matrix;
  tile->depth = TILE_DEPTH;
  if (!matrix) return tile->tall < 8 || loom_dtype_size(p->work) <= 4;
  if (size < 8) tile->depth = TILE_LINE / size;
  return tile_warps(tile) && 2 * (tile->rows + tile->columns) * tile->depth * size <= TILE_SHARED;
}

/* For known sizes: the tile, and into how many parts the depth is divided. */
static void tile_choose(const lower_kernel *kernel, dot_plan *p) {
  const gpu_matrix *matrix = gpu_matrix_of(kernel, p);
  const gpu_tile *sizes = matrix ? tile_matrix_sizes : tile_sizes;
  size_t count = matrix ? sizeof tile_matrix_sizes / sizeof *tile_matrix_sizes
                        : sizeof tile_sizes / sizeof *tile_sizes;
  int64_t best = INT64_MAX, processors = tile_processors(kernel);
  gpu_tile chosen = {0};
  for (size_t i = 0; i < count; i++)
    for (int64_t splits = 1; splits <= TILE_SPLITS; splits *= 2) {
      gpu_tile tile = sizes[i];
      if (!tile_fits(p, matrix, &tile)) break;
      tile_divide(p, &tile, splits);
      bool busy = p->block.down * p->block.across * p->extents[DOT_BATCH] >= processors;
      if (splits > 1 && (busy || splits * TILE_SPLIT_SLABS > tile_slabs(p))) break;
      int64_t cost = tile_cost(p, processors);
      if (cost >= best) continue;
      best = cost;
      chosen = p->block;
    }
  p->block = chosen;
}

/* Symbolic sizes have the tile of likely ones, and as many parts; some of these may be empty. */
bool gpu_dot_plan(const lower_kernel *kernel, dot_plan *p) {
  dot_plan likely = *p;
  for (int g = 0; g < DOT_GROUPS; g++)
    likely.extents[g] = loom_num_hint(p->extents[g]);
  tile_choose(kernel, &likely);
  p->block = likely.block;
  p->block.down = loom_num_ceil(p->extents[DOT_ROW], p->block.rows);
  p->block.across = loom_num_ceil(p->extents[DOT_COLUMN], p->block.columns);
  p->block.split = loom_num_ceil(tile_slabs(p), p->block.splits);
  p->stages[0] = loom_num_mul(loom_num_mul(p->extents[DOT_BATCH], p->block.splits),
                              loom_num_mul(p->block.down, p->block.across));
  gpu_ring_plan(kernel, p);
  if (p->block.splits > 1) {
    p->stages[p->stage_count++] = loom_num_ceil(tile_total(p), GPU_BLOCK);
    int64_t parts = loom_num_mul(p->block.splits, tile_total(p));
    p->slots = loom_num_mul(parts, (int64_t)loom_dtype_size(p->work));
  }
  if (loom_num_take_failure())
    return loom_emit_error(mlirOperationGetLocation(p->op), "a size that cannot be expressed");
  return true;
}

/* ---- numbers ---- */

MlirValue tile_int(lower *l, int64_t value) { return lower_int(l, value).v; }

MlirValue tile_number(lower *l, MlirValue thread, int by, int of) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  if (by > 1) thread = lane_op2(&b, "arith.divui", thread, loom_build_int(&b, i32, by));
  if (of < GPU_BLOCK / by)
    thread = lane_op2(&b, "arith.remui", thread, loom_build_int(&b, i32, of));
  return loom_build1(&b, "arith.extui", thread, i64);
}

MlirValue tile_add(lower *l, MlirValue x, int64_t y) {
  return y ? dot_op(l, "arith.addi", x, y) : x;
}

MlirValue tile_address(lower *l, const dot_plan *p, MlirValue ptr, MlirValue offset) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_address(&b, ptr, offset, p->work);
}

void tile_align(const lower *l, MlirOperation access, loom_dtype dtype, int width) {
  int64_t bytes = width * (int64_t)loom_dtype_size(dtype);
  loom_set_attr(access, "alignment", loom_attr_i64(l->kernel->ctx, bytes));
}

MlirValue tile_clamp(lower *l, MlirValue at, int64_t extent, int step) {
  if (loom_num_multiple(extent, step)) return at;
  return dot_op(l, "arith.minsi", at, loom_num_sub(extent, 1));
}

MlirValue tile_zero(lower *l, const dot_plan *p, int width) {
  loom_builder b = lower_at_level(l, 0);
  MlirType type = lane_type(b.ctx, p->work, width);
  return loom_dtype_is_float(p->work) ? lane_const_float(&b, type, 0) : lane_const_int(&b, type, 0);
}

void tile_if(lower *l, MlirValue condition, int count, tile_maker make, tile_maker otherwise,
             void *user, MlirValue *out) {
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  MlirType types[2 * SLAB_PIECES];
  for (int i = 0; i < 2; i++) {
    MlirBlock block = mlirBlockCreate(0, NULL, NULL);
    lower_push(l, block);
    (i ? otherwise : make)(l, user, out);
    lower_pop(l);
    loom_builder inner = loom_builder_at_end(block, l->loc);
    if (!l->failed) loom_build(&inner, "scf.yield", count, out, 0, NULL, 0, NULL);
    mlirRegionAppendOwnedBlock(regions[i], block);
  }
  for (int i = 0; i < count && !l->failed; i++)
    types[i] = mlirValueGetType(out[i]);
  loom_builder b = lower_at_level(l, l->depth);
  MlirOperation op = loom_build_regions(&b, "scf.if", 1, &condition, l->failed ? 0 : count, types,
                                        0, NULL, 2, regions);
  for (int i = 0; i < count && !l->failed; i++)
    out[i] = loom_result(op, i);
}

/* ---- vectors ---- */

static bool tile_is_vector(const lower *l, const dot_plan *p, int along, int width) {
  if (!loom_num_multiple(p->extents[along], width)) return false;
  for (int i = 0; i < l->access_count; i++) {
    const lower_access *a = &l->accesses[i];
    if (a->guarded || loom_dtype_is_complex(a->dtype)) return false;
    bool turns = a->opaque && a->opaque_vars >> along & 1;
    if (turns || (a->coef[along] == 0 && a->store)) return false;
    if (a->coef[along] == 0) continue;
    if (a->opaque && a->opaque_step % width) return false;
    if (a->coef[along] != 1 || !loom_num_multiple(a->constant, width)) return false;
    for (int g = 0; g < DOT_GROUPS; g++)
      if (g != along && p->extents[g] != 1 && !loom_num_multiple(a->coef[g], width)) return false;
  }
  return true;
}

int tile_vector(const lower *dry, const dot_plan *p, int along, int width, int *bytes) {
  while (width > 1 && (dry->failed || !tile_is_vector(dry, p, along, width)))
    width /= 2;
  for (int i = 0; i < dry->access_count && width > 1; i++) {
    const lower_access *a = &dry->accesses[i];
    const lower_buffer *buffers = a->store ? dry->kernel->results : dry->kernel->operands;
    int slot = buffers[a->operand].slot, size = width * (int)loom_dtype_size(a->dtype);
    if (slot >= 0 && a->coef[along] && size > bytes[slot]) bytes[slot] = size;
  }
  return width;
}

MlirValue tile_aligned(lower *l, const int *bytes) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue off = loom_build_int(&b, i64, 0);
  for (int i = 0; i < TILE_BUFFERS; i++) {
    if (!bytes[i]) continue;
    MlirValue at = loom_build1(&b, "llvm.ptrtoint", l->pointers[i], i64);
    at = lane_op2(&b, "arith.andi", at, loom_build_int(&b, i64, bytes[i] - 1));
    off = lane_op2(&b, "arith.ori", off, at);
  }
  return lane_cmpi(&b, "eq", off, loom_build_int(&b, i64, 0));
}

/* ---- a block ---- */

/* Tiles of one batch. */
static int64_t tile_count(const gpu_tile *tile) { return loom_num_mul(tile->down, tile->across); }

/* Tiles, and blocks of a launch, have numbers of 31 bits. A GPU divides those of 64 by a call,
 * which takes registers, where the divisor is not known. */
static MlirValue tile_divide_number(lower *l, const char *op, MlirValue number, int64_t by) {
  if (!LOOM_STRIDE_IS_SYM(by)) return dot_op(l, op, number, by);
  MlirValue divisor = tile_int(l, by);
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue x = loom_build1(&b, "arith.trunci", number, i32);
  MlirValue y = loom_build1(&b, "arith.trunci", divisor, i32);
  return loom_build1(&b, "arith.extui", lane_op2(&b, op, x, y), i64);
}

/* The slabs of a block. The result is the number of its tile. */
static MlirValue tile_open_part(lower *l, gpu_block *block) {
  const gpu_tile *tile = &block->p->block;
  block->low = tile_int(l, 0);
  block->high = tile_int(l, tile_slabs(block->p));
  if (tile->splits == 1) return l->begin;
  int64_t tiles = loom_num_mul(tile_count(tile), block->p->extents[DOT_BATCH]);
  block->part = tile_divide_number(l, "arith.divui", l->begin, tiles);
  block->low = dot_op(l, "arith.muli", block->part, tile->split);
  MlirValue high = dot_op(l, "arith.addi", block->low, tile->split);
  block->high = dot_op(l, "arith.minsi", high, tile_slabs(block->p));
  return tile_divide_number(l, "arith.remui", l->begin, tiles);
}

/* How many elements of a row the epilogue takes at once: 16 bytes of sums, where that fits. Sums of
 * a part of the depth go to slots. */
void gpu_block_vectors(lower *l, gpu_block *block) {
  const dot_plan *p = block->p;
  int bytes[TILE_BUFFERS] = {0}, most = 16 / (int)loom_dtype_size(p->work);
  block->width = 1;
  if (p->finish != dot_finish_sums || most > p->block.columns) return;
  if (block->part.ptr) {
    while (!loom_num_multiple(p->extents[DOT_COLUMN], most))
      most /= 2;
    block->width = most;
    bytes[l->kernel->buffer_count] = most * (int)loom_dtype_size(p->work);
  } else {
    lower dry;
    loom_arena arena = {NULL};
    lower_init(&dry, l->kernel, &arena, true);
    dot_set_extents(&dry, p);
    const lower_at *at = dot_result_at(&dry, p);
    if (at) lower_finish(&dry, p->result, at, (lower_value){{NULL}, 0, true, p->dtype});
    block->width = tile_vector(&dry, p, DOT_COLUMN, most, bytes);
    loom_arena_fini(&arena);
  }
  if (block->width > 1) block->aligned = tile_aligned(l, bytes);
}

/* The row and the column of tile number `number`. Blocks that run at the same time share rows and
 * columns: they go down a few tiles before they go across. */
static void tile_find(lower *l, const gpu_tile *tile, MlirValue number, MlirValue *row,
                      MlirValue *column) {
  if (tile->down == 1 || loom_num_hint(tile_count(tile)) < TILE_PROCESSORS) {
    *row = tile_divide_number(l, "arith.divui", number, tile->across);
    *column = tile_divide_number(l, "arith.remui", number, tile->across);
    return;
  }
  int64_t group = loom_num_mul(TILE_GROUP, tile->across);
  MlirValue first = tile_divide_number(l, "arith.divui", number, group);
  MlirValue within = tile_divide_number(l, "arith.remui", number, group);
  first = dot_op(l, "arith.muli", first, TILE_GROUP);
  MlirValue size = tile_int(l, TILE_GROUP);
  loom_builder b = lower_at_level(l, l->depth);
  if (!loom_num_multiple(tile->down, TILE_GROUP)) {
    MlirValue left = lane_op2(&b, "arith.subi", tile_int(l, tile->down), first);
    size = dot_op(l, "arith.minsi", left, TILE_GROUP);
  }
  b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  within = loom_build1(&b, "arith.trunci", within, i32);
  size = loom_build1(&b, "arith.trunci", size, i32);
  MlirValue down = loom_build1(&b, "arith.extui", lane_op2(&b, "arith.remui", within, size), i64);
  *row = lane_op2(&b, "arith.addi", first, down);
  *column = loom_build1(&b, "arith.extui", lane_op2(&b, "arith.divui", within, size), i64);
}

void gpu_block_find(lower *l, gpu_block *block, MlirValue chunk) {
  const gpu_tile *tile = &block->p->block;
  MlirValue number = tile_divide_number(l, "arith.remui", chunk, tile_count(tile));
  tile_find(l, tile, number, &block->first[0], &block->first[1]);
  block->first[0] = dot_op(l, "arith.muli", block->first[0], tile->rows);
  block->first[1] = dot_op(l, "arith.muli", block->first[1], tile->columns);
  dot_set(l, DOT_BATCH, tile_divide_number(l, "arith.divui", chunk, tile_count(tile)));
}

void gpu_block_open(lower *l, gpu_block *block) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
  block->thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  gpu_block_find(l, block, tile_open_part(l, block));
  gpu_block_vectors(l, block);
}

/* ---- the epilogue ---- */

/* Where part number `part` of element number `at` of the result lies. */
static MlirValue tile_slot(lower *l, const gpu_block *block, MlirValue part, MlirValue at) {
  MlirValue slots = l->pointers[l->kernel->buffer_count];
  return tile_address(l, block->p, slots, dot_add_scaled(l, at, part, tile_total(block->p)));
}

static void tile_finish_sum(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_block *block = user;
  const dot_plan *p = block->p;
  if (block->part.ptr) {
    MlirValue at = dot_add_scaled(l, block->row, l->vars[DOT_BATCH].iv, p->extents[DOT_ROW]);
    at = dot_add_scaled(l, block->column, at, p->extents[DOT_COLUMN]);
    MlirValue slot = tile_slot(l, block, block->part, at);
    loom_builder b = lower_at_level(l, l->depth);
    MlirOperation store = lane_store(&b, block->sum, slot, p->work, (MlirValue){NULL});
    if (l->team.aligned) tile_align(l, store, p->work, block->width);
    return;
  }
  dot_set(l, DOT_ROW, block->row);
  dot_set(l, DOT_COLUMN, block->column);
  if (block->width > 1) l->lane_var = DOT_COLUMN;
  l->width = block->width;
  p->finish(l, p, block->sum);
  l->lane_var = -1;
  l->width = 1;
}

typedef struct tile_finish {
  gpu_block *block;
  const gpu_sums *sums;
} tile_finish;

/* Row n of the sums as a row of the tile. */
static MlirValue tile_row(lower *l, const gpu_sums *sums, MlirValue n) {
  MlirValue far = dot_op(l, "arith.divui", n, sums->group);
  MlirValue near = dot_op(l, "arith.remui", n, sums->group);
  MlirValue row = dot_op(l, "arith.muli", far, sums->far);
  return tile_add(l, dot_add_scaled(l, row, near, sums->near), sums->base);
}

/* One element, or a vector of some: threads that follow each other take columns that do. */
static void tile_finish_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_finish *finish = user;
  gpu_block *block = finish->block;
  const dot_plan *p = block->p;
  int columns = p->block.columns;
  MlirType i64 = mlirIntegerTypeGet(l->kernel->ctx, 64);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue at = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  at = lane_op2(&b, "arith.addi", at, loom_build1(&b, "arith.extui", block->thread, i64));
  if (block->width > 1) at = dot_op(l, "arith.muli", at, block->width);
  MlirValue n = dot_op(l, "arith.divui", at, columns);
  MlirValue column = dot_op(l, "arith.remui", at, columns);
  MlirValue place = dot_add_scaled(l, column, n, finish->sums->pitch);
  MlirValue ptr = tile_address(l, p, block->memory, place), row = tile_row(l, finish->sums, n);
  b = lower_at_level(l, l->depth);
  block->row = lane_op2(&b, "arith.addi", block->first[0], row);
  block->column = lane_op2(&b, "arith.addi", block->first[1], column);
  block->sum = lane_load(&b, ptr, p->work, block->width, (MlirValue){NULL});
  tile_align(l, loom_def(block->sum), p->work, block->width);
  MlirValue inside = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 1), 1);
  if (!loom_num_multiple(p->extents[DOT_ROW], p->block.rows))
    inside = lane_cmpi(&b, "slt", block->row, tile_int(l, p->extents[DOT_ROW]));
  if (!loom_num_multiple(p->extents[DOT_COLUMN], columns))
    inside = lane_op2(&b, "arith.andi", inside,
                      lane_cmpi(&b, "slt", block->column, tile_int(l, p->extents[DOT_COLUMN])));
  lower_if(l, inside, tile_finish_sum, block);
}

static void tile_finish_sums(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_finish *finish = user;
  int count = finish->sums->rows * finish->block->p->block.columns / finish->block->width;
  lower_for(l, tile_int(l, 0), tile_int(l, count), tile_int(l, GPU_BLOCK), -1, 0, NULL,
            tile_finish_element, user, NULL);
}

static void tile_finish_aligned(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  l->team.aligned = true;
  tile_finish_sums(l, user, carried, next);
  l->team.aligned = false;
}

void gpu_block_finish(lower *l, gpu_block *block, const gpu_sums *sums) {
  tile_finish finish = {block, sums};
  while (sums->rows * block->p->block.columns % (block->width * GPU_BLOCK))
    block->width /= 2; /* every thread has as many */
  if (block->width > 1)
    lower_if_else(l, block->aligned, tile_finish_aligned, tile_finish_sums, &finish);
  else
    tile_finish_sums(l, &finish, NULL, NULL);
}

/* ---- the parts of the depth, added up ---- */

static MlirValue tile_sum(loom_builder *b, const dot_plan *p, MlirValue x, MlirValue y) {
  const char *add = loom_dtype_is_float(p->work) ? "arith.addf"
                    : p->dtype == LOOM_BOOL      ? "arith.ori"
                                                 : "arith.addi";
  return lane_op2(b, add, x, y);
}

static void tile_join_part(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_block *block = user;
  MlirValue part = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue slot = tile_slot(l, block, part, block->at);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue value = lane_load(&b, slot, block->p->work, 1, (MlirValue){NULL});
  next[0] = tile_sum(&b, block->p, carried[0], value);
}

static void tile_join_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_block *block = user;
  const dot_plan *p = block->p;
  int64_t rows = p->extents[DOT_ROW], columns = p->extents[DOT_COLUMN];
  MlirValue sum = tile_zero(l, p, 1), row = dot_op(l, "arith.divui", block->at, columns);
  lower_for(l, tile_int(l, 0), tile_int(l, p->block.splits), tile_int(l, 1), -1, 1, &sum,
            tile_join_part, user, &sum);
  dot_set(l, DOT_BATCH, dot_op(l, "arith.divui", row, rows));
  dot_set(l, DOT_ROW, dot_op(l, "arith.remui", row, rows));
  dot_set(l, DOT_COLUMN, dot_op(l, "arith.remui", block->at, columns));
  p->finish(l, p, sum);
}

/* The second stage: an element for each thread, whose parts are added up, and the epilogue. */
static void tile_join(lower *l, const dot_plan *p) {
  gpu_block block = {.p = p};
  gpu_each(l, tile_total(p), &block.at, tile_join_element, &block);
}

bool gpu_dot_lower(lower *l, const dot_plan *p, int stage) {
  gpu_block block = {.p = p};
  l->team.size = GPU_BLOCK;
  if (stage == 1)
    tile_join(l, p);
  else if (p->block.ring)
    gpu_ring_blocks(l, p);
  else if (p->block.matrix)
    gpu_mma_block(l, &block);
  else
    gpu_fma_block(l, &block);
  return !l->failed;
}
