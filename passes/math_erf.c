/* The error function.
 *
 * In f64, and in f32 where no vector has 32 tables, an |x| up to some number is x p(x^2), and a
 * larger one 1 - e^-f(|x|), f approximating -log(erfc) up to where the result is 1. The polynomials
 * of f64 interpolate at Chebyshev nodes, those of f32 are minimax fits of the relative error.
 *
 * Where AVX-512 looks elements of a table up by one instruction (math_wide.c), |x| is rounded to
 * the nearest of 32 places, n / 8, and erf is a polynomial of degree 4 in the rest for each place.
 * The coefficients of one power are a table. That of n = 0 has no constant, so what is small is
 * exact in relation to its size. That of n = 31 is a line that ends at 1 after rounding.
 */
#include "passes/math.h"

/* erf(x) = x + x p(x^2) in f32, up to this. */
#define ERF_NEAR32 0.927734375
static const double erf_near32[] = {0.12837914822806518,  -0.3761248470283522,
                                    0.11281720549067722,  -0.026763103766420347,
                                    0.004987973834313749, -0.0005964098358217916};
static const double erf_near64[] = {
    1.1283791670955126,      -0.3761263890318355,     0.11283791670945253,
    -0.02686617064327622,    0.005223977607423468,    -0.0008548325989696758,
    0.00012055295320494294,  -1.4924744663335489e-05, 1.6447517677871873e-06,
    -1.6209175911748696e-07, 1.3722976265924504e-08,  -7.801188874097751e-10};
/* log(erfc(x)) / x in f32. */
static const double erf_far32[] = {-1.1285119024782073,   -0.6357265895008731,
                                   -0.10525098746037943,  0.02288302950957123,
                                   -0.003212799844620207, 0.00021372414290097959};
static const double erf_far64[] = {
    1.8496055099332482,      2.6389675142347913,     0.8431072563584943,
    0.041561098046225924,    -0.010033825429472502,  0.0019779029762463972,
    -0.00023732444419669382, -2.627140961024345e-05, 2.7143952882198267e-05,
    -9.582932055215813e-06,  2.0266946046197616e-06, -1.1120648458028757e-07,
    -1.2044548398793915e-07, 6.452403869296173e-08,  -2.0003118866079477e-08,
    4.389497411093728e-09,   -6.935215492703813e-10, 7.545991034365075e-11,
    -5.065313826909579e-12,  1.5785009945665668e-13};
/* e^r for |r| at most ln 2 / 2, within 2 ulp: e is a small part of the result. */
static const double erf_exp[] = {
    1, 1, 0.49999231565623614, 0.16667114609551517, 0.041890146439996064, 0.008312520971785482};

#define ERF_PLACES 32
#define ERF_DEGREE 4
static const double erf_places[ERF_DEGREE + 1][ERF_PLACES] = {
    {0.0,       0.1403162, 0.2763264,  0.4041169,  0.5204999,  0.6232409,  0.71115565, 0.7840751,
     0.8427008, 0.8883882, 0.92290014, 0.94817007, 0.96610516, 0.97844374, 0.9866717,  0.99199003,
     0.9953223, 0.997346,  0.9985373,  0.99921703, 0.999593,   0.9997946,  0.9998994,  0.99995214,
     0.9999779, 0.9999901, 0.9999957,  0.9999982,  0.9999993,  0.9999997,  0.9999999,  0.99999994},
    {1.1283791,    1.1108848,    1.0600138,     0.9803526,      0.8787826,     0.7634997,
     0.64293134,   0.52474535,   0.41510782,    0.31827426,     0.23652135,    0.17035992,
     0.11893036,   0.08047227,   0.052774966,   0.033545773,    0.020666923,   0.012340761,
     0.007142268,  0.004006438,  0.002178255,   0.001147855,    0.00058626407, 0.0002902201,
     0.0001392482, 6.475593e-05, 2.9187526e-05, 1.27509575e-05, 5.399034e-06,  2.2157308e-06,
     8.813442e-07, 7.0e-07},
    {6.8698823e-06,  -0.13886055,    -0.26500335,    -0.36763206,
     -0.43939105,    -0.477187,      -0.48219818,    -0.45915186,
     -0.41510752,    -0.35805827,    -0.2956515,     -0.2342448,
     -0.17839552,    -0.1307675,     -0.09235629,    -0.06289845,
     -0.041333973,   -0.026224235,   -0.016070204,   -0.00951537,
     -0.0054456973,  -0.0030131615,  -0.0016122545,  -0.0008344009,
     -0.00041775563, -0.00020236873, -9.486308e-05,  -4.3036427e-05,
     -1.8897623e-05, -8.032522e-06,  -3.3052786e-06, 0.0},
    {-0.37667614,  -0.35821512,   -0.30878022,   -0.23465425,
     -0.1464279,   -0.05580543,   0.026529172,   0.092595756,
     0.13803165,   0.16215308,    0.16730548,    0.15778823,
     0.13867933,   0.11483008,    0.09018952,    0.06749697,
     0.048286814,  0.03309838,    0.021776581,   0.013771343,
     0.00837997,   0.0049110344,  0.0027738572,  0.0015109116,
     0.0007940717, 0.00040284207, 0.00019734517, 9.338458e-05,
     4.269758e-05, 1.886767e-05,  8.059629e-06,  0.0},
    {0.014083441,    0.06859654,     0.12678313,     0.16633894,
     0.18283555,     0.1762581,      0.1505558,      0.112345904,
     0.06920701,     0.028049046,    -0.0060555027,  -0.030392483,
     -0.04450454,    -0.04964849,    -0.04805843,    -0.042239808,
     -0.034442704,   -0.026369696,   -0.019097546,   -0.013148407,
     -0.008636035,   -0.005425264,   -0.0032662079,  -0.0018873294,
     -0.0010480041,  -0.00055978465, -0.00028785766, -0.00014260395,
     -6.8098074e-05, -3.136199e-05,  -1.3935557e-05, 0.0},
};

