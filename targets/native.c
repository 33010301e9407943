/* Lowered kernels as machine code in this process, for loom-interpret: a copy of what a call needs
 * of the module becomes the bytes of a plan, as in a compilation, and the runtime runs them. */
#include "targets/native.h"

#include <mlir-c/Pass.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>

#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/interpret.h"
#include "passes/passes.h"
#include "runtime/runtime.h"
#include "targets/target.h"

/* Is `name` that of a stage of the kernel, or of the stage's body? */
static bool native_is_stage(MlirStringRef name, MlirStringRef kernel) {
  if (name.length < kernel.length + 3 || memcmp(name.data, kernel.data, kernel.length))
    return false;
  const char *at = name.data + kernel.length, *end = name.data + name.length;
  if (memcmp(at, "_s", 2)) return false;
  for (at += 2; at < end && *at >= '0' && *at <= '9';)
    at++;
  return at == end || (end - at == 5 && memcmp(at, "_body", 5) == 0);
}

typedef struct native_launches {
  MlirStringRef name; /* of a function */
  bool found;         /* is it a stage of a kernel that is launched? */
} native_launches;

static MlirWalkResult native_launch(MlirOperation op, void *user) {
  native_launches *l = user;
  if (!loom_is(op, LOOM_OP_LAUNCH)) return MlirWalkResultAdvance;
  MlirStringRef kernel = mlirFlatSymbolRefAttrGetValue(loom_get_attr(op, "kernel"));
  l->found = native_is_stage(l->name, kernel);
  return l->found ? MlirWalkResultInterrupt : MlirWalkResultAdvance;
}

/* Goes the operation along with the plan `root`? Plans of regions and what is no root do. */
static bool native_goes_along(MlirOperation op, MlirStringRef root) {
  bool region = loom_get_attr(op, loom_mark_region).ptr != NULL;
  if (!loom_is(op, LOOM_OP_PLAN)) return !interpret_is_root(op) && !region;
  return region || mlirStringRefEqual(loom_get_str(op, "sym_name"), root);
}

static MlirBlock native_body(MlirOperation module) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
}

/* Is a stage of this name launched by a plan that goes along, or by one that does not? */
static bool native_is_launched(const interpret_call *c, MlirStringRef name, bool along) {
  native_launches l = {.name = name};
  MlirStringRef root = loom_get_str(c->root, "sym_name");
  for (MlirOperation op = mlirBlockGetFirstOperation(native_body(c->module)); op.ptr && !l.found;
       op = mlirOperationGetNextInBlock(op))
    if (!loom_get_attr(op, "function_type").ptr && native_goes_along(op, root) == along)
      mlirOperationWalk(op, native_launch, &l, MlirWalkPreOrder);
  return l.found;
}

/* A module of its own for the call: with the plan, those of regions, and lowered functions but
 * those that only other plans launch. Nothing else is copied. */
static MlirModule native_copy(const interpret_call *c) {
  MlirModule module = mlirModuleCreateEmpty(mlirOperationGetLocation(c->module));
  MlirOperation top = mlirModuleGetOperation(module);
  for (intptr_t i = 0; i < mlirOperationGetNumAttributes(c->module); i++) {
    MlirNamedAttribute named = mlirOperationGetAttribute(c->module, i);
    mlirOperationSetAttributeByName(top, mlirIdentifierStr(named.name), named.attribute);
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(native_body(c->module)); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    MlirStringRef name = loom_get_str(op, "sym_name");
    if (native_goes_along(op, loom_get_str(c->root, "sym_name")) &&
        (!name.length || !native_is_launched(c, name, false) || native_is_launched(c, name, true)))
      mlirBlockAppendOwnedOperation(mlirModuleGetBody(module), mlirOperationClone(op));
  }
  return module;
}

static bool native_convert(MlirModule module, loom_error *err) {
  MlirOperation op = mlirModuleGetOperation(module);
  MlirPassManager manager = mlirPassManagerCreate(mlirOperationGetContext(op));
  loom_add_llvm_passes(mlirPassManagerGetAsOpPassManager(manager));
  bool good = mlirLogicalResultIsSuccess(mlirPassManagerRunOnOp(manager, op));
  mlirPassManagerDestroy(manager);
  return good || loom_fail(err, "the kernels cannot be brought to the LLVM dialect");
}

static bool native_status(uint32_t status, const loom_violation *violation, loom_error *err) {
  if (status & LOOM_STATUS_BOUNDS) return loom_fail(err, "%.400s", violation->text);
  if (status & LOOM_STATUS_INDEX) return loom_fail(err, "an index is out of bounds");
  if (status & LOOM_STATUS_HOST) return loom_fail(err, "a host call needs its library");
  return !(status & ~15u) || loom_fail(err, "the plan stopped with status %#x", status);
}

