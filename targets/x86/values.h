/* What the passes over LLVM's instructions in this folder have in common. */
#ifndef LOOM_X86_VALUES_H
#define LOOM_X86_VALUES_H

#include <llvm-c/Core.h>

/* The number of an intrinsic by its name without types. */
unsigned x86_intrinsic(const char *name);
/* Of the intrinsic that `v` calls; 0 for anything else. */
unsigned x86_intrinsic_of(LLVMValueRef v);

/* Looks at the instructions of each block from the last to the first. `visit` may insert some, and
 * may erase the one that it is given and those behind it. */
void x86_each_instruction(LLVMModuleRef module, void (*visit)(void *state, LLVMValueRef v),
                          void *state);

#endif
