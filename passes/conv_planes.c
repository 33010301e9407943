/* Convolutions with one input channel a group, plane by plane (conv.h). */
#include "passes/conv.h"

#define PLANES_BYTES (24 << 10) /* of a band: most of a core's first cache */
#define PLANES_MOST (128 << 10) /* of a band that cannot be smaller */
#define PLANES_TILE 8           /* rows: as many sums as hide the latency of a multiply-add */

int64_t conv_rows_read(const conv_plan *p, int64_t rows) {
  return (rows - 1) * p->strides[0] + (p->window[0] - 1) * p->dilation[0] + 1;
}

/* Lanes that are not wider than the lines need, and rows that leave room for the weights. */
static void planes_tile(const lower_kernel *kernel, conv_plan *p, int64_t height) {
  int registers = kernel->vector_bytes == 64 ? 32 : 16;
  int64_t blocks = loom_ceil_div(p->window[0], PLANES_TILE);
  while (p->vl > 2 && p->vl / 2 >= p->x)
    p->vl /= 2;
  p->window_rows = (int)loom_ceil_div(p->window[0], blocks);
  int64_t most = registers - 1 - p->window_rows;
  if (most > PLANES_TILE) most = PLANES_TILE;
  p->tile = (int)loom_ceil_div(height, loom_ceil_div(height, most));
}

void conv_planes_plan(const lower_kernel *kernel, conv_plan *p) {
  if (!p->windows || p->spatial != 2 || p->channels != 1 || p->vl == 1) return;
  int64_t height = loom_num_dim(p->out.dims[2]), size = (int64_t)loom_dtype_size(p->dtype);
  if (LOOM_STRIDE_IS_SYM(height) || LOOM_STRIDE_IS_SYM(p->x) || p->x < 2) return;
  if (p->window[0] * p->window[1] < 4 || p->strides[1] > CONV_PICKS) return;
  int64_t lanes = p->vl;
  planes_tile(kernel, p, height);
  int64_t reach = (p->window[1] - 1) * p->dilation[1] / p->strides[1];
  p->band_pitch = loom_ceil_div(loom_ceil_div(p->x, p->vl) * p->vl + reach, p->vl) * p->vl;
  int64_t row = p->strides[1] * p->band_pitch * size, most = height;
  while (most > p->tile && conv_rows_read(p, most) * row > PLANES_BYTES)
    most -= p->tile;
  most = most > p->tile ? most : p->tile;
  p->bands = loom_ceil_div(height, most);
  p->band = loom_ceil_div(loom_ceil_div(height, p->bands), p->tile) * p->tile;
  p->bands = loom_ceil_div(height, p->band);
  p->band_rows = conv_rows_read(p, p->band);
  if (p->band_rows * row > PLANES_MOST) {
    p->vl = (int)lanes;
    return;
  }
  p->planes = true;
  p->mr = p->tile;
  p->nv = 1;
  p->step = p->xl = p->vl;
  p->block = p->depth;
}

/* ---- packing ---- */

typedef struct planes_job {
  conv_job *job;
  MlirValue line;     /* where the row of the input goes that is packed */
  MlirValue top;      /* its first row of the input, counted with the padding */
  MlirValue y, y_end; /* rows of the result of the tile, and the end of the band */
  int first, end;     /* rows of the window that are at hand */
  MlirValue base;     /* of the tile in the band */
} planes_job;

static void planes_store(lower *l, const planes_job *at, MlirValue value) {
  const conv_plan *p = at->job->p;
  MlirValue ptr = alone_address(l, at->line, l->vars[CONV_BAND_X].iv, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, value, ptr, p->dtype, (MlirValue){NULL});
}

static const lower_at *planes_input_at(lower *l, const conv_plan *p) {
  lower_at *at = lower_at_new(l, p->in.rank);
  if (!at) return NULL;
  alone_coef(l, &at->dims[0], CONV_N, 1);
  alone_coef(l, &at->dims[1], CONV_GROUP, 1);
  alone_coef(l, &at->dims[2], CONV_BAND_Y, 1);
  alone_coef(l, &at->dims[3], CONV_BAND_X, 1);
  at->dims[2].constant = -p->low[0];
  at->dims[3].constant = -p->low[1];
  return lower_at_intern(l, at);
}

