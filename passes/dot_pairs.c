/* Products of bfloat16 by instructions that multiply pairs of them and add both products to a sum
 * of f32: AMX's tiles, or AVX-512's dot products (dot.h).
 *
 * Both operands are packed as pairs of neighbouring steps of the depth, in 32 bits. The left one is
 * packed row by row, as the instructions of both units read it; where its depth lies side by side
 * already and few panels read it, it is read there. The right one is packed pair by pair, those of
 * a panel's columns side by side. The depth of what is packed goes on to a multiple of a tile's,
 * with zeros.
 *
 * A tile of AMX is 16 rows of 64 bytes: 16 rows of 16 pairs, or 16 pairs of 16 columns. Four of
 * them hold the sums of 32 rows and 32 columns, for which two tiles of each operand are loaded;
 * fewer rows or columns take two, or one. A dot product of AVX-512 adds to a register of 16 columns
 * the products of a pair of a row, which is in every lane.
 */
#include "passes/dot.h"
#include "passes/passes.h"

#include <string.h>

#define PAIR_DEPTH 32 /* steps of the depth in a tile */
#define PAIRS 16      /* of them; also columns of a register, and rows of a tile */
#define PAIR_LINE 64  /* bytes of a tile's row */
#define PAIR_DIRECT_PANELS 2
#define PAIR_BLOCK 1024 /* steps of depth that are taken at once */

/* ---- the plan ---- */

static bool pairs_unit(const lower_kernel *kernel, dot_plan *p) {
  MlirAttribute name = loom_option(kernel->op, loom_mark_matrix);
  if (!name.ptr || !mlirAttributeIsAString(name)) return false;
  MlirStringRef text = mlirStringAttrGetValue(name);
  p->tiles_unit = loom_str_is(text, "amx");
  return p->tiles_unit || loom_str_is(text, "bf16");
}

bool dot_pairs_plan(const lower_kernel *kernel, dot_plan *p, bool inner) {
  int64_t rows = p->extents[DOT_ROW], columns = p->extents[DOT_COLUMN];
  int64_t depth = p->extents[DOT_DEPTH];
  if (kernel->vector_bytes != 64 || kernel->checked || p->work != LOOM_F32 ||
      p->lhs.stored != LOOM_BF16 || p->rhs.stored != LOOM_BF16 || !pairs_unit(kernel, p))
    return false;
  if (LOOM_STRIDE_IS_SYM(columns) || LOOM_STRIDE_IS_SYM(depth) || columns < PAIRS ||
      depth < PAIRS || (inner && loom_num_hint(rows) < PAIRS))
    return false;
  p->vl = PAIRS;
  p->mr = p->tiles_unit && loom_num_hint(rows) >= 2 * PAIRS ? 2 * PAIRS : PAIRS;
  p->nv = p->tiles_unit && columns >= 2 * PAIRS ? 2 : 1;
  p->pairs = loom_ceil_div(depth, PAIR_DEPTH) * PAIRS;
  return true;
}

bool dot_pairs_direct(const dot_plan *p) {
  const dot_operand *o = &p->lhs;
  return o->known && o->operand >= 0 && !p->few_rows && o->strides[DOT_DEPTH] == 1 &&
         !LOOM_STRIDE_IS_SYM(o->strides[DOT_ROW]) && p->extents[DOT_DEPTH] % PAIR_DEPTH == 0 &&
         p->panels <= PAIR_DIRECT_PANELS;
}

int64_t dot_pairs_block(const dot_plan *p) {
  int64_t depth = p->extents[DOT_DEPTH], blocks = loom_ceil_div(depth, PAIR_BLOCK);
  if (depth <= PAIR_BLOCK + PAIR_BLOCK / 2) return 0;
  return loom_ceil_div(loom_ceil_div(depth, blocks), PAIR_DEPTH) * PAIR_DEPTH;
}

/* ---- packing ---- */

