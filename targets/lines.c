/* The user's lines and names in generated code: debug information of a module in the LLVM dialect
 * (the line that each instruction comes from), and the names of arguments in LLVM IR. Code that a
 * trace writes has them; code that runs has none.
 *
 * A function gets a subprogram in the file of its first operation that has one. An operation of
 * another file stands in a block of that file. An operation without a line has the line before it,
 * since LLVM refuses calls without one. */
#include <llvm-c/Core.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/Dialect/LLVM.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "targets/trace.h"

#define LINES_PYTHON 0x14    /* DW_LANG_Python */
#define LINES_DEFINITION 0x8 /* DISPFlagDefinition */
#define LINES_DEPTH 16

typedef struct lines_state {
  MlirContext ctx;
  MlirAttribute subprogram, file; /* of the function at hand */
  MlirLocation last;
} lines_state;

static MlirLocation lines_find(MlirLocation loc, int depth) {
  MlirLocation parts[LINES_DEPTH];
  if (mlirLocationIsAFileLineColRange(loc)) return loc;
  if (depth == LINES_DEPTH) return (MlirLocation){NULL};
  if (mlirLocationIsAName(loc)) return lines_find(mlirLocationNameGetChildLoc(loc), depth + 1);
  if (!mlirLocationIsAFused(loc) || mlirLocationFusedGetNumLocations(loc) > LINES_DEPTH)
    return (MlirLocation){NULL};
  mlirLocationFusedGetLocations(loc, parts);
  for (unsigned i = 0; i < mlirLocationFusedGetNumLocations(loc); i++) {
    MlirLocation found = lines_find(parts[i], depth + 1);
    if (found.ptr) return found;
  }
  return (MlirLocation){NULL};
}

MlirLocation loom_location_line(MlirLocation loc) { return lines_find(loc, 0); }

const char *loom_location_name(MlirLocation loc, size_t *length) {
  if (!mlirLocationIsAName(loc)) return NULL;
  MlirStringRef name = mlirIdentifierStr(mlirLocationNameGetName(loc));
  *length = name.length;
  return name.data;
}

static MlirAttribute lines_file(lines_state *s, MlirLocation line) {
  MlirStringRef path = mlirIdentifierStr(mlirLocationFileLineColRangeGetFilename(line));
  return mlirLLVMDIFileAttrGet(s->ctx, mlirStringAttrGet(s->ctx, path),
                               mlirStringAttrGet(s->ctx, loom_str("")));
}

/* In the scope of the function; in a block of it where the file is another one. */
static MlirLocation lines_place(lines_state *s, MlirLocation line) {
  MlirAttribute file = lines_file(s, line), scope = s->subprogram;
  if (!mlirAttributeEqual(file, s->file))
    scope = mlirLLVMDILexicalBlockFileAttrGet(s->ctx, scope, file, 0);
  return mlirLocationFusedGet(s->ctx, 1, &line, scope);
}

static void lines_block(lines_state *s, MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirLocation line = loom_location_line(mlirOperationGetLocation(op));
    if (line.ptr) s->last = lines_place(s, line);
    mlirOperationSetLocation(op, s->last);
  }
}

static MlirLocation lines_first(MlirOperation function) {
  MlirLocation line = loom_location_line(mlirOperationGetLocation(function));
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  for (; block.ptr && !line.ptr; block = mlirBlockGetNextInRegion(block))
    for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr && !line.ptr;
         op = mlirOperationGetNextInBlock(op))
      line = loom_location_line(mlirOperationGetLocation(op));
  return line;
}

