/* Attention on a GPU by instructions on matrices (gpu_flash.h): a block has a tile of queries.
 *
 *   the queries become fragments, which stay in registers
 *   for each tile of keys, with causal up to the last query's own:
 *     wait for the keys; the next ones begin to be copied
 *     scores; the largest one of each query so far; weights: 2^(score - largest)
 *     wait for the values; the next ones begin to be copied
 *     results = results * 2^(largest before - largest) + weights x values
 *   results / sum of the weights
 *
 * Shared memory has three places for tiles, which keys and values take by turns: a tile comes to
 * the place of the one that was used before the last barrier.
 *
 * Few queries have warps across a tile of keys, and few blocks have parts of the keys. What each of
 * these parts has is put together by a second stage (gpu_flash_parts.c).
 */
#include "passes/gpu_flash.h"
#include "loom_ops_functions.h"
#include "passes/math.h"

#include <math.h>

#define FLASH_PLACES 3

typedef struct forward_job {
  flash_job j;
  flash_tile k, v;
  MlirValue own[FLASH_CELLS]; /* the queries */
  MlirValue high;             /* keys that the block sees */
  int results;                /* carried values of the results; behind them are largest scores,
                                 then sums of weights, then the places */
} forward_job;

static MlirValue forward_low(lower *l, const gpu_flash *f) {
  return attention_vector(l, &f->op, -INFINITY);
}

/* Scores become weights. NaN are left to the sums. Where all scores have been -inf, weights are
 * taken from 0, so that they are 0 and not NaN. */
static void forward_softmax(lower *l, const flash_job *j, MlirValue *scores, MlirValue *largest,
                            MlirValue *sums, MlirValue *by) {
  const gpu_flash *f = j->f;
  int values = gpu_flash_values(f), rows = gpu_flash_own_rows(f);
  MlirValue zero = attention_vector(l, &f->op, 0), low = forward_low(l, f), from[FLASH_ROWS];
  MlirValue total[FLASH_ROWS] = {{NULL}};
  for (int k = 0; k < rows; k++) {
    MlirValue before = largest[k], most = before;
    for (int i = 0; i < f->cells * values; i++)
      if (gpu_flash_row(f, i % values) == k) most = alone_op2(l, "arith.maxnumf", most, scores[i]);
    largest[k] = gpu_flash_share(l, f, "arith.maxnumf", most);
    loom_builder b = alone_here(l);
    from[k] = lane_select(&b, lane_cmpf(&b, "oeq", largest[k], low), zero, largest[k]);
    by[k] = lane_op2(&b, "arith.subf", before, from[k]);
    if (f->later) {
      by[k] = lane_op2(&b, "arith.mulf", by[k], j->scale);
      from[k] = lane_op2(&b, "arith.mulf", from[k], j->scale);
    }
    by[k] = gpu_flash_exp2(l, by[k]);
    from[k] = lane_op1(&b, "arith.negf", from[k]);
  }
  for (int i = 0; i < f->cells * values; i++) {
    int k = gpu_flash_row(f, i % values);
    loom_builder b = alone_here(l);
    MlirValue score = f->later ? lane_fma(&b, scores[i], j->scale, from[k])
                               : lane_op2(&b, "arith.addf", scores[i], from[k]);
    scores[i] = gpu_flash_exp2(l, score);
    total[k] = total[k].ptr ? alone_op2(l, "arith.addf", total[k], scores[i]) : scores[i];
  }
  for (int k = 0; k < rows; k++) {
    loom_builder b = alone_here(l);
    sums[k] = lane_fma(&b, sums[k], by[k], total[k]);
  }
}

