/* How a kernel with a convolution is divided (conv.h). Sizes alone decide, never the threads. */
#include "loom_ops_shapes.h"
#include "passes/conv.h"

#include <string.h>

#define CONV_CHUNK_WORK (1 << 20) /* multiply-adds that make a chunk worth its launch */
#define CONV_CHUNKS 64
#define CONV_UNROLL 16
#define CONV_BLOCK 192 /* of the depth: additions in a row */
#define CONV_SUMS_BYTES (192 << 10)
#define CONV_LIMIT (INT64_C(1) << 40)

static bool conv_types(const lower_kernel *kernel, MlirOperation op, conv_plan *p) {
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &p->in) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &p->weights) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &p->out))
    return alone_refuse(op, "an operand of an unknown type");
  if (loom_type_elements(&p->weights) < 0) return alone_refuse(op, "weights of a symbolic size");
  p->dtype = p->out.dtype;
  p->spatial = p->out.rank - 2;
  if (p->spatial > CONV_SPATIAL) return alone_refuse(op, "more than three spatial dimensions");
  if (loom_dtype_is_complex(p->dtype) || p->dtype == LOOM_F16 || p->dtype == LOOM_BF16)
    return alone_refuse(op, "no arithmetic for this element type");
  for (int i = 0; i < kernel->result_count; i++) {
    loom_type type = kernel->results[i].type;
    type.dtype = p->dtype;
    if (!loom_type_equal(&type, &p->out))
      return alone_refuse(op, "the kernel's results have another shape");
  }
  return true;
}

/* The gradient of an input is a convolution of what has zeros between its elements. */
static void conv_spread(conv_plan *p) {
  for (int i = 0; i < p->spatial; i++) {
    p->spread[i] = p->reversed ? p->strides[i] : 1;
    if (!p->reversed) continue;
    p->strides[i] = 1;
    p->low[i] = (p->window[i] - 1) * p->dilation[i] - p->low[i];
  }
}

static void conv_sizes(conv_plan *p) {
  int64_t padding[2 * CONV_SPATIAL] = {0};
  loom_get_i64s(p->op, "strides", p->strides, CONV_SPATIAL);
  loom_get_i64s(p->op, "padding", padding, 2 * CONV_SPATIAL);
  loom_get_i64s(p->op, "dilation", p->dilation, CONV_SPATIAL);
  int64_t sizes[CONV_SPATIAL];
  p->reversed = loom_get_i64s(p->op, "sizes", sizes, CONV_SPATIAL) > 0;
  p->groups = p->reversed ? p->weights.dims[0] : loom_get_i64(p->op, "groups", 1);
  p->rows = p->weights.dims[0] / p->groups;
  p->channels = p->weights.dims[1];
  p->depth = p->channels;
  p->lines = loom_num_dim(p->out.dims[0]);
  p->x = 1;
  for (int i = 0; i < p->spatial; i++) {
    p->low[i] = padding[2 * i];
    p->window[i] = p->weights.dims[i + 2];
    p->depth *= p->window[i];
    int64_t *product = i == p->spatial - 1 ? &p->x : &p->lines;
    *product = loom_num_mul(*product, loom_num_dim(p->out.dims[i + 2]));
  }
  p->pixels = loom_num_mul(p->lines, p->x);
  conv_spread(p);
}

/* The buffer of the kernel that the weights are, maybe through slices (windows are reversed in the
 * gradient of a convolution), and their strides in it. */
static bool conv_weight_strides(const lower_kernel *kernel, conv_plan *p, int64_t *strides) {
  int64_t starts[8][LOOM_MAX_RANK], steps[8][LOOM_MAX_RANK];
  MlirValue value = loom_operand(p->op, 1);
  int slices = 0, rank = p->weights.rank;
  for (MlirOperation op = loom_def(value); op.ptr && loom_is(op, LOOM_OP_SLICE) && slices < 8;
       op = loom_def(value)) {
    if (loom_get_i64s(op, "starts", starts[slices], LOOM_MAX_RANK) != rank ||
        loom_get_i64s(op, "steps", steps[slices], LOOM_MAX_RANK) != rank)
      return false;
    for (int d = 0; d < rank; d++)
      if (LOOM_STRIDE_IS_SYM(starts[slices][d])) return false;
    slices++;
    value = loom_operand(op, 0);
  }
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, value) || buffer->slot < 0) continue;
    p->operand = i;
    memcpy(strides, buffer->strides, sizeof *strides * (size_t)rank);
    for (int k = slices - 1; k >= 0; k--)
      for (int d = 0; d < rank; d++) {
        p->weight_base += starts[k][d] * strides[d];
        strides[d] *= steps[k][d];
      }
    return true;
  }
  return false;
}

