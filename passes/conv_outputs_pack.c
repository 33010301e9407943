/* What a convolution with output channels in its lanes packs: the weights, and what the windows of
 * a panel's pixels read (conv_outputs.c). */
#include "passes/conv_outputs.h"

/* ---- the place in the window ---- */

static void outputs_set_place(lower *l, const conv_plan *p, MlirValue place) {
  for (int i = p->spatial - 1; i >= 0; i--) {
    if (p->window[i] == 1) continue;
    alone_set(l, CONV_WINDOW + i, alone_op(l, "arith.remui", place, p->window[i]));
    place = alone_op(l, "arith.divui", place, p->window[i]);
  }
}

static void outputs_unset_place(lower *l, const conv_plan *p) {
  for (int i = 0; i < p->spatial; i++)
    l->vars[CONV_WINDOW + i].iv = (MlirValue){NULL};
}

void outputs_lanes(lower *l, const conv_plan *p, int var, MlirValue low, MlirValue high, bool whole,
                   lower_body body, void *user) {
  lower_lanes lanes = {var, p->vl, whole ? LOWER_TAIL_NONE : LOWER_TAIL_MASK};
  MlirValue split = lower_lane_split(l, &lanes, high);
  lower_lane_main(l, &lanes, low, split, 0, NULL, body, user, NULL);
  lower_lane_tail(l, &lanes, split, high, 0, NULL, body, user, NULL);
}

/* ---- weights ---- */

/* A vector of weights, `row` output channels on from the one at hand. */
static MlirValue outputs_weight(lower *l, const conv_plan *p, int64_t row) {
  lower_at *at = lower_at_new(l, p->weights.rank);
  if (!at) return (MlirValue){NULL};
  at->dims[0].constant = row;
  alone_coef(l, &at->dims[0], CONV_GROUP, p->rows);
  alone_coef(l, &at->dims[0], CONV_ROW, 1);
  alone_coef(l, &at->dims[1], CONV_C, 1);
  for (int i = 0; i < p->spatial; i++) {
    alone_coef(l, &at->dims[i + 2], CONV_WINDOW + i, p->reversed ? -1 : 1);
    at->dims[i + 2].constant = p->reversed ? p->window[i] - 1 : 0;
  }
  lower_value value = lower_emit(l, loom_operand(p->op, 1), lower_at_intern(l, at));
  return l->failed ? value.v : lower_wide(l, value);
}

/* A square: input channels are neighbours in memory, output channels in the panel. */
static void outputs_pack_square(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue rows[OUTPUTS_SQUARE];
  int order[OUTPUTS_SQUARE];
  for (int r = 0; r < p->square && !l->failed; r++)
    rows[r] = outputs_weight(l, p, r);
  if (l->failed) return;
  MlirValue offset = alone_op2(l, "arith.subi", l->vars[CONV_ROW].iv, job->row0);
  offset = alone_add_scaled(l, offset, l->vars[CONV_C].iv, p->row_step);
  MlirValue to = alone_address(l, job->panel, offset, p->dtype);
  loom_builder b = alone_here(l);
  lower_turn(&b, rows, p->square, (int)loom_dtype_size(p->dtype), order);
  for (int i = 0; i < p->square; i++) {
    MlirValue ptr = alone_address(l, to, alone_const(l, order[i] * p->row_step), p->dtype);
    b = alone_here(l);
    lane_store(&b, rows[i], ptr, p->dtype, (MlirValue){NULL});
  }
}

static void outputs_pack_squares(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  lower_lanes lanes = {CONV_C, p->square, LOWER_TAIL_NONE};
  lower_lane_main(l, &lanes, alone_const(l, 0), alone_const(l, p->channels), 0, NULL,
                  outputs_pack_square, job, NULL);
}

static void outputs_pack_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue wide = outputs_weight(l, p, 0);
  if (l->failed) return;
  MlirValue offset = alone_op2(l, "arith.subi", l->vars[CONV_ROW].iv, job->row0);
  offset = alone_add_scaled(l, offset, l->vars[CONV_C].iv, p->row_step);
  MlirValue ptr = alone_address(l, job->panel, offset, p->dtype);
  loom_builder b = alone_here(l);
  if (l->mask.ptr) wide = lane_select(&b, l->mask, wide, conv_zero(l, l->depth, p, p->vl));
  lane_store(&b, wide, ptr, p->dtype, (MlirValue){NULL});
}

static void outputs_pack_channel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  outputs_lanes(l, p, CONV_ROW, job->row0, job->row_end, p->rows % p->vl == 0, outputs_pack_vector,
                job);
}

