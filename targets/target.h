/* The targets: from a module in the LLVM dialect to objects, assembly and mapped code. Knows MLIR
 * and LLVM-C, never Python. Sections by file: target.c, legal.c, emit.c, gpu.c, x86/image.c,
 * serialize.c, plan_bytes.c, device_image.c, nvptx/emit.c, nvptx/ptxas.c,
 * amdgpu/emit.c, amdgpu/image.c.
 */
#ifndef LOOM_TARGET_H
#define LOOM_TARGET_H

#include <llvm-c/TargetMachine.h>
#include <mlir-c/IR.h>
#include <stdbool.h>
#include <stdint.h>

#include "graph/graph.h"
#include "runtime/plan_format.h"

/* ---- target.c: one row of targets.def each --------------------------------------------------- */

typedef struct loom_target_options {
  const char
      *cpu;   /* "native" (or NULL) for this machine, else a name that LLVM knows for the target */
  bool quiet; /* floating-point flags need not survive */
  bool quick; /* code for x86 is generated without optimizing it */
  bool here; /* the code runs in this process, which has asked the system for what "native" means */
  const struct loom_target *machine; /* of code that runs in the process; NULL: x86 */
  struct loom_gpu_table *gpu;        /* of code for a GPU: gets its stages; may be NULL */
} loom_target_options;

/* The target of code that runs in the process. */
const struct loom_target *loom_target_here(const loom_target_options *options);

/* What a CPU name means for LLVM. */
typedef struct loom_target_cpu {
  char name[64];
  const char *features; /* static storage */
  uint64_t needs;       /* LOOM_CPU_* bits that running the code needs (x86) */
  uint32_t vector_bits; /* width of the vector unit; 0: one lane is one thread */
  const char *matrix; /* instructions on matrices: "mma", "mfma", ... (passes/gpu_matrix.c); on x86
                         "amx" or "bf16" (passes/dot_pairs.c); NULL: none */
  bool quiet, quick;  /* of the options */
  struct loom_gpu_table *gpu;
} loom_target_cpu;

typedef struct loom_target {
  const char *name, *triple, *summary;
  uint32_t bit; /* in legal.def */
  void (*init)(void);
  bool (*resolve)(const loom_target_options *options, loom_target_cpu *out, loom_error *err);
  /* Marks entry points and globals once the module is LLVM IR. */
  void (*prepare)(LLVMModuleRef module, const loom_target_cpu *cpu);
  /* Behind LLVM's passes, before code is generated. May be NULL. */
  void (*finish)(LLVMModuleRef module, const loom_target_cpu *cpu);
  const char *late; /* passes of LLVM behind that, or NULL */
} loom_target;

/* NULL for a name that is in no row. */
const loom_target *loom_target_find(const char *name);
/* The target and the CPU that code for a GPU of this architecture ("sm_87", "gfx90a") is made for.
 * NULL: none can be made. */
const loom_target *loom_target_for(const char *architecture, const char **cpu);
/* The CPU that `options` name for this target. Never fails for "native" on x86. */
bool loom_target_resolve(const loom_target *target, const loom_target_options *options,
                         loom_target_cpu *out, loom_error *err);

#define LOOM_TARGET(NAME) extern const loom_target loom_target_##NAME;
#include "targets/targets.def"
#undef LOOM_TARGET

/* ---- legal.c --------------------------------------------------------------------------------- */

/* Only ops, types and intrinsics of legal.def may reach LLVM, which aborts the process on some that
 * it cannot select. Emits a diagnostic at each op that is not allowed; `err` gets the first. */
bool loom_legal_check(const loom_target *target, const loom_target_cpu *cpu, MlirModule module,
                      loom_error *err);

/* ---- emit.c ---------------------------------------------------------------------------------- */

typedef enum loom_emit_kind {
  LOOM_EMIT_OBJECT,
  LOOM_EMIT_ASSEMBLY,
  LOOM_EMIT_LLVM,       /* LLVM IR that code is made of */
  LOOM_EMIT_TRANSLATION /* LLVM IR in front of LLVM's passes */
} loom_emit_kind;

/* Translates a module of the LLVM dialect, optimises it lightly and emits it. The module is left as
 * it was. `out` is malloc'ed; text has no NUL at its end. A fatal error of LLVM becomes `err`.
 * Thread-safe. */
bool loom_target_emit(const loom_target *target, MlirModule module,
                      const loom_target_options *options, loom_emit_kind kind, loom_bytes *out,
                      loom_error *err);

