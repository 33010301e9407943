/* The simulator's target: kernels for a GPU as code for this machine, where every thread of a block
 * is a fiber (runtime/sim.c). The code is what the other GPU targets get, but for the primitives of
 * passes/gpu.def, which stay calls. A stage's public function has the kernel ABI of x86, so that
 * the runtime launches it as any other:
 *
 *   uint32_t <name>(buffers, params, scratch, begin, end)
 *     return loom_gpu_launch(<name>_threads, "<name>", blocks, threads, shared, maps, map_count,
 *                            buffers, ..., end)
 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "targets/target.h"

static bool sim_resolve(const loom_target_options *options, loom_target_cpu *out, loom_error *err) {
  if (!loom_target_x86.resolve(options, out, err)) return false;
  out->vector_bits = 0; /* a lane is a thread */
  out->quick = true;    /* a kernel runs a few times */
  out->matrix = "mma";
  return true;
}

static LLVMValueRef sim_text(LLVMModuleRef module, const char *text) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMValueRef value = LLVMConstStringInContext2(context, text, strlen(text), 0);
  LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(value), "loom_gpu_name");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

/* The maps of a stage as words, as they lie in memory. */
static LLVMValueRef sim_maps(LLVMModuleRef module, const loom_gpu_stage *stage) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
  uint64_t words[sizeof stage->maps / (sizeof(uint64_t))];
  LLVMValueRef values[sizeof words / sizeof *words];
  unsigned count = stage->map_count * (unsigned)(sizeof(loom_tensor_map) / sizeof *words);
  if (!count) return LLVMConstNull(LLVMPointerTypeInContext(context, 0));
  memcpy(words, stage->maps, sizeof words);
  for (unsigned i = 0; i < count; i++)
    values[i] = LLVMConstInt(i64, words[i], 0);
  LLVMValueRef value = LLVMConstArray2(i64, values, count);
  LLVMValueRef global = LLVMAddGlobal(module, LLVMTypeOf(value), "loom_gpu_maps");
  LLVMSetInitializer(global, value);
  LLVMSetGlobalConstant(global, 1);
  LLVMSetLinkage(global, LLVMPrivateLinkage);
  return global;
}

/* The public function of a stage. */
static void sim_entry(LLVMValueRef threads, const loom_gpu_stage *stage) {
  char inner[560];
  LLVMModuleRef module = LLVMGetGlobalParent(threads);
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMTypeRef ptr = LLVMPointerTypeInContext(context, 0), i32 = LLVMInt32TypeInContext(context);
  LLVMTypeRef i64 = LLVMInt64TypeInContext(context);
  snprintf(inner, sizeof inner, "%s_threads", stage->name);
  LLVMSetValueName2(threads, inner, strlen(inner));
  LLVMSetLinkage(threads, LLVMInternalLinkage);
  LLVMTypeRef types[] = {ptr, ptr, i32, i32, i32, ptr, i32, ptr, ptr, ptr, i64, i64};
  LLVMTypeRef launch_type = LLVMFunctionType(i32, types, 12, 0);
  LLVMValueRef launch = LLVMGetNamedFunction(module, "loom_gpu_launch");
  if (!launch) launch = LLVMAddFunction(module, "loom_gpu_launch", launch_type);
  LLVMTypeRef abi[] = {ptr, ptr, ptr, i64, i64};
  LLVMValueRef host = LLVMAddFunction(module, stage->name, LLVMFunctionType(i32, abi, 5, 0));
  LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(context, host, "entry"));
  LLVMValueRef args[12] = {threads,
                           sim_text(module, stage->name),
                           LLVMConstInt(i32, stage->blocks, 0),
                           LLVMConstInt(i32, (unsigned)stage->threads, 0),
                           LLVMConstInt(i32, (unsigned)stage->shared, 0),
                           sim_maps(module, stage),
                           LLVMConstInt(i32, stage->map_count, 0)};
  for (unsigned i = 0; i < 5; i++)
    args[7 + i] = LLVMGetParam(host, i);
  LLVMBuildRet(b, LLVMBuildCall2(b, launch_type, launch, args, 12, ""));
  LLVMDisposeBuilder(b);
}

/* A call that other threads take part in may not be moved into or out of branches. */
static void sim_prepare(LLVMModuleRef module, const loom_target_cpu *cpu) {
  static const loom_gpu_names names = {.entry = sim_entry};
  LLVMContextRef context = LLVMGetModuleContext(module);
  unsigned convergent = LLVMGetEnumAttributeKindForName("convergent", 10);
  loom_gpu_entries(module, cpu, &names);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (loom_gpu_is_primitive(LLVMGetValueName2(f, &(size_t){0})))
      LLVMAddAttributeAtIndex(f, LLVMAttributeFunctionIndex,
                              LLVMCreateEnumAttribute(context, convergent, 0));
}

/* Nothing asks for the floating-point flags of a GPU. */
static void sim_finish(LLVMModuleRef module, const loom_target_cpu *cpu) {
  loom_target_cpu quiet = *cpu;
  quiet.quiet = true;
  loom_target_x86.finish(module, &quiet);
}

static void sim_init(void) { loom_target_x86.init(); }

const loom_target loom_target_sim = {
    .name = "sim",
    .triple = "x86_64-unknown-linux-gnu",
    .summary = "GPU kernels on a simulator",
    .bit = 8,
    .init = sim_init,
    .resolve = sim_resolve,
    .prepare = sim_prepare,
    .finish = sim_finish,
};
