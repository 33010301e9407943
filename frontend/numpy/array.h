/* Arrays as values: their memory, views, layouts. */
#ifndef LOOM_FRONTEND_NUMPY_ARRAY_H
#define LOOM_FRONTEND_NUMPY_ARRAY_H

#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/values/rolled.h"
#include "graph/graph.h"
#include "runtime/runtime.h"

typedef struct np_array np_array;
#define NP_WRITTEN 8
typedef struct np_placed np_placed;

/* One block of memory as capture sees it. A write replaces `current`: no value of the graph is ever
 * changed. */
typedef struct np_storage {
  struct np_storage *next;
  const source *source; /* an array that existed before the call, or NULL: made here */
  PyObject *live;       /* that array (borrowed) */
  PyObject *list;       /* the array is made of the items of this one (borrowed); or NULL */
  value *root;          /* the array value that owns the block */
  np_placed *placed;  /* set when the block is a copy that stands for a view of NumPy's (placed.c),
                         or NULL */
  loom_value current; /* all elements, with the sizes of the root */
  uint32_t version;   /* counts writes: keys the views' cached reads */
  loom_value made; /* the value that one ufunc wrote into the whole block, when `report` is a row */
  PyObject *report; /* (name of the ufunc, frames) of the first such write; or None after another */
  bool counted;     /* a tensor's version counts a write */
  bool crossed;     /* memory of a tensor that was written as an array's */
  bool gave;        /* an operation has written into the whole array, given as out= */
  loom_value given; /* the value that it wrote */
  /* Slices of the root that share no element and cover all writes so far, with their last values;
   * or the root alone. */
  np_array *written[NP_WRITTEN];
  loom_value parts[NP_WRITTEN];
  int written_count;
} np_storage;

typedef enum view_kind {
  VIEW_ROOT,
  VIEW_SLICE,
  VIEW_TRANSPOSE,
  VIEW_RESHAPE,
  VIEW_BROADCAST,
  VIEW_PART,
  VIEW_PAIRS,    /* complex numbers as pairs of real ones, along a last dimension more */
  VIEW_COMPLEX,  /* the other way: pairs along the last dimension as complex numbers */
  VIEW_CONJ,     /* a tensor's conjugate, in the same memory */
  VIEW_DIAGONAL, /* of the last two dimensions, where a size is symbolic: read only */
  VIEW_WINDOW    /* of np.lib.stride_tricks.sliding_window_view, one axis at a time: read only */
} view_kind;

/* An array is a storage and a view of it. A view is the parent view seen through one op. */
struct np_array {
  np_storage *storage;
  np_array *parent;
  const value_type *seen_as; /* the type of its values, which are tensors; NULL: NumPy's arrays */
  view_kind kind;
  int64_t a[LOOM_MAX_RANK]; /* SLICE: starts; TRANSPOSE: perm; BROADCAST: dims; PART: 1 for the
                               imaginary one; WINDOW: the axis; DIAGONAL: its first element, of the
                               two dimensions as one */
  int64_t b[LOOM_MAX_RANK]; /* SLICE: steps; DIAGONAL: the step */
  loom_type type;
  int64_t strides[LOOM_MAX_RANK]; /* bytes, as NumPy has them */
  int64_t offset;                 /* bytes from the root's first element */
  bool scalar;                    /* a NumPy scalar, not an array */
  bool packed; /* made of a list: NumPy stores its numbers into another array one by one */
  bool writeable;
  bool warns_on_write; /* a write warns, as for arrays of np.broadcast_arrays() */
  /* A tensor that autograd does not know as a view of the root; or a view of such a one. */
  enum { ATTACHED, DETACHED, OF_DETACHED, WITH_OWN_HISTORY } detached;
  bool uncounted;  /* a tensor whose writes the root's version does not count, as t.data */
  bool conjugated; /* an odd number of VIEW_CONJ lies between it and the root */
  bool stepped;    /* its strides stay as they are when a size turns out to be 0 */
  loom_value node; /* cached read, valid while version is the storage's */
  uint32_t version;
  uint32_t known_version; /* the version of the storage at which `known` is right */
  PyObject *known;        /* the live object when the content is known (borrowed), or NULL */
};

#define NP_ROW_SMALL 65536 /* bytes of an array that may be copied so that it is a row */
#define NP_ERROR_KINDS 4

/* ---- array.c: dtypes ---- */

bool np_dtype_is_numpys(loom_dtype dtype); /* has NumPy such a dtype? */

/* ---- wrap.c: live NumPy objects as values ---- */

extern const loom_adapter loom_numpy_adapter;

