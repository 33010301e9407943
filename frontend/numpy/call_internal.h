/* Calls of NumPy's functions and methods. */
#ifndef LOOM_FRONTEND_NUMPY_CALL_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_CALL_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/size_internal.h"
#include "graph/graph.h"

typedef struct np_call {
  const char *name;
  value *const *args; /* a method's self first */
  Py_ssize_t count;
  PyObject *kwnames;
  bool method;
  PyObject *callee;  /* NULL: a method */
  bool opaque;       /* a function of the user that is marked as opaque: it is not captured */
  PyObject *sampler; /* opaque: what is called at capture in its place, or NULL */
} np_call;

/* ---- call.c: NumPy's functions and methods, rows of names.def ---- */

value *np_scalar_again(tracer *t, value *v); /* a new scalar object of the same number */
bool np_call_init(void);
bool np_has_row(PyObject *callee);
/* The plain number or text behind an instance that NumPy takes for one (a member of an IntEnum,
 * say). NULL: `v` is no such instance. */
value *np_scalar_of(tracer *t, value *v);
value *np_call_object(tracer *t, PyObject *callee, value *self, value *const *args,
                      Py_ssize_t count, PyObject *kwnames, bool *mine);
PyObject *np_lookup(const char *module, const char *name); /* a new reference; NULL: an exception */
/* Calls a pure function of NumPy on known arguments. *done is false when some argument is unknown,
 * or when the call would warn. */
value *np_fold(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count, PyObject *kwnames,
               bool *done);
/* function(*args, **kwargs) with warnings and floating-point errors ignored: a new reference. */
PyObject *np_call_quietly(PyObject *function, PyObject *args, PyObject *kwargs);
value *np_made(tracer *t, PyObject *object); /* takes over the reference */

/* ---- arguments.c: arguments ---- */

bool np_arguments_init(void);
/* Binds arguments to names ("a / b | axis dtype out": required before the bar, those before the
 * slash by position only); missing ones are NULL. False after a break. */
bool np_parse(tracer *t, const np_call *c, const char *names, value **out);
bool np_is_none(tracer *t, value *v);        /* NULL or None */
bool np_is_no_value(const PyObject *object); /* numpy._NoValue */
/* The live object of a value, borrowed, or NULL when it is not known; guards. */
PyObject *np_known(tracer *t, value *v);
/* A known bool argument; `missing` when NULL. False after a break. */
bool np_bool_arg(tracer *t, value *v, bool missing, bool *out);
/* Is this a value that NumPy takes for subok=? It changes nothing for exact arrays. */
bool np_subok_arg(tracer *t, value *v);
bool np_int_arg(tracer *t, value *v, int64_t *out);
/* An int that fits into C's int, as NumPy requires. */
bool np_c_int_arg(tracer *t, value *v, int64_t *out);
/* A known int or tuple of ints. */
bool np_ints_arg(tracer *t, value *v, int *count, int64_t *out);
/* Normalised axes as a mask and in order; None: all. AxisError or ValueError. */
bool np_axes_arg(tracer *t, value *v, int rank, uint32_t *mask);
bool np_axis(tracer *t, int64_t axis, int rank, int *out);
value *np_unsupported(tracer *t, const np_call *c, const char *what);
/* An int as a constant value. */
value *np_int(tracer *t, int64_t i);
const char *np_str_arg(tracer *t, value *v); /* a known str; NULL: none (not a failure) */

/* ---- ufunc_loop.c: what ufuncs compute ---- */

bool np_ufunc_init(void);
/* One ufunc loop on loaded operands of one shape. */
loom_value np_ufunc_loop(tracer *t, PyObject *ufunc, const loom_value *in, loom_dtype out_dtype);
PyObject *np_ufunc_object(const char *name); /* borrowed, immortal */

/* ---- ufunc.c: calls of ufuncs ---- */

value *np_ufunc_call(tracer *t, PyObject *ufunc, value *const *args, Py_ssize_t count,
                     PyObject *kwnames);
/* A ufunc by name on given operands, `out` may be NULL. */
value *np_ufunc_apply(tracer *t, const char *name, value *const *args, int count, value *out);
/* np_ufunc_apply() for an operator in the user's code: a warning names this ufunc. */
value *np_operator(tracer *t, const char *name, value *const *args, int count, value *out);
/* Is it NumPy's own ufunc, not made by np.frompyfunc() or another library? */
bool np_ufunc_is_own(const PyObject *ufunc);
/* out=: *out is NULL for none. False after a break: NumPy refuses it. */
bool np_out_arg(tracer *t, value *v, value **out);
bool np_outs_arg(tracer *t, value *v, value **out); /* a ufunc's: may be a tuple of one as well */

/* ---- write.c: results written into existing arrays ---- */

/* An operation has written `node` into `out`, which was given as out=. It reports floating-point
 * exceptions after all its writes, so that the plan may write straight into an argument. */
void np_note_given(np_array *out, loom_value node);
/* A ufunc has written `node` into the array `out`. Notes how the ufunc would report a
 * floating-point exception (numpy_report), so that the plan may write straight into an argument. */
