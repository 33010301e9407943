/* Live NumPy objects become values: arrays are graph inputs with a guard on dtype, sizes and
 * strides; NumPy scalars are known constants with a guard on type and bits. Also the table of
 * NumPy's adapter. */
#include "frontend/base/base.h"
#include "frontend/captured/adapter.h"
#include "frontend/captured/guard.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_functions.h"

#include <string.h>

/* Payload of the guard of a NumPy scalar. */
typedef struct wrap_scalar {
  int typenum;
  uint64_t bits;
} wrap_scalar;

static PyTypeObject *wrap_scalar_types[NPY_NTYPES_LEGACY];

/* The bits of an exact NumPy scalar; false for other objects. Flat C: guards call it. */
static bool wrap_scalar_bits(PyObject *object, wrap_scalar *out) {
  loom_dtype dtype;
  for (int i = 0; i < NPY_NTYPES_LEGACY; i++) {
    if (!wrap_scalar_types[i] || Py_TYPE(object) != wrap_scalar_types[i]) continue;
    if (!numpy_dtype_from_typenum(i, &dtype) || loom_dtype_size(dtype) > 8) return false;
    out->typenum = i;
    out->bits = 0;
    PyArray_ScalarAsCtype(object, &out->bits);
    return true;
  }
  return false;
}

static bool wrap_guard(const void *payload, PyObject *object) {
  const wrap_scalar *want = payload;
  wrap_scalar have;
  return wrap_scalar_bits(object, &have) && have.typenum == want->typenum &&
         have.bits == want->bits;
}

/* Another number of the same type? */
static bool wrap_number_differs(const void *payload, PyObject *object) {
  const wrap_scalar *want = payload;
  wrap_scalar have;
  return wrap_scalar_bits(object, &have) && have.typenum == want->typenum &&
         have.bits != want->bits;
}

static PyObject *wrap_number(const void *payload) {
  const wrap_scalar *scalar = payload;
  PyArray_Descr *type = PyArray_DescrFromType(scalar->typenum);
  uint64_t bits = scalar->bits;
  PyObject *number = type ? PyArray_Scalar(&bits, type, NULL) : NULL;
  Py_XDECREF(type);
  return number;
}

/* A NumPy scalar that changes from call to call: an input, guarded by its type. */
static value *wrap_scalar_input(tracer *t, PyObject *object, const source *s, loom_dtype dtype) {
  loom_type type = type_make(dtype, 0, NULL);
  trace_guard(t, (guard){.kind = GUARD_TYPE,
                         .source = s,
                         .object = Py_NewRef((PyObject *)Py_TYPE(object)),
                         .location = trace_location(t)});
  value *v = np_result(t, trace_input(t, LOOM_INPUT_SCALAR, &type, NULL, s, NULL), NULL);
  if (!v) return NULL;
  np_array_of(v)->storage->source = s;
  np_array_of(v)->storage->live = object;
  v->source = s;
  return v;
}

/* A part of a complex number: `derived` of the adapter's table, for its name. */
static PyObject *wrap_derived(PyObject *base, PyObject *name) {
  if (!PyComplex_Check(base) && !PyArray_IsScalar(base, ComplexFloating))
    return numpy_stack(base, name);
  bool real = PyUnicode_CompareWithASCIIString(name, "real") == 0;
  if (!real && PyUnicode_CompareWithASCIIString(name, "imag") != 0) return NULL;
  Py_complex z = PyComplex_AsCComplex(base);
  if (PyErr_Occurred()) return error_drop(), NULL;
  return PyFloat_FromDouble(real ? z.real : z.imag);
}

/* The real (`name`) or imaginary part of a complex NumPy scalar: an input. */
static loom_value wrap_part(tracer *t, const source *s, const char *name, loom_dtype dtype) {
  loom_type type = type_make(dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, 0, NULL);
  PyObject *key = trace_keep(t, PyUnicode_InternFromString(name));
  const source *at = key ? trace_source(t, SOURCE_DERIVED, s, NULL, key, 0) : NULL;
  return at ? trace_input(t, LOOM_INPUT_SCALAR, &type, NULL, at, NULL) : LOOM_NO_VALUE;
}

