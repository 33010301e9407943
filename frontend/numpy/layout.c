/* Memory order of results. NumPy gives elementwise results and reductions the axis order of its
 * iterator ('K' order): the iterator itself is asked, over arrays with the operands' sizes and
 * strides whose data is never touched. */
#include "frontend/base/base.h"
#include "frontend/captured/call.h"
#include "frontend/core/tracer.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"

#include <string.h>

int64_t np_elements(const loom_type *type) {
  int64_t n = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (int i = 0; i < type->rank; i++) {
    if (LOOM_DIM_IS_SYM(type->dims[i])) return -1;
    n *= type->dims[i];
  }
  return n;
}

/* Strides of the axes in this order, the innermost last. As NumPy fills strides of a new array: all
 * of them are 0 when there is no element. */
static void layout_ordered(tracer *t, const loom_type *type, const int *perm, int64_t *out) {
  int64_t s = np_elements(type) ? (int64_t)loom_dtype_size(type->dtype) : 0;
  for (int i = type->rank - 1; i >= 0; i--) {
    int axis = perm ? perm[i] : i;
    out[axis] = s;
    s = np_times(t, s, np_dim(type->dims[axis]));
  }
}

void np_c_strides(tracer *t, const loom_type *type, int64_t *out) {
  layout_ordered(t, type, NULL, out);
}

void np_f_strides(tracer *t, const loom_type *type, int64_t *out) {
  int perm[LOOM_MAX_RANK];
  for (int i = 0; i < type->rank; i++)
    perm[i] = type->rank - 1 - i;
  layout_ordered(t, type, perm, out);
}

static bool layout_is_dense(tracer *t, const np_array *a, bool fortran) {
  if (np_elements(&a->type) == 0) return true;
  int64_t s = (int64_t)loom_dtype_size(a->type.dtype);
  for (int k = 0; k < a->type.rank; k++) {
    int i = fortran ? k : a->type.rank - 1 - k;
    if (a->type.dims[i] == 1) continue;
    if (size_equal(t, a->strides[i], s) <= 0) {
      np_not_small(t, a); /* else it may be dense all the same */
      return false;
    }
    s = np_times(t, s, np_dim(a->type.dims[i]));
  }
  return true;
}

bool np_is_c(tracer *t, const np_array *a) { return layout_is_dense(t, a, false); }
bool np_is_f(tracer *t, const np_array *a) { return layout_is_dense(t, a, true); }

/* ---- symbolic layouts -----------------------------------------------------------------------
 *
 * What NumPy does with strides depends on nothing but their order. So a layout of symbolic sizes is
 * asked for with the sizes of this call, with guards that keep the order of the operands' strides,
 * and the answer is taken back to symbols: the strides of a new array are products of its sizes. */

/* The array as it is in this call. */
static np_array layout_now(tracer *t, const np_array *a) {
  np_array now = {.type = {.dtype = a->type.dtype, .rank = a->type.rank}};
  for (int i = 0; i < a->type.rank; i++) {
    now.type.dims[i] = size_hint(t, np_dim(a->type.dims[i]));
    now.strides[i] = size_hint(t, a->strides[i]);
  }
  return now;
}

static int64_t layout_absolute(tracer *t, int64_t stride) {
  return size_less(t, stride, 0) > 0 ? np_times(t, stride, -1) : stride;
}

/* Guards that the strides of every call have the signs and the order of this call's. */
static void layout_pin(tracer *t, const np_array *a) {
  int64_t absolute[LOOM_MAX_RANK];
  np_is_c(t, a); /* of arrays that are not, small sizes change the order */
  for (int i = 0; i < a->type.rank; i++)
    absolute[i] = layout_absolute(t, a->strides[i]);
  for (int i = 0; i < a->type.rank; i++)
    for (int k = 0; k < i; k++) {
      if (a->type.dims[i] == 1 || a->type.dims[k] == 1) continue;
      if (size_less(t, absolute[i], absolute[k]) == 0) size_less(t, absolute[k], absolute[i]);
    }
}

