/* Instructions on matrices: which there are for a product, and which elements of its matrices each
 * thread of a warp has (PTX ISA 9.7.14.5; AMD Instinct MI300 ISA 7.1; RDNA3 ISA 7.9).
 *
 * An operand's fragment is a run of steps of the depth in one row or column of the result; ldmatrix
 * gives several such runs to each thread, whose lines other threads point at. Where a line goes
 * across the depth ldmatrix turns it, and other instructions get each step by itself.
 */
#include "passes/gpu_tile.h"
#include "passes/passes.h"

#include <stdio.h>

#define TERM(BY, OF, SCALE) {BY, OF, SCALE}
#define NO_TERM {1, 1, 0}

/* Lines of the four matrices of ldmatrix, of PIECE elements: number t / 8 of thread t. Of lhs they
 * are rows 0 to 7 and 8 to 15 of the first steps, then of the next ones; of rhs both steps of the
 * first columns, then of the next ones. */
#define LDMATRIX_OF(PIECE)                                                                         \
  {                                                                                                \
    {{TERM(1, 8, 1), TERM(8, 2, 8)}, {TERM(16, 2, PIECE), NO_TERM}}, {                             \
      {TERM(1, 8, 1), TERM(16, 2, 8)}, { TERM(8, 2, PIECE), NO_TERM }                              \
    }                                                                                              \
  }
#define LDMATRIX_TURNED                                                                            \
  {                                                                                                \
    {{TERM(1, 8, 1), TERM(16, 2, 8)}, {TERM(8, 2, 8), NO_TERM}}, {                                 \
      {TERM(1, 8, 1), TERM(8, 2, 8)}, { TERM(16, 2, 8), NO_TERM }                                  \
    }                                                                                              \
  }
/* Row or column number t / BY % SIDE, the steps from t / NEXT * RUN on: and the other way round. */
#define RUNS_OF(BY, SIDE, NEXT, STEPS, RUN)                                                        \
  {                                                                                                \
    {{TERM(BY, SIDE, 1), NO_TERM}, {TERM(NEXT, STEPS, RUN), NO_TERM}}, {                           \
      {TERM(BY, SIDE, 1), NO_TERM}, { TERM(NEXT, STEPS, RUN), NO_TERM }                            \
    }                                                                                              \
  }
#define RUNS_TURNED(BY, SIDE, NEXT, STEPS, RUN)                                                    \
  {                                                                                                \
    {{TERM(NEXT, STEPS, RUN), NO_TERM}, {TERM(BY, SIDE, 1), NO_TERM}}, {                           \
      {TERM(NEXT, STEPS, RUN), NO_TERM}, { TERM(BY, SIDE, 1), NO_TERM }                            \
    }                                                                                              \
  }
#define RUNS(...) .of = RUNS_OF(__VA_ARGS__), .turned = RUNS_TURNED(__VA_ARGS__)
#define SUMS(ROW, COLUMN) .of_sum = {{ROW, NO_TERM}, {COLUMN, NO_TERM}}

/* What ldmatrix does not turn: in a word of a fragment thread t has steps t % 4 * RUN and the next
 * ones of row or column t / 4. */
#define WORDS_TURNED(RUN)                                                                          \
  {                                                                                                \
    {{TERM(1, 4, RUN), NO_TERM}, {TERM(4, 8, 1), NO_TERM}}, {                                      \
      {TERM(1, 4, RUN), NO_TERM}, { TERM(4, 8, 1), NO_TERM }                                       \
    }                                                                                              \
  }
#define MATRIX_MMA(NAME, DTYPE, DEPTH, ACROSS, TURNED)                                             \
  {.name = NAME,                                                                                   \
   .set = "mma",                                                                                   \
   .dtype = DTYPE,                                                                                 \
   .threads = 32,                                                                                  \
   .m = 16,                                                                                        \
   .n = 8,                                                                                         \
   .k = DEPTH,                                                                                     \
   .beside = 2,                                                                                    \
   .pieces = {1, ACROSS},                                                                          \
   .of = LDMATRIX_OF(DEPTH / 2),                                                                   \
   .turned = TURNED,                                                                               \
   SUMS(TERM(4, 8, 1), TERM(1, 4, 2)),                                                             \
   .sums = 4,                                                                                      \
   .sums_beside = 2,                                                                               \
   .sums_step = 8,                                                                                 \
   .pad = 8}
