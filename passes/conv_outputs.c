/* Convolutions whose result's channels are neighbours in memory: lanes run over output channels
 * (conv.h).
 *
 * A matrix product whose rows are pixels (batch x spatial, in C order of the result), whose columns
 * are output channels and whose depth is the places of the window x input channels. The weights are
 * packed as [group][tile of channels][depth][channel of the tile], padded with zeros to whole
 * tiles. A chunk's panel is `step` pixels:
 *
 *     for a panel of pixels:
 *       for a block of the depth: what the windows read, copied to scratch as [pixel][depth]
 *         for a tile of output channels: the block's weights stay in the nearest cache
 *           for `mr` pixels: sums, in registers, are added to those in scratch
 *       for a pixel: for a vector of output channels: epilogue
 *
 * Where a line of a window is one piece of the input, it is copied as one, but at the ends of
 * lines.
 *
 * A step of the depth is `nv` loads of weights and a broadcast for each pixel. Windows of one place
 * whose pixels lie one after another in memory are read where they are.
 *
 * A block is some whole places, or some channels of one place, so that it is one piece of the
 * depth.
 */
#include "passes/conv_outputs.h"

#define OUTPUTS_LEAST 3   /* output channels of a group */
#define OUTPUTS_APART 4   /* that may lie apart */
#define OUTPUTS_PIXELS 16 /* that are worth packing the weights */
#define OUTPUTS_BLOCK 192 /* of the depth: additions in a row */
#define OUTPUTS_FEW 4     /* input channels that may lie apart */
#define OUTPUTS_TILES 8   /* of pixels in a panel */
#define OUTPUTS_ROWS 28   /* pixels of a tile, at most */
#define OUTPUTS_RUN 16    /* vectors that are copied one after another */
#define OUTPUTS_WAYS 4096 /* bytes after which addresses share a set of the cache */

/* ---- how a kernel is divided ---- */

static bool outputs_same_sizes(const loom_type *a, const loom_type *b) {
  bool same = a->rank == b->rank;
  for (int d = 0; same && d < a->rank; d++)
    same = a->dims[d] == b->dims[d];
  return same;
}

/* Are the input's channels neighbours in memory? The input may be made in the kernel: then the
 * largest buffer of its shape tells. */
static bool outputs_input_fits(const lower_kernel *kernel, const conv_plan *p) {
  bool fits = p->channels <= OUTPUTS_FEW;
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    bool is_input = mlirValueEqual(buffer->value, loom_operand(p->op, 0));
    if (buffer->slot < 0 || buffer->type.rank != p->in.rank) continue;
    if (is_input) return fits || buffer->strides[1] == 1;
    fits = fits || (buffer->strides[1] == 1 && outputs_same_sizes(&buffer->type, &p->in));
  }
  return fits;
}

/* Are the channels of the first result innermost, beside more than one pixel of an image? Few
 * channels may lie apart where there are more of the input's, whose windows are then vectors. */
static bool outputs_result_fits(const lower_kernel *kernel, const conv_plan *p) {
  const lower_buffer *result = &kernel->results[0];
  bool images = false;
  if (p->rows <= OUTPUTS_APART && p->channels > p->rows * 2) return true;
  for (int d = 2; d < result->type.rank; d++)
    images = images || result->type.dims[d] != 1;
  return images && result->strides[1] == 1;
}

/* Do the windows have one place, and do they read pixels that lie at one distance? */
static bool outputs_is_straight(const lower_kernel *kernel, conv_plan *p) {
  int64_t pitch = 0, next = 0;
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, loom_operand(p->op, 0)) || buffer->slot < 0) continue;
    for (int d = p->spatial + 1; d >= 0; d--) {
      int64_t size = loom_num_dim(p->in.dims[d]);
      if (LOOM_STRIDE_IS_SYM(size) || LOOM_STRIDE_IS_SYM(buffer->strides[d])) return false;
      if (d == 1 || size == 1) continue;
      if (pitch && buffer->strides[d] != next) return false;
      if (!pitch) pitch = buffer->strides[d];
      next = buffer->strides[d] * size;
    }
    for (int d = 0; d < p->spatial; d++)
      if (p->window[d] != 1 || p->strides[d] != 1 || p->spread[d] != 1 || p->low[d] ||
          p->in.dims[d + 2] != p->out.dims[d + 2])
        return false;
    int64_t size = (int64_t)loom_dtype_size(p->dtype);
    p->input = i;
    p->pitch = pitch;
    return buffer->type.dtype == p->dtype && buffer->strides[1] == 1 && pitch > 0 &&
           pitch * size % OUTPUTS_WAYS != 0;
  }
  return false;
}

/* Of all tiles that fit the registers, the one that needs the fewest cycles, ragged ends included
 * (conv_registers). */
