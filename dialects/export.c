/* From MLIR back to plain C: the view of one op that the shape rules and the interpreter take, and
 * a whole function as a graph. */
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_control.h"

static bool export_ints(loom_graph *graph, MlirAttribute attr, loom_attr *out) {
  intptr_t count = loom_attr_read_i64s(attr, NULL, 0);
  if (count < 0 || count > INT32_MAX) return false;
  int64_t *ints = loom_arena_alloc(&graph->arena, sizeof *ints * (size_t)count);
  if (!ints) return false;
  for (intptr_t i = 0; i < count; i++) {
    ints[i] = mlirDenseI64ArrayGetElement(attr, i);
    if (!loom_number_exists(graph, ints[i])) return false;
  }
  out->count = (int32_t)count;
  out->ints = ints;
  return true;
}

static bool export_text(loom_arena *arena, MlirAttribute attr, loom_attr *out) {
  if (!mlirAttributeIsAString(attr)) return false;
  MlirStringRef text = mlirStringAttrGetValue(attr);
  char *copy = loom_arena_alloc(arena, text.length + 1);
  if (copy) memcpy(copy, text.data, text.length);
  out->str = copy;
  return copy != NULL;
}

static bool export_attr(loom_graph *graph, MlirAttribute attr, loom_attr_kind kind,
                        loom_dtype result, loom_attr *out) {
  loom_dtype dtype;
  memset(out, 0, sizeof *out);
  out->kind = kind;
  if (!attr.ptr) return false;
  switch (kind) {
  case LOOM_ATTR_I64:
    if (!mlirAttributeIsAInteger(attr)) return false;
    out->i = mlirIntegerAttrGetValueInt(attr);
    return true;
  case LOOM_ATTR_I64S: return export_ints(graph, attr, out);
  case LOOM_ATTR_BOOL:
    if (!mlirAttributeIsABool(attr)) return false;
    out->i = mlirBoolAttrGetValue(attr);
    return true;
  case LOOM_ATTR_STR: return export_text(&graph->arena, attr, out);
  case LOOM_ATTR_SCALAR: return loom_scalar_from_mlir(attr, result, out);
  case LOOM_ATTR_DTYPE:
    if (!mlirAttributeIsAType(attr) || !loom_dtype_from_mlir(mlirTypeAttrGetValue(attr), &dtype))
      return false;
    out->i = dtype;
    return true;
  case LOOM_ATTR_NONE: break;
  }
  return false;
}

static bool export_type(loom_graph *graph, MlirType type, loom_type *out, loom_error *err) {
  if (loom_type_from_mlir_in(graph, type, out)) return true;
  if (loom_type_from_mlir(type, out))
    return loom_fail(err, "a dynamic size needs an expression: an affine map over symbols as the "
                          "tensor type's encoding");
  return loom_fail(err,
                   "the type is no tensor of a loom element type, a rank up to %d and fewer than "
                   "2^63 bytes",
                   LOOM_MAX_RANK);
}

static bool export_attrs(loom_graph *graph, MlirOperation op, MlirAttribute dict, loom_dtype dtype,
                         loom_exported *out, loom_error *err) {
  const loom_op_info *info = &loom_op_table[out->view.op];
  memset(out->attrs, 0, sizeof out->attrs);
  for (int i = 0; i < LOOM_MAX_ATTRS && info->attrs[i].name; i++, out->attr_count++) {
    MlirAttribute attr =
        op.ptr ? loom_get_attr(op, info->attrs[i].name)
               : mlirDictionaryAttrGetElementByName(dict, loom_str(info->attrs[i].name));
    if (!attr.ptr && info->regions && out->view.op != LOOM_OP_IF) { /* its only one has a default */
      out->attrs[i] = (loom_attr){.kind = LOOM_ATTR_I64, .i = -1};
      continue;
    }
    if (!export_attr(graph, attr, info->attrs[i].kind, dtype, &out->attrs[i]))
      return loom_fail(err, "attribute '%s' is missing or of the wrong type", info->attrs[i].name);
  }
  out->view.attrs = out->attrs;
  return true;
}

static bool export_bad_table(loom_error *err) {
  return loom_fail(err, "loom.symbols and loom.exprs are no table of sizes");
}

/* The op that makes a value or whose region takes it. */
static MlirOperation export_around(MlirValue value) {
  MlirOperation def = loom_def(value);
  if (def.ptr) return def;
  return mlirBlockGetParentOperation(mlirBlockArgumentGetOwner(value));
}

