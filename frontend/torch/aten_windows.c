/* Pooling over windows of several sizes: averages with windows cut at the edges, adaptive pools,
 * pools over three axes, and their gradients.
 *
 * The windows of one axis are a rule that gives, for each result position and each place j in its
 * window, a position of the operand and whether the window has it. Averages are separable: one sum
 * of gathers for each axis. A gradient is the same with the rule turned around. Windows of one size
 * are aten_pool.c's, which only slices. Sizes of operand and result may be symbolic, but for
 * adaptive ones. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

#define WINDOWS_MAX_PLACES 81 /* of a window; with larger ones the op runs through torch */
#define WINDOWS_MAX_AXES 3
#define WINDOWS_GAINED 27  /* windows that an element looks at for its gradient, at most */
#define WINDOWS_CHANNELS 8 /* channels that fill a vector */

/* One axis: `in` operand positions, `out` windows (numbers); adaptive ones are cut by the sizes
 * alone. */
typedef struct windows_axis {
  int axis;
  int64_t in, out, kernel, stride, padding, dilation;
  bool adaptive, turned; /* turned: from the windows back to the operand */
  int64_t places;        /* the most in one window */
} windows_axis;

/* ---- integers along one axis ---- */

typedef struct windows_line {
  fx_call *c;
  loom_emitter *b;
  loom_type type; /* int64 [n] */
} windows_line;

static loom_value line_number(windows_line *l, int64_t x) {
  return fx_number_value(l->c, &l->type, x);
}

/* v * scale + shift */
static loom_value line_linear(windows_line *l, loom_value v, int64_t scale, int64_t shift) {
  v = loom_emit2(l->b, LOOM_OP_MUL, v, line_number(l, scale));
  return loom_emit2(l->b, LOOM_OP_ADD, v, line_number(l, shift));
}

static loom_value line_divided(windows_line *l, loom_value v, int64_t by) {
  return loom_emit2(l->b, LOOM_OP_FLOOR_DIV, v, line_number(l, by));
}

/* low <= v < high */
static loom_value line_within(windows_line *l, loom_value low, loom_value v, loom_value high) {
  return loom_emit2(l->b, LOOM_OP_AND, loom_emit_compare(l->b, "le", low, v),
                    loom_emit_compare(l->b, "lt", v, high));
}

/* First operand position of window `i` (a value of numbers), and the one behind the last. */
static void line_window(windows_line *l, const windows_axis *w, loom_value i, loom_value *low,
                        loom_value *high) {
  if (w->adaptive) {
    *low = line_divided(l, line_linear(l, i, w->in, 0), w->out);
    *high = line_divided(l, line_linear(l, i, w->in, w->in + w->out - 1), w->out);
    return;
  }
  *low = line_linear(l, i, w->stride, -w->padding);
  *high = line_linear(l, i, w->stride, (w->kernel - 1) * w->dilation + 1 - w->padding);
}

/* Where place `j` of every window lies, and whether there is such a place. */
static void windows_place(windows_line *l, const windows_axis *w, int64_t j, loom_value *at,
                          loom_value *valid) {
  loom_value own = loom_emit_iota(l->b, &l->type, 0), low, high, zero = line_number(l, 0);
  if (!w->turned) {
    line_window(l, w, own, &low, &high);
    *at = loom_emit2(l->b, LOOM_OP_ADD, low, line_number(l, j * w->dilation));
    *valid = line_within(l, zero, *at, line_number(l, w->in));
    loom_value inside = loom_emit_compare(l->b, "lt", *at, high);
    *valid = loom_emit2(l->b, LOOM_OP_AND, *valid, inside);
    return;
  }
  /* The first window that may reach the position, then the next ones. */
  loom_value first =
      w->adaptive
          ? line_divided(l, line_linear(l, own, w->out, 0), w->in)
          : line_divided(l, line_linear(l, own, 1, w->padding - w->kernel + w->stride), w->stride);
  *at = loom_emit2(l->b, LOOM_OP_ADD, first, line_number(l, j));
  line_window(l, w, *at, &low, &high);
  *valid = loom_emit2(l->b, LOOM_OP_AND, line_within(l, zero, *at, line_number(l, w->out)),
                      line_within(l, low, own, high));
}

