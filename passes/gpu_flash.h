/* Attention and its gradients on a GPU by instructions on matrices (gpu_flash.c,
 * gpu_flash_gradient.c), and what they share. Half floats of up to 128 columns have it; others have
 * multiply-adds (gpu_attention.h), whose words are used here, too: a block has rows of its own
 * side, and goes through tiles of the other side.
 *
 * A warp has 16 own rows. What it computes lies in cells of 16 x 16 elements, [own row][x], which
 * stay in its registers: scores, where x are rows of the other side, and results, where x are
 * columns. A thread has the same places of each cell (gpu_flash_cell.c), and what it has of a cell
 * of weights is its fragment of the next product's operand, so that weights never leave registers
 * (Dao: "FlashAttention-2", 2023). With NVIDIA's instruction the own side is the left operand. With
 * AMD's it is the right one, since there a thread's sums are a column.
 *
 * Tiles lie in shared memory as they lie in device memory, row after row, in the order of pieces
 * that slabs of products have (gpu_slab.c), for a fragment that goes along rows as for one that
 * goes across them. They are copied while others are multiplied (gpu_flash_copy.c).
 *
 * Exponentials are powers of two: scores are taken times log2(e).
 */
#ifndef LOOM_GPU_FLASH_H
#define LOOM_GPU_FLASH_H

#include "passes/attention.h"
#include "passes/gpu_tile.h"

#define FLASH_SIDE 16  /* rows and columns of a cell */
#define FLASH_CELLS 16 /* along the other side, or along columns, at most */
#define FLASH_VALUES 8 /* of a thread in a cell, at most, */
#define FLASH_ROWS 2   /* in so many own rows, at most */
#define FLASH_PARTS 2  /* sums of instructions in a cell, at most */

typedef struct gpu_flash {
  attention_plan op;         /* its operands and sizes (attention_read) */
  gpu_matrix matrix, narrow; /* `narrow`: each fragment's steps of the depth are 16 in a row */
  dot_plan dot, narrow_dot;  /* what slabs ask of a product: the matrix and the type */
  bool keys;                 /* the block's own side are keys */
  bool swapped;              /* the own side is the right operand */
  int down, across;          /* warps down the own side, and across a tile of the other side */
  int own, other;            /* rows of a tile */
  int cells, columns[2];     /* of a warp: along the other side; along depth and width */
  int length;                /* of the longest row in shared memory, in elements */
  int64_t tiles;             /* of the own side; a number */
  bool later;                /* scores are scaled when they become weights: the scale is above 0 */
  int64_t splits, split;     /* parts of the other side; rows of one, a number */
  bool group;                /* warpgroups multiply (gpu_flash_group.c) */
} gpu_flash;

/* Where a tile's rows lie in device memory. */
typedef struct flash_memory {
  int slot;
  int64_t base, strides[4], dims[4]; /* numbers */
  MlirValue head;                    /* element [0, 0] of the head */
} flash_memory;

/* Rows of an operand in shared memory, or of a result. */
typedef struct flash_tile {
  const gpu_flash *f;
  flash_memory at;
  int rows, length;        /* of the tile; elements of a row in shared memory, */
  int columns, present;    /* of which so many are copied, and so many are there */
  bool own;                /* of the own side, */
  int64_t limit;           /* which has so many rows: a number */
  bool even;               /* a tile is there with all of its rows, or with none */
  int width, pieces, step; /* elements of a piece; pieces of a thread, so many rows apart */
  bool async;              /* pieces are copied without registers */
  bool parts;              /* 64 columns and the next ones lie apart (gpu_flash_group.c) */
  gpu_slab place;          /* where all rows lie, */
  gpu_slab along, turned;  /* and the warp's; fragments that go along rows, and across them */
  MlirValue line, at_column, column; /* of the thread's first piece; `column` is there */
  MlirValue there;                   /* does the thread have pieces? null: each has */
  MlirValue inside;                  /* are the piece's columns there? null: they are */
  MlirValue aligned; /* do pieces lie at multiples of their size? null: they need not */
} flash_tile;

