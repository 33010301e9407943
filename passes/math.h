/* Transcendental functions as polynomials of our own, on scalars or vectors of f32 and f64.
 *
 * math.def is the table, with the bound of each in ulp. math.c holds the tools; math_erf.c,
 * math_exp.c, math_log.c, math_pow.c, math_rem.c, math_root.c, math_trig.c and math_whole.c hold
 * the functions, math_far.c the range reduction of huge arguments, math_wide.c instructions of
 * AVX-512, math_shared.c what is called and not inlined.
 */
#ifndef LOOM_MATH_H
#define LOOM_MATH_H

#include "passes/lower.h"

typedef struct math {
  lower *l; /* for flags; may be null */
  loom_builder *b;
  MlirType type, ints; /* of the lanes, and integers of the same width */
  bool f64;
  bool narrow;       /* computed in f64 for f32: the result will be rounded to f32 */
  MlirValue *raised; /* the flags of a function out of line, an i32; null: the launch's status */
} math;

/* Null when there is none for this op and type. `y` is null for unary functions. */
MlirValue lower_math(lower *l, loom_builder *b, loom_opcode code, loom_dtype dtype, MlirValue x,
                     MlirValue y);

/* The same, inlined: `m` is of x. Null when there is none for this op and type. */
MlirValue math_inline(math *m, loom_opcode code, MlirValue x, MlirValue y);

/* ---- math_shared.c: functions out of line ---- */

/* Does the kernel have so many of this op that they share one function? */
bool math_is_shared(const lower *l, loom_opcode code);
MlirValue math_shared(lower *l, loom_builder *b, loom_opcode code, MlirValue x, MlirValue y);
/* Has an earlier kernel of the module left the function or table of this name? Where something else
 * has the name, `l` fails. */
bool math_has_symbol(lower *l, const char *name);
/* A private function before the kernel, which is never inlined: its block, still empty of results,
 * is `body`, a block of its own until then. The name is to be free, or `l` fails. */
void math_add_function(lower *l, const char *name, MlirBlock body, intptr_t count,
                       const MlirValue *results);
MlirOperation math_call(loom_builder *b, const char *name, intptr_t count,
                        const MlirValue *operands, intptr_t type_count, const MlirType *types);
/* `count` results of an scf.if: those of `make` with `any` where a condition holds in any lane,
 * else those without. `m` builds in the branch. */
typedef void math_branch(math *m, bool any, const void *user, MlirValue *results);
void math_if_any(math *m, MlirValue condition, intptr_t count, const MlirType *types,
                 math_branch *make, const void *user, MlirValue *results);

/* ---- tools ---- */