static windows_line windows_along(fx_call *c, const windows_axis *w) {
  windows_line l = {.c = c, .b = c->b, .type = {.dtype = LOOM_I64, .rank = 1}};
  if (!loom_dim_of_stride(w->turned ? w->in : w->out, &l.type.dims[0]))
    loom_emit_fail(c->b, "a size is too complicated");
  return l;
}

/* Every window's sum along one axis. */
static loom_value windows_sum(fx_call *c, loom_value v, const windows_axis *w) {
  loom_emitter *b = c->b;
  loom_value sum = LOOM_NO_VALUE;
  windows_line l = windows_along(c, w);
  for (int64_t j = 0; j < w->places && v != LOOM_NO_VALUE; j++) {
    loom_value at, valid;
    windows_place(&l, w, j, &at, &valid);
    loom_value taken = fx_take_along(c, v, w->axis, at);
    if (taken == LOOM_NO_VALUE) return taken;
    const loom_type type = *loom_emit_type(b, taken);
    valid = fx_spread_line(c, valid, w->axis, &type);
    taken = loom_emit_select(b, valid, taken, loom_emit_int(b, &type, 0));
    sum = j ? loom_emit2(b, LOOM_OP_ADD, sum, taken) : taken;
  }
  return sum;
}

/* ---- reading a call -------------------------------------------------------------------------- */

typedef struct windows {
  windows_axis axes[WINDOWS_MAX_AXES];
  int count;
  loom_type from, to;
} windows;

/* The last `count` axes of the operand's and of the result's type. */
static bool windows_sizes(fx_call *c, windows *w, int count, const loom_type *from,
                          const loom_type *to) {
  w->count = count;
  w->from = *from;
  w->to = *to;
  if (from->rank <= count || fx_is_empty(from) || fx_is_empty(to))
    return fx_decline(c, "a size of 0");
  for (int d = 0; d < count; d++) {
    int axis = from->rank - count + d;
    w->axes[d] = (windows_axis){.axis = axis,
                                .in = loom_stride_of_dim(from->dims[axis]),
                                .out = loom_stride_of_dim(to->dims[axis])};
    w->axes[d].dilation = 1;
  }
  return true;
}

/* A list of numbers, one for each axis or one for all; an empty one leaves `out` as it is. */
static bool windows_list(fx_call *c, int i, int count, int64_t *out) {
  int64_t list[WINDOWS_MAX_AXES];
  int given = 1;
  if (!fx_has(c, i)) return true;
  if (PyLong_Check(c->args[i])) {
    if (!fx_int(c, i, list)) return false;
  } else {
    given = fx_ints(c, i, list, WINDOWS_MAX_AXES);
  }
  for (int d = 0; d < count && given > 0; d++)
    out[d] = list[given == count ? d : 0];
  return given >= 0;
}

/* Arguments kernel_size, stride, padding at `at`..., dilation at `dilation` (0: none). */
static bool windows_read(fx_call *c, windows *w, int at, int dilation) {
  int64_t kernel[3] = {1, 1, 1}, stride[3], padding[3] = {0}, dilations[3] = {1, 1, 1};
  if (!windows_list(c, at, w->count, kernel)) return false;
  memcpy(stride, kernel, sizeof stride);
  if (!windows_list(c, at + 1, w->count, stride) || !windows_list(c, at + 2, w->count, padding))
    return false;
  if (dilation && !windows_list(c, dilation, w->count, dilations)) return false;
  for (int d = 0; d < w->count; d++) {
    windows_axis *a = &w->axes[d];
    a->kernel = a->places = kernel[d];
    a->stride = stride[d];
    a->padding = padding[d];
    a->dilation = dilations[d];
  }
  return true;
}

