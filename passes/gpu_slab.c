/* Operands of a product in shared memory, for instructions on matrices.
 *
 * A slab is a tile's rows (or columns) of an operand, for some steps of the depth. It lies in
 * lines, as the operand lies in memory: a line is a row, which goes along the depth, or a step,
 * which goes across the rows. The pieces of 16 bytes of a line have an order of their own: piece p
 * lies at place p ^ order(line). So what the threads of a warp read at once, eight lines of
 * ldmatrix say, is in different banks, and so is a line that they store.
 *
 * An operand that lies in memory as it is multiplied is copied 16, 8 or 4 bytes at a time, as its
 * sizes allow: without registers where the GPU can (cp.async). Any other operand is computed on the
 * way (lower_emit), so that elementwise operations before the product cost no trip to memory:
 * pieces at once where all that is read lies in such pieces, else single elements. Whether buffers
 * begin at multiples of a piece is asked in the kernel; where they do not, single elements are
 * read.
 */
#include "passes/gpu_tile.h"

#include <stdio.h>
#include <string.h>

/* ---- the plan ---- */

int slab_size(const gpu_slab *s) { return (int)loom_dtype_size(s->p->factor); }

/* As which type elements are moved. */
loom_dtype slab_dtype(const gpu_slab *s) { return slab_size(s) == 2 ? LOOM_I16 : s->p->factor; }

int slab_piece(const gpu_slab *s) { return SLAB_BYTES / slab_size(s); }

/* Neighbouring pieces of a line that change places. */
int slab_flips(const gpu_slab *s) {
  int count = s->length / slab_piece(s);
  return count < SLAB_BANKS ? count : SLAB_BANKS;
}

/* Pieces of a line that a warp reads at once: they stay together. */
static int slab_unit(const gpu_slab *s) { return s->p->block.matrix->pieces[s->turned]; }

/* Neighbouring lines that have one order, since they lie in different banks anyway. */
static int slab_equal(const gpu_slab *s) {
  int count = s->length / slab_piece(s);
  return count < SLAB_BANKS ? SLAB_BANKS / count : 1;
}

/* Lines across the depth that a warp reads at once are `reach` apart with MFMA: for each such
 * distance two more pieces change places. 1: none do. */
static int slab_skews(const gpu_slab *s) {
  const gpu_matrix *m = s->p->block.matrix;
  return s->turned && m->run > 1 && m->run < m->reach ? slab_flips(s) / 2 : 1;
}

/* The order of a line: some of the bits of its number. Where two numbers have no bit in common, the
 * order of their sum is the xor of their orders. */
int slab_order(const gpu_slab *s, int line) {
  int orders = slab_flips(s) / slab_unit(s), reach = s->p->block.matrix->reach;
  if (!orders) return 0;
  int order = line / slab_equal(s) % orders * slab_unit(s);
  return slab_skews(s) > 1 ? order ^ line / reach % slab_skews(s) * 2 : order;
}

/* The most elements of an operand that can be copied from memory at once; 0: it cannot be copied.
 */
static int slab_width(const lower_kernel *kernel, const gpu_slab *s) {
  const dot_operand *o = s->operand;
  int lane = o->lane_group, along = s->turned ? lane : DOT_DEPTH;
  if (!(o->known || o->apart) || o->operand < 0 || o->stored != s->p->factor ||
      o->strides[along] != 1)
    return 0;
  if (kernel->operands[o->operand].slot < 0) return 0;
  for (int width = slab_piece(s); width * slab_size(s) >= 4; width /= 2) {
    bool fits = loom_num_multiple(s->p->extents[along], width) && loom_num_multiple(o->base, width);
    for (int g = 0; g < DOT_GROUPS; g++)
      fits =
          fits && (g == along || s->p->extents[g] == 1 || loom_num_multiple(o->strides[g], width));
    for (int i = 0; i < o->counts[DOT_BATCH] && o->apart; i++)
      fits = fits && loom_num_multiple(o->batch_strides[i], width);
    if (fits) return width;
    if (width == 1) break;
  }
  return 0;
}

/* Elements of a computed operand that a thread computes at once. */
static int slab_computed_width(const lower_kernel *kernel, gpu_slab *s) {
  lower l;
  loom_arena arena = {NULL};
  lower_init(&l, kernel, &arena, true);
  dot_set_extents(&l, s->p);
  const lower_at *at = dot_operand_at(&l, s->operand);
  if (at) lower_emit(&l, s->operand->value, at);
  int along = s->turned ? s->operand->lane_group : DOT_DEPTH;
  int width = tile_vector(&l, s->p, along, slab_piece(s), s->bytes);
  loom_arena_fini(&arena);
  return width;
}