math math_of(lower *l, loom_builder *b, MlirValue x);
MlirValue math_const(math *m, double value);
MlirValue math_int(math *m, int64_t value);
MlirValue math_add(math *m, MlirValue x, MlirValue y);
MlirValue math_sub(math *m, MlirValue x, MlirValue y);
MlirValue math_mul(math *m, MlirValue x, MlirValue y);
MlirValue math_div(math *m, MlirValue x, MlirValue y);
MlirValue math_fma(math *m, MlirValue x, MlirValue y, MlirValue z);
MlirValue math_scale(math *m, MlirValue x, double by);
MlirValue math_abs(math *m, MlirValue x);
MlirValue math_neg(math *m, MlirValue x);
MlirValue math_sqrt(math *m, MlirValue x);
MlirValue math_copysign(math *m, MlirValue x, MlirValue sign);
MlirValue math_test(math *m, const char *predicate, MlirValue x, double y);
MlirValue math_pick(math *m, MlirValue condition, MlirValue x, MlirValue y);
/* NaN passes; the limit is not zero. */
MlirValue math_at_least(math *m, MlirValue x, double low);
MlirValue math_at_most(math *m, MlirValue x, double high);
MlirValue math_bits(math *m, MlirValue x);
MlirValue math_from_bits(math *m, MlirValue x);
MlirValue math_iop(math *m, const char *name, MlirValue x, int64_t y);
/* c[0] + c[1] x + ...; by f32 or f64. */
MlirValue math_poly(math *m, MlirValue x, const double *c32, int n32, const double *c64, int n64);
#define MATH_POLY(M, X, NAME)                                                                      \
  math_poly(M, X, NAME##32, (int)(sizeof NAME##32 / sizeof(double)), NAME##64,                     \
            (int)(sizeof NAME##64 / sizeof(double)))
/* Raises a flag where the condition holds in any lane. */
void math_flag(math *m, MlirValue condition, uint32_t flag);
/* Replaces quarter turns and the rest (at most pi/4, a sum of two numbers) in lanes of x that are
 * `far`: finite, and beyond 2^10. */
void math_reduce_far(math *m, MlirValue x, MlirValue far, MlirValue *turn, MlirValue *rest);

/* ---- math_wide.c: by instructions of AVX-512 ---- */

/* Has the kernel's CPU 2^n x as an instruction for these lanes? With the bits, and the flags, of a
 * product that is rounded once. */
bool math_scales(const math *m);
MlirValue math_scale_by_power(math *m, MlirValue x, MlirValue n);
/* Are elements of tables of 32 floats looked up by an instruction? */
bool math_looks_up(const math *m);
/* The element whose number is in the last five bits of the integer `place`. */
MlirValue math_look_up(math *m, MlirValue place, const double *table);

/* ---- functions: x in the type of the lanes ---- */

MlirValue math_exp(math *m, MlirValue x);
/* e^(high + low) in f64, for a low of at most half an ulp of high. */
MlirValue math_exp_sum(math *m, MlirValue high, MlirValue low);
MlirValue math_exp2(math *m, MlirValue x);
MlirValue math_expm1(math *m, MlirValue x);
MlirValue math_tanh(math *m, MlirValue x);
MlirValue math_sinh(math *m, MlirValue x);
MlirValue math_cosh(math *m, MlirValue x);
MlirValue math_logistic(math *m, MlirValue x);
MlirValue math_erf(math *m, MlirValue x);
MlirValue math_log(math *m, MlirValue x);
MlirValue math_log_finite(math *m, MlirValue x); /* x positive and finite */
/* x = 2^k (1 + f) for x positive and finite: returns f. */
MlirValue math_log_split(math *m, MlirValue x, MlirValue *k);
MlirValue math_log2(math *m, MlirValue x);
MlirValue math_log10(math *m, MlirValue x);
MlirValue math_log1p(math *m, MlirValue x);
MlirValue math_asinh(math *m, MlirValue x);
MlirValue math_acosh(math *m, MlirValue x);
MlirValue math_atanh(math *m, MlirValue x);
MlirValue math_sin(math *m, MlirValue x);
MlirValue math_cos(math *m, MlirValue x);
MlirValue math_tan(math *m, MlirValue x);
MlirValue math_asin(math *m, MlirValue x);
MlirValue math_acos(math *m, MlirValue x);
MlirValue math_atan(math *m, MlirValue x);
MlirValue math_pow(math *m, MlirValue x, MlirValue y);
/* `power`, and in lanes that are `odd`, the power of x by the function of all of them: f64 only. */
MlirValue math_pow_where(math *m, MlirValue odd, MlirValue power, MlirValue x, MlirValue y);
/* The exponent that a register holds in all lanes, where x^y is made of products; 0: it is not. */
int math_whole_exponent(MlirValue y);
MlirValue math_whole(math *m, MlirValue x, MlirValue y, int exponent);
MlirValue math_atan2(math *m, MlirValue y, MlirValue x);
MlirValue math_cbrt(math *m, MlirValue x);
MlirValue math_hypot(math *m, MlirValue x, MlirValue y);
MlirValue math_fmod(math *m, MlirValue x, MlirValue y);
MlirValue math_remainder(math *m, MlirValue x, MlirValue y);
MlirValue math_floor_divide(math *m, MlirValue x, MlirValue y);
MlirValue math_nextafter(math *m, MlirValue x, MlirValue y);

#endif
