/* loom-check: every access of a kernel is compared with the bounds of its buffer.
 *
 * Before: the functions of loom-lower. After: the same functions, in which each load, store, gather
 * and scatter finds out whether all that it touches (of a masked one the lanes that are on) lies in
 * the buffer that its pointer comes from. What does not is written into the launch's frame
 * (graph/check.h), and nothing is touched: a masked access loses the lane, any other goes to spare
 * memory. Each access has a number; `loom.sites` of the module says what they are. A prefetch reads
 * nothing and cannot fail, but an address outside says that an offset is wrong: it counts as a load
 * of its first byte.
 *
 * A pointer is traced through address arithmetic, selects and what loops carry to a pointer of the
 * launch, to the parameters, the scratch memory or the stack. One that cannot be is an error, and
 * so is every op on pointers that is not known here: nothing stays unchecked.
 *
 * For the simulator of a GPU each access is also a call of @loom_gpu_access, which looks for races
 * and knows the bounds of shared memory.
 *
 * requires: loom-lower. keeps: all but accesses.
 */
#include <mlir-c/Dialect/Arith.h>
#include <mlir-c/Dialect/Func.h>
#include <mlir-c/Dialect/LLVM.h>
#include <mlir-c/Dialect/SCF.h>
#include <mlir-c/Dialect/Vector.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "passes/check.h"

#define CHECK_OPERANDS 96 /* of a call */
#define CHECK_RESULTS 8

/* ---- a function ---- */

static MlirOperation check_find(const check_module *m, const char *kind, MlirStringRef name) {
  MlirOperation op = mlirBlockGetFirstOperation(check_body(m->op, 0));
  while (op.ptr &&
         !(loom_is_named(op, kind) && mlirStringRefEqual(loom_get_str(op, "sym_name"), name)))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

static bool check_keep(check_list *list, MlirOperation op) {
  if (!loom_grow(&list->ops, (size_t)list->count, &list->capacity, sizeof *list->ops))
    return loom_emit_error(mlirOperationGetLocation(op), "out of memory");
  list->ops[list->count++] = op;
  return true;
}

static bool check_see_stack(check_function *f, MlirOperation op) {
  int64_t count, bytes = 0;
  MlirAttribute element = loom_get_attr(op, "elem_type");
  if (mlirAttributeIsAType(element)) bytes = check_bytes(mlirTypeAttrGetValue(element));
  if (!check_constant(loom_operand(op, 0), &count) || count < 0 || count > 1 << 20 || !bytes ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), LOOM_CHECK_STACK,
                      count * bytes))
    return loom_emit_error(mlirOperationGetLocation(op), "the size of what is on the stack is not "
                                                         "known");
  return true;
}

/* Pointers that a loop carries stay in their buffer. */
static bool check_see_loop(check_function *f, MlirOperation op) {
  MlirOperation yield = mlirBlockGetTerminator(check_body(op, 0));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    if (!check_is_pointer(loom_result(op, i))) continue;
    check_base *before = check_trace(f, loom_operand(op, 3 + i));
    if (!before || before != check_trace(f, loom_operand(yield, i)))
      return loom_emit_error(mlirOperationGetLocation(op),
                             "a loop carries a pointer from one buffer to another");
  }
  return true;
}

/* A table in the code: as large as its value. */
static bool check_see_table(check_function *f, MlirOperation op) {
  MlirAttribute name = loom_get_attr(op, "global_name");
  MlirOperation table = check_find(f->m, "llvm.mlir.global", mlirFlatSymbolRefAttrGetValue(name));
  MlirAttribute value = table.ptr ? loom_get_attr(table, "value") : mlirAttributeGetNull();
  if (!value.ptr || !mlirAttributeIsADenseElements(value) ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), LOOM_CHECK_CONSTANT,
                      mlirElementsAttrGetNumElements(value) *
                          check_bytes(mlirShapedTypeGetElementType(mlirAttributeGetType(value)))))
    return loom_emit_error(mlirOperationGetLocation(op), "a table whose size is not known");
  return true;
}

static bool check_see_load(check_function *f, MlirOperation op) {
  int64_t number;
  if (mlirValueEqual(loom_result(op, 0), f->frame)) return true;
  if (!check_is_pointer(loom_result(op, 0))) return check_keep(&f->accesses, op);
  if (!check_is_entry(f, op, &number) || number < 0 || number >= LOOM_CHECK_BUFFERS ||
      !check_add_base(f, loom_result(op, 0), mlirOperationGetNextInBlock(op), number, 0))
    return loom_emit_error(mlirOperationGetLocation(op), "a pointer comes from memory that is not "
                                                         "the array of buffers");
  return true;
}

