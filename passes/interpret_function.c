/* A function on arrays: the whole of it as one graph where it has nothing but tensor ops, else op
 * by op: a tensor op is a graph of one node, a loom.fusion or the kernel of a loom.apply the graph
 * of its body, and a loom.control runs other functions. */
#include <stdlib.h>
#include <string.h>

#include "dialects/dialect.h"
#include "dialects/ir.h"
#include "loom_ops_compiler.h"
#include "passes/interpret.h"

typedef struct walk_value {
  loom_buffer buffer;
  char *low; /* its memory; of the caller's arguments: not to be freed */
  int64_t bytes;
} walk_value;

typedef struct walk {
  interpret_call *call;
  MlirOperation function;
  const loom_buffer *inputs, *outputs;
  loom_map numbers; /* value -> number in `values` */
  walk_value *values;
  size_t count;
  uint32_t capacity;
  size_t borrowed; /* the first ones are the caller's */
} walk;

static bool walk_memory(walk *w) { return loom_fail(&w->call->err, "out of memory"); }

static bool walk_bind(walk *w, MlirValue value, walk_value bound) {
  if (!loom_grow(&w->values, (size_t)w->count, &w->capacity, sizeof *w->values))
    return walk_memory(w);
  if (!loom_map_put(&w->numbers, value.ptr, (int64_t)w->count)) return walk_memory(w);
  w->values[w->count++] = bound;
  return true;
}

/* Binds what an op has made, or, where it has failed (`good`), frees it. `made` may be NULL then.
 */
static bool walk_bind_results(walk *w, MlirOperation op, walk_value *made, intptr_t count,
                              bool good) {
  for (intptr_t i = 0; made && i < count; i++)
    if (!good || !walk_bind(w, loom_result(op, i), made[i])) {
      free(made[i].low);
      good = false;
    }
  return good;
}

static bool walk_find(walk *w, MlirOperation op, intptr_t i, walk_value *out) {
  int64_t number = loom_map_get(&w->numbers, loom_operand(op, i).ptr, -1);
  *out = (walk_value){.low = NULL};
  if (number < 0 || (size_t)number >= w->count)
    return interpret_refuse(w->call, op, "operand %d has no value here", (int)i);
  *out = w->values[number];
  return true;
}

/* Memory for a result whose type and strides are set. */
static bool walk_allocate(walk *w, walk_value *out) {
  int64_t low;
  if (!interpret_extent(&out->buffer.type, out->buffer.strides, &low, &out->bytes))
    return loom_fail(&w->call->err, "an array is too large");
  out->low = calloc((size_t)out->bytes + 1, 1);
  out->buffer.data = out->low + low;
  return out->low || walk_memory(w);
}

static bool walk_allocate_plain(walk *w, const loom_graph *graph, const loom_type *type,
                                walk_value *out) {
  if (!interpret_size(w->call, graph, type, &out->buffer.type)) return false;
  loom_contiguous_strides(&out->buffer.type, out->buffer.strides);
  return walk_allocate(w, out);
}

/* ---- ops as graphs ---- */

/* A graph of one node. */
static bool walk_node(walk *w, MlirOperation op, loom_graph *graph) {
  loom_exported e;
  loom_value operands[256];
  loom_graph_init(graph);
  if (!loom_sizes_load(op, graph)) return loom_fail(&w->call->err, "no table of sizes");
  if (!loom_export_op(op, graph, &e, &w->call->err)) return false;
  if (e.view.operand_count > 256) return loom_fail(&w->call->err, "too many operands");
  for (uint32_t i = 0; i < e.view.operand_count; i++) {
    operands[i] = loom_graph_input(graph, LOOM_INPUT_ARRAY, &e.view.operands[i], NULL);
    if (operands[i] == LOOM_NO_VALUE) return walk_memory(w);
  }
  loom_value first = loom_graph_node(graph, e.view.op, operands, e.view.operand_count, e.attrs,
                                     e.attr_count, e.results, e.result_count, NULL, &w->call->err);
  if (first == LOOM_NO_VALUE) return false;
  for (uint32_t i = 0; i < e.result_count; i++)
    if (!loom_graph_output(graph, first + i, NULL)) return walk_memory(w);
  return true;
}