static void outputs_registers(const lower_kernel *kernel, conv_plan *p) {
  int registers = kernel->vector_bytes == 64 ? 32 : 16;
  int64_t best = INT64_MAX, pixels = loom_num_hint(p->pixels);
  p->vl = kernel->vector_bytes / (int)loom_dtype_size(p->dtype);
  while (p->vl / 2 >= p->rows)
    p->vl /= 2;
  for (int nv = 1; nv <= 4; nv++)
    for (int mr = 1; mr <= OUTPUTS_ROWS && mr <= pixels && mr * nv + nv + 1 < registers; mr++) {
      int64_t each = mr * nv > mr + nv ? mr * nv : mr + nv;
      int64_t tiles = loom_ceil_div(pixels, mr) * loom_ceil_div(p->rows, (int64_t)nv * p->vl);
      int64_t cost = tiles * ((each > 8 ? each : 8) + 1);
      if (cost > best) continue;
      best = cost;
      p->mr = mr;
      p->nv = nv;
    }
}

/* Whole places of the window, lines of it where they are short, or about equal parts of the
 * channels of one place. */
static void outputs_block(conv_plan *p) {
  int64_t places = p->depth / p->channels, parts = loom_ceil_div(p->channels, OUTPUTS_BLOCK);
  int64_t line = p->window[p->spatial - 1];
  p->block_places = OUTPUTS_BLOCK / p->channels;
  if (p->block_places < 1) p->block_places = 1;
  p->block_places = loom_ceil_div(places, loom_ceil_div(places, p->block_places));
  if (p->block_places * p->channels <= OUTPUTS_BLOCK - (line - 1) * p->channels)
    p->block_places = loom_ceil_div(p->block_places, line) * line;
  else if (p->block_places > line)
    p->block_places -= p->block_places % line;
  p->block_channels = p->channels;
  if (p->channels > OUTPUTS_BLOCK * 5 / 4)
    p->block_channels = loom_ceil_div(loom_ceil_div(p->channels, parts), p->vl) * p->vl;
  p->block = p->block_places * p->block_channels;
  if (!p->straight) p->pitch = p->block;
}

/* Is a line of a window a few vectors, and a part of one block? `piece`: is it one piece of memory?
 */
static bool outputs_has_runs(const lower_kernel *kernel, conv_plan *p) {
  int x = p->spatial - 1;
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, loom_operand(p->op, 0)) || buffer->slot < 0) continue;
    p->piece = p->window[x] == 1 ||
               (p->dilation[x] == 1 && p->groups == 1 && buffer->strides[x + 2] == p->channels);
    p->input = i;
    int64_t pieces = p->piece ? 1 : p->window[x];
    int64_t size = p->piece ? p->window[x] * p->channels : p->channels;
    for (int d = 0; d <= x; d++)
      if (p->spread[d] != 1) return false;
    return buffer->strides[1] == 1 && buffer->type.dtype == p->dtype &&
           p->block_channels == p->channels && p->block_places % p->window[x] == 0 &&
           pieces * loom_ceil_div(size, p->vl) <= OUTPUTS_RUN;
  }
  return false;
}

void conv_outputs_plan(const lower_kernel *kernel, conv_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype), pixels = loom_num_hint(p->pixels);
  if (p->windows || p->rows < OUTPUTS_LEAST || !p->depth || pixels < OUTPUTS_PIXELS ||
      (size < 4 && kernel->vector_bytes < 64) || !outputs_result_fits(kernel, p) ||
      !outputs_input_fits(kernel, p))
    return;
  p->outputs = true;
  outputs_registers(kernel, p);
  p->straight = outputs_is_straight(kernel, p);
  p->row_step = (int64_t)p->nv * p->vl;
  p->padded_rows = loom_ceil_div(p->rows, p->row_step) * p->row_step;
  outputs_block(p);
  int64_t panels = loom_ceil_div(pixels, (int64_t)p->mr * OUTPUTS_TILES);
  p->step = loom_ceil_div(loom_ceil_div(pixels, panels), p->mr) * p->mr;
  if (!loom_num_at_most(p->step, p->pixels)) p->straight = false; /* a tile may be no pixels */
  if (!p->straight) p->pitch = p->block;
  p->square = size == 8 && kernel->vector_bytes < 64 ? OUTPUTS_SQUARE / 2 : OUTPUTS_SQUARE;
  if (p->weight_channel != 1 || size < 4 || p->square > p->vl || p->rows % p->square ||
      p->channels % p->square)
    p->square = 1;
  p->runs = !p->straight && outputs_has_runs(kernel, p);
  p->xl = p->vl;
  p->direct = false;
  p->weight_base = 0;
  for (int i = 0, places = (int)p->channels; i <= p->spatial; i++) {
    int d = p->spatial - i;
    p->depth_coef[d] = d ? places : 1;
    if (d) places *= (int)p->window[d - 1];
  }
}

