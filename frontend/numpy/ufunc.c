/* Calls of ufuncs: arguments and keywords, the loop's dtypes (NumPy's own resolution),
 * broadcasting, memory order. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/numpy/ufunc_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"

#include <math.h>
#include <string.h>

typedef struct ufunc_args {
  PyObject *ufunc;
  const ufunc_row *row;
  int nin, nout;
  np_operand in[3]; /* inputs, then where= */
  value *out[2];
  bool casts;         /* an operand with dimensions is converted for the loop */
  bool everywhere;    /* where=numpy._NoValue, which the library takes for a mask of True */
  bool masked, array; /* array: out=..., an array also where a scalar would come back */
  bool asked;         /* by the code itself, not as a part of something else */
  PyObject *dtype, *casting;
  char order;
} ufunc_args;

/* A Python int outside the range of the array's integers: NumPy compares it exactly, without
 * converting it. */
static bool ufunc_out_of_range(const np_operand *number, const np_operand *array, int *sign) {
  if (!number->number || !PyLong_Check(number->number) || !array->array ||
      !loom_dtype_is_integer(array->dtype))
    return false;
  int overflow;
  int64_t x = PyLong_AsLongLongAndOverflow(number->number, &overflow);
  int bits = 8 * (int)loom_dtype_size(array->dtype);
  *sign = overflow ? overflow : x < 0 ? -1 : 1;
  if (loom_dtype_is_unsigned(array->dtype)) {
    if (overflow < 0 || (!overflow && x < 0)) return true;
    if (overflow > 0) {
      PyLong_AsUnsignedLongLong(number->number);
      bool too_large = bits < 64 || PyErr_Occurred() != NULL;
      error_drop();
      return too_large;
    }
    return bits < 64 && x >> bits != 0;
  }
  return overflow ||
         (bits < 64 && (x >= (int64_t)1 << (bits - 1) || x < -((int64_t)1 << (bits - 1))));
}

/* NumPy makes a bool of a Python int by way of a C long. */
static bool ufunc_is_no_long(const np_operand *o) {
  int overflow = 0;
  if (o->number && PyLong_Check(o->number)) PyLong_AsLongLongAndOverflow(o->number, &overflow);
  return overflow != 0;
}

/* Such a comparison has one answer for all elements. */
static bool ufunc_known_comparison(const ufunc_args *a, bool *answer) {
  int sign, which = -1;
  if (a->row->kind != UFUNC_COMPARE || a->dtype) return false;
  if (ufunc_out_of_range(&a->in[1], &a->in[0], &sign))
    which = 1;
  else if (ufunc_out_of_range(&a->in[0], &a->in[1], &sign))
    which = 0;
  if (which < 0) return false;
  const char *d = a->row->extra;
  bool number_greater = sign > 0;
  bool left_less = which == 1 ? number_greater : !number_greater;
  *answer = strcmp(d, "ne") == 0 || (d[0] == 'l' && left_less) || (d[0] == 'g' && !left_less);
  return true;
}

/* out=...: whatever there is as a result, it is an array. */
static bool ufunc_is_ellipsis(tracer *t, value *v) {
  return !np_is_array(v) && np_known(t, v) == Py_Ellipsis;
}

bool np_out_arg(tracer *t, value *v, value **out) {
  *out = NULL;
  if (np_is_none(t, v)) return !trace_pending(t);
  if (ufunc_is_ellipsis(t, v))
    trace_break(t, BREAK_NUMPY_FUNCTION, "out=... for one of several results");
  else if (!np_is_array(v) || np_array_of(v)->scalar)
    trace_raise(t, PyExc_TypeError, "return arrays must be of ArrayType");
  else if (!np_array_of(v)->writeable)
    trace_raise(t, PyExc_ValueError, "output array is read-only");
  else
    *out = v;
  return *out != NULL;
}

