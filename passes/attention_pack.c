/* What both lowerings of attention share (attention.h): places in scratch, and moving blocks of
 * operands into scratch and results out of it. */
#include "passes/attention.h"

#include <math.h>
#include <string.h>

#define ATTENTION_SQUARE 8

/* ---- small tools ---- */

MlirValue attention_iteration(const lower *l) {
  return mlirBlockGetArgument(l->scopes[l->depth].block, 0);
}

void attention_loop(lower *l, MlirValue low, MlirValue high, int64_t step, lower_body body,
                    void *user) {
  lower_for(l, low, high, alone_const(l, step), -1, 0, NULL, body, user, NULL);
}

MlirValue attention_at(lower *l, const attention_plan *p, MlirValue ptr, MlirValue offset) {
  return alone_address(l, ptr, offset, p->work);
}

MlirValue attention_beside(lower *l, const attention_plan *p, MlirValue ptr, int64_t offset) {
  return offset ? attention_at(l, p, ptr, alone_const(l, offset)) : ptr;
}

MlirValue attention_area(lower *l, const attention_plan *p, int area) {
  return alone_address(l, l->scratch, alone_const(l, p->areas[area]), LOOM_U8);
}

MlirValue attention_part(lower *l, const attention_plan *p, int area, MlirValue part) {
  MlirValue ptr = attention_area(l, p, area);
  if (!part.ptr || !p->part[area]) return ptr;
  return attention_at(l, p, ptr, alone_op(l, "arith.muli", part, p->part[area]));
}

MlirValue attention_divide(lower *l, MlirValue x, int64_t by, MlirValue *rest) {
  MlirValue divisor = lower_divisor(l, by).v;
  *rest = alone_op2(l, "arith.remui", x, divisor);
  return alone_op2(l, "arith.divui", x, divisor);
}

MlirValue attention_whole(lower *l, MlirValue x, int64_t of) {
  MlirValue up = alone_op(l, "arith.addi", x, of - 1), rest;
  attention_divide(l, up, of, &rest);
  return alone_op2(l, "arith.subi", up, rest);
}

MlirValue attention_vector(lower *l, const attention_plan *p, double x) {
  loom_builder b = lower_at_level(l, 0);
  return lane_const_float(&b, lane_type(b.ctx, p->work, p->vl), x);
}

MlirValue attention_load(lower *l, const attention_plan *p, MlirValue ptr, int64_t width) {
  loom_builder b = alone_here(l);
  return lane_load(&b, ptr, p->work, (int)width, (MlirValue){NULL});
}

void attention_store(lower *l, const attention_plan *p, MlirValue value, MlirValue ptr) {
  loom_builder b = alone_here(l);
  lane_store(&b, value, ptr, p->work, (MlirValue){NULL});
}

/* ptr + index * stride elements. */
static MlirValue pack_along(lower *l, MlirValue ptr, MlirValue index, int64_t stride,
                            loom_dtype dtype) {
  if (stride == 0) return ptr;
  return alone_address(l, ptr, stride == 1 ? index : alone_op(l, "arith.muli", index, stride),
                       dtype);
}

MlirValue attention_head(lower *l, const attention_operand *o, MlirValue i0, MlirValue i1) {
  loom_dtype dtype = o->at.type.dtype;
  MlirValue ptr = l->pointers[o->buffer->slot];
  if (o->at.base) ptr = alone_address(l, ptr, alone_const(l, o->at.base), dtype);
  if (o->at.type.dims[0] != 1) ptr = pack_along(l, ptr, i0, o->at.strides[0], dtype);
  if (o->at.type.dims[1] != 1) ptr = pack_along(l, ptr, i1, o->at.strides[1], dtype);
  return ptr;
}

MlirValue attention_result_head(lower *l, const lower_buffer *b, MlirValue i0, MlirValue i1) {
  MlirValue ptr = pack_along(l, l->pointers[b->slot], i0, b->strides[0], b->type.dtype);
  return pack_along(l, ptr, i1, b->strides[1], b->type.dtype);
}

