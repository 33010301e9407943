/* Numbers brought into the order of their keys, on a GPU (gpu.h).
 *
 *   stage 0     a block sorts a tile of up to 2,048 places in shared memory: of a line, or of
 * several short ones, whose places are a power of two stage s     runs of 2,048 x 2^(s - 1) places
 * are merged in pairs: each place looks for where it goes, which is its rank in its own run and, by
 * a binary search, in the other one
 *
 * A key and its number are compared as one. So no two are equal, the order is a stable one, and it
 * depends neither on threads nor on how a tile is sorted, which is by Batcher's bitonic network:
 *
 *   for a = 1, 2, ... log2(places); for b = a - 1, ... 0; for each place without bit b:
 *     it and the place with bit b change where they are in the wrong order: ascending if bit a of
 *     the place is 0, descending if it is 1
 *
 * Threads of a warp go through pairs that follow each other, so that they access 32 of 64 places:
 * those whose bit b is 0, or those where it is 1. In shared memory the tile lies with the last five
 * bits of a place inverted where the sixth one is 1. So two of 64 places are in one bank only where
 * they differ in all six bits, of which one is bit b: no request has both. Of keys of 8 bytes half
 * a warp makes a request, and all of this has one bit less.
 *
 * Places beyond a line's end have the greatest key and number. Between stages keys and numbers lie
 * in the slots, by turns in two halves.
 */
#include "passes/alone.h"
#include "passes/gpu.h"

#define ORDER_TILE 2048 /* places that a block sorts: of 12 bytes each */

/* ---- sizes ---- */

static int order_log2(int64_t n) {
  int log = 0;
  while ((INT64_C(1) << log) < n)
    log++;
  return log;
}

/* Places of a line's part in one tile. */
static int64_t order_places(const gpu_order *o) {
  return o->n >= ORDER_TILE ? ORDER_TILE : INT64_C(1) << order_log2(o->n > 1 ? o->n : 2);
}

/* Places of a tile: a power of two too. */
static int64_t order_tile(const gpu_order *o) {
  int64_t all = order_places(o) << order_log2(o->lines);
  return all < ORDER_TILE ? all : ORDER_TILE;
}

static int64_t order_key_bytes(const gpu_order *o) { return o->wide ? 8 : 4; }

int gpu_order_stages(const gpu_order *o, int64_t *chunks) {
  int count = 1;
  int64_t each = order_tile(o) / order_places(o); /* lines of a tile */
  chunks[0] = loom_ceil_div(o->lines, each) * loom_ceil_div(o->n, order_places(o));
  for (int64_t run = ORDER_TILE; run < o->n; run *= 2)
    chunks[count++] = gpu_blocks(o->lines * o->n);
  return count;
}

int64_t gpu_order_bytes(const gpu_order *o) {
  if (o->n <= ORDER_TILE) return 0;
  return 2 * o->lines * o->n * (order_key_bytes(o) + 4);
}

/* ---- keys and numbers in memory ---- */

typedef struct order_job {
  const gpu_order *o;
  int stage, last;
  MlirValue thread;              /* i64 */
  MlirValue keys, numbers;       /* in shared memory; or where a merge reads them, */
  MlirValue to_keys, to_numbers; /* and writes them */
  MlirValue span;                /* of a tile: its number */
  MlirValue a, b;                /* of a step in the network; or `a`: a place of the tile */
  MlirValue line, at;            /* of a place, or `at`: number of one in all lines */
} order_job;

static loom_dtype order_dtype(const gpu_order *o) { return o->wide ? LOOM_U64 : LOOM_U32; }

static MlirValue order_load(lower *l, MlirValue base, MlirValue at, loom_dtype dtype) {
  MlirValue place = alone_address(l, base, at, dtype);
  loom_builder b = alone_here(l);
  return lane_load(&b, place, dtype, 1, (MlirValue){NULL});
}

static void order_store(lower *l, MlirValue value, MlirValue base, MlirValue at, loom_dtype dtype) {
  MlirValue place = alone_address(l, base, at, dtype);
  loom_builder b = alone_here(l);
  lane_store(&b, value, place, dtype, (MlirValue){NULL});
}

static void order_put(lower *l, const order_job *j, MlirValue keys, MlirValue numbers, MlirValue at,
                      MlirValue key, MlirValue number) {
  order_store(l, key, keys, at, order_dtype(j->o));
  order_store(l, number, numbers, at, LOOM_U32);
}