bool np_outs_arg(tracer *t, value *v, value **out) {
  if (!v || !value_is_tuple(v)) return np_out_arg(t, v, out);
  value *outs = trace_to_tuple(t, v);
  if (outs && outs->seq.count == 1) return np_out_arg(t, outs->seq.items[0], out);
  trace_break(t, BREAK_RAISES, "out= of several for one result");
  return false;
}

/* The dtype of a class of dtypes (numpy.dtypes.Float64DType), which ufuncs take, too; many other
 * functions make one of objects of it. NULL, with a break, for a class of the user's and for one
 * with parameters. */
static value *ufunc_class_dtype(tracer *t, PyObject *class) {
  PyObject *home = PyObject_GetAttrString(class, "__module__"), *dtype = NULL;
  if (home && PyUnicode_Check(home) && PyUnicode_CompareWithASCIIString(home, "numpy.dtypes") == 0)
    dtype = trace_keep(t, PyObject_CallNoArgs(class));
  Py_XDECREF(home);
  error_drop();
  if (dtype) return value_const(t, dtype);
  return trace_break(t, BREAK_NUMPY_FUNCTION, "a class of dtypes as the dtype of a ufunc");
}

static bool ufunc_keyword(tracer *t, ufunc_args *a, const char *name, value *v) {
  if (strcmp(name, "out") == 0) {
    if (ufunc_is_ellipsis(t, v)) return a->array = true;
    bool tuple = value_is_tuple(v);
    if (!tuple && a->nout > 1) {
      trace_raise(t, PyExc_TypeError, "'out' must be a tuple of arrays");
      return false;
    }
    if (!tuple) return np_out_arg(t, v, &a->out[0]);
    v = trace_to_tuple(t, v);
    if (v && v->seq.count != a->nout) {
      trace_break(t, BREAK_RAISES, "a tuple out= of other than %d items", a->nout);
      return false;
    }
    for (int i = 0; v && i < a->nout && i < v->seq.count; i++)
      if (!np_out_arg(t, v->seq.items[i], &a->out[i])) return false;
    return v != NULL;
  }
  if (strcmp(name, "where") == 0) {
    PyObject *known = np_is_array(v) ? NULL : np_known(t, v);
    if (known == Py_True) return true;
    if (known && np_is_no_value(known)) return a->everywhere = true;
    a->masked = true;
    return np_mask_from(t, v, &a->in[a->nin]);
  }
  bool optional = strcmp(name, "dtype") == 0 || strcmp(name, "order") == 0;
  if (optional && np_is_none(t, v)) return true;
  PyObject *known = np_known(t, v);
  if (!known) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "a ufunc keyword that is not known");
    return false;
  }
  if (strcmp(name, "dtype") == 0) {
    loom_dtype dtype;
    if (Py_IS_TYPE(known, Py_TYPE(&PyArrayDescr_Type)) && !(v = ufunc_class_dtype(t, known)))
      return false;
    if (!np_dtype_arg(t, v, &dtype)) return false;
    a->dtype = trace_keep(t, (PyObject *)np_descr(dtype));
    return true;
  }
  if (strcmp(name, "casting") == 0 && known != Py_None) {
    a->casting = known;
    return true;
  }
  if (strcmp(name, "order") == 0 && PyUnicode_Check(known) && PyUnicode_GetLength(known) == 1) {
    return (a->order = np_order_arg(t, v, 'K')) != 0;
  }
  if (strcmp(name, "subok") == 0 && PyBool_Check(known)) return true;
  trace_break(t, BREAK_NUMPY_FUNCTION, "the ufunc keyword %s", name);
  return false;
}

