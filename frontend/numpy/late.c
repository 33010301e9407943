/* Results whose sizes depend on data: array[mask], nonzero, unique and their like.
 *
 * The library computes them in a host call that reports the size. The size is a symbol (size_late),
 * and the code after the call is compiled for all values of it. All vectors that one mask takes
 * have the same size, so that a[m] and b[m] fit together. Assignments of such a vector through a
 * mask are host calls too. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"

#include <string.h>

/* ---- how many elements a mask takes --------------------------------------------------------- */

#define LATE_DEPTH 4

static bool late_same_attr(const loom_attr *a, const loom_attr *b) {
  if (a->kind != b->kind) return false;
  switch (a->kind) {
  case LOOM_ATTR_NONE: return true;
  case LOOM_ATTR_STR: return strcmp(a->str, b->str) == 0;
  case LOOM_ATTR_SCALAR: return a->bits == b->bits;
  case LOOM_ATTR_I64: return a->i == b->i;
  case LOOM_ATTR_I64S:
    return a->count == b->count && !memcmp(a->ints, b->ints, sizeof *a->ints * (size_t)a->count);
  default: return false;
  }
}

/* Are two values the same by how they are made? a[a > 0] is often written twice. */
static bool late_same_value(const loom_graph *g, loom_value a, loom_value b, int depth) {
  int32_t l = g->values[a].node, r = g->values[b].node;
  if (a == b) return true;
  if (l < 0 || r < 0 || depth == 0) return false;
  const loom_node *m = &g->nodes[l], *n = &g->nodes[r];
  if (m->op != n->op || m->op == LOOM_OP_HOST_CALL || loom_op_table[m->op].regions ||
      m->operand_count != n->operand_count ||
      !loom_type_equal(&g->values[a].type, &g->values[b].type) || m->result_count != 1)
    return false;
  for (int i = 0; i < LOOM_MAX_ATTRS; i++)
    if (!late_same_attr(&m->attrs[i], &n->attrs[i])) return false;
  for (uint32_t i = 0; i < m->operand_count; i++)
    if (!late_same_value(g, m->operands[i], n->operands[i], depth - 1)) return false;
  return true;
}

/* The size of what a mask takes. */
static bool late_mask_size(tracer *t, loom_value mask, loom_dim *out) {
  np_mask **all = np_masks(t), *m;
  if (!all || mask == LOOM_NO_VALUE) return false;
  for (m = *all; m; m = m->next)
    if (late_same_value(trace_graph(t), m->mask, mask, LATE_DEPTH)) return *out = m->size, true;
  if (!(m = trace_alloc(t, sizeof *m)) || !size_late(t, out)) return false;
  *m = (np_mask){*all, mask, *out};
  *all = m;
  return true;
}

/* ---- host calls ----------------------------------------------------------------------------- */

/* The first `count` elements whose flag is set: what is written last lies before them, so that no
 * branch depends on the data. */
#define LATE_COMPRESS(TYPE)                                                                        \
  static void late_compress_##TYPE(const void *from, const uint8_t *mask, npy_intp count,          \
                                   void *to) {                                                     \
    const TYPE *in = from;                                                                         \
    TYPE *out = to;                                                                                \
    for (npy_intp i = 0, at = 0; at < count; i++) {                                                \
      out[at] = in[i];                                                                             \
      at += mask[i] != 0;                                                                          \
    }                                                                                              \
  }
typedef struct late_pair {
  uint64_t low, high;
} late_pair;
LATE_COMPRESS(uint8_t)
LATE_COMPRESS(uint16_t)
LATE_COMPRESS(uint32_t)
LATE_COMPRESS(uint64_t)
LATE_COMPRESS(late_pair)

typedef void (*late_compress)(const void *from, const uint8_t *mask, npy_intp count, void *to);

static late_compress late_compress_of(npy_intp size) {
  switch (size) {
  case 1: return late_compress_uint8_t;
  case 2: return late_compress_uint16_t;
  case 4: return late_compress_uint32_t;
  case 8: return late_compress_uint64_t;
  case 16: return late_compress_late_pair;
  default: return NULL;
  }
}

static npy_intp late_count(const uint8_t *flags, npy_intp n) {
  npy_intp count = 0;
  for (npy_intp i = 0; i < n; i++)
    count += flags[i] != 0;
  return count;
}

