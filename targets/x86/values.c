#include "targets/x86/values.h"

#include <string.h>

unsigned x86_intrinsic(const char *name) { return LLVMLookupIntrinsicID(name, strlen(name)); }

unsigned x86_intrinsic_of(LLVMValueRef v) {
  if (!LLVMIsACallInst(v)) return 0;
  LLVMValueRef callee = LLVMGetCalledValue(v);
  return callee && LLVMIsAFunction(callee) ? LLVMGetIntrinsicID(callee) : 0;
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
