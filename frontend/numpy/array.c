/* Live NumPy arrays: what guards compare, where data lies, how results are made,
 * and whether the error state of the calling context cares about a floating-point flag. */
#define LOOM_NUMPY_IMPORTS
#include "frontend/base/base.h"
#include "frontend/captured/guard.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"

#define FIELDS(array) ((PyArrayObject_fields *)(array))

static const struct {
  int typenum;
  loom_dtype dtype;
} array_dtypes[] = {
    {NPY_BOOL, LOOM_BOOL},     {NPY_BYTE, LOOM_I8},    {NPY_SHORT, LOOM_I16},
    {NPY_INT, LOOM_I32},       {NPY_LONG, LOOM_I64},   {NPY_UBYTE, LOOM_U8},
    {NPY_USHORT, LOOM_U16},    {NPY_UINT, LOOM_U32},   {NPY_ULONG, LOOM_U64},
    {NPY_HALF, LOOM_F16},      {NPY_FLOAT, LOOM_F32},  {NPY_DOUBLE, LOOM_F64},
    {NPY_LONGLONG, LOOM_I64},  {NPY_CFLOAT, LOOM_C64}, {NPY_CDOUBLE, LOOM_C128},
    {NPY_ULONGLONG, LOOM_U64},
};
_Static_assert(sizeof(npy_long) == 8, "long is taken for int64");

/* NumPy's own descriptor of each type number: immortal, so that an identity check is a dtype check.
 */
static PyArray_Descr *array_descrs[NPY_NTYPES_LEGACY];
static PyDataMem_Handler array_handler;
static PyObject *array_handler_capsule; /* owner of every block of a result */
static PyObject *array_errstate;    /* returns the error state of this context as a dict of names */
static PyObject *array_errvariable; /* the ContextVar that holds it; NULL: in an old NumPy */

bool numpy_dtype_from_typenum(int typenum, loom_dtype *out) {
  for (size_t i = 0; i < sizeof array_dtypes / sizeof *array_dtypes; i++)
    if (array_dtypes[i].typenum == typenum) {
      *out = array_dtypes[i].dtype;
      return true;
    }
  return false;
}

int numpy_typenum_from_dtype(loom_dtype dtype) {
  for (size_t i = 0; i < sizeof array_dtypes / sizeof *array_dtypes; i++)
    if (array_dtypes[i].dtype == dtype) return array_dtypes[i].typenum;
  return -1;
}

bool np_dtype_is_numpys(loom_dtype dtype) { return numpy_typenum_from_dtype(dtype) >= 0; }

static bool array_find_errstate(void) {
  PyObject *umath = PyImport_ImportModule("numpy._core.umath");
  if (umath) {
    array_errstate = PyObject_GetAttrString(umath, "_get_extobj_dict"); /* what np.geterr() calls */
    array_errvariable = PyObject_GetAttrString(umath, "_extobj_contextvar");
    error_drop();
  }
  Py_XDECREF(umath);
  if (array_errstate) return true;
  error_drop();
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (!numpy) return false;
  array_errstate = PyObject_GetAttrString(numpy, "geterr");
  Py_DECREF(numpy);
  return array_errstate != NULL;
}

bool numpy_array_init(void) {
  if (PyArray_ImportNumPyAPI() < 0 || PyUFunc_ImportUFuncAPI() < 0) return false;
  for (size_t i = 0; i < sizeof array_dtypes / sizeof *array_dtypes; i++) {
    int typenum = array_dtypes[i].typenum;
    if (!array_descrs[typenum]) array_descrs[typenum] = PyArray_DescrFromType(typenum);
    if (!array_descrs[typenum]) return false;
  }
  if (!array_handler_capsule)
    array_handler_capsule = PyCapsule_New(&array_handler, "mem_handler", NULL);
  if (!array_handler_capsule) return false;
  if (array_errstate) return true;
  return array_find_errstate();
}

/* ---- guards --------------------------------------------------------------------------------- */

/* A descriptor means the same as NumPy's own one of its type number (unpickled arrays have copies
 * of it). */
