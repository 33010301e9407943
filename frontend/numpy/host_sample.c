/* Samples for host calls: made-up arrays of an operand's sizes and dtype, and the library's results
 * for them. Where sizes are symbolic, the library is called with several sets of sizes. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/host_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define HOST_LARGEST (1 << 20) /* elements of one operand: the call at capture takes time too */

PyObject *np_host_spec(const loom_type *type) {
  PyObject *dims = PyTuple_New(type->rank);
  for (int i = 0; dims && i < type->rank; i++)
    PyTuple_SET_ITEM(dims, i, PyLong_FromLongLong(type->dims[i]));
  return dims ? Py_BuildValue("(iN)", numpy_typenum_from_dtype(type->dtype), dims) : NULL;
}

/* An array with these strides, of zeros where these are cheap, in a block of its own. */
static PyObject *host_blank(loom_dtype dtype, int rank, npy_intp *dims, npy_intp *strides) {
  npy_intp size = (npy_intp)loom_dtype_size(dtype), below = 0, above = size, count = 1;
  for (int i = 0; i < rank; i++) {
    npy_intp step;
    count *= dims[i];
    if (__builtin_mul_overflow(dims[i] - 1, strides[i], &step)) return NULL;
    if (dims[i] > 0) *(strides[i] < 0 ? &below : &above) += step;
  }
  npy_intp total = count ? above - below : 0;
  PyObject *block = total ? PyArray_ZEROS(1, &total, NPY_BYTE, 0) : NULL;
  if (total && !block) return NULL;
  char *data = block ? PyArray_BYTES((PyArrayObject *)block) - below : NULL;
  PyObject *made = PyArray_NewFromDescr(&PyArray_Type, np_descr(dtype), rank, dims, strides, data,
                                        NPY_ARRAY_ALIGNED | NPY_ARRAY_WRITEABLE, NULL);
  if (!block || (made && PyArray_SetBaseObject((PyArrayObject *)made, block) == 0)) return made;
  Py_XDECREF(made);
  return NULL;
}

/* The strides of a sample: the operand's own where it has gaps, repeats its elements or goes
 * backwards, for the library asks whether an array is contiguous. */
static void host_strides(tracer *t, const np_array *like, int64_t *out) {
  np_layout_copy(t, like, &like->type, 'K', out);
  if (np_elements(&like->type) == 0 || np_is_c(t, like) || np_is_f(t, like)) return;
  memcpy(out, like->strides, sizeof *out * (size_t)like->type.rank);
}

/* A number up to which a dtype holds all the whole ones that a sample counts up to: what does not
 * fit would warn, at capture alone. */
static double host_most(loom_dtype dtype) {
  int bits = (int)loom_dtype_size(dtype) * 8 - loom_dtype_is_signed(dtype);
  if (dtype == LOOM_F16) return 65504;
  return loom_dtype_is_integer(dtype) && bits < 32 ? (double)((1u << bits) - 1) : INFINITY;
}

/* An array of these sizes that most functions accept: ones on the diagonal of matrices, ascending
 * vectors. Its axes have the memory order of `like`, which results may follow. */
static PyObject *host_sample(tracer *t, const np_host_call *h, const np_array *like,
                             host_content content) {
  const loom_type *type = &like->type;
  npy_intp dims[LOOM_MAX_RANK], order[LOOM_MAX_RANK];
  int64_t strides[LOOM_MAX_RANK];
  host_strides(t, like, strides);
  const loom_graph *graph = trace_graph(t);
  for (int i = 0; i < type->rank; i++) {
    int64_t size, stride;
    if (!loom_dim_eval(graph, type->dims[i], h->values, &size) ||
        !loom_stride_eval(graph, strides[i], h->values, &stride))
      return NULL;
    dims[i] = size;
    order[i] = stride;
  }
  if (content == HOST_SHAPES && !like->scalar)
    return host_blank(type->dtype, type->rank, dims, order);
  PyArrayObject *a = (PyArrayObject *)PyArray_ZEROS(type->rank, dims, NPY_DOUBLE, 0);
  if (!a) return NULL;
  double *data = PyArray_DATA(a), most = host_most(type->dtype);
  npy_intp n = PyArray_SIZE(a), columns = type->rank ? dims[type->rank - 1] : 1;
  npy_intp rows = type->rank > 1 ? dims[type->rank - 2] : 1;
  for (npy_intp i = 0; i < n && content == HOST_ASCENDING; i++)
    data[i] = type->rank < 2 ? fmin((double)i, most) : (i / columns) % rows == i % columns ? 1 : 0;
  PyObject *sample = host_blank(type->dtype, type->rank, dims, order);
  if (sample && PyArray_CopyInto((PyArrayObject *)sample, a) < 0) Py_CLEAR(sample);
  Py_DECREF(a);
  if (sample && like->scalar) {
    PyObject *scalar =
        PyArray_ToScalar(PyArray_DATA((PyArrayObject *)sample), (PyArrayObject *)sample);
    Py_SETREF(sample, scalar);
  }
  return sample;
}

