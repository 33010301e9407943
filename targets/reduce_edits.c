/* Edits of loom-reduce (reduce.h). They keep types right, but not what a module means. */
#define _GNU_SOURCE
#include <mlir-c/BuiltinAttributes.h>
#include <mlir-c/BuiltinTypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/ir.h"
#include "loom_ops_shapes.h"
#include "targets/reduce.h"

/* ---- places ---- */

typedef struct reduce_place {
  MlirOperation op; /* a function, where it is a result or an argument of one */
  intptr_t index;
} reduce_place;

typedef struct reduce_places {
  reduce_kind kind;
  reduce_place *list;
  int count, capacity;
} reduce_places;

static void places_add(reduce_places *p, MlirOperation op, intptr_t index) {
  if (p->count == p->capacity) {
    int capacity = p->capacity * 2 + 64;
    reduce_place *grown = realloc(p->list, sizeof *grown * (size_t)capacity);
    if (!grown) return; /* fewer places are tried */
    p->list = grown;
    p->capacity = capacity;
  }
  p->list[p->count++] = (reduce_place){op, index};
}

static MlirBlock places_body(MlirOperation op) {
  return mlirOperationGetNumRegions(op) ? mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0))
                                        : (MlirBlock){NULL};
}

/* The return of a function of one block, or null. */
static MlirOperation places_return(MlirOperation op) {
  MlirOperation none = {NULL};
  if (!loom_is_named(op, "func.func") || !places_body(op).ptr) return none;
  MlirOperation last = mlirBlockGetTerminator(places_body(op));
  bool good = last.ptr && loom_is_named(last, "func.return") &&
              mlirBlockIsNull(mlirBlockGetNextInRegion(places_body(op)));
  return good ? last : none;
}

static bool places_is_used(MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!mlirOpOperandIsNull(mlirValueGetFirstUse(loom_result(op, i)))) return true;
  return false;
}

static bool places_is_last(MlirOperation op) {
  MlirOperation next = mlirOperationGetNextInBlock(op);
  return !next.ptr;
}

static void places_of_function(reduce_places *p, MlirOperation op) {
  MlirOperation last = places_return(op);
  if (!last.ptr) return;
  MlirBlock body = places_body(op);
  for (intptr_t i = 0; p->kind == REDUCE_RESULTS && i < mlirOperationGetNumOperands(last); i++)
    places_add(p, op, i);
  for (intptr_t i = 0; p->kind == REDUCE_INPUTS && i < mlirBlockGetNumArguments(body); i++)
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(mlirBlockGetArgument(body, i))))
      places_add(p, op, i);
}

static MlirWalkResult places_visit(MlirOperation op, void *user) {
  reduce_places *p = user;
  MlirOperation parent = mlirOperationGetParentOperation(op);
  if (!parent.ptr) return MlirWalkResultAdvance;
  bool results = mlirOperationGetNumResults(op) > 0,
       nested = mlirOperationGetParentOperation(parent).ptr;
  switch (p->kind) {
  case REDUCE_SYMBOLS:
    if (!nested) places_add(p, op, 0);
    return MlirWalkResultSkip;
  case REDUCE_RESULTS:
  case REDUCE_INPUTS: places_of_function(p, op); break;
  case REDUCE_REGIONS:
    for (intptr_t i = 0; nested && i < mlirOperationGetNumRegions(op); i++)
      places_add(p, op, i);
    break;
  case REDUCE_ARGUMENTS:
    if (results && places_return(parent).ptr) places_add(p, op, 0);
    break;
  case REDUCE_OPERANDS:
    if (results) places_add(p, op, 0);
    break;
  case REDUCE_CONSTANTS:
    if (results && places_is_used(op) && !loom_info(op)->constant) places_add(p, op, 0);
    break;
  default:
    if (nested && !places_is_used(op) && !places_is_last(op)) places_add(p, op, 0);
    break;
  }
  return MlirWalkResultAdvance;
}

static reduce_places places_find(MlirOperation module, reduce_kind kind) {
  reduce_places places = {.kind = kind};
  mlirOperationWalk(module, places_visit, &places, MlirWalkPreOrder);
  return places;
}

int reduce_count(MlirOperation module, reduce_kind kind) {
  reduce_places places = places_find(module, kind);
  free(places.list);
  return places.count;
}

/* ---- types of functions ---- */

