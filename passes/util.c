/* What several passes ask of the IR: op classes, layouts of arguments and results, a pointer map.
 */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_reductions.h"
#include "loom_ops_shapes.h"
#include "passes/passes.h"

MlirOperation loom_main_function(MlirOperation module) {
  MlirOperation first = {NULL};
  if (mlirOperationGetNumRegions(module) != 1) return first;
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  if (mlirBlockIsNull(block)) return first;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!loom_is_named(op, "func.func")) continue;
    if (mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0)))) continue;
    if (loom_str_is(loom_get_str(op, "sym_name"), "main")) return op;
    if (!first.ptr) first = op;
  }
  return first;
}

/* Functions over pointers, which another compilation has lowered, are no functions to be compiled.
 */
static bool util_takes_tensors(MlirOperation function) {
  MlirAttribute attr = loom_get_attr(function, "function_type");
  MlirType type =
      attr.ptr && mlirAttributeIsAType(attr) ? mlirTypeAttrGetValue(attr) : (MlirType){NULL};
  if (!type.ptr || !mlirTypeIsAFunction(type)) return false;
  for (intptr_t i = 0; i < mlirFunctionTypeGetNumInputs(type); i++)
    if (!mlirTypeIsARankedTensor(mlirFunctionTypeGetInput(type, i))) return false;
  return true;
}

MlirOperation loom_next_function(MlirOperation module, MlirOperation previous) {
  MlirOperation main = loom_main_function(module), op;
  if (!previous.ptr || !main.ptr) return main;
  if (mlirOperationEqual(previous, main))
    op = mlirBlockGetFirstOperation(mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0)));
  else
    op = mlirOperationGetNextInBlock(previous);
  for (; op.ptr; op = mlirOperationGetNextInBlock(op))
    if (loom_is_named(op, "func.func") && !mlirOperationEqual(op, main) &&
        !mlirBlockIsNull(mlirRegionGetFirstBlock(mlirOperationGetRegion(op, 0))) &&
        util_takes_tensors(op))
      break;
  return op;
}

static MlirOperation util_next(MlirBlock body, MlirOperation previous, loom_opcode code) {
  MlirOperation op =
      previous.ptr ? mlirOperationGetNextInBlock(previous) : mlirBlockGetFirstOperation(body);
  while (op.ptr && !loom_is(op, code))
    op = mlirOperationGetNextInBlock(op);
  return op;
}

MlirOperation loom_next_plan(MlirBlock body, MlirOperation previous) {
  return util_next(body, previous, LOOM_OP_PLAN);
}

MlirOperation loom_next_launch(MlirBlock body, MlirOperation previous) {
  return util_next(body, previous, LOOM_OP_LAUNCH);
}

MlirOperation loom_product_in(MlirBlock body) {
  return util_next(body, (MlirOperation){NULL}, LOOM_OP_DOT_GENERAL);
}

bool loom_add_function(MlirOperation before, const loom_graph *graph, MlirAttribute name,
                       loom_error *err) {
  MlirModule module;
  if (!loom_import(mlirOperationGetContext(before), graph, &module, err)) return false;
  MlirOperation made = mlirBlockGetFirstOperation(mlirModuleGetBody(module));
  mlirOperationRemoveFromParent(made);
  mlirOperationSetAttributeByName(made, loom_str("sym_name"), name);
  mlirBlockInsertOwnedOperationBefore(mlirOperationGetBlock(before), before, made);
  mlirModuleDestroy(module);
  return true;
}

void loom_function_error(MlirOperation func, const loom_location *at, const char *what,
                         const loom_error *err) {
  MlirLocation loc = mlirOperationGetLocation(func);
  if (at->file)
    loc = mlirLocationFileLineColGet(mlirLocationGetContext(loc), loom_str(at->file),
                                     (unsigned)at->line, (unsigned)at->column);
  loom_emit_error(loc, "cannot %s: %s", what, err->message);
}

bool loom_replace_function(MlirOperation func, const loom_graph *graph, loom_error *err) {
  MlirOperation root = mlirOperationGetParentOperation(func);
  loom_sizes_leave(root);
  if (graph->symbol_count) loom_sizes_store(root, graph); /* indices of new loops among them */
  if (!loom_sizes_enter(root)) return loom_fail(err, "the sizes of the module cannot be read");
  if (!loom_add_function(func, graph, loom_get_attr(func, "sym_name"), err)) return false;
  mlirOperationDestroy(func);
  return true;
}

/* ---- classes ---- */