static MlirValue pairs_int(loom_builder *b, MlirValue floats, bool high) {
  MlirType type = lane_int(b->ctx, 32, lane_width(mlirValueGetType(floats)));
  MlirValue bits = loom_build1(b, "arith.bitcast", floats, type);
  return high ? lane_op2(b, "arith.andi", bits, lane_const_int(b, type, (int64_t)0xffff0000u))
              : lane_op2(b, "arith.shrui", bits, lane_const_int(b, type, 16));
}

/* Two registers of f32 that are values of bfloat16, as one of pairs. `second` may be null: zeros.
 */
static MlirValue pairs_join(lower *l, MlirValue first, MlirValue second) {
  loom_builder b = dot_here(l);
  MlirValue low = pairs_int(&b, first, false);
  return second.ptr ? lane_op2(&b, "arith.ori", low, pairs_int(&b, second, true)) : low;
}

static MlirValue pairs_zero(lower *l) {
  loom_builder b = dot_here(l);
  return lane_const_int(&b, lane_int(b.ctx, 32, PAIRS), 0);
}

static void pairs_store(lower *l, MlirValue base, MlirValue offset, MlirValue pairs) {
  MlirValue ptr = dot_address(l, base, offset, LOOM_I32);
  loom_builder b = dot_here(l);
  lane_store(&b, pairs, ptr, LOOM_I32, (MlirValue){NULL});
}

/* Where the panel that is packed begins. */
static MlirValue pairs_panel(lower *l, const dot_job *job) {
  const dot_operand *o = job->packed;
  loom_builder b = dot_here(l);
  MlirValue chunk = lane_op2(&b, "arith.subi", l->vars[DOT_CHUNK].iv, dot_const(l, job->chunk_low));
  MlirValue offset = dot_op(l, "arith.muli", chunk, o->step * job->p->pairs);
  return dot_address(l, dot_slots(l, job->p, o), offset, LOOM_I32);
}

typedef struct pairs_job {
  dot_job *job;
  MlirValue base; /* of the panel in slots */
  bool odd;       /* there is no second step of the pair */
} pairs_job;

static MlirValue pairs_element(lower *l, const dot_job *job, MlirValue depth) {
  lower_push(l, l->scopes[l->depth].block);
  dot_set(l, DOT_DEPTH, depth);
  MlirValue value = dot_element(l, job->p, job->packed);
  lower_pop(l);
  return value;
}

/* The pairs of a register of columns, which the column variable names, at steps `depth` and the one
 * behind it. */
static MlirValue pairs_of_columns(lower *l, const pairs_job *x, MlirValue depth) {
  MlirValue first = pairs_element(l, x->job, depth), second = {NULL};
  if (!x->odd && !l->failed) second = pairs_element(l, x->job, dot_op(l, "arith.addi", depth, 1));
  return l->failed ? first : pairs_join(l, first, second);
}

static void pairs_column_lanes(lower *l, const pairs_job *x, MlirValue pair) {
  const dot_plan *p = x->job->p;
  MlirValue depth = dot_op(l, "arith.muli", pair, 2);
  MlirValue row = dot_op(l, "arith.muli", pair, x->job->packed->step);
  for (int v = 0; v < p->nv && !l->failed; v++) {
    lower_push(l, l->scopes[l->depth].block);
    dot_set(l, DOT_COLUMN, dot_op(l, "arith.addi", x->job->column0, (int64_t)v * PAIRS));
    l->lane_var = DOT_COLUMN;
    l->width = PAIRS;
    MlirValue made = pairs_of_columns(l, x, depth);
    l->lane_var = -1;
    l->width = 1;
    l->vars[DOT_COLUMN].iv = (MlirValue){NULL};
    if (!l->failed) pairs_store(l, x->base, dot_op(l, "arith.addi", row, (int64_t)v * PAIRS), made);
    lower_pop(l);
  }
}

static MlirValue pairs_number(const lower *l) {
  return mlirBlockGetArgument(l->scopes[l->depth].block, 0);
}

static void pairs_column_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pairs_column_lanes(l, user, pairs_number(l));
}

static void pairs_zero_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_job *x = user;
  pairs_store(l, x->base, pairs_number(l), pairs_zero(l));
}

