/* How a kernel with a convolution_gradient is divided (conv_gradient.h). Sizes alone decide, never
 * the threads. */
#include "passes/conv_gradient.h"

#include <string.h>

#define GRADIENT_CHUNK_WORK (1 << 19) /* multiply-adds that make a chunk worth its launch */
#define GRADIENT_CHUNKS 24
#define GRADIENT_BLOCK 256 /* pixels summed in a row */
#define GRADIENT_SUMS_BYTES (192 << 10)
#define GRADIENT_LIMIT (INT64_C(1) << 40)

static bool gradient_types(const lower_kernel *kernel, gradient_plan *p) {
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(p->op, 0)), &p->in) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(p->op, 1)), &p->gradient) ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(p->op, 0)), &p->out))
    return alone_refuse(p->op, "an operand of an unknown type");
  if (loom_type_elements(&p->out) < 0) return alone_refuse(p->op, "weights of a symbolic size");
  p->dtype = p->out.dtype;
  if (p->out.rank - 2 > GRADIENT_SPATIAL)
    return alone_refuse(p->op, "more than three spatial dimensions");
  if (loom_dtype_is_complex(p->dtype) || loom_dtype_is_half(p->dtype))
    return alone_refuse(p->op, "no arithmetic for this element type");
  for (int i = 0; i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (buffer->slot < 0) continue;
    if (mlirValueEqual(buffer->value, loom_operand(p->op, 0))) p->image = buffer;
    if (mlirValueEqual(buffer->value, loom_operand(p->op, 1))) p->pixels = buffer;
  }
  p->weights = &kernel->results[0];
  if (!p->image || !p->pixels || kernel->result_count != 1 ||
      !mlirValueEqual(p->weights->value, loom_result(p->op, 0)))
    return alone_refuse(p->op, "an operand or result that is no buffer");
  return true;
}

static void gradient_sizes(gradient_plan *p) {
  int64_t lists[3][GRADIENT_SPATIAL], padding[2 * GRADIENT_SPATIAL];
  int missing = GRADIENT_SPATIAL - (p->out.rank - 2);
  loom_get_i64s(p->op, "strides", lists[0], GRADIENT_SPATIAL);
  loom_get_i64s(p->op, "dilation", lists[1], GRADIENT_SPATIAL);
  loom_get_i64s(p->op, "window", lists[2], GRADIENT_SPATIAL);
  loom_get_i64s(p->op, "padding", padding, 2 * GRADIENT_SPATIAL);
  p->groups = loom_get_i64(p->op, "groups", 1);
  p->batch = loom_num_dim(p->in.dims[0]);
  p->rows = p->out.dims[0] / p->groups;
  p->channels = p->out.dims[1];
  p->paired = p->groups > 1 && p->rows == 1 && p->channels == 1;
  if (p->paired) {
    p->rows = p->groups;
    p->groups = 1;
  }
  p->places = 1;
  for (int d = 0; d < GRADIENT_SPATIAL; d++) {
    int i = d - missing;
    p->strides[d] = i < 0 ? 1 : lists[0][i];
    p->dilation[d] = i < 0 ? 1 : lists[1][i];
    p->window[d] = i < 0 ? 1 : lists[2][i];
    p->low[d] = i < 0 ? 0 : padding[2 * i];
    p->size[d] = i < 0 ? 1 : loom_num_dim(p->in.dims[i + 2]);
    p->count[d] = i < 0 ? 1 : loom_num_dim(p->gradient.dims[i + 2]);
    p->padded[d] = loom_num_add(loom_num_mul(loom_num_sub(p->count[d], 1), p->strides[d]),
                                (p->window[d] - 1) * p->dilation[d] + 1);
    p->places *= p->window[d];
  }
  p->planes = loom_num_mul(p->batch, p->count[0]);
}

/* Is this many elements more than can be addressed? Symbolic ones are looked at when called. */
static bool gradient_too_many(int64_t a, int64_t b) {
  return !LOOM_STRIDE_IS_SYM(a) && !LOOM_STRIDE_IS_SYM(b) && b > 0 && a > GRADIENT_LIMIT / b;
}

