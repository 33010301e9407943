/* The C entry point of a compiled program, as text of the LLVM dialect (program.h).
 *
 * Each plan becomes a function: the main one the entry, those of regions private ones with the same
 * arguments, and the sizes before them, which loops and branches call (program_control.c).
 */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/program_text.h"

/* ---- plans ---- */

MlirBlock program_block(MlirOperation plan) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(plan, 0));
}

MlirOperation program_next(MlirOperation plan) {
  return loom_next_plan(mlirOperationGetBlock(plan), plan);
}

bool program_is_run(MlirOperation op) { return loom_info(op)->control; }

int64_t program_aligned(int64_t bytes) {
  return loom_num_mul(loom_num_ceil(bytes, PROGRAM_ALIGN), PROGRAM_ALIGN);
}

static int64_t program_arena(MlirOperation plan) {
  return program_aligned(loom_get_i64(plan, "arena", 0));
}

/* Launches and runs share what lies behind the arena. Which symbolic need is the largest is known
 * only then: there is room for all. */
int64_t program_workspace(MlirOperation plan) {
  int64_t most = 0, symbolic = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    int64_t need =
        program_is_run(op) ? program_run_bytes(plan, op) : loom_get_i64(op, "scratch", 0);
    if (LOOM_STRIDE_IS_SYM(need))
      symbolic = loom_num_add(symbolic, need);
    else if (need > most)
      most = need;
  }
  return loom_num_add(program_arena(plan), loom_num_add(most, symbolic));
}

bool program_is_counted(MlirOperation main, int64_t symbol) {
  for (MlirOperation plan = main; plan.ptr; plan = program_next(plan))
    for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
         op = mlirOperationGetNextInBlock(op))
      if (program_is_run(op) && loom_get_i64(op, loom_mark_symbol, -1) == symbol) return true;
  return false;
}

bool program_is_sized(MlirOperation main) {
  for (uint32_t i = 0; loom_sizes() && i < loom_sizes()->symbol_count; i++)
    if (!program_is_counted(main, i)) return true;
  return false;
}

/* Does a number change with a loop's index? */
static bool program_varies(MlirOperation main, int64_t number) {
  if (!LOOM_STRIDE_IS_SYM(number)) return false;
  const loom_expr *expr = &loom_sizes()->exprs[LOOM_STRIDE_EXPR(number)];
  if (expr->kind == LOOM_EXPR_CONST) return false;
  if (expr->kind == LOOM_EXPR_SYMBOL) return program_is_counted(main, expr->value);
  return program_varies(main, LOOM_STRIDE_SYM(expr->lhs)) ||
         program_varies(main, LOOM_STRIDE_SYM(expr->rhs));
}

bool loom_program_workspace(MlirOperation plan, int64_t *out) {
  *out = loom_num_add(program_workspace(plan), program_check_bytes(plan));
  return !program_varies(plan, *out) ||
         loom_emit_error(mlirOperationGetLocation(plan),
                         "the memory of a loop's body depends on the loop's index");
}

int64_t program_bytes(MlirOperation plan, MlirValue buffer) {
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

MlirOperation program_next_launch(MlirOperation plan, MlirOperation previous) {
  return loom_next_launch(program_block(plan), previous);
}

bool program_seen(MlirOperation main, MlirOperation op) {
  MlirOperation none = {NULL};
  for (MlirOperation plan = main; plan.ptr; plan = program_next(plan))
    for (MlirOperation other = program_next_launch(plan, none); other.ptr;
         other = program_next_launch(plan, other)) {
      if (mlirOperationEqual(other, op)) return false;
      if (mlirAttributeEqual(loom_get_attr(other, "kernel"), loom_get_attr(op, "kernel")) &&
          mlirAttributeEqual(loom_get_attr(other, "stage"), loom_get_attr(op, "stage")))
        return true;
    }
  return false;
}

/* ---- symbolic sizes, as text of the LLVM dialect ---- */

void program_need(uint8_t *needed, int64_t number) {
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

void program_number(FILE *text, const char *name, int n, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number))
    fprintf(text, "%%%s%d = llvm.add %%e%u, %%zero : i64\n", name, n, LOOM_STRIDE_EXPR(number));
  else
    fprintf(text, "%%%s%d = llvm.mlir.constant(%" PRId64 " : i64) : i64\n", name, n, number);
}

