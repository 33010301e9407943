/* Kernels with an attention or its gradient: how they are divided (attention_plan.c), what both
 * lowerings share (attention_pack.c, attention_product.c) and the lowerings
 * (lower_attention.c, lower_attention_gradient.c).
 *
 * Lanes are queries. A block of queries is packed turned, [depth][query]; blocks of keys are packed
 * as rows, [key][depth] and [key][width], so that strides, element types and pages far apart matter
 * only there. The scores of a block of keys are [key][query] in scratch: an element of k is
 * multiplied with a vector of queries, largest scores and sums of exponentials are taken lane by
 * lane over rows, and the weighted sums of v, [width][query], are made the same way. What was
 * summed before is scaled when a block of keys has a larger score (Milakov, Gimelshein: "Online
 * normalizer calculation for softmax", 2018; Dao et al.: "FlashAttention", 2022), so that memory
 * never holds more scores than a block of either.
 *
 * Forward a chunk is a block of queries of one head, or some blocks, where keys and values come
 * from afar: a packed block of them is then used for each (its part of the scratch). The gradient
 * computes the scores again from the logarithms of the sums; a chunk is a head of k and v with the
 * heads of q that use it: for a block of keys, whose gradients are summed in scratch, all blocks of
 * queries, whose gradients are summed where they go, or in slots where they are half floats or not
 * rows of memory.
 *
 * A block's last rows and lanes may not exist. Packing repeats the last one that does, so that
 * nothing computed of them raises a flag of its own, and they are not stored or summed over.
 */
#ifndef LOOM_ATTENTION_H
#define LOOM_ATTENTION_H

#include "passes/alone.h"
#include "passes/passes.h"

typedef struct attention_operand {
  const lower_buffer *buffer; /* NULL: there is none */
  loom_layout at;
} attention_operand;

/* Registers of a product: rows by vectors. */
typedef struct attention_tile {
  int mr, nv;
} attention_tile;

/* Parts of the scratch, and what is in them. */
enum {
  ATTENTION_QT,    /* [depth][query] */
  ATTENTION_K,     /* [key][depth] */
  ATTENTION_V,     /* [key][width] */
  ATTENTION_S,     /* [key][query]: the mask, scores, exponentials */
  ATTENTION_O,     /* [width][query] */
  ATTENTION_MAX,   /* [query]; gradient: the logarithms */
  ATTENTION_SUM,   /* [query]; gradient: sums of result times gradient */
  ATTENTION_ALPHA, /* [query] */
  /* of the gradient: */
  ATTENTION_Q,  /* [query][depth] */
  ATTENTION_GT, /* [width][query]: the gradient of the result */
  ATTENTION_G,  /* [query][width] */
  ATTENTION_DS, /* [key][query]: gradients of the scores */
  ATTENTION_DK, /* [key][depth] */
  ATTENTION_DV, /* [key][width] */
  ATTENTION_AREAS
};

typedef struct attention_plan {
  MlirOperation op;
  bool gradient, causal, zero;
  loom_dtype work; /* of all sums */
  attention_operand grad, q, k, v, lse, dot, mask;
  MlirValue scale;
  const lower_buffer *results[3];        /* NULL: nobody reads it */
  int64_t batch, queries, keys;          /* numbers */
  int64_t heads, groups, depth, width;   /* known */
  int64_t block_q, block_k;              /* queries and keys of a block */
  int64_t parts;                         /* blocks of queries that share a block of keys */
  int64_t blocks;                        /* so many at a time, of a head; a number */
  int64_t row_depth, row_width;          /* of packed rows: whole vectors and tiles */
  int vl, square;                        /* lanes; side of what is turned in registers */
  attention_tile scores, values;         /* of [key][query] and [width][query] */
  attention_tile dk, dv, dq;             /* of the gradients */
  bool mask_turned;                      /* it differs between queries */
  bool direct;                           /* the gradient of q is summed where it goes */
  int64_t areas[ATTENTION_AREAS], bytes; /* offsets in scratch, in bytes */
  int64_t part[ATTENTION_AREAS];         /* elements of an area that belong to a part; 0: to all */
} attention_plan;

/* ---- attention_plan.c ------------------------------------------------------------------------ */

/* What the op says: its operands, results and sizes; the rest is 0, and one lane. False after a
 * diagnostic. */
bool attention_read(const lower_kernel *kernel, MlirOperation op, attention_plan *out);
bool attention_plan_make(const lower_kernel *kernel, MlirOperation op, attention_plan *out);

/* ---- attention_pack.c ------------------------------------------------------------------------ */

