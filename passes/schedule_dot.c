/* How a kernel with a dot_general is tiled: registers, packing, chunks. Sizes alone decide, never
 * the threads.
 *
 * Register tiles: up to 8 rows of 3 vectors with the 32 registers of AVX-512, 6 rows of 2 with the
 * 16 of AVX2: the sums, one broadcast and a row of the panel fit, and 12 or more independent sums
 * hide the latency of the multiply-add. Of all tiles that fit, the one is taken that needs the
 * fewest cycles, what it computes twice at ragged ends included: there the last tile starts early
 * enough to be whole, and computes some rows and columns again, to the same bits. So there is one
 * tile in the code, and nothing overwrites an operand in place.
 *
 * lhs is read where it lies when its depth is contiguous: a tile then reads `mr` streams at
 * constant distances, which costs nothing over a packed tile. rhs is read where it lies when its
 * columns are contiguous and it is small or used by few tiles. With few rows, and the depth
 * contiguous in both, the lanes go along the depth, and both are read where they lie; else its
 * panels are packed by a first stage, so that the inner loop reads one stream. What is packed at
 * once is bounded (dot_rounds.c).
 */
#include "loom_ops_shapes.h"
#include "passes/gpu_tile.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

#define DOT_DIRECT_BYTES (128 << 10) /* rhs up to this size needs no packing */
#define DOT_CHUNK_WORK (1 << 20)     /* multiply-adds that make a chunk worth its launch */
#define DOT_CHUNK_TILES (8 << 20)    /* the same by AMX */
#define DOT_CHUNKS 64
#define DOT_CHUNK_ROWS 64
/* Bytes of a row or column of a block of the depth: with these the rows of a chunk and a panel stay
 * in the second cache. */
#define DOT_DEPTH_BYTES 2048
#define DOT_SUMS_BYTES (256 << 10) /* of a chunk, when they lie in scratch between the blocks */
#define DOT_LIKELY 1024
#define DOT_SUM_RUN 192
#define DOT_SHALLOW 32 /* steps of depth, and bytes of a chunk's columns, with which */
#define DOT_SHALLOW_BYTES (384 << 10) /* writing the result is what takes the time */
#define DOT_PACK_COST 2               /* half cycles for an element of a right operand */
#define DOT_INNER_ROWS 32
#define DOT_MIRROR_DEPTH 32 /* with fewer steps an element is computed faster than transposed */

/* ---- dimensions ---- */

static void dot_group(dot_operand *o, int group, int dim) {
  o->dims[group][o->counts[group]++] = dim;
}

static bool dot_dims(MlirOperation op, int side, dot_operand *o) {
  int64_t batch[LOOM_MAX_RANK], contract[LOOM_MAX_RANK];
  o->value = loom_operand(op, side);
  o->lane_group = side ? DOT_COLUMN : DOT_ROW;
  if (!loom_type_from_mlir(mlirValueGetType(o->value), &o->type)) return false;
  intptr_t batches = loom_get_i64s(op, side ? "rhs_batch" : "lhs_batch", batch, LOOM_MAX_RANK);
  intptr_t contracts =
      loom_get_i64s(op, side ? "rhs_contract" : "lhs_contract", contract, LOOM_MAX_RANK);
  uint32_t taken = 0;
  for (intptr_t i = 0; i < batches; i++) {
    dot_group(o, DOT_BATCH, (int)batch[i]);
    taken |= 1u << batch[i];
  }
  for (intptr_t i = 0; i < contracts; i++) {
    dot_group(o, DOT_DEPTH, (int)contract[i]);
    taken |= 1u << contract[i];
  }
  for (int d = 0; d < o->type.rank; d++)
    if (!(taken >> d & 1)) dot_group(o, o->lane_group, d);
  return true;
}

static int64_t dot_extent(const dot_operand *o, int group) {
  int64_t extent = 1;
  for (int i = 0; i < o->counts[group]; i++)
    extent = loom_num_mul(extent, loom_num_dim(o->type.dims[o->dims[group][i]]));
  return extent;
}

