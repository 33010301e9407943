/* Interpolation of images, lines and volumes (upsample_*), and its gradients.
 *
 * A result is computed along one axis after the other, each time as a sum of products: a place of
 * the result's axis reads one element of the operand (nearest), two (linear) or four (cubic). These
 * elements are its taps, and each has a weight. Positions and weights of taps follow from the place
 * alone, so they are vectors as long as the axis. The gradient is the reverse: an element of the
 * operand sums the gradients of the places that it is a tap of. These places lie side by side. As
 * many as the ratio of the sizes allows are looked at, and places that do not have the element
 * among their taps are left out.
 *
 * Formulas: aten/src/ATen/native/UpSample.h. Sizes may be symbolic; a gradient needs the ratio. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/fx.h"
#include "frontend/torch/fx_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

#define RESAMPLE_MAX_PLACES 96 /* that a gradient looks at along an axis; else through torch */
#define RESAMPLE_MAX_AXES 3
#define RESAMPLE_MAX_TAPS 4

typedef enum resample_kind {
  RESAMPLE_NEAREST,
  RESAMPLE_NEAREST_EXACT, /* as if places were areas */
  RESAMPLE_LINEAR,
  RESAMPLE_CUBIC
} resample_kind;

typedef struct resample_axis {
  resample_kind kind;
  int axis;
  int64_t in, out;  /* elements of what is interpolated and of the result; maybe symbolic numbers */
  bool corners;     /* the first and last places are the first and last elements */
  double factor;    /* out / in as the call tells it, or 0: by the sizes */
  loom_dtype dtype; /* of the computation */
} resample_axis;

/* ---- lines ---- */

typedef struct resample_line {
  fx_call *c;
  loom_emitter *b;
  const resample_axis *a;
  loom_type ints, floats; /* [n] */
} resample_line;

static resample_line line_along(fx_call *c, const resample_axis *a, int64_t size) {
  resample_line l = {.c = c, .b = c->b, .a = a, .ints = {.dtype = LOOM_I64, .rank = 1}};
  if (!loom_dim_of_stride(size, &l.ints.dims[0])) loom_emit_fail(c->b, "a size is too complicated");
  l.floats = l.ints;
  l.floats.dtype = a->dtype;
  return l;
}

static loom_value line_float(resample_line *l, double x) {
  return loom_emit_float(l->b, &l->floats, x);
}

static loom_value line_number(resample_line *l, int64_t x) {
  return fx_number_value(l->c, &l->ints, x);
}

static loom_value line_add(resample_line *l, loom_value v, double x) {
  return loom_emit2(l->b, LOOM_OP_ADD, v, line_float(l, x));
}

static loom_value line_times(resample_line *l, loom_value v, double x) {
  return loom_emit2(l->b, LOOM_OP_MUL, v, line_float(l, x));
}

/* `v` (ints) within the elements of an axis of this size. */
static loom_value line_clamped(resample_line *l, loom_value v, int64_t size) {
  loom_value last = loom_emit2(l->b, LOOM_OP_SUB, line_number(l, size), line_number(l, 1));
  v = loom_emit2(l->b, LOOM_OP_MIN, v, last);
  return loom_emit2(l->b, LOOM_OP_MAX, v, line_number(l, 0));
}

/* How many elements one place goes on by. */
static loom_value line_scale(resample_line *l) {
  const resample_axis *a = l->a;
  if (a->factor > 0 && !a->corners) {
    double scale = 1 / a->factor;
    return line_float(l, a->dtype == LOOM_F64 && a->kind >= RESAMPLE_LINEAR ? scale : (float)scale);
  }
  if (a->corners && a->out == 1) return line_float(l, 0);
  loom_value in = loom_emit_convert(l->b, line_number(l, a->in), a->dtype);
  loom_value out = loom_emit_convert(l->b, line_number(l, a->out), a->dtype);
  if (a->corners) in = line_add(l, in, -1), out = line_add(l, out, -1);
  return loom_emit2(l->b, LOOM_OP_DIV, in, out);
}

