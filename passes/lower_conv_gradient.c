/* Lowering of kernels with a convolution_gradient (conv_gradient.h). */
#include "passes/conv_gradient.h"

#include <string.h>

MlirValue gradient_splat(lower *l, const gradient_plan *p, int width) {
  loom_builder b = lower_at_level(l, 0);
  MlirType type = lane_type(b.ctx, p->dtype, width);
  return loom_dtype_is_float(p->dtype) ? lane_const_float(&b, type, 0)
                                       : lane_const_int(&b, type, 0);
}

MlirValue gradient_slots(lower *l, int64_t bytes) {
  MlirValue slots = l->pointers[l->kernel->buffer_count];
  return bytes ? alone_address(l, slots, alone_const(l, bytes), LOOM_U8) : slots;
}

MlirValue gradient_beside(lower *l, MlirValue ptr, int64_t elements, loom_dtype dtype) {
  return elements ? alone_address(l, ptr, alone_const(l, elements), dtype) : ptr;
}

MlirValue gradient_along(lower *l, MlirValue ptr, MlirValue index, int64_t stride,
                         loom_dtype dtype) {
  if (stride == 0) return ptr;
  return alone_address(l, ptr, stride == 1 ? index : alone_op(l, "arith.muli", index, stride),
                       dtype);
}

MlirValue gradient_divide(lower *l, MlirValue x, int64_t by, MlirValue *rest) {
  *rest = by == 1 ? alone_const(l, 0) : alone_op(l, "arith.remui", x, by);
  return by == 1 ? x : alone_op(l, "arith.divui", x, by);
}

int64_t gradient_stride(const gradient_plan *p, const lower_buffer *buffer, int d) {
  int at = d - (GRADIENT_SPATIAL - (p->out.rank - 2));
  return at < 0 ? 0 : buffer->strides[at + 2];
}

static void gradient_loop(lower *l, int64_t count, int var, lower_body body, gradient_job *job) {
  lower_for(l, alone_const(l, 0), alone_const(l, count), alone_const(l, 1), var, 0, NULL, body, job,
            NULL);
}

MlirValue gradient_least(lower *l, int64_t a, int64_t b) {
  if (loom_num_at_most(a, b)) return alone_const(l, a);
  return loom_num_at_most(b, a) ? alone_const(l, b)
                                : alone_op(l, "arith.minsi", alone_const(l, a), b);
}

void gradient_pieces(lower *l, int64_t a, int64_t b, int width, lower_body piece, lower_body pixel,
                     gradient_job *job) {
  MlirValue low = alone_const(l, 0), one = alone_const(l, 1), count = gradient_least(l, a, b);
  bool known = loom_num_at_most(width, a) && loom_num_at_most(width, b);
  if (width <= 1 || loom_num_below(a, width) || loom_num_below(b, width)) {
    lower_for(l, low, count, one, GRADIENT_PIXEL, 0, NULL, pixel, job, NULL);
    return;
  }
  MlirValue pieces = count, pixels = low;
  if (!known) {
    loom_builder at = alone_here(l);
    MlirValue wide = lane_cmpi(&at, "sge", count, alone_const(l, width));
    pieces = lane_select(&at, wide, count, low);
    pixels = lane_select(&at, wide, low, count);
  }
  lower_for(l, low, pieces, alone_const(l, width), GRADIENT_PIXEL, 0, NULL, piece, job, NULL);
  if (!known) lower_for(l, low, pixels, one, GRADIENT_PIXEL, 0, NULL, pixel, job, NULL);
}

MlirValue gradient_first(lower *l, const gradient_plan *p, MlirValue panel) {
  if (p->rows <= p->step) return alone_const(l, 0);
  return alone_op(l, "arith.minsi", alone_op(l, "arith.muli", panel, p->step), p->rows - p->step);
}

int64_t gradient_lanes(const gradient_plan *p) { return p->step < p->rows ? p->step : p->rows; }

/* ---- a tile ---- */

/* Calls for each row of a tile: its place among the chunk's sums, and in the image. */
static void gradient_rows(const gradient_plan *p, int64_t *sums, int64_t *image) {
  int row = 0;
  for (int64_t c = 0; c < p->tile[0]; c++)
    for (int64_t z = 0; z < p->tile[1]; z++)
      for (int64_t y = 0; y < p->tile[2]; y++)
        for (int64_t x = 0; x < p->tile[3]; x++, row++) {
          sums[row] = c * p->places + (z * p->window[1] + y) * p->window[2] + x;
          const int64_t at[4] = {c, z * p->dilation[0], y * p->dilation[1], x * p->dilation[2]};
          image[row] = 0;
          for (int d = 0; d < 4; d++)
            image[row] = loom_num_add(image[row], loom_num_mul(p->image_strides[d + 1], at[d]));
        }
}

