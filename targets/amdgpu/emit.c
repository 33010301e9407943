/* The AMDGPU target: ELF objects, which image.c turns into a code object. */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets/target.h"

#define AMDGPU_KERNEL_CALLING_CONVENTION 91 /* llvm::CallingConv::AMDGPU_KERNEL */

static pthread_once_t amdgpu_once = PTHREAD_ONCE_INIT;
static void amdgpu_register(void) {
  LLVMInitializeAMDGPUTargetInfo();
  LLVMInitializeAMDGPUTarget();
  LLVMInitializeAMDGPUTargetMC();
  LLVMInitializeAMDGPUAsmPrinter();
}
static void amdgpu_init(void) { pthread_once(&amdgpu_once, amdgpu_register); }

static const struct {
  const char *name, *matrix;
} amdgpu_cpus[] = {{"gfx90a", "mfma"}, {"gfx942", "mfma"}, {"gfx1100", "wmma"}};

static bool amdgpu_resolve(const loom_target_options *options, loom_target_cpu *out,
                           loom_error *err) {
  const char *name = options && options->cpu ? options->cpu : "native";
  if (strcmp(name, "native") == 0) name = "gfx942";
  for (size_t i = 0; i < sizeof amdgpu_cpus / sizeof *amdgpu_cpus; i++) {
    if (strcmp(name, amdgpu_cpus[i].name) != 0) continue;
    snprintf(out->name, sizeof out->name, "%s", name);
    out->features = "";
    out->matrix = amdgpu_cpus[i].matrix;
    return true;
  }
  return loom_fail(err, "unknown AMDGPU architecture '%s': gfx90a, gfx942 or gfx1100", name);
}

const char *loom_amdgpu_for(const char *architecture) {
  for (size_t i = 0; i < sizeof amdgpu_cpus / sizeof *amdgpu_cpus; i++)
    if (strcmp(architecture, amdgpu_cpus[i].name) == 0) return amdgpu_cpus[i].name;
  return NULL;
}

bool loom_amdgpu_emit(MlirModule module, const loom_target_options *options, loom_bytes *out,
                      loom_error *err) {
  loom_bytes object = {NULL, 0};
  bool good =
      loom_target_emit(&loom_target_amdgpu, module, options, LOOM_EMIT_OBJECT, &object, err) &&
      loom_amdgpu_link(&object, out, err);
  free(object.data);
  return good;
}

static const char *const amdgpu_primitives[] = {
#define LOOM_GPU(NAME, RESULT, PARAMETERS, NVPTX, AMDGPU)                                          \
  LOOM_GPU_TEXT(NAME, RESULT, PARAMETERS, AMDGPU),
#include "passes/gpu.def"
#undef LOOM_GPU
};

/* MFMA has forms with sums in either sort of registers. Where it may use accumulation registers,
 * LLVM moves the sums of a loop there and back in each iteration. */
static void amdgpu_registers(LLVMModuleRef module) {
  static const char *const calls[] = {"loom_gpu_mfma_bf16", "loom_gpu_mfma_f16",
                                      "loom_gpu_mfma_f64"};
  bool found = false;
  for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
    found |= LLVMGetNamedFunction(module, calls[i]) != NULL;
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f && found; f = LLVMGetNextFunction(f))
    if (LLVMGetFunctionCallConv(f) == AMDGPU_KERNEL_CALLING_CONVENTION)
      LLVMAddTargetDependentFunctionAttr(f, "amdgpu-agpr-alloc", "0");
}

static void amdgpu_prepare(LLVMModuleRef module, const loom_target_cpu *cpu) {
  static const loom_gpu_names names = {.primitives = amdgpu_primitives,
                                       .size_attribute = "amdgpu-flat-work-group-size",
                                       .size_format = "%d,%d",
                                       .lists = "byref",
                                       .calling_convention = AMDGPU_KERNEL_CALLING_CONVENTION};
  loom_gpu_entries(module, cpu, &names);
  amdgpu_registers(module);
  /* Version 5, which ROCm 6.0 loads; LLVM's own choice is newer. */
  static const char version[] = "amdhsa_code_object_version";
  LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(module));
  LLVMAddModuleFlag(module, LLVMModuleFlagBehaviorError, version, sizeof version - 1,
                    LLVMValueAsMetadata(LLVMConstInt(i32, 500, 0)));
}

const loom_target loom_target_amdgpu = {
    .name = "amdgpu",
    .triple = "amdgcn-amd-amdhsa",
    .summary = "AMD GPUs, as a code object",
    .bit = 4,
    .init = amdgpu_init,
    .resolve = amdgpu_resolve,
    .prepare = amdgpu_prepare,
    .finish = loom_gpu_globals,
    .late = "function(infer-address-spaces)",
};
