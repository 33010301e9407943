/* What loom-compile adds to kernels: one C function that runs the plan, and a C header. (program.c)
 */
#ifndef LOOM_PROGRAM_H
#define LOOM_PROGRAM_H

#include <mlir-c/IR.h>
#include <stdbool.h>

#include "graph/graph.h"

/* Appends a function to a module of the LLVM dialect that runs the launches of `plan` one after
 * another:
 *
 *     int <name>(const void *const *inputs, void *const *outputs, void *workspace)
 *
 * With symbolic sizes (loom_sizes() of the module) it takes `const int64_t *sizes` first, and a
 * second function comes with it: `int64_t <name>_workspace(const int64_t *sizes)`. With checked
 * kernels there is `const char *<name>_violation(const void *workspace, const void **address)`,
 * too. `const char *<name>_signature(void)` gives the text of a loom.plan without instructions,
 * whose arena is the workspace unless sizes are symbolic. False after a diagnostic. */
bool loom_program_entry(MlirModule module, MlirOperation plan, const char *name);
/* The C header of that function and of the kernels' stages. malloc'ed text. */
bool loom_program_header(MlirOperation plan, const char *name, loom_bytes *out);
/* Bytes of the workspace, maybe a symbolic number: the plan's arena, then what its launches (by one
 * thread), loops and branches need. False after a diagnostic: it changes with a loop's index. */
bool loom_program_workspace(MlirOperation plan, int64_t *out);

#endif