/* In the image, from one pixel of the result to the next one along a dimension. */
static int64_t gradient_move(const gradient_plan *p, int d) {
  return loom_num_mul(p->image_strides[d + 2], p->strides[d]);
}

/* What vector `v` of a panel is multiplied by: the same element for all lanes and vectors (`first`,
 * once it is there), or one for each lane. */
static MlirValue gradient_image_lanes(lower *l, const gradient_plan *p, MlirValue ptr, int v,
                                      MlirValue first) {
  MlirValue none = {NULL};
  if (!p->paired && v > 0) return first;
  if (p->paired) ptr = gradient_beside(l, ptr, (int64_t)v * p->vl, p->dtype);
  loom_builder b = alone_here(l);
  if (p->paired) return lane_load(&b, ptr, p->dtype, p->vl, none);
  return lane_splat(&b, lane_load(&b, ptr, p->dtype, 1, none), p->vl);
}

/* One pixel. Carried: the sums, then pointers to the image and to the gradient. */
static void gradient_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_plan *p = ((gradient_job *)user)->p;
  int count = p->mr * p->nv;
  int64_t sums[64], image[64];
  MlirValue none = {NULL}, columns[4];
  gradient_rows(p, sums, image);
  for (int v = 0; v < p->nv; v++) {
    MlirValue ptr = gradient_beside(l, carried[count + 1], (int64_t)v * p->vl, p->dtype);
    loom_builder b = alone_here(l);
    columns[v] = lane_load(&b, ptr, p->dtype, p->vl, none);
  }
  for (int r = 0; r < p->mr; r++) {
    MlirValue ptr = gradient_beside(l, carried[count], image[r], p->dtype), x = none;
    for (int v = 0; v < p->nv; v++) {
      x = gradient_image_lanes(l, p, ptr, v, x);
      loom_builder b = alone_here(l);
      next[r * p->nv + v] = alone_multiply_add(&b, p->dtype, x, columns[v], carried[r * p->nv + v]);
    }
  }
  next[count] = gradient_beside(l, carried[count], gradient_move(p, 2), p->dtype);
  next[count + 1] = gradient_beside(l, carried[count + 1], p->step, p->dtype);
}

static void gradient_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue values[LOWER_CARRIED];
  int count = p->mr * p->nv;
  memcpy(values, carried, sizeof *values * (size_t)(count + 2));
  lower_for(l, l->vars[GRADIENT_PIXELS].iv, job->high[2], alone_const(l, 1), GRADIENT_PIXEL,
            count + 2, values, gradient_step, job, values);
  memcpy(next, values, sizeof *values * (size_t)count);
  next[count] = gradient_beside(l, carried[count], gradient_move(p, 1), p->dtype);
  next[count + 1] =
      gradient_beside(l, carried[count + 1], loom_num_mul(p->count[2], p->step), p->dtype);
}

/* The block's lines of one plane. Carried: the sums. */
static void gradient_plane(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue values[LOWER_CARRIED], z, plane = l->vars[GRADIENT_PLANE].iv;
  MlirValue line = l->vars[GRADIENT_LINES].iv, pixel = l->vars[GRADIENT_PIXELS].iv;
  int count = p->mr * p->nv;
  MlirValue n = gradient_divide(l, plane, p->count[0], &z), ptr = job->tile_image;
  ptr = gradient_along(l, ptr, n, p->image_strides[0], p->dtype);
  ptr = gradient_along(l, ptr, z, gradient_move(p, 0), p->dtype);
  ptr = gradient_along(l, ptr, line, gradient_move(p, 1), p->dtype);
  memcpy(values, carried, sizeof *values * (size_t)count);
  values[count] = gradient_along(l, ptr, pixel, gradient_move(p, 2), p->dtype);
  MlirValue at = alone_add_scaled(l, line, plane, p->count[1]);
  at = alone_add_scaled(l, pixel, at, p->count[2]);
  values[count + 1] = gradient_along(l, job->gradient, at, p->step, p->dtype);
  lower_for(l, line, job->high[1], alone_const(l, 1), GRADIENT_LINE, count + 2, values,
            gradient_line, job, values);
  memcpy(next, values, sizeof *values * (size_t)count);
}

