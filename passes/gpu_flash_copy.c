/* Tiles of an attention in shared memory (gpu_flash.h).
 *
 * A thread copies pieces of up to 16 bytes of rows: without registers where the GPU can (cp.async),
 * else they are loaded when the copy begins, and stored when it ends. Where columns do not lie next
 * to each other, or buffers do not begin at multiples of a piece, which is asked in the kernel,
 * single elements are moved. Rows that are not there, and columns up to a multiple of 16, are
 * zeros.
 */
#include "passes/gpu_flash.h"

#include <stdio.h>
#include <string.h>

#define COPY_BYTES 16

/* ---- tiles ---- */

static int64_t copy_dim(const flash_memory *at, int d) {
  return at->dims[d] == 1 ? 0 : at->strides[d];
}

/* The most elements that a piece may have; 0: columns do not lie next to each other. */
static int copy_width(const flash_tile *t) {
  const flash_memory *at = &t->at;
  if (at->dims[3] != 1 && at->strides[3] != 1) return 0;
  for (int width = COPY_BYTES / 2; width > 1; width /= 2) {
    bool fits = t->present % width == 0 && loom_num_multiple(at->base, width);
    for (int d = 0; d < 3; d++)
      fits = fits && loom_num_multiple(copy_dim(at, d), width);
    if (fits) return width;
  }
  return 0;
}

static gpu_slab copy_view(const flash_job *j, const flash_tile *t, bool turned) {
  const gpu_flash *f = j->f;
  bool right = t->own == f->swapped, pairs = !turned && t->columns % (2 * FLASH_SIDE) == 0;
  return (gpu_slab){.p = pairs ? &f->dot : &f->narrow_dot,
                    .side = right ? 1 : 0,
                    .turned = turned,
                    .lines = t->rows,
                    .length = t->length};
}

/* What a thread has of a tile whose rows lie somewhere. */
static void copy_share(lower *l, const flash_job *j, flash_tile *t) {
  t->limit = gpu_flash_rows(j->f, t->own);
  t->rows = t->own ? j->f->own : j->f->other;
  t->columns = (int)loom_ceil_div(t->present, FLASH_SIDE) * FLASH_SIDE;
  for (t->length = FLASH_SIDE; t->length < t->columns;)
    t->length *= 2;
  t->even = loom_num_multiple(t->limit, t->rows) &&
            (t->own || !j->f->op.causal || j->f->own % t->rows == 0);
  t->place = copy_view(j, t, false);
  t->place.memory = j->memory;
  t->width = copy_width(t);
  if (!t->width) return;
  int bytes[TILE_BUFFERS] = {0}, per = t->length / t->width;
  bytes[t->at.slot] = t->width * 2;
  t->aligned = tile_aligned(l, bytes);
  t->step = GPU_BLOCK / per;
  t->pieces = (int)loom_ceil_div(t->rows, t->step);
  t->line = tile_number(l, j->thread, per, t->step);
  t->at_column = alone_op(l, "arith.muli", tile_number(l, j->thread, 1, per), t->width);
  t->column = t->at_column;
  loom_builder b = alone_here(l);
  MlirValue rows = alone_const(l, t->rows), columns = alone_const(l, t->columns);
  MlirValue present = alone_const(l, t->present);
  if (t->step > t->rows) {
    t->there = lane_cmpi(&b, "slt", t->line, rows);
    t->line = alone_op(l, "arith.minsi", t->line, t->rows - 1);
  }
  if (t->columns < t->length) {
    MlirValue there = lane_cmpi(&b, "slt", t->at_column, columns);
    t->there = t->there.ptr ? lane_op2(&b, "arith.andi", t->there, there) : there;
  }
  if (t->present == t->length) return;
  t->inside = lane_cmpi(&b, "slt", t->at_column, present);
  t->column = alone_op(l, "arith.minsi", t->at_column, t->present - t->width);
}

