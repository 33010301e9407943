/* Symbolic sizes and scalars between plain C and MLIR: the affine map that is a tensor type's
 * encoding, and the attribute of a constant. */
#include <mlir-c/AffineExpr.h>
#include <mlir-c/AffineMap.h>
#include <string.h>

#include "dialects/ir.h"

/* ---- to MLIR ---- */

/* min and max are no affine expressions: such a size becomes a symbol beyond the graph's own. */
static MlirAffineExpr sizes_to_affine(MlirContext ctx, const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return mlirAffineConstantExprGet(ctx, expr->value);
  if (expr->kind == LOOM_EXPR_SYMBOL) return mlirAffineSymbolExprGet(ctx, expr->value);
  if (expr->kind == LOOM_EXPR_MIN || expr->kind == LOOM_EXPR_MAX)
    return mlirAffineSymbolExprGet(ctx, graph->symbol_count + index);
  MlirAffineExpr lhs = sizes_to_affine(ctx, graph, expr->lhs);
  MlirAffineExpr rhs = sizes_to_affine(ctx, graph, expr->rhs);
  switch (expr->kind) {
  case LOOM_EXPR_ADD: return mlirAffineAddExprGet(lhs, rhs);
  case LOOM_EXPR_MUL: return mlirAffineMulExprGet(lhs, rhs);
  case LOOM_EXPR_FLOORDIV: return mlirAffineFloorDivExprGet(lhs, rhs);
  default: return mlirAffineModExprGet(lhs, rhs);
  }
}

static intptr_t sizes_symbol_count(const loom_graph *graph) {
  for (uint32_t i = 0; i < graph->expr_count; i++)
    if (graph->exprs[i].kind == LOOM_EXPR_MIN || graph->exprs[i].kind == LOOM_EXPR_MAX)
      return (intptr_t)graph->symbol_count + graph->expr_count;
  return graph->symbol_count;
}

MlirType loom_type_to_mlir_in(MlirContext ctx, const loom_graph *graph, const loom_type *type) {
  MlirAffineExpr exprs[LOOM_MAX_RANK];
  int64_t dims[LOOM_MAX_RANK];
  bool symbolic = false;
  for (int i = 0; i < type->rank; i++)
    symbolic |= LOOM_DIM_IS_SYM(type->dims[i]);
  if (!symbolic) return loom_type_to_mlir(ctx, type);
  for (int i = 0; i < type->rank; i++) {
    bool known = !LOOM_DIM_IS_SYM(type->dims[i]);
    dims[i] = known ? type->dims[i] : mlirShapedTypeGetDynamicSize();
    exprs[i] = known ? mlirAffineConstantExprGet(ctx, type->dims[i])
                     : sizes_to_affine(ctx, graph, LOOM_DIM_EXPR(type->dims[i]));
  }
  MlirAffineMap map = mlirAffineMapGet(ctx, 0, sizes_symbol_count(graph), type->rank, exprs);
  return mlirRankedTensorTypeGet(type->rank, dims, loom_dtype_to_mlir(ctx, type->dtype),
                                 mlirAffineMapAttrGet(map));
}

/* ---- from MLIR ---- */

static bool sizes_from_affine(loom_graph *graph, MlirAffineExpr expr, loom_dim *out) {
  if (mlirAffineExprIsAConstant(expr)) {
    int64_t value = mlirAffineConstantExprGetValue(expr);
    return value >= 0 ? (*out = value, true) : loom_dim_constant(graph, value, out);
  }
  if (mlirAffineExprIsASymbol(expr)) {
    int64_t position = mlirAffineSymbolExprGetPosition(expr);
    while (graph->symbol_count <= position)
      if (graph->symbol_count >= 4096 || !loom_dim_symbol(graph, NULL, out)) return false;
    return loom_dim_of_symbol(graph, (uint32_t)position, out);
  }
  loom_expr_kind kind;
  if (mlirAffineExprIsAAdd(expr))
    kind = LOOM_EXPR_ADD;
  else if (mlirAffineExprIsAMul(expr))
    kind = LOOM_EXPR_MUL;
  else if (mlirAffineExprIsAFloorDiv(expr))
    kind = LOOM_EXPR_FLOORDIV;
  else if (mlirAffineExprIsAMod(expr))
    kind = LOOM_EXPR_MOD;
  else
    return false;
  loom_dim lhs, rhs;
  return sizes_from_affine(graph, mlirAffineBinaryOpExprGetLHS(expr), &lhs) &&
         sizes_from_affine(graph, mlirAffineBinaryOpExprGetRHS(expr), &rhs) &&
         loom_dim_combine(graph, kind, lhs, rhs, out);
}