bool numpy_descr_plain(const PyArray_Descr *descr) {
  int typenum = descr->type_num;
  if (typenum < 0 || typenum >= NPY_NTYPES_LEGACY) return false;
  if (descr == array_descrs[typenum]) return true;
  return array_descrs[typenum] && PyArray_ISNBO(descr->byteorder) &&
         PyDataType_METADATA((PyArray_Descr *)descr) == NULL &&
         !PyDataType_HASFIELDS((PyArray_Descr *)descr);
}

bool numpy_array_warns(const PyObject *array) { return FIELDS(array)->flags & NUMPY_WARNS; }

static uint32_t array_flags(const PyArrayObject_fields *a) {
  return (uint32_t)(a->flags & (NUMPY_ALIGNED | NUMPY_WRITEABLE | NUMPY_WARNS));
}

bool numpy_array_describe(PyObject *object, numpy_array_payload *out) {
  if (Py_TYPE(object) != &PyArray_Type) return false;
  const PyArrayObject_fields *a = FIELDS(object);
  memset(out, 0, sizeof *out);
  if (a->nd > LOOM_MAX_RANK || !numpy_descr_plain(a->descr)) return false;
  if (!numpy_dtype_from_typenum(a->descr->type_num, &out->dtype)) return false;
  npy_intp size = (npy_intp)loom_dtype_size(out->dtype);
  out->typenum = a->descr->type_num;
  out->nd = a->nd;
  out->flags = array_flags(a);
  out->flags_mask = NUMPY_ALIGNED;
  for (int i = 0; i < a->nd; i++) {
    out->dims[i] = a->dimensions[i];
    out->strides[i] = a->strides[i];
    if (a->strides[i] % size) return false;
  }
  return true;
}

bool numpy_array_guard(PyObject *object, const void *payload) {
  const numpy_array_payload *p = payload;
  if (Py_TYPE(object) != &PyArray_Type) return false;
  const PyArrayObject_fields *a = FIELDS(object);
  if (a->nd != p->nd || (((uint32_t)a->flags ^ p->flags) & p->flags_mask)) return false;
  if (a->descr != array_descrs[p->typenum] &&
      (a->descr->type_num != p->typenum || !numpy_descr_plain(a->descr)))
    return false;
  for (int i = 0; i < p->nd; i++) /* symbolic ones have guards of their own */
    if ((a->dimensions[i] != p->dims[i] && !LOOM_DIM_IS_SYM(p->dims[i])) ||
        (a->strides[i] != p->strides[i] && !LOOM_STRIDE_IS_SYM(p->strides[i])))
      return false;
  return true;
}

bool numpy_array_size(PyObject *object, size_field field, int axis, int64_t *out) {
  const PyArrayObject_fields *a = FIELDS(object);
  if (!PyArray_CheckExact(object) || axis >= a->nd) return false;
  *out = field == SIZE_OF_DIM ? a->dimensions[axis] : a->strides[axis];
  if (field == SIZE_OF_DIM) return true;
  npy_intp size = PyDataType_ELSIZE(a->descr);
  bool whole = size > 0 && *out % size == 0;
  if (whole) *out /= size;
  return whole;
}

/* Strides that are not those of the sizes in the order of memory that the guarded ones have: what a
 * new size does not explain. */
static uint32_t array_odd_strides(const numpy_array_payload *now, const numpy_array_payload *p) {
  uint32_t odd = 0;
  for (int i = 0; i < p->nd; i++) {
    if (now->strides[i] == p->strides[i] || LOOM_STRIDE_IS_SYM(p->strides[i])) continue;
    npy_intp dense = (npy_intp)loom_dtype_size(p->dtype), before = dense;
    for (int k = 0; k < p->nd; k++) {
      if (k == i || llabs(now->strides[k]) >= llabs(now->strides[i])) continue;
      dense *= now->dims[k];
      before *= LOOM_DIM_IS_SYM(p->dims[k]) ? now->dims[k] : p->dims[k];
    }
    bool explained = llabs(now->strides[i]) == dense && llabs(p->strides[i]) == before;
    if (!explained && now->dims[i] > 1) odd |= 1u << i;
  }
  return odd;
}

void numpy_sizes_differ(const numpy_array_payload *now, const numpy_array_payload *guarded,
                        uint32_t *sizes, uint32_t *strides) {
  for (int i = 0; i < guarded->nd; i++)
    if (now->dims[i] != guarded->dims[i] && !LOOM_DIM_IS_SYM(guarded->dims[i])) *sizes |= 1u << i;
  *strides = array_odd_strides(now, guarded);
}

