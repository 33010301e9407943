/* Tiles of products of few rows whose lanes go along the depth (dot.h).
 *
 * Both operands are read where they lie: a step takes a vector of the depth of each of `mr` rows
 * and of `inner` columns, and multiplies each row by each column. The sums of an element are in the
 * lanes of a register, and are added up at the end of a block of the depth: two registers become
 * one with the sums of neighbouring lanes of both, until there is one for all columns of a row.
 */
#include "passes/dot.h"

typedef struct inner_step {
  const dot_job *job;
  MlirValue mask; /* of the last step; null: all lanes */
} inner_step;

/* Carried: the sums, then the two pointers. */
static void inner_step_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const inner_step *step = user;
  const dot_plan *p = step->job->p;
  const dot_operand *lhs = &p->lhs, *rhs = &p->rhs;
  int count = p->mr * p->inner;
  MlirValue rows[16];
  for (int r = 0; r < p->mr; r++) {
    MlirValue ptr = dot_at(l, carried[count], loom_num_mul(r, lhs->strides[DOT_ROW]), lhs->stored);
    loom_builder b = dot_here(l);
    rows[r] = lane_load(&b, ptr, lhs->stored, p->vl, step->mask);
  }
  for (int c = 0; c < p->inner; c++) {
    MlirValue ptr =
        dot_at(l, carried[count + 1], loom_num_mul(c, rhs->strides[DOT_COLUMN]), rhs->stored);
    loom_builder b = dot_here(l);
    MlirValue column = lane_load(&b, ptr, rhs->stored, p->vl, step->mask);
    for (int r = 0; r < p->mr; r++) {
      int i = r * p->inner + c;
      next[i] = dot_multiply_add(&b, p->dtype, rows[r], column, carried[i]);
    }
  }
  next[count] = dot_at(l, carried[count], p->vl, lhs->stored);
  next[count + 1] = dot_at(l, carried[count + 1], p->vl, rhs->stored);
}

static MlirValue inner_add(loom_builder *b, const dot_plan *p, MlirValue x, MlirValue y) {
  return lane_op2(b, loom_dtype_is_float(p->dtype) ? "arith.addf" : "arith.addi", x, y);
}

/* The sums of the lanes of `count` vectors of `width` lanes, as one vector. */
static MlirValue inner_reduce(loom_builder *b, const dot_plan *p, MlirValue *vectors, int count) {
  int width = p->vl, wanted = count;
  int64_t even[64], odd[64];
  for (int i = 0; i < width; i++) {
    even[i] = 2 * i; /* of both vectors, one behind the other */
    odd[i] = 2 * i + 1;
  }
  for (; count > 1; count /= 2)
    for (int i = 0; i < count / 2; i++) {
      MlirValue x = vectors[2 * i], y = vectors[2 * i + 1];
      vectors[i] =
          inner_add(b, p, lane_shuffle2(b, x, y, width, even), lane_shuffle2(b, x, y, width, odd));
    }
  for (; width > wanted; width /= 2) {
    MlirValue x, y;
    lane_pairs(b, vectors[0], &x, &y);
    vectors[0] = inner_add(b, p, x, y);
  }
  return vectors[0];
}

/* The sums of a row of the tile, of the columns from `column` on, to those in scratch. */
static void inner_store(lower *l, const dot_job *job, int row, MlirValue column, MlirValue *sums) {
  const dot_plan *p = job->p;
  MlirValue ptr = dot_sum_pointer(l, job, dot_const(l, row), 0);
  ptr = dot_address(l, ptr, column, p->work);
  loom_builder b = dot_here(l);
  MlirValue sum = inner_reduce(&b, p, sums, p->inner);
  MlirValue before = lane_load(&b, ptr, p->work, p->inner, (MlirValue){NULL});
  lane_store(&b, inner_add(&b, p, before, sum), ptr, p->work, (MlirValue){NULL});
}

/* A block of the depth of some columns of the panel. */
static void inner_columns(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_plan *p = job->p;
  const dot_operand *rhs = &p->rhs;
  int count = p->mr * p->inner;
  MlirValue column = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue sums[LOWER_CARRIED], after[LOWER_CARRIED];
  MlirValue zero = dot_zero(l, p);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  sums[count] = dot_stored_at(l, &p->lhs, job->row0, job->depth_low);
  MlirValue offset = dot_op(l, "arith.muli", column, rhs->strides[DOT_COLUMN]);
  sums[count + 1] = dot_address(l, job->rhs, offset, rhs->stored);
  loom_builder b = dot_here(l);
  MlirValue left = lane_op2(&b, "arith.subi", job->depth_high, job->depth_low);
  left = dot_op(l, "arith.remui", left, p->vl);
  b = dot_here(l);
  MlirValue split = lane_op2(&b, "arith.subi", job->depth_high, left);
  inner_step step = {job, {NULL}};
  lower_for(l, job->depth_low, split, dot_const(l, p->vl), -1, count + 2, sums, inner_step_body,
            &step, sums);
  if (l->failed) return;
  if (!loom_num_multiple(p->extents[DOT_DEPTH], p->vl)) {
    b = dot_here(l);
    MlirType i64s = lane_int(b.ctx, 64, p->vl);
    step.mask = lane_cmpi(&b, "slt", lane_id(&b, i64s), lane_splat(&b, left, p->vl));
    inner_step_body(l, &step, sums, after);
    for (int i = 0; i < count; i++)
      sums[i] = after[i];
  }
  for (int r = 0; r < p->mr && !l->failed; r++)
    inner_store(l, job, r, column, sums + (size_t)r * p->inner);
}

void dot_inner_tile(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  lower_for(l, dot_const(l, 0), dot_const(l, p->vl), dot_const(l, p->inner), -1, 0, NULL,
            inner_columns, job, NULL);
}
