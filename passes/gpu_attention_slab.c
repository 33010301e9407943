/* Products of an attention on a GPU, in slabs of 16 steps through shared memory (gpu_attention.h).
 *
 *   for each slab, in one of two places by turns:
 *     the thread's elements of the slab go from registers to shared memory; barrier
 *     those of the next slab are loaded, while the steps of this one are multiplied
 *
 * Between two products there is no other barrier where the first one has an even number of slabs:
 * its last slab is in the second place, and all threads are done with the one before.
 *
 * A slab lies in shared memory step by step. The elements of a thread along a side are side by side
 * there: element s + 16 k of the side is at s * width + k of its part. One access loads 16 elements
 * of device memory that lie next to each other, and again 16: those of two steps where the elements
 * of a step are next to each other in memory (rows of v), else two groups of rows at 16 steps (rows
 * of q and k). In the second case threads next to each other write to different steps, which are
 * padded by one vector so that they lie in different banks.
 */
#include "passes/gpu_attention.h"

/* ---- sides ---- */

gpu_side gpu_side_of(int count, loom_dtype work) {
  gpu_side side = {.count = count};
  int at = 0;
  for (int width = 16 / (int)loom_dtype_size(work); width; width /= 2)
    for (; count - at >= width; at += width) {
      side.first[side.parts] = at;
      side.width[side.parts++] = width;
    }
  return side;
}

int gpu_side_elements(const gpu_side *side, int low, int high) {
  int count = 0;
  for (int p = low; p < high; p++)
    count += side->width[p];
  return count;
}

int gpu_side_pad(const gpu_side *side, int low, loom_dtype work) {
  int width = side->width[low];
  return width * (int)loom_dtype_size(work) < 8 ? 2 : width;
}

/* ---- places in shared memory ---- */

static loom_dtype slab_work(const gpu_product *x) { return x->j->a->op.work; }

/* Do steps lie next to each other in memory, and elements of a step do not? */
static bool slab_along_steps(const gpu_factor *f) {
  return f->step_stride == 1 && f->lane_stride != 1;
}

/* Elements from one step to the next. */
static int slab_pitch(const gpu_product *x, const gpu_factor *f) {
  if (!f->side) return x->j->a->pitch;
  int pitch = GPU_SIDE * gpu_side_elements(f->side, f->low, f->high);
  return pitch + (slab_along_steps(f) ? gpu_side_pad(f->side, f->low, slab_work(x)) : 0);
}

/* Elements that a thread loads of a slab. */
static int slab_loads(const gpu_factor *f) {
  return f->side ? gpu_side_elements(f->side, f->low, f->high) : 0;
}

/* The vector of part `p` of thread `s` in a step that begins at `ptr`. */
static MlirValue slab_part(lower *l, const gpu_product *x, const gpu_side *side, int low, int p,
                           MlirValue ptr, MlirValue s) {
  MlirValue at = alone_op(l, "arith.muli", s, side->width[p]);
  at = alone_op(l, "arith.addi", at, (int64_t)GPU_SIDE * (side->first[p] - side->first[low]));
  return alone_address(l, ptr, at, slab_work(x));
}

void gpu_side_align(const lower *l, MlirOperation access, loom_dtype dtype, int width) {
  int64_t bytes = width * (int64_t)loom_dtype_size(dtype);
  loom_set_attr(access, "alignment", loom_attr_i64(l->kernel->ctx, bytes));
}

/* ---- loads ---- */

/* The thread's step of a slab, and its number along the side. */
static void slab_share(lower *l, const gpu_product *x, const gpu_factor *f, MlirValue *step,
                       MlirValue *lane) {
  bool along = slab_along_steps(f);
  *step = along ? x->j->along : x->j->down;
  *lane = along ? x->j->down : x->j->along;
}

static MlirValue slab_offset(lower *l, MlirValue index, int64_t stride) {
  return stride == 1 ? index : alone_op(l, "arith.muli", index, stride);
}

/* The thread's elements of slab number `slab`. Beyond the last lane is the last one, and nobody
 * takes the sums. Steps beyond the last one are zeros. */
