/* Convolutions with one input channel a group whose channels are neighbours in memory: lanes run
 * over channels (conv.h).
 *
 * The weights are packed as [channel of the group][place in the window][group], padded to whole
 * vectors. A tile is some neighbouring pixels of a line of the result. A vector of the input is
 * loaded once for all pixels of the tile whose windows read it along the line:
 *
 *     for a line of the result:
 *       for a vector of groups: weights of the window, in registers where they fit
 *         for a tile of the line: sums += input * weight; sums to scratch, epilogue
 *
 * In a short line most tiles are at an edge. There the loop over tiles is the outer one, so that
 * where their windows leave the input is found out once for all groups.
 *
 * Where the windows of a tile leave the input, each load has a mask, which is on for all lanes or
 * off, and a place within the input: a masked load of a page that is not there takes long. The last
 * tile of a line starts early enough to be whole: some sums are made twice, and finished once.
 *
 * Half floats are widened by each load. A tile whose sums are each made once is finished from
 * registers, unless it is at an edge.
 *
 * The gradient of an input (loom.convolution_input) is a convolution with reversed windows of what
 * has zeros between its elements, as many as the stride says. A tile begins at an element there, so
 * which pixels and places of the window meet which column is known when compiling; of the window's
 * lines, each spread[0]-th is read.
 */
#include "passes/conv.h"
#include "passes/passes.h"

#define LANES_TILE 8     /* pixels: as many sums as hide the latency of a multiply-add */
#define LANES_LEAST 4    /* lanes worth a form of their own */
#define LANES_WINDOW 2   /* places: to gather a window costs more than to scatter a sum */
#define LANES_COLUMNS 16 /* of the window, unrolled */
#define LANES_SHORT 3    /* tiles of a short line */
#define LANES_FINISHED 6 /* ops of a kernel whose end is made for each pixel of a tile */
#define LANES_PLACES 16  /* of the window, unrolled and in registers */

/* The buffer that the input is, maybe one of half floats: each load widens them. */
static int lanes_input(const lower_kernel *kernel, const conv_plan *p) {
  MlirValue value = loom_operand(p->op, 0);
  MlirOperation def = loom_def(value);
  loom_type from = {.rank = 0};
  bool widens = p->dtype == LOOM_F32 && def.ptr && mlirOperationGetNumOperands(def) == 1 &&
                loom_class_of(def) == LOOM_CLASS_POINTWISE &&
                loom_type_from_mlir(mlirValueGetType(loom_operand(def, 0)), &from) &&
                loom_dtype_is_half(from.dtype); /* only a conversion gives f32 for halves */
  if (widens) value = loom_operand(def, 0);
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, value) || buffer->slot < 0) continue;
    return buffer->strides[1] == 1 && buffer->strides[3] != 1 ? i : -1;
  }
  return -1;
}

/* Are there no masks for some elements that the kernel reads or writes? */
static bool lanes_are_unmasked(const lower_kernel *kernel, const conv_plan *p) {
  bool half = loom_dtype_is_half(kernel->operands[p->input].type.dtype);
  for (int i = 0; i < kernel->result_count; i++)
    half |= loom_dtype_is_half(kernel->results[i].type.dtype);
  return half && kernel->vector_bytes < 64;
}

/* Are there zeros between the elements of the input? */
static bool lanes_is_spread(const conv_plan *p) { return p->spread[0] > 1 || p->spread[1] > 1; }

