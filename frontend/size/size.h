/* Sizes as numbers of the graph, constant or symbolic. */
#ifndef LOOM_FRONTEND_SIZE_SIZE_H
#define LOOM_FRONTEND_SIZE_SIZE_H

#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "graph/graph.h"

/* ---- size.c: numbers of the graph, constant or symbolic ---- */

/* A size of a live array, or an int (field SIZE_OF_INT), that `s` reads, `now` in this call: that
 * constant with its guard, or a symbol. */
bool size_read(tracer *t, const source *s, size_field field, int axis, int64_t now, int64_t *out);
/* Has the float that `s` reads changed between calls? size_number_changes() asks it of a number of
 * an array library. */
bool size_float_changes(tracer *t, const source *s);
bool size_number_changes(tracer *t, const source *s);
/* Capture has to know the value of the float or number: it starts again. False: it is no input of
 * the graph, or was known once and changed all the same. */
bool size_know_float(tracer *t, const source *s);
/* Guards that the field that `s` reads equals `number`. */
void size_guard_reads(tracer *t, const source *s, size_field field, int axis, int64_t number);
/* Every int of a program that becomes a size, a stride, an offset, a step, an axis or an index
 * passes here. False, after a break: it is too large to be one, and the library has to raise its
 * error. */
bool size_from_int(tracer *t, int64_t number);
bool size_op(tracer *t, loom_expr_kind kind, int64_t a, int64_t b, int64_t *out);
bool size_minus(tracer *t, int64_t a, int64_t b, int64_t *out);
int64_t size_hint(tracer *t, int64_t number); /* its value in the call that is captured */
/* Comparisons of numbers: decided by the ranges of the symbols, else by this call's sizes and a
 * guard. 1, 0, or -1: a failure is pending. */
int size_less(tracer *t, int64_t a, int64_t b);
int size_equal(tracer *t, int64_t a, int64_t b);
/* Are two sizes of types equal? If they are equal by two different symbols, capture starts again
 * with one symbol for both. */
int size_same(tracer *t, loom_dim a, loom_dim b);
/* `number`, which must not be negative, as a size in a type. A symbolic size is at least 2, by a
 * guard; capture has to know smaller ones. */
bool size_admit(tracer *t, int64_t number, loom_dim *out);
/* Capture has to know the value: it starts again with all symbols in it constant. */
void size_know(tracer *t, int64_t number);
/* The same, for a reason that explain() shows. */
void size_know_since(tracer *t, int64_t number, const char *why);
/* The number as data: an int64 without dimensions. */
loom_value size_node(tracer *t, int64_t number);
/* A size that the next host call determines (a "late" size): a new symbol from 0 on. Or, after a
 * restart, the number that it has turned out to equal, which the host call checks. */
bool size_late(tracer *t, loom_dim *out);
/* Notes the value of the graph, an int64 result of the host call, that is the late size. */
void size_set_late_node(tracer *t, loom_dim size, loom_value node);
bool size_is_late(tracer *t, int64_t number);
bool size_any_late(const tracer *t); /* are there late sizes in this capture? */
/* Is it a late size whose host call is still to come? */
bool size_wants_node(tracer *t, loom_dim size);
/* Assumes that a late size is at least 2, for code that has not been checked with smaller ones. */
void size_not_small(tracer *t, int64_t number);
/* `symbols`, and those that the formulas among them are computed from. */
uint64_t formula_symbols(const tracer *t, uint64_t symbols);
/* Adds a guard on a formula: SIZE_COMPUTES or SIZE_ANSWERS. */
void size_guard_formula(tracer *t, size_guard payload);

/* ---- size_sum.c: numbers as sums of products ---- */

/* a / b where b divides a in this call, as a product that is exact in other calls, too. */
bool size_divide(tracer *t, int64_t a, int64_t b, int64_t *out);
/* Capture starts again with a unit for a symbol, so that the division is exact in every call.
 * False: `number` divides no symbol. */
bool size_make_exact(tracer *t, int64_t number);
/* Guards that the number fits into 64 bits. False after a failure. */
bool size_exists(tracer *t, int64_t number);

/* ---- mark.c: mark_dynamic and mark_static ---- */

/* Applies what mark_dynamic() and mark_static() said of a live array that `s` reads. */
bool size_apply_marks(tracer *t, PyObject *array, const source *s);
PyObject *loom_py_mark(PyObject *module, PyObject *args);
/* The sizes of what `s` reads are constants until they change, even with dynamic=True: they belong
 * to a model, and most of them would have to be known after all, each in a capture of its own. */
bool size_hold(tracer *t, const source *s, int rank);

/* ---- size_loop.c: numbers that depend on the index of a loop ---- */

/* A symbol for the index, 0 to count - 1, of a loop that is captured once; `index` is the same as
 * data. No size may depend on it. False with nothing pending: there are too many symbols. */
bool size_loop(tracer *t, int64_t count, loom_value index, int64_t *out);
bool size_is_looped(tracer *t, int64_t number); /* does it depend on the index of a loop? */
/* The value of a number in the first iteration of the innermost loop whose index it depends on. */
bool size_at_first(tracer *t, int64_t number, int64_t *out);
/* number + step * iteration */
bool size_at_iteration(tracer *t, int64_t number, int64_t step, int64_t iteration, int64_t *out);
/* Capture has to know a number: it starts again without rolling the loop whose index the number
 * depends on. */
void size_blame(tracer *t, int64_t number, const char *why);

#endif
