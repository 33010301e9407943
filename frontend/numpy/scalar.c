/* Overflow of NumPy's integer scalars. Their operators, unlike the ufuncs on arrays, report it as a
 * floating-point exception. Capture computes with each result whether it overflowed. At the end
 * there is one division that overflows, and raises the flag, when any of them did. Then the plain
 * function runs again, and the library reports the overflow. This file also checks what storing
 * such scalars may raise. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/numbers.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <math.h>
#include <string.h>

static loom_value scalar_number(tracer *t, loom_dtype dtype, int64_t i) {
  loom_type type = type_make(dtype, 0, NULL);
  size_t size = loom_dtype_size(dtype);
  uint64_t bits = (uint64_t)i;
  return emit_constant(t, &type, size < 8 ? bits & (((uint64_t)1 << 8 * size) - 1) : bits);
}

static loom_value scalar_least(tracer *t, loom_dtype dtype) {
  return scalar_number(t, dtype, (int64_t)((uint64_t)1 << (8 * loom_dtype_size(dtype) - 1)));
}

/* a ^ b is negative, and so is c ^ d. */
static loom_value scalar_signs(tracer *t, loom_value a, loom_value b, loom_value c, loom_value d) {
  loom_value both = emit2(t, LOOM_OP_AND, emit2(t, LOOM_OP_XOR, a, b), emit2(t, LOOM_OP_XOR, c, d));
  if (both == LOOM_NO_VALUE) return both;
  return emit_compare(t, "lt", both, scalar_number(t, emit_type(t, both)->dtype, 0));
}

/* Does x * y differ from r? Up to 32 bits by a wider product, else by the division back. */
static loom_value scalar_product(tracer *t, loom_value x, loom_value y, loom_value r,
                                 loom_dtype dtype) {
  if (loom_dtype_size(dtype) < 8) {
    loom_dtype wide = loom_dtype_is_signed(dtype) ? LOOM_I64 : LOOM_U64;
    loom_value all = emit2(t, LOOM_OP_MUL, emit_convert(t, x, wide), emit_convert(t, y, wide));
    return emit_compare(t, "ne", all, emit_convert(t, r, wide));
  }
  loom_value some = emit_compare(t, "ne", x, scalar_number(t, dtype, 0));
  loom_value divisor = emit_select(t, some, x, scalar_number(t, dtype, 1));
  loom_value back = emit2(t, LOOM_OP_FLOOR_DIV, r, divisor);
  return emit2(t, LOOM_OP_AND, some, emit_compare(t, "ne", back, y));
}

static loom_value scalar_overflow(tracer *t, const char *name, loom_value x, loom_value y,
                                  loom_value r, loom_dtype dtype) {
  bool is_signed = loom_dtype_is_signed(dtype);
  if (!strcmp(name, "add"))
    return is_signed ? scalar_signs(t, x, r, y, r) : emit_compare(t, "lt", r, x);
  if (!strcmp(name, "subtract"))
    return is_signed ? scalar_signs(t, x, y, x, r) : emit_compare(t, "lt", x, y);
  if (!strcmp(name, "negative"))
    return is_signed ? emit_compare(t, "eq", x, scalar_least(t, dtype))
                     : emit_compare(t, "ne", x, scalar_number(t, dtype, 0));
  if (!strcmp(name, "absolute")) return emit_compare(t, "eq", x, scalar_least(t, dtype));
  return scalar_product(t, x, y, r, dtype);
}

static bool scalar_is_checked(const char *name, loom_dtype dtype) {
  if (!strcmp(name, "absolute")) return loom_dtype_is_signed(dtype);
  return !strcmp(name, "add") || !strcmp(name, "subtract") || !strcmp(name, "multiply") ||
         !strcmp(name, "negative");
}

bool np_scalar_check(tracer *t, const char *name, value *const *args, int count, value *result) {
  np_array *r = np_array_of(result);
  if (!r || !r->scalar || !loom_dtype_is_integer(r->type.dtype)) return result != NULL;
  loom_dtype dtype = r->type.dtype;
  if (!scalar_is_checked(name, dtype)) return true;
  loom_value in[2] = {LOOM_NO_VALUE, LOOM_NO_VALUE};
  for (int i = 0; i < count; i++) {
    np_operand o;
    if (np_is_array(args[i]) && !np_array_of(args[i])->scalar) return true; /* a 0-d array */
    if (!np_operand_from(t, args[i], &o)) return false;
    in[i] = np_operand_load(t, &o, dtype);
    if (in[i] == LOOM_NO_VALUE) return false;
  }
  loom_value *all = np_overflow(t);
  loom_value here = scalar_overflow(t, name, in[0], in[1], np_read(t, r), dtype);
  if (!all || here == LOOM_NO_VALUE) return false;
  uint64_t bits;
  if (emit_is_constant(t, here, &bits) && !bits) return true;
  *all = *all == LOOM_NO_VALUE ? here : emit2(t, LOOM_OP_OR, *all, here);
  return *all != LOOM_NO_VALUE;
}

