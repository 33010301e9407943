/* Shape and dtype rules of contractions, convolutions and attention (infer.c). */
#include "graph/graph.h"
#include "graph/infer.h"

/* ---- contractions ---- */

static bool infer_paired(infer_state *s, uint32_t lhs, uint32_t rhs, const char *what) {
  const loom_attr *l = infer_attr(s, lhs), *r = infer_attr(s, rhs);
  if (l->count != r->count) return INFER_FAIL(s, "%s dimensions differ in number", what);
  for (int i = 0; i < l->count; i++)
    if (infer_operand(s, 0)->dims[l->ints[i]] != infer_operand(s, 1)->dims[r->ints[i]])
      return INFER_FAIL(s, "sizes of %s dimensions %lld and %lld differ", what,
                        (long long)l->ints[i], (long long)r->ints[i]);
  return true;
}

bool infer_dot_general(infer_state *s) {
  const loom_type *lhs = infer_operand(s, 0), *rhs = infer_operand(s, 1);
  bool left[LOOM_MAX_RANK] = {false}, right[LOOM_MAX_RANK] = {false};
  if (lhs->dtype != rhs->dtype)
    return INFER_FAIL(s, "element types %s and %s differ", loom_dtype_name(lhs->dtype),
                      loom_dtype_name(rhs->dtype));
  if (!infer_dtype(s, lhs->dtype) || !infer_axes(s, 0, lhs->rank, left) ||
      !infer_axes(s, 1, rhs->rank, right) || !infer_axes(s, 2, lhs->rank, left) ||
      !infer_axes(s, 3, rhs->rank, right) || !infer_paired(s, 0, 1, "batch") ||
      !infer_paired(s, 2, 3, "contracted"))
    return false;
  loom_type result = {.dtype = lhs->dtype};
  for (int i = 0; i < infer_attr(s, 0)->count; i++)
    if (!infer_push(s, &result, lhs->dims[infer_attr(s, 0)->ints[i]])) return false;
  for (int i = 0; i < lhs->rank; i++)
    if (!left[i] && !infer_push(s, &result, lhs->dims[i])) return false;
  for (int i = 0; i < rhs->rank; i++)
    if (!right[i] && !infer_push(s, &result, rhs->dims[i])) return false;
  s->out[0] = result;
  return true;
}

/* (size + shift) / stride + 1 of a symbolic size. */
static bool infer_symbolic_window(infer_state *s, loom_dim size, int64_t shift, int64_t stride,
                                  loom_dim *out) {
  int64_t n = loom_stride_of_dim(size);
  return (loom_stride_combine(s->graph, LOOM_EXPR_ADD, n, shift, &n) &&
          loom_stride_combine(s->graph, LOOM_EXPR_FLOORDIV, n, stride, &n) &&
          loom_stride_combine(s->graph, LOOM_EXPR_ADD, n, 1, &n) && loom_dim_of_stride(n, out)) ||
         infer_size_failed(s);
}

/* (size + low + high - dilation * (window - 1) - 1) / stride + 1 of spatial dimension i. */
static bool infer_window(infer_state *s, int i, loom_dim window, loom_dim *out) {
  int64_t size = infer_operand(s, 0)->dims[i + 2];
  int64_t stride = infer_attr(s, 0)->ints[i], low = infer_attr(s, 1)->ints[2 * i],
          high = infer_attr(s, 1)->ints[2 * i + 1], dilation = infer_attr(s, 2)->ints[i], extent;
  if (LOOM_DIM_IS_SYM(window)) return INFER_FAIL(s, "the window must be static");
  if (stride < 1 || dilation < 1 || low < 0 || high < 0 || window < 1)
    return INFER_FAIL(s, "spatial dimension %d: stride, padding or dilation out of range", i);
  if (__builtin_mul_overflow(dilation, window - 1, &extent)) return infer_size_failed(s);
  if (LOOM_DIM_IS_SYM(size))
    return infer_symbolic_window(s, size, low + high - extent - 1, stride, out);
  if (__builtin_add_overflow(size, low, &size) || __builtin_add_overflow(size, high, &size))
    return infer_size_failed(s);
  if (size <= extent) return INFER_FAIL(s, "the window exceeds spatial dimension %d", i);
  *out = (size - extent - 1) / stride + 1;
  return true;
}

