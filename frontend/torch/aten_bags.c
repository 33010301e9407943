/* ATen ops on bags of embeddings, and histograms: sums over places that data assigns. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/index_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"

#include <math.h>

/* The places of `indices` and of `offsets` among the arguments, and what follows from them. */
typedef struct bag_call {
  loom_type rows;           /* of the places: n and the width, in the weights' type */
  loom_value indices, bags; /* of each place, int64: its row of the weights, its bag */
  loom_value kept;          /* of each place: is it no padding; or none */
  loom_value weights;       /* of each place, or none: `per_sample_weights` */
} bag_call;

static loom_value bag_scan(fx_call *c, loom_value v) {
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_STR, .str = "sum"}, {.kind = LOOM_ATTR_I64, .i = 0}};
  return loom_emit(c->b, LOOM_OP_SCAN, &v, 1, attrs, 2, NULL, 0);
}

/* A value of each place in all columns. */
static loom_value bag_rows(fx_call *c, const bag_call *g, loom_value v) {
  return loom_emit_broadcast(c->b, v, 2, g->rows.dims, (const int64_t[]){0});
}

/* The bag of each of n places: how many bags begin there or before, less one. */
static loom_value bag_find(fx_call *c, loom_value offsets, loom_dim n) {
  loom_emitter *b = c->b;
  loom_dim more;
  if (!loom_dim_combine(c->im->graph, LOOM_EXPR_ADD, n, 1, &more))
    return loom_emit_fail(b, "a size is too complicated");
  const loom_type *given = loom_emit_type(b, offsets);
  loom_type line = loom_type_make(LOOM_I64, 1, &more),
            ones = loom_type_make(LOOM_I64, 1, given->dims);
  loom_value begun =
      index_scatter(c, "add", loom_emit_int(b, &line, 0), offsets, loom_emit_int(b, &ones, 1), 0);
  begun = loom_emit_slice(b, begun, 0, 0, loom_stride_of_dim(n), 1);
  loom_value sums = bag_scan(c, begun);
  if (sums == LOOM_NO_VALUE) return sums;
  const loom_type type = *loom_emit_type(b, sums);
  return loom_emit2(b, LOOM_OP_SUB, sums, loom_emit_int(b, &type, 1));
}

/* Do the offsets ascend from 0 to n at most, or to n exactly? Else eager torch says what is wrong,
 * or does what it does. */
static bool bag_check(fx_call *c, loom_value offsets, loom_dim n, bool whole) {
  loom_emitter *b = c->b;
  const loom_type type = *loom_emit_type(b, offsets), number = loom_type_make(LOOM_I64, 0, NULL);
  int64_t count;
  if (!loom_stride_combine(c->im->graph, LOOM_EXPR_ADD, loom_stride_of_dim(type.dims[0]), -1,
                           &count))
    return fx_decline(c, "a size is too complicated");
  loom_value before = loom_emit_slice(b, offsets, 0, 0, count, 1);
  loom_value after = loom_emit_slice(b, offsets, 0, 1, count, 1);
  loom_value ascends = loom_emit_compare(b, "le", before, after);
  ascends = loom_emit_reduce(b, "and", ascends, 1, false);
  loom_value first = loom_emit_reduce(b, "min", offsets, 1, false);
  loom_value last = loom_emit_reduce(b, "max", offsets, 1, false);
  loom_value begins = loom_emit_compare(b, "eq", first, loom_emit_int(b, &number, 0));
  loom_value end = fx_number_value(c, &number, loom_stride_of_dim(n));
  loom_value ends = loom_emit_compare(b, whole ? "eq" : "le", last, end);
  return index_check(c,
                     loom_emit2(b, LOOM_OP_AND, ascends, loom_emit2(b, LOOM_OP_AND, begins, ends)));
}

