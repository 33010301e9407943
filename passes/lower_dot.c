/* Lowering of kernels with a dot_general (dot.h): packing in a first stage, tiles with their
 * epilogue in the last.
 *
 * Sizes are static, so that the ends of the rows and of the columns get tiles of their own, with
 * just the rows and vectors that are left: nothing is masked but the last vector of a ragged panel,
 * on its way from packing and into the result. A loop that runs at most once stands for "if this
 * chunk holds the ragged end".
 */
#include "passes/dot.h"

/* Variables of the lowering: the groups of dot.h, then these. */
enum { DOT_CHUNK = DOT_GROUPS, DOT_TILE, DOT_PANEL, DOT_VARS };

typedef struct dot_job {
  const dot_plan *p;
  dot_operand const *packed; /* what a packing stage packs */
  int rows, vectors, lanes;  /* of the tile being made; lanes of its last vector */
  int64_t chunk_low;         /* first chunk of what is packed */
  MlirValue row0, column0;   /* i64 */
  MlirValue lhs, rhs;        /* pointers at depth 0 */
  MlirValue tile_low, tile_high, panel_low, panel_high; /* of the chunk */
} dot_job;

/* ---- small arithmetic on i64 at the current scope ---- */

static loom_builder dot_here(const lower *l) { return lower_at_level(l, l->depth); }

static MlirValue dot_const(lower *l, int64_t value) { return lower_int(l, value).v; }

static MlirValue dot_op(lower *l, const char *name, MlirValue x, int64_t y) {
  MlirValue by = dot_const(l, y);
  loom_builder b = dot_here(l);
  return lane_op2(&b, name, x, by);
}

static MlirValue dot_add(lower *l, MlirValue x, MlirValue y) {
  loom_builder b = dot_here(l);
  return lane_op2(&b, "arith.addi", x, y);
}

/* x + y * scale */
static MlirValue dot_add_scaled(lower *l, MlirValue x, MlirValue y, int64_t scale) {
  if (scale == 0) return x;
  return dot_add(l, x, scale == 1 ? y : dot_op(l, "arith.muli", y, scale));
}

static MlirValue dot_address(lower *l, MlirValue ptr, MlirValue offset, loom_dtype dtype) {
  loom_builder b = dot_here(l);
  return lane_address(&b, ptr, offset, dtype);
}

static MlirValue dot_slots(lower *l, int64_t offset) {
  MlirValue at = dot_const(l, offset);
  loom_builder b = dot_here(l);
  return lane_address(&b, l->pointers[l->kernel->buffer_count], at, LOOM_U8);
}

/* ---- indices ---- */

/* Splits a group's variable into the group's dimensions. */
static void dot_split(lower *l, int group, const int *dims, int count, const loom_type *type,
                      lower_at *out) {
  lower_index linear = {0};
  linear.coef[group] = 1;
  for (int i = count - 1; i >= 0; i--) {
    lower_index quotient = {0};
    int64_t size = type->dims[dims[i]];
    if (size == 1) continue;
    lower_index_divmod(l, &linear, size, &quotient, &out->dims[dims[i]]);
    linear = quotient;
  }
}

static const lower_at *dot_operand_at(lower *l, const dot_operand *o) {
  lower_at *at = lower_at_new(l, o->type.rank);
  if (!at) return NULL;
  for (int g = 0; g < DOT_GROUPS; g++)
    dot_split(l, g, o->dims[g], o->counts[g], &o->type, at);
  return lower_at_intern(l, at);
}