/* The block of one tile: input channel GRADIENT_CHANNEL, place GRADIENT_AT in the window. */
static void gradient_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  int count = p->mr * p->nv;
  int64_t rows[64], image[64];
  MlirValue sums[LOWER_CARRIED], none = {NULL}, zero = gradient_splat(l, p, p->vl);
  MlirValue channel = l->vars[GRADIENT_CHANNEL].iv, *at = (MlirValue[GRADIENT_SPATIAL]){{NULL}};
  MlirValue row = alone_op2(l, "arith.subi", channel, job->channel_low);
  MlirValue ptr = gradient_along(l, job->image, channel, p->image_strides[1], p->dtype);
  for (int d = 0; d < GRADIENT_SPATIAL; d++) {
    int64_t move = loom_num_mul(p->image_strides[d + 2], p->dilation[d]);
    at[d] = l->vars[GRADIENT_AT + d].iv;
    row = alone_add_scaled(l, at[d], row, p->window[d]);
    ptr = gradient_along(l, ptr, at[d], move, p->dtype);
  }
  job->tile_image = ptr;
  MlirValue place = gradient_along(l, l->scratch, row, p->step, p->dtype);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  lower_for(l, l->vars[GRADIENT_PLANES].iv, job->high[0], alone_const(l, 1), GRADIENT_PLANE, count,
            sums, gradient_plane, job, sums);
  gradient_rows(p, rows, image);
  const char *add = loom_dtype_is_float(p->dtype) ? "arith.addf" : "arith.addi";
  for (int i = 0; i < count && !l->failed; i++) {
    int64_t offset = rows[i / p->nv] * p->step + (int64_t)(i % p->nv) * p->vl;
    MlirValue to = gradient_beside(l, place, offset, p->dtype);
    loom_builder b = alone_here(l);
    MlirValue sum = lane_op2(&b, add, lane_load(&b, to, p->dtype, p->vl, none), sums[i]);
    lane_store(&b, sum, to, p->dtype, none);
  }
}

/* ---- a chunk: for each block of pixels all tiles ---- */

static void gradient_tiles(lower *l, gradient_job *job, int d);

static void gradient_tile_loop(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  int d = 0;
  while (d < GRADIENT_SPATIAL && l->vars[GRADIENT_AT + d].iv.ptr)
    d++;
  gradient_tiles(l, job, d);
}

/* Loops over the window's dimensions from `d` on. */
static void gradient_tiles(lower *l, gradient_job *job, int d) {
  const gradient_plan *p = job->p;
  if (d == GRADIENT_SPATIAL) {
    gradient_tile(l, job, NULL, NULL);
    return;
  }
  lower_for(l, alone_const(l, 0), alone_const(l, p->window[d]), alone_const(l, p->tile[d + 1]),
            GRADIENT_AT + d, 0, NULL, gradient_tile_loop, job, NULL);
}

static void gradient_block_end(lower *l, gradient_job *job, int d, int64_t limit) {
  MlirValue low = l->vars[GRADIENT_PLANES + d].iv;
  job->high[d] = alone_op(l, "arith.addi", low, job->p->block[d]);
  job->high[d] = alone_op(l, "arith.minsi", job->high[d], limit);
}

static void gradient_pixels(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  gradient_block_end(l, job, 2, job->p->count[2]);
  lower_for(l, job->channel_low, job->channel_high, alone_const(l, job->p->tile[0]),
            GRADIENT_CHANNEL, 0, NULL, gradient_tile_loop, job, NULL);
}

static void gradient_lines(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  gradient_block_end(l, job, 1, p->count[1]);
  lower_for(l, alone_const(l, 0), alone_const(l, p->count[2]), alone_const(l, p->block[2]),
            GRADIENT_PIXELS, 0, NULL, gradient_pixels, job, NULL);
}

static void gradient_planes(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  gradient_block_end(l, job, 0, p->planes);
  lower_for(l, alone_const(l, 0), alone_const(l, p->count[1]), alone_const(l, p->block[1]),
            GRADIENT_LINES, 0, NULL, gradient_lines, job, NULL);
}

static void gradient_clear_sums(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_plan *p = ((gradient_job *)user)->p;
  MlirValue to = gradient_along(l, l->scratch, l->vars[GRADIENT_ROW].iv, p->vl, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, gradient_splat(l, p, p->vl), to, p->dtype, (MlirValue){NULL});
}

