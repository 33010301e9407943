/* ATen ops on complex numbers, by their parts.
 *
 * Of the other emitters those may work on complex numbers whose nodes passes/complex.c takes apart;
 * fx_complex_ok looks at what they have built. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/index_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

/* ---- what kernels have formulas for ---------------------------------------------------------- */

static bool complex_value(const loom_emitter *b, loom_value v) {
  return loom_dtype_is_complex(loom_emit_type(b, v)->dtype);
}

static bool complex_node_ok(const loom_emitter *b, const loom_node *node) {
  bool complex = false;
  for (uint32_t i = 0; i < node->operand_count; i++)
    complex |= complex_value(b, node->operands[i]);
  bool result = node->result_count && complex_value(b, node->first_result);
  if (!complex && !result) return true;
  /* to another complex type, or to bool; never silently to the real part */
  if (node->op == LOOM_OP_CONVERT)
    return result || loom_emit_type(b, node->first_result)->dtype == LOOM_BOOL;
  return loom_complex_has_code(node->op, node->attrs);
}

bool fx_complex_ok(fx_call *c, uint32_t first_node) {
  const loom_graph *graph = c->b->graph;
  for (uint32_t i = first_node; i < graph->node_count; i++)
    if (!complex_node_ok(c->b, &graph->nodes[i]))
      return fx_decline(c, "loom.%s of complex numbers", loom_op_table[graph->nodes[i].op].name);
  return true;
}

/* ---- ops on the parts ------------------------------------------------------------------------ */

static bool complex_done(loom_value v, loom_value *out) {
  out[0] = v;
  return v != LOOM_NO_VALUE;
}

static loom_value complex_of(fx_call *c, loom_value re, loom_value im) {
  return loom_emit2(c->b, LOOM_OP_COMPLEX, re, im);
}

/* Real and imaginary part of operand 0, which has to be complex. */
static bool complex_parts(fx_call *c, loom_value *re, loom_value *im) {
  loom_value v = fx_tensor(c, 0);
  *re = *im = LOOM_NO_VALUE;
  if (v == LOOM_NO_VALUE || !complex_value(c->b, v)) return fx_decline(c, "a real operand");
  *re = loom_emit1(c->b, LOOM_OP_REAL, v);
  *im = loom_emit1(c->b, LOOM_OP_IMAG, v);
  return *im != LOOM_NO_VALUE;
}

bool fx_is_complex_operand(fx_call *c, int i) {
  return fx_is_tensor(c, i) && complex_value(c->b, fx_tensor(c, i));
}

/* complex(real, imag). */
bool aten_complex(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = type.dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  for (int i = 0; i < 2; i++)
    if (fx_tensor(c, i) == LOOM_NO_VALUE || index_type(c, i)->dtype != type.dtype)
      return fx_decline(c, "parts of another type, which torch refuses");
  return complex_done(
      complex_of(c, fx_operand(c, 0, type.dtype, &type), fx_operand(c, 1, type.dtype, &type)), out);
}

/* polar(abs, angle). */
bool aten_polar(fx_call *c, loom_value *out) {
  loom_emitter *b = c->b;
  loom_type type = c->types[0];
  type.dtype = type.dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  loom_value size = fx_operand(c, 0, type.dtype, &type),
             angle = fx_operand(c, 1, type.dtype, &type);
  loom_value re = loom_emit2(b, LOOM_OP_MUL, size, loom_emit1(b, LOOM_OP_COS, angle));
  loom_value im = loom_emit2(b, LOOM_OP_MUL, size, loom_emit1(b, LOOM_OP_SIN, angle));
  return complex_done(complex_of(c, re, im), out);
}

/* view_as_complex: pairs along the last axis. */
bool aten_view_as_complex(fx_call *c, loom_value *out) {
  loom_value v = fx_tensor(c, 0), part[2];
  if (v == LOOM_NO_VALUE) return false;
  int last = loom_emit_type(c->b, v)->rank - 1;
  if (last < 0) return fx_decline(c, "a 0-d operand");
  for (int i = 0; i < 2; i++) {
    part[i] = loom_emit_slice(c->b, v, last, i, 1, 1);
    part[i] = loom_emit_reshape(c->b, part[i], c->types[0].rank, c->types[0].dims);
  }
  return complex_done(complex_of(c, part[0], part[1]), out);
}

/* view_as_real: the parts along a new last axis. */
bool aten_view_as_real(fx_call *c, loom_value *out) {
  loom_value part[2];
  if (!complex_parts(c, &part[0], &part[1])) return false;
  loom_type type = c->types[0];
  type.dims[type.rank - 1] = 1;
  for (int i = 0; i < 2; i++)
    part[i] = loom_emit_reshape(c->b, part[i], type.rank, type.dims);
  return complex_done(loom_emit_concatenate(c->b, part, 2, type.rank - 1), out);
}

/* _conj, conj_physical: of real numbers they are nothing. */
bool aten_conj(fx_call *c, loom_value *out) {
  loom_value re, im;
  if (!fx_is_complex_operand(c, 0)) return aten_same(c, out);
  if (!complex_parts(c, &re, &im)) return false;
  return complex_done(complex_of(c, re, loom_emit1(c->b, LOOM_OP_NEG, im)), out);
}

bool fx_complex_abs(fx_call *c, loom_value *out) {
  loom_value re, im;
  return complex_parts(c, &re, &im) && complex_done(loom_emit2(c->b, LOOM_OP_HYPOT, re, im), out);
}

bool fx_complex_angle(fx_call *c, loom_value *out) {
  loom_value re, im;
  return complex_parts(c, &re, &im) && complex_done(loom_emit2(c->b, LOOM_OP_ATAN2, im, re), out);
}

/* sgn: x / |x|, and 0 of 0. */
bool aten_sgn(fx_call *c, loom_value *out) {
  loom_value re, im;
  loom_emitter *b = c->b;
  if (!fx_is_complex_operand(c, 0)) return aten_sign(c, out);
  if (!complex_parts(c, &re, &im)) return false;
  const loom_type type = *loom_emit_type(b, re);
  loom_value size = loom_emit2(b, LOOM_OP_HYPOT, re, im), zero = loom_emit_int(b, &type, 0);
  loom_value none = loom_emit_compare(b, "eq", size, zero);
  re = loom_emit_select(b, none, zero, loom_emit2(b, LOOM_OP_DIV, re, size));
  im = loom_emit_select(b, none, zero, loom_emit2(b, LOOM_OP_DIV, im, size));
  return complex_done(complex_of(c, re, im), out);
}

/* A complex operand as a real dtype: its real part, as eager torch takes it (with a warning). */
bool fx_complex_to_real(fx_call *c, loom_value *out) {
  loom_value re, im;
  return complex_parts(c, &re, &im) &&
         complex_done(loom_emit_convert(c->b, re, c->types[0].dtype), out);
}
