/* loom-compile: IR to an object, a code object, a cubin, assembly or LLVM IR, with a C header. Bad
 * input gets a diagnostic and exit code 1. */
#include <argp.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "dialects/dialect.h"
#include "targets/launcher.h"
#include "targets/target.h"
#include "targets/tools.h"

/* What a tool of its own makes of code, if any. */
typedef enum compile_form { COMPILE_PLAIN, COMPILE_HSACO, COMPILE_CUBIN } compile_form;

typedef struct compile_job {
  loom_tool tool;
  const char *output, *emit, *target, *header, *name, *check;
  loom_target_options options;
  const loom_target *machine;
  loom_emit_kind kind;
  compile_form form;
  bool simulated; /* the simulator's code behind an image */
  loom_trace trace;
} compile_job;

/* ---- compiling ---- */

/* Code, malloc'ed. */
static bool compile_code(compile_job *job, MlirModule module, loom_bytes *out, loom_error *err) {
  loom_bytes ptx;
  if (job->form == COMPILE_HSACO) return loom_amdgpu_emit(module, &job->options, out, err);
  if (job->form == COMPILE_PLAIN)
    return loom_target_emit(job->machine, module, &job->options, job->kind, out, err);
  if (!loom_target_emit(job->machine, module, &job->options, job->kind, &ptx, err)) return false;
  bool good = loom_nvptx_assemble(&job->options, &ptx, out, err);
  free(ptx.data);
  return good;
}

/* The code, and what the drivers of the tests run in its place. */
static bool compile_image(compile_job *job, MlirModule module, loom_bytes *out) {
  loom_error err = {0};
  const loom_gpu_table *stages = job->options.gpu;
  bool good = compile_code(job, module, out, &err);
  if (good && stages && stages->why) good = loom_fail(&err, "%s", stages->why);
  if (good && job->simulated) good = loom_device_simulated(module, stages, out, &err);
  return good || loom_tool_error(&job->tool, job->tool.input, err.message);
}

/* The header of a GPU says of kernels what is known once there is code. Nothing is written before
 * all is there. */
static bool compile_emit(compile_job *job, MlirModule module, loom_tool_program *program) {
  loom_bytes out = {NULL, 0};
  bool good = compile_image(job, module, &out);
  if (good && program->plans.ptr)
    good = loom_launcher_header(program->plans, job->machine, job->options.gpu, program->name,
                                &program->header);
  if (good && job->header) good = loom_tool_write(&job->tool, job->header, &program->header);
  good = good && loom_tool_write(&job->tool, job->output, &out);
  free(out.data);
  return good;
}

static bool compile_module(void *user, MlirContext ctx) {
  compile_job *job = user;
  loom_gpu_table stages = {.rows = NULL};
  MlirModule module = loom_tool_parse(&job->tool, ctx);
  bool gpu = job->machine == &loom_target_nvptx || job->machine == &loom_target_amdgpu;
  bool good = module.ptr && loom_tool_lower(&job->tool, module, job->machine, &job->options,
                                            job->check != NULL, &job->trace);
  loom_tool_program program = {
      .asked = job->name, .machine = job->machine, .checked = job->check, .headed = job->header};
  if (gpu) job->options.gpu = &stages;
  good = good && loom_tool_program_make(&job->tool, module, &program) &&
         compile_emit(job, module, &program);
  if (program.plans.ptr) mlirModuleDestroy(program.plans);
  free(program.header.data);
  free(stages.rows);
  if (module.ptr) mlirModuleDestroy(module);
  return good;
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
  OPTION_TRACE,
  OPTION_SIMULATED
};

static const struct argp_option compile_options[] = {
    {"output", 'o', "FILE", 0, "where to write (default -: standard output)", 0},
    {"emit", OPTION_EMIT, "KIND", 0,
     "obj (default), asm or llvm; amdgpu: also hsaco; nvptx: ptx, cubin (by ptxas), llvm", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), nvptx, amdgpu or sim", 0},
    {"mcpu", OPTION_CPU, "NAME", 0, "native (default), or a CPU of the target", 0},
    {"emit-header", OPTION_HEADER, "FILE", 0,
     "also write a C header: of the function, or for a GPU with functions that load and launch its "
     "kernels",
     0},
    {"name", OPTION_NAME, "NAME", 0, "C name of the function (default: its own, or the file's)", 0},
    {"check", OPTION_CHECK, "KIND", 0, "bounds: compare every access with the bounds of its array",
     0},
    {"with-simulator", OPTION_SIMULATED, NULL, 0,
     "ptx, cubin, hsaco: write the simulator's code behind it, for the drivers of the tests", 0},
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
  case OPTION_SIMULATED: job->simulated = true; break;
  case OPTION_TRACE: job->trace.folder = value; break;
  case ARGP_KEY_ARG:
    if (job->tool.input) return ARGP_ERR_UNKNOWN;
    job->tool.input = value;
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

typedef struct compile_kind {
  const char *name;
  loom_emit_kind kind;
  compile_form form;
  const loom_target *machine; /* the only one, or NULL */
} compile_kind;

static const compile_kind *compile_find(const char *name) {
  static const compile_kind kinds[] = {
      {"obj", LOOM_EMIT_OBJECT, COMPILE_PLAIN, NULL},
      {"asm", LOOM_EMIT_ASSEMBLY, COMPILE_PLAIN, NULL},
      {"llvm", LOOM_EMIT_LLVM, COMPILE_PLAIN, NULL},
      {"hsaco", LOOM_EMIT_OBJECT, COMPILE_HSACO, &loom_target_amdgpu},
      {"ptx", LOOM_EMIT_ASSEMBLY, COMPILE_PLAIN, &loom_target_nvptx},
      {"cubin", LOOM_EMIT_ASSEMBLY, COMPILE_CUBIN, &loom_target_nvptx},
  };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].name, name) == 0) return &kinds[i];
  return NULL;
}

static bool compile_check_kind(compile_job *job) {
  const compile_kind *kind = compile_find(job->emit);
  if (!kind)
    return loom_tool_error(&job->tool, job->emit, "is none of obj, asm, llvm, hsaco, ptx, cubin");
  job->kind = kind->kind;
  job->form = kind->form;
  job->machine = loom_target_find(job->target);
  if (!job->machine) return loom_tool_error(&job->tool, job->target, "is no target");
  if (kind->machine && job->machine != kind->machine)
    return loom_tool_error(&job->tool, job->emit, "is of another target");
  if (job->machine == &loom_target_nvptx && job->kind == LOOM_EMIT_OBJECT)
    return loom_tool_error(&job->tool, "--emit=obj",
                           "nvptx has no objects: use --emit=ptx, or cubin");
  if (job->simulated && !kind->machine)
    return loom_tool_error(&job->tool, "--with-simulator", "is for ptx, cubin and hsaco");
  return true;
}

static bool compile_check(compile_job *job) {
  if (!compile_check_kind(job)) return false;
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
