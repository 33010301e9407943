/* Calls of functions that a target or the runtime has (gpu.def). */
#include "passes/alone.h"
#include "passes/gpu.h"

static MlirOperation call_module(MlirOperation op) {
  while (!loom_is_named(op, "builtin.module"))
    op = mlirOperationGetParentOperation(op);
  return op;
}

static bool call_is_declared(MlirBlock body, const char *name) {
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && loom_str_is(loom_get_str(op, "sym_name"), name))
      return true;
  return false;
}

static void call_declare(const loom_builder *b, MlirOperation inside, const char *name,
                         MlirType type) {
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(call_module(inside), 0));
  if (call_is_declared(body, name)) return;
  loom_builder at = loom_builder_at_end(body, mlirLocationUnknownGet(b->ctx));
  MlirRegion region = mlirRegionCreate();
  loom_named attrs[] = {{"sym_name", loom_attr_str(b->ctx, name)},
                        {"function_type", mlirTypeAttrGet(type)},
                        {"sym_visibility", loom_attr_str(b->ctx, "private")}};
  loom_build_regions(&at, "func.func", 0, NULL, 0, NULL, 3, attrs, 1, &region);
}

MlirValue gpu_call(loom_builder *b, MlirOperation inside, const char *name, intptr_t count,
                   const MlirType *types, const MlirValue *operands, MlirType result) {
  intptr_t results = result.ptr != NULL;
  call_declare(b, inside, name, mlirFunctionTypeGet(b->ctx, count, types, results, &result));
  loom_named callee = {"callee", mlirFlatSymbolRefAttrGet(b->ctx, loom_str(name))};
  MlirOperation call = loom_build(b, "func.call", count, operands, results, &result, 1, &callee);
  return results ? loom_result(call, 0) : (MlirValue){NULL};
}

MlirValue gpu_thread(lower *l) {
  loom_builder b = lower_at_level(l, l->depth);
  MlirType i32 = mlirIntegerTypeGet(b.ctx, 32), i64 = mlirIntegerTypeGet(b.ctx, 64);
  MlirValue thread = gpu_call(&b, l->kernel->op, "loom_gpu_thread", 0, NULL, NULL, i32);
  l->team.size = GPU_BLOCK;
  return loom_build1(&b, "arith.extui", thread, i64);
}

void gpu_barrier(lower *l, loom_builder *b) {
  MlirType i32 = mlirIntegerTypeGet(b->ctx, 32);
  MlirValue site = loom_build_int(b, i32, l->team.sites++);
  const char *name = l->team.part ? "loom_gpu_barrier_part" : "loom_gpu_barrier";
  gpu_call(b, l->kernel->op, name, 1, &i32, &site, (MlirType){NULL});
}

MlirValue gpu_shared(lower *l, loom_builder *b, int bytes) {
  MlirType ptr = mlirTypeParseGet(b->ctx, loom_str("!llvm.ptr"));
  if (bytes > l->team.shared) l->team.shared = bytes;
  return gpu_call(b, l->kernel->op, "loom_gpu_shared", 0, NULL, NULL, ptr);
}

int64_t gpu_blocks(int64_t elements) { return loom_num_ceil(elements, GPU_BLOCK); }

void gpu_each(lower *l, int64_t elements, MlirValue *at, lower_body body, void *user) {
  *at = alone_add_scaled(l, gpu_thread(l), l->begin, GPU_BLOCK);
  MlirValue total = alone_const(l, elements);
  loom_builder b = alone_here(l);
  lower_if(l, lane_cmpi(&b, "slt", *at, total), body, user);
}
