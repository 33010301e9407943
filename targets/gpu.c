/* The GPU entry point of a kernel stage.
 *
 *   void <name>(buffers, params, int64_t begin, int64_t end, uint32_t *status[, maps])
 *
 * `buffers` and `params` are the stage's lists themselves, handed over by value: arrays of 64-bit
 * words, as many as the stage reads, and at least one. So nothing is copied before a launch, and a
 * kernel finds its pointers among its arguments. Pointers are to device memory. Status bits of all
 * threads are or'ed into *status, which may be NULL for a stage that reports none. A stage has one
 * of two forms. Where the lowering has written it for blocks (attribute `loom-gpu-threads`), block
 * g of so many threads runs chunk begin + g, and end - begin blocks are launched. Any other stage
 * was written for lanes: blocks have 256 threads, thread t of block g runs chunk begin + 256 g + t,
 * and ceil((end - begin) / 256) blocks are launched. `maps` are tensor maps by value, of a stage
 * that copies boxes of matrices: it gets them in the place of scratch memory. A stage that needs
 * more shared memory than 49,152 bytes is launched with all of it.
 *
 * The primitives that kernels call (passes/gpu.def) are functions of IR: a target hands over their
 * bodies as text, which is linked to the module and inlined.
 */
#include <inttypes.h>
#include <llvm-c/Core.h>
#include <llvm-c/IRReader.h>
#include <llvm-c/Linker.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "runtime/runtime.h"
#include "targets/target.h"

#define GPU_SHARED 3 /* the address space of shared memory, of NVPTX and AMDGPU alike */
#define GPU_PATTERN 1024
#define GPU_CONSTANT 4 /* of constant memory, where AMDGPU's arguments are */

typedef struct gpu_entry {
  LLVMModuleRef module;
  LLVMContextRef context;
  LLVMBuilderRef builder;
  LLVMTypeRef ptr, i32, i64;
  LLVMValueRef body, function;
  LLVMValueRef arguments[4]; /* lists, scratch, begin */
  LLVMValueRef end, status;
  const loom_gpu_names *names;
  loom_gpu_table *table;
  loom_gpu_stage stage;
} gpu_entry;

static const char *const gpu_primitives[] = {
#define LOOM_GPU(NAME, RESULT, PARAMETERS, NVPTX, AMDGPU) "loom_gpu_" #NAME,
#include "passes/gpu.def"
#undef LOOM_GPU
};
enum { GPU_PRIMITIVES = sizeof gpu_primitives / sizeof *gpu_primitives };

/* Does a target have a body for it? */
static const struct {
  bool nvptx, amdgpu;
} gpu_bodies[] = {
#define LOOM_GPU(NAME, RESULT, PARAMETERS, NVPTX, AMDGPU)                                          \
  {sizeof(NVPTX) > sizeof(GPU_NONE), sizeof(AMDGPU) > sizeof(GPU_NONE)},
#include "passes/gpu.def"
#undef LOOM_GPU
};

static int gpu_find(const char *name) {
  for (size_t i = 0; i < GPU_PRIMITIVES; i++)
    if (strcmp(gpu_primitives[i], name) == 0) return (int)i;
  return -1;
}

bool loom_gpu_is_primitive(const char *name) { return gpu_find(name) >= 0; }

bool loom_gpu_has_primitive(const loom_target *target, const char *name) {
  int row = gpu_find(name);
  if (row < 0) return false;
  return target == &loom_target_nvptx    ? gpu_bodies[row].nvptx
         : target == &loom_target_amdgpu ? gpu_bodies[row].amdgpu
                                         : target == &loom_target_sim;
}

static void gpu_attribute(LLVMValueRef function, const char *name) {
  LLVMContextRef context = LLVMGetModuleContext(LLVMGetGlobalParent(function));
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  LLVMAddAttributeAtIndex(function, LLVMAttributeFunctionIndex,
                          LLVMCreateEnumAttribute(context, kind, 0));
}

/* ---- the lists ---- */

static bool gpu_list_use(LLVMValueRef user, LLVMValueRef list, uint64_t at, uint32_t *words);

/* Raises *words to what is read behind `list`, which points `at` bytes behind the list's start.
 * False: that is not known. */
