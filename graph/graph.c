/* The captured graph: building, pruning.
 *
 * Regions of control flow are in region.c. All storage is in the graph's arena. Arrays grow by
 * doubling into new arena memory and the old copy stays, so that a pointer to a type or a node that
 * a caller holds while it appends stays readable. */
#include "graph/graph.h"
#include "loom_ops_control.h"
#include "loom_ops_elements.h"
#include "loom_ops_functions.h"
#include "loom_ops_logic.h"

#include <string.h>

bool loom_type_equal(const loom_type *a, const loom_type *b) {
  return a->dtype == b->dtype && a->rank == b->rank &&
         memcmp(a->dims, b->dims, sizeof a->dims[0] * (size_t)a->rank) == 0;
}

int64_t loom_type_elements(const loom_type *type) {
  int64_t count = 1;
  for (int i = 0; i < type->rank; i++)
    if (type->dims[i] == 0) return 0;
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i]) || __builtin_mul_overflow(count, type->dims[i], &count))
      return -1;
  return count;
}

void loom_contiguous_strides(const loom_type *type, int64_t *out) {
  int64_t stride = 1;
  for (int i = type->rank - 1; i >= 0; i--) {
    out[i] = stride;
    if (type->dims[i] > 1 && __builtin_mul_overflow(stride, type->dims[i], &stride)) stride = 0;
  }
}

void loom_graph_init(loom_graph *graph) { memset(graph, 0, sizeof *graph); }

void loom_graph_fini(loom_graph *graph) {
  loom_arena_fini(&graph->arena);
  memset(graph, 0, sizeof *graph);
}

void *loom_graph_grow(loom_graph *graph, void *array, uint32_t count, uint32_t more,
                      uint32_t *capacity, size_t size) {
  if ((uint64_t)count + more >= UINT32_MAX / 2) return NULL;
  if (count + more <= *capacity) return array;
  uint32_t wanted = *capacity ? *capacity * 2 : 16;
  while (wanted < count + more)
    wanted *= 2;
  void *grown = loom_arena_alloc(&graph->arena, wanted * size);
  if (!grown) return NULL;
  if (count) memcpy(grown, array, count * size);
  *capacity = wanted;
  return grown;
}

