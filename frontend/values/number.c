/* Symbolic numbers: an int or float argument that is an input of the graph, so that a new value
 * needs no new capture; and ints that follow from sizes of arrays.
 *
 * Only what is exact is done symbolically. Floats: + - * and divisions by what is not 0. Ints are
 * numbers of the graph (size.c): arithmetic on them is exact or, beyond 64 bits, ends in the plain
 * function, and comparisons are decided now, with a guard. An int that is data of an array (a node)
 * is computed with in 64 bits, which the graph checks. When code needs the value itself, capture
 * starts again with the argument as a constant.
 */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/captured/captured.h"
#include "frontend/captured/guard.h"
#include "frontend/core/hooks.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "frontend/values/numbers_internal.h"
#include "frontend/values/objects.h"
#include "frontend/values/rolled.h"
#include "frontend/values/rolled_internal.h"
#include "frontend/values/values.h"
#include "frontend/values/values_internal.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_shapes.h"

#include <math.h>

bool number_is_size(const value *v) {
  return value_is_number(v) && v->number.node == LOOM_NO_VALUE;
}

loom_value number_node(tracer *t, value *v) {
  return number_is_size(v) ? size_node(t, v->number.size) : v->number.node;
}

static loom_dtype number_dtype(tracer *t, value *v) {
  if (number_is_size(v)) return LOOM_I64;
  return loom_graph_type(trace_graph(t), v->number.node)->dtype;
}

static value *number_made(tracer *t, loom_value node) {
  value *v = node == LOOM_NO_VALUE ? NULL : value_new(t, &value_number_type);
  if (v) v->number.node = node;
  return v;
}

/* An operand as a float64 node; LOOM_NO_VALUE with nothing pending: not a number of ours. */
static loom_value number_float(tracer *t, value *v) {
  loom_type type = {.dtype = LOOM_F64};
  if (value_is_number(v)) {
    loom_value node = number_node(t, v);
    if (node == LOOM_NO_VALUE || number_dtype(t, v) == LOOM_F64) return node;
    loom_attr attr = {.kind = LOOM_ATTR_NONE};
    return trace_node(t, LOOM_OP_CONVERT, &node, 1, &attr, 0, &type);
  }
  if (!value_is_const(v)) return LOOM_NO_VALUE;
  double number;
  if (PyFloat_CheckExact(v->object)) {
    number = PyFloat_AS_DOUBLE(v->object);
  } else if (PyLong_CheckExact(v->object) || PyBool_Check(v->object)) {
    number = PyLong_AsDouble(v->object);
    if (PyErr_Occurred()) return error_drop(), LOOM_NO_VALUE;
  } else {
    return LOOM_NO_VALUE;
  }
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR};
  memcpy(&attr.bits, &number, sizeof number);
  return trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
}

static bool number_is_float(tracer *t, value *v) {
  if (value_is_number(v)) return number_dtype(t, v) == LOOM_F64;
  return value_is_const(v) && PyFloat_CheckExact(v->object);
}

static bool number_is(value *v) {
  return value_is_number(v) ||
         (value_is_const(v) && (PyFloat_CheckExact(v->object) || PyLong_CheckExact(v->object) ||
                                PyBool_Check(v->object)));
}

static loom_value number_op(tracer *t, loom_opcode op, loom_value a, loom_value b) {
  return trace_node(t, op, (loom_value[]){a, b}, 2, NULL, 0, NULL);
}

static loom_value number_op1(tracer *t, loom_opcode op, loom_value a) {
  return a == LOOM_NO_VALUE ? a : trace_node(t, op, &a, 1, NULL, 0, NULL);
}

static loom_value number_compare_node(tracer *t, const char *kind, loom_value a, loom_value b) {
  const loom_attr attr = {.kind = LOOM_ATTR_STR, .str = kind};
  return trace_node(t, LOOM_OP_COMPARE, (loom_value[]){a, b}, 2, &attr, 1, NULL);
}