/* Where the places `own` (ints) lie among the elements. */
static loom_value line_source(resample_line *l, loom_value own) {
  const resample_axis *a = l->a;
  loom_value v = loom_emit_convert(l->b, own, a->dtype), scale = line_scale(l);
  bool centers = a->kind >= RESAMPLE_LINEAR && !a->corners;
  if (centers || a->kind == RESAMPLE_NEAREST_EXACT) v = line_add(l, v, 0.5);
  v = loom_emit2(l->b, LOOM_OP_MUL, v, scale);
  if (centers) v = line_add(l, v, -0.5);
  if (centers && a->kind == RESAMPLE_LINEAR) v = loom_emit2(l->b, LOOM_OP_MAX, v, line_float(l, 0));
  return v;
}

typedef struct resample_taps {
  int count;
  loom_value at[RESAMPLE_MAX_TAPS];     /* ints */
  loom_value weight[RESAMPLE_MAX_TAPS]; /* of nearest: none */
} resample_taps;

/* The cubic convolution's parts, for distances up to 1 and up to 2. */
#define CUBIC_A -0.75

static loom_value line_cubic_near(resample_line *l, loom_value x) {
  loom_value v = line_add(l, line_times(l, x, CUBIC_A + 2), -(CUBIC_A + 3));
  v = loom_emit2(l->b, LOOM_OP_MUL, loom_emit2(l->b, LOOM_OP_MUL, v, x), x);
  return line_add(l, v, 1);
}

static loom_value line_cubic_far(resample_line *l, loom_value x) {
  loom_value v = line_add(l, line_times(l, x, CUBIC_A), -5 * CUBIC_A);
  v = line_add(l, loom_emit2(l->b, LOOM_OP_MUL, v, x), 8 * CUBIC_A);
  return line_add(l, loom_emit2(l->b, LOOM_OP_MUL, v, x), -4 * CUBIC_A);
}

static void line_cubic_weights(resample_line *l, loom_value part, loom_value rest,
                               resample_taps *taps) {
  taps->weight[0] = line_cubic_far(l, line_add(l, part, 1));
  taps->weight[1] = line_cubic_near(l, part);
  taps->weight[2] = line_cubic_near(l, rest);
  taps->weight[3] = line_cubic_far(l, line_add(l, rest, 1));
}

/* The taps of the places `own` (ints). */
static resample_taps line_taps(resample_line *l, loom_value own) {
  static const int counts[] = {1, 1, 2, 4};
  const resample_axis *a = l->a;
  loom_emitter *b = l->b;
  resample_taps taps = {.count = counts[a->kind]};
  loom_value source = line_source(l, own);
  loom_value first = loom_emit_convert(b, loom_emit1(b, LOOM_OP_FLOOR, source), LOOM_I64);
  loom_value last = loom_emit2(b, LOOM_OP_SUB, line_number(l, a->in), line_number(l, 1));
  first = loom_emit2(b, LOOM_OP_MIN, first, last);
  for (int k = 0; k < taps.count; k++) {
    int64_t shift = a->kind == RESAMPLE_CUBIC ? k - 1 : k;
    taps.at[k] = loom_emit2(b, LOOM_OP_ADD, first, line_number(l, shift));
    taps.at[k] = line_clamped(l, taps.at[k], a->in);
  }
  if (taps.count == 1) return taps;
  loom_value part = loom_emit2(b, LOOM_OP_SUB, source, loom_emit_convert(b, first, a->dtype));
  part = loom_emit2(b, LOOM_OP_MIN, loom_emit2(b, LOOM_OP_MAX, part, line_float(l, 0)),
                    line_float(l, 1));
  loom_value rest = loom_emit2(b, LOOM_OP_SUB, line_float(l, 1), part);
  if (a->kind == RESAMPLE_CUBIC) {
    line_cubic_weights(l, part, rest, &taps);
  } else {
    taps.weight[0] = rest;
    taps.weight[1] = part;
  }
  return taps;
}

/* ---- forward ---- */

