/* The thin layer of ir.h. */
#include "dialects/ir.h"
#include "graph/ops.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- building ---- */

loom_builder loom_builder_before(MlirOperation op) {
  loom_builder b = {mlirOperationGetContext(op), mlirOperationGetLocation(op),
                    mlirOperationGetBlock(op), op};
  return b;
}

loom_builder loom_builder_at_end(MlirBlock block, MlirLocation loc) {
  loom_builder b = {mlirLocationGetContext(loc), loc, block, {NULL}};
  return b;
}

MlirOperation loom_build_regions(loom_builder *b, const char *name, intptr_t operand_count,
                                 const MlirValue *operands, intptr_t type_count,
                                 const MlirType *types, intptr_t attr_count,
                                 const loom_named *attrs, intptr_t region_count,
                                 MlirRegion *regions) {
  MlirOperationState state = mlirOperationStateGet(loom_str(name), b->loc);
  mlirOperationStateAddOperands(&state, operand_count, operands);
  if (type_count >= 0)
    mlirOperationStateAddResults(&state, type_count, types);
  else
    mlirOperationStateEnableResultTypeInference(&state);
  for (intptr_t i = 0; i < attr_count; i++) {
    MlirNamedAttribute named =
        mlirNamedAttributeGet(mlirIdentifierGet(b->ctx, loom_str(attrs[i].name)), attrs[i].value);
    mlirOperationStateAddAttributes(&state, 1, &named);
  }
  mlirOperationStateAddOwnedRegions(&state, region_count, regions);
  MlirOperation op = mlirOperationCreate(&state);
  if (op.ptr && b->before.ptr)
    mlirBlockInsertOwnedOperationBefore(b->block, b->before, op);
  else if (op.ptr)
    mlirBlockAppendOwnedOperation(b->block, op);
  return op;
}

MlirOperation loom_build(loom_builder *b, const char *name, intptr_t operand_count,
                         const MlirValue *operands, intptr_t type_count, const MlirType *types,
                         intptr_t attr_count, const loom_named *attrs) {
  return loom_build_regions(b, name, operand_count, operands, type_count, types, attr_count, attrs,
                            0, NULL);
}

MlirValue loom_build1(loom_builder *b, const char *name, MlirValue a, MlirType type) {
  return loom_result(loom_build(b, name, 1, &a, 1, &type, 0, NULL), 0);
}
MlirValue loom_build2(loom_builder *b, const char *name, MlirValue a, MlirValue c, MlirType type) {
  MlirValue operands[] = {a, c};
  return loom_result(loom_build(b, name, 2, operands, 1, &type, 0, NULL), 0);
}
MlirValue loom_build3(loom_builder *b, const char *name, MlirValue a, MlirValue c, MlirValue d,
                      MlirType type) {
  MlirValue operands[] = {a, c, d};
  return loom_result(loom_build(b, name, 3, operands, 1, &type, 0, NULL), 0);
}

/* ---- ops of our own dialect ---- */

static const struct {
  const char *text;
  size_t length;
} ir_names[LOOM_OP_END] = {
#define LOOM_OP(ENUM, NAME) [LOOM_OP_##ENUM] = {"loom." NAME, sizeof "loom." NAME - 1},
#define LOOM_OP_INTERNAL(ENUM, NAME) [LOOM_OP_##ENUM] = {"loom." NAME, sizeof "loom." NAME - 1},
#include "loom_names.inc"
};

