/* From MLIR back to plain C: the view of one op that the shape rules and the interpreter take, and
 * a whole function as a graph. */
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"

static bool export_ints(loom_arena *arena, MlirAttribute attr, loom_attr *out) {
  intptr_t count = loom_attr_read_i64s(attr, NULL, 0);
  if (count < 0 || count > INT32_MAX) return false;
  int64_t *ints = loom_arena_alloc(arena, sizeof *ints * (size_t)count);
  if (!ints) return false;
  loom_attr_read_i64s(attr, ints, count);
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

static bool export_attr(loom_arena *arena, MlirAttribute attr, loom_attr_kind kind,
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
  case LOOM_ATTR_I64S: return export_ints(arena, attr, out);
  case LOOM_ATTR_BOOL:
    if (!mlirAttributeIsABool(attr)) return false;
    out->i = mlirBoolAttrGetValue(attr);
    return true;
  case LOOM_ATTR_STR: return export_text(arena, attr, out);
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
  return loom_fail(err, "the type is no tensor of a loom element type and a rank up to %d",
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
    if (!export_attr(&graph->arena, attr, info->attrs[i].kind, dtype, &out->attrs[i]))
      return loom_fail(err, "attribute '%s' is missing or of the wrong type", info->attrs[i].name);
  }
  out->view.attrs = out->attrs;
  return true;
}

bool loom_export_op(MlirOperation op, loom_graph *graph, loom_exported *out, loom_error *err) {
  memset(out, 0, sizeof *out);
  if (!loom_opcode_of(op, &out->view.op)) return loom_fail(err, "the op is not in the op table");
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

typedef struct export_state {
  loom_graph *graph;
  export_map *slots; /* open addressing by the value's address; a power of two, at most half full */
  size_t capacity;
  loom_error *err;
} export_state;

static size_t export_slot(const export_state *s, MlirValue value) {
  size_t i = ((uintptr_t)value.ptr >> 3) * UINT64_C(0x9E3779B97F4A7C15) >> 20;
  for (i &= s->capacity - 1; s->slots[i].from.ptr && s->slots[i].from.ptr != value.ptr;)
    i = (i + 1) & (s->capacity - 1);
  return i;
}

static void export_bind(export_state *s, MlirValue from, loom_value to) {
  s->slots[export_slot(s, from)] = (export_map){from, to};
}

static bool export_node(export_state *s, MlirOperation op) {
  loom_exported e;
  if (!loom_export_op(op, s->graph, &e, s->err)) return false;
  loom_value *operands =
      loom_arena_alloc(&s->graph->arena, sizeof *operands * e.view.operand_count);
  if (!operands) return loom_fail(s->err, "out of memory");
  for (uint32_t i = 0; i < e.view.operand_count; i++) {
    const export_map *slot = &s->slots[export_slot(s, loom_operand(op, i))];
    if (!slot->from.ptr) return loom_fail(s->err, "an operand is defined outside the block");
    operands[i] = slot->to;
  }
  loom_value first = loom_graph_node(s->graph, e.view.op, operands, e.view.operand_count, e.attrs,
                                     e.attr_count, e.results, e.result_count, NULL, s->err);
  if (first == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < e.result_count; i++)
    export_bind(s, loom_result(op, i), first + i);
  return true;
}

static bool export_input(export_state *s, MlirOperation func, MlirValue value, intptr_t index) {
  loom_type type;
  if (!export_type(s->graph, mlirValueGetType(value), &type, s->err)) return false;
  loom_input_kind kind = LOOM_INPUT_ARRAY;
  int64_t strides[LOOM_MAX_RANK];
  bool strided = false;
  MlirAttribute all = loom_get_attr(func, "arg_attrs");
  if (all.ptr && mlirAttributeIsAArray(all) && index < mlirArrayAttrGetNumElements(all)) {
    MlirAttribute dict = mlirArrayAttrGetElement(all, index);
    if (mlirDictionaryAttrGetElementByName(dict, loom_str("loom.scalar")).ptr)
      kind = LOOM_INPUT_SCALAR;
    if (mlirDictionaryAttrGetElementByName(dict, loom_str("loom.const")).ptr)
      kind = LOOM_INPUT_CONST;
    MlirAttribute list = mlirDictionaryAttrGetElementByName(dict, loom_str("loom.strides"));
    strided = loom_attr_read_i64s(list, strides, LOOM_MAX_RANK) == type.rank;
  }
  loom_value input = loom_graph_input(s->graph, kind, &type, strided ? strides : NULL);
  if (input == LOOM_NO_VALUE)
    return loom_fail(s->err, "argument %d cannot be an input", (int)index);
  export_bind(s, value, input);
  return true;
}

static bool export_outputs(export_state *s, MlirOperation terminator) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(terminator); i++) {
    const export_map *slot = &s->slots[export_slot(s, loom_operand(terminator, i))];
    if (!slot->from.ptr || !loom_graph_output(s->graph, slot->to, NULL))
      return loom_fail(s->err, "result %d cannot be an output", (int)i);
  }
  return true;
}

static bool export_block(export_state *s, MlirOperation func, MlirBlock block) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++)
    if (!export_input(s, func, mlirBlockGetArgument(block, i), i)) return false;
  MlirOperation op = mlirBlockGetFirstOperation(block), next;
  for (; op.ptr; op = next) {
    next = mlirOperationGetNextInBlock(op);
    if (!next.ptr) return export_outputs(s, op);
    if (!export_node(s, op)) return false;
  }
  return loom_fail(s->err, "the function has no terminator");
}

bool loom_export(MlirOperation func, loom_graph *graph, loom_error *err) {
  loom_graph_init(graph);
  MlirRegion region = mlirOperationGetRegion(func, 0);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (!block.ptr || mlirBlockGetNextInRegion(block).ptr)
    return loom_fail(err, "the function has not exactly one block");
  size_t values = (size_t)mlirBlockGetNumArguments(block);
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    values += (size_t)mlirOperationGetNumResults(op);
  export_state s = {.graph = graph, .capacity = 16, .err = err};
  while (s.capacity < 2 * values)
    s.capacity *= 2;
  s.slots = loom_arena_alloc(&graph->arena, sizeof *s.slots * s.capacity);
  if (!s.slots) return loom_fail(err, "out of memory");
  return export_block(&s, func, block);
}