bool loom_export_op(MlirOperation op, loom_graph *graph, loom_exported *out, loom_error *err) {
  memset(out, 0, sizeof *out);
  if (!loom_opcode_of(op, &out->view.op)) return loom_fail(err, "the op is not in the op table");
  if (!graph->expr_count && !loom_sizes_load(op, graph)) return export_bad_table(err);
  intptr_t operands = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  loom_type *types =
      loom_arena_alloc(&graph->arena, sizeof *types * (size_t)(operands + results + 1));
  if (!types) return loom_fail(err, "out of memory");
  for (intptr_t i = 0; i < operands; i++)
    if (!export_type(graph, mlirValueGetType(loom_operand(op, i)), &types[i], err)) return false;
  out->results = types + operands;
  out->result_count = (uint32_t)results;
  for (intptr_t i = 0; i < results; i++)
    if (!export_type(graph, mlirValueGetType(loom_result(op, i)), &out->results[i], err))
      return false;
  out->view.operands = types;
  out->view.operand_count = (uint32_t)operands;
  return export_attrs(graph, op, (MlirAttribute){NULL}, results ? out->results[0].dtype : LOOM_BOOL,
                      out, err);
}

bool loom_export_operands(MlirStringRef name, intptr_t count, const MlirValue *operands,
                          MlirAttribute attrs, loom_graph *graph, loom_exported *out,
                          loom_error *err) {
  memset(out, 0, sizeof *out);
  if (!loom_opcode_of_name(name, &out->view.op))
    return loom_fail(err, "the op is not in the op table");
  MlirOperation around = count ? export_around(operands[0]) : (MlirOperation){NULL};
  if (around.ptr && !graph->expr_count && !loom_sizes_load(around, graph))
    return export_bad_table(err);
  loom_type *types = loom_arena_alloc(&graph->arena, sizeof *types * (size_t)(count + 1));
  if (!types) return loom_fail(err, "out of memory");
  for (intptr_t i = 0; i < count; i++)
    if (!export_type(graph, mlirValueGetType(operands[i]), &types[i], err)) return false;
  out->view.operands = types;
  out->view.operand_count = (uint32_t)count;
  return export_attrs(graph, (MlirOperation){NULL}, attrs, LOOM_BOOL, out, err);
}

/* ---- a function as a graph ---- */

typedef struct export_map {
  MlirValue from;
  loom_value to;
} export_map;

/* Values of the graphs around a region that it reads, in the order of its last inputs. */
typedef struct export_outside {
  MlirValue *values;
  loom_value *outer; /* in the graph around */
  uint32_t count, capacity;
} export_outside;

typedef struct export_state {
  loom_graph *graph;
  struct export_state *outer; /* NULL for the function */
  export_outside *outside;    /* of a region */
  export_map *slots; /* open addressing by the value's address; a power of two, at most half full */
  size_t capacity, count;
  loom_error *err;
} export_state;

static size_t export_slot(const export_state *s, MlirValue value) {
  size_t i = ((uintptr_t)value.ptr >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
  for (i &= s->capacity - 1; s->slots[i].from.ptr && s->slots[i].from.ptr != value.ptr;)
    i = (i + 1) & (s->capacity - 1);
  return i;
}

static bool export_grow(export_state *s) {
  export_map *old = s->slots;
  size_t capacity = s->capacity;
  s->capacity = capacity ? capacity * 2 : 16;
  s->slots = loom_arena_alloc(&s->graph->arena, sizeof *s->slots * s->capacity);
  if (!s->slots) return loom_fail(s->err, "out of memory");
  for (size_t i = 0; i < capacity; i++)
    if (old[i].from.ptr) s->slots[export_slot(s, old[i].from)] = old[i];
  return true;
}

static bool export_bind(export_state *s, MlirValue from, loom_value to) {
  if (2 * s->count >= s->capacity && !export_grow(s)) return false;
  s->slots[export_slot(s, from)] = (export_map){from, to};
  s->count++;
  return true;
}

/* Makes a value from outside of the region an input of the region. */
static bool export_enter(export_state *s, MlirValue value, loom_value outer, loom_value *out) {
  loom_type type = *loom_graph_type(s->outer->graph, outer);
  *out = loom_graph_input(s->graph, LOOM_INPUT_ARRAY, &type, NULL);
  if (*out == LOOM_NO_VALUE) return loom_fail(s->err, "out of memory");
  return export_bind(s, value, *out);
}

static bool export_add_outside(export_state *s, MlirValue value, loom_value outer) {
  export_outside *o = s->outside;
  if (o->count == o->capacity) {
    uint32_t capacity = o->capacity ? o->capacity * 2 : 8;
    loom_arena *arena = &s->outer->graph->arena;
    MlirValue *values = loom_arena_alloc(arena, sizeof *values * capacity);
    loom_value *outers = loom_arena_alloc(arena, sizeof *outers * capacity);
    if (!values || !outers) return loom_fail(s->err, "out of memory");
    if (o->count) {
      memcpy(values, o->values, sizeof *values * o->count);
      memcpy(outers, o->outer, sizeof *outers * o->count);
    }
    *o = (export_outside){values, outers, o->count, capacity};
  }
  o->values[o->count] = value;
  o->outer[o->count++] = outer;
  return true;
}

static bool export_find(export_state *s, MlirValue value, loom_value *out) {
  const export_map *slot = s->capacity ? &s->slots[export_slot(s, value)] : NULL;
  if (slot && slot->from.ptr) {
    *out = slot->to;
    return true;
  }
  loom_value outer = LOOM_NO_VALUE;
  if (!s->outer) return loom_fail(s->err, "an operand is defined outside the function");
  return export_find(s->outer, value, &outer) && export_add_outside(s, value, outer) &&
         export_enter(s, value, outer, out);
}

static bool export_results(export_state *s, MlirOperation op, loom_value first) {
  for (intptr_t i = 0; i < mlirOperationGetNumResults(op); i++)
    if (!export_bind(s, loom_result(op, i), first + (loom_value)i)) return false;
  return true;
}

static bool export_operands(export_state *s, MlirOperation op, loom_value *out) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++)
    if (!export_find(s, loom_operand(op, i), &out[i])) return false;
  return true;
}

