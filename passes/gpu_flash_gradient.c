/* Gradients of an attention on a GPU by instructions on matrices (gpu_flash.h), in stages of which
 * each is there where its results are read (gpu_attention_gradient.c says what they compute):
 *
 *   the gradients of k and v: a block has a tile of keys, and goes through the queries of all heads
 *   of q that use them
 *   the gradient of q: a block has a tile of queries, and goes through the keys
 *
 * Own rows of two operands are fragments in registers: k and v, or q and the result's gradient.
 * Tiles of the two operands of the other side lie in two places by turns, so that one barrier a
 * tile is enough. Where the sums of the gradients of k and v do not both fit a thread's registers,
 * each has a stage of its own, and the scores are computed once more.
 *
 * The gradient of a score is rounded to a half before it is multiplied, and multiplied with the
 * scale afterwards.
 */
#include "passes/gpu_flash.h"

#include <math.h>

#define GRADIENT_SUMS 64 /* of a thread, in f32, at most */
#define GRADIENT_STAGES 3

typedef struct gradient_job {
  flash_job j;
  bool first, second;             /* has the gradient of k or q; of v */
  flash_tile rows, grads;         /* of the other side: q or k; the result's gradient or v */
  MlirValue own[2][FLASH_CELLS];  /* own rows of k or q, and of v or the result's gradient */
  MlirValue lines[2][FLASH_ROWS]; /* of own queries: logarithms times -log2(e), and dots */
  MlirValue high, scale;          /* rows of the other side; not times log2(e) */
  int sums;                       /* carried values of results; behind them are the places */
} gradient_job;

/* ---- scores ---- */

static const attention_operand *gradient_operand(const gpu_flash *f, int which) {
  return which ? &f->op.dot : &f->op.lse;
}

/* Number `which` of a query. One that is not there has no part in anything: its weights are 0. */
static MlirValue gradient_line(lower *l, const flash_job *j, bool own, MlirValue row, int which) {
  const gpu_flash *f = j->f;
  const attention_operand *o = gradient_operand(f, which);
  MlirValue head = attention_head(l, o, j->batch, j->head);
  MlirValue at = gpu_flash_offset(l, j, own, row, o->at.strides[2]);
  MlirValue ptr = alone_address(l, head, at, LOOM_F32), rows = alone_const(l, f->op.queries);
  MlirValue none = attention_vector(l, &f->op, which ? 0 : -INFINITY);
  loom_builder b = alone_here(l);
  MlirValue x = lane_load(&b, ptr, LOOM_F32, 1, (MlirValue){NULL});
  if (!which) x = lane_op1(&b, "arith.negf", lane_op2(&b, "arith.mulf", x, j->log2e));
  if (own || loom_num_multiple(f->op.queries, f->other)) return x;
  return lane_select(&b, lane_cmpi(&b, "slt", row, rows), x, none);
}

/* That of the query that value i of the scores belongs to; `lines`: those of the thread's x. */
static void gradient_lines(lower *l, const gradient_job *g, int which, MlirValue *out) {
  const flash_job *j = &g->j;
  const gpu_flash *f = j->f;
  int values = gpu_flash_values(f);
  for (int i = 0; i < f->cells * values; i++) {
    int v = i % values, same = i;
    if (!f->keys) {
      out[i] = g->lines[which][gpu_flash_row(f, v)];
      continue;
    }
    for (int w = 0; w < v && same == i; w++)
      if (gpu_flash_x(f, w) == gpu_flash_x(f, v)) same = i - v + w;
    out[i] = same < i ? out[same]
                      : gradient_line(l, j, false, gpu_flash_other_at(l, j, i / values, v), which);
  }
}

static void gradient_weights(lower *l, const gradient_job *g, const MlirValue *lse,
                             MlirValue *scores) {
  const gpu_flash *f = g->j.f;
  gpu_flash_mask(l, &g->j, !f->keys, scores);
  for (int i = 0; i < f->cells * gpu_flash_values(f); i++) {
    loom_builder b = alone_here(l);
    MlirValue score = f->later ? lane_fma(&b, scores[i], g->j.scale, lse[i])
                               : lane_op2(&b, "arith.addf", scores[i], lse[i]);
    scores[i] = gpu_flash_exp2(l, score);
  }
}

/* ---- a tile ---- */

static MlirValue gradient_place(lower *l, const gradient_job *g, MlirValue place, int operand) {
  return operand ? alone_op(l, "arith.addi", place, gpu_flash_bytes(g->j.f, g->j.f->other)) : place;
}

static void gradient_copy(lower *l, gradient_job *g, MlirValue first, MlirValue place,
                          MlirValue (*values)[SLAB_PIECES]) {
  gpu_flash_begin(l, &g->rows, first, g->high, gradient_place(l, g, place, 0), values[0]);
  gpu_flash_begin(l, &g->grads, first, g->high, gradient_place(l, g, place, 1), values[1]);
  gpu_flash_commit(l, &g->j);
}

static void gradient_copied(lower *l, gradient_job *g, MlirValue place,
                            MlirValue (*values)[SLAB_PIECES]) {
  gpu_flash_end(l, &g->rows, gradient_place(l, g, place, 0), values[0]);
  gpu_flash_end(l, &g->grads, gradient_place(l, g, place, 1), values[1]);
}

