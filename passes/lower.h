/* Lowering of kernels: shared between loom-schedule and loom-lower.
 *
 * A kernel computes its results over a domain, a box of loop variables. Every value inside is a
 * function of an index, one affine form of the variables for each dimension (or an opaque value
 * where it is not affine), so that views cost nothing: they only change the index on the way to the
 * loads. Values are made on demand, from the yields backwards, each at the outermost loop at which
 * all that it depends on is known, as a scalar where no lane differs.
 *
 * Extents, coefficients, offsets and strides are numbers that may be symbolic (ir.h): the kernel
 * reads the symbols from its parameters, behind the scalars, and computes what it needs of them.
 *
 * Sections by file: lower_kernel.c (parsing), lower_index.c (index forms, views), lower_emit.c
 * (values on demand), lower_scalar.c and lower_integer.c (arithmetic of one op), lower_nest.c
 * (loops), lower_plan.c (which loops), lower_reduce.c, lower_scan.c, lower_save.c (values kept in
 * scratch), lower_tile.c (transposed operands), lower_box.c (parts of the domain), lower_mix.c
 * (interleaved results), lower_move.c, lower.c (functions and stages).
 */
#ifndef LOOM_LOWER_H
#define LOOM_LOWER_H

#include "passes/lower_index.h"

/* ---- lower_emit.c ---------------------------------------------------------------------------- */

void lower_init(lower *l, const lower_kernel *kernel, loom_arena *arena, bool dry);
/* Reports that `op` cannot be lowered and marks `l` as failed; false. */
bool lower_fail(lower *l, MlirOperation op, const char *text);
/* In a checked kernel (loom-check) the code made from here on has this op (or none, null) in its
 * location. */
void lower_locate(lower *l, MlirOperation op);
/* A builder that appends to the scope of this level. */
loom_builder lower_at_level(const lower *l, int level);
/* The value of a tensor at an index. Null after a failure. */
lower_value lower_emit(lower *l, MlirValue value, const lower_at *at);
/* Fixes the value of a tensor at an index (null: at any index), for what a reduction or an earlier
 * loop has made. */
void lower_bind(lower *l, MlirValue value, const lower_at *at, lower_value is);
/* Stores every result of the kernel at `at`, where `value`, what it computes in a way of its own
 * (a product, a convolution), is known. */
void lower_finish(lower *l, MlirValue value, const lower_at *at, lower_value is);
/* Keeps what was made for an index for as long as its scope is open. */
void lower_remember(lower *l, MlirValue value, const lower_at *at, lower_value is);
/* Every lane of a value as the current width wants it. */
MlirValue lower_wide(lower *l, lower_value value);
/* The operand `v` of `op` as LLVM is to see it. If the op may raise a floating-point exception and
 * `v` is made of constants alone, LLVM would fold the op and the exception would be lost: such an
 * operand is frozen (targets/x86/fence.c removes the freeze). */
MlirValue lower_opaque(loom_builder *b, MlirOperation op, MlirValue v);
/* Masked-off lanes get the value of lane 0, so that they raise no exception that it does not. */
MlirValue lower_repeat_first(lower *l, loom_builder *b, MlirValue value);
/* status |= flag where the condition (a value of i1) holds in any lane. */
void lower_flag(lower *l, lower_value condition, uint32_t flag);
/* `flag` where the condition holds in any lane, else 0: an i32. */
MlirValue lower_flag_bits(loom_builder *b, MlirValue condition, uint32_t flag);
/* status |= bits, an i32. */
void lower_flag_add(lower *l, loom_builder *b, MlirValue bits);
/* The scope whose block the builder appends to; 0: it is none. */
int lower_level_of(const lower *l, const loom_builder *b);
/* A number, symbolic ones too, as i64 at the outermost scope. */
lower_value lower_int(lower *l, int64_t value);
/* lower_int() as a divisor: at least 1, so that a kernel without elements does not divide by zero.
 */
lower_value lower_divisor(lower *l, int64_t value);
/* lower_int() as an integer of this type, in every lane. */
MlirValue lower_int_like(lower *l, loom_builder *b, MlirType type, int64_t value);

/* ---- emit_memory.c: loads and stores --------------------------------------------------------- */

/* Stores to result number `result` at an index. */
void lower_store(lower *l, int result, const lower_at *at, lower_value value);

/* ---- lower_move.c: pad, concatenate, update_slice, gather, iota ------------------------------ */

/* The value of a tensor at an index, and zero where the index lies outside of the tensor. */
lower_value lower_emit_or_zero(lower *l, MlirValue value, const lower_at *at);
lower_value lower_emit_move(lower *l, MlirOperation op, loom_opcode code, const lower_at *at);