static bool export_region_node(export_state *s, MlirOperation op, loom_opcode code);

static bool export_node(export_state *s, MlirOperation op) {
  loom_exported e;
  loom_opcode code;
  if (loom_opcode_of(op, &code) && loom_op_table[code].regions)
    return export_region_node(s, op, code);
  if (!loom_export_op(op, s->graph, &e, s->err)) return false;
  loom_value *operands =
      loom_arena_alloc(&s->graph->arena, sizeof *operands * e.view.operand_count);
  if (!operands) return loom_fail(s->err, "out of memory");
  if (!export_operands(s, op, operands)) return false;
  loom_value first = loom_graph_node(s->graph, e.view.op, operands, e.view.operand_count, e.attrs,
                                     e.attr_count, e.results, e.result_count, NULL, s->err);
  if (first == LOOM_NO_VALUE) return false;
  s->graph->nodes[s->graph->values[first].node].location.checkpoint =
      (int32_t)loom_get_i64(op, loom_mark_checkpoint, 0);
  return export_results(s, op, first);
}

/* ---- regions (graph.h says how their inputs pair up with operands) ---- */

static bool export_region_block(export_state *s, MlirBlock block) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    loom_type type;
    MlirValue argument = mlirBlockGetArgument(block, i);
    if (!export_type(s->graph, mlirValueGetType(argument), &type, s->err)) return false;
    loom_value input = loom_graph_input(s->graph, LOOM_INPUT_ARRAY, &type, NULL);
    if (input == LOOM_NO_VALUE) return loom_fail(s->err, "out of memory");
    if (!export_bind(s, argument, input)) return false;
  }
  for (uint32_t i = 0; i < s->outside->count; i++) { /* what an earlier region reads */
    loom_value ignored;
    if (!export_enter(s, s->outside->values[i], s->outside->outer[i], &ignored)) return false;
  }
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (!loom_info(op)->ends) {
      if (!export_node(s, op)) return false;
      continue;
    }
    for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
      loom_value value = LOOM_NO_VALUE;
      if (!export_find(s, loom_operand(op, i), &value)) return false;
      if (!loom_graph_output(s->graph, value, NULL)) return loom_fail(s->err, "out of memory");
    }
  }
  return true;
}

/* All regions have the same inputs: a value that a later region reads becomes an input of the
 * earlier ones, too. */
static bool export_level(export_state *s, loom_graph *region, uint32_t own) {
  for (uint32_t i = region->input_count - own; i < s->outside->count; i++) {
    loom_type type = *loom_graph_type(s->outer->graph, s->outside->outer[i]);
    if (loom_graph_input(region, LOOM_INPUT_ARRAY, &type, NULL) == LOOM_NO_VALUE)
      return loom_fail(s->err, "out of memory");
  }
  return true;
}

static bool export_regions(export_state *s, MlirOperation op, loom_opcode code,
                           export_outside *outside, loom_graph *regions) {
  uint32_t own = 0;
  export_state inner = {.outer = s, .outside = outside, .err = s->err};
  for (int r = 0; r < loom_op_table[code].regions; r++) {
    MlirBlock block = mlirRegionGetFirstBlock(mlirOperationGetRegion(op, r));
    loom_region_init(&regions[r], r ? &regions[r - 1] : s->graph);
    inner.graph = &regions[r];
    inner.slots = NULL;
    inner.capacity = inner.count = 0;
    if (!block.ptr || mlirBlockGetNextInRegion(block).ptr)
      return loom_fail(s->err, "a region has not exactly one block");
    own = (uint32_t)mlirBlockGetNumArguments(block);
    if (!export_region_block(&inner, block)) return false;
  }
  return loom_op_table[code].regions < 2 || export_level(&inner, &regions[0], own);
}