/* What a thread has of a cell, as the instructions' sums. */
typedef struct flash_cell {
  MlirValue parts[FLASH_PARTS];
} flash_cell;

typedef struct flash_job {
  const gpu_flash *f;
  MlirValue thread;             /* i32 */
  MlirValue memory;             /* shared */
  MlirValue batch, head, group; /* head of q, and of k and v */
  MlirValue split;              /* the part of the other side; null: there is one */
  MlirValue own, other;         /* the first rows of the tiles */
  MlirValue down, across;       /* the warp's first rows in them */
  MlirValue row, x;             /* the thread's in a cell */
  MlirValue scale, log2e, mask; /* of scores, times log2(e); element [0, 0] of the head, or null */
} flash_job;

/* ---- gpu_flash_plan.c ------------------------------------------------------------------------ */

/* Is the attention one for instructions on matrices? Then it is divided. `keys`: the own side are
 * keys. */
bool gpu_flash_divide(const lower_kernel *kernel, gpu_flash *f, bool keys);
/* Blocks of the launch: a number. */
int64_t gpu_flash_blocks(const gpu_flash *f);
/* Begins the code of a block. One of keys has no head of q yet. */
void gpu_flash_open(lower *l, const gpu_flash *f, int shared, flash_job *out);
/* The head of q, and the mask's. */
void gpu_flash_enter(lower *l, flash_job *j, MlirValue head);
/* Rows of the own and of the other side: numbers. */
int64_t gpu_flash_rows(const gpu_flash *f, bool own);
/* Bytes of a tile in shared memory. */
int gpu_flash_bytes(const gpu_flash *f, int rows);

/* ---- gpu_flash_copy.c ------------------------------------------------------------------------ */

/* A tile of the own or of the other side of an operand, whose head is known, or is not yet. */
void gpu_flash_tile(lower *l, const flash_job *j, const attention_operand *o, bool own,
                    flash_tile *out);
/* Rows from `first` on begin to be copied to byte `offset` of shared memory; those that come
 * through registers are in `values` then. Rows from `limit` (at least 1) on are zeros. */
void gpu_flash_begin(lower *l, const flash_tile *t, MlirValue first, MlirValue limit,
                     MlirValue offset, MlirValue *values);
/* And get there. */
void gpu_flash_end(lower *l, const flash_tile *t, MlirValue offset, const MlirValue *values);
/* What was begun is a group of copies; waits for all groups but the last one, or for all. `tile`:
 * of the other side, which warpgroups read from shared memory. */
void gpu_flash_commit(lower *l, const flash_job *j);
void gpu_flash_wait(lower *l, const flash_job *j, bool all, bool tile);
/* Own rows of an operand as fragments, one for each 16 columns, by way of shared memory. */
void gpu_flash_own(lower *l, const flash_job *j, const attention_operand *o, MlirValue *fragments);
/* The cells of a result, by way of shared memory, whose tiles no thread reads any more. */
void gpu_flash_deliver(lower *l, const flash_job *j, const lower_buffer *result,
                       const flash_cell *cells);

/* ---- gpu_flash_cell.c ------------------------------------------------------------------------ */

/* Values of a thread in a cell, and own rows; of value v the own row, from the thread's first one
 * on, and x. */
int gpu_flash_values(const gpu_flash *f);
int gpu_flash_own_rows(const gpu_flash *f);
int gpu_flash_row(const gpu_flash *f, int v);
int gpu_flash_x(const gpu_flash *f, int v);
/* The thread's first own row of a cell, and its first x. */
void gpu_flash_places(lower *l, flash_job *j);

flash_cell gpu_flash_zero(lower *l, const gpu_flash *f);
MlirValue gpu_flash_value(lower *l, const gpu_flash *f, const flash_cell *cell, int v);
/* Cells as values that a loop carries, and back: how many these are. */
int gpu_flash_carried(const gpu_flash *f);
void gpu_flash_take_apart(lower *l, const gpu_flash *f, int count, const flash_cell *cells,
                          MlirValue *out);
void gpu_flash_put_together(lower *l, const gpu_flash *f, int count, const MlirValue *values,
                            flash_cell *out);
