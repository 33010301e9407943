/* ATen reductions, softmax and the normalisations. Sums of halves are kept in float32. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_reductions.h"

#include <math.h>
#include <string.h>

static bool reduce_done(fx_call *c, uint32_t i, loom_value v, loom_value *out) {
  v = loom_emit_reshape(c->b, v, c->types[i].rank, c->types[i].dims);
  out[i] = fx_round(c, i, v);
  return out[i] != LOOM_NO_VALUE;
}

static loom_value reduce_operand(fx_call *c, int i, loom_dtype dtype) {
  return fx_tensor_as(c, i, fx_compute_dtype(dtype));
}

static int reduce_rank(fx_call *c) {
  loom_value v = fx_tensor(c, 0);
  return v == LOOM_NO_VALUE ? 0 : loom_emit_type(c->b, v)->rank;
}

/* `v` back in the shape of `like`, with size 1 where it was reduced with keepdims. */
static loom_value reduce_spread(fx_call *c, loom_value v, const loom_type *like) {
  return loom_emit_broadcast_to(c->b, v, like->rank, like->dims);
}

/* The number of reduced elements as a value of this dtype and rank 0. */
static loom_value reduce_count(fx_call *c, loom_value of, uint32_t axes, loom_dtype dtype) {
  const loom_type type = *loom_emit_type(c->b, of);
  loom_type scalar = loom_type_make(dtype, 0, NULL);
  int64_t count = 0;
  if (!fx_product(c, &type, axes, &count)) return loom_emit_fail(c->b, "%s", c->why);
  return fx_number_value(c, &scalar, count);
}

/* The mean over axes, kept with size 1. */
static loom_value reduce_mean(fx_call *c, loom_value x, uint32_t axes) {
  loom_value sum = loom_emit_reduce(c->b, "sum", x, axes, true);
  if (sum == LOOM_NO_VALUE) return sum;
  const loom_type type = *loom_emit_type(c->b, sum);
  loom_value count = reduce_count(c, x, axes, type.dtype);
  return loom_emit2(c->b, LOOM_OP_DIV, sum, reduce_spread(c, count, &type));
}

/* ---- plain reductions ---- */

/* sum, prod, amax, amin: operand, axes at argument 1 (`text` ends in '*': over everything). */
static bool reduce_kind(fx_call *c, const char *kind, bool all, loom_value *out) {
  uint32_t axes = 0;
  int rank = reduce_rank(c);
  if (!fx_axes(c, all ? c->count : 1, rank, &axes)) return false;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  return reduce_done(c, 0, loom_emit_reduce(c->b, kind, x, axes, false), out);
}

bool aten_reduce(fx_call *c, loom_value *out) { return reduce_kind(c, c->text, false, out); }
bool aten_reduce_all(fx_call *c, loom_value *out) { return reduce_kind(c, c->text, true, out); }

static bool reduce_truth(fx_call *c, bool all_axes, loom_value *out) {
  uint32_t axes = 0;
  loom_value x = loom_emit_convert(c->b, fx_tensor(c, 0), LOOM_BOOL);
  if (!fx_axes(c, all_axes ? c->count : 1, reduce_rank(c), &axes)) return false;
  return reduce_done(c, 0, loom_emit_reduce(c->b, c->text, x, axes, false), out);
}

bool aten_truth(fx_call *c, loom_value *out) { return reduce_truth(c, false, out); }
bool aten_truth_all(fx_call *c, loom_value *out) { return reduce_truth(c, true, out); }

static bool reduce_mean_call(fx_call *c, bool all, loom_value *out) {
  uint32_t axes = 0;
  if (!fx_axes(c, all ? c->count : 1, reduce_rank(c), &axes)) return false;
  return reduce_done(c, 0, reduce_mean(c, reduce_operand(c, 0, c->types[0].dtype), axes), out);
}

bool aten_mean(fx_call *c, loom_value *out) { return reduce_mean_call(c, false, out); }
bool aten_mean_all(fx_call *c, loom_value *out) { return reduce_mean_call(c, true, out); }

