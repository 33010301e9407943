/* loom-interpret: runs every function with the reference interpreter and prints the results on
 * standard output.
 *
 * Before and after: the module is left as it is. An argument's elements are its attribute
 * `loom.values` (a dense constant of the argument's type, static) or, when there is none, 0, 1, 2,
 * ... for the first argument, starting one higher for each that follows. A result prints as one
 * line: function, number, type, elements in C order.
 *
 *   requires: functions of one block of ops of the table.  keeps: everything.  breaks: nothing.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "passes/passes.h"

#define INTERPRET_SYMBOL_SIZE 3 /* of a dynamic size without values */

typedef struct interpret_state {
  MlirOperation func;
  loom_graph graph;
  loom_buffer *inputs, *outputs;
  loom_error err;
} interpret_state;

static bool interpret_allocate(interpret_state *s, const loom_type *type, loom_buffer *out) {
  int64_t count = loom_type_elements(type);
  out->type = *type;
  if (count < 0 || count > INT32_MAX) return loom_fail(&s->err, "an array is too large");
  out->data = loom_arena_alloc(&s->graph.arena, (size_t)count * loom_dtype_size(type->dtype) + 1);
  loom_contiguous_strides(type, out->strides);
  return out->data || loom_fail(&s->err, "out of memory");
}

static MlirAttribute interpret_values(interpret_state *s, uint32_t index) {
  MlirAttribute all = loom_get_attr(s->func, "arg_attrs");
  if (!all.ptr || !mlirAttributeIsAArray(all) || mlirArrayAttrGetNumElements(all) <= index)
    return (MlirAttribute){NULL};
  return mlirDictionaryAttrGetElementByName(mlirArrayAttrGetElement(all, index),
                                            loom_str(loom_mark_values));
}

static bool interpret_fill_values(interpret_state *s, MlirAttribute values, uint32_t index) {
  loom_type type;
  loom_buffer *in = &s->inputs[index];
  const loom_type *wanted = loom_graph_type(&s->graph, s->graph.inputs[index].value);
  if (!mlirAttributeIsADenseElements(values) ||
      !loom_type_from_mlir(mlirAttributeGetType(values), &type) || type.dtype != wanted->dtype ||
      type.rank != wanted->rank)
    return loom_fail(&s->err, "loom.values of argument %u is no dense constant of its type", index);
  if (!interpret_allocate(s, &type, in)) return false;
  size_t size = loom_dtype_size(type.dtype);
  bool splat = mlirDenseElementsAttrIsSplat(values);
  int64_t count = loom_type_elements(&type);
  for (int64_t i = 0; i < count; i++) {
    char *at = (char *)in->data + (size_t)i * size;
    if (type.dtype == LOOM_BOOL)
      *at = splat ? mlirDenseElementsAttrGetBoolSplatValue(values)
                  : mlirDenseElementsAttrGetBoolValue(values, i);
    else
      memcpy(at, (const char *)mlirDenseElementsAttrGetRawData(values) + (splat ? 0 : i * size),
             size);
  }
  return true;
}

static bool interpret_fill_counting(interpret_state *s, uint32_t index) {
  loom_type type = *loom_graph_type(&s->graph, s->graph.inputs[index].value);
  loom_buffer *in = &s->inputs[index];
  for (int i = 0; i < type.rank; i++)
    if (LOOM_DIM_IS_SYM(type.dims[i])) type.dims[i] = INTERPRET_SYMBOL_SIZE;
  if (!interpret_allocate(s, &type, in)) return false;
  int64_t count = loom_type_elements(&type);
  for (int64_t i = 0; i < count; i++)
    loom_cell_store(type.dtype, (char *)in->data + (size_t)i * loom_dtype_size(type.dtype),
                    loom_cell_convert(LOOM_I64, type.dtype, (loom_cell){.i = i + index}));
  return true;
}

