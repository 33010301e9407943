/* Kernels with a dot_general: how they are tiled (schedule_dot.c) and lowered (lower_dot.c).
 *
 * Every dimension belongs to one of four groups, each taken as one linear variable: batch, rows
 * (free of lhs), columns (free of rhs), depth (contracted). A chunk is a block of tiles by a block
 * of panels; a tile is `mr` rows, a panel `nv` vectors of columns. A tile's sums stay in registers
 * over the whole depth, then go to scratch, from where the epilogue is lowered like any elementwise
 * kernel. A great depth is taken in blocks, for each of which all tiles of a chunk have their turn;
 * in between their sums lie in scratch. Floats are summed in runs of `sum_run` steps, each from
 * zero, which are added up in scratch: the rounding error of one chain grows with its length, and
 * libraries that block the depth have that of a run.
 *
 * With few rows packing the right operand would take longer than the product. Where the depth lies
 * side by side in both operands, as in x @ w.T, the lanes of such a product go along the depth
 * instead, and nothing is packed (dot_inner.c).
 *
 * Extents and what follows from them are numbers
 * that may be symbolic (ir.h).
 *
 * Of a product of a matrix with its own transpose only the tiles that reach the diagonal or lie
 * above it are computed. Each gives the epilogue its sums twice: at [r, c] and, transposed, at
 * [c, r]. Products commute and the depth is summed in the same order there, so the bits are those
 * of computing all; an element near the diagonal is written twice. (Of two NaNs that are multiplied
 * the first one stays: which, is open.)
 */
#ifndef LOOM_DOT_H
#define LOOM_DOT_H

#include "passes/lower.h"

enum { DOT_BATCH, DOT_ROW, DOT_COLUMN, DOT_DEPTH, DOT_GROUPS };

typedef struct dot_operand {
  MlirValue value;
  int dims[DOT_GROUPS][LOOM_MAX_RANK]; /* dimensions of the operand by group */
  int counts[DOT_GROUPS];
  loom_type type;
  int lane_group; /* DOT_ROW of lhs, DOT_COLUMN of rhs */
  /* Where it lies, if that is known: */
  bool known;
  loom_dtype stored;           /* half floats may lie there that are multiplied as f32, or int8 */
  MlirValue root;              /* what it is a view of */
  int operand;                 /* that operand of the kernel, or -1 */
  int64_t base;                /* in elements */
  int64_t strides[DOT_GROUPS]; /* in elements */
  /* For a GPU: the same is known but for batches, which no one stride leads through. */
  bool apart;
  int64_t batch_strides[LOOM_MAX_RANK]; /* of their dimensions, in elements */
  bool direct;                          /* read there, */
  bool turned; /* or packed from there: steps of depth lie side by side, as in a @ b.T */
  /* or packed as [batch][panel][depth][step] in slots: */
  bool beside;     /* or packed from there in vectors: rows lie side by side, as in a.T @ b */
  int64_t step;    /* rows or columns of a panel */
  int64_t panels;  /* of one batch */
  int64_t batches; /* 1 when the operand is the same in every batch */
  int64_t offset;  /* in bytes, in slots */
  bool fixed;      /* of constants alone: packed once, in what the plan keeps, not in slots */
  int64_t round;   /* panels of one batch, and ... */
  int64_t kept;    /* ... batches that are in slots at once */
} dot_operand;

/* Blocks of an operation whose packed operands are not there at once: each round packs what its
 * chunks read, in the place of what the round before has read. */
typedef struct dot_rounds {
  int64_t batch;                  /* batches of one */
  int64_t rows, columns, batches; /* number of rounds along each; all 1: there is one round */
} dot_rounds;

typedef struct dot_launch { /* chunks [first, first + count) of a stage */
  int64_t stage, first, count;
} dot_launch;

typedef struct gpu_matrix gpu_matrix;

/* How the threads of a block share a tile on a GPU (gpu_tile.h). */
typedef struct gpu_tile {
  int rows, columns, depth; /* of the tile; steps of depth of a slab */
  const gpu_matrix *matrix; /* the instruction on matrices; NULL: multiply-adds */
  int tall, wide;           /* rows and columns of a thread, or of a warp (matrix) */
  int64_t down, across;     /* tiles of one batch */
  int64_t splits, split;    /* parts of the depth, each with blocks of its own; slabs of one */
  bool ring;                /* slabs are copied by a warp of their own (gpu_ring.c) */
} gpu_tile;

typedef struct dot_plan dot_plan;

