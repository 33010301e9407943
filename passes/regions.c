/* loom-regions: the regions of for, while and if become functions, and the op a loom.control of
 * them.
 *
 * before:
 *     func.func @main(%n: tensor<i64>, %a: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32> {
 *       %0 = loom.for %n init(%a) {
 *       ^bb0(%i: tensor<i64>, %x: tensor<4xf32>):
 *         %y = loom.mul %x, %s
 *         loom.yield %y
 *       }
 *
 * after:
 *       %0 = loom.control "for" [@main_r0] carry = [0] (%n, %a, %s)
 *     func.func @main_r0(%i: tensor<i64>, %x: tensor<4xf32>, %s: tensor<4xf32>) -> tensor<4xf32>
 *
 * requires: nothing.
 *
 * keeps: values.
 *
 * breaks: there is no region but those of functions afterwards.
 *
 * So every pass behind this one sees functions of one block, and a region is fused, scheduled and
 * planned like any other function. What a region reads of the outside is passed to it, but for
 * constants, which it makes itself. What a loop hands on unchanged is not carried but passed; what
 * it hands from one name to another is not computed but noted in `carry`, so that the plan
 * exchanges pointers.
 */
#include <stdio.h>
#include <stdlib.h>

#include "dialects/ir.h"
#include "dialects/pass.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"
#include "passes/passes.h"

typedef struct regions_list {
  MlirValue *values;
  intptr_t count;
  uint32_t capacity;
} regions_list;

typedef struct regions_job {
  MlirOperation module, function, op; /* the op being taken apart */
  MlirContext ctx;
  bool is_for, is_if, out_of_memory;
  intptr_t first;       /* operand that is the first carried value (or input of a branch) */
  regions_list carried; /* initial values of what stays carried */
  int64_t *carry;       /* for each of them; freed by its user */
  regions_list outside;
  loom_map numbers; /* value of the outside -> number in `outside` */
  int made;
  MlirSymbolTable symbols; /* of the module as it was */
} regions_job;

static void regions_add(regions_job *j, regions_list *list, MlirValue value) {
  if (!loom_grow(&list->values, (size_t)list->count, &list->capacity, sizeof *list->values)) {
    j->out_of_memory = true;
    return;
  }
  list->values[list->count++] = value;
}

static MlirBlock regions_block(MlirOperation op, intptr_t region) {
  return mlirRegionGetFirstBlock(mlirOperationGetRegion(op, region));
}

static bool regions_has(MlirOperation op) { return loom_info(op)->regions > 0; }

/* The region whose results go round: the last one. */
static MlirOperation regions_yield(const regions_job *j) {
  return mlirBlockGetTerminator(regions_block(j->op, mlirOperationGetNumRegions(j->op) - 1));
}

/* ---- what a loop hands on unchanged ---- */

/* Is the value carried argument number `*slot` of the body? */
static bool regions_is_carried(const regions_job *j, MlirValue value, intptr_t *slot) {
  MlirBlock body = regions_block(j->op, mlirOperationGetNumRegions(j->op) - 1);
  if (!mlirValueIsABlockArgument(value) || !mlirBlockEqual(mlirBlockArgumentGetOwner(value), body))
    return false;
  *slot = mlirBlockArgumentGetArgNumber(value) - j->is_for;
  return *slot >= 0;
}

/* Value i is the same in all iterations: the initial one, which is then read from the outside. */
static void regions_fix(regions_job *j, intptr_t i) {
  MlirValue init = loom_operand(j->op, j->first + i);
  for (intptr_t r = 0; r < mlirOperationGetNumRegions(j->op); r++)
    mlirValueReplaceAllUsesOfWith(mlirBlockGetArgument(regions_block(j->op, r), i + j->is_for),
                                  init);
  mlirValueReplaceAllUsesOfWith(loom_result(j->op, i), init);
}

/* Fills `carried` and `carry`; the block arguments of what is not carried any more are gone. The
 * results of the body that `carry` counts are appended to `results`, the numbers of the op's
 * results to `kept`. */
