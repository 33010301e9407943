/* Functions that write into their first argument: np.put, np.putmask, np.place, np.copyto, fill(),
 * sort(). Each becomes a select, a sort, or a host call on a copy whose result replaces the array's
 * content. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_elements.h"

#include <string.h>

/* A function of our own: (array, *args) to a changed copy. */
static PyObject *inplace_function(const char *name) {
  static PyObject *globals;
  if (!globals) {
    PyObject *made = PyDict_New();
    PyObject *code = made ? PyRun_String("import numpy\n"
                                         "def put(array, *args):\n"
                                         "    array = array.copy()\n"
                                         "    array.put(*args)\n"
                                         "    return array\n"
                                         "def putmask(array, *args):\n"
                                         "    array = array.copy()\n"
                                         "    numpy.putmask(array, *args)\n"
                                         "    return array\n"
                                         "def at(array, ufunc, *args):\n"
                                         "    array = array.copy()\n"
                                         "    ufunc.at(array, *args)\n"
                                         "    return array\n"
                                         "def place(array, *args):\n"
                                         "    array = array.copy()\n"
                                         "    numpy.place(array, *args)\n"
                                         "    return array\n",
                                         Py_file_input, made, made)
                          : NULL;
    Py_XDECREF(code);
    if (!code) {
      Py_XDECREF(made);
      return NULL;
    }
    globals = made;
  }
  return PyDict_GetItemString(globals, name);
}

static value *inplace_host(tracer *t, const np_call *c, const char *name, value *const *args,
                           int count) {
  np_array *a = np_array_of(args[0]);
  PyObject *function = inplace_function(name), *tuple = PyTuple_New(count);
  np_host_call h;
  bool good = np_host_init(&h) && function && tuple;
  for (int i = 0; i < count && good; i++) {
    PyObject *item = np_host_item(t, &h, args[i]);
    if ((good = item != NULL)) PyTuple_SET_ITEM(tuple, i, item);
  }
  loom_value v = good ? np_host_emit(t, &h, function, tuple, &a->type) : LOOM_NO_VALUE;
  Py_XDECREF(tuple);
  np_host_fini(&h);
  if (PyErr_Occurred()) trace_raise_live(t);
  if (v == LOOM_NO_VALUE && !trace_pending(t)) np_unsupported(t, c, "with these arguments");
  return v != LOOM_NO_VALUE && np_write(t, a, v) ? value_const(t, Py_None) : NULL;
}

static bool inplace_array(tracer *t, const np_call *c, value *v) {
  np_array *a = np_array_of(v);
  if (a && !a->scalar && np_elements(&a->type) > 0) return true;
  np_unsupported(t, c, "of what is not an array, or of an empty one");
  return false;
}

value *np_put(tracer *t, const np_call *c) {
  value *p[4];
  if (!np_parse(t, c, c->method ? "a indices values | mode" : "a ind v | mode", p) ||
      !inplace_array(t, c, p[0]))
    return NULL;
  return inplace_host(t, c, "put", p, p[3] ? 4 : 3);
}

value *np_place(tracer *t, const np_call *c) {
  value *p[3];
  if (!np_parse(t, c, "arr mask vals", p) || !inplace_array(t, c, p[0])) return NULL;
  for (int i = 1; i < 3; i++) {
    np_array *read = np_array_of(p[i]);
    if (read && read->storage == np_array_of(p[0])->storage)
      return np_unsupported(t, c, "with the array's own memory, which is read while it is written");
  }
  return inplace_host(t, c, "place", p, 3);
}

/* One value, or one for each element, of the array's own dtype: a select. */
value *np_putmask(tracer *t, const np_call *c) {
  value *p[3];
  np_operand o;
  if (!np_parse(t, c, "a / mask values", p) || !inplace_array(t, c, p[0])) return NULL;
  np_array *a = np_array_of(p[0]), *mask = np_as_array(t, p[1]);
  if (!mask || !np_operand_from(t, p[2], &o)) return NULL;
  loom_type like = mask->type;
  like.dtype = a->type.dtype;
  bool fits = o.array && (loom_type_equal(&o.array->type, &a->type) ||
                          (o.dtype == a->type.dtype && np_elements(&o.array->type) == 1));
  if (!fits || !loom_type_equal(&like, &a->type)) return inplace_host(t, c, "putmask", p, 3);
  loom_value v = np_read(t, o.array);
  if (np_elements(&o.array->type) == 1) v = emit_reshape(t, v, 0, NULL);
  v = emit_broadcast_to(t, v, a->type.rank, a->type.dims);
  loom_value where = emit_convert(t, np_read(t, mask), LOOM_BOOL);
  return np_write(t, a, emit_select(t, where, v, np_read(t, a))) ? value_const(t, Py_None) : NULL;
}

