/* The input of a tool that reads one module: a file or standard input, text or bytecode. */
#include "targets/tools.h"

#include <errno.h>
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/Diagnostics.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/passes.h"

#define TOOL_INPUT_LIMIT (64u << 20)
#define TOOL_STACK                                                                                 \
  (1ul << 30) /* MLIR recurses on nested types and regions; only touched pages cost */

bool loom_tool_error(const loom_tool *tool, const char *subject, const char *text) {
  fprintf(stderr, "%s: error: %s: %s\n", tool->name, subject, text);
  return false;
}

/* ---- files ---- */

static bool tool_read_file(loom_tool *tool, const char *path) {
  FILE *file = strcmp(path, "-") == 0 ? stdin : fopen(path, "rb");
  struct stat info;
  loom_bytes *out = &tool->text;
  if (!file) return loom_tool_error(tool, path, strerror(errno));
  if (fstat(fileno(file), &info) == 0 && S_ISDIR(info.st_mode)) {
    fclose(file);
    return loom_tool_error(tool, path, "is a directory");
  }
  out->data = malloc(TOOL_INPUT_LIMIT + 1u);
  out->size = out->data ? fread(out->data, 1, TOOL_INPUT_LIMIT + 1u, file) : 0;
  bool ok = out->data && !ferror(file);
  if (file != stdin) fclose(file);
  if (!ok) return loom_tool_error(tool, path, "cannot be read");
  return out->size <= TOOL_INPUT_LIMIT || loom_tool_error(tool, path, "is larger than 64 MiB");
}

/* Bytecode of a file becomes text, which another process makes of it (dialects/input.c). */
static bool tool_read_bytecode(loom_tool *tool) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  bool replaced = false;
  loom_register_dialects(registry);
  bool good = strcmp(tool->input, "-") != 0 ||
              loom_tool_error(tool, tool->input, "bytecode has to be in a file");
  good = good && loom_check_input(0, NULL, tool->input, registry, &replaced);
  mlirDialectRegistryDestroy(registry);
  free(tool->text.data);
  tool->text.data = NULL;
  return good && replaced && tool_read_file(tool, "-");
}

bool loom_tool_is_object(const loom_tool *tool) {
  return tool->objects && tool->text.size >= 4 && memcmp(tool->text.data, "\177ELF", 4) == 0;
}

bool loom_tool_read(loom_tool *tool) {
  if (!tool_read_file(tool, tool->input)) return false;
  if (loom_tool_is_object(tool)) return true;
  if (tool->text.size >= 4 && memcmp(tool->text.data, "ML\xefR", 4) == 0 &&
      !tool_read_bytecode(tool))
    return false;
  const char *problem = loom_scan_text((const char *)tool->text.data, tool->text.size);
  return !problem || loom_tool_error(tool, tool->input, problem);
}

bool loom_tool_write(const loom_tool *tool, const char *path, const loom_bytes *bytes) {
  bool standard = strcmp(path, "-") == 0;
  FILE *file = standard ? stdout : fopen(path, "wb");
  if (!file) return loom_tool_error(tool, path, strerror(errno));
  bool ok = fwrite(bytes->data, 1, bytes->size, file) == bytes->size;
  if (standard)
    ok = fflush(file) == 0 && ok;
  else
    ok = fclose(file) == 0 && ok;
  if (ok) return true;
  if (!standard) unlink(path);
  return loom_tool_error(tool, path, "cannot be written");
}

/* ---- diagnostics: with the line and a caret ---- */

static void tool_print(MlirStringRef text, void *user) { fwrite(text.data, 1, text.length, user); }

