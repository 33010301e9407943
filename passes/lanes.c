/* Lane primitives over the arith, vector and llvm dialects (lanes.h). */
#include "passes/lanes.h"

#include <string.h>

/* ---- types and constants ---- */

MlirType lane_int(MlirContext ctx, unsigned bits, int width) {
  MlirType element = mlirIntegerTypeGet(ctx, bits);
  int64_t size = width;
  return width == 1 ? element : mlirVectorTypeGet(1, &size, element);
}

MlirType lane_type(MlirContext ctx, loom_dtype dtype, int width) {
  if (dtype == LOOM_BOOL) return lane_int(ctx, 1, width);
  if (loom_dtype_is_integer(dtype))
    return lane_int(ctx, (unsigned)loom_dtype_size(dtype) * 8, width);
  MlirType element =
      loom_dtype_is_half(dtype) ? mlirF32TypeGet(ctx) : loom_dtype_to_mlir(ctx, dtype);
  int64_t size = width;
  return width == 1 ? element : mlirVectorTypeGet(1, &size, element);
}

MlirType lane_memory_type(MlirContext ctx, loom_dtype dtype, int width) {
  if (loom_dtype_is_half(dtype)) return lane_int(ctx, 16, width);
  if (loom_dtype_is_complex(dtype))
    return lane_int(ctx, (unsigned)loom_dtype_size(dtype) * 8, width);
  return lane_type(ctx, dtype == LOOM_BOOL ? LOOM_I8 : dtype, width);
}

int lane_width(MlirType type) {
  return mlirTypeIsAVector(type) ? (int)mlirShapedTypeGetDimSize(type, 0) : 1;
}

MlirType lane_element(MlirType type) {
  return mlirTypeIsAVector(type) ? mlirShapedTypeGetElementType(type) : type;
}

MlirType lane_like(MlirType shape, MlirType element) {
  int64_t size = lane_width(shape);
  return size == 1 ? element : mlirVectorTypeGet(1, &size, element);
}

static MlirValue lanes_constant(loom_builder *b, MlirType type, MlirAttribute element) {
  MlirAttribute value =
      mlirTypeIsAVector(type) ? mlirDenseElementsAttrSplatGet(type, element) : element;
  loom_named attr = {"value", value};
  return loom_result(loom_build(b, "arith.constant", 0, NULL, 1, &type, 1, &attr), 0);
}

MlirValue lane_const_int(loom_builder *b, MlirType type, int64_t value) {
  return lanes_constant(b, type, mlirIntegerAttrGet(lane_element(type), value));
}

MlirValue lane_const_float(loom_builder *b, MlirType type, double value) {
  return lanes_constant(b, type, mlirFloatAttrDoubleGet(b->ctx, lane_element(type), value));
}

MlirValue lane_id(loom_builder *b, MlirType type) {
  int width = lane_width(type);
  if (width == 1) return lane_const_int(b, type, 0);
  MlirAttribute elements[256];
  for (int i = 0; i < width && i < 256; i++)
    elements[i] = mlirIntegerAttrGet(lane_element(type), i);
  loom_named attr = {"value", mlirDenseElementsAttrGet(type, width, elements)};
  return loom_result(loom_build(b, "arith.constant", 0, NULL, 1, &type, 1, &attr), 0);
}

MlirValue lane_splat(loom_builder *b, MlirValue scalar, int width) {
  MlirType type = mlirValueGetType(scalar);
  if (width == 1 || mlirTypeIsAVector(type)) return scalar;
  int64_t size = width;
  return loom_build1(b, "vector.broadcast", scalar, mlirVectorTypeGet(1, &size, type));
}

MlirValue lane_extract(loom_builder *b, MlirValue vector, int lane) {
  MlirType type = mlirValueGetType(vector);
  if (!mlirTypeIsAVector(type)) return vector;
  MlirValue position = loom_build_int(b, mlirIntegerTypeGet(b->ctx, 32), lane);
  return loom_build2(b, "llvm.extractelement", vector, position, lane_element(type));
}