static MlirValue *slab_load_side(lower *l, const gpu_product *x, const gpu_factor *f,
                                 MlirValue slab, MlirValue *out) {
  MlirValue step, lane, there = {NULL}, zero = attention_vector(l, &x->j->a->op, 0);
  int count = slab_loads(f);
  if (!count) return out;
  slab_share(l, x, f, &step, &lane);
  step = alone_op2(l, "arith.addi", step, alone_op(l, "arith.muli", slab, GPU_SIDE));
  step = alone_op2(l, "arith.addi", step, f->step);
  if (!loom_num_multiple(f->steps, GPU_SIDE)) {
    MlirValue steps = alone_const(l, f->steps), last = alone_op(l, "arith.subi", steps, 1);
    loom_builder b = alone_here(l);
    there = lane_cmpi(&b, "slt", step, steps);
    step = lane_op2(&b, "arith.minsi", step, last);
  }
  MlirValue from = alone_address(l, f->ptr, slab_offset(l, step, f->step_stride), f->dtype);
  lane = alone_op2(l, "arith.addi", lane, f->lane);
  lane = alone_op(l, "arith.addi", lane, (int64_t)GPU_SIDE * f->side->first[f->low]);
  for (int k = 0; k < count; k++) {
    MlirValue at = k ? alone_op(l, "arith.addi", lane, (int64_t)GPU_SIDE * k) : lane;
    if (!loom_num_multiple(f->lanes, (int64_t)GPU_SIDE * f->side->count))
      at = alone_op2(l, "arith.minsi", at, alone_op(l, "arith.subi", alone_const(l, f->lanes), 1));
    at = alone_address(l, from, slab_offset(l, at, f->lane_stride), f->dtype);
    loom_builder b = alone_here(l);
    out[k] = lane_load(&b, at, f->dtype, 1, (MlirValue){NULL});
    if (there.ptr) out[k] = lane_select(&b, there, out[k], zero);
  }
  return out + count;
}

static void slab_load(lower *l, const gpu_product *x, MlirValue slab, MlirValue *out) {
  out = slab_load_side(l, x, &x->rows, slab, out);
  slab_load_side(l, x, &x->columns, slab, out);
}

/* The elements of the next slab if there is one; else zeros, which nobody reads. */
static void slab_load_next(lower *l, const gpu_product *x, MlirValue slab, MlirValue *out) {
  int count = slab_loads(&x->rows) + slab_loads(&x->columns);
  MlirValue next = alone_op(l, "arith.addi", slab, 1), none[4 * GPU_SIDE_MOST];
  MlirType types[4 * GPU_SIDE_MOST];
  loom_builder b = alone_here(l);
  MlirValue more = lane_cmpi(&b, "slt", next, x->high);
  MlirBlock blocks[] = {mlirBlockCreate(0, NULL, NULL), mlirBlockCreate(0, NULL, NULL)};
  MlirRegion regions[] = {mlirRegionCreate(), mlirRegionCreate()};
  lower_push(l, blocks[0]);
  slab_load(l, x, next, out);
  lower_pop(l);
  for (int i = 0; i < count; i++) {
    none[i] = attention_vector(l, &x->j->a->op, 0);
    types[i] = mlirValueGetType(none[i]);
  }
  for (int i = 0; i < 2; i++) {
    loom_builder inner = loom_builder_at_end(blocks[i], l->loc);
    loom_build(&inner, "scf.yield", count, i ? none : out, 0, NULL, 0, NULL);
    mlirRegionAppendOwnedBlock(regions[i], blocks[i]);
  }
  MlirOperation op = loom_build_regions(&b, "scf.if", 1, &more, count, types, 0, NULL, 2, regions);
  for (int i = 0; i < count; i++)
    out[i] = loom_result(op, i);
}

/* ---- stores ---- */

MlirValue gpu_side_vector(lower *l, const MlirValue *elements, int step, int width) {
  if (width == 1) return elements[0];
  loom_builder b = alone_here(l);
  MlirValue vector = lane_splat(&b, elements[0], width);
  for (int i = 1; i < width; i++)
    vector = lane_insert(&b, vector, elements[i * step], i);
  return vector;
}

static const MlirValue *slab_store_side(lower *l, const gpu_product *x, const gpu_factor *f,
                                        MlirValue place, const MlirValue *values) {
  if (!f->side) return values;
  MlirValue step, lane;
  slab_share(l, x, f, &step, &lane);
  place = alone_address(l, place, alone_op(l, "arith.muli", step, slab_pitch(x, f)), slab_work(x));
  for (int p = f->low; p < f->high; p++) {
    int width = f->side->width[p];
    MlirValue vector = gpu_side_vector(l, values, 1, width);
    MlirValue to = slab_part(l, x, f->side, f->low, p, place, lane);
    loom_builder b = alone_here(l);
    MlirOperation store = lane_store(&b, vector, to, slab_work(x), (MlirValue){NULL});
    gpu_side_align(l, store, slab_work(x), width);
    values += width;
  }
  return values;
}

/* ---- multiply-adds ---- */

