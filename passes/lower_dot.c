/* Lowering of kernels with a dot_general (dot.h): packing in a first stage, tiles with their
 * epilogue in the last.
 *
 * There is one tile in the code. The last tile of the rows (and the last panel of the columns)
 * starts early enough to be whole: what it shares with the one before is computed again, to the
 * same bits. Only when there are fewer columns than a panel has is the last vector masked.
 */
#include "passes/dot.h"

/* ---- small arithmetic on i64 at the current scope ---- */

loom_builder dot_here(const lower *l) { return lower_at_level(l, l->depth); }

MlirValue dot_const(lower *l, int64_t value) { return lower_int(l, value).v; }

MlirValue dot_op(lower *l, const char *name, MlirValue x, int64_t y) {
  MlirValue by = dot_const(l, y);
  loom_builder b = dot_here(l);
  return lane_op2(&b, name, x, by);
}

static MlirValue dot_add(lower *l, MlirValue x, MlirValue y) {
  loom_builder b = dot_here(l);
  return lane_op2(&b, "arith.addi", x, y);
}

MlirValue dot_add_scaled(lower *l, MlirValue x, MlirValue y, int64_t scale) {
  if (scale == 0) return x;
  return dot_add(l, x, scale == 1 ? y : dot_op(l, "arith.muli", y, scale));
}

MlirValue dot_address(lower *l, MlirValue ptr, MlirValue offset, loom_dtype dtype) {
  loom_builder b = dot_here(l);
  return lane_address(&b, ptr, offset, dtype);
}

MlirValue dot_slots(lower *l, const dot_plan *p, const dot_operand *o) {
  MlirValue at = dot_const(l, o->offset);
  loom_builder b = dot_here(l);
  int pointer = l->kernel->buffer_count + (o->fixed && p->slots);
  return lane_address(&b, l->pointers[pointer], at, LOOM_U8);
}

/* ---- indices ---- */

/* Splits a group's variable into the group's dimensions. */
static void dot_split(lower *l, int group, const int *dims, int count, const loom_type *type,
                      lower_at *out) {
  lower_index linear = {0};
  linear.coef[group] = 1;
  for (int i = count - 1; i >= 0; i--) {
    lower_index quotient = {0};
    int64_t size = loom_num_dim(type->dims[dims[i]]);
    if (size == 0 || size == 1) continue; /* 0: never read */
    lower_index_divmod(l, &linear, size, &quotient, &out->dims[dims[i]]);
    linear = quotient;
  }
}

const lower_at *dot_operand_at(lower *l, const dot_operand *o) {
  lower_at *at = lower_at_new(l, o->type.rank);
  if (!at) return NULL;
  for (int g = 0; g < DOT_GROUPS; g++)
    dot_split(l, g, o->dims[g], o->counts[g], &o->type, at);
  return lower_at_intern(l, at);
}

/* Result dimensions are batch, then rows, then columns. */
const lower_at *dot_result_at(lower *l, const dot_plan *p) {
  lower_at *at = lower_at_new(l, p->type.rank);
  if (!at) return NULL;
  int next = 0;
  const int counts[] = {p->lhs.counts[DOT_BATCH], p->lhs.counts[DOT_ROW],
                        p->rhs.counts[DOT_COLUMN]};
  for (int g = DOT_BATCH; g <= DOT_COLUMN; g++) {
    int dims[LOOM_MAX_RANK];
    for (int i = 0; i < counts[g]; i++)
      dims[i] = next++;
    dot_split(l, g, dims, counts[g], &p->type, at);
  }
  return lower_at_intern(l, at);
}

/* ---- vectors of columns ---- */

void dot_set(lower *l, int var, MlirValue iv) {
  l->vars[var].iv = iv;
  l->vars[var].level = l->depth;
}

