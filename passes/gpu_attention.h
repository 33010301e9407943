/* Attention and its gradients on a GPU (gpu_attention.c, gpu_attention_gradient.c), and what they
 * share (gpu_attention_tile.c).
 *
 * A block has some rows of one side, its own: queries, or keys for the gradients of k and v. It
 * goes through tiles of the other side. For each it computes the scores, [own][other], makes
 * weights of them, and adds the product of the weights with rows of the other side's operand to
 * its results, which stay in registers from the first tile to the last. So no score is ever in
 * device memory (Dao et al.: "FlashAttention", 2022; Dao: "FlashAttention-2", 2023), no float is
 * added by an atomic operation, and the sizes alone decide the order of every sum.
 *
 * The 256 threads of a block are 16 x 16: 16 down the own side, 16 along the other side, or along
 * the columns of a result. Thread s of a side has its elements s, s + 16, s + 32, ... (gpu_side).
 * So threads next to each other access elements of device memory that are, and the 16 threads of
 * one own row are half a warp, which reduces a row by shuffles.
 *
 * Products take steps in slabs of 16 through shared memory, in two places by turns. In a slab the
 * elements of a thread are side by side, so that it reads up to 16 bytes at once. The weights go
 * through shared memory too, [other][own].
 */
#ifndef LOOM_GPU_ATTENTION_H
#define LOOM_GPU_ATTENTION_H

#include "passes/attention.h"
#include "passes/gpu.h"

#define GPU_SIDE 16       /* threads along a side, and steps of a slab */
#define GPU_SIDE_PARTS 20 /* vectors of a thread, at most */
#define GPU_SIDE_MOST 4   /* own rows of a thread, and those of the other side, at most */

/* Elements of a thread along a side: element k of thread s is s + 16 k. Part p of them is a vector
 * of `width[p]` elements from number `first[p]` on. */
typedef struct gpu_side {
  int count, parts;
  int first[GPU_SIDE_PARTS], width[GPU_SIDE_PARTS];
} gpu_side;

typedef struct gpu_attention {
  attention_plan op; /* its operands and sizes (attention_read) */
  bool keys;         /* the block's own side are keys */
  gpu_side own, other;
  gpu_side columns[2]; /* of results: depth (gradients of q and k), width (the other ones) */
  int64_t tiles;       /* of the own side; a number */
  int pitch;           /* elements from one row of the weights to the next */
  int slab;            /* elements of one slab of both operands */
} gpu_attention;

/* A block, while its code is made. */
typedef struct gpu_attention_job {
  const gpu_attention *a;
  MlirValue thread, down, along; /* number of the thread, and along each side */
  MlirValue weights, slabs;      /* places in shared memory */
  MlirValue batch, head, group;  /* head of q, and of k and v */
  MlirValue own, other;          /* the first rows of the tiles */
  MlirValue scale, mask;         /* a scalar; element [0, 0] of the head, or null */
  bool pending;                  /* may threads still read the place of a first slab? */
} gpu_attention_job;

/* One operand of a product. `side` NULL: the weights. */
typedef struct gpu_factor {
  const gpu_side *side;
  int low, high;                    /* parts of the side that take part */
  MlirValue ptr;                    /* element [0, 0] of a head */
  loom_dtype dtype;                 /* in memory */
  int64_t lane_stride, step_stride; /* numbers */
  MlirValue lane, step;             /* the first ones of the tile */
  int64_t lanes, steps;             /* how many there are in memory; numbers */
} gpu_factor;

/* sums[row][column] += sum of rows[step][row] * columns[step][column] over the steps of `high`
 * slabs, for the rows and columns of a thread. */
typedef struct gpu_product {
  gpu_attention_job *j;
  gpu_factor rows, columns;
  MlirValue high;
  bool even;                           /* is the number of slabs known to be even? */
  MlirValue values[4 * GPU_SIDE_MOST]; /* what the thread has loaded of a slab */
} gpu_product;

/* ---- gpu_attention_slab.c -------------------------------------------------------------------- */