/* Where the parts of a thread begin in the slab. */
static void slab_bases(lower *l, const gpu_product *x, const gpu_factor *f, const gpu_side *side,
                       MlirValue place, MlirValue thread, MlirValue *out) {
  int low = f->side ? f->low : 0, high = f->side ? f->high : side->parts;
  for (int p = low; p < high; p++)
    out[p - low] = slab_part(l, x, side, low, p, place, thread);
}

static void slab_read(lower *l, const gpu_product *x, const gpu_side *side, int low, int high,
                      const MlirValue *bases, int64_t at, MlirValue *out) {
  for (int p = low; p < high; p++) {
    MlirValue ptr = attention_beside(l, &x->j->a->op, bases[p - low], at);
    loom_builder b = alone_here(l);
    out[p - low] = lane_load(&b, ptr, slab_work(x), side->width[p], (MlirValue){NULL});
    gpu_side_align(l, loom_def(out[p - low]), slab_work(x), side->width[p]);
  }
}

static void slab_step(lower *l, const gpu_product *x, MlirValue (*bases)[GPU_SIDE_PARTS], int step,
                      MlirValue *sums) {
  const gpu_side *own = &x->j->a->own, *side = x->columns.side;
  int parts = x->columns.high - x->columns.low;
  MlirValue left[GPU_SIDE_PARTS], right[GPU_SIDE_PARTS];
  slab_read(l, x, own, 0, own->parts, bases[0], (int64_t)step * slab_pitch(x, &x->rows), left);
  slab_read(l, x, side, x->columns.low, x->columns.high, bases[1],
            (int64_t)step * slab_pitch(x, &x->columns), right);
  loom_builder b = alone_here(l);
  for (int r = 0; r < own->parts; r++)
    for (int i = 0; i < own->width[r]; i++) {
      MlirValue one = lane_extract(&b, left[r], i), *row = &sums[(own->first[r] + i) * parts];
      for (int c = 0; c < parts; c++) {
        MlirValue every = lane_splat(&b, one, side->width[x->columns.low + c]);
        row[c] = lane_fma(&b, every, right[c], row[c]);
      }
    }
}

/* Carried: the sums, then the thread's elements of the slab. */
static void slab_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_product *x = user;
  const gpu_attention *a = x->j->a;
  int count = a->own.count * (x->columns.high - x->columns.low);
  MlirValue slab = attention_iteration(l), bases[2][GPU_SIDE_PARTS];
  MlirValue turn = alone_op(l, "arith.muli", alone_op(l, "arith.andi", slab, 1), a->slab);
  MlirValue rows = attention_at(l, &a->op, x->j->slabs, turn), columns = rows;
  if (x->rows.side)
    columns = attention_beside(l, &a->op, rows, (int64_t)GPU_SIDE * slab_pitch(x, &x->rows));
  const MlirValue *left = slab_store_side(l, x, &x->rows, rows, carried + count);
  slab_store_side(l, x, &x->columns, columns, left);
  loom_builder b = alone_here(l);
  gpu_barrier(l, &b);
  slab_load_next(l, x, slab, next + count);
  if (!x->rows.side) {
    MlirValue at = alone_op(l, "arith.muli", slab, (int64_t)GPU_SIDE * a->pitch);
    rows = attention_at(l, &a->op, x->j->weights, at);
  }
  slab_bases(l, x, &x->rows, &a->own, rows, x->j->down, bases[0]);
  slab_bases(l, x, &x->columns, x->columns.side, columns, x->j->along, bases[1]);
  for (int i = 0; i < count; i++)
    next[i] = carried[i];
  for (int step = 0; step < GPU_SIDE && !l->failed; step++)
    slab_step(l, x, bases, step, next);
}

/* ---- a product ---- */

void gpu_product_begin(lower *l, gpu_product *x) { slab_load(l, x, alone_const(l, 0), x->values); }

void gpu_product_run(lower *l, gpu_product *x, MlirValue *sums) {
  int count = x->j->a->own.count * (x->columns.high - x->columns.low);
  int loads = slab_loads(&x->rows) + slab_loads(&x->columns);
  MlirValue carried[LOWER_CARRIED];
  if (count + loads > LOWER_CARRIED) {
    lower_fail(l, l->kernel->op, "a product of too many values");
    return;
  }
  for (int i = 0; i < count + loads; i++)
    carried[i] = i < count ? sums[i] : x->values[i - count];
  loom_builder b = alone_here(l);
  if (x->j->pending) gpu_barrier(l, &b);
  x->j->pending = !x->even;
  lower_for(l, alone_const(l, 0), x->high, alone_const(l, 1), -1, count + loads, carried, slab_body,
            x, carried);
  for (int i = 0; i < count; i++)
    sums[i] = carried[i];
}