attention_source attention_source_of(const attention_plan *p, const attention_operand *o,
                                     MlirValue head, MlirValue first, MlirValue limit) {
  attention_source s = {.p = p, .ptr = head, .dtype = o->at.type.dtype};
  s.row = o->at.type.dims[2] == 1 ? 0 : o->at.strides[2];
  if (o->at.type.rank > 3) s.column = o->at.type.dims[3] == 1 ? 0 : o->at.strides[3];
  s.first = first;
  s.limit = limit;
  return s;
}

/* The place of row `first + row`, or of the last one that is there. */
static MlirValue pack_row(lower *l, const attention_source *s, MlirValue row) {
  MlirValue last = alone_op(l, "arith.subi", s->limit, 1);
  MlirValue at = alone_op2(l, "arith.minsi", alone_op2(l, "arith.addi", s->first, row), last);
  return pack_along(l, s->ptr, at, s->row, s->dtype);
}

/* Are there masked loads and stores for this element type? */
static bool pack_masks(const lower *l, loom_dtype dtype) {
  return loom_dtype_size(dtype) >= 4 || l->kernel->vector_bytes == 64;
}

/* The lanes below `left` (i64). */
static MlirValue pack_mask(lower *l, MlirValue left, int width) {
  loom_builder b = alone_here(l);
  MlirType type = lane_int(b.ctx, 64, width);
  return lane_cmpi(&b, "slt", lane_id(&b, type), lane_splat(&b, left, width));
}

/* What is being moved, for the bodies of loops. */
typedef struct pack_job {
  const attention_source *s;
  const attention_plan *p;
  const lower_buffer *result;
  MlirValue ptr, to, from, columns, left, row;
  int64_t count, step;
  MlirValue rows[ATTENTION_SQUARE];
} pack_job;

/* What a mask of bool adds. */
static MlirValue pack_load(lower *l, const attention_plan *p, MlirValue from, loom_dtype dtype,
                           int width, MlirValue mask) {
  loom_builder b = alone_here(l);
  MlirValue x = lane_load(&b, from, dtype, width, mask);
  if (dtype != LOOM_BOOL) return x;
  MlirType type = lane_type(b.ctx, p->work, width);
  return lane_select(&b, x, lane_const_float(&b, type, 0), lane_const_float(&b, type, -INFINITY));
}

/* One element from memory as a register of the sums' type, and back. */
static void pack_element(lower *l, const attention_plan *p, MlirValue from, loom_dtype in,
                         MlirValue to, loom_dtype out) {
  MlirValue none = {NULL}, x = pack_load(l, p, from, in, 1, none);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_round(&b, out, x), to, out, none);
}

/* ---- rows ---- */

static void pack_rows_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  MlirValue at = attention_iteration(l), none = {NULL};
  MlirValue from = alone_address(l, j->from, at, j->s->dtype);
  MlirValue to = attention_at(l, j->p, j->to, at);
  loom_builder b = alone_here(l);
  attention_store(l, j->p, lane_load(&b, from, j->s->dtype, j->p->vl, none), to);
}

static void pack_rows_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  MlirValue at = attention_iteration(l);
  MlirValue from = pack_along(l, j->from, at, j->s->column, j->s->dtype);
  pack_element(l, j->p, from, j->s->dtype, attention_at(l, j->p, j->to, at), j->p->work);
}

static void pack_rows_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  const attention_plan *p = j->p;
  int64_t whole = j->s->column == 1 ? j->count / p->vl * p->vl : 0;
  MlirValue row = attention_iteration(l), zero = alone_const(l, 0);
  j->from = pack_row(l, j->s, row);
  j->to = pack_along(l, j->ptr, row, j->step, p->work);
  if (whole) attention_loop(l, zero, alone_const(l, whole), p->vl, pack_rows_vector, j);
  if (whole == j->step) return;
  MlirValue none = attention_vector(l, p, 0);
  for (int64_t at = j->count / p->vl * p->vl; at < j->step; at += p->vl)
    attention_store(l, p, none, attention_beside(l, p, j->to, at));
  attention_loop(l, alone_const(l, whole), alone_const(l, j->count), 1, pack_rows_element, j);
}