void gpu_flash_tile(lower *l, const flash_job *j, const attention_operand *o, bool own,
                    flash_tile *out) {
  flash_tile *t = out;
  *t = (flash_tile){.f = j->f, .own = own, .present = (int)o->at.type.dims[3]};
  t->at.slot = o->buffer->slot;
  t->at.base = o->at.base;
  memcpy(t->at.strides, o->at.strides, sizeof t->at.strides);
  memcpy(t->at.dims, o->at.type.dims, sizeof t->at.dims);
  copy_share(l, j, t);
  t->async = loom_str_is(loom_str(j->f->matrix.set), "mma");
  t->parts = j->f->group && !own;
  if (t->parts) t->place.length = 64;
  t->along = copy_view(j, t, false);
  t->turned = copy_view(j, t, true);
  MlirValue first = own ? j->down : j->across;
  MlirValue bytes = alone_op(l, "arith.muli", first, t->length * 2);
  loom_builder b = alone_here(l);
  gpu_slab *views[] = {&t->along, &t->turned};
  for (int i = 0; i < 2; i++) {
    views[i]->memory = lane_address(&b, j->memory, bytes, LOOM_I8);
    gpu_slab_aim(l, views[i], j->thread, alone_const(l, 0));
  }
}

/* ---- a piece ---- */

typedef struct copy_job {
  const flash_tile *t;
  MlirValue first, limit, offset; /* rows; bytes of shared memory */
  MlirValue to, from, inside;     /* inside: null: it is there */
  MlirValue number;               /* of a single element of the thread */
  const MlirValue *values;
} copy_job;

static MlirValue copy_and(lower *l, MlirValue x, MlirValue y) {
  loom_builder b = alone_here(l);
  return !x.ptr ? y : !y.ptr ? x : lane_op2(&b, "arith.andi", x, y);
}

/* Where a row's element lies, and whether it is there; else a place that may be read. */
static void copy_row(lower *l, copy_job *c, MlirValue line, MlirValue column, bool whole) {
  const flash_tile *t = c->t;
  MlirValue first = c->first, row;
  loom_builder b = alone_here(l);
  if (t->even && whole) {
    c->inside = lane_cmpi(&b, "slt", first, c->limit);
    first = alone_op2(l, "arith.minsi", first, alone_op(l, "arith.subi", c->limit, t->rows));
    row = alone_op2(l, "arith.addi", first, line);
  } else {
    row = alone_op2(l, "arith.addi", first, line);
    b = alone_here(l);
    c->inside = lane_cmpi(&b, "slt", row, c->limit);
    row = alone_op2(l, "arith.minsi", row, alone_op(l, "arith.subi", c->limit, 1));
  }
  MlirValue at = alone_op(l, "arith.muli", row, copy_dim(&t->at, 2));
  int64_t stride = copy_dim(&t->at, 3);
  if (stride) at = alone_add_scaled(l, at, column, stride);
  c->from = alone_address(l, t->at.head, at, LOOM_I16);
}

static MlirValue copy_shared(lower *l, const copy_job *c, MlirValue line, MlirValue column) {
  const flash_tile *t = c->t;
  if (t->parts) { /* behind the rows of the columns before */
    MlirValue part = alone_op(l, "arith.divui", column, t->place.length);
    line = alone_add_scaled(l, line, part, t->rows);
    column = alone_op(l, "arith.remui", column, t->place.length);
  }
  MlirValue place = gpu_slab_place(l, &c->t->place, line, column);
  loom_builder b = alone_here(l);
  return lane_address(&b, place, c->offset, LOOM_I8);
}

/* Piece i of the thread. */
static void copy_piece(lower *l, copy_job *c, int i) {
  const flash_tile *t = c->t;
  MlirValue line = alone_op(l, "arith.addi", t->line, (int64_t)i * t->step);
  copy_row(l, c, line, t->column, true);
  c->inside = copy_and(l, c->inside, t->inside);
  c->to = copy_shared(l, c, line, t->at_column);
}

