/* The exponential and what is made of it.
 *
 * x = k ln 2 + r with |r| <= ln 2 / 2; e^r - 1 = r + r^2 q(r). q is the polynomial that
 * interpolates (e^r - 1 - r) / r^2 at Chebyshev nodes, made with 60 digits; so are the others
 * below. The result is scaled by two powers of two, so that what overflows or is denormal comes out
 * right and raises what it must.
 */
#include "passes/math.h"

static const double exp_q32[] = {0.5, 0.16666576266288757, 0.041666556149721146,
                                 0.008363178931176662, 0.0013926184037700295};
static const double exp_q64[] = {0.5,
                                 0.16666666666666669,
                                 0.04166666666662413,
                                 0.008333333333330062,
                                 0.0013888888917213717,
                                 0.00019841269863053618,
                                 2.4801521295954376e-05,
                                 2.7557268459997064e-06,
                                 2.7620088445409746e-07,
                                 2.510038549551032e-08};

static const double sinh_s32[] = {0.1666666716337204, 0.008333339355885983, 0.00019838099251501262,
                                  2.806300699376152e-06};
static const double sinh_s64[] = {
    0.16666666666666666,   0.008333333333333299,   0.0001984126984132424, 2.7557319191363643e-06,
    2.505211769941287e-08, 1.6057679312223042e-10, 7.746188979486805e-13};
static const double erf_near32[] = {
    1.128379225730896,    -0.37612637877464294,   0.11283782124519348,    -0.026865430176258087,
    0.005221031606197357, -0.0008484080317430198, 0.00011265958892181516, -9.667044650996104e-06};
static const double erf_near64[] = {
    1.1283791670955126,      -0.3761263890318355,     0.11283791670945253,
    -0.02686617064327622,    0.005223977607423468,    -0.0008548325989696758,
    0.00012055295320494294,  -1.4924744663335489e-05, 1.6447517677871873e-06,
    -1.6209175911748696e-07, 1.3722976265924504e-08,  -7.801188874097751e-10};
static const double erf_far32[] = {
    -0.0003201380604878068, 1.1302334070205688,    0.6318260431289673,
    0.11008008569478989,    -0.026421135291457176, 0.004759596195071936,
    -0.0005968056502752006, 4.605804133461788e-05, -1.6371513993362896e-06};
static const double erf_far64[] = {
    1.8496055099332482,      2.6389675142347913,     0.8431072563584943,
    0.041561098046225924,    -0.010033825429472502,  0.0019779029762463972,
    -0.00023732444419669382, -2.627140961024345e-05, 2.7143952882198267e-05,
    -9.582932055215813e-06,  2.0266946046197616e-06, -1.1120648458028757e-07,
    -1.2044548398793915e-07, 6.452403869296173e-08,  -2.0003118866079477e-08,
    4.389497411093728e-09,   -6.935215492703813e-10, 7.545991034365075e-11,
    -5.065313826909579e-12,  1.5785009945665668e-13};

static double exp_magic(const math *m) { return m->f64 ? 6755399441055744.0 : 12582912.0; }

/* Rounds to a whole number: as a float, and as an integer (meaningless for NaN). */
static MlirValue exp_round(math *m, MlirValue shifted, MlirValue *whole) {
  MlirValue magic = math_const(m, exp_magic(m));
  *whole = lane_op2(m->b, "arith.subi", math_bits(m, shifted), math_bits(m, magic));
  return math_sub(m, shifted, magic);
}

/* Returns e^r - 1. */
static MlirValue exp_tail(math *m, MlirValue r) {
  return math_fma(m, math_mul(m, r, r), MATH_POLY(m, r, exp_q), r);
}

/* k is that of `clamped`, which x exceeds where the result overflows: so an infinity stays one, and
 * is no overflow. */
static MlirValue exp_reduce(math *m, MlirValue x, MlirValue clamped, MlirValue *k) {
  MlirValue shifted =
      math_fma(m, clamped, math_const(m, 1.4426950408889634), math_const(m, exp_magic(m)));
  MlirValue n = math_neg(m, exp_round(m, shifted, k));
  double high = m->f64 ? 0.6931471805599453 : 0.6931471824645996;
  double low = m->f64 ? 2.3190468138462996e-17 : -1.9046542121259336e-09;
  MlirValue r = math_fma(m, n, math_const(m, high), x);
  return math_fma(m, n, math_const(m, low), r);
}

/* 2^k for a normal result. */
static MlirValue exp_power(math *m, MlirValue k) {
  MlirValue biased = math_iop(m, "arith.addi", k, m->f64 ? 1023 : 127);
  return math_from_bits(m, math_iop(m, "arith.shli", biased, m->f64 ? 52 : 23));
}

static MlirValue exp_scale(math *m, MlirValue y, MlirValue k) {
  MlirValue half = math_iop(m, "arith.shrsi", k, 1);
  MlirValue rest = lane_op2(m->b, "arith.subi", k, half);
  return math_mul(m, math_mul(m, y, exp_power(m, half)), exp_power(m, rest));
}

/* NaN passes. */
static MlirValue exp_at_least(math *m, MlirValue x, double low) {
  return math_pick(m, math_test(m, "olt", x, low), math_const(m, low), x);
}

