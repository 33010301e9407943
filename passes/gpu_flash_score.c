/* Scores of an attention by instructions on matrices (gpu_flash.h): scale, mask and what is hidden.
 * Only tiles that cross an end or the diagonal look at what is hidden. */
#include "passes/gpu_flash.h"

#include <math.h>

MlirValue gpu_flash_exp2(lower *l, MlirValue x) {
  loom_builder b = alone_here(l);
  MlirType type = mlirValueGetType(x);
  return gpu_call(&b, l->kernel->op, "loom_gpu_exp2", 1, &type, &x, type);
}

MlirValue gpu_flash_own_at(lower *l, const flash_job *j, int k) {
  MlirValue at = alone_op2(l, "arith.addi", j->own, j->down);
  at = alone_op2(l, "arith.addi", at, j->row);
  return alone_op(l, "arith.addi", at, (int64_t)k * j->f->matrix.sums_step);
}

MlirValue gpu_flash_other_at(lower *l, const flash_job *j, int cell, int v) {
  MlirValue at = alone_op2(l, "arith.addi", j->other, j->across);
  at = alone_op2(l, "arith.addi", at, j->x);
  return alone_op(l, "arith.addi", at, (int64_t)cell * FLASH_SIDE + gpu_flash_x(j->f, v));
}

MlirValue gpu_flash_offset(lower *l, const flash_job *j, bool own, MlirValue row, int64_t stride) {
  const gpu_flash *f = j->f;
  int64_t rows = gpu_flash_rows(f, own);
  if (!loom_num_multiple(rows, own ? f->own : f->other))
    row = alone_op2(l, "arith.minsi", row, alone_const(l, loom_num_sub(rows, 1)));
  return alone_op(l, "arith.muli", row, stride);
}

MlirValue gpu_flash_high(lower *l, const flash_job *j) {
  const gpu_flash *f = j->f;
  MlirValue high = alone_const(l, gpu_flash_rows(f, false));
  if (!f->op.causal || f->keys) return high;
  return alone_op2(l, "arith.minsi", high, alone_op(l, "arith.addi", j->own, f->own));
}

/* ---- the mask ---- */

static MlirValue mask_address(lower *l, const flash_job *j, MlirValue ptr, bool own,
                              MlirValue row) {
  const loom_layout *at = &j->f->op.mask.at;
  int d = j->f->keys == own ? 3 : 2;
  if (at->type.dims[d] == 1) return ptr;
  MlirValue offset = gpu_flash_offset(l, j, own, row, at->strides[d]);
  return alone_address(l, ptr, offset, at->type.dtype);
}

/* score * scale + mask, or -inf where a mask of bools is not set. */
static MlirValue mask_score(lower *l, const flash_job *j, MlirValue ptr, MlirValue score) {
  loom_dtype dtype = j->f->op.mask.at.type.dtype;
  MlirValue none = attention_vector(l, &j->f->op, -INFINITY);
  loom_builder b = alone_here(l);
  MlirValue mask = lane_load(&b, ptr, dtype, 1, (MlirValue){NULL});
  if (dtype != LOOM_BOOL)
    return lane_fma(&b, score, j->scale, lane_op2(&b, "arith.mulf", mask, j->log2e));
  return lane_select(&b, mask, lane_op2(&b, "arith.mulf", score, j->scale), none);
}

static void mask_scores(lower *l, const flash_job *j, MlirValue *scores) {
  const gpu_flash *f = j->f;
  int values = gpu_flash_values(f);
  MlirValue rows[FLASH_ROWS];
  for (int k = 0; k < gpu_flash_own_rows(f) && j->mask.ptr; k++)
    rows[k] = mask_address(l, j, j->mask, true, gpu_flash_own_at(l, j, k));
  for (int i = 0; i < f->cells * values; i++) {
    if (j->mask.ptr) {
      MlirValue other = gpu_flash_other_at(l, j, i / values, i % values);
      MlirValue ptr = mask_address(l, j, rows[gpu_flash_row(f, i % values)], false, other);
      scores[i] = mask_score(l, j, ptr, scores[i]);
    } else if (!f->later) {
      scores[i] = alone_op2(l, "arith.mulf", scores[i], j->scale);
    }
  }
}

/* ---- what is hidden ---- */

typedef struct mask_hide {
  const flash_job *j;
  bool end;
  MlirValue *scores;
} mask_hide;

static void mask_hidden(lower *l, void *user, MlirValue *out) {
  const mask_hide *h = user;
  const flash_job *j = h->j;
  const gpu_flash *f = j->f;
  int values = gpu_flash_values(f);
  MlirValue low = attention_vector(l, &f->op, -INFINITY), own[FLASH_ROWS];
  MlirValue rows = alone_const(l, gpu_flash_rows(f, false));
  for (int k = 0; k < gpu_flash_own_rows(f); k++)
    own[k] = gpu_flash_own_at(l, j, k);
  for (int i = 0; i < f->cells * values; i++) {
    MlirValue other = gpu_flash_other_at(l, j, i / values, i % values), hidden = {NULL};
    MlirValue mine = own[gpu_flash_row(f, i % values)];
    loom_builder b = alone_here(l);
    if (f->op.causal) hidden = lane_cmpi(&b, "sgt", f->keys ? mine : other, f->keys ? other : mine);
    if (h->end) {
      MlirValue beyond = lane_cmpi(&b, "sge", other, rows);
      hidden = hidden.ptr ? lane_op2(&b, "arith.ori", hidden, beyond) : beyond;
    }
    out[i] = lane_select(&b, hidden, low, h->scores[i]);
  }
}

static void mask_shown(lower *l, void *user, MlirValue *out) {
  const mask_hide *h = user;
  for (int i = 0; i < h->j->f->cells * gpu_flash_values(h->j->f); i++)
    out[i] = h->scores[i];
}

/* Does the tile cross the diagonal, where the warp's rows are, or (`end`) the end? */
static MlirValue mask_crosses(lower *l, const flash_job *j, bool end) {
  const gpu_flash *f = j->f;
  MlirValue own = alone_op2(l, "arith.addi", j->own, j->down), crosses = {NULL};
  MlirValue own_last = alone_op(l, "arith.addi", own, FLASH_SIDE - 1);
  MlirValue last = alone_op(l, "arith.addi", j->other, f->other - 1);
  MlirValue rows = alone_const(l, gpu_flash_rows(f, false));
  loom_builder b = alone_here(l);
  if (f->op.causal)
    crosses = lane_cmpi(&b, "sgt", f->keys ? own_last : last, f->keys ? j->other : own);
  if (!end) return crosses;
  MlirValue beyond = lane_cmpi(&b, "sge", last, rows);
  return crosses.ptr ? lane_op2(&b, "arith.ori", crosses, beyond) : beyond;
}

void gpu_flash_mask(lower *l, const flash_job *j, bool end, MlirValue *scores) {
  const gpu_flash *f = j->f;
  MlirValue out[FLASH_CELLS * FLASH_VALUES];
  int count = f->cells * gpu_flash_values(f);
  end = end && !loom_num_multiple(gpu_flash_rows(f, false), f->other);
  mask_scores(l, j, scores);
  if (!end && !f->op.causal) return;
  mask_hide h = {j, end, scores};
  tile_if(l, mask_crosses(l, j, end), count, mask_hidden, mask_shown, &h, out);
  for (int i = 0; i < count && !l->failed; i++)
    scores[i] = out[i];
}