#define MATRIX_MFMA(NAME, DTYPE)                                                                   \
  {.name = NAME,                                                                                   \
   .set = "mfma",                                                                                  \
   .dtype = DTYPE,                                                                                 \
   .threads = 64,                                                                                  \
   .m = 16,                                                                                        \
   .n = 16,                                                                                        \
   .k = 16,                                                                                        \
   .beside = 1,                                                                                    \
   .pieces = {1, 1},                                                                               \
   .run = 4,                                                                                       \
   .reach = 8,                                                                                     \
   RUNS(1, 16, 16, 4, 8),                                                                          \
   SUMS(TERM(16, 4, 4), TERM(1, 16, 1)),                                                           \
   .sums = 4,                                                                                      \
   .sums_beside = 1,                                                                               \
   .sums_step = 1,                                                                                 \
   .pad = 4}
#define MATRIX_WMMA(NAME, DTYPE)                                                                   \
  {.name = NAME,                                                                                   \
   .set = "wmma",                                                                                  \
   .dtype = DTYPE,                                                                                 \
   .threads = 32,                                                                                  \
   .m = 16,                                                                                        \
   .n = 16,                                                                                        \
   .k = 16,                                                                                        \
   .beside = 1,                                                                                    \
   .pieces = {1, 1},                                                                               \
   .run = 16,                                                                                      \
   .reach = 16,                                                                                    \
   RUNS(1, 16, 16, 1, 0),                                                                          \
   SUMS(TERM(16, 2, 1), TERM(1, 16, 1)),                                                           \
   .sums = 8,                                                                                      \
   .sums_beside = 1,                                                                               \
   .sums_step = 2,                                                                                 \
   .pad = 16}

/* Of a warpgroup, for a whole slab: 64 rows, each of 32 steps (gpu_wgmma.c). */
#define MATRIX_WGMMA(NAME, DTYPE)                                                                  \
  {.name = NAME,                                                                                   \
   .set = "wgmma",                                                                                 \
   .dtype = DTYPE,                                                                                 \
   .threads = 128,                                                                                 \
   .m = 64,                                                                                        \
   .n = 128,                                                                                       \
   .k = 32,                                                                                        \
   .beside = 1,                                                                                    \
   .pieces = {1, 1},                                                                               \
   .of_sum = {{TERM(4, 8, 1), TERM(32, 4, 16)}, {TERM(1, 4, 2), NO_TERM}},                         \
   .sums = 64,                                                                                     \
   .sums_beside = 2,                                                                               \
   .sums_step = 8,                                                                                 \
   .sums_group = 4,                                                                                \
   .pad = 8}

static const gpu_matrix matrix_table[] = {
    MATRIX_WGMMA("wgmma_bf16", LOOM_BF16),
    MATRIX_WGMMA("wgmma_f16", LOOM_F16),
    MATRIX_MMA("mma_bf16", LOOM_BF16, 16, 1, LDMATRIX_TURNED),
    MATRIX_MMA("mma_f16", LOOM_F16, 16, 1, LDMATRIX_TURNED),
    MATRIX_MMA("mma_tf32", LOOM_F32, 8, 2, WORDS_TURNED(1)),
    MATRIX_MMA("mma_s8", LOOM_I8, 32, 1, WORDS_TURNED(4)),
    {.name = "mma_f64",
     .set = "mma",
     .dtype = LOOM_F64,
     .threads = 32,
     .m = 8,
     .n = 8,
     .k = 4,
     .beside = 1,
     .pieces = {2, 2},
     .run = 1,
     .reach = 1,
     RUNS(4, 8, 1, 4, 1),
     SUMS(TERM(4, 8, 1), TERM(1, 4, 2)),
     .sums = 2,
     .sums_beside = 2,
     .sums_step = 8,
     .pad = 8},
    MATRIX_MFMA("mfma_bf16", LOOM_BF16),
    MATRIX_MFMA("mfma_f16", LOOM_F16),
    {.name = "mfma_f64",
     .set = "mfma",
     .dtype = LOOM_F64,
     .threads = 64,
     .m = 16,
     .n = 16,
     .k = 4,
     .beside = 1,
     .pieces = {1, 1},
     .run = 1,
     .reach = 2,
     RUNS(1, 16, 16, 4, 2),
     SUMS(TERM(16, 4, 1), TERM(1, 16, 1)),
     .sums = 4,
     .sums_beside = 1,
     .sums_step = 4,
     .pad = 0},
    MATRIX_WMMA("wmma_bf16", LOOM_BF16),
    MATRIX_WMMA("wmma_f16", LOOM_F16),
};

