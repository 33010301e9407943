/* Text that describes the decisions of a stage: schedules of kernels, arenas of plans. */
#include <inttypes.h>
#include <mlir-c/BuiltinAttributes.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/trace.h"

void loom_trace_value(MlirValue value, FILE *out) {
  size_t length = 0;
  MlirLocation loc = mlirValueGetLocation(value), line = loom_location_line(loc);
  const char *name = loom_location_name(loc, &length);
  if (name)
    fprintf(out, "%.*s", (int)length, name);
  else if (line.ptr)
    fprintf(out, "line %d:%d", mlirLocationFileLineColRangeGetStartLine(line),
            mlirLocationFileLineColRangeGetStartColumn(line));
  else if (mlirValueIsABlockArgument(value))
    fprintf(out, "argument %d", (int)mlirBlockArgumentGetArgNumber(value));
  else
    fputs("a value", out);
}

/* A symbolic number as a likely value. */
static void text_number(int64_t number, FILE *out) {
  fprintf(out, "%s%" PRId64, LOOM_STRIDE_IS_SYM(number) ? "about " : "", loom_num_hint(number));
}

static void text_print(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

/* ---- schedules ---- */

static void text_place(MlirOperation op, FILE *out) {
  MlirLocation line = loom_location_line(mlirOperationGetLocation(op));
  if (!line.ptr) return;
  MlirStringRef file = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(line));
  fprintf(out, " of %.*s:%d", (int)file.length, file.data,
          mlirLocationFileLineColRangeGetStartLine(line));
}

/* "kernel @k0 of file.py:12: reads x, y; schedule {...}; chunks 8; scratch 0; slots 0" */
static void text_kernel(MlirOperation kernel, FILE *out) {
  MlirAttribute schedule = loom_get_attr(kernel, "schedule");
  MlirStringRef name = loom_get_str(kernel, "sym_name");
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  int64_t stages[16];
  intptr_t count = loom_get_i64s(kernel, "stages", stages, 16);
  if (!schedule.ptr) return;
  fprintf(out, "kernel @%.*s", (int)name.length, name.data);
  text_place(kernel, out);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    fputs(i ? ", " : ": reads ", out);
    loom_trace_value(mlirBlockGetArgument(block, i), out);
  }
  fputs("; chunks", out);
  for (intptr_t s = 0; s < count && s < 16; s++) {
    fputs(s ? ", " : " ", out);
    text_number(stages[s], out);
  }
  fputs("; scratch ", out);
  text_number(loom_get_i64(kernel, "scratch", 0), out);
  fputs("; slots ", out);
  text_number(loom_get_i64(kernel, "slots", 0), out);
  fputs("; schedule ", out);
  mlirAttributePrint(schedule, text_print, out);
  fputc('\n', out);
}

/* ---- arenas ---- */

static int64_t text_bytes(MlirOperation buffer) {
  loom_type type;
  int64_t bytes = loom_get_i64(buffer, "bytes", -1);
  MlirType memref = mlirValueGetType(loom_result(buffer, 0));
  if (bytes >= 0 || LOOM_STRIDE_IS_SYM(bytes)) return bytes;
  if (!loom_type_from_mlir(memref, &type) || loom_type_elements(&type) < 0) return -1;
  return loom_type_elements(&type) * (int64_t)loom_dtype_size(type.dtype);
}

static int text_number_of(MlirOperation op, MlirOperation first) {
  int number = 0;
  for (; !mlirOperationEqual(first, op); first = mlirOperationGetNextInBlock(first))
    number += !loom_is(first, LOOM_OP_BUFFER);
  return number;
}

static void text_buffer(MlirOperation buffer, MlirOperation first, FILE *out) {
  int low = INT32_MAX, high = -1;
  MlirValue value = loom_result(buffer, 0);
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    int number = text_number_of(mlirOpOperandGetOwner(use), first);
    low = number < low ? number : low;
    high = number > high ? number : high;
  }
  fputs("  bytes ", out);
  text_number(text_bytes(buffer), out);
  fputs(loom_get_attr(buffer, loom_mark_kept).ptr ? " of its own" : " at ", out);
  if (!loom_get_attr(buffer, loom_mark_kept).ptr)
    text_number(loom_get_i64(buffer, "offset", 0), out);
  if (high >= 0) fprintf(out, ", instructions %d to %d", low, high);
  fputs(": ", out);
  loom_trace_value(value, out);
  fputc('\n', out);
}

static void text_plan(MlirOperation plan, FILE *out) {
  MlirStringRef name = loom_get_str(plan, "sym_name");
  MlirOperation first =
      mlirBlockGetFirstOperation(mlirRegionGetFirstBlock(mlirOperationGetRegion(plan, 0)));
  fprintf(out, "plan @%.*s: arena of ", (int)name.length, name.data);
  text_number(loom_get_i64(plan, "arena", 0), out);
  fputs(" bytes\n", out);
  for (MlirOperation op = first; op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is(op, LOOM_OP_BUFFER)) text_buffer(op, first, out);
}

void loom_trace_decisions(MlirModule module, const char *stage, FILE *out) {
  bool schedule = !strcmp(stage, "schedule"), arena = !strcmp(stage, "plan");
  MlirOperation top = mlirModuleGetOperation(module);
  bool good = loom_sizes_enter(top);
  MlirBlock body = mlirModuleGetBody(module);
  MlirOperation none = {NULL};
  for (MlirOperation op = mlirBlockGetFirstOperation(body); good && schedule && op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_body(op).ptr) text_kernel(op, out);
  for (MlirOperation plan = loom_next_plan(body, none); good && arena && plan.ptr;
       plan = loom_next_plan(body, plan))
    text_plan(plan, out);
  loom_sizes_leave(top);
}