static int64_t windows_low(const windows_axis *a, int64_t i) { return i * a->in / a->out; }
static int64_t windows_high(const windows_axis *a, int64_t i) {
  return ((i + 1) * a->in + a->out - 1) / a->out;
}

static bool windows_adaptive(fx_call *c, windows *w) {
  for (int d = 0; d < w->count; d++) {
    windows_axis *a = &w->axes[d];
    a->adaptive = true;
    if (LOOM_STRIDE_IS_SYM(a->in) || LOOM_STRIDE_IS_SYM(a->out))
      return fx_decline(c, "adaptive windows of a symbolic size");
    for (int64_t i = 0; i < a->out; i++)
      if (windows_high(a, i) - windows_low(a, i) > a->places)
        a->places = windows_high(a, i) - windows_low(a, i);
  }
  return true;
}

/* The rules from the windows back to the operand. */
static void windows_turn(windows *w) {
  for (int d = 0; d < w->count; d++) {
    windows_axis *a = &w->axes[d];
    a->turned = true;
    /* a position is in at most so many windows */
    a->places =
        a->adaptive ? (a->out + a->in - 1) / a->in + 1 : (a->kernel + a->stride - 1) / a->stride;
  }
}

/* ---- averages -------------------------------------------------------------------------------- */

/* How many elements the windows of one axis count: with the padding (`include`), but never what is
 * beyond it. A float line. */
static loom_value windows_count(fx_call *c, const windows_axis *w, bool include, loom_dtype dtype) {
  loom_emitter *b = c->b;
  windows_axis plain = *w;
  plain.turned = false;
  windows_line l = windows_along(c, &plain);
  loom_value low, high, own = loom_emit_iota(b, &l.type, 0);
  line_window(&l, &plain, own, &low, &high);
  int64_t edge = include && !w->adaptive ? w->padding : 0;
  loom_value end = line_linear(&l, line_number(&l, w->in), 1, edge);
  high = loom_emit2(b, LOOM_OP_MIN, high, end);
  low = loom_emit2(b, LOOM_OP_MAX, low, line_number(&l, -edge));
  return loom_emit_convert(b, loom_emit2(b, LOOM_OP_SUB, high, low), dtype);
}

/* `v` (in the shape of the windows) divided by what each window counts, or by the number given. */
static loom_value windows_divided(fx_call *c, loom_value v, const windows *w, bool include,
                                  int64_t divisor) {
  loom_emitter *b = c->b;
  if (v == LOOM_NO_VALUE) return v;
  const loom_type type = *loom_emit_type(b, v);
  if (divisor) return loom_emit2(b, LOOM_OP_DIV, v, loom_emit_int(b, &type, divisor));
  loom_value all = LOOM_NO_VALUE;
  for (int d = 0; d < w->count; d++) {
    loom_value line = windows_count(c, &w->axes[d], include, type.dtype);
    line = fx_spread_line(c, line, w->axes[d].axis, &type);
    all = d ? loom_emit2(b, LOOM_OP_MUL, all, line) : line;
  }
  return loom_emit2(b, LOOM_OP_DIV, v, all);
}