/* Result dimensions are batch, then rows, then columns. */
static const lower_at *dot_result_at(lower *l, const dot_plan *p) {
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

static void dot_set(lower *l, int var, MlirValue iv) {
  l->vars[var].iv = iv;
  l->vars[var].level = l->depth;
}

/* Runs `body` for each vector of a panel, each in a scope of its own with the column variable in
 * its lanes. */
static void dot_vectors(lower *l, const dot_job *job,
                        void (*body)(lower *l, const dot_job *job, int vector)) {
  int vl = job->p->vl;
  MlirType i64s = lane_int(l->kernel->ctx, 64, vl);
  for (int v = 0; v < job->vectors && !l->failed; v++) {
    lower_push(l, l->scopes[l->depth].block);
    dot_set(l, DOT_COLUMN, dot_op(l, "arith.addi", job->column0, (int64_t)v * vl));
    l->lane_var = DOT_COLUMN;
    l->width = vl;
    if (v == job->vectors - 1 && job->lanes < vl) {
      loom_builder b = dot_here(l);
      l->mask = lane_cmpi(&b, "ult", lane_id(&b, i64s), lane_const_int(&b, i64s, job->lanes));
    }
    body(l, job, v);
    l->mask = (MlirValue){NULL};
    l->lane_var = -1;
    l->width = 1;
    l->vars[DOT_COLUMN].iv = (MlirValue){NULL};
    lower_pop(l);
  }
}

/* ---- packing ---- */

/* The value of an operand of the dot in the form it is packed in. */
static MlirValue dot_element(lower *l, const dot_plan *p, const dot_operand *o) {
  const lower_at *at = dot_operand_at(l, o);
  if (!at || l->failed) return (MlirValue){NULL};
  lower_value value = lower_emit(l, o->value, at);
  if (l->failed) return (MlirValue){NULL};
  MlirValue wide = lower_wide(l, value);
  loom_builder b = dot_here(l);
  if (p->dtype != LOOM_BOOL) return wide;
  return loom_build1(&b, "arith.extui", wide, lane_type(b.ctx, p->work, l->width));
}

/* Stores at slots[(chunk * depth + k) * step + within]. */
static void dot_pack_store(lower *l, const dot_job *job, MlirValue within, MlirValue value) {
  const dot_operand *o = job->packed;
  MlirValue chunk = dot_op(l, "arith.subi", l->vars[DOT_CHUNK].iv, job->chunk_low);
  MlirValue row = dot_add_scaled(l, l->vars[DOT_DEPTH].iv, chunk, job->p->extents[DOT_DEPTH]);
  MlirValue offset = dot_add_scaled(l, within, row, o->step);
  MlirValue ptr = dot_address(l, dot_slots(l, o->offset), offset, job->p->work);
  loom_builder b = dot_here(l);
  lane_store(&b, value, ptr, job->p->work, (MlirValue){NULL});
}

static void dot_pack_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  (void)carried, (void)next;
  MlirValue value = dot_element(l, job->p, job->packed);
  if (l->failed) return;
  loom_builder b = dot_here(l);
  MlirValue within = lane_op2(&b, "arith.subi", l->vars[DOT_ROW].iv, job->row0);
  dot_pack_store(l, job, within, value);
}

static void dot_pack_rows(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  (void)carried, (void)next;
  MlirValue last = dot_op(l, "arith.addi", job->row0, job->packed->step);
  last = dot_op(l, "arith.minsi", last, job->p->extents[DOT_ROW]);
  lower_for(l, job->row0, last, dot_const(l, 1), DOT_ROW, 0, NULL, dot_pack_row, job, NULL);
}

static void dot_pack_vector(lower *l, const dot_job *job, int vector) {
  MlirValue value = dot_element(l, job->p, job->packed);
  if (l->failed) return;
  dot_pack_store(l, job, dot_const(l, (int64_t)vector * job->p->vl), value);
}

static void dot_pack_vectors(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  (void)carried, (void)next;
  dot_vectors(l, user, dot_pack_vector);
}

/* How many vectors, and lanes in the last, panel number `panels - 1` has when it is ragged. */
static bool dot_ragged(const dot_plan *p, int *vectors, int *lanes) {
  int64_t step = (int64_t)p->nv * p->vl, left = p->extents[DOT_COLUMN] % step;
  *vectors = p->nv;
  *lanes = p->vl;
  if (!left) return false;
  *vectors = (int)((left + p->vl - 1) / p->vl);
  *lanes = (int)(left - (int64_t)(*vectors - 1) * p->vl);
  return true;
}

