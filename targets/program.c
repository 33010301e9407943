/* The C entry point of a compiled plan and its header (program.h). */
#include "targets/program.h"

#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"

#define PROGRAM_ALIGN 64

static MlirBlock program_block(MlirOperation plan) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(plan, 0));
}

static int64_t program_arena(MlirOperation plan) {
  return (loom_get_i64(plan, "arena", 0) + PROGRAM_ALIGN - 1) / PROGRAM_ALIGN * PROGRAM_ALIGN;
}

int64_t loom_program_workspace(MlirOperation plan) {
  int64_t scratch = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    int64_t need = loom_get_i64(op, "scratch", 0);
    if (loom_is(op, "loom.launch") && need > scratch) scratch = need;
  }
  return program_arena(plan) + scratch;
}

/* Has an earlier launch named the same stage? */
static bool program_seen(MlirOperation plan, MlirOperation op) {
  for (MlirOperation other = mlirBlockGetFirstOperation(program_block(plan));
       !mlirOperationEqual(other, op); other = mlirOperationGetNextInBlock(other))
    if (loom_is(other, "loom.launch") &&
        mlirAttributeEqual(loom_get_attr(other, "kernel"), loom_get_attr(op, "kernel")) &&
        mlirAttributeEqual(loom_get_attr(other, "stage"), loom_get_attr(op, "stage")))
      return true;
  return false;
}

/* ---- the entry, as text of the LLVM dialect ---- */

/* The stages, declared so that the text stands on its own. */
static void program_declare(FILE *text, MlirOperation plan, const char *prefix) {
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirAttribute kernel = loom_get_attr(op, "kernel");
    if (!loom_is(op, "loom.launch") || program_seen(plan, op) || !kernel.ptr ||
        !mlirAttributeIsAFlatSymbolRef(kernel))
      continue;
    MlirStringRef name = mlirFlatSymbolRefAttrGetValue(kernel);
    fprintf(text,
            "llvm.func @%s_%.*s_s%" PRId64 "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32\n",
            prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0));
  }
}

/* A value of the plan as a pointer %p<n>: inputs and outputs are read from the caller's arrays,
 * buffers lie in the workspace. */
static bool program_pointer(FILE *text, MlirOperation plan, MlirValue value, int n) {
  int64_t inputs = loom_get_i64(plan, "inputs", 0);
  if (!mlirValueIsABlockArgument(value)) {
    MlirOperation op = loom_def(value);
    if (!loom_is(op, "loom.buffer")) return false;
    fprintf(text,
            "%%o%d = llvm.mlir.constant(%" PRId64 " : i64) : i64\n"
            "%%p%d = llvm.getelementptr %%work[%%o%d] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n",
            n, loom_get_i64(op, "offset", 0), n, n);
    return true;
  }
  int64_t index = mlirBlockArgumentGetArgNumber(value);
  fprintf(text,
          "%%q%d = llvm.getelementptr %%%s[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, !llvm.ptr\n"
          "%%p%d = llvm.load %%q%d : !llvm.ptr -> !llvm.ptr\n",
          n, index < inputs ? "inputs" : "outputs", index < inputs ? index : index - inputs, n, n);
  return true;
}

static void program_store(FILE *text, const char *list, int index, const char *type, int n) {
  fprintf(text,
          "%%a%d = llvm.getelementptr %%%s[%d] : (!llvm.ptr) -> !llvm.ptr, i64\n"
          "llvm.store %%%c%d, %%a%d : %s, !llvm.ptr\n",
          n, list, index, type[0] == 'i' ? 'v' : 'p', n, n, type);
}

/* A scalar's bits, zero-extended to 64. */
static bool program_scalar(FILE *text, MlirValue value, int n) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type)) return false;
  int bits = (int)loom_dtype_size(type.dtype) * 8;
  if (bits > 64) return false;
  fprintf(text, "%%%c%d = llvm.load %%p%d : !llvm.ptr -> i%d\n", bits == 64 ? 'v' : 's', n, n,
          bits);
  if (bits < 64) fprintf(text, "%%v%d = llvm.zext %%s%d : i%d to i64\n", n, n, bits);
  return true;
}