static bool regions_find_carried(regions_job *j, regions_list *results, intptr_t *kept) {
  intptr_t count = mlirOperationGetNumResults(j->op);
  MlirOperation yield = regions_yield(j);
  bool *fixed = calloc((size_t)count + 1, sizeof *fixed);
  intptr_t *numbers = calloc((size_t)count + 1, sizeof *numbers); /* after the fixed ones went */
  loom_map known = {0};
  if (!fixed || !numbers) j->out_of_memory = true;
  for (intptr_t i = 0; i < count && !j->out_of_memory; i++) {
    intptr_t slot;
    fixed[i] = regions_is_carried(j, loom_operand(yield, i), &slot) && slot == i;
    numbers[i] = j->carried.count;
    if (fixed[i]) continue;
    kept[j->carried.count] = i;
    regions_add(j, &j->carried, loom_operand(j->op, j->first + i));
  }
  for (intptr_t i = 0, n = 0; i < count && !j->out_of_memory; i++) {
    MlirValue value = loom_operand(yield, i);
    intptr_t slot;
    if (fixed[i]) continue;
    if (regions_is_carried(j, value, &slot) && !fixed[slot]) {
      j->carry[n++] = -1 - numbers[slot];
      continue;
    }
    int64_t result = loom_map_get(&known, value.ptr, -1);
    if (result < 0) {
      result = results->count;
      regions_add(j, results, value);
      j->out_of_memory |= !loom_map_put(&known, value.ptr, result);
    }
    j->carry[n++] = result;
  }
  loom_map_fini(&known);
  /* The yield is replaced later; what it hands on unchanged must not keep an argument alive. */
  for (intptr_t i = 0; i < count && !j->out_of_memory; i++)
    if (fixed[i]) regions_fix(j, i);
  for (intptr_t i = 0; i < results->count && !j->out_of_memory; i++) {
    intptr_t slot; /* a fixed one: now it is read from the outside */
    if (regions_is_carried(j, results->values[i], &slot) && slot < count && fixed[slot])
      results->values[i] = loom_operand(j->op, j->first + slot);
  }
  for (intptr_t i = count - 1; i >= 0 && !j->out_of_memory; i--)
    for (intptr_t r = 0; fixed[i] && r < mlirOperationGetNumRegions(j->op); r++)
      mlirBlockEraseArgument(regions_block(j->op, r), (unsigned)(i + j->is_for));
  free(fixed);
  free(numbers);
  return !j->out_of_memory;
}

/* ---- what a region reads of the outside ---- */

static bool regions_is_inside(const regions_job *j, MlirValue value) {
  MlirOperation def = loom_def(value);
  MlirBlock block = def.ptr ? mlirOperationGetBlock(def) : mlirBlockArgumentGetOwner(value);
  while (!mlirBlockIsNull(block)) {
    MlirOperation parent = mlirBlockGetParentOperation(block);
    if (!parent.ptr) return false;
    if (mlirOperationEqual(parent, j->op)) return true;
    block = mlirOperationGetBlock(parent);
  }
  return false;
}

static void regions_note(regions_job *j, MlirValue value) {
  if (loom_map_get(&j->numbers, value.ptr, -1) >= 0) return;
  if (!loom_map_put(&j->numbers, value.ptr, j->outside.count)) j->out_of_memory = true;
  regions_add(j, &j->outside, value);
}

/* Notes what the ops of a block, and of the regions in them, read; makes constants anew before
 * them. */
static void regions_collect(regions_job *j, MlirBlock block) {
  MlirOperation skipped = regions_yield(j); /* of a loop: regions_take() notes what it returns */
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!j->is_if && mlirOperationEqual(op, skipped)) continue;
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
      MlirValue value = loom_operand(op, i);
      MlirOperation def = loom_def(value);
      if (regions_is_inside(j, value)) continue;
      if (def.ptr && loom_class_of(def) == LOOM_CLASS_CONSTANT) {
        MlirOperation copy = mlirOperationClone(def);
        mlirBlockInsertOwnedOperationBefore(block, op, copy);
        mlirOperationSetOperand(op, i, loom_result(copy, mlirOpResultGetResultNumber(value)));
        continue;
      }
      regions_note(j, value);
    }
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        regions_collect(j, inner);
  }
}

