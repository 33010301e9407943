/* Cells of an attention (gpu_flash.h): what a thread has of 16 x 16 elements, and products of them.
 *
 * A cell is what one or two calls of an instruction add up. Which elements a thread has follows
 * from the table of instructions (gpu_matrix.c). Of mma these are two own rows and eight x; what
 * two sums next to each other hold is, in the same order, a fragment of the left operand. Of MFMA
 * and WMMA, whose own side is the right operand, they are one own row; with MFMA its four x are
 * those of the right operand's fragment, with WMMA they are every second one, and another thread
 * has the others.
 */
#include "passes/gpu_flash.h"

#include <stdio.h>

static int cell_parts(const gpu_flash *f) { return FLASH_SIDE / f->matrix.n; }

int gpu_flash_values(const gpu_flash *f) { return cell_parts(f) * f->matrix.sums; }

/* The row and the column of value v among the thread's sums. */
static int cell_line(const gpu_flash *f, int v) {
  const gpu_matrix *m = &f->matrix;
  return v % m->sums / m->sums_beside * m->sums_step;
}
static int cell_column(const gpu_flash *f, int v) {
  const gpu_matrix *m = &f->matrix;
  return v / m->sums * m->n + v % m->sums % m->sums_beside;
}

int gpu_flash_x(const gpu_flash *f, int v) {
  return f->swapped ? cell_line(f, v) : cell_column(f, v);
}

int gpu_flash_own_rows(const gpu_flash *f) {
  return f->swapped ? 1 : f->matrix.sums / f->matrix.sums_beside;
}

int gpu_flash_row(const gpu_flash *f, int v) {
  return f->swapped ? 0 : cell_line(f, v) / f->matrix.sums_step;
}

void gpu_flash_places(lower *l, flash_job *j) {
  const matrix_place *sum = &j->f->matrix.of_sum;
  MlirValue line = matrix_value(l, sum->line, j->thread), at = matrix_value(l, sum->at, j->thread);
  j->row = j->f->swapped ? at : line;
  j->x = j->f->swapped ? line : at;
}

MlirValue gpu_flash_share(lower *l, const gpu_flash *f, const char *op, MlirValue value) {
  const matrix_term *x = f->swapped ? f->matrix.of_sum.line : f->matrix.of_sum.at;
  for (int mask = x->by; mask < x->by * x->of; mask *= 2) {
    loom_builder b = alone_here(l);
    value = lane_op2(&b, op, value, gpu_shuffle(l, &b, value, mask));
  }
  return value;
}

/* ---- values ---- */

static MlirValue cell_zero(lower *l, int width) {
  loom_builder b = lower_at_level(l, 0);
  return lane_const_float(&b, lane_type(b.ctx, LOOM_F32, width), 0);
}

flash_cell gpu_flash_zero(lower *l, const gpu_flash *f) {
  flash_cell cell = {0};
  for (int p = 0; p < cell_parts(f); p++)
    cell.parts[p] = cell_zero(l, f->matrix.sums);
  return cell;
}

MlirValue gpu_flash_value(lower *l, const gpu_flash *f, const flash_cell *cell, int v) {
  loom_builder b = alone_here(l);
  return lane_extract(&b, cell->parts[v / f->matrix.sums], v % f->matrix.sums);
}

/* Single numbers with mma, as in a product (gpu_mma.c); vectors with AMD's. */
int gpu_flash_carried(const gpu_flash *f) {
  return f->swapped ? cell_parts(f) : gpu_flash_values(f);
}

void gpu_flash_take_apart(lower *l, const gpu_flash *f, int count, const flash_cell *cells,
                          MlirValue *out) {
  int carried = gpu_flash_carried(f);
  for (int i = 0; i < count; i++)
    for (int v = 0; v < carried; v++)
      *out++ = f->swapped ? cells[i].parts[v] : gpu_flash_value(l, f, &cells[i], v);
}

void gpu_flash_put_together(lower *l, const gpu_flash *f, int count, const MlirValue *values,
                            flash_cell *out) {
  int carried = gpu_flash_carried(f), sums = f->matrix.sums;
  for (int i = 0; i < count; i++) {
    out[i] = gpu_flash_zero(l, f);
    for (int v = 0; v < carried; v++) {
      MlirValue *part = &out[i].parts[f->swapped ? v : v / sums], value = *values++;
      loom_builder b = alone_here(l);
      *part = f->swapped ? value : lane_insert(&b, *part, value, v % sums);
    }
  }
}

void gpu_flash_scale(lower *l, const gpu_flash *f, int count, const MlirValue *by,
                     MlirValue *values) {
  int carried = gpu_flash_carried(f);
  for (int i = 0; i < count * carried; i++) {
    loom_builder b = alone_here(l);
    MlirValue number =
        f->swapped ? lane_splat(&b, by[0], f->matrix.sums) : by[gpu_flash_row(f, i % carried)];
    values[i] = lane_op2(&b, "arith.mulf", values[i], number);
  }
}

/* ---- products ---- */