/* Elements that are met twice are combined in NumPy's order when that is the order of C. */
static bool inplace_in_order(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a) return np_is_c(t, a) || np_elements(&a->type) == 1;
  if (!value_is_tuple(v)) return true;
  value *tuple = trace_to_tuple(t, v);
  for (Py_ssize_t i = 0; tuple && i < tuple->seq.count; i++)
    if (!inplace_in_order(t, tuple->seq.items[i])) return false;
  return tuple != NULL;
}

/* How a scatter combines what is there with an update, as this ufunc does; or NULL. */
static const char *inplace_combine(PyObject *ufunc) {
  static const char *const words[][2] = {{"add", "add"},
                                         {"subtract", "sub"},
                                         {"multiply", "mul"},
                                         {"minimum", "min"},
                                         {"maximum", "max"}};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++)
    if (np_ufunc_object(words[i][0]) == ufunc) return words[i][1];
  return NULL;
}

value *np_ufunc_at(tracer *t, PyObject *ufunc, const np_call *c) {
  value *args[4];
  const char *combine = c->count == 3 ? inplace_combine(ufunc) : NULL;
  bool done = false;
  if (c->kwnames || c->count < 2 || c->count > 3)
    return np_unsupported(t, c, "with these arguments");
  if (!inplace_array(t, c, c->args[0])) return NULL;
  args[0] = c->args[0];
  if (!(args[1] = value_const(t, ufunc))) return NULL;
  for (Py_ssize_t i = 1; i < c->count; i++) {
    args[i + 1] = c->args[i];
    if (!inplace_in_order(t, c->args[i])) return np_unsupported(t, c, "in another order than C");
  }
  value *index = c->args[1];
  if (combine && t->loops.derived && value_is_sequence(index) && !value_is_tuple(index)) {
    np_array *listed = np_as_array(t, index); /* the library's own call has no derivative */
    if (!listed) return NULL;
    index = np_fresh(t, np_read(t, listed), NULL);
  }
  if (combine && !np_fancy_combine(t, c->args[0], index, c->args[2], combine, &done)) return NULL;
  if (done) return value_const(t, Py_None);
  return inplace_host(t, c, "at", args, (int)c->count + 1);
}

value *np_fill(tracer *t, const np_call *c) {
  value *p[2];
  if (!np_parse(t, c, "a value", p)) return NULL;
  np_array *item = np_array_of(p[1]);
  PyObject *known = item ? NULL : np_known(t, p[1]);
  if (trace_pending(t)) return NULL;
  if (known && PySequence_Check(known) && !PyUnicode_Check(known) && !PyBytes_Check(known))
    return np_unsupported(t, c, "with a sequence");
  if (item ? item->type.rank > 0 : !value_is_number(p[1]) && !value_is_const(p[1]))
    return np_unsupported(t, c, "with something other than a number");
  if (!np_array_of(p[0])->writeable)
    return trace_break(t, BREAK_RAISES, "fill of a read-only array");
  return np_assign(t, np_array_of(p[0]), p[1]) ? value_const(t, Py_None) : NULL;
}

bool np_takes_number(tracer *t, const np_operand *o, loom_dtype dtype, NPY_CASTING casting) {
  int64_t number;
  if (!o->weak) return true;
  bool is_int = o->weak == &PyLong_Type, is_float = o->weak == &PyFloat_Type;
  bool inexact =
      loom_dtype_is_complex(dtype) || (loom_dtype_is_float(dtype) && o->weak != &PyComplex_Type);
  if (casting != NPY_UNSAFE_CASTING && casting != NPY_SAME_KIND_CASTING) return false;
  if (is_int && dtype == LOOM_BOOL)
    return casting == NPY_UNSAFE_CASTING &&
           (o->number ? value_known_int(t, o->from, &number) : true);
  if (casting == NPY_UNSAFE_CASTING) return true;
  return is_int || (is_float && inexact) || loom_dtype_is_complex(dtype);
}

