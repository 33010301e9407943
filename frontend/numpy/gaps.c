/* Arrays with other memory between their elements. Some of NumPy's functions return views of memory
 * that nobody else knows. Here each is a view, too, of a larger array: an axis of that array, in
 * memory order, has as many elements as the stride of the next outer axis steps over. The view
 * takes the first elements of the axis, or goes through them backwards. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/index_internal.h"

#include <stdlib.h>
#include <string.h>

static int64_t gaps_stride(PyArrayObject *a, int64_t axis) {
  return llabs((long long)PyArray_STRIDES(a)[axis]);
}

/* Axes by falling stride. Those of one element, whose strides mean nothing, stay where they are,
 * and so does what would have to pass them: such an array is refused, for where the library puts
 * them depends on more than a sample tells. */
static void gaps_sort(PyArrayObject *a, int64_t *order) {
  const npy_intp *dims = PyArray_DIMS(a);
  for (int i = 0; i < PyArray_NDIM(a); i++) {
    int at = i;
    for (; at > 0 && dims[order[at - 1]] > 1 && dims[i] > 1 &&
           gaps_stride(a, order[at - 1]) < gaps_stride(a, i);
         at--)
      order[at] = order[at - 1];
    order[at] = i;
  }
}

bool np_memory_order(PyArrayObject *a, int64_t *order, bool *gaps) {
  int n = PyArray_NDIM(a);
  int64_t expected = PyArray_ITEMSIZE(a), inner = expected;
  *gaps = false;
  gaps_sort(a, order);
  for (int i = n - 1; i >= 0; i--) {
    int64_t axis = order[i], stride = gaps_stride(a, axis), dim = PyArray_DIMS(a)[axis];
    if (dim <= 1) continue;
    if (stride < expected || stride % inner) return false;
    *gaps |= stride != expected || PyArray_STRIDES(a)[axis] < 0;
    expected = stride * dim;
    inner = stride;
  }
  return true;
}

value *np_with_gaps(tracer *t, const loom_type *type, const int64_t *strides, const int64_t *order,
                    loom_value v, int64_t at, np_array **own) {
  int n = type->rank;
  int64_t starts[LOOM_MAX_RANK] = {0}, sizes[LOOM_MAX_RANK], steps[LOOM_MAX_RANK];
  int64_t back[LOOM_MAX_RANK], size = (int64_t)loom_dtype_size(type->dtype),
                               step[LOOM_MAX_RANK] = {0};
  loom_type whole = {.dtype = type->dtype, .rank = n + 1};
  if (n >= LOOM_MAX_RANK) return trace_break(t, BREAK_LIMIT, "too many dimensions");
  for (int i = n - 1; i >= 0; i--) {
    int64_t axis = order[i], inner = i + 1 < n ? step[i + 1] * sizes[i + 1] : 1;
    sizes[i] = type->dims[axis];
    step[i] = sizes[i] > 1 ? llabs((long long)strides[axis]) / size : inner;
    steps[i] = sizes[i] > 1 && strides[axis] < 0 ? -1 : 1;
    starts[i] = steps[i] < 0 ? sizes[i] - 1 : 0;
    back[axis] = i;
    whole.dims[i + 1] = i + 1 < n ? step[i] / step[i + 1] : step[i];
  }
  whole.dims[0] = sizes[0];
  sizes[n] = steps[n] = 1;
  starts[n] = at;
  if (at >= whole.dims[n]) return trace_break(t, BREAK_NUMPY_FUNCTION, "results in one memory");
  v = emit_reshape(t, v, n + 1, sizes);
  if (!*own) *own = np_array_of(np_fresh(t, emit_constant(t, &whole, 0), NULL));
  value *part = *own ? np_view_slice(t, *own, starts, sizes, steps) : NULL;
  np_array *p = np_array_of(part);
  if (!p || !np_write(t, p, v)) return NULL;
  part = p ? np_view_reshape(t, p, n, sizes, p->strides) : NULL;
  return part ? np_view_transpose(t, np_array_of(part), back) : NULL;
}
