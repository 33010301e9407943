/* numpy._core._multiarray_umath._array_converter, with which NumPy's own Python functions turn
 * arguments into arrays and results back into what the arguments were. */
#include "frontend/base/base.h"
#include "frontend/captured/captured.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/containers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"

#include <string.h>

typedef struct converter {
  int count;
  value **from, **arrays;
  bool *scalar; /* was it a number? */
  bool all_scalar, some_array;
} converter;

static const value_type converter_type, converter_method_type;

static bool converter_is_number(tracer *t, value *v) {
  if (np_is_array(v)) return np_array_of(v)->scalar;
  if (value_is_number(v)) return true;
  PyObject *o = value_is_const(v) ? np_known(t, v) : NULL;
  return o && (PyLong_CheckExact(o) || PyFloat_CheckExact(o) || PyBool_Check(o));
}

/* A number as an array without dimensions, what is an array already as it is. */
static value *converter_array(tracer *t, value *v) {
  np_array *a = np_array_of(v);
  if (a && !a->scalar) return v;
  return np_to_array(t, v, false, LOOM_F64, true, 'C');
}

value *np_converter(tracer *t, const np_call *c) {
  if (c->kwnames) return np_unsupported(t, c, "with keywords");
  converter *k = trace_alloc(t, sizeof *k);
  value *v = k ? value_new(t, &converter_type) : NULL;
  if (!v) return NULL;
  k->count = (int)c->count;
  k->from = trace_alloc(t, sizeof *k->from * (size_t)(c->count + 1));
  k->arrays = trace_alloc(t, sizeof *k->arrays * (size_t)(c->count + 1));
  k->scalar = trace_alloc(t, sizeof *k->scalar * (size_t)(c->count + 1));
  if (!k->from || !k->arrays || !k->scalar) return NULL;
  k->all_scalar = true;
  for (int i = 0; i < k->count; i++) {
    k->from[i] = c->args[i];
    k->scalar[i] = converter_is_number(t, c->args[i]);
    k->all_scalar &= k->scalar[i];
    k->some_array |= !k->scalar[i];
    if (!(k->arrays[i] = converter_array(t, c->args[i]))) return NULL;
  }
  v->any.a = k;
  return v;
}

/* ---- attributes and methods ----------------------------------------------------------------- */

static value *converter_as_arrays(tracer *t, converter *k, const np_call *c) {
  value *p[2], *out[32];
  if (!np_parse(t, c, "| subok pyscalars", p)) return NULL;
  const char *how = p[1] ? np_str_arg(t, p[1]) : "convert_if_no_array";
  if (!how || k->count > 32) return np_unsupported(t, c, "");
  bool keep =
      strcmp(how, "preserve") == 0 || (strcmp(how, "convert_if_no_array") == 0 && k->some_array);
  for (int i = 0; i < k->count; i++)
    out[i] = keep && k->scalar[i] && !np_is_array(k->from[i]) ? k->from[i] : k->arrays[i];
  return value_tuple(t, out, k->count);
}

static value *converter_wrap(tracer *t, converter *k, const np_call *c) {
  value *p[2];
  bool scalar;
  if (!np_parse(t, c, "arr | to_scalar", p) || !np_bool_arg(t, p[1], k->all_scalar, &scalar))
    return NULL;
  np_array *a = np_array_of(p[0]);
  if (!a) return np_unsupported(t, c, "of what is not an array");
  if (!scalar || a->type.rank > 0 || a->scalar) return p[0];
  return np_result(t, np_read(t, a), NULL);
}

static value *converter_result_type(tracer *t, converter *k, const np_call *c) {
  np_operand o[33];
  loom_dtype dtype;
  value *p[2];
  bool inexact;
  if (!np_parse(t, c, "| extra_dtype ensure_inexact", p) || !np_bool_arg(t, p[1], false, &inexact))
    return NULL;
  if (!np_is_none(t, p[0]) || k->count > 32 || k->count == 0)
    return np_unsupported(t, c, "with another dtype");
  for (int i = 0; i < k->count; i++)
    if (!np_operand_from(t, k->from[i], &o[i])) return NULL;
  o[k->count] = (np_operand){.weak = &PyFloat_Type};
  if (!np_result_type(t, o, k->count + inexact, &dtype)) return NULL;
  return value_const(t, trace_keep(t, (PyObject *)np_descr(dtype)));
}

static const struct {
  const char *name;
  value *(*call)(tracer *t, converter *k, const np_call *c);
} converter_methods[] = {{"as_arrays", converter_as_arrays},
                         {"wrap", converter_wrap},
                         {"result_type", converter_result_type}};

static value *converter_get_attr(tracer *t, value *v, PyObject *name) {
  converter *k = v->any.a;
  const char *text = PyUnicode_AsUTF8(name);
  if (text && strcmp(text, "scalar_input") == 0) {
    value *out[32];
    for (int i = 0; i < k->count && i < 32; i++)
      out[i] = value_const(t, k->scalar[i] ? Py_True : Py_False);
    return value_tuple(t, out, k->count < 32 ? k->count : 32);
  }
  for (int i = 0; text && i < 3; i++) {
    if (strcmp(converter_methods[i].name, text) != 0) continue;
    value *method = value_new(t, &converter_method_type);
    if (!method) return NULL;
    method->any.a = k;
    method->any.i = i;
    return method;
  }
  return trace_break(t, BREAK_NUMPY_FUNCTION, "_array_converter.%s", text ? text : "?");
}

static value *converter_get_item(tracer *t, value *v, value *key) {
  converter *k = v->any.a;
  int64_t i;
  if (!np_int_arg(t, key, &i)) return NULL;
  if (i < 0) i += k->count;
  if (i < 0 || i >= k->count) return trace_raise(t, PyExc_IndexError, "invalid index");
  return k->arrays[i];
}

static value *converter_length(tracer *t, value *v) {
  return np_int(t, ((converter *)v->any.a)->count);
}

static value *converter_call(tracer *t, value *v, value *const *args, Py_ssize_t count,
                             PyObject *kwnames) {
  np_call c = {.name = converter_methods[v->any.i].name,
               .args = args,
               .count = count,
               .kwnames = kwnames,
               .method = true};
  return converter_methods[v->any.i].call(t, v->any.a, &c);
}

static PyObject *converter_python_type(tracer *t, value *v) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "the type of an _array_converter");
}

static recipe *converter_rebuild(tracer *t, value *v) {
  return trace_break(t, BREAK_UNSUPPORTED_TYPE, "an _array_converter as a result");
}

static const value_type converter_type = {.name = "_array_converter",
                                          .get_attr = converter_get_attr,
                                          .get_item = converter_get_item,
                                          .length = converter_length,
                                          .python_type = converter_python_type,
                                          .rebuild = converter_rebuild};

static const value_type converter_method_type = {.name = "method",
                                                 .call = converter_call,
                                                 .python_type = converter_python_type,
                                                 .rebuild = converter_rebuild};