static bool walk_make_graph(walk *w, MlirOperation op, loom_graph *graph) {
  loom_opcode code;
  switch (loom_op_of(op)) {
  case LOOM_OP_FUSION: return loom_export(op, graph, &w->call->err);
  case LOOM_OP_APPLY: {
    MlirOperation kernel = loom_find_kernel(op);
    if (kernel.ptr) return loom_export(kernel, graph, &w->call->err);
    loom_graph_init(graph);
    return loom_fail(&w->call->err, "there is no such kernel");
  }
  default: break;
  }
  if (loom_opcode_of(op, &code) && !loom_op_table[code].regions) return walk_node(w, op, graph);
  loom_graph_init(graph);
  return loom_fail(&w->call->err, "it cannot be run beside loom.fusion or loom.control");
}

/* The operands and results of an op: those of a kernel lie as it says. */
static bool walk_arrays(walk *w, MlirOperation op, const loom_graph *graph, loom_buffer *inputs,
                        walk_value *results) {
  MlirOperation kernel = loom_find_kernel(op);
  for (uint32_t i = 0; i < graph->input_count; i++) {
    walk_value operand;
    if (!walk_find(w, op, i, &operand)) return false;
    inputs[i] = operand.buffer;
    if (kernel.ptr && !interpret_view(w->call, kernel, i, graph,
                                      loom_graph_type(graph, graph->inputs[i].value), &inputs[i]))
      return false;
    if (!interpret_within(&inputs[i], operand.low, operand.bytes))
      return interpret_refuse(w->call, op, "its kernel reaches beyond operand %d", (int)i);
  }
  for (uint32_t i = 0; i < graph->output_count; i++) {
    const loom_type *type = loom_graph_type(graph, graph->outputs[i].value);
    if (kernel.ptr ? !interpret_view(w->call, kernel, graph->input_count + i, graph, type,
                                     &results[i].buffer) ||
                         !walk_allocate(w, &results[i])
                   : !walk_allocate_plain(w, graph, type, &results[i]))
      return false;
  }
  return true;
}

static bool walk_run_graph(walk *w, MlirOperation op, const loom_graph *graph) {
  uint32_t outputs = graph->output_count;
  if (mlirOperationGetNumOperands(op) != graph->input_count ||
      mlirOperationGetNumResults(op) != outputs)
    return loom_fail(&w->call->err, "its body takes or gives something else");
  if (graph->symbol_count > w->call->symbol_count)
    return loom_fail(&w->call->err, "too many symbolic sizes");
  loom_buffer *arrays = calloc((size_t)graph->input_count + outputs + 1u, sizeof *arrays);
  walk_value *results = calloc((size_t)outputs + 1u, sizeof *results);
  bool good = (arrays && results) || walk_memory(w);
  good = good && walk_arrays(w, op, graph, arrays, results);
  for (uint32_t i = 0; good && i < outputs; i++)
    arrays[graph->input_count + i] = results[i].buffer;
  good = good && loom_interpret(graph, arrays, arrays + graph->input_count, w->call->symbols,
                                &w->call->err);
  good = walk_bind_results(w, op, results, outputs, good);
  free(arrays);
  free(results);
  return good;
}

/* ---- loops and branches ---- */

/* Where an argument of a region's function lies: in the memory that it is given, from its
 * beginning. */