/* Makes a new array with `size` elements along its first dimension, in a block of the runtime's.
 * With rank 2 it is a column. */
static PyObject *late_array(int typenum, int rank, npy_intp n) {
  numpy_array_payload p = {
      .typenum = typenum, .nd = rank, .flags = NUMPY_WRITEABLE, .dims = {n, 1}};
  void *data;
  if (!numpy_dtype_from_typenum(typenum, &p.dtype)) return NULL;
  p.strides[0] = p.strides[1] = (npy_intp)loom_dtype_size(p.dtype);
  return numpy_array_new_output(&p, NULL, NULL, &data);
}

/* getitem(array, mask) of arrays in C order and of one shape. */
static PyObject *late_get_item(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyArrayObject *a = (PyArrayObject *)args[0], *mask = (PyArrayObject *)args[1];
  late_compress compress = late_compress_of(PyArray_ITEMSIZE(a));
  npy_intp all = PyArray_SIZE(a);
  const uint8_t *flags = PyArray_DATA(mask);
  if (!compress || PyArray_SIZE(mask) != all || !PyArray_IS_C_CONTIGUOUS(a) ||
      !PyArray_IS_C_CONTIGUOUS(mask) || !PyArray_ISALIGNED(a))
    return PyObject_GetItem(args[0], args[1]);
  npy_intp taken = late_count(flags, all);
  PyObject *out = late_array(PyArray_TYPE(a), 1, taken);
  if (out) compress(PyArray_DATA(a), flags, taken, PyArray_DATA((PyArrayObject *)out));
  return out;
}

static PyObject *late_vector_indices(PyArrayObject *mask) {
  const uint8_t *flags = PyArray_DATA(mask);
  npy_intp taken = late_count(flags, PyArray_SIZE(mask));
  PyObject *out = late_array(NPY_INTP, 2, taken);
  npy_intp *to = out ? PyArray_DATA((PyArrayObject *)out) : NULL;
  for (npy_intp i = 0, at = 0; out && at < taken; i++) {
    to[at] = i;
    at += flags[i] != 0;
  }
  return out;
}

/* nonzero(mask): the indices, a row for each element. */
static PyObject *late_indices(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyArrayObject *mask = (PyArrayObject *)args[0];
  if (PyArray_NDIM(mask) == 1 && PyArray_IS_C_CONTIGUOUS(mask)) return late_vector_indices(mask);
  PyObject *all = count == 1 ? PyArray_Nonzero(mask) : NULL;
  if (!all) return NULL;
  int rank = PyArray_NDIM(mask);
  npy_intp dims[2] = {PyArray_DIM((PyArrayObject *)PyTuple_GET_ITEM(all, 0), 0), rank};
  PyObject *result = PyArray_SimpleNew(2, dims, NPY_INTP);
  for (int i = 0; i < rank && result; i++) {
    PyArrayObject *from = (PyArrayObject *)PyTuple_GET_ITEM(all, i);
    npy_intp *to = (npy_intp *)PyArray_DATA((PyArrayObject *)result) + i;
    for (npy_intp k = 0; k < dims[0]; k++)
      to[k * rank] = *(npy_intp *)PyArray_GETPTR1(from, k);
  }
  Py_DECREF(all);
  return result;
}

/* range(end): the whole numbers from 0 on, below the one element of an array. */
static PyObject *late_numbers(PyObject *self, PyObject *const *args, Py_ssize_t count) {
  PyArrayObject *end = (PyArrayObject *)args[0];
  bool fits = count == 1 && PyArray_TYPE(end) == NPY_INT64 && PyArray_SIZE(end) == 1;
  if (!fits) return PyErr_Format(PyExc_TypeError, "range() takes one int64");
  int64_t most = *(const int64_t *)PyArray_DATA(end), n = most > 0 ? most : 0;
  PyObject *out = late_array(NPY_INT64, 1, (npy_intp)n);
  int64_t *to = out ? PyArray_DATA((PyArrayObject *)out) : NULL;
  for (int64_t i = 0; out && i < n; i++)
    to[i] = i;
  return out;
}

