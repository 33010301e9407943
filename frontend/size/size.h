/* Sizes known only when run: numbers of the graph, constant or symbolic. */
#ifndef LOOM_FRONTEND_SIZE_SIZE_H
#define LOOM_FRONTEND_SIZE_SIZE_H

#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "graph/graph.h"

/* ---- size.c: numbers of the graph, constant or symbolic ---- */

/* A size of a live array, or an int (field SIZE_OF_INT), that `s` reads: a constant `now`, or a
 * symbol with its guard. */
bool size_read(tracer *t, const source *s, size_field field, int axis, int64_t now, int64_t *out);
/* Has the float (the library's number) that `s` reads been seen to change? */
bool size_float_changes(tracer *t, const source *s);
bool size_number_changes(tracer *t, const source *s);
/* Capture has to know it: starts again. False when it is none, or has been known and changed all
 * the same. */
bool size_know_float(tracer *t, const source *s);
/* Guards that the field which `s` reads equals `number`. */
void size_guard_reads(tracer *t, const source *s, size_field field, int axis, int64_t number);
/* Every int of a program that becomes a size, a stride, an offset, a step, an axis or an index
 * passes here: false, after a break, when it is too large to be one. The library says what is wrong
 * with it. */
bool size_from_int(tracer *t, int64_t number);
bool size_op(tracer *t, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out);
bool size_minus(tracer *t, int64_t a, int64_t b, int64_t *out);
int64_t size_hint(tracer *t, int64_t number); /* its value in this very call */
/* Decided by the ranges of the symbols, else by this call's sizes and a guard: 1, 0, -1. */
int size_less(tracer *t, int64_t a, int64_t b);
int size_equal(tracer *t, int64_t a, int64_t b);
/* a / b where b divides a in this call, as a product that stays exact on others. */
bool size_divide(tracer *t, int64_t a, int64_t b, int64_t *out);
/* Starts again with a unit for a symbol that the number divides, exactly in this call; false when
 * it divides none. */
bool size_make_exact(tracer *t, int64_t number);
/* Are two sizes of types equal? When they are, but by other symbols, capture starts again with one
 * symbol. */
int size_same(tracer *t, loom_dim a, loom_dim b);
/* As a size in a type: symbolic ones are at least 2, by a guard; smaller ones have to be known.
 * Must not be negative. */
bool size_admit(tracer *t, int64_t number, loom_dim *out);
/* Capture has to know the value: it starts again with all symbols in it as constants. */
void size_know(tracer *t, int64_t number);
/* The number must not be too large for 64 bits: by a guard. False after a failure. */
bool size_exists(tracer *t, int64_t number);
/* The number as data: an int64 without dimensions. */
loom_value size_node(tracer *t, int64_t number);
/* A size that the host call made next will tell: a new symbol, which may be any number from 0 on;
 * or the number that it has turned out to have to equal, which that call checks. */
bool size_late(tracer *t, loom_dim *out);
/* The symbol behind such a size as data: an int64 that the call gives. */
void size_set_late_node(tracer *t, loom_dim size, loom_value node);
bool size_is_late(tracer *t, int64_t number);
bool size_any_late(const tracer *t); /* is there any? */
/* Is it such a size whose call has not been made yet? */
bool size_wants_node(tracer *t, loom_dim size);
/* Takes such a size to be at least 2, as code wants that has not been looked through for smaller
 * ones. */
void size_not_small(tracer *t, int64_t number);
uint64_t formula_symbols(const tracer *t, uint64_t symbols);
/* A guard of a formula: SIZE_COMPUTES, SIZE_ANSWERS. */
void size_guard_formula(tracer *t, size_guard payload);

/* ---- mark.c: mark_dynamic and mark_static ---- */

/* Takes over what mark_dynamic and mark_static said of a live array that `s` reads (mark.c). */
bool size_apply_marks(tracer *t, PyObject *array, const source *s);
PyObject *loom_py_mark(PyObject *module, PyObject *args);

/* ---- size_loop.c: numbers that depend on the index of a loop ---- */

/* The index of a loop that is captured once, 0 to count - 1: a symbol of its body, which is `index`
 * as data. False with nothing pending: there are too many. No size may depend on it. */
bool size_loop(tracer *t, int64_t count, loom_value index, int64_t *out);
bool size_is_looped(tracer *t, int64_t number); /* does it depend on one? */
/* What a number is in the first iteration of the innermost loop whose index it depends on. */
bool size_at_first(tracer *t, int64_t number, int64_t *out);
/* number + step * iteration */
bool size_at_iteration(tracer *t, int64_t number, int64_t step, int64_t iteration, int64_t *out);
/* It has to be known: the loop whose index is in it is not captured once. */
void size_blame(tracer *t, int64_t number, const char *why);

#endif
