/* Lowering of kernels with an attention (attention.h): a chunk is a block of queries of a head. */
#include "loom_ops_functions.h"
#include "passes/attention.h"
#include "passes/math.h"

#include <math.h>
#include <string.h>

typedef struct attention_job {
  const attention_plan *p;
  attention_scores scores;
  MlirValue k, v;                                  /* heads */
  MlirValue key_high;                              /* keys that some query of the chunk sees */
  MlirValue first;                                 /* query of the chunk */
  MlirValue parts;                                 /* of the chunk, that have queries */
  void (*each)(lower *l, struct attention_job *j); /* what is done for each of them */
  MlirValue batch, head;
  MlirValue line;   /* where the logarithms go */
  MlirValue column; /* of the softmax */
  MlirValue from;   /* what the exponents are taken from, per vector */
} attention_job;

static MlirValue attention_query(lower *l, const attention_job *j, int area, MlirValue column) {
  return attention_at(l, j->p, attention_part(l, j->p, area, j->scores.part), column);
}

static MlirValue attention_exp(lower *l, const attention_plan *p, MlirValue x) {
  loom_builder b = alone_here(l);
  return lower_math(l, &b, LOOM_OP_EXP, p->work, x, (MlirValue){NULL});
}

/* ---- parts ---- */

static void attention_take_part(lower *l, attention_job *j, MlirValue first) {
  MlirValue queries = alone_const(l, j->p->queries), end;
  end = alone_op2(l, "arith.minsi", alone_op(l, "arith.addi", first, j->p->block_q), queries);
  j->scores.query0 = first;
  j->scores.queries = alone_op2(l, "arith.subi", end, first);
}

static void attention_one_part(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  j->scores.part = attention_iteration(l);
  attention_take_part(l, j, alone_add_scaled(l, j->first, j->scores.part, j->p->block_q));
  j->each(l, j);
}

/* For each block of queries of the chunk. */
static void attention_each(lower *l, attention_job *j, void (*each)(lower *l, attention_job *j)) {
  j->each = each;
  if (j->p->parts > 1)
    attention_loop(l, alone_const(l, 0), j->parts, 1, attention_one_part, j);
  else
    each(l, j);
}

/* ---- a block of keys ---- */

static void attention_finish_score(lower *l, const attention_product *x, MlirValue row,
                                   MlirValue column, MlirValue sum) {
  const attention_job *j = x->job;
  MlirValue at = alone_add_scaled(l, column, row, j->p->block_q);
  MlirValue score = attention_score(l, &j->scores, row, column, sum);
  attention_store(l, j->p, score, attention_query(l, j, ATTENTION_S, at));
}

static MlirValue attention_score_place(lower *l, const attention_job *j) {
  MlirValue at = alone_add_scaled(l, j->column, attention_iteration(l), j->p->block_q);
  return attention_query(l, j, ATTENTION_S, at);
}

/* NaN are left to the sums. */
static void attention_largest(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  MlirValue score = attention_load(l, j->p, attention_score_place(l, j), j->p->vl);
  loom_builder b = alone_here(l);
  next[0] = lane_select(&b, lane_cmpf(&b, "ogt", score, carried[0]), score, carried[0]);
}

static void attention_exponential(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  MlirValue place = attention_score_place(l, j), score = attention_load(l, j->p, place, j->p->vl);
  loom_builder b = alone_here(l);
  MlirValue e = attention_exp(l, j->p, lane_op2(&b, "arith.subf", score, j->from));
  attention_store(l, j->p, e, place);
  next[0] = lane_op2(&b, "arith.addf", carried[0], e);
}

/* One vector of queries: scores become exponentials. Where all have been -inf, they are taken from
 * 0, so that they are 0 and not NaN. */
static void attention_softmax(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  MlirValue zero = alone_const(l, 0), one = alone_const(l, 1), none = attention_vector(l, p, 0);
  j->column = attention_iteration(l);
  MlirValue at_max = attention_query(l, j, ATTENTION_MAX, j->column);
  MlirValue at_sum = attention_query(l, j, ATTENTION_SUM, j->column);
  MlirValue old = attention_load(l, p, at_max, p->vl), max = old, sum = none;
  lower_for(l, zero, j->scores.keys, one, -1, 1, &max, attention_largest, j, &max);
  MlirValue low = attention_vector(l, p, -INFINITY);
  loom_builder b = alone_here(l);
  j->from = lane_select(&b, lane_cmpf(&b, "oeq", max, low), none, max);
  MlirValue alpha = attention_exp(l, p, lane_op2(&b, "arith.subf", old, j->from));
  lower_for(l, zero, j->scores.keys, one, -1, 1, &sum, attention_exponential, j, &sum);
  MlirValue before = attention_load(l, p, at_sum, p->vl);
  sum = lane_fma(&b, before, alpha, sum);
  attention_store(l, p, max, at_max);
  attention_store(l, p, sum, at_sum);
  attention_store(l, p, alpha, attention_query(l, j, ATTENTION_ALPHA, j->column));
}