#define GRAPH_RESERVE(graph, field, more)                                                          \
  graph_reserve(graph, (void **)&(graph)->field##s, (graph)->field##_count, more,                  \
                &(graph)->field##_capacity, sizeof *(graph)->field##s)

static bool graph_reserve(loom_graph *graph, void **array, uint32_t count, uint32_t more,
                          uint32_t *capacity, size_t size) {
  void *grown = loom_graph_grow(graph, *array, count, more, capacity, size);
  if (grown) *array = grown;
  return grown != NULL;
}

/* Entries past the rank are zero, so that types can be compared and hashed by their bytes. */
static loom_type graph_clean_type(const loom_type *type) {
  loom_type clean = *type;
  for (int i = clean.rank; i < LOOM_MAX_RANK; i++)
    clean.dims[i] = 0;
  return clean;
}

static loom_value graph_add_value(loom_graph *graph, const loom_type *type, int32_t node,
                                  int32_t index) {
  graph->values[graph->value_count] =
      (loom_value_info){.type = graph_clean_type(type), .node = node, .index = index};
  return graph->value_count++;
}

static bool graph_type_valid(const loom_type *type) {
  return (unsigned)type->dtype < LOOM_DTYPE_COUNT && type->rank >= 0 && type->rank <= LOOM_MAX_RANK;
}

/* Static layouts keep their strides of 0 where a product overflows. */
static bool graph_plain_strides(loom_graph *graph, const loom_type *type, int64_t *out) {
  for (int i = 0; i < type->rank; i++)
    if (LOOM_DIM_IS_SYM(type->dims[i])) return loom_contiguous_strides_in(graph, type, out);
  return loom_contiguous_strides(type, out), true;
}

loom_value loom_graph_input(loom_graph *graph, loom_input_kind kind, const loom_type *type,
                            const int64_t *strides) {
  if (!graph_type_valid(type) || !GRAPH_RESERVE(graph, value, 1) || !GRAPH_RESERVE(graph, input, 1))
    return LOOM_NO_VALUE;
  if (kind == LOOM_INPUT_SCALAR && type->rank != 0) return LOOM_NO_VALUE;
  loom_input *input = &graph->inputs[graph->input_count];
  memset(input, 0, sizeof *input);
  input->kind = kind;
  if (strides)
    memcpy(input->strides, strides, sizeof strides[0] * (size_t)type->rank);
  else if (!graph_plain_strides(graph, type, input->strides))
    return LOOM_NO_VALUE;
  input->value = graph_add_value(graph, type, -1, (int32_t)graph->input_count);
  graph->input_count++;
  return input->value;
}

bool loom_graph_output(loom_graph *graph, loom_value value, const int64_t *strides) {
  if (value >= graph->value_count || !GRAPH_RESERVE(graph, output, 1)) return false;
  loom_output *output = &graph->outputs[graph->output_count];
  memset(output, 0, sizeof *output);
  output->value = value;
  output->overwrites = -1;
  const loom_type *type = &graph->values[value].type;
  if (strides)
    memcpy(output->strides, strides, sizeof strides[0] * (size_t)type->rank);
  else if (!graph_plain_strides(graph, type, output->strides))
    return false;
  graph->output_count++;
  return true;
}

const loom_type *loom_graph_type(const loom_graph *graph, loom_value value) {
  return value < graph->value_count ? &graph->values[value].type : NULL;
}

/* ---- nodes ---- */

uint32_t loom_op_attr_count(loom_opcode op) {
  uint32_t count = 0;
  while (count < LOOM_MAX_ATTRS && loom_op_table[op].attrs[count].name)
    count++;
  return count;
}

static bool graph_copy_attrs(loom_graph *graph, loom_node *node, const loom_attr *attrs,
                             uint32_t count, loom_error *err) {
  const loom_op_info *info = &loom_op_table[node->op];
  uint32_t wanted = loom_op_attr_count(node->op);
  if (count != wanted)
    return loom_fail(err, "'%s' takes %u attributes, not %u", info->name, wanted, count);
  for (uint32_t i = 0; i < count; i++) {
    if (attrs[i].kind != info->attrs[i].kind)
      return loom_fail(err, "'%s': attribute '%s' is of the wrong kind", info->name,
                       info->attrs[i].name);
    loom_attr *copy = &node->attrs[i];
    *copy = attrs[i];
    if (copy->kind == LOOM_ATTR_I64S) {
      if (copy->count < 0)
        return loom_fail(err, "'%s': attribute '%s' has a negative count", info->name,
                         info->attrs[i].name);
      copy->ints = loom_arena_copy(&graph->arena, copy->ints, sizeof(int64_t) * copy->count);
      if (!copy->ints) return loom_fail(err, "out of memory");
    } else if (copy->kind == LOOM_ATTR_STR) {
      if (!copy->str)
        return loom_fail(err, "'%s': attribute '%s' is missing", info->name, info->attrs[i].name);
      copy->str = loom_arena_strdup(&graph->arena, copy->str);
      if (!copy->str) return loom_fail(err, "out of memory");
    }
  }
  return true;
}

static const char *graph_share(loom_graph *graph, const char *text, const char *last) {
  if (!text) return NULL;
  return last && strcmp(last, text) == 0 ? last : loom_arena_strdup(&graph->arena, text);
}

static void graph_copy_location(loom_graph *graph, loom_node *node, const loom_location *location) {
  if (!location) return;
  const loom_location none = {0};
  const loom_location *last =
      graph->node_count ? &graph->nodes[graph->node_count - 1].location : &none;
  node->location = *location;
  node->location.file = graph_share(graph, location->file, last->file);
  node->location.function = graph_share(graph, location->function, last->function);
}

/* How many types a node may have before they are allocated in the arena while the node is made. */
#define GRAPH_FEW 4

static loom_type *graph_types(loom_graph *graph, uint32_t count, loom_type *few) {
  return count <= GRAPH_FEW ? few : loom_arena_alloc(&graph->arena, sizeof(loom_type) * count);
}

/* *types: room for a few, or more. */
static bool graph_operands(loom_graph *graph, loom_node *node, const loom_value *operands,
                           uint32_t count, loom_type **types, loom_error *err) {
  const loom_op_info *info = &loom_op_table[node->op];
  if (info->operands >= 0 && count != (uint32_t)info->operands)
    return loom_fail(err, "'%s' takes %d operands, not %u", info->name, info->operands, count);
  node->operand_count = count;
  node->operands = loom_arena_copy(&graph->arena, operands, sizeof *operands * count);
  *types = graph_types(graph, count, *types);
  if (!node->operands || !*types) return loom_fail(err, "out of memory");
  for (uint32_t i = 0; i < count; i++) {
    if (operands[i] >= graph->value_count)
      return loom_fail(err, "'%s': operand %u is no value of the graph", info->name, i);
    (*types)[i] = graph->values[operands[i]].type;
  }
  return true;
}

/* Every number of bytes of a static type is one of 64 bits, whatever it is multiplied with on the
 * way. */
static bool graph_countable(const loom_type *type) {
  int64_t bytes = (int64_t)loom_dtype_size(type->dtype);
  for (int i = 0; i < type->rank; i++)
    if (!LOOM_DIM_IS_SYM(type->dims[i]) && type->dims[i] &&
        (__builtin_mul_overflow(bytes, type->dims[i], &bytes) || bytes > LOOM_NUMBER_LIMIT))
      return false;
  return true;
}

/* Infers into `out` (room for `*count` or one); declared types, when given, must agree. */
static bool graph_infer(loom_graph *graph, const loom_node *node, const loom_type *operands,
                        const loom_type *declared, loom_type *out, uint32_t *count,
                        loom_error *err) {
  loom_op_view view = {node->op, node->attrs, operands, node->operand_count, node->regions};
  uint32_t given = *count;
  for (uint32_t i = 0; i < given; i++) {
    if (!graph_type_valid(&declared[i]))
      return loom_fail(err, "'%s': result type %u is invalid", loom_op_table[node->op].name, i);
    out[i] = graph_clean_type(&declared[i]);
  }
  if (!loom_infer(graph, &view, out, count, err)) return false;
  if (given && given != *count)
    return loom_fail(err, "'%s' has %u results, not %u", loom_op_table[node->op].name, *count,
                     given);
  for (uint32_t i = 0; i < *count; i++)
    if (!graph_countable(&out[i])) {
      if (err) err->uncountable = true;
      return loom_fail(err, "'%s' has more elements than can be counted",
                       loom_op_table[node->op].name);
    }
  for (uint32_t i = 0; i < given; i++)
    if (!loom_type_equal(&out[i], &declared[i]))
      return loom_fail(err, "'%s': result %u differs from the inferred type",
                       loom_op_table[node->op].name, i);
  return true;
}

/* Room for the results: as many as are declared or as the regions give, and at least one. */
static loom_type *graph_result_types(loom_graph *graph, const loom_node *node, uint32_t declared,
                                     loom_type *few) {
  uint32_t count = declared;
  if (loom_op_table[node->op].results > (int)count)
    count = (uint32_t)loom_op_table[node->op].results;
  for (int r = 0; node->regions && r < loom_op_table[node->op].regions; r++)
    if (node->regions[r]->output_count > count) count = node->regions[r]->output_count;
  return graph_types(graph, count ? count : 1, few);
}

loom_value loom_graph_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                           uint32_t operand_count, const loom_attr *attrs, uint32_t attr_count,
                           const loom_type *types, uint32_t type_count,
                           const loom_location *location, loom_error *err) {
  return loom_graph_add_node(graph, op, operands, operand_count, attrs, attr_count, NULL, types,
                             type_count, location, err);
}