bool np_scalar_finish(tracer *t) {
  loom_value *all = np_overflow(t);
  if (!all || *all == LOOM_NO_VALUE) return all != NULL;
  loom_value divisor =
      emit_select(t, *all, scalar_number(t, LOOM_I64, -1), scalar_number(t, LOOM_I64, 1));
  return emit2(t, LOOM_OP_FLOOR_DIV, scalar_least(t, LOOM_I64), divisor) != LOOM_NO_VALUE;
}

/* Is each of the numbers, which are not all safe in `dtype`, one of its values? */
static loom_value scalar_in_range(tracer *t, loom_value v, loom_dtype dtype) {
  if (v != LOOM_NO_VALUE && loom_dtype_is_float(emit_type(t, v)->dtype))
    v = emit_convert(t, v, LOOM_F64);
  if (v == LOOM_NO_VALUE) return v;
  loom_type type = *emit_type(t, v);
  int bits = 8 * (int)loom_dtype_size(dtype);
  double limit = ldexp(1, bits - 1);
  loom_value good = emit_compare(t, "lt", v, emit_float(t, &type, limit)), low = LOOM_NO_VALUE;
  if (loom_dtype_is_float(type.dtype) && bits < 64) /* -128.9 is -128 */
    low = emit_compare(t, "gt", v, emit_float(t, &type, -limit - 1));
  else if (!loom_dtype_is_unsigned(type.dtype))
    low = emit_compare(t, "ge", v, emit_float(t, &type, -limit));
  if (!loom_dtype_is_unsigned(type.dtype)) good = emit2(t, LOOM_OP_AND, good, low);
  return emit_reduce_all(t, "and", good);
}

/* A Python int, or a list of numbers, that is stored as it is, without an array in between: the
 * library refuses ints that do not fit. */
static bool scalar_ints_fit(tracer *t, value *v, loom_dtype dtype, int depth) {
  int64_t number;
  if (!v || np_is_array(v) || depth > LOOM_MAX_RANK) return true;
  if (value_is_number(v)) {
    if (value_type_of(t, v) != (PyObject *)&PyLong_Type) return !trace_pending(t);
    if (value_size_of(t, v, &number)) return np_int_fits(t, number, dtype);
    if (!trace_pending(t))
      trace_break(t, BREAK_NUMPY_FUNCTION, "a Python int whose range is not known as %s",
                  loom_dtype_name(dtype));
    return false;
  }
  bool items = value_is_sequence(v);
  if (!items) return true;
  bool computed = value_has_data(v) || np_are_symbolic(t, &v, 1);
  PyObject *known = computed ? NULL : np_known(t, v);
  if (trace_pending(t)) return false;
  if (known) {
    PyObject *array = PyArray_FromAny(known, np_descr(dtype), 0, 0, NPY_ARRAY_FORCECAST, NULL);
    Py_XDECREF(array);
    return array || trace_raise_live(t);
  }
  for (Py_ssize_t i = 0; i < v->seq.count; i++)
    if (!scalar_ints_fit(t, v->seq.items[i], dtype, depth + 1)) return false;
  return true;
}

bool np_check_stored(tracer *t, const np_operand *o, loom_dtype dtype) {
  loom_value v = o->node;
  if (loom_dtype_is_integer(dtype) && dtype != LOOM_I64 && !scalar_ints_fit(t, o->from, dtype, 0))
    return false;
  if (!loom_dtype_is_signed(dtype)) return true;
  if (o->array) {
    if (!(o->array->scalar || o->array->packed) ||
        np_can_cast(o->array->type.dtype, dtype, NPY_SAFE_CASTING))
      return true;
    v = np_read(t, o->array);
  } else if (v == LOOM_NO_VALUE || o->weak != &PyFloat_Type) {
    return true;
  }
  uint64_t bits;
  v = scalar_in_range(t, v, dtype);
  if (v == LOOM_NO_VALUE) return false;
  if (emit_is_constant(t, v, &bits) && bits) return true;
  return trace_assume(t, v, true);
}
