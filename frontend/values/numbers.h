/* Python numbers that are known only when the plan runs, and what Python computes of sizes and loop
 * indices. */
#ifndef LOOM_FRONTEND_VALUES_NUMBERS_H
#define LOOM_FRONTEND_VALUES_NUMBERS_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/graph.h"

typedef struct number_series number_series;

/* ---- scalar.c: instances of Python classes over int, float, str and the like ---- */

/* The constant (number or text) behind an instance of a Python class over int, float, complex, str
 * or bytes. NULL: it is no such instance, or its class has one of the methods `hooks`, or converts
 * it to a number in a way of its own (`__float__` and the like). */
value *value_scalar_of(tracer *t, value *v, const char *const *hooks);
/* int, float, complex, str or bytes, when the type is a Python class over it; else NULL. */
PyTypeObject *scalar_base(PyTypeObject *type);
/* The constant behind an instance of such a class, or NULL. */
value *scalar_content(const value *v);
/* The constant behind an instance whose class keeps the builtin type's method `name`; else NULL. */
value *scalar_plain(tracer *t, value *v, const char *name);
/* The arguments of a function of scalar_is_taken(), with constants in place of instances. */
value **scalar_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);
/* A call of a builtin type's method through the type, self first. */
value *scalar_call(tracer *t, PyObject *descr, value *const *args, Py_ssize_t count,
                   PyObject *kwnames);
/* Does the builtin function (NULL: one of math) treat such an instance as its plain number or text?
 */
bool scalar_is_taken(tracer *t, const char *function, value *const *args, Py_ssize_t count);

/* ---- number.c: symbolic numbers ---- */

/* A number of the graph as a Python int. */
value *value_size(tracer *t, int64_t number);
/* An int, known or symbolic, as a number of the graph. False with nothing pending: it is neither,
 * or too large. */
bool value_size_of(tracer *t, value *v, int64_t *out);
/* The value of the graph behind a value_number_type. */
loom_value number_node(tracer *t, value *v);
bool number_is_size(const value *v); /* is it an int that is a number of the graph (a size)? */
value *number_to_float(tracer *t, value *v);
/* The sum of `total`, a float, and the floats and ints that follow. From Python 3.12 on it is
 * compensated (Neumaier 1974), as sum() does. *taken: how many items were added. */
value *number_sum(tracer *t, value *total, value *const *items, Py_ssize_t count,
                  Py_ssize_t *taken);
bool value_is_whole(value *v); /* is it an int, known or a size? */
/* The square root as math.sqrt() rounds it. NULL with nothing pending: `v` is a number for which
 * the graph cannot compute it. */
value *number_sqrt(tracer *t, value *v);
/* math.sin() and the like of floats that the graph computes, where derivatives are taken. The
 * result is as exact as NumPy's, but may differ from Python's in its last bits. NULL with nothing
 * pending: `name` is no such function, or no argument is such a float. */
value *number_math(tracer *t, const char *name, value *const *args, Py_ssize_t count);
/* A comparison that the graph computes: a bool of the graph. NULL with nothing pending: the graph
 * cannot. */
value *number_compare_data(tracer *t, int op, value *l, value *r);

/* ---- number_know.c: when capture has to know a symbolic number ---- */

/* The slot `ask`: capture has to know a symbolic number, as for number_know(). */
void number_ask(tracer *t, value *v);

/* ---- formula.c: numbers that Python computes of sizes, on each call ---- */

value *formula_call(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count);
/* Sets the symbols whose values formulas compute, given the values of the other symbols. */
void formula_sample(tracer *t, int64_t *symbols);

#endif
