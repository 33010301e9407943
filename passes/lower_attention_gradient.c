/* Lowering of kernels with the gradient of an attention (attention.h): a chunk is a head of k and v
 * with the heads of q that use it. */
#include "loom_ops_functions.h"
#include "passes/attention.h"
#include "passes/math.h"

#include <string.h>

typedef struct gradient_job {
  const attention_plan *p;
  attention_scores scores;
  MlirValue batch, group, head;
  MlirValue k, v;   /* heads */
  MlirValue dq;     /* row `query0` of the head's gradient of q, or of its slots */
  int64_t dq_row;   /* from one of its rows to the next */
  MlirValue first;  /* is this the first block of keys (i1)? */
  MlirValue target; /* heads of the slots being delivered */
} gradient_job;

static MlirValue gradient_at(lower *l, const attention_plan *p, int area, MlirValue row,
                             int64_t step, MlirValue column) {
  return attention_at(l, p, attention_area(l, p, area), alone_add_scaled(l, column, row, step));
}

/* ---- exponentials, and the gradients of the scores ---- */

static void gradient_finish_score(lower *l, const attention_product *x, MlirValue row,
                                  MlirValue column, MlirValue sum) {
  const gradient_job *j = x->job;
  const attention_plan *p = j->p;
  MlirValue score = attention_score(l, &j->scores, row, column, sum);
  MlirValue lse =
      attention_load(l, p, attention_at(l, p, attention_area(l, p, ATTENTION_MAX), column), p->vl);
  loom_builder b = alone_here(l);
  score = lane_op2(&b, "arith.subf", score, lse);
  MlirValue e = lower_math(l, &b, LOOM_OP_EXP, p->work, score, (MlirValue){NULL});
  attention_store(l, p, e, gradient_at(l, p, ATTENTION_S, row, p->block_q, column));
}

/* The sum is that of the exponential's gradient: over width of v times the result's gradient. */
static void gradient_finish_ds(lower *l, const attention_product *x, MlirValue row,
                               MlirValue column, MlirValue sum) {
  const gradient_job *j = x->job;
  const attention_plan *p = j->p;
  MlirValue dot =
      attention_load(l, p, attention_at(l, p, attention_area(l, p, ATTENTION_SUM), column), p->vl);
  MlirValue e =
      attention_load(l, p, gradient_at(l, p, ATTENTION_S, row, p->block_q, column), p->vl);
  loom_builder b = alone_here(l);
  MlirValue ds = lane_op2(&b, "arith.mulf", e, lane_op2(&b, "arith.subf", sum, dot));
  ds = lane_op2(&b, "arith.mulf", ds, lane_splat(&b, j->scores.scale, p->vl));
  attention_store(l, p, ds, gradient_at(l, p, ATTENTION_DS, row, p->block_q, column));
}

/* ---- sums ---- */

static void gradient_add(lower *l, const attention_plan *p, MlirValue place, MlirValue sum) {
  MlirValue before = attention_load(l, p, place, p->vl);
  loom_builder b = alone_here(l);
  attention_store(l, p, lane_op2(&b, "arith.addf", before, sum), place);
}

static void gradient_finish_dk(lower *l, const attention_product *x, MlirValue row,
                               MlirValue column, MlirValue sum) {
  gradient_add(l, x->p, gradient_at(l, x->p, ATTENTION_DK, row, x->p->row_depth, column), sum);
}

static void gradient_finish_dv(lower *l, const attention_product *x, MlirValue row,
                               MlirValue column, MlirValue sum) {
  gradient_add(l, x->p, gradient_at(l, x->p, ATTENTION_DV, row, x->p->row_width, column), sum);
}

/* Rows of the gradient of q that are there, and their columns. */
static void gradient_finish_dq(lower *l, const attention_product *x, MlirValue row,
                               MlirValue column, MlirValue sum) {
  const gradient_job *j = x->job;
  const attention_plan *p = j->p;
  MlirValue at = alone_add_scaled(l, column, row, j->dq_row);
  MlirValue place = attention_at(l, p, j->dq, at), depth = alone_const(l, p->depth);
  loom_builder b = alone_here(l);
  MlirType i64s = lane_int(b.ctx, 64, p->vl);
  MlirValue there = lane_cmpi(&b, "slt", row, j->scores.queries), zero = alone_const(l, 0);
  MlirValue left = lane_select(&b, there, lane_op2(&b, "arith.subi", depth, column), zero);
  MlirValue mask = lane_cmpi(&b, "slt", lane_id(&b, i64s), lane_splat(&b, left, p->vl));
  MlirValue none = attention_vector(l, p, 0), before = lane_load(&b, place, p->work, p->vl, mask);
  before = lane_select(&b, j->first, none, before);
  lane_store(&b, lane_op2(&b, "arith.addf", before, sum), place, p->work, mask);
}