static bool ufunc_parse(tracer *t, ufunc_args *a, value *const *args, Py_ssize_t count,
                        PyObject *kwnames) {
  if (count < a->nin || count > a->nin + a->nout) {
    trace_raise(t, PyExc_TypeError,
                "%s() takes from %d to %d positional arguments but %d were given", a->row->name,
                a->nin, a->nin + a->nout, (int)count);
    return false;
  }
  bool extreme = !strcmp(a->row->name, "maximum") || !strcmp(a->row->name, "minimum");
  if (extreme && count > a->nin) { /* a DeprecationWarning */
    trace_break(t, BREAK_NUMPY_FUNCTION, "%s() with a third argument", a->row->name);
    return false;
  }
  for (int i = 0; i < a->nin; i++)
    if (!np_operand_from(t, args[i], &a->in[i])) return false;
  for (int i = 0; i < count - a->nin; i++)
    if (!np_out_arg(t, args[a->nin + i], &a->out[i])) return false;
  for (Py_ssize_t i = 0; kwnames && count > a->nin && i < PyTuple_GET_SIZE(kwnames); i++)
    if (PyUnicode_CompareWithASCIIString(PyTuple_GET_ITEM(kwnames, i), "out") == 0) {
      trace_raise(t, PyExc_TypeError,
                  "cannot specify 'out' as both a positional and keyword argument");
      return false;
    }
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++)
    if (!ufunc_keyword(t, a, PyUnicode_AsUTF8(PyTuple_GET_ITEM(kwnames, i)), args[count + i]))
      return false;
  if (!a->everywhere || a->out[0]) return true;
  trace_break(t, BREAK_NUMPY_FUNCTION, "a mask without out=, of which the library warns");
  return false;
}

/* The sizes of the result: of the inputs (and the mask), or of out=, to which the inputs must
 * broadcast. */
static bool ufunc_shape(tracer *t, const ufunc_args *a, int *rank, int64_t *dims) {
  np_operand all[5];
  int n = 0;
  for (int i = 0; i < a->nin + a->masked; i++)
    all[n++] = a->in[i];
  for (int i = 0; i < a->nout; i++)
    if (a->out[i]) all[n++] = (np_operand){.array = np_array_of(a->out[i])};
  if (!np_broadcast(t, all, n, rank, dims)) return false;
  for (int i = 0; i < a->nout; i++) {
    if (!a->out[i]) continue;
    loom_type have = np_array_of(a->out[i])->type, want = type_make(have.dtype, *rank, dims);
    char text[2][128];
    if (np_same_sizes(t, &have, &want)) continue;
    trace_raise(
        t, PyExc_ValueError,
        "non-broadcastable output operand with shape %s doesn't match the broadcast shape %s",
        np_shape_text(&have, text[0], 128), np_shape_text(&want, text[1], 128));
    return false;
  }
  return true;
}

/* One result: written into out=, or a new array in NumPy's memory order. */
static value *ufunc_finish(tracer *t, const ufunc_args *a, int i, loom_value node,
                           loom_dtype dtype) {
  if (node == LOOM_NO_VALUE) return NULL;
  if (a->out[i]) {
    np_array *out = np_array_of(a->out[i]);
    loom_value made = node;
    node = emit_convert(t, node, out->type.dtype);
    if (a->masked) {
      loom_value mask = emit_convert(t, np_operand_load(t, &a->in[a->nin], LOOM_BOOL), LOOM_BOOL);
      mask = emit_broadcast_to(t, mask, out->type.rank, out->type.dims);
      node = emit_select(t, mask, node, np_read(t, out));
    }
    if (!np_write(t, out, node)) return NULL;
    if (made == node && !a->masked) np_note_given(out, node);
    return np_note_report(t, a->ufunc, out, made == node ? node : LOOM_NO_VALUE) ? a->out[i] : NULL;
  }
  node = emit_convert(t, node, dtype);
  if (node == LOOM_NO_VALUE) return NULL;
  np_array *arrays[5];
  int n = 0;
  for (int k = 0; k < a->nin; k++)
    arrays[n++] = a->in[k].array;
  for (int k = 0; k < a->nout; k++) /* the iterator goes over the other result, too */
    if (a->out[k]) arrays[n++] = np_array_of(a->out[k]);
  int64_t strides[LOOM_MAX_RANK];
  if (a->order == 'A' && a->casts) /* a small operand's copy, contiguous perhaps, decides */
    return trace_break(t, BREAK_NUMPY_FUNCTION, "order='A' of operands of several types");
  np_layout_elementwise(t, arrays, n, emit_type(t, node), a->order, a->casts || a->nout > 1,
                        strides);
  return a->array ? np_fresh(t, node, strides) : np_result(t, node, strides);
}

