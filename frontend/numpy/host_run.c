/* A host call when the plan runs: the live buffers are wrapped as read-only arrays, the function is
 * called, and its results are copied into the plan's buffers. An exception makes the plain function
 * run, so that it is raised from the user's own line; so does a floating-point exception that is to
 * be reported (errstate.c). */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/library/library.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"

#include <fenv.h>

PyObject *np_host_mark(np_hole hole) {
  static PyObject *marks[3];
  if (!marks[hole]) marks[hole] = PyObject_CallNoArgs((PyObject *)&PyBaseObject_Type);
  return marks[hole];
}

/* What the symbolic sizes of a capture are on this call. */
typedef struct host_sizes {
  const loom_graph *graph;
  int64_t *symbols; /* those that host calls tell: -1 as long as they have not */
  uint64_t late;
  PyObject **kept;
} host_sizes;

/* A buffer of the plan as an array in C order. */
static PyObject *host_wrap(const host_sizes *now, PyObject *spec, void *data, bool writeable) {
  PyObject *sizes = PyTuple_GET_ITEM(spec, 1);
  npy_intp dims[LOOM_MAX_RANK];
  int rank = (int)PyTuple_GET_SIZE(sizes);
  for (int i = 0; i < rank; i++) {
    int64_t size = PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i));
    if (!loom_dim_eval(now->graph, size, now->symbols, &size)) return PyErr_NoMemory();
    dims[i] = size;
  }
  return PyArray_New(&PyArray_Type, rank, dims, (int)PyLong_AsLong(PyTuple_GET_ITEM(spec, 0)), NULL,
                     data, 0, writeable ? NPY_ARRAY_CARRAY : NPY_ARRAY_CARRAY_RO, NULL);
}

typedef struct host_inputs {
  PyObject *specs;
  void *const *buffers;
  Py_ssize_t next;
  const host_sizes *now;
} host_inputs;

static PyObject *host_fill(host_inputs *in, PyObject *item);

static PyObject *host_fill_items(host_inputs *in, PyObject *items) {
  Py_ssize_t n = PySequence_Fast_GET_SIZE(items);
  bool list = PyList_CheckExact(items);
  PyObject *filled = list ? PyList_New(n) : PyTuple_New(n);
  for (Py_ssize_t i = 0; i < n && filled; i++) {
    PyObject *item = host_fill(in, PySequence_Fast_GET_ITEM(items, i));
    if (!item)
      Py_CLEAR(filled);
    else if (list)
      PyList_SET_ITEM(filled, i, item);
    else
      PyTuple_SET_ITEM(filled, i, item);
  }
  return filled;
}

/* An argument with its holes filled, in the order in which capture made them: a new reference. */
static PyObject *host_fill(host_inputs *in, PyObject *item) {
  if (PyTuple_CheckExact(item) || PyList_CheckExact(item)) return host_fill_items(in, item);
  bool scalar = item == np_host_mark(HOLE_SCALAR), number = item == np_host_mark(HOLE_NUMBER);
  if (!scalar && !number && item != np_host_mark(HOLE_ARRAY)) return Py_NewRef(item);
  if (in->next >= PyList_GET_SIZE(in->specs)) {
    PyErr_SetString(PyExc_SystemError, "frameloom: a host call has too few inputs");
    return NULL;
  }
  Py_ssize_t i = in->next++;
  PyObject *array = host_wrap(in->now, PyList_GET_ITEM(in->specs, i), in->buffers[i], false);
  if (!(scalar || number) || !array) return array;
  PyArrayObject *a = (PyArrayObject *)array;
  PyObject *filled =
      number ? PyArray_GETITEM(a, PyArray_DATA(a)) : PyArray_ToScalar(PyArray_DATA(a), a);
  Py_DECREF(array);
  return filled;
}

/* The result's axes in the order of the buffer's: a new reference. */
static PyArrayObject *host_ordered(PyObject *spec, PyObject *result) {
  PyArrayObject *a = (PyArrayObject *)PyArray_FROM_O(result);
  if (!a || PyTuple_GET_SIZE(spec) < 3) return a;
  PyObject *order = PyTuple_GET_ITEM(spec, 2);
  npy_intp axes[LOOM_MAX_RANK];
  PyArray_Dims permuted = {axes, (int)PyTuple_GET_SIZE(order)};
  PyArrayObject *turned = NULL;
  for (int i = 0; i < permuted.len; i++)
    axes[i] = PyLong_AsSsize_t(PyTuple_GET_ITEM(order, i));
  if (PyArray_NDIM(a) == permuted.len) turned = (PyArrayObject *)PyArray_Transpose(a, &permuted);
  Py_DECREF(a);
  return turned;
}