static void dot_pack_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  (void)carried, (void)next;
  job->column0 = dot_op(l, "arith.muli", l->vars[DOT_PANEL].iv, job->packed->step);
  lower_for(l, dot_const(l, 0), dot_const(l, job->p->extents[DOT_DEPTH]), dot_const(l, 1),
            DOT_DEPTH, 0, NULL, dot_pack_vectors, job, NULL);
}

/* Runs `body` over [low, high), its part below `full` with whole panels, the ragged one (if any) on
 * its own. */
static void dot_over_panels(lower *l, dot_job *job, MlirValue low, MlirValue high,
                            lower_body body) {
  int vectors, lanes;
  bool ragged = dot_ragged(job->p, &vectors, &lanes);
  int64_t full = job->p->panels - ragged;
  job->vectors = job->p->nv;
  job->lanes = job->p->vl;
  if (full)
    lower_for(l, low, dot_op(l, "arith.minsi", high, full), dot_const(l, 1), DOT_PANEL, 0, NULL,
              body, job, NULL);
  job->vectors = vectors;
  job->lanes = lanes;
  if (ragged)
    lower_for(l, dot_op(l, "arith.maxsi", low, full), high, dot_const(l, 1), DOT_PANEL, 0, NULL,
              body, job, NULL);
}

static void dot_pack_chunk(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_operand *o = job->packed;
  (void)carried, (void)next;
  MlirValue chunk = dot_op(l, "arith.subi", l->vars[DOT_CHUNK].iv, job->chunk_low);
  dot_set(l, DOT_BATCH, dot_op(l, "arith.divui", chunk, o->panels));
  MlirValue panel = dot_op(l, "arith.remui", chunk, o->panels);
  if (o->lane_group == DOT_COLUMN) {
    dot_over_panels(l, job, panel, dot_op(l, "arith.addi", panel, 1), dot_pack_panel);
    return;
  }
  job->row0 = dot_op(l, "arith.muli", panel, o->step);
  lower_for(l, dot_const(l, 0), dot_const(l, job->p->extents[DOT_DEPTH]), dot_const(l, 1),
            DOT_DEPTH, 0, NULL, dot_pack_rows, job, NULL);
}

static void dot_pack(lower *l, dot_job *job) {
  int64_t first = 0;
  for (int side = 0; side < 2 && !l->failed; side++) {
    const dot_operand *o = side ? &job->p->rhs : &job->p->lhs;
    if (o->direct) continue;
    int64_t last = first + o->batches * o->panels;
    job->packed = o;
    job->chunk_low = first;
    lower_for(l, dot_op(l, "arith.maxsi", l->begin, first), dot_op(l, "arith.minsi", l->end, last),
              dot_const(l, 1), DOT_CHUNK, 0, NULL, dot_pack_chunk, job, NULL);
    first = last;
  }
}

/* ---- a tile ---- */

/* Element [batch, panel * step, 0] of an operand. */
static MlirValue dot_panel_pointer(lower *l, const dot_job *job, const dot_operand *o,
                                   MlirValue panel) {
  const dot_plan *p = job->p;
  MlirValue batch = l->vars[DOT_BATCH].iv, offset;
  if (o->direct) {
    offset = dot_const(l, o->base);
    offset = dot_add_scaled(l, offset, batch, o->strides[DOT_BATCH]);
    offset = dot_add_scaled(l, offset, panel, o->step * o->strides[o->lane_group]);
    return dot_address(l, l->pointers[l->kernel->operands[o->operand].slot], offset, p->work);
  }
  offset = dot_add_scaled(l, panel, batch, o->panels);
  offset = dot_op(l, "arith.muli", offset, o->step * p->extents[DOT_DEPTH]);
  return dot_address(l, dot_slots(l, o->offset), offset, p->work);
}