static int lanes_ops(const lower_kernel *kernel) {
  int count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(kernel->block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count++;
  return count;
}

/* Tiles of about one size. In a spread input they begin at elements of it; there they divide the
 * line if that can be. */
static int lanes_tile_size(const conv_plan *p, int64_t most) {
  int64_t spread = p->spread[1], even = most / spread * spread;
  if (!lanes_is_spread(p)) return (int)loom_ceil_div(p->x, loom_ceil_div(p->x, most));
  for (int64_t tile = even; tile >= spread; tile -= spread)
    if (p->x % tile == 0) return (int)tile;
  return (int)even;
}

void conv_lanes_plan(const lower_kernel *kernel, conv_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype), height;
  if (!p->windows || p->spatial != 2 || p->channels != 1 || p->groups < LANES_LEAST) return;
  height = loom_num_dim(p->out.dims[2]);
  if (LOOM_STRIDE_IS_SYM(height) || LOOM_STRIDE_IS_SYM(p->x)) return;
  if (LOOM_STRIDE_IS_SYM(loom_num_dim(p->in.dims[3]))) return;
  if (lanes_is_spread(p) && (p->dilation[0] > 1 || p->dilation[1] > 1)) return;
  if (p->spread[1] > LANES_TILE / 2 /* a tile has that many */ || p->window[1] > LANES_COLUMNS ||
      (size < 4 && kernel->vector_bytes < 64))
    return;
  int input = lanes_input(kernel, p);
  if (input < 0 || p->depth < LANES_WINDOW) return;
  p->lanes = true;
  p->input = input;
  p->vl = kernel->vector_bytes / (int)size;
  while (p->vl > p->groups ||
         (p->vl > LANES_LEAST && p->groups % p->vl != 0 && lanes_are_unmasked(kernel, p)))
    p->vl /= 2;
  int64_t most = kernel->vector_bytes == 64 ? LANES_TILE : LANES_TILE / 2;
  p->tile = lanes_tile_size(p, most);
  p->held = p->window[0] * p->window[1] <= LANES_PLACES && !lanes_is_spread(p);
  p->finished = p->x % p->tile == 0 && lanes_ops(kernel) <= LANES_FINISHED;
  p->padded_groups = loom_ceil_div(p->groups, p->vl) * p->vl;
  p->mr = p->tile;
  p->nv = 1;
  p->step = p->xl = p->vl;
  p->block = p->depth;
  p->direct = false;
  p->weight_base = 0;
}

static lower_lanes lanes_of_groups(const conv_plan *p) {
  lower_tail tail = p->groups % p->vl ? LOWER_TAIL_MASK : LOWER_TAIL_NONE;
  return (lower_lanes){CONV_GROUP, p->vl, tail};
}

static void lanes_groups(lower *l, const conv_plan *p, lower_body body, void *user) {
  lower_lanes lanes = lanes_of_groups(p);
  MlirValue end = alone_const(l, p->groups), split = lower_lane_split(l, &lanes, end);
  lower_lane_main(l, &lanes, alone_const(l, 0), split, 0, NULL, body, user, NULL);
  lower_lane_tail(l, &lanes, split, end, 0, NULL, body, user, NULL);
}

/* ---- weights ---- */

static void lanes_pack_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  lower_at *at = lower_at_new(l, p->weights.rank);
  if (!at) return;
  alone_coef(l, &at->dims[0], CONV_GROUP, p->rows);
  alone_coef(l, &at->dims[0], CONV_ROW, 1);
  for (int i = 0; i < 2; i++) {
    alone_coef(l, &at->dims[i + 2], CONV_WINDOW + i, p->reversed ? -1 : 1);
    at->dims[i + 2].constant = p->reversed ? p->window[i] - 1 : 0;
  }
  lower_value value = lower_emit(l, loom_operand(p->op, 1), lower_at_intern(l, at));
  if (l->failed) return;
  MlirValue wide = lower_wide(l, value);
  MlirValue offset =
      alone_add_scaled(l, l->vars[CONV_GROUP].iv, l->vars[CONV_CHUNK].iv, p->padded_groups);
  MlirValue ptr = alone_address(l, conv_slots(l), offset, p->dtype);
  loom_builder b = alone_here(l);
  if (l->mask.ptr) wide = lane_select(&b, l->mask, wide, conv_zero(l, l->depth, p, p->vl));
  lane_store(&b, wide, ptr, p->dtype, (MlirValue){NULL});
}