/* Bytes of a panel's block, and of the sums of a chunk's tiles. */
int64_t conv_outputs_panel_bytes(const conv_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  return p->straight ? 0 : loom_ceil_div(p->step * p->pitch * size, 64) * 64;
}
int64_t conv_outputs_sums_bytes(const conv_plan *p) {
  return p->step * p->block_tiles * p->row_step * (int64_t)loom_dtype_size(p->dtype);
}

/* ---- a tile ---- */

/* One step of depth. Carried: the sums, then the pointers to the pixels and the weights. */
static void outputs_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_plan *p = ((outputs_job *)user)->job->p;
  int count = p->mr * p->nv;
  MlirValue none = {NULL}, columns[4], pixels = carried[count], weights = carried[count + 1];
  for (int v = 0; v < p->nv; v++) {
    MlirValue ptr =
        v ? alone_address(l, weights, alone_const(l, (int64_t)v * p->vl), p->dtype) : weights;
    loom_builder b = alone_here(l);
    columns[v] = lane_load(&b, ptr, p->dtype, p->vl, none);
  }
  for (int r = 0; r < p->mr; r++) {
    MlirValue ptr = r ? alone_address(l, pixels, alone_const(l, r * p->pitch), p->dtype) : pixels;
    loom_builder b = alone_here(l);
    MlirValue x = lane_splat(&b, lane_load(&b, ptr, p->dtype, 1, none), p->vl);
    for (int v = 0; v < p->nv; v++) {
      int i = r * p->nv + v;
      next[i] = alone_multiply_add(&b, p->dtype, x, columns[v], carried[i]);
    }
  }
  next[count] = alone_address(l, pixels, alone_const(l, 1), p->dtype);
  next[count + 1] = alone_address(l, weights, alone_const(l, p->row_step), p->dtype);
}

static int64_t outputs_sum_pitch(const conv_plan *p) { return p->block_tiles * p->row_step; }

static MlirValue outputs_sums(lower *l, const conv_plan *p) {
  return alone_address(l, l->scratch, alone_const(l, p->tile_offset), LOOM_U8);
}

static void outputs_add(lower *l, const conv_plan *p, MlirValue to, const MlirValue *sums) {
  MlirValue none = {NULL};
  const char *add = loom_dtype_is_float(p->dtype) ? "arith.addf" : "arith.addi";
  for (int i = 0; i < p->mr * p->nv && !l->failed; i++) {
    int64_t offset = i / p->nv * outputs_sum_pitch(p) + (int64_t)(i % p->nv) * p->vl;
    MlirValue ptr = alone_address(l, to, alone_const(l, offset), p->dtype), sum = sums[i];
    loom_builder b = alone_here(l);
    if (p->block != p->depth)
      sum = lane_op2(&b, add, lane_load(&b, ptr, p->dtype, p->vl, none), sum);
    lane_store(&b, sum, ptr, p->dtype, none);
  }
}

/* The sums of `mr` pixels from CONV_SUMS on, for the tile of channels, over the block. */
static void outputs_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_job *job = at->job;
  const conv_plan *p = job->p;
  int count = p->mr * p->nv;
  MlirValue sums[LOWER_CARRIED], zero = conv_zero(l, 0, p, p->vl), pixel = l->vars[CONV_SUMS].iv;
  MlirValue tile = l->vars[CONV_TILE].iv;
  MlirValue from = alone_op(l, "arith.muli", pixel, p->pitch);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  sums[count] = alone_address(l, job->panel, from, p->dtype);
  sums[count + 1] = job->weights;
  lower_for(l, alone_const(l, 0), at->count, alone_const(l, 1), CONV_DEPTH, count + 2, sums,
            outputs_step, at, sums);
  MlirValue to = alone_op2(l, "arith.subi", tile, job->tile_low);
  to = alone_op(l, "arith.muli", to, p->row_step);
  to = alone_add_scaled(l, to, pixel, outputs_sum_pitch(p));
  if (!l->failed) outputs_add(l, p, alone_address(l, at->sums, to, p->dtype), sums);
}

static void outputs_tiles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  conv_job *job = at->job;
  const conv_plan *p = job->p;
  MlirValue tile = alone_add_scaled(l, l->vars[CONV_TILE].iv, l->vars[CONV_GROUP].iv,
                                    p->padded_rows / p->row_step);
  MlirValue depth = alone_add_scaled(l, at->channel_low, at->place_low, p->channels);
  MlirValue pixels = alone_op2(l, "arith.subi", job->last, job->first);
  job->weights = outputs_weights(l, p, tile, depth);
  lower_for(l, alone_const(l, 0), pixels, alone_const(l, p->mr), CONV_SUMS, 0, NULL, outputs_tile,
            at, NULL);
}

