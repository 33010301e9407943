/* The value type of arrays and NumPy scalars: operators, comparison, truth, length, attributes,
 * methods, iteration. */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/numpy.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <opcode.h>
#include <string.h>

#undef UNARY_INVERT /* CPython 3.11 has instructions of these names: ours are meant */
#undef UNARY_NOT

/* An operator; those of scalars report what those of arrays do not. */
static value *array_apply(tracer *t, const char *name, value *const *args, int count, value *out) {
  value *result = np_operator(t, name, args, count, out);
  return np_scalar_check(t, name, args, count, result) ? result : NULL;
}

static value *array_unary(tracer *t, int op, value *v) {
  switch (op) {
  case UNOP_NEG: return array_apply(t, "negative", &v, 1, NULL);
  case UNOP_POS: return np_ufunc_apply(t, "positive", &v, 1, NULL);
  case UNOP_INVERT: return np_ufunc_apply(t, "invert", &v, 1, NULL);
  case UNOP_ABS: return array_apply(t, "absolute", &v, 1, NULL);
  default: return trace_not_implemented(t);
  }
}

static const char *array_operator(int op) {
  switch (op) {
  case NB_ADD: return "add";
  case NB_AND: return "bitwise_and";
  case NB_FLOOR_DIVIDE: return "floor_divide";
  case NB_LSHIFT: return "left_shift";
  case NB_MULTIPLY: return "multiply";
  case NB_REMAINDER: return "remainder";
  case NB_OR: return "bitwise_or";
  case NB_POWER: return "power";
  case NB_RSHIFT: return "right_shift";
  case NB_SUBTRACT: return "subtract";
  case NB_TRUE_DIVIDE: return "divide";
  case NB_XOR: return "bitwise_xor";
  default: return NULL;
  }
}

/* a ** 2 is np.square(a) in NumPy, which shows in the dtype of bool; but not of its scalars. */
static bool array_is_squared(tracer *t, value *array, value *v) {
  if (np_array_of(array)->scalar && np_array_of(array)->type.dtype == LOOM_BOOL) return false;
  PyObject *o =
      value_is_const(v) && v->object && PyLong_CheckExact(v->object) ? np_known(t, v) : NULL;
  return o && PyLong_AsLong(o) == 2;
}

/* A NumPy scalar times a sequence repeats that, or refuses to. */
static bool array_repeats(int op, value *array, value *other) {
  bool sequence =
      value_is_sequence(other) ||
      (other->object && (PyUnicode_CheckExact(other->object) || PyBytes_CheckExact(other->object)));
  return op == NB_MULTIPLY && sequence && np_array_of(array)->scalar;
}

/* What NumPy scalars may take for numbers. */
static bool array_is_number(const value *v) {
  if (value_is_const(v))
    return PyLong_CheckExact(v->object) || PyFloat_CheckExact(v->object) ||
           PyComplex_CheckExact(v->object) || PyBool_Check(v->object);
  return !value_is_dict(v) && !value_is_set(v) && !value_is_slice(v);
}

static value *array_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  value *args[2] = {l, r};
  if (np_is_array(l) ? array_repeats(op, l, r) : array_repeats(op, r, l))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a sequence times a NumPy scalar");
  bool write = inplace && np_is_array(l) && !np_array_of(l)->scalar;
  const np_array *self = np_array_of(np_is_array(l) ? l : r);
  if (self->scalar && !array_is_number(np_is_array(l) ? r : l))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "an operator of a number and what is none");
  if (op == NB_MATRIX_MULTIPLY) {
    value *product = np_matmul(t, l, r);
    np_array *p = np_array_of(product), *a = np_array_of(l);
    if (!p && t->state == TRACE_RAISING) /* for sizes, before which dtypes are looked at */
      return trace_raise_plainly(t, "@ raises an exception");
    if (!write) return product;
    if (!p) return NULL;
    if (p->type.dtype != a->type.dtype || !np_same_sizes(t, &p->type, &a->type))
      return trace_break(t, BREAK_NUMPY_FUNCTION, "@= that changes the sizes or the dtype");
    return np_write(t, a, np_read(t, p)) ? l : NULL;
  }
  const char *name = array_operator(op);
  if (op == NB_POWER && np_is_array(l) && array_is_squared(t, l, r))
    return np_operator(t, "square", &l, 1, write ? l : NULL);
  if (!name) return trace_not_implemented(t);
  return array_apply(t, name, args, 2, write ? l : NULL);
}

