/* ATen convolutions and their gradients.
 *
 * The gradient of the input is a convolution of the result's gradient with the weights, channels
 * exchanged and windows reversed. A stride of s in some dimension makes it s convolutions there,
 * each with every s-th place of the window, whose results alternate. A transposed convolution is
 * that gradient taken forward, so its own gradients are a convolution and, with roles exchanged,
 * the gradient of the weights.
 *
 * The batch and the sizes of images may be symbolic: they and what follows from them are numbers of
 * the graph. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_reductions.h"

#include <string.h>

#define CONV_SPATIAL 3
#define CONV_MAX_PHASES 16
#define CONV_SPREAD_CHANNELS                                                                       \
  4 /* lanes of a kernel whose lanes are channels (passes/conv_lanes.c) */
#define CONV_SPREAD_STRIDE 4
#define CONV_SPREAD_WINDOW 16

typedef struct conv_call {
  fx_call *c;
  loom_emitter *b;
  int spatial;
  int64_t strides[CONV_SPATIAL], padding[CONV_SPATIAL], dilation[CONV_SPATIAL], groups;
  bool transposed;
} conv_call;

/* Arguments stride, padding, dilation, transposed, output_padding, groups from `at` on. */
static bool conv_read(fx_call *c, int at, const loom_type *input, conv_call *out) {
  int64_t *lists[3] = {out->strides, out->padding, out->dilation};
  out->c = c;
  out->b = c->b;
  out->spatial = input->rank - 2;
  if (out->spatial < 1 || out->spatial > CONV_SPATIAL)
    return fx_decline(c, "%d spatial dimensions", out->spatial);
  for (int k = 0; k < 3; k++) {
    int count = fx_ints(c, at + k, lists[k], CONV_SPATIAL);
    if (count < 1) return false;
    for (int i = out->spatial - 1; i >= 0; i--) /* one number stands for all axes */
      lists[k][i] = lists[k][i < count ? i : 0];
    for (int i = 0; i < out->spatial; i++)
      if (lists[k][i] < (k != 1)) return fx_decline(c, "an attribute out of range");
  }
  return fx_bool(c, at + 3, &out->transposed) && fx_int(c, at + 5, &out->groups);
}

static loom_value conv_operand(fx_call *c, int i, const loom_type *like) {
  return loom_emit_convert(c->b, fx_tensor(c, i), fx_compute_dtype(like->dtype));
}

static loom_value conv_ints(const conv_call *v, loom_opcode op, const loom_value *operands,
                            const int64_t *strides, const int64_t *padding, const int64_t *dilation,
                            const int64_t *window) {
  loom_attr attrs[5] = {
      {.kind = LOOM_ATTR_I64S, .ints = (int64_t *)strides, .count = v->spatial},
      {.kind = LOOM_ATTR_I64S, .ints = (int64_t *)padding, .count = 2 * v->spatial},
      {.kind = LOOM_ATTR_I64S, .ints = (int64_t *)dilation, .count = v->spatial}};
  int count = 3;
  if (window)
    attrs[count++] =
        (loom_attr){.kind = LOOM_ATTR_I64S, .ints = (int64_t *)window, .count = v->spatial};
  attrs[count++] = (loom_attr){.kind = LOOM_ATTR_I64, .i = v->groups};
  return loom_emit(v->b, op, operands, 2, attrs, (uint32_t)count, NULL, 0);
}

static void conv_pairs(const conv_call *v, int64_t *pairs) {
  for (int i = 0; i < v->spatial; i++)
    pairs[2 * i] = pairs[2 * i + 1] = v->padding[i];
}

static loom_value conv_forward(const conv_call *v, loom_value x, loom_value w) {
  int64_t pairs[2 * CONV_SPATIAL];
  conv_pairs(v, pairs);
  return conv_ints(v, LOOM_OP_CONVOLUTION, (loom_value[]){x, w}, v->strides, pairs, v->dilation,
                   NULL);
}

