/* Weight gradients of depthwise convolutions whose input and gradient have their channels side by
 * side in memory (conv_gradient.h): a vector is the same pixel of some channels, read where it
 * lies.
 *
 * A chunk of the first stage has some lines of the result, over the batch. It adds to sums of its
 * own in the slots, as [place in the window][channel]:
 *
 *     for a line; for a line of the window, where it lies in the input; for a vector of channels:
 *       for a tile of pixels: sums of a line's places += input * gradient, in registers
 *       the chunk's sums += these
 *
 * A vector of the input is loaded once for all pixels of the tile. Pixels take turns with several
 * sums of a place, so that no multiply-add waits for the one before. Pixels whose windows leave the
 * input, and those that are left over, are summed one at a time, with masks.
 *
 * A chunk of the second stage adds up all chunks' sums of a place, in their order: the bits depend
 * on sizes alone, not on threads. */
#include "passes/conv_gradient.h"

#define GRADIENT_LANES_LEAST 4
#define GRADIENT_LANES_COLUMNS 11
#define GRADIENT_LANES_WORK (1 << 18) /* multiply-adds of a chunk */
#define GRADIENT_LANES_CHUNKS 32

static bool gradient_lanes_fit(const lower_kernel *kernel, const gradient_plan *p) {
  if (!p->paired || p->out.rank != 4 || p->rows < GRADIENT_LANES_LEAST) return false;
  if (p->image->strides[1] != 1 || p->pixels->strides[1] != 1) return false;
  if (LOOM_STRIDE_IS_SYM(p->planes) || p->window[2] > GRADIENT_LANES_COLUMNS) return false;
  for (int d = 1; d < GRADIENT_SPATIAL; d++)
    if (LOOM_STRIDE_IS_SYM(p->size[d]) || LOOM_STRIDE_IS_SYM(p->count[d])) return false;
  return loom_dtype_size(p->dtype) >= 4 && loom_type_elements(&p->gradient) > 0;
}

/* The pixels of a line whose windows lie in the input: from *first to *end. */
static void gradient_lanes_inside(const gradient_plan *p, int64_t *first, int64_t *end) {
  int64_t stride = p->strides[2], count = p->count[2];
  int64_t reach = p->size[2] - 1 + p->low[2] - (p->window[2] - 1) * p->dilation[2];
  *first = loom_ceil_div(p->low[2], stride);
  *end = reach < 0 ? 0 : reach / stride + 1;
  if (*end > count) *end = count;
  if (*end < *first) *first = *end = 0;
}

/* Of tiles of 4 to 8 pixels, those that leave the fewest over. */
static int64_t gradient_lanes_tile(int64_t pixels) {
  int64_t best = 8;
  for (int64_t tile = 7; tile >= 4; tile--)
    if (pixels % tile < pixels % best) best = tile;
  return best;
}

bool gradient_lanes_plan(const lower_kernel *kernel, gradient_plan *p) {
  int64_t first, end, size = (int64_t)loom_dtype_size(p->dtype);
  if (!gradient_lanes_fit(kernel, p)) return false;
  bool half = loom_dtype_is_half(p->image->type.dtype) || loom_dtype_is_half(p->pixels->type.dtype);
  bool unmasked = half && kernel->vector_bytes < 64;
  p->lanes = true;
  p->vl = kernel->vector_bytes / (int)size;
  while (p->vl > p->rows || (unmasked && p->vl > GRADIENT_LANES_LEAST && p->rows % p->vl != 0))
    p->vl /= 2;
  gradient_lanes_inside(p, &first, &end);
  p->lane_tile = gradient_lanes_tile(end - first);
  int64_t sums = (kernel->vector_bytes == 64 ? 24 : 12) / p->window[2];
  p->turns = sums > p->lane_tile ? p->lane_tile : sums < 1 ? 1 : sums;
  p->padded_rows = loom_ceil_div(p->rows, p->vl) * p->vl;
  int64_t lines = p->batch * p->count[1];
  double work = (double)lines * (double)p->count[2] * (double)p->rows * (double)p->places /
                GRADIENT_LANES_WORK;
  int64_t want = work > GRADIENT_LANES_CHUNKS ? GRADIENT_LANES_CHUNKS : 1 + (int64_t)work;
  p->lane_lines = loom_ceil_div(lines, want < lines ? want : lines);
  p->chunks = loom_ceil_div(lines, p->lane_lines);
  return true;
}

