/* Packs a graph into few bytes, about a tenth of its structs, for graphs that are kept only to be
 * shown.
 *
 * Numbers are written in groups of seven bits, low ones first; lines as differences; names of files
 * and functions once. The bytes are for this process: op codes stand for themselves. One
 * description of each struct (pack_type, pack_node, ...) writes and reads: fields are passed by
 * address, and filled when reading; writing leaves them as they are. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

#define PACK_TEXTS 64 /* that are known again; others are written each time */

typedef struct packer {
  bool writing, failed;
  uint8_t *data;
  size_t size, capacity, at; /* size: of what is written, or to be read up to */
  loom_arena *arena;         /* reading: of what is made */
  const char *texts[PACK_TEXTS];
  uint64_t text_count;
  int32_t line;
} packer;

static void pack_byte(packer *p, uint8_t *byte) {
  if (p->failed) return;
  if (!p->writing) {
    if (p->at < p->size)
      *byte = p->data[p->at++];
    else
      p->failed = true;
    return;
  }
  if (p->size == p->capacity) {
    size_t capacity = p->capacity ? p->capacity * 2 : 512;
    uint8_t *grown = realloc(p->data, capacity);
    if (!grown) {
      p->failed = true;
      return;
    }
    p->data = grown;
    p->capacity = capacity;
  }
  p->data[p->size++] = *byte;
}

static uint64_t pack_number(packer *p, uint64_t value) {
  const uint64_t whole = value;
  uint64_t read = 0;
  uint8_t byte = 0;
  for (int shift = 0; shift < 70 && !p->failed; shift += 7) {
    byte = (uint8_t)((value & 127) | (value > 127 ? 128 : 0));
    pack_byte(p, &byte);
    value >>= 7;
    read |= (uint64_t)(byte & 127) << (shift < 64 ? shift : 0);
    if (byte < 128) break;
  }
  return p->writing ? whole : p->failed ? 0 : read;
}

static void pack_signed(packer *p, int64_t *value) {
  uint64_t folded = pack_number(p, (uint64_t)*value << 1 ^ (uint64_t)(*value >> 63));
  *value = (int64_t)(folded >> 1 ^ -(folded & 1));
}

static void pack_count(packer *p, uint32_t *value) { *value = (uint32_t)pack_number(p, *value); }

static void pack_int(packer *p, int32_t *value) {
  int64_t wide = *value;
  pack_signed(p, &wide);
  *value = (int32_t)wide;
}

/* An array of `count` entries: the one there is when writing. */
static void *pack_array(packer *p, const void *there, uint32_t count, size_t entry) {
  if (p->writing) return (void *)(uintptr_t)there;
  void *made = p->failed || count > p->size ? NULL : loom_arena_alloc(p->arena, count * entry);
  p->failed |= !made;
  return made;
}

static void pack_chars(packer *p, const char **text) {
  uint32_t length = p->writing ? (uint32_t)strlen(*text) : 0;
  pack_count(p, &length);
  p->failed |= length == UINT32_MAX;
  char *chars = pack_array(p, *text, length + 1, 1);
  for (uint32_t i = 0; i < length && !p->failed; i++)
    pack_byte(p, (uint8_t *)&chars[i]);
  *text = chars;
}

/* 0: NULL; 1: one that follows; else one of before. */
static void pack_text(packer *p, const char **text) {
  uint64_t code = *text ? 1 : 0;
  for (uint64_t i = 0; p->writing && *text && i < p->text_count; i++)
    if (p->texts[i] == *text || !strcmp(p->texts[i], *text)) code = i + 2;
  code = pack_number(p, code);
  p->failed |= code > 1 && code - 2 >= p->text_count;
  if (!p->writing) *text = code > 1 && !p->failed ? p->texts[code - 2] : NULL;
  if (code != 1 || p->failed) return;
  pack_chars(p, text);
  if (p->text_count < PACK_TEXTS) p->texts[p->text_count++] = *text;
}

static void pack_type(packer *p, loom_type *type) {
  type->dtype = (loom_dtype)pack_number(p, type->dtype);
  type->rank = (int32_t)pack_number(p, (uint64_t)type->rank);
  if (type->rank < 0 || type->rank > LOOM_MAX_RANK) p->failed = true;
  if (type->dtype >= LOOM_DTYPE_COUNT) p->failed = true;
  for (int i = 0; i < type->rank && !p->failed; i++)
    pack_signed(p, &type->dims[i]);
}

