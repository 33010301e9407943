/* Operands and dtypes. NEP 50 promotion is NumPy's own: ufunc.resolve_dtypes and PyArray_ResultType
 * are asked at capture (on dtypes only: no user code runs). */
#include "frontend/base/base.h"
#include "frontend/captured/objects.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/values.h"

#include <math.h>
#include <string.h>

PyArray_Descr *np_descr(loom_dtype dtype) {
  return PyArray_DescrFromType(numpy_typenum_from_dtype(dtype));
}

bool np_dtype_supported(loom_dtype d) { return d != LOOM_BF16; }

bool np_dtype_of(tracer *t, PyArray_Descr *descr, loom_dtype *out) {
  /* long long is int64 by another name, which results would have to keep. */
  bool other = descr->type_num == NPY_LONGLONG || descr->type_num == NPY_ULONGLONG;
  other |= !numpy_descr_plain(descr); /* nor what is known beside: metadata, names of fields */
  if (!other && numpy_dtype_from_typenum(descr->type_num, out) && np_dtype_supported(*out))
    return true;
  trace_break(t, BREAK_UNSUPPORTED_DTYPE, "dtype of kind '%c' and %d bytes", descr->kind,
              (int)PyDataType_ELSIZE(descr));
  return false;
}

bool np_dtype_arg(tracer *t, value *v, loom_dtype *out) {
  PyObject *o = np_known(t, v);
  PyArray_Descr *descr = NULL;
  /* Only what runs no code of the user's: dtypes, types, strings. */
  if (!o || !(PyArray_DescrCheck(o) || PyType_Check(o) || PyUnicode_Check(o))) {
    trace_break(t, BREAK_NUMPY_FUNCTION,
                "a dtype argument that is not a dtype, a type or a string");
    return false;
  }
  if (!PyArray_DescrConverter(o, &descr)) {
    trace_raise_live(t);
    return false;
  }
  trace_keep(t, (PyObject *)descr);
  return np_dtype_of(t, descr, out);
}

const char *np_shape_text(const loom_type *type, char *buffer, size_t size) {
  size_t n = (size_t)snprintf(buffer, size, "(");
  for (int i = 0; i < type->rank && n < size; i++)
    n += (size_t)snprintf(buffer + n, size - n, i ? ",%lld" : "%lld", (long long)type->dims[i]);
  if (n < size) snprintf(buffer + n, size - n, type->rank == 1 ? ",)" : ")");
  return buffer;
}

/* ---- operands ---- */

static bool promote_from_live(tracer *t, PyObject *o, np_operand *out) {
  if (PyArray_IsScalar(o, Generic) || PyArray_CheckExact(o)) {
    value *v = loom_numpy_adapter.wrap(t, o, NULL);
    out->array = np_array_of(v);
    if (!out->array) return false;
    out->dtype = out->array->type.dtype;
    return true;
  }
  if (PyBool_Check(o)) {
    value *v = np_constant_scalar(t, LOOM_BOOL, o == Py_True);
    if (!v) return false;
    out->array = np_array_of(v);
    out->array->known = o;
    out->dtype = LOOM_BOOL;
    return true;
  }
  if (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyComplex_CheckExact(o)) {
    out->number = o;
    out->weak = Py_TYPE(o);
    return true;
  }
  trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operand of type %.100s", Py_TYPE(o)->tp_name);
  return false;
}

static value *promote_stack(tracer *t, value *v);

#define PROMOTE_RANGE 4096 /* items of a range that are a constant of the graph */

static value *promote_known(tracer *t, PyObject *known);