static bool export_region_node(export_state *s, MlirOperation op, loom_opcode code) {
  export_outside outside = {0};
  loom_graph regions[2] = {0};
  intptr_t count = mlirOperationGetNumOperands(op);
  bool good = export_regions(s, op, code, &outside, regions);
  loom_value *operands =
      loom_arena_alloc(&s->graph->arena, sizeof *operands * ((size_t)count + outside.count));
  if (!operands) loom_fail(s->err, "out of memory");
  good = good && operands && export_operands(s, op, operands);
  for (uint32_t i = 0; good && i < outside.count; i++)
    operands[count + i] = outside.outer[i];
  loom_value first = LOOM_NO_VALUE;
  if (good)
    first = loom_graph_region_node(s->graph, code, operands, (uint32_t)count + outside.count,
                                   regions, loom_get_i64(op, "symbol", -1), NULL, s->err);
  else
    for (int r = 0; r < 2; r++)
      loom_graph_fini(&regions[r]);
  return first != LOOM_NO_VALUE && export_results(s, op, first);
}

/* ---- functions ---- */

/* The attributes of an argument ("arg_attrs") or a result ("res_attrs"); null where it has none. */
static MlirAttribute export_dict(MlirOperation func, const char *list, intptr_t index) {
  MlirAttribute all = loom_get_attr(func, list);
  bool there = all.ptr && mlirAttributeIsAArray(all) && index < mlirArrayAttrGetNumElements(all);
  return there ? mlirArrayAttrGetElement(all, index) : (MlirAttribute){NULL};
}

static bool export_has(MlirAttribute attrs, const char *name) {
  return attrs.ptr && mlirDictionaryAttrGetElementByName(attrs, loom_str(name)).ptr;
}

static bool export_input(export_state *s, MlirOperation func, MlirValue value, intptr_t index) {
  loom_type type;
  if (!export_type(s->graph, mlirValueGetType(value), &type, s->err)) return false;
  loom_input_kind kind = LOOM_INPUT_ARRAY;
  int64_t strides[LOOM_MAX_RANK];
  bool strided = false;
  MlirAttribute attrs = export_dict(func, "arg_attrs", index);
  if (export_has(attrs, loom_mark_scalar)) kind = LOOM_INPUT_SCALAR;
  if (export_has(attrs, loom_mark_const)) kind = LOOM_INPUT_CONST;
  if (export_has(attrs, loom_mark_strides)) {
    MlirAttribute list = mlirDictionaryAttrGetElementByName(attrs, loom_str(loom_mark_strides));
    strided = loom_attr_read_i64s(list, strides, LOOM_MAX_RANK) == type.rank;
  }
  loom_value input = loom_graph_input(s->graph, kind, &type, strided ? strides : NULL);
  if (input == LOOM_NO_VALUE)
    return loom_fail(s->err, "argument %d cannot be an input", (int)index);
  s->graph->inputs[index].given = export_has(attrs, loom_mark_given);
  return export_bind(s, value, input);
}

static bool export_outputs(export_state *s, MlirOperation func, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    loom_value value = LOOM_NO_VALUE;
    if (!export_find(s, loom_operand(terminator, i), &value) ||
        !loom_graph_output(s->graph, value, NULL))
      return loom_fail(s->err, "result %d cannot be an output", (int)i);
    s->graph->outputs[i].lent = export_has(export_dict(func, "res_attrs", i), loom_mark_lent);
  }
  return true;
}

static bool export_block(export_state *s, MlirOperation func, MlirBlock block) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    if (!export_input(s, func, mlirBlockGetArgument(block, i), i)) return false;
  MlirOperation op = mlirBlockGetFirstOperation(block), next;
  for (; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (!next.ptr) return export_outputs(s, func, op);
    if (!export_node(s, op)) return false;
  }
  return loom_fail(s->err, "the function has no terminator");
}

bool loom_export(MlirOperation func, loom_graph *graph, loom_error *err) {
  loom_graph_init(graph);
  if (!loom_sizes_load(func, graph)) return export_bad_table(err);
  MlirRegion region = mlirOperationGetRegion(func, 0);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (!block.ptr || mlirBlockGetNextInRegion(block).ptr)
    return loom_fail(err, "the function has not exactly one block");
  export_state s = {.graph = graph, .err = err};
  return export_block(&s, func, block);
}
