/* What the passes over LLVM's instructions in this folder have in common. */
#ifndef LOOM_X86_VALUES_H
#define LOOM_X86_VALUES_H

#include <llvm-c/Core.h>
#include <stdbool.h>

/* The number of an intrinsic by its name without types. */
unsigned x86_intrinsic(const char *name);
/* Of the intrinsic that `v` calls; 0 for anything else. */
unsigned x86_intrinsic_of(LLVMValueRef v);

/* Of a vector's elements; that of a scalar itself. */
LLVMTypeRef x86_element(LLVMTypeRef type);
/* Is it float or double, or a vector of them? */
bool x86_is_real(LLVMTypeRef type);

/* The numbers of the intrinsics that raise floating-point flags. */
typedef struct x86_raising {
  unsigned sqrt, fused, scale32, scale64;
} x86_raising;
x86_raising x86_raising_intrinsics(void);
/* Is it arithmetic that may raise a floating-point flag? A comparison is not. */
bool x86_may_raise(const x86_raising *intrinsics, LLVMValueRef v);

/* Looks at the instructions of each block from the last to the first. `visit` may insert some, and
 * may erase the one that it is given and those behind it. */
void x86_each_instruction(LLVMModuleRef module, void (*visit)(void *state, LLVMValueRef v),
                          void *state);

#endif
