/* What a ufunc computes for operands of the loop's dtypes and of one shape: an op, or several. */
#include "frontend/base/base.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/numpy/array.h"
#include "frontend/numpy/array_internal.h"
#include "frontend/numpy/call_internal.h"
#include "frontend/numpy/ufunc_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/values.h"
#include "graph/ops.h"
#include <math.h>
#include <string.h>

/* ---- loops that are not one op. Inputs have the loop's dtypes and one shape. ---- */

loom_value ufunc_number(tracer *t, loom_value like, double x) {
  loom_type type = *emit_type(t, like);
  return emit_float(t, &type, x);
}

static loom_value ufunc_identity(tracer *t, const loom_value *in, loom_dtype out) { return in[0]; }

static loom_value ufunc_popcount(tracer *t, const loom_value *in, loom_dtype out) {
  return emit_convert(t, emit1(t, LOOM_OP_POPCOUNT, in[0]), out);
}

static loom_value ufunc_square(tracer *t, const loom_value *in, loom_dtype out) {
  return emit2(t, LOOM_OP_MUL, in[0], in[0]);
}

/* Times a quotient of single precision for all but float64: another one in halves or doubles. */
static loom_value ufunc_scaled(tracer *t, loom_value v, double above, double below) {
  loom_dtype dtype = emit_type(t, v)->dtype;
  loom_value wide = dtype == LOOM_F16 ? emit_convert(t, v, LOOM_F32) : v;
  double by = dtype == LOOM_F64 ? above / below : (double)((float)above / (float)below);
  return emit_convert(t, emit2(t, LOOM_OP_MUL, wide, ufunc_number(t, wide, by)), dtype);
}

static loom_value ufunc_radians(tracer *t, const loom_value *in, loom_dtype out) {
  return ufunc_scaled(t, in[0], M_PI, 180.0);
}

static loom_value ufunc_degrees(tracer *t, const loom_value *in, loom_dtype out) {
  return ufunc_scaled(t, in[0], 180.0, M_PI);
}

bool ufunc_is_float(tracer *t, loom_value v) { return loom_dtype_is_float(emit_type(t, v)->dtype); }

static loom_value ufunc_fmax(tracer *t, const loom_value *in, loom_dtype out) {
  return emit2(t, ufunc_is_float(t, in[0]) ? LOOM_OP_FMAX : LOOM_OP_MAX, in[0], in[1]);
}

static loom_value ufunc_fmin(tracer *t, const loom_value *in, loom_dtype out) {
  return emit2(t, ufunc_is_float(t, in[0]) ? LOOM_OP_FMIN : LOOM_OP_MIN, in[0], in[1]);
}

static loom_value ufunc_reciprocal(tracer *t, const loom_value *in, loom_dtype out) {
  if (ufunc_is_float(t, in[0])) return emit2(t, LOOM_OP_DIV, ufunc_number(t, in[0], 1), in[0]);
  trace_break(t, BREAK_NUMPY_FUNCTION, "np.reciprocal of integers");
  return LOOM_NO_VALUE;
}

static loom_value ufunc_heaviside(tracer *t, const loom_value *in, loom_dtype out) {
  loom_value zero = ufunc_number(t, in[0], 0), one = ufunc_number(t, in[0], 1);
  loom_value r = emit_select(t, emit_compare(t, "lt", in[0], zero), zero, one);
  r = emit_select(t, emit_compare(t, "eq", in[0], zero), in[1], r);
  return emit_select(t, emit_predicate(t, LOOM_OP_IS_NAN, in[0]), in[0], r);
}