static MlirValue dot_multiply_add(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y,
                                  MlirValue sum) {
  if (loom_dtype_is_float(dtype)) return lane_fma(b, x, y, sum);
  if (dtype == LOOM_BOOL) return lane_op2(b, "arith.ori", lane_op2(b, "arith.andi", x, y), sum);
  return lane_op2(b, "arith.addi", lane_op2(b, "arith.muli", x, y), sum);
}

/* One step of depth: `vectors` loads of a panel's row, then for each row a broadcast and its
 * multiply-adds. */
static void dot_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const dot_job *job = user;
  const dot_plan *p = job->p;
  MlirValue k = l->vars[DOT_DEPTH].iv, none = {NULL}, columns[8];
  bool direct = p->lhs.direct;
  int64_t row = direct ? p->lhs.strides[DOT_ROW] : 1;
  int64_t step = direct ? p->lhs.strides[DOT_DEPTH] : p->lhs.step;
  MlirValue lhs = dot_address(l, job->lhs, dot_op(l, "arith.muli", k, step), p->work);
  step = p->rhs.direct ? p->rhs.strides[DOT_DEPTH] : p->rhs.step;
  MlirValue rhs = dot_address(l, job->rhs, dot_op(l, "arith.muli", k, step), p->work);
  loom_builder b = dot_here(l);
  MlirType i64s = lane_int(b.ctx, 64, p->vl);
  for (int v = 0; v < job->vectors; v++) {
    MlirValue ptr = dot_address(l, rhs, dot_const(l, (int64_t)v * p->vl), p->work), mask = none;
    if (p->rhs.direct && v == job->vectors - 1 && job->lanes < p->vl)
      mask = lane_cmpi(&b, "ult", lane_id(&b, i64s), lane_const_int(&b, i64s, job->lanes));
    columns[v] = lane_load(&b, ptr, p->work, p->vl, mask);
  }
  for (int r = 0; r < job->rows; r++) {
    MlirValue ptr = dot_address(l, lhs, dot_const(l, r * row), p->work);
    MlirValue x = lane_splat(&b, lane_load(&b, ptr, p->work, 1, none), p->vl);
    for (int v = 0; v < job->vectors; v++) {
      int i = r * job->vectors + v;
      next[i] = dot_multiply_add(&b, p->dtype, x, columns[v], carried[i]);
    }
  }
}

/* ---- the epilogue ---- */

static MlirValue dot_sum_pointer(lower *l, const dot_job *job, MlirValue row, int vector) {
  const dot_plan *p = job->p;
  int64_t step = (int64_t)p->nv * p->vl;
  MlirValue offset = dot_const(l, (int64_t)vector * p->vl);
  return dot_address(l, l->scratch, dot_add_scaled(l, offset, row, step), p->work);
}

static void dot_finish_vector(lower *l, const dot_job *job, int vector) {
  const dot_plan *p = job->p;
  loom_builder b = dot_here(l);
  MlirValue row = lane_op2(&b, "arith.subi", l->vars[DOT_ROW].iv, job->row0);
  MlirValue ptr = dot_sum_pointer(l, job, row, vector);
  MlirValue sum = lane_load(&b, ptr, p->work, p->vl, (MlirValue){NULL});
  if (p->dtype == LOOM_BOOL)
    sum = lane_cmpi(&b, "ne", sum, lane_const_int(&b, mlirValueGetType(sum), 0));
  const lower_at *at = dot_result_at(l, p);
  if (!at || l->failed) return;
  lower_unbind_all(l);
  lower_bind(l, p->result, at, (lower_value){sum, l->depth, p->vl > 1, p->dtype});
  for (int i = 0; i < l->kernel->result_count && !l->failed; i++) {
    lower_value value = lower_emit(l, l->kernel->results[i].value, at);
    if (!l->failed) lower_store(l, i, at, value);
  }
  lower_unbind_all(l);
}

static void dot_finish_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  (void)carried, (void)next;
  dot_vectors(l, user, dot_finish_vector);
}