static loom_value number_either(tracer *t, loom_value which, loom_value yes, loom_value no) {
  return trace_node(t, LOOM_OP_SELECT, (loom_value[]){which, yes, no}, 3, NULL, 0, NULL);
}

/* The rounding error of `sum`, which is f + x. */
static loom_value number_rounded_off(tracer *t, loom_value f, loom_value x, loom_value sum) {
  loom_value sizes[2] = {trace_node(t, LOOM_OP_ABS, &f, 1, NULL, 0, NULL),
                         trace_node(t, LOOM_OP_ABS, &x, 1, NULL, 0, NULL)};
  loom_value larger = number_compare_node(t, "ge", sizes[0], sizes[1]);
  loom_value by_x = number_op(t, LOOM_OP_ADD, number_op(t, LOOM_OP_SUB, f, sum), x);
  loom_value by_f = number_op(t, LOOM_OP_ADD, number_op(t, LOOM_OP_SUB, x, sum), f);
  return number_either(t, larger, by_x, by_f);
}

value *number_sum(tracer *t, value *total, value *const *items, Py_ssize_t count,
                  Py_ssize_t *taken) {
  loom_type type = {.dtype = LOOM_F64};
  const loom_attr none = {.kind = LOOM_ATTR_SCALAR};
  loom_attr infinite = {.kind = LOOM_ATTR_SCALAR, .bits = 0x7ff0000000000000u};
  loom_value zero = trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &none, 1, &type);
  loom_value f = number_float(t, total), lost = zero;
  Py_ssize_t i = 0;
  for (; i < count && f != LOOM_NO_VALUE; i++) {
    bool is_float = number_is(items[i]) && number_is_float(t, items[i]);
    PyObject *kind = is_float || trace_pending(t) ? NULL : value_type_of(t, items[i]);
    if (!is_float && kind != (PyObject *)&PyLong_Type) break;
    loom_value x = number_float(t, items[i]);
    if (x == LOOM_NO_VALUE) break; /* too large an int: the addition sees to it */
    loom_value sum = number_op(t, LOOM_OP_ADD, f, x);
    if (is_float) lost = number_op(t, LOOM_OP_ADD, lost, number_rounded_off(t, f, x, sum));
    f = sum;
  }
  *taken = i;
  if (trace_pending(t) || f == LOOM_NO_VALUE) return NULL;
  if (lost == zero) return number_made(t, f);
  loom_value limit = trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &infinite, 1, &type);
  loom_value size = trace_node(t, LOOM_OP_ABS, &lost, 1, NULL, 0, NULL);
  loom_value both = number_op(t, LOOM_OP_AND, number_compare_node(t, "lt", size, limit),
                              number_compare_node(t, "lt", zero, size));
  return number_made(t, number_either(t, both, number_op(t, LOOM_OP_ADD, f, lost), f));
}

/* Operators as CPython numbers them (NB_ADD ...). */
enum {
  NUMBER_ADD = 0,
  NUMBER_AND = 1,
  NUMBER_FLOORDIV = 2,
  NUMBER_LSHIFT = 3,
  NUMBER_MUL = 5,
  NUMBER_MOD = 6,
  NUMBER_POW = 8,
  NUMBER_RSHIFT = 9,
  NUMBER_SUB = 10,
  NUMBER_DIV = 11
};

#define NUMBER_EXACT                                                                               \
  ((int64_t)1 << 53) /* ints up to here are floats, so that n / m rounds once                      \
                      */

static bool number_within(tracer *t, int64_t number, int64_t limit) {
  return size_less(t, -limit, number) > 0 && size_less(t, number, limit) > 0;
}

