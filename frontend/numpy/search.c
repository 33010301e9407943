/* Places in sorted arrays: searchsorted, digitize, interp.
 *
 * NumPy searches one number after the other. Here all numbers take the steps of a binary search
 * together: a step reads one element for each number and halves what is left. What NumPy finds in
 * an array that is not sorted depends on the order of the numbers. So the graph checks that the
 * array is sorted, and where it is not, the plain function runs (trace_assume()). */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/host_call_internal.h"
#include "frontend/numpy/numpy_internal.h"
#include "frontend/numpy/size_internal.h"
#include "frontend/values/values.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <string.h>

#define SEARCH_LONGEST (1 << 30)
/* Steps in all that are worth a kernel, whose code is long; checking that the array is sorted
 * takes a part of one for each of its elements. */
#define SEARCH_FEW 32768
#define SEARCH_CHECKED 8

static loom_value search_take(tracer *t, loom_value line, loom_value at) {
  loom_attr attrs[2] = {attr_int(0), attr_str("clip")};
  return trace_node(t, LOOM_OP_GATHER, (loom_value[]){line, at}, 2, attrs, 2, NULL);
}

static loom_value search_number(tracer *t, loom_value like, double x) {
  const loom_type type = *emit_type(t, like);
  return emit_float(t, &type, x);
}

/* x < y in the order in which NumPy sorts: NaN comes last. */
static loom_value search_less(tracer *t, loom_value x, loom_value y) {
  loom_value less = emit_compare(t, "lt", x, y);
  if (less == LOOM_NO_VALUE || !loom_dtype_is_float(emit_type(t, x)->dtype)) return less;
  loom_value number = emit1(t, LOOM_OP_NOT, emit_predicate(t, LOOM_OP_IS_NAN, x));
  loom_value last = emit2(t, LOOM_OP_AND, emit_predicate(t, LOOM_OP_IS_NAN, y), number);
  return emit2(t, LOOM_OP_OR, less, last);
}

/* The plan goes on only where no element of `line` is less than the one before. */
static bool search_assume_sorted(tracer *t, loom_value line, int64_t n) {
  int64_t zero = 0, one = 1, rest = n - 1;
  if (n < 2) return true;
  loom_value before = emit_slice(t, line, &zero, &rest, &one);
  loom_value behind = emit_slice(t, line, &one, &rest, &one);
  if (before == LOOM_NO_VALUE || behind == LOOM_NO_VALUE) return false;
  loom_value falls = emit_reduce_all(t, "or", search_less(t, behind, before));
  return falls != LOOM_NO_VALUE && trace_assume(t, falls, false);
}

/* How many elements of the sorted `line` are less than each number (`right`: or equal to it). */
static loom_value search_count(tracer *t, loom_value line, int64_t n, loom_value numbers,
                               bool right) {
  loom_type type = *emit_type(t, numbers);
  type.dtype = LOOM_I64;
  int64_t step = 1;
  loom_value count = emit_float(t, &type, 0), end = emit_float(t, &type, (double)n);
  while (2 * step <= n)
    step *= 2;
  for (; step && count != LOOM_NO_VALUE; step /= 2) {
    loom_value further = emit2(t, LOOM_OP_ADD, count, emit_float(t, &type, (double)step));
    loom_value last = emit2(t, LOOM_OP_SUB, further, emit_float(t, &type, 1));
    loom_value met = search_take(t, line, last);
    loom_value goes =
        right ? emit1(t, LOOM_OP_NOT, search_less(t, numbers, met)) : search_less(t, met, numbers);
    goes = emit2(t, LOOM_OP_AND, goes, emit_compare(t, "le", further, end));
    count = emit_select(t, goes, further, count);
  }
  return count;
}

/* Is it a vector of at least `least` elements, and are there so many numbers that a search of our
 * own is worth it? Sizes have to be known. */
static bool search_fits(const np_array *line, const np_array *numbers, int64_t least) {
  int64_t n = line->type.rank == 1 ? np_elements(&line->type) : -1, steps = 1;
  int64_t count = np_elements(&numbers->type);
  bool real = loom_dtype_is_float(line->type.dtype) || loom_dtype_is_integer(line->type.dtype);
  bool reals =
      loom_dtype_is_float(numbers->type.dtype) || loom_dtype_is_integer(numbers->type.dtype);
  while (n >> steps > 0)
    steps++;
  return real && reals && n >= least && n <= SEARCH_LONGEST && numbers->type.rank > 0 &&
         count > 0 && count <= SEARCH_LONGEST && count * steps >= SEARCH_FEW &&
         count * steps >= n / SEARCH_CHECKED;
}