void gradient_lanes_stages(const gradient_plan *p, alone_plan *out) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  out->stage_count = 2;
  out->stages[0] = p->chunks;
  out->stages[1] = p->places;
  out->slots = p->chunks * p->places * p->padded_rows * size;
  out->scratch = p->vl * size;
}

/* ---- vectors of channels ---- */

static void gradient_lanes_each(lower *l, const gradient_plan *p, lower_body body, void *user) {
  lower_tail tail = p->rows % p->vl ? LOWER_TAIL_MASK : LOWER_TAIL_NONE;
  lower_lanes lanes = {GRADIENT_CHANNEL, p->vl, tail};
  MlirValue end = alone_const(l, p->rows), split = lower_lane_split(l, &lanes, end);
  lower_lane_main(l, &lanes, alone_const(l, 0), split, 0, NULL, body, user, NULL);
  lower_lane_tail(l, &lanes, split, end, 0, NULL, body, user, NULL);
}

/* The sums of a place, at the vector at hand. */
static MlirValue gradient_lanes_sums(lower *l, const gradient_plan *p, MlirValue sums,
                                     MlirValue place) {
  MlirValue offset = alone_add_scaled(l, l->vars[GRADIENT_CHANNEL].iv, place, p->padded_rows);
  return alone_address(l, sums, offset, p->dtype);
}

static MlirValue gradient_lanes_add(lower *l, const gradient_plan *p, MlirValue x, MlirValue y) {
  loom_builder b = alone_here(l);
  return lane_op2(&b, loom_dtype_is_float(p->dtype) ? "arith.addf" : "arith.addi", x, y);
}

/* ---- the first stage: sums of some lines ---- */

typedef struct gradient_lanes_job {
  const gradient_plan *p;
  MlirValue sums;            /* of the chunk */
  MlirValue image, gradient; /* the lines at hand; from `gradient_lanes_vector` on, the vector's */
  MlirValue row;             /* of the window */
  int64_t tile;              /* pixels; 1: the window may leave the input */
} gradient_lanes_job;

static MlirValue gradient_lanes_load(lower *l, const lower_buffer *buffer, MlirValue line,
                                     MlirValue x, MlirValue mask, int width) {
  loom_dtype dtype = buffer->type.dtype;
  MlirValue ptr = gradient_along(l, line, x, buffer->strides[3], dtype);
  loom_builder b = alone_here(l);
  return lane_load(&b, ptr, dtype, width, mask);
}

/* Column `column` of the input from `left` on: 0 where it does not exist. Then the nearest one is
 * read: to load what is not there takes long, even where no lane is on. */
static MlirValue gradient_lanes_column(lower *l, const gradient_lanes_job *job, MlirValue left,
                                       int64_t column) {
  const gradient_plan *p = job->p;
  MlirValue x = alone_op(l, "arith.addi", left, column);
  if (job->tile > 1) return gradient_lanes_load(l, p->image, job->image, x, l->mask, p->vl);
  MlirValue near = alone_op(l, "arith.minsi", alone_op(l, "arith.maxsi", x, 0), p->size[2] - 1);
  MlirValue value = gradient_lanes_load(l, p->image, job->image, near, l->mask, p->vl);
  MlirValue end = alone_const(l, p->size[2]);
  loom_builder b = alone_here(l);
  MlirValue inside = lane_splat(&b, lane_cmpi(&b, "ult", x, end), p->vl);
  return lane_select(&b, inside, value, gradient_splat(l, p, p->vl));
}

/* A tile from pixel GRADIENT_PIXEL on. Carried: for each turn the sums of the window's places. */
static void gradient_lanes_tile_sums(lower *l, void *user, const MlirValue *carried,
                                     MlirValue *next) {
  const gradient_lanes_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue pixel = l->vars[GRADIENT_PIXEL].iv, lines[8];
  int64_t stride = p->strides[2], apart = p->dilation[2], width = p->window[2];
  int64_t reach = (job->tile - 1) * stride + (width - 1) * apart;
  MlirValue left = alone_op(l, "arith.muli", pixel, stride);
  left = alone_op(l, "arith.subi", left, p->low[2]);
  for (int64_t i = 0; i < p->turns * width; i++)
    next[i] = carried[i];
  for (int64_t r = 0; r < job->tile; r++) {
    MlirValue x = alone_op(l, "arith.addi", pixel, r);
    lines[r] = gradient_lanes_load(l, p->pixels, job->gradient, x, l->mask, p->vl);
  }
  for (int64_t i = 0; i <= reach && !l->failed; i++) {
    MlirValue value = {NULL};
    for (int64_t r = 0; r < job->tile; r++) {
      int64_t from = i - r * stride, k = from / apart;
      if (from < 0 || from % apart || k >= width) continue;
      if (!value.ptr) value = gradient_lanes_column(l, job, left, i);
      MlirValue *sum = &next[r % p->turns * width + k];
      loom_builder b = alone_here(l);
      *sum = alone_multiply_add(&b, p->dtype, value, lines[r], *sum);
    }
  }
}

