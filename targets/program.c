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
  return loom_num_mul(loom_num_ceil(loom_get_i64(plan, "arena", 0), PROGRAM_ALIGN), PROGRAM_ALIGN);
}

/* Symbolic scratches lie one after the other: which is the largest is known only then. */
int64_t loom_program_workspace(MlirOperation plan) {
  int64_t scratch = 0, symbolic = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    int64_t need = loom_is(op, "loom.launch") ? loom_get_i64(op, "scratch", 0) : 0;
    if (LOOM_STRIDE_IS_SYM(need))
      symbolic = loom_num_add(symbolic, need);
    else if (need > scratch)
      scratch = need;
  }
  return loom_num_add(program_arena(plan), loom_num_add(scratch, symbolic));
}

static bool program_is_sized(void) { return loom_sizes() && loom_sizes()->symbol_count; }

/* Bytes of a buffer: by its type, or as the plan says where that is symbolic; -1 unknown. */
static int64_t program_bytes(MlirOperation plan, MlirValue buffer) {
  loom_type type;
  int64_t bytes[128];
  MlirOperation op = loom_def(buffer);
  if (op.ptr && loom_get_attr(op, "bytes").ptr) return loom_get_i64(op, "bytes", -1);
  if (!op.ptr && loom_get_attr(plan, "bytes").ptr) {
    intptr_t count = loom_get_i64s(plan, "bytes", bytes, 128);
    int64_t number = mlirBlockArgumentGetArgNumber(buffer);
    return number < count && number < 128 ? bytes[number] : -1;
  }
  if (!loom_type_from_mlir(mlirValueGetType(buffer), &type) || loom_type_elements(&type) < 0)
    return -1;
  return loom_type_elements(&type) * (int64_t)loom_dtype_size(type.dtype);
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

/* ---- symbolic sizes, as text of the LLVM dialect ---- */

static void program_need(uint8_t *needed, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number) || !loom_num_known(number)) return;
  const loom_expr *expr = &loom_sizes()->exprs[LOOM_STRIDE_EXPR(number)];
  if (needed[LOOM_STRIDE_EXPR(number)]) return;
  needed[LOOM_STRIDE_EXPR(number)] = 1;
  if (expr->kind == LOOM_EXPR_CONST || expr->kind == LOOM_EXPR_SYMBOL) return;
  program_need(needed, LOOM_STRIDE_SYM(expr->lhs));
  program_need(needed, LOOM_STRIDE_SYM(expr->rhs));
}

/* Quotients and remainders are towards negative infinity; divisors are positive. */
static void program_divide(FILE *text, uint32_t i, const loom_expr *expr) {
  fprintf(
      text,
      "%%ed%u = llvm.intr.smax(%%e%u, %%one) : (i64, i64) -> i64\n"
      "%%er%u = llvm.srem %%e%u, %%ed%u : i64\n%%eb%u = llvm.icmp \"slt\" %%er%u, %%zero : i64\n",
      i, expr->rhs, i, expr->lhs, i, i, i);
  if (expr->kind == LOOM_EXPR_MOD)
    fprintf(text,
            "%%ea%u = llvm.select %%eb%u, %%ed%u, %%zero : i1, i64\n"
            "%%e%u = llvm.add %%er%u, %%ea%u : i64\n",
            i, i, i, i, i, i);
  else
    fprintf(text,
            "%%eq%u = llvm.sdiv %%e%u, %%ed%u : i64\n%%ea%u = llvm.sext %%eb%u : i1 to i64\n"
            "%%e%u = llvm.add %%eq%u, %%ea%u : i64\n",
            i, expr->lhs, i, i, i, i, i, i);
}