static loom_value ufunc_lcm(tracer *t, const loom_value *in, loom_dtype out) {
  loom_value zero = ufunc_number(t, in[0], 0), one = ufunc_number(t, in[0], 1);
  loom_value g = emit2(t, LOOM_OP_GCD, in[0], in[1]), none = emit_compare(t, "eq", g, zero);
  /* |a| / gcd * |b|, as NumPy; 0 where both are 0. */
  loom_value a = emit1(t, LOOM_OP_ABS, in[0]), b = emit1(t, LOOM_OP_ABS, in[1]);
  loom_value q = emit2(t, LOOM_OP_FLOOR_DIV, a, emit_select(t, none, one, g));
  return emit2(t, LOOM_OP_MUL, q, b);
}

/* The same where it is differentiated: the derivative of what is selected where both are equal
 * would be that of one of them alone. */
static loom_value ufunc_logaddexp_smooth(tracer *t, const loom_value *in, bool two) {
  loom_value first = emit_compare(t, "ge", in[0], in[1]), zero = ufunc_number(t, in[0], 0);
  loom_value top = emit_select(t, first, in[0], in[1]), low = emit_select(t, first, in[1], in[0]);
  loom_value d = emit2(t, LOOM_OP_SUB, low, top);
  loom_value equal = emit_compare(t, "eq", low, top); /* a NaN: equal infinities */
  loom_value none = emit2(t, LOOM_OP_AND, equal, emit_predicate(t, LOOM_OP_IS_NAN, d));
  d = emit_select(t, none, zero, d);
  loom_value r = emit1(t, LOOM_OP_LOG1P, emit1(t, two ? LOOM_OP_EXP2 : LOOM_OP_EXP, d));
  if (two) r = emit2(t, LOOM_OP_MUL, r, ufunc_number(t, in[0], M_LOG2E));
  return emit2(t, LOOM_OP_ADD, top, r);
}

/* max(x, y) + log1p(exp(-|x - y|)), and x + log(2) where they are equal (infinities). exp of what
 * is not positive raises no overflow, so that lanes not chosen raise no flag; nor do equal
 * infinities, whose difference is not taken. NumPy's comparisons of a NaN are invalid operations:
 * inf - inf is one too. */
static loom_value ufunc_logaddexp_of(tracer *t, const loom_value *in, bool two) {
  if (t->loops.derived) return ufunc_logaddexp_smooth(t, in, two);
  loom_value equal = emit_compare(t, "eq", in[0], in[1]), zero = ufunc_number(t, in[0], 0);
  loom_value d =
      emit2(t, LOOM_OP_SUB, emit_select(t, equal, zero, in[0]), emit_select(t, equal, zero, in[1]));
  d = emit1(t, LOOM_OP_NEG, emit1(t, LOOM_OP_ABS, d));
  loom_value r = emit1(t, LOOM_OP_LOG1P, emit1(t, two ? LOOM_OP_EXP2 : LOOM_OP_EXP, d));
  if (two) r = emit2(t, LOOM_OP_MUL, r, ufunc_number(t, in[0], M_LOG2E));
  loom_value none = emit_predicate(t, LOOM_OP_IS_NAN, d);
  r = emit_select(t, none, ufunc_number(t, in[0], -INFINITY), r);
  loom_value most = emit2(t, LOOM_OP_MAX, in[0], in[1]);
  most = emit_select(t, none, ufunc_number(t, in[0], INFINITY), most);
  r = emit2(t, LOOM_OP_ADD, most, r);
  loom_value same = emit2(t, LOOM_OP_ADD, in[0], ufunc_number(t, in[0], two ? 1.0 : M_LN2));
  return emit_select(t, equal, same, r);
}

/* Half numbers are rounded once, at the end. */
static loom_value ufunc_logaddexp_base(tracer *t, const loom_value *in, bool two) {
  if (emit_type(t, in[0])->dtype != LOOM_F16) return ufunc_logaddexp_of(t, in, two);
  loom_value wide[2] = {emit_convert(t, in[0], LOOM_F32), emit_convert(t, in[1], LOOM_F32)};
  return emit_convert(t, ufunc_logaddexp_of(t, wide, two), LOOM_F16);
}

