/* The graph as MLIR text in the loom dialect, with locations. Ops have the assembly format of
 * loom.td, which the op table holds as words (dialects/gen_ops.py: template). */
#include "graph/graph.h"
#include "loom_ops_control.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *print_element(loom_dtype dtype) {
  static const char *const names[LOOM_DTYPE_COUNT] = {
      "i1",   "i8",  "i16",  "i32", "i64", "ui8",          "ui16",        "ui32",
      "ui64", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"};
  return dtype < LOOM_DTYPE_COUNT ? names[dtype] : "none";
}

/* Parenthesised affine expression; min and max, which affine expressions lack, become a symbol
 * beyond all others. */
static void print_expr(const loom_graph *graph, uint32_t index, FILE *out) {
  const loom_expr *expr = &graph->exprs[index];
  static const char *const words[] = {[LOOM_EXPR_ADD] = "+",
                                      [LOOM_EXPR_MUL] = "*",
                                      [LOOM_EXPR_FLOORDIV] = "floordiv",
                                      [LOOM_EXPR_MOD] = "mod"};
  switch (expr->kind) {
  case LOOM_EXPR_CONST: fprintf(out, "%" PRId64, expr->value); return;
  case LOOM_EXPR_SYMBOL: fprintf(out, "s%" PRId64, expr->value); return;
  case LOOM_EXPR_MIN:
  case LOOM_EXPR_MAX: fprintf(out, "s%u", graph->symbol_count + index); return;
  default:
    fputc('(', out);
    print_expr(graph, expr->lhs, out);
    fprintf(out, " %s ", words[expr->kind]);
    print_expr(graph, expr->rhs, out);
    fputc(')', out);
  }
}

/* As many symbols as the highest one needs. */
static uint32_t print_symbol_count(const loom_graph *graph, uint32_t index) {
  const loom_expr *expr = &graph->exprs[index];
  if (expr->kind == LOOM_EXPR_CONST) return 0;
  if (expr->kind == LOOM_EXPR_SYMBOL) return (uint32_t)expr->value + 1;
  if (expr->kind == LOOM_EXPR_MIN || expr->kind == LOOM_EXPR_MAX)
    return graph->symbol_count + index + 1;
  uint32_t lhs = print_symbol_count(graph, expr->lhs), rhs = print_symbol_count(graph, expr->rhs);
  return lhs > rhs ? lhs : rhs;
}

static void print_type(const loom_graph *graph, const loom_type *type, FILE *out) {
  bool symbolic = false;
  fputs("tensor<", out);
  for (int i = 0; i < type->rank; i++) {
    symbolic |= LOOM_DIM_IS_SYM(type->dims[i]);
    if (LOOM_DIM_IS_SYM(type->dims[i]))
      fputs("?x", out);
    else
      fprintf(out, "%" PRId64 "x", type->dims[i]);
  }
  fputs(print_element(type->dtype), out);
  if (symbolic) {
    uint32_t symbols = 0;
    for (int i = 0; i < type->rank; i++) {
      uint32_t used = LOOM_DIM_IS_SYM(type->dims[i])
                          ? print_symbol_count(graph, LOOM_DIM_EXPR(type->dims[i]))
                          : 0;
      if (used > symbols) symbols = used;
    }
    fputs(", affine_map<()[", out);
    for (uint32_t i = 0; i < symbols; i++)
      fprintf(out, "%ss%u", i ? ", " : "", i);
    fputs("] -> (", out);
    for (int i = 0; i < type->rank; i++) {
      if (i) fputs(", ", out);
      if (LOOM_DIM_IS_SYM(type->dims[i]))
        print_expr(graph, LOOM_DIM_EXPR(type->dims[i]), out);
      else
        fprintf(out, "%" PRId64, type->dims[i]);
    }
    fputs(")>", out);
  }
  fputc('>', out);
}

void loom_type_print(const loom_graph *graph, const loom_type *type, FILE *out) {
  print_type(graph, type, out);
}

static void print_string(const char *text, FILE *out) {
  fputc('"', out);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c < 32 || *c > 126 || *c == '"' || *c == '\\')
      fprintf(out, "\\%02X", *c);
    else
      fputc(*c, out);
  }
  fputc('"', out);
}

