/* The compiler library's only entry points: what the Python extension finds with dlsym after
 * opening the library. */
#ifndef LOOM_COMPILER_H
#define LOOM_COMPILER_H

#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"

#define LOOM_COMPILER_ABI 7

typedef struct loom_compile_options {
  const char *cpu;              /* "native", "x86-64-v3", "x86-64-v4"; NULL: native */
  const char *device;           /* a GPU's architecture ("sm_90") in place of a CPU; NULL: none */
  bool simulated;               /* with `device`: the driver of the tests will run it */
  const char *trace_dir;        /* where every stage's IR is written, or NULL */
  bool fastmath;                /* contraction and reassociation allowed */
  bool open_sums;               /* sums of arrays may be added up in any order */
  bool tf32;                    /* products of f32 on a GPU may round their operands to TF32 */
  bool check;                   /* kernels compare every access with the bounds of its buffer */
  bool quick;                   /* LLVM generates code for x86 without optimizing it */
  bool quiet;                   /* nobody asks which floating-point exceptions were raised */
  _Atomic(const char *) *phase; /* where the stage's name goes, for other threads; or NULL */
} loom_compile_options;

/* What a compilation cost and made, for logs and reports. */
typedef struct loom_compile_info {
  uint32_t ops, fusions, kernels;
  bool unchecked; /* it failed because a kernel cannot be checked */
  double import_ms, passes_ms, lower_ms, emit_ms, total_ms;
} loom_compile_info;

/* Returns LOOM_COMPILER_ABI of this library. */
typedef int (*loom_compiler_abi_fn)(void);
/* Compiles a graph to the bytes of a plan (runtime/runtime.h). Thread-safe. `info` may be NULL. */
typedef bool (*loom_compiler_compile_fn)(const loom_graph *graph,
                                         const loom_compile_options *options, loom_bytes *out,
                                         loom_compile_info *info, loom_error *err);

/* Exported names: all else of the library is hidden (exports.map). */
#define LOOM_EXPORT __attribute__((visibility("default")))
LOOM_EXPORT int loom_compiler_abi(void);
LOOM_EXPORT bool loom_compiler_compile(const loom_graph *graph, const loom_compile_options *options,
                                       loom_bytes *out, loom_compile_info *info, loom_error *err);

#endif