/* Reads the arguments at these places; the bags are found by `offsets`. */
static bool bag_read(fx_call *c, int indices, int padding, int weights, loom_value offsets,
                     int64_t rows, const loom_type *table, bag_call *g) {
  loom_emitter *b = c->b;
  int64_t skipped;
  loom_value at = fx_tensor(c, indices);
  if (at == LOOM_NO_VALUE || offsets == LOOM_NO_VALUE || !fx_int(c, padding, &skipped))
    return false;
  const loom_type places = *loom_emit_type(b, at);
  if (table->dtype != LOOM_F32 && table->dtype != LOOM_F64)
    return fx_decline(c, "bags of elements that are neither float32 nor float64");
  if (places.rank != 1 || table->rank != 2) return fx_decline(c, "bags of another rank");
  g->rows = loom_type_make(table->dtype, 2, (loom_dim[]){places.dims[0], table->dims[1]});
  g->indices = index_checked(c, at, rows, false);
  g->bags = bag_find(c, offsets, places.dims[0]);
  g->weights = g->kept = LOOM_NO_VALUE;
  if (fx_has(c, weights)) g->weights = fx_tensor_as(c, weights, table->dtype);
  if (g->indices == LOOM_NO_VALUE || g->bags == LOOM_NO_VALUE) return false;
  const loom_type numbers = *loom_emit_type(b, g->indices);
  if (skipped >= 0)
    g->kept = loom_emit_compare(b, "ne", g->indices, loom_emit_int(b, &numbers, skipped));
  return true;
}

/* What each place adds: weighted, and nothing where it is padding. */
static loom_value bag_weigh(fx_call *c, const bag_call *g, loom_value rows) {
  loom_emitter *b = c->b;
  if (g->weights != LOOM_NO_VALUE)
    rows = loom_emit2(b, LOOM_OP_MUL, rows, bag_rows(c, g, g->weights));
  if (g->kept == LOOM_NO_VALUE) return rows;
  return loom_emit_select(b, bag_rows(c, g, g->kept), rows, loom_emit_int(b, &g->rows, 0));
}

/* How many places each bag has that are no padding. */
static loom_value bag_count(fx_call *c, const bag_call *g, loom_dim bags) {
  loom_emitter *b = c->b;
  loom_type line = loom_type_make(LOOM_I64, 1, &bags), places = *loom_emit_type(b, g->bags);
  loom_value ones = g->kept == LOOM_NO_VALUE ? loom_emit_int(b, &places, 1)
                                             : loom_emit_convert(b, g->kept, LOOM_I64);
  return index_scatter(c, "add", loom_emit_int(b, &line, 0), g->bags, ones, 0);
}