static MlirValue exp_at_most(math *m, MlirValue x, double high) {
  return math_pick(m, math_test(m, "ogt", x, high), math_const(m, high), x);
}

MlirValue math_exp(math *m, MlirValue x) {
  MlirValue k;
  x = exp_at_least(m, x, m->f64 ? -746 : -104);
  MlirValue r = exp_reduce(m, x, exp_at_most(m, x, m->f64 ? 710 : 89), &k);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

MlirValue math_exp_sum(math *m, MlirValue high, MlirValue low) {
  MlirValue k, zero = math_const(m, 0), x = exp_at_least(m, high, -746);
  MlirValue clamped = exp_at_most(m, x, 710);
  low = math_pick(m, lane_cmpf(m->b, "oeq", clamped, high), low, zero);
  MlirValue r = math_add(m, exp_reduce(m, x, clamped, &k), low);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

MlirValue math_exp2(math *m, MlirValue x) {
  MlirValue k;
  x = exp_at_least(m, x, -1080);
  MlirValue clamped = exp_at_most(m, x, 1025);
  MlirValue n = exp_round(m, math_add(m, clamped, math_const(m, exp_magic(m))), &k);
  MlirValue r = math_scale(m, math_sub(m, x, n), 0.6931471805599453);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

/* 2^k (e^r - 1) + (2^k - 1), halved meanwhile so that 2^k stays finite. */
static MlirValue exp_minus_one(math *m, MlirValue r, MlirValue k) {
  MlirValue half = exp_power(m, math_iop(m, "arith.subi", k, 1));
  MlirValue sum = math_fma(m, half, exp_tail(m, r), math_sub(m, half, math_const(m, 0.5)));
  return math_add(m, sum, sum);
}

MlirValue math_expm1(math *m, MlirValue x) {
  MlirValue k, y = exp_at_least(m, x, m->f64 ? -40 : -20);
  MlirValue r = exp_reduce(m, y, exp_at_most(m, y, m->f64 ? 710 : 89), &k);
  return math_copysign(m, exp_minus_one(m, r, k), x);
}

/* t / (t + 2) with t = e^(2|x|) - 1. */
MlirValue math_tanh(math *m, MlirValue x) {
  MlirValue a = exp_at_most(m, math_abs(m, x), m->f64 ? 20 : 10), k;
  MlirValue twice = math_add(m, a, a);
  MlirValue t = exp_minus_one(m, exp_reduce(m, twice, twice, &k), k);
  return math_copysign(m, math_div(m, t, math_add(m, t, math_const(m, 2))), x);
}

/* e^x / 2, which is finite a little longer than e^x, for x >= 0. */
static MlirValue exp_half(math *m, MlirValue x) {
  MlirValue k, r = exp_reduce(m, x, exp_at_most(m, x, m->f64 ? 711 : 90), &k);
  k = math_iop(m, "arith.subi", k, 1);
  return exp_scale(m, math_add(m, exp_tail(m, r), math_const(m, 1)), k);
}

/* Up to 1 a polynomial in x^2; beyond, (e^a - e^-a) / 2. */
MlirValue math_sinh(math *m, MlirValue x) {
  MlirValue a = math_abs(m, x), e = exp_half(m, a);
  MlirValue far = math_sub(m, e, math_div(m, math_const(m, 0.25), e));
  MlirValue small = math_pick(m, math_test(m, "olt", a, 1), a, math_const(m, 1));
  MlirValue z = math_mul(m, small, small);
  MlirValue near = math_fma(m, math_mul(m, small, z), MATH_POLY(m, z, sinh_s), small);
  return math_copysign(m, math_pick(m, math_test(m, "olt", a, 1), near, far), x);
}

MlirValue math_cosh(math *m, MlirValue x) {
  MlirValue e = exp_half(m, math_abs(m, x));
  return math_add(m, e, math_div(m, math_const(m, 0.25), e));
}

/* e = exp(-|x|) never overflows: 1 / (1 + e), or e / (1 + e) on the left. */
MlirValue math_logistic(math *m, MlirValue x) {
  MlirValue one = math_const(m, 1), e = math_exp(m, math_neg(m, math_abs(m, x)));
  MlirValue top = math_pick(m, math_test(m, "olt", x, 0), e, one);
  return math_div(m, top, math_add(m, one, e));
}

/* |x| <= 1: x p(x^2). Beyond: 1 - exp(-f(|x|)), f approximating -log(erfc) up to where the result
 * is 1: in f64 by powers of |x| - 1, with the error weighted by erfc. */
MlirValue math_erf(math *m, MlirValue x) {
  double end = m->f64 ? 6 : 4;
  MlirValue a = exp_at_most(m, math_abs(m, x), end), one = math_const(m, 1);
  MlirValue inner = math_mul(m, x, MATH_POLY(m, math_mul(m, a, a), erf_near));
  MlirValue u = m->f64 ? math_sub(m, a, one) : a;
  MlirValue e = math_exp(m, math_neg(m, MATH_POLY(m, u, erf_far)));
  MlirValue outer = math_copysign(m, math_sub(m, one, e), x);
  return math_pick(m, math_test(m, "ogt", a, 1), outer, inner);
}
