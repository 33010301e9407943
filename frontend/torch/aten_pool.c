/* ATen pooling: a window is a chain of strided slices of the padded operand, one for each place in
 * it, which fusion makes one kernel of. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

#define POOL_MAX_WINDOW 81 /* places; larger windows run through torch */

/* The last two axes: kernel, stride, padding, dilation, and how much the end is padded in all. */
typedef struct pool {
  int64_t kernel[2], stride[2], padding[2], dilation[2], high[2];
  int64_t in[2], out[2]; /* numbers, maybe symbolic */
  loom_type from;        /* of the operand */
} pool;

/* A list of one or two numbers; the empty list leaves `out` as it is. */
static bool pool_pair(fx_call *c, int i, int64_t *out) {
  int64_t list[2];
  if (fx_has(c, i) && PyLong_Check(c->args[i])) {
    if (!fx_int(c, i, list)) return false;
    out[0] = out[1] = list[0];
    return true;
  }
  int count = fx_ints(c, i, list, 2);
  if (count < 0) return false;
  if (count) out[0] = list[0], out[1] = list[count - 1];
  return true;
}

/* Arguments kernel_size, stride, padding at `at`..., dilation at `dilation` (0: none). `to` has the
 * pooled sizes. */
static bool pool_read(fx_call *c, int operand, int at, int dilation, const loom_type *to, pool *p) {
  loom_value v = fx_tensor(c, operand);
  if (v == LOOM_NO_VALUE) return false;
  p->from = *loom_emit_type(c->b, v);
  int rank = p->from.rank;
  if (rank < 3 || fx_is_empty(&p->from)) return fx_decline(c, "a size of 0");
  p->padding[0] = p->padding[1] = 0;
  p->dilation[0] = p->dilation[1] = 1;
  if (!pool_pair(c, at, p->kernel)) return false;
  memcpy(p->stride, p->kernel, sizeof p->stride);
  if (!pool_pair(c, at + 1, p->stride) || !pool_pair(c, at + 2, p->padding)) return false;
  if (dilation && !pool_pair(c, dilation, p->dilation)) return false;
  if (p->kernel[0] * p->kernel[1] > POOL_MAX_WINDOW) return fx_decline(c, "a large window");
  for (int d = 0; d < 2; d++) {
    p->in[d] = loom_stride_of_dim(p->from.dims[rank - 2 + d]);
    p->out[d] = loom_stride_of_dim(to->dims[rank - 2 + d]);
    /* With ceil_mode the last window may begin so far behind the padding. */
    p->high[d] = p->padding[d] + p->stride[d] - 1;
    if (LOOM_STRIDE_IS_SYM(p->in[d]) || LOOM_STRIDE_IS_SYM(p->out[d])) continue;
    int64_t reach = (p->out[d] - 1) * p->stride[d] + (p->kernel[d] - 1) * p->dilation[d] + 1;
    p->high[d] = reach - p->in[d] - p->padding[d];
    if (p->high[d] < 0) p->high[d] = 0;
  }
  return true;
}

static loom_value pool_pad(fx_call *c, const pool *p, loom_value v, double fill) {
  int rank = p->from.rank;
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  const loom_type type = *loom_emit_type(c->b, v);
  loom_type scalar = loom_type_make(type.dtype, 0, NULL);
  for (int d = 0; d < 2; d++) {
    low[rank - 2 + d] = p->padding[d];
    high[rank - 2 + d] = p->high[d];
  }
  return loom_emit_pad(c->b, v, loom_emit_float(c->b, &scalar, fill), low, high);
}

/* What the windows have at place (y, x). */
static loom_value pool_place(fx_call *c, const pool *p, loom_value padded, int64_t y, int64_t x) {
  int rank = p->from.rank;
  loom_value v =
      loom_emit_slice(c->b, padded, rank - 2, y * p->dilation[0], p->out[0], p->stride[0]);
  return loom_emit_slice(c->b, v, rank - 1, x * p->dilation[1], p->out[1], p->stride[1]);
}