static void pack_strides(packer *p, int64_t *strides, int32_t rank) {
  for (int i = 0; i < rank && !p->failed; i++)
    pack_signed(p, &strides[i]);
}

static void pack_ints(packer *p, loom_attr *attr) {
  uint32_t count = (uint32_t)attr->count;
  pack_count(p, &count);
  attr->count = (int32_t)count;
  int64_t *ints = pack_array(p, attr->ints, count, sizeof *ints);
  for (uint32_t i = 0; i < count && !p->failed; i++)
    pack_signed(p, &ints[i]);
  attr->ints = ints;
}

static void pack_attr(packer *p, loom_attr *attr) {
  attr->kind = (loom_attr_kind)pack_number(p, attr->kind);
  switch (attr->kind) {
  case LOOM_ATTR_I64S: pack_ints(p, attr); break;
  case LOOM_ATTR_STR: pack_text(p, &attr->str); break;
  case LOOM_ATTR_SCALAR:
    attr->bits = pack_number(p, attr->bits);
    attr->bits_hi = pack_number(p, attr->bits_hi);
    break;
  default: pack_signed(p, &attr->i); break;
  }
}

static void pack_location(packer *p, loom_location *location) {
  int32_t line = location->line - p->line;
  pack_text(p, &location->file);
  pack_text(p, &location->function);
  pack_int(p, &line);
  p->line = location->line = p->line + line;
  pack_int(p, &location->column);
  pack_int(p, &location->warning);
}

static void pack_graph(packer *p, loom_graph *graph);

static void pack_regions(packer *p, loom_node *node) {
  uint32_t count = node->regions ? (uint32_t)loom_op_table[node->op].regions : 0;
  pack_count(p, &count);
  if (!count) return;
  const loom_graph **regions = pack_array(p, (const void *)node->regions, count, sizeof *regions);
  for (uint32_t i = 0; i < count && !p->failed; i++) {
    loom_graph *region = pack_array(p, regions[i], 1, sizeof *region);
    if (region) pack_graph(p, region);
    if (!p->writing) regions[i] = region;
  }
  node->regions = regions;
}

static void pack_node(packer *p, loom_node *node) {
  node->op = (loom_opcode)pack_number(p, node->op);
  if (!loom_op_exists(node->op)) {
    p->failed = true;
    return;
  }
  pack_count(p, &node->operand_count);
  pack_count(p, &node->result_count);
  pack_count(p, &node->first_result);
  loom_value *operands = pack_array(p, node->operands, node->operand_count, sizeof *operands);
  for (uint32_t i = 0; i < node->operand_count && !p->failed; i++)
    pack_count(p, &operands[i]);
  node->operands = operands;
  for (int i = 0; i < LOOM_MAX_ATTRS && !p->failed && loom_op_table[node->op].attrs[i].name; i++)
    pack_attr(p, &node->attrs[i]);
  pack_location(p, &node->location);
  if (!p->failed) pack_regions(p, node);
}

static void pack_value(packer *p, loom_value_info *value) {
  pack_type(p, &value->type);
  pack_int(p, &value->node);
  pack_int(p, &value->index);
}

static void pack_input(packer *p, const loom_graph *graph, loom_input *input) {
  pack_count(p, &input->value);
  input->kind = (loom_input_kind)pack_number(p, input->kind);
  input->given = pack_number(p, input->given) != 0;
  p->failed |= input->value >= graph->value_count;
  if (!p->failed) pack_strides(p, input->strides, graph->values[input->value].type.rank);
}

static void pack_output(packer *p, const loom_graph *graph, loom_output *output) {
  pack_count(p, &output->value);
  pack_int(p, &output->overwrites);
  output->lent = pack_number(p, output->lent) != 0;
  p->failed |= output->value >= graph->value_count;
  if (!p->failed) pack_strides(p, output->strides, graph->values[output->value].type.rank);
}