/* Lets the ops of a block read the arguments from `first` on of `entry` instead of the outside. */
static void regions_redirect(regions_job *j, MlirBlock block, MlirBlock entry, intptr_t first) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
      int64_t number = loom_map_get(&j->numbers, loom_operand(op, i).ptr, -1);
      if (number >= 0) mlirOperationSetOperand(op, i, mlirBlockGetArgument(entry, first + number));
    }
    for (intptr_t r = 0; r < mlirOperationGetNumRegions(op); r++)
      for (MlirBlock inner = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
           !mlirBlockIsNull(inner); inner = mlirBlockGetNextInRegion(inner))
        regions_redirect(j, inner, entry, first);
  }
}

/* ---- functions ---- */

/* {loom.overwrites = argument} for each result of a loop's body: it may take the buffer of the
 * value that it replaces. */
static MlirAttribute regions_overwrites(const regions_job *j, intptr_t count) {
  MlirAttribute *all = malloc(sizeof *all * (size_t)(count + 1));
  if (!all) return mlirAttributeGetNull();
  for (intptr_t c = 0; c < count; c++) {
    intptr_t slot = 0;
    while (j->carry[slot] != c)
      slot++;
    MlirNamedAttribute named =
        mlirNamedAttributeGet(mlirIdentifierGet(j->ctx, loom_str(loom_mark_overwrites)),
                              loom_attr_i64(j->ctx, slot + j->is_for));
    all[c] = mlirDictionaryAttrGet(j->ctx, 1, &named);
  }
  MlirAttribute made = mlirArrayAttrGet(j->ctx, count, all);
  free(all);
  return made;
}

/* A name that nothing in the module has. */
static MlirAttribute regions_name(regions_job *j) {
  char name[160];
  MlirStringRef outer = loom_get_str(j->function, "sym_name");
  int length = outer.length < 100 ? (int)outer.length : 100;
  do
    snprintf(name, sizeof name, "%.*s_r%d", length, outer.data, j->made++);
  while (mlirSymbolTableLookup(j->symbols, loom_str(name)).ptr);
  return loom_attr_str(j->ctx, name);
}

/* Region `r` as a function that returns `results`; its name as a symbol. */
static MlirAttribute regions_function(regions_job *j, intptr_t r, const regions_list *results,
                                      bool carries) {
  MlirBlock block = regions_block(j->op, r);
  MlirLocation loc = mlirOperationGetLocation(j->op);
  intptr_t own = mlirBlockGetNumArguments(block), ins = own + j->outside.count;
  MlirType *types = malloc(sizeof *types * (size_t)(ins + results->count + 1));
  if (!types) return j->out_of_memory = true, mlirAttributeGetNull();
  for (intptr_t i = 0; i < j->outside.count; i++)
    mlirBlockAddArgument(block, mlirValueGetType(j->outside.values[i]),
                         mlirValueGetLocation(j->outside.values[i]));
  MlirOperation yield = mlirBlockGetTerminator(block);
  loom_builder end = loom_builder_before(yield);
  loom_build(&end, "func.return", results->count, results->values, 0, NULL, 0, NULL);
  mlirOperationDestroy(yield);
  regions_redirect(j, block, block, own);
  for (intptr_t i = 0; i < ins; i++)
    types[i] = mlirValueGetType(mlirBlockGetArgument(block, i));
  for (intptr_t i = 0; i < results->count; i++)
    types[ins + i] = mlirValueGetType(results->values[i]);
  MlirAttribute name = regions_name(j);
  loom_named attrs[] = {
      {"sym_name", name},
      {"function_type",
       mlirTypeAttrGet(mlirFunctionTypeGet(j->ctx, ins, types, results->count, types + ins))},
      {loom_mark_region, mlirUnitAttrGet(j->ctx)},
      {"res_attrs", carries ? regions_overwrites(j, results->count) : mlirAttributeGetNull()}};
  free(types);
  MlirRegion region = mlirRegionCreate();
  mlirRegionTakeBody(region, mlirOperationGetRegion(j->op, r));
  MlirBlock top = mlirRegionGetFirstBlock(mlirOperationGetRegion(j->module, 0));
  loom_builder b = loom_builder_at_end(top, loc);
  loom_build_regions(&b, "func.func", 0, NULL, 0, NULL, attrs[3].value.ptr ? 4 : 3, attrs, 1,
                     &region);
  return mlirFlatSymbolRefAttrGet(j->ctx, mlirStringAttrGetValue(name));
}