bool infer_convolution(infer_state *s) {
  const loom_type *lhs = infer_operand(s, 0), *rhs = infer_operand(s, 1);
  int spatial = lhs->rank - 2;
  int64_t groups = infer_attr(s, 3)->i, channels;
  if (lhs->dtype != rhs->dtype || lhs->rank != rhs->rank || spatial < 0)
    return INFER_FAIL(s, "operands need one element type and one rank of at least 2");
  if (!infer_dtype(s, lhs->dtype) || !infer_list(s, 0, spatial) || !infer_list(s, 1, 2 * spatial) ||
      !infer_list(s, 2, spatial))
    return false;
  if (LOOM_DIM_IS_SYM(lhs->dims[1]) || LOOM_DIM_IS_SYM(rhs->dims[0]) ||
      LOOM_DIM_IS_SYM(rhs->dims[1]))
    return INFER_FAIL(s, "channel counts must be static");
  if (groups < 1 || rhs->dims[0] % groups != 0 ||
      __builtin_mul_overflow(rhs->dims[1], groups, &channels) || channels != lhs->dims[1])
    return INFER_FAIL(s, "channels and groups do not agree");
  loom_type result = {.dtype = lhs->dtype, .rank = lhs->rank};
  result.dims[0] = lhs->dims[0];
  result.dims[1] = rhs->dims[0];
  for (int i = 0; i < spatial; i++)
    if (!infer_window(s, i, rhs->dims[i + 2], &result.dims[i + 2])) return false;
  s->out[0] = result;
  return true;
}

/* Sums of half floats are f32. */
static loom_dtype infer_sum_dtype(loom_dtype dtype) {
  return loom_dtype_is_half(dtype) ? LOOM_F32 : dtype;
}

bool infer_convolution_gradient(infer_state *s) {
  const loom_type *lhs = infer_operand(s, 0), *rhs = infer_operand(s, 1);
  int spatial = lhs->rank - 2;
  int64_t groups = infer_attr(s, 4)->i;
  if (infer_sum_dtype(lhs->dtype) != infer_sum_dtype(rhs->dtype) || lhs->rank != rhs->rank ||
      spatial < 0)
    return INFER_FAIL(s, "operands need one element type and one rank of at least 2");
  if (!infer_dtype(s, lhs->dtype) || !infer_list(s, 0, spatial) || !infer_list(s, 1, 2 * spatial) ||
      !infer_list(s, 2, spatial) || !infer_list(s, 3, spatial))
    return false;
  if (LOOM_DIM_IS_SYM(lhs->dims[1]) || LOOM_DIM_IS_SYM(rhs->dims[1]))
    return INFER_FAIL(s, "channel counts must be static");
  if (groups < 1 || lhs->dims[1] % groups != 0 || rhs->dims[1] % groups != 0)
    return INFER_FAIL(s, "channels and groups do not agree");
  if (lhs->dims[0] != rhs->dims[0]) return INFER_FAIL(s, "sizes differ in dimension 0");
  loom_type result = {.dtype = infer_sum_dtype(lhs->dtype), .rank = lhs->rank};
  result.dims[0] = rhs->dims[1];
  result.dims[1] = lhs->dims[1] / groups;
  for (int i = 0; i < spatial; i++) {
    loom_dim pixels = 0, window = infer_attr(s, 3)->ints[i];
    if (!infer_window(s, i, window, &pixels)) return false;
    if (pixels != rhs->dims[i + 2])
      return INFER_FAIL(s, "spatial dimension %d of the gradient is not the convolution's", i);
    result.dims[i + 2] = window;
  }
  s->out[0] = result;
  return true;
}

/* Pixels of the result of a convolution whose input has this size; 0: the window does not fit. */
static int64_t infer_pixels(infer_state *s, int i, int64_t size, int64_t window) {
  int64_t stride = infer_attr(s, 0)->ints[i], low = infer_attr(s, 1)->ints[2 * i],
          high = infer_attr(s, 1)->ints[2 * i + 1], dilation = infer_attr(s, 2)->ints[i], extent;
  if (stride < 1 || dilation < 1 || low < 0 || high < 0 || window < 1 || size < 1 ||
      __builtin_mul_overflow(dilation, window - 1, &extent) ||
      __builtin_add_overflow(size, low, &size) || __builtin_add_overflow(size, high, &size))
    return 0;
  return size <= extent ? 0 : (size - extent - 1) / stride + 1;
}

bool infer_convolution_input(infer_state *s) {
  const loom_type *lhs = infer_operand(s, 0), *rhs = infer_operand(s, 1);
  int spatial = lhs->rank - 2;
  if (lhs->dtype != rhs->dtype || lhs->rank != rhs->rank || spatial < 0)
    return INFER_FAIL(s, "operands need one element type and one rank of at least 2");
  if (!infer_dtype(s, lhs->dtype) || !infer_list(s, 0, spatial) || !infer_list(s, 1, 2 * spatial) ||
      !infer_list(s, 2, spatial) || !infer_list(s, 3, spatial))
    return false;
  if (LOOM_DIM_IS_SYM(lhs->dims[1]) || rhs->dims[0] != lhs->dims[1] || rhs->dims[1] != 1)
    return INFER_FAIL(s, "each channel needs weights of its own");
  loom_type result = *lhs;
  for (int i = 0; i < spatial; i++) {
    int64_t size = infer_attr(s, 3)->ints[i];
    if (LOOM_DIM_IS_SYM(rhs->dims[i + 2]) || LOOM_DIM_IS_SYM(lhs->dims[i + 2]))
      return INFER_FAIL(s, "spatial dimension %d must be static", i);
    if (infer_pixels(s, i, size, rhs->dims[i + 2]) != lhs->dims[i + 2])
      return INFER_FAIL(s, "spatial dimension %d of the gradient is not the convolution's", i);
    result.dims[i + 2] = size;
  }
  s->out[0] = result;
  return true;
}