/* cell += own fragment x the other operand's, whose columns or rows are the cell's x. */
static void cell_multiply(lower *l, const gpu_flash *f, MlirValue own, MlirValue other,
                          flash_cell *cell) {
  MlirValue halves[FLASH_PARTS] = {other};
  loom_builder b = alone_here(l);
  if (cell_parts(f) == 2) lane_halves(&b, other, &halves[0], &halves[1]);
  for (int p = 0; p < cell_parts(f); p++) {
    MlirValue left = f->swapped ? halves[p] : own, right = f->swapped ? own : halves[p];
    cell->parts[p] = gpu_matrix_multiply(l, &f->matrix, left, right, cell->parts[p]);
  }
}

void gpu_flash_multiply(lower *l, const flash_job *j, flash_tile *tile, MlirValue offset, int steps,
                        const MlirValue *own, MlirValue *scores) {
  const gpu_flash *f = j->f;
  flash_cell cells[FLASH_CELLS];
  for (int i = 0; i < f->cells; i++)
    cells[i] = gpu_flash_zero(l, f);
  for (int step = 0; step < steps && !l->failed; step++)
    for (int i = 0; i < f->cells; i++) {
      MlirValue other =
          gpu_slab_fragment(l, &tile->along, offset, i * FLASH_SIDE, step * FLASH_SIDE);
      cell_multiply(l, f, own[step], other, &cells[i]);
    }
  for (int i = 0; i < f->cells; i++)
    for (int v = 0; v < gpu_flash_values(f); v++)
      *scores++ = gpu_flash_value(l, f, &cells[i], v);
}

/* ---- weights as fragments ---- */

MlirValue gpu_flash_pair(lower *l, const gpu_flash *f, MlirValue low, MlirValue high) {
  bool bfloat = f->dot.dtype == LOOM_BF16;
  loom_builder b = alone_here(l);
  MlirType f32 = mlirValueGetType(low), types[] = {f32, f32};
  MlirValue both[] = {low, high};
  return gpu_call(&b, l->kernel->op, bfloat ? "loom_gpu_pack_bf16" : "loom_gpu_pack_f16", 2, types,
                  both, mlirIntegerTypeGet(b.ctx, 32));
}

/* Numbers of a thread as halves, by twos in words. */
MlirValue gpu_flash_pack(lower *l, const gpu_flash *f, const MlirValue *numbers) {
  int count = gpu_flash_values(f);
  loom_builder b = alone_here(l);
  MlirValue words = lane_const_int(&b, lane_int(b.ctx, 32, count / 2), 0);
  for (int v = 0; v < count; v += 2) {
    MlirValue word = gpu_flash_pair(l, f, numbers[v], numbers[v + 1]);
    b = alone_here(l);
    words = lane_insert(&b, words, word, v / 2);
  }
  return words;
}

/* With WMMA: the thread has every second number, and the thread at a distance of 16 the others. */
static MlirValue cell_zip(lower *l, const flash_job *j, MlirValue words) {
  int count = gpu_flash_values(j->f);
  loom_builder b = alone_here(l);
  MlirType i32 = lane_int(b.ctx, 32, 1);
  MlirValue out = lane_const_int(&b, lane_int(b.ctx, 32, count), 0), one_x = alone_const(l, 1);
  MlirValue first = lane_cmpi(&b, "slt", j->x, one_x);
  MlirValue low = lane_const_int(&b, i32, 0xffff), half = lane_const_int(&b, i32, 16);
  for (int w = 0; w < count / 2; w++) {
    MlirValue mine = lane_extract(&b, words, w), other = gpu_shuffle(l, &b, mine, GPU_WARP / 2);
    b = alone_here(l);
    MlirValue even = lane_select(&b, first, mine, other);
    MlirValue odd = lane_select(&b, first, other, mine);
    MlirValue one = lane_op2(&b, "arith.ori", lane_op2(&b, "arith.andi", even, low),
                             lane_op2(&b, "arith.shli", odd, half));
    MlirValue high = lane_op2(&b, "arith.andi", odd, lane_const_int(&b, i32, (int64_t)0xffff0000));
    MlirValue two = lane_op2(&b, "arith.ori", lane_op2(&b, "arith.shrui", even, half), high);
    out = lane_insert(&b, lane_insert(&b, out, one, 2 * w), two, 2 * w + 1);
  }
  return out;
}

void gpu_flash_weigh(lower *l, const flash_job *j, flash_tile *tile, MlirValue offset, int count,
                     const MlirValue *weights, flash_cell *cells) {
  const gpu_flash *f = j->f;
  for (int step = 0; step < f->cells && !l->failed; step++) {
    MlirValue own = gpu_flash_pack(l, f, weights + step * gpu_flash_values(f));
    if (f->matrix.run > gpu_flash_values(f)) own = cell_zip(l, j, own);
    for (int i = 0; i < count; i++) {
      MlirValue other =
          gpu_slab_fragment(l, &tile->turned, offset, i * FLASH_SIDE, step * FLASH_SIDE);
      cell_multiply(l, f, own, other, &cells[i]);
    }
  }
}
