/* loom-keep: marks what depends on constants alone, so that the plan computes it once.
 *
 * before:
 *     func.func @main(%x: tensor<32x64xf32>, %w: tensor<64x64xf32> {loom.const}, ...) {
 *       %0 = loom.apply @k0(%w) : ...
 *       %1 = loom.apply @k1(%x, %0) : ...
 *
 * after:
 *       %0 = loom.apply @k0(%w) {loom.once} : ...
 *       %1 = loom.apply @k1(%x, %0) : ...
 *     with `loom.constant = array<i64: 1>` on the dot_general in @k1.
 *
 * requires: loom-outline. Does nothing unless the module has `loom.keep`: the plan's runtime then
 * keeps memory from one call to the next.
 *
 * keeps: order, results. breaks: a kernel may have copies.
 *
 * An apply is done once when all its operands are constants or made once, and its results are kept:
 * they are neither returned (a caller gets a new array each time), nor written over by a kernel
 * that updates them in place, nor much larger than what they are made of. A pointwise kernel that
 * would write its result over one gets a copy that does not. An operand of a product that the
 * kernel computes from constants alone is packed once (schedule_dot.c). Kernels are shared by
 * applies of which only some have constant operands, so that there is a copy of a kernel for each
 * combination. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "passes/passes.h"

typedef struct keep_use { /* an apply, and what its kernel has to be told */
  MlirOperation apply, kernel;
  int64_t constants;  /* operands of its product, as bits */
  uint64_t apart;     /* results that must not overwrite their operands */
  MlirAttribute name; /* of the kernel made of it */
} keep_use;

typedef struct keep_state {
  MlirOperation module;
  MlirContext ctx;
  loom_map kernels;  /* interned symbol -> kernel */
  loom_map constant; /* value -> 1 */
  keep_use *uses;
  int count, made;
  uint32_t capacity;
  bool region; /* in a function that loom-regions made: its plan keeps nothing */
  bool out_of_memory;
} keep_state;

static bool keep_is_constant(const keep_state *s, MlirValue value) {
  return loom_map_get(&s->constant, value.ptr, 0) != 0;
}

static void keep_put(keep_state *s, MlirValue value) {
  if (!loom_map_put(&s->constant, value.ptr, 1)) s->out_of_memory = true;
}

static int64_t keep_bytes(MlirValue value) {
  loom_type type;
  if (!loom_type_from_mlir(mlirValueGetType(value), &type) || !loom_type_is_static(&type))
    return -1;
  int64_t elements = loom_type_elements(&type), size = (int64_t)loom_dtype_size(type.dtype);
  return elements < 0 || elements > INT64_MAX / 16 / size ? -1 : elements * size;
}

/* ---- what is made once ---- */

static int64_t keep_overwritten(MlirOperation kernel, intptr_t result) {
  int64_t inplace[64];
  intptr_t count = loom_get_i64s(kernel, "inplace", inplace, 64);
  return result < count && result < 64 ? inplace[result] : -1;
}

/* Does the kernel update an array in place, or make the copy that later updates write into? */
static bool keep_updates(MlirOperation kernel) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  return loom_overwriting(block).ptr ||
         loom_get_attr(mlirBlockGetFirstOperation(block), loom_mark_inplace).ptr;
}

static MlirOperation keep_kernel(const keep_state *s, MlirOperation apply) {
  MlirAttribute name = loom_get_attr(apply, "kernel");
  MlirAttribute text = mlirStringAttrGet(s->ctx, mlirFlatSymbolRefAttrGetValue(name));
  return (MlirOperation){(void *)(intptr_t)loom_map_get(&s->kernels, text.ptr, 0)};
}

/* Does something return the value, or update it in place? */
static bool keep_is_taken(const keep_state *s, MlirValue value) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (loom_is_named(user, "func.return")) return true;
    if (loom_info(user)->alias && keep_is_taken(s, loom_result(user, 0))) return true;
    if (!loom_info(user)->applies) continue;
    MlirOperation kernel = keep_kernel(s, user);
    if (!kernel.ptr) return true;
    for (intptr_t r = 0; r < mlirOperationGetNumResults(user); r++)
      if (keep_overwritten(kernel, r) == mlirOpOperandGetOperandNumber(use) && keep_updates(kernel))
        return true;
  }
  return false;
}