static bool gpu_list_read(LLVMValueRef list, uint64_t at, uint32_t *words) {
  for (LLVMUseRef use = LLVMGetFirstUse(list); use; use = LLVMGetNextUse(use))
    if (!gpu_list_use(LLVMGetUser(use), list, at, words)) return false;
  return true;
}

static bool gpu_list_step(LLVMValueRef step, uint64_t at, uint32_t *words) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(step);
  LLVMModuleRef module =
      LLVMGetGlobalParent(LLVMGetBasicBlockParent(LLVMGetInstructionParent(step)));
  uint64_t size = LLVMABISizeOfType(LLVMGetModuleDataLayout(module), type);
  LLVMValueRef index = LLVMGetOperand(step, 1);
  if (LLVMGetNumIndices(step) != 1 || !LLVMIsAConstantInt(index)) return false;
  uint64_t number = LLVMConstIntGetZExtValue(index);
  return number < LOOM_PLAN_LAUNCH_BYTES && gpu_list_read(step, at + number * size, words);
}

static bool gpu_list_call(LLVMValueRef call, LLVMValueRef list, uint64_t at, uint32_t *words) {
  LLVMValueRef callee = LLVMGetCalledValue(call);
  if (!LLVMIsAFunction(callee) || LLVMIsDeclaration(callee)) return false;
  for (unsigned i = 0; i < LLVMGetNumArgOperands(call); i++)
    if (LLVMGetOperand(call, i) == list && !gpu_list_read(LLVMGetParam(callee, i), at, words))
      return false;
  return true;
}

static bool gpu_list_use(LLVMValueRef user, LLVMValueRef list, uint64_t at, uint32_t *words) {
  if (LLVMIsAGetElementPtrInst(user))
    return LLVMGetOperand(user, 0) == list && gpu_list_step(user, at, words);
  if (LLVMIsACallInst(user)) return gpu_list_call(user, list, at, words);
  if (!LLVMIsALoadInst(user)) return false;
  if (*words < at / 8 + 1) *words = (uint32_t)(at / 8 + 1); /* no word is read across its end */
  return true;
}

/* NULL: its lists are known, and fit. */
static const char *gpu_lists(LLVMValueRef body, loom_gpu_stage *stage) {
  stage->buffers = stage->params = 1;
  bool known = gpu_list_read(LLVMGetParam(body, 0), 0, &stage->buffers) &&
               gpu_list_read(LLVMGetParam(body, 1), 0, &stage->params);
  for (uint32_t i = 0; i < 10 * stage->map_count; i++) {
    uint32_t number = stage->maps[i / 10].parameters[i % 10 / 2][i % 2];
    if (number > stage->params) stage->params = number;
  }
  uint32_t maps = stage->map_count ? stage->map_count * LOOM_MAP_BYTES + 64 : 0;
  if (known && 8 * (stage->buffers + stage->params) + maps <= LOOM_PLAN_LAUNCH_BYTES) return NULL;
  stage->buffers = stage->params = 1;
  return known ? "a kernel has more arguments than a launch takes"
               : "a kernel's arguments are not known";
}

/* ---- the entry point ---- */

/* A list among the entry point's arguments. */
static LLVMTypeRef gpu_list_type(const gpu_entry *e) {
  unsigned space = e->names->lists && strcmp(e->names->lists, "byref") == 0 ? GPU_CONSTANT : 0;
  return LLVMPointerTypeInContext(e->context, space);
}

/* A number of a map: a constant, or a product with parameters, and what is added. */
static bool gpu_map_number(const char **text, uint64_t *number, uint16_t *parameters,
                           uint32_t *plus) {
  char *at;
  *number = strtoull(*text, &at, 10);
  if (at == *text) return false;
  for (int i = 0; i < 2 && *at == '*'; i++)
    parameters[i] = (uint16_t)(1 + strtoul(at + 1, &at, 10));
  if (*at == '+') *plus = (uint32_t)strtoul(at + 1, &at, 10);
  *text = at;
  return true;
}

/* A map, as the lowering writes it (passes/gpu_map.c): buffer, bytes of an element, box, offset,
 * extents, strides, each behind a space. False: there is none. */