static value *array_compare(tracer *t, int op, value *l, value *r) {
  static const char *const names[] = {[Py_LT] = "less",    [Py_LE] = "less_equal",
                                      [Py_EQ] = "equal",   [Py_NE] = "not_equal",
                                      [Py_GT] = "greater", [Py_GE] = "greater_equal"};
  if (op < Py_LT || op > Py_GE) return trace_not_implemented(t);
  value *other = np_is_array(l) ? r : l;
  if ((op == Py_EQ || op == Py_NE) && other->object == Py_None &&
      np_array_of(np_is_array(l) ? l : r)->scalar)
    return value_const(t, op == Py_NE ? Py_True : Py_False);
  if ((op == Py_EQ || op == Py_NE) && other->object &&
      (PyUnicode_CheckExact(other->object) || PyBytes_CheckExact(other->object) ||
       PyType_Check(other->object)))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a comparison of numbers and what is none");
  if ((op == Py_EQ || op == Py_NE) && np_array_of(np_is_array(l) ? l : r)->scalar &&
      !array_is_number(other))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a comparison of a number and what is none");
  value *args[2] = {l, r};
  return np_operator(t, names[op], args, 2, NULL);
}

loom_value np_condition(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (!a || np_elements(&a->type) != 1 || np_known(t, v)) return LOOM_NO_VALUE;
  return emit_convert(t, emit_reshape(t, np_read(t, a), 0, NULL), LOOM_BOOL);
}

value *np_choose(tracer *t, loom_value condition, value *yes, value *no) {
  np_array *a = np_array_of(yes), *b = np_array_of(no);
  if (!a || !b || !a->scalar || !b->scalar || a->type.dtype != b->type.dtype) return NULL;
  return np_result(t, emit_select(t, condition, np_read(t, a), np_read(t, b)), NULL);
}

static int array_truth(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  PyObject *known = np_known(t, v);
  int64_t n = np_elements(&a->type);
  if (known) {
    int truth = PyObject_IsTrue(known);
    if (truth < 0) trace_raise_live(t);
    return truth;
  }
  if (n == 1 || size_is_late(t, np_count(t, &a->type))) {
    trace_break(t, BREAK_DATA_DEPENDENT, "the truth of an array");
  } else if (n == 0) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "the truth of an empty array");
  } else {
    trace_raise(t, PyExc_ValueError,
                "The truth value of an array with more than one element is ambiguous. Use a.any() "
                "or a.all()");
  }
  return -1;
}

static value *array_length(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a->scalar)
    return trace_raise(t, PyExc_TypeError, "object of type 'numpy.%s' has no len()",
                       loom_dtype_name(a->type.dtype));
  if (a->type.rank == 0) return trace_raise(t, PyExc_TypeError, "len() of unsized object");
  return np_number(t, np_dim(a->type.dims[0]));
}

static PyObject *array_python_type(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (!a->scalar) return (PyObject *)&PyArray_Type;
  if (a->known) return (PyObject *)Py_TYPE(a->known);
  return (PyObject *)PyArray_TypeObjectFromType(numpy_typenum_from_dtype(a->type.dtype));
}

/* ---- attributes ---- */

static value *array_numbers(tracer *t, const int64_t *numbers, int count) {
  value *items[LOOM_MAX_RANK];
  for (int i = 0; i < count; i++)
    if (!(items[i] = np_number(t, numbers[i]))) return NULL;
  return value_tuple(t, items, count);
}

static value *array_shape(tracer *t, const loom_type *type) {
  int64_t numbers[LOOM_MAX_RANK];
  for (int i = 0; i < type->rank; i++)
    numbers[i] = np_dim(type->dims[i]);
  return array_numbers(t, numbers, type->rank);
}

static value *array_transposed(tracer *t, value *v, bool matrix) {
  np_array *a = np_array_of(v);
  int64_t perm[LOOM_MAX_RANK];
  int n = a->type.rank;
  if (a->scalar) return v;
  if (matrix && n < 2)
    return trace_raise(t, PyExc_ValueError, "matrix transpose with ndim < 2 is undefined");
  for (int i = 0; i < n; i++)
    perm[i] = matrix ? i : n - 1 - i;
  if (matrix) {
    perm[n - 2] = n - 1;
    perm[n - 1] = n - 2;
  }
  return np_view_transpose(t, a, perm);
}