static void attention_finish_value(lower *l, const attention_product *x, MlirValue row,
                                   MlirValue column, MlirValue sum) {
  const attention_job *j = x->job;
  const attention_plan *p = x->p;
  MlirValue at = alone_add_scaled(l, column, row, p->block_q);
  MlirValue place = attention_query(l, j, ATTENTION_O, at);
  MlirValue alpha = attention_load(l, p, attention_query(l, j, ATTENTION_ALPHA, column), p->vl);
  MlirValue before = attention_load(l, p, place, p->vl);
  loom_builder b = alone_here(l);
  attention_store(l, p, lane_fma(&b, before, alpha, sum), place);
}

/* A block of keys for a block of queries. */
static void attention_block_part(lower *l, attention_job *j) {
  const attention_plan *p = j->p;
  attention_mask_block(l, &j->scores);
  attention_product scores = attention_score_product(l, &j->scores);
  scores.finish = attention_finish_score;
  scores.job = j;
  attention_multiply(l, &scores);
  attention_loop(l, alone_const(l, 0), alone_const(l, p->block_q), p->vl, attention_softmax, j);
  attention_product values = {.p = p, .tile = p->values, .vectors = p->block_q / p->vl, .job = j};
  values.rows = alone_const(l, p->width);
  values.depth = j->scores.keys;
  values.a = attention_area(l, p, ATTENTION_V);
  values.a_row = 1;
  values.a_step = p->row_width;
  values.b = attention_area(l, p, ATTENTION_S);
  values.b_step = p->block_q;
  values.finish = attention_finish_value;
  attention_multiply(l, &values);
}

static void attention_block(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  MlirValue key = attention_iteration(l), keys = alone_const(l, p->keys);
  j->scores.key0 = key;
  MlirValue end =
      alone_op2(l, "arith.minsi", alone_op(l, "arith.addi", key, p->block_k), j->key_high);
  j->scores.keys = alone_op2(l, "arith.subi", end, key);
  /* Tiles read whole ones. */
  MlirValue rows = attention_whole(l, j->scores.keys, p->scores.mr);
  attention_source k = attention_source_of(p, &p->k, j->k, key, keys);
  attention_source v = attention_source_of(p, &p->v, j->v, key, keys);
  attention_pack_rows(l, &k, rows, p->depth, attention_area(l, p, ATTENTION_K), p->row_depth);
  attention_pack_rows(l, &v, j->scores.keys, p->width, attention_area(l, p, ATTENTION_V),
                      p->row_width);
  attention_each(l, j, attention_block_part);
}

/* ---- a block of queries ---- */

static void attention_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  MlirValue at = attention_iteration(l);
  attention_store(l, p, attention_vector(l, p, 0), attention_query(l, j, ATTENTION_O, at));
}

static void attention_begin(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  MlirValue at = attention_iteration(l);
  attention_store(l, p, attention_vector(l, p, -INFINITY),
                  attention_query(l, j, ATTENTION_MAX, at));
  attention_store(l, p, attention_vector(l, p, 0), attention_query(l, j, ATTENTION_SUM, at));
}

/* One row of the block's result: divided by the sums. */
static void attention_divide_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  MlirValue place = attention_query(
      l, j, ATTENTION_O, alone_add_scaled(l, j->column, attention_iteration(l), p->block_q));
  MlirValue x = attention_load(l, p, place, p->vl);
  MlirValue sum = attention_load(l, p, attention_query(l, j, ATTENTION_SUM, j->column), p->vl);
  MlirValue zero = attention_vector(l, p, 0), one = attention_vector(l, p, 1);
  loom_builder b = alone_here(l);
  if (p->zero) sum = lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), one, sum);
  attention_store(l, p, lane_op2(&b, "arith.divf", x, sum), place);
}

/* The logarithms take the place of the largest scores. */
static void attention_logarithm(lower *l, attention_job *j, MlirValue column) {
  const attention_plan *p = j->p;
  MlirValue place = attention_query(l, j, ATTENTION_MAX, column);
  MlirValue max = attention_load(l, p, place, p->vl);
  MlirValue sum = attention_load(l, p, attention_query(l, j, ATTENTION_SUM, column), p->vl);
  MlirValue zero = attention_vector(l, p, 0);
  loom_builder b = alone_here(l);
  MlirValue log = lower_math(NULL, &b, LOOM_OP_LOG, p->work, sum, (MlirValue){NULL});
  MlirValue lse = lane_op2(&b, "arith.addf", max, log);
  if (p->zero) lse = lane_select(&b, lane_cmpf(&b, "oeq", sum, zero), zero, lse);
  attention_store(l, p, lse, place);
}

