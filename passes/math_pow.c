/* Powers: e^(y log x), the logarithm in two parts so that a large exponent leaves it right.
 *
 * As in math_log.c, s = f / (2 + f), z = s^2, log(1 + f) = s (2 + z (2/3 + z R(z))); the quotient,
 * the square, 2/3 and the sums around it are pairs of numbers, R alone is not: it is under 2% of
 * its sum, and that sum under 1% of the 2. The relative error is about 2^-64, so that the exponent,
 * at most 745, is right to 2^-54. Needs f64.
 *
 * That, with all cases of C's pow, is a function out of line. Lanes of a positive normal x and an
 * exponent of ordinary size, whose power is normal too, take a shorter way: 2^(y log2 x), log2 x =
 * k + s (2 + z (2/3 + z R(z))) / ln 2 again in pairs, but z R alone is a number, and no result
 * needs more than a whole number added to its exponent. It raises no flag, and is right to 0.95
 * ulp (0.72 where the power is between 2^-60 and 2^60). For f32 a number is enough throughout.
 */
#include "passes/math.h"

#include <math.h>
#include <stdio.h>

static const double pow_r[] = {0.4,
                               0.2857142857142938,
                               0.2222222222164818,
                               0.181818183370346,
                               0.1538459479629481,
                               0.13334813317048047,
                               0.11706014884419476,
                               0.11725409493632094};

typedef struct pair {
  MlirValue high, low;
} pair;

/* x + y for |x| >= |y|. */
static pair pow_sum(math *m, MlirValue x, MlirValue y) {
  pair out = {math_add(m, x, y), {NULL}};
  out.low = math_sub(m, y, math_sub(m, out.high, x));
  return out;
}

static pair pow_product(math *m, pair x, pair y) {
  pair out = {math_mul(m, x.high, y.high), {NULL}};
  MlirValue error = math_fma(m, x.high, y.high, math_neg(m, out.high));
  out.low = math_fma(m, x.low, y.high, math_fma(m, x.high, y.low, error));
  return out;
}

/* f / (2 + f) */
static pair pow_ratio(math *m, MlirValue f) {
  MlirValue two = math_const(m, 2), inverse;
  pair d = pow_sum(m, two, f), out;
  inverse = math_div(m, math_const(m, 1), d.high);
  out.high = math_mul(m, f, inverse);
  MlirValue back = math_neg(m, out.high);
  MlirValue rest = math_fma(m, back, d.low, math_fma(m, back, d.high, f));
  out.low = math_mul(m, rest, inverse);
  return out;
}

/* For x positive and finite. */
static pair pow_log(math *m, MlirValue x) {
  MlirValue k, f = math_log_split(m, x, &k);
  pair s = pow_ratio(m, f), z = pow_product(m, s, s);
  MlirValue r = math_mul(m, z.high, math_poly(m, z.high, pow_r, 8, pow_r, 8));
  pair inner = pow_sum(m, math_const(m, 0.6666666666666666), r);
  inner.low = math_add(m, inner.low, math_const(m, 3.700743415417188e-17));
  pair product = pow_product(m, z, inner);
  pair outer = pow_sum(m, math_const(m, 2), product.high);
  outer.low = math_add(m, outer.low, product.low);
  pair part = pow_product(m, s, outer);
  pair sum = pow_sum(m, math_scale(m, k, 0.6931471805598903), part.high);
  MlirValue low = math_fma(m, k, math_const(m, 5.497923018708371e-14), part.low);
  return pow_sum(m, sum.high, math_add(m, sum.low, low));
}

/* |x|^y but for the ends. Beyond 2^70 an exponent gives 0, 1 or infinity, as 2^70 does. */
static MlirValue pow_finite(math *m, MlirValue x, MlirValue y) {
  if (m->narrow) return math_exp(m, math_mul(m, math_log_finite(m, x), y));
  pair log = pow_log(m, x);
  double most = 1180591620717411303424.0;
  y = math_pick(m, math_test(m, "ogt", y, most), math_const(m, most), y);
  y = math_pick(m, math_test(m, "olt", y, -most), math_const(m, -most), y);
  pair exponent = {y, math_const(m, 0)};
  exponent = pow_product(m, log, exponent);
  return math_exp_sum(m, exponent.high, exponent.low);
}