/* A complex NumPy scalar: two inputs, or a constant where it comes from nowhere. */
static value *wrap_complex(tracer *t, PyObject *object, const source *s, loom_dtype dtype) {
  if (!s) {
    Py_complex z = PyComplex_AsCComplex(object);
    if (PyErr_Occurred()) return trace_raise_live(t);
    value *made = np_result(t, emit_complex(t, dtype, z.real, z.imag), NULL);
    if (made) np_array_of(made)->known = object;
    return made;
  }
  trace_guard(t, (guard){.kind = GUARD_TYPE,
                         .source = s,
                         .object = Py_NewRef((PyObject *)Py_TYPE(object)),
                         .location = trace_location(t)});
  loom_value re = wrap_part(t, s, "real", dtype), im = wrap_part(t, s, "imag", dtype);
  value *v = np_result(t, emit2(t, LOOM_OP_COMPLEX, re, im), NULL);
  if (!v) return NULL;
  np_array_of(v)->storage->source = s;
  np_array_of(v)->storage->live = object;
  v->source = s;
  return v;
}

static value *wrap_scalar_value(tracer *t, PyObject *object, const source *s) {
  wrap_scalar scalar;
  loom_dtype dtype;
  bool derives = np_gradient_near(t); /* elsewhere not all operators of such scalars are captured */
  if (derives && Py_IS_TYPE(object, &PyCDoubleArrType_Type))
    return wrap_complex(t, object, s, LOOM_C128);
  if (derives && Py_IS_TYPE(object, &PyCFloatArrType_Type))
    return wrap_complex(t, object, s, LOOM_C64);
  if (!wrap_scalar_bits(object, &scalar) || scalar.typenum == NPY_LONGLONG ||
      scalar.typenum == NPY_ULONGLONG || !numpy_dtype_from_typenum(scalar.typenum, &dtype) ||
      loom_dtype_is_complex(dtype))
    return trace_break(t, BREAK_UNSUPPORTED_DTYPE, "a scalar of type %.100s",
                       Py_TYPE(object)->tp_name);
  if (trace_symbolic(t, s) || size_number_changes(t, s))
    return wrap_scalar_input(t, object, s, dtype);
  if (s && !trace_guard_payload(t, GUARD_CUSTOM, s, &loom_numpy_adapter, &scalar, sizeof scalar))
    return NULL;
  value *v = np_constant_scalar(t, dtype, scalar.bits);
  if (!v) return NULL;
  v->source = s;
  v->object = object;
  np_array_of(v)->known = object;
  return v;
}

/* The elements of `object` as data of the graph, its axes in this order. Small uniform ones are
 * constants. */
static loom_value wrap_elements(tracer *t, PyObject *object, loom_dtype dtype,
                                const int64_t *order) {
  loom_type type = type_make(dtype, 0, NULL);
  int64_t strides[LOOM_MAX_RANK];
  npy_intp axes[LOOM_MAX_RANK];
  PyArray_Dims permuted = {axes, type.rank = PyArray_NDIM((PyArrayObject *)object)};
  for (int i = 0; i < type.rank; i++)
    type.dims[i] = PyArray_DIM((PyArrayObject *)object, (int)(axes[i] = order[i]));
  PyObject *turned = PyArray_Transpose((PyArrayObject *)object, &permuted);
  PyArrayObject *data =
      turned ? (PyArrayObject *)PyArray_NewCopy((PyArrayObject *)turned, NPY_CORDER) : NULL;
  Py_XDECREF(turned);
  if (!data) return trace_raise_live(t), LOOM_NO_VALUE;
  size_t size = loom_dtype_size(dtype), bytes = (size_t)PyArray_NBYTES(data);
  const char *start = PyArray_BYTES(data);
  bool small = size <= sizeof(uint64_t) && !loom_dtype_is_complex(dtype);
  if (bytes == 0 || (small && memcmp(start, start + size, bytes - size) == 0)) {
    uint64_t bits = 0;
    if (bytes) memcpy(&bits, start, size);
    Py_DECREF(data);
    return emit_constant(t, &type, bits);
  }
  loom_contiguous_strides(&type, strides);
  return trace_input(t, LOOM_INPUT_CONST, &type, strides, NULL, (PyObject *)data);
}