/* Does it call a function of gpu.def? */
static bool check_is_primitive(MlirOperation call) {
  static const char prefix[] = "loom_gpu_";
  MlirStringRef name = mlirFlatSymbolRefAttrGetValue(loom_get_attr(call, "callee"));
  return name.length >= sizeof prefix && memcmp(name.data, prefix, sizeof prefix - 1) == 0;
}

/* A pointer that it gives is shared memory. */
static bool check_see_primitive(check_function *f, MlirOperation call) {
  if (!mlirOperationGetNumResults(call) || !check_is_pointer(loom_result(call, 0))) return true;
  return check_add_base(f, loom_result(call, 0), mlirOperationGetNextInBlock(call),
                        LOOM_CHECK_SHARED, 0) ||
         loom_emit_error(mlirOperationGetLocation(call), "out of memory");
}

static bool check_region(check_function *f, MlirOperation op);

/* Every op on pointers is one that is known here. */
static bool check_see(MlirOperation op, void *user) {
  check_function *f = user;
  static const char *const harmless[] = {"llvm.getelementptr", "arith.select", "llvm.select",
                                         "scf.yield",          "scf.if",       "func.return",
                                         "llvm.ptrtoint"}; /* none goes back */
  const check_kind *kind = check_kind_of(op, NULL);
  if (kind && kind->value >= 0 && check_is_pointer(loom_operand(op, kind->value)))
    return loom_emit_error(mlirOperationGetLocation(op), "a pointer is stored");
  if (loom_is_named(op, "llvm.load")) return check_see_load(f, op);
  if (kind) return check_keep(&f->accesses, op);
  if (loom_is_named(op, "llvm.alloca")) return check_see_stack(f, op);
  if (loom_is_named(op, "llvm.mlir.addressof")) return check_see_table(f, op);
  if (loom_is_named(op, "func.call") && check_is_primitive(op)) return check_see_primitive(f, op);
  if (loom_is_named(op, "func.call")) return check_keep(&f->calls, op);
  if (!check_region(f, op)) return false;
  if (loom_is_named(op, "scf.for")) return check_see_loop(f, op);
  for (size_t i = 0; i < sizeof harmless / sizeof *harmless; i++)
    if (loom_is_named(op, harmless[i])) return true;
  bool pointers = false;
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    pointers |= check_is_pointer(loom_operand(op, i)) ||
                mlirTypeIsAMemRef(mlirValueGetType(loom_operand(op, i)));
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    pointers |= check_is_pointer(loom_result(op, i));
  if (!pointers) return true;
  MlirStringRef name = mlirIdentifierStr(mlirOperationGetName(op));
  return loom_emit_error(mlirOperationGetLocation(op), "'%.*s' on pointers cannot be checked",
                         (int)name.length, name.data);
}

static bool check_region(check_function *f, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    for (; block.ptr; block = mlirBlockGetNextInRegion(block))
      if (!loom_walk_block(block, check_see, f)) return false;
  }
  return true;
}

/* ---- calls ---- */

static bool check_is_done(const check_module *m, MlirOperation function) {
  for (intptr_t i = 0; i < m->done.count; i++)
    if (mlirOperationEqual(m->done.ops[i], function)) return true;
  return false;
}

/* A private function gets the frame behind its other arguments. */
static bool check_add_frame(check_function *f) {
  MlirBlock block = check_body(f->op, 0);
  intptr_t count = mlirBlockGetNumArguments(block);
  MlirType *types = malloc(sizeof *types * (size_t)(count + 1));
  MlirAttribute *attrs = malloc(sizeof *attrs * (size_t)(count + 1));
  bool good = types && attrs;
  if (good) {
    MlirAttribute old = loom_get_attr(f->op, "arg_attrs");
    for (intptr_t i = 0; i < count; i++) {
      types[i] = mlirValueGetType(mlirBlockGetArgument(block, i));
      attrs[i] =
          old.ptr ? mlirArrayAttrGetElement(old, i) : mlirDictionaryAttrGet(f->m->ctx, 0, NULL);
    }
    types[count] = mlirTypeParseGet(f->m->ctx, loom_str("!llvm.ptr"));
    attrs[count] = mlirDictionaryAttrGet(f->m->ctx, 0, NULL);
    f->frame = mlirBlockAddArgument(block, types[count], mlirOperationGetLocation(f->op));
    MlirType before = mlirTypeAttrGetValue(loom_get_attr(f->op, "function_type"));
    MlirType results[CHECK_RESULTS];
    intptr_t result_count = mlirFunctionTypeGetNumResults(before);
    for (intptr_t i = 0; i < result_count && i < CHECK_RESULTS; i++)
      results[i] = mlirFunctionTypeGetResult(before, i);
    MlirType type = mlirFunctionTypeGet(f->m->ctx, count + 1, types, result_count, results);
    loom_set_attr(f->op, "function_type", mlirTypeAttrGet(type));
    loom_set_attr(f->op, "arg_attrs", mlirArrayAttrGet(f->m->ctx, count + 1, attrs));
  }
  free(types);
  free(attrs);
  return good || loom_emit_error(mlirOperationGetLocation(f->op), "out of memory");
}

