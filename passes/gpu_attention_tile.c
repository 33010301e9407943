/* Tiles of an attention on a GPU, and the scores of one (gpu_attention.h). */
#include "loom_ops_functions.h"
#include "passes/gpu_attention.h"
#include "passes/math.h"

#include <math.h>
#include <string.h>

#define TILE_SHARED 49152 /* bytes of shared memory, at most */
#define TILE_REGISTERS 64 /* of 4 bytes, for the results of a thread: so many, about */
#define TILE_CHUNK 32     /* bytes of a row of a result that a thread adds to at once */

/* ---- how a block is divided ---- */

/* The end of the parts from `low` on that are added to at once. */
static int tile_chunk(const gpu_attention *a, const gpu_side *side, int low) {
  int high = low, most = TILE_CHUNK / (int)loom_dtype_size(a->op.work);
  while (high < side->parts && gpu_side_elements(side, low, high + 1) <= most)
    high++;
  return high;
}

/* Elements of a thread for so many rows: no more than there are. */
static int tile_count(int64_t rows, int most) {
  int64_t high = loom_num_hint(rows);
  while (most > 1 && GPU_SIDE * (most / 2) >= high)
    most /= 2;
  return most;
}

static int tile_slab(const gpu_attention *a, const bool *results) {
  loom_dtype work = a->op.work;
  const gpu_side *two[] = {&a->own, &a->other};
  int rows = 0, most = 0;
  for (int i = 0; i < 2; i++)
    rows += GPU_SIDE * two[i]->count + gpu_side_pad(two[i], 0, work);
  for (int r = 0; r < 2; r++) {
    const gpu_side *side = &a->columns[r];
    for (int low = 0, high; results[r] && low < side->parts; low = high) {
      high = tile_chunk(a, side, low);
      int pitch = GPU_SIDE * gpu_side_elements(side, low, high) + gpu_side_pad(side, low, work);
      if (pitch > most) most = pitch;
    }
  }
  return GPU_SIDE * (rows > most ? rows : most);
}

static int tile_bytes(const gpu_attention *a) {
  int weights = GPU_SIDE * a->other.count * a->pitch;
  return (weights + 2 * a->slab) * (int)loom_dtype_size(a->op.work);
}

static void tile_sides(gpu_attention *a, int own, int other, const bool *results) {
  a->own = gpu_side_of(own, a->op.work);
  a->other = gpu_side_of(other, a->op.work);
  a->pitch = GPU_SIDE * own + gpu_side_pad(&a->own, 0, a->op.work);
  a->slab = tile_slab(a, results);
}

bool gpu_attention_divide(gpu_attention *a, bool keys, const bool *results, int carried) {
  const attention_plan *p = &a->op;
  int64_t columns[] = {p->depth, p->width};
  int registers = 0, values = carried, size = (int)loom_dtype_size(p->work) / 4;
  for (int r = 0; r < 2; r++) {
    a->columns[r] = gpu_side_of((int)loom_ceil_div(columns[r], GPU_SIDE), p->work);
    if (!results[r]) continue;
    registers += a->columns[r].count * size;
    values += a->columns[r].parts;
  }
  a->keys = keys;
  int own = tile_count(keys ? p->keys : p->queries, GPU_SIDE_MOST);
  int other = tile_count(keys ? p->queries : p->keys, GPU_SIDE_MOST);
  while (own > 1 && (own * registers > TILE_REGISTERS || own * values > LOWER_CARRIED))
    own /= 2;
  tile_sides(a, own, other, results);
  while (tile_bytes(a) > TILE_SHARED && other > 1)
    tile_sides(a, own, other /= 2, results);
  a->tiles = loom_num_ceil(keys ? p->keys : p->queries, (int64_t)GPU_SIDE * own);
  if (own * values > LOWER_CARRIED || tile_bytes(a) > TILE_SHARED)
    return alone_refuse(p->op, "too many columns for a block");
  return !loom_num_take_failure() || alone_refuse(p->op, "a size that cannot be expressed");
}

