/* Arrays of test data: elements from a seed, and the first place where two arrays differ.
 * (arrays.c)
 */
#ifndef LOOM_GRAPH_ARRAYS_H
#define LOOM_GRAPH_ARRAYS_H

#include "graph/graph.h"

/* What arrays are filled with. */
typedef enum loom_fill {
  LOOM_FILL_PLAIN,   /* quarters in [-2, 2], of which short sums and products are exact; 0, 1, 2 */
  LOOM_FILL_RANDOM,  /* any mantissa in [-4, 4]; integers in [-9, 9] */
  LOOM_FILL_SPECIAL, /* every third element is NaN, an infinity, a zero of either sign or of size 1;
                        of integers the least or the largest value, 0, 1, -1 */
  LOOM_FILL_EXTREME, /* every third element is the largest finite value or a tiny one; the same of
                        integers */
  LOOM_FILLS
} loom_fill;

/* The next number of a sequence; `state` is not 0. */
uint64_t loom_random_next(uint64_t *state);
/* Fills an array in C order. */
void loom_array_fill(const loom_buffer *array, loom_fill fill, uint64_t *state);

/* Element `number` in C order of an array with strides. */
void *loom_array_element(const loom_buffer *array, int64_t number);

typedef struct loom_array_difference {
  int64_t element; /* in C order */
  loom_cell got, want;
} loom_array_difference;

/* The least bound within which two computations of a value of this dtype agree that round in
 * another order, in units of the largest element: 0 for integers. */
double loom_array_bound(loom_dtype dtype);
/* Do two arrays of one type agree? NaNs do. Zeros of different sign do where `bound` is not 0.
 * Finite floats may differ by `bound` in units of the largest finite element of `want`, which
 * counts as 1 at least. With `bound` 0 all bits but those of NaNs are compared. */
bool loom_array_agree(const loom_buffer *got, const loom_buffer *want, double bound,
                      loom_array_difference *out);
/* Writes a cell as text: 17 digits of what is computed in f64, 9 of smaller floats. */
void loom_cell_print(loom_dtype dtype, loom_cell cell, char *out, size_t size);

#endif