static void planes_pack(lower *l, planes_job *at, bool inside) {
  const conv_plan *p = at->job->p;
  MlirValue input = loom_operand(p->op, 0);
  lower_var x = l->vars[CONV_BAND_X];
  alone_set(l, CONV_BAND_X, x.iv);
  const lower_at *index = planes_input_at(l, p);
  inside = inside && !p->repeats;
  lower_value value = inside ? lower_emit(l, input, index) : lower_emit_or_zero(l, input, index);
  if (!l->failed) planes_store(l, at, lower_wide(l, value));
  l->vars[CONV_BAND_X] = x;
}

static void planes_pack_inside(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_pack(l, user, true);
}

static void planes_pack_edge(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_pack(l, user, false);
}

/* Is every element at (CONV_BAND_Y, CONV_BAND_X) and in the lanes behind it one of the input? */
static MlirValue planes_inside(lower *l, const conv_plan *p) {
  MlirValue y = alone_op(l, "arith.subi", l->vars[CONV_BAND_Y].iv, p->low[0]);
  MlirValue x = alone_op(l, "arith.subi", l->vars[CONV_BAND_X].iv, p->low[1]);
  MlirValue height = lower_int(l, loom_num_dim(p->in.dims[2])).v;
  MlirValue width = lower_int(l, loom_num_sub(loom_num_dim(p->in.dims[3]), p->vl - 1)).v;
  MlirValue zero = alone_const(l, 0);
  loom_builder b = alone_here(l);
  MlirValue inside = lane_cmpi(&b, "ult", y, height);
  inside = lane_op2(&b, "arith.andi", inside, lane_cmpi(&b, "sge", x, zero));
  return lane_op2(&b, "arith.andi", inside, lane_cmpi(&b, "slt", x, width));
}

static void planes_pack_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  lower_if_else(l, planes_inside(l, at->job->p), planes_pack_inside, planes_pack_edge, at);
}

/* Divides a line into its phases: of each the elements that are a stride apart. */
static void planes_divide(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  const conv_plan *p = at->job->p;
  int64_t stride = p->strides[1];
  MlirValue x = l->vars[CONV_BAND_X].iv, from = alone_op(l, "arith.muli", x, stride);
  for (int64_t phase = 0; phase < stride; phase++) {
    MlirValue parts[CONV_PICKS];
    for (int64_t i = 0; i < stride; i++) {
      MlirValue offset = alone_op(l, "arith.addi", from, i * p->vl);
      MlirValue ptr = alone_address(l, at->line, offset, p->dtype);
      loom_builder b = alone_here(l);
      parts[i] = lane_load(&b, ptr, p->dtype, p->vl, (MlirValue){NULL});
    }
    loom_builder b = alone_here(l);
    MlirValue value = conv_pick(&b, parts, stride, phase, p->vl);
    MlirValue offset = alone_op(l, "arith.addi", x, phase * p->band_pitch);
    MlirValue ptr = alone_address(l, at->base, offset, p->dtype);
    b = alone_here(l);
    lane_store(&b, value, ptr, p->dtype, (MlirValue){NULL});
  }
}

static void planes_pack_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  const conv_plan *p = at->job->p;
  int64_t row = p->strides[1] * p->band_pitch;
  MlirValue offset = alone_op2(l, "arith.subi", l->vars[CONV_BAND_Y].iv, at->top);
  at->base = alone_address(l, l->scratch, alone_op(l, "arith.muli", offset, row), p->dtype);
  at->line = at->base;
  if (p->strides[1] > 1)
    at->line = alone_address(l, l->scratch, alone_const(l, p->band_rows * row), p->dtype);
  l->lane_var = CONV_BAND_X;
  l->width = p->vl;
  lower_for(l, alone_const(l, 0), alone_const(l, row), alone_const(l, p->vl), CONV_BAND_X, 0, NULL,
            planes_pack_vector, at, NULL);
  l->lane_var = -1;
  l->width = 1;
  if (p->strides[1] == 1) return;
  lower_for(l, alone_const(l, 0), alone_const(l, p->band_pitch), alone_const(l, p->vl), CONV_BAND_X,
            0, NULL, planes_divide, at, NULL);
}

