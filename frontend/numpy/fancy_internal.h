/* What reading and writing through arrays of indices share (fancy.c, fancy_set.c). */
#ifndef LOOM_FRONTEND_NUMPY_FANCY_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_FANCY_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"

typedef enum fancy_kind { FANCY_BASIC, FANCY_DOTS, FANCY_INT, FANCY_ARRAY, FANCY_MASK } fancy_kind;

typedef struct fancy_item {
  fancy_kind kind;
  value *from;
  np_array *index; /* of FANCY_ARRAY and FANCY_MASK */
  int64_t number;  /* of FANCY_INT */
  bool masked;     /* the index is what a mask takes, along an axis of `extent` elements */
  int64_t extent;
} fancy_item;

typedef struct fancy_key {
  fancy_item items[2 * LOOM_MAX_RANK];
  int count, arrays;
  bool tuple; /* the key was one */
} fancy_key;

typedef struct fancy_read {
  np_array *from;          /* V */
  int axes[LOOM_MAX_RANK]; /* of V, for each index in the key */
  fancy_item *index[LOOM_MAX_RANK];
  int count;
  int rank; /* of all indices together */
  int64_t dims[LOOM_MAX_RANK];
} fancy_read;

bool fancy_parse(tracer *t, value *key, fancy_key *k);
/* Reads V, the axes of V that are indexed, and the sizes of all indices together. False after a
 * failure. */
bool fancy_open(tracer *t, value *v, fancy_key *k, fancy_read *r);
/* Where the indices' dimensions stand in the result. */
int fancy_place(const fancy_key *k, const fancy_read *r);
/* The indexed axes of V first, taken as one; *perm brought them there. */
loom_value fancy_front(tracer *t, const fancy_read *r, int64_t *perm);
/* One index along the axes taken together; out of bounds when any of them is. */
loom_value fancy_linear(tracer *t, const fancy_read *r);

#endif
