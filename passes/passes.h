/* The passes. One file a pass; no pass calls another; the pipelines are listed in pipeline.c. */
#ifndef LOOM_PASSES_H
#define LOOM_PASSES_H

#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>

/* Registers every pass of passes.def and the pipelines with MLIR's registry. Called once by each tool. */
void loom_register_passes(void);

/* ---- one maker for each row of passes.def: MlirPass loom_make_<stem>_pass(void) ---- */
#define LOOM_PASS(STEM, FLAG, SUMMARY) MlirPass loom_make_##STEM##_pass(void);
#include "passes/passes.def"
#undef LOOM_PASS

#endif
