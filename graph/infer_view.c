/* Shape rules of views: the result types that broadcast, reshape, transpose, slice and windows may
 * have. */
#include "graph/graph.h"
#include "graph/infer.h"

bool infer_broadcast(infer_state *s) {
  const loom_type *from = infer_operand(s, 0), *to = &s->out[0];
  if (!infer_need_declared(s) || !infer_list(s, 0, from->rank)) return false;
  if (from->dtype != to->dtype) return INFER_FAIL(s, "changes the element type");
  const int64_t *dims = infer_attr(s, 0)->ints;
  for (int i = 0; i < from->rank; i++) {
    if (!infer_axis(s, dims[i], to->rank)) return false;
    if (i && dims[i] <= dims[i - 1]) return INFER_FAIL(s, "dims must rise");
    if (from->dims[i] != 1 && from->dims[i] != to->dims[dims[i]])
      return INFER_FAIL(s, "operand dimension %d does not broadcast to result dimension %lld", i,
                        (long long)dims[i]);
  }
  return true;
}

static bool infer_product(infer_state *s, const loom_type *type, loom_dim *out) {
  *out = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return *out = 0, true;
  for (int i = 0; i < type->rank; i++)
    if (!loom_dim_combine(s->graph, LOOM_EXPR_MUL, *out, type->dims[i], out))
      return infer_size_failed(s);
  return true;
}

bool infer_reshape(infer_state *s) {
  loom_dim from, to;
  if (!infer_need_declared(s)) return false;
  if (infer_operand(s, 0)->dtype != s->out[0].dtype)
    return INFER_FAIL(s, "changes the element type");
  if (!infer_product(s, infer_operand(s, 0), &from) || !infer_product(s, &s->out[0], &to))
    return false;
  return from == to || INFER_FAIL(s, "the number of elements differs");
}

bool infer_transpose(infer_state *s) {
  const loom_type *from = infer_operand(s, 0);
  bool seen[LOOM_MAX_RANK] = {false};
  if (!infer_list(s, 0, from->rank) || !infer_axes(s, 0, from->rank, seen)) return false;
  s->out[0] = *from;
  for (int i = 0; i < from->rank; i++)
    s->out[0].dims[i] = from->dims[infer_attr(s, 0)->ints[i]];
  return true;
}

bool infer_slice_fits(infer_state *s, loom_dim dim, int64_t start, int64_t size, int64_t step,
                      int axis) {
  int64_t last, room, low, high, room_low, room_high;
  bool symbolic = LOOM_STRIDE_IS_SYM(size) || LOOM_STRIDE_IS_SYM(start);
  if (LOOM_STRIDE_IS_SYM(step)) return INFER_FAIL(s, "the step of dimension %d is symbolic", axis);
  if (!LOOM_STRIDE_IS_SYM(size) && size < 0)
    return INFER_FAIL(s, "the size of dimension %d is negative", axis);
  if (step == 0) return INFER_FAIL(s, "the step of dimension %d is 0", axis);
  if (size == 0) return true;
  if (!loom_stride_minus(s->graph, size, 1, &last) ||
      !loom_stride_combine(s->graph, LOOM_EXPR_MUL, last, step, &last) ||
      !loom_stride_combine(s->graph, LOOM_EXPR_ADD, last, start, &last))
    return symbolic ? infer_size_failed(s)
                    : INFER_FAIL(s, "dimension %d is sliced out of bounds", axis);
  int64_t ends[] = {start, last};
  for (int i = 0; i < 2; i++) {
    loom_stride_range(s->graph, ends[i], &low, &high);
    if (!loom_stride_minus(s->graph, loom_stride_of_dim(dim), ends[i], &room))
      return infer_size_failed(s);
    loom_stride_range(s->graph, room, &room_low, &room_high);
    if (!LOOM_STRIDE_IS_SYM(size) && (high < 0 || room_high < 1))
      return INFER_FAIL(s, "dimension %d is sliced out of bounds", axis);
    if (!symbolic && (low < 0 || room_low < 1))
      return INFER_FAIL(s, "dimension %d has a symbolic size that may be too small", axis);
  }
  return true;
}

bool infer_slice(infer_state *s) {
  const loom_type *from = infer_operand(s, 0);
  if (!infer_list(s, 0, from->rank) || !infer_list(s, 1, from->rank) ||
      !infer_list(s, 2, from->rank))
    return false;
  const int64_t *starts = infer_attr(s, 0)->ints, *sizes = infer_attr(s, 1)->ints,
                *steps = infer_attr(s, 2)->ints;
  s->out[0] = *from;
  for (int i = 0; i < from->rank; i++) {
    if (LOOM_DIM_IS_SYM(from->dims[i]) && sizes[i] == -1 && starts[i] == 0 && steps[i] == 1)
      continue; /* the whole of a symbolic dimension */
    if (!infer_slice_fits(s, from->dims[i], starts[i], sizes[i], steps[i], i)) return false;
    if (!loom_dim_of_stride(sizes[i], &s->out[0].dims[i])) return infer_size_failed(s);
  }
  return true;
}

static bool infer_window_of(infer_state *s, int i, loom_dim dim, loom_dim *out) {
  int64_t size = infer_attr(s, 0)->ints[i], stride = infer_attr(s, 1)->ints[i],
          dilation = infer_attr(s, 2)->ints[i], extent;
  *out = dim;
  if (size == 1 && stride == 1) return true;
  if (LOOM_DIM_IS_SYM(dim)) return INFER_FAIL(s, "dimension %d has windows but no static size", i);
  if (size < 1 || stride < 1 || dilation < 1)
    return INFER_FAIL(s, "dimension %d: size, stride or dilation is not positive", i);
  if (__builtin_mul_overflow(dilation, size - 1, &extent) || dim <= extent)
    return INFER_FAIL(s, "the window exceeds dimension %d", i);
  *out = (dim - extent - 1) / stride + 1;
  return true;
}

bool infer_windows(infer_state *s) {
  const loom_type *from = infer_operand(s, 0);
  loom_type result = {.dtype = from->dtype};
  for (uint32_t a = 0; a < 3; a++)
    if (!infer_list(s, a, from->rank)) return false;
  for (int i = 0; i < from->rank; i++) {
    loom_dim dim;
    if (!infer_window_of(s, i, from->dims[i], &dim) || !infer_push(s, &result, dim)) return false;
  }
  for (int i = 0; i < from->rank; i++)
    if (!infer_push(s, &result, infer_attr(s, 0)->ints[i])) return false;
  s->out[0] = result;
  return true;
}
