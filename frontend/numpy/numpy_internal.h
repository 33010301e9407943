/* Of live NumPy arrays: what the files of this folder share. */
#ifndef LOOM_FRONTEND_NUMPY_NUMPY_INTERNAL_H
#define LOOM_FRONTEND_NUMPY_NUMPY_INTERNAL_H

#include "frontend/numpy/numpy.h"

/* ---- array.c: live arrays ---- */

/* Imports NumPy's tables; false with an exception set. The adapter's init calls it. */
bool numpy_array_init(void);
/* Type number to dtype and back; false when the graph has no such type. */
bool numpy_dtype_from_typenum(int typenum, loom_dtype *out);
int numpy_typenum_from_dtype(loom_dtype dtype); /* -1 */
/* Describes a live object. False when it is not an exact ndarray of a supported dtype, in native
 * byte order, without metadata, at most LOOM_MAX_RANK dimensions and strides that are multiples of
 * the item size. */
bool numpy_array_describe(PyObject *object, numpy_array_payload *out);
/* The memory of an array: from its first byte to behind its last one. Both are equal for an array
 * without elements. */
void numpy_array_extent(PyObject *array, const char **low, const char **high);
/* Which flags the error state of this context reports, and which of these by a warning. */
bool numpy_errors_now(uint32_t *reported, uint32_t *warned);
/* Entries of the adapter's table (captured/adapter.h). */
bool numpy_array_size(PyObject *object, size_field field, int axis, int64_t *out);
bool numpy_array_guard(PyObject *object, const void *payload);
bool numpy_array_sizes_differ(PyObject *object, const void *payload, uint32_t *sizes,
                              uint32_t *strides);
int64_t numpy_array_guarded_size(const void *payload, size_field field, int axis);
PyObject *numpy_array_words_of(PyObject *object);
PyObject *numpy_array_scalar(const void *payload, const void *data);
/* Does a write into the array warn? */
bool numpy_array_warns(const PyObject *array);
/* Is a descriptor the built-in one of its type number, or a copy of that? */
bool numpy_descr_plain(const PyArray_Descr *descr);
Py_hash_t numpy_array_fingerprint(PyObject *object);
bool numpy_scalar_bits(PyObject *number, loom_dtype dtype, uint64_t *out);
bool numpy_array_disjoint(PyObject *a, PyObject *b);

/* ---- rows.c: arrays as rows of a list that a loop appends to ---- */

PyObject *numpy_array_row(const void *payload, const loom_graph *graph, const int64_t *symbols,
                          const void *stack, int64_t i);

/* ---- write.c: results written into existing arrays ---- */

int numpy_report(PyObject *row, uint32_t flags);

/* ---- aliases.c: arrays that are written must not alias others ---- */

/* Does none of the first `written` arrays overlap another one of the `count`? */
bool numpy_arrays_apart(PyObject *const *objects, uint32_t written, uint32_t count);

/* ---- warned.c: which warnings anybody would see ---- */

/* Entries of the adapter's table: flags_matter, warnings_shown. */
int numpy_flags_matter(uint32_t flags);
bool numpy_warnings_shown(const struct capture *c, PyObject *globals, uint32_t flags,
                          const uint32_t *rows, uint32_t *matter, uint32_t *shown);

#endif