static bool host_is_other(void) {
  PyErr_SetString(PyExc_SystemError, "frameloom: a host call gave another result");
  return false;
}

/* Notes that `code` stands for `size`. A symbol without a value gets it; an expression whose value
 * is known has to equal it. False: it does not, or the size is out of the symbol's range. */
static bool host_take_size(const host_sizes *now, int64_t code, int64_t size) {
  const loom_expr *e = LOOM_DIM_IS_SYM(code) ? &now->graph->exprs[LOOM_DIM_EXPR(code)] : NULL;
  int64_t known;
  if (e && e->kind == LOOM_EXPR_SYMBOL && now->late >> e->value & 1 && now->symbols[e->value] < 0) {
    const loom_symbol *symbol = &now->graph->symbols[e->value];
    now->symbols[e->value] = size;
    return size >= symbol->min && size <= symbol->max;
  }
  return loom_dim_eval(now->graph, code, now->symbols, &known) && known == size;
}

/* Hands the memory of a result over whose size was not known: what owns it is kept. */
static bool host_give(const host_sizes *now, PyObject *spec, void **data, PyObject *result) {
  PyObject *sizes = PyTuple_GET_ITEM(spec, 1);
  PyArrayObject *plain = (PyArrayObject *)PyArray_FROM_OF(result, NPY_ARRAY_CARRAY_RO);
  if (!plain) return false;
  bool good = PyArray_NDIM(plain) == PyTuple_GET_SIZE(sizes) &&
              PyArray_TYPE(plain) == (int)PyLong_AsLong(PyTuple_GET_ITEM(spec, 0));
  for (int i = 0; good && i < PyArray_NDIM(plain); i++)
    good =
        host_take_size(now, PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)), PyArray_DIM(plain, i));
  if (!good) return Py_DECREF(plain), host_is_other();
  *data = PyArray_DATA(plain);
  if (!*now->kept) *now->kept = PyList_New(0);
  good = *now->kept && PyList_Append(*now->kept, (PyObject *)plain) == 0;
  Py_DECREF(plain);
  return good;
}

/* Copies a result into its buffer; a SystemError when it is not what the sample was. */
static bool host_store(const host_sizes *now, PyObject *spec, void **place, PyObject *result) {
  if (!*place) return host_give(now, spec, place, result);
  void *data = *place;
  PyArrayObject *to = (PyArrayObject *)host_wrap(now, spec, data, true),
                *from = host_ordered(spec, result);
  bool good = to && from && PyArray_TYPE(from) == PyArray_TYPE(to) &&
              PyArray_NDIM(from) == PyArray_NDIM(to) &&
              PyArray_CompareLists(PyArray_DIMS(from), PyArray_DIMS(to), PyArray_NDIM(to));
  if (good) good = PyArray_CopyInto(to, from) == 0;
  Py_XDECREF(to);
  Py_XDECREF(from);
  return good || (!PyErr_Occurred() ? host_is_other() : false);
}

/* Stores every array and number of the result in its buffer. */
static bool host_store_all(const host_sizes *now, PyObject *outputs, void **buffers,
                           Py_ssize_t *next, PyObject *result) {
  if (!PyTuple_Check(result) && !PyList_CheckExact(result)) {
    Py_ssize_t i = (*next)++;
    if (i < PyList_GET_SIZE(outputs) && PyTuple_Check(PyList_GET_ITEM(outputs, i)))
      return host_store(now, PyList_GET_ITEM(outputs, i), &buffers[i], result);
    PyErr_SetString(PyExc_SystemError, "frameloom: a host call gave more results");
    return false;
  }
  Py_ssize_t n = PySequence_Fast_GET_SIZE(result);
  for (Py_ssize_t i = 0; i < n; i++)
    if (!host_store_all(now, outputs, buffers, next, PySequence_Fast_GET_ITEM(result, i)))
      return false;
  return true;
}

/* The sizes themselves, as data. */
static bool host_store_counts(const host_sizes *now, PyObject *outputs, void **buffers,
                              Py_ssize_t *next) {
  for (; *next < PyList_GET_SIZE(outputs); ++*next) {
    PyObject *spec = PyList_GET_ITEM(outputs, *next);
    int64_t size;
    if (!PyLong_CheckExact(spec)) return false;
    if (!loom_dim_eval(now->graph, PyLong_AsLongLong(spec), now->symbols, &size))
      return host_is_other();
    memcpy(buffers[*next], &size, sizeof size);
  }
  return true;
}