/* ---- sums ---- */

/* A column of the window: its weights are broadcast, and each row of the band that the tile reads
 * is loaded once. */
static void planes_column(lower *l, planes_job *at, MlirValue column, MlirValue from,
                          MlirValue *sums) {
  const conv_plan *p = at->job->p;
  MlirValue weights[PLANES_TILE], none = {NULL};
  int64_t row = p->strides[1] * p->band_pitch, sy = p->strides[0], dy = p->dilation[0];
  MlirValue channel = alone_add_scaled(l, l->vars[CONV_ROW].iv, l->vars[CONV_GROUP].iv, p->rows);
  MlirValue place = alone_op(l, "arith.muli", column, p->depth_coef[2] * p->weight_step);
  MlirValue base = conv_weight_pointer(l, at->job, channel);
  base = alone_address(l, base, place, p->dtype);
  for (int k = at->first; k < at->end; k++) {
    MlirValue offset = alone_const(l, k * p->depth_coef[1] * p->weight_step);
    MlirValue ptr = alone_address(l, base, offset, p->dtype);
    loom_builder b = alone_here(l);
    weights[k - at->first] = lane_splat(&b, lane_load(&b, ptr, p->dtype, 1, none), p->vl);
  }
  for (int64_t i = at->first * dy; i < conv_rows_read(p, p->tile) && !l->failed; i++) {
    MlirValue value = none;
    for (int r = 0; r < p->tile; r++) {
      int64_t step = i - r * sy, k = step / dy;
      if (step < 0 || step % dy || k < at->first || k >= at->end) continue;
      if (!value.ptr) {
        MlirValue ptr = alone_address(l, from, alone_const(l, i * row), p->dtype);
        loom_builder b = alone_here(l);
        value = lane_load(&b, ptr, p->dtype, p->vl, none);
      }
      loom_builder b = alone_here(l);
      sums[r] = alone_multiply_add(&b, p->dtype, value, weights[k - at->first], sums[r]);
    }
  }
}

static void planes_any_column(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue column = l->vars[CONV_WINDOW + 1].iv;
  MlirValue offset = alone_op(l, "arith.muli", column, p->dilation[1]);
  for (int r = 0; r < p->tile; r++)
    next[r] = carried[r];
  planes_column(l, at, column, alone_address(l, at->base, offset, p->dtype), next);
}

/* With a stride the phase and the distance of each column are constants. */
static void planes_columns(lower *l, planes_job *at, MlirValue *sums) {
  const conv_plan *p = at->job->p;
  int64_t stride = p->strides[1];
  if (stride == 1) {
    lower_for(l, alone_const(l, 0), alone_const(l, p->window[1]), alone_const(l, 1),
              CONV_WINDOW + 1, p->tile, sums, planes_any_column, at, sums);
    return;
  }
  for (int64_t column = 0; column < p->window[1]; column++) {
    int64_t x = column * p->dilation[1], offset = x % stride * p->band_pitch + x / stride;
    MlirValue from = alone_address(l, at->base, alone_const(l, offset), p->dtype);
    planes_column(l, at, alone_const(l, column), from, sums);
  }
}

static void planes_finish(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue row = alone_op2(l, "arith.subi", l->vars[CONV_OUT].iv, job->line);
  row = alone_op(l, "arith.muli", row, p->vl);
  conv_finish_sums(l, p, alone_address(l, job->sums, row, p->dtype));
}

static void planes_finish_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_vectors(l, user, false, planes_finish);
}