static value *array_imag(tracer *t, np_array *a) {
  loom_value zero = emit_constant(t, &a->type, 0);
  int64_t strides[LOOM_MAX_RANK];
  np_layout_copy(t, a, &a->type, 'A', strides);
  value *v = a->scalar ? np_result(t, zero, NULL) : np_fresh(t, zero, strides);
  if (v) np_array_of(v)->writeable = false;
  return v;
}

/* The attributes that are not methods; *found false when `name` is none of them. */
static value *array_own_attr(tracer *t, value *v, const char *name, bool *found) {
  np_array *a = np_array_of(v);
  const loom_type *type = &a->type;
  int64_t size = (int64_t)loom_dtype_size(type->dtype);
  *found = true;
  if (strcmp(name, "shape") == 0) return array_shape(t, type);
  if (strcmp(name, "ndim") == 0) return np_int(t, type->rank);
  if (strcmp(name, "size") == 0) return np_number(t, np_count(t, type));
  if (strcmp(name, "itemsize") == 0) return np_int(t, size);
  if (strcmp(name, "nbytes") == 0) return np_number(t, np_times(t, np_count(t, type), size));
  if (strcmp(name, "strides") == 0) return array_numbers(t, a->strides, type->rank);
  if (strcmp(name, "dtype") == 0)
    return value_const(t, trace_keep(t, (PyObject *)np_descr(type->dtype)));
  if (strcmp(name, "T") == 0) return array_transposed(t, v, false);
  if (strcmp(name, "mT") == 0 && !a->scalar) return array_transposed(t, v, true);
  bool is_complex = loom_dtype_is_complex(type->dtype);
  if (is_complex && strcmp(name, "real") == 0) return np_view_part(t, a, 0);
  if (is_complex && strcmp(name, "imag") == 0) return np_view_part(t, a, 1);
  if (strcmp(name, "real") == 0) return v;
  if (strcmp(name, "imag") == 0) return array_imag(t, a);
  *found = false;
  return NULL;
}

/* ---- a.flags ---- */

static value *flags_get_attr(tracer *t, value *flags, PyObject *name) {
  np_array *a = np_array_of((value *)flags->any.a);
  const char *text = PyUnicode_AsUTF8(name);
  if (a->warns_on_write && a->writeable)
    return trace_break(t, BREAK_NUMPY_FUNCTION, "the flags of what np.broadcast_arrays gave");
  bool c = np_is_c(t, a), f = np_is_f(t, a);
  struct {
    const char *name;
    bool value;
  } own[] = {{"c_contiguous", c}, {"contiguous", c},         {"f_contiguous", f},
             {"fortran", f},      {"fnc", f && !c},          {"forc", f || c},
             {"aligned", true},   {"behaved", a->writeable}, {"writeable", a->writeable}};
  for (size_t i = 0; text && i < sizeof own / sizeof *own; i++)
    if (strcmp(own[i].name, text) == 0) return value_const(t, own[i].value ? Py_True : Py_False);
  return trace_break(t, BREAK_NUMPY_FUNCTION, "the flag %s of an array", text ? text : "?");
}

static PyObject *flags_type(tracer *t, value *flags) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an array's flags");
}

static recipe *flags_rebuild(tracer *t, value *flags) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an array's flags as a result");
}

static const value_type flags_value_type = {.name = "flagsobj",
                                            .get_attr = flags_get_attr,
                                            .python_type = flags_type,
                                            .rebuild = flags_rebuild};

/* ---- a.flat: indexed and assigned in C order ---- */

/* Its elements in order. Indexing has the iteration begin anew: not followed once it has begun. */
static value *flat_view(tracer *t, value *flat) {
  np_array *a = np_array_of((value *)flat->any.a);
  if (flat->any.b)
    return trace_break(t, BREAK_NUMPY_FUNCTION, "a.flat that is iterated over is indexed");
  int64_t n = np_elements(&a->type), stride = (int64_t)loom_dtype_size(a->type.dtype);
  return np_view_reshape(t, a, 1, &n, &stride);
}

static const value_type flat_value_type;

bool np_is_flat(const value *v) { return v->type == &flat_value_type; }

value *np_flat_copy(tracer *t, value *v) {
  value *view = v->type == &flat_value_type ? flat_view(t, v) : NULL;
  return view ? np_fresh(t, np_read(t, np_array_of(view)), NULL) : NULL;
}