static void tool_show_line(const loom_bytes *text, unsigned line, unsigned column) {
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

static MlirLogicalResult tool_diagnostic(MlirDiagnostic diagnostic, void *user) {
  const loom_tool *tool = user;
  static const char *const names[] = {"error", "warning", "note", "remark"};
  MlirLocation loc = mlirDiagnosticGetLocation(diagnostic);
  bool known = mlirLocationIsAFileLineColRange(loc);
  unsigned line = known ? (unsigned)mlirLocationFileLineColRangeGetStartLine(loc) : 0;
  unsigned column = known ? (unsigned)mlirLocationFileLineColRangeGetStartColumn(loc) : 0;
  if (known)
    fprintf(stderr, "%s:%u:%u: ", tool->input, line, column);
  else
    fprintf(stderr, "%s: ", tool->input);
  fprintf(stderr, "%s: ", names[mlirDiagnosticGetSeverity(diagnostic)]);
  mlirDiagnosticPrint(diagnostic, tool_print, stderr);
  fputc('\n', stderr);
  if (known && column) tool_show_line(&tool->text, line, column);
  return mlirLogicalResultSuccess();
}

MlirContext loom_tool_context(const loom_tool *tool) {
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  loom_register_dialects(registry);
  MlirContext ctx = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextAttachDiagnosticHandler(ctx, tool_diagnostic, (void *)tool, NULL);
  return ctx;
}

/* ---- modules ---- */

static MlirLogicalResult tool_hush(MlirDiagnostic diagnostic, void *user) {
  (void)diagnostic;
  (void)user;
  return mlirLogicalResultSuccess();
}

/* MLIR has a parser of one op, whose locations name the file, and one of modules, whose locations
 * do not, for text of several ops. */
MlirModule loom_tool_parse(const loom_tool *tool, MlirContext ctx) {
  MlirStringRef text = mlirStringRefCreate((const char *)tool->text.data, tool->text.size);
  MlirDiagnosticHandlerID id = mlirContextAttachDiagnosticHandler(ctx, tool_hush, NULL, NULL);
  MlirOperation op = mlirOperationCreateParse(ctx, text, loom_str(tool->input));
  mlirContextDetachDiagnosticHandler(ctx, id);
  if (!op.ptr) return mlirModuleCreateParse(ctx, text);
  if (loom_is_named(op, "builtin.module")) return mlirModuleFromOperation(op);
  MlirModule module = mlirModuleCreateEmpty(mlirOperationGetLocation(op));
  mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), op);
  if (mlirOperationVerify(mlirModuleGetOperation(module))) return module;
  mlirModuleDestroy(module);
  return (MlirModule){NULL};
}

static bool tool_stage(MlirModule module, const char *stage, void (*add)(MlirOpPassManager manager),
                       void *trace) {
  return loom_trace_run(trace, module, stage, add);
}

bool loom_tool_lower(const loom_tool *tool, MlirModule module, const loom_target *machine,
                     const loom_target_options *options, bool check, loom_trace *trace) {
  MlirOperation op = mlirModuleGetOperation(module);
  loom_target_cpu cpu;
  loom_error err = {0};
  if (!loom_target_resolve(machine, options, &cpu, &err))
    return loom_tool_error(tool, tool->input, err.message);
  check |= machine == &loom_target_sim; /* it needs to know of every access */
  loom_trace_module(trace, module, "import");
  bool matrix = cpu.matrix && !loom_get_attr(op, loom_mark_matrix).ptr; /* tests give another one */
  if (matrix)
    loom_set_attr(op, loom_mark_matrix, loom_attr_str(mlirOperationGetContext(op), cpu.matrix));
  bool group = loom_str_is(loom_get_str(op, loom_mark_matrix), "wgmma");
  if (group && machine == &loom_target_nvptx && strcmp(cpu.name, "sm_90a") != 0)
    return loom_tool_error(tool, tool->input, "instructions of warpgroups are for sm_90a alone");
  bool ok = loom_lower_module(module, machine->name, cpu.vector_bits, check, tool_stage, trace);
  if (ok) loom_trace_code(trace, module, machine, options);
  if (matrix) mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_matrix));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_target));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_vector));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_check));
  return ok;
}

/* ---- a thread ---- */

typedef struct tool_thread {
  int (*main)(void *user);
  void *user;
  int status;
} tool_thread;

static void *tool_thread_main(void *user) {
  tool_thread *thread = user;
  thread->status = thread->main(thread->user);
  return NULL;
}

int loom_tool_thread(int (*main)(void *user), void *user) {
  tool_thread thread = {main, user, 1};
  pthread_attr_t attributes;
  pthread_t id;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, TOOL_STACK);
  if (pthread_create(&id, &attributes, tool_thread_main, &thread) == 0)
    pthread_join(id, NULL);
  else
    tool_thread_main(&thread);
  pthread_attr_destroy(&attributes);
  return thread.status;
}

int loom_tool_work(loom_tool *tool, bool (*work)(void *user, MlirContext ctx), void *user) {
  bool good = loom_tool_read(tool);
  if (good) {
    MlirContext ctx = loom_tool_context(tool);
    good = work(user, ctx);
    mlirContextDestroy(ctx);
  }
  free(tool->text.data);
  return good ? 0 : 1;
}