/* Both as elements of the dtype in which NumPy compares them. */
static bool search_load(tracer *t, np_array *line, np_array *numbers, loom_value *out) {
  np_operand o[2] = {{.array = line, .dtype = line->type.dtype},
                     {.array = numbers, .dtype = numbers->type.dtype}};
  loom_dtype dtype;
  if (!np_result_type(t, o, 2, &dtype)) return false;
  if (dtype == LOOM_F16) dtype = LOOM_F32;
  out[0] = emit_convert(t, np_read(t, line), dtype);
  out[1] = emit_convert(t, np_read(t, numbers), dtype);
  return out[0] != LOOM_NO_VALUE && out[1] != LOOM_NO_VALUE;
}

static value *search_in(tracer *t, np_array *line, np_array *numbers, bool right) {
  int64_t n = np_elements(&line->type);
  loom_value in[2];
  if (!search_load(t, line, numbers, in) || !search_assume_sorted(t, in[0], n)) return NULL;
  return np_fresh(t, search_count(t, in[0], n, in[1], right), NULL);
}

/* np.searchsorted(a, v, side, sorter) */
value *np_searchsorted(tracer *t, const np_call *c) {
  value *p[4];
  if (!np_parse(t, c, "a v | side sorter", p)) return NULL;
  const char *side = np_is_none(t, p[2]) ? "left" : np_str_arg(t, p[2]);
  bool right = side && !strcmp(side, "right");
  if (trace_pending(t)) return NULL;
  np_array *a = np_array_of(p[0]), *v = np_array_of(p[1]);
  bool known = right || (side && !strcmp(side, "left"));
  if (!known || !np_is_none(t, p[3]) || !a || !v || !search_fits(a, v, 1))
    return trace_pending(t) ? NULL : np_host(t, c);
  return search_in(t, a, v, right);
}

/* np.digitize(x, bins, right): bins that fall are left to the library. */
value *np_digitize(tracer *t, const np_call *c) {
  value *p[3];
  bool right;
  if (!np_parse(t, c, "x bins | right", p)) return NULL;
  np_array *x = np_array_of(p[0]), *bins = np_array_of(p[1]);
  PyObject *known = p[2] ? np_known(t, p[2]) : NULL;
  bool fits = x && bins && search_fits(bins, x, 2) && (!p[2] || (known && PyBool_Check(known)));
  if (trace_pending(t)) return NULL;
  if (!fits) return np_host(t, c);
  right = known == Py_True;
  return search_in(t, bins, x, !right);
}

/* ---- interp ----------------------------------------------------------------------------------
 */

/* Between which elements of xp, and what a line through them gives for x. NumPy takes the line from
 * the other end where the first gives NaN. */
static loom_value interp_between(tracer *t, const loom_value *in, loom_value at, loom_value whole) {
  loom_value x = in[0], next = emit2(t, LOOM_OP_ADD, at, search_number(t, at, 1));
  loom_value x0 = search_take(t, in[1], at), x1 = search_take(t, in[1], next);
  loom_value y0 = search_take(t, in[2], at), y1 = search_take(t, in[2], next);
  if (y1 == LOOM_NO_VALUE) return y1;
  loom_value wide = emit2(t, LOOM_OP_SUB, x1, x0); /* of nothing outside: no division by zero */
  loom_value flat = emit_compare(t, "eq", wide, search_number(t, wide, 0));
  wide = emit_select(t, flat, search_number(t, wide, 1), wide);
  x = emit_select(t, whole, x0, x);
  loom_value slope = emit2(t, LOOM_OP_DIV, emit2(t, LOOM_OP_SUB, y1, y0), wide);
  loom_value r =
      emit2(t, LOOM_OP_ADD, emit2(t, LOOM_OP_MUL, slope, emit2(t, LOOM_OP_SUB, x, x0)), y0);
  loom_value back =
      emit2(t, LOOM_OP_ADD, emit2(t, LOOM_OP_MUL, slope, emit2(t, LOOM_OP_SUB, x, x1)), y1);
  loom_value level = emit_compare(t, "eq", y0, y1);
  loom_value lost = emit2(t, LOOM_OP_AND, emit_predicate(t, LOOM_OP_IS_NAN, back), level);
  back = emit_select(t, lost, y0, back);
  r = emit_select(t, emit_predicate(t, LOOM_OP_IS_NAN, r), back, r);
  return emit_select(t, whole, y0, r);
}