/* rows of [key][query] times rows of [query][...], over queries */
static void gradient_over_queries(lower *l, gradient_job *j, int from, int by, int64_t step,
                                  attention_tile tile,
                                  void (*finish)(lower *l, const attention_product *x,
                                                 MlirValue row, MlirValue column, MlirValue sum)) {
  const attention_plan *p = j->p;
  attention_product x = {.p = p, .tile = tile, .vectors = step / p->vl, .job = j};
  x.rows = j->scores.keys;
  x.depth = j->scores.queries;
  x.a = attention_area(l, p, from);
  x.a_row = p->block_q;
  x.a_step = 1;
  x.b = attention_area(l, p, by);
  x.b_step = step;
  x.finish = finish;
  attention_multiply(l, &x);
}

static void gradient_over_keys(lower *l, gradient_job *j) {
  const attention_plan *p = j->p;
  attention_product x = {.p = p, .tile = p->dq, .vectors = p->row_depth / p->vl, .job = j};
  x.rows = j->scores.queries;
  x.depth = j->scores.keys;
  x.a = attention_area(l, p, ATTENTION_DS);
  x.a_row = 1;
  x.a_step = p->block_q;
  x.b = attention_area(l, p, ATTENTION_K);
  x.b_step = p->row_depth;
  x.finish = gradient_finish_dq;
  attention_multiply(l, &x);
}

/* ---- a block of queries ---- */

static void gradient_pack_queries(lower *l, gradient_job *j) {
  const attention_plan *p = j->p;
  MlirValue first = j->scores.query0, limit = alone_const(l, p->queries);
  MlirValue head_q = attention_head(l, &p->q, j->batch, j->head);
  MlirValue head_g = attention_head(l, &p->grad, j->batch, j->head);
  attention_source q = attention_source_of(p, &p->q, head_q, first, limit);
  attention_source g = attention_source_of(p, &p->grad, head_g, first, limit);
  attention_source lse =
      attention_source_of(p, &p->lse, attention_head(l, &p->lse, j->batch, j->head), first, limit);
  attention_source dot =
      attention_source_of(p, &p->dot, attention_head(l, &p->dot, j->batch, j->head), first, limit);
  MlirValue rows = j->scores.queries;
  attention_pack_turned(l, &q, alone_const(l, p->depth), attention_area(l, p, ATTENTION_QT));
  attention_pack_turned(l, &g, alone_const(l, p->width), attention_area(l, p, ATTENTION_GT));
  attention_pack_rows(l, &q, rows, p->depth, attention_area(l, p, ATTENTION_Q), p->row_depth);
  attention_pack_rows(l, &g, rows, p->width, attention_area(l, p, ATTENTION_G), p->row_width);
  attention_pack_line(l, &lse, attention_area(l, p, ATTENTION_MAX));
  attention_pack_line(l, &dot, attention_area(l, p, ATTENTION_SUM));
}

/* The slots of a head of q: [query][depth], blocks and rows of vectors whole. */
static MlirValue gradient_slots(lower *l, const attention_plan *p, MlirValue batch,
                                MlirValue head) {
  MlirValue number = alone_add_scaled(l, head, batch, p->heads);
  int64_t size = loom_num_mul(loom_num_mul(p->blocks, p->block_q), p->row_depth);
  return attention_at(l, p, l->pointers[l->kernel->buffer_count],
                      alone_op(l, "arith.muli", number, size));
}

static void gradient_place_dq(lower *l, gradient_job *j) {
  const attention_plan *p = j->p;
  const lower_buffer *dq = p->results[0];
  j->dq_row = p->direct ? dq->strides[2] : p->row_depth;
  j->dq = p->direct ? attention_result_head(l, dq, j->batch, j->head)
                    : gradient_slots(l, p, j->batch, j->head);
  j->dq = attention_at(l, p, j->dq, alone_op(l, "arith.muli", j->scores.query0, j->dq_row));
}

static void gradient_queries(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *j = user;
  const attention_plan *p = j->p;
  MlirValue first = attention_iteration(l), end = alone_op(l, "arith.addi", first, p->block_q);
  end = alone_op2(l, "arith.minsi", end, alone_const(l, p->queries));
  j->scores.query0 = first;
  j->scores.queries = alone_op2(l, "arith.subi", end, first);
  gradient_pack_queries(l, j);
  if (p->mask.buffer) j->scores.mask = attention_head(l, &p->mask, j->batch, j->head);
  attention_mask_block(l, &j->scores);
  attention_product scores = attention_score_product(l, &j->scores);
  scores.finish = gradient_finish_score;
  scores.job = j;
  attention_multiply(l, &scores);
  if (p->results[2])
    gradient_over_queries(l, j, ATTENTION_S, ATTENTION_G, p->row_width, p->dv, gradient_finish_dv);
  if (!p->results[0] && !p->results[1]) return;
  attention_product ds = scores;
  ds.depth = alone_const(l, p->width);
  ds.a = attention_area(l, p, ATTENTION_V);
  ds.a_row = p->row_width;
  ds.b = attention_area(l, p, ATTENTION_GT);
  ds.finish = gradient_finish_ds;
  attention_multiply(l, &ds);
  if (p->results[1])
    gradient_over_queries(l, j, ATTENTION_DS, ATTENTION_Q, p->row_depth, p->dk, gradient_finish_dk);
  if (!p->results[0]) return;
  gradient_place_dq(l, j);
  gradient_over_keys(l, j);
}

