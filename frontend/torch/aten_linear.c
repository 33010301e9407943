/* ATen matrix products. */
#include "frontend/base/base.h"
#include "frontend/torch/emit.h"
#include "frontend/torch/emit_internal.h"
#include "frontend/torch/torch_internal.h"
#include "graph/emit.h"
#include "loom_ops_arithmetic.h"

#include <string.h>

static loom_value linear_operand(fx_call *c, int i) {
  return loom_emit_convert(c->b, fx_tensor(c, i), fx_compute_dtype(c->types[0].dtype));
}

/* The product of operands `at` and `at + 1` by the ranks that `text` names: "mm", "bmm", "mv",
 * "dot". */
static loom_value linear_product(fx_call *c, int at, const char *text) {
  loom_value l = linear_operand(c, at), r = linear_operand(c, at + 1);
  if (!strcmp(text, "bmm")) return loom_emit_dot(c->b, l, r, 1, 2, 1);
  if (!strcmp(text, "dot")) return loom_emit_dot(c->b, l, r, 0, 0, 0);
  return loom_emit_dot(c->b, l, r, 0, 1, 0); /* mm, mv */
}

bool aten_product(fx_call *c, loom_value *out) {
  loom_value v = linear_product(c, 0, c->text);
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* _int_mm: int8 as int32. On the CPU torch has instructions for it. */
bool aten_int_product(fx_call *c, loom_value *out) {
  if (c->im->place == TORCH_CPU) return fx_decline(c, "int8 on the CPU");
  loom_value l = loom_emit_convert(c->b, fx_tensor(c, 0), LOOM_I32);
  loom_value r = loom_emit_convert(c->b, fx_tensor(c, 1), LOOM_I32);
  out[0] = loom_emit_dot(c->b, l, r, 0, 1, 0);
  return out[0] != LOOM_NO_VALUE;
}

/* A term times the number at argument `i`, unless that is 1. */
static loom_value linear_scaled(fx_call *c, loom_value v, int i, const loom_type *type) {
  PyObject *o = c->args[i];
  if ((PyLong_Check(o) && PyLong_AsLong(o) == 1) || (PyFloat_Check(o) && PyFloat_AS_DOUBLE(o) == 1))
    return v;
  return loom_emit2(c->b, LOOM_OP_MUL, v, fx_operand(c, i, type->dtype, type));
}

/* addmm, baddbmm, addmv(self, l, r, beta, alpha): beta * self + alpha * (l @ r). */
bool aten_add_product(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value v = linear_scaled(c, linear_product(c, 1, c->text), 4, &type);
  double beta = 1;
  if (!fx_double(c, 3, &beta)) return false;
  if (beta != 0) {
    loom_value self = fx_operand(c, 0, type.dtype, &type);
    v = loom_emit2(c->b, LOOM_OP_ADD, v, linear_scaled(c, self, 3, &type));
  }
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* addbmm(self, batch1, batch2, beta, alpha): the products of the batch, summed: one product over
 * the joined axes. */
bool aten_addbmm(fx_call *c, loom_value *out) {
  loom_type type = c->types[0];
  type.dtype = fx_compute_dtype(type.dtype);
  loom_value l = linear_operand(c, 1), r = linear_operand(c, 2);
  double beta = 1;
  if (l == LOOM_NO_VALUE || r == LOOM_NO_VALUE || !fx_double(c, 3, &beta)) return false;
  const loom_type lt = *loom_emit_type(c->b, l), rt = *loom_emit_type(c->b, r);
  if (loom_type_elements(&lt) <= 0 || loom_type_elements(&rt) <= 0)
    return fx_decline(c, "a size that is unknown or 0");
  loom_dim inner = lt.dims[0] * lt.dims[2];
  l = loom_emit_transpose(c->b, l, (int64_t[]){1, 0, 2});
  l = loom_emit_reshape(c->b, l, 2, (loom_dim[]){lt.dims[1], inner});
  r = loom_emit_reshape(c->b, r, 2, (loom_dim[]){inner, rt.dims[2]});
  loom_value v = linear_scaled(c, loom_emit_dot(c->b, l, r, 0, 1, 0), 4, &type);
  if (beta != 0) {
    loom_value self = fx_operand(c, 0, type.dtype, &type);
    v = loom_emit2(c->b, LOOM_OP_ADD, v, linear_scaled(c, self, 3, &type));
  }
  out[0] = fx_round(c, 0, v);
  return out[0] != LOOM_NO_VALUE;
}

/* ---- grouped products ------------------------------------------------------------------------ */

static bool linear_groups(fx_call *c, torch_native_fn run, int count, loom_value *out) {
  if (!torch_has_product()) return fx_decline(c, "this torch has no product to call");
  loom_dtype dtype = c->types[0].dtype;
  for (int i = 0; i < count; i++) {
    loom_value v = fx_tensor(c, i);
    if (v == LOOM_NO_VALUE) return false;
    loom_dtype given = loom_emit_type(c->b, v)->dtype;
    if (i == 2 ? given != LOOM_I32 && given != LOOM_I64 : given != dtype)
      return fx_decline(c, "operands of other types");
  }
  if (!loom_dtype_is_float(dtype)) return fx_decline(c, "elements that are no floats");
  return torch_native_emit(c, run, (const int[]){0, 1, 2, 3}, count, NULL, 0, out);
}

/* transformers.grouped_mm_fallback(input, weight, offs) and its backward (.., grad_output). */
bool aten_grouped(fx_call *c, loom_value *out) {
  return linear_groups(c, torch_grouped_rows, 3, out);
}

bool aten_grouped_backward(fx_call *c, loom_value *out) {
  return linear_groups(c, torch_grouped_gradients, 4, out);
}

/* _grouped_mm(self, mat2, offs, bias, out_dtype): groups of rows of `self`, each with a matrix of
 * its own, or groups of what is summed over. */
bool aten_grouped_mm(fx_call *c, loom_value *out) {
  if (!fx_has(c, 2) || fx_has(c, 3)) return fx_decline(c, "no offsets, or a bias");
  loom_value l = fx_tensor(c, 0), r = fx_tensor(c, 1);
  if (l == LOOM_NO_VALUE || r == LOOM_NO_VALUE) return false;
  int left = loom_emit_type(c->b, l)->rank, right = loom_emit_type(c->b, r)->rank;
  if (left == 2 && right == 3) return linear_groups(c, torch_grouped_rows, 3, out);
  if (left == 2 && right == 2) return linear_groups(c, torch_grouped_sums, 3, out);
  return fx_decline(c, "groups of columns, or none");
}

/* ---- triangular systems ---------------------------------------------------------------------- */

#define LINEAR_SMALL 32 /* equations that are solved one by one; LAPACK is better at more */

/* linalg_solve_triangular(self, B, *, upper, left, unitriangular). */
bool aten_solve_triangular(fx_call *c, loom_value *out) {
  bool upper, left, unit;
  loom_value a = fx_tensor(c, 0), b = fx_tensor(c, 1);
  if (a == LOOM_NO_VALUE || b == LOOM_NO_VALUE || !fx_bool(c, 2, &upper) || !fx_bool(c, 3, &left) ||
      !fx_bool(c, 4, &unit))
    return false;
  const loom_type from = *loom_emit_type(c->b, a), right = *loom_emit_type(c->b, b);
  loom_dtype dtype = c->types[0].dtype;
  if ((dtype != LOOM_F32 && dtype != LOOM_F64) || from.dtype != dtype || right.dtype != dtype)
    return fx_decline(c, "elements that are neither float32 nor float64");
  if (from.rank < 2 || right.rank < 2 || c->types[0].rank < 2 ||
      from.dims[from.rank - 1] > LINEAR_SMALL)
    return fx_decline(c, "more equations than are solved one by one");
  return torch_native_emit(c, torch_triangular, (const int[]){0, 1}, 2,
                           (const int64_t[]){upper, left, unit}, 3, out);
}