static bool windows_done(fx_call *c, loom_value v, loom_value *out) {
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* Averages take one axis after the other: what counts is the sum of the places. */
static bool windows_small(fx_call *c, const windows *w) {
  int64_t all = 0;
  for (int d = 0; d < w->count; d++)
    all += w->axes[d].places;
  return all <= WINDOWS_MAX_PLACES || fx_decline(c, "a large window");
}

/* Maxima take all places together. */
static bool windows_tiny(fx_call *c, const windows *w) {
  int64_t all = 1;
  for (int d = 0; d < w->count; d++)
    all *= w->axes[d].places;
  return all <= WINDOWS_MAX_PLACES || fx_decline(c, "a large window");
}

static bool windows_average(fx_call *c, const windows *w, bool include, int64_t divisor,
                            loom_value *out) {
  loom_value v = fx_tensor_as(c, 0, fx_compute_dtype(w->from.dtype));
  if (!loom_dtype_is_float(w->from.dtype)) return fx_decline(c, "integers");
  if (!windows_small(c, w)) return false;
  for (int d = w->count - 1; d >= 0; d--)
    v = windows_sum(c, v, &w->axes[d]);
  return windows_done(c, windows_divided(c, v, w, include, divisor), out);
}

/* The gradient (operand 0) of each window goes to all that it counted. */
static bool windows_average_gradient(fx_call *c, windows *w, bool include, int64_t divisor,
                                     loom_value *out) {
  loom_value v = fx_tensor_as(c, 0, fx_compute_dtype(w->from.dtype));
  if (!loom_dtype_is_float(w->from.dtype)) return fx_decline(c, "integers");
  v = windows_divided(c, v, w, include, divisor);
  windows_turn(w);
  if (!windows_small(c, w)) return false;
  for (int d = 0; d < w->count; d++)
    v = windows_sum(c, v, &w->axes[d]);
  return windows_done(c, v, out);
}

static const loom_type *windows_type(fx_call *c, int i) {
  loom_value v = fx_tensor(c, i);
  return v == LOOM_NO_VALUE ? &c->types[0] : loom_emit_type(c->b, v);
}

/* avg_pool2d (`text` "2"), avg_pool3d ("3") and, with the gradient before the operand, their
 * gradients: (self, kernel_size, stride, padding, ceil_mode, count_include_pad, divisor). */
static bool windows_average_call(fx_call *c, bool gradient, loom_value *out) {
  windows w = {0};
  bool include;
  int64_t divisor = 0;
  const loom_type first = *windows_type(c, 0);
  if (!windows_sizes(c, &w, *c->text - '0', gradient ? windows_type(c, 1) : &first,
                     gradient ? &first : &c->types[0]))
    return false;
  if (!windows_read(c, &w, 1 + gradient, 0) || !fx_bool(c, 5 + gradient, &include)) return false;
  if (fx_has(c, 6 + gradient) && !fx_int(c, 6 + gradient, &divisor)) return false;
  return gradient ? windows_average_gradient(c, &w, include, divisor, out)
                  : windows_average(c, &w, include, divisor, out);
}

bool aten_avg_pool_any(fx_call *c, loom_value *out) { return windows_average_call(c, false, out); }
bool aten_avg_pool_gradient(fx_call *c, loom_value *out) {
  return windows_average_call(c, true, out);
}

/* _adaptive_avg_pool2d and 3d(self, output_size). */
bool aten_adaptive_avg_pool_any(fx_call *c, loom_value *out) {
  windows w = {0};
  return windows_sizes(c, &w, *c->text - '0', windows_type(c, 0), &c->types[0]) &&
         windows_adaptive(c, &w) && windows_average(c, &w, false, 0, out);
}

/* _adaptive_avg_pool2d_backward and 3d(grad_output, self). */
bool aten_adaptive_avg_pool_gradient(fx_call *c, loom_value *out) {
  windows w = {0};
  return windows_sizes(c, &w, *c->text - '0', windows_type(c, 1), windows_type(c, 0)) &&
         windows_adaptive(c, &w) && windows_average_gradient(c, &w, false, 0, out);
}

/* ---- maxima ---------------------------------------------------------------------------------- */

typedef struct windows_best {
  loom_value value, at; /* `at`: -1 before anything was met */
} windows_best;

/* The places of axes `d`... of the part `v` of the operand, which lies at `position` (joined) of
 * the axes before, where `valid`: the first largest, NaN before all. */
static void windows_search(fx_call *c, const windows *w, int d, loom_value v, loom_value position,
                           loom_value valid, windows_best *best) {
  loom_emitter *b = c->b;
  const loom_type places = c->types[1];
  if (v == LOOM_NO_VALUE) return;
  if (d == w->count || d == WINDOWS_MAX_AXES) {
    loom_value larger = loom_emit2(b, LOOM_OP_OR, loom_emit_compare(b, "gt", v, best->value),
                                   loom_emit1(b, LOOM_OP_IS_NAN, v));
    loom_value none = loom_emit_compare(b, "lt", best->at, loom_emit_int(b, &places, 0));
    larger = loom_emit2(b, LOOM_OP_AND, valid, loom_emit2(b, LOOM_OP_OR, larger, none));
    best->value = loom_emit_select(b, larger, v, best->value);
    best->at = loom_emit_select(b, larger, position, best->at);
    return;
  }
  const windows_axis *a = &w->axes[d];
  windows_line l = windows_along(c, a);
  for (int64_t j = 0; j < a->places; j++) {
    loom_value at, here;
    windows_place(&l, a, j, &at, &here);
    loom_value taken = fx_take_along(c, v, a->axis, at);
    at = fx_spread_line(c, at, a->axis, &places);
    here = loom_emit_broadcast(b, here, places.rank, places.dims, (int64_t[]){a->axis});
    loom_value next = loom_emit2(b, LOOM_OP_MUL, position, fx_number_value(c, &places, a->in));
    next = loom_emit2(b, LOOM_OP_ADD, next, at);
    windows_search(c, w, d + 1, taken, next, loom_emit2(b, LOOM_OP_AND, valid, here), best);
  }
}

static bool windows_maximum(fx_call *c, const windows *w, loom_value *out) {
  loom_emitter *b = c->b;
  if (!loom_dtype_is_float(w->from.dtype)) return fx_decline(c, "integers");
  if (!windows_tiny(c, w)) return false;
  loom_type bools = c->types[1];
  bools.dtype = LOOM_BOOL;
  windows_best best = {loom_emit_float(b, &c->types[0], -INFINITY),
                       loom_emit_int(b, &c->types[1], -1)};
  windows_search(c, w, 0, fx_tensor(c, 0), loom_emit_int(b, &c->types[1], 0),
                 loom_emit_int(b, &bools, 1), &best);
  out[0] = best.value;
  out[1] = best.at;
  return best.at != LOOM_NO_VALUE;
}

/* adaptive_max_pool2d and 3d(self, output_size): values and positions in the plane. */
bool aten_adaptive_max_pool(fx_call *c, loom_value *out) {
  windows w = {0};
  return windows_sizes(c, &w, *c->text - '0', windows_type(c, 0), &c->types[0]) &&
         windows_adaptive(c, &w) && windows_maximum(c, &w, out);
}

/* max_pool3d_with_indices(self, kernel_size, stride, padding, dilation, ceil_mode). */
bool aten_max_pool_any(fx_call *c, loom_value *out) {
  windows w = {0};
  return windows_sizes(c, &w, *c->text - '0', windows_type(c, 0), &c->types[0]) &&
         windows_read(c, &w, 1, 4) && windows_maximum(c, &w, out);
}

/* ---- gradients of maxima --------------------------------------------------------------------- */

/* What an element gets of the windows that it is in: the gradients of those whose maximum it is.
 * `grad` and `from` (positions of maxima): of the places chosen so far, one for each element. */
typedef struct windows_gain {
  fx_call *c;
  const windows *w;
  loom_value own; /* the position of each element */
  loom_value sum;
  loom_type type; /* of the sum */
} windows_gain;

static void windows_gain_place(windows_gain *g, loom_value grad, loom_value from,
                               loom_value valid) {
  loom_emitter *b = g->c->b;
  loom_value hit = loom_emit_compare(b, "eq", from, g->own);
  if (valid != LOOM_NO_VALUE) hit = loom_emit2(b, LOOM_OP_AND, hit, valid);
  loom_value part = loom_emit_select(b, hit, grad, loom_emit_int(b, &g->type, 0));
  g->sum = g->sum == LOOM_NO_VALUE ? part : loom_emit2(b, LOOM_OP_ADD, g->sum, part);
}

/* Places of axes `d`... by the number of the window. */
static void windows_gain_taken(windows_gain *g, int d, loom_value grad, loom_value from,
                               loom_value valid) {
  loom_emitter *b = g->c->b;
  if (grad == LOOM_NO_VALUE || from == LOOM_NO_VALUE) return;
  if (d == g->w->count || d == WINDOWS_MAX_AXES) {
    windows_gain_place(g, grad, from, valid);
    return;
  }
  const windows_axis *a = &g->w->axes[d];
  windows_line l = windows_along(g->c, a);
  for (int64_t j = 0; j < a->places; j++) {
    loom_value at, here;
    windows_place(&l, a, j, &at, &here);
    loom_value some = fx_take_along(g->c, grad, a->axis, at);
    here = loom_emit_broadcast(b, here, g->type.rank, g->type.dims, (int64_t[]){a->axis});
    if (valid != LOOM_NO_VALUE) here = loom_emit2(b, LOOM_OP_AND, valid, here);
    windows_gain_taken(g, d + 1, some, fx_take_along(g->c, from, a->axis, at), here);
  }
}

/* Places of axes `d`... of windows that go on by one element: slices of padded operands. The first
 * window of an element is the one whose last place it is. */
static void windows_gain_sliced(windows_gain *g, int d, loom_value grad, loom_value from) {
  loom_emitter *b = g->c->b;
  if (d == g->w->count || d == WINDOWS_MAX_AXES) {
    windows_gain_place(g, grad, from, LOOM_NO_VALUE);
    return;
  }
  const windows_axis *a = &g->w->axes[d];
  for (int64_t j = 0; j < a->kernel; j++)
    windows_gain_sliced(g, d + 1, loom_emit_slice(b, grad, a->axis, j * a->dilation, a->in, 1),
                        loom_emit_slice(b, from, a->axis, j * a->dilation, a->in, 1));
}

static loom_value windows_gain_padded(windows_gain *g, loom_value v, double fill) {
  int64_t edge[LOOM_MAX_RANK] = {0};
  loom_type scalar = loom_type_make(loom_emit_type(g->c->b, v)->dtype, 0, NULL);
  for (int d = 0; d < g->w->count; d++) {
    const windows_axis *a = &g->w->axes[d];
    edge[a->axis] = (a->kernel - 1) * a->dilation - a->padding;
  }
  return loom_emit_pad(g->c->b, v, loom_emit_float(g->c->b, &scalar, fill), edge, edge);
}

/* Each window's number of the elements before it is that of its first element, and there are as
 * many windows as begin within the padding: does an element have all places then? */
static bool windows_step_by_one(const windows *w) {
  bool good = true;
  for (int d = 0; d < w->count; d++) {
    const windows_axis *a = &w->axes[d];
    int64_t reach = (a->kernel - 1) * a->dilation;
    bool known = !LOOM_STRIDE_IS_SYM(a->in) && !LOOM_STRIDE_IS_SYM(a->out);
    good &= a->stride == 1 && reach >= a->padding &&
            (!known || a->out == a->in + 2 * a->padding - reach);
  }
  return good;
}

/* Do windows that go on by more than one element have a rule for each axis, and are channels, along
 * which nothing depends on the position, side by side in memory? */
static bool windows_go_along_channels(fx_call *c, const windows *w) {
  bool good = w->from.rank == w->count + 2 && !LOOM_DIM_IS_SYM(w->from.dims[1]) &&
              w->from.dims[1] >= WINDOWS_CHANNELS;
  for (int d = 0; d < w->count; d++)
    good &= w->axes[d].dilation == 1;
  return good && (fx_is_channels_last(c, c->count - 1) || fx_is_channels_last(c, 1));
}

/* The position of each element of a type in its plane. */
static loom_value windows_own(fx_call *c, const windows *w) {
  loom_emitter *b = c->b;
  loom_type type = w->from;
  loom_value own = LOOM_NO_VALUE;
  type.dtype = LOOM_I64;
  for (int d = 0; d < w->count; d++) {
    loom_value at = loom_emit_iota(b, &type, w->axes[d].axis);
    if (d) own = loom_emit2(b, LOOM_OP_MUL, own, fx_number_value(c, &type, w->axes[d].in));
    own = d ? loom_emit2(b, LOOM_OP_ADD, own, at) : at;
  }
  return own;
}

/* The gradient without a scatter, where each element looks at few windows and finds them fast:
 * `out` is LOOM_NO_VALUE where it does not. False: the call was declined. */
static bool windows_gained(fx_call *c, const loom_type *pooled, loom_value *out) {
  windows w = {0};
  int64_t places = 1;
  *out = LOOM_NO_VALUE;
  if (c->count < 4 || c->im->place != TORCH_CPU) return true; /* adaptive windows have no stride */
  if (!windows_sizes(c, &w, *c->text - '0', &c->types[0], pooled) || !windows_read(c, &w, 2, 5))
    return false;
  bool sliced = windows_step_by_one(&w);
  if (!sliced && !windows_go_along_channels(c, &w)) return true;
  windows_turn(&w);
  for (int d = 0; d < w.count; d++)
    places *= sliced ? w.axes[d].kernel : w.axes[d].places;
  if (places > WINDOWS_GAINED) return true;
  windows_gain g = {c, &w, windows_own(c, &w), LOOM_NO_VALUE, w.from};
  g.type.dtype = fx_compute_dtype(w.from.dtype);
  loom_value grad = fx_tensor_as(c, 0, g.type.dtype), from = fx_tensor(c, c->count - 1);
  if (grad == LOOM_NO_VALUE || from == LOOM_NO_VALUE) return false;
  if (sliced)
    windows_gain_sliced(&g, 0, windows_gain_padded(&g, grad, 0), windows_gain_padded(&g, from, -1));
  else
    windows_gain_taken(&g, 0, grad, from, LOOM_NO_VALUE);
  *out = g.sum;
  return true;
}

/* Gradients of maxima (`text`: axes): operand 0 is added at the positions of the last argument. */
bool aten_max_pool_gradient(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type type = c->types[0];
  const loom_type pooled = *windows_type(c, 0);
  loom_value gained = LOOM_NO_VALUE;
  if (!windows_gained(c, &pooled, &gained)) return false;
  if (gained != LOOM_NO_VALUE) return windows_done(c, gained, out);
  uint32_t axes = (uint32_t)((1 << (*c->text - '0')) - 1) << (type.rank - (*c->text - '0'));
  int64_t plane, cut, planes, elements; /* numbers */
  loom_dim flat[2], all;
  if (fx_is_empty(&type) || fx_is_empty(&pooled)) return fx_decline(c, "a size of 0");
  if (!fx_product(c, &type, axes, &plane) || !fx_product(c, &pooled, axes, &cut) ||
      !fx_product(c, &type, ~axes, &planes) || !fx_product(c, &type, ~0u, &elements))
    return false;
  if (!loom_dim_of_stride(planes, &flat[0]) || !loom_dim_of_stride(cut, &flat[1]) ||
      !loom_dim_of_stride(elements, &all))
    return fx_decline(c, "a size is too complicated");
  loom_type places = loom_type_make(LOOM_I64, 2, flat);
  loom_value base =
      loom_emit2(b, LOOM_OP_MUL, loom_emit_iota(b, &places, 0), fx_number_value(c, &places, plane));
  loom_value at = loom_emit_reshape(b, fx_tensor(c, c->count - 1), 2, flat);
  at = loom_emit2(b, LOOM_OP_ADD, at, base);
  type.dtype = fx_compute_dtype(type.dtype);
  loom_type line = loom_type_make(type.dtype, 1, &all);
  loom_value grad = loom_emit_reshape(b, fx_tensor_as(c, 0, type.dtype), 2, flat);
  loom_attr attrs[2] = {{.kind = LOOM_ATTR_I64, .i = 0}, {.kind = LOOM_ATTR_STR, .str = "add"}};
  loom_value operands[3] = {loom_emit_int(b, &line, 0), at, grad};
  loom_value v = loom_emit(b, LOOM_OP_SCATTER, operands, 3, attrs, 2, NULL, 0);
  return windows_done(c, loom_emit_reshape(b, v, type.rank, type.dims), out);
}