static int native_host(void *context, const loom_host_call *call) {
  (void)context;
  (void)call;
  return 1;
}

bool loom_native_call(const interpret_call *c, loom_plan *plan, void *const *inputs,
                      void *const *outputs, loom_error *err) {
  uint64_t *scalars = calloc(c->input_count + 1u, sizeof *scalars);
  loom_violation violation;
  if (!scalars) return loom_fail(err, "out of memory");
  const loom_plan_header *h = loom_plan_header_of(plan);
  bool good = (h->input_count == c->input_count && h->output_count == c->output_count &&
               h->symbol_count <= c->symbol_count) ||
              loom_fail(err, "the plan takes or gives something else");
  for (uint32_t i = 0, scalar = 0; good && i < c->input_count; i++) {
    uint32_t kind = loom_plan_kind_of_input(plan, i);
    if (kind == LOOM_PLAN_CONST) loom_plan_set_const(plan, i, inputs[i]);
    if (kind == LOOM_PLAN_SCALAR)
      memcpy(&scalars[scalar++], inputs[i], loom_dtype_size(c->inputs[i].declared.dtype));
  }
  loom_call call = {.inputs = inputs,
                    .scalars = scalars,
                    .outputs = outputs,
                    .symbols = c->symbols,
                    .host = native_host,
                    .violation = &violation};
  good = good && native_status(loom_plan_run(plan, &call), &violation, err);
  free(scalars);
  return good;
}

/* The bytes of a plan enter a table of sizes of their own: that of a pass around is read again. */
static bool native_bytes(MlirOperation around, MlirModule module,
                         const loom_target_options *options, loom_bytes *out, loom_error *err) {
  bool open = loom_sizes() != NULL;
  if (open) loom_sizes_leave(around);
  bool good = loom_plan_bytes(module, options, out, err);
  return (!open || loom_sizes_enter(around)) && good;
}

loom_plan *loom_native_load(const interpret_call *c, const loom_target_options *options,
                            loom_error *err) {
  loom_bytes bytes = {NULL, 0};
  MlirModule module = native_copy(c);
  bool good = native_convert(module, err) && native_bytes(c->module, module, options, &bytes, err);
  mlirModuleDestroy(module);
  loom_plan *plan = good ? loom_plan_load(bytes.data, bytes.size, err) : NULL;
  free(bytes.data);
  return plan;
}

/* ---- code that does not end ------------------------------------------------------------------
 *
 * The alarm comes to any thread of the process; the one that runs the code jumps out of it. */
static sigjmp_buf native_back;
static pthread_t native_runner;
static volatile sig_atomic_t native_running;

static void native_alarm(int number) {
  if (!native_running) return;
  if (!pthread_equal(pthread_self(), native_runner)) {
    pthread_kill(native_runner, number);
    return;
  }
  native_running = 0;
  siglongjmp(native_back, 1);
}

static bool native_call_watched(const interpret_call *c, loom_plan *plan, void *const *inputs,
                                void *const *outputs, loom_error *err) {
  struct sigaction before, alarmed = {.sa_handler = native_alarm};
  struct itimerval limit = {.it_value.tv_sec = loom_interpret_seconds}, none = {{0}, {0}};
  sigaction(SIGALRM, &alarmed, &before);
  native_runner = pthread_self();
  if (sigsetjmp(native_back, 1)) {
    sigaction(SIGALRM, &before, NULL);
    return loom_fail(err, "its code runs longer than %d seconds: it may never end",
                     loom_interpret_seconds);
  }
  native_running = 1;
  setitimer(ITIMER_REAL, &limit, NULL);
  bool good = loom_native_call(c, plan, inputs, outputs, err);
  native_running = 0;
  setitimer(ITIMER_REAL, &none, NULL);
  sigaction(SIGALRM, &before, NULL);
  loom_plan_unref(plan);
  return good;
}

static bool native_run(const interpret_call *c, void *const *inputs, void *const *outputs,
                       loom_error *err) {
  static const loom_target_options options;
  loom_plan *plan = loom_native_load(c, &options, err);
  if (!plan) return false;
  if (loom_interpret_seconds) return native_call_watched(c, plan, inputs, outputs, err);
  bool good = loom_native_call(c, plan, inputs, outputs, err);
  loom_plan_unref(plan);
  return good;
}

void loom_native_init(void) { loom_interpret_native = native_run; }
