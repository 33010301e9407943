/* Derivatives inside of a capture: what the files that compute them share. */
#ifndef LOOM_FRONTEND_NUMPY_GRADIENT_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_GRADIENT_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "graph/batch.h"
#include "graph/emit.h"
#include "graph/gradient.h"

/* ---- gradient.c: derivatives ---- */

/* The number behind a float, NumPy's float or array; LOOM_NO_VALUE: raised or broken. */
loom_value np_gradient_node(tracer *t, value *v, const char *what);
/* A value of the graph that nothing else is; LOOM_NO_VALUE of LOOM_NO_VALUE. */
loom_value np_gradient_own(tracer *t, loom_value v);
/* A value of the graph as the kind of `like`: a float, NumPy's scalar, an array. */
value *np_gradient_value(tracer *t, const value *like, loom_value node);
/* What `rule` gave for the value `of`, converted to its type; LOOM_NO_VALUE: zero, or it failed. */
loom_value np_gradient_given(tracer *t, loom_emitter *b, const char *rule, loom_value of,
                             value *given);

/* Breaks for this reason with the failure, at the line of the operation. Once before that, loops
 * are unrolled. Always NULL. */
value *np_gradient_failed(tracer *t, int reason, const loom_location *at, const loom_error *err);

#define DERIVED_ARRAYS 8 /* of a call of the library */

/* A call that the plan makes, as it was when the capture came to it. */
typedef struct np_derived {
  struct np_derived *next;
  int32_t node;
  PyObject *callee;
  const char *name;
  value *args[DERIVED_ARRAYS];
  loom_value read[DERIVED_ARRAYS]; /* the arrays among the arguments; or LOOM_NO_VALUE */
  Py_ssize_t count;                /* of positional arguments; with the keywords: */
  Py_ssize_t total;
  PyObject *kwnames;
  value *results[DERIVED_ARRAYS];
  uint32_t result_count;
  bool whole;                       /* nothing is missing above */
  loom_value asked[DERIVED_ARRAYS]; /* the rule was asked for these cotangents of the results */
  loom_value found[DERIVED_ARRAYS]; /* and gave these of the arguments */
} np_derived;

/* The call that is node number `node`; NULL: it was not noted. */
np_derived *np_derived_of(tracer *t, uint32_t node);
/* Is `v`, which the call reads, one of its arguments? Others lie in a list. */
bool np_derived_reads(const np_derived *d, loom_value v);
/* All arrays and numbers of a result, behind those that `d` has. False: there are too many, or
 * others. */
bool np_derived_leaves(value *v, np_derived *d);
/* Which result of the node the array is, -1: none. Its buffer has the dimensions in memory order;
 * `turned`: the order in which the array has them, NULL: the same (until a node is made). */
int64_t np_derived_buffer(tracer *t, const loom_node *call, value *result,
                          const loom_attr **turned);
/* A function that lives as long as the process. */
value *np_derived_function(tracer *t, PyObject *function);

/* ---- gradient_known.c: functions whose derivative the user knows ---- */

/* All calls of such functions, in the order of their nodes. */
const loom_gradient_known *np_known_rules(tracer *t, uint32_t *count);
bool np_known_rule(const loom_gradient_step *s, const loom_gradient_known *known,
                   loom_value *found);

/* For a batch: the calls inside of what is mapped, whose first element is `first`, in order, and
 * how many values np_known_values() gives of all. */
struct np_known **np_known_inside(tracer *t, loom_value first, uint32_t *count, uint32_t *values);
/* The results of a call, then what it is differentiated by. Gives their number. */
uint32_t np_known_values(tracer *t, const struct np_known *k, loom_value *out);
/* The call for all elements, given the batches of these values; LOOM_NO_VALUE: no element matters.
 */
bool np_known_batch(tracer *t, const struct np_known *one, const loom_value *found,
                    const loom_batch_ask *ask);

/* ---- batch.c: functions over a batch ---- */

/* An element of a batch, as a value of its own; LOOM_NO_VALUE: it broke. */
loom_value np_example_of(tracer *t, loom_value batch);
/* loom_batch() with what is asked for; false: `b` has failed, or it broke. */
bool np_batch_emit(tracer *t, loom_batch_ask *ask, loom_value *out, loom_emitter *b);

#endif