/* Is it a float that the graph computes, not one of its inputs? */
static bool number_is_data_float(tracer *t, const value *v) {
  if (!value_is_number(v) || number_is_size(v)) return false;
  const loom_graph *graph = trace_graph(t);
  return loom_graph_type(graph, v->number.node)->dtype == LOOM_F64 &&
         graph->values[v->number.node].node >= 0;
}

/* Compares as `kind` with a number: the graph checks it, and the plain function runs where it does
 * not hold. */
static bool number_assume(tracer *t, const char *kind, loom_value node, double number) {
  loom_type type = {.dtype = LOOM_F64};
  loom_attr attr = {.kind = LOOM_ATTR_SCALAR};
  memcpy(&attr.bits, &number, sizeof number);
  loom_value bound = trace_node(t, LOOM_OP_CONSTANT, NULL, 0, &attr, 1, &type);
  loom_value holds = number_compare_node(t, kind, node, bound);
  return holds != LOOM_NO_VALUE && trace_assume(t, holds, true);
}

/* A float that the graph checks to be finite: where it is not, Python raises. */
static value *number_finite(tracer *t, loom_value node) {
  loom_value size = number_op1(t, LOOM_OP_ABS, node);
  return size != LOOM_NO_VALUE && number_assume(t, "lt", size, INFINITY) ? number_made(t, node)
                                                                         : NULL;
}

/* The value of a float or int that is known not to be 0, with a guard for one that is an argument.
 */
static bool number_nonzero(tracer *t, value *v) {
  if (value_is_const(v)) return PyObject_IsTrue(v->object) == 1;
  if (number_is_size(v)) return size_equal(t, v->number.size, 0) == 0;
  if (number_is_data_float(t, v)) return number_assume(t, "ne", v->number.node, 0);
  if (!v->source || v->source->kind != SOURCE_ARG || number_dtype(t, v) != LOOM_F64) return false;
  PyObject *now = t->call.args[v->source->index];
  if (!PyFloat_CheckExact(now) || PyFloat_AS_DOUBLE(now) == 0) return false;
  trace_guard(t, (guard){.kind = GUARD_NONZERO, .source = v->source});
  return true;
}

/* ---- ints that are data ---------------------------------------------------------------------- */

static bool number_is_data_int(tracer *t, const value *v) {
  return value_is_number(v) && !number_is_size(v) &&
         loom_graph_type(trace_graph(t), v->number.node)->dtype == LOOM_I64;
}

/* An operand between -limit and limit, which the graph checks for data. LOOM_NO_VALUE with nothing
 * pending: it is none, or larger. */
static loom_value number_bounded(tracer *t, value *v, int64_t limit) {
  int64_t number;
  if (!number_is_data_int(t, v)) {
    bool fits = value_size_of(t, v, &number) && number_within(t, number, limit);
    return fits && !trace_pending(t) ? size_node(t, number) : LOOM_NO_VALUE;
  }
  loom_value node = v->number.node;
  loom_value both =
      number_op(t, LOOM_OP_AND, number_compare_node(t, "gt", node, size_node(t, -limit)),
                number_compare_node(t, "lt", node, size_node(t, limit)));
  return both != LOOM_NO_VALUE && trace_assume(t, both, true) ? node : LOOM_NO_VALUE;
}

/* Ints of which at least one is data: of 64 bits in the graph. Larger ones are Python's, so that
 * the plain function takes over where a result could be one. NULL with nothing pending: the values
 * are needed. */
