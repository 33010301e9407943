/* Registration of the passes and the visible list of pipelines. */
#include <mlir-c/Conversion.h>
#include <mlir-c/Transforms.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/makers.h"
#include "passes/passes.h"

/* ---- the passes, stage by stage ---- */

void loom_add_front_passes(MlirOpPassManager manager) {
  mlirOpPassManagerAddOwnedPass(manager, loom_make_regions_pass());
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateTransformsCanonicalizer());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_sizes_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_complex_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_thin_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_forward_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_simplify_pass());
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateTransformsCanonicalizer());
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateTransformsCSE());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_scale_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_sums_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_attend_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_fuse_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_order_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_layout_pass());
}

void loom_add_kernel_passes(MlirOpPassManager manager) {
  mlirOpPassManagerAddOwnedPass(manager, loom_make_outline_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_keep_pass());
  mlirOpPassManagerAddOwnedPass(manager, loom_make_schedule_pass());
}

void loom_add_plan_passes(MlirOpPassManager manager) {
  mlirOpPassManagerAddOwnedPass(manager, loom_make_plan_pass());
}

void loom_add_lower_passes(MlirOpPassManager manager) {
  mlirOpPassManagerAddOwnedPass(manager, loom_make_lower_pass());
}

void loom_add_check_passes(MlirOpPassManager manager) {
  mlirOpPassManagerAddOwnedPass(manager, loom_make_check_pass());
}

void loom_add_llvm_passes(MlirOpPassManager manager) {
  /* One conversion for all dialects costs a third of one for each. */
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateConversionSCFToControlFlowPass());
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateConversionConvertToLLVMPass());
  mlirOpPassManagerAddOwnedPass(manager, mlirCreateConversionReconcileUnrealizedCastsPass());
}

/* ---- the pipelines: each from the graph on ---- */

static void pipeline_front(MlirOpPassManager manager) { loom_add_front_passes(manager); }

static void pipeline_kernel(MlirOpPassManager manager) {
  pipeline_front(manager);
  loom_add_kernel_passes(manager);
}

static void pipeline_plan(MlirOpPassManager manager) {
  pipeline_kernel(manager);
  loom_add_plan_passes(manager);
}

/* All passes from the graph to lowered kernels. */
static void loom_add_lower_pipeline(MlirOpPassManager manager) {
  pipeline_plan(manager);
  loom_add_lower_passes(manager);
}

static void pipeline_cpu(MlirOpPassManager manager) {
  loom_add_lower_pipeline(manager);
  loom_add_llvm_passes(manager);
}

static bool pipeline_stage(MlirModule module, const char *stage,
                           void (*add)(MlirOpPassManager manager), void *user) {
  MlirOperation op = mlirModuleGetOperation(module);
  MlirPassManager manager = mlirPassManagerCreate(mlirOperationGetContext(op));
  add(mlirPassManagerGetAsOpPassManager(manager));
  bool good = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, op));
  mlirPassManagerDestroy(manager);
  return good;
}

/* Does a module have a plan, and no kernel that is yet to be lowered? */
static bool pipeline_is_lowered(MlirBlock body) {
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_body(op).ptr) return false;
  return loom_next_plan(body, (MlirOperation){NULL}).ptr != NULL;
}

bool loom_lower_module(MlirModule module, const char *target, int vector_bits, bool check,
                       loom_stage_fn run, void *user) {
  MlirOperation op = mlirModuleGetOperation(module);
  MlirContext ctx = mlirOperationGetContext(op);
  loom_set_attr(op, loom_mark_target, loom_attr_str(ctx, target));
  loom_set_attr(op, loom_mark_vector, loom_attr_i64(ctx, vector_bits / 8));
  if (check) loom_set_attr(op, loom_mark_check, mlirUnitAttrGet(ctx));
  if (!run) run = pipeline_stage;
  if (pipeline_is_lowered(mlirModuleGetBody(module)))
    return (!check || run(module, "check", loom_add_check_passes, user)) &&
           run(module, "llvm", loom_add_llvm_passes, user);
  return run(module, "fuse", loom_add_front_passes, user) &&
         run(module, "schedule", loom_add_kernel_passes, user) &&
         run(module, "plan", loom_add_plan_passes, user) &&
         run(module, "lower", loom_add_lower_passes, user) &&
         (!check || run(module, "check", loom_add_check_passes, user)) &&
         run(module, "llvm", loom_add_llvm_passes, user);
}

/* ---- registration ---- */

static const struct {
  const char *flag, *summary;
  void (*build)(MlirOpPassManager manager);
} pipelines[] = {
    {"loom-front", "Graph to loom.fusion groups", pipeline_front},
    {"loom-kernels", "Graph to scheduled kernels", pipeline_kernel},
    {"loom-plans", "Graph to a plan and its kernels", pipeline_plan},
    {"loom-lowered", "Graph to a plan and lowered kernels", loom_add_lower_pipeline},
    {"loom-cpu", "Graph to a plan and kernels in the LLVM dialect", pipeline_cpu},
};

enum { PIPELINES = sizeof pipelines / sizeof *pipelines };

void loom_register_passes(void) {
#define LOOM_PASS(STEM, FLAG, SUMMARY) loom_register_pass(loom_make_##STEM##_pass);
#include "passes/passes.def"
#undef LOOM_PASS
  for (size_t i = 0; i < PIPELINES; i++)
    loom_register_pipeline(pipelines[i].flag, pipelines[i].summary, pipelines[i].build);
}

const char *loom_pass_flag(size_t index) {
#define LOOM_PASS(STEM, FLAG, SUMMARY) FLAG,
  static const char *const passes[] = {
#include "passes/passes.def"
  };
#undef LOOM_PASS
  const size_t count = sizeof passes / sizeof *passes;
  if (index < count) return passes[index];
  return index - count < PIPELINES ? pipelines[index - count].flag : NULL;
}