static bool ufunc_load(tracer *t, const ufunc_args *a, const loom_dtype *types, int rank,
                       const int64_t *dims, loom_value *in) {
  for (int i = 0; i < a->nin; i++) {
    if (types[i] == LOOM_BOOL && ufunc_is_no_long(&a->in[i])) {
      trace_break(t, BREAK_RAISES, "an int of more than 64 bits for a bool");
      return false;
    }
    in[i] = emit_broadcast_to(t, np_operand_load(t, &a->in[i], types[i]), rank, dims);
    if (in[i] == LOOM_NO_VALUE) return false;
  }
  return true;
}

/* npy_cpow of a small whole number. */
static loom_value ufunc_complex_power(tracer *t, const np_operand *e, loom_value z) {
  if (!e->number || PyComplex_Check(e->number)) return LOOM_NO_VALUE;
  double x = PyLong_Check(e->number) ? PyLong_AsDouble(e->number) : PyFloat_AS_DOUBLE(e->number);
  if (x == -1 && PyErr_Occurred()) error_drop();
  if (x != 2 && x != 3) return LOOM_NO_VALUE;
  loom_value square = emit2(t, LOOM_OP_MUL, z, z);
  return x == 2 ? square : emit2(t, LOOM_OP_MUL, z, square);
}

/* NumPy computes float powers with these exponents by other means, which shows: (-inf) ** 0.5 is
 * NaN. Scalars go through pow. LOOM_NO_VALUE: none of these. */
static loom_value ufunc_fast_power(tracer *t, const ufunc_args *a, const loom_value *in) {
  const np_operand *e = &a->in[1];
  if (strcmp(a->row->name, "power") != 0) return LOOM_NO_VALUE;
  if (loom_dtype_is_complex(emit_type(t, in[0])->dtype)) return ufunc_complex_power(t, e, in[0]);
  if (!ufunc_is_float(t, in[0])) return LOOM_NO_VALUE;
  bool scalars = a->in[0].array && a->in[0].array->scalar;
  uint64_t bits;
  double x;
  if (!e->number &&
      !(e->array && e->array->type.rank == 0 && emit_is_constant(t, np_read(t, e->array), &bits)))
    return LOOM_NO_VALUE;
  if (!emit_is_constant(t, in[1], &bits)) return LOOM_NO_VALUE;
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  x = loom_cell_from_attr(emit_type(t, in[1])->dtype, &attr).re;
  if (x == 2) return emit2(t, LOOM_OP_MUL, in[0], in[0]);
  if (x == 1) return in[0];
  if (x == -1) return emit2(t, LOOM_OP_DIV, ufunc_number(t, in[0], 1), in[0]);
  return x == 0.5 && !scalars ? emit1(t, LOOM_OP_SQRT, in[0]) : LOOM_NO_VALUE;
}

/* Operands that are converted for the loop. Where there is a mask, NumPy converts what is in out=,
 * too, and warns of what the loop's type cannot hold. */
static bool ufunc_note_casts(tracer *t, ufunc_args *a, np_array *const *outs,
                             const loom_dtype *types) {
  for (int i = 0; i < a->nin; i++)
    a->casts |= !a->in[i].weak && a->in[i].array && a->in[i].array->type.rank > 0 &&
                a->in[i].array->type.dtype != types[i];
  for (int i = 0; i < a->nout; i++) {
    a->casts |= outs[i] && outs[i]->type.dtype != types[a->nin + i];
    if (!a->masked || !outs[i] ||
        np_can_cast(outs[i]->type.dtype, types[a->nin + i], NPY_SAFE_CASTING))
      continue;
    trace_break(t, BREAK_NUMPY_FUNCTION, "where= with an out= of a wider type");
    return false;
  }
  return true;
}