bool loom_type_from_mlir_in(loom_graph *graph, MlirType type, loom_type *out) {
  if (!loom_type_from_mlir(type, out)) return false;
  if (mlirShapedTypeHasStaticShape(type)) return true;
  if (!mlirTypeIsARankedTensor(type)) return false;
  MlirAttribute encoding = mlirRankedTensorTypeGetEncoding(type);
  if (!encoding.ptr || !mlirAttributeIsAAffineMap(encoding)) return false;
  MlirAffineMap map = mlirAffineMapAttrGetValue(encoding);
  if (mlirAffineMapGetNumDims(map) != 0 || mlirAffineMapGetNumResults(map) != out->rank)
    return false;
  for (int i = 0; i < out->rank; i++) {
    loom_dim dim;
    if (!sizes_from_affine(graph, mlirAffineMapGetResult(map, i), &dim)) return false;
    if (!mlirShapedTypeIsDynamicDim(type, i) && dim != out->dims[i]) return false;
    out->dims[i] = dim;
  }
  return true;
}

/* ---- scalars ---- */

static MlirAttribute sizes_float(MlirContext ctx, loom_dtype dtype, uint64_t bits) {
  MlirType type = loom_dtype_to_mlir(ctx, dtype);
  uint32_t low = (uint32_t)bits;
  float narrow;
  double value;
  if (dtype == LOOM_F64) {
    memcpy(&value, &bits, sizeof value);
  } else if (dtype == LOOM_F32) {
    memcpy(&narrow, &low, sizeof narrow);
    value = narrow;
  } else {
    value = dtype == LOOM_F16 ? loom_half_to_double(bits) : loom_bfloat_to_double(bits);
  }
  return mlirFloatAttrDoubleGet(ctx, type, value);
}

MlirAttribute loom_scalar_to_mlir(MlirContext ctx, loom_dtype dtype, const loom_attr *scalar) {
  int shift = 64 - 8 * (int)loom_dtype_size(dtype);
  switch (loom_dtype_class(dtype)) {
  case 'b': return mlirIntegerAttrGet(loom_dtype_to_mlir(ctx, dtype), scalar->bits & 1);
  case 'i':
    return mlirIntegerAttrGet(loom_dtype_to_mlir(ctx, dtype),
                              (int64_t)(scalar->bits << shift) >> shift);
  case 'u':
    return mlirIntegerAttrGet(loom_dtype_to_mlir(ctx, dtype),
                              (int64_t)(scalar->bits << shift >> shift));
  case 'f': return sizes_float(ctx, dtype, scalar->bits);
  default: break;
  }
  bool narrow = dtype == LOOM_C64;
  loom_dtype part = narrow ? LOOM_F32 : LOOM_F64;
  MlirAttribute parts[2] = {sizes_float(ctx, part, scalar->bits),
                            sizes_float(ctx, part, narrow ? scalar->bits >> 32 : scalar->bits_hi)};
  return mlirArrayAttrGet(ctx, 2, parts);
}

static bool sizes_float_bits(MlirAttribute attr, loom_dtype dtype, uint64_t *out) {
  loom_dtype own;
  if (!mlirAttributeIsAFloat(attr) || !loom_dtype_from_mlir(mlirAttributeGetType(attr), &own) ||
      own != dtype)
    return false;
  double value = mlirFloatAttrGetValueDouble(attr);
  float narrow = (float)value;
  uint32_t low;
  *out = 0;
  switch (dtype) {
  case LOOM_F64: memcpy(out, &value, sizeof value); break;
  case LOOM_F32:
    memcpy(&low, &narrow, sizeof low);
    *out = low;
    break;
  case LOOM_F16: *out = loom_half_from_double(value); break;
  default: *out = loom_bfloat_from_double(value); break;
  }
  return true;
}

static bool sizes_complex_bits(MlirAttribute attr, loom_dtype dtype, loom_attr *out) {
  loom_dtype part = dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64;
  uint64_t high;
  if (!mlirAttributeIsAArray(attr) || mlirArrayAttrGetNumElements(attr) != 2 ||
      !sizes_float_bits(mlirArrayAttrGetElement(attr, 0), part, &out->bits) ||
      !sizes_float_bits(mlirArrayAttrGetElement(attr, 1), part, &high))
    return false;
  if (dtype == LOOM_C64)
    out->bits |= high << 32;
  else
    out->bits_hi = high;
  return true;
}

bool loom_scalar_from_mlir(MlirAttribute attr, loom_dtype dtype, loom_attr *out) {
  memset(out, 0, sizeof *out);
  out->kind = LOOM_ATTR_SCALAR;
  if (loom_dtype_is_complex(dtype)) return sizes_complex_bits(attr, dtype, out);
  if (loom_dtype_is_float(dtype)) return sizes_float_bits(attr, dtype, &out->bits);
  loom_dtype own;
  if (!mlirAttributeIsAInteger(attr) || !loom_dtype_from_mlir(mlirAttributeGetType(attr), &own) ||
      own != dtype)
    return false;
  if (dtype == LOOM_BOOL)
    out->bits = mlirIntegerAttrGetValueInt(attr) != 0;
  else if (loom_dtype_is_unsigned(dtype))
    out->bits = mlirIntegerAttrGetValueUInt(attr);
  else
    out->bits = (uint64_t)mlirIntegerAttrGetValueInt(attr);
  return true;
}