/* argmax and argmin(self, dim, keepdim); without an axis over the elements in C order. */
bool aten_arg(fx_call *c, loom_value *out) {
  loom_value x = fx_tensor(c, 0);
  int axis = 0, rank = reduce_rank(c);
  if (x == LOOM_NO_VALUE) return false;
  if (!fx_has(c, 1) || !rank) {
    loom_dim all;
    if (!loom_type_elements_in(c->im->graph, loom_emit_type(c->b, x), &all))
      return fx_decline(c, "a size is too complicated");
    x = loom_emit_reshape(c->b, x, 1, &all);
  } else if (!fx_axis(c, 1, rank, &axis)) {
    return false;
  }
  if (loom_emit_type(c->b, x)->dtype == LOOM_BOOL) x = loom_emit_convert(c->b, x, LOOM_U8);
  return reduce_done(c, 0, loom_emit_reduce(c->b, c->text, x, 1u << axis, false), out);
}

/* max.dim and min.dim(self, dim, keepdim): values and indices. */
bool aten_extreme(fx_call *c, loom_value *out) {
  int axis, rank = reduce_rank(c);
  loom_value x = fx_tensor(c, 0);
  if (!rank) return out[1] = loom_emit_int(c->b, &c->types[1], 0), reduce_done(c, 0, x, out);
  if (!fx_axis(c, 1, rank, &axis)) return false;
  if (loom_emit_type(c->b, x)->dtype == LOOM_BOOL) x = loom_emit_convert(c->b, x, LOOM_U8);
  bool max = !strcmp(c->text, "max");
  loom_value at = loom_emit_reduce(c->b, max ? "argmax" : "argmin", x, 1u << axis, false);
  return reduce_done(c, 0, loom_emit_reduce(c->b, c->text, x, 1u << axis, false), out) &&
         reduce_done(c, 1, at, out);
}

/* linalg_vector_norm(self, ord, dim, keepdim, dtype). */
bool aten_vector_norm(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  double order;
  uint32_t axes;
  if (!fx_double(c, 1, &order) || !fx_axes(c, 2, reduce_rank(c), &axes)) return false;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  if (x == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(b, x);
  if (isinf(order) && fx_count(&type, axes) == 0) return fx_decline(c, "nothing to reduce");
  x = order == 2 ? loom_emit2(b, LOOM_OP_MUL, x, x) : loom_emit1(b, LOOM_OP_ABS, x);
  if (isinf(order))
    return reduce_done(c, 0, loom_emit_reduce(b, order > 0 ? "max" : "min", x, axes, false), out);
  if (order == 0)
    x = loom_emit_convert(b, loom_emit_compare(b, "ne", x, loom_emit_int(b, &type, 0)), type.dtype);
  else if (order != 1 && order != 2)
    x = loom_emit2(b, LOOM_OP_POW, x, loom_emit_float(b, &type, order));
  loom_value sum = loom_emit_reduce(b, "sum", x, axes, false);
  if (sum == LOOM_NO_VALUE) return false;
  const loom_type reduced = *loom_emit_type(b, sum);
  if (order == 2) sum = loom_emit1(b, LOOM_OP_SQRT, sum);
  if (order != 0 && order != 1 && order != 2)
    sum = loom_emit2(b, LOOM_OP_POW, sum, loom_emit_float(b, &reduced, 1 / order));
  return reduce_done(c, 0, sum, out);
}

/* cumsum and cumprod(self, dim, dtype). */
bool aten_scan(fx_call *c, loom_value *out) {
  int axis, rank = reduce_rank(c);
  if (!fx_axis(c, 1, rank, &axis)) return false;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  if (!rank) return reduce_done(c, 0, x, out);
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = c->text},
                        {.kind = LOOM_ATTR_I64, .i = axis}};
  return reduce_done(c, 0, loom_emit(c->b, LOOM_OP_SCAN, &x, 1, attrs, 2, NULL, 0), out);
}

/* ---- variance -------------------------------------------------------------------------------- */

