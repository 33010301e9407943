/* Folding of operations on constants while capturing.
 *
 * When each operand of an operation is filled with one known value, so is its result. It is
 * computed here, not in the compiler, because of floating-point flags. The compiler would fold the
 * operation as well, and then no flag would be raised when the kernel runs, although NumPy would
 * warn at every call. So the flags are looked at now, and when there is one, the function is left
 * to NumPy.
 */
#include "frontend/base/base.h"
#include "frontend/core/internal.h"
#include "frontend/core/tracer.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_control.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"

#include <fenv.h>
#include <math.h>
#include <string.h>

#define CONSTANTS_MAX 3     /* operands of a pointwise op */
#define CONSTANTS_BUDGET 64 /* how many nodes are visited behind one operand */

static const loom_node *constants_node(const loom_graph *graph, loom_value v) {
  int32_t node = graph->values[v].node;
  if (node < 0 || graph->nodes[node].op != LOOM_OP_CONSTANT) return NULL;
  loom_dtype dtype = graph->values[v].type.dtype;
  return loom_dtype_size(dtype) <= 8 ? &graph->nodes[node] : NULL;
}

static bool constants_is_pointwise(loom_opcode op) {
  switch (loom_op_table[op].lower) {
  case LOOM_LOWER_UNARY:
  case LOOM_LOWER_BINARY:
  case LOOM_LOWER_TERNARY:
  case LOOM_LOWER_PREDICATE:
  case LOOM_LOWER_COMPARE:
  case LOOM_LOWER_SELECT:
  case LOOM_LOWER_CONVERT:
  case LOOM_LOWER_VIEW: return true;
  default: return false;
  }
}

static bool constants_foldable(const loom_graph *graph, const loom_node *node) {
  if (node->operand_count == 0 || node->operand_count > CONSTANTS_MAX || node->result_count != 1)
    return false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    if (!constants_node(graph, node->operands[i])) return false;
  if (!constants_is_pointwise(node->op) || node->op == LOOM_OP_ASSUME_SHAPE ||
      node->op == LOOM_OP_COPY)
    return false;
  return loom_dtype_size(graph->values[node->first_result].type.dtype) <= 8;
}

static uint32_t constants_flags(void) {
  int raised = fetestexcept(FE_ALL_EXCEPT);
  return (raised & FE_DIVBYZERO ? LOOM_FP_DIVIDE : 0u) |
         (raised & FE_OVERFLOW ? LOOM_FP_OVERFLOW : 0u) |
         (raised & FE_UNDERFLOW ? LOOM_FP_UNDERFLOW : 0u) |
         (raised & FE_INVALID ? LOOM_FP_INVALID : 0u);
}

/* Runs a pointwise node on its operands' single values; `flags` gets what the library would report.
 */
static bool constants_compute(const loom_graph *graph, const loom_node *node, uint64_t *bits,
                              uint32_t *flags) {
  loom_type types[CONSTANTS_MAX];
  loom_buffer operands[CONSTANTS_MAX], result = {.data = bits};
  uint64_t values[CONSTANTS_MAX] = {0};
  for (uint32_t i = 0; i < node->operand_count; i++) {
    types[i] = (loom_type){.dtype = graph->values[node->operands[i]].type.dtype};
    values[i] = constants_node(graph, node->operands[i])->attrs[0].bits;
    operands[i] = (loom_buffer){.data = &values[i], .type = types[i]};
  }
  result.type.dtype = graph->values[node->first_result].type.dtype;
  loom_op_view view = {node->op, node->attrs, types, node->operand_count, node->regions};
  loom_error err;
  fenv_t saved;
  feholdexcept(&saved);
  bool good = loom_interpret_op(&view, operands, &result, 1, &err);
  *flags = constants_flags() & loom_node_fp(graph, node);
  fesetenv(&saved);
  /* Of integer operations only those that divide report anything. */
  if (loom_node_fp(graph, node) && node->operand_count == 2 &&
      loom_dtype_is_integer(types[0].dtype) && values[1] == 0)
    *flags |= LOOM_FP_DIVIDE;
  return good;
}