bool numpy_array_sizes_differ(PyObject *object, const void *payload, uint32_t *sizes,
                              uint32_t *strides) {
  numpy_array_payload now;
  const numpy_array_payload *p = payload;
  *sizes = *strides = 0;
  if (!numpy_array_describe(object, &now) || now.typenum != p->typenum || now.nd != p->nd ||
      ((now.flags ^ p->flags) & p->flags_mask))
    return false;
  numpy_sizes_differ(&now, p, sizes, strides);
  return true;
}

int64_t numpy_array_guarded_size(const void *payload, size_field field, int axis) {
  const numpy_array_payload *p = payload;
  return field == SIZE_OF_DIM ? p->dims[axis]
                              : p->strides[axis] / (npy_intp)loom_dtype_size(p->dtype);
}

/* The bytes [*low, *high) that an array may touch; empty arrays touch none. */
static void array_extent(const PyArrayObject_fields *a, const char **low, const char **high) {
  *low = *high = a->data;
  for (int i = 0; i < a->nd; i++)
    if (a->dimensions[i] == 0) return;
  for (int i = 0; i < a->nd; i++) {
    npy_intp reach = (a->dimensions[i] - 1) * a->strides[i];
    *(reach < 0 ? low : high) += reach;
  }
  *high += PyDataType_ELSIZE(a->descr);
}

bool (*numpy_other_extent)(PyObject *object, const char **low, const char **high);

/* False: the object is neither NumPy's nor of a library that is known. */
static bool array_any_extent(PyObject *object, const char **low, const char **high) {
  if (!PyArray_Check(object)) return numpy_other_extent && numpy_other_extent(object, low, high);
  array_extent(FIELDS(object), low, high);
  return true;
}

/* From all arrays in a list (stacked.c). */
static bool array_disjoint_items(PyObject *a, PyObject *list) {
  bool apart = true;
  for (Py_ssize_t i = 0; apart && i < Py_SIZE(list); i++) {
    PyObject *item = PyList_CheckExact(list) ? PyList_GET_ITEM(list, i) : PyTuple_GET_ITEM(list, i);
    apart = PyFloat_CheckExact(item) || numpy_array_disjoint(a, item);
  }
  return apart;
}

bool numpy_array_disjoint(PyObject *a, PyObject *b) {
  if (PyList_CheckExact(b) || PyTuple_CheckExact(b)) return array_disjoint_items(a, b);
  if (PyArray_IsScalar(a, Generic) || PyArray_IsScalar(b, Generic)) return true;
  const char *a_low, *a_high, *b_low, *b_high;
  if (!array_any_extent(a, &a_low, &a_high) || !array_any_extent(b, &b_low, &b_high)) return false;
  return a_low == a_high || b_low == b_high || a_high <= b_low || b_high <= a_low;
}

void numpy_array_extent(PyObject *array, const char **low, const char **high) {
  if (!array_any_extent(array, low, high)) *low = *high = NULL;
}

Py_hash_t numpy_array_fingerprint(PyObject *object) {
  if (!PyArray_Check(object)) return 0;
  const PyArrayObject_fields *a = FIELDS(object);
  uint64_t h = (uint64_t)a->descr->type_num * 131u + (uint64_t)a->nd + array_flags(a);
  h += (uint8_t)a->descr->byteorder;
  for (int i = 0; i < a->nd; i++) {
    h = (h ^ (uint64_t)a->dimensions[i]) * 0x9e3779b97f4a7c15u;
    h = (h ^ (uint64_t)a->strides[i]) * 0x9e3779b97f4a7c15u;
  }
  return (Py_hash_t)(h | 1);
}

/* ", 5" or ", ?": a symbolic one has guards of its own that say more. */
static int array_number_words(char *out, int i, int64_t number, bool symbolic) {
  const char *comma = i ? ", " : "";
  return symbolic ? sprintf(out, "%s?", comma) : sprintf(out, "%s%lld", comma, (long long)number);
}

PyObject *numpy_array_words_of(PyObject *object) {
  numpy_array_payload p;
  if (!numpy_array_describe(object, &p)) return NULL;
  PyObject *name = PyUnicode_FromString("an array"),
           *text = name ? numpy_array_words(name, &p) : NULL;
  Py_XDECREF(name);
  return text;
}