/* A list of attributes without entry `removed`, and with `added` empty ones. */
static void edit_attributes(MlirOperation function, const char *name, intptr_t removed,
                            intptr_t added) {
  MlirContext ctx = mlirOperationGetContext(function);
  MlirAttribute list = loom_get_attr(function, name);
  if (!list.ptr || !mlirAttributeIsAArray(list)) return;
  intptr_t count = mlirArrayAttrGetNumElements(list), kept = 0;
  MlirAttribute *all = malloc(sizeof *all * (size_t)(count + added + 1));
  if (!all) return;
  for (intptr_t i = 0; i < count; i++)
    if (i != removed) all[kept++] = mlirArrayAttrGetElement(list, i);
  for (intptr_t i = 0; i < added; i++)
    all[kept++] = mlirDictionaryAttrGet(ctx, 0, NULL);
  loom_set_attr(function, name, mlirArrayAttrGet(ctx, kept, all));
  free(all);
}

/* The type of a function as its block and its return have it. */
static void edit_type(MlirOperation function) {
  MlirBlock body = places_body(function);
  MlirOperation last = places_return(function);
  intptr_t inputs = mlirBlockGetNumArguments(body), results = mlirOperationGetNumOperands(last);
  MlirType *types = malloc(sizeof *types * (size_t)(inputs + results + 1));
  if (!types) return;
  for (intptr_t i = 0; i < inputs; i++)
    types[i] = mlirValueGetType(mlirBlockGetArgument(body, i));
  for (intptr_t i = 0; i < results; i++)
    types[inputs + i] = mlirValueGetType(loom_operand(last, i));
  MlirType type = mlirFunctionTypeGet(mlirOperationGetContext(function), inputs, types, results,
                                      types + inputs);
  loom_set_attr(function, "function_type", mlirTypeAttrGet(type));
  free(types);
}

/* ---- edits: each false where it changes nothing ---- */

static bool edit_result(MlirOperation function, intptr_t index) {
  MlirOperation last = places_return(function);
  intptr_t count = mlirOperationGetNumOperands(last), kept = 0;
  MlirValue *values = malloc(sizeof *values * (size_t)(count + 1));
  if (!values) return false;
  for (intptr_t i = 0; i < count; i++)
    if (i != index) values[kept++] = loom_operand(last, i);
  mlirOperationSetOperands(last, kept, values);
  free(values);
  edit_attributes(function, "res_attrs", index, 0);
  edit_type(function);
  return true;
}

static bool edit_input(MlirOperation function, intptr_t index) {
  mlirBlockEraseArgument(places_body(function), (unsigned)index);
  edit_attributes(function, "arg_attrs", index, 0);
  edit_type(function);
  return true;
}

static bool edit_argument(MlirOperation op) {
  MlirOperation function = mlirOperationGetParentOperation(op);
  MlirBlock body = places_body(function);
  intptr_t added = 0;
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    MlirValue value = loom_result(op, i);
    if (mlirOpOperandIsNull(mlirValueGetFirstUse(value))) continue;
    MlirValue argument =
        mlirBlockAddArgument(body, mlirValueGetType(value), mlirOperationGetLocation(op));
    mlirValueReplaceAllUsesOfWith(value, argument);
    added++;
  }
  edit_attributes(function, "arg_attrs", -1, added);
  mlirOperationDestroy(op);
  edit_type(function);
  return true;
}

/* An operand of the op of this type, else an argument of its block. */
static MlirValue edit_find(MlirOperation op, MlirType type) {
  MlirBlock block = mlirOperationGetBlock(op);
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    if (mlirTypeEqual(mlirValueGetType(loom_operand(op, i)), type)) return loom_operand(op, i);
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    if (mlirTypeEqual(mlirValueGetType(mlirBlockGetArgument(block, i)), type))
      return mlirBlockGetArgument(block, i);
  return (MlirValue){NULL};
}

static MlirValue edit_zero(MlirOperation op, MlirType type) {
  loom_type known;
  if (!mlirTypeIsARankedTensor(type) || !loom_type_from_mlir(type, &known))
    return (MlirValue){NULL};
  loom_attr zero = {.kind = LOOM_ATTR_SCALAR};
  loom_builder b = loom_builder_before(op);
  loom_named value = {"value", loom_scalar_to_mlir(b.ctx, known.dtype, &zero)};
  return loom_result(loom_build_op(&b, LOOM_OP_CONSTANT, 0, NULL, 1, &type, 1, &value), 0);
}