/* What np.flatiter takes: fewer keys than an array. */
static bool flat_takes(tracer *t, value *key) {
  np_array *a = np_array_of(key);
  bool good = a ? !a->scalar && a->type.rank == 1 && loom_dtype_is_signed(a->type.dtype)
                : value_is_whole(key) || value_is_slice(key);
  if (!good && !a && value_is_const(key)) {
    PyObject *o = np_known(t, key);
    good = o && (PySlice_Check(o) || (PyLong_Check(o) && !PyBool_Check(o)));
  }
  if (good || trace_pending(t)) return good;
  trace_break(t, BREAK_NUMPY_FUNCTION, "a.flat with such a key");
  return false;
}

/* An element or a copy. */
static value *flat_get_item(tracer *t, value *flat, value *key) {
  if (!flat_takes(t, key)) return NULL;
  value *view = flat_view(t, flat), *part = view ? np_get_item(t, view, key) : NULL;
  np_array *p = np_array_of(part);
  return !part || p->scalar ? part : np_fresh(t, np_read(t, p), NULL);
}

/* A value of another length is repeated by NumPy: only one element or as many as there are. */
static bool flat_set_item(tracer *t, value *flat, value *key, value *item) {
  if (item && !flat_takes(t, key)) return false;
  value *view = item ? flat_view(t, flat) : NULL;
  np_operand o;
  if (!item) trace_raise(t, PyExc_TypeError, "Cannot delete iterator elements");
  value *part = view ? np_get_item(t, view, key) : NULL;
  if (!part || !np_operand_from(t, item, &o)) return false;
  int64_t n = o.array ? np_elements(&o.array->type) : 1;
  if (n != 1 && (o.array->type.rank != 1 || n != np_elements(&np_array_of(part)->type))) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "assignment to a.flat of another length");
    return false;
  }
  return np_set_item(t, view, key, item);
}

/* As an array of its elements. */
static value *flat_compare(tracer *t, int op, value *l, value *r) {
  value *left = flat_view(t, l), *right = left && np_is_flat(r) ? flat_view(t, r) : r;
  return left && right ? trace_compare(t, op, left, right) : NULL;
}

static value *flat_length(tracer *t, value *flat) {
  return np_int(t, np_elements(&np_array_of((value *)flat->any.a)->type));
}

static PyObject *flat_type(tracer *t, value *flat) { return (PyObject *)&PyArrayIter_Type; }

static recipe *flat_rebuild(tracer *t, value *flat) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "a.flat as a result");
}

/* It is its own iterator, which goes on where it stands: that of a view does so here. */
static value *flat_iter(tracer *t, value *flat) {
  value *view = flat->any.b ? NULL : flat_view(t, flat);
  if (view) flat->any.b = trace_iter(t, view);
  return flat->any.b;
}

static value *flat_next(tracer *t, value *flat) {
  value *items = flat_iter(t, flat);
  return items ? trace_next(t, items) : NULL;
}

static const value_type flat_value_type = {.name = "flatiter",
                                           .get_item = flat_get_item,
                                           .set_item = flat_set_item,
                                           .compare = flat_compare,
                                           .length = flat_length,
                                           .iter = flat_iter,
                                           .next = flat_next,
                                           .python_type = flat_type,
                                           .rebuild = flat_rebuild};

/* An object of this type that stands for the array `v`. */
static value *array_part(tracer *t, value *v, const value_type *type) {
  value *flat = value_new(t, type);
  if (type == &flat_value_type) np_know_sizes(t, np_array_of(v));
  if (flat) flat->any.a = v;
  return flat;
}

/* What an item that is lent may not say: who owns the memory. */
static bool array_is_lent(tracer *t, value *v, const char *name) {
  const value *root = np_array_of(v)->storage->root;
  bool owner = name && (!strcmp(name, "flags") || !strcmp(name, "base"));
  bool place = name && np_array_of(v)->storage->placed && !strcmp(name, "strides");
  return (owner || place) && root->lent && loom_loops->lent(t, root);
}