MlirValue lane_insert(loom_builder *b, MlirValue vector, MlirValue element, int lane) {
  MlirType type = mlirValueGetType(vector);
  if (lane_width(type) == 1) return element;
  MlirValue position = loom_build_int(b, mlirIntegerTypeGet(b->ctx, 32), lane);
  return loom_build3(b, "llvm.insertelement", vector, element, position, type);
}

static MlirValue lanes_shuffle(loom_builder *b, MlirValue vector, int count, int first, int step) {
  int64_t mask[256], size = count;
  for (int i = 0; i < count; i++)
    mask[i] = first + (int64_t)i * step;
  MlirType type = mlirVectorTypeGet(1, &size, lane_element(mlirValueGetType(vector)));
  MlirValue operands[] = {vector, vector};
  loom_named attr = {"mask", loom_attr_i64s(b->ctx, count, mask)};
  return loom_result(loom_build(b, "vector.shuffle", 2, operands, 1, &type, 1, &attr), 0);
}

MlirValue lane_shuffle2(loom_builder *b, MlirValue x, MlirValue y, int count,
                        const int64_t *elements) {
  int64_t size = count;
  MlirType type = mlirVectorTypeGet(1, &size, lane_element(mlirValueGetType(x)));
  MlirValue operands[] = {x, y};
  loom_named attr = {"mask", loom_attr_i64s(b->ctx, count, elements)};
  return loom_result(loom_build(b, "vector.shuffle", 2, operands, 1, &type, 1, &attr), 0);
}

MlirValue lane_reverse(loom_builder *b, MlirValue vector) {
  int width = lane_width(mlirValueGetType(vector));
  return width == 1 ? vector : lanes_shuffle(b, vector, width, width - 1, -1);
}

/* ---- pairs ---- */

MlirValue lane_part(loom_builder *b, MlirValue value, int part) {
  int width = lane_width(mlirValueGetType(value)) / 2;
  return width == 1 ? lane_extract(b, value, part) : lanes_shuffle(b, value, width, part, 2);
}

MlirValue lane_pair(loom_builder *b, MlirValue real, MlirValue imag) {
  MlirType type = mlirValueGetType(real);
  int64_t size = 2, picks[256];
  int width = lane_width(type);
  if (width > 1) {
    for (int i = 0; i < 2 * width && i < 256; i++)
      picks[i] = i / 2 + (i % 2) * width;
    return lane_shuffle2(b, real, imag, 2 * width, picks);
  }
  MlirType pair = mlirVectorTypeGet(1, &size, type), i32 = mlirIntegerTypeGet(b->ctx, 32);
  MlirValue none = lane_const_float(b, pair, 0);
  MlirValue first =
      loom_build3(b, "llvm.insertelement", none, real, loom_build_int(b, i32, 0), pair);
  return loom_build3(b, "llvm.insertelement", first, imag, loom_build_int(b, i32, 1), pair);
}

MlirValue lane_pair_splat(loom_builder *b, MlirValue value, int width) {
  int64_t picks[256];
  for (int i = 0; i < 2 * width && i < 256; i++)
    picks[i] = i % 2;
  return lane_shuffle2(b, value, value, 2 * width, picks);
}

MlirValue lane_pair_mask(loom_builder *b, MlirValue mask) {
  int64_t picks[256];
  int width = lane_width(mlirValueGetType(mask));
  for (int i = 0; i < 2 * width && i < 256; i++)
    picks[i] = i / 2;
  return lane_shuffle2(b, mask, mask, 2 * width, picks);
}

MlirValue lane_pair_reverse(loom_builder *b, MlirValue value) {
  int64_t picks[256];
  int width = lane_width(mlirValueGetType(value));
  for (int i = 0; i < width && i < 256; i++)
    picks[i] = width - 2 - i / 2 * 2 + i % 2;
  return lane_shuffle2(b, value, value, width, picks);
}