/* Where a place of the tile lies in shared memory, among elements of so many bytes. */
static MlirValue order_bank(lower *l, MlirValue place, int64_t bytes) {
  int64_t bits = bytes == 8 ? 4 : 5;
  MlirValue odd = alone_op(l, "arith.andi", alone_op(l, "arith.shrui", place, bits), 1);
  MlirValue turned = alone_op(l, "arith.muli", odd, (INT64_C(1) << bits) - 1);
  return alone_op2(l, "arith.xori", place, turned);
}

static void order_tile_load(lower *l, const order_job *j, MlirValue place, MlirValue *key,
                            MlirValue *number) {
  *key = order_load(l, j->keys, order_bank(l, place, order_key_bytes(j->o)), order_dtype(j->o));
  *number = order_load(l, j->numbers, order_bank(l, place, 4), LOOM_U32);
}

static void order_tile_put(lower *l, const order_job *j, MlirValue place, MlirValue key,
                           MlirValue number) {
  order_store(l, key, j->keys, order_bank(l, place, order_key_bytes(j->o)), order_dtype(j->o));
  order_store(l, number, j->numbers, order_bank(l, place, 4), LOOM_U32);
}

/* One half of the slots. */
static void order_half(lower *l, const gpu_order *o, int half, MlirValue *keys,
                       MlirValue *numbers) {
  int64_t total = o->lines * o->n, key_bytes = order_key_bytes(o);
  MlirValue slots =
      alone_address(l, l->pointers[l->kernel->buffer_count], alone_const(l, o->offset), LOOM_U8);
  *keys = alone_address(l, slots, alone_const(l, half * total * key_bytes), LOOM_U8);
  *numbers =
      alone_address(l, slots, alone_const(l, 2 * total * key_bytes + half * total * 4), LOOM_U8);
}

static MlirValue order_number(lower *l, MlirValue at) {
  loom_builder b = alone_here(l);
  return loom_build1(&b, "arith.trunci", at, mlirIntegerTypeGet(b.ctx, 32));
}

/* Is key x with its number greater than key y with its own? */
static MlirValue order_greater(lower *l, MlirValue x, MlirValue nx, MlirValue y, MlirValue ny) {
  loom_builder b = alone_here(l);
  MlirValue above = lane_cmpi(&b, "ugt", x, y), same = lane_cmpi(&b, "eq", x, y);
  same = lane_op2(&b, "arith.andi", same, lane_cmpi(&b, "ugt", nx, ny));
  return lane_op2(&b, "arith.ori", above, same);
}

/* Where what a stage has made goes: to who wants the order, or to the next stage. */
static void order_deliver(lower *l, const order_job *j, MlirValue line, MlirValue at, MlirValue key,
                          MlirValue number) {
  if (j->stage == j->last) {
    j->o->deliver(l, j->o->user, line, at, key, number);
    return;
  }
  MlirValue place = alone_add_scaled(l, at, line, j->o->n);
  order_put(l, j, j->to_keys, j->to_numbers, place, key, number);
}

/* ---- a tile ---- */

/* The line of a place in the tile, and the place in the line; is it there? */
static MlirValue order_place(lower *l, order_job *j, MlirValue place) {
  const gpu_order *o = j->o;
  int64_t places = order_places(o), each = order_tile(o) / places,
          parts = loom_ceil_div(o->n, places);
  MlirValue first = j->span, low = alone_const(l, 0);
  if (parts > 1) {
    first = alone_op(l, "arith.divui", j->span, parts);
    low = alone_op(l, "arith.muli", alone_op(l, "arith.remui", j->span, parts), places);
  }
  j->line = alone_add_scaled(l, alone_op(l, "arith.divui", place, places), first, each);
  j->at = alone_op2(l, "arith.addi", low, alone_op(l, "arith.remui", place, places));
  MlirValue lines = alone_const(l, o->lines), n = alone_const(l, o->n);
  loom_builder b = alone_here(l);
  MlirValue there = lane_cmpi(&b, "slt", j->line, lines);
  return lane_op2(&b, "arith.andi", there, lane_cmpi(&b, "slt", j->at, n));
}

static MlirValue order_iv(const lower *l) {
  return mlirBlockGetArgument(l->scopes[l->depth].block, 0);
}

