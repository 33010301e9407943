/* Products on a GPU: a block computes a tile of the result. Shared by the files that make its code.
 *
 * Sections by file: gpu_tile.c (which tile, what a block begins and ends with), gpu_dot.c
 * (multiply-adds), gpu_mma.c (instructions on matrices), gpu_slab.c (their operands in shared
 * memory), gpu_fragment.c (what is read there), gpu_wgmma.c (warpgroups), gpu_ring.c (warpgroups
 * and a warp that copies), gpu_map.c (its tensor maps), gpu_matrix.c (the instructions).
 */
#ifndef LOOM_GPU_TILE_H
#define LOOM_GPU_TILE_H

#include "passes/dot.h"
#include "passes/gpu.h"

#define TILE_DEPTH 16     /* steps of a slab, of multiply-adds */
#define TILE_SHARED 49152 /* bytes of shared memory of a block, at most */
#define TILE_BUFFERS 64   /* of a launch, at most */

/* ---- gpu_tile.c ---- */

/* The block while its code is made. */
typedef struct gpu_block {
  const dot_plan *p;
  MlirValue thread;           /* its number, i32 */
  MlirValue first[2];         /* row and column of the tile */
  MlirValue low, high;        /* numbers of the slabs */
  MlirValue part;             /* of the depth, where it is split; else null */
  MlirValue memory;           /* shared */
  MlirValue sum, row, column; /* of the epilogue: an element, or a vector and its first one */
  int width;                  /* elements of such a vector, which go along a row */
  MlirValue aligned;          /* do vectors lie at multiples of their size? null: they need not */
  MlirValue at;               /* number of the element whose parts are added up */
} gpu_block;

/* Sums in shared memory, `pitch` elements between rows. Row n there is row
 * base + n / group * far + n % group * near of the tile. */
typedef struct gpu_sums {
  int rows, pitch, group, far, near, base;
} gpu_sums;

/* Which tile: its first row and column, and the batch. */
void gpu_block_find(lower *l, gpu_block *block, MlirValue tile);
/* How many elements of a row the epilogue takes at once. */
void gpu_block_vectors(lower *l, gpu_block *block);
/* Begins the code of a block: all but the memory. */
void gpu_block_open(lower *l, gpu_block *block);
/* The epilogue of sums that lie in shared memory; or they go to the slots of their part. */
void gpu_block_finish(lower *l, gpu_block *block, const gpu_sums *sums);

MlirValue tile_int(lower *l, int64_t value);
MlirValue tile_add(lower *l, MlirValue x, int64_t y);
/* A number of the thread as i64: thread / by % of. */
MlirValue tile_number(lower *l, MlirValue thread, int by, int of);
/* ptr + offset elements of the sums' type. */
MlirValue tile_address(lower *l, const dot_plan *p, MlirValue ptr, MlirValue offset);
/* An access of so many elements, which lie at a multiple of their size. */
void tile_align(const lower *l, MlirOperation access, loom_dtype dtype, int width);
/* Rows and columns beyond the last one are the last one. `step`: a tile's. */
MlirValue tile_clamp(lower *l, MlirValue at, int64_t extent, int step);
MlirValue tile_zero(lower *l, const dot_plan *p, int width);
/* Multiprocessors that large tiles have to keep busy. */
int64_t tile_processors(const lower_kernel *kernel);
/* Slabs of the depth, in all parts: a number. */
int64_t tile_slabs(const dot_plan *p);
/* May there be none, which is only known in the kernel? */
bool tile_may_be_empty(const dot_plan *p);

/* The most elements, up to `width`, that all accesses of a dry run can make at once along this
 * variable: they are next to each other, or one for all. bytes[slot]: what is then read at once of
 * a buffer, or written; a vector is aligned where it begins at a multiple of that. */
int tile_vector(const lower *dry, const dot_plan *p, int along, int width, int *bytes);
/* Do all buffers begin at such multiples? An i1. */
MlirValue tile_aligned(lower *l, const int *bytes);

typedef void (*tile_maker)(lower *l, void *user, MlirValue *out);
/* `count` values that `make` makes where the condition holds, `otherwise` where it does not. */
void tile_if(lower *l, MlirValue condition, int count, tile_maker make, tile_maker otherwise,
             void *user, MlirValue *out);

/* ---- gpu_dot.c ---- */

/* The sums of a block by multiply-adds, and their epilogue. */
void gpu_fma_block(lower *l, gpu_block *block);