static bool gpu_map(const char **text, loom_tensor_map *map) {
  unsigned size = 0;
  int length = 0;
  *map = (loom_tensor_map){.kernel = 0};
  int count = sscanf(*text, " %u %u %u %u %" SCNd64 "%n", &map->buffer, &size, &map->box[0],
                     &map->box[1], &map->offset, &length);
  *text += length;
  map->kind = size == 4 ? LOOM_MAP_TF32 : size == 1 ? LOOM_MAP_BYTE : LOOM_MAP_HALVES;
  for (int i = 0; i < 5 && count == 5; i++)
    if (!gpu_map_number(text, i < 3 ? &map->extents[i] : &map->strides[i - 3], map->parameters[i],
                        &map->plus[i]))
      return false;
  return count == 5;
}

static void gpu_maps(LLVMValueRef body, loom_gpu_stage *stage) {
  char text[600];
  unsigned length = 0;
  LLVMAttributeRef found = LLVMGetStringAttributeAtIndex(
      body, LLVMAttributeFunctionIndex, LOOM_GPU_MAPS, (unsigned)strlen(LOOM_GPU_MAPS));
  const char *value = found ? LLVMGetStringAttributeValue(found, &length) : "", *at = text;
  snprintf(text, sizeof text, "%.*s", (int)length, value);
  while (stage->map_count < LOOM_MAP_MOST && gpu_map(&at, &stage->maps[stage->map_count]))
    stage->map_count++;
}

/* Maps are read where they are handed over, at a multiple of 64 bytes (PTX ISA 5.5, 7.1). */
static void gpu_list_mark(const gpu_entry *e, unsigned parameter, uint32_t words) {
  const char *kind = e->names->lists, *there = "nvvm.grid_constant";
  LLVMTypeRef type = LLVMArrayType2(e->i64, words);
  LLVMAttributeRef attributes[] = {
      LLVMCreateTypeAttribute(e->context, LLVMGetEnumAttributeKindForName(kind, strlen(kind)),
                              type),
      LLVMCreateEnumAttribute(e->context, LLVMGetEnumAttributeKindForName("align", 5),
                              parameter == 5 ? 64 : 8),
      LLVMCreateStringAttribute(e->context, there, (unsigned)strlen(there), "", 0)};
  for (int i = 0; i < (parameter == 5 ? 3 : 2); i++)
    LLVMAddAttributeAtIndex(e->function, parameter + 1, attributes[i]);
}

/* Declares it, and says what the body gets. The simulator's has the lists in memory, and scratch.
 */
static void gpu_declare(gpu_entry *e) {
  LLVMTypeRef list = gpu_list_type(e), none = LLVMVoidTypeInContext(e->context);
  LLVMTypeRef types[] = {list, list, e->ptr, e->i64, e->i64, e->ptr};
  LLVMTypeRef by_value[] = {list, list, e->i64, e->i64, e->ptr, list};
  bool lists = e->names->lists != NULL;
  unsigned count = lists && !e->stage.map_count ? 5 : 6;
  e->function = LLVMAddFunction(e->module, e->stage.name,
                                LLVMFunctionType(none, lists ? by_value : types, count, 0));
  unsigned next = lists ? 2 : 3;
  for (unsigned i = 0; i < 2; i++)
    e->arguments[i] = LLVMGetParam(e->function, i);
  e->arguments[2] = lists ? LLVMConstNull(e->ptr) : LLVMGetParam(e->function, 2);
  e->arguments[3] = LLVMGetParam(e->function, next);
  e->end = LLVMGetParam(e->function, next + 1);
  e->status = LLVMGetParam(e->function, next + 2);
  if (!lists) return;
  gpu_list_mark(e, 0, e->stage.buffers);
  gpu_list_mark(e, 1, e->stage.params);
  if (!e->stage.map_count) return;
  gpu_list_mark(e, 5, e->stage.map_count * LOOM_MAP_BYTES / 8);
  e->arguments[2] = LLVMGetParam(e->function, 5);
}

/* A primitive without parameters, as a 64-bit number. */
static LLVMValueRef gpu_number(gpu_entry *e, const char *name) {
  LLVMTypeRef type = LLVMFunctionType(e->i32, NULL, 0, 0);
  LLVMValueRef function = LLVMGetNamedFunction(e->module, name);
  if (!function) function = LLVMAddFunction(e->module, name, type);
  LLVMValueRef value = LLVMBuildCall2(e->builder, type, function, NULL, 0, "");
  return LLVMBuildZExt(e->builder, value, e->i64, "");
}