/* Every expression that is needed as a value %e<number>, operands first. */
static void program_exprs(FILE *text, const uint8_t *needed) {
  const loom_graph *sizes = loom_sizes();
  for (uint32_t i = 0; sizes && i < sizes->expr_count; i++) {
    const loom_expr *expr = &sizes->exprs[i];
    static const char *const names[] = {[LOOM_EXPR_ADD] = "llvm.add",
                                        [LOOM_EXPR_MUL] = "llvm.mul",
                                        [LOOM_EXPR_MIN] = "llvm.intr.smin",
                                        [LOOM_EXPR_MAX] = "llvm.intr.smax"};
    if (!needed[i]) continue;
    switch (expr->kind) {
    case LOOM_EXPR_CONST:
      fprintf(text, "%%e%u = llvm.mlir.constant(%" PRId64 " : i64) : i64\n", i, expr->value);
      break;
    case LOOM_EXPR_SYMBOL:
      fprintf(text,
              "%%ep%u = llvm.getelementptr %%sizes[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, i64\n"
              "%%e%u = llvm.load %%ep%u : !llvm.ptr -> i64\n",
              i, expr->value, i, i);
      break;
    case LOOM_EXPR_ADD:
    case LOOM_EXPR_MUL:
      fprintf(text, "%%e%u = %s %%e%u, %%e%u : i64\n", i, names[expr->kind], expr->lhs, expr->rhs);
      break;
    case LOOM_EXPR_FLOORDIV:
    case LOOM_EXPR_MOD: program_divide(text, i, expr); break;
    default:
      fprintf(text, "%%e%u = %s(%%e%u, %%e%u) : (i64, i64) -> i64\n", i, names[expr->kind],
              expr->lhs, expr->rhs);
    }
  }
}

/* A number as the value %<name><n>. */
static void program_number(FILE *text, const char *name, int n, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number))
    fprintf(text, "%%%s%d = llvm.add %%e%u, %%zero : i64\n", name, n, LOOM_STRIDE_EXPR(number));
  else
    fprintf(text, "%%%s%d = llvm.mlir.constant(%" PRId64 " : i64) : i64\n", name, n, number);
}

static bool program_need_op(MlirOperation op, void *user) {
  static const char *const names[] = {"offset", "bytes", "chunks", "scratch"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    program_need(user, loom_get_i64(op, names[i], 0));
  return true;
}

/* The expressions that the entry, or its function for the workspace, needs. NULL: out of memory. */
static uint8_t *program_needed(MlirOperation plan, bool entry) {
  /* First, since it may append to the table of expressions. */
  int64_t bytes_needed = entry ? program_arena(plan) : loom_program_workspace(plan);
  uint8_t *needed = calloc(1, loom_sizes() ? loom_sizes()->expr_count + 1u : 1);
  if (!needed) return NULL;
  program_need(needed, bytes_needed);
  if (!entry) return needed;
  loom_walk_block(program_block(plan), program_need_op, needed);
  MlirAttribute bytes = loom_get_attr(plan, "bytes");
  for (intptr_t i = 0; bytes.ptr && i < mlirDenseArrayGetNumElements(bytes); i++)
    program_need(needed, mlirDenseI64ArrayGetElement(bytes, i));
  return needed;
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
    program_number(text, "o", n, loom_get_i64(op, "offset", 0));
    fprintf(text, "%%p%d = llvm.getelementptr %%work[%%o%d] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n",
            n, n);
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
  int64_t symbols = loom_get_i64(op, "symbols", 0);
  for (int64_t i = 0; i < symbols; i++, ++*n) {
    fprintf(text,
            "%%sp%d = llvm.getelementptr %%sizes[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, i64\n"
            "%%v%d = llvm.load %%sp%d : !llvm.ptr -> i64\n",
            *n, i, *n, *n);
    program_store(text, "params", (int)(mlirOperationGetNumOperands(op) - buffers + i), "i64", *n);
  }
  int64_t first = loom_get_i64(op, "loom.first", 0), chunks = loom_get_i64(op, "chunks", 0);
  program_number(text, "f", step, first);
  program_number(text, "c", step, first ? first + chunks : chunks);
  fprintf(text,
          "%%r%d = llvm.call @%s_%.*s_s%" PRId64 "(%%buffers, %%params, %%scratch, %%f%d, %%c%d) : "
          "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32\n"
          "%%t%d = llvm.or %%t%d, %%r%d : i32\n",
          step, prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0), step, step,
          step + 1, step, step);
  return true;
}

static bool program_copy(FILE *text, MlirOperation plan, MlirOperation op, int *n, int step) {
  int source = (*n)++, target = (*n)++;
  int64_t bytes = program_bytes(plan, loom_operand(op, 0));
  if (bytes == -1 || !program_pointer(text, plan, loom_operand(op, 0), source) ||
      !program_pointer(text, plan, loom_operand(op, 1), target))
    return loom_emit_error(mlirOperationGetLocation(op), "a copy of no memory");
  program_number(text, "c", step, bytes);
  fprintf(text,
          "\"llvm.intr.memcpy\"(%%p%d, %%p%d, %%c%d) <{isVolatile = false}> : "
          "(!llvm.ptr, !llvm.ptr, i64) -> ()\n"
          "%%t%d = llvm.or %%t%d, %%t%d : i32\n",
          target, source, step, step + 1, step, step);
  return true;
}

