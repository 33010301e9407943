/* What the gradient of a convolution's weights packs (conv_gradient.h): lines of the gradient, and
 * the input with zeros around it. */
#include "passes/conv_gradient.h"

#include <string.h>

/* ---- packing the gradient: lines of `step` channels, pixel by pixel ---- */

/* The element of a line of the gradient at pixel GRADIENT_PIXEL of channel `lane` of the panel. */
static MlirValue gradient_source(lower *l, const gradient_job *job, int64_t lane) {
  const gradient_plan *p = job->p;
  int64_t offset = loom_num_mul(job->turned->strides[1], lane);
  loom_dtype dtype = job->turned->type.dtype;
  MlirValue ptr = gradient_beside(l, job->image, offset, dtype);
  return gradient_along(l, ptr, l->vars[GRADIENT_PIXEL].iv,
                        gradient_stride(p, job->turned, GRADIENT_SPATIAL - 1), dtype);
}

/* A pixel whose channels are neighbours: vectors of them. */
static void gradient_pack_vectors(lower *l, gradient_job *job, MlirValue to) {
  const gradient_plan *p = job->p;
  MlirValue from = gradient_source(l, job, 0), none = {NULL};
  for (int v = 0; v < p->nv; v++) {
    MlirValue source = gradient_beside(l, from, (int64_t)v * p->vl, job->turned->type.dtype);
    MlirValue at = gradient_beside(l, to, (int64_t)v * p->vl, p->dtype);
    loom_builder b = alone_here(l);
    MlirValue value = lane_load(&b, source, job->turned->type.dtype, p->vl, none);
    lane_store(&b, value, at, p->dtype, none);
  }
}

static void gradient_pack_pixel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue none = {NULL};
  MlirValue to = gradient_along(l, job->target, l->vars[GRADIENT_PIXEL].iv, p->step, p->dtype);
  if (job->turned->strides[1] == 1 && p->rows >= p->step) {
    gradient_pack_vectors(l, job, to);
    return;
  }
  for (int64_t lane = 0; lane < p->step; lane++) {
    MlirValue from = gradient_source(l, job, lane), at = gradient_beside(l, to, lane, p->dtype);
    loom_builder b = alone_here(l);
    MlirValue value = gradient_splat(l, p, 1);
    if (lane < p->rows) value = lane_load(&b, from, job->turned->type.dtype, 1, none);
    lane_store(&b, value, at, p->dtype, none);
  }
}

int64_t gradient_whole(const gradient_plan *p) { return gradient_lanes(p) / p->square * p->square; }

/* Turns `count` channels from GRADIENT_LANE + `lane` on; further ones are zeros. */
static void gradient_pack_lanes(lower *l, gradient_job *job, int64_t lane, int64_t count) {
  const gradient_plan *p = job->p;
  int square = p->square, order[GRADIENT_SQUARE];
  MlirValue rows[GRADIENT_SQUARE], none = {NULL}, to = job->square;
  MlirValue from = gradient_source(l, job, lane);
  if (l->vars[GRADIENT_LANE].iv.ptr) {
    from = gradient_along(l, from, l->vars[GRADIENT_LANE].iv, job->turned->strides[1],
                          job->turned->type.dtype);
    to = alone_address(l, to, l->vars[GRADIENT_LANE].iv, p->dtype);
  }
  for (int i = 0; i < square; i++) {
    MlirValue at =
        gradient_beside(l, from, loom_num_mul(job->turned->strides[1], i), job->turned->type.dtype);
    loom_builder b = alone_here(l);
    rows[i] = gradient_splat(l, p, square);
    if (i < count) rows[i] = lane_load(&b, at, job->turned->type.dtype, square, none);
  }
  loom_builder b = alone_here(l);
  lower_turn(&b, rows, square, (int)loom_dtype_size(p->dtype), order);
  for (int i = 0; i < square; i++) {
    MlirValue at = gradient_beside(l, to, order[i] * p->step + lane, p->dtype);
    b = alone_here(l);
    lane_store(&b, rows[i], at, p->dtype, none);
  }
}

static void gradient_pack_whole(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_pack_lanes(l, user, 0, ((gradient_job *)user)->p->square);
}

/* A square of pixels by all channels: the last one of a line starts early enough to be whole. */
static void gradient_pack_square(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue saved = l->vars[GRADIENT_PIXEL].iv;
  int64_t whole = gradient_whole(p);
  MlirValue last = alone_op(l, "arith.subi", gradient_least(l, job->line, job->reached), p->square);
  l->vars[GRADIENT_PIXEL].iv = alone_op2(l, "arith.minsi", saved, last);
  job->square = gradient_along(l, job->target, l->vars[GRADIENT_PIXEL].iv, p->step, p->dtype);
  lower_for(l, alone_const(l, 0), alone_const(l, whole), alone_const(l, p->square), GRADIENT_LANE,
            0, NULL, gradient_pack_whole, job, NULL);
  for (int64_t lane = whole; lane < p->step; lane += p->square)
    gradient_pack_lanes(l, job, lane, p->rows - lane);
  l->vars[GRADIENT_PIXEL].iv = saved;
}

