/* loom-translate: a module of any stage as LLVM IR, as the C header of its function, or as a
 * drawing. Bad input gets a diagnostic and exit code 1. */
#include <argp.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "targets/tools.h"

typedef enum translate_form { TRANSLATE_LLVM, TRANSLATE_HEADER, TRANSLATE_DOT } translate_form;

typedef struct translate_job {
  loom_tool tool;
  const char *output, *to, *target, *name;
  loom_target_options options;
  const loom_target *machine;
  translate_form form;
} translate_job;

/* The LLVM IR of the lowered kernels and of the C function made of the plan; or that function's
 * header. */
static bool translate_code(translate_job *job, MlirModule module, loom_bytes *out) {
  loom_tool_program program = {
      .asked = job->name, .machine = job->machine, .headed = job->form == TRANSLATE_HEADER};
  loom_error err = {0};
  bool good = loom_tool_lower(&job->tool, module, job->machine, &job->options, false,
                              &(loom_trace){.verified = true}) &&
              loom_tool_program_make(&job->tool, module, &program);
  *out = program.header;
  if (!good || program.headed) return good;
  return loom_target_emit(job->machine, module, &job->options, LOOM_EMIT_TRANSLATION, out, &err) ||
         loom_tool_error(&job->tool, job->tool.input, err.message);
}

static bool translate_module(void *user, MlirContext ctx) {
  translate_job *job = user;
  MlirModule module = loom_tool_parse(&job->tool, ctx);
  loom_bytes out = {NULL, 0};
  bool good = module.ptr != NULL;
  if (good && job->form == TRANSLATE_DOT)
    good = loom_tool_dot(module, &out) ||
           loom_tool_error(&job->tool, job->tool.input, "out of memory");
  else
    good = good && translate_code(job, module, &out);
  good = good && loom_tool_write(&job->tool, job->output, &out);
  free(out.data);
  if (module.ptr) mlirModuleDestroy(module);
  return good;
}

static int translate_main(void *user) {
  translate_job *job = user;
  return loom_tool_work(&job->tool, translate_module, job);
}

/* ---- options ---- */

enum { OPTION_TO = 256, OPTION_TARGET, OPTION_CPU, OPTION_NAME };

static const struct argp_option translate_options[] = {
    {"to", OPTION_TO, "FORM", 0, "llvm (LLVM IR), header (of C) or dot (a drawing)", 0},
    {"output", 'o', "FILE", 0, "where to write (default -: standard output)", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), nvptx or amdgpu", 0},
    {"mcpu", OPTION_CPU, "NAME", 0, "native (default), or a CPU of the target", 0},
    {"name", OPTION_NAME, "NAME", 0, "C name of the function (default: its own, or the file's)", 0},
    {0}};

static error_t translate_option(int key, char *value, struct argp_state *state) {
  translate_job *job = state->input;
  switch (key) {
  case OPTION_TO: job->to = value; break;
  case 'o': job->output = value; break;
  case OPTION_TARGET: job->target = value; break;
  case OPTION_CPU: job->options.cpu = value; break;
  case OPTION_NAME: job->name = value; break;
  case ARGP_KEY_ARG:
    if (job->tool.input) return ARGP_ERR_UNKNOWN;
    job->tool.input = value;
    break;
  default: return ARGP_ERR_UNKNOWN;
  }
  return 0;
}

static bool translate_check(translate_job *job) {
  static const char *const forms[] = {"llvm", "header", "dot"};
  int form = 0;
  if (!job->to) return loom_tool_error(&job->tool, "no form", "give llvm, header or dot with --to");
  while (form < 3 && strcmp(forms[form], job->to) != 0)
    form++;
  if (form == 3) return loom_tool_error(&job->tool, job->to, "is none of llvm, header, dot");
  job->form = (translate_form)form;
  job->machine = loom_target_find(job->target);
  if (!job->machine) return loom_tool_error(&job->tool, job->target, "is no target");
  if (job->form == TRANSLATE_HEADER && job->machine != &loom_target_x86)
    return loom_tool_error(&job->tool, job->target, "loom-compile writes the headers of a GPU");
  return job->tool.input ||
         loom_tool_error(&job->tool, "no input", "give a file, or - for standard input");
}

LOOM_TOOL_MAIN loom_tool_translate(int argc, char **argv) {
  static const struct argp parser = {
      translate_options,
      translate_option,
      "FILE",
      "Translate a module of any stage to LLVM IR, a C header or a drawing.",
      NULL,
      NULL,
      NULL};
  translate_job job = {.output = "-", .target = "x86", .tool = {.name = "loom-translate"}};
  argp_err_exit_status = 1;
  if (argp_parse(&parser, argc, argv, 0, NULL, &job) || !translate_check(&job)) return 1;
  return loom_tool_thread(translate_main, &job);
}