/* ---- reading where it lies ---- */

/* The stride of a group taken as one variable; false when its dimensions do not follow each other.
 */
static bool dot_linear(const dot_operand *o, const int64_t *strides, int group, int64_t *out) {
  int64_t inner = 1, stride = 0;
  bool first = true;
  for (int i = o->counts[group] - 1; i >= 0; i--) {
    int64_t size = loom_num_dim(o->type.dims[o->dims[group][i]]);
    if (size == 1) continue;
    if (first)
      stride = strides[i];
    else if (strides[i] != loom_num_mul(stride, inner))
      return false;
    first = false;
    inner = loom_num_mul(inner, size);
  }
  *out = stride;
  return true;
}

/* Goes on to what `op` makes f32 of, where these are half floats, or int32, where these are int8
 * and the kernel is for a GPU: they are what is stored. */
static bool dot_follow_narrow(const lower *l, MlirOperation op, loom_opcode code, dot_operand *o) {
  loom_type narrow;
  if (loom_op_table[code].lower != LOOM_LOWER_CONVERT ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &narrow))
    return false;
  bool halves = o->stored == LOOM_F32 && loom_dtype_is_half(narrow.dtype);
  bool bytes = o->stored == LOOM_I32 && narrow.dtype == LOOM_I8;
  if (!halves && !(bytes && l->kernel->target == LANES_GPU)) return false;
  o->stored = narrow.dtype;
  o->root = loom_operand(op, 0);
  return true;
}

/* Follows the views between an operand of the product and the value that they view. The result is
 * an index of that value as affine expressions of the operand's dimensions, which are variables 0,
 * 1, ... Null: there is none. */
static const lower_at *dot_follow(lower *l, dot_operand *o) {
  l->var_count = o->type.rank;
  for (int d = 0; d < o->type.rank; d++)
    l->vars[d].extent = loom_num_dim(o->type.dims[d]);
  const lower_at *at = lower_at_identity(l, o->type.rank, 0);
  loom_opcode code;
  o->root = o->value;
  o->stored = o->type.dtype;
  for (MlirOperation op = loom_def(o->root); op.ptr && at; op = loom_def(o->root)) {
    if (!loom_opcode_of(op, &code)) break;
    if (dot_follow_narrow(l, op, code, o)) continue;
    if (loom_info(op)->fusion != LOOM_CLASS_VIEW || code == LOOM_OP_WINDOWS) break;
    at = lower_at_operand(l, op, code, at);
    o->root = loom_operand(op, 0);
  }
  return l->failed ? NULL : at;
}

/* Where the operand lies in what it is a view of: an operand of the kernel, or a value computed in
 * it, taken as if it lay in C order. False when some group is no single stride; `apart` where that
 * is the batch alone. */
static bool dot_find_layout(const lower_kernel *kernel, dot_operand *o) {
  lower l;
  loom_arena arena = {NULL};
  int64_t coef[LOOM_MAX_RANK] = {0}, strides[LOOM_MAX_RANK];
  loom_type type;
  lower_init(&l, kernel, &arena, true);
  const lower_at *at = dot_follow(&l, o);
  bool found = at && loom_type_from_mlir(mlirValueGetType(o->root), &type);
  o->operand = -1;
  found = found && loom_plain_strides(&type, strides);
  for (int i = 0; found && i < kernel->operand_count; i++) {
    const lower_buffer *buffer = &kernel->operands[i];
    if (!mlirValueEqual(buffer->value, o->root) || buffer->slot < 0) continue;
    o->operand = i;
    memcpy(strides, buffer->strides, sizeof strides);
  }
  for (int d = 0; found && d < type.rank; d++) {
    found = !at->dims[d].opaque.ptr;
    o->base = loom_num_add(o->base, loom_num_mul(strides[d], at->dims[d].constant));
    for (int v = 0; v < o->type.rank; v++)
      if (at->dims[d].coef[v])
        coef[v] = loom_num_add(coef[v], loom_num_mul(strides[d], at->dims[d].coef[v]));
  }
  for (int g = 0; g < DOT_GROUPS && found; g++) {
    int64_t of_group[LOOM_MAX_RANK];
    for (int i = 0; i < o->counts[g]; i++)
      of_group[i] = coef[o->dims[g][i]];
    bool linear = dot_linear(o, of_group, g, &o->strides[g]);
    found = linear || g == DOT_BATCH;
    if (linear) continue;
    o->apart = found;
    memcpy(o->batch_strides, of_group, sizeof of_group[0] * (size_t)o->counts[g]);
  }
  o->apart = o->apart && found;
  loom_arena_fini(&arena);
  return found && !o->apart;
}

