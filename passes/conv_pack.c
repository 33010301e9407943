/* What a convolution packs before it is used: the weights, and the pixels that the windows of a
 * panel read (conv.h). */
#include "passes/conv.h"

#include <string.h>

/* ---- weights ---- */

MlirValue conv_slots(lower *l) { return l->pointers[l->kernel->buffer_count]; }

static void conv_pack_weight(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  lower_at *at = lower_at_new(l, p->weights.rank);
  if (!at) return;
  alone_coef(l, &at->dims[0], CONV_CHUNK, 1);
  alone_coef(l, &at->dims[1], CONV_C, 1);
  for (int i = 0; i < p->spatial; i++) {
    int64_t sign = p->reversed ? -1 : 1;
    at->dims[i + 2].constant = p->reversed ? p->window[i] - 1 : 0;
    if (i < p->unrolled)
      alone_coef(l, &at->dims[i + 2], CONV_WINDOW + i, sign);
    else
      at->dims[i + 2].constant += sign * job->place[i];
  }
  lower_value value = lower_emit(l, loom_operand(p->op, 1), lower_at_intern(l, at));
  if (l->failed) return;
  MlirValue offset = alone_add_scaled(l, conv_depth(l, job), l->vars[CONV_CHUNK].iv, p->depth);
  MlirValue ptr = alone_address(l, conv_slots(l), offset, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, value.v, ptr, p->dtype, (MlirValue){NULL});
}

void conv_pack_channel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_depths(l, user, 0, NULL, conv_pack_weight);
}

/* ---- what a window reads ---- */

/* The address of lane 0, and which of `vl` elements from `part` vectors after it exist and are
 * wanted: those of the input's line, up to the last pixel of the segment. */
static MlirValue conv_input_mask(lower *l, const conv_job *job, const lower_index *dims,
                                 int64_t part) {
  const conv_plan *p = job->p;
  int last = p->in.rank - 1, level = lower_index_level(l, &dims[last]);
  int64_t stride = p->spatial ? p->strides[p->spatial - 1] : 1, low, high;
  lower_value x, limit = {alone_const(l, 0), 0, false, LOOM_I64};
  for (int d = 2; d < last; d++)
    if (lower_index_level(l, &dims[d]) > level) level = lower_index_level(l, &dims[d]);
  if (l->vars[CONV_X].level > level) level = l->vars[CONV_X].level;
  if (!lower_index_base(l, &dims[last], &x)) x = limit;
  loom_builder b = lower_at_level(l, level);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), lanes = lane_int(b.ctx, 32, p->xl);
  MlirType i64 = mlirValueGetType(limit.v);
  MlirValue zero = limit.v;
  MlirValue left = lane_op2(&b, "arith.subi", job->x_high, l->vars[CONV_X].iv);
  left = lane_op2(&b, "arith.muli", left, lane_const_int(&b, i64, stride));
  left = lane_op2(&b, "arith.subi", left, lane_const_int(&b, i64, stride - 1 + part * p->xl));
  for (int d = 2; d < last; d++) {
    lower_value row;
    int64_t size = loom_num_dim(p->in.dims[d]);
    if (lower_index_range(l, &dims[d], &low, &high) && loom_num_at_most(0, low) &&
        loom_num_below(high, size))
      continue;
    if (!lower_index_base(l, &dims[d], &row)) row = (lower_value){zero, 0, false, LOOM_I64};
    MlirValue inside = lane_cmpi(&b, "ult", row.v, lower_int(l, size).v);
    left = lane_select(&b, inside, left, zero);
  }
  MlirValue ids = lane_id(&b, lanes);
  MlirValue wide = lane_splat(&b, loom_build1(&b, "arith.trunci", left, i32), p->xl);
  MlirValue mask = lane_cmpi(&b, "slt", ids, wide);
  int64_t size = loom_num_dim(p->in.dims[last]);
  if (p->spatial && !(lower_index_range(l, &dims[last], &low, &high) && loom_num_at_most(0, low) &&
                      loom_num_below(high, size))) {
    /* Lanes from -at to size - at; clamped, so that 32 bits hold these. */
    MlirValue at = lane_op2(&b, "arith.addi", x.v, lane_const_int(&b, i64, part * p->xl));
    MlirValue first = lane_op2(&b, "arith.subi", zero, at);
    MlirValue end = lane_op2(&b, "arith.subi", lower_int(l, size).v, at);
    MlirValue most = lane_const_int(&b, i64, p->xl);
    first = lane_op2(&b, "arith.minsi", lane_op2(&b, "arith.maxsi", first, zero), most);
    end = lane_op2(&b, "arith.minsi", lane_op2(&b, "arith.maxsi", end, zero), most);
    first = lane_splat(&b, loom_build1(&b, "arith.trunci", first, i32), p->xl);
    end = lane_splat(&b, loom_build1(&b, "arith.trunci", end, i32), p->xl);
    MlirValue inside = lane_op2(&b, "arith.andi", lane_cmpi(&b, "sge", ids, first),
                                lane_cmpi(&b, "slt", ids, end));
    mask = lane_op2(&b, "arith.andi", mask, inside);
  }
  return mask;
}