/* Adds weights times rows of a tile to carried sums. */
static void gradient_add(lower *l, gradient_job *g, const MlirValue *weights, flash_tile *tile,
                         MlirValue offset, int columns, MlirValue *sums) {
  flash_cell cells[FLASH_CELLS];
  if (g->j.f->group) {
    gpu_flash_group_weigh(l, &g->j, offset, columns, weights, sums);
    return;
  }
  gpu_flash_put_together(l, g->j.f, columns, sums, cells);
  gpu_flash_weigh(l, &g->j, tile, offset, columns, weights, cells);
  gpu_flash_take_apart(l, g->j.f, columns, cells, sums);
}

static void gradient_scores(lower *l, gradient_job *g, int operand, MlirValue place,
                            MlirValue *out) {
  const gpu_flash *f = g->j.f;
  int columns = f->columns[operand];
  if (f->group)
    gpu_flash_group_multiply(l, &g->j, place, columns, g->own[operand], out);
  else
    gpu_flash_multiply(l, &g->j, operand ? &g->grads : &g->rows, place, columns, g->own[operand],
                       out);
}

static void gradient_multiply(lower *l, gradient_job *g, MlirValue place, MlirValue *next) {
  const gpu_flash *f = g->j.f;
  const int *columns = f->columns;
  int first = g->first ? columns[0] * gpu_flash_carried(f) : 0;
  MlirValue weights[FLASH_CELLS * FLASH_VALUES], gradients[FLASH_CELLS * FLASH_VALUES];
  MlirValue lse[FLASH_CELLS * FLASH_VALUES], dots[FLASH_CELLS * FLASH_VALUES];
  MlirValue rows = gradient_place(l, g, place, 0), grads = gradient_place(l, g, place, 1);
  gradient_lines(l, g, 0, lse);
  if (g->first) gradient_lines(l, g, 1, dots);
  gradient_scores(l, g, 0, rows, weights);
  gradient_weights(l, g, lse, weights);
  if (g->second) gradient_add(l, g, weights, &g->grads, grads, columns[1], next + first);
  if (!g->first) return;
  gradient_scores(l, g, 1, grads, gradients);
  for (int i = 0; i < f->cells * gpu_flash_values(f); i++) {
    MlirValue x = alone_op2(l, "arith.subf", gradients[i], dots[i]);
    gradients[i] = alone_op2(l, "arith.mulf", weights[i], x);
  }
  gradient_add(l, g, gradients, &g->rows, rows, columns[0], next);
}

static void gradient_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *g = user;
  flash_job *j = &g->j;
  MlirValue *places = next + g->sums, here[] = {places[0], places[1]};
  MlirValue values[2][SLAB_PIECES];
  j->other = attention_iteration(l);
  gpu_flash_wait(l, j, true, true);
  gradient_copy(l, g, alone_op(l, "arith.addi", j->other, j->f->other), here[1], values);
  gradient_multiply(l, g, here[0], next);
  gradient_copied(l, g, here[1], values);
  places[0] = here[1];
  places[1] = here[0];
}

/* All tiles of a head from `low` on. */
static void gradient_walk(lower *l, gradient_job *g, MlirValue low, MlirValue *sums) {
  const gpu_flash *f = g->j.f;
  MlirValue values[LOWER_CARRIED], loaded[2][SLAB_PIECES];
  for (int i = 0; i < g->sums; i++)
    values[i] = sums[i];
  for (int i = 0; i < 2; i++)
    values[g->sums + i] = alone_const(l, (int64_t)2 * i * gpu_flash_bytes(f, f->other));
  gradient_copy(l, g, low, values[g->sums], loaded);
  gradient_copied(l, g, values[g->sums], loaded);
  lower_for(l, low, g->high, alone_const(l, f->other), -1, g->sums + 2, values, gradient_tile, g,
            values);
  for (int i = 0; i < g->sums && !l->failed; i++)
    sums[i] = values[i];
  gpu_flash_wait(l, &g->j, true, false);
}

/* ---- the two kinds of blocks ---- */

static void gradient_heads(lower *l, gradient_job *g, MlirValue rows, MlirValue grads) {
  const flash_job *j = &g->j;
  const attention_plan *p = &j->f->op;
  g->rows.at.head = attention_head(l, j->f->keys ? &p->q : &p->k, j->batch, rows);
  g->grads.at.head = attention_head(l, j->f->keys ? &p->grad : &p->v, j->batch, grads);
}

/* One of the heads of q that use the block's keys. With causal, queries before the first key do not
 * see it. */
static void gradient_head(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *g = user;
  const gpu_flash *f = g->j.f;
  int64_t per_group = f->op.heads / f->op.groups;
  MlirValue low = alone_const(l, 0);
  gpu_flash_enter(l, &g->j, alone_add_scaled(l, attention_iteration(l), g->j.group, per_group));
  gradient_heads(l, g, g->j.head, g->j.head);
  if (f->op.causal)
    low = alone_op(l, "arith.muli", alone_op(l, "arith.divui", g->j.own, f->other), f->other);
  gradient_walk(l, g, low, next);
}

