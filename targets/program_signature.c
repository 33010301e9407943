/* The signature of a function of loom-compile, as text in the object: a loom.plan without
 * instructions, which loom-run reads. <name>_signature returns it. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "targets/program.h"
#include "targets/program_text.h"

static void signature_print(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, user);
}

static MlirOperation signature_last(MlirBlock body) {
  MlirOperation op = mlirBlockGetFirstOperation(body), last = op;
  for (; op.ptr; op = mlirOperationGetNextInBlock(op))
    last = op;
  return last;
}

/* A module of the plan alone: its arena is the workspace where that is one number. */
static MlirModule signature_module(MlirOperation plan, const char *name, int64_t workspace) {
  MlirContext ctx = mlirOperationGetContext(plan);
  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(ctx));
  MlirOperation copy = mlirOperationClone(plan), last;
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), copy);
  while ((last = signature_last(program_block(copy))).ptr)
    mlirOperationDestroy(last);
  loom_set_attr(copy, "sym_name", loom_attr_str(ctx, name));
  loom_set_attr(copy, "arena", loom_attr_i64(ctx, program_is_sized(plan) ? 0 : workspace));
  if (loom_sizes() && loom_sizes()->symbol_count)
    loom_sizes_store(mlirModuleGetOperation(module), loom_sizes());
  return module;
}

static char *signature_text(MlirOperation plan, const char *name, int64_t workspace, size_t *size) {
  char *text = NULL;
  FILE *file = open_memstream(&text, size);
  if (!file) return NULL;
  MlirModule module = signature_module(plan, name, workspace);
  mlirOperationPrint(mlirModuleGetOperation(module), signature_print, file);
  mlirModuleDestroy(module);
  return fclose(file) == 0 ? text : NULL;
}

bool program_signature(FILE *out, MlirOperation plan, const char *name) {
  int64_t workspace;
  size_t size;
  if (!loom_program_workspace(plan, &workspace)) return false;
  char *text = signature_text(plan, name, workspace, &size);
  if (!text) return loom_emit_error(mlirOperationGetLocation(plan), "out of memory");
  fprintf(out, "llvm.mlir.global internal constant @%s_signed(\"", name);
  for (size_t i = 0; i < size; i++)
    fprintf(out, "\\%02X", (unsigned char)text[i]);
  fprintf(out,
          "\\00\") {addr_space = 0 : i32} : !llvm.array<%zu x i8>\n"
          "llvm.func @%s_signature() -> !llvm.ptr {\n"
          "%%text = llvm.mlir.addressof @%s_signed : !llvm.ptr\n"
          "llvm.return %%text : !llvm.ptr\n}\n",
          size + 1, name, name);
  free(text);
  return true;
}