static MlirValue pow_and(math *m, MlirValue x, MlirValue y) {
  return lane_op2(m->b, "arith.andi", x, y);
}

/* The cases of C's pow around the function of |x|. For f32 it is made in f64. */
static MlirValue pow_any(math *m, MlirValue x, MlirValue y) {
  loom_builder *b = m->b;
  MlirValue a = math_abs(m, x), one = math_const(m, 1), zero = math_const(m, 0);
  MlirValue none = math_test(m, "oeq", a, 0), endless = math_test(m, "oeq", a, INFINITY);
  MlirValue plain = pow_and(m, math_test(m, "ogt", a, 0), math_test(m, "olt", a, INFINITY));
  MlirValue unit = lane_op2(b, "arith.ori", math_test(m, "oeq", a, 1), math_test(m, "oeq", y, 0));
  MlirValue usable = lane_cmpf(b, "ord", y, y), down = math_test(m, "olt", y, 0);
  MlirValue infinity = math_const(m, INFINITY), most = math_abs(m, y);
  /* NumPy's power of f32 by infinity may report an overflow, that of f64 does not. */
  MlirValue bounded = m->narrow ? usable : lane_cmpf(b, "olt", most, infinity);
  MlirValue p = pow_finite(m, math_pick(m, plain, a, one), math_pick(m, bounded, y, zero));
  MlirValue falls = lane_op2(b, "arith.xori", math_test(m, "olt", a, 1), down);
  p = math_pick(m, lane_cmpf(b, "oeq", most, infinity), math_pick(m, falls, zero, infinity), p);
  p = math_pick(m, unit, one, p);
  p = math_pick(m, none, math_pick(m, down, infinity, zero), p);
  p = math_pick(m, endless, math_pick(m, down, zero, infinity), p);
  MlirValue trunc = lane_op1(b, "llvm.intr.trunc", y), half = math_scale(m, y, 0.5);
  MlirValue whole = lane_cmpf(b, "oeq", trunc, y);
  MlirValue odd = lane_cmpf(b, "une", half, lane_op1(b, "llvm.intr.trunc", half));
  MlirValue negative = lane_cmpi(b, "slt", math_bits(m, x), math_int(m, 0));
  p = math_pick(m, pow_and(m, pow_and(m, odd, whole), negative), math_neg(m, p), p);
  MlirValue number = pow_and(m, usable, lane_cmpf(b, "une", trunc, y));
  MlirValue bad = pow_and(m, pow_and(m, plain, negative), number);
  math_flag(m, bad, LOOM_FP_INVALID);
  math_flag(m, pow_and(m, none, down), LOOM_FP_DIVIDE);
  p = math_pick(m, bad, math_const(m, NAN), p);
  /* A NaN gives NaN, but for 1 and for the exponent 0. */
  p = math_pick(m, lane_cmpf(b, "uno", y, y), y, p);
  p = math_pick(m, lane_cmpf(b, "uno", x, x), x, p);
  p = math_pick(m, math_test(m, "oeq", x, 1), one, p);
  return math_pick(m, math_test(m, "oeq", y, 0), one, p);
}

/* ---- the shorter way ---- */

#define POW_NUMBERS(NAME) NAME, (int)(sizeof NAME / sizeof *NAME)

/* (2 / ln 2) (1/5 + z/7 + ...) and, of all but the first term, (1/3 + z/5 + ...): interpolated at
 * Chebyshev nodes, made with 60 digits. */
static const double pow_log_rest[] = {0.5770780163555853,  0.4121985831111439,  0.3205988979671597,
                                      0.26230819146702117, 0.22195278870596163, 0.19238055945712837,
                                      0.1688854671740239,  0.16912787582324892};
static const double pow_log_narrow[] = {0.961796693936196, 0.5770779990048344, 0.4122032857846058,
                                        0.320154239282653, 0.27934404491929504};