np_array np_layout_now(tracer *t, const np_array *a) {
  if (np_is_symbolic(a)) layout_pin(t, a);
  return layout_now(t, a);
}

/* Strides of a new array with this call's sizes, as products of symbolic sizes. */
static void layout_lift(tracer *t, const loom_type *type, int64_t *strides) {
  int order[LOOM_MAX_RANK], count = 0;
  int64_t dense = (int64_t)loom_dtype_size(type->dtype), reached[LOOM_MAX_RANK + 1] = {dense};
  for (int i = 0; i < type->rank; i++) {
    int at = count;
    if (type->dims[i] == 1) continue;
    for (; at > 0 && strides[order[at - 1]] > strides[i]; at--)
      order[at] = order[at - 1];
    order[at] = i;
    count++;
  }
  for (int k = 0; k < count; k++)
    reached[k + 1] = dense = np_times(t, dense, np_dim(type->dims[order[k]]));
  for (int i = 0; i < type->rank; i++) {
    int k = 0;
    while (k <= count && size_hint(t, reached[k]) != strides[i])
      k++;
    if (k > count) /* a layout that is not understood */
      for (int d = 0; d < type->rank; d++)
        size_know(t, np_dim(type->dims[d]));
    if (trace_pending(t)) return;
    strides[i] = k <= count ? reached[k] : strides[i];
  }
}

/* An array object with the sizes and strides of `a` whose data must not be touched. */
static PyObject *layout_shadow(tracer *t, const np_array *a) {
  static double nothing[8];
  npy_intp dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  if (np_is_symbolic(a)) layout_pin(t, a);
  for (int i = 0; i < a->type.rank; i++) {
    dims[i] = size_hint(t, np_dim(a->type.dims[i]));
    strides[i] = size_hint(t, a->strides[i]);
  }
  return PyArray_NewFromDescr(&PyArray_Type, np_descr(a->type.dtype), a->type.rank, dims, strides,
                              nothing, NPY_ARRAY_ALIGNED, NULL);
}

static bool layout_same_shape(const loom_type *a, const loom_type *b) {
  if (a->rank != b->rank) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->dims[i] != b->dims[i]) return false;
  return true;
}

static void layout_from_array(tracer *t, PyArrayObject *a, const loom_type *type, int64_t *out) {
  for (int i = 0; i < PyArray_NDIM(a); i++)
    out[i] = PyArray_STRIDES(a)[i];
  if (size_type_is_symbolic(type)) layout_lift(t, type, out);
}

/* The strides of the output that an iterator (or NULL) allocated behind `count` operands. Frees
 * what it was made of. */
static bool layout_answer(tracer *t, NpyIter *iter, PyArrayObject *const *ops, int count,
                          PyArray_Descr *dtype, const loom_type *result, int64_t *out) {
  bool known = iter != NULL;
  if (known) {
    layout_from_array(t, NpyIter_GetOperandArray(iter)[count], result, out);
    NpyIter_Deallocate(iter);
  }
  error_drop();
  for (int i = 0; i < count; i++)
    Py_XDECREF(ops[i]);
  Py_XDECREF(dtype);
  return known;
}

/* Asks the iterator for the output it would allocate. False (with no exception) when it cannot
 * tell. */
static bool layout_ask(tracer *t, np_array *const *operands, int count, const loom_type *result,
                       NPY_ORDER order, int64_t *out) {
  PyArrayObject *ops[NPY_MAXARGS] = {NULL};
  npy_uint32 flags[NPY_MAXARGS];
  PyArray_Descr *dtypes[NPY_MAXARGS] = {NULL};
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    ops[i] = (PyArrayObject *)layout_shadow(t, operands[i]);
    flags[i] = NPY_ITER_READONLY;
    good = ops[i] != NULL;
  }
  flags[count] = NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE;
  dtypes[count] = np_descr(result->dtype);
  NpyIter *iter = good ? NpyIter_MultiNew(count + 1, ops, NPY_ITER_ZEROSIZE_OK, order,
                                          NPY_UNSAFE_CASTING, flags, dtypes)
                       : NULL;
  return layout_answer(t, iter, ops, count, dtypes[count], result, out);
}