static void attention_end(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  j->column = attention_iteration(l);
  attention_loop(l, alone_const(l, 0), alone_const(l, j->p->width), 1, attention_divide_row, j);
  if (j->p->results[1]) attention_logarithm(l, j, j->column);
}

static MlirValue attention_from_query(lower *l, const attention_job *j, const lower_buffer *result,
                                      MlirValue head) {
  MlirValue at = alone_op(l, "arith.muli", j->scores.query0, result->strides[2]);
  return alone_address(l, head, at, result->type.dtype);
}

static void attention_store_lse(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  MlirValue row = attention_iteration(l);
  MlirValue x = attention_load(l, j->p, attention_query(l, j, ATTENTION_MAX, row), 1);
  MlirValue at = alone_op(l, "arith.muli", row, j->p->results[1]->strides[2]);
  attention_store(l, j->p, x, attention_at(l, j->p, j->line, at));
}

static void attention_deliver(lower *l, attention_job *j) {
  const attention_plan *p = j->p;
  const lower_buffer *out = p->results[0], *lse = p->results[1];
  attention_loop(l, alone_const(l, 0), alone_const(l, p->block_q), p->vl, attention_end, j);
  if (out) {
    MlirValue head = attention_result_head(l, out, j->batch, j->head);
    attention_unpack_turned(l, p, attention_part(l, p, ATTENTION_O, j->scores.part),
                            j->scores.queries, p->width, out,
                            attention_from_query(l, j, out, head));
  }
  if (!lse) return;
  j->line = attention_from_query(l, j, lse, attention_result_head(l, lse, j->batch, j->head));
  attention_loop(l, alone_const(l, 0), j->scores.queries, 1, attention_store_lse, j);
}

static void attention_prepare(lower *l, attention_job *j) {
  const attention_plan *p = j->p;
  MlirValue zero = alone_const(l, 0), queries = alone_const(l, p->queries);
  attention_source q = attention_source_of(p, &p->q, attention_head(l, &p->q, j->batch, j->head),
                                           j->scores.query0, queries);
  attention_pack_turned(l, &q, alone_const(l, p->depth),
                        attention_part(l, p, ATTENTION_QT, j->scores.part));
  attention_loop(l, zero, alone_const(l, p->row_width * p->block_q), p->vl, attention_clear, j);
  attention_loop(l, zero, alone_const(l, p->block_q), p->vl, attention_begin, j);
}

static void attention_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_job *j = user;
  const attention_plan *p = j->p;
  int64_t chunk = p->block_q * p->parts;
  MlirValue block, zero = alone_const(l, 0), queries = alone_const(l, p->queries);
  MlirValue rest = attention_divide(l, attention_iteration(l), p->blocks, &block);
  j->batch = attention_divide(l, rest, p->heads, &j->head);
  MlirValue group = alone_op(l, "arith.divui", j->head, p->heads / p->groups);
  j->first = alone_op(l, "arith.muli", block, chunk);
  MlirValue end = alone_op(l, "arith.addi", j->first, chunk);
  end = alone_op2(l, "arith.minsi", end, queries);
  if (p->parts > 1) {
    MlirValue none, count = alone_op2(l, "arith.subi", end, j->first);
    j->parts = attention_divide(l, attention_whole(l, count, p->block_q), p->block_q, &none);
  } else {
    attention_take_part(l, j, j->first);
  }
  j->k = attention_head(l, &p->k, j->batch, group);
  j->v = attention_head(l, &p->v, j->batch, group);
  if (p->mask.buffer) j->scores.mask = attention_head(l, &p->mask, j->batch, j->head);
  j->key_high = alone_const(l, p->keys);
  if (p->causal) j->key_high = alone_op2(l, "arith.minsi", j->key_high, end);
  attention_each(l, j, attention_prepare);
  attention_loop(l, zero, j->key_high, p->block_k, attention_block, j);
  attention_each(l, j, attention_deliver);
}

void attention_lower(lower *l, const alone_plan *plan, int stage) {
  attention_plan p;
  if (!attention_plan_make(l->kernel, plan->op, &p)) {
    l->failed = true;
    return;
  }
  attention_job job = {.p = &p, .scores.p = &p};
  job.scores.scale = attention_scale(l, &p);
  if (l->failed) return;
  attention_loop(l, l->begin, l->end, 1, attention_chunk, &job);
}