/* The lanes of vector `v` that are columns, where that is known only now. */
static MlirValue dot_column_mask(lower *l, const dot_job *job, int v) {
  int vl = job->p->vl;
  MlirValue left = dot_const(l, job->p->extents[DOT_COLUMN]);
  loom_builder b = dot_here(l);
  MlirType i64s = lane_int(b.ctx, 64, vl);
  left = lane_op2(&b, "arith.subi", left, job->column0);
  left = lane_op2(&b, "arith.subi", left, dot_const(l, (int64_t)v * vl));
  return lane_cmpi(&b, "slt", lane_id(&b, i64s), lane_splat(&b, left, vl));
}

/* Runs `body` in a scope of its own with the column variable in the lanes, from `first` on. `mask`
 * may be null. */
static void dot_vector(lower *l, const dot_job *job, MlirValue first, int width, MlirValue mask,
                       int vector, void (*body)(lower *l, const dot_job *job, int vector)) {
  dot_set(l, DOT_COLUMN, first);
  l->lane_var = DOT_COLUMN;
  l->width = width;
  l->mask = mask;
  body(l, job, vector);
  l->mask = (MlirValue){NULL};
  l->lane_var = -1;
  l->width = 1;
  l->vars[DOT_COLUMN].iv = (MlirValue){NULL};
}

/* The first `lanes` of a vector; null: all of them. */
static MlirValue dot_first_lanes(lower *l, int lanes, int width) {
  loom_builder b = dot_here(l);
  MlirType i64s = lane_int(l->kernel->ctx, 64, width);
  if (lanes >= width) return (MlirValue){NULL};
  return lane_cmpi(&b, "ult", lane_id(&b, i64s), lane_const_int(&b, i64s, lanes));
}

void dot_vectors(lower *l, const dot_job *job,
                 void (*body)(lower *l, const dot_job *job, int vector)) {
  int vl = job->p->vl;
  for (int v = 0; v < job->p->nv && !l->failed; v++) {
    lower_push(l, l->scopes[l->depth].block);
    MlirValue first = dot_op(l, "arith.addi", job->column0, (int64_t)v * vl);
    MlirValue mask = dot_first_lanes(l, v == job->p->nv - 1 ? job->lanes : vl, vl);
    if (job->p->few_columns && vl > 1) mask = dot_column_mask(l, job, v);
    dot_vector(l, job, first, vl, mask, v, body);
    lower_pop(l);
  }
}

/* ---- a tile ---- */

MlirValue dot_stored_at(lower *l, const dot_operand *o, MlirValue lane, MlirValue depth) {
  MlirValue offset = dot_const(l, o->base);
  offset = dot_add_scaled(l, offset, l->vars[DOT_BATCH].iv, o->strides[DOT_BATCH]);
  offset = dot_add_scaled(l, offset, lane, o->strides[o->lane_group]);
  offset = dot_add_scaled(l, offset, depth, o->strides[DOT_DEPTH]);
  return dot_address(l, l->pointers[l->kernel->operands[o->operand].slot], offset, o->stored);
}

/* Element [batch, first, depth_low] of an operand, `first` being the first row or column of
 * `panel`. */
static MlirValue dot_panel_pointer(lower *l, const dot_job *job, const dot_operand *o,
                                   MlirValue panel, MlirValue first) {
  const dot_plan *p = job->p;
  MlirValue batch = l->vars[DOT_BATCH].iv, offset;
  if (o->direct) return dot_stored_at(l, o, first, job->depth_low);
  if (o->round != o->panels) panel = dot_op(l, "arith.remui", panel, o->round);
  if (o->kept != o->batches) batch = dot_op(l, "arith.remui", batch, o->kept);
  offset = dot_add_scaled(l, panel, batch, o->batches == 1 ? 0 : o->round);
  offset = dot_op(l, "arith.muli", offset, loom_num_mul(o->step, dot_packed_depth(p)));
  MlirValue depth = p->pairs ? dot_op(l, "arith.shrui", job->depth_low, 1) : job->depth_low;
  bool by_rows = p->pairs && o->lane_group == DOT_ROW;
  offset = dot_add_scaled(l, offset, depth, by_rows ? 1 : o->step);
  return dot_address(l, dot_slots(l, p, o), offset, p->work);
}

