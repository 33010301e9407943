/* Host calls: pure functions of NumPy's without an op run in the library, inside the plan.
 *
 * At capture the function is called once on made-up arrays of the same sizes, which tells the
 * dtypes and sizes of its results: only functions for which these do not depend on the data have a
 * row. When the plan runs, the live buffers are wrapped as read-only arrays, the function is
 * called, and its results are copied into the plan's buffers. An exception makes the plain function
 * run, so that it is raised from the user's own line.
 *
 * The table of a capture holds for each slot: (callable, arguments with holes, keywords, inputs,
 * outputs), where an input or output is (type number, sizes). */
#include "frontend/numpy/capture.h"

#include <fenv.h>
#include <string.h>

#define HOST_LARGEST (1 << 20) /* elements of one operand: the call at capture takes time too */
#define HOST_MAX_ARRAYS 8

static PyObject *host_hole(void) {
  static PyObject *hole;
  if (!hole) hole = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  return hole;
}

static PyObject *host_spec(const loom_type *type) {
  PyObject *dims = PyTuple_New(type->rank);
  for (int i = 0; dims && i < type->rank; i++)
    PyTuple_SET_ITEM(dims, i, PyLong_FromLongLong(type->dims[i]));
  return dims ? Py_BuildValue("(iN)", numpy_typenum_from_dtype(type->dtype), dims) : NULL;
}

/* ---- at capture ---- */

/* An array of these sizes that most functions accept: ones on the diagonal of matrices, ascending
 * vectors. Its axes have the memory order of `like`, which results may follow. */
static PyObject *host_sample(const np_array *like) {
  const loom_type *type = &like->type;
  npy_intp dims[LOOM_MAX_RANK], order[LOOM_MAX_RANK];
  int64_t strides[LOOM_MAX_RANK];
  np_layout_copy(like, type, 'K', strides);
  for (int i = 0; i < type->rank; i++) {
    dims[i] = type->dims[i];
    order[i] = strides[i];
  }
  PyArrayObject *a = (PyArrayObject *)PyArray_ZEROS(type->rank, dims, NPY_DOUBLE, 0);
  if (!a) return NULL;
  double *data = PyArray_DATA(a);
  npy_intp n = PyArray_SIZE(a), columns = type->rank ? dims[type->rank - 1] : 1;
  npy_intp rows = type->rank > 1 ? dims[type->rank - 2] : 1;
  for (npy_intp i = 0; i < n; i++)
    data[i] = type->rank < 2 ? (double)i : (i / columns) % rows == i % columns ? 1 : 0;
  PyObject *sample = PyArray_NewFromDescr(&PyArray_Type, np_descr(type->dtype), type->rank, dims,
                                          order, NULL, 0, NULL);
  if (sample && PyArray_CopyInto((PyArrayObject *)sample, a) < 0) Py_CLEAR(sample);
  Py_DECREF(a);
  return sample;
}

typedef struct host_call {
  PyObject *args, *kwargs, *sample_args, *sample_kwargs, *inputs;
  loom_value operands[HOST_MAX_ARRAYS];
  uint32_t count;
} host_call;

static void host_fini(host_call *h) {
  Py_XDECREF(h->args);
  Py_XDECREF(h->kwargs);
  Py_XDECREF(h->sample_args);
  Py_XDECREF(h->sample_kwargs);
  Py_XDECREF(h->inputs);
}

/* One argument: a hole and a sample for an array, or the known object twice. New references. */
static bool host_argument(tracer *t, host_call *h, value *v, PyObject **item, PyObject **sample) {
  np_array *a = np_array_of(v);
  PyObject *known = a && !a->scalar ? NULL : np_known(t, v);
  *item = *sample = NULL;
  if (known) {
    PyObject *plain = a ? Py_NewRef(known) : value_plain(t, v);
    if (!plain && !PyArray_DescrCheck(known)) return false;
    Py_XDECREF(plain);
    *item = Py_NewRef(known);
    *sample = Py_NewRef(known);
    return true;
  }
  if (!a || h->count >= HOST_MAX_ARRAYS || np_elements(&a->type) > HOST_LARGEST ||
      np_elements(&a->type) == 0)
    return false;
  h->operands[h->count] = np_read(t, a);
  if (h->operands[h->count++] == LOOM_NO_VALUE) return false;
  PyObject *spec = host_spec(&a->type);
  bool good = spec && PyList_Append(h->inputs, spec) == 0;
  Py_XDECREF(spec);
  *sample = good ? host_sample(a) : NULL;
  *item = Py_NewRef(host_hole());
  return *sample != NULL;
}