static bool check_function_run(check_function *f);

static void check_free(check_function *f) {
  if (f) {
    for (int i = 0; i < f->base_count; i++)
      free(f->bases[i]);
    free(f->bases);
    free(f->accesses.ops);
    free(f->calls.ops);
  }
  free(f);
}

static void check_pass_frame(check_function *f, MlirOperation call) {
  MlirValue operands[CHECK_OPERANDS];
  intptr_t count = mlirOperationGetNumOperands(call);
  for (intptr_t i = 0; i < count; i++)
    operands[i] = loom_operand(call, i);
  operands[count] = f->frame;
  mlirOperationSetOperands(call, count + 1, operands);
}

/* The pointers that a function gets are pointers of the launch; their bounds hold in there. */
static bool check_pass_bases(check_function *f, MlirOperation call, check_function *callee) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(call); i++) {
    if (!check_is_pointer(loom_operand(call, i))) continue;
    const check_base *base = check_root(f, loom_operand(call, i));
    if (!base || base->number <= LOOM_CHECK_STACK)
      return loom_emit_error(mlirOperationGetLocation(call),
                             "a kernel passes a pointer that is not of its launch");
    check_add_base(callee, mlirBlockGetArgument(check_body(callee->op, 0), i), callee->first,
                   base->number, 0);
  }
  return true;
}

typedef struct check_table_walk {
  check_module *m;
  bool found;
} check_table_walk;

/* Does it read a table, or does a function that it calls? */
static bool check_sees_table(MlirOperation op, void *user) {
  check_table_walk *w = user;
  w->found |= loom_is_named(op, "llvm.mlir.addressof");
  if (loom_is_named(op, "func.call")) {
    MlirAttribute callee = loom_get_attr(op, "callee");
    MlirOperation called = check_find(w->m, "func.func", mlirFlatSymbolRefAttrGetValue(callee));
    if (called.ptr) check_sees_table(called, w);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumRegions(op); i++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, i));
    for (; block.ptr; block = mlirBlockGetNextInRegion(block))
      loom_walk_block(block, check_sees_table, w);
  }
  return true;
}

/* A function without pointers may be called from anywhere, any other from one place. */
static bool check_call(check_function *f, MlirOperation call) {
  MlirLocation loc = mlirOperationGetLocation(call);
  check_function *callee = calloc(1, sizeof *callee);
  if (!callee) return loom_emit_error(loc, "out of memory");
  callee->m = f->m;
  callee->kernel = f->kernel;
  callee->op =
      check_find(f->m, "func.func", mlirFlatSymbolRefAttrGetValue(loom_get_attr(call, "callee")));
  bool pointers = false, good = callee->op.ptr && check_body(callee->op, 0).ptr &&
                                mlirOperationGetNumOperands(call) + 1 < CHECK_OPERANDS &&
                                mlirOperationGetNumResults(call) <= CHECK_RESULTS;
  if (!good) loom_emit_error(loc, "a kernel calls what is no function of the module");
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(call); i++)
    pointers |= check_is_pointer(loom_operand(call, i));
  bool done = good && check_is_done(f->m, callee->op);
  check_table_walk tables = {.m = f->m};
  if (good) check_sees_table(callee->op, &tables);
  bool framed = pointers || tables.found;
  if (done && pointers)
    good = loom_emit_error(loc, "a function of a kernel is called from more than one place");
  if (good && !done) {
    callee->first = mlirBlockGetFirstOperation(check_body(callee->op, 0));
    good = check_keep(&f->m->done, callee->op) && (!framed || check_add_frame(callee)) &&
           check_pass_bases(f, call, callee) && check_function_run(callee);
  }
  if (good && framed) check_pass_frame(f, call);
  check_free(callee);
  return good;
}

