/* Verifiers of the ops that hold regions or describe kernels and plans. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"

static bool structure_fail(MlirOperation op, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static bool structure_fail(MlirOperation op, const char *format, ...) {
  char text[256];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' op %s", (int)name.length, name.data,
                         text);
}

/* ---- regions ---- */

static MlirBlock structure_block(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

/* The values that a region hands to its op: the operands of its loom.yield. */
static bool structure_yield(MlirOperation op, intptr_t region, MlirOperation *out) {
  MlirBlock block = structure_block(op, region);
  *out = (MlirOperation){NULL};
  if (block.ptr)
    for (MlirOperation o = mlirBlockGetFirstOperation(block); o.ptr;
         o = mlirOperationGetNextInBlock(o))
      *out = o;
  if (out->ptr && loom_is(*out, LOOM_OP_YIELD)) return true;
  return structure_fail(op, "region %d does not end with loom.yield", (int)region);
}

static bool structure_is_scalar(MlirType type, loom_dtype dtype) {
  loom_type plain;
  return mlirTypeIsARankedTensor(type) && loom_type_from_mlir(type, &plain) && plain.rank == 0 &&
         plain.dtype == dtype;
}

/* Block arguments from `first` on have the types of the operands from `skip` on. */
static bool structure_arguments(MlirOperation op, intptr_t region, intptr_t first, intptr_t skip) {
  MlirBlock block = structure_block(op, region);
  intptr_t count = mlirBlockGetNumArguments(block) - first;
  intptr_t wanted = mlirOperationGetNumOperands(op) - skip;
  if (count != wanted)
    return structure_fail(op, "region %d takes %d values where %d are carried", (int)region,
                          (int)count, (int)wanted);
  for (intptr_t i = 0; i < count; i++)
    if (!mlirTypeEqual(mlirValueGetType(mlirBlockGetArgument(block, first + i)),
                       mlirValueGetType(loom_operand(op, skip + i))))
      return structure_fail(op, "argument %d of region %d has another type than the operand",
                            (int)(first + i), (int)region);
  return true;
}

static bool structure_results(MlirOperation op, intptr_t region) {
  MlirOperation yield;
  if (!structure_yield(op, region, &yield)) return false;
  if (mlirOperationGetNumOperands(yield) != mlirOperationGetNumResults(op))
    return structure_fail(op, "region %d yields %d values for %d results", (int)region,
                          (int)mlirOperationGetNumOperands(yield),
                          (int)mlirOperationGetNumResults(op));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!mlirTypeEqual(mlirValueGetType(loom_operand(yield, i)),
                       mlirValueGetType(loom_result(op, i))))
      return structure_fail(op, "value %d that region %d yields has another type than the result",
                            (int)i, (int)region);
  return true;
}

static bool structure_carried(MlirOperation op, intptr_t skip) {
  if (mlirOperationGetNumResults(op) != mlirOperationGetNumOperands(op) - skip)
    return structure_fail(op, "has not one result for each carried value");
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!mlirTypeEqual(mlirValueGetType(loom_result(op, i)),
                       mlirValueGetType(loom_operand(op, i + skip))))
      return structure_fail(op, "result %d has another type than the carried value", (int)i);
  return true;
}

static bool structure_fusion(MlirOperation op) {
  return structure_arguments(op, 0, 0, 0) && structure_results(op, 0);
}

static bool structure_for(MlirOperation op) {
  MlirBlock block = structure_block(op, 0);
  if (!structure_is_scalar(mlirValueGetType(loom_operand(op, 0)), LOOM_I64))
    return structure_fail(op, "the count is not a 0-d int64");
  if (mlirBlockGetNumArguments(block) < 1 ||
      !structure_is_scalar(mlirValueGetType(mlirBlockGetArgument(block, 0)), LOOM_I64))
    return structure_fail(op, "the body's first argument is not a 0-d int64 index");
  return structure_carried(op, 1) && structure_arguments(op, 0, 1, 1) && structure_results(op, 0);
}

static bool structure_while(MlirOperation op) {
  MlirOperation yield;
  if (!structure_carried(op, 0) || !structure_arguments(op, 0, 0, 0) ||
      !structure_arguments(op, 1, 0, 0) || !structure_yield(op, 0, &yield))
    return false;
  if (mlirOperationGetNumOperands(yield) != 1 ||
      !structure_is_scalar(mlirValueGetType(loom_operand(yield, 0)), LOOM_BOOL))
    return structure_fail(op, "the condition does not yield one 0-d bool");
  return structure_results(op, 1);
}

static bool structure_if(MlirOperation op) {
  if (!structure_is_scalar(mlirValueGetType(loom_operand(op, 0)), LOOM_BOOL))
    return structure_fail(op, "the condition is not a 0-d bool");
  return structure_arguments(op, 0, 0, 1) && structure_arguments(op, 1, 0, 1) &&
         structure_results(op, 0) && structure_results(op, 1);
}