loom_class loom_class_of(MlirOperation op) {
  const loom_op_info *info = loom_info(op);
  bool alone = info->updates && loom_get_attr(op, loom_mark_inplace).ptr;
  return alone ? LOOM_CLASS_ALONE : info->fusion;
}

MlirOperation loom_overwriting(MlirBlock body) {
  for (MlirOperation op = mlirBlockGetFirstOperation(body); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_class_of(op) == LOOM_CLASS_ALONE && loom_info(op)->updates) return op;
  return (MlirOperation){NULL};
}

bool loom_is_read_last(MlirValue value, MlirOperation here) {
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    if (mlirOperationEqual(user, here)) continue;
    if (!mlirOperationIsBeforeInBlock(user, here)) return false;
    if (loom_class_of(user) == LOOM_CLASS_VIEW && !loom_is_read_last(loom_result(user, 0), here))
      return false;
  }
  return true;
}

bool loom_is_splat(MlirValue value) {
  MlirOperation def = loom_def(value);
  if (!def.ptr) return false;
  return loom_info(def)->constant ||
         (loom_is(def, LOOM_OP_BROADCAST) &&
          mlirShapedTypeGetRank(mlirValueGetType(loom_operand(def, 0))) == 0);
}

/* ---- dead ops ---- */

bool loom_checks_indices(MlirOperation op) {
  if (!loom_info(op)->indexed) return false;
  return !loom_get_attr(op, "mode").ptr || loom_str_is(loom_get_str(op, "mode"), "raise");
}

static bool util_is_dead(MlirOperation op) {
  switch (loom_class_of(op)) {
  case LOOM_CLASS_OTHER:
  case LOOM_CLASS_HOST:
  case LOOM_CLASS_ALONE: return false;
  default:
    return !loom_checks_indices(op) && mlirOperationGetNumResults(op) == 1 &&
           mlirOpOperandIsNull(mlirValueGetFirstUse(loom_result(op, 0)));
  }
}

void loom_sweep(MlirBlock block) {
  size_t count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    count++;
  MlirOperation *ops = malloc(sizeof *ops * (count + 1));
  if (!ops) return; /* nothing depends on it */
  count = 0;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    ops[count++] = op;
  while (count--)
    if (util_is_dead(ops[count])) mlirOperationDestroy(ops[count]);
  free(ops);
}

/* ---- options ---- */

MlirAttribute loom_option(MlirOperation op, const char *name) {
  for (; op.ptr; op = mlirOperationGetParentOperation(op)) {
    MlirAttribute attr = loom_get_attr(op, name);
    if (attr.ptr) return attr;
  }
  return mlirAttributeGetNull();
}

bool loom_is_for_gpu(MlirOperation op) {
  MlirAttribute target = loom_option(op, loom_mark_target);
  return target.ptr && mlirAttributeIsAString(target) &&
         (loom_str_is(mlirStringAttrGetValue(target), "nvptx") ||
          loom_str_is(mlirStringAttrGetValue(target), "amdgpu") ||
          loom_str_is(mlirStringAttrGetValue(target), "sim"));
}

bool loom_is_simulated(MlirOperation op) {
  MlirAttribute target = loom_option(op, loom_mark_target);
  return target.ptr && mlirAttributeIsAString(target) &&
         loom_str_is(mlirStringAttrGetValue(target), "sim");
}

/* ---- layouts ---- */

static MlirAttribute util_argument_attr(MlirOperation function, const char *list, intptr_t index,
                                        const char *name) {
  MlirAttribute attrs = loom_get_attr(function, list);
  if (!attrs.ptr || !mlirAttributeIsAArray(attrs) || index >= mlirArrayAttrGetNumElements(attrs))
    return mlirAttributeGetNull();
  MlirAttribute dictionary = mlirArrayAttrGetElement(attrs, index);
  if (!mlirAttributeIsADictionary(dictionary)) return mlirAttributeGetNull();
  return mlirDictionaryAttrGetElementByName(dictionary, loom_str(name));
}

static void util_strides(MlirAttribute attr, const loom_type *type, int64_t *out) {
  loom_plain_strides(type, out);
  int64_t given[LOOM_MAX_RANK];
  if (loom_attr_read_i64s(attr, given, LOOM_MAX_RANK) == type->rank)
    memcpy(out, given, sizeof given[0] * (size_t)type->rank);
}

void loom_argument_strides(MlirOperation function, intptr_t index, const loom_type *type,
                           int64_t *out) {
  util_strides(util_argument_attr(function, "arg_attrs", index, loom_mark_strides), type, out);
}

bool loom_strides_fit_plain(const loom_type *type, const int64_t *strides) {
  int64_t plain[LOOM_MAX_RANK];
  if (!loom_plain_strides(type, plain)) return false;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] != 0 && type->dims[i] != 1 && strides[i] != plain[i]) return false;
  return true;
}