static void pack_sizes(packer *p, loom_graph *graph) {
  pack_count(p, &graph->symbol_count);
  graph->symbols = pack_array(p, graph->symbols, graph->symbol_count, sizeof *graph->symbols);
  for (uint32_t i = 0; i < graph->symbol_count && !p->failed; i++) {
    pack_signed(p, &graph->symbols[i].min);
    pack_signed(p, &graph->symbols[i].max);
    pack_signed(p, &graph->symbols[i].divisor);
    pack_signed(p, &graph->symbols[i].hint);
  }
  pack_count(p, &graph->expr_count);
  graph->exprs = pack_array(p, graph->exprs, graph->expr_count, sizeof *graph->exprs);
  for (uint32_t i = 0; i < graph->expr_count && !p->failed; i++) {
    uint64_t kind = pack_number(p, graph->exprs[i].kind);
    if (kind > LOOM_EXPR_MAX) {
      p->failed = true;
      return;
    }
    graph->exprs[i].kind = (loom_expr_kind)kind;
    pack_signed(p, &graph->exprs[i].value);
    pack_count(p, &graph->exprs[i].lhs);
    pack_count(p, &graph->exprs[i].rhs);
    pack_count(p, &graph->exprs[i].weight);
  }
}

#define PACK_EACH(NAME, COUNT, CALL)                                                               \
  pack_count(p, &graph->COUNT);                                                                    \
  graph->NAME = pack_array(p, graph->NAME, graph->COUNT, sizeof *graph->NAME);                     \
  for (uint32_t i = 0; i < graph->COUNT && !p->failed; i++)                                        \
  CALL

static void pack_graph(packer *p, loom_graph *graph) {
  pack_sizes(p, graph);
  PACK_EACH(values, value_count, pack_value(p, &graph->values[i]));
  PACK_EACH(inputs, input_count, pack_input(p, graph, &graph->inputs[i]));
  PACK_EACH(nodes, node_count, pack_node(p, &graph->nodes[i]));
  PACK_EACH(outputs, output_count, pack_output(p, graph, &graph->outputs[i]));
}

bool loom_graph_pack(loom_graph *graph, loom_bytes *out) {
  packer p = {.writing = true};
  pack_graph(&p, graph);
  uint8_t *exact = p.failed ? NULL : realloc(p.data, p.size);
  if (!exact) free(p.data);
  *out = (loom_bytes){exact, exact ? p.size : 0};
  return exact != NULL;
}

bool loom_graph_unpack(const loom_bytes *bytes, loom_graph *out) {
  loom_arena arena = {NULL};
  packer p = {.data = bytes->data, .size = bytes->size, .arena = &arena};
  loom_graph_init(out);
  pack_graph(&p, out);
  out->arena = arena;
  if (!p.failed && p.at == p.size) return true;
  loom_graph_fini(out);
  loom_graph_init(out);
  return false;
}

/* A value of the interface under its new number. */
static loom_value interface_value(const loom_graph *graph, loom_value old, uint32_t index,
                                  loom_graph *out) {
  loom_value_info *value = &out->values[out->value_count];
  *value = graph->values[old];
  value->node = -1;
  value->index = (int32_t)index;
  return out->value_count++;
}

bool loom_graph_interface(const loom_graph *graph, loom_graph *out) {
  loom_arena arena = {NULL};
  size_t count = (size_t)graph->input_count + graph->output_count;
  loom_graph_init(out);
  out->values = loom_arena_alloc(&arena, count * sizeof *out->values);
#define INTERFACE_COPY(NAME, COUNT)                                                                \
  out->NAME = loom_arena_copy(&arena, graph->NAME, graph->COUNT * sizeof *graph->NAME);            \
  out->COUNT = graph->COUNT
  INTERFACE_COPY(inputs, input_count);
  INTERFACE_COPY(outputs, output_count);
  INTERFACE_COPY(exprs, expr_count);
  INTERFACE_COPY(symbols, symbol_count);
#undef INTERFACE_COPY
  out->arena = arena;
  if (!out->values || !out->inputs || !out->outputs || !out->exprs || !out->symbols) {
    loom_graph_fini(out);
    loom_graph_init(out);
    return false;
  }
  for (uint32_t i = 0; i < graph->input_count; i++)
    out->inputs[i].value = interface_value(graph, graph->inputs[i].value, i, out);
  for (uint32_t i = 0; i < graph->output_count; i++)
    out->outputs[i].value = interface_value(graph, graph->outputs[i].value, i, out);
  return true;
}