/* ---- from the sums to the weights ---- */

/* Weight `row` (counted from the chunk's first input channel) of output channel `lane` of the
 * panel, where the weights of an output channel are a line. */
static MlirValue gradient_weight(lower *l, const gradient_job *job, MlirValue row, int64_t lane) {
  const gradient_plan *p = job->p;
  MlirValue at = gradient_beside(l, job->target, lane * p->weights->strides[0], p->dtype);
  return alone_address(l, at, row, p->dtype);
}

/* The weights of a square of rows and `count` channels from GRADIENT_LANE + `lane` on. */
static void gradient_store_lanes(lower *l, gradient_job *job, int64_t lane, int64_t count) {
  const gradient_plan *p = job->p;
  int square = p->square, order[GRADIENT_SQUARE];
  MlirValue rows[GRADIENT_SQUARE], none = {NULL}, from = job->square;
  MlirValue to = gradient_weight(l, job, l->vars[GRADIENT_ROW].iv, lane);
  if (l->vars[GRADIENT_LANE].iv.ptr) {
    from = alone_address(l, from, l->vars[GRADIENT_LANE].iv, p->dtype);
    to = gradient_along(l, to, l->vars[GRADIENT_LANE].iv, p->weights->strides[0], p->dtype);
  }
  for (int i = 0; i < square; i++) {
    MlirValue ptr = gradient_beside(l, from, i * job->apart + lane, p->dtype);
    loom_builder b = alone_here(l);
    rows[i] = lane_load(&b, ptr, p->dtype, square, none);
  }
  loom_builder b = alone_here(l);
  lower_turn(&b, rows, square, (int)loom_dtype_size(p->dtype), order);
  for (int i = 0; i < square; i++) {
    if (order[i] >= count) continue;
    MlirValue at = gradient_beside(l, to, order[i] * p->weights->strides[0], p->dtype);
    b = alone_here(l);
    lane_store(&b, rows[i], at, p->dtype, none);
  }
}

static void gradient_store_whole(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_store_lanes(l, user, 0, ((gradient_job *)user)->p->square);
}

static void gradient_store_square(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  int64_t whole = gradient_whole(p), lanes = gradient_lanes(p);
  job->square = gradient_along(l, job->sums, l->vars[GRADIENT_ROW].iv, job->apart, p->dtype);
  lower_for(l, alone_const(l, 0), alone_const(l, whole), alone_const(l, p->square), GRADIENT_LANE,
            0, NULL, gradient_store_whole, job, NULL);
  if (whole < lanes) gradient_store_lanes(l, job, whole, lanes - whole);
}

/* One weight where they may lie in any order: channel, place and lane are variables. */
static void gradient_store_lane(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue lane = l->vars[GRADIENT_LANE].iv, row = l->vars[GRADIENT_ROW].iv, place, at;
  MlirValue from = gradient_along(l, l->scratch, row, p->step, p->dtype), none = {NULL};
  from = alone_address(l, from, lane, p->dtype);
  MlirValue to = gradient_along(l, job->target, lane, p->weights->strides[0], p->dtype);
  MlirValue channel = gradient_divide(l, row, p->places, &place);
  to = gradient_along(l, to, channel, p->weights->strides[1], p->dtype);
  for (int d = GRADIENT_SPATIAL - 1; d >= 0; d--) {
    place = gradient_divide(l, place, p->window[d], &at);
    to = gradient_along(l, to, at, gradient_stride(p, p->weights, d), p->dtype);
  }
  loom_builder b = alone_here(l);
  lane_store(&b, lane_load(&b, from, p->dtype, 1, none), to, p->dtype, none);
}

static void gradient_store_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  gradient_loop(l, gradient_lanes(job->p), GRADIENT_LANE, gradient_store_lane, job);
}

/* A place of the window, at GRADIENT_LINE, where input channels are neighbours. */
static void gradient_store_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user, inner = *job;
  const gradient_plan *p = job->p;
  MlirValue place = l->vars[GRADIENT_LINE].iv, at;
  inner.sums = gradient_along(l, l->scratch, place, p->step, p->dtype);
  for (int d = GRADIENT_SPATIAL - 1; d >= 0; d--) {
    place = gradient_divide(l, place, p->window[d], &at);
    inner.target = gradient_along(l, inner.target, at, gradient_stride(p, p->weights, d), p->dtype);
  }
  MlirValue channels = alone_op2(l, "arith.subi", job->channel_high, job->channel_low);
  lower_for(l, alone_const(l, 0), alone_op(l, "arith.subi", channels, p->square - 1),
            alone_const(l, p->square), GRADIENT_ROW, 0, NULL, gradient_store_square, &inner, NULL);
}