static loom_value resample_along(fx_call *c, loom_value v, const resample_axis *a) {
  loom_emitter *b = c->b;
  resample_line l = line_along(c, a, a->out);
  resample_taps taps = line_taps(&l, loom_emit_iota(b, &l.ints, 0));
  loom_value sum = LOOM_NO_VALUE;
  for (int k = 0; k < taps.count && v != LOOM_NO_VALUE; k++) {
    loom_value taken = fx_take_along(c, v, a->axis, taps.at[k]);
    if (taken == LOOM_NO_VALUE || taps.count == 1) return taken;
    const loom_type type = *loom_emit_type(b, taken);
    loom_value weight = fx_spread_line(c, taps.weight[k], a->axis, &type);
    taken = loom_emit2(b, LOOM_OP_MUL, taken, weight);
    sum = k ? loom_emit2(b, LOOM_OP_ADD, sum, taken) : taken;
  }
  return sum;
}

/* ---- gradients ---- */

/* Places that may have an element among their taps: how many, and elements from there to the first
 * of them; infinite when it is the first of all. */
static bool resample_reach(fx_call *c, const resample_axis *a, double *scale, double *before,
                           int64_t *places) {
  static const double reaches[] = {0, 0, 1, 2}, spans[] = {1, 1, 2, 4};
  bool known = !LOOM_STRIDE_IS_SYM(a->in) && !LOOM_STRIDE_IS_SYM(a->out);
  if (!known && (a->corners || a->factor <= 0))
    return fx_decline(c, "a gradient of sizes whose ratio is unknown");
  *scale = a->corners      ? a->out > 1 ? (double)(a->in - 1) / (double)(a->out - 1) : 1
           : a->factor > 0 ? 1 / a->factor
                           : (double)a->in / (double)a->out;
  *before = reaches[a->kind];
  double count = ceil(spans[a->kind] / *scale) + 3;
  if (known && count >= (double)a->out) count = (double)a->out, *before = INFINITY; /* all */
  if (!(count <= RESAMPLE_MAX_PLACES)) return fx_decline(c, "an interpolation by a large factor");
  *places = (int64_t)count;
  return true;
}

/* The first place that may have each element among its taps. */
static loom_value resample_first(resample_line *l, double scale, double before) {
  const resample_axis *a = l->a;
  bool centers = a->kind >= RESAMPLE_LINEAR && !a->corners;
  if (isinf(before)) return line_number(l, 0);
  loom_value v = loom_emit_convert(l->b, loom_emit_iota(l->b, &l->ints, 0), a->dtype);
  v = line_add(l, v, (centers ? 0.5 : 0) - before);
  v = line_times(l, v, 1 / scale);
  if (centers || a->kind == RESAMPLE_NEAREST_EXACT) v = line_add(l, v, -0.5);
  v = loom_emit_convert(l->b, loom_emit1(l->b, LOOM_OP_FLOOR, v), LOOM_I64);
  return loom_emit2(l->b, LOOM_OP_SUB, v, line_number(l, 1)); /* the division was rounded */
}

/* What the gradients at place `at` count for each element, and which do. */
static loom_value resample_share(resample_line *l, loom_value at, loom_value *counts) {
  loom_emitter *b = l->b;
  loom_value own = loom_emit_iota(b, &l->ints, 0), share = LOOM_NO_VALUE;
  loom_value inside = loom_emit2(b, LOOM_OP_AND, loom_emit_compare(b, "ge", at, line_number(l, 0)),
                                 loom_emit_compare(b, "lt", at, line_number(l, l->a->out)));
  resample_taps taps = line_taps(l, at);
  for (int k = 0; k < taps.count; k++) {
    loom_value here = loom_emit_compare(b, "eq", taps.at[k], own);
    loom_value weight = taps.count == 1 ? line_float(l, 1) : taps.weight[k];
    weight = loom_emit_select(b, here, weight, line_float(l, 0));
    share = k ? loom_emit2(b, LOOM_OP_ADD, share, weight) : weight;
    *counts = k ? loom_emit2(b, LOOM_OP_OR, *counts, here) : here;
  }
  *counts = loom_emit2(b, LOOM_OP_AND, *counts, inside);
  return share;
}