static MlirType copy_type(const lower *l, const flash_tile *t) {
  return lane_memory_type(l->kernel->ctx, LOOM_I16, t->width);
}

static MlirValue copy_zero(lower *l, const flash_tile *t) {
  loom_builder b = lower_at_level(l, 0);
  return lane_const_int(&b, copy_type(l, t), 0);
}

/* ---- without registers ---- */

static void copy_async(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_job *c = user;
  for (int i = 0; i < c->t->pieces; i++) {
    lower_push(l, l->scopes[l->depth].block);
    copy_piece(l, c, i);
    gpu_copy_piece(l, c->to, c->from, c->t->width * 2, c->inside);
    lower_pop(l);
  }
}

static void copy_async_there(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const copy_job *c = user;
  if (c->t->there.ptr)
    lower_if(l, c->t->there, copy_async, user);
  else
    copy_async(l, user, NULL, NULL);
}

/* ---- through registers ---- */

static void copy_load(lower *l, void *user, MlirValue *out) {
  copy_job *c = user;
  for (int i = 0; i < c->t->pieces; i++) {
    copy_piece(l, c, i);
    loom_builder b = alone_here(l);
    out[i] = lane_load(&b, c->from, LOOM_I16, c->t->width, (MlirValue){NULL});
    tile_align(l, loom_def(out[i]), LOOM_I16, c->t->width);
    if (c->inside.ptr) out[i] = lane_select(&b, c->inside, out[i], copy_zero(l, c->t));
  }
}

static void copy_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_job *c = user;
  for (int i = 0; i < c->t->pieces; i++) {
    MlirValue line = alone_op(l, "arith.addi", c->t->line, (int64_t)i * c->t->step);
    MlirValue to = copy_shared(l, c, line, c->t->at_column);
    loom_builder b = alone_here(l);
    MlirOperation store = lane_store(&b, c->values[i], to, LOOM_I16, (MlirValue){NULL});
    tile_align(l, store, LOOM_I16, c->t->width);
  }
}

/* ---- single elements ---- */

typedef void (*copy_element)(lower *l, copy_job *c, MlirValue line, MlirValue column);

typedef struct copy_loop {
  copy_job *c;
  copy_element element;
  MlirValue line, column;
} copy_loop;

static void copy_single_there(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const copy_loop *loop = user;
  loop->element(l, loop->c, loop->line, loop->column);
}

static void copy_single(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_loop *loop = user;
  const flash_tile *t = loop->c->t;
  MlirValue number = attention_iteration(l);
  loop->line = alone_op(l, "arith.divui", number, t->length);
  loop->column = alone_op(l, "arith.remui", number, t->length);
  if (t->columns == t->length) {
    copy_single_there(l, user, NULL, NULL);
    return;
  }
  MlirValue columns = alone_const(l, t->columns);
  loom_builder b = alone_here(l);
  lower_if(l, lane_cmpi(&b, "slt", loop->column, columns), copy_single_there, user);
}

/* All elements of a tile, one after the other. */
static void copy_singles(lower *l, copy_job *c, copy_element element) {
  copy_loop loop = {.c = c, .element = element};
  loom_builder b = alone_here(l);
  MlirValue thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread_anew", 0, NULL, NULL,
                              mlirIntegerTypeGet(b.ctx, 32));
  attention_loop(l, tile_number(l, thread, 1, GPU_BLOCK),
                 alone_const(l, (int64_t)c->t->rows * c->t->length), GPU_BLOCK, copy_single, &loop);
}