static void regions_yielded(regions_job *j, intptr_t r, regions_list *out) {
  MlirOperation yield = mlirBlockGetTerminator(regions_block(j->op, r));
  out->count = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(yield); i++)
    regions_add(j, out, loom_operand(yield, i));
}

/* ---- one op ---- */

/* The count of a counting loop, where it is a constant; or null. */
static MlirAttribute regions_count(const regions_job *j) {
  MlirAttribute value =
      j->is_for ? loom_constant_of(loom_operand(j->op, 0)) : mlirAttributeGetNull();
  if (!value.ptr) return value;
  if (mlirAttributeIsAInteger(value))
    return loom_attr_i64(j->ctx, mlirIntegerAttrGetValueInt(value));
  if (!mlirAttributeIsADenseElements(value) || !mlirDenseElementsAttrIsSplat(value))
    return mlirAttributeGetNull();
  return loom_attr_i64(j->ctx, mlirDenseElementsAttrGetInt64SplatValue(value));
}

static void regions_replace(regions_job *j, const MlirAttribute *bodies, const intptr_t *kept) {
  regions_list operands = {0};
  intptr_t results = j->is_if ? mlirOperationGetNumResults(j->op) : j->carried.count;
  MlirType *types = malloc(sizeof *types * (size_t)(results + 1));
  if (!types) j->out_of_memory = true;
  if (j->first) regions_add(j, &operands, loom_operand(j->op, 0));
  for (intptr_t i = 0; i < j->carried.count; i++)
    regions_add(j, &operands, j->carried.values[i]);
  for (intptr_t i = 0; i < j->outside.count; i++)
    regions_add(j, &operands, j->outside.values[i]);
  if (!j->out_of_memory) {
    for (intptr_t i = 0; i < results; i++)
      types[i] = mlirValueGetType(loom_result(j->op, kept[i]));
    loom_builder b = loom_builder_before(j->op);
    const char *kind = j->is_if ? "if" : j->is_for ? "for" : "while";
    loom_named attrs[] = {
        {"kind", loom_attr_str(j->ctx, kind)},
        {"bodies", mlirArrayAttrGet(j->ctx, mlirOperationGetNumRegions(j->op), bodies)},
        {"carry", loom_attr_i64s(j->ctx, results, j->carry)}};
    MlirOperation made = loom_build_op(&b, LOOM_OP_CONTROL, operands.count, operands.values,
                                       results, types, 3, attrs);
    MlirAttribute symbol = loom_get_attr(j->op, "symbol"), count = regions_count(j);
    if (symbol.ptr) loom_set_attr(made, loom_mark_symbol, symbol);
    if (count.ptr) loom_set_attr(made, loom_mark_count, count);
    for (intptr_t i = 0; i < results; i++)
      mlirValueReplaceAllUsesOfWith(loom_result(j->op, kept[i]), loom_result(made, i));
    mlirOperationDestroy(j->op);
  }
  free(operands.values);
  free(types);
}

enum { REGIONS_COUNT_MADE, REGIONS_COUNT_UNCHANGED };

