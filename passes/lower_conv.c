/* Lowering of kernels with a convolution (conv.h). */
#include "passes/conv.h"

#include <string.h>

MlirValue conv_zero(lower *l, int level, const conv_plan *p, int width) {
  loom_builder b = lower_at_level(l, level);
  MlirType type = lane_type(b.ctx, p->dtype, width);
  return loom_dtype_is_float(p->dtype) ? lane_const_float(&b, type, 0)
                                       : lane_const_int(&b, type, 0);
}

/* ---- indices ---- */

static int conv_out_var(const conv_plan *p, int i) {
  return i == p->spatial - 1 ? CONV_X : CONV_OUT + i;
}

void conv_input_index(const lower *l, const conv_job *job, lower_index *dims) {
  const conv_plan *p = job->p;
  alone_coef(l, &dims[0], CONV_N, 1);
  alone_coef(l, &dims[1], CONV_GROUP, p->channels);
  alone_coef(l, &dims[1], CONV_C, 1);
  for (int i = 0; i < p->spatial; i++) {
    alone_coef(l, &dims[i + 2], conv_out_var(p, i), p->strides[i]);
    dims[i + 2].constant = -p->low[i];
    if (i < p->unrolled)
      alone_coef(l, &dims[i + 2], CONV_WINDOW + i, p->dilation[i]);
    else
      dims[i + 2].constant += job->place[i] * p->dilation[i];
  }
}

static const lower_at *conv_result_at(lower *l, const conv_plan *p, int64_t pixel) {
  lower_at *at = lower_at_new(l, p->out.rank);
  if (!at) return NULL;
  alone_coef(l, &at->dims[0], CONV_N, 1);
  alone_coef(l, &at->dims[1], CONV_GROUP, p->rows);
  alone_coef(l, &at->dims[1], CONV_ROW, 1);
  for (int i = 0; i < p->spatial; i++)
    alone_coef(l, &at->dims[i + 2], conv_out_var(p, i), 1);
  at->dims[p->out.rank - 1].constant = pixel;
  return lower_at_intern(l, at);
}

MlirValue conv_depth(lower *l, const conv_job *job) {
  const conv_plan *p = job->p;
  lower_index index = {0};
  lower_value out;
  alone_coef(l, &index, CONV_C, p->depth_coef[0]);
  for (int i = 0; i < p->spatial; i++)
    if (i < p->unrolled)
      alone_coef(l, &index, CONV_WINDOW + i, p->depth_coef[i + 1]);
    else
      index.constant += job->place[i] * p->depth_coef[i + 1];
  return lower_index_base(l, &index, &out) ? out.v : alone_const(l, 0);
}

/* ---- the depth's dimensions: loops over the input channel and over large windows; the last
 * dimensions of the window are unrolled, so that what depends on the place in the window alone is
 * made outside of the loop over channels ---- */

typedef struct conv_depth_loop {
  conv_job *job;
  int dim, carried;
  lower_body body;
} conv_depth_loop;

static void conv_unrolled(lower *l, conv_depth_loop *loop, int dim, const MlirValue *carried,
                          MlirValue *next) {
  conv_job *job = loop->job;
  MlirValue in[1] = {{NULL}}, out[1] = {{NULL}};
  if (dim == job->p->spatial) {
    loop->body(l, job, carried, next);
    return;
  }
  if (loop->carried) in[0] = carried[0];
  for (job->place[dim] = 0; job->place[dim] < job->p->window[dim]; job->place[dim]++) {
    conv_unrolled(l, loop, dim + 1, in, out);
    in[0] = out[0];
  }
  if (loop->carried) next[0] = in[0];
}

