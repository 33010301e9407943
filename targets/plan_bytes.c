/* A module of plans and of kernels in the LLVM dialect as the bytes of a plan. */
#include <stdlib.h>

#include "dialects/ir.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "targets/target.h"

/* Takes the plans out of the module: the main one, then those of its regions. */
static MlirOperation *bytes_take_plans(MlirModule module, intptr_t *count, loom_error *err) {
  MlirBlock body = mlirModuleGetBody(module);
  MlirOperation none = {NULL};
  intptr_t all = 0;
  for (MlirOperation op = loom_next_plan(body, none); op.ptr; op = loom_next_plan(body, op))
    all++;
  MlirOperation *plans = calloc((size_t)all + 1, sizeof *plans);
  *count = 0;
  if (!plans || !all)
    return free(plans), loom_fail(err, all ? "out of memory" : "the pipeline made no plan"), NULL;
  for (MlirOperation op = loom_next_plan(body, none), next; op.ptr; op = next) {
    next = loom_next_plan(body, op);
    mlirOperationRemoveFromParent(op);
    plans[(*count)++] = op;
  }
  return plans;
}

/* The texts of the accesses of checked kernels go into the main plan. */
static void bytes_take_sites(MlirOperation module, MlirOperation plan) {
  static const char *const names[] = {loom_mark_sites, loom_mark_site_buffers,
                                      loom_mark_site_bytes};
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    MlirAttribute value = loom_get_attr(module, names[i]);
    if (!value.ptr) continue;
    loom_set_attr(plan, names[i], value);
    mlirOperationRemoveAttributeByName(module, loom_str(names[i]));
  }
}

/* `target` and `table`: for a GPU; NULL for x86. */
static bool bytes_make(MlirModule module, const loom_target *target,
                       const loom_target_options *options, bool simulated, loom_gpu_table *table,
                       loom_bytes *out, loom_error *err) {
  intptr_t count;
  loom_target_cpu cpu = {.needs = 0};
  MlirOperation op = mlirModuleGetOperation(module);
  if (!table && !loom_target_resolve(loom_target_here(options), options, &cpu, err)) return false;
  MlirOperation *plans = bytes_take_plans(module, &count, err);
  if (!plans) return false;
  bytes_take_sites(op, plans[0]);
  loom_bytes image = {NULL, 0};
  loom_entries entries = {NULL, 0};
  bool empty = !mlirBlockGetFirstOperation(mlirModuleGetBody(module)).ptr;
  bool good =
      empty || (table ? loom_device_image(module, target, options, simulated, &image, table, err)
                      : loom_x86_emit(module, options, &image, &entries, err));
  if (good) {
    good = loom_sizes_enter(op) &&
           loom_plan_serialize(plans, count, &image, &entries, table, cpu.needs, out, err);
    loom_sizes_leave(op);
  }
  if (!good && !err->message[0]) loom_fail(err, "emission failed");
  loom_entries_fini(&entries);
  free(image.data);
  for (intptr_t i = 0; i < count; i++)
    mlirOperationDestroy(plans[i]);
  free(plans);
  return good;
}

bool loom_plan_bytes(MlirModule module, const loom_target_options *options, loom_bytes *out,
                     loom_error *err) {
  return bytes_make(module, NULL, options, false, NULL, out, err);
}

bool loom_plan_device_bytes(MlirModule module, const loom_target *target,
                            const loom_target_options *options, bool simulated, loom_bytes *out,
                            loom_error *err) {
  loom_gpu_table table = {.plan =
                              target == &loom_target_amdgpu ? LOOM_PLAN_AMDGPU : LOOM_PLAN_NVPTX};
  bool good = bytes_make(module, target, options, simulated, &table, out, err);
  free(table.rows);
  return good;
}
