/* The methods of ufuncs: reduce, accumulate, outer, at and reduceat. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/index_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "loom_ops_functions.h"

#include <math.h>
#include <string.h>

static const char *method_kind_of(PyObject *ufunc) {
  static const char *const names[][2] = {{"add", "sum"},         {"multiply", "prod"},
                                         {"minimum", "min"},     {"maximum", "max"},
                                         {"logical_and", "and"}, {"logical_or", "or"}};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (np_ufunc_object(names[i][0]) == ufunc) return names[i][1];
  return NULL;
}

/* fmin and fmax leave NaN out: "min" or "max" of the other elements. NULL: another ufunc. */
static const char *method_number_kind(PyObject *ufunc) {
  return np_ufunc_object("fmin") == ufunc ? "min" : np_ufunc_object("fmax") == ufunc ? "max" : NULL;
}

static value *method_like(tracer *t, const np_array *a, loom_value node) {
  return node == LOOM_NO_VALUE ? NULL : np_fresh(t, node, a->strides);
}

/* The result of the others, or NaN where there is none. */
static value *method_reduce_numbers(tracer *t, const np_call *c, np_reduction *r) {
  np_array *a = r->a;
  if (r->typed || r->initial || r->where || r->out || loom_dtype_is_complex(a->type.dtype))
    return np_unsupported(t, c, "of this ufunc, with such options");
  if (!loom_dtype_is_float(a->type.dtype)) return np_reduce(t, r);
  loom_value v = np_read(t, a), missing = emit_predicate(t, LOOM_OP_IS_NAN, v);
  if (missing == LOOM_NO_VALUE) return NULL;
  const loom_type type = *emit_type(t, v);
  loom_value end = emit_float(t, &type, strcmp(r->kind, "min") ? -HUGE_VAL : HUGE_VAL);
  value *numbers = method_like(t, a, emit_select(t, missing, end, v));
  value *lost = numbers ? method_like(t, a, missing) : NULL;
  if (!lost) return NULL;
  np_reduction none = *r;
  r->a = np_array_of(numbers);
  none.a = np_array_of(lost);
  none.kind = "and";
  value *found = np_reduce(t, r), *empty = found ? np_reduce(t, &none) : NULL;
  if (!empty) return NULL;
  np_array *f = np_array_of(found);
  loom_value result = np_read(t, f), no = np_read(t, np_array_of(empty));
  if (result == LOOM_NO_VALUE || no == LOOM_NO_VALUE) return NULL;
  const loom_type small = *emit_type(t, result);
  result = emit_select(t, no, emit_float(t, &small, (double)NAN), result);
  if (result == LOOM_NO_VALUE) return NULL;
  return f->scalar ? np_result(t, result, NULL) : np_fresh(t, result, f->strides);
}

static value *method_reduce(tracer *t, PyObject *ufunc, const np_call *c) {
  value *p[7];
  const char *number_kind = method_number_kind(ufunc);
  np_reduction r = {.kind = number_kind ? number_kind : method_kind_of(ufunc)};
  if (!r.kind) return np_unsupported(t, c, "of this ufunc");
  if (!np_parse(t, c, "array | axis dtype out keepdims initial where", p) ||
      !(r.a = np_as_array(t, p[0])))
    return NULL;
  if (p[1] ? !np_axes_arg(t, p[1], r.a->type.rank, &r.mask) : r.a->type.rank == 0) {
    return trace_pending(t) ? NULL : np_unsupported(t, c, "of a 0-d array");
  }
  if (!p[1]) r.mask = 1;
  r.typed = !np_is_none(t, p[2]);
  if (r.typed && !np_dtype_arg(t, p[2], &r.dtype)) return NULL;
  if (r.typed && r.dtype != LOOM_BOOL && (*r.kind == 'a' || *r.kind == 'o'))
    return np_unsupported(t, c, "of truth in another type than bool");
  if (!np_outs_arg(t, p[3], &r.out)) return NULL;
  r.initial = p[5];
  r.where = p[6] && !np_is_array(p[6]) && np_known(t, p[6]) == Py_True ? NULL : p[6];
  if (!np_bool_arg(t, p[4], false, &r.keepdims)) return NULL;
  return number_kind ? method_reduce_numbers(t, c, &r) : np_reduce(t, &r);
}

