/* Attention on a GPU (gpu_attention.h): a block has a tile of queries of a head.
 *
 *   for each tile of keys, with causal up to the last query's own:
 *     scores; the largest one of each query so far
 *     weights: exp(score - largest). What was summed of those before is scaled when the largest one
 *     changes (Milakov, Gimelshein: "Online normalizer calculation for softmax", 2018)
 *     results += weights x values
 *   results / sum of the weights
 *
 * Each thread adds up the weights of its own keys, and those of the 16 threads of a query are added
 * up at the end.
 */
#include "passes/gpu_attention.h"
#include "loom_ops_functions.h"
#include "passes/gpu_flash.h"
#include "passes/math.h"

#include <math.h>

typedef struct forward_job {
  gpu_attention_job j;
  MlirValue high;     /* keys that the block sees */
  MlirValue line;     /* of the logarithms: that of the head; */
  MlirValue row, lse; /* one of them */
} forward_job;

/* Carried are the results, then the largest score of each own row, then the sum of its weights. */
static int forward_largest(const gpu_attention *a, int k) {
  return a->own.count * a->columns[1].parts + k;
}
static int forward_sum(const gpu_attention *a, int k) {
  return forward_largest(a, a->own.count + k);
}

static MlirValue forward_larger(lower *l, MlirValue x, MlirValue y) {
  loom_builder b = alone_here(l);
  return lane_select(&b, lane_cmpf(&b, "ogt", x, y), x, y);
}

/* One own row: its scores become weights. NaN are left to the sums. Where all scores have been
 * -inf, weights are taken from 0, so that they are 0 and not NaN. */
static void forward_softmax(lower *l, const gpu_attention *a, int k, MlirValue *scores,
                            MlirValue *values) {
  const gpu_side *columns = &a->columns[1];
  MlirValue zero = attention_vector(l, &a->op, 0), low = attention_vector(l, &a->op, -INFINITY);
  MlirValue *largest = &values[forward_largest(a, k)], *sum = &values[forward_sum(a, k)];
  MlirValue before = *largest, total = zero;
  for (int i = 0; i < a->other.count; i++)
    *largest = forward_larger(l, scores[i], *largest);
  for (int mask = GPU_SIDE / 2; mask; mask /= 2) {
    loom_builder b = alone_here(l);
    *largest = forward_larger(l, gpu_shuffle(l, &b, *largest, mask), *largest);
  }
  loom_builder b = alone_here(l);
  MlirValue from = lane_select(&b, lane_cmpf(&b, "oeq", *largest, low), zero, *largest);
  MlirValue scale = gpu_attention_exp(l, a, lane_op2(&b, "arith.subf", before, from));
  for (int i = 0; i < a->other.count; i++) {
    scores[i] = gpu_attention_exp(l, a, alone_op2(l, "arith.subf", scores[i], from));
    total = alone_op2(l, "arith.addf", total, scores[i]);
  }
  b = alone_here(l);
  *sum = lane_fma(&b, *sum, scale, total);
  for (int p = 0; p < columns->parts; p++) {
    MlirValue *x = &values[k * columns->parts + p];
    *x = lane_op2(&b, "arith.mulf", *x, lane_splat(&b, scale, columns->width[p]));
  }
}

/* Keys that are not there have no weight. */
static void forward_hide(lower *l, const gpu_attention_job *j, MlirValue *scores) {
  int count = j->a->other.count;
  for (int i = 0; i < count; i++) {
    MlirValue there = gpu_attention_there(l, j, false, i);
    loom_builder b = alone_here(l);
    for (int k = 0; there.ptr && k < j->a->own.count; k++) {
      MlirValue *x = &scores[k * count + i];
      *x = lane_select(&b, there, *x, attention_vector(l, &j->a->op, -INFINITY));
    }
  }
}

static void forward_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  forward_job *f = user;
  gpu_attention_job *j = &f->j;
  const gpu_attention *a = j->a;
  MlirValue scores[GPU_SIDE_MOST * GPU_SIDE_MOST];
  j->other = attention_iteration(l);
  gpu_attention_multiply(l, j, &a->op.q, &a->op.k, scores);
  if (l->failed) return;
  gpu_product x = gpu_attention_weigh_begin(l, j, &a->columns[1], &a->op.v, f->high);
  gpu_attention_mask(l, j, scores);
  forward_hide(l, j, scores);
  for (int k = 0; k < a->own.count; k++)
    forward_softmax(l, a, k, &scores[k * a->other.count], next);
  gpu_attention_put(l, j, scores);
  gpu_attention_weigh(l, &x, next);
}