static value *number_data_ints(tracer *t, int op, value *l, value *r) {
  int64_t by;
  bool divides = op == NUMBER_FLOORDIV || op == NUMBER_MOD;
  loom_opcode opcode = op == NUMBER_ADD        ? LOOM_OP_ADD
                       : op == NUMBER_SUB      ? LOOM_OP_SUB
                       : op == NUMBER_MUL      ? LOOM_OP_MUL
                       : op == NUMBER_FLOORDIV ? LOOM_OP_FLOOR_DIV
                                               : LOOM_OP_REM;
  if (!number_is_data_int(t, l) && (divides || !number_is_data_int(t, r))) return NULL;
  if (opcode == LOOM_OP_REM && op != NUMBER_MOD) return NULL;
  if (divides && (number_is_data_int(t, r) || !value_is_const(r) || !value_size_of(t, r, &by) ||
                  LOOM_STRIDE_IS_SYM(by) || by <= 0))
    return NULL;
  int64_t limit = op == NUMBER_MUL ? (int64_t)1 << 31 : (int64_t)1 << 62;
  loom_value in[2];
  in[0] = divides ? l->number.node : number_bounded(t, l, limit);
  in[1] = divides ? size_node(t, by) : number_bounded(t, r, limit);
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return NULL;
  return number_made(t, trace_node(t, opcode, in, 2, NULL, 0, NULL));
}

/* What the graph does not compute exactly as Python does: of the index of a loop it is in a table.
 */
static value *number_look_up(tracer *t, int op, value *l, value *r) {
  value *found = series_operate(t, op, l, r);
  if (!found && !trace_pending(t)) found = formula_operate(t, op, l, r);
  if (!found && !trace_pending(t)) found = number_data_ints(t, op, l, r);
  if (found || trace_pending(t)) return found;
  if (value_is_number(l)) number_know(t, l);
  if (value_is_number(r)) number_know(t, r);
  return NULL;
}

/* Python rounds the quotient of two ints once: as floats do while both are exact. */
static value *number_divide(tracer *t, value *l, value *r) {
  value *sides[2] = {l, r};
  if (t->loops.derived && value_is_const(r) && PyObject_Not(r->object) == 1)
    return trace_raise_plainly(t, "a division by zero");
  for (int i = 0; i < 2; i++) {
    int64_t number;
    if (number_is_float(t, sides[i])) continue;
    if (!value_size_of(t, sides[i], &number) || !number_within(t, number, NUMBER_EXACT))
      return trace_pending(t) ? NULL : number_look_up(t, NUMBER_DIV, l, r);
  }
  if (!number_nonzero(t, r)) return trace_pending(t) ? NULL : number_look_up(t, NUMBER_DIV, l, r);
  loom_value operands[2] = {number_float(t, l), number_float(t, r)};
  if (operands[0] == LOOM_NO_VALUE || operands[1] == LOOM_NO_VALUE) return NULL;
  return number_made(t, trace_node(t, LOOM_OP_DIV, operands, 2, NULL, 0, NULL));
}

static value *number_sized(tracer *t, loom_expr_kind kind, int64_t a, int64_t b) {
  int64_t out;
  return size_op(t, kind, a, b, &out) ? value_size(t, out) : NULL;
}

static value *number_shifted(tracer *t, loom_expr_kind kind, int64_t a, int64_t by) {
  return by >= 0 && by < 62 ? number_sized(t, kind, a, (int64_t)1 << by) : NULL;
}

/* The low bits of a number are what is left when it is divided, also of a negative one. */
static value *number_masked(tracer *t, int64_t a, int64_t b) {
  int64_t mask = LOOM_STRIDE_IS_SYM(b) ? a : b, number = mask == b ? a : b;
  bool low = !LOOM_STRIDE_IS_SYM(mask) && mask > 0 && mask < INT64_MAX && !(mask & (mask + 1));
  return low ? number_sized(t, LOOM_EXPR_MOD, number, mask + 1) : NULL;
}

