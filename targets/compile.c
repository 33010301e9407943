/* The compiler library's entry points. */
#include "targets/compiler.h"

int loom_compiler_abi(void) { return LOOM_COMPILER_ABI; }
