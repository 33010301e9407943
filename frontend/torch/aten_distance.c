/* Distances between rows, sums of products of three, and the gradient of padding by edges. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

#define DISTANCE_MAX 4096 /* pairs of rows; torch makes a matrix product of more */

static loom_value distance_number(fx_call *c, const loom_type *type, double x) {
  return loom_emit_float(c->b, type, x);
}

static bool distance_done(fx_call *c, loom_value v, loom_value *out) {
  v = loom_emit_reshape(c->b, v, c->types[0].rank, c->types[0].dims);
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* ---- cdist ----------------------------------------------------------------------------------- */

typedef struct distance {
  loom_type all; /* batch..., rows of x1, rows of x2, columns */
  loom_value apart;
  double p;
} distance;

/* Operand `i` with a new axis before its last one (`axis` 1) or last two (`axis` 2), spread. */
static loom_value distance_spread(fx_call *c, int i, int axis, const loom_type *all) {
  loom_value v = fx_tensor_as(c, i, all->dtype);
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *loom_emit_type(c->b, v);
  int at = type.rank - axis;
  for (int k = type.rank; k > at; k--)
    type.dims[k] = type.dims[k - 1];
  type.dims[at] = 1;
  v = loom_emit_reshape(c->b, v, type.rank + 1, type.dims);
  return loom_emit_broadcast_to(c->b, v, all->rank, all->dims);
}

/* The differences of all rows of operands `at` and `at + 1`; p is argument `at + 2`. */
static bool distance_read(fx_call *c, int at, const loom_type *result, distance *d) {
  loom_value v = fx_tensor(c, at);
  if (v == LOOM_NO_VALUE || !fx_double(c, at + 2, &d->p)) return false;
  const loom_type *rows = loom_emit_type(c->b, v);
  d->all = *result;
  d->all.dims[d->all.rank++] = rows->dims[rows->rank - 1];
  d->all.dtype = fx_compute_dtype(rows->dtype);
  if (!loom_dtype_is_float(d->all.dtype)) return fx_decline(c, "not of floats");
  if (loom_type_elements(&d->all) < 0) return fx_decline(c, "a size that is unknown");
  if (loom_type_elements(result) > DISTANCE_MAX) return fx_decline(c, "many pairs of rows");
  loom_value l = distance_spread(c, at, 1, &d->all), r = distance_spread(c, at + 1, 2, &d->all);
  d->apart = loom_emit2(c->b, LOOM_OP_SUB, l, r);
  return d->apart != LOOM_NO_VALUE;
}

/* _cdist_forward(x1, x2, p, compute_mode). */
bool aten_cdist(fx_call *c, loom_value *out) {
  distance d;
  loom_emitter *b = c->b;
  if (!distance_read(c, 0, &c->types[0], &d)) return false;
  uint32_t last = 1u << (d.all.rank - 1);
  if (loom_type_elements(&d.all) == 0)
    return distance_done(c, distance_number(c, &c->types[0], 0), out);
  loom_value size = loom_emit1(b, LOOM_OP_ABS, d.apart), v;
  if (isinf(d.p)) { /* what is unknown counts as nothing */
    loom_value known = loom_emit_compare(b, "eq", size, size);
    v = loom_emit_select(b, known, size, distance_number(c, &d.all, 0));
    return distance_done(c, loom_emit_reduce(b, "max", v, last, false), out);
  }
  if (d.p == 0) /* 1 where they differ, NaN where that is unknown */
    v = loom_emit2(b, LOOM_OP_MIN, loom_emit1(b, LOOM_OP_CEIL, size),
                   distance_number(c, &d.all, 1));
  else if (d.p == 1)
    v = size;
  else if (d.p == 2)
    v = loom_emit2(b, LOOM_OP_MUL, d.apart, d.apart);
  else
    v = loom_emit2(b, LOOM_OP_POW, size, distance_number(c, &d.all, d.p));
  v = loom_emit_reduce(b, "sum", v, last, false);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(b, v);
  if (d.p == 2) v = loom_emit1(b, LOOM_OP_SQRT, v);
  if (d.p != 0 && d.p != 1 && d.p != 2)
    v = loom_emit2(b, LOOM_OP_POW, v, distance_number(c, &type, 1 / d.p));
  return distance_done(c, v, out);
}

/* How the distance `far` grows with each difference. */
static loom_value distance_slope(fx_call *c, const distance *d, loom_value far) {
  loom_emitter *b = c->b;
  loom_value zero = distance_number(c, &d->all, 0), size = loom_emit1(b, LOOM_OP_ABS, d->apart);
  loom_value sign = loom_emit1(b, LOOM_OP_SIGN, d->apart), v;
  if (d->p == 1) return sign;
  loom_value none = loom_emit_compare(b, "eq", far, zero);
  if (isinf(d->p)) { /* that of the largest, NaN where that is unknown */
    loom_value one = distance_number(c, &d->all, 1);
    v = loom_emit1(b, LOOM_OP_ABS, loom_emit2(b, LOOM_OP_SUB, size, far));
    v = loom_emit2(b, LOOM_OP_MIN, loom_emit1(b, LOOM_OP_CEIL, v), one);
    return loom_emit2(b, LOOM_OP_MUL, sign, loom_emit2(b, LOOM_OP_SUB, one, v));
  }
  if (d->p == 2) {
    v = loom_emit2(b, LOOM_OP_DIV, d->apart, far);
  } else {
    loom_value power = distance_number(c, &d->all, d->p - 1);
    v = loom_emit2(b, LOOM_OP_MUL, sign, loom_emit2(b, LOOM_OP_POW, size, power));
    v = loom_emit2(b, LOOM_OP_DIV, v, loom_emit2(b, LOOM_OP_POW, far, power));
    loom_value same = loom_emit_compare(b, "eq", size, zero);
    if (d->p < 1) none = loom_emit2(b, LOOM_OP_OR, none, same);
  }
  return loom_emit_select(b, none, zero, v);
}

/* `v` without its last axis as an operand of the differences. */
static loom_value distance_kept(fx_call *c, int i, const loom_type *all) {
  loom_value v = fx_tensor_as(c, i, all->dtype);
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *loom_emit_type(c->b, v);
  type.dims[type.rank++] = 1;
  v = loom_emit_reshape(c->b, v, type.rank, type.dims);
  return loom_emit_broadcast_to(c->b, v, all->rank, all->dims);
}

/* _cdist_backward(grad, x1, x2, p, cdist): the gradient of x1. */
bool aten_cdist_backward(fx_call *c, loom_value *out) {
  distance d;
  loom_value far = fx_tensor(c, 4);
  if (far == LOOM_NO_VALUE) return false;
  const loom_type result = *loom_emit_type(c->b, far);
  if (!distance_read(c, 1, &result, &d)) return false;
  if (d.p == 0 || loom_type_elements(&d.all) == 0)
    return distance_done(c, distance_number(c, &c->types[0], 0), out);
  loom_value v = distance_slope(c, &d, distance_kept(c, 4, &d.all));
  v = loom_emit2(c->b, LOOM_OP_MUL, v, distance_kept(c, 0, &d.all));
  v = loom_emit_reduce(c->b, "sum", v, 1u << (d.all.rank - 2), false);
  return distance_done(c, v, out);
}

/* ---- _trilinear ------------------------------------------------------------------------------ */

/* Operand `i` with axes of size 1 at the places that argument `expand` lists, which `missing` keeps
 * of what it had. */
static loom_value trilinear_operand(fx_call *c, int i, int expand, loom_dtype dtype,
                                    uint32_t *missing) {
  int64_t list[LOOM_MAX_RANK];
  uint32_t listed = 0;
  int count = fx_ints(c, expand, list, LOOM_MAX_RANK), from = 0;
  loom_value v = fx_tensor_as(c, i, dtype);
  if (count < 0 || v == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type type = *loom_emit_type(c->b, v);
  loom_type to = loom_type_make(dtype, 0, NULL);
  to.rank = type.rank + count;
  if (to.rank > LOOM_MAX_RANK) return loom_emit_fail(c->b, "too many dimensions");
  for (int d = 0; d < to.rank; d++) {
    bool added = false;
    for (int k = 0; k < count; k++)
      added |= list[k] == d;
    to.dims[d] = added || from == type.rank ? 1 : type.dims[from++];
    if (added) listed |= 1u << d;
  }
  *missing &= listed;
  return loom_emit_reshape(c->b, v, to.rank, to.dims);
}

/* _trilinear(i1, i2, i3, expand1, expand2, expand3, sumdim, unroll_dim). */
bool aten_trilinear(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_dtype dtype = fx_compute_dtype(c->types[0].dtype);
  loom_value v[3];
  uint32_t axes, missing = UINT32_MAX;
  loom_type all = {.dtype = dtype};
  for (int i = 0; i < 3; i++) {
    v[i] = trilinear_operand(c, i, 3 + i, dtype, &missing);
    if (v[i] == LOOM_NO_VALUE) return fx_decline(c, "axes that are not known");
    const loom_type *type = loom_emit_type(b, v[i]);
    for (int d = 0; d < type->rank; d++)
      if (!i || type->dims[d] != 1) all.dims[d] = type->dims[d];
    all.rank = type->rank;
  }
  if (missing) return fx_decline(c, "an axis that no operand has"); /* torch's sums are others */
  if (loom_type_elements(&all) < 0) return fx_decline(c, "a size that is unknown");
  if (loom_type_elements(&all) == 0) /* sums of nothing */
    return distance_done(c, loom_emit_int(b, &c->types[0], 0), out);
  if (!fx_axes(c, 6, all.rank, &axes)) return false;
  for (int i = 0; i < 3; i++)
    v[i] = loom_emit_broadcast_to(b, v[i], all.rank, all.dims);
  loom_value product = loom_emit2(b, LOOM_OP_MUL, loom_emit2(b, LOOM_OP_MUL, v[0], v[1]), v[2]);
  if (PySequence_Size(c->args[6])) product = loom_emit_reduce(b, "sum", product, axes, false);
  return distance_done(c, product, out);
}

/* ---- padding by edges ------------------------------------------------------------------------ */

/* A part along the axis, summed (kept), at place `at` of an axis of size n that is 0 elsewhere. */
static loom_value edge_sum(fx_call *c, loom_value v, int axis, int64_t start, int64_t size,
                           int64_t at, int64_t n) {
  loom_emitter *b = c->b;
  v = loom_emit_reduce(b, "sum", loom_emit_slice(b, v, axis, start, size, 1), 1u << axis, true);
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  low[axis] = at;
  high[axis] = n - 1 - at;
  return loom_emit_pad_zeros(b, v, low, high);
}

/* The gradient before `before` and `after` elements of the axis (of size n) were repeated at its
 * ends, or, where these are negative, cut off. */
static loom_value edge_fold(fx_call *c, loom_value v, int axis, int64_t n, int64_t before,
                            int64_t after) {
  loom_emitter *b = c->b;
  const loom_type type = *loom_emit_type(b, v);
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  int64_t start = before > 0 ? before : 0, end = after > 0 ? after : 0;
  low[axis] = before < 0 ? -before : 0;
  high[axis] = after < 0 ? -after : 0;
  loom_value middle = loom_emit_slice(b, v, axis, start, type.dims[axis] - start - end, 1);
  if (low[axis] || high[axis]) middle = loom_emit_pad_zeros(b, middle, low, high);
  if (start) middle = loom_emit2(b, LOOM_OP_ADD, middle, edge_sum(c, v, axis, 0, start, 0, n));
  if (end)
    middle = loom_emit2(b, LOOM_OP_ADD, middle,
                        edge_sum(c, v, axis, type.dims[axis] - end, end, n - 1, n));
  return middle;
}

/* replication_pad1d_backward, 2d, 3d(grad_output, self, padding): pairs from the last axis on. */
bool aten_replication_pad_backward(fx_call *c, loom_value *out) {
  int64_t pairs[2 * LOOM_MAX_RANK];
  const loom_type type = c->types[0];
  int count = fx_ints(c, 2, pairs, 2 * LOOM_MAX_RANK);
  loom_value v = fx_tensor_as(c, 0, fx_compute_dtype(type.dtype));
  if (count < 0 || v == LOOM_NO_VALUE) return false;
  if (loom_type_elements(&type) <= 0 || loom_type_elements(loom_emit_type(c->b, v)) <= 0 ||
      count / 2 > type.rank)
    return fx_decline(c, "a size that is unknown or 0");
  for (int k = 0; k < count / 2 && v != LOOM_NO_VALUE; k++) {
    int axis = type.rank - 1 - k;
    int64_t before = pairs[2 * k], after = pairs[2 * k + 1], n = type.dims[axis];
    /* Where nothing of the axis itself is left, all is repeated from one end. */
    int64_t size = loom_emit_type(c->b, v)->dims[axis], end = -before >= n ? n - 1 : 0;
    if (-before >= n || -after >= n)
      v = edge_sum(c, v, axis, 0, size, end, n);
    else
      v = edge_fold(c, v, axis, n, before, after);
  }
  return distance_done(c, v, out);
}