bool gpu_slab_is_turned(const dot_plan *p, int side) {
  const dot_operand *o = side ? &p->rhs : &p->lhs;
  bool along = (o->known || o->apart) && o->strides[DOT_DEPTH] == 1;
  return o->strides[o->lane_group] == 1 && !along;
}

void gpu_slab_plan(const lower_kernel *kernel, const dot_plan *p, int side, gpu_slab *s) {
  const gpu_tile *tile = &p->block;
  int lanes = side ? tile->columns : tile->rows;
  *s = (gpu_slab){.p = p, .side = side, .operand = side ? &p->rhs : &p->lhs};
  s->turned = gpu_slab_is_turned(p, side);
  s->lines = s->turned ? tile->depth : lanes;
  s->length = s->turned ? lanes : tile->depth;
  s->width = slab_width(kernel, s);
  s->direct = s->width > 0;
  s->async = s->direct && gpu_matrix_is_nvidia(tile->matrix);
  if (s->direct)
    s->bytes[kernel->operands[s->operand->operand].slot] = s->width * slab_size(s);
  else
    s->width = slab_computed_width(kernel, s);
  s->pieces = (int)loom_ceil_div((int64_t)s->lines * s->length, (int64_t)s->width * GPU_BLOCK);
}

/* ---- places in shared memory ---- */

static MlirValue slab_xor(lower *l, MlirValue x, MlirValue y) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_op2(&b, "arith.xori", x, y);
}

/* The piece of element `at` of a line, in the line's order. */
MlirValue slab_find(lower *l, const gpu_slab *s, MlirValue line, MlirValue at) {
  MlirValue piece = dot_op(l, "arith.divui", at, slab_piece(s));
  int orders = slab_flips(s) / slab_unit(s);
  if (orders < 2) return piece;
  MlirValue order = dot_op(l, "arith.divui", line, slab_equal(s));
  order = dot_op(l, "arith.muli", dot_op(l, "arith.remui", order, orders), slab_unit(s));
  piece = slab_xor(l, piece, order);
  if (slab_skews(s) < 2) return piece;
  order = dot_op(l, "arith.divui", line, s->p->block.matrix->reach);
  order = dot_op(l, "arith.muli", dot_op(l, "arith.remui", order, slab_skews(s)), 2);
  return slab_xor(l, piece, order);
}

MlirValue slab_address(lower *l, const gpu_slab *s, MlirValue memory, MlirValue offset) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_address(&b, memory, offset, slab_dtype(s));
}

MlirValue gpu_slab_place(lower *l, const gpu_slab *s, MlirValue line, MlirValue at) {
  MlirValue offset = dot_op(l, "arith.remui", at, slab_piece(s));
  offset = dot_add_scaled(l, offset, slab_find(l, s, line, at), slab_piece(s));
  return slab_address(l, s, s->memory, dot_add_scaled(l, offset, line, s->length));
}

/* Lines between two pieces of a thread. */
static int slab_step(const gpu_slab *s) { return GPU_BLOCK / (s->length / s->width); }

/* ptr + so many bytes. */
MlirValue slab_bytes(lower *l, MlirValue ptr, MlirValue bytes) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_address(&b, ptr, bytes, LOOM_I8);
}

/* Where piece i of the thread lies in the first slab of shared memory. */
static MlirValue slab_place(lower *l, const gpu_slab *s, int i) {
  int line = i * slab_step(s), order = slab_order(s, line);
  if (i && !order) return slab_address(l, s, s->to[0], tile_int(l, (int64_t)line * s->length));
  MlirValue piece = slab_find(l, s, s->line, s->at);
  if (order) piece = slab_xor(l, piece, tile_int(l, order));
  MlirValue offset = dot_op(l, "arith.remui", s->at, slab_piece(s));
  offset = dot_add_scaled(l, offset, piece, slab_piece(s));
  offset = dot_add_scaled(l, offset, s->line, s->length);
  offset = tile_add(l, offset, s->offset + (int64_t)line * s->length);
  return slab_address(l, s, s->memory, offset);
}

/* Row or column, and step of the depth, of piece i: of the tile, and of the slab. */
static MlirValue slab_lane(lower *l, const gpu_slab *s, int i) {
  return s->turned ? s->at : tile_add(l, s->line, (int64_t)i * slab_step(s));
}
static MlirValue slab_depth(lower *l, const gpu_slab *s, int i) {
  return s->turned ? tile_add(l, s->line, (int64_t)i * slab_step(s)) : s->at;
}