static loom_value resample_back(fx_call *c, loom_value v, const resample_axis *a) {
  loom_emitter *b = c->b;
  resample_line l = line_along(c, a, a->in);
  double scale = 1, before = 0;
  int64_t places = 0;
  if (a->in == 1) return loom_emit_reduce(b, "sum", v, 1u << a->axis, true);
  if (!resample_reach(c, a, &scale, &before, &places)) return LOOM_NO_VALUE;
  loom_value first = resample_first(&l, scale, before), sum = LOOM_NO_VALUE;
  for (int64_t j = 0; j < places && v != LOOM_NO_VALUE; j++) {
    loom_value at = loom_emit2(b, LOOM_OP_ADD, first, line_number(&l, j)), counts = LOOM_NO_VALUE;
    loom_value share = resample_share(&l, at, &counts);
    loom_value taken = fx_take_along(c, v, a->axis, at);
    if (taken == LOOM_NO_VALUE) return taken;
    const loom_type type = *loom_emit_type(b, taken);
    if (a->kind >= RESAMPLE_LINEAR)
      taken = loom_emit2(b, LOOM_OP_MUL, taken, fx_spread_line(c, share, a->axis, &type));
    counts = fx_spread_line(c, counts, a->axis, &type);
    taken = loom_emit_select(b, counts, taken, loom_emit_float(b, &type, 0));
    sum = j ? loom_emit2(b, LOOM_OP_ADD, sum, taken) : taken;
  }
  return sum;
}

/* ---- calls ---- */

typedef struct resample_call {
  resample_axis axes[RESAMPLE_MAX_AXES];
  int count;
} resample_call;

/* Does a factor of the call say what the sizes say? Where equal sizes have another one than 1, some
 * of eager torch's kernels look at it and some do not; those of linear ones never do. Nor does
 * "nearest" where the size is doubled. */
static bool resample_factor_fits(fx_call *c, const resample_axis *a) {
  double in = (double)fx_hint(c->im, a->in), out = (double)fx_hint(c->im, a->out);
  if (a->factor == 0 || a->factor == 1 || a->corners) return true;
  if (a->kind == RESAMPLE_NEAREST && out == 2 * in && a->factor != 2) return false;
  return fabs(in * a->factor - out) <= 1 && (a->kind == RESAMPLE_LINEAR || in != out);
}

/* `text` is the kind ("n", "e", "l", "c") and the number of axes; arguments: the operand, sizes (of
 * a gradient two lists), align_corners (of "l" and "c"), a factor for each axis. */
static bool resample_read(fx_call *c, resample_call *r, const loom_type *from, const loom_type *to,
                          bool gradient) {
  const char kinds[] = "nelc";
  int at = gradient ? 3 : 2;
  resample_axis plain = {.kind = (resample_kind)(strchr(kinds, c->text[0]) - kinds),
                         .dtype = fx_compute_dtype(from->dtype)};
  if (!loom_dtype_is_float(from->dtype) && (gradient || plain.kind >= RESAMPLE_LINEAR))
    return fx_decline(c, "integers");
  if (!loom_dtype_is_float(plain.dtype) || plain.kind < RESAMPLE_LINEAR) plain.dtype = LOOM_F32;
  if (plain.kind >= RESAMPLE_LINEAR && !fx_bool(c, at++, &plain.corners)) return false;
  r->count = c->text[1] - '0';
  if (fx_is_empty(from) || fx_is_empty(to)) return fx_decline(c, "a size of 0");
  for (int d = 0; d < r->count; d++) {
    resample_axis *a = &r->axes[d];
    *a = plain;
    a->axis = from->rank - r->count + d;
    a->in = loom_stride_of_dim(from->dims[a->axis]);
    a->out = loom_stride_of_dim(to->dims[a->axis]);
    if (fx_has(c, at + d) && !fx_double(c, at + d, &a->factor)) return false;
    if (!resample_factor_fits(c, a)) return fx_decline(c, "a factor that is not that of the sizes");
  }
  return true;
}

/* ---- blocks ---- */

