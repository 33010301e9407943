/* The stages of a compilation as files: modules, what passes decided, code. */
#include "targets/trace.h"
#include "passes/passes.h"

#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "dialects/pass.h"

/* ---- files ---- */

static FILE *trace_open(const loom_trace *trace, const char *stage, const char *suffix) {
  char path[4096];
  if (!trace->folder) return NULL;
  int length =
      snprintf(path, sizeof path, "%s/%02d-%s.%s", trace->folder, trace->count, stage, suffix);
  return length < 0 || (size_t)length >= sizeof path ? NULL : fopen(path, "w");
}

static void trace_write(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

/* ---- modules ---- */

void loom_trace_module(loom_trace *trace, MlirModule module, const char *stage) {
  FILE *file = trace_open(trace, stage, "mlir");
  trace->count += trace->folder != NULL;
  if (!file) return;
  MlirOpPrintingFlags flags = mlirOpPrintingFlagsCreate();
  mlirOpPrintingFlagsEnableDebugInfo(flags, true, false);
  mlirOpPrintingFlagsPrintNameLocAsPrefix(flags);
  mlirOperationPrintWithFlags(mlirModuleGetOperation(module), flags, trace_write, file);
  mlirOpPrintingFlagsDestroy(flags);
  fclose(file);
}

/* ---- stages ---- */

/* "file.py:12:5: loom-fuse: 'loom.add' and 2 other ops are one kernel" */
static void trace_remark(MlirLocation loc, const char *flag, const char *text, void *user) {
  FILE *out = user;
  MlirLocation line = loom_location_line(loc);
  if (line.ptr) {
    MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(line));
    fprintf(out, "%.*s:%d:%d: ", (int)file.length, file.data,
            mlirLocationFileLineColRangeGetStartLine(line),
            mlirLocationFileLineColRangeGetStartColumn(line));
  }
  fprintf(out, "%s: %s\n", flag, text);
}

bool loom_trace_run(loom_trace *trace, MlirModule module, const char *stage,
                    void (*add)(MlirOpPassManager manager)) {
  MlirOperation op = mlirModuleGetOperation(module);
  MlirPassManager manager = mlirPassManagerCreate(mlirOperationGetContext(op));
  char *text = NULL;
  size_t size = 0;
  FILE *decisions = trace->folder ? open_memstream(&text, &size) : NULL;
  mlirPassManagerEnableVerifier(manager, trace->folder || trace->verified);
  add(mlirPassManagerGetAsOpPassManager(manager));
  if (decisions) loom_remarks_listen(trace_remark, decisions);
  bool good = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, op));
  loom_remarks_listen(NULL, NULL);
  mlirPassManagerDestroy(manager);
  if (good && decisions) loom_trace_decisions(module, stage, decisions);
  if (decisions) fclose(decisions);
  FILE *file = size ? trace_open(trace, stage, "txt") : NULL;
  if (file) {
    fwrite(text, 1, size, file);
    fclose(file);
  }
  free(text);
  if (good) loom_trace_module(trace, module, stage);
  return good;
}

/* ---- code ---- */

/* A kernel's symbol says nothing of the user's arrays: a comment does. */
static void trace_legend(MlirModule module, const char *mark, FILE *out) {
  MlirBlock body = mlirModuleGetBody(module);
  for (MlirOperation plan = loom_next_plan(body, (MlirOperation){NULL}); plan.ptr;
       plan = loom_next_plan(body, plan)) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(plan, 0));
    for (MlirOperation op = loom_next_launch(block, (MlirOperation){NULL}); op.ptr;
         op = loom_next_launch(block, op)) {
      MlirAttribute kernel = loom_get_attr(op, "kernel");
      MlirStringRef name = mlirFlatSymbolRefAttrGetValue(kernel);
      fprintf(out, "%s %.*s_s%d:", mark, (int)name.length, name.data,
              (int)loom_get_i64(op, "stage", 0));
      for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
        fputs(i ? ", " : " ", out);
        loom_trace_value(loom_operand(op, i), out);
      }
      fputc('\n', out);
    }
  }
}

/* The module without plans, and with debug information. */
static MlirModule trace_code_of(MlirModule module) {
  MlirModule copy = mlirModuleFromOperation(mlirOperationClone(mlirModuleGetOperation(module)));
  MlirBlock body = mlirModuleGetBody(copy);
  for (MlirOperation op = loom_next_plan(body, (MlirOperation){NULL}), next; op.ptr; op = next) {
    next = loom_next_plan(body, op);
    mlirOperationDestroy(op);
  }
  loom_lines_attach(copy);
  return copy;
}

void loom_trace_code(loom_trace *trace, MlirModule module, const loom_target *target,
                     const loom_target_options *options) {
  static const struct {
    loom_emit_kind kind;
    const char *suffix, *mark;
  } forms[] = {{LOOM_EMIT_LLVM, "ll", ";"}, {LOOM_EMIT_ASSEMBLY, "s", "#"}};
  loom_error ignored;
  if (!trace->folder) return;
  MlirModule copy = trace_code_of(module);
  for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
    loom_bytes text = {NULL, 0};
    FILE *file = loom_target_emit(target, copy, options, forms[i].kind, &text, &ignored)
                     ? trace_open(trace, "code", forms[i].suffix)
                     : NULL;
    if (file) {
      trace_legend(module, target != &loom_target_x86 ? "//" : forms[i].mark, file);
      fwrite(text.data, 1, text.size, file);
      fclose(file);
    }
    free(text.data);
  }
  trace->count++;
  mlirModuleDestroy(copy);
}