PyObject *numpy_array_words(PyObject *name, const void *payload) {
  const numpy_array_payload *p = payload;
  char sizes[LOOM_MAX_RANK * 24] = "", strides[LOOM_MAX_RANK * 24] = "";
  bool contiguous = true, symbolic = false;
  npy_intp expected = (npy_intp)loom_dtype_size(p->dtype);
  for (int i = 0, at = 0, to = 0; i < p->nd; i++) {
    at += array_number_words(sizes + at, i, p->dims[i], LOOM_DIM_IS_SYM(p->dims[i]));
    to += array_number_words(strides + to, i, p->strides[i], LOOM_STRIDE_IS_SYM(p->strides[i]));
    symbolic |= LOOM_DIM_IS_SYM(p->dims[i]) || LOOM_STRIDE_IS_SYM(p->strides[i]);
  }
  for (int i = p->nd - 1; i >= 0 && !symbolic; i--) {
    contiguous = contiguous && p->strides[i] == expected;
    expected *= p->dims[i];
  }
  const char *dtype = loom_dtype_name(p->dtype);
  if (contiguous || symbolic) return PyUnicode_FromFormat("%U: %s[%s]", name, dtype, sizes);
  return PyUnicode_FromFormat("%U: %s[%s] strides (%s)", name, dtype, sizes, strides);
}

/* ---- results -------------------------------------------------------------------------------- */

/* NumPy's number types keep their value right behind the object's head. */
_Static_assert(offsetof(PyDoubleScalarObject, obval) == sizeof(PyObject),
               "layout of NumPy scalars");
_Static_assert(offsetof(PyByteScalarObject, obval) == sizeof(PyObject), "layout of NumPy scalars");
_Static_assert(offsetof(PyCDoubleScalarObject, obval) == sizeof(PyObject),
               "layout of NumPy scalars");

void *numpy_array_data(PyObject *array) {
  if (Py_TYPE(array) == &PyArray_Type) return FIELDS(array)->data;
  if (PyArray_IsScalar(array, Number) || PyArray_IsScalar(array, Bool))
    return (char *)array + sizeof(PyObject);
  return FIELDS(array)->data;
}

bool numpy_scalar_bits(PyObject *number, loom_dtype dtype, uint64_t *out) {
  if (!PyArray_IsScalar(number, Number) && !PyArray_IsScalar(number, Bool)) return false;
  *out = 0;
  PyArray_Descr *own = PyArray_DescrFromScalar(number);
  loom_dtype have;
  bool good = own && numpy_dtype_from_typenum(own->type_num, &have) &&
              (dtype == LOOM_DTYPE_COUNT || dtype == have) && loom_dtype_size(have) <= sizeof *out;
  if (good) PyArray_ScalarAsCtype(number, out);
  Py_XDECREF(own);
  error_drop();
  return good;
}

/* The data of larger results comes from the runtime's blocks and goes back there when the user's
 * array dies, by way of a memory handler (NEP 49): page faults on fresh memory cost more than most
 * kernels. A block knows its own size. */
#define ARRAY_BLOCK_MIN 1024 /* NumPy keeps smaller ones in a cache of its own */

static void *handler_malloc(void *context, size_t size) { return loom_block_alloc(size); }

static void *handler_calloc(void *context, size_t count, size_t size) {
  size_t bytes;
  if (__builtin_mul_overflow(count, size, &bytes)) return NULL;
  void *block = loom_block_alloc(bytes);
  return block ? memset(block, 0, bytes) : NULL;
}

static void *handler_realloc(void *context, void *block, size_t size) {
  return block ? loom_block_realloc(block, 0, size) : loom_block_alloc(size);
}

static void handler_free(void *context, void *block, size_t size) {
  if (block) loom_block_free(block, size);
}

static PyDataMem_Handler array_handler = {
    "frameloom", 1, {NULL, handler_malloc, handler_calloc, handler_realloc, handler_free}};

