/* Kernels for a GPU: the calls that they make (gpu_call.c).
 */
#ifndef LOOM_GPU_H
#define LOOM_GPU_H

#include "dialects/ir.h"

/* ---- gpu_call.c ---- */

/* A call of a function outside of the module that `inside` is in, which is declared where it is not
 * yet: its result, or null where `result` is. */
MlirValue gpu_call(loom_builder *b, MlirOperation inside, const char *name, intptr_t count,
                   const MlirType *types, const MlirValue *operands, MlirType result);

#endif