/* The vectors at CONV_DEPTH of the rows of a tile. */
static void planes_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  conv_job *job = at->job;
  const conv_plan *p = job->p;
  MlirValue sums[PLANES_TILE], x = l->vars[CONV_DEPTH].iv;
  int64_t row = p->strides[1] * p->band_pitch;
  MlirValue place = alone_op(l, "arith.muli", at->y, p->strides[0]);
  place = alone_op2(l, "arith.subi", place, at->top);
  place = alone_add_scaled(l, x, place, row);
  at->base = alone_address(l, l->scratch, place, p->dtype);
  for (int r = 0; r < p->tile; r++)
    sums[r] = conv_zero(l, l->depth, p, p->vl);
  for (at->first = 0; at->first < p->window[0] && !l->failed; at->first = at->end) {
    at->end = at->first + p->window_rows;
    if (at->end > p->window[0]) at->end = (int)p->window[0];
    planes_columns(l, at, sums);
  }
  job->sums = alone_address(l, l->scratch, alone_const(l, p->tile_offset), LOOM_U8);
  for (int r = 0; r < p->tile && !l->failed; r++) {
    MlirValue ptr = alone_address(l, job->sums, alone_const(l, (int64_t)r * p->vl), p->dtype);
    loom_builder b = alone_here(l);
    lane_store(&b, sums[r], ptr, p->dtype, (MlirValue){NULL});
  }
  job->line = at->y;
  job->x_low = x;
  job->x_high = alone_op(l, "arith.minsi", alone_op(l, "arith.addi", x, p->vl), p->x);
  MlirValue end = alone_op(l, "arith.addi", at->y, p->tile);
  end = alone_op2(l, "arith.minsi", end, at->y_end);
  lower_for(l, at->y, end, alone_const(l, 1), CONV_OUT, 0, NULL, planes_finish_row, job, NULL);
}

static void planes_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const conv_plan *p = ((planes_job *)user)->job->p;
  lower_for(l, alone_const(l, 0), alone_const(l, p->x), alone_const(l, p->vl), CONV_DEPTH, 0, NULL,
            planes_vector, user, NULL);
}

static void planes_tiles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job *at = user;
  at->y = l->vars[CONV_TILE].iv;
  lower_for(l, alone_const(l, 0), alone_const(l, at->job->p->rows), alone_const(l, 1), CONV_ROW, 0,
            NULL, planes_row, at, NULL);
}

/* ---- chunks ---- */

static void planes_band(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  planes_job at = {.job = user};
  const conv_plan *p = at.job->p;
  MlirValue panel = l->vars[CONV_PANEL].iv;
  alone_set(l, CONV_N, alone_op(l, "arith.divui", panel, p->bands));
  MlirValue low = alone_op(l, "arith.remui", panel, p->bands);
  low = alone_op(l, "arith.muli", low, p->band);
  at.y_end = alone_op(l, "arith.addi", low, p->band);
  at.y_end = alone_op(l, "arith.minsi", at.y_end, loom_num_dim(p->out.dims[2]));
  at.top = alone_op(l, "arith.muli", low, p->strides[0]);
  MlirValue bottom = alone_op(l, "arith.addi", at.top, p->band_rows);
  lower_for(l, at.top, bottom, alone_const(l, 1), CONV_BAND_Y, 0, NULL, planes_pack_line, &at,
            NULL);
  lower_for(l, low, at.y_end, alone_const(l, p->tile), CONV_TILE, 0, NULL, planes_tiles, &at, NULL);
  l->vars[CONV_N].iv = (MlirValue){NULL};
}

static void planes_group(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  lower_for(l, job->panel_low, job->panel_high, alone_const(l, 1), CONV_PANEL, 0, NULL, planes_band,
            job, NULL);
}

void conv_planes_chunk(lower *l, conv_job *job) {
  lower_for(l, job->tile_low, job->tile_high, alone_const(l, 1), CONV_GROUP, 0, NULL, planes_group,
            job, NULL);
}
