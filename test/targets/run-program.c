#include "run-program.h"

#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Pass.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/passes.h"
#include "targets/program.h"

static MlirOperation first_plan(MlirModule module) {
  MlirOperation op = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  while (op.ptr && !loom_is(op, LOOM_OP_PLAN))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

static void shrink(MlirOperation plan, run_program_check *check) {
  int64_t extents[256];
  int at = check->shrunk;
  intptr_t count = loom_get_i64s(plan, loom_mark_extents, extents, 256);
  check->bounds = at < count && at < 256 && extents[at | 1] > 0;
  if (!check->bounds) return;
  extents[at | 1]--;
  if (!(at & 1)) extents[at]++;
  loom_set_attr(plan, loom_mark_extents,
                loom_attr_i64s(mlirOperationGetContext(plan), count, extents));
}

/* Kernels keep their names: there is one program only. */
static bool entry(MlirModule module, run_program_check *check, int64_t *bytes) {
  MlirOperation op = mlirModuleGetOperation(module), plan = first_plan(module);
  bool ok = loom_sizes_enter(op);
  for (MlirOperation f = mlirBlockGetFirstOperation(mlirModuleGetBody(module)); f.ptr;
       f = mlirOperationGetNextInBlock(f)) {
    char name[600];
    MlirStringRef own = loom_get_str(f, "sym_name");
    if (!loom_is_named(f, "llvm.func") || loom_get_attr(f, "sym_visibility").ptr) continue;
    snprintf(name, sizeof name, "program_%.*s", (int)own.length, own.data);
    loom_set_attr(f, "sym_name", loom_attr_str(mlirOperationGetContext(op), name));
  }
  if (ok && plan.ptr && check->shrunk >= 0) shrink(plan, check);
  ok = ok && plan.ptr && loom_program_workspace(plan, bytes) &&
       loom_program_entry(module, plan, "program");
  while ((plan = first_plan(module)).ptr)
    mlirOperationDestroy(plan);
  loom_sizes_leave(op);
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_symbols));
  mlirOperationRemoveAttributeByName(op, loom_str(loom_mark_exprs));
  return ok;
}

static const uint8_t *find(const run_program *p, const loom_entries *entries, const char *name) {
  int64_t offset = loom_entries_find(entries, name);
  return offset < 0 ? NULL : p->image.base + offset;
}

static bool emit(MlirModule module, const loom_target_options *options, run_program *out,
                 loom_error *err) {
  loom_bytes object = {NULL, 0}, image = {NULL, 0};
  loom_entries entries = {NULL, 0};
  bool ok = loom_target_emit(&loom_target_x86, module, options, LOOM_EMIT_OBJECT, &object, err) &&
            loom_x86_link(&object, 1, &image, &entries, err) &&
            loom_image_map(image.data, image.size, &out->image, err);
  if (ok) {
    out->entry = find(out, &entries, "program");
    out->workspace = find(out, &entries, "program_workspace");
    out->violation = find(out, &entries, "program_violation");
    ok = out->entry || loom_fail(err, "no entry");
  }
  loom_entries_fini(&entries);
  free(image.data);
  free(object.data);
  return ok;
}

bool run_program_make(const loom_graph *graph, const char *cpu, run_program_check *check,
                      run_program *out, loom_error *err) {
  loom_target_options options = {.cpu = cpu};
  loom_target_cpu resolved;
  memset(out, 0, sizeof *out);
  if (!loom_target_resolve(&loom_target_x86, &options, &resolved, err)) return false;
  MlirDialectRegistry registry = mlirDialectRegistryCreate();
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__loom__(), registry);
  mlirDialectHandleInsertDialect(mlirGetDialectHandle__func__(), registry);
  loom_register_conversions(registry);
  MlirContext ctx = mlirContextCreateWithRegistry(registry, false);
  mlirDialectRegistryDestroy(registry);
  mlirContextLoadAllAvailableDialects(ctx);
  MlirModule module = {NULL};
  bool ok = loom_import(ctx, graph, &module, err) &&
            (loom_lower_module(module, "x86", resolved.vector_bits, check->wanted, NULL, NULL) ||
             loom_fail(err, "the pipeline failed")) &&
            (entry(module, check, &out->bytes) || loom_fail(err, "no program")) &&
            emit(module, &options, out, err);
  if (module.ptr) mlirModuleDestroy(module);
  mlirContextDestroy(ctx);
  return ok;
}

int run_program_call(const run_program *p, const int64_t *sizes, const void *const *inputs,
                     void *const *outputs, loom_error *err) {
  const char *(*violation)(const void *, const void **);
  int (*plain)(const void *const *, void *const *, void *);
  int (*sized)(const int64_t *, const void *const *, void *const *, void *);
  int64_t (*workspace)(const int64_t *);
  memcpy(&plain, &p->entry, sizeof plain);
  memcpy(&sized, &p->entry, sizeof sized);
  memcpy(&workspace, &p->workspace, sizeof workspace);
  memcpy(&violation, &p->violation, sizeof violation);
  int64_t bytes = p->workspace ? workspace(sizes) : p->bytes;
  void *memory = aligned_alloc(64, ((size_t)bytes + 127) / 64 * 64);
  if (!memory) return -1;
  memset(memory, 0x5a, (size_t)bytes);
  int status =
      p->workspace ? sized(sizes, inputs, outputs, memory) : plain(inputs, outputs, memory);
  const void *address = NULL;
  const char *text = p->violation ? violation(memory, &address) : NULL;
  if (text || status & (int)LOOM_STATUS_BOUNDS)
    loom_fail(err, "status %d, %s at %p", status, text ? text : "nothing", address);
  if (text && (!(status & (int)LOOM_STATUS_BOUNDS) || violation(memory, NULL) != text)) status = -2;
  free(memory);
  return status;
}

void run_program_fini(run_program *p) {
  if (p->entry) loom_image_unmap(&p->image);
}