bool np_operand_from(tracer *t, value *v, np_operand *out) {
  *out = (np_operand){.node = LOOM_NO_VALUE, .from = v};
  if (np_is_array(v)) {
    out->array = v->array.layout;
    out->dtype = out->array->type.dtype;
    return true;
  }
  if (value_is_number(v)) {
    out->node = number_node(t, v);
    out->weak = (PyTypeObject *)value_type_of(t, v);
    if (out->weak != &PyBool_Type) return out->node != LOOM_NO_VALUE;
    value *b = np_result(t, out->node, NULL);
    out->array = np_array_of(b);
    out->dtype = LOOM_BOOL;
    return b != NULL;
  }
  value *content = np_scalar_of(t, v);
  if (content && !PyUnicode_Check(content->object) && !PyBytes_Check(content->object)) {
    out->array = np_array_of(promote_known(t, content->object)); /* not weak, as an int is */
    if (out->array) out->dtype = out->array->type.dtype;
    return out->array != NULL;
  }
  value *rows = list_is_long(v) ? np_stacked(t, v) : NULL;
  if (rows) return np_operand_from(t, rows, out);
  if (trace_pending(t) || !list_settle(t, v)) return false;
  if (value_is_sequence(v)) {
    value *array = promote_stack(t, v);
    out->array = np_array_of(array);
    if (out->array) out->dtype = out->array->type.dtype;
    return out->array != NULL;
  }
  value *flat = np_flat_copy(t, v);
  if (flat) return np_operand_from(t, flat, out);
  PyObject *o = np_known(t, v);
  if (!o) {
    trace_break(t, BREAK_UNSUPPORTED_TYPE, "an operand of type %.100s", v->type->name);
    return false;
  }
  Py_ssize_t items = PyRange_Check(o) ? PyObject_Size(o) : -1;
  if (items >= 0 && items <= PROMOTE_RANGE) {
    out->array = np_array_of(promote_known(t, o));
    if (out->array) out->dtype = out->array->type.dtype;
    return out->array != NULL;
  }
  error_drop();
  return promote_from_live(t, o, out);
}

bool np_mask_from(tracer *t, value *v, np_operand *out) {
  if (!np_operand_from(t, v, out)) return false;
  if (!out->array || out->array->type.dtype == LOOM_BOOL) return true;
  trace_break(t, BREAK_RAISES, "where= of %s", loom_dtype_name(out->array->type.dtype));
  return false;
}

/* An instance of a class over a number which NumPy asks for nothing that the class defines. */
static bool inert_number(PyObject *o) {
  static const char *const hooks[] = {"__array__",       "__array_interface__", "__array_struct__",
                                      "__array_ufunc__", "__complex__",         "__len__",
                                      "__getitem__",     "__buffer__"};
  PyTypeObject *type = Py_TYPE(o), *base = PyLong_Check(o)      ? &PyLong_Type
                                           : PyFloat_Check(o)   ? &PyFloat_Type
                                           : PyComplex_Check(o) ? &PyComplex_Type
                                                                : NULL;
  if (!base || type->tp_getattro != PyObject_GenericGetAttr) return false;
  const PyNumberMethods *own = type->tp_as_number, *known = base->tp_as_number;
  if (own->nb_int != known->nb_int || own->nb_index != known->nb_index ||
      own->nb_float != known->nb_float)
    return false;
  for (size_t i = 0; i < sizeof hooks / sizeof *hooks; i++) {
    PyObject *name = PyUnicode_InternFromString(hooks[i]);
    bool same = name && _PyType_Lookup(type, name) == _PyType_Lookup(base, name);
    Py_XDECREF(name);
    if (!same) return error_drop(), false;
  }
  return true;
}

#define INERT_DEPTH 32 /* lists in lists */

/* Does NumPy make an array of the object without running code of the user's? */
static bool promote_is_inert(PyObject *o, int depth) {
  if (object_is_scalar(o) || PyRange_Check(o) || PyArray_CheckAnyScalarExact(o)) return true;
  if (PyArray_CheckExact(o)) return PyArray_TYPE((PyArrayObject *)o) != NPY_OBJECT;
  if (!PyList_CheckExact(o) && !PyTuple_CheckExact(o)) return inert_number(o);
  for (Py_ssize_t i = 0; depth && i < PySequence_Fast_GET_SIZE(o); i++)
    if (!promote_is_inert(PySequence_Fast_GET_ITEM(o, i), depth - 1)) return false;
  return depth > 0;
}