/* Each row of `sums` (a bag's) divided by that bag's count, if it has any. */
static loom_value bag_mean(fx_call *c, loom_value sums, loom_value count) {
  loom_emitter *b = c->b;
  if (sums == LOOM_NO_VALUE || count == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type type = *loom_emit_type(b, sums), line = *loom_emit_type(b, count);
  count = loom_emit2(b, LOOM_OP_MAX, count, loom_emit_int(b, &line, 1));
  count = loom_emit_convert(b, count, type.dtype);
  count = loom_emit_broadcast(b, count, 2, type.dims, (const int64_t[]){0});
  return loom_emit2(b, LOOM_OP_DIV, sums, count);
}

enum { BAG_SUM, BAG_MEAN, BAG_MAX };

/* A result that says of each place or bag what `v` does, or is empty, or zeros. */
static loom_value bag_told(fx_call *c, uint32_t i, loom_value v) {
  const loom_type *type = &c->types[i];
  bool whole = v != LOOM_NO_VALUE && loom_type_elements(type) != 0;
  return whole ? loom_emit_convert(c->b, v, type->dtype) : loom_emit_int(c->b, type, 0);
}

/* _embedding_bag(weight, indices, offsets, scale_grad_by_freq, mode, sparse, per_sample_weights,
 * include_last_offset, padding_idx): sums or means, the bag of each place, and the bags' sizes. */
bool aten_embedding_bag(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  int64_t mode;
  bool last;
  bag_call g;
  loom_value table = fx_tensor(c, 0), offsets = fx_tensor_as(c, 2, LOOM_I64);
  if (table == LOOM_NO_VALUE || offsets == LOOM_NO_VALUE || !fx_int(c, 4, &mode) ||
      !fx_bool(c, 7, &last))
    return false;
  if (mode == BAG_MAX) return fx_decline(c, "maxima of bags");
  const loom_type type = *loom_emit_type(b, table), given = *loom_emit_type(b, offsets);
  if (given.rank != 1 || loom_type_elements(&given) == 0)
    return fx_decline(c, "offsets of another rank or none");
  if (loom_type_elements(index_type(c, 1)) == 0) return fx_decline(c, "bags of nothing");
  const loom_dim bags = c->types[0].dims[0];
  if (!bag_check(c, offsets, index_type(c, 1)->dims[0], last)) return false;
  if (last) offsets = loom_emit_slice(b, offsets, 0, 0, loom_stride_of_dim(bags), 1);
  if (!bag_read(c, 1, 8, 6, offsets, loom_stride_of_dim(type.dims[0]), &type, &g)) return false;
  loom_value rows = bag_weigh(c, &g, index_gather(c, table, g.indices, 0));
  loom_value sums = index_scatter(c, "add", loom_emit_int(b, &c->types[0], 0), g.bags, rows, 0);
  loom_value count = mode == BAG_MEAN ? bag_count(c, &g, bags) : LOOM_NO_VALUE;
  out[0] = mode == BAG_MEAN ? bag_mean(c, sums, count) : sums;
  out[1] = bag_told(c, 1, g.bags);
  out[2] = bag_told(c, 2, count);
  out[3] = bag_told(c, 3, count);
  return out[0] != LOOM_NO_VALUE;
}

/* _embedding_bag_backward(grad, indices, offsets, offset2bag, bag_size, maximum_indices,
 * num_weights, scale_grad_by_freq, mode, sparse, per_sample_weights, padding_idx). */
bool aten_embedding_bag_backward(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  int64_t mode;
  bool by_frequency, sparse;
  bag_call g;
  const loom_type type = c->types[0];
  loom_value grad = fx_tensor(c, 0), sizes = fx_tensor_as(c, 4, LOOM_I64);
  if (grad == LOOM_NO_VALUE || sizes == LOOM_NO_VALUE || !fx_bool(c, 7, &by_frequency) ||
      !fx_int(c, 8, &mode) || !fx_bool(c, 9, &sparse))
    return false;
  if (mode == BAG_MAX || by_frequency || sparse)
    return fx_decline(c, "a gradient of maxima, scaled by frequency or sparse");
  if (loom_type_elements(index_type(c, 1)) == 0) return fx_decline(c, "bags of nothing");
  if (!bag_read(c, 1, 11, 10, fx_tensor_as(c, 2, LOOM_I64), loom_stride_of_dim(type.dims[0]), &type,
                &g))
    return false;
  if (mode == BAG_MEAN) grad = bag_mean(c, grad, sizes);
  loom_value rows = bag_weigh(c, &g, index_gather(c, grad, g.bags, 0));
  out[0] = index_scatter(c, "add", loom_emit_int(b, &type, 0), g.indices, rows, 0);
  return out[0] != LOOM_NO_VALUE;
}

/* _embedding_bag_per_sample_weights_backward(grad, weight, indices, offsets, offset2bag, mode,
 * padding_idx): the product of a bag's gradient and a place's row. */
bool aten_embedding_bag_weights_backward(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  bag_call g;
  loom_value grad = fx_tensor(c, 0), table = fx_tensor(c, 1);
  if (grad == LOOM_NO_VALUE || table == LOOM_NO_VALUE) return false;
  if (loom_type_elements(index_type(c, 2)) == 0) return fx_decline(c, "bags of nothing");
  const loom_type type = *loom_emit_type(b, table);
  if (!bag_read(c, 2, 6, c->count, fx_tensor_as(c, 3, LOOM_I64), loom_stride_of_dim(type.dims[0]),
                &type, &g))
    return false;
  loom_value rows = loom_emit2(b, LOOM_OP_MUL, index_gather(c, grad, g.bags, 0),
                               index_gather(c, table, g.indices, 0));
  out[0] = loom_emit_reduce(b, "sum", bag_weigh(c, &g, rows), 1u << 1, false);
  return out[0] != LOOM_NO_VALUE;
}

/* ---- histograms ------------------------------------------------------------------------------ */

#define HISTC_MOST (1 << 24) /* counts that float32 holds exactly, as eager torch adds them up */

/* The smallest and the largest of all elements, which have to be finite, as the ends of the range;
 * when they are equal, one less and one more. */
static bool histc_range(fx_call *c, loom_value v, loom_value *low, loom_value *high) {
  loom_emitter *b = c->b;
  loom_value min = loom_emit_reduce(b, "min", v, 1, false);
  loom_value max = loom_emit_reduce(b, "max", v, 1, false);
  if (min == LOOM_NO_VALUE || max == LOOM_NO_VALUE) return false;
  const loom_type type = *loom_emit_type(b, min);
  loom_value finite = loom_emit2(b, LOOM_OP_AND, loom_emit1(b, LOOM_OP_IS_FINITE, min),
                                 loom_emit1(b, LOOM_OP_IS_FINITE, max));
  loom_value same = loom_emit_compare(b, "eq", min, max), one = loom_emit_int(b, &type, 1);
  *low = loom_emit_select(b, same, loom_emit2(b, LOOM_OP_SUB, min, one), min);
  *high = loom_emit_select(b, same, loom_emit2(b, LOOM_OP_ADD, max, one), max);
  return index_check(c, finite);
}

/* The bin of each element; what lies outside goes to one bin more. */
static loom_value histc_bins(fx_call *c, loom_value v, loom_value low, loom_value high,
                             int64_t bins) {
  loom_emitter *b = c->b;
  const loom_type type = *loom_emit_type(b, v);
  loom_type places = loom_type_make(LOOM_I64, 1, type.dims);
  low = loom_emit_broadcast_to(b, low, 1, type.dims);
  high = loom_emit_broadcast_to(b, high, 1, type.dims);
  loom_value inside = loom_emit2(b, LOOM_OP_AND, loom_emit_compare(b, "ge", v, low),
                                 loom_emit_compare(b, "le", v, high));
  v = loom_emit_select(b, inside, v, low);
  loom_value at = loom_emit2(b, LOOM_OP_SUB, v, low);
  at = loom_emit2(b, LOOM_OP_MUL, at, loom_emit_int(b, &type, bins));
  at = loom_emit2(b, LOOM_OP_DIV, at, loom_emit2(b, LOOM_OP_SUB, high, low));
  at = loom_emit_convert(b, at, LOOM_I64);
  at = loom_emit2(b, LOOM_OP_MIN, at, loom_emit_int(b, &places, bins - 1));
  return loom_emit_select(b, inside, at, loom_emit_int(b, &places, bins));
}

/* histc(self, bins, min, max): how many elements lie in each of the bins, as numbers of their type.
 * The last bin has the upper end; NaN lies in none. */
bool aten_histc(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  int64_t bins;
  double least, most;
  loom_value v = fx_tensor(c, 0), low, high;
  loom_dim elements;
  if (v == LOOM_NO_VALUE || !fx_int(c, 1, &bins) || !fx_double(c, 2, &least) ||
      !fx_double(c, 3, &most))
    return false;
  const loom_type from = *loom_emit_type(b, v), number = loom_type_make(from.dtype, 0, NULL);
  if (from.dtype != LOOM_F32 && from.dtype != LOOM_F64)
    return fx_decline(c, "a histogram of elements that are neither float32 nor float64");
  if (bins < 1 || !(least <= most) || !isfinite(least) || !isfinite(most))
    return fx_decline(c, "a range that torch refuses");
  if (!loom_type_elements_in(c->im->graph, &from, &elements) || elements == 0 ||
      (from.dtype == LOOM_F32 && elements > HISTC_MOST))
    return fx_decline(c, "a size that is unknown, 0 or large");
  v = loom_emit_reshape(b, v, 1, &elements);
  low = loom_emit_float(b, &number, least);
  high = loom_emit_float(b, &number, most);
  if (least == most && !histc_range(c, v, &low, &high)) return false;
  loom_value at = histc_bins(c, v, low, high, bins);
  if (at == LOOM_NO_VALUE) return false;
  loom_type line = loom_type_make(LOOM_I64, 1, (loom_dim[]){bins + 1});
  const loom_type ones = *loom_emit_type(b, at);
  loom_value counts =
      index_scatter(c, "add", loom_emit_int(b, &line, 0), at, loom_emit_int(b, &ones, 1), 0);
  out[0] = loom_emit_convert(b, loom_emit_slice(b, counts, 0, 0, bins, 1), from.dtype);
  return out[0] != LOOM_NO_VALUE;
}