MlirValue conv_pick(loom_builder *b, const MlirValue *parts, int64_t stride, int64_t phase,
                    int vl) {
  MlirValue sum = parts[0];
  int64_t picks[64];
  for (int64_t part = 0; part < stride; part++) {
    for (int i = 0; i < vl; i++) {
      int64_t at = i * stride + phase;
      picks[i] = at / vl == part ? vl + at % vl : i;
      if (part == 0) picks[i] = at < vl ? at : 0;
    }
    sum = lane_shuffle2(b, sum, parts[part], vl, picks);
  }
  return sum;
}

/* Reads a line of the input where it lies: masked loads, zeros in place of what does not exist. */
static MlirValue conv_load(lower *l, const conv_job *job) {
  const conv_plan *p = job->p;
  const lower_buffer *buffer = &l->kernel->operands[p->input];
  lower_index dims[2 + CONV_SPATIAL] = {0}, offset = {0};
  lower_value base;
  conv_input_index(l, job, dims);
  for (int d = 0; d < p->in.rank; d++) {
    int64_t stride = buffer->strides[d];
    offset.constant = loom_num_add(offset.constant, loom_num_mul(stride, dims[d].constant));
    for (int v = 0; v < CONV_VARS; v++)
      offset.coef[v] = loom_num_add(offset.coef[v], loom_num_mul(stride, dims[d].coef[v]));
  }
  MlirValue ptr = l->pointers[buffer->slot], parts[CONV_PICKS] = {{NULL}};
  if (lower_index_base(l, &offset, &base)) ptr = alone_address(l, ptr, base.v, p->dtype);
  int64_t stride = p->spatial ? p->strides[p->spatial - 1] : 1;
  for (int64_t i = 0; i < stride; i++) {
    MlirValue mask = {NULL};
    if (!job->inside) mask = conv_input_mask(l, job, dims, i);
    MlirValue at = i ? alone_address(l, ptr, alone_const(l, i * p->xl), p->dtype) : ptr;
    loom_builder b = alone_here(l);
    parts[i] = lane_load(&b, at, p->dtype, p->xl, mask);
  }
  loom_builder b = alone_here(l);
  return stride == 1 ? parts[0] : conv_pick(&b, parts, stride, 0, p->xl);
}

/* Places between zeros become indices of the input. Null: every place is one; else is this one? */
static MlirValue conv_gather_in(lower *l, const conv_plan *p, lower_index *dims) {
  MlirValue exists = {NULL};
  for (int i = 0; i < p->spatial; i++) {
    int64_t spread = p->spread[i], before;
    lower_index quotient = {0}, rest = {0};
    lower_value left;
    if (spread == 1) continue;
    before = p->low[i] > 0 ? loom_ceil_div(p->low[i], spread) : 0; /* no place is negative then */
    dims[i + 2].constant += before * spread;
    lower_index_divmod(l, &dims[i + 2], spread, &quotient, &rest);
    quotient.constant -= before;
    dims[i + 2] = quotient;
    MlirValue zero = alone_const(l, 0);
    loom_builder b = alone_here(l);
    MlirValue good = lane_cmpi(&b, "eq", lower_index_base(l, &rest, &left) ? left.v : zero, zero);
    exists = exists.ptr ? lane_op2(&b, "arith.andi", exists, good) : good;
  }
  return exists;
}