static bool program_launch(FILE *text, MlirOperation plan, MlirOperation op, const char *prefix,
                           int *n, int step) {
  MlirAttribute kernel = loom_get_attr(op, "kernel"),
                sizes = loom_get_attr(op, "operandSegmentSizes");
  if (!kernel.ptr || !mlirAttributeIsAFlatSymbolRef(kernel) || !sizes.ptr ||
      !mlirAttributeIsADenseI32Array(sizes))
    return loom_emit_error(mlirOperationGetLocation(op), "a malformed launch");
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(kernel);
  int32_t buffers = mlirDenseI32ArrayGetElement(sizes, 0);
  for (int32_t i = 0; i < mlirOperationGetNumOperands(op); i++, ++*n) {
    bool ok = program_pointer(text, plan, loom_operand(op, i), *n) &&
              (i < buffers || program_scalar(text, loom_operand(op, i), *n));
    if (!ok) return loom_emit_error(mlirOperationGetLocation(op), "operand %d has no memory", i);
    program_store(text, i < buffers ? "buffers" : "params", i < buffers ? i : i - buffers,
                  i < buffers ? "!llvm.ptr" : "i64", *n);
  }
  fprintf(text,
          "%%c%d = llvm.mlir.constant(%" PRId64 " : i64) : i64\n"
          "%%r%d = llvm.call @%s_%.*s_s%" PRId64
          "(%%buffers, %%params, %%scratch, %%zero, %%c%d) : "
          "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32\n"
          "%%t%d = llvm.or %%t%d, %%r%d : i32\n",
          step, loom_get_i64(op, "chunks", 0), step, prefix, (int)name.length, name.data,
          loom_get_i64(op, "stage", 0), step, step + 1, step, step);
  return true;
}

static bool program_copy(FILE *text, MlirOperation plan, MlirOperation op, int *n, int step) {
  loom_type type;
  int source = (*n)++, target = (*n)++;
  if (!loom_type_from_mlir(mlirValueGetType(loom_operand(op, 0)), &type) ||
      loom_type_elements(&type) < 0 || !program_pointer(text, plan, loom_operand(op, 0), source) ||
      !program_pointer(text, plan, loom_operand(op, 1), target))
    return loom_emit_error(mlirOperationGetLocation(op), "a copy of no memory");
  int64_t bytes = loom_type_elements(&type) * (int64_t)loom_dtype_size(type.dtype);
  fprintf(text,
          "%%c%d = llvm.mlir.constant(%" PRId64 " : i64) : i64\n"
          "\"llvm.intr.memcpy\"(%%p%d, %%p%d, %%c%d) <{isVolatile = false}> : "
          "(!llvm.ptr, !llvm.ptr, i64) -> ()\n"
          "%%t%d = llvm.or %%t%d, %%t%d : i32\n",
          step, bytes, target, source, step, step + 1, step, step);
  return true;
}

/* Entries of the longest buffer list, which all launches share. */
static int program_longest(MlirOperation plan) {
  intptr_t longest = 1;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (mlirOperationGetNumOperands(op) > longest) longest = mlirOperationGetNumOperands(op);
  return (int)longest;
}

static bool program_body(FILE *text, MlirOperation plan, const char *prefix) {
  int n = 0, step = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (loom_is(op, "loom.buffer")) continue;
    bool ok;
    if (loom_is(op, "loom.launch"))
      ok = program_launch(text, plan, op, prefix, &n, step++);
    else if (loom_is(op, "loom.copy_buffer"))
      ok = program_copy(text, plan, op, &n, step++);
    else
      ok = loom_emit_error(mlirOperationGetLocation(op),
                           "calls into a library cannot be part of a compiled program");
    if (!ok) return false;
  }
  fprintf(text, "llvm.return %%t%d : i32\n}\n}\n", step);
  return true;
}

static bool program_text(MlirOperation plan, const char *name, char **out, size_t *size) {
  FILE *text = open_memstream(out, size);
  if (!text) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  fprintf(text, "module {\n");
  program_declare(text, plan, name);
  fprintf(text,
          "llvm.func @%s(%%inputs: !llvm.ptr, %%outputs: !llvm.ptr, %%work: !llvm.ptr) -> i32 {\n"
          "%%t0 = llvm.mlir.constant(0 : i32) : i32\n%%zero = llvm.mlir.constant(0 : i64) : i64\n"
          "%%count = llvm.mlir.constant(%d : i64) : i64\n"
          "%%buffers = llvm.alloca %%count x !llvm.ptr : (i64) -> !llvm.ptr\n"
          "%%params = llvm.alloca %%count x i64 : (i64) -> !llvm.ptr\n"
          "%%arena = llvm.mlir.constant(%" PRId64 " : i64) : i64\n"
          "%%scratch = llvm.getelementptr %%work[%%arena] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n",
          name, program_longest(plan), program_arena(plan));
  bool ok = program_body(text, plan, name);
  if (fclose(text) != 0 && ok)
    ok = loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  return ok;
}