/* ---- the end ---- */

static void forward_store_lse(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const forward_job *f = user;
  const attention_plan *p = &f->j.a->op;
  MlirValue at = alone_op(l, "arith.muli", f->row, p->results[1]->strides[2]);
  attention_store(l, p, f->lse, attention_at(l, p, f->line, at));
}

/* The logarithm of a row's sum, stored by the first of its threads. */
static void forward_logarithm(lower *l, forward_job *f, int k, MlirValue largest, MlirValue sum) {
  const attention_plan *p = &f->j.a->op;
  MlirValue zero = attention_vector(l, p, 0), there = gpu_attention_there(l, &f->j, true, k);
  f->row = gpu_attention_at(l, &f->j, true, k);
  MlirValue first = alone_const(l, 0);
  loom_builder b = alone_here(l);
  MlirValue log = lower_math(NULL, &b, LOOM_OP_LOG, p->work, sum, (MlirValue){NULL});
  f->lse = lane_op2(&b, "arith.addf", largest, log);
  if (p->zero) f->lse = lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), zero, f->lse);
  first = lane_cmpi(&b, "eq", f->j.along, first);
  if (there.ptr) first = lane_op2(&b, "arith.andi", first, there);
  lower_if(l, first, forward_store_lse, f);
}

static void forward_end(lower *l, forward_job *f, MlirValue *values) {
  const gpu_attention *a = f->j.a;
  const attention_plan *p = &a->op;
  const gpu_side *columns = &a->columns[1];
  MlirValue zero = attention_vector(l, p, 0), one = attention_vector(l, p, 1);
  if (p->results[1]) f->line = attention_result_head(l, p->results[1], f->j.batch, f->j.head);
  for (int k = 0; k < a->own.count; k++) {
    MlirValue sum = values[forward_sum(a, k)], by;
    loom_builder b = alone_here(l);
    for (int mask = GPU_SIDE / 2; mask; mask /= 2)
      sum = lane_op2(&b, "arith.addf", sum, gpu_shuffle(l, &b, sum, mask));
    by = p->zero ? lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), one, sum) : sum;
    for (int c = 0; c < columns->parts; c++) {
      MlirValue *x = &values[k * columns->parts + c];
      *x = lane_op2(&b, "arith.divf", *x, lane_splat(&b, by, columns->width[c]));
    }
    if (p->results[1]) forward_logarithm(l, f, k, values[forward_largest(a, k)], sum);
  }
  if (p->results[0]) gpu_attention_deliver(l, &f->j, p->results[0], columns, values);
}

/* ---- the kernel ---- */

static bool forward_divide(const lower_kernel *kernel, MlirOperation op, gpu_attention *out) {
  static const bool results[] = {false, true};
  return attention_read(kernel, op, &out->op) && gpu_attention_divide(out, false, results, 2);
}

bool gpu_attention_plan(const lower_kernel *kernel, alone_plan *out) {
  gpu_attention a = {0};
  if (!forward_divide(kernel, out->op, &a)) return false;
  out->stage_count = 1;
  if (!gpu_flash_plan(kernel, &a.op, out)) out->stages[0] = gpu_attention_blocks(&a);
  return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
}

void gpu_attention_lower(lower *l, const alone_plan *plan, int stage) {
  gpu_attention a = {0};
  forward_job f;
  MlirValue values[LOWER_CARRIED];
  if (!forward_divide(l->kernel, plan->op, &a)) {
    l->failed = true;
    return;
  }
  if (gpu_flash_lower(l, &a.op, stage)) return;
  gpu_attention_open(l, &a, &f.j);
  if (l->failed) return;
  f.high = alone_const(l, a.op.keys);
  if (a.op.causal) {
    MlirValue end = alone_op(l, "arith.addi", f.j.own, (int64_t)GPU_SIDE * a.own.count);
    f.high = alone_op2(l, "arith.minsi", f.high, end);
  }
  int count = gpu_attention_zeros(l, &a, &a.columns[1], values);
  for (int k = 0; k < 2 * a.own.count; k++)
    values[count++] = attention_vector(l, &a.op, k < a.own.count ? -INFINITY : 0);
  gpu_attention_walk(l, &f.j, alone_const(l, 0), f.high, count, values, forward_tile, &f);
  if (!l->failed) forward_end(l, &f, values);
}