static int64_t conv_abs(int64_t x) { return x < 0 ? -x : x; }

/* Gives the listed dimensions of the depth their places in its order, the last one innermost, from
 * `inner` on. Do they lie in one line? `step`: between its elements. */
static bool conv_line(conv_plan *p, const int64_t *strides, const int *order, int count,
                      int64_t inner, int64_t *step) {
  int64_t places = 1;
  bool line = true;
  *step = 0;
  for (int i = count - 1; i >= 0; i--) {
    int64_t size = p->weights.dims[order[i] + 1];
    p->depth_coef[order[i]] = inner * places;
    if (size == 1) continue;
    if (places == 1) *step = strides[order[i] + 1];
    line = line && strides[order[i] + 1] == *step * places;
    places *= size;
  }
  return line;
}

/* Are the weights a buffer in which the depth is one line, in some order of its dimensions, or for
 * each input channel one? Then that order is taken. */
static void conv_weights(const lower_kernel *kernel, conv_plan *p) {
  int order[1 + CONV_SPATIAL], plain[1 + CONV_SPATIAL], count = 1 + p->spatial;
  int64_t strides[LOOM_MAX_RANK] = {0}, step;
  bool known = conv_weight_strides(kernel, p, strides);
  for (int i = 0; i < count; i++) {
    int at = i;
    plain[i] = i;
    for (; at > 0 && conv_abs(strides[order[at - 1] + 1]) < conv_abs(strides[i + 1]); at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
  p->run = p->depth;
  p->direct = known && conv_line(p, strides, order, count, 1, &p->weight_step);
  if (!p->direct && known && !p->windows && p->channels > 1) {
    int64_t places = p->depth / p->channels;
    p->direct = conv_line(p, strides, plain + 1, p->spatial, 1, &p->weight_step);
    p->depth_coef[0] = places;
    p->run = places;
    p->weight_run = strides[1];
  }
  p->weight_row = strides[0];
  p->weight_channel = known ? strides[1] : 0;
  if (p->direct && p->reversed) {
    p->weight_base += (p->depth - 1) * p->weight_step;
    p->weight_step = -p->weight_step;
  }
  if (p->direct) return;
  conv_line(p, strides, plain, count, 1, &step);
  p->run = p->depth;
  p->weight_base = 0;
  p->weight_row = p->depth;
  p->weight_step = 1;
}

/* The innermost dimensions of the window, up to some places together. */
static void conv_unroll(conv_plan *p) {
  int64_t places = 1;
  for (p->unrolled = p->spatial; p->unrolled > 0; p->unrolled--) {
    places *= p->window[p->unrolled - 1];
    if (places > CONV_UNROLL) break;
  }
}

/* May elements of the input be the same along its last dimension? Then what is read of a line does
 * not depend on the place in it, and would be read before it is known whether the line exists. */
static bool conv_repeats(const lower_kernel *kernel, const conv_plan *p) {
  int last = p->in.rank - 1;
  bool direct = false, repeats = p->in.dims[last] == 1 || kernel->ops[LOOM_OP_BROADCAST];
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (buffer->slot < 0 || buffer->type.rank != p->in.rank) continue;
    if (mlirValueEqual(buffer->value, loom_operand(p->op, 0)))
      direct = buffer->strides[last] != 0;
    else if (!mlirValueEqual(buffer->value, loom_operand(p->op, 1)))
      repeats = repeats || buffer->strides[last] == 0;
  }
  return repeats && !direct;
}

static void conv_input_line(const lower_kernel *kernel, conv_plan *p) {
  int64_t step = p->spatial ? p->strides[p->spatial - 1] : 1;
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, loom_operand(p->op, 0)) || buffer->slot < 0) continue;
    p->input = i;
    p->line = p->xl > 1 && step <= 4 && p->spatial > 0 && buffer->strides[p->in.rank - 1] == 1;
  }
}