/* ---- kernels ---- */

static bool structure_kernel_strides(MlirOperation op, MlirOperation yield) {
  MlirAttribute strides = loom_get_attr(op, "strides");
  MlirBlock block = structure_block(op, 0);
  intptr_t ins = mlirBlockGetNumArguments(block), outs = mlirOperationGetNumOperands(yield);
  if (!strides.ptr || !mlirAttributeIsAArray(strides) ||
      mlirArrayAttrGetNumElements(strides) != ins + outs)
    return structure_fail(op, "strides does not list every operand and result");
  for (intptr_t i = 0; i < ins + outs; i++) {
    MlirValue value = i < ins ? mlirBlockGetArgument(block, i) : loom_operand(yield, i - ins);
    loom_type type;
    if (!loom_type_from_mlir(mlirValueGetType(value), &type))
      return structure_fail(op, "operand or result %d is no tensor of a loom element type", (int)i);
    if (loom_attr_read_i64s(mlirArrayAttrGetElement(strides, i), NULL, 0) != type.rank)
      return structure_fail(op, "strides of operand or result %d are not one i64 a dimension",
                            (int)i);
  }
  return true;
}

static bool structure_kernel_scalars(MlirOperation op) {
  MlirBlock block = structure_block(op, 0);
  MlirAttribute scalars = loom_get_attr(op, "scalars");
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(scalars); i++) {
    int64_t at = mlirDenseI64ArrayGetElement(scalars, i);
    if (at < 0 || at >= mlirBlockGetNumArguments(block) ||
        mlirShapedTypeGetRank(mlirValueGetType(mlirBlockGetArgument(block, at))) != 0)
      return structure_fail(op, "scalars lists %" PRId64 ", which is no 0-d operand", at);
  }
  return true;
}

/* A result in another one's memory has as many bytes; of symbolic sizes nothing is known here. */
static bool structure_fits_over(MlirValue result, MlirValue operand) {
  loom_type is, was;
  if (!loom_type_from_mlir(mlirValueGetType(result), &is) ||
      !loom_type_from_mlir(mlirValueGetType(operand), &was))
    return false;
  int64_t count = loom_type_elements(&is), room = loom_type_elements(&was);
  return count < 0 || room < 0 ||
         count * (int64_t)loom_dtype_size(is.dtype) == room * (int64_t)loom_dtype_size(was.dtype);
}

static bool structure_kernel_inplace(MlirOperation op, MlirOperation yield) {
  MlirAttribute inplace = loom_get_attr(op, "inplace");
  intptr_t count = mlirDenseArrayGetNumElements(inplace);
  if (count != mlirOperationGetNumOperands(yield))
    return structure_fail(op, "inplace does not list every result");
  for (intptr_t i = 0; i < count; i++) {
    int64_t at = mlirDenseI64ArrayGetElement(inplace, i);
    if (at < -1 || at >= mlirBlockGetNumArguments(structure_block(op, 0)))
      return structure_fail(op, "inplace lists %" PRId64 ", which is no operand", at);
    if (at >= 0 && !structure_fits_over(loom_operand(yield, i),
                                        mlirBlockGetArgument(structure_block(op, 0), at)))
      return structure_fail(op, "inplace lists %" PRId64 ", whose size is not that of result %d",
                            at, (int)i);
  }
  return true;
}

/* A number of the table: what it is worth is known when the plan runs. */
static int64_t structure_number(MlirOperation op, const char *name, int64_t otherwise) {
  MlirAttribute attr = loom_get_attr(op, name);
  int64_t value =
      attr.ptr && mlirAttributeIsAInteger(attr) ? mlirIntegerAttrGetValueInt(attr) : otherwise;
  return LOOM_STRIDE_IS_SYM(value) ? 0 : value;
}

static bool structure_kernel(MlirOperation op) {
  MlirOperation yield;
  int64_t fp = loom_get_i64(op, "fp", 15);
  if (!structure_yield(op, 0, &yield) || !structure_kernel_strides(op, yield) ||
      !structure_kernel_scalars(op) || !structure_kernel_inplace(op, yield))
    return false;
  if (fp < 0 || fp > 15) return structure_fail(op, "fp is no mask of floating-point exceptions");
  MlirAttribute stages = loom_get_attr(op, "stages");
  for (intptr_t i = 0; stages.ptr && i < mlirDenseArrayGetNumElements(stages); i++)
    if (mlirDenseI64ArrayGetElement(stages, i) < 0 &&
        !LOOM_STRIDE_IS_SYM(mlirDenseI64ArrayGetElement(stages, i)))
      return structure_fail(op, "stage %d has a negative number of chunks", (int)i);
  if (structure_number(op, "scratch", 0) < 0 || structure_number(op, "slots", 0) < 0)
    return structure_fail(op, "scratch and slots are numbers of bytes");
  return true;
}