static void program_visit(void *user, int64_t number) { program_need(user, number); }

static bool program_need_op(MlirOperation op, void *user) {
  static const char *const names[] = {"offset", "bytes", "chunks", "scratch"};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    program_need(user, loom_get_i64(op, names[i], 0));
  return true;
}

static void program_ignore(void *user, int64_t number) {
  (void)user;
  (void)number;
}

static void program_visit_runs(MlirOperation plan, void (*visit)(void *user, int64_t number),
                               void *user) {
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (program_is_run(op)) program_run_numbers(plan, op, visit, user);
}

/* The expressions that a plan's function, or the one for the workspace, needs. NULL: out of memory.
 */
static uint8_t *program_needed(MlirOperation plan, bool entry) {
  /* First, since these may append to the table of expressions. */
  int64_t bytes_needed = program_arena(plan);
  if (!entry) bytes_needed = loom_num_add(program_workspace(plan), program_check_bytes(plan));
  program_visit_runs(plan, program_ignore, NULL);
  uint8_t *needed = calloc(1, loom_sizes() ? loom_sizes()->expr_count + 1u : 1);
  if (!needed) return NULL;
  program_need(needed, bytes_needed);
  if (!entry) return needed;
  loom_walk_block(program_block(plan), program_need_op, needed);
  program_visit_runs(plan, program_visit, needed);
  program_check_numbers(plan, program_visit, needed);
  MlirAttribute bytes = loom_get_attr(plan, "bytes");
  for (intptr_t i = 0; bytes.ptr && i < mlirDenseArrayGetNumElements(bytes); i++)
    program_need(needed, mlirDenseI64ArrayGetElement(bytes, i));
  return needed;
}

/* ---- functions ---- */

/* The stages, declared so that the text stands on its own. */
static void program_declare(FILE *text, MlirOperation main, MlirOperation plan,
                            const char *prefix) {
  for (MlirOperation op = program_next_launch(plan, (MlirOperation){NULL}); op.ptr;
       op = program_next_launch(plan, op)) {
    MlirAttribute kernel = loom_get_attr(op, "kernel");
    if (program_seen(main, op) || !kernel.ptr || !mlirAttributeIsAFlatSymbolRef(kernel)) continue;
    MlirStringRef name = mlirFlatSymbolRefAttrGetValue(kernel);
    fprintf(text,
            "llvm.func @%s_%.*s_s%" PRId64 "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32\n",
            prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0));
  }
}

