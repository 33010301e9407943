/* Live NumPy arrays, without values: this header alone includes NumPy's own. */
#ifndef LOOM_FRONTEND_NUMPY_H
#define LOOM_FRONTEND_NUMPY_H

#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"

#define NPY_TARGET_VERSION NPY_2_0_API_VERSION
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define PY_ARRAY_UNIQUE_SYMBOL loom_numpy_array_api
#define PY_UFUNC_UNIQUE_SYMBOL loom_numpy_ufunc_api
#ifndef LOOM_NUMPY_IMPORTS /* array.c imports the tables, all other files use them */
#define NO_IMPORT_ARRAY
#define NO_IMPORT_UFUNC
#endif
#include <numpy/arrayobject.h>
#include <numpy/arrayscalars.h>
#include <numpy/ufuncobject.h>

/* Flags of a payload. A guard demands that each bit of flags_mask is as in `flags`. The first three
 * are NumPy's own bits; no header of NumPy declares the third. */
enum {
  NUMPY_ALIGNED = NPY_ARRAY_ALIGNED,     /* aligned for its dtype */
  NUMPY_WRITEABLE = NPY_ARRAY_WRITEABLE, /* guards: see flags_mask; results and views */
  NUMPY_WARNS = INT32_MIN,               /* a write warns, as for arrays of np.broadcast_arrays() */
  NUMPY_SYMBOLIC =
      16, /* some sizes, strides (in bytes) or the offset are symbolic numbers of the graph */
  NUMPY_PYTHON = 4,           /* RECIPE_SCALAR: a Python bool, int or float, not a NumPy scalar */
  NUMPY_STEPPED = 64,         /* views: strides stay as they are when there are no elements */
  NUMPY_SCALAR = 32,          /* RECIPE_ROW: a NumPy scalar, not an array without dimensions */
  NUMPY_TENSOR = 128,         /* a tensor of torch (tensor/) */
  NUMPY_DETACHED = 8,         /* RECIPE_VIEW: a tensor that autograd does not know as a view */
  NUMPY_OF_DETACHED = 512,    /* the same: a view of such a tensor */
  NUMPY_OVER_ARRAY = 1 << 13, /* RECIPE_VIEW: a tensor over an array, which torch does not know */
  NUMPY_VIEWED = 1 << 14,     /* RECIPE_VIEW: a view of such a one */
  NUMPY_UNCOUNTED = 1 << 15,  /* with one of the two: its writes are no writes of the tensor's */
  NUMPY_CONJUGATED = 4096,    /* RECIPE_VIEW: a tensor whose memory holds the conjugates */
  NUMPY_INFERENCE = 2048      /* guards: a tensor that was made in inference mode */
};

/* ---- array.c: live arrays ---- */

/* The flat description of an array. It is the payload of
 * - GUARD_ARRAY: an exact ndarray of this type number, in native byte order, without metadata, with
 *   these dims, strides and flags;
 * - RECIPE_OUTPUT: the new array, whose strides are those of the graph's output;
 * - RECIPE_SCALAR: typenum and flags only;
 * - RECIPE_VIEW: a view of items[0], whose element [0, ...] lies `offset` bytes after the base's.
 *
 * Strides are compared exactly, also along a dimension of one element, since results show them. */
typedef struct numpy_array_payload {
  loom_dtype dtype;
  int typenum; /* NPY_LONG and NPY_LONGLONG differ, though both are LOOM_I64 */
  int nd;
  uint32_t flags, flags_mask; /* NUMPY_...; mask: bits of `flags` that a guard compares */
  npy_intp offset;            /* bytes; RECIPE_VIEW */
  npy_intp dims[LOOM_MAX_RANK];
  npy_intp strides[LOOM_MAX_RANK]; /* bytes */
} numpy_array_payload;

/* Entries of the adapter's table (captured/adapter.h), which an adapter of arrays like NumPy's has,
 * too. */
void *numpy_array_data(PyObject *array);
PyObject *numpy_array_new_output(const void *payload, const loom_graph *graph,
                                 const int64_t *symbols, void **data);
PyObject *numpy_array_view(PyObject *base, const void *payload, const loom_graph *graph,
                           const int64_t *symbols);
PyObject *numpy_array_words(PyObject *name, const void *payload);
/* A payload with the values of its symbolic numbers in this call; NULL when one overflows. */
const numpy_array_payload *numpy_array_resolve(const numpy_array_payload *p,
                                               const loom_graph *graph, const int64_t *symbols,
                                               numpy_array_payload *out);
/* Adds the axes whose sizes differ, and gives those whose strides do so otherwise than new sizes
 * explain. */
void numpy_sizes_differ(const numpy_array_payload *now, const numpy_array_payload *guarded,
                        uint32_t *sizes, uint32_t *strides);
/* The memory of an array of another library, from its first byte to behind its last one; false: the
 * object is none of its arrays. NULL before that library is there. */
extern bool (*numpy_other_extent)(PyObject *object, const char **low, const char **high);

/* ---- write.c: results written into existing arrays ---- */

bool numpy_array_write(PyObject *target, const loom_type *type, const int64_t *strides,
                       const void *data, bool uncounted);
void *numpy_array_direct(PyObject *target, const loom_type *type, const int64_t *strides,
                         bool uncounted);

#endif