/* ---- lower_random.c: Philox ------------------------------------------------------------------ */

lower_value lower_emit_random(lower *l, MlirOperation op, const lower_at *at);

/* ---- lower_integer.c: functions whose steps depend on the elements ------------------------ */

MlirValue lower_int_power(loom_builder *b, MlirValue x, MlirValue y);
/* Of x and y without signs. */
MlirValue lower_int_gcd(loom_builder *b, MlirValue x, MlirValue y, int bits);

/* ---- lower_scalar.c: arithmetic of one op on registers --------------------------------------- */

/* `dtype`: of the operands; `args` have one shape of lanes. Null when there is none for this dtype.
 */
MlirValue lower_scalar(lower *l, loom_builder *b, MlirOperation op, loom_opcode code,
                       loom_dtype dtype, MlirValue *args);
/* `l` takes the invalid flag of a float that fits no integer. */
MlirValue lower_convert(lower *l, loom_builder *b, MlirValue value, loom_dtype from, loom_dtype to);
/* sum, prod, min, max, and, or of two registers. */
MlirValue lower_combine(loom_builder *b, const char *kind, loom_dtype dtype, MlirValue x,
                        MlirValue y);
/* Rough instructions a lane of an op on this dtype: the column `cost` of the op table. */
int lower_cost(loom_opcode code, loom_dtype dtype);

/* ---- lower_nest.c: building loops ------------------------------------------------------------ */

/* Orders and folds the variables of a bit set by the accesses of a dry run. */
void lower_nest_build(const lower *l, uint32_t vars, lower_nest *out);

typedef void (*lower_body)(lower *l, void *user, const MlirValue *carried, MlirValue *next);

/* scf.for over [low, high) by `step` (i64 values) around a scope; `var` (or -1) takes the induction
 * variable. Carried values start as `inits`; their last values go to `out`. */
void lower_for(lower *l, MlirValue low, MlirValue high, MlirValue step, int var, int carried,
               const MlirValue *inits, lower_body body, void *user, MlirValue *out);
void lower_if(lower *l, MlirValue condition, lower_body body, void *user);
/* An scf.if for each of the two. */
void lower_if_else(lower *l, MlirValue condition, lower_body body, lower_body otherwise,
                   void *user);
void lower_push(lower *l, MlirBlock block);
void lower_pop(lower *l);

/* The lane loop over [low, high): its whole vectors, then the rest. `low` is a multiple of the
 * width. In a masked tail carried values have full width and `mask` is set; in a scalar tail the
 * width is 1, and carried values are scalars. */
MlirValue lower_lane_split(lower *l, const lower_lanes *lanes, MlirValue high);
void lower_lane_main(lower *l, const lower_lanes *lanes, MlirValue low, MlirValue split,
                     int carried, const MlirValue *inits, lower_body body, void *user,
                     MlirValue *out);
void lower_lane_tail(lower *l, const lower_lanes *lanes, MlirValue split, MlirValue high,
                     int carried, const MlirValue *inits, lower_body body, void *user,
                     MlirValue *out);

/* Gives the variables of all loops but the last their values for one row, counted in C order. */
void lower_row_vars(lower *l, const lower_nest *nest, int loops, MlirValue row);

/* A place among the scopes that has been left for an outer one. */
typedef struct lower_outer {
  lower_scope scopes[LOWER_SCOPES];
  int depth, lane_var, width;
  MlirValue mask;
} lower_outer;
/* Goes to an outer scope, out of the lanes unless `lanes`; and back. */
void lower_leave(lower *l, int level, bool lanes, lower_outer *saved);
void lower_return(lower *l, const lower_outer *saved);

/* ---- lower_reduce.c -------------------------------------------------------------------------- */

/* Finds the reductions of a kernel; false after a diagnostic. */
bool lower_reduce_collect(lower *l);
lower_value lower_emit_reduce(lower *l, MlirOperation op, const lower_at *at);
/* To be called when a group has its lanes. May give it other lanes, so that it adds in NumPy's
 * order. */
void lower_reduce_order(lower *l, lower_group *g);

/* ---- reduce_parts.c: reductions in several chunks -------------------------------------------- */

/* Lays out the slots of a split plan. */
void lower_reduce_slots(lower *l);
/* Reduces one part of a row, or of a block of columns [low, high), into the slots. */
void lower_reduce_part(lower *l, MlirValue low, MlirValue high);

/* ---- lower_scan.c ---------------------------------------------------------------------------- */