static bool keep_is_once(const keep_state *s, MlirOperation apply, MlirOperation kernel) {
  intptr_t operands = mlirOperationGetNumOperands(apply);
  int64_t read = 0, made = 0;
  for (intptr_t i = 0; i < operands; i++) {
    if (!keep_is_constant(s, loom_operand(apply, i))) return false;
    read += keep_bytes(loom_operand(apply, i));
  }
  for (intptr_t i = 0; i < mlirOperationGetNumResults(apply); i++) {
    int64_t bytes = keep_bytes(loom_result(apply, i));
    if (bytes <= 0 || keep_is_taken(s, loom_result(apply, i))) return false;
    made += bytes;
  }
  return operands > 0 && !keep_updates(kernel) && (made <= read || made <= LOOM_KEEP_BYTES);
}

/* ---- operands of products that are made of constants in the kernel ---- */

static int64_t keep_operands(keep_state *s, MlirOperation apply, MlirOperation kernel) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    if (keep_is_constant(s, loom_operand(apply, i))) keep_put(s, mlirBlockGetArgument(block, i));
  int64_t found = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    intptr_t operands = mlirOperationGetNumOperands(op), constant = 0;
    for (intptr_t i = 0; i < operands; i++)
      constant += keep_is_constant(s, loom_operand(op, i));
    for (intptr_t i = 0; i < operands && loom_class_of(op) == LOOM_CLASS_DOT; i++)
      if (keep_is_constant(s, loom_operand(op, i))) found |= INT64_C(1) << i;
    bool made = constant == operands && (operands || loom_class_of(op) == LOOM_CLASS_CONSTANT);
    for (intptr_t i = 0; made && i < mlirOperationGetNumResults(op); i++)
      keep_put(s, loom_result(op, i));
  }
  /* Another apply of the kernel has other constants. */
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    if (!loom_map_put(&s->constant, mlirBlockGetArgument(block, i).ptr, 0)) s->out_of_memory = true;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
      if (!loom_map_put(&s->constant, loom_result(op, i).ptr, 0)) s->out_of_memory = true;
  return found;
}

/* ---- kernels by what they are told ---- */

static keep_use *keep_add(keep_state *s, MlirOperation apply, MlirOperation kernel) {
  if (!loom_grow(&s->uses, (size_t)s->count, &s->capacity, sizeof *s->uses))
    return s->out_of_memory = true, NULL;
  s->uses[s->count] = (keep_use){.apply = apply, .kernel = kernel};
  return &s->uses[s->count++];
}

static bool keep_visit(MlirOperation op, void *user) {
  keep_state *s = user;
  if (loom_info(op)->alias && keep_is_constant(s, loom_operand(op, 0)))
    keep_put(s, loom_result(op, 0));
  if (!loom_info(op)->applies) return true;
  MlirOperation kernel = keep_kernel(s, op);
  keep_use *use = kernel.ptr ? keep_add(s, op, kernel) : NULL;
  if (!use || s->region) return true;
  bool once = keep_is_once(s, op, kernel);
  if (once) {
    loom_set_attr(op, loom_mark_once, mlirUnitAttrGet(s->ctx));
    loom_count(0, 1);
    loom_remark(LOOM_REMARK_PASSED, mlirOperationGetLocation(op), "once",
                "the kernel reads constants alone: it runs once for all calls");
  }
  use->constants = once ? 0 : keep_operands(s, op, kernel);
  for (intptr_t r = 0; r < mlirOperationGetNumResults(op) && r < 64; r++) {
    int64_t over = keep_overwritten(kernel, r);
    if (over >= 0 && keep_is_constant(s, loom_operand(op, over))) use->apart |= (uint64_t)1 << r;
    if (once) keep_put(s, loom_result(op, r));
  }
  return true;
}

