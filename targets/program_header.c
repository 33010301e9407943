/* The C header of a compiled program (program.h). */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <string.h>

#include "dialects/ir.h"
#include "targets/program_text.h"

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

static void program_count(FILE *out, int64_t number) {
  if (LOOM_STRIDE_IS_SYM(number))
    program_show(out, LOOM_STRIDE_EXPR(number));
  else
    fprintf(out, "%" PRId64, number);
}

void program_describe_type(FILE *out, MlirOperation plan, MlirValue value) {
  loom_type plain;
  MlirType type = mlirValueGetType(value);
  if (!loom_type_from_mlir(type, &plain)) return;
  if (mlirTypeIsAShaped(type) && !mlirShapedTypeHasStaticShape(type)) {
    fprintf(out, "%s of rank %d, ", loom_dtype_name(plain.dtype), plain.rank);
    int64_t bytes = program_bytes(plan, value);
    program_count(out, bytes);
    fprintf(out, " bytes");
    return;
  }
  fputs(loom_dtype_name(plain.dtype), out);
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
}

static void program_describe(FILE *out, MlirOperation plan, MlirValue value, const char *list,
                             int64_t index) {
  fprintf(out, " *   %s[%" PRId64 "]: ", list, index);
  program_describe_type(out, plan, value);
  fputc('\n', out);
}

static void program_stage(FILE *out, MlirOperation plan, MlirOperation op, const char *prefix) {
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
          (int)mlirOperationGetNumOperands(op), program_is_sized(plan) ? ", then sizes" : "",
          prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0));
}

/* Chunks of a stage that runs in parts, between which others run. */
static void program_round(FILE *out, MlirOperation op, const char *prefix) {
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "kernel"));
  int64_t first = loom_get_i64(op, loom_mark_first, 0);
  if (first)
    fprintf(out, "/* Here %s_%.*s_s%" PRId64 " again, from chunk %" PRId64 " on: %" PRId64 ". */\n",
            prefix, (int)name.length, name.data, loom_get_i64(op, "stage", 0), first,
            loom_get_i64(op, "chunks", 0));
}

/* A plan with loops or branches has no fixed order of stages. */
static void program_stages(FILE *out, MlirOperation plan, const char *prefix) {
  if (program_run_longest(plan)) return;
  fprintf(out,
          "/* The stages that %s runs, in order of their first use, for callers with threads of "
          "their own:\n"
          " * a stage may be split among threads by chunks [begin, end) and must end before the "
          "next begins. */\n",
          prefix);
  for (MlirOperation op = program_next_launch(plan, (MlirOperation){NULL}); op.ptr;
       op = program_next_launch(plan, op)) {
    if (!program_seen(plan, op)) program_stage(out, plan, op, prefix);
    program_round(out, op, prefix);
  }
}

void program_upper(const char *name, char *out, size_t size) {
  size_t i = 0;
  for (; name[i] && i + 1 < size; i++)
    out[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
  out[i] = 0;
}

bool loom_program_header(MlirOperation plan, const char *name, loom_bytes *out) {
  char *text = NULL, upper[128];
  size_t size = 0;
  int64_t workspace;
  if (!loom_program_workspace(plan, &workspace)) return false;
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
  bool sized = program_is_sized(plan), checked = program_is_checked(plan);
  if (sized)
    fprintf(file, "int64_t %s_workspace(const int64_t *sizes);\n", name);
  else
    fprintf(file, "#define %s_WORKSPACE %" PRId64 "\n", upper, workspace);
  fprintf(file, "\n/* Runs on the calling thread.\n *\n");
  if (sized)
    fprintf(file, " *   sizes: %u of them, as the function's types name them (s0, s1, ...)\n",
            loom_sizes()->symbol_count);
  for (uint32_t i = 0; sized && i < loom_sizes()->symbol_count; i++)
    if (program_is_counted(plan, i))
      fprintf(file, " *   sizes[%u]: counted by a loop, any value\n", i);
  for (int64_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    program_describe(file, plan, mlirBlockGetArgument(block, i), i < inputs ? "inputs" : "outputs",
                     i < inputs ? i : i - inputs);
  fprintf(file,
          " *\n * Pointers are to element [0, ..., 0]; outputs overlap nothing. Returns 0, or a "
          "union of 1 (an integer"
          "\n * was divided by zero), 2 (an integer division overflowed)%s 256 (an index was out "
          "of bounds: outputs are"
          "\n * not valid)%s. */\n"
          "int %s(%sconst void *const *inputs, void *const *outputs, void *workspace);\n\n",
          checked ? "," : " and",
          checked ? "\n * and 8192 (compiled code went beyond an array: outputs are not valid)"
                  : "",
          name, sized ? "const int64_t *sizes, " : "");
  fprintf(
      file,
      "/* What it takes and gives, as text for loom-run. */\nconst char *%s_signature(void);\n\n",
      name);
  if (checked)
    fprintf(file,
            "/* What went beyond an array first in the call that had this workspace, and where "
            "(unless\n * `address` is NULL). NULL: nothing did. */\n"
            "const char *%s_violation(const void *workspace, const void **address);\n",
            name);
  else
    program_stages(file, plan, name);
  fprintf(file, "\n#ifdef __cplusplus\n}\n#endif\n#endif\n");
  if (fclose(file) != 0) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  *out = (loom_bytes){(uint8_t *)text, size};
  return true;
}