/* ---- the plan ---- */

/* Half cycles of one tile for one step of depth: two multiply-adds or two loads a cycle, and no
 * faster than the latency of a multiply-add. */
static int64_t dot_tile_cost(int64_t mr, int64_t nv) {
  int64_t cost = mr * nv > mr + nv ? mr * nv : mr + nv;
  return (cost > 8 ? cost : 8) + 1;
}

/* For the choice of tiles a symbolic extent is a large one. */
static int64_t dot_likely(int64_t extent) {
  int64_t hint = loom_num_hint(extent);
  return LOOM_STRIDE_IS_SYM(extent) && hint < DOT_LIKELY ? DOT_LIKELY : hint;
}

/* Half cycles for a step of depth of all tiles. */
static int64_t dot_registers(const lower_kernel *kernel, dot_plan *p) {
  int64_t rows = dot_likely(p->extents[DOT_ROW]), columns = dot_likely(p->extents[DOT_COLUMN]);
  int64_t best = INT64_MAX;
  int registers = kernel->vector_bytes == 64 ? 32 : 16;
  int most_rows = kernel->vector_bytes == 64 ? 8 : 6;
  p->vl = kernel->vector_bytes / (int)loom_dtype_size(p->work);
  while (p->vl > 1 && p->vl / 2 >= columns)
    p->vl /= 2;
  for (int nv = 1; nv <= 4 && (nv == 1 || (int64_t)(nv - 1) * p->vl < columns); nv++)
    for (int mr = 1; mr <= most_rows && mr <= rows && mr * nv + nv + 1 <= registers; mr++) {
      int64_t tiles = loom_ceil_div(rows, mr) * loom_ceil_div(columns, (int64_t)nv * p->vl);
      int64_t cost = tiles * dot_tile_cost(mr, nv);
      if (cost > best) continue;
      best = cost;
      p->mr = mr;
      p->nv = nv;
    }
  return best;
}

/* Is the operand made of constants alone (loom-keep)? */
static bool dot_is_constant(const dot_plan *p, int side) {
  int64_t sides[2];
  intptr_t count = loom_get_i64s(p->op, loom_mark_constant, sides, 2);
  for (intptr_t i = 0; i < count && i < 2; i++)
    if (sides[i] == side) return true;
  return false;
}

/* Are the operands such that the lanes may go along the depth? */
static bool dot_may_be_inner(const dot_plan *p) {
  int64_t rows = p->extents[DOT_ROW], depth = p->extents[DOT_DEPTH];
  for (int side = 0; side < 2; side++) {
    const dot_operand *o = side ? &p->rhs : &p->lhs;
    if (!o->known || o->operand < 0 || o->strides[DOT_DEPTH] != 1) return false;
  }
  return !dot_is_constant(p, 1) && p->dtype != LOOM_BOOL && loom_dtype_size(p->work) >= 4 &&
         p->vl > 1 && p->rhs.strides[DOT_COLUMN] != 1 &&
         loom_num_at_most(p->vl, p->extents[DOT_COLUMN]) &&
         loom_num_at_most(rows, DOT_INNER_ROWS) && !LOOM_STRIDE_IS_SYM(rows) &&
         loom_num_at_most(2 * (int64_t)p->vl, depth);
}