/* Both are ints, at least one symbolic. NULL with nothing pending: its value is needed. */
static value *number_ints(tracer *t, int op, value *l, value *r) {
  int64_t a, b, out;
  if (!value_size_of(t, l, &a) || !value_size_of(t, r, &b)) return NULL;
  switch (op) {
  case NUMBER_ADD: return number_sized(t, LOOM_EXPR_ADD, a, b);
  case NUMBER_SUB: return size_minus(t, a, b, &out) ? value_size(t, out) : NULL;
  case NUMBER_MUL: return number_sized(t, LOOM_EXPR_MUL, a, b);
  case NUMBER_FLOORDIV:
    if (size_less(t, 0, b) <= 0) return NULL;
    return number_sized(t, LOOM_EXPR_FLOORDIV, a, b);
  case NUMBER_MOD:
    if (size_less(t, 0, b) <= 0) return NULL;
    return number_sized(t, LOOM_EXPR_MOD, a, b);
  case NUMBER_POW:
    if (b != 2) return NULL;
    return number_sized(t, LOOM_EXPR_MUL, a, a);
  case NUMBER_LSHIFT: return number_shifted(t, LOOM_EXPR_MUL, a, b);
  case NUMBER_RSHIFT: return number_shifted(t, LOOM_EXPR_FLOORDIV, a, b);
  case NUMBER_AND: return number_masked(t, a, b);
  default: return NULL;
  }
}

#define NUMBER_SQUARED 1e150 /* larger ones raise an OverflowError */

static bool number_is_two(const value *v) {
  return value_is_const(v) &&
         ((PyLong_CheckExact(v->object) && PyLong_AsLong(v->object) == 2) ||
          (PyFloat_CheckExact(v->object) && PyFloat_AS_DOUBLE(v->object) == 2));
}

/* A power where derivatives are taken, which nobody compares with Python's to the last bit. The
 * plain function runs where Python raises, or where the power is a complex number. */
static value *number_power(tracer *t, value *l, value *r) {
  bool whole = value_is_const(r) && PyLong_CheckExact(r->object);
  bool positive = whole && PyLong_AsLong(r->object) >= 0;
  loom_value in[2] = {number_float(t, l), number_float(t, r)};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return error_drop(), NULL;
  if (!positive && !number_assume(t, whole ? "ne" : "gt", in[0], 0)) return NULL;
  return number_finite(t, number_op(t, LOOM_OP_POW, in[0], in[1]));
}

static value *number_binary(tracer *t, int op, value *l, value *r, bool inplace) {
  loom_opcode opcode = op == NUMBER_ADD   ? LOOM_OP_ADD
                       : op == NUMBER_SUB ? LOOM_OP_SUB
                       : op == NUMBER_MUL ? LOOM_OP_MUL
                                          : LOOM_OP_COUNT;
  if (!number_is(l) || !number_is(r)) {
    /* n * [0], "%d" % n: the sequence wants to know. */
    value *other = value_is_number(l) ? r : l, *number = other == l ? r : l;
    if (value_is_const(other) || value_is_sequence(other)) return number_know(t, number), NULL;
    return trace_not_implemented(t);
  }
  if (op == NUMBER_DIV) return number_divide(t, l, r);
  if (!number_is_float(t, l) && !number_is_float(t, r)) {
    value *ints = number_ints(t, op, l, r);
    return ints || trace_pending(t) ? ints : number_look_up(t, op, l, r);
  }
  if (op == NUMBER_POW && number_is_data_float(t, l) && number_is_two(r)) {
    value *table = series_operate(t, op, l, r); /* as Python rounds it */
    if (table || trace_pending(t)) return table;
    return number_assume(t, "lt", trace_node(t, LOOM_OP_ABS, &l->number.node, 1, NULL, 0, NULL),
                         NUMBER_SQUARED)
               ? number_binary(t, NUMBER_MUL, l, l, false)
               : NULL;
  }
  if (op == NUMBER_POW && t->loops.derived) {
    value *power = number_power(t, l, r);
    if (power || trace_pending(t)) return power;
  }
  if (opcode == LOOM_OP_COUNT) return number_look_up(t, op, l, r);
  loom_value operands[2] = {number_float(t, l), number_float(t, r)};
  if (operands[0] == LOOM_NO_VALUE || operands[1] == LOOM_NO_VALUE)
    return trace_pending(t)
               ? NULL
               : trace_break(t, BREAK_UNSUPPORTED_TYPE, "an int too large for a float");
  return number_made(t, trace_node(t, opcode, operands, 2, NULL, 0, NULL));
}