static PyMethodDef late_functions[] = {
    {"range", (PyCFunction)(void (*)(void))late_numbers, METH_FASTCALL, NULL},
    {"getitem", (PyCFunction)(void (*)(void))late_get_item, METH_FASTCALL, NULL},
    {"nonzero", (PyCFunction)(void (*)(void))late_indices, METH_FASTCALL, NULL}};

enum { LATE_RANGE, LATE_GET_ITEM, LATE_INDICES, LATE_FUNCTIONS };

static PyObject *late_function(int which) {
  static PyObject *functions[LATE_FUNCTIONS];
  if (!functions[which]) functions[which] = PyCFunction_New(&late_functions[which], NULL);
  return functions[which];
}

bool np_host_is_quiet(PyObject *callable) {
  for (int i = 0; i < LATE_FUNCTIONS; i++)
    if (callable == late_function(i)) return true;
  return false;
}

/* function(arrays...) with one result. */
static loom_value late_call(tracer *t, int which, np_array *const *arrays, int count,
                            const loom_type *type) {
  np_host_call h;
  loom_value v = LOOM_NO_VALUE;
  PyObject *args = PyTuple_New(count);
  bool good = np_host_init(&h) && args && late_function(which);
  for (int i = 0; i < count && good; i++) {
    PyObject *hole = np_host_hole(t, &h, arrays[i]);
    good = hole != NULL;
    if (good) PyTuple_SET_ITEM(args, i, hole);
  }
  if (good) v = np_host_emit_late(t, &h, late_function(which), args, NULL, type, 1);
  Py_XDECREF(args);
  np_host_fini(&h);
  if (PyErr_Occurred()) trace_raise_live(t);
  return v;
}

/* ---- masks ---------------------------------------------------------------------------------- */

/* The mask that a key is, of as many dimensions as the array has, whose content is not known. */
static np_array *late_mask(tracer *t, const np_array *a, value *key) {
  np_array *mask = np_array_of(key);
  if (!mask || mask->type.dtype != LOOM_BOOL || mask->type.rank == 0 || a->scalar) return NULL;
  return mask->type.rank == a->type.rank && !np_known(t, key) ? mask : NULL;
}

/* Sizes that do not fit are NumPy's to report. */
static bool late_mask_fits(tracer *t, const np_array *a, const np_array *mask) {
  if (np_same_sizes(t, &mask->type, &a->type)) return true;
  if (!trace_pending(t)) trace_break(t, BREAK_RAISES, "a mask of other sizes than the array");
  return false;
}