static void lines_function(lines_state *s, MlirAttribute unit, MlirOperation function) {
  MlirLocation first = lines_first(function);
  if (!first.ptr)
    first = mlirLocationFileLineColGet(s->ctx, loom_str("frameloom"), 1, 1); /* no user's code */
  MlirAttribute name = loom_get_attr(function, "sym_name");
  unsigned line = (unsigned)mlirLocationFileLineColRangeGetStartLine(first);
  s->file = lines_file(s, first);
  s->subprogram = mlirLLVMDISubprogramAttrGet(
      s->ctx, (MlirAttribute){NULL}, false, mlirDisctinctAttrCreate(mlirUnitAttrGet(s->ctx)), unit,
      s->file, name, name, s->file, line, line, LINES_DEFINITION,
      mlirLLVMDISubroutineTypeAttrGet(s->ctx, 0, 0, NULL), 0, NULL, 0, NULL);
  mlirOperationSetLocation(function, mlirLocationFusedGet(s->ctx, 1, &first, s->subprogram));
  s->last = lines_place(s, first);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  for (; block.ptr; block = mlirBlockGetNextInRegion(block))
    lines_block(s, block);
}

void loom_lines_attach(MlirModule module) {
  MlirOperation top = mlirModuleGetOperation(module);
  lines_state s = {.ctx = mlirOperationGetContext(top)};
  MlirAttribute empty = mlirStringAttrGet(s.ctx, loom_str("")), unit;
  unit = mlirLLVMDICompileUnitAttrGet(
      s.ctx, mlirDisctinctAttrCreate(mlirUnitAttrGet(s.ctx)), LINES_PYTHON,
      mlirLLVMDIFileAttrGet(s.ctx, mlirStringAttrGet(s.ctx, loom_str("frameloom")), empty),
      mlirStringAttrGet(s.ctx, loom_str("frameloom")), true, MlirLLVMDIEmissionKindLineTablesOnly,
      MlirLLVMDINameTableKindNone, empty);
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!loom_is_named(op, "llvm.func")) continue;
    if (mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr) lines_function(&s, unit, op);
  }
}

/* ---- names ---- */

static void lines_name(LLVMValueRef value, const char *name, size_t length) {
  size_t known;
  if (name && (LLVMGetValueName2(value, &known), !known)) LLVMSetValueName2(value, name, length);
}

static void lines_name_parameters(LLVMModuleRef ir, MlirOperation function) {
  char name[512];
  MlirStringRef symbol = loom_get_str(function, "sym_name");
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  if (!block.ptr || symbol.length >= sizeof name) return;
  memcpy(name, symbol.data, symbol.length);
  name[symbol.length] = 0;
  LLVMValueRef made = LLVMGetNamedFunction(ir, name);
  for (unsigned i = 0; made && i < LLVMCountParams(made); i++) {
    size_t length = 0;
    MlirLocation loc = mlirValueGetLocation(mlirBlockGetArgument(block, i));
    const char *text = loom_location_name(loc, &length);
    lines_name(LLVMGetParam(made, i), text, length);
  }
}

/* What is handed to a function of the module is called what the function calls it. */
static void lines_name_operands(LLVMValueRef call) {
  LLVMValueRef function = LLVMIsACallInst(call) ? LLVMGetCalledValue(call) : NULL;
  if (!function || !LLVMIsAFunction(function) || LLVMIsDeclaration(function)) return;
  for (unsigned i = 0; i < LLVMCountParams(function); i++) {
    size_t length = 0;
    const char *text = LLVMGetValueName2(LLVMGetParam(function, i), &length);
    LLVMValueRef operand = LLVMGetOperand(call, i);
    if (length && LLVMIsAInstruction(operand)) lines_name(operand, text, length);
  }
}

void loom_lines_name(LLVMModuleRef ir, MlirModule module) {
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "llvm.func")) lines_name_parameters(ir, op);
  for (LLVMValueRef f = LLVMGetFirstFunction(ir); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetFirstBasicBlock(f); b; b = LLVMGetNextBasicBlock(b))
      for (LLVMValueRef v = LLVMGetFirstInstruction(b); v; v = LLVMGetNextInstruction(v))
        lines_name_operands(v);
}