bool np_host_init(np_host_call *h) {
  *h = (np_host_call){.inputs = PyList_New(0)};
  return h->inputs != NULL;
}

void np_host_fini(np_host_call *h) { Py_XDECREF(h->inputs); }

PyObject *np_host_hole(tracer *t, np_host_call *h, np_array *a) {
  if (h->count >= NP_HOST_ARRAYS) return NULL;
  h->operands[h->count] = np_read(t, a);
  if (h->operands[h->count++] == LOOM_NO_VALUE) return NULL;
  PyObject *spec = np_host_spec(&a->type);
  bool good = spec && PyList_Append(h->inputs, spec) == 0;
  Py_XDECREF(spec);
  return good ? Py_NewRef(np_host_mark(a->scalar ? HOLE_SCALAR : HOLE_ARRAY)) : NULL;
}

/* A Python int that is symbolic, or a float that is computed: a hole, and a sample. */
static PyObject *host_number(tracer *t, np_host_call *h, value *v, PyObject **sample) {
  int64_t number = 0, now = 0;
  bool whole = value_is_whole(v);
  if (h->count >= NP_HOST_ARRAYS) return NULL;
  if (whole && (!value_size_of(t, v, &number) || size_is_looped(t, number) ||
                !loom_stride_eval(trace_graph(t), number, h->values, &now)))
    return NULL;
  if (whole && size_is_late(t, number)) return NULL;
  loom_value node = number_node(t, v);
  const loom_type *type = node == LOOM_NO_VALUE ? NULL : loom_graph_type(trace_graph(t), node);
  if (!type || (!whole && type->dtype != LOOM_F64)) return NULL;
  PyObject *spec = np_host_spec(type);
  bool good = spec && PyList_Append(h->inputs, spec) == 0;
  Py_XDECREF(spec);
  if (!good) return NULL;
  if (whole) h->numbers[h->number_count++] = number;
  h->operands[h->count++] = node;
  *sample = whole ? PyLong_FromLongLong(now) : PyFloat_FromDouble(1.5);
  return *sample ? Py_NewRef(np_host_mark(HOLE_NUMBER)) : NULL;
}

/* Elements of a sample. */
static int64_t host_elements(tracer *t, const np_host_call *h, const loom_type *type) {
  int64_t n = 1, size;
  for (int i = 0; i < type->rank; i++)
    if (!loom_dim_eval(trace_graph(t), type->dims[i], h->values, &size) ||
        __builtin_mul_overflow(n, size, &n))
      return INT64_MAX;
  return n;
}

static bool host_argument(tracer *t, np_host_call *h, value *v, host_content content,
                          PyObject **item, PyObject **sample);

/* A tuple or list some items of which are arrays. */
static bool host_items(tracer *t, np_host_call *h, value *v, host_content content, PyObject **item,
                       PyObject **sample) {
  bool list = value_type_of(t, v) == (PyObject *)&PyList_Type;
  if (!list && value_type_of(t, v) != (PyObject *)&PyTuple_Type) return false;
  value *tuple = trace_to_tuple(t, v);
  Py_ssize_t n = tuple ? tuple->seq.count : -1;
  *item = n < 0 ? NULL : list ? PyList_New(n) : PyTuple_New(n);
  *sample = n < 0 ? NULL : list ? PyList_New(n) : PyTuple_New(n);
  bool good = *item && *sample;
  for (Py_ssize_t i = 0; i < n && good; i++) {
    PyObject *one, *other;
    good = host_argument(t, h, tuple->seq.items[i], content, &one, &other);
    if (!good) break;
    if (list) {
      PyList_SET_ITEM(*item, i, one);
      PyList_SET_ITEM(*sample, i, other);
    } else {
      PyTuple_SET_ITEM(*item, i, one);
      PyTuple_SET_ITEM(*sample, i, other);
    }
  }
  if (good) return true;
  Py_CLEAR(*item);
  Py_CLEAR(*sample);
  return false;
}

/* One argument: a hole and a sample for an array, or the known object twice. New references. */
static bool host_argument(tracer *t, np_host_call *h, value *v, host_content content,
                          PyObject **item, PyObject **sample) {
  np_array *a = np_array_of(v);
  bool number = value_is_number(v) && content != HOST_NOTHING;
  PyObject *known = number || (a && !a->scalar) ? NULL : np_known(t, v);
  *item = *sample = NULL;
  if (number) {
    *item = host_number(t, h, v, sample);
    return *item != NULL;
  }
  if (known) {
    PyObject *plain = a ? Py_NewRef(known) : value_plain(t, v);
    bool ufunc = Py_IS_TYPE(known, &PyUFunc_Type) && np_ufunc_is_own(known);
    if (!plain && !PyArray_DescrCheck(known) && !ufunc) return false;
    Py_XDECREF(plain);
    *item = Py_NewRef(known);
    *sample = Py_NewRef(known);
    return true;
  }
  if (!a) return value_is_sequence(v) ? host_items(t, h, v, content, item, sample) : false;
  if (np_elements(&a->type) == 0 && content != HOST_SHAPES) return false;
  if (content < HOST_CONTENTS && host_elements(t, h, &a->type) > HOST_LARGEST) return false;
  if (!(*item = np_host_hole(t, h, a))) return false;
  *sample = content == HOST_NOTHING ? Py_NewRef(Py_None) : host_sample(t, h, a, content);
  if (!*sample) Py_CLEAR(*item);
  return *sample != NULL;
}