/* ---- a block of keys ---- */

/* One of the heads of q that use the chunk's. With causal, queries before the block's first key do
 * not see it; the first block sees all queries. */
static void gradient_head(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *j = user;
  const attention_plan *p = j->p;
  MlirValue low = alone_const(l, 0);
  j->head = alone_add_scaled(l, attention_iteration(l), j->group, p->heads / p->groups);
  if (p->causal) {
    low = alone_op(l, "arith.divui", j->scores.key0, p->block_q);
    low = alone_op(l, "arith.muli", low, p->block_q);
  }
  attention_loop(l, low, alone_const(l, p->queries), p->block_q, gradient_queries, j);
}

static void gradient_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_store(l, ((gradient_job *)user)->p, attention_vector(l, ((gradient_job *)user)->p, 0),
                  attention_at(l, ((gradient_job *)user)->p, ((gradient_job *)user)->target,
                               attention_iteration(l)));
}

static void gradient_clear_area(lower *l, gradient_job *j, int area, int64_t step) {
  j->target = attention_area(l, j->p, area);
  attention_loop(l, alone_const(l, 0), alone_const(l, (j->p->block_k + 32) * step), j->p->vl,
                 gradient_clear, j);
}

static void gradient_deliver(lower *l, gradient_job *j, int result, int area, int64_t step,
                             int64_t columns) {
  const attention_plan *p = j->p;
  const lower_buffer *to = p->results[result];
  if (!to) return;
  MlirValue ptr = attention_result_head(l, to, j->batch, j->group);
  MlirValue at = alone_op(l, "arith.muli", j->scores.key0, to->strides[2]);
  ptr = alone_address(l, ptr, at, to->type.dtype);
  attention_unpack_rows(l, p, attention_area(l, p, area), step, j->scores.keys, columns, to, ptr);
}

static void gradient_keys(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *j = user;
  const attention_plan *p = j->p;
  MlirValue key = attention_iteration(l), limit = alone_const(l, p->keys), zero = alone_const(l, 0);
  MlirValue end = alone_op2(l, "arith.minsi", alone_op(l, "arith.addi", key, p->block_k), limit);
  loom_builder b = alone_here(l);
  j->first = lane_cmpi(&b, "eq", key, zero);
  j->scores.key0 = key;
  j->scores.keys = alone_op2(l, "arith.subi", end, key);
  MlirValue rows = attention_whole(l, j->scores.keys, p->scores.mr);
  attention_source k = attention_source_of(p, &p->k, j->k, key, limit);
  attention_source v = attention_source_of(p, &p->v, j->v, key, limit);
  attention_pack_rows(l, &k, rows, p->depth, attention_area(l, p, ATTENTION_K), p->row_depth);
  attention_pack_rows(l, &v, rows, p->width, attention_area(l, p, ATTENTION_V), p->row_width);
  gradient_clear_area(l, j, ATTENTION_DK, p->row_depth);
  gradient_clear_area(l, j, ATTENTION_DV, p->row_width);
  attention_loop(l, zero, alone_const(l, p->heads / p->groups), 1, gradient_head, j);
  gradient_deliver(l, j, 1, ATTENTION_DK, p->row_depth, p->depth);
  gradient_deliver(l, j, 2, ATTENTION_DV, p->row_width, p->width);
}

/* ---- a chunk ---- */

static void gradient_deliver_dq(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *j = user;
  const attention_plan *p = j->p;
  MlirValue head = alone_add_scaled(l, attention_iteration(l), j->group, p->heads / p->groups);
  attention_unpack_rows(l, p, gradient_slots(l, p, j->batch, head), p->row_depth,
                        alone_const(l, p->queries), p->depth, p->results[0],
                        attention_result_head(l, p->results[0], j->batch, head));
}

static void gradient_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *j = user;
  const attention_plan *p = j->p;
  MlirValue zero = alone_const(l, 0);
  j->batch = attention_divide(l, attention_iteration(l), p->groups, &j->group);
  j->k = attention_head(l, &p->k, j->batch, j->group);
  j->v = attention_head(l, &p->v, j->batch, j->group);
  /* One block even of no keys, so that the gradient of q is written. */
  MlirValue keys = alone_op(l, "arith.maxsi", alone_const(l, p->keys), 1);
  attention_loop(l, zero, keys, p->block_k, gradient_keys, j);
  if (p->results[0] && !p->direct)
    attention_loop(l, zero, alone_const(l, p->heads / p->groups), 1, gradient_deliver_dq, j);
}

void attention_gradient_lower(lower *l, const alone_plan *plan, int stage) {
  attention_plan p;
  if (!attention_plan_make(l->kernel, plan->op, &p)) {
    l->failed = true;
    return;
  }
  gradient_job job = {.p = &p, .scores.p = &p};
  job.scores.scale = attention_scale(l, &p);
  if (l->failed) return;
  attention_loop(l, l->begin, l->end, 1, gradient_chunk, &job);
}