MlirOperation loom_build_op_regions(loom_builder *b, loom_opcode op, intptr_t operand_count,
                                    const MlirValue *operands, intptr_t type_count,
                                    const MlirType *types, intptr_t attr_count,
                                    const loom_named *attrs, intptr_t region_count,
                                    MlirRegion *regions) {
  return loom_build_regions(b, ir_names[op].text, operand_count, operands, type_count, types,
                            attr_count, attrs, region_count, regions);
}
MlirOperation loom_build_op(loom_builder *b, loom_opcode op, intptr_t operand_count,
                            const MlirValue *operands, intptr_t type_count, const MlirType *types,
                            intptr_t attr_count, const loom_named *attrs) {
  return loom_build(b, ir_names[op].text, operand_count, operands, type_count, types, attr_count,
                    attrs);
}
MlirValue loom_build_op1(loom_builder *b, loom_opcode op, MlirValue a, MlirType type) {
  return loom_build1(b, ir_names[op].text, a, type);
}
MlirValue loom_build_op2(loom_builder *b, loom_opcode op, MlirValue a, MlirValue c, MlirType type) {
  return loom_build2(b, ir_names[op].text, a, c, type);
}
MlirValue loom_build_op3(loom_builder *b, loom_opcode op, MlirValue a, MlirValue c, MlirValue d,
                         MlirType type) {
  return loom_build3(b, ir_names[op].text, a, c, d, type);
}

/* ---- constants ---- */

static MlirValue ir_constant(loom_builder *b, MlirType type, MlirAttribute value) {
  loom_named attr = {"value", value};
  return loom_result(loom_build(b, "arith.constant", 0, NULL, 1, &type, 1, &attr), 0);
}
MlirValue loom_build_int(loom_builder *b, MlirType type, int64_t value) {
  return ir_constant(b, type, mlirIntegerAttrGet(type, value));
}
MlirValue loom_build_float(loom_builder *b, MlirType type, double value) {
  return ir_constant(b, type, mlirFloatAttrDoubleGet(b->ctx, type, value));
}

/* ---- attributes ---- */

#define LOOM_MARK(STEM, ON, WHAT) const char loom_mark_##STEM[] = "loom." #STEM;
#include "dialects/marks.def"
#undef LOOM_MARK

MlirAttribute loom_attr_i64(MlirContext ctx, int64_t value) {
  return mlirIntegerAttrGet(mlirIntegerTypeGet(ctx, 64), value);
}
MlirAttribute loom_attr_i64s(MlirContext ctx, intptr_t count, const int64_t *values) {
  return mlirDenseI64ArrayGet(ctx, count, values);
}
MlirAttribute loom_attr_str(MlirContext ctx, const char *text) {
  return mlirStringAttrGet(ctx, loom_str(text));
}

MlirAttribute loom_get_attr(MlirOperation op, const char *name) {
  return mlirOperationGetAttributeByName(op, loom_str(name));
}
int64_t loom_get_i64(MlirOperation op, const char *name, int64_t otherwise) {
  MlirAttribute attr = loom_get_attr(op, name);
  int64_t value =
      attr.ptr && mlirAttributeIsAInteger(attr) ? mlirIntegerAttrGetValueInt(attr) : otherwise;
  return !loom_num_known(value) ? otherwise : value;
}
intptr_t loom_attr_read_i64s(MlirAttribute attr, int64_t *out, intptr_t capacity) {
  if (!attr.ptr || !mlirAttributeIsADenseI64Array(attr)) return -1;
  intptr_t count = mlirDenseArrayGetNumElements(attr);
  for (intptr_t i = 0; i < count && i < capacity; i++)
    out[i] = mlirDenseI64ArrayGetElement(attr, i);
  for (intptr_t i = 0; i < count && i < capacity; i++)
    if (!loom_num_known(out[i])) return -1;
  return count;
}
intptr_t loom_get_i64s(MlirOperation op, const char *name, int64_t *out, intptr_t capacity) {
  return loom_attr_read_i64s(loom_get_attr(op, name), out, capacity);
}
MlirStringRef loom_get_str(MlirOperation op, const char *name) {
  MlirAttribute attr = loom_get_attr(op, name);
  return attr.ptr && mlirAttributeIsAString(attr) ? mlirStringAttrGetValue(attr)
                                                  : mlirStringRefCreate("", 0);
}
void loom_set_attr(MlirOperation op, const char *name, MlirAttribute value) {
  mlirOperationSetAttributeByName(op, loom_str(name), value);
}

/* ---- ops, types ---- */