static void gradient_lanes_pixels(lower *l, gradient_lanes_job *job, int64_t low, int64_t high,
                                  int64_t tile, MlirValue *sums) {
  int count = (int)(job->p->turns * job->p->window[2]);
  if (low >= high) return;
  job->tile = tile;
  lower_for(l, alone_const(l, low), alone_const(l, high), alone_const(l, tile), GRADIENT_PIXEL,
            count, sums, gradient_lanes_tile_sums, job, sums);
}

static void gradient_lanes_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_lanes_job job = *(gradient_lanes_job *)user;
  const gradient_plan *p = job.p;
  MlirValue sums[LOWER_CARRIED], zero = gradient_splat(l, p, p->vl), none = {NULL};
  int64_t first, end, width = p->window[2];
  job.image = alone_address(l, job.image, l->vars[GRADIENT_CHANNEL].iv, p->image->type.dtype);
  job.gradient =
      alone_address(l, job.gradient, l->vars[GRADIENT_CHANNEL].iv, p->pixels->type.dtype);
  for (int64_t i = 0; i < p->turns * width; i++)
    sums[i] = zero;
  gradient_lanes_inside(p, &first, &end);
  int64_t whole = first + (end - first) / p->lane_tile * p->lane_tile;
  gradient_lanes_pixels(l, &job, 0, first, 1, sums);
  gradient_lanes_pixels(l, &job, first, whole, p->lane_tile, sums);
  gradient_lanes_pixels(l, &job, whole, p->count[2], 1, sums);
  for (int64_t k = 0; k < width && !l->failed; k++) {
    MlirValue place = alone_add_scaled(l, alone_const(l, k), job.row, width);
    MlirValue at = gradient_lanes_sums(l, p, job.sums, place), sum = sums[k];
    for (int64_t turn = 1; turn < p->turns; turn++)
      sum = gradient_lanes_add(l, p, sum, sums[turn * width + k]);
    loom_builder b = alone_here(l);
    MlirValue before = lane_load(&b, at, p->dtype, p->vl, none);
    sum = gradient_lanes_add(l, p, before, sum);
    b = alone_here(l);
    lane_store(&b, sum, at, p->dtype, none);
  }
}

static void gradient_lanes_there(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_lanes_each(l, ((gradient_lanes_job *)user)->p, gradient_lanes_vector, user);
}

/* Line GRADIENT_AT of the window, for line GRADIENT_LINE of the result. */
static void gradient_lanes_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_lanes_job job = *(gradient_lanes_job *)user;
  const gradient_plan *p = job.p;
  MlirValue y, n = gradient_divide(l, l->vars[GRADIENT_LINE].iv, p->count[1], &y);
  job.row = l->vars[GRADIENT_AT].iv;
  MlirValue ptr = l->pointers[p->pixels->slot];
  ptr = gradient_along(l, ptr, n, p->pixels->strides[0], p->pixels->type.dtype);
  job.gradient = gradient_along(l, ptr, y, p->pixels->strides[2], p->pixels->type.dtype);
  MlirValue line = alone_op(l, "arith.muli", y, p->strides[1]);
  line = alone_add_scaled(l, line, job.row, p->dilation[1]);
  line = alone_op(l, "arith.subi", line, p->low[1]);
  ptr =
      gradient_along(l, l->pointers[p->image->slot], n, p->image->strides[0], p->image->type.dtype);
  job.image = gradient_along(l, ptr, line, p->image->strides[2], p->image->type.dtype);
  MlirValue end = alone_const(l, p->size[1]), low = alone_const(l, 0), one = alone_const(l, 1);
  loom_builder b = alone_here(l);
  MlirValue times = lane_select(&b, lane_cmpi(&b, "ult", line, end), one, low);
  lower_for(l, low, times, one, GRADIENT_PLANE, 0, NULL, gradient_lanes_there, &job, NULL);
}