/* Are the weights of an output channel a line of memory? */
static bool gradient_weights_are_lines(const gradient_plan *p) {
  int64_t next = 1;
  for (int d = p->out.rank - 1; d >= 1; d--) {
    if (p->out.dims[d] == 1) continue;
    if (p->weights->strides[d] != next) return false;
    next *= p->out.dims[d];
  }
  return true;
}

static void gradient_store(lower *l, gradient_job *job) {
  const gradient_plan *p = job->p;
  MlirValue channel = alone_add_scaled(l, job->first, job->group, p->rows);
  MlirValue to =
      gradient_along(l, l->pointers[p->weights->slot], channel, p->weights->strides[0], p->dtype);
  job->target = gradient_along(l, to, job->channel_low, p->weights->strides[1], p->dtype);
  MlirValue rows = alone_op2(l, "arith.subi", job->channel_high, job->channel_low);
  rows = alone_op(l, "arith.muli", rows, p->places);
  MlirValue low = alone_const(l, 0);
  bool lines = p->square > 1 && gradient_weights_are_lines(p);
  job->sums = l->scratch;
  job->apart = lines ? p->step : p->places * p->step;
  if (!lines && p->square > 1 && p->weights->strides[1] == 1) {
    low = alone_op2(l, "arith.subi", job->channel_high, job->channel_low);
    low = alone_op(l, "arith.andi", low, -(int64_t)p->square);
    low = alone_op(l, "arith.muli", low, p->places);
    gradient_loop(l, p->places, GRADIENT_LINE, gradient_store_place, job);
  }
  if (lines) {
    MlirValue whole = alone_op(l, "arith.subi", rows, p->square - 1);
    lower_for(l, low, whole, alone_const(l, p->square), GRADIENT_ROW, 0, NULL,
              gradient_store_square, job, NULL);
    low = alone_op(l, "arith.andi", rows, -(int64_t)p->square);
  }
  lower_for(l, low, rows, alone_const(l, 1), GRADIENT_ROW, 0, NULL, gradient_store_row, job, NULL);
}

static void gradient_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue block, panel;
  MlirValue rest = gradient_divide(l, l->vars[GRADIENT_CHUNK].iv, p->chunks, &block);
  int64_t pixels = loom_num_mul(loom_num_mul(p->planes, p->count[1]), p->count[2]);
  int64_t panels = loom_num_mul(pixels, p->step);
  job->gradient = gradient_along(l, gradient_slots(l, 0), rest, panels, p->dtype);
  job->group = gradient_divide(l, rest, p->panels, &panel);
  job->first = gradient_first(l, p, panel);
  alone_block(l, block, p->chunk_channels, p->channels, &job->channel_low, &job->channel_high);
  MlirValue image = p->direct ? l->pointers[p->image->slot] : gradient_slots(l, p->image_offset);
  job->image = gradient_along(l, image, job->group, loom_num_mul(p->image_strides[1], p->channels),
                              p->dtype);
  if (p->paired) { /* the panel's own; there is one group */
    int64_t images = loom_num_mul(p->image_strides[0], p->batch);
    job->image = gradient_along(l, gradient_slots(l, p->image_offset), panel, images, p->dtype);
  }
  gradient_loop(l, p->chunk_channels * p->places * p->nv, GRADIENT_ROW, gradient_clear_sums, job);
  lower_for(l, alone_const(l, 0), alone_const(l, p->planes), alone_const(l, p->block[0]),
            GRADIENT_PLANES, 0, NULL, gradient_planes, job, NULL);
  gradient_store(l, job);
}

void conv_gradient_lower(lower *l, const alone_plan *plan, int stage) {
  gradient_plan p;
  if (!gradient_plan_make(l->kernel, plan->op, &p)) {
    l->failed = true;
    return;
  }
  if (loom_type_elements(&p.out) == 0) return;
  gradient_job job = {.p = &p};
  l->var_count = GRADIENT_VARS;
  if (p.lanes)
    gradient_lanes_lower(l, &p, stage);
  else if (stage == 0)
    gradient_pack(l, &job);
  else
    lower_for(l, l->begin, l->end, alone_const(l, 1), GRADIENT_CHUNK, 0, NULL, gradient_chunk, &job,
              NULL);
}