/* ---- gpu_matrix.c: instructions on matrices ---- */

/* A number that a thread t of a warp has: t / by % of * scale. */
typedef struct matrix_term {
  int by, of, scale;
} matrix_term;

/* Where a fragment begins, as sums of terms: for operands a line is a row or column of the result,
 * for sums it is a row and `at` a column. */
typedef struct matrix_place {
  matrix_term line[2], at[2];
} matrix_place;

struct gpu_matrix {
  const char *name; /* of the primitive, without loom_gpu_ (gpu.def) */
  const char *set;  /* the value of loom.matrix that it belongs to */
  loom_dtype dtype;
  int threads, m, n, k; /* of one call */
  int beside;           /* calls beside each other, whose right operand is loaded at once */
  int run;              /* steps of the depth that a thread has in a fragment; 0: see ldmatrix */
  int reach;            /* steps next to each other that a thread has in several fragments */
  int pieces[2]; /* of 16 bytes that a warp reads at once of a line along the depth, across */
  /* Of lhs and rhs whose lines go along the depth, and across it; of the sums. */
  matrix_place of[2], turned[2], of_sum;
  int sums;        /* of a thread, */
  int sums_beside; /* so many of which are next to each other in a row, */
  int sums_step;   /* and the next ones so many rows below */
  int sums_group; /* so many are about one run of columns, the next ones about the next 8; 0: all */
  int pad;        /* elements behind a row of sums in shared memory */
};

/* The instruction for a product; NULL: the GPU has none. */
const gpu_matrix *gpu_matrix_of(const lower_kernel *kernel, const dot_plan *p);
/* Is it NVIDIA's: sums of a thread are single registers, and there are asynchronous copies? */
bool gpu_matrix_is_nvidia(const gpu_matrix *matrix);
/* The instruction of a warp for elements of this type; NULL: the kernel's GPU has none. */
const gpu_matrix *gpu_matrix_for(const lower_kernel *kernel, loom_dtype dtype);
/* The value of a place's terms for a thread (i32). */
MlirValue matrix_value(lower *l, const matrix_term *terms, MlirValue thread);
MlirValue gpu_matrix_multiply(lower *l, const gpu_matrix *matrix, MlirValue a, MlirValue b,
                              MlirValue sums);

/* ---- gpu_slab.c: operands in shared memory ---- */

#define SLAB_PIECES 32 /* of a thread, at most */
#define SLAB_BANKS 8   /* pieces of 16 bytes that lie in all banks once */
#define SLAB_BYTES 16  /* of a piece */

/* One operand's part of a slab: lines of elements, cut into pieces of 16 bytes which lie in another
 * order in each line. */
typedef struct gpu_slab {
  const dot_plan *p;
  const dot_operand *operand;
  int side;           /* 0: rows, 1: columns */
  bool turned;        /* a line is a step of the depth; else a row or column */
  int lines, length;  /* how many there are; elements of one */
  int width, pieces;  /* elements that a thread copies at once; how often it does */
  bool direct, async; /* the operand lies in memory as it is; it is copied without registers */
  int offset;         /* in a slab, in elements */
  MlirValue first;    /* of the tile: row or column */
  MlirValue line, at; /* of the thread's first piece: the line, and the element in it */
  MlirValue memory, to[SLAB_PIECES]; /* shared memory, and where the pieces lie in its first slab */
  MlirValue there;                   /* does the thread have pieces? null: each has */
  int bytes[TILE_BUFFERS]; /* that are read at once of each buffer; 0: none, or single elements */
  MlirValue aligned;       /* do all begin at multiples of that? null: they need not */
  MlirValue from[SLAB_PIECES]; /* direct: where the pieces of the first slab lie in memory */
  /* Where a thread's fragments lie: the line and the place in a piece, then the piece; the scope
   * that knows them; the address for each value that the piece's number is combined with by xor, or
   * null where it is not yet made. */
  MlirValue base, piece;
  int level;
  MlirValue bases[SLAB_BANKS];
} gpu_slab;

/* Where element `at` of line `line` lies in shared memory. */
MlirValue gpu_slab_place(lower *l, const gpu_slab *slab, MlirValue line, MlirValue at);
/* How an operand's slabs are copied and lie. */
void gpu_slab_plan(const lower_kernel *kernel, const dot_plan *p, int side, gpu_slab *out);
/* Do lines of the operand go across the depth? */
bool gpu_slab_is_turned(const dot_plan *p, int side);
void gpu_slab_open(lower *l, const gpu_block *block, gpu_slab *slab);
/* What the thread has of slab `number`, in registers: loaded, and stored to shared memory
 * from byte `offset` on. */