PyObject *np_host_item(tracer *t, np_host_call *h, value *v) {
  PyObject *item, *sample;
  bool good = host_argument(t, h, v, HOST_NOTHING, &item, &sample);
  if (good) Py_DECREF(sample);
  return good ? item : NULL;
}

void np_host_arguments_fini(host_arguments_list *l) {
  Py_CLEAR(l->args);
  Py_CLEAR(l->kwargs);
  Py_CLEAR(l->sample_args);
  Py_CLEAR(l->sample_kwargs);
}

static bool host_arguments(tracer *t, const np_call *c, np_host_call *h, host_content content,
                           host_arguments_list *l) {
  Py_ssize_t total = c->count + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  l->args = PyTuple_New(c->count);
  l->sample_args = PyTuple_New(c->count);
  l->kwargs = PyDict_New();
  l->sample_kwargs = PyDict_New();
  bool good = l->args && l->sample_args && l->kwargs && l->sample_kwargs;
  for (Py_ssize_t i = 0; i < total && good; i++) {
    PyObject *item, *sample,
        *name = i < c->count ? NULL : PyTuple_GET_ITEM(c->kwnames, i - c->count);
    good = host_argument(t, h, c->args[i], content, &item, &sample);
    if (good && !name) {
      PyTuple_SET_ITEM(l->args, i, Py_NewRef(item));
      PyTuple_SET_ITEM(l->sample_args, i, Py_NewRef(sample));
    } else if (good) {
      good = PyDict_SetItem(l->kwargs, name, item) == 0 &&
             PyDict_SetItem(l->sample_kwargs, name, sample) == 0;
    }
    Py_XDECREF(item);
    Py_XDECREF(sample);
  }
  return good;
}

/* Sizes for samples: this call's where they are small, and others. */
static void host_choose_sizes(tracer *t, np_host_call *h, int set) {
  const loom_graph *graph = trace_graph(t);
  for (uint32_t i = 0; i < graph->symbol_count && i < LOOM_MAX_SYMBOLS; i++) {
    int64_t now = graph->symbols[i].hint;
    if (now > 512) now = 509 + i;
    h->values[i] = now + set * (3 + 2 * (int64_t)i) + (set > 1);
  }
  formula_sample(t, h->values);
}

/* One attempt: a new reference; NULL with an exception when it was called and raised one. */
static PyObject *host_ask(tracer *t, const np_call *c, np_host_call *h, host_arguments_list *l,
                          PyObject *callable, int set, int content) {
  np_host_fini(h);
  np_host_arguments_fini(l);
  if (!np_host_init(h)) return NULL;
  host_choose_sizes(t, h, set);
  if (!host_arguments(t, c, h, content, l) || trace_pending(t) || h->count == 0) return NULL;
  return np_call_quietly(callable, l->sample_args, l->sample_kwargs);
}

static void host_drop(const np_call *c) {
  if (c->opaque)
    error_drop_users();
  else
    error_drop();
}

/* Breaks with the exception that the user's function raises on samples. */
static void host_blame(tracer *t, const np_call *c) {
  PyObject *type, *raised, *traceback;
  if (!PyErr_ExceptionMatches(PyExc_Exception)) {
    trace_raise_live(t);
    return;
  }
  PyErr_Fetch(&type, &raised, &traceback);
  PyErr_NormalizeException(&type, &raised, &traceback);
  PyObject *text = raised ? PyObject_Str(raised) : NULL;
  const char *words = text ? PyUnicode_AsUTF8(text) : NULL;
  error_drop_users();
  if (type)
    trace_break(t, BREAK_CUSTOM_OP, "%s: %s raised %s: %s", c->name,
                c->sampler ? "its fake" : "called on made-up arrays, it",
                ((PyTypeObject *)type)->tp_name, words ? words : "");
  Py_XDECREF(text);
  Py_XDECREF(type);
  Py_XDECREF(raised);
  Py_XDECREF(traceback);
}

PyObject *np_host_try(tracer *t, const np_call *c, np_host_call *h, host_arguments_list *l,
                      PyObject *callable, int set, int first) {
  PyObject *result = NULL;
  if (c->sampler) {
    result = host_ask(t, c, h, l, c->sampler, set, HOST_SHAPES);
    if (!result && PyErr_Occurred()) host_blame(t, c);
    return result;
  }
  for (int content = first; content < HOST_CONTENTS && !result; content++) {
    host_drop(c);
    result = host_ask(t, c, h, l, callable, set, content);
    if (!result && (!PyErr_Occurred() || h->count == 0)) break;
  }
  if (!result && c->opaque && PyErr_Occurred()) host_blame(t, c);
  if (!result) host_drop(c);
  return result;
}
