/* The packing stages of a product (dot.h): the operands, panel by panel, step by step of the depth.
 */
#include "passes/dot.h"

MlirValue dot_element(lower *l, const dot_plan *p, const dot_operand *o) {
  const lower_at *at = dot_operand_at(l, o);
  if (!at || l->failed) return (MlirValue){NULL};
  lower_value value = lower_emit(l, o->value, at);
  if (l->failed) return (MlirValue){NULL};
  MlirValue wide = lower_wide(l, value);
  loom_builder b = dot_here(l);
  if (p->dtype != LOOM_BOOL) return wide;
  return loom_build1(&b, "arith.extui", wide, lane_type(b.ctx, p->work, l->width));
}

/* Where the step of depth of a panel is packed: slots[(chunk * depth + k) * step + within]. */
static MlirValue dot_packed_at(lower *l, const dot_job *job, MlirValue within) {
  const dot_operand *o = job->packed;
  MlirValue chunk = dot_op(l, "arith.subi", l->vars[DOT_CHUNK].iv, job->chunk_low);
  MlirValue row = dot_add_scaled(l, l->vars[DOT_DEPTH].iv, chunk, job->p->extents[DOT_DEPTH]);
  MlirValue offset = dot_add_scaled(l, within, row, o->step);
  return dot_address(l, dot_slots(l, job->p, o), offset, job->p->work);
}

static void dot_pack_store(lower *l, const dot_job *job, MlirValue within, MlirValue value) {
  MlirValue ptr = dot_packed_at(l, job, within);
  loom_builder b = dot_here(l);
  lane_store(&b, value, ptr, job->p->work, (MlirValue){NULL});
}

/* A row that does not exist is packed as the last one: its sums go nowhere. */
static void dot_pack_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  MlirValue row = l->vars[DOT_ROW].iv;
  loom_builder b = dot_here(l);
  MlirValue within = lane_op2(&b, "arith.subi", row, job->row0);
  if (job->p->few_rows)
    l->vars[DOT_ROW].iv = dot_op(l, "arith.minsi", row, loom_num_sub(job->p->extents[DOT_ROW], 1));
  MlirValue value = dot_element(l, job->p, job->packed);
  l->vars[DOT_ROW].iv = row;
  if (l->failed) return;
  dot_pack_store(l, job, within, value);
}

/* Rows that lie side by side, in vectors of 8, 4, 2 and 1 of them. */
static void dot_pack_beside(lower *l, dot_job *job) {
  const dot_operand *o = job->packed;
  MlirValue from = dot_stored_at(l, o, job->row0, l->vars[DOT_DEPTH].iv);
  MlirValue to = dot_packed_at(l, job, dot_const(l, 0));
  int width = job->p->vl;
  for (int64_t row = 0; row < o->step && !l->failed; row += width) {
    while (width > o->step - row)
      width /= 2;
    MlirValue at = dot_const(l, row);
    MlirValue source = dot_address(l, from, at, o->stored);
    MlirValue target = dot_address(l, to, at, job->p->work);
    loom_builder b = dot_here(l);
    MlirValue rows = lane_load(&b, source, o->stored, width, (MlirValue){NULL});
    lane_store(&b, rows, target, job->p->work, (MlirValue){NULL});
  }
}

static void dot_pack_rows(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  if (job->packed->beside) {
    dot_pack_beside(l, job);
    return;
  }
  MlirValue last = dot_op(l, "arith.addi", job->row0, job->packed->step);
  lower_for(l, job->row0, last, dot_const(l, 1), DOT_ROW, 0, NULL, dot_pack_row, job, NULL);
}

static void dot_pack_vector(lower *l, const dot_job *job, int vector) {
  MlirValue value = dot_element(l, job->p, job->packed);
  if (l->failed) return;
  dot_pack_store(l, job, dot_const(l, (int64_t)vector * job->p->vl), value);
}

static void dot_pack_vectors(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_vectors(l, user, dot_pack_vector);
}

/* ---- a right operand whose depth lies side by side ---- */

/* In each round the squares of half the size that lie beside the diagonal change places. */
void dot_transpose(loom_builder *b, int size, MlirValue *rows) {
  for (int half = size / 2; half; half /= 2)
    for (int r = 0; r < size; r++) {
      int64_t upper[64], lower[64];
      if (r & half) continue;
      for (int c = 0; c < size; c++) {
        upper[c] = c & half ? size + c - half : c;
        lower[c] = c & half ? size + c : c + half;
      }
      MlirValue x = rows[r], y = rows[r + half];
      rows[r] = lane_shuffle2(b, x, y, size, upper);
      rows[r + half] = lane_shuffle2(b, x, y, size, lower);
    }
}

/* `vl` steps of depth of a panel: of each column one load. */
static void dot_pack_squares(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  const dot_operand *o = job->packed;
  int vl = job->p->vl;
  loom_dtype dtype = o->stored;
  MlirValue from = dot_stored_at(l, o, job->column0, l->vars[DOT_DEPTH].iv);
  MlirValue to = dot_packed_at(l, job, dot_const(l, 0)), square[64];
  for (int v = 0; v < job->p->nv && !l->failed; v++) {
    for (int c = 0; c < vl; c++) {
      int64_t column = (int64_t)v * vl + c;
      MlirValue at = dot_const(l, loom_num_mul(column, o->strides[DOT_COLUMN]));
      MlirValue ptr = dot_address(l, from, at, dtype);
      loom_builder b = dot_here(l);
      square[c] = lane_load(&b, ptr, dtype, vl, (MlirValue){NULL});
    }
    loom_builder b = dot_here(l);
    dot_transpose(&b, vl, square);
    for (int k = 0; k < vl; k++) {
      MlirValue ptr = dot_address(l, to, dot_const(l, k * o->step + (int64_t)v * vl), job->p->work);
      b = dot_here(l);
      lane_store(&b, square[k], ptr, job->p->work, (MlirValue){NULL});
    }
  }
}

