/* Python numbers that are known only when run, and what is computed of sizes and indices. */
#ifndef LOOM_FRONTEND_VALUES_NUMBERS_H
#define LOOM_FRONTEND_VALUES_NUMBERS_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

typedef struct number_series number_series;

/* ---- scalar.c: instances of Python classes over int, float, str and the like ---- */

/* The constant that an instance of a Python class over int, float, complex, str or bytes is; NULL:
 * it is none, or its class has one of these attributes. */
value *value_scalar_of(tracer *t, const value *v, const char *const *hooks);
PyTypeObject *
scalar_base(PyTypeObject *type);       /* which of these it is a Python class over, or NULL */
value *scalar_content(const value *v); /* the constant that an instance is, or NULL */
bool scalar_wrap(tracer *t, value *v); /* of a live one */
value *scalar_plain(tracer *t, value *v, const char *name); /* its constant if so, or NULL */
/* Puts the constants in the place of operands whose classes leave the operation alone. */
void scalar_operands(tracer *t, int op, value **l, value **r, bool inplace);
void scalar_compared(tracer *t, int op, value **l, value **r);
value *scalar_key(tracer *t,
                  value *key); /* the constant that it hashes and compares like, or NULL */
/* The arguments of such a function, with the constants in the places where it takes them for that.
 */
value **scalar_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);
value *scalar_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                   PyObject *kwnames); /* self first */
/* An attribute that the builtin type keeps in C; NULL with nothing pending: it is none. */
value *scalar_attr(tracer *t, value *v, PyObject *name, PyObject *descr);
/* Is any of the arguments such an instance, to be taken by the builtin function (NULL: of math) for
 * its number or text? */
bool scalar_is_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);
value *scalar_make(tracer *t, PyObject *cls, value *const *args, Py_ssize_t count,
                   PyObject *kwnames); /* cls(...), but for __init__ */

/* ---- number.c: symbolic numbers ---- */

/* As a Python int. */
value *value_size(tracer *t, int64_t number);
/* An int that is known, or a symbolic one: false with nothing pending when it is neither (or too
 * large). */
bool value_size_of(tracer *t, value *v, int64_t *out);
loom_value number_node(tracer *t, value *v); /* the value of a value_number_type */
bool number_is_size(const value *v);         /* an int that is a number of the graph */
void number_ask(tracer *t, value *v);        /* capture has to know its value */
/* A symbolic number has to be known after all: capture starts again with the arguments behind it
 * guarded by value. */
void number_know(tracer *t, value *v);
value *number_to_float(tracer *t, value *v);
/* `total`, a float, and the floats and ints behind it, with what the additions of floats round off
 * (Neumaier 1974), as sum() does from 3.12 on; *taken: so many of them. */
value *number_sum(tracer *t, value *total, value *const *items, Py_ssize_t count,
                  Py_ssize_t *taken);
bool value_is_whole(value *v); /* an int: a size, or one that is known */
/* The square root of a size, which is rounded as math.sqrt() does. NULL with nothing pending: of no
 * other number. */
value *number_sqrt(tracer *t, value *v);
/* A comparison that is left to the graph; NULL with nothing pending: it cannot be. */
value *number_compare_data(tracer *t, int op, value *l, value *r);

/* ---- series.c: functions of a loop's index, computed for all iterations ---- */

value *series_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
value *series_operate(tracer *t, int op, value *l, value *r);
bool series_blame(tracer *t, loom_value node); /* it is of a table, and has to be known */

/* ---- formula.c: numbers that Python computes of sizes, on each call ---- */

value *formula_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
value *formula_operate(tracer *t, int op, value *l, value *r);
value *formula_compare(tracer *t, int op, value *l, value *r);
void formula_know(tracer *t, int64_t slot); /* it has to be known: so have the sizes behind it */
/* Symbols that formulas give, in a sample where the others are these. */
void formula_sample(tracer *t, int64_t *symbols);

#endif