void gpu_slab_load(lower *l, const gpu_slab *slab, MlirValue number, MlirValue *out);
void gpu_slab_zero(lower *l, const gpu_slab *slab, MlirValue *out);
void gpu_slab_store(lower *l, const gpu_slab *slab, MlirValue offset, const MlirValue *values);
/* Or it is copied there without registers. */
void gpu_slab_copy(lower *l, const gpu_slab *slab, MlirValue number, MlirValue offset);
/* So many bytes of device memory go to shared memory, by the GPU's copies; zeros where `inside`
 * (null: everywhere) does not hold. */
void gpu_copy_piece(lower *l, MlirValue to, MlirValue from, int bytes, MlirValue inside);
/* Of a slab: bytes of an element, as which type it is moved, elements of a piece, neighbouring
 * pieces of a line that change places. */
int slab_size(const gpu_slab *s);
loom_dtype slab_dtype(const gpu_slab *s);
int slab_piece(const gpu_slab *s);
int slab_flips(const gpu_slab *s);
/* The order of a line: some of the bits of its number. */
int slab_order(const gpu_slab *s, int line);
/* The piece of element `at` of a line, in the line's order. */
MlirValue slab_find(lower *l, const gpu_slab *s, MlirValue line, MlirValue at);
/* ptr + so many elements, or bytes. */
MlirValue slab_address(lower *l, const gpu_slab *s, MlirValue memory, MlirValue offset);
MlirValue slab_bytes(lower *l, MlirValue ptr, MlirValue bytes);
/* A vector with another element `i`. */
MlirValue slab_insert(lower *l, MlirValue vector, MlirValue element, int i);

/* ---- gpu_fragment.c: what is read of a slab ---- */

/* The fragment of the rows (columns) from `lane` on of the warp, and of the steps from `depth` on,
 * of the slab at byte `offset`. Before, gpu_slab_aim() says where the warp's first row begins. */
void gpu_slab_aim(lower *l, gpu_slab *slab, MlirValue thread, MlirValue warp);
MlirValue gpu_slab_fragment(lower *l, gpu_slab *slab, MlirValue offset, int lane, int depth);

/* Where the first line of a slab from `line` on lies, whose place is at byte `offset`. */
MlirValue gpu_slab_line(lower *l, const gpu_slab *slab, MlirValue offset, MlirValue line);

/* ---- gpu_wgmma.c: instructions of warpgroups ---- */

bool gpu_is_group(const gpu_matrix *matrix);
/* Memory of a thread for so many sums, which becomes registers. */
MlirValue gpu_sums_memory(lower *l, int sums);
/* Memory of a thread for its sums, which becomes registers: zeros. */
MlirValue gpu_group_sums(lower *l, const gpu_matrix *matrix);
/* What threads have written to shared memory is to be seen by these instructions. */
void gpu_group_fence(lower *l);
void gpu_group_multiply(lower *l, const gpu_matrix *matrix, MlirValue sums, MlirValue rows,
                        MlirValue columns);
/* The sums of each warpgroup go to shared memory by turns, and to the epilogue. */
void gpu_group_finish(lower *l, gpu_block *block, const gpu_matrix *matrix, MlirValue sums);

/* ---- gpu_ring.c: a warp that copies, and warpgroups that multiply ---- */

/* Products whose operands a ring of slabs can hold have that in the place of the tile that was
 * chosen. */
void gpu_ring_plan(const lower_kernel *kernel, dot_plan *p);
void gpu_ring_blocks(lower *l, const dot_plan *p);

/* ---- gpu_map.c: tensor maps of operands ---- */

int gpu_map_size(const dot_plan *p); /* bytes of an element */
/* Is there one? Lines of the operand do not overlap, and lie as a map needs them. */
bool gpu_map_of(const lower_kernel *kernel, const dot_plan *p, int side);
/* Its numbers, for boxes of `rows` lines of `line` bytes, behind those of other maps. */
void gpu_map_write(lower *l, const dot_plan *p, int side, int line, int rows);

/* ---- gpu_mma.c ---- */

/* The sums of a block by instructions on matrices, and their epilogue. */
void gpu_mma_block(lower *l, gpu_block *block);

#endif