void np_layout_elementwise(tracer *t, np_array *const *operands, int count, const loom_type *result,
                           char order, bool iterates, int64_t *out) {
  np_c_strides(t, result, out);
  if (result->rank < 2 || order == 'C' || np_elements(result) == 0) return;
  if (order == 'F') {
    np_f_strides(t, result, out);
    return;
  }
  np_array *used[NPY_MAXARGS];
  int n = 0;
  bool trivial = true, c = true, f = true;
  for (int i = 0; i < count; i++) {
    if (!operands[i] || operands[i]->type.rank == 0) continue;
    trivial &= layout_same_shape(&operands[i]->type, result);
    c &= np_is_c(t, operands[i]);
    f &= np_is_f(t, operands[i]);
    used[n++] = operands[i];
  }
  bool like = trivial && c && order == 'K';                  /* the iterator gives the same */
  if (n == 0 || like || (trivial && c && !iterates)) return; /* NumPy's loop without an iterator */
  if (trivial && f && !iterates) {
    np_f_strides(t, result, out);
    return;
  }
  if (order == 'A') {
    if (f) np_f_strides(t, result, out);
    return;
  }
  if (!layout_ask(t, used, n, result, NPY_KEEPORDER, out)) np_c_strides(t, result, out);
}

void np_layout_copy(tracer *t, const np_array *a, const loom_type *type, char order, int64_t *out) {
  bool fortran = order == 'F' || (order == 'A' && np_is_f(t, a) && !np_is_c(t, a)) ||
                 (order == 'K' && np_is_f(t, a) && !np_is_c(t, a));
  if (fortran) {
    np_f_strides(t, type, out);
    return;
  }
  np_c_strides(t, type, out);
  if (order != 'K' || np_is_c(t, a) || type->rank < 2 || np_elements(type) == 0) return;
  /* PyArray_NewLikeArray: axes sorted by absolute stride (the largest first, equal ones in order).
   */
  int perm[LOOM_MAX_RANK];
  np_array now = *a;
  if (np_is_symbolic(a)) {
    layout_pin(t, a);
    now = layout_now(t, a);
  }
  for (int i = 0; i < type->rank; i++) {
    int j = i;
    int64_t s = llabs(now.strides[i]);
    while (j > 0 && s > llabs(now.strides[perm[j - 1]])) {
      perm[j] = perm[j - 1];
      j--;
    }
    perm[j] = i;
  }
  layout_ordered(t, type, perm, out);
}

/* PyArray_CreateMultiSortedStridePerm: axes by stride over several arrays, where C order wins
 * conflicts. */
static void layout_sort_axes(const np_array *const *arrays, int count, int rank, int *perm) {
  for (int i = 0; i < rank; i++)
    perm[i] = i;
  for (int i = 1; i < rank; i++) {
    int at = i, axis = perm[i];
    for (int j = i - 1; j >= 0; j--) {
      bool ambiguous = true, swap = false;
      for (int k = 0; k < count; k++) {
        if (arrays[k]->type.dims[axis] == 1 || arrays[k]->type.dims[perm[j]] == 1) continue;
        if (llabs(arrays[k]->strides[axis]) <= llabs(arrays[k]->strides[perm[j]]))
          swap = false;
        else if (ambiguous)
          swap = true;
        ambiguous = false;
      }
      if (ambiguous) continue;
      if (!swap) break;
      at = j;
    }
    memmove(perm + at + 1, perm + at, sizeof *perm * (size_t)(i - at));
    perm[at] = axis;
  }
}