/* Mean (kept) and the sum of squared differences from it (kept). */
static loom_value reduce_squares(fx_call *c, loom_value x, uint32_t axes, loom_value *mean) {
  *mean = reduce_mean(c, x, axes);
  if (*mean == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type type = *loom_emit_type(c->b, x);
  loom_value d = loom_emit2(c->b, LOOM_OP_SUB, x, reduce_spread(c, *mean, &type));
  return loom_emit_reduce(c->b, "sum", loom_emit2(c->b, LOOM_OP_MUL, d, d), axes, true);
}

/* max(count - correction, 0) as a value of rank 0. */
static loom_value reduce_degrees(fx_call *c, loom_value x, uint32_t axes, double correction,
                                 loom_dtype dtype) {
  const loom_type type = *loom_emit_type(c->b, x), scalar = loom_type_make(dtype, 0, NULL);
  int64_t count = fx_count(&type, axes);
  if (count >= 0) {
    double degrees = (double)count - correction;
    return loom_emit_float(c->b, &scalar, degrees > 0 ? degrees : 0);
  }
  loom_value v = reduce_count(c, x, axes, dtype);
  v = loom_emit2(c->b, LOOM_OP_SUB, v, loom_emit_float(c->b, &scalar, correction));
  return loom_emit2(c->b, LOOM_OP_MAX, v, loom_emit_int(c->b, &scalar, 0));
}

/* var.correction and var_mean.correction(self, dim, correction, keepdim). */
bool aten_var(fx_call *c, loom_value *out) {
  uint32_t axes;
  double correction = 1;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype), mean;
  if (!fx_axes(c, 1, reduce_rank(c), &axes)) return false;
  if (fx_has(c, 2) && !fx_double(c, 2, &correction)) return false;
  loom_value sum = reduce_squares(c, x, axes, &mean);
  if (sum == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(c->b, sum);
  loom_value divisor = reduce_degrees(c, x, axes, correction, type.dtype);
  loom_value var = loom_emit2(c->b, LOOM_OP_DIV, sum, reduce_spread(c, divisor, &type));
  if (!reduce_done(c, 0, var, out)) return false;
  return c->result_count < 2 || reduce_done(c, 1, mean, out);
}

/* ---- softmax --------------------------------------------------------------------------------- */

/* _softmax and _log_softmax(self, dim, half_to_float). */
bool aten_softmax(fx_call *c, loom_value *out) {
  int axis, rank = reduce_rank(c);
  bool is_log = !strcmp(c->text, "log");
  loom_emitter *b = c->b;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  if (!fx_axis(c, 1, rank, &axis) || x == LOOM_NO_VALUE) return false;
  if (!rank) x = loom_emit_reshape(b, x, 1, (loom_dim[]){1});
  const loom_type type = *loom_emit_type(b, x);
  if (fx_count(&type, ~0u) == 0) return fx_decline(c, "an empty operand");
  loom_value max = loom_emit_reduce(b, "max", x, 1u << axis, true);
  loom_value moved = loom_emit2(b, LOOM_OP_SUB, x, reduce_spread(c, max, &type));
  loom_value e = loom_emit1(b, LOOM_OP_EXP, moved);
  loom_value sum = loom_emit_reduce(b, "sum", e, 1u << axis, true);
  if (is_log) sum = loom_emit1(b, LOOM_OP_LOG, sum);
  loom_value all = reduce_spread(c, sum, &type);
  return reduce_done(
      c, 0, is_log ? loom_emit2(b, LOOM_OP_SUB, moved, all) : loom_emit2(b, LOOM_OP_DIV, e, all),
      out);
}

/* ---- normalisation --------------------------------------------------------------------------- */

/* A weight or bias (argument `i`) along one axis or as trailing axes, spread; `v` scaled by it. */
static loom_value norm_apply(fx_call *c, loom_opcode op, loom_value v, int i, const loom_dim *dims,
                             int rank) {
  if (!fx_has(c, i) || v == LOOM_NO_VALUE) return v;
  const loom_type type = *loom_emit_type(c->b, v);
  loom_value w = fx_tensor_as(c, i, type.dtype);
  if (dims) w = loom_emit_reshape(c->b, w, rank, dims);
  return loom_emit2(c->b, op, v, reduce_spread(c, w, &type));
}

/* (x - mean) / sqrt(var + eps) with mean and 1/sqrt kept over `axes`. */
static loom_value norm_core(fx_call *c, loom_value x, uint32_t axes, double eps, loom_value *mean,
                            loom_value *rstd, loom_value *var) {
  loom_emitter *b = c->b;
  loom_value sum = reduce_squares(c, x, axes, mean);
  if (sum == LOOM_NO_VALUE) return sum;
  const loom_type type = *loom_emit_type(b, x), kept = *loom_emit_type(b, sum);
  loom_value count = reduce_spread(c, reduce_count(c, x, axes, kept.dtype), &kept);
  *var = loom_emit2(b, LOOM_OP_DIV, sum, count);
  loom_value safe = loom_emit2(b, LOOM_OP_ADD, *var, loom_emit_float(b, &kept, eps));
  *rstd = loom_emit1(b, LOOM_OP_RSQRT, safe);
  loom_value d = loom_emit2(b, LOOM_OP_SUB, x, reduce_spread(c, *mean, &type));
  return loom_emit2(b, LOOM_OP_MUL, d, reduce_spread(c, *rstd, &type));
}

/* native_layer_norm(input, normalized_shape, weight, bias, eps): output, mean, rstd. */
bool aten_layer_norm(fx_call *c, loom_value *out) {
  loom_dim shape[LOOM_MAX_RANK];
  int count = fx_dims(c, 1, shape, LOOM_MAX_RANK), rank = reduce_rank(c);
  double eps;
  if (count < 0 || !fx_double(c, 4, &eps)) return false;
  uint32_t axes = ((1u << rank) - 1) & ~((1u << (rank - count)) - 1);
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  loom_value mean = LOOM_NO_VALUE, rstd = LOOM_NO_VALUE, var = LOOM_NO_VALUE;
  loom_value v = norm_core(c, x, axes, eps, &mean, &rstd, &var);
  v = norm_apply(c, LOOM_OP_MUL, v, 2, NULL, 0);
  v = norm_apply(c, LOOM_OP_ADD, v, 3, NULL, 0);
  return reduce_done(c, 0, v, out) && reduce_done(c, 1, mean, out) && reduce_done(c, 2, rstd, out);
}

/* native_group_norm(input, weight, bias, N, C, HxW, group, eps): output, mean, rstd. */
bool aten_group_norm(fx_call *c, loom_value *out) {
  int64_t group;
  double eps;
  if (!fx_int(c, 6, &group) || !fx_double(c, 7, &eps)) return false;
  const loom_type type = c->types[0];
  if (fx_is_empty(&type) || type.rank < 2 || !fx_sizes_known(&type, 1))
    return fx_decline(c, "an operand that is empty or of a symbolic size");
  loom_dim split[3] = {type.dims[0], group, 1}, channels[LOOM_MAX_RANK];
  for (int i = 1; i < type.rank; i++)
    split[2] *= type.dims[i];
  split[2] /= group;
  for (int i = 0; i < type.rank; i++)
    channels[i] = i == 1 ? type.dims[1] : 1;
  loom_value x = reduce_operand(c, 0, type.dtype);
  loom_value mean = LOOM_NO_VALUE, rstd = LOOM_NO_VALUE, var = LOOM_NO_VALUE;
  x = loom_emit_reshape(c->b, x, 3, split);
  loom_value v = norm_core(c, x, 1u << 2, eps, &mean, &rstd, &var);
  v = loom_emit_reshape(c->b, v, type.rank, type.dims);
  v = norm_apply(c, LOOM_OP_MUL, v, 1, channels, type.rank);
  v = norm_apply(c, LOOM_OP_ADD, v, 2, channels, type.rank);
  return reduce_done(c, 0, v, out) && reduce_done(c, 1, mean, out) && reduce_done(c, 2, rstd, out);
}

/* Everything but the channels, and the channels' shape. */
static uint32_t batch_axes(const loom_type *type, loom_dim *channels) {
  uint32_t axes = 0;
  for (int i = 0; i < type->rank; i++) {
    channels[i] = i == 1 ? type->dims[1] : 1;
    axes |= i == 1 ? 0 : 1u << i;
  }
  return axes;
}

/* Scales by weight and bias (arguments 1 and 2) and stores the result. */
static bool batch_finish(fx_call *c, loom_value v, const loom_dim *channels, loom_value *out) {
  v = norm_apply(c, LOOM_OP_MUL, v, 1, channels, c->types[0].rank);
  v = norm_apply(c, LOOM_OP_ADD, v, 2, channels, c->types[0].rank);
  return reduce_done(c, 0, v, out);
}

/* With running statistics: (x - mean) / sqrt(var + eps). The saved statistics are empty. */
static bool batch_running(fx_call *c, int eps_at, loom_value *out) {
  loom_dim channels[LOOM_MAX_RANK];
  double eps;
  loom_emitter *b = c->b;
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  if (!fx_double(c, eps_at, &eps) || x == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(b, x);
  batch_axes(&type, channels);
  loom_value mean = reduce_operand(c, 3, type.dtype), var = reduce_operand(c, 4, type.dtype);
  if (mean == LOOM_NO_VALUE || var == LOOM_NO_VALUE) return false;
  const loom_type flat = *loom_emit_type(b, var);
  var = loom_emit2(b, LOOM_OP_ADD, var, loom_emit_float(b, &flat, eps));
  loom_value rstd = loom_emit1(b, LOOM_OP_RSQRT, var);
  mean = loom_emit_reshape(b, mean, type.rank, channels);
  rstd = loom_emit_reshape(b, rstd, type.rank, channels);
  loom_value d = loom_emit2(b, LOOM_OP_SUB, x, reduce_spread(c, mean, &type));
  loom_value v = loom_emit2(b, LOOM_OP_MUL, d, reduce_spread(c, rstd, &type));
  return batch_finish(c, v, channels, out);
}

/* _native_batch_norm_legit_no_training(input, weight, bias, running_mean, running_var, momentum,
 * eps). */
bool aten_batch_norm_inference(fx_call *c, loom_value *out) {
  for (uint32_t i = 1; i < c->result_count; i++)
    out[i] = loom_emit_int(c->b, &c->types[i], 0); /* of size 0 */
  return batch_running(c, 6, out);
}

/* The variance of a batch times n / (n - 1). */
static loom_value batch_unbiased(fx_call *c, loom_value x, uint32_t axes, loom_value var) {
  if (var == LOOM_NO_VALUE) return var;
  const loom_type type = *loom_emit_type(c->b, var), scalar = {.dtype = LOOM_F64};
  loom_value n = reduce_count(c, x, axes, LOOM_F64);
  loom_value less = loom_emit2(c->b, LOOM_OP_SUB, n, loom_emit_float(c->b, &scalar, 1));
  loom_value ratio = loom_emit_convert(c->b, loom_emit2(c->b, LOOM_OP_DIV, n, less), type.dtype);
  return loom_emit2(c->b, LOOM_OP_MUL, var, reduce_spread(c, ratio, &type));
}

/* The running statistic at argument `i`, moved towards `now` (kept over the batch). */
static loom_value batch_moved(fx_call *c, int i, loom_value now, double momentum) {
  loom_emitter *b = c->b;
  loom_value old = fx_tensor(c, i);
  if (old == LOOM_NO_VALUE) return old;
  const loom_type type = *loom_emit_type(b, old);
  now = loom_emit_reshape(b, loom_emit_convert(b, now, type.dtype), type.rank, type.dims);
  now = loom_emit2(b, LOOM_OP_MUL, now, loom_emit_float(b, &type, momentum));
  old = loom_emit2(b, LOOM_OP_MUL, old, loom_emit_float(b, &type, 1 - momentum));
  return loom_emit2(b, LOOM_OP_ADD, now, old);
}

/* _native_batch_norm_legit_functional(input, weight, bias, running_mean, running_var, training,
 * momentum, eps): output, mean, rstd, and the new running statistics. native_batch_norm() gives the
 * first three, and is in this form when it changes no running statistics. */
bool aten_batch_norm(fx_call *c, loom_value *out) {
  loom_dim channels[LOOM_MAX_RANK];
  bool training;
  double eps, momentum;
  if (!fx_bool(c, 5, &training) || !fx_double(c, 6, &momentum) || !fx_double(c, 7, &eps))
    return false;
  if (!training) {
    if (loom_type_elements(&c->types[1]) || loom_type_elements(&c->types[2]))
      return fx_decline(c, "saved statistics that are not those of the batch");
    for (int i = 1; i < 3; i++)
      out[i] = loom_emit_int(c->b, &c->types[i], 0);
    for (uint32_t i = 3; i < c->result_count; i++)
      out[i] = fx_tensor(c, (int)i);
    return batch_running(c, 7, out);
  }
  loom_value x = reduce_operand(c, 0, c->types[0].dtype);
  loom_value mean = LOOM_NO_VALUE, rstd = LOOM_NO_VALUE, var = LOOM_NO_VALUE;
  if (x == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(c->b, x);
  uint32_t axes = batch_axes(&type, channels);
  int64_t count = fx_count(&type, axes); /* symbolic sizes are 2 and more */
  if (count >= 0 && count < 2) return fx_decline(c, "a batch that is too small");
  loom_value v = norm_core(c, x, axes, eps, &mean, &rstd, &var);
  bool moves = c->result_count > 3;
  if (moves) out[3] = batch_moved(c, 3, mean, momentum);
  if (moves) out[4] = batch_moved(c, 4, batch_unbiased(c, x, axes, var), momentum);
  return batch_finish(c, v, channels, out) && reduce_done(c, 1, mean, out) &&
         reduce_done(c, 2, rstd, out);
}
