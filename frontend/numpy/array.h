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
  enum { ATTACHED, DETACHED, OF_DETACHED } detached;
  bool stepped;    /* its strides stay as they are when a size turns out to be 0 */
  loom_value node; /* cached read, valid while version is the storage's */
  uint32_t version;
  uint32_t known_version; /* the version of the storage at which `known` is right */
  PyObject *known;        /* the live object when the content is known (borrowed), or NULL */
};

#define NP_ROW_SMALL 65536 /* bytes of an array that may be copied so that it is a row */
#define NP_ERROR_KINDS 4

/* ---- wrap.c: live NumPy objects as values ---- */

extern const loom_adapter loom_numpy_adapter;

/* ---- emit.c: nodes of the graph ---- */

loom_attr attr_int(int64_t i);
loom_attr attr_ints(const int64_t *ints, int32_t count);
loom_attr attr_str(const char *text);
/* A type with static sizes. */
loom_type type_make(loom_dtype dtype, int rank, const int64_t *dims);
const loom_type *emit_type(tracer *t, loom_value v);
loom_value emit_constant(tracer *t, const loom_type *type, uint64_t bits);
/* The bits of one element. */
uint64_t emit_bits(loom_dtype dtype, loom_cell cell);
loom_value emit_complex(tracer *t, loom_dtype dtype, double re, double im); /* 0-d */
loom_value emit_float(tracer *t, const loom_type *type, double x); /* of a float or integer type */
bool emit_is_constant(tracer *t, loom_value v, uint64_t *bits);
loom_value emit1(tracer *t, loom_opcode op, loom_value a);
loom_value emit2(tracer *t, loom_opcode op, loom_value a, loom_value b);
loom_value emit_predicate(tracer *t, loom_opcode op, loom_value a);
loom_value emit_compare(tracer *t, const char *direction, loom_value a, loom_value b);
loom_value emit_select(tracer *t, loom_value condition, loom_value a, loom_value b);
loom_value emit_convert(tracer *t, loom_value v, loom_dtype dtype);
loom_value emit_bitcast(tracer *t, loom_value v, loom_dtype dtype); /* the same bits */
loom_value emit_broadcast(tracer *t, loom_value v, const loom_type *type, const int64_t *dims);
/* Broadcasts by NumPy's rule: sizes are aligned at the last axis. */
loom_value emit_broadcast_to(tracer *t, loom_value v, int rank, const int64_t *dims);
loom_value emit_reshape(tracer *t, loom_value v, int rank, const int64_t *dims);
loom_value emit_transpose(tracer *t, loom_value v, const int64_t *perm);
loom_value emit_slice(tracer *t, loom_value v, const int64_t *starts, const int64_t *sizes,
                      const int64_t *steps);
loom_value emit_update(tracer *t, loom_value v, loom_value update, const int64_t *starts,
                       const int64_t *steps);
loom_value emit_reduce(tracer *t, const char *kind, loom_value v, const int64_t *axes, int count);
loom_value emit_scan(tracer *t, const char *kind, loom_value v, int64_t axis);
loom_value emit_concatenate(tracer *t, const loom_value *v, int count, int64_t axis);
loom_value emit_iota(tracer *t, const loom_type *type, int64_t axis);

/* ---- arrayvalue.c: the value type of arrays and NumPy scalars ---- */

extern const value_type np_array_value_type;
/* The elements of a.flat as a new array; NULL with nothing pending when `v` is none. */
value *np_flat_copy(tracer *t, value *v);
bool np_is_flat(const value *v);
/* The truth of an array of one element that is not known. */
loom_value np_condition(tracer *t, value *v);
/* One of two NumPy scalars of one dtype; NULL, with nothing pending, for other values. */
value *np_choose(tracer *t, loom_value condition, value *yes, value *no);

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

bool np_is_array(const value *v);      /* an array or a NumPy scalar */
np_array *np_array_of(const value *v); /* NULL when it is none */
/* The array of a value that is one, or a tensor (tensor/). */
static inline np_array *np_layout_of(const value *v) { return v->array.layout; }
/* Makes what np_fresh() has made a value of another library whose arrays lie in memory in the same
 * way. Views of it are of that type, too. */
void np_see_as(value *v, const value_type *type);
/* A new array with storage of its own. `strides` in bytes, NULL: C order. NULL when `node` is
 * LOOM_NO_VALUE. */
