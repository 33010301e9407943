/* Copies a graph with its locations and regions, so that the copy outlives the original's memory.
 */
#include "graph/graph.h"

#include <string.h>

/* Names of files and functions repeat from node to node. */
typedef struct copy_texts {
  const char *from[2], *to[2];
} copy_texts;

static const char *copy_text(loom_arena *arena, copy_texts *texts, int which, const char *text) {
  if (!text || text == texts->from[which]) return text ? texts->to[which] : NULL;
  texts->from[which] = text;
  return texts->to[which] = loom_arena_strdup(arena, text);
}

static bool copy_graph(const loom_graph *from, loom_arena *arena, loom_graph *out);

static bool copy_attr(loom_arena *arena, loom_attr *attr) {
  if (attr->kind == LOOM_ATTR_STR && attr->str)
    return (attr->str = loom_arena_strdup(arena, attr->str)) != NULL;
  if (attr->kind == LOOM_ATTR_I64S && attr->count)
    return (attr->ints = loom_arena_copy(arena, attr->ints,
                                         (size_t)attr->count * sizeof *attr->ints)) != NULL;
  return true;
}

static bool copy_regions(loom_arena *arena, loom_node *node) {
  int count = loom_op_table[node->op].regions;
  if (!node->regions || count <= 0) return true;
  const loom_graph **regions = loom_arena_alloc(arena, (size_t)count * sizeof *regions);
  for (int i = 0; regions && i < count; i++) {
    loom_graph *region = loom_arena_alloc(arena, sizeof *region);
    if (!region || !copy_graph(node->regions[i], arena, region)) return false;
    regions[i] = region;
  }
  node->regions = regions;
  return regions != NULL;
}

static bool copy_node(loom_arena *arena, copy_texts *texts, loom_node *node) {
  node->operands =
      loom_arena_copy(arena, node->operands, node->operand_count * sizeof *node->operands);
  node->location.file = copy_text(arena, texts, 0, node->location.file);
  node->location.function = copy_text(arena, texts, 1, node->location.function);
  for (int i = 0; i < LOOM_MAX_ATTRS; i++)
    if (!copy_attr(arena, &node->attrs[i])) return false;
  return node->operands && copy_regions(arena, node);
}

#define COPY_ARRAY(NAME, COUNT)                                                                    \
  (out->NAME = loom_arena_copy(arena, from->NAME, from->COUNT * sizeof *from->NAME))

/* All memory comes from `arena`: that of the outermost graph. */
static bool copy_graph(const loom_graph *from, loom_arena *arena, loom_graph *out) {
  copy_texts texts = {{NULL}, {NULL}};
  loom_graph made = *from;
  made.arena = out->arena;
  made.node_capacity = made.value_capacity = made.input_capacity = made.output_capacity = 0;
  made.expr_capacity = made.symbol_capacity = 0;
  *out = made;
  bool good = COPY_ARRAY(nodes, node_count) && COPY_ARRAY(values, value_count) &&
              COPY_ARRAY(inputs, input_count) && COPY_ARRAY(outputs, output_count) &&
              COPY_ARRAY(exprs, expr_count) && COPY_ARRAY(symbols, symbol_count);
  for (uint32_t i = 0; good && i < out->input_count; i++)
    if (out->inputs[i].name)
      good = (out->inputs[i].name = loom_arena_strdup(arena, out->inputs[i].name)) != NULL;
  for (uint32_t i = 0; good && i < out->node_count; i++)
    good = copy_node(arena, &texts, &out->nodes[i]);
  return good;
}

bool loom_graph_copy(const loom_graph *from, loom_graph *out) {
  loom_arena arena = {NULL};
  loom_graph_init(out);
  bool good = copy_graph(from, &arena, out);
  out->arena = arena;
  if (!good) {
    loom_graph_fini(out);
    loom_graph_init(out);
  }
  return good;
}