static bool slab_ragged(const gpu_slab *s) {
  return !loom_num_multiple(s->p->extents[DOT_DEPTH], s->p->block.depth);
}

/* The row or column of piece i in the operand, at most the last one. */
static MlirValue slab_lane_there(lower *l, const gpu_slab *s, int i) {
  int64_t extent = s->p->extents[s->operand->lane_group];
  int tile = s->side ? s->p->block.columns : s->p->block.rows;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue lane = lane_op2(&b, "arith.addi", s->first, slab_lane(l, s, i));
  if (loom_num_multiple(extent, tile)) return lane;
  return dot_op(l, "arith.minsi", lane, loom_num_sub(extent, s->turned ? s->width : 1));
}

/* Element [batch, lane, depth] of the operand in memory. */
static MlirValue slab_stored_at(lower *l, const gpu_slab *s, MlirValue lane, MlirValue depth) {
  const dot_operand *o = s->operand;
  MlirValue place = dot_stored_at(l, o, lane, depth), left = l->vars[DOT_BATCH].iv;
  if (!o->apart) return place;
  MlirValue offset = tile_int(l, 0);
  for (int i = o->counts[DOT_BATCH] - 1; i >= 0; i--) {
    int64_t size = loom_num_dim(o->type.dims[o->dims[DOT_BATCH][i]]);
    MlirValue at = i ? dot_op(l, "arith.remui", left, size) : left;
    if (i) left = dot_op(l, "arith.divui", left, size);
    offset = dot_add_scaled(l, offset, at, o->batch_strides[i]);
  }
  return dot_address(l, place, offset, o->stored);
}

/* Where the thread's pieces of slab 0 lie in memory. At a ragged depth, whose steps are looked at
 * one by one, where step 0 lies. */
static void slab_aim_from(lower *l, gpu_slab *s) {
  const dot_operand *o = s->operand;
  int64_t extent = s->p->extents[o->lane_group];
  int tile = s->side ? s->p->block.columns : s->p->block.rows;
  bool even = s->turned ? !slab_ragged(s) : loom_num_multiple(extent, tile);
  int64_t stride = o->strides[s->turned ? (int)DOT_DEPTH : o->lane_group];
  for (int i = 0; i < s->pieces; i++) {
    MlirValue depth = slab_ragged(s) ? tile_int(l, 0) : slab_depth(l, s, i);
    if (i && s->turned && slab_ragged(s))
      s->from[i] = s->from[0];
    else if (i && even)
      s->from[i] = dot_address(l, s->from[0], tile_int(l, loom_num_mul(i * slab_step(s), stride)),
                               o->stored);
    else
      s->from[i] = slab_stored_at(l, s, slab_lane_there(l, s, i), depth);
  }
}

void gpu_slab_open(lower *l, const gpu_block *block, gpu_slab *s) {
  int per = s->length / s->width, total = s->lines * per;
  s->first = block->first[s->side];
  s->line = tile_number(l, block->thread, per, GPU_BLOCK);
  s->at = dot_op(l, "arith.muli", tile_number(l, block->thread, 1, per), s->width);
  s->memory = block->memory;
  for (int i = 0; i < s->pieces; i++)
    s->to[i] = slab_place(l, s, i);
  if (total < GPU_BLOCK) {
    loom_builder b = lower_at_level(l, l->depth);
    MlirValue number = tile_number(l, block->thread, 1, GPU_BLOCK);
    s->there = lane_cmpi(&b, "slt", number, tile_int(l, total));
  }
  if (s->width > 1) s->aligned = tile_aligned(l, s->bytes);
  if (s->direct) slab_aim_from(l, s);
}

/* ---- pieces of memory ---- */

typedef struct slab_job {
  const gpu_slab *s;
  MlirValue number, offset;   /* of the slab; where it goes: bytes of shared memory */
  MlirValue from, to, inside; /* of a piece; inside: null: it is not beyond the depth */
  MlirValue values[SLAB_PIECES];
  bool single; /* pieces are read as single elements */
} slab_job;

/* Where piece i of a slab lies in memory. A piece beyond the depth is replaced by the last one, and
 * *inside tells which it is. */
static MlirValue slab_from(lower *l, const gpu_slab *s, MlirValue number, int i,
                           MlirValue *inside) {
  const dot_operand *o = s->operand;
  int64_t depth = s->p->extents[DOT_DEPTH];
  MlirValue step = dot_op(l, "arith.muli", number, s->p->block.depth);
  *inside = (MlirValue){NULL};
  if (slab_ragged(s)) {
    loom_builder b = lower_at_level(l, l->depth);
    step = lane_op2(&b, "arith.addi", step, slab_depth(l, s, i));
    *inside = lane_cmpi(&b, "slt", step, tile_int(l, depth));
    step = dot_op(l, "arith.minsi", step, loom_num_sub(depth, s->turned ? 1 : s->width));
  }
  MlirValue offset = dot_op(l, "arith.muli", step, o->strides[DOT_DEPTH]);
  return dot_address(l, s->from[i], offset, o->stored);
}