/* Position in the unpadded plane of what the windows have at place (y, x). A window that begins in
 * the padding has as its first place the first one behind it: what the padding is filled with is
 * never larger than what is there. */
static loom_value pool_position(fx_call *c, const pool *p, const loom_type *places, int64_t y,
                                int64_t x) {
  loom_emitter *b = c->b;
  loom_value at[2];
  int64_t place[2] = {y, x};
  for (int d = 0; d < 2; d++) {
    at[d] = loom_emit_iota(b, places, places->rank - 2 + d);
    at[d] = loom_emit2(b, LOOM_OP_MUL, at[d], loom_emit_int(b, places, p->stride[d]));
    int64_t shift = place[d] * p->dilation[d] - p->padding[d];
    at[d] = loom_emit2(b, LOOM_OP_ADD, at[d], loom_emit_int(b, places, shift));
    if (y || x || !p->padding[d]) continue;
    loom_value behind = loom_emit2(b, LOOM_OP_REM, at[d], loom_emit_int(b, places, p->dilation[d]));
    loom_value before = loom_emit_compare(b, "lt", at[d], loom_emit_int(b, places, 0));
    at[d] = loom_emit_select(b, before, behind, at[d]);
  }
  at[0] = loom_emit2(b, LOOM_OP_MUL, at[0], fx_number_value(c, places, p->in[1]));
  return loom_emit2(b, LOOM_OP_ADD, at[0], at[1]);
}

/* max_pool2d_with_indices(self, kernel, stride, padding, dilation, ceil_mode): the first largest of
 * each window, NaN before all, and its position. */
bool aten_max_pool(fx_call *c, loom_value *out) {
  pool p = {0};
  loom_emitter *b = c->b;
  if (!pool_read(c, 0, 1, 4, &c->types[0], &p)) return false;
  if (!loom_dtype_is_float(p.from.dtype)) return fx_decline(c, "integers");
  loom_value padded = pool_pad(c, &p, fx_tensor(c, 0), -INFINITY);
  loom_type places = c->types[1];
  loom_value best = LOOM_NO_VALUE, at = LOOM_NO_VALUE;
  for (int64_t y = 0; y < p.kernel[0]; y++)
    for (int64_t x = 0; x < p.kernel[1]; x++) {
      loom_value v = pool_place(c, &p, padded, y, x);
      loom_value position = pool_position(c, &p, &places, y, x);
      if (best == LOOM_NO_VALUE) {
        best = v;
        at = position;
        continue;
      }
      loom_value nan = loom_emit1(b, LOOM_OP_IS_NAN, v);
      loom_value larger = loom_emit2(b, LOOM_OP_OR, loom_emit_compare(b, "gt", v, best), nan);
      best = loom_emit_select(b, larger, v, best);
      at = loom_emit_select(b, larger, position, at);
    }
  out[0] = best;
  out[1] = at;
  return true;
}

/* avg_pool2d(self, kernel, stride, padding, ceil_mode, count_include_pad, divisor_override). */
bool aten_avg_pool(fx_call *c, loom_value *out) {
  pool p = {0};
  bool ceil, include;
  int64_t divisor = 0;
  loom_emitter *b = c->b;
  if (!pool_read(c, 0, 1, 0, &c->types[0], &p)) return false;
  if (!fx_bool(c, 4, &ceil) || !fx_bool(c, 5, &include)) return false;
  if (fx_has(c, 6) && !fx_int(c, 6, &divisor)) return false;
  if (!loom_dtype_is_float(p.from.dtype)) return fx_decline(c, "integers");
  bool padded_anywhere = p.padding[0] || p.padding[1];
  if (ceil || (padded_anywhere && !include && !divisor))
    return aten_avg_pool_any(c, out); /* windows of several sizes */
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value x = loom_emit_convert(b, fx_tensor(c, 0), type.dtype);
  loom_value padded = pool_pad(c, &p, x, 0), sum = LOOM_NO_VALUE;
  for (int64_t y = 0; y < p.kernel[0]; y++)
    for (int64_t k = 0; k < p.kernel[1]; k++) {
      loom_value v = pool_place(c, &p, padded, y, k);
      sum = sum == LOOM_NO_VALUE ? v : loom_emit2(b, LOOM_OP_ADD, sum, v);
    }
  if (!divisor) divisor = p.kernel[0] * p.kernel[1];
  sum = loom_emit2(b, LOOM_OP_DIV, sum, loom_emit_int(b, &type, divisor));
  out[0] = loom_emit_convert(b, sum, c->types[0].dtype);
  return out[0] != LOOM_NO_VALUE;
}