/* (2^r - 1) / r for |r| <= 1/2 */
static const double pow_exp[] = {
    0.6931471805599453,     0.24022650695910097,   0.0555041086648216,    0.009618129107606888,
    0.0013333558146416936,  0.0001540353044173605, 1.525273382983612e-05, 1.321544258792169e-06,
    1.0178062445845774e-07, 7.072585949269223e-09, 4.4549605981865186e-10};
static const double pow_exp_narrow[] = {
    0.6931471805599453,   0.24022650922288757,   0.055504108839096185,  0.009618056678524637,
    0.001333350238616277, 0.0001546144469856913, 1.5297323760701075e-05};

/* A polynomial by pairs of terms, pairs of pairs and so on: few steps wait for one another. */
static MlirValue pow_poly(math *m, MlirValue x, const double *c, int count) {
  MlirValue terms[16];
  int n = (count + 1) / 2;
  for (int i = 0; i < n; i++) {
    terms[i] = math_const(m, c[2 * i]);
    if (2 * i + 1 < count) terms[i] = math_fma(m, x, math_const(m, c[2 * i + 1]), terms[i]);
  }
  for (; n > 1; n = (n + 1) / 2) {
    x = math_mul(m, x, x);
    for (int i = 0; i < n / 2; i++)
      terms[i] = math_fma(m, x, terms[2 * i + 1], terms[2 * i]);
    if (n % 2) terms[n / 2] = terms[n - 1];
  }
  return terms[0];
}

/* x = 2^k (1 + f) for x positive and normal, and 2 + f as a pair. Of all else numbers as well. */
static MlirValue pow_split(math *m, MlirValue x, MlirValue *k, pair *sum) {
  const int64_t root = 0x3fe6a09e667f3bcd, one = 1023ll << 52; /* sqrt(1/2) */
  double magic = 4503599627370496.0;                           /* 2^52 */
  MlirValue power = math_iop(m, "arith.addi", math_bits(m, x), one - root);
  MlirValue exponent = math_iop(m, "arith.shrui", power, 52);
  exponent = lane_op2(m->b, "arith.ori", exponent, math_bits(m, math_const(m, magic)));
  *k = math_sub(m, math_from_bits(m, exponent), math_const(m, magic + 1023));
  MlirValue rest = math_iop(m, "arith.andi", power, (1ll << 52) - 1);
  rest = math_from_bits(m, math_iop(m, "arith.addi", rest, root));
  *sum = pow_sum(m, math_const(m, 1), rest); /* |rest| may be larger, its exponent is not */
  return math_sub(m, rest, math_const(m, 1));
}

/* log2 of x positive and normal: `low` is no rounded remainder, but less than 2^-12 of `high`. */
static pair pow_log2(math *m, MlirValue x) {
  MlirValue k, one = math_const(m, 1), third = math_const(m, 0.9617966939259756);
  MlirValue two = math_const(m, 2.8853900817779268); /* over ln 2, as all others */
  pair d, s, z, t, p, out;
  MlirValue f = pow_split(m, x, &k, &d), inverse = math_div(m, one, d.high);
  s.high = math_mul(m, f, inverse);
  MlirValue back = math_neg(m, s.high);
  MlirValue rest = math_fma(m, back, d.low, math_fma(m, back, d.high, f));
  s.low = math_mul(m, rest, inverse);
  z.high = math_mul(m, s.high, s.high);
  z.low = math_fma(m, s.high, s.high, math_neg(m, z.high));
  z.low = math_fma(m, math_add(m, s.high, s.high), s.low, z.low);
  MlirValue u = math_mul(m, z.high, third);
  MlirValue v = math_fma(m, z.high, third, math_neg(m, u)), w;
  w = pow_poly(m, z.high, POW_NUMBERS(pow_log_rest));
  w = math_fma(m, z.high, w, math_const(m, 5.0577616648125907e-17));
  v = math_fma(m, z.low, math_fma(m, math_const(m, 2), w, third), v); /* the slope at z.high */
  pair rest_sum = pow_sum(m, u, math_mul(m, w, z.high));
  t = pow_sum(m, two, rest_sum.high);
  rest_sum.low = math_add(m, rest_sum.low, math_add(m, v, math_const(m, 4.0710547481862066e-17)));
  t.low = math_add(m, t.low, rest_sum.low);
  p = pow_product(m, s, t);
  out = pow_sum(m, k, p.high);
  out.low = math_add(m, out.low, p.low);
  return out;
}

