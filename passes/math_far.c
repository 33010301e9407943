/* Range reduction of huge arguments (Payne and Hanek), lane by lane: it is rare.
 *
 * x = m 2^s with m a whole number. Of x 2/pi only what is left modulo 4 matters, so the bits of
 * 2/pi of weight 2^(2-s) and more can be left out: with F in [0, 1) the 192 bits that follow those,
 * x 2/pi is 4 m F modulo 4 to within 2^-137. No f64 comes closer to a multiple of pi/2 than 2^-61,
 * so that 76 bits of the rest are right.
 */
#include "passes/math.h"

#include <mlir-c/Dialect/LLVM.h>
#include <stdio.h>
#include <string.h>

/* 2/pi as a fraction, behind 64 zero bits. */
static const uint64_t far_words[] = {0x0000000000000000, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0,
                                     0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0,
                                     0x06492eea09d1921c, 0xfe1deb1cb129a73e, 0xe88235f52ebb4484,
                                     0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b,
                                     0x1ff897ffde05980f, 0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7,
                                     0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea,
                                     0x6bfb5fb11f8d5d08, 0x56033046fc7b6bab, 0xf0cfbc209af4361d};
#define FAR_WORDS 21
#define FAR_TABLE "loom_two_over_pi"

/* The table's address; the module gets one. */
static MlirValue far_table(math *m, loom_builder *b) {
  if (!math_has_symbol(m->l, FAR_TABLE)) {
    loom_builder top = loom_builder_before(m->l->kernel->op);
    MlirType i64 = mlirIntegerTypeGet(b->ctx, 64);
    int64_t size = FAR_WORDS;
    MlirType shape = mlirRankedTensorTypeGet(1, &size, i64, mlirAttributeGetNull());
    MlirType array = mlirLLVMArrayTypeGet(i64, FAR_WORDS);
    MlirRegion region = mlirRegionCreate();
    loom_named attrs[] = {
        {"sym_name", loom_attr_str(b->ctx, FAR_TABLE)},
        {"global_type", mlirTypeAttrGet(array)},
        {"constant", mlirUnitAttrGet(b->ctx)},
        {"linkage", mlirAttributeParseGet(b->ctx, loom_str("#llvm.linkage<internal>"))},
        {"value", mlirDenseElementsAttrUInt64Get(shape, FAR_WORDS, far_words)},
        {loom_mark_shared, mlirUnitAttrGet(b->ctx)}};
    loom_build_regions(&top, "llvm.mlir.global", 0, NULL, 0, NULL, 6, attrs, 1, &region);
  }
  MlirType ptr = mlirTypeParseGet(b->ctx, loom_str("!llvm.ptr"));
  loom_named name = {"global_name", mlirFlatSymbolRefAttrGet(b->ctx, loom_str(FAR_TABLE))};
  return loom_result(loom_build(b, "llvm.mlir.addressof", 0, NULL, 1, &ptr, 1, &name), 0);
}

/* m: of one f64. */
static MlirValue far_op(math *m, const char *name, MlirValue x, MlirValue y) {
  return lane_op2(m->b, name, x, y);
}

static MlirValue far_wide_product(math *m, MlirValue x, MlirValue y, MlirValue *high) {
  MlirType types[] = {m->ints, m->ints};
  MlirValue operands[] = {x, y};
  MlirOperation op = loom_build(m->b, "arith.mului_extended", 2, operands, 2, types, 0, NULL);
  *high = loom_result(op, 1);
  return loom_result(op, 0);
}

/* 64 bits of the table from bit `at` + 64 i on, `word` pointing at the word of bit `at`. */
static MlirValue far_bits(math *m, MlirValue word, MlirValue shift, int i) {
  MlirValue part[2];
  for (int j = 0; j < 2; j++) {
    MlirValue place = lane_address(m->b, word, math_int(m, i + j), LOOM_I64);
    part[j] = lane_load(m->b, place, LOOM_I64, 1, (MlirValue){NULL});
  }
  MlirValue back = far_op(m, "arith.subi", math_int(m, 63), shift);
  MlirValue low = far_op(m, "arith.shrui", math_iop(m, "arith.shrui", part[1], 1), back);
  return far_op(m, "arith.ori", far_op(m, "arith.shli", part[0], shift), low);
}

