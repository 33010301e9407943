/* Memory order of results. NumPy gives elementwise results and reductions the axis order of its
 * iterator ('K' order): the iterator itself is asked, over arrays with the operands' sizes and
 * strides whose data is never touched. */
#include "frontend/numpy/capture.h"

#include <string.h>

int64_t np_elements(const loom_type *type) {
  int64_t n = 1;
  for (int i = 0; i < type->rank; i++)
    n *= type->dims[i];
  return n;
}

/* As NumPy fills strides of a new array: all of them are 0 when there is no element. */
void np_c_strides(const loom_type *type, int64_t *out) {
  int64_t s = np_elements(type) ? (int64_t)loom_dtype_size(type->dtype) : 0;
  for (int i = type->rank - 1; i >= 0; i--) {
    out[i] = s;
    s *= type->dims[i];
  }
}

void np_f_strides(const loom_type *type, int64_t *out) {
  int64_t s = np_elements(type) ? (int64_t)loom_dtype_size(type->dtype) : 0;
  for (int i = 0; i < type->rank; i++) {
    out[i] = s;
    s *= type->dims[i];
  }
}

bool np_is_c(const np_array *a) {
  if (np_elements(&a->type) == 0) return true;
  int64_t s = (int64_t)loom_dtype_size(a->type.dtype);
  for (int i = a->type.rank - 1; i >= 0; i--)
    if (a->type.dims[i] != 1) {
      if (a->strides[i] != s) return false;
      s *= a->type.dims[i];
    }
  return true;
}

bool np_is_f(const np_array *a) {
  if (np_elements(&a->type) == 0) return true;
  int64_t s = (int64_t)loom_dtype_size(a->type.dtype);
  for (int i = 0; i < a->type.rank; i++)
    if (a->type.dims[i] != 1) {
      if (a->strides[i] != s) return false;
      s *= a->type.dims[i];
    }
  return true;
}

