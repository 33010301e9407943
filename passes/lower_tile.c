/* Transposed reads (lower.h).
 *
 * When an operand's consecutive elements lie along another loop than the lanes do, each tile of it
 * is first read along its own order, turned in registers in small squares and laid into scratch,
 * from where the body reads it like any other operand. Tiles are as large as a part of the second
 * cache: the longer the runs of consecutive elements, the better memory is used. Elements outside
 * of whole squares are copied one by one.
 *
 * The same makes short reductions along consecutive elements fast, such as distances between points
 * of a few coordinates: the lanes run along what is kept, and the operands that would then be read
 * across lie turned in panels, each of which serves many rows.
 */
#include "passes/gpu.h"
#include "passes/lower.h"

#include <string.h>

#define TILE_LARGEST 128
#define TILE_SMALLEST 16
#define TILE_BYTES 65536 /* of scratch for all operands */

static int tile_bytes(const lower *l) {
  int widest = 1;
  for (int k = 0; k < l->plan->tile_count; k++) {
    int size = (int)loom_dtype_size(l->accesses[l->plan->tiles[k]].dtype);
    if (size > widest) widest = size;
  }
  return widest;
}

/* Elements along the side of a square that is turned in registers: larger ones would use cache
 * lines better still, but take too long to compile. */
static int tile_square(const lower *l, loom_dtype dtype) {
  return loom_dtype_size(dtype) == 8 && l->kernel->vector_bytes < 64 ? 4 : 8;
}

static int tile_step(const lower *l) {
  int step = 1;
  for (int k = 0; k < l->plan->tile_count; k++) {
    int square = tile_square(l, l->accesses[l->plan->tiles[k]].dtype);
    if (square > step) step = square;
  }
  return step;
}

static bool tile_fits(const lower *l, const lower_access *a, int along) {
  int lane = l->plan->lanes.var;
  int64_t step = a->coef[lane];
  return !a->store && !a->opaque && !a->guarded && !loom_dtype_is_complex(a->dtype) && step != 0 &&
         step != 1 && step != -1 && a->coef[along] == 1;
}

/* Makes at least four strips of a large array, so that threads can share the work. */
static int tile_side(const lower *l, int64_t extent) {
  if (l->kernel->target == LANES_GPU) return GPU_TURN;
  int64_t bytes = l->plan->tile_count * tile_bytes(l);
  int side = TILE_LARGEST;
  extent = loom_num_hint(extent);
  while (side > 32 && (side * side * bytes > TILE_BYTES || 4 * side > extent))
    side /= 2;
  return side;
}

/* ---- panels ---- */

static bool panel_is_static(const lower_plan *plan) {
  for (int i = 0; i < plan->kept.count; i++)
    if (LOOM_STRIDE_IS_SYM(plan->kept.loops[i].extent)) return false;
  return plan->inner.count == 1 && !LOOM_STRIDE_IS_SYM(plan->inner.loops[0].extent);
}

/* Does every row outside of the lanes read the same elements? */
static bool panel_serves_rows(const lower_plan *plan, const lower_access *a) {
  for (int i = 0; i + 1 < plan->kept.count; i++)
    if (a->coef[plan->kept.loops[i].var]) return false;
  return true;
}

/* With lanes along variable `lane`: is this access one of whole registers or of one element, or can
 * it be made so by a panel? */
static bool panel_allows(lower *l, int number, int lane) {
  lower_plan *plan = l->plan;
  const lower_access *a = &l->accesses[number];
  int64_t step = a->coef[lane], along = a->coef[plan->inner.loops[0].var];
  if (a->opaque || a->guarded) return false;
  if (step == 1 || (step == 0 && !a->store)) return true;
  if (a->store || step == -1 || along != 1 || plan->tile_count == LOWER_TILES ||
      !panel_serves_rows(plan, a))
    return false;
  plan->tiles[plan->tile_count++] = number;
  return true;
}

/* Lets the lanes of a reduction run along what is kept. A panel that serves one row only pays for
 * whole squares, and few of them. */