void loom_result_strides(MlirOperation function, intptr_t index, const loom_type *type,
                         int64_t *out) {
  util_strides(util_argument_attr(function, "res_attrs", index, loom_mark_strides), type, out);
  if (loom_strides_fit_plain(type, out)) loom_plain_strides(type, out);
}

bool loom_order_strides(const loom_type *type, const int64_t *order, int64_t *out) {
  int64_t stride = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    out[order[i]] = stride;
    stride = loom_num_mul(stride, loom_num_dim(type->dims[order[i]]));
  }
  for (int d = 0; d < type->rank; d++)
    if (!loom_num_known(out[d])) return false;
  return true;
}

/* The only op that uses a value, as operand `number`; or null. */
static MlirOperation util_only_user(MlirValue value, intptr_t *number) {
  MlirOpOperand use = mlirValueGetFirstUse(value);
  if (mlirOpOperandIsNull(use) || !mlirOpOperandIsNull(mlirOpOperandGetNextUse(use)))
    return (MlirOperation){NULL};
  *number = mlirOpOperandGetOperandNumber(use);
  return mlirOpOperandGetOwner(use);
}

bool loom_reshaped_strides(MlirOperation function, MlirValue value, const loom_type *type,
                           int64_t *out) {
  intptr_t number = 0;
  loom_type to;
  int64_t asked[LOOM_MAX_RANK];
  MlirOperation reshape = util_only_user(value, &number);
  if (!reshape.ptr || !loom_info(reshape)->alias) return false;
  MlirOperation user = util_only_user(loom_result(reshape, 0), &number);
  if (!user.ptr || !loom_is_named(user, "func.return") ||
      !loom_type_from_mlir(mlirValueGetType(loom_result(reshape, 0)), &to) ||
      !loom_type_is_sized(&to))
    return false;
  loom_result_strides(function, number, &to, asked);
  return !loom_strides_fit_plain(&to, asked) && loom_reshape_strides(&to, asked, type, out);
}

/* The strides of a value that a group or kernel makes: in C order where loom-layout says nothing.
 */
static void util_made_strides(MlirValue value, const loom_type *type, int64_t *out) {
  MlirAttribute orders = loom_get_attr(loom_def(value), loom_mark_orders);
  intptr_t number = mlirOpResultGetResultNumber(value);
  int64_t order[LOOM_MAX_RANK];
  bool listed = orders.ptr && mlirAttributeIsAArray(orders) &&
                number < mlirArrayAttrGetNumElements(orders) && type->rank > 0 &&
                loom_attr_read_i64s(mlirArrayAttrGetElement(orders, number), order,
                                    LOOM_MAX_RANK) == type->rank;
  uint32_t seen = 0;
  for (int i = 0; listed && i < type->rank; i++)
    if (order[i] >= 0 && order[i] < type->rank) seen |= 1u << order[i];
  if (!listed || seen != (1u << type->rank) - 1 || !loom_order_strides(type, order, out))
    loom_plain_strides(type, out);
}

void loom_value_strides(MlirOperation function, MlirValue value, const loom_type *type,
                        int64_t *out) {
  if (mlirValueIsABlockArgument(value)) {
    loom_argument_strides(function, mlirBlockArgumentGetArgNumber(value), type, out);
    return;
  }
  intptr_t returned = -1;
  bool reshaped = false;
  for (MlirOpOperand use = mlirValueGetFirstUse(value); !mlirOpOperandIsNull(use);
       use = mlirOpOperandGetNextUse(use)) {
    MlirOperation user = mlirOpOperandGetOwner(use);
    intptr_t number = mlirOpOperandGetOperandNumber(use);
    reshaped |= loom_info(user)->alias;
    if (loom_is_named(user, "func.return") && (returned < 0 || number < returned))
      returned = number;
  }
  if (reshaped && (returned >= 0 || !loom_reshaped_strides(function, value, type, out)))
    loom_plain_strides(type, out);
  else if (reshaped)
    return;
  else if (returned < 0)
    util_made_strides(value, type, out);
  else
    loom_result_strides(function, returned, type, out);
}

int64_t loom_result_overwrites(MlirOperation function, intptr_t index) {
  MlirAttribute attr = util_argument_attr(function, "res_attrs", index, loom_mark_overwrites);
  if (!attr.ptr || !mlirAttributeIsAInteger(attr)) return -1;
  int64_t argument = mlirIntegerAttrGetValueInt(attr);
  MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(function, 0));
  return argument < mlirBlockGetNumArguments(block) ? argument : -1;
}