static pair pow_log2_narrow(math *m, MlirValue x) {
  MlirValue k;
  pair d, out = {{NULL}, math_const(m, 0)};
  MlirValue f = pow_split(m, x, &k, &d), s = math_div(m, f, d.high), z = math_mul(m, s, s);
  MlirValue rest = pow_poly(m, z, POW_NUMBERS(pow_log_narrow));
  out.high = math_fma(m, s, math_fma(m, z, rest, math_const(m, 2.8853900817779268)), k);
  return out;
}

/* 2^(high + low) times 2^-n for `n` that is the whole number nearest to the sum, at most 0.72 ulp
 * off: 1 + r ln 2 is a pair, and what is added to it is less than 0.06. */
static MlirValue pow_exp2_part(math *m, pair e, MlirValue n) {
  const double ln2 = 0.6931471805599453, ln2_low = 2.3190468138462996e-17;
  MlirValue one = math_const(m, 1), first = math_sub(m, e.high, n);
  pair r = pow_sum(m, first, e.low);
  MlirValue p = math_mul(m, r.high, math_const(m, ln2));
  MlirValue low = math_fma(m, r.high, math_const(m, ln2), math_neg(m, p));
  low = math_fma(m, r.low, math_const(m, ln2), low);
  low = math_fma(m, r.high, math_const(m, ln2_low), low);
  MlirValue rest = pow_poly(m, r.high, pow_exp + 1, (int)(sizeof pow_exp / sizeof *pow_exp) - 1);
  low = math_fma(m, math_mul(m, r.high, r.high), rest, low);
  pair sum = pow_sum(m, one, p);
  return math_add(m, sum.high, math_add(m, sum.low, low));
}

/* 2^(high + low) where that is normal. */
static MlirValue pow_exp2(math *m, pair e) {
  MlirValue magic = math_const(m, 6755399441055744.0);
  MlirValue sum = m->narrow ? e.high : math_add(m, e.high, e.low);
  MlirValue shifted = math_add(m, sum, magic), whole = math_sub(m, shifted, magic), part;
  if (m->narrow) {
    MlirValue r = math_sub(m, e.high, whole);
    part = math_fma(m, r, pow_poly(m, r, POW_NUMBERS(pow_exp_narrow)), math_const(m, 1));
  } else {
    part = pow_exp2_part(m, e, whole);
  }
  MlirValue n = math_iop(m, "arith.shli", math_bits(m, shifted), 52);
  return math_from_bits(m, lane_op2(m->b, "arith.addi", math_bits(m, part), n));
}

/* Are the bits less than `from` or at least `to`? */
static MlirValue pow_outside(math *m, MlirValue bits, int64_t from, int64_t to) {
  MlirValue offset = math_iop(m, "arith.subi", bits, from);
  return lane_cmpi(m->b, "uge", offset, math_int(m, to - from));
}

/* pow_any as a function before the stage, and of this stage alone, as stages may be emitted apart:
 * the power, and the flags that it raises by itself. `name` gets its name. */
static void pow_function(math *m, char *name, size_t size) {
  int lanes = mlirTypeIsAVector(m->type) ? lane_width(m->type) : 0;
  snprintf(name, size, "%.200s_pow_cases_%s%d", m->l->symbol, m->narrow ? "f32_" : "f64_", lanes);
  if (math_has_symbol(m->l, name)) return;
  MlirType types[] = {m->type, m->type};
  MlirLocation locs[] = {m->b->loc, m->b->loc};
  MlirBlock block = mlirBlockCreate(2, types, locs);
  loom_builder b = loom_builder_at_end(block, mlirOperationGetLocation(m->l->kernel->op));
  math inside = *m;
  MlirValue raised = {NULL};
  inside.b = &b;
  inside.raised = &raised;
  MlirValue results[2];
  results[0] = pow_any(&inside, mlirBlockGetArgument(block, 0), mlirBlockGetArgument(block, 1));
  results[1] = raised;
  math_add_function(m->l, name, block, 2, results);
}