static void panel_find(lower *l) {
  lower_plan *plan = l->plan;
  lower_loop lanes = plan->kept.loops[plan->kept.count - 1], inner = plan->inner.loops[0];
  if (!plan->reduced || plan->scan_count || plan->read_elsewhere || lanes.var < 0 ||
      l->kernel->target == LANES_GPU || lower_plan_any_full(l) || !panel_is_static(plan) ||
      lanes.extent < 32 || inner.var < 0 || inner.extent > 64 ||
      (plan->kept.rows < 8 && inner.extent != 8 && inner.extent != 16))
    return;
  for (int g = 0; g < plan->group_count; g++)
    if (!plan->groups[g].primary) return;
  bool good = true;
  for (int i = 0; good && i < l->access_count; i++)
    good = panel_allows(l, i, lanes.var);
  if (good && plan->tile_count) plan->tile_side = tile_side(l, lanes.extent);
  plan->panel = good && plan->tile_count && plan->tile_side >= inner.extent;
  if (plan->panel) {
    plan->lane_reduced = false;
    plan->lanes.var = lanes.var;
  } else {
    plan->tile_count = 0;
  }
}

/* The loop along which turned operands are contiguous. */
static lower_loop tile_along(const lower_plan *plan) {
  return plan->panel ? plan->inner.loops[0] : plan->kept.loops[plan->tile_loop];
}

void lower_tile_find(lower *l) {
  lower_plan *plan = l->plan;
  plan->tile_loop = -1;
  panel_find(l);
  if (plan->reduced || plan->mix || plan->scan_count || plan->group_count || plan->lanes.var < 0 ||
      plan->kept.count < 2 ||
      loom_num_hint(plan->kept.loops[plan->kept.count - 1].extent) < TILE_SMALLEST)
    return;
  for (int j = plan->kept.count - 2; j >= 0 && plan->tile_loop < 0; j--) {
    lower_loop loop = plan->kept.loops[j];
    if (loom_num_hint(loop.extent) < TILE_SMALLEST) continue;
    for (int i = 0; i < l->access_count && plan->tile_count < LOWER_TILES; i++)
      if (tile_fits(l, &l->accesses[i], loop.var)) {
        plan->tile_loop = j;
        plan->tiles[plan->tile_count++] = i;
      }
  }
  if (plan->tile_loop < 0) return;
  plan->tile_side = tile_side(l, plan->kept.loops[plan->tile_loop].extent);
}

static int64_t tile_place(const lower *l, int tile) {
  return (int64_t)tile * l->plan->tile_side * l->plan->tile_side * tile_bytes(l);
}

int64_t lower_tile_scratch(const lower *l) {
  return l->kernel->target == LANES_GPU ? 0 : tile_place(l, l->plan->tile_count);
}

int64_t lower_tile_units(const lower_plan *plan) {
  int64_t units = loom_num_ceil(plan->kept.loops[plan->tile_loop].extent, plan->tile_side);
  for (int i = 0; i + 1 < plan->kept.count; i++)
    if (i != plan->tile_loop) units = loom_num_mul(units, plan->kept.loops[i].extent);
  return units;
}

/* ---- turning a square ---- */

/* The low or high halves of two registers' 128-bit lanes of `lane` elements, in turns of `group`.
 */
static MlirValue tile_unpack(loom_builder *b, MlirValue x, MlirValue y, int size, int lane,
                             int group, int high) {
  int64_t elements[64];
  for (int i = 0; i < size; i++) {
    int at = i % lane, turn = at / group;
    elements[i] = i - at + high * lane / 2 + turn / 2 * group + at % group + (turn % 2 ? size : 0);
  }
  return lane_shuffle2(b, x, y, size, elements);
}

/* The even or odd 128-bit lanes of two registers. */
static MlirValue tile_lanes(loom_builder *b, MlirValue x, MlirValue y, int size, int lane,
                            int odd) {
  int64_t elements[64];
  for (int i = 0; i < size; i++)
    elements[i] = (2 * (i / lane) + odd) * lane + i % lane;
  return lane_shuffle2(b, x, y, size, elements);
}

void lower_turn(loom_builder *b, MlirValue *rows, int size, int bytes, int *order) {
  int lane = 16 / bytes < size ? 16 / bytes : size;
  for (int step = 1; step < size; step *= 2)
    for (int i = 0; i < size; i++) {
      if (i & step) continue;
      MlirValue x = rows[i], y = rows[i + step];
      for (int k = 0; k < 2; k++)
        rows[i + k * step] = step < lane ? tile_unpack(b, x, y, size, lane, step, k)
                                         : tile_lanes(b, x, y, size, lane, k);
    }
  for (int i = 0; i < size; i++) {
    order[i] = i & ~(lane - 1);
    for (int step = 1, mirror = lane / 2; step < lane; step *= 2, mirror /= 2)
      if (i & step) order[i] += mirror;
  }
}

/* ---- packing ---- */