static void forward_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  forward_job *x = user;
  flash_job *j = &x->j;
  const gpu_flash *f = j->f;
  int rows = gpu_flash_own_rows(f), columns = f->columns[1];
  MlirValue *largest = next + x->results, *sums = largest + rows, *places = sums + rows;
  MlirValue scores[FLASH_CELLS * FLASH_VALUES], by[FLASH_ROWS], values[SLAB_PIECES];
  MlirValue here[FLASH_PLACES] = {places[0], places[1], places[2]};
  flash_cell cells[FLASH_CELLS];
  j->other = attention_iteration(l);
  MlirValue following = alone_op(l, "arith.addi", j->other, f->other);
  gpu_flash_wait(l, j, false, true);
  gpu_flash_begin(l, &x->k, following, x->high, here[2], values);
  gpu_flash_commit(l, j);
  if (f->group)
    gpu_flash_group_multiply(l, j, here[0], f->columns[0], x->own, scores);
  else
    gpu_flash_multiply(l, j, &x->k, here[0], f->columns[0], x->own, scores);
  gpu_flash_mask(l, j, true, scores);
  forward_softmax(l, j, scores, largest, sums, by);
  gpu_flash_end(l, &x->k, here[2], values);
  gpu_flash_wait(l, j, false, true);
  gpu_flash_begin(l, &x->v, following, x->high, here[0], values);
  gpu_flash_commit(l, j);
  gpu_flash_scale(l, f, columns, by, next);
  if (f->group) {
    gpu_flash_group_weigh(l, j, here[1], columns, scores, next);
  } else {
    gpu_flash_put_together(l, f, columns, next, cells);
    gpu_flash_weigh(l, j, &x->v, here[1], columns, scores, cells);
    gpu_flash_take_apart(l, f, columns, cells, next);
  }
  gpu_flash_end(l, &x->v, here[0], values);
  for (int i = 0; i < FLASH_PLACES; i++)
    places[i] = here[(i + 2) % FLASH_PLACES];
}

/* ---- the end ---- */

typedef struct forward_line {
  const flash_job *j;
  MlirValue head, row, lse;
} forward_line;

static void forward_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const forward_line *line = user;
  const attention_plan *p = &line->j->f->op;
  MlirValue at = alone_op(l, "arith.muli", line->row, p->results[1]->strides[2]);
  attention_store(l, p, line->lse, attention_at(l, p, line->head, at));
}

MlirValue gpu_flash_logarithm(lower *l, const gpu_flash *f, MlirValue largest, MlirValue sum) {
  MlirValue zero = attention_vector(l, &f->op, 0);
  MlirValue ln2 = attention_vector(l, &f->op, 0.6931471805599453);
  loom_builder b = alone_here(l);
  MlirValue log = lower_math(NULL, &b, LOOM_OP_LOG, LOOM_F32, sum, (MlirValue){NULL});
  MlirValue lse = lane_fma(&b, largest, ln2, log);
  return f->op.zero ? lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), zero, lse) : lse;
}

MlirValue gpu_flash_divisor(lower *l, const gpu_flash *f, MlirValue sum) {
  MlirValue zero = attention_vector(l, &f->op, 0), one = attention_vector(l, &f->op, 1);
  loom_builder b = alone_here(l);
  if (f->op.zero) sum = lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), one, sum);
  return lane_op2(&b, "arith.divf", one, sum);
}

/* Stored by the first of a row's threads. */
static void forward_logarithms(lower *l, const flash_job *j, const MlirValue *largest,
                               const MlirValue *sums) {
  const gpu_flash *f = j->f;
  forward_line line = {.j = j};
  line.head = attention_result_head(l, f->op.results[1], j->batch, j->head);
  for (int k = 0; k < gpu_flash_own_rows(f); k++) {
    line.row = gpu_flash_own_at(l, j, k);
    line.lse = gpu_flash_logarithm(l, f, largest[k], sums[k]);
    MlirValue first = alone_const(l, 1), rows = alone_const(l, f->op.queries);
    loom_builder b = alone_here(l);
    MlirValue there = lane_op2(&b, "arith.andi", lane_cmpi(&b, "slt", j->x, first),
                               lane_cmpi(&b, "slt", line.row, rows));
    lower_if(l, there, forward_store, &line);
  }
}

static void forward_end(lower *l, forward_job *x, MlirValue *values) {
  flash_job *j = &x->j;
  const gpu_flash *f = j->f;
  int rows = gpu_flash_own_rows(f);
  MlirValue *largest = values + x->results, *sums = largest + rows, by[FLASH_ROWS];
  flash_cell cells[FLASH_CELLS];
  gpu_flash_wait(l, j, true, false);
  for (int k = 0; k < rows; k++) {
    sums[k] = gpu_flash_share(l, f, "arith.addf", sums[k]);
    if (f->later) largest[k] = alone_op2(l, "arith.mulf", largest[k], j->scale);
  }
  if (f->splits * f->across == 1) {
    for (int k = 0; k < rows; k++)
      by[k] = gpu_flash_divisor(l, f, sums[k]);
    gpu_flash_scale(l, f, f->columns[1], by, values);
  }
  gpu_flash_put_together(l, f, f->columns[1], values, cells);
  if (f->splits * f->across > 1) {
    gpu_flash_part_store(l, j, cells, largest, sums);
    return;
  }
  if (f->op.results[1]) forward_logarithms(l, j, largest, sums);
  if (f->op.results[0]) gpu_flash_deliver(l, j, f->op.results[0], cells);
}

