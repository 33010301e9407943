/* How an attention is divided for instructions on matrices (gpu_flash.h). Sizes alone decide. */
#include "passes/gpu_flash.h"

#include <math.h>
#include <string.h>

#define FLASH_WIDE                                                                                 \
  (FLASH_SIDE * FLASH_CELLS) /* columns, forward, where sums are single registers; */
#define FLASH_COLUMNS 128    /* otherwise */
#define FLASH_LARGE 64       /* rows of a tile of the other side, */
#define FLASH_SMALL                                                                                \
  32 /* or so many where warps multiply and two operands of more than 64 columns lie there twice   \
      */
#define FLASH_FEW 32  /* so many queries have warps across a tile of keys, */
#define FLASH_FAR 256 /* of which there are this many at least */
#define FLASH_PROCESSORS 128
#define FLASH_SPLITS 32
#define FLASH_SPLIT_TILES 4 /* of a part, at least */

int64_t gpu_flash_rows(const gpu_flash *f, bool own) {
  return f->keys == own ? f->op.keys : f->op.queries;
}

int gpu_flash_bytes(const gpu_flash *f, int rows) { return rows * f->length * 2; }

static int flash_length(int64_t columns) {
  int length = FLASH_SIDE;
  while (length < columns)
    length *= 2;
  return length;
}

/* The rows of one operand are those of a tile for all: they need no end before the first one. */
static bool flash_takes(const lower_kernel *kernel, gpu_flash *f) {
  const attention_plan *p = &f->op;
  loom_dtype dtype = p->q.at.type.dtype;
  const gpu_matrix *matrix = loom_dtype_is_half(dtype) ? gpu_matrix_for(kernel, dtype) : NULL;
  if (!matrix) return false;
  int most = gpu_matrix_is_nvidia(matrix) && !p->gradient ? FLASH_WIDE : FLASH_COLUMNS;
  if (p->depth > most || p->width > most) return false;
  if (loom_num_low(p->queries) < 1 || loom_num_low(p->keys) < 1) return false;
  if (kernel->buffer_count >= TILE_BUFFERS) return false;
  f->matrix = f->narrow = *matrix;
  if (matrix->run && matrix->run < matrix->reach) {
    f->narrow.reach = matrix->run;
    for (int i = 0; i < 2; i++)
      f->narrow.of[i].at[0].scale = f->narrow.turned[i].line[0].scale = matrix->run;
  }
  f->swapped = matrix->m == matrix->n;
  f->dot = (dot_plan){.dtype = dtype, .factor = dtype, .work = LOOM_F32, .op = p->op};
  f->dot.block.matrix = &f->matrix;
  f->narrow_dot = f->dot;
  f->narrow_dot.block.matrix = &f->narrow;
  return true;
}

/* Few blocks and many keys: the keys have parts. */
static void flash_split(gpu_flash *f) {
  int64_t most = loom_num_hint(gpu_flash_rows(f, false)) / (FLASH_SPLIT_TILES * f->other);
  int64_t blocks = loom_num_hint(gpu_flash_blocks(f)), splits = 1;
  while (blocks && blocks * splits < FLASH_PROCESSORS && splits * 2 <= most &&
         splits < FLASH_SPLITS)
    splits *= 2;
  int64_t tiles = loom_num_ceil(gpu_flash_rows(f, false), f->other);
  f->split = loom_num_mul(loom_num_ceil(tiles, splits), f->other);
  f->splits = splits;
}

/* Is it a constant above 0? */
static bool flash_above(MlirValue scale) {
  MlirAttribute value = loom_constant_of(scale);
  return value.ptr && mlirAttributeIsAFloat(value) && mlirFloatAttrGetValueDouble(value) > 0;
}

/* Rows of a tile of the other side. With WMMA a thread has fragments of whole rows, and what it has
 * of a tile is to fit beside them. */
static int flash_tile_rows(const gpu_flash *f, bool few) {
  bool gradient = f->op.gradient, wide = f->length > FLASH_LARGE;
  bool whole = f->matrix.run == FLASH_SIDE && !few;
  if (whole) return gradient || wide ? FLASH_SIDE : FLASH_SMALL;
  if (f->length > FLASH_COLUMNS) return FLASH_SMALL;
  return gradient && wide && !f->group ? FLASH_SMALL : FLASH_LARGE;
}

