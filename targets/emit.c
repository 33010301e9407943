/* From the LLVM dialect to bytes, for every target: translate, a light pass pipeline, code
 * generation. Once a module is translated it lives in an LLVM context of its own, and any thread
 * may do the rest.
 *
 * LLVM calls exit() on a fatal error. The legality check keeps known causes away; for the rest a
 * fatal-error handler jumps out of the emission of this thread (as LLVM's own crash recovery does),
 * gives up what LLVM held, and reports.
 */
#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <mlir-c/Target/LLVMIR.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "targets/target.h"
#include "targets/trace.h"

/* ---- fatal errors ---- */

typedef struct emit_guard {
  jmp_buf jump;
  char message[256];
} emit_guard;

static _Thread_local emit_guard *emit_current;

static void emit_fatal(const char *reason) {
  emit_guard *guard = emit_current;
  if (!guard) {
    fprintf(stderr, "frameloom: LLVM: %s\n", reason);
    return;
  }
  snprintf(guard->message, sizeof guard->message, "%s", reason);
  emit_current = NULL;
  longjmp(guard->jump, 1);
}

static pthread_once_t emit_once = PTHREAD_ONCE_INIT;
static void emit_init(void) { LLVMInstallFatalErrorHandler(emit_fatal); }

/* ---- one emission ---- */

struct loom_emission {
  const loom_target *target;
  MlirModule module; /* until it is translated */
  loom_target_cpu cpu;
  loom_emit_kind kind;
  LLVMContextRef context;
  LLVMModuleRef ir;
  LLVMTargetMachineRef machine;
  LLVMMemoryBufferRef buffer;
  loom_bytes *out;
  loom_error *err;
  bool lost; /* LLVM failed half-way: what it held is given up */
};

typedef struct loom_emission emit_job;

/* Inlining of bodies, scalar replacement, CSE and hoisting: no vectoriser, the lowering wrote
 * vectors itself. */
static const char emit_passes[] = "always-inline,function(sroa,early-cse,instcombine<no-verify-"
                                  "fixpoint>,simplifycfg,loop-mssa(licm))";

static void emit_diagnostic(LLVMDiagnosticInfoRef info, void *user) {
  if (LLVMGetDiagInfoSeverity(info) != LLVMDSError) return;
  char *text = LLVMGetDiagInfoDescription(info);
  loom_fail(user, "LLVM: %s", text);
  LLVMDisposeMessage(text);
}

static bool emit_machine(emit_job *job) {
  LLVMTargetRef target;
  char *message = NULL;
  if (LLVMGetTargetFromTriple(job->target->triple, &target, &message)) {
    loom_fail(job->err, "LLVM has no target %s: %s", job->target->triple, message ? message : "");
    LLVMDisposeMessage(message);
    return false;
  }
  LLVMCodeGenOptLevel level = job->cpu.quick ? LLVMCodeGenLevelNone : LLVMCodeGenLevelDefault;
  job->machine =
      LLVMCreateTargetMachine(target, job->target->triple, job->cpu.name, job->cpu.features, level,
                              LLVMRelocPIC, LLVMCodeModelDefault);
  return job->machine != NULL || loom_fail(job->err, "no machine for %s", job->target->triple);
}

static bool emit_run(emit_job *job, const char *passes, LLVMTargetMachineRef machine) {
  LLVMPassBuilderOptionsRef options = LLVMCreatePassBuilderOptions();
  LLVMErrorRef error = LLVMRunPasses(job->ir, passes, machine, options);
  LLVMDisposePassBuilderOptions(options);
  if (!error) return true;
  char *text = LLVMGetErrorMessage(error);
  loom_fail(job->err, "LLVM: %s", text);
  LLVMDisposeErrorMessage(text);
  return false;
}

static bool emit_translate(emit_job *job) {
  MlirOperation op = mlirModuleGetOperation(job->module);
  loom_register_translations(mlirOperationGetContext(op));
  job->ir = mlirTranslateModuleToLLVMIR(op, job->context);
  if (!job->ir) return loom_fail(job->err, "the module cannot be translated to LLVM IR");
  if (job->kind >= LOOM_EMIT_LLVM) loom_lines_name(job->ir, job->module);
  /* Stack slots go before the target is known: some GPUs keep the stack in an address space of its
   * own, and the lowering does not know of it. */
  if (!job->cpu.vector_bits && !emit_run(job, "always-inline,function(sroa)", NULL)) return false;
  LLVMTargetDataRef layout = LLVMCreateTargetDataLayout(job->machine);
  LLVMSetModuleDataLayout(job->ir, layout);
  LLVMDisposeTargetData(layout);
  LLVMSetTarget(job->ir, job->target->triple);
  job->target->prepare(job->ir, &job->cpu);
  for (LLVMValueRef f = LLVMGetFirstFunction(job->ir); f; f = LLVMGetNextFunction(f)) {
    if (LLVMIsDeclaration(f)) continue;
    LLVMAddTargetDependentFunctionAttr(f, "target-cpu", job->cpu.name);
    LLVMAddTargetDependentFunctionAttr(f, "target-features", job->cpu.features);
  }
  return true;
}

