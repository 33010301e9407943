/* Of arrays as values: what the files of this folder share. */
#ifndef LOOM_FRONTEND_NUMPY_ARRAY_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_ARRAY_INTERNAL_H

#include "frontend/numpy/array.h"

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
loom_value emit_reduce_all(tracer *t, const char *kind, loom_value v); /* over all axes, if any */
loom_value emit_scan(tracer *t, const char *kind, loom_value v, int64_t axis);
loom_value emit_concatenate(tracer *t, const loom_value *v, int count, int64_t axis);
loom_value emit_iota(tracer *t, const loom_type *type, int64_t axis);

/* ---- arrayvalue.c: the value type of arrays and NumPy scalars ---- */

/* The elements of a.flat as a new array; NULL with nothing pending when `v` is no a.flat. */
value *np_flat_copy(tracer *t, value *v);
bool np_is_flat(const value *v);
/* The truth of an array of one element that is not known. */
loom_value np_condition(tracer *t, value *v);
/* One of two NumPy scalars of one dtype; NULL, with nothing pending, for other values. */
value *np_choose(tracer *t, loom_value condition, value *yes, value *no);

/* ---- view.c: storage and views ---- */

np_array *np_array_of(const value *v); /* NULL when it is no array */
/* The real parts of complex numbers, or the imaginary ones: a view too. */
value *np_view_part(tracer *t, np_array *a, int part);
/* `length` elements of the last two dimensions taken as one: numbers. */
value *np_view_diagonal(tracer *t, np_array *a, int64_t start, int64_t step, int64_t length);
/* Has an operator of integer scalars overflowed so far (a bool of the graph)? LOOM_NO_VALUE: none
 * can have. */
loom_value *np_overflow(tracer *t);
/* np_fresh(), or a NumPy scalar when it has no dimensions: what ufuncs and reductions return. */
value *np_result(tracer *t, loom_value node, const int64_t *strides);
value *np_constant_scalar(tracer *t, loom_dtype dtype, uint64_t bits);
bool np_finish(tracer *t); /* the adapter's finish */
/* The recipe of one row of output number `output`: RECIPE_ROW. */
recipe *np_row_payload(tracer *t, const np_array *a, int64_t output);
np_errors *np_error_tracked(tracer *t); /* of this capture */

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

/* ---- placed.c: views of arrays whose offset depends on data ---- */

/* A view whose offset depends on data, as a copy of its elements that is lent in place of the view.
 * NULL with nothing pending: that is not possible here. */
value *np_placed_new(tracer *t, value *base, value *key, loom_value node, const int64_t *strides);
/* Has the copy still the elements that the view has? If not, capture starts again without such
 * copies there. */
bool np_placed_holds(tracer *t, const np_storage *s);
/* May the copy be written to? If so, np_placed_write() writes its elements to the array that it
 * stands for a view of. */
bool np_placed_writable(tracer *t, const np_array *a);
bool np_placed_write(tracer *t, np_storage *s);
/* Is `item` the view base[key], so that base[key] = item changes nothing? */
bool np_placed_same(const value *base, const value *key, const value *item);
void np_placed_walk(roll_walk *w, np_storage *s);

/* ---- exchange.c: buffers as arrays, for backends written in Python ---- */

PyObject *numpy_graph_run(const capture *c, PyObject *const *args, Py_ssize_t count);
PyObject *numpy_buffer_wrap(const loom_buffer *buffer, PyObject *owner);
bool numpy_buffer_store(const loom_buffer *buffer, PyObject *from, const char *what);

#endif