loom_dtype lane_part_dtype(loom_dtype dtype) {
  return dtype == LOOM_C64 ? LOOM_F32 : dtype == LOOM_C128 ? LOOM_F64 : dtype;
}

/* ---- memory ---- */

static MlirType lanes_ptr(MlirContext ctx) { return mlirTypeParseGet(ctx, loom_str("!llvm.ptr")); }

MlirValue lane_address(loom_builder *b, MlirValue ptr, MlirValue offset, loom_dtype dtype) {
  MlirType offset_type = mlirValueGetType(offset), type = mlirValueGetType(ptr);
  if (mlirTypeIsAVector(offset_type)) type = lane_like(offset_type, lanes_ptr(b->ctx));
  int32_t dynamic = INT32_MIN;
  MlirValue operands[] = {ptr, offset};
  loom_named attrs[] = {
      {"rawConstantIndices", mlirDenseI32ArrayGet(b->ctx, 1, &dynamic)},
      {"elem_type", mlirTypeAttrGet(lane_memory_type(b->ctx, dtype, 1))},
  };
  return loom_result(loom_build(b, "llvm.getelementptr", 2, operands, 1, &type, 2, attrs), 0);
}

/* The truth of bools as they lie in memory. */
static MlirValue lanes_truth(loom_builder *b, MlirValue bytes) {
  MlirValue truth = lane_cmpi(b, "ne", bytes, lane_const_int(b, mlirValueGetType(bytes), 0));
  if (mlirValueIsAOpResult(truth))
    mlirOperationSetDiscardableAttributeByName(
        mlirOpResultGetOwner(truth), loom_str(loom_mark_truth_of_byte), mlirUnitAttrGet(b->ctx));
  return truth;
}

#define LANES_PACKED                                                                               \
  32 /* floats whose upper halves are packed by an instruction, not shifted down */
#define LANES_BYTES 32 /* operations that are looked through; what is beyond them gives 0 or 1 */

/* The bytes of bools, as memory holds them. What a copy moves keeps its byte: a view of bytes as
 * bools has other true ones than 1. What is computed is 0 or 1. */
static MlirValue lanes_bytes_of(loom_builder *b, MlirValue truth, int *budget) {
  MlirType bytes = lane_like(mlirValueGetType(truth), mlirIntegerTypeGet(b->ctx, 8));
  if (!mlirValueIsAOpResult(truth) || --*budget < 0)
    return loom_build1(b, "arith.extui", truth, bytes);
  MlirOperation op = mlirOpResultGetOwner(truth);
  bool picks = loom_is_named(op, "arith.select"), mixes = loom_is_named(op, "vector.shuffle");
  MlirAttribute mark =
      mlirOperationGetDiscardableAttributeByName(op, loom_str(loom_mark_truth_of_byte));
  if (!mlirAttributeIsNull(mark)) return mlirOperationGetOperand(op, 0);
  if (loom_is_named(op, "vector.broadcast"))
    return loom_build1(b, "vector.broadcast",
                       lanes_bytes_of(b, mlirOperationGetOperand(op, 0), budget), bytes);
  if (!picks && !mixes) return loom_build1(b, "arith.extui", truth, bytes);
  MlirValue two[2];
  for (int i = 0; i < 2; i++)
    two[i] = lanes_bytes_of(b, mlirOperationGetOperand(op, picks + i), budget);
  if (picks) return lane_select(b, mlirOperationGetOperand(op, 0), two[0], two[1]);
  loom_named mask = {"mask", mlirOperationGetAttributeByName(op, loom_str("mask"))};
  return loom_result(loom_build(b, "vector.shuffle", 2, two, 1, &bytes, 1, &mask), 0);
}

static MlirValue lanes_bytes_of_truth(loom_builder *b, MlirValue truth) {
  int budget = LANES_BYTES;
  return lanes_bytes_of(b, truth, &budget);
}

