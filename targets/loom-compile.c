/* loom-compile: IR to an object, a code object, assembly or LLVM IR, with a C header. Bad input
 * gets a diagnostic and exit code 1. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dialect.h"
#include "targets/target.h"
#include "targets/tools.h"

typedef struct compile_job {
  loom_tool tool;
  const char *output, *emit, *target, *header, *name, *check;
  loom_target_options options;
  const loom_target *machine;
  loom_emit_kind kind;
  bool linked; /* a code object in place of an object */
  loom_trace trace;
} compile_job;

/* ---- compiling ---- */

static bool compile_emit(compile_job *job, MlirModule module) {
  loom_error err = {0};
  loom_bytes out = {NULL, 0};
  bool ok = job->linked
                ? loom_amdgpu_emit(module, &job->options, &out, &err)
                : loom_target_emit(job->machine, module, &job->options, job->kind, &out, &err);
  if (!ok)
    loom_tool_error(&job->tool, job->tool.input, err.message);
  else
    ok = loom_tool_write(&job->tool, job->output, &out);
  free(out.data);
  return ok;
}

static bool compile_module(void *user, MlirContext ctx) {
  compile_job *job = user;
  MlirModule module = loom_tool_parse(&job->tool, ctx);
  bool ok = module.ptr && loom_tool_lower(&job->tool, module, job->machine, &job->options,
                                          job->check != NULL, &job->trace);
  loom_tool_program program = {
      .asked = job->name, .machine = job->machine, .checked = job->check, .headed = job->header};
  ok = ok && loom_tool_program_make(&job->tool, module, &program);
  if (ok && job->header) ok = loom_tool_write(&job->tool, job->header, &program.header);
  free(program.header.data);
  ok = ok && compile_emit(job, module);
  if (module.ptr) mlirModuleDestroy(module);
  return ok;
}

static int compile_main(void *user) {
  compile_job *job = user;
  return loom_tool_work(&job->tool, compile_module, job);
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
    {"emit", OPTION_EMIT, "KIND", 0,
     "obj (default), asm or llvm; amdgpu: also hsaco; nvptx: also ptx", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), nvptx, amdgpu or sim", 0},
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
  static const struct {
    const char *name;
    loom_emit_kind kind;
    const loom_target *machine; /* the only one, or NULL */
  } kinds[] = {{"obj", LOOM_EMIT_OBJECT, NULL},
               {"asm", LOOM_EMIT_ASSEMBLY, NULL},
               {"llvm", LOOM_EMIT_LLVM, NULL},
               {"hsaco", LOOM_EMIT_OBJECT, &loom_target_amdgpu},
               {"ptx", LOOM_EMIT_ASSEMBLY, &loom_target_nvptx}};
  enum { KINDS = sizeof kinds / sizeof *kinds };
  int i = 0;
  while (i < KINDS && strcmp(kinds[i].name, job->emit) != 0)
    i++;
  if (i == KINDS)
    return loom_tool_error(&job->tool, job->emit, "is none of obj, asm, llvm, hsaco, ptx");
  job->kind = kinds[i].kind;
  job->linked = kinds[i].machine == &loom_target_amdgpu;
  job->machine = loom_target_find(job->target);
  if (!job->machine) return loom_tool_error(&job->tool, job->target, "is no target");
  if (kinds[i].machine && job->machine != kinds[i].machine)
    return loom_tool_error(&job->tool, job->emit, "is of another target");
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