static int64_t conv_ceil(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t conv_floor(int64_t a, int64_t b) { return a >= 0 ? a / b : -conv_ceil(-a, b); }

/* a + b of a number and a known one; a * b. False, declined, when it cannot be expressed. */
static bool conv_plus(const conv_call *v, int64_t a, int64_t b, int64_t *out) {
  return loom_stride_combine(v->b->graph, LOOM_EXPR_ADD, a, b, out) ||
         fx_decline(v->c, "a size is too complicated");
}
static bool conv_times(const conv_call *v, int64_t a, int64_t b, int64_t *out) {
  return loom_stride_combine(v->b->graph, LOOM_EXPR_MUL, a, b, out) ||
         fx_decline(v->c, "a size is too complicated");
}

/* ---- the gradient of the input ---- */

typedef struct conv_phases {
  const conv_call *v;
  loom_value gradient, weights;                     /* the weights with channels exchanged */
  loom_type from, window, to;                       /* of them; of the result */
  int64_t steps[CONV_SPATIAL];                      /* phases */
  int64_t first[CONV_SPATIAL], count[CONV_SPATIAL]; /* places of each phase, in steps; a number */
  int64_t extra[CONV_SPATIAL];                      /* count - size of the gradient */
  int64_t phase[CONV_SPATIAL];
} conv_phases;

/* (g O, I, ...) as (g I, O, ...). */
static loom_value conv_exchange(const conv_call *v, loom_value w) {
  const loom_type type = *loom_emit_type(v->b, w);
  int64_t g = v->groups, outs = type.dims[0] / g, ins = type.dims[1];
  loom_dim split[LOOM_MAX_RANK] = {g, outs, ins}, joined[LOOM_MAX_RANK] = {g * ins, outs};
  int64_t perm[LOOM_MAX_RANK] = {1, 0};
  for (int i = 2; i < type.rank; i++) {
    split[i + 1] = joined[i] = type.dims[i];
    perm[i] = i;
  }
  if (g == 1) return loom_emit_transpose(v->b, w, perm);
  if (outs > 1 && ins > 1) {
    for (int i = 0; i <= type.rank; i++)
      perm[i] = i == 1 ? 2 : i == 2 ? 1 : i;
    w = loom_emit_reshape(v->b, w, type.rank + 1, split);
    w = loom_emit_transpose(v->b, w, perm);
  }
  return loom_emit_reshape(v->b, w, type.rank, joined);
}

/* Zeros between the elements of a dimension. */
static loom_value conv_spread(const conv_call *v, loom_value x, int axis, int64_t stride) {
  loom_type type = *loom_emit_type(v->b, x);
  loom_dim apart[LOOM_MAX_RANK];
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0}, size = type.dims[axis];
  for (int i = 0; i < type.rank; i++)
    apart[i < axis ? i : i + 1] = type.dims[i];
  apart[axis] = size;
  apart[axis + 1] = 1;
  high[axis + 1] = stride - 1;
  x = loom_emit_reshape(v->b, x, type.rank + 1, apart);
  x = loom_emit_pad_zeros(v->b, x, low, high);
  type.dims[axis] = size * stride;
  x = loom_emit_reshape(v->b, x, type.rank, type.dims);
  return loom_emit_slice(v->b, x, axis, 0, (size - 1) * stride + 1, 1);
}

/* One phase: position m of it is the sum over t of gradient[m - t * dilation] * weights[phase +
 * t * steps], for m from `first` on. */