static void gradient_lanes_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_plan *p = ((gradient_lanes_job *)user)->p;
  lower_for(l, alone_const(l, 0), alone_const(l, p->window[1]), alone_const(l, 1), GRADIENT_AT, 0,
            NULL, gradient_lanes_row, user, NULL);
}

static void gradient_lanes_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_lanes_job *job = user;
  MlirValue at = alone_address(l, job->sums, l->vars[GRADIENT_PIXEL].iv, job->p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, gradient_splat(l, job->p, job->p->vl), at, job->p->dtype, (MlirValue){NULL});
}

static void gradient_lanes_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_lanes_job job = {.p = user};
  const gradient_plan *p = job.p;
  MlirValue chunk = l->vars[GRADIENT_CHUNK].iv, low, high;
  int64_t count = p->places * p->padded_rows;
  job.sums = gradient_along(l, gradient_slots(l, 0), chunk, count, p->dtype);
  lower_for(l, alone_const(l, 0), alone_const(l, count), alone_const(l, p->vl), GRADIENT_PIXEL, 0,
            NULL, gradient_lanes_clear, &job, NULL);
  alone_block(l, chunk, p->lane_lines, p->batch * p->count[1], &low, &high);
  lower_for(l, low, high, alone_const(l, 1), GRADIENT_LINE, 0, NULL, gradient_lanes_line, &job,
            NULL);
}

/* ---- the second stage: one place of the weights ---- */

static void gradient_lanes_join(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_plan *p = ((gradient_lanes_job *)user)->p;
  MlirValue from = gradient_along(l, gradient_slots(l, 0), l->vars[GRADIENT_LINE].iv,
                                  p->places * p->padded_rows, p->dtype);
  MlirValue at = gradient_lanes_sums(l, p, from, l->vars[GRADIENT_CHUNK].iv), none = {NULL};
  loom_builder b = alone_here(l);
  MlirValue sum = lane_load(&b, at, p->dtype, p->vl, none);
  next[0] = gradient_lanes_add(l, p, carried[0], sum);
}

static void gradient_lanes_weight(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_lanes_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue lane = l->vars[GRADIENT_LANE].iv, none = {NULL};
  MlirValue channel = alone_op2(l, "arith.addi", job->row, lane);
  MlirValue to = gradient_along(l, job->gradient, channel, p->weights->strides[0], p->dtype);
  MlirValue from = alone_address(l, l->scratch, lane, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_load(&b, from, p->dtype, 1, none), to, p->dtype, none);
}

static void gradient_lanes_channels(lower *l, void *user, const MlirValue *carried,
                                    MlirValue *next) {
  gradient_lanes_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue sum = gradient_splat(l, p, p->vl), one = alone_const(l, 1), low = alone_const(l, 0);
  job->row = l->vars[GRADIENT_CHANNEL].iv;
  lower_for(l, low, alone_const(l, p->chunks), one, GRADIENT_LINE, 1, &sum, gradient_lanes_join,
            job, &sum);
  loom_builder b = alone_here(l);
  lane_store(&b, sum, l->scratch, p->dtype, (MlirValue){NULL});
  MlirValue left = alone_op2(l, "arith.subi", alone_const(l, p->rows), job->row);
  left = alone_op(l, "arith.minsi", left, p->vl);
  lower_for(l, low, left, one, GRADIENT_LANE, 0, NULL, gradient_lanes_weight, job, NULL);
}

static void gradient_lanes_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_lanes_job job = {.p = user};
  const gradient_plan *p = job.p;
  MlirValue x, y = gradient_divide(l, l->vars[GRADIENT_CHUNK].iv, p->window[2], &x);
  MlirValue to =
      gradient_along(l, l->pointers[p->weights->slot], y, p->weights->strides[2], p->dtype);
  job.gradient = gradient_along(l, to, x, p->weights->strides[3], p->dtype);
  gradient_lanes_each(l, p, gradient_lanes_channels, &job);
}

void gradient_lanes_lower(lower *l, gradient_plan *p, int stage) {
  l->vars[GRADIENT_CHANNEL].extent = p->rows;
  lower_for(l, l->begin, l->end, alone_const(l, 1), GRADIENT_CHUNK, 0, NULL,
            stage == 0 ? gradient_lanes_chunk : gradient_lanes_place, p, NULL);
}