/* 16 pairs of a panel's columns, whose depth lies side by side: of each column one load. */
static void pairs_square_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_job *x = user;
  const dot_operand *o = x->job->packed;
  MlirValue pair = pairs_number(l), square[PAIRS], none = {NULL};
  MlirValue depth = dot_op(l, "arith.muli", pair, 2);
  MlirValue from = dot_stored_at(l, o, x->job->column0, depth);
  MlirValue to = dot_op(l, "arith.muli", pair, o->step);
  for (int v = 0; v < x->job->p->nv && !l->failed; v++) {
    for (int c = 0; c < PAIRS; c++) {
      MlirValue at = dot_const(l, loom_num_mul((int64_t)v * PAIRS + c, o->strides[DOT_COLUMN]));
      MlirValue ptr = dot_address(l, from, at, o->stored);
      loom_builder b = dot_here(l);
      square[c] = lane_load(&b, ptr, LOOM_I32, PAIRS, none);
    }
    loom_builder b = dot_here(l);
    dot_transpose(&b, PAIRS, square);
    for (int k = 0; k < PAIRS; k++)
      pairs_store(l, x->base, dot_op(l, "arith.addi", to, k * o->step + (int64_t)v * PAIRS),
                  square[k]);
  }
}

static void pairs_pack_columns(lower *l, pairs_job *x) {
  const dot_plan *p = x->job->p;
  int64_t depth = p->extents[DOT_DEPTH], whole = 0, step = x->job->packed->step;
  MlirValue one = dot_const(l, 1);
  if (x->job->packed->turned) whole = depth / PAIR_DEPTH * PAIRS;
  if (whole)
    lower_for(l, dot_const(l, 0), dot_const(l, whole), dot_const(l, PAIRS), -1, 0, NULL,
              pairs_square_step, x, NULL);
  if (whole < depth / 2)
    lower_for(l, dot_const(l, whole), dot_const(l, depth / 2), one, -1, 0, NULL, pairs_column_step,
              x, NULL);
  x->odd = true;
  if (depth % 2 && !l->failed) pairs_column_lanes(l, x, dot_const(l, depth / 2));
  x->odd = false;
  if (loom_ceil_div(depth, 2) < p->pairs)
    lower_for(l, dot_const(l, loom_ceil_div(depth, 2) * step), dot_const(l, p->pairs * step),
              dot_const(l, PAIRS), -1, 0, NULL, pairs_zero_step, x, NULL);
}

/* 16 pairs of the left operand's rows, which lie side by side: of each step one load for 16 rows.
 * `depth`: where they begin; `steps` of them are there. */
static void pairs_turn_rows(lower *l, const pairs_job *x, MlirValue depth, int64_t steps) {
  const dot_operand *o = x->job->packed;
  MlirValue square[PAIRS], none = {NULL};
  for (int64_t r = 0; r < o->step && !l->failed; r += PAIRS) {
    MlirValue from = dot_stored_at(l, o, dot_op(l, "arith.addi", x->job->row0, r), depth);
    for (int k = 0; k < PAIRS; k++) {
      MlirValue values[2] = {none, none};
      for (int i = 0; i < 2 && 2 * k + i < steps; i++) {
        MlirValue at = dot_const(l, loom_num_mul(2 * k + i, o->strides[DOT_DEPTH]));
        MlirValue ptr = dot_address(l, from, at, o->stored);
        loom_builder b = dot_here(l);
        values[i] = lane_load(&b, ptr, o->stored, PAIRS, none);
      }
      square[k] = values[0].ptr ? pairs_join(l, values[0], values[1]) : pairs_zero(l);
    }
    loom_builder b = dot_here(l);
    dot_transpose(&b, PAIRS, square);
    MlirValue to = dot_op(l, "arith.shrui", depth, 1);
    for (int i = 0; i < PAIRS; i++)
      pairs_store(l, x->base, dot_op(l, "arith.addi", to, (r + i) * x->job->p->pairs), square[i]);
  }
}

static void pairs_turn_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  pairs_turn_rows(l, user, pairs_number(l), PAIR_DEPTH);
}

