/* What NumPy's operations mean at capture: array values, their storage and views, and the ops they
 * become.
 *
 * Sections by file: emit.c (nodes), view.c (storage and views), layout.c (memory order of results),
 * promote.c (operands and dtypes), ufunc.c, arrayvalue.c (the value type), wrap.c (live objects,
 * the adapter), index.c, call.c (library functions and methods), reduce.c, shape.c, create.c,
 * linalg.c, fancy.c (indexing with arrays), inplace.c, converter.c,
 * sharing.c, rows.c (of lists that loops append to), slots.c, host.c, host_sample.c and host_run.c,
 * errstate.c.
 */
#ifndef LOOM_FRONTEND_NUMPY_CAPTURE_H
#define LOOM_FRONTEND_NUMPY_CAPTURE_H

#include "frontend/numpy/numpy.h"

/* ---- emit.c: nodes. Each takes LOOM_NO_VALUE among its operands and hands it on, so that calls
 * compose. ---- */

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
loom_value emit_broadcast_to(tracer *t, loom_value v, int rank,
                             const int64_t *dims); /* NumPy's rule */
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

/* ---- view.c: storage and views ---- */

typedef struct np_array np_array;

#define NP_WRITTEN 8

/* One block of memory as capture sees it. Writing replaces `current`: nothing is ever updated in
 * place. */
typedef struct np_placed np_placed;