static void print_float(uint64_t bits, loom_dtype dtype, FILE *out) {
  float narrow;
  double value;
  uint32_t low = (uint32_t)bits;
  if (dtype == LOOM_F64) {
    memcpy(&value, &bits, sizeof value);
  } else if (dtype == LOOM_F32) {
    memcpy(&narrow, &low, sizeof narrow);
    value = narrow;
  } else {
    value = NAN; /* half types are written as their bits */
  }
  if (isfinite(value))
    fprintf(out, "%.*e", dtype == LOOM_F64 ? 16 : 8, value);
  else
    fprintf(out, "0x%0*" PRIX64, (int)(2 * loom_dtype_size(dtype)), bits);
  fprintf(out, " : %s", print_element(dtype));
}

static void print_scalar(const loom_attr *attr, loom_dtype dtype, FILE *out) {
  int shift = 64 - 8 * (int)loom_dtype_size(dtype);
  switch (loom_dtype_class(dtype)) {
  case 'b': fputs(attr->bits & 1 ? "true" : "false", out); break;
  case 'i':
    fprintf(out, "%" PRId64 " : %s", (int64_t)(attr->bits << shift) >> shift, print_element(dtype));
    break;
  case 'u':
    fprintf(out, "%" PRIu64 " : %s", attr->bits << shift >> shift, print_element(dtype));
    break;
  case 'f': print_float(attr->bits, dtype, out); break;
  default:
    fputc('[', out);
    print_float(dtype == LOOM_C64 ? (uint32_t)attr->bits : attr->bits,
                dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, out);
    fputs(", ", out);
    print_float(dtype == LOOM_C64 ? attr->bits >> 32 : attr->bits_hi,
                dtype == LOOM_C64 ? LOOM_F32 : LOOM_F64, out);
    fputc(']', out);
  }
}

/* Symbolic numbers are codes of the module's table. */
static void print_ints(const int64_t *ints, int count, FILE *out) {
  fputs("array<i64", out);
  for (int i = 0; i < count; i++)
    fprintf(out, "%s%" PRId64, i ? ", " : ": ", ints[i]);
  fputc('>', out);
}

static void print_attr(const loom_attr *attr, loom_dtype result, FILE *out) {
  switch (attr->kind) {
  case LOOM_ATTR_I64: fprintf(out, "%" PRId64 " : i64", attr->i); break;
  case LOOM_ATTR_I64S: print_ints(attr->ints, attr->count, out); break;
  case LOOM_ATTR_BOOL: fputs(attr->i ? "true" : "false", out); break;
  case LOOM_ATTR_STR: print_string(attr->str, out); break;
  case LOOM_ATTR_SCALAR: print_scalar(attr, result, out); break;
  case LOOM_ATTR_DTYPE: fputs(print_element((loom_dtype)attr->i), out); break;
  case LOOM_ATTR_NONE: fputs("unit", out); break;
  }
}

/* Where a graph stands: a region sees values of the graphs around it. */
typedef struct print_scope {
  const loom_graph *graph;
  const struct print_scope *outer; /* NULL for the whole graph */
  const loom_node *node;           /* whose region it is */
  uint32_t own;                    /* arguments of the block; further inputs are values outside */
  unsigned id;                     /* makes names unique; 0 for the whole graph */
  unsigned *last_id;
  int indent;
} print_scope;

static void print_prefix(const print_scope *s, FILE *out) {
  fputc('%', out);
  if (s->id) fprintf(out, "r%u_", s->id);
}

static void print_value(const print_scope *s, loom_value value, FILE *out) {
  const loom_value_info *info = &s->graph->values[value];
  if (info->node < 0) {
    if (s->outer && (uint32_t)info->index >= s->own) {
      int operand = info->index - loom_region_shift(s->node->op);
      print_value(s->outer, s->node->operands[operand], out);
      return;
    }
    print_prefix(s, out);
    fprintf(out, "arg%d", info->index);
    return;
  }
  const loom_node *node = &s->graph->nodes[info->node];
  print_prefix(s, out);
  fprintf(out, "%u", node->first_result);
  if (node->result_count > 1) fprintf(out, "#%d", info->index);
}

static void print_values(const print_scope *s, const loom_value *values, uint32_t count,
                         FILE *out) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_value(s, values[i], out);
  }
}

static void print_types(const loom_graph *graph, const loom_value *values, uint32_t count,
                        FILE *out) {
  for (uint32_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_type(graph, &graph->values[values[i]].type, out);
  }
}