void attention_pack_rows(lower *l, const attention_source *s, MlirValue rows, int64_t columns,
                         MlirValue to, int64_t step) {
  pack_job j = {.s = s, .p = s->p, .ptr = to, .count = columns, .step = step};
  attention_loop(l, alone_const(l, 0), rows, 1, pack_rows_row, &j);
}

/* ---- turned ---- */

/* A square whose first column is the iteration; `masked`: only `left` columns are there. */
static void pack_square(lower *l, pack_job *j, bool masked) {
  const attention_plan *p = j->p;
  MlirValue column = attention_iteration(l), rows[ATTENTION_SQUARE], mask = {NULL};
  int order[ATTENTION_SQUARE], size = p->square;
  if (masked) mask = pack_mask(l, alone_op2(l, "arith.subi", j->columns, column), size);
  for (int i = 0; i < size; i++) {
    MlirValue at = alone_address(l, j->rows[i], column, j->s->dtype);
    rows[i] = pack_load(l, p, at, j->s->dtype, size, mask);
  }
  loom_builder b = alone_here(l);
  lower_turn(&b, rows, size, (int)loom_dtype_size(p->work), order);
  MlirValue to = pack_along(l, j->to, column, p->block_q, p->work);
  for (int i = 0; i < size; i++)
    attention_store(l, p, rows[i], attention_beside(l, p, to, order[i] * p->block_q));
}

static void pack_square_whole(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_square(l, user, false);
}

static void pack_square_masked(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_square(l, user, true);
}

static void pack_column(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  MlirValue column = attention_iteration(l);
  MlirValue to = pack_along(l, j->to, column, j->p->block_q, j->p->work);
  for (int i = 0; i < j->p->square; i++) {
    MlirValue from = pack_along(l, j->rows[i], column, j->s->column, j->s->dtype);
    pack_element(l, j->p, from, j->s->dtype, attention_beside(l, j->p, to, i), j->p->work);
  }
}

static void pack_turned_rows(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  const attention_plan *p = j->p;
  MlirValue row = attention_iteration(l), low = alone_const(l, 0);
  bool squares = j->s->column == 1, masks = pack_masks(l, j->s->dtype);
  j->to = attention_at(l, p, j->ptr, row);
  for (int i = 0; i < p->square; i++)
    j->rows[i] = pack_row(l, j->s, alone_op(l, "arith.addi", row, i));
  if (squares) {
    MlirValue whole = alone_op(l, "arith.andi", j->columns, -(int64_t)p->square);
    attention_loop(l, low, whole, p->square, pack_square_whole, j);
    low = whole;
  }
  if (squares && masks)
    attention_loop(l, low, j->columns, p->square, pack_square_masked, j);
  else
    attention_loop(l, low, j->columns, 1, pack_column, j);
}

void attention_pack_turned(lower *l, const attention_source *s, MlirValue columns, MlirValue to) {
  pack_job j = {.s = s, .p = s->p, .ptr = to, .columns = columns};
  attention_loop(l, alone_const(l, 0), alone_const(l, s->p->block_q), s->p->square,
                 pack_turned_rows, &j);
}

/* ---- results ---- */

/* The square of columns from the iteration on, to the rows from `row` on. */
static void unpack_square(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  const attention_plan *p = j->p;
  loom_dtype dtype = j->result->type.dtype;
  MlirValue column = attention_iteration(l), rows[ATTENTION_SQUARE], none = {NULL};
  MlirValue from = pack_along(l, j->from, column, p->block_q, p->work);
  int order[ATTENTION_SQUARE], size = p->square;
  for (int i = 0; i < size; i++)
    rows[i] = attention_load(l, p, attention_beside(l, p, from, i * p->block_q), size);
  loom_builder b = alone_here(l);
  lower_turn(&b, rows, size, (int)loom_dtype_size(p->work), order);
  for (int i = 0; i < size; i++) {
    MlirValue row = alone_op(l, "arith.addi", j->row, order[i]);
    MlirValue to = pack_along(l, j->ptr, row, j->result->strides[2], dtype);
    to = alone_address(l, to, column, dtype);
    b = alone_here(l);
    lane_store(&b, lane_round(&b, dtype, rows[i]), to, dtype, none);
  }
}