typedef struct tile_state {
  MlirValue t0, x0, t1, x1; /* the tile's rows [t0, t1) and lanes [x0, x1) */
  MlirValue x;              /* while packing */
} tile_state;

static MlirValue tile_scratch(lower *l, loom_builder *b, int tile, MlirValue row, MlirValue column,
                              loom_dtype dtype) {
  MlirValue place = lane_address(b, l->scratch, lower_int(l, tile_place(l, tile)).v, LOOM_I8);
  MlirValue offset = lane_op2(b, "arith.muli", row, lower_int(l, l->plan->tile_side).v);
  return lane_address(b, place, lane_op2(b, "arith.addi", offset, column), dtype);
}

loom_dtype lower_tile_dtype(const lower_access *a) {
  if (loom_dtype_is_half(a->dtype)) return LOOM_I16;
  return a->dtype == LOOM_BOOL ? LOOM_I8 : a->dtype;
}

MlirValue lower_tile_source(lower *l, loom_builder *b, const lower_access *a) {
  lower_index index = {0};
  lower_value offset;
  memcpy(index.coef, a->coef, sizeof index.coef);
  index.constant = a->constant;
  if (!lower_index_base(l, &index, &offset)) offset = lower_int(l, 0);
  return lane_address(b, l->pointers[l->kernel->operands[a->operand].slot], offset.v,
                      lower_tile_dtype(a));
}

/* Its place in the tile. */
static MlirValue tile_target(lower *l, loom_builder *b, const tile_state *state, int tile) {
  MlirValue row = l->vars[tile_along(l->plan).var].iv;
  MlirValue column = l->vars[l->plan->lanes.var].iv;
  return tile_scratch(l, b, tile, lane_op2(b, "arith.subi", row, state->t0),
                      lane_op2(b, "arith.subi", column, state->x0),
                      lower_tile_dtype(&l->accesses[l->plan->tiles[tile]]));
}

static MlirValue tile_beside(lower *l, loom_builder *b, MlirValue place, int64_t elements,
                             loom_dtype dtype) {
  return elements ? lane_address(b, place, lower_int(l, elements).v, dtype) : place;
}

/* The square dx lanes and dt rows on from `source`, into `target`. */
static void tile_pack_square(lower *l, loom_builder *b, const lower_access *a, MlirValue source,
                             MlirValue target, int dx, int dt) {
  loom_dtype dtype = lower_tile_dtype(a);
  int size = tile_square(l, a->dtype), order[64];
  MlirValue rows[64], none = {NULL};
  for (int p = 0; p < size; p++) {
    int64_t at = loom_num_add(loom_num_mul(dx + p, a->coef[l->plan->lanes.var]), dt);
    rows[p] = lane_load(b, tile_beside(l, b, source, at, dtype), dtype, size, none);
  }
  lower_turn(b, rows, size, (int)loom_dtype_size(a->dtype), order);
  for (int q = 0; q < size; q++) {
    int64_t at = (dt + order[q]) * l->plan->tile_side + dx;
    lane_store(b, rows[q], tile_beside(l, b, target, at, dtype), dtype, none);
  }
}

static void tile_pack_squares(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  int step = tile_step(l);
  loom_builder b = lower_at_level(l, l->depth);
  for (int k = 0; k < l->plan->tile_count; k++) {
    const lower_access *a = &l->accesses[l->plan->tiles[k]];
    int size = tile_square(l, a->dtype);
    MlirValue source = lower_tile_source(l, &b, a), target = tile_target(l, &b, user, k);
    for (int dx = 0; dx < step; dx += size)
      for (int dt = 0; dt < step; dt += size)
        tile_pack_square(l, &b, a, source, target, dx, dt);
  }
}

static void tile_pack_element(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  loom_builder b = lower_at_level(l, l->depth);
  for (int k = 0; k < l->plan->tile_count; k++) {
    const lower_access *a = &l->accesses[l->plan->tiles[k]];
    loom_dtype dtype = lower_tile_dtype(a);
    MlirValue v = lane_load(&b, lower_tile_source(l, &b, a), dtype, 1, (MlirValue){NULL});
    lane_store(&b, v, tile_target(l, &b, user, k), dtype, (MlirValue){NULL});
  }
}

/* A loop over rows [low, high) of the lanes that are packed now. */
typedef struct tile_rows {
  tile_state *state;
  MlirValue low, high;
  int64_t step;
  lower_body body;
} tile_rows;

