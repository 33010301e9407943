/* The end of a reduction whose elements a team has divided: a tree over the members.
 *
 *   shuffles within each warp, by 16, 8, 4, 2, 1: every thread has the warp's values
 *   a block: the first thread of each warp writes them to shared memory; barrier; every thread
 *   combines those of all warps, in their order; barrier, so that the memory can be used again
 *
 * Where teams share the rows of columns, the threads of a column do the same: shuffles within a
 * warp that several teams have, then shared memory, where one column lies beside the next.
 *
 * The tree depends on the team's size alone, so that a result has the same bits on every GPU.
 */
#include "passes/gpu.h"

#include <string.h>

#define REDUCE_SLOT 8 /* bytes of a carried value in shared memory */

static MlirType reduce_i32(const lower *l) { return mlirIntegerTypeGet(l->kernel->ctx, 32); }

/* ---- shuffles, of 32 bits each ---- */

static MlirValue reduce_exchange(lower *l, loom_builder *b, MlirValue value, int mask) {
  MlirType i32 = reduce_i32(l), types[] = {i32, i32, i32};
  MlirValue operands[] = {value, loom_build_int(b, i32, mask),
                          loom_build_int(b, i32, l->team.sites++)};
  const char *name = mask < GPU_WARP ? "loom_gpu_shuffle_xor" : "loom_gpu_shuffle_wave_xor";
  return gpu_call(b, l->kernel->op, name, 3, types, operands, i32);
}

static unsigned reduce_bits(MlirType type) {
  if (mlirTypeIsAInteger(type)) return mlirIntegerTypeGetWidth(type);
  return mlirTypeIsAF64(type) ? 64 : mlirTypeIsAF32(type) ? 32 : 16;
}

MlirValue gpu_shuffle(lower *l, loom_builder *b, MlirValue value, int mask) {
  MlirType type = mlirValueGetType(value), i32 = reduce_i32(l);
  unsigned bits = reduce_bits(type);
  MlirType integer = mlirIntegerTypeGet(b->ctx, bits);
  bool real = !mlirTypeIsAInteger(type);
  if (real) value = loom_build1(b, "arith.bitcast", value, integer);
  if (bits == 64) {
    MlirValue half = loom_build_int(b, integer, 32);
    MlirValue high = lane_op2(b, "arith.shrui", value, half);
    MlirValue low = reduce_exchange(l, b, loom_build1(b, "arith.trunci", value, i32), mask);
    high = reduce_exchange(l, b, loom_build1(b, "arith.trunci", high, i32), mask);
    high = lane_op2(b, "arith.shli", loom_build1(b, "arith.extui", high, integer), half);
    value = lane_op2(b, "arith.ori", high, loom_build1(b, "arith.extui", low, integer));
  } else if (bits < 32) {
    value = reduce_exchange(l, b, loom_build1(b, "arith.extui", value, i32), mask);
    value = loom_build1(b, "arith.trunci", value, integer);
  } else {
    value = reduce_exchange(l, b, value, mask);
  }
  return real ? loom_build1(b, "arith.bitcast", value, type) : value;
}

/* ---- shared memory ---- */

/* Where carried value `c` of a warp lies. */
static MlirValue reduce_slot(lower *l, loom_builder *b, const reduce_run *run, MlirValue memory,
                             MlirValue warp, int c) {
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
  MlirValue size = loom_build_int(b, i64, run->count * REDUCE_SLOT);
  MlirValue at = lane_op2(b, "arith.muli", warp, size);
  at = lane_op2(b, "arith.addi", at, loom_build_int(b, i64, c * REDUCE_SLOT));
  return lane_address(b, memory, at, LOOM_I8);
}

typedef struct reduce_write {
  const reduce_run *run;
  const MlirValue *accs;
  MlirValue memory, warp;
} reduce_write;

static void reduce_write_body(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_write *w = user;
  loom_builder b = lower_at_level(l, l->depth);
  for (int c = 0; c < w->run->count; c++)
    lane_store(&b, w->accs[c], reduce_slot(l, &b, w->run, w->memory, w->warp, c), w->run->dtypes[c],
               (MlirValue){NULL});
}

static void reduce_block(lower *l, const reduce_run *run, MlirValue *accs) {
  enum { WARPS = GPU_BLOCK / GPU_WARP };
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue memory = gpu_shared(l, &b, WARPS * run->count * REDUCE_SLOT);
  MlirValue size = loom_build_int(&b, i64, GPU_WARP), zero = loom_build_int(&b, i64, 0);
  MlirValue lane = lane_op2(&b, "arith.remui", l->team.member, size);
  reduce_write write = {run, accs, memory, lane_op2(&b, "arith.divui", l->team.member, size)};
  lower_if(l, lane_cmpi(&b, "eq", lane, zero), reduce_write_body, &write);
  gpu_barrier(l, &b);
  for (int w = 0; w < WARPS; w++) {
    MlirValue others[16] = {{NULL}}, warp = loom_build_int(&b, i64, w);
    for (int c = 0; c < run->count; c++)
      others[c] = lane_load(&b, reduce_slot(l, &b, run, memory, warp, c), run->dtypes[c], 1,
                            (MlirValue){NULL});
    if (w == 0)
      for (int c = 0; c < run->count; c++)
        accs[c] = others[c];
    else
      reduce_merge(&b, run, accs, others, accs);
  }
  gpu_barrier(l, &b);
}

/* ---- columns ---- */

