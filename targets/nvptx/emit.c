/* The NVPTX target: PTX text, which ptxas or the driver turns into machine code. */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "targets/target.h"

#define NVPTX_KERNEL_CALLING_CONVENTION 71 /* llvm::CallingConv::PTX_Kernel */

static pthread_once_t nvptx_once = PTHREAD_ONCE_INIT;
static void nvptx_register(void) {
  LLVMInitializeNVPTXTargetInfo();
  LLVMInitializeNVPTXTarget();
  LLVMInitializeNVPTXTargetMC();
  LLVMInitializeNVPTXAsmPrinter();
}
static void nvptx_init(void) { pthread_once(&nvptx_once, nvptx_register); }

static const struct {
  const char *name, *features;
} nvptx_cpus[] = {
    {"sm_70", "+ptx70"},  {"sm_75", "+ptx70"},  {"sm_80", "+ptx70"},
    {"sm_86", "+ptx71"},  {"sm_89", "+ptx78"},  {"sm_90", "+ptx80"},
    {"sm_90a", "+ptx80"}, {"sm_100", "+ptx86"}, {"sm_120", "+ptx87"},
};

static bool nvptx_resolve(const loom_target_options *options, loom_target_cpu *out,
                          loom_error *err) {
  const char *name = options && options->cpu ? options->cpu : "native";
  if (strcmp(name, "native") == 0) name = "sm_80";
  for (size_t i = 0; i < sizeof nvptx_cpus / sizeof *nvptx_cpus; i++) {
    if (strcmp(name, nvptx_cpus[i].name) != 0) continue;
    snprintf(out->name, sizeof out->name, "%s", name);
    out->features = nvptx_cpus[i].features;
    if (atoi(name + 3) >= 80) out->matrix = "mma"; /* m16n8k16, bf16, f64, cp.async */
    return true;
  }
  return loom_fail(err, "unknown NVPTX architecture '%s': sm_70 to sm_120", name);
}

const char *loom_nvptx_for(const char *architecture) {
  const char *best = NULL;
  int wanted = strncmp(architecture, "sm_", 3) == 0 ? atoi(architecture + 3) : 0;
  for (size_t i = 0; i < sizeof nvptx_cpus / sizeof *nvptx_cpus; i++) {
    const char *name = nvptx_cpus[i].name;
    bool plain = name[strlen(name) - 1] != 'a'; /* the others are for that architecture alone */
    if (strcmp(name, architecture) == 0) return name;
    if (plain && atoi(name + 3) <= wanted) best = name;
  }
  return best;
}

static const char *const nvptx_primitives[] = {
#define LOOM_GPU(NAME, RESULT, PARAMETERS, NVPTX, AMDGPU)                                          \
  LOOM_GPU_TEXT(NAME, RESULT, PARAMETERS, NVPTX),
#include "passes/gpu.def"
#undef LOOM_GPU
};

static void nvptx_prepare(LLVMModuleRef module, const loom_target_cpu *cpu) {
  static const loom_gpu_names names = {.primitives = nvptx_primitives,
                                       .size_attribute = "nvvm.reqntid",
                                       .size_format = "%d",
                                       .blocks_attribute = "nvvm.minctasm",
                                       .lists = "byval",
                                       .calling_convention = NVPTX_KERNEL_CALLING_CONVENTION};
  loom_gpu_entries(module, cpu, &names);
}

static void nvptx_finish(LLVMModuleRef module, const loom_target_cpu *cpu) {
  if (cpu->matrix) loom_nvptx_round(module); /* as old as the instructions on matrices */
  loom_gpu_globals(module, cpu);
}

const loom_target loom_target_nvptx = {
    .name = "nvptx",
    .triple = "nvptx64-nvidia-cuda",
    .summary = "NVIDIA GPUs, as PTX",
    .bit = 2,
    .init = nvptx_init,
    .resolve = nvptx_resolve,
    .prepare = nvptx_prepare,
    .finish = nvptx_finish,
    .late = "function(infer-address-spaces)",
};