/* Is the nearest element of place i element i / block, as torch computes it? The block, or 0. */
static int64_t resample_block(const resample_axis *a) {
  if (a->kind >= RESAMPLE_LINEAR || LOOM_STRIDE_IS_SYM(a->in) || LOOM_STRIDE_IS_SYM(a->out))
    return 0;
  int64_t block = a->out / a->in;
  if (block < 2 || block * a->in != a->out || a->out > 1 << 20) return 0;
  float scale = a->factor > 0 ? (float)(1 / a->factor) : (float)a->in / (float)a->out;
  float shift = a->kind == RESAMPLE_NEAREST_EXACT ? 0.5F : 0;
  for (int64_t i = 0; i < a->out; i++)
    if (floorf(((float)i + shift) * scale) != (float)(i / block)) return 0;
  return block;
}

/* The axes whose elements become blocks, all at once: elements are repeated, or the gradients of
 * each block are summed. These axes are done then. */
static loom_value resample_blocks(fx_call *c, loom_value v, resample_call *r, bool gradient) {
  loom_emitter *b = c->b;
  const loom_type from = *loom_emit_type(b, v);
  int64_t map[LOOM_MAX_RANK];
  loom_dim split[LOOM_MAX_RANK], joined[LOOM_MAX_RANK];
  uint32_t blocks = 0;
  int rank = 0;
  if (v == LOOM_NO_VALUE || from.rank + r->count > LOOM_MAX_RANK) return v;
  for (int i = 0; i < from.rank; i++) {
    resample_axis *a = i < from.rank - r->count ? NULL : &r->axes[i - (from.rank - r->count)];
    int64_t block = a ? resample_block(a) : 0;
    joined[i] = block ? gradient ? a->in : a->out : from.dims[i];
    map[i] = rank;
    split[rank++] = block ? a->in : from.dims[i];
    if (!block) continue;
    blocks |= 1u << rank;
    split[rank++] = block;
    a->out = a->in;
    a->factor = 1;
  }
  if (!blocks) return v;
  if (gradient)
    return loom_emit_reduce(b, "sum", loom_emit_reshape(b, v, rank, split), blocks, false);
  v = loom_emit_broadcast(b, v, rank, split, map);
  return loom_emit_reshape(b, v, from.rank, joined);
}

/* Is each place the element of its number? Linear ones take no notice of a factor then. */
static bool resample_is_identity(const resample_axis *a) {
  bool same = a->in == a->out && !LOOM_STRIDE_IS_SYM(a->in);
  return same && (a->corners || a->kind == RESAMPLE_LINEAR || a->factor == 0 || a->factor == 1);
}

/* Axes that become shorter come first, the outer ones before the inner ones; then those that become
 * longer, the inner ones first: whole rows are combined where there are most of them. */
static loom_value resample_axes(fx_call *c, loom_value v, resample_call *r, bool gradient) {
  loom_value (*step)(fx_call *, loom_value, const resample_axis *) =
      gradient ? resample_back : resample_along;
  v = resample_blocks(c, v, r, gradient);
  for (int pass = 0; pass < 2; pass++)
    for (int i = 0; i < r->count && v != LOOM_NO_VALUE; i++) {
      const resample_axis *a = &r->axes[pass ? r->count - 1 - i : i];
      bool longer = fx_hint(c->im, a->out) >= fx_hint(c->im, a->in);
      if (gradient) longer = !longer;
      if (longer != pass || resample_is_identity(a)) continue;
      v = step(c, v, a);
    }
  return v;
}

/* upsample_*(self, output_size, ...). */
bool aten_resample(fx_call *c, loom_value *out) {
  resample_call r;
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type from = *loom_emit_type(c->b, v);
  if (!resample_read(c, &r, &from, &c->types[0], false)) return false;
  bool sums = r.axes[0].kind >= RESAMPLE_LINEAR;
  v = resample_axes(c, sums ? fx_tensor_as(c, 0, r.axes[0].dtype) : v, &r, false);
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* upsample_*_backward(grad_output, output_size, input_size, ...). */
bool aten_resample_gradient(fx_call *c, loom_value *out) {
  resample_call r;
  loom_value v = fx_tensor(c, 0);
  if (v == LOOM_NO_VALUE) return false;
  const loom_type from = *loom_emit_type(c->b, v);
  if (!resample_read(c, &r, &c->types[0], &from, true)) return false;
  v = resample_axes(c, fx_tensor_as(c, 0, fx_compute_dtype(from.dtype)), &r, true);
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}