/* A chunk: one place of the window, for one channel of each group. */
void conv_lanes_pack(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  conv_job *job = user;
  const conv_plan *p = job->p;
  MlirValue chunk = l->vars[CONV_CHUNK].iv;
  alone_set(l, CONV_ROW, alone_op(l, "arith.divui", chunk, p->depth));
  MlirValue place = alone_op(l, "arith.remui", chunk, p->depth);
  alone_set(l, CONV_WINDOW, alone_op(l, "arith.divui", place, p->window[1]));
  alone_set(l, CONV_WINDOW + 1, alone_op(l, "arith.remui", place, p->window[1]));
  lanes_groups(l, p, lanes_pack_vector, job);
  for (int v = 0; v < 2; v++)
    l->vars[CONV_WINDOW + v].iv = (MlirValue){NULL};
  l->vars[CONV_ROW].iv = (MlirValue){NULL};
}

/* ---- sums ---- */

typedef struct lanes_job {
  conv_job *job;
  MlirValue top, left; /* of the input: what the tile's first place reads, maybe outside of it */
  MlirValue row;       /* of the window: the first that is read */
  MlirValue image;     /* of the input */
  MlirValue first;     /* there, the vector's first group */
  MlirValue weights;   /* of the vector of groups, at the window's first place */
  MlirValue held[LANES_PLACES];
  MlirValue x;      /* first pixel of the tile */
  MlirValue inside; /* do the windows of the tile lie in the input? */
  MlirValue inner;  /* do the windows of the line lie in the input from top to bottom? */
  bool edge;        /* the windows of the tile may leave the input */
} lanes_job;

static int64_t lanes_stride(const lower *l, const conv_plan *p, int dim) {
  return l->kernel->operands[p->input].strides[dim];
}

/* Of the input in memory. */
static loom_dtype lanes_dtype(const lower *l, const conv_plan *p) {
  return l->kernel->operands[p->input].type.dtype;
}

static MlirValue lanes_weight(lower *l, const conv_plan *p, MlirValue row, int64_t column) {
  MlirValue ptr = alone_address(l, row, alone_const(l, column * p->padded_groups), p->dtype);
  loom_builder b = alone_here(l);
  return lane_load(&b, ptr, p->dtype, p->vl, (MlirValue){NULL});
}

/* Does element `at` of a dimension of this size exist? It becomes the nearest that does. */
static MlirValue lanes_inside(lower *l, MlirValue *at, int64_t size) {
  MlirValue end = alone_const(l, size), x = *at;
  *at = alone_op(l, "arith.minsi", alone_op(l, "arith.maxsi", x, 0), loom_num_sub(size, 1));
  loom_builder b = alone_here(l);
  return lane_cmpi(&b, "ult", x, end);
}

/* Column `column` of what the tile reads of a line. `exists`: does the line, at an edge? */
static MlirValue lanes_load(lower *l, const lanes_job *at, MlirValue line, MlirValue exists,
                            int64_t column) {
  const conv_plan *p = at->job->p;
  loom_dtype dtype = lanes_dtype(l, p);
  MlirValue mask = l->mask, inside = {NULL};
  MlirValue x = alone_op(l, "arith.addi", at->left, column);
  if (at->edge) {
    inside = lanes_inside(l, &x, loom_num_dim(p->in.dims[3]));
    loom_builder b = alone_here(l);
    inside = lane_splat(&b, lane_op2(&b, "arith.andi", inside, exists), p->vl);
  }
  MlirValue offset = alone_op(l, "arith.muli", x, lanes_stride(l, p, 3));
  MlirValue ptr = alone_address(l, line, offset, dtype);
  loom_builder b = alone_here(l);
  bool select = inside.ptr && !mask.ptr && lanes_are_unmasked(l->kernel, p);
  if (inside.ptr && !select) mask = mask.ptr ? lane_op2(&b, "arith.andi", mask, inside) : inside;
  MlirValue value = lane_load(&b, ptr, dtype, p->vl, mask);
  return select ? lane_select(&b, inside, value, conv_zero(l, l->depth, p, p->vl)) : value;
}