static bool emit_optimise(emit_job *job) {
  char *message = NULL;
  if (LLVMVerifyModule(job->ir, LLVMReturnStatusAction, &message)) {
    loom_fail(job->err, "invalid LLVM IR: %.300s", message);
    LLVMDisposeMessage(message);
    return false;
  }
  LLVMDisposeMessage(message);
  if (job->kind == LOOM_EMIT_TRANSLATION) return true;
  if (!emit_run(job, emit_passes, job->machine)) return false;
  if (job->target->finish) job->target->finish(job->ir, &job->cpu);
  return !job->target->late || emit_run(job, job->target->late, job->machine);
}

static bool emit_copy(emit_job *job, const char *data, size_t size) {
  job->out->data = malloc(size ? size : 1);
  if (!job->out->data) return loom_fail(job->err, "out of memory");
  memcpy(job->out->data, data, size);
  job->out->size = size;
  return true;
}

static bool emit_generate(emit_job *job) {
  if (job->kind >= LOOM_EMIT_LLVM) {
    char *text = LLVMPrintModuleToString(job->ir);
    bool ok = emit_copy(job, text, strlen(text));
    LLVMDisposeMessage(text);
    return ok;
  }
  char *message = NULL;
  LLVMCodeGenFileType type = job->kind == LOOM_EMIT_OBJECT ? LLVMObjectFile : LLVMAssemblyFile;
  if (LLVMTargetMachineEmitToMemoryBuffer(job->machine, job->ir, type, &message, &job->buffer)) {
    loom_fail(job->err, "LLVM: %s", message ? message : "emission failed");
    LLVMDisposeMessage(message);
    return false;
  }
  if (job->err->message[0]) return false; /* a diagnostic that LLVM went on after */
  return emit_copy(job, LLVMGetBufferStart(job->buffer), LLVMGetBufferSize(job->buffer));
}

static void emit_dispose(emit_job *job) {
  if (job->buffer) LLVMDisposeMemoryBuffer(job->buffer);
  if (job->ir) LLVMDisposeModule(job->ir);
  if (job->machine) LLVMDisposeTargetMachine(job->machine);
  if (job->context) LLVMContextDispose(job->context);
}

static bool emit_guarded(emit_job *job, bool (*step)(emit_job *job)) {
  emit_guard guard;
  if (setjmp(guard.jump)) { /* what LLVM held is lost: its state may be half-made */
    job->lost = true;
    return loom_fail(job->err, "LLVM: %s", guard.message);
  }
  emit_current = &guard;
  bool ok = step(job);
  emit_current = NULL;
  return ok;
}

static bool emit_begin(emit_job *job) {
  job->context = LLVMContextCreate();
  LLVMContextSetDiagnosticHandler(job->context, emit_diagnostic, job->err);
  return emit_machine(job) && emit_translate(job);
}

static bool emit_end(emit_job *job) {
  bool ok = emit_optimise(job) && emit_generate(job);
  emit_dispose(job);
  return ok;
}

bool loom_emission_begin(const loom_target *target, MlirModule module, const loom_target_cpu *cpu,
                         loom_emit_kind kind, loom_emission **out, loom_error *err) {
  emit_job *job = *out = calloc(1, sizeof *job);
  if (!job) return loom_fail(err, "out of memory");
  *job = (emit_job){.target = target, .module = module, .cpu = *cpu, .kind = kind, .err = err};
  pthread_once(&emit_once, emit_init);
  target->init();
  return emit_guarded(job, emit_begin);
}

bool loom_emission_end(loom_emission *job, loom_bytes *out, loom_error *err) {
  job->out = out;
  job->err = err;
  LLVMContextSetDiagnosticHandler(job->context, emit_diagnostic, err);
  bool ok = emit_guarded(job, emit_end);
  free(job);
  return ok;
}

void loom_emission_drop(loom_emission *job) {
  if (job && !job->lost) emit_dispose(job);
  free(job);
}

bool loom_target_emit(const loom_target *target, MlirModule module,
                      const loom_target_options *options, loom_emit_kind kind, loom_bytes *out,
                      loom_error *err) {
  loom_error own;
  loom_target_cpu cpu;
  loom_emission *emission = NULL;
  if (!err) err = &own;
  err->message[0] = 0;
  *out = (loom_bytes){NULL, 0};
  if (!loom_target_resolve(target, options, &cpu, err)) return false;
  cpu.gpu = options ? options->gpu : NULL;
  if (!loom_legal_check(target, &cpu, module, err)) return false;
  if (loom_emission_begin(target, module, &cpu, kind, &emission, err))
    return loom_emission_end(emission, out, err);
  loom_emission_drop(emission);
  return false;
}