static value *array_get_attr(tracer *t, value *v, PyObject *name) {
  bool found;
  const char *text = PyUnicode_AsUTF8(name);
  if (text && strcmp(text, "flat") == 0 && !np_array_of(v)->scalar)
    return array_part(t, v, &flat_value_type);
  if (array_is_lent(t, v, text)) return NULL;
  if (text && strcmp(text, "flags") == 0) return array_part(t, v, &flags_value_type);
  value *own = text ? array_own_attr(t, v, text, &found) : trace_raise_live(t);
  if (!text || found) return own;
  PyTypeObject *type = (PyTypeObject *)array_python_type(t, v);
  PyObject *descriptor = _PyType_Lookup(type, name);
  if (!descriptor)
    return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'", type->tp_name,
                       text);
  if (!Py_IS_TYPE(descriptor, &PyMethodDescr_Type) && !Py_IS_TYPE(descriptor, &PyWrapperDescr_Type))
    return trace_break(t, BREAK_NUMPY_FUNCTION, "the attribute %s of an array", text);
  value *function = value_const(t, descriptor);
  return function ? value_method(t, function, v) : NULL;
}

/* a.shape = sizes, of a view: the same object seen with other sizes. */
static bool array_set_attr(tracer *t, value *v, PyObject *name, value *item) {
  np_array *a = np_array_of(v);
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  if (PyUnicode_CompareWithASCIIString(name, "shape") != 0 || !item || !a->parent) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "setting the attribute %s of an array",
                PyUnicode_AsUTF8(name));
    return false;
  }
  if (!np_ints_arg(t, item, &rank, dims)) return false;
  value *view = np_reshape_to(t, a, rank, dims, 'C');
  if (!view) return false;
  if (np_array_of(view)->storage != a->storage) {
    trace_raise(t, PyExc_AttributeError, "Incompatible shape for in-place modification.");
    return false;
  }
  v->array.layout = view->array.layout;
  return true;
}

/* ---- iteration ---- */

static value *array_iter(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a->scalar)
    return trace_raise(t, PyExc_TypeError, "'numpy.%s' object is not iterable",
                       loom_dtype_name(a->type.dtype));
  if (a->type.rank == 0) return trace_raise(t, PyExc_TypeError, "iteration over a 0-d array");
  int64_t n = np_dim(a->type.dims[0]);
  if (size_is_late(t, n)) size_know(t, n);
  return trace_pending(t) ? NULL : iter_array(t, v, n);
}

static int array_contains(tracer *t, value *v, value *item) {
  trace_break(t, BREAK_DATA_DEPENDENT, "`in` an array");
  return -1;
}

static PyObject *array_known(tracer *t, value *v, bool plain) {
  PyObject *known = np_known(t, v);
  return known && (!plain || np_array_of(v)->scalar) ? Py_NewRef(known) : NULL;
}

static bool array_known_int(tracer *t, value *v, int64_t *out) {
  PyObject *object = array_known(t, v, true);
  PyObject *index = object && PyIndex_Check(object) ? PyNumber_Index(object) : NULL;
  int overflow = 0;
  *out = index ? PyLong_AsLongLongAndOverflow(index, &overflow) : 0;
  bool known = index && !overflow;
  Py_XDECREF(object);
  Py_XDECREF(index);
  error_drop();
  return known;
}

/* There are two objects of NumPy's bool. */
static bool array_same(tracer *t, value *l, value *r, bool *same) {
  const np_array *a = np_array_of(l), *b = np_array_of(r);
  if (!a->scalar || !b->scalar || a->type.dtype != LOOM_BOOL || b->type.dtype != LOOM_BOOL)
    return true;
  PyObject *left = np_known(t, l), *right = np_known(t, r);
  uint64_t bits[2];
  bool known = left && right;
  if (known)
    *same = PyObject_IsTrue(left) == PyObject_IsTrue(right);
  else if (emit_is_constant(t, np_read(t, np_array_of(l)), &bits[0]) &&
           emit_is_constant(t, np_read(t, np_array_of(r)), &bits[1]))
    *same = bits[0] == bits[1];
  else
    trace_break(t, BREAK_DATA_DEPENDENT, "the identity of a bool of NumPy's");
  return !trace_pending(t);
}

const value_type np_array_value_type = {.name = "ndarray",
                                        .kinds = VALUE_IS_FOREIGN,
                                        .same = array_same,
                                        .unary = array_unary,
                                        .binary = array_binary,
                                        .compare = array_compare,
                                        .truth = array_truth,
                                        .length = array_length,
                                        .get_item = np_get_item,
                                        .set_item = np_set_item,
                                        .contains = array_contains,
                                        .get_attr = array_get_attr,
                                        .set_attr = array_set_attr,
                                        .iter = array_iter,
                                        .python_type = array_python_type,
                                        .rebuild = np_rebuild,
                                        .known = array_known,
                                        .walk = np_walk,
                                        .known_int = array_known_int};
