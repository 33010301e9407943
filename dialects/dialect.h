/* The loom dialect as C sees it: registration, import and export of graphs, verifiers, folding.
 * Sections by file. (Building and reading ops of any dialect: ir.h.) */
#ifndef LOOM_DIALECT_H
#define LOOM_DIALECT_H

#include <mlir-c/IR.h>
#include <mlir-c/Pass.h>
#include <mlir-c/Rewrite.h>
#include <stdbool.h>
#include <stddef.h>

#include "graph/graph.h"

#ifdef __cplusplus
extern "C" {
#endif

MLIR_DECLARE_CAPI_DIALECT_REGISTRATION(Loom, loom);

/* ---- glue.cpp ---- */

/* Registers a pass made by `make` under its own argument, for --pass-pipeline and every mlir-opt
 * flag. */
void loom_register_pass(MlirPass (*make)(void));

/* Registers a pipeline: `build` adds its passes to the manager when the flag is given. */
void loom_register_pipeline(const char *flag, const char *summary,
                            void (*build)(MlirOpPassManager manager));

/* Registers how the dialects that kernels are lowered to become the LLVM dialect. */
void loom_register_conversions(MlirDialectRegistry registry);

/* Registers how calls of func.func and llvm.func are inlined. */
void loom_register_inliners(MlirDialectRegistry registry);

/* Registers how a module of the LLVM dialect becomes LLVM IR. */
void loom_register_translations(MlirContext context);

/* MlirOptMain and the language server's main: only in the compiler library. */
int loom_opt_main(int argc, char **argv, MlirDialectRegistry registry);
int loom_lsp_main(int argc, char **argv, MlirDialectRegistry registry);

/* The tools' mains, which their programs look up in the compiler library (targets/tool.c). */
#define LOOM_TOOL_MAIN __attribute__((visibility("default"))) int
LOOM_TOOL_MAIN loom_tool_opt(int argc, char **argv);
LOOM_TOOL_MAIN loom_tool_lsp_server(int argc, char **argv);

/* ---- registry.c ---- */

/* Registers loom and the dialects that it is lowered to, with their conversions and inliners. */
void loom_register_dialects(MlirDialectRegistry registry);

/* ---- import.c ---- */

/* A module with `func.func @main` that computes the graph. Arguments are the inputs, with
 * `loom.strides` (arrays), `loom.scalar` or `loom.const`; results the outputs, with `loom.strides`.
 * The module is the caller's. */
bool loom_import(MlirContext ctx, const loom_graph *graph, MlirModule *out, loom_error *err);

/* ---- export.c ---- */

/* One op of the table as plain C. Storage is in the arena of the graph whose table holds the
 * symbolic sizes. */
typedef struct loom_exported {
  loom_op_view view;
  loom_attr attrs[LOOM_MAX_ATTRS];
  uint32_t attr_count, result_count;
  loom_type *results;
} loom_exported;
bool loom_export_op(MlirOperation op, loom_graph *graph, loom_exported *out, loom_error *err);
/* The same, without results, from an op's parts: `attrs` is a dictionary. */
bool loom_export_operands(MlirStringRef name, intptr_t count, const MlirValue *operands,
                          MlirAttribute attrs, loom_graph *graph, loom_exported *out,
                          loom_error *err);

/* A function of one block of loom ops as a graph, which the caller frees in any case. */
bool loom_export(MlirOperation func, loom_graph *graph, loom_error *err);

/* ---- verify.c ---- */

/* Checks an op by the shape rules of graph/infer.c or its structure; emits a diagnostic on failure.
 */
MlirLogicalResult loom_verify_op(MlirOperation op);
/* The type of the one result of an op whose rule determines it. Emits a diagnostic on failure
 * unless `loc` is null. */
MlirLogicalResult loom_infer_types(MlirContext ctx, MlirLocation loc, MlirStringRef name,
                                   intptr_t count, const MlirValue *operands, MlirAttribute attrs,
                                   MlirType *out);

/* ---- verify_structure.c ---- */

bool loom_verify_structure(MlirOperation op);
/* The kernel that an apply or a launch names; null when it is not there. */
MlirOperation loom_find_kernel(MlirOperation op);

/* ---- effects.c: what the classes of loom.td forward ---- */

bool loom_is_effect_free(MlirOperation op);
/* May it run where it would not have run? Not if it raises a floating-point exception. */
bool loom_is_speculatable(MlirOperation op);

/* Looks a symbol up from an op; null when it is not there. */
typedef MlirOperation (*loom_lookup)(void *symbols, MlirOperation from, MlirAttribute name);
/* Does each symbol exist that the op names? */
MlirLogicalResult loom_verify_symbols(MlirOperation op, loom_lookup lookup, void *symbols);

int loom_branch_taken(MlirAttribute condition); /* 0: then; 1: else; -1: not known */
/* How many operands of a yield reach a block or a result. The operand of a condition's yield does
 * not: it only decides. */
intptr_t loom_yield_forwards(MlirOperation yield);
MlirLogicalResult loom_canonicalize(MlirOperation op, MlirRewriterBase rewriter);

/* ---- fold.c ---- */

typedef struct loom_folded {
  MlirValue value;         /* an existing value, or null */
  MlirAttribute attribute; /* a constant, or null; both null: no fold */
} loom_folded;

/* Folds one op. `constants` holds, for each operand, the attribute of the loom.constant that
 * defines it, or null. */
loom_folded loom_fold_op(MlirOperation op, intptr_t count, const MlirAttribute *constants);
bool loom_can_materialize(MlirAttribute value, MlirType type);

/* ---- scan.c ---- */

/* What keeps MLIR's recursive parser from taking this text, or NULL: nesting, NUL bytes, nothing
 * there. */
const char *loom_scan_text(const char *text, size_t size);

/* ---- input.c ---- */

/* Scans a tool's input file, "-" for standard input (which can be read again after it); reports on
 * stderr. Bytecode is read by another process, and its text is then the standard input
 * (`replaced`). */
bool loom_check_input(int argc, char *const *argv, const char *path, MlirDialectRegistry registry,
                      bool *replaced);
/* Is the option, without a value, on the command line? */
bool loom_has_option(int argc, char *const *argv, const char *name);

#ifdef __cplusplus
}
#endif
#endif
