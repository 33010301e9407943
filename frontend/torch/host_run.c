/* Ops that torch runs inside the plan (host.c), when it runs.
 *
 * The operands are tensors over the plan's buffers. The results are torch's, and are copied into
 * the plan's buffers. */
#include "frontend/base/base.h"
#include "frontend/torch/fx_internal.h"
#include "frontend/torch/host_internal.h"
#include "frontend/torch/torch.h"
#include "frontend/torch/torch_internal.h"

#include <string.h>

static bool host_copy(PyObject *to, PyObject *from) {
  PyObject *done = to && from ? PyObject_CallMethod(to, "copy_", "O", from) : NULL;
  Py_XDECREF(done);
  return done != NULL;
}

typedef struct host_fill {
  PyObject *specs;
  const loom_graph *graph;
  const loom_host_call *call;
  Py_ssize_t next;
  torch_place place; /* of the buffers */
  bool other;        /* a result of torch's is of another size than declared, or undefined */
} host_fill;

/* The spec in `bytes` for the sizes of this call. */
static bool host_spec_at(const host_fill *f, PyObject *bytes, torch_spec *out) {
  torch_spec spec;
  memcpy(&spec, PyBytes_AS_STRING(bytes), sizeof spec);
  if (fx_spec_at(f->graph, &spec, f->call->symbols, out)) return true;
  PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
  return false;
}

/* A buffer as the tensor that torch would have there. */
static PyObject *host_wrap(const host_fill *f, PyObject *bytes, void *buffer) {
  torch_spec spec;
  host_part part = {.offset = 0};
  if ((size_t)PyBytes_GET_SIZE(bytes) == sizeof part)
    memcpy(&part, PyBytes_AS_STRING(bytes), sizeof part);
  if (!host_spec_at(f, bytes, &spec)) return NULL;
  int64_t begin = part.offset * (int64_t)loom_dtype_size(spec.dtype);
  return torch_over_on(f->place, &spec, (char *)buffer + begin);
}

static PyObject *host_argument(void *user, PyObject *o) {
  host_fill *f = user;
  if (PySlice_Check(o) && ((PySliceObject *)o)->start == host_hole()) {
    int64_t code = PyLong_AsLongLong(((PySliceObject *)o)->stop), number;
    if (loom_stride_eval(f->graph, code, f->call->symbols, &number))
      return PyLong_FromLongLong(number);
    PyErr_SetString(PyExc_OverflowError, "frameloom: a size overflows");
    return NULL;
  }
  if (o != host_hole()) return Py_NewRef(o);
  Py_ssize_t i = f->next++;
  return host_wrap(f, PyList_GET_ITEM(f->specs, i), f->call->buffers[i]);
}

#define HOST_SMALL 65536 /* bytes that one thread copies, without a call of torch */

/* Small results that lie as the buffer does, without gaps, are copied as they are. */
static bool host_store_bytes(const torch_spec *spec, void *buffer, PyObject *result) {
  int64_t elements = 1, reach = 1;
  torch_view t;
  bool strides;
  if (!torch_look(result, &t) || !torch_matches(&t, spec, &strides) || !strides) return false;
  for (int i = 0; i < spec->rank; i++) {
    int64_t size = spec->sizes[i];
    if (size > HOST_SMALL || (elements *= size) > HOST_SMALL) return false;
    if (size > 1) reach += (size - 1) * spec->strides[i];
  }
  size_t count = (size_t)elements * loom_dtype_size(spec->dtype);
  if (reach != elements || count > HOST_SMALL) return false;
  memcpy(buffer, t.data, count);
  return true;
}