/* The top 128 bits of m F modulo 1. */
static MlirValue far_product(math *m, MlirValue x, MlirValue table, MlirValue *low) {
  MlirValue bits = math_bits(m, x);
  MlirValue e = math_iop(m, "arith.andi", math_iop(m, "arith.shrui", bits, 52), 2047);
  MlirValue whole = math_iop(m, "arith.andi", bits, (1ll << 52) - 1);
  whole = math_iop(m, "arith.ori", whole, 1ll << 52);
  MlirValue at = math_iop(m, "arith.subi", e, 1075 + 2 - 64);
  MlirValue word = lane_address(m->b, table, math_iop(m, "arith.shrui", at, 6), LOOM_I64);
  MlirValue shift = math_iop(m, "arith.andi", at, 63), part[3], middle, tail;
  for (int i = 0; i < 3; i++)
    part[i] = far_bits(m, word, shift, i);
  MlirValue second = far_wide_product(m, whole, part[1], &middle);
  far_wide_product(m, whole, part[2], &tail);
  *low = far_op(m, "arith.addi", second, tail);
  MlirValue carry = lane_cmpi(m->b, "ult", *low, second);
  MlirValue high = far_op(m, "arith.addi", far_op(m, "arith.muli", whole, part[0]), middle);
  return far_op(m, "arith.addi", high, lane_select(m->b, carry, math_int(m, 1), math_int(m, 0)));
}

/* `bits` (at most 53, signed) times a power of two. */
static MlirValue far_float(math *m, MlirValue bits, double unit) {
  return math_scale(m, loom_build1(m->b, "arith.sitofp", bits, m->type), unit);
}

/* Quarter turns and the rest in radians, as a sum of two. */
static MlirValue far_one(math *m, MlirValue x, MlirValue table, MlirValue *rest) {
  MlirValue low, high = far_product(m, x, table, &low);
  MlirValue turn = math_iop(m, "arith.addi", high, 1ll << 61);
  turn = math_iop(m, "arith.shrui", turn, 62);
  high = far_op(m, "arith.subi", high, math_iop(m, "arith.shli", turn, 62));
  /* high 2^-62 + low 2^-126 in three floats. */
  MlirValue first = far_float(m, math_iop(m, "arith.shrsi", high, 20), 0x1p-42);
  MlirValue bits = math_iop(m, "arith.shli", math_iop(m, "arith.andi", high, 0xfffff), 32);
  bits = far_op(m, "arith.ori", bits, math_iop(m, "arith.shrui", low, 32));
  MlirValue second = far_float(m, bits, 0x1p-94);
  MlirValue third = far_float(m, math_iop(m, "arith.andi", low, 0xffffffff), 0x1p-126);
  MlirValue sum = math_add(m, first, second), by = math_const(m, 1.5707963267948966);
  MlirValue lost = math_add(m, math_sub(m, second, math_sub(m, sum, first)), third);
  MlirValue product = math_mul(m, sum, by), error = math_fma(m, sum, by, math_neg(m, product));
  error = math_fma(m, sum, math_const(m, 6.123233995736766e-17), error);
  error = math_fma(m, lost, by, error);
  rest[0] = math_add(m, product, error);
  rest[1] = math_sub(m, error, math_sub(m, rest[0], product));
  MlirValue negative = lane_cmpi(m->b, "slt", math_bits(m, x), math_int(m, 0));
  for (int i = 0; i < 2; i++)
    rest[i] = math_pick(m, negative, math_neg(m, rest[i]), rest[i]);
  return lane_select(m->b, negative, far_op(m, "arith.subi", math_int(m, 0), turn), turn);
}

static MlirValue far_take(loom_builder *b, MlirValue x, MlirValue lane) {
  MlirType type = mlirValueGetType(x);
  return mlirTypeIsAVector(type)
             ? loom_build2(b, "llvm.extractelement", x, lane, lane_element(type))
             : x;
}
static MlirValue far_put(loom_builder *b, MlirValue x, MlirValue into, MlirValue lane) {
  MlirType type = mlirValueGetType(into);
  return mlirTypeIsAVector(type) ? loom_build3(b, "llvm.insertelement", into, x, lane, type) : x;
}