/* Where the tiles read the input. */
static bool gradient_image(gradient_plan *p) {
  int missing = GRADIENT_SPATIAL - (p->out.rank - 2);
  int64_t size = (int64_t)loom_dtype_size(p->dtype), inner = 1;
  p->direct = !p->paired && p->image->type.dtype == p->dtype;
  for (int d = 0; d < GRADIENT_SPATIAL; d++)
    p->direct &= p->low[d] == 0 && loom_num_at_most(p->padded[d], p->size[d]);
  if (p->paired) inner = p->step;
  for (int d = GRADIENT_SPATIAL - 1; d >= 0; d--) {
    bool there = p->direct && d >= missing;
    p->image_strides[d + 2] = there ? p->image->strides[d - missing + 2] : inner;
    if (gradient_too_many(p->padded[d], inner)) return false;
    inner = loom_num_mul(inner, p->padded[d]);
  }
  int64_t images = loom_num_mul(p->batch, p->in.dims[1]);
  if (gradient_too_many(inner, size) || gradient_too_many(loom_num_mul(inner, size), images))
    return false;
  p->plane = inner;
  if (p->paired) { /* [panel][batch]...[step], line by line */
    p->plane = loom_num_mul(p->padded[2], p->step);
    p->image_strides[1] = 0;
    p->image_strides[0] = inner;
    p->pack_planes =
        loom_num_mul(loom_num_mul(p->padded[0], p->padded[1]), loom_num_mul(p->batch, p->panels));
    return true;
  }
  p->image_strides[1] = p->direct ? p->image->strides[1] : inner;
  p->image_strides[0] = p->direct ? p->image->strides[0] : loom_num_mul(inner, p->in.dims[1]);
  p->pack_planes = p->direct ? 0 : images;
  return true;
}

/* ---- tiles ---- */

/* Chooses the tile of the weights that one block computes: whole dimensions of the window,
 * innermost first, then input channels, as long as they fit `most` rows. Sizes of the tile divide
 * those of the weights, so that no sum is made twice. */
static int gradient_tile(const gradient_plan *p, int most, int64_t *tile) {
  const int64_t sizes[1 + GRADIENT_SPATIAL] = {p->channels, p->window[0], p->window[1],
                                               p->window[2]};
  int rows = 1;
  bool whole = true;
  for (int d = GRADIENT_SPATIAL; d >= 0; d--) {
    tile[d] = 1;
    if (!whole) continue;
    for (int64_t size = 2; size * rows <= most && size <= sizes[d]; size++)
      if (sizes[d] % size == 0) tile[d] = size;
    whole = tile[d] == sizes[d];
    rows *= (int)tile[d];
  }
  return rows;
}

/* Of all tiles that fit the registers, those that need the fewest cycles, ragged panels included:
 * two multiply-adds or two loads a cycle, and no faster than the latency of a multiply-add. */
static void gradient_registers(const lower_kernel *kernel, gradient_plan *p) {
  int size = (int)loom_dtype_size(p->dtype), registers = kernel->vector_bytes == 64 ? 32 : 16;
  double best = 0;
  p->vl = kernel->vector_bytes / size;
  if (size < 4) p->vl = 1; /* nothing turns them */
  while (p->vl > 1 && p->vl / 2 >= p->rows)
    p->vl /= 2;
  for (int nv = 1; nv <= 4; nv++)
    for (int most = 1; most * nv + nv + 1 <= registers; most++) {
      int64_t tile[1 + GRADIENT_SPATIAL];
      int64_t mr = gradient_tile(p, most, tile);
      int64_t loads = p->paired ? mr * nv + nv : mr + nv;
      int64_t each = mr * nv > loads ? mr * nv : loads;
      double cost = (double)loom_ceil_div(p->rows, (int64_t)nv * p->vl) *
                    (double)((each > 8 ? each : 8) + 1) / (double)mr;
      if (best > 0 && cost >= best) continue;
      best = cost;
      p->nv = nv;
      p->mr = (int)mr;
      memcpy(p->tile, tile, sizeof tile);
    }
  p->step = (int64_t)p->nv * p->vl;
  p->panels = loom_ceil_div(p->rows, p->step);
  p->square = p->vl < 8 ? p->vl : 8;
  if (size == 8 && kernel->vector_bytes < 64 && p->square > 4) p->square = 4;
  if (loom_num_below(p->count[2], p->square) && p->square > 4) p->square = 4; /* short lines */
}