/* The same in two steps, for a module that is legal: what MLIR knows is read by the first, which
 * may fail; the second may run on any thread, one emission on each, and frees the emission.
 * `loom_emission_drop` frees one (or NULL) that is not to be ended. */
typedef struct loom_emission loom_emission;
bool loom_emission_begin(const loom_target *target, MlirModule module, const loom_target_cpu *cpu,
                         loom_emit_kind kind, loom_emission **out, loom_error *err);
bool loom_emission_end(loom_emission *emission, loom_bytes *out, loom_error *err);
void loom_emission_drop(loom_emission *emission);

/* ---- gpu.c ----------------------------------------------------------------------------------- */

#define LOOM_GPU_GROUP 256 /* threads of a block whose threads run a chunk each */

/* Attributes of a stage that is written for blocks: threads of a block, bytes of shared memory,
 * blocks that a multiprocessor is to have registers for at once. */
#define LOOM_GPU_THREADS "loom-gpu-threads"
#define LOOM_GPU_SHARED "loom-gpu-shared"
#define LOOM_GPU_BLOCKS "loom-gpu-blocks"
/* Parts of buffers that a stage copies boxes of: for each its numbers (gpu.c: gpu_maps). */
#define LOOM_GPU_MAPS "loom-gpu-maps"

typedef struct loom_gpu_stage {
  const char *name;
  bool blocks; /* a chunk is a block's work, not a thread's */
  int threads, shared;
  uint32_t buffers, params; /* words of the lists that an entry point gets by value */
  uint32_t map_count;
  loom_tensor_map maps[LOOM_MAP_MOST];
} loom_gpu_stage;

/* The stages of a module, as launches need them. */
typedef struct loom_gpu_row {
  char name[128];
  uint32_t threads, flags; /* LOOM_PLAN_KERNEL_* */
  uint32_t shared;         /* bytes of shared memory */
  uint32_t buffers, params;
  uint32_t map_count;
  loom_tensor_map maps[LOOM_MAP_MOST]; /* their kernel is not set */
} loom_gpu_row;

typedef struct loom_gpu_table {
  loom_gpu_row *rows;
  uint32_t count, capacity;
  uint32_t plan;   /* loom_plan_target of the code */
  const char *why; /* NULL, or why there is no code for a launch */
} loom_gpu_table;

/* Bytes of shared memory that a launch gives a stage: what it has not of its own. */
static inline uint32_t loom_gpu_given(const loom_gpu_row *row) {
  return row->shared > LOOM_PLAN_STATIC ? row->shared : 0;
}

/* A function of passes/gpu.def in IR. */
#define LOOM_GPU_TEXT(NAME, RESULT, PARAMETERS, BODY)                                              \
  "define hidden " RESULT " @loom_gpu_" #NAME "(" PARAMETERS ") alwaysinline convergent {\n" BODY  \
  "\n}\n"

typedef struct loom_gpu_names {
  const char *const *primitives; /* each as a LOOM_GPU_TEXT; NULL: they stay calls */
  /* An attribute of entry points that fixes the block's size, and its text by two numbers; or NULL.
   */
  const char *size_attribute, *size_format;
  const char *blocks_attribute; /* one for the blocks of a multiprocessor, or NULL */
  unsigned calling_convention;
  const char *lists; /* the attribute of arguments by value; NULL: the lists are in memory */
  void (*entry)(LLVMValueRef function, const loom_gpu_stage *stage); /* may be NULL */
} loom_gpu_names;

/* Puts a GPU entry point around every stage of a module. */
void loom_gpu_entries(LLVMModuleRef module, const loom_target_cpu *cpu,
                      const loom_gpu_names *names);
/* Pointers that a kernel gets, and those that it loads, are of device memory: says so, for LLVM's
 * infer-address-spaces. Behind all that would drop such a cast. */
void loom_gpu_globals(LLVMModuleRef module, const loom_target_cpu *cpu);
/* Is it a function of passes/gpu.def, and does this target have it? */
bool loom_gpu_is_primitive(const char *name);
bool loom_gpu_has_primitive(const loom_target *target, const char *name);

/* ---- x86/image.c: from an object to position-independent code -------------------------------- */

typedef struct loom_entry {
  char *name;
  uint32_t offset; /* from the start of the image's code */
} loom_entry;

typedef struct loom_entries {
  loom_entry *items;
  size_t count;
} loom_entries;

void loom_entries_fini(loom_entries *entries);
/* Offset of an entry by name, or -1. */
int64_t loom_entries_find(const loom_entries *entries, const char *name);