static bool walk_argument(interpret_call *c, interpret_call *signature,
                          const interpret_array *array, const interpret_memory *given,
                          loom_buffer *out) {
  if (!interpret_size(c, &signature->table, &array->declared, &out->type)) return false;
  for (int d = 0; d < out->type.rank; d++)
    if (!loom_stride_eval(&signature->table, array->strides[d], c->symbols, &out->strides[d]))
      return loom_fail(&c->err, "a stride has no value");
  out->data = given->data;
  if (!given->data || !interpret_within(out, given->data, given->bytes))
    return interpret_refuse(c, signature->root, "an argument is larger than what it gets");
  return true;
}

static bool walk_region(interpret_call *c, MlirOperation op, const interpret_region *region) {
  interpret_call signature;
  MlirAttribute bodies = loom_get_attr(op, "bodies");
  MlirOperation function = interpret_find(c, mlirArrayAttrGetElement(bodies, region->number));
  if (!function.ptr || !loom_is_named(function, "func.func"))
    return interpret_refuse(c, op, "there is no such region");
  bool good =
      interpret_open(&signature, function) || loom_fail(&c->err, "%s", signature.err.message);
  uint32_t inputs = signature.input_count, count = inputs + signature.output_count;
  loom_buffer *all = calloc((size_t)count + 1, sizeof *all);
  if (!all) good = loom_fail(&c->err, "out of memory");
  if (good && (inputs != region->input_count || signature.output_count > region->output_count))
    good = interpret_refuse(c, op, "the function of a region takes or gives something else");
  for (uint32_t i = 0; good && i < count; i++)
    good = i < inputs
               ? walk_argument(c, &signature, &signature.inputs[i], &region->inputs[i], &all[i])
               : walk_argument(c, &signature, &signature.outputs[i - inputs],
                               &region->outputs[i - inputs], &all[i]);
  good = good && interpret_function(c, function, all, all + inputs);
  free(all);
  interpret_close(&signature);
  return good;
}

/* A value as a region's function takes it, in C order: a copy, which the caller frees, of what lies
 * otherwise. */
static bool walk_plain(walk *w, MlirOperation op, intptr_t i, interpret_memory *out, void **copy) {
  walk_value read, plain = {.low = NULL};
  if (!walk_find(w, op, i, &read)) return false;
  plain.buffer.type = read.buffer.type;
  loom_contiguous_strides(&plain.buffer.type, plain.buffer.strides);
  *out = (interpret_memory){read.low, read.bytes};
  if (loom_strides_fit_plain(&plain.buffer.type, read.buffer.strides)) return true;
  if (!walk_allocate(w, &plain)) return false;
  interpret_copy(&plain.buffer, &read.buffer);
  *out = (interpret_memory){*copy = plain.low, plain.bytes};
  return true;
}

static bool walk_control(walk *w, MlirOperation op) {
  intptr_t reads = mlirOperationGetNumOperands(op), results = mlirOperationGetNumResults(op);
  walk_value *made = calloc((size_t)results + 1, sizeof *made);
  interpret_memory *memory = calloc((size_t)(reads + results) + 1, sizeof *memory);
  void **copies = calloc((size_t)reads + 1, sizeof *copies);
  bool good = (made && memory && copies) || walk_memory(w);
  for (intptr_t i = 0; good && i < reads; i++)
    good = walk_plain(w, op, i, &memory[i], &copies[i]);
  for (intptr_t i = 0; good && i < results; i++) {
    loom_type type;
    good = loom_type_from_mlir_in(&w->call->table, mlirValueGetType(loom_result(op, i)), &type) ||
           interpret_refuse(w->call, op, "a size has no expression");
    good = good && walk_allocate_plain(w, &w->call->table, &type, &made[i]);
    if (good) memory[reads + i] = (interpret_memory){made[i].low, made[i].bytes};
  }
  interpret_control control = {.op = op,
                               .reads = memory,
                               .results = good ? memory + reads : NULL,
                               .read_count = reads,
                               .result_count = results,
                               .run = walk_region};
  good = good && interpret_control_run(w->call, &control);
  good = walk_bind_results(w, op, made, results, good);
  for (intptr_t i = 0; copies && i < reads; i++)
    free(copies[i]);
  free(copies);
  free(made);
  free(memory);
  return good;
}