static loom_value conv_phase(const conv_phases *s) {
  const conv_call *v = s->v;
  loom_value x = s->gradient, w = s->weights;
  int64_t pairs[2 * CONV_SPATIAL], ones[CONV_SPATIAL] = {1, 1, 1};
  loom_type type = s->to;
  bool none = false;
  for (int d = 0; d < v->spatial; d++) {
    int64_t places = conv_ceil(s->window.dims[d + 2] - s->phase[d], s->steps[d]);
    int64_t reach = v->dilation[d] * (places - 1);
    int64_t size = loom_stride_of_dim(s->from.dims[d + 2]), left = size;
    if (!loom_dim_of_stride(s->count[d], &type.dims[d + 2])) return LOOM_NO_VALUE;
    if (places <= 0) {
      none = true;
      continue;
    }
    int64_t low = reach - s->first[d], high = s->extra[d] + reach - low, cut = low < 0 ? -low : 0;
    int64_t less = cut + (high < 0 ? -high : 0);
    if (less && LOOM_STRIDE_IS_SYM(size))
      return fx_decline(v->c, "padding beyond the window"), LOOM_NO_VALUE;
    if (less && less >= size) {
      none = true; /* nothing of the gradient is reached */
      continue;
    }
    left -= LOOM_STRIDE_IS_SYM(size) ? 0 : less;
    if (left != size) x = loom_emit_slice(v->b, x, d + 2, cut, left, 1);
    pairs[2 * d] = low > 0 ? low : 0;
    pairs[2 * d + 1] = high > 0 ? high : 0;
    w = loom_emit_slice(v->b, w, d + 2, s->phase[d] + s->steps[d] * (places - 1), places,
                        -s->steps[d]);
  }
  if (none) return loom_emit_int(v->b, &type, 0);
  return conv_ints(v, LOOM_OP_CONVOLUTION, (loom_value[]){x, w}, ones, pairs, v->dilation, NULL);
}

/* Phases of the dimensions from `d` on, alternating; the ones before are given. */
static loom_value conv_alternate(conv_phases *s, int d) {
  const conv_call *v = s->v;
  if (d == v->spatial) return conv_phase(s);
  loom_value parts[CONV_MAX_PHASES];
  int64_t steps = s->steps[d];
  s->phase[d] = 0;
  if (steps == 1) return conv_alternate(s, d + 1);
  for (int64_t i = 0; i < steps; i++) {
    s->phase[d] = i;
    parts[i] = conv_alternate(s, d + 1);
    if (parts[i] == LOOM_NO_VALUE) return LOOM_NO_VALUE;
    loom_type type = *loom_emit_type(v->b, parts[i]);
    memmove(type.dims + d + 4, type.dims + d + 3, sizeof *type.dims * (size_t)(type.rank - d - 3));
    type.dims[d + 3] = 1;
    parts[i] = loom_emit_reshape(v->b, parts[i], type.rank + 1, type.dims);
  }
  loom_value joined = loom_emit_concatenate(v->b, parts, (uint32_t)steps, d + 3);
  if (joined == LOOM_NO_VALUE) return joined;
  loom_type type = *loom_emit_type(v->b, joined);
  int64_t size;
  if (!conv_times(v, loom_stride_of_dim(type.dims[d + 2]), steps, &size) ||
      !loom_dim_of_stride(size, &type.dims[d + 2]))
    return LOOM_NO_VALUE;
  memmove(type.dims + d + 3, type.dims + d + 4, sizeof *type.dims * (size_t)(type.rank - d - 4));
  return loom_emit_reshape(v->b, joined, type.rank - 1, type.dims);
}

/* Phases of one dimension whose result has size `to`, the gradient size `size`.
 *
 * There are as many places as `to` needs. Where sizes are symbolic, size = (to + 2 padding - reach
 * - 1) / stride + 1, rounded down, bounds their number from above: a few too many are cut off. */
static bool conv_steps(conv_phases *s, int d) {
  const conv_call *v = s->v;
  int64_t padding = v->padding[d], steps = v->strides[d];
  int64_t to = loom_stride_of_dim(s->to.dims[d + 2]);
  int64_t reach = v->dilation[d] * (s->window.dims[d + 2] - 1);
  bool symbolic = LOOM_STRIDE_IS_SYM(to) || LOOM_DIM_IS_SYM(s->from.dims[d + 2]);
  if (v->dilation[d] > 1 && steps > 1) { /* rare: multiplies zeros */
    if (symbolic) return fx_decline(v->c, "strides and dilation of a symbolic size");
    s->gradient = conv_spread(v, s->gradient, d + 2, steps);
    if (s->gradient == LOOM_NO_VALUE) return false;
    s->from = *loom_emit_type(v->b, s->gradient);
    steps = 1;
  }
  int64_t size = loom_stride_of_dim(s->from.dims[d + 2]);
  s->steps[d] = steps;
  s->first[d] = padding / steps;
  s->extra[d] = symbolic ? conv_floor(steps - 1 + reach - padding, steps) - s->first[d]
                         : conv_ceil(to + padding, steps) - s->first[d] - size;
  return conv_plus(v, size, s->extra[d], &s->count[d]);
}