/* The number of the chunk that a thread runs, alone or with its block. */
static LLVMValueRef gpu_chunk(gpu_entry *e) {
  LLVMBuilderRef b = e->builder;
  LLVMValueRef number = gpu_number(e, "loom_gpu_block");
  if (!e->stage.blocks) {
    LLVMValueRef size = LLVMConstInt(e->i64, (unsigned)e->stage.threads, 0);
    number = LLVMBuildMul(b, number, size, "");
    number = LLVMBuildAdd(b, number, gpu_number(e, "loom_gpu_thread"), "");
  }
  return LLVMBuildAdd(b, e->arguments[3], number, "");
}

static void gpu_code(gpu_entry *e) {
  LLVMBuilderRef b = e->builder;
  LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(e->context, e->function, "entry");
  LLVMBasicBlockRef run = LLVMAppendBasicBlockInContext(e->context, e->function, "run");
  LLVMBasicBlockRef report = LLVMAppendBasicBlockInContext(e->context, e->function, "report");
  LLVMBasicBlockRef done = LLVMAppendBasicBlockInContext(e->context, e->function, "done");
  LLVMPositionBuilderAtEnd(b, entry);
  LLVMValueRef chunk = gpu_chunk(e);
  LLVMValueRef inside = LLVMBuildICmp(b, LLVMIntSLT, chunk, e->end, "");
  LLVMValueRef args[5] = {NULL, NULL, e->arguments[2], chunk, NULL};
  for (int i = 0; i < 2; i++)
    args[i] = LLVMBuildAddrSpaceCast(b, e->arguments[i], e->ptr, "");
  LLVMBuildCondBr(b, inside, run, done);
  LLVMPositionBuilderAtEnd(b, run);
  args[4] = LLVMBuildAdd(b, chunk, LLVMConstInt(e->i64, 1, 0), "");
  LLVMValueRef status = LLVMBuildCall2(b, LLVMGlobalGetValueType(e->body), e->body, args, 5, "");
  LLVMValueRef bad = LLVMBuildICmp(b, LLVMIntNE, status, LLVMConstInt(e->i32, 0, 0), "");
  LLVMBuildCondBr(b, bad, report, done);
  LLVMPositionBuilderAtEnd(b, report);
  LLVMBuildAtomicRMW(b, LLVMAtomicRMWBinOpOr, e->status, status, LLVMAtomicOrderingMonotonic, 0);
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

/* A number in an attribute of a function; 0 where it has none. */
static int gpu_read(LLVMValueRef function, const char *name) {
  LLVMAttributeRef found = LLVMGetStringAttributeAtIndex(function, LLVMAttributeFunctionIndex, name,
                                                         (unsigned)strlen(name));
  unsigned length = 0;
  return found ? atoi(LLVMGetStringAttributeValue(found, &length)) : 0;
}

static void gpu_size(const gpu_entry *e, int blocks) {
  char text[32];
  const char *name = e->names->size_attribute;
  if (!name) return;
  if (blocks && e->names->blocks_attribute) {
    snprintf(text, sizeof text, "%d", blocks);
    LLVMAddTargetDependentFunctionAttr(e->function, e->names->blocks_attribute, text);
  }
  snprintf(text, sizeof text, e->names->size_format, e->stage.threads, e->stage.threads);
  LLVMAddTargetDependentFunctionAttr(e->function, name, text);
}

/* Is every status that it returns 0? */
static bool gpu_is_silent(LLVMValueRef body) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(body); block;
       block = LLVMGetNextBasicBlock(block)) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(block);
    if (!end || !LLVMIsAReturnInst(end)) continue;
    LLVMValueRef status = LLVMGetOperand(end, 0);
    if (!LLVMIsAConstantInt(status) || LLVMConstIntGetZExtValue(status)) return false;
  }
  return true;
}

