/* Gradients of an attention on a GPU (gpu_attention.h). Two stages, each where its results are
 * read:
 *
 *   the gradients of k and v: a block has a tile of keys, and goes through the queries of all heads
 *   of q that use them
 *   the gradient of q: a block has a tile of queries, and goes through the keys
 *
 * Both compute the scores again, and the weights from the logarithms that the attention gave. The
 * gradient of a score is weight * (g . v - dot) * scale, where `dot` is the sum of the query's
 * results times their gradients. Computing the scores twice costs less than adding up the gradient
 * of q from all blocks of keys would, which would need atomic operations or much memory.
 */
#include "passes/gpu_attention.h"
#include "passes/gpu_flash.h"

#include <string.h>

typedef struct gradient_job {
  gpu_attention_job j;
  MlirValue high;                    /* rows of the other side that the block sees */
  MlirValue lines[2][GPU_SIDE_MOST]; /* logarithm and dot of the thread's queries */
} gradient_job;

/* Those of the queries of a thread. */
static void gradient_lines(lower *l, gradient_job *g) {
  const gpu_attention *a = g->j.a;
  const attention_operand *both[] = {&a->op.lse, &a->op.dot};
  const gpu_side *side = a->keys ? &a->other : &a->own;
  for (int i = 0; i < 2; i++) {
    loom_dtype dtype = both[i]->at.type.dtype;
    MlirValue head = attention_head(l, both[i], g->j.batch, g->j.head);
    for (int k = 0; k < side->count; k++) {
      MlirValue row = gpu_attention_row(l, &g->j, !a->keys, k);
      row = alone_op(l, "arith.muli", row, both[i]->at.strides[2]);
      MlirValue ptr = alone_address(l, head, row, dtype);
      loom_builder b = alone_here(l);
      g->lines[i][k] = lane_load(&b, ptr, dtype, 1, (MlirValue){NULL});
    }
  }
}

/* Rows of the other side that are not there have no part in anything. */
static void gradient_hide(lower *l, const gpu_attention_job *j, MlirValue *weights) {
  int count = j->a->other.count;
  for (int i = 0; i < count; i++) {
    MlirValue there = gpu_attention_there(l, j, false, i);
    loom_builder b = alone_here(l);
    for (int k = 0; there.ptr && k < j->a->own.count; k++) {
      MlirValue *x = &weights[k * count + i];
      *x = lane_select(&b, there, *x, attention_vector(l, &j->a->op, 0));
    }
  }
}

/* Scores become weights. */
static void gradient_weights(lower *l, const gradient_job *g, MlirValue *scores) {
  const gpu_attention *a = g->j.a;
  gpu_attention_mask(l, &g->j, scores);
  for (int k = 0; k < a->own.count; k++)
    for (int i = 0; i < a->other.count; i++) {
      MlirValue *x = &scores[k * a->other.count + i], lse = g->lines[0][a->keys ? i : k];
      *x = gpu_attention_exp(l, a, alone_op2(l, "arith.subf", *x, lse));
    }
  gradient_hide(l, &g->j, scores);
}

/* Gradients of the weights become those of the scores. */
static void gradient_scores(lower *l, const gradient_job *g, const MlirValue *weights,
                            MlirValue *gradients) {
  const gpu_attention *a = g->j.a;
  for (int k = 0; k < a->own.count; k++)
    for (int i = 0; i < a->other.count; i++) {
      int at = k * a->other.count + i;
      MlirValue dot = g->lines[1][a->keys ? i : k];
      MlirValue x = alone_op2(l, "arith.subf", gradients[at], dot);
      x = alone_op2(l, "arith.mulf", weights[at], x);
      gradients[at] = alone_op2(l, "arith.mulf", x, g->j.scale);
    }
  gradient_hide(l, &g->j, gradients);
}

/* Adds weights times rows of the other side's operand to the sums of a result. */
static void gradient_add(lower *l, gradient_job *g, const MlirValue *weights,
                         const gpu_side *columns, const attention_operand *other, MlirValue *sums) {
  if (l->failed) return;
  gpu_product x = gpu_attention_weigh_begin(l, &g->j, columns, other, g->high);
  gpu_attention_put(l, &g->j, weights);
  gpu_attention_weigh(l, &x, sums);
}

/* Carried are the sums of the gradient of k or q, then those of the gradient of v. Between two
 * times that weights are put there is a product of rows, whose barriers make sure that the first
 * ones are no longer read. */
static void gradient_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *g = user;
  gpu_attention_job *j = &g->j;
  const gpu_attention *a = j->a;
  const attention_plan *p = &a->op;
  MlirValue weights[GPU_SIDE_MOST * GPU_SIDE_MOST], gradients[GPU_SIDE_MOST * GPU_SIDE_MOST];
  bool first = p->results[a->keys ? 1 : 0], second = a->keys && p->results[2];
  const attention_operand *rows = a->keys ? &p->q : &p->k;
  j->other = attention_iteration(l);
  if (a->keys) gradient_lines(l, g);
  gpu_attention_multiply(l, j, a->keys ? &p->k : &p->q, rows, weights);
  if (l->failed) return;
  gradient_weights(l, g, weights);
  if (second)
    gradient_add(l, g, weights, &a->columns[1], &p->grad,
                 next + (first ? a->own.count * a->columns[0].parts : 0));
  if (!first || l->failed) return;
  gpu_attention_multiply(l, j, a->keys ? &p->v : &p->grad, a->keys ? &p->grad : &p->v, gradients);
  if (l->failed) return;
  gradient_scores(l, g, weights, gradients);
  gradient_add(l, g, gradients, &a->columns[0], rows, next);
}