static void conv_depth_dim(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_depth_loop *loop = user, inner = *loop;
  const conv_plan *p = loop->job->p;
  if (loop->dim > p->unrolled) {
    conv_unrolled(l, loop, p->unrolled, carried, next);
    return;
  }
  int var = loop->dim ? CONV_WINDOW + loop->dim - 1 : CONV_C;
  int64_t extent = loop->dim ? p->window[loop->dim - 1] : p->channels;
  MlirValue low = alone_const(l, 0), high = alone_const(l, extent);
  if (!loop->dim && loop->job->channel_low.ptr) {
    low = loop->job->channel_low;
    high = loop->job->channel_high;
  }
  inner.dim++;
  lower_for(l, low, high, alone_const(l, 1), var, loop->carried, carried, conv_depth_dim, &inner,
            next);
}

void conv_depths(lower *l, conv_job *job, int carried, MlirValue *value, lower_body body) {
  conv_depth_loop loop = {job, 0, carried, body};
  MlirValue in[1] = {carried ? *value : (MlirValue){NULL}}, out[1] = {{NULL}};
  conv_depth_dim(l, &loop, in, out);
  if (carried) *value = out[0];
}

/* ---- segments: the pixels of a panel line by line ---- */

/* The body of the vector in a branch of its own, which nothing of it may leave. */
static void conv_vector_branch(lower *l, conv_job *job) {
  lower_var x = l->vars[CONV_X];
  alone_set(l, CONV_X, x.iv);
  job->pixels(l, job, NULL, NULL);
  l->vars[CONV_X] = x;
}

/* Some lanes may be no pixels: the mask is on for those that are. */
static void conv_masked_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  int vl = job->p->xl;
  loom_builder b = alone_here(l);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), ids = lane_int(b.ctx, 32, vl);
  MlirValue left = lane_op2(&b, "arith.subi", job->x_high, l->vars[CONV_X].iv);
  left = lane_splat(&b, loom_build1(&b, "arith.trunci", left, i32), vl);
  l->mask = lane_cmpi(&b, "ult", lane_id(&b, ids), left);
  conv_vector_branch(l, job);
  l->mask = (MlirValue){NULL};
}

static void conv_whole_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  job->inside = true;
  conv_vector_branch(l, job);
  job->inside = false;
}

static MlirValue conv_and(lower *l, MlirValue condition, const char *predicate, MlirValue x,
                          int64_t y) {
  MlirValue bound = alone_const(l, y);
  loom_builder b = alone_here(l);
  return lane_op2(&b, "arith.andi", condition, lane_cmpi(&b, predicate, x, bound));
}

/* Does the window of every lane lie in the input along dimension `i`? Added to a condition. */
static MlirValue conv_window_inside(lower *l, const conv_job *job, int i, MlirValue condition) {
  const conv_plan *p = job->p;
  int64_t stride = p->strides[i], reach = (p->window[i] - 1) * p->dilation[i] - p->low[i];
  int64_t size = loom_num_dim(p->in.dims[i + 2]), out = loom_num_dim(p->out.dims[i + 2]);
  /* The last element that is read for the last pixel, and for the pixel or vector at hand. */
  int64_t past = i == p->spatial - 1 ? stride - 1 : 0;
  int64_t last = loom_num_add(loom_num_mul(loom_num_sub(out, 1), stride), reach + past);
  int64_t ahead = i == p->spatial - 1 ? (p->xl - 1) * stride + past : 0;
  MlirValue at = alone_op(l, "arith.muli", l->vars[conv_out_var(p, i)].iv, stride);
  if (p->low[i] > 0) condition = conv_and(l, condition, "sge", at, p->low[i]);
  if (loom_num_below(last, size)) return condition;
  return conv_and(l, condition, "slt", at, loom_num_sub(size, reach + ahead));
}

static void conv_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  if (p->xl == 1) {
    job->pixels(l, job, carried, next);
    return;
  }
  if (p->planes && p->x % p->xl == 0) {
    conv_whole_vector(l, user, carried, next);
    return;
  }
  MlirValue left = alone_op2(l, "arith.subi", job->x_high, l->vars[CONV_X].iv);
  MlirValue most = alone_const(l, p->xl);
  loom_builder b = alone_here(l);
  MlirValue whole = lane_cmpi(&b, "sge", left, most);
  for (int i = 0; i < p->spatial && job->reads; i++)
    whole = conv_window_inside(l, job, i, whole);
  lower_if_else(l, whole, conv_whole_vector, conv_masked_vector, job);
}

