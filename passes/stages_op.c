/* Which operation a pass changes the value of, for loom-check-stages: the passes run on a copy of
 * the module whose function returns nothing but one value, for one value after the other. The first
 * value that differs is that of the operation, since what it was computed from does not differ. */
#define _GNU_SOURCE
#include <mlir-c/Diagnostics.h>
#include <stdio.h>
#include <stdlib.h>

#include "passes/check_stages.h"

enum { OP_LIMIT = 2000 }; /* operations of a function that are looked at */

static MlirBlock op_block(MlirOperation function) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
}

bool stages_is_graph(const stages_case *c, MlirOperation module) {
  MlirOperation root = stages_case_root(c, module);
  if (!root.ptr || !loom_is_named(root, "func.func")) return false;
  for (MlirOperation op = mlirBlockGetFirstOperation(op_block(root)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    loom_opcode code;
    if (!loom_opcode_of(op, &code) && !loom_is_named(op, "func.return")) return false;
  }
  return true;
}

/* The function returns this value alone; what it does not need is gone. */
static void op_return(MlirOperation function, MlirValue value) {
  MlirContext ctx = mlirOperationGetContext(function);
  MlirBlock block = op_block(function);
  MlirAttribute type = loom_get_attr(function, "function_type");
  MlirType was = mlirTypeAttrGetValue(type), result = mlirValueGetType(value);
  intptr_t inputs = mlirFunctionTypeGetNumInputs(was);
  MlirType *types = malloc(sizeof *types * (size_t)(inputs + 1));
  if (!types) return;
  for (intptr_t i = 0; i < inputs; i++)
    types[i] = mlirFunctionTypeGetInput(was, i);
  MlirType is = mlirFunctionTypeGet(ctx, inputs, types, 1, &result);
  loom_set_attr(function, "function_type", mlirTypeAttrGet(is));
  mlirOperationRemoveAttributeByName(function, loom_str("res_attrs"));
  mlirOperationSetOperands(mlirBlockGetTerminator(block), 1, &value);
  free(types);
  loom_sweep(block);
}

/* A copy of the module, whose function of the case returns result `result` of its operation `index`
 * only; other functions that can be called are gone. */
static MlirOperation op_module(const stages_case *c, MlirOperation module, int index,
                               intptr_t result) {
  MlirOperation copy = mlirOperationClone(module), root = stages_case_root(c, copy);
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(copy, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(body), next; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (interpret_is_root(op) && !mlirOperationEqual(op, root)) mlirOperationDestroy(op);
  }
  MlirOperation op = mlirBlockGetFirstOperation(op_block(root));
  while (index-- > 0)
    op = mlirOperationGetNextInBlock(op);
  op_return(root, loom_result(op, result));
  return copy;
}

static bool op_differs(const stages_case *c, MlirOperation module, const stages_passes *passes,
                       int first, int last, char *text, size_t size) {
  interpret_call want;
  bool good = stages_case_call(c, module, &want);
  for (int i = first; good && i <= last; i++)
    good = stages_passes_run(&passes->list[i], module);
  good = good && stages_case_compare(c, module, &want, text, size) == STAGES_DIFFERS;
  interpret_close(&want);
  return good;
}

static MlirLogicalResult op_hush(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic;
  (void)user;
  return mlirLogicalResultSuccess();
}

static void op_print(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

static void op_report(MlirOperation op, const char *what, const char *pass) {
  char *text = NULL;
  size_t size;
  FILE *file = open_memstream(&text, &size);
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsElideLargeElementsAttrs(flags, 16);
  mlirOpPrintingFlagsSkipRegions(flags);
  mlirOpPrintingFlagsUseLocalScope(flags);
  if (file) mlirOperationPrintWithFlags(op, flags, op_print, file);
  if (file) fclose(file);
  mlirOpPrintingFlagsDestroy(flags);
  loom_emit_error(mlirOperationGetLocation(op),
                  "the first operation whose value is changed by %s: %.300s: %s", pass,
                  text ? text : "", what);
  free(text);
}

void stages_find_op(const stages_case *c, MlirOperation module, const stages_passes *passes,
                    int first, int last) {
  MlirOperation root = stages_case_root(c, module);
  MlirContext ctx = mlirOperationGetContext(module);
  const char *pass = passes->list[last].name;
  char text[400];
  int index = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(op_block(root));
       op.ptr && index < OP_LIMIT && !stages_is_late();
       op = mlirOperationGetNextInBlock(op), index++) {
    for (intptr_t r = 0; r < mlirOperationGetNumResults(op); r++) {
      MlirDiagnosticHandlerID id = mlirContextAttachDiagnosticHandler(ctx, op_hush, NULL, NULL);
      MlirOperation part = op_module(c, module, index, r);
      bool found = op_differs(c, part, passes, first, last, text, sizeof text);
      mlirOperationDestroy(part);
      mlirContextDetachDiagnosticHandler(ctx, id);
      if (found) return op_report(op, text, pass);
    }
  }
  loom_emit_error(mlirOperationGetLocation(root),
                  stages_is_late()
                      ? "no time is left to find the operation whose value is changed by %s"
                      : "no value of this function is changed by %s where it is the only result",
                  pass);
}