/* 1 - e^y for y in [-18, -1]: the powers of two are normal numbers, so k is added to the exponent.
 * What is a NaN stays one. */
static MlirValue erf_one_less_exp(math *m, MlirValue y) {
  const double magic = 12582912.0; /* 1.5 2^23: the last bits of a sum with it are an integer */
  MlirValue shifted = math_fma(m, y, math_const(m, 1.4426950408889634), math_const(m, magic));
  MlirValue n = math_sub(m, shifted, math_const(m, magic));
  MlirValue r = math_fma(m, n, math_const(m, -0.6931471824645996), y);
  MlirValue e = math_poly(m, r, erf_exp, 6, NULL, 0);
  MlirValue power = math_iop(m, "arith.shli", math_bits(m, shifted), 23);
  e = math_from_bits(m, lane_op2(m->b, "arith.addi", math_bits(m, e), power));
  return math_sub(m, math_const(m, 1), e);
}

static MlirValue erf_single(math *m, MlirValue x) {
  MlirValue a = math_at_most(m, math_abs(m, x), 3.9375);
  MlirValue near = math_poly(m, math_mul(m, a, a), erf_near32, 6, NULL, 0);
  near = math_fma(m, near, a, a);
  MlirValue far = math_mul(m, a, math_poly(m, a, erf_far32, 6, NULL, 0));
  far = erf_one_less_exp(m, far);
  return math_copysign(m, math_pick(m, math_test(m, "ogt", a, ERF_NEAR32), far, near), x);
}

static MlirValue erf_double(math *m, MlirValue x) {
  MlirValue a = math_at_most(m, math_abs(m, x), 6), one = math_const(m, 1);
  MlirValue inner = math_mul(m, x, math_poly(m, math_mul(m, a, a), NULL, 0, erf_near64, 12));
  MlirValue f = math_poly(m, math_sub(m, a, one), NULL, 0, erf_far64, 20);
  MlirValue e = math_exp(m, math_neg(m, f));
  MlirValue outer = math_copysign(m, math_sub(m, one, e), x);
  return math_pick(m, math_test(m, "ogt", a, 1), outer, inner);
}

/* The place is in the last five bits of |x| + 1.5 2^20, where a number is a multiple of 1 / 8. The
 * end is rounded to the last place. */
static MlirValue erf_by_places(math *m, MlirValue x) {
  MlirValue a = math_at_most(m, math_abs(m, x), 3.9374), magic = math_const(m, 1572864.0);
  MlirValue shifted = math_add(m, a, magic), place = math_bits(m, shifted);
  MlirValue rest = math_sub(m, a, math_sub(m, shifted, magic));
  MlirValue sum = math_look_up(m, place, erf_places[ERF_DEGREE]);
  for (int i = ERF_DEGREE - 1; i >= 0; i--)
    sum = math_fma(m, sum, rest, math_look_up(m, place, erf_places[i]));
  return math_copysign(m, sum, x);
}

MlirValue math_erf(math *m, MlirValue x) {
  if (m->f64) return erf_double(m, x);
  return math_looks_up(m) ? erf_by_places(m, x) : erf_single(m, x);
}