/* Takes tiles whose lanes go along the depth where that is faster than packing the right operand,
 * its time included. `packed`: of what dot_registers() has chosen. */
static void dot_choose_inner(const lower_kernel *kernel, dot_plan *p, int64_t packed) {
  int64_t rows = p->extents[DOT_ROW], columns = dot_likely(p->extents[DOT_COLUMN]);
  int64_t best = packed * p->vl + columns * p->vl * DOT_PACK_COST;
  int registers = kernel->vector_bytes == 64 ? 32 : 16;
  if (!dot_may_be_inner(p)) return;
  for (int nc = 1; nc <= p->vl && nc <= 8; nc *= 2)
    for (int mr = 1; mr <= 8 && mr <= rows && mr * nc + mr + 1 <= registers; mr++) {
      int64_t cost = loom_ceil_div(rows, mr) * loom_ceil_div(columns, nc) * dot_tile_cost(mr, nc);
      if (cost >= best) continue;
      best = cost;
      p->mr = mr;
      p->nv = 1;
      p->inner = nc;
    }
}

static int64_t dot_bytes(const dot_plan *p, int group, int64_t size) {
  return loom_num_hint(loom_num_mul(p->extents[group], p->extents[DOT_DEPTH])) * size;
}

/* What is packed of constants alone (loom-keep) is packed once. A right operand that would be read
 * where it lies since few tiles use it is packed as well then: one stream instead of many. */
static void dot_fix(dot_plan *p) {
  for (int side = 0; side < 2; side++) {
    dot_operand *o = side ? &p->rhs : &p->lhs;
    int64_t bytes = dot_bytes(p, o->lane_group, (int64_t)loom_dtype_size(p->work));
    if (!dot_is_constant(p, side) || !loom_type_is_static(&o->type) ||
        LOOM_STRIDE_IS_SYM(p->extents[DOT_DEPTH]))
      continue;
    if (side && bytes > DOT_DIRECT_BYTES) o->direct = false;
    o->fixed = !o->direct;
  }
}

/* Are the operands, whose layouts are known, one matrix, with the rows of the left one where the
 * right one has its columns? */
static bool dot_is_square(const lower_kernel *kernel, const dot_plan *p) {
  const dot_operand *x = &p->lhs, *y = &p->rhs;
  bool same = x->operand < 0 || y->operand < 0
                  ? mlirValueEqual(x->root, y->root)
                  : kernel->operands[x->operand].same == kernel->operands[y->operand].same;
  for (int g = 0; g < DOT_GROUPS; g++) {
    int other = g == DOT_ROW ? DOT_COLUMN : g == DOT_COLUMN ? DOT_ROW : g;
    same = same && x->strides[g] == y->strides[other];
  }
  return same && x->base == y->base && p->extents[DOT_ROW] == p->extents[DOT_COLUMN];
}

static bool dot_pays_symmetric(const dot_plan *p) {
  int64_t step = (int64_t)p->nv * p->vl;
  return loom_num_at_most(2 * (step > p->mr ? step : p->mr), p->extents[DOT_ROW]) &&
         loom_num_hint(p->extents[DOT_DEPTH]) >= DOT_MIRROR_DEPTH;
}

/* Of an operand that is packed: do its elements along a group lie side by side in an operand of the
 * kernel, and are there enough for whole panels? */
static bool dot_packs_vectors(const dot_plan *p, const dot_operand *o, int group) {
  return !o->direct && o->known && o->operand >= 0 && o->strides[group] == 1 && p->vl > 1 &&
         loom_dtype_size(p->work) >= 4 && loom_num_at_most(o->step, p->extents[o->lane_group]);
}

