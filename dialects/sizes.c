/* Symbolic sizes and scalars between plain C and MLIR: the affine map that is a tensor type's
 * encoding, and the attribute of a constant. */
#include <mlir-c/AffineExpr.h>
#include <mlir-c/AffineMap.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"

/* ---- to MLIR ---- */

/* min and max are no affine expressions: such a size becomes a symbol beyond the graph's own, by
 * the number of its expression in the module's table. */
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

/* One more than the highest symbol of an expression: a map lists no more, so that the same sizes
 * are the same type whatever else the module knows. */
static intptr_t sizes_symbol_count(const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return 0;
  if (expr->kind == LOOM_EXPR_SYMBOL) return (intptr_t)expr->value + 1;
  if (expr->kind == LOOM_EXPR_MIN || expr->kind == LOOM_EXPR_MAX)
    return (intptr_t)graph->symbol_count + index + 1;
  intptr_t lhs = sizes_symbol_count(graph, expr->lhs), rhs = sizes_symbol_count(graph, expr->rhs);
  return lhs > rhs ? lhs : rhs;
}

MlirType loom_type_to_mlir_in(MlirContext ctx, const loom_graph *graph, const loom_type *type) {
  MlirAffineExpr exprs[LOOM_MAX_RANK];
  int64_t dims[LOOM_MAX_RANK];
  intptr_t symbols = 0;
  bool symbolic = false;
  for (int i = 0; i < type->rank; i++)
    symbolic |= LOOM_DIM_IS_SYM(type->dims[i]);
  if (!symbolic) return loom_type_to_mlir(ctx, type);
  for (int i = 0; i < type->rank; i++) {
    bool known = !LOOM_DIM_IS_SYM(type->dims[i]);
    dims[i] = known ? type->dims[i] : mlirShapedTypeGetDynamicSize();
    exprs[i] = known ? mlirAffineConstantExprGet(ctx, type->dims[i])
                     : sizes_to_affine(ctx, graph, LOOM_DIM_EXPR(type->dims[i]));
    intptr_t used = known ? 0 : sizes_symbol_count(graph, LOOM_DIM_EXPR(type->dims[i]));
    if (used > symbols) symbols = used;
  }
  MlirAffineMap map = mlirAffineMapGet(ctx, 0, symbols, type->rank, exprs);
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
    int64_t position = mlirAffineSymbolExprGetPosition(expr), extreme;
    extreme = position - graph->symbol_count;
    if (graph->symbol_count && extreme >= 0 && extreme < graph->expr_count &&
        (graph->exprs[extreme].kind == LOOM_EXPR_MIN ||
         graph->exprs[extreme].kind == LOOM_EXPR_MAX))
      return *out = LOOM_DIM_SYM(extreme), true;
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
  return mlirShapedTypeHasStaticShape(type) || loom_sizes_read(graph, type, out);
}

bool loom_sizes_read(loom_graph *graph, MlirType type, loom_type *out) {
  if (!mlirTypeIsARankedTensor(type)) return false;
  MlirAttribute encoding = mlirRankedTensorTypeGetEncoding(type);
  if (!encoding.ptr || !mlirAttributeIsAAffineMap(encoding)) return false;
  MlirAffineMap map = mlirAffineMapAttrGetValue(encoding);
  if (mlirAffineMapGetNumDims(map) != 0 || mlirAffineMapGetNumResults(map) != out->rank)
    return false;
  for (int i = 0; i < out->rank; i++) {
    loom_dim dim;
    if (!sizes_from_affine(graph, mlirAffineMapGetResult(map, i), &dim)) return false;
    if (!mlirShapedTypeIsDynamicDim(type, i) && dim != mlirShapedTypeGetDimSize(type, i))
      return false;
    out->dims[i] = dim;
  }
  return true;
}

/* ---- the module's table ----
 *
 * A module with symbols has `loom.symbols`, what is known of each (least, largest, divisor, hint),
 * and `loom.exprs`, the table of expressions (kind, value, left, right), in an order in which
 * interning them again gives each its own number. So a number in an attribute may be
 * LOOM_STRIDE_SYM(number) in every pass. */

/* The one around an op with the table, or the outermost: while a file is parsed, its module stands
 * in another. */
static MlirOperation sizes_module(MlirOperation op) {
  MlirOperation parent = op;
  for (; op.ptr; op = mlirOperationGetParentOperation(op)) {
    parent = op;
    if (loom_get_attr(op, loom_mark_exprs).ptr) break;
  }
  return parent;
}