MlirValue dot_multiply_add(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y,
                           MlirValue sum) {
  if (loom_dtype_is_float(dtype)) return lane_fma(b, x, y, sum);
  if (dtype == LOOM_BOOL) return lane_op2(b, "arith.ori", lane_op2(b, "arith.andi", x, y), sum);
  return lane_op2(b, "arith.addi", lane_op2(b, "arith.muli", x, y), sum);
}

MlirValue dot_at(lower *l, MlirValue ptr, int64_t offset, loom_dtype dtype) {
  return offset ? dot_address(l, ptr, dot_const(l, offset), dtype) : ptr;
}

/* One step of depth: `nv` loads of a panel's row, then for each row a broadcast and its
 * multiply-adds. Carried: the sums, then the two pointers. */
static void dot_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  const dot_plan *p = job->p;
  const dot_operand *lhs = &p->lhs, *rhs = &p->rhs;
  MlirValue none = {NULL}, columns[8];
  MlirValue left = carried[p->mr * p->nv], right = carried[p->mr * p->nv + 1];
  loom_builder b = dot_here(l);
  MlirType i64s = lane_int(b.ctx, 64, p->vl);
  for (int v = 0; v < p->nv; v++) {
    MlirValue mask = none;
    if (rhs->direct && v == p->nv - 1 && job->lanes < p->vl)
      mask = lane_cmpi(&b, "ult", lane_id(&b, i64s), lane_const_int(&b, i64s, job->lanes));
    columns[v] = lane_load(&b, dot_at(l, right, (int64_t)v * p->vl, p->work), p->work, p->vl, mask);
  }
  for (int r = 0; r < p->mr; r++) {
    int64_t row = lhs->direct ? lhs->strides[DOT_ROW] : 1;
    MlirValue ptr = job->rows[r].ptr ? dot_address(l, left, job->rows[r], p->work)
                                     : dot_at(l, left, loom_num_mul(r, row), p->work);
    MlirValue x = lane_splat(&b, lane_load(&b, ptr, p->work, 1, none), p->vl);
    for (int v = 0; v < p->nv; v++) {
      int i = r * p->nv + v;
      next[i] = dot_multiply_add(&b, p->dtype, x, columns[v], carried[i]);
    }
  }
  next[p->mr * p->nv] = dot_at(l, left, lhs->direct ? lhs->strides[DOT_DEPTH] : lhs->step, p->work);
  next[p->mr * p->nv + 1] =
      dot_at(l, right, rhs->direct ? rhs->strides[DOT_DEPTH] : rhs->step, p->work);
}

/* ---- the epilogue ---- */

MlirValue dot_sum_pointer(lower *l, const dot_job *job, MlirValue row, int vector) {
  const dot_plan *p = job->p;
  int64_t step = (int64_t)p->nv * p->vl;
  MlirValue offset = dot_const(l, (int64_t)vector * p->vl);
  return dot_address(l, job->sums, dot_add_scaled(l, offset, row, step), p->work);
}

void dot_finish_sums(lower *l, const dot_plan *p, MlirValue sum) {
  loom_builder b = dot_here(l);
  if (p->dtype == LOOM_BOOL)
    sum = lane_cmpi(&b, "ne", sum, lane_const_int(&b, mlirValueGetType(sum), 0));
  sum = lane_round(&b, p->dtype, sum);
  const lower_at *at = dot_result_at(l, p);
  if (!at || l->failed) return;
  lower_finish(l, p->result, at, (lower_value){sum, l->depth, l->width > 1, p->dtype});
}