bool loom_str_is(MlirStringRef a, const char *b) {
  return a.length == strlen(b) && memcmp(a.data, b, a.length) == 0;
}
bool loom_is_named(MlirOperation op, const char *name) {
  return loom_str_is(mlirIdentifierStr(mlirOperationGetName(op)), name);
}
bool loom_is(MlirOperation op, loom_opcode code) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return name.length == ir_names[code].length &&
         !memcmp(name.data, ir_names[code].text, name.length);
}

static loom_opcode ir_find(MlirStringRef name) {
  const size_t dialect = sizeof "loom." - 1;
  if (name.length <= dialect || memcmp(name.data, "loom.", dialect) != 0) return LOOM_OP_COUNT;
  return loom_op_find(name.data + dialect, name.length - dialect);
}

loom_opcode loom_op_of(MlirOperation op) {
  return ir_find(mlirIdentifierStr(mlirOperationGetName(op)));
}

bool loom_opcode_of_name(MlirStringRef name, loom_opcode *out) {
  *out = ir_find(name);
  return *out < LOOM_OP_COUNT;
}

bool loom_opcode_of(MlirOperation op, loom_opcode *out) {
  *out = loom_op_of(op);
  return *out < LOOM_OP_COUNT;
}

const loom_op_info *loom_info(MlirOperation op) {
  static const loom_op_info none = {.name = "", .shape = "none", .dtypes = ""};
  loom_opcode code = loom_op_of(op);
  return code == LOOM_OP_COUNT ? &none : &loom_op_table[code];
}

MlirBlock loom_body(MlirOperation op) {
  if (!loom_info(op)->body) return (MlirBlock){NULL};
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
}

MlirOperation loom_def(MlirValue value) {
  if (mlirValueIsAOpResult(value)) return mlirOpResultGetOwner(value);
  return (MlirOperation){NULL};
}

MlirAttribute loom_constant_of(MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr || !loom_info(def)->constant) return (MlirAttribute){NULL};
  return loom_get_attr(def, "value");
}

MlirType loom_dtype_to_mlir(MlirContext ctx, loom_dtype dtype) {
  switch (dtype) {
  case LOOM_BOOL: return mlirIntegerTypeGet(ctx, 1);
  case LOOM_I8: return mlirIntegerTypeGet(ctx, 8);
  case LOOM_I16: return mlirIntegerTypeGet(ctx, 16);
  case LOOM_I32: return mlirIntegerTypeGet(ctx, 32);
  case LOOM_I64: return mlirIntegerTypeGet(ctx, 64);
  case LOOM_U8: return mlirIntegerTypeUnsignedGet(ctx, 8);
  case LOOM_U16: return mlirIntegerTypeUnsignedGet(ctx, 16);
  case LOOM_U32: return mlirIntegerTypeUnsignedGet(ctx, 32);
  case LOOM_U64: return mlirIntegerTypeUnsignedGet(ctx, 64);
  case LOOM_F16: return mlirF16TypeGet(ctx);
  case LOOM_BF16: return mlirBF16TypeGet(ctx);
  case LOOM_F32: return mlirF32TypeGet(ctx);
  case LOOM_F64: return mlirF64TypeGet(ctx);
  case LOOM_C64: return mlirComplexTypeGet(mlirF32TypeGet(ctx));
  case LOOM_C128: return mlirComplexTypeGet(mlirF64TypeGet(ctx));
  default: return (MlirType){NULL};
  }
}

static bool ir_integer_dtype(MlirType type, loom_dtype *out) {
  unsigned width = mlirIntegerTypeGetWidth(type);
  bool is_unsigned = mlirIntegerTypeIsUnsigned(type);
  if (mlirIntegerTypeIsSigned(type)) return false;
  switch (width) {
  case 1: *out = LOOM_BOOL; return !is_unsigned;
  case 8: *out = is_unsigned ? LOOM_U8 : LOOM_I8; return true;
  case 16: *out = is_unsigned ? LOOM_U16 : LOOM_I16; return true;
  case 32: *out = is_unsigned ? LOOM_U32 : LOOM_I32; return true;
  case 64: *out = is_unsigned ? LOOM_U64 : LOOM_I64; return true;
  default: return false;
  }
}