MlirValue outputs_weights(lower *l, const conv_plan *p, MlirValue tile, MlirValue depth) {
  MlirValue offset = alone_op(l, "arith.muli", depth, p->row_step);
  offset = alone_add_scaled(l, offset, tile, p->depth * p->row_step);
  return alone_address(l, conv_slots(l), offset, p->dtype);
}

/* Lanes of the last vectors that are no channel of the group. */
static void outputs_clear_weights(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue ptr = alone_address(l, job->panel, l->vars[CONV_DEPTH].iv, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, conv_zero(l, 0, p, p->vl), ptr, p->dtype, (MlirValue){NULL});
}

/* A chunk: one place of the window for one tile of output channels. */
void conv_outputs_pack(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  int64_t places = p->depth / p->channels, tiles = p->padded_rows / p->row_step;
  MlirValue chunk = l->vars[CONV_CHUNK].iv, zero = alone_const(l, 0), one = alone_const(l, 1);
  MlirValue tile = alone_op(l, "arith.divui", chunk, places);
  MlirValue place = alone_op(l, "arith.remui", chunk, places);
  job->panel = outputs_weights(l, p, tile, alone_op(l, "arith.muli", place, p->channels));
  alone_set(l, CONV_GROUP, alone_op(l, "arith.divui", tile, tiles));
  job->row0 = alone_op(l, "arith.muli", alone_op(l, "arith.remui", tile, tiles), p->row_step);
  job->row_end = alone_op(l, "arith.addi", job->row0, p->row_step);
  job->row_end = alone_op(l, "arith.minsi", job->row_end, p->rows);
  outputs_set_place(l, p, place);
  if (p->padded_rows != p->rows)
    lower_for(l, zero, alone_const(l, p->channels * p->row_step), alone_const(l, p->vl), CONV_DEPTH,
              0, NULL, outputs_clear_weights, job, NULL);
  if (p->square > 1)
    lower_for(l, job->row0, job->row_end, alone_const(l, p->square), CONV_ROW, 0, NULL,
              outputs_pack_squares, job, NULL);
  else
    lower_for(l, zero, alone_const(l, p->channels), one, CONV_C, 0, NULL, outputs_pack_channel, job,
              NULL);
  outputs_unset_place(l, p);
  l->vars[CONV_GROUP].iv = (MlirValue){NULL};
}

/* ---- what the windows read ---- */

static void outputs_copy_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue value = conv_input(l, at->job);
  if (l->failed) return;
  MlirValue channel = alone_op2(l, "arith.subi", l->vars[CONV_C].iv, at->channel_low);
  MlirValue offset = alone_add_scaled(l, channel, conv_within(l, at->job), p->pitch);
  offset = alone_add_scaled(l, offset, at->place, p->channels);
  MlirValue ptr = alone_address(l, l->scratch, offset, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, value, ptr, p->dtype, l->mask);
}

static void outputs_copy_pixel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  outputs_lanes(l, p, CONV_C, at->channel_low, at->channel_high, p->channels % p->vl == 0,
                outputs_copy_vector, at);
}

/* A pixel at an end of a line: its places along the line one by one. */
static void outputs_copy_edge(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user, inner = *at;
  const conv_plan *p = at->job->p;
  int x = CONV_WINDOW + p->spatial - 1;
  for (int64_t k = 0; k < p->window[p->spatial - 1] && !l->failed; k++) {
    if (p->window[p->spatial - 1] > 1) alone_set(l, x, alone_const(l, k));
    inner.place = alone_op(l, "arith.addi", at->place, k);
    outputs_copy_pixel(l, &inner, NULL, NULL);
  }
  l->vars[x].iv = (MlirValue){NULL};
}

/* Neighbours, some vectors of them. */
static void outputs_copy_piece(lower *l, const conv_plan *p, MlirValue from, MlirValue to,
                               int64_t count) {
  for (int64_t i = 0; i < count; i += p->vl) {
    MlirValue here = alone_address(l, from, alone_const(l, i), p->dtype), mask = {NULL};
    MlirValue there = alone_address(l, to, alone_const(l, i), p->dtype);
    loom_builder b = alone_here(l);
    MlirType i32 = mlirIntegerTypeGet(b.ctx, 32);
    if (i + p->vl > count)
      mask = lane_cmpi(&b, "ult", lane_id(&b, lane_int(b.ctx, 32, p->vl)),
                       lane_splat(&b, lane_const_int(&b, i32, count - i), p->vl));
    lane_store(&b, lane_load(&b, here, p->dtype, p->vl, mask), there, p->dtype, mask);
  }
}