/* ---- a panel ---- */

static void outputs_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_plan *p = ((outputs_job *)user)->job->p;
  MlirValue ptr = alone_address(l, l->scratch, l->vars[CONV_DEPTH].iv, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, conv_zero(l, 0, p, p->vl), ptr, p->dtype, (MlirValue){NULL});
}

static void outputs_clear_sums(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue ptr = alone_address(l, at->sums, l->vars[CONV_DEPTH].iv, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, conv_zero(l, 0, p, p->vl), ptr, p->dtype, (MlirValue){NULL});
}

/* The block of the depth at place CONV_BLOCK_LOW and channel CONV_RUN. */
static void outputs_part(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  conv_job *job = at->job;
  const conv_plan *p = job->p;
  at->channel_low = l->vars[CONV_RUN].iv;
  at->channel_high = alone_op(l, "arith.addi", at->channel_low, p->block_channels);
  at->channel_high = alone_op(l, "arith.minsi", at->channel_high, p->channels);
  at->count = alone_op2(l, "arith.subi", at->place_high, at->place_low);
  MlirValue channels = alone_op2(l, "arith.subi", at->channel_high, at->channel_low);
  at->count = alone_op2(l, "arith.muli", at->count, channels);
  job->panel = l->scratch;
  if (p->straight) {
    MlirValue first = alone_op(l, "arith.muli", job->first, p->pitch);
    first = alone_op2(l, "arith.addi", first, at->channel_low);
    first = alone_add_scaled(l, first, l->vars[CONV_GROUP].iv, p->channels);
    job->panel = alone_address(l, l->pointers[l->kernel->operands[p->input].slot], first, p->dtype);
  } else {
    outputs_copy(l, at);
  }
  lower_for(l, job->tile_low, job->tile_high, alone_const(l, 1), CONV_TILE, 0, NULL, outputs_tiles,
            at, NULL);
}

static void outputs_places(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  at->place_low = l->vars[CONV_BLOCK_LOW].iv;
  at->place_high = alone_op(l, "arith.addi", at->place_low, p->block_places);
  at->place_high = alone_op(l, "arith.minsi", at->place_high, p->depth / p->channels);
  lower_for(l, alone_const(l, 0), alone_const(l, p->channels), alone_const(l, p->block_channels),
            CONV_RUN, 0, NULL, outputs_part, at, NULL);
}

static void outputs_finish_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue offset = alone_op2(l, "arith.subi", l->vars[CONV_ROW].iv, at->job->row0);
  offset = alone_add_scaled(l, offset, conv_within(l, at->job), outputs_sum_pitch(p));
  conv_finish_sums(l, p, alone_address(l, at->sums, offset, p->dtype));
}

static void outputs_finish_pixel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  outputs_job *at = user;
  const conv_plan *p = at->job->p;
  outputs_lanes(l, p, CONV_ROW, at->job->row0, at->job->row_end, p->rows % p->vl == 0,
                outputs_finish_vector, at);
}

static void outputs_finish_segment(lower *l, conv_job *job) {
  lower_for(l, job->x_low, job->x_high, alone_const(l, 1), CONV_X, 0, NULL, outputs_finish_pixel,
            outputs_of(job), NULL);
}

void conv_outputs_panel(lower *l, conv_job *job) {
  const conv_plan *p = job->p;
  outputs_job at = {.job = job, .sums = outputs_sums(l, p)};
  MlirValue zero = alone_const(l, 0), vector = alone_const(l, p->vl);
  job->form = &at;
  job->row0 = alone_op(l, "arith.muli", job->tile_low, p->row_step);
  job->row_end = alone_op(l, "arith.muli", job->tile_high, p->row_step);
  job->row_end = alone_op(l, "arith.minsi", job->row_end, p->rows);
  if (!loom_num_at_most(p->step, p->pixels)) /* pixels that do not exist are summed too */
    lower_for(l, zero, alone_const(l, p->step * p->pitch), vector, CONV_DEPTH, 0, NULL,
              outputs_clear, &at, NULL);
  if (p->block != p->depth)
    lower_for(l, zero, alone_const(l, p->step * outputs_sum_pitch(p)), vector, CONV_DEPTH, 0, NULL,
              outputs_clear_sums, &at, NULL);
  lower_for(l, zero, alone_const(l, p->depth / p->channels), alone_const(l, p->block_places),
            CONV_BLOCK_LOW, 0, NULL, outputs_places, &at, NULL);
  conv_segments(l, job, outputs_finish_segment);
}