/* All results have another value, and the op goes; false when one of them has none. */
static bool edit_replace(MlirOperation op, MlirValue (*make)(MlirOperation op, MlirType type)) {
  intptr_t count = mlirOperationGetNumResults(op);
  MlirValue *values = calloc((size_t)count + 1, sizeof *values);
  bool good = values != NULL;
  for (intptr_t i = 0; good && i < count; i++)
    good = (values[i] = make(op, mlirValueGetType(loom_result(op, i)))).ptr != NULL;
  for (intptr_t i = 0; good && i < count; i++)
    mlirValueReplaceAllUsesOfWith(loom_result(op, i), values[i]);
  if (good) mlirOperationDestroy(op);
  free(values);
  return good;
}

/* Something of this type in front of an op: its operand of this number, another one, or zeros. */
static MlirValue edit_instead(MlirOperation op, intptr_t number, MlirType type) {
  if (number < mlirOperationGetNumOperands(op) &&
      mlirTypeEqual(mlirValueGetType(loom_operand(op, number)), type))
    return loom_operand(op, number);
  MlirValue found = edit_find(op, type);
  return found.ptr ? found : edit_zero(op, type);
}

/* As if a loop had one iteration, or a branch were taken. */
static bool edit_region(MlirOperation op, intptr_t number) {
  MlirRegion region = mlirOperationGetRegion(op, number);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  MlirOperation last = block.ptr ? mlirBlockGetTerminator(block) : (MlirOperation){NULL};
  if (!last.ptr || !mlirBlockIsNull(mlirBlockGetNextInRegion(block))) return false;
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    MlirValue argument = mlirBlockGetArgument(block, i);
    MlirValue value = edit_instead(op, i, mlirValueGetType(argument));
    if (!value.ptr) return false;
    mlirValueReplaceAllUsesOfWith(argument, value);
  }
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++) {
    MlirType type = mlirValueGetType(loom_result(op, i));
    MlirValue value = edit_instead(last, i, type);
    if (!value.ptr) return false;
    mlirValueReplaceAllUsesOfWith(loom_result(op, i), value);
  }
  for (MlirOperation inner = mlirBlockGetFirstOperation(block), next;
       !mlirOperationEqual(inner, last); inner = next) {
    next = mlirOperationGetNextInBlock(inner);
    mlirOperationMoveBefore(inner, op);
  }
  mlirOperationDestroy(op);
  return true;
}

static bool edit_place(reduce_kind kind, const reduce_place *place) {
  switch (kind) {
  case REDUCE_RESULTS: return edit_result(place->op, place->index);
  case REDUCE_INPUTS: return edit_input(place->op, place->index);
  case REDUCE_REGIONS: return edit_region(place->op, place->index);
  case REDUCE_ARGUMENTS: return edit_argument(place->op);
  case REDUCE_OPERANDS: return edit_replace(place->op, edit_find);
  case REDUCE_CONSTANTS: return edit_replace(place->op, edit_zero);
  default: mlirOperationDestroy(place->op); return true;
  }
}

/* Is the op in one of those that are edited, and gone with it, or is it one of them itself? */
static bool edit_is_inside(const reduce_places *places, int first, int number) {
  for (int i = first; i < number; i++)
    if (mlirOperationEqual(places->list[i].op, places->list[number].op)) return true;
  for (MlirOperation around = mlirOperationGetParentOperation(places->list[number].op); around.ptr;
       around = mlirOperationGetParentOperation(around))
    for (int i = first; i < number; i++)
      if (mlirOperationEqual(places->list[i].op, around)) return true;
  return false;
}

/* Backwards, so that readers go before what they read; what lies in another place goes with it. */
bool reduce_edit(MlirOperation module, reduce_kind kind, int first, int count) {
  reduce_places places = places_find(module, kind);
  bool any = false, functions = kind == REDUCE_RESULTS || kind == REDUCE_INPUTS;
  int end = first + count < places.count ? first + count : places.count;
  for (int i = end; i-- > first;) {
    bool inside = !functions && edit_is_inside(&places, first, i);
    if (!inside) any |= edit_place(kind, &places.list[i]);
  }
  free(places.list);
  return any;
}
