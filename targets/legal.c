/* What may reach LLVM: every op of a module is looked up in legal.def, every type is checked. */
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <mlir-c/Diagnostics.h>
#include <mlir-c/Dialect/LLVM.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "runtime/runtime.h"
#include "targets/target.h"

enum { X86 = 1, NVPTX = 2, AMDGPU = 4, SIM = 8, ALL = 15 };

typedef struct legal_row {
  const char *name;
  uint32_t targets;
} legal_row;

/* Sorted once by name when first used. */
static legal_row legal_rows[] = {
#define LOOM_LEGAL(OP, TARGETS) {OP, TARGETS},
#include "targets/legal.def"
#undef LOOM_LEGAL
};
#define LEGAL_COUNT (sizeof legal_rows / sizeof *legal_rows)

static pthread_once_t legal_once = PTHREAD_ONCE_INIT;
static int legal_compare(const void *a, const void *b) {
  return strcmp(((const legal_row *)a)->name, ((const legal_row *)b)->name);
}
static void legal_sort(void) { qsort(legal_rows, LEGAL_COUNT, sizeof *legal_rows, legal_compare); }

static uint32_t legal_targets(MlirStringRef name) {
  char text[96];
  if (name.length >= sizeof text) return 0;
  memcpy(text, name.data, name.length);
  text[name.length] = 0;
  legal_row key = {text, 0};
  const legal_row *row = bsearch(&key, legal_rows, LEGAL_COUNT, sizeof key, legal_compare);
  return row ? row->targets : 0;
}

typedef struct legal_walk {
  const loom_target *target;
  const loom_target_cpu *cpu;
  loom_error *err;
  MlirOperation module;
  bool ok;
} legal_walk;

static bool legal_refuse(legal_walk *walk, MlirOperation op, const char *what) {
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  if (walk->ok)
    loom_fail(walk->err, "target %s: '%.*s' %s", walk->target->name, (int)name.length, name.data,
              what);
  walk->ok = false;
  return loom_emit_error(mlirOperationGetLocation(op), "target %s: '%.*s' %s", walk->target->name,
                         (int)name.length, name.data, what);
}

/* ---- types ---- */

#define LEGAL_DEPTH 8 /* of nested aggregates */
#define LEGAL_LANES 1024

static bool legal_scalar(MlirType type) {
  if (mlirTypeIsAInteger(type)) {
    unsigned width = mlirIntegerTypeGetWidth(type);
    return mlirIntegerTypeIsSignless(type) && (width <= 64 || width == 128);
  }
  return mlirTypeIsAF16(type) || mlirTypeIsABF16(type) || mlirTypeIsAF32(type) ||
         mlirTypeIsAF64(type) || mlirTypeIsALLVMPointerType(type);
}

static bool legal_type(MlirType type, int depth) {
  if (depth > LEGAL_DEPTH) return false;
  if (legal_scalar(type)) return true;
  if (mlirTypeIsAVector(type)) {
    if (mlirShapedTypeGetRank(type) != 1 || mlirVectorTypeIsScalable(type)) return false;
    int64_t lanes = mlirShapedTypeGetDimSize(type, 0);
    return lanes >= 1 && lanes <= LEGAL_LANES && legal_scalar(mlirShapedTypeGetElementType(type));
  }
  if (mlirTypeIsALLVMStructType(type)) {
    if (!mlirLLVMStructTypeIsLiteral(type)) return false;
    for (intptr_t i = 0; i < mlirLLVMStructTypeGetNumElementTypes(type); i++)
      if (!legal_type(mlirLLVMStructTypeGetElementType(type, i), depth + 1)) return false;
    return true;
  }
  MlirStringRef name = mlirTypeIDIsNull(mlirTypeGetTypeID(type))
                           ? mlirStringRefCreate("", 0)
                           : mlirDialectGetNamespace(mlirTypeGetDialect(type));
  if (!loom_str_is(name, "llvm")) return false;
  return mlirTypeEqual(type, mlirLLVMVoidTypeGet(mlirTypeGetContext(type)));
}