/* A list, tuple or range of known numbers as the array that NumPy makes of it. */
static value *promote_known(tracer *t, PyObject *known) {
  if (!promote_is_inert(known, INERT_DEPTH))
    return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an array of objects that are no numbers");
  PyObject *array = PyArray_FROM_O(known);
  if (!array) return trace_raise_live(t);
  value *made = loom_numpy_adapter.wrap(t, trace_keep(t, array), NULL);
  if (made && np_is_array(made)) np_array_of(made)->packed = true;
  return made;
}

/* A nested list or tuple as an array: NumPy makes one of known numbers, else the items are stacked.
 */
static value *promote_stack(tracer *t, value *v) {
  bool computed = value_has_data(v) || np_are_symbolic(t, &v, 1);
  PyObject *known = computed ? NULL : value_known(t, v);
  if (known) return promote_known(t, trace_keep(t, known));
  v = trace_to_tuple(t, v);
  if (!v) return NULL;
  Py_ssize_t n = v->seq.count;
  np_operand *items = trace_alloc(t, sizeof *items * (size_t)(n + 1));
  loom_value *nodes = trace_alloc(t, sizeof *nodes * (size_t)(n + 1));
  loom_dtype dtype;
  if (!items || !nodes) return NULL;
  for (Py_ssize_t i = 0; i < n; i++) {
    /* Python's numbers count as int64 and float64 here, unlike in arithmetic. */
    items[i].array = np_as_array(t, v->seq.items[i]);
    if (!items[i].array) return NULL;
    items[i].dtype = items[i].array->type.dtype;
  }
  if (n == 0 || !np_result_type(t, items, (int)n, &dtype)) return NULL;
  loom_type part = {0}, first = items[0].array ? items[0].array->type : (loom_type){0};
  if (first.rank == LOOM_MAX_RANK)
    return trace_break(t, BREAK_NUMPY_FUNCTION, "an array of more than %d dimensions",
                       LOOM_MAX_RANK);
  part = type_make(dtype, 1, (int64_t[]){1});
  part.rank = first.rank + 1;
  memcpy(part.dims + 1, first.dims, sizeof(int64_t) * (size_t)first.rank);
  for (Py_ssize_t i = 0; i < n; i++) {
    loom_type own = items[i].array ? items[i].array->type : (loom_type){0};
    own.dtype = first.dtype;
    if (!np_same_sizes(t, &own, &first))
      return trace_break(t, BREAK_RAISES, "a list of arrays of several shapes");
    nodes[i] = emit_reshape(t, np_operand_load(t, &items[i], dtype), part.rank, part.dims);
    if (nodes[i] == LOOM_NO_VALUE) return NULL;
  }
  value *made = np_fresh(t, emit_concatenate(t, nodes, (int)n, 0), NULL);
  for (Py_ssize_t i = 0; i < n && made; i++)
    np_array_of(made)->packed |= items[i].array->scalar || items[i].array->packed || !first.rank;
  return made;
}

np_array *np_as_array(tracer *t, value *v) {
  np_operand o;
  if (!np_operand_from(t, v, &o)) return NULL;
  if (o.array && o.array->scalar && value_type_of(t, v) == (PyObject *)&PyBool_Type)
    return np_array_of(np_fresh(t, np_read(t, o.array), NULL)); /* which is no scalar of NumPy's */
  if (o.array) return o.array;
  int huge = 0;
  if (o.number && PyLong_Check(o.number)) PyLong_AsLongLongAndOverflow(o.number, &huge);
  if (huge) { /* uint64, or an object */
    trace_break(t, BREAK_NUMPY_FUNCTION, "an array of an int beyond int64");
    return NULL;
  }
  loom_dtype dtype = o.weak == &PyFloat_Type     ? LOOM_F64
                     : o.weak == &PyComplex_Type ? LOOM_C128
                                                 : LOOM_I64;
  return np_array_of(np_fresh(t, np_operand_load(t, &o, dtype), NULL));
}

