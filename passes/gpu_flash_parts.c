/* An attention whose keys have parts (gpu_flash.h).
 *
 * A part has, for each query, its results before they are divided, the largest of its scores and
 * the sum of its weights, which are taken from that score. The slots hold all of it in f32:
 * [part][query][column], then [part][query] of the largest scores and of the sums. In the second
 * stage a thread has an element of the result, and goes through the parts in their order.
 */
#include "passes/gpu_flash.h"

#include <math.h>

static int64_t parts_count(const gpu_flash *f) { return f->splits * f->across; }

/* Queries of all heads. */
static int64_t parts_rows(const gpu_flash *f) {
  const attention_plan *p = &f->op;
  return loom_num_mul(loom_num_mul(p->batch, p->heads), p->queries);
}

static int64_t parts_elements(const gpu_flash *f) {
  return loom_num_mul(parts_rows(f), f->op.width);
}

int64_t gpu_flash_part_bytes(const gpu_flash *f) {
  return loom_num_mul(loom_num_mul(parts_rows(f), f->op.width + 2), parts_count(f) * 4);
}

int64_t gpu_flash_part_chunks(const gpu_flash *f) { return gpu_blocks(parts_elements(f)); }

static MlirValue parts_slots(const lower *l) { return l->pointers[l->kernel->buffer_count]; }

/* Element `at` of number `which` (0: largest scores, 1: sums), and a place beside it. */
static MlirValue parts_line(lower *l, const gpu_flash *f, int which, MlirValue at) {
  int64_t before = loom_num_mul(parts_elements(f), parts_count(f));
  if (which) before = loom_num_add(before, loom_num_mul(parts_rows(f), parts_count(f)));
  MlirValue ptr = attention_at(l, &f->op, parts_slots(l), alone_const(l, before));
  return attention_at(l, &f->op, ptr, at);
}

/* ---- a part ---- */

typedef struct parts_store {
  const flash_job *j;
  const flash_cell *cells;
  MlirValue largest, sum, at; /* of a row: the number in a line */
  MlirValue ptr, value;
  int row;
} parts_store;

static void parts_store_value(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const parts_store *s = user;
  attention_store(l, &s->j->f->op, s->value, s->ptr);
}

static void parts_store_line(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const parts_store *s = user;
  const gpu_flash *f = s->j->f;
  attention_store(l, &f->op, s->largest, parts_line(l, f, 0, s->at));
  attention_store(l, &f->op, s->sum, parts_line(l, f, 1, s->at));
}

static void parts_store_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  parts_store *s = user;
  const gpu_flash *f = s->j->f;
  int values = gpu_flash_values(f);
  MlirValue second = alone_const(l, 1), width = alone_const(l, f->op.width);
  MlirValue row =
      attention_at(l, &f->op, parts_slots(l), alone_op(l, "arith.muli", s->at, f->op.width));
  for (int i = 0; i < f->columns[1] * values; i++) {
    if (gpu_flash_row(f, i % values) != s->row) continue;
    int64_t more = i / values * FLASH_SIDE + gpu_flash_x(f, i % values);
    MlirValue column = alone_op(l, "arith.addi", s->j->x, more);
    s->value = gpu_flash_value(l, f, &s->cells[i / values], i % values);
    s->ptr = attention_at(l, &f->op, row, column);
    loom_builder b = alone_here(l);
    if (i / values * FLASH_SIDE + FLASH_SIDE <= f->op.width)
      parts_store_value(l, s, NULL, NULL);
    else
      lower_if(l, lane_cmpi(&b, "slt", column, width), parts_store_value, s);
  }
  loom_builder b = alone_here(l);
  lower_if(l, lane_cmpi(&b, "slt", s->j->x, second), parts_store_line, s);
}

void gpu_flash_part_store(lower *l, const flash_job *j, const flash_cell *cells,
                          const MlirValue *largest, const MlirValue *sums) {
  const gpu_flash *f = j->f;
  parts_store s = {.j = j, .cells = cells};
  MlirValue part = alone_op(l, "arith.divui", j->across, (int64_t)FLASH_SIDE * f->cells);
  if (j->split.ptr) part = alone_add_scaled(l, part, j->split, f->across);
  MlirValue head = alone_add_scaled(l, j->head, j->batch, f->op.heads);
  head = alone_op(l, "arith.muli", head, f->op.queries);
  head = alone_add_scaled(l, head, part, parts_rows(f));
  for (s.row = 0; s.row < gpu_flash_own_rows(f); s.row++) {
    MlirValue row = gpu_flash_own_at(l, j, s.row), rows = alone_const(l, f->op.queries);
    s.at = alone_op2(l, "arith.addi", head, row);
    s.largest = largest[s.row];
    s.sum = sums[s.row];
    loom_builder b = alone_here(l);
    lower_if(l, lane_cmpi(&b, "slt", row, rows), parts_store_row, &s);
  }
}

