/* Functions of the library that the plan calls. */
#ifndef LOOM_FRONTEND_NUMPY_HOST_CALL_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_HOST_CALL_INTERNAL_H

#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/call_internal.h"
#include "graph/graph.h"

#define NP_HOST_ARRAYS 16

/* A host call being put together: its operands in the order of the holes in its arguments. */
typedef struct np_host_call {
  PyObject *inputs; /* list of specs */
  loom_value operands[NP_HOST_ARRAYS];
  uint32_t count;
  int64_t values[LOOM_MAX_SYMBOLS]; /* of the symbols, for samples */
  int64_t numbers[NP_HOST_ARRAYS];  /* Python ints among the arguments that are symbolic */
  uint32_t number_count;
} np_host_call;

/* ---- late.c: results whose sizes depend on data ---- */

/* array[mask], and array[mask] = vector: the size depends on data. NULL or false with nothing
 * pending: it is something else. */
value *np_mask_get(tracer *t, value *v, value *key);
value *np_nonzero(tracer *t, const np_call *c); /* the indices of what is not 0, in a host call */
/* Does the function neither warn nor report floating-point exceptions? */
bool np_host_is_quiet(PyObject *callable);

/* ---- host.c: host calls: library functions inside the plan ---- */

/* Does each array of a result share elements neither with an argument nor with another array of it?
 * Then each gets storage of its own. */
bool np_is_fresh(PyObject *args, PyObject *kwargs, PyObject *result);
/* Does each array of a result (also in tuples and lists) have a stretch of memory for itself? */
bool np_is_apart(PyObject *result);
/* The one result, of a known type, of callable(*args), where `args` is a tuple with holes. */
loom_value np_host_emit(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                        const loom_type *type);
/* Results with sizes that only the call determines (size_late). The first result, LOOM_NO_VALUE
 * after a failure. */
loom_value np_host_emit_late(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                             PyObject *kwargs, const loom_type *types, uint32_t count);
/* A pure function that gives vectors of one size, which depends on data. Result number `whole` has
 * the sizes of the first argument instead. */
value *np_host_vectors(tracer *t, const np_call *c, int whole);
value *np_host(tracer *t, const np_call *c); /* a host call of any pure function of the library */
/* Functions that NumPy has in Python. np_whole(): captured through their Python code, or a host
 * call where sizes are symbolic. np_whole_or_known(): called at capture when all arguments are
 * known. */
value *np_whole(tracer *t, const np_call *c);
value *np_histogramdd(tracer *t, const np_call *c);
value *np_whole_or_known(tracer *t, const np_call *c);
/* A host call of a function of the user that is not captured. */
value *np_opaque(tracer *t, PyObject *callable, PyObject *fake, const char *name,
                 value *const *args, Py_ssize_t count, PyObject *kwnames);

/* ---- host_sample.c: samples for host calls ---- */

bool np_host_init(np_host_call *h);
void np_host_fini(np_host_call *h);
/* The hole that stands for the array (or NumPy scalar) among the arguments: a new reference, or
 * NULL. */
PyObject *np_host_hole(tracer *t, np_host_call *h, np_array *a);
/* np_host_hole() for any value: a known one stands for itself; tuples and lists may hold arrays. */
PyObject *np_host_item(tracer *t, np_host_call *h, value *v);

/* ---- host_run.c: a host call when the plan runs ---- */

/* What fills a hole. */
typedef enum np_hole { HOLE_ARRAY, HOLE_SCALAR, HOLE_NUMBER /* Python's own */ } np_hole;

PyObject *np_host_mark(np_hole hole); /* borrowed: the hole itself */
int np_host_run(void *context, const char *name, uint32_t slot, void **buffers, uint32_t reads,
                uint32_t count, int64_t *symbols, PyObject **kept);

/* ---- lapack.c: small systems of linear equations ---- */

/* Matrices in C order of double (`wide`) or float: `a` of n rows and columns, `b` of n rows (NULL:
 * the identity), `out` like `b`. */
typedef struct np_lapack_call {
  bool wide;
  int64_t n, columns;
  const void *a, *b;
  void *out;
} np_lapack_call;
/* Is it np.linalg.solve() (2 operands) or np.linalg.inv() (1)? Else 0. */
int np_lapack_operands(PyObject *callable);
/* Solves a x = b. False: NumPy has to do it, which may raise. */
bool np_lapack_run(const np_lapack_call *c);

#endif