/* ---- functions ---- */

static bool walk_op(walk *w, MlirOperation op) {
  loom_graph graph;
  if (loom_info(op)->control) return walk_control(w, op);
  bool good = walk_make_graph(w, op, &graph) && walk_run_graph(w, op, &graph);
  loom_graph_fini(&graph);
  if (good || strncmp(w->call->err.message, "'", 1) == 0) return good;
  char text[300];
  memcpy(text, w->call->err.message, sizeof text - 1);
  text[sizeof text - 1] = 0;
  return interpret_refuse(w->call, op, "%s", text);
}

static bool walk_return(walk *w, MlirOperation op) {
  for (intptr_t i = 0; i < mlirOperationGetNumOperands(op); i++) {
    walk_value value;
    if (!walk_find(w, op, i, &value)) return false;
    if (!loom_type_equal(&value.buffer.type, &w->outputs[i].type))
      return interpret_refuse(w->call, op, "result %d is of another type", (int)i);
    interpret_copy(&w->outputs[i], &value.buffer);
  }
  return true;
}

static bool walk_block(walk *w, MlirBlock block) {
  for (intptr_t i = 0; i < mlirBlockGetNumArguments(block); i++) {
    walk_value argument = {.buffer = w->inputs[i]};
    int64_t low;
    if (!interpret_extent(&argument.buffer.type, argument.buffer.strides, &low, &argument.bytes))
      return loom_fail(&w->call->err, "an array is too large");
    argument.low = argument.buffer.data;
    if (low) argument.low = (char *)argument.low - low;
    if (!walk_bind(w, mlirBlockGetArgument(block, i), argument)) return false;
  }
  w->borrowed = w->count;
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op)) {
    if (loom_is_named(op, "func.return")) return walk_return(w, op);
    if (!walk_op(w, op)) return false;
  }
  return interpret_refuse(w->call, w->function, "it does not return");
}

/* Has it nothing but tensor ops? Then the graph knows regions that read what is around them. */
static bool walk_is_graph(MlirBlock block) {
  for (MlirOperation op = mlirBlockGetFirstOperation(block); op.ptr;
       op = mlirOperationGetNextInBlock(op))
    if (loom_body(op).ptr || loom_info(op)->control || loom_info(op)->applies) return false;
  return true;
}

static bool walk_graph(interpret_call *c, MlirOperation function, const loom_buffer *inputs,
                       const loom_buffer *results) {
  loom_graph graph;
  bool good = loom_export(function, &graph, &c->err);
  loom_buffer *outputs =
      loom_arena_copy(&graph.arena, results, sizeof *outputs * ((size_t)graph.output_count));
  if (good && !outputs) good = loom_fail(&c->err, "out of memory");
  if (good && graph.symbol_count > c->symbol_count)
    good = loom_fail(&c->err, "too many symbolic sizes");
  good = good && loom_interpret(&graph, inputs, outputs, c->symbols, &c->err);
  loom_graph_fini(&graph);
  return good;
}

bool interpret_function(interpret_call *c, MlirOperation function, const loom_buffer *inputs,
                        const loom_buffer *outputs) {
  walk w = {.call = c, .function = function, .inputs = inputs, .outputs = outputs};
  MlirRegion region = mlirOperationGetRegion(function, 0);
  MlirBlock block = mlirRegionGetFirstBlock(region);
  if (!block.ptr || mlirBlockGetNextInRegion(block).ptr)
    return interpret_refuse(c, function, "it has not exactly one block");
  if (walk_is_graph(block)) return walk_graph(c, function, inputs, outputs);
  bool good = walk_block(&w, block);
  for (size_t i = w.borrowed; i < w.count; i++)
    free(w.values[i].low);
  free(w.values);
  loom_map_fini(&w.numbers);
  return good;
}