/* A line of all channels of a panel. */
static void gradient_turn(lower *l, gradient_job *job) {
  const gradient_plan *p = job->p;
  bool squares = p->square > 1 && gradient_stride(p, job->turned, 2) == 1;
  gradient_pieces(l, job->line, job->reached, squares ? p->square : 1, gradient_pack_square,
                  gradient_pack_pixel, job);
}

/* One line of a panel. */
static void gradient_pack_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue rest, y, z, panel, chunk = l->vars[GRADIENT_CHUNK].iv;
  int64_t line = p->count[GRADIENT_SPATIAL - 1];
  job->target =
      gradient_along(l, gradient_slots(l, 0), chunk, loom_num_mul(line, p->step), p->dtype);
  rest = gradient_divide(l, chunk, p->count[1], &y);
  rest = gradient_divide(l, rest, p->count[0], &z);
  MlirValue n;
  rest = gradient_divide(l, rest, p->batch, &n);
  MlirValue group = gradient_divide(l, rest, p->panels, &panel);
  MlirValue channel = alone_add_scaled(l, gradient_first(l, p, panel), group, p->rows);
  MlirValue ptr = l->pointers[p->pixels->slot];
  ptr = gradient_along(l, ptr, n, p->pixels->strides[0], p->pixels->type.dtype);
  ptr = gradient_along(l, ptr, channel, p->pixels->strides[1], p->pixels->type.dtype);
  ptr = gradient_along(l, ptr, z, gradient_stride(p, p->pixels, 0), p->pixels->type.dtype);
  job->image = gradient_along(l, ptr, y, gradient_stride(p, p->pixels, 1), p->pixels->type.dtype);
  job->turned = p->pixels;
  job->line = job->reached = line;
  gradient_turn(l, job);
}

/* ---- packing the input: with zeros around it ---- */

static void gradient_copy_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  loom_dtype dtype = p->image->type.dtype;
  MlirValue x = l->vars[GRADIENT_PIXEL].iv, none = {NULL};
  MlirValue from = gradient_along(l, job->image, x, gradient_stride(p, p->image, 2), dtype);
  MlirValue to = gradient_along(l, job->target, x, 1, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_load(&b, from, dtype, 1, none), to, p->dtype, none);
}

static void gradient_copy_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  int vector = p->square;
  MlirValue most = gradient_least(l, p->size[2], loom_num_sub(p->padded[2], p->low[2]));
  MlirValue last = alone_op(l, "arith.subi", most, vector);
  MlirValue x = alone_op2(l, "arith.minsi", l->vars[GRADIENT_PIXEL].iv, last);
  loom_dtype dtype = p->image->type.dtype;
  MlirValue from = alone_address(l, job->image, x, dtype), none = {NULL};
  MlirValue to = alone_address(l, job->target, x, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_load(&b, from, dtype, vector, none), to, p->dtype, none);
}

/* One line of the input that is not padding. */
static void gradient_copy_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user, inner = *job;
  const gradient_plan *p = job->p;
  MlirValue z = l->vars[GRADIENT_PLANE].iv, y = l->vars[GRADIENT_LINE].iv;
  loom_dtype dtype = p->image->type.dtype;
  int64_t reached = loom_num_sub(p->padded[2], p->low[2]); /* by the windows */
  MlirValue from = gradient_along(l, job->image, z, gradient_stride(p, p->image, 0), dtype);
  inner.image = gradient_along(l, from, y, gradient_stride(p, p->image, 1), dtype);
  int64_t first = loom_num_mul(p->padded[1], p->low[0]);
  first = loom_num_mul(loom_num_add(first, p->low[1]), p->padded[2]);
  MlirValue to = gradient_beside(l, job->target, loom_num_add(first, p->low[2]), p->dtype);
  to = gradient_along(l, to, z, loom_num_mul(p->padded[1], p->padded[2]), p->dtype);
  inner.target = gradient_along(l, to, y, p->padded[2], p->dtype);
  bool vectors = p->square > 1 && gradient_stride(p, p->image, 2) == 1;
  gradient_pieces(l, p->size[2], reached, vectors ? p->square : 1, gradient_copy_vector,
                  gradient_copy_element, &inner);
}

static void gradient_copy_plane(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue lines = gradient_least(l, p->size[1], loom_num_sub(p->padded[1], p->low[1]));
  lower_for(l, alone_const(l, 0), lines, alone_const(l, 1), GRADIENT_LINE, 0, NULL,
            gradient_copy_line, job, NULL);
}

static int gradient_clear_width(const gradient_plan *p) {
  return loom_num_at_most(p->square, p->plane) ? p->square : 1;
}