/* ---- all parts of an element ---- */

typedef struct parts_job {
  const gpu_flash *f;
  MlirValue at;                  /* of the element */
  MlirValue line, column;        /* of all queries; of the result */
  MlirValue batch, head, row;    /* of the query */
  MlirValue largest, sum, value; /* of all parts */
} parts_job;

static MlirValue parts_load(lower *l, const parts_job *x, int which, MlirValue part) {
  MlirValue at = alone_add_scaled(l, x->line, part, parts_rows(x->f));
  return attention_load(l, &x->f->op, parts_line(l, x->f, which, at), 1);
}

static void parts_most(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  MlirValue part = attention_iteration(l);
  next[0] = alone_op2(l, "arith.maxnumf", carried[0], parts_load(l, user, 0, part));
}

static void parts_add(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const parts_job *x = user;
  const gpu_flash *f = x->f;
  MlirValue part = attention_iteration(l), largest = parts_load(l, x, 0, part);
  MlirValue by = gpu_flash_exp2(l, alone_op2(l, "arith.subf", largest, x->largest));
  MlirValue at = alone_add_scaled(l, x->at, part, parts_elements(f));
  MlirValue value = attention_load(l, &f->op, attention_at(l, &f->op, parts_slots(l), at), 1);
  MlirValue sum = parts_load(l, x, 1, part);
  loom_builder b = alone_here(l);
  next[0] = lane_fma(&b, value, by, carried[0]);
  next[1] = lane_fma(&b, sum, by, carried[1]);
}

static void parts_logarithm(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const parts_job *x = user;
  const attention_plan *p = &x->f->op;
  MlirValue head = attention_result_head(l, p->results[1], x->batch, x->head);
  MlirValue at = alone_op(l, "arith.muli", x->row, p->results[1]->strides[2]);
  MlirValue lse = gpu_flash_logarithm(l, x->f, x->value, x->sum);
  attention_store(l, p, lse, attention_at(l, p, head, at));
}

static void parts_deliver(lower *l, const parts_job *x, MlirValue value) {
  const lower_buffer *result = x->f->op.results[0];
  loom_dtype dtype = result->type.dtype;
  MlirValue ptr = attention_result_head(l, result, x->batch, x->head);
  MlirValue at = alone_op(l, "arith.muli", x->row, result->strides[2]);
  at = alone_add_scaled(l, at, x->column, result->strides[3]);
  ptr = alone_address(l, ptr, at, dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, lane_round(&b, dtype, value), ptr, dtype, (MlirValue){NULL});
}

static void parts_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  parts_job *x = user;
  const gpu_flash *f = x->f;
  MlirValue low = attention_vector(l, &f->op, -INFINITY), zero = attention_vector(l, &f->op, 0);
  MlirValue none = alone_const(l, 0), count = alone_const(l, parts_count(f)), sums[] = {zero, zero};
  MlirValue second = alone_const(l, 1);
  x->line = attention_divide(l, x->at, f->op.width, &x->column);
  x->head = attention_divide(l, x->line, f->op.queries, &x->row);
  x->batch = attention_divide(l, x->head, f->op.heads, &x->head);
  lower_for(l, none, count, alone_const(l, 1), -1, 1, &low, parts_most, x, &x->value);
  if (l->failed) return;
  low = attention_vector(l, &f->op, -INFINITY);
  loom_builder b = alone_here(l);
  x->largest = lane_select(&b, lane_cmpf(&b, "oeq", x->value, low), zero, x->value);
  lower_for(l, none, count, alone_const(l, 1), -1, 2, sums, parts_add, x, sums);
  if (l->failed) return;
  x->sum = sums[1];
  MlirValue by = gpu_flash_divisor(l, f, x->sum);
  if (f->op.results[0]) parts_deliver(l, x, alone_op2(l, "arith.mulf", sums[0], by));
  b = alone_here(l);
  if (f->op.results[1]) lower_if(l, lane_cmpi(&b, "slt", x->column, second), parts_logarithm, x);
}

void gpu_flash_parts(lower *l, const gpu_flash *f) {
  parts_job x = {.f = f};
  gpu_each(l, parts_elements(f), &x.at, parts_element, &x);
}