/* Inputs and outputs are read from the caller's arrays, buffers lie in the workspace. */
bool program_pointer(program_writer *w, MlirValue value, int *out) {
  int64_t inputs = loom_get_i64(w->plan, "inputs", 0);
  int n = *out = w->values++;
  if (!mlirValueIsABlockArgument(value)) {
    MlirOperation op = loom_def(value);
    if (!loom_is(op, LOOM_OP_BUFFER)) return false;
    program_number(w->text, "o", n, loom_get_i64(op, "offset", 0));
    fprintf(w->text,
            "%%p%d = llvm.getelementptr %%work[%%o%d] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n", n, n);
    return true;
  }
  int64_t index = mlirBlockArgumentGetArgNumber(value);
  fprintf(w->text,
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

/* The stage's own call, once its lists are filled. */
static void program_call(program_writer *w, MlirOperation op, MlirStringRef kernel) {
  int64_t first = loom_get_i64(op, loom_mark_first, 0), chunks = loom_get_i64(op, "chunks", 0);
  int step = w->step++;
  program_number(w->text, "f", step, first);
  program_number(w->text, "c", step, first ? first + chunks : chunks);
  fprintf(w->text,
          "%%r%d = llvm.call @%s_%.*s_s%" PRId64 "(%%buffers, %%params, %%scratch, %%f%d, %%c%d) : "
          "(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64, i64) -> i32\n"
          "%%t%d = llvm.or %%t%d, %%r%d : i32\n",
          step, w->name, (int)kernel.length, kernel.data, loom_get_i64(op, "stage", 0), step, step,
          step + 1, step, step);
  program_check_after(w);
}

static bool program_launch(program_writer *w, MlirOperation op) {
  MlirAttribute kernel = loom_get_attr(op, "kernel"),
                sizes = loom_get_attr(op, "operandSegmentSizes");
  if (!kernel.ptr || !mlirAttributeIsAFlatSymbolRef(kernel) || !sizes.ptr ||
      !mlirAttributeIsADenseI32Array(sizes))
    return loom_emit_error(mlirOperationGetLocation(op), "a malformed launch");
  int32_t buffers = mlirDenseI32ArrayGetElement(sizes, 0);
  int n;
  if (!program_check_before(w, op, buffers)) return false;
  for (int32_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    bool ok = program_pointer(w, loom_operand(op, i), &n) &&
              (i < buffers || program_scalar(w->text, loom_operand(op, i), n));
    if (!ok) return loom_emit_error(mlirOperationGetLocation(op), "operand %d has no memory", i);
    program_store(w->text, i < buffers ? "buffers" : "params", i < buffers ? i : i - buffers,
                  i < buffers ? "!llvm.ptr" : "i64", n);
  }
  int64_t symbols = loom_get_i64(op, "symbols", 0);
  for (int64_t i = 0; i < symbols; i++) {
    n = w->values++;
    fprintf(w->text,
            "%%sp%d = llvm.getelementptr %%sizes[%" PRId64 "] : (!llvm.ptr) -> !llvm.ptr, i64\n"
            "%%v%d = llvm.load %%sp%d : !llvm.ptr -> i64\n",
            n, i, n, n);
    program_store(w->text, "params", (int)(mlirOperationGetNumOperands(op) - buffers + i), "i64",
                  n);
  }
  program_call(w, op, mlirFlatSymbolRefAttrGetValue(kernel));
  return true;
}

/* A body that may run in place copies only when it does not. */
static bool program_copy(program_writer *w, MlirOperation op) {
  int source, target;
  int64_t bytes = program_bytes(w->plan, loom_operand(op, 0));
  if (bytes == -1 || !program_pointer(w, loom_operand(op, 0), &source) ||
      !program_pointer(w, loom_operand(op, 1), &target))
    return loom_emit_error(mlirOperationGetLocation(op), "a copy of no memory");
  char from[24], to[24];
  snprintf(from, sizeof from, "p%d", source);
  snprintf(to, sizeof to, "p%d", target);
  program_move(w, from, to, bytes);
  return true;
}

void program_move(program_writer *w, const char *from, const char *to, int64_t bytes) {
  int n = w->values++;
  program_number(w->text, "n", n, bytes);
  fprintf(w->text,
          "%%same%d = llvm.icmp \"eq\" %%%s, %%%s : !llvm.ptr\n"
          "%%size%d = llvm.select %%same%d, %%zero, %%n%d : i1, i64\n"
          "\"llvm.intr.memmove\"(%%%s, %%%s, %%size%d) <{isVolatile = false}> : "
          "(!llvm.ptr, !llvm.ptr, i64) -> ()\n",
          n, from, to, n, n, n, to, from, n);
}

/* Entries of the longest list of buffers, which all launches share. */
static int program_longest(MlirOperation plan) {
  intptr_t longest = 1;
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (mlirOperationGetNumOperands(op) > longest) longest = mlirOperationGetNumOperands(op);
  return (int)longest + (int)(loom_sizes() ? loom_sizes()->symbol_count : 0);
}

static bool program_step(program_writer *w, MlirOperation op) {
  switch (loom_op_of(op)) {
  case LOOM_OP_BUFFER:
  case LOOM_OP_TRIM_ARENA: return true;
  case LOOM_OP_LAUNCH: return program_launch(w, op);
  case LOOM_OP_COPY_BUFFER: return program_copy(w, op);
  case LOOM_OP_RUN: return program_run(w, op);
  default:
    return loom_emit_error(mlirOperationGetLocation(op),
                           "calls into a library cannot be part of a compiled program");
  }
}

static bool program_body(program_writer *w) {
  for (MlirOperation op = mlirBlockGetFirstOperation(program_block(w->plan)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (!program_step(w, op)) return false;
  fprintf(w->text, "llvm.return %%t%d : i32\n}\n", w->step);
  return true;
}

/* The sizes in memory of this call: loops write their indices there. */
static void program_own_sizes(program_writer *w, bool sized) {
  uint32_t count = loom_sizes() ? loom_sizes()->symbol_count : 0;
  fprintf(w->text,
          "%%symbols = llvm.mlir.constant(%u : i64) : i64\n"
          "%%sizes = llvm.alloca %%symbols x i64 : (i64) -> !llvm.ptr\n",
          count ? count : 1);
  for (uint32_t i = 0; i < count; i++)
    if (!sized)
      fprintf(w->text,
              "%%sa%u = llvm.getelementptr %%sizes[%u] : (!llvm.ptr) -> !llvm.ptr, i64\n"
              "llvm.store %%zero, %%sa%u : i64, !llvm.ptr\n",
              i, i, i);
  if (sized)
    fprintf(w->text,
            "%%sbytes = llvm.mlir.constant(%u : i64) : i64\n"
            "\"llvm.intr.memmove\"(%%sizes, %%given, %%sbytes) <{isVolatile = false}> : "
            "(!llvm.ptr, !llvm.ptr, i64) -> ()\n",
            count * 8);
}

static void program_head(program_writer *w, bool entry) {
  bool sized = !entry || program_is_sized(w->plan), checked = program_is_checked(w->plan);
  MlirStringRef plan = loom_get_str(w->plan, "sym_name");
  if (entry)
    fprintf(w->text, "llvm.func @%s(%s", w->name, sized ? "%given: !llvm.ptr, " : "");
  else
    fprintf(w->text, "llvm.func internal @%s_%.*s(%s%%sizes: !llvm.ptr, ", w->name,
            (int)plan.length, plan.data, checked ? "%frame: !llvm.ptr, " : "");
  fprintf(w->text,
          "%%inputs: !llvm.ptr, %%outputs: !llvm.ptr, %%%s: !llvm.ptr) -> i32 {\n"
          "%%t0 = llvm.mlir.constant(0 : i32) : i32\n"
          "%%zero = llvm.mlir.constant(0 : i64) : i64\n"
          "%%one = llvm.mlir.constant(1 : i64) : i64\n"
          "%%count = llvm.mlir.constant(%d : i64) : i64\n"
          "%%params = llvm.alloca %%count x i64 : (i64) -> !llvm.ptr\n",
          entry && checked ? "frame" : "work", program_longest(w->plan));
  if (checked)
    program_check_head(w->text, entry);
  else
    fprintf(w->text, "%%buffers = llvm.alloca %%count x !llvm.ptr : (i64) -> !llvm.ptr\n");
  if (entry) program_own_sizes(w, sized);
  int lists = program_run_longest(w->plan);
  if (lists)
    fprintf(w->text,
            "%%lists = llvm.mlir.constant(%d : i64) : i64\n"
            "%%reads = llvm.alloca %%lists x !llvm.ptr : (i64) -> !llvm.ptr\n"
            "%%writes = llvm.alloca %%lists x !llvm.ptr : (i64) -> !llvm.ptr\n"
            "%%ring = llvm.alloca %%lists x !llvm.ptr : (i64) -> !llvm.ptr\n"
            "%%index = llvm.alloca %%one x i64 : (i64) -> !llvm.ptr\n"
            "%%more = llvm.alloca %%one x i8 : (i64) -> !llvm.ptr\n",
            lists);
}

static bool program_function(FILE *text, MlirOperation plan, const char *name, bool entry) {
  program_writer w = {.text = text, .plan = plan, .name = name};
  uint8_t *needed = program_needed(plan, true);
  if (!needed) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  program_head(&w, entry);
  program_exprs(text, needed);
  program_number(text, "arena", 0, program_arena(plan));
  fprintf(text,
          "%%scratch = llvm.getelementptr %%work[%%arena0] : (!llvm.ptr, i64) -> !llvm.ptr, i8\n");
  free(needed);
  return program_body(&w);
}

/* int64_t <name>_workspace(const int64_t *sizes) */
static bool program_workspace_text(FILE *text, MlirOperation plan, const char *name) {
  int64_t bytes = loom_num_add(program_workspace(plan), program_check_bytes(plan));
  uint8_t *needed = program_needed(plan, false);
  if (!needed) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  fprintf(text,
          "llvm.func @%s_workspace(%%sizes: !llvm.ptr) -> i64 {\n"
          "%%zero = llvm.mlir.constant(0 : i64) : i64\n"
          "%%one = llvm.mlir.constant(1 : i64) : i64\n",
          name);
  program_exprs(text, needed);
  program_number(text, "w", 0, bytes);
  fprintf(text, "llvm.return %%w0 : i64\n}\n");
  free(needed);
  return true;
}

static bool program_text(MlirOperation main, MlirAttribute sites, const char *name, char **out,
                         size_t *size) {
  FILE *text = open_memstream(out, size);
  if (!text) return loom_emit_error(mlirOperationGetLocation(main), "out of memory");
  fprintf(text, "module {\n");
  for (MlirOperation plan = main; plan.ptr; plan = program_next(plan))
    program_declare(text, main, plan, name);
  bool ok = !program_is_sized(main) || program_workspace_text(text, main, name);
  ok = ok && program_signature(text, main, name);
  if (program_is_checked(main)) program_check_text(text, sites, name);
  for (MlirOperation plan = main; plan.ptr && ok; plan = program_next(plan))
    ok = program_function(text, plan, name, mlirOperationEqual(plan, main));
  fprintf(text, "}\n");
  if (fclose(text) != 0 && ok)
    ok = loom_emit_error(mlirOperationGetLocation(main), "out of memory");
  return ok;
}

/* Takes tables and the functions with a body out of a parsed module: others are declarations. */
static void program_take(MlirModule from, MlirModule to) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(from)), next;
  for (; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    bool body = !mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)));
    if (!body && !loom_is_named(op, "llvm.mlir.global")) continue;
    mlirOperationRemoveFromParent(op);
    mlirBlockAppendOwnedOperation(mlirModuleGetBody(to), op);
  }
}

/* Takes the texts of the accesses of checked kernels out of the module. */
static MlirAttribute program_take_sites(MlirOperation module) {
  static const char *const names[] = {loom_mark_sites, loom_mark_site_buffers,
                                      loom_mark_site_bytes};
  MlirAttribute sites = loom_get_attr(module, loom_mark_sites);
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    mlirOperationRemoveAttributeByName(module, loom_str(names[i]));
  return sites;
}

bool loom_program_entry(MlirModule module, MlirOperation plan, const char *name) {
  char *text = NULL;
  size_t size = 0;
  int64_t bytes;
  MlirAttribute sites = program_take_sites(mlirModuleGetOperation(module));
  bool ok = loom_program_workspace(plan, &bytes) && program_text(plan, sites, name, &text, &size);
  if (ok) {
    MlirModule made =
        mlirModuleCreateParse(mlirOperationGetContext(plan), mlirStringRefCreate(text, size));
    ok = !mlirModuleIsNull(made);
    if (ok) {
      program_take(made, module);
      mlirModuleDestroy(made);
    }
  }
  free(text);
  return ok;
}