/* A bool is one byte in memory and an i1 in a register; a bfloat16 is the upper half of an f32. */
MlirValue lane_from_memory(loom_builder *b, MlirValue value, loom_dtype dtype) {
  MlirType shape = mlirValueGetType(value), f32 = lane_like(shape, mlirF32TypeGet(b->ctx));
  if (dtype == LOOM_BOOL) return lanes_truth(b, value);
  if (dtype == LOOM_F16) {
    value = loom_build1(b, "arith.bitcast", value, lane_like(shape, mlirF16TypeGet(b->ctx)));
    return loom_build1(b, "arith.extf", value, f32);
  }
  if (dtype != LOOM_BF16) return value;
  MlirType i32 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 32));
  value = loom_build1(b, "arith.extui", value, i32);
  value = lane_op2(b, "arith.shli", value, lane_const_int(b, i32, 16));
  return loom_build1(b, "arith.bitcast", value, f32);
}

MlirValue lane_to_memory(loom_builder *b, MlirValue value, loom_dtype dtype) {
  MlirType shape = mlirValueGetType(value);
  if (dtype == LOOM_BOOL) return lanes_bytes_of_truth(b, value);
  MlirType i16 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 16));
  if (dtype == LOOM_F16) {
    value = loom_build1(b, "arith.truncf", value, lane_like(shape, mlirF16TypeGet(b->ctx)));
    return loom_build1(b, "arith.bitcast", value, i16);
  }
  if (dtype != LOOM_BF16) return value;
  int width = lane_width(shape);
  if (width >= LANES_PACKED) { /* an instruction packs the upper halves of two registers */
    value = loom_build1(b, "vector.bitcast", value, lane_int(b->ctx, 16, 2 * width));
    return lanes_shuffle(b, value, width, 1, 2);
  }
  MlirType i32 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 32));
  value = loom_build1(b, "arith.bitcast", value, i32);
  value = lane_op2(b, "arith.shrui", value, lane_const_int(b, i32, 16));
  return loom_build1(b, "arith.trunci", value, i16);
}

/* f64 to f32 so that another rounding comes out as if there had been one: what is not exact is cut
 * off, and the last bit says that something was (rounding to odd). */
static MlirValue lanes_narrow(loom_builder *b, MlirValue value) {
  MlirType shape = mlirValueGetType(value), f32 = lane_like(shape, mlirF32TypeGet(b->ctx));
  MlirType i32 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 32));
  MlirValue near = loom_build1(b, "arith.truncf", value, f32);
  MlirValue back = loom_build1(b, "arith.extf", near, shape);
  MlirValue size = lane_op1(b, "llvm.intr.fabs", value);
  MlirValue beyond = lane_cmpf(b, "ogt", lane_op1(b, "llvm.intr.fabs", back), size);
  MlirValue bits = loom_build1(b, "arith.bitcast", near, i32), one = lane_const_int(b, i32, 1);
  MlirValue cut = lane_select(b, beyond, lane_op2(b, "arith.subi", bits, one), bits);
  cut = lane_op2(b, "arith.ori", cut, one);
  MlirValue odd = loom_build1(b, "arith.bitcast", cut, f32);
  return lane_select(b, lane_cmpf(b, "one", back, value), odd, near);
}

/* Half of the last place is added by integers, less one where the last place is even. */
static MlirValue lanes_round_bfloat(loom_builder *b, MlirValue value) {
  MlirType shape = mlirValueGetType(value);
  MlirType i32 = lane_like(shape, mlirIntegerTypeGet(b->ctx, 32));
  MlirValue bits = loom_build1(b, "arith.bitcast", value, i32), one = lane_const_int(b, i32, 1);
  MlirValue last = lane_op2(b, "arith.shrui", bits, lane_const_int(b, i32, 16));
  last = lane_op2(b, "arith.andi", last, one);
  MlirValue up = lane_op2(b, "arith.addi", last, lane_const_int(b, i32, 0x7fff));
  MlirValue near = lane_op2(b, "arith.addi", bits, up);
  MlirValue quiet = lane_op2(b, "arith.ori", bits, lane_const_int(b, i32, 0x400000));
  near = lane_select(b, lane_cmpf(b, "uno", value, value), quiet, near);
  near = lane_op2(b, "arith.andi", near, lane_const_int(b, i32, (int64_t)0xffff0000));
  return loom_build1(b, "arith.bitcast", near, shape);
}