static value *wrap_constant(tracer *t, PyObject *object, const numpy_array_payload *p);

/* An array that repeats its elements along some axes: a view of what it repeats. NULL, with nothing
 * pending, for others. */
static value *wrap_repeated(tracer *t, PyObject *object, const numpy_array_payload *p) {
  PyArrayObject *a = (PyArrayObject *)object;
  numpy_array_payload once = *p;
  int64_t dims[LOOM_MAX_RANK];
  bool repeats = false;
  for (int i = 0; i < p->nd; i++) {
    dims[i] = p->dims[i];
    repeats |= p->dims[i] > 1 && p->strides[i] == 0;
    if (p->strides[i] == 0) once.dims[i] = 1;
  }
  if (!repeats || PyArray_SIZE(a) == 0 || (p->flags & NUMPY_WRITEABLE)) return NULL;
  PyObject *part = PyArray_NewFromDescr(&PyArray_Type, np_descr(p->dtype), p->nd, once.dims,
                                        once.strides, PyArray_DATA(a), NPY_ARRAY_ALIGNED, NULL);
  if (!part || PyArray_SetBaseObject((PyArrayObject *)part, Py_NewRef(object)) < 0) {
    Py_XDECREF(part);
    return trace_raise_live(t);
  }
  value *own = wrap_constant(t, trace_keep(t, part), &once);
  value *v = own ? np_view_broadcast(t, np_array_of(own), p->nd, dims) : NULL;
  if (v) np_array_of(v)->known = object;
  return v;
}

/* An array made at capture. Memory of its own is never more than its elements take: a view that
 * leaves gaps or repeats elements is one here, too. */
static value *wrap_constant(tracer *t, PyObject *object, const numpy_array_payload *p) {
  PyArrayObject *a = (PyArrayObject *)object;
  loom_type type = type_make(p->dtype, 0, NULL);
  int64_t strides[LOOM_MAX_RANK], order[LOOM_MAX_RANK];
  bool gaps = false;
  value *repeated = wrap_repeated(t, object, p);
  if (repeated || trace_pending(t)) return repeated;
  if (PyArray_SIZE(a) && !np_memory_order(a, order, &gaps))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "an array whose elements share memory");
  type.rank = p->nd;
  for (int i = 0; i < p->nd; i++) {
    type.dims[i] = p->dims[i];
    strides[i] = p->strides[i];
    if (!gaps) order[i] = i;
  }
  loom_value node = wrap_elements(t, object, p->dtype, order);
  if (node == LOOM_NO_VALUE) return NULL;
  np_array *own = NULL;
  value *v =
      gaps ? np_with_gaps(t, &type, strides, order, node, 0, &own) : np_fresh(t, node, strides);
  if (v && !PyArray_CHKFLAGS(a, NPY_ARRAY_OWNDATA)) v = np_view_same(t, np_array_of(v));
  if (v) np_array_of(v)->known = object;
  return v;
}