/* The columns of the input that a tile reads, counted from lanes_job's `left`. There are zeros
 * between them in a spread input, and the tile begins at a multiple of the spread: which place of
 * the window reads which column is then the same for all tiles. */
static int64_t lanes_first(const conv_plan *p) {
  if (!lanes_is_spread(p)) return 0;
  return p->low[1] > 0 ? -(p->low[1] / p->spread[1]) : loom_ceil_div(-p->low[1], p->spread[1]);
}
static int64_t lanes_columns(const conv_plan *p) {
  int64_t reach = (p->tile - 1) * p->strides[1] + (p->window[1] - 1) * p->dilation[1];
  if (!lanes_is_spread(p)) return reach + 1;
  int64_t last = reach - p->low[1], spread = p->spread[1];
  last = last >= 0 ? last / spread : -loom_ceil_div(-last, spread);
  return last < lanes_first(p) ? 1 : last - lanes_first(p) + 1;
}

/* A line of the window, whose weights are at hand. */
static void lanes_row(lower *l, const lanes_job *at, MlirValue row, const MlirValue *weights,
                      MlirValue *sums) {
  const conv_plan *p = at->job->p;
  int64_t step = p->strides[1], apart = p->dilation[1];
  int64_t low = lanes_is_spread(p) ? p->low[1] : 0, end = lanes_first(p) + lanes_columns(p);
  MlirValue y = alone_add_scaled(l, at->top, row, p->dilation[0]), exists = {NULL};
  if (p->spread[0] > 1) y = alone_op(l, "arith.divsi", y, p->spread[0]);
  if (at->edge) exists = lanes_inside(l, &y, loom_num_dim(p->in.dims[2]));
  MlirValue offset = alone_op(l, "arith.muli", y, lanes_stride(l, p, 2));
  MlirValue line = alone_address(l, at->first, offset, lanes_dtype(l, p));
  for (int64_t i = lanes_first(p); i < end && !l->failed; i++) {
    MlirValue value = {NULL};
    for (int r = 0; r < p->tile; r++) {
      int64_t from = i * p->spread[1] + low - r * step, k = from / apart;
      if (from < 0 || from % apart || k >= p->window[1]) continue;
      if (!value.ptr) value = lanes_load(l, at, line, exists, i);
      loom_builder b = alone_here(l);
      sums[r] = alone_multiply_add(&b, p->dtype, value, weights[k], sums[r]);
    }
  }
}

static void lanes_any_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const lanes_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue weights[LANES_COLUMNS], row = l->vars[CONV_WINDOW].iv;
  MlirValue from = alone_op(l, "arith.muli", row, p->window[1] * p->padded_groups);
  from = alone_address(l, at->weights, from, p->dtype);
  for (int64_t k = 0; k < p->window[1]; k++)
    weights[k] = lanes_weight(l, p, from, k);
  for (int r = 0; r < p->tile; r++)
    next[r] = carried[r];
  lanes_row(l, at, row, weights, next);
}

/* The sums of a tile, to scratch. */
static void lanes_sum(lower *l, lanes_job *at, bool edge) {
  const conv_plan *p = at->job->p;
  MlirValue sums[LANES_TILE];
  at->edge = edge;
  for (int r = 0; r < p->tile; r++)
    sums[r] = conv_zero(l, l->depth, p, p->vl);
  MlirValue step = alone_const(l, p->spread[0]);
  if (p->held)
    for (int64_t k = 0; k < p->window[0]; k++)
      lanes_row(l, at, alone_const(l, k), at->held + k * p->window[1], sums);
  else
    lower_for(l, at->row, alone_const(l, p->window[0]), step, CONV_WINDOW, p->tile, sums,
              lanes_any_row, at, sums);
  for (int r = 0; r < p->tile && !l->failed && p->finished && !edge; r++)
    conv_finish(l, p, conv_repeat_first(l, p, sums[r]), r);
  for (int r = 0; r < p->tile && !l->failed && (!p->finished || edge); r++) {
    MlirValue ptr = alone_address(l, at->job->sums, alone_const(l, (int64_t)r * p->vl), p->dtype);
    loom_builder b = alone_here(l);
    lane_store(&b, sums[r], ptr, p->dtype, (MlirValue){NULL});
  }
}