static void copy_in(lower *l, copy_job *c, MlirValue line, MlirValue column) {
  const flash_tile *t = c->t;
  MlirValue at = column;
  if (t->present < t->columns) at = alone_op(l, "arith.minsi", column, t->present - 1);
  copy_row(l, c, line, at, false);
  MlirValue present = alone_const(l, t->present);
  loom_builder b = alone_here(l);
  MlirValue inside = c->inside, zero = lane_const_int(&b, lane_int(b.ctx, 16, 1), 0);
  if (t->present < t->columns)
    inside = lane_op2(&b, "arith.andi", inside, lane_cmpi(&b, "slt", column, present));
  MlirValue value = lane_load(&b, c->from, LOOM_I16, 1, (MlirValue){NULL});
  value = lane_select(&b, inside, value, zero);
  MlirValue to = copy_shared(l, c, line, column);
  b = alone_here(l);
  lane_store(&b, value, to, LOOM_I16, (MlirValue){NULL});
}

static void copy_singles_in(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_singles(l, user, copy_in);
}

/* ---- a tile ---- */

static void copy_zeros(lower *l, void *user, MlirValue *out) {
  copy_job *c = user;
  for (int i = 0; i < c->t->pieces; i++)
    out[i] = copy_zero(l, c->t);
}

static void copy_singles_zeros(lower *l, void *user, MlirValue *out) {
  copy_singles_in(l, user, NULL, NULL);
  copy_zeros(l, user, out);
}

static MlirValue copy_present(lower *l, const flash_tile *t) {
  return copy_and(l, t->aligned, t->there);
}

void gpu_flash_begin(lower *l, const flash_tile *t, MlirValue first, MlirValue limit,
                     MlirValue offset, MlirValue *values) {
  copy_job c = {.t = t, .first = first, .limit = limit, .offset = offset};
  if (l->failed) return;
  if (!t->width)
    copy_singles(l, &c, copy_in);
  else if (t->async)
    lower_if_else(l, t->aligned, copy_async_there, copy_singles_in, &c);
  else
    tile_if(l, t->aligned, t->pieces, copy_load, copy_singles_zeros, &c, values);
}

void gpu_flash_end(lower *l, const flash_tile *t, MlirValue offset, const MlirValue *values) {
  copy_job c = {.t = t, .offset = offset, .values = values};
  if (!l->failed && t->width && !t->async) lower_if(l, copy_present(l, t), copy_store, &c);
}

static void copy_call(lower *l, const flash_job *j, const char *name) {
  if (!loom_str_is(loom_str(j->f->matrix.set), "mma")) return;
  loom_builder b = alone_here(l);
  gpu_call(&b, l->kernel->op, name, 0, NULL, NULL, (MlirType){NULL});
}

void gpu_flash_commit(lower *l, const flash_job *j) { copy_call(l, j, "loom_gpu_copy_commit"); }

void gpu_flash_wait(lower *l, const flash_job *j, bool all, bool tile) {
  copy_call(l, j, all ? "loom_gpu_copy_wait_all" : "loom_gpu_copy_wait_older");
  if (j->f->group && tile) gpu_group_fence(l);
  loom_builder b = alone_here(l);
  gpu_barrier(l, &b);
}

/* ---- own rows ---- */

void gpu_flash_own(lower *l, const flash_job *j, const attention_operand *o, MlirValue *fragments) {
  flash_tile t;
  MlirValue values[SLAB_PIECES], none = alone_const(l, 0);
  gpu_flash_tile(l, j, o, true, &t);
  t.at.head = attention_head(l, o, j->batch, j->f->keys ? j->group : j->head);
  gpu_flash_begin(l, &t, j->own, alone_const(l, t.limit), none, values);
  gpu_flash_end(l, &t, none, values);
  gpu_flash_commit(l, j);
  gpu_flash_wait(l, j, true, false);
  for (int i = 0; i < t.columns / FLASH_SIDE && !l->failed; i++)
    fragments[i] = gpu_slab_fragment(l, &t.along, none, 0, i * FLASH_SIDE);
  loom_builder b = alone_here(l);
  gpu_barrier(l, &b);
}

/* ---- results ---- */