void conv_vectors(lower *l, conv_job *job, bool reads, lower_body body) {
  lower_body outer = job->pixels;
  bool read = job->reads;
  job->pixels = body;
  job->reads = reads;
  l->lane_var = CONV_X;
  l->width = job->p->xl;
  lower_for(l, job->x_low, job->x_high, alone_const(l, job->p->xl), CONV_X, 0, NULL, conv_vector,
            job, NULL);
  l->lane_var = -1;
  l->width = 1;
  job->pixels = outer;
  job->reads = read;
}

typedef struct conv_segment_loop {
  conv_job *job;
  void (*body)(lower *l, conv_job *job);
} conv_segment_loop;

static void conv_segment(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_segment_loop *loop = user;
  conv_job *job = loop->job;
  const conv_plan *p = job->p;
  MlirValue rest = l->vars[CONV_SEGMENT].iv;
  job->line = alone_op2(l, "arith.muli", rest, alone_const(l, p->x));
  job->x_low = alone_op(l, "arith.maxsi", alone_op2(l, "arith.subi", job->first, job->line), 0);
  job->x_high = alone_op(l, "arith.minsi", alone_op2(l, "arith.subi", job->last, job->line), p->x);
  for (int i = p->spatial - 2; i >= 0; i--) {
    MlirValue size = lower_divisor(l, loom_num_dim(p->out.dims[i + 2])).v;
    alone_set(l, CONV_OUT + i, alone_op2(l, "arith.remui", rest, size));
    rest = alone_op2(l, "arith.divui", rest, size);
  }
  alone_set(l, CONV_N, rest);
  loop->body(l, job);
  for (int i = 0; i < CONV_X - CONV_N; i++)
    l->vars[CONV_N + i].iv = (MlirValue){NULL};
}

void conv_segments(lower *l, conv_job *job, void (*body)(lower *l, conv_job *job)) {
  conv_segment_loop loop = {job, body};
  MlirValue x = lower_divisor(l, job->p->x).v, low = alone_op2(l, "arith.divui", job->first, x);
  MlirValue high = alone_op2(l, "arith.addi", job->last, alone_op(l, "arith.subi", x, 1));
  high = alone_op2(l, "arith.divui", high, x);
  lower_for(l, low, high, alone_const(l, 1), CONV_SEGMENT, 0, NULL, conv_segment, &loop, NULL);
}

MlirValue conv_within(lower *l, const conv_job *job) {
  MlirValue pixel = alone_op2(l, "arith.addi", l->vars[CONV_X].iv, job->line);
  return alone_op2(l, "arith.subi", pixel, job->first);
}

/* ---- a tile ---- */

/* One step of depth: `nv` loads of the panel, then for each channel a broadcast and its
 * multiply-adds. Carried: the sums, then the pointers to weights and panel. */
static void conv_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_plan *p = ((conv_job *)user)->p;
  MlirValue none = {NULL}, columns[8], left = carried[p->mr * p->nv],
            right = carried[p->mr * p->nv + 1];
  loom_builder b = alone_here(l);
  for (int v = 0; v < p->nv; v++) {
    MlirValue ptr = v ? alone_address(l, right, alone_const(l, v * p->vl), p->dtype) : right;
    columns[v] = lane_load(&b, ptr, p->dtype, p->vl, none);
  }
  for (int r = 0; r < p->mr; r++) {
    MlirValue ptr = r ? alone_address(l, left, alone_const(l, r * p->weight_row), p->dtype) : left;
    MlirValue x = lane_splat(&b, lane_load(&b, ptr, p->dtype, 1, none), p->vl);
    for (int v = 0; v < p->nv; v++) {
      int i = r * p->nv + v;
      next[i] = alone_multiply_add(&b, p->dtype, x, columns[v], carried[i]);
    }
  }
  next[p->mr * p->nv] = alone_address(l, left, alone_const(l, p->weight_step), p->dtype);
  next[p->mr * p->nv + 1] = alone_address(l, right, alone_const(l, p->step), p->dtype);
}