bool loom_dtype_from_mlir(MlirType element, loom_dtype *out) {
  if (mlirTypeIsAInteger(element)) return ir_integer_dtype(element, out);
  bool known = true;
  if (mlirTypeIsAF32(element))
    *out = LOOM_F32;
  else if (mlirTypeIsAF64(element))
    *out = LOOM_F64;
  else if (mlirTypeIsAF16(element))
    *out = LOOM_F16;
  else if (mlirTypeIsABF16(element))
    *out = LOOM_BF16;
  else if (mlirTypeIsAComplex(element) && mlirTypeIsAF32(mlirComplexTypeGetElementType(element)))
    *out = LOOM_C64;
  else if (mlirTypeIsAComplex(element) && mlirTypeIsAF64(mlirComplexTypeGetElementType(element)))
    *out = LOOM_C128;
  else
    known = false;
  return known;
}

/* Do the bytes of the static sizes fit an int64? As in NumPy, sizes of 0 do not help the others. */
static bool ir_is_addressable(const loom_type *type) {
  int64_t bytes = (int64_t)loom_dtype_size(type->dtype);
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] > 0 && __builtin_mul_overflow(bytes, type->dims[i], &bytes)) return false;
  return true;
}

bool loom_type_from_mlir(MlirType type, loom_type *out) {
  if (!mlirTypeIsARankedTensor(type) && !mlirTypeIsAMemRef(type)) return false;
  memset(out, 0, sizeof *out);
  int64_t rank = mlirShapedTypeGetRank(type);
  if (rank > LOOM_MAX_RANK) return false;
  out->rank = (int32_t)rank;
  bool symbolic = false;
  for (int64_t i = 0; i < rank; i++) {
    bool dynamic = mlirShapedTypeIsDynamicDim(type, i);
    out->dims[i] = dynamic ? LOOM_DIM_UNKNOWN : mlirShapedTypeGetDimSize(type, i);
    symbolic |= dynamic;
  }
  loom_type known = *out;
  if (symbolic && loom_sizes() && mlirTypeIsARankedTensor(type)) {
    if (!loom_sizes_read(loom_sizes(), type, &known)) return false;
    *out = known;
  }
  return loom_dtype_from_mlir(mlirShapedTypeGetElementType(type), &out->dtype) &&
         ir_is_addressable(out);
}

MlirType loom_type_to_mlir(MlirContext ctx, const loom_type *type) {
  int64_t dims[LOOM_MAX_RANK];
  bool symbolic = false;
  for (int i = 0; i < type->rank; i++) {
    symbolic |= LOOM_DIM_IS_SYM(type->dims[i]);
    dims[i] = LOOM_DIM_IS_SYM(type->dims[i]) ? mlirShapedTypeGetDynamicSize() : type->dims[i];
  }
  if (symbolic && loom_sizes()) return loom_type_to_mlir_in(ctx, loom_sizes(), type);
  return mlirRankedTensorTypeGet(type->rank, dims, loom_dtype_to_mlir(ctx, type->dtype),
                                 mlirAttributeGetNull());
}

bool loom_walk_block(MlirBlock block, bool (*visit)(MlirOperation op, void *user), void *user) {
  MlirOperation op = mlirBlockGetFirstOperation(block);
  while (op.ptr) {
    MlirOperation next = mlirOperationGetNextInBlock(op);
    if (!visit(op, user)) return false;
    op = next;
  }
  return true;
}

/* ---- errors ---- */

void loom_error_append(MlirStringRef text, void *user) {
  loom_error *err = user;
  size_t used = strlen(err->message), room = sizeof err->message - 1 - used;
  size_t length = text.length < room ? text.length : room;
  memcpy(err->message + used, text.data, length);
  err->message[used + length] = 0;
}

bool loom_emit_error(MlirLocation loc, const char *format, ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  mlirEmitError(loc, text);
  return false;
}
