/* Writes results into arrays that existed before the call: the plan itself writes them where
 * layouts agree; otherwise they are copied.
 */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/library/library.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/values/objects.h"

#include <stdlib.h>
#include <string.h>

/* Can plain stores of elements of this type write an array of these sizes? */
static bool write_is_plain(PyArrayObject *a, const loom_type *type) {
  if (PyArray_NDIM(a) != type->rank || !numpy_descr_plain(PyArray_DESCR(a))) return false;
  if (PyArray_TYPE(a) != numpy_typenum_from_dtype(type->dtype)) return false;
  if (!PyArray_ISWRITEABLE(a) || !PyArray_ISALIGNED(a) || numpy_array_warns((PyObject *)a))
    return false;
  for (int i = 0; i < type->rank; i++)
    if (PyArray_DIM(a, i) != type->dims[i]) return false;
  return true;
}

void *numpy_array_direct(PyObject *target, const loom_type *type, const int64_t *strides,
                         bool uncounted) {
  PyArrayObject *a = (PyArrayObject *)target;
  if (!PyArray_CheckExact(target) || !write_is_plain(a, type)) return NULL;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] > 1 &&
        PyArray_STRIDE(a, i) != strides[i] * (npy_intp)loom_dtype_size(type->dtype))
      return NULL;
  return PyArray_DATA(a);
}

/* ---- reports -------------------------------------------------------------------------------- */

void np_note_given(np_array *out, loom_value node) {
  if (out->kind != VIEW_ROOT) return;
  out->storage->gave = true;
  out->storage->given = node;
}

bool np_note_report(tracer *t, PyObject *ufunc, np_array *out, loom_value node) {
  static const char *const exact[] = {"add", "subtract", "multiply", "divide"};
  np_storage *s = out->storage;
  if (!s->source || out->kind != VIEW_ROOT || !loom_dtype_is_float(out->type.dtype)) return true;
  bool first = s->report == NULL, good = false;
  const char *name = ((PyUFuncObject *)ufunc)->name;
  for (size_t i = 0; i < sizeof exact / sizeof *exact; i++)
    good |= strcmp(name, exact[i]) == 0;
  const np_errors *errors = np_error_tracked(t);
  s->report = Py_None;
  if (!first || !good || node == LOOM_NO_VALUE || !errors || errors->state) return errors != NULL;
  PyObject *row = Py_BuildValue("(sN)", name, trace_standins(t));
  if (!row) return trace_raise_live(t) != NULL;
  s->report = trace_keep(t, row);
  s->made = node;
  return true;
}

static PyObject *write_give_report(PyObject *self, PyObject *args) {
  const char *name;
  int flags;
  if (!PyArg_ParseTuple(args, "si", &name, &flags)) return NULL;
  if (PyUFunc_GiveFloatingpointErrors(name, flags) < 0) return NULL;
  Py_RETURN_NONE;
}

/* As the ufunc does at its end, from a frame that looks like the user's. */
int numpy_report(PyObject *row, uint32_t flags) {
  static PyMethodDef method = {"report", write_give_report, METH_VARARGS, NULL};
  PyObject *function = PyCFunction_New(&method, NULL), *kwargs = PyDict_New();
  PyObject *args = Py_BuildValue("(Oi)", PyTuple_GET_ITEM(row, 0), (int)flags), *done = NULL;
  if (function && kwargs && args)
    done = standin_call(PyTuple_GET_ITEM(row, 1), function, args, kwargs);
  Py_XDECREF(function);
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  Py_XDECREF(done);
  return done ? 0 : -1;
}

/* ---- copies --------------------------------------------------------------------------------- */

#define WRITE_CHUNK (256 << 10) /* bytes */
#define WRITE_RUN 32            /* fewer bytes in one piece are left to NumPy's loops */

/* Rows of `run` bytes without gaps, in the same order of axes on both sides. */
typedef struct write_plan {
  uint64_t run, rows, per_chunk;
  uint64_t size; /* of one row cut into several: its bytes; else 0 */
  int rank;
  int64_t dims[LOOM_MAX_RANK], from[LOOM_MAX_RANK], to[LOOM_MAX_RANK];
} write_plan;