static void dot_packing(const lower_kernel *kernel, dot_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(p->work);
  bool lies[2]; /* the elements to multiply may be read where it lies */
  for (int side = 0; side < 2; side++) {
    dot_operand *o = side ? &p->rhs : &p->lhs;
    /* Only tiles whose lanes go along the depth make f32 of half floats as they read them. */
    lies[side] = o->known && o->operand >= 0 && p->dtype != LOOM_BOOL && o->stored == p->work;
    bool read = lies[side] || p->inner || (p->pairs && o->known && o->operand >= 0);
    o->batches = read && o->strides[DOT_BATCH] == 0 ? 1 : p->extents[DOT_BATCH];
  }
  p->symmetric = !p->inner && !p->pairs && p->lhs.known && p->rhs.known &&
                 dot_is_square(kernel, p) && dot_pays_symmetric(p);
  bool small = dot_bytes(p, DOT_ROW, size) <= DOT_DIRECT_BYTES / 4;
  p->lhs.direct =
      lies[0] && (p->lhs.strides[DOT_DEPTH] == 1 || small || loom_num_high(p->panels) <= 2);
  small = dot_bytes(p, DOT_COLUMN, size) <= DOT_DIRECT_BYTES;
  p->rhs.direct = lies[1] && !p->few_columns &&
                  (p->rhs.strides[DOT_COLUMN] == 1 || p->extents[DOT_COLUMN] == 1) &&
                  (small || loom_num_high(p->tiles) <= (loom_num_high(p->panels) <= 1 ? 8 : 2));
  if (p->inner) p->lhs.direct = p->rhs.direct = true;
  if (p->pairs) p->lhs.direct = dot_pairs_direct(p);
  p->lhs.step = p->mr;
  p->lhs.panels = p->tiles;
  p->rhs.step = (int64_t)p->nv * p->vl;
  p->rhs.panels = p->panels;
  for (int side = 0; side < 2; side++) {
    dot_operand *o = side ? &p->rhs : &p->lhs;
    o->round = o->panels;
    o->kept = o->batches;
  }
  p->rounds = (dot_rounds){p->extents[DOT_BATCH], 1, 1, 1};
  dot_fix(p);
  p->lhs.beside = dot_packs_vectors(p, &p->lhs, DOT_ROW);
  p->rhs.turned = dot_packs_vectors(p, &p->rhs, DOT_DEPTH);
  p->slots = dot_place(p, false);
  p->kept = dot_place(p, true);
}

/* A depth somewhat over a block is not worth the trips of the sums. */
static void dot_depth_blocks(dot_plan *p) {
  if (p->pairs) {
    p->depth_block = dot_pairs_block(p);
    return;
  }
  int64_t most = DOT_DEPTH_BYTES / (int64_t)loom_dtype_size(p->work);
  if (p->inner) most = (int64_t)DOT_SUM_RUN * p->vl;
  int64_t depth = loom_num_hint(p->extents[DOT_DEPTH]);
  if (p->inner ? loom_num_at_most(p->extents[DOT_DEPTH], most) : depth <= most + most / 2) return;
  bool symbolic = LOOM_STRIDE_IS_SYM(p->extents[DOT_DEPTH]);
  p->depth_block = symbolic ? most : loom_ceil_div(depth, loom_ceil_div(depth, most));
  if (p->inner) p->depth_block = loom_ceil_div(p->depth_block, p->vl) * p->vl;
}

/* A block of the depth is a number of runs: where a run starts depends on nothing but the depth. */
static void dot_sum_runs(dot_plan *p) {
  if (p->inner || p->pairs || !loom_dtype_is_float(p->dtype) ||
      loom_num_at_most(p->extents[DOT_DEPTH], DOT_SUM_RUN))
    return;
  p->sum_run = DOT_SUM_RUN;
  p->depth_block = loom_ceil_div(p->depth_block, DOT_SUM_RUN) * DOT_SUM_RUN;
}

static int64_t dot_tile_bytes(const dot_plan *p) {
  return (int64_t)p->mr * p->nv * p->vl * (int64_t)loom_dtype_size(p->work);
}

/* Panels of a chunk whose sums fit. */
static int64_t dot_most_panels(const dot_plan *p) {
  int64_t most = DOT_SUMS_BYTES / (p->block_tiles * dot_tile_bytes(p));
  return !p->depth_block ? INT64_MAX : most > 1 ? most : 1;
}

