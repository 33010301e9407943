/* Loops captured once: `while` (roll.c has what they share with `for`).
 *
 * The test at the end of a `while` on ints says that a number, the excess, is positive. When the
 * excess shrinks by a constant step in every iteration, the number of iterations follows from it.
 */
#include "frontend/base/base.h"
#include "frontend/bytecode/bytecode.h"
#include "frontend/core/tracer.h"
#include "frontend/core/value.h"
#include "frontend/loops/branch_internal.h"
#include "frontend/loops/internal.h"
#include "frontend/size/size.h"
#include "frontend/values/numbers.h"
#include "loom_ops_logic.h"

/* The excess: a number that is positive when the comparison holds. */
static bool roll_excess(tracer *t, int op, int64_t l, int64_t r, int64_t *out) {
  if (op == Py_GT || op == Py_GE)
    return size_minus(t, l, r, out) && (op == Py_GT || size_op(t, LOOM_EXPR_ADD, *out, 1, out));
  return size_minus(t, r, l, out) && (op == Py_LT || size_op(t, LOOM_EXPR_ADD, *out, 1, out));
}

/* How many iterations come behind a test that holds, or -1. */
static int64_t roll_remaining(tracer *t, int64_t excess, int64_t wane) {
  int64_t up, left;
  if (LOOM_STRIDE_IS_SYM(wane) || wane >= 0 || wane < -(1ll << 40)) return -1;
  if (!size_op(t, LOOM_EXPR_ADD, excess, -wane - 1, &up) ||
      !size_op(t, LOOM_EXPR_FLOORDIV, up, -wane, &left))
    return -1;
  return left;
}

static void roll_test_plain(tracer *t, roll *r, int64_t excess) {
  int64_t wane = 0, left = -1;
  bool again = r->past[0] && size_minus(t, excess, r->excess, &wane);
  if (again) left = roll_remaining(t, excess, wane);
  r->excess = excess;
  bool few = left <= loom_config.unroll_limit && !LOOM_STRIDE_IS_SYM(left);
  bool ready = !trace_pending(t) && roll_watch(t, r, -1);
  if (!ready || trace_pending(t)) return;
  r->wane = wane;
  r->length = -1;
  if (left == -1 || few || r->period != 1 || !roll_hide(t, r, left)) roll_give_up(t, r, NULL);
}

/* Is the excess, behind the hidden iteration, what it should be? */
static bool roll_excess_holds(tracer *t, const roll *r, int64_t excess) {
  int64_t due, next;
  return size_op(t, LOOM_EXPR_ADD, r->symbol, 1, &next) &&
         size_at_iteration(t, r->excess, r->wane, next, &due) && due == excess;
}

/* Is this the test at the end of a `while`? */
static bool roll_is_test(const frame *f) {
  const loom_instr *jump = &f->code->instrs[f->pc];
  if (f->pc + 1 >= f->code->count || jump->target < 0) return false;
  if (jump->op == BC_POP_JUMP_IF_TRUE) return jump->target <= f->pc;
  return jump->op == BC_POP_JUMP_IF_FALSE && jump[1].op == BC_JUMP && jump[1].target <= f->pc;
}

static roll *roll_while(tracer *t, frame *f) {
  roll *w = t->loops.rolls;
  while (w && (w->iterator || w->frame != f || w->pc != f->pc))
    w = w->next;
  return w ? w : roll_new(t, f, NULL, LOOM_STRIDE_SYM(0));
}

/* The hidden iteration has come to its end. */
static value *roll_test_hidden(tracer *t, roll *w, bool good) {
  if (good && !trace_pending(t)) roll_check(t, w);
  if (trace_pending(t)) return NULL;
  if (w->stage == ROLL_OVER && w->rolled && w->tail)
    return t->constants.true_value; /* some are left */
  if (w->stage == ROLL_OVER && w->rolled) return w->frame = NULL, t->constants.false_value;
  roll_restart(t, w, ROLL_NEVER, 1);
  return NULL;
}

static value *roll_test_ints(tracer *t, frame *f, int op, int64_t l, int64_t r) {
  int64_t excess;
  if (!roll_excess(t, op, l, r, &excess)) return NULL;
  roll *w = roll_while(t, f);
  if (!w || trace_pending(t)) return NULL;
  if (w->stage == ROLL_HIDDEN)
    return roll_test_hidden(t, w, !w->tested && roll_excess_holds(t, w, excess));
  int goes_on = size_less(t, 0, excess);
  if (goes_on == 0) w->frame = NULL; /* the next time it is another loop */
  if (goes_on > 0 && w->stage == ROLL_WATCHING) roll_test_plain(t, w, excess);
  return NULL;
}

static bool roll_float(const value *v, double *out) {
  if (!value_is_const(v) || !(PyFloat_CheckExact(v->object) || PyLong_CheckExact(v->object)))
    return false;
  *out = PyFloat_AsDouble(v->object);
  return !PyErr_Occurred() || (error_drop(), false);
}

/* Known floats, which are on their way to each other. */
static void roll_test_floats(tracer *t, roll *w, double distance) {
  double step = w->distance - distance;
  bool far = w->past[0] && step > 0 && distance / step > (double)loom_config.unroll_limit;
  bool ready = roll_watch(t, w, -1);
  w->distance = distance;
  if (!ready || trace_pending(t)) return;
  w->tested = true;
  if (!far || w->period != 1 || !roll_hide(t, w, -1)) roll_give_up(t, w, NULL);
}

static value *roll_test_hidden_floats(tracer *t, roll *w, int op, value *left, value *right) {
  static const char *const kinds[] = {
      [Py_LT] = "lt", [Py_LE] = "le", [Py_GT] = "gt", [Py_GE] = "ge"};
  value *sides[2] = {number_to_float(t, left), number_to_float(t, right)};
  if (!sides[0] || !sides[1]) return roll_test_hidden(t, w, false);
  loom_value in[2] = {sides[0]->number.node, sides[1]->number.node};
  const loom_attr kind = {.kind = LOOM_ATTR_STR, .str = kinds[op]};
  if (in[0] == LOOM_NO_VALUE || in[1] == LOOM_NO_VALUE) return roll_test_hidden(t, w, false);
  w->condition = trace_node(t, LOOM_OP_COMPARE, in, 2, &kind, 1, NULL);
  return roll_test_hidden(t, w, w->tested && w->condition != LOOM_NO_VALUE);
}

value *roll_test(tracer *t, frame *f, int op, value *left, value *right) {
  value *sides[2] = {left, right};
  int64_t l, r;
  double a, b;
  if (op < Py_LT || op == Py_EQ || op == Py_NE || op > Py_GE || !roll_is_test(f) ||
      roll_end_has(t, f))
    return NULL;
  for (int i = 0; i < 2; i++)
    if (!value_is_number(sides[i]) && !roll_float(sides[i], &a)) return NULL;
  if (value_size_of(t, left, &l) && value_size_of(t, right, &r))
    return roll_test_ints(t, f, op, l, r);
  roll *w = trace_pending(t) ? NULL : roll_while(t, f);
  if (!w || trace_pending(t)) return NULL;
  if (w->stage == ROLL_HIDDEN) return roll_test_hidden_floats(t, w, op, left, right);
  bool known = roll_float(left, &a) && roll_float(right, &b);
  if (!known || !PyObject_RichCompareBool(left->object, right->object, op))
    w->frame = NULL; /* the next time it is another loop */
  else if (w->stage == ROLL_WATCHING)
    roll_test_floats(t, w, op == Py_LT || op == Py_LE ? b - a : a - b);
  return NULL;
}