/* A kernel of the runtime's kind: copies chunks of rows. `params` is a write_plan. */
static uint32_t write_chunks(void *const *buffers, const uint64_t *params, void *scratch,
                             int64_t begin, int64_t end) {
  const write_plan *p = (const write_plan *)params;
  uint64_t row = (uint64_t)begin * p->per_chunk, last = (uint64_t)end * p->per_chunk, rest = row;
  if (last > p->rows) last = p->rows;
  int64_t at[LOOM_MAX_RANK], from = 0, to = 0;
  for (int i = p->rank - 1; i >= 0; i--) {
    at[i] = (int64_t)(rest % (uint64_t)p->dims[i]);
    rest /= (uint64_t)p->dims[i];
    from += at[i] * p->from[i];
    to += at[i] * p->to[i];
  }
  for (; row < last; row++) {
    uint64_t bytes = p->size && p->size - row * p->run < p->run ? p->size - row * p->run : p->run;
    memcpy((char *)buffers[1] + to, (const char *)buffers[0] + from, bytes);
    for (int i = p->rank - 1; i >= 0; i--) {
      from += p->from[i];
      to += p->to[i];
      if (++at[i] < p->dims[i]) break;
      from -= at[i] * p->from[i];
      to -= at[i] * p->to[i];
      at[i] = 0;
    }
  }
  return 0;
}

/* Axes that follow on without a gap on both sides go into the run, the others are loops, the one
 * with the longest step outermost. False when the pieces are too short. */
static bool write_make_plan(const loom_type *type, const int64_t *strides, PyArrayObject *target,
                            write_plan *p) {
  int64_t size = (int64_t)loom_dtype_size(type->dtype), run = size;
  uint32_t taken = 0;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 1) taken |= 1u << i;
  for (bool more = true; more;) {
    more = false;
    for (int i = 0; i < type->rank; i++) {
      if (taken >> i & 1 || strides[i] * size != run || PyArray_STRIDE(target, i) != run) continue;
      run *= type->dims[i];
      taken |= 1u << i;
      more = true;
    }
  }
  *p = (write_plan){.run = (uint64_t)run, .rows = 1, .per_chunk = 1};
  for (int i = 0; i < type->rank; i++) {
    if (taken >> i & 1) continue;
    int at = p->rank++;
    int64_t to = PyArray_STRIDE(target, i);
    for (; at > 0 && llabs(p->to[at - 1]) < llabs(to); at--) {
      p->dims[at] = p->dims[at - 1];
      p->from[at] = p->from[at - 1];
      p->to[at] = p->to[at - 1];
    }
    p->dims[at] = type->dims[i];
    p->from[at] = strides[i] * size;
    p->to[at] = to;
    p->rows *= (uint64_t)type->dims[i];
  }
  return run >= WRITE_RUN || p->rows == 1;
}

/* By all threads, or false. */
static bool write_rows(PyArrayObject *target, const loom_type *type, const int64_t *strides,
                       const void *data) {
  write_plan p;
  if (!write_is_plain(target, type) || PyArray_SIZE(target) == 0 ||
      !write_make_plan(type, strides, target, &p))
    return false;
  if (p.rows == 1 && p.run > WRITE_CHUNK) {
    p.size = p.run;
    p.run = p.from[0] = p.to[0] = WRITE_CHUNK;
    p.rank = 1;
    p.rows = (p.size + p.run - 1) / p.run;
    p.dims[0] = (int64_t)p.rows;
  }
  if (p.run < WRITE_CHUNK) p.per_chunk = WRITE_CHUNK / p.run;
  void *buffers[] = {(void *)data, PyArray_DATA(target)};
  loom_threads_launch(write_chunks, buffers, (const uint64_t *)&p, 0, 0,
                      (int64_t)((p.rows + p.per_chunk - 1) / p.per_chunk));
  return true;
}

bool numpy_array_write(PyObject *target, const loom_type *type, const int64_t *strides,
                       const void *data, bool uncounted) {
  if (PyArray_CheckExact(target) && write_rows((PyArrayObject *)target, type, strides, data))
    return true;
  npy_intp dims[LOOM_MAX_RANK], bytes[LOOM_MAX_RANK];
  for (int i = 0; i < type->rank; i++) {
    dims[i] = type->dims[i];
    bytes[i] = strides[i] * (npy_intp)loom_dtype_size(type->dtype);
  }
  PyArray_Descr *descr = PyArray_DescrFromType(numpy_typenum_from_dtype(type->dtype));
  PyObject *from =
      PyArray_NewFromDescr(&PyArray_Type, descr, type->rank, dims, bytes, (void *)data, 0, NULL);
  if (!from) return false;
  bool good = PyArray_CopyInto((PyArrayObject *)target, (PyArrayObject *)from) == 0;
  Py_DECREF(from);
  return good;
}