static MlirType slab_type(lower *l, const gpu_slab *s) {
  return lane_memory_type(l->kernel->ctx, slab_dtype(s), s->width);
}

static MlirValue slab_zero(lower *l, const gpu_slab *s) {
  loom_builder b = lower_at_level(l, 0);
  MlirType type = slab_type(l, s);
  return slab_size(s) >= 4 ? lane_const_float(&b, type, 0) : lane_const_int(&b, type, 0);
}

MlirValue slab_insert(lower *l, MlirValue vector, MlirValue element, int i) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue at = loom_build_int(&b, mlirIntegerTypeGet(b.ctx, 32), i);
  return loom_build3(&b, "llvm.insertelement", vector, element, at, mlirValueGetType(vector));
}

/* A piece, whose place is a multiple of its size, or (`single`) of an element. */
static MlirValue slab_read(lower *l, const gpu_slab *s, MlirValue from, bool single) {
  loom_builder b = lower_at_level(l, l->depth);
  if (!single || s->width == 1) {
    MlirValue value = lane_load(&b, from, slab_dtype(s), s->width, (MlirValue){NULL});
    tile_align(l, loom_def(value), slab_dtype(s), s->width);
    return value;
  }
  MlirValue value = slab_zero(l, s);
  for (int i = 0; i < s->width; i++) {
    MlirValue at = slab_address(l, s, from, tile_int(l, i));
    b = lower_at_level(l, l->depth);
    value = slab_insert(l, value, lane_load(&b, at, slab_dtype(s), 1, (MlirValue){NULL}), i);
  }
  return value;
}

/* From here on values are vectors along the operand's lines; and no more. */
static void slab_lanes(lower *l, const gpu_slab *s, bool aligned) {
  if (s->width == 1) return;
  l->lane_var = s->turned ? s->operand->lane_group : DOT_DEPTH;
  l->width = s->width;
  l->team.aligned = aligned;
}

static void slab_lanes_end(lower *l) {
  l->lane_var = -1;
  l->width = 1;
  l->team.aligned = false;
}

/* A piece of an operand that is computed. */
static MlirValue slab_element(lower *l, const slab_job *job, int i) {
  const gpu_slab *s = job->s;
  int64_t depth = s->p->extents[DOT_DEPTH];
  MlirValue step = dot_op(l, "arith.muli", job->number, s->p->block.depth);
  loom_builder b = lower_at_level(l, l->depth);
  step = lane_op2(&b, "arith.addi", step, slab_depth(l, s, i));
  dot_set(l, s->operand->lane_group, slab_lane_there(l, s, i));
  int64_t last = loom_num_sub(depth, s->turned ? 1 : s->width);
  dot_set(l, DOT_DEPTH, slab_ragged(s) ? dot_op(l, "arith.minsi", step, last) : step);
  slab_lanes(l, s, !job->single);
  MlirValue value = s->p->element(l, s->p, s->operand);
  slab_lanes_end(l);
  if (l->failed) return value;
  b = lower_at_level(l, l->depth);
  if (s->p->factor == LOOM_I8) value = loom_build1(&b, "arith.trunci", value, slab_type(l, s));
  value = lane_to_memory(&b, value, s->p->factor);
  if (!slab_ragged(s)) return value;
  MlirValue inside = lane_cmpi(&b, "slt", step, tile_int(l, depth));
  return lane_select(&b, inside, value, slab_zero(l, s));
}

/* Piece i: zeros beyond the depth. */
static MlirValue slab_value(lower *l, slab_job *job, int i) {
  const gpu_slab *s = job->s;
  lower_push(l, l->scopes[l->depth].block);
  MlirValue inside = {NULL}, value;
  if (s->direct)
    value = slab_read(l, s, slab_from(l, s, job->number, i, &inside), job->single);
  else
    value = slab_element(l, job, i);
  loom_builder b = lower_at_level(l, l->depth);
  if (inside.ptr) value = lane_select(&b, inside, value, slab_zero(l, s));
  lower_pop(l);
  return value;
}

static void slab_values(lower *l, void *user, MlirValue *out) {
  slab_job *job = user;
  for (int i = 0; i < job->s->pieces && !l->failed; i++)
    out[i] = slab_value(l, job, i);
}