/* One lane of x: quarter turns and the rest, put into `results`. */
static void far_lane(math *m, loom_builder *b, MlirValue lane, MlirValue x, MlirValue *results) {
  MlirValue one = far_take(b, x, lane), found[3];
  if (!m->f64) one = loom_build1(b, "arith.extf", one, mlirF64TypeGet(b->ctx));
  math scalar = math_of(m->l, b, one);
  found[0] = far_one(&scalar, one, far_table(m, b), found + 1);
  if (!m->f64) {
    found[0] = loom_build1(b, "arith.trunci", found[0], lane_element(m->ints));
    for (int i = 1; i < 3; i++)
      found[i] = loom_build1(b, "arith.truncf", found[i], lane_element(m->type));
  }
  for (int i = 0; i < 3; i++)
    results[i] = far_put(b, found[i], results[i], lane);
}

static void far_lanes(math *m, loom_builder *b, MlirValue x, MlirValue *results) {
  MlirType i64 = mlirIntegerTypeGet(b->ctx, 64), types[] = {i64, m->ints, m->type, m->type};
  MlirLocation locs[] = {b->loc, b->loc, b->loc, b->loc};
  MlirBlock block = mlirBlockCreate(4, types, locs);
  loom_builder inner = loom_builder_at_end(block, b->loc);
  MlirValue next[3];
  for (int i = 0; i < 3; i++)
    next[i] = mlirBlockGetArgument(block, i + 1);
  far_lane(m, &inner, mlirBlockGetArgument(block, 0), x, next);
  loom_build(&inner, "scf.yield", 3, next, 0, NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, block);
  MlirValue operands[] = {loom_build_int(b, i64, 0),
                          loom_build_int(b, i64, lane_width(m->type)),
                          loom_build_int(b, i64, 1),
                          results[0],
                          results[1],
                          results[2]};
  MlirOperation op =
      loom_build_regions(b, "scf.for", 6, operands, 3, types + 1, 0, NULL, 1, &region);
  for (int i = 0; i < 3; i++)
    results[i] = loom_result(op, i);
}

/* A function that reduces every lane of its argument: out of line, since it is long, seldom run,
 * and wanted once for each sine of a kernel. `name` gets its name. */
static void far_function(math *m, char *name, size_t size) {
  snprintf(name, size, "loom_reduce_far_f%d_%d", m->f64 ? 64 : 32, (int)lane_width(m->type));
  if (math_has_symbol(m->l, name)) return;
  MlirBlock block = mlirBlockCreate(1, &m->type, &m->b->loc);
  loom_builder b = loom_builder_at_end(block, mlirOperationGetLocation(m->l->kernel->op));
  math inside = *m;
  inside.b = &b;
  MlirValue zero = math_const(&inside, 0), results[] = {math_int(&inside, 0), zero, zero};
  far_lanes(&inside, &b, mlirBlockGetArgument(block, 0), results);
  math_add_function(m->l, name, block, 3, results);
}

typedef struct far_choice {
  const char *function;
  MlirValue x, far;
  MlirValue near[3]; /* quarter turns and the rest of lanes that are not far */
  const MlirType *types;
} far_choice;

static void far_branch(math *m, bool any, const void *user, MlirValue *results) {
  const far_choice *choice = user;
  memcpy(results, choice->near, sizeof choice->near);
  if (!any) return;
  MlirValue safe = math_pick(m, choice->far, choice->x, lane_const_float(m->b, m->type, 1e6));
  MlirOperation call = math_call(m->b, choice->function, 1, &safe, 3, choice->types);
  for (int i = 0; i < 3; i++)
    results[i] = lane_select(m->b, choice->far, loom_result(call, i), choice->near[i]);
}

void math_reduce_far(math *m, MlirValue x, MlirValue far, MlirValue *turn, MlirValue *rest) {
  MlirType types[] = {m->ints, m->type, m->type};
  MlirValue results[3];
  char name[64];
  far_function(m, name, sizeof name);
  far_choice choice = {name, x, far, {*turn, rest[0], rest[1]}, types};
  math_if_any(m, far, 3, types, far_branch, &choice, results);
  *turn = results[0];
  rest[0] = results[1];
  rest[1] = results[2];
}