static void order_fetch(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  MlirValue key = j->o->key(l, j->o->user, j->line, j->at);
  if (l->failed) return;
  order_tile_put(l, j, j->a, key, order_number(l, j->at));
}

static void order_fetch_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  loom_builder b = alone_here(l);
  MlirType key = mlirIntegerTypeGet(b.ctx, j->o->wide ? 64 : 32);
  MlirType number = mlirIntegerTypeGet(b.ctx, 32);
  j->a = order_iv(l);
  order_tile_put(l, j, j->a, lane_const_int(&b, key, -1), lane_const_int(&b, number, -1));
  MlirValue there = order_place(l, j, j->a);
  lower_if(l, there, order_fetch, j);
}

/* The two places of a pair: the number of the pair with a 0, or a 1, put in at bit b. */
static void order_pair(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const order_job *j = user;
  MlirValue pair = order_iv(l), one = alone_const(l, 1);
  MlirValue bit = alone_op2(l, "arith.shli", one, j->b);
  MlirValue low = alone_op2(l, "arith.andi", pair, alone_op(l, "arith.subi", bit, 1));
  MlirValue high = alone_op2(l, "arith.shrui", pair, j->b);
  high = alone_op2(l, "arith.shli", high, alone_op(l, "arith.addi", j->b, 1));
  low = alone_op2(l, "arith.ori", low, high);
  high = alone_op2(l, "arith.ori", low, bit);
  MlirValue x, y, nx, ny;
  order_tile_load(l, j, low, &x, &nx);
  order_tile_load(l, j, high, &y, &ny);
  MlirValue within = alone_op(l, "arith.andi", low, order_places(j->o) - 1);
  MlirValue down = alone_op2(l, "arith.shrui", within, j->a);
  down = alone_op(l, "arith.andi", down, 1);
  MlirValue greater = order_greater(l, x, nx, y, ny), zero = alone_const(l, 0);
  loom_builder b = alone_here(l);
  MlirValue turn = lane_op2(&b, "arith.xori", greater, lane_cmpi(&b, "ne", down, zero));
  order_tile_put(l, j, low, lane_select(&b, turn, y, x), lane_select(&b, turn, ny, nx));
  b = alone_here(l);
  order_tile_put(l, j, high, lane_select(&b, turn, x, y), lane_select(&b, turn, nx, ny));
}

static void order_step(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  MlirValue pairs = alone_const(l, order_tile(j->o) / 2);
  j->b = alone_op2(l, "arith.subi", alone_op(l, "arith.subi", j->a, 1), order_iv(l));
  lower_for(l, j->thread, pairs, alone_const(l, GPU_BLOCK), -1, 0, NULL, order_pair, j, NULL);
  loom_builder b = alone_here(l);
  gpu_barrier(l, &b);
}

static void order_round(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  j->a = order_iv(l);
  lower_for(l, alone_const(l, 0), j->a, alone_const(l, 1), -1, 0, NULL, order_step, j, NULL);
}

static void order_give(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  MlirValue key, number;
  order_tile_load(l, j, j->a, &key, &number);
  order_deliver(l, j, j->line, j->at, key, number);
}

static void order_give_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  j->a = order_iv(l);
  MlirValue there = order_place(l, j, j->a);
  lower_if(l, there, order_give, j);
}

static void order_sort_tile(lower *l, order_job *j) {
  const gpu_order *o = j->o;
  int64_t tile = order_tile(o), key_bytes = order_key_bytes(o);
  MlirValue step = alone_const(l, GPU_BLOCK), one = alone_const(l, 1);
  loom_builder b = alone_here(l);
  j->keys = gpu_shared(l, &b, (int)(tile * (key_bytes + 4)));
  j->numbers = alone_address(l, j->keys, alone_const(l, tile * key_bytes), LOOM_U8);
  j->span = l->begin;
  if (j->last > 0) order_half(l, o, 0, &j->to_keys, &j->to_numbers);
  lower_for(l, j->thread, alone_const(l, tile), step, -1, 0, NULL, order_fetch_place, j, NULL);
  b = alone_here(l);
  gpu_barrier(l, &b);
  lower_for(l, one, alone_const(l, order_log2(order_places(o)) + 1), one, -1, 0, NULL, order_round,
            j, NULL);
  lower_for(l, j->thread, alone_const(l, tile), step, -1, 0, NULL, order_give_place, j, NULL);
}

