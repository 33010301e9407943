/* loom-compile: IR to an object, assembly or LLVM IR, with a C header. Bad input gets a diagnostic
 * and exit code 1. */
#include <argp.h>
#include <errno.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "graph/ops.h"
#include "passes/passes.h"
#include "targets/program.h"
#include "targets/target.h"

#define COMPILE_INPUT_LIMIT (64u << 20)
#define COMPILE_STACK                                                                              \
  (1ul << 30) /* MLIR recurses on nested types and regions; only touched pages cost */

typedef struct compile_job {
  const char *input, *output, *emit, *target, *header, *name, *check;
  loom_target_options options;
  const loom_bytes *text;
  const loom_target *machine;
  loom_emit_kind kind;
  char default_name[128];
  int status;
} compile_job;

static bool compile_error(const char *subject, const char *text) {
  fprintf(stderr, "loom-compile: error: %s: %s\n", subject, text);
  return false;
}

/* ---- files ---- */

static bool compile_read(const char *path, loom_bytes *out) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  struct stat info;
  if (!file) return compile_error(path, strerror(errno));
  if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
    fclose(file);
    return compile_error(path, "is a directory");
  }
  out->data = malloc(COMPILE_INPUT_LIMIT + 1u);
  out->size = out->data ? fread(out->data, 1, COMPILE_INPUT_LIMIT + 1u, file) : 0;
  bool ok = out->data && !ferror(file);
  if (file != stdin) fclose(file);
  if (!ok) return compile_error(path, "cannot be read");
  if (out->size > COMPILE_INPUT_LIMIT) return compile_error(path, "is larger than 64 MiB");
  const char *problem = loom_scan_text((const char *)out->data, out->size);
  return !problem || compile_error(path, problem);
}

static bool compile_write(const char *path, const loom_bytes *bytes) {
  bool standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdout : fopen(path, "wb");
  if (!file) return compile_error(path, strerror(errno));
  bool ok = fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
  if (standard)
    ok = fflush(file) == 0 && ok;
  else
    ok = fclose(file) == 0 && ok;
  if (ok) return true;
  if (!standard) unlink(path);
  return compile_error(path, "cannot be written");
}

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
    compile_stem(strcmp(job->input, "-") ? job->input : "program", own, size);
  return compile_name_ok(own) || compile_error(own, "is no C name: give one with --name");
}

/* ---- diagnostics: with the line and a caret ---- */

static void compile_print(MlirStringRef text, void *user) {
  fwrite(text.data, 1, text.length, user);
}

static void compile_show_line(const loom_bytes *text, unsigned line, unsigned column) {
  const char *at = (const char *)text->data, *end = at + text->size;
  for (; line > 1 && at && at < end; line--) {
    at = memchr(at, '\n', (size_t)(end - at));
    at = at ? at + 1 : end;
  }
  if (!at || at >= end) return;
  const char *stop = memchr(at, '\n', (size_t)(end - at));
  size_t length = (size_t)((stop ? stop : end) - at);
  if (length > 200 || column > length + 1) return;
  fprintf(stderr, "%.*s\n%*s^\n", (int)length, at, (int)column - 1, "");
}

static MlirLogicalResult compile_diagnostic(MlirDiagnostic diagnostic, void *user) {
  const compile_job *job = user;
  static const char *const names[] = {"error", "warning", "note", "remark"};
  MlirLocation loc = mlirDiagnosticGetLocation(diagnostic);
  bool known = mlirLocationIsAFileLineColRange(loc);
  unsigned line = known ? (unsigned)mlirLocationFileLineColRangeGetStartLine(loc) : 0;
  unsigned column = known ? (unsigned)mlirLocationFileLineColRangeGetStartColumn(loc) : 0;
  if (known)
    fprintf(stderr, "%s:%u:%u: ", job->input, line, column);
  else
    fprintf(stderr, "%s: ", job->input);
  fprintf(stderr, "%s: ", names[mlirDiagnosticGetSeverity(diagnostic)]);
  mlirDiagnosticPrint(diagnostic, compile_print, stderr);
  fputc('\n', stderr);
  if (known && column) compile_show_line(job->text, line, column);
  return mlirLogicalResultSuccess();
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
    return compile_error(job->input, "has several functions: one is compiled at a time");
  if (!plan.ptr && job->check)
    return compile_error(job->input, "has no function: nothing knows the bounds of its buffers");
  if (!plan.ptr)
    return !job->header ||
           compile_error(job->input, "has no function: there is no header to write");
  if (!compile_name(job, loom_get_str(plan, "sym_name"))) return false;
  if (job->header && !x86) return compile_error(job->header, "headers are for the x86 target");
  compile_rename(module, job->default_name);
  if (x86) ok = loom_program_entry(module, plan, job->default_name);
  if (ok && job->header) {
    loom_bytes text = {NULL, 0};
    ok = loom_program_header(plan, job->default_name, &text) && compile_write(job->header, &text);
    free(text.data);
  }
  while ((plan = compile_find(module, LOOM_OP_PLAN)).ptr)
    mlirOperationDestroy(plan);
  return ok;
}