MlirOperation loom_find_kernel(MlirOperation op) {
  MlirAttribute symbol = loom_get_attr(op, "kernel");
  if (!symbol.ptr || !mlirAttributeIsAFlatSymbolRef(symbol)) return (MlirOperation){NULL};
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(symbol);
  MlirOperation holder = mlirOperationGetParentOperation(op);
  if (!holder.ptr || !mlirOperationGetParentOperation(holder).ptr) return (MlirOperation){NULL};
  MlirOperation found = mlirBlockGetFirstOperation(mlirOperationGetBlock(holder));
  for (; found.ptr; found = mlirOperationGetNextInBlock(found))
    if (loom_body(found).ptr && mlirStringRefEqual(loom_get_str(found, "sym_name"), name)) break;
  return found;
}

/* The terminator is looked up without a message: the kernel's own verifier speaks of it. */
static MlirOperation structure_kernel_yield(MlirOperation kernel) {
  MlirBlock block = structure_block(kernel, 0);
  MlirOperation last = block.ptr ? mlirBlockGetTerminator(block) : (MlirOperation){NULL};
  return last.ptr && loom_info(last)->ends ? last : (MlirOperation){NULL};
}

/* Numbers only: a kernel takes an operand through a view, whose type it has in its block. */
static bool structure_apply(MlirOperation op) {
  MlirOperation kernel = loom_find_kernel(op);
  MlirOperation yield = kernel.ptr ? structure_kernel_yield(kernel) : kernel;
  if (!yield.ptr) return true;
  MlirBlock block = structure_block(kernel, 0);
  intptr_t ins = mlirOperationGetNumOperands(op), outs = mlirOperationGetNumResults(op);
  if (mlirBlockGetNumArguments(block) != ins || mlirOperationGetNumOperands(yield) != outs)
    return structure_fail(op, "has other numbers of operands or results than the kernel");
  return true;
}

/* ---- plans ---- */

static bool structure_plan(MlirOperation op) {
  MlirBlock block = structure_block(op, 0);
  intptr_t count = mlirBlockGetNumArguments(block);
  int64_t inputs = loom_get_i64(op, "inputs", -1);
  if (inputs < 0 || inputs > count) return structure_fail(op, "inputs exceeds the arguments");
  if (structure_number(op, "arena", -1) < 0)
    return structure_fail(op, "arena is a number of bytes");
  for (intptr_t i = 0; i < count; i++) {
    MlirType type = mlirValueGetType(mlirBlockGetArgument(block, i));
    bool scalar = i < inputs && mlirTypeIsARankedTensor(type) && mlirShapedTypeGetRank(type) == 0;
    if (!scalar && !mlirTypeIsAMemRef(type))
      return structure_fail(op, "argument %d is neither a memref nor a 0-d input", (int)i);
  }
  MlirAttribute consts = loom_get_attr(op, "consts");
  for (intptr_t i = 0; i < mlirDenseArrayGetNumElements(consts); i++) {
    int64_t at = mlirDenseI64ArrayGetElement(consts, i);
    if (at < 0 || at >= inputs)
      return structure_fail(op, "consts lists %" PRId64 ", which is no input", at);
  }
  return true;
}

static bool structure_buffer(MlirOperation op) {
  loom_type type;
  int64_t offset = loom_get_i64(op, "offset", -1), end;
  MlirOperation plan = mlirOperationGetParentOperation(op);
  if (!loom_type_from_mlir(mlirValueGetType(loom_result(op, 0)), &type))
    return structure_fail(op, "the memref is not of a loom element type");
  if (loom_get_attr(op, "bytes").ptr) return true; /* symbolic: bounded when the plan runs */
  int64_t elements = loom_type_elements(&type);
  if (offset < 0 || elements < 0 ||
      __builtin_mul_overflow(elements, (int64_t)loom_dtype_size(type.dtype), &end) ||
      __builtin_add_overflow(end, offset, &end))
    return structure_fail(op, "offset or size is out of range");
  bool kept = loom_get_attr(op, loom_mark_kept).ptr; /* not in the arena */
  int64_t arena =
      plan.ptr && loom_is(plan, LOOM_OP_PLAN) ? loom_get_i64(plan, "arena", INT64_MAX) : end;
  if (!kept && !LOOM_STRIDE_IS_SYM(arena) && end > arena) /* symbolic: known when the plan runs */
    return structure_fail(op, "ends at byte %" PRId64 ", beyond the plan's arena", end);
  return true;
}