static bool sizes_load_symbols(MlirOperation module, loom_graph *graph) {
  MlirAttribute attr = loom_get_attr(module, loom_mark_symbols);
  if (!attr.ptr) return true;
  if (!mlirAttributeIsADenseI64Array(attr)) return false;
  intptr_t count = mlirDenseArrayGetNumElements(attr);
  if (count % 4 || count > 4 * 4096) return false;
  for (intptr_t i = 0; i < count; i += 4) {
    int64_t field[4];
    for (int k = 0; k < 4; k++)
      field[k] = mlirDenseI64ArrayGetElement(attr, i + k);
    const loom_symbol symbol = {field[0], field[1], field[2] > 0 ? field[2] : 1, field[3]};
    loom_dim ignored;
    if (symbol.min > symbol.max || !loom_dim_symbol(graph, &symbol, &ignored)) return false;
  }
  return true;
}

/* Only canonical tables: each expression must get the number that it has here. */
static bool sizes_load_expr(loom_graph *graph, const int64_t *field, int64_t index) {
  loom_dim dim;
  if (field[0] == LOOM_EXPR_CONST) {
    uint32_t made;
    return loom_expr_constant(graph, field[1], &made) && made == index;
  }
  if (field[0] == LOOM_EXPR_SYMBOL)
    return field[1] >= 0 && field[1] < graph->symbol_count &&
           loom_dim_of_symbol(graph, (uint32_t)field[1], &dim) && dim == LOOM_DIM_SYM(index);
  if (field[0] < LOOM_EXPR_ADD || field[0] > LOOM_EXPR_MAX || field[2] < 0 || field[2] >= index ||
      field[3] < 0 || field[3] >= index)
    return false;
  return loom_dim_combine(graph, (loom_expr_kind)field[0], LOOM_DIM_SYM(field[2]),
                          LOOM_DIM_SYM(field[3]), &dim) &&
         dim == LOOM_DIM_SYM(index);
}

bool loom_sizes_load(MlirOperation inside, loom_graph *graph) {
  MlirOperation module = sizes_module(inside);
  MlirAttribute attr = loom_get_attr(module, loom_mark_exprs);
  if (!attr.ptr) return true;
  if (graph->expr_count || !sizes_load_symbols(module, graph) ||
      !mlirAttributeIsADenseI64Array(attr))
    return false;
  intptr_t count = mlirDenseArrayGetNumElements(attr);
  if (count % 4 || count > 4 * 4096) return false;
  /* Symbols were interned as they were made; the table says where they belong. */
  graph->expr_count = 0;
  for (intptr_t i = 0; i < count; i += 4) {
    int64_t field[4];
    for (int k = 0; k < 4; k++)
      field[k] = mlirDenseI64ArrayGetElement(attr, i + k);
    if (!sizes_load_expr(graph, field, i / 4)) return false;
  }
  return true;
}

void loom_sizes_store(MlirOperation module, const loom_graph *graph) {
  MlirContext ctx = mlirOperationGetContext(module);
  size_t symbols = 4 * (size_t)graph->symbol_count, exprs = 4 * (size_t)graph->expr_count;
  int64_t *words = malloc(sizeof *words * (symbols + exprs + 1)), *at = words;
  if (!words) return; /* numbers without a table are refused where they are read */
  for (uint32_t i = 0; i < graph->symbol_count; i++) {
    const loom_symbol *symbol = &graph->symbols[i];
    *at++ = symbol->min, *at++ = symbol->max, *at++ = symbol->divisor, *at++ = symbol->hint;
  }
  for (uint32_t i = 0; i < graph->expr_count; i++) {
    const loom_expr *expr = &graph->exprs[i];
    *at++ = expr->kind, *at++ = expr->value, *at++ = expr->lhs, *at++ = expr->rhs;
  }
  loom_set_attr(module, loom_mark_symbols, mlirDenseI64ArrayGet(ctx, (intptr_t)symbols, words));
  loom_set_attr(module, loom_mark_exprs,
                mlirDenseI64ArrayGet(ctx, (intptr_t)exprs, words + symbols));
  free(words);
}

static _Thread_local struct {
  loom_graph graph;
  uint32_t loaded;
  bool open;
} sizes_current;

bool loom_sizes_enter(MlirOperation root) {
  loom_graph_init(&sizes_current.graph);
  sizes_current.open = true;
  bool good = loom_sizes_load(root, &sizes_current.graph);
  sizes_current.loaded = sizes_current.graph.expr_count;
  return good || loom_emit_error(mlirOperationGetLocation(root),
                                 "loom.symbols and loom.exprs are no table of sizes");
}

void loom_sizes_leave(MlirOperation root) {
  MlirOperation module = sizes_module(root);
  if (sizes_current.graph.expr_count != sizes_current.loaded)
    loom_sizes_store(module, &sizes_current.graph);
  loom_graph_fini(&sizes_current.graph);
  sizes_current.open = false;
}

loom_graph *loom_sizes(void) { return sizes_current.open ? &sizes_current.graph : NULL; }

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
