/* From arrays to single numbers and back: NumPy's scalar types, item(), tolist(), and int(),
 * float(), round() and divmod() of arrays. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

/* np.float32(x) and the other scalar types. */
value *np_scalar_type(tracer *t, const np_call *c) {
  bool done;
  value *v = np_fold(t, c->callee, c->args, c->count, c->kwnames, &done);
  if (done || trace_pending(t)) return v;
  if (c->count != 1 || c->kwnames) return np_unsupported(t, c, "");
  PyArray_Descr *descr = PyArray_DescrFromTypeObject(c->callee);
  loom_dtype dtype;
  if (!descr) return trace_raise_live(t);
  trace_keep(t, (PyObject *)descr);
  if (!np_dtype_of(t, descr, &dtype)) return NULL;
  np_operand o;
  if (!np_operand_from(t, c->args[0], &o)) return NULL;
  loom_value node = np_operand_load(t, &o, dtype);
  int64_t strides[LOOM_MAX_RANK];
  if (node == LOOM_NO_VALUE) return NULL;
  if (np_is_array(c->args[0]) && o.array && o.array->type.rank > 0 && o.array->type.dtype == dtype)
    return c->args[0]; /* what is of the type already is not copied */
  if (!o.array) return np_result(t, node, NULL);
  np_layout_copy(t, o.array, emit_type(t, node), 'K', strides);
  return np_result(t, node, strides);
}

/* A Python number that is known only when run. */
value *np_python_number(tracer *t, loom_value node) {
  if (node == LOOM_NO_VALUE) return NULL;
  loom_dtype dtype = emit_type(t, node)->dtype;
  loom_dtype wide = dtype == LOOM_BOOL           ? LOOM_BOOL
                    : loom_dtype_is_float(dtype) ? LOOM_F64
                                                 : LOOM_I64;
  value *v = value_new(t, &value_number_type);
  if (v) v->number.node = emit_convert(t, node, wide);
  return v && v->number.node != LOOM_NO_VALUE ? v : NULL;
}

/* a.item(i), flat, or a.item(i, j, ...). */
static value *item_at(tracer *t, const np_call *c, np_array *a) {
  value *from = c->args[0], *key = c->count == 2 ? c->args[1] : NULL;
  if (key && value_is_tuple(key)) return np_unsupported(t, c, "of a tuple");
  np_know_sizes(t, a);
  if (trace_pending(t)) return NULL;
  int64_t n = np_elements(&a->type);
  if (key && a->type.rank != 1 && !(from = np_reshape_to(t, a, 1, &n, 'C'))) return NULL;
  if (!key && c->count - 1 != a->type.rank) return np_unsupported(t, c, "of other dimensions");
  if (!key) key = value_tuple(t, c->args + 1, c->count - 1);
  value *item = key ? np_get_item(t, from, key) : NULL;
  np_array *i = np_array_of(item);
  if (item && (!i || i->type.rank)) return np_unsupported(t, c, "of what is not an integer");
  np_call one = {.name = "item", .args = &item, .count = 1, .method = true};
  return item ? np_item(t, &one) : NULL;
}

value *np_item(tracer *t, const np_call *c) {
  np_array *a = np_array_of(c->args[0]);
  PyObject *known = np_known(t, c->args[0]);
  if (c->kwnames || !a || a->type.dtype == LOOM_U64) return np_unsupported(t, c, "");
  if (c->count > 1) return item_at(t, c, a);
  if (np_elements(&a->type) != 1)
    return trace_raise(t, PyExc_ValueError,
                       "can only convert an array of size 1 to a Python scalar");
  if (known) return np_made(t, PyObject_CallMethod(known, "item", NULL));
  return np_python_number(t, emit_reshape(t, np_read(t, a), 0, NULL));
}

/* float(x) and int(x) of an array without dimensions. An int of floats may be too large, or raise:
 * left to Python. */
value *np_builtin_number(tracer *t, const np_call *c) {
  np_array *a = c->count == 1 && !c->kwnames ? np_array_of(c->args[0]) : NULL;
  bool whole = c->callee == (PyObject *)&PyLong_Type;
  if (!a || a->type.rank != 0 || a->type.dtype == LOOM_U64 ||
      (whole && loom_dtype_is_float(a->type.dtype)))
    return np_unsupported(t, c, "of this argument");
  PyObject *known = np_known(t, c->args[0]);
  int64_t number;
  if (whole && np_size_of(t, c->args[0], &number)) return value_size(t, number);
  if (known) return np_made(t, whole ? PyNumber_Long(known) : PyNumber_Float(known));
  return np_python_number(t, emit_convert(t, np_read(t, a), whole ? LOOM_I64 : LOOM_F64));
}

/* round(x, n) of a NumPy float is np.round(); without n it is a Python int. */
value *np_builtin_round(tracer *t, const np_call *c) {
  np_array *a = c->count == 2 && !c->kwnames ? np_array_of(c->args[0]) : NULL;
  if (c->count && !np_is_array(c->args[0])) return trace_not_implemented(t);
  if (!a || !a->scalar || !loom_dtype_is_float(a->type.dtype) || np_is_none(t, c->args[1]))
    return np_unsupported(t, c, "of this argument");
  np_call round = {.name = "round", .args = c->args, .count = 2};
  return np_round(t, &round);
}

value *np_builtin_divmod(tracer *t, const np_call *c) {
  if (c->count != 2 || (!np_is_array(c->args[0]) && !np_is_array(c->args[1])))
    return np_unsupported(t, c, "");
  return np_ufunc_apply(t, "divmod", c->args, 2, NULL);
}

/* Of known arrays only: the elements of others are not known at capture. */
value *np_tolist(tracer *t, const np_call *c) {
  PyObject *known = c->count == 1 && !c->kwnames ? np_known(t, c->args[0]) : NULL;
  return known ? np_made(t, PyObject_CallMethod(known, "tolist", NULL)) : np_unsupported(t, c, "");
}