/* The same by the indices of what the mask chooses, which has a derivative. */
static value *late_chosen(tracer *t, np_array *a, np_array *mask) {
  const loom_attr attrs[2] = {attr_int(0), attr_str("clip")};
  loom_type type = {.dtype = LOOM_I64, .rank = 2, .dims = {0, 1}};
  loom_dim all;
  if (!size_admit(t, np_count(t, &a->type), &all)) return NULL;
  value *flat = np_fresh(t, emit_reshape(t, np_read(t, mask), 1, &all), NULL);
  np_array *m = flat ? np_array_of(flat) : NULL;
  if (!m || !late_mask_size(t, np_read(t, m), &type.dims[0])) return NULL;
  loom_value in[2] = {emit_reshape(t, np_read(t, a), 1, &all),
                      emit_reshape(t, late_call(t, LATE_INDICES, &m, 1, &type), 1, type.dims)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return NULL;
  return np_fresh(t, trace_node(t, LOOM_OP_GATHER, in, 2, attrs, 2, NULL), NULL);
}

value *np_mask_get(tracer *t, value *v, value *key) {
  np_array *a = np_array_of(v), *mask = late_mask(t, a, key);
  if (!mask || !late_mask_fits(t, a, mask)) return NULL;
  if (t->loops.derived) return late_chosen(t, a, mask);
  loom_type type = {.dtype = a->type.dtype, .rank = 1};
  if (!late_mask_size(t, np_read(t, mask), &type.dims[0])) return NULL;
  return np_fresh(t, late_call(t, LATE_GET_ITEM, (np_array *[]){a, mask}, 2, &type), NULL);
}

/* ---- whole numbers below one that is not known ---- */

value *np_late_range(tracer *t, np_array *end) {
  loom_type type = {.dtype = LOOM_I64, .rank = 1};
  if (!size_late(t, &type.dims[0])) return NULL;
  return np_fresh(t, late_call(t, LATE_RANGE, &end, 1, &type), NULL);
}

/* ---- nonzero and its like ------------------------------------------------------------------- */

/* The indices of what is not zero, a row for each. */
static value *late_nonzero(tracer *t, const np_call *c, np_array *a) {
  loom_type type = {.dtype = LOOM_I64, .rank = 2, .dims = {0, a->type.rank}};
  if (a->type.rank == 0) return np_unsupported(t, c, "of a 0-d array");
  value *mask = np_fresh(t, emit_convert(t, np_read(t, a), LOOM_BOOL), NULL);
  np_array *m = mask ? np_array_of(mask) : NULL;
  if (!m || !late_mask_size(t, np_read(t, m), &type.dims[0])) return NULL;
  return np_fresh(t, late_call(t, LATE_INDICES, &m, 1, &type), NULL);
}

/* The indices along a dimension: a view of a column. */
static value *late_column(tracer *t, value *all, int dim) {
  np_array *rows = np_array_of(all);
  const int64_t rank = rows->type.dims[1];
  int64_t starts[2] = {0, dim}, sizes[2] = {rows->type.dims[0], 1}, steps[2] = {1, 1};
  value *column = rank > 1 ? np_view_slice(t, rows, starts, sizes, steps) : all;
  if (!column) return NULL;
  /* Without elements, too, NumPy steps from row to row. */
  const int64_t step = rank * (int64_t)sizeof(int64_t);
  value *indices = np_view_reshape(t, np_array_of(column), 1, sizes, &step);
  if (indices) np_array_of(indices)->stepped = true;
  return indices;
}

value *np_nonzero(tracer *t, const np_call *c) {
  value *p[1], *items[LOOM_MAX_RANK];
  if (!np_parse(t, c, "a", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  value *rows = a ? late_nonzero(t, c, a) : NULL;
  if (!rows) return NULL;
  for (int i = 0; i < a->type.rank; i++)
    if (!(items[i] = late_column(t, rows, i))) return NULL;
  return value_tuple(t, items, a->type.rank);
}

value *np_argwhere(tracer *t, const np_call *c) {
  value *p[1];
  if (!np_parse(t, c, "a", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  value *all = a ? late_nonzero(t, c, a) : NULL;
  if (!all) return NULL;
  loom_value rows = np_read(t, np_array_of(all));
  int64_t turned[2] = {1, 0}, column[2] = {1, np_array_of(all)->type.dims[0]};
  rows = a->type.rank == 1 ? emit_reshape(t, rows, 2, column) : emit_transpose(t, rows, turned);
  value *own = np_fresh(t, rows, NULL);
  return own ? np_view_transpose(t, np_array_of(own), turned) : NULL;
}

/* a.compress(condition): a.take(condition.nonzero()). */
value *np_compress(tracer *t, const np_call *c) {
  value *p[4];
  if (!np_parse(t, c, "a condition | axis out", p)) return NULL;
  if (!np_is_none(t, p[3])) return np_unsupported(t, c, "out=");
  np_array *condition = np_as_array(t, p[1]);
  if (!condition) return NULL;
  if (condition->type.rank != 1)
    return np_unsupported(t, c, "with a condition of other than one dimension");
  value *rows = late_nonzero(t, c, condition);
  value *index = rows ? late_column(t, rows, 0) : NULL;
  value *args[3] = {p[0], index, p[2] ? p[2] : value_const(t, Py_None)};
  np_call take = {.name = "take", .args = args, .count = 3};
  return index && args[2] ? np_take(t, &take) : NULL;
}

/* ---- sets ----------------------------------------------------------------------------------- */

value *np_unique(tracer *t, const np_call *c) {
  value *p[7];
  bool index, inverse;
  if (!np_parse(t, c, "ar | return_index return_inverse return_counts axis equal_nan sorted", p) ||
      !np_bool_arg(t, p[1], false, &index) || !np_bool_arg(t, p[2], false, &inverse))
    return NULL;
  if (!np_is_none(t, p[4])) return np_unsupported(t, c, "axis=");
  return np_host_vectors(t, c, inverse ? 1 + index : -1);
}

value *np_set_operation(tracer *t, const np_call *c) { return np_host_vectors(t, c, -1); }