static PyObject *host_fill_keywords(host_inputs *in, PyObject *kwargs) {
  PyObject *filled = PyDict_New(), *key, *item;
  Py_ssize_t pos = 0;
  while (filled && PyDict_Next(kwargs, &pos, &key, &item)) {
    PyObject *live = host_fill(in, item);
    if (!live || PyDict_SetItem(filled, key, live) < 0) Py_CLEAR(filled);
    Py_XDECREF(live);
  }
  return filled;
}

static _Thread_local int host_watches; /* calls of this thread whose warnings raise */

/* Every warning is of the class below on a thread that is in such a call, none is on another. */
static PyObject *host_is_watched(PyObject *class, PyObject *category) {
  return PyBool_FromLong(host_watches > 0);
}

/* A class whose subclasses are what host_is_watched says. */
static PyObject *host_category(void) {
  static PyMethodDef methods[] = {{"__subclasscheck__", host_is_watched, METH_O, NULL}, {0}};
  PyType_Slot slots[] = {{Py_tp_base, &PyType_Type}, {Py_tp_methods, methods}, {0, NULL}};
  PyType_Spec spec = {.name = "frameloom.WatchedMeta", .flags = Py_TPFLAGS_DEFAULT, .slots = slots};
  PyObject *meta = PyType_FromSpec(&spec);
  PyObject *class = meta ? PyObject_CallFunction(meta, "s(O){}", "Watched", PyExc_Warning) : NULL;
  Py_XDECREF(meta);
  return class;
}

/* ("error", None, host_category(), None, 0) */
static PyObject *host_filter(void) {
  static PyObject *filter;
  if (!filter) filter = Py_BuildValue("(sONOi)", "error", Py_None, host_category(), Py_None, 0);
  return filter;
}

static bool host_ignores_all(PyObject *filters) {
  PyObject *first = PyList_GET_SIZE(filters) ? PyList_GET_ITEM(filters, 0) : NULL;
  if (!first || !PyTuple_Check(first) || PyTuple_GET_SIZE(first) != 5) return false;
  PyObject *action = PyTuple_GET_ITEM(first, 0);
  return PyUnicode_Check(action) && PyUnicode_CompareWithASCIIString(action, "ignore") == 0 &&
         PyTuple_GET_ITEM(first, 1) == Py_None && PyTuple_GET_ITEM(first, 2) == PyExc_Warning &&
         PyTuple_GET_ITEM(first, 3) == Py_None;
}

/* Makes warnings of this thread raise, so that the plain function gives them: had a later kernel to
 * be run again for a report of its own, they would be given twice. When everything is ignored, the
 * call warns by itself. The list that was changed: a new reference, or NULL. */
static PyObject *host_warnings_raise(void) {
  static PyObject *module;
  if (!host_filter()) return error_drop(), NULL;
  if (!module) module = PyImport_ImportModule("warnings");
  PyObject *list = module ? PyObject_GetAttrString(module, "filters") : NULL;
  if (!list || !PyList_CheckExact(list) || host_ignores_all(list) ||
      PyList_Insert(list, 0, host_filter()) < 0)
    Py_CLEAR(list);
  error_drop();
  host_watches += list != NULL;
  return list;
}

static void host_warnings_restore(PyObject *list) {
  host_watches--;
  PyObject *type, *value, *traceback;
  PyErr_Fetch(&type, &value, &traceback);
  for (Py_ssize_t i = 0; i < PyList_GET_SIZE(list); i++)
    if (PyList_GET_ITEM(list, i) == host_filter()) {
      PyList_SetSlice(list, i, i + 1, NULL);
      break;
    }
  Py_DECREF(list);
  PyErr_Restore(type, value, traceback);
}

/* callable(*args, **kwargs) in an error state that raises what would be reported. */
static PyObject *host_invoke(PyObject *row, PyObject *args, PyObject *kwargs) {
  if (np_host_is_quiet(PyTuple_GET_ITEM(row, 0)))
    return PyObject_Call(PyTuple_GET_ITEM(row, 0), args, kwargs);
  PyObject *token = np_error_enter(PyTuple_GET_ITEM(row, 5));
  if (!token) return NULL;
  PyObject *filters = host_warnings_raise();
  PyObject *result = standin_call(PyTuple_GET_ITEM(row, 6), PyTuple_GET_ITEM(row, 0), args, kwargs);
  if (filters) host_warnings_restore(filters);
  if (!np_error_leave(token)) Py_CLEAR(result);
  return result;
}