static bool host_store(host_fill *f, PyObject *bytes, void *buffer, PyObject *result) {
  torch_spec spec;
  if (result == Py_None) return f->other = true, false; /* a tensor that is undefined */
  if (!host_spec_at(f, bytes, &spec)) return false;
  if (f->place == TORCH_CPU && host_store_bytes(&spec, buffer, result)) return true;
  PyObject *to = torch_over_on(f->place, &spec, buffer);
  PyObject *shape = to ? PyObject_GetAttrString(to, "shape") : NULL;
  PyObject *got = shape ? PyObject_GetAttrString(result, "shape") : NULL;
  f->other = got && PyObject_RichCompareBool(shape, got, Py_EQ) == 0;
  bool good = got && !f->other && host_copy(to, result);
  Py_XDECREF(got);
  Py_XDECREF(shape);
  Py_XDECREF(to);
  return good;
}

/* The results that are tensors, in order, into the buffers behind the operands'. */
static bool host_store_all(host_fill *f, PyObject *specs, PyObject *result) {
  void *const *buffers = f->call->buffers + f->call->reads;
  bool many = PyTuple_Check(result) || PyList_Check(result);
  Py_ssize_t count = PyList_GET_SIZE(specs);
  if (many ? PySequence_Fast_GET_SIZE(result) != count : count != 1) {
    PyErr_SetString(PyExc_SystemError, "frameloom: an op gave another number of results in torch");
    return false;
  }
  for (Py_ssize_t i = 0; i < count; i++) {
    PyObject *spec = PyList_GET_ITEM(specs, i);
    if (spec == Py_None) continue;
    if (!host_store(f, spec, *buffers++, many ? PySequence_Fast_GET_ITEM(result, i) : result))
      return false;
  }
  return true;
}

/* What is called for an op, `callee`, unless it is another one on a GPU. Borrowed. */
static PyObject *host_called(PyObject *op, PyObject *callee, torch_place place) {
  static PyObject *instead;
  if (place == TORCH_CPU) return callee;
  PyObject *module = instead ? NULL : PyImport_ImportModule("frameloom._torch_devices");
  if (module) instead = PyObject_GetAttrString(module, "INSTEAD");
  Py_XDECREF(module);
  PyObject *other = instead ? PyDict_GetItem(instead, op) : NULL;
  error_drop();
  return other ? other : callee;
}

static int host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call,
                    torch_place place) {
  if (call->slot >= PyList_GET_SIZE(hosts)) return 1;
  PyObject *row = PyList_GET_ITEM(hosts, call->slot), *key, *item;
  host_fill f = {.specs = PyTuple_GET_ITEM(row, 3), .graph = graph, .call = call, .place = place};
  if (PyList_GET_SIZE(f.specs) != call->reads || call->count < call->reads) return 1;
  PyObject *op = PyTuple_GET_ITEM(row, 0);
  if (torch_is_native(op))
    return torch_native_run(op, f.specs, PyTuple_GET_ITEM(row, 4), graph, call);
  PyObject *args = host_map(PyTuple_GET_ITEM(row, 1), host_argument, &f);
  PyObject *kwargs = args ? PyDict_New() : NULL;
  Py_ssize_t at = 0;
  bool good = kwargs != NULL;
  while (good && PyDict_Next(PyTuple_GET_ITEM(row, 2), &at, &key, &item)) {
    PyObject *made = host_map(item, host_argument, &f);
    good = made && PyDict_SetItem(kwargs, key, made) == 0;
    Py_XDECREF(made);
  }
  PyObject *callee = host_called(op, PyTuple_GET_ITEM(row, 6), place);
  PyObject *result = good ? PyObject_Call(callee, args, kwargs) : NULL;
  good = result && host_store_all(&f, PyTuple_GET_ITEM(row, 4), result);
  Py_XDECREF(result);
  Py_XDECREF(kwargs);
  Py_XDECREF(args);
  return f.other ? TORCH_HOST_OTHER : !good;
}

/* The graph has the casts that autocast makes: none is added. */
int torch_host_run(PyObject *hosts, const loom_graph *graph, const loom_host_call *call,
                   torch_place place) {
  bool paused = torch_autocast_pause(place);
  int status = host_run(hosts, graph, call, place);
  torch_autocast_resume(place, paused);
  return status;
}