static void tile_pack_rows(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_rows *rows = user;
  int along = tile_along(l->plan).var;
  lower_for(l, rows->low, rows->high, lower_int(l, rows->step).v, along, 0, NULL, rows->body,
            rows->state, NULL);
}

/* Squares, then the rows below them, then the lanes beside both. */
static void tile_pack(lower *l, tile_state *state) {
  int64_t step = tile_step(l), rows = tile_along(l->plan).extent;
  int64_t lanes = l->plan->kept.loops[l->plan->kept.count - 1].extent;
  int lane = l->plan->lanes.var;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue down = lower_int(l, -step).v, steps = lower_int(l, step).v, one = lower_int(l, 1).v;
  MlirValue t = lane_op2(&b, "arith.andi", state->t1, down);
  MlirValue x = lane_op2(&b, "arith.andi", state->x1, down);
  tile_rows whole = {state, state->t0, t, step, tile_pack_squares};
  lower_for(l, state->x0, x, steps, lane, 0, NULL, tile_pack_rows, &whole, NULL);
  tile_rows below = {state, t, state->t1, 1, tile_pack_element};
  if (!loom_num_multiple(rows, step))
    lower_for(l, state->x0, x, one, lane, 0, NULL, tile_pack_rows, &below, NULL);
  tile_rows beside = {state, state->t0, state->t1, 1, tile_pack_element};
  if (!loom_num_multiple(lanes, step))
    lower_for(l, x, state->x1, one, lane, 0, NULL, tile_pack_rows, &beside, NULL);
}

/* ---- the body over a tile ---- */

typedef struct tile_body {
  tile_state state;
  lower_body body; /* one vector of results */
} tile_body;

static void tile_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_body *tile = user;
  const lower_plan *plan = l->plan;
  struct lower_bound *outer = l->bound;
  loom_builder b = lower_at_level(l, l->depth);
  int along = plan->kept.loops[plan->tile_loop].var;
  MlirValue row = lane_op2(&b, "arith.subi", l->vars[along].iv, tile->state.t0);
  MlirValue column = lane_op2(&b, "arith.subi", l->vars[plan->lanes.var].iv, tile->state.x0);
  for (int k = 0; k < plan->tile_count; k++) {
    const lower_access *a = &l->accesses[plan->tiles[k]];
    MlirValue place = tile_scratch(l, &b, k, row, column, a->dtype);
    MlirValue v = lane_load(&b, place, a->dtype, l->width, l->mask);
    lower_value value = {lower_repeat_first(l, &b, v), l->depth, true, a->dtype};
    lower_bind(l, l->kernel->operands[a->operand].value, a->at, value);
  }
  tile->body(l, NULL, NULL, NULL);
  l->bound = outer;
}

static void tile_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_body *tile = user;
  const lower_lanes *lanes = &l->plan->lanes;
  MlirValue split = lower_lane_split(l, lanes, tile->state.x1);
  lower_lane_main(l, lanes, tile->state.x0, split, 0, NULL, tile_vector, tile, NULL);
  lower_lane_tail(l, lanes, split, tile->state.x1, 0, NULL, tile_vector, tile, NULL);
}

/* The end of a tile that starts here. */
static MlirValue tile_end(lower *l, MlirValue start, int64_t extent) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue end = lane_op2(&b, "arith.addi", start, lower_int(l, l->plan->tile_side).v);
  if (loom_num_multiple(extent, l->plan->tile_side)) return end;
  return lane_op2(&b, "arith.minsi", end, lower_int(l, extent).v);
}

static void tile_one(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_body *tile = user;
  const lower_nest *kept = &l->plan->kept;
  tile->state.x0 = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  tile->state.x1 = tile_end(l, tile->state.x0, kept->loops[kept->count - 1].extent);
  tile_pack(l, &tile->state);
  lower_for(l, tile->state.t0, tile->state.t1, lower_int(l, 1).v,
            kept->loops[l->plan->tile_loop].var, 0, NULL, tile_row, tile, NULL);
}