/* A matrix or vector of the buffers: its sizes; false: another array, or one without memory. */
static bool host_matrix(const host_sizes *now, PyObject *spec, int type, int64_t *dims, int *rank) {
  if (!PyTuple_Check(spec) || PyTuple_GET_SIZE(spec) != 2) return false;
  PyObject *sizes = PyTuple_GET_ITEM(spec, 1);
  *rank = (int)PyTuple_GET_SIZE(sizes);
  if (PyLong_AsLong(PyTuple_GET_ITEM(spec, 0)) != type || *rank < 1 || *rank > 2) return false;
  for (int i = 0; i < *rank; i++)
    if (!loom_dim_eval(now->graph, PyLong_AsLongLong(PyTuple_GET_ITEM(sizes, i)), now->symbols,
                       &dims[i]))
      return false;
  return true;
}

/* Calls LAPACK in place of NumPy where that is possible: see lapack.c. */
static bool host_direct(const host_sizes *now, PyObject *row, void **buffers, uint32_t reads) {
  PyObject *args = PyTuple_GET_ITEM(row, 1), *specs = PyTuple_GET_ITEM(row, 3),
           *outputs = PyTuple_GET_ITEM(row, 4);
  int64_t dims[3][2] = {{0}};
  int count = np_lapack_operands(PyTuple_GET_ITEM(row, 0)), rank[3] = {0};
  if (!count || PyTuple_GET_SIZE(args) != count || (int)reads != count ||
      PyDict_GET_SIZE(PyTuple_GET_ITEM(row, 2)) || PyList_GET_SIZE(outputs) != 1 || !buffers[reads])
    return false;
  for (int i = 0; i < count; i++)
    if (PyTuple_GET_ITEM(args, i) != np_host_mark(HOLE_ARRAY)) return false;
  PyObject *first = PyList_GET_ITEM(specs, 0);
  int type = PyTuple_Check(first) ? (int)PyLong_AsLong(PyTuple_GET_ITEM(first, 0)) : -1;
  if (type != NPY_DOUBLE && type != NPY_FLOAT) return false;
  for (int i = 0; i <= count; i++) {
    PyObject *spec = i < count ? PyList_GET_ITEM(specs, i) : PyList_GET_ITEM(outputs, 0);
    if (!host_matrix(now, spec, type, dims[i], &rank[i])) return false;
  }
  bool square = rank[0] == 2 && dims[0][0] == dims[0][1] && dims[1][0] == dims[0][0];
  bool like = rank[count] == rank[count - 1] && dims[count][0] == dims[count - 1][0] &&
              dims[count][1] == dims[count - 1][1];
  const np_lapack_call call = {.wide = type == NPY_DOUBLE,
                               .n = dims[0][0],
                               .columns = rank[1] == 1 ? 1 : dims[1][1],
                               .a = buffers[0],
                               .b = count == 2 ? buffers[1] : NULL,
                               .out = buffers[reads]};
  return square && like && np_lapack_run(&call);
}

int np_host_run(void *context, const char *name, uint32_t slot, void **buffers, uint32_t reads,
                uint32_t count, int64_t *symbols, PyObject **kept) {
  const capture *c = context;
  const host_sizes now = {&c->graph, symbols, c->late, kept};
  PyObject *row =
      c->hosts && slot < PyList_GET_SIZE(c->hosts) ? PyList_GET_ITEM(c->hosts, slot) : NULL;
  if (!row || !PyTuple_Check(row)) return 1;
  PyObject *outputs = PyTuple_GET_ITEM(row, 4), *result = NULL;
  Py_ssize_t next = 0, results = PyList_GET_SIZE(outputs);
  host_inputs in = {.specs = PyTuple_GET_ITEM(row, 3), .buffers = buffers, .now = &now};
  if (PyList_GET_SIZE(in.specs) != reads || count != reads + results) return 1;
  fexcept_t flags; /* NumPy reports its own: they are not the kernels' */
  fegetexceptflag(&flags, FE_ALL_EXCEPT);
  if (host_direct(&now, row, buffers, reads)) return fesetexceptflag(&flags, FE_ALL_EXCEPT), 0;
  PyObject *args = host_fill_items(&in, PyTuple_GET_ITEM(row, 1));
  PyObject *kwargs = args ? host_fill_keywords(&in, PyTuple_GET_ITEM(row, 2)) : NULL;
  if (kwargs) result = host_invoke(row, args, kwargs);
  bool good = result && host_store_all(&now, outputs, buffers + reads, &next, result) &&
              host_store_counts(&now, outputs, buffers + reads, &next) && next == results;
  fesetexceptflag(&flags, FE_ALL_EXCEPT);
  Py_XDECREF(args);
  Py_XDECREF(kwargs);
  Py_XDECREF(result);
  return !good;
}