static bool host_arguments(tracer *t, const np_call *c, host_call *h) {
  Py_ssize_t total = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  h->args = PyTuple_New(c->count);
  h->sample_args = PyTuple_New(c->count);
  h->kwargs = PyDict_New();
  h->sample_kwargs = PyDict_New();
  h->inputs = PyList_New(0);
  bool good = h->args && h->sample_args && h->kwargs && h->sample_kwargs && h->inputs;
  for (Py_ssize_t i = 0; i < total && good; i++) {
    PyObject *item, *sample,
        *name = i < c->count ? NULL : PyTuple_GET_ITEM(c->kwnames, i - c->count);
    good = host_argument(t, h, c->args[i], &item, &sample);
    if (good && !name) {
      PyTuple_SET_ITEM(h->args, i, Py_NewRef(item));
      PyTuple_SET_ITEM(h->sample_args, i, Py_NewRef(sample));
    } else if (good) {
      good = PyDict_SetItem(h->kwargs, name, item) == 0 &&
             PyDict_SetItem(h->sample_kwargs, name, sample) == 0;
    }
    Py_XDECREF(item);
    Py_XDECREF(sample);
  }
  return good;
}

/* Is the sample's result an array or number of a supported dtype? Its type and strides. */
/* *view: NumPy gives it as a view of something. */
static bool host_result(PyObject *o, loom_type *type, int64_t *strides, bool *scalar, bool *view) {
  loom_dtype dtype;
  *scalar = !PyArray_CheckExact(o);
  if (*scalar && !PyArray_IsScalar(o, Generic)) return false;
  PyArrayObject *a = (PyArrayObject *)PyArray_FROM_O(o);
  *view = false;
  bool good = a && PyArray_NDIM(a) <= LOOM_MAX_RANK && PyArray_ISNOTSWAPPED(a) &&
              numpy_dtype_from_typenum(PyArray_TYPE(a), &dtype) && dtype != LOOM_F16 &&
              !loom_dtype_is_complex(dtype);
  if (good) {
    *type = type_make(dtype, 0, NULL);
    type->rank = PyArray_NDIM(a);
    for (int i = 0; i < type->rank; i++) {
      type->dims[i] = PyArray_DIMS(a)[i];
      strides[i] = PyArray_STRIDES(a)[i];
    }
  }
  /* A host call writes buffers in C order, and so must the library: other orders are left to it. */
  good = good && PyArray_IS_C_CONTIGUOUS(a);
  *view = good && !*scalar && !PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA);
  Py_XDECREF(a);
  return good;
}

static value *host_emit(tracer *t, const np_call *c, host_call *h, PyObject *callable,
                        PyObject *result) {
  loom_type types[HOST_MAX_ARRAYS];
  int64_t strides[HOST_MAX_ARRAYS][LOOM_MAX_RANK];
  bool scalars[HOST_MAX_ARRAYS], views[HOST_MAX_ARRAYS], many = PyTuple_CheckExact(result);
  Py_ssize_t n = many ? PyTuple_GET_SIZE(result) : 1;
  value *out[HOST_MAX_ARRAYS];
  PyObject *outputs = PyList_New(0);
  bool good = outputs && n > 0 && n <= HOST_MAX_ARRAYS;
  for (Py_ssize_t i = 0; i < n && good; i++) {
    good = host_result(many ? PyTuple_GET_ITEM(result, i) : result, &types[i], strides[i],
                       &scalars[i], &views[i]);
    PyObject *spec = good ? host_spec(&types[i]) : NULL;
    good = spec && PyList_Append(outputs, spec) == 0;
    Py_XDECREF(spec);
  }
  PyObject *row =
      good ? Py_BuildValue("(OOOOO)", callable, h->args, h->kwargs, h->inputs, outputs) : NULL;
  Py_XDECREF(outputs);
  if (!row) return PyErr_Clear(), np_unsupported(t, c, "with such results");
  loom_attr attrs[3] = {attr_str("numpy"), attr_str("raises warns"), attr_int(trace_host(t, row))};
  loom_location at = trace_location(t);
  loom_error err = {""};
  loom_value v = loom_graph_node(trace_graph(t), LOOM_OP_HOST_CALL, h->operands, h->count, attrs, 3,
                                 types, (uint32_t)n, &at, &err);
  if (trace_pending(t)) return NULL;
  if (v == LOOM_NO_VALUE) return np_unsupported(t, c, err.message);
  for (Py_ssize_t i = 0; i < n; i++) {
    out[i] = scalars[i] ? np_result(t, v + (loom_value)i, NULL)
                        : np_fresh(t, v + (loom_value)i, strides[i]);
    if (out[i] && views[i]) out[i] = np_view_same(t, np_array_of(out[i]));
    if (!out[i]) return NULL;
  }
  return many ? value_tuple(t, out, n) : out[0];
}