/* ---- the epilogue ---- */

void conv_finish(lower *l, const conv_plan *p, MlirValue sum, int64_t pixel) {
  const lower_at *at = conv_result_at(l, p, pixel);
  if (!at || l->failed) return;
  lower_finish(l, loom_result(p->op, 0), at, (lower_value){sum, l->depth, p->xl > 1, p->dtype});
}

MlirValue conv_repeat_first(lower *l, const conv_plan *p, MlirValue sum) {
  if (!l->mask.ptr) return sum;
  loom_builder b = alone_here(l);
  MlirValue first = lane_splat(&b, lane_extract(&b, sum, 0), p->xl);
  return lane_select(&b, l->mask, sum, first);
}

void conv_finish_sums(lower *l, const conv_plan *p, MlirValue ptr) {
  loom_builder b = alone_here(l);
  conv_finish(l, p, conv_repeat_first(l, p, lane_load(&b, ptr, p->dtype, p->xl, l->mask)), 0);
}

static void conv_finish_pixels(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue row = alone_op2(l, "arith.subi", l->vars[CONV_ROW].iv, job->row0);
  MlirValue offset = alone_add_scaled(l, conv_within(l, job), row, p->step);
  conv_finish_sums(l, p, alone_address(l, job->sums, offset, p->dtype));
}

static void conv_finish_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_vectors(l, user, false, conv_finish_pixels);
}

static void conv_finish_segment(lower *l, conv_job *job) {
  lower_for(l, job->row0, job->row_end, alone_const(l, 1), CONV_ROW, 0, NULL, conv_finish_row, job,
            NULL);
}

MlirValue conv_weight_pointer(lower *l, const conv_job *job, MlirValue row) {
  const conv_plan *p = job->p;
  MlirValue offset = alone_op(l, "arith.muli", row, p->weight_row);
  return alone_address(l, job->weights, offset, p->dtype);
}

/* Where the tile lies. The last one starts early enough to be whole: some channels are computed
 * twice. */
static void conv_place_tile(lower *l, conv_job *job) {
  const conv_plan *p = job->p;
  MlirValue tile = l->vars[CONV_TILE].iv;
  MlirValue at = alone_address(l, l->scratch, alone_const(l, p->tile_offset), LOOM_U8);
  job->row0 = alone_op(l, "arith.muli", tile, p->mr);
  job->row0 = alone_op(l, "arith.minsi", job->row0, p->rows - p->mr);
  job->row_end = alone_op(l, "arith.addi", job->row0, p->mr);
  tile = alone_op2(l, "arith.subi", tile, job->sums_low);
  job->sums = alone_address(l, at, alone_op(l, "arith.muli", tile, p->mr * p->step), p->dtype);
}

static MlirValue conv_sums(lower *l, const conv_job *job, int i) {
  return alone_address(l, job->sums, alone_const(l, (int64_t)i * job->p->vl), job->p->dtype);
}

static void conv_tile_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  conv_place_tile(l, job);
  for (int i = 0; i < p->mr * p->nv; i++) {
    MlirValue ptr = conv_sums(l, job, i);
    loom_builder b = alone_here(l);
    lane_store(&b, conv_zero(l, 0, p, p->vl), ptr, p->dtype, (MlirValue){NULL});
  }
}

static void conv_tile_add(lower *l, const conv_job *job, const MlirValue *sums) {
  const conv_plan *p = job->p;
  MlirValue none = {NULL};
  const char *add = loom_dtype_is_float(p->dtype) ? "arith.addf" : "arith.addi";
  for (int i = 0; i < p->mr * p->nv && !l->failed; i++) {
    MlirValue ptr = conv_sums(l, job, i), sum = sums[i];
    loom_builder b = alone_here(l);
    if (p->block != p->depth)
      sum = lane_op2(&b, add, lane_load(&b, ptr, p->dtype, p->vl, none), sum);
    lane_store(&b, sum, ptr, p->dtype, none);
  }
}