/* The columns of a block in shared memory. */
typedef struct reduce_columns {
  const reduce_run *run;
  const MlirValue *accs;
  int width, sets;  /* of a vector; values of each column, one of a warp or of a team */
  MlirValue memory; /* where the thread's own column begins */
} reduce_columns;

/* Element `e` of carried value `c` in set `set`: the members' elements lie next to each other. */
static MlirValue reduce_place(lower *l, loom_builder *b, const reduce_columns *r, MlirValue set,
                              int c, int e) {
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
  int64_t base = 0, members = l->team.size;
  for (int i = 0; i < c; i++)
    base += r->sets * r->width * members * (int64_t)loom_dtype_size(r->run->dtypes[i]);
  MlirValue at = lane_op2(b, "arith.muli", set, loom_build_int(b, i64, r->width * members));
  at = lane_op2(b, "arith.addi", at, loom_build_int(b, i64, e * members));
  at = lane_op2(b, "arith.addi", at, l->team.member);
  MlirValue memory = lane_address(b, r->memory, loom_build_int(b, i64, base), LOOM_I8);
  return lane_address(b, memory, at, r->run->dtypes[c]);
}

static void reduce_put(lower *l, void *user, const MlirValue *carried, MlirValue *next) {
  const reduce_columns *r = user;
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  int64_t teams = l->team.size < GPU_WARP ? GPU_WARP / l->team.size : 1; /* of a set */
  MlirValue set = lane_op2(&b, "arith.divui", l->team.number, loom_build_int(&b, i64, teams));
  for (int c = 0; c < r->run->count; c++)
    for (int e = 0; e < r->width; e++)
      lane_store(&b, lane_extract(&b, r->accs[c], e), reduce_place(l, &b, r, set, c, e),
                 r->run->dtypes[c], (MlirValue){NULL});
}

static void reduce_get(lower *l, loom_builder *b, const reduce_columns *r, int set,
                       MlirValue *out) {
  MlirValue number = loom_build_int(b, mlirIntegerTypeGet(b->ctx, 64), set);
  for (int c = 0; c < r->run->count; c++) {
    out[c] = r->accs[c];
    for (int e = 0; e < r->width; e++) {
      MlirValue place = reduce_place(l, b, r, number, c, e);
      MlirValue value = lane_load(b, place, r->run->dtypes[c], 1, (MlirValue){NULL});
      out[c] = lane_insert(b, out[c], value, e);
    }
  }
}

/* The first team of each warp writes, or each team of several warps. */
static void reduce_columns_block(lower *l, reduce_columns *r, MlirValue *accs) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i64 = mlirIntegerTypeGet(b.ctx, 64);
  int bytes = 0;
  for (int c = 0; c < r->run->count; c++)
    bytes += r->sets * r->width * l->team.size * (int)loom_dtype_size(r->run->dtypes[c]);
  r->memory = gpu_shared(l, &b, bytes);
  if (l->team.size < GPU_WARP) {
    MlirValue teams = loom_build_int(&b, i64, GPU_WARP / l->team.size);
    MlirValue within = lane_op2(&b, "arith.remui", l->team.number, teams);
    lower_if(l, lane_cmpi(&b, "eq", within, loom_build_int(&b, i64, 0)), reduce_put, r);
  } else {
    reduce_put(l, r, NULL, NULL);
  }
  gpu_barrier(l, &b);
  for (int set = 0; set < r->sets; set++) {
    MlirValue others[16] = {{NULL}};
    reduce_get(l, &b, r, set, others);
    if (set == 0)
      memcpy(accs, others, sizeof *accs * (size_t)r->run->count);
    else
      reduce_merge(&b, r->run, accs, others, accs);
  }
  gpu_barrier(l, &b);
}

static void reduce_teams(lower *l, const reduce_run *run, MlirValue *accs) {
  int width = lane_width(mlirValueGetType(accs[0]));
  int set = l->team.size < GPU_WARP ? GPU_WARP : l->team.size; /* threads of one */
  loom_builder b = lower_at_level(l, l->depth);
  for (int mask = GPU_WARP / 2; mask >= l->team.size; mask /= 2) {
    MlirValue others[16] = {{NULL}};
    for (int c = 0; c < run->count; c++) {
      others[c] = accs[c];
      for (int e = 0; e < width; e++) {
        MlirValue element = lane_extract(&b, accs[c], e);
        others[c] = lane_insert(&b, others[c], gpu_shuffle(l, &b, element, mask), e);
      }
    }
    reduce_merge(&b, run, accs, others, accs);
  }
  if (set == GPU_BLOCK) return;
  MlirValue mine[16];
  memcpy(mine, accs, sizeof *accs * (size_t)run->count);
  reduce_columns columns = {run, mine, width, GPU_BLOCK / set, {NULL}};
  reduce_columns_block(l, &columns, accs);
}

/* ---- both ---- */

void gpu_reduce(lower *l, const reduce_run *run, MlirValue *accs) {
  if (!l->team.size || l->failed) return;
  if (!run->row) {
    if (l->team.teams > 1) reduce_teams(l, run, accs);
    return;
  }
  loom_builder b = lower_at_level(l, l->depth);
  for (int mask = GPU_WARP / 2; mask; mask /= 2) {
    MlirValue others[16] = {{NULL}};
    for (int c = 0; c < run->count; c++)
      others[c] = gpu_shuffle(l, &b, accs[c], mask);
    reduce_merge(&b, run, accs, others, accs);
  }
  if (l->team.size > GPU_WARP) reduce_block(l, run, accs);
}