/* Tells the caller how to launch the stage. */
static void gpu_note(const gpu_entry *e, bool silent, const char *why) {
  loom_gpu_table *table = e->table;
  if (!table || table->why) return;
  if (strlen(e->stage.name) >= sizeof table->rows->name) why = "a kernel's name is too long";
  if (!why && !loom_grow(&table->rows, table->count, &table->capacity, sizeof *table->rows))
    why = "out of memory";
  table->why = why;
  if (why) return;
  loom_gpu_row *row = &table->rows[table->count++];
  *row = (loom_gpu_row){.threads = (uint32_t)e->stage.threads,
                        .shared = (uint32_t)e->stage.shared,
                        .buffers = e->stage.buffers,
                        .params = e->stage.params,
                        .map_count = e->stage.map_count};
  memcpy(row->maps, e->stage.maps, sizeof row->maps);
  snprintf(row->name, sizeof row->name, "%s", e->stage.name);
  if (e->stage.blocks) row->flags |= LOOM_PLAN_KERNEL_BLOCKS;
  if (silent) row->flags |= LOOM_PLAN_KERNEL_SILENT;
}

/* Memory of so many bytes; or, beyond what a kernel may have of its own, all that a launch gives
 * it. wgmma finds its place in a pattern of 1,024 bytes by bits of the address. */
static LLVMValueRef gpu_memory(const gpu_entry *e) {
  char name[540];
  bool own = e->stage.shared <= (int)LOOM_PLAN_STATIC;
  LLVMTypeRef byte = LLVMInt8TypeInContext(e->context);
  LLVMTypeRef type = LLVMArrayType2(byte, own ? (uint64_t)e->stage.shared : 0);
  snprintf(name, sizeof name, "loom_gpu_memory_%s", own ? e->stage.name : "");
  LLVMValueRef memory = own ? NULL : LLVMGetNamedGlobal(e->module, name);
  if (memory) return memory;
  memory = LLVMAddGlobalInAddressSpace(e->module, type, name, GPU_SHARED);
  if (own) LLVMSetInitializer(memory, LLVMGetUndef(type));
  if (own) LLVMSetLinkage(memory, LLVMInternalLinkage);
  LLVMSetAlignment(memory, e->stage.shared >= GPU_PATTERN ? GPU_PATTERN : 16);
  return memory;
}

/* The stage's shared memory takes the place of the calls that ask for it. */
static void gpu_share(const gpu_entry *e) {
  LLVMValueRef asked = LLVMGetNamedFunction(e->module, "loom_gpu_shared"), memory = NULL;
  for (LLVMUseRef use = asked ? LLVMGetFirstUse(asked) : NULL, next; use; use = next) {
    LLVMValueRef call = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (!LLVMIsACallInst(call) ||
        LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) != e->body)
      continue;
    if (!memory) memory = gpu_memory(e);
    LLVMReplaceAllUsesWith(call, LLVMConstAddrSpaceCast(memory, e->ptr));
    LLVMInstructionEraseFromParent(call);
  }
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
  int threads = gpu_read(body, LOOM_GPU_THREADS);
  e->stage = (loom_gpu_stage){.name = name,
                              .blocks = threads > 0,
                              .threads = threads > 0 ? threads : LOOM_GPU_GROUP,
                              .shared = gpu_read(body, LOOM_GPU_SHARED)};
  gpu_maps(body, &e->stage);
  const char *why = e->names->lists ? gpu_lists(body, &e->stage) : NULL;
  gpu_note(e, gpu_is_silent(body), why);
  e->body = body;
  gpu_declare(e);
  LLVMSetFunctionCallConv(e->function, e->names->calling_convention);
  gpu_size(e, gpu_read(body, LOOM_GPU_BLOCKS));
  if (e->names->primitives) gpu_share(e);
  gpu_code(e);
  if (e->names->entry) e->names->entry(e->function, &e->stage);
}

/* ---- the primitives ---- */

/* Those that the module calls; malloc'ed, or NULL. */
static char *gpu_text(const gpu_entry *e) {
  size_t size = 200, used = 0;
  for (size_t i = 0; i < GPU_PRIMITIVES; i++)
    size += strlen(e->names->primitives[i]);
  char *text = calloc(1, size);
  for (size_t i = 0; i < GPU_PRIMITIVES && text; i++) {
    if (!LLVMGetNamedFunction(e->module, gpu_primitives[i])) continue;
    used += (size_t)snprintf(text + used, size - used, "%s", e->names->primitives[i]);
  }
  return text;
}

/* Text of IR becomes a part of the module. Where that fails, the functions stay declarations, which
 * no tool links. */
