/* Nodes with regions: `for`, `while` and `if` (graph.h says how operands and inputs pair up).
 *
 * A region is a graph of its own. It starts with the parent's table of sizes and the parent takes
 * the grown table back, so that equal sizes have equal codes in both; its memory moves into the
 * parent's arena, which frees it. */
#include "graph/graph.h"
#include "loom_ops_control.h"

#include <string.h>

int loom_region_shift(loom_opcode op) { return op == LOOM_OP_IF ? -1 : 0; }

uint32_t loom_region_own_inputs(loom_opcode op, uint32_t results) {
  return op == LOOM_OP_IF ? 0 : op == LOOM_OP_FOR ? results + 1 : results;
}

/* Capacities of 0 make the region copy a table before it adds to it. */
void loom_region_init(loom_graph *region, const loom_graph *parent) {
  loom_graph_init(region);
  region->exprs = parent->exprs;
  region->expr_count = region->expr_capacity = parent->expr_count;
  region->symbols = parent->symbols;
  region->symbol_count = region->symbol_capacity = parent->symbol_count;
}

bool loom_graph_copy_node(const loom_graph *from, const loom_node *node, loom_graph *to,
                          loom_value *map, loom_error *err) {
  uint32_t attrs = loom_op_attr_count(node->op);
  uint32_t declared = loom_op_declares_type(node->op) ? node->result_count : 0;
  loom_value *operands = loom_arena_alloc(&to->arena, (node->operand_count + 1) * sizeof *operands);
  loom_type *types = loom_arena_alloc(&to->arena, (declared + 1) * sizeof *types);
  if (!operands || !types) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < node->operand_count; i++)
    operands[i] = map[node->operands[i]];
  for (uint32_t i = 0; i < declared; i++)
    types[i] = from->values[node->first_result + i].type;
  loom_value first =
      loom_graph_add_node(to, node->op, operands, node->operand_count, node->attrs, attrs,
                          node->regions, declared ? types : NULL, declared, &node->location, err);
  if (first == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < node->result_count; i++)
    map[node->first_result + i] = first + i;
  return true;
}

/* ---- the shape rule ---- */

static bool region_is_scalar(const loom_type *type, loom_dtype dtype) {
  return type->rank == 0 && type->dtype == dtype;
}

static const loom_type *region_input(const loom_graph *region, uint32_t i) {
  return &region->values[region->inputs[i].value].type;
}

static const loom_type *region_output(const loom_graph *region, uint32_t i) {
  return &region->values[region->outputs[i].value].type;
}

static bool region_inputs(const loom_op_view *view, const loom_graph *region, loom_error *err) {
  const char *name = loom_op_table[view->op].name;
  uint32_t shift = (uint32_t)-loom_region_shift(view->op);
  if (region->input_count + shift != view->operand_count)
    return loom_fail(err, "'%s': a region takes %u values for %u operands", name,
                     region->input_count, view->operand_count);
  for (uint32_t i = 0; i < region->input_count; i++)
    if (!loom_type_equal(region_input(region, i), &view->operands[i + shift]))
      return loom_fail(err, "'%s': input %u of a region has another type than the operand", name,
                       i);
  return true;
}

static bool region_outputs(const loom_op_view *view, const loom_graph *region, uint32_t count,
                           const loom_type *types, loom_error *err) {
  const char *name = loom_op_table[view->op].name;
  if (region->output_count != count)
    return loom_fail(err, "'%s': a region gives %u values, not %u", name, region->output_count,
                     count);
  for (uint32_t i = 0; i < count; i++)
    if (!loom_type_equal(region_output(region, i), &types[i]))
      return loom_fail(err, "'%s': output %u of a region has another type than the result", name,
                       i);
  return true;
}

bool loom_infer_region(const loom_op_view *view, loom_type *out, uint32_t *out_count,
                       loom_error *err) {
  const loom_op_info *info = &loom_op_table[view->op];
  const loom_type truth = {.dtype = LOOM_BOOL};
  if (!view->regions) return loom_fail(err, "'%s' has no regions", info->name);
  const loom_graph *body = view->regions[info->regions - 1];
  uint32_t results = body->output_count;
  uint32_t first = view->op == LOOM_OP_FOR; /* operand that is the first carried value */
  if (view->op != LOOM_OP_WHILE &&
      (view->operand_count == 0 ||
       !region_is_scalar(&view->operands[0], first ? LOOM_I64 : LOOM_BOOL)))
    return loom_fail(err, "'%s': the %s", info->name,
                     first ? "count is not a 0-d int64" : "condition is not a 0-d bool");
  if (loom_region_own_inputs(view->op, results) > view->operand_count)
    return loom_fail(err, "'%s' has not one operand for each carried value", info->name);
  for (uint32_t i = 0; i < results; i++)
    out[i] = view->op == LOOM_OP_IF ? *region_output(body, i) : view->operands[first + i];
  for (int r = 0; r < info->regions; r++) {
    bool test = view->op == LOOM_OP_WHILE && r == 0;
    if (!region_inputs(view, view->regions[r], err) ||
        !region_outputs(view, view->regions[r], test ? 1 : results, test ? &truth : out, err))
      return false;
  }
  *out_count = results;
  return true;
}

/* ---- building ---- */

/* Moves the region into the arena of `graph`. */
static loom_graph *region_adopt(loom_graph *graph, loom_graph *region) {
  loom_graph *moved = loom_arena_copy(&graph->arena, region, sizeof *region);
  if (moved && region->expr_count >= graph->expr_count &&
      region->symbol_count >= graph->symbol_count) {
    graph->exprs = region->exprs;
    graph->expr_count = graph->expr_capacity = region->expr_count;
    graph->symbols = region->symbols;
    graph->symbol_count = graph->symbol_capacity = region->symbol_count;
  }
  loom_arena_adopt(&graph->arena, &region->arena);
  memset(region, 0, sizeof *region);
  if (moved) moved->arena.head = NULL;
  return moved;
}

loom_value loom_graph_region_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                                  uint32_t operand_count, loom_graph *regions, int64_t symbol,
                                  const loom_location *location, loom_error *err) {
  const loom_attr attr = {.kind = LOOM_ATTR_I64, .i = symbol};
  int count = loom_op_table[op].regions;
  const loom_graph **moved = loom_arena_alloc(&graph->arena, sizeof *moved * (size_t)(count + 1));
  bool good = moved != NULL;
  for (int r = 0; r < count; r++) {
    const loom_graph *region = region_adopt(graph, &regions[r]);
    good = good && region;
    if (good) moved[r] = region;
  }
  if (!good) {
    loom_fail(err, "out of memory");
    return LOOM_NO_VALUE;
  }
  return loom_graph_add_node(graph, op, operands, operand_count, &attr, op != LOOM_OP_IF, moved,
                             NULL, 0, location, err);
}