bool value_is_whole(value *v) {
  return number_is_size(v) || (value_is_const(v) && PyLong_CheckExact(v->object));
}

value *number_math(tracer *t, const char *name, value *const *args, Py_ssize_t count) {
  static const struct {
    const char *name;
    loom_opcode op;
  } rows[] = {{"fabs", LOOM_OP_ABS},    {"exp", LOOM_OP_EXP},     {"exp2", LOOM_OP_EXP2},
              {"expm1", LOOM_OP_EXPM1}, {"log", LOOM_OP_LOG},     {"log2", LOOM_OP_LOG2},
              {"log10", LOOM_OP_LOG10}, {"log1p", LOOM_OP_LOG1P}, {"sin", LOOM_OP_SIN},
              {"cos", LOOM_OP_COS},     {"tan", LOOM_OP_TAN},     {"asin", LOOM_OP_ASIN},
              {"acos", LOOM_OP_ACOS},   {"atan", LOOM_OP_ATAN},   {"sinh", LOOM_OP_SINH},
              {"cosh", LOOM_OP_COSH},   {"tanh", LOOM_OP_TANH},   {"asinh", LOOM_OP_ASINH},
              {"acosh", LOOM_OP_ACOSH}, {"atanh", LOOM_OP_ATANH}, {"erf", LOOM_OP_ERF},
              {"cbrt", LOOM_OP_CBRT},   {"atan2", LOOM_OP_ATAN2}, {"hypot", LOOM_OP_HYPOT}};
  size_t i = 0;
  bool data = false;
  if (!t->loops.derived) return NULL;
  while (i < sizeof rows / sizeof *rows && strcmp(rows[i].name, name) != 0)
    i++;
  if (i == sizeof rows / sizeof *rows) return NULL;
  if (count != loom_op_table[rows[i].op].operands) return NULL;
  loom_value in[2] = {LOOM_NO_VALUE, LOOM_NO_VALUE};
  for (Py_ssize_t k = 0; k < count; k++)
    data |= number_is_data_float(t, args[k]);
  for (Py_ssize_t k = 0; data && k < count; k++)
    if ((in[k] = number_float(t, args[k])) == LOOM_NO_VALUE) return NULL;
  if (!data) return NULL;
  return number_finite(t, trace_node(t, rows[i].op, in, (uint32_t)count, NULL, 0, NULL));
}

value *number_sqrt(tracer *t, value *v) {
  if (number_is_data_float(t, v)) /* what is no number raises nothing: rare enough */
    return number_assume(t, "ge", v->number.node, 0)
               ? number_made(t, trace_node(t, LOOM_OP_SQRT, &v->number.node, 1, NULL, 0, NULL))
               : NULL;
  if (!number_is_size(v) || size_less(t, v->number.size, 0) != 0) return NULL;
  loom_value number = number_float(t, v);
  return number == LOOM_NO_VALUE
             ? NULL
             : number_made(t, trace_node(t, LOOM_OP_SQRT, &number, 1, NULL, 0, NULL));
}

static value *number_size_unary(tracer *t, int op, value *v) {
  int64_t number = v->number.size;
  if (op == UNOP_POS) return v;
  if (op == UNOP_ABS) {
    int negative = size_less(t, number, 0);
    if (negative < 0) return NULL;
    if (!negative) return v;
    op = UNOP_NEG;
  }
  if (op != UNOP_NEG) return number_know(t, v), NULL;
  return number_sized(t, LOOM_EXPR_MUL, number, -1);
}