static void dot_chunks(dot_plan *p) {
  int64_t work = p->extents[DOT_BATCH] * p->extents[DOT_ROW] * p->extents[DOT_COLUMN];
  work = work > INT64_MAX / (p->extents[DOT_DEPTH] + 1) ? INT64_MAX : work * p->extents[DOT_DEPTH];
  int64_t want = loom_ceil_div(work, p->tiles_unit ? DOT_CHUNK_TILES : DOT_CHUNK_WORK);
  if (want < 1) want = 1; /* a depth of 0 */
  want = loom_ceil_div(want, p->extents[DOT_BATCH]);
  p->chunks_m = loom_ceil_div(p->tiles, loom_ceil_div(DOT_CHUNK_ROWS, p->mr));
  if (p->chunks_m > want) p->chunks_m = want;
  p->block_tiles = loom_ceil_div(p->tiles, p->chunks_m);
  p->chunks_m = loom_ceil_div(p->tiles, p->block_tiles);
  if (want > DOT_CHUNKS) want = DOT_CHUNKS;
  p->chunks_n = loom_ceil_div(want, p->chunks_m);
  if (p->chunks_n > p->panels) p->chunks_n = p->panels;
  p->block_panels = loom_ceil_div(p->panels, p->chunks_n);
  if (p->block_panels > dot_most_panels(p)) p->block_panels = dot_most_panels(p);
  p->chunks_n = loom_ceil_div(p->panels, p->block_panels);
}

/* Of symbolic extents: blocks of a size that is likely to be worth a launch, as many as there are.
 */
static void dot_chunks_symbolic(dot_plan *p) {
  int64_t depth = loom_num_hint(p->extents[DOT_DEPTH]);
  int64_t rows = loom_num_hint(p->extents[DOT_ROW]);
  p->block_tiles = loom_ceil_div(DOT_CHUNK_ROWS, p->mr);
  if (rows > DOT_CHUNK_ROWS) rows = DOT_CHUNK_ROWS;
  int64_t work = (rows < 1 ? 1 : rows) * p->rhs.step * (depth < 1 ? 1 : depth);
  p->block_panels = loom_ceil_div(DOT_CHUNK_WORK, work);
  if (p->block_panels > dot_most_panels(p)) p->block_panels = dot_most_panels(p);
  p->chunks_m = loom_num_ceil(p->tiles, p->block_tiles);
  p->chunks_n = loom_num_ceil(p->panels, p->block_panels);
}

/* A product with a short depth writes more than it computes. It is computed row by row, while its
 * columns stay in the cache. */
static bool dot_is_shallow(const dot_plan *p) {
  int64_t depth = loom_num_hint(p->extents[DOT_DEPTH]);
  int64_t bytes = p->block_panels * p->rhs.step * (int64_t)loom_dtype_size(p->work);
  return !p->symmetric && !p->depth_block && depth <= DOT_SHALLOW &&
         bytes <= DOT_SHALLOW_BYTES / (depth < 1 ? 1 : depth);
}

static bool dot_refuse(MlirOperation op, const char *text) {
  return loom_emit_error(mlirOperationGetLocation(op), "cannot lower 'loom.dot_general': %s", text);
}

static bool dot_types(dot_plan *p) {
  if (!loom_type_from_mlir(mlirValueGetType(p->result), &p->type) || !dot_dims(p->op, 0, &p->lhs) ||
      !dot_dims(p->op, 1, &p->rhs))
    return dot_refuse(p->op, "an operand of an unknown type");
  p->dtype = p->type.dtype;
  p->work = p->dtype == LOOM_BOOL ? LOOM_U8 : loom_dtype_is_half(p->dtype) ? LOOM_F32 : p->dtype;
  if (p->lhs.type.dtype != p->dtype || p->rhs.type.dtype != p->dtype)
    return dot_refuse(p->op, "operands and result differ in element type");
  if (loom_dtype_is_complex(p->dtype))
    return dot_refuse(p->op, "no arithmetic for this element type");
  if (!loom_type_is_sized(&p->type) || !loom_type_is_sized(&p->lhs.type) ||
      !loom_type_is_sized(&p->rhs.type))
    return dot_refuse(p->op, "a size that cannot be expressed");
  return true;
}