/* All places along a line, which lie in the input. */
static void outputs_copy_run(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  int last = p->spatial - 1;
  int64_t stride = l->kernel->operands[p->input].strides[last + 2];
  MlirValue to = alone_op(l, "arith.muli", conv_within(l, at->job), p->pitch);
  to = alone_add_scaled(l, to, at->place, p->channels);
  to = alone_address(l, l->scratch, to, p->dtype);
  MlirValue x = alone_op(l, "arith.muli", l->vars[CONV_X].iv, p->strides[last]);
  x = alone_op(l, "arith.subi", x, p->low[last]);
  MlirValue from = alone_address(l, at->line, alone_op(l, "arith.muli", x, stride), p->dtype);
  if (p->piece) {
    outputs_copy_piece(l, p, from, to, p->window[last] * p->channels);
    return;
  }
  int64_t apart = loom_num_mul(stride, p->dilation[last]);
  for (int64_t k = 0; k < p->window[last]; k++) {
    outputs_copy_piece(l, p, from, to, p->channels);
    from = alone_address(l, from, alone_const(l, apart), p->dtype);
    to = alone_address(l, to, alone_const(l, p->channels), p->dtype);
  }
}

/* A line of the window for the pixels of a segment. */
static void outputs_copy_line(lower *l, conv_job *job) {
  outputs_job *at = outputs_of(job);
  const conv_plan *p = job->p;
  const lower_buffer *buffer = &l->kernel->operands[p->input];
  int last = p->spatial - 1;
  int64_t stride = p->strides[last], low = p->low[last];
  MlirValue one = alone_const(l, 1), there = {NULL};
  MlirValue offset = alone_op(l, "arith.muli", l->vars[CONV_N].iv, buffer->strides[0]);
  offset = alone_add_scaled(l, offset, l->vars[CONV_GROUP].iv, p->channels);
  for (int d = 0; d < last; d++) {
    MlirValue y = alone_op(l, "arith.muli", l->vars[CONV_OUT + d].iv, p->strides[d]);
    if (l->vars[CONV_WINDOW + d].iv.ptr)
      y = alone_add_scaled(l, y, l->vars[CONV_WINDOW + d].iv, p->dilation[d]);
    y = alone_op(l, "arith.subi", y, p->low[d]);
    offset = alone_add_scaled(l, offset, y, buffer->strides[d + 2]);
    MlirValue end = alone_const(l, loom_num_dim(p->in.dims[d + 2]));
    loom_builder b = alone_here(l);
    MlirValue inside = lane_cmpi(&b, "ult", y, end);
    there = there.ptr ? lane_op2(&b, "arith.andi", there, inside) : inside;
  }
  at->line = alone_address(l, l->pointers[buffer->slot], offset, p->dtype);
  /* Pixels from `first` to `end` read nothing but the input. */
  MlirValue end = alone_const(l, loom_num_dim(p->in.dims[last + 2]));
  end =
      alone_op(l, "arith.addi", end, low - (p->window[last] - 1) * p->dilation[last] - 1 + stride);
  end = alone_op(l, "arith.divsi", alone_op(l, "arith.maxsi", end, 0), stride);
  MlirValue first = alone_const(l, low > 0 ? loom_ceil_div(low, stride) : 0);
  first = alone_op2(l, "arith.minsi", alone_op2(l, "arith.maxsi", first, job->x_low), job->x_high);
  end = alone_op2(l, "arith.maxsi", alone_op2(l, "arith.minsi", end, job->x_high), first);
  loom_builder b = alone_here(l);
  if (there.ptr) end = lane_select(&b, there, end, first);
  lower_for(l, job->x_low, first, one, CONV_X, 0, NULL, outputs_copy_edge, at, NULL);
  lower_for(l, first, end, one, CONV_X, 0, NULL, outputs_copy_run, at, NULL);
  lower_for(l, end, job->x_high, one, CONV_X, 0, NULL, outputs_copy_edge, at, NULL);
}

static void outputs_copy_segment(lower *l, conv_job *job) {
  lower_for(l, job->x_low, job->x_high, alone_const(l, 1), CONV_X, 0, NULL, outputs_copy_pixel,
            outputs_of(job), NULL);
}

static void outputs_copy_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue place = l->vars[CONV_DEPTH].iv;
  at->place = alone_op2(l, "arith.subi", place, at->place_low);
  outputs_set_place(l, p, place);
  if (p->runs) l->vars[CONV_WINDOW + p->spatial - 1].iv = (MlirValue){NULL};
  conv_segments(l, at->job, p->runs ? outputs_copy_line : outputs_copy_segment);
  outputs_unset_place(l, p);
}

void outputs_copy(lower *l, outputs_job *at) {
  const conv_plan *p = at->job->p;
  MlirValue step = alone_const(l, p->runs ? p->window[p->spatial - 1] : 1);
  lower_for(l, at->place_low, at->place_high, step, CONV_DEPTH, 0, NULL, outputs_copy_place, at,
            NULL);
}