static bool compile_passes(compile_job *job, MlirModule module) {
  MlirOperation op = mlirModuleGetOperation(module);
  MlirContext ctx = mlirOperationGetContext(op);
  loom_target_cpu cpu;
  loom_error err = {0};
  if (!loom_target_resolve(job->machine, &job->options, &cpu, &err))
    return compile_error(job->input, err.message);
  loom_set_attr(op, loom_mark_target, loom_attr_str(ctx, job->machine->name));
  loom_set_attr(op, loom_mark_vector, loom_attr_i64(ctx, cpu.vector_bits / 8));
  if (job->check) loom_set_attr(op, loom_mark_check, mlirUnitAttrGet(ctx));
  MlirPassManager manager = mlirPassManagerCreate(ctx);
  MlirOpPassManager passes = mlirPassManagerGetAsOpPassManager(manager);
  loom_add_lower_pipeline(passes);
  if (job->check) loom_add_check_passes(passes);
  loom_add_llvm_passes(passes);
  bool ok = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, op));
  mlirPassManagerDestroy(manager);
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_target));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_vector));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_check));
  return ok;
}

static bool compile_emit(compile_job *job, MlirModule module) {
  loom_error err = {0};
  loom_bytes out = {NULL, 0};
  bool ok = loom_target_emit(job->machine, module, &job->options, job->kind, &out, &err);
  if (!ok)
    compile_error(job->input, err.message);
  else
    ok = compile_write(job->output, &out);
  free(out.data);
  return ok;
}

/* The parser gives a single top-level op as it is: it gets a module around it. */
static MlirModule compile_parse(compile_job *job, MlirContext ctx, const loom_bytes *text) {
  MlirOperation op = mlirOperationCreateParse(
      ctx, mlirStringRefCreate((const char *)text->data, text->size), loom_str(job->input));
  if (!op.ptr) return (MlirModule){NULL};
  if (loom_is_named(op, "builtin.module")) return mlirModuleFromOperation(op);
  MlirModule module = mlirModuleCreateEmpty(mlirOperationGetLocation(op));
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), op);
  if (mlirOperationVerify(mlirModuleGetOperation(module))) return module;
  mlirModuleDestroy(module);
  return (MlirModule){NULL};
}

static bool compile_text(compile_job *job, const loom_bytes *text) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  MlirContext ctx = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  job->text = text;
  mlirContextAttachDiagnosticHandler(ctx, compile_diagnostic, job, NULL);
  MlirModule module = compile_parse(job, ctx, text);
  bool ok = module.ptr && compile_passes(job, module);
  if (ok) {
    MlirOperation top = mlirModuleGetOperation(module);
    ok = loom_sizes_enter(top) && compile_program(job, module);
    loom_sizes_leave(top);
    mlirOperationRemoveAttributeByName(top, loom_str(loom_mark_symbols));
    mlirOperationRemoveAttributeByName(top, loom_str(loom_mark_exprs));
  }
  ok = ok && compile_emit(job, module);
  if (module.ptr) mlirModuleDestroy(module);
  mlirContextDestroy(ctx);
  return ok;
}

static void *compile_main(void *user) {
  compile_job *job = user;
  loom_bytes text = {NULL, 0};
  bool ok = compile_read(job->input, &text) && compile_text(job, &text);
  free(text.data);
  job->status = ok ? 0 : 1;
  return NULL;
}

/* ---- options ---- */

enum { OPTION_EMIT = 256, OPTION_TARGET, OPTION_CPU, OPTION_HEADER, OPTION_NAME, OPTION_CHECK };

static const struct argp_option compile_options[] = {
    {"output", 'o', "FILE", 0, "where to write (default -: standard output)", 0},
    {"emit", OPTION_EMIT, "KIND", 0, "obj (default), asm or llvm", 0},
    {"target", OPTION_TARGET, "NAME", 0, "x86 (default), nvptx or amdgpu", 0},
    {"mcpu", OPTION_CPU, "NAME", 0, "native (default), or a CPU of the target", 0},
    {"emit-header", OPTION_HEADER, "FILE", 0, "also write a C header of the entry points", 0},
    {"name", OPTION_NAME, "NAME", 0, "C name of the function (default: its own, or the file's)", 0},
    {"check", OPTION_CHECK, "KIND", 0, "bounds: compare every access with the bounds of its array",
     0},
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
  case ARGP_KEY_ARG:
    if (job->input) return ARGP_ERR_UNKNOWN;
    job->input = value;
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
  if (kind == 3) return compile_error(job->emit, "is none of obj, asm, llvm");
  job->kind = (loom_emit_kind)kind;
  job->machine = loom_target_find(job->target);
  if (!job->machine) return compile_error(job->target, "is no target");
  if (job->machine == &loom_target_nvptx && job->kind == LOOM_EMIT_OBJECT)
    return compile_error("--emit=obj", "nvptx has no objects: use --emit=asm");
  if (job->check && strcmp(job->check, "bounds") != 0)
    return compile_error(job->check, "is no check: there is bounds");
  if (job->check && job->machine != &loom_target_x86)
    return compile_error(job->target, "kernels for a GPU cannot be checked");
  if (!job->input) return compile_error("no input", "give a file, or - for standard input");
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
  compile_job job = {.output = "-", .emit = "obj", .target = "x86", .status = 1};
  argp_err_exit_status = 1;
  argp_parse(&parser, argc, argv, 0, NULL, &job);
  if (!compile_check(&job)) return 1;
  pthread_attr_t attributes;
  pthread_t thread;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, COMPILE_STACK);
  if (pthread_create(&thread, &attributes, compile_main, &job) == 0)
    pthread_join(thread, NULL);
  else
    compile_main(&job);
  return job.status;
}
