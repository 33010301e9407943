/* loom-plan: gives buffers to values and writes the list of launches.
 *
 * before:
 *     func.func @main(%a: tensor<8xf32>) -> tensor<8xf32> {
 *       %0 = loom.apply @k0(%a) : ...
 *       %1 = loom.apply @k1(%0) : ...
 *       return %1
 *     }
 *
 * after:
 *     loom.plan @main {
 *     ^bb0(%a: memref<8xf32>, %out: memref<8xf32>):
 *       %t = loom.buffer offset = 0 : memref<8xf32>
 *       loom.launch @k0 ... (%a, %t)
 *       loom.launch @k1 ... (%t, %out)
 *     } {inputs = 1, consts = [], arena = 64}
 *
 * requires: loom-outline, and loom-schedule for `stages`, `scratch` and `slots` of the kernels.
 * Functions that loom-regions made get plans of their own, behind the main one; loom.control
 * becomes loom.run.
 *
 * keeps: order.
 *
 * breaks: the function is gone; its meaning is the plan's.
 *
 * A returned value is written straight into its output buffer by the kernel that computes it;
 * reshapes of whole buffers are the buffer itself. All else lives in one arena (plan_arena.c).
 */
#include <stdlib.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/passes.h"
#include "passes/plan.h"

bool plan_memory(plan_state *s) {
  return loom_emit_error(mlirOperationGetLocation(s->function), "out of memory");
}

MlirOperation plan_kernel(const plan_state *s, MlirOperation apply) {
  MlirAttribute name = loom_get_attr(apply, "kernel");
  if (!name.ptr || !mlirAttributeIsAFlatSymbolRef(name)) return (MlirOperation){NULL};
  MlirAttribute text = mlirStringAttrGet(s->ctx, mlirFlatSymbolRefAttrGetValue(name));
  return (MlirOperation){(void *)(intptr_t)loom_map_get(&s->kernels, text.ptr, 0)};
}

static bool plan_find_kernels(plan_state *s) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s->module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!loom_body(op).ptr) continue;
    if (!loom_map_put(&s->kernels, loom_get_attr(op, "sym_name").ptr, (intptr_t)op.ptr))
      return plan_memory(s);
  }
  return true;
}

/* What is around a region has not been grouped either, so that it is to be named first. */
static bool plan_check_regions(const plan_state *s) {
  for (MlirOperation op = mlirBlockGetFirstOperation(s->block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
    loom_opcode code;
    if (loom_opcode_of(op, &code) && mlirOperationGetNumRegions(op) > 0)
      return loom_emit_error(mlirOperationGetLocation(op),
                             "'%.*s' has regions: run loom-regions first", (int)name.length,
                             name.data);
  }
  return true;
}

static bool plan_function(MlirOperation module, MlirOperation function) {
  plan_state s = {.module = module, .function = function};
  s.ctx = mlirOperationGetContext(module);
  s.block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s.function, 0));
  MlirOperation terminator = mlirBlockGetTerminator(s.block);
  bool good = terminator.ptr && loom_is_named(terminator, "func.return") &&
              mlirBlockIsNull(mlirBlockGetNextInRegion(s.block));
  if (!good)
    loom_emit_error(mlirOperationGetLocation(s.function), "a plan needs a function of one block");
  good = good && plan_check_regions(&s) && plan_find_late(&s) && plan_find_kernels(&s) &&
         plan_find_storages(&s);
  if (good) plan_bind_outputs(&s, terminator);
  good = good && plan_place(&s);
  if (good) plan_explain(&s);
  good = good && plan_find_trims(&s) && plan_make(&s, terminator) && plan_write(&s, terminator);
  if (good && loom_get_attr(function, loom_mark_region).ptr)
    loom_set_attr(s.plan, loom_mark_region, mlirUnitAttrGet(s.ctx));
  loom_map_fini(&s.storage_of);
  loom_map_fini(&s.kept_of);
  loom_map_fini(&s.kernels);
  free(s.storages);
  free(s.trims);
  loom_late_fini(&s.late);
  return good;
}

/* The functions go when all have their plans: the next one is looked for behind the last. */
static bool plan_run(MlirOperation module) {
  bool good = true;
  for (MlirOperation f = loom_next_function(module, (MlirOperation){NULL}); f.ptr && good;
       f = loom_next_function(module, f))
    good = plan_function(module, f);
  MlirOperation main = loom_main_function(module);
  for (MlirOperation f = main, next; f.ptr && good; f = next) {
    next = loom_next_function(module, f);
    if (!mlirOperationEqual(f, main)) mlirOperationDestroy(f);
  }
  if (good && main.ptr) mlirOperationDestroy(main);
  return good;
}

MlirPass loom_make_plan_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomPlan",
      .flag = "loom-plan",
      .summary = "Give buffers to values: a loom.plan of launches",
      .root = "builtin.module",
      .run = plan_run,
      .counters = {[PLAN_COUNT_BUFFERS] = {"buffers", "buffers of the arena"},
                   [PLAN_COUNT_BYTES] = {"bytes", "bytes of them all"},
                   [PLAN_COUNT_SAVED] = {"saved", "bytes saved by sharing the arena"}}};
  return loom_pass_of(&spec);
}
