/* The C function of a module's plan, for loom-compile and loom-translate: its name, its code and
 * its header. */
#include <stdio.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/passes.h"
#include "targets/program.h"
#include "targets/program_text.h"
#include "targets/tools.h"

/* ---- names ---- */

static bool program_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool program_digit(char c) { return c >= '0' && c <= '9'; }

/* A C identifier from a file name without its folder and extension. */
static void program_stem(const char *path, char *out, size_t size) {
  const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
  size_t n = 0;
  if (program_digit(*from)) out[n++] = '_';
  for (; *from && *from != '.' && n + 1 < size; from++)
    out[n++] = program_letter(*from) || program_digit(*from) ? *from : '_';
  if (n == 0) out[n++] = '_';
  out[n] = 0;
}

static bool program_name_ok(const char *name) {
  if (!*name || program_digit(*name) || strlen(name) > 100) return false;
  for (; *name; name++)
    if (!program_letter(*name) && !program_digit(*name)) return false;
  return true;
}

/* The C name: as asked for, else the function's own unless that is main, else the file's. */
static bool program_name(const loom_tool *tool, MlirStringRef symbol, loom_tool_program *p) {
  size_t size = sizeof p->name;
  if (p->asked)
    snprintf(p->name, size, "%s", p->asked);
  else if (symbol.length && !loom_str_is(symbol, "main") && symbol.length < size)
    snprintf(p->name, size, "%.*s", (int)symbol.length, symbol.data);
  else
    program_stem(strcmp(tool->input, "-") ? tool->input : "program", p->name, size);
  return program_name_ok(p->name) ||
         loom_tool_error(tool, p->name, "is no C name: give one with --name");
}

/* ---- the function ---- */

static MlirOperation program_first_plan(MlirModule module) {
  return loom_next_plan(mlirModuleGetBody(module), (MlirOperation){NULL});
}

/* Kernels' stages get the program's name in front, so that programs can be linked together. */
static void program_rename(MlirModule module, const char *prefix) {
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = loom_get_str(op, "sym_name");
    MlirAttribute linkage = loom_get_attr(op, "linkage");
    MlirBlock body = {NULL};
    if (loom_is_named(op, "llvm.func"))
      body = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0));
    if (!body.ptr || !linkage.ptr || name.length > 400) continue;
    MlirAttribute external =
        mlirAttributeParseGet(mlirOperationGetContext(op), loom_str("#llvm.linkage<external>"));
    if (!mlirAttributeEqual(linkage, external)) continue;
    char text[640];
    snprintf(text, sizeof text, "%s_%.*s", prefix, (int)name.length, name.data);
    loom_set_attr(op, "sym_name", loom_attr_str(mlirOperationGetContext(op), text));
  }
}

/* Has the module more plans than one, those of regions apart? */
static bool program_has_several(MlirModule module) {
  int count = 0;
  for (MlirOperation plan = program_first_plan(module); plan.ptr; plan = program_next(plan))
    count += !loom_get_attr(plan, loom_mark_region).ptr;
  return count > 1;
}

/* The table of sizes is open. */
static bool program_make(const loom_tool *tool, MlirModule module, loom_tool_program *p) {
  MlirOperation plan = program_first_plan(module);
  bool x86 = p->machine == &loom_target_x86;
  if (program_has_several(module))
    return loom_tool_error(tool, tool->input, "has several functions: one is compiled at a time");
  if (!plan.ptr && p->checked)
    return loom_tool_error(tool, tool->input,
                           "has no function: nothing knows the bounds of its buffers");
  if (!plan.ptr)
    return !p->headed ||
           loom_tool_error(tool, tool->input, "has no function: there is no header to write");
  if (!program_name(tool, loom_get_str(plan, "sym_name"), p)) return false;
  if (p->headed && p->machine == &loom_target_sim)
    return loom_tool_error(tool, p->machine->name, "there are no headers for this target");
  program_rename(module, p->name);
  bool good = !x86 || loom_program_entry(module, plan, p->name);
  if (x86 && p->headed) good = good && loom_program_header(plan, p->name, &p->header);
  bool kept = !x86 && p->headed;
  if (kept) p->plans = mlirModuleCreateEmpty(mlirOperationGetLocation(plan));
  while ((plan = program_first_plan(module)).ptr) {
    mlirOperationRemoveFromParent(plan);
    if (kept)
      mlirBlockAppendOwnedOperation(mlirModuleGetBody(p->plans), plan);
    else
      mlirOperationDestroy(plan);
  }
  return good;
}

/* The table of sizes goes with the plans, and is of no use to kernels. */
static void program_take_sizes(MlirOperation from, MlirModule plans) {
  const char *const names[] = {loom_mark_symbols, loom_mark_exprs};
  for (int i = 0; i < 2; i++) {
    MlirAttribute table = loom_get_attr(from, names[i]);
    if (plans.ptr && table.ptr) loom_set_attr(mlirModuleGetOperation(plans), names[i], table);
    mlirOperationRemoveAttributeByName(from, loom_str(names[i]));
  }
}

bool loom_tool_program_make(const loom_tool *tool, MlirModule module, loom_tool_program *p) {
  MlirOperation top = mlirModuleGetOperation(module);
  bool good = loom_sizes_enter(top) && program_make(tool, module, p);
  loom_sizes_leave(top);
  program_take_sizes(top, p->plans);
  return good;
}