static void keep_tell(keep_state *s, const keep_use *use, MlirOperation kernel) {
  int64_t numbers[64];
  intptr_t count = loom_get_i64s(kernel, "inplace", numbers, 64);
  for (intptr_t r = 0; r < count && r < 64; r++)
    if (use->apart >> r & 1) numbers[r] = -1;
  if (use->apart) loom_set_attr(kernel, "inplace", loom_attr_i64s(s->ctx, count, numbers));
  if (!use->constants) return;
  count = 0;
  for (int i = 0; i < 64; i++)
    if (use->constants >> i & 1) numbers[count++] = i;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(kernel, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_class_of(op) == LOOM_CLASS_DOT)
      loom_set_attr(op, loom_mark_constant, loom_attr_i64s(s->ctx, count, numbers));
}

/* The kernel as it was, for the first combination it is used in; a copy for each other one. */
static void keep_assign(keep_state *s, int number) {
  keep_use *use = &s->uses[number];
  bool first = true;
  for (int i = 0; i < number; i++) {
    if (s->uses[i].kernel.ptr != use->kernel.ptr) continue;
    first = false;
    if (s->uses[i].constants != use->constants || s->uses[i].apart != use->apart) continue;
    use->name = s->uses[i].name;
    loom_set_attr(use->apply, "kernel", use->name);
    return;
  }
  use->name = loom_get_attr(use->apply, "kernel");
  if (first) return;
  char name[256];
  MlirStringRef symbol = mlirFlatSymbolRefAttrGetValue(use->name);
  snprintf(name, sizeof name, "%.*s_v%d", (int)(symbol.length < 200 ? symbol.length : 200),
           symbol.data, s->made++);
  MlirOperation copy = mlirOperationClone(use->kernel);
  mlirBlockInsertOwnedOperationAfter(mlirOperationGetBlock(use->kernel), use->kernel, copy);
  loom_set_attr(copy, "sym_name", loom_attr_str(s->ctx, name));
  keep_tell(s, use, copy);
  use->name = mlirFlatSymbolRefAttrGet(s->ctx, loom_str(name));
  loom_set_attr(use->apply, "kernel", use->name);
}

/* ---- the pass ---- */

static void keep_find_kernels(keep_state *s) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(s->module, 0));
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_body(op).ptr &&
        !loom_map_put(&s->kernels, loom_get_attr(op, "sym_name").ptr, (intptr_t)op.ptr))
      s->out_of_memory = true;
}

/* Functions that loom-regions made have no constants of their own. */
static bool keep_has_constants(MlirOperation function, keep_state *s) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  bool any = false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    MlirValue argument = mlirBlockGetArgument(block, i);
    if (!loom_argument_has(function, i, loom_mark_const) || keep_bytes(argument) < 0) continue;
    keep_put(s, argument);
    any = true;
  }
  return any;
}

static bool keep_run(MlirOperation module) {
  keep_state s = {.module = module, .ctx = mlirOperationGetContext(module)};
  MlirOperation main = loom_main_function(module);
  if (!main.ptr || !loom_option(module, loom_mark_keep).ptr) return true;
  bool any = false;
  for (MlirOperation f = main; f.ptr; f = loom_next_function(module, f))
    any |= keep_has_constants(f, &s);
  if (any) {
    keep_find_kernels(&s);
    for (MlirOperation f = main; f.ptr; f = loom_next_function(module, f)) {
      s.region = loom_get_attr(f, loom_mark_region).ptr != NULL;
      loom_walk_block(mlirRegionGetFirstBlock(mlirOperationGetRegion(f, 0)), keep_visit, &s);
    }
    for (int i = 0; i < s.count; i++)
      keep_assign(&s, i);
    for (int i = 0; i < s.count; i++) { /* copies were made of kernels that had been told nothing */
      bool first = true;
      for (int k = 0; k < i; k++)
        first &= s.uses[k].kernel.ptr != s.uses[i].kernel.ptr;
      if (first) keep_tell(&s, &s.uses[i], s.uses[i].kernel);
    }
  }
  loom_map_fini(&s.kernels);
  loom_map_fini(&s.constant);
  free(s.uses);
  return !s.out_of_memory || loom_emit_error(mlirOperationGetLocation(module), "out of memory");
}

MlirPass loom_make_keep_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomKeep",
      .flag = "loom-keep",
      .summary = "Mark what depends on constants alone, to be computed once",
      .root = "builtin.module",
      .run = keep_run,
      .counters = {{"once", "kernels that run once"}}};
  return loom_pass_of(&spec);
}