static void gpu_expand(const gpu_entry *e) {
  char *text = gpu_text(e), *message = NULL;
  LLVMModuleRef made = NULL;
  if (!text) return;
  LLVMMemoryBufferRef buffer =
      LLVMCreateMemoryBufferWithMemoryRangeCopy(text, strlen(text), "gpu.def");
  free(text);
  if (LLVMParseIRInContext(e->context, buffer, &made, &message)) {
    fprintf(stderr, "frameloom: passes/gpu.def: %s\n", message);
    LLVMDisposeMessage(message);
    return;
  }
  LLVMSetTarget(made, LLVMGetTarget(e->module));
  LLVMSetDataLayout(made, LLVMGetDataLayoutStr(e->module));
  LLVMLinkModules2(e->module, made);
  for (size_t i = 0; i < GPU_PRIMITIVES; i++) {
    LLVMValueRef f = LLVMGetNamedFunction(e->module, gpu_primitives[i]);
    if (f) LLVMSetLinkage(f, LLVMInternalLinkage);
  }
}

/* ---- all of a module ---- */

void loom_gpu_entries(LLVMModuleRef module, const loom_target_cpu *cpu,
                      const loom_gpu_names *names) {
  LLVMContextRef context = LLVMGetModuleContext(module);
  gpu_entry e = {.module = module, .context = context, .names = names, .table = cpu->gpu};
  e.builder = LLVMCreateBuilderInContext(context);
  e.ptr = LLVMPointerTypeInContext(context, 0);
  e.i32 = LLVMInt32TypeInContext(context);
  e.i64 = LLVMInt64TypeInContext(context);
  LLVMValueRef last = LLVMGetLastFunction(module);
  for (LLVMValueRef f = LLVMGetFirstFunction(module), next; f; f = next) {
    next = f == last ? NULL : LLVMGetNextFunction(f); /* what follows was made here */
    if (gpu_is_stage(f)) gpu_wrap(&e, f);
  }
  if (names->primitives) gpu_expand(&e);
  LLVMDisposeBuilder(e.builder);
}

/* ---- address spaces ---- */

#define GPU_GLOBAL 1 /* the address space of device memory, of NVPTX and AMDGPU alike */

/* From here on all users have the pointer by way of the address space. */
static void gpu_global(LLVMBuilderRef b, LLVMValueRef pointer) {
  LLVMContextRef context = LLVMGetTypeContext(LLVMTypeOf(pointer));
  LLVMValueRef there =
      LLVMBuildAddrSpaceCast(b, pointer, LLVMPointerTypeInContext(context, GPU_GLOBAL), "");
  LLVMValueRef back = LLVMBuildAddrSpaceCast(b, there, LLVMTypeOf(pointer), "");
  LLVMReplaceAllUsesWith(pointer, back);
  LLVMSetOperand(there, 0, pointer);
}

static bool gpu_is_flat(LLVMValueRef value) {
  LLVMTypeRef type = LLVMTypeOf(value);
  return LLVMGetTypeKind(type) == LLVMPointerTypeKind && LLVMGetPointerAddressSpace(type) == 0;
}

static void gpu_globals_of(LLVMBuilderRef b, LLVMValueRef function) {
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block;
       block = LLVMGetNextBasicBlock(block))
    for (LLVMValueRef v = LLVMGetFirstInstruction(block), next; v; v = next) {
      next = LLVMGetNextInstruction(v);
      if (!LLVMIsALoadInst(v) || !gpu_is_flat(v)) continue;
      LLVMPositionBuilderBefore(b, next);
      gpu_global(b, v);
    }
  LLVMPositionBuilderBefore(b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  unsigned list = LLVMGetEnumAttributeKindForName("byval", 5);
  for (unsigned i = 0; i < LLVMCountParams(function); i++)
    if (gpu_is_flat(LLVMGetParam(function, i)) &&
        !LLVMGetEnumAttributeAtIndex(function, i + 1, list))
      gpu_global(b, LLVMGetParam(function, i));
}

void loom_gpu_globals(LLVMModuleRef module, const loom_target_cpu *cpu) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetModuleContext(module));
  for (LLVMValueRef f = LLVMGetFirstFunction(module); f; f = LLVMGetNextFunction(f))
    if (!LLVMIsDeclaration(f) && LLVMGetFunctionCallConv(f) != LLVMCCallConv) gpu_globals_of(b, f);
  LLVMDisposeBuilder(b);
}