/* The index of the largest (or smallest) of one element. */
static bool constants_only_index(const loom_graph *graph, const loom_node *node) {
  if (node->op != LOOM_OP_REDUCE || strncmp(node->attrs[0].str, "arg", 3) != 0) return false;
  const loom_type *type = &graph->values[node->operands[0]].type;
  for (int32_t i = 0; i < node->attrs[1].count; i++)
    if (type->dims[node->attrs[1].ints[i]] != 1) return false;
  return true;
}

/* Integer operations whose result is 0 whatever the operand is: the compiler knows them, and would
 * go on folding. */
static bool constants_zero(const loom_graph *graph, const loom_node *node) {
  if (node->operand_count != 2 ||
      loom_dtype_is_inexact(graph->values[node->first_result].type.dtype))
    return false;
  if (node->op == LOOM_OP_XOR || node->op == LOOM_OP_SUB)
    return node->operands[0] == node->operands[1];
  if (node->op != LOOM_OP_AND && node->op != LOOM_OP_MUL) return false;
  for (int i = 0; i < 2; i++) {
    const loom_node *constant = constants_node(graph, node->operands[i]);
    if (constant && constant->attrs[0].bits == 0) return true;
  }
  return false;
}

/* Single numbers are multiplied without fused multiply-adds. */
static loom_cell constants_scalar_product(loom_dtype dtype, loom_cell x, loom_cell y) {
  loom_dtype part = dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  double parts[4] = {x.re * y.re, x.im * y.im, x.re * y.im, x.im * y.re};
  for (int i = 0; i < 4; i++)
    parts[i] = loom_cell_round(part, (loom_cell){.re = parts[i]}).re;
  return loom_cell_round(dtype, (loom_cell){.re = parts[0] - parts[1], .im = parts[2] + parts[3]});
}

/* The number that fills a complex value made of constants by exact operations; `flags` gets what
 * these would report. The compiler takes such a value apart and folds the parts. */
static bool constants_complex(const loom_graph *graph, loom_value v, int *budget, loom_cell *out,
                              uint32_t *flags) {
  if (graph->values[v].node < 0 || --*budget < 0) return false;
  const loom_node *node = &graph->nodes[graph->values[v].node];
  loom_dtype dtype = graph->values[v].type.dtype;
  loom_cell in[LOOM_CELL_OPERANDS] = {0};
  if (node->op == LOOM_OP_CONSTANT) return *out = loom_cell_from_attr(dtype, &node->attrs[0]), true;
  if (loom_op_table[node->op].fusion == LOOM_CLASS_VIEW)
    return constants_complex(graph, node->operands[0], budget, out, flags);
  bool unary = node->op == LOOM_OP_NEG;
  bool binary = node->op == LOOM_OP_COMPLEX || node->op == LOOM_OP_ADD || node->op == LOOM_OP_SUB ||
                node->op == LOOM_OP_MUL;
  if ((!unary && !binary) || !constants_complex(graph, node->operands[0], budget, &in[0], flags) ||
      (binary && !constants_complex(graph, node->operands[1], budget, &in[1], flags)))
    return false;
  if (node->op == LOOM_OP_COMPLEX) return *out = (loom_cell){.re = in[0].re, .im = in[1].re}, true;
  fenv_t saved;
  feholdexcept(&saved);
  bool good = true;
  if (node->op == LOOM_OP_MUL && graph->values[v].type.rank == 0)
    *out = constants_scalar_product(dtype, in[0], in[1]);
  else
    good = loom_cell_apply(node->op, dtype, in, out);
  *flags |= constants_flags() & loom_node_fp(graph, node);
  fesetenv(&saved);
  return good;
}