/* ---- arrayvalue.c: the value type of arrays and NumPy scalars ---- */

extern const value_type np_array_value_type;

/* ---- view.c: storage and views ---- */

/* The size for the number of true elements of a mask. */
typedef struct np_mask {
  struct np_mask *next;
  loom_value mask;
  loom_dim size;
} np_mask;

typedef struct np_errors {
  int64_t state; /* two bits for each kind: kept, ignored, reported */
  int depth;     /* states that were set and not yet reset */
} np_errors;

/* The array of a value that is one, or a tensor (tensor/). */
static inline np_array *np_layout_of(const value *v) { return v->array.layout; }
bool np_is_array(const value *v); /* an array or a NumPy scalar; no tensor */
/* Makes what np_fresh() has made a value of another library whose arrays lie in memory in the same
 * way; `type` NULL: an array of NumPy. Views of it are of that type, too. */
void np_see_as(value *v, const value_type *type);
/* A new array with storage of its own. `strides` in bytes, NULL: C order. NULL when `node` is
 * LOOM_NO_VALUE. */
value *np_fresh(tracer *t, loom_value node, const int64_t *strides);
loom_value np_read(tracer *t, np_array *a);
/* Replaces the elements; `node` has a's dtype and sizes. False after a raise or break. */
bool np_write(tracer *t, np_array *a, loom_value node);
value *np_view_slice(tracer *t, np_array *a, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps);
value *np_view_transpose(tracer *t, np_array *a, const int64_t *perm);
/* A view with other sizes. The caller has asked NumPy whether there is such a view, and for its
 * strides. */
value *np_view_reshape(tracer *t, np_array *a, int rank, const int64_t *dims,
                       const int64_t *strides);
value *np_view_broadcast(tracer *t, np_array *a, int rank, const int64_t *dims);
/* All windows of `width` elements along an axis; the new last dimension goes through one. Read
 * only. */
value *np_view_window(tracer *t, np_array *a, int axis, int64_t width);

/* The view a[...]. */
value *np_view_same(tracer *t, np_array *a);
/* Complex numbers as pairs of real ones, and back (VIEW_PAIRS, VIEW_COMPLEX). */
value *np_view_pairs(tracer *t, np_array *a);
value *np_view_complex(tracer *t, np_array *a);
value *np_view_conjugate(tracer *t, np_array *a);
recipe *np_rebuild(tracer *t, value *v); /* the slot `rebuild` of arrays */
np_storage *np_storages(tracer *t);      /* all storages of the capture, the last one made first */
np_mask **np_masks(tracer *t);           /* of this capture */
struct np_derived **np_derivatives(tracer *t); /* of this capture (gradient.c) */
struct np_known **np_known_calls(tracer *t);   /* of this capture (gradient_known.c) */

/* ---- shape.c: diagonals ---- */

/* The elements (i, i + offset) of two dimensions, as the last one. */
value *np_view_diagonals(tracer *t, np_array *a, int64_t offset, int axis1, int axis2);

/* ---- late.c: sizes that depend on data ---- */

/* The numbers from 0 on below the one element of an int64 array. */
value *np_late_range(tracer *t, np_array *end);

/* ---- placed.c: tensors whose place depends on data ---- */

/* From here on a copy of elements is lent at `place` (loom_loops) as the view base[key]. False with
 * nothing pending: that is not possible. */
bool np_lend(tracer *t, value *copy, value *base, value *key, uint16_t place);
/* Has such a copy been written since it was last asked? Then base[key] has to be, too, and behind
 * that np_lend_again() is called. */
bool np_lent_is_written(value *copy, value **base, value **key);
void np_lend_again(value *copy);

/* ---- item.c: single numbers ---- */

/* The element `node`, which has no dimensions, as a Python number that is known only when
 * run. */
value *np_python_number(tracer *t, loom_value node);

/* ---- sizes.c: symbolic sizes of arrays ---- */

struct numpy_array_payload;
int64_t np_times(tracer *t, int64_t a, int64_t b); /* of numbers of the graph */
int64_t np_plus(tracer *t, int64_t a, int64_t b);
int64_t np_in_elements(tracer *t, int64_t bytes, loom_dtype dtype);
/* Are all sizes equal? Symbolic ones are made one symbol. False after a failure too. */
bool np_same_sizes(tracer *t, const loom_type *a, const loom_type *b);
bool np_is_symbolic(const np_array *a);
/* The type and strides (bytes) of a live array with the symbols that its sizes are; guards them,
 * and puts them into the payload. */
bool np_sizes_read(tracer *t, const source *s, struct numpy_array_payload *p, loom_type *type,
                   int64_t *strides);

#endif
