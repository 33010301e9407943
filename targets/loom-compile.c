/* loom-compile: IR to an object, assembly or LLVM IR, with a C header. Bad input gets a diagnostic
 * and exit code 1. */
#include <argp.h>
#include <errno.h>
#include <mlir-c/BuiltinAttributes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/program.h"
#include "targets/target.h"
#include "targets/tools.h"

typedef struct compile_job {
  loom_tool tool;
  const char *output, *emit, *target, *header, *name, *check;
  loom_target_options options;
  const loom_target *machine;
  loom_emit_kind kind;
  loom_trace trace;
  char default_name[128];
} compile_job;

/* ---- names ---- */

/* A C identifier from a file name without its folder and extension. */
static void compile_stem(const char *path, char *out, size_t size) {
  const char *slash = strrchr(path, '/'), *from = slash ? slash + 1 : path;
  size_t n = 0;
  if (*from >= '0' && *from <= '9') out[n++] = '_';
  for (; *from && *from != '.' && n + 1 < size; from++) {
    bool word = (*from >= 'a' && *from <= 'z') || (*from >= 'A' && *from <= 'Z') ||
                (*from >= '0' && *from <= '9') || *from == '_';
    out[n++] = word ? *from : '_';
  }
  if (n == 0) out[n++] = '_';
  out[n] = 0;
}

static bool compile_name_ok(const char *name) {
  if (!*name || (*name >= '0' && *name <= '9') || strlen(name) > 100) return false;
  for (; *name; name++) {
    bool word = (*name >= 'a' && *name <= 'z') || (*name >= 'A' && *name <= 'Z') ||
                (*name >= '0' && *name <= '9') || *name == '_';
    if (!word) return false;
  }
  return true;
}

/* The C name: as asked for, else the function's own unless that is main, else the file's. */
static bool compile_name(compile_job *job, MlirStringRef symbol) {
  char *own = job->default_name;
  size_t size = sizeof job->default_name;
  if (job->name)
    snprintf(own, size, "%s", job->name);
  else if (symbol.length && !loom_str_is(symbol, "main") && symbol.length < size)
    snprintf(own, size, "%.*s", (int)symbol.length, symbol.data);
  else
    compile_stem(strcmp(job->tool.input, "-") ? job->tool.input : "program", own, size);
  return compile_name_ok(own) ||
         loom_tool_error(&job->tool, own, "is no C name: give one with --name");
}

/* ---- compiling ---- */

static MlirOperation compile_find(MlirModule module, loom_opcode code) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  while (op.ptr && !loom_is(op, code))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