/* 16 steps of the depth of a row, `steps` of which are there. */
static void pairs_row_lanes(lower *l, const pairs_job *x, MlirValue first, int64_t steps,
                            MlirValue to) {
  loom_builder b = dot_here(l);
  MlirValue none = {NULL};
  lower_push(l, l->scopes[l->depth].block);
  if (steps < PAIRS) {
    MlirType i64s = lane_int(b.ctx, 64, PAIRS);
    l->mask = lane_cmpi(&b, "ult", lane_id(&b, i64s), lane_const_int(&b, i64s, steps));
  }
  dot_set(l, DOT_DEPTH, first);
  l->lane_var = DOT_DEPTH;
  l->width = PAIRS;
  MlirValue value = dot_element(l, x->job->p, x->job->packed);
  if (!l->failed) {
    b = dot_here(l);
    if (l->mask.ptr)
      value = lane_select(&b, l->mask, value, lane_const_float(&b, mlirValueGetType(value), 0));
    lane_store(&b, value, dot_address(l, to, first, LOOM_BF16), LOOM_BF16, none);
  }
  l->mask = none;
  l->lane_var = -1;
  l->width = 1;
  l->vars[DOT_DEPTH].iv = none;
  lower_pop(l);
}

typedef struct pairs_row {
  const pairs_job *x;
  MlirValue to;
} pairs_row;

static void pairs_row_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_row *row = user;
  pairs_row_lanes(l, row->x, pairs_number(l), PAIRS, row->to);
}

/* A row that does not exist is packed as the last one: its sums go nowhere. */
static void pairs_pack_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_job *x = user;
  const dot_plan *p = x->job->p;
  int64_t depth = p->extents[DOT_DEPTH], whole = depth / PAIRS * PAIRS;
  MlirValue number = pairs_number(l);
  MlirValue at = dot_op(l, "arith.muli", number, p->pairs);
  pairs_row row = {x, dot_address(l, x->base, at, LOOM_I32)};
  loom_builder b = dot_here(l);
  MlirValue from = lane_op2(&b, "arith.addi", x->job->row0, number);
  if (p->few_rows) from = dot_op(l, "arith.minsi", from, loom_num_sub(p->extents[DOT_ROW], 1));
  dot_set(l, DOT_ROW, from);
  lower_for(l, dot_const(l, 0), dot_const(l, whole), dot_const(l, PAIRS), -1, 0, NULL,
            pairs_row_step, &row, NULL);
  if (whole < depth && !l->failed)
    pairs_row_lanes(l, x, dot_const(l, whole), depth - whole, row.to);
  if (loom_ceil_div(depth, PAIRS) * PAIRS < 2 * p->pairs && !l->failed) {
    MlirValue end = dot_at(l, row.to, 2 * p->pairs - PAIRS, LOOM_BF16);
    b = dot_here(l);
    MlirValue zero = lane_const_float(&b, lane_type(b.ctx, LOOM_F32, PAIRS), 0);
    lane_store(&b, zero, end, LOOM_BF16, (MlirValue){NULL});
  }
  l->vars[DOT_ROW].iv = (MlirValue){NULL};
}

static void pairs_pack_rows(lower *l, pairs_job *x) {
  const dot_operand *o = x->job->packed;
  int64_t depth = x->job->p->extents[DOT_DEPTH], whole = depth / PAIR_DEPTH * PAIR_DEPTH;
  if (!o->beside) {
    lower_for(l, dot_const(l, 0), dot_const(l, o->step), dot_const(l, 1), -1, 0, NULL,
              pairs_pack_row, x, NULL);
    return;
  }
  lower_for(l, dot_const(l, 0), dot_const(l, whole), dot_const(l, PAIR_DEPTH), -1, 0, NULL,
            pairs_turn_step, x, NULL);
  if (whole < depth && !l->failed) pairs_turn_rows(l, x, dot_const(l, whole), depth - whole);
}

