/* The GPU entry point of a kernel stage: one thread is one lane, and a chunk is one lane's work.
 *
 *   void <name>(buffers, params, scratch, int64_t begin, int64_t end, uint32_t *status)
 *
 * launched with groups of 256 threads, ceil((end - begin) / 256) of them: thread t of group g runs
 * chunk begin + 256 g + t. Pointers are to device memory. Status bits of all threads are or'ed into
 * *status.
 */
#include <llvm-c/Core.h>
#include <stdio.h>
#include <string.h>

#include "targets/target.h"

typedef struct gpu_entry {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTypeRef ptr, i32, i64;
  LLVMValueRef body, function;
  const loom_gpu_names *names;
} gpu_entry;

static void gpu_attribute(LLVMValueRef function, const char *name) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(context, kind, 0));
}

/* A special register, as a 64-bit number. */
static LLVMValueRef gpu_register(gpu_entry *e, const char *name) {
  LLVMTypeRef type = LLVMFunctionType(e->i32, NULL, 0, 0);
  LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
  if (!function) function = LLVMAddFunction(e->module, name, type);
  LLVMValueRef value = LLVMBuildCall2(e->builder, type, function, NULL, 0, "");
  return LLVMBuildZExt(e->builder, value, e->i64, "");
}

static void gpu_blocks(gpu_entry *e) {
  LLVMBuilderRef b = e->builder;
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
  LLVMBasicBlockRef run = LLVMAppendBasicBlockInContext(e->context, e->function, "run");
  LLVMBasicBlockRef report = LLVMAppendBasicBlockInContext(e->context, e->function, "report");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, e->function, "done");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef size = LLVMConstInt(e->i64, LOOM_GPU_GROUP, 0);
  LLVMValueRef group = LLVMBuildMul(b, gpu_register(e, e->names->group), size, "");
  LLVMValueRef thread = LLVMBuildAdd(b, group, gpu_register(e, e->names->thread), "");
  LLVMValueRef chunk = LLVMBuildAdd(b, LLVMGetParam(e->function, 3), thread, "");
  LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntSLT, chunk, LLVMGetParam(e->function, 4), "");
  LLVMBuildCondBr(b, inside, run, done);
  LLVMPositionBuilderAtEnd(b, run);
  LLVMValueRef next = LLVMBuildAdd(b, chunk, LLVMConstInt(e->i64, 1, 0), "");
  LLVMValueRef args[] = {LLVMGetParam(e->function, 0), LLVMGetParam(e->function, 1),
                         LLVMGetParam(e->function, 2), chunk, next};
  LLVMValueRef status = LLVMBuildCall2(b, LLVMGlobalGetValueType(e->body), e->body, args, 5, "");
  LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, status, LLVMConstInt(e->i32, 0, 0), "");
  LLVMBuildCondBr(b, bad, report, done);
  LLVMPositionBuilderAtEnd(b, report);
  LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpOr, LLVMGetParam(e->function, 5), status,
                     LLVMAtomicOrderingMonotonic, 0);
  LLVMBuildBr(b, done);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMBuildRetVoid(b);
}

/* Is `f` a stage: the five parameters and the status of the kernel ABI. */
static bool gpu_is_stage(LLVMValueRef f) {
  if (LLVMIsDeclaration(f) || LLVMGetLinkage(f) != LLVMExternalLinkage) return false;
  return LLVMCountParams(f) == 5 &&
         LLVMGetTypeKind(LLVMGetReturnType(LLVMGlobalGetValueType(f))) == LLVMIntegerTypeKind;
}

static void gpu_wrap(gpu_entry *e, LLVMValueRef body) {
  char name[512], inner[520];
  size_t length;
  const char *own = LLVMGetValueName2(body, &length);
  snprintf(name, sizeof name, "%.*s", (int)(length < 500 ? length : 500), own);
  snprintf(inner, sizeof inner, "%s_chunk", name);
  LLVMSetValueName2(body, inner, strlen(inner));
  LLVMSetLinkage(body, LLVMInternalLinkage);
  gpu_attribute(body, "alwaysinline");
  LLVMTypeRef types[] = {e->ptr, e->ptr, e->ptr, e->i64, e->i64, e->ptr};
  LLVMTypeRef type = LLVMFunctionType(LLVMVoidTypeInContext(e->context), types, 6, 0);
  e->body = body;
  e->function = LLVMAddFunction(e->module, name, type);
  LLVMSetFunctionCallConv(e->function, e->names->calling_convention);
  LLVMAddTargetDependentFunctionAttr(e->function, e->names->size_attribute, e->names->size_value);
  gpu_blocks(e);
}

void loom_gpu_entries(LLVMModuleRef module, const loom_gpu_names *names) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  gpu_entry e = {.module = module, .context = context, .names = names};
  e.builder = LLVMCreateBuilderInContext(context);
  e.ptr = LLVMPointerTypeInContext(context, 0);
  e.i32 = LLVMInt32TypeInContext(context);
  e.i64 = LLVMInt64TypeInContext(context);
  LLVMValueRef last = LLVMGetLastFunction(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f)) {
    if (gpu_is_stage(f)) gpu_wrap(&e, f);
    if (f == last) break; /* what follows was made here */
  }
  LLVMDisposeBuilder(e.builder);
}