bool np_note_report(tracer *t, PyObject *ufunc, np_array *out, loom_value node);

/* ---- inplace.c: functions that write into their first argument ---- */

/* May np.copyto give this Python number to an array of `dtype`? It makes a bool of an int by way of
 * a C long. */
bool np_takes_number(tracer *t, const np_operand *o, loom_dtype dtype, NPY_CASTING casting);
value *np_ufunc_at(tracer *t, PyObject *ufunc, const np_call *c); /* ufunc.at() */

/* ---- gradient.c: derivatives ---- */

/* Where what is evaluated will be differentiated: notes a call that the plan makes, and its result,
 * so that the rule for the function can be asked. */
void np_derivative_note(tracer *t, const np_call *c, value *result);
/* The same function in others that have derivatives (python/frameloom/_gradient_rules.py); NULL:
 * there is none, or nothing is differentiated. */
value *np_derivative_other(tracer *t, PyObject *callee);
/* Is something differentiated here, or is a function captured that does so? */
bool np_gradient_near(tracer *t);
/* Is something differentiated, and has this function of the library a derivative? */
bool np_derivative_known(tracer *t, PyObject *callee);

/* ---- apart.c: calls of the library that restore its state ---- */

/* Calls how(function, args, kwargs), and puts the error state and the warnings' filters back
 * afterwards. */
PyObject *np_call_apart(PyObject *how, PyObject *function, PyObject *args, PyObject *kwargs);

/* ---- create.c: making and converting ---- */

/* np.array and its like: the value itself, or a copy. */
value *np_to_array(tracer *t, value *v, bool typed, loom_dtype dtype, bool copy, char order);
/* casting=; false after a break or raise. */
bool np_casting_arg(tracer *t, value *v, NPY_CASTING missing, NPY_CASTING *out);
/* Raises TypeError unless the cast is allowed. */
bool np_check_cast(tracer *t, loom_dtype from, loom_dtype to, NPY_CASTING casting);

/* ---- choose.c: choosing elements ---- */

value *np_take(tracer *t, const np_call *c);
value *np_round(tracer *t, const np_call *c);

/* ---- item.c: single numbers ---- */

/* A Python bool, int or float that is known only when run. */
value *np_item(tracer *t, const np_call *c);

/* ---- slots.c: special methods called by name ---- */

/* a.__add__(b) and the like, self first. */
value *np_slot_call(tracer *t, const char *name, value *const *args, Py_ssize_t count);

/* ---- errstate.c: np.errstate inside a captured function ---- */

value *np_error_context(tracer *t, const char *name, value *const *args, bool *mine);
bool np_error_finish(tracer *t);
PyObject *np_error_state(tracer *t); /* new reference: for a row of a host call */
/* Enters a state in which kinds of exceptions that would be reported are raised: a token, or NULL.
 */
PyObject *np_error_enter(PyObject *state);
bool np_error_leave(PyObject *token); /* leaves that state; takes the token */

/* ---- scalar.c: overflow of integer scalars ---- */

/* After an operator of NumPy's scalars: notes whether it overflowed. False after a break. */
bool np_scalar_check(tracer *t, const char *name, value *const *args, int count, value *result);
bool np_scalar_finish(tracer *t);
/* To store a NumPy scalar, or a number in a list, into an array of signed integers, NumPy calls
 * Python's int(), which raises when the number does not fit. Checks that; when a number does not
 * fit, the plain function runs. False after a break. */
bool np_check_stored(tracer *t, const np_operand *o, loom_dtype dtype);

/* ---- reduce.c: reductions and scans ---- */

/* One reduction as NumPy's ufunc.reduce does it. */
typedef struct np_reduction {
  const char *kind; /* of the reduce op: sum, prod, min, max, and, or */
  np_array *a;
  uint32_t mask; /* the axes */
  bool keepdims;
  bool typed; /* dtype is given */
  loom_dtype dtype;
  value *initial, *where, *out; /* or NULL */
} np_reduction;

value *np_reduce(tracer *t, np_reduction *r);
/* A running sum, product, minimum or maximum along axis `k`. */
value *np_scan(tracer *t, np_array *a, const char *kind, int axis, loom_dtype dtype, value *out);
/* The dtype of sums: add and multiply reduce small integers in the machine's integer. */
loom_dtype np_reduce_widened(loom_dtype d);

/* ---- ufunc_method.c: methods of ufuncs ---- */

value *np_ufunc_method(tracer *t, const char *name, value *const *args, Py_ssize_t count,
                       PyObject *kwnames);

/* ---- linalg.c: matrix products ---- */

value *np_matmul(tracer *t, value *l, value *r);

/* ---- sizes.c: symbolic sizes of arrays ---- */

typedef value *(*np_handler)(tracer *t, const np_call *c);

/* Does this handler support symbolic sizes of its arguments (sizes.def)? If not, capture starts
 * again with these sizes constant: false. */
bool np_gate(tracer *t, np_handler handler, const np_call *c);

#endif