static PyObject *array_new_block(const numpy_array_payload *p, size_t bytes, void **data) {
  void *block = loom_block_alloc(bytes);
  if (!block) return PyErr_NoMemory();
  PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)array_descrs[p->typenum]);
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, p->nd, (npy_intp *)p->dims,
                                         (npy_intp *)p->strides, block, NPY_ARRAY_WRITEABLE, NULL);
  if (!array) {
    loom_block_free(block, bytes);
    return NULL;
  }
  FIELDS(array)->mem_handler = Py_NewRef(array_handler_capsule);
  PyArray_ENABLEFLAGS((PyArrayObject *)array, NPY_ARRAY_OWNDATA);
  *data = block;
  return array;
}

/* Bytes of an array that owns its memory; false with an exception when its strides lead out of
 * them: NumPy takes them as they are. */
static bool array_fits(const numpy_array_payload *p, size_t *bytes) {
  npy_intp size = (npy_intp)loom_dtype_size(p->dtype), total = size, reach = 0, step;
  bool good = true;
  for (int i = 0; i < p->nd && total; i++)
    good &= !__builtin_mul_overflow(total, p->dims[i], &total);
  for (int i = 0; i < p->nd && good && total; i++)
    good = p->dims[i] <= 1 ||
           (p->strides[i] >= 0 && !__builtin_mul_overflow(p->dims[i] - 1, p->strides[i], &step) &&
            !__builtin_add_overflow(reach, step, &reach));
  *bytes = (size_t)total;
  if (good && (total == 0 || reach <= total - size)) return true;
  PyErr_SetString(PyExc_SystemError, "frameloom: the strides of a result lead out of its memory");
  return false;
}

static PyObject *array_new(const numpy_array_payload *p, void **data) {
  size_t bytes;
  if (!array_fits(p, &bytes)) return NULL;
  if (bytes >= ARRAY_BLOCK_MIN) return array_new_block(p, bytes, data);
  PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)array_descrs[p->typenum]);
  PyObject *array = PyArray_NewFromDescr(&PyArray_Type, descr, p->nd, (npy_intp *)p->dims,
                                         (npy_intp *)p->strides, NULL, 0, NULL);
  if (array && !(p->flags & NUMPY_WRITEABLE))
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
  if (array) *data = FIELDS(array)->data;
  if (array && !bytes) /* NumPy sets them to 0, which not all of its functions leave */
    memcpy(FIELDS(array)->strides, p->strides, sizeof(npy_intp) * (size_t)p->nd);
  return array;
}

/* NumPy gives a new array without elements strides of 0, and so its views, where the size that is 0
 * is one that a host call told: others are never 0 when they are symbolic. */
static void array_resolve_empty(const numpy_array_payload *p, numpy_array_payload *out) {
  for (int i = 0; i < p->nd; i++)
    if (p->dims[i] == 0) return;
  if (!(p->flags & NUMPY_STEPPED)) memset(out->strides, 0, sizeof out->strides);
  out->offset = 0;
}

const numpy_array_payload *numpy_array_resolve(const numpy_array_payload *p,
                                               const loom_graph *graph, const int64_t *symbols,
                                               numpy_array_payload *out) {
  npy_intp total = (npy_intp)loom_dtype_size(p->dtype);
  int64_t number;
  if (!(p->flags & NUMPY_SYMBOLIC)) return p;
  *out = *p;
  for (int i = 0; i < p->nd; i++) {
    if (!loom_dim_eval(graph, p->dims[i], symbols, &number) || number < 0) return NULL;
    out->dims[i] = number;
    if (!loom_stride_eval(graph, p->strides[i], symbols, &number)) return NULL;
    out->strides[i] = number;
    if (__builtin_mul_overflow(total, out->dims[i], &total)) return NULL;
  }
  if (!loom_stride_eval(graph, p->offset, symbols, &number)) return NULL;
  out->offset = number;
  if (total == 0) array_resolve_empty(p, out);
  return out;
}

static inline const numpy_array_payload *array_resolve(const numpy_array_payload *p,
                                                       const loom_graph *graph,
                                                       const int64_t *symbols,
                                                       numpy_array_payload *out) {
  return p->flags & NUMPY_SYMBOLIC ? numpy_array_resolve(p, graph, symbols, out) : p;
}