static loom_value ufunc_logaddexp(tracer *t, const loom_value *in, loom_dtype out) {
  return ufunc_logaddexp_base(t, in, false);
}

static loom_value ufunc_logaddexp2(tracer *t, const loom_value *in, loom_dtype out) {
  return ufunc_logaddexp_base(t, in, true);
}

/* NumPy raises for integers to negative powers: whether there are any is looked at when the plan
 * runs. */
static loom_value ufunc_power_checked(tracer *t, const loom_value *in) {
  loom_value zero = ufunc_number(t, in[1], 0);
  loom_value negative = emit_reduce_all(t, "or", emit_compare(t, "lt", in[1], zero));
  if (negative == LOOM_NO_VALUE || !trace_assume(t, negative, false)) return LOOM_NO_VALUE;
  return emit2(t, LOOM_OP_POW, in[0], emit2(t, LOOM_OP_MAX, in[1], zero));
}

static loom_value ufunc_power(tracer *t, const loom_value *in, loom_dtype out) {
  loom_dtype dtype = emit_type(t, in[1])->dtype;
  uint64_t bits;
  if (!loom_dtype_is_signed(dtype)) return emit2(t, LOOM_OP_POW, in[0], in[1]);
  if (!emit_is_constant(t, in[1], &bits)) return ufunc_power_checked(t, in);
  int shift = 64 - 8 * (int)loom_dtype_size(dtype);
  if ((int64_t)(bits << shift) < 0) {
    trace_raise(t, PyExc_ValueError, "Integers to negative integer powers are not allowed.");
    return LOOM_NO_VALUE;
  }
  if (bits == 2) return emit2(t, LOOM_OP_MUL, in[0], in[0]);
  return emit2(t, LOOM_OP_POW, in[0], in[1]);
}

static bool ufunc_divmod(tracer *t, const loom_value *in, loom_value *out) {
  out[0] = emit2(t, LOOM_OP_FLOOR_DIV, in[0], in[1]);
  out[1] = emit2(t, LOOM_OP_REM, in[0], in[1]);
  return out[1] != LOOM_NO_VALUE;
}

/* The fraction has the sign of x, also for infinities and integers. */
static bool ufunc_modf(tracer *t, const loom_value *in, loom_value *out) {
  out[1] = emit1(t, LOOM_OP_TRUNC, in[0]);
  loom_value inf = emit_predicate(t, LOOM_OP_IS_INF, in[0]), zero = ufunc_number(t, in[0], 0);
  loom_value whole = emit_select(t, inf, zero, out[1]), x = emit_select(t, inf, zero, in[0]);
  out[0] = emit2(t, LOOM_OP_COPYSIGN, emit2(t, LOOM_OP_SUB, x, whole), in[0]);
  return out[0] != LOOM_NO_VALUE;
}

/* ---- the table ---- */

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wpedantic"
static ufunc_row ufunc_rows[] = {
#define LOOM_UFUNC(NAME, KIND, OP, EXTRA) {#NAME, UFUNC_##KIND, LOOM_OP_##OP, EXTRA, NULL},
#include "frontend/numpy/ufuncs.def"
#undef LOOM_UFUNC
};
#pragma GCC diagnostic pop

bool np_ufunc_init(void) {
  PyObject *numpy = PyImport_ImportModule("numpy");
  if (!numpy) return false;
  size_t n = sizeof ufunc_rows / sizeof *ufunc_rows;
  bool good = true;
  for (size_t i = 0; i < n && good; i++)
    if (!ufunc_rows[i].object)
      good = (ufunc_rows[i].object = PyObject_GetAttrString(numpy, ufunc_rows[i].name));
  Py_DECREF(numpy);
  return good;
}

const ufunc_row *ufunc_find(PyObject *ufunc) {
  for (size_t i = 0; i < sizeof ufunc_rows / sizeof *ufunc_rows; i++)
    if (ufunc_rows[i].object == ufunc) return &ufunc_rows[i];
  return NULL;
}