/* Whole dimensions, innermost first, until a block has its pixels. */
static void gradient_blocks(gradient_plan *p) {
  const int64_t sizes[GRADIENT_SPATIAL] = {p->planes, p->count[1], p->count[2]};
  int64_t pixels = 1;
  for (int d = GRADIENT_SPATIAL - 1; d >= 0; d--) {
    int64_t most = loom_ceil_div(GRADIENT_BLOCK, pixels), size = loom_num_hint(sizes[d]);
    if (size < 1) size = 1;
    p->block[d] = size; /* the likely one, where it is symbolic: there may be more blocks */
    if (size > most + most / 2) p->block[d] = loom_ceil_div(size, loom_ceil_div(size, most));
    pixels = p->block[d] < size ? GRADIENT_BLOCK : pixels * size;
  }
}

static void gradient_chunks(gradient_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->dtype), tiles = p->channels / p->tile[0];
  double work = (double)loom_type_elements(&p->out) * (double)loom_num_hint(p->planes) *
                (double)loom_num_hint(p->count[1]) * (double)loom_num_hint(p->count[2]) /
                GRADIENT_CHUNK_WORK;
  int64_t want = work > GRADIENT_CHUNKS ? GRADIENT_CHUNKS : 1 + (int64_t)work;
  want = loom_ceil_div(want, p->groups * p->panels);
  int64_t each = loom_ceil_div(tiles, want < tiles ? want : tiles);
  int64_t most = GRADIENT_SUMS_BYTES / (p->places * p->tile[0] * p->step * size);
  if (each > most) each = most > 1 ? most : 1;
  p->chunk_channels = each * p->tile[0];
  p->chunks = loom_ceil_div(p->channels, p->chunk_channels);
}

bool gradient_plan_make(const lower_kernel *kernel, MlirOperation op, gradient_plan *p) {
  memset(p, 0, sizeof *p);
  p->op = op;
  if (!gradient_types(kernel, p)) return false;
  gradient_sizes(p);
  if (loom_type_elements(&p->out) == 0) return true; /* nothing to compute */
  if (gradient_lanes_plan(kernel, p)) return true;
  gradient_registers(kernel, p);
  if (!gradient_image(p)) return alone_refuse(op, "an input that is too large");
  gradient_blocks(p);
  gradient_chunks(p);
  int64_t size = (int64_t)loom_dtype_size(p->dtype);
  int64_t lines = loom_num_mul(p->planes, p->count[1]);
  if (loom_type_elements(&p->gradient) == 0) lines = 0;
  p->pack_lines = loom_num_mul(lines, p->groups * p->panels);
  int64_t line = loom_num_mul(p->count[2], p->step * size);
  if (gradient_too_many(line, loom_num_add(p->pack_lines, 1)) ||
      p->places * p->step > GRADIENT_LIMIT / size / p->chunk_channels)
    return alone_refuse(op, "a gradient that is too large");
  int64_t bytes = loom_num_add(loom_num_mul(p->pack_lines, line), 1);
  p->image_offset = loom_num_mul(loom_num_ceil(bytes, 64), 64);
  return !loom_num_take_failure() || alone_refuse(op, "a size that cannot be expressed");
}

bool conv_gradient_plan(const lower_kernel *kernel, alone_plan *out) {
  gradient_plan p;
  if (!gradient_plan_make(kernel, out->op, &p)) return false;
  out->stage_count = 1;
  out->stages[0] = 0;
  if (loom_type_elements(&p.out) == 0) return true;
  if (p.lanes) return gradient_lanes_stages(&p, out), true;
  int64_t size = (int64_t)loom_dtype_size(p.dtype);
  out->slots = p.image_offset;
  if (!p.direct) {
    int64_t bytes = loom_num_mul(loom_num_mul(p.pack_planes, p.plane), size);
    out->slots = loom_num_add(out->slots, bytes);
  }
  out->stage_count = 2;
  out->stages[0] = loom_num_add(p.pack_lines, p.pack_planes);
  out->stages[1] = p.groups * p.panels * p.chunks;
  out->scratch = p.chunk_channels * p.places * p.step * size;
  return !loom_num_take_failure() || alone_refuse(out->op, "a size that cannot be expressed");
}