/* `unchanged`: values that a loop hands on as they are. */
static void regions_tell(const regions_job *j, MlirLocation loc, intptr_t regions,
                         intptr_t unchanged) {
  loom_count(REGIONS_COUNT_MADE, regions);
  loom_count(REGIONS_COUNT_UNCHANGED, unchanged);
  if (j->is_if)
    loom_remark(LOOM_REMARK_PASSED, loc, "branch", "each side of the branch is a function");
  else
    loom_remark(LOOM_REMARK_PASSED, loc, "loop",
                "the loop calls a function; values that it carries: %d, that do not change: %d",
                (int)j->carried.count, (int)unchanged);
}

static bool regions_take(regions_job *j, MlirOperation op) {
  MlirLocation loc = mlirOperationGetLocation(op);
  intptr_t results = mlirOperationGetNumResults(op), regions = mlirOperationGetNumRegions(op);
  regions_list returned = {0}, tested = {0};
  MlirAttribute bodies[2] = {{NULL}, {NULL}};
  j->op = op;
  j->is_for = loom_is(op, LOOM_OP_FOR);
  j->is_if = loom_is(op, LOOM_OP_IF);
  j->first = j->is_for || j->is_if;
  j->carried.count = j->outside.count = 0;
  j->carry = calloc((size_t)results + 1, sizeof *j->carry);
  intptr_t *kept = calloc((size_t)results + 1, sizeof *kept);
  bool good = j->carry && kept;
  for (intptr_t i = 0; good && j->is_if && i < results; i++)
    j->carry[i] = kept[i] = i;
  for (intptr_t i = 1; good && j->is_if && i < mlirOperationGetNumOperands(op); i++)
    regions_add(j, &j->carried, loom_operand(op, i));
  good = good && (j->is_if || regions_find_carried(j, &returned, kept));
  for (intptr_t r = 0; good && r < regions; r++)
    regions_collect(j, regions_block(op, r));
  for (intptr_t i = 0; good && i < returned.count; i++) /* the yield may not read it any more */
    if (!regions_is_inside(j, returned.values[i])) regions_note(j, returned.values[i]);
  for (intptr_t r = 0; good && r < regions; r++) {
    bool body = !j->is_if && r == regions - 1;
    if (!body) regions_yielded(j, r, &tested);
    bodies[r] = regions_function(j, r, body ? &returned : &tested, body);
    good = !j->out_of_memory;
  }
  if (good) regions_replace(j, bodies, kept);
  good = good && !j->out_of_memory;
  if (good) regions_tell(j, loc, regions, j->is_if ? 0 : results - j->carried.count);
  loom_map_fini(&j->numbers);
  j->numbers = (loom_map){0};
  free(j->carry);
  free(kept);
  free(returned.values);
  free(tested.values);
  return good || loom_emit_error(mlirOperationGetLocation(j->function), "out of memory");
}

/* Functions made on the way come last, and have their turn. */
static bool regions_run(MlirOperation module) {
  regions_job j = {.module = module,
                   .ctx = mlirOperationGetContext(module),
                   .symbols = mlirSymbolTableCreate(module)};
  bool good = true;
  MlirBlock top = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  for (MlirOperation f = mlirBlockGetFirstOperation(top); f.ptr && good;
       f = mlirOperationGetNextInBlock(f)) {
    if (!loom_is_named(f, "func.func")) continue;
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(f, 0));
    if (mlirBlockIsNull(block)) continue;
    j.function = f;
    for (MlirOperation op = mlirBlockGetFirstOperation(block), next; op.ptr && good; op = next) {
      next = mlirOperationGetNextInBlock(op);
      if (regions_has(op)) good = regions_take(&j, op);
    }
  }
  free(j.carried.values);
  free(j.outside.values);
  mlirSymbolTableDestroy(j.symbols);
  return good;
}

MlirPass loom_make_regions_pass(void) {
  static const loom_pass_spec spec = {
      .name = "LoomRegions",
      .flag = "loom-regions",
      .summary = "Turn the regions of for, while and if into functions",
      .root = "builtin.module",
      .run = regions_run,
      .counters = {{"regions", "regions that became functions"},
                   {"unchanged", "values that loops hand on unchanged"}}};
  return loom_pass_of(&spec);
}