static value *method_accumulate(tracer *t, PyObject *ufunc, const np_call *c) {
  value *p[4];
  int64_t axis = 0;
  int k;
  const char *kind = method_kind_of(ufunc);
  if (!kind || *kind == 'a' || *kind == 'o') return np_unsupported(t, c, "of this ufunc");
  if (!np_parse(t, c, "array | axis dtype out", p)) return NULL;
  np_array *a = np_as_array(t, p[0]);
  if (!a || (p[1] && !np_int_arg(t, p[1], &axis)) || !np_axis(t, axis, a->type.rank, &k))
    return NULL;
  loom_dtype dtype = *kind == 'm' ? a->type.dtype : np_reduce_widened(a->type.dtype);
  if (!np_is_none(t, p[2]) && !np_dtype_arg(t, p[2], &dtype)) return NULL;
  value *out;
  return np_out_arg(t, p[3], &out) ? np_scan(t, a, kind, k, dtype, out) : NULL;
}

/* ufunc.outer(a, b): a with as many dimensions of one element appended as b has. */
static value *method_outer(tracer *t, PyObject *ufunc, const np_call *c) {
  if (c->count != 2) return np_unsupported(t, c, "with other than two arguments");
  if (((PyUFuncObject *)ufunc)->nin != 2) return np_unsupported(t, c, "of what takes one operand");
  if (((PyUFuncObject *)ufunc)->core_enabled)
    return np_unsupported(t, c, "of a product of vectors");
  np_array *a = np_as_array(t, c->args[0]), *b = a ? np_as_array(t, c->args[1]) : NULL;
  int64_t dims[LOOM_MAX_RANK], strides[LOOM_MAX_RANK];
  if (!b) return NULL;
  int rank = a->type.rank + b->type.rank;
  if (rank > LOOM_MAX_RANK) return np_unsupported(t, c, "of too many dimensions");
  for (int i = 0; i < rank; i++) {
    dims[i] = i < a->type.rank ? a->type.dims[i] : 1;
    strides[i] = i < a->type.rank ? a->strides[i] : 0;
  }
  Py_ssize_t total = 2 + (c->kwnames ? PyTuple_GET_SIZE(c->kwnames) : 0);
  value **args = trace_alloc(t, sizeof *args * (size_t)total);
  memcpy(args, c->args, sizeof *args * (size_t)total);
  args[0] = np_view_reshape(t, a, rank, dims, strides);
  if (!np_is_array(args[1])) args[1] = np_view_same(t, b); /* a number of Python has a dtype here */
  return args[0] && args[1] ? np_ufunc_call(t, ufunc, args, 2, c->kwnames) : NULL;
}

value *np_ufunc_method(tracer *t, const char *name, value *const *args, Py_ssize_t count,
                       PyObject *kwnames) {
  PyObject *ufunc = count > 0 ? np_known(t, args[0]) : NULL;
  np_call c = {
      .name = name, .args = args + 1, .count = count - 1, .kwnames = kwnames, .method = true};
  if (!ufunc || !Py_IS_TYPE(ufunc, &PyUFunc_Type))
    return np_unsupported(t, &c, "of a ufunc that is not known");
  if (!np_gate_small(t, args, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) return NULL;
  if (strcmp(name, "reduce") == 0) return method_reduce(t, ufunc, &c);
  if (strcmp(name, "accumulate") == 0) return method_accumulate(t, ufunc, &c);
  if (strcmp(name, "outer") == 0) return method_outer(t, ufunc, &c);
  if (!np_gate_values(t, args, count + (kwnames ? PyTuple_GET_SIZE(kwnames) : 0))) return NULL;
  if (strcmp(name, "at") == 0 && np_ufunc_is_own(ufunc)) return np_ufunc_at(t, ufunc, &c);
  np_call host = c;
  bool own = np_ufunc_is_own(ufunc) && !kwnames && strcmp(name, "at") != 0;
  host.callee = own ? trace_keep(t, PyObject_GetAttrString(ufunc, name)) : NULL;
  return host.callee ? np_host(t, &host) : np_unsupported(t, &c, "");
}
