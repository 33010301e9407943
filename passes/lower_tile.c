/* Transposed reads (lower.h).
 *
 * When an operand's consecutive elements lie along another loop than the lanes do, each tile of it,
 * TILE by TILE elements, is first read along its own order, turned in registers in small squares
 * and laid into scratch, from where the body reads it like any other operand. What is left beside
 * whole tiles is gathered element by element.
 */
#include "passes/lower.h"

#include <string.h>

#define TILE 32

static bool tile_fits(const lower *l, const lower_access *a, int along) {
  int lane = l->plan->lanes.var;
  int64_t step = a->coef[lane];
  return !a->store && !a->opaque && !a->guarded && step != 0 && step != 1 && step != -1 &&
         a->coef[along] == 1;
}

void lower_tile_find(lower *l) {
  lower_plan *plan = l->plan;
  plan->tile_loop = -1;
  if (plan->reduced || plan->scan_count || plan->group_count || plan->lanes.var < 0 ||
      l->kernel->target == LANES_GPU || plan->kept.count < 2 ||
      plan->kept.loops[plan->kept.count - 1].extent < TILE)
    return;
  for (int j = plan->kept.count - 2; j >= 0 && plan->tile_loop < 0; j--) {
    lower_loop loop = plan->kept.loops[j];
    if (loop.extent < TILE) continue;
    for (int i = 0; i < l->access_count && plan->tile_count < LOWER_TILES; i++)
      if (tile_fits(l, &l->accesses[i], loop.var)) {
        plan->tile_loop = j;
        plan->tiles[plan->tile_count++] = i;
      }
  }
}

int64_t lower_tile_scratch(const lower *l) {
  return l->plan->tile_loop < 0 ? 0 : (int64_t)l->plan->tile_count * TILE * TILE * 8;
}

int64_t lower_tile_units(const lower_plan *plan) {
  int64_t extent = plan->kept.loops[plan->tile_loop].extent;
  return plan->kept.rows / extent * ((extent + TILE - 1) / TILE);
}

int lower_tile_size(void) { return TILE; }

/* ---- packing ---- */

typedef struct tile_state {
  MlirValue t0, x0;  /* the tile's first row and lane */
  MlirValue block_x; /* while packing */
} tile_state;

static MlirValue tile_scratch(lower *l, loom_builder *b, int tile, MlirValue row, MlirValue column,
                              loom_dtype dtype) {
  MlirValue base = lower_int(l, (int64_t)tile * TILE * TILE * 8).v;
  MlirValue place = lane_address(b, l->scratch, base, LOOM_I8);
  MlirValue offset = lane_op2(b, "arith.muli", row, lower_int(l, TILE).v);
  return lane_address(b, place, lane_op2(b, "arith.addi", offset, column), dtype);
}

/* Exchanges the halves of two rows that lie on the wrong side of the diagonal, for rows `step`
 * apart; after all powers of two the square is transposed. */
static void tile_turn(loom_builder *b, MlirValue *rows, int size) {
  for (int step = size / 2; step; step /= 2)
    for (int i = 0; i < size; i++) {
      if (i & step) continue;
      MlirValue low = rows[i], high = rows[i + step];
      int64_t first[16], second[16];
      for (int c = 0; c < size; c++) {
        first[c] = c & step ? size + c - step : c;
        second[c] = c & step ? size + c : c + step;
      }
      rows[i] = lane_shuffle2(b, low, high, size, first);
      rows[i + step] = lane_shuffle2(b, low, high, size, second);
    }
}

static void tile_pack_square(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_state *state = user;
  const lower_plan *plan = l->plan;
  int lane = plan->lanes.var, along = plan->kept.loops[plan->tile_loop].var;
  MlirValue block_t = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  loom_builder b = lower_at_level(l, l->depth);
  lower_var saved_lane = l->vars[lane], saved_along = l->vars[along];
  l->vars[lane] = (lower_var){saved_lane.extent,
                              lane_op2(&b, "arith.addi", state->x0, state->block_x), l->depth};
  l->vars[along] =
      (lower_var){saved_along.extent, lane_op2(&b, "arith.addi", state->t0, block_t), l->depth};
  for (int k = 0; k < plan->tile_count; k++) {
    const lower_access *a = &l->accesses[plan->tiles[k]];
    const lower_buffer *buffer = &l->kernel->operands[a->operand];
    int size = loom_dtype_size(a->dtype) == 8 ? 4 : 8;
    for (int half = 0; half < 8 / size * (8 / size); half++) {
      int dx = half / (8 / size) * size, dt = half % (8 / size) * size;
      MlirValue rows[16];
      for (int p = 0; p < size; p++) {
        lower_index index = {0};
        memcpy(index.coef, a->coef, sizeof index.coef);
        index.constant = a->constant + (dx + p) * a->coef[lane] + dt;
        lower_value offset;
        if (!lower_index_base(l, &index, &offset)) offset = lower_int(l, 0);
        MlirValue place = lane_address(&b, l->pointers[buffer->slot], offset.v, a->dtype);
        rows[p] = lane_load(&b, place, a->dtype, size, (MlirValue){NULL});
      }
      tile_turn(&b, rows, size);
      for (int q = 0; q < size; q++) {
        MlirValue row = lane_op2(&b, "arith.addi", block_t, lower_int(l, dt + q).v);
        MlirValue column = lane_op2(&b, "arith.addi", state->block_x, lower_int(l, dx).v);
        lane_store(&b, rows[q], tile_scratch(l, &b, k, row, column, a->dtype), a->dtype,
                   (MlirValue){NULL});
      }
    }
  }
  l->vars[lane] = saved_lane;
  l->vars[along] = saved_along;
}