static bool check_function_run(check_function *f) {
  if (!check_region(f, f->op)) return false;
  if (f->accesses.count && f->frame.ptr) {
    loom_builder b = loom_builder_before(f->first);
    MlirValue at = lane_address(&b, f->frame, check_int(f, &b, CHECK_FRAME_WORD(spare)), LOOM_I64);
    f->spare = loom_build1(&b, "llvm.load", at, mlirValueGetType(f->frame));
  }
  for (intptr_t i = 0; i < f->accesses.count; i++)
    if (!check_access(f, f->accesses.ops[i])) return false;
  for (intptr_t i = 0; i < f->calls.count; i++)
    if (!check_call(f, f->calls.ops[i])) return false;
  return true;
}

/* The entry point of a stage: (buffers, params, scratch, begin, end) -> status. */
static bool check_entry(check_module *m, MlirOperation op) {
  MlirBlock block = check_body(op, 0);
  bool kernel = mlirBlockGetNumArguments(block) == 5;
  for (int i = 0; i < 3 && kernel; i++)
    kernel = check_is_pointer(mlirBlockGetArgument(block, i));
  if (!kernel)
    return loom_emit_error(mlirOperationGetLocation(op), "a public function that is no kernel");
  check_function *f = calloc(1, sizeof *f);
  if (!f) return loom_emit_error(mlirOperationGetLocation(op), "out of memory");
  f->m = m;
  f->op = op;
  f->kernel = loom_get_str(op, "sym_name");
  f->first = mlirBlockGetFirstOperation(block);
  loom_builder b = loom_builder_before(f->first);
  MlirValue buffers = mlirBlockGetArgument(block, 0);
  f->table = buffers;
  MlirValue at = lane_address(&b, buffers, check_int(f, &b, -1), LOOM_I64);
  f->frame = loom_build1(&b, "llvm.load", at, mlirValueGetType(buffers));
  check_add_base(f, mlirBlockGetArgument(block, 1), f->first, LOOM_CHECK_PARAMS, 0);
  check_add_base(f, mlirBlockGetArgument(block, 2), f->first, LOOM_CHECK_SCRATCH, 0);
  bool good = check_keep(&m->done, op) && check_function_run(f);
  check_free(f);
  return good;
}

/* ---- the pass ---- */

static bool check_functions(check_module *m) {
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(m->op, 0));
  MlirOperation op;
  for (op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && !loom_get_attr(op, "sym_visibility").ptr &&
        !check_entry(m, op))
      return false;
  for (op = mlirBlockGetFirstOperation(block); op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && check_body(op, 0).ptr && !check_is_done(m, op))
      return loom_emit_error(mlirOperationGetLocation(op), "no kernel calls this function");
  return true;
}

static bool check_run(MlirOperation root) {
  if (!mlirRegionGetFirstBlock(mlirOperationGetRegion(root, 0)).ptr) return true;
  if (loom_is_for_gpu(root) && !loom_is_simulated(root))
    return loom_emit_error(mlirOperationGetLocation(root), "kernels for a GPU cannot be checked");
  MlirBlock body = check_body(root, 0);
  MlirOperation plan = {NULL};
  while ((plan = loom_next_plan(body, plan)).ptr)
    if (!loom_get_attr(plan, loom_mark_extents).ptr)
      return loom_emit_error(mlirOperationGetLocation(plan),
                             "a plan without loom.extents has no bounds to compare with");
  check_module m = {
      .op = root, .ctx = mlirOperationGetContext(root), .simulated = loom_is_simulated(root)};
  bool good = check_functions(&m);
  if (good) {
    loom_set_attr(root, loom_mark_sites, mlirArrayAttrGet(m.ctx, m.count, m.texts));
    loom_set_attr(root, loom_mark_site_buffers, loom_attr_i64s(m.ctx, m.count, m.numbers));
    loom_set_attr(root, loom_mark_site_bytes, loom_attr_i64s(m.ctx, m.count, m.bytes));
  }
  free(m.texts);
  free(m.numbers);
  free(m.bytes);
  free(m.done.ops);
  return good;
}

MlirPass loom_make_check_pass(void) {
  MlirDialectHandle dialects[] = {mlirGetDialectHandle__arith__(), mlirGetDialectHandle__func__(),
                                  mlirGetDialectHandle__llvm__(), mlirGetDialectHandle__scf__(),
                                  mlirGetDialectHandle__vector__()};
  return loom_pass_create_with("loom-check", "loom-check",
                               "Compare every access of a kernel with the bounds of its buffer",
                               "builtin.module", check_run, 5, dialects);
}