/* np.copyto(dst, src, casting='same_kind', where=True) */
value *np_copyto(tracer *t, const np_call *c) {
  value *p[4];
  NPY_CASTING casting;
  np_operand mask, src;
  if (!np_parse(t, c, "dst src | casting where", p)) return NULL;
  np_array *dst = np_array_of(p[0]);
  if (!dst || dst->scalar) return np_unsupported(t, c, "to something other than an array");
  if (!np_casting_arg(t, p[2], NPY_SAME_KIND_CASTING, &casting) || !np_operand_from(t, p[1], &src))
    return NULL;
  if (src.array && !np_check_cast(t, src.array->type.dtype, dst->type.dtype, casting)) return NULL;
  if (!np_takes_number(t, &src, dst->type.dtype, casting))
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of such a number");
  if (!p[3] || (!np_is_array(p[3]) && np_known(t, p[3]) == Py_True))
    return np_assign(t, dst, p[1]) ? value_const(t, Py_None) : NULL;
  if (trace_pending(t) || !np_operand_from(t, p[3], &mask)) return NULL;
  if (mask.array && mask.array->type.dtype != LOOM_BOOL)
    return np_unsupported(t, c, "a mask that is not bool");
  int64_t dims[LOOM_MAX_RANK];
  int rank;
  np_operand all[3] = {{.array = dst}, src, mask};
  if (!np_copies_whole(t, dst, src.array) || !np_broadcast(t, all, 3, &rank, dims)) return NULL;
  loom_type want = type_make(dst->type.dtype, rank, dims);
  if (!np_same_sizes(t, &want, &dst->type)) return np_unsupported(t, c, "of larger arrays");
  loom_value m = emit_broadcast_to(t, np_operand_load(t, &mask, LOOM_BOOL), rank, dims);
  loom_value s = emit_broadcast_to(t, np_operand_load(t, &src, dst->type.dtype), rank, dims);
  return np_write(t, dst, emit_select(t, m, s, np_read(t, dst))) ? value_const(t, Py_None) : NULL;
}

/* Is the argument absent, or the full name of a kind? NumPy refuses most other values. */
static bool sort_kind_is_plain(tracer *t, value *v) {
  static const char *const kinds[] = {"quicksort", "mergesort", "heapsort", "stable"};
  if (np_is_none(t, v)) return true;
  const char *kind = np_str_arg(t, v);
  for (size_t i = 0; kind && i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kind, kinds[i]) == 0) return true;
  return false;
}

/* a.sort(axis): in place. */
value *np_sort_method(tracer *t, const np_call *c) {
  value *p[5];
  int64_t axis = -1;
  int k;
  if (!np_parse(t, c, "a | axis kind order stable", p)) return NULL;
  np_array *a = np_array_of(p[0]);
  if (!a || a->scalar || !np_is_none(t, p[3])) return np_unsupported(t, c, "with an order");
  if (!sort_kind_is_plain(t, p[2])) return np_unsupported(t, c, "with such a kind");
  PyObject *stable = p[4] && !np_is_array(p[4]) ? np_known(t, p[4]) : NULL;
  if (p[4] && (p[2] || (stable != Py_None && stable != Py_True && stable != Py_False)))
    return np_unsupported(t, c, "with such a stable=");
  if ((p[1] && !np_int_arg(t, p[1], &axis)) || !np_axis(t, axis, a->type.rank, &k)) return NULL;
  loom_attr attrs[2] = {attr_int(k), {.kind = LOOM_ATTR_BOOL}};
  loom_value v = np_read(t, a);
  if (v == LOOM_NO_VALUE) return NULL;
  return np_write(t, a, trace_node(t, LOOM_OP_SORT, &v, 1, attrs, 2, NULL))
             ? value_const(t, Py_None)
             : NULL;
}