static bool legal_values(legal_walk *walk, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    if (!legal_type(mlirValueGetType(mlirOperationGetOperand(op, i)), 0))
      return legal_refuse(walk, op, "has an operand of a type without code");
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!legal_type(mlirValueGetType(mlirOperationGetResult(op, i)), 0))
      return legal_refuse(walk, op, "has a result of a type without code");
  return true;
}

/* ---- ops with conditions of their own ---- */

/* A size of a stage for a GPU: ["loom-gpu-threads", "256"]. */
static bool legal_size(MlirAttribute pair) {
  if (!mlirAttributeIsAArray(pair) || mlirArrayAttrGetNumElements(pair) != 2) return false;
  MlirAttribute parts[] = {mlirArrayAttrGetElement(pair, 0), mlirArrayAttrGetElement(pair, 1)};
  if (!mlirAttributeIsAString(parts[0]) || !mlirAttributeIsAString(parts[1])) return false;
  MlirStringRef digits = mlirStringAttrGetValue(parts[1]);
  for (size_t i = 0; i < digits.length; i++)
    if (digits.data[i] < '0' || digits.data[i] > '9') return false;
  return digits.length > 0 && digits.length < 7 &&
         (loom_str_is(mlirStringAttrGetValue(parts[0]), LOOM_GPU_THREADS) ||
          loom_str_is(mlirStringAttrGetValue(parts[0]), LOOM_GPU_BLOCKS) ||
          loom_str_is(mlirStringAttrGetValue(parts[0]), LOOM_GPU_SHARED));
}

/* The maps of a stage for a GPU: numbers. */
static bool legal_maps(MlirAttribute pair) {
  if (!mlirAttributeIsAArray(pair) || mlirArrayAttrGetNumElements(pair) != 2) return false;
  MlirAttribute parts[] = {mlirArrayAttrGetElement(pair, 0), mlirArrayAttrGetElement(pair, 1)};
  if (!mlirAttributeIsAString(parts[0]) || !mlirAttributeIsAString(parts[1])) return false;
  MlirStringRef text = mlirStringAttrGetValue(parts[1]);
  for (size_t i = 0; i < text.length; i++)
    if (!strchr("0123456789-+* ", text.data[i])) return false;
  return loom_str_is(mlirStringAttrGetValue(parts[0]), LOOM_GPU_MAPS);
}

/* Function attributes handed through to LLVM: only those that the lowering writes. */
static bool legal_passthrough(MlirOperation op) {
  MlirAttribute all = loom_get_attr(op, "passthrough");
  if (!all.ptr) return true;
  if (!mlirAttributeIsAArray(all)) return false;
  for (intptr_t i = 0; i < mlirArrayAttrGetNumElements(all); i++) {
    MlirAttribute entry = mlirArrayAttrGetElement(all, i);
    if (legal_size(entry) || legal_maps(entry)) continue;
    if (!mlirAttributeIsAString(entry) ||
        !(loom_str_is(mlirStringAttrGetValue(entry), "alwaysinline") ||
          loom_str_is(mlirStringAttrGetValue(entry), "noinline")))
      return false;
  }
  return true;
}

static bool legal_func(legal_walk *walk, MlirOperation op) {
  static const char *const refused[] = {"personality",     "garbageCollector", "comdat",
                                        "target_features", "target_cpu",       "section"};
  if (!legal_passthrough(op))
    return legal_refuse(walk, op, "hands attributes to LLVM that code may not have");
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
    if (loom_get_attr(op, refused[i]).ptr)
      return legal_refuse(walk, op, "has an attribute that code may not have");
  if (mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)).ptr) return true;
  MlirStringRef name = loom_get_str(op, "sym_name");
  char text[64];
  if (name.length < sizeof text) {
    memcpy(text, name.data, name.length);
    text[name.length] = 0;
    bool primitive = strncmp(text, "loom_gpu_", 9) == 0;
    if (walk->target->bit == X86 && !primitive && loom_support_find(text) >= 0) return true;
    if (walk->target->bit == SIM && loom_support_find(text) >= 0) return true;
    if (loom_gpu_has_primitive(walk->target, text)) return true;
  }
  return legal_refuse(walk, op, "declares a function that is not in the support table");
}