/* ---- merges ---- */

typedef struct order_search {
  gpu_before before;
  void *user;
  MlirValue safe;
} order_search;

/* Carried: [low, high), where the place is that is looked for. */
static void order_halve(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const order_search *s = user;
  MlirValue low = carried[0], high = carried[1];
  MlirValue middle = alone_op(l, "arith.shrui", alone_op2(l, "arith.addi", low, high), 1);
  loom_builder b = alone_here(l);
  MlirValue open = lane_cmpi(&b, "slt", low, high);
  MlirValue before = s->before(l, s->user, lane_select(&b, open, middle, s->safe));
  MlirValue behind = alone_op(l, "arith.addi", middle, 1);
  b = alone_here(l);
  next[0] = lane_select(&b, lane_op2(&b, "arith.andi", open, before), behind, low);
  before = lane_op2(&b, "arith.xori", before, lane_const_int(&b, mlirValueGetType(before), 1));
  next[1] = lane_select(&b, lane_op2(&b, "arith.andi", open, before), middle, high);
}

MlirValue gpu_search(lower *l, MlirValue low, MlirValue high, int64_t most, MlirValue safe,
                     gpu_before before, void *user) {
  order_search s = {before, user, safe};
  MlirValue range[] = {low, high}, found[2] = {{NULL}};
  lower_for(l, alone_const(l, 0), alone_const(l, order_log2(most) + 1), alone_const(l, 1), -1, 2,
            range, order_halve, &s, found);
  return found[0];
}

/* A place whose rank in the other run is looked for. */
typedef struct order_own {
  const order_job *j;
  MlirValue first; /* of the line, in the slots */
  MlirValue key, number;
} order_own;

/* Does what lies at a place of the line come before the key? */
static MlirValue order_before(lower *l, void *user, MlirValue at) {
  const order_own *own = user;
  at = alone_op2(l, "arith.addi", own->first, at);
  MlirValue key = order_load(l, own->j->keys, at, order_dtype(own->j->o));
  MlirValue number = order_load(l, own->j->numbers, at, LOOM_U32);
  return order_greater(l, own->key, own->number, key, number);
}

static void order_merge_place(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  order_job *j = user;
  const gpu_order *o = j->o;
  int64_t run = (int64_t)ORDER_TILE << (j->stage - 1);
  MlirValue n = alone_const(l, o->n);
  MlirValue line = alone_op(l, "arith.divui", j->at, o->n);
  MlirValue place = alone_op(l, "arith.remui", j->at, o->n);
  MlirValue base = alone_op(l, "arith.andi", place, -2 * run);
  MlirValue own = alone_op(l, "arith.andi", place, -run);
  order_own s = {.j = j, .first = alone_op(l, "arith.muli", line, o->n)};
  s.key = order_load(l, j->keys, j->at, order_dtype(o));
  s.number = order_load(l, j->numbers, j->at, LOOM_U32);
  MlirValue other = alone_op(l, "arith.xori", own, run);
  MlirValue low = alone_op2(l, "arith.minsi", other, n);
  MlirValue high = alone_op2(l, "arith.minsi", alone_op(l, "arith.addi", other, run), n);
  MlirValue found = gpu_search(l, low, high, run, place, order_before, &s);
  if (l->failed) return;
  MlirValue to = alone_op2(l, "arith.subi", found, low);
  to = alone_op2(l, "arith.addi", to, alone_op2(l, "arith.subi", place, own));
  order_deliver(l, j, line, alone_op2(l, "arith.addi", base, to), s.key, s.number);
}

static void order_merge(lower *l, order_job *j) {
  const gpu_order *o = j->o;
  order_half(l, o, (j->stage - 1) & 1, &j->keys, &j->numbers);
  if (j->stage < j->last) order_half(l, o, j->stage & 1, &j->to_keys, &j->to_numbers);
  gpu_each(l, o->lines * o->n, &j->at, order_merge_place, j);
}

void gpu_order_lower(lower *l, const gpu_order *o, int stage) {
  int64_t chunks[ALONE_STAGES];
  order_job j = {.o = o, .stage = stage, .last = gpu_order_stages(o, chunks) - 1};
  if (stage > 0) {
    order_merge(l, &j);
    return;
  }
  j.thread = gpu_thread(l);
  order_sort_tile(l, &j);
}