/* An array object with the sizes and strides of `a` whose data must not be touched. */
static PyObject *layout_shadow(const np_array *a) {
  static double nothing[8];
  npy_intp dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  for (int i = 0; i < a->type.rank; i++) {
    dims[i] = a->type.dims[i];
    strides[i] = a->strides[i];
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

static void layout_from_array(PyArrayObject *a, int64_t *out) {
  for (int i = 0; i < PyArray_NDIM(a); i++)
    out[i] = PyArray_STRIDES(a)[i];
}

/* Asks the iterator for the output it would allocate. False (with no exception) when it cannot
 * tell. */
static bool layout_ask(np_array *const *operands, int count, loom_dtype dtype, NPY_ORDER order,
                       int64_t *out) {
  PyArrayObject *ops[NPY_MAXARGS] = {NULL};
  npy_uint32 flags[NPY_MAXARGS];
  PyArray_Descr *dtypes[NPY_MAXARGS] = {NULL};
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    ops[i] = (PyArrayObject *)layout_shadow(operands[i]);
    flags[i] = NPY_ITER_READONLY;
    good = ops[i] != NULL;
  }
  flags[count] = NPY_ITER_WRITEONLY | NPY_ITER_ALLOCATE | NPY_ITER_NO_SUBTYPE;
  dtypes[count] = np_descr(dtype);
  NpyIter *iter = good ? NpyIter_MultiNew(count + 1, ops, NPY_ITER_ZEROSIZE_OK, order,
                                          NPY_UNSAFE_CASTING, flags, dtypes)
                       : NULL;
  if (iter) {
    layout_from_array(NpyIter_GetOperandArray(iter)[count], out);
    NpyIter_Deallocate(iter);
  }
  PyErr_Clear();
  for (int i = 0; i < count; i++)
    Py_XDECREF(ops[i]);
  Py_XDECREF(dtypes[count]);
  return iter != NULL;
}

void np_layout_elementwise(np_array *const *operands, int count, const loom_type *result,
                           char order, int64_t *out) {
  np_c_strides(result, out);
  if (result->rank < 2 || order == 'C' || np_elements(result) == 0) return;
  if (order == 'F') {
    np_f_strides(result, out);
    return;
  }
  np_array *used[NPY_MAXARGS];
  int n = 0;
  bool trivial = true, c = true, f = true;
  for (int i = 0; i < count; i++) {
    if (!operands[i] || operands[i]->type.rank == 0) continue;
    trivial &= layout_same_shape(&operands[i]->type, result);
    c &= np_is_c(operands[i]);
    f &= np_is_f(operands[i]);
    used[n++] = operands[i];
  }
  if (n == 0 || (trivial && c)) return; /* NumPy's loop without an iterator */
  if (trivial && f) {
    np_f_strides(result, out);
    return;
  }
  if (order == 'A') {
    if (f && !c) np_f_strides(result, out);
    return;
  }
  if (!layout_ask(used, n, result->dtype, NPY_KEEPORDER, out)) np_c_strides(result, out);
}

void np_layout_copy(const np_array *a, const loom_type *type, char order, int64_t *out) {
  bool fortran = order == 'F' || (order == 'A' && np_is_f(a) && !np_is_c(a)) ||
                 (order == 'K' && np_is_f(a) && !np_is_c(a));
  if (fortran) {
    np_f_strides(type, out);
    return;
  }
  np_c_strides(type, out);
  if (order != 'K' || np_is_c(a) || type->rank < 2 || np_elements(type) == 0) return;
  /* PyArray_NewLikeArray: axes sorted by absolute stride (the largest first, equal ones in order).
   */
  int perm[LOOM_MAX_RANK];
  for (int i = 0; i < type->rank; i++) {
    int j = i;
    int64_t s = llabs(a->strides[i]);
    while (j > 0 && s > llabs(a->strides[perm[j - 1]])) {
      perm[j] = perm[j - 1];
      j--;
    }
    perm[j] = i;
  }
  int64_t s = (int64_t)loom_dtype_size(type->dtype);
  for (int i = type->rank - 1; i >= 0; i--) {
    out[perm[i]] = s;
    s *= type->dims[perm[i]];
  }
}

/* PyArray_CreateMultiSortedStridePerm: axes by stride over several arrays, where C order wins
 * conflicts. */
static void layout_sort_axes(np_array *const *arrays, int count, int rank, int *perm) {
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

void np_layout_concatenate(np_array *const *arrays, int count, const loom_type *result,
                           int64_t *out) {
  int perm[LOOM_MAX_RANK];
  int64_t s = np_elements(result) ? (int64_t)loom_dtype_size(result->dtype) : 0;
  layout_sort_axes(arrays, count, result->rank, perm);
  for (int i = result->rank - 1; i >= 0; i--) {
    out[perm[i]] = s;
    s *= result->dims[perm[i]];
  }
}

/* How NumPy's reductions mark an axis of the output that is kept with one element. */
#define LAYOUT_KEPT_AXIS(axis) ((axis) + (1 << 30))

void np_layout_reduce(const np_array *a, uint32_t mask, bool keepdims, const loom_type *result,
                      int64_t *out) {
  np_c_strides(result, out);
  if (result->rank == 0 || np_elements(result) == 0) return;
  PyArrayObject *ops[2] = {(PyArrayObject *)layout_shadow(a), NULL};
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
  if (iter) {
    layout_from_array(NpyIter_GetOperandArray(iter)[1], out);
    NpyIter_Deallocate(iter);
  }
  PyErr_Clear();
  Py_XDECREF(ops[0]);
  Py_XDECREF(dtypes[1]);
}

void np_layout_labels(np_array *const *arrays, int count, const int *axes, int row, int labels,
                      const loom_type *result, int64_t *out) {
  PyArrayObject *ops[NPY_MAXARGS] = {NULL};
  PyArray_Descr *dtypes[NPY_MAXARGS] = {NULL};
  npy_uint32 flags[NPY_MAXARGS];
  int *op_axes[NPY_MAXARGS], own[2 * LOOM_MAX_RANK];
  np_c_strides(result, out);
  if (result->rank < 2 || np_elements(result) == 0) return;
  bool good = true;
  for (int i = 0; i < count && good; i++) {
    good = (ops[i] = (PyArrayObject *)layout_shadow(arrays[i])) != NULL;
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
  if (iter) {
    layout_from_array(NpyIter_GetOperandArray(iter)[count], out);
    NpyIter_Deallocate(iter);
  }
  PyErr_Clear();
  for (int i = 0; i < count; i++)
    Py_XDECREF(ops[i]);
  Py_XDECREF(dtypes[count]);
}

/* The strides of new dimensions [ni, nj) that stand for old dimensions [oi, oj), in C or Fortran
 * order. */
static void layout_split(const int64_t *dims, int ni, int nj, int64_t first, int64_t last,
                         bool fortran, int64_t *out) {
  if (fortran) {
    out[ni] = first;
    for (int k = ni + 1; k < nj; k++)
      out[k] = out[k - 1] * dims[k - 1];
  } else {
    out[nj - 1] = last;
    for (int k = nj - 1; k > ni; k--)
      out[k - 1] = out[k] * dims[k];
  }
}

/* NumPy's _attempt_nocopy_reshape. */
static bool layout_nocopy(const np_array *a, int rank, const int64_t *dims, bool fortran,
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
    int64_t np = dims[ni], op = olddims[oi];
    while (np != op) {
      if (np < op)
        np *= dims[nj++];
      else
        op *= olddims[oj++];
    }
    for (int ok = oi; ok < oj - 1; ok++)
      if (fortran ? oldstrides[ok + 1] != olddims[ok] * oldstrides[ok]
                  : oldstrides[ok] != olddims[ok + 1] * oldstrides[ok + 1])
        return false;
    layout_split(dims, ni, nj, oldstrides[oi], oldstrides[oj - 1], fortran, out);
    ni = nj++;
    oi = oj++;
  }
  int64_t last = ni >= 1 ? out[ni - 1] : (int64_t)loom_dtype_size(a->type.dtype);
  if (fortran && ni >= 1) last *= dims[ni - 1];
  for (int k = ni; k < rank; k++)
    out[k] = last;
  return true;
}

/* Strides of a contiguous view; a size of 0 counts as 1. */
static void layout_fill(const loom_type *type, bool fortran, int64_t *out) {
  int64_t s = (int64_t)loom_dtype_size(type->dtype);
  for (int k = 0; k < type->rank; k++) {
    int i = fortran ? k : type->rank - 1 - k;
    out[i] = s;
    if (type->dims[i]) s *= type->dims[i];
  }
}

bool np_reshape_strides(const np_array *a, int rank, const int64_t *dims, char order,
                        int64_t *out) {
  loom_type type = type_make(a->type.dtype, rank, dims);
  bool same = rank == a->type.rank;
  for (int i = 0; i < rank && same; i++)
    same = dims[i] == a->type.dims[i];
  if (same) {
    memcpy(out, a->strides, sizeof(int64_t) * (size_t)rank);
    return true;
  }
  bool fortran = order == 'F';
  if (np_elements(&a->type) != 0 && !(fortran ? np_is_f(a) : np_is_c(a)))
    return layout_nocopy(a, rank, dims, fortran, out);
  layout_fill(&type, fortran, out);
  return true;
}