value *np_host(tracer *t, const np_call *c) {
  host_call h = {0};
  PyObject *callable =
      c->callee ? Py_NewRef(c->callee) : PyObject_GetAttrString((PyObject *)&PyArray_Type, c->name);
  bool good = callable && host_arguments(t, c, &h), done;
  value *v = NULL;
  PyObject *result = NULL;
  if (good && h.count == 0 && c->callee) {
    v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
    good = done;
  } else if (good) {
    result = np_call_quietly(callable, h.sample_args, h.sample_kwargs);
    if (result) v = host_emit(t, c, &h, callable, result);
    good = result != NULL;
  }
  if (PyErr_Occurred()) PyErr_Clear();
  if (!good && !trace_pending(t)) np_unsupported(t, c, "with these arguments");
  Py_XDECREF(result);
  Py_XDECREF(callable);
  host_fini(&h);
  return trace_pending(t) ? NULL : v;
}

/* ---- when the plan runs ---- */

/* A buffer of the plan as an array in C order. */
static PyObject *host_wrap(PyObject *spec, void *data, bool writeable) {
  PyObject *sizes = PyTuple_GET_ITEM(spec, 1);
  npy_intp dims[LOOM_MAX_RANK];
  int rank = (int)PyTuple_GET_SIZE(sizes);
  for (int i = 0; i < rank; i++)
    dims[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(sizes, i));
  return PyArray_New(&PyArray_Type, rank, dims, (int)PyLong_AsLong(PyTuple_GET_ITEM(spec, 0)), NULL,
                     data, 0, writeable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, NULL);
}

static bool host_fill(PyObject *inputs, void *const *buffers, Py_ssize_t *next, PyObject **item) {
  if (*item != host_hole()) return Py_INCREF(*item), true;
  *item = host_wrap(PyList_GET_ITEM(inputs, *next), buffers[*next], false);
  ++*next;
  return *item != NULL;
}

/* Copies a result into its buffer; a SystemError when it is not what the sample was. */
static bool host_store(PyObject *spec, void *data, PyObject *result) {
  PyArrayObject *to = (PyArrayObject *)host_wrap(spec, data, true),
                *from = (PyArrayObject *)PyArray_FROM_O(result);
  bool good = to && from && PyArray_TYPE(from) == PyArray_TYPE(to) &&
              PyArray_NDIM(from) == PyArray_NDIM(to) &&
              PyArray_CompareLists(PyArray_DIMS(from), PyArray_DIMS(to), PyArray_NDIM(to));
  if (good) good = PyArray_CopyInto(to, from) == 0;
  Py_XDECREF(to);
  Py_XDECREF(from);
  if (!good && !PyErr_Occurred())
    PyErr_SetString(PyExc_SystemError, "frameloom: a host call gave another result");
  return good;
}

int np_host_run(void *context, const char *name, uint32_t slot, void *const *buffers,
                uint32_t reads, uint32_t count) {
  const capture *c = context;
  PyObject *row =
      c->hosts && slot < PyList_GET_SIZE(c->hosts) ? PyList_GET_ITEM(c->hosts, slot) : NULL;
  if (!row || !PyTuple_Check(row)) return 1;
  PyObject *args = PyTuple_GET_ITEM(row, 1), *kwargs = PyTuple_GET_ITEM(row, 2),
           *inputs = PyTuple_GET_ITEM(row, 3);
  PyObject *outputs = PyTuple_GET_ITEM(row, 4), *result = NULL, *key, *item;
  Py_ssize_t n = PyTuple_GET_SIZE(args), next = 0, pos = 0, results = PyList_GET_SIZE(outputs);
  PyObject *live_args = PyTuple_New(n), *live_kwargs = PyDict_New();
  bool good =
      live_args && live_kwargs && PyList_GET_SIZE(inputs) == reads && count == reads + results;
  for (Py_ssize_t i = 0; i < n && good; i++) {
    item = PyTuple_GET_ITEM(args, i);
    if ((good = host_fill(inputs, buffers, &next, &item))) PyTuple_SET_ITEM(live_args, i, item);
  }
  while (good && PyDict_Next(kwargs, &pos, &key, &item)) {
    good = host_fill(inputs, buffers, &next, &item) && PyDict_SetItem(live_kwargs, key, item) == 0;
    if (good) Py_DECREF(item);
  }
  fexcept_t flags; /* NumPy reports its own: they are not the kernels' */
  fegetexceptflag(&flags, FE_ALL_EXCEPT);
  if (good) result = PyObject_Call(PyTuple_GET_ITEM(row, 0), live_args, live_kwargs);
  good = result != NULL &&
         (results == 1 || (PyTuple_Check(result) && PyTuple_GET_SIZE(result) == results));
  for (Py_ssize_t i = 0; i < results && good; i++)
    good = host_store(PyList_GET_ITEM(outputs, i), buffers[reads + i],
                      PyTuple_Check(result) ? PyTuple_GET_ITEM(result, i) : result);
  fesetexceptflag(&flags, FE_ALL_EXCEPT);
  Py_XDECREF(live_args);
  Py_XDECREF(live_kwargs);
  Py_XDECREF(result);
  return !good;
}