void np_layout_concatenate(tracer *t, np_array *const *arrays, int count, const loom_type *result,
                           int64_t *out) {
  int perm[LOOM_MAX_RANK];
  const np_array **now = trace_alloc(t, sizeof *now * (size_t)(count + 1));
  np_array *copies = trace_alloc(t, sizeof *copies * (size_t)(count + 1));
  if (!now || !copies) return;
  for (int i = 0; i < count; i++) {
    now[i] = arrays[i];
    if (!np_is_symbolic(arrays[i])) continue;
    layout_pin(t, arrays[i]);
    copies[i] = layout_now(t, arrays[i]);
    now[i] = &copies[i];
  }
  layout_sort_axes(now, count, result->rank, perm);
  layout_ordered(t, result, perm, out);
}

/* How NumPy's reductions mark an axis of the output that is kept with one element. */
#define LAYOUT_KEPT_AXIS(axis) ((axis) + (1 << 30))

void np_layout_reduce(tracer *t, const np_array *a, uint32_t mask, bool keepdims,
                      const loom_type *result, int64_t *out) {
  np_c_strides(t, result, out);
  if (result->rank == 0 || np_elements(result) == 0) return;
  PyArrayObject *ops[2] = {(PyArrayObject *)layout_shadow(t, a), NULL};
  PyArray_Descr *dtypes[2] = {NULL, np_descr(result->dtype)};
  npy_uint32 flags[2] = {NPY_ITER_READONLY,
                         NPY_ITER_READWRITE | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE};
  int axes[2][LOOM_MAX_RANK], *op_axes[2] = {axes[0], axes[1]};
  for (int i = 0, k = 0; i < a->type.rank; i++) {
    bool reduced = mask >> i & 1;
    axes[0][i] = i;
    axes[1][i] = reduced ? LAYOUT_KEPT_AXIS(keepdims ? k : -1) : k;
    k += keepdims || !reduced;
  }
  NpyIter *iter = ops[0] ? NpyIter_AdvancedNew(2, ops, NPY_ITER_ZEROSIZE_OK | NPY_ITER_REDUCE_OK,
                                               NPY_KEEPORDER, NPY_UNSAFE_CASTING, flags, dtypes,
                                               a->type.rank, op_axes, NULL, -1)
                         : NULL;
  layout_answer(t, iter, ops, 1, dtypes[1], result, out);
}

void np_layout_labels(tracer *t, np_array *const *arrays, int count, const int *axes, int row,
                      int labels, const loom_type *result, int64_t *out) {
  PyArrayObject *ops[NPY_MAXARGS] = {NULL};
  PyArray_Descr *dtypes[NPY_MAXARGS] = {NULL};
  npy_uint32 flags[NPY_MAXARGS];
  int *op_axes[NPY_MAXARGS], own[2 * LOOM_MAX_RANK];
  np_c_strides(t, result, out);
  if (result->rank < 2 || np_elements(result) == 0) return;
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    good = (ops[i] = (PyArrayObject *)layout_shadow(t, arrays[i])) != NULL;
    flags[i] = NPY_ITER_READONLY;
    op_axes[i] = (int *)(uintptr_t)(axes + i * row);
  }
  for (int i = 0; i < labels; i++)
    own[i] = i < result->rank ? i : -1;
  op_axes[count] = own;
  flags[count] = NPY_ITER_READWRITE | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE;
  dtypes[count] = np_descr(result->dtype);
  NpyIter *iter =
      good ? NpyIter_AdvancedNew(count + 1, ops, NPY_ITER_ZEROSIZE_OK | NPY_ITER_REDUCE_OK,
                                 NPY_KEEPORDER, NPY_UNSAFE_CASTING, flags, dtypes, labels, op_axes,
                                 NULL, -1)
           : NULL;
  layout_answer(t, iter, ops, count, dtypes[count], result, out);
}

