/* The captured graph as a module: `func.func @main` with one loom op a node, by the op table alone.
 */
#include <mlir-c/Dialect/Func.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "loom_ops_control.h"

typedef struct import_state {
  MlirContext ctx;
  const loom_graph *graph;
  MlirValue *values; /* by loom_value */
  loom_arena arena;
} import_state;

static MlirLocation import_location(import_state *s, const loom_location *location) {
  if (!location->file || location->line <= 0) return mlirLocationUnknownGet(s->ctx);
  return mlirLocationFileLineColGet(s->ctx, loom_str(location->file), (unsigned)location->line,
                                    location->column > 0 ? (unsigned)location->column : 0);
}

static MlirType import_type(import_state *s, loom_value value) {
  return loom_type_to_mlir_in(s->ctx, s->graph, &s->graph->values[value].type);
}

static MlirAttribute import_attr(import_state *s, const loom_attr *attr, loom_dtype dtype) {
  switch (attr->kind) {
  case LOOM_ATTR_I64: return loom_attr_i64(s->ctx, attr->i);
  case LOOM_ATTR_I64S: return loom_attr_i64s(s->ctx, attr->count, attr->ints);
  case LOOM_ATTR_BOOL: return mlirBoolAttrGet(s->ctx, attr->i != 0);
  case LOOM_ATTR_STR: return loom_attr_str(s->ctx, attr->str);
  case LOOM_ATTR_SCALAR: return loom_scalar_to_mlir(s->ctx, dtype, attr);
  case LOOM_ATTR_DTYPE: return mlirTypeAttrGet(loom_dtype_to_mlir(s->ctx, (loom_dtype)attr->i));
  case LOOM_ATTR_NONE: break;
  }
  return mlirUnitAttrGet(s->ctx);
}

static bool import_nodes(import_state *s, MlirBlock block, loom_error *err);

/* The block of a region: its own arguments, then values of the graph around it. */
static bool import_region(import_state *outer, const loom_node *node, const loom_graph *region,
                          MlirRegion into, loom_error *err) {
  import_state s = {.ctx = outer->ctx, .graph = region};
  MlirLocation loc = mlirLocationUnknownGet(s.ctx);
  uint32_t own = node->op == LOOM_OP_IF ? region->input_count
                                        : loom_region_own_inputs(node->op, node->result_count);
  MlirBlock block = mlirBlockCreate(0, NULL, NULL);
  mlirRegionAppendOwnedBlock(into, block);
  s.values = loom_arena_alloc(&s.arena, sizeof *s.values * region->value_count);
  MlirValue *results = loom_arena_alloc(&s.arena, sizeof *results * region->output_count);
  bool good = s.values && results;
  if (!good) loom_fail(err, "out of memory");
  for (uint32_t i = 0; good && i < region->input_count; i++) {
    loom_value value = region->inputs[i].value;
    uint32_t operand = i - (uint32_t)loom_region_shift(node->op);
    s.values[value] = i < own ? mlirBlockAddArgument(block, import_type(&s, value), loc)
                              : outer->values[node->operands[operand]];
  }
  good = good && import_nodes(&s, block, err);
  for (uint32_t i = 0; good && i < region->output_count; i++)
    results[i] = s.values[region->outputs[i].value];
  loom_builder builder = loom_builder_at_end(block, loc);
  if (good) loom_build_op(&builder, LOOM_OP_YIELD, region->output_count, results, 0, NULL, 0, NULL);
  loom_arena_fini(&s.arena);
  return good;
}

static int import_attrs(import_state *s, const loom_node *node, loom_named *out) {
  const loom_op_info *info = &loom_op_table[node->op];
  loom_dtype dtype =
      node->result_count ? s->graph->values[node->first_result].type.dtype : LOOM_BOOL;
  int count = 0;
  for (; count < LOOM_MAX_ATTRS && info->attrs[count].name; count++)
    out[count] = (loom_named){info->attrs[count].name, import_attr(s, &node->attrs[count], dtype)};
  return count;
}

static bool import_node(import_state *s, MlirBlock block, const loom_node *node, loom_error *err) {
  const loom_op_info *info = &loom_op_table[node->op];
  uint32_t operand_count = node->operand_count;
  if (node->regions && node->op != LOOM_OP_IF)
    operand_count = loom_region_own_inputs(node->op, node->result_count);
  MlirValue *operands = loom_arena_alloc(&s->arena, sizeof *operands * operand_count);
  MlirType *types = loom_arena_alloc(&s->arena, sizeof *types * node->result_count);
  MlirRegion regions[2];
  if (!operands || !types) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < operand_count; i++)
    operands[i] = s->values[node->operands[i]];
  for (uint32_t i = 0; i < node->result_count; i++)
    types[i] = import_type(s, node->first_result + i);
  loom_named attrs[LOOM_MAX_ATTRS];
  int count = import_attrs(s, node, attrs);
  bool good = true;
  for (int r = 0; r < info->regions; r++) {
    regions[r] = mlirRegionCreate();
    good = good && import_region(s, node, node->regions[r], regions[r], err);
  }
  for (int r = 0; !good && r < info->regions; r++)
    mlirRegionDestroy(regions[r]);
  if (!good) return false;
  loom_builder builder = loom_builder_at_end(block, import_location(s, &node->location));
  MlirOperation op =
      loom_build_op_regions(&builder, node->op, operand_count, operands, node->result_count, types,
                            count, attrs, info->regions, regions);
  if (!op.ptr) return loom_fail(err, "'%s' could not be built", info->name);
  for (uint32_t i = 0; i < node->result_count; i++)
    s->values[node->first_result + i] = loom_result(op, i);
  return true;
}