static bool structure_launch(MlirOperation op) {
  if (loom_get_i64(op, "stage", -1) < 0 || structure_number(op, "chunks", -1) < 0 ||
      structure_number(op, "scratch", -1) < 0)
    return structure_fail(op, "stage, chunks and scratch are not negative");
  return true;
}

static bool structure_call_host(MlirOperation op) {
  int64_t reads = loom_get_i64(op, "reads", -1);
  if (reads < 0 || reads > mlirOperationGetNumOperands(op))
    return structure_fail(op, "reads exceeds the buffers");
  return true;
}

static bool structure_copy_buffer(MlirOperation op) {
  loom_type from, to;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &from) ||
      !loom_type_from_mlir(mlirValueGetType(loom_operand(op, 1)), &to) ||
      !loom_type_equal(&from, &to))
    return structure_fail(op, "source and target differ in element type or sizes");
  return true;
}

static bool structure_trim_arena(MlirOperation op) {
  int64_t offset = loom_get_i64(op, "offset", -1), bytes = loom_get_i64(op, "bytes", -1);
  int64_t arena = loom_get_i64(mlirOperationGetParentOperation(op), "arena", INT64_MAX);
  if (offset < 0 || bytes < 0 || bytes > arena || offset > arena - bytes)
    return structure_fail(op, "the bytes are outside of the arena");
  return true;
}

/* `reads` operands come in, `results` values go out. */
static bool structure_flow(MlirOperation op, const char *list, int64_t reads, intptr_t results) {
  MlirStringRef kind = loom_get_str(op, "kind");
  MlirAttribute carry = loom_get_attr(op, "carry");
  bool counts = loom_str_is(kind, "for"), branches = loom_str_is(kind, "if");
  if (!counts && !branches && !loom_str_is(kind, "while"))
    return structure_fail(op, "kind is none of for, while, if");
  if (mlirArrayAttrGetNumElements(loom_get_attr(op, list)) != (counts ? 1 : 2))
    return structure_fail(op, "%s does not list the %s", list, counts ? "body" : "two regions");
  if (mlirDenseArrayGetNumElements(carry) != results)
    return structure_fail(op, "carry does not list every result");
  if (reads < (counts || branches) + (branches ? 0 : results))
    return structure_fail(op, "has not one operand for each carried value");
  for (intptr_t i = 0; i < results; i++) {
    int64_t from = mlirDenseI64ArrayGetElement(carry, i);
    if (from >= results || from < -results || (branches && from != i))
      return structure_fail(op, "carry lists %" PRId64 ", which is no value", from);
  }
  return true;
}

static bool structure_control(MlirOperation op) {
  intptr_t operands = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  bool branches = loom_str_is(loom_get_str(op, "kind"), "if");
  bool counts = loom_str_is(loom_get_str(op, "kind"), "for");
  if (!structure_flow(op, "bodies", operands, results)) return false;
  if ((counts || branches) &&
      !structure_is_scalar(mlirValueGetType(loom_operand(op, 0)), counts ? LOOM_I64 : LOOM_BOOL))
    return structure_fail(op, "the first operand is no 0-d %s", counts ? "int64" : "bool");
  for (intptr_t i = 0; !branches && i < results; i++)
    if (!mlirTypeEqual(mlirValueGetType(loom_result(op, i)),
                       mlirValueGetType(loom_operand(op, counts + i))))
      return structure_fail(op, "result %d has another type than the carried value", (int)i);
  return true;
}

static bool structure_run(MlirOperation op) {
  int64_t reads = loom_get_i64(op, "reads", -1);
  if (reads < 0 || reads > mlirOperationGetNumOperands(op))
    return structure_fail(op, "reads exceeds the buffers");
  return structure_flow(op, "plans", reads, mlirOperationGetNumOperands(op) - reads);
}

bool loom_verify_structure(MlirOperation op) {
  static const struct {
    loom_opcode code;
    bool (*verify)(MlirOperation op);
  } rows[] = {
      {LOOM_OP_FUSION, structure_fusion},
      {LOOM_OP_KERNEL, structure_kernel},
      {LOOM_OP_APPLY, structure_apply},
      {LOOM_OP_LAUNCH, structure_launch},
      {LOOM_OP_BUFFER, structure_buffer},
      {LOOM_OP_PLAN, structure_plan},
      {LOOM_OP_FOR, structure_for},
      {LOOM_OP_WHILE, structure_while},
      {LOOM_OP_IF, structure_if},
      {LOOM_OP_CALL_HOST, structure_call_host},
      {LOOM_OP_COPY_BUFFER, structure_copy_buffer},
      {LOOM_OP_TRIM_ARENA, structure_trim_arena},
      {LOOM_OP_CONTROL, structure_control},
      {LOOM_OP_RUN, structure_run},
  };
  loom_opcode code = loom_op_of(op);
  for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
    if (rows[i].code == code) return rows[i].verify(op);
  return true;
}