/* Entries of the longest buffer list, which all launches share. */
static int program_longest(MlirOperation plan) {
  intptr_t longest = 1;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (mlirOperationGetNumOperands(op) > longest) longest = mlirOperationGetNumOperands(op);
  return (int)longest + (int)(loom_sizes() ? loom_sizes()->symbol_count : 0);
}

static bool program_body(FILE *text, MlirOperation plan, const char *prefix) {
  int n = 0, step = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (loom_is(op, "loom.buffer") || loom_is(op, "loom.trim_arena")) continue;
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

/* int64_t <name>_workspace(const int64_t *sizes) */
static bool program_workspace_text(FILE *text, MlirOperation plan, const char *name) {
  uint8_t *needed = program_needed(plan, false);
  if (!needed) return false;
  fprintf(text,
          "llvm.func @%s_workspace(%%sizes: !llvm.ptr) -> i64 {\n"
          "%%zero = llvm.mlir.constant(0 : i64) : i64\n"
          "%%one = llvm.mlir.constant(1 : i64) : i64\n",
          name);
  program_exprs(text, needed);
  program_number(text, "w", 0, loom_program_workspace(plan));
  fprintf(text, "llvm.return %%w0 : i64\n}\n");
  free(needed);
  return true;
}

static bool program_text(MlirOperation plan, const char *name, char **out, size_t *size) {
  FILE *text = open_memstream(out, size);
  uint8_t *needed = program_needed(plan, true);
  bool sized = program_is_sized(), ok = text && needed;
  if (ok) fprintf(text, "module {\n");
  if (ok) program_declare(text, plan, name);
  if (ok && sized) ok = program_workspace_text(text, plan, name);
  if (ok) {
    fprintf(
        text,
        "llvm.func @%s(%s%%inputs: !llvm.ptr, %%outputs: !llvm.ptr, %%work: !llvm.ptr) -> i32 {\n"
        "%%t0 = llvm.mlir.constant(0 : i32) : i32\n"
        "%%zero = llvm.mlir.constant(0 : i64) : i64\n"
        "%%one = llvm.mlir.constant(1 : i64) : i64\n"
        "%%count = llvm.mlir.constant(%d : i64) : i64\n"
        "%%buffers = llvm.alloca %%count x !llvm.ptr : (i64) -> !llvm.ptr\n"
        "%%params = llvm.alloca %%count x i64 : (i64) -> !llvm.ptr\n",
        name, sized ? "%sizes: !llvm.ptr, " : "", program_longest(plan));
    program_exprs(text, needed);
    program_number(text, "arena", 0, program_arena(plan));
    fprintf(
        text,
        "%%scratch = llvm.getelementptr %%work[%%arena0] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n");
    ok = program_body(text, plan, name);
  } else {
    loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  }
  free(needed);
  if (text && fclose(text) != 0 && ok)
    ok = loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  return ok;
}

/* Takes the functions with a body out of a parsed module: what comes before are declarations. */
static void program_move(MlirModule from, MlirModule to) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(from)), next;
  for (; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)))) continue;
    mlirOperationRemoveFromParent(op);
    mlirBlockAppendOwnedOperation(mlirModuleGetBody(to), op);
  }
}

bool loom_program_entry(MlirModule module, MlirOperation plan, const char *name) {
  char *text = NULL;
  size_t size = 0;
  bool ok = program_text(plan, name, &text, &size);
  if (ok) {
    MlirModule made =
        mlirModuleCreateParse(mlirOperationGetContext(plan), mlirStringRefCreate(text, size));
    ok = !mlirModuleIsNull(made);
    if (ok) {
      program_move(made, module);
      mlirModuleDestroy(made);
    }
  }
  free(text);
  return ok;
}

/* ---- the header ---- */