/* A given number for what lies outside, or the element of fp at the end. */
static loom_value interp_outside(tracer *t, value *given, loom_value fp, int64_t place,
                                 const loom_type *type) {
  np_operand o;
  loom_value v;
  int64_t one = 1;
  if (np_is_none(t, given)) {
    v = emit_reshape(t, emit_slice(t, fp, &place, &one, &one), 0, NULL);
  } else if (!np_operand_from(t, given, &o)) {
    return LOOM_NO_VALUE;
  } else {
    v = np_operand_load(t, &o, LOOM_F64);
  }
  return v == LOOM_NO_VALUE ? v : emit_broadcast_to(t, v, type->rank, type->dims);
}

/* Is it NULL, None or one real number? */
static bool interp_is_number(tracer *t, value *v) {
  const np_array *a = v ? np_array_of(v) : NULL;
  if (np_is_none(t, v)) return true;
  if (a) return a->scalar && loom_dtype_is_float(a->type.dtype);
  return value_is_const(v) && v->object && PyFloat_CheckExact(v->object);
}

/* np.interp(x, xp, fp, left, right, period) */
value *np_interp(tracer *t, const np_call *c) {
  value *p[6];
  if (!np_parse(t, c, "x xp fp | left right period", p)) return NULL;
  np_array *x = np_array_of(p[0]), *xp = np_array_of(p[1]), *fp = np_array_of(p[2]);
  bool fits = x && xp && fp && np_is_none(t, p[5]) && search_fits(xp, x, 2) && fp->type.rank == 1 &&
              np_elements(&fp->type) == np_elements(&xp->type) &&
              (loom_dtype_is_float(fp->type.dtype) || loom_dtype_is_integer(fp->type.dtype)) &&
              interp_is_number(t, p[3]) && interp_is_number(t, p[4]);
  if (trace_pending(t)) return NULL;
  if (!fits) return np_host(t, c);
  int64_t n = np_elements(&xp->type);
  np_array *arrays[3] = {x, xp, fp};
  loom_value in[3];
  for (int i = 0; i < 3; i++)
    if ((in[i] = emit_convert(t, np_read(t, arrays[i]), LOOM_F64)) == LOOM_NO_VALUE) return NULL;
  const loom_type type = *emit_type(t, in[0]);
  if (!search_assume_sorted(t, in[1], n)) return NULL;
  loom_value count = search_count(t, in[1], n, in[0], true);
  if (count == LOOM_NO_VALUE) return NULL;
  loom_value at = emit2(t, LOOM_OP_SUB, count, search_number(t, count, 1));
  loom_value low = interp_outside(t, p[3], in[2], 0, &type);
  loom_value high = interp_outside(t, p[4], in[2], n - 1, &type);
  if (low == LOOM_NO_VALUE || high == LOOM_NO_VALUE) return NULL;
  loom_value before = emit_compare(t, "lt", at, search_number(t, at, 0));
  loom_value ends = emit_compare(t, "ge", at, search_number(t, at, (double)(n - 1)));
  loom_value same = emit_compare(t, "eq", search_take(t, in[1], at), in[0]);
  loom_value whole = emit2(t, LOOM_OP_OR, emit2(t, LOOM_OP_OR, before, ends), same);
  loom_value r = interp_between(t, in, at, whole);
  if (r == LOOM_NO_VALUE) return NULL;
  loom_value beyond = emit2(t, LOOM_OP_AND, ends, emit1(t, LOOM_OP_NOT, same));
  r = emit_select(t, before, low, emit_select(t, beyond, high, r));
  r = emit_select(t, emit_predicate(t, LOOM_OP_IS_NAN, in[0]), in[0], r);
  return r == LOOM_NO_VALUE ? NULL : np_fresh(t, r, NULL);
}