/* Operands as the op lists them: what a region merely reads of the graph around it is not there. */
static uint32_t print_operand_count(const loom_node *node) {
  if (!node->regions || node->op == LOOM_OP_IF) return node->operand_count;
  return loom_region_own_inputs(node->op, node->result_count);
}

static void print_nodes(const print_scope *s, FILE *out);

/* "loom.yield %0 : tensor<4xf32>" */
static void print_end(const print_scope *s, const char *name, FILE *out) {
  const loom_graph *graph = s->graph;
  fprintf(out, "%*s%s", s->indent, "", name);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    fputs(i ? ", " : " ", out);
    print_value(s, graph->outputs[i].value, out);
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    fputs(i ? ", " : " : ", out);
    print_type(graph, &graph->values[graph->outputs[i].value].type, out);
  }
  fputc('\n', out);
}

static void print_region(const print_scope *s, const loom_node *node, const loom_graph *region,
                         FILE *out) {
  print_scope inner = {region,        s,          node,         region->input_count,
                       ++*s->last_id, s->last_id, s->indent + 2};
  if (node->op != LOOM_OP_IF) inner.own = loom_region_own_inputs(node->op, node->result_count);
  fputs("{\n", out);
  for (uint32_t i = 0; i < inner.own; i++) {
    if (i)
      fputs(", ", out);
    else
      fprintf(out, "%*s^bb0(", s->indent, "");
    print_value(&inner, region->inputs[i].value, out);
    fputs(": ", out);
    print_type(region, &region->values[region->inputs[i].value].type, out);
  }
  if (inner.own) fputs("):\n", out);
  print_nodes(&inner, out);
  print_end(&inner, "loom.yield", out);
  fprintf(out, "%*s}", s->indent, "");
}

static loom_dtype print_dtype(const print_scope *s, const loom_node *node) {
  return node->result_count ? s->graph->values[node->first_result].type.dtype : LOOM_DTYPE_COUNT;
}

/* "(tensor<4xf32>) -> tensor<4xi1>" */
static void print_signature(const print_scope *s, const loom_node *node, FILE *out) {
  fputc('(', out);
  print_types(s->graph, node->operands, print_operand_count(node), out);
  fputs(node->result_count == 1 ? ") -> " : ") -> (", out);
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (i) fputs(", ", out);
    print_type(s->graph, &s->graph->values[node->first_result + i].type, out);
  }
  if (node->result_count != 1) fputc(')', out);
}

/* Attributes that the format does not name. */
static void print_dictionary(const print_scope *s, const loom_node *node, FILE *out) {
  const loom_op_info *info = &loom_op_table[node->op];
  const char *before = " {";
  for (int i = 0; i < LOOM_MAX_ATTRS && info->attrs[i].name; i++) {
    char word[4] = {'@', (char)('0' + i)};
    if (strstr(info->format, word)) continue;
    fprintf(out, "%s%s = ", before, info->attrs[i].name);
    print_attr(&node->attrs[i], print_dtype(s, node), out);
    before = ", ";
  }
  if (*before == ',') fputc('}', out);
}

/* An attribute within the format, where its kind is known. */
static void print_word_attr(const print_scope *s, const loom_node *node, int index, FILE *out) {
  const loom_attr *attr = &node->attrs[index];
  if (attr->kind == LOOM_ATTR_I64) {
    fprintf(out, "%" PRId64, attr->i);
  } else if (attr->kind == LOOM_ATTR_I64S) {
    fputc('[', out);
    for (int i = 0; i < attr->count; i++)
      fprintf(out, "%s%" PRId64, i ? ", " : "", attr->ints[i]);
    fputc(']', out);
  } else {
    print_attr(attr, print_dtype(s, node), out);
  }
}

/* One word of the format; `length` characters. */
static void print_word(const print_scope *s, const loom_node *node, const char *word, size_t length,
                       FILE *out) {
  int number = word[0] && word[1] >= '0' && word[1] <= '9' ? word[1] - '0' : 0;
  uint32_t operands = print_operand_count(node), first = (uint32_t)number;
  switch (*word) {
  case '%':
    if (word[length - 1] == '*')
      print_values(s, node->operands + first, operands > first ? operands - first : 0, out);
    else
      print_value(s, node->operands[first], out);
    break;
  case '@': print_word_attr(s, node, number, out); break;
  case '#': print_region(s, node, node->regions[number], out); break;
  case 'T': print_type(s->graph, &s->graph->values[node->first_result].type, out); break;
  case 'F': print_signature(s, node, out); break;
  default: fprintf(out, "%.*s", (int)length, word);
  }
}

