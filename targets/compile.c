/* The compiler library's entry points: a captured graph through every pipeline to the bytes of a
 * plan.
 *
 * One MLIRContext a compilation, threading off (a threaded one would hang a forked child).
 * Diagnostics that MLIR emits on the way are collected, and the first error is the caller's.
 */
#include "loom_ops_compiler.h"
#include "targets/compiler.h"

#include <mlir-c/Diagnostics.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Pass.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/passes.h"
#include "targets/target.h"
#include "targets/trace.h"

int loom_compiler_abi(void) { return LOOM_COMPILER_ABI; }

typedef struct compile_job {
  MlirContext ctx;
  MlirModule module;
  const loom_compile_options *options;
  loom_error *err;
  bool has_error; /* a diagnostic was kept in `err` */
  loom_trace trace;
} compile_job;

static double compile_now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

/* ---- diagnostics ---- */

static MlirLogicalResult compile_diagnostic(MlirDiagnostic diagnostic, void *user) {
  compile_job *job = user;
  if (mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticError && !job->has_error) {
    job->has_error = true;
    job->err->message[0] = 0;
    mlirDiagnosticPrint(diagnostic, loom_error_append, job->err);
    loom_error_append(loom_str(" at "), job->err);
    mlirLocationPrint(mlirDiagnosticGetLocation(diagnostic), loom_error_append, job->err);
  }
  return mlirLogicalResultSuccess();
}

static bool compile_fail(compile_job *job, const char *what) {
  return job->has_error ? false : loom_fail(job->err, "%s failed", what);
}

/* ---- stages ---- */

static void compile_enter(const compile_job *job, const char *stage) {
  if (job->options->phase) atomic_store(job->options->phase, stage);
}

static bool compile_run(compile_job *job, const char *stage,
                        void (*add)(MlirOpPassManager manager)) {
  compile_enter(job, stage);
  bool good = loom_trace_run(&job->trace, job->module, stage, add);
  return (good && !job->has_error) || compile_fail(job, stage);
}

static uint32_t compile_count(const compile_job *job, loom_opcode code) {
  uint32_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(job->module)); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count += loom_is(op, code);
  return count;
}

static uint32_t compile_count_applies(const compile_job *job) {
  MlirOperation module = mlirModuleGetOperation(job->module);
  uint32_t count = 0;
  for (MlirOperation f = loom_next_function(module, (MlirOperation){NULL}); f.ptr;
       f = loom_next_function(module, f)) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(f, 0));
    for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
         op = mlirOperationGetNextInBlock(op))
      count += loom_info(op)->applies;
  }
  return count;
}

static bool compile_emit_device(compile_job *job, loom_bytes *out) {
  loom_target_options target = {.quick = job->options->quick};
  const loom_target *machine = loom_target_for(job->options->device, &target.cpu);
  compile_enter(job, "emit");
  loom_trace_code(&job->trace, job->module, machine, &target);
  return loom_plan_device_bytes(job->module, machine, &target, job->options->simulated, out,
                                job->err);
}

static bool compile_emit(compile_job *job, loom_bytes *out) {
  if (job->options->device) return compile_emit_device(job, out);
  loom_target_options target = {.cpu = job->options->cpu,
                                .quiet = job->options->quiet,
                                .quick = job->options->quick,
                                .here = true};
  compile_enter(job, "emit");
  loom_trace_code(&job->trace, job->module, &loom_target_x86, &target);
  return loom_plan_bytes(job->module, &target, out, job->err);
}