loom_value loom_graph_add_node(loom_graph *graph, loom_opcode op, const loom_value *operands,
                               uint32_t operand_count, const loom_attr *attrs, uint32_t attr_count,
                               const loom_graph *const *regions, const loom_type *types,
                               uint32_t type_count, const loom_location *location,
                               loom_error *err) {
  if (!loom_op_exists(op)) {
    loom_fail(err, "no such op");
    return LOOM_NO_VALUE;
  }
  loom_node node = {.op = op, .regions = regions};
  loom_type few_operands[GRAPH_FEW], few_results[GRAPH_FEW] = {0}, *operand_types = few_operands;
  uint32_t count = types ? type_count : 0;
  if (!graph_copy_attrs(graph, &node, attrs, attr_count, err) ||
      !graph_operands(graph, &node, operands, operand_count, &operand_types, err))
    return LOOM_NO_VALUE;
  loom_type *results = graph_result_types(graph, &node, count, few_results);
  if (!results || !GRAPH_RESERVE(graph, node, 1)) {
    loom_fail(err, "out of memory");
    return LOOM_NO_VALUE;
  }
  if (!graph_infer(graph, &node, operand_types, types, results, &count, err)) return LOOM_NO_VALUE;
  if (!GRAPH_RESERVE(graph, value, count)) {
    loom_fail(err, "out of memory");
    return LOOM_NO_VALUE;
  }
  graph_copy_location(graph, &node, location);
  node.result_count = count;
  node.first_result = graph->value_count;
  for (uint32_t i = 0; i < count; i++)
    graph_add_value(graph, &results[i], (int32_t)graph->node_count, (int32_t)i);
  graph->nodes[graph->node_count++] = node;
  return node.first_result;
}