gpu_side gpu_side_of(int count, loom_dtype work);
/* Elements of the parts [low, high). */
int gpu_side_elements(const gpu_side *side, int low, int high);
/* Elements between two rows of shared memory that begin with part `low`, so that vectors of
 * consecutive rows lie in different banks. */
int gpu_side_pad(const gpu_side *side, int low, loom_dtype work);
/* Marks an access of shared memory to a vector. */
void gpu_side_align(const lower *l, MlirOperation access, loom_dtype dtype, int width);
/* A vector of elements[0], elements[step], ... */
MlirValue gpu_side_vector(lower *l, const MlirValue *elements, int step, int width);

/* Loads the first slab. */
void gpu_product_begin(lower *l, gpu_product *x);
/* All slabs. Its threads wait for each other first where the product before may have ended in the
 * place of the first slab. `sums`: for each row of a thread its parts of columns. */
void gpu_product_run(lower *l, gpu_product *x, MlirValue *sums);

/* ---- gpu_attention_tile.c -------------------------------------------------------------------- */

/* Divides the block, whose own side are keys if `keys`. `results`: does it have one of the depth's
 * columns, and of the width's? `carried`: numbers that it has for each own row. False after a
 * diagnostic. */
bool gpu_attention_divide(gpu_attention *a, bool keys, const bool *results, int carried);
/* Blocks of the launch: a number. */
int64_t gpu_attention_blocks(const gpu_attention *a);

/* Begins the code of a block: its thread, tile, heads and scale. A block of keys has no head of q
 * yet. */
void gpu_attention_open(lower *l, const gpu_attention *a, gpu_attention_job *out);
/* The head of q, and the mask's. */
void gpu_attention_enter(lower *l, gpu_attention_job *j, MlirValue head);
/* The first row of the other side's tile is the iteration: `body` for tiles of rows [low, high). */
void gpu_attention_walk(lower *l, gpu_attention_job *j, MlirValue low, MlirValue high, int carried,
                        MlirValue *values, lower_body body, void *user);

/* The number of row k of the thread, of the own or the other side; */
MlirValue gpu_attention_at(lower *l, const gpu_attention_job *j, bool own, int k);
/* the same, or the last row that is there; */
MlirValue gpu_attention_row(lower *l, const gpu_attention_job *j, bool own, int k);
/* whether it is there: an i1, or null where all are. */
MlirValue gpu_attention_there(lower *l, const gpu_attention_job *j, bool own, int k);

/* Sums that are zero, for the own rows of a thread; how many values these are. */
int gpu_attention_zeros(lower *l, const gpu_attention *a, const gpu_side *columns, MlirValue *out);
/* scores[own * other.count + other]: own rows times rows of the other side, over the operands'
 * columns. */
void gpu_attention_multiply(lower *l, gpu_attention_job *j, const attention_operand *own,
                            const attention_operand *other, MlirValue *scores);
/* Scales and masks them; -inf where causal hides them. */
void gpu_attention_mask(lower *l, const gpu_attention_job *j, MlirValue *scores);
/* Puts weights, in the order of scores, into shared memory. */
void gpu_attention_put(lower *l, const gpu_attention_job *j, const MlirValue *weights);
/* The product of the weights with rows of the other side's operand, up to row `limit` of it: its
 * first slab is loaded. */
gpu_product gpu_attention_weigh_begin(lower *l, gpu_attention_job *j, const gpu_side *columns,
                                      const attention_operand *other, MlirValue limit);
/* Adds it to the sums of a result. */
void gpu_attention_weigh(lower *l, gpu_product *x, MlirValue *sums);
/* Stores the own rows of a result. */
void gpu_attention_deliver(lower *l, const gpu_attention_job *j, const lower_buffer *result,
                           const gpu_side *columns, const MlirValue *sums);
/* exp(x) of a scalar. */
MlirValue gpu_attention_exp(lower *l, const gpu_attention *a, MlirValue x);

#endif
