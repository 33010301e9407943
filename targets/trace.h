/* The stages of a compilation as files of a folder, for FRAMELOOM_TRACE and loom-compile --trace.
 * Sections by file. */
#ifndef LOOM_TRACE_H
#define LOOM_TRACE_H

#include <llvm-c/Types.h>
#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>
#include <stdio.h>

#include "targets/target.h"

/* ---- trace.c ---- */

/* A trace is a convenience: a compilation does not fail because a file cannot be written. */
typedef struct loom_trace {
  const char *folder; /* NULL: nothing is written */
  bool verified;      /* modules are verified without a folder, too */
  int count;          /* of stages */
} loom_trace;

/* Writes the module as NN-STAGE.mlir, in a form that loom-opt reads back. */
void loom_trace_module(loom_trace *trace, MlirModule module, const char *stage);
/* Runs the passes of a stage, then writes the module, and in NN-STAGE.txt what the passes decided,
 * the schedule of each kernel and the arena of each plan. False after a diagnostic. */
bool loom_trace_run(loom_trace *trace, MlirModule module, const char *stage,
                    void (*add)(MlirOpPassManager manager));
/* Writes NN-code.ll and NN-code.s: what LLVM makes of a module in its dialect, with the lines that
 * each instruction comes from. The module, whose plans are left out, stays as it is. */
void loom_trace_code(loom_trace *trace, MlirModule module, const loom_target *target,
                     const loom_target_options *options);

/* ---- trace_text.c: what a stage decided, in words ---- */

/* For the stage that makes schedules, a line for each kernel. For the stage that makes plans, a
 * table for each plan: where in the arena its buffers lie, and from which instruction to which they
 * are live. */
void loom_trace_decisions(MlirModule module, const char *stage, FILE *out);
/* "x" or "line 12:5": the user's name or line of a value. */
void loom_trace_value(MlirValue value, FILE *out);

/* ---- lines.c ---- */

/* The place in a file that a location stands for; null where there is none. */
MlirLocation loom_location_line(MlirLocation loc);
/* The user's name, or NULL. */
const char *loom_location_name(MlirLocation loc, size_t *length);
/* Gives the functions of a module in the LLVM dialect debug information. */
void loom_lines_attach(MlirModule module);
/* Gives parameters and operands in LLVM IR the names that the module has. */
void loom_lines_name(LLVMModuleRef ir, MlirModule module);

#endif