/* ---- complex numbers ---- */

bool loom_complex_has_code(loom_opcode op, const loom_attr *attrs) {
  const loom_op_info *info = &loom_op_table[op];
  if (info->parts == LOOM_PARTS_NONE) return false;
  for (int i = 0; i < LOOM_MAX_ATTRS && info->attrs[i].name; i++)
    if (info->attrs[i].kind == LOOM_ATTR_STR &&
        !loom_parts_take(info->attrs[i].name, attrs[i].str, strlen(attrs[i].str)))
      return false;
  return true;
}

/* ---- pruning ---- */

bool loom_node_has_effect(const loom_node *node) {
  const loom_op_info *info = &loom_op_table[node->op];
  if (info->pure) return false;
  if (node->op == LOOM_OP_HOST_CALL) return !strstr(node->attrs[1].str, "pure");
  if (node->op == LOOM_OP_GATHER) return strcmp(node->attrs[1].str, "raise") == 0;
  for (int r = 0; r < info->regions; r++)
    for (uint32_t n = 0; n < node->regions[r]->node_count; n++)
      if (loom_node_has_effect(&node->regions[r]->nodes[n])) return true;
  return !info->regions;
}

static void graph_mark(const loom_graph *graph, uint8_t *live) {
  for (uint32_t i = 0; i < graph->output_count; i++)
    live[graph->outputs[i].value] = 1;
  for (uint32_t i = 0; i < graph->input_count; i++)
    live[graph->inputs[i].value] = 1;
  for (uint32_t n = graph->node_count; n-- > 0;) {
    const loom_node *node = &graph->nodes[n];
    bool needed = loom_node_has_effect(node);
    for (uint32_t i = 0; i < node->result_count; i++)
      needed |= live[node->first_result + i];
    if (!needed) continue;
    for (uint32_t i = 0; i < node->result_count; i++)
      live[node->first_result + i] = 1;
    for (uint32_t i = 0; i < node->operand_count; i++)
      live[node->operands[i]] = 1;
  }
}

static void graph_renumber(loom_graph *graph, const uint8_t *live, loom_value *map,
                           loom_value *operands) {
  uint32_t values = 0, nodes = 0;
  int32_t *node_map = (int32_t *)(map + graph->value_count);
  for (uint32_t n = 0; n < graph->node_count; n++) {
    const loom_node *node = &graph->nodes[n];
    bool kept = node->result_count ? live[node->first_result] : loom_node_has_effect(node);
    node_map[n] = kept ? (int32_t)nodes : -1;
    if (kept) graph->nodes[nodes++] = *node;
  }
  for (uint32_t v = 0; v < graph->value_count; v++) {
    if (!live[v]) continue;
    loom_value_info info = graph->values[v];
    if (info.node >= 0) info.node = node_map[info.node];
    map[v] = values;
    graph->values[values++] = info;
  }
  for (uint32_t n = 0; n < nodes; n++) {
    loom_node *node = &graph->nodes[n];
    if (node->result_count) node->first_result = map[node->first_result];
    for (uint32_t i = 0; i < node->operand_count; i++)
      operands[i] = map[node->operands[i]];
    node->operands = operands;
    operands += node->operand_count;
  }
  graph->node_count = nodes;
  graph->value_count = values;
}