static void unpack_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  loom_dtype dtype = j->result->type.dtype;
  MlirValue column = attention_iteration(l);
  MlirValue from = pack_along(l, j->from, column, j->p->block_q, j->p->work);
  MlirValue to = pack_along(l, j->to, column, j->result->strides[3], dtype);
  pack_element(l, j->p, from, j->p->work, to, dtype);
}

static void unpack_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user, inner = *j;
  MlirValue row = attention_iteration(l);
  inner.from = attention_at(l, j->p, j->from, row);
  inner.to = pack_along(l, j->ptr, row, j->result->strides[2], j->result->type.dtype);
  attention_loop(l, j->left, alone_const(l, j->count), 1, unpack_element, &inner);
}

static void unpack_squares(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user, inner = *j;
  inner.row = attention_iteration(l);
  inner.from = attention_at(l, j->p, j->from, inner.row);
  attention_loop(l, alone_const(l, 0), j->left, j->p->square, unpack_square, &inner);
}

void attention_unpack_turned(lower *l, const attention_plan *p, MlirValue from, MlirValue rows,
                             int64_t columns, const lower_buffer *result, MlirValue ptr) {
  MlirValue zero = alone_const(l, 0), whole = zero;
  int64_t squares = result->strides[3] == 1 ? columns / p->square * p->square : 0;
  pack_job j = {.p = p, .result = result, .ptr = ptr, .from = from, .count = columns};
  if (squares) {
    whole = alone_op(l, "arith.andi", rows, -(int64_t)p->square);
    j.left = alone_const(l, squares);
    attention_loop(l, zero, whole, p->square, unpack_squares, &j);
    if (squares < columns) attention_loop(l, zero, whole, 1, unpack_row, &j);
  }
  j.left = zero;
  attention_loop(l, whole, rows, 1, unpack_row, &j);
}

static void unpack_row_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  loom_dtype dtype = j->result->type.dtype;
  MlirValue at = attention_iteration(l);
  MlirValue x = attention_load(l, j->p, attention_at(l, j->p, j->from, at), j->p->vl);
  MlirValue to = alone_address(l, j->to, at, dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_round(&b, dtype, x), to, dtype, (MlirValue){NULL});
}

static void unpack_row_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  loom_dtype dtype = j->result->type.dtype;
  MlirValue at = attention_iteration(l);
  MlirValue to = pack_along(l, j->to, at, j->result->strides[3], dtype);
  pack_element(l, j->p, attention_at(l, j->p, j->from, at), j->p->work, to, dtype);
}

static void unpack_rows_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user, inner = *j;
  MlirValue row = attention_iteration(l), zero = alone_const(l, 0);
  int64_t whole = j->result->strides[3] == 1 ? j->count / j->p->vl * j->p->vl : 0;
  inner.from = pack_along(l, j->from, row, j->step, j->p->work);
  inner.to = pack_along(l, j->ptr, row, j->result->strides[2], j->result->type.dtype);
  if (whole) attention_loop(l, zero, alone_const(l, whole), j->p->vl, unpack_row_vector, &inner);
  if (whole < j->count)
    attention_loop(l, alone_const(l, whole), alone_const(l, j->count), 1, unpack_row_element,
                   &inner);
}

void attention_unpack_rows(lower *l, const attention_plan *p, MlirValue from, int64_t step,
                           MlirValue rows, int64_t columns, const lower_buffer *result,
                           MlirValue ptr) {
  pack_job j = {.p = p, .result = result, .ptr = ptr, .from = from, .count = columns, .step = step};
  attention_loop(l, alone_const(l, 0), rows, 1, unpack_rows_row, &j);
}

static void pack_line_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pack_job *j = user;
  MlirValue row = attention_iteration(l);
  pack_element(l, j->p, pack_row(l, j->s, row), j->s->dtype, attention_at(l, j->p, j->to, row),
               j->p->work);
}

void attention_pack_line(lower *l, const attention_source *s, MlirValue to) {
  pack_job j = {.s = s, .p = s->p, .to = to};
  attention_loop(l, alone_const(l, 0), alone_const(l, s->p->block_q), 1, pack_line_element, &j);
}