/* An instruction of AVX-512 by its name in LLVM. The last operand of some says how it rounds: as
 * the unit does, which is a 4 that LLVM has to see. */
/* Has a CPU the unit of an intrinsic on pairs of bfloat16? Any other one needs none. */
static bool legal_matrix(const char *unit, MlirStringRef name) {
  static const char *const of[][2] = {{"llvm.x86.avx512bf16.", "bf16"},
                                      {"llvm.x86.ldtile", "amx"},
                                      {"llvm.x86.tile", "amx"},
                                      {"llvm.x86.tdp", "amx"}};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++)
    if (name.length > strlen(of[i][0]) && !memcmp(name.data, of[i][0], strlen(of[i][0])))
      return unit && !strcmp(unit, of[i][1]);
  return true;
}

static bool legal_intrinsic(legal_walk *walk, MlirOperation op) {
  MlirStringRef name = loom_get_str(op, "intrin");
  uint32_t targets = name.data ? legal_targets(name) : 0;
  if (!(targets & walk->target->bit) || walk->cpu->vector_bits != 512)
    return legal_refuse(walk, op, "names what this CPU has no instruction for");
  if (!legal_matrix(walk->cpu->matrix, name))
    return legal_refuse(walk, op, "names what this CPU has no instruction for");
  intptr_t count = mlirOperationGetNumOperands(op);
  if (count != 5) return true;
  MlirValue mode = mlirOperationGetOperand(op, count - 1);
  MlirOperation def = loom_def(mode);
  MlirAttribute value = loom_get_attr(def, "value");
  if (!def.ptr || !loom_is_named(def, "llvm.mlir.constant") || !value.ptr ||
      !mlirAttributeIsAInteger(value) || mlirIntegerAttrGetValueInt(value) != 4)
    return legal_refuse(walk, op, "rounds in a way that code may not");
  return true;
}

static bool legal_op(legal_walk *walk, MlirOperation op) {
  if (loom_is_named(op, "llvm.call_intrinsic")) return legal_intrinsic(walk, op);
  if (loom_is_named(op, "llvm.func")) return legal_func(walk, op);
  if (loom_is_named(op, "llvm.call") && !loom_get_attr(op, "callee").ptr)
    return legal_refuse(walk, op, "is an indirect call");
  if (loom_is_named(op, "llvm.mlir.global")) {
    if (!loom_get_attr(op, "constant").ptr)
      return legal_refuse(walk, op, "is writable; kernels have no state");
    MlirAttribute type = loom_get_attr(op, "global_type");
    if (!type.ptr) return legal_refuse(walk, op, "has no type");
  }
  MlirAttribute alignment = loom_get_attr(op, "alignment");
  if (alignment.ptr && mlirAttributeIsAInteger(alignment)) {
    int64_t bytes = mlirIntegerAttrGetValueInt(alignment);
    if (bytes < 0 || bytes > 4096 || (bytes & (bytes - 1)))
      return legal_refuse(walk, op, "has an alignment that is no power of two up to 4096");
  }
  return true;
}

static MlirWalkResult legal_visit(MlirOperation op, void *user) {
  legal_walk *walk = user;
  if (mlirOperationEqual(op, walk->module)) return MlirWalkResultAdvance;
  uint32_t targets = legal_targets(mlirIdentifierStr(mlirOperationGetName(op)));
  if (!(targets & walk->target->bit)) {
    legal_refuse(walk, op, "is not allowed in code for this target");
    return MlirWalkResultSkip;
  }
  bool ok = legal_op(walk, op) && legal_values(walk, op);
  return ok ? MlirWalkResultAdvance : MlirWalkResultSkip;
}

bool loom_legal_check(const loom_target *target, const loom_target_cpu *cpu, MlirModule module,
                      loom_error *err) {
  pthread_once(&legal_once, legal_sort);
  legal_walk walk = {target, cpu, err, mlirModuleGetOperation(module), true};
  mlirOperationWalk(walk.module, legal_visit, &walk, MlirWalkPreOrder);
  return walk.ok;
}