#define CONV_PREFETCHES 12

/* Fetches the run's weights of the next tile: a run of each row is short, and the next one far
 * away, so that no hardware foresees them. Behind the last tile its own are fetched again: what is
 * fetched is in the array. */
static void conv_prefetch(lower *l, const conv_job *job, MlirValue weights) {
  const conv_plan *p = job->p;
  int64_t size = (int64_t)loom_dtype_size(p->dtype), row = p->weight_row * size;
  int64_t step = p->weight_step * size, rows = (p->mr - 1) * row;
  int64_t low = step < 0 ? (p->run - 1) * step : 0;
  int64_t last = rows + (p->run - 1) * (step < 0 ? -step : step) + size - 1;
  if (row < 0 || row > ALONE_LINE_BYTES * 2) return;
  MlirValue next = alone_op(l, "arith.addi", job->row0, p->mr);
  next = alone_op(l, "arith.minsi", next, p->rows - p->mr);
  next = alone_op(l, "arith.muli", alone_op2(l, "arith.subi", next, job->row0), row);
  weights = alone_address(l, weights, next, LOOM_U8);
  for (int64_t i = 0; i < CONV_PREFETCHES && i * ALONE_LINE_BYTES < p->mr * row; i++) {
    int64_t line = i * ALONE_LINE_BYTES < last ? i * ALONE_LINE_BYTES : last;
    alone_prefetch(l, alone_address(l, weights, alone_const(l, low + line), LOOM_U8));
  }
}

/* A run of the depth whose weights lie in one line. */
static void conv_run(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  int count = p->mr * p->nv;
  conv_prefetch(l, job, carried[count]);
  lower_for(l, alone_const(l, 0), alone_const(l, p->run), alone_const(l, 1), CONV_DEPTH, count + 2,
            carried, conv_step, job, next);
  next[count] = alone_address(l, carried[count], alone_const(l, p->weight_run), p->dtype);
}

/* The tile's sums over the block of the depth at CONV_BLOCK_LOW. */
static void conv_tile_block(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  int count = p->mr * p->nv;
  MlirValue sums[LOWER_CARRIED], zero = conv_zero(l, 0, p, p->vl);
  bool runs = p->run < p->depth;
  MlirValue low = l->vars[CONV_BLOCK_LOW].iv;
  MlirValue high = alone_op(l, "arith.minsi", alone_op(l, "arith.addi", low, p->block), p->depth);
  conv_place_tile(l, job);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  MlirValue at = runs ? alone_op(l, "arith.divui", low, p->run) : low;
  at = alone_op(l, "arith.muli", at, runs ? p->weight_run : p->weight_step);
  sums[count] = alone_address(l, conv_weight_pointer(l, job, job->row0), at, p->dtype);
  at = alone_op(l, "arith.muli", low, p->step);
  sums[count + 1] = alone_address(l, job->panel, at, p->dtype);
  lower_for(l, low, high, alone_const(l, runs ? p->run : 1), runs ? CONV_RUN : CONV_DEPTH,
            count + 2, sums, runs ? conv_run : conv_step, job, sums);
  conv_tile_add(l, job, sums);
}

static void conv_tile_finish(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_place_tile(l, user);
  conv_segments(l, user, conv_finish_segment);
}

static void conv_tiles(lower *l, conv_job *job, lower_body body) {
  lower_for(l, job->sums_low, job->sums_high, alone_const(l, 1), CONV_TILE, 0, NULL, body, job,
            NULL);
}

static void conv_block_tiles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_tiles(l, user, conv_tile_block);
}

/* Tiles from CONV_SUMS on whose sums are in scratch at once: for each block of the depth all. */
static void conv_sums_block(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  job->sums_low = l->vars[CONV_SUMS].iv;
  job->sums_high = alone_op(l, "arith.addi", job->sums_low, p->sums);
  job->sums_high = alone_op2(l, "arith.minsi", job->sums_high, job->tile_high);
  if (p->block != p->depth) conv_tiles(l, job, conv_tile_clear);
  lower_for(l, alone_const(l, 0), alone_const(l, p->depth), alone_const(l, p->block),
            CONV_BLOCK_LOW, 0, NULL, conv_block_tiles, job, NULL);
  conv_tiles(l, job, conv_tile_finish);
}