/* The bits of a Python or NumPy number stored as NumPy's item assignment does; raises or breaks. */
static bool np_pack(tracer *t, PyObject *number, loom_dtype dtype, uint64_t *bits) {
  *bits = 0;
  bool integer = PyLong_Check(number);
  if ((dtype == LOOM_F32 || dtype == LOOM_F16) && (integer || PyFloat_Check(number))) {
    double x = integer ? PyLong_AsDouble(number) : PyFloat_AS_DOUBLE(number);
    bool failed = PyErr_Occurred() != NULL;
    error_drop(); /* an int beyond float64 */
    if (failed ||
        (isfinite(x) && (!isfinite((float)x) || (dtype == LOOM_F16 && fabs(x) > 65504)))) {
      trace_break(t, BREAK_NUMPY_FUNCTION, "a number that overflows %s", loom_dtype_name(dtype));
      return false;
    }
  }
  PyArray_Descr *descr = np_descr(dtype);
  int bad = descr ? PyArray_Pack(descr, (char *)bits, number) : -1;
  Py_XDECREF(descr);
  if (bad < 0) trace_raise_live(t);
  return bad == 0;
}

bool np_int_fits(tracer *t, int64_t number, loom_dtype dtype) {
  int bits = 8 * (int)loom_dtype_size(dtype);
  bool is_signed = loom_dtype_is_signed(dtype);
  int64_t low = is_signed ? -((int64_t)1 << (bits - 1)) : 0,
          high = is_signed ? ((int64_t)1 << (bits - 1)) - 1
                           : ((int64_t)1 << (bits < 63 ? bits : 62)) - 1;
  if (size_less(t, number, low) == 0 && size_less(t, high, number) == 0) return true;
  if (!trace_pending(t)) size_know(t, number);
  return false;
}

/* A Python number that is known only when run. An int becomes a float by way of float64, as NumPy
 * converts it. */
static loom_value promote_load_number(tracer *t, const np_operand *o, loom_dtype dtype) {
  int64_t number;
  if (!loom_dtype_is_integer(dtype) || dtype == LOOM_I64) {
    bool inexact = loom_dtype_is_inexact(dtype);
    bool wide = inexact && emit_type(t, o->node)->dtype == LOOM_I64;
    return emit_convert(t, wide ? emit_convert(t, o->node, LOOM_F64) : o->node, dtype);
  }
  if (o->from && value_is_number(o->from) && value_size_of(t, o->from, &number))
    return np_int_fits(t, number, dtype) ? emit_convert(t, o->node, dtype) : LOOM_NO_VALUE;
  if (!trace_pending(t))
    trace_break(t, BREAK_NUMPY_FUNCTION, "a Python int whose range is not known as %s",
                loom_dtype_name(dtype));
  return LOOM_NO_VALUE;
}

static loom_value promote_load_complex(tracer *t, PyObject *number, loom_dtype dtype) {
  Py_complex z = PyComplex_AsCComplex(number);
  bool narrow = dtype == LOOM_C64, failed = PyErr_Occurred() != NULL;
  error_drop(); /* an int beyond float64 */
  failed |= narrow && ((isfinite(z.real) && !isfinite((float)z.real)) ||
                       (isfinite(z.imag) && !isfinite((float)z.imag)));
  if (!failed) return emit_complex(t, dtype, z.real, z.imag);
  trace_break(t, BREAK_NUMPY_FUNCTION, "a number that overflows %s", loom_dtype_name(dtype));
  return LOOM_NO_VALUE;
}