bool loom_strides_are_contiguous(const loom_type *type, const int64_t *strides) {
  int64_t plain[LOOM_MAX_RANK];
  return loom_plain_strides(type, plain) &&
         !memcmp(plain, strides, sizeof *plain * (size_t)type->rank);
}

static bool util_holds(MlirAttribute attr) {
  return attr.ptr && !(mlirAttributeIsABool(attr) && !mlirBoolAttrGetValue(attr));
}

bool loom_argument_has(MlirOperation function, intptr_t index, const char *name) {
  return util_holds(util_argument_attr(function, "arg_attrs", index, name));
}

bool loom_result_has(MlirOperation function, intptr_t index, const char *name) {
  return util_holds(util_argument_attr(function, "res_attrs", index, name));
}

/* The end of a run of equal products; false when there is none that can be told. */
static bool util_run(const loom_type *in, const loom_type *out, int *i, int *o) {
  int64_t pi = *i < in->rank ? loom_num_dim(in->dims[(*i)++]) : 1;
  int64_t po = *o < out->rank ? loom_num_dim(out->dims[(*o)++]) : 1, ratio;
  while (pi != po) {
    bool less = LOOM_STRIDE_IS_SYM(pi) || LOOM_STRIDE_IS_SYM(po) ? !loom_num_divide(pi, po, &ratio)
                                                                 : pi < po;
    if (less && *i < in->rank)
      pi = loom_num_mul(pi, loom_num_dim(in->dims[(*i)++]));
    else if (!less && *o < out->rank)
      po = loom_num_mul(po, loom_num_dim(out->dims[(*o)++]));
    else
      return false;
  }
  return true;
}

/* Cuts both lists of sizes into runs of equal products; a run works when its input dimensions are
 * contiguous among themselves. */
bool loom_reshape_strides(const loom_type *in, const int64_t *in_strides, const loom_type *out,
                          int64_t *out_strides) {
  if (loom_num_elements(in) == 0) return loom_plain_strides(out, out_strides);
  int i = 0, o = 0;
  while (i < in->rank || o < out->rank) {
    int first = i, start = o;
    if (!util_run(in, out, &i, &o)) return false;
    int64_t stride = 1, next = 0;
    bool known = false;
    for (int k = i - 1; k >= first; k--) {
      if (in->dims[k] == 1) continue;
      if (known && in_strides[k] != next) return false;
      if (!known) stride = in_strides[k];
      known = true;
      next = loom_num_mul(in_strides[k], loom_num_dim(in->dims[k]));
    }
    for (int k = o - 1; k >= start; k--) {
      out_strides[k] = stride;
      stride = loom_num_mul(stride, loom_num_dim(out->dims[k]));
    }
  }
  return true;
}

/* ---- a pointer map: open addressing, at most half full ---- */

static size_t util_slot(const loom_map *map, const void *key) {
  size_t mask = map->capacity - 1;
  size_t slot = (size_t)(((uintptr_t)key >> 4) * 0x9e3779b97f4a7c15ull >> 32) & mask;
  while (map->keys[slot] && map->keys[slot] != key)
    slot = (slot + 1) & mask;
  return slot;
}

static bool util_grow(loom_map *map) {
  loom_map larger = {.capacity = map->capacity ? map->capacity * 2 : 64, .count = map->count};
  larger.keys = calloc(larger.capacity, sizeof *larger.keys);
  larger.values = calloc(larger.capacity, sizeof *larger.values);
  if (!larger.keys || !larger.values) {
    loom_map_fini(&larger);
    return false;
  }
  for (size_t i = 0; i < map->capacity; i++) {
    if (!map->keys[i]) continue;
    size_t slot = util_slot(&larger, map->keys[i]);
    larger.keys[slot] = map->keys[i];
    larger.values[slot] = map->values[i];
  }
  loom_map_fini(map);
  *map = larger;
  return true;
}

bool loom_map_put(loom_map *map, const void *key, int64_t value) {
  if (map->count * 2 >= map->capacity && !util_grow(map)) return false;
  size_t slot = util_slot(map, key);
  map->count += !map->keys[slot];
  map->keys[slot] = key;
  map->values[slot] = value;
  return true;
}

int64_t loom_map_get(const loom_map *map, const void *key, int64_t otherwise) {
  if (!map->capacity) return otherwise;
  size_t slot = util_slot(map, key);
  return map->keys[slot] ? map->values[slot] : otherwise;
}

void loom_map_fini(loom_map *map) {
  free(map->keys);
  free(map->values);
  *map = (loom_map){0};
}