static void dot_finish_vector(lower *l, const dot_job *job, int vector) {
  loom_builder b = dot_here(l);
  MlirValue row = lane_op2(&b, "arith.subi", l->vars[DOT_ROW].iv, job->row0);
  MlirValue ptr = dot_sum_pointer(l, job, row, vector);
  MlirValue sums = lane_load(&b, ptr, job->p->work, job->p->vl, (MlirValue){NULL});
  dot_finish_sums(l, job->p, lower_repeat_first(l, &b, sums));
}

static void dot_finish_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_vectors(l, user, dot_finish_vector);
}

/* Of a symmetric product: lanes of a vector along the rows of a tile. */
static int dot_mirror_width(const dot_plan *p) {
  int width = p->vl;
  while (width > 1 && width / 2 >= p->mr)
    width /= 2;
  return width;
}

/* The sums of some rows of the tile in one column, which the row variable names here. */
static void dot_mirror_vector(lower *l, const dot_job *job, int vector) {
  const dot_plan *p = job->p;
  int64_t step = (int64_t)p->nv * p->vl;
  loom_builder b = dot_here(l);
  MlirType i64s = lane_int(b.ctx, 64, l->width);
  MlirValue column = lane_op2(&b, "arith.subi", l->vars[DOT_ROW].iv, job->column0);
  column = dot_op(l, "arith.addi", column, (int64_t)vector * l->width * step);
  MlirValue ptr = dot_address(l, job->sums, column, p->work);
  if (l->width == 1) {
    dot_finish_sums(l, job->p, lane_load(&b, ptr, p->work, 1, (MlirValue){NULL}));
    return;
  }
  b = dot_here(l);
  MlirValue rows = lane_op2(&b, "arith.muli", lane_id(&b, i64s), lane_const_int(&b, i64s, step));
  MlirValue sums = lane_gather(&b, ptr, rows, p->work, l->mask);
  dot_finish_sums(l, job->p, lower_repeat_first(l, &b, sums));
}

static void dot_mirror_column(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  int width = dot_mirror_width(job->p), rows = job->p->mr;
  for (int v = 0; v * width < rows && !l->failed; v++) {
    lower_push(l, l->scopes[l->depth].block);
    MlirValue first = dot_op(l, "arith.addi", job->row0, (int64_t)v * width);
    MlirValue mask = dot_first_lanes(l, rows - v * width, width);
    dot_vector(l, job, first, width, mask, v, dot_mirror_vector);
    lower_pop(l);
  }
}

/* The epilogue once more, for what lies across the diagonal. */
static void dot_mirror_tile(lower *l, dot_job *job) {
  MlirValue last = dot_op(l, "arith.addi", job->column0, (int64_t)job->p->nv * job->p->vl);
  lower_for(l, job->column0, last, dot_const(l, 1), DOT_ROW, 0, NULL, dot_mirror_column, job, NULL);
}

/* A tile at the end may have fewer rows: the missing ones read the last row again. */
static void dot_place_rows(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  for (int r = 0; r < p->mr; r++)
    job->rows[r] = (MlirValue){NULL};
  if (!p->few_rows || !p->lhs.direct) return;
  MlirValue last = dot_const(l, loom_num_sub(p->extents[DOT_ROW], 1));
  loom_builder b = dot_here(l);
  last = lane_op2(&b, "arith.subi", last, job->row0);
  for (int r = 1; r < p->mr; r++)
    job->rows[r] =
        dot_op(l, "arith.muli", dot_op(l, "arith.minsi", last, r), p->lhs.strides[DOT_ROW]);
}

static void dot_open_tile(lower *l, dot_job *job) {
  job->row0 = dot_first(l, l->vars[DOT_TILE].iv, job->p->mr, job->p->extents[DOT_ROW]);
}

MlirValue dot_zero(lower *l, const dot_plan *p) {
  loom_builder b = lower_at_level(l, 0);
  MlirType type = lane_type(b.ctx, p->work, p->vl);
  return loom_dtype_is_float(p->dtype) ? lane_const_float(&b, type, 0)
                                       : lane_const_int(&b, type, 0);
}