/* ---- tiles ---- */

static void lanes_finish(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const lanes_job *at = user;
  const conv_plan *p = at->job->p;
  MlirValue pixel = alone_op2(l, "arith.subi", l->vars[CONV_X].iv, at->x);
  pixel = alone_op(l, "arith.muli", pixel, p->vl);
  conv_finish_sums(l, p, alone_address(l, at->job->sums, pixel, p->dtype));
}

/* Do `count` elements from `at` on lie in a dimension of this size? */
static MlirValue lanes_within(lower *l, MlirValue at, int64_t count, int64_t size) {
  MlirValue zero = alone_const(l, 0), end = alone_const(l, loom_num_sub(size, count));
  loom_builder b = alone_here(l);
  return lane_op2(&b, "arith.andi", lane_cmpi(&b, "sge", at, zero), lane_cmpi(&b, "sle", at, end));
}

/* Can no window leave the input? */
static bool lanes_never_leaves(const conv_plan *p) {
  for (int i = 0; i < 2; i++) {
    int64_t size = loom_num_dim(p->in.dims[i + 2]), out = loom_num_dim(p->out.dims[i + 2]);
    int64_t last = (out - 1) * p->strides[i] + (p->window[i] - 1) * p->dilation[i] - p->low[i];
    if (p->low[i] > 0 || !loom_num_below(last, size) || p->spread[i] > 1) return false;
  }
  return true;
}

static void lanes_place_tile(lower *l, lanes_job *at) {
  const conv_plan *p = at->job->p;
  at->x = l->vars[CONV_DEPTH].iv;
  if (lanes_is_spread(p)) {
    at->left = alone_op(l, "arith.divui", at->x, p->spread[1]);
  } else {
    at->x = alone_op(l, "arith.minsi", at->x, p->x - p->tile);
    at->left = alone_op(l, "arith.muli", at->x, p->strides[1]);
    at->left = alone_op(l, "arith.subi", at->left, p->low[1]);
  }
  MlirValue first = alone_op(l, "arith.addi", at->left, lanes_first(p));
  at->inside = lanes_within(l, first, lanes_columns(p), loom_num_dim(p->in.dims[3]));
  at->inside = alone_op2(l, "arith.andi", at->inside, at->inner);
}

static void lanes_place_vector(lower *l, lanes_job *at) {
  const conv_plan *p = at->job->p;
  MlirValue group = l->vars[CONV_GROUP].iv;
  at->first = alone_address(l, at->image, group, lanes_dtype(l, p));
  MlirValue from = alone_add_scaled(l, group, l->vars[CONV_ROW].iv, p->depth * p->padded_groups);
  at->weights = alone_address(l, at->job->weights, from, p->dtype);
  for (int64_t k = 0; p->held && k < p->depth; k++)
    at->held[k] = lanes_weight(l, p, at->weights, k);
}

static void lanes_finish_sums(lower *l, lanes_job *at) {
  const conv_plan *p = at->job->p;
  MlirValue end = alone_op(l, "arith.addi", at->x, p->tile);
  if (lanes_is_spread(p)) end = alone_op(l, "arith.minsi", end, p->x);
  lower_for(l, l->vars[CONV_DEPTH].iv, end, alone_const(l, 1), CONV_X, 0, NULL, lanes_finish, at,
            NULL);
}

static void lanes_inner(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_job *at = user;
  if (at->job->p->finished) alone_set(l, CONV_X, at->x);
  lanes_sum(l, at, false);
  l->vars[CONV_X].iv = (MlirValue){NULL};
}