/* The nodes of the loop itself, for which the ufunc's name stands in warnings. Of powers and of
 * scalars it is not always that name. */
static loom_value ufunc_told_loop(tracer *t, const ufunc_args *a, int rank, const loom_value *in,
                                  loom_dtype out) {
  if (a->asked && rank > 0) trace_operation(t, ((const PyUFuncObject *)a->ufunc)->name);
  loom_value v = ufunc_row_loop(t, a->row, in, out);
  trace_operation(t, NULL);
  return v;
}

/* A loop on complex numbers for which there is no op, where derivatives are taken: the plan calls
 * the library, whose function has a rule (python/frameloom/_gradient_rules.py). */
static bool ufunc_is_derived(tracer *t, const ufunc_args *a, const loom_type *type) {
  return loom_dtype_is_complex(type->dtype) && a->nout == 1 && !a->masked &&
         np_derivative_known(t, a->ufunc);
}

static loom_value ufunc_derived(tracer *t, const ufunc_args *a, const loom_value *in) {
  value *args[3];
  for (int i = 0; i < a->nin; i++) {
    bool scalar = emit_type(t, in[i])->rank == 0;
    args[i] = scalar ? np_result(t, in[i], NULL) : np_fresh(t, in[i], NULL);
    if (!args[i]) return LOOM_NO_VALUE;
  }
  const np_call c = {.name = a->row->name, .args = args, .count = a->nin, .callee = a->ufunc};
  value *made = np_host(t, &c);
  return made ? np_read(t, np_array_of(made)) : LOOM_NO_VALUE;
}

static value *ufunc_run(tracer *t, ufunc_args *a) {
  int rank;
  int64_t dims[LOOM_MAX_RANK];
  loom_dtype types[4];
  loom_value in[3] = {LOOM_NO_VALUE, LOOM_NO_VALUE, LOOM_NO_VALUE};
  loom_value out[2] = {LOOM_NO_VALUE, LOOM_NO_VALUE};
  bool answer;
  if (a->masked && !(a->out[0] && (a->nout == 1 || a->out[1])))
    return trace_break(t, BREAK_NUMPY_FUNCTION,
                       "where= without out=: the result is not initialised");
  /* Of operands with neither a loop nor a common shape NumPy misses the loop. */
  np_array *outs[2] = {np_array_of(a->out[0]), np_array_of(a->out[1])};
  bool known = ufunc_known_comparison(a, &answer);
  if (!known && !np_resolve(t, a->ufunc, a->in, a->nin, outs, a->nout, a->dtype, a->casting, types))
    return NULL;
  if (!ufunc_shape(t, a, &rank, dims)) return NULL;
  if (known) {
    loom_type type = type_make(LOOM_BOOL, rank, dims);
    return ufunc_finish(t, a, 0, emit_constant(t, &type, answer), LOOM_BOOL);
  }
  if (!ufunc_note_casts(t, a, outs, types) || !ufunc_load(t, a, types, rank, dims, in)) return NULL;
  loom_value fast = ufunc_fast_power(t, a, in);
  if (fast != LOOM_NO_VALUE) return ufunc_finish(t, a, 0, fast, types[2]);
  if (ufunc_is_derived(t, a, emit_type(t, in[0])))
    return ufunc_finish(t, a, 0, ufunc_derived(t, a, in), types[a->nin]);
  if (loom_dtype_is_complex(types[0]) && a->row->kind == UFUNC_PAIR)
    return trace_break(t, BREAK_UNSUPPORTED_DTYPE, "np.%s of complex numbers", a->row->name);
  if (a->row->kind != UFUNC_PAIR)
    return ufunc_finish(t, a, 0, ufunc_told_loop(t, a, rank, in, types[a->nin]), types[a->nin]);
  if (!((ufunc_pair)(uintptr_t)a->row->extra)(t, in, out)) return NULL;
  value *pair[2];
  for (int i = 0; i < 2; i++)
    if (!(pair[i] = ufunc_finish(t, a, i, out[i], types[a->nin + i]))) return NULL;
  return value_tuple(t, pair, 2);
}