/* The cells to shared memory: values next to each other at once. */
static void deliver_put(lower *l, const flash_job *j, const flash_tile *t,
                        const flash_cell *cells) {
  const gpu_flash *f = j->f;
  int beside = f->swapped ? 1 : f->matrix.sums_beside;
  for (int i = 0; i < t->columns / FLASH_SIDE; i++)
    for (int v = 0; v < gpu_flash_values(f); v += beside) {
      MlirValue low = gpu_flash_value(l, f, &cells[i], v);
      MlirValue high = beside == 1 ? low : gpu_flash_value(l, f, &cells[i], v + 1);
      MlirValue pair = gpu_flash_pair(l, f, low, high);
      MlirValue line = alone_op2(l, "arith.addi", j->down, j->row);
      line = alone_op(l, "arith.addi", line, gpu_flash_row(f, v) * f->matrix.sums_step);
      MlirValue x = alone_op(l, "arith.addi", j->x, i * FLASH_SIDE + gpu_flash_x(f, v));
      MlirValue to = gpu_slab_place(l, &t->place, line, x);
      loom_builder b = alone_here(l);
      loom_dtype as = beside == 1 ? LOOM_I16 : LOOM_I32;
      if (beside == 1) pair = loom_build1(&b, "arith.trunci", pair, lane_int(b.ctx, 16, 1));
      lane_store(&b, pair, to, as, (MlirValue){NULL});
    }
}

static void deliver_piece(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const copy_job *c = user;
  loom_builder b = alone_here(l);
  MlirValue value = lane_load(&b, c->to, LOOM_I16, c->t->width, (MlirValue){NULL});
  tile_align(l, loom_def(value), LOOM_I16, c->t->width);
  MlirOperation store = lane_store(&b, value, c->from, LOOM_I16, (MlirValue){NULL});
  tile_align(l, store, LOOM_I16, c->t->width);
}

static void deliver_pieces(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_job *c = user;
  for (int i = 0; i < c->t->pieces; i++) {
    copy_piece(l, c, i);
    lower_if(l, copy_and(l, c->inside, c->t->there), deliver_piece, c);
  }
}

static void deliver_one(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const copy_job *c = user;
  loom_builder b = alone_here(l);
  MlirValue value = lane_load(&b, c->to, LOOM_I16, 1, (MlirValue){NULL});
  lane_store(&b, value, c->from, LOOM_I16, (MlirValue){NULL});
}

static void deliver_out(lower *l, copy_job *c, MlirValue line, MlirValue column) {
  MlirValue present = alone_const(l, c->t->present);
  copy_row(l, c, line, column, false);
  loom_builder b = alone_here(l);
  MlirValue inside = lane_op2(&b, "arith.andi", c->inside, lane_cmpi(&b, "slt", column, present));
  c->to = copy_shared(l, c, line, column);
  lower_if(l, inside, deliver_one, c);
}

static void deliver_singles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  copy_singles(l, user, deliver_out);
}

void gpu_flash_deliver(lower *l, const flash_job *j, const lower_buffer *result,
                       const flash_cell *cells) {
  flash_tile t = {.f = j->f, .own = true, .present = (int)result->type.dims[3]};
  t.at.slot = result->slot;
  memcpy(t.at.strides, result->strides, sizeof t.at.strides);
  memcpy(t.at.dims, result->type.dims, sizeof t.at.dims);
  copy_share(l, j, &t);
  t.at.head = attention_result_head(l, result, j->batch, j->f->keys ? j->group : j->head);
  copy_job c = {.t = &t, .first = j->own, .offset = alone_const(l, 0)};
  c.limit = alone_const(l, t.limit);
  deliver_put(l, j, &t, cells);
  loom_builder b = alone_here(l);
  gpu_barrier(l, &b);
  if (t.width)
    lower_if_else(l, t.aligned, deliver_pieces, deliver_singles, &c);
  else
    copy_singles(l, &c, deliver_out);
}