value *np_fresh(tracer *t, loom_value node, const int64_t *strides);
/* np_fresh(), or a NumPy scalar when it has no dimensions: what ufuncs and reductions return. */
value *np_result(tracer *t, loom_value node, const int64_t *strides);
value *np_constant_scalar(tracer *t, loom_dtype dtype, uint64_t bits);
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
/* The real parts of complex numbers, or the imaginary ones: a view too. */
value *np_view_part(tracer *t, np_array *a, int part);
/* All windows of `width` elements along an axis; the new last dimension goes through one. */
value *np_view_window(tracer *t, np_array *a, int axis, int64_t width);
/* `length` elements of the last two dimensions taken as one: numbers. */
value *np_view_diagonal(tracer *t, np_array *a, int64_t start, int64_t step, int64_t length);
/* The view a[...]. */
value *np_view_same(tracer *t, np_array *a);
/* np_finish(): the adapter's finish. np_rebuild(): the slot `rebuild` of arrays. */
bool np_finish(tracer *t);
recipe *np_rebuild(tracer *t, value *v);
/* The recipe of one row of output number `output`: RECIPE_ROW. */
recipe *np_row_payload(tracer *t, const np_array *a, int64_t output);
np_storage *np_storages(tracer *t);     /* all storages of the capture, the last one made first */
np_mask **np_masks(tracer *t);          /* of this capture */
np_errors *np_error_tracked(tracer *t); /* of this capture */
struct np_derived **np_derivatives(tracer *t); /* of this capture (gradient.c) */
/* Has an operator of integer scalars overflowed so far (a bool of the graph)? LOOM_NO_VALUE: none
 * can have. */
loom_value *np_overflow(tracer *t);

/* ---- rows.c: arrays as rows of a list that a loop appends to ---- */

/* Functions for the adapter's table (captured/adapter.h): row_at, row_like, row_new and the like.
 */
loom_value *np_row_at(value *v, const void *parts[2]);
bool np_row_like(const value *one, const value *other);
value *np_row_new(tracer *t, const value *like, loom_value node);
bool np_row_fits(tracer *t, const value *like, loom_type *stack, int64_t rows);
value *np_lender(value *v);
bool np_row_is_small(tracer *t, const value *v);
loom_value np_row_elements(tracer *t, value *v);
loom_value np_row_numbers(tracer *t, loom_dtype dtype, const uint64_t *bits, int64_t count);
recipe *np_row_recipe(tracer *t, const value *like, loom_value stack, int64_t *output);
/* A long list as one array; NULL: that is not possible. */
value *np_stacked(tracer *t, value *list);

/* ---- stacked.c: a caller's list as one array ---- */

/* For the adapter's table: stack_live, and `derived` of a list. */
PyObject *numpy_stack(PyObject *list, PyObject *name);
value *np_stack_live(tracer *t, PyObject *list, const source *s, value **like, loom_value *stacks,
                     uint32_t room, int64_t *count);

/* ---- aliases.c: arrays that are written must not alias others ---- */

/* Do the live arrays that are written overlap no other array that is read or written? Adds guards
 * for later calls; false after a break. */
bool np_written_stand_apart(tracer *t);

/* ---- walk.c: arrays in the state of a loop ---- */

/* For the walk of a loop's state (values/walk.c): np_walk() adds an array, np_walk_state() all that
 * capture knows of arrays besides their values. The others are entries of the adapter's table. */
void np_walk(roll_walk *w, value *v);
void np_walk_state(tracer *t, roll_walk *w);
uint64_t np_written(tracer *t, uint32_t *count);
bool np_write_back(tracer *t, uint64_t which);
value *np_walk_scalar(tracer *t, PyObject *object);
void np_walk_storage(roll_walk *w, np_storage *s); /* adds a storage and its content */

/* ---- placed.c: views whose offset depends on data ---- */

/* A view whose offset depends on data, as a copy of its elements that is lent in place of the view.
 * NULL with nothing pending: that is not possible here. */
value *np_placed_new(tracer *t, value *base, value *key, loom_value node, const int64_t *strides);
/* Has the copy still the elements that the view has? If not, capture starts again without such
 * copies there. */
bool np_placed_holds(tracer *t, const np_storage *s);
/* May the copy be written to? If so, np_placed_write() writes its elements to the array that it
 * stands for a view of. */
bool np_placed_writable(tracer *t, const np_storage *s);
bool np_placed_write(tracer *t, np_storage *s);
/* Is `item` the view base[key], so that base[key] = item changes nothing? */
bool np_placed_same(const value *base, const value *key, const value *item);
void np_placed_walk(roll_walk *w, np_storage *s);

/* ---- exchange.c: buffers as arrays, for backends written in Python ---- */

PyObject *numpy_graph_run(const capture *c, PyObject *const *args, Py_ssize_t count);
PyObject *numpy_buffer_wrap(const loom_buffer *buffer, PyObject *owner);
bool numpy_buffer_store(const loom_buffer *buffer, PyObject *from, const char *what);

#endif