static void program_show(FILE *out, uint32_t index) {
  const loom_expr *expr = &loom_sizes()->exprs[index];
  static const char *const signs[] = {[LOOM_EXPR_ADD] = " + ",      [LOOM_EXPR_MUL] = " * ",
                                      [LOOM_EXPR_FLOORDIV] = " / ", [LOOM_EXPR_MOD] = " % ",
                                      [LOOM_EXPR_MIN] = " min ",    [LOOM_EXPR_MAX] = " max "};
  if (expr->kind == LOOM_EXPR_CONST) {
    fprintf(out, "%" PRId64, expr->value);
  } else if (expr->kind == LOOM_EXPR_SYMBOL) {
    fprintf(out, "sizes[%" PRId64 "]", expr->value);
  } else {
    fputc('(', out);
    program_show(out, expr->lhs);
    fputs(signs[expr->kind], out);
    program_show(out, expr->rhs);
    fputc(')', out);
  }
}

static void program_describe(FILE *out, MlirOperation plan, MlirValue value, const char *list,
                             int64_t index) {
  loom_type plain;
  MlirType type = mlirValueGetType(value);
  if (!loom_type_from_mlir(type, &plain)) return;
  if (!mlirShapedTypeHasStaticShape(type)) {
    fprintf(out, " *   %s[%" PRId64 "]: %s of rank %d, ", list, index, loom_dtype_name(plain.dtype),
            plain.rank);
    int64_t bytes = program_bytes(plan, value);
    if (LOOM_STRIDE_IS_SYM(bytes))
      program_show(out, LOOM_STRIDE_EXPR(bytes));
    else
      fprintf(out, "%" PRId64, bytes);
    fprintf(out, " bytes\n");
    return;
  }
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

static void program_count(FILE *out, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number))
    program_show(out, LOOM_STRIDE_EXPR(number));
  else
    fprintf(out, "%" PRId64, number);
}

static void program_stage(FILE *out, MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "kernel"));
  fputs("/* ", out);
  program_count(out, loom_get_i64(op, "chunks", 0));
  fputs(" chunks, ", out);
  program_count(out, loom_get_i64(op, "scratch", 0));
  fprintf(out,
          " bytes of scratch a thread, %d buffers and scalars%s. */\n"
          "uint32_t %s_%.*s_s%" PRId64
          "(void *const *buffers, const uint64_t *params, void *scratch, "
          "int64_t begin, int64_t end);\n",
          (int)mlirOperationGetNumOperands(op), program_is_sized() ? ", then sizes" : "", prefix,
          (int)name.length, name.data, loom_get_i64(op, "stage", 0));
}

/* Chunks of a stage that runs in parts, between which others run. */
static void program_round(FILE *out, MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "kernel"));
  int64_t first = loom_get_i64(op, "loom.first", 0);
  if (first)
    fprintf(out, "/* Here %s_%.*s_s%" PRId64 " again, from chunk %" PRId64 " on: %" PRId64 ". */\n",
            prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0), first,
            loom_get_i64(op, "chunks", 0));
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
    if (loom_is(op, "loom.launch")) {
      if (!program_seen(plan, op)) program_stage(out, op, prefix);
      program_round(out, op, prefix);
    }
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
          "own. */\n",
          upper, upper);
  bool sized = program_is_sized();
  if (sized)
    fprintf(file, "int64_t %s_workspace(const int64_t *sizes);\n", name);
  else
    fprintf(file, "#define %s_WORKSPACE %" PRId64 "\n", upper, loom_program_workspace(plan));
  fprintf(file, "\n/* Runs on the calling thread.\n *\n");
  if (sized)
    fprintf(file, " *   sizes: %u of them, as the function's types name them (s0, s1, ...)\n",
            loom_sizes()->symbol_count);
  for (int64_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    program_describe(file, plan, mlirBlockGetArgument(block, i), i < inputs ? "inputs" : "outputs",
                     i < inputs ? i : i - inputs);
  fprintf(file,
          " *\n * Pointers are to element [0, ..., 0]; outputs overlap nothing. Returns 0, or a "
          "union of 1 (an integer"
          "\n * was divided by zero), 2 (an integer division overflowed) and 256 (an index was out "
          "of bounds: outputs are"
          "\n * not valid). */\n"
          "int %s(%sconst void *const *inputs, void *const *outputs, void *workspace);\n\n",
          name, sized ? "const int64_t *sizes, " : "");
  program_stages(file, plan, name);
  fprintf(file, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  if (fclose(file) != 0) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  *out = (loom_bytes){(uint8_t *)text, size};
  return true;
}