static void tile_pack(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_state *state = user;
  state->block_x = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  lower_for(l, lower_int(l, 0).v, lower_int(l, TILE).v, lower_int(l, 8).v, -1, 0, NULL,
            tile_pack_square, state, NULL);
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
    lower_value v = {lane_load(&b, place, a->dtype, l->width, (MlirValue){NULL}), l->depth, true,
                     a->dtype};
    lower_bind(l, l->kernel->operands[a->operand].value, a->at, v);
  }
  tile->body(l, NULL, NULL, NULL);
  l->bound = outer;
}

static void tile_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_body *tile = user;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue high = lane_op2(&b, "arith.addi", tile->state.x0, lower_int(l, TILE).v);
  lower_lane_main(l, &l->plan->lanes, tile->state.x0, high, 0, NULL, tile_vector, tile, NULL);
}

static void tile_one(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  tile_body *tile = user;
  tile->state.x0 = mlirBlockGetArgument(l->scopes[l->depth].block, 0);
  lower_for(l, lower_int(l, 0).v, lower_int(l, TILE).v, lower_int(l, 8).v, -1, 0, NULL, tile_pack,
            &tile->state, NULL);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue end = lane_op2(&b, "arith.addi", tile->state.t0, lower_int(l, TILE).v);
  lower_for(l, tile->state.t0, end, lower_int(l, 1).v, l->plan->kept.loops[l->plan->tile_loop].var,
            0, NULL, tile_row, tile, NULL);
}

typedef struct tile_rest {
  MlirValue low, high;
  lower_body body;
} tile_rest;

static void tile_rest_row(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const tile_rest *rest = user;
  const lower_lanes *lanes = &l->plan->lanes;
  MlirValue split = lower_lane_split(l, lanes, rest->high);
  lower_lane_main(l, lanes, rest->low, split, 0, NULL, rest->body, NULL, NULL);
  lower_lane_tail(l, lanes, split, rest->high, 0, NULL, rest->body, NULL, NULL);
}

/* One strip of TILE rows: unit number -> other rows, then whole tiles, then what is left. */
void lower_tile_unit(lower *l, MlirValue unit, lower_body body) {
  const lower_plan *plan = l->plan;
  lower_loop along = plan->kept.loops[plan->tile_loop];
  int64_t strips = (along.extent + TILE - 1) / TILE,
          lanes = plan->kept.loops[plan->kept.count - 1].extent;
  loom_builder b = lower_at_level(l, l->depth);
  lower_nest others = plan->kept;
  int n = 0;
  for (int i = 0; i + 1 < plan->kept.count; i++)
    if (i != plan->tile_loop) others.loops[n++] = plan->kept.loops[i];
  MlirValue count = lower_int(l, strips).v, size = lower_int(l, TILE).v,
            extent = lower_int(l, along.extent).v;
  lower_row_vars(l, &others, n, lane_op2(&b, "arith.divui", unit, count));
  tile_body tile = {
      {lane_op2(&b, "arith.muli", lane_op2(&b, "arith.remui", unit, count), size), {NULL}, {NULL}},
      body};
  MlirValue end = lane_op2(&b, "arith.addi", tile.state.t0, size);
  MlirValue whole = lane_cmpi(&b, "sle", end, extent), zero = lower_int(l, 0).v;
  MlirValue stop = lane_select(&b, whole, lower_int(l, lanes / TILE * TILE).v, zero);
  lower_for(l, zero, stop, size, -1, 0, NULL, tile_one, &tile, NULL);
  if (lanes % TILE || along.extent % TILE) {
    tile_rest rest = {stop, lower_int(l, lanes).v, body};
    MlirValue last = lane_select(&b, whole, end, extent);
    lower_for(l, tile.state.t0, last, lower_int(l, 1).v, along.var, 0, NULL, tile_rest_row, &rest,
              NULL);
  }
  for (int i = 0; i < n; i++)
    if (others.loops[i].var >= 0) l->vars[others.loops[i].var].iv.ptr = NULL;
}
