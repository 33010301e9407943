/* The graph as MLIR text in the loom dialect: generic op syntax, so that every row of the table
 * prints alike, with locations; loom-opt reads it and writes the readable form. */
#include "graph/graph.h"
#include "graph/ops.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

static const char *print_element(loom_dtype dtype) {
  static const char *const names[LOOM_DTYPE_COUNT] = {
      "i1",   "i8",  "i16",  "i32", "i64", "ui8",          "ui16",        "ui32",
      "ui64", "f16", "bf16", "f32", "f64", "complex<f32>", "complex<f64>"};
  return names[dtype];
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
  fputc('(', out);
  for (uint32_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_value(s, values[i], out);
  }
  fputc(')', out);
}

static void print_types(const loom_graph *graph, const loom_value *values, uint32_t count,
                        FILE *out) {
  fputc('(', out);
  for (uint32_t i = 0; i < count; i++) {
    if (i) fputs(", ", out);
    print_type(graph, &graph->values[values[i]].type, out);
  }
  fputc(')', out);
}

/* Operands as the op lists them: what a region merely reads of the graph around it is not there. */
static uint32_t print_operand_count(const loom_node *node) {
  if (!node->regions || node->op == LOOM_OP_IF) return node->operand_count;
  return loom_region_own_inputs(node->op, node->result_count);
}

static void print_nodes(const print_scope *s, FILE *out);

static void print_region(const print_scope *s, const loom_node *node, const loom_graph *region,
                         FILE *out) {
  print_scope inner = {region,        s,          node,         region->input_count,
                       ++*s->last_id, s->last_id, s->indent + 2};
  if (node->op != LOOM_OP_IF) inner.own = loom_region_own_inputs(node->op, node->result_count);
  fputs("{\n", out);
  fprintf(out, "%*s^bb0(", s->indent, "");
  for (uint32_t i = 0; i < inner.own; i++) {
    if (i) fputs(", ", out);
    print_value(&inner, region->inputs[i].value, out);
    fputs(": ", out);
    print_type(region, &region->values[region->inputs[i].value].type, out);
  }
  fputs("):\n", out);
  print_nodes(&inner, out);
  fprintf(out, "%*s\"loom.yield\"(", inner.indent, "");
  for (uint32_t i = 0; i < region->output_count; i++) {
    if (i) fputs(", ", out);
    print_value(&inner, region->outputs[i].value, out);
  }
  fputs(") : (", out);
  for (uint32_t i = 0; i < region->output_count; i++) {
    if (i) fputs(", ", out);
    print_type(region, &region->values[region->outputs[i].value].type, out);
  }
  fprintf(out, ") -> ()\n%*s}", s->indent, "");
}

static void print_regions(const print_scope *s, const loom_node *node, FILE *out) {
  int count = loom_op_table[node->op].regions;
  for (int r = 0; r < count; r++) {
    fputs(r ? ", " : " (", out);
    print_region(s, node, node->regions[r], out);
  }
  if (count) fputc(')', out);
}

static void print_attrs(const print_scope *s, const loom_node *node, FILE *out) {
  const loom_op_info *info = &loom_op_table[node->op];
  loom_dtype dtype =
      node->result_count ? s->graph->values[node->first_result].type.dtype : LOOM_DTYPE_COUNT;
  for (int i = 0; i < LOOM_MAX_ATTRS && info->attrs[i].name; i++) {
    fprintf(out, "%s%s = ", i ? ", " : " <{", info->attrs[i].name);
    print_attr(&node->attrs[i], dtype, out);
  }
  if (info->attrs[0].name) fputs("}>", out);
}

static void print_node(const print_scope *s, const loom_node *node, FILE *out) {
  fprintf(out, "%*s", s->indent, "");
  if (node->result_count) {
    print_prefix(s, out);
    fprintf(out, "%u", node->first_result);
    if (node->result_count > 1) fprintf(out, ":%u", node->result_count);
    fputs(" = ", out);
  }
  fprintf(out, "\"loom.%s\"", loom_op_table[node->op].name);
  print_values(s, node->operands, print_operand_count(node), out);
  print_attrs(s, node, out);
  print_regions(s, node, out);
  fputs(" : ", out);
  print_types(s->graph, node->operands, print_operand_count(node), out);
  fputs(" -> (", out);
  for (uint32_t i = 0; i < node->result_count; i++) {
    if (i) fputs(", ", out);
    print_type(s->graph, &s->graph->values[node->first_result + i].type, out);
  }
  fputc(')', out);
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
    if (input->kind == LOOM_INPUT_CONST) fputs("loom.const, ", out);
    if (input->kind == LOOM_INPUT_SCALAR) {
      fputs("loom.scalar}", out);
      continue;
    }
    if (input->given) fputs("loom.given, ", out);
    fputs("loom.strides = ", out);
    print_ints(input->strides, type->rank, out);
    fputc('}', out);
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
  fputs("  \"func.return\"(", out);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    if (i) fputs(", ", out);
    print_value(&scope, graph->outputs[i].value, out);
  }
  fputs(") : (", out);
  for (uint32_t i = 0; i < graph->output_count; i++) {
    if (i) fputs(", ", out);
    print_type(graph, &graph->values[graph->outputs[i].value].type, out);
  }
  fputs(graph->symbol_count ? ") -> ()\n}\n}\n" : ") -> ()\n}\n", out);
}