int64_t gpu_attention_blocks(const gpu_attention *a) {
  const attention_plan *p = &a->op;
  return loom_num_mul(loom_num_mul(p->batch, a->keys ? p->groups : p->heads), a->tiles);
}

/* ---- the block ---- */

static void tile_threads(lower *l, gpu_attention_job *j) {
  const gpu_attention *a = j->a;
  loom_builder b = alone_here(l);
  int weights = GPU_SIDE * a->other.count * a->pitch;
  j->thread = gpu_thread(l);
  j->down = alone_op(l, "arith.divui", j->thread, GPU_SIDE);
  j->along = alone_op(l, "arith.remui", j->thread, GPU_SIDE);
  j->weights = gpu_shared(l, &b, tile_bytes(a));
  j->slabs = attention_beside(l, &a->op, j->weights, weights);
}

void gpu_attention_enter(lower *l, gpu_attention_job *j, MlirValue head) {
  const attention_plan *p = &j->a->op;
  j->head = head;
  if (p->mask.buffer) j->mask = attention_head(l, &p->mask, j->batch, head);
}

/* Blocks that have the most to do come first: with causal, those of the last queries. */
void gpu_attention_open(lower *l, const gpu_attention *a, gpu_attention_job *out) {
  const attention_plan *p = &a->op;
  gpu_attention_job *j = out;
  MlirValue tile, rest;
  memset(j, 0, sizeof *j);
  j->a = a;
  j->scale = attention_scale(l, p);
  if (l->failed) return;
  tile_threads(l, j);
  rest = attention_divide(l, l->begin, a->tiles, &tile);
  if (p->causal && !a->keys) {
    MlirValue last = alone_op(l, "arith.subi", alone_const(l, a->tiles), 1);
    tile = alone_op2(l, "arith.subi", last, tile);
  }
  j->own = alone_op(l, "arith.muli", tile, (int64_t)GPU_SIDE * a->own.count);
  if (a->keys) {
    j->batch = attention_divide(l, rest, p->groups, &j->group);
    return;
  }
  j->batch = attention_divide(l, rest, p->heads, &rest);
  gpu_attention_enter(l, j, rest);
  j->group = alone_op(l, "arith.divui", j->head, p->heads / p->groups);
}

/* ---- rows ---- */

MlirValue gpu_attention_at(lower *l, const gpu_attention_job *j, bool own, int k) {
  MlirValue at = own ? alone_op2(l, "arith.addi", j->own, j->down)
                     : alone_op2(l, "arith.addi", j->other, j->along);
  return k ? alone_op(l, "arith.addi", at, (int64_t)GPU_SIDE * k) : at;
}

static int64_t tile_rows(const gpu_attention *a, bool own) {
  return a->keys == own ? a->op.keys : a->op.queries;
}

static bool tile_ragged(const gpu_attention *a, bool own) {
  const gpu_side *side = own ? &a->own : &a->other;
  return !loom_num_multiple(tile_rows(a, own), (int64_t)GPU_SIDE * side->count);
}

MlirValue gpu_attention_row(lower *l, const gpu_attention_job *j, bool own, int k) {
  MlirValue at = gpu_attention_at(l, j, own, k);
  if (!tile_ragged(j->a, own)) return at;
  MlirValue last = alone_op(l, "arith.subi", alone_const(l, tile_rows(j->a, own)), 1);
  return alone_op2(l, "arith.minsi", at, last);
}

MlirValue gpu_attention_there(lower *l, const gpu_attention_job *j, bool own, int k) {
  if (!tile_ragged(j->a, own)) return (MlirValue){NULL};
  MlirValue at = gpu_attention_at(l, j, own, k), rows = alone_const(l, tile_rows(j->a, own));
  loom_builder b = alone_here(l);
  return lane_cmpi(&b, "slt", at, rows);
}

/* ---- products ---- */