loom_value np_operand_load(tracer *t, const np_operand *o, loom_dtype dtype) {
  if (o->array) return emit_convert(t, np_read(t, o->array), dtype);
  if (o->node != LOOM_NO_VALUE) return promote_load_number(t, o, dtype);
  loom_type type = type_make(dtype, 0, NULL);
  uint64_t bits;
  if (loom_dtype_is_complex(dtype)) return promote_load_complex(t, o->number, dtype);
  if (PyComplex_CheckExact(o->number)) {
    trace_break(t, BREAK_UNSUPPORTED_DTYPE, "a complex number as %s", loom_dtype_name(dtype));
    return LOOM_NO_VALUE;
  }
  return np_pack(t, o->number, dtype, &bits) ? emit_constant(t, &type, bits) : LOOM_NO_VALUE;
}

/* ---- shapes and dtypes ---- */

static bool promote_mismatch(tracer *t, const np_operand *o, int count) {
  char text[512] = "", shape[128];
  for (int i = 0; i < count; i++) {
    const loom_type none = {0};
    np_shape_text(o[i].array ? &o[i].array->type : &none, shape, sizeof shape);
    strncat(text, shape, sizeof text - strlen(text) - 2);
    strncat(text, " ", sizeof text - strlen(text) - 1);
  }
  trace_raise(t, PyExc_ValueError, "operands could not be broadcast together with shapes %s", text);
  return false;
}

bool np_broadcast(tracer *t, const np_operand *o, int count, int *rank, int64_t *dims) {
  *rank = 0;
  for (int i = 0; i < count; i++)
    if (o[i].array && o[i].array->type.rank > *rank) *rank = o[i].array->type.rank;
  for (int d = 0; d < *rank; d++)
    dims[d] = 1;
  for (int i = 0; i < count; i++) {
    if (!o[i].array) continue;
    const loom_type *type = &o[i].array->type;
    for (int d = 0; d < type->rank; d++) {
      int64_t *out = &dims[*rank - type->rank + d];
      if (type->dims[d] == *out || type->dims[d] == 1) continue;
      int same = *out == 1 ? 1 : size_same(t, type->dims[d], *out);
      if (same < 0) return false;
      if (!same) return promote_mismatch(t, o, count);
      *out = type->dims[d];
    }
  }
  return true;
}

/* What resolve_dtypes wants for an operand: a dtype, or the type of a weak number, which one that
 * is the only operand is not. New reference. */
static PyObject *promote_key(const np_operand *o, bool alone) {
  if (o->array) return (PyObject *)np_descr(o->array->type.dtype);
  if (alone && o->number) return (PyObject *)PyArray_DescrFromObject(o->number, NULL);
  int type = o->weak == &PyLong_Type      ? NPY_INT64
             : o->weak == &PyFloat_Type   ? NPY_DOUBLE
             : o->weak == &PyComplex_Type ? NPY_CDOUBLE
                                          : NPY_NOTYPE;
  if (alone && type != NPY_NOTYPE) return (PyObject *)PyArray_DescrFromType(type);
  return Py_NewRef((PyObject *)o->weak);
}