/* ---- attention ---- */

static bool infer_attention_mask(infer_state *s, const loom_type *mask, const loom_type *q,
                                 const loom_type *k) {
  const loom_dim sizes[] = {q->dims[0], q->dims[1], q->dims[2], k->dims[2]};
  if (mask->dtype != q->dtype && mask->dtype != infer_sum_dtype(q->dtype) &&
      mask->dtype != LOOM_BOOL)
    return INFER_FAIL(s, "the mask has another element type");
  if (mask->rank != 4) return INFER_FAIL(s, "the mask has not four dimensions");
  for (int i = 0; i < 4; i++)
    if (mask->dims[i] != 1 && mask->dims[i] != sizes[i])
      return INFER_FAIL(s, "dimension %d of the mask is not that of the scores", i);
  return true;
}

/* Operands from `first` on: q, k, v; the scale and perhaps a mask from `scale` on. */
static bool infer_attention_operands(infer_state *s, uint32_t first, uint32_t scale) {
  const loom_type *q = infer_operand(s, first), *k = q + 1, *v = q + 2;
  if (s->view->operand_count != scale + 1 && s->view->operand_count != scale + 2)
    return INFER_FAIL(s, "takes %u or %u operands, not %u", scale + 1, scale + 2,
                      s->view->operand_count);
  for (int i = 0; i < 3; i++)
    if (q[i].rank != 4 || q[i].dtype != q->dtype)
      return INFER_FAIL(s, "q, k and v need four dimensions and one element type");
  if (!infer_dtype(s, q->dtype)) return false;
  for (int i = 0; i < 3; i++)
    if (LOOM_DIM_IS_SYM(q[i].dims[1]) || LOOM_DIM_IS_SYM(q[i].dims[3]))
      return INFER_FAIL(s, "heads, depth and width must be static");
  if (q->dims[0] != k->dims[0] || k->dims[0] != v->dims[0] || k->dims[1] != v->dims[1] ||
      k->dims[2] != v->dims[2] || q->dims[3] != k->dims[3])
    return INFER_FAIL(s, "sizes of q, k and v do not agree");
  if (k->dims[1] < 1 || q->dims[1] % k->dims[1] != 0)
    return INFER_FAIL(s, "the heads of k do not divide those of q");
  const loom_type *factor = infer_operand(s, scale);
  if (factor->rank != 0 || factor->dtype != infer_sum_dtype(q->dtype))
    return INFER_FAIL(s, "the scale is no 0-d %s", loom_dtype_name(infer_sum_dtype(q->dtype)));
  return s->view->operand_count == scale + 1 || infer_attention_mask(s, factor + 1, q, k);
}

/* The type of what there is of each query. */
static loom_type infer_attention_rows(const loom_type *q) {
  return (loom_type){infer_sum_dtype(q->dtype), 3, {q->dims[0], q->dims[1], q->dims[2]}};
}

bool infer_attention(infer_state *s) {
  static const char *const words[] = {"nan", "zero", NULL};
  if (s->view->operand_count < 4) return INFER_FAIL(s, "takes 4 or 5 operands");
  if (!infer_attention_operands(s, 0, 3)) return false;
  if (!infer_one_of(infer_attr(s, 1)->str, words))
    return INFER_FAIL(s, "unknown word \"%s\" for empty", infer_attr(s, 1)->str);
  const loom_type *q = infer_operand(s, 0);
  loom_type result = *q, rows = infer_attention_rows(q);
  result.dims[3] = q[2].dims[3];
  s->out[0] = result;
  s->out[1] = rows;
  s->count = 2;
  return true;
}

bool infer_attention_gradient(infer_state *s) {
  if (s->view->operand_count < 7) return INFER_FAIL(s, "takes 7 or 8 operands");
  const loom_type *q = infer_operand(s, 1);
  if (!infer_attention_operands(s, 1, 6)) return false;
  loom_type result = *q, rows = infer_attention_rows(q);
  result.dims[3] = q[2].dims[3];
  if (!loom_type_equal(infer_operand(s, 0), &result))
    return INFER_FAIL(s, "the gradient has not the type of the result");
  if (!loom_type_equal(&q[3], &rows) || !loom_type_equal(&q[4], &rows))
    return INFER_FAIL(s, "logarithms and sums are not one for each query");
  for (int i = 0; i < 3; i++)
    s->out[i] = q[i];
  s->count = 3;
  return true;
}