int gpu_attention_zeros(lower *l, const gpu_attention *a, const gpu_side *columns, MlirValue *out) {
  loom_builder b = lower_at_level(l, 0);
  int count = 0;
  for (int k = 0; k < a->own.count; k++)
    for (int p = 0; p < columns->parts; p++)
      out[count++] = lane_const_float(&b, lane_type(b.ctx, a->op.work, columns->width[p]), 0);
  return count;
}

static gpu_factor tile_factor(lower *l, const gpu_attention_job *j, const attention_operand *o,
                              bool keys) {
  gpu_factor f = {.dtype = o->at.type.dtype};
  f.ptr = attention_head(l, o, j->batch, keys ? j->group : j->head);
  return f;
}

/* Rows of one side, whose columns are the steps. */
static gpu_factor tile_rows_factor(lower *l, const gpu_attention_job *j, const attention_operand *o,
                                   bool own) {
  const gpu_attention *a = j->a;
  gpu_factor f = tile_factor(l, j, o, a->keys == own);
  f.side = own ? &a->own : &a->other;
  f.high = f.side->parts;
  f.lane = own ? j->own : j->other;
  f.step = alone_const(l, 0);
  f.lanes = tile_rows(a, own);
  f.steps = o->at.type.dims[3];
  f.lane_stride = o->at.strides[2];
  f.step_stride = o->at.strides[3];
  return f;
}

static MlirValue tile_scalar(lower *l, const gpu_side *side, const MlirValue *row, int k) {
  int p = 0;
  while (k >= side->first[p] + side->width[p])
    p++;
  loom_builder b = alone_here(l);
  return lane_extract(&b, row[p], k - side->first[p]);
}

void gpu_attention_multiply(lower *l, gpu_attention_job *j, const attention_operand *own,
                            const attention_operand *other, MlirValue *scores) {
  const gpu_side *side = &j->a->other;
  MlirValue sums[GPU_SIDE_MOST * GPU_SIDE_MOST];
  gpu_product x = {.j = j};
  x.rows = tile_rows_factor(l, j, own, true);
  x.columns = tile_rows_factor(l, j, other, false);
  int64_t slabs = loom_ceil_div(own->at.type.dims[3], GPU_SIDE);
  x.high = alone_const(l, slabs);
  x.even = slabs % 2 == 0;
  gpu_attention_zeros(l, j->a, side, sums);
  gpu_product_begin(l, &x);
  gpu_product_run(l, &x, sums);
  for (int r = 0; r < j->a->own.count && !l->failed; r++)
    for (int c = 0; c < side->count; c++)
      scores[r * side->count + c] = tile_scalar(l, side, &sums[r * side->parts], c);
}

/* Are the last rows of the other side that a block sees a whole number of pairs of slabs? Those of
 * other tiles are, unless a tile is one slab. */
static bool tile_ends_even(const gpu_attention *a) {
  bool even = a->other.count > 1 && loom_num_multiple(tile_rows(a, false), 2 * GPU_SIDE);
  return even && (!a->op.causal || a->keys || a->own.count > 1);
}

/* Behind a tile is another one, or for a block of keys the first one of the next head. */
void gpu_attention_walk(lower *l, gpu_attention_job *j, MlirValue low, MlirValue high, int carried,
                        MlirValue *values, lower_body body, void *user) {
  const gpu_attention *a = j->a;
  MlirValue step = alone_const(l, (int64_t)GPU_SIDE * a->other.count);
  j->pending = a->other.count == 1;
  if (a->keys && a->op.heads > a->op.groups) j->pending = !tile_ends_even(a);
  lower_for(l, low, high, step, -1, carried, values, body, user, values);
}

