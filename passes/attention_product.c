/* Products of blocks in scratch, and the block of scores (attention.h). */
#include "passes/attention.h"

#include <math.h>
#include <string.h>

/* ---- products ---- */

/* One step of depth. Carried: the sums, then pointers into a and b. */
static void product_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const attention_product *x = user;
  const attention_plan *p = x->p;
  int count = x->tile.mr * x->tile.nv;
  MlirValue columns[8];
  for (int v = 0; v < x->tile.nv; v++)
    columns[v] = attention_load(l, p, attention_beside(l, p, carried[count + 1], v * p->vl), p->vl);
  for (int r = 0; r < x->tile.mr; r++) {
    MlirValue ptr = attention_beside(l, p, carried[count], r * x->a_row);
    MlirValue one = attention_load(l, p, ptr, 1);
    loom_builder b = alone_here(l);
    one = lane_splat(&b, one, p->vl);
    for (int v = 0; v < x->tile.nv; v++) {
      int i = r * x->tile.nv + v;
      next[i] = lane_fma(&b, one, columns[v], carried[i]);
    }
  }
  next[count] = attention_beside(l, p, carried[count], x->a_step);
  next[count + 1] = attention_beside(l, p, carried[count + 1], x->b_step);
}

static void product_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_product *x = user;
  const attention_plan *p = x->p;
  int count = x->tile.mr * x->tile.nv;
  MlirValue sums[LOWER_CARRIED], zero = attention_vector(l, p, 0);
  x->row = attention_iteration(l);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  sums[count] = attention_at(l, p, x->a, alone_op(l, "arith.muli", x->row, x->a_row));
  sums[count + 1] = attention_at(l, p, x->b, x->column);
  lower_for(l, alone_const(l, 0), x->depth, alone_const(l, 1), -1, count + 2, sums, product_step, x,
            sums);
  for (int r = 0; r < x->tile.mr && !l->failed; r++)
    for (int v = 0; v < x->tile.nv; v++)
      x->finish(l, x, alone_op(l, "arith.addi", x->row, r),
                alone_op(l, "arith.addi", x->column, v * p->vl), sums[r * x->tile.nv + v]);
}

static void product_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  attention_product *x = user;
  x->column = attention_iteration(l);
  attention_loop(l, alone_const(l, 0), x->rows, x->tile.mr, product_tile, x);
}

void attention_multiply(lower *l, attention_product *x) {
  attention_loop(l, alone_const(l, 0), alone_const(l, x->vectors * x->p->vl),
                 (int64_t)x->tile.nv * x->p->vl, product_panel, x);
}

/* ---- scores ---- */

MlirValue attention_scale(lower *l, const attention_plan *p) {
  lower_at *at = lower_at_new(l, 0);
  return at ? lower_emit(l, p->scale, lower_at_intern(l, at)).v : (MlirValue){NULL};
}

void attention_mask_block(lower *l, const attention_scores *s) {
  const attention_plan *p = s->p;
  if (!s->mask.ptr || !p->mask_turned) return;
  attention_source source =
      attention_source_of(p, &p->mask, s->mask, s->query0, alone_const(l, p->queries));
  if (p->mask.at.type.dims[3] != 1)
    source.ptr =
        alone_address(l, s->mask, alone_op(l, "arith.muli", s->key0, source.column), source.dtype);
  attention_pack_turned(l, &source, s->keys, attention_area(l, p, ATTENTION_S));
}

/* The mask of a row that is the same for all queries. */
static MlirValue score_row_mask(lower *l, const attention_scores *s, MlirValue key) {
  const attention_plan *p = s->p;
  const loom_layout *at = &p->mask.at;
  MlirValue ptr = s->mask, last = alone_const(l, loom_num_sub(p->keys, 1));
  if (at->type.dims[3] != 1) {
    key = alone_op2(l, "arith.minsi", key, last);
    ptr = alone_address(l, ptr, alone_op(l, "arith.muli", key, at->strides[3]), at->type.dtype);
  }
  loom_builder b = alone_here(l);
  MlirValue x = lane_load(&b, ptr, at->type.dtype, 1, (MlirValue){NULL});
  if (at->type.dtype == LOOM_BOOL) {
    MlirType type = lane_type(b.ctx, p->work, 1);
    x = lane_select(&b, x, lane_const_float(&b, type, 0), lane_const_float(&b, type, -INFINITY));
  }
  return lane_splat(&b, x, p->vl);
}

/* Keys after the query do not count. */
static MlirValue score_causal(lower *l, const attention_scores *s, MlirValue key, MlirValue column,
                              MlirValue score) {
  MlirValue query = alone_op2(l, "arith.addi", s->query0, column);
  MlirValue ahead = alone_op2(l, "arith.subi", key, query),
            low = attention_vector(l, s->p, -INFINITY);
  loom_builder b = alone_here(l);
  MlirType i64s = lane_int(b.ctx, 64, s->p->vl);
  MlirValue hidden = lane_cmpi(&b, "slt", lane_id(&b, i64s), lane_splat(&b, ahead, s->p->vl));
  return lane_select(&b, hidden, low, score);
}

MlirValue attention_score(lower *l, const attention_scores *s, MlirValue row, MlirValue column,
                          MlirValue sum) {
  const attention_plan *p = s->p;
  MlirValue key = alone_op2(l, "arith.addi", s->key0, row), mask = {NULL};
  if (s->mask.ptr && p->mask_turned) {
    MlirValue at = alone_add_scaled(l, column, row, p->block_q);
    mask = attention_load(l, p, attention_at(l, p, attention_area(l, p, ATTENTION_S), at), p->vl);
  } else if (s->mask.ptr) {
    mask = score_row_mask(l, s, key);
  }
  loom_builder b = alone_here(l);
  sum = lane_op2(&b, "arith.mulf", sum, lane_splat(&b, s->scale, p->vl));
  bool hides = mask.ptr && p->mask.at.type.dtype == LOOM_BOOL;
  if (hides)
    sum = lane_select(&b, lane_cmpf(&b, "oeq", mask, attention_vector(l, p, 0)), sum, mask);
  else if (mask.ptr)
    sum = lane_op2(&b, "arith.addf", sum, mask);
  return p->causal ? score_causal(l, s, key, column, sum) : sum;
}

attention_product attention_score_product(lower *l, const attention_scores *s) {
  const attention_plan *p = s->p;
  attention_product x = {.p = p, .tile = p->scores, .vectors = p->block_q / p->vl};
  x.rows = s->keys;
  x.depth = alone_const(l, p->depth);
  x.a = attention_area(l, p, ATTENTION_K);
  x.a_row = p->row_depth;
  x.a_step = 1;
  x.b = attention_part(l, p, ATTENTION_QT, s->part);
  x.b_step = p->block_q;
  return x;
}