static void compile_set_target(compile_job *job, const loom_target *machine,
                               const loom_target_cpu *cpu) {
  MlirOperation module = mlirModuleGetOperation(job->module);
  bool gpu = job->options->device != NULL;
  loom_set_attr(module, loom_mark_target, loom_attr_str(job->ctx, machine->name));
  loom_set_attr(module, loom_mark_vector, loom_attr_i64(job->ctx, cpu->vector_bits / 8));
  bool group = gpu && strcmp(cpu->name, "sm_90a") == 0; /* asked for (runtime/cuda.c) */
  const char *matrix = group ? "wgmma" : cpu->matrix;
  if (matrix) loom_set_attr(module, loom_mark_matrix, loom_attr_str(job->ctx, matrix));
  if (!gpu) loom_set_attr(module, loom_mark_keep, mlirUnitAttrGet(job->ctx)); /* keep.c */
  if (job->options->fastmath) loom_set_attr(module, loom_mark_fastmath, mlirUnitAttrGet(job->ctx));
  if (job->options->open_sums)
    loom_set_attr(module, loom_mark_open_sums, mlirUnitAttrGet(job->ctx));
  if (gpu && job->options->tf32) loom_set_attr(module, loom_mark_tf32, mlirUnitAttrGet(job->ctx));
  if (job->options->quiet) loom_set_attr(module, loom_mark_quiet, mlirUnitAttrGet(job->ctx));
  if (job->options->check && !gpu)
    loom_set_attr(module, loom_mark_check, mlirUnitAttrGet(job->ctx));
}

static bool compile_graph(compile_job *job, const loom_graph *graph, loom_bytes *out,
                          loom_compile_info *info) {
  loom_target_cpu cpu;
  loom_target_options target = {
      .cpu = job->options->cpu, .quiet = job->options->quiet, .here = true};
  double start = compile_now(), at = start;
  const loom_target *machine = &loom_target_x86;
  if (job->options->device) {
    machine = loom_target_for(job->options->device, &target.cpu);
    if (!machine) return loom_fail(job->err, "no code can be made for %.40s", job->options->device);
  }
  if (!loom_target_resolve(machine, &target, &cpu, job->err)) return false;
  if (!loom_import(job->ctx, graph, &job->module, job->err)) return false;
  compile_set_target(job, machine, &cpu);
  loom_trace_module(&job->trace, job->module, "import");
  info->ops = graph->node_count;
  info->import_ms = compile_now() - at;
  at = compile_now();
  if (!compile_run(job, "fuse", loom_add_front_passes) ||
      !compile_run(job, "schedule", loom_add_kernel_passes))
    return false;
  info->fusions = compile_count_applies(job);
  info->kernels = compile_count(job, LOOM_OP_KERNEL);
  if (!compile_run(job, "plan", loom_add_plan_passes)) return false;
  info->passes_ms = compile_now() - at;
  at = compile_now();
  if (!compile_run(job, "lower", loom_add_lower_passes) ||
      (job->options->check && !job->options->device &&
       (info->unchecked = !compile_run(job, "check", loom_add_check_passes))) ||
      !compile_run(job, "llvm", loom_add_llvm_passes))
    return false;
  info->lower_ms = compile_now() - at;
  at = compile_now();
  if (!compile_emit(job, out)) return false;
  info->emit_ms = compile_now() - at;
  info->total_ms = compile_now() - start;
  return true;
}

bool loom_compiler_compile(const loom_graph *graph, const loom_compile_options *options,
                           loom_bytes *out, loom_compile_info *info, loom_error *err) {
  static const loom_compile_options none;
  loom_compile_info ignored_info;
  loom_error ignored_err;
  compile_job job = {.options = options ? options : &none, .err = err ? err : &ignored_err};
  job.trace.folder = job.options->trace_dir;
  if (!info) info = &ignored_info;
  memset(info, 0, sizeof *info);
  *out = (loom_bytes){NULL, 0};
  job.err->message[0] = 0;
  double start = compile_now();
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__loom__(), registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  loom_register_conversions(registry);
  job.ctx = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextGetOrLoadDialect(job.ctx, loom_str("loom"));
  mlirContextGetOrLoadDialect(job.ctx, loom_str("func"));
  MlirDiagnosticHandlerID handler =
      mlirContextAttachDiagnosticHandler(job.ctx, compile_diagnostic, &job, NULL);
  bool good = compile_graph(&job, graph, out, info);
  if (job.module.ptr) mlirModuleDestroy(job.module);
  mlirContextDetachDiagnosticHandler(job.ctx, handler);
  mlirContextDestroy(job.ctx);
  if (good) info->total_ms = compile_now() - start;
  return good;
}
