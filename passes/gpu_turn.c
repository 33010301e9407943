/* Operands whose consecutive elements lie along another loop than the lanes do (lower_tile.c), on a
 * GPU: a block has a tile of 32 lanes by 32 rows of that loop.
 *
 *   threads that follow each other read elements that do, and lay them into shared memory; barrier
 *   threads that follow each other take lanes that do, of row after row, and find the operands
 * there
 *
 * In shared memory the elements of two lanes are 33 elements apart, so that neither accesses along
 * a row of the tile nor those along a column wait for one bank.
 */
#include "passes/gpu.h"

#define TURN_ROWS (GPU_BLOCK / GPU_TURN) /* that the threads have at once */
#define TURN_PITCH (GPU_TURN + 1)

typedef struct turn_tile {
  lower_body body;
  MlirValue memory[LOWER_TILES];
  MlirValue t0, x0;     /* the tile's first row and lane */
  MlirValue fast, slow; /* of the thread: along the side that follows it, and the other one */
} turn_tile;

static int64_t turn_lanes(const lower_plan *plan) {
  return plan->kept.loops[plan->kept.count - 1].extent;
}

static int64_t turn_strips(const lower_plan *plan) {
  return loom_num_ceil(turn_lanes(plan), GPU_TURN);
}

int64_t gpu_turn_units(const lower_plan *plan) {
  return loom_num_mul(lower_tile_units(plan), turn_strips(plan));
}

/* ---- places ---- */

static MlirValue turn_op(lower *l, const char *name, MlirValue x, int64_t y) {
  loom_builder b = lower_at_level(l, l->depth);
  return lane_op2(&b, name, x, lower_int(l, y).v);
}

/* The element of the tile that lies `row` down from `lane`. */
static MlirValue turn_place(lower *l, const turn_tile *tile, int k, MlirValue lane, MlirValue row,
                            loom_dtype dtype) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue at = lane_op2(&b, "arith.muli", lane, lower_int(l, TURN_PITCH).v);
  return lane_address(&b, tile->memory[k], lane_op2(&b, "arith.addi", at, row), dtype);
}

typedef struct turn_one {
  const turn_tile *tile;
  MlirValue lane, row; /* in the tile */
} turn_one;

/* `body` for an element of the tile, whose lane and row the variables have, if it is there. */
static void turn_element(lower *l, turn_tile *tile, MlirValue lane, MlirValue row,
                         lower_body body) {
  const lower_plan *plan = l->plan;
  lower_loop along = plan->kept.loops[plan->tile_loop];
  lower_var *x = &l->vars[plan->lanes.var], *t = &l->vars[along.var], xs = *x, ts = *t;
  lower_push(l, l->scopes[l->depth].block);
  loom_builder b = lower_at_level(l, l->depth);
  x->iv = lane_op2(&b, "arith.addi", tile->x0, lane);
  t->iv = lane_op2(&b, "arith.addi", tile->t0, row);
  MlirValue inside = lane_cmpi(&b, "slt", x->iv, lower_int(l, turn_lanes(plan)).v);
  MlirValue there = lane_cmpi(&b, "slt", t->iv, lower_int(l, along.extent).v);
  inside = lane_op2(&b, "arith.andi", inside, there);
  /* What is made for an element is made within the branch. */
  x->level = t->level = l->depth + 1;
  turn_one one = {tile, lane, row};
  lower_if(l, inside, body, &one);
  lower_pop(l);
  *x = xs;
  *t = ts;
}

/* ---- the two halves ---- */

static void turn_load(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const turn_one *one = user;
  for (int k = 0; k < l->plan->tile_count; k++) {
    const lower_access *a = &l->accesses[l->plan->tiles[k]];
    loom_dtype dtype = lower_tile_dtype(a);
    loom_builder b = lower_at_level(l, l->depth);
    MlirValue v = lane_load(&b, lower_tile_source(l, &b, a), dtype, 1, (MlirValue){NULL});
    MlirValue place = turn_place(l, one->tile, k, one->lane, one->row, dtype);
    b = lower_at_level(l, l->depth);
    lane_store(&b, v, place, dtype, (MlirValue){NULL});
  }
}