bool dot_plan_make(const lower_kernel *kernel, MlirOperation op, dot_plan *p) {
  memset(p, 0, sizeof *p);
  p->op = op;
  p->result = loom_result(op, 0);
  if (!dot_types(p)) return false;
  p->extents[DOT_BATCH] = dot_extent(&p->lhs, DOT_BATCH);
  p->extents[DOT_ROW] = dot_extent(&p->lhs, DOT_ROW);
  p->extents[DOT_COLUMN] = dot_extent(&p->rhs, DOT_COLUMN);
  p->extents[DOT_DEPTH] = dot_extent(&p->lhs, DOT_DEPTH);
  p->stage_count = 1;
  p->stages[0] = 1;
  if (loom_type_elements(&p->type) == 0) return true; /* nothing to compute */
  p->lhs.known = dot_find_layout(kernel, &p->lhs);
  p->rhs.known = dot_find_layout(kernel, &p->rhs);
  p->element = dot_element;
  p->finish = dot_finish_sums;
  bool bytes = p->lhs.stored == LOOM_I8 && p->rhs.stored == LOOM_I8;
  p->factor = bytes ? LOOM_I8 : p->dtype;
  if (kernel->target == LANES_GPU) return gpu_dot_plan(kernel, p);
  int64_t packed = dot_registers(kernel, p);
  if (!dot_pairs_plan(kernel, p, dot_may_be_inner(p))) dot_choose_inner(kernel, p, packed);
  int64_t step = (int64_t)p->nv * p->vl, columns = p->extents[DOT_COLUMN];
  p->tiles = loom_num_ceil(p->extents[DOT_ROW], p->mr);
  p->panels = loom_num_ceil(columns, step);
  p->few_rows = !loom_num_at_most(p->mr, p->extents[DOT_ROW]);
  p->few_columns = LOOM_STRIDE_IS_SYM(columns) && !loom_num_at_most(step, columns);
  dot_packing(kernel, p);
  bool symbolic = false;
  for (int g = 0; g < DOT_GROUPS; g++)
    symbolic |= LOOM_STRIDE_IS_SYM(p->extents[g]);
  dot_depth_blocks(p);
  dot_sum_runs(p);
  if (symbolic)
    dot_chunks_symbolic(p);
  else
    dot_chunks(p), dot_divide(p);
  p->rows_first = dot_is_shallow(p);
  p->scratch = dot_tile_bytes(p) * (p->depth_block ? p->block_tiles * p->block_panels : 1);
  if (p->tiles_unit) p->scratch += 64; /* what the registers of tiles are like */
  int64_t rounds = p->rounds.batches * p->rounds.rows * p->rounds.columns;
  p->once = p->lhs.fixed || p->rhs.fixed;
  p->stages[0] = (p->lhs.fixed ? p->lhs.kept * p->lhs.round : 0) +
                 (p->rhs.fixed ? p->rhs.kept * p->rhs.round : 0);
  p->stage_count = p->once;
  int64_t packs = loom_num_mul(dot_round_packs(p), rounds);
  if (packs) p->stages[p->stage_count++] = packs;
  p->stages[p->stage_count++] =
      loom_num_mul(loom_num_mul(p->rounds.batch, rounds), loom_num_mul(p->chunks_m, p->chunks_n));
  return true;
}

/* ---- the schedule ---- */

/* `loom.launches`: stage, first chunk and number of chunks of each launch, where stages are not
 * simply run one after the other. */