static void lanes_outer(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_sum(l, user, true);
  if (((lanes_job *)user)->job->p->finished) lanes_finish_sums(l, user);
}

static void lanes_compute(lower *l, lanes_job *at) {
  if (lanes_never_leaves(at->job->p))
    lanes_inner(l, at, NULL, NULL);
  else
    lower_if_else(l, at->inside, lanes_inner, lanes_outer, at);
  if (!at->job->p->finished) lanes_finish_sums(l, at);
}

static void lanes_tile_of_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_place_tile(l, user);
  lanes_compute(l, user);
}

static void lanes_vector_of_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_place_vector(l, user);
  lanes_compute(l, user);
}

static void lanes_tiles(lower *l, lanes_job *at, lower_body body) {
  const conv_plan *p = at->job->p;
  lower_for(l, alone_const(l, 0), alone_const(l, p->x), alone_const(l, p->tile), CONV_DEPTH, 0,
            NULL, body, at, NULL);
}

static void lanes_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_place_vector(l, user);
  lanes_tiles(l, user, lanes_tile_of_vector);
}

static void lanes_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_job *at = user;
  lanes_place_tile(l, at);
  lanes_groups(l, at->job->p, lanes_vector_of_tile, at);
}

static void lanes_channel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_job *at = user;
  const conv_plan *p = at->job->p;
  if (p->x > LANES_SHORT * p->tile)
    lanes_groups(l, p, lanes_vector, at);
  else
    lanes_tiles(l, at, lanes_tile);
}

static void lanes_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  lanes_job at = {.job = user};
  const conv_plan *p = at.job->p;
  int64_t height = loom_num_dim(p->out.dims[2]);
  MlirValue panel = l->vars[CONV_PANEL].iv;
  alone_set(l, CONV_N, alone_op(l, "arith.divui", panel, height));
  alone_set(l, CONV_OUT, alone_op(l, "arith.remui", panel, height));
  at.top = alone_op(l, "arith.muli", l->vars[CONV_OUT].iv, p->strides[0]);
  at.top = alone_op(l, "arith.subi", at.top, p->low[0]);
  int64_t lines = loom_num_mul(loom_num_sub(loom_num_dim(p->in.dims[2]), 1), p->spread[0]);
  at.inner =
      lanes_within(l, at.top, (p->window[0] - 1) * p->dilation[0] + 1, loom_num_add(lines, 1));
  at.row = alone_const(l, 0);
  if (p->spread[0] > 1) { /* the first place whose line is none of zeros */
    int64_t whole = loom_ceil_div(p->low[0] > 0 ? p->low[0] : 0, p->spread[0]) * p->spread[0];
    MlirValue rest =
        alone_op(l, "arith.remui", alone_op(l, "arith.addi", at.top, whole), p->spread[0]);
    at.row = alone_op2(l, "arith.subi", alone_const(l, p->spread[0]), rest);
    at.row = alone_op(l, "arith.remui", at.row, p->spread[0]);
  }
  MlirValue offset = alone_op(l, "arith.muli", l->vars[CONV_N].iv, lanes_stride(l, p, 0));
  at.image = l->pointers[l->kernel->operands[p->input].slot];
  at.image = alone_address(l, at.image, offset, lanes_dtype(l, p));
  at.job->sums = alone_address(l, l->scratch, alone_const(l, p->tile_offset), LOOM_U8);
  lower_for(l, alone_const(l, 0), alone_const(l, p->rows), alone_const(l, 1), CONV_ROW, 0, NULL,
            lanes_channel, &at, NULL);
  l->vars[CONV_N].iv = l->vars[CONV_OUT].iv = (MlirValue){NULL};
}

void conv_lanes_chunk(lower *l, conv_job *job) {
  lower_for(l, job->panel_low, job->panel_high, alone_const(l, 1), CONV_PANEL, 0, NULL, lanes_line,
            job, NULL);
}
