/* What the passes over LLVM's instructions in this folder share (values.h). */
#include "targets/x86/values.h"

#include <string.h>

unsigned x86_intrinsic(const char *name) { return LLVMLookupIntrinsicID(name, strlen(name)); }

unsigned x86_intrinsic_of(LLVMValueRef v) {
  if (!LLVMIsACallInst(v)) return 0;
  LLVMValueRef callee = LLVMGetCalledValue(v);
  return callee && LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
}

LLVMTypeRef x86_element(LLVMTypeRef type) {
  return LLVMGetTypeKind(type) == LLVMVectorTypeKind ? LLVMGetElementType(type) : type;
}

bool x86_is_real(LLVMTypeRef type) {
  LLVMTypeKind kind = LLVMGetTypeKind(x86_element(type));
  return kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
}

x86_raising x86_raising_intrinsics(void) {
  return (x86_raising){.sqrt = x86_intrinsic("llvm.sqrt"),
                       .fused = x86_intrinsic("llvm.fma"),
                       .scale32 = x86_intrinsic("llvm.x86.avx512.mask.scalef.ps.512"),
                       .scale64 = x86_intrinsic("llvm.x86.avx512.mask.scalef.pd.512")};
}

bool x86_may_raise(const x86_raising *intrinsics, LLVMValueRef v) {
  switch (LLVMGetInstructionOpcode(v)) {
  case LLVMFAdd:
  case LLVMFSub:
  case LLVMFMul:
  case LLVMFDiv:
  case LLVMFPTrunc:
  case LLVMFPToSI:
  case LLVMFPToUI: return true;
  default: break;
  }
  unsigned id = x86_intrinsic_of(v);
  return id && (id == intrinsics->sqrt || id == intrinsics->fused || id == intrinsics->scale32 ||
                id == intrinsics->scale64);
}

void x86_each_instruction(LLVMModuleRef module, void (*visit)(void *state, LLVMValueRef v),
                          void *state) {
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    for (LLVMBasicBlockRef b = LLVMGetLastBasicBlock(f); b; b = LLVMGetPreviousBasicBlock(b))
      for (LLVMValueRef v = LLVMGetLastInstruction(b), before; v; v = before) {
        before = LLVMGetPreviousInstruction(v);
        visit(state, v);
      }
}