/* Carried values of cells, each times the number of its own row. */
void gpu_flash_scale(lower *l, const gpu_flash *f, int count, const MlirValue *by,
                     MlirValue *values);

/* scores[cell * values + v] of own rows, given as fragments, times rows of a tile. */
void gpu_flash_multiply(lower *l, const flash_job *j, flash_tile *tile, MlirValue offset, int steps,
                        const MlirValue *own, MlirValue *scores);
/* cells += weights, in the order of scores, times rows of a tile. */
void gpu_flash_weigh(lower *l, const flash_job *j, flash_tile *tile, MlirValue offset, int count,
                     const MlirValue *weights, flash_cell *cells);
/* A cell of weights as a fragment. */
MlirValue gpu_flash_pack(lower *l, const gpu_flash *f, const MlirValue *numbers);
/* Two numbers as halves in a word. */
MlirValue gpu_flash_pair(lower *l, const gpu_flash *f, MlirValue low, MlirValue high);
/* The largest value, or the sum, of the threads that share an own row. */
MlirValue gpu_flash_share(lower *l, const gpu_flash *f, const char *op, MlirValue value);

/* ---- gpu_flash_group.c ----------------------------------------------------------------------- */

/* Has an attention that is divided instructions of warpgroups? */
bool gpu_flash_group(const lower_kernel *kernel, const gpu_flash *f);
/* As gpu_flash_multiply() and gpu_flash_weigh(), of a tile at byte `offset` of shared memory;
 * results are carried values of cells. */
void gpu_flash_group_multiply(lower *l, const flash_job *j, MlirValue offset, int steps,
                              const MlirValue *own, MlirValue *scores);
void gpu_flash_group_weigh(lower *l, const flash_job *j, MlirValue offset, int columns,
                           const MlirValue *weights, MlirValue *results);

/* ---- gpu_flash_score.c ----------------------------------------------------------------------- */

/* Scores times scale and log2(e), or as they are (`later`), masked: -inf where causal hides them,
 * or (`end`) where the other row is not there. */
void gpu_flash_mask(lower *l, const flash_job *j, bool end, MlirValue *scores);
/* 2 to the power of x. */
MlirValue gpu_flash_exp2(lower *l, MlirValue x);
/* Number of own row k of the thread, and of its value v of a cell of the other side. */
MlirValue gpu_flash_own_at(lower *l, const flash_job *j, int k);
MlirValue gpu_flash_other_at(lower *l, const flash_job *j, int cell, int v);
/* A number of its own side's row, or of the other side's, at most the last one; times a stride. */
MlirValue gpu_flash_offset(lower *l, const flash_job *j, bool own, MlirValue row, int64_t stride);
/* Where all own rows see no row behind: the end of what the block sees. */
MlirValue gpu_flash_high(lower *l, const flash_job *j);

/* ---- gpu_flash.c, gpu_flash_gradient.c, gpu_flash_parts.c ------------------------------------ */

/* The plan of a kernel by instructions on matrices; false: it has none. */
bool gpu_flash_plan(const lower_kernel *kernel, const attention_plan *op, alone_plan *out);
bool gpu_flash_lower(lower *l, const attention_plan *op, int stage);
bool gpu_flash_gradient_plan(const lower_kernel *kernel, const attention_plan *op, alone_plan *out);
bool gpu_flash_gradient_lower(lower *l, const attention_plan *op, int stage);
/* The logarithm of a row's sum, and what its results are multiplied with. */
MlirValue gpu_flash_logarithm(lower *l, const gpu_flash *f, MlirValue largest, MlirValue sum);
MlirValue gpu_flash_divisor(lower *l, const gpu_flash *f, MlirValue sum);
/* What a block has of its queries goes to the slots, with the largest scores and sums of weights;
 * the second stage puts together what all parts have. */
int64_t gpu_flash_part_bytes(const gpu_flash *f);
int64_t gpu_flash_part_chunks(const gpu_flash *f);
void gpu_flash_part_store(lower *l, const flash_job *j, const flash_cell *cells,
                          const MlirValue *largest, const MlirValue *sums);
void gpu_flash_parts(lower *l, const gpu_flash *f);

#endif