/* Most names are literals of the operators': where each was found last is looked at first. */
PyObject *np_ufunc_object(const char *name) {
  static uint8_t last[256];
  const size_t count = sizeof ufunc_rows / sizeof *ufunc_rows;
  uint8_t *at = &last[(uintptr_t)name * 0x9e3779b97f4a7c15u >> 56];
  if (strcmp(ufunc_rows[*at].name, name) == 0) return ufunc_rows[*at].object;
  for (size_t i = 0; i < count; i++) {
    if (strcmp(ufunc_rows[i].name, name) != 0) continue;
    *at = (uint8_t)i;
    return ufunc_rows[i].object;
  }
  return NULL;
}

/* ---- one loop ---- */

/* int64 against uint64: NumPy compares exactly. */
static loom_value ufunc_compare_mixed(tracer *t, const char *direction, const loom_value *in) {
  bool left = loom_dtype_is_signed(emit_type(t, in[0])->dtype);
  loom_value s = left ? in[0] : in[1];
  loom_value negative = emit_compare(t, "lt", s, ufunc_number(t, s, 0));
  loom_value u = emit_convert(t, s, LOOM_U64);
  loom_value r = emit_compare(t, direction, left ? u : in[0], left ? in[1] : u);
  /* A negative number is less than any unsigned one: the answer is known. */
  bool less = direction[0] == 'l', greater = direction[0] == 'g';
  bool answer = strcmp(direction, "ne") == 0 || (left ? less : greater);
  return answer ? emit2(t, LOOM_OP_OR, r, negative)
                : emit2(t, LOOM_OP_AND, r, emit1(t, LOOM_OP_NOT, negative));
}

/* A complex number is finite where both of its parts are, and is infinite or no number where one
 * of them is. */
static loom_value ufunc_predicate(tracer *t, const ufunc_row *row, loom_value in) {
  if (ufunc_is_float(t, in)) return emit_predicate(t, row->op, in);
  if (loom_dtype_is_complex(emit_type(t, in)->dtype)) {
    loom_value re = emit_predicate(t, row->op, emit1(t, LOOM_OP_REAL, in));
    loom_value im = emit_predicate(t, row->op, emit1(t, LOOM_OP_IMAG, in));
    return emit2(t, row->op == LOOM_OP_IS_FINITE ? LOOM_OP_AND : LOOM_OP_OR, re, im);
  }
  loom_type type = *emit_type(t, in);
  type.dtype = LOOM_BOOL;
  return emit_constant(t, &type, row->op == LOOM_OP_IS_FINITE);
}

/* On bool, maximum is or, minimum and multiply are and. */
static loom_opcode ufunc_bool_op(loom_opcode op) {
  switch (op) {
  case LOOM_OP_ADD:
  case LOOM_OP_MAX: return LOOM_OP_OR;
  case LOOM_OP_MUL:
  case LOOM_OP_MIN: return LOOM_OP_AND;
  default: return op;
  }
}

static bool ufunc_is_one_op(const ufunc_row *row) {
  return row->kind == UFUNC_SAME1 || row->kind == UFUNC_SAME2;
}

/* Has the row's op code for elements of this type? The columns `dtypes` and `parts` of loom.td say.
 */
static bool ufunc_has_code(const ufunc_row *row, loom_dtype dtype) {
  loom_opcode op = dtype == LOOM_BOOL ? ufunc_bool_op(row->op) : row->op;
  return strchr(loom_op_table[op].dtypes, loom_dtype_class(dtype)) &&
         (!loom_dtype_is_complex(dtype) || loom_complex_has_code(op, NULL));
}