static void dot_tile(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_plan *p = job->p;
  (void)carried, (void)next;
  MlirValue sums[64], tile = l->vars[DOT_TILE].iv;
  int count = job->rows * job->vectors;
  job->row0 = dot_op(l, "arith.muli", tile, p->mr);
  job->lhs = dot_panel_pointer(l, job, &p->lhs, tile);
  loom_builder b = lower_at_level(l, 0);
  MlirType type = lane_type(b.ctx, p->work, p->vl);
  MlirValue zero =
      loom_dtype_is_float(p->dtype) ? lane_const_float(&b, type, 0) : lane_const_int(&b, type, 0);
  for (int i = 0; i < count; i++)
    sums[i] = zero;
  lower_for(l, dot_const(l, 0), dot_const(l, p->extents[DOT_DEPTH]), dot_const(l, 1), DOT_DEPTH,
            count, sums, dot_step, job, sums);
  for (int i = 0; i < count && !l->failed; i++) {
    MlirValue ptr = dot_sum_pointer(l, job, dot_const(l, i / job->vectors), i % job->vectors);
    b = dot_here(l);
    lane_store(&b, sums[i], ptr, p->work, (MlirValue){NULL});
  }
  MlirValue last = dot_op(l, "arith.addi", job->row0, job->rows);
  lower_for(l, job->row0, last, dot_const(l, 1), DOT_ROW, 0, NULL, dot_finish_row, job, NULL);
}

/* ---- chunks ---- */

static void dot_panel(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  dot_job *job = user;
  const dot_plan *p = job->p;
  (void)carried, (void)next;
  MlirValue panel = l->vars[DOT_PANEL].iv;
  job->column0 = dot_op(l, "arith.muli", panel, (int64_t)p->nv * p->vl);
  job->rhs = dot_panel_pointer(l, job, &p->rhs, panel);
  int64_t full = p->extents[DOT_ROW] / p->mr;
  job->rows = p->mr;
  if (full)
    lower_for(l, job->tile_low, dot_op(l, "arith.minsi", job->tile_high, full), dot_const(l, 1),
              DOT_TILE, 0, NULL, dot_tile, job, NULL);
  job->rows = (int)(p->extents[DOT_ROW] % p->mr);
  if (job->rows)
    lower_for(l, dot_op(l, "arith.maxsi", job->tile_low, full), job->tile_high, dot_const(l, 1),
              DOT_TILE, 0, NULL, dot_tile, job, NULL);
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
  (void)carried, (void)next;
  MlirValue chunk = l->vars[DOT_CHUNK].iv;
  dot_set(l, DOT_BATCH, dot_op(l, "arith.divui", chunk, p->chunks_m * p->chunks_n));
  MlirValue within = dot_op(l, "arith.remui", chunk, p->chunks_m * p->chunks_n);
  dot_block(l, dot_op(l, "arith.divui", within, p->chunks_n), p->block_tiles, p->tiles,
            &job->tile_low, &job->tile_high);
  dot_block(l, dot_op(l, "arith.remui", within, p->chunks_n), p->block_panels, p->panels,
            &job->panel_low, &job->panel_high);
  dot_over_panels(l, job, job->panel_low, job->panel_high, dot_panel);
}

bool dot_lower(lower *l, const dot_plan *p, int stage) {
  for (int i = 0; i < l->kernel->result_count; i++) {
    loom_type type = l->kernel->results[i].type;
    type.dtype = p->dtype;
    if (!loom_type_equal(&type, &p->type))
      return lower_fail(l, p->op, "the kernel's results have another shape");
  }
  if (loom_type_elements(&p->type) == 0) return true;
  dot_job job = {.p = p};
  l->var_count = DOT_VARS;
  for (int v = 0; v < DOT_VARS; v++)
    l->vars[v].extent = v < DOT_GROUPS ? p->extents[v] : INT32_MAX;
  if (stage < p->stage_count - 1)
    dot_pack(l, &job);
  else
    lower_for(l, l->begin, l->end, dot_const(l, 1), DOT_CHUNK, 0, NULL, dot_chunk, &job, NULL);
  return !l->failed;
}