gpu_product gpu_attention_weigh_begin(lower *l, gpu_attention_job *j, const gpu_side *columns,
                                      const attention_operand *other, MlirValue limit) {
  const gpu_attention *a = j->a;
  gpu_product x = {.j = j, .columns = tile_factor(l, j, other, !a->keys)};
  x.columns.side = columns;
  x.columns.high = tile_chunk(a, columns, 0);
  x.columns.lane = alone_const(l, 0);
  x.columns.step = j->other;
  x.columns.lanes = other->at.type.dims[3];
  x.columns.steps = tile_rows(a, false);
  x.columns.lane_stride = other->at.strides[3];
  x.columns.step_stride = other->at.strides[2];
  x.even = tile_ends_even(a);
  MlirValue left = alone_op2(l, "arith.subi", limit, j->other);
  left = alone_op(l, "arith.minsi", left, (int64_t)GPU_SIDE * a->other.count);
  x.high = alone_op(l, "arith.divui", alone_op(l, "arith.addi", left, GPU_SIDE - 1), GPU_SIDE);
  gpu_product_begin(l, &x);
  return x;
}

/* The parts of the columns of one product, of the sums of all. */
static MlirValue *tile_sum(const gpu_attention *a, const gpu_product *x, MlirValue *sums, int i) {
  int parts = x->columns.high - x->columns.low;
  return &sums[i / parts * x->columns.side->parts + x->columns.low + i % parts];
}

void gpu_attention_weigh(lower *l, gpu_product *x, MlirValue *sums) {
  const gpu_attention *a = x->j->a;
  while (!l->failed) {
    MlirValue part[LOWER_CARRIED];
    int count = a->own.count * (x->columns.high - x->columns.low);
    for (int i = 0; i < count; i++)
      part[i] = *tile_sum(a, x, sums, i);
    gpu_product_run(l, x, part);
    for (int i = 0; i < count; i++)
      *tile_sum(a, x, sums, i) = part[i];
    if (x->columns.high == x->columns.side->parts) return;
    x->columns.low = x->columns.high;
    x->columns.high = tile_chunk(a, x->columns.side, x->columns.low);
    gpu_product_begin(l, x);
  }
}

/* ---- scores ---- */

typedef struct tile_mask {
  MlirValue rows[2][GPU_SIDE_MOST]; /* offsets of own and of other rows; null: 0 */
} tile_mask;

static void tile_mask_rows(lower *l, const gpu_attention_job *j, tile_mask *out) {
  const loom_layout *at = &j->a->op.mask.at;
  memset(out, 0, sizeof *out);
  for (int own = 0; own < 2; own++) {
    int d = j->a->keys == own ? 3 : 2;
    int count = own ? j->a->own.count : j->a->other.count;
    if (at->type.dims[d] == 1) continue;
    for (int k = 0; k < count; k++) {
      MlirValue row = gpu_attention_row(l, j, own, k);
      out->rows[own][k] = alone_op(l, "arith.muli", row, at->strides[d]);
    }
  }
}

static MlirValue tile_masked(lower *l, const gpu_attention_job *j, const tile_mask *m, int own,
                             int other, MlirValue score) {
  const attention_plan *p = &j->a->op;
  loom_dtype dtype = p->mask.at.type.dtype;
  MlirValue ptr = j->mask, rows[] = {m->rows[0][other], m->rows[1][own]};
  for (int i = 0; i < 2; i++)
    if (rows[i].ptr) ptr = alone_address(l, ptr, rows[i], dtype);
  loom_builder b = alone_here(l);
  MlirValue mask = lane_load(&b, ptr, dtype, 1, (MlirValue){NULL});
  if (dtype != LOOM_BOOL) return lane_op2(&b, "arith.addf", score, mask);
  return lane_select(&b, mask, score, attention_vector(l, p, -INFINITY));
}

static MlirValue tile_causal(lower *l, const gpu_attention_job *j, int own, int other,
                             MlirValue score) {
  MlirValue a = gpu_attention_at(l, j, true, own), b = gpu_attention_at(l, j, false, other);
  loom_builder at = alone_here(l);
  MlirValue hidden = lane_cmpi(&at, "sgt", j->a->keys ? a : b, j->a->keys ? b : a);
  return lane_select(&at, hidden, attention_vector(l, &j->a->op, -INFINITY), score);
}

