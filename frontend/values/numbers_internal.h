/* Of numbers that are known only when the plan runs: what the files of this folder share. */
#ifndef LOOM_FRONTEND_VALUES_NUMBERS_INTERNAL_H
#define LOOM_FRONTEND_VALUES_NUMBERS_INTERNAL_H

#include "frontend/values/numbers.h"

/* ---- scalar.c: instances of Python classes over int, float, str and the like ---- */

/* Gives a live instance its constant. */
bool scalar_wrap(tracer *t, value *v);
/* Replaces operands by their constants when their classes do not override the operator. */
void scalar_operands(tracer *t, int op, value **l, value **r, bool inplace);
void scalar_compared(tracer *t, int op, value **l, value **r);
/* The constant that a key hashes and compares like; NULL: its class overrides __hash__ or __eq__.
 */
value *scalar_key(tracer *t, value *key);
/* An attribute that the builtin type implements in C. NULL with nothing pending: it is none. */
value *scalar_attr(tracer *t, value *v, PyObject *name, PyObject *descr);
/* cls(...) without the call of __init__. */
value *scalar_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);

/* ---- number_know.c: when capture has to know a symbolic number ---- */

/* Capture has to know a symbolic number: it starts again with the arguments that it depends on
 * guarded by value. */
void number_know(tracer *t, value *v);

/* ---- series.c: functions of a loop's index, computed for all iterations ---- */

value *series_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
value *series_operate(tracer *t, int op, value *l, value *r);
/* Capture has to know a value. True: it comes from a table over a loop's index, and capture starts
 * again without rolling that loop. */
bool series_blame(tracer *t, loom_value node);

/* ---- formula.c: numbers that Python computes of sizes, on each call ---- */

value *formula_operate(tracer *t, int op, value *l, value *r);
value *formula_compare(tracer *t, int op, value *l, value *r);
/* Capture has to know a formula: it starts again with the sizes that the formula reads known. */
void formula_know(tracer *t, int64_t slot);

#endif