/* One strip of rows: unit number -> other rows, then tile by tile. */
void lower_tile_unit(lower *l, MlirValue unit, lower_body body) {
  const lower_plan *plan = l->plan;
  lower_loop along = plan->kept.loops[plan->tile_loop];
  int64_t strips = loom_num_ceil(along.extent, plan->tile_side);
  loom_builder b = lower_at_level(l, l->depth);
  lower_nest others = plan->kept;
  int n = 0;
  for (int i = 0; i + 1 < plan->kept.count; i++)
    if (i != plan->tile_loop) others.loops[n++] = plan->kept.loops[i];
  MlirValue count = lower_divisor(l, strips).v, side = lower_int(l, plan->tile_side).v;
  lower_row_vars(l, &others, n, lane_op2(&b, "arith.divui", unit, count));
  tile_body tile = {.body = body};
  tile.state.t0 = lane_op2(&b, "arith.muli", lane_op2(&b, "arith.remui", unit, count), side);
  tile.state.t1 = tile_end(l, tile.state.t0, along.extent);
  MlirValue lanes = lower_int(l, plan->kept.loops[plan->kept.count - 1].extent).v;
  lower_for(l, lower_int(l, 0).v, lanes, side, -1, 0, NULL, tile_one, &tile, NULL);
  for (int i = 0; i < n; i++)
    if (others.loops[i].var >= 0) l->vars[others.loops[i].var].iv.ptr = NULL;
}

/* ---- panels ---- */

int64_t lower_panel_units(const lower_plan *plan, int64_t rows) {
  int64_t strips = loom_num_ceil(plan->kept.loops[plan->kept.count - 1].extent, plan->tile_side);
  return loom_num_mul(strips, loom_num_ceil(plan->kept.rows, rows));
}

bool lower_panel_load(lower *l, int operand, const lower_at *at, lower_value *out) {
  const lower_plan *plan = l->plan;
  for (int k = 0; l->panel_x0.ptr && k < plan->tile_count; k++) {
    const lower_access *a = &l->accesses[plan->tiles[k]];
    if (a->operand != operand || a->at != at) continue;
    const lower_var *row = &l->vars[tile_along(plan).var], *lane = &l->vars[plan->lanes.var];
    int level = row->level > lane->level ? row->level : lane->level;
    loom_builder b = lower_at_level(l, level);
    MlirValue column = lane_op2(&b, "arith.subi", lane->iv, l->panel_x0);
    MlirValue place = tile_scratch(l, &b, k, row->iv, column, a->dtype);
    MlirValue v = lane_load(&b, place, a->dtype, l->width, l->mask);
    *out = (lower_value){lower_repeat_first(l, &b, v), level, true, a->dtype};
    return true;
  }
  return false;
}

static void panel_vector(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_body *tile = user;
  tile->body(l, NULL, NULL, NULL);
}

static void panel_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_body *tile = user;
  const lower_nest *kept = &l->plan->kept;
  const lower_lanes *lanes = &l->plan->lanes;
  lower_row_vars(l, kept, kept->count - 1, mlirBlockGetArgument(l->scopes[l->depth].block, 0));
  MlirValue split = lower_lane_split(l, lanes, tile->state.x1);
  lower_lane_main(l, lanes, tile->state.x0, split, 0, NULL, panel_vector, tile, NULL);
  lower_lane_tail(l, lanes, split, tile->state.x1, 0, NULL, panel_vector, tile, NULL);
  for (int i = 0; i + 1 < kept->count; i++)
    l->vars[kept->loops[i].var].iv.ptr = NULL;
}

/* Packs the panels of a strip of lanes, then makes those lanes of `rows` rows. */
void lower_panel_unit(lower *l, MlirValue unit, int64_t rows, lower_body body) {
  const lower_plan *plan = l->plan;
  lower_loop lanes = plan->kept.loops[plan->kept.count - 1];
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue strips = lower_divisor(l, loom_num_ceil(lanes.extent, plan->tile_side)).v;
  MlirValue strip = lane_op2(&b, "arith.remui", unit, strips), count = lower_int(l, rows).v;
  MlirValue low = lane_op2(&b, "arith.muli", lane_op2(&b, "arith.divui", unit, strips), count);
  MlirValue high = lane_op2(&b, "arith.addi", low, count);
  high = lane_op2(&b, "arith.minsi", high, lower_int(l, plan->kept.rows).v);
  tile_body tile = {.body = body};
  tile.state.t0 = lower_int(l, 0).v;
  tile.state.t1 = lower_int(l, tile_along(plan).extent).v;
  tile.state.x0 = lane_op2(&b, "arith.muli", strip, lower_int(l, plan->tile_side).v);
  tile.state.x1 = tile_end(l, tile.state.x0, lanes.extent);
  tile_pack(l, &tile.state);
  l->panel_x0 = tile.state.x0;
  lower_for(l, low, high, lower_int(l, 1).v, -1, 0, NULL, panel_row, &tile, NULL);
  l->panel_x0.ptr = NULL;
}