/* What the alternating phases have before and behind the result. */
static loom_value conv_cut(const conv_phases *s, int d, loom_value out) {
  int64_t start = s->v->padding[d] - s->first[d] * s->steps[d];
  return loom_emit_slice(s->v->b, out, d + 2, start, loom_stride_of_dim(s->to.dims[d + 2]), 1);
}

/* Do windows lie side by side, so that each element of the input is under at most one? */
static bool conv_is_tiled(const conv_call *v, const loom_type *from, const loom_type *window,
                          const loom_type *to) {
  bool tiled = v->groups == 1;
  for (int d = 0; d < v->spatial; d++)
    tiled &= v->strides[d] == window->dims[d + 2] && v->dilation[d] == 1 && v->padding[d] == 0 &&
             !LOOM_DIM_IS_SYM(from->dims[d + 2]) && !LOOM_DIM_IS_SYM(to->dims[d + 2]);
  return tiled;
}

/* The gradient is then a product with the weights (O, I, places of the window): (N, O, windows) to
 * (N, windows, I, places). What lies behind the last window gets 0. */
static loom_value conv_tiles(const conv_call *v, loom_value gradient, loom_value w,
                             const loom_type *to) {
  const loom_type from = *loom_emit_type(v->b, gradient), window = *loom_emit_type(v->b, w);
  int64_t perm[LOOM_MAX_RANK] = {0, v->spatial + 1};
  int64_t low[LOOM_MAX_RANK] = {0}, high[LOOM_MAX_RANK] = {0};
  loom_dim dims[LOOM_MAX_RANK] = {to->dims[0], to->dims[1]};
  bool whole = true;
  for (int d = 0; d < v->spatial; d++) {
    perm[2 + 2 * d] = 1 + d;
    perm[3 + 2 * d] = v->spatial + 2 + d;
    dims[d + 2] = from.dims[d + 2] * window.dims[d + 2];
    high[d + 2] = to->dims[d + 2] - dims[d + 2];
    whole &= high[d + 2] == 0;
  }
  loom_value out = loom_emit_dot(v->b, gradient, w, 0, 1, 0);
  out = loom_emit_reshape(v->b, loom_emit_transpose(v->b, out, perm), to->rank, dims);
  return whole ? out : loom_emit_pad_zeros(v->b, out, low, high);
}