struct dot_plan {
  MlirOperation op;
  MlirValue result;
  loom_dtype dtype;  /* of the result */
  loom_dtype work;   /* of packed operands and sums: as dtype, but one byte for bool, f32 for half
                        floats */
  loom_dtype factor; /* of what instructions on matrices multiply: as dtype, but int8 where both
                        operands of a product of int32 are converted from that (on a GPU) */
  loom_type type;
  int64_t extents[DOT_GROUPS];
  int vl, mr, nv;
  int64_t pairs; /* of bfloat16 in the depth of what is packed (dot_pairs.c); 0: single elements */
  bool tiles_unit; /* pairs are multiplied by AMX */
  int inner; /* lanes go along the depth: columns whose sums are in registers; 0: along columns */
  bool few_rows,
      few_columns; /* there may be less than a tile, or a panel, which is known only then */
  bool symmetric;  /* element [r, c] is element [c, r]: tiles below the diagonal are not computed */
  dot_operand lhs, rhs;
  int64_t tiles, panels;             /* of rows, of columns */
  int64_t block_tiles, block_panels; /* of one chunk */
  bool rows_first; /* a chunk goes through its panels for each tile, not through tiles for each */
  int64_t chunks_m, chunks_n; /* of one batch, in one round */
  dot_rounds rounds;
  int64_t depth_block; /* steps of depth taken at once; 0: all */
  int64_t sum_run;     /* steps of depth summed in one chain; 0: all */
  int64_t stages[3];   /* packing what is fixed; packing; the product: the first two where needed */
  int stage_count, once;        /* stages; of these, the first ones that are run once */
  gpu_tile block, aside;        /* for a GPU; for a ring whose operands are not aligned */
  int64_t slots, kept, scratch; /* bytes */
  /* On a GPU: an element of an operand; and what becomes of a sum (gpu_conv.c has its own). */
  MlirValue (*element)(lower *l, const dot_plan *p, const dot_operand *o);
  void (*finish)(lower *l, const dot_plan *p, MlirValue sum);
};

/* The kernel's dot_general when it has one; a null op otherwise. */
MlirOperation dot_find(const lower_kernel *kernel);
/* False when this lowering does not take the op, by its ranks or its element type. */
bool dot_plan_make(const lower_kernel *kernel, MlirOperation op, dot_plan *out);
/* Divides a product into rounds where its packed operands would need too much memory at once
 * (dot_rounds.c). */
void dot_divide(dot_plan *plan);
bool dot_is_divided(const dot_plan *plan);
/* Is the operand packed in each call: neither read where it lies nor packed once? */
static inline bool dot_is_packed(const dot_operand *o) { return !o->direct && !o->fixed; }
/* Chunks of a packing stage for one round. */
int64_t dot_round_packs(const dot_plan *plan);
/* The launches of all rounds, malloc'ed. */
dot_launch *dot_launches(const dot_plan *plan, intptr_t *count);
/* Bytes for what is packed at once, or (`fixed`) once; sets the operands' offsets. */
int64_t dot_place(dot_plan *plan, bool fixed);
/* loom-schedule: writes stages, scratch, slots and schedule to the kernel. False after a
 * diagnostic. */
bool dot_schedule(const lower_kernel *kernel, MlirOperation op);
/* loom-lower: the body of stage `stage`, inside the function that `l` has begun (pointers, begin,
 * end are set; scope 0 is its entry block). False after a diagnostic. */
bool dot_lower(lower *l, const dot_plan *plan, int stage);

/* Elements, or pairs, along the depth of what is packed. */
static inline int64_t dot_packed_depth(const dot_plan *p) {
  return p->pairs ? p->pairs : p->extents[DOT_DEPTH];
}

/* Variables of the lowering: the groups of dimensions above, then these. */
enum { DOT_CHUNK = DOT_GROUPS, DOT_TILE, DOT_PANEL, DOT_VARS };

/* One chunk of a product, or of a packing stage, while its code is made. */
typedef struct dot_job {
  const dot_plan *p;
  dot_operand const *packed;                            /* what a packing stage packs */
  int lanes;                                            /* of the last vector of a panel */
  int64_t chunk_low;                                    /* first chunk of what is packed */
  bool depth_first;                                     /* packs all chunks step by step */
  MlirValue chunk_begin, chunk_end;                     /* then: these */
  MlirValue round_row, round_column, round_batch;       /* of the round; null: there is one */
  MlirValue row0, column0;                              /* i64 */
  MlirValue rhs;                                        /* the panel at the depth's first step */
  MlirValue tile_low, tile_high, panel_low, panel_high; /* of the chunk */
  MlirValue rows[16];                                   /* lhs: offsets of a tile's rows */
  MlirValue depth_low, depth_high;                      /* of the block */
  MlirValue sums;                                       /* where those of the tile lie */
  lower_body tile;                                      /* what is done with each */
} dot_job;