void dot_pairs_pack(lower *l, dot_job *job) {
  pairs_job x = {.job = job, .base = pairs_panel(l, job)};
  if (job->packed->lane_group == DOT_COLUMN)
    pairs_pack_columns(l, &x);
  else
    pairs_pack_rows(l, &x);
}

/* ---- a tile ---- */

static MlirOperation pairs_call(loom_builder *b, const char *name, int count, const MlirValue *args,
                                int results, const MlirType *type) {
  int32_t segments[] = {count, 0};
  loom_named attrs[] = {{"intrin", loom_attr_str(b->ctx, name)},
                        {"op_bundle_sizes", mlirDenseI32ArrayGet(b->ctx, 0, NULL)},
                        {"operandSegmentSizes", mlirDenseI32ArrayGet(b->ctx, 2, segments)}};
  return loom_build(b, "llvm.call_intrinsic", count, args, results, type, 3, attrs);
}

/* The number of a tile's register. */
static MlirValue pairs_register(loom_builder *b, int number) {
  return loom_build_int(b, mlirIntegerTypeGet(b->ctx, 8), number);
}

/* A tile between a register and memory, whose lines are `stride` bytes apart. */
static void pairs_move(lower *l, const char *name, int number, MlirValue ptr, int64_t offset,
                       int64_t stride) {
  MlirValue from = dot_at(l, ptr, offset, LOOM_U8), line = dot_const(l, stride);
  loom_builder b = dot_here(l);
  MlirValue args[] = {pairs_register(&b, number), from, line};
  pairs_call(&b, name, 3, args, 0, NULL);
}

#define PAIR_LOAD "llvm.x86.tileloadd64"
#define PAIR_STORE "llvm.x86.tilestored64"

typedef struct pairs_step {
  const dot_plan *p;
  int64_t row; /* bytes from a row of the left operand to the next */
} pairs_step;

static int64_t pairs_row_bytes(const dot_plan *p) {
  return p->lhs.direct ? 2 * p->lhs.strides[DOT_ROW] : 4 * p->pairs;
}

/* Registers 0 to 3 hold the sums, by rows; 4 and 5 the left operand, 6 and 7 the right one.
 * Carried: the two pointers. */
static void pairs_tile_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_step *s = user;
  const dot_plan *p = s->p;
  int high = p->mr / PAIRS;
  for (int r = 0; r < high; r++)
    pairs_move(l, PAIR_LOAD, 4 + r, carried[0], r * PAIRS * s->row, s->row);
  for (int v = 0; v < p->nv; v++)
    pairs_move(l, PAIR_LOAD, 6 + v, carried[1], (int64_t)v * PAIR_LINE, p->nv * PAIR_LINE);
  loom_builder b = dot_here(l);
  for (int r = 0; r < high; r++)
    for (int v = 0; v < p->nv; v++) {
      MlirValue args[] = {pairs_register(&b, 2 * r + v), pairs_register(&b, 4 + r),
                          pairs_register(&b, 6 + v)};
      pairs_call(&b, "llvm.x86.tdpbf16ps", 3, args, 0, NULL);
    }
  next[0] = dot_at(l, carried[0], PAIR_LINE, LOOM_U8);
  next[1] = dot_at(l, carried[1], (int64_t)PAIRS * p->nv * PAIR_LINE, LOOM_U8);
}

/* The sums of the tile to or from where they lie. */
static void pairs_move_sums(lower *l, const dot_job *job, const char *name) {
  const dot_plan *p = job->p;
  int64_t line = p->nv * PAIR_LINE;
  for (int r = 0; r < p->mr / PAIRS; r++)
    for (int v = 0; v < p->nv; v++)
      pairs_move(l, name, 2 * r + v, job->sums, r * PAIRS * line + (int64_t)v * PAIR_LINE, line);
}

static void pairs_clear(lower *l, const dot_plan *p) {
  loom_builder b = dot_here(l);
  for (int r = 0; r < p->mr / PAIRS; r++)
    for (int v = 0; v < p->nv; v++) {
      MlirValue number = pairs_register(&b, 2 * r + v);
      pairs_call(&b, "llvm.x86.tilezero", 1, &number, 0, NULL);
    }
}