static void slab_singles(lower *l, void *user, MlirValue *out) {
  slab_job *job = user;
  job->single = true;
  slab_values(l, user, out);
  job->single = false;
}

/* Where pieces have to be aligned, and the operand may not be, both ways stand side by side. */
static void slab_values_any(lower *l, void *user, MlirValue *out) {
  const gpu_slab *s = ((const slab_job *)user)->s;
  if (s->aligned.ptr)
    tile_if(l, s->aligned, s->pieces, slab_values, slab_singles, user, out);
  else
    slab_values(l, user, out);
}

static void slab_zeros(lower *l, void *user, MlirValue *out) {
  gpu_slab_zero(l, ((const slab_job *)user)->s, out);
}

void gpu_slab_zero(lower *l, const gpu_slab *s, MlirValue *out) {
  for (int i = 0; i < s->pieces; i++)
    out[i] = slab_zero(l, s);
}

void gpu_slab_load(lower *l, const gpu_slab *s, MlirValue number, MlirValue *out) {
  slab_job job = {.s = s, .number = number};
  if (s->there.ptr)
    tile_if(l, s->there, s->pieces, slab_values_any, slab_zeros, &job, out);
  else
    slab_values_any(l, &job, out);
}

/* ---- into shared memory ---- */

static void slab_write(lower *l, const gpu_slab *s, MlirValue to, MlirValue value) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirOperation store = lane_store(&b, value, to, slab_dtype(s), (MlirValue){NULL});
  tile_align(l, store, slab_dtype(s), s->width);
}

static void slab_store(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const slab_job *job = user;
  for (int i = 0; i < job->s->pieces; i++)
    slab_write(l, job->s, slab_bytes(l, job->s->to[i], job->offset), job->values[i]);
}

void gpu_slab_store(lower *l, const gpu_slab *s, MlirValue offset, const MlirValue *values) {
  slab_job job = {.s = s, .offset = offset};
  memcpy(job.values, values, sizeof *values * (size_t)s->pieces);
  if (s->there.ptr)
    lower_if(l, s->there, slab_store, &job);
  else
    slab_store(l, &job, NULL, NULL);
}

void gpu_copy_piece(lower *l, MlirValue to, MlirValue from, int bytes, MlirValue inside) {
  char name[32];
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), pointer = mlirValueGetType(to);
  MlirValue size = loom_build_int(&b, i32, bytes), none = loom_build_int(&b, i32, 0);
  if (inside.ptr) size = lane_select(&b, inside, size, none);
  MlirType types[] = {pointer, pointer, i32};
  MlirValue operands[] = {to, from, size};
  snprintf(name, sizeof name, "loom_gpu_copy%d", bytes);
  gpu_call(&b, l->kernel->op, name, 3, types, operands, (MlirType){NULL});
}

/* The same by single elements, through registers. */
static void slab_copy_single(lower *l, const slab_job *job) {
  MlirValue value = slab_read(l, job->s, job->from, true);
  loom_builder b = lower_at_level(l, l->depth);
  if (job->inside.ptr) value = lane_select(&b, job->inside, value, slab_zero(l, job->s));
  slab_write(l, job->s, job->to, value);
}

static void slab_copy(lower *l, slab_job *job) {
  const gpu_slab *s = job->s;
  for (int i = 0; i < s->pieces && !l->failed; i++) {
    lower_push(l, l->scopes[l->depth].block);
    job->from = slab_from(l, s, job->number, i, &job->inside);
    job->to = slab_bytes(l, s->to[i], job->offset);
    if (job->single)
      slab_copy_single(l, job);
    else
      gpu_copy_piece(l, job->to, job->from, job->s->width * slab_size(job->s), job->inside);
    lower_pop(l);
  }
}

static void slab_copies(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ((slab_job *)user)->single = false;
  slab_copy(l, user);
}

static void slab_copy_singles(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  ((slab_job *)user)->single = true;
  slab_copy(l, user);
}

static void slab_copy_any(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const gpu_slab *s = ((const slab_job *)user)->s;
  if (s->aligned.ptr)
    lower_if_else(l, s->aligned, slab_copies, slab_copy_singles, user);
  else
    slab_copies(l, user, NULL, NULL);
}

void gpu_slab_copy(lower *l, const gpu_slab *s, MlirValue number, MlirValue offset) {
  slab_job job = {.s = s, .number = number, .offset = offset};
  if (s->there.ptr)
    lower_if(l, s->there, slab_copy_any, &job);
  else
    slab_copy_any(l, &job, NULL, NULL);
}