static PyObject *promote_ask(PyObject *ufunc, const np_operand *o, int nin, np_array *const *outs,
                             int nout, PyObject *dtype, PyObject *casting) {
  static PyObject *method;
  if (!method && !(method = PyUnicode_InternFromString("resolve_dtypes"))) return NULL;
  PyObject *types = PyTuple_New(nin + nout), *kwargs = PyDict_New(), *result = NULL;
  PyObject *function = PyObject_GetAttr(ufunc, method), *args = NULL;
  if (!types || !kwargs || !function) goto done;
  for (int i = 0; i < nin + nout; i++) {
    PyObject *key = i < nin                 ? promote_key(&o[i], nin == 1)
                    : outs && outs[i - nin] ? (PyObject *)np_descr(outs[i - nin]->type.dtype)
                                            : Py_NewRef(Py_None);
    if (!key) goto done;
    PyTuple_SET_ITEM(types, i, key);
  }
  if (casting && PyDict_SetItemString(kwargs, "casting", casting) < 0) goto done;
  if (dtype) { /* the keyword dtype= is a signature of outputs only */
    PyObject *signature = PyTuple_New(nin + nout);
    for (int i = 0; signature && i < nin + nout; i++)
      PyTuple_SET_ITEM(signature, i, Py_NewRef(i < nin ? Py_None : dtype));
    int bad = signature ? PyDict_SetItemString(kwargs, "signature", signature) : -1;
    Py_XDECREF(signature);
    if (bad < 0) goto done;
  }
  args = PyTuple_Pack(1, types);
  if (args) result = PyObject_Call(function, args, kwargs);
done:
  Py_XDECREF(types);
  Py_XDECREF(kwargs);
  Py_XDECREF(function);
  Py_XDECREF(args);
  return result;
}

/* ---- what resolve_dtypes has said before ----
 *
 * The same question has the same answer as long as the ufunc lives: only dtypes and the types of
 * weak numbers are in it. */

#define PROMOTE_ANSWERS 256
#define PROMOTE_MOST 6 /* operands and results of a ufunc whose answers are remembered */

typedef struct promote_answer {
  PyObject *ufunc; /* owned; NULL: empty */
  uint64_t key;
  loom_dtype types[PROMOTE_MOST];
} promote_answer;

static promote_answer promote_answers[PROMOTE_ANSWERS];

/* The operands as a number, a byte for each; 0: the question is of another kind. */
static uint64_t promote_number(const np_operand *o, int nin, np_array *const *outs, int nout) {
  uint64_t key = 1;
  if (nin + nout > PROMOTE_MOST) return 0;
  for (int i = 0; i < nout; i++)
    if (outs && outs[i]) return 0;
  for (int i = 0; i < nin; i++) {
    uint64_t code = o[i].array                     ? (uint64_t)o[i].array->type.dtype
                    : o[i].weak == &PyLong_Type    ? LOOM_DTYPE_COUNT
                    : o[i].weak == &PyFloat_Type   ? LOOM_DTYPE_COUNT + 1
                    : o[i].weak == &PyComplex_Type ? LOOM_DTYPE_COUNT + 2
                                                   : UINT64_MAX;
    if (nin == 1 && o[i].number) code = UINT64_MAX; /* its size counts */
    if (code == UINT64_MAX) return 0;
    key = key << 8 | code;
  }
  return key;
}

static promote_answer *promote_place(PyObject *ufunc, uint64_t key) {
  uint64_t hash =
      ((uint64_t)(uintptr_t)ufunc >> 4 ^ key * 0x9e3779b97f4a7c15u) * 0x9e3779b97f4a7c15u;
  return &promote_answers[hash >> 56];
}

static void promote_remember(promote_answer *place, PyObject *ufunc, uint64_t key,
                             const loom_dtype *types, int count) {
  Py_XSETREF(place->ufunc, Py_NewRef(ufunc));
  place->key = key;
  memcpy(place->types, types, (size_t)count * sizeof *types);
}

/* NumPy 2's resolve_dtypes reads beyond its arguments when a casting rule is given together with
 * the type of a Python number. So it is called only with its default rule then. */
static bool promote_may_ask(tracer *t, const np_operand *o, int nin, PyObject **casting) {
  bool weak = false;
  for (int i = 0; i < nin; i++)
    weak |= !o[i].array && nin > 1;
  if (!*casting || !weak) return true;
  if (PyUnicode_Check(*casting) && PyUnicode_CompareWithASCIIString(*casting, "same_kind") == 0)
    *casting = NULL;
  else
    trace_break(t, BREAK_NUMPY_FUNCTION, "casting= with a Python number");
  return *casting == NULL;
}

