/* Positions given by tensors: what aten_index.c (reads) and aten_scatter.c (writes) share.
 *
 * All of these ops become one loom.gather or loom.scatter along one axis: the indexed axes are
 * joined to one, and the indices to positions in it. A position out of bounds is made one that the
 * kernel reports, so that joining cannot turn a wrong index into another element. */
#ifndef LOOM_FRONTEND_TORCH_INDEX_INTERNAL_H
#define LOOM_FRONTEND_TORCH_INDEX_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/torch/emit_internal.h"

/* The type of operand `i`. */
const loom_type *index_type(fx_call *c, int i);
/* The type of operand `i`, with one axis of size 1 where it is 0-d, as torch takes it. */
loom_type index_type1(fx_call *c, int i);
/* Operand `i` in that shape. */
loom_value index_tensor1(fx_call *c, int i);
loom_value index_gather(fx_call *c, loom_value v, loom_value indices, int axis);
/* `v`, in which slices along the axis are combined with `updates`; halves are combined in float32.
 */
loom_value index_scatter(fx_call *c, const char *combine, loom_value v, loom_value indices,
                         loom_value updates, int axis);
/* Where a 0-d bool is false, the call runs again in eager torch, which may raise. */
bool index_check(fx_call *c, loom_value good);
/* The same where one of many bools is false. (refusals.c) */
bool refusals_check_all(fx_call *c, loom_value good);
/* The int64 indices: negative ones counted from the end, and what lies before -n (or before 0 where
 * negative ones are wrong) replaced by a position that no axis has. Others of n or more stay. */
loom_value index_checked(fx_call *c, loom_value indices, int64_t n, bool negative);
/* Positions in the flattened operand 0: an element of `index` is the coordinate along `axis`, and
 * its own place gives the other coordinates. */
loom_value index_flat(fx_call *c, loom_value index, int axis);
/* Positions in a flat array where coordinate i counts strides[i], from `offset` on. */
loom_value index_strided(fx_call *c, const loom_type *places, const int64_t *strides,
                         int64_t offset);
/* The number of elements of operand 0 and the axis at argument 1. */
bool index_line(fx_call *c, int *axis, loom_dim *elements);

/* index.Tensor and index_put: several index tensors. */
typedef struct index_axes {
  int64_t perm[LOOM_MAX_RANK];  /* indexed axes first */
  loom_value at[LOOM_MAX_RANK]; /* the index of each indexed axis */
  int64_t sizes[LOOM_MAX_RANK]; /* and its size */
  int count, first;             /* indexed axes; where their result goes */
  loom_type places;             /* int64, the indices' common shape */
} index_axes;

bool index_collect(fx_call *c, PyObject *list, index_axes *x);
/* The common shape of the indices, right-aligned as they broadcast. */
bool index_places(fx_call *c, index_axes *x);
/* Positions in the joined axes. */
loom_value index_joined(fx_call *c, const index_axes *x);
/* The operand with its indexed axes first and joined. */
loom_value index_operand(fx_call *c, const index_axes *x, loom_type *out);

#endif