static bool dot_write_launches(const lower_kernel *kernel, const dot_plan *p) {
  intptr_t count = 0;
  if (!dot_is_divided(p)) return true;
  dot_launch *launches = dot_launches(p, &count);
  if (!launches) return dot_refuse(p->op, "out of memory");
  _Static_assert(sizeof *launches == 3 * sizeof(int64_t), "three numbers in a row");
  loom_set_attr(kernel->op, loom_mark_launches,
                loom_attr_i64s(kernel->ctx, 3 * count, &launches->stage));
  free(launches);
  return true;
}

MlirOperation dot_find(const lower_kernel *kernel) { return loom_product_in(kernel->block); }

/* Rows, columns and steps of depth of a block's tile, rows and columns of a thread, or of a warp
 * (matrix), parts of the depth. */
static MlirAttribute dot_tile_attr(MlirContext ctx, const gpu_tile *block) {
  const int64_t sizes[] = {block->rows, block->columns, block->depth,
                           block->tall, block->wide,    block->splits};
  return loom_attr_i64s(ctx, 6, sizes);
}

bool dot_schedule(const lower_kernel *kernel, MlirOperation op) {
  dot_plan p;
  if (!dot_plan_make(kernel, op, &p)) return false;
  int64_t inplace[64];
  for (int i = 0; i < kernel->result_count; i++)
    inplace[i] = -1;
  MlirContext ctx = kernel->ctx;
  MlirAttribute unit = mlirUnitAttrGet(ctx), none = {NULL};
  bool gpu = kernel->target == LANES_GPU;
  const gpu_matrix *matrix = p.block.matrix;
  const loom_named values[] = {
      {"kind", loom_attr_str(ctx, "dot")},
      {"tile", gpu ? dot_tile_attr(ctx, &p.block) : none},
      {"matrix", matrix ? loom_attr_str(ctx, matrix->name) : none},
      {"mr", gpu ? none : loom_attr_i64(ctx, p.mr)},
      {"nv", gpu ? none : loom_attr_i64(ctx, p.nv)},
      {"inner", p.inner ? loom_attr_i64(ctx, p.inner) : none},
      {"pairs", p.pairs ? loom_attr_str(ctx, p.tiles_unit ? "amx" : "bf16") : none},
      {"vl", gpu ? none : loom_attr_i64(ctx, p.vl)},
      {"block_tiles", gpu ? none : loom_attr_i64(ctx, p.block_tiles)},
      {"block_panels", gpu ? none : loom_attr_i64(ctx, p.block_panels)},
      {"depth_block", gpu ? none : loom_attr_i64(ctx, p.depth_block)},
      {"pack_lhs", gpu ? none : mlirBoolAttrGet(ctx, !p.lhs.direct)},
      {"pack_rhs", gpu ? none : mlirBoolAttrGet(ctx, !p.rhs.direct)},
      {"rows_first", p.rows_first ? unit : none},
      {"symmetric", p.symmetric ? unit : none},
  };
  MlirNamedAttribute entries[sizeof values / sizeof *values];
  intptr_t count = 0;
  for (size_t i = 0; i < sizeof values / sizeof *values; i++)
    if (values[i].value.ptr)
      entries[count++] =
          mlirNamedAttributeGet(mlirIdentifierGet(ctx, loom_str(values[i].name)), values[i].value);
  loom_set_attr(kernel->op, "inplace", loom_attr_i64s(ctx, kernel->result_count, inplace));
  loom_set_attr(kernel->op, "stages", loom_attr_i64s(ctx, p.stage_count, p.stages));
  loom_set_attr(kernel->op, "scratch", loom_attr_i64(ctx, p.scratch));
  loom_set_attr(kernel->op, "slots", loom_attr_i64(ctx, p.slots));
  if (p.once) {
    loom_set_attr(kernel->op, loom_mark_kept, loom_attr_i64(ctx, p.kept));
    loom_set_attr(kernel->op, loom_mark_once_stages, loom_attr_i64(ctx, p.once));
  }
  loom_set_attr(kernel->op, "schedule", mlirDictionaryAttrGet(ctx, count, entries));
  return dot_write_launches(kernel, &p);
}