/* ---- window by window: vectors of pixels, for each the groups ---- */

static void conv_window_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue value = conv_input(l, job);
  if (l->failed) return;
  MlirValue channel = alone_add_scaled(l, l->vars[CONV_ROW].iv, l->vars[CONV_GROUP].iv, p->rows);
  MlirValue row = conv_weight_pointer(l, job, channel);
  MlirValue offset = alone_op(l, "arith.muli", conv_depth(l, job), p->weight_step);
  MlirValue ptr = alone_address(l, row, offset, p->dtype);
  loom_builder b = alone_here(l);
  MlirValue weight = lane_splat(&b, lane_load(&b, ptr, p->dtype, 1, (MlirValue){NULL}), p->xl);
  next[0] = alone_multiply_add(&b, p->dtype, value, weight, carried[0]);
}

static void conv_window_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  MlirValue sum = conv_zero(l, 0, job->p, job->p->xl);
  conv_depths(l, job, 1, &sum, conv_window_place);
  if (!l->failed) conv_finish(l, job->p, sum, 0);
}

static void conv_window_group(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  lower_for(l, alone_const(l, 0), alone_const(l, job->p->rows), alone_const(l, 1), CONV_ROW, 0,
            NULL, conv_window_row, job, NULL);
}

static void conv_window_pixels(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  lower_for(l, job->tile_low, job->tile_high, alone_const(l, 1), CONV_GROUP, 0, NULL,
            conv_window_group, job, NULL);
}

static void conv_window_segment(lower *l, conv_job *job) {
  conv_vectors(l, job, true, conv_window_pixels);
}

/* ---- chunks ---- */

static void conv_place_panel(lower *l, conv_job *job, MlirValue panel) {
  const conv_plan *p = job->p;
  MlirValue pixels = alone_const(l, p->pixels), whole = pixels, most;
  if (LOOM_STRIDE_IS_SYM(p->pixels) || p->pixels > p->step)
    whole = alone_op(l, "arith.minsi", pixels, p->step);
  most = alone_op2(l, "arith.subi", pixels, whole);
  job->first = alone_op2(l, "arith.minsi", alone_op(l, "arith.muli", panel, p->step), most);
  job->last = alone_op2(l, "arith.addi", job->first, whole);
}

/* Panel `number`, counted through the groups, among those that are packed ahead. */
static MlirValue conv_panel_ahead(lower *l, const conv_plan *p, MlirValue number) {
  MlirValue at = alone_address(l, conv_slots(l), alone_const(l, p->panel_offset), LOOM_U8);
  return alone_address(l, at, alone_op(l, "arith.muli", number, p->depth * p->step), p->dtype);
}

static void conv_pack_ahead(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue chunk = l->vars[CONV_CHUNK].iv;
  MlirValue number = alone_op(l, "arith.divui", chunk, p->panel_blocks);
  alone_block(l, alone_op(l, "arith.remui", chunk, p->panel_blocks), p->panel_channels, p->channels,
              &job->channel_low, &job->channel_high);
  alone_set(l, CONV_GROUP, alone_op(l, "arith.divui", number, p->panels));
  conv_place_panel(l, job, alone_op(l, "arith.remui", number, p->panels));
  job->panel = conv_panel_ahead(l, p, number);
  conv_pack_panel(l, job);
  l->vars[CONV_GROUP].iv = (MlirValue){NULL};
}

static void conv_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue panel = l->vars[CONV_PANEL].iv;
  conv_place_panel(l, job, panel);
  if (p->outputs) {
    conv_outputs_panel(l, job);
    return;
  }
  job->panel = l->scratch;
  if (p->ahead)
    job->panel =
        conv_panel_ahead(l, p, alone_add_scaled(l, panel, l->vars[CONV_GROUP].iv, p->panels));
  else
    conv_pack_panel(l, job);
  lower_for(l, job->tile_low, job->tile_high, alone_const(l, p->sums), CONV_SUMS, 0, NULL,
            conv_sums_block, job, NULL);
}