/* Is it one of NumPy's, not made by np.frompyfunc or another library? */
bool np_ufunc_is_own(const PyObject *ufunc) {
  static const char *const modules[] = {"numpy._core.umath", "numpy.linalg._umath_linalg",
                                        "numpy.fft._pocketfft_umath"};
  const char *name = ((const PyUFuncObject *)ufunc)->name;
  PyObject *loaded = PyImport_GetModuleDict();
  for (size_t i = 0; name && i < sizeof modules / sizeof *modules; i++) {
    PyObject *module = PyDict_GetItemString(loaded, modules[i]);
    PyObject *own = module ? PyDict_GetItemString(PyModule_GetDict(module), name) : NULL;
    if (own == ufunc) return true;
  }
  return false;
}

/* A ufunc of NumPy's own without an op that writes into no argument runs in the library. Private
 * ones do not check their arguments: made-up ones may crash them. */
static bool ufunc_is_pure(tracer *t, const PyUFuncObject *u, Py_ssize_t count, PyObject *kwnames) {
  for (Py_ssize_t i = 0; kwnames && i < PyTuple_GET_SIZE(kwnames); i++) {
    PyObject *name = PyTuple_GET_ITEM(kwnames, i);
    if (PyUnicode_CompareWithASCIIString(name, "out") == 0 ||
        PyUnicode_CompareWithASCIIString(name, "where") == 0)
      return false;
  }
  for (int i = 0; u->op_flags && i < u->nin; i++)
    if (u->op_flags[i] & (NPY_ITER_READWRITE | NPY_ITER_WRITEONLY)) return false;
  return count == u->nin && u->name && u->name[0] != '_' && np_ufunc_is_own((const PyObject *)u);
}

value *np_ufunc_call(tracer *t, PyObject *ufunc, value *const *args, Py_ssize_t count,
                     PyObject *kwnames) {
  const PyUFuncObject *u = (const PyUFuncObject *)ufunc;
  ufunc_args a = {.ufunc = ufunc,
                  .row = ufunc_find(ufunc),
                  .nin = u->nin,
                  .nout = u->nout,
                  .order = 'K',
                  .asked = true};
  value *other = a.row ? NULL : np_derivative_other(t, ufunc);
  if (other || trace_pending(t)) return other ? trace_call(t, other, args, count, kwnames) : NULL;
  if (!a.row) {
    np_call host = {
        .name = u->name, .args = args, .count = count, .kwnames = kwnames, .callee = ufunc};
    return ufunc_is_pure(t, u, count, kwnames)
               ? np_host(t, &host)
               : trace_break(t, BREAK_NUMPY_FUNCTION, "the ufunc %s", u->name);
  }
  if (!ufunc_parse(t, &a, args, count, kwnames)) return NULL;
  return ufunc_run(t, &a);
}

static value *ufunc_apply(tracer *t, const char *name, value *const *args, int count, value *out,
                          bool asked) {
  ufunc_args a = {
      .ufunc = np_ufunc_object(name), .order = 'K', .nin = count, .nout = 1, .asked = asked};
  a.row = ufunc_find(a.ufunc);
  a.nout = ((PyUFuncObject *)a.ufunc)->nout;
  bool done = false;
  value *known = out ? NULL : np_fold(t, a.ufunc, args, count, NULL, &done);
  if (done || trace_pending(t)) return known;
  a.out[0] = out;
  for (int i = 0; i < count; i++)
    if (!np_operand_from(t, args[i], &a.in[i])) return NULL;
  return ufunc_run(t, &a);
}

value *np_ufunc_apply(tracer *t, const char *name, value *const *args, int count, value *out) {
  return ufunc_apply(t, name, args, count, out, false);
}

value *np_operator(tracer *t, const char *name, value *const *args, int count, value *out) {
  return ufunc_apply(t, name, args, count, out, true);
}