/* A pair of each row, by those of a register of columns. Carried: the sums, then the two pointers.
 */
static void pairs_lane_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const pairs_step *s = user;
  const dot_plan *p = s->p;
  MlirValue left = carried[p->mr], right = carried[p->mr + 1], none = {NULL};
  loom_builder b = dot_here(l);
  int64_t size = PAIR_DEPTH;
  MlirType halves = mlirVectorTypeGet(1, &size, mlirBF16TypeGet(b.ctx));
  MlirType sums = lane_type(b.ctx, LOOM_F32, PAIRS);
  MlirValue columns = lane_load(&b, right, LOOM_I32, PAIRS, none);
  columns = loom_build1(&b, "llvm.bitcast", columns, halves);
  for (int r = 0; r < p->mr; r++) {
    MlirValue ptr = dot_at(l, left, r * s->row, LOOM_U8);
    b = dot_here(l);
    MlirValue pair = lane_splat(&b, lane_load(&b, ptr, LOOM_I32, 1, none), PAIRS);
    MlirValue args[] = {carried[r], columns, loom_build1(&b, "llvm.bitcast", pair, halves)};
    next[r] = loom_result(pairs_call(&b, "llvm.x86.avx512bf16.dpbf16ps.512", 3, args, 1, &sums), 0);
  }
  next[p->mr] = dot_at(l, left, 4, LOOM_U8);
  next[p->mr + 1] = dot_at(l, right, PAIR_LINE, LOOM_U8);
}

void dot_pairs_tile(lower *l, dot_job *job, MlirValue left, MlirValue *sums) {
  const dot_plan *p = job->p;
  pairs_step step = {p, pairs_row_bytes(p)};
  if (!p->tiles_unit) {
    MlirValue low = dot_op(l, "arith.shrui", job->depth_low, 1);
    MlirValue high = dot_op(l, "arith.shrui", dot_op(l, "arith.addi", job->depth_high, 1), 1);
    sums[p->mr] = left;
    sums[p->mr + 1] = job->rhs;
    lower_for(l, low, high, dot_const(l, 1), -1, p->mr + 2, sums, pairs_lane_step, &step, sums);
    return;
  }
  MlirValue pointers[2] = {left, job->rhs};
  if (p->depth_block)
    pairs_move_sums(l, job, PAIR_LOAD);
  else
    pairs_clear(l, p);
  lower_for(l, job->depth_low, job->depth_high, dot_const(l, PAIR_DEPTH), -1, 2, pointers,
            pairs_tile_step, &step, pointers);
  pairs_move_sums(l, job, PAIR_STORE);
}

/* Palette 1: registers of 16 lines of 64 bytes. It lies behind the sums in scratch. */
void dot_pairs_open(lower *l, const dot_plan *p) {
  if (!p->tiles_unit) return;
  MlirValue at = dot_const(l, p->scratch - PAIR_LINE);
  loom_builder b = dot_here(l);
  MlirValue ptr = lane_address(&b, l->scratch, at, LOOM_U8), none = {NULL};
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), words = lane_int(b.ctx, 32, PAIRS);
  MlirAttribute values[PAIRS];
  for (int i = 0; i < PAIRS; i++) {
    int64_t word = i == 0 ? 1 : i >= 4 && i < 8 ? 0x400040 : i == 12 || i == 13 ? 0x10101010 : 0;
    values[i] = mlirIntegerAttrGet(i32, word);
  }
  loom_named attr = {"value", mlirDenseElementsAttrGet(words, PAIRS, values)};
  MlirValue shape = loom_result(loom_build(&b, "arith.constant", 0, NULL, 1, &words, 1, &attr), 0);
  lane_store(&b, shape, ptr, LOOM_I32, none);
  pairs_call(&b, "llvm.x86.ldtilecfg", 1, &ptr, 0, NULL);
}

void dot_pairs_close(lower *l, const dot_plan *p) {
  loom_builder b = dot_here(l);
  if (p->tiles_unit) pairs_call(&b, "llvm.x86.tilerelease", 0, NULL, 0, NULL);
}