static bool import_nodes(import_state *s, MlirBlock block, loom_error *err) {
  for (uint32_t n = 0; n < s->graph->node_count; n++)
    if (!import_node(s, block, &s->graph->nodes[n], err)) return false;
  return true;
}

static MlirAttribute import_dict(import_state *s, intptr_t count, const loom_named *attrs) {
  MlirNamedAttribute named[3];
  for (intptr_t i = 0; i < count; i++)
    named[i] =
        mlirNamedAttributeGet(mlirIdentifierGet(s->ctx, loom_str(attrs[i].name)), attrs[i].value);
  return mlirDictionaryAttrGet(s->ctx, count, named);
}

static MlirAttribute import_input_attrs(import_state *s, const loom_input *input) {
  int rank = s->graph->values[input->value].type.rank;
  loom_named scalar = {loom_mark_scalar, mlirUnitAttrGet(s->ctx)};
  loom_named array[3] = {{loom_mark_strides, loom_attr_i64s(s->ctx, rank, input->strides)}};
  intptr_t count = 1;
  if (input->kind == LOOM_INPUT_SCALAR) return import_dict(s, 1, &scalar);
  if (input->kind == LOOM_INPUT_CONST)
    array[count++] = (loom_named){loom_mark_const, mlirUnitAttrGet(s->ctx)};
  if (input->given) array[count++] = (loom_named){loom_mark_given, mlirUnitAttrGet(s->ctx)};
  return import_dict(s, count, array);
}

/* Builds the func.func with an empty entry block, which is returned. */
static MlirBlock import_function(import_state *s, MlirBlock body, loom_error *err) {
  const loom_graph *graph = s->graph;
  uint32_t ins = graph->input_count, outs = graph->output_count;
  MlirType *types = loom_arena_alloc(&s->arena, sizeof *types * (ins + outs));
  MlirAttribute *attrs = loom_arena_alloc(&s->arena, sizeof *attrs * (ins + outs));
  MlirLocation *locations = loom_arena_alloc(&s->arena, sizeof *locations * ins);
  if (!types || !attrs || !locations) return loom_fail(err, "out of memory"), (MlirBlock){NULL};
  for (uint32_t i = 0; i < ins; i++) {
    types[i] = import_type(s, graph->inputs[i].value);
    attrs[i] = import_input_attrs(s, &graph->inputs[i]);
    locations[i] = mlirLocationUnknownGet(s->ctx);
    if (graph->inputs[i].name)
      locations[i] = mlirLocationNameGet(s->ctx, loom_str(graph->inputs[i].name), locations[i]);
  }
  for (uint32_t i = 0; i < outs; i++) {
    const loom_output *output = &graph->outputs[i];
    int32_t rank = graph->values[output->value].type.rank;
    loom_named named[3] = {{loom_mark_strides, loom_attr_i64s(s->ctx, rank, output->strides)}};
    intptr_t count = 1;
    if (output->overwrites >= 0)
      named[count++] =
          (loom_named){loom_mark_overwrites, loom_attr_i64(s->ctx, output->overwrites)};
    if (output->lent) named[count++] = (loom_named){loom_mark_lent, mlirUnitAttrGet(s->ctx)};
    types[ins + i] = import_type(s, output->value);
    attrs[ins + i] = import_dict(s, count, named);
  }
  MlirBlock entry = mlirBlockCreate(ins, types, locations);
  for (uint32_t i = 0; i < ins; i++)
    s->values[graph->inputs[i].value] = mlirBlockGetArgument(entry, i);
  MlirRegion region = mlirRegionCreate();
  mlirRegionAppendOwnedBlock(region, entry);
  loom_named named[] = {{"sym_name", loom_attr_str(s->ctx, "main")},
                        {"function_type", mlirTypeAttrGet(mlirFunctionTypeGet(s->ctx, ins, types,
                                                                              outs, types + ins))},
                        {"arg_attrs", mlirArrayAttrGet(s->ctx, ins, attrs)},
                        {"res_attrs", mlirArrayAttrGet(s->ctx, outs, attrs + ins)}};
  loom_builder builder = loom_builder_at_end(body, mlirLocationUnknownGet(s->ctx));
  loom_build_regions(&builder, "func.func", 0, NULL, 0, NULL, 4, named, 1, &region);
  return entry;
}

static bool import_body(import_state *s, MlirBlock entry, loom_error *err) {
  const loom_graph *graph = s->graph;
  if (!import_nodes(s, entry, err)) return false;
  MlirValue *results = loom_arena_alloc(&s->arena, sizeof *results * graph->output_count);
  if (!results) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < graph->output_count; i++)
    results[i] = s->values[graph->outputs[i].value];
  loom_builder builder = loom_builder_at_end(entry, mlirLocationUnknownGet(s->ctx));
  loom_build(&builder, "func.return", graph->output_count, results, 0, NULL, 0, NULL);
  return true;
}

bool loom_import(MlirContext ctx, const loom_graph *graph, MlirModule *out, loom_error *err) {
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__func__(), ctx);
  mlirDialectHandleLoadDialect(mlirGetDialectHandle__loom__(), ctx);
  import_state s = {.ctx = ctx, .graph = graph};
  MlirModule module = mlirModuleCreateEmpty(mlirLocationUnknownGet(ctx));
  s.values = loom_arena_alloc(&s.arena, sizeof *s.values * graph->value_count);
  MlirBlock entry = {NULL};
  if (s.values)
    entry = import_function(&s, mlirModuleGetBody(module), err);
  else
    loom_fail(err, "out of memory");
  bool good = entry.ptr && import_body(&s, entry, err);
  loom_arena_fini(&s.arena);
  if (good && graph->symbol_count) loom_sizes_store(mlirModuleGetOperation(module), graph);
  if (good)
    *out = module;
  else
    mlirModuleDestroy(module);
  return good;
}