bool lower_scan_collect(lower *l);
bool lower_scan_domain(lower *l, loom_type *domain, uint32_t *axis_set);
lower_value lower_emit_scan(lower *l, MlirOperation op, const lower_at *at); /* dry runs only */
/* What a scan begins with, at the width of `l`. */
MlirValue lower_scan_identity(lower *l, MlirOperation op, loom_dtype dtype);
loom_dtype lower_scan_dtype(MlirOperation op);
/* What comes later and what came before, of a scan; null after a failure. */
MlirValue lower_scan_join(lower *l, loom_builder *b, MlirOperation op, MlirValue later,
                          MlirValue before);
/* Stores the results of the element at hand, whose scans are bound. */
void lower_scan_store(lower *l);
/* The loop along the axis: makes and stores all results of a row. */
void lower_scan_loop(lower *l);

/* ---- lower_save.c ---------------------------------------------------------------------------- */

/* Chooses the values that are kept in scratch between two passes over a row. */
void lower_save_find(lower *l);
/* Brackets the code of one pass over a row; returns the phase around it. */
int lower_phase_open(lower *l);
void lower_phase_close(lower *l, int outer);
/* The entry of a value that is to be saved at this index, or NULL. */
lower_saved *lower_save_of(lower *l, MlirValue value, const lower_at *at);
lower_value lower_save_load(lower *l, const lower_saved *saved);
void lower_save_store(lower *l, lower_saved *saved, lower_value value);

/* ---- lower_mix.c ----------------------------------------------------------------------------- */

/* Takes a short innermost loop out of the nest, where results can be interleaved along it: lanes
 * run along the loop around it, and vectors of results are shuffled into each other. */
void lower_mix_find(lower *l);
void lower_mix_body(lower *l);

/* ---- lower_box.c ----------------------------------------------------------------------------- */

/* Divides the domain where that decides guards; the plan's loops are known. */
void lower_box_find(lower *l);
/* The lanes [low, high) of a row, box by box. */
void lower_box_unit(lower *l, MlirValue low, MlirValue high, lower_body body);

/* ---- lower_tile.c ---------------------------------------------------------------------------- */

/* Finds operands to turn in tiles; the plan's loops are known. */
void lower_tile_find(lower *l);
int64_t lower_tile_scratch(const lower *l);
int64_t lower_tile_units(const lower_plan *plan);
void lower_tile_unit(lower *l, MlirValue unit, lower_body body);
/* Where a turned operand's element at the current lane and row lies, and what it is copied as. */
MlirValue lower_tile_source(lower *l, loom_builder *b, const lower_access *a);
loom_dtype lower_tile_dtype(const lower_access *a);
/* Transposes `size` registers of `size` elements by the instructions that work within 128-bit lanes
 * first, then on whole lanes. `order[i]`: the column that register i holds then. */
void lower_turn(loom_builder *b, MlirValue *rows, int size, int bytes, int *order);
/* Units of a kernel with panels of operands, each of `rows` rows; and what one of them does. */
int64_t lower_panel_units(const lower_plan *plan, int64_t rows);
void lower_panel_unit(lower *l, MlirValue unit, int64_t rows, lower_body body);
/* Reads an operand from its panel; false when it has none. */
bool lower_panel_load(lower *l, int operand, const lower_at *at, lower_value *out);

/* ---- lower_plan.c: how a kernel loops -------------------------------------------------------- */

/* Plans the loops by a dry run; both loom-schedule and loom-lower start with it. */
bool lower_plan_make(lower *l, lower_plan *out);
/* Does any result have the reduced variables too? */
bool lower_plan_any_full(const lower *l);
/* The loops over kept variables whose rows are the units of a kernel (all of them, or all but the
 * lane loop), and how many rows these are. */
int lower_plan_row_loops(const lower_plan *plan);
int64_t lower_plan_rows(const lower_plan *plan);

/* ---- the schedule (schedule.c makes it, lower.c follows it) ---------------------------------- */

/* A unit is `block` lanes of one row; a chunk is `units` units. `join`: columns of a chunk that
 * joins the parts of split columns. */
typedef struct lower_schedule {
  int width, reduce_width;
  lower_tail tail;
  int64_t block, blocks, units, chunks, splits, split_size, join;
  int team;  /* a GPU's threads of one unit; 0: a thread runs a chunk (gpu.h) */
  int teams; /* of a block that share the rows of a unit's columns; 0, 1: none do */
} lower_schedule;

/* Is this the stage that joins the parts of a split reduction and does nothing else? Then `s` gets
 * the blocks of that stage. */
bool lower_schedule_join(const lower *l, int stage, lower_schedule *s);

/* Reads the schedule and gives the plan its widths. */
bool lower_schedule_read(lower *l, lower_schedule *out);
lower_tail lower_tail_for(const lower *l, int64_t extent, int width);

#endif