/* Of all tiles that fit the registers, the one that needs the fewest cycles, ragged ends included:
 * two multiply-adds or two loads a cycle, and no faster than the latency of a multiply-add. */
static void conv_registers(const lower_kernel *kernel, conv_plan *p) {
  int size = (int)loom_dtype_size(p->dtype), registers = kernel->vector_bytes == 64 ? 32 : 16;
  int64_t best = INT64_MAX;
  p->vl = kernel->vector_bytes / size;
  if (size < 4 && kernel->vector_bytes < 64) p->vl = 1; /* there are no masks for them */
  if (p->reversed) p->vl = 1; /* neighbours of the result read other places of the window */
  int64_t pixels = loom_num_hint(p->pixels);
  while (p->vl > 1 && p->vl / 2 >= pixels && !LOOM_STRIDE_IS_SYM(p->pixels))
    p->vl /= 2;
  p->mr = p->nv = 1;
  for (int nv = 1; nv <= 4 && !p->windows; nv++)
    for (int mr = 1; mr <= 12 && mr <= p->rows && mr * nv + nv + 1 <= registers; mr++) {
      int64_t each = mr * nv > mr + nv ? mr * nv : mr + nv;
      int64_t tiles = loom_ceil_div(p->rows, mr) * loom_ceil_div(pixels, (int64_t)nv * p->vl);
      int64_t cost = tiles * ((each > 8 ? each : 8) + 1);
      if (cost > best) continue;
      best = cost;
      p->mr = mr;
      p->nv = nv;
    }
  p->step = (int64_t)p->nv * p->vl;
  p->block = p->depth ? p->depth : 1;
  if (p->depth > CONV_BLOCK * 3 / 2)
    p->block = loom_ceil_div(p->depth, loom_ceil_div(p->depth, CONV_BLOCK));
  if (p->run < p->depth) p->block = loom_ceil_div(p->block, p->run) * p->run;
  p->xl = p->x == 1 ? 1 : p->vl;
  /* Two sums at once hide the latency of the multiply-add, and share the weights. */
  if (p->windows && p->vl > 1 && loom_num_at_most(4 * (int64_t)p->vl, p->x)) p->xl = 2 * p->vl;
}

static int64_t conv_work(const conv_plan *p) {
  int64_t work = p->rows * loom_num_hint(p->pixels);
  return work > CONV_LIMIT || p->depth > CONV_LIMIT / (work + 1) ? CONV_LIMIT : work * p->depth;
}

static void conv_chunks(conv_plan *p) {
  int64_t want = loom_ceil_div(conv_work(p) * p->groups, CONV_CHUNK_WORK);
  if (want > CONV_CHUNKS) want = CONV_CHUNKS;
  int64_t all = want > 1 ? want : 1;
  want = loom_ceil_div(all, p->groups);
  if (p->lanes) want = all;
  if (p->windows && !p->planes && !p->lanes)
    want = loom_ceil_div(want * p->groups, loom_ceil_div(p->groups, 8));
  p->tiles = p->windows ? p->groups : loom_ceil_div(p->rows, p->mr);
  if (p->outputs) p->tiles = p->padded_rows / p->row_step;
  p->panels = loom_num_ceil(p->pixels, p->step);
  if (p->planes) p->panels = loom_num_mul(loom_num_dim(p->out.dims[0]), p->bands);
  if (p->lanes) p->panels = p->lines;
  int64_t panels = loom_num_hint(p->panels);
  p->block_panels = loom_num_ceil(p->panels, want < panels ? want : panels);
  /* With symbolic sizes the number of chunks is that of the likely ones. */
  p->chunks_n = loom_ceil_div(panels, loom_num_hint(p->block_panels));
  bool known = !LOOM_STRIDE_IS_SYM(p->panels);
  if (!known) p->chunks_n = want < panels ? want : panels;
  /* Each block of tiles packs its panels again: worth it only where there are few panels. */
  int64_t rows = loom_ceil_div(want < 8 ? want : 8, p->chunks_n), most = loom_ceil_div(p->tiles, 4);
  if (!known) rows = 1; /* there is no room for panels that are packed ahead */
  if (p->windows) rows = loom_ceil_div(p->groups, 8);
  if (p->planes) rows = most = all < p->groups ? all : p->groups;
  if (p->lanes) rows = 1;
  p->block_tiles = loom_ceil_div(p->tiles, rows < most ? rows : most);
  p->chunks_m = loom_ceil_div(p->tiles, p->block_tiles);
}