/* The whole depth of a panel: in squares, and step by step what is left. */
static void dot_pack_turned(lower *l, dot_job *job) {
  int64_t depth = job->p->extents[DOT_DEPTH], vl = job->p->vl;
  MlirValue whole = dot_const(l, loom_num_mul(loom_num_div(depth, vl), vl));
  lower_for(l, dot_const(l, 0), whole, dot_const(l, vl), DOT_DEPTH, 0, NULL, dot_pack_squares, job,
            NULL);
  if (!loom_num_multiple(depth, vl))
    lower_for(l, whole, dot_const(l, depth), dot_const(l, 1), DOT_DEPTH, 0, NULL, dot_pack_vectors,
              job, NULL);
}

/* ---- panels ---- */

MlirValue dot_first(lower *l, MlirValue panel, int64_t step, int64_t extent) {
  MlirValue first = dot_op(l, "arith.muli", panel, step);
  if (loom_num_at_most(extent, step)) return dot_op(l, "arith.minsi", first, 0);
  first = dot_op(l, "arith.minsi", first, loom_num_sub(extent, step));
  return loom_num_at_most(step, extent) ? first : dot_op(l, "arith.maxsi", first, 0);
}

static void dot_pack_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_operand *o = job->packed;
  bool columns = o->lane_group == DOT_COLUMN;
  MlirValue chunk = dot_op(l, "arith.subi", l->vars[DOT_CHUNK].iv, job->chunk_low);
  MlirValue batch = dot_op(l, "arith.divui", chunk, o->round);
  MlirValue panel = dot_op(l, "arith.remui", chunk, o->round);
  if (job->round_batch.ptr) {
    MlirValue round = columns ? job->round_column : job->round_row;
    batch = dot_add_scaled(l, batch, job->round_batch, o->batches == 1 ? 0 : job->p->rounds.batch);
    panel = dot_add_scaled(l, panel, round, o->round);
  }
  dot_set(l, DOT_BATCH, batch);
  *(columns ? &job->column0 : &job->row0) =
      dot_first(l, panel, o->step, job->p->extents[o->lane_group]);
  lower_body pack = columns ? dot_pack_vectors : dot_pack_rows;
  if (job->p->pairs)
    dot_pairs_pack(l, job);
  else if (job->depth_first)
    pack(l, job, NULL, NULL);
  else if (o->turned)
    dot_pack_turned(l, job);
  else
    lower_for(l, dot_const(l, 0), dot_const(l, job->p->extents[DOT_DEPTH]), dot_const(l, 1),
              DOT_DEPTH, 0, NULL, pack, job, NULL);
}

static void dot_pack_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  lower_for(l, job->chunk_begin, job->chunk_end, dot_const(l, 1), DOT_CHUNK, 0, NULL,
            dot_pack_chunk, job, NULL);
}

/* Packs chunks [chunk_begin, chunk_end). Rows that lie side by side, each step of the depth far
 * from the one before, are read a step of all chunks at a time: otherwise each tile would go
 * through all pages of the operand again. */
static void dot_pack_chunks(lower *l, dot_job *job) {
  const dot_operand *o = job->packed;
  job->depth_first = o->lane_group == DOT_ROW && !job->p->pairs && !o->apart &&
                     o->strides[DOT_ROW] == 1 && o->strides[DOT_DEPTH] != 1;
  if (job->depth_first)
    lower_for(l, dot_const(l, 0), dot_const(l, job->p->extents[DOT_DEPTH]), dot_const(l, 1),
              DOT_DEPTH, 0, NULL, dot_pack_step, job, NULL);
  else
    dot_pack_step(l, job, NULL, NULL);
}

MlirValue dot_find_round(lower *l, dot_job *job, MlirValue chunk, int64_t chunks) {
  const dot_rounds *rounds = &job->p->rounds;
  MlirValue round = dot_op(l, "arith.divui", chunk, chunks);
  job->round_row = dot_op(l, "arith.remui", round, rounds->rows);
  MlirValue outer = dot_op(l, "arith.divui", round, rounds->rows);
  job->round_column = dot_op(l, "arith.remui", outer, rounds->columns);
  job->round_batch = dot_op(l, "arith.divui", outer, rounds->columns);
  return dot_op(l, "arith.muli", round, chunks);
}

void dot_pack(lower *l, dot_job *job, bool fixed) {
  int64_t first = 0;
  if (dot_is_divided(job->p) && !fixed) {
    MlirValue base = dot_find_round(l, job, l->begin, dot_round_packs(job->p));
    loom_builder b = dot_here(l);
    l->begin = lane_op2(&b, "arith.subi", l->begin, base);
    l->end = lane_op2(&b, "arith.subi", l->end, base);
  }
  for (int side = 0; side < 2 && !l->failed; side++) {
    const dot_operand *o = side ? &job->p->rhs : &job->p->lhs;
    if (o->direct || o->fixed != fixed) continue;
    int64_t last = loom_num_add(first, loom_num_mul(o->kept, o->round));
    job->packed = o;
    job->chunk_low = first;
    job->chunk_begin = dot_op(l, "arith.maxsi", l->begin, first);
    job->chunk_end = dot_op(l, "arith.minsi", l->end, last);
    dot_pack_chunks(l, job);
    first = last;
  }
}