MlirValue attention_area(lower *l, const attention_plan *p, int area);
/* The same of a part (i64; null: of the first). */
MlirValue attention_part(lower *l, const attention_plan *p, int area, MlirValue part);
/* The induction variable of the innermost loop. */
MlirValue attention_iteration(const lower *l);
void attention_loop(lower *l, MlirValue low, MlirValue high, int64_t step, lower_body body,
                    void *user);
/* x / by and x % by, for a number `by` that is not negative. */
MlirValue attention_divide(lower *l, MlirValue x, int64_t by, MlirValue *rest);
/* x rounded up to a multiple of `of`. */
MlirValue attention_whole(lower *l, MlirValue x, int64_t of);
/* The address of element [i0, i1, 0, 0] of an operand; an index of a dimension of size 1 is
 * ignored. */
MlirValue attention_head(lower *l, const attention_operand *o, MlirValue i0, MlirValue i1);
MlirValue attention_result_head(lower *l, const lower_buffer *b, MlirValue i0, MlirValue i1);
MlirValue attention_vector(lower *l, const attention_plan *p, double x);
MlirValue attention_load(lower *l, const attention_plan *p, MlirValue ptr, int64_t width);
void attention_store(lower *l, const attention_plan *p, MlirValue value, MlirValue ptr);
/* ptr + offset in elements of the sums' type */
MlirValue attention_at(lower *l, const attention_plan *p, MlirValue ptr, MlirValue offset);
MlirValue attention_beside(lower *l, const attention_plan *p, MlirValue ptr, int64_t offset);

/* Rows and columns of an operand's head. Rows from `first` on; those from `limit` (i64) on repeat
 * the one before it. */
typedef struct attention_source {
  const attention_plan *p;
  MlirValue ptr;
  loom_dtype dtype;
  int64_t row, column; /* strides */
  MlirValue first, limit;
} attention_source;

attention_source attention_source_of(const attention_plan *p, const attention_operand *o,
                                     MlirValue head, MlirValue first, MlirValue limit);
/* `rows` (i64) rows of `columns` elements to [row][step], zeros behind them. */
void attention_pack_rows(lower *l, const attention_source *s, MlirValue rows, int64_t columns,
                         MlirValue to, int64_t step);
/* A block of queries with `columns` (i64) columns to [column][query]. */
void attention_pack_turned(lower *l, const attention_source *s, MlirValue columns, MlirValue to);
/* [column][query] of the block to `rows` (i64) rows of a result at `ptr`. */
void attention_unpack_turned(lower *l, const attention_plan *p, MlirValue from, MlirValue rows,
                             int64_t columns, const lower_buffer *result, MlirValue ptr);
/* [row][step] of the sums to rows of a result. */
void attention_unpack_rows(lower *l, const attention_plan *p, MlirValue from, int64_t step,
                           MlirValue rows, int64_t columns, const lower_buffer *result,
                           MlirValue ptr);
/* One element a query between the block's [query] and memory. */
void attention_pack_line(lower *l, const attention_source *s, MlirValue to);

/* ---- attention_product.c --------------------------------------------------------------------- */

/* sum over t < depth of a[row * a_row + t * a_step] * b[t * b_step + column] for all rows < `rows`
 * (rounded up to tiles) and `vectors` vectors of columns; `finish` takes each vector of sums. */
typedef struct attention_product {
  const attention_plan *p;
  attention_tile tile;
  int64_t vectors;
  MlirValue rows, depth, a, b;
  int64_t a_row, a_step, b_step;
  void (*finish)(lower *l, const struct attention_product *product, MlirValue row, MlirValue column,
                 MlirValue sum);
  void *job;
  /* while it is lowered */
  MlirValue row, column;
} attention_product;

void attention_multiply(lower *l, attention_product *product);

/* What is done for a block of scores, forward and again in the gradient. */
typedef struct attention_scores {
  const attention_plan *p;
  MlirValue scale;         /* a scalar */
  MlirValue mask;          /* element [0, 0] of the head; null: none */
  MlirValue query0, key0;  /* first of the blocks */
  MlirValue queries, keys; /* how many of them are there */
  MlirValue part;          /* of the scratch; null: it has only one */
} attention_scores;

/* The scale as a scalar, at the outermost scope; null after a failure. */
MlirValue attention_scale(lower *l, const attention_plan *p);
/* Puts a mask that differs between queries into the block of scores. */
void attention_mask_block(lower *l, const attention_scores *s);
/* The score from the sum: scaled and masked. */
MlirValue attention_score(lower *l, const attention_scores *s, MlirValue row, MlirValue column,
                          MlirValue sum);
/* The product that makes the block; `finish` is the caller's. */
attention_product attention_score_product(lower *l, const attention_scores *s);

#endif