static void dot_zero_sums(lower *l, const dot_plan *p, MlirValue *sums) {
  MlirValue zero = dot_zero(l, p);
  for (int i = 0; i < p->mr * p->nv; i++)
    sums[i] = zero;
}

/* Registers to where the sums lie, or (`load`) back. */
static void dot_move_sums(lower *l, const dot_job *job, MlirValue *sums, bool load) {
  const dot_plan *p = job->p;
  for (int i = 0; i < p->mr * p->nv && !l->failed; i++) {
    MlirValue ptr = dot_sum_pointer(l, job, dot_const(l, i / p->nv), i % p->nv);
    loom_builder b = dot_here(l);
    if (load)
      sums[i] = lane_load(&b, ptr, p->work, p->vl, (MlirValue){NULL});
    else
      lane_store(&b, sums[i], ptr, p->work, (MlirValue){NULL});
  }
}

/* One run of the depth, from zero; its sums are added to those in scratch. Carried: the two
 * pointers. */
static void dot_run(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  const dot_plan *p = job->p;
  int count = p->mr * p->nv;
  MlirValue sums[LOWER_CARRIED], before[LOWER_CARRIED];
  MlirValue low = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue high = dot_op(l, "arith.addi", low, p->sum_run);
  loom_builder b = dot_here(l);
  high = lane_op2(&b, "arith.minsi", high, job->depth_high);
  dot_zero_sums(l, p, sums);
  sums[count] = carried[0];
  sums[count + 1] = carried[1];
  lower_for(l, low, high, dot_const(l, 1), DOT_DEPTH, count + 2, sums, dot_step, user, sums);
  if (l->failed) return;
  dot_move_sums(l, job, before, true);
  b = dot_here(l);
  for (int i = 0; i < count; i++)
    before[i] = lane_op2(&b, "arith.addf", before[i], sums[i]);
  dot_move_sums(l, job, before, false);
  next[0] = sums[count];
  next[1] = sums[count + 1];
}

/* The block of the depth into the sums: those in registers, which then go to where they lie, or
 * run by run to those that lie there. */
static void dot_add_depth(lower *l, dot_job *job, MlirValue *sums) {
  const dot_plan *p = job->p;
  int count = p->mr * p->nv;
  if (p->inner) {
    dot_inner_tile(l, job);
    return;
  }
  sums[count] = dot_panel_pointer(l, job, &p->lhs, l->vars[DOT_TILE].iv, job->row0);
  sums[count + 1] = job->rhs;
  if (p->pairs) {
    dot_pairs_tile(l, job, sums[count], sums);
    if (!p->tiles_unit) dot_move_sums(l, job, sums, false);
    return;
  }
  dot_place_rows(l, job);
  MlirValue step = dot_const(l, p->sum_run ? p->sum_run : 1);
  if (p->sum_run) {
    lower_for(l, job->depth_low, job->depth_high, step, -1, 2, sums + count, dot_run, job,
              sums + count);
    return;
  }
  lower_for(l, job->depth_low, job->depth_high, step, DOT_DEPTH, count + 2, sums, dot_step, job,
            sums);
  dot_move_sums(l, job, sums, false);
}

/* Is the block of the depth added to the sums in scratch, rather than to those in registers? */
static bool dot_adds(const dot_plan *p) { return p->sum_run || p->inner || p->tiles_unit; }

static void dot_finish_tile(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  MlirValue last = dot_op(l, "arith.addi", job->row0, p->mr);
  if (p->few_rows) last = dot_op(l, "arith.minsi", last, p->extents[DOT_ROW]);
  lower_for(l, job->row0, last, dot_const(l, 1), DOT_ROW, 0, NULL, dot_finish_row, job, NULL);
  if (p->symmetric) dot_mirror_tile(l, job);
}

/* The whole depth at once. */
static void dot_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  MlirValue sums[LOWER_CARRIED];
  dot_zero_sums(l, job->p, sums);
  job->sums = l->scratch;
  dot_open_tile(l, job);
  if (dot_adds(job->p) && !job->p->pairs) dot_move_sums(l, job, sums, false);
  dot_add_depth(l, job, sums);
  dot_finish_tile(l, job);
}

