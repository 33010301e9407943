/* Fragments of operands in shared memory (gpu_slab.c), for instructions on matrices. */
#include "passes/gpu_tile.h"

MlirValue gpu_slab_line(lower *l, const gpu_slab *s, MlirValue offset, MlirValue line) {
  MlirValue at = dot_op(l, "arith.muli", line, (int64_t)s->length * slab_size(s));
  loom_builder b = lower_at_level(l, l->depth);
  at = lane_op2(&b, "arith.addi", at, offset);
  return slab_bytes(l, s->memory, tile_add(l, at, (int64_t)s->offset * slab_size(s)));
}

static const gpu_matrix *slab_matrix(const gpu_slab *s) { return s->p->block.matrix; }

void gpu_slab_aim(lower *l, gpu_slab *s, MlirValue thread, MlirValue warp) {
  const gpu_matrix *m = slab_matrix(s);
  const matrix_place *place = s->turned ? &m->turned[s->side] : &m->of[s->side];
  MlirValue line = matrix_value(l, place->line, thread), at = matrix_value(l, place->at, thread);
  if (s->turned)
    at = dot_add_scaled(l, at, warp, 1);
  else
    line = dot_add_scaled(l, line, warp, 1);
  s->piece = slab_find(l, s, line, at);
  s->base = dot_add_scaled(l, dot_op(l, "arith.remui", at, slab_piece(s)), line, s->length);
  s->base = tile_add(l, s->base, s->offset);
  s->level = l->depth;
}

/* Element `at` of line `line` from where the thread's part is. Bits of both differ from the
 * thread's, so that the pieces' order is a matter of xor. */
static MlirValue slab_fragment_at(lower *l, gpu_slab *s, MlirValue offset, int line, int at) {
  int piece = at / slab_piece(s), low = piece % slab_flips(s), flip = low ^ slab_order(s, line);
  if (!s->bases[flip].ptr) {
    loom_builder b = lower_at_level(l, s->level);
    MlirValue moved = lane_op2(&b, "arith.xori", s->piece, tile_int(l, flip));
    moved = lane_op2(&b, "arith.muli", moved, tile_int(l, slab_piece(s)));
    moved = lane_op2(&b, "arith.addi", s->base, moved);
    s->bases[flip] = lane_address(&b, s->memory, moved, slab_dtype(s));
  }
  MlirValue place = slab_bytes(l, s->bases[flip], offset);
  int64_t more = (int64_t)line * s->length + (piece - low) * slab_piece(s) + at % slab_piece(s);
  return more ? slab_address(l, s, place, tile_int(l, more)) : place;
}

static MlirValue slab_ldmatrix(lower *l, const gpu_slab *s, MlirValue line) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), types[] = {mlirValueGetType(line), i32};
  MlirValue operands[] = {line, loom_build_int(&b, i32, l->team.sites++)};
  const char *name = s->turned ? "loom_gpu_ldmatrix_turned" : "loom_gpu_ldmatrix";
  return gpu_call(&b, l->kernel->op, name, 2, types, operands, lane_int(b.ctx, 32, 4));
}

/* Words of 4 bytes next to each other. */
static MlirValue slab_words(lower *l, MlirValue at, int count) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue value = lane_load(&b, at, LOOM_I32, count, (MlirValue){NULL});
  tile_align(l, loom_def(value), LOOM_I32, count);
  return value;
}

/* A run of halves along the depth, as words: of a piece that two fragments share, of two pieces, or
 * of a part of one. */
static MlirValue slab_run(lower *l, gpu_slab *s, MlirValue offset, int lane, int depth, int part) {
  static const int64_t all[] = {0, 1, 2, 3, 4, 5, 6, 7};
  const gpu_matrix *m = slab_matrix(s);
  int words = m->reach < SLAB_BYTES / 2 ? m->reach / 2 : SLAB_BYTES / 4;
  MlirValue low = slab_words(l, slab_fragment_at(l, s, offset, lane, depth), words), high;
  if (words == m->run / 2) return low;
  loom_builder b = lower_at_level(l, l->depth);
  if (m->run < m->reach) {
    lane_halves(&b, low, &low, &high);
    return part ? high : low;
  }
  int next = depth + slab_piece(s);
  high = slab_words(l, slab_fragment_at(l, s, offset, lane, next), SLAB_BYTES / 4);
  b = lower_at_level(l, l->depth);
  return lane_shuffle2(&b, low, high, m->run / 2, all);
}