/* Places the sums and the panels in scratch and in the slots. */
static void conv_memory(conv_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype), panel = p->depth * p->step * size;
  int64_t most = CONV_SUMS_BYTES / (p->mr * p->step * size);
  if (p->outputs) {
    p->tile_offset = conv_outputs_panel_bytes(p);
    return;
  }
  p->sums = p->block == p->depth || most < 1 ? 1 : p->block_tiles < most ? p->block_tiles : most;
  p->ahead = !p->windows && p->chunks_m > 1 && p->depth > 0;
  /* Behind the panel a vector: the last one of a line may reach there (conv_pack.c). */
  p->tile_offset = p->windows || p->ahead ? 0 : loom_ceil_div(panel + p->vl * size, 64) * 64;
  if (p->planes) /* a band, and the line that is divided into phases */
    p->tile_offset =
        loom_ceil_div((p->band_rows + 1) * p->strides[1] * p->band_pitch * size, 64) * 64;
  if (!p->ahead) return;
  bool outer = p->depth_coef[0] == p->depth / p->channels; /* a channel's part is one piece */
  p->panel_blocks = loom_num_below(p->pixels, p->step) && !outer ? 1
                    : p->channels < 8                            ? p->channels
                                                                 : 8;
  p->panel_channels = loom_ceil_div(p->channels, p->panel_blocks);
  p->panel_blocks = loom_ceil_div(p->channels, p->panel_channels);
  p->panel_offset = p->direct ? 0 : loom_ceil_div(p->weights.dims[0] * p->depth * size, 64) * 64;
}

bool conv_plan_make(const lower_kernel *kernel, MlirOperation op, conv_plan *p) {
  memset(p, 0, sizeof *p);
  p->op = op;
  if (!conv_types(kernel, op, p)) return false;
  conv_sizes(p);
  if (loom_type_elements(&p->out) == 0) return true; /* nothing to compute */
  p->windows = p->rows <= 2;
  conv_weights(kernel, p);
  conv_registers(kernel, p);
  conv_lanes_plan(kernel, p);
  if (!p->lanes && !p->reversed) conv_planes_plan(kernel, p);
  conv_outputs_plan(kernel, p);
  conv_chunks(p);
  conv_unroll(p);
  if (p->outputs) p->unrolled = p->spatial;
  if (!p->lanes && !p->outputs) conv_input_line(kernel, p);
  p->repeats = conv_repeats(kernel, p);
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  if (p->depth > CONV_LIMIT / p->step / size) return alone_refuse(op, "too many input channels");
  conv_memory(p);
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

bool conv_packs_weights(const conv_plan *p) { return !p->direct && p->depth > 0; }

bool convolution_plan(const lower_kernel *kernel, alone_plan *out) {
  conv_plan p;
  if (!conv_plan_make(kernel, out->op, &p)) return false;
  int64_t size = (int64_t)loom_dtype_size(p.dtype);
  out->stage_count = 1;
  out->stages[0] = 0;
  if (loom_type_elements(&p.out) == 0) return true;
  if (p.outputs) {
    int64_t tiles = p.groups * (p.padded_rows / p.row_step);
    out->slots = tiles * p.row_step * p.depth * size;
    out->stages[out->stage_count++ - 1] = tiles * (p.depth / p.channels);
  } else if (conv_packs_weights(&p)) {
    int64_t columns = p.lanes ? p.rows * p.padded_groups : p.weights.dims[0];
    out->slots = columns * p.depth * size;
    out->stages[out->stage_count++ - 1] = p.lanes ? p.rows * p.depth : p.weights.dims[0];
  }
  if (p.ahead) {
    out->slots = p.panel_offset + p.groups * p.panels * p.depth * p.step * size;
    out->stages[out->stage_count++ - 1] = p.groups * p.panels * p.panel_blocks;
  }
  out->stages[out->stage_count - 1] = (p.windows ? 1 : p.groups) * p.chunks_m * p.chunks_n;
  out->scratch =
      p.tile_offset + (p.outputs ? conv_outputs_sums_bytes(&p) : p.sums * p.mr * p.step * size);
  return true;
}