/* Would a division by a known complex number raise, whatever is divided? NumPy scales by the larger
 * part of the divisor, and what is computed of the divisor alone the compiler folds. */
static bool constants_division_raises(const loom_graph *graph, const loom_node *node) {
  int budget = CONSTANTS_BUDGET;
  uint32_t flags = 0;
  loom_cell divisor;
  if (node->op != LOOM_OP_DIV ||
      !loom_dtype_is_complex(graph->values[node->first_result].type.dtype) ||
      !constants_complex(graph, node->operands[1], &budget, &divisor, &flags))
    return false;
  fenv_t saved;
  feholdexcept(&saved);
  bool upright = fabs(divisor.im) > fabs(divisor.re);
  volatile double large = upright ? divisor.im : divisor.re;
  volatile double small = upright ? divisor.re : divisor.im;
  volatile double ratio = small / large;
  volatile double scale = 1 / (large + small * ratio);
  (void)scale;
  flags |= constants_flags();
  fesetenv(&saved);
  return flags != 0;
}

/* Puts a constant in the place of the node just made, which is the last one. */
static loom_value constants_replace(loom_graph *graph, loom_value v, uint64_t bits) {
  loom_type type = graph->values[v].type;
  loom_location location = graph->nodes[graph->values[v].node].location;
  graph->node_count--;
  graph->value_count--;
  loom_attr value = {.kind = LOOM_ATTR_SCALAR, .bits = bits};
  return loom_graph_node(graph, LOOM_OP_CONSTANT, NULL, 0, &value, 1, &type, 1, &location, NULL);
}

static loom_value constants_raise(tracer *t, const loom_node *node) {
  trace_break(t, BREAK_RAISES, "%s of constants reports a floating-point exception",
              loom_op_table[node->op].name);
  return LOOM_NO_VALUE;
}

/* Parts of complex constants become constants. What raises an exception breaks: false. */
static bool constants_take_part(tracer *t, loom_value *v) {
  loom_graph *graph = trace_graph(t);
  const loom_node *node = &graph->nodes[graph->values[*v].node];
  bool part = node->op == LOOM_OP_REAL || node->op == LOOM_OP_IMAG;
  loom_dtype dtype = graph->values[part ? node->operands[0] : *v].type.dtype;
  int budget = CONSTANTS_BUDGET;
  uint32_t flags = 0;
  loom_cell cell;
  if (!loom_dtype_is_complex(dtype) ||
      !constants_complex(graph, part ? node->operands[0] : *v, &budget, &cell, &flags))
    return true;
  if (flags) return constants_raise(t, node) != LOOM_NO_VALUE;
  if (!part) return true;
  loom_attr scalar;
  cell.re = node->op == LOOM_OP_REAL ? cell.re : cell.im;
  loom_cell_to_attr(dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, cell, &scalar);
  *v = constants_replace(graph, *v, scalar.bits);
  return true;
}

loom_value constants_fold(tracer *t, loom_value v) {
  loom_graph *graph = trace_graph(t);
  const loom_node *node = &graph->nodes[graph->values[v].node];
  if (constants_zero(graph, node) || constants_only_index(graph, node))
    return constants_replace(graph, v, 0);
  if (constants_division_raises(graph, node)) {
    trace_break(t, BREAK_RAISES, "a division by a complex number that raises an exception");
    return LOOM_NO_VALUE;
  }
  if (!constants_take_part(t, &v)) return LOOM_NO_VALUE;
  node = &graph->nodes[graph->values[v].node];
  if (!constants_foldable(graph, node)) return v;
  bool view = loom_op_table[node->op].lower == LOOM_LOWER_VIEW;
  uint64_t bits = view ? constants_node(graph, node->operands[0])->attrs[0].bits : 0;
  uint32_t flags = 0;
  if (!view && !constants_compute(graph, node, &bits, &flags)) return v;
  if (flags) return constants_raise(t, node);
  return constants_replace(graph, v, bits);
}