/* Fewer bits than f32 has are for those who ask for it. Products of int8 whose result is int8 are
 * sums of int8. */
static bool matrix_may(const lower_kernel *kernel, const dot_plan *p) {
  if (p->factor == LOOM_I8) return p->work == LOOM_I32;
  return p->factor != LOOM_F32 || loom_option(kernel->op, loom_mark_tf32).ptr;
}

/* Warpgroups take operands whose lines go along the depth, and large tiles alone; what is left has
 * the instructions of warps. */
static bool matrix_is_of(const lower_kernel *kernel, const dot_plan *p, const gpu_matrix *m,
                         MlirStringRef set) {
  bool group = loom_str_is(set, "wgmma");
  if (!gpu_is_group(m)) return loom_str_is(set, m->set) || (group && gpu_matrix_is_nvidia(m));
  if (!p) return false;
  int64_t rows = loom_num_hint(p->extents[DOT_ROW]), batch = loom_num_hint(p->extents[DOT_BATCH]);
  int64_t columns = loom_num_hint(p->extents[DOT_COLUMN]);
  int64_t tiles = loom_ceil_div(rows, 2 * m->m) * loom_ceil_div(columns, m->n) * batch;
  return group && rows > m->m && columns > m->n / 2 && 2 * tiles >= tile_processors(kernel) &&
         !gpu_slab_is_turned(p, 0) && !gpu_slab_is_turned(p, 1);
}

bool gpu_matrix_is_nvidia(const gpu_matrix *m) {
  return loom_str_is(loom_str(m->set), "mma") || gpu_is_group(m);
}

static const gpu_matrix *matrix_find(const lower_kernel *kernel, loom_dtype dtype,
                                     const dot_plan *p) {
  MlirAttribute set = loom_option(kernel->op, loom_mark_matrix);
  if (!set.ptr || !mlirAttributeIsAString(set)) return NULL;
  for (size_t i = 0; i < sizeof matrix_table / sizeof *matrix_table; i++)
    if (matrix_table[i].dtype == dtype &&
        matrix_is_of(kernel, p, &matrix_table[i], mlirStringAttrGetValue(set)))
      return &matrix_table[i];
  return NULL;
}

const gpu_matrix *gpu_matrix_for(const lower_kernel *kernel, loom_dtype dtype) {
  return matrix_find(kernel, dtype, NULL);
}

/* Convolutions make their operands on the way, an element at a time, and keep multiply-adds. */
const gpu_matrix *gpu_matrix_of(const lower_kernel *kernel, const dot_plan *p) {
  return p->element == dot_element && matrix_may(kernel, p) ? matrix_find(kernel, p->factor, p)
                                                            : NULL;
}

MlirValue matrix_value(lower *l, const matrix_term *terms, MlirValue thread) {
  MlirValue sum = tile_int(l, 0);
  for (int i = 0; i < 2; i++)
    if (terms[i].of > 1)
      sum =
          dot_add_scaled(l, sum, tile_number(l, thread, terms[i].by, terms[i].of), terms[i].scale);
  return sum;
}

MlirValue gpu_matrix_multiply(lower *l, const gpu_matrix *matrix, MlirValue a, MlirValue b,
                              MlirValue sums) {
  char name[32];
  loom_builder at = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(at.ctx, 32);
  MlirType types[] = {mlirValueGetType(a), mlirValueGetType(b), mlirValueGetType(sums), i32};
  MlirValue operands[] = {a, b, sums, loom_build_int(&at, i32, l->team.sites++)};
  snprintf(name, sizeof name, "loom_gpu_%s", matrix->name);
  return gpu_call(&at, l->kernel->op, name, 4, types, operands, types[2]);
}