static value *number_unary(tracer *t, int op, value *v) {
  if (number_is_size(v)) return number_size_unary(t, op, v);
  if (op == UNOP_POS && number_is_data_int(t, v)) return v;
  if (op == UNOP_NEG && number_is_data_int(t, v)) {
    value *zero = value_size(t, 0);
    return zero ? number_data_ints(t, NUMBER_SUB, zero, v) : NULL;
  }
  if (number_dtype(t, v) != LOOM_F64 || op == UNOP_INVERT) return number_know(t, v), NULL;
  if (op == UNOP_POS) return v;
  return number_made(t, trace_node(t, op == UNOP_NEG ? LOOM_OP_NEG : LOOM_OP_ABS, &v->number.node,
                                   1, NULL, 0, NULL));
}

/* Both as floats, or both as ints, when that loses nothing. */
static bool number_sides(tracer *t, value *const *sides, loom_value *out) {
  bool floats = number_is_float(t, sides[0]) || number_is_float(t, sides[1]);
  for (int i = 0; i < 2; i++) {
    int64_t number;
    bool is_float = number_is_float(t, sides[i]),
         sized = !is_float && value_size_of(t, sides[i], &number);
    if (trace_pending(t)) return false;
    if (sized && floats && (LOOM_STRIDE_IS_SYM(number) || llabs(number) > NUMBER_EXACT))
      return false;
    if (!sized && !is_float && (floats || number_dtype(t, sides[i]) != LOOM_I64)) return false;
    out[i] = floats  ? number_float(t, sides[i])
             : sized ? size_node(t, number)
                     : number_node(t, sides[i]);
    if (out[i] == LOOM_NO_VALUE) return false;
  }
  return true;
}

value *number_compare_data(tracer *t, int op, value *l, value *r) {
  static const char *const kinds[] = {[Py_LT] = "lt", [Py_LE] = "le", [Py_EQ] = "eq",
                                      [Py_NE] = "ne", [Py_GT] = "gt", [Py_GE] = "ge"};
  value *sides[2] = {l, r};
  loom_value in[2];
  if (!number_is(l) || !number_is(r) || !number_sides(t, sides, in)) return NULL;
  return number_made(t, number_compare_node(t, kinds[op], in[0], in[1]));
}

static value *number_compare_later(tracer *t, int op, value *l, value *r) {
  bool later = loom_config.capture_data_dependent || t->loops.derived;
  return later ? number_compare_data(t, op, l, r) : NULL;
}

static value *number_compare_sizes(tracer *t, int op, int64_t a, int64_t b) {
  bool swap = op == Py_GT || op == Py_LE, not = op == Py_LE || op == Py_GE || op == Py_NE;
  int answer =
      op == Py_EQ || op == Py_NE ? size_equal(t, a, b) : size_less(t, swap ? b : a, swap ? a : b);
  return answer < 0 ? NULL : value_bool(t, (answer > 0) != not);
}

static value *number_compare(tracer *t, int op, value *l, value *r) {
  if (!number_is(l) || !number_is(r)) return trace_not_implemented(t);
  int64_t a, b;
  if (!number_is_float(t, l) && !number_is_float(t, r) && value_size_of(t, l, &a) &&
      value_size_of(t, r, &b)) {
    bool counts = loom_loops->end_counts(t, a) || loom_loops->end_counts(t, b);
    value *later = counts ? number_compare_later(t, op, l, r) : NULL;
    return later || trace_pending(t) ? later : number_compare_sizes(t, op, a, b);
  }
  if (trace_pending(t)) return NULL;
  value *later = number_compare_later(t, op, l, r);
  if (!later && !trace_pending(t)) later = formula_compare(t, op, l, r);
  if (later || trace_pending(t)) return later;
  if (value_is_number(l)) number_know(t, l);
  if (value_is_number(r)) number_know(t, r);
  return NULL;
}

static int number_truth(tracer *t, value *v) {
  if (!number_is_size(v)) return number_know(t, v), -1;
  int zero = size_equal(t, v->number.size, 0);
  return zero < 0 ? -1 : !zero;
}