/* Lays out x86-64 ELF objects as one image (runtime.h: loom_image_header). Functions that are
 * global in an object become entries. Undefined symbols must be rows of runtime/support.def: an
 * object refers to no other. */
bool loom_x86_link(const loom_bytes *objects, size_t count, loom_bytes *image,
                   loom_entries *entries, loom_error *err);

/* x86/fence.c: inserts what keeps LLVM from folding floating-point flags away. */
void loom_x86_fence(LLVMModuleRef module, const loom_target_cpu *cpu);

/* Does a comparison raise "invalid" for NaN, as the library does? (passes/lanes.c: lane_signals) */
bool loom_x86_signals(LLVMValueRef comparison);

/* x86/halves.c: converts single halves without lanes that are nobody's, for a CPU with F16C. */
void loom_x86_halves(LLVMModuleRef module);

/* x86/quiet.c: exchanges what would raise floating-point flags that no operation of the user's
 * raises. Nothing may optimise the module behind it. */
void loom_x86_quiet(LLVMModuleRef module, const loom_target_cpu *cpu);

/* x86/parts.c: loom_target_emit and loom_x86_link in one, what the compiler library does, for x86
 * or the simulator. Functions are divided among threads; a private function is used by the next
 * public one and by no other. */
bool loom_x86_emit(MlirModule module, const loom_target_options *options, loom_bytes *image,
                   loom_entries *entries, loom_error *err);

/* ---- serialize.c -------------------------------------------------------------------------------
 */

/* The bytes of a plan from a loom.plan, those of its regions behind it, and the image of all their
 * kernels. `gpu`: the kernels' stages, NULL for x86. `features`: LOOM_CPU_* bits that the code
 * needs. `out` is malloc'ed. */
bool loom_plan_serialize(const MlirOperation *plans, intptr_t count, const loom_bytes *image,
                         const loom_entries *entries, const loom_gpu_table *gpu, uint64_t features,
                         loom_bytes *out, loom_error *err);

/* ---- plan_bytes.c --------------------------------------------------------------------------- */

/* The bytes of the plans of a module whose kernels are in the LLVM dialect, with x86 code. The
 * plans leave the module, and `out` is malloc'ed. Not in a pass: it has the table of sizes open. */
bool loom_plan_bytes(MlirModule module, const loom_target_options *options, loom_bytes *out,
                     loom_error *err);
/* The same with code for a GPU. `simulated`: and code for the driver of the tests
 * (runtime/device_code.h). */
bool loom_plan_device_bytes(MlirModule module, const loom_target *target,
                            const loom_target_options *options, bool simulated, loom_bytes *out,
                            loom_error *err);

/* ---- device_image.c -------------------------------------------------------------------------- */

/* PTX or a code object, with a NUL at its end, malloc'ed, and its stages. */
bool loom_device_image(MlirModule module, const loom_target *target,
                       const loom_target_options *options, bool simulated, loom_bytes *out,
                       loom_gpu_table *stages, loom_error *err);
/* Writes code of the same stages for this machine behind an image, for the drivers of the tests. */
bool loom_device_simulated(MlirModule module, const loom_gpu_table *stages, loom_bytes *out,
                           loom_error *err);

/* ---- nvptx/emit.c ---------------------------------------------------------------------------- */

/* The newest architecture that code for a device of this one ("sm_87") can be made for; NULL. */
const char *loom_nvptx_for(const char *architecture);

/* ---- nvptx/ptxas.c ----------------------------------------------------------------------------
 */

/* A cubin of PTX for the architecture that `options` name, malloc'ed, by the program ptxas. */
bool loom_nvptx_assemble(const loom_target_options *options, const loom_bytes *ptx, loom_bytes *out,
                         loom_error *err);

/* ---- nvptx/round.c --------------------------------------------------------------------------- */

/* Rounds to bfloat16 by the instruction that sm_80 has. */
void loom_nvptx_round(LLVMModuleRef module);

/* ---- amdgpu/emit.c, amdgpu/image.c ----------------------------------------------------------- */

/* The same architecture where code can be made for it, else NULL: none runs the code of another. */
const char *loom_amdgpu_for(const char *architecture);
/* A code object, malloc'ed, of one ELF object for AMDGPU. */
bool loom_amdgpu_link(const loom_bytes *object, loom_bytes *out, loom_error *err);
/* loom_target_emit and that in one. */
bool loom_amdgpu_emit(MlirModule module, const loom_target_options *options, loom_bytes *out,
                      loom_error *err);

#endif