static void gradient_queries(lower *l, gradient_job *g, MlirValue *sums) {
  flash_job *j = &g->j;
  for (int k = 0; k < gpu_flash_own_rows(j->f); k++)
    for (int i = 0; i < 2; i++)
      g->lines[i][k] = gradient_line(l, j, true, gpu_flash_own_at(l, j, k), i);
  gradient_heads(l, g, j->group, j->group);
  gradient_walk(l, g, alone_const(l, 0), sums);
}

static void gradient_deliver(lower *l, gradient_job *g, int result, int columns, MlirValue *sums) {
  const gpu_flash *f = g->j.f;
  flash_cell cells[FLASH_CELLS];
  MlirValue by[] = {g->scale, g->scale};
  if (result < 2) gpu_flash_scale(l, f, columns, by, sums);
  gpu_flash_put_together(l, f, columns, sums, cells);
  gpu_flash_deliver(l, &g->j, f->op.results[result], cells);
}

static void gradient_block(lower *l, gradient_job *g) {
  flash_job *j = &g->j;
  const gpu_flash *f = j->f;
  const attention_plan *p = &f->op;
  MlirValue sums[LOWER_CARRIED];
  int first = g->first ? f->columns[0] * gpu_flash_carried(f) : 0;
  g->sums = first + (g->second ? f->columns[1] * gpu_flash_carried(f) : 0);
  g->high = gpu_flash_high(l, j);
  gpu_flash_tile(l, j, f->keys ? &p->q : &p->k, false, &g->rows);
  gpu_flash_tile(l, j, f->keys ? &p->grad : &p->v, false, &g->grads);
  gpu_flash_own(l, j, f->keys ? &p->k : &p->q, g->own[0]);
  if (g->first) gpu_flash_own(l, j, f->keys ? &p->v : &p->grad, g->own[1]);
  for (int i = 0; i < g->sums / gpu_flash_carried(f); i++) {
    flash_cell zero = gpu_flash_zero(l, f);
    gpu_flash_take_apart(l, f, 1, &zero, sums + i * gpu_flash_carried(f));
  }
  if (f->keys)
    lower_for(l, alone_const(l, 0), alone_const(l, p->heads / p->groups), alone_const(l, 1), -1,
              g->sums, sums, gradient_head, g, sums);
  else
    gradient_queries(l, g, sums);
  if (l->failed) return;
  if (g->first) gradient_deliver(l, g, f->keys ? 1 : 0, f->columns[0], sums);
  if (g->first && g->second) {
    loom_builder b = alone_here(l);
    gpu_barrier(l, &b);
  }
  if (g->second) gradient_deliver(l, g, 2, f->columns[1], sums + first);
}

/* ---- the kernel ---- */

typedef struct gradient_stage {
  bool keys, first, second;
} gradient_stage;

static int gradient_stages(const attention_plan *p, gradient_stage *out) {
  int count = 0;
  bool first = p->results[1] != NULL, second = p->results[2] != NULL;
  int64_t columns = loom_ceil_div(p->depth, FLASH_SIDE) + loom_ceil_div(p->width, FLASH_SIDE);
  if (first && second && columns * FLASH_SIDE / 2 > GRADIENT_SUMS) {
    out[count++] = (gradient_stage){true, true, false};
    out[count++] = (gradient_stage){true, false, true};
  } else if (first || second) {
    out[count++] = (gradient_stage){true, first, second};
  }
  if (p->results[0]) out[count++] = (gradient_stage){false, true, false};
  return count;
}

static bool gradient_divide(const lower_kernel *kernel, const attention_plan *op,
                            const gradient_stage *stage, gpu_flash *f) {
  *f = (gpu_flash){.op = *op};
  return gpu_flash_divide(kernel, f, stage->keys);
}

bool gpu_flash_gradient_plan(const lower_kernel *kernel, const attention_plan *op,
                             alone_plan *out) {
  gpu_flash f;
  gradient_stage stages[GRADIENT_STAGES];
  int count = gradient_stages(op, stages);
  for (int i = 0; i < count; i++) {
    if (!gradient_divide(kernel, op, &stages[i], &f)) return false;
    out->stages[i] = gpu_flash_blocks(&f);
  }
  out->stage_count = count;
  return true;
}

static int gradient_shared(const gpu_flash *f) {
  int own = gpu_flash_bytes(f, f->own), places = 4 * gpu_flash_bytes(f, f->other);
  return own > places ? own : places;
}

bool gpu_flash_gradient_lower(lower *l, const attention_plan *op, int stage) {
  gpu_flash f;
  gradient_job g = {0};
  gradient_stage stages[GRADIENT_STAGES];
  if (gradient_stages(op, stages) <= stage || !gradient_divide(l->kernel, op, &stages[stage], &f))
    return false;
  g.first = stages[stage].first;
  g.second = stages[stage].second;
  gpu_flash_open(l, &f, gradient_shared(&f), &g.j);
  g.scale = attention_scale(l, &f.op);
  if (!l->failed) gradient_block(l, &g);
  return true;
}