/* ---- the depth in blocks: the sums of all tiles of a chunk lie in scratch ---- */

static void dot_find_sums(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  loom_builder b = dot_here(l);
  MlirValue panel = lane_op2(&b, "arith.subi", l->vars[DOT_PANEL].iv, job->panel_low);
  MlirValue tile = lane_op2(&b, "arith.subi", l->vars[DOT_TILE].iv, job->tile_low);
  MlirValue number = dot_add_scaled(l, tile, panel, p->block_tiles);
  MlirValue offset = dot_op(l, "arith.muli", number, (int64_t)p->mr * p->nv * p->vl);
  job->sums = dot_address(l, l->scratch, offset, p->work);
}

static void dot_tile_block(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  MlirValue sums[LOWER_CARRIED];
  dot_open_tile(l, job);
  dot_find_sums(l, job);
  if (!dot_adds(job->p)) dot_move_sums(l, job, sums, true);
  dot_add_depth(l, job, sums);
}

static void dot_tile_end(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_open_tile(l, user);
  dot_find_sums(l, user);
  dot_finish_tile(l, user);
}

static void dot_clear(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  MlirValue at = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue ptr = dot_address(l, l->scratch, at, job->p->work);
  loom_builder b = dot_here(l);
  lane_store(&b, dot_zero(l, job->p), ptr, job->p->work, (MlirValue){NULL});
}

/* ---- chunks ---- */

/* Where the chunk's tiles end. Those of a symmetric product end where they have come below the
 * diagonal. */
static MlirValue dot_last_tile(lower *l, const dot_job *job) {
  const dot_plan *p = job->p;
  if (!p->symmetric) return job->tile_high;
  MlirValue reach = dot_op(l, "arith.addi", job->column0, (int64_t)p->nv * p->vl + p->mr - 1);
  MlirValue last = dot_op(l, "arith.divui", reach, p->mr);
  loom_builder b = dot_here(l);
  return lane_op2(&b, "arith.minsi", last, job->tile_high);
}

static void dot_open_panel(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  MlirValue panel = l->vars[DOT_PANEL].iv;
  job->column0 = dot_first(l, panel, p->rhs.step, p->extents[DOT_COLUMN]);
  job->rhs = dot_panel_pointer(l, job, &p->rhs, panel, job->column0);
}

static void dot_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  dot_open_panel(l, job);
  lower_for(l, job->tile_low, dot_last_tile(l, job), dot_const(l, 1), DOT_TILE, 0, NULL, job->tile,
            job, NULL);
}

static void dot_panel_of_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  dot_open_panel(l, job);
  job->tile(l, job, carried, next);
}

static void dot_panels_of_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  lower_for(l, job->panel_low, job->panel_high, dot_const(l, 1), DOT_PANEL, 0, NULL,
            dot_panel_of_tile, job, NULL);
}

static void dot_panels(lower *l, dot_job *job, lower_body tile) {
  job->tile = tile;
  if (job->p->rows_first) {
    lower_for(l, job->tile_low, job->tile_high, dot_const(l, 1), DOT_TILE, 0, NULL,
              dot_panels_of_tile, job, NULL);
    return;
  }
  lower_for(l, job->panel_low, job->panel_high, dot_const(l, 1), DOT_PANEL, 0, NULL, dot_panel, job,
            NULL);
}

static void dot_depth(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  job->depth_low = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  MlirValue high = dot_op(l, "arith.addi", job->depth_low, job->p->depth_block);
  job->depth_high = dot_op(l, "arith.minsi", high, job->p->extents[DOT_DEPTH]);
  dot_panels(l, job, dot_tile_block);
}