MlirValue lane_round(loom_builder *b, loom_dtype dtype, MlirValue value) {
  if (!value.ptr || !loom_dtype_is_half(dtype)) return value;
  if (mlirTypeIsAF64(lane_element(mlirValueGetType(value)))) value = lanes_narrow(b, value);
  if (dtype == LOOM_BF16) return lanes_round_bfloat(b, value);
  MlirType shape = mlirValueGetType(value);
  value = loom_build1(b, "arith.truncf", value, lane_like(shape, mlirF16TypeGet(b->ctx)));
  return loom_build1(b, "arith.extf", value, shape);
}

static loom_named lanes_alignment(loom_builder *b, loom_dtype dtype, unsigned bits) {
  loom_named attr = {"alignment",
                     mlirIntegerAttrGet(mlirIntegerTypeGet(b->ctx, bits),
                                        (int64_t)loom_dtype_size(lane_part_dtype(dtype)))};
  return attr;
}

static MlirValue lanes_zero(loom_builder *b, MlirType type) {
  return mlirTypeIsAInteger(lane_element(type)) ? lane_const_int(b, type, 0)
                                                : lane_const_float(b, type, 0);
}

MlirValue lane_load(loom_builder *b, MlirValue ptr, loom_dtype dtype, int width, MlirValue mask) {
  MlirType type = lane_memory_type(b->ctx, dtype, width);
  MlirOperation op;
  if (loom_dtype_is_complex(dtype)) {
    type = lane_type(b->ctx, lane_part_dtype(dtype), 2 * width);
    if (mask.ptr && width > 1) mask = lane_pair_mask(b, mask);
  }
  if (!mask.ptr || width == 1) {
    loom_named attr = lanes_alignment(b, dtype, 64);
    op = loom_build(b, "llvm.load", 1, &ptr, 1, &type, 1, &attr);
  } else {
    loom_named attr = lanes_alignment(b, dtype, 32);
    MlirValue operands[] = {ptr, mask, lanes_zero(b, type)};
    op = loom_build(b, "llvm.intr.masked.load", 3, operands, 1, &type, 1, &attr);
  }
  return lane_from_memory(b, loom_result(op, 0), dtype);
}

MlirOperation lane_store(loom_builder *b, MlirValue value, MlirValue ptr, loom_dtype dtype,
                         MlirValue mask) {
  value = lane_to_memory(b, value, dtype);
  bool complex = loom_dtype_is_complex(dtype);
  if (complex && lane_width(mlirValueGetType(value)) == 2) mask.ptr = NULL;
  if (complex && mask.ptr) mask = lane_pair_mask(b, mask);
  if (!mask.ptr || lane_width(mlirValueGetType(value)) == 1) {
    loom_named attr = lanes_alignment(b, dtype, 64);
    MlirValue operands[] = {value, ptr};
    return loom_build(b, "llvm.store", 2, operands, 0, NULL, 1, &attr);
  }
  loom_named attr = lanes_alignment(b, dtype, 32);
  MlirValue operands[] = {value, ptr, mask};
  return loom_build(b, "llvm.intr.masked.store", 3, operands, 0, NULL, 1, &attr);
}

static MlirValue lanes_all(loom_builder *b, int width) {
  return lane_const_int(b, lane_int(b->ctx, 1, width), -1);
}

/* The offset of a part, in parts. */
static MlirValue lanes_part_offset(loom_builder *b, MlirValue offsets, int part) {
  MlirType type = mlirValueGetType(offsets);
  offsets = lane_op2(b, "arith.shli", offsets, lane_const_int(b, type, 1));
  return part ? lane_op2(b, "arith.addi", offsets, lane_const_int(b, type, 1)) : offsets;
}