/* The words of the format; no space stands at a bracket or before a comma. */
static void print_format(const print_scope *s, const loom_node *node, FILE *out) {
  const char *word = loom_op_table[node->op].format;
  bool space = true, left_out = false;
  for (size_t length; *word; word += length + (word[length] == ' ')) {
    length = strcspn(word, " ");
    if (*word == '[') left_out = node->attrs[word[1] - '0'].i == -1;
    if (*word == ']') left_out = false;
    if (left_out || *word == '[' || *word == ']') continue;
    if (*word == '{') {
      print_dictionary(s, node, out);
      continue;
    }
    if (space && !strchr("(),", *word)) fputc(' ', out);
    print_word(s, node, word, length, out);
    space = *word != '(';
  }
}

static void print_node(const print_scope *s, const loom_node *node, FILE *out) {
  fprintf(out, "%*s", s->indent, "");
  if (node->result_count) {
    print_prefix(s, out);
    fprintf(out, "%u", node->first_result);
    if (node->result_count > 1) fprintf(out, ":%u", node->result_count);
    fputs(" = ", out);
  }
  fprintf(out, "loom.%s", loom_op_table[node->op].name);
  print_format(s, node, out);
  if (node->location.file) {
    fputs(" loc(", out);
    print_string(node->location.file, out);
    fprintf(out, ":%d:%d)", node->location.line, node->location.column);
  }
  fputc('\n', out);
}

static void print_nodes(const print_scope *s, FILE *out) {
  for (uint32_t i = 0; i < s->graph->node_count; i++)
    print_node(s, &s->graph->nodes[i], out);
}

static void print_inputs(const loom_graph *graph, FILE *out) {
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const loom_input *input = &graph->inputs[i];
    const loom_type *type = &graph->values[input->value].type;
    fprintf(out, "%s%%arg%u: ", i ? ", " : "", i);
    print_type(graph, type, out);
    fputs(" {", out);
    if (input->kind == LOOM_INPUT_SCALAR) {
      fputs("loom.scalar}", out);
    } else {
      if (input->kind == LOOM_INPUT_CONST) fputs("loom.const, ", out);
      if (input->given) fputs("loom.given, ", out);
      fputs("loom.strides = ", out);
      print_ints(input->strides, type->rank, out);
      fputc('}', out);
    }
    if (!input->name) continue;
    fputs(" loc(", out);
    print_string(input->name, out);
    fputc(')', out);
  }
}

/* The table of sizes is the module's. */
static void print_table(const loom_graph *graph, FILE *out) {
  fputs("module attributes {loom.exprs = array<i64", out);
  for (uint32_t i = 0; i < graph->expr_count; i++) {
    const loom_expr *expr = &graph->exprs[i];
    fprintf(out, "%s%d, %" PRId64 ", %u, %u", i ? ", " : ": ", (int)expr->kind, expr->value,
            expr->lhs, expr->rhs);
  }
  fputs(">, loom.symbols = array<i64", out);
  for (uint32_t i = 0; i < graph->symbol_count; i++) {
    const loom_symbol *symbol = &graph->symbols[i];
    fprintf(out, "%s%" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64, i ? ", " : ": ", symbol->min,
            symbol->max, symbol->divisor, symbol->hint);
  }
  fputs(">} {\n", out);
}

void loom_graph_print(const loom_graph *graph, FILE *out) {
  if (graph->symbol_count) print_table(graph, out);
  fputs("func.func @main(", out);
  print_inputs(graph, out);
  fputs(") -> (", out);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const loom_output *output = &graph->outputs[i];
    const loom_type *type = &graph->values[output->value].type;
    if (i) fputs(", ", out);
    print_type(graph, type, out);
    fputs(" {loom.strides = ", out);
    print_ints(output->strides, type->rank, out);
    if (output->overwrites >= 0) fprintf(out, ", loom.overwrites = %d", output->overwrites);
    if (output->lent) fputs(", loom.lent", out);
    fputc('}', out);
  }
  fputs(") {\n", out);
  unsigned last_id = 0;
  print_scope scope = {graph, NULL, NULL, 0, 0, &last_id, 2};
  print_nodes(&scope, out);
  print_end(&scope, "return", out);
  fputs(graph->symbol_count ? "}\n}\n" : "}\n", out);
}