bool gpu_flash_divide(const lower_kernel *kernel, gpu_flash *f, bool keys) {
  const attention_plan *p = &f->op;
  if (!flash_takes(kernel, f)) return false;
  int warps = GPU_BLOCK / f->matrix.threads;
  f->keys = keys;
  f->columns[0] = (int)loom_ceil_div(p->depth, FLASH_SIDE);
  f->columns[1] = (int)loom_ceil_div(p->width, FLASH_SIDE);
  f->length = flash_length(p->depth > p->width ? p->depth : p->width);
  f->other = f->length > FLASH_COLUMNS ? FLASH_SMALL : FLASH_LARGE;
  bool few =
      !p->gradient && loom_num_hint(p->queries) <= FLASH_FEW && loom_num_hint(p->keys) >= FLASH_FAR;
  f->across = few ? f->other / FLASH_SIDE : 1;
  f->group = gpu_flash_group(kernel, f);
  f->other = flash_tile_rows(f, few);
  f->down = warps / f->across;
  f->own = FLASH_SIDE * f->down;
  f->cells = f->other / FLASH_SIDE / f->across;
  f->tiles = loom_num_ceil(gpu_flash_rows(f, true), f->own);
  f->splits = 1;
  if (!p->gradient) flash_split(f);
  f->later = !p->mask.buffer && flash_above(p->scale);
  return true;
}

int64_t gpu_flash_blocks(const gpu_flash *f) {
  const attention_plan *p = &f->op;
  int64_t heads = loom_num_mul(p->batch, f->keys ? p->groups : p->heads);
  return loom_num_mul(loom_num_mul(heads, f->tiles), f->splits);
}

/* ---- the block ---- */

void gpu_flash_enter(lower *l, flash_job *j, MlirValue head) {
  const attention_plan *p = &j->f->op;
  j->head = head;
  if (p->mask.buffer) j->mask = attention_head(l, &p->mask, j->batch, head);
}

static void flash_warps(lower *l, flash_job *j) {
  const gpu_flash *f = j->f;
  int threads = f->matrix.threads;
  MlirValue down = tile_number(l, j->thread, threads, f->down);
  j->down = alone_op(l, "arith.muli", down, FLASH_SIDE);
  j->across = alone_const(l, 0);
  if (f->across == 1) return;
  MlirValue across = tile_number(l, j->thread, threads * f->down, f->across);
  j->across = alone_op(l, "arith.muli", across, (int64_t)FLASH_SIDE * f->cells);
}

/* Blocks that have the most to do come first: with causal, those of the last queries. */
static void flash_find(lower *l, flash_job *j) {
  const gpu_flash *f = j->f;
  const attention_plan *p = &f->op;
  MlirValue tile, rest = l->begin;
  if (f->splits > 1) rest = attention_divide(l, rest, f->splits, &j->split);
  rest = attention_divide(l, rest, f->tiles, &tile);
  if (p->causal && !f->keys) {
    MlirValue last = alone_op(l, "arith.subi", alone_const(l, f->tiles), 1);
    tile = alone_op2(l, "arith.subi", last, tile);
  }
  j->own = alone_op(l, "arith.muli", tile, f->own);
  if (f->keys) {
    j->batch = attention_divide(l, rest, p->groups, &j->group);
    return;
  }
  j->batch = attention_divide(l, rest, p->heads, &rest);
  gpu_flash_enter(l, j, rest);
  j->group = alone_op(l, "arith.divui", j->head, p->heads / p->groups);
}

void gpu_flash_open(lower *l, const gpu_flash *f, int shared, flash_job *out) {
  flash_job *j = out;
  memset(j, 0, sizeof *j);
  j->f = f;
  MlirValue scale = attention_scale(l, &f->op);
  if (l->failed) return;
  loom_builder b = alone_here(l);
  j->log2e = attention_vector(l, &f->op, 1.4426950408889634);
  j->scale = lane_op2(&b, "arith.mulf", scale, j->log2e);
  j->thread =
      gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, mlirIntegerTypeGet(b.ctx, 32));
  l->team.size = GPU_BLOCK;
  bool narrow = f->length <= FLASH_LARGE && f->across == 1;
  l->team.blocks = narrow && !f->op.gradient && !f->op.mask.buffer ? 2 : 1;
  flash_warps(l, j);
  gpu_flash_places(l, j);
  b = alone_here(l);
  j->memory = gpu_shared(l, &b, shared);
  flash_find(l, j);
}