/* ---- the gradients of k and v ---- */

typedef struct gradient_heads {
  gradient_job *g;
  int count; /* of the values carried */
} gradient_heads;

/* One of the heads of q that use the block's. With causal, queries before the block's first key do
 * not see it. */
static void gradient_head(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_heads *h = user;
  gradient_job *g = h->g;
  const gpu_attention *a = g->j.a;
  int64_t per_group = a->op.heads / a->op.groups, tile = (int64_t)GPU_SIDE * a->other.count;
  MlirValue low = alone_const(l, 0);
  gpu_attention_enter(l, &g->j, alone_add_scaled(l, attention_iteration(l), g->j.group, per_group));
  if (a->op.causal)
    low = alone_op(l, "arith.muli", alone_op(l, "arith.divui", g->j.own, tile), tile);
  g->high = alone_const(l, a->op.queries);
  gpu_attention_walk(l, &g->j, low, g->high, h->count, next, gradient_tile, g);
}

static void gradient_keys(lower *l, gradient_job *g) {
  const gpu_attention *a = g->j.a;
  const attention_plan *p = &a->op;
  MlirValue values[LOWER_CARRIED], *width = values;
  gradient_heads h = {.g = g};
  if (p->results[1]) h.count = gpu_attention_zeros(l, a, &a->columns[0], values);
  width += h.count;
  if (p->results[2]) h.count += gpu_attention_zeros(l, a, &a->columns[1], width);
  lower_for(l, alone_const(l, 0), alone_const(l, p->heads / p->groups), alone_const(l, 1), -1,
            h.count, values, gradient_head, &h, values);
  if (l->failed) return;
  if (p->results[1]) gpu_attention_deliver(l, &g->j, p->results[1], &a->columns[0], values);
  if (p->results[2]) gpu_attention_deliver(l, &g->j, p->results[2], &a->columns[1], width);
}

/* ---- the gradient of q ---- */

static void gradient_queries(lower *l, gradient_job *g) {
  const gpu_attention *a = g->j.a;
  MlirValue values[LOWER_CARRIED];
  int count = gpu_attention_zeros(l, a, &a->columns[0], values);
  gradient_lines(l, g);
  g->high = alone_const(l, a->op.keys);
  if (a->op.causal) {
    MlirValue end = alone_op(l, "arith.addi", g->j.own, (int64_t)GPU_SIDE * a->own.count);
    g->high = alone_op2(l, "arith.minsi", g->high, end);
  }
  gpu_attention_walk(l, &g->j, alone_const(l, 0), g->high, count, values, gradient_tile, g);
  if (!l->failed) gpu_attention_deliver(l, &g->j, a->op.results[0], &a->columns[0], values);
}

/* ---- the kernel ---- */

/* The stages that it has: those of keys, then those of queries. */
static int gradient_stages(const attention_plan *p, bool *keys) {
  int count = 0;
  if (p->results[1] || p->results[2]) keys[count++] = true;
  if (p->results[0]) keys[count++] = false;
  return count;
}

static bool gradient_divide(gpu_attention *a, bool keys) {
  const lower_buffer *const *results = a->op.results;
  bool wanted[] = {keys ? results[1] != NULL : true, keys && results[2]};
  return gpu_attention_divide(a, keys, wanted, 0);
}

bool gpu_attention_gradient_plan(const lower_kernel *kernel, alone_plan *out) {
  gpu_attention a = {0};
  bool keys[2];
  if (!attention_read(kernel, out->op, &a.op)) return false;
  if (gpu_flash_gradient_plan(kernel, &a.op, out))
    return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
  out->stage_count = gradient_stages(&a.op, keys);
  for (int i = 0; i < out->stage_count; i++) {
    if (!gradient_divide(&a, keys[i])) return false;
    out->stages[i] = gpu_attention_blocks(&a);
  }
  return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
}

void gpu_attention_gradient_lower(lower *l, const alone_plan *plan, int stage) {
  gpu_attention a = {0};
  gradient_job g;
  bool keys[2];
  memset(&g, 0, sizeof g);
  bool read = attention_read(l->kernel, plan->op, &a.op);
  if (read && gpu_flash_gradient_lower(l, &a.op, stage)) return;
  if (!read || gradient_stages(&a.op, keys) <= stage || !gradient_divide(&a, keys[stage])) {
    l->failed = true;
    return;
  }
  gpu_attention_open(l, &a, &g.j);
  if (l->failed) return;
  if (keys[stage])
    gradient_keys(l, &g);
  else
    gradient_queries(l, &g);
}
