/* Special functions as graphs of the ops that kernels have.
 *
 * Everything is computed in float64, also for float32: the functions are rare, and this keeps their
 * cancellations harmless. The pieces of a function are Chebyshev series in special.def, cut off
 * where the remaining terms do not change a float32. The piece that counts is selected at the end,
 * so the values of the other pieces outside of their ranges do not matter. Ends of ranges follow
 * torch: poles are infinite or NaN as eager torch has them. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

typedef struct special {
  fx_call *c;
  loom_emitter *b;
  loom_type type; /* float64 in the shape of the result */
  bool narrow;    /* the result is no float64 */
} special;

#define SERIES(NAME, COUNT, ...) static const double special_##NAME##_data[COUNT] = {__VA_ARGS__};
#include "frontend/torch/special.def"
#undef SERIES

typedef struct special_table {
  const double *data;
  int count;
} special_table;
#define TABLE(NAME)                                                                                \
  &(special_table){special_##NAME##_data,                                                          \
                   (int)(sizeof special_##NAME##_data / sizeof *special_##NAME##_data)}

#define PI 3.14159265358979323846

/* ---- short names ---- */

static loom_value num(special *s, double x) { return loom_emit_float(s->b, &s->type, x); }
static loom_value add(special *s, loom_value l, loom_value r) {
  return loom_emit2(s->b, LOOM_OP_ADD, l, r);
}
static loom_value sub(special *s, loom_value l, loom_value r) {
  return loom_emit2(s->b, LOOM_OP_SUB, l, r);
}
static loom_value mul(special *s, loom_value l, loom_value r) {
  return loom_emit2(s->b, LOOM_OP_MUL, l, r);
}
static loom_value quotient(special *s, loom_value l, loom_value r) {
  return loom_emit2(s->b, LOOM_OP_DIV, l, r);
}
static loom_value plus(special *s, loom_value l, double r) { return add(s, l, num(s, r)); }
static loom_value times(special *s, loom_value l, double r) { return mul(s, l, num(s, r)); }
static loom_value over(special *s, double l, loom_value r) { return quotient(s, num(s, l), r); }
static loom_value of(special *s, loom_opcode op, loom_value v) { return loom_emit1(s->b, op, v); }
static loom_value below(special *s, loom_value v, double edge) {
  return loom_emit_compare(s->b, "lt", v, num(s, edge));
}
static loom_value is(special *s, loom_value v, double x) {
  return loom_emit_compare(s->b, "eq", v, num(s, x));
}
static loom_value pick(special *s, loom_value condition, loom_value l, loom_value r) {
  return loom_emit_select(s->b, condition, l, r);
}

/* Clenshaw's recurrence. */
static loom_value series(special *s, const special_table *table, loom_value t) {
  int count = table->count;
  double largest = 0;
  for (int i = 0; i < count; i++)
    largest = fmax(largest, fabs(table->data[i]));
  while (s->narrow && count > 2 && fabs(table->data[count - 1]) < 1e-10 * largest)
    count--;
  loom_value twice = add(s, t, t), b1 = num(s, table->data[count - 1]), b2 = num(s, 0);
  for (int i = count - 2; i > 0; i--) {
    loom_value next = sub(s, plus(s, mul(s, twice, b1), table->data[i]), b2);
    b2 = b1;
    b1 = next;
  }
  return sub(s, plus(s, mul(s, t, b1), table->data[0] / 2), b2);
}

/* c[0] + c[1] x + ... */
static loom_value polynomial(special *s, const double *c, int count, loom_value x) {
  loom_value v = num(s, c[count - 1]);
  for (int i = count - 2; i >= 0; i--)
    v = plus(s, mul(s, v, x), c[i]);
  return v;
}

/* x minus the nearest integer. */
static loom_value fraction(special *s, loom_value x) {
  return sub(s, x, of(s, LOOM_OP_ROUND_EVEN, x));
}

/* ---- error functions ------------------------------------------------------------------------- */

/* erfcx of what is not negative. */
static loom_value erfcx_positive(special *s, loom_value x) {
  loom_value t = sub(s, num(s, 1), over(s, 7.5, plus(s, x, 3.75)));
  return quotient(s, series(s, TABLE(ERFCX), t), plus(s, add(s, x, x), 1));
}

static loom_value special_erfcx(special *s, loom_value x) {
  loom_value v = erfcx_positive(s, of(s, LOOM_OP_ABS, x));
  loom_value e = of(s, LOOM_OP_EXP, mul(s, x, x));
  return pick(s, below(s, x, 0), sub(s, add(s, e, e), v), v);
}

/* exp(-x * x); in float64 the square's rounding error is made up for. */
static loom_value gauss(special *s, loom_value x) {
  if (s->narrow) return of(s, LOOM_OP_EXP, of(s, LOOM_OP_NEG, mul(s, x, x)));
  loom_value high = loom_emit_convert(s->b, x, LOOM_F32);
  high = loom_emit_convert(s->b, high, LOOM_F64);
  high = pick(s, below(s, x, 30), high, x);
  loom_value rest = mul(s, sub(s, high, x), add(s, high, x));
  loom_value e = of(s, LOOM_OP_EXP, of(s, LOOM_OP_NEG, mul(s, high, high)));
  return mul(s, e, pick(s, below(s, x, 30), of(s, LOOM_OP_EXP, rest), num(s, 1)));
}

static loom_value special_erfc(special *s, loom_value x) {
  loom_value size = of(s, LOOM_OP_ABS, x);
  loom_value v = mul(s, gauss(s, size), erfcx_positive(s, size));
  return pick(s, below(s, x, 0), sub(s, num(s, 2), v), v);
}

/* erfinv(x) / x where w = -log(1 - x * x). */
static loom_value erfinv_ratio(special *s, loom_value w, bool tails) {
  loom_value root = of(s, LOOM_OP_SQRT, w);
  loom_value a = series(s, TABLE(ERFINV_A), plus(s, times(s, w, 1 / 3.125), -1));
  loom_value b = series(s, TABLE(ERFINV_B), times(s, plus(s, root, -3.25), 1 / 0.75));
  if (tails) {
    loom_value c = series(s, TABLE(ERFINV_C), times(s, plus(s, root, -6), 0.5));
    loom_value d = series(s, TABLE(ERFINV_D), times(s, plus(s, root, -18), 0.1));
    b = pick(s, below(s, root, 4), b, pick(s, below(s, root, 8), c, d));
  }
  return pick(s, below(s, w, 6.25), a, b);
}

static loom_value special_erfinv(special *s, loom_value x) {
  loom_value one = num(s, 1), w = mul(s, sub(s, one, x), add(s, one, x));
  w = of(s, LOOM_OP_NEG, of(s, LOOM_OP_LOG, w));
  loom_value v = mul(s, x, erfinv_ratio(s, w, !s->narrow));
  loom_value end = is(s, of(s, LOOM_OP_ABS, x), 1);
  return pick(s, end, times(s, x, INFINITY), v);
}

/* The quantile of the normal distribution: sqrt(2) erfinv(2 p - 1), by p itself near 0. */
static loom_value special_ndtri(special *s, loom_value p) {
  loom_value rest = sub(s, num(s, 1), p), x = plus(s, add(s, p, p), -1);
  loom_value w = of(s, LOOM_OP_LOG, times(s, mul(s, p, rest), 4));
  w = of(s, LOOM_OP_NEG, w);
  w = pick(s, below(s, w, 0), num(s, 0), w);
  loom_value v = mul(s, times(s, x, 1.41421356237309504880), erfinv_ratio(s, w, true));
  v = pick(s, is(s, p, 0), num(s, -INFINITY), v);
  return pick(s, is(s, p, 1), num(s, INFINITY), v);
}

/* ---- gamma functions ------------------------------------------------------------------------- */

/* log(gamma(x)) of what is at least 0.5: Stirling's series from 8 on, below that of x + 8. */
static loom_value lgamma_positive(special *s, loom_value x) {
  static const double terms[] = {1.0 / 12,   -1.0 / 360,      1.0 / 1260, -1.0 / 1680,
                                 1.0 / 1188, -691.0 / 360360, 1.0 / 156};
  loom_value small = below(s, x, 8), product = x, z = pick(s, small, plus(s, x, 8), x);
  for (int k = 1; k < 8; k++)
    product = mul(s, product, plus(s, x, k));
  loom_value r = over(s, 1, z);
  loom_value tail = mul(s, r, polynomial(s, terms, 7, mul(s, r, r)));
  loom_value v = mul(s, plus(s, z, -0.5), of(s, LOOM_OP_LOG, z));
  v = add(s, plus(s, sub(s, v, z), 0.91893853320467274178), tail);
  product = pick(s, small, product, num(s, 1));
  return sub(s, v, of(s, LOOM_OP_LOG, product));
}

static loom_value special_lgamma(special *s, loom_value x) {
  loom_value mirrored = below(s, x, 0.5);
  loom_value v = lgamma_positive(s, pick(s, mirrored, sub(s, num(s, 1), x), x));
  loom_value sine = of(s, LOOM_OP_SIN, times(s, fraction(s, x), PI));
  loom_value pole = of(s, LOOM_OP_LOG, over(s, PI, of(s, LOOM_OP_ABS, sine)));
  v = pick(s, mirrored, sub(s, pole, v), v);
  loom_value zero = loom_emit2(s->b, LOOM_OP_OR, is(s, x, 1), is(s, x, 2));
  v = pick(s, zero, num(s, 0), v);
  return pick(s, of(s, LOOM_OP_IS_INF, x), num(s, INFINITY), v);
}

/* The derivative of log(gamma(x)) for x >= 0: ten steps up, then the asymptotic series. */
static loom_value digamma_positive(special *s, loom_value x) {
  static const double terms[] = {1.0 / 12,  -1.0 / 120,     1.0 / 252, -1.0 / 240,
                                 1.0 / 132, -691.0 / 32760, 1.0 / 12};
  loom_value sum = num(s, 0), z = plus(s, x, 10), r = over(s, 1, z), square = mul(s, r, r);
  for (int k = 9; k >= 0; k--)
    sum = add(s, sum, over(s, 1, plus(s, x, k)));
  loom_value v = sub(s, of(s, LOOM_OP_LOG, z), times(s, r, 0.5));
  v = sub(s, v, mul(s, square, polynomial(s, terms, 7, square)));
  return sub(s, v, sum);
}

static loom_value special_digamma(special *s, loom_value x) {
  loom_value negative = below(s, x, 0), r = fraction(s, x);
  loom_value v = digamma_positive(s, pick(s, negative, sub(s, num(s, 1), x), x));
  loom_value tangent = of(s, LOOM_OP_TAN, times(s, r, PI));
  v = pick(s, negative, sub(s, v, over(s, PI, tangent)), v);
  loom_value pole = loom_emit2(s->b, LOOM_OP_AND, negative, is(s, r, 0));
  v = pick(s, pole, num(s, NAN), v);
  return pick(s, is(s, x, 0), over(s, -1, x), v);
}

#define POLYGAMMA_MAX 16

/* The sum of (x + k) ** -(n + 1) over all k >= 0, times n!, for x >= 0. */
static loom_value polygamma_positive(special *s, int n, loom_value x) {
  static const double bernoulli[] = {1.0 / 6,  -1.0 / 30,     1.0 / 42, -1.0 / 30,
                                     5.0 / 66, -691.0 / 2730, 7.0 / 6,  -3617.0 / 510};
  loom_value z = plus(s, x, 16), r = over(s, 1, z), power = num(s, 1), sum = num(s, 0);
  double factorial = tgamma(n + 1.0), terms[8];
  for (int k = 15; k >= 0; k--) {
    loom_value one = over(s, 1, plus(s, x, k)), term = one;
    for (int i = 0; i < n; i++)
      term = mul(s, term, one);
    sum = add(s, sum, term);
  }
  for (int i = 0; i < n; i++)
    power = mul(s, power, r);
  for (int k = 1; k <= 8; k++)
    terms[k - 1] = bernoulli[k - 1] * tgamma(2.0 * k + n) / tgamma(2.0 * k + 1);
  loom_value square = mul(s, r, r);
  loom_value tail = mul(s, square, polynomial(s, terms, 8, square));
  tail = add(s, plus(s, tail, factorial / n), times(s, r, factorial / 2));
  return add(s, times(s, sum, factorial), mul(s, power, tail));
}

/* The n-th derivative of cot(pi x), by c = cot(pi x): each one is -pi (1 + c * c) times that of the
 * polynomial in c before. */
static loom_value cotangent_derivative(special *s, int n, loom_value c) {
  double p[POLYGAMMA_MAX + 2] = {0, 1}, next[POLYGAMMA_MAX + 2];
  for (int k = 0; k < n; k++) {
    memset(next, 0, sizeof next);
    for (int i = 1; i <= k + 1; i++) {
      next[i - 1] -= PI * i * p[i];
      next[i + 1] -= PI * i * p[i];
    }
    memcpy(p, next, sizeof p);
  }
  return polynomial(s, p, n + 2, c);
}

static loom_value polygamma(special *s, int n, loom_value x) {
  if (n == 0) return special_digamma(s, x);
  double sign = n % 2 ? 1 : -1;
  loom_value negative = below(s, x, 0), r = fraction(s, x);
  loom_value y = pick(s, negative, sub(s, num(s, 1), x), x);
  loom_value v = times(s, polygamma_positive(s, n, y), sign);
  loom_value c = over(s, 1, of(s, LOOM_OP_TAN, times(s, r, PI)));
  loom_value mirrored = times(s, cotangent_derivative(s, n, c), PI);
  mirrored = sub(s, times(s, v, -sign), mirrored);
  v = pick(s, negative, mirrored, v);
  loom_value pole = loom_emit2(s->b, LOOM_OP_AND, negative, is(s, r, 0));
  return pick(s, pole, num(s, sign * INFINITY), v);
}

/* ---- modified Bessel functions --------------------------------------------------------------- */

/* exp(-x) I(x) of order 0 or 1 for x >= 0. */
static loom_value bessel_i_scaled(special *s, int order, loom_value x) {
  loom_value near = plus(s, times(s, x, 0.25), -1), far = plus(s, over(s, 16, x), -1);
  loom_value a = series(s, order ? TABLE(I1_A) : TABLE(I0_A), near);
  if (order) a = mul(s, a, x);
  loom_value b = series(s, order ? TABLE(I1_B) : TABLE(I0_B), far);
  b = quotient(s, b, of(s, LOOM_OP_SQRT, x));
  return pick(s, loom_emit_compare(s->b, "le", x, num(s, 8)), a, b);
}

static loom_value bessel_i(special *s, int order, bool scaled, loom_value x) {
  loom_value size = of(s, LOOM_OP_ABS, x), v = bessel_i_scaled(s, order, size);
  if (!scaled) v = mul(s, of(s, LOOM_OP_EXP, size), v);
  return order ? pick(s, below(s, x, 0), of(s, LOOM_OP_NEG, v), v) : v;
}

static loom_value special_i0(special *s, loom_value x) { return bessel_i(s, 0, false, x); }
static loom_value special_i1(special *s, loom_value x) { return bessel_i(s, 1, false, x); }
static loom_value special_i0e(special *s, loom_value x) { return bessel_i(s, 0, true, x); }
static loom_value special_i1e(special *s, loom_value x) { return bessel_i(s, 1, true, x); }

/* K(x) of order 0 or 1, maybe times exp(x). */
static loom_value bessel_k(special *s, int order, bool scaled, loom_value x) {
  loom_value e = of(s, LOOM_OP_EXP, x), square = mul(s, x, x);
  loom_value i = series(s, order ? TABLE(I1_A) : TABLE(I0_A), plus(s, times(s, x, 0.25), -1));
  i = mul(s, order ? mul(s, i, x) : i, e);
  i = mul(s, i, of(s, LOOM_OP_LOG, times(s, x, 0.5)));
  loom_value a = plus(s, times(s, square, 0.5), -1);
  a = series(s, order ? TABLE(K1_A) : TABLE(K0_A), a);
  a = order ? add(s, quotient(s, a, x), i) : sub(s, a, i);
  if (scaled) a = mul(s, a, e);
  loom_value b = plus(s, over(s, 4, x), -1);
  b = quotient(s, series(s, order ? TABLE(K1_B) : TABLE(K0_B), b), of(s, LOOM_OP_SQRT, x));
  if (!scaled) b = mul(s, b, of(s, LOOM_OP_EXP, of(s, LOOM_OP_NEG, x)));
  loom_value v = pick(s, loom_emit_compare(s->b, "le", x, num(s, 2)), a, b);
  return pick(s, is(s, x, 0), num(s, INFINITY), v);
}

static loom_value special_k0(special *s, loom_value x) { return bessel_k(s, 0, false, x); }
static loom_value special_k1(special *s, loom_value x) { return bessel_k(s, 1, false, x); }
static loom_value special_k0e(special *s, loom_value x) { return bessel_k(s, 0, true, x); }
static loom_value special_k1e(special *s, loom_value x) { return bessel_k(s, 1, true, x); }

/* ---- Bessel functions ------------------------------------------------------------------------ */

/* From x = 8 on: J, or Y, from slowly varying parts and the angle x - (2 order + 1) pi / 4. */
static loom_value bessel_far(special *s, int order, bool second, loom_value x) {
  loom_value t = plus(s, over(s, 128, mul(s, x, x)), -1);
  loom_value p = series(s, order ? TABLE(P1) : TABLE(P0), t);
  loom_value q = quotient(s, series(s, order ? TABLE(Q1) : TABLE(Q0), t), x);
  loom_value sine = of(s, LOOM_OP_SIN, x), cosine = of(s, LOOM_OP_COS, x);
  /* sqrt(2) times the cosine and the sine of the angle */
  loom_value c = order ? sub(s, sine, cosine) : add(s, sine, cosine);
  loom_value d = order ? of(s, LOOM_OP_NEG, add(s, sine, cosine)) : sub(s, sine, cosine);
  loom_value v = second ? add(s, mul(s, p, d), mul(s, q, c)) : sub(s, mul(s, p, c), mul(s, q, d));
  return quotient(s, v, of(s, LOOM_OP_SQRT, times(s, x, PI)));
}

static loom_value bessel_near(special *s, int order, loom_value x, loom_value t) {
  loom_value v = series(s, order ? TABLE(J1_A) : TABLE(J0_A), t);
  return order ? mul(s, v, x) : v;
}

static loom_value bessel_j(special *s, int order, loom_value x) {
  loom_value size = of(s, LOOM_OP_ABS, x);
  loom_value t = plus(s, times(s, mul(s, x, x), 1.0 / 32), -1);
  loom_value near = bessel_near(s, order, size, t), far = bessel_far(s, order, false, size);
  loom_value v = pick(s, loom_emit_compare(s->b, "le", size, num(s, 8)), near, far);
  return order ? pick(s, below(s, x, 0), of(s, LOOM_OP_NEG, v), v) : v;
}

static loom_value bessel_y(special *s, int order, loom_value x) {
  loom_value t = plus(s, times(s, mul(s, x, x), 1.0 / 32), -1);
  loom_value near = mul(s, of(s, LOOM_OP_LOG, x), bessel_near(s, order, x, t));
  if (order) near = sub(s, near, over(s, 1, x));
  loom_value rest = series(s, order ? TABLE(Y1_A) : TABLE(Y0_A), t);
  near = add(s, times(s, near, 2 / PI), order ? mul(s, rest, x) : rest);
  loom_value far = bessel_far(s, order, true, x);
  loom_value v = pick(s, loom_emit_compare(s->b, "le", x, num(s, 8)), near, far);
  return pick(s, is(s, x, 0), num(s, -INFINITY), v);
}

static loom_value special_j0(special *s, loom_value x) { return bessel_j(s, 0, x); }
static loom_value special_j1(special *s, loom_value x) { return bessel_j(s, 1, x); }
static loom_value special_y0(special *s, loom_value x) { return bessel_y(s, 0, x); }
static loom_value special_y1(special *s, loom_value x) { return bessel_y(s, 1, x); }

static loom_value special_spherical_j0(special *s, loom_value x) {
  loom_value v = quotient(s, of(s, LOOM_OP_SIN, x), x);
  v = pick(s, of(s, LOOM_OP_IS_INF, x), num(s, 0), v);
  return pick(s, is(s, x, 0), num(s, 1), v);
}

#define AIRY_EDGE (2.0 / 3 * 2.82842712474619009760) /* 2 / 3 * 2 ** 1.5 */

static loom_value special_airy(special *s, loom_value x) {
  loom_value size = of(s, LOOM_OP_ABS, x), root = of(s, LOOM_OP_SQRT, size);
  loom_value z = times(s, mul(s, size, root), 2.0 / 3), edge = over(s, AIRY_EDGE, z);
  loom_value scale = times(s, of(s, LOOM_OP_SQRT, root), 1.77245385090551602730);
  loom_value near = series(s, TABLE(AIRY_A), times(s, x, 0.5));
  loom_value right = series(s, TABLE(AIRY_B), plus(s, add(s, edge, edge), -1));
  right = mul(s, times(s, right, 0.5), of(s, LOOM_OP_EXP, of(s, LOOM_OP_NEG, z)));
  loom_value t = plus(s, times(s, mul(s, edge, edge), 2), -1);
  loom_value p = series(s, TABLE(AIRY_P), t), q = quotient(s, series(s, TABLE(AIRY_Q), t), z);
  loom_value sine = of(s, LOOM_OP_SIN, z), cosine = of(s, LOOM_OP_COS, z);
  loom_value left = sub(s, mul(s, p, add(s, sine, cosine)), mul(s, q, sub(s, cosine, sine)));
  left = times(s, left, 0.70710678118654752440);
  loom_value far = quotient(s, pick(s, below(s, x, 0), left, right), scale);
  return pick(s, loom_emit_compare(s->b, "le", size, num(s, 2)), near, far);
}

/* ---- calls ----------------------------------------------------------------------------------- */

/* The operand (argument `i`), first of the dtype in which torch computes. */
static loom_value special_operand(fx_call *c, int i, special *s) {
  loom_dtype dtype = fx_compute_dtype(c->types[0].dtype);
  *s = (special){.c = c, .b = c->b, .type = c->types[0], .narrow = dtype != LOOM_F64};
  s->type.dtype = LOOM_F64;
  return loom_emit_convert(c->b, fx_tensor_as(c, i, dtype), LOOM_F64);
}

static bool special_done(fx_call *c, loom_value v, loom_value *out) {
  out[0] = fx_round(c, 0, loom_emit_convert(c->b, v, fx_compute_dtype(c->types[0].dtype)));
  return out[0] != LOOM_NO_VALUE;
}

/* A function of one operand, by the name in `text`. */
bool aten_special(fx_call *c, loom_value *out) {
  static const struct {
    const char *name;
    loom_value (*emit)(special *s, loom_value x);
  } functions[] = {
      {"erfc", special_erfc},     {"erfcx", special_erfcx},
      {"erfinv", special_erfinv}, {"ndtri", special_ndtri},
      {"lgamma", special_lgamma}, {"digamma", special_digamma},
      {"i0", special_i0},         {"i1", special_i1},
      {"i0e", special_i0e},       {"i1e", special_i1e},
      {"k0", special_k0},         {"k1", special_k1},
      {"k0e", special_k0e},       {"k1e", special_k1e},
      {"j0", special_j0},         {"j1", special_j1},
      {"y0", special_y0},         {"y1", special_y1},
      {"airy", special_airy},     {"spherical_j0", special_spherical_j0},
  };
  special s;
  if (!loom_dtype_is_float(c->types[0].dtype)) return fx_decline(c, "not of floats");
  loom_value x = special_operand(c, 0, &s);
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
    if (!strcmp(functions[i].name, c->text)) return special_done(c, functions[i].emit(&s, x), out);
  return fx_decline(c, "an unknown function");
}

/* polygamma(n, self). */
bool aten_polygamma(fx_call *c, loom_value *out) {
  special s;
  int64_t n;
  if (!fx_int(c, 0, &n)) return false;
  if (n < 0 || n > POLYGAMMA_MAX) return fx_decline(c, "a derivative of high order");
  loom_value x = special_operand(c, 1, &s);
  return special_done(c, polygamma(&s, (int)n, x), out);
}