static loom_value ufunc_row_plain(tracer *t, const ufunc_row *row, const loom_value *in,
                                  loom_dtype out) {
  loom_dtype dtype = emit_type(t, in[0])->dtype;
  switch (row->kind) {
  case UFUNC_SAME1: return emit1(t, row->op, in[0]);
  case UFUNC_SAME2:
    return emit2(t, dtype == LOOM_BOOL ? ufunc_bool_op(row->op) : row->op, in[0], in[1]);
  case UFUNC_PREDICATE: return ufunc_predicate(t, row, in[0]);
  case UFUNC_COMPARE:
    if (dtype != emit_type(t, in[1])->dtype) return ufunc_compare_mixed(t, row->extra, in);
    return emit_compare(t, row->extra, in[0], in[1]);
  case UFUNC_LOGICAL: {
    loom_value a = emit_convert(t, in[0], LOOM_BOOL);
    return row->op == LOOM_OP_NOT ? emit1(t, row->op, a)
                                  : emit2(t, row->op, a, emit_convert(t, in[1], LOOM_BOOL));
  }
  case UFUNC_ROUND:
    if (loom_dtype_is_float(dtype)) return emit1(t, row->op, in[0]);
    if (row->op != LOOM_OP_ABS || loom_dtype_is_unsigned(dtype)) return in[0];
    return emit1(t, row->op, in[0]); /* of a bool: 1 for every byte but 0 */
  default: return ((ufunc_function)(uintptr_t)row->extra)(t, in, out);
  }
}

static loom_value ufunc_either_is_nan(tracer *t, const loom_value *in) {
  return emit2(t, LOOM_OP_OR, emit1(t, LOOM_OP_IS_NAN, in[0]), emit1(t, LOOM_OP_IS_NAN, in[1]));
}

/* Complex numbers are ordered by their real parts, then by the imaginary ones. One that is partly
 * no number is before and after none. Where NumPy compares a NaN, imaginary parts only of equal
 * real ones, it reports that as invalid: as does the difference of infinities that is put in its
 * place. */
static loom_value ufunc_complex_order(tracer *t, const char *direction, const loom_value *in) {
  loom_value re[2], im[2];
  for (int i = 0; i < 2; i++) {
    re[i] = emit1(t, LOOM_OP_REAL, in[i]);
    im[i] = emit1(t, LOOM_OP_IMAG, in[i]);
  }
  const char strict[] = {direction[0], 't', 0};
  loom_value equal = emit_compare(t, "eq", re[0], re[1]);
  loom_value first = emit_compare(t, strict, re[0], re[1]);
  loom_value second = emit2(t, LOOM_OP_AND, equal, emit_compare(t, direction, im[0], im[1]));
  loom_value odd_re = ufunc_either_is_nan(t, re), odd_im = ufunc_either_is_nan(t, im);
  loom_value raises = emit2(t, LOOM_OP_OR, odd_re, emit2(t, LOOM_OP_AND, equal, odd_im));
  if (raises == LOOM_NO_VALUE) return raises;
  loom_type type = *emit_type(t, re[0]);
  loom_value endless = emit_float(t, &type, INFINITY), zero = emit_float(t, &type, 0);
  loom_value part = emit_select(t, raises, endless, zero);
  loom_value none = emit2(t, LOOM_OP_SUB, part, part);
  loom_value numbers =
      emit2(t, LOOM_OP_AND, emit1(t, LOOM_OP_NOT, odd_im), emit_compare(t, "eq", none, none));
  return emit2(t, LOOM_OP_AND, emit2(t, LOOM_OP_OR, first, second), numbers);
}