/* The same, of steps that are lines of their own. */
static MlirValue slab_gather(lower *l, gpu_slab *s, MlirValue offset, int lane, int depth) {
  int run = slab_matrix(s)->run;
  loom_builder b = lower_at_level(l, l->depth);
  MlirType type = lane_int(b.ctx, 16, run);
  MlirValue halves = lane_const_int(&b, type, 0);
  for (int i = 0; i < run; i++) {
    MlirValue at = slab_fragment_at(l, s, offset, depth + i, lane);
    b = lower_at_level(l, l->depth);
    halves = slab_insert(l, halves, lane_load(&b, at, LOOM_I16, 1, (MlirValue){NULL}), i);
  }
  b = lower_at_level(l, l->depth);
  return loom_build1(&b, "llvm.bitcast", halves, lane_int(b.ctx, 32, run / 2));
}

/* The four words of a fragment whose steps are lines of their own, each of one element or of four.
 */
static MlirValue slab_gather_words(lower *l, gpu_slab *s, MlirValue offset, int lane, int depth) {
  int run = 4 / slab_size(s), half = slab_matrix(s)->k / 2;
  loom_dtype dtype = run == 1 ? LOOM_I32 : LOOM_I8;
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue all = lane_const_int(&b, lane_type(b.ctx, dtype, 4 * run), 0);
  for (int i = 0; i < 4 * run; i++) {
    int word = i / run, first = word % 2, second = word / 2;
    int step = depth + (s->side ? first : second) * half + i % run;
    MlirValue at =
        slab_fragment_at(l, s, offset, step, lane + (s->side ? second : first) * SLAB_BANKS);
    b = lower_at_level(l, l->depth);
    all = slab_insert(l, all, lane_load(&b, at, dtype, 1, (MlirValue){NULL}), i);
  }
  b = lower_at_level(l, l->depth);
  return run == 1 ? all : loom_build1(&b, "llvm.bitcast", all, lane_int(b.ctx, 32, 4));
}

/* A double: of the piece that two fragments share, or by itself. */
static MlirValue slab_double(lower *l, gpu_slab *s, MlirValue offset, int lane, int depth,
                             int part) {
  const gpu_matrix *m = slab_matrix(s);
  bool pair = !s->turned && m->reach == 2;
  int step = depth + (pair ? 0 : part * m->run);
  MlirValue place = s->turned ? slab_fragment_at(l, s, offset, step, lane)
                              : slab_fragment_at(l, s, offset, lane, step);
  loom_builder b = lower_at_level(l, l->depth);
  MlirValue value = lane_load(&b, place, slab_dtype(s), pair ? 2 : 1, (MlirValue){NULL});
  tile_align(l, loom_def(value), slab_dtype(s), pair ? 2 : 1);
  return pair ? lane_extract(&b, value, part) : value;
}

MlirValue gpu_slab_fragment(lower *l, gpu_slab *s, MlirValue offset, int lane, int depth) {
  const gpu_matrix *m = slab_matrix(s);
  if (m->run == 0 && s->turned && slab_size(s) != 2)
    return slab_gather_words(l, s, offset, lane, depth);
  if (m->run == 0) {
    int line = s->turned ? depth : lane, at = s->turned ? lane : depth;
    return slab_ldmatrix(l, s, slab_fragment_at(l, s, offset, line, at));
  }
  int shared = m->reach / m->run, number = depth / m->k; /* fragments of a reach; of the slab */
  int part = number % shared, first = (number - part) * m->k;
  if (m->dtype == LOOM_F64) return slab_double(l, s, offset, lane, first, part);
  return s->turned ? slab_gather(l, s, offset, lane, first + part * m->run)
                   : slab_run(l, s, offset, lane, first, part);
}