/* The strides of new dimensions [ni, nj) that stand for old dimensions [oi, oj), in C or Fortran
 * order. */
static void layout_split(tracer *t, const int64_t *dims, int ni, int nj, int64_t first,
                         int64_t last, bool fortran, int64_t *out) {
  if (fortran) {
    out[ni] = first;
    for (int k = ni + 1; k < nj; k++)
      out[k] = np_times(t, out[k - 1], np_dim(dims[k - 1]));
  } else {
    out[nj - 1] = last;
    for (int k = nj - 1; k > ni; k--)
      out[k - 1] = np_times(t, out[k], np_dim(dims[k]));
  }
}

/* Do old dimensions [oi, oj) lie in memory like one? */
static bool layout_joins(tracer *t, const int64_t *dims, const int64_t *strides, int oi, int oj,
                         bool fortran) {
  for (int k = oi; k < oj - 1; k++) {
    int64_t outer = fortran ? strides[k + 1] : strides[k];
    int64_t inner = fortran ? np_times(t, np_dim(dims[k]), strides[k])
                            : np_times(t, np_dim(dims[k + 1]), strides[k + 1]);
    if (size_equal(t, outer, inner) <= 0) return false;
  }
  return true;
}

/* NumPy's _attempt_nocopy_reshape. */
static bool layout_nocopy(tracer *t, const np_array *a, int rank, const int64_t *dims, bool fortran,
                          int64_t *out) {
  int64_t olddims[LOOM_MAX_RANK], oldstrides[LOOM_MAX_RANK];
  int oldnd = 0;
  for (int i = 0; i < a->type.rank; i++)
    if (a->type.dims[i] != 1) {
      olddims[oldnd] = a->type.dims[i];
      oldstrides[oldnd++] = a->strides[i];
    }
  int oi = 0, oj = 1, ni = 0, nj = 1;
  while (ni < rank && oi < oldnd) {
    int64_t np = np_dim(dims[ni]), op = np_dim(olddims[oi]);
    while (size_equal(t, np, op) == 0) {
      int less = size_less(t, np, op);
      if (less < 0 || (less ? nj >= rank : oj >= oldnd)) return false;
      if (less)
        np = np_times(t, np, np_dim(dims[nj++]));
      else
        op = np_times(t, op, np_dim(olddims[oj++]));
    }
    if (trace_pending(t) || !layout_joins(t, olddims, oldstrides, oi, oj, fortran)) return false;
    layout_split(t, dims, ni, nj, oldstrides[oi], oldstrides[oj - 1], fortran, out);
    ni = nj++;
    oi = oj++;
  }
  int64_t last = ni >= 1 ? out[ni - 1] : (int64_t)loom_dtype_size(a->type.dtype);
  if (fortran && ni >= 1) last = np_times(t, last, np_dim(dims[ni - 1]));
  for (int k = ni; k < rank; k++)
    out[k] = last;
  return true;
}

/* Strides of a contiguous view; a size of 0 counts as 1. */
static void layout_fill(tracer *t, const loom_type *type, bool fortran, int64_t *out) {
  int64_t s = (int64_t)loom_dtype_size(type->dtype);
  for (int k = 0; k < type->rank; k++) {
    int i = fortran ? k : type->rank - 1 - k;
    out[i] = s;
    if (type->dims[i]) s = np_times(t, s, np_dim(type->dims[i]));
  }
}

bool np_reshape_strides(tracer *t, const np_array *a, int rank, const int64_t *dims, char order,
                        int64_t *out) {
  loom_type type = type_make(a->type.dtype, rank, dims);
  bool fortran = order == 'F';
  if (np_elements(&a->type) != 0 && !(fortran ? np_is_f(t, a) : np_is_c(t, a)))
    return layout_nocopy(t, a, rank, dims, fortran, out);
  layout_fill(t, &type, fortran, out);
  return true;
}