static value *wrap_argument(tracer *t, PyObject *object, const source *s,
                            const numpy_array_payload *p) {
  loom_type type;
  int64_t elements[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  numpy_array_payload guarded = *p;
  guarded.flags_mask = NUMPY_ALIGNED | NUMPY_WRITEABLE | NUMPY_WARNS;
  if (!size_apply_marks(t, object, s) || !np_sizes_read(t, s, &guarded, &type, strides) ||
      !trace_guard_payload(t, GUARD_ARRAY, s, &loom_numpy_adapter, &guarded, sizeof guarded))
    return NULL;
  for (int i = 0; i < p->nd; i++)
    elements[i] = np_in_elements(t, strides[i], p->dtype);
  value *v = np_fresh(t, trace_input(t, LOOM_INPUT_ARRAY, &type, elements, s, NULL), strides);
  if (!v) return NULL;
  np_array *a = np_array_of(v);
  a->writeable = p->flags & NUMPY_WRITEABLE;
  a->warns_on_write = p->flags & NUMPY_WARNS;
  a->storage->source = s;
  a->storage->live = object;
  v->source = s;
  return v;
}

/* What no memory holds an axis of a single element may have, or one of none: any number. */
static bool wrap_strides_fit(const numpy_array_payload *p) {
  const int64_t memory = INT64_C(1) << 48;
  for (int i = 0; i < p->nd; i++)
    if (p->strides[i] > memory || p->strides[i] < -memory) return false;
  return true;
}

static value *wrap_array(tracer *t, PyObject *object, const source *s) {
  numpy_array_payload p;
  PyArrayObject *array = (PyArrayObject *)object;
  if (!numpy_array_describe(object, &p) || !(p.flags & NUMPY_ALIGNED) ||
      PyArray_NDIM(array) > LOOM_MAX_RANK || !wrap_strides_fit(&p))
    return trace_break(t, BREAK_UNSUPPORTED_DTYPE,
                       "an array of dtype '%c%d', byte order '%c', misaligned or with odd strides",
                       PyArray_DESCR(array)->kind, (int)PyArray_ITEMSIZE(array),
                       PyArray_DESCR(array)->byteorder);
  loom_dtype dtype;
  if (!np_dtype_of(t, PyArray_DESCR(array), &dtype)) return NULL;
  return s ? wrap_argument(t, object, s, &p) : wrap_constant(t, object, &p);
}

/* An object whose class overrides NumPy's functions. Looks only at types: runs no code. */
static bool wrap_overrides(PyObject *object) {
  static PyObject *names[2];
  if (!names[0]) {
    names[0] = PyUnicode_InternFromString("__array_ufunc__");
    names[1] = PyUnicode_InternFromString("__array_function__");
  }
  if (PyType_Check(object) || PyArray_IsScalar(object, Generic)) return false;
  return _PyType_Lookup(Py_TYPE(object), names[0]) || _PyType_Lookup(Py_TYPE(object), names[1]);
}

/* Values know the object (np_known) for as long as capture lasts. */
static value *wrap(tracer *t, PyObject *object, const source *s) {
  bool array = PyArray_CheckExact(object), scalar = PyArray_IsScalar(object, Generic);
  if ((array || scalar) && !trace_keep(t, Py_NewRef(object))) return NULL;
  if (array) return wrap_array(t, object, s);
  if (scalar) return wrap_scalar_value(t, object, s);
  if (wrap_overrides(object))
    return trace_break(t, BREAK_OVERRIDE, "an object of type %.100s", Py_TYPE(object)->tp_name);
  return NULL;
}

static PyTypeObject *wrap_dispatcher; /* of NumPy's functions that dispatch */

static bool wrap_find_dispatcher(void) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  PyObject *any = numpy ? PyObject_GetAttrString(numpy, "concatenate") : NULL;
  Py_XDECREF(numpy);
  if (any) wrap_dispatcher = Py_TYPE(any);
  Py_XDECREF(any);
  return any != NULL;
}

/* np.iinfo keeps the limits that were asked for in a dictionary of its class: filled here once, so
 * that functions that ask (tri, tril, triu) find them instead of writing them. */
