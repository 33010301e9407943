/* Canonical bytes of a graph: what the cache hashes. Two graphs with the same bytes compile to the
 * same plan. Ops and attributes are written by name and kind, so that a new row in the op table
 * does not change the meaning of old bytes; locations are left out. Numbers are little-endian, 8
 * bytes each, and every list is preceded by its length. */
#include "graph/graph.h"

#include <stdlib.h>
#include <string.h>

typedef struct serial_writer {
  uint8_t *data;
  size_t size, capacity;
  bool failed;
} serial_writer;

static void serial_bytes(serial_writer *w, const void *data, size_t size) {
  if (w->failed) return;
  if (w->capacity - w->size < size) {
    size_t capacity = w->capacity ? w->capacity * 2 : 4096;
    while (capacity - w->size < size)
      capacity *= 2;
    uint8_t *grown = realloc(w->data, capacity);
    if (!grown) {
      w->failed = true;
      return;
    }
    w->data = grown;
    w->capacity = capacity;
  }
  if (size) memcpy(w->data + w->size, data, size);
  w->size += size;
}

static void serial_number(serial_writer *w, uint64_t value) {
  uint8_t bytes[8];
  for (int i = 0; i < 8; i++)
    bytes[i] = (uint8_t)(value >> (8 * i));
  serial_bytes(w, bytes, sizeof bytes);
}

static void serial_text(serial_writer *w, const char *text) {
  serial_number(w, strlen(text));
  serial_bytes(w, text, strlen(text));
}

static void serial_ints(serial_writer *w, const int64_t *ints, int64_t count) {
  serial_number(w, (uint64_t)count);
  for (int64_t i = 0; i < count; i++)
    serial_number(w, (uint64_t)ints[i]);
}

static void serial_type(serial_writer *w, const loom_type *type) {
  serial_number(w, (uint64_t)type->dtype);
  serial_ints(w, type->dims, type->rank);
}

static void serial_attr(serial_writer *w, const loom_attr *attr) {
  serial_number(w, (uint64_t)attr->kind);
  switch (attr->kind) {
  case LOOM_ATTR_I64S: serial_ints(w, attr->ints, attr->count); break;
  case LOOM_ATTR_STR: serial_text(w, attr->str); break;
  case LOOM_ATTR_SCALAR:
    serial_number(w, attr->bits);
    serial_number(w, attr->bits_hi);
    break;
  default: serial_number(w, (uint64_t)attr->i); break;
  }
}

static void serial_graph(serial_writer *w, const loom_graph *graph);

static void serial_node(serial_writer *w, const loom_graph *graph, const loom_node *node) {
  serial_text(w, loom_op_table[node->op].name);
  serial_number(w, node->operand_count);
  for (uint32_t i = 0; i < node->operand_count; i++)
    serial_number(w, node->operands[i]);
  for (int i = 0; i < LOOM_MAX_ATTRS && loom_op_table[node->op].attrs[i].name; i++)
    serial_attr(w, &node->attrs[i]);
  serial_number(w, node->result_count);
  for (uint32_t i = 0; i < node->result_count; i++)
    serial_type(w, &graph->values[node->first_result + i].type);
  for (int r = 0; r < loom_op_table[node->op].regions; r++)
    serial_graph(w, node->regions[r]);
}

static void serial_sizes(serial_writer *w, const loom_graph *graph) {
  serial_number(w, graph->symbol_count);
  for (uint32_t i = 0; i < graph->symbol_count; i++) {
    const loom_symbol *symbol = &graph->symbols[i];
    const int64_t fields[] = {symbol->min, symbol->max, symbol->divisor,
                              loom_hint_round(symbol->hint)};
    serial_ints(w, fields, 4);
  }
  serial_number(w, graph->expr_count);
  for (uint32_t i = 0; i < graph->expr_count; i++) {
    const loom_expr *expr = &graph->exprs[i];
    const int64_t fields[] = {expr->kind, expr->value, expr->lhs, expr->rhs};
    serial_ints(w, fields, 4);
  }
}

static void serial_graph(serial_writer *w, const loom_graph *graph) {
  serial_number(w, graph->input_count);
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const loom_input *input = &graph->inputs[i];
    serial_number(w, input->value);
    serial_number(w, (uint64_t)input->kind | (input->given ? 256u : 0));
    serial_type(w, &graph->values[input->value].type);
    serial_ints(w, input->strides, graph->values[input->value].type.rank);
  }
  serial_number(w, graph->node_count);
  for (uint32_t i = 0; i < graph->node_count; i++)
    serial_node(w, graph, &graph->nodes[i]);
  serial_number(w, graph->output_count);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    serial_number(w, graph->outputs[i].value);
    serial_ints(w, graph->outputs[i].strides, graph->values[graph->outputs[i].value].type.rank);
    serial_number(w, (uint64_t)(graph->outputs[i].overwrites + 1));
    serial_number(w, graph->outputs[i].lent);
  }
}

bool loom_graph_serialize(const loom_graph *graph, loom_bytes *out) {
  serial_writer w = {0};
  serial_text(&w, "loom graph 4");
  serial_sizes(&w, graph);
  serial_graph(&w, graph);
  if (w.failed) {
    free(w.data);
    return false;
  }
  *out = (loom_bytes){w.data, w.size};
  return true;
}