/* ---- the kernel ---- */

static bool forward_divide(const lower_kernel *kernel, const attention_plan *op, gpu_flash *f) {
  f->op = *op;
  return gpu_flash_divide(kernel, f, false);
}

static int forward_shared(const gpu_flash *f) {
  int own = gpu_flash_bytes(f, f->own), places = FLASH_PLACES * gpu_flash_bytes(f, f->other);
  return own > places ? own : places;
}

bool gpu_flash_plan(const lower_kernel *kernel, const attention_plan *op, alone_plan *out) {
  gpu_flash f = {0};
  if (!forward_divide(kernel, op, &f)) return false;
  out->stage_count = 1;
  out->stages[0] = gpu_flash_blocks(&f);
  if (f.splits * f.across == 1) return true;
  out->stages[out->stage_count++] = gpu_flash_part_chunks(&f);
  out->slots = gpu_flash_part_bytes(&f);
  return true;
}

/* The first tiles. */
static void forward_begin(lower *l, forward_job *x, MlirValue low, const MlirValue *places) {
  MlirValue values[SLAB_PIECES];
  flash_tile *tiles[] = {&x->k, &x->v};
  for (int i = 0; i < 2; i++) {
    gpu_flash_begin(l, tiles[i], low, x->high, places[i], values);
    gpu_flash_end(l, tiles[i], places[i], values);
    gpu_flash_commit(l, &x->j);
  }
}

static void forward_block(lower *l, forward_job *x) {
  flash_job *j = &x->j;
  const gpu_flash *f = j->f;
  int rows = gpu_flash_own_rows(f), count = x->results;
  MlirValue values[LOWER_CARRIED], low = alone_const(l, 0), zero = attention_vector(l, &f->op, 0);
  flash_cell cells[FLASH_CELLS];
  x->high = gpu_flash_high(l, j);
  if (f->splits > 1) {
    low = alone_op(l, "arith.muli", j->split, f->split);
    MlirValue end = alone_op(l, "arith.addi", low, f->split);
    x->high = alone_op2(l, "arith.minsi", x->high, end);
  }
  gpu_flash_tile(l, j, &f->op.k, false, &x->k);
  gpu_flash_tile(l, j, &f->op.v, false, &x->v);
  x->k.at.head = attention_head(l, &f->op.k, j->batch, j->group);
  x->v.at.head = attention_head(l, &f->op.v, j->batch, j->group);
  gpu_flash_own(l, j, &f->op.q, x->own);
  for (int i = 0; i < f->columns[1]; i++)
    cells[i] = gpu_flash_zero(l, f);
  gpu_flash_take_apart(l, f, f->columns[1], cells, values);
  for (int k = 0; k < 2 * rows; k++)
    values[count++] = k < rows ? forward_low(l, f) : zero;
  for (int i = 0; i < FLASH_PLACES; i++)
    values[count + i] = alone_const(l, (int64_t)i * gpu_flash_bytes(f, f->other));
  forward_begin(l, x, low, values + count);
  lower_for(l, low, x->high, alone_const(l, f->other), -1, count + FLASH_PLACES, values,
            forward_tile, x, values);
  if (!l->failed) forward_end(l, x, values);
}

bool gpu_flash_lower(lower *l, const attention_plan *op, int stage) {
  gpu_flash f = {0};
  forward_job x = {0};
  if (!forward_divide(l->kernel, op, &f)) return false;
  if (stage) {
    gpu_flash_parts(l, &f);
    return true;
  }
  gpu_flash_open(l, &f, forward_shared(&f), &x.j);
  x.results = f.columns[1] * gpu_flash_carried(&f);
  if (!l->failed) forward_block(l, &x);
  return true;
}