bool loom_program_entry(MlirModule module, MlirOperation plan, const char *name) {
  char *text = NULL;
  size_t size = 0;
  bool ok = program_text(plan, name, &text, &size);
  if (ok) {
    MlirModule made =
        mlirModuleCreateParse(mlirOperationGetContext(plan), mlirStringRefCreate(text, size));
    ok = !mlirModuleIsNull(made);
    MlirOperation function = {NULL}, op = {NULL};
    if (ok) op = mlirBlockGetFirstOperation(mlirModuleGetBody(made));
    for (; op.ptr; op = mlirOperationGetNextInBlock(op))
      function = op; /* the last one: what comes before are declarations */
    if (ok) {
      mlirOperationRemoveFromParent(function);
      mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), function);
      mlirModuleDestroy(made);
    }
  }
  free(text);
  return ok;
}

/* ---- the header ---- */

static void program_describe(FILE *out, MlirType type, const char *list, int64_t index) {
  loom_type plain;
  if (!loom_type_from_mlir(type, &plain)) return;
  fprintf(out, " *   %s[%" PRId64 "]: %s", list, index, loom_dtype_name(plain.dtype));
  for (int d = 0; d < plain.rank; d++)
    fprintf(out, "%s%" PRId64, d ? "x" : " ", plain.dims[d]);
  if (plain.rank == 0) fprintf(out, " scalar");
  int64_t strides[LOOM_MAX_RANK], offset, plain_strides[LOOM_MAX_RANK];
  loom_contiguous_strides(&plain, plain_strides);
  if (mlirTypeIsAMemRef(type) && plain.rank &&
      mlirLogicalResultIsSuccess(mlirMemRefTypeGetStridesAndOffset(type, strides, &offset)) &&
      memcmp(strides, plain_strides, sizeof *strides * (size_t)plain.rank)) {
    fprintf(out, ", strides in elements");
    for (int d = 0; d < plain.rank; d++)
      fprintf(out, "%s%" PRId64, d ? ", " : " ", strides[d]);
  }
  fprintf(out, "\n");
}

static void program_stage(FILE *out, MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "kernel"));
  fprintf(
      out,
      "/* %" PRId64 " chunks, %" PRId64 " bytes of scratch a thread, %d buffers and scalars. */\n"
      "uint32_t %s_%.*s_s%" PRId64 "(void *const *buffers, const uint64_t *params, void *scratch, "
      "int64_t begin, int64_t end);\n",
      loom_get_i64(op, "chunks", 0), loom_get_i64(op, "scratch", 0),
      (int)mlirOperationGetNumOperands(op), prefix, (int)name.length, name.data,
      loom_get_i64(op, "stage", 0));
}

static void program_stages(FILE *out, MlirOperation plan, const char *prefix) {
  fprintf(out,
          "/* The stages that %s runs, in order of their first use, for callers with threads of "
          "their own:\n"
          " * a stage may be split among threads by chunks [begin, end) and must end before the "
          "next begins. */\n",
          prefix);
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is(op, "loom.launch") && !program_seen(plan, op)) program_stage(out, op, prefix);
}

static void program_upper(const char *name, char *out, size_t size) {
  size_t i = 0;
  for (; name[i] && i + 1 < size; i++)
    out[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
  out[i] = 0;
}

bool loom_program_header(MlirOperation plan, const char *name, loom_bytes *out) {
  char *text = NULL, upper[128];
  size_t size = 0;
  FILE *file = open_memstream(&text, &size);
  if (!file) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  program_upper(name, upper, sizeof upper);
  int64_t inputs = loom_get_i64(plan, "inputs", 0);
  MlirBlock block = program_block(plan);
  fprintf(file,
          "/* Made by loom-compile. */\n#ifndef %s_H\n#define %s_H\n\n#include <stdint.h>\n\n"
          "#ifdef __cplusplus\nextern \"C\" {\n#endif\n\n"
          "/* Bytes of `workspace`, which is 64-byte aligned; each running call needs one of its "
          "own. */\n"
          "#define %s_WORKSPACE %" PRId64 "\n\n/* Runs on the calling thread.\n *\n",
          upper, upper, upper, loom_program_workspace(plan));
  for (int64_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    program_describe(file, mlirValueGetType(mlirBlockGetArgument(block, i)),
                     i < inputs ? "inputs" : "outputs", i < inputs ? i : i - inputs);
  fprintf(file,
          " *\n * Pointers are to element [0, ..., 0]; outputs overlap nothing. Returns 0, or a "
          "union of 1 (an integer"
          "\n * was divided by zero), 2 (an integer division overflowed) and 256 (an index was out "
          "of bounds: outputs are"
          "\n * not valid). */\n"
          "int %s(const void *const *inputs, void *const *outputs, void *workspace);\n\n",
          name);
  program_stages(file, plan, name);
  fprintf(file, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  if (fclose(file) != 0) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  *out = (loom_bytes){(uint8_t *)text, size};
  return true;
}