/* Kernels' stages get the program's name in front, so that programs can be linked together. */
static void compile_rename(MlirModule module, const char *prefix) {
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
static bool compile_has_several(MlirModule module) {
  int count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count += loom_is(op, LOOM_OP_PLAN) && !loom_get_attr(op, loom_mark_region).ptr;
  return count > 1;
}

static bool compile_program(compile_job *job, MlirModule module) {
  MlirOperation plan = compile_find(module, LOOM_OP_PLAN);
  bool x86 = job->machine == &loom_target_x86, ok = true;
  if (compile_has_several(module))
    return loom_tool_error(&job->tool, job->tool.input,
                           "has several functions: one is compiled at a time");
  if (!plan.ptr && job->check)
    return loom_tool_error(&job->tool, job->tool.input,
                           "has no function: nothing knows the bounds of its buffers");
  if (!plan.ptr)
    return !job->header || loom_tool_error(&job->tool, job->tool.input,
                                           "has no function: there is no header to write");
  if (!compile_name(job, loom_get_str(plan, "sym_name"))) return false;
  if (job->header && !x86)
    return loom_tool_error(&job->tool, job->header, "headers are for the x86 target");
  compile_rename(module, job->default_name);
  if (x86) ok = loom_program_entry(module, plan, job->default_name);
  if (ok && job->header) {
    loom_bytes text = {NULL, 0};
    ok = loom_program_header(plan, job->default_name, &text) &&
         loom_tool_write(&job->tool, job->header, &text);
    free(text.data);
  }
  while ((plan = compile_find(module, LOOM_OP_PLAN)).ptr)
    mlirOperationDestroy(plan);
  return ok;
}

static bool compile_emit(compile_job *job, MlirModule module) {
  loom_error err = {0};
  loom_bytes out = {NULL, 0};
  bool ok = loom_target_emit(job->machine, module, &job->options, job->kind, &out, &err);
  if (!ok)
    loom_tool_error(&job->tool, job->tool.input, err.message);
  else
    ok = loom_tool_write(&job->tool, job->output, &out);
  free(out.data);
  return ok;
}

static bool compile_module(compile_job *job, MlirContext ctx) {
  MlirModule module = loom_tool_parse(&job->tool, ctx);
  bool ok = module.ptr && loom_tool_lower(&job->tool, module, job->machine, &job->options,
                                          job->check != NULL, &job->trace);
  if (ok) {
    MlirOperation top = mlirModuleGetOperation(module);
    ok = loom_sizes_enter(top) && compile_program(job, module);
    loom_sizes_leave(top);
    mlirOperationRemoveAttributeByName(top, loom_str(loom_mark_symbols));
    mlirOperationRemoveAttributeByName(top, loom_str(loom_mark_exprs));
  }
  ok = ok && compile_emit(job, module);
  if (module.ptr) mlirModuleDestroy(module);
  return ok;
}

static int compile_main(void *user) {
  compile_job *job = user;
  bool ok = loom_tool_read(&job->tool);
  if (ok) {
    MlirContext ctx = loom_tool_context(&job->tool);
    ok = compile_module(job, ctx);
    mlirContextDestroy(ctx);
  }
  free(job->tool.text.data);
  return ok ? 0 : 1;
}

/* ---- options ---- */

enum {
  OPTION_EMIT = 256,
  OPTION_TARGET,
  OPTION_CPU,
  OPTION_HEADER,
  OPTION_NAME,
  OPTION_CHECK,
  OPTION_TRACE
};

static const struct argp_option compile_options[] = {
    {"output", 'o', "FILE", 0, "where to write (default -: standard output)", 0},
    {"emit", OPTION_EMIT, "KIND", 0, "obj (default), asm or llvm", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), nvptx or amdgpu", 0},
    {"mcpu", OPTION_CPU, "NAME", 0, "native (default), or a CPU of the target", 0},
    {"emit-header", OPTION_HEADER, "FILE", 0, "also write a C header of the entry points", 0},
    {"name", OPTION_NAME, "NAME", 0, "C name of the function (default: its own, or the file's)", 0},
    {"check", OPTION_CHECK, "KIND", 0, "bounds: compare every access with the bounds of its array",
     0},
    {"trace", OPTION_TRACE, "FOLDER", 0, "write every stage to this folder", 0},
    {0}};

static error_t compile_option(int key, char *value, struct argp_state *state) {
  compile_job *job = state->input;
  switch (key) {
  case 'o': job->output = value; break;
  case OPTION_EMIT: job->emit = value; break;
  case OPTION_TARGET: job->target = value; break;
  case OPTION_CPU: job->options.cpu = value; break;
  case OPTION_HEADER: job->header = value; break;
  case OPTION_NAME: job->name = value; break;
  case OPTION_CHECK: job->check = value; break;
  case OPTION_TRACE: job->trace.folder = value; break;
  case ARGP_KEY_ARG:
    if (job->tool.input) return ARGP_ERR_UNKNOWN;
    job->tool.input = value;
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static bool compile_check(compile_job *job) {
  static const char *const kinds[] = {"obj", "asm", "llvm"};
  int kind = 0;
  while (kind < 3 && strcmp(kinds[kind], job->emit) != 0)
    kind++;
  if (kind == 3) return loom_tool_error(&job->tool, job->emit, "is none of obj, asm, llvm");
  job->kind = (loom_emit_kind)kind;
  job->machine = loom_target_find(job->target);
  if (!job->machine) return loom_tool_error(&job->tool, job->target, "is no target");
  if (job->machine == &loom_target_nvptx && job->kind == LOOM_EMIT_OBJECT)
    return loom_tool_error(&job->tool, "--emit=obj", "nvptx has no objects: use --emit=asm");
  if (job->check && strcmp(job->check, "bounds") != 0)
    return loom_tool_error(&job->tool, job->check, "is no check: there is bounds");
  if (job->check && job->machine != &loom_target_x86)
    return loom_tool_error(&job->tool, job->target, "kernels for a GPU cannot be checked");
  if (job->trace.folder && mkdir(job->trace.folder, 0777) != 0 && errno != EEXIST)
    return loom_tool_error(&job->tool, job->trace.folder, strerror(errno));
  if (!job->tool.input)
    return loom_tool_error(&job->tool, "no input", "give a file, or - for standard input");
  return true;
}

LOOM_TOOL_MAIN loom_tool_compile(int argc, char **argv) {
  static const struct argp parser = {
      compile_options,
      compile_option,
      "FILE",
      "Compile a function on loom tensors, or kernels, to code with a C interface.",
      NULL,
      NULL,
      NULL};
  compile_job job = {.output = "-",
                     .emit = "obj",
                     .target = "x86",
                     .tool = {.name = "loom-compile"},
                     .trace.verified = true};
  argp_err_exit_status = 1;
  argp_parse(&parser, argc, argv, 0, NULL, &job);
  if (!compile_check(&job)) return 1;
  return loom_tool_thread(compile_main, &job);
}