bool np_resolve(tracer *t, PyObject *ufunc, const np_operand *o, int nin, np_array *const *outs,
                int nout, PyObject *dtype, PyObject *casting, loom_dtype *types) {
  uint64_t key = dtype || casting ? 0 : promote_number(o, nin, outs, nout);
  promote_answer *place = promote_place(ufunc, key);
  if (key && place->ufunc == ufunc && place->key == key) {
    memcpy(types, place->types, (size_t)(nin + nout) * sizeof *types);
    return true;
  }
  if (!promote_may_ask(t, o, nin, &casting)) return false;
  PyObject *resolved = promote_ask(ufunc, o, nin, outs, nout, dtype, casting);
  if (!resolved) {
    trace_raise_live(t);
    return false;
  }
  trace_keep(t, resolved);
  for (int i = 0; i < nin + nout; i++)
    if (!np_dtype_of(t, (PyArray_Descr *)PyTuple_GET_ITEM(resolved, i), &types[i])) return false;
  if (key) promote_remember(place, ufunc, key, types, nin + nout);
  return true;
}

/* np.result_type itself, which treats Python numbers as weak; of a weak number only the type
 * counts. */
bool np_result_type(tracer *t, const np_operand *o, int count, loom_dtype *out) {
  static PyObject *function;
  if (!function) {
    PyObject *numpy = PyImport_ImportModule("numpy");
    function = numpy ? PyObject_GetAttrString(numpy, "result_type") : NULL;
    Py_XDECREF(numpy);
  }
  PyObject *args = PyTuple_New(count), *result = NULL;
  for (int i = 0; args && i < count; i++) {
    PyObject *item = o[i].array                     ? (PyObject *)np_descr(o[i].array->type.dtype)
                     : o[i].weak == &PyFloat_Type   ? PyFloat_FromDouble(0)
                     : o[i].weak == &PyComplex_Type ? PyComplex_FromDoubles(0, 0)
                                                    : PyLong_FromLong(0);
    PyTuple_SET_ITEM(args, i, item);
  }
  if (args && function) result = PyObject_CallObject(function, args);
  Py_XDECREF(args);
  if (!result) {
    trace_raise_live(t);
    return false;
  }
  trace_keep(t, result);
  return np_dtype_of(t, (PyArray_Descr *)result, out);
}

bool np_can_cast(loom_dtype from, loom_dtype to, NPY_CASTING casting) {
  PyArray_Descr *a = np_descr(from), *b = np_descr(to);
  bool can = PyArray_CanCastTypeTo(a, b, casting);
  Py_DECREF(a);
  Py_DECREF(b);
  return can;
}

value *np_result_type_call(tracer *t, const np_call *c) {
  np_operand o[32];
  loom_dtype dtype;
  bool done;
  value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
  if (done || trace_pending(t)) return v;
  if (c->count > 32 || c->kwnames || c->count == 0) return np_unsupported(t, c, "");
  for (Py_ssize_t i = 0; i < c->count; i++) {
    if (value_is_sequence(c->args[i]) || value_is_dict(c->args[i]))
      return np_unsupported(t, c, "of what describes a structured dtype");
    PyObject *known = np_is_array(c->args[i]) ? NULL : np_known(t, c->args[i]);
    if (known && (PyArray_DescrCheck(known) || PyType_Check(known) || PyUnicode_Check(known))) {
      np_array *a = trace_alloc(t, sizeof *a);
      o[i] = (np_operand){.array = a};
      if (!a || !np_dtype_arg(t, c->args[i], &a->type.dtype)) return NULL;
    } else if (!np_operand_from(t, c->args[i], &o[i])) {
      return NULL;
    }
  }
  if (!np_result_type(t, o, (int)c->count, &dtype)) return NULL;
  return value_const(t, trace_keep(t, (PyObject *)np_descr(dtype)));
}