/* Sizes of an operand cut into whole windows: (..., out, window, out, window). */
static bool pool_even(const loom_type *from, const loom_type *to, loom_type *cut) {
  int rank = from->rank;
  if (rank < 3 || fx_is_empty(from) || fx_is_empty(to) || !fx_sizes_known(from, rank - 2) ||
      !fx_sizes_known(to, rank - 2))
    return false;
  *cut = loom_type_make(from->dtype, rank - 2, from->dims);
  for (int d = rank - 2; d < rank; d++) {
    if (from->dims[d] % to->dims[d]) return false;
    cut->dims[cut->rank++] = to->dims[d];
    cut->dims[cut->rank++] = from->dims[d] / to->dims[d];
  }
  return true;
}

/* _adaptive_avg_pool2d(self, output_size). */
bool aten_adaptive_avg_pool(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type cut, type = c->types[0];
  loom_value x = fx_tensor(c, 0);
  if (x == LOOM_NO_VALUE) return false;
  if (!pool_even(loom_emit_type(b, x), &c->types[0], &cut))
    return aten_adaptive_avg_pool_any(c, out);
  type.dtype = fx_compute_dtype(type.dtype);
  x = loom_emit_reshape(b, loom_emit_convert(b, x, type.dtype), cut.rank, cut.dims);
  uint32_t axes = 1u << (cut.rank - 1) | 1u << (cut.rank - 3);
  loom_value sum = loom_emit_reduce(b, "sum", x, axes, false);
  int64_t count = cut.dims[cut.rank - 1] * cut.dims[cut.rank - 3];
  sum = loom_emit2(b, LOOM_OP_DIV, sum, loom_emit_int(b, &type, count));
  out[0] = loom_emit_convert(b, sum, c->types[0].dtype);
  return out[0] != LOOM_NO_VALUE;
}

/* _adaptive_avg_pool2d_backward(grad, self). */
bool aten_adaptive_avg_pool_backward(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type cut, type = c->types[0];
  loom_value grad = fx_tensor(c, 0);
  if (grad == LOOM_NO_VALUE) return false;
  const loom_type pooled = *loom_emit_type(b, grad);
  if (!pool_even(&type, &pooled, &cut)) return aten_adaptive_avg_pool_gradient(c, out);
  loom_type small = pooled;
  small.dtype = fx_compute_dtype(type.dtype);
  int64_t count = cut.dims[cut.rank - 1] * cut.dims[cut.rank - 3], map[LOOM_MAX_RANK];
  grad = loom_emit2(b, LOOM_OP_DIV, loom_emit_convert(b, grad, small.dtype),
                    loom_emit_int(b, &small, count));
  for (int i = 0; i < pooled.rank; i++)
    map[i] = i < pooled.rank - 1 ? i : i + 1;
  loom_value v = loom_emit_broadcast(b, grad, cut.rank, cut.dims, map);
  v = loom_emit_reshape(b, v, type.rank, type.dims);
  out[0] = loom_emit_convert(b, v, type.dtype);
  return out[0] != LOOM_NO_VALUE;
}