MlirValue conv_input(lower *l, const conv_job *job) {
  const conv_plan *p = job->p;
  if (p->line) return conv_load(l, job);
  lower_at *at = lower_at_new(l, p->in.rank);
  if (!at) return (MlirValue){NULL};
  conv_input_index(l, job, at->dims);
  MlirValue exists = conv_gather_in(l, p, at->dims);
  const lower_at *index = lower_at_intern(l, at);
  MlirValue input = loom_operand(p->op, 0);
  bool inside = job->inside && !p->repeats;
  lower_value value = inside ? lower_emit(l, input, index) : lower_emit_or_zero(l, input, index);
  if (l->failed) return (MlirValue){NULL};
  MlirValue wide = lower_wide(l, value);
  loom_builder b = alone_here(l);
  return exists.ptr ? lane_select(&b, exists, wide, conv_zero(l, l->depth, p, p->xl)) : wide;
}

/* ---- packing a panel ---- */

/* Stores the lanes of the mask into the panel. Where masked stores are slow (there are no mask
 * registers) the others are stored as they were: nobody else writes to scratch, and it goes on
 * behind the panel. */
static void conv_pack_store(lower *l, const conv_plan *p, MlirValue ptr, MlirValue value) {
  loom_builder b = alone_here(l);
  MlirValue none = {NULL}, mask = l->mask;
  if (mask.ptr && l->kernel->vector_bytes < 64 && !p->ahead) {
    value = lane_select(&b, mask, value, lane_load(&b, ptr, p->dtype, p->xl, none));
    mask = none;
  }
  lane_store(&b, value, ptr, p->dtype, mask);
}

static void conv_pack_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue value = conv_input(l, job);
  if (l->failed) return;
  MlirValue offset = alone_add_scaled(l, conv_within(l, job), conv_depth(l, job), p->step);
  conv_pack_store(l, p, alone_address(l, job->panel, offset, p->dtype), value);
}

static void conv_pack_pixels(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_depths(l, user, 0, NULL, conv_pack_place);
}

static void conv_pack_segment(lower *l, conv_job *job) {
  conv_vectors(l, job, true, conv_pack_pixels);
}

static void conv_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_job *job = user;
  MlirValue ptr = alone_address(l, job->panel, l->vars[CONV_DEPTH].iv, job->p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, conv_zero(l, 0, job->p, job->p->vl), ptr, job->p->dtype, (MlirValue){NULL});
}

void conv_pack_panel(lower *l, conv_job *job) {
  const conv_plan *p = job->p;
  MlirValue low = alone_const(l, 0), high = alone_const(l, p->depth * p->step);
  if (job->channel_low.ptr && p->panel_blocks > 1) {
    low = alone_op(l, "arith.muli", job->channel_low, p->depth_coef[0] * p->step);
    high = alone_op(l, "arith.muli", job->channel_high, p->depth_coef[0] * p->step);
  }
  if (!loom_num_at_most(p->step, p->pixels)) { /* pixels that do not exist are summed too */
    if (LOOM_STRIDE_IS_SYM(p->pixels)) {
      loom_builder b = alone_here(l);
      MlirValue step = alone_const(l, p->step), pixels = alone_const(l, p->pixels);
      high = lane_select(&b, lane_cmpi(&b, "slt", pixels, step), high, low);
    }
    lower_for(l, low, high, alone_const(l, p->vl), CONV_DEPTH, 0, NULL, conv_clear, job, NULL);
  }
  conv_segments(l, job, conv_pack_segment);
}