PyObject *numpy_array_new_output(const void *payload, const loom_graph *graph,
                                 const int64_t *symbols, void **data) {
  numpy_array_payload now;
  const numpy_array_payload *p = array_resolve(payload, graph, symbols, &now);
  PyObject *array = p ? array_new(p, data) : NULL;
  if (array && !(p->flags & NUMPY_WRITEABLE))
    PyArray_CLEARFLAGS((PyArrayObject *)array, NPY_ARRAY_WRITEABLE);
  return array;
}

PyObject *numpy_array_scalar(const void *payload, const void *data) {
  const numpy_array_payload *p = payload;
  if (p->flags & NUMPY_PYTHON) {
    if (p->dtype == LOOM_F64) return PyFloat_FromDouble(*(const double *)data);
    if (p->dtype == LOOM_BOOL) return PyBool_FromLong(*(const uint8_t *)data);
    if (p->dtype == LOOM_I64) return PyLong_FromLongLong(*(const int64_t *)data);
  }
  PyObject *scalar = PyArray_Scalar((void *)data, array_descrs[p->typenum], NULL);
  if (!scalar || !(p->flags & NUMPY_PYTHON)) return scalar;
  PyObject *number = PyObject_CallMethod(scalar, "item", NULL);
  Py_DECREF(scalar);
  return number;
}

PyObject *numpy_array_view(PyObject *base, const void *payload, const loom_graph *graph,
                           const int64_t *symbols) {
  numpy_array_payload now;
  const numpy_array_payload *p = array_resolve(payload, graph, symbols, &now);
  if (!p) return NULL;
  if (!PyArray_Check(base)) {
    PyErr_SetString(PyExc_SystemError, "frameloom: a view of what is not an array");
    return NULL;
  }
  PyArray_Descr *descr = (PyArray_Descr *)Py_NewRef((PyObject *)array_descrs[p->typenum]);
  int flags = p->flags & NUMPY_WRITEABLE ? FIELDS(base)->flags & NPY_ARRAY_WRITEABLE : 0;
  PyObject *array =
      PyArray_NewFromDescr(&PyArray_Type, descr, p->nd, (npy_intp *)p->dims, (npy_intp *)p->strides,
                           FIELDS(base)->data + p->offset, flags, NULL);
  if (!array) return NULL;
  if (PyArray_SetBaseObject((PyArrayObject *)array, Py_NewRef(base)) < 0) {
    Py_DECREF(array);
    return NULL;
  }
  if (p->flags & NUMPY_WARNS) PyArray_ENABLEFLAGS((PyArrayObject *)array, NUMPY_WARNS);
  return array;
}

/* ---- error state ---------------------------------------------------------------------------- */

/* Asks NumPy which flags this context's state reports, and which of those it does by a warning. */
static bool array_ask_errstate(uint32_t *reported, uint32_t *warned) {
  static const struct {
    uint32_t flag;
    const char *name;
  } names[] = {{LOOM_FP_DIVIDE, "divide"},
               {LOOM_FP_OVERFLOW, "over"},
               {LOOM_FP_UNDERFLOW, "under"},
               {LOOM_FP_INVALID, "invalid"}};
  PyObject *state = PyObject_CallNoArgs(array_errstate);
  *reported = *warned = 0;
  if (!state) return false;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    PyObject *how = PyDict_GetItemString(state, names[i].name);
    if (!how || !PyUnicode_Check(how) || PyUnicode_CompareWithASCIIString(how, "ignore") != 0)
      *reported |= names[i].flag;
    if (how && PyUnicode_Check(how) && PyUnicode_CompareWithASCIIString(how, "warn") == 0)
      *warned |= names[i].flag;
  }
  Py_DECREF(state);
  return true;
}

/* A state is an object that never changes, and the variable's value: the last one is remembered. */
bool numpy_errors_now(uint32_t *reported, uint32_t *warned) {
  static PyObject *last;
  static uint32_t last_reported, last_warned;
  PyObject *now = NULL;
  if (array_errvariable && PyContextVar_Get(array_errvariable, NULL, &now) < 0) return false;
  if (!now || now != last) {
    if (!array_ask_errstate(reported, warned)) {
      Py_XDECREF(now);
      return false;
    }
    last_reported = *reported;
    last_warned = *warned;
    Py_XSETREF(last, Py_XNewRef(now));
  }
  Py_XDECREF(now);
  *reported = last_reported;
  *warned = last_warned;
  return true;
}