/* A chunk's panels are one run of pixels, its tiles are groups. */
static void conv_window_chunk(lower *l, conv_job *job) {
  const conv_plan *p = job->p;
  job->first = alone_op(l, "arith.muli", job->panel_low, p->step);
  job->last = alone_op(l, "arith.muli", job->panel_high, p->step);
  job->last = alone_op(l, "arith.minsi", job->last, p->pixels);
  conv_segments(l, job, conv_window_segment);
}

static void conv_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue chunk = l->vars[CONV_CHUNK].iv;
  MlirValue group = alone_op(l, "arith.divui", chunk, p->chunks_m * p->chunks_n);
  MlirValue within = alone_op(l, "arith.remui", chunk, p->chunks_m * p->chunks_n);
  alone_block(l, alone_op(l, "arith.divui", within, p->chunks_n), p->block_tiles, p->tiles,
              &job->tile_low, &job->tile_high);
  alone_block(l, alone_op(l, "arith.remui", within, p->chunks_n), p->block_panels, p->panels,
              &job->panel_low, &job->panel_high);
  job->weights = p->direct ? l->pointers[l->kernel->operands[p->operand].slot] : conv_slots(l);
  if (p->weight_base)
    job->weights = alone_address(l, job->weights, alone_const(l, p->weight_base), p->dtype);
  if (p->lanes || p->planes || p->windows) {
    (p->lanes ? conv_lanes_chunk : p->planes ? conv_planes_chunk : conv_window_chunk)(l, job);
    return;
  }
  alone_set(l, CONV_GROUP, group);
  MlirValue offset = alone_op(l, "arith.muli", group, p->rows * p->weight_row);
  if (!p->outputs) job->weights = alone_address(l, job->weights, offset, p->dtype);
  lower_for(l, job->panel_low, job->panel_high, alone_const(l, 1), CONV_PANEL, 0, NULL, conv_panel,
            job, NULL);
  l->vars[CONV_GROUP].iv = (MlirValue){NULL};
}

static void conv_extents(lower *l, const conv_plan *p) {
  l->var_count = CONV_VARS;
  for (int v = 0; v < CONV_VARS; v++)
    l->vars[v].extent = v >= CONV_CHUNK ? INT32_MAX : 1;
  l->vars[CONV_GROUP].extent = p->groups;
  l->vars[CONV_ROW].extent = p->rows;
  l->vars[CONV_N].extent = loom_num_dim(p->out.dims[0]);
  l->vars[CONV_C].extent = p->channels;
  for (int i = 0; i < p->spatial; i++) {
    l->vars[conv_out_var(p, i)].extent = loom_num_dim(p->out.dims[i + 2]);
    l->vars[CONV_WINDOW + i].extent = p->window[i];
  }
  if (!p->planes) return;
  l->vars[CONV_BAND_Y].extent = conv_rows_read(p, p->bands * p->band);
  l->vars[CONV_BAND_X].extent = p->strides[1] * p->band_pitch;
}

void convolution_lower(lower *l, const alone_plan *plan, int stage) {
  conv_plan p;
  if (!conv_plan_make(l->kernel, plan->op, &p)) {
    l->failed = true;
    return;
  }
  if (loom_type_elements(&p.out) == 0) return;
  conv_job job = {.p = &p};
  conv_extents(l, &p);
  int main = plan->stage_count - 1;
  lower_body body = stage == main                          ? conv_chunk
                    : stage == 0 && conv_packs_weights(&p) ? p.lanes     ? conv_lanes_pack
                                                             : p.outputs ? conv_outputs_pack
                                                                         : conv_pack_channel
                                                           : conv_pack_ahead;
  lower_for(l, l->begin, l->end, alone_const(l, 1), CONV_CHUNK, 0, NULL, body, &job, NULL);
}
