/* Functions that a kernel needs at many places, out of line.
 *
 * A function is inlined where a kernel needs it: that is fastest, and costs LLVM little time where
 * there are few. A kernel with dozens (steps of a solver, an unrolled loop) would take LLVM
 * seconds. So where a kernel for a CPU has more than SHARED_FEW ops of one function, each is a call
 * of one private function of the stage, for each kind of lanes. Lanes are passed and returned in
 * registers. Flags that the function raises by itself are returned as a number; those of its
 * arithmetic are in the floating-point unit, as in inlined code. LLVM assumes that a call may have
 * any effect: it neither drops a call nor moves one.
 */
#include "passes/math.h"

#include <stdio.h>

#define SHARED_FEW 6

struct math_shared {
  struct math_shared *next;
  loom_opcode code;
  MlirType type;
  bool flags; /* it has a second result: what it raised */
  char name[256];
};

/* On a GPU, where registers are not kept over calls either, nobody has measured it. */
bool math_is_shared(const lower *l, loom_opcode code) {
  return l->kernel->target == LANES_CPU && l->kernel->ops[code] > SHARED_FEW;
}

/* The op of this name that the module of the kernel has, or null. */
static MlirOperation shared_symbol(const lower *l, const char *name) {
  MlirOperation module = l->kernel->op;
  while (mlirOperationGetParentOperation(module).ptr)
    module = mlirOperationGetParentOperation(module);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  MlirOperation op = mlirBlockGetFirstOperation(block);
  while (op.ptr && !loom_str_is(loom_get_str(op, "sym_name"), name))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

static bool shared_is_taken(lower *l, MlirOperation op) {
  return op.ptr && !lower_fail(l, op, "the name is needed for a function that kernels share");
}

bool math_has_symbol(lower *l, const char *name) {
  MlirOperation op = shared_symbol(l, name);
  bool ours = op.ptr && loom_get_attr(op, loom_mark_shared).ptr;
  return ours || shared_is_taken(l, op);
}

void math_add_function(lower *l, const char *name, MlirBlock body, intptr_t count,
                       const MlirValue *results) {
  if (shared_is_taken(l, shared_symbol(l, name))) {
    mlirBlockDestroy(body);
    return;
  }
  loom_builder top = loom_builder_before(l->kernel->op), b = loom_builder_at_end(body, top.loc);
  MlirType to[4], from[4];
  intptr_t arguments = mlirBlockGetNumArguments(body);
  for (intptr_t i = 0; i < count; i++)
    to[i] = mlirValueGetType(results[i]);
  for (intptr_t i = 0; i < arguments; i++)
    from[i] = mlirValueGetType(mlirBlockGetArgument(body, i));
  loom_build(&b, "func.return", count, results, 0, NULL, 0, NULL);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, body);
  MlirAttribute apart = loom_attr_str(top.ctx, "noinline");
  loom_named attrs[] = {
      {"sym_name", loom_attr_str(top.ctx, name)},
      {"function_type", mlirTypeAttrGet(mlirFunctionTypeGet(top.ctx, arguments, from, count, to))},
      {"sym_visibility", loom_attr_str(top.ctx, "private")},
      {"passthrough", mlirArrayAttrGet(top.ctx, 1, &apart)},
      {"llvm.linkage", mlirAttributeParseGet(top.ctx, loom_str("#llvm.linkage<internal>"))},
      {loom_mark_shared, mlirUnitAttrGet(top.ctx)}};
  loom_build_regions(&top, "func.func", 0, NULL, 0, NULL, 6, attrs, 1, &region);
}

MlirOperation math_call(loom_builder *b, const char *name, intptr_t count,
                        const MlirValue *operands, intptr_t type_count, const MlirType *types) {
  loom_named callee = {"callee", mlirFlatSymbolRefAttrGet(b->ctx, loom_str(name))};
  return loom_build(b, "func.call", count, operands, type_count, types, 1, &callee);
}

void math_if_any(math *m, MlirValue condition, intptr_t count, const MlirType *types,
                 math_branch *make, const void *user, MlirValue *results) {
  MlirRegion regions[2];
  MlirValue any = lane_any(m->b, condition);
  for (int i = 0; i < 2; i++) {
    MlirBlock block = mlirBlockCreate(0, NULL, NULL);
    loom_builder b = loom_builder_at_end(block, m->b->loc);
    math inside = *m;
    inside.b = &b;
    make(&inside, i == 0, user, results);
    loom_build(&b, "scf.yield", count, results, 0, NULL, 0, NULL);
    regions[i] = mlirRegionCreate();
    mlirRegionAppendOwnedBlock(regions[i], block);
  }
  MlirOperation op = loom_build_regions(m->b, "scf.if", 1, &any, count, types, 0, NULL, 2, regions);
  for (intptr_t i = 0; i < count; i++)
    results[i] = loom_result(op, i);
}

static void shared_make(lower *l, struct math_shared *s, bool binary) {
  MlirLocation loc = mlirOperationGetLocation(l->kernel->op), locs[] = {loc, loc};
  MlirType types[] = {s->type, s->type};
  MlirBlock block = mlirBlockCreate(binary ? 2 : 1, types, locs);
  loom_builder b = loom_builder_at_end(block, loc);
  MlirValue x = mlirBlockGetArgument(block, 0), none = {NULL}, raised = none;
  math m = math_of(l, &b, x);
  m.raised = &raised;
  MlirValue result = math_inline(&m, s->code, x, binary ? mlirBlockGetArgument(block, 1) : none);
  MlirValue results[] = {result, raised};
  s->flags = raised.ptr != NULL;
  math_add_function(l, s->name, block, s->flags ? 2 : 1, results);
}

static struct math_shared *shared_get(lower *l, loom_opcode code, MlirType type, bool binary) {
  struct math_shared *s = l->shared;
  while (s && !(s->code == code && mlirTypeEqual(s->type, type)))
    s = s->next;
  if (s || !(s = loom_arena_alloc(l->arena, sizeof *s))) return s;
  *s = (struct math_shared){.next = l->shared, .code = code, .type = type};
  snprintf(s->name, sizeof s->name, "%.200s_%s_f%d_%d", l->symbol, loom_op_table[code].name,
           mlirTypeIsAF64(lane_element(type)) ? 64 : 32, (int)lane_width(type));
  shared_make(l, s, binary);
  return l->shared = s;
}

MlirValue math_shared(lower *l, loom_builder *b, loom_opcode code, MlirValue x, MlirValue y) {
  MlirType types[] = {mlirValueGetType(x), mlirIntegerTypeGet(b->ctx, 32)};
  struct math_shared *s = shared_get(l, code, types[0], y.ptr != NULL);
  if (!s) return (MlirValue){NULL};
  MlirValue operands[] = {x, y};
  MlirOperation call = math_call(b, s->name, y.ptr ? 2 : 1, operands, s->flags ? 2 : 1, types);
  if (s->flags) lower_flag_add(l, b, loom_result(call, 1));
  return loom_result(call, 0);
}