typedef struct np_storage {
  struct np_storage *next;
  const source *source; /* an array that existed before the call, or NULL: made here */
  PyObject *live;       /* that array (borrowed) */
  PyObject *list;       /* the array is made of the items of this one (borrowed); or NULL */
  value *root;          /* the array value that owns the block */
  np_placed *placed;    /* a copy of what is a view in NumPy (placed.c), or NULL */
  loom_value current;   /* all elements, with the sizes of the root */
  uint32_t version;     /* counts writes: keys the views' cached reads */
  loom_value made;      /* what one ufunc wrote into all of it, when `report` is a row */
  PyObject *report; /* (name of the ufunc, frames) of the first such write; or None after another */
  bool gave;        /* one operation has been given the whole array as out=, */
  loom_value given; /* and has written this into it */
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

/* An array: a block and how to see it. A view is its parent seen through one op. */
struct np_array {
  np_storage *storage;
  np_array *parent;
  view_kind kind;
  int64_t a[LOOM_MAX_RANK]; /* SLICE: starts; TRANSPOSE: perm; BROADCAST: dims; PART: 1 for the
                               imaginary one; WINDOW: the axis; DIAGONAL: its first element, of the
                               two dimensions as one */
  int64_t b[LOOM_MAX_RANK]; /* SLICE: steps; DIAGONAL: the step */
  loom_type type;
  int64_t strides[LOOM_MAX_RANK]; /* bytes, as NumPy has them */
  int64_t offset;                 /* bytes from the root's first element */
  bool scalar;                    /* a NumPy scalar, not an array */
  bool packed;                    /* made of a list: stored elsewhere number by number */
  bool writeable;
  bool warns_on_write; /* when it is writeable: as np.broadcast_arrays gives */
  bool stepped;        /* its strides stay as they are when it turns out to have no element */
  loom_value node;     /* cached read, valid while version is the storage's */
  uint32_t version;
  uint32_t known_version; /* the version of the storage at which `known` is right */
  PyObject *known;        /* the live object when the content is known (borrowed), or NULL */
};

extern const value_type np_array_value_type;

/* The elements of a.flat as a new array; NULL with nothing pending when `v` is none. */
value *np_flat_copy(tracer *t, value *v);
bool np_is_flat(const value *v);
/* The truth of an array of one element that is not known. */
loom_value np_condition(tracer *t, value *v);
/* One of two NumPy scalars of one dtype; NULL, with nothing pending, for other values. */
value *np_choose(tracer *t, loom_value condition, value *yes, value *no);
bool np_is_array(const value *v);      /* an array or a NumPy scalar */
np_array *np_array_of(const value *v); /* NULL when it is none */
/* A new array with storage of its own. `strides` in bytes, NULL: C order. NULL when `node` is
 * LOOM_NO_VALUE. */
value *np_fresh(tracer *t, loom_value node, const int64_t *strides);
/* The same, a NumPy scalar when it has no dimensions: what ufuncs and reductions return. */
value *np_result(tracer *t, loom_value node, const int64_t *strides);
/* The axes from the outermost in memory to the innermost, and whether others lie between the
 * elements. False when elements lie over one another, or in no array of more elements (gaps.c). */
bool np_memory_order(PyArrayObject *a, int64_t *order, bool *gaps);
/* A view with gaps of a new array, with these strides in bytes, `at` elements behind where that
 * begins. `node`: its elements, the axes in memory order. `*own`: the array, made where it is NULL,
 * which several views may share. */
value *np_with_gaps(tracer *t, const loom_type *type, const int64_t *strides, const int64_t *order,
                    loom_value node, int64_t at, np_array **own);
value *np_scalar_again(tracer *t, value *v); /* another scalar of the same number */
value *np_constant_scalar(tracer *t, loom_dtype dtype, uint64_t bits);
loom_value np_read(tracer *t, np_array *a);
/* Replaces the elements; `node` has a's dtype and sizes. False after a raise or break. */
bool np_write(tracer *t, np_array *a, loom_value node);
value *np_view_slice(tracer *t, np_array *a, const int64_t *starts, const int64_t *sizes,
                     const int64_t *steps);
value *np_view_transpose(tracer *t, np_array *a, const int64_t *perm);
/* With given strides: NumPy decided that the view exists. */
value *np_view_reshape(tracer *t, np_array *a, int rank, const int64_t *dims,
                       const int64_t *strides);
value *np_view_broadcast(tracer *t, np_array *a, int rank, const int64_t *dims);
/* The real parts of complex numbers, or the imaginary ones: a view too. */
value *np_view_part(tracer *t, np_array *a, int part);
/* All windows of `width` elements along an axis; the new last dimension goes through one. */
value *np_view_window(tracer *t, np_array *a, int axis, int64_t width);
/* `length` elements of the last two dimensions taken as one: numbers. */
value *np_view_diagonal(tracer *t, np_array *a, int64_t start, int64_t step, int64_t length);
/* A view with the same sizes: a[...] */
value *np_view_same(tracer *t, np_array *a);
/* What finish and rebuild of the adapter and the value type do. */
bool np_finish(tracer *t);
recipe *np_rebuild(tracer *t, value *v);
recipe *np_row_payload(tracer *t, const np_array *a, int64_t output); /* a RECIPE_ROW */
/* rows.c: the adapter's row_*; and a long list as one array, NULL when it is none. */
loom_value *np_row_at(value *v, const void *parts[2]);
bool np_row_like(const value *one, const value *other);
value *np_row_new(tracer *t, const value *like, loom_value node);
bool np_row_fits(tracer *t, const value *like, loom_type *stack, int64_t rows);
#define NP_ROW_SMALL 65536 /* bytes of an array that may be copied so that it is a row */
value *np_lender(value *v);
bool np_row_is_small(tracer *t, const value *v);
loom_value np_row_elements(tracer *t, value *v);
loom_value np_row_numbers(tracer *t, loom_dtype dtype, const uint64_t *bits, int64_t count);
/* stacked.c: the adapter's stack_live, and its derived. */
PyObject *numpy_stack(PyObject *list, PyObject *name);
value *np_stack_live(tracer *t, PyObject *list, const source *s, value **like, loom_value *stacks,
                     uint32_t room, int64_t *count);
recipe *np_row_recipe(tracer *t, const value *like, loom_value stack, int64_t *output);
value *np_stacked(tracer *t, value *list);
void np_add_storage(tracer *t, np_storage *s);
/* Do the live arrays that are written overlap none? Breaks, or guards it. */
bool np_written_stand_apart(tracer *t);
np_storage *np_storages(tracer *t); /* all, the last one made first */
/* For value/walk.c: an array value; and what the capture knows besides values. */
void np_walk(roll_walk *w, value *v);
void np_walk_state(tracer *t, roll_walk *w);
uint64_t np_written(tracer *t, uint32_t *count);
bool np_write_back(tracer *t, uint64_t which);
value *np_walk_scalar(tracer *t, PyObject *object);

/* ---- sizes.c: symbolic sizes (see size.c). After a failure the results mean nothing, and
 * something is pending. ---- */

int64_t np_times(tracer *t, int64_t a, int64_t b); /* of numbers of the graph */
int64_t np_plus(tracer *t, int64_t a, int64_t b);
int64_t np_dim(loom_dim dim); /* a size as a number */
/* The symbolic number that an int64 of the library's is; false: it is none such. */
bool np_size_of(tracer *t, value *v, int64_t *out);
/* A number as an int64 without dimensions. */
loom_value np_number_node(tracer *t, int64_t number);
/* How many elements: a number; and as a size. */
int64_t np_count(tracer *t, const loom_type *type);
loom_dim np_count_dim(tracer *t, const loom_type *type);
int64_t np_in_elements(tracer *t, int64_t bytes, loom_dtype dtype);
/* Are all sizes equal? Symbolic ones are made one symbol. False after a failure too. */
bool np_same_sizes(tracer *t, const loom_type *a, const loom_type *b);
bool np_is_symbolic(const np_array *a);
/* The type and strides (bytes) of a live array with the symbols that its sizes are; guards them,
 * and puts them into the payload. */
bool np_sizes_read(tracer *t, const source *s, numpy_array_payload *p, loom_type *type,
                   int64_t *strides);
value *np_number(tracer *t, int64_t number); /* as a Python int */
/* A known or symbolic int; one or a sequence of them. */
bool np_number_arg(tracer *t, value *v, int64_t *out);
bool np_numbers_arg(tracer *t, value *v, int *count, int64_t *out);
/* Numbers from a program as the sizes of an array: ValueError where one is negative. */
bool np_sizes_admit(tracer *t, int rank, int64_t *dims);
/* Is the number of bytes one that an array can have? A view may repeat elements, and be larger than
 * memory. False after a break. */
bool np_addressable(tracer *t, const loom_type *type);
/* Can there be an array of this type in memory? False after a break: the library says no. */
bool np_has_room(tracer *t, const loom_type *type);
/* Makes all sizes of the array constants: capture starts again when some are not. */
void np_know_sizes(tracer *t, const np_array *a);

/* ---- layout.c ---- */

/* The array with this call's sizes and strides, whose order is guarded. */
np_array np_layout_now(tracer *t, const np_array *a);
/* -1: symbolic, and so at least 2. */
int64_t np_elements(const loom_type *type);
void np_c_strides(tracer *t, const loom_type *type, int64_t *out); /* bytes */
void np_f_strides(tracer *t, const loom_type *type, int64_t *out);
bool np_is_c(tracer *t, const np_array *a); /* NumPy's C_CONTIGUOUS */
bool np_is_f(tracer *t, const np_array *a);
/* Strides that NumPy gives a new result of an elementwise operation over these operands.
 * `iterates`: NumPy needs its iterator, be it that operands are converted on the way or that there
 * are several results. */
void np_layout_elementwise(tracer *t, np_array *const *operands, int count, const loom_type *result,
                           char order, bool iterates, int64_t *out);
/* Strides of a copy (order 'K', 'A', 'C' or 'F') with the dtype of `type`. */
void np_layout_copy(tracer *t, const np_array *a, const loom_type *type, char order, int64_t *out);
/* Strides of the result of ufunc.reduce of `a` over the axes in `mask`. */
void np_layout_reduce(tracer *t, const np_array *a, uint32_t mask, bool keepdims,
                      const loom_type *result, int64_t *out);
/* Strides of an einsum's result: `axes` holds, for each array, `row` apart, its axis of each label
 * (-1: none); the result's labels come first. */
void np_layout_labels(tracer *t, np_array *const *arrays, int count, const int *axes, int row,
                      int labels, const loom_type *result, int64_t *out);
/* Strides of the arrays joined. */
void np_layout_concatenate(tracer *t, np_array *const *arrays, int count, const loom_type *result,
                           int64_t *out);
/* Strides of a view with other sizes, or false when only a copy can have them (order 'C', 'F'). */
bool np_reshape_strides(tracer *t, const np_array *a, int rank, const int64_t *dims, char order,
                        int64_t *out);

/* ---- promote.c: operands and dtypes ---- */

typedef struct np_operand {
  np_array *array;  /* or NULL: a Python number */
  PyObject *number; /* a known Python int or float (weak in promotion) */
  loom_value node;  /* a Python number known only when run */
  PyTypeObject *weak;
  loom_dtype dtype; /* of an array */
  value *from;
} np_operand;

/* Any value as an operand: arrays, numbers, nested lists. False after a raise or break. */
bool np_operand_from(tracer *t, value *v, np_operand *out);
/* The same of where=, which takes no array of other elements than bools. */
bool np_mask_from(tracer *t, value *v, np_operand *out);
/* np.asarray(v): weak numbers get their default dtype. NULL after a raise or break. */
np_array *np_as_array(tracer *t, value *v);
/* The operand as elements of `dtype`, not broadcast. */
loom_value np_operand_load(tracer *t, const np_operand *o, loom_dtype dtype);
/* Does a symbolic int fit, on this call and by a guard on others? Else its value is asked for. */
bool np_int_fits(tracer *t, int64_t number, loom_dtype dtype);
/* Sizes of all operands together, or a ValueError. */
bool np_broadcast(tracer *t, const np_operand *o, int count, int *rank, int64_t *dims);
bool np_dtype_supported(loom_dtype dtype);
PyArray_Descr *np_descr(loom_dtype dtype);                          /* new reference */
bool np_dtype_of(tracer *t, PyArray_Descr *descr, loom_dtype *out); /* breaks on others */
/* np.dtype(v) of a known value. */
bool np_dtype_arg(tracer *t, value *v, loom_dtype *out);
/* Dtypes of inputs and outputs as ufunc.resolve_dtypes gives them. `dtype` (or NULL) is the
 * keyword's live value. */
bool np_resolve(tracer *t, PyObject *ufunc, const np_operand *o, int nin, np_array *const *outs,
                int nout, PyObject *dtype, PyObject *casting, loom_dtype *types);
/* np.result_type of operands. */
bool np_result_type(tracer *t, const np_operand *o, int count, loom_dtype *out);
/* The bits of a Python or NumPy number stored as NumPy's item assignment does; raises or breaks. */
bool np_pack(tracer *t, PyObject *number, loom_dtype dtype, uint64_t *bits);
bool np_can_cast(loom_dtype from, loom_dtype to, NPY_CASTING casting);
const char *np_shape_text(const loom_type *type, char *buffer, size_t size);

/* ---- ufunc.c ---- */

bool np_ufunc_init(void);
value *np_ufunc_call(tracer *t, PyObject *ufunc, value *const *args, Py_ssize_t count,
                     PyObject *kwnames);
/* A ufunc by name on given operands, `out` may be NULL. */
value *np_ufunc_apply(tracer *t, const char *name, value *const *args, int count, value *out);
/* The same for an operator of the code's: warnings are of this ufunc. */
value *np_operator(tracer *t, const char *name, value *const *args, int count, value *out);
/* An operation of the library, which reports floating-point exceptions when it has written all that
 * it writes, has been given `out` and has written `node` into it, as its loop gave it. */
void np_note_given(np_array *out, loom_value node);
/* A ufunc has written `node`, as its loop gave it, into the array `out`. Notes how it would report
 * a floating-point exception (numpy_report), so that the plan may write straight into an argument.
 */
bool np_note_report(tracer *t, PyObject *ufunc, np_array *out, loom_value node);
/* One ufunc loop on loaded operands of one shape. */
loom_value np_ufunc_loop(tracer *t, PyObject *ufunc, const loom_value *in, loom_dtype out_dtype);
PyObject *np_ufunc_object(const char *name); /* borrowed, immortal */
bool np_ufunc_is_own(
    const PyObject *ufunc); /* NumPy's own, not made by np.frompyfunc or a library */

/* ---- index.c ---- */

value *np_get_item(tracer *t, value *v, value *key);
bool np_set_item(tracer *t, value *v, value *key, value *item);
/* The value of an assignment with the target's dtype and sizes. */
/* Is what is read as it was before, where both are views of one memory? False after a break. */
bool np_copies_whole(tracer *t, const np_array *to, const np_array *from);
/* Does what a key names, `element`: one element, take the value, whatever its sizes? False after a
 * break. */
bool np_takes_depth(tracer *t, value *item, int rank, bool element);
loom_value np_assign_value(tracer *t, const loom_type *target, const np_operand *o);
/* a[...] = item */
bool np_assign(tracer *t, np_array *a, value *item);

/* ---- fancy.c ---- */

bool np_is_fancy(tracer *t, value *key); /* has the key an array, a list or a bool? */
value *np_fancy_get(tracer *t, value *v, value *key);
/* placed.c: views whose place depends on array data are copies that are lent. NULL with nothing
 * pending: not here. */
value *np_placed_new(tracer *t, value *base, value *key, loom_value node, const int64_t *strides);
/* Has it still what the view has? Else capture starts again without it. */
bool np_placed_holds(tracer *t, const np_storage *s);
/* May it be written to, which writes to the array that it is a view of? */
bool np_placed_writable(tracer *t, const np_storage *s);
bool np_placed_write(tracer *t, np_storage *s);
/* base[key] = the view base[key]: nothing changes. */
bool np_placed_same(const value *base, const value *key, const value *item);
void np_walk_storage(roll_walk *w, np_storage *s); /* walk.c */
void np_placed_walk(roll_walk *w, np_storage *s);
bool np_fancy_set(tracer *t, value *v, value *key, value *item);
/* ufunc.at(v, key, item) of a ufunc that is "add", "sub", "mul", "min" or "max"; *done is false
 * where it takes a call of the library. */
bool np_fancy_combine(tracer *t, value *v, value *key, value *item, const char *combine,
                      bool *done);

/* ---- late.c: results whose sizes depend on data ---- */

/* How many elements of a mask are true. */
typedef struct np_mask {
  struct np_mask *next;
  loom_value mask;
  loom_dim size;
} np_mask;
np_mask **np_masks(tracer *t); /* view.c: of this capture */
/* array[mask], and array[mask] = vector. NULL or false with nothing pending: it is something else.
 */
value *np_mask_get(tracer *t, value *v, value *key);
bool np_mask_set(tracer *t, value *v, value *key, value *item);

/* ---- call.c: functions and methods by row of names.def ---- */

typedef struct np_call {
  const char *name;
  value *const *args; /* a method's self first */
  Py_ssize_t count;
  PyObject *kwnames;
  bool method;
  PyObject *callee;  /* NULL: a method */
  bool opaque;       /* of the user's, marked as such: not to be looked into */
  PyObject *sampler; /* opaque: what is called at capture in its place, or NULL */
} np_call;
typedef value *(*np_handler)(tracer *t, const np_call *c);
value *np_nonzero(tracer *t, const np_call *c); /* late.c */

/* May this handler see the symbolic sizes of its arguments (sizes.def)? Else capture starts again
 * without them: false. */
bool np_gate(tracer *t, np_handler handler, const np_call *c);
bool np_gate_values(tracer *t, value *const *values, Py_ssize_t count); /* none is let through */
bool np_gate_key(tracer *t, value *key); /* only sizes of arrays that a host call tells are */
bool np_gate_late(tracer *t, value *v);  /* all but those of such an array */
/* Sizes that a host call tells are taken to be at least 2: in these values; in an array. */
bool np_gate_small(tracer *t, value *const *values, Py_ssize_t count);
void np_not_small(tracer *t, const np_array *a);
bool np_call_init(void);
bool np_has_row(PyObject *callee);
/* The number or text that a member of an IntEnum, say, is to NumPy; NULL: it is none such. */
value *np_scalar_of(tracer *t, value *v);
value *np_call_object(tracer *t, PyObject *callee, value *self, value *const *args,
                      Py_ssize_t count, PyObject *kwnames, bool *mine);
/* Binds arguments to names ("a / b | axis dtype out": required before the bar, those before the
 * slash by position only); missing ones are NULL. False after a break. */
bool np_parse(tracer *t, const np_call *c, const char *names, value **out);
bool np_is_none(tracer *t, value *v); /* NULL or None */
/* The live object of a value, borrowed, or NULL when it is not known; guards. */
PyObject *np_known(tracer *t, value *v);
/* A known bool argument; `missing` when NULL. False after a break. */
bool np_bool_arg(tracer *t, value *v, bool missing, bool *out);
/* subok=, which says nothing of exact arrays, is one that NumPy takes. */
bool np_subok_arg(tracer *t, value *v);
bool np_int_arg(tracer *t, value *v, int64_t *out);
bool np_c_int_arg(tracer *t, value *v, int64_t *out); /* one that NumPy takes as an int of C's */
/* A known int or tuple of ints. */
bool np_ints_arg(tracer *t, value *v, int *count, int64_t *out);
/* Normalised axes as a mask and in order; None: all. AxisError or ValueError. */
bool np_axes_arg(tracer *t, value *v, int rank, uint32_t *mask);
bool np_axis(tracer *t, int64_t axis, int rank, int *out);
/* out=: *out is NULL for none. False after a break: NumPy refuses it. */
bool np_out_arg(tracer *t, value *v, value **out);
bool np_outs_arg(tracer *t, value *v, value **out); /* a ufunc's: may be a tuple of one as well */
value *np_unsupported(tracer *t, const np_call *c, const char *what);
PyObject *np_lookup(const char *module, const char *name); /* a new reference; NULL: an exception */
bool np_is_sequence(tracer *t, value *v);                  /* of arrays that are to be joined */
value *np_ufunc_at(tracer *t, PyObject *ufunc, const np_call *c); /* inplace.c */
/* Calls a pure function of NumPy's on known arguments; *done false when some are not known (or it
 * would warn). */
value *np_fold(tracer *t, PyObject *callee, value *const *args, Py_ssize_t count, PyObject *kwnames,
               bool *done);
/* Does no array of a result share elements with an argument or with another one? Each gets storage
 * of its own. */
bool np_is_fresh(PyObject *args, PyObject *kwargs, PyObject *result);
/* Does each array of a result (also in tuples and lists) have a stretch of memory for itself? */
bool np_is_apart(PyObject *result);
/* function(*args, **kwargs) with warnings and floating-point errors ignored: a new reference. */
PyObject *np_call_quietly(PyObject *function, PyObject *args, PyObject *kwargs);
/* how(function, args, kwargs), where `how` may change the error state and the warnings' filters
 * (apart.c). */
PyObject *np_call_apart(PyObject *how, PyObject *function, PyObject *args, PyObject *kwargs);
value *np_made(tracer *t, PyObject *object); /* takes over the reference */
/* An int as a constant value. */
value *np_int(tracer *t, int64_t i);
/* A Python bool, int or float that is known only when run. */
value *np_python_number(tracer *t, loom_value node);
const char *np_str_arg(tracer *t, value *v); /* a known str; NULL: none (not a failure) */

/* slots.c: a.__add__(b) and the like, self first. */
value *np_slot_call(tracer *t, const char *name, value *const *args, Py_ssize_t count);

/* ---- shape.c, create.c ---- */

/* A copy in the given order ('K', 'A', 'C', 'F') with another dtype; a NumPy scalar when `a` is
 * one. */
value *np_copy(tracer *t, np_array *a, loom_dtype dtype, char order);
/* a.reshape(dims): a view where NumPy can make one. The sizes are numbers, one may be -1; they
 * become sizes of a type. */
value *np_reshape_to(tracer *t, np_array *a, int rank, int64_t *dims, char order);
/* np.array and its like: the value itself, or a copy. */
value *np_to_array(tracer *t, value *v, bool typed, loom_dtype dtype, bool copy, char order);
/* order=: 'K', 'A', 'C' or 'F'; 0 after a break. */
char np_order_arg(tracer *t, value *v, char missing);
/* casting=; false after a break or raise. */
bool np_casting_arg(tracer *t, value *v, NPY_CASTING missing, NPY_CASTING *out);
bool np_check_cast(tracer *t, loom_dtype from, loom_dtype to,
                   NPY_CASTING casting); /* or a TypeError */
value *np_diagonal(tracer *t, const np_call *c);

/* ---- host.c, host_sample.c, host_run.c ---- */

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
bool np_host_init(np_host_call *h);
void np_host_fini(np_host_call *h);
/* What stands for the array (or NumPy scalar) among the arguments: a new reference, or NULL. */
PyObject *np_host_hole(tracer *t, np_host_call *h, np_array *a);
/* The same for any value: what is known stands for itself; tuples and lists may hold arrays. */
PyObject *np_host_item(tracer *t, np_host_call *h, value *v);
/* The one result, of a known type, of callable(*args), where `args` is a tuple with holes. */
loom_value np_host_emit(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                        const loom_type *type);
/* Results some sizes of which the call tells (size_late). The first of them, LOOM_NO_VALUE after a
 * failure. */
loom_value np_host_emit_late(tracer *t, np_host_call *h, PyObject *callable, PyObject *args,
                             PyObject *kwargs, const loom_type *types, uint32_t count);
/* A pure function of vectors that gives vectors of one size, which depends on the data; but for
 * result number `whole`, which has the sizes of the first argument. */
value *np_host_vectors(tracer *t, const np_call *c, int whole);
/* What fills a hole. */
typedef enum np_hole { HOLE_ARRAY, HOLE_SCALAR, HOLE_NUMBER /* Python's own */ } np_hole;
PyObject *np_host_mark(np_hole hole);        /* borrowed: the hole itself */
bool np_host_is_quiet(PyObject *callable);   /* late.c: it neither warns nor reports anything */
value *np_host(tracer *t, const np_call *c); /* any pure function of the library */
/* Functions that NumPy wrote in Python: looked into, unless sizes are symbolic; and those that are
 * called at capture where all is known. */
value *np_whole(tracer *t, const np_call *c);
value *np_histogramdd(tracer *t, const np_call *c);
value *np_whole_or_known(tracer *t, const np_call *c);
/* Is anything in these values symbolic? */
bool np_are_symbolic(tracer *t, value *const *values, Py_ssize_t count);
value *np_opaque(tracer *t, PyObject *callable, PyObject *fake, const char *name,
                 value *const *args, Py_ssize_t count,
                 PyObject *kwnames); /* any function of the user's */
int np_host_run(void *context, const char *name, uint32_t slot, void **buffers, uint32_t reads,
                uint32_t count, int64_t *symbols, PyObject **kept);

/* ---- errstate.c ---- */

#define NP_ERROR_KINDS 4
typedef struct np_errors {
  int64_t state; /* two bits for each kind: kept, ignored, reported */
  int depth;     /* states that were set and not yet reset */
} np_errors;
np_errors *np_error_tracked(tracer *t); /* view.c: of this capture */
value *np_error_context(tracer *t, const char *name, value *const *args, bool *mine);
bool np_error_finish(tracer *t);
PyObject *np_error_state(tracer *t); /* new reference: for a row of a host call */
/* A state in which the kinds that would be reported raise: a token, or NULL. */
PyObject *np_error_enter(PyObject *state);
bool np_error_leave(PyObject *token); /* takes the token */

/* ---- linalg.c ---- */

/* ---- scalar.c ---- */

/* After an operator of NumPy's scalars: notes whether it overflowed. False after a break. */
bool np_scalar_check(tracer *t, const char *name, value *const *args, int count, value *result);
bool np_scalar_finish(tracer *t);
/* Whether one has overflowed so far (a bool in the graph), LOOM_NO_VALUE: none can. */
loom_value *np_overflow(tracer *t);
/* NumPy stores its own numbers, and those in lists, in arrays of signed integers as Python's int()
 * of them, which raises when they do not fit: then the plain function has to run. */
bool np_check_stored(tracer *t, const np_operand *o, loom_dtype dtype);

/* ---- reduce.c ---- */

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
value *np_ufunc_method(tracer *t, const char *name, value *const *args, Py_ssize_t count,
                       PyObject *kwnames);
value *np_matmul(tracer *t, value *l, value *r);

/* ---- exchange.c: see loom_adapter --------------------------------------------------------------
 */

PyObject *numpy_graph_run(const capture *c, PyObject *const *args, Py_ssize_t count);
PyObject *numpy_buffer_wrap(const loom_buffer *buffer, PyObject *owner);
bool numpy_buffer_store(const loom_buffer *buffer, PyObject *from, const char *what);

#endif