/* Ufuncs on complex numbers, as far as there are ops for them. */
static loom_value ufunc_complex(tracer *t, const ufunc_row *row, const loom_value *in) {
  const char *name = row->name;
  loom_opcode op = row->op;
  if (row->kind == UFUNC_LOGICAL || row->kind == UFUNC_PREDICATE)
    return op == LOOM_OP_SIGNBIT ? LOOM_NO_VALUE : ufunc_row_plain(t, row, in, LOOM_BOOL);
  if (row->kind == UFUNC_COMPARE) {
    const char *direction = row->extra;
    bool order = strcmp(direction, "eq") != 0 && strcmp(direction, "ne") != 0;
    return order ? ufunc_complex_order(t, direction, in) : emit_compare(t, direction, in[0], in[1]);
  }
  if (ufunc_is_one_op(row)) return ufunc_row_plain(t, row, in, emit_type(t, in[0])->dtype);
  if (strcmp(name, "positive") == 0) return in[0];
  if (strcmp(name, "square") == 0) return emit2(t, LOOM_OP_MUL, in[0], in[0]);
  bool size = strcmp(name, "absolute") == 0;
  if (!size && strcmp(name, "conjugate") != 0) return LOOM_NO_VALUE;
  loom_value re = emit1(t, LOOM_OP_REAL, in[0]), im = emit1(t, LOOM_OP_IMAG, in[0]);
  return size ? emit2(t, LOOM_OP_HYPOT, re, im)
              : emit2(t, LOOM_OP_COMPLEX, re, emit1(t, LOOM_OP_NEG, im));
}

/* Is it a NaN constant, or computed from one? */
static bool ufunc_is_nan(tracer *t, loom_value v, int depth) {
  const loom_graph *g = trace_graph(t);
  int32_t at = v == LOOM_NO_VALUE ? -1 : g->values[v].node;
  if (at < 0 || depth == 0) return false;
  const loom_node *node = &g->nodes[at];
  if (node->op == LOOM_OP_CONSTANT) {
    loom_cell cell = loom_cell_from_attr(g->values[v].type.dtype, &node->attrs[0]);
    return isnan(cell.re) || isnan(cell.im);
  }
  bool made = node->op == LOOM_OP_CONVERT || node->op == LOOM_OP_BROADCAST ||
              node->op == LOOM_OP_RESHAPE || node->op == LOOM_OP_COMPLEX;
  for (uint32_t i = 0; made && i < node->operand_count; i++)
    if (ufunc_is_nan(t, node->operands[i], depth - 1)) return true;
  return false;
}

/* NumPy compares the parts of complex operands here, which raises a flag for a NaN. A constant that
 * capture computes would raise none. */
loom_value ufunc_row_loop(tracer *t, const ufunc_row *row, const loom_value *in, loom_dtype out) {
  loom_dtype dtype = emit_type(t, in[0])->dtype;
  bool is_complex = loom_dtype_is_complex(dtype);
  bool orders = row->kind == UFUNC_COMPARE || row->op == LOOM_OP_DIV;
  orders = is_complex ? orders : strncmp(row->name, "logaddexp", 9) == 0;
  bool two = row->op != LOOM_OP_DIV || row->kind == UFUNC_SAME2; /* not np.reciprocal */
  if (orders && (ufunc_is_nan(t, in[0], 8) || (two && ufunc_is_nan(t, in[1], 8)))) {
    trace_break(t, BREAK_NUMPY_FUNCTION, "np.%s of a constant NaN", row->name);
    return LOOM_NO_VALUE;
  }
  loom_value v = LOOM_NO_VALUE;
  if (!ufunc_is_one_op(row) || ufunc_has_code(row, dtype))
    v = is_complex ? ufunc_complex(t, row, in) : ufunc_row_plain(t, row, in, out);
  if (v == LOOM_NO_VALUE && !trace_pending(t))
    trace_break(t, BREAK_UNSUPPORTED_DTYPE, "np.%s of %s numbers", row->name,
                is_complex ? "complex" : loom_dtype_name(dtype));
  return v;
}

loom_value np_ufunc_loop(tracer *t, PyObject *ufunc, const loom_value *in, loom_dtype out_dtype) {
  const ufunc_row *row = ufunc_find(ufunc);
  return row && row->kind != UFUNC_PAIR ? ufunc_row_loop(t, row, in, out_dtype) : LOOM_NO_VALUE;
}