static void turn_use(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const turn_one *one = user;
  struct lower_bound *outer = l->bound;
  for (int k = 0; k < l->plan->tile_count; k++) {
    const lower_access *a = &l->accesses[l->plan->tiles[k]];
    MlirValue place = turn_place(l, one->tile, k, one->lane, one->row, lower_tile_dtype(a));
    loom_builder b = lower_at_level(l, l->depth);
    lower_value value = {lane_load(&b, place, a->dtype, 1, (MlirValue){NULL}), l->depth, false,
                         a->dtype};
    lower_bind(l, l->kernel->operands[a->operand].value, a->at, value);
  }
  one->tile->body(l, NULL, NULL, NULL);
  l->bound = outer;
}

static void turn_loads(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  turn_tile *tile = user;
  MlirValue from = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  turn_element(l, tile, lane_op2(&b, "arith.addi", from, tile->slow), tile->fast, turn_load);
}

static void turn_uses(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  turn_tile *tile = user;
  MlirValue from = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  turn_element(l, tile, tile->fast, lane_op2(&b, "arith.addi", from, tile->slow), turn_use);
}

static void turn_memory(lower *l, turn_tile *tile) {
  int bytes = 0;
  for (int k = 0; k < l->plan->tile_count; k++) {
    int size = (int)loom_dtype_size(l->accesses[l->plan->tiles[k]].dtype);
    bytes = (bytes + 15) / 16 * 16 + GPU_TURN * TURN_PITCH * size;
  }
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue memory = gpu_shared(l, &b, bytes);
  for (int k = 0, at = 0; k < l->plan->tile_count; k++) {
    int size = (int)loom_dtype_size(l->accesses[l->plan->tiles[k]].dtype);
    at = (at + 15) / 16 * 16;
    tile->memory[k] = lane_address(&b, memory, lower_int(l, at).v, LOOM_I8);
    at += GPU_TURN * TURN_PITCH * size;
  }
}

/* Unit number -> other rows, then the strip of rows, then that of lanes. */
void gpu_turn_unit(lower *l, MlirValue unit, lower_body body) {
  const lower_plan *plan = l->plan;
  lower_nest others = plan->kept;
  int64_t down = loom_num_ceil(plan->kept.loops[plan->tile_loop].extent, GPU_TURN);
  int n = 0;
  for (int i = 0; i + 1 < plan->kept.count; i++)
    if (i != plan->tile_loop) others.loops[n++] = plan->kept.loops[i];
  turn_tile tile = {.body = body};
  MlirValue strip = turn_op(l, "arith.divui", unit, turn_strips(plan));
  tile.x0 = turn_op(l, "arith.remui", unit, turn_strips(plan));
  tile.x0 = turn_op(l, "arith.muli", tile.x0, GPU_TURN);
  tile.t0 = turn_op(l, "arith.remui", strip, down);
  tile.t0 = turn_op(l, "arith.muli", tile.t0, GPU_TURN);
  lower_row_vars(l, &others, n, turn_op(l, "arith.divui", strip, down));
  tile.fast = turn_op(l, "arith.remui", l->team.member, GPU_TURN);
  tile.slow = turn_op(l, "arith.divui", l->team.member, GPU_TURN);
  turn_memory(l, &tile);
  MlirValue low = lower_int(l, 0).v, high = lower_int(l, GPU_TURN).v;
  MlirValue step = lower_int(l, TURN_ROWS).v;
  lower_for(l, low, high, step, -1, 0, NULL, turn_loads, &tile, NULL);
  loom_builder b = lower_at_level(l, l->depth);
  gpu_barrier(l, &b);
  lower_for(l, low, high, step, -1, 0, NULL, turn_uses, &tile, NULL);
  for (int i = 0; i < n; i++)
    if (others.loops[i].var >= 0) l->vars[others.loops[i].var].iv.ptr = NULL;
}
