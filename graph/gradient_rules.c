/* Derivatives of pointwise ops: the column `gradient` of loom.td, in the words below. */
#include "graph/gradient_rules.h"
#include "graph/ops.h"

#include <math.h>

/* ---- the words of the column: of the step `s` ---- */

#define OP1(OP, A) loom_emit1(s->b, LOOM_OP_##OP, A)
#define OP2(OP, A, B) loom_emit2(s->b, LOOM_OP_##OP, A, B)
#define ADD(A, B) OP2(ADD, A, B)
#define SUB(A, B) OP2(SUB, A, B)
#define MUL(A, B) OP2(MUL, A, B)
#define DIV(A, B) OP2(DIV, A, B)
#define NEG(A) OP1(NEG, A)
#define SQUARE(A) MUL(A, A)
#define NUMBER(X) rule_number(s, X)
#define WHERE(C, A, B) loom_emit_select(s->b, C, A, B)
#define COMPARE(DIRECTION, A, B) loom_emit_compare(s->b, DIRECTION, A, B)
#define ZERO LOOM_NO_VALUE

/* A number as a value of the type of the cotangent. */
static loom_value rule_number(const loom_gradient_step *s, double x) {
  const loom_type type = *loom_emit_type(s->b, s->g);
  return loom_emit_float(s->b, &type, x);
}

/* The cotangent where x is the one that was chosen, half of it where both were. */
static loom_value rule_chosen(const loom_gradient_step *s, const char *direction, loom_value x,
                              loom_value y, loom_value g) {
  loom_value tie = WHERE(COMPARE("eq", x, y), NUMBER(0.5), NUMBER(0));
  return MUL(g, WHERE(COMPARE(direction, x, y), NUMBER(1), tie));
}

/* The same, where a NaN is chosen only if both are: `y` is another number where it is NaN. */
static loom_value rule_chosen_number(const loom_gradient_step *s, const char *direction,
                                     loom_value x, loom_value y, loom_value g) {
  loom_value one = WHERE(OP1(IS_NAN, y), NUMBER(1), NUMBER(0));
  loom_value tie = WHERE(COMPARE("eq", x, y), NUMBER(0.5), one);
  return MUL(g, WHERE(COMPARE(direction, x, y), NUMBER(1), tie));
}

/* d/dx x ** y = y x ** (y - 1), 0 where y is 0. Only where x is 0, too, it has to be another
 * formula: it is differentiated by y. A constant exponent stays one. */
static loom_value rule_power_base(const loom_gradient_step *s, loom_value x, loom_value y,
                                  loom_value g) {
  const loom_attr *known = loom_emit_constant_of(s->b, y);
  loom_dtype dtype = loom_emit_type(s->b, y)->dtype;
  if (known && loom_dtype_is_float(dtype)) {
    double number = loom_cell_from_attr(dtype, known).re;
    if (number == 2) return MUL(g, MUL(y, x));
    if (number != 0) return MUL(g, MUL(y, OP2(POW, x, NUMBER(number - 1))));
  }
  loom_value zero = NUMBER(0);
  loom_value both = OP2(AND, COMPARE("eq", x, zero), COMPARE("eq", y, zero));
  loom_value less = WHERE(both, NUMBER(1), SUB(y, NUMBER(1)));
  return MUL(g, MUL(y, OP2(POW, x, less)));
}

/* d/dy x ** y = x ** y log(x), 0 where x is 0. */
static loom_value rule_power_exponent(const loom_gradient_step *s, loom_value x, loom_value r,
                                      loom_value g) {
  loom_value positive = WHERE(COMPARE("eq", x, NUMBER(0)), NUMBER(1), x);
  return MUL(g, MUL(r, OP1(LOG, positive)));
}

/* Back to the element type of the operand. Of a real number that became a complex one: the real
 * part; of a complex one that became real there is only the real part. */
static loom_value rule_convert(const loom_gradient_step *s, loom_value x, loom_value g) {
  loom_dtype from = loom_emit_type(s->b, x)->dtype, to = loom_emit_type(s->b, g)->dtype;
  if (loom_dtype_is_complex(to) && !loom_dtype_is_complex(from)) g = OP1(REAL, g);
  return loom_emit_convert(s->b, g, from);
}

/* ---- the rules ---- */

loom_value loom_gradient_pointwise(const loom_gradient_step *s, uint32_t index) {
  const loom_node *node = &s->node;
  loom_value g = s->g, r = s->result, x = node->operands[0];
  loom_value y = node->operand_count > 1 ? node->operands[1] : LOOM_NO_VALUE;
  loom_value z = node->operand_count > 2 ? node->operands[2] : LOOM_NO_VALUE;
  (void)r, (void)z;
  switch (node->op * 4 + index) {
#define LOOM_OP_GRADIENT(OP, INDEX, FORMULA)                                                       \
  case LOOM_OP_##OP * 4 + INDEX: return FORMULA;
#include "loom_gradients.inc"
#undef LOOM_OP_GRADIENT
  default: return loom_emit_fail(s->b, "'%s' has no derivative", loom_op_table[node->op].name);
  }
}
