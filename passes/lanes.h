/* Lane primitives: what a group's lowering is written against. A lane is an element of a vector on
 * a CPU and a thread on a GPU, where every lane value is a scalar (width 1).
 *
 * All of it is in lanes.c.
 */
#ifndef LOOM_LANES_H
#define LOOM_LANES_H

#include "dialects/ir.h"

typedef enum lanes_target { LANES_CPU, LANES_GPU } lanes_target;

/* ---- types and constants --------------------------------------------------------------------- */

/* The register type of one element (signless integers, i1 for bool) or, for width > 1, of a vector
 * of them. float16 and bfloat16 are f32 in registers, always a value that they have: what computes
 * one rounds it (lane_round). */
MlirType lane_type(MlirContext ctx, loom_dtype dtype, int width);
/* The type of one element in memory: lane_type but i8 for bool, i16 for float16 and bfloat16, an
 * integer of both parts for complex numbers. */
MlirType lane_memory_type(MlirContext ctx, loom_dtype dtype, int width);
/* 1 for a scalar. */
int lane_width(MlirType type);
MlirType lane_element(MlirType type);
/* The same shape of lanes with another element type. */
MlirType lane_like(MlirType shape, MlirType element);
MlirType lane_int(MlirContext ctx, unsigned bits, int width);

/* A constant in every lane, of an integer or float type, scalar or vector. */
MlirValue lane_const_int(loom_builder *b, MlirType type, int64_t value);
MlirValue lane_const_float(loom_builder *b, MlirType type, double value);
/* The nearest value that float16 or bfloat16 has, of f32 or f64: an f32, rounded once; NaN stays
 * NaN. Any other value as it is. */
MlirValue lane_round(loom_builder *b, loom_dtype dtype, MlirValue value);
/* A register as in memory, and back: another type for bool, float16 and bfloat16. */
MlirValue lane_to_memory(loom_builder *b, MlirValue value, loom_dtype dtype);
MlirValue lane_from_memory(loom_builder *b, MlirValue value, loom_dtype dtype);
/* lane_id: 0, 1, ... width - 1 as integers of this type. */
MlirValue lane_id(loom_builder *b, MlirType type);
/* A scalar in every lane; the value itself for width 1. */
MlirValue lane_splat(loom_builder *b, MlirValue scalar, int width);
MlirValue lane_extract(loom_builder *b, MlirValue vector, int lane);
/* The vector with another element in this lane. */
MlirValue lane_insert(loom_builder *b, MlirValue vector, MlirValue element, int lane);

/* ---- memory ---------------------------------------------------------------------------------- */

/* ptr + offset elements of this dtype. */
MlirValue lane_address(loom_builder *b, MlirValue ptr, MlirValue offset, loom_dtype dtype);
/* Consecutive elements; `mask` may be null (all lanes). Lanes that are off read 0. */
MlirValue lane_load(loom_builder *b, MlirValue ptr, loom_dtype dtype, int width, MlirValue mask);
MlirOperation lane_store(loom_builder *b, MlirValue value, MlirValue ptr, loom_dtype dtype,
                         MlirValue mask);
/* Elements at ptr + offsets (a vector of i64). */
MlirValue lane_gather(loom_builder *b, MlirValue ptr, MlirValue offsets, loom_dtype dtype,
                      MlirValue mask);
void lane_scatter(loom_builder *b, MlirValue value, MlirValue ptr, MlirValue offsets,
                  loom_dtype dtype, MlirValue mask);
/* Complex numbers in registers are vectors of twice as many floats, real and imaginary parts by
 * turns: of one element too. They are only moved; arithmetic is on parts (0 real, 1 imaginary). */
loom_dtype lane_part_dtype(loom_dtype dtype); /* any other dtype as it is */
MlirValue lane_part(loom_builder *b, MlirValue value, int part);
MlirValue lane_pair(loom_builder *b, MlirValue real, MlirValue imag);
/* A register for `width` lanes of pairs: one pair repeated, masks with each lane doubled. */
MlirValue lane_pair_splat(loom_builder *b, MlirValue value, int width);
MlirValue lane_pair_mask(loom_builder *b, MlirValue mask);
MlirValue lane_pair_reverse(loom_builder *b, MlirValue value);
/* Any elements of two vectors, by number; `count` of them. */
MlirValue lane_shuffle2(loom_builder *b, MlirValue x, MlirValue y, int count,
                        const int64_t *elements);
MlirValue lane_reverse(loom_builder *b, MlirValue vector);

/* ---- arithmetic ------------------------------------------------------------------------------ */

MlirValue lane_cmpi(loom_builder *b, const char *predicate, MlirValue x, MlirValue y);
MlirValue lane_cmpf(loom_builder *b, const char *predicate, MlirValue x, MlirValue y);
/* Marks a comparison as one that raises "invalid" where an operand is NaN. */
void lane_signals(loom_builder *b, MlirValue comparison);
MlirValue lane_select(loom_builder *b, MlirValue condition, MlirValue x, MlirValue y);
MlirValue lane_op1(loom_builder *b, const char *name, MlirValue x);
MlirValue lane_op2(loom_builder *b, const char *name, MlirValue x, MlirValue y);
MlirValue lane_fma(loom_builder *b, MlirValue x, MlirValue y, MlirValue z);

/* Elements of even and of odd index. */
void lane_pairs(loom_builder *b, MlirValue vector, MlirValue *even, MlirValue *odd);
/* The lower and the upper half of a vector: reducing lanes is a tree of these. */
void lane_halves(loom_builder *b, MlirValue vector, MlirValue *low, MlirValue *high);
/* Is the i1 true in any lane: a scalar i1. */
MlirValue lane_any(loom_builder *b, MlirValue condition);
/* The attribute of the number that all lanes of a register have, if it is a constant; or NULL. */
MlirAttribute lane_constant_of(MlirValue v);
/* Steps until `more` holds in no lane. Both get the values so far, and `step` replaces them: a lane
 * in which `more` does not hold is to stand still. At most LANE_CARRIED values. */
#define LANE_CARRIED 4
typedef MlirValue lane_more(loom_builder *b, const void *user, const MlirValue *values);
typedef void lane_step(loom_builder *b, const void *user, MlirValue *values);
void lane_while(loom_builder *b, int count, MlirValue *values, lane_more *more, lane_step *step,
                const void *user);

#endif