MlirValue lane_gather(loom_builder *b, MlirValue ptr, MlirValue offsets, loom_dtype dtype,
                      MlirValue mask) {
  if (loom_dtype_is_complex(dtype) && lane_width(mlirValueGetType(offsets)) > 1) {
    MlirValue part[2];
    for (int i = 0; i < 2; i++)
      part[i] = lane_gather(b, ptr, lanes_part_offset(b, offsets, i), lane_part_dtype(dtype), mask);
    return lane_pair(b, part[0], part[1]);
  }
  MlirValue address = lane_address(b, ptr, offsets, dtype);
  int width = lane_width(mlirValueGetType(offsets));
  if (width == 1) return lane_load(b, address, dtype, 1, mask);
  MlirType type = lane_memory_type(b->ctx, dtype, width);
  loom_named attr = lanes_alignment(b, dtype, 32);
  MlirValue operands[] = {address, mask.ptr ? mask : lanes_all(b, width), lanes_zero(b, type)};
  MlirOperation op = loom_build(b, "llvm.intr.masked.gather", 3, operands, 1, &type, 1, &attr);
  return lane_from_memory(b, loom_result(op, 0), dtype);
}

void lane_scatter(loom_builder *b, MlirValue value, MlirValue ptr, MlirValue offsets,
                  loom_dtype dtype, MlirValue mask) {
  if (loom_dtype_is_complex(dtype) && lane_width(mlirValueGetType(offsets)) > 1) {
    for (int i = 0; i < 2; i++)
      lane_scatter(b, lane_part(b, value, i), ptr, lanes_part_offset(b, offsets, i),
                   lane_part_dtype(dtype), mask);
    return;
  }
  MlirValue address = lane_address(b, ptr, offsets, dtype);
  int width = lane_width(mlirValueGetType(offsets));
  if (width == 1) {
    lane_store(b, value, address, dtype, mask);
    return;
  }
  loom_named attr = lanes_alignment(b, dtype, 32);
  MlirValue operands[] = {lane_to_memory(b, value, dtype), address,
                          mask.ptr ? mask : lanes_all(b, width)};
  loom_build(b, "llvm.intr.masked.scatter", 3, operands, 0, NULL, 1, &attr);
}

/* ---- arithmetic ---- */

static const char *const lanes_int_predicates[] = {"eq",  "ne",  "slt", "sle", "sgt",
                                                   "sge", "ult", "ule", "ugt", "uge"};
static const char *const lanes_float_predicates[] = {"false", "oeq", "ogt", "oge", "olt", "ole",
                                                     "one",   "ord", "ueq", "ugt", "uge", "ult",
                                                     "ule",   "une", "uno", "true"};

static MlirValue lanes_compare(loom_builder *b, const char *name, int64_t predicate, MlirValue x,
                               MlirValue y) {
  MlirType type = lane_like(mlirValueGetType(x), mlirIntegerTypeGet(b->ctx, 1));
  loom_named attr = {"predicate", loom_attr_i64(b->ctx, predicate)};
  MlirValue operands[] = {x, y};
  return loom_result(loom_build(b, name, 2, operands, 1, &type, 1, &attr), 0);
}

MlirValue lane_cmpi(loom_builder *b, const char *predicate, MlirValue x, MlirValue y) {
  int64_t i = 0;
  while (i < 9 && strcmp(lanes_int_predicates[i], predicate) != 0)
    i++;
  return lanes_compare(b, "arith.cmpi", i, x, y);
}

MlirValue lane_cmpf(loom_builder *b, const char *predicate, MlirValue x, MlirValue y) {
  int64_t i = 0;
  while (i < 15 && strcmp(lanes_float_predicates[i], predicate) != 0)
    i++;
  return lanes_compare(b, "arith.cmpf", i, x, y);
}

/* LLVM has no such comparison outside of functions of strict arithmetic. This fast-math flag means
 * nothing to one: the x86 target takes it for the mark. */
void lane_signals(loom_builder *b, MlirValue comparison) {
  loom_set_attr(loom_def(comparison), "fastmath",
                mlirAttributeParseGet(b->ctx, loom_str("#arith.fastmath<arcp>")));
}