typedef struct pow_choice {
  const char *function;
  MlirValue odd, x, y;
  MlirValue power; /* in lanes that are not odd; NULL: 2^exponent */
  pair exponent;
  const MlirType *types;
} pow_choice;

/* The power of all lanes, and the flags of those that are odd. */
static void pow_branch(math *m, bool any, const void *user, MlirValue *results) {
  const pow_choice *choice = user;
  MlirValue odd = choice->odd, operands[] = {choice->x, choice->y}, power = choice->power;
  pair e = choice->exponent;
  if (!any) {
    results[0] = power.ptr ? power : pow_exp2(m, e);
    results[1] = loom_build_int(m->b, choice->types[1], 0);
    return;
  }
  MlirOperation call = math_call(m->b, choice->function, 2, operands, 2, choice->types);
  if (!power.ptr) {
    MlirValue zero = math_const(m, 0);
    pair safe = {math_pick(m, odd, zero, e.high), math_pick(m, odd, zero, e.low)};
    power = pow_exp2(m, safe);
  }
  results[0] = math_pick(m, odd, loom_result(call, 0), power);
  results[1] = loom_result(call, 1);
}

/* The power of all lanes: that of the choice, but for lanes that are odd. Where a vector has one of
 * these, the others get what they would get without it: no element depends on its neighbours. */
static MlirValue pow_choose(math *m, pow_choice *choice) {
  MlirType types[] = {m->type, mlirIntegerTypeGet(m->b->ctx, 32)};
  MlirValue results[2];
  char name[256];
  pow_function(m, name, sizeof name);
  choice->function = name;
  choice->types = types;
  math_if_any(m, choice->odd, 2, types, pow_branch, choice, results);
  if (!m->raised)
    lower_flag_add(m->l, m->b, results[1]);
  else
    *m->raised = m->raised->ptr ? lane_op2(m->b, "arith.ori", *m->raised, results[1]) : results[1];
  return results[0];
}

MlirValue math_pow_where(math *m, MlirValue odd, MlirValue power, MlirValue x, MlirValue y) {
  if (!m->l || m->l->kernel->target != LANES_CPU) return math_pick(m, odd, pow_any(m, x, y), power);
  pow_choice choice = {.odd = odd, .x = x, .y = y, .power = power};
  return pow_choose(m, &choice);
}

MlirValue math_pow(math *m, MlirValue x, MlirValue y) {
  if (!m->l || m->l->kernel->target != LANES_CPU) return pow_any(m, x, y);
  const int64_t mantissa = 1ll << 52, sign = INT64_MAX;
  pair log = m->narrow ? pow_log2_narrow(m, x) : pow_log2(m, x);
  MlirValue odd = pow_outside(m, math_bits(m, x), mantissa, 0x7ffll * mantissa);
  /* Neither y nor its product with an error is denormal. */
  int64_t least = m->narrow ? 0 : (1023 - 300) * mantissa;
  MlirValue size = math_iop(m, "arith.andi", math_bits(m, y), sign);
  MlirValue beyond = pow_outside(m, size, least, (1023 + 60) * mantissa);
  MlirValue factor = math_pick(m, beyond, math_const(m, 0), y);
  pair e = {math_mul(m, factor, log.high), log.low};
  if (!m->narrow) {
    e.low = math_fma(m, factor, log.high, math_neg(m, e.high));
    e.low = math_fma(m, factor, log.low, e.low);
  }
  odd = lane_op2(m->b, "arith.ori", odd, beyond);
  MlirValue large = math_test(m, "oge", math_abs(m, e.high), 1020);
  pow_choice choice = {.odd = lane_op2(m->b, "arith.ori", odd, large), .x = x, .y = y};
  choice.exponent = e;
  return pow_choose(m, &choice);
}