static bool wrap_fill_limits(void) {
  static const char *const names[] = {"int8",  "int16",  "int32",  "int64",
                                      "uint8", "uint16", "uint32", "uint64"};
  PyObject *numpy = PyImport_ImportModule("numpy"),
           *info = numpy ? PyObject_GetAttrString(numpy, "iinfo") : NULL;
  for (size_t i = 0; info && i < sizeof names / sizeof *names && !PyErr_Occurred(); i++) {
    PyObject *limits = PyObject_CallFunction(info, "s", names[i]);
    PyObject *max = limits ? PyObject_GetAttrString(limits, "max") : NULL;
    PyObject *min = max ? PyObject_GetAttrString(limits, "min") : NULL;
    Py_XDECREF(min);
    Py_XDECREF(max);
    Py_XDECREF(limits);
  }
  Py_XDECREF(info);
  Py_XDECREF(numpy);
  return !PyErr_Occurred();
}

static bool wrap_init(void) {
  if (!numpy_array_init() || !np_ufunc_init() || !np_call_init() || !wrap_find_dispatcher() ||
      !wrap_fill_limits())
    return false;
  for (int i = 0; i < NPY_NTYPES_LEGACY; i++)
    if (i != NPY_OBJECT && i != NPY_STRING && i != NPY_UNICODE && i != NPY_VOID)
      wrap_scalar_types[i] = (PyTypeObject *)PyArray_TypeObjectFromType(i);
  return true;
}

static int wrap_threads(void) { return (int)loom_config.threads; }

static bool wrap_immutable(PyObject *object) {
  if (Py_TYPE(object) == wrap_dispatcher) return true;
  if (PyObject_TypeCheck(object, &PyUFunc_Type)) return true;
  return PyArray_DescrCheck(object) && !PyDataType_HASFIELDS((PyArray_Descr *)object);
}

const loom_adapter loom_numpy_adapter = {.name = "numpy",
                                         .graph_run = numpy_graph_run,
                                         .buffer_wrap = numpy_buffer_wrap,
                                         .buffer_store = numpy_buffer_store,
                                         .immutable = wrap_immutable,
                                         .init = wrap_init,
                                         .wrap = wrap,
                                         .has_row = np_has_row,
                                         .call = np_call_object,
                                         .opaque = np_opaque,
                                         .condition = np_condition,
                                         .choose = np_choose,
                                         .finish = np_finish,
                                         .walk = np_walk_state,
                                         .walk_scalar = np_walk_scalar,
                                         .written = np_written,
                                         .write_back = np_write_back,
                                         .guard_array = numpy_array_guard,
                                         .guard = wrap_guard,
                                         .data = numpy_array_data,
                                         .new_output = numpy_array_new_output,
                                         .threads = wrap_threads,
                                         .scalar = numpy_array_scalar,
                                         .view = numpy_array_view,
                                         .row_at = np_row_at,
                                         .row_like = np_row_like,
                                         .row_new = np_row_new,
                                         .row_fits = np_row_fits,
                                         .stack_live = np_stack_live,
                                         .derived = wrap_derived,
                                         .lender = np_lender,
                                         .row_is_small = np_row_is_small,
                                         .read = np_row_elements,
                                         .numbers = np_row_numbers,
                                         .row_recipe = np_row_recipe,
                                         .row = numpy_array_row,
                                         .write = numpy_array_write,
                                         .direct = numpy_array_direct,
                                         .report = numpy_report,
                                         .disjoint = numpy_array_disjoint,
                                         .apart = numpy_arrays_apart,
                                         .size = numpy_array_size,
                                         .sizes_differ = numpy_array_sizes_differ,
                                         .guarded_size = numpy_array_guarded_size,
                                         .words = numpy_array_words_of,
                                         .describe = numpy_array_words,
                                         .fingerprint = numpy_array_fingerprint,
                                         .scalar_bits = numpy_scalar_bits,
                                         .number_differs = wrap_number_differs,
                                         .number = wrap_number,
                                         .flags_matter = numpy_flags_matter,
                                         .warnings_shown = numpy_warnings_shown,
                                         .host_call = np_host_run};