void gpu_attention_mask(lower *l, const gpu_attention_job *j, MlirValue *scores) {
  const gpu_attention *a = j->a;
  tile_mask mask;
  if (j->mask.ptr) tile_mask_rows(l, j, &mask);
  for (int own = 0; own < a->own.count; own++)
    for (int other = 0; other < a->other.count; other++) {
      MlirValue *score = &scores[own * a->other.count + other];
      MlirValue x = alone_op2(l, "arith.mulf", *score, j->scale);
      if (j->mask.ptr) x = tile_masked(l, j, &mask, own, other, x);
      if (a->op.causal) x = tile_causal(l, j, own, other, x);
      *score = x;
    }
}

void gpu_attention_put(lower *l, const gpu_attention_job *j, const MlirValue *weights) {
  const gpu_attention *a = j->a;
  loom_dtype work = a->op.work;
  for (int other = 0; other < a->other.count; other++) {
    MlirValue row = alone_op(l, "arith.addi", j->along, (int64_t)GPU_SIDE * other);
    row = attention_at(l, &a->op, j->weights, alone_op(l, "arith.muli", row, a->pitch));
    for (int p = 0; p < a->own.parts; p++) {
      int width = a->own.width[p], first = a->own.first[p];
      MlirValue vector =
          gpu_side_vector(l, &weights[first * a->other.count + other], a->other.count, width);
      MlirValue at = alone_op(l, "arith.muli", j->down, width);
      at = alone_op(l, "arith.addi", at, (int64_t)GPU_SIDE * first);
      at = attention_at(l, &a->op, row, at);
      loom_builder b = alone_here(l);
      gpu_side_align(l, lane_store(&b, vector, at, work, (MlirValue){NULL}), work, width);
    }
  }
}

MlirValue gpu_attention_exp(lower *l, const gpu_attention *a, MlirValue x) {
  loom_builder b = alone_here(l);
  return lower_math(NULL, &b, LOOM_OP_EXP, a->op.work, x, (MlirValue){NULL});
}

/* ---- results ---- */

typedef struct tile_store {
  const gpu_attention_job *j;
  const lower_buffer *result;
  const gpu_side *columns;
  const MlirValue *sums;
  MlirValue head, row, at;
  int k; /* column of the thread */
} tile_store;

static void tile_store_one(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_store *s = user;
  loom_dtype dtype = s->result->type.dtype;
  MlirValue at = alone_op(l, "arith.muli", s->at, s->result->strides[3]);
  at = alone_address(l, s->row, at, dtype);
  MlirValue x = tile_scalar(l, s->columns, s->sums, s->k);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_round(&b, dtype, x), at, dtype, (MlirValue){NULL});
}

static void tile_store_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_store *s = user;
  int64_t columns = s->result->type.dims[3];
  for (s->k = 0; s->k < s->columns->count; s->k++) {
    s->at = alone_op(l, "arith.addi", s->j->along, (int64_t)GPU_SIDE * s->k);
    if ((int64_t)GPU_SIDE * (s->k + 1) <= columns) {
      tile_store_one(l, s, NULL, NULL);
      continue;
    }
    MlirValue limit = alone_const(l, columns);
    loom_builder b = alone_here(l);
    lower_if(l, lane_cmpi(&b, "slt", s->at, limit), tile_store_one, s);
  }
}

void gpu_attention_deliver(lower *l, const gpu_attention_job *j, const lower_buffer *result,
                           const gpu_side *columns, const MlirValue *sums) {
  const gpu_attention *a = j->a;
  tile_store s = {.j = j, .result = result, .columns = columns};
  s.head = attention_result_head(l, result, j->batch, a->keys ? j->group : j->head);
  for (int k = 0; k < a->own.count; k++) {
    MlirValue row = gpu_attention_at(l, j, true, k), there = gpu_attention_there(l, j, true, k);
    s.sums = &sums[k * columns->parts];
    s.row = alone_address(l, s.head, alone_op(l, "arith.muli", row, result->strides[2]),
                          result->type.dtype);
    if (there.ptr)
      lower_if(l, there, tile_store_row, &s);
    else
      tile_store_row(l, &s, NULL, NULL);
  }
}
