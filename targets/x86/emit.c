/* The x86-64 target: which CPU, and what its modules need. */
#include <llvm-c/Core.h>
#include <llvm-c/Target.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "targets/target.h"
#include "targets/x86/values.h"

static pthread_once_t x86_once = PTHREAD_ONCE_INIT;
static void x86_register(void) {
  LLVMInitializeX86TargetInfo();
  LLVMInitializeX86Target();
  LLVMInitializeX86TargetMC();
  LLVMInitializeX86AsmPrinter();
}
static void x86_init(void) { pthread_once(&x86_once, x86_register); }

#define X86_V4 LOOM_CPU_AVX2 | LOOM_CPU_AVX512

/* Kernels are written for a vector width of their own, so a CPU is one of two levels (or the plain
 * one, which loom-compile accepts for objects), the second with instructions on pairs of bfloat16
 * or without; the name of a model would make the cache's key finer without making code better. */
static const struct {
  const char *name, *level, *features;
  uint64_t needs;
  uint32_t vector_bits;
  const char *matrix;
} x86_cpus[] = {
    {"x86-64", "x86-64", "", 0, 128, NULL},
    {"x86-64-v3", "x86-64-v3", "", LOOM_CPU_AVX2, 256, NULL},
    {"x86-64-v4", "x86-64-v4", "-prefer-256-bit", X86_V4, 512, NULL},
    {"x86-64-v4-bf16", "x86-64-v4", "-prefer-256-bit,+avx512bf16", X86_V4 | LOOM_CPU_BF16, 512,
     "bf16"},
    {"x86-64-v4-amx", "x86-64-v4", "-prefer-256-bit,+amx-tile,+amx-bf16", X86_V4 | LOOM_CPU_AMX,
     512, "amx"},
};

/* Code that runs in another process cannot know whether that may use AMX. */
static const char *x86_native(bool here) {
  uint64_t have = loom_cpu_features();
  if (here && have & LOOM_CPU_AMX) return "x86-64-v4-amx";
  if (have & LOOM_CPU_BF16 && loom_cpu_pairs_fast()) return "x86-64-v4-bf16";
  if (have & LOOM_CPU_AVX512) return "x86-64-v4";
  return have & LOOM_CPU_AVX2 ? "x86-64-v3" : "x86-64";
}

static bool x86_resolve(const loom_target_options *options, loom_target_cpu *out, loom_error *err) {
  const char *name = options && options->cpu ? options->cpu : "native";
  if (strcmp(name, "native") == 0) name = x86_native(options && options->here);
  for (size_t i = 0; i < sizeof x86_cpus / sizeof *x86_cpus; i++) {
    if (strcmp(name, x86_cpus[i].name) != 0) continue;
    snprintf(out->name, sizeof out->name, "%s", x86_cpus[i].level);
    out->features = x86_cpus[i].features;
    out->matrix = x86_cpus[i].matrix;
    out->needs = x86_cpus[i].needs;
    out->vector_bits = x86_cpus[i].vector_bits;
    out->quiet = options && options->quiet;
    out->quick = options && options->quick;
    return true;
  }
  return loom_fail(err, "unknown x86 CPU '%s': native, x86-64, x86-64-v3 or x86-64-v4", name);
}

static void x86_attribute(LLVMValueRef function, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(context, kind, 0));
}

/* No unwinding through kernels: no unwind tables, no landing pads. No flag is lost. */
static void x86_prepare(LLVMModuleRef module, const loom_target_cpu *cpu) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f)) x86_attribute(f, "nounwind");
  if (!cpu->quiet) loom_x86_fence(module, cpu);
}

/* LLVM turns a half of a copied sign into a copied sign of halves, for which it may convert the
 * sign's double by a function of a library that is not there. Nothing is seen through a fence. */
static void x86_fence_sign(void *module, LLVMValueRef v) {
  LLVMValueRef from = LLVMIsAFPTruncInst(v) ? LLVMGetOperand(v, 0) : NULL;
  if (!from || !x86_intrinsic_of(from) || x86_intrinsic_of(from) != x86_intrinsic("llvm.copysign"))
    return;
  LLVMTypeRef type = LLVMTypeOf(from);
  LLVMContextRef context = LLVMGetModuleContext(module);
  unsigned fence = x86_intrinsic("llvm.arithmetic.fence");
  LLVMBuilderRef builder = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderBefore(builder, v);
  LLVMSetOperand(v, 0,
                 LLVMBuildCall2(builder, LLVMIntrinsicGetType(context, fence, &type, 1),
                                LLVMGetIntrinsicDeclaration(module, fence, &type, 1), &from, 1,
                                ""));
  LLVMDisposeBuilder(builder);
}

/* The only lane that a constant mask has on; -1: there are several, or none. */
static int x86_only_lane(LLVMValueRef mask) {
  int only = -1;
  if (!LLVMIsAConstant(mask)) return -1;
  for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(mask)); i++) {
    LLVMValueRef lane = LLVMGetAggregateElement(mask, i);
    if (!lane || !LLVMIsAConstantInt(lane)) return -1;
    if (!LLVMConstIntGetZExtValue(lane)) continue;
    if (only >= 0) return -1;
    only = (int)i;
  }
  return only;
}

/* A masked store of one lane becomes a store of that element. LLVM does so itself, but of elements
 * that it has narrowed on the way it stores the wider ones, over the neighbour. */
static void x86_store_lane(void *module, LLVMValueRef v) {
  if (x86_intrinsic_of(v) != x86_intrinsic("llvm.masked.store")) return;
  int lane = x86_only_lane(LLVMGetOperand(v, 2));
  if (lane < 0) return;
  LLVMContextRef context = LLVMGetModuleContext(module);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(context);
  LLVMPositionBuilderBefore(b, v);
  LLVMValueRef at = LLVMConstInt(LLVMInt32TypeInContext(context), (unsigned)lane, 0);
  LLVMValueRef element = LLVMBuildExtractElement(b, LLVMGetOperand(v, 0), at, "");
  LLVMValueRef place = LLVMBuildGEP2(b, LLVMTypeOf(element), LLVMGetOperand(v, 1), &at, 1, "");
  LLVMSetAlignment(LLVMBuildStore(b, element, place), 1);
  LLVMInstructionEraseFromParent(v);
  LLVMDisposeBuilder(b);
}

/* None that is not the user's is raised. */
static void x86_finish(LLVMModuleRef module, const loom_target_cpu *cpu) {
  x86_each_instruction(module, x86_fence_sign, module);
  x86_each_instruction(module, x86_store_lane, module);
  if (cpu->quiet) return;
  if (cpu->vector_bits >= 256) loom_x86_halves(module);
  loom_x86_quiet(module, cpu);
}

const loom_target loom_target_x86 = {
    .name = "x86",
    .triple = "x86_64-unknown-linux-gnu",
    .summary = "x86-64 with AVX2 or AVX-512",
    .bit = 1,
    .init = x86_init,
    .resolve = x86_resolve,
    .prepare = x86_prepare,
    .finish = x86_finish,
};