/* Sizes of the outputs follow from the inputs' through the symbols. */
static bool interpret_outputs(interpret_state *s) {
  const loom_graph *graph = &s->graph;
  int64_t *symbols = loom_arena_alloc(&s->graph.arena, sizeof *symbols * graph->symbol_count);
  if (!symbols) return loom_fail(&s->err, "out of memory");
  for (uint32_t i = 0; i < graph->input_count; i++) {
    const loom_type *type = loom_graph_type(graph, graph->inputs[i].value);
    for (int d = 0; d < type->rank; d++)
      if (LOOM_DIM_IS_SYM(type->dims[d]) &&
          graph->exprs[LOOM_DIM_EXPR(type->dims[d])].kind == LOOM_EXPR_SYMBOL)
        symbols[graph->exprs[LOOM_DIM_EXPR(type->dims[d])].value] = s->inputs[i].type.dims[d];
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    loom_type type = *loom_graph_type(graph, graph->outputs[i].value);
    for (int d = 0; d < type.rank; d++)
      if (!loom_dim_eval(graph, type.dims[d], symbols, &type.dims[d]) || type.dims[d] < 0)
        return loom_fail(&s->err, "a symbolic size has no valid value");
    if (!interpret_allocate(s, &type, &s->outputs[i])) return false;
  }
  return true;
}

static void interpret_print_cell(loom_dtype dtype, loom_cell cell) {
  int digits = dtype == LOOM_F64 || dtype == LOOM_C128 ? 17 : 9;
  switch (loom_dtype_class(dtype)) {
  case 'f': printf("%.*g", digits, cell.re); break;
  case 'c': printf("(%.*g, %.*g)", digits, cell.re, digits, cell.im); break;
  case 'u': printf("%" PRIu64, (uint64_t)cell.i); break;
  default: printf("%" PRId64, cell.i); break;
  }
}

static void interpret_print(interpret_state *s) {
  MlirStringRef name = loom_get_str(s->func, "sym_name");
  for (uint32_t r = 0; r < s->graph.output_count; r++) {
    const loom_buffer *out = &s->outputs[r];
    printf("%.*s %u: %s[", (int)name.length, name.data, r, loom_dtype_name(out->type.dtype));
    for (int i = 0; i < out->type.rank; i++)
      printf("%s%" PRId64, i ? "x" : "", out->type.dims[i]);
    printf("]");
    int64_t count = loom_type_elements(&out->type);
    size_t size = loom_dtype_size(out->type.dtype);
    for (int64_t i = 0; i < count; i++) {
      printf(" ");
      interpret_print_cell(out->type.dtype,
                           loom_cell_load(out->type.dtype, (char *)out->data + (size_t)i * size));
    }
    printf("\n");
  }
  fflush(stdout);
}

static bool interpret_run(interpret_state *s) {
  if (!loom_export(s->func, &s->graph, &s->err)) return false;
  s->inputs = loom_arena_alloc(&s->graph.arena, sizeof *s->inputs * s->graph.input_count);
  s->outputs = loom_arena_alloc(&s->graph.arena, sizeof *s->outputs * s->graph.output_count);
  if (!s->inputs || !s->outputs) return loom_fail(&s->err, "out of memory");
  for (uint32_t i = 0; i < s->graph.input_count; i++) {
    MlirAttribute values = interpret_values(s, i);
    if (!(values.ptr ? interpret_fill_values(s, values, i) : interpret_fill_counting(s, i)))
      return false;
  }
  return interpret_outputs(s) && loom_interpret(&s->graph, s->inputs, s->outputs, NULL, &s->err);
}

static bool interpret_visit(MlirOperation op, void *user) {
  bool *good = user;
  if (!loom_is_named(op, "func.func")) return true;
  interpret_state s = {.func = op};
  if (interpret_run(&s))
    interpret_print(&s);
  else
    *good = loom_emit_error(mlirOperationGetLocation(op), "cannot interpret: %s", s.err.message);
  loom_graph_fini(&s.graph);
  return *good;
}

static bool interpret_module(MlirOperation module) {
  bool good = true;
  MlirBlock body = mlirRegionGetFirstBlock(mlirOperationGetRegion(module, 0));
  loom_walk_block(body, interpret_visit, &good);
  return good;
}

MlirPass loom_make_interpret_pass(void) {
  return loom_pass_create("LoomInterpret", "loom-interpret",
                          "Run every function with the reference interpreter", "builtin.module",
                          interpret_module);
}