MlirValue lane_select(loom_builder *b, MlirValue condition, MlirValue x, MlirValue y) {
  return loom_build3(b, "arith.select", condition, x, y, mlirValueGetType(x));
}
MlirValue lane_op1(loom_builder *b, const char *name, MlirValue x) {
  return loom_build1(b, name, x, mlirValueGetType(x));
}
MlirValue lane_op2(loom_builder *b, const char *name, MlirValue x, MlirValue y) {
  return loom_build2(b, name, x, y, mlirValueGetType(x));
}
MlirValue lane_fma(loom_builder *b, MlirValue x, MlirValue y, MlirValue z) {
  return loom_build3(b, "llvm.intr.fma", x, y, z, mlirValueGetType(x));
}

void lane_halves(loom_builder *b, MlirValue vector, MlirValue *low, MlirValue *high) {
  int half = lane_width(mlirValueGetType(vector)) / 2;
  if (half == 1) { /* vectors of one element are never made */
    *low = lane_extract(b, vector, 0);
    *high = lane_extract(b, vector, 1);
    return;
  }
  *low = lanes_shuffle(b, vector, half, 0, 1);
  *high = lanes_shuffle(b, vector, half, half, 1);
}

void lane_pairs(loom_builder *b, MlirValue vector, MlirValue *even, MlirValue *odd) {
  int half = lane_width(mlirValueGetType(vector)) / 2;
  if (half == 1) {
    lane_halves(b, vector, even, odd);
    return;
  }
  *even = lanes_shuffle(b, vector, half, 0, 2);
  *odd = lanes_shuffle(b, vector, half, 1, 2);
}

MlirValue lane_any(loom_builder *b, MlirValue condition) {
  MlirType type = mlirValueGetType(condition);
  if (!mlirTypeIsAVector(type)) return condition;
  return loom_build1(b, "llvm.intr.vector.reduce.or", condition, lane_element(type));
}

MlirAttribute lane_constant_of(MlirValue v) {
  MlirOperation op = loom_def(v);
  while (op.ptr && (loom_is_named(op, "arith.extf") || loom_is_named(op, "vector.broadcast")))
    op = loom_def(loom_operand(op, 0));
  if (!op.ptr || !loom_is_named(op, "arith.constant")) return (MlirAttribute){NULL};
  MlirAttribute value = loom_get_attr(op, "value");
  if (!value.ptr || !mlirAttributeIsADenseElements(value)) return value;
  if (mlirDenseElementsAttrIsSplat(value)) return mlirDenseElementsAttrGetSplatValue(value);
  return (MlirAttribute){NULL};
}

void lane_while(loom_builder *b, int count, MlirValue *values, lane_more *more, lane_step *step,
                const void *user) {
  MlirRegion regions[2];
  MlirType types[LANE_CARRIED];
  MlirLocation locs[LANE_CARRIED];
  for (int i = 0; i < count; i++) {
    types[i] = mlirValueGetType(values[i]);
    locs[i] = b->loc;
  }
  for (int i = 0; i < 2; i++) {
    MlirBlock block = mlirBlockCreate(count, types, locs);
    loom_builder inner = loom_builder_at_end(block, b->loc);
    MlirValue now[1 + LANE_CARRIED];
    for (int j = 0; j < count; j++)
      now[1 + j] = mlirBlockGetArgument(block, j);
    if (i == 0) {
      now[0] = lane_any(&inner, more(&inner, user, now + 1));
      loom_build(&inner, "scf.condition", 1 + count, now, 0, NULL, 0, NULL);
    } else {
      step(&inner, user, now + 1);
      loom_build(&inner, "scf.yield", count, now + 1, 0, NULL, 0, NULL);
    }
    regions[i] = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(regions[i], block);
  }
  MlirOperation op =
      loom_build_regions(b, "scf.while", count, values, count, types, 0, NULL, 2, regions);
  for (int i = 0; i < count; i++)
    values[i] = loom_result(op, i);
}