/* Methods may be formulas. What a type has not is known without the number, and so are its parts.
 */
static value *number_get_attr(tracer *t, value *v, PyObject *name) {
  loom_dtype dtype = number_dtype(t, v);
  PyTypeObject *type = dtype == LOOM_F64 ? &PyFloat_Type : &PyLong_Type;
  PyObject *found = _PyType_Lookup(type, name);
  if (!found)
    return trace_raise(t, PyExc_AttributeError, "'%s' object has no attribute '%s'",
                       dtype == LOOM_BOOL ? "bool" : type->tp_name, PyUnicode_AsUTF8(name));
  if (dtype != LOOM_BOOL && Py_IS_TYPE(found, &PyMethodDescr_Type))
    return value_method(t, value_const(t, found), v);
  const char *text = Py_IS_TYPE(found, &PyGetSetDescr_Type) ? PyUnicode_AsUTF8(name) : "";
  if (dtype != LOOM_BOOL && (strcmp(text, "real") == 0 || strcmp(text, "numerator") == 0)) return v;
  if (strcmp(text, "imag") == 0)
    return dtype == LOOM_F64 ? value_const(t, trace_keep(t, PyFloat_FromDouble(0)))
                             : value_int(t, 0);
  if (strcmp(text, "denominator") == 0) return value_int(t, 1);
  return number_know(t, v), NULL;
}

value *number_to_float(tracer *t, value *v) { return number_made(t, number_float(t, v)); }

static PyObject *number_python_type(tracer *t, value *v) {
  switch (number_dtype(t, v)) {
  case LOOM_F64: return (PyObject *)&PyFloat_Type;
  case LOOM_BOOL: return (PyObject *)&PyBool_Type;
  default: return (PyObject *)&PyLong_Type;
  }
}

static recipe *number_rebuild(tracer *t, value *v) {
  if (number_is_size(v) && !v->source && !size_is_late(t, v->number.size)) {
    recipe *size = size_exists(t, v->number.size) ? trace_recipe(t, RECIPE_SIZE) : NULL;
    if (size) size->number = v->number.size;
    return size;
  }
  recipe *r = trace_recipe(t, v->source ? RECIPE_SOURCE : RECIPE_SCALAR);
  if (!r) return NULL;
  r->source = v->source;
  loom_value node = v->source ? LOOM_NO_VALUE : number_node(t, v);
  if (node != LOOM_NO_VALUE) r->number = trace_output(t, node, NULL);
  return trace_pending(t) ? NULL : r;
}

static PyObject *number_known(tracer *t, value *v, bool plain) { return number_know(t, v), NULL; }
static bool number_known_int(tracer *t, value *v, int64_t *out) { return number_know(t, v), false; }

static bool number_key(tracer *t, value *v) { return number_is_size(v); }

const value_type value_number_type = {.name = "number",
                                      .unary = number_unary,
                                      .binary = number_binary,
                                      .compare = number_compare,
                                      .truth = number_truth,
                                      .get_attr = number_get_attr,
                                      .python_type = number_python_type,
                                      .rebuild = number_rebuild,
                                      .walk_place = roll_walk_number,
                                      .known = number_known,
                                      .known_int = number_known_int,
                                      .key = number_key,
                                      .copy = copy_same};

value *value_size(tracer *t, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return value_int(t, number);
  value *v = value_new(t, &value_number_type);
  if (!v) return NULL;
  v->number.node = LOOM_NO_VALUE;
  v->number.size = number;
  return v;
}

bool value_size_of(tracer *t, value *v, int64_t *out) {
  if (value_is_number(v)) {
    *out = v->number.size;
    return v->number.node == LOOM_NO_VALUE;
  }
  return !trace_pending(t) && value_known_int(t, v, out) && *out > -LOOM_NUMBER_LIMIT &&
         *out < LOOM_NUMBER_LIMIT;
}