void loom_graph_mark(const loom_graph *graph, bool *marks) {
  for (uint32_t n = 0; n < graph->node_count; n++) { /* operands come before their users */
    const loom_node *node = &graph->nodes[n];
    bool any = false;
    for (uint32_t i = 0; i < node->operand_count; i++)
      any |= marks[node->operands[i]];
    for (uint32_t i = 0; any && i < node->result_count; i++)
      marks[node->first_result + i] = true;
  }
}

void loom_graph_prune(loom_graph *graph) {
  size_t operand_count = 0;
  for (uint32_t n = 0; n < graph->node_count; n++)
    operand_count += graph->nodes[n].operand_count;
  uint8_t *live = loom_arena_alloc(&graph->arena, graph->value_count);
  loom_value *map = loom_arena_alloc(
      &graph->arena, sizeof *map * ((size_t)graph->value_count + graph->node_count));
  loom_value *operands = loom_arena_alloc(&graph->arena, sizeof *operands * operand_count);
  if (!live || !map || !operands) return; /* an unpruned graph is as right as a pruned one */
  graph_mark(graph, live);
  graph_renumber(graph, live, map, operands);
  for (uint32_t i = 0; i < graph->input_count; i++)
    graph->inputs[i].value = map[graph->inputs[i].value];
  for (uint32_t i = 0; i < graph->output_count; i++)
    graph->outputs[i].value = map[graph->outputs[i].value];
}

static uint32_t graph_region_fp(const loom_node *node) {
  uint32_t flags = 0;
  for (int r = 0; r < loom_op_table[node->op].regions; r++)
    for (uint32_t n = 0; n < node->regions[r]->node_count; n++)
      flags |= loom_node_fp(node->regions[r], &node->regions[r]->nodes[n]);
  return flags;
}

uint32_t loom_node_fp(const loom_graph *graph, const loom_node *node) {
  uint32_t flags = loom_op_table[node->op].fp;
  if (loom_op_table[node->op].regions) return graph_region_fp(node);
  if (!flags) return 0;
  bool floats = false;
  for (uint32_t i = 0; i < node->operand_count; i++) {
    loom_dtype dtype = graph->values[node->operands[i]].type.dtype;
    if (node->op == LOOM_OP_EXP && loom_dtype_is_complex(dtype))
      flags |= LOOM_FP_INVALID; /* the sine of an infinity */
    floats |= loom_dtype_is_inexact(dtype);
  }
  if (floats) return flags;
  if (node->op == LOOM_OP_CONVERT && graph->values[node->first_result].type.dtype == LOOM_F16) {
    loom_dtype from = graph->values[node->operands[0]].type.dtype;
    return loom_dtype_size(from) > 1 ? LOOM_FP_OVERFLOW : 0;
  }
  return loom_op_table[node->op].fp_integer;
}

bool loom_graph_keep_raising(loom_graph *graph) {
  uint8_t *live = loom_arena_alloc(&graph->arena, graph->value_count + 1);
  if (!live) return false;
  graph_mark(graph, live);
  for (uint32_t n = graph->node_count; n-- > 0;) {
    const loom_node *node = &graph->nodes[n];
    bool needed = false;
    for (uint32_t i = 0; i < node->result_count; i++)
      needed |= live[node->first_result + i];
    if (!needed && node->result_count && loom_node_fp(graph, node)) {
      if (!loom_graph_output(graph, node->first_result, NULL)) return false;
      needed = true;
    }
    for (uint32_t i = 0; needed && i < node->operand_count; i++)
      live[node->operands[i]] = 1;
  }
  return true;
}