static void gradient_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gradient_plan *p = ((gradient_job *)user)->p;
  MlirValue x = l->vars[GRADIENT_PIXEL].iv;
  int width = gradient_clear_width(p);
  if (width > 1) x = alone_op(l, "arith.minsi", x, loom_num_sub(p->plane, width));
  MlirValue to = alone_address(l, ((gradient_job *)user)->target, x, p->dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, gradient_splat(l, p, width), to, p->dtype, (MlirValue){NULL});
}

/* One channel of one image. */
static void gradient_copy_image(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue channel, chunk = alone_op(l, "arith.subi", l->vars[GRADIENT_CHUNK].iv, p->pack_lines);
  MlirValue planes = gradient_least(l, p->size[0], loom_num_sub(p->padded[0], p->low[0]));
  job->target = gradient_along(l, gradient_slots(l, p->image_offset), chunk, p->plane, p->dtype);
  MlirValue n = gradient_divide(l, chunk, p->in.dims[1], &channel);
  loom_dtype dtype = p->image->type.dtype;
  MlirValue ptr = gradient_along(l, l->pointers[p->image->slot], n, p->image->strides[0], dtype);
  job->image = gradient_along(l, ptr, channel, p->image->strides[1], dtype);
  lower_for(l, alone_const(l, 0), alone_const(l, p->plane), alone_const(l, gradient_clear_width(p)),
            GRADIENT_PIXEL, 0, NULL, gradient_clear, job, NULL);
  lower_for(l, alone_const(l, 0), planes, alone_const(l, 1), GRADIENT_PLANE, 0, NULL,
            gradient_copy_plane, job, NULL);
}

static void gradient_turn_once(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_turn(l, user);
}

/* Is at - low in [0, size)? How many there are before `at` in *out, then. */
static MlirValue gradient_inside(lower *l, MlirValue at, int64_t low, int64_t size,
                                 MlirValue *out) {
  *out = low ? alone_op(l, "arith.subi", at, low) : at;
  loom_builder b = alone_here(l);
  return lane_cmpi(&b, "ult", *out, alone_const(l, size)); /* negative ones are large */
}

/* A line of the padded input, turned: zeros, then what is there. */
static void gradient_turn_image(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  gradient_job *job = user;
  const gradient_plan *p = job->p;
  MlirValue x, y, z, n,
      chunk = alone_op(l, "arith.subi", l->vars[GRADIENT_CHUNK].iv, p->pack_lines);
  MlirValue slots = gradient_slots(l, p->image_offset);
  job->target = gradient_along(l, slots, chunk, p->plane, p->dtype);
  lower_for(l, alone_const(l, 0), alone_const(l, p->plane), alone_const(l, gradient_clear_width(p)),
            GRADIENT_PIXEL, 0, NULL, gradient_clear, job, NULL);
  MlirValue rest = gradient_divide(l, chunk, p->padded[1], &y);
  rest = gradient_divide(l, rest, p->padded[0], &z);
  MlirValue panel = gradient_divide(l, rest, p->batch, &n), from = l->pointers[p->image->slot];
  MlirValue there = gradient_inside(l, y, p->low[1], p->size[1], &y);
  there = alone_op2(l, "arith.andi", there, gradient_inside(l, z, p->low[0], p->size[0], &z));
  from = gradient_along(l, from, n, p->image->strides[0], p->image->type.dtype);
  from = gradient_along(l, from, gradient_first(l, p, panel), p->image->strides[1],
                        p->image->type.dtype);
  from = gradient_along(l, from, z, gradient_stride(p, p->image, 0), p->image->type.dtype);
  job->image = gradient_along(l, from, y, gradient_stride(p, p->image, 1), p->image->type.dtype);
  job->target = gradient_beside(l, job->target, p->low[2] * p->step, p->dtype);
  job->turned = p->image;
  job->line = p->size[2];
  job->reached = loom_num_sub(p->padded[2], p->low[2]);
  loom_builder b = alone_here(l);
  x = lane_select(&b, there, alone_const(l, 1), alone_const(l, 0));
  lower_for(l, alone_const(l, 0), x, alone_const(l, 1), GRADIENT_LINE, 0, NULL, gradient_turn_once,
            job, NULL);
}

void gradient_pack(lower *l, gradient_job *job) {
  const gradient_plan *p = job->p;
  MlirValue one = alone_const(l, 1);
  lower_for(l, l->begin, alone_op(l, "arith.minsi", l->end, p->pack_lines), one, GRADIENT_CHUNK, 0,
            NULL, gradient_pack_line, job, NULL);
  if (!p->pack_planes) return;
  lower_for(l, alone_op(l, "arith.maxsi", l->begin, p->pack_lines), l->end, one, GRADIENT_CHUNK, 0,
            NULL, p->paired ? gradient_turn_image : gradient_copy_image, job, NULL);
}
