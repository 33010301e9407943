/* The table of functions, and the tools they are written with (math.h). */
#include "passes/math.h"

#include <stdio.h>
#include <string.h>

/* ---- tools ---- */

math math_of(lower *l, loom_builder *b, MlirValue x) {
  MlirType type = mlirValueGetType(x);
  bool f64 = mlirTypeIsAF64(lane_element(type));
  math m = {l, b, type, lane_like(type, mlirIntegerTypeGet(b->ctx, f64 ? 64 : 32)), f64};
  return m;
}

MlirValue math_const(math *m, double value) { return lane_const_float(m->b, m->type, value); }
MlirValue math_int(math *m, int64_t value) { return lane_const_int(m->b, m->ints, value); }
MlirValue math_add(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.addf", x, y); }
MlirValue math_sub(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.subf", x, y); }
MlirValue math_mul(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.mulf", x, y); }
MlirValue math_div(math *m, MlirValue x, MlirValue y) { return lane_op2(m->b, "arith.divf", x, y); }
MlirValue math_fma(math *m, MlirValue x, MlirValue y, MlirValue z) {
  return lane_fma(m->b, x, y, z);
}
MlirValue math_scale(math *m, MlirValue x, double by) { return math_mul(m, x, math_const(m, by)); }
MlirValue math_abs(math *m, MlirValue x) { return lane_op1(m->b, "llvm.intr.fabs", x); }
MlirValue math_neg(math *m, MlirValue x) { return lane_op1(m->b, "arith.negf", x); }
MlirValue math_sqrt(math *m, MlirValue x) { return lane_op1(m->b, "llvm.intr.sqrt", x); }
MlirValue math_copysign(math *m, MlirValue x, MlirValue sign) {
  return lane_op2(m->b, "llvm.intr.copysign", x, sign);
}
MlirValue math_test(math *m, const char *predicate, MlirValue x, double y) {
  return lane_cmpf(m->b, predicate, x, math_const(m, y));
}
MlirValue math_pick(math *m, MlirValue condition, MlirValue x, MlirValue y) {
  return lane_select(m->b, condition, x, y);
}
MlirValue math_bits(math *m, MlirValue x) { return loom_build1(m->b, "arith.bitcast", x, m->ints); }
MlirValue math_from_bits(math *m, MlirValue x) {
  return loom_build1(m->b, "arith.bitcast", x, m->type);
}
MlirValue math_iop(math *m, const char *name, MlirValue x, int64_t y) {
  return lane_op2(m->b, name, x, math_int(m, y));
}

MlirValue math_poly(math *m, MlirValue x, const double *c32, int n32, const double *c64, int n64) {
  const double *c = m->f64 ? c64 : c32;
  int n = m->f64 ? n64 : n32;
  MlirValue sum = math_const(m, c[n - 1]);
  for (int i = n - 2; i >= 0; i--)
    sum = math_fma(m, sum, x, math_const(m, c[i]));
  return sum;
}

void math_flag(math *m, MlirValue condition, uint32_t flag) {
  if (!m->l) return;
  int level = 0;
  for (int i = 0; i <= m->l->depth; i++)
    if (mlirBlockEqual(m->l->scopes[i].block, m->b->block)) level = i;
  lower_value value = {condition, level, true, LOOM_BOOL};
  lower_flag(m->l, value, flag);
}

/* ---- the C library ---- */

/* Declares `name` at the end of the module when it is not there yet. */
static void math_declare(math *m, const char *name, MlirType scalar, int count) {
  MlirOperation module = m->l->kernel->op;
  while (mlirOperationGetParentOperation(module).ptr)
    module = mlirOperationGetParentOperation(module);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is(op, "func.func") && loom_str_is(loom_get_str(op, "sym_name"), name)) return;
  MlirType types[2] = {scalar, scalar};
  MlirType type = mlirFunctionTypeGet(m->b->ctx, count, types, 1, &scalar);
  loom_builder b = loom_builder_before(m->l->kernel->op);
  MlirRegion region = mlirRegionCreate();
  loom_named attrs[] = {{"sym_name", loom_attr_str(b.ctx, name)},
                        {"function_type", mlirTypeAttrGet(type)},
                        {"sym_visibility", loom_attr_str(b.ctx, "private")}};
  loom_build_regions(&b, "func.func", 0, NULL, 0, NULL, 3, attrs, 1, &region);
}

static MlirValue math_call_one(loom_builder *b, const char *name, MlirValue x, MlirValue y) {
  MlirType type = mlirValueGetType(x);
  MlirValue args[] = {x, y};
  loom_named callee = {"callee", mlirFlatSymbolRefAttrGet(b->ctx, loom_str(name))};
  return loom_result(loom_build(b, "func.call", y.ptr ? 2 : 1, args, 1, &type, 1, &callee), 0);
}

MlirValue math_call(math *m, const char *name, MlirValue x, MlirValue y) {
  char symbol[24];
  snprintf(symbol, sizeof symbol, "%s%s", name, m->f64 ? "" : "f");
  MlirType scalar = lane_element(m->type);
  math_declare(m, symbol, scalar, y.ptr ? 2 : 1);
  int width = lane_width(m->type);
  if (width == 1) return math_call_one(m->b, symbol, x, y);
  /* A loop over the lanes keeps the code small; the call costs more than the loop. */
  MlirType i64 = mlirIntegerTypeGet(m->b->ctx, 64), types[] = {i64, m->type};
  MlirLocation locs[] = {m->b->loc, m->b->loc};
  MlirBlock block = mlirBlockCreate(2, types, locs);
  loom_builder b = loom_builder_at_end(block, m->b->loc);
  MlirValue lane = mlirBlockGetArgument(block, 0), none = {NULL};
  MlirValue one = loom_build2(&b, "llvm.extractelement", x, lane, scalar);
  MlirValue two = y.ptr ? loom_build2(&b, "llvm.extractelement", y, lane, scalar) : none;
  MlirValue result = math_call_one(&b, symbol, one, two);
  MlirValue next =
      loom_build3(&b, "llvm.insertelement", mlirBlockGetArgument(block, 1), result, lane, m->type);
  loom_build(&b, "scf.yield", 1, &next, 0, NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  MlirValue operands[] = {loom_build_int(m->b, i64, 0), loom_build_int(m->b, i64, width),
                          loom_build_int(m->b, i64, 1), x};
  return loom_result(
      loom_build_regions(m->b, "scf.for", 4, operands, 1, &m->type, 0, NULL, 1, &region), 0);
}

MlirValue math_unless(math *m, MlirValue condition, MlirValue fast, const char *name, MlirValue x) {
  MlirRegion regions[2];
  MlirValue any = lane_any(m->b, condition), none = {NULL};
  for (int i = 0; i < 2; i++) {
    MlirBlock block = mlirBlockCreate(0, NULL, NULL);
    loom_builder b = loom_builder_at_end(block, m->b->loc);
    math inner = *m;
    inner.b = &b;
    MlirValue result = i == 0 ? math_call(&inner, name, x, none) : fast;
    loom_build(&b, "scf.yield", 1, &result, 0, NULL, 0, NULL);
    regions[i] = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(regions[i], block);
  }
  return loom_result(loom_build_regions(m->b, "scf.if", 1, &any, 1, &m->type, 0, NULL, 2, regions),
                     0);
}

/* ---- the table ---- */

typedef enum math_how { MATH_POLY, MATH_WIDE, MATH_CALL } math_how;

typedef struct math_row {
  loom_opcode code;
  const char *name;
  math_how how[2]; /* f32, f64 */
  MlirValue (*unary)(math *, MlirValue);
  MlirValue (*binary)(math *, MlirValue, MlirValue);
} math_row;

static const math_row math_rows[] = {
#define LOOM_MATH(OP, NAME, F32, ULP32, F64, ULP64, MAKER)                                         \
  {LOOM_OP_##OP, NAME, {MATH_##F32, MATH_##F64}, MAKER, NULL},
#define LOOM_MATH2(OP, NAME, F32, ULP32, F64, ULP64, MAKER)                                        \
  {LOOM_OP_##OP, NAME, {MATH_##F32, MATH_##F64}, NULL, MAKER},
#include "passes/math.def"
#undef LOOM_MATH
#undef LOOM_MATH2
};

static const math_row *math_find(loom_opcode code) {
  for (size_t i = 0; i < sizeof math_rows / sizeof *math_rows; i++)
    if (math_rows[i].code == code) return &math_rows[i];
  return NULL;
}

/* np.remainder and np.floor_divide of floats, from fmod as npy_divmod has it. */
static MlirValue math_divmod(math *m, bool floor, MlirValue x, MlirValue y) {
  MlirValue mod = math_call(m, "fmod", x, y), zero = math_const(m, 0);
  MlirValue nonzero = math_test(m, "une", mod, 0);
  MlirValue differ = lane_op2(m->b, "arith.xori", lane_cmpf(m->b, "olt", y, zero),
                              lane_cmpf(m->b, "olt", mod, zero));
  MlirValue adjust = lane_op2(m->b, "arith.andi", nonzero, differ);
  if (!floor) {
    mod = math_pick(m, adjust, math_add(m, mod, y), mod);
    return math_pick(m, nonzero, mod, math_copysign(m, zero, y));
  }
  MlirValue quotient = math_div(m, x, y);
  MlirValue div = math_div(m, math_sub(m, x, mod), y);
  div = math_pick(m, adjust, math_sub(m, div, math_const(m, 1)), div);
  MlirValue whole = lane_op1(m->b, "llvm.intr.floor", div);
  MlirValue up = math_test(m, "ogt", math_sub(m, div, whole), 0.5);
  whole = math_pick(m, up, math_add(m, whole, math_const(m, 1)), whole);
  whole = math_pick(m, math_test(m, "une", div, 0), whole, math_copysign(m, zero, quotient));
  return math_pick(m, math_test(m, "oeq", y, 0), quotient, whole);
}

MlirValue lower_math(lower *l, loom_builder *b, loom_opcode code, loom_dtype dtype, MlirValue x,
                     MlirValue y) {
  MlirValue none = {NULL};
  if (dtype != LOOM_F32 && dtype != LOOM_F64) return none;
  math m = math_of(l, b, x);
  if (code == LOOM_OP_FLOOR_DIV || code == LOOM_OP_REM)
    return math_divmod(&m, code == LOOM_OP_FLOOR_DIV, x, y);
  const math_row *row = math_find(code);
  if (!row) return none;
  math_how how = row->how[dtype == LOOM_F64];
  if (how == MATH_CALL) return math_call(&m, row->name, x, y);
  if (how == MATH_POLY) return row->unary ? row->unary(&m, x) : row->binary(&m, x, y);
  MlirType wide = lane_like(m.type, mlirF64TypeGet(b->ctx));
  MlirValue x64 = loom_build1(b, "arith.extf", x, wide);
  math m64 = math_of(l, b, x64);
  MlirValue result = row->unary ? row->unary(&m64, x64)
                                : row->binary(&m64, x64, loom_build1(b, "arith.extf", y, wide));
  return loom_build1(b, "arith.truncf", result, m.type);
}

int lower_math_cost(loom_opcode code, loom_dtype dtype) {
  const math_row *row = math_find(code);
  if (!row) return 1;
  math_how how = row->how[dtype == LOOM_F64];
  return how == MATH_CALL ? 60 : how == MATH_WIDE ? 50 : dtype == LOOM_F64 ? 30 : 20;
}