/* ---- lower_dot.c: numbers, indices and vectors of columns ---- */

loom_builder dot_here(const lower *l);
MlirValue dot_const(lower *l, int64_t value);
MlirValue dot_op(lower *l, const char *name, MlirValue x, int64_t y);
/* x + y * scale */
MlirValue dot_add_scaled(lower *l, MlirValue x, MlirValue y, int64_t scale);
MlirValue dot_address(lower *l, MlirValue ptr, MlirValue offset, loom_dtype dtype);
/* The same with an offset that is known now. */
MlirValue dot_at(lower *l, MlirValue ptr, int64_t offset, loom_dtype dtype);
/* Where an operand is packed: in the slots, or behind them in the memory that is kept between
 * calls. */
MlirValue dot_slots(lower *l, const dot_plan *p, const dot_operand *o);
const lower_at *dot_operand_at(lower *l, const dot_operand *o);
/* The index of the result's element that the variables name; NULL: out of memory. */
const lower_at *dot_result_at(lower *l, const dot_plan *p);
/* The variables of a product, and how far they go. */
void dot_set_extents(lower *l, const dot_plan *p);
void dot_set(lower *l, int var, MlirValue iv);
/* Runs `body` for each vector of a panel. */
void dot_vectors(lower *l, const dot_job *job,
                 void (*body)(lower *l, const dot_job *job, int vector));

/* x * y + sum, by the rules of the product's element type. */
MlirValue dot_multiply_add(loom_builder *b, loom_dtype dtype, MlirValue x, MlirValue y,
                           MlirValue sum);
/* Where the sums of a row of the tile lie, from a vector of columns on. */
MlirValue dot_sum_pointer(lower *l, const dot_job *job, MlirValue row, int vector);
/* A register of sums that are zero. */
MlirValue dot_zero(lower *l, const dot_plan *p);
/* Element [batch, row or column, depth] of an operand of the kernel, where it lies. */
MlirValue dot_stored_at(lower *l, const dot_operand *o, MlirValue lane, MlirValue depth);
/* The epilogue, for the sums of the elements that the row and column variables name. */
void dot_finish_sums(lower *l, const dot_plan *p, MlirValue sum);

/* ---- dot_inner.c: lanes along the depth ---- */

/* Adds a block of the depth to the sums of a tile, which lie in scratch. */
void dot_inner_tile(lower *l, dot_job *job);

/* ---- dot_pairs.c: pairs of bfloat16 ---- */

/* Chooses tiles of pairs where the kernel's CPU multiplies these and the operands are bfloat16.
 * `inner`: both operands could be read where they lie instead, which is faster with few rows. */
bool dot_pairs_plan(const lower_kernel *kernel, dot_plan *p, bool inner);
/* May the left operand be read where it lies? */
bool dot_pairs_direct(const dot_plan *p);
/* Steps of depth that are taken at once; 0: all. */
int64_t dot_pairs_block(const dot_plan *p);
/* Packs the panel that the job is at. */
void dot_pairs_pack(lower *l, dot_job *job);
/* Adds a block of the depth to the sums of a tile. Those of AMX lie in scratch behind it, those of
 * AVX-512 are in registers: `sums`. `left`: the left operand there. */
void dot_pairs_tile(lower *l, dot_job *job, MlirValue left, MlirValue *sums);
/* What the unit needs before the first tile, and behind the last one. */
void dot_pairs_open(lower *l, const dot_plan *p);
void dot_pairs_close(lower *l, const dot_plan *p);

/* ---- dot_pack.c ---- */

/* Transposes a square of vectors. */
void dot_transpose(loom_builder *b, int size, MlirValue *rows);

/* The value of an operand of the dot in the form it is packed in. */
MlirValue dot_element(lower *l, const dot_plan *p, const dot_operand *o);

/* First row of a tile, or first column of a panel. The last one starts early enough to be whole. */
MlirValue dot_first(lower *l, MlirValue panel, int64_t step, int64_t extent);
/* Sets where the round of a chunk begins. Each round has `chunks` chunks. */
MlirValue dot_find_round(lower *l, dot_job *job, MlirValue chunk, int64_t chunks);
/* The code of a packing stage. `fixed`: it packs the operands that are packed once, for all rounds.
 */
void dot_pack(lower *l, dot_job *job, bool fixed);

/* ---- gpu_tile.c: products on a GPU ---- */

/* Chooses the tile of a block; the extents and the operands' strides are known. */
bool gpu_dot_plan(const lower_kernel *kernel, dot_plan *p);
/* The code of a block: one tile, or (stage 1) elements whose parts are added up. False after a
 * diagnostic. */
bool gpu_dot_lower(lower *l, const dot_plan *p, int stage);

#endif