static void dot_blocks(lower *l, dot_job *job) {
  const dot_plan *p = job->p;
  int64_t sums = p->block_tiles * p->block_panels * p->mr * p->nv * p->vl;
  lower_for(l, dot_const(l, 0), dot_const(l, sums), dot_const(l, p->vl), -1, 0, NULL, dot_clear,
            job, NULL);
  lower_for(l, dot_const(l, 0), job->depth_high, dot_const(l, p->depth_block), -1, 0, NULL,
            dot_depth, job, NULL);
  job->depth_low = dot_const(l, 0);
  dot_panels(l, job, dot_tile_end);
}

/* [low, high) of block number `block`: `size` each, at most `limit`. */
static void dot_block(lower *l, MlirValue block, int64_t size, int64_t limit, MlirValue *low,
                      MlirValue *high) {
  *low = dot_op(l, "arith.muli", block, size);
  *high = dot_op(l, "arith.minsi", dot_op(l, "arith.addi", *low, size), limit);
}

static void dot_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_plan *p = job->p;
  MlirValue chunk = l->vars[DOT_CHUNK].iv;
  int64_t per_batch = loom_num_mul(p->chunks_m, p->chunks_n);
  bool divided = dot_is_divided(p);
  if (divided) {
    MlirValue base = dot_find_round(l, job, chunk, per_batch * p->rounds.batch);
    loom_builder b = dot_here(l);
    chunk = lane_op2(&b, "arith.subi", chunk, base);
  }
  MlirValue batch = dot_op(l, "arith.divui", chunk, per_batch);
  MlirValue within = dot_op(l, "arith.remui", chunk, per_batch);
  MlirValue tiles = dot_op(l, "arith.divui", within, p->chunks_n);
  MlirValue panels = dot_op(l, "arith.remui", within, p->chunks_n);
  if (divided) {
    batch = dot_add_scaled(l, batch, job->round_batch, p->rounds.batch);
    tiles = dot_add_scaled(l, tiles, job->round_row, p->chunks_m);
    panels = dot_add_scaled(l, panels, job->round_column, p->chunks_n);
  }
  dot_set(l, DOT_BATCH, batch);
  dot_block(l, tiles, p->block_tiles, p->tiles, &job->tile_low, &job->tile_high);
  dot_block(l, panels, p->block_panels, p->panels, &job->panel_low, &job->panel_high);
  job->depth_low = dot_const(l, 0);
  job->depth_high = dot_const(l, p->extents[DOT_DEPTH]);
  if (p->depth_block)
    dot_blocks(l, job);
  else
    dot_panels(l, job, dot_tile);
}

void dot_set_extents(lower *l, const dot_plan *p) {
  l->var_count = DOT_VARS;
  for (int v = 0; v < DOT_VARS; v++)
    l->vars[v].extent = v < DOT_GROUPS ? p->extents[v] : INT32_MAX;
}

bool dot_lower(lower *l, const dot_plan *p, int stage) {
  for (int i = 0; i < l->kernel->result_count; i++) {
    loom_type type = l->kernel->results[i].type;
    type.dtype = p->dtype;
    if (!loom_type_equal(&type, &p->type))
      return lower_fail(l, p->op, "the kernel's results have another shape");
  }
  if (loom_type_elements(&p->type) == 0) return true;
  int64_t step = (int64_t)p->nv * p->vl, columns = p->extents[DOT_COLUMN];
  dot_job job = {.p = p, .lanes = p->vl};
  if (loom_num_high(columns) < step && !p->few_columns) job.lanes = (int)(columns - step + p->vl);
  dot_set_extents(l, p);
  if (l->kernel->target == LANES_GPU) return gpu_dot_lower(l, p, stage);
  if (stage < p->stage_count - 1) return dot_pack(l, &job, stage < p->once), !l->failed;
  if (p->pairs) dot_pairs_open(l, p);
  lower_for(l, l->begin, l->end, dot_const(l, 1), DOT_CHUNK, 0, NULL, dot_chunk, &job, NULL);
  if (p->pairs) dot_pairs_close(l, p);
  return !l->failed;
}