/* The gradient of a convolution's input of type `to`. */
static loom_value conv_input_gradient(const conv_call *v, loom_value gradient, loom_value w,
                                      const loom_type *to) {
  if (gradient == LOOM_NO_VALUE || w == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  conv_phases s = {.v = v, .gradient = gradient, .to = *to};
  int64_t phases = 1;
  s.to.dtype = loom_emit_type(v->b, w)->dtype;
  if (conv_is_tiled(v, loom_emit_type(v->b, gradient), loom_emit_type(v->b, w), to))
    return conv_tiles(v, gradient, w, to);
  s.weights = conv_exchange(v, w);
  if (s.weights == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  s.from = *loom_emit_type(v->b, s.gradient);
  s.window = *loom_emit_type(v->b, s.weights);
  for (int d = 0; d < v->spatial; d++) {
    if (!conv_steps(&s, d)) return LOOM_NO_VALUE;
    phases *= s.steps[d];
  }
  if (phases > CONV_MAX_PHASES) return fx_decline(v->c, "a long stride"), LOOM_NO_VALUE;
  loom_value out = conv_alternate(&s, 0);
  for (int d = 0; d < v->spatial && out != LOOM_NO_VALUE; d++)
    out = conv_cut(&s, d, out);
  return out;
}

/* Has each channel weights of its own? */
static bool conv_is_depthwise(const conv_call *v, const loom_type *types) {
  return v->groups == types[1].dims[1] && v->groups == types[2].dims[0] && types[2].dims[1] == 1;
}

/* Is it that of a depthwise convolution, for which one kernel makes the gradient of the input? The
 * phases of a stride would be as many kernels, and passes that join them. */
static bool conv_is_spread(const conv_call *v, const loom_type *types) {
  const loom_type *weights = &types[2];
  if (v->c->im->place != TORCH_CPU || v->spatial != 2 || !conv_is_depthwise(v, types) ||
      v->groups < CONV_SPREAD_CHANNELS || (v->strides[0] == 1 && v->strides[1] == 1) ||
      v->strides[1] > CONV_SPREAD_STRIDE)
    return false;
  for (int d = 0; d < 2; d++)
    if (v->dilation[d] != 1 || LOOM_DIM_IS_SYM(types[0].dims[d + 2]) ||
        LOOM_DIM_IS_SYM(types[1].dims[d + 2]) || weights->dims[d + 2] > CONV_SPREAD_WINDOW)
      return false;
  return fx_is_channels_last(v->c, 0);
}

/* Half floats are read as they are for the gradient of the weights. But where channels lie side by
 * side and several of them have weights in common, they are first converted and put in C order: to
 * pick single pixels takes longer. */
static bool conv_keeps_halves(const conv_call *v, const loom_type *types, int i) {
  return v->c->im->place == TORCH_CPU &&
         (conv_is_depthwise(v, types) || !fx_is_channels_last(v->c, i));
}

static loom_value conv_spread_gradient(const conv_call *v, loom_value gradient, loom_value w,
                                       const loom_type *to) {
  int64_t pairs[2 * CONV_SPATIAL];
  conv_pairs(v, pairs);
  loom_attr attrs[4] = {{.kind = LOOM_ATTR_I64S, .ints = (int64_t *)v->strides, .count = 2},
                        {.kind = LOOM_ATTR_I64S, .ints = pairs, .count = 4},
                        {.kind = LOOM_ATTR_I64S, .ints = (int64_t *)v->dilation, .count = 2},
                        {.kind = LOOM_ATTR_I64S, .ints = (int64_t *)to->dims + 2, .count = 2}};
  return loom_emit(v->b, LOOM_OP_CONVOLUTION_INPUT, (loom_value[]){gradient, w}, 2, attrs, 4, NULL,
                   0);
}

/* ---- the gradient of the weights ---- */

/* Of weights of type `to`, from a convolution's input and the gradient of its result. */
static loom_value conv_weight_gradient(const conv_call *v, loom_value x, loom_value gradient,
                                       const loom_type *to) {
  if (x == LOOM_NO_VALUE || gradient == LOOM_NO_VALUE) return LOOM_NO_VALUE;
  const loom_type in = *loom_emit_type(v->b, x), out = *loom_emit_type(v->b, gradient);
  conv_call line = *v;
  int64_t pairs[2 * CONV_SPATIAL], pixels = 1;
  bool points = true; /* windows of one place, one after another: the pixels are one line */
  conv_pairs(v, pairs);
  for (int d = 0; d < v->spatial; d++) {
    points &= to->dims[d + 2] == 1 && v->strides[d] == 1 && v->padding[d] == 0;
    if (!conv_times(v, pixels, loom_stride_of_dim(in.dims[d + 2]), &pixels)) return LOOM_NO_VALUE;
  }
  loom_dim all;
  if (!loom_dim_of_stride(pixels, &all)) return LOOM_NO_VALUE;
  if (points && v->spatial > 1) {
    line.spatial = 1;
    x = loom_emit_reshape(v->b, x, 3, (loom_dim[]){in.dims[0], in.dims[1], all});
    gradient = loom_emit_reshape(v->b, gradient, 3, (loom_dim[]){out.dims[0], out.dims[1], all});
  }
  loom_value made = conv_ints(&line, LOOM_OP_CONVOLUTION_GRADIENT, (loom_value[]){x, gradient},
                              v->strides, pairs, v->dilation, to->dims + 2);
  return loom_emit_reshape(v->b, made, to->rank, to->dims);
}

/* ---- the ops ---- */

/* convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups).
 */
bool aten_convolution(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  const loom_type type = c->types[0];
  conv_call call;
  if (!conv_read(c, 3, &type, &call)) return false;
  if (fx_is_empty(&type)) return fx_decline(c, "a size of 0");
  for (int d = 0; d < call.spatial && call.transposed && loom_dtype_is_half(type.dtype); d++)
    if (call.strides[d] > 1 && call.dilation[d] > 1)
      return fx_decline(c, "half floats that torch rounds on the way");
  loom_value x = conv_operand(c, 0, &type), w = conv_operand(c, 1, &type);
  if (x == LOOM_NO_VALUE || w == LOOM_NO_VALUE) return false;
  const loom_type from = *loom_emit_type(b, x);
  if (fx_is_empty(&from)) return fx_decline(c, "a size of 0");
  if (!fx_sizes_known(loom_emit_type(b, w), 0)) return fx_decline(c, "weights of a symbolic size");
  loom_value v =
      call.transposed ? conv_input_gradient(&call, x, w, &type) : conv_forward(&call, x, w);
  if (v == LOOM_NO_VALUE) return false;
  if (fx_has(c, 2)) {
    loom_value bias = conv_operand(c, 2, &type);
    int64_t channel[1] = {1};
    bias = loom_emit_broadcast(b, bias, type.rank, type.dims, channel);
    v = loom_emit2(b, LOOM_OP_ADD, v, bias);
  }
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* Which of the three gradients are wanted. */
static bool conv_mask(fx_call *c, bool *mask) {
  PyObject *list = PySequence_Fast(c->args[10], "a mask");
  bool good = list && PySequence_Fast_GET_SIZE(list) == 3;
  for (int i = 0; i < 3 && good; i++)
    mask[i] = PyObject_IsTrue(PySequence_Fast_GET_ITEM(list, i)) > 0 && c->present[i];
  error_drop();
  Py_XDECREF(list);
  return good || fx_decline(c, "an unknown mask");
}

/* convolution_backward(grad_output, input, weight, bias_sizes, stride, padding, dilation,
 * transposed, output_padding, groups, output_mask). */
bool aten_convolution_backward(fx_call *c, loom_value *out) {
  conv_call call;
  bool mask[3];
  loom_value values[3] = {fx_tensor(c, 0), fx_tensor(c, 1), fx_tensor(c, 2)}, given[3];
  loom_type types[3];
  for (int i = 0; i < 3; i++) {
    if (values[i] == LOOM_NO_VALUE) return false;
    types[i] = *loom_emit_type(c->b, values[i]);
    if (fx_is_empty(&types[i])) return fx_decline(c, "a size of 0");
    given[i] = values[i];
    values[i] = conv_operand(c, i, &types[i]);
  }
  if (!fx_sizes_known(&types[2], 0)) return fx_decline(c, "weights of a symbolic size");
  if (!conv_read(c, 4, &types[1], &call) || !conv_mask(c, mask)) return false;
  loom_value gradient = values[0], w = values[2];
  bool spread = !call.transposed && conv_is_spread(&call, types);
  if (mask[0])
    out[0] = call.transposed ? conv_forward(&call, gradient, w)
             : spread        ? conv_spread_gradient(&call, gradient, w, &types[1])
                             : conv_input_gradient(&call, gradient, w, &types[1]);
  for (int i = 0; i < 2; i++)
    if (!conv_keeps_halves(&call, types, i)) given[i] = values[i];
  if (mask[1])
    out[1] = call.transposed ? conv_weight_gradient(&call, given[0], given[1], &types[2])
                             : conv_weight_gradient(&call, given[1], given[0], &types[2]);
  if (mask[2])
    out[2] = loom_emit_reduce(c->b, "sum", gradient, ((1u << types[0].rank) - 1) & ~2u, false);
  for (uint32_t i = 0; i < 3; i++) {
    if (!mask[i]) continue;
    if (out[i] == LOOM_NO_VALUE) return false;
    out[i] = fx_round(c, i, out[i]);
  }
  return true;
}
